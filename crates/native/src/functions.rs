//! Functions and variables of the program by name, from its symbol table.

use std::ffi::c_void;

fn u64_at(file: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(file.get(at..at + 8)?.try_into().ok()?))
}

fn u32_at(file: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?))
}

fn u16_at(file: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?))
}

/// A name in the symbol table.
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a [u8],
    /// In the file.
    pub(crate) address: usize,
    pub(crate) size: usize,
    /// Else it is a function.
    pub(crate) is_variable: bool,
}

/// Where the functions of the executable lie, in memory, whose names begin like this. Those called `..begin` and `..end` are
/// not among them: they are ours.
pub(crate) fn named(prefix: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let base = base();
    each(|Symbol { name, address, size, is_variable }| {
        if !is_variable
            && name.starts_with(prefix.as_bytes())
            && !name.ends_with(b"_begin")
            && !name.ends_with(b"_end")
        {
            found.push((base + address, base + address + size));
        }
    });
    found
}

/// All functions and variables that the executable defines.
pub(crate) fn each(visit: impl FnMut(Symbol<'_>)) {
    if let Ok(file) = std::fs::read("/proc/self/exe") {
        // A file that is cut short has no more of them.
        let _ = find_kinds(&file, &[VARIABLE, FUNCTION], visit);
    }
}

const VARIABLE: u8 = 1;
const FUNCTION: u8 = 2;

/// All symbols of these kinds that a file defines.
fn find_kinds(file: &[u8], kinds: &[u8], mut visit: impl FnMut(Symbol<'_>)) -> Option<()> {
    const SYMBOLS: u32 = 2;
    let sections = u64_at(file, 0x28)? as usize;
    let (size, count) = (u16_at(file, 0x3a)? as usize, u16_at(file, 0x3c)? as usize);
    let section = |i: usize| sections + i * size;
    for s in (0..count).map(section) {
        if u32_at(file, s + 4)? != SYMBOLS {
            continue;
        }
        let (start, bytes) = (u64_at(file, s + 0x18)? as usize, u64_at(file, s + 0x20)? as usize);
        let names = u64_at(file, section(u32_at(file, s + 0x28)? as usize) + 0x18)? as usize;
        for symbol in (start..start + bytes).step_by(24) {
            let (kind, defined) = (*file.get(symbol + 4)? & 15, u16_at(file, symbol + 6)? != 0);
            let (address, size) = (u64_at(file, symbol + 8)? as usize, u64_at(file, symbol + 16)? as usize);
            if !kinds.contains(&kind) || !defined {
                continue;
            }
            let name = file.get(names + u32_at(file, symbol)? as usize..)?;
            let name = name.split(|b| *b == 0).next()?;
            visit(Symbol { name, address, size, is_variable: kind != FUNCTION });
        }
    }
    Some(())
}

/// Where a thread-local variable of the executable lies, as a distance down from the thread's FS base; `name` is a part of its name.
pub(crate) fn own_variable(name: &str) -> Option<usize> {
    let file = std::fs::read("/proc/self/exe").ok()?;
    const THREAD_LOCAL: u8 = 6;
    const SEGMENT: u32 = 7;
    let (headers, size, count) =
        (u64_at(&file, 0x20)? as usize, u16_at(&file, 0x36)? as usize, u16_at(&file, 0x38)? as usize);
    let headers = (0..count).map(|i| headers + i * size);
    let segment = headers.into_iter().find(|h| u32_at(&file, *h) == Some(SEGMENT))?;
    let (bytes, align) = (u64_at(&file, segment + 0x28)? as usize, u64_at(&file, segment + 0x30)? as usize);
    let mut found = None;
    find_kinds(&file, &[THREAD_LOCAL], |symbol| {
        if symbol.name.windows(name.len()).any(|w| w == name.as_bytes()) {
            found = Some(symbol.address);
        }
    });
    bytes.next_multiple_of(align.max(1)).checked_sub(found?)
}

/// Whether the executable asks for stacks with code on them, as functions inside functions need them.
pub(crate) fn wants_code_on_stacks() -> bool {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`, the executable first; `data` is our answer.
        unsafe {
            let info = &*info;
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            let stack = headers.iter().find(|h| h.p_type == libc::PT_GNU_STACK);
            data.cast::<bool>().write(stack.is_some_and(|h| h.p_flags & libc::PF_X != 0));
        }
        1
    }
    let mut wanted = false;
    // SAFETY: the callback keeps its contract.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut wanted).cast()) };
    wanted
}

/// What is added to the addresses of the executable.
pub(crate) fn base() -> usize {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`, the executable first; `data` is our number.
        unsafe { data.cast::<usize>().write((*info).dlpi_addr as usize) };
        1
    }
    let mut base = 0usize;
    // SAFETY: the callback keeps its contract.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut base).cast()) };
    base
}
