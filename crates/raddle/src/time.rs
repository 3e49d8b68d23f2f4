//! Time, with std's names and signatures: the clock of the search.
//!
//! Real time says nothing about what a program may do under another schedule, so threads of a check have clocks of their own.
//! A thread may always be late, and is never early. A reading gives the same time as before, or one that is later than every limit
//! that the thread has named so far; both are explored. Sleeps and timeouts move the clock on. Threads that are ordered never see time
//! run backwards.
//!
//! ```
//! use raddle::time::{Duration, Instant};
//!
//! raddle::check(|| {
//!     let start = Instant::now();
//!     raddle::thread::sleep(Duration::from_secs(2));
//!     assert!(start.elapsed() >= Duration::from_secs(2));
//! });
//! ```

use runtime::Place;
use std::fmt;
use std::ops::{Add, AddAssign, Sub, SubAssign};

pub use std::time::{Duration, SystemTimeError, TryFromFloatSecsError};

/// When executions start, on the clock of [`Instant`].
const START: Duration = Duration::from_secs(1_000_000);
/// When executions start, on the clock of [`SystemTime`].
const DATE: Duration = Duration::from_secs(1_700_000_000);

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A time on the clock of the search. See [`std::time::Instant`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Duration);

impl Instant {
    /// The time of the running thread: the same as before, or late.
    ///
    /// # Panics
    ///
    /// Panics outside of a check.
    #[must_use]
    #[inline(always)]
    #[track_caller]
    pub fn now() -> Instant {
        Instant(START + Duration::from_nanos(runtime::clock_read(Place::caller())))
    }

    /// The time from another instant to this one, or zero if that one is later.
    #[must_use]
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// The time from another instant to this one, or `None` if that one is later.
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Instant) -> Option<Duration> {
        self.0.checked_sub(earlier.0)
    }

    /// The time from another instant to this one, or zero if that one is later.
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// The time since this instant. Reads the clock.
    #[must_use]
    #[inline(always)]
    #[track_caller]
    pub fn elapsed(&self) -> Duration {
        let now = Instant(START + Duration::from_nanos(runtime::clock_read(Place::caller())));
        now.duration_since(*self)
    }

    /// A later instant, if there is one.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Instant> {
        let later = Instant(self.0.checked_add(duration)?);
        runtime::clock_limit(nanoseconds(later.0.saturating_sub(START)));
        Some(later)
    }

    /// An earlier instant, if there is one.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Instant> {
        self.0.checked_sub(duration).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, other: Duration) -> Instant {
        self.checked_add(other).expect("overflow when adding duration to instant")
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;

    fn sub(self, other: Duration) -> Instant {
        self.checked_sub(other).expect("overflow when subtracting duration from instant")
    }
}

impl SubAssign<Duration> for Instant {
    fn sub_assign(&mut self, other: Duration) {
        *self = *self - other;
    }
}

impl Sub<Instant> for Instant {
    type Output = Duration;

    fn sub(self, other: Instant) -> Duration {
        self.duration_since(other)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Instant").field(&self.0).finish()
    }
}

/// A date on the clock of the search. See [`std::time::SystemTime`].
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemTime(std::time::SystemTime);

/// The start of 1970.
pub const UNIX_EPOCH: SystemTime = SystemTime::UNIX_EPOCH;

impl SystemTime {
    /// The start of 1970.
    pub const UNIX_EPOCH: SystemTime = SystemTime(std::time::UNIX_EPOCH);

    /// The date of the running thread: the same as before, or late.
    ///
    /// # Panics
    ///
    /// Panics outside of a check.
    #[must_use]
    #[inline(always)]
    #[track_caller]
    pub fn now() -> SystemTime {
        let since_start = Duration::from_nanos(runtime::clock_read(Place::caller()));
        SystemTime(std::time::UNIX_EPOCH + DATE + since_start)
    }

    /// The time from another date to this one.
    ///
    /// # Errors
    ///
    /// Fails, with the time between the two, if that one is later.
    pub fn duration_since(&self, earlier: SystemTime) -> Result<Duration, SystemTimeError> {
        self.0.duration_since(earlier.0)
    }

    /// The time since this date. Reads the clock.
    ///
    /// # Errors
    ///
    /// Fails, with the time between the two, if this date is in the future.
    #[inline(always)]
    #[track_caller]
    pub fn elapsed(&self) -> Result<Duration, SystemTimeError> {
        SystemTime::now().duration_since(*self)
    }

    /// A later date, if there is one.
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<SystemTime> {
        let later = self.0.checked_add(duration)?;
        if let Ok(since) = later.duration_since(std::time::UNIX_EPOCH + DATE) {
            runtime::clock_limit(nanoseconds(since));
        }
        Some(SystemTime(later))
    }

    /// An earlier date, if there is one.
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<SystemTime> {
        self.0.checked_sub(duration).map(SystemTime)
    }
}

impl Add<Duration> for SystemTime {
    type Output = SystemTime;

    fn add(self, duration: Duration) -> SystemTime {
        self.checked_add(duration).expect("overflow when adding duration to date")
    }
}

impl AddAssign<Duration> for SystemTime {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub<Duration> for SystemTime {
    type Output = SystemTime;

    fn sub(self, duration: Duration) -> SystemTime {
        self.checked_sub(duration).expect("overflow when subtracting duration from date")
    }
}

impl SubAssign<Duration> for SystemTime {
    fn sub_assign(&mut self, other: Duration) {
        *self = *self - other;
    }
}

impl fmt::Debug for SystemTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
