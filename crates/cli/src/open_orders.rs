//! Expressions of C whose order of evaluation is open, for `raddle check`: the compiled program has one of the orders.
//!
//! The files are read as automata, as `raddle verify` reads them, by a process of its own while the program is compiled. What cannot be
//! read in time, or not at all, has no such caveats.

use crate::scratch::Scratch;
use explore::{Caveat, CaveatKind};
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// How long it may take to read the files.
const PATIENCE: Duration = Duration::from_millis(2500);

/// Files of this many bytes together, and more, are not read.
const MOST: u64 = 1 << 18;

/// The result that a separate process finds.
pub(crate) struct Reading {
    child: Child,
    start: Instant,
    /// Temporary files of the process, which may be ended while it has some.
    _scratch: Scratch,
}

impl Drop for Reading {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reading {
    /// Begins to read these files, if all are C; `flags` are for the compiler. `racy` says that data races are not reported.
    pub(crate) fn start(files: &[String], flags: &[String], racy: bool) -> Option<Reading> {
        let bytes = |f: &String| std::fs::metadata(f).ok().map(|m| m.len());
        let sizes: Option<Vec<u64>> = files.iter().map(bytes).collect();
        if files.is_empty() || !files.iter().all(|f| f.ends_with(".c")) || sizes?.iter().sum::<u64>() >= MOST
        {
            return None;
        }
        let mut command = Command::new(std::env::current_exe().ok()?);
        command.args(["model", "--open-orders", "--seconds", "2"]).args(files);
        command.args(for_preprocessor(flags).iter().map(|w| format!("--word={w}")));
        command.args(racy.then_some("--racy"));
        let scratch = Scratch::new().ok()?;
        command.env("TMPDIR", scratch.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        Some(Reading { child: child.ok()?, start: Instant::now(), _scratch: scratch })
    }

    /// The caveats, each a line of JSON.
    pub(crate) fn caveats(mut self) -> Vec<String> {
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) if status.success() => break,
                Ok(None) if self.start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(5)),
                _ => return Vec::new(),
            }
        }
        let mut text = String::new();
        if let Some(out) = &mut self.child.stdout {
            // A file that cannot be read adds no information.
            let _ = out.read_to_string(&mut text);
        }
        text.lines().map(str::to_owned).collect()
    }
}

/// The flags that the preprocessor needs.
fn for_preprocessor(flags: &[String]) -> Vec<String> {
    const APART: [&str; 8] = ["-D", "-U", "-I", "-include", "-isystem", "-iquote", "-idirafter", "-imacros"];
    let mut out = Vec::new();
    let mut rest = flags.iter();
    while let Some(word) = rest.next() {
        if APART.contains(&word.as_str()) {
            out.push(word.clone());
            out.extend(rest.next().cloned());
        } else if APART.iter().any(|p| word.starts_with(p)) {
            out.push(word.clone());
        }
    }
    out
}

/// Prints the caveats of these files.
pub(crate) fn print(files: &[PathBuf], words: Vec<String>, seconds: f64, racy: bool) -> ExitCode {
    let read = crate::verify_sources::Sources::of(files, &words).and_then(|sources| {
        let preprocessor = [words, sources.words.clone()].concat();
        let options = ::model::Options { preprocessor, ..::model::Options::default() };
        let file = sources.file.clone();
        // Output is small, so it is written at once when all of it is there.
        crate::reading::in_time(seconds, move || {
            let program = ::model::read_file(&file, &options).map_err(|why| why.to_string())?;
            Ok::<_, String>(
                caveats(&program, racy).iter().map(|c| crate::scan::line(c) + "\n").collect::<String>(),
            )
        })
    });
    match read {
        Ok(Some(Ok(text))) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Ok(None) => ExitCode::from(3),
        Ok(Some(Err(why))) | Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// The caveats; `racy` says that the search does not report data races, so that plain accesses make a difference too.
fn caveats(program: &::model::Program, racy: bool) -> Vec<Caveat> {
    let mut list = Vec::new();
    for open in ::verify::open_orders(program).into_iter().filter(|o| racy || !o.only_in_races) {
        let place = program.show_span(open.span);
        let mut text = format!(
            "the {} at {place} were evaluated in the order that the compiler chose; C leaves the order open, and the result may depend \
             on it",
            open.what
        );
        if !open.variables.is_empty() {
            text += &format!(" ({})", open.variables.join(", "));
        }
        Caveat::new(CaveatKind::EvaluationOrder, text).at(place).add_to(&mut list);
    }
    list
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_preprocessor_is_given_its_flags_alone() {
        let flags: Vec<String> = "-O2 -DN=3 -D M -Iinc -lm -include a.h -std=c11 -pthread -UNDEBUG"
            .split(' ')
            .map(str::to_owned)
            .collect();
        assert_eq!(super::for_preprocessor(&flags).join(" "), "-DN=3 -D M -Iinc -include a.h -UNDEBUG");
    }
}
