//! How fast compiled C programs are checked.
//!
//! Programs of `programs/` are compiled by `raddle cc` and explored to the end: how many executions, how many of them in a CPU second of
//! the search alone, and how many CPU seconds the process took from start to end. Then what raddle promises is measured: the rate on
//! three threads with three increments each, how long it takes to get going, memory over ten million executions, and what data
//! costs that a program has but does not touch. Where `NIDHUGG` or `GENMC` is set, those run the same files.

mod peers;
mod usage;

use clap::Parser;
use peers::Peer;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use usage::Ran;

#[derive(Parser)]
#[command(about = "How fast compiled C programs are checked")]
struct Cli {
    /// Without the programs that take seconds, and memory over one million executions only
    #[arg(long)]
    quick: bool,

    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,

    /// The command to measure [default: it is built, beside this one]
    #[arg(long, value_name = "FILE")]
    raddle: Option<PathBuf>,

    /// The most seconds for a peer on one program
    #[arg(long, value_name = "S", default_value_t = 60)]
    peer_seconds: u64,
}

/// The programs: file, what is defined, and whether it takes seconds.
const PROGRAMS: [(&str, &[&str], bool); 18] = [
    ("c/golden/increments.c", &["N=3", "K=3"], false),
    ("c/golden/increments.c", &["N=4", "K=3"], true),
    ("c/golden/ainc.c", &["N=8"], false),
    ("c/golden/binc.c", &["N=4"], false),
    ("c/golden/readers.c", &["N=13"], false),
    ("c/golden/lastzero.c", &["N=10"], false),
    ("c/golden/indexer.c", &["N=15"], false),
    ("c/golden/filesystem.c", &["N=22"], false),
    ("c/golden/fib_bench.c", &["N=4"], false),
    ("c/golden/sigma.c", &["N=6"], false),
    ("c/golden/casrot.c", &["N=7"], false),
    ("c/svcomp/lamport_fast.c", &["ROUNDS=2"], true),
    ("c/svcomp/szymanski.c", &[], false),
    ("c/svcomp/qrcu.c", &["READERS=2"], false),
    ("c/structures/chase_lev.c", &["THIEVES=2"], false),
    ("c/structures/seqlock.c", &["WRITES=2"], false),
    ("c/structures/ticket_lock.c", &["THREADS=3"], false),
    ("c/rcu.c", &[], false),
];

#[derive(Serialize)]
struct Row {
    program: String,
    verdict: String,
    executions: u64,
    /// Of the search alone.
    executions_per_cpu_second: f64,
    /// Of the process, from start to end.
    cpu_seconds: f64,
    peers: Vec<Peer>,
}

/// Something that must hold.
#[derive(Serialize)]
struct Requirement {
    what: String,
    required: String,
    found: String,
    passed: bool,
}

struct Bench {
    raddle: PathBuf,
    place: PathBuf,
    programs: PathBuf,
}

