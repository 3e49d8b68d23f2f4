//! `std::promise::set_value_at_thread_exit` and its relatives.
//!
//! libstdc++ makes the result ready when the thread ends, in code that is not instrumented: a store to the word that futures wait for,
//! and a wake-up. Here both are steps, before the library does the same once more.

use crate::atomics;
use crate::shim::call;

/// The record of `std::__future_base::_State_baseV2::_Make_ready`.
#[repr(C)]
struct MakeReady {
    next: usize,
    /// What the library calls when the thread ends.
    callback: usize,
    /// The shared state, and the counts of its owners: a `weak_ptr`.
    state: usize,
    counts: usize,
}

/// Where the counts have the number of owners, and that of weak pointers.
const OWNERS: usize = 8;
const OBSERVERS: usize = 12;
/// Where the shared state has its status, behind the table of virtual functions and the result.
const STATUS: usize = 16;
const READY: u32 = 1;
/// Set in the status while a future waits.
const WAITED_FOR: u32 = 1 << 31;

/// What the library itself calls when a thread ends.
static mut CALLBACK: usize = 0;
/// The records of the running execution, each with its thread.
static mut RECORDS: Vec<(usize, *mut MakeReady)> = Vec::new();

fn records() -> &'static mut Vec<(usize, *mut MakeReady)> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut RECORDS) }
}

/// An execution begins.
pub(crate) fn begin() {
    if !records().is_empty() {
        records().clear();
    }
}

/// The running thread is about to hand a record to the library, which keeps it until the thread ends.
pub(crate) fn registers(record: usize) {
    if runtime::in_execution() {
        records().push((runtime::current().index(), record as *mut MakeReady));
    }
}

/// The running thread ends: [`run`] takes the place of what the library is about to call.
pub(crate) fn ends() {
    let me = runtime::current().index();
    for (_, record) in records().extract_if(.., |(t, _)| *t == me) {
        // SAFETY: the library has this record, and frees it in the callback.
        unsafe {
            CALLBACK = (*record).callback;
            (*record).callback = run as *const () as usize;
        }
    }
}

/// Makes a result ready.
unsafe extern "C" fn run(record: *mut MakeReady) {
    // SAFETY: the library hands in the record that the callback belongs to.
    let MakeReady { state, counts, .. } = unsafe { record.read() };
    if runtime::in_execution() && counts != 0 {
        // An owner more, if there are any: the state stays while others run.
        if atomics::change_word(counts + OWNERS, |n| if n > 0 { n + 1 } else { 0 }) > 0 {
            let status = state + STATUS;
            if atomics::change_word(status, |_| READY) & WAITED_FOR != 0 {
                crate::futex::wake_all(status, call());
            }
            release(counts);
        }
        // What the library does to the counts is ordered by this step.
        atomics::change_word(counts + OBSERVERS, |n| n);
    }
    // SAFETY: `ends` has found this function in a record of the same kind.
    let callback: unsafe extern "C" fn(*mut MakeReady) = unsafe { std::mem::transmute(CALLBACK) };
    // SAFETY: the record is the one that the library has handed in.
    unsafe { callback(record) };
}

/// Gives back an owner of a shared state, and destroys the state if it was the last one.
fn release(counts: usize) {
    if atomics::change_word(counts + OWNERS, |n| n - 1) == 1 {
        // SAFETY: the counts begin with the address of their table of virtual functions, in which `_M_dispose` follows two destructors.
        let dispose: unsafe extern "C" fn(usize) =
            unsafe { std::mem::transmute((counts as *const *const usize).read().add(2).read()) };
        // SAFETY: nobody else owns the state.
        unsafe { dispose(counts) };
        // The record is an observer, so this is not the last one.
        atomics::change_word(counts + OBSERVERS, |n| n - 1);
    }
}
