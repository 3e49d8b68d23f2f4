//! `raddle model`: a C program as automata, as text or as a picture.

use crate::reading;
use clap::Args;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `raddle model --help` says.
pub(crate) const ABOUT: &str = "Reads a C program with pthreads and shows it as control-flow automata, one for each thread.

A line `3 -> 4: [x < 2] x := x + 1  @17` is an edge from location 3 to location 4 that can be taken where `x < 2`, and comes from line
17. Everything is written in this way, locks too. What is outside the subset of C that is understood exactly is refused, with file,
line and reason, and exit code 2. If there is no time for all of it the exit code is 3.";

#[derive(Args)]
pub(crate) struct ModelArgs {
    /// The C file; one that ends in .i is taken to be preprocessed
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// More files, for `--open-orders`.
    #[cfg(c_programs)]
    #[arg(hide = true, requires = "open_orders")]
    more: Vec<PathBuf>,

    /// Print the expressions whose order of evaluation is open: `raddle check` asks.
    #[cfg(c_programs)]
    #[arg(long, hide = true)]
    open_orders: bool,

    /// With `--open-orders`: data races are not reported.
    #[cfg(c_programs)]
    #[arg(long, hide = true)]
    racy: bool,

    /// One word for the preprocessor.
    #[arg(long = "word", hide = true, allow_hyphen_values = true)]
    words: Vec<String>,

    /// Draw it in the language of Graphviz
    #[arg(long)]
    dot: bool,

    /// Make every local step an edge of its own
    #[arg(long)]
    steps: bool,

    /// Let threads wake up for no reason, and weak compare-exchanges fail for none
    #[arg(long)]
    spurious: bool,

    /// Give up after so many seconds
    #[arg(long, value_name = "N", default_value_t = 60.0)]
    seconds: f64,

    /// Define a macro for the preprocessor
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    define: Vec<String>,
}

pub(crate) fn run(args: &ModelArgs) -> ExitCode {
    #[cfg(c_programs)]
    if args.open_orders {
        let files = [std::slice::from_ref(&args.file), &args.more].concat();
        return crate::open_orders::print(&files, args.words.clone(), args.seconds, args.racy);
    }
    let options = ::model::Options {
        compress: !args.steps,
        spurious: args.spurious,
        preprocessor: args.define.iter().map(|d| format!("-D{d}")).chain(args.words.clone()).collect(),
        ..::model::Options::default()
    };
    let file = args.file.clone();
    let read = reading::in_time(args.seconds, move || ::model::read_file(&file, &options));
    match read.map(|read| read.map(|read| read.map_err(|why| crate::verify::refused(&why)))) {
        Ok(Some(Ok(program))) => {
            let text = if args.dot { program.to_dot() } else { program.to_string() };
            // Whoever reads it may have seen enough.
            let _ = std::io::stdout().write_all(text.as_bytes());
        }
        Ok(None) => {
            eprintln!("error: {}", reading::LATE);
            return ExitCode::from(3);
        }
        Ok(Some(Err(why))) | Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
