//! `raddle test --std`, also as `cargo raddle test --std`: the tests of a crate that uses std's own types, explored as they are.
//!
//! Cargo builds the tests, with the compiler's own instrumentation and an instrumented std (see `rust_std`), in a target directory of
//! its own. Each test is then a program for the library that C programs are run by: one process a test.
//!
//! **Invariant:** what was built without instrumentation is named to the library, which then never says `verified`.

use clap::Args;
use std::process::ExitCode;

pub(crate) const LONG_ABOUT: &str = "\
Explore the tests of a Rust crate that uses std's own types (experimental).

    cargo raddle test --std             all tests of the package
    cargo raddle test --std queue       those with `queue` in their names

Nothing in the crate changes: std::sync, std::thread, parking_lot, crossbeam and whatever stands on
atomics is instrumented by the compiler, std itself too. Each test is run under every schedule that
can matter, and the first failure of each is shown with the schedule that leads there.

As it stands, what is seen are atomic operations, locks and threads: enough for safe code. With
--accesses all other accesses to memory are checked for data races as well; that needs an unstable
flag of the compiler, which is asked for with RUSTC_BOOTSTRAP=1.

The crates of the workspace are compiled with --cfg miri, for which many crates shrink tests that
repeat something thousands of times; dependencies and std are not. --no-cfg-miri leaves it out.";

#[derive(Args)]
pub(crate) struct TestArgs {
    /// Test code that uses std's own types, as it is
    #[arg(long, required = true)]
    std: bool,

    /// Look for data races: instrument accesses that are not atomic, too
    #[arg(long)]
    accesses: bool,

    /// Only tests whose names have this in them
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// Only the test of exactly this name
    #[arg(long, requires = "name")]
    exact: bool,

    /// The package to test
    #[arg(short, long, value_name = "SPEC")]
    package: Option<String>,

    /// Only the tests in the library
    #[arg(long)]
    lib: bool,

    /// Only this file of tests
    #[arg(long, value_name = "NAME")]
    test: Option<String>,

    /// Features to build with
    #[arg(long, value_name = "FEATURES")]
    features: Option<String>,

    /// Build with all features
    #[arg(long)]
    all_features: bool,

    /// Build without the default feature
    #[arg(long)]
    no_default_features: bool,

    /// Do not touch the network
    #[arg(long)]
    offline: bool,

    /// Compile the tested workspace without --cfg miri, which shrinks the stress tests of many crates
    #[arg(long)]
    no_cfg_miri: bool,

    /// How to search (`raddle algorithms` says what each one does)
    #[arg(long, value_name = "NAME", value_parser = crate::check::algorithm_names(), hide_possible_values = true)]
    algorithm: Option<String>,

    /// Search within a bound, such as preemptions=2, or preemptions=0.. for one after the other; may be given again
    #[arg(long = "bound", value_name = "KIND=N", value_parser = crate::check::bound)]
    bounds: Vec<explore::Limit>,

    /// Stop each test after so many executions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: Option<u64>,

    /// Stop each test after so many seconds
    #[arg(long, value_name = "S", value_parser = crate::check::seconds)]
    max_seconds: Option<f64>,

    /// Stop all tests after so many seconds: those that are left are not run
    #[arg(long, value_name = "S", value_parser = crate::check::seconds)]
    max_total_seconds: Option<f64>,

    /// How often a thread may read a late time in an execution
    #[arg(long, value_name = "N")]
    late: Option<u32>,

    /// How timed waits and sleeps end: any (a timeout at any time is explored, and a failure that needs one is a failure), or
    /// patient[=DURATION] (those of at least 1h, 5m, 10s, ... only when nothing else can run). Without it, a failure that needs a
    /// thread to be late is a caveat
    #[arg(long, value_name = "HOW", value_parser = crate::check::timeouts)]
    timeouts: Option<String>,

    /// So many spurious wake-ups, spurious failures and timeouts in a row, where the test counts them; 0 for no spurious ones
    #[arg(long, value_name = "N")]
    spurious: Option<u32>,

    /// A thread gives way after so many turns of a loop that saw no change; 0 for never
    #[arg(long, value_name = "N")]
    turns: Option<u32>,

    /// Whether the allocator gives out freed addresses again: off, or all. Without it, a second search does where that may matter
    #[arg(long, value_name = "WHEN", value_parser = ["off", "all"])]
    reuse: Option<String>,

    /// Run one schedule of one test again: the token of a report
    #[arg(long, value_name = "TOKEN", value_parser = crate::token, requires = "exact")]
    replay: Option<String>,

    /// Print one JSON object for each test, each on a line
    #[arg(long)]
    json: bool,
}

/// With this variable `raddle` is a wrapper of the compiler, which adds a cfg.
const CFG: &str = "RADDLE_ADD_CFG";

