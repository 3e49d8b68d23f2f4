//! Mutexes and spin locks.
//!
//! The kind of a mutex (normal, recursive, error-checking), its owner and how often it was taken are kept in its own memory, as
//! the C library lays it out: static initialisers work as they are, and what is put back between executions is the mutex
//! too. Whether it is held is the runtime's word. The owner is written after the step that takes the lock and cleared after the
//! step that gives it back; a thread only ever asks whether it is itself.
//!
//! # Timed locks
//!
//! A timed lock that finds the mutex free takes it, and one that finds it held times out: both happen whenever the search
//! lets it run, and it can let it run in every state. To wait first and get the lock later is to run later. So a step that
//! tries is all there is to it, and no time is too short or too long.
//!
//! # What is an error
//!
//! To give back a normal mutex that one does not hold, to destroy a mutex that is held, and to use one that was destroyed. Where
//! POSIX has an error code for it (recursive and error-checking mutexes), the code is returned instead. To take a normal mutex
//! again blocks for ever, and that is reported as the deadlock it is.
//!
//! To initialize a mutex that is held is an error too, by a call or by the assignment of an initializer. After an assignment the memory
//! says that nobody holds the mutex, and the runtime's word says who does: that is noticed when the mutex is used next.
//!
//! Priority protocols and sharing between processes change nothing here and are accepted. A mutex that outlives its owner
//! (robust) is not modelled.

use crate::real::real;
use crate::shim::{Call, call, export};
use crate::sync::{On, at, is_modelled, not_modelled, put};
use crate::{changes, time};
use explore::{MemoryOrder, OpKind};
use runtime::Class;

type Mutex = *mut libc::pthread_mutex_t;
type Code = libc::c_int;

const LOCK: usize = 0;
const COUNT: usize = 4;
const OWNER: usize = 8;
const KIND: usize = 16;
/// Where a mutex keeps its address: the C library has a list of robust mutexes there.
const OWN: usize = 24;
const ROBUST: i32 = 16;
/// The kind of a mutex that was destroyed, as the C library has it.
const DESTROYED: i32 = -1;
/// In place of the lock, in a mutex that its owner releases in a wait: so its memory never looks initialized while it is held.
const RELEASED: i32 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Recursive,
    Checking,
}

/// A mutex of the program.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    pub(crate) on: On,
    address: usize,
    pub(crate) kind: Kind,
}

fn me() -> i32 {
    runtime::current().0 as i32 + 1
}

impl Held {
    /// The mutex at an address, about to be used.
    pub(crate) fn new(address: usize, call: Call) -> Held {
        // SAFETY: the program hands in a mutex.
        let (kind, held, owner) =
            unsafe { (at::<i32>(address, KIND), at::<i32>(address, LOCK), at::<i32>(address, OWNER)) };
        // Constructors may have taken it before `main`.
        let initial = if held != 0 && owner != 0 { 1 } else { 0 };
        let on = On { initial, ..On::new(address, Class::Mutex) };
        if initial != 0 && !on.is_met() {
            // SAFETY: as above.
            unsafe { put(address, OWNER, 1i32) };
        }
        on.used(call);
        if kind == DESTROYED {
            on.misuse("it is used after it was destroyed", call);
        }
        on.is_original(address + OWN, call);
        if held == 0 && on.word() != 0 {
            on.made_while_held("its memory was overwritten while it was locked", call);
        }
        if kind & ROBUST != 0 {
            not_modelled("a robust mutex", call);
        }
        let kind = match kind & 3 {
            1 => Kind::Recursive,
            2 => Kind::Checking,
            _ => Kind::Normal,
        };
        Held { on, address, kind }
    }

    pub(crate) fn is_mine(&self) -> bool {
        // SAFETY: the program hands in a mutex.
        unsafe { at::<i32>(self.address, LOCK) != 0 && at::<i32>(self.address, OWNER) == me() }
    }

    /// How often more than once its owner has taken it.
    pub(crate) fn again(&self) -> u32 {
        // SAFETY: as above.
        unsafe { at(self.address, COUNT) }
    }

    fn set_again(&self, n: u32) {
        // SAFETY: as above.
        unsafe { put(self.address, COUNT, n) }
    }

    /// The running thread has it now.
    pub(crate) fn take(&self) {
        // SAFETY: as above.
        unsafe {
            put(self.address, LOCK, 1i32);
            put(self.address, OWNER, me());
        }
        changes::taken();
    }

    /// Its owner releases it and waits.
    pub(crate) fn release(&self) {
        // SAFETY: as above.
        unsafe {
            put(self.address, LOCK, RELEASED);
            put(self.address, OWNER, 0i32);
        }
    }

    /// Nobody has it now.
    fn clear(&self) {
        // SAFETY: as above.
        unsafe {
            put(self.address, LOCK, 0i32);
            put(self.address, OWNER, 0i32);
        }
    }

    fn lock(&self, call: Call) -> Code {
        if self.kind != Kind::Normal && self.is_mine() {
            if self.kind == Kind::Checking {
                return libc::EDEADLK;
            }
            self.set_again(self.again() + 1);
            return 0;
        }
        self.on.step(OpKind::Lock, call);
        self.take();
        0
    }

