//! Random programs with what lies around the search: timed waits and spurious events, plain variables and structures, memory that comes
//! back, shared buffers that are copied, compared and sorted, atomics of several sizes, relaxed flags, and loops that look.
//!
//! The programs are those that `crates/cli/tests/random_environment.rs` compiles as C. Here each is run over raddle's types inside of a
//! check, and by the same interpreter, which goes through all interleavings and all choices and uses no code of raddle. Both must see
//! the same: the states at the end, failed assertions, deadlocks and data races, nothing more and nothing less. Rules of the interpreter
//! are then turned off one at a time: the programs must tell each of these wrong interpreters from raddle.
//!
//! `RADDLE_TEST_PROGRAMS=FROM:TO cargo test -p raddle --test random_environment -- --ignored --nocapture` compares the programs of these
//! seeds.

#[path = "../../cli/tests/random_environment/effects.rs"]
mod effects;
#[allow(dead_code, reason = "some of it is for C")]
#[path = "../../cli/tests/random_environment/interpreter.rs"]
mod interpreter;
#[allow(dead_code, reason = "some of it is for C")]
#[path = "../../cli/tests/random_environment/program.rs"]
mod program;

use interpreter::{Mode, Outcomes, RIGHT, Rules, has, outcomes};
use program::{FAMILIES, Family, Program, Stmt, Value, shrink};
use raddle::{Config, FailureKind, Report, Verdict};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;

#[path = "../../cli/tests/random_environment/over_raddle.rs"]
mod ours;

/// Programs with more states than this are not compared.
const STATES: usize = 20_000;

/// Searches that need more executions than this are not compared, except that nothing unreal may be found.
const EXECUTIONS: u64 = 20_000;

/// The program of this number, with what Rust has.
fn program(family: Family, seed: u64) -> Program {
    ours::in_rust(program::program(family, seed))
}

/// What is right for a program by these rules, or nothing if it cannot be compared.
fn expected(p: &Program, rules: Rules) -> Option<Outcomes> {
    let mode = if p.family == Family::Volatile { Mode::VolatileAtomic } else { Mode::Report };
    let right = outcomes(p, mode, rules, STATES).ok()?;
    // Whether all bytes are accessed that may be is left to whoever copies or compares them.
    let more = Rules { calls_access_more: true, ..rules };
    if p.family == Family::Library && outcomes(p, mode, more, STATES).ok()?.race != right.race {
        return None;
    }
    Some(right)
}

/// What was seen of a program.
#[derive(Clone, Debug)]
struct Seen {
    ends: BTreeSet<u64>,
    failed: BTreeSet<u32>,
    kinds: BTreeSet<&'static str>,
    caveats: BTreeSet<&'static str>,
    complete: bool,
    text: String,
}

/// A panic of the search itself is what was seen, too.
fn check(p: &Program) -> Seen {
    std::panic::catch_unwind(|| search(p)).unwrap_or_else(|_| Seen {
        ends: BTreeSet::new(),
        failed: BTreeSet::new(),
        kinds: BTreeSet::from(["panic of the search"]),
        caveats: BTreeSet::new(),
        complete: false,
        text: String::new(),
    })
}

fn search(p: &Program) -> Seen {
    let ends = Box::new(RefCell::new(BTreeSet::new()));
    // All loads of the interpreter are at one place, so turns say nothing.
    let config = Config::new().quiet(true).keep_going(true).spurious(32).turns(64).leaks(false).scan(false);
    let report: Report = config.shrink(false).max_executions(EXECUTIONS).run(|| {
        let end = ours::run(&raddle::sync::Arc::new(p.clone()));
        ends.borrow_mut().insert(end);
    });
    let number = |m: &str| m.split_once("number ").and_then(|(_, n)| n.split('.').next()?.parse().ok());
    let stats = &report.stats;
    Seen {
        ends: ends.into_inner(),
        failed: report.failures.iter().filter_map(|f| number(&f.message)).collect(),
        kinds: report.failures.iter().map(|f| f.kind.name()).collect(),
        caveats: report.caveats.iter().map(|c| c.kind.name()).collect(),
        complete: report.stopped.is_none()
            && report.verdict != Verdict::Incomplete
            && stats.open == 0
            && stats.executions + stats.blocked + 10 < EXECUTIONS,
        text: format!(
            "{}; {:?}; {:?}",
            report.guarantee,
            report.failures.iter().map(|f| &f.message).collect::<Vec<_>>(),
            report.caveats.iter().map(|c| &c.text).collect::<Vec<_>>()
        ),
    }
}

fn is_race(seen: &Seen) -> bool {
    let races = [FailureKind::DataRace, FailureKind::UseAfterFree, FailureKind::DoubleFree];
    races.iter().any(|k| seen.kinds.contains(k.name()))
}

