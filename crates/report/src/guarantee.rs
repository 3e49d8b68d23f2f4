//! What a result covers, in a sentence.

use crate::numbers::{count, duration, plural, short_count};
use explore::{Caveat, CaveatKind, Promise, Spent, Stats, Verdict};

/// The limit that ended a search, in words.
pub fn spent(limit: Spent) -> String {
    match limit {
        Spent::Executions(n) => plural(n, "execution"),
        Spent::Seconds(s) => duration(s),
    }
}

/// The sentence that says what a result covers.
///
/// `promise` is what the search promises if it has ended; `spent` names the limit that was reached if it has not (`60 s`,
/// `1,000 executions`). `estimate` is a guess at how
/// many executions there are in all, and the sentence says that it is one. `caveats` are what the result leaves out.
///
/// A check that stopped early never looks like one that finished: only a finished one has the words `verified` or
/// `complete` in its sentence.
///
/// ```
/// use explore::{Promise, Stats, Verdict};
/// let stats = Stats { executions: 1_234_567, open: 31, ..Stats::default() };
/// assert_eq!(
///     report::guarantee(Verdict::Incomplete, &Promise::Everything, &stats, Some("60 s"), Some(5.1e9), &[]),
///     "gave up after 60 s, 1.2 M executions, 31 open branches; there may be 5.1 G executions in all (an estimate)"
/// );
/// ```
pub fn guarantee(
    verdict: Verdict,
    promise: &Promise,
    stats: &Stats,
    spent: Option<&str>,
    estimate: Option<f64>,
    caveats: &[Caveat],
) -> String {
    let text = sentence(verdict, promise, stats, spent, estimate, caveats);
    let weakening = caveats.iter().filter(|c| c.kind.weakens()).count();
    match (verdict, weakening) {
        (Verdict::NoFailureWithinBound | Verdict::NoFailureWithCaveats, 1) => {
            format!("{text}; the caveat below says what was not explored")
        }
        (Verdict::NoFailureWithinBound | Verdict::NoFailureWithCaveats, 2..) => {
            format!("{text}; the {weakening} caveats below say what was not explored")
        }
        _ => text,
    }
}

fn sentence(
    verdict: Verdict,
    promise: &Promise,
    stats: &Stats,
    spent: Option<&str>,
    estimate: Option<f64>,
    caveats: &[Caveat],
) -> String {
    let assumed = match stats.assumed {
        0 => String::new(),
        n => format!(" that satisfy the assumptions ({} more did not)", count(n)),
    };
    let model = if caveats.iter().any(|c| c.kind == CaveatKind::MemoryOrder) {
        " under sequential consistency"
    } else {
        ""
    };
    match verdict {
        Verdict::NoFailureWithCaveats if stats.executions == 1 && stats.assumed == 0 => {
            format!("no failure in the only execution{model}")
        }
        Verdict::NoFailureWithCaveats => {
            format!("no failure in all {}{assumed}{model}", plural(stats.executions, "execution"))
        }
        Verdict::Verified => match (stats.executions, stats.assumed) {
            (0, 1..) => format!(
                "verified, but nothing was checked: none of {} satisfies the assumptions",
                plural(stats.assumed, "execution")
            ),
            // What most checks end with; put together by hand, because a check may take a few microseconds.
            (1, 0) if model.is_empty() => "verified: the only execution".to_owned(),
            (1, 0) => ["verified", model, ": the only execution"].concat(),
            (1, _) => {
                format!("verified{model}: the only execution{}", assumed.replace("satisfy", "satisfies"))
            }
            (n, _) => ["verified", model, ": all ", &plural(n, "execution"), &assumed].concat(),
        },
        Verdict::NoFailureWithinBound => format!(
            "no failure within {}{model} (complete for that bound: all {}{assumed})",
            if let Promise::Within(bound) = promise { bound.as_str() } else { "the bound" },
            plural(stats.executions, "execution"),
        ),
        Verdict::Failure => {
            let seen = format!("failure found; {} seen", plural(stats.executions, "complete execution"));
            if let Promise::Nothing(what) = promise {
                return format!("{seen} ({what})");
            }
            match (spent, stats.open) {
                (Some(spent), open) => {
                    format!("{seen}, gave up after {spent}, {} left", plural_branches(open))
                }
                (None, 0) => seen,
                (None, open) => format!("{seen}, {} left", plural_branches(open)),
            }
        }
        Verdict::Incomplete => {
            if let Promise::Nothing(what) = promise {
                return format!("no failure in {} ({what})", plural(stats.executions, "execution"));
            }
            let mut parts = Vec::new();
            let counted = spent.is_some_and(|s| s.ends_with("executions") || s.ends_with("execution"));
            parts.extend(spent.map(str::to_owned));
            if !counted {
                parts.push(format!(
                    "{} execution{}",
                    short_count(stats.executions as f64),
                    if stats.executions == 1 { "" } else { "s" }
                ));
            }
            parts.push(plural_branches(stats.open));
            let all = match estimate.filter(|n| n.is_finite() && *n > stats.executions as f64) {
                Some(n) => format!("; there may be {} executions in all (an estimate)", short_count(n)),
                None => String::new(),
            };
            format!("gave up after {}{all}", parts.join(", "))
        }
    }
}

