//! Thread-locals of controlled threads.

use crate::context;
use crate::execution::{Execution, Phase};
use explore::ThreadId;

/// One thread-local of one thread.
pub(crate) struct Local {
    key: usize,
    /// The value, or null once it is being dropped.
    value: *mut u8,
    drop: unsafe fn(*mut u8),
    /// The destructor does something.
    pub(crate) needs_drop: bool,
}

/// The value of a thread-local of the running thread, made by `init` on first use in each thread of each execution, dropped
/// when the thread ends. `None` while or after it is being dropped. `key` is any address that is the local's own.
#[track_caller]
pub fn thread_local<T: 'static>(key: *const (), init: fn() -> T) -> Option<*const T> {
    unsafe fn drop_it<T>(value: *mut u8) {
        // SAFETY: called once, with the pointer that `Box::into_raw` gave below.
        drop(unsafe { Box::from_raw(value.cast::<T>()) });
    }
    let ex = context::required("a `thread_local!`", crate::Place::caller());
    let key = key as usize;
    // SAFETY: a current execution is valid, and no reference into it is held over `init`, which may be any code.
    unsafe {
        if let Some(local) = find(&*ex, key) {
            return (!local.is_null()).then_some(local.cast::<T>().cast_const());
        }
        if !(*ex).in_fiber || (&(*ex).threads)[(*ex).current.index()].ended {
            return None;
        }
        let value = Box::into_raw(Box::new(init()));
        // An initialiser that uses its own local has made it by now; that one stays.
        if let Some(local) = find(&*ex, key) {
            drop(Box::from_raw(value));
            return (!local.is_null()).then_some(local.cast::<T>().cast_const());
        }
        let t = (*ex).current.index();
        (&mut (*ex).threads)[t].seldom_mut().locals.push(Local {
            key,
            value: value.cast(),
            drop: drop_it::<T>,
            needs_drop: std::mem::needs_drop::<T>(),
        });
        Some(value)
    }
}

fn find(ex: &Execution, key: usize) -> Option<*mut u8> {
    ex.threads[ex.current.index()].seldom().locals.iter().find(|l| l.key == key).map(|l| l.value)
}

/// Drops the locals of a thread, as that thread, the youngest first. Destructors may use other locals, and make new ones.
///
/// # Safety
///
/// `ex` is the current execution, `t` its current thread, and the caller holds no reference into it.
pub(crate) unsafe fn drop_all(ex: *mut Execution, t: ThreadId) {
    // SAFETY: by the contract; each value is taken out of the table before its destructor runs.
    unsafe {
        loop {
            let locals = &mut (&mut (*ex).threads)[t.index()].seldom_mut().locals;
            let Some(local) = locals.iter_mut().rev().find(|l| !l.value.is_null()) else { break };
            let (value, drop_it) = (local.value, local.drop);
            local.value = std::ptr::null_mut();
            drop_it(value);
        }
        debug_assert!((*ex).phase == Phase::Running || (*ex).phase == Phase::TearingDown);
    }
}
