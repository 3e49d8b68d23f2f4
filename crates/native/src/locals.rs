//! What threads have of their own: values of keys, and `thread_local` objects of C++ that have destructors.
//!
//! Keys are kept here: real ones run out, as executions that are given up do not delete theirs. A new key has the lowest number
//! that is free, so making a key is a step where another thread makes or deletes one at the same time. What constructors made
//! before `main` is there again in each execution.
//!
//! `pthread_key_delete` runs no destructor, and one that it comes before is not run. So in programs that delete keys, deleting a key and
//! the end of a thread that has a value for it are steps on the key, and so is every other use. That a program deletes keys is
//! learned when it first does; then the search starts again.
//!
//! When a thread ends, its `thread_local` objects come to their end in reverse order, and then values of keys, in up to four
//! rounds, as POSIX has it.

use crate::libc::objects;
use crate::modules::{self, Owner};
use crate::real::real;
use crate::shim::{Call, call, export, export_past, return_address};
use crate::sync::On;
use crate::{std_threads, threads};
use explore::{MemoryOrder, OpKind};
use runtime::Class;
use std::ffi::c_void;

type Destructor = unsafe extern "C" fn(*mut c_void);
type Key = libc::pthread_key_t;
type Code = libc::c_int;

const ROUNDS: usize = 4;
/// Keys that a process can have.
const MOST: u32 = 1024;
/// The key of Rust's std, which is not a step: see `std_threads`. std makes it early, so its number would be among the lowest.
const GUARD: Key = Key::MAX;

#[derive(Clone)]
struct Made {
    key: Key,
    destructor: Option<Destructor>,
}

#[derive(Clone, Default)]
struct Own {
    values: Vec<(Key, usize)>,
    objects: Vec<(Destructor, usize)>,
}

#[derive(Clone, Default)]
struct All {
    keys: Vec<Made>,
    threads: Vec<Own>,
}

static mut ALL: All = All { keys: Vec::new(), threads: Vec::new() };
/// What there was before `main`.
static mut BEFORE: Option<All> = None;

/// Whether the program deletes keys. It is allocated, so that processes share it where executions have their own.
static mut DELETES: *mut bool = std::ptr::null_mut();

/// The addresses that stand for keys. Two keys may share one: that only costs steps.
static PLACES: [u64; 1024] = [0; 1024];

/// Called before the first execution.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet.
    unsafe { DELETES = Box::leak(Box::new(false)) };
}

/// What a key is called in reports, by the address that stands for it.
pub(crate) fn name_of(address: usize) -> Option<String> {
    let i = address.checked_sub(&raw const PLACES as usize)? / size_of::<u64>();
    (i < PLACES.len()).then(|| format!("thread-specific key {i}"))
}

/// A step on a key, in programs that delete keys.
fn step(kind: OpKind, key: Key, call: Call) {
    // SAFETY: as in `all`; `prepare` was called before the first execution.
    if key == GUARD || !runtime::in_execution() || !unsafe { *DELETES } {
        return;
    }
    let i = key as usize % PLACES.len();
    let on = On::new(&raw const PLACES[i] as usize, Class::Once);
    // The C library orders nothing by it.
    runtime::hush(&on.entry().handle, on.class, call.place);
    on.step_with(kind, 1, 0, MemoryOrder::Relaxed, call);
}

/// What threads have, or the keys, may have changed since the execution began.
static mut CHANGED: bool = true;

/// All of it, to be changed.
fn all() -> &'static mut All {
    // SAFETY: as below.
    unsafe { CHANGED = true };
    looked_at()
}

/// All of it.
fn looked_at() -> &'static mut All {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a call of it.
    unsafe { &mut *(&raw mut ALL) }
}

fn index() -> usize {
    if runtime::in_execution() { runtime::current().index() } else { 0 }
}

fn own() -> &'static mut Own {
    let threads = &mut all().threads;
    let i = index();
    if threads.len() <= i {
        threads.resize_with(i + 1, Own::default);
    }
    &mut threads[i]
}

/// Whether the running thread has nothing.
#[inline]
fn has_nothing() -> bool {
    let own = looked_at().threads.get(index());
    own.is_none_or(|own| own.objects.is_empty() && own.values.is_empty())
}

/// Thread-local variables of threads that have ended lie between these.
static mut GONE: (usize, usize) = (usize::MAX, 0);

/// Whether an address may be that of a thread-local variable of a thread that has ended.
#[inline]
pub(crate) fn may_be_gone(address: usize) -> bool {
    // SAFETY: as in `all`.
    let (low, high) = unsafe { GONE };
    (low..high).contains(&address)
}

