//! Copying and filling memory without a call.
//!
//! `memcpy` and `memset` may be hooks of the library this is linked into, and the compiler turns plain loops into
//! calls of them. Hence assembly.

use std::arch::asm;

/// From here on the string instructions are worth their start.
const STRING: usize = 512;

/// Copies `len` bytes.
///
/// # Safety
///
/// Both ranges must be valid and must not overlap.
#[inline(always)]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: every access is inside the two ranges: the last chunk ends where they end.
    unsafe {
        if len >= STRING {
            asm!(
                "rep movsb",
                inout("rcx") len => _, inout("rdi") to => _, inout("rsi") from => _,
                options(nostack, preserves_flags),
            );
        } else if len >= 16 {
            asm!(
                "2:",
                "movups {x}, [{from}]",
                "movups [{to}], {x}",
                "add {from}, 16",
                "add {to}, 16",
                "cmp {to}, {last}",
                "jb 2b",
                "movups {x}, [{end}]",
                "movups [{last}], {x}",
                x = out(xmm_reg) _,
                from = inout(reg) from => _,
                to = inout(reg) to => _,
                last = in(reg) to.add(len - 16),
                end = in(reg) from.add(len - 16),
                options(nostack),
            );
        } else if len >= 8 {
            let (a, b) =
                (from.cast::<u64>().read_unaligned(), from.add(len - 8).cast::<u64>().read_unaligned());
            to.cast::<u64>().write_unaligned(a);
            to.add(len - 8).cast::<u64>().write_unaligned(b);
        } else if len >= 4 {
            let (a, b) =
                (from.cast::<u32>().read_unaligned(), from.add(len - 4).cast::<u32>().read_unaligned());
            to.cast::<u32>().write_unaligned(a);
            to.add(len - 4).cast::<u32>().write_unaligned(b);
        } else if len > 0 {
            to.write(from.read());
            to.add(len / 2).write(from.add(len / 2).read());
            to.add(len - 1).write(from.add(len - 1).read());
        }
    }
}

/// Sets `len` bytes to `byte`.
///
/// # Safety
///
/// The range must be valid.
#[inline(always)]
pub(crate) unsafe fn fill(to: *mut u8, byte: u8, len: usize) {
    let word = u64::from(byte) * 0x0101_0101_0101_0101;
    // SAFETY: every access is inside the range: the last chunk ends where it ends.
    unsafe {
        if len >= STRING {
            asm!(
                "rep stosb",
                inout("rcx") len => _, inout("rdi") to => _, in("al") byte,
                options(nostack, preserves_flags),
            );
        } else if len >= 16 {
            asm!(
                "movq {x}, {word}",
                "punpcklqdq {x}, {x}",
                "2:",
                "movups [{to}], {x}",
                "add {to}, 16",
                "cmp {to}, {last}",
                "jb 2b",
                "movups [{last}], {x}",
                x = out(xmm_reg) _,
                word = in(reg) word,
                to = inout(reg) to => _,
                last = in(reg) to.add(len - 16),
                options(nostack),
            );
        } else if len >= 8 {
            to.cast::<u64>().write_unaligned(word);
            to.add(len - 8).cast::<u64>().write_unaligned(word);
        } else if len >= 4 {
            to.cast::<u32>().write_unaligned(word as u32);
            to.add(len - 4).cast::<u32>().write_unaligned(word as u32);
        } else if len > 0 {
            to.write(byte);
            to.add(len / 2).write(byte);
            to.add(len - 1).write(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_any_length_changes_its_range_and_nothing_else() {
        let from: Vec<u8> = (0..2000u32).map(|i| (i * 7 + 1) as u8).collect();
        for len in (0..700).chain([1000, 1999]) {
            for shift in [0usize, 1, 7] {
                let mut to = vec![0xeeu8; 2100];
                let len = len.min(from.len() - shift);
                // SAFETY: both vectors are long enough.
                unsafe { copy(to.as_mut_ptr().add(32 + shift), from.as_ptr().add(shift), len) };
                assert_eq!(&to[32 + shift..32 + shift + len], &from[shift..shift + len], "{len} {shift}");
                assert!(
                    to[..32 + shift].iter().chain(&to[32 + shift + len..]).all(|&b| b == 0xee),
                    "{len} {shift}"
                );
            }
        }
    }

    #[test]
    fn a_fill_of_any_length_changes_its_range_and_nothing_else() {
        for len in (0..700).chain([1000, 1999]) {
            for shift in [0usize, 1, 7] {
                let mut to = vec![0xeeu8; 2100];
                // SAFETY: the vector is long enough.
                unsafe { fill(to.as_mut_ptr().add(32 + shift), 0x5a, len) };
                assert!(to[32 + shift..32 + shift + len].iter().all(|&b| b == 0x5a), "{len} {shift}");
                assert!(
                    to[..32 + shift].iter().chain(&to[32 + shift + len..]).all(|&b| b == 0xee),
                    "{len} {shift}"
                );
            }
        }
    }
}
