//! Functions that print: what they read by `%s` and what they write to memory is touched by the program.
//!
//! Those with variable arguments come in through a few instructions that put the registers where a `va_list` has them, as a
//! compiler does it for such a function. They are reached by `--wrap`, like those of [`crate::strings`].

use crate::libc::format::{self, Character};
use crate::libc::streams;
use crate::shim::{Call, export, undisturbed};
use crate::strings::{extent, reads, writes};
use std::ffi::{c_char, c_int};

/// A `va_list` of x86-64: how much of the saved registers is used up, where the arguments on the stack go on, and where the
/// registers are.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    words: u32,
    floats: u32,
    stack: usize,
    saved: usize,
}

unsafe extern "C" {
    fn vsnprintf(to: *mut c_char, n: usize, format: *const c_char, arguments: *mut Arguments) -> c_int;
    fn vprintf(format: *const c_char, arguments: *mut Arguments) -> c_int;
    fn vfprintf(file: *mut libc::FILE, format: *const c_char, arguments: *mut Arguments) -> c_int;
}

impl Arguments {
    /// # Safety
    ///
    /// There is one more argument, a number that is no floating-point number, or a pointer.
    pub(crate) unsafe fn word(&mut self) -> usize {
        // SAFETY: by the contract it is in a saved register or on the stack.
        unsafe {
            if self.words < 48 {
                self.words += 8;
                return ((self.saved + self.words as usize - 8) as *const usize).read();
            }
            self.stack += 8;
            ((self.stack - 8) as *const usize).read()
        }
    }

    /// Arguments that all lie on a stack, from `start` on.
    #[cfg(test)]
    pub(crate) fn on_stack(start: usize) -> Arguments {
        Arguments { words: 48, floats: 176, stack: start, saved: 0 }
    }

    /// Passes over a `double`.
    pub(crate) fn float(&mut self) {
        if self.floats < 176 {
            self.floats += 16;
        } else {
            self.stack += 8;
        }
    }

    /// Passes over a `long double`.
    pub(crate) fn long_double(&mut self) {
        self.stack = self.stack.next_multiple_of(16) + 16;
    }
}

/// The call, and reads what a format prints.
///
/// # Safety
///
/// The arguments are those that the format says.
unsafe fn incoming(format: *const c_char, arguments: *const Arguments) -> Option<Call> {
    // The stack below the call is not what the program left there, so nothing is said of local state.
    let call = runtime::in_execution().then(Call::unknown)?;
    // SAFETY: by the contract.
    unsafe { read_arguments(format, arguments, call) };
    Some(call)
}

/// Accesses a format, the strings that it prints and the variables that it sets.
///
/// # Safety
///
/// The arguments are those that the format says.
pub(crate) unsafe fn read_arguments(format: *const c_char, arguments: *const Arguments, call: Call) {
    reads(Some(call), format, extent(format, usize::MAX));
    // SAFETY: by the contract.
    unsafe { touch_arguments(format.cast::<u8>(), arguments, call) };
}

/// Accesses what a narrow or wide format prints and sets.
///
/// # Safety
///
/// The arguments are those that the format says.
pub(crate) unsafe fn touch_arguments<C: Character>(
    format: *const C,
    arguments: *const Arguments,
    call: Call,
) {
    // SAFETY: by the contract.
    let known = unsafe {
        format::printed(format, *arguments, |t| match t.writes {
            true => writes(Some(call), t.at as *mut u8, t.bytes),
            false => reads(Some(call), t.at as *const u8, t.bytes),
        })
    };
    if known.is_err() {
        let text = "a format has a conversion that is not known, and so are the arguments that it prints";
        runtime::caveat_at(explore::CaveatKind::Library, text, call.place);
    }
}

extern "C" fn to_memory(
    to: *mut c_char,
    n: usize,
    format: *const c_char,
    arguments: *mut Arguments,
) -> c_int {
    // SAFETY: the program calls the function with these arguments.
    unsafe {
        let Some(call) = incoming(format, arguments) else { return vsnprintf(to, n, format, arguments) };
        // Printed once before its turn comes, as what is printed must not change while others run.
        let mut copy = *arguments;
        let length = undisturbed(|| vsnprintf(std::ptr::null_mut(), 0, format, &mut copy));
        let Ok(whole) = usize::try_from(length) else { return vsnprintf(to, n, format, arguments) };
        let mut text = vec![0u8; whole + 1];
        undisturbed(|| vsnprintf(text.as_mut_ptr().cast(), text.len(), format, arguments));
        let kept = text.len().min(n);
        if kept > 0 {
            writes(Some(call), to, kept);
            text[kept - 1] = 0;
            to.cast::<u8>().copy_from(text.as_ptr(), kept);
        }
        length
    }
}

