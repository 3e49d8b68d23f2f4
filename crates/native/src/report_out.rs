//! How a search is set up and how its result leaves the process: settings from the variables `RADDLE_*`, the report as text or JSON,
//! exit codes.
//!
//! The program under test may close or redirect standard output, so the report goes through a copy made before the first
//! execution. `raddle check` must be able to tell the end of a search from a program that ended its process in a way we do not see:
//! it names a file in `RADDLE_DONE`, and only an end of ours writes it.
//!
//! **Invariant:** `verified` is not said of a program with parts that were not instrumented.

use crate::options::{Races, Reuse, options};
use crate::start;
use explore::{Caveat, CaveatKind, Comparison, FailureKind, Plan, Report, Verdict};
use raddle::Config;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The variables that mean something here. Another one that starts with `RADDLE_` is a slip of the pen, and who made it should know.
const VARIABLES: &[&str] = &[
    "RADDLE_ALGORITHM",
    "RADDLE_BOUND",
    "RADDLE_CACHE",
    "RADDLE_CC",
    "RADDLE_COMMAND",
    "RADDLE_COMPARE",
    "RADDLE_CXX",
    "RADDLE_DONE",
    "RADDLE_FOLLOW",
    "RADDLE_FRINGE_LIMIT",
    "RADDLE_JSON",
    "RADDLE_KEEP_GOING",
    "RADDLE_KEEP_O",
    "RADDLE_LATE",
    "RADDLE_LEAKS",
    "RADDLE_MAX_EXECUTIONS",
    "RADDLE_MAX_SECONDS",
    "RADDLE_MAX_STEPS",
    "RADDLE_MAX_THREADS",
    "RADDLE_OPTIMISATIONS",
    "RADDLE_ORDER",
    "RADDLE_QUIET",
    "RADDLE_RACES",
    "RADDLE_REPLAY",
    "RADDLE_REUSE",
    "RADDLE_SCAN",
    "RADDLE_SEED",
    "RADDLE_SHRINK",
    "RADDLE_SPIN_LOOPS",
    "RADDLE_SPURIOUS",
    "RADDLE_SPURIOUS_FAILURES",
    "RADDLE_SPURIOUS_WAKEUPS",
    "RADDLE_STACK_SIZE",
    "RADDLE_TIMEOUTS",
    "RADDLE_TRACE",
    "RADDLE_LIVELOCKS",
    "RADDLE_TURNS",
    "RADDLE_VOLATILE",
    "RADDLE_WATCHDOG",
    // Of this crate's own.
    "RADDLE_EXECUTIONS",
    "RADDLE_ENTRY",
    "RADDLE_EXIT_CODES",
    "RADDLE_ISOLATE",
    "RADDLE_FIXED_ADDRESSES",
    "RADDLE_COMPARE_OUT",
    "RADDLE_LIBTEST",
    "RADDLE_MEMORY",
    "RADDLE_NONDET",
    "RADDLE_STD_LOCKS",
    "RADDLE_CAVEATS",
    "RADDLE_SUMMARY",
];

/// Says, to the same program started again, that addresses cannot be fixed any better.
const FIXED: &CStr = c"RADDLE_FIXED_ADDRESSES";

