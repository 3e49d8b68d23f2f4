//! Threads of the program: made, joined, left.
//!
//! # Lives of handles
//!
//! The handle of a thread is valid until the thread was joined, or until it was detached and has ended. To use it later is undefined, and
//! a failure. As with locks (`sync`), the end of a life is a write of it and each use is a read, so a use that is not ordered
//! with the end is found in whatever order the two come. A call on a handle that is certainly still valid returns what the C library
//! returns: `EINVAL` for a second join, for a join of a detached thread and for a second detach, `EDEADLK` for a join of oneself.
//!
//! Most handles are used once, by the thread that joins or detaches. That costs nothing. When a second thread is seen to use a handle,
//! or the handle of a detached thread is used, the search starts again: from then on the life of this handle is looked at, and
//! whether it is joined or detached first is explored.

use crate::real::real;
use crate::shim::{Call, call, export, export_past};
use crate::sync::{LIFE, On};
use crate::table::Entry;
use crate::{access, changes, leaving, locals, rust_tests, signals, table, time, verifier};
use explore::{CaveatKind, FailureKind, MemoryOrder, OpKind, ThreadId};
use runtime::{Body, Class, Place, Task, Touching};
use std::ffi::c_void;
use std::ptr::NonNull;

/// What a thread of the program runs.
pub(crate) type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

/// What is kept of each thread, by its number, for one execution.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// Which one.
    execution: u64,
    routine: Option<Routine>,
    argument: *mut c_void,
    result: *mut c_void,
    state: State,
    /// The first other thread that used its handle, or itself if it was detached by itself.
    user: Option<ThreadId>,
    /// Its handle is not valid any more.
    over: bool,
    /// It runs no code of the program any more.
    ended: bool,
    /// When it was made, and when it was joined (0: not yet), as counted by [`tick`].
    born: u64,
    left: u64,
    /// The address of a variable on its stack was seen in an atomic object.
    stack_published: bool,
    /// How much stack was asked for; 0: nobody said.
    stack: usize,
    /// The `std::thread` through which it joins another thread; 0: none.
    joins: usize,
}

/// What becomes of a thread when it has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Joinable,
    /// It was joined, or a thread waits to join it.
    Joined,
    Detached,
}

const UNKNOWN: Known = Known {
    execution: 0,
    routine: None,
    argument: std::ptr::null_mut(),
    result: std::ptr::null_mut(),
    state: State::Joinable,
    user: None,
    over: false,
    ended: false,
    born: 0,
    left: 0,
    stack_published: false,
    stack: 0,
    joins: 0,
};

/// Counts creations and joins of threads.
fn tick() -> u64 {
    static mut TICKS: u64 = 0;
    // SAFETY: one OS thread alone runs code of the program.
    unsafe {
        TICKS += 1;
        TICKS
    }
}

static mut KNOWN: [Known; explore::MAX_THREADS] = [UNKNOWN; explore::MAX_THREADS];

/// The number of the running execution. What is kept by thread says which one it is of, so that nobody has to go through all of it
/// when the next one begins.
static mut EXECUTION: u64 = 0;

#[inline]
pub(crate) fn execution() -> u64 {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { EXECUTION }
}

#[inline(always)]
fn known(t: ThreadId) -> &'static mut Known {
    // SAFETY: as above, and no borrow is held over a step.
    let known = unsafe { &mut (*(&raw mut KNOWN))[t.index()] };
    if known.execution != execution() {
        begin_in(known);
    }
    known
}

/// What is kept of a thread is of an earlier execution.
#[cold]
fn begin_in(known: &mut Known) {
    *known = Known { execution: execution(), ..UNKNOWN };
}

/// An execution begins.
pub(crate) fn begin() {
    // SAFETY: as in `known`.
    unsafe { EXECUTION += 1 };
    fresh(ThreadId::MAIN);
}

/// A thread begins: what is kept for it elsewhere, by its number, is as it was for no thread. Nobody asks for what is kept of a thread
/// that this execution does not have.
#[inline]
fn fresh(t: ThreadId) {
    access::fresh(t);
    changes::fresh(t);
    leaving::fresh(t);
    rust_tests::fresh(t);
    crate::std_threads::fresh(t);
    signals::fresh(t);
    verifier::fresh(t);
}

