//! Keys, pastes, the mouse, sizes and a tape that grows, as a terminal sends them.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::pty::Pty;
use super::{PATIENCE, PROGRAM, QUIET, SIZE, World, check_left_clean, count, state_of, tapes};

#[test]
fn a_press_and_a_repeat_move_and_a_release_does_not() {
    let world = World::new(tapes::prompts(20));
    for keys in [
        &b"kkkk"[..],
        b"\x1b[107;1:1u\x1b[107;1:3u\x1b[107;1:1u\x1b[107;1:2u\x1b[107;1:2u\x1b[107;1:3u",
        b"\x1b[A\x1b[A\x1bOA\x1b[1;1:2A\x1b[1;1:3A",
    ] {
        let mut pty = world.open(&[]);
        pty.send(keys).unwrap();
        let moved = pty.wait_for(PATIENCE, |screen| screen.contents().contains("16/20"));
        assert!(moved.unwrap(), "{}", pty.screen().contents());
        pty.settle(QUIET).unwrap();
        assert!(
            pty.screen().contents().contains("16/20"),
            "{}",
            pty.screen().contents()
        );
    }
}

#[test]
fn a_paste_types_and_does_not_press() {
    let world = World::new(tapes::small());
    let mut pty = world.open(&[]);
    pty.send(b"/\x1b[200~qqqq\x1b[201~").unwrap();
    let typed = pty.wait_for(PATIENCE, |screen| screen.contents().contains("qqqq"));
    assert!(typed.unwrap(), "{}", pty.screen().contents());
    pty.send(b"\x1b").unwrap();
    pty.settle(QUIET).unwrap();
    // Outside of a field there is nothing to paste into.
    pty.send(b"\x1b[200~qqqq\x1b[201~").unwrap();
    pty.settle(QUIET).unwrap();
    assert_ne!(state_of(pty.id()), 'Z');
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
}

/// The rows without the blanks at their ends: whether those were written depends on what
/// stood there before, and nobody sees it.
fn shown(screen: &vt100::Screen) -> String {
    let rows = screen.contents();
    let rows: Vec<&str> = rows.lines().map(str::trim_end).collect();
    rows.join("\n")
}

#[test]
fn a_storm_of_sizes_ends_where_it_began() {
    let world = World::new(tapes::prompts(200));
    let mut pty = world.open(&[]);
    pty.send(b"100k").unwrap();
    // Every pane has its answer, however slow the machine is.
    let is_whole = |screen: &vt100::Screen| {
        let words = ["100/200", "No file is known", "prompt (user)", "▸100"];
        words.iter().all(|words| screen.contents().contains(words))
    };
    assert!(pty.wait_for(PATIENCE, is_whole).unwrap());
    pty.settle(QUIET).unwrap();
    let before = shown(pty.screen());
    let odd = [
        (0, 0),
        (1, 1),
        (2, 1),
        (1, 300),
        (400, 1),
        (29, 7),
        (30, 8),
        (79, 24),
        (400, 300),
    ];
    for (columns, rows) in odd.into_iter().chain(random_sizes(150)) {
        pty.resize(columns, rows).unwrap();
        pty.read(Duration::from_millis(12)).unwrap();
    }
    pty.resize(SIZE.0, SIZE.1).unwrap();
    let is_as_before = |screen: &vt100::Screen| shown(screen) == before;
    let is_calm = pty.wait_for(PATIENCE, is_as_before).unwrap();
    assert!(is_calm, "{before}\nbecame\n{}", shown(pty.screen()));
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
}

#[test]
fn the_mouse_is_given_to_the_terminal_and_taken_back() {
    let world = World::new(tapes::prompts(20));
    let switched = |pty: &Pty, how: char| count(pty.bytes(), &format!("\x1b[?1002{how}"));
    let mut pty = world.open(&[]);
    assert_eq!((switched(&pty, 'h'), switched(&pty, 'l')), (1, 0));
    for times in [(1, 1), (2, 1)] {
        pty.send(b"M").unwrap();
        let are_so_many = |pty: &Pty| (switched(pty, 'h'), switched(pty, 'l')) == times;
        assert!(pty.wait_until(PATIENCE, are_so_many).unwrap(), "{times:?}");
    }
    // The first column of the strip is the first step.
    pty.send(b"\x1b[<0;1;2M\x1b[<0;1;2m").unwrap();
    let is_there = pty.wait_for(PATIENCE, |screen| screen.contents().contains("step 1/20"));
    assert!(is_there.unwrap(), "{}", pty.screen().contents());
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    assert_eq!(pty.modes().unwrap(), pty.modes_before());

    let mut pty = world.start_as(&[], &["--mouse", "off"], &[]);
    // That is where it was left.
    let is_shown = |screen: &vt100::Screen| screen.contents().contains("step 1/20");
    assert!(pty.wait_for(PATIENCE, is_shown).unwrap());
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    assert_eq!(switched(&pty, 'h'), 0);
}

