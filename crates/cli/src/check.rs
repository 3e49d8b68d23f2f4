//! `raddle check`: compiles a C or C++ program, explores it, and says what was found.

use clap::Args;
use clap::builder::PossibleValuesParser;
use explore::{BadPlan, Limit, Meter, Order, Plan};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Which program, and how to compile it.
#[derive(Args, Clone)]
pub(crate) struct ProgramArgs {
    /// What to compile the files with, besides -I, -D, -l and other flags, which can stand for themselves
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    cflags: Vec<String>,

    /// A flag that stood for itself.
    #[arg(long = "cflag", hide = true, allow_hyphen_values = true)]
    words: Vec<String>,

    /// Check a program of this project: its directory, or a build directory, with a `compile_commands.json`
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Which program of the project, where it has several
    #[arg(long, value_name = "NAME", requires = "project")]
    target: Option<String>,

    /// Arguments of the program
    #[arg(last = true, value_name = "ARGS")]
    args: Vec<String>,
}

#[derive(Args)]
pub(crate) struct CheckArgs {
    /// C or C++ files, objects and archives; or one program made by `raddle cc`
    #[arg(value_name = "FILE", required_unless_present = "project")]
    files: Vec<String>,

    #[command(flatten)]
    program: ProgramArgs,

    /// How to search (`raddle algorithms` says what each one does)
    #[arg(long, value_name = "NAME", value_parser = algorithm_names(), hide_possible_values = true)]
    algorithm: Option<String>,

    /// Search within a bound, such as preemptions=2, or preemptions=0.. for one after the other; may be given again
    #[arg(long = "bound", value_name = "KIND=N", value_parser = bound)]
    bounds: Vec<Limit>,

    /// Which executions come first (`raddle orders` lists them)
    #[arg(long, value_name = "NAME", value_parser = order)]
    order: Option<Order>,

    /// What random orders start from
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// The memory model: sc (sequential consistency) is the only one that is supported
    #[arg(long, value_name = "MODEL", value_parser = memory_model)]
    memory: Option<String>,

    /// What to do about data races: they are failures; they are not looked for; or plain accesses are steps like atomic ones
    #[arg(long, value_name = "HOW", value_parser = ["report", "ignore", "sync"])]
    races: Option<String>,
    /// What accesses to volatile variables are: like other accesses, or atomic operations with relaxed order
    #[arg(long, value_name = "HOW", value_parser = ["plain", "atomic"])]
    volatile: Option<String>,

    /// Whether freed addresses are given out again: never, or with every candidate from the start. Otherwise a second search does
    /// it, within limits, where the program can tell
    #[arg(long, value_name = "HOW", value_parser = ["off", "all"])]
    reuse: Option<String>,

    /// Stop after so many executions
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_executions: Option<u64>,

    /// Stop after so many seconds
    #[arg(long, value_name = "S", value_parser = seconds)]
    max_seconds: Option<f64>,

    /// Stop when a thread computes for so many seconds of CPU time without an operation that others could see (0: never)
    #[arg(long, value_name = "S")]
    watchdog: Option<u64>,

    /// Which livelocks are failures: `confirmed` ones, from which no fair schedule leads out, or `all` that some fair schedule does not
    /// leave
    #[arg(long, value_name = "WHICH", value_parser = ["confirmed", "all"])]
    livelocks: Option<String>,

    /// A thread gives way after so many turns of a loop that saw no change; 0 for never
    #[arg(long, value_name = "N")]
    turns: Option<u32>,

    /// Stop at an execution of more steps than this
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_steps: Option<u64>,