/// The execution in which the address of a variable on the stack of a thread other than the first was seen in an atomic object.
static mut STACKS_PUBLISHED: u64 = 0;

/// An atomic object has an address on a stack.
#[cold]
pub(crate) fn stack_published(address: usize) {
    if let Some(t) = runtime::thread_of_stack(address).filter(|t| *t != ThreadId::MAIN) {
        known(t).stack_published = true;
        // SAFETY: one OS thread alone runs code of the program.
        unsafe { STACKS_PUBLISHED = execution() };
    }
}

/// A thread is created. The C library gives the stack of a thread that is gone to a later one, and with it the addresses of its variables.
fn note_stacks(place: Place) {
    // SAFETY: as above.
    if unsafe { STACKS_PUBLISHED } == execution()
        && made().any(|t| known(t).stack_published && known(t).left != 0)
    {
        let text = "the address of a variable on the stack of a thread that is gone was in an atomic object, and a later thread, which may get the same stack, had another one";
        runtime::caveat_at(explore::CaveatKind::Reuse, text, place);
    }
}

/// What the running thread leaves to whoever joins it.
pub(crate) fn set_result(result: *mut c_void) {
    known(runtime::current()).result = result;
}

/// The running thread runs no code of the program any more.
#[inline]
pub(crate) fn set_ended() {
    let t = runtime::current();
    let known = known(t);
    known.ended = true;
    if known.state == State::Detached {
        end_detached(t);
    }
}

/// The handle of a detached thread ends with it.
#[cold]
fn end_detached(t: ThreadId) {
    leave(t);
    touch_life(t, true, runtime::last_place().unwrap_or(Place::at(0)));
}

/// Whether a thread runs no code of the program any more.
pub(crate) fn is_ended(t: ThreadId) -> bool {
    known(t).ended
}

/// Whether this execution has the thread.
#[inline]
pub(crate) fn is_made(t: ThreadId) -> bool {
    // SAFETY: as in `known`.
    let known = unsafe { &(*(&raw const KNOWN))[t.index()] };
    t == ThreadId::MAIN || known.execution == execution() && known.routine.is_some()
}

/// Threads of the execution.
pub(crate) fn made() -> impl Iterator<Item = ThreadId> {
    (0..explore::MAX_THREADS as u16).map(ThreadId).filter(|t| is_made(*t))
}

/// Whether a thread was joined, or somebody is about to join it.
pub(crate) fn is_joined(t: ThreadId) -> bool {
    known(t).state == State::Joined
}

/// Threads of the execution that still run code of the program, or will.
pub(crate) fn alive() -> impl Iterator<Item = ThreadId> {
    let all = (0..explore::MAX_THREADS as u16).map(ThreadId);
    all.filter(|t| is_made(*t) && !known(*t).ended)
}

/// What programs know a thread by: what the C library does, too.
pub(crate) fn handle(t: ThreadId) -> libc::pthread_t {
    crate::start::fs_of(t).address() as libc::pthread_t
}

/// The thread that a handle stands for.
pub(crate) fn of_handle(handle: libc::pthread_t) -> Option<ThreadId> {
    // Threads are often joined in the order in which they were made.
    static mut NEXT: u16 = 1;
    // SAFETY: one OS thread alone runs code of the program.
    let next = unsafe { &mut *(&raw mut NEXT) };
    let count = crate::start::threads_with_storage() as u16;
    if self::handle(ThreadId(*next)) != handle {
        *next = (0..count).find(|t| self::handle(ThreadId(*t)) == handle)?;
    }
    let found = *next;
    *next = (found + 1) % count;
    Some(ThreadId(found))
}

/// The body of a thread: its number is all there is.
struct Start(ThreadId);

static STARTS: [Start; explore::MAX_THREADS] = {
    let mut all = [const { Start(ThreadId(0)) }; explore::MAX_THREADS];
    let mut i = 0;
    while i < all.len() {
        all[i].0 = ThreadId(i as u16);
        i += 1;
    }
    all
};

