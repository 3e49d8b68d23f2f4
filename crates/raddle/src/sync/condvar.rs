//! Waiting for a condition.

use super::{LockResult, MutexGuard, PoisonError};
use crate::object::Live;
use runtime::{Class, Ended, Place};
use std::cell::UnsafeCell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::time::Duration;

/// std's `Condvar`. A notification wakes any of the waiters, a wait may also end spuriously, as often as the test can tell apart, and a
/// timed wait may time out at once: all of that is explored.
///
/// ```
/// use raddle::sync::{Arc, Condvar, Mutex};
///
/// raddle::check(|| {
///     let pair = Arc::new((Mutex::new(false), Condvar::new()));
///     let setter = raddle::thread::spawn({
///         let pair = pair.clone();
///         move || {
///             *pair.0.lock().unwrap() = true;
///             pair.1.notify_one();
///         }
///     });
///     let mut ready = pair.0.lock().unwrap();
///     while !*ready {
///         ready = pair.1.wait(ready).unwrap();
///     }
///     drop(ready);
///     setter.join().unwrap();
/// });
/// ```
pub struct Condvar {
    handle: Live,
    waiters: UnsafeCell<Waiters>,
}

/// Who waits, to notice two mutexes with one condition variable.
#[derive(Clone, Copy)]
struct Waiters {
    mutex: usize,
    count: usize,
}

// SAFETY: `waiters` is plain data without owner, read and written only in `with_waiters`, between two steps of one controlled
// thread; no other controlled thread runs then.
unsafe impl Send for Condvar {}
// SAFETY: as above. For a condition variable in a static each execution, and so each OS thread, has its own copy.
unsafe impl Sync for Condvar {}

impl UnwindSafe for Condvar {}
impl RefUnwindSafe for Condvar {}

/// Whether a timed wait ended because the time was over.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it did.
    #[must_use]
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Makes one that nobody waits on.
    #[inline]
    #[must_use]
    pub const fn new() -> Condvar {
        Condvar { handle: Live::new(), waiters: UnsafeCell::new(Waiters { mutex: 0, count: 0 }) }
    }

    fn with_waiters<R>(&self, f: impl FnOnce(&mut Waiters) -> R) -> R {
        let waiters = runtime::data(&self.handle, Class::Condvar, self.waiters.get());
        // SAFETY: the data lives as long as the condition variable or the execution; the reference ends with this call, in which
        // there is no step, so no other thread has one.
        f(unsafe { &mut *waiters })
    }

    /// Waits; says how that ended.
    // Inlined for the sake of the local state that the runtime takes.
    #[inline(always)]
    fn wait_on<T: ?Sized>(&self, guard: &MutexGuard<'_, T>, limit: Option<Duration>, place: Place) -> Ended {
        let mutex = std::ptr::from_ref(guard.handle()).addr();
        let same = self.with_waiters(|w| {
            let same = w.count == 0 || w.mutex == mutex;
            if same {
                *w = Waiters { mutex, count: w.count + 1 };
            }
            same
        });
        assert!(same, "attempted to use a condition variable with two mutexes (at {place})");
        /// Counts the waiter out, also when the execution is given up while it waits.
        struct Gone<'a>(&'a Condvar);
        impl Drop for Gone<'_> {
            fn drop(&mut self) {
                self.0.with_waiters(|w| w.count = w.count.saturating_sub(1));
            }
        }
        let gone = Gone(self);
        let ended = runtime::wait(&self.handle, guard.handle(), guard.take_changed(), limit, place);
        drop(gone);
        ended
    }

    /// Gives the mutex back, waits for a notification, and takes the mutex again.
    ///
    /// # Errors
    ///
    /// Fails, with the guard, if the mutex is poisoned when it is taken again.
    ///
    /// # Panics
    ///
    /// Panics if another thread waits with another mutex, which std allows itself to do.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_on(&guard, None, Place::caller());
        if guard.flag().get() { Err(PoisonError::new(guard)) } else { Ok(guard) }
    }

    /// Waits while the condition holds.
    ///
    /// # Errors
    ///
    /// As [`wait`](Condvar::wait).
    #[track_caller]
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while holds(&mut guard, &mut condition) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits for a notification or for the time to run out; says whether it was a notification.
    ///
    /// # Errors
    ///
    /// As [`wait`](Condvar::wait).
    #[deprecated(since = "0.1.0", note = "replaced by `wait_timeout`, as in std")]
    #[track_caller]
    pub fn wait_timeout_ms<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        ms: u32,
    ) -> LockResult<(MutexGuard<'a, T>, bool)> {
        match self.wait_timeout(guard, Duration::from_millis(u64::from(ms))) {
            Ok((guard, result)) => Ok((guard, !result.timed_out())),
            Err(poison) => {
                let (guard, result) = poison.into_inner();
                Err(PoisonError::new((guard, !result.timed_out())))
            }
        }
    }

    /// Waits for a notification or for the time to run out. Both are explored, however long the time is (unless
    /// [`Config::timeouts`](crate::Config::timeouts) is patient); and it may end spuriously, before the time is over.
    ///
    /// # Errors
    ///
    /// As [`wait`](Condvar::wait).
    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        runtime::clock_start_wait(crate::time::nanoseconds(dur));
        let ended = self.wait_on(&guard, Some(dur), Place::caller());
        if ended == Ended::TimedOut {
            runtime::clock_end_wait();
        }
        let poisoned = guard.flag().get();
        let result = (guard, WaitTimeoutResult(ended == Ended::TimedOut));
        if poisoned { Err(PoisonError::new(result)) } else { Ok(result) }
    }

    /// Waits while the condition holds, or until the time runs out.
    ///
    /// # Errors
    ///
    /// As [`wait`](Condvar::wait).
    #[track_caller]
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let mut over = false;
        loop {
            if !holds(&mut guard, &mut condition) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            if over {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let (again, result) = self.wait_timeout(guard, dur)?;
            guard = again;
            over = result.timed_out();
        }
    }

    /// Wakes one waiter, any of them.
    #[inline]
    #[track_caller]
    pub fn notify_one(&self) {
        runtime::notify(&self.handle, false, Place::caller());
    }

    /// Wakes all waiters.
    #[inline]
    #[track_caller]
    pub fn notify_all(&self) {
        runtime::notify(&self.handle, true, Place::caller());
    }
}

/// Whether the condition holds. One that leaves the bytes of the data as they are has not changed it, although it could.
fn holds<T>(guard: &mut MutexGuard<'_, T>, condition: &mut impl FnMut(&mut T) -> bool) -> bool {
    let changed = guard.take_changed();
    let before = Bytes::of(&**guard);
    let holds = condition(&mut **guard);
    if !changed && before.0.is_some() && before == Bytes::of(&**guard) {
        guard.take_changed();
    }
    holds
}

/// The bytes of a value, those between its fields too; as many as are worth to compare.
#[derive(PartialEq)]
struct Bytes(Option<[u8; 64]>);

impl Bytes {
    fn of<T>(value: &T) -> Bytes {
        let size = size_of::<T>();
        Bytes((size <= 64).then(|| {
            let mut bytes = [0; 64];
            let from = std::ptr::from_ref(value).cast::<u8>();
            for (i, byte) in bytes.iter_mut().enumerate().take(size) {
                // SAFETY: it lies inside the value. Bytes between fields may never have been written, so the compiler must not
                // look at them as a value of ours.
                *byte = unsafe { from.add(i).read_volatile() };
            }
            bytes
        }))
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}
