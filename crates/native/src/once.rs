//! Once-only initialisation: `pthread_once`, and the guards of C++'s function-local statics.
//!
//! A `pthread_once_t` is a state that is loaded first and a lock for those who found it incomplete, as with raddle's own
//! `Once`. The lock is held while the routine runs, so whoever comes meanwhile waits. An exception that leaves the routine, or a
//! thread that ends in it, gives the lock back with the state as it was.
//!
//! A guard is a byte, which the compiler's code loads itself, and a lock.

use crate::atomics;
use crate::shim::{Call, call, export};
use crate::sync::{On, SECOND, at, is_modelled, put};
use explore::{MemoryOrder, OpKind};
use runtime::Class;

type Routine = unsafe extern "C-unwind" fn();

/// How the C library marks a `pthread_once_t` that is done.
const DONE: i32 = 2;
const RELEASE: i32 = 3;

fn state(control: usize) -> On {
    // SAFETY: the program hands in a `pthread_once_t`.
    let initial = (unsafe { at::<i32>(control, 0) } == DONE) as u64;
    On { initial, ..On::new(control, Class::Once) }
}

fn lock(control: usize) -> On {
    On::new(control + SECOND, Class::Once)
}

fn is_done(control: usize, call: Call) -> bool {
    state(control).step_with(OpKind::Load, 0, 0, MemoryOrder::Acquire, call).value != 0
}

/// The control is used. An initializer that was assigned makes it a new one, as in the C library.
fn used(control: usize, call: Call) {
    let on = state(control);
    on.used(call);
    // SAFETY: the program hands in a `pthread_once_t`.
    match unsafe { at::<i32>(control, 0) } {
        0 if on.word() != 0 => on.put(0, call),
        0 | DONE => (),
        _ => on.misuse("it was never initialized", call),
    }
}

/// Holds the lock while the routine runs. If the thread never comes back nothing is lost: it holds nothing of ours.
struct Running {
    control: usize,
    done: bool,
    call: Call,
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.done {
            state(self.control).step_with(OpKind::Store, 1, 0, MemoryOrder::Release, self.call);
            // SAFETY: the program handed in a `pthread_once_t`.
            unsafe { put(self.control, 0, DONE) };
        }
        lock(self.control).step(OpKind::Unlock, self.call);
    }
}

pub(crate) extern "C-unwind" fn once(control: usize, routine: Routine) -> libc::c_int {
    if !is_modelled(control) {
        // SAFETY: as above; before `main` there is one thread, and libraries are not interrupted.
        unsafe {
            if at::<i32>(control, 0) != DONE {
                routine();
                put(control, 0, DONE);
            }
        }
        return 0;
    }
    let call = call();
    used(control, call);
    if is_done(control, call) {
        return 0;
    }
    lock(control).step(OpKind::Lock, call);
    let mut running = Running { control, done: false, call };
    if !is_done(control, call) {
        // SAFETY: the program asks for this.
        unsafe { routine() };
        runtime::settle();
        running.done = true;
    }
    0
}

extern "C-unwind" fn call_once_here(control: usize, routine: Routine) {
    once(control, routine);
}

fn guard(address: usize) -> On {
    On::new(address, Class::Once)
}

/// Whether the static is to be made now, by the running thread.
extern "C" fn guard_acquire(address: usize) -> libc::c_int {
    // SAFETY: the compiler hands in a guard.
    let made = || unsafe { at::<u8>(address, 0) } != 0;
    if !is_modelled(address) {
        return !made() as libc::c_int;
    }
    let call = call();
    // The compiler's code has looked already.
    guard(address).step(OpKind::Lock, call);
    // Only who holds the lock changes it.
    if !made() {
        return 1;
    }
    guard(address).step(OpKind::Unlock, call);
    0
}

extern "C" fn guard_release(address: usize) {
    if !is_modelled(address) {
        // SAFETY: as above.
        return unsafe { put(address, 0, 1u8) };
    }
    let call = call();
    atomics::store_at(address, 1u8, RELEASE, call);
    guard(address).step(OpKind::Unlock, call);
}

extern "C" fn guard_abort(address: usize) {
    if is_modelled(address) {
        guard(address).step(OpKind::Unlock, call());
    }
}

export! {
    pthread_once => once;
    call_once => call_once_here;
    __cxa_guard_acquire => guard_acquire;
    __cxa_guard_release => guard_release;
    __cxa_guard_abort => guard_abort;
}
