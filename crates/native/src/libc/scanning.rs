//! Functions with variable arguments that scan or print: what they write by their conversions, and what they read by `%s`.

use super::accesses::{Access, after, before, length, s, w, wide_length, ws};
use super::objects::Use;
use super::{Row, keeping_errno};
use crate::printing::{self, Arguments};
use crate::real::real;
use crate::shim::{Call, undisturbed};
use std::ffi::{c_char, c_int};

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
}

/// The call, if it is one of a thread that is checked. The stack below it is not what the program left there.
fn incoming() -> Option<Call> {
    runtime::in_execution().then(|| {
        runtime::end_looking();
        Call::unknown()
    })
}

/// Writes what a scan has assigned: `assigned` conversions of a format.
///
/// # Safety
///
/// The arguments are those that the format says.
unsafe fn assigned(format: *const c_char, mut left: Arguments, mut assigned: usize, call: Call) {
    let mut at = format.cast::<u8>();
    // SAFETY: by the contract, and a format ends with a zero byte, which nothing below passes.
    unsafe {
        while *at != 0 {
            at = at.add(1);
            if *at.sub(1) != b'%' {
                continue;
            }
            if *at == b'%' {
                at = at.add(1);
                continue;
            }
            let dropped = *at == b'*';
            if dropped {
                at = at.add(1);
            }
            let mut width = 0usize;
            while (*at).is_ascii_digit() || *at == b'\'' || *at == b'I' {
                if (*at).is_ascii_digit() {
                    width = width.saturating_mul(10).saturating_add((*at - b'0') as usize);
                }
                at = at.add(1);
            }
            // A number before a dollar sign names an argument: that is not followed.
            if *at == b'$' {
                return;
            }
            let allocates = *at == b'm';
            if allocates {
                at = at.add(1);
            }
            let (mut short, mut long, mut double) = (0, 0, false);
            loop {
                match *at {
                    b'h' => short += 1,
                    b'l' | b'q' | b'j' | b'z' | b't' => long += 1,
                    b'L' => double = true,
                    _ => break,
                }
                at = at.add(1);
            }
            let kind = *at;
            if kind == 0 {
                return;
            }
            at = at.add(1);
            if kind == b'[' {
                if *at == b'^' {
                    at = at.add(1);
                }
                if *at == b']' {
                    at = at.add(1);
                }
                while *at != 0 && *at != b']' {
                    at = at.add(1);
                }
                if *at != 0 {
                    at = at.add(1);
                }
            }
            if dropped {
                continue;
            }
            if kind != b'n' {
                if assigned == 0 {
                    return;
                }
                assigned -= 1;
            }
            let to = left.word();
            let wide = long > 0 || matches!(kind, b'S' | b'C');
            let bytes = match kind {
                b's' | b'S' | b'[' | b'c' | b'C' if allocates => 8,
                b's' | b'S' | b'[' if wide => wide_length(to, usize::MAX),
                b's' | b'[' => length(to),
                b'c' | b'C' => width.max(1) * if wide { 4 } else { 1 },
                b'p' => 8,
                b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'n' => match (short, long, double) {
                    (1, ..) => 2,
                    (2.., ..) => 1,
                    (0, 0, false) => 4,
                    _ => 8,
                },
                b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => match (long, double) {
                    (_, true) => 16,
                    (0, _) => 4,
                    _ => 8,
                },
                _ => return,
            };
            after(w(to, bytes), call);
        }
    }
}

/// Scans with `real`, after `reads`, and writes what was assigned.
fn scan(
    reads: impl FnOnce() -> Access,
    format: *const c_char,
    arguments: *mut Arguments,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = incoming() else { return real() };
    // SAFETY: the program hands in the arguments of the format.
    let copy = unsafe { *arguments };
    keeping_errno(|| {
        before(s(format as usize), call);
        before(reads(), call);
    });
    let result = undisturbed(real);
    if result >= 0 {
        // SAFETY: as above.
        keeping_errno(|| unsafe { assigned(format, copy, result as usize, call) });
    }
    result
}

extern "C" fn scan_string(p: usize, format: *const c_char, arguments: *mut Arguments) -> c_int {
    scan(
        || s(p),
        format,
        arguments,
        || real!(__isoc99_vsscanf(p, format, arguments): fn(usize, *const c_char, *mut Arguments) -> c_int),
    )
}

extern "C" fn scan_file(file: usize, format: *const c_char, arguments: *mut Arguments) -> c_int {
    scan(
        || Access::Stream(file, Use::Change),
        format,
        arguments,
        || real!(__isoc99_vfscanf(file, format, arguments): fn(usize, *const c_char, *mut Arguments) -> c_int),
    )
}

