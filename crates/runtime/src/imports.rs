//! Functions that a loaded module imports from others: the slots of its global offset table.

use std::ffi::{CStr, c_void};

const PAGE: usize = 4096;

/// A function or variable that a module takes from another one.
pub struct Import<'a> {
    /// The name of the symbol.
    pub name: &'a str,
    /// The entry of the table that has its address.
    pub slot: *mut usize,
    /// It is a function.
    pub is_function: bool,
}

/// Visits the imports of a module, and stores the addresses that come back in their slots.
///
/// # Safety
///
/// These are the program headers of a module that is loaded at `base`. An address that `visit` returns has what the import stands for.
pub unsafe fn redirect(
    base: usize,
    headers: &[libc::Elf64_Phdr],
    visit: &mut dyn FnMut(Import<'_>) -> Option<usize>,
) {
    const TABLE: usize = 7;
    const TABLE_SIZE: usize = 8;
    const JUMPS: usize = 23;
    const JUMPS_SIZE: usize = 2;
    const STRINGS: usize = 5;
    const SYMBOLS: usize = 6;
    const ADDRESS: u32 = 1;
    const GLOBAL: u32 = 6;
    const JUMP: u32 = 7;
    const FUNCTION: u8 = 2;
    let Some(dynamic) = headers.iter().find(|h| h.p_type == libc::PT_DYNAMIC) else { return };
    let read_only = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO);
    let mut values = [0usize; 24];
    // SAFETY: the dynamic section of a loaded module is a list of pairs that ends with a zero.
    unsafe {
        let mut at = (base + dynamic.p_vaddr as usize) as *const [usize; 2];
        while (*at)[0] != 0 {
            if let Some(value) = values.get_mut((*at)[0]) {
                *value = (*at)[1];
            }
            at = at.add(1);
        }
        // The loader adds the base to addresses in there, where it may write.
        let absolute = |v: usize| if v != 0 && v < base { v + base } else { v };
        let (strings, symbols) = (absolute(values[STRINGS]), absolute(values[SYMBOLS]));
        for (start, size) in [(values[TABLE], values[TABLE_SIZE]), (values[JUMPS], values[JUMPS_SIZE])] {
            let start = absolute(start) as *const [usize; 3];
            for i in 0..size / size_of::<[usize; 3]>() {
                let [offset, about, _] = *start.add(i);
                let kind = about as u32;
                if !matches!(kind, ADDRESS | GLOBAL | JUMP) || about >> 32 == 0 {
                    continue;
                }
                let symbol = (symbols + (about >> 32) * 24) as *const u8;
                let name = CStr::from_ptr((strings + symbol.cast::<u32>().read() as usize) as *const _);
                let Ok(name) = name.to_str() else { continue };
                let is_function = kind == JUMP || symbol.add(4).read() & 15 == FUNCTION;
                let slot = (base + offset) as *mut usize;
                if let Some(to) = visit(Import { name, slot, is_function }) {
                    let page = slot as usize & !(PAGE - 1);
                    let all = libc::PROT_READ | libc::PROT_WRITE;
                    libc::mprotect(page as *mut c_void, PAGE, all);
                    slot.write(to);
                    let kept = |h: &libc::Elf64_Phdr| {
                        let start = base + h.p_vaddr as usize;
                        (start & !(PAGE - 1)..start + h.p_memsz as usize).contains(&(slot as usize))
                    };
                    if read_only.is_some_and(kept) {
                        libc::mprotect(page as *mut c_void, PAGE, libc::PROT_READ);
                    }
                }
            }
        }
    }
}
