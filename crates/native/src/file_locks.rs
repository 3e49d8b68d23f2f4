//! Locks of files: `flock`, and the locks of open file descriptions (`F_OFD_SETLK`).
//!
//! The kernel keeps the locks, and is never asked to wait. All locks of files are one object of the search, whose word says how often
//! a lock was taken or released. A call that must wait tries, waits until the word differs, and tries again.
//!
//! Record locks (`F_SETLK`, `lockf`) belong to the process, so its threads never exclude each other: only a lock of another process
//! could make one wait, which is refused.
//!
//! A lock ends when the last descriptor of its open file is closed. So each `close` is a step in programs that use such locks, which is
//! learned.

use crate::modules::{self, Owner};
use crate::real::real;
use crate::shim::{Call, call, export, return_address};
use crate::sync::{On, not_modelled, with_errno};
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Request};
use std::ffi::c_int;

/// The address that stands for the locks of all files.
static LOCKS: u64 = 0;

/// Whether the program locks files. Allocated, so that processes share it where executions have their own.
static mut USED: *mut bool = std::ptr::null_mut();

/// Called before the first execution.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet.
    unsafe { USED = Box::leak(Box::new(false)) };
}

/// What the locks are called in reports.
pub(crate) fn name_of(address: usize) -> Option<String> {
    (address == &raw const LOCKS as usize).then(|| "the locks of files".to_owned())
}

fn locks() -> On {
    On::new(&raw const LOCKS as usize, Class::Channel)
}

/// A step in which the kernel is asked for something; gives the word after it, and what the kernel said.
fn attempt(changes: bool, call: Call, ask: impl FnOnce() -> c_int) -> (u64, c_int) {
    let on = locks();
    let request = Request {
        kind: OpKind::Transfer,
        object: &on.entry().handle,
        class: on.class,
        initial: 0,
        a: 0,
        b: 0,
        order: MemoryOrder::AcqRel,
        place: call.place,
    };
    let (mut word, mut said) = (0, -1);
    runtime::transfer(&request, call.state, |now| {
        said = ask();
        word = if said == 0 && changes { now + 1 } else { now };
        word
    });
    (word, said)
}

/// Takes or releases a lock, and waits for it if that is wanted.
fn take(waits: bool, call: Call, mut ask: impl FnMut() -> c_int) -> c_int {
    // SAFETY: one OS thread alone runs code of the program; `prepare` was called before the first execution.
    unsafe {
        if !*USED {
            *USED = true;
            runtime::restart_soon();
        }
    }
    loop {
        let (word, said) = attempt(true, call, &mut ask);
        let error = crate::libc::errno();
        if said == 0 || !waits || !matches!(error, libc::EAGAIN | libc::EACCES) {
            crate::libc::set_errno(error);
            return said;
        }
        let is_same = || locks().step_with(OpKind::Load, 0, 0, MemoryOrder::Acquire, call).value == word;
        if crate::signals::is_interrupted(false, is_same, call) {
            return with_errno(libc::EINTR);
        }
        let on = locks();
        runtime::wait_for_any(std::iter::once((&on.entry().handle, word)), call.place);
    }
}

/// A descriptor is about to be closed: that may release locks.
pub(crate) fn closing(fd: c_int, call: Call) {
    // SAFETY: as in `take`.
    if runtime::in_execution() && unsafe { *USED } {
        attempt(true, call, || 0);
        *has_lock(fd) = false;
    }
}

fn of_program() -> bool {
    runtime::in_execution() && modules::owner(return_address()) == Some(Owner::Program)
}

extern "C" fn flock_here(fd: c_int, operation: c_int) -> c_int {
    if !of_program() {
        return real!(flock(fd, operation): fn(c_int, c_int) -> c_int);
    }
    let call = call();
    crate::signals::point_before(call);
    runtime::end_looking();
    let ask = |operation: c_int| move || real!(flock(fd, operation): fn(c_int, c_int) -> c_int);
    let plain = operation & !libc::LOCK_NB;
    // To change the kind of a lock is to release it first.
    if plain != libc::LOCK_UN && *has_lock(fd) {
        take(false, call, ask(libc::LOCK_UN));
    }
    let done = take(operation & libc::LOCK_NB == 0, call, ask(plain | libc::LOCK_NB));
    *has_lock(fd) = done == 0 && plain != libc::LOCK_UN;
    done
}

/// Whether a lock was taken by way of a descriptor, in the running execution.
fn has_lock(fd: c_int) -> &'static mut bool {
    const MOST: usize = 1024;
    static mut HAVE: ([bool; MOST], u64) = ([false; MOST], 0);
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe {
        let (all, execution) = &mut *(&raw mut HAVE);
        if *execution != crate::threads::execution() {
            *execution = crate::threads::execution();
            all.fill(false);
        }
        &mut all[fd as usize % MOST]
    }
}

/// A command of `fcntl` about locks, in an execution; nothing for other commands.
pub(crate) fn control(fd: c_int, command: c_int, argument: usize, call: Call) -> Option<c_int> {
    let ask = |command: c_int| move || real!(fcntl(fd, command, argument): fn(c_int, c_int, usize) -> c_int);
    match command {
        libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            runtime::end_looking();
            Some(take(command == libc::F_OFD_SETLKW, call, ask(libc::F_OFD_SETLK)))
        }
        libc::F_OFD_GETLK => Some(attempt(false, call, ask(command)).1),
        libc::F_SETLKW => {
            let done = ask(libc::F_SETLK)();
            if done != 0 && matches!(crate::libc::errno(), libc::EAGAIN | libc::EACCES) {
                not_modelled("to wait for a lock that another process has", call);
            }
            Some(done)
        }
        _ => None,
    }
}

extern "C" fn lockf_here(fd: c_int, command: c_int, length: libc::off_t) -> c_int {
    let waits = command == libc::F_LOCK && of_program();
    let call = call();
    let command = if waits { libc::F_TLOCK } else { command };
    let done = real!(lockf(fd, command, length): fn(c_int, c_int, libc::off_t) -> c_int);
    if waits && done != 0 && matches!(crate::libc::errno(), libc::EAGAIN | libc::EACCES) {
        not_modelled("to wait for a lock that another process has", call);
    }
    done
}

export! {
    flock => flock_here;
    lockf => lockf_here;
    lockf64 => lockf_here;
}
