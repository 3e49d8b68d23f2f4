//! Threads that end before their function returns: `pthread_exit`.
//!
//! The stack is unwound by force, as the C library does it, so that destructors of C++ run, and handlers that were pushed with
//! `pthread_cleanup_push`: in C++ these are destructors too, in C they are buffers to jump to, which are jumped to when the
//! frame that they lie in is reached. At the end of the stack come `thread_local` objects and keys, and then the thread is gone.
//! When it was the first one the process goes on until the last thread ends. Then the handlers of `atexit` run: in a thread of
//! their own, which waits for all others. So it makes no difference which of them was the last, and nobody needs to try that out.
//!
//! To cancel another thread is not modelled, and says so; to ask or set whether oneself may be cancelled is harmless.

use crate::real::real;
use crate::shim::{Call, call, export};
use crate::sync::not_modelled;
use crate::{locals, process, threads};
use explore::{FailureKind, ThreadId};
use runtime::{LocalState, Place};
use std::ffi::{c_int, c_void};

#[repr(C, align(16))]
struct Exception([usize; 4]);

type Stop = unsafe extern "C-unwind" fn(
    libc::c_int,
    libc::c_int,
    u64,
    *mut Exception,
    *mut c_void,
    *mut c_void,
) -> libc::c_int;

unsafe extern "C-unwind" {
    fn _Unwind_ForcedUnwind(exception: *mut Exception, stop: Stop, argument: *mut c_void) -> libc::c_int;
}

unsafe extern "C" {
    fn _Unwind_GetCFA(context: *mut c_void) -> usize;
}

const END_OF_STACK: libc::c_int = 16;
const GO_ON: libc::c_int = 0;

/// What is kept of each thread.
struct Of {
    exception: Exception,
    /// The buffers of handlers, the latest last.
    handlers: Vec<usize>,
    cancel_state: libc::c_int,
    cancel_type: libc::c_int,
}

static mut THREADS: [Of; explore::MAX_THREADS] =
    [const { Of { exception: Exception([0; 4]), handlers: Vec::new(), cancel_state: 0, cancel_type: 0 } };
        explore::MAX_THREADS];

fn of() -> &'static mut Of {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut (*(&raw mut THREADS))[runtime::current().index()] }
}

/// A thread begins.
#[inline]
pub(crate) fn fresh(t: ThreadId) {
    // SAFETY: as above.
    let of = unsafe { &mut (*(&raw mut THREADS))[t.index()] };
    of.handlers.clear();
    (of.cancel_state, of.cancel_type) = (0, 0);
}

/// An execution begins.
pub(crate) fn begin() {
    // SAFETY: as above; no thread runs.
    unsafe { (LEFT_AT, WAITED_FOR) = (None, false) };
    sets().clear();
}

/// Somebody has caught the unwinding of an ending thread and not passed it on.
extern "C" fn caught(_reason: libc::c_int, _exception: *mut Exception) {
    let message =
        "the unwinding of a thread that ends by pthread_exit was caught and not passed on".to_owned();
    runtime::fail(FailureKind::Abort, message, runtime::Place::at(0));
}

unsafe extern "C-unwind" fn at_frame(
    _version: libc::c_int,
    actions: libc::c_int,
    _class: u64,
    _exception: *mut Exception,
    context: *mut c_void,
    _argument: *mut c_void,
) -> libc::c_int {
    let last = actions & END_OF_STACK != 0;
    // SAFETY: the unwinder hands in the context of a frame.
    let frame_end = if last { usize::MAX } else { unsafe { _Unwind_GetCFA(context) } };
    if let Some(buffer) = of().handlers.last().copied()
        && buffer < frame_end
    {
        of().handlers.pop();
        // The program has set the buffer up, in a frame that is still there.
        real!(longjmp(buffer, 1): fn(usize, libc::c_int) -> ());
    }
    if last {
        gone();
    }
    GO_ON
}

fn gone() -> ! {
    runtime::settle();
    locals::end();
    crate::frames::thread_ends();
    crate::sync::frames_are_gone(|| runtime::last_place().unwrap_or(Place::at(0)));
    threads::set_ended();
    locals::gone();
    if runtime::current() == ThreadId::MAIN {
        // SAFETY: one OS thread alone runs code of the program.
        unsafe { LEFT_AT = Some(runtime::last_place().unwrap_or(Place::at(0))) };
        handlers_are_there();
    }
    runtime::leave_thread()
}

/// Where the first thread has ended while others went on.
static mut LEFT_AT: Option<Place> = None;
/// Whether somebody waits for the last thread.
static mut WAITED_FOR: bool = false;