/// What is written beyond the stack that a thread has asked for, and how often: a frame that is no larger has written to it.
const MARK: u64 = 0x9e37_79b9_7f4a_7c15;
const MARKS: usize = 128;
/// How much more than that a thread may use: our own code runs there, too.
const MORE_STACK: usize = 64 << 10;

/// Threads have the stack of the first thread at least. Marks the place that one which asked for less has no business at.
fn mark_end_of_stack(t: ThreadId, asked: usize) -> Option<*mut u64> {
    if asked == 0 {
        return None;
    }
    let (low, high) = runtime::stack_of(t)?;
    let marks = (high.checked_sub(asked + MORE_STACK)? - size_of::<[u64; MARKS]>()) & !7;
    if marks < low + MORE_STACK {
        return None;
    }
    let marks = marks as *mut u64;
    // SAFETY: it is on the stack of the running thread, far below its frames.
    (0..MARKS).for_each(|i| unsafe { marks.add(i).write_volatile(MARK) });
    Some(marks)
}

/// The thread is about to end.
fn look_at_end_of_stack(marks: *mut u64, asked: usize) {
    // SAFETY: as above; its frames are gone.
    if (0..MARKS).any(|i| unsafe { marks.add(i).read_volatile() } != MARK) {
        let kilobytes = asked >> 10;
        let text = format!(
            "a thread asks for {kilobytes} KiB of stack and uses more than that: it is given more, and does not run out of stack"
        );
        runtime::caveat(CaveatKind::State, text, None);
    }
}

impl Body for Start {
    fn run(&self) {
        let known = known(self.0);
        if let Some(routine) = known.routine {
            let marks = mark_end_of_stack(self.0, known.stack);
            // SAFETY: the program asked for this.
            let result = unsafe { run_c(routine, known.argument) };
            if let Some(marks) = marks {
                look_at_end_of_stack(marks, known.stack);
            }
            runtime::settle();
            known.result = result;
            signals::point_at_end();
            locals::end();
            runtime::settle();
            crate::frames::thread_ends();
            crate::sync::frames_are_gone(|| runtime::last_place().unwrap_or(Place::at(0)));
            set_ended();
            locals::gone();
        }
    }

    fn discard(&self) {}
}

std::arch::global_asm!(
    // Calls a function of the program. The frame says that it is the last one, so that nothing is unwound past it: an
    // exception that nobody catches ends in `std::terminate` where it was thrown.
    ".globl raddle_run_c",
    ".hidden raddle_run_c",
    ".type raddle_run_c, @function",
    "raddle_run_c:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push rbp",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsi, rdx",
    "mov rdx, rcx",
    "xor ebp, ebp",
    "call rax",
    "pop rbp",
    "ret",
    ".cfi_endproc",
    ".size raddle_run_c, . - raddle_run_c",
);

unsafe extern "C" {
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        state: *mut libc::c_int,
    ) -> libc::c_int;
    fn raddle_run_c(f: *const c_void, a: *mut c_void, b: *mut c_void, c: *mut c_void) -> *mut c_void;
}

/// Runs a destructor of the program.
///
/// # Safety
///
/// `f` is a function of one pointer that can be called with `object`.
pub(crate) unsafe fn run_destructor(f: *const c_void, object: usize) {
    let nothing = std::ptr::null_mut();
    // SAFETY: by the contract.
    unsafe { raddle_run_c(f, object as *mut c_void, nothing, nothing) };
    runtime::settle();
}

/// Runs a function of the program with two arguments, such as a handler of `on_exit` or of a signal.
///
/// # Safety
///
/// `f` is a function that can be called with these two numbers or pointers.
pub(crate) unsafe fn run_handler(f: *const c_void, a: usize, b: usize) {
    // SAFETY: by the contract.
    unsafe { raddle_run_c(f, a as *mut c_void, b as *mut c_void, std::ptr::null_mut()) };
    runtime::settle();
}

/// Runs a handler of a signal.
///
/// # Safety
///
/// `f` is a function that can be called with the number of a signal and pointers to what is known of it.
pub(crate) unsafe fn run_signal_handler(
    f: *const c_void,
    signal: libc::c_int,
    info: *mut c_void,
    context: *mut c_void,
) {
    // SAFETY: by the contract.
    unsafe { raddle_run_c(f, signal as usize as *mut c_void, info, context) };
    runtime::settle();
}

