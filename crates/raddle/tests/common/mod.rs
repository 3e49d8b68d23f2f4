//! What the test binaries share: how a program is run, and what is expected of it.
#![allow(dead_code, reason = "each binary uses some of it")]

use raddle::{Config, Failure, FailureKind, Report, Verdict};
use std::collections::BTreeSet;
use std::sync::Mutex;

/// As other tools count: no wake-ups and failures for no reason.
pub(crate) fn plain() -> Config {
    Config::new().algorithm("optimal").spurious_wakeups(false).spurious_failures(false).quiet(true)
}

/// As a user gets it.
pub(crate) fn default() -> Config {
    Config::new().quiet(true)
}

/// Everything a program can give; it must not fail.
#[track_caller]
pub(crate) fn outcomes_with<T: Ord>(config: Config, f: impl Fn() -> T) -> BTreeSet<T> {
    let seen = Box::new(Mutex::new(BTreeSet::new()));
    verified_with(config, || {
        let outcome = f();
        seen.lock().unwrap().insert(outcome);
    });
    seen.into_inner().unwrap()
}

/// Everything a program can give, as other tools count; it must not fail.
#[track_caller]
pub(crate) fn outcomes<T: Ord>(f: impl Fn() -> T) -> BTreeSet<T> {
    outcomes_with(plain(), f)
}

/// What went wrong, without the traces.
fn briefly(report: &Report) -> String {
    let one = |f: &Failure| {
        format!("\n  {} at {}: {}", f.kind.name(), f.location.as_deref().unwrap_or("?"), f.message)
    };
    report.failures.iter().map(one).collect()
}

/// Every execution is fine.
#[track_caller]
pub(crate) fn verified_with(config: Config, f: impl Fn()) -> Report {
    let report = config.run(f);
    // What a test turns off itself is named, and that the allocator decides which addresses come back.
    let turned_off = |c: &raddle::Caveat| {
        let left = ["Config::spurious_", "left to the allocator"];
        !c.kind.weakens() || left.iter().any(|text| c.text.contains(text))
    };
    let verified = report.verdict == Verdict::Verified
        || report.verdict == Verdict::NoFailureWithCaveats && report.caveats.iter().all(turned_off);
    assert!(verified, "{}{}{:?}", report.guarantee, briefly(&report), report.caveats);
    report
}

/// Every execution is fine, also with wake-ups and failures for no reason.
#[track_caller]
pub(crate) fn verified(f: impl Fn()) -> Report {
    verified_with(default(), f)
}

/// What goes wrong: one failure, of this kind.
#[track_caller]
pub(crate) fn fails_with(config: Config, kind: FailureKind, f: impl Fn()) -> Failure {
    let mut report = config.run(f);
    assert_eq!(report.verdict, Verdict::Failure, "{}", report.guarantee);
    assert_eq!(report.failures.len(), 1, "{}", briefly(&report));
    assert_eq!(report.failures[0].kind, kind, "{}", briefly(&report));
    report.failures.remove(0)
}

/// A search that stops at a limit of one execution, and why.
#[track_caller]
pub(crate) fn stops_with(config: Config, f: impl Fn()) -> raddle::Stop {
    let report = config.run(f);
    assert_eq!(report.verdict, Verdict::Incomplete, "{}", report.guarantee);
    let stop = report.stopped.unwrap_or_else(|| panic!("{}", report.guarantee));
    assert_eq!(stop.reason, raddle::StopReason::Limit, "{stop:?}");
    stop
}

/// The same with what a user gets.
#[track_caller]
pub(crate) fn fails(kind: FailureKind, f: impl Fn()) -> Failure {
    fails_with(default(), kind, f)
}

/// A seeded bug is found, and its token shows it again.
#[track_caller]
pub(crate) fn found(kind: FailureKind, f: impl Fn()) -> Failure {
    let failure = fails(kind, &f);
    let again = fails_with(default().replay(&failure.replay), kind, &f);
    assert_eq!((&again.message, &again.location), (&failure.message, &failure.location), "replayed");
    failure
}

/// All kinds of what goes wrong when the search goes on after the first.
pub(crate) fn kinds(f: impl Fn()) -> Vec<FailureKind> {
    default().keep_going(true).run(f).failures.iter().map(|f| f.kind).collect()
}

/// The text says all of these.
#[track_caller]
pub(crate) fn says(text: &str, all: &[&str]) {
    for part in all {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}
