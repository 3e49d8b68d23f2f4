//! Counterexamples on the compiled program: the run that a proof attempt found is followed by the program itself, and what comes out
//! is a token for `raddle check --replay`.
//!
//! The model's steps are told to the program as a guide (`explore::Guide`), which it follows by thread, kind and line. Nothing rests
//! on that: the program either fails in the same way, and then the token is that of its own run, or it is said that it was not
//! confirmed.

use ::model::{Action, ErrorKind, Program, Type, Wrong};
use ::verify::Trace;
use std::path::PathBuf;

/// What came of it.
pub(crate) enum Replayed {
    /// The compiled program fails in the same way.
    Confirmed {
        /// The token of its run.
        token: String,
        /// What to type.
        command: String,
        /// What it says.
        failure: String,
        /// Whether it was found along the run itself, and not by a search.
        followed: bool,
    },
    /// It was not seen to, for this reason.
    Not(String),
}

/// How the compiled program is made and run.
pub(crate) struct Setting<'a> {
    pub(crate) files: &'a [PathBuf],
    /// `-D` and the like.
    pub(crate) flags: &'a [String],
    pub(crate) spurious: bool,
}

/// The steps of a run in words that the compiled program understands, and the inputs that it takes.
struct Told {
    steps: String,
    /// Thread, line and value of each.
    inputs: Vec<(u16, u32, i128, Type)>,
}

fn told(program: &Program, trace: &Trace) -> Told {
    let mut out = Told { steps: String::new(), inputs: Vec::new() };
    // Threads have the numbers of the order in which they are made.
    let mut numbers = vec![None; program.threads.len()];
    numbers[0] = Some(0u16);
    let mut made = 0;
    for step in &trace.steps {
        let t = program.thread(step.thread).transition(step.transition);
        let Some(who) = numbers[step.thread.index()] else { continue };
        let line = t.span.line;
        let mut tell = |what: &str| out.steps += &format!("step {who} {what}\n");
        match t.action {
            Action::Local | Action::End | Action::Join(_) | Action::SyncInit(_) | Action::Destroy(_) => {}
            Action::Create(child) => {
                made += 1;
                numbers[child.index()] = Some(made);
                tell(&format!("create {line} {made}"));
            }
            Action::Signal { woken, .. } => match woken.and_then(|w| numbers[w.index()]) {
                Some(w) => tell(&format!("notify-one {line} {w}")),
                None => tell(&format!("notify-one {line}")),
            },
            other => tell(&format!("{} {line}", operation(other))),
        }
        // Parts of one step are put together back to front; an atomic block takes its inputs in order.
        let mut inputs: Vec<_> = t.havoc.iter().zip(&step.inputs).collect();
        if t.action != Action::Atomic {
            inputs.reverse();
        }
        for (place, bits) in inputs {
            let var = program.var(place.var);
            // A value that was never set is havocked too; only calls for inputs have temporaries.
            if var.name.contains('%') {
                out.inputs.push((who, line, var.ty.value(*bits), var.ty));
            }
        }
    }
    out
}

fn operation(action: Action) -> &'static str {
    match action {
        Action::Read => "load",
        Action::Write => "store",
        Action::Update => "rmw",
        Action::Atomic => "block",
        Action::Broadcast(_) => "notify-all",
        Action::TimeOut { .. } => "time-out",
        Action::SemTryWait(_) => "sem-try-wait",
        // The other names are the same on both sides.
        other => other.name(),
    }
}

impl Told {
    /// The numbers that inputs have, for the program's own list of them.
    fn numbers(&self) -> Option<String> {
        let mut all: Vec<i128> = self.inputs.iter().filter(|i| i.3 != Type::BOOL).map(|i| i.2).collect();
        all.sort_unstable();
        all.dedup();
        let list: Vec<String> = all.iter().map(i128::to_string).collect();
        match (self.inputs.is_empty(), list.is_empty()) {
            (true, _) => None,
            (false, true) => Some("0".to_owned()),
            (false, false) => Some(list.join(",")),
        }
    }

