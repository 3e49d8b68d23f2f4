//! `raddle verify`: whether a C program can go wrong, for all inputs and all schedules.

use crate::verify_certificate::{self, CertificateArgs};
use crate::verify_replay::{self, Replayed};
use crate::verify_svcomp::{self, Answer, Integers, Property, SvcompArgs};
use crate::{reading, terminal, verify_caveats, verify_sources, verify_trace, witness};
use ::model::{Interpreter, Program, Span, Transition, Wrong};
use ::verify::{Budget, Count, Options, Outcome, SatSolver, SmtCommand, Spent, Trace, Unknown, Verdict};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// What `raddle verify --help` says.
pub(crate) const ABOUT: &str =
    "Reads a C program with pthreads and answers whether it can go wrong, for all inputs and all schedules.

The program is not run: it is read as automata (`raddle model` shows them). Threads may loop for ever. `safe` comes with a proof
that was checked by code of its own, `unsafe` with a run that was replayed, and followed by the compiled program too where that is
possible: then there is a token for `raddle check --replay`. Deadlocks are looked for, also of some threads while others run for
ever. What a result leaves out is said as a caveat: `safe with caveats` is not a plain `safe`. Integers are bit-vectors, as in C; signed arithmetic wraps around, unless
`--int math` asks for mathematical ones. Threads may wake up from condition variables for no reason, as POSIX allows.

`--engine imc` finds schedules that keep the program safe, fair and free of deadlocks for every input, also of programs that are
not safe: `partially-safe` means that there are such schedules and that something goes wrong without. `--schedules DIR` writes them
as soon as they are there (docs/verify-schedules.md). Other engines take blocks that are atomic, by the locks they hold, as single
steps unless --no-merge is given.

Other questions: --outline checks what comments of the form /*@ requires ... */ say, --atomic whether functions might as well run
without interruption, --races which accesses race. docs/outlines.md has an example of each.

Exit codes:
  0  safe (TRUE); a certificate holds; all conditions hold; nothing declared is wrong; no race
  1  unsafe, or safe under some schedules only: partially-safe (FALSE); a certificate is refused; a condition fails; a race
  2  the program cannot be read, or the command line is wrong; a certificate cannot be read
  3  unknown, with the reason (UNKNOWN)";

/// Options that mean nothing where no verdict is asked for.
const OF_VERDICTS: [&str; 15] = [
    "engine",
    "max_contexts_per_thread",
    "deadlocks",
    "no_deadlocks",
    "solver",
    "no_replay",
    "no_merge",
    "schedules",
    "art",
    "certificate",
    "check_certificate",
    "svcomp",
    "witness",
    "int",
    "property",
];

#[derive(Args)]
pub(crate) struct VerifyArgs {
    /// The C files; one that ends in .i is taken to be preprocessed, and is read alone
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Which engine decides
    #[arg(long, value_name = "NAME", default_value = "portfolio", value_parser = names())]
    engine: String,

    /// With `--engine contexts`: give up after all runs in which each thread has at most so many contexts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_contexts_per_thread: Option<u32>,

    /// Look for deadlocks: the default, but with --svcomp, which asks for one property
    #[arg(long, overrides_with = "no_deadlocks")]
    deadlocks: bool,

    /// Do not look for deadlocks
    #[arg(long, overrides_with = "deadlocks")]
    no_deadlocks: bool,

    /// Give up after so many seconds
    #[arg(long, value_name = "N", default_value_t = 60.0)]
    seconds: f64,

    #[command(flatten)]
    certificate: CertificateArgs,

    #[command(flatten)]
    svcomp: SvcompArgs,

    /// Ask this SMT-LIB 2 solver on the path instead of the one inside: z3, cvc5, or a command that reads from standard input. Proofs
    /// are checked with the one inside nevertheless
    #[arg(long, value_name = "NAME")]
    solver: Option<String>,

    /// The SAT solver under the one inside. Proofs are checked with it, too
    #[arg(long, value_name = "NAME", default_value_t, value_parser = sat_solvers())]
    sat: SatSolver,

    /// Waits on condition variables never end for no reason, and weak compare-exchanges never fail for none: this is not what
    /// the standards promise, and is said with the result
    #[arg(long)]
    no_spurious_wakeups: bool,

