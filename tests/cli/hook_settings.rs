//! The agent's settings with the hooks and without: what was there before stays.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::world::World;

#[test]
fn installed_and_taken_out_again_the_settings_are_the_same_to_the_byte() {
    let texts = [
        "{}",
        "{\n    \"model\": \"x\",\n    \"hooks\": {\n        \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n    },\n    \"é\": \"\\u00e9\", \"n\": [1, 2.5, null]\n}\n",
        "{\"hooks\":{\"PreToolUse\":[]},\"a\":{}}",
        "{\n\t\"hooks\": {}\n}",
    ];
    for text in texts {
        let world = World::new(&[]);
        let path = world.put("settings.json", text);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let dry = world.type_in("hook install --settings settings.json --dry-run");
        assert_eq!(
            (dry.code(), fs::read_to_string(&path).unwrap()),
            (0, text.to_owned())
        );
        assert!(dry.stdout().contains("\n+"), "{}", dry.stdout());
        let asked = world.type_in("hook install --settings settings.json");
        assert_eq!(
            (asked.code(), fs::read_to_string(&path).unwrap()),
            (2, text.to_owned())
        );
        assert_eq!(
            world
                .type_in("hook install --settings settings.json --yes")
                .code(),
            0
        );
        let installed = fs::read_to_string(&path).unwrap();
        let settings: Value = serde_json::from_str(&installed).unwrap();
        let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
            .as_str()
            .unwrap();
        assert!(command.ends_with("jukebox hook"), "{command}");
        let before: Value = serde_json::from_str(text).unwrap();
        for (name, value) in before
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| *name != "hooks")
        {
            assert_eq!(&settings[name], value);
        }
        if text.contains("say done") {
            assert_eq!(settings["hooks"]["Stop"][0], before["hooks"]["Stop"][0]);
        }
        assert_eq!(
            world.type_in("hook status --settings settings.json").code(),
            0
        );
        assert_eq!(
            world
                .type_in("hook install --settings settings.json --yes")
                .code(),
            0
        );
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            installed,
            "once is enough"
        );
        assert_eq!(
            world
                .type_in("hook uninstall --settings settings.json --yes")
                .code(),
            0
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o640
        );
        assert_eq!(
            world.type_in("hook status --settings settings.json").code(),
            1
        );
    }
}

#[test]
fn settings_that_changed_since_keep_what_changed() {
    let world = World::new(&[]);
    let path = world.put("settings.json", "{\"model\": \"x\"}");
    world.type_in("hook install --settings settings.json --yes");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    settings["model"] = json!("y");
    settings["hooks"]["Stop"]
        .as_array_mut()
        .unwrap()
        .push(json!({"hooks": [{"type": "command", "command": "mine"}]}));
    fs::write(&path, settings.to_string()).unwrap();
    assert_eq!(
        world
            .type_in("hook uninstall --settings settings.json --yes")
            .code(),
        0
    );
    let settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let mine = json!({"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]});
    assert_eq!(settings, json!({"model": "y", "hooks": mine}));
}

#[test]
fn settings_that_were_not_there_go_again() {
    let world = World::new(&[]);
    assert_eq!(world.type_in("hook install --yes").code(), 0);
    let path = world.path("../home/.claude/settings.json");
    assert!(path.is_file());
    assert_eq!(world.type_in("hook uninstall --yes").code(), 0);
    assert!(!path.exists());
}

#[test]
fn settings_that_cannot_be_read_are_not_touched() {
    for text in [
        "",
        "{\"a\": 1,}",
        "[]",
        "// mine\n{}",
        "{\"hooks\": []}",
        "{\"hooks\": {\"Stop\": 5}}",
        "{\"a\": 1, \"a\": 2}",
        "{\"a\": 123456789012345678901234567890}",
    ] {
        let world = World::new(&[]);
        let path = world.put("settings.json", text);
        let run = world.type_in("hook install --settings settings.json --yes");
        assert_eq!(run.code(), 2, "{text}");
        assert_eq!(run.stderr().lines().count(), 1, "{}", run.stderr());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!(
            fs::read_dir(world.path("")).unwrap().count(),
            1,
            "nothing beside it"
        );
    }
}
