//! Random C programs with what lies around the search: timed waits and spurious events, structures by value, memory that comes back,
//! library calls, atomic operations of several sizes, volatile flags, and loops that look.
//!
//! Each program is compiled and checked by `raddle`, and run by an interpreter of its own, which goes through all interleavings and all
//! choices. Both must see the same: the states at the end, failed assertions, deadlocks and data races, nothing more and nothing less.
//! Rules of the interpreter are then turned off one at a time: the programs must tell each of these wrong interpreters from `raddle`.
//!
//! Many programs are compiled as one executable. A program that differs is made smaller and printed with its seed.
//!
//! `RADDLE_TEST_PROGRAMS=FROM:TO cargo test -p raddle-cli --test random_environment -- --ignored --nocapture` compares the programs of
//! these seeds, of the families in `RADDLE_TEST_FAMILIES`.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

#[path = "random_environment/c_source.rs"]
mod c_source;
mod compiled;
#[path = "random_environment/effects.rs"]
mod effects;
#[path = "random_environment/interpreter.rs"]
mod interpreter;
#[path = "random_environment/program.rs"]
mod program;

use compiled::{RADDLE, command, place};
use interpreter::{Mode, Outcomes, RIGHT, Rules, has, outcomes};
use program::{At, Buffer, Call, FAMILIES, Family, Place, Program, Stmt, Value, program, shrink};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Programs with more states than this are not compared.
const STATES: usize = 20_000;

/// Searches that need more executions than this are not compared, except that nothing unreal may be found.
const EXECUTIONS: u64 = 5_000;

/// What a race is reported as.
const RACES: [&str; 3] = ["data-race", "use-after-free", "double-free"];

/// The modes that programs of a family are checked in.
fn modes(p: &Program) -> Vec<Mode> {
    let mut modes = vec![];
    // A loop that polls a plain variable is stopped after many turns only, which takes seconds.
    let polls = |s: &Stmt| matches!(s, Stmt::PollFlag(..));
    if !p.threads.iter().any(|b| has(b, &polls)) {
        modes.push(Mode::Report);
    }
    if p.family == Family::Volatile {
        modes.push(Mode::VolatileAtomic);
    }
    // `qsort` reads and writes between calls of its comparison, in an order of its own.
    // gcc announces the write of an assignment of a structure before the read.
    let is_out_of_order =
        |s: &Stmt| matches!(s, Stmt::Call(Call::Sort(..)) | Stmt::Copy(Place::Global(_), Place::Global(_)));
    if !p.threads.iter().any(|b| has(b, &is_out_of_order)) {
        modes.push(Mode::Sync);
    }
    modes
}

/// What a program can do, in one mode.
#[derive(Clone, Debug)]
struct Expected {
    least: Outcomes,
    /// End states that are allowed besides, where it depends on the compiler how a structure is copied; nothing if all are.
    most: Option<BTreeSet<u64>>,
    /// Where plain accesses are steps: whether two of them are a data race, and nothing where `raddle` may name one that there is not.
    races: Option<bool>,
}