    /// Do not follow a run that goes wrong with the compiled program
    #[arg(long)]
    no_replay: bool,

    /// An exit code of the program other than 0 is not an error
    #[arg(long)]
    any_exit_code: bool,

    /// Define a macro for the preprocessor
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,

    /// Look for headers in this folder
    #[arg(short = 'I', value_name = "DIR")]
    include: Vec<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    schedules: crate::schedules::ScheduleArgs,

    /// Check the annotations in the comments of the file: contracts, invariants, assertions of threads
    #[arg(long, group = "question", conflicts_with_all = OF_VERDICTS)]
    outline: bool,

    /// Say which functions are atomic, and which locks guard which variables
    #[arg(long, group = "question", conflicts_with_all = OF_VERDICTS)]
    atomic: bool,

    /// List data races: what locks tell, and what executions show
    #[arg(long, group = "question", conflicts_with_all = OF_VERDICTS)]
    races: bool,

    /// Let threads be interrupted everywhere: do not make single steps of blocks that are atomic
    #[arg(long)]
    no_merge: bool,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(::verify::engines().iter().map(|e| e.name))
}

fn sat_solvers() -> impl TypedValueParser<Value = SatSolver> {
    PossibleValuesParser::new(SatSolver::ALL.iter().map(|s| s.name())).try_map(|s| s.parse::<SatSolver>())
}