    fn guide(&self, any_line: bool) -> String {
        let mut all: Vec<i128> = self.inputs.iter().filter(|i| i.3 != Type::BOOL).map(|i| i.2).collect();
        all.sort_unstable();
        all.dedup();
        let mut text = if any_line { "any-line\n".to_owned() } else { String::new() };
        text += &self.steps;
        for (who, line, value, ty) in &self.inputs {
            // Which of the list it is, of those that its type has.
            let n = match *ty {
                Type::BOOL => *value as usize,
                ty => all
                    .iter()
                    .filter(|v| (ty.min()..=ty.max()).contains(*v))
                    .position(|v| v == value)
                    .unwrap_or(0),
            };
            text += &format!("input {who} {line} {n}\n");
        }
        text
    }
}

/// What the compiled program calls the same mistake; nothing for one that it does not see.
fn kinds(wrong: &Wrong) -> &'static [&'static str] {
    match wrong {
        Wrong::Deadlock => &["deadlock"],
        Wrong::Error { kind, .. } => match kind {
            ErrorKind::Assertion => &["assertion", "abort"],
            ErrorKind::LockMisuse => &["lock-misuse"],
            ErrorKind::Division => &["signal"],
            ErrorKind::ExitCode => &["exit-code"],
            ErrorKind::Abort => &["abort", "signal"],
            ErrorKind::OutOfBounds | ErrorKind::InvalidPointer => &["signal", "use-after-free"],
            ErrorKind::Shift | ErrorKind::Overflow | ErrorKind::Bound => &[],
        },
    }
}

#[cfg(not(c_programs))]
pub(crate) fn replay(_program: &Program, _trace: &Trace, _setting: &Setting<'_>) -> Replayed {
    Replayed::Not(crate::check::ELSEWHERE.to_owned())
}

#[cfg(c_programs)]
pub(crate) fn replay(program: &Program, trace: &Trace, setting: &Setting<'_>) -> Replayed {
    let kinds = kinds(&trace.wrong);
    if kinds.is_empty() {
        return Replayed::Not("a compiled program does not notice this kind of mistake".to_owned());
    }
    match native::run(program, trace, setting, kinds) {
        Ok(done) => done,
        Err(why) => Replayed::Not(why),
    }
}

#[cfg(c_programs)]
mod native {
    use super::{Replayed, Setting, told};
    use crate::build::{self, Built};
    use crate::check::ProgramArgs;
    use ::model::{ErrorKind, Program, Wrong};
    use ::verify::Trace;
    use std::os::unix::process::CommandExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    /// How long a search may take where the run could not be followed.
    const SECONDS: &str = "5";

    pub(super) fn run(
        program: &Program,
        trace: &Trace,
        setting: &Setting<'_>,
        kinds: &[&str],
    ) -> Result<Replayed, String> {
        let told = told(program, trace);
        let files: Vec<String> = setting.files.iter().map(|f| f.display().to_string()).collect();
        let args = ProgramArgs::with_flags(setting.flags.to_vec());
        let Some(built) = build::build(&files, &args, None)? else {
            return Err("it does not compile".to_owned());
        };
        let numbers = told.numbers();
        let mut last = String::new();
        for way in ["follow", "follow by kind", "search"] {
            let mut variables = vec![("RADDLE_RACES", "sync".to_owned()), ("RADDLE_JSON", "1".to_owned())];
            variables.extend(numbers.clone().map(|n| ("RADDLE_NONDET", n)));
            if !setting.spurious {
                variables.extend([
                    ("RADDLE_SPURIOUS_WAKEUPS", "0".to_owned()),
                    ("RADDLE_SPURIOUS_FAILURES", "0".to_owned()),
                ]);
            }
            if way == "search" {
                variables.push(("RADDLE_MAX_SECONDS", SECONDS.to_owned()));
            } else {
                let guide = built.scratch.path().join("guide");
                std::fs::write(&guide, told.guide(way != "follow"))
                    .map_err(|e| format!("no guide can be written: {e}"))?;
                variables.push(("RADDLE_FOLLOW", guide.display().to_string()));
            }
            let report = report(&built, &variables)?;
            match judge(program, trace, (kinds, setting.files), &report) {
                Ok((token, failure)) => {
                    // The token is what the user gets: it must do by itself what the guide did.
                    variables.retain(|v| v.0 != "RADDLE_FOLLOW" && v.0 != "RADDLE_MAX_SECONDS");
                    variables.push(("RADDLE_REPLAY", token.clone()));
                    let again = self::report(&built, &variables)?;
                    judge(program, trace, (kinds, setting.files), &again)
                        .map_err(|why| format!("its token does not replay: {why}"))?;
                    let command = command(setting, &files, numbers.as_deref(), &token);
                    return Ok(Replayed::Confirmed { token, command, failure, followed: way != "search" });
                }
                Err(why) => last = why,
            }
        }
        Err(last)
    }

