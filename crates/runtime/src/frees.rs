//! Memory that a Rust test gives back to the allocator of the C library, as std does.
//!
//! Objects that are dropped tell us. Objects that are moved do not: when a vector grows, its elements are copied and the old block is
//! freed, and a pointer that another thread has kept leads to memory that is not theirs any more. So `free` and `realloc` of the executable lead
//! here first, by its table of addresses. While threads of an execution run,
//!
//! - the objects in a block that is freed are marked as gone, and an operation that still finds one there is reported;
//! - a block that is moved by `realloc` must not have objects that other threads use, with nothing that orders that before;
//! - ends of objects in the block are marked: another object at the same address may be another allocation
//!   (see [`crate::lifetimes`]).
//!
//! An executable with another allocator, or without such a table, is left as it is.

/// Leads `free` and `realloc` here, once a process.
pub(crate) fn install() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    hooks::install();
}

/// Whether frees are seen.
pub(crate) fn are_seen() -> bool {
    #[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
    return hooks::are_installed();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
    false
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub(crate) use hooks::free_now;

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod hooks {
    use crate::execution::{Execution, Phase};
    use crate::{context, imports, quarantine};
    use libc::c_void;
    use std::ptr::null_mut;
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

    type Free = unsafe extern "C" fn(*mut c_void);
    type Malloc = unsafe extern "C" fn(usize) -> *mut c_void;
    type Calloc = unsafe extern "C" fn(usize, usize) -> *mut c_void;
    type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;

    /// Blocks above this size are not searched.
    const MOST: usize = 1 << 20;

    static INSTALLED: AtomicBool = AtomicBool::new(false);
    /// The functions of the C library, set before the first call leads here.
    static FREE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    static REALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    static MALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    static CALLOC: AtomicPtr<c_void> = AtomicPtr::new(null_mut());

    pub(super) fn are_installed() -> bool {
        INSTALLED.load(Ordering::Relaxed)
    }

    unsafe extern "C" {
        fn malloc_usable_size(block: *mut c_void) -> usize;
    }

    /// The execution at hand, if its threads could use what is freed.
    fn watching() -> Option<*mut Execution> {
        let ex = context::current();
        if ex.is_null() {
            return None;
        }
        // SAFETY: a current execution is valid.
        let is = unsafe {
            let runs = (*ex).in_fiber && (*ex).phase == Phase::Running && (*ex).front.is_none();
            (*ex).freed_alone |= runs && (*ex).unjoined == 0;
            runs && (*ex).unjoined > 0
        };
        is.then_some(ex)
    }

    unsafe extern "C" fn free(block: *mut c_void) {
        if !block.is_null()
            && let Some(ex) = watching()
        {
            // SAFETY: a block of the allocator; the execution is valid, and what is touched of it is touched by nobody who frees memory.
            unsafe {
                let size = malloc_usable_size(block).min(MOST);
                (*ex).block_ends(block.addr(), size, false);
            }
        }
        // SAFETY: by the caller's contract.
        if !unsafe { held(block) } {
            // SAFETY: by the caller's contract.
            unsafe { free_now(block) };
        }
    }

    /// Whether a thread of a test runs in its own code: blocks that it frees come back to it where that is arranged.
    fn is_test() -> bool {
        let ex = context::current();
        // SAFETY: a current execution is valid.
        !ex.is_null() && unsafe { (*ex).in_fiber && (*ex).in_user_code() && (*ex).phase == Phase::Running }
    }

    /// Holds a block back that is freed, where that is arranged.
    ///
    /// # Safety
    ///
    /// As of `free`.
    unsafe fn held(block: *mut c_void) -> bool {
        if block.is_null() || !quarantine::is_on() {
            return false;
        }
        // SAFETY: by the contract.
        unsafe { quarantine::holds(block, malloc_usable_size(block), is_test()) }
    }

    unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
        if quarantine::is_on()
            && is_test()
            && let Some(block) = quarantine::take(size)
        {
            return block;
        }
        let real = MALLOC.load(Ordering::Acquire);
        // SAFETY: the function of that name in the C library; by the caller's contract.
        unsafe { std::mem::transmute::<*mut c_void, Malloc>(real)(size) }
    }

    unsafe extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
        if quarantine::is_on()
            && is_test()
            && let Some(all) = count.checked_mul(size)
            && let Some(block) = quarantine::take(all)
        {
            // SAFETY: the block has room for so many bytes.
            unsafe { block.write_bytes(0, all) };
            return block;
        }
        let real = CALLOC.load(Ordering::Acquire);
        // SAFETY: the function of that name in the C library; by the caller's contract.
        unsafe { std::mem::transmute::<*mut c_void, Calloc>(real)(count, size) }
    }

    /// Gives a block to the allocator.
    ///
    /// # Safety
    ///
    /// As of `free`. Calls lead here.
    pub(crate) unsafe fn free_now(block: *mut c_void) {
        let real = FREE.load(Ordering::Acquire);
        // SAFETY: the function of that name in the C library; by the caller's contract.
        unsafe { std::mem::transmute::<*mut c_void, Free>(real)(block) };
    }

    unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        let ex = watching();
        // SAFETY: a block of the allocator, or null; the execution is valid. The new block has room for what is copied, and the old one is not
        // used any more.
        unsafe {
            if !block.is_null() && size > 0 && (ex.is_some() || quarantine::is_on()) {
                let old = malloc_usable_size(block);
                let has_objects = ex.is_some_and(|ex| (*ex).has_objects(block.addr(), old.min(MOST)));
                if size <= old && quarantine::is_on() {
                    return block;
                }
                if size > old && (has_objects || quarantine::is_on()) {
                    let new = malloc(size);
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(block, old);
                        if let Some(ex) = ex {
                            (*ex).block_ends(block.addr(), old.min(MOST), true);
                        }
                        if !held(block) {
                            free_now(block);
                        }
                    }
                    return new;
                }
            }
            let real = REALLOC.load(Ordering::Acquire);
            std::mem::transmute::<*mut c_void, Realloc>(real)(block, size)
        }
    }

    pub(super) fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| INSTALLED.store(redirect(), Ordering::Relaxed));
    }

    /// Leads the calls of the executable here, and says whether it has any.
    fn redirect() -> bool {
        unsafe extern "C" fn executable(
            info: *mut libc::dl_phdr_info,
            _: usize,
            found: *mut c_void,
        ) -> libc::c_int {
            // SAFETY: `dl_iterate_phdr` hands in a valid `info`, the executable first, and our variable. The functions above do what those
            // do that they replace.
            unsafe {
                let (info, found) = (&*info, &mut *found.cast::<[bool; 2]>());
                let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
                imports::redirect(info.dlpi_addr as usize, headers, &mut |import| match import.name {
                    "free" => {
                        found[0] = true;
                        Some(free as Free as usize)
                    }
                    "malloc" => Some(malloc as Malloc as usize),
                    "calloc" => Some(calloc as Calloc as usize),
                    "realloc" => {
                        found[1] = true;
                        Some(realloc as Realloc as usize)
                    }
                    name => crate::crash::hooks::replacement(name),
                });
            }
            // The other modules are not visited.
            1
        }
        for (name, real) in
            [(c"free", &FREE), (c"realloc", &REALLOC), (c"malloc", &MALLOC), (c"calloc", &CALLOC)]
        {
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

    impl Execution {
        /// Objects of this execution that lie in a block and were last used there, each with its word.
        fn objects_in(
            &self,
            start: usize,
            size: usize,
        ) -> impl Iterator<Item = (*mut u64, explore::ObjectId)> + '_ {
            let words = (start..start + size / 8 * 8).step_by(8);
            words.filter_map(|address| {
                let word = std::ptr::with_exposed_provenance_mut::<u64>(address);
                // SAFETY: inside of the block, which its owner gives up.
                let value = unsafe { word.read_volatile() };
                let id = explore::ObjectId(value as u32);
                let is_handle = (value >> 32) as u32 == self.epoch
                    && self.objects.get(id.index()).is_some_and(|o| o.address == address);
                is_handle.then_some((word, id))
            })
        }

        fn has_objects(&self, start: usize, size: usize) -> bool {
            self.objects_in(start, size).next().is_some()
        }

        /// A block is about to be freed, because it was moved or because its owner is done with it.
        fn block_ends(&mut self, start: usize, size: usize, moved: bool) {
            self.lifetimes.freed(start..start + size);
            let found: Vec<_> = match self.has_objects(start, size) {
                true => self.objects_in(start, size).collect(),
                false => return,
            };
            for (word, id) in found {
                // Elements that were moved live on where they are now.
                self.object_leaves(word.addr(), id, moved);
                // SAFETY: inside of the block, which its owner gives up.
                unsafe { word.write_volatile(u64::from(!self.epoch) << 32) };
            }
        }
    }
}
