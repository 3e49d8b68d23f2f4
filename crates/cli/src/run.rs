//! Runs a program that explores itself, as a child: with addresses that do not change, the terminal and the signals handed on, and the
//! end of the search told from other ends.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// How a program is started.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [String],
    pub(crate) variables: &'a [(&'static str, String)],
    pub(crate) gdb: bool,
    /// The time limit of the search.
    pub(crate) seconds: Option<f64>,
}

/// How it ended.
pub(crate) enum Ended {
    /// With a report, and this exit code.
    Reported(u8),
    /// Otherwise, and what that was.
    Otherwise(String, Option<u8>),
    /// Ours was the debugger.
    Debugged(u8),
}

static CHILD: AtomicI32 = AtomicI32::new(0);
/// We were asked to end.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The signal by which the runtime's timers tell it of the time, and what is added to the number of a signal that is handed on by it.
/// `native/src/crash.rs` has both.
const TICK: libc::c_int = 60;
const HANDED_ON: usize = 1000;

/// How long a program may take to end after its time is up. Its own limits end it before that, unless it is stuck before `main` or has
/// damaged them.
const PATIENCE: Duration = Duration::from_secs(4);

/// Whether we were asked to end while a program ran.
pub(crate) fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// What ends us is for the child, which ends, and we after it.
extern "C" fn hand_on(signal: libc::c_int) {
    let child = CHILD.load(Ordering::Relaxed);
    if child > 0 {
        INTERRUPTED.store(true, Ordering::Relaxed);
        let of_search = [libc::SIGINT, libc::SIGTERM].contains(&signal);
        let value = libc::sigval { sival_ptr: (HANDED_ON + signal as usize) as *mut libc::c_void };
        // SAFETY: these calls may be made in a handler, and have no preconditions.
        unsafe {
            // The program may have a handler of its own for the signal, so the search is told in another way.
            if !of_search || libc::sigqueue(child, TICK, value) != 0 {
                libc::kill(child, signal);
            }
        }
    }
}

pub(crate) fn run(start: &Start<'_>, done: &Path) -> Result<Ended, String> {
    let mut command =
        if start.gdb { debugger(start, &done.with_extension("gdb"))? } else { Command::new(start.program) };
    command.args(start.args).env("RADDLE_DONE", done);
    if let Some(name) = start.program.file_name().filter(|_| !start.gdb) {
        // The directory is another one each time, and the program must find the same each time.
        command.arg0(name);
    }
    for (name, value) in start.variables {
        command.env(name, value);
    }
    if !start.gdb {
        // SAFETY: only system calls that may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                let now = libc::personality(0xffff_ffff);
                if now != -1 {
                    libc::personality((now | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);
                }
                // A search must not go on for ever when nobody is there to read what it finds.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: the handler makes one system call. A new program starts without handlers.
        unsafe { libc::signal(signal, hand_on as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    }
    let mut child = command.spawn().map_err(|e| match (start.gdb, e.kind()) {
        (true, std::io::ErrorKind::NotFound) => {
            "there is no gdb: install it (Debian, Ubuntu: `apt install gdb`), or leave --gdb out".to_owned()
        }
        _ => format!("cannot start {}: {e}", command.get_program().display()),
    })?;
    // In a terminal gdb is told by the terminal, and it decides what to make of it.
    CHILD.store(if start.gdb { 0 } else { child.id() as i32 }, Ordering::Relaxed);
    let last = start.seconds.map(|s| Instant::now() + Duration::from_secs_f64(s.min(1e9)) + PATIENCE);
    let ended = wait(&mut child, last);
    CHILD.store(0, Ordering::Relaxed);
    let ended = ended.map_err(|e| format!("cannot wait for the program: {e}"))?;
    // There is a report already, and it says that the search stopped, or the process would have ended by itself.
    if !start.gdb && ended.is_none_or(|s| s.code().is_none()) && done.exists() {
        return Ok(Ended::Reported(3));
    }
    let Some(status) = ended else {
        let seconds = start.seconds.unwrap_or_default();
        return Ok(Ended::Otherwise(
            format!("the program did not stop after {seconds} s and was killed"),
            None,
        ));
    };
    Ok(match status.code() {
        Some(code) if start.gdb => Ended::Debugged(u8::try_from(code).unwrap_or(1)),
        Some(code) if done.exists() => Ended::Reported(u8::try_from(code).unwrap_or(2)),
        code => Ended::Otherwise(say(status), code.and_then(|c| u8::try_from(c).ok())),
    })
}

/// Waits for the program. One that has not ended at `last`, or some time after we were asked to end, is killed.
fn wait(child: &mut Child, last: Option<Instant>) -> std::io::Result<Option<ExitStatus>> {
    let mut asked: Option<Instant> = None;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if was_interrupted() {
            asked.get_or_insert_with(Instant::now);
        }
        let late = last.is_some_and(|at| Instant::now() >= at);
        if late || asked.is_some_and(|at| at.elapsed() >= PATIENCE) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn say(status: ExitStatus) -> String {
    let what = match (status.code(), status.signal()) {
        (Some(code), _) => {
            return format!("the program's process ended with exit code {code} before the search did");
        }
        (_, Some(libc::SIGKILL)) => "SIGKILL, perhaps because memory ran out".to_owned(),
        (_, Some(signal)) => name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned),
        _ => status.to_string(),
    };
    format!("the program's process was ended by {what} before the search was over")
}

fn name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGINT => "SIGINT",
        libc::SIGTERM => "SIGTERM",
        libc::SIGHUP => "SIGHUP",
        libc::SIGQUIT => "SIGQUIT",
        libc::SIGSEGV => "SIGSEGV, in code that runs before `main` or in raddle itself,",
        libc::SIGABRT => "SIGABRT, in code that runs before `main` or in raddle itself,",
        libc::SIGBUS => "SIGBUS",
        libc::SIGFPE => "SIGFPE",
        libc::SIGILL => "SIGILL",
        libc::SIGTRAP => "SIGTRAP",
        _ => return None,
    })
}

