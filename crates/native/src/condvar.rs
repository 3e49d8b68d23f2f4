//! Condition variables.
//!
//! How a wait ends is decided when it is called: by a notification, by its time limit, or spuriously. One that ends by a
//! notification releases the mutex and begins to wait in one step; to be woken is a step, and to take the mutex again is another
//! one. The others release the mutex and take it again.
//!
//! With which mutex threads wait is kept in the memory of the condition variable.

use crate::mutex::{Held, Kind};
use crate::real::real;
use crate::shim::{Call, call, export};
use crate::sync::{Inside, On, at, is_modelled, put};
use crate::{changes, time};
use runtime::{Class, Ended};

type Cond = *mut libc::pthread_cond_t;
type Mutex = *mut libc::pthread_mutex_t;
type Code = libc::c_int;

const STATE: usize = 0;
const MUTEX: usize = 16;
/// Where the C library keeps the clock of the condition variable, as bit 1.
const FLAGS: usize = 36;
/// Where a condition variable keeps its address: the C library has sizes of groups of waiters there.
const OWN: usize = 24;
const DESTROYED: u64 = u64::MAX;

fn used(cond: Cond, call: Call) -> On {
    let on = On::new(cond as usize, Class::Condvar);
    on.used(call);
    // SAFETY: the program hands in a condition variable.
    if unsafe { at::<u64>(cond as usize, STATE) } == DESTROYED {
        on.misuse("it is used after it was destroyed", call);
    }
    on.is_original(cond as usize + OWN, call);
    // SAFETY: as above.
    if on.word() != 0 && unsafe { at::<usize>(cond as usize, MUTEX) } == 0 {
        on.misuse("its memory was overwritten while a thread waits on it", call);
    }
    on
}

pub(crate) extern "C" fn init(cond: Cond, attributes: *const libc::pthread_condattr_t) -> Code {
    crate::libc::reads_attributes(attributes, 4);
    let code = real!(pthread_cond_init(cond, attributes): fn(Cond, *const libc::pthread_condattr_t) -> Code);
    if is_modelled(cond as usize) && code == 0 {
        let call = call();
        let on = On::new(cond as usize, Class::Condvar);
        on.made(call);
        on.put(0, call);
        on.stamp(cond as usize + OWN);
    }
    code
}

pub(crate) extern "C" fn destroy(cond: Cond) -> Code {
    if !is_modelled(cond as usize) {
        return real!(pthread_cond_destroy(cond): fn(Cond) -> Code);
    }
    let call = call();
    let on = On::new(cond as usize, Class::Condvar);
    on.destroyed(call);
    // SAFETY: the program hands in a condition variable.
    unsafe {
        if at::<u64>(cond as usize, STATE) == DESTROYED {
            on.misuse("it is destroyed twice", call);
        }
        if on.word() != 0 {
            on.misuse("it is destroyed while a thread waits on it", call);
        }
        put(cond as usize, STATE, DESTROYED);
    }
    0
}

/// Waits; gives 0, `EPERM`, or, when there is a time limit, `ETIMEDOUT`.
fn wait_on(
    cond: Cond,
    mutex: Mutex,
    limit: Option<(libc::clockid_t, *const libc::timespec)>,
    call: Call,
) -> Code {
    if limit.is_some_and(|(_, until)| !time::is_valid(until)) {
        return libc::EINVAL;
    }
    runtime::settle();
    crate::signals::point_before(call);
    let on = used(cond, call);
    let held = Held::new(mutex as usize, call);
    if !held.is_mine() {
        if held.kind == Kind::Checking {
            return libc::EPERM;
        }
        held.on.misuse("a thread that does not hold it waits on a condition variable with it", call);
    }
    if held.again() > 0 {
        let what = "a thread waits on a condition variable while it has locked this recursive mutex more than once: the wait \
                    would not unlock it";
        held.on.misuse(what, call);
    }
    let address = cond as usize;
    // SAFETY: the program hands in a condition variable, whose memory is ours to use.
    unsafe {
        let other = |i: &&Inside| i.mutex != mutex as usize && runtime::is_queued(i.thread);
        if on.waiting().find(other).is_some() {
            on.misuse("two threads wait on it with two different mutexes", call);
        }
        put(address, MUTEX, mutex as usize);
    }
    on.enters_wait(mutex as usize);
    let change = changes::given_back();
    held.release();
    let left = limit.map(|(clock, until)| time::left(clock, until));
    let (condvar, mutex) = (&on.entry().handle, &held.on.entry().handle);
    // SAFETY: one OS thread alone runs code of the program.
    if unsafe { crate::signals::ACTIVE } {
        let text = "a signal that comes while its thread waits on a condition variable was explored before the wait and at its spurious ends only";
        runtime::caveat_at(explore::CaveatKind::Signal, text, call.place);
    }
    let ended = runtime::wait_in(condvar, mutex, change, left, call.state, call.place);
    held.take();
    on.leaves_wait(call);
    match limit {
        Some((clock, until)) if ended == Ended::TimedOut => {
            time::reach(clock, until);
            libc::ETIMEDOUT
        }
        _ => 0,
    }
}

pub(crate) extern "C" fn wait(cond: Cond, mutex: Mutex) -> Code {
    if !is_modelled(cond as usize) {
        return real!(pthread_cond_wait(cond, mutex): fn(Cond, Mutex) -> Code);
    }
    wait_on(cond, mutex, None, call())
}

pub(crate) extern "C" fn timed_wait(cond: Cond, mutex: Mutex, until: *const libc::timespec) -> Code {
    if !is_modelled(cond as usize) {
        return real!(pthread_cond_timedwait(cond, mutex, until): fn(Cond, Mutex, *const libc::timespec) -> Code);
    }
    // SAFETY: the program hands in a condition variable.
    let monotonic = unsafe { at::<u32>(cond as usize, FLAGS) } & 2 != 0;
    let clock = if monotonic { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
    wait_on(cond, mutex, Some((clock, until)), call())
}

extern "C" fn clock_wait(
    cond: Cond,
    mutex: Mutex,
    clock: libc::clockid_t,
    until: *const libc::timespec,
) -> Code {
    if !is_modelled(cond as usize) {
        return real!(pthread_cond_clockwait(cond, mutex, clock, until):
            fn(Cond, Mutex, libc::clockid_t, *const libc::timespec) -> Code);
    }
    if !crate::time::is_clock_of_waits(clock) {
        return libc::EINVAL;
    }
    wait_on(cond, mutex, Some((clock, until)), call())
}

fn notify(cond: Cond, all: bool) -> Code {
    let call = call();
    runtime::settle();
    let on = used(cond, call);
    runtime::notify(&on.entry().handle, all, call.place);
    0
}

pub(crate) extern "C" fn signal(cond: Cond) -> Code {
    if !is_modelled(cond as usize) {
        return real!(pthread_cond_signal(cond): fn(Cond) -> Code);
    }
    notify(cond, false)
}

pub(crate) extern "C" fn broadcast(cond: Cond) -> Code {
    if !is_modelled(cond as usize) {
        return real!(pthread_cond_broadcast(cond): fn(Cond) -> Code);
    }
    notify(cond, true)
}

export! {
    pthread_cond_init => init;
    pthread_cond_destroy => destroy;
    pthread_cond_wait => wait;
    pthread_cond_timedwait => timed_wait;
    pthread_cond_clockwait => clock_wait;
    pthread_cond_signal => signal;
    pthread_cond_broadcast => broadcast;
}