/// How they differ.
fn difference(p: &Program, right: &Outcomes, seen: &Seen) -> Option<String> {
    let is_timed_loop = |s: &Stmt| matches!(s, Stmt::WaitWhile { timed: true, most: 0, .. });
    let has_timed_loop = p.threads.iter().any(|b| has(b, &is_timed_loop));
    let mut all = vec![];
    let mut differ = |what: &str, right: String, found: String| {
        all.push(format!("{what}: right {right}, found {found}"));
    };
    let is = |kinds: &[&str]| kinds.iter().any(|k| seen.kinds.contains(*k));
    let race = is_race(seen);
    let known = ["data-race", "use-after-free", "double-free", "deadlock", "livelock", "assertion", "panic"];
    let other: Vec<_> = seen.kinds.iter().filter(|k| !known.contains(k)).collect();
    if !other.is_empty() {
        differ("failures", "none of these".to_owned(), format!("{other:?}"));
    }
    if race != right.race && (race || seen.complete) {
        differ("race", right.race.to_string(), race.to_string());
    } else if !race && !right.race {
        let stuck = is(&["deadlock", "livelock"]);
        if stuck && !right.stuck_but_for_failures || !stuck && right.stuck && seen.complete {
            differ("stuck", right.stuck.to_string(), stuck.to_string());
        }
        let lost = |missing: usize| seen.complete && missing > 0;
        if seen.failed.difference(&right.failed).count() > 0
            || lost(right.failed.difference(&seen.failed).count())
        {
            differ("assertions", format!("{:?}", right.failed), format!("{:?}", seen.failed));
        }
        if seen.ends.difference(&right.ends).count() > 0 || lost(right.ends.difference(&seen.ends).count()) {
            differ("ends", format!("{:?}", right.ends), format!("{:?}", seen.ends));
        }
        let is_allowed = |c: &str| match c {
            "memory-order" => true,
            // A loop of timed waits that another thread ends under the lock may be confirmed not to end, or not.
            "may-not-end" => right.stuck || has_timed_loop,
            _ => false,
        };
        if let Some(c) = seen.caveats.iter().find(|c| !is_allowed(c) && seen.complete) {
            differ("caveat", "none".to_owned(), (*c).to_owned());
        }
    }
    (!all.is_empty()).then(|| format!("{}\n{}", all.join("\n"), seen.text))
}

struct Compared {
    program: Program,
    seen: Seen,
}

/// Compares the programs of these seeds: every one that was compared, and how they differ.
fn compare(family: Family, seeds: Range<u64>) -> (Vec<Compared>, Vec<String>) {
    let (mut compared, mut different) = (vec![], vec![]);
    for seed in seeds {
        let p = program(family, seed);
        let Some(right) = ours::is_rust(&p).then(|| expected(&p, RIGHT)).flatten() else { continue };
        let seen = check(&p);
        if difference(&p, &right, &seen).is_some() {
            let differs = |q: &Program| expected(q, RIGHT).and_then(|right| difference(q, &right, &check(q)));
            let small = shrink(p.clone(), |q| differs(q).is_some());
            different
                .push(format!("{family:?}, seed {seed}: {}\n{small:?}", differs(&small).unwrap_or_default()));
        }
        compared.push(Compared { program: p, seen });
    }
    (compared, different)
}

/// Names of rules that the programs of a family must show to be needed, with the rules that lack them.
fn wrong_rules(family: Family) -> Vec<(&'static str, Rules)> {
    match family {
        Family::Waits => vec![
            ("no timeouts", Rules { timeouts: false, ..RIGHT }),
            ("no spurious events", Rules { spurious: 0, ..RIGHT }),
            ("one spurious event in a row", Rules { spurious: 1, ..RIGHT }),
        ],
        Family::Structures => vec![
            ("arguments are not read", Rules { arguments_are_read: false, ..RIGHT }),
            ("results are not written", Rules { results_are_written: false, ..RIGHT }),
        ],
        Family::Reuse => vec![("never reuse", Rules { reuse: false, ..RIGHT })],
        Family::Library => vec![
            ("bytes are not read", Rules { calls_read: false, ..RIGHT }),
            ("bytes are not written", Rules { calls_write: false, ..RIGHT }),
        ],
        Family::SubWord => {
            vec![("parts of a word do not fail spuriously", Rules { parts_fail: false, ..RIGHT })]
        }
        Family::Volatile => vec![("relaxed flags order", Rules { volatile_is_relaxed: false, ..RIGHT })],
        _ => vec![
            ("loops look once", Rules { fruitless_turns: false, ..RIGHT }),
            ("no spurious events", Rules { spurious: 0, ..RIGHT }),
        ],
    }
}

