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
flag of the compiler, which is asked for with RUSTC_BOOTSTRAP=1.";

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

    /// How to search (`raddle algorithms` says what each one does)
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,

    /// Search within a bound, such as preemptions=2, or preemptions=0.. for one after the other; may be given again
    #[arg(long = "bound", value_name = "KIND=N")]
    bounds: Vec<String>,

    /// Stop each test after so many executions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: Option<u64>,

    /// Stop each test after so many seconds
    #[arg(long, value_name = "S")]
    max_seconds: Option<f64>,

    /// Run one schedule of one test again: the token of a report
    #[arg(long, value_name = "TOKEN", value_parser = crate::token, requires = "exact")]
    replay: Option<String>,

    /// Print one JSON object for each test, each on a line
    #[arg(long)]
    json: bool,
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
        let caveats: Vec<String> = built.caveats.iter().map(crate::scan::line).collect();
        let mut all = Vec::new();
        for program in &built.programs {
            all.extend(list(program, args)?.into_iter().map(|test| (program, test)));
        }
        if all.is_empty() {
            return Err(match &args.name {
                Some(name) => format!("no test has a name like {name:?}"),
                None => "there are no tests".to_owned(),
            });
        }
        let scratch = Scratch::new()?;
        let mut codes = Vec::new();
        for (program, test) in all {
            if crate::run::was_interrupted() {
                break;
            }
            let mut variables = args.variables(&test, toolchain.knows_locks());
            variables.push(("RADDLE_CAVEATS", caveats.join("\n")));
            let words = ["--exact", "--nocapture", "--test-threads=1"].map(str::to_owned);
            let words: Vec<String> = std::iter::once(test.name.clone()).chain(words).collect();
            let start = Start {
                program: &program.path,
                args: &words,
                variables: &variables,
                gdb: false,
                seconds: args.max_seconds,
            };
            codes.push(if args.json {
                as_json(&start, &test)?
            } else {
                shown(&start, &test, scratch.path())?
            });
        }
        if !args.json {
            let count = |code: u8| codes.iter().filter(|c| **c == code).count();
            println!(
                "raddle: {} tests: {} without a failure, {} failed, {} stopped early",
                codes.len(),
                count(0),
                count(1),
                codes.len() - count(0) - count(1)
            );
        }
        Ok(match () {
            () if codes.contains(&1) => 1,
            () => codes.into_iter().max().unwrap_or(0),
        })
    }

    fn shown(start: &Start<'_>, test: &Test, scratch: &Path) -> Result<u8, String> {
        println!("test {}", test.name);
        let done = scratch.join(format!("done-{}", test.name.replace([':', '/'], "-")));
        let code = match crate::run::run(start, &done)? {
            Ended::Reported(code) | Ended::Debugged(code) => code,
            Ended::Otherwise(what, _) => {
                println!("raddle: {what}: nothing is verified");
                3
            }
        };
        println!();
        Ok(code)
    }

    fn as_json(start: &Start<'_>, test: &Test) -> Result<u8, String> {
        let mut command = Command::new(start.program);
        command.args(start.args).envs(start.variables.iter().map(|(n, v)| (n, v))).env("RADDLE_JSON", "1");
        let out = command.output().map_err(|e| format!("cannot start {}: {e}", start.program.display()))?;
        let report = serde_json::from_slice::<Value>(&out.stdout).unwrap_or(Value::Null);
        println!(
            "{}",
            serde_json::json!({ "test": test.name, "direct": test.entry.is_some(), "report": report })
        );
        if report.is_null() {
            eprint!("{}", String::from_utf8_lossy(&out.stderr));
            return Ok(3);
        }
        Ok(out.status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(3))
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
        if args.accesses {
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        let out = command.stderr(Stdio::inherit()).output().map_err(|e| format!("cannot run cargo: {e}"))?;
        if !out.status.success() {
            return Err("the tests were not built: cargo says why above".to_owned());
        }
        let mut built = Built::default();
        let mut packages = BTreeSet::new();
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
                    if let Some(source) = target["src_path"].as_str() {
                        packages.insert((name(target), PathBuf::from(source)));
                    }
                    if let Some(path) =
                        message["executable"].as_str().filter(|_| message["profile"]["test"] == true)
                    {
                        built.programs.push(Program { path: path.into(), krate: name(target) });
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
        let (mut assembly, mut hidden) = (BTreeSet::new(), BTreeSet::new());
        for (krate, source) in packages {
            let has = contents(&source);
            assembly.extend(has.assembly.then(|| krate.clone()));
            hidden.extend((has.unsafe_code && !args.accesses).then_some(krate));
        }
        let names = |crates: BTreeSet<String>| crates.into_iter().collect::<Vec<_>>().join(", ");
        if !assembly.is_empty() {
            let text = format!(
                "inline assembly in {} is not instrumented: its accesses to memory are not seen",
                names(assembly)
            );
            built.note(CaveatKind::Assembly, text);
        }
        if !hidden.is_empty() {
            let text = format!(
                "unsafe code in {}: of its accesses only atomic operations were seen (--accesses checks all of them for data races)",
                names(hidden)
            );
            built.note(CaveatKind::Races, text);
        }
        Ok(built)
    }

    fn name(target: &Value) -> String {
        target["name"].as_str().unwrap_or_default().replace('-', "_")
    }

    /// What the sources of a crate have that the instrumentation does not see.
    #[derive(Default)]
    struct Contents {
        assembly: bool,
        unsafe_code: bool,
    }

    fn contents(root: &Path) -> Contents {
        let mut has = Contents::default();
        look(root.parent().unwrap_or(root), &mut |text| {
            // Words in comments count as well: that errs on the side of saying less.
            has.assembly |= text.contains("asm!");
            has.unsafe_code |= text.lines().any(|l| {
                let mut words = l.split(|c: char| !(c.is_alphanumeric() || c == '_'));
                words.any(|w| w == "unsafe") && !l.contains("forbid(unsafe_code)")
            });
        });
        has
    }

    fn look(directory: &Path, visit: &mut dyn FnMut(&str)) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && entry.file_name() != "target" {
                look(&path, visit);
            } else if path.extension().is_some_and(|e| e == "rs")
                && let Ok(text) = std::fs::read(&path)
            {
                visit(&String::from_utf8_lossy(&text));
            }
        }
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

    /// The tests of a program that were asked for, but for those that are to be ignored.
    fn list(program: &Program, args: &TestArgs) -> Result<Vec<Test>, String> {
        let ignored: HashSet<String> = names(&program.path, &["--ignored"])?.into_iter().collect();
        let wanted = |name: &String| {
            let named = |n: &String| if args.exact { name == n } else { name.contains(n.as_str()) };
            args.name.as_ref().is_none_or(named) && (args.exact || !ignored.contains(name))
        };
        let all: Vec<String> = names(&program.path, &[])?.into_iter().filter(wanted).collect();
        // Only the harness knows which tests should panic. If it does not say, it has to run them.
        let plain =
            names(&program.path, &["-Zunstable-options", "--exclude-should-panic"]).unwrap_or_default();
        let path = |name: &str| format!("{}::{name}", program.krate);
        let plain: HashSet<String> =
            plain.iter().filter(|n| !ignored.contains(*n)).map(|n| path(n)).collect();
        let entries: HashMap<String, u64> =
            if all.is_empty() { HashMap::new() } else { rust_entry::find(&program.path, &plain)? };
        Ok(all.into_iter().map(|name| Test { entry: entries.get(&path(&name)).copied(), name }).collect())
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

        /// The settings of a search.
        fn variables(&self, test: &Test, locks: bool) -> Vec<(&'static str, String)> {
            let mut again =
                vec!["cargo".to_owned(), "raddle".to_owned(), "test".to_owned(), "--std".to_owned()];
            again.extend(self.accesses.then(|| "--accesses".to_owned()));
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
            let mut set = |name, value: Option<String>| out.extend(value.map(|v| (name, v)));
            set("RADDLE_ALGORITHM", self.algorithm.clone());
            set("RADDLE_BOUND", (!self.bounds.is_empty()).then(|| self.bounds.join(",")));
            set("RADDLE_MAX_EXECUTIONS", self.max_executions.map(|n| n.to_string()));
            set("RADDLE_MAX_SECONDS", self.max_seconds.map(|n| n.to_string()));
            set("RADDLE_REPLAY", self.replay.clone());
            out
        }
    }
}
