//! Times a piece of work beside another one, and prints what came of it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::spread::Spread;

/// How often both sides are timed, in turn.
const ROUNDS: usize = 7;

/// A round of less than this is too short to be told from noise: more is done in it.
const ROUND: Duration = Duration::from_millis(20);

/// How much one call of the work does: so many of these.
pub(crate) type Amount<'a> = (u64, &'a str);

/// Times the work beside something else that does as much.
pub(crate) fn beside<A, B>(
    what: &str,
    amount: Amount<'_>,
    mut work: impl FnMut() -> A,
    baseline: &str,
    mut other: impl FnMut() -> B,
) {
    let (calls, other_calls) = (calls_in_a_round(&mut work), calls_in_a_round(&mut other));
    let (mut ours, mut theirs) = (Spread::default(), Spread::default());
    for _ in 0..ROUNDS {
        ours.0.push(round(calls, &mut work));
        theirs.0.push(round(other_calls, &mut other));
    }
    let (ours, theirs) = (ours.median(), theirs.median());
    print(what, amount, ours, None, baseline, theirs);
}

/// Times the work beside a time that it is given.
pub(crate) fn within<A>(
    what: &str,
    amount: Amount<'_>,
    mut work: impl FnMut() -> A,
    baseline: &str,
    given: Duration,
) {
    let rounds = (0..ROUNDS).map(|_| clock(&mut work)).collect();
    let ours = Spread(rounds);
    print(what, amount, ours.median(), None, baseline, given);
}

/// Prints single cases beside those of something else.
pub(crate) fn cases(what: &str, one: &str, ours: &Spread, baseline: &str, theirs: &Spread) {
    let p99 = Some(ours.at(0.99));
    print(
        what,
        (1, one),
        ours.median(),
        p99,
        baseline,
        theirs.median(),
    );
}

/// How long it takes once.
pub(crate) fn clock<A>(work: impl FnOnce() -> A) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

fn calls_in_a_round<A>(work: &mut impl FnMut() -> A) -> u32 {
    let once = clock(&mut *work).max(Duration::from_nanos(20));
    (ROUND.as_nanos() / once.as_nanos()).clamp(1, 1_000_000) as u32
}

/// The time of one call, from a round of several.
fn round<A>(calls: u32, work: &mut impl FnMut() -> A) -> Duration {
    let all = clock(|| {
        for _ in 0..calls {
            black_box(work());
        }
    });
    // Calls of a few nanoseconds are always made in large amounts.
    all / calls
}

fn print(
    what: &str,
    (count, one): Amount<'_>,
    ours: Duration,
    p99: Option<Duration>,
    baseline: &str,
    theirs: Duration,
) {
    let each = |duration: Duration| in_words(duration.as_secs_f64() / count as f64);
    let p99 = p99.map(|p99| format!(", p99 {}", each(p99)));
    let time = format!("{} {one}{}", each(ours), p99.unwrap_or_default());
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!("  {what:<44} {time:<36} {ratio:8.2} × {baseline}");
}

/// Seconds with three digits that count.
fn in_words(seconds: f64) -> String {
    let (number, unit) = match seconds {
        less if less < 1e-6 => (seconds * 1e9, "ns"),
        less if less < 1e-3 => (seconds * 1e6, "µs"),
        _ => (seconds * 1e3, "ms"),
    };
    let digits = match number {
        less if less < 10.0 => 2,
        less if less < 100.0 => 1,
        _ => 0,
    };
    format!("{number:.digits$} {unit}")
}