/// Compares programs of a family, and notices every wrong rule.
fn family(family: Family, seeds: u64) {
    let (compared, different) = compare(family, 0..seeds);
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n\n"));
    let complete = compared.iter().filter(|c| c.seen.complete).count();
    let races = compared.iter().filter(|c| is_race(&c.seen)).count();
    println!("{family:?}: {} compared, {complete} complete, {races} with races", compared.len());
    assert!(complete as u64 > seeds / 3, "{complete} of {seeds} programs were compared");
    for (name, rules) in wrong_rules(family) {
        let noticed = |c: &&Compared| {
            expected(&c.program, rules).is_some_and(|wrong| difference(&c.program, &wrong, &c.seen).is_some())
        };
        let caught = compared.iter().filter(noticed).count();
        println!("{family:?}: {caught} programs notice `{name}`");
        assert!(caught > 0, "{family:?}: no program notices the wrong rule `{name}`");
    }
}

#[test]
fn timed_waits_and_spurious_events() {
    family(Family::Waits, 150);
}

#[test]
fn structures_and_plain_variables() {
    family(Family::Structures, 150);
}

#[test]
fn reused_memory() {
    family(Family::Reuse, 400);
}

#[test]
fn shared_buffers() {
    family(Family::Library, 150);
}

#[test]
fn atomics_of_several_sizes() {
    family(Family::SubWord, 150);
}

#[test]
fn relaxed_flags() {
    family(Family::Volatile, 150);
}

#[test]
fn loops_that_look() {
    family(Family::Polling, 150);
}

/// Programs that once differed.
#[test]
fn programs_that_were_found() {
    let (counted, timed) = (
        Stmt::WaitWhile { variable: 0, value: 0, timed: false, most: 1, r: 0 },
        Stmt::WaitWhile { variable: 0, value: 0, timed: true, most: 0, r: 0 },
    );
    let locked = |body: Vec<Stmt>| Stmt::Critical(0, body);
    let fails = Stmt::Assert(0, 1, 1);
    let found = [
        // The search met a step that could not run.
        (
            Family::Waits,
            vec![vec![locked(vec![counted]), fails.clone()], vec![Stmt::DownTimed(0), locked(vec![])]],
        ),
        (
            Family::Waits,
            vec![
                vec![Stmt::TimedCritical(1, 0, vec![]), locked(vec![]), fails.clone()],
                vec![Stmt::DownTimed(1), locked(vec![])],
            ],
        ),
        (
            Family::Reuse,
            vec![vec![Stmt::New(0), Stmt::Free(0), Stmt::New(0)], vec![Stmt::New(0), Stmt::Free(0)], vec![]],
        ),
        // Executions with a thread that is stopped had no panics.
        (
            Family::Waits,
            vec![vec![Stmt::TimedCritical(1, 0, vec![]), fails], vec![locked(vec![timed.clone()])]],
        ),
        (
            Family::Waits,
            vec![
                vec![locked(vec![timed])],
                vec![locked(vec![]), locked(vec![Stmt::Write(0, Value::Const(1))])],
            ],
        ),
    ];
    let mut wrong = vec![];
    for (family, threads) in found {
        let p = Program { family, size: 1, threads };
        let right = expected(&p, RIGHT).expect("it is small");
        wrong.extend(difference(&p, &right, &check(&p)).map(|d| format!("{d}\n{p:?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every kind of statement that Rust has is in the programs that are compared.
#[test]
fn all_statements_are_generated() {
    let names = "Load Store Add Exchange Cas CasCounted CasAdd Read Write Bump ReadFlag WriteFlag Critical TimedCritical Wait WaitWhile \
                 Signal Broadcast Post Down DownTimed DownCounted Fill Init Sum Copy Pass Member SetMember New Free PointerLoad PointerStore \
                 PointerExchange PointerCas Equal Poke Peek Poll PollCounted PollFlag If Assert Call";
    let programs: Vec<Program> =
        FAMILIES.iter().flat_map(|f| (0..400).map(|seed| program(*f, seed))).filter(ours::is_rust).collect();
    for name in names.split_whitespace() {
        let is = |s: &Stmt| format!("{s:?}").split(['(', ' ']).next() == Some(name);
        assert!(programs.iter().any(|p| p.threads.iter().any(|b| has(b, &is))), "{name}");
    }
}

#[test]
#[ignore = "compares thousands of programs, which takes minutes"]
fn many_programs() {
    let text = std::env::var("RADDLE_TEST_PROGRAMS").unwrap_or_else(|_| "1000:3000".to_owned());
    let (from, to) = text.split_once(':').expect("FROM:TO");
    let (from, to): (u64, u64) = (from.parse().expect("a number"), to.parse().expect("a number"));
    let mut wrong = vec![];
    for family in FAMILIES {
        let (compared, different) = compare(family, from..to);
        let complete = compared.iter().filter(|c| c.seen.complete).count();
        println!("{family:?}: {} compared, {complete} complete, {} differ", compared.len(), different.len());
        wrong.extend(different);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
