//! The locks behind `std::atomic_load(shared_ptr*)` and its relatives.
//!
//! libstdc++ guards each atomic access to a `shared_ptr` with a mutex from a pool of 16, chosen by the address of the pointer. The
//! pool lies inside the library, so a thread that has to wait there would wait in the kernel. Here the pool is one of modelled mutexes.

use crate::mutex;
use crate::shim::export;
use std::ffi::c_void;

const SIZE: usize = 16;

static mut POOL: [libc::pthread_mutex_t; SIZE] = [libc::PTHREAD_MUTEX_INITIALIZER; SIZE];

/// A lock of the pool was used in this execution.
static mut USED: bool = false;

/// An execution starts: no lock of the pool is held.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe {
        if USED {
            POOL = [libc::PTHREAD_MUTEX_INITIALIZER; SIZE];
            USED = false;
        }
    }
}

/// The name of a lock of the pool in reports.
pub(crate) fn name_of(address: usize) -> Option<String> {
    let start = &raw const POOL as usize;
    let pool = start..start + size_of::<[libc::pthread_mutex_t; SIZE]>();
    pool.contains(&address).then(|| "the lock of an atomic `shared_ptr`".to_owned())
}

/// `std::_Sp_locker`, as libstdc++ declares it.
#[repr(C)]
struct Locker {
    keys: [u8; 2],
}

/// The index of the lock of a pointer. A `shared_ptr` has 16 bytes, so neighbours have different locks.
fn key(pointer: *const c_void) -> u8 {
    (pointer as usize / 16 % SIZE) as u8
}

fn lock_of(key: u8) -> *mut libc::pthread_mutex_t {
    // SAFETY: one OS thread alone runs code of the program; `key` is below the size of the pool.
    unsafe {
        USED = true;
        (&raw mut POOL).cast::<libc::pthread_mutex_t>().add(key as usize)
    }
}

extern "C" fn lock_one(locker: *mut Locker, pointer: *const c_void) {
    lock_two(locker, pointer, pointer);
}

extern "C" fn lock_two(locker: *mut Locker, one: *const c_void, other: *const c_void) {
    let keys = [key(one), key(other)];
    // SAFETY: the caller hands in an object of this type that is being constructed.
    unsafe { locker.write(Locker { keys }) };
    mutex::lock(lock_of(keys[0].min(keys[1])));
    if keys[0] != keys[1] {
        mutex::lock(lock_of(keys[0].max(keys[1])));
    }
}

extern "C" fn unlock(locker: *mut Locker) {
    // SAFETY: the caller hands in an object that `lock_two` has constructed.
    let [one, other] = unsafe { (*locker).keys };
    mutex::unlock(lock_of(one));
    if one != other {
        mutex::unlock(lock_of(other));
    }
}

export! {
    _ZNSt10_Sp_lockerC1EPKv => lock_one;
    _ZNSt10_Sp_lockerC2EPKv => lock_one;
    _ZNSt10_Sp_lockerC1EPKvS1_ => lock_two;
    _ZNSt10_Sp_lockerC2EPKvS1_ => lock_two;
    _ZNSt10_Sp_lockerD1Ev => unlock;
    _ZNSt10_Sp_lockerD2Ev => unlock;
}
