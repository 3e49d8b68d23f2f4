//! CPU time, for comparisons: other work on the machine does not count.

/// CPU seconds that the calling OS thread has used so far. A check runs on one OS thread, so the difference of two readings is what
/// it cost, whatever else the process does.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec` to the address given, which is that of a live local of this type.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "a thread has a CPU clock");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
