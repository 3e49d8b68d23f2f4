//! The programs are what the table says.

use examples::{Example, Variant, all, example};
use raddle::{FailureKind, Plan, Verdict};

fn bugs() -> impl Iterator<Item = (&'static Example, FailureKind)> {
    all().iter().filter_map(|e| Some((e, e.bug?)))
}

#[test]
fn there_are_ten_bugs_and_names_are_unique() {
    assert_eq!(bugs().count(), 10);
    for e in all() {
        assert!(std::ptr::eq(example(e.name).unwrap(), e), "{}", e.name);
        assert!(
            (e.sizes.0..=e.sizes.1).contains(&e.small) && (e.small..=e.sizes.1).contains(&e.large),
            "{}",
            e.name
        );
    }
}

/// No failure, and nothing left out but spurious events, which the programs or the bound on events in a row leave out.
fn is_right(report: &raddle::Report) -> bool {
    let spurious = report.caveats.iter().all(|c| c.kind == raddle::CaveatKind::Spurious);
    report.verdict == Verdict::Verified || report.verdict == Verdict::NoFailureWithCaveats && spurious
}

#[test]
fn correct_variants_are_verified() {
    for e in all() {
        let report = e.config().algorithm("optimal").run(e.program(e.small, Variant::Correct));
        assert!(is_right(&report), "{}: {:?} {:?}", e.name, report.failures, report.caveats);
        assert!(report.stats.executions > 1, "{}: something can differ", e.name);
        assert_eq!(report.stats.blocked, 0, "{}", e.name);
    }
}

#[test]
fn correct_variants_are_also_verified_with_wake_ups_for_no_reason() {
    for (e, _) in bugs() {
        let config = e.config().algorithm("optimal").spurious_wakeups(true).spurious_failures(true);
        let report = config.run(e.program(e.sizes.0, Variant::Correct));
        assert!(is_right(&report), "{}: {:?} {:?}", e.name, report.failures, report.caveats);
    }
}

#[test]
fn buggy_variants_fail_as_expected_and_the_failure_replays() {
    for (e, kind) in bugs() {
        let report = e.config().algorithm("optimal").run(e.program(e.small, Variant::Buggy));
        assert_eq!(report.verdict, Verdict::Failure, "{}: {}", e.name, report.guarantee);
        let found = &report.failures[0];
        assert_eq!(found.kind, kind, "{}: {}", e.name, found.message);
        assert!(report.stats.executions > 1, "{}: the first execution must not show it", e.name);
        let again = e.config().replay(&found.replay).run(e.program(e.small, Variant::Buggy));
        let again = &again.failures[0];
        assert_eq!((again.kind, &again.message), (found.kind, &found.message), "{}", e.name);
    }
}

#[test]
fn every_reduction_finds_every_bug_and_replays_it() {
    for algorithm in explore::algorithms().iter().filter(|a| a.name != "none") {
        let plan = Plan::of(algorithm.name).unwrap();
        for (e, kind) in bugs() {
            // An algorithm that needs a bound says so.
            let Ok(row) =
                e.config().max_executions(20_000).measure(&plan, e.program(e.small, Variant::Buggy))
            else {
                continue;
            };
            let found =
                row.failure.unwrap_or_else(|| panic!("{} on {}: {}", algorithm.name, e.name, row.guarantee));
            assert_eq!(found.kind, kind, "{} on {}: {}", algorithm.name, e.name, found.message);
            let again = e.config().replay(&found.replay).run(e.program(e.small, Variant::Buggy));
            assert_eq!(again.failures[0].message, found.message, "{} on {}", algorithm.name, e.name);
        }
    }
}

#[test]
fn large_sizes_are_out_of_reach() {
    for (e, _) in bugs() {
        let config = e.config().algorithm("optimal").max_executions(20_000);
        let report = config.run(e.program(e.large, Variant::Correct));
        assert_eq!(report.verdict, Verdict::Incomplete, "{}", e.name);
    }
}

#[test]
fn the_programs_of_the_literature_have_their_known_counts() {
    // The same programs, with where each number comes from, are in the tests of raddle itself.
    for (name, size, classes) in [
        ("counter", 3, 20),
        ("mutex", 4, 24),
        ("readers", 8, 256),
        ("lastzero", 5, 64),
        ("fib", 3, 1_698),
        ("filesystem", 14, 2),
        ("indexer", 12, 8),
    ] {
        let e = example(name).unwrap();
        let report = e.config().algorithm("optimal").run(e.program(size, Variant::Correct));
        assert_eq!((report.stats.executions, report.stats.blocked), (classes, 0), "{name}({size})");
    }
}