/// What is right for a program by these rules, or nothing if it cannot be compared.
fn expected(p: &Program, mode: Mode, rules: Rules) -> Option<Expected> {
    let least = outcomes(p, mode, rules, STATES).ok()?;
    // Whether a function accesses all that it may is left to it.
    let more = Rules { calls_access_more: true, ..rules };
    if p.family == Family::Library && outcomes(p, mode, more, STATES).ok()?.race != least.race {
        return None;
    }
    let most = match (mode, p.family) {
        // A compiler may clear what it initialises before.
        (Mode::Sync, Family::Structures)
            if p.threads.iter().any(|b| has(b, &|s| matches!(s, Stmt::Init(..)))) =>
        {
            None
        }
        (Mode::Sync, Family::Structures) => {
            outcomes(p, Mode::SyncMembers, rules, STATES / 8).ok().map(|o| o.ends)
        }
        (Mode::Sync, Family::Library) => None,
        _ => Some(BTreeSet::new()),
    };
    let races = match (mode, p.family) {
        // Which bytes functions access together, and in which order, is left to them.
        (Mode::Sync, Family::Library) => None,
        (Mode::Sync, family) => {
            let race = outcomes(p, Mode::Report, rules, STATES).ok().map(|o| o.race);
            // raddle names more than the races. Structures of other sizes share eight bytes with their neighbours, which are one object if they are
            // accessed in several sizes. Blocks that are allocated again have the accesses of those that were freed.
            let is_exact = match family {
                // So are the bytes of a structure that is accessed as a whole and by members.
                Family::Structures => {
                    let is_member = |s: &Stmt| matches!(s, Stmt::Member(..) | Stmt::SetMember(..));
                    let is_whole = |s: &Stmt| {
                        matches!(s, Stmt::Copy(..) | Stmt::Pass(..) | Stmt::Fill(..) | Stmt::Init(..))
                    };
                    let any = |what: &dyn Fn(&Stmt) -> bool| p.threads.iter().any(|b| has(b, what));
                    p.size.is_multiple_of(8) && !(any(&is_member) && any(&is_whole))
                }
                Family::Reuse => false,
                _ => true,
            };
            race.filter(|r| *r || is_exact)
        }
        _ => None,
    };
    Some(Expected { least, most, races })
}

/// What was seen of a program.
#[derive(Clone, Debug, Default)]
struct Seen {
    kinds: BTreeSet<String>,
    failed: BTreeSet<u32>,
    ends: BTreeSet<u64>,
    caveats: BTreeSet<String>,
    complete: bool,
    /// The verdict and the counts.
    text: String,
}