unsafe fn run_c(routine: Routine, argument: *mut c_void) -> *mut c_void {
    let nothing = std::ptr::null_mut();
    // SAFETY: by the contract of whoever made the thread.
    unsafe { raddle_run_c(routine as *const c_void, argument, nothing, nothing) }
}

/// The program's `main`.
pub(crate) type Main =
    unsafe extern "C" fn(libc::c_int, *mut *mut libc::c_char, *mut *mut libc::c_char) -> libc::c_int;

/// Runs `main`, and gives what it returned.
///
/// # Safety
///
/// On a fiber, with arguments that `main` can take.
pub(crate) unsafe fn run_main(
    main: Main,
    argc: libc::c_int,
    argv: *mut *mut libc::c_char,
    envp: *mut *mut libc::c_char,
) -> libc::c_int {
    // SAFETY: by the contract.
    unsafe {
        raddle_run_c(main as *const c_void, argc as usize as *mut c_void, argv.cast(), envp.cast()) as usize
            as libc::c_int
    }
}

/// Refuses threads of constructors and of initializers of global variables: executions start at `main`.
pub(crate) fn refuse_before_main() {
    if crate::start::is_before_main() {
        let place = crate::shim::caller()
            .map(|(site, frame)| crate::names::place(crate::names::user_site(site, frame)) + ": ")
            .unwrap_or_default();
        crate::start::die(&format!(
            "{place}a thread is started before `main`, by a constructor or the initializer of a global variable. Executions start at \
             `main`, so this thread cannot be explored: start it in `main`, or in a function that `main` calls",
        ));
    }
}

pub(crate) extern "C" fn create(
    out: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> libc::c_int {
    if !runtime::in_execution() {
        refuse_before_main();
        return create_inside(out, attributes, routine, argument);
    }
    crate::libc::reads_attributes(attributes, size_of::<libc::pthread_attr_t>());
    let call = call();
    if crate::rust_tests::is_harness_thread() {
        return libc::EAGAIN;
    }
    runtime::settle();
    let (mut detached, mut stack) = (false, None);
    if !attributes.is_null() {
        let mut state = 0;
        let mut size = 0usize;
        // SAFETY: the program hands in attributes that it has initialised.
        unsafe {
            pthread_attr_getdetachstate(attributes, &mut state);
            libc::pthread_attr_getstacksize(attributes, &mut size);
        }
        detached = state == libc::PTHREAD_CREATE_DETACHED;
        stack = (size > 0).then_some(size);
    }
    crate::libc::cxx::thread_created(call);
    // Before the thread starts, which may look there; others must be told when.
    crate::access::access(out as usize, size_of::<libc::pthread_t>(), true, call);
    let t = start(routine, argument, detached, stack, call.place);
    // SAFETY: the program hands in a place for the handle.
    unsafe { out.write(handle(t)) };
    0
}

/// Makes a thread.
pub(crate) fn start(
    routine: Routine,
    argument: *mut c_void,
    detached: bool,
    stack: Option<usize>,
    place: Place,
) -> ThreadId {
    note_stacks(place);
    // The number is known only once the thread is made; until its first step it does not look.
    let next = runtime::next_child();
    let leave = |_: NonNull<dyn Body>| ();
    let body: NonNull<dyn Body> = NonNull::from(&STARTS[next.map_or(0, |t| t.index())]);
    if let Some(t) = next {
        crate::start::new_thread(t);
        if is_made(t) {
            // The number is given out again, and the handle with it.
            runtime::forget_accesses(&table::sync(handle(t) as usize + LIFE).handle);
        }
        // SAFETY: as in `known`.
        let known = unsafe { &mut (*(&raw mut KNOWN))[t.index()] };
        *known = Known {
            execution: execution(),
            routine: Some(routine),
            argument,
            state: if detached { State::Detached } else { State::Joinable },
            born: tick(),
            stack: stack.unwrap_or(0),
            ..UNKNOWN
        };
        crate::libc::restored::spawned(t);
        fresh(t);
    }
    crate::alone::stop();
    // SAFETY: the body is a static.
    runtime::spawn(None, stack, place, unsafe { Task::new(body, leave) })
}

pub(crate) extern "C" fn join(thread: libc::pthread_t, result: *mut *mut c_void) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_join(thread, result): fn(libc::pthread_t, *mut *mut c_void) -> libc::c_int);
    }
    let call = call();
    let object = std::mem::take(&mut known(runtime::current()).joins);
    let t = used(thread, call);
    if t == runtime::current() {
        return if known(t).state == State::Detached { libc::EINVAL } else { libc::EDEADLK };
    }
    signals::point_before(call);
    if claim(t, State::Joined, call) != State::Joinable {
        return libc::EINVAL;
    }
    let code = join_at(t, result, call);
    if object != 0 && code == 0 {
        crate::access::access(object, size_of::<libc::pthread_t>(), true, call);
    }
    code
}