extern "C" fn scan_input(format: *const c_char, arguments: *mut Arguments) -> c_int {
    // SAFETY: the C library defines it.
    scan_file(unsafe { stdin } as usize, format, arguments)
}

extern "C" fn print_to_descriptor(fd: c_int, format: *const c_char, arguments: *mut Arguments) -> c_int {
    if let Some(call) = incoming() {
        // SAFETY: the program hands in the arguments of the format.
        keeping_errno(|| unsafe { printing::read_arguments(format, arguments, call) });
        before(Access::Contents(fd, Use::Append), call);
    }
    real!(vdprintf(fd, format, arguments): fn(c_int, *const c_char, *mut Arguments) -> c_int)
}

extern "C" fn print_to_file(file: usize, format: *const c_char, arguments: *mut Arguments) -> c_int {
    if let Some(call) = incoming() {
        // SAFETY: the program hands in the arguments of the format.
        keeping_errno(|| unsafe { printing::read_arguments(format, arguments, call) });
        before(Access::Stream(file, Use::Append), call);
    }
    real!(vfprintf(file, format, arguments): fn(usize, *const c_char, *mut Arguments) -> c_int)
}

extern "C" fn print(format: *const c_char, arguments: *mut Arguments) -> c_int {
    // SAFETY: the C library defines it.
    print_to_file(unsafe { stdout } as usize, format, arguments)
}

extern "C" fn print_wide_to_memory(to: usize, n: usize, format: usize, arguments: *mut Arguments) -> c_int {
    let call = incoming();
    if let Some(call) = call {
        keeping_errno(|| {
            before(ws(format), call);
            before(super::accesses::k(to, n.saturating_mul(4)), call);
        });
    }
    let result = undisturbed(
        || real!(vswprintf(to, n, format, arguments): fn(usize, usize, usize, *mut Arguments) -> c_int),
    );
    if let Some(call) = call.filter(|_| n > 0) {
        keeping_errno(|| after(w(to, wide_length(to, n)), call));
    }
    result
}

/// An entry of a function with variable arguments, for the row of a name.
macro_rules! variable {
    ($function:path, $used:literal, $register:literal) => {{
        #[unsafe(naked)]
        unsafe extern "C" fn entry() {
            printing::variable_entry!($function, $used, $register)
        }
        entry
    }};
}

pub(super) static ROWS: &[Row] = &[
    Row { name: "sscanf", entry: variable!(scan_string, "16", "rdx") },
    Row { name: "__isoc99_sscanf", entry: variable!(scan_string, "16", "rdx") },
    Row { name: "__isoc23_sscanf", entry: variable!(scan_string, "16", "rdx") },
    Row { name: "fscanf", entry: variable!(scan_file, "16", "rdx") },
    Row { name: "__isoc99_fscanf", entry: variable!(scan_file, "16", "rdx") },
    Row { name: "__isoc23_fscanf", entry: variable!(scan_file, "16", "rdx") },
    Row { name: "scanf", entry: variable!(scan_input, "8", "rsi") },
    Row { name: "__isoc99_scanf", entry: variable!(scan_input, "8", "rsi") },
    Row { name: "__isoc23_scanf", entry: variable!(scan_input, "8", "rsi") },
    Row { name: "vsscanf", entry: super::entry!(scan_string) },
    Row { name: "__isoc99_vsscanf", entry: super::entry!(scan_string) },
    Row { name: "__isoc23_vsscanf", entry: super::entry!(scan_string) },
    Row { name: "vfscanf", entry: super::entry!(scan_file) },
    Row { name: "__isoc99_vfscanf", entry: super::entry!(scan_file) },
    Row { name: "__isoc23_vfscanf", entry: super::entry!(scan_file) },
    Row { name: "vscanf", entry: super::entry!(scan_input) },
    Row { name: "__isoc99_vscanf", entry: super::entry!(scan_input) },
    Row { name: "__isoc23_vscanf", entry: super::entry!(scan_input) },
    Row { name: "dprintf", entry: variable!(print_to_descriptor, "16", "rdx") },
    Row { name: "vdprintf", entry: super::entry!(print_to_descriptor) },
    Row { name: "vfprintf", entry: super::entry!(print_to_file) },
    Row { name: "vprintf", entry: super::entry!(print) },
    Row { name: "swprintf", entry: variable!(print_wide_to_memory, "24", "rcx") },
    Row { name: "vswprintf", entry: super::entry!(print_wide_to_memory) },
];
