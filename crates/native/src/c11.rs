//! `threads.h` of C11, on top of the same: the types are the C library's, and so is what is behind them.

use crate::real::real;
use crate::shim::{call, export};
use crate::threads::Routine;
use crate::{condvar, mutex, threads};
use std::ffi::c_void;

type Mutex = *mut libc::pthread_mutex_t;
type Cond = *mut libc::pthread_cond_t;
type Code = libc::c_int;

const SUCCESS: Code = 0;
const BUSY: Code = 1;
const ERROR: Code = 2;
const NO_MEMORY: Code = 3;
const TIMED_OUT: Code = 4;

fn code(error: Code) -> Code {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ETIMEDOUT => TIMED_OUT,
        libc::ENOMEM => NO_MEMORY,
        _ => ERROR,
    }
}

/// A `thrd_start_t` gives an `int`: its upper half is whatever the register had.
extern "C" fn create(out: *mut libc::pthread_t, routine: Routine, argument: *mut c_void) -> Code {
    if !runtime::in_execution() {
        threads::refuse_before_main();
        return real!(thrd_create(out, routine, argument): fn(*mut libc::pthread_t, Routine, *mut c_void) -> Code);
    }
    code(threads::create(out, std::ptr::null(), routine, argument))
}

extern "C" fn join(thread: libc::pthread_t, out: *mut Code) -> Code {
    if !runtime::in_execution() {
        return real!(thrd_join(thread, out): fn(libc::pthread_t, *mut Code) -> Code);
    }
    let mut result = std::ptr::null_mut();
    let call = call();
    let error = threads::join(thread, &mut result);
    if error == 0 && !out.is_null() {
        crate::access::access(out as usize, size_of::<Code>(), true, call);
        // SAFETY: the program hands in a place for the result.
        unsafe { out.write(result as usize as Code) };
    }
    code(error)
}

extern "C" fn detach(thread: libc::pthread_t) -> Code {
    code(threads::detach(thread))
}

extern "C" fn mutex_init(mutex: Mutex, kind: Code) -> Code {
    let recursive = kind & 1 != 0;
    // SAFETY: attributes of our own, and the mutex that the program hands in.
    unsafe {
        let mut attributes: libc::pthread_mutexattr_t = std::mem::zeroed();
        libc::pthread_mutexattr_init(&mut attributes);
        let kind = if recursive { libc::PTHREAD_MUTEX_RECURSIVE } else { libc::PTHREAD_MUTEX_NORMAL };
        libc::pthread_mutexattr_settype(&mut attributes, kind);
        code(mutex::init(mutex, &attributes))
    }
}

extern "C" fn mutex_destroy(mutex: Mutex) {
    mutex::destroy(mutex);
}

extern "C" fn mutex_lock(mutex: Mutex) -> Code {
    code(mutex::lock(mutex))
}

extern "C" fn mutex_try_lock(mutex: Mutex) -> Code {
    code(mutex::try_lock(mutex))
}

extern "C" fn mutex_timed_lock(mutex: Mutex, until: *const libc::timespec) -> Code {
    code(mutex::timed_lock(mutex, until))
}

extern "C" fn mutex_unlock(mutex: Mutex) -> Code {
    code(mutex::unlock(mutex))
}

extern "C" fn cond_init(cond: Cond) -> Code {
    code(condvar::init(cond, std::ptr::null()))
}

extern "C" fn cond_destroy(cond: Cond) {
    condvar::destroy(cond);
}

extern "C" fn cond_wait(cond: Cond, mutex: Mutex) -> Code {
    code(condvar::wait(cond, mutex))
}

extern "C" fn cond_timed_wait(cond: Cond, mutex: Mutex, until: *const libc::timespec) -> Code {
    code(condvar::timed_wait(cond, mutex, until))
}

extern "C" fn cond_signal(cond: Cond) -> Code {
    code(condvar::signal(cond))
}

extern "C" fn cond_broadcast(cond: Cond) -> Code {
    code(condvar::broadcast(cond))
}

export! {
    thrd_create => create;
    thrd_join => join;
    thrd_detach => detach;
    mtx_init => mutex_init;
    mtx_destroy => mutex_destroy;
    mtx_lock => mutex_lock;
    mtx_trylock => mutex_try_lock;
    mtx_timedlock => mutex_timed_lock;
    mtx_unlock => mutex_unlock;
    cnd_init => cond_init;
    cnd_destroy => cond_destroy;
    cnd_wait => cond_wait;
    cnd_timedwait => cond_timed_wait;
    cnd_signal => cond_signal;
    cnd_broadcast => cond_broadcast;
}