fn compile(programs: &[&Program], place: &Path) -> PathBuf {
    let (source, out) = (place.join("programs.c"), place.join("programs"));
    fs::write(&source, c_source::file(programs)).unwrap();
    let output =
        command(RADDLE).arg("cc").arg(&source).args(["-w", "-pthread", "-o"]).arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

/// Checks program `k` of an executable.
fn check(executable: &Path, k: usize, mode: Mode) -> Seen {
    let list = executable.with_extension(format!("{k}.{mode:?}"));
    let mut command = command(executable);
    command.args(vec!["x"; k]).env("RADDLE_KEEP_GOING", "1").env("RADDLE_SPURIOUS", "32");
    command.env("RADDLE_REUSE", "all").env("RADDLE_MAX_EXECUTIONS", EXECUTIONS.to_string());
    command.env("RADDLE_MAX_SECONDS", "20");
    // The list of executions is a search of its own, in the same process.
    command.env("RADDLE_JSON", "1").env("RADDLE_EXECUTIONS", &list);
    match mode {
        Mode::Report => {}
        Mode::VolatileAtomic => {
            command.env("RADDLE_VOLATILE", "atomic");
        }
        Mode::Sync | Mode::SyncMembers => {
            command.env("RADDLE_RACES", "sync");
        }
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|e| {
        panic!("program {k}, {mode:?}: {e}: {text}{}", String::from_utf8_lossy(&output.stderr))
    });
    let mut seen = Seen::default();
    for failure in report["failures"].as_array().into_iter().flatten() {
        seen.kinds.insert(failure["kind"].as_str().unwrap_or_default().to_owned());
        let message = failure["message"].as_str().unwrap_or_default();
        let number = message.split_once("number ").and_then(|(_, rest)| rest.split('.').next());
        seen.failed.extend(number.and_then(|n| n.parse::<u32>().ok()));
        seen.text += &format!("{message}\n");
    }
    for caveat in report["caveats"].as_array().into_iter().flatten() {
        seen.caveats.insert(caveat["kind"].as_str().unwrap_or_default().to_owned());
        seen.text += &format!("{}\n", caveat["text"]);
    }
    let lines = fs::read_to_string(&list).unwrap_or_default();
    let _ = fs::remove_file(&list);
    // `main` has steps only if it came to its end: the last one stores the sum.
    let ends = lines.lines().filter_map(|l| l.split("  ").find_map(|t| t.strip_prefix("0: ")));
    seen.ends = ends.filter_map(|main| main.rsplit(' ').next()?.parse().ok()).collect();
    // With a failure the report does not say that the search stopped at its limit.
    let counts = ["executions", "blocked", "assumed", "pruned", "over_bound", "unsatisfiable"];
    let run: u64 = counts.iter().filter_map(|c| report[c].as_u64()).sum();
    let is_stopped = !report["stopped"].is_null() || report["verdict"] == "incomplete";
    seen.complete = !is_stopped && report["open"] == 0 && run + 10 < EXECUTIONS;
    // The search for the list is not that of the report, and may be larger.
    seen.complete &=
        seen.kinds.iter().any(|k| RACES.contains(&k.as_str())) || lines.trim_end().ends_with("finished");
    let [verdict, executions, seconds] = ["verdict", "executions", "seconds"].map(|field| &report[field]);
    seen.text += &format!("{verdict} {executions} executions {seconds} s {}", report["stopped"]);
    seen
}

/// How they differ.
fn difference(right: &Expected, mode: Mode, seen: &Seen) -> Option<String> {
    let least = &right.least;
    let mut all = vec![];
    let mut differ =
        |what: &str, right: String, found: String| all.push(format!("{what}: right {right}, found {found}"));
    let is = |kinds: &[&str]| kinds.iter().any(|k| seen.kinds.contains(*k));
    let race = is(&RACES);
    let known = [&RACES[..], &["deadlock", "livelock", "assertion"]].concat();
    let other: Vec<&String> = seen.kinds.iter().filter(|k| !known.contains(&k.as_str())).collect();
    if !other.is_empty() {
        differ("failures", "none of these".to_owned(), format!("{other:?}"));
    }
    if race != least.race && (race || seen.complete) {
        differ("race", least.race.to_string(), race.to_string());
    } else if !race && !least.race {
        let stuck = is(&["deadlock", "livelock"]);
        // A cycle that only a failed assertion leaves may be reported.
        if stuck && !least.stuck_but_for_failures || !stuck && least.stuck && seen.complete {
            differ("stuck", least.stuck.to_string(), stuck.to_string());
        }
        let lost = |right: usize| seen.complete && right > 0;
        let unreal = seen.failed.difference(&least.failed).count();
        if unreal > 0 && right.most.as_ref().is_some_and(BTreeSet::is_empty)
            || lost(least.failed.difference(&seen.failed).count())
        {
            differ("assertions", format!("{:?}", least.failed), format!("{:?}", seen.failed));
        }
        let unreal: Vec<_> = seen.ends.difference(&least.ends).collect();
        let unreal = right.most.as_ref().map_or(0, |m| unreal.iter().filter(|e| !m.contains(e)).count());
        if unreal > 0 || lost(least.ends.difference(&seen.ends).count()) {
            differ("ends", format!("{:?}", least.ends), format!("{:?}", seen.ends));
        }
        // A program that can get stuck may have other fair cycles, too.
        let is_allowed = |c: &str| match c {
            // Volatile accesses are relaxed, and those in a race are explored as if they were sequentially consistent.
            "memory-order" => {
                mode == Mode::VolatileAtomic || right.races != Some(false) && mode == Mode::Sync
            }
            "may-not-end" => least.stuck,
            // Structures are copied in one step.
            "races" => mode == Mode::Sync,
            _ => false,
        };
        if let Some(c) = seen.caveats.iter().find(|c| !is_allowed(c) && seen.complete) {
            differ("caveat", "none".to_owned(), c.clone());
        }
        // A failure may end every execution before its race.
        let is_named = seen.caveats.contains("memory-order");
        if right.races == Some(true) && !is_named && seen.complete && seen.kinds.is_empty() {
            differ("caveat", "memory-order".to_owned(), format!("{:?}", seen.caveats));
        }
    }
    (!all.is_empty()).then(|| format!("{mode:?}: {}\n{}", all.join("\n"), seen.text))
}

/// The program as C, after it was made smaller.
fn report(p: &Program, seed: u64, mode: Mode, what: &str) -> String {
    let place = place(&format!("environment-smaller-{:?}-{seed}", p.family));
    let found = |q: &Program| {
        let right = expected(q, mode, RIGHT)?;
        difference(&right, mode, &check(&compile(&[q], &place), 0, mode))
    };
    let (small, what) = match found(p) {
        Some(_) => {
            let small = shrink(p.clone(), |q| found(q).is_some());
            let what = found(&small).unwrap_or_default();
            (small, what)
        }
        None => (p.clone(), format!("{what}\n(not by itself)")),
    };
    let mut text = String::new();
    c_source::functions(&small, 0, &mut text);
    format!("{:?}, seed {seed}: {what}\n{small:?}\n{text}", p.family)
}

/// A program that was compared in one mode.
struct Compared {
    program: Program,
    mode: Mode,
    seen: Seen,
}

/// Compares the programs of these seeds: every one that was compared, and how they differ.
fn compare(family: Family, seeds: Range<u64>) -> (Vec<Compared>, Vec<String>) {
    let mut chosen = vec![];
    for seed in seeds.clone() {
        let p = program(family, seed);
        let modes = modes(&p).into_iter();
        let right: Vec<_> = modes.filter_map(|m| expected(&p, m, RIGHT).map(|e| (m, e))).collect();
        if !right.is_empty() {
            chosen.push((seed, p, right));
        }
    }
    let programs: Vec<&Program> = chosen.iter().map(|(_, p, _)| p).collect();
    let executable = compile(&programs, &place(&format!("environment-{family:?}-{}", seeds.start)));
    let next = AtomicUsize::new(0);
    let compared = Mutex::new(vec![]);
    let different = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, Ordering::Relaxed);
                    let Some((seed, p, right)) = chosen.get(k) else { return };
                    for (mode, right) in right {
                        let seen = check(&executable, k, *mode);
                        let found = difference(right, *mode, &seen);
                        if let Some(what) = found {
                            different.lock().unwrap().push((*seed, *mode, p.clone(), what));
                        }
                        compared.lock().unwrap().push(Compared { program: p.clone(), mode: *mode, seen });
                    }
                }
            });
        }
    });
    let mut different = different.into_inner().unwrap();
    different.sort_by_key(|(seed, ..)| *seed);
    let count = different.len();
    // The first ones are enough to work with.
    let texts = different.iter().enumerate().map(|(i, (seed, mode, p, what))| match i {
        0..3 => report(p, *seed, *mode, what),
        _ => format!("seed {seed}: {what} ({count} differ)"),
    });
    (compared.into_inner().unwrap(), texts.collect())
}

