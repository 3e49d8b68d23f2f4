//! Controlled threads: the program under test runs here, one step at a time.
//!
//! Threads are fibers on pooled stacks, all on the OS thread that called the check. Each operation on a shared object is
//! a *step*: the thread announces it, the search ([`explore::Explorer`]) says which thread goes next, and when it is this
//! one's turn the step is applied to the object's state ([`explore::semantics`]). The decision runs inline in the announcing
//! fiber; when the same thread goes on, there is no switch at all.
//!
//! This crate decides nothing about schedules.

use explore::{MemoryOrder, OpKind, ThreadId};
use std::panic::Location;

/// A place in the source.
pub type Place = &'static Location<'static>;

/// What an object is, for reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// An atomic.
    Atomic,
    /// A mutex.
    Mutex,
    /// A reader-writer lock.
    RwLock,
    /// A condition variable.
    Condvar,
    /// A channel.
    Channel,
    /// A barrier.
    Barrier,
    /// A counted reference.
    Arc,
    /// A cell whose accesses are checked for races.
    Cell,
    /// A once-only initialisation.
    Once,
    /// The life of a thread.
    Thread,
    /// The token of a thread.
    Token,
}

/// The identity of a shared object: lives inside each of our types, costs one word, and is made in a `const`.
///
/// It caches which entry of the running execution's object table belongs to the object. An object that is met for the
/// first time in an execution is entered with its initial state, so statics start afresh in each execution.
pub struct Handle {
    cached: std::sync::atomic::AtomicU64,
}

impl Handle {
    /// The handle of an object that no execution has met.
    pub const fn new() -> Handle {
        Handle { cached: std::sync::atomic::AtomicU64::new(0) }
    }
}

/// What a step gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The value that was read, or whatever [`explore::semantics::apply`] says.
    pub value: u64,
    /// Whether it succeeded.
    pub ok: bool,
}

/// What to do to which object; see [`OpKind`] for the operands.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The kind.
    pub kind: OpKind,
    /// The object.
    pub object: &'a Handle,
    /// What it is, for reports.
    pub class: Class,
    /// Its word if this execution has not met it.
    pub initial: u64,
    /// First operand.
    pub a: u64,
    /// Second operand.
    pub b: u64,
    /// Memory order.
    pub order: MemoryOrder,
    /// Where.
    pub place: Place,
}

/// Whether a controlled thread runs on this OS thread.
pub fn active() -> bool {
    unimplemented!()
}
/// Whether the execution is being given up: destructors run, and operations do nothing.
pub fn tearing_down() -> bool {
    unimplemented!()
}
/// One step on one object. Outside an execution it panics with a message that says so; while an execution is given up it
/// returns at once, as if it had succeeded, and changes nothing.
pub fn step(_request: Request<'_>) -> Done {
    unimplemented!()
}
/// A read-modify-write: gives the old value.
pub fn rmw(
    _object: &Handle, _initial: u64, _order: MemoryOrder, _place: Place, _f: impl FnOnce(u64) -> u64,
) -> u64 {
    unimplemented!()
}
/// A fence, a yield, or another step on no object.
pub fn local_step(_kind: OpKind, _order: MemoryOrder, _place: Place) {
    unimplemented!()
}
/// Releases the mutex, waits for a notification (or, when `timed`, for the time to run out), takes the mutex again. Says
/// whether it was woken by a notification.
pub fn wait(_condvar: &Handle, _mutex: &Handle, _timed: bool, _place: Place) -> bool {
    unimplemented!()
}
/// Wakes one waiter, any of them, or all.
pub fn notify(_condvar: &Handle, _all: bool, _place: Place) {
    unimplemented!()
}
/// The value of an object that the caller owns alone, and the end of its entry: the next step on it enters it anew.
/// `None` when this execution has not met it.
pub fn take_word(_object: &mut Handle) -> Option<u64> {
    unimplemented!()
}
/// Where the data of an object lives: `inline`, or, for an object in a `static`, a copy that belongs to this execution
/// (made from the initial bytes on the first call, dropped with `drop_in_place` when the execution ends). The inline bytes of
/// a static are never written, so tests that share it do not disturb each other.
pub fn data<T: ?Sized>(_object: &Handle, _class: Class, inline: *mut T) -> *mut T {
    inline
}
/// Notes an access to a cell and reports a data race if another access is not ordered with it. Not a step.
pub fn cell_access(_object: &Handle, _write: bool, _place: Place) {
    unimplemented!()
}
/// Enters a counted object with count 1, to be reported as a leak when its count is not 0 at the end.
pub fn enter_count(_object: &Handle, _place: Place) {
    unimplemented!()
}

/// Makes a thread. `None` for the stack size takes the configured one. A name is shown in reports.
pub fn spawn(_name: Option<String>, _stack_size: Option<usize>, _place: Place, _body: Box<dyn FnOnce()>) -> ThreadId {
    unimplemented!()
}
/// Waits for the end of a thread. Says whether it panicked; the panic then counts as seen.
pub fn join(_thread: ThreadId, _place: Place) -> Result<(), Box<dyn std::any::Any + Send>> {
    unimplemented!()
}
/// Whether a thread has ended.
pub fn is_finished(_thread: ThreadId, _place: Place) -> bool {
    unimplemented!()
}
/// The running thread.
pub fn current() -> ThreadId {
    unimplemented!()
}
/// The name a thread was given.
pub fn thread_name(_thread: ThreadId) -> Option<String> {
    unimplemented!()
}
/// Waits for this thread's token.
pub fn park(_timed: bool, _place: Place) {
    unimplemented!()
}
/// Gives a thread its token.
pub fn unpark(_thread: ThreadId, _place: Place) {
    unimplemented!()
}
/// Whether the running controlled thread is unwinding from a panic.
pub fn panicking() -> bool {
    unimplemented!()
}
/// One of the numbers below `n`; each is explored.
pub fn choose(_n: u32, _place: Place) -> u32 {
    unimplemented!()
}
/// Gives this execution up quietly unless `condition` holds.
pub fn assume(_condition: bool, _place: Place) {
    unimplemented!()
}
/// Reports that a lock was used against its rules, or another misuse, and ends the execution.
pub fn fail(_kind: explore::FailureKind, _message: String, _place: Place) -> ! {
    unimplemented!()
}

/// The value of a thread-local of the running thread, made by `init` on first use in each thread of each execution, dropped
/// when the thread ends. `None` while or after it is being dropped. `key` is any address that is the local's own.
pub fn thread_local<T: 'static>(_key: *const (), _init: fn() -> T) -> Option<*const T> {
    unimplemented!()
}
