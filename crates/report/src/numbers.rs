//! Numbers as people write them.

/// A count with its thousands apart.
///
/// ```
/// assert_eq!(report::count(56805), "56,805");
/// assert_eq!(report::count(7), "7");
/// ```
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    if digits.len() <= 3 {
        return digits;
    }
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count that may be rounded: exact below a million, with a unit above.
///
/// ```
/// assert_eq!(report::short_count(999_999.0), "999,999");
/// assert_eq!(report::short_count(1_234_000.0), "1.2 M");
/// assert_eq!(report::short_count(5.6e10), "56 G");
/// assert_eq!(report::short_count(3.2e17), "10^17.5");
/// ```
pub fn short_count(n: f64) -> String {
    let unit = |n: f64, name: &str| match n {
        n if n < 9.95 => format!("{n:.1} {name}"),
        n => format!("{n:.0} {name}"),
    };
    match n {
        n if n < 999_999.5 => count(n.max(0.0).round() as u64),
        n if n < 999.5e6 => unit(n / 1e6, "M"),
        n if n < 999.5e9 => unit(n / 1e9, "G"),
        n if n < 999.5e12 => unit(n / 1e12, "T"),
        n => format!("10^{:.1}", n.log10()),
    }
}

/// A duration.
///
/// ```
/// assert_eq!(report::duration(0.0004), "0.4 ms");
/// assert_eq!(report::duration(0.0421), "42 ms");
/// assert_eq!(report::duration(1.25), "1.2 s");
/// assert_eq!(report::duration(125.0), "2 min 5 s");
/// ```
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 0.00095 => format!("{:.1} ms", s.max(0.0) * 1e3),
        s if s < 0.9995 => format!("{:.0} ms", s * 1e3),
        s if s < 99.95 => format!("{s:.1} s"),
        s => format!("{} min {} s", s.round() as u64 / 60, s.round() as u64 % 60),
    }
}

/// A duration that may be very short.
///
/// ```
/// assert_eq!(report::short_duration(0.000_02), "20 us");
/// assert_eq!(report::short_duration(0.0021), "2 ms");
/// ```
pub fn short_duration(seconds: f64) -> String {
    if seconds < 0.00095 { format!("{:.0} us", seconds.max(0.0) * 1e6) } else { duration(seconds) }
}

/// `1 thing`, `2 things`.
pub(crate) fn plural(n: u64, thing: &str) -> String {
    [count(n).as_str(), " ", thing, if n == 1 { "" } else { "s" }].concat()
}
