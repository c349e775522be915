//! Recording, event by event, beside writing as many bytes to a file.

use std::fs::File;
use std::io::Write as _;

use jukebox::model::{Body, Event, FileChange, Header, Outcome, TapePath};
use jukebox::tape::{Recorder, RecorderOptions, SyncPolicy};

use crate::beside::{cases, clock};
use crate::spread::Spread;
use crate::{Result, Scratch};

const BYTES: usize = 4096;
const FILES: usize = 200;

/// The event with a number.
type Sort = fn(usize) -> Result<Event>;

pub(crate) fn run() -> Result {
    let sorts: [(&str, Sort); 3] = [
        ("notes of 4 KB", |number| Ok(note(number))),
        ("edits in files of 4 KB", edit),
        ("new files of 4 KB, like noise", noise),
    ];
    for (sync, words, events) in [
        (SyncPolicy::None, "never synced", 20_000),
        (SyncPolicy::Effects, "synced behind", 20_000),
        (SyncPolicy::Always, "each synced", 200),
    ] {
        for (sort, event) in sorts {
            let ours = record(sync, events, event)?;
            let theirs = write(sync, events)?;
            let seconds = ours.0.iter().sum::<std::time::Duration>().as_secs_f64();
            let rate = events as f64 / seconds / 1000.0;
            let what = format!("{sort}, {words}: {rate:.1}k/s");
            let baseline = match sync {
                SyncPolicy::Always => "write and fdatasync",
                SyncPolicy::Effects | SyncPolicy::None => "write",
            };
            cases(&what, "an event", &ours, baseline, &theirs);
        }
    }
    Ok(())
}

fn record(sync: SyncPolicy, events: usize, event: Sort) -> Result<Spread> {
    let scratch = Scratch::new("recorded");
    let options = RecorderOptions {
        sync,
        ..RecorderOptions::default()
    };
    let mut recorder = Recorder::create(&scratch.0, Header::default(), options)?;
    let mut spread = Spread::default();
    for number in 0..events {
        let event = event(number)?;
        let mut appended = Ok(jukebox::model::Seq(0));
        spread.0.push(clock(|| appended = recorder.append(event)));
        appended?;
    }
    recorder.close(Outcome::Ok)?;
    Ok(spread)
}

fn write(sync: SyncPolicy, events: usize) -> Result<Spread> {
    let scratch = Scratch::new("written");
    let mut file = File::create(&scratch.0)?;
    let bytes = words(0);
    let mut spread = Spread::default();
    for _ in 0..events {
        let mut written = Ok(());
        spread.0.push(clock(|| {
            written = file.write_all(bytes.as_bytes());
            if sync == SyncPolicy::Always && written.is_ok() {
                written = file.sync_data();
            }
        }));
        written?;
    }
    Ok(spread)
}

fn note(number: usize) -> Event {
    let text = words(number);
    Event::new(Body::Note { text })
}

/// A change of one word in one of many files.
fn edit(number: usize) -> Result<Event> {
    let path = TapePath::new(format!("src/file_{}.rs", number % FILES))?;
    let mut bytes = words(number % FILES);
    let at = (number / FILES * 97) % (BYTES - 64);
    bytes.replace_range(at..at + 8, &format!("{:08}", number % 100_000_000));
    let change = FileChange::write(path, bytes.into_bytes());
    Ok(Event::new(Body::File(change)))
}

/// Bytes that cannot be made smaller, in a file that nobody knew.
fn noise(number: usize) -> Result<Event> {
    let path = TapePath::new(format!("data/{number}.bin"))?;
    let mut state = number as u64 + 1;
    let bytes: Vec<u8> = (0..BYTES)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 24) as u8
        })
        .collect();
    Ok(Event::new(Body::File(FileChange::write(path, bytes))))
}

/// 4 KB of words.
fn words(number: usize) -> String {
    let mut text = String::with_capacity(BYTES + 16);
    let mut count = number;
    while text.len() < BYTES {
        text.push_str("word");
        text.push_str(&count.to_string());
        text.push(' ');
        count += 31;
    }
    text.truncate(BYTES);
    text
}