/// Starts the program again with addresses that are the same each time, unless they are. Otherwise a token of one process would name
/// other places in the next.
///
/// # Safety
///
/// Called before anything of the program ran, with its arguments.
pub(crate) unsafe fn fix_addresses(argv: *mut *mut libc::c_char) {
    // SAFETY: `personality` reads or sets a number; the environment is only ours now; `argv` ends with a null pointer.
    unsafe {
        let now = libc::personality(0xffff_ffff);
        if !libc::getenv(FIXED.as_ptr()).is_null() {
            libc::unsetenv(FIXED.as_ptr());
            return;
        }
        if now == -1
            || now & libc::ADDR_NO_RANDOMIZE != 0
            || libc::personality((now | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) == -1
        {
            return;
        }
        libc::setenv(FIXED.as_ptr(), c"1".as_ptr(), 1);
        libc::execv(c"/proc/self/exe".as_ptr(), argv.cast_const().cast());
        // It could not be started again: random addresses then.
        libc::unsetenv(FIXED.as_ptr());
    }
}

/// Where the report goes, and what is known of the program before it runs.
pub(crate) struct Out {
    file: File,
    /// Standard error, which has the progress if it is a terminal.
    errors: Option<Arc<File>>,
    as_json: bool,
    command: String,
    caveats: Vec<Caveat>,
    done: Option<CString>,
    /// A file for the report as JSON besides.
    summary: Option<File>,
}

/// Explores the program, says what was found, and ends the process.
pub(crate) fn explore(mut out: Out, program: fn()) -> ! {
    report_panics(&out);
    check_names();
    crate::options::check().unwrap_or_else(|why| start::die(&why));
    if options().races == Races::Sync {
        runtime::let_plain_accesses_order();
    }
    if own_stores_go_on() {
        runtime::let_own_stores_go_on();
    }
    let terminal = out.errors.clone().filter(|_| variable("RADDLE_QUIET").is_none());
    let config = Config::new().scan(false).stack_size(8 << 20).leaks(false).quiet(true).progress_on(terminal);
    let config = config.try_environment().unwrap_or_else(|why| start::die(&why));
    if let Some(path) = variable("RADDLE_EXECUTIONS") {
        let code = crate::listing::write(&config, program, &path);
        // A report as JSON is for whoever compares, too: it comes besides.
        if !out.as_json {
            out.leave(code);
        }
    }
    if let Some(plans) = variable("RADDLE_COMPARE") {
        let plans = Plan::list(&plans).unwrap_or_else(|e| start::die(&format!("RADDLE_COMPARE: {e}")));
        let table = compare(&config, &plans, program, out.errors.as_deref());
        let mut json = report::compare::json(&table);
        if let Some(path) = variable("RADDLE_COMPARE_OUT") {
            let wrote = std::fs::write(&path, &json);
            wrote.unwrap_or_else(|e| start::die(&format!("cannot write {path}: {e}")));
            json = String::new();
        } else if !out.as_json {
            json = report::compare::text(&table, &out.style());
        }
        out.write(&json);
        out.leave(exit_code(&table));
    }
    // SAFETY: nothing else uses it yet; what it points to lives until the process ends, which is in this function.
    unsafe { LAST = &raw mut out };
    let known = out.caveats.iter().cloned().chain(left_out_by_settings());
    let mut config = known.fold(config, Config::caveat);
    let time = Time::start();
    let mut report = config.clone().last_words(write_last_words).run(program);
    if with_patience(&mut config, &mut report, &time, program) {
        out.name_option("--timeouts patient", "RADDLE_TIMEOUTS=patient");
    }
    if crate::reuse::is_possible() {
        match options().reuse {
            Reuse::Second if with_reuse(&config, &mut report, &time, program) => {
                out.name_option("--reuse all", "RADDLE_REUSE=all");
            }
            Reuse::Off if report.passed() => {
                let text = "malloc did not give out the address of a freed block again (--reuse off)";
                weaken(&mut report, vec![reuse_not_explored(text.to_owned())]);
            }
            _ => {}
        }
    }
    if report.verdict != Verdict::Failure && crate::std_threads::numbers_are_seen() {
        let text = "the program prints a ThreadId: its number depends on which thread makes one first, and was explored with one value";
        weaken(&mut report, vec![Caveat::new(CaveatKind::Inputs, text)]);
    }
    crate::verifier::name_inputs(&mut report);
    drop_advice_for_rust(&mut report);
    // SAFETY: no other thread looks at the environment. The program has a copy of its own.
    unsafe { std::env::remove_var("RADDLE_MAX_SECONDS") };
    for failure in &mut report.failures {
        failure.output = output_of(&config, &failure.replay, program);
    }
    out.say(&report);
    out.leave(report.exit_code())
}

/// How much time is left for further searches.
struct Time {
    started: Instant,
    /// What the user allows for all searches.
    seconds: Option<f64>,
}

impl Time {
    fn start() -> Time {
        Time { started: Instant::now(), seconds: variable("RADDLE_MAX_SECONDS").and_then(|s| s.parse().ok()) }
    }

    /// Gives the rest of the time to the next search. Says whether there is any.
    fn give_rest(&self) -> bool {
        let Some(seconds) = self.seconds else { return true };
        let left = seconds - self.started.elapsed().as_secs_f64();
        if left > 0.0 {
            // SAFETY: no other thread looks at the environment. The program has a copy of its own.
            unsafe { std::env::set_var("RADDLE_MAX_SECONDS", left.to_string()) };
        }
        left > 0.0
    }

    /// Lets the next search take as long as its own limit says.
    fn allow_more(&self) {
        // SAFETY: no other thread looks at the environment. The program has a copy of its own.
        unsafe { std::env::remove_var("RADDLE_MAX_SECONDS") };
    }
}

/// Explores a Rust test again where it fails, with patience: tests of real crates rely on sleeps that are long enough and on limits that are
/// not reached. If nothing fails then, the report is about that, and names the failure as a caveat. Says whether a replay needs patience.
fn with_patience(config: &mut Config, report: &mut Report, time: &Time, program: fn()) -> bool {
    let asked = variable("RADDLE_TIMEOUTS").is_some() || variable("RADDLE_REPLAY").is_some();
    let other = report.failures.iter().any(|f| f.kind == FailureKind::Nondeterminism);
    if asked
        || other
        || report.verdict != Verdict::Failure
        || !crate::rust_tests::is_rust()
        || !runtime::take_time_passed()
    {
        return false;
    }
    // A failing execution in which no time passes does not depend on it. To see that takes one execution, whatever the limit.
    time.allow_more();
    let depends_on_time = |f: &explore::Failure| {
        let mut stopped = false;
        if f.replay.parse::<explore::Schedule>().is_ok() {
            let again = config.clone().replay(&f.replay).shrink(false).max_time(Duration::from_secs(1));
            stopped = again.run(program).stopped.is_some();
        }
        runtime::take_time_passed() || stopped
    };
    if !report.failures.iter().all(depends_on_time) {
        return false;
    }
    let most = Duration::from_secs_f64(10.0f64.max(4.0 * report.seconds));
    let patient = config.clone().timeouts("patient").max_time(most);
    let failures = if time.give_rest() {
        let second = patient.clone().last_words(write_last_words).run(program);
        // Where no execution comes to its end, nothing was seen that does not fail.
        if second.stats.executions == 0 && !matches!(second.verdict, Verdict::Failure | Verdict::Incomplete) {
            return false;
        }
        let first = std::mem::replace(report, second);
        *config = patient;
        if report.verdict == Verdict::Failure {
            return true;
        }
        first.failures
    } else {
        cut_before_patience(report, time)
    };
    let caveats = failures.iter().map(|f| {
        let text = format!(
            "a failure that needs a timeout, the end of a sleep or a late reading of the clock before other threads have run is left out: {} \
             (--timeouts any reports it)",
            f.message.trim_end()
        );
        f.location.iter().cloned().fold(Caveat::new(CaveatKind::Patient, text), Caveat::at)
    });
    weaken(report, caveats.collect());
    false
}

/// No time is left to see whether the test fails with patience too: the report is of a search that stopped early. Gives the failures.
fn cut_before_patience(report: &mut Report, time: &Time) -> Vec<explore::Failure> {
    let text = "the time limit, before the test could be explored with patience".to_owned();
    let reason = explore::StopReason::Time;
    report.stopped =
        Some(explore::Stop { reason, text, location: None, thread: None, replay: String::new() });
    report.verdict = Verdict::Incomplete;
    let spent = time.seconds.map(|s| report::spent(explore::Spent::Seconds(s)));
    let everything = explore::Promise::Everything;
    let spent = spent.as_deref();
    report.guarantee =
        report::guarantee(report.verdict, &everything, &report.stats, spent, None, &report.caveats);
    std::mem::take(&mut report.failures)
}

/// Where the last words of the process go.
static mut LAST: *mut Out = std::ptr::null_mut();

/// The search does not stop: ends the process, with a report of what was covered. For the handler of signals.
pub(crate) fn last_words() -> ! {
    crate::own_heap::last_words();
    // SAFETY: the search was interrupted on this OS thread, and never goes on.
    unsafe { runtime::write_last_words() };
    leave(3)
}

fn write_last_words(mut report: Report) {
    // SAFETY: set before the search began; the code that uses it was interrupted and never goes on.
    let out = unsafe { &mut *LAST };
    drop_advice_for_rust(&mut report);
    out.say(&report);
}

/// Explores the program again, with addresses that come back, if nothing was found without. Says whether the report is now about that.
fn with_reuse(config: &Config, report: &mut Report, time: &Time, program: fn()) -> bool {
    let replays = variable("RADDLE_REPLAY").is_some();
    let is_real = |r: &Report| {
        r.verdict == Verdict::Failure && r.failures.iter().all(|f| f.kind != FailureKind::Nondeterminism)
    };
    if is_real(report) || !replays && !report.passed() {
        return false;
    }
    if !time.give_rest() {
        let text = "that malloc gives out the address of a freed block again was not explored (--reuse all, --max-seconds)";
        weaken(report, vec![reuse_not_explored(text.to_owned())]);
        return false;
    }
    crate::reuse::switch(true);
    // So much more may be spent, unless the user says how much.
    let most = 20 * report.stats.executions + 5_000;
    let longest = Duration::from_secs_f64(5.0f64.max(4.0 * report.seconds));
    let second =
        config.clone().max_executions(most).max_time(longest).last_words(write_last_words).run(program);
    if is_real(&second) {
        *report = second;
        return true;
    }
    crate::reuse::switch(false);
    if replays {
        return false;
    }
    let mut caveats: Vec<Caveat> =
        second.caveats.iter().filter(|c| c.kind == CaveatKind::Reuse).cloned().collect();
    if !second.passed() {
        let executions = second.stats.executions;
        caveats.push(reuse_not_explored(format!(
            "that malloc gives out the address of a freed block again was explored in {executions} executions only \
             (--reuse all, --max-executions)"
        )));
    }
    weaken(report, caveats);
    false
}

fn reuse_not_explored(text: String) -> Caveat {
    let caveat = Caveat::new(CaveatKind::Reuse, text);
    crate::reuse::place().into_iter().fold(caveat, Caveat::at)
}

/// Adds caveats that became known after a search that found nothing.
fn weaken(report: &mut Report, caveats: Vec<Caveat>) {
    let complete = matches!(report.verdict, Verdict::Verified | Verdict::NoFailureWithCaveats);
    let any = !caveats.is_empty();
    caveats.into_iter().for_each(|c| c.add_to(&mut report.caveats));
    if any && complete {
        let everything = explore::Promise::Everything;
        report.verdict = Verdict::of(false, true, &everything, &report.caveats);
        report.guarantee =
            report::guarantee(report.verdict, &everything, &report.stats, None, None, &report.caveats);
    }
}

/// The most of the output that is shown.
const MOST_OUTPUT: usize = 16 << 10;

/// What the program writes in the execution that a token names. Most executions are not shown, so it is run again.
fn output_of(config: &Config, token: &str, program: fn()) -> Option<String> {
    token.parse::<explore::Schedule>().ok()?;
    // The failure is known: it need not be shown with its output if that takes long.
    config.clone().replay(token).shrink(false).max_time(Duration::from_secs(1)).run(program);
    let mut text = start::take_output();
    if crate::rust_tests::is_rust() {
        text = crate::rust_tests::without_end(&text);
    }
    if text.len() > MOST_OUTPUT {
        let end = (0..=MOST_OUTPUT).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        text.truncate(end);
        text += "\n... and more";
    }
    (!text.is_empty()).then_some(text)
}

/// Reports a panic of raddle itself, with how to report it, and ends the process: nothing is verified.
fn report_panics(out: &Out) {
    let report = if out.as_json { copy(out.file.as_raw_fd()).ok() } else { None };
    std::panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<String>().map(String::as_str);
        let text =
            text.or(info.payload().downcast_ref::<&str>().copied()).unwrap_or("a panic without a text");
        let at = info.location().map_or_else(String::new, |l| format!(" at {}:{}", l.file(), l.line()));
        let why = format!("internal error in raddle: {text}{at}");
        start::print(&format!(
            "raddle: {why}\nnote: nothing is verified. This is a bug in raddle, not in the program: please report it, with the \
             program, the command line and this text; `--algorithm source` or `--races ignore` may avoid it\n"
        ));
        if let Some(mut file) = report.as_ref().filter(|_| begin_report()) {
            let _ = file.write_all(report::json::render(&Report::cut_short(why)).as_bytes());
        }
        crate::isolate::leave_after_error()
    }));
}

