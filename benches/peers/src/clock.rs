//! What this process has used so far.

/// CPU seconds of this process, in user and system mode, over all threads.
pub(crate) fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec` to the address given, which is that of a live local of this type.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "the process has a CPU clock");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// The most memory this process ever had resident, in megabytes (of 2^20 bytes).
pub(crate) fn max_rss_megabytes() -> f64 {
    // SAFETY: all fields of `rusage` are integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes one `rusage` to the address given, which is that of a live local of this type.
    let result = unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    assert_eq!(result, 0, "a process may ask for its own usage");
    let kilobytes = if cfg!(target_vendor = "apple") { usage.ru_maxrss / 1024 } else { usage.ru_maxrss };
    kilobytes as f64 / 1024.0
}