/// Names of rules that the programs of a family must show to be needed, with the rules that lack them.
fn wrong_rules(family: Family) -> Vec<(&'static str, Rules)> {
    let without = |change: fn(&mut Rules)| {
        let mut rules = RIGHT;
        change(&mut rules);
        rules
    };
    match family {
        Family::Waits => vec![
            ("no timeouts", without(|r| r.timeouts = false)),
            ("no spurious events", without(|r| r.spurious = 0)),
            ("one spurious event in a row", without(|r| r.spurious = 1)),
        ],
        Family::Structures => vec![
            ("arguments are not read", without(|r| r.arguments_are_read = false)),
            ("results are not written", without(|r| r.results_are_written = false)),
            ("copies are one step", without(|r| r.copies_are_torn = false)),
        ],
        Family::Reuse => vec![("never reuse", without(|r| r.reuse = false))],
        Family::Library => vec![
            ("calls do not read", without(|r| r.calls_read = false)),
            ("calls do not write", without(|r| r.calls_write = false)),
        ],
        Family::SubWord => vec![
            ("small stores clear the word", without(|r| r.small_stores = false)),
            ("parts of a word do not fail spuriously", without(|r| r.parts_fail = false)),
        ],
        Family::Volatile => vec![("volatile orders", without(|r| r.volatile_is_relaxed = false))],
        Family::Polling => vec![
            ("loops look once", without(|r| r.fruitless_turns = false)),
            ("no spurious events", without(|r| r.spurious = 0)),
        ],
    }
}

