//! Idioms of concurrent programs as users write them, right and wrong, over raddle's types. The same bodies run over std's types under
//! `cargo raddle test --std`.

mod common;

use common::default;
use raddle as rt;
use raddle::{Config, Report, Verdict};

#[path = "idioms/bodies.rs"]
#[macro_use]
#[allow(unreachable_pub, missing_docs, reason = "the bodies are part of another crate, too")]
mod bodies;

fn config() -> Config {
    default().max_time(std::time::Duration::from_secs(60))
}

fn failures(report: &Report) -> Vec<String> {
    report.failures.iter().map(|f| format!("{}: {}", f.kind.name(), f.message)).collect()
}

/// No failure, and nothing is left out but what a memory model would add and bounds that are named.
fn is_right(name: &str, f: fn()) {
    let report = config().run(f);
    let found = failures(&report);
    assert!(
        matches!(report.verdict, Verdict::Verified | Verdict::NoFailureWithCaveats),
        "{name}: {}\n{found:?}",
        report.guarantee
    );
}

fn is_wrong(name: &str, f: fn(), kinds: &[&str]) {
    let report = config().run(f);
    assert_eq!(report.verdict, Verdict::Failure, "{name}: {} {:?}", report.guarantee, report.caveats);
    let kind = report.failures[0].kind.name();
    assert!(kinds.contains(&kind), "{name}: {:?}", failures(&report));
    let again = config().replay(&report.failures[0].replay).run(f);
    assert_eq!(failures(&again), failures(&report), "{name}: replayed");
}

macro_rules! tests {
    (right: $($right:ident),*; wrong: $($wrong:ident => $kinds:expr),*; races: $($race:ident),*;) => {
        mod right {
            $(#[test] fn $right() { super::is_right(stringify!($right), super::bodies::$right); })*
        }
        mod wrong {
            $(#[test] fn $wrong() { super::is_wrong(stringify!($wrong), super::bodies::$wrong, &$kinds); })*
        }
        mod races {
            $(#[test] fn $race() { super::is_wrong(stringify!($race), super::bodies::$race, &["data-race"]); })*
        }
    };
}

list!(tests);
