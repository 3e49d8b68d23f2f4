//! Memory that a test frees and that the allocator must not give out again in the same execution.
//!
//! Tests keep addresses in atomics. Whether a later allocation gets the address of a block that was freed before depends on
//! what the allocator has in store, and so on earlier executions and on raddle's own memory. A search that compares such
//! words finds that the test did something else under the same schedule, although nothing in the test differs. So what the allocator gives out
//! again is decided here, in two ways ([`Modes`](crate::polling::Modes)). Blocks that are freed on the OS thread of the check go to a list, and from there to the
//! allocator when the execution has ended.
//!
//! - `gives_back`: once `compare_exchange` compares an address, a block that the test has freed is put on a list of its size. An allocation of the
//!   test gets the block of its size that was freed last, as it commonly does from the C library, so the ABA problem is found. That it
//!   gets another address is not explored: the caveat `reuse` says so.
//! - If a test still does something else under the same schedule, nothing comes back before the execution has ended. That is the caveat `reuse`, too.
//!
//! The calls of `malloc`, `free` and their relatives in the executable lead to [`crate::frees`]. A test with an allocator of its own has no such calls, and
//! then nothing is held back.

use crate::frees;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

/// Blocks of so many sizes come back: those of up to 1 KiB, as in the C library's own lists.
const SIZES: usize = 65;

std::thread_local! {
    static HOLDS: Cell<bool> = const { Cell::new(false) };
    static GIVES_BACK: Cell<bool> = const { Cell::new(false) };
    /// The block that was freed last; its first word is the address of the one before.
    static LAST: Cell<*mut c_void> = const { Cell::new(null_mut()) };
    /// By size, in steps of 16 bytes: the block that the test freed last, likewise.
    static OF_SIZE: [Cell<*mut c_void>; SIZES] = const { [const { Cell::new(null_mut()) }; SIZES] };
}

/// Holds blocks back while it lives. There is at most one on an OS thread.
pub(crate) struct Quarantine(());

impl Quarantine {
    /// Whether blocks of this executable can be held back.
    pub(crate) fn is_available() -> bool {
        frees::install();
        frees::are_seen()
    }

    /// Holds back what is freed on this OS thread from now on. `gives_back`: an allocation of the test gets what the test has freed.
    pub(crate) fn new(gives_back: bool) -> Quarantine {
        HOLDS.set(Quarantine::is_available());
        GIVES_BACK.set(gives_back);
        Quarantine(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        HOLDS.set(false);
        free_all(&LAST);
        OF_SIZE.with(|lists| lists.iter().for_each(free_list));
    }
}

fn free_all(list: &'static std::thread::LocalKey<Cell<*mut c_void>>) {
    list.with(free_list);
}

/// Gives all blocks of a list to the allocator.
fn free_list(list: &Cell<*mut c_void>) {
    {
        let mut block = list.replace(null_mut());
        while !block.is_null() {
            // SAFETY: `holds` put the block into the list, with the address of the one before.
            unsafe {
                let before = block.cast::<*mut c_void>().read();
                frees::free_now(block);
                block = before;
            }
        }
    }
}

/// Whether blocks are held back on this OS thread.
#[inline]
pub(crate) fn is_on() -> bool {
    HOLDS.get()
}

/// The list for blocks with this many usable bytes, if they come back. The C library's sizes are 24, 40, 56 and so on.
fn class(usable: usize) -> Option<usize> {
    Some(usable.checked_sub(24)?.div_ceil(16)).filter(|c| *c < SIZES)
}

/// Holds back a block with this many usable bytes that is freed, by the test or not. Says `false` if it is to be freed at once.
///
/// # Safety
///
/// As of `free`.
#[inline]
pub(crate) unsafe fn holds(block: *mut c_void, usable: usize, by_test: bool) -> bool {
    if !HOLDS.get() || block.is_null() {
        return false;
    }
    let put = |list: &Cell<*mut c_void>| {
        // SAFETY: a block of the C library has room for a pointer and is aligned for one, and nobody uses it any more.
        unsafe { block.cast::<*mut c_void>().write(list.replace(block)) };
    };
    match class(usable).filter(|_| by_test && GIVES_BACK.get()) {
        Some(class) => OF_SIZE.with(|lists| put(&lists[class])),
        None => LAST.with(put),
    }
    true
}

/// The block of this size that the test freed last, which is in use again then.
#[inline]
pub(crate) fn take(size: usize) -> Option<*mut c_void> {
    if !HOLDS.get() || !GIVES_BACK.get() {
        return None;
    }
    let class = class(size.max(24))?;
    OF_SIZE.with(|lists| {
        let block = lists[class].get();
        if block.is_null() {
            return None;
        }
        // SAFETY: `holds` put the block into the list, with the address of the one before, and nobody uses it.
        lists[class].set(unsafe { block.cast::<*mut c_void>().read() });
        Some(block)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_block_comes_back_only_after_the_quarantine() {
        // Nothing else here allocates blocks of this size.
        const SIZE: usize = 968;
        let fresh = || Box::into_raw(Box::new([0u8; SIZE]));
        // SAFETY: each block is one of `fresh`, and is freed once.
        let free = |p: *mut [u8; SIZE]| drop(unsafe { Box::from_raw(p) });
        assert!(Quarantine::is_available());
        let held = Quarantine::new(false);
        let mut blocks = Vec::new();
        for _ in 0..20 {
            let block = fresh();
            assert!(!blocks.contains(&block));
            blocks.push(block);
            free(block);
        }
        drop(held);
        let again = fresh();
        assert!(blocks.contains(&again));
        free(again);
    }

    #[test]
    fn a_block_that_grows_keeps_its_contents_and_leaves_its_address() {
        let held = Quarantine::new(false);
        let mut all: Vec<u32> = Vec::with_capacity(4);
        let mut places = Vec::with_capacity(64);
        for n in 0..10_000 {
            all.push(n);
            if places.last() != Some(&all.as_ptr()) {
                assert!(!places.contains(&all.as_ptr()));
                places.push(all.as_ptr());
            }
        }
        assert!(all.iter().enumerate().all(|(i, n)| i as u32 == *n));
        drop(held);
    }
}