fn plural_branches(n: u64) -> String {
    format!("{} open branch{}", short_count(n as f64), if n == 1 { "" } else { "es" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stats(executions: u64, open: u64, assumed: u64) -> Stats {
        Stats { executions, open, assumed, ..Stats::default() }
    }

    #[test]
    fn a_finished_search_says_how_many_executions_it_saw() {
        let says = |executions, assumed| {
            guarantee(
                Verdict::Verified,
                &Promise::Everything,
                &stats(executions, 0, assumed),
                None,
                None,
                &[],
            )
        };
        assert_eq!(says(24, 0), "verified: all 24 executions");
        assert_eq!(says(1_234_567, 0), "verified: all 1,234,567 executions");
        assert_eq!(says(1, 0), "verified: the only execution");
        assert_eq!(says(5, 2), "verified: all 5 executions that satisfy the assumptions (2 more did not)");
        assert_eq!(
            says(0, 2),
            "verified, but nothing was checked: none of 2 executions satisfies the assumptions"
        );
    }

    #[test]
    fn a_bounded_search_names_its_bound() {
        assert_eq!(
            guarantee(
                Verdict::NoFailureWithinBound,
                &Promise::Within("2 preemptions".into()),
                &stats(7, 0, 0),
                None,
                None,
                &[]
            ),
            "no failure within 2 preemptions (complete for that bound: all 7 executions)"
        );
    }

    #[test]
    fn a_result_with_caveats_is_never_plainly_verified() {
        let says = |kinds: &[CaveatKind], promise: &Promise| {
            let caveats: Vec<Caveat> = kinds.iter().map(|k| Caveat::new(*k, "left out")).collect();
            let verdict = Verdict::of(false, true, promise, &caveats);
            (verdict, guarantee(verdict, promise, &stats(7, 0, 0), None, None, &caveats))
        };
        let order = [CaveatKind::MemoryOrder];
        let two = [CaveatKind::Turns, CaveatKind::Library, CaveatKind::MemoryOrder];
        let everything = Promise::Everything;
        assert_eq!(
            says(&order, &everything),
            (Verdict::Verified, "verified under sequential consistency: all 7 executions".into())
        );
        assert_eq!(
            says(&[CaveatKind::Turns], &everything),
            (
                Verdict::NoFailureWithCaveats,
                "no failure in all 7 executions; the caveat below says what was not explored".into()
            )
        );
        assert_eq!(
            says(&two, &everything).1,
            "no failure in all 7 executions under sequential consistency; the 2 caveats below say what was not explored"
        );
        let within = says(&[CaveatKind::Turns], &Promise::Within("2 preemptions".into()));
        assert_eq!(within.0, Verdict::NoFailureWithinBound);
        assert!(within.1.ends_with("; the caveat below says what was not explored"), "{}", within.1);
    }

    #[test]
    fn a_failure_says_whether_anything_is_left() {
        let says = |open, spent| {
            guarantee(Verdict::Failure, &Promise::Everything, &stats(3, open, 0), spent, None, &[])
        };
        assert_eq!(says(0, None), "failure found; 3 complete executions seen");
        assert_eq!(says(4, None), "failure found; 3 complete executions seen, 4 open branches left");
        assert_eq!(
            says(4, Some("9 s")),
            "failure found; 3 complete executions seen, gave up after 9 s, 4 open branches left"
        );
    }

    #[test]
    fn a_sample_says_what_it_is_whether_or_not_something_failed() {
        let sample = Promise::Nothing("a random walk; from seed 7".into());
        let says = |verdict| guarantee(verdict, &sample, &stats(3, 0, 0), Some("3 executions"), None, &[]);
        assert_eq!(says(Verdict::Incomplete), "no failure in 3 executions (a random walk; from seed 7)");
        assert_eq!(
            says(Verdict::Failure),
            "failure found; 3 complete executions seen (a random walk; from seed 7)"
        );
    }

    #[test]
    fn a_search_that_stopped_early_never_looks_like_one_that_finished() {
        for spent in [None, Some("60 s"), Some("1,000 executions")] {
            for estimate in [None, Some(2.0), Some(1e9), Some(f64::INFINITY), Some(f64::NAN)] {
                for open in [0, 1, 9] {
                    let text = guarantee(
                        Verdict::Incomplete,
                        &Promise::Everything,
                        &stats(1_000, open, 0),
                        spent,
                        estimate,
                        &[],
                    );
                    assert!(text.starts_with("gave up after "), "{text}");
                    assert!(
                        !text.contains("verified") && !text.contains("complete") && !text.contains("inf"),
                        "{text}"
                    );
                }
            }
        }
        assert_eq!(
            guarantee(
                Verdict::Incomplete,
                &Promise::Everything,
                &stats(990, 1, 0),
                Some("1,000 executions"),
                None,
                &[]
            ),
            "gave up after 1,000 executions, 1 open branch"
        );
    }
}
