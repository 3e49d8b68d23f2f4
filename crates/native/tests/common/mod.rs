//! Compiles small C and C++ programs, runs them under raddle, and reads what was found.

#![allow(dead_code)]

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Where the library is that programs are linked with.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let test = std::env::current_exe().expect("the test has a path");
        let deps = test.parent().expect("the test lies in a directory");
        let profile = deps.parent().expect("which lies in that of the profile");
        let target = profile.parent().expect("which lies in that of the target");
        let name = profile.file_name().and_then(|n| n.to_str()).expect("a name");
        // Cargo builds this library for nobody but who asks for it.
        let name = if name == "debug" { "test" } else { name };
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "-p", "raddle-native", "--lib", "--profile", name, "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo runs");
        assert!(built.success(), "the library does not build");
        profile.to_path_buf()
    })
}

/// What a run said.
pub(crate) struct Ran {
    pub(crate) report: Value,
    pub(crate) what: String,
    /// What came on standard error.
    pub(crate) errors: String,
}

impl Ran {
    pub(crate) fn verdict(&self) -> &str {
        self.report["verdict"].as_str().unwrap_or_default()
    }

    pub(crate) fn executions(&self) -> u64 {
        self.report["executions"].as_u64().unwrap_or_default()
    }

    /// It is right.
    pub(crate) fn is_verified(&self) {
        self.is_verified_in(self.executions());
    }

    /// It is right, in so many executions.
    pub(crate) fn is_verified_in(&self, executions: u64) {
        // What a test turns off itself is named, and that is all.
        let caveats = self.report["caveats"].as_array().map_or(&[][..], Vec::as_slice);
        let turned_off =
            |c: &serde_json::Value| c["text"].as_str().is_some_and(|t| t.contains("Config::spurious_"));
        let verdict = match self.verdict() {
            "no-failure-with-caveats" if caveats.iter().all(turned_off) => "verified",
            other => other,
        };
        assert_eq!((verdict, self.executions()), ("verified", executions), "{}: {}", self.what, self.report);
        assert_eq!(self.report["blocked"], 0, "{}", self.what);
    }

    /// It fails like this, and the message says that.
    pub(crate) fn fails_with(&self, kind: &str, says: &str) {
        if kind == "limit" {
            return self.stops_with(says);
        }
        assert_eq!(self.verdict(), "failure", "{}: {}", self.what, self.report);
        let failure = &self.report["failures"][0];
        let message = failure["message"].as_str().unwrap_or_default();
        assert_eq!(failure["kind"], kind, "{}: {message}", self.what);
        assert!(message.contains(says), "{}: {message}", self.what);
    }

    /// The search stopped at a limit, or at something that is not supported.
    pub(crate) fn stops_with(&self, says: &str) {
        assert_eq!(self.verdict(), "incomplete", "{}: {}", self.what, self.report);
        let stopped = &self.report["stopped"];
        assert_eq!(stopped["reason"], "limit", "{}: {stopped}", self.what);
        let text = stopped["text"].as_str().unwrap_or_default();
        assert!(text.contains(says), "{}: {text}", self.what);
    }
}