    /// The stack of each thread
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(16 * 1024..))]
    stack_size: Option<u64>,

    /// How often a thread may read a late time in an execution
    #[arg(long, value_name = "N")]
    late: Option<u32>,

    /// Go on after a failure and report all that differ
    #[arg(long)]
    keep_going: bool,

    /// Run one schedule again instead of searching: the token of a report
    #[arg(long, value_name = "TOKEN", value_parser = crate::token, conflicts_with_all = ["algorithm", "bounds", "order", "seed", "keep_going"])]
    replay: Option<String>,

    /// Run that schedule in gdb, which stops where the failure is found
    #[arg(long, requires = "replay", conflicts_with = "json")]
    gdb: bool,

    /// Run each execution in a process of its own
    #[arg(long)]
    isolate: bool,

    /// Memory that is never freed is a failure, unless a pointer to it is left in a global variable
    #[arg(long)]
    leaks: bool,

    /// An exit code of the program other than 0 is a failure (the default)
    #[arg(long, hide = true, conflicts_with = "any_exit_code")]
    exit_codes: bool,

    /// An exit code of the program other than 0 is not a failure
    #[arg(long)]
    any_exit_code: bool,

    /// So many spurious wake-ups, spurious failures and timeouts in a row, where the program counts them; 0 for no spurious ones.
    /// Without it, up to 8 while that takes less than ten seconds (a caveat says so where more could matter)
    #[arg(long, value_name = "N")]
    spurious: Option<u32>,

    /// How timed waits on condition variables and futexes, and sleeps, end: any (at any time), or patient[=DURATION] (those of at least 1h,
    /// 5m, 10s, ... only when nothing else can run). Without it, those of a hundred years and more are patient
    #[arg(long, value_name = "HOW", value_parser = timeouts)]
    timeouts: Option<String>,

    /// Waits on condition variables never end spuriously
    #[arg(long)]
    no_spurious_wakeups: bool,

    /// Weak compare-exchanges never fail spuriously
    #[arg(long)]
    no_spurious_failures: bool,

    /// What __VERIFIER_nondet_* gives: a range such as 0..3, or a list such as 0,7,1000
    #[arg(long, value_name = "NUMBERS", allow_hyphen_values = true)]
    inputs: Option<String>,

    /// Print the report as one JSON object instead of text
    #[arg(long)]
    json: bool,

    /// Keep the program, which explores itself when started
    #[arg(short, value_name = "PROGRAM")]
    output: Option<PathBuf>,
}

pub(crate) fn algorithm_names() -> PossibleValuesParser {
    PossibleValuesParser::new(explore::algorithms().iter().map(|a| a.name))
}

pub(crate) fn bound(text: &str) -> Result<Limit, BadPlan> {
    text.parse()
}

fn memory_model(text: &str) -> Result<String, String> {
    if text == "sc" {
        return Ok(text.to_owned());
    }
    Err("the only supported memory model is `sc`, sequential consistency; weaker memory orders of atomics are named as a caveat".to_owned())
}

fn order(text: &str) -> Result<Order, BadPlan> {
    text.parse()
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s > 0.0 && Duration::try_from_secs_f64(s).is_ok() => Ok(s),
        _ => Err("say a number of seconds above 0".to_owned()),
    }
}

pub(crate) fn timeouts(text: &str) -> Result<String, String> {
    raddle::Config::new().try_timeouts(text).map(|_| text.to_owned())
}

/// Flags for the compiler may stand among the options: `raddle check -Iinclude -DN=3 -std=c11 -lm a.c`. They are put behind a name that
/// the parser knows. What comes after `--` is the program's.
pub(crate) fn name_compiler_flags(args: Vec<String>) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut rest = args.into_iter();
    out.extend(rest.next());
    let Some(command) = rest.next() else { return out };
    let takes_files = command == "check" || command == "compare";
    out.push(command);
    while let Some(word) = rest.next() {
        if word == "--" || !takes_files {
            out.push(word);
            out.extend(rest);
            return out;
        }
        let ours =
            word.starts_with("--") || !word.starts_with('-') || word == "-" || word == "-h" || word == "-V";
        if ours {
            let takes_any = word == "--cflags" || word == "--inputs";
            out.push(word);
            if takes_any {
                out.extend(rest.next());
            }
        } else if word == "-o" {
            out.push(word);
            out.extend(rest.next());
        } else {
            let apart = [
                "-I",
                "-D",
                "-U",
                "-L",
                "-l",
                "-include",
                "-isystem",
                "-iquote",
                "-idirafter",
                "-imacros",
                "-x",
            ];
            let value = if apart.contains(&word.as_str()) { rest.next() } else { None };
            out.extend([word].into_iter().chain(value).map(|w| format!("--cflag={w}")));
        }
    }
    out
}