    /// Takes it if it is free; otherwise gives the code `busy`.
    fn attempt(&self, busy: Code, call: Call) -> Code {
        if self.kind == Kind::Recursive && self.is_mine() {
            self.set_again(self.again() + 1);
            return 0;
        }
        if self.kind == Kind::Checking && busy == libc::ETIMEDOUT && self.is_mine() {
            return libc::EDEADLK;
        }
        if !self.on.step(OpKind::TryLock, call).ok {
            return busy;
        }
        self.take();
        0
    }

    fn unlock(&self, call: Call) -> Code {
        if !self.is_mine() {
            // `std::recursive_mutex` ignores the error: it is a precondition there.
            if self.kind != Kind::Normal && !(self.kind == Kind::Recursive && is_called_by_cxx()) {
                return libc::EPERM;
            }
            let what = match self.on.word() {
                0 => "it is unlocked by a thread that does not hold it: nobody does",
                _ => "it is unlocked by a thread that does not hold it: another one does",
            };
            self.on.misuse(what, call);
        }
        if self.again() > 0 {
            self.set_again(self.again() - 1);
            return 0;
        }
        give_back(&self.on, OpKind::Unlock, call);
        self.clear();
        0
    }
}

/// The step that gives a lock back, with what that means for those who poll under it.
pub(crate) fn give_back(on: &On, kind: OpKind, call: Call) {
    give_back_with(on, kind, 0, call);
}

/// Releases a lock with an operand of the step.
pub(crate) fn give_back_with(on: &On, kind: OpKind, a: u64, call: Call) {
    runtime::settle();
    crate::signals::point_before(call);
    let change = changes::given_back();
    let handle = &on.entry().handle;
    if change {
        runtime::changed(handle, on.class, call.place);
    }
    on.step_with(kind, a, 0, MemoryOrder::None, call);
    if !change {
        runtime::unchanged(handle, on.class, call.place);
    }
}

pub(crate) extern "C" fn init(mutex: Mutex, attributes: *const libc::pthread_mutexattr_t) -> Code {
    crate::libc::reads_attributes(attributes, 4);
    let code = real!(pthread_mutex_init(mutex, attributes):
        fn(Mutex, *const libc::pthread_mutexattr_t) -> Code);
    if is_modelled(mutex as usize) && code == 0 {
        let call = call();
        let on = On::new(mutex as usize, Class::Mutex);
        on.made(call);
        if on.word() != 0 {
            on.made_while_held("it is initialized while it is locked", call);
        }
        on.put(0, call);
        on.stamp(mutex as usize + OWN);
    }
    code
}

pub(crate) extern "C" fn destroy(mutex: Mutex) -> Code {
    if !is_modelled(mutex as usize) {
        return real!(pthread_mutex_destroy(mutex): fn(Mutex) -> Code);
    }
    let call = call();
    let on = On::new(mutex as usize, Class::Mutex);
    on.destroyed(call);
    // SAFETY: the program hands in a mutex.
    unsafe {
        if at::<i32>(mutex as usize, KIND) == DESTROYED {
            on.misuse("it is destroyed twice", call);
        }
        if on.word() != 0 || !matches!(at::<i32>(mutex as usize, LOCK), 0 | RELEASED) {
            on.misuse("it is destroyed while it is locked", call);
        }
        put(mutex as usize, KIND, DESTROYED);
    }
    0
}

pub(crate) extern "C" fn lock(mutex: Mutex) -> Code {
    if !is_modelled(mutex as usize) {
        return real!(pthread_mutex_lock(mutex): fn(Mutex) -> Code);
    }
    let call = call();
    Held::new(mutex as usize, call).lock(call)
}

pub(crate) extern "C" fn try_lock(mutex: Mutex) -> Code {
    if !is_modelled(mutex as usize) {
        return real!(pthread_mutex_trylock(mutex): fn(Mutex) -> Code);
    }
    let call = call();
    Held::new(mutex as usize, call).attempt(libc::EBUSY, call)
}

fn timed(mutex: Mutex, clock: libc::clockid_t, until: *const libc::timespec) -> Code {
    let call = call();
    let held = Held::new(mutex as usize, call);
    let attempt = || held.attempt(libc::ETIMEDOUT, call);
    let code = if time::is_valid(until) {
        time::within(time::left(clock, until), libc::ETIMEDOUT, call, || held.lock(call), attempt)
    } else {
        attempt()
    };
    if code == libc::ETIMEDOUT && !time::is_valid(until) {
        return libc::EINVAL;
    }
    if code == libc::ETIMEDOUT {
        time::reach(clock, until);
    }
    code
}

pub(crate) extern "C" fn timed_lock(mutex: Mutex, until: *const libc::timespec) -> Code {
    if !is_modelled(mutex as usize) {
        return real!(pthread_mutex_timedlock(mutex, until): fn(Mutex, *const libc::timespec) -> Code);
    }
    timed(mutex, libc::CLOCK_REALTIME, until)
}

