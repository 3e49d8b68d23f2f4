//! Time of the processor.

use std::io;
use std::process::Child;
use std::time::{Duration, Instant};

/// What this process has used so far, in seconds.
pub(crate) fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value of this type that lives until the call is over, and nothing else has it.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "there is a clock of this process");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Waits until a process ends, or ends it when its time is over: whether it ended by itself.
pub(crate) fn wait(child: &mut Child, limit: Duration) -> io::Result<bool> {
    let start = Instant::now();
    loop {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        if start.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
