//! Every engine on every program: verdict and time.

use crate::corpus::{self, Case};
use crate::usage::{cpu_seconds, wait};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;
use verify::{Budget, Options, SatSolver, Unknown, Verdict, with_sat};

/// One engine on one program; a line for the process that asked.
pub(crate) fn one(what: &str, engine: &str, seconds: f64, sat: SatSolver, defines: Vec<String>) {
    let case = match what.parse::<usize>() {
        Ok(line) => corpus::cases().into_iter().find(|c| c.line == line).expect("a line of the manifest"),
        // Any other file.
        Err(_) => Case { file: what.to_owned(), defines, ..Case::default() },
    };
    let start = cpu_seconds();
    let (word, why) = match case.read() {
        Err(why) => ("refused", why.to_string()),
        Ok(p) => {
            let budget = Budget { seconds: Some(seconds), work: None };
            let options = Options { deadlocks: case.deadlocks, budget };
            let engine = (verify::engine(engine).expect("an engine").make)();
            let out = with_sat(sat, || verify::verify_checked(&*engine, &p, &options));
            let word = match &out.verdict {
                Verdict::Unknown(Unknown::Spent(_)) => "time",
                Verdict::Unknown(Unknown::Within(_)) => "within",
                Verdict::Unknown(Unknown::Bound(_)) => "bound",
                Verdict::Unknown(Unknown::Cannot(_)) => "cannot",
                Verdict::Unknown(Unknown::Mistake(_)) => "mistake",
                other => other.name(),
            };
            let why = match &out.verdict {
                Verdict::Unknown(why) => why.to_string(),
                _ => String::new(),
            };
            (word, format!("{} {:?} {why}", out.engine, out.counts))
        }
    };
    println!("{}\t{word}\t{why}", cpu_seconds() - start);
}

/// Starts a process for one engine on one program: its verdict, or why there is none, and its seconds.
pub(crate) fn run(case: &Case, engine: &str, seconds: f64, sat: SatSolver) -> (String, f64) {
    let me = std::env::current_exe().expect("this program");
    // One that the manifest does not have is given by its file and its macros.
    let what = if case.line > 0 { case.line.to_string() } else { case.file.clone() };
    let mut child = Command::new(me)
        .args(["one", &what, engine, &seconds.to_string(), "--sat", sat.name()])
        .args(if case.line > 0 { &[] } else { &case.defines[..] })
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("another process");
    // The clock of the engine is read between its steps, and a step may be long. Others may use the machine, too.
    let ended =
        wait(&mut child, Duration::from_secs_f64(2.0 * seconds + 10.0)).expect("it can be waited for");
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut text).expect("text");
    }
    match text.split('\t').collect::<Vec<_>>()[..] {
        [time, word, _] => (word.to_owned(), time.parse().unwrap_or(f64::NAN)),
        _ if ended => ("crash".to_owned(), f64::NAN),
        _ => ("time".to_owned(), f64::NAN),
    }
}

fn number(seconds: f64) -> String {
    if seconds < 0.995 { format!("{seconds:.2}") } else { format!("{seconds:.1}") }
}

/// What an engine said of all programs.
#[derive(Clone, Default)]
struct Sum {
    right: u32,
    unknown: u32,
    wrong: u32,
    seconds: f64,
}

/// The table.
pub(crate) fn table(seconds: f64, only: &str, engines: &[String], mutations: bool, sat: SatSolver) {
    let all: Vec<&str> = verify::engines().iter().map(|e| e.name).collect();
    let names: Vec<&str> =
        all.into_iter().filter(|n| engines.is_empty() || engines.iter().any(|e| e == n)).collect();
    println!("| program | expected | {} |", names.join(" | "));
    println!("|---|---|{}", "---|".repeat(names.len()));
    let mut sums = vec![Sum::default(); names.len()];
    let mut rows = 0;
    for case in corpus::cases().iter().filter(|c| c.name().contains(only) && (mutations || !c.is_mutation()))
    {
        let mut row = format!("| {} | {} |", case.name(), case.expect);
        rows += 1;
        for (n, engine) in names.iter().enumerate() {
            let (word, time) = run(case, engine, seconds, sat);
            let Sum { right, unknown, wrong, seconds: sum } = &mut sums[n];
            if !time.is_nan() {
                *sum += time;
            }
            row += &match word.as_str() {
                // Where it goes wrong, it may be safe under some schedules.
                said @ ("safe" | "unsafe" | "partially-safe")
                    if case.expect == if said == "partially-safe" { "unsafe" } else { said } =>
                {
                    *right += 1;
                    format!(" {} |", number(time))
                }
                "safe" | "unsafe" | "partially-safe" => {
                    *wrong += 1;
                    format!(" **{word}** {} |", number(time))
                }
                "time" => {
                    *unknown += 1;
                    " – |".to_owned()
                }
                other => {
                    *unknown += 1;
                    format!(" {other} |")
                }
            };
        }
        println!("{row}");
    }
    let total = |name: &str, of: &dyn Fn(&Sum) -> String| {
        let cells: Vec<String> = sums.iter().map(of).collect();
        println!("| **{name}** | {rows} | {} |", cells.join(" | "));
    };
    total("decided", &|s| s.right.to_string());
    total("unknown", &|s| s.unknown.to_string());
    total("wrong", &|s| s.wrong.to_string());
    total("seconds", &|s| format!("{:.1}", s.seconds));
}