extern "C" fn clock_lock(mutex: Mutex, clock: libc::clockid_t, until: *const libc::timespec) -> Code {
    if !is_modelled(mutex as usize) {
        return real!(pthread_mutex_clocklock(mutex, clock, until):
            fn(Mutex, libc::clockid_t, *const libc::timespec) -> Code);
    }
    if !crate::time::is_clock_of_waits(clock) {
        return libc::EINVAL;
    }
    timed(mutex, clock, until)
}

/// Whether the call that has just come in is one of the C++ library's headers.
#[cold]
fn is_called_by_cxx() -> bool {
    let from = crate::shim::return_address();
    let of_headers = crate::functions::named("_ZL22__gthread_mutex_unlock");
    of_headers.iter().any(|(start, end)| (*start..*end).contains(&from))
}

pub(crate) extern "C" fn unlock(mutex: Mutex) -> Code {
    if !is_modelled(mutex as usize) {
        return real!(pthread_mutex_unlock(mutex): fn(Mutex) -> Code);
    }
    let call = call();
    Held::new(mutex as usize, call).unlock(call)
}

type Spin = *mut libc::pthread_spinlock_t;

/// What is in the memory of a spin lock: a digest of its address, and the number of its owner, or 0.
fn spin_word(lock: Spin, owner: i32) -> i32 {
    const DIGEST: usize = 0x9E37_79B9_7F4A_7C15;
    let address = crate::libc::aliases::canonical(lock as usize);
    (address.wrapping_mul(DIGEST) >> 44 << 12) as i32 | 1 << 11 | owner
}

/// What the C library has in the memory of a spin lock that was initialized before `main`.
const SPIN_FREE: i32 = 1;

fn spin(lock: Spin, call: Call) -> On {
    let on = On::new(lock as usize, Class::Mutex);
    on.used(call);
    // SAFETY: the program hands in a lock.
    let word = unsafe { at::<i32>(lock as usize, 0) };
    if word == 0 {
        on.misuse("it was never initialized", call);
    }
    if word != SPIN_FREE && (word ^ spin_word(lock, 0)) >> 12 != 0 {
        on.copied(lock as usize, call);
    }
    on
}

extern "C" fn spin_init(lock: Spin, shared: libc::c_int) -> Code {
    let code = real!(pthread_spin_init(lock, shared): fn(Spin, libc::c_int) -> Code);
    if is_modelled(lock as usize) && code == 0 {
        let call = call();
        let on = On::new(lock as usize, Class::Mutex);
        on.made(call);
        if on.word() != 0 {
            on.made_while_held("it is initialized while it is locked", call);
        }
        on.put(0, call);
        // SAFETY: the C library has just initialized the lock there.
        unsafe { put(lock as usize, 0, spin_word(lock, 0)) };
    }
    code
}

extern "C" fn spin_destroy(lock: Spin) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_spin_destroy(lock): fn(Spin) -> Code);
    }
    let call = call();
    let on = On::new(lock as usize, Class::Mutex);
    on.destroyed(call);
    if on.word() != 0 {
        on.misuse("it is destroyed while it is locked", call);
    }
    0
}

extern "C" fn spin_lock(lock: Spin) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_spin_lock(lock): fn(Spin) -> Code);
    }
    let call = call();
    spin(lock, call).step(OpKind::Lock, call);
    // SAFETY: the program hands in a lock.
    unsafe { put(lock as usize, 0, spin_word(lock, me())) };
    changes::taken();
    0
}

extern "C" fn spin_try_lock(lock: Spin) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_spin_trylock(lock): fn(Spin) -> Code);
    }
    let call = call();
    if !spin(lock, call).step(OpKind::TryLock, call).ok {
        return libc::EBUSY;
    }
    // SAFETY: as above.
    unsafe { put(lock as usize, 0, spin_word(lock, me())) };
    changes::taken();
    0
}

extern "C" fn spin_unlock(lock: Spin) -> Code {
    if !is_modelled(lock as usize) {
        return real!(pthread_spin_unlock(lock): fn(Spin) -> Code);
    }
    let call = call();
    let on = spin(lock, call);
    // SAFETY: as above.
    if unsafe { at::<i32>(lock as usize, 0) } != spin_word(lock, me()) {
        on.misuse("this spin lock is unlocked by a thread that does not hold it", call);
    }
    give_back(&on, OpKind::Unlock, call);
    // SAFETY: as above.
    unsafe { put(lock as usize, 0, spin_word(lock, 0)) };
    0
}

export! {
    pthread_mutex_init => init;
    pthread_mutex_destroy => destroy;
    pthread_mutex_lock => lock;
    pthread_mutex_trylock => try_lock;
    pthread_mutex_timedlock => timed_lock;
    pthread_mutex_clocklock => clock_lock;
    pthread_mutex_unlock => unlock;
    pthread_spin_init => spin_init;
    pthread_spin_destroy => spin_destroy;
    pthread_spin_lock => spin_lock;
    pthread_spin_trylock => spin_try_lock;
    pthread_spin_unlock => spin_unlock;
}
