//! Semaphores, those with a name among them: these live in this process, and begin anew in each execution.
//!
//! The first value is in the memory of the semaphore, where the C library puts it; from then on the runtime's word counts. For
//! timed waits see `mutex`.

use crate::real::real;
use crate::shim::{Call, call, export};
use crate::sync::{On, SECOND, at, is_stamp, not_modelled, put, with_errno};
use crate::time;
use explore::{MemoryOrder, OpKind};
use runtime::Class;
use std::ffi::{CStr, CString};

type Sem = *mut libc::sem_t;
type Code = libc::c_int;

/// In the half of the first word where the C library counts who waits.
const DESTROYED: u32 = u32::MAX;
const WAITERS: usize = 4;
/// Where an initialized semaphore keeps its address, in bytes that the C library does not use.
const OWN: usize = 24;
/// `SEM_VALUE_MAX`.
const MOST: u64 = i32::MAX as u64;
/// More than all threads together can post between two steps.
const MARGIN: u64 = 1 << 16;
/// Where it is counted how often a semaphore with a name was opened.
const OPENED: usize = 16;

fn on(sem: Sem) -> On {
    // SAFETY: the program hands in a semaphore.
    let initial = unsafe { at::<u32>(sem as usize, 0) } as u64;
    On { initial, ..On::new(sem as usize, Class::Semaphore) }
}

fn used(sem: Sem, call: Call) -> On {
    let on = on(sem);
    on.used(call);
    // SAFETY: as above.
    if unsafe { at::<u32>(sem as usize, WAITERS) } == DESTROYED {
        on.misuse("it is used after it was destroyed", call);
    }
    // SAFETY: as above.
    if !is_stamp(unsafe { at::<u64>(sem as usize, OWN) }) {
        on.misuse("it was never initialized", call);
    }
    // SAFETY: the places of semaphores with names are ours.
    if is_named(sem) && unsafe { at::<u64>(sem as usize, OPENED) } == 0 {
        on.misuse("it is used after it was closed", call);
    }
    on.is_original(sem as usize + OWN, call);
    on
}

/// Whether a semaphore is one that `sem_open` has given.
fn is_named(sem: Sem) -> bool {
    let start = &raw const PLACES as usize;
    // SAFETY: only its size is asked for.
    let bytes = size_of_val(unsafe { &*(&raw const PLACES) });
    (start..start + bytes).contains(&(sem as usize))
}

extern "C" fn init(sem: Sem, shared: Code, value: u32) -> Code {
    let code = real!(sem_init(sem, shared, value): fn(Sem, Code, u32) -> Code);
    if code == 0 {
        on(sem).stamp(sem as usize + OWN);
    }
    if runtime::in_execution() && code == 0 {
        let call = call();
        let on = on(sem);
        on.made(call);
        on.put(value as u64, call);
    }
    code
}

extern "C" fn destroy(sem: Sem) -> Code {
    if !runtime::in_execution() {
        return real!(sem_destroy(sem): fn(Sem) -> Code);
    }
    let call = call();
    let on = on(sem);
    on.destroyed(call);
    // SAFETY: as above.
    unsafe {
        if at::<u32>(sem as usize, WAITERS) == DESTROYED {
            on.misuse("it is destroyed twice", call);
        }
        put(sem as usize, WAITERS, DESTROYED);
    }
    on.put(0, call);
    0
}

extern "C" fn wait(sem: Sem) -> Code {
    if !runtime::in_execution() {
        return real!(sem_wait(sem): fn(Sem) -> Code);
    }
    let call = call();
    let on = used(sem, call);
    if is_interrupted(&on, call) {
        return with_errno(libc::EINTR);
    }
    on.step(OpKind::SemWait, call);
    0
}

/// Whether a signal interrupts a wait.
fn is_interrupted(on: &On, call: Call) -> bool {
    let is_zero = || on.step_with(OpKind::Load, 0, 0, MemoryOrder::Relaxed, call).value == 0;
    crate::signals::is_interrupted(false, is_zero, call)
}

fn attempt(sem: Sem, busy: Code) -> Code {
    let call = call();
    let on = used(sem, call);
    if busy == libc::ETIMEDOUT && is_interrupted(&on, call) {
        return with_errno(libc::EINTR);
    }
    if on.step(OpKind::SemTryWait, call).ok { 0 } else { with_errno(busy) }
}