pub(crate) fn run(args: &VerifyArgs) -> ExitCode {
    let sources = verify_sources::Sources::of(&args.files, &flags(args));
    let done = sources.and_then(|sources| {
        let input = Input { args, file: &sources.file, words: &sources.words };
        ::verify::with_sat(args.sat, || verify(&input))
    });
    match done {
        Ok(code) => code,
        Err(why) => {
            if args.json {
                let all =
                    serde_json::json!({ "verdict": "error", "error": why, "reason": why, "caveats": [] });
                let _ = writeln!(std::io::stdout(), "{all}");
            }
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// The command line, and the file that is read.
struct Input<'a> {
    args: &'a VerifyArgs,
    file: &'a Path,
    /// More words for the preprocessor.
    words: &'a [String],
}

impl std::ops::Deref for Input<'_> {
    type Target = VerifyArgs;

    fn deref(&self) -> &VerifyArgs {
        self.args
    }
}

/// What the compiler is told: macros, and where headers are.
fn flags(args: &VerifyArgs) -> Vec<String> {
    let include = args.include.iter().map(|d| format!("-I{d}"));
    args.define.iter().map(|d| format!("-D{d}")).chain(include).collect()
}

/// Whether heads of loops are locations: a witness speaks of them. A certificate that is written too is about the program without.
fn keeps_loops(args: &VerifyArgs) -> bool {
    args.svcomp.witness.is_some() && args.certificate.certificate.is_none()
}

/// Whether a deadlock is a failure.
fn looks_for_deadlocks(args: &VerifyArgs) -> bool {
    args.deadlocks || !args.no_deadlocks && !args.svcomp.svcomp
}

/// How the file is read.
fn how_to_read(args: &Input<'_>) -> ::model::Options {
    ::model::Options {
        preprocessor: [flags(args), args.words.to_vec()].concat(),
        // A proof must hold for all that the standards allow.
        spurious: !args.no_spurious_wakeups,
        overflow: args.svcomp.int == Integers::Math,
        keep_loops: keeps_loops(args),
        error_labels: args.svcomp.svcomp,
        exit_codes: !args.svcomp.svcomp && !args.any_exit_code,
        aborts: !args.svcomp.svcomp,
        ..::model::Options::default()
    }
}

/// The automata with places that a witness can name: those of the file that was given, whatever its line markers say. Nothing if they
/// would be other automata.
fn placed<'p>(args: &Input<'_>, program: &'p Program) -> Option<Cow<'p, Program>> {
    let given = args.file.display().to_string();
    let preprocessed = args.file.extension().is_some_and(|e| e == "i");
    if !preprocessed || program.files.iter().all(|f| *f == given) {
        return Some(Cow::Borrowed(program));
    }
    let options = ::model::Options { line_markers: false, ..how_to_read(args) };
    let again = read(args, options).ok()?.ok()?;
    let plain = |t: &Transition| Transition { span: Span::default(), ..t.clone() };
    let steps = |p: &Program| -> Vec<Vec<Transition>> {
        p.threads.iter().map(|t| t.transitions.iter().map(plain).collect()).collect()
    };
    (program.vars.len() == again.vars.len() && steps(program) == steps(&again)).then_some(Cow::Owned(again))
}

/// The automata, if they can be had in time; why not, where the program itself can be read.
fn read(args: &Input<'_>, options: ::model::Options) -> Result<Result<Program, Unknown>, String> {
    let (math, file) = (args.svcomp.int == Integers::Math, args.file.to_path_buf());
    let read = reading::in_time(args.seconds, move || automata(&file, math, options))?;
    read.unwrap_or_else(|| Ok(Err(Unknown::Cannot(reading::LATE.to_owned()))))
}

/// The automata; in mathematical integers also why they cannot be had.
fn automata(file: &Path, math: bool, read: ::model::Options) -> Result<Result<Program, Unknown>, String> {
    match ::model::read_file(file, &read) {
        Ok(program) => Ok(Ok(program)),
        Err(why) if math => match ::model::read_file(file, &::model::Options { overflow: false, ..read }) {
            Ok(_) => Ok(Err(Unknown::Cannot(why.to_string()))),
            Err(why) => Err(refused(&why)),
        },
        Err(why) => Err(refused(&why)),
    }
}

/// Why a program cannot be read, and what to do about it.
pub(crate) fn refused(why: &::model::Refusal) -> String {
    match why.is_unsupported() {
        true => format!("{why}; `raddle check` runs the compiled program instead"),
        false => why.to_string(),
    }
}

fn verify(args: &Input<'_>) -> Result<ExitCode, String> {
    if args.outline || args.atomic || args.races {
        return question(args);
    }
    if args.max_contexts_per_thread.is_some() && args.engine != "contexts" {
        return Err("--max-contexts-per-thread is for --engine contexts".to_owned());
    }
    let start = Instant::now();
    let read = read(args, how_to_read(args))?;
    let integers = args.svcomp.int.says();
    let engine = match args.max_contexts_per_thread {
        Some(most) => ::verify::contexts_within(most),
        None => (::verify::engine(&args.engine).map_err(|e| e.to_string())?.make)(),
    };
    // A schedule speaks of the program's own steps, and a witness of states that are inside blocks too.
    let merge = !args.no_merge && args.engine != "imc" && args.svcomp.witness.is_none();
    let engine = if merge { Box::new(::verify::Merging(engine)) } else { engine };
    let solver = args.solver.as_deref().map(SmtCommand::find).transpose().map_err(|e| e.to_string())?;
    // What reading took is over, and races are searched for after the verdict.
    let left = || (args.seconds - start.elapsed().as_secs_f64()).max(0.0);
    let races = args.svcomp.svcomp && args.svcomp.property == Property::NoDataRace;
    let budget = Budget { seconds: Some(if races { left() / 2.0 } else { left() }), work: None };
    let options = Options { deadlocks: looks_for_deadlocks(args), budget };
    let program = match read {
        Ok(program) => program,
        Err(why) => {
            let (engine, verdict) = (engine.name(), Verdict::Unknown(why));
            let out = Outcome { engine, verdict, counts: Vec::new(), seconds: start.elapsed().as_secs_f64() };
            if args.svcomp.svcomp {
                return svcomp(args, &Program::default(), &out, budget);
            }
            return Ok(finish(args, &Program::default(), out, None, 0.0));
        }
    };
    if let Some(from) = &args.certificate.check_certificate {
        return Ok(verify_certificate::check(&program, &options, integers, from, args.json));
    }
    let run = || -> Result<Outcome, String> {
        if !args.schedules.is_asked() {
            return Ok(engine.verify(&program, &options));
        }
        if args.engine != "imc" {
            return Err("schedules and the tree come from --engine imc".to_owned());
        }
        args.schedules.run(&program, &options)
    };
    let mut out = decide(&run, &program, &options, solver.as_ref())?;
    if let Verdict::Unknown(Unknown::Spent(Spent::Seconds(s))) = &mut out.verdict {
        *s = args.seconds;
    }
    let mut overflow = None;
    if args.svcomp.int == Integers::Math {
        (out.verdict, overflow) = verify_svcomp::mathematical(out.verdict);
    }
    if let (Some(to), Verdict::Safe(certificate)) = (&args.certificate.certificate, &out.verdict) {
        verify_certificate::write(&program, certificate, to)?;
    }
    if args.svcomp.svcomp {
        return svcomp(args, &program, &out, Budget { seconds: Some(left()), work: None });
    }
    if let Some(to) = &args.svcomp.witness {
        let text = |task: &witness::Task<'_>| match &out.verdict {
            Verdict::Safe(certificate) => witness::correctness(task, certificate).map(Some),
            other => other.trace().map(|t| witness::violation(task, t)).transpose(),
        };
        write_witness(args, &program, Property::UnreachCall, to, text)?;
    }
    let rest = left();
    Ok(finish(args, &program, out, overflow, rest))
}