/// Whether the report is to be JSON.
pub(crate) fn wants_json() -> bool {
    variable("RADDLE_JSON").is_some()
}

/// Writes an object where the report goes.
pub(crate) fn write_object(object: &serde_json::Value) {
    write_text(&format!("{object:#}\n"));
}

/// Writes text where the report goes.
pub(crate) fn write_text(text: &str) {
    write_to(crate::start::real_stdout(), text);
}

/// Writes text to a descriptor.
pub(crate) fn write_to(fd: libc::c_int, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the pointer and the length are those of a live slice.
        let n = unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) };
        if n <= 0 {
            return;
        }
        rest = &rest[n as usize..];
    }
}

/// A report has been written, or is being written.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Whether the caller is the first that wants to write a report: no more than one comes out of a process. From now on `raddle check` adds
/// none of its own.
pub(crate) fn begin_report() -> bool {
    if REPORTED.swap(true, Ordering::Relaxed) {
        return false;
    }
    if let Some(path) = variable("RADDLE_DONE").and_then(|d| CString::new(d).ok()) {
        note_done(&path, 3);
    }
    true
}

/// Ends the process, which is no surprise to `raddle check`.
pub(crate) fn leave(code: u8) -> ! {
    done(variable("RADDLE_DONE").and_then(|d| CString::new(d).ok()).as_deref(), code)
}