/// The running thread is about to join another one through a `std::thread`, which has no thread afterwards.
pub(crate) fn joins_object(object: usize) {
    known(runtime::current()).joins = object;
}

/// Joins a thread that nobody else joins or detaches.
fn join_at(t: ThreadId, result: *mut *mut c_void, call: Call) -> libc::c_int {
    let _ = runtime::join(t, call.place);
    leave(t);
    touch_life(t, true, call.place);
    if !result.is_null() {
        crate::access::access(result as usize, size_of::<*mut c_void>(), true, call);
        // SAFETY: the program hands in a place for the result.
        unsafe { result.write(known(t).result) };
    }
    0
}

pub(crate) extern "C" fn detach(thread: libc::pthread_t) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_detach(thread): fn(libc::pthread_t) -> libc::c_int);
    }
    let call = call();
    let t = used(thread, call);
    if t == runtime::current() {
        note_user(t);
    }
    match claim(t, State::Detached, call) {
        State::Detached => return libc::EINVAL,
        // The C library reports no error, and the thread is joined as if nothing had happened.
        State::Joined => (),
        State::Joinable if known(t).ended => {
            leave(t);
            touch_life(t, true, call.place);
        }
        State::Joinable => (),
    }
    0
}

/// The object on which joins and detaches of a thread are steps. Its life is entered where those of locks are.
fn life(t: ThreadId) -> On {
    On { initial: known(t).state as u64, ..On::new(handle(t) as usize, Class::Once) }
}

/// By thread: the entry of the object on which joins and detaches are steps, once it was looked up.
static mut LIVES: [*mut Entry; explore::MAX_THREADS] = [std::ptr::null_mut(); explore::MAX_THREADS];

/// All entries are new.
pub(crate) fn forget_lives() {
    // SAFETY: no thread of the program runs.
    unsafe { LIVES = [std::ptr::null_mut(); explore::MAX_THREADS] };
}

/// The entry of [`life`].
#[inline]
fn life_entry(t: ThreadId) -> &'static mut Entry {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step; the table keeps its entries until
    // `forget_lives` is called.
    unsafe {
        let entry = LIVES[t.index()];
        if entry.is_null() { find_life(t) } else { &mut *entry }
    }
}

#[cold]
fn find_life(t: ThreadId) -> &'static mut Entry {
    let entry = life(t).entry();
    // SAFETY: as above.
    unsafe { LIVES[t.index()] = entry };
    entry
}

/// The name of the object of a thread's handle at an address, if it is one.
pub(crate) fn name_of(address: usize) -> Option<String> {
    let t = of_handle((address & !7) as libc::pthread_t)?;
    Some(format!("the handle of {}", runtime::label(t)))
}

fn misuse(what: String, place: Place) -> ! {
    runtime::settle();
    runtime::fail(FailureKind::LockMisuse, what, place)
}

#[cold]
fn used_too_late(t: ThreadId, call: Call) -> ! {
    let label = runtime::label(t);
    let how = if known(t).state == State::Joined { "joined" } else { "detached and has ended" };
    misuse(format!("the handle of {label} is used after the thread was {how}"), call.place)
}