/// Compares a few programs of a family, and notices every wrong rule.
fn family(family: Family, seeds: u64) {
    let (compared, different) = compare(family, 0..seeds);
    assert!(different.is_empty(), "{}", different.join("\n\n"));
    let complete = compared.iter().filter(|c| c.seen.complete).count();
    let races = compared.iter().filter(|c| c.seen.kinds.iter().any(|k| RACES.contains(&k.as_str()))).count();
    println!("{family:?}: {} compared, {complete} complete, {races} with races", compared.len());
    assert!(complete as u64 > seeds / 2, "{complete} of {seeds} programs were compared");
    for (name, rules) in wrong_rules(family) {
        let caught = compared.iter().filter(|c| {
            let wrong = expected(&c.program, c.mode, rules);
            wrong.is_some_and(|e| difference(&e, c.mode, &c.seen).is_some())
        });
        let caught = caught.count();
        println!("{family:?}: {caught} programs notice `{name}`");
        assert!(caught > 0, "{family:?}: no program notices the wrong rule `{name}`");
    }
}

/// Programs that once differed.
#[test]
fn programs_that_were_found() {
    let part = |size, index| At { word: 0, size, index };
    let weak = |at| Stmt::Cas { at, from: 0, to: 1, weak: true, r: 0 };
    let buffer = |which| Buffer { which, offset: 0 };
    let found = [
        // A weak compare-exchange of a part never failed where sizes are mixed.
        (Family::SubWord, 1, vec![vec![Stmt::Load(part(2, 0), 1), weak(part(1, 0))]]),
        (
            Family::SubWord,
            1,
            vec![vec![weak(part(2, 1))], vec![Stmt::Store(part(8, 0), Value::Const(1 << 32))]],
        ),
        (
            Family::SubWord,
            1,
            vec![
                vec![Stmt::CasCounted { at: part(4, 0), from: 0, to: 1, most: 3, r: 0 }],
                vec![Stmt::Add(part(1, 1), 1, 0)],
            ],
        ),
        // A write of all members was one to the first byte.
        (
            Family::Structures,
            7,
            vec![
                vec![Stmt::Fill(Place::Global(0), 1), Stmt::Init(Place::Global(0), 1)],
                vec![Stmt::Member(Place::Global(0), 6, 0)],
            ],
        ),
        // Functions read again what they had read before their write.
        (
            Family::Library,
            1,
            vec![
                vec![Stmt::Call(Call::StrcpyLiteral(buffer(1), 2))],
                vec![Stmt::Call(Call::Strcat(buffer(1), buffer(0)))],
            ],
        ),
        (
            Family::Library,
            1,
            vec![
                vec![
                    Stmt::Call(Call::Memset(buffer(0), b'a', 2)),
                    Stmt::Call(Call::Memcmp(buffer(0), buffer(1), 2, 0)),
                ],
                vec![Stmt::Call(Call::Strncpy(buffer(1), buffer(0), 4))],
            ],
        ),
        // A block that only its thread knew did not come back.
        (
            Family::Reuse,
            1,
            vec![vec![Stmt::New(0), Stmt::Free(0), Stmt::New(1), Stmt::Equal(0, 1, 1)], vec![]],
        ),
        (
            Family::Reuse,
            1,
            vec![
                // Between the exchange and the failed assertion the other thread frees the block again.
                vec![Stmt::New(0), Stmt::Free(0), Stmt::PointerCas(0, 1, Some(0), 1), Stmt::Assert(1, 1, 1)],
                vec![Stmt::PointerExchange(0, None, 0), Stmt::Free(0)],
            ],
        ),
        // Each thread always fails, and shares nothing with the other one.
        (
            Family::SubWord,
            1,
            vec![
                vec![Stmt::Store(part(4, 0), Value::Const(1)), Stmt::Assert(0, 0, 1)],
                vec![Stmt::Load(At { word: 1, size: 4, index: 0 }, 0), Stmt::Assert(0, 0, 2)],
            ],
        ),
        // One always fails, and the other one if it is late.
        (
            Family::SubWord,
            1,
            vec![
                vec![Stmt::Store(part(4, 0), Value::Const(1)), Stmt::Assert(0, 0, 1)],
                vec![Stmt::Load(part(4, 0), 0), Stmt::Assert(0, 1, 2)],
            ],
        ),
        (
            Family::Reuse,
            1,
            vec![
                vec![Stmt::New(0), Stmt::PointerExchange(1, Some(0), 0)],
                vec![Stmt::New(1), Stmt::Free(1), Stmt::PointerCas(1, 1, Some(1), 1)],
            ],
        ),
    ];
    let programs: Vec<Program> =
        found.into_iter().map(|(family, size, threads)| Program { family, size, threads }).collect();
    let executable = compile(&programs.iter().collect::<Vec<_>>(), &place("environment-found"));
    for (k, p) in programs.iter().enumerate() {
        for mode in modes(p) {
            let right = expected(p, mode, RIGHT).expect("it is small");
            let different = difference(&right, mode, &check(&executable, k, mode));
            assert!(different.is_none(), "{p:?}: {}", different.unwrap_or_default());
        }
    }
}