/// What is right for a program of a table.
#[derive(Clone, Copy)]
pub(crate) enum Right {
    /// It is verified.
    Verified,
    /// It fails with this kind.
    Fails(&'static str),
    /// No failure is found, and a caveat of this kind is named.
    Caveat(&'static str),
    /// It is refused: the message contains this text.
    Refused(&'static str),
}

/// Runs each program of a table: its name, flags, source, and what is right for it.
pub(crate) fn run_table(table: &[(&str, &[&str], &str, Right)]) {
    let mut wrong = Vec::new();
    for (name, flags, source, right) in table {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // Other tests may read it at the same time.
        let ours = file.with_extension(format!("{:?}.tmp", std::thread::current().id()));
        std::fs::write(&ours, source).expect("the source is written");
        std::fs::rename(&ours, &file).expect("the source is put in place");
        let ran = run(file.to_str().expect("a path"), flags);
        let failure = &ran.report["failures"][0];
        let message = failure["message"].as_str().unwrap_or_default();
        let caveats = ran.report["caveats"].as_array().cloned().unwrap_or_default();
        let ok = match right {
            Right::Verified => ran.verdict() == "verified" && caveats.is_empty(),
            Right::Fails(kind) => ran.verdict() == "failure" && failure["kind"] == *kind,
            Right::Caveat(kind) => failure.is_null() && caveats.iter().any(|c| c["kind"] == *kind),
            Right::Refused(says) => {
                ran.verdict() != "verified"
                    && (message.contains(says) || ran.report.to_string().contains(says))
            }
        };
        if !ok {
            wrong.push(format!(
                "{name} {flags:?}: {} {}: {message} {caveats:?}",
                ran.verdict(),
                failure["kind"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Compiles a program and runs it; `flags` starts with those of the compiler, then come variables of the environment.
pub(crate) fn run(file: &str, flags: &[&str]) -> Ran {
    run_with(file, flags, &[], None)
}

/// The same with arguments of the program, and what it finds on standard input.
pub(crate) fn run_with(file: &str, flags: &[&str], arguments: &[&str], input: Option<&str>) -> Ran {
    let (variables, options): (Vec<&str>, Vec<&str>) = flags.iter().partition(|f| f.starts_with("RADDLE_"));
    let what = format!("{file} {}", flags.join(" "));
    let program = compile(file, &options, &what);
    execute(&program, &variables, arguments, input, what)
}

/// Compiles a program and links it with raddle.
pub(crate) fn compile(file: &str, options: &[&str], what: &str) -> PathBuf {
    let library = library();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(file);
    let unique: String = what.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
    let mut compile = if file.ends_with(".cpp") {
        let mut c = Command::new(std::env::var("CXX").unwrap_or_else(|_| "g++".into()));
        c.arg("-std=c++20");
        c
    } else {
        Command::new(std::env::var("CC").unwrap_or_else(|_| "gcc".into()))
    };
    let compiled = compile
        .args([
            "-g",
            "-O0",
            "-fno-builtin",
            "-fsanitize=thread",
            "-Wno-tsan",
            "--param=tsan-distinguish-volatile=1",
        ])
        .args(options)
        .arg("-c")
        .arg(&source)
        .arg("-o")
        .arg(program.with_extension("o"))
        .status()
        .expect("these tests need gcc and g++");
    assert!(compiled.success(), "{what} does not compile");
    let mut link = Command::new(if file.ends_with(".cpp") { "g++" } else { "gcc" });
    link.arg(program.with_extension("o")).arg("-o").arg(&program).arg("-Wl,-z,now").arg("-L").arg(library);
    link.arg("-lraddle_native").arg(format!("-Wl,-rpath,{}", library.display())).arg("-lpthread");
    for name in include_str!("../../wrapped.txt").lines() {
        link.arg(format!("-Wl,--wrap={name}"));
    }
    assert!(link.status().expect("gcc links").success(), "{what} does not link");
    program
}

/// Runs a program that [`compile`] has made.
pub(crate) fn execute(
    program: &Path,
    variables: &[&str],
    arguments: &[&str],
    input: Option<&str>,
    what: String,
) -> Ran {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    for variable in variables {
        let (name, value) = variable.split_once('=').expect("a variable has a value");
        command.env(name, value);
    }
    command.args(arguments).env("RADDLE_JSON", "1").env("RADDLE_MAX_SECONDS", "60");
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
    if let Some(input) = input {
        let mut pipe = child.stdin.take().expect("it has a standard input");
        pipe.write_all(input.as_bytes()).expect("it reads");
    }
    let output = child.wait_with_output().expect("the program ends");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    let report = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{what}: {e}: {text}{errors}"));
    Ran { report, what, errors: errors.into_owned() }
}
