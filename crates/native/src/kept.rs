//! What a program does to its process that must not last: memory that it maps, and handlers of signals that are ours.

use crate::modules::{self, Owner};
use crate::real::real;
use crate::shim::{export, export_past, return_address};
use std::ffi::{c_int, c_void};

/// Memory that the running execution has mapped: address and size.
static mut MAPPED: Vec<(usize, usize)> = Vec::new();

fn mapped() -> &'static mut Vec<(usize, usize)> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a call into it.
    unsafe { &mut *(&raw mut MAPPED) }
}

/// An execution begins: what the last one mapped goes, so that the next one gets it at the same addresses.
#[inline]
pub(crate) fn begin() {
    while let Some((start, bytes)) = mapped().pop() {
        // SAFETY: nobody who could use it is left.
        unsafe { libc::syscall(libc::SYS_munmap, start, bytes) };
    }
}

fn of_program() -> bool {
    runtime::in_execution() && !matches!(modules::owner(return_address()), Some(Owner::Raddle | Owner::Libc))
}

extern "C" fn map(at: usize, bytes: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> usize {
    let is_programs = of_program();
    let start = map_inside(at, bytes, protection, flags, fd, offset);
    if is_programs && start != usize::MAX {
        mapped().push((start, bytes));
        if flags & libc::MAP_SHARED != 0 && flags & libc::MAP_ANONYMOUS == 0 {
            crate::libc::aliases::mapped(start, bytes, fd, offset as u64);
        }
    }
    start
}

extern "C" fn map_inside(
    at: usize,
    bytes: usize,
    protection: c_int,
    flags: c_int,
    fd: c_int,
    offset: i64,
) -> usize {
    real!(mmap(at, bytes, protection, flags, fd, offset): fn(usize, usize, c_int, c_int, c_int, i64) -> usize)
}

extern "C" fn unmap(start: usize, bytes: usize) -> c_int {
    if of_program() {
        if crate::libc::aliases::must_stay(start, bytes) {
            return 0;
        }
        mapped().retain(|m| *m != (start, bytes));
    }
    unmap_inside(start, bytes)
}

extern "C" fn unmap_inside(start: usize, bytes: usize) -> c_int {
    real!(munmap(start, bytes): fn(usize, usize) -> c_int)
}

/// The stack on which our handlers run stays.
extern "C" fn set_signal_stack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    if !of_program() {
        return real!(sigaltstack(new, old): fn(*const libc::stack_t, *mut libc::stack_t) -> c_int);
    }
    if !old.is_null() {
        // SAFETY: the program hands in a place.
        unsafe {
            old.write(libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 })
        };
    }
    0
}

/// Memory that grows or moves is tracked as what it is afterwards.
extern "C" fn remap(start: usize, old: usize, new: usize, flags: c_int, to: *mut c_void) -> usize {
    let is_programs = of_program();
    let moved =
        real!(mremap(start, old, new, flags, to): fn(usize, usize, usize, c_int, *mut c_void) -> usize);
    if is_programs && moved != usize::MAX {
        if moved != start || old == 0 {
            let text = "memory that `mremap` has moved is taken for new memory: accesses before and after the move are not compared";
            runtime::caveat_at(explore::CaveatKind::Library, text, crate::shim::Call::unknown().place);
        }
        mapped().retain(|m| m.0 != start);
        mapped().push((moved, new));
    }
    moved
}

// Stacks are mapped by the runtime, in the middle of calls of the program.
export_past! {
    mmap => map, map_inside;
    mmap64 => map, map_inside;
    munmap => unmap, unmap_inside;
}

export! {
    mremap => remap;
    sigaltstack => set_signal_stack;
}
