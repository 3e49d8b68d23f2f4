//! Mutexes.

use crate::real::real;
use crate::shim::{Call, call, export};
use crate::table;
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Done, Request};

type Mutex = *mut libc::pthread_mutex_t;

fn step(mutex: Mutex, kind: OpKind, call: Call) -> Done {
    let entry = table::sync(mutex as usize);
    runtime::step_in(
        &Request {
            kind,
            object: &entry.handle,
            class: Class::Mutex,
            initial: 0,
            a: 0,
            b: 0,
            order: MemoryOrder::None,
            place: call.place,
        },
        call.state,
    )
}

extern "C" fn lock(mutex: Mutex) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_mutex_lock(mutex): fn(Mutex) -> libc::c_int);
    }
    step(mutex, OpKind::Lock, call());
    0
}

extern "C" fn try_lock(mutex: Mutex) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_mutex_trylock(mutex): fn(Mutex) -> libc::c_int);
    }
    if step(mutex, OpKind::TryLock, call()).ok { 0 } else { libc::EBUSY }
}

extern "C" fn unlock(mutex: Mutex) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_mutex_unlock(mutex): fn(Mutex) -> libc::c_int);
    }
    step(mutex, OpKind::Unlock, call());
    0
}

export! {
    pthread_mutex_lock => lock;
    pthread_mutex_trylock => try_lock;
    pthread_mutex_unlock => unlock;
}
