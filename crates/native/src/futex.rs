//! The system call `futex`, as the kernel does it: a lock that nobody sees, a look at the word, and a queue.
//!
//! To wait is to load the word, to take the hidden lock, to load the word again, and, if it is what was expected, to give the lock back and
//! wait in one step. A wait that ends spuriously or by its limit does the first of these alone. To wake is to take the lock, to notify, and to give it back. So a wake-up that comes after the word was changed
//! either finds the waiter in the queue, or the waiter finds the new word.
//!
//! C++'s `atomic::wait`, `std::latch`, semaphores, barriers and futures, and all of Rust's std stand on this. For other system
//! calls see `system_calls.rs`.

use crate::shim::{Call, call, export_raw};
use crate::sync::{On, SECOND, not_modelled, with_errno};
use crate::{atomics, shim, std_locks, time};
use explore::OpKind;
use runtime::{Class, Ended};
use std::time::Duration;

type Long = libc::c_long;

const RELAXED: i32 = 0;
const ANY: u32 = u32::MAX;
/// The word of a thread of Rust that was unparked.
const UNPARKED: u32 = 1;

fn queue(word: usize) -> On {
    On::new(word, Class::Condvar)
}

fn lock(word: usize) -> On {
    On::new(word + SECOND, Class::Mutex)
}

/// Waits; gives 0 or an error.
fn wait(word: usize, expected: u32, limit: Option<Limit>, call: Call) -> i32 {
    let look = |call: Call| atomics::load_at::<u32>(word, RELAXED, call) == expected;
    if !look(call) {
        return libc::EAGAIN;
    }
    let (queue, lock) = (&queue(word).entry().handle, &lock(word).entry().handle);
    let left = limit.as_ref().map(Limit::left);
    // The second look is another one than that of a loop around this.
    let again = || look(call.with(1));
    match (limit, runtime::wait_once(queue, lock, left, again, call.state, call.place)) {
        (Some(limit), Ended::TimedOut) => {
            limit.reach();
            libc::ETIMEDOUT
        }
        _ => 0,
    }
}

/// When a wait ends.
#[derive(Clone, Copy)]
enum Limit {
    /// At a time of a clock.
    At(libc::clockid_t, *const libc::timespec),
    After(Duration),
}

impl Limit {
    /// How long that is from now.
    fn left(&self) -> Duration {
        match *self {
            Limit::At(clock, time) => time::left(clock, time),
            Limit::After(duration) => duration,
        }
    }

    fn reach(&self) {
        match *self {
            Limit::At(clock, time) => time::reach(clock, time),
            // A wait for a duration of 0 also moves the clock, so that loops around it end.
            Limit::After(duration) => {
                time::pass(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).saturating_add(1));
            }
        }
    }
}

/// Wakes so many; gives how many there were.
fn wake(word: usize, most: u32, call: Call) -> Long {
    lock(word).step(OpKind::Lock, call);
    let mut woken = 0;
    if most >= explore::MAX_THREADS as u32 {
        let done = queue(word).step(OpKind::NotifyAll, call);
        woken = if done.ok { done.value as Long } else { 0 };
    } else {
        while woken < most as Long && queue(word).step(OpKind::NotifyOne, call).ok {
            woken += 1;
        }
    }
    lock(word).step(OpKind::Unlock, call);
    woken
}

/// The system call, in an execution.
fn futex(word: usize, op: i32, value: u32, time: usize, mask: u32, call: Call) -> Long {
    runtime::settle();
    if crate::quiet::is_quiet(word) {
        not_modelled("that a lock of std is held by a thread that another one interrupts", call);
    }
    // The kernel's own lock and queue order nothing: what is published is published by the word.
    for hidden in [queue(word), lock(word)] {
        runtime::hush(&hidden.entry().handle, hidden.class, call.place);
    }
    let clock =
        if op & libc::FUTEX_CLOCK_REALTIME != 0 { libc::CLOCK_REALTIME } else { libc::CLOCK_MONOTONIC };
    let time = time as *const libc::timespec;
    // Commands that wake have something else in its place.
    let after = || {
        // SAFETY: a command that waits has a time here or nothing.
        let t = unsafe { time.as_ref() }?;
        Some(Limit::After(Duration::new(t.tv_sec.max(0) as u64, t.tv_nsec.clamp(0, 999_999_999) as u32)))
    };
    let until = || match std_locks::has_duration(shim::return_address()) {
        _ if time.is_null() => None,
        true => Some(Limit::After(time::since_start(clock, time))),
        false => Some(Limit::At(clock, time)),
    };
    let command = op & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    if matches!(command, libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_LOCK_PI) && !time.is_null()
    {
        crate::access::access(time as usize, size_of::<libc::timespec>(), false, call);
    }
    match command {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET
            if time.is_null() && std_locks::waits_for_change(shim::return_address()) =>
        {
            let ends = std_locks::parks(shim::return_address())
                && runtime::ends_spuriously(
                    &queue(word).entry().handle,
                    Class::Condvar,
                    call.state,
                    call.place,
                );
            if ends {
                // As if somebody had unparked it: the function would not return otherwise.
                let _ = atomics::exchange_in(word, value, UNPARKED, (RELAXED, RELAXED), false, call);
            } else {
                std_locks::wait_for_change(word, value, call);
            }
            0
        }
        libc::FUTEX_WAIT => with_errno(wait(word, value, after(), call)) as Long,
        libc::FUTEX_WAIT_BITSET if mask == ANY => with_errno(wait(word, value, until(), call)) as Long,
        libc::FUTEX_WAKE => wake(word, value, call),
        libc::FUTEX_WAKE_BITSET if mask == ANY => wake(word, value, call),
        libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAKE_BITSET => {
            not_modelled("a futex that is waited for or woken with a bit set", call)
        }
        other => not_modelled(&format!("futex operation {other}"), call),
    }
}

/// Wakes all that wait for a word, on behalf of code whose system calls are not seen.
pub(crate) fn wake_all(word: usize, call: Call) {
    crate::signals::quietly(|| futex(word, libc::FUTEX_WAKE, i32::MAX as u32, 0, 0, call));
}

extern "C" fn system_call(n: Long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> Long {
    if n == libc::SYS_getrandom && runtime::in_execution() {
        crate::rust_tests::fill(a as *mut u8, b);
        return b as Long;
    }
    if n != libc::SYS_futex || !runtime::in_execution() {
        return system_call_inside(n, a, b, c, d, e, f);
    }
    let call = call();
    crate::signals::point_before(call);
    crate::signals::quietly(|| futex(a, b as i32, c as u32, d, f as u32, call))
}

extern "C" fn system_call_inside(
    n: Long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> Long {
    crate::real::real!(syscall(n, a, b, c, d, e, f):
        fn(Long, usize, usize, usize, usize, usize, usize) -> Long)
}

export_raw! {
    raddle_system_call => system_call, system_call_inside;
}