/// What gdb does first. The signals are the runtime's own; the failure is told in the first argument of the function. The threads of the
/// program are fibers, of which gdb knows nothing: the runtime has a table of where they are. Where gdb knows that the function is one of
/// Rust, it would read what is here as Rust: so it is told that it is C.
const SCRIPT: &str = r#"
set pagination off
set confirm off
set print thread-events off
set print inferior-events off
set breakpoint pending on
set print frame-arguments scalars
set logging file /dev/null
set logging redirect on
set logging enabled on
handle SIGSEGV nostop noprint pass
handle SIGVTALRM nostop noprint pass
handle SIG60 nostop noprint pass
set $raddle_away = 0

define raddle-thread
  set language c
  if $raddle_away == 0
    set $raddle_rip = $rip
    set $raddle_rbp = $rbp
    set $raddle_rsp = $rsp
    set $raddle_away = 1
  end
  set $raddle_place = (unsigned long *) &raddle_thread_places + 3 * $arg0
  set $rbp = $raddle_place[1]
  set $rsp = $raddle_place[1] - 256
  set $rip = $raddle_place[0]
  printf "\n%s:\n", (char *) $raddle_place[2]
  set language auto
end
document raddle-thread
raddle-thread N: go to thread N of the program, as raddle-threads counts them from 0.
Then backtrace, up, down, print and info locals are about it; raddle-back leads back.
end

define raddle-back
  if $raddle_away == 1
    set $rip = $raddle_rip
    set $rbp = $raddle_rbp
    set $rsp = $raddle_rsp
    set $raddle_away = 0
  end
end
document raddle-back
Go back from raddle-thread to where the failure was found.
end

define raddle-threads
  set $raddle_i = 0
  set language c
  set $raddle_threads = *(unsigned long *) &raddle_thread_count
  set language auto
  while $raddle_i < $raddle_threads
    raddle-thread $raddle_i
    backtrace 24
    set $raddle_i = $raddle_i + 1
  end
  raddle-back
end
document raddle-threads
Where each thread of the program is.
end

define hook-continue
  raddle-back
end
define hook-next
  raddle-back
end
define hook-step
  raddle-back
end
define hook-finish
  raddle-back
end

break raddle_failure_found
set logging enabled off
set logging redirect off
commands 1
silent
set language c
printf "\nraddle: %s\n", (char *) $rdi
set $raddle_in_thread = *(unsigned long *) &raddle_found_in_thread
set language auto
if $raddle_in_thread != 0
  printf "\nThe failure was found here:\n"
  backtrace 24
end
printf "\nWhere the threads of the program are (`raddle-thread N` goes there, `raddle-back` back):\n"
raddle-threads
set language c
set $raddle_failed = *(unsigned long *) &raddle_failed_thread
set $raddle_threads = *(unsigned long *) &raddle_thread_count
set language auto
if $raddle_failed < $raddle_threads
  printf "\nYou are in:\n"
  raddle-thread $raddle_failed
  frame
end
end
run
"#;

/// gdb on the program: it stops where the failure is found.
fn debugger(start: &Start<'_>, script: &Path) -> Result<Command, String> {
    std::fs::write(script, SCRIPT).map_err(|e| format!("cannot write {}: {e}", script.display()))?;
    let mut command = Command::new("gdb");
    command.args(["-q", "-x"]).arg(script).arg("--args").arg(start.program);
    Ok(command)
}
