//! Random C programs with threads, read as automata and compiled: what `raddle verify` says of them is what `raddle check` sees.
//!
//! The compiled program is run under every schedule, plain accesses being steps, and gives the set of the states at its end, and whether
//! an assertion can fail or a deadlock come about. Then `verify` must prove that no other state is reached, and find a run to one
//! of them; say unsafe where an assertion fails, and with `--deadlocks` where there is one. Races are compared, too.
//!
//! Many programs are compiled as one, which is told which of them to be. A program that differs is made smaller and printed.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

#[path = "random_verify/author.rs"]
mod author;
mod compiled;

use author::{MARK, Node, PRELUDE, Program, Rng, program};
use compiled::{RADDLE, command, place};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where there are more executions than this, only what was seen is compared.
const MANY: u64 = 2_000;

/// Where there are more states at the end than this, `verify` is not asked for all of them.
const STATES: usize = 40;

/// Engines that are asked besides `explicit`.
const ENGINES: [&str; 9] =
    ["explicit-symmetric", "impact", "bdd", "bmc", "predabs", "contexts", "imc", "portfolio", "lal-reps"];

/// All programs in one executable, or why it is none.
fn compile(programs: &[(u64, Program)], place: &Path) -> Result<PathBuf, String> {
    // A program is a function here, and `main` by itself: its variables last as long as the process in both.
    let mut text = format!("#define END exit(0)\n{PRELUDE}");
    for (n, p) in programs {
        text += &p.text(*n);
    }
    // The number of arguments says which one, as to read an argument might be a step.
    text += "int main(int argc, char **argv) {\n    (void)argv;\n    switch (argc - 1) {\n";
    for (k, (n, _)) in programs.iter().enumerate() {
        let _ = writeln!(text, "    case {k}: return main_{n}();");
    }
    text += "    }\n    return 0;\n}\n";
    let (source, out) = (place.join("programs.c"), place.join("programs"));
    fs::write(&source, text).unwrap();
    let output =
        command(RADDLE).arg("cc").arg(&source).args(["-w", "-pthread", "-o"]).arg(&out).output().unwrap();
    match output.status.success() {
        true => Ok(out),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// What was seen when a compiled program ran under all schedules.
#[derive(Debug, Default)]
struct Seen {
    /// The sums at the end.
    states: BTreeSet<u64>,
    /// Kinds of failures.
    failures: BTreeSet<String>,
    /// Nothing was left out.
    all: bool,
    said: String,
}

/// Runs a program under all schedules.
fn run(compiled: &Path, k: usize, bits: u32, races: &str, spurious: bool) -> Seen {
    let start = || {
        let mut c = command(compiled);
        c.args(vec!["x"; k])
            .env("RADDLE_SPURIOUS_WAKEUPS", if spurious { "1" } else { "0" })
            .env("RADDLE_SPURIOUS_FAILURES", if spurious { "1" } else { "0" })
            .env("RADDLE_RACES", races)
            .env("RADDLE_NONDET", "0..3")
            .env("RADDLE_MAX_EXECUTIONS", MANY.to_string())
            .env("RADDLE_MAX_SECONDS", "10")
            .env("RADDLE_KEEP_GOING", "1")
            .env("RADDLE_SHRINK", "0")
            .env("RADDLE_QUIET", "1");
        c
    };
    let output = start().env("RADDLE_JSON", "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let mut seen = Seen { said: said.into_owned(), ..Seen::default() };
    if races == "sync" {
        let list = compiled.with_extension(format!("{k}.list"));
        start().env("RADDLE_EXECUTIONS", &list).output().unwrap();
        let text = fs::read_to_string(&list).unwrap_or_default();
        let _ = fs::remove_file(&list);
        for line in text.lines() {
            let main = line.split("  ").find_map(|t| t.strip_prefix("0: "));
            let words = main.into_iter().flat_map(|t| t.split(' '));
            seen.states.extend(words.filter_map(|v| v.parse::<u64>().ok()).filter(|v| v >> bits == MARK));
        }
    }
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    seen.all = report["open"].as_u64() == Some(0);
    match report["failures"].as_array() {
        Some(failures) => {
            for f in failures {
                seen.failures.insert(f["kind"].as_str().unwrap_or("?").to_owned());
            }
        }
        None => {
            seen.failures.insert("no report".to_owned());
        }
    }
    seen
}

/// What `raddle verify` says of a file: its verdict, or `refused`, and everything.
fn verify(file: &Path, arguments: &[&str], define: &str, spurious: bool) -> (String, String) {
    let mut c = command(RADDLE);
    c.arg("verify").arg(file).args(arguments).arg("--json");
    if !spurious {
        c.arg("--no-spurious-wakeups");
    }
    if !define.is_empty() {
        c.arg(format!("-DFINAL={define}"));
    }
    let output = c.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let verdict = match (report["verdict"].as_str(), output.status.code()) {
        (Some("error"), Some(2)) | (None, Some(2)) => "refused".to_owned(),
        (Some(v), _) => v.to_owned(),
        (None, code) => format!("ended with {code:?}"),
    };
    (verdict, said.into_owned())
}

/// How much is asked.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    /// `explicit`, and one more engine by the seed.
    Two,
    /// All engines.
    All,
}

/// What was compared, by words that say what.
type Counts = BTreeMap<String, u64>;

/// How what is proved differs from what is run.
fn difference(
    p: &Program,
    seed: u64,
    compiled: &Path,
    k: usize,
    asked: Asked,
    counts: &mut Counts,
) -> Option<String> {
    let mut count = |what: String| *counts.entry(what).or_default() += 1;
    let file = compiled.with_extension(format!("{k}.c"));
    // Its variables are those of `main`, which last as long as the program.
    let text = p.text(seed).replace(&format!("static int main_{seed}(void)"), "int main(void)");
    fs::write(&file, format!("{PRELUDE}{text}")).unwrap();
    // Waits and weak compare-exchanges may end for no reason: how often differs.
    let spurious = seed % 4 == 3;
    let seen = run(compiled, k, p.bits, "sync", spurious);
    let odd: Vec<_> =
        seen.failures.iter().filter(|f| *f != "assertion" && *f != "deadlock").cloned().collect();
    if odd.iter().any(|f| f == "no report" || f == "nondeterminism") {
        return Some(format!("check: {odd:?}: {}", seen.said));
    }
    let wrong = seen.failures.iter().any(|f| f != "deadlock");
    let stuck = seen.failures.contains("deadlock");
    let mut g = Rng(seed);
    count(format!(
        "check {}",
        if wrong {
            "fails"
        } else if stuck {
            "stops"
        } else {
            "holds"
        }
    ));
    if !seen.all {
        count("check not finished".to_owned());
    }
    let few = seen.all && seen.states.len() <= STATES && !seen.states.is_empty();
    let mut all = seen.states.iter().map(|s| format!("sum == {s}")).collect::<Vec<_>>().join(" || ");
    if !few {
        all = if seen.all && seen.states.is_empty() { "0".to_owned() } else { "1".to_owned() };
    }
    let one = (!seen.states.is_empty()).then(|| {
        let nth = g.below(seen.states.len() as u64) as usize;
        format!("sum != {}", seen.states.iter().nth(nth).unwrap())
    });
    let mut engines = vec!["explicit"];
    match asked {
        Asked::Two if g.below(5) > 0 => {}
        Asked::Two => engines.push(ENGINES[g.below(ENGINES.len() as u64) as usize]),
        Asked::All => engines.extend(ENGINES),
    }
    for engine in engines {
        let how =
            ["--engine", engine, "--no-replay", "--seconds", if engine == "explicit" { "3" } else { "1" }];
        let with = how;
        let how = [&how[..], &["--no-deadlocks"]].concat();
        // What is asked, whether something must go wrong, and whether nothing may.
        let exact = seen.all && !p.less && !(spurious && p.text(seed).contains("pthread_cond_wait"));
        let mut questions = vec![(&with[..], all.clone(), wrong || stuck, exact && !wrong && !stuck)];
        if stuck && !wrong || asked == Asked::All {
            questions.push((&how[..], all.clone(), wrong, exact && !wrong));
        }
        if let Some(one) = &one {
            questions.push((&how[..], one.clone(), true, false));
        }
        for (arguments, define, bad, good) in questions {
            let (verdict, said) = verify(&file, arguments, &define, spurious);
            let differs = match verdict.as_str() {
                "safe" => bad,
                "unsafe" | "partially-safe" => good,
                "unknown" | "refused" => false,
                _ => true,
            };
            count(format!("{engine} {verdict}"));
            if verdict == "refused" {
                let why = said.lines().find(|l| l.contains("error")).unwrap_or("?").to_owned();
                count(format!("refused: {}", why.rsplit(": ").next().unwrap_or("")));
                return None;
            }
            if differs {
                return Some(format!(
                    "verify {} -DFINAL='{define}': {verdict}\n{said}check --races sync: all {} less {} {:?}, {} states",
                    arguments.join(" "),
                    seen.all,
                    p.less,
                    seen.failures,
                    seen.states.len(),
                ));
            }
        }
    }
    races(p, &file, compiled, k, &seen, spurious, &mut count)
}

/// Whether both see races or both do not, and what is seen without steps on plain memory where there are none.
fn races(
    p: &Program,
    file: &Path,
    compiled: &Path,
    k: usize,
    sync: &Seen,
    spurious: bool,
    count: &mut dyn FnMut(String),
) -> Option<String> {
    let seen = run(compiled, k, p.bits, "report", spurious);
    let raced = seen.failures.contains("data-race");
    if seen.failures.iter().any(|f| f == "no report" || f == "nondeterminism") {
        return Some(format!("check: {:?}: {}", seen.failures, seen.said));
    }
    // What fails ends an execution before its races are seen.
    if seen.all && seen.failures.is_empty() && !sync.failures.is_empty() {
        return Some(format!("check: without races {:?}, but with steps {:?}", seen.failures, sync.failures));
    }
    let (verdict, said) = verify(file, &["--races", "--seconds", "1"], "", spurious);
    count(format!("races {verdict}"));
    // What goes wrong ends a run, and nobody can say which races it would have had.
    let differs = match verdict.as_str() {
        "race" => !raced && seen.all && seen.failures.is_empty() && !p.less && !p.unread,
        "none" => raced && sync.failures.is_empty(),
        // It crashed.
        other => other.starts_with("ended with"),
    };
    differs.then(|| format!("verify --races: {verdict}\n{said}check: {:?}\n{}", seen.failures, seen.said))
}

/// A program that differs, smaller where that can be had in so many attempts.
fn report(seed: u64, p: &Program, what: &str, mut attempts: u32) -> String {
    let place = place(&format!("random-verify-smaller-{seed}"));
    let differs = |q: &Program| {
        let compiled = compile(&[(seed, q.clone())], &place).ok()?;
        let now = difference(q, seed, &compiled, 0, Asked::Two, &mut Counts::new())?;
        // In the same way, by the same engine.
        now.split_whitespace().take(4).eq(what.split_whitespace().take(4)).then_some(now)
    };
    let (mut small, mut said) = (p.clone(), what.to_owned());
    'again: loop {
        for q in small.smaller() {
            if attempts == 0 {
                break 'again;
            }
            attempts -= 1;
            if let Some(now) = differs(&q) {
                (small, said) = (q, now);
                continue 'again;
            }
        }
        break;
    }
    format!("seed {seed}: {said}\n{}", small.text(seed))
}

/// Programs that differ, with their seeds and how.
type Found = Vec<(u64, Program, String)>;

/// Compares the programs of these seeds.
fn compare(name: &str, seeds: std::ops::Range<u64>, asked: Asked) -> (Counts, Found) {
    let place = place(&format!("random-verify-{name}"));
    let programs: Vec<(u64, Program)> = seeds.map(|s| (s, program(s))).collect();
    let compiled = compile(&programs, &place).unwrap_or_else(|why| panic!("{why}"));
    let next = AtomicUsize::new(0);
    let found = Mutex::new((Counts::new(), vec![]));
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let mut counts = Counts::new();
                while let Some((k, (seed, p))) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|k| programs.get(k).map(|p| (k, p)))
                {
                    if let Some(what) = difference(p, *seed, &compiled, k, asked, &mut counts) {
                        found.lock().unwrap().1.push((*seed, p.clone(), what));
                    }
                }
                let mut found = found.lock().unwrap();
                for (what, n) in counts {
                    *found.0.entry(what).or_default() += n;
                }
            });
        }
    });
    let _ = fs::remove_dir_all(&place);
    found.into_inner().unwrap()
}