/// Tells `raddle check` that there is a report.
fn note_done(path: &CStr, code: u8) {
    // SAFETY: the path is a string that ends with a zero byte, and the text has a byte.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC, 0o600);
        libc::write(fd, format!("{code}").as_ptr().cast(), 1);
        libc::close(fd);
    }
}

fn done(path: Option<&CStr>, code: u8) -> ! {
    // SAFETY: the path is a string that ends with a zero byte; `_exit` has no preconditions. Nothing is left to be done, and the
    // destructors of the program are not to run here.
    unsafe {
        if let Some(path) = path {
            note_done(path, code);
        }
        libc::_exit(libc::c_int::from(code))
    }
}

impl Out {
    /// To be called while standard output and standard error are what the process was started with.
    pub(crate) fn prepare(arguments: &[String]) -> Out {
        let by_command = variable("RADDLE_COMMAND");
        let as_json = wants_json();
        // Of a program that was started by itself the report is not the output.
        let to = if by_command.is_some() || as_json { libc::STDOUT_FILENO } else { libc::STDERR_FILENO };
        let file = copy(to).unwrap_or_else(|e| {
            start::die(&format!("there is nowhere to write the report to: {e}"));
        });
        let errors = copy(libc::STDERR_FILENO).ok().map(Arc::new);
        let command = by_command.unwrap_or_else(|| {
            let words: Vec<String> = arguments.iter().map(|a| quoted(a)).collect();
            format!("RADDLE_REPLAY={{token}} {}", words.join(" "))
        });
        let done = variable("RADDLE_DONE").and_then(|d| CString::new(d).ok());
        let mut caveats = noted_by_compiler().unwrap_or_default();
        // The command that made the program may know more.
        for line in variable("RADDLE_CAVEATS").iter().flat_map(|u| u.lines()) {
            read_caveat(line).add_to(&mut caveats);
        }
        // Opened now: the search may end where nothing can be opened.
        let summary =
            variable("RADDLE_SUMMARY").and_then(|path| copy(File::create(path).ok()?.as_raw_fd()).ok());
        Out { file, errors, as_json, command, caveats, done, summary }
    }