/// Another question than whether something can go wrong.
fn question(args: &Input<'_>) -> Result<ExitCode, String> {
    let (path, options) = (args.file, how_to_read(args));
    if args.races {
        return Ok(match read(args, options)? {
            Ok(program) => crate::verify_races::run(path, &program, args.seconds, args.json),
            Err(why) => unread(args, &why.to_string()),
        });
    }
    // The checks read the program in parts and as they need them, so whether that comes to an end is seen first.
    let (file, lean, to_read) = (args.file.to_path_buf(), args.atomic, options.clone());
    if reading::in_time(args.seconds, move || read_annotated(&file, &to_read, lean))?.is_none() {
        return Ok(unread(args, reading::LATE));
    }
    let answer = if args.outline { crate::verify_outline::run } else { crate::verify_atomic::run };
    Ok(answer(path, &options, args.seconds, args.json))
}

/// Reads what the checks of annotations read. Whoever checks says what is wrong with it.
fn read_annotated(file: &Path, options: &::model::Options, lean: bool) {
    let Ok(file) = ::model::Annotated::read_file(file, options) else { return };
    if lean {
        let _ = file.program_to_run();
        return;
    }
    if file.annotations.is_empty() {
        return;
    }
    let _ = file.program();
    for f in file.functions() {
        let _ = file.function(&f.name);
    }
}

/// Says that there is no answer.
fn unread(args: &VerifyArgs, why: &str) -> ExitCode {
    let text = match args.json {
        true => format!("{}\n", serde_json::json!({ "verdict": "unknown", "reason": why })),
        false => format!("unknown: {why}\n"),
    };
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(3)
}

/// With the solver that was asked for; what comes out is checked.
fn decide(
    run: &dyn Fn() -> Result<Outcome, String>,
    program: &Program,
    options: &Options,
    solver: Option<&SmtCommand>,
) -> Result<Outcome, String> {
    let checked = || {
        let mut out = run()?;
        ::verify::believe_nothing(program, options, &mut out);
        Ok::<_, String>(out)
    };
    let mut out = match solver {
        None => return checked(),
        Some(command) => ::verify::with_solver(command, checked)?,
    };
    // A solver that is not heard of is one that may have been ended, or does not know what it was asked.
    if let (Verdict::Unknown(Unknown::Cannot(why) | Unknown::Within(why)), Some(command)) =
        (&mut out.verdict, solver)
    {
        *why += &format!(" (asked: {})", command.name());
    }
    Ok(out)
}

