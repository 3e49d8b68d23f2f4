//! What a program does to its process that must not last: memory that it maps, and handlers of signals that are ours.

use crate::modules::{self, Owner};
use crate::options::{Races, options};
use crate::real::real;
use crate::shim::{Call, call, export, export_past, return_address};
use crate::{access, heap};
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
    if is_programs && flags & libc::MAP_ANONYMOUS == 0 && crate::pipes::open_of(fd).is_some() {
        crate::sync::with_errno(libc::ENODEV);
        return usize::MAX;
    }
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
        changes(start, bytes, true, call());
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

/// The memory of a range goes, or its contents do, or it can only be read from now on: accesses at the same time race with that.
fn changes(start: usize, bytes: usize, write: bool, call: Call) {
    if options().races != Races::Ignore && (!runtime::is_alone() || options().races == Races::Sync) {
        access::change(start, bytes, write, call);
    }
}

extern "C" fn advise(start: usize, bytes: usize, advice: c_int) -> c_int {
    let drops = matches!(advice, libc::MADV_DONTNEED | libc::MADV_FREE | libc::MADV_REMOVE);
    if drops && of_program() {
        let call = call();
        changes(start, bytes, true, call);
        // What was not accessed yet may be, later, by others.
        if heap::is_elsewhere(start) && !runtime::may_be_on_stack(start) {
            access::range(start, bytes.min(MOST), true, call);
        }
    }
    advise_inside(start, bytes, advice)
}

/// So many bytes of memory whose contents are dropped are written, one after the other.
const MOST: usize = 1 << 16;

extern "C" fn advise_inside(start: usize, bytes: usize, advice: c_int) -> c_int {
    real!(madvise(start, bytes, advice): fn(usize, usize, c_int) -> c_int)
}

extern "C" fn protect(start: usize, bytes: usize, protection: c_int) -> c_int {
    if protection & libc::PROT_WRITE == 0 && of_program() {
        changes(start, bytes, protection & libc::PROT_READ == 0, call());
    }
    protect_inside(start, bytes, protection)
}

extern "C" fn protect_inside(start: usize, bytes: usize, protection: c_int) -> c_int {
    real!(mprotect(start, bytes, protection): fn(usize, usize, c_int) -> c_int)
}

/// The break is the C library's heap's, too: it is not put back.
fn note_break() {
    let text = "the break that brk and sbrk move is not put back after an execution, and the order in which threads move it was not explored";
    runtime::caveat_at(explore::CaveatKind::State, text, call().place);
}

extern "C" fn move_break(by: isize) -> usize {
    if by != 0 && of_program() {
        note_break();
    }
    real!(sbrk(by): fn(isize) -> usize)
}

extern "C" fn set_break(to: usize) -> c_int {
    if of_program() {
        note_break();
    }
    real!(brk(to): fn(usize) -> c_int)
}

/// The stack on which our handlers run stays. What the program sets is kept for it to read.
extern "C" fn set_signal_stack(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int {
    if !of_program() {
        return real!(sigaltstack(new, old): fn(*const libc::stack_t, *mut libc::stack_t) -> c_int);
    }
    if !runtime::in_execution() {
        return 0;
    }
    // SAFETY: the program hands in a stack or nothing.
    let wanted = unsafe { new.as_ref() }.map(|s| (s.ss_sp as usize, s.ss_size, s.ss_flags));
    match crate::signals::alternate_stack(wanted) {
        Ok((start, size, flags)) => {
            if !old.is_null() {
                // SAFETY: the program hands in a place.
                unsafe {
                    old.write(libc::stack_t { ss_sp: start as *mut c_void, ss_flags: flags, ss_size: size });
                }
            }
            0
        }
        Err(code) => crate::sync::with_errno(code),
    }
}

/// Memory that grows or moves is tracked as what it is afterwards.
extern "C" fn remap(start: usize, old: usize, new: usize, flags: c_int, to: *mut c_void) -> usize {
    let is_programs = of_program();
    if is_programs && (new < old || flags & libc::MREMAP_MAYMOVE != 0) {
        changes(start, old, true, call());
    }
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
    madvise => advise, advise_inside;
    mprotect => protect, protect_inside;
}

export! {
    mremap => remap;
    brk => set_break;
    sbrk => move_break;
    sigaltstack => set_signal_stack;
}