/// There may be something to run at the end of the process: if the first thread has ended, somebody must wait for the others.
pub(crate) fn handlers_are_there() {
    // SAFETY: as in `of`.
    unsafe {
        if let Some(place) = LEFT_AT
            && !WAITED_FOR
            && process::has_handlers()
        {
            WAITED_FOR = true;
            let t = threads::start(at_the_end, std::ptr::null_mut(), true, None, place);
            runtime::name_thread(t, "exit handlers".to_owned());
        }
    }
}

/// Waits for all other threads and ends the process.
unsafe extern "C" fn at_the_end(_: *mut c_void) -> *mut c_void {
    let own = runtime::current();
    // SAFETY: as in `of`.
    let place = unsafe { LEFT_AT }.unwrap_or(Place::at(0));
    // A thread that is made meanwhile is known when the one that made it has ended. Those that have ended are joined too: what they did
    // comes before this.
    let mut joined = [false; explore::MAX_THREADS];
    while let Some(t) = (0..explore::MAX_THREADS as u16)
        .map(ThreadId)
        .find(|t| *t != own && threads::is_made(*t) && !joined[t.index()])
    {
        joined[t.index()] = true;
        let _ = runtime::join(t, place);
    }
    process::end(0, Call { place, state: LocalState::UNKNOWN });
    std::ptr::null_mut()
}

fn unwind() -> ! {
    let exception = &raw mut of().exception;
    // SAFETY: the exception belongs to this thread alone; `at_frame` does what it has to.
    unsafe {
        *exception = Exception([0, caught as extern "C" fn(libc::c_int, *mut Exception) as usize, 0, 0]);
        _Unwind_ForcedUnwind(exception, at_frame, std::ptr::null_mut());
    }
    // The stack could not be unwound to its end.
    gone()
}

extern "C-unwind" fn exit(result: *mut c_void) {
    if !runtime::in_execution() {
        // SAFETY: as the program called it.
        return real!(pthread_exit(result): fn(*mut c_void) -> ());
    }
    let _ = call();
    runtime::settle();
    threads::set_result(result);
    unwind()
}

extern "C-unwind" fn thrd_exit_here(result: libc::c_int) {
    exit(result as isize as *mut c_void);
}

/// A call of `setjmp`: the buffer, the signals that the thread blocks, the frame of the function that called it, and what lies in the first two
/// words of the frame, if it is one of the program: the frame of its caller and the address that it returns to.
struct Set {
    buffer: usize,
    mask: u64,
    frame: usize,
    words: Option<[usize; 2]>,
}

/// The calls of `setjmp` in this execution, by buffer.
static mut SETS: Vec<Set> = Vec::new();

fn sets() -> &'static mut Vec<Set> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut SETS) }
}

/// What the frame of a function on the running thread's stack begins with.
fn words_of(frame: usize) -> Option<[usize; 2]> {
    let is_there =
        frame.is_multiple_of(8) && runtime::on_own_stack(frame) && runtime::on_own_stack(frame + 8);
    // SAFETY: both words lie on the stack of the running thread.
    is_there.then(|| unsafe { (frame as *const [usize; 2]).read() })
}

/// Notes a call of `setjmp`. Functions of libraries may use the register of the frame for something else.
fn note_set(buffer: usize, frame: usize, from: usize) {
    if !runtime::in_execution() {
        return;
    }
    sets().retain(|set| set.buffer != buffer);
    let is_of_program = crate::modules::owner(from) == Some(crate::modules::Owner::Program);
    let words = if is_of_program { words_of(frame) } else { None };
    sets().push(Set { buffer, mask: crate::signals::blocked(), frame, words });
}

/// Where a buffer of `sigsetjmp` says that the blocked signals are to be put back.
const SAVES_MASK: usize = 64;

/// The signals that `siglongjmp` to this buffer blocks, if the call that filled the buffer asked for that.
pub(crate) fn saved_mask(buffer: usize) -> Option<u64> {
    // SAFETY: the program hands in a buffer that `setjmp` or `sigsetjmp` has filled.
    let saves = unsafe { crate::sync::at::<c_int>(buffer, SAVES_MASK) } != 0;
    sets().iter().find(|set| saves && set.buffer == buffer).map(|set| set.mask)
}