/// Writes what `text` makes of a task, if there is anything to witness.
fn write_witness(
    args: &Input<'_>,
    program: &Program,
    property: Property,
    to: &Path,
    text: impl Fn(&witness::Task<'_>) -> Result<Option<String>, String>,
) -> Result<(), String> {
    let Some(placed) = placed(args, program) else {
        eprintln!("no witness was written: the lines of {} cannot be told", args.file.display());
        return Ok(());
    };
    let task = witness::Task { program: &placed, file: args.file, property, loops: keeps_loops(args) };
    match text(&task)? {
        Some(text) => std::fs::write(to, text)
            .map_err(|e| format!("the witness cannot be written to {}: {e}", to.display())),
        None => {
            eprintln!("no witness was written: there is no verdict to witness");
            Ok(())
        }
    }
}

/// One property, in the words of the competition.
fn svcomp(args: &Input<'_>, program: &Program, out: &Outcome, budget: Budget) -> Result<ExitCode, String> {
    let property = args.svcomp.property;
    let answer = match property {
        Property::UnreachCall => verify_svcomp::unreach_call(program, &out.verdict),
        // Of a program that could not be read nothing is known.
        Property::NoDataRace if program.threads.is_empty() => {
            verify_svcomp::unreach_call(program, &out.verdict)
        }
        Property::NoDataRace => verify_svcomp::no_data_race(program, &out.verdict, budget),
    };
    let Answer { word, reason, trace, race } = &answer;
    if let Some(to) = &args.svcomp.witness {
        let text = |task: &witness::Task<'_>| match (&out.verdict, trace, race) {
            (_, Some(t), _) => witness::violation(task, t).map(Some),
            (_, _, Some(r)) => witness::race(task, r).map(Some),
            (Verdict::Safe(certificate), ..) if *word == "TRUE" => {
                witness::correctness(task, certificate).map(Some)
            }
            _ => Ok(None),
        };
        write_witness(args, program, property, to, text)?;
    }
    let integers = args.svcomp.int.says();
    let caveats = verify_caveats::caveats(program, &out.verdict, asked(args, false, 0.0));
    let text = if args.json {
        let all = serde_json::json!({
            "verdict": word, "property": property.name(), "integers": integers, "engine": out.engine,
            "solver": solver(args), "spurious_wakeups": !args.no_spurious_wakeups, "reason": reason,
            "seconds": out.seconds, "caveats": caveats,
        });
        format!("{all}\n")
    } else {
        let reason = reason.as_ref().map_or_else(String::new, |r| format!("{r}\n"));
        let caveats = verify_caveats::in_words(&caveats);
        format!("{word} ({})\n{reason}{}\nintegers: {integers}\n{caveats}", property.name(), counts(out))
    };
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::from(answer.exit_code()))
}

/// Says what was found.
fn finish(args: &Input<'_>, program: &Program, out: Outcome, overflow: Option<Trace>, left: f64) -> ExitCode {
    let flags = flags(args);
    let setting =
        verify_replay::Setting { files: &args.files, flags: &flags, spurious: !args.no_spurious_wakeups };
    let replayed = match out.verdict.trace() {
        Some(trace) if !args.no_replay => Some(verify_replay::replay(program, trace, &setting)),
        _ => None,
    };
    let caveats = verify_caveats::caveats(program, &out.verdict, asked(args, true, left));
    let said = Said {
        args,
        program,
        out: &out,
        overflow: overflow.as_ref(),
        replayed: replayed.as_ref(),
        caveats: &caveats,
    };
    let text = if args.json { said.json() } else { said.text() };
    // Whoever reads it may have seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::from(match out.verdict {
        Verdict::Safe(_) => 0,
        Verdict::Unsafe(_) | Verdict::PartiallySafe { .. } => 1,
        Verdict::Unknown(_) => 3,
    })
}

/// All that is said of a result.
struct Said<'a> {
    args: &'a VerifyArgs,
    program: &'a Program,
    out: &'a Outcome,
    /// In mathematical integers: a run that overflows.
    overflow: Option<&'a Trace>,
    replayed: Option<&'a Replayed>,
    caveats: &'a [explore::Caveat],
}

/// What caveats depend on.
fn asked(args: &VerifyArgs, whole: bool, seconds: f64) -> verify_caveats::Asked {
    let deadlocks = looks_for_deadlocks(args) || args.svcomp.svcomp;
    verify_caveats::Asked { spurious: !args.no_spurious_wakeups, deadlocks, whole, seconds }
}

pub(crate) fn what(program: &Program, wrong: &Wrong) -> String {
    match wrong {
        Wrong::Deadlock => "deadlock".to_owned(),
        Wrong::Error { thread, location, kind } => {
            let thread = program.thread(*thread);
            let message = match &thread.location(*location).kind {
                ::model::LocationKind::Error { message, .. } => message.as_str(),
                _ => "",
            };
            format!("{} in `{}`: {message}", kind.name(), thread.name)
        }
    }
}

