//! System calls, made directly.
//!
//! The functions of the C library of the same names may be interposed by the very library this is linked into, and they
//! write `errno`, which belongs to the program. All of these may be called in a signal handler.

use std::arch::asm;
use std::ffi::CStr;
use std::mem::MaybeUninit;

/// The error number of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

/// # Safety
///
/// The call must be safe with these arguments.
unsafe fn call(number: i64, a: [usize; 6]) -> Result<usize, Errno> {
    let result: isize;
    // SAFETY: the kernel changes rax, rcx and r11 only; what the call does is the caller's affair.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2], in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// Maps fresh private memory at `address` (anywhere if it is 0), reserving nothing.
pub(crate) fn map(address: usize, len: usize, prot: i32) -> Result<usize, Errno> {
    let fixed = if address == 0 { 0 } else { libc::MAP_FIXED_NOREPLACE };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    // SAFETY: no existing mapping is replaced.
    let got = unsafe { call(libc::SYS_mmap, [address, len, prot as usize, flags as usize, usize::MAX, 0]) }?;
    if address != 0 && got != address {
        // A kernel before 4.17 takes the address for a hint.
        unmap(got, len);
        return Err(Errno(libc::EEXIST));
    }
    // Huge pages would turn a touched word into two megabytes. Where this is unknown, there are none.
    // SAFETY: advice on memory that was mapped just now.
    let _ = unsafe { call(libc::SYS_madvise, [got, len, libc::MADV_NOHUGEPAGE as usize, 0, 0, 0]) };
    Ok(got)
}

/// Gives back memory that nobody refers to any more.
pub(crate) fn unmap(address: usize, len: usize) {
    // SAFETY: called by the owners of a mapping only, with the range that they mapped.
    let _ = unsafe { call(libc::SYS_munmap, [address, len, 0, 0, 0, 0]) };
}

/// Maps the first `len` bytes of a file, readable and shared.
pub(crate) fn map_file(fd: i32, len: usize) -> Result<usize, Errno> {
    let args = [0, len, libc::PROT_READ as usize, libc::MAP_SHARED as usize, fd as usize, 0];
    // SAFETY: the kernel chooses an address that is free.
    unsafe { call(libc::SYS_mmap, args) }
}

/// # Safety
///
/// Whoever uses the pages must be ready for the new protection.
pub(crate) unsafe fn protect(address: usize, len: usize, prot: i32) -> Result<(), Errno> {
    // SAFETY: passed on.
    unsafe { call(libc::SYS_mprotect, [address, len, prot as usize, 0, 0, 0]) }.map(drop)
}

/// Makes private anonymous pages zero again.
///
/// # Safety
///
/// The contents of the pages must be nobody's any more.
pub(crate) unsafe fn forget(address: usize, len: usize) -> Result<(), Errno> {
    // SAFETY: passed on.
    unsafe { call(libc::SYS_madvise, [address, len, libc::MADV_DONTNEED as usize, 0, 0, 0]) }.map(drop)
}

/// Waits until `word` is no longer `value`, or for no reason.
pub(crate) fn wait_while(word: &std::sync::atomic::AtomicU32, value: u32) {
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let args = [word.as_ptr() as usize, op as usize, value as usize, 0, 0, 0];
    // SAFETY: the kernel reads a word that is borrowed.
    let _ = unsafe { call(libc::SYS_futex, args) };
}

/// Wakes whoever waits for `word`.
pub(crate) fn wake_all(word: &std::sync::atomic::AtomicU32) {
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    let args = [word.as_ptr() as usize, op as usize, i32::MAX as usize, 0, 0, 0];
    // SAFETY: the kernel uses the address as a name.
    let _ = unsafe { call(libc::SYS_futex, args) };
}

/// Sets the signal mask of this thread, one bit a signal, and returns the old one.
pub(crate) fn set_signal_mask(mask: u64) -> u64 {
    let mut old = 0u64;
    let args = [libc::SIG_SETMASK as usize, &raw const mask as usize, &raw mut old as usize, 8, 0, 0];
    // SAFETY: both words are of the size that is passed, and live on this stack.
    let _ = unsafe { call(libc::SYS_rt_sigprocmask, args) };
    old
}

/// Sets the FS base the slow way.
///
/// # Safety
///
/// `base` must be the FS base of a thread of this process.
pub(crate) unsafe fn set_fs(base: usize) {
    const ARCH_SET_FS: usize = 0x1002;
    // SAFETY: passed on.
    let _ = unsafe { call(libc::SYS_arch_prctl, [ARCH_SET_FS, base, 0, 0, 0, 0]) };
}

/// A file that lives in memory.
pub(crate) fn memory_file(name: &CStr) -> Result<i32, Errno> {
    let args = [name.as_ptr() as usize, libc::MFD_CLOEXEC as usize, 0, 0, 0, 0];
    // SAFETY: the name ends with a zero.
    unsafe { call(libc::SYS_memfd_create, args) }.map(|fd| fd as i32)
}

/// Sets the size of a file.
pub(crate) fn set_size(fd: i32, size: usize) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    unsafe { call(libc::SYS_ftruncate, [fd as usize, size, 0, 0, 0, 0]) }.map(drop)
}

/// A copy of `fd` with a number of at least `least`, closed by exec.
pub(crate) fn duplicate(fd: i32, least: i32) -> Result<i32, Errno> {
    let args = [fd as usize, libc::F_DUPFD_CLOEXEC as usize, least as usize, 0, 0, 0];
    // SAFETY: no memory is passed.
    unsafe { call(libc::SYS_fcntl, args) }.map(|fd| fd as i32)
}

/// Makes `to` another name of `from`.
pub(crate) fn duplicate_to(from: i32, to: i32) -> Result<(), Errno> {
    // SAFETY: no memory is passed.
    unsafe { call(libc::SYS_dup2, [from as usize, to as usize, 0, 0, 0, 0]) }.map(drop)
}

/// Lets every write go to the end of the file.
pub(crate) fn append_always(fd: i32) -> Result<(), Errno> {
    let args = [fd as usize, libc::F_SETFL as usize, libc::O_APPEND as usize, 0, 0, 0];
    // SAFETY: no memory is passed.
    unsafe { call(libc::SYS_fcntl, args) }.map(drop)
}

/// Reads at an offset, without moving the file's position: the bytes that were read, none at the end of the file.
pub(crate) fn read_at(fd: i32, buffer: &mut [MaybeUninit<u8>], offset: usize) -> Result<&[u8], Errno> {
    let args = [fd as usize, buffer.as_mut_ptr() as usize, buffer.len(), offset, 0, 0];
    // SAFETY: the kernel writes inside the borrowed buffer.
    let len = unsafe { call(libc::SYS_pread64, args) }?;
    // SAFETY: the kernel has written so many.
    Ok(unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast(), len) })
}

/// Writes bytes.
///
/// # Safety
///
/// `len` bytes at `data` must be readable, or the call fails.
pub(crate) unsafe fn write(fd: i32, data: *const u8, len: usize) -> Result<usize, Errno> {
    // SAFETY: passed on.
    unsafe { call(libc::SYS_write, [fd as usize, data as usize, len, 0, 0, 0]) }
}

/// Closes a descriptor.
pub(crate) fn close(fd: i32) {
    // SAFETY: no memory is passed.
    let _ = unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}
