//! The runtime's own memory.

use std::alloc::{GlobalAlloc, Layout};

unsafe extern "C" {
    pub(crate) fn __libc_memalign(align: usize, size: usize) -> *mut u8;
    pub(crate) fn __libc_malloc(size: usize) -> *mut u8;
    pub(crate) fn __libc_calloc(n: usize, size: usize) -> *mut u8;
    pub(crate) fn __libc_realloc(p: *mut u8, size: usize) -> *mut u8;
    pub(crate) fn __libc_free(p: *mut u8);
}

/// The C library's allocator, past the names that the program's calls go to.
pub(crate) struct Own;

// SAFETY: the C library's functions keep the contract of an allocator; 16 is what they align to without being asked.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the contract of the trait.
        unsafe {
            if layout.align() <= 16 {
                __libc_malloc(layout.size())
            } else {
                __libc_memalign(layout.align(), layout.size())
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the contract of the trait.
        unsafe {
            if layout.align() <= 16 {
                return __libc_calloc(1, layout.size());
            }
            let p = self.alloc(layout);
            if !p.is_null() {
                p.write_bytes(0, layout.size());
            }
            p
        }
    }

    unsafe fn dealloc(&self, p: *mut u8, _layout: Layout) {
        // SAFETY: by the contract of the trait.
        unsafe { __libc_free(p) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the contract of the trait.
        unsafe {
            if layout.align() <= 16 {
                return __libc_realloc(p, size);
            }
            let Ok(new) = Layout::from_size_align(size, layout.align()) else { return std::ptr::null_mut() };
            let q = self.alloc(new);
            if !q.is_null() {
                q.copy_from_nonoverlapping(p, layout.size().min(size));
                self.dealloc(p, layout);
            }
            q
        }
    }
}
