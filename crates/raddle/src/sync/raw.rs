//! Counts by the address of their value: what `Arc::from_raw` finds again after `into_raw`.
//!
//! A pointer says nothing about its counts, so each value that becomes a pointer is entered in a table. Several references may be made
//! from one pointer, as an implementation of a waker does, so an entry stays until the memory of its value is freed.
//!
//! When the last strong reference goes inside an execution, the memory is kept until that execution ends. A pointer that is used too
//! late finds its entry, with a count of 0, and another value does not get the same address in between.

use super::arc::Counts;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc as Real, Mutex as RealMutex, MutexGuard as RealMutexGuard, OnceLock as RealOnceLock};
use std::sync::{PoisonError, Weak as RealWeak};

type Table = BTreeMap<usize, Real<Counts>>;

fn table() -> RealMutexGuard<'static, Table> {
    static TABLE: RealOnceLock<RealMutex<Table>> = RealOnceLock::new();
    TABLE.get_or_init(RealMutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Enters a value that becomes a pointer.
pub(super) fn enter(address: usize, counts: &Real<Counts>) {
    // The replaced entry is dropped after the lock is released.
    let _replaced = {
        let mut table = table();
        match table.get(&address) {
            Some(old) if Real::ptr_eq(old, counts) => None,
            _ => table.insert(address, counts.clone()),
        }
    };
}

/// The counts of the value at an address.
pub(super) fn counts(address: usize) -> Option<Real<Counts>> {
    table().get(&address).cloned()
}

/// Removes a value whose memory is about to be freed.
pub(super) fn remove(address: usize) {
    let _removed = table().remove(&address);
}

/// The memory of a value that was dropped.
struct Memory {
    address: usize,
    /// A weak reference of std's, in a box.
    weak: *mut (),
    free: unsafe fn(*mut ()),
}

impl Drop for Memory {
    fn drop(&mut self) {
        remove(self.address);
        // SAFETY: `keep` has made the two for each other, and this is the only call.
        unsafe { (self.free)(self.weak) };
    }
}

/// The memory that an execution of this OS thread has kept, and the number of the execution.
#[derive(Default)]
struct Kept {
    execution: u32,
    memory: Vec<Memory>,
}

thread_local! {
    static KEPT: RefCell<Kept> = RefCell::default();
}

/// Keeps the memory of a value until the execution at hand has ended. The memory is freed when a later execution keeps some, or with the
/// OS thread.
pub(super) fn keep<T: ?Sized>(value: RealWeak<T>) {
    /// # Safety
    ///
    /// `weak` comes from the box below.
    unsafe fn free<T: ?Sized>(weak: *mut ()) {
        // SAFETY: by the contract.
        drop(unsafe { Box::from_raw(weak.cast::<RealWeak<T>>()) });
    }
    let (address, execution) = (value.as_ptr().addr(), runtime::execution_number());
    let memory = Memory { address, weak: Box::into_raw(Box::new(value)).cast(), free: free::<T> };
    // Memory of another execution is freed after the borrow.
    let _ended = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let ended = if kept.execution == execution { Vec::new() } else { std::mem::take(&mut kept.memory) };
        kept.execution = execution;
        kept.memory.push(memory);
        ended
    });
}