/// The functions that fill a buffer return twice, so the stack must be as it was when they are called: each jumps to the one of the C library,
/// whose address the function `note` returns.
macro_rules! set_jumps {
    ($($symbol:ident: $note:ident;)*) => {$(
        extern "C" fn $note(buffer: usize, frame: usize, from: usize) -> usize {
            static FOUND: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
            note_set(buffer, frame, from);
            crate::real::find(&FOUND, concat!(stringify!($symbol), "\0"))
        }

        /// The function of the C library, which it jumps to.
        ///
        /// # Safety
        ///
        /// Called by the program as the C library's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $symbol() {
            std::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "sub rsp, 8",
                "mov rsi, rbp",
                "mov rdx, [rsp + 24]",
                "call {note}",
                "mov r11, rax",
                "add rsp, 8",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                note = sym $note,
            )
        }
    )*};
}

set_jumps! {
    _setjmp: note_quick;
    setjmp: note_full;
    __sigsetjmp: note_signals;
}

/// Where a buffer of `setjmp` has the stack pointer.
const STACK_POINTER: usize = 48;

/// The stack pointer in a buffer of `setjmp`, which the C library disguises.
fn stack_pointer_in(buffer: usize) -> usize {
    // SAFETY: the program hands in a buffer that `setjmp` has filled; each thread has the key at this place.
    unsafe {
        let disguised: usize = crate::sync::at(buffer, STACK_POINTER);
        let key: usize;
        std::arch::asm!("mov {}, fs:[0x30]", out(reg) key, options(nostack, readonly, preserves_flags));
        disguised.rotate_right(17) ^ key
    }
}

/// Reports a `longjmp` to a function that has returned, or to one of another thread. A frame is gone if the stack pointer is above it, or if
/// another frame lies there.
pub(crate) fn check_jump(buffer: usize, call: Call) {
    let (to, top) = (stack_pointer_in(buffer), crate::shim::stack_pointer());
    // A thread that has put itself on another stack tells nothing of this one.
    if !runtime::on_own_stack(top) {
        return;
    }
    let set = sets().iter().find(|set| set.buffer == buffer);
    let is_changed = set.is_some_and(|set| {
        set.words.is_some_and(|words| words_of(set.frame).is_some_and(|now| now != words))
    });
    let what = if runtime::on_own_stack(to) && (to <= top || is_changed) {
        "`longjmp` to a function that has returned"
    } else if runtime::on_other_stack(to) {
        "`longjmp` to a function of another thread"
    } else {
        return;
    };
    runtime::settle();
    runtime::fail(FailureKind::UseAfterFree, what.to_owned(), call.place)
}

extern "C" fn register(buffer: usize) {
    if runtime::in_execution() {
        of().handlers.push(buffer);
    }
}

extern "C" fn unregister(buffer: usize) {
    if runtime::in_execution() {
        // Those that were pushed later and never popped lay in frames that were jumped out of.
        let handlers = &mut of().handlers;
        if let Some(i) = handlers.iter().rposition(|b| *b == buffer) {
            handlers.truncate(i);
        }
    }
}

extern "C-unwind" fn unwind_next(_buffer: usize) {
    unwind()
}

extern "C" fn cancel(thread: libc::pthread_t) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_cancel(thread): fn(libc::pthread_t) -> libc::c_int);
    }
    not_modelled("pthread_cancel", call())
}

extern "C" fn set_cancel_state(state: libc::c_int, old: *mut libc::c_int) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_setcancelstate(state, old): fn(libc::c_int, *mut libc::c_int) -> libc::c_int);
    }
    swap(&mut of().cancel_state, state, old)
}

extern "C" fn set_cancel_type(kind: libc::c_int, old: *mut libc::c_int) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_setcanceltype(kind, old): fn(libc::c_int, *mut libc::c_int) -> libc::c_int);
    }
    swap(&mut of().cancel_type, kind, old)
}

fn swap(kept: &mut libc::c_int, new: libc::c_int, old: *mut libc::c_int) -> libc::c_int {
    if new != 0 && new != 1 {
        return libc::EINVAL;
    }
    if !old.is_null() {
        // SAFETY: the program hands in a place for it.
        unsafe { old.write(*kept) };
    }
    *kept = new;
    0
}

/// Nobody can be cancelled.
extern "C" fn test_cancel() {}

export! {
    pthread_exit => exit;
    thrd_exit => thrd_exit_here;
    __pthread_register_cancel => register;
    __pthread_unregister_cancel => unregister;
    __pthread_register_cancel_defer => register;
    __pthread_unregister_cancel_restore => unregister;
    __pthread_unwind_next => unwind_next;
    pthread_cancel => cancel;
    pthread_setcancelstate => set_cancel_state;
    pthread_setcanceltype => set_cancel_type;
    pthread_testcancel => test_cancel;
}