/// Whether a thread-local variable of a thread has this address.
pub(crate) fn is_of(t: explore::ThreadId, address: usize) -> bool {
    // SAFETY: as in `all`.
    let (low, high) = unsafe { SPANS[t.index()] }.unwrap_or_else(|| find_span(t));
    (low..high).contains(&address)
        && crate::start::locals_of(t).any(|(start, bytes)| (start..start + bytes).contains(&address))
}

/// The thread that has ended and had a thread-local variable at this address.
pub(crate) fn of_ended_thread(address: usize) -> Option<explore::ThreadId> {
    let mut ended = threads::made().filter(|t| threads::is_ended(*t));
    ended
        .find(|t| crate::start::locals_of(*t).any(|(start, bytes)| (start..start + bytes).contains(&address)))
}

/// By thread: its thread-local variables lie between these, once that was looked up. They stay where they are.
static mut SPANS: [Option<(usize, usize)>; explore::MAX_THREADS] = [None; explore::MAX_THREADS];

/// The running thread has ended, and its variables are gone.
#[inline]
pub(crate) fn gone() {
    let t = runtime::current();
    // SAFETY: as in `all`.
    unsafe {
        let (start, end) = SPANS[t.index()].unwrap_or_else(|| find_span(t));
        GONE = (GONE.0.min(start), GONE.1.max(end));
    }
}

#[cold]
fn find_span(t: explore::ThreadId) -> (usize, usize) {
    let locals = || crate::start::locals_of(t);
    let start = locals().map(|(start, _)| start).min().unwrap_or(usize::MAX);
    let end = locals().map(|(start, bytes)| start + bytes).max().unwrap_or(0);
    // SAFETY: as in `all`.
    unsafe { SPANS[t.index()] = Some((start, end)) };
    (start, end)
}

/// An execution begins.
pub(crate) fn begin() {
    crate::thread_exit::begin();
    // SAFETY: as in `all`.
    unsafe { GONE = (usize::MAX, 0) };
    // SAFETY: as in `all`.
    let before = unsafe { (*(&raw mut BEFORE)).get_or_insert_with(|| all().clone()) };
    // SAFETY: as in `all`.
    if unsafe { !std::mem::replace(&mut *(&raw mut CHANGED), false) } {
        return;
    }
    let now = looked_at();
    now.keys.clone_from(&before.keys);
    for (i, own) in now.threads.iter_mut().enumerate() {
        match before.threads.get(i) {
            Some(before) => own.clone_from(before),
            None => {
                own.values.clear();
                own.objects.clear();
            }
        }
    }
}

/// Runs what is to be run when a thread ends its `thread_local` objects.
pub(crate) fn end_objects() {
    if has_nothing() {
        return;
    }
    while let Some((destructor, object)) = own().objects.pop() {
        // SAFETY: the program asked for this.
        unsafe { threads::run_destructor(destructor as *const c_void, object) };
    }
}

/// The same for all that a thread has.
pub(crate) fn end() {
    if has_nothing() {
        return;
    }
    end_objects();
    crate::thread_exit::ends();
    for _ in 0..ROUNDS {
        let mut any = false;
        let mut i = 0;
        own().values.sort_unstable_by_key(|v| (v.0 != GUARD, v.0));
        while i < own().values.len() {
            let (key, value) = own().values[i];
            if value != 0 {
                step(OpKind::Load, key, Call::unknown());
            }
            let destructor = all().keys.iter().find(|k| k.key == key).and_then(|k| k.destructor);
            i += 1;
            if let Some(destructor) = destructor
                && value != 0
            {
                own().values[i - 1].1 = 0;
                any = true;
                // SAFETY: the program asked for this.
                unsafe { threads::run_destructor(destructor as *const c_void, value) };
            }
        }
        if !any {
            break;
        }
    }
}

/// A library of the system makes a key, and notes in memory of its own that it has done so. That memory keeps its contents from one
/// execution to the next, so the key stays, too.
fn key_of_library(destructor: Option<Destructor>) -> Key {
    const FIRST: Key = explore::MAX_THREADS as Key * MOST;
    // SAFETY: as in `all`.
    let before = unsafe { (*(&raw mut BEFORE)).get_or_insert_with(|| all().clone()) };
    let key = FIRST + before.keys.iter().filter(|k| k.key >= FIRST).count() as Key;
    before.keys.push(Made { key, destructor });
    all().keys.push(Made { key, destructor });
    key
}