/// The same in memory of its own.
extern "C" fn to_new_memory(
    out: *mut *mut c_char,
    format: *const c_char,
    arguments: *mut Arguments,
) -> c_int {
    // SAFETY: the program calls the function with these arguments.
    unsafe {
        let call = incoming(format, arguments);
        let mut copy = *arguments;
        let length = undisturbed(|| vsnprintf(std::ptr::null_mut(), 0, format, &mut copy));
        let Ok(whole) = usize::try_from(length) else { return -1 };
        let p = crate::heap::allocate(whole + 1).cast::<c_char>();
        if p.is_null() {
            return -1;
        }
        undisturbed(|| vsnprintf(p, whole + 1, format, arguments));
        writes(call, p, whole + 1);
        writes(call, out, size_of::<*mut c_char>());
        out.write(p);
        length
    }
}

extern "C" fn to_any_memory(to: *mut c_char, format: *const c_char, arguments: *mut Arguments) -> c_int {
    to_memory(to, c_int::MAX as usize, format, arguments)
}

extern "C" fn out(format: *const c_char, arguments: *mut Arguments) -> c_int {
    // SAFETY: the program calls the function with these arguments.
    unsafe {
        streams::printed(incoming(format, arguments));
        vprintf(format, arguments)
    }
}

extern "C" fn to_file(file: *mut libc::FILE, format: *const c_char, arguments: *mut Arguments) -> c_int {
    // SAFETY: as above.
    unsafe {
        streams::printed_to(file, incoming(format, arguments));
        vfprintf(file, format, arguments)
    }
}

extern "C" fn line(s: *const c_char) -> c_int {
    let call = runtime::in_execution().then(Call::unknown);
    reads(call, s, extent(s, usize::MAX));
    streams::printed(call);
    // SAFETY: as above.
    unsafe { libc::puts(s) }
}

extern "C" fn string_to_file(s: *const c_char, file: *mut libc::FILE) -> c_int {
    let call = runtime::in_execution().then(Call::unknown);
    reads(call, s, extent(s, usize::MAX));
    streams::printed_to(file, call);
    // SAFETY: as above.
    unsafe { libc::fputs(s, file) }
}

/// The instructions that put the registers where a `va_list` has them: `$used` bytes of them are taken by the arguments that are
/// not variable, and the `va_list` is handed over in `$register`.
macro_rules! variable_entry {
    ($function:path, $used:literal, $register:literal) => {
        std::arch::naked_asm!(
            ".cfi_startproc",
            "mov r11, [rsp]",
            "mov [rip + {incoming}], r11",
            "mov [rip + {incoming} + 8], rbp",
            "mov [rip + {incoming} + 32], rsp",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            "sub rsp, 208",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            "test al, al",
            "je 2f",
            "movaps [rsp + 48], xmm0",
            "movaps [rsp + 64], xmm1",
            "movaps [rsp + 80], xmm2",
            "movaps [rsp + 96], xmm3",
            "movaps [rsp + 112], xmm4",
            "movaps [rsp + 128], xmm5",
            "movaps [rsp + 144], xmm6",
            "movaps [rsp + 160], xmm7",
            "2:",
            concat!("mov dword ptr [rsp + 176], ", $used),
            "mov dword ptr [rsp + 180], 48",
            "lea rax, [rbp + 16]",
            "mov [rsp + 184], rax",
            "mov [rsp + 192], rsp",
            concat!("lea ", $register, ", [rsp + 176]"),
            "call {function}",
            "leave",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            incoming = sym $crate::shim::INCOMING,
            function = sym $function,
        )
    };
}
pub(crate) use variable_entry;

/// Exports functions with variable arguments: `$used` bytes of registers are taken by those that are not, and the `va_list`
/// is handed over in `$register`.
macro_rules! export_variable {
    ($($name:ident => $function:path, $used:literal, $register:literal;)*) => {$(
        /// See the function it leads to.
        ///
        /// # Safety
        ///
        /// Called by the program as the C library's function of this name.
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            $crate::printing::variable_entry!($function, $used, $register)
        }
    )*};
}

export_variable! {
    __wrap_printf => out, "8", "rsi";
    __wrap_fprintf => to_file, "16", "rdx";
    __wrap_sprintf => to_any_memory, "16", "rdx";
    __wrap_snprintf => to_memory, "24", "rcx";
    __wrap_asprintf => to_new_memory, "16", "rdx";
}

export! {
    __wrap_vsprintf => to_any_memory;
    __wrap_vsnprintf => to_memory;
    __wrap_vasprintf => to_new_memory;
    __wrap_puts => line;
    __wrap_fputs => string_to_file;
}
