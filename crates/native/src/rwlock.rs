//! Reader-writer locks.
//!
//! The writer is kept in the memory of the lock; who reads is kept here, for one execution. A lock is given back as the thread
//! holds it. Readers get in while a writer waits, as they do with the C library's default. In a lock of the kind
//! `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP` a waiting writer holds up new readers. There the first attempt of a writer is a
//! step of its own, as for the locks of Rust (the runtime's module `rwlock`). For timed locks see `mutex`.

use crate::mutex::give_back_with;
use crate::real::real;
use crate::shim::{Call, call, export};
use crate::sync::{On, at, is_modelled, put};
use crate::{changes, time};
use explore::semantics::RwWord;
use explore::{CaveatKind, MemoryOrder, Op, OpKind, ThreadId};
use runtime::Class;

type Lock = *mut libc::pthread_rwlock_t;
type Code = libc::c_int;
type Until = *const libc::timespec;

/// Where the C library counts readers.
const READERS: usize = 0;
/// Where the C library keeps the writer.
const WRITER: usize = 24;
const STATE: usize = 32;
const DESTROYED: u32 = u32::MAX;
/// Where a lock keeps its address, in bytes that the C library does not use.
const OWN: usize = 40;
/// Where the C library keeps the kind.
const KIND: usize = 48;
/// `PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP`.
const PREFERS_WRITERS: u32 = 2;

struct Reading {
    lock: usize,
    thread: ThreadId,
    times: u32,
}

static mut READING: Vec<Reading> = Vec::new();

fn reading() -> &'static mut Vec<Reading> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut READING) }
}

/// An execution begins.
pub(crate) fn begin() {
    reading().clear();
}

fn me() -> i32 {
    runtime::current().0 as i32 + 1
}

fn used(lock: Lock, call: Call) -> On {
    let on = On::new(lock as usize, Class::RwLock);
    on.used(call);
    // SAFETY: the program hands in a lock.
    if unsafe { at::<u32>(lock as usize, STATE) } == DESTROYED {
        on.misuse("it is used after it was destroyed", call);
    }
    on.is_original(lock as usize + OWN, call);
    let word = RwWord(on.word());
    // SAFETY: as above.
    let (readers, writer) = unsafe { (at::<u32>(lock as usize, READERS), at::<i32>(lock as usize, WRITER)) };
    if word.readers() != 0 && readers == 0 || word.writer() != 0 && writer == 0 {
        forget_readers(lock);
        on.made_while_held("its memory was overwritten while it was locked", call);
    }
    on
}

/// Another lock begins its life there.
fn forget_readers(lock: Lock) {
    reading().retain(|r| r.lock != lock as usize);
}

/// Notes in the memory of the lock whether there are readers: an initializer that is assigned overwrites that.
fn note_readers(on: &On, lock: Lock) {
    // SAFETY: the program hands in a lock.
    unsafe { put(lock as usize, READERS, RwWord(on.word()).readers() as u32) };
}

fn is_writer(lock: Lock) -> bool {
    // SAFETY: as above.
    unsafe { at::<i32>(lock as usize, WRITER) == me() }
}

/// The operand of the steps on a lock: not 0 if waiting writers hold up new readers.
fn operand(lock: Lock) -> u64 {
    // SAFETY: as above.
    if unsafe { at::<u32>(lock as usize, KIND) } == PREFERS_WRITERS { Op::ARRIVES } else { 0 }
}

/// Takes a lock, or tries to.
fn take(on: &On, lock: Lock, kind: OpKind, call: Call) -> bool {
    let a = operand(lock);
    let step = |a| on.step_with(kind, a, 0, MemoryOrder::None, call.with(a)).ok;
    if a == 0 {
        return on.step(kind, call).ok;
    }
    let mut ok = step(a);
    while !ok && matches!(kind, OpKind::ReadLock | OpKind::WriteLock) {
        // It waits now, which others can tell, and blocks until it is woken.
        ok = step(Op::HAS_WAITED);
    }
    ok
}

fn read(lock: Lock, kind: OpKind, busy: Code) -> Code {
    let call = call();
    let on = used(lock, call);
    if is_writer(lock) && kind == OpKind::ReadLock {
        return libc::EDEADLK;
    }
    if !take(&on, lock, kind, call) {
        return busy;
    }
    note_readers(&on, lock);
    let (address, thread) = (lock as usize, runtime::current());
    match reading().iter_mut().find(|r| r.lock == address && r.thread == thread) {
        Some(r) => r.times += 1,
        None => reading().push(Reading { lock: address, thread, times: 1 }),
    }
    changes::taken();
    0
}

fn write(lock: Lock, kind: OpKind, busy: Code) -> Code {
    let call = call();
    let on = used(lock, call);
    if is_writer(lock) && kind == OpKind::WriteLock {
        return libc::EDEADLK;
    }
    if !take(&on, lock, kind, call) {
        return busy;
    }
    // SAFETY: as above.
    unsafe { put(lock as usize, WRITER, me()) };
    changes::taken();
    0
}

/// The steps by which a lock is waited for, and tried.
const TO_READ: [OpKind; 2] = [OpKind::ReadLock, OpKind::TryReadLock];
const TO_WRITE: [OpKind; 2] = [OpKind::WriteLock, OpKind::TryWriteLock];

/// Names a timed write lock on a lock of this kind: it holds up readers while it waits, and here it does not wait.
fn note_timed_writer(lock: Lock) {
    if operand(lock) != 0 {
        let text = "a write lock with a timeout does not hold up readers while it waits, although its lock prefers writers";
        runtime::caveat_at(CaveatKind::Patient, text.to_owned(), Call::unknown().place);
    }
}

