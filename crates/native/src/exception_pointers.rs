//! Counts of references inside the C++ library: those of exceptions (`std::exception_ptr`) and of the texts of standard exceptions.
//!
//! The library frees an exception in the thread that gives up the last reference, and counts references with atomic operations that
//! acquire and release. It was not compiled by raddle, so those operations are made here: each decrement of a count that several owners
//! have shared is a step, which comes after all earlier ones.

use crate::libc::accesses::{before, r, w};
use crate::libc::keeping_errno;
use crate::real::real;
use crate::shim::{Call, call, export, undisturbed};
use crate::table;
use explore::{MemoryOrder, OpKind};
use runtime::{Class, LocalState, Place, Request};

/// The counts that several owners have shared in the running execution.
static mut SHARED: Vec<usize> = Vec::new();

fn shared() -> &'static mut Vec<usize> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut SHARED) }
}

/// An execution begins.
pub(crate) fn begin() {
    shared().clear();
}

/// The place that is shown for a call inside of the library: where the program has called the library.
fn from_program() -> Call {
    Call { place: Place::at(crate::shim::site_in_program()), state: LocalState::UNKNOWN }
}

/// A count is about to be decremented. `several` says whether it has other owners now. Without them, and if it has never had any, no other
/// thread can have used it.
fn gives_up(count: usize, several: bool, call: Call) {
    if !shared().contains(&count) {
        if !several {
            return;
        }
        shared().push(count);
    }
    runtime::settle();
    let object = &table::sync(count).handle;
    let a = runtime::peek(object).unwrap_or(0) + 1;
    let (class, kind, order) = (Class::Atomic, OpKind::Rmw, MemoryOrder::AcqRel);
    keeping_errno(|| {
        runtime::step_in(
            &Request { kind, object, class, initial: 0, a, b: 0, order, place: call.place },
            call.state,
        );
    });
}

/// How far in front of an exception its count is, and its header.
const COUNT: usize = 128;
const HEADER: usize = 112;
/// Where the header has the number of handlers, and the class of the exception.
const HANDLERS: usize = 40;
const CLASS: usize = 80;
/// The class of exceptions of the C++ library. The last byte says whether it is one that was thrown again.
const OF_LIBRARY: u64 = 0x474e_5543_432b_2b00;

fn number(p: usize) -> i32 {
    // SAFETY: a field of a header of the C++ library, or of a text.
    unsafe { (p as *const i32).read() }
}

fn word(p: usize) -> usize {
    // SAFETY: a field of a header of the C++ library, or a variable that the program hands in.
    unsafe { (p as *const usize).read() }
}

/// An exception loses a reference.
fn loses_reference(exception: usize, call: Call) {
    let count = exception - COUNT;
    gives_up(count, number(count) > 1, call);
}

/// The running thread leaves a handler: if that is the last one, the exception loses the reference of the handlers.
pub(crate) fn leaves_handler() {
    let globals = undisturbed(|| real!(__cxa_get_globals(): fn() -> usize));
    let header = if globals == 0 { 0 } else { word(globals) };
    if header == 0 {
        return;
    }
    let class = word(header + CLASS) as u64;
    if class & !1 != OF_LIBRARY || number(header + HANDLERS) != 1 {
        return;
    }
    let exception = if class & 1 != 0 { word(header) } else { header + HEADER };
    loses_reference(exception, from_program());
}

extern "C" fn release(pointer: usize) {
    if runtime::in_execution() {
        let _ = call();
        let call = from_program();
        keeping_errno(|| before(r(pointer, 8), call));
        let exception = word(pointer);
        if exception != 0 {
            loses_reference(exception, call);
            keeping_errno(|| before(w(pointer, 8), call));
        }
    }
    undisturbed(|| real!(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv(pointer): fn(usize) -> ()));
}

/// Where a standard exception has its text, and how far in front of the text its count is: of owners beyond the first.
const TEXT: usize = 8;
const OTHERS: usize = 8;

/// A standard exception with a text is destroyed.
fn loses_text(error: usize) {
    if runtime::in_execution() {
        let _ = call();
        let count = word(error + TEXT) - OTHERS;
        gives_up(count, number(count) > 0, from_program());
    }
}

extern "C" fn destroy_runtime_error(error: usize) {
    loses_text(error);
    undisturbed(|| real!(_ZNSt13runtime_errorD2Ev(error): fn(usize) -> ()));
}

extern "C" fn destroy_logic_error(error: usize) {
    loses_text(error);
    undisturbed(|| real!(_ZNSt11logic_errorD2Ev(error): fn(usize) -> ()));
}

export! {
    _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv => release;
    _ZNSt13runtime_errorD1Ev => destroy_runtime_error;
    _ZNSt13runtime_errorD2Ev => destroy_runtime_error;
    _ZNSt11logic_errorD1Ev => destroy_logic_error;
    _ZNSt11logic_errorD2Ev => destroy_logic_error;
}