    /// The command that replays a failure needs an option, or a variable where no command of ours started the program.
    fn name_option(&mut self, option: &str, variable: &str) {
        self.command = match self.command.contains("--replay") {
            true => self.command.replace("--replay", &format!("{option} --replay")),
            false => format!("{variable} {}", self.command),
        };
    }

    fn style(&self) -> report::Style {
        let terminal = self.file.is_terminal();
        let colour = terminal && variable("NO_COLOR").is_none_or(|v| v.is_empty());
        let width = if terminal { columns(&self.file) } else { None };
        let full = variable("RADDLE_TRACE").is_some_and(|v| v == "full");
        let usual = report::Style::default();
        let rows = if full { usize::MAX } else { usual.rows };
        let width = width.unwrap_or(usual.width).clamp(40, 160);
        report::Style { colour, width, rows, command: Some(self.command.clone()), ..usual }
    }

    /// Writes the report as it was asked for, if there is none yet.
    fn say(&mut self, report: &Report) {
        if !begin_report() {
            return;
        }
        let text = match (self.as_json, variable("RADDLE_QUIET").is_some()) {
            (true, _) => report::json::render(report),
            (false, true) => String::new(),
            (false, false) => report::text::render(report, &self.style()),
        };
        self.write(&text);
        if let Some(summary) = &mut self.summary {
            // Whoever asked for it does without.
            let _ = summary.write_all(report::json::render(report).as_bytes());
        }
    }