/// A lock with a time limit, for which `lock` takes a step of this kind.
fn timed(
    locked: Lock,
    lock: impl Fn(OpKind, Code) -> Code,
    [wait, attempt]: [OpKind; 2],
    clock: libc::clockid_t,
    until: Until,
) -> Code {
    const LATE: Code = libc::ETIMEDOUT;
    if !time::is_clock_of_waits(clock) || !time::is_valid(until) {
        return libc::EINVAL;
    }
    if is_writer(locked) {
        return libc::EDEADLK;
    }
    let code = time::within(time::left(clock, until), LATE, call(), || lock(wait, 0), || lock(attempt, LATE));
    if code == libc::ETIMEDOUT {
        time::reach(clock, until);
    }
    code
}

extern "C" fn init(lock: Lock, attributes: *const libc::pthread_rwlockattr_t) -> Code {
    crate::libc::reads_attributes(attributes, 8);
    let code =
        real!(pthread_rwlock_init(lock, attributes): fn(Lock, *const libc::pthread_rwlockattr_t) -> Code);
    if is_modelled(lock as usize) && code == 0 {
        let call = call();
        let on = On::new(lock as usize, Class::RwLock);
        on.made(call);
        let word = RwWord(on.word());
        if word.readers() != 0 || word.writer() != 0 {
            on.made_while_held("it is initialized while it is locked", call);
        }
        forget_readers(lock);
        on.put(0, call);
        on.stamp(lock as usize + OWN);
    }
    code
}

extern "C" fn destroy(lock: Lock) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_destroy(lock): fn(Lock) -> Code);
    }
    let call = call();
    let on = On::new(lock as usize, Class::RwLock);
    on.destroyed(call);
    // SAFETY: as above.
    unsafe {
        if at::<u32>(lock as usize, STATE) == DESTROYED {
            on.misuse("it is destroyed twice", call);
        }
        let word = RwWord(on.word());
        if word.readers() != 0 || word.writer() != 0 {
            on.misuse("it is destroyed while it is locked", call);
        }
        put(lock as usize, STATE, DESTROYED);
    }
    0
}

extern "C" fn read_lock(lock: Lock) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_rdlock(lock): fn(Lock) -> Code);
    }
    read(lock, OpKind::ReadLock, 0)
}

extern "C" fn try_read_lock(lock: Lock) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_tryrdlock(lock): fn(Lock) -> Code);
    }
    read(lock, OpKind::TryReadLock, libc::EBUSY)
}

extern "C" fn timed_read_lock(lock: Lock, until: Until) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_timedrdlock(lock, until): fn(Lock, Until) -> Code);
    }
    timed(lock, |kind, busy| read(lock, kind, busy), TO_READ, libc::CLOCK_REALTIME, until)
}

extern "C" fn clock_read_lock(lock: Lock, clock: libc::clockid_t, until: Until) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_clockrdlock(lock, clock, until): fn(Lock, libc::clockid_t, Until) -> Code);
    }
    timed(lock, |kind, busy| read(lock, kind, busy), TO_READ, clock, until)
}

extern "C" fn write_lock(lock: Lock) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_wrlock(lock): fn(Lock) -> Code);
    }
    write(lock, OpKind::WriteLock, 0)
}

extern "C" fn try_write_lock(lock: Lock) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_trywrlock(lock): fn(Lock) -> Code);
    }
    write(lock, OpKind::TryWriteLock, libc::EBUSY)
}

extern "C" fn timed_write_lock(lock: Lock, until: Until) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_timedwrlock(lock, until): fn(Lock, Until) -> Code);
    }
    note_timed_writer(lock);
    timed(lock, |kind, busy| write(lock, kind, busy), TO_WRITE, libc::CLOCK_REALTIME, until)
}

extern "C" fn clock_write_lock(lock: Lock, clock: libc::clockid_t, until: Until) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_clockwrlock(lock, clock, until): fn(Lock, libc::clockid_t, Until) -> Code);
    }
    note_timed_writer(lock);
    timed(lock, |kind, busy| write(lock, kind, busy), TO_WRITE, clock, until)
}

extern "C" fn unlock(lock: Lock) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_rwlock_unlock(lock): fn(Lock) -> Code);
    }
    let call = call();
    let on = used(lock, call);
    if is_writer(lock) {
        give_back_with(&on, OpKind::WriteUnlock, operand(lock), call);
        // SAFETY: as above.
        unsafe { put(lock as usize, WRITER, 0i32) };
        return 0;
    }
    let (address, thread) = (lock as usize, runtime::current());
    let Some(i) = reading().iter().position(|r| r.lock == address && r.thread == thread) else {
        on.misuse("it is unlocked by a thread that holds it neither for reading nor for writing", call);
    };
    reading()[i].times -= 1;
    if reading()[i].times == 0 {
        reading().swap_remove(i);
    }
    give_back_with(&on, OpKind::ReadUnlock, operand(lock), call);
    note_readers(&on, lock);
    0
}

export! {
    pthread_rwlock_init => init;
    pthread_rwlock_destroy => destroy;
    pthread_rwlock_rdlock => read_lock;
    pthread_rwlock_tryrdlock => try_read_lock;
    pthread_rwlock_timedrdlock => timed_read_lock;
    pthread_rwlock_clockrdlock => clock_read_lock;
    pthread_rwlock_wrlock => write_lock;
    pthread_rwlock_trywrlock => try_write_lock;
    pthread_rwlock_timedwrlock => timed_write_lock;
    pthread_rwlock_clockwrlock => clock_write_lock;
    pthread_rwlock_unlock => unlock;
}