/// Whether the last call failed with this error.
fn has_errno(code: Code) -> bool {
    // SAFETY: `errno` can always be read.
    unsafe { *libc::__errno_location() == code }
}

extern "C" fn try_wait(sem: Sem) -> Code {
    if !runtime::in_execution() {
        return real!(sem_trywait(sem): fn(Sem) -> Code);
    }
    attempt(sem, libc::EAGAIN)
}

fn attempt_until(sem: Sem, clock: libc::clockid_t, until: *const libc::timespec) -> Code {
    if !time::is_valid(until) {
        return with_errno(libc::EINVAL);
    }
    let left = time::left(clock, until);
    let code = time::within(left, -1, call(), || wait(sem), || attempt(sem, libc::ETIMEDOUT));
    if code != 0 && !has_errno(libc::EINTR) {
        time::reach(clock, until);
    }
    code
}

extern "C" fn timed_wait(sem: Sem, until: *const libc::timespec) -> Code {
    if !runtime::in_execution() {
        return real!(sem_timedwait(sem, until): fn(Sem, *const libc::timespec) -> Code);
    }
    attempt_until(sem, libc::CLOCK_REALTIME, until)
}

extern "C" fn clock_wait(sem: Sem, clock: libc::clockid_t, until: *const libc::timespec) -> Code {
    if !runtime::in_execution() {
        return real!(sem_clockwait(sem, clock, until): fn(Sem, libc::clockid_t, *const libc::timespec) -> Code);
    }
    if !crate::time::is_clock_of_waits(clock) {
        return crate::sync::with_errno(libc::EINVAL);
    }
    attempt_until(sem, clock, until)
}

extern "C" fn post(sem: Sem) -> Code {
    if !runtime::in_execution() {
        return real!(sem_post(sem): fn(Sem) -> Code);
    }
    let call = call();
    let on = used(sem, call);
    // Far from the limit nobody has to look at the count.
    if on.word() + MARGIN >= MOST
        && on.step_with(OpKind::Load, 0, 0, MemoryOrder::Relaxed, call).value >= MOST
    {
        return with_errno(libc::EOVERFLOW);
    }
    on.step(OpKind::SemPost, call);
    0
}

extern "C" fn get_value(sem: Sem, out: *mut Code) -> Code {
    if !runtime::in_execution() {
        return real!(sem_getvalue(sem, out): fn(Sem, *mut Code) -> Code);
    }
    let call = call();
    // No order: to look at the value orders nothing.
    let value = used(sem, call).step_with(OpKind::Load, 0, 0, MemoryOrder::Relaxed, call).value;
    // SAFETY: the program hands in a place for the value.
    unsafe { out.write(value as Code) };
    0
}

/// So many semaphores can have a name.
const NAMED: usize = 64;

/// A semaphore with a name. It keeps its place over all executions.
#[repr(C, align(32))]
struct Named([u64; 4]);

static mut PLACES: [Named; NAMED] = [const { Named([0; 4]) }; NAMED];
/// Allocated, so that processes share it where executions have their own.
static mut NAMES: *mut Vec<CString> = std::ptr::null_mut();

/// Called before the first execution.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet.
    unsafe { NAMES = Box::leak(Box::default()) };
}

/// An execution begins: no name is taken.
pub(crate) fn begin() {
    // SAFETY: one OS thread alone runs code of the program, and none runs now.
    unsafe {
        for i in 0..(*NAMES).len() {
            (*(&raw mut PLACES))[i] = Named([0; 4]);
        }
    }
}

/// The name of the semaphore at an address, if it is one of these.
pub(crate) fn name_of(address: usize) -> Option<String> {
    let i = address.checked_sub(&raw const PLACES as usize)? / size_of::<Named>();
    // SAFETY: one OS thread alone runs code of the program; the borrow ends here.
    let name = unsafe { &*NAMES }.get(i)?;
    let what = if address.is_multiple_of(size_of::<Named>()) { "semaphore" } else { "name of semaphore" };
    Some(format!("{what} {}", name.to_string_lossy()))
}

