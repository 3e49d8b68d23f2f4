//! Local variables that other threads access: they must have done so when the function returns.
//!
//! Nothing in a program says that a function returns, and the return is not a step. But the next call that comes in from the thread has a stack
//! pointer above the frame. Until then the thread has synchronised with nobody, so the end of the variable is compared with the
//! accesses of others there: as the end of a block is when it is freed. An access that comes later is reported where it happens
//! (`heap.rs`).

use crate::options::{Races, options};
use crate::rust_tests;
use crate::shim::{self, Call};
use crate::table::Entry;
use crate::threads;
use explore::{FailureKind, ThreadId};
use runtime::{Place, Touching};

/// A variable on the stack of a thread, which another thread has accessed in this execution.
struct Lent {
    owner: ThreadId,
    entry: &'static mut Entry,
}

static mut LENT: Vec<Lent> = Vec::new();
/// By thread: the lowest address among these variables on its stack.
static mut LOWEST: [usize; explore::MAX_THREADS] = [usize::MAX; explore::MAX_THREADS];
/// The same for the running thread.
static mut LOWEST_OWN: usize = usize::MAX;
/// Whether this execution has such a variable, or had one.
static mut IS_ANY_LENT: bool = false;
/// The execution in which `main` has returned, and where its frames were.
static mut MAIN_RETURNED: (u64, usize, usize) = (0, 0, 0);

fn lent() -> &'static mut Vec<Lent> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut LENT) }
}

/// An execution begins.
pub(crate) fn begin() {
    lent().clear();
    // SAFETY: as above.
    unsafe {
        if IS_ANY_LENT {
            LOWEST = [usize::MAX; explore::MAX_THREADS];
            (LOWEST_OWN, IS_ANY_LENT) = (usize::MAX, false);
        }
    }
}

/// Another thread's code is about to run.
#[inline]
pub(crate) fn switch(to: Option<ThreadId>) {
    // SAFETY: as above.
    unsafe { LOWEST_OWN = to.map_or(usize::MAX, |t| LOWEST[t.index()]) };
}

/// The running thread accesses a variable on the stack of another one.
#[inline]
pub(crate) fn accessed(entry: &mut Entry) {
    if entry.lent != threads::execution() && options().races == Races::Report && !rust_tests::is_rust() {
        lend(entry);
    }
}

#[cold]
fn lend(entry: &mut Entry) {
    let Some(owner) = runtime::thread_of_stack(entry.address).filter(|t| *t != runtime::current()) else {
        return;
    };
    entry.lent = threads::execution();
    // SAFETY: entries are never freed; as in `lent`.
    unsafe {
        let lowest = &mut (*(&raw mut LOWEST))[owner.index()];
        *lowest = entry.address.min(*lowest);
        IS_ANY_LENT = true;
        lent().push(Lent { owner, entry: &mut *std::ptr::from_mut(entry) });
    }
}

/// A call has come in from the running thread.
#[inline]
pub(crate) fn call_came_in(stack: usize) {
    // SAFETY: as in `lent`.
    if stack > unsafe { LOWEST_OWN } {
        returned(stack);
    }
}

#[cold]
fn returned(stack: usize) {
    // A thread that has put itself on another stack says nothing about this one.
    if runtime::in_execution() && runtime::on_own_stack(stack) {
        are_gone(stack, Place::at(shim::user_address()));
    }
}

/// The frames of the running thread below an address are gone.
fn are_gone(end: usize, place: Place) {
    let me = runtime::current();
    let is_gone = |l: &mut Lent| l.owner == me && l.entry.address < end;
    let gone: Vec<Lent> = lent().extract_if(.., is_gone).collect();
    let left = lent().iter().filter(|l| l.owner == me).map(|l| l.entry.address);
    // SAFETY: as in `lent`.
    unsafe {
        LOWEST_OWN = left.min().unwrap_or(usize::MAX);
        LOWEST[me.index()] = LOWEST_OWN;
    }
    for Lent { entry, .. } in gone {
        entry.lent = 0;
        ends(entry, place);
    }
}

/// Compares the end of a variable with the accesses of others.
fn ends(entry: &mut Entry, place: Place) {
    runtime::settle();
    if !entry.plain {
        entry.plain = true;
        if entry.atomic {
            // Atomic accesses of it are to be checked from now on.
            runtime::restart_soon();
        }
    }
    let how = Touching { write: true, atomic: false, elsewhere: false };
    let parts = if entry.merged { entry.address..entry.address + entry.bytes as usize } else { 0..1 };
    for at in parts {
        let part = if entry.merged { crate::table::byte(at) } else { &mut *entry };
        if !runtime::is_met(&part.cell) {
            continue;
        }
        if runtime::records_plain() {
            runtime::record_end(part.address as u64, part.bytes as usize, place);
        }
        if let Some(race) = runtime::touch_cell(&part.cell, part.address as u64, how, place) {
            let own = runtime::label(runtime::current());
            let ends = format!("the return of the function that it belongs to, by {own} before {place}");
            let text = race.replacen(&format!("write by {own} at {place}"), &ends, 1);
            runtime::fail(FailureKind::DataRace, text, place);
        }
    }
}

/// The running thread ends: all its frames are gone.
#[inline]
pub(crate) fn thread_ends() {
    // SAFETY: as in `lent`.
    if unsafe { LOWEST_OWN } != usize::MAX && runtime::in_execution() {
        are_gone(usize::MAX, runtime::last_place().unwrap_or(Place::at(0)));
    }
}

/// `main` has returned, and other threads run. Its frames were below `end`, and above `start` nothing else is put there.
pub(crate) fn main_returned(start: usize, end: usize, call: Call) {
    if rust_tests::is_rust() {
        return;
    }
    are_gone(usize::MAX, call.place);
    // SAFETY: as in `lent`.
    unsafe { MAIN_RETURNED = (threads::execution(), start, end) };
}

/// Whether an address was in a frame of `main`, which has returned.
pub(crate) fn is_of_returned_main(address: usize) -> bool {
    // SAFETY: as in `lent`.
    let (execution, start, end) = unsafe { MAIN_RETURNED };
    execution == threads::execution() && (start..end).contains(&address)
}