impl CheckArgs {
    /// The search that was asked for, if it can be had.
    fn plan(&self) -> Result<Plan, String> {
        let mut plan = Plan { bounds: self.bounds.clone(), ..Plan::default() };
        if let Some(name) = &self.algorithm {
            plan.algorithm = Some(explore::algorithm(name).map_err(|e| e.to_string())?);
        }
        plan.order = self.order.clone().unwrap_or(plan.order);
        plan.seed = self.seed.unwrap_or(plan.seed);
        // The program hands in the names of its places and objects.
        let named = Plan { names: Some(std::sync::Arc::new(runtime::Labels::default())), ..plan.clone() };
        named.search(Meter::unlimited()).map_err(|BadPlan(why)| why)?;
        Ok(plan)
    }
}

pub(crate) fn run(args: &CheckArgs) -> ExitCode {
    match check(args) {
        Ok(code) => ExitCode::from(code),
        Err(why) => {
            if args.json {
                print_error(&why);
            }
            eprintln!("raddle: {why}");
            ExitCode::from(2)
        }
    }
}

/// Prints the JSON object of a check that could not start.
fn print_error(why: &str) {
    let object = serde_json::json!({ "verdict": "error", "error": why, "failures": [], "caveats": [] });
    crate::terminal::print(&format!("{object:#}\n"), 0);
}

#[cfg(not(c_programs))]
fn check(args: &CheckArgs) -> Result<u8, String> {
    args.plan()?;
    Err(ELSEWHERE.to_owned())
}

#[cfg(not(c_programs))]
pub(crate) const ELSEWHERE: &str = "C and C++ programs can be checked on 64-bit x86 Linux with the GNU C library only; this is another system. Rust tests run here";

#[cfg(c_programs)]
fn check(args: &CheckArgs) -> Result<u8, String> {
    use crate::build::{self, Built};
    use crate::run::{Ended, Start};
    use std::io::IsTerminal;

    args.plan()?;
    // A run that is repeated leaves nothing out that was not left out before.
    let searches = args.replay.is_none() && args.program.project().is_none();
    let flags = args.program.compiler_flags()?;
    let racy = args.races.as_deref().is_some_and(|how| how != "report");
    let orders = if searches { crate::open_orders::Reading::start(&args.files, &flags, racy) } else { None };
    let Some(Built { program, scratch, variables: more }) =
        build::build(&args.files, &args.program, args.output.as_deref())?
    else {
        if args.json {
            print_error("the program was not built: the compiler's messages are on standard error");
        }
        return Ok(2);
    };
    let mut variables = vec![("RADDLE_COMMAND", args.again())];
    variables.extend(args.variables());
    variables.extend(more);
    let open = orders.map(crate::open_orders::Reading::caveats).unwrap_or_default();
    if !open.is_empty() {
        variables.push(("RADDLE_CAVEATS", open.join("\n")));
    }
    let start = Start {
        program: &program,
        args: &args.program.args,
        variables: &variables,
        gdb: args.gdb,
        seconds: args.max_seconds,
    };
    let ended = crate::run::run(&start, &scratch.path().join("done"))?;
    drop(scratch);
    Ok(match ended {
        Ended::Reported(code) | Ended::Debugged(code) => code,
        Ended::Otherwise(what, code) => {
            // The last word on progress may still stand there.
            let clear = if std::io::stderr().is_terminal() { "\r\x1b[2K" } else { "" };
            eprintln!("{clear}raddle: {what}: nothing is verified");
            let code = if code == Some(1) { 1 } else { 3 };
            if args.json {
                crate::terminal::print(&report::json::render(&cut_short(what, code == 1)), 0);
            }
            code
        }
    })
}

