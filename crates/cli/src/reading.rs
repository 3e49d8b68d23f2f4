//! Reading C text as automata: on a stack that is deep enough for it, and not for longer than somebody wants to wait.

use std::process::ExitCode;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

/// The stack for reading, and for what works on what was read: expressions may be deep. What is deeper than this holds is refused.
const STACK: usize = 1 << 28;

/// Why there is no answer where reading took too long.
pub(crate) const LATE: &str = "the time is over before the program is read";

/// Does something with the stack that it may need; the exit code.
pub(crate) fn deep(work: impl FnOnce() -> ExitCode + Send) -> ExitCode {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("main".to_owned()).stack_size(STACK);
        match worker.spawn_scoped(scope, work) {
            Ok(worker) => worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(why) => {
                eprintln!("error: cannot start a thread: {why}");
                ExitCode::from(2)
            }
        }
    })
}

/// What reading comes to, if that is known in time.
pub(crate) fn in_time<T: Send + 'static>(
    seconds: f64,
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, String> {
    let (done, result) = std::sync::mpsc::channel();
    // Nothing stops it on its way; whoever waits for it does. Nobody is there to hear of it once the time is over.
    let reader = std::thread::Builder::new().stack_size(STACK).spawn(move || drop(done.send(read())));
    reader.map_err(|e| format!("cannot start a thread: {e}"))?;
    // Duration does not have all numbers of seconds.
    let seconds = Duration::from_secs_f64(seconds.clamp(0.0, 1e9));
    match result.recv_timeout(seconds.max(Duration::from_secs(1))) {
        Ok(read) => Ok(Some(read)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err("the program cannot be read".to_owned()),
    }
}
