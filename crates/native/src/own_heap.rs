//! The runtime's own memory.
//!
//! It never comes from the heap of the program. With `RADDLE_ISOLATE` it is shared between the process that waits and the one that
//! runs an execution (see `isolate`): what the search learns there must not be lost when that one ends. The two never run at the
//! same time.

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

unsafe extern "C" {
    pub(crate) fn __libc_memalign(align: usize, size: usize) -> *mut u8;
    pub(crate) fn __libc_malloc(size: usize) -> *mut u8;
    pub(crate) fn __libc_calloc(n: usize, size: usize) -> *mut u8;
    pub(crate) fn __libc_realloc(p: *mut u8, size: usize) -> *mut u8;
    pub(crate) fn __libc_free(p: *mut u8);
}

/// Whether memory is shared: not known yet, no, yes.
static MODE: AtomicU8 = AtomicU8::new(UNKNOWN);
const UNKNOWN: u8 = 0;
const PRIVATE: u8 = 1;
const SHARED: u8 = 2;
/// The process is about to end: nothing is freed, and nothing waits for a lock.
const LAST: u8 = 3;

/// From now on memory comes from a small area of its own: the process was interrupted, perhaps inside an allocator.
pub(crate) fn last_words() {
    MODE.store(LAST, Ordering::Relaxed);
}

/// The area of [`last_words`], and how much of it is used.
static mut AREA: [u128; 1 << 18] = [0; 1 << 18];
static mut USED: usize = 0;

#[cold]
fn last_alloc(layout: Layout) -> *mut u8 {
    // SAFETY: only the handler of signals runs by now.
    unsafe {
        let start = (&raw mut AREA) as usize;
        let at = (start + USED).next_multiple_of(layout.align());
        if at + layout.size() > start + size_of::<[u128; 1 << 18]>() {
            return std::ptr::null_mut();
        }
        USED = at + layout.size() - start;
        at as *mut u8
    }
}

/// Whether executions run in processes of their own.
pub(crate) fn is_shared() -> bool {
    match MODE.load(Ordering::Relaxed) {
        UNKNOWN => find_out(),
        mode => mode == SHARED,
    }
}

fn is_last() -> bool {
    MODE.load(Ordering::Relaxed) == LAST
}

#[cold]
fn find_out() -> bool {
    // SAFETY: the name is a C string, and so is what comes back, if anything does.
    let shared = unsafe {
        let value = libc::getenv(c"RADDLE_ISOLATE".as_ptr());
        !value.is_null() && !matches!(*value as u8, 0 | b'0' | b'n' | b'f')
    };
    MODE.store(if shared { SHARED } else { PRIVATE }, Ordering::Relaxed);
    shared
}

/// How much address space is set aside for shared memory.
const ROOM: usize = 1 << 36;
/// Blocks are of a power of two of bytes, at least sixteen.
const CLASSES: usize = 40;

/// The shared memory; its bookkeeping lies at its start.
struct Shared {
    next: usize,
    end: usize,
    /// By power of two: the first free block, each of which begins with the address of the next one.
    free: [usize; CLASSES],
}

static ROOT: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());

#[cold]
fn make_root() -> *mut Shared {
    // SAFETY: a new mapping, whose start is made into what it is for.
    unsafe {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let p = libc::mmap(std::ptr::null_mut(), ROOM, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        if p == libc::MAP_FAILED {
            libc::abort();
        }
        let root = p.cast::<Shared>();
        let start = p as usize;
        root.write(Shared { next: start + 4096, end: start + ROOM, free: [0; CLASSES] });
        ROOT.store(root, Ordering::Relaxed);
        root
    }
}

fn class_of(layout: Layout) -> usize {
    layout.size().max(layout.align()).max(16).next_power_of_two().trailing_zeros() as usize
}

/// # Safety
///
/// One thread at a time; the watchdog is not started where memory is shared.
unsafe fn shared_alloc(layout: Layout) -> *mut u8 {
    let class = class_of(layout);
    let mut root = ROOT.load(Ordering::Relaxed);
    if root.is_null() {
        root = make_root();
    }
    // SAFETY: by the contract; blocks on a list are free, and as large as their class says.
    unsafe {
        let root = &mut *root;
        let first = root.free[class];
        if first != 0 {
            root.free[class] = *(first as *const usize);
            return first as *mut u8;
        }
        let size = 1usize << class;
        let start = (root.next + size.min(4096) - 1) & !(size.min(4096) - 1);
        if layout.align() > 4096 || root.end - start < size {
            return std::ptr::null_mut();
        }
        root.next = start + size;
        start as *mut u8
    }
}

/// # Safety
///
/// As for `shared_alloc`; the block came from there, for the same layout.
unsafe fn shared_free(p: *mut u8, layout: Layout) {
    let class = class_of(layout);
    // SAFETY: by the contract.
    unsafe {
        let root = &mut *ROOT.load(Ordering::Relaxed);
        p.cast::<usize>().write(root.free[class]);
        root.free[class] = p as usize;
    }
}

/// The C library's allocator, past the names that the program's calls go to.
pub(crate) struct Own;

// SAFETY: the C library's functions keep the contract of an allocator; 16 is what they align to without being asked.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the contract of the trait.
        unsafe {
            if is_shared() {
                shared_alloc(layout)
            } else if is_last() {
                last_alloc(layout)
            } else if layout.align() <= 16 {
                __libc_malloc(layout.size())
            } else {
                __libc_memalign(layout.align(), layout.size())
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: by the contract of the trait.
        unsafe {
            if layout.align() <= 16 && !is_shared() && !is_last() {
                return __libc_calloc(1, layout.size());
            }
            let p = self.alloc(layout);
            if !p.is_null() {
                p.write_bytes(0, layout.size());
            }
            p
        }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: by the contract of the trait.
        unsafe {
            if is_shared() {
                shared_free(p, layout);
            } else if !is_last() {
                __libc_free(p);
            }
        }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: by the contract of the trait.
        unsafe {
            if layout.align() <= 16 && !is_shared() && !is_last() {
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
