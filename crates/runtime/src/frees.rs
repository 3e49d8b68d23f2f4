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
mod hooks {
    use crate::context;
    use crate::execution::{Execution, Phase};
    use libc::{c_char, c_void};
    use std::ffi::CStr;
    use std::sync::Once;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Blocks above this size are not searched.
    const MOST: usize = 1 << 20;

    static INSTALLED: AtomicBool = AtomicBool::new(false);
    static FREE: AtomicUsize = AtomicUsize::new(0);
    static REALLOC: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn are_installed() -> bool {
        INSTALLED.load(Ordering::Relaxed)
    }

    unsafe extern "C" {
        fn malloc_usable_size(block: *mut c_void) -> usize;
    }

    /// The execution at hand, if its threads could use what is freed.
    fn watching() -> Option<*mut Execution> {
        let ex = context::current();
        // SAFETY: a current execution is valid.
        let is = !ex.is_null()
            && unsafe {
                (*ex).in_fiber && (*ex).unjoined > 0 && (*ex).phase == Phase::Running && (*ex).front.is_none()
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
        let real = FREE.load(Ordering::Relaxed);
        // SAFETY: the function that was there before, of this type; by the caller's contract.
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void)>(real)(block) }
    }

    unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
        if !block.is_null()
            && size > 0
            && let Some(ex) = watching()
        {
            // SAFETY: as in `free`. The new block has room for what is copied, and the old one is not used any more.
            unsafe {
                let old = malloc_usable_size(block);
                if size > old && (*ex).has_objects(block.addr(), old.min(MOST)) {
                    let new = libc::malloc(size);
                    if !new.is_null() {
                        new.copy_from_nonoverlapping(block, old);
                        (*ex).block_ends(block.addr(), old.min(MOST), true);
                        let real = FREE.load(Ordering::Relaxed);
                        std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void)>(real)(block);
                    }
                    return new;
                }
            }
        }
        let real = REALLOC.load(Ordering::Relaxed);
        // SAFETY: the function that was there before, of this type; by the caller's contract.
        unsafe {
            std::mem::transmute::<usize, unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>(real)(
                block, size,
            )
        }
    }

    pub(super) fn install() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            // SAFETY: the executable is loaded and stays; nobody else changes its table of addresses.
            let (free_slot, realloc_slot) = unsafe { (slot(c"free"), slot(c"realloc")) };
            let (Some(free_slot), Some(realloc_slot)) = (free_slot, realloc_slot) else { return };
            let lead = |slot: *mut usize, to: usize, before: &AtomicUsize| {
                // SAFETY: a slot of the table, which is filled in when the program is loaded.
                let real = unsafe { slot.read_volatile() };
                before.store(real, Ordering::Relaxed);
                // SAFETY: as above; both functions have the type of the one that was there.
                real != 0 && unsafe { write(slot, to) }
            };
            let free_to = free as unsafe extern "C" fn(*mut c_void) as usize;
            let realloc_to = realloc as unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void as usize;
            if lead(free_slot, free_to, &FREE) && lead(realloc_slot, realloc_to, &REALLOC) {
                INSTALLED.store(true, Ordering::Relaxed);
            }
        });
    }

    /// Writes a slot of a table that may be write-protected. Says whether it could.
    ///
    /// # Safety
    ///
    /// The slot is one of a loaded module, and may have this value.
    unsafe fn write(slot: *mut usize, value: usize) -> bool {
        // SAFETY: by the contract; the page is that of the slot.
        unsafe {
            let size = libc::sysconf(libc::_SC_PAGESIZE) as usize;
            let page = slot.map_addr(|a| a & !(size - 1)).cast::<c_void>();
            if libc::mprotect(page, size, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return false;
            }
            slot.write_volatile(value);
            // The table was protected when the program was loaded, or it was not; either is fine for whoever calls through it.
            libc::mprotect(page, size, libc::PROT_READ | libc::PROT_WRITE) == 0
        }
    }

    /// Where the executable keeps the address of a function that it imports.
    ///
    /// # Safety
    ///
    /// The executable is loaded.
    unsafe fn slot(name: &CStr) -> Option<*mut usize> {
        struct Wanted<'a> {
            name: &'a CStr,
            found: Option<*mut usize>,
        }
        unsafe extern "C" fn first(
            info: *mut libc::dl_phdr_info,
            _size: usize,
            data: *mut c_void,
        ) -> libc::c_int {
            // SAFETY: `dl_iterate_phdr` hands in a valid `info`; `data` is the value below.
            unsafe {
                let wanted = &mut *data.cast::<Wanted<'_>>();
                wanted.found = slot_in(&*info, wanted.name);
            }
            1
        }
        let mut wanted = Wanted { name, found: None };
        // SAFETY: `first` has the type that is asked for, and `wanted` outlives the call. The first module is the executable.
        unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut wanted).cast()) };
        wanted.found
    }

    /// # Safety
    ///
    /// `info` is that of a loaded module.
    unsafe fn slot_in(info: &libc::dl_phdr_info, name: &CStr) -> Option<*mut usize> {
        const SYMBOL_SIZE: usize = 24;
        const RELOCATION_SIZE: usize = 24;
        const GLOB_DAT: u64 = 6;
        const JUMP_SLOT: u64 = 7;
        // Entries of the dynamic section.
        const STRINGS: i64 = 5;
        const SYMBOLS: i64 = 6;
        const RELA: i64 = 7;
        const RELA_SIZE: i64 = 8;
        const JUMPS: i64 = 23;
        const JUMPS_SIZE: i64 = 2;
        let base = info.dlpi_addr as usize;
        let at = |address: usize| std::ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: by the contract the headers, the dynamic section and the tables that it names are in memory, as the format of
        // executables says.
        unsafe {
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            let dynamic = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC)?;
            let entries = at(base + dynamic.p_vaddr as usize).cast::<[i64; 2]>();
            let count = dynamic.p_memsz as usize / 16;
            let entry = |tag: i64| {
                (0..count)
                    .map(|i| entries.add(i).read())
                    .take_while(|e| e[0] != 0)
                    .find(|e| e[0] == tag)
                    .map(|e| e[1] as usize)
            };
            // The dynamic linker has made addresses of these, but not in every module.
            let address = |tag: i64| entry(tag).map(|a| if a < base { a + base } else { a });
            let (strings, symbols) = (address(STRINGS)?, address(SYMBOLS)?);
            for (table, size) in [(RELA, RELA_SIZE), (JUMPS, JUMPS_SIZE)] {
                let (Some(table), Some(size)) = (address(table), entry(size)) else { continue };
                for i in 0..size / RELOCATION_SIZE {
                    let [offset, kind, _] = at(table + i * RELOCATION_SIZE).cast::<[u64; 3]>().read();
                    if ![GLOB_DAT, JUMP_SLOT].contains(&(kind & 0xffff_ffff)) {
                        continue;
                    }
                    let symbol = symbols + (kind >> 32) as usize * SYMBOL_SIZE;
                    let text = strings + at(symbol).cast::<u32>().read() as usize;
                    if CStr::from_ptr(at(text).cast::<c_char>()) == name {
                        return Some(std::ptr::with_exposed_provenance_mut(base + offset as usize));
                    }
                }
            }
        }
        None
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