#[cold]
fn used_unknown(handle: libc::pthread_t, call: Call) -> ! {
    misuse(format!("a handle is used that no thread has ever had: {handle:#x}"), call.place)
}

/// The thread whose handle the program uses in a call. The handle must be valid.
#[inline]
pub(crate) fn used(handle: libc::pthread_t, call: Call) -> ThreadId {
    runtime::settle();
    let Some(t) = of_handle(handle).filter(|t| is_made(*t)) else {
        used_unknown(handle, call);
    };
    // A thread that runs has not ended, and nobody can have joined it.
    if t == runtime::current() {
        return t;
    }
    if known(t).over {
        used_too_late(t, call);
    }
    note_user(t);
    touch_life(t, false, call.place);
    t
}

/// Notes that the running thread uses the handle of another one, or detaches itself.
#[inline(always)]
fn note_user(t: ThreadId) {
    let me = runtime::current();
    let first = *known(t).user.get_or_insert(me);
    let entry = life_entry(t);
    if !entry.plain && (first != me || known(t).state == State::Detached) {
        entry.plain = true;
        runtime::restart_soon();
    }
}

/// Looks at the life of a handle, where that is needed: it ends (`write`), or it is used.
#[inline]
fn touch_life(t: ThreadId, write: bool, place: Place) {
    if life_entry(t).plain {
        touch_shared_life(t, write, place);
    }
}

#[cold]
fn touch_shared_life(t: ThreadId, write: bool, place: Place) {
    let on = life(t);
    runtime::settle();
    let how = Touching { write, atomic: false, elsewhere: false };
    if let Some(race) = runtime::touch(&table::sync(on.address + LIFE).handle, how, place) {
        let both = race.split_once(": ").map_or(race.as_str(), |r| r.1);
        let label = runtime::label(t);
        let what = format!(
            "the handle of {label} ceases to be valid (a write, below) while another thread may use it (a read): {both}"
        );
        misuse(what, place);
    }
}

/// Joins or detaches a thread, if nobody has done so. Returns what was done before.
#[inline(always)]
fn claim(t: ThreadId, to: State, call: Call) -> State {
    if life_entry(t).plain {
        claim_shared(t, to, call);
    }
    let was = known(t).state;
    if was == State::Joinable {
        known(t).state = to;
    }
    was
}

#[cold]
fn claim_shared(t: ThreadId, to: State, call: Call) {
    let on = life(t);
    // The step orders nothing in the program.
    runtime::hush(&on.entry().handle, on.class, call.place);
    on.step_with(OpKind::CompareExchange, State::Joinable as u64, to as u64, MemoryOrder::SeqCst, call);
}

/// Joins a thread that has ended already; `EBUSY` if it has not.
extern "C" fn try_join(thread: libc::pthread_t, result: *mut *mut c_void) -> libc::c_int {
    if !runtime::in_execution() {
        return real!(pthread_tryjoin_np(thread, result): fn(libc::pthread_t, *mut *mut c_void) -> libc::c_int);
    }
    join_if_ended(thread, result, libc::EBUSY)
}

/// A timed join joins, or times out, in whatever state the search lets it run.
extern "C" fn timed_join(
    thread: libc::pthread_t,
    result: *mut *mut c_void,
    until: *const libc::timespec,
) -> libc::c_int {
    if !runtime::in_execution() {
        if crate::shim::is_running()
            && crate::modules::owner(crate::shim::return_address()) == Some(crate::modules::Owner::Program)
        {
            // A thread that is not under control would make any verdict worthless.
            crate::start::die(
                "a thread is made while raddle does not see who makes it; this is a bug of raddle",
            );
        }
        return real!(pthread_timedjoin_np(thread, result, until):
            fn(libc::pthread_t, *mut *mut c_void, *const libc::timespec) -> libc::c_int);
    }
    let attempt = || join_if_ended(thread, result, libc::ETIMEDOUT);
    let code = if time::is_valid(until) {
        let left = time::left(libc::CLOCK_REALTIME, until);
        time::within(left, libc::ETIMEDOUT, call(), || join(thread, result), attempt)
    } else {
        attempt()
    };
    if code == libc::ETIMEDOUT && !time::is_valid(until) {
        return libc::EINVAL;
    }
    if code == libc::ETIMEDOUT {
        time::reach(libc::CLOCK_REALTIME, until);
    }
    code
}

