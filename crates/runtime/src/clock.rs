//! CPU time, for comparisons: other work on the machine does not count. A time limit that several searches share.

use std::time::Instant;

/// CPU seconds that the calling OS thread has used so far. A check runs on one OS thread, so the difference of two readings is what
/// it cost, whatever else the process does.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec` to the address given, which is that of a live local of this type.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(result, 0, "a thread has a CPU clock");
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// A time limit that several searches share: each has an equal part of what is left. It counts the time that passes.
pub struct TimeShares {
    start: Instant,
    seconds: Option<f64>,
    searches: usize,
}

impl TimeShares {
    /// The limit of so many searches together, from now on.
    pub fn new(seconds: Option<f64>, searches: usize) -> TimeShares {
        TimeShares { start: Instant::now(), seconds, searches }
    }

    /// The seconds of the next search: infinity without a limit, `None` if nothing is left.
    pub fn next_share(&mut self) -> Option<f64> {
        let searches = self.searches.max(1);
        self.searches = searches - 1;
        let Some(seconds) = self.seconds else { return Some(f64::INFINITY) };
        let left = seconds - self.start.elapsed().as_secs_f64();
        (left > 0.0).then(|| left / searches as f64)
    }

    /// Why a search without a share was not run.
    pub const LATE: &str = "not run: the time limit was reached before";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_search_has_an_equal_part_of_what_is_left() {
        let mut shares = TimeShares::new(Some(1e6), 4);
        for searches in [4.0, 3.0, 2.0, 1.0, 1.0] {
            let share = shares.next_share().unwrap();
            assert!(share <= 1e6 / searches && share > 9e5 / searches, "{share} of {searches}");
        }
        assert_eq!(TimeShares::new(None, 2).next_share(), Some(f64::INFINITY));
        assert_eq!(TimeShares::new(Some(0.0), 2).next_share(), None);
    }
}