extern "C" fn key_create(out: *mut Key, destructor: Option<Destructor>) -> Code {
    if runtime::in_execution() && modules::owner(return_address()) == Some(Owner::System) {
        // SAFETY: the library hands in a place for the key.
        unsafe { out.write(key_of_library(destructor)) };
        return 0;
    }
    if runtime::in_execution() && std_threads::is_guard(return_address()) {
        all().keys.push(Made { key: GUARD, destructor });
        // SAFETY: std hands in a place for the key.
        unsafe { out.write(GUARD) };
        return 0;
    }
    let call = runtime::in_execution().then(call);
    if let Some(call) = call {
        objects::process(&objects::KEYS, true, call);
    }
    let all = all();
    let Some(key) = (0..MOST).find(|key| all.keys.iter().all(|k| k.key != *key)) else {
        return libc::EAGAIN;
    };
    all.keys.push(Made { key, destructor });
    // Values of a deleted key that had the same number are gone.
    all.threads.iter_mut().for_each(|t| t.values.retain(|v| v.0 != key));
    if let Some(call) = call {
        step(OpKind::Store, key, call);
    }
    // SAFETY: the program hands in a place for the key.
    unsafe { out.write(key) };
    0
}

extern "C" fn key_create_inside(out: *mut Key, destructor: Option<Destructor>) -> Code {
    real!(pthread_key_create(out, destructor): fn(*mut Key, Option<Destructor>) -> Code)
}

extern "C" fn key_delete(key: Key) -> Code {
    if runtime::in_execution() {
        let call = call();
        runtime::settle();
        // SAFETY: as in `step`.
        unsafe {
            if !*DELETES {
                *DELETES = true;
                runtime::restart_soon();
            }
        }
        step(OpKind::Store, key, call);
        objects::process(&objects::KEYS, false, call);
    }
    let keys = &mut all().keys;
    match keys.iter().position(|k| k.key == key) {
        Some(i) => {
            keys.remove(i);
            0
        }
        None => libc::EINVAL,
    }
}

extern "C" fn key_delete_inside(key: Key) -> Code {
    real!(pthread_key_delete(key): fn(Key) -> Code)
}

extern "C" fn set(key: Key, value: usize) -> Code {
    look(key);
    if !all().keys.iter().any(|k| k.key == key) {
        return libc::EINVAL;
    }
    match own().values.iter_mut().find(|v| v.0 == key) {
        Some(v) => v.1 = value,
        None => own().values.push((key, value)),
    }
    0
}

extern "C" fn set_inside(key: Key, value: usize) -> Code {
    real!(pthread_setspecific(key, value): fn(Key, usize) -> Code)
}

/// The key is used: whether it still exists may matter.
fn look(key: Key) {
    // SAFETY: as in `step`.
    if runtime::in_execution() && unsafe { *DELETES } {
        step(OpKind::Load, key, call());
    }
}

extern "C" fn get(key: Key) -> usize {
    look(key);
    if !all().keys.iter().any(|k| k.key == key) {
        return 0;
    }
    own().values.iter().find(|v| v.0 == key).map_or(0, |v| v.1)
}

extern "C" fn get_inside(key: Key) -> usize {
    real!(pthread_getspecific(key): fn(Key) -> usize)
}

extern "C" fn at_thread_exit(destructor: Destructor, object: usize, _library: *mut c_void) -> Code {
    own().objects.push((destructor, object));
    0
}

extern "C" fn at_thread_exit_inside(destructor: Destructor, object: usize, library: *mut c_void) -> Code {
    real!(__cxa_thread_atexit_impl(destructor, object, library): fn(Destructor, usize, *mut c_void) -> Code)
}

extern "C" fn tss_create_here(out: *mut Key, destructor: Option<Destructor>) -> Code {
    if key_create(out, destructor) == 0 { 0 } else { 2 }
}

extern "C" fn tss_delete_here(key: Key) {
    key_delete(key);
}

extern "C" fn tss_set_here(key: Key, value: usize) -> Code {
    if set(key, value) == 0 { 0 } else { 2 }
}

export_past! {
    pthread_key_create => key_create, key_create_inside;
    pthread_key_delete => key_delete, key_delete_inside;
    pthread_setspecific => set, set_inside;
    pthread_getspecific => get, get_inside;
    __cxa_thread_atexit_impl => at_thread_exit, at_thread_exit_inside;
}

export! {
    tss_create => tss_create_here;
    tss_delete => tss_delete_here;
    tss_set => tss_set_here;
    tss_get => get;
}
