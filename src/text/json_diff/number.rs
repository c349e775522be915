//! Whether two numbers say the same in different writing: `1`, `1.0` and `10e-1`.
//!
//! They are compared digit by digit, so that none is too large and none is rounded.

/// Whether two JSON numbers have one value. An exponent beyond all measure counts as
/// written: such numbers are the same only where their texts are.
pub(super) fn is_same_value(one: &str, two: &str) -> bool {
    match (Decimal::of(one), Decimal::of(two)) {
        (Some(one), Some(two)) => one == two,
        _ => one == two,
    }
}

/// Digits without zeros at either end, and the power of ten of the last one.
#[derive(PartialEq, Eq)]
struct Decimal {
    is_negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn of(written: &str) -> Option<Self> {
        let (mantissa, exponent) = match written.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (written, 0),
        };
        let (is_negative, mantissa) = match mantissa.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let significant = all.trim_end_matches('0');
        let dropped = i64::try_from(all.len() - significant.len()).ok()?;
        let digits = significant.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            // Zero has no sign and no size.
            return Some(Self {
                is_negative: false,
                digits,
                exponent: 0,
            });
        }
        let fraction = i64::try_from(fraction.len()).ok()?;
        Some(Self {
            is_negative,
            digits,
            exponent: exponent.checked_sub(fraction)?.checked_add(dropped)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_digit_by_digit() {
        let check = |one, two, expected| assert_eq!(is_same_value(one, two), expected, "{one}");
        check("1", "1.0", true);
        check("10e-1", "1", true);
        check("1E2", "100", true);
        check("-0", "0.00", true);
        check("-1", "1", false);
        check("12345678901234567890", "12345678901234567891", false);
        check("0.1", "0.10000000000000001", false);
        check("1e99999999999999999999", "1e99999999999999999999", true);
        check("1e99999999999999999999", "1.0e99999999999999999999", false);
    }
}