impl Bench {
    fn new(raddle: Option<PathBuf>) -> Result<Bench, String> {
        let raddle = match raddle {
            Some(path) => path,
            None => build()?,
        };
        let place = std::env::temp_dir().join(format!("native-bench-{}", std::process::id()));
        std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        Ok(Bench { raddle, place, programs: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs") })
    }

    fn compile(&self, file: &Path, defines: &[String]) -> Result<PathBuf, String> {
        let program = self.place.join("program");
        let mut command = Command::new(&self.raddle);
        command.arg("cc").arg(file).args(defines).args(["-pthread", "-o"]).arg(&program);
        let ran = usage::run(&mut command)?;
        if ran.ok { Ok(program) } else { Err(format!("{}: {}", file.display(), ran.out)) }
    }

    /// Explores a compiled program: what it took, and its report.
    fn explore(&self, program: &Path, more: &[(&str, &str)]) -> Result<(Ran, Value), String> {
        let mut command = Command::new(program);
        command.env("RADDLE_SPURIOUS_WAKEUPS", "0").env("RADDLE_SPURIOUS_FAILURES", "0");
        command.env("RADDLE_JSON", "1").envs(more.iter().copied());
        let ran = usage::run(&mut command)?;
        let json = serde_json::from_str(&ran.out).map_err(|e| format!("{e}: {}", ran.out))?;
        Ok((ran, json))
    }

    /// Executions in a CPU second of the search alone; the best of some processes, as whatever disturbs one makes it slower.
    fn rate(&self, program: &Path, times: usize) -> Result<f64, String> {
        let mut best = 0.0f64;
        for _ in 0..times {
            let (_, table) = self.explore(program, &[("RADDLE_COMPARE", "optimal")])?;
            let row = &table["rows"][0];
            let (runs, seconds) = (row["runs"].as_f64(), row["cpu_seconds"].as_f64());
            let (Some(runs), Some(seconds)) = (runs, seconds) else { return Err(format!("no row: {table}")) };
            best = best.max(runs / seconds);
        }
        Ok(best)
    }

    fn row(&self, file: &str, defines: &[&str], peer_seconds: u64) -> Result<Row, String> {
        let path = self.programs.join(file);
        let flags: Vec<String> = defines.iter().map(|d| format!("-D{d}")).collect();
        let program = self.compile(&path, &flags)?;
        let (ran, report) = self.explore(&program, &[])?;
        let name = Path::new(file).file_stem().and_then(|s| s.to_str()).unwrap_or(file);
        Ok(Row {
            program: [&[name], defines].concat().join(" "),
            verdict: report["verdict"].as_str().unwrap_or("?").to_owned(),
            executions: report["executions"].as_u64().unwrap_or(0),
            executions_per_cpu_second: self.rate(&program, 1)?,
            cpu_seconds: ran.cpu_seconds,
            peers: peers::run(&path, &flags, peer_seconds),
        })
    }

    fn requirements(&self, quick: bool, say: impl Fn(&Requirement)) -> Result<Vec<Requirement>, String> {
        let mut out = vec![];
        let mut add = |what: &str, required: String, found: String, passed: bool| {
            let requirement = Requirement { what: what.to_owned(), required, found, passed };
            say(&requirement);
            out.push(requirement);
        };
        let increments = self.programs.join("c/golden/increments.c");
        let defines = |n: u32, k: u32| [format!("-DN={n}"), format!("-DK={k}")];

        let rate = self.rate(&self.compile(&increments, &defines(3, 3))?, 9)?;
        let what = "executions per CPU second, 3 threads with 3 increments each";
        add(what, "at least 300,000".into(), grouped(rate as u64), rate >= 300e3);

        let (mut seconds, mut cpu) = (f64::MAX, f64::MAX);
        for _ in 0..5 {
            let mut command = Command::new(&self.raddle);
            let ran = usage::run(command.arg("check").arg(&increments).args(defines(2, 1)))?;
            if !ran.ok {
                return Err(ran.out);
            }
            (seconds, cpu) = (seconds.min(ran.seconds), cpu.min(ran.cpu_seconds));
        }
        let found = format!("{seconds:.2} s, {cpu:.2} of them CPU");
        add(
            "`raddle check` on a small program, compiling included",
            "under 1 s".into(),
            found,
            seconds < 1.0,
        );

        let program = self.compile(&increments, &defines(4, 4))?;
        let (few, many) = if quick { ("100000", "1000000") } else { ("1000000", "10000000") };
        let early = self.explore(&program, &[("RADDLE_MAX_EXECUTIONS", few)])?.0.megabytes;
        let late = self.explore(&program, &[("RADDLE_MAX_EXECUTIONS", many)])?.0.megabytes;
        let count = |n: &str| grouped(n.parse().unwrap_or(0));
        let what = format!("memory after {} executions, against {}", count(many), count(few));
        let found = format!("{late:.1} MB against {early:.1} MB");
        add(&what, "no more than 1 MB above".into(), found, late <= early + 1.0);

        let bss = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/bss.c");
        let (mut small, mut large) = (0.0f64, 0.0f64);
        for _ in 0..3 {
            small = small.max(self.rate(&self.compile(&bss, &[])?, 1)?);
            large = large.max(self.rate(&self.compile(&bss, &["-DSIZE=1048576".to_owned()])?, 1)?);
        }
        let found =
            format!("{:.2} ({} against {})", large / small, grouped(large as u64), grouped(small as u64));
        add("rate with 1 MiB of .bss, against 64 bytes", "at least 0.5".into(), found, large >= 0.5 * small);

        let touch = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/touch.c");
        let program = self.compile(&touch, &["-O1".to_owned()])?;
        let milliseconds = 1e3 / self.rate(&program, 9)?;
        let megabytes = self.explore(&program, &[])?.0.megabytes;
        add(
            "CPU time and memory of an execution whose only thread touches 1 MiB byte by byte",
            "under 5 ms and 10 MB".into(),
            format!("{milliseconds:.1} ms, {megabytes:.1} MB"),
            milliseconds < 5.0 && megabytes < 10.0,
        );
        Ok(out)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.place);
    }
}

/// Builds the command with the profile that this one was built with, and says where it is.
fn build() -> Result<PathBuf, String> {
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let directory = me.parent().ok_or("this program lies in no directory")?;
    let profile = match directory.file_name().and_then(|n| n.to_str()) {
        Some("debug") | None => return Err("numbers of a debug build say nothing: --release".to_owned()),
        Some(profile) => profile.to_owned(),
    };
    let target = directory.parent().ok_or("this program lies in no target directory")?;
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--profile", &profile, "-p", "raddle-cli", "--target-dir"])
        .arg(target)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()
        .map_err(|e| format!("cargo: {e}"))?;
    if status.success() { Ok(directory.join("raddle")) } else { Err("raddle was not built".to_owned()) }
}

/// A number with a comma before every three digits.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn heading() -> String {
    format!("{:<28} {:>10} {:>12} {:>9}", "program", "executions", "per CPU s", "CPU s")
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (executions, rate) = (grouped(self.executions), grouped(self.executions_per_cpu_second as u64));
        write!(f, "{:<28} {executions:>10} {rate:>12} {:>9.3}", self.program, self.cpu_seconds)?;
        if self.verdict != "verified" {
            write!(f, "  {}", self.verdict)?;
        }
        for Peer { tool, executions, cpu_seconds } in &self.peers {
            match executions {
                Some(n) => {
                    let (n, ratio) = (grouped(*n), cpu_seconds / self.cpu_seconds);
                    write!(f, "  {tool}: {n} in {cpu_seconds:.2} s, {ratio:.1} times the CPU time")?;
                }
                None => write!(f, "  {tool}: -")?,
            }
        }
        Ok(())
    }
}

impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verdict = if self.passed { "PASS" } else { "FAIL" };
        write!(f, "{verdict}  {}: {} (required: {})", self.what, self.found, self.required)
    }
}

fn bench(cli: &Cli) -> Result<bool, String> {
    // Settings of a shell around this would change what is measured.
    if let Some((name, _)) = std::env::vars_os().find(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
        return Err(format!("{} is set; without it", name.to_string_lossy()));
    }
    let bench = Bench::new(cli.raddle.clone())?;
    // It takes a while: each line comes as soon as it is known.
    let say = |line: String| {
        if !cli.json {
            println!("{line}");
        }
    };
    say(heading());
    let mut rows = vec![];
    for (file, defines, long) in PROGRAMS {
        if !(cli.quick && long) {
            let row = bench.row(file, defines, cli.peer_seconds)?;
            say(row.to_string());
            rows.push(row);
        }
    }
    let requirements = bench.requirements(cli.quick, |r| say(r.to_string()))?;
    if cli.json {
        println!("{:#}", serde_json::json!({ "programs": rows, "requirements": requirements }));
    }
    Ok(requirements.iter().all(|r| r.passed))
}

fn main() -> ExitCode {
    match bench(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("native-bench: {why}");
            ExitCode::from(2)
        }
    }
}
