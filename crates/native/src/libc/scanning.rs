//! Functions with variable arguments that scan or print: what they write by their conversions, and what they read by `%s`.

use super::accesses::{Access, after, before, s, w, wide_length, ws};
use super::format::{self, Character};
use super::objects::Use;
use super::{Row, keeping_errno};
use crate::printing::{self, Arguments};
use crate::real::real;
use crate::shim::{Call, undisturbed};
use explore::CaveatKind;
use std::ffi::{c_char, c_int};

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static program_invocation_short_name: *const c_char;
}

/// The call, if it is one of a thread that is checked. The stack below it is not what the program left there.
fn incoming() -> Option<Call> {
    runtime::in_execution().then(|| {
        runtime::end_looking();
        Call::unknown()
    })
}

/// Scans with `real`, after `reads`, and writes what was assigned.
fn scan<C: Character>(
    reads: [Access; 2],
    format: *const C,
    arguments: *mut Arguments,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(call) = incoming() else { return real() };
    // SAFETY: the program hands in the arguments of the format.
    let copy = unsafe { *arguments };
    keeping_errno(|| reads.map(|access| before(access, call)));
    let result = undisturbed(real);
    keeping_errno(|| {
        let count = usize::try_from(result).unwrap_or(0);
        // SAFETY: as above.
        let known = unsafe { format::scanned(format, copy, count, |t| after(w(t.at, t.bytes), call)) };
        if known.is_err() {
            let text =
                "a format has a conversion that is not known, and so are the variables that it assigns";
            runtime::caveat_at(CaveatKind::Library, text, call.place);
        }
    });
    result
}

/// A string with its end, if a thread is checked: other calls may hand in one that is not to be looked at.
fn string(p: usize) -> Access {
    if runtime::in_execution() { s(p) } else { Access::Nothing }
}

fn wide_string(p: usize) -> Access {
    if runtime::in_execution() { ws(p) } else { Access::Nothing }
}

extern "C" fn scan_string(p: usize, format: *const u8, arguments: *mut Arguments) -> c_int {
    scan(
        [string(format as usize), string(p)],
        format,
        arguments,
        || real!(__isoc99_vsscanf(p, format, arguments): fn(usize, *const u8, *mut Arguments) -> c_int),
    )
}

extern "C" fn scan_file(file: usize, format: *const u8, arguments: *mut Arguments) -> c_int {
    scan(
        [string(format as usize), Access::Stream(file, Use::Change)],
        format,
        arguments,
        || real!(__isoc99_vfscanf(file, format, arguments): fn(usize, *const u8, *mut Arguments) -> c_int),
    )
}

extern "C" fn scan_input(format: *const u8, arguments: *mut Arguments) -> c_int {
    // SAFETY: the C library defines it.
    scan_file(unsafe { stdin } as usize, format, arguments)
}

extern "C" fn scan_wide_string(p: usize, format: *const u32, arguments: *mut Arguments) -> c_int {
    scan(
        [wide_string(format as usize), wide_string(p)],
        format,
        arguments,
        || real!(__isoc99_vswscanf(p, format, arguments): fn(usize, *const u32, *mut Arguments) -> c_int),
    )
}

extern "C" fn scan_wide_file(file: usize, format: *const u32, arguments: *mut Arguments) -> c_int {
    scan(
        [wide_string(format as usize), Access::Stream(file, Use::Change)],
        format,
        arguments,
        || real!(__isoc99_vfwscanf(file, format, arguments): fn(usize, *const u32, *mut Arguments) -> c_int),
    )
}

extern "C" fn scan_wide_input(format: *const u32, arguments: *mut Arguments) -> c_int {
    // SAFETY: the C library defines it.
    scan_wide_file(unsafe { stdin } as usize, format, arguments)
}

