//! Memory that a test frees and that the allocator must not give out again in the same execution.
//!
//! Tests keep addresses in atomics. Whether a later allocation gets the address of a block that was freed before depends on
//! what the allocator has in store, and so on earlier executions and on raddle's own memory. A search that compares such
//! words finds that the test did something else under the same schedule, although nothing in the test differs. Where that
//! happens, the search starts again with [`Modes::keeps_freed`](crate::polling::Modes): blocks that are freed on the OS thread of the check
//! go to a list, and from there to the allocator when the execution has ended. The caveat `reuse` names what this leaves out.
//!
//! The calls of `free` and `realloc` in the executable are redirected when this is first needed. A test with an allocator of its own
//! has no such calls, and then nothing is held back.

use crate::imports;
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

std::thread_local! {
    static HOLDS: Cell<bool> = const { Cell::new(false) };
    /// The block that was freed last; its first word is the address of the one before.
    static LAST: Cell<*mut c_void> = const { Cell::new(null_mut()) };
}

type Free = unsafe extern "C" fn(*mut c_void);
type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;

/// The functions of the allocator, set before the first call is redirected.
static REAL_FREE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
static REAL_REALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

/// Holds blocks back while it lives. There is at most one on an OS thread.
pub(crate) struct Quarantine(());

impl Quarantine {
    /// Whether blocks of this executable can be held back.
    pub(crate) fn is_available() -> bool {
        static REDIRECTED: OnceLock<bool> = OnceLock::new();
        *REDIRECTED.get_or_init(redirect)
    }

    /// Holds back what is freed on this OS thread from now on.
    pub(crate) fn new() -> Quarantine {
        HOLDS.set(Quarantine::is_available());
        Quarantine(())
    }
}

impl Drop for Quarantine {
    fn drop(&mut self) {
        HOLDS.set(false);
        let mut block = LAST.replace(null_mut());
        while !block.is_null() {
            // SAFETY: `free` put the block into the list, with the address of the one before.
            unsafe {
                let before = block.cast::<*mut c_void>().read();
                real_free(block);
                block = before;
            }
        }
    }
}

/// Leads the calls of the executable here, and says whether it has any.
fn redirect() -> bool {
    unsafe extern "C" fn executable(
        info: *mut libc::dl_phdr_info,
        _: usize,
        found: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`, the executable first, and our variable. The functions below do what
        // those do that they replace.
        unsafe {
            let (info, found) = (&*info, &mut *found.cast::<[bool; 2]>());
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            imports::redirect(info.dlpi_addr as usize, headers, &mut |import| match import.name {
                "free" => {
                    found[0] = true;
                    Some(free as Free as usize)
                }
                "realloc" => {
                    found[1] = true;
                    Some(realloc as Realloc as usize)
                }
                _ => None,
            });
        }
        // The other modules are not visited.
        1
    }
    for (name, real) in [(c"free", &REAL_FREE), (c"realloc", &REAL_REALLOC)] {
        // SAFETY: the name is a string of C.
        let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        if function.is_null() {
            return false;
        }
        real.store(function, Ordering::Release);
    }
    let mut found = [false; 2];
    // SAFETY: the callback keeps its contract.
    unsafe { libc::dl_iterate_phdr(Some(executable), (&raw mut found).cast()) };
    found == [true; 2]
}

/// # Safety
///
/// As of `free`. Calls have been redirected.
unsafe fn real_free(block: *mut c_void) {
    // SAFETY: the function of that name in the C library, and the caller answers for the block.
    unsafe { std::mem::transmute::<*mut c_void, Free>(REAL_FREE.load(Ordering::Acquire))(block) };
}

/// # Safety
///
/// As of `free`.
unsafe extern "C" fn free(block: *mut c_void) {
    if !HOLDS.get() || block.is_null() {
        // SAFETY: the caller answers for the block.
        return unsafe { real_free(block) };
    }
    // SAFETY: a block of the C library has room for a pointer and is aligned for one, and nobody uses it any more.
    unsafe { block.cast::<*mut c_void>().write(LAST.replace(block)) };
}

/// # Safety
///
/// As of `realloc`.
unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    if !HOLDS.get() || block.is_null() || size == 0 {
        let real = REAL_REALLOC.load(Ordering::Acquire);
        // SAFETY: the function of that name in the C library, and the caller answers for the block.
        return unsafe { std::mem::transmute::<*mut c_void, Realloc>(real)(block, size) };
    }
    // SAFETY: a block of the C library.
    let old = unsafe { libc::malloc_usable_size(block) };
    if size <= old {
        return block;
    }
    // SAFETY: any size is allowed.
    let new = unsafe { libc::malloc(size) };
    if !new.is_null() {
        // SAFETY: both blocks have at least the size of the old one, and the caller no longer uses that.
        unsafe {
            std::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), old);
            free(block);
        }
    }
    new
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
        let held = Quarantine::new();
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
        let held = Quarantine::new();
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
