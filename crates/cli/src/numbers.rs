//! Numbers as people read them.

use std::time::Duration;

/// `1234567` as `1,234,567`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A value with so many significant digits, without an exponent where that stays short.
pub fn significant(value: f64, digits: usize) -> String {
    let decade = decade(value);
    if !value.is_finite() {
        value.to_string()
    } else if !(-4..7).contains(&decade) && value != 0.0 {
        format!("{value:.*e}", digits.saturating_sub(1))
    } else {
        let decimals = (digits as i32 - 1 - decade).max(0) as usize;
        format!("{value:.decimals$}")
    }
}

/// The power of ten of the leading digit.
fn decade(value: f64) -> i32 {
    if value == 0.0 || !value.is_finite() { 0 } else { value.abs().log10().floor() as i32 }
}

/// `3.2 s`, `4 min 05 s`, `2 h 03 min`, `3 d 04 h`.
pub fn duration(seconds: f64) -> String {
    let whole = Duration::try_from_secs_f64(seconds.max(0.0)).map_or(u64::MAX, |d| d.as_secs());
    match whole {
        0..1 => format!("{} s", significant(seconds, 2)),
        1..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        3600..86_400 => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
        _ => format!("{} d {:02} h", whole / 86_400, whole / 3600 % 24),
    }
}

/// `512 B`, `34.1 MiB`, `1.50 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = n as f64;
    let mut unit = "B";
    for next in UNITS {
        if value < 1000.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{n} B") } else { format!("{} {unit}", significant(value, 3)) }
}

/// A physical time per day of computing, from nanoseconds: `412 ns/day`, `8.64 µs/day`.
pub fn per_day(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        n if n >= 1e6 => (n * 1e-6, "ms"),
        n if n >= 1e3 => (n * 1e-3, "µs"),
        n if n >= 1.0 => (n, "ns"),
        n if n >= 1e-3 => (n * 1e3, "ps"),
        n => (n * 1e6, "fs"),
    };
    format!("{} {unit}/day", significant(value, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(n), text);
        }
    }

    #[test]
    fn significant_digits() {
        for (value, text) in [
            (0.0, "0.00"),
            (1.0, "1.00"),
            (0.012345, "0.0123"),
            (123456.0, "123456"),
            (1.5e9, "1.50e9"),
            (2.5e-7, "2.50e-7"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(significant(value, 3), text);
        }
    }

    #[test]
    fn times_and_sizes() {
        for (seconds, text) in [
            (0.25, "0.25 s"),
            (3.21, "3.2 s"),
            (59.0, "59 s"),
            (245.0, "4 min 05 s"),
            (7400.0, "2 h 03 min"),
            (273_600.0, "3 d 04 h"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        for (n, text) in [(512, "512 B"), (35_756_442, "34.1 MiB"), (1_610_612_736, "1.50 GiB")] {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(per_day(8640.0), "8.64 µs/day");
        assert_eq!(per_day(412.0), "412 ns/day");
    }
}