extern "C" fn print_to_descriptor(fd: c_int, format: *const c_char, arguments: *mut Arguments) -> c_int {
    if let Some(call) = incoming() {
        // SAFETY: the program hands in the arguments of the format.
        keeping_errno(|| unsafe { printing::read_arguments(format, arguments, call) });
        before(super::accesses::file(fd as usize, Some(Use::Append), Use::Append), call);
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
    print_to_file(super::streams::reads_standard(1), format, arguments)
}

extern "C" fn print_wide_to_memory(
    to: usize,
    n: usize,
    format: *const u32,
    arguments: *mut Arguments,
) -> c_int {
    let call = incoming();
    if let Some(call) = call {
        keeping_errno(|| {
            // SAFETY: the program hands in the arguments of the format.
            unsafe { read_wide_arguments(format, arguments, call) };
            before(super::accesses::k(to, n.saturating_mul(4)), call);
        });
    }
    let result = undisturbed(
        || real!(vswprintf(to, n, format, arguments): fn(usize, usize, *const u32, *mut Arguments) -> c_int),
    );
    if let Some(call) = call.filter(|_| n > 0) {
        keeping_errno(|| after(w(to, wide_length(to, n)), call));
    }
    result
}

/// Accesses a wide format, the strings that it prints and the variables that it sets.
///
/// # Safety
///
/// The arguments are those that the format says.
unsafe fn read_wide_arguments(format: *const u32, arguments: *const Arguments, call: Call) {
    before(ws(format as usize), call);
    // SAFETY: by the contract.
    unsafe { printing::touch_arguments(format, arguments, call) };
}

extern "C" fn print_wide_to_file(file: usize, format: *const u32, arguments: *mut Arguments) -> c_int {
    if let Some(call) = incoming() {
        // SAFETY: the program hands in the arguments of the format.
        keeping_errno(|| unsafe { read_wide_arguments(format, arguments, call) });
        before(Access::Stream(file, Use::Append), call);
    }
    real!(vfwprintf(file, format, arguments): fn(usize, *const u32, *mut Arguments) -> c_int)
}

extern "C" fn print_wide(format: *const u32, arguments: *mut Arguments) -> c_int {
    // SAFETY: the C library defines it.
    print_wide_to_file(super::streams::reads_standard(1), format, arguments)
}

/// A message to the standard error stream: its format and what that prints. There may be no format.
fn message(format: *const c_char, arguments: *const Arguments) {
    if let Some(call) = incoming() {
        if !format.is_null() {
            // SAFETY: the program hands in the arguments of the format.
            keeping_errno(|| unsafe { printing::read_arguments(format, arguments, call) });
        }
        // SAFETY: the C library defines it.
        before(Access::Stream(super::streams::reads_standard(2), Use::Append), call);
        keeping_errno(|| {
            before(super::accesses::r(&raw const program_invocation_short_name as usize, 8), call)
        });
    }
}

extern "C" fn warn(format: *const c_char, arguments: *mut Arguments) {
    message(format, arguments);
    real!(vwarn(format, arguments): fn(*const c_char, *mut Arguments) -> ())
}

extern "C" fn warn_plainly(format: *const c_char, arguments: *mut Arguments) {
    message(format, arguments);
    real!(vwarnx(format, arguments): fn(*const c_char, *mut Arguments) -> ())
}

extern "C" fn log(priority: c_int, format: *const c_char, arguments: *mut Arguments) {
    if let Some(call) = incoming() {
        // SAFETY: the program hands in the arguments of the format.
        keeping_errno(|| unsafe { printing::read_arguments(format, arguments, call) });
        keeping_errno(|| super::accesses::before(super::table::reads_identity(), call));
    }
    real!(vsyslog(priority, format, arguments): fn(c_int, *const c_char, *mut Arguments) -> ())
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
    Row { name: "swscanf", entry: variable!(scan_wide_string, "16", "rdx") },
    Row { name: "vswscanf", entry: super::entry!(scan_wide_string) },
    Row { name: "fwscanf", entry: variable!(scan_wide_file, "16", "rdx") },
    Row { name: "vfwscanf", entry: super::entry!(scan_wide_file) },
    Row { name: "wscanf", entry: variable!(scan_wide_input, "8", "rsi") },
    Row { name: "vwscanf", entry: super::entry!(scan_wide_input) },
    Row { name: "__isoc99_swscanf", entry: variable!(scan_wide_string, "16", "rdx") },
    Row { name: "__isoc99_vswscanf", entry: super::entry!(scan_wide_string) },
    Row { name: "__isoc99_fwscanf", entry: variable!(scan_wide_file, "16", "rdx") },
    Row { name: "__isoc99_vfwscanf", entry: super::entry!(scan_wide_file) },
    Row { name: "__isoc99_wscanf", entry: variable!(scan_wide_input, "8", "rsi") },
    Row { name: "__isoc99_vwscanf", entry: super::entry!(scan_wide_input) },
    Row { name: "__isoc23_swscanf", entry: variable!(scan_wide_string, "16", "rdx") },
    Row { name: "__isoc23_vswscanf", entry: super::entry!(scan_wide_string) },
    Row { name: "__isoc23_fwscanf", entry: variable!(scan_wide_file, "16", "rdx") },
    Row { name: "__isoc23_vfwscanf", entry: super::entry!(scan_wide_file) },
    Row { name: "__isoc23_wscanf", entry: variable!(scan_wide_input, "8", "rsi") },
    Row { name: "__isoc23_vwscanf", entry: super::entry!(scan_wide_input) },
    Row { name: "fwprintf", entry: variable!(print_wide_to_file, "16", "rdx") },
    Row { name: "vfwprintf", entry: super::entry!(print_wide_to_file) },
    Row { name: "wprintf", entry: variable!(print_wide, "8", "rsi") },
    Row { name: "vwprintf", entry: super::entry!(print_wide) },
    Row { name: "warn", entry: variable!(warn, "8", "rsi") },
    Row { name: "vwarn", entry: super::entry!(warn) },
    Row { name: "warnx", entry: variable!(warn_plainly, "8", "rsi") },
    Row { name: "vwarnx", entry: super::entry!(warn_plainly) },
    Row { name: "syslog", entry: variable!(log, "16", "rdx") },
    Row { name: "vsyslog", entry: super::entry!(log) },
];
