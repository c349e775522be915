//! What stands beside the conversation: attachments, compactions, the file history.

use serde_json::Value;

use super::effects::Effects;
use super::importer::{Importer, raw};
use super::paths::resolve;
use super::record::{Attachment, FilePart, Record, Returned};
use super::scene::Scene;
use super::seen::Seen;
use super::title;
use crate::import::sink::EventSink;
use crate::model::{BlobHash, Body, Event};

impl<S: EventSink> Importer<S> {
    /// The conversation was compacted.
    pub(super) fn compacted(&mut self, scene: &Scene, record: &Record<'_>) -> Result<(), S::Error> {
        let about: Value = record.compact_metadata.value();
        let trigger = about
            .get("trigger")
            .and_then(Value::as_str)
            .unwrap_or("unknown cause");
        let tokens = about.get("preTokens").and_then(Value::as_u64);
        let tokens = tokens.map(|tokens| format!(", {tokens} tokens before"));
        let text = format!(
            "the conversation was compacted ({trigger}{})",
            tokens.unwrap_or_default()
        );
        let title = text.clone();
        self.emit(scene, Event::new(Body::Note { text }).titled(title))?;
        Ok(())
    }

    /// What the program put beside the conversation. Some of it shows files.
    pub(super) fn attachment(
        &mut self,
        scene: &Scene,
        record: &Record<'_>,
        text: &str,
    ) -> Result<(), S::Error> {
        let attachment: Attachment<'_> = record.attachment.read();
        let kind = attachment.kind.or_empty();
        let content: Returned<'_> = attachment.content.read();
        let part: FilePart<'_> = content.file.read();
        match kind {
            "queued_command" if attachment.prompt.get().is_some() => {
                let words = attachment.prompt.or_empty();
                let prompt = Body::Prompt {
                    role: "user".to_owned(),
                    text: words.to_owned(),
                    attachments: Vec::new(),
                };
                self.emit(scene, Event::new(prompt).titled(title::cut(words)))?;
                return Ok(());
            }
            "edited_text_file" => {
                let seen = Seen::numbered(attachment.snippet.or_empty());
                self.evidence(scene, attachment.filename.get(), seen)?;
            }
            "file" => {
                let path = part.file_path.get().or(attachment.filename.get());
                self.evidence(scene, path, Seen::of(&part))?;
            }
            _ => {}
        }
        let about = attachment.hook_name.or_empty();
        let title = title::cut(&format!("{kind} {about}"));
        self.emit(scene, Event::new(raw(text)).titled(title))?;
        Ok(())
    }

    /// Something other than a call showed a file.
    pub(super) fn evidence(
        &mut self,
        scene: &Scene,
        path: Option<&str>,
        seen: Option<Seen<'_>>,
    ) -> Result<(), S::Error> {
        let mut effects = Effects::default();
        {
            let blobs = |hash: &BlobHash| self.sink.blob(hash);
            let mut view = self.view(scene, &blobs);
            let path = path.and_then(|path| view.path(path));
            if let (Some(path), Some(seen)) = (path, seen) {
                effects.sees(&path, &seen, &mut view);
            }
        }
        for change in effects.before.into_iter().chain(effects.during) {
            self.write_change(scene, change, None)?;
        }
        Ok(())
    }

    /// Remembers which backups the file history names.
    pub(super) fn name_backups(&mut self, record: &Record<'_>) {
        let tracked: Value = record.snapshot.value();
        let tracked = tracked.get("trackedFileBackups").and_then(Value::as_object);
        let backup: Value = record.backup.value();
        let changed = record.tracking_path.get().map(|path| (path, &backup));
        let tracked = tracked.into_iter().flatten();
        let named = tracked.map(|(path, backup)| (path.as_str(), backup));
        for (path, backup) in named.chain(changed) {
            let path = resolve(path, &self.root, &self.root);
            let name = backup.get("backupFileName").and_then(Value::as_str);
            if let (Some(path), Some(name)) = (path, name) {
                self.backups.insert(path, name.to_owned());
            }
        }
    }
}
