//! Objects in statics: which addresses those are, and the copies of their data that belong to one execution.

use crate::context;
use crate::objects::{Handle, Home};
use crate::{Class, execution::Execution, outside};
use explore::ObjectId;
use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// The writable segments of all loaded modules, which is where statics with interior mutability lie.
fn segments() -> &'static [(usize, usize)] {
    static SEGMENTS: OnceLock<Vec<(usize, usize)>> = OnceLock::new();
    SEGMENTS.get_or_init(find_segments)
}

#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd"))]
fn find_segments() -> Vec<(usize, usize)> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: libc::size_t,
        data: *mut libc::c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`, whose headers are an array of `dlpi_phnum`; `data` is the
        // vector given below, which nobody else uses during the call.
        unsafe {
            let found = &mut *data.cast::<Vec<(usize, usize)>>();
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
            for h in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0) {
                let start = (*info).dlpi_addr as usize + h.p_vaddr as usize;
                found.push((start, start + h.p_memsz as usize));
            }
        }
        0
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    // SAFETY: `visit` has the signature that is asked for, and `found` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), std::ptr::from_mut(&mut found).cast()) };
    found.sort_unstable();
    found
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "freebsd")))]
fn find_segments() -> Vec<(usize, usize)> {
    Vec::new()
}

/// Whether an address lies in a static.
pub(crate) fn contains(address: usize) -> bool {
    let segments = segments();
    let after = segments.partition_point(|s| s.0 <= address);
    after > 0 && address < segments[after - 1].1
}

/// The statics that one execution has met.
#[derive(Default)]
pub(crate) struct Statics {
    /// By address of the handle; few, so a list.
    entries: Vec<(usize, ObjectId)>,
    copies: Vec<Copy>,
}

/// The data of a static in one execution.
struct Copy {
    inline: usize,
    memory: *mut u8,
    layout: Layout,
    /// The pointer to the copy, with its metadata.
    pointer: [MaybeUninit<usize>; 2],
    /// Drops what a pointer stored like that points at.
    drop: unsafe fn(*const u8),
}

impl Statics {
    pub(crate) fn find(&self, address: usize) -> Option<ObjectId> {
        self.entries.iter().find(|e| e.0 == address).map(|e| e.1)
    }

    pub(crate) fn note(&mut self, address: usize, id: ObjectId) {
        self.entries.push((address, id));
    }
}

/// Drops the copies that an execution made. Their destructors may use our types, so this runs while the execution is
/// given up, when operations do nothing.
///
/// # Safety
///
/// `ex` is the current execution, no fiber of it will run again, and no reference into it is alive.
pub(crate) unsafe fn drop_copies(ex: *mut Execution) {
    // SAFETY: `ex` is valid by the contract; the statics are borrowed only for the time of a `pop`, so destructors
    // may come back to the execution. A destructor may make new copies, which later rounds drop.
    unsafe {
        while let Some(copy) = (*ex).statics.copies.pop() {
            let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                (copy.drop)(copy.pointer.as_ptr().cast())
            }));
            drop(dropped);
            if copy.layout.size() != 0 {
                std::alloc::dealloc(copy.memory, copy.layout);
            }
        }
        (*ex).statics.entries.clear();
    }
}

/// Where the data of an object lives: `inline`, or, for an object in a `static`, a copy that belongs to this execution
/// (made from the initial bytes on the first call, dropped with `drop_in_place` when the execution ends). The inline bytes of
/// a static are never written, so tests that share it do not disturb each other.
///
/// Outside an execution it is `inline`.
#[inline]
pub fn data<T: ?Sized>(object: &Handle, class: Class, inline: *mut T) -> *mut T {
    data_of_lock(object, class, inline, std::ptr::null_mut::<()>())
}

/// Gives the data of an object whose value has a part that is put back in each execution although the value has a destructor.
#[inline]
pub fn data_of_lock<T: ?Sized, P>(object: &Handle, _class: Class, inline: *mut T, part: *mut P) -> *mut T {
    let ex = context::current();
    if ex.is_null() {
        return inline;
    }
    // SAFETY: a current execution is valid, and this shared borrow ends before anything else can run.
    let known = unsafe { (*ex).known(object).map(|id| (&(*ex).objects)[id.index()].home) };
    match known {
        Some(Home::Inline) => return inline,
        Some(Home::New | Home::Outside) => {}
        None if !contains(object.address()) => {
            // SAFETY: as above.
            if object.is_fresh() && unsafe { !(*ex).keeps_values } {
                return inline;
            }
        }
        // SAFETY: as above; `copy_of` runs no foreign code.
        _ => return unsafe { copy_of(&mut (*ex).statics, inline) },
    }
    look(ex, object, inline, part);
    inline
}

/// See [`outside::look`].
#[cold]
fn look<T: ?Sized, P>(ex: *mut Execution, object: &Handle, inline: *mut T, part: *mut P) {
    // SAFETY: the caller has the current execution. `inline` points to the value of an object that is alive, and its first use in an execution comes
    // here before there is a reference to it.
    unsafe {
        let size = size_of_val(&*inline);
        let part = (part.cast::<u8>(), size_of::<P>());
        outside::look(ex, object, (inline.cast::<u8>(), size), part, std::mem::needs_drop::<T>());
    }
}

#[cold]
fn copy_of<T: ?Sized>(statics: &mut Statics, inline: *mut T) -> *mut T {
    unsafe fn drop_it<T: ?Sized>(pointer: *const u8) {
        // SAFETY: called with the address of the pointer stored below, whose target is the copy, dropped once.
        unsafe { std::ptr::drop_in_place(pointer.cast::<*mut T>().read_unaligned()) }
    }
    debug_assert!(size_of::<*mut T>() <= size_of::<[usize; 2]>());
    let address = inline.cast::<u8>() as usize;
    // SAFETY: `inline` points at the data of a live static.
    let layout = unsafe { Layout::for_value(&*inline) };
    let size = layout.size();
    let found = statics.copies.iter().position(|c| c.inline == address && c.layout.size() == size);
    let index = found.unwrap_or_else(|| {
        let memory = if size == 0 {
            layout.align() as *mut u8
        } else {
            // SAFETY: the layout has a size; the bytes of the static are initialised as those of a `T` and never
            // change, so copying them is sound, and they are never dropped in place themselves.
            unsafe {
                let memory = std::alloc::alloc(layout);
                if memory.is_null() {
                    std::alloc::handle_alloc_error(layout);
                }
                memory.copy_from_nonoverlapping(inline.cast::<u8>(), size);
                memory
            }
        };
        let mut copied = inline;
        let mut pointer = [MaybeUninit::<usize>::uninit(); 2];
        // SAFETY: a pointer, thin or wide, starts with its address, and the length or table behind it fits the copy as
        // it fitted the original. Two words hold any pointer.
        unsafe {
            std::ptr::from_mut(&mut copied).cast::<*mut u8>().write(memory);
            pointer.as_mut_ptr().cast::<*mut T>().write_unaligned(copied);
        }
        statics.copies.push(Copy { inline: address, memory, layout, pointer, drop: drop_it::<T> });
        statics.copies.len() - 1
    });
    let mut out = inline;
    // SAFETY: as above: only the address part of the pointer is replaced.
    unsafe { std::ptr::from_mut(&mut out).cast::<*mut u8>().write(statics.copies[index].memory) };
    out
}