    /// Runs the program once, as the variables say.
    fn report(built: &Built, variables: &[(&'static str, String)]) -> Result<serde_json::Value, String> {
        let mut command = Command::new(&built.program);
        for (name, _) in std::env::vars_os() {
            // What was meant for a check of the user's own is not meant for this one.
            if name.to_string_lossy().starts_with("RADDLE_") && name != "RADDLE_CACHE" {
                command.env_remove(name);
            }
        }
        if let Some(name) = built.program.file_name() {
            command.arg0(name);
        }
        command.envs(variables.iter().map(|(n, v)| (n, v))).envs(built.variables.iter().map(|(n, v)| (n, v)));
        let output = command.stdin(Stdio::null()).stderr(Stdio::piped()).output();
        let output = output.map_err(|e| format!("it does not start: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).map_err(|_| {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("it says nothing").to_owned();
            format!("the compiled program did not report: {last}")
        })
    }

    /// Whether it failed as the model did: the token and what it says, or what happened instead.
    fn judge(
        program: &Program,
        trace: &Trace,
        (kinds, files): (&[&str], &[PathBuf]),
        report: &serde_json::Value,
    ) -> Result<(String, String), String> {
        let Some(failure) = report["failures"].as_array().and_then(|f| f.first()) else {
            return Err("the compiled program did not fail on this run".to_owned());
        };
        let text = |name: &str| failure[name].as_str().unwrap_or("").to_owned();
        let (kind, at, message) = (text("kind"), text("location"), text("message"));
        let says = format!("{kind} at {at}: {message}");
        if !kinds.contains(&kind.as_str()) {
            return Err(format!("the compiled program fails otherwise: {says}"));
        }
        let there = at.rsplit(':').filter_map(|w| w.parse::<u32>().ok()).next_back();
        let aborts = matches!(trace.wrong, Wrong::Error { kind: ErrorKind::Abort, .. });
        if kind == "abort" && !aborts {
            let named = at.split(':').next().unwrap_or_default();
            let as_wrong =
                |line| files.iter().any(|f| is_named(files, f, named) && ends_as_wrong(f, named, line));
            if !there.is_some_and(as_wrong) {
                return Err(format!("the compiled program ends before: {says}"));
            }
        }
        if let Some(line) = line_of_assert(program, trace)
            && there != Some(line)
        {
            return Err(format!("the compiled program fails elsewhere: {says}"));
        }
        let token = text("replay");
        if token.is_empty() { Err(format!("there is no token for: {says}")) } else { Ok((token, says)) }
    }

    /// Whether one of several files may be the one with a name; of a single file that is not asked.
    fn is_named(files: &[PathBuf], file: &Path, name: &str) -> bool {
        files.len() == 1 || file.file_name() == Path::new(name).file_name()
    }

    /// Whether `abort` on a line of a file is what the program makes of an error. A preprocessed program may speak of the lines of
    /// another file, which need not be there.
    fn ends_as_wrong(given: &Path, named: &str, line: u32) -> bool {
        let text = std::fs::read_to_string(given).unwrap_or_default();
        if given.extension().is_none_or(|e| e != "i") {
            return aborts_as_wrong(&text, line as usize);
        }
        // Debug information may have a path where the text has none.
        let is = |file: &str| Path::new(file).file_name() == Path::new(named).file_name();
        let lines = ::model::lines_made_of(&given.display().to_string(), &text, is, line);
        lines.iter().any(|l| aborts_as_wrong(&text, *l as usize))
    }

    /// Whether `abort` on a line is what the program makes of an error: it is in the body of its own `reach_error`, or at a label `ERROR`.
    /// Any other one ends a run that does not count.
    fn aborts_as_wrong(text: &str, line: usize) -> bool {
        let around = text.lines().skip(line.saturating_sub(2)).take(2);
        if around.into_iter().any(|l| l.contains("ERROR")) {
            return true;
        }
        let (mut depth, mut now, mut head, mut wrong) = (0u32, 1, String::new(), false);
        for c in text.chars() {
            match c {
                '{' => {
                    if depth == 0 {
                        wrong = ["reach_error", "__VERIFIER_error"].iter().any(|n| head.contains(n));
                    }
                    depth += 1;
                }
                '}' => {
                    depth = depth.saturating_sub(1);
                    head.clear();
                }
                ';' if depth == 0 => head.clear(),
                '\n' => {
                    now += 1;
                    head.push(' ');
                }
                c if depth == 0 => head.push(c),
                _ => {}
            }
            if now == line && depth > 0 && wrong {
                return true;
            }
        }
        false
    }

    /// The line of the assertion that fails; none where another function reports it.
    fn line_of_assert(program: &Program, trace: &Trace) -> Option<u32> {
        let Wrong::Error { thread, location, kind: ErrorKind::Assertion } = trace.wrong else { return None };
        let last = trace.steps.last().filter(|s| s.thread == thread)?;
        let t = program.thread(thread).transition(last.transition);
        let message = match &program.thread(thread).location(location).kind {
            ::model::LocationKind::Error { message, .. } => message.as_str(),
            _ => "",
        };
        (t.to == location && t.action == ::model::Action::Local && message != crate::verify_svcomp::REACHED)
            .then_some(t.span.line)
            .filter(|l| *l > 0)
    }

    fn command(setting: &Setting<'_>, files: &[String], numbers: Option<&str>, token: &str) -> String {
        let mut words = vec!["raddle".to_owned(), "check".to_owned()];
        words.extend(files.iter().cloned());
        words.extend(setting.flags.iter().cloned());
        words.extend(["--races", "sync"].map(str::to_owned));
        words.extend(numbers.map(|n| format!("--inputs={n}")));
        if !setting.spurious {
            words.extend(["--no-spurious-wakeups", "--no-spurious-failures"].map(str::to_owned));
        }
        words.extend(["--replay".to_owned(), token.to_owned()]);
        let quoted: Vec<String> = words.iter().map(|w| crate::toolchain::quoted(w)).collect();
        quoted.join(" ")
    }

    #[cfg(test)]
    mod tests {
        use super::aborts_as_wrong;

        #[test]
        fn a_program_that_aborts_where_it_assumes_does_not_fail_in_the_same_way() {
            let text = "void assume(int c) {\n  if (!c) { abort(); }\n}\nvoid reach_error(void) { abort(); }\nint main(void) {\n\
                if (f()) abort();\n  if (g()) {\n ERROR: abort();\n }\n}\n";
            let wrong: Vec<usize> = (1..=10).filter(|l| aborts_as_wrong(text, *l)).collect();
            assert_eq!(wrong, [4, 8, 9]);
        }
    }
}