#[test]
fn seventy_random_programs_are_safe_where_no_schedule_fails() {
    let (counts, found) = compare("ci", 0..70, Asked::Two);
    let found: Vec<String> =
        found.iter().take(1).map(|(seed, p, what)| report(*seed, p, what, 200)).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
    // It is worth something only if there is something to see.
    for (what, least) in [
        ("check holds", 30),
        ("check stops", 5),
        ("check fails", 1),
        ("explicit safe", 40),
        ("explicit unsafe", 50),
        ("races race", 20),
        ("races none", 8),
    ] {
        let n = counts.get(what).copied().unwrap_or(0);
        assert!(n >= least, "{what}: only {n} times: {counts:#?}");
    }
}

/// `SEEDS=lo..hi` says which, and `ENGINES=all` asks all engines.
#[test]
#[ignore = "takes an hour"]
fn thousands_of_random_programs_are_safe_where_no_schedule_fails() {
    let seeds = std::env::var("SEEDS").unwrap_or("1000..4000".to_owned());
    let (low, high) = seeds.split_once("..").expect("SEEDS is a range");
    let (low, high): (u64, u64) = (low.parse().expect("a number"), high.parse().expect("a number"));
    let asked = if std::env::var_os("ENGINES").is_some() { Asked::All } else { Asked::Two };
    let (mut all, mut differ) = (Counts::new(), 0);
    for from in (low..high).step_by(100) {
        let (counts, found) = compare("many", from..high.min(from + 100), asked);
        for (what, n) in counts {
            *all.entry(what).or_default() += n;
        }
        differ += found.len();
        for (seed, p, what) in &found {
            println!("{}", report(*seed, p, what, 0));
        }
        println!("{from}: {differ} differ; {all:?}");
    }
    assert_eq!(differ, 0);
}