    /// A reader that has gone away is no error.
    fn write(&mut self, text: &str) {
        if let Err(error) = self.file.write_all(text.as_bytes())
            && error.kind() != std::io::ErrorKind::BrokenPipe
        {
            start::die(&format!("cannot write the report: {error}"));
        }
    }

    fn leave(&self, code: u8) -> ! {
        done(self.done.as_deref(), code)
    }
}

/// A copy of a descriptor, above what programs count on for files of their own.
fn copy(fd: libc::c_int) -> std::io::Result<File> {
    for least in [500, 3] {
        // SAFETY: copying a descriptor has no preconditions.
        let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, least) };
        if copy >= 0 {
            // SAFETY: the descriptor was made above and is nobody else's.
            return Ok(unsafe { File::from_raw_fd(copy) });
        }
    }
    Err(std::io::Error::last_os_error())
}

fn columns(file: &File) -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize` to the address given, which is that of a live local of this type.
    let result = unsafe { libc::ioctl(file.as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (result == 0 && size.ws_col > 0).then_some(size.ws_col as usize)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn check_names() {
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("RADDLE_") && !VARIABLES.contains(&&*name) {
            start::die(&format!("there is no variable {name}; `raddle --help` lists them"));
        }
    }
    if let Some(model) = variable("RADDLE_MEMORY").filter(|m| m != "sc") {
        start::die(&format!(
            "RADDLE_MEMORY={model}: the only supported memory model is `sc`, sequential consistency"
        ));
    }
}

/// What the settings leave out.
fn left_out_by_settings() -> impl Iterator<Item = Caveat> {
    // Rust without unsafe code has no data races, and unsafe code is named by the command.
    let races = (options().races == Races::Ignore && !crate::rust_tests::is_rust())
        .then(|| Caveat::new(CaveatKind::Races, "data races were not looked for (--races ignore)"));
    let volatile = options().volatile_is_atomic.then(|| {
        let text = "accesses to volatile variables were explored as atomic operations (--volatile atomic)";
        Caveat::new(CaveatKind::MemoryOrder, text)
    });
    races.into_iter().chain(volatile)
}

/// The advice of the library is about Rust tests.
fn drop_advice_for_rust(report: &mut Report) {
    for warning in &mut report.warnings {
        if let Some(at) =
            warning.find(": if they should have, see that the code under test uses raddle's types")
        {
            warning.truncate(at);
        }
    }
}

fn compare(config: &Config, plans: &[Plan], program: fn(), errors: Option<&File>) -> Comparison {
    let say = |text: &str| {
        if let Some(mut terminal) = errors.filter(|e| e.is_terminal()) {
            let _ = write!(terminal, "\r\x1b[2K{text}");
        }
    };
    let begin = |i, plan: &Plan| say(&format!("raddle: {plan} ({} of {})", i + 1, plans.len()));
    let all = config.compare_each(plans, program, begin);
    say("");
    all
}

fn exit_code(table: &Comparison) -> u8 {
    match () {
        () if table.rows.iter().any(|r| r.verdict == Verdict::Failure) => 1,
        () if table.rows.iter().all(|r| r.verdict == Verdict::Incomplete) => 3,
        () => 0,
    }
}

/// One caveat as the command writes it: a JSON object. A line of another form is a caveat of an older build.
fn read_caveat(line: &str) -> Caveat {
    serde_json::from_str(line).unwrap_or_else(|_| Caveat::new(CaveatKind::Uninstrumented, line))
}

/// The caveats that the compiler driver wrote into a section of the executable.
fn noted_by_compiler() -> Option<Vec<Caveat>> {
    let text = section(b"raddle_caveats\0")?;
    let mut all = Vec::new();
    for line in text.split(|b| *b == 0).filter(|l| !l.is_empty()) {
        read_caveat(&String::from_utf8_lossy(line)).add_to(&mut all);
    }
    Some(all)
}

/// Whether all sources are in languages where stores of a thread go on with the release sequences that it has begun: the compiler driver
/// wrote down 1 for each such source, and another number for each other one.
fn own_stores_go_on() -> bool {
    let languages = section(b"raddle_languages\0").unwrap_or_default();
    !languages.is_empty() && languages.iter().all(|l| *l == 1)
}

/// The contents of a section of the executable.
fn section(name: &[u8]) -> Option<Vec<u8>> {
    let mut file = File::open("/proc/self/exe").ok()?;
    let mut header = [0; 64];
    file.read_exact(&mut header).ok()?;
    let number = |bytes: &[u8], at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b))
    };
    let mut read = |at: u64, size: u64| {
        let mut bytes = vec![0; usize::try_from(size).ok().filter(|s| *s < 1 << 30)?];
        file.seek(SeekFrom::Start(at)).ok()?;
        file.read_exact(&mut bytes).ok()?;
        Some(bytes)
    };
    let (size, count) = (number(&header, 58, 2), number(&header, 60, 2));
    let table = read(number(&header, 40, 8), size * count)?;
    let sections: Vec<&[u8]> = table.chunks_exact(usize::try_from(size).ok().filter(|s| *s >= 64)?).collect();
    let names = sections.get(number(&header, 62, 2) as usize)?;
    let names = read(number(names, 24, 8), number(names, 32, 8))?;
    let is_it = |s: &&&[u8]| names.get(number(s, 0, 4) as usize..).unwrap_or_default().starts_with(name);
    let found = sections.iter().find(is_it)?;
    read(number(found, 24, 8), number(found, 32, 8))
}

/// A word that a shell reads as one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-:./=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