/// If cargo calls us in place of the compiler for a crate of the workspace: the compiler, with the cfg that is asked for.
///
/// Build scripts and procedural macros run as they are, and are not told.
pub(crate) fn wrap_compiler(args: &[String]) -> Option<ExitCode> {
    let cfg = std::env::var(CFG).ok()?;
    let (compiler, rest) = args.get(1..)?.split_first()?;
    let value = |option: &str| rest.iter().position(|a| a == option).and_then(|i| rest.get(i + 1));
    let is_script = value("--crate-name").is_none_or(|n| n.starts_with("build_script_"));
    let is_macro = value("--crate-type").is_some_and(|t| t == "proc-macro");
    let mut command = std::process::Command::new(compiler);
    command.args(rest);
    if !is_script && !is_macro {
        command.args(["--cfg", &cfg]);
    }
    Some(match command.status() {
        Ok(status) => ExitCode::from(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1)),
        Err(e) => {
            eprintln!("error: cannot run {compiler}: {e}");
            ExitCode::from(1)
        }
    })
}

pub(crate) fn run(args: &TestArgs) -> ExitCode {
    match tests(args) {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            eprintln!("raddle: {why}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(c_programs))]
fn tests(_args: &TestArgs) -> Result<u8, String> {
    Err("plain Rust can be checked on 64-bit x86 Linux with the GNU C library only; this is another system"
        .to_owned())
}

#[cfg(c_programs)]
use on_linux::tests;

#[cfg(c_programs)]
mod on_linux {
    use super::TestArgs;
    use crate::run::{Ended, Start};
    use crate::rust_std::{NO_MARKS, PASSES, TARGET, Toolchain};
    use crate::scratch::Scratch;
    use crate::toolchain::quoted;
    use crate::{library, rust_entry};
    use explore::{Caveat, CaveatKind};
    use serde_json::Value;
    use std::collections::{BTreeSet, HashMap, HashSet};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// What cargo has made.
    #[derive(Default)]
    struct Built {
        programs: Vec<Program>,
        /// What could not be instrumented.
        caveats: Vec<Caveat>,
    }

    impl Built {
        fn note(&mut self, kind: CaveatKind, text: String) {
            Caveat::new(kind, text).add_to(&mut self.caveats);
        }
    }

    struct Program {
        path: PathBuf,
        /// The name of the crate, as paths start with it.
        krate: String,
        /// The name and kind of the cargo target of the test.
        target: (String, String),
        /// The variables of its package that cargo sets for tests.
        package: Vec<(&'static str, String)>,
        /// The parts of its own crate that could not be instrumented.
        caveats: Vec<Caveat>,
    }

    /// The variables that cargo sets for a test, read from its message about the executable.
    fn of_package(message: &Value) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        if let Some(manifest) = message["manifest_path"].as_str() {
            let directory = Path::new(manifest).parent().unwrap_or(Path::new("/"));
            out.push(("CARGO_MANIFEST_DIR", directory.display().to_string()));
            out.push(("CARGO_MANIFEST_PATH", manifest.to_owned()));
        }
        // `path+file:///folder#name@1.2.3`, or without the name where the folder has it.
        if let Some((place, id)) = message["package_id"].as_str().and_then(|id| id.rsplit_once('#')) {
            let last = place.rsplit('/').next().unwrap_or_default();
            let (name, version) = id.split_once('@').unwrap_or((last, id));
            out.push(("CARGO_PKG_NAME", name.to_owned()));
            out.push(("CARGO_PKG_VERSION", version.to_owned()));
        }
        out
    }

    pub(super) fn tests(args: &TestArgs) -> Result<u8, String> {
        let here = std::env::current_dir().map_err(|e| e.to_string())?;
        let toolchain = Toolchain::find(&here)?;
        let library = library::directory()?;
        let beside = library.parent().unwrap_or(&library);
        let (sysroot, no_std) = match toolchain.instrumented(beside) {
            Ok(there) => (Some(there), None),
            Err(why) => (None, Some(why)),
        };
        let mut built = build(args, &toolchain, &library, sysroot.as_deref())?;
        if let Some(why) = no_std {
            built.note(
                CaveatKind::Uninstrumented,
                format!(
                    "std could not be instrumented ({why}): contended operations of Mutex, RwLock, Condvar, Once, Barrier, park and \
                     channels are not seen"
                ),
            );
        }
        let (mut all, mut ignored) = (Vec::new(), Vec::new());
        for program in &built.programs {
            let (tests, names) = list(program, args)?;
            all.extend(tests.into_iter().map(|test| (program, test)));
            ignored.extend(names.into_iter().map(|name| (program, name)));
        }
        if all.is_empty() && ignored.is_empty() {
            return Err(match &args.name {
                Some(name) => format!("no test has a name like {name:?}"),
                None => "there are no tests".to_owned(),
            });
        }
        if !args.json {
            let cfg = if args.no_cfg_miri {
                "without --cfg miri"
            } else {
                "with --cfg miri (--no-cfg-miri leaves it out)"
            };
            println!("raddle: {} compiled {cfg}", tests_of(all.len()));
        }
        let scratch = Scratch::new()?;
        let deadline = args.max_total_seconds.map(|s| Instant::now() + Duration::from_secs_f64(s));
        let (mut rows, count) = (Vec::new(), all.len());
        let mut stopped = None;
        for (i, (program, test)) in all.iter().enumerate() {
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            if crate::run::was_interrupted() {
                stopped = stopped.or(Some("interrupted"));
            } else if left.is_some_and(|l| l.is_zero()) {
                stopped = stopped.or(Some("--max-total-seconds"));
            }
            if stopped.is_some() {
                let (name, target) = (test.name.clone(), program.target.clone());
                rows.push(Row { name, target, verdict: "not run".to_owned(), ..Row::default() });
                continue;
            }
            let mut variables = args.variables(test, toolchain.knows_locks(), left);
            let caveats: Vec<String> =
                built.caveats.iter().chain(&program.caveats).map(crate::scan::line).collect();
            variables.push(("RADDLE_CAVEATS", caveats.join("\n")));
            variables.extend(program.package.iter().cloned());
            let words = ["--exact", "--nocapture", "--test-threads=1"].map(str::to_owned);
            let words: Vec<String> = std::iter::once(test.name.clone()).chain(words).collect();
            let start = Start {
                program: &program.path,
                args: &words,
                variables: &variables,
                gdb: false,
                seconds: args.seconds(left),
            };
            if args.json {
                eprintln!("raddle: test {} of {count}: {}", i + 1, test.name);
                rows.push(as_json(args, &start, (program, test), i, scratch.path())?);
            } else {
                println!("test {} ({} of {count})", test.name, i + 1);
                rows.push(shown(&start, (program, test), i, scratch.path())?);
            }
        }
        rows.extend(ignored.into_iter().map(|(program, name)| Row {
            name,
            target: program.target.clone(),
            verdict: IGNORED.to_owned(),
            ..Row::default()
        }));
        if args.json {
            for row in rows.iter().filter(|r| ["not run", IGNORED].contains(&r.verdict.as_str())) {
                println!(
                    "{}",
                    serde_json::json!({ "test": row.name, "target": row.target.0, "kind": row.target.1,
                        "report": Value::Null, "verdict": row.verdict })
                );
            }
        } else {
            print!("{}", table(&rows));
            if let Some(why) = stopped {
                println!(
                    "raddle: stopped early ({why}): {} not run",
                    tests_of(rows.iter().filter(|r| r.verdict == "not run").count())
                );
            }
        }
        let codes: Vec<u8> = rows.iter().filter(|r| r.verdict != IGNORED).map(|r| r.code).collect();
        Ok(match () {
            () if codes.contains(&1) => 1,
            () => codes.into_iter().max().unwrap_or(0),
        })
    }

    fn tests_of(n: usize) -> String {
        format!("{n} test{}", if n == 1 { "" } else { "s" })
    }

    /// The verdict of a test that the crate ignores.
    const IGNORED: &str = "ignored";

    /// What became of one test.
    struct Row {
        name: String,
        /// The name and the kind of the program that it is in.
        target: (String, String),
        verdict: String,
        executions: Option<u64>,
        seconds: Option<f64>,
        /// The exit code that a check of it alone would have.
        code: u8,
    }

    impl Default for Row {
        fn default() -> Row {
            let (name, verdict) = (String::new(), String::new());
            Row { name, target: Default::default(), verdict, executions: None, seconds: None, code: 3 }
        }
    }

    impl Row {
        /// From the report of the test, if there is one.
        fn of((program, test): (&Program, &Test), report: &Value, code: u8, took: Duration) -> Row {
            let caveats = report["caveats"].as_array().map_or(&[][..], Vec::as_slice);
            let verdict = report["verdict"].as_str().map_or("no report", |v| match v {
                "failure" => "FAILED",
                "verified" if caveats.iter().any(|c| c["kind"] == "memory-order") => "verified under seq_cst",
                "no-failure-with-caveats" => "no failure, with caveats",
                "no-failure-within-bound" => "no failure within the bound",
                "incomplete" => "stopped early",
                other => other,
            });
            Row {
                name: test.name.clone(),
                target: program.target.clone(),
                verdict: verdict.to_owned(),
                executions: report["executions"].as_u64(),
                seconds: Some(took.as_secs_f64()),
                code,
            }
        }
    }

    /// One line a test, and the sum.
    fn table(rows: &[Row]) -> String {
        let width =
            |f: &dyn Fn(&Row) -> usize, least: usize| rows.iter().map(f).max().unwrap_or(0).max(least);
        // Two programs may have tests of one name.
        let label = |r: &Row| match rows.iter().filter(|other| other.name == r.name).count() {
            1 => r.name.clone(),
            _ => format!("{} ({})", r.name, r.target.0),
        };
        let name = width(&|r| label(r).chars().count(), 4);
        let verdict = width(&|r| r.verdict.len(), 7);
        let mut out =
            format!("{:name$}  {:verdict$}  {:>10}  {:>8}\n", "test", "verdict", "executions", "time");
        for r in rows {
            let executions = r.executions.map_or("-".to_owned(), |n| n.to_string());
            let time = r.seconds.map_or("-".to_owned(), |s| format!("{s:.1} s"));
            out += &format!("{:name$}  {:verdict$}  {executions:>10}  {time:>8}\n", label(r), r.verdict);
        }
        let ignored = rows.iter().filter(|r| r.verdict == IGNORED).count();
        let run = rows.len() - ignored;
        let count = |code: u8| rows.iter().filter(|r| r.code == code).count();
        out += &format!(
            "raddle: {}: {} without a failure, {} failed, {} stopped early{}\n",
            tests_of(run),
            count(0),
            count(1),
            run - count(0) - count(1),
            if ignored > 0 { format!(", {ignored} ignored") } else { String::new() }
        );
        out
    }

    /// The report of a test that wrote it to a file.
    fn summary(path: &Path) -> Value {
        let report = std::fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        report.unwrap_or(Value::Null)
    }

    fn shown(start: &Start<'_>, test: (&Program, &Test), n: usize, scratch: &Path) -> Result<Row, String> {
        // Two programs may have tests of one name.
        let name = n.to_string();
        let (done, report) = (scratch.join(format!("done-{name}")), scratch.join(format!("report-{name}")));
        let mut variables = start.variables.to_vec();
        variables.push(("RADDLE_SUMMARY", report.display().to_string()));
        let began = Instant::now();
        let code = match crate::run::run(&Start { variables: &variables, ..*start }, &done)? {
            Ended::Reported(code) | Ended::Debugged(code) => code,
            Ended::Otherwise(what, _) => {
                println!("raddle: {what}: nothing is verified");
                3
            }
        };
        println!();
        Ok(Row::of(test, &summary(&report), code, began.elapsed()))
    }

    fn as_json(
        args: &TestArgs,
        start: &Start<'_>,
        of: (&Program, &Test),
        n: usize,
        scratch: &Path,
    ) -> Result<Row, String> {
        let began = Instant::now();
        let ((program, test), name) = (of, n.to_string());
        let (done, path) = (scratch.join(format!("done-{name}")), scratch.join(format!("report-{name}")));
        let mut variables = start.variables.to_vec();
        variables.push(("RADDLE_SUMMARY", path.display().to_string()));
        variables.push(("RADDLE_QUIET", "1".to_owned()));
        let ended = crate::run::run(&Start { variables: &variables, ..*start }, &done)?;
        let report = summary(&path);
        let cfg = if args.no_cfg_miri { vec![] } else { vec!["miri"] };
        println!(
            "{}",
            serde_json::json!({ "test": test.name, "target": program.target.0, "kind": program.target.1,
                "direct": test.entry.is_some(), "cfg": cfg, "report": report })
        );
        let code = match ended {
            Ended::Reported(code) | Ended::Debugged(code) => code,
            Ended::Otherwise(what, _) => {
                eprintln!("raddle: {what}: nothing is verified");
                3
            }
        };
        Ok(Row::of(of, &report, if report.is_null() { 3 } else { code }, began.elapsed()))
    }

    /// What the compiler is told, besides what cargo tells it.
    fn flags(args: &TestArgs, library: &Path, sysroot: Option<&Path>) -> String {
        let mut flags: Vec<String> = Vec::new();
        if let Ok(given) = std::env::var("CARGO_ENCODED_RUSTFLAGS") {
            flags.extend(given.split('\x1f').filter(|f| !f.is_empty()).map(str::to_owned));
        } else if let Ok(given) = std::env::var("RUSTFLAGS") {
            flags.extend(given.split_whitespace().map(str::to_owned));
        }
        let library = library.display();
        flags.extend(sysroot.map(|s| format!("--sysroot={}", s.display())));
        flags.extend(
            ["-Copt-level=0", "-Cdebuginfo=2", "-Cstrip=none", "-Cforce-frame-pointers=yes"]
                .map(str::to_owned),
        );
        flags.extend([format!("-L{library}"), "-lraddle_native".to_owned()]);
        flags.extend([format!("-Clink-arg=-Wl,-rpath,{library}"), "-Clink-arg=-Wl,-z,now".to_owned()]);
        flags.push(format!("-Cllvm-args={NO_MARKS}"));
        if args.accesses {
            flags.extend(["-Zsanitizer=thread", "-Zexternal-clangrt"].map(str::to_owned));
            // Compiles generic functions of std with the crate, so that they are instrumented.
            flags.push("-Zshare-generics=no".to_owned());
            // Functions of the C library, which the crate may call, and by which std copies, fills and compares memory.
            flags.extend(crate::cc::WRAPPED.lines().map(|name| format!("-Clink-arg=-Wl,--wrap={name}")));
            flags.push("-Cunsafe-allow-abi-mismatch=sanitizer".to_owned());
            flags.push("-Cllvm-args=-tsan-instrument-read-before-write=1".to_owned());
        } else {
            flags.push(format!("-Cpasses={PASSES}"));
        }
        flags.join("\x1f")
    }

    fn cargo() -> Command {
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// Where cargo would build, with a place of our own in it.
    fn target_directory(args: &TestArgs) -> Result<PathBuf, String> {
        let mut command = cargo();
        command.args(["metadata", "--no-deps", "--format-version=1"]).stderr(Stdio::inherit());
        if args.offline {
            command.arg("--offline");
        }
        let out = command.output().map_err(|e| format!("cannot run cargo: {e}"))?;
        let about: Value = serde_json::from_slice(&out.stdout).unwrap_or(Value::Null);
        let directory =
            about["target_directory"].as_str().ok_or("there is no package here that cargo can test")?;
        Ok(Path::new(directory).join(if args.accesses { "raddle-accesses" } else { "raddle" }))
    }

    fn build(
        args: &TestArgs,
        toolchain: &Toolchain,
        library: &Path,
        sysroot: Option<&Path>,
    ) -> Result<Built, String> {
        let mut command = cargo();
        command.args(["test", "--no-run", "--target", TARGET, "--message-format=json-render-diagnostics"]);
        command.arg("--target-dir").arg(target_directory(args)?);
        command.args(args.of_cargo());
        command.env("CARGO_ENCODED_RUSTFLAGS", flags(args, library, sysroot)).env("RUSTC", toolchain.rustc());
        command.env_remove("RUSTFLAGS");
        // The instrumented library has no bitcode to optimise with.
        for profile in ["DEV", "TEST"] {
            command.env(format!("CARGO_PROFILE_{profile}_LTO"), "off");
        }
        if args.accesses {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        if !args.no_cfg_miri {
            let this = std::env::current_exe().map_err(|e| format!("cannot find raddle itself: {e}"))?;
            command.env("RUSTC_WORKSPACE_WRAPPER", this).env(super::CFG, "miri");
        }
        let out = command.stderr(Stdio::inherit()).output().map_err(|e| format!("cannot run cargo: {e}"))?;
        if !out.status.success() {
            let miri = if args.no_cfg_miri {
                ""
            } else {
                " (the crate is compiled with --cfg miri; --no-cfg-miri leaves it out)"
            };
            return Err(format!("the tests were not built: cargo says why above{miri}"));
        }
        let mut built = Built::default();
        // The crates, with the files that they were compiled from; those of programs are in that program alone.
        let mut crates: Vec<(String, Vec<PathBuf>)> = Vec::new();
        for line in String::from_utf8_lossy(&out.stdout).lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
            let target = &message["target"];
            match message["reason"].as_str() {
                Some("compiler-artifact") => {
                    let kinds: Vec<&str> =
                        target["kind"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                    if kinds.contains(&"custom-build") || kinds.contains(&"proc-macro") {
                        continue;
                    }
                    let made =
                        message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
                    let of = (name(target), made.map(PathBuf::from).collect::<Vec<_>>());
                    let source = PathBuf::from(target["src_path"].as_str().unwrap_or_default());
                    let is_test = message["profile"]["test"] == true;
                    match message["executable"].as_str() {
                        Some(path) if is_test => {
                            let files = sources(&of.1, &source);
                            let mut caveats = unseen(args, &[(of.0.clone(), files.clone())]);
                            if args.reuse.as_deref() != Some("all") && contents(&files).addresses {
                                caveats.push(Caveat::new(CaveatKind::Reuse, ADDRESSES.replace("{}", &of.0)));
                            }
                            let package = of_package(&message);
                            let kind = kinds.first().copied().unwrap_or_default().to_owned();
                            let target = (target["name"].as_str().unwrap_or_default().to_owned(), kind);
                            let (path, krate) = (path.into(), of.0);
                            built.programs.push(Program { path, krate, target, package, caveats });
                        }
                        // A program that is not a test runs in a process of its own, if it runs.
                        Some(_) => {}
                        None => crates.push((of.0, sources(&of.1, &source))),
                    }
                }
                Some("build-script-executed") => {
                    for library in
                        message["linked_libs"].as_array().into_iter().flatten().filter_map(Value::as_str)
                    {
                        let text = format!(
                            "the native library {library} is not instrumented: its accesses are not seen"
                        );
                        built.note(CaveatKind::Uninstrumented, text);
                    }
                }
                _ => {}
            }
        }
        for caveat in unseen(args, &crates) {
            caveat.add_to(&mut built.caveats);
        }
        Ok(built)
    }

    const ADDRESSES: &str = "{} turns addresses into numbers, which it may compare: that a block gets the address of one that was freed is explored where \
                             atomic operations hold the address, and not for other numbers (--reuse all)";

    /// Names the parts of the sources of crates that the instrumentation does not see.
    fn unseen(args: &TestArgs, crates: &[(String, Vec<PathBuf>)]) -> Vec<Caveat> {
        let (mut assembly, mut hidden, mut vectors) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let (mut clocks, mut random) = (BTreeSet::new(), BTreeSet::new());
        for (krate, files) in crates {
            let has = contents(files);
            assembly.extend(has.assembly.then(|| krate.clone()));
            vectors.extend((has.vectors && args.accesses).then(|| krate.clone()));
            clocks.extend(has.clock.then(|| krate.clone()));
            random.extend(has.random.then(|| krate.clone()));
            hidden.extend((has.unsafe_code && !args.accesses).then(|| krate.clone()));
        }
        let names = |crates: &BTreeSet<String>| crates.iter().cloned().collect::<Vec<_>>().join(", ");
        let mut caveats = Vec::new();
        let mut note = |kind, crates: &BTreeSet<String>, text: &str| {
            if !crates.is_empty() {
                Caveat::new(kind, text.replace("{}", &names(crates))).add_to(&mut caveats);
            }
        };
        note(
            CaveatKind::Assembly,
            &assembly,
            "inline assembly in {} is not instrumented: its accesses to memory are not seen",
        );
        note(
            CaveatKind::Uninstrumented,
            &vectors,
            "accesses by vectors of 32 bytes and more, and by masked, gathering, streaming and unaligned vector instructions in {} are \
             not seen",
        );
        note(
            CaveatKind::Clock,
            &clocks,
            "the processor's counter of cycles, which {} reads, is the real one: other readings are not explored",
        );
        note(
            CaveatKind::Inputs,
            &random,
            "random numbers of the processor, which {} draws, are real ones: other numbers are not explored",
        );
        note(
            CaveatKind::Races,
            &hidden,
            "unsafe code in {}: of its accesses only atomic operations were seen (--accesses checks all of them for data races)",
        );
        caveats
    }

    fn name(target: &Value) -> String {
        target["name"].as_str().unwrap_or_default().replace('-', "_")
    }

    /// The source files that the compiler says it has made something of, or the root of the crate if it does not say.
    fn sources(made: &[PathBuf], root: &Path) -> Vec<PathBuf> {
        let listed = made.iter().find_map(|file| {
            let stem = file.file_stem()?.to_str()?;
            let is_library = file.extension().is_some();
            let stem = if is_library { stem.strip_prefix("lib").unwrap_or(stem) } else { stem };
            let text = std::fs::read_to_string(file.with_file_name(format!("{stem}.d"))).ok()?;
            // Each file has a line of its own, with nothing after the colon.
            let names = text.lines().filter_map(|l| l.strip_suffix(':'));
            let names: Vec<PathBuf> = names.map(|n| n.replace("\\ ", " ").into()).collect();
            (!names.is_empty()).then_some(names)
        });
        let base = listed.as_deref().and_then(|l| base_of(l, root));
        match (listed, base) {
            (Some(listed), Some(base)) => listed.iter().map(|f| base.join(f)).collect(),
            _ => {
                let mut all = Vec::new();
                look(root.parent().unwrap_or(root), &mut all);
                all
            }
        }
    }

    /// The directory that relative names of files are relative to: the compiler was run there.
    fn base_of(files: &[PathBuf], root: &Path) -> Option<PathBuf> {
        files.iter().find_map(|f| root.ancestors().find(|a| a.join(f) == root).map(Path::to_owned))
    }

    fn look(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" {
                look(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }

    /// What the sources of a crate have that the instrumentation does not see.
    #[derive(Default)]
    struct Contents {
        assembly: bool,
        /// Vector instructions that the compiler does not instrument.
        vectors: bool,
        clock: bool,
        random: bool,
        unsafe_code: bool,
        /// Addresses as numbers, which may be compared.
        addresses: bool,
    }

    fn contents(files: &[PathBuf]) -> Contents {
        let mut has = Contents::default();
        for file in files {
            // A file that cannot be read, or that is no text, is not known to be harmless.
            let Ok(text) = std::fs::read(file) else {
                has.unsafe_code = true;
                continue;
            };
            let text = without_comments(&String::from_utf8_lossy(&text));
            has.assembly |= text.contains("asm!");
            has.addresses |= text.split([';', '{', '}']).any(makes_number_of_address);
            for line in text.lines() {
                for word in line.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
                    has.vectors |= UNSEEN.iter().any(|part| word.starts_with(part))
                        || word.starts_with("_mm_") && (word.contains("gather") || word.contains("scatter"));
                    has.clock |= ["_rdtsc", "__rdtscp"].contains(&word);
                    has.random |= word.starts_with("_rdrand") || word.starts_with("_rdseed");
                    has.unsafe_code |= word == "unsafe" && !line.contains("forbid(unsafe_code)");
                }
            }
        }
        has
    }

    /// Whether a statement turns a pointer into a number.
    fn makes_number_of_address(statement: &str) -> bool {
        const POINTERS: [&str; 9] = [
            "as *const",
            "as *mut",
            "as_ptr(",
            "as_mut_ptr(",
            "into_raw(",
            "&raw ",
            "from_ref(",
            "from_mut(",
            "addr_of",
        ];
        const NUMBERS: [&str; 5] = ["usize", "isize", "u64", "i64", "u128"];
        let mut words =
            statement.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| !w.is_empty());
        let mut before = "";
        let casts = words.any(|word| std::mem::replace(&mut before, word) == "as" && NUMBERS.contains(&word));
        statement.contains(".addr()")
            || statement.contains("expose_provenance()")
            || casts && POINTERS.iter().any(|p| statement.contains(p))
    }

    /// How names of intrinsics start that access memory and that the compiler does not instrument.
    const UNSEEN: [&str; 5] = ["_mm256_", "_mm512_", "_mm_lddqu", "_mm_mask", "_mm_stream"];

    /// Source text without its comments. A string that looks like the start of a comment does not matter, unless it hides code on its line:
    /// so text in quotes is kept.
    fn without_comments(text: &str) -> String {
        // In raw strings a backslash escapes nothing; nobody looks for their ends here.
        if ["r\"", "r#"].iter().any(|mark| text.contains(mark)) {
            return text.to_owned();
        }
        let (mut out, mut rest, mut depth) = (String::with_capacity(text.len()), text, 0u32);
        while let Some(c) = rest.chars().next() {
            let mut n = c.len_utf8();
            if rest.starts_with("/*") {
                (depth, n) = (depth + 1, 2);
            } else if depth > 0 {
                if rest.starts_with("*/") {
                    (depth, n) = (depth - 1, 2);
                }
            } else if rest.starts_with("//") {
                n = rest.find('\n').unwrap_or(rest.len());
            } else if c == '"' {
                n = quoted_length(rest);
                out.push_str(&rest[..n]);
            } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
                // A character, which may be a quote.
                n = if rest.starts_with("'\\") { rest.len().min(3) } else { 3 };
                while !rest.is_char_boundary(n) {
                    n += 1;
                }
                out.push_str(&rest[..n]);
            } else {
                out.push(c);
            }
            rest = &rest[n..];
        }
        out
    }

    /// How long a string is, with its quotes.
    fn quoted_length(text: &str) -> usize {
        let mut escaped = false;
        for (i, c) in text.char_indices().skip(1) {
            match c {
                '"' if !escaped => return i + 1,
                '\\' => escaped = !escaped,
                _ => escaped = false,
            }
        }
        text.len()
    }

    /// One test.
    struct Test {
        name: String,
        /// Its function, if it can be called without the harness.
        entry: Option<u64>,
    }

    /// What a test program says that it has.
    fn names(program: &Path, more: &[&str]) -> Result<Vec<String>, String> {
        let mut command = Command::new(program);
        command.args(["--list", "--format", "terse"]).args(more).env("RADDLE_OFF", "1");
        if !more.is_empty() && more != ["--ignored"] {
            // The harness has to be told that it may.
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        let out = command.output().map_err(|e| format!("cannot start {}: {e}", program.display()))?;
        if !out.status.success() {
            let said = String::from_utf8_lossy(&out.stderr);
            return Err(format!("{} does not list its tests: {}", program.display(), said.trim()));
        }
        let text = String::from_utf8_lossy(&out.stdout);
        Ok(text.lines().filter_map(|l| l.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// The tests of a program that were asked for, and the names of those that the crate ignores.
    fn list(program: &Program, args: &TestArgs) -> Result<(Vec<Test>, Vec<String>), String> {
        let ignored: HashSet<String> = names(&program.path, &["--ignored"])?.into_iter().collect();
        let wanted = |name: &String| {
            let named = |n: &String| if args.exact { name == n } else { name.contains(n.as_str()) };
            args.name.as_ref().is_none_or(named)
        };
        let all = names(&program.path, &[])?.into_iter().filter(wanted);
        let (left, all): (Vec<String>, Vec<String>) =
            all.partition(|name| !args.exact && ignored.contains(name));
        // Only the harness knows which tests should panic. If it does not say, it has to run them.
        let plain =
            names(&program.path, &["-Zunstable-options", "--exclude-should-panic"]).unwrap_or_default();
        let path = |name: &str| format!("{}::{name}", program.krate);
        let plain: HashSet<String> =
            plain.iter().filter(|n| !ignored.contains(*n)).map(|n| path(n)).collect();
        let entries: HashMap<String, u64> =
            if all.is_empty() { HashMap::new() } else { rust_entry::find(&program.path, &plain)? };
        let test = |name: String| Test { entry: entries.get(&path(&name)).copied(), name };
        Ok((all.into_iter().map(test).collect(), left))
    }

    impl TestArgs {
        /// What is for cargo.
        fn of_cargo(&self) -> Vec<String> {
            let mut words = Vec::new();
            for (option, value) in
                [("--package", &self.package), ("--test", &self.test), ("--features", &self.features)]
            {
                words.extend(value.iter().flat_map(|v| [option.to_owned(), v.clone()]));
            }
            for (on, flag) in [
                (self.lib, "--lib"),
                (self.all_features, "--all-features"),
                (self.no_default_features, "--no-default-features"),
                (self.offline, "--offline"),
            ] {
                words.extend(on.then(|| flag.to_owned()));
            }
            if !self.lib && self.test.is_none() {
                // Tests in documentation are no programs that could be run here.
                words.extend(["--lib", "--bins", "--tests"].map(str::to_owned));
            }
            words
        }

        /// How long one test may take, where so much is left for all.
        fn seconds(&self, left: Option<Duration>) -> Option<f64> {
            let left = left.map(|l| l.as_secs_f64());
            self.max_seconds.into_iter().chain(left).reduce(f64::min)
        }

        /// The settings of a search.
        fn variables(&self, test: &Test, locks: bool, left: Option<Duration>) -> Vec<(&'static str, String)> {
            let mut again =
                vec!["cargo".to_owned(), "raddle".to_owned(), "test".to_owned(), "--std".to_owned()];
            again.extend(self.accesses.then(|| "--accesses".to_owned()));
            again.extend(self.no_cfg_miri.then(|| "--no-cfg-miri".to_owned()));
            for (option, value) in [
                ("--late", self.late.map(|n| n.to_string())),
                ("--timeouts", self.timeouts.clone()),
                ("--spurious", self.spurious.map(|n| n.to_string())),
                ("--turns", self.turns.map(|n| n.to_string())),
                ("--reuse", self.reuse.clone()),
            ] {
                again.extend(value.into_iter().flat_map(|v| [option.to_owned(), v]));
            }
            let default = ["--lib", "--bins", "--tests"];
            let given = self.of_cargo();
            again.extend(
                given
                    .into_iter()
                    .filter(|w| self.lib || self.test.is_some() || !default.contains(&w.as_str())),
            );
            again.extend([test.name.clone(), "--exact".to_owned()]);
            let again: Vec<String> = again.iter().map(|w| quoted(w)).collect();
            let mut out = vec![
                ("RADDLE_COMMAND", format!("{} --replay {{token}}", again.join(" "))),
                ("RADDLE_EXIT_CODES", "1".to_owned()),
                ("RADDLE_RACES", if self.accesses { "report" } else { "ignore" }.to_owned()),
                // Looking for the lines of a backtrace takes longer than thousands of executions.
                ("RUST_BACKTRACE", "0".to_owned()),
            ];
            match test.entry {
                Some(address) => out.push(("RADDLE_ENTRY", format!("{address:#x}"))),
                None => out.push(("RADDLE_LIBTEST", "1".to_owned())),
            }
            if locks {
                out.push(("RADDLE_STD_LOCKS", "1".to_owned()));
            }
            let bounds: Vec<String> = self.bounds.iter().map(explore::Limit::to_string).collect();
            let mut set = |name, value: Option<String>| out.extend(value.map(|v| (name, v)));
            set("RADDLE_ALGORITHM", self.algorithm.clone());
            set("RADDLE_BOUND", (!bounds.is_empty()).then(|| bounds.join(",")));
            set("RADDLE_MAX_EXECUTIONS", self.max_executions.map(|n| n.to_string()));
            set("RADDLE_MAX_SECONDS", self.seconds(left).map(|n| n.to_string()));
            set("RADDLE_LATE", self.late.map(|n| n.to_string()));
            set("RADDLE_TIMEOUTS", self.timeouts.clone());
            set("RADDLE_SPURIOUS", self.spurious.map(|n| n.to_string()));
            set("RADDLE_TURNS", self.turns.map(|n| n.to_string()));
            set("RADDLE_REUSE", self.reuse.clone());
            set("RADDLE_REPLAY", self.replay.clone());
            out
        }
    }
}