/// The report where the program took its process away.
#[cfg(c_programs)]
fn cut_short(what: String, failed: bool) -> explore::Report {
    use explore::{Failure, FailureKind, Report, Verdict};
    let failure = Failure {
        kind: FailureKind::Limit,
        message: what.clone(),
        location: None,
        thread: None,
        replay: String::new(),
        preemptions: 0,
        threads: Vec::new(),
        cycle: Vec::new(),
        trace: Vec::new(),
        after: None,
        help: Some("what raddle or the program said is on standard error".to_owned()),
        output: None,
    };
    let mut report = Report::cut_short(what);
    if failed {
        report.verdict = Verdict::Failure;
        report.failures.push(failure);
    }
    report
}

impl ProgramArgs {
    /// A program of files alone, with these flags for the compiler.
    #[cfg(c_programs)]
    pub(crate) fn with_flags(words: Vec<String>) -> ProgramArgs {
        ProgramArgs { cflags: Vec::new(), words, project: None, target: None, args: Vec::new() }
    }

    pub(crate) fn args(&self) -> &[String] {
        &self.args
    }

    /// What the preprocessor alone is given.
    pub(crate) fn preprocessor(&self) -> Result<Vec<String>, String> {
        let words: Vec<String> =
            self.cflags.iter().flat_map(|f| f.split_whitespace()).map(str::to_owned).collect();
        let all: Vec<String> = self.words.iter().cloned().chain(words).collect();
        match all.iter().find(|w| !["-D", "-U", "-I"].iter().any(|p| w.starts_with(p))) {
            Some(other) => Err(format!("`{other}` is no flag of the preprocessor: -D, -U and -I are")),
            None => Ok(all),
        }
    }

    /// Whether nothing was said.
    pub(crate) fn is_default(&self) -> bool {
        self.cflags.is_empty() && self.words.is_empty() && self.project.is_none() && self.args.is_empty()
    }
}

#[cfg(c_programs)]
impl ProgramArgs {
    /// The project, as a name for a program.
    pub(crate) fn name(&self) -> String {
        let project = self.project.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
        self.target.clone().unwrap_or(project)
    }

    /// What the compiler is given besides files.
    pub(crate) fn compiler_flags(&self) -> Result<Vec<String>, String> {
        let mut flags = self.words.clone();
        for text in &self.cflags {
            flags.extend(crate::toolchain::words(text).map_err(|e| format!("--cflags {text:?}: {e}"))?);
        }
        Ok(flags)
    }

    pub(crate) fn project(&self) -> Option<(&std::path::Path, Option<&str>)> {
        self.project.as_deref().map(|p| (p, self.target.as_deref()))
    }

    /// The words of a command line that name this program again, but for its arguments.
    fn again(&self, files: &[String]) -> Vec<String> {
        let mut words = files.to_vec();
        words.extend(self.words.iter().cloned());
        for flags in &self.cflags {
            words.extend(["--cflags".to_owned(), flags.clone()]);
        }
        if let Some(project) = &self.project {
            words.extend(["--project".to_owned(), project.display().to_string()]);
        }
        if let Some(target) = &self.target {
            words.extend(["--target".to_owned(), target.clone()]);
        }
        words
    }
}