/// The comparison is worth something only if it notices.
#[test]
fn a_program_that_does_something_else_is_told_apart() {
    let of = |before: &str, after: &str| {
        let text = format!(
            "static int x@; static pthread_mutex_t m@ = PTHREAD_MUTEX_INITIALIZER;
             static void *t@(void *arg) {{ {before} x@++; {after} return arg; }}
             static int main@(void) {{ pthread_t t; pthread_create(&t, 0, t@, 0); t@(0); pthread_join(t, 0);
               unsigned long sum = {MARK}; sum = sum << 3 | (x@ & 7); assert(FINAL); state = sum; return 0; }}"
        );
        Program { nodes: vec![Node::Line(text)], bits: 3, less: false, unread: false }
    };
    let (lock, unlock) = ("pthread_mutex_lock(&m@);", "pthread_mutex_unlock(&m@);");
    let programs = [of("", ""), of(lock, unlock), of(lock, ""), of("x@ += 2;", "")];
    for (n, p) in programs.iter().enumerate() {
        let compiled = compile(&[(0, p.clone())], &place("random-verify-apart")).unwrap();
        for (k, q) in programs.iter().enumerate() {
            let found = difference(q, 0, &compiled, 0, Asked::Two, &mut Counts::new());
            assert_eq!(found.is_some(), n != k, "{n} against {k}: {found:?}");
        }
    }
}