fn place_of(name: *const libc::c_char, call: Call) -> Sem {
    // SAFETY: one OS thread alone runs code of the program; it hands in a string.
    unsafe {
        let (names, name) = (&mut *NAMES, CStr::from_ptr(name));
        let i = names.iter().position(|n| n.as_c_str() == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        if i >= NAMED {
            not_modelled("more than 64 semaphores with names", call);
        }
        (&raw mut (*(&raw mut PLACES))[i]).cast()
    }
}

/// The name is read.
fn read_name(name: *const libc::c_char, call: Call) {
    crate::access::range(name as usize, crate::strings::extent(name, usize::MAX), false, call);
}

/// Whether a semaphore may have this name: slashes in front do not count.
fn is_name(name: *const libc::c_char) -> bool {
    // SAFETY: the program hands in a string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let start = name.iter().take_while(|b| **b == b'/').count();
    start < name.len() && !name[start..].contains(&b'/')
}

/// Whether the name of a semaphore is taken: 1, or 0.
fn taken(sem: Sem) -> On {
    On::new(sem as usize + SECOND, Class::Once)
}

extern "C" fn open(name: *const libc::c_char, flags: Code, mode: libc::mode_t, value: u32) -> Sem {
    if !runtime::in_execution() {
        return real!(sem_open(name, flags, mode, value): fn(*const libc::c_char, Code, libc::mode_t, u32) -> Sem);
    }
    let call = call();
    let fail = |error| {
        with_errno(error);
        libc::SEM_FAILED
    };
    read_name(name, call);
    if !is_name(name) || flags & libc::O_CREAT != 0 && u64::from(value) > MOST {
        return fail(libc::EINVAL);
    }
    let sem = place_of(name, call);
    if flags & libc::O_CREAT == 0 {
        let exists = taken(sem).step_with(OpKind::Load, 0, 0, MemoryOrder::Acquire, call).value == 1;
        if !exists {
            return fail(libc::ENOENT);
        }
        // SAFETY: the place is ours, and large enough.
        unsafe { put(sem as usize, OPENED, at::<u64>(sem as usize, OPENED) + 1) };
        return sem;
    }
    let created = taken(sem).step_with(OpKind::CompareExchange, 0, 1, MemoryOrder::AcqRel, call).ok;
    if created {
        // SAFETY: the place is ours, and large enough.
        unsafe {
            if at::<u64>(sem as usize, OPENED) > 0 {
                not_modelled("a semaphore whose name was unlinked and taken again while it is open", call);
            }
            put(sem as usize, 0, value as u64);
        }
        on(sem).stamp(sem as usize + OWN);
        on(sem).put(value as u64, call);
    } else if flags & libc::O_EXCL != 0 {
        return fail(libc::EEXIST);
    }
    // SAFETY: as above.
    unsafe { put(sem as usize, OPENED, at::<u64>(sem as usize, OPENED) + 1) };
    sem
}

extern "C" fn close(sem: Sem) -> Code {
    if !runtime::in_execution() {
        return real!(sem_close(sem): fn(Sem) -> Code);
    }
    // SAFETY: `sem_open` gave it.
    unsafe { put(sem as usize, OPENED, at::<u64>(sem as usize, OPENED).saturating_sub(1)) };
    0
}

/// The name is free again.
extern "C" fn unlink(name: *const libc::c_char) -> Code {
    if !runtime::in_execution() {
        return real!(sem_unlink(name): fn(*const libc::c_char) -> Code);
    }
    let call = call();
    read_name(name, call);
    if !is_name(name) {
        return with_errno(libc::ENOENT);
    }
    let sem = place_of(name, call);
    let freed = taken(sem).step_with(OpKind::CompareExchange, 1, 0, MemoryOrder::AcqRel, call).ok;
    if freed { 0 } else { with_errno(libc::ENOENT) }
}

export! {
    sem_init => init;
    sem_destroy => destroy;
    sem_wait => wait;
    sem_trywait => try_wait;
    sem_timedwait => timed_wait;
    sem_clockwait => clock_wait;
    sem_post => post;
    sem_getvalue => get_value;
    sem_open => open;
    sem_close => close;
    sem_unlink => unlink;
}
