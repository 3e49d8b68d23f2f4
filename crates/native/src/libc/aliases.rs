//! Memory with two addresses: a file, or shared memory, that is mapped twice.
//!
//! An access through the second mapping is one of the first, so that both are one object. The first mapping stays until the
//! execution ends, also if the program unmaps it: the words of objects are read there.

use crate::shim::Call;

/// A mapping of a part of a file.
#[derive(Clone, Copy)]
struct Mapping {
    device: u64,
    number: u64,
    /// Where in the file it begins.
    offset: u64,
    start: usize,
    bytes: usize,
}

/// A range that has another address, and how far away that is.
#[derive(Clone, Copy)]
struct Alias {
    start: usize,
    end: usize,
    shift: isize,
}

static mut MAPPINGS: Vec<Mapping> = Vec::new();
static mut ALIASES: Vec<Alias> = Vec::new();
/// Whether there are aliases.
static mut ANY: bool = false;

/// An execution begins: what the last one has mapped is gone.
pub(super) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe {
        if !(*(&raw const MAPPINGS)).is_empty() {
            (*(&raw mut MAPPINGS)).clear();
            (*(&raw mut ALIASES)).clear();
            ANY = false;
        }
    }
}

/// The address by which memory is known.
#[inline(always)]
pub(crate) fn canonical(address: usize) -> usize {
    // SAFETY: one OS thread alone runs code of the program.
    if unsafe { ANY } { look_up(address) } else { address }
}

#[cold]
fn look_up(address: usize) -> usize {
    // SAFETY: as above; the borrow ends here.
    let all = unsafe { &*(&raw const ALIASES) };
    all.iter()
        .find(|a| (a.start..a.end).contains(&address))
        .map_or(address, |a| address.wrapping_add_signed(a.shift))
}

/// A file was mapped so that others see what is written.
pub(crate) fn mapped(start: usize, bytes: usize, fd: libc::c_int, offset: u64) {
    // SAFETY: zero is a valid `stat`, which the kernel fills.
    let (device, number) = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::syscall(libc::SYS_fstat, fd, &raw mut stat) != 0 {
            return;
        }
        (stat.st_dev, stat.st_ino)
    };
    let new = Mapping { device, number, offset, start, bytes };
    // SAFETY: one OS thread alone runs code of the program; the borrows end here.
    unsafe {
        let aliases = &mut *(&raw mut ALIASES);
        aliases.retain(|a| a.end <= start || start + bytes <= a.start);
        for old in (*(&raw const MAPPINGS)).iter().filter(|m| (m.device, m.number) == (device, number)) {
            let from = old.offset.max(offset);
            let end = (old.offset + old.bytes as u64).min(offset + bytes as u64);
            if from < end {
                let at = start + (from - offset) as usize;
                let known = old.start + (from - old.offset) as usize;
                let shift = (known as isize).wrapping_sub(at as isize);
                aliases.push(Alias { start: at, end: at + (end - from) as usize, shift });
                ANY = true;
            }
        }
        (*(&raw mut MAPPINGS)).push(new);
    }
}

/// Whether the program has mapped a file so that others see what is written.
pub(crate) fn is_any() -> bool {
    // SAFETY: as above.
    !unsafe { &*(&raw const MAPPINGS) }.is_empty()
}

/// The mappings of the file of a descriptor.
fn mappings_of(fd: libc::c_int) -> Vec<Mapping> {
    // SAFETY: zero is a valid `stat`, which the kernel fills; the borrow ends here.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::syscall(libc::SYS_fstat, fd, &raw mut stat) != 0 {
            return Vec::new();
        }
        let is_same = |m: &&Mapping| (m.device, m.number) == (stat.st_dev, stat.st_ino);
        (*(&raw const MAPPINGS)).iter().filter(is_same).copied().collect()
    }
}

/// A part of a file is read or written through a descriptor: where it is mapped, that is an access to the mapping. Without a place,
/// the part begins where the descriptor stands.
#[cold]
pub(crate) fn used(fd: libc::c_int, at: Option<u64>, bytes: u64, write: bool, call: Call) {
    let all = mappings_of(fd);
    if all.is_empty() {
        return;
    }
    // SAFETY: system calls on a descriptor.
    let here = || unsafe {
        let appends = write
            && libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFL) & libc::c_long::from(libc::O_APPEND) != 0;
        if appends { u64::MAX } else { libc::syscall(libc::SYS_lseek, fd, 0, libc::SEEK_CUR) as u64 }
    };
    // What is appended lies behind the end of the file, which nothing can access through a mapping before.
    let at = at.unwrap_or_else(here);
    for m in all {
        let from = m.offset.max(at);
        let end = (m.offset + m.bytes as u64).min(at.saturating_add(bytes));
        if from < end {
            crate::access::range(m.start + (from - m.offset) as usize, (end - from) as usize, write, call);
        }
    }
}

/// A file is read or written at a place that is not known.
#[cold]
pub(crate) fn used_somewhere(fd: libc::c_int, call: Call) {
    if !mappings_of(fd).is_empty() {
        let text = "a file is read or written by a library function while it is mapped: the order of this call and of accesses to the \
                    mapping is not explored";
        runtime::caveat_at(explore::CaveatKind::Channel, text, call.place);
    }
}

/// Whether a mapping must stay when the program unmaps it: objects are known by its addresses.
pub(crate) fn must_stay(start: usize, bytes: usize) -> bool {
    // SAFETY: as above.
    let all = unsafe { &*(&raw const MAPPINGS) };
    all.iter().any(|m| m.start < start + bytes && start < m.start + m.bytes)
}