#[test]
fn a_mark_is_there_the_next_time_and_in_every_command() {
    let world = World::new(tapes::prompts(20));
    let tape = fs::read(&world.tape).unwrap();
    let mut pty = world.open(&[]);
    pty.send(b"hhhmaq").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    let show = |place: &str| {
        let mut show = Command::new(PROGRAM);
        show.env_clear().env("HOME", world.directory.path());
        let place = format!("{}@{place}", world.tape.display());
        show.args(["show", &place, "--json"]).output().unwrap()
    };
    let (marked, counted) = (show("mark:a"), show("17"));
    assert!(marked.status.success() && !marked.stdout.is_empty());
    assert_eq!(marked.stdout, counted.stdout);
    assert_eq!(show("mark:b").status.code(), Some(2));
    let mut pty = world.open(&[]);
    for (keys, place) in [(&b"G"[..], "step 20/20"), (b"'a", "step 17/20")] {
        pty.send(keys).unwrap();
        let is_there = pty.wait_for(PATIENCE, |screen| screen.contents().contains(place));
        assert!(is_there.unwrap(), "{}", pty.screen().contents());
    }
    assert_eq!(fs::read(&world.tape).unwrap(), tape);
}

#[test]
fn a_run_is_chosen_from_a_list_and_is_where_a_signal_ended_it() {
    let world = World::new(tapes::prompts(20));
    let shows = |pty: &mut Pty, words: &str| {
        let is_shown = pty.wait_for(PATIENCE, |screen| screen.contents().contains(words));
        assert!(is_shown.unwrap(), "{words}: {}", pty.screen().contents());
    };
    let mut pty = world.open(&[]);
    pty.send(b"hhh").unwrap();
    shows(&mut pty, "step 17/20");
    pty.signal(Signal::TERM).unwrap();
    pty.wait(PATIENCE).unwrap().unwrap();

    let mut pty = world.choose();
    shows(&mut pty, "17/20");
    shows(&mut pty, "Open a run");
    pty.send(b"\r").unwrap();
    shows(&mut pty, "back at step 17");
    pty.send(b"l").unwrap();
    shows(&mut pty, "step 18/20");
    pty.send(b"R").unwrap();
    shows(&mut pty, "Open a run");
    // Another run, and back: nothing of the threads of before is in the way.
    pty.send(b"jdemo\r").unwrap();
    shows(&mut pty, "step 29/29");
    pty.send(b"R").unwrap();
    shows(&mut pty, "18/20");
    pty.send(b"\r").unwrap();
    shows(&mut pty, "back at step 18");
    pty.send(b"Rq").unwrap();
    shows(&mut pty, "step 18/20");
    pty.send(b"q").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
}

#[test]
fn the_mouse_and_keys_at_any_size_are_no_fault() {
    let world = World::new(tapes::prompts(200));
    let mut pty = world.open(&[]);
    for (columns, rows) in random_sizes(40) {
        pty.resize(columns, rows).unwrap();
        let outside = (u32::from(columns) + 1, u32::from(rows) + 1);
        for (column, row) in [(u32::from(columns), u32::from(rows)), outside] {
            let click = format!("\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m");
            pty.send(click.as_bytes()).unwrap();
        }
        pty.send(b"jkhl\t3Gg z?\x1b").unwrap();
        pty.read(Duration::from_millis(12)).unwrap();
    }
    pty.settle(QUIET).unwrap();
    pty.send(b"\x03").unwrap();
    assert!(pty.wait(PATIENCE).unwrap().unwrap().success());
    check_left_clean(&pty, 1);
}

#[test]
fn a_fast_writer_freezes_no_key_and_draws_no_flood() {
    let world = World::new(tapes::prompts(20));
    let mut pty = world.follow();
    // Away from the end, so that only the count of steps changes.
    pty.send(b"g").unwrap();
    pty.settle(QUIET).unwrap();
    let drawn = count(pty.bytes(), "\x1b[?25l");
    let mut tape = File::options().append(true).open(&world.tape).unwrap();
    let start = Instant::now();
    let mut seq = 21;
    let mut waits = Vec::new();
    for turn in 1..=10 {
        let lines: String = (seq..seq + 1000).map(tapes::prompt).collect();
        seq += 1000;
        tape.write_all(lines.as_bytes()).unwrap();
        let pressed = Instant::now();
        pty.send(b"l").unwrap();
        let at = format!("step {turn}/");
        let moved = pty.wait_for(PATIENCE, |screen| screen.contents().contains(&at));
        assert!(moved.unwrap(), "{}", pty.screen().contents());
        waits.push(pressed.elapsed());
        pty.settle_until(start + turn * Duration::from_millis(100))
            .unwrap();
    }
    // On a machine with other work all takes longer, and so there is more time to draw.
    let (frames, elapsed) = (count(pty.bytes(), "\x1b[?25l") - drawn, start.elapsed());
    let most = 45 * elapsed.as_millis().div_ceil(1000);
    assert!(frames as u128 <= most, "{frames} frames in {elapsed:?}");
    // One may meet a moment in which another program has the processor.
    waits.sort();
    assert!(waits[5] < Duration::from_secs(1), "keys took {waits:?}");
    let all = pty.wait_for(PATIENCE, |screen| screen.contents().contains("/10020"));
    assert!(all.unwrap(), "{}", pty.screen().contents());
}

/// Sizes up to 400 × 300, the same every time.
fn random_sizes(count: usize) -> impl Iterator<Item = (u16, u16)> {
    let mut random = 1_u64;
    let mut below = move |end: u64| {
        random = random
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        u16::try_from((random >> 33) % end).unwrap()
    };
    std::iter::repeat_with(move || (below(401), below(301))).take(count)
}
