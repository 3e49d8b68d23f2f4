//! What programs tell a race detector about themselves: the functions of `sanitizer/tsan_interface.h`.

use crate::shim::{call, export};
use crate::table;
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Request};

/// A step on what is at an address, which synchronises as an atomic operation there would.
fn synchronise(address: usize, kind: OpKind, order: MemoryOrder) {
    if !runtime::in_execution() {
        return;
    }
    let call = call();
    let object = &table::sync(address).handle;
    let request =
        Request { kind, object, class: Class::Atomic, initial: 0, a: 0, b: 0, order, place: call.place };
    runtime::step_in(&request, call.state);
}

extern "C" fn acquire(address: usize) {
    synchronise(address, OpKind::Load, MemoryOrder::Acquire);
}

extern "C" fn release(address: usize) {
    synchronise(address, OpKind::Rmw, MemoryOrder::Release);
}

extern "C" fn happens_before(_file: usize, _line: i32, address: usize) {
    release(address);
}

extern "C" fn happens_after(_file: usize, _line: i32, address: usize) {
    acquire(address);
}

/// Locks that a program makes itself are made of atomic operations, which are seen anyway.
extern "C" fn nothing() -> usize {
    0
}

export! {
    __tsan_acquire => acquire;
    __tsan_release => release;
    AnnotateHappensBefore => happens_before;
    AnnotateHappensAfter => happens_after;
    __tsan_mutex_create => nothing;
    __tsan_mutex_destroy => nothing;
    __tsan_mutex_pre_lock => nothing;
    __tsan_mutex_post_lock => nothing;
    __tsan_mutex_pre_unlock => nothing;
    __tsan_mutex_post_unlock => nothing;
    __tsan_mutex_pre_signal => nothing;
    __tsan_mutex_post_signal => nothing;
    __tsan_mutex_pre_divert => nothing;
    __tsan_mutex_post_divert => nothing;
}