#[cfg(c_programs)]
impl CheckArgs {
    /// The options, as the library reads them.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut out = Vec::new();
        let mut set = |name, value: Option<String>| out.extend(value.map(|v| (name, v)));
        let yes = |on: bool| on.then(|| "1".to_owned());
        let no = |off: bool| off.then(|| "0".to_owned());
        let bounds: Vec<String> = self.bounds.iter().map(Limit::to_string).collect();
        set("RADDLE_ALGORITHM", self.algorithm.clone());
        set("RADDLE_BOUND", (!bounds.is_empty()).then(|| bounds.join(",")));
        set("RADDLE_ORDER", self.order.as_ref().map(Order::to_string));
        set("RADDLE_SEED", self.seed.map(|n| n.to_string()));
        set("RADDLE_MEMORY", self.memory.clone());
        set("RADDLE_RACES", self.races.clone());
        set("RADDLE_VOLATILE", self.volatile.clone());
        set("RADDLE_REUSE", self.reuse.clone());
        set("RADDLE_NONDET", self.inputs.clone());
        set("RADDLE_MAX_EXECUTIONS", self.max_executions.map(|n| n.to_string()));
        set("RADDLE_MAX_SECONDS", self.max_seconds.map(|n| n.to_string()));
        set("RADDLE_MAX_STEPS", self.max_steps.map(|n| n.to_string()));
        set("RADDLE_LIVELOCKS", self.livelocks.clone());
        set("RADDLE_TURNS", self.turns.map(|n| n.to_string()));
        set("RADDLE_STACK_SIZE", self.stack_size.map(|n| n.to_string()));
        set("RADDLE_LATE", self.late.map(|n| n.to_string()));
        set("RADDLE_KEEP_GOING", yes(self.keep_going));
        set("RADDLE_REPLAY", self.replay.clone());
        set("RADDLE_WATCHDOG", no(self.gdb).or(self.watchdog.map(|n| n.to_string())));
        set("RADDLE_ISOLATE", yes(self.isolate));
        set("RADDLE_LEAKS", yes(self.leaks));
        set("RADDLE_EXIT_CODES", yes(self.exit_codes).or(no(self.any_exit_code)));
        set("RADDLE_SPURIOUS", self.spurious.map(|n| n.to_string()));
        set("RADDLE_TIMEOUTS", self.timeouts.clone());
        set("RADDLE_SPURIOUS_WAKEUPS", no(self.no_spurious_wakeups));
        set("RADDLE_SPURIOUS_FAILURES", no(self.no_spurious_failures));
        set("RADDLE_JSON", yes(self.json));
        out
    }

    /// What to type to run one execution again: the same program and what decides what it does, without what only guides a search.
    fn again(&self) -> String {
        let name = std::env::args().next().unwrap_or_else(|| "raddle".into());
        let mut words = vec![name, "check".to_owned()];
        words.extend(self.program.again(&self.files));
        let mut option = |name: &str, value: Option<String>| {
            words.extend(value.map(|v| [format!("--{name}"), v]).into_iter().flatten());
        };
        option("races", self.races.clone());
        option("volatile", self.volatile.clone());
        option("reuse", self.reuse.clone());
        option("inputs", self.inputs.clone());
        option("spurious", self.spurious.map(|n| n.to_string()));
        option("timeouts", self.timeouts.clone());
        option("livelocks", self.livelocks.clone());
        option("turns", self.turns.map(|n| n.to_string()));
        option("max-steps", self.max_steps.map(|n| n.to_string()));
        option("stack-size", self.stack_size.map(|n| n.to_string()));
        option("late", self.late.map(|n| n.to_string()));
        for (on, flag) in [
            (self.isolate, "--isolate"),
            (self.leaks, "--leaks"),
            (self.any_exit_code, "--any-exit-code"),
            (self.no_spurious_wakeups, "--no-spurious-wakeups"),
            (self.no_spurious_failures, "--no-spurious-failures"),
        ] {
            words.extend(on.then(|| flag.to_owned()));
        }
        let quoted =
            |words: &[String]| -> Vec<String> { words.iter().map(|w| crate::toolchain::quoted(w)).collect() };
        let mut line = format!("{} --replay {{token}}", quoted(&words).join(" "));
        if !self.program.args.is_empty() {
            line += &format!(" -- {}", quoted(&self.program.args).join(" "));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> String {
        name_compiler_flags(text.split(' ').map(str::to_owned).collect()).join(" ")
    }

    #[test]
    fn flags_of_the_compiler_can_stand_for_themselves() {
        assert_eq!(
            named("raddle check -Iinc a.c -D N=3 -std=c11 --json -o p -- -Ix"),
            "raddle check --cflag=-Iinc a.c --cflag=-D --cflag=N=3 --cflag=-std=c11 --json -o p -- -Ix"
        );
        assert_eq!(named("raddle check a.c --cflags -O2"), "raddle check a.c --cflags -O2");
        assert_eq!(named("raddle cc -Ix a.c"), "raddle cc -Ix a.c");
    }
}
