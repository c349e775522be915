//! Sizes, times and counts in few columns, for people.
//!
//! Everything comes out as plain ASCII of a known greatest width, so that columns stand
//! still. What is exact stays exact up to the last unit that is shown; the rest is cut
//! off, never rounded up to a unit that was not reached.

use std::time::Duration;

/// A size in bytes, in at most five columns: `312`, `4.1k`, `88M`, `1.0G`. Units are
/// powers of 1024.
pub fn size(bytes: u64) -> String {
    scaled(bytes, 1024, &["", "k", "M", "G", "T", "P", "E"])
}

/// A count, in at most five columns: `41`, `9999`, `12k`, `1.5M`. Units are powers of 1000.
pub fn count(number: u64) -> String {
    if number < 10_000 {
        return number.to_string();
    }
    scaled(number, 1000, &["", "k", "M", "G", "T", "P", "E"])
}

/// How long something took, in at most five columns: `85ms`, `2.1s`, `41s`, `3m12s`,
/// `2h05m`, `9d04h`, `412d`.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{}ms", time.as_millis()),
        1..=9 => format!("{seconds}.{}s", time.subsec_millis() / 100),
        10..=59 => format!("{seconds}s"),
        60..=599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        600..=3599 => format!("{}m", seconds / 60),
        3600..=35_999 => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
        36_000..=86_399 => format!("{}h", seconds / 3600),
        86_400..=863_999 => format!("{}d{:02}h", seconds / 86_400, seconds / 3600 % 24),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long ago something was, in at most thirteen columns: `just now`, `5 min ago`,
/// `2 h ago`, `3 days ago`, `11 weeks ago`, `14 months ago`, `2 years ago`.
pub fn ago(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let some = |number: u64, one: &str, many: &str| format!("{} ago", plural(number, one, many));
    match days {
        0 if minutes == 0 => "just now".to_owned(),
        0 if hours == 0 => format!("{minutes} min ago"),
        0 => format!("{hours} h ago"),
        1..=13 => some(days, "day", "days"),
        14..=83 => some(days / 7, "week", "weeks"),
        84..=729 => some(days / 30, "month", "months"),
        _ => some(days / 365, "year", "years"),
    }
}

/// A time on the clock of a run: `03:12.4`, and `1:03:12.4` from an hour on.
pub fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, tenths) = (seconds / 60, time.subsec_millis() / 100);
    let rest = format!("{:02}:{:02}.{tenths}", minutes % 60, seconds % 60);
    match minutes / 60 {
        0 => rest,
        hours => format!("{hours}:{rest}"),
    }
}

/// A bar as long as a part of the whole, in at most so many columns: `███▌`. What is
/// something is seen, however small.
pub fn bar(part: u64, whole: u64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let most = columns as u128 * 8;
    let eighths = u128::from(part) * most / u128::from(whole.max(1));
    let eighths = eighths.max(u128::from(part > 0)).min(most) as usize;
    let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or_default();
    format!("{}{rest}", "█".repeat(eighths / 8))
}

/// A number and its noun: `1 step`, `3 steps`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    let noun = if number == 1 { one } else { many };
    format!("{number} {noun}")
}

fn scaled(number: u64, base: u64, units: &[&str]) -> String {
    let mut unit = units.iter();
    let mut suffix = unit.next().copied().unwrap_or_default();
    let (mut whole, mut part) = (number, 0);
    while whole >= base {
        let Some(next) = unit.next() else { break };
        (whole, part, suffix) = (whole / base, whole % base, next);
    }
    if suffix.is_empty() || whole >= 10 {
        format!("{whole}{suffix}")
    } else {
        format!("{whole}.{}{suffix}", part * 10 / base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_their_column() {
        let check = |bytes, expected: &str| assert_eq!(size(bytes), expected);
        check(0, "0");
        check(1023, "1023");
        check(1024, "1.0k");
        check(4300, "4.1k");
        check(10_239, "9.9k");
        check(10_240, "10k");
        check(1024 * 1024 - 1, "1023k");
        check(92_274_688, "88M");
        check(u64::MAX, "15E");
    }

    #[test]
    fn counts_stay_exact_while_they_can() {
        let check = |number, expected: &str| assert_eq!(count(number), expected);
        check(9999, "9999");
        check(12_345, "12k");
        check(1_549_999, "1.5M");
        assert_eq!(plural(1, "step", "steps"), "1 step");
        assert_eq!(plural(0, "step", "steps"), "0 steps");
    }

    #[test]
    fn how_long_ago_is_said_in_one_unit() {
        let check = |seconds, expected: &str| {
            let said = ago(Duration::from_secs(seconds));
            assert_eq!(said, expected);
            assert!(said.len() <= 13, "{said}");
        };
        let day = 86_400;
        check(59, "just now");
        check(119, "1 min ago");
        check(3599, "59 min ago");
        check(2 * 3600, "2 h ago");
        check(day, "1 day ago");
        check(13 * day, "13 days ago");
        check(83 * day, "11 weeks ago");
        check(729 * day, "24 months ago");
        check(5000 * day, "13 years ago");
    }

    #[test]
    fn bars_are_as_long_as_their_part() {
        let check = |part, whole, expected: &str| assert_eq!(bar(part, whole, 4), expected);
        check(0, 10, "");
        check(10, 10, "████");
        check(5, 10, "██");
        check(3, 8, "█▌");
        check(1, u64::MAX, "▏");
        check(7, 0, "████");
        assert_eq!(bar(1, 2, 0), "");
        check(u64::MAX, u64::MAX, "████");
    }

    #[test]
    fn times_read_like_times() {
        let check = |millis, short: &str, long: &str| {
            let time = Duration::from_millis(millis);
            assert_eq!(
                (duration(time).as_str(), clock(time).as_str()),
                (short, long)
            );
        };
        check(0, "0ms", "00:00.0");
        check(999, "999ms", "00:00.9");
        check(2199, "2.1s", "00:02.1");
        check(59_999, "59s", "00:59.9");
        check(192_400, "3m12s", "03:12.4");
        check(3_599_000, "59m", "59:59.0");
        check(7_500_000, "2h05m", "2:05:00.0");
        check(86_400_000, "1d00h", "24:00:00.0");
        check(u64::from(u32::MAX) * 1000, "49710d", "1193046:28:15.0");
    }
}