/// Who answers the engines.
fn solver(args: &VerifyArgs) -> &str {
    args.solver.as_deref().unwrap_or(args.sat.name())
}

fn counts(out: &Outcome) -> String {
    let counts: String = out.counts.iter().map(|(name, n)| format!("{n} {name}, ")).collect();
    format!("{} ({counts}{:.2} s)", out.engine, out.seconds)
}

/// A count in JSON: one that is not exact is a number with a point, and `null` if it is beyond all of these.
fn count(n: Count) -> serde_json::Value {
    match n {
        Count::Exactly(n) => n.into(),
        Count::About(n) => n.into(),
    }
}

impl Said<'_> {
    fn run(&self, trace: &Trace) -> String {
        Interpreter::new(self.program).show_run(&trace.steps).unwrap_or_default()
    }

    fn shown(&self, trace: &Trace) -> String {
        let table = verify_trace::show(self.program, trace, &terminal::style());
        format!("{}\n\n{table}\n", what(self.program, &trace.wrong))
    }

    fn text(&self) -> String {
        let Said { out, .. } = self;
        let words = verify_caveats::verdict_in_words(&out.verdict, self.caveats);
        let mut text = format!("{words}: {}\n", counts(out));
        match &out.verdict {
            Verdict::Safe(certificate) => {
                text += "the proof was checked\n";
                if let Some(to) = &self.args.certificate.certificate {
                    text += &format!(
                        "certificate: {} ({})\n",
                        to.display(),
                        verify_certificate::kind(certificate)
                    );
                }
            }
            Verdict::Unknown(why) => {
                text += &format!("{why}\n");
                if let Unknown::Bound(trace) = why {
                    text += &format!("{}\n", what(self.program, &trace.wrong));
                }
            }
            Verdict::Unsafe(trace) | Verdict::PartiallySafe { trace, .. } => {
                if let Verdict::PartiallySafe { schedules, .. } = &out.verdict {
                    text += &format!("schedules that keep it safe: {}; without one:\n", schedules.len());
                }
                text += &self.shown(trace);
            }
        }
        if let Some(trace) = self.overflow {
            text += &self.shown(trace);
        }
        match self.replayed {
            Some(Replayed::Confirmed { command, failure, .. }) => {
                text +=
                    &format!("the compiled program fails in the same way: {failure}\nreplay  {command}\n");
            }
            Some(Replayed::Not(why)) => text += &format!("not confirmed on the compiled program: {why}\n"),
            None => {}
        }
        text += &format!("integers: {}\n", self.args.svcomp.int.says());
        text + &verify_caveats::in_words(self.caveats)
    }

    fn json(&self) -> String {
        let Said { program, out, .. } = self;
        let counts: serde_json::Map<String, serde_json::Value> =
            out.counts.iter().map(|(name, n)| ((*name).to_owned(), count(*n))).collect();
        let mut all = serde_json::json!({
            "verdict": out.verdict.name(), "engine": out.engine, "solver": solver(self.args),
            "integers": self.args.svcomp.int.says(),
            "spurious_wakeups": !self.args.no_spurious_wakeups, "counts": counts, "seconds": out.seconds,
            "caveats": self.caveats,
        });
        if let Verdict::Unknown(why) = &out.verdict {
            all["reason"] = why.to_string().into();
            if let Unknown::Bound(trace) = why {
                all["bound"] = what(program, &trace.wrong).into();
            }
        }
        if let Verdict::Safe(certificate) = &out.verdict {
            all["certificate"] = verify_certificate::kind(certificate).into();
        }
        if let Some(trace) = out.verdict.trace().or(self.overflow) {
            all["wrong"] = what(program, &trace.wrong).into();
            all["trace"] = self.run(trace).lines().map(str::trim).collect::<Vec<_>>().into();
        }
        match self.replayed {
            Some(Replayed::Confirmed { token, command, failure, followed }) => {
                all["replay"] = serde_json::json!({
                    "token": token, "command": command, "failure": failure, "followed": followed,
                });
            }
            Some(Replayed::Not(why)) => all["not_replayed"] = why.as_str().into(),
            None => {}
        }
        format!("{all}\n")
    }
}