fn join_if_ended(thread: libc::pthread_t, result: *mut *mut c_void, busy: libc::c_int) -> libc::c_int {
    let call = call();
    let t = used(thread, call);
    if known(t).state != State::Joinable {
        return libc::EINVAL;
    }
    if t == runtime::current() {
        return if busy == libc::EBUSY { busy } else { libc::EDEADLK };
    }
    if !runtime::is_finished(t, call.place) {
        return busy;
    }
    signals::point_before(call);
    // Another thread may have joined it by now.
    if known(t).over {
        used(thread, call);
    }
    if claim(t, State::Joined, call) != State::Joinable {
        return libc::EINVAL;
    }
    join_at(t, result, call)
}

extern "C" fn create_inside(
    out: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> libc::c_int {
    real!(pthread_create(out, attributes, routine, argument):
        fn(*mut libc::pthread_t, *const libc::pthread_attr_t, Routine, *mut c_void) -> libc::c_int)
}

extern "C" fn this_inside() -> libc::pthread_t {
    real!(pthread_self(): fn() -> libc::pthread_t)
}

extern "C" fn this() -> libc::pthread_t {
    if runtime::in_execution() { handle(runtime::current()) } else { this_inside() }
}

extern "C" fn thread_number_inside() -> libc::pid_t {
    real!(gettid(): fn() -> libc::pid_t)
}

/// The number of the running thread, which is that of the process for the first one.
pub(crate) extern "C" fn thread_number() -> libc::pid_t {
    if !runtime::in_execution() {
        return thread_number_inside();
    }
    // SAFETY: the call has no preconditions.
    unsafe { libc::getpid() + runtime::current().index() as libc::pid_t }
}

extern "C" fn equal(a: libc::pthread_t, b: libc::pthread_t) -> libc::c_int {
    if runtime::in_execution() {
        let call = call();
        crate::looks::compared(a as usize, b as usize, crate::shim::stack_pointer(), call);
    }
    (a == b) as libc::c_int
}

/// The execution in which a handle has last ceased to be valid.
static mut LEFT_IN: u64 = 0;

/// The handle of a thread is not valid any more. The C library may give it to a later thread.
#[inline]
fn leave(t: ThreadId) {
    let known = known(t);
    (known.left, known.over) = (tick(), true);
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { LEFT_IN = execution() };
    if !crate::touch::looks() {
        crate::touch::set_looks(true);
        crate::touch::forget_ranges();
    }
}

/// Whether some handle of this execution is not valid any more.
pub(crate) fn has_left() -> bool {
    // SAFETY: as above.
    unsafe { LEFT_IN == execution() }
}

/// Whether one of two threads was made after the other one was gone.
pub(crate) fn are_apart(t: ThreadId, u: ThreadId) -> bool {
    let follows = |new: ThreadId, old: ThreadId| known(old).left != 0 && known(new).born > known(old).left;
    follows(t, u) || follows(u, t)
}

/// The program compares two values, which may be handles.
pub(crate) fn compared(a: usize, b: usize, place: Place) {
    if a == b || !has_left() {
        return;
    }
    let of = |handle: usize| made().find(|t| handle == self::handle(*t) as usize);
    if let (Some(a), Some(b)) = (of(a), of(b))
        && are_apart(a, b)
    {
        let text = "the handle of a thread that was joined is compared with that of a later thread; that the two are equal, \
                    as the C library gives out handles again, is not explored";
        runtime::caveat_at(explore::CaveatKind::Reuse, text, place);
    }
}

export_past! {
    pthread_create => create, create_inside;
    pthread_self => this, this_inside;
    gettid => thread_number, thread_number_inside;
}

export! {
    pthread_join => join;
    pthread_detach => detach;
    pthread_equal => equal;
    pthread_tryjoin_np => try_join;
    pthread_timedjoin_np => timed_join;
    thrd_current => this;
    thrd_equal => equal;
}