#[test]
fn timed_waits_and_spurious_events() {
    family(Family::Waits, 60);
}

#[test]
fn structures_by_value() {
    family(Family::Structures, 60);
}

#[test]
fn reused_memory() {
    family(Family::Reuse, 100);
}

#[test]
fn library_calls() {
    family(Family::Library, 60);
}

#[test]
fn atomics_of_several_sizes() {
    family(Family::SubWord, 60);
}

#[test]
fn volatile_flags() {
    family(Family::Volatile, 60);
}

#[test]
fn loops_that_look() {
    family(Family::Polling, 60);
}

#[test]
#[ignore = "compares 20,000 programs, which takes many minutes"]
fn twenty_thousand_programs() {
    let text = std::env::var("RADDLE_TEST_PROGRAMS").unwrap_or_else(|_| "1000:4000".to_owned());
    let (from, to) = text.split_once(':').expect("FROM:TO");
    let (from, to): (u64, u64) = (from.parse().expect("a number"), to.parse().expect("a number"));
    let names = std::env::var("RADDLE_TEST_FAMILIES").unwrap_or_default();
    let mut different = vec![];
    let mut counts: BTreeMap<String, [usize; 4]> = BTreeMap::new();
    for family in FAMILIES.into_iter().filter(|f| names.is_empty() || names.contains(&format!("{f:?}"))) {
        let mut start = from;
        while start < to {
            let end = to.min(start + 300);
            let (compared, found) = compare(family, start..end);
            let count = counts.entry(format!("{family:?}")).or_default();
            let complete = compared.iter().filter(|c| c.seen.complete);
            let programs: BTreeSet<String> = complete.map(|c| format!("{:?}", c.program)).collect();
            count[0] += programs.len();
            count[1] += compared.iter().filter(|c| c.seen.complete).count();
            count[2] +=
                compared.iter().filter(|c| c.seen.kinds.iter().any(|k| RACES.contains(&k.as_str()))).count();
            count[3] += found.len();
            found.iter().for_each(|f| println!("{f}\n"));
            println!("{family:?} {start}..{end}: programs, runs, races, differences so far {count:?}");
            different.extend(found);
            start = end;
        }
    }
    println!("{counts:#?}");
    assert!(different.is_empty(), "{} programs differ", different.len());
}
