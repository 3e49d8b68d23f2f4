//! Functions of the C and C++ libraries that the program calls: what they do to the program's memory, and their hidden state.
//!
//! `table` lists the functions by family: which arguments they read and write, which object inside the library they use, and
//! whether they are pure. `streams` and `scanning` have the families whose accesses depend on a format or on a stream, `cxx`
//! what lies inside the C++ library. `objects` turns hidden state into accesses and steps. `outside` names the functions that are
//! in no list.
//!
//! # How a call gets here
//!
//! [`install`] changes the program's global offset tables before its `main`: an imported name that has a row leads to its hook.
//! Only calls of the program's own objects are redirected. A name that the program defines itself is no import, so a program may
//! have its own `write` or `index`. Two kinds of hooks exist:
//!
//! - a *call* hook ([`rows`]) makes accesses before and after the real function;
//! - a *front* hook ([`fronts`]) makes accesses and jumps to the real function with all registers as they were. It also stands
//!   in front of functions of this library.

pub(crate) mod accesses;
pub(crate) mod aliases;
mod blocks;
mod command_line;
pub(crate) mod cxx;
pub(crate) mod format;
mod handles;
mod hashing;
mod inputs;
pub(crate) mod objects;
mod outside;
mod paths;
pub(crate) mod restored;
mod scanning;
pub(crate) mod streams;
mod table;

pub(crate) use paths::{Lookup, descriptor_flags};
pub(crate) use streams::HERE;

use crate::modules::{self, Owner};
use crate::shim::Call;
use crate::signals::safety;
use outside::{Alias, Kind};
use runtime::imports::Import;
use std::collections::HashMap;
use std::ffi::{CStr, c_void};

/// A function and its hook.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) entry: unsafe extern "C" fn(),
}

/// The integer registers of a call, in the order of arguments.
pub(crate) type Words = [usize; 6];

/// A function and the accesses that come before it.
pub(crate) struct Front {
    pub(crate) name: &'static str,
    pub(crate) before: fn(&Words, Call),
}

/// A front hook as the assembly below finds it.
#[repr(C)]
pub(crate) struct Stub {
    /// Where the function itself is.
    real: usize,
    before: fn(&Stub, &Words),
    front: fn(&Words, Call),
    pub(crate) name: String,
    /// The hidden state that the function uses while it is not async-signal-safe ([`crate::signals::safety`]).
    pub(crate) uses: u32,
}

/// The call that has just come in, if it is one of a thread that is checked.
#[inline]
pub(crate) fn incoming(pure: bool) -> Option<Call> {
    if !runtime::in_execution() {
        return None;
    }
    let call = crate::shim::call();
    if !pure {
        runtime::end_looking();
    }
    Some(call)
}

/// The number of the last error.
pub(crate) fn errno() -> i32 {
    // SAFETY: `errno` can always be read.
    unsafe { *libc::__errno_location() }
}

/// Sets the number of the last error.
pub(crate) fn set_errno(code: i32) {
    // SAFETY: `errno` can always be written.
    unsafe { *libc::__errno_location() = code };
}

/// Keeps `errno`, and what came in, while something is done on behalf of the program.
pub(crate) fn keeping_errno<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: `errno` can always be read and written.
    unsafe {
        let errno = *libc::__errno_location();
        let result = crate::shim::undisturbed(f);
        *libc::__errno_location() = errno;
        result
    }
}

/// The naked function in front of a hook: it notes where the call comes from, as those of `shim::export` do.
macro_rules! entry {
    ($function:path) => {{
        #[unsafe(naked)]
        unsafe extern "C" fn entry() {
            std::arch::naked_asm!(
                "mov r11, [rsp]",
                "mov [rip + {incoming}], r11",
                "mov [rip + {incoming} + 8], rbp",
                "mov [rip + {incoming} + 32], rsp",
                "mov r11, [rip + {incoming} + 24]",
                "cmp byte ptr [r11], 0",
                "jne 2f",
                "jmp {function}",
                "2:",
                "lea r11, [rip + {function}]",
                "jmp {slowly}",
                incoming = sym $crate::shim::INCOMING,
                function = sym $function,
                slowly = sym $crate::shim::slowly,
            )
        }
        entry
    }};
}
pub(crate) use entry;

macro_rules! word {
    ($arg:ident) => {
        usize
    };
}
pub(crate) use word;

macro_rules! is_pure {
    (pure) => {
        true
    };
    (impure) => {
        false
    };
}
pub(crate) use is_pure;

/// Rows of call hooks: `name(arguments) purity [accesses before] -> result [accesses after];`. All arguments and the result are
/// words. Writes whose extent only the result tells are among those after, with a [`accesses::k`] before.
macro_rules! rows {
    ($list:ident: $($name:ident($($arg:ident),*) $purity:ident [$($before:expr),* $(,)?] -> $result:ident
        [$($after:expr),* $(,)?];)*) => {
        pub(crate) static $list: &[$crate::libc::Row] = &[$($crate::libc::Row {
            name: stringify!($name),
            entry: {
                extern "C" fn hook($($arg: usize),*) -> usize {
                    let call = $crate::libc::incoming($crate::libc::is_pure!($purity));
                    if let Some(_call) = call {
                        $($crate::libc::keeping_errno(|| $crate::libc::accesses::before($before, _call));)*
                    }
                    #[allow(unused_mut)]
                    let mut result = $crate::shim::undisturbed(|| {
                        $crate::real::real!($name($($arg),*): fn($($crate::libc::word!($arg)),*) -> usize)
                    });
                    if let Some(_call) = call {
                        let $result = result;
                        let _ = $result;
                        $(if let Some(new) = $crate::libc::keeping_errno(|| $crate::libc::accesses::result($after, _call)) {
                            result = new;
                        })*
                    }
                    result
                }
                $crate::libc::entry!(hook)
            },
        }),*];
    };
}
pub(crate) use rows;

/// Rows of front hooks: `name(arguments) purity [accesses];`.
macro_rules! fronts {
    ($list:ident: $($name:ident($($arg:ident),*) $purity:ident [$($before:expr),* $(,)?];)*) => {
        pub(crate) static $list: &[$crate::libc::Front] = &[$($crate::libc::Front {
            name: stringify!($name),
            before: {
                #[allow(unused_variables)]
                fn before(words: &$crate::libc::Words, call: $crate::shim::Call) {
                    if !$crate::libc::is_pure!($purity) {
                        runtime::end_looking();
                    }
                    let [$($arg,)* ..] = *words;
                    $($crate::libc::accesses::before($before, call);)*
                }
                before
            },
        }),*];
    };
}
pub(crate) use fronts;

/// Saves the registers of a call, makes its accesses, and goes on to the function itself. `r11` is the [`Stub`].
#[unsafe(naked)]
unsafe extern "C" fn forward() {
    std::arch::naked_asm!(
        ".cfi_startproc",
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
        "mov [rsp + 48], rax",
        "mov [rsp + 56], r10",
        "mov [rsp + 64], r11",
        "movups [rsp + 80], xmm0",
        "movups [rsp + 96], xmm1",
        "movups [rsp + 112], xmm2",
        "movups [rsp + 128], xmm3",
        "movups [rsp + 144], xmm4",
        "movups [rsp + 160], xmm5",
        "movups [rsp + 176], xmm6",
        "movups [rsp + 192], xmm7",
        "mov rax, [rbp + 8]",
        "mov [rip + {incoming}], rax",
        "mov rax, [rbp]",
        "mov [rip + {incoming} + 8], rax",
        "lea rax, [rbp + 8]",
        "mov [rip + {incoming} + 32], rax",
        "mov rdi, r11",
        "mov rsi, rsp",
        "call {before}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "mov r10, [rsp + 56]",
        "mov r11, [rsp + 64]",
        "movups xmm0, [rsp + 80]",
        "movups xmm1, [rsp + 96]",
        "movups xmm2, [rsp + 112]",
        "movups xmm3, [rsp + 128]",
        "movups xmm4, [rsp + 144]",
        "movups xmm5, [rsp + 160]",
        "movups xmm6, [rsp + 176]",
        "movups xmm7, [rsp + 192]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "jmp [r11]",
        ".cfi_endproc",
        incoming = sym crate::shim::INCOMING,
        before = sym before_forwarding,
    )
}

extern "C" fn before_forwarding(stub: &Stub, words: &Words) {
    if runtime::in_execution() {
        crate::shim::undisturbed(|| keeping_errno(|| (stub.before)(stub, words)));
    }
}

/// A function of this library that has just come in reads the attributes that the program hands to it. Most programs hand in none, so
/// these functions have no front hook.
#[inline]
pub(crate) fn reads_attributes<T>(attributes: *const T, bytes: usize) {
    if !attributes.is_null() && runtime::in_execution() {
        let read = accesses::r(attributes as usize, bytes);
        crate::shim::undisturbed(|| keeping_errno(|| accesses::before(read, Call::unknown())));
    }
}

fn by_row(stub: &Stub, words: &Words) {
    (stub.front)(words, Call::unknown());
}

/// The same for a call inside the C++ library: the place is where the program called that.
fn in_library(stub: &Stub, words: &Words) {
    let place = runtime::Place::at(crate::shim::site_in_program());
    (stub.front)(words, Call { place, ..Call::unknown() });
}

fn no_row(_: &Words, _: Call) {}

/// Pages of small pieces of code, one for each front hook.
struct Trampolines {
    next: usize,
    end: usize,
}

impl Trampolines {
    const PAGE: usize = 1 << 14;
    const PIECE: usize = 32;

    /// Code that hands a stub to [`forward`].
    fn add(&mut self, stub: &'static Stub) -> Option<usize> {
        // SAFETY: a new mapping is ours alone; pieces lie within it.
        unsafe {
            if self.next + Self::PIECE > self.end {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
                let page = libc::mmap(std::ptr::null_mut(), Self::PAGE, all, flags, -1, 0);
                if page == libc::MAP_FAILED {
                    return None;
                }
                (self.next, self.end) = (page as usize, page as usize + Self::PAGE);
            }
            let at = self.next;
            self.next += Self::PIECE;
            let code = at as *mut u8;
            // mov r11, stub; movabs r10 is the static chain, so the jump goes through memory behind it.
            code.cast::<[u8; 2]>().write([0x49, 0xBB]);
            code.add(2).cast::<usize>().write_unaligned(std::ptr::from_ref(stub) as usize);
            code.add(10).cast::<[u8; 6]>().write([0xFF, 0x25, 0, 0, 0, 0]);
            code.add(16).cast::<usize>().write_unaligned(forward as *const () as usize);
            Some(at)
        }
    }
}

/// Leads the program's calls of library functions here. Called once, before the memory of the program is saved.
pub(crate) fn install() {
    let rows: HashMap<&str, usize> = all_rows().map(|r| (r.name, r.entry as *const () as usize)).collect();
    let fronts: HashMap<&str, fn(&Words, Call)> = all_fronts().map(|f| (f.name, f.before)).collect();
    let mut trampolines = Trampolines { next: 0, end: 0 };
    let mut made: HashMap<(String, usize), usize> = HashMap::new();
    let mut stub = |name: &str, real: usize, before: fn(&Stub, &Words), front: fn(&Words, Call)| {
        if let Some(at) = made.get(&(name.to_owned(), real)) {
            return Some(*at);
        }
        let stub = Box::leak(Box::new(Stub { real, before, front, name: name.to_owned(), uses: 0 }));
        let at = trampolines.add(stub)?;
        made.insert((name.to_owned(), real), at);
        Some(at)
    };
    // Where a call of a function goes that is found at `real`.
    let mut lead = |name: &str, real: usize, is_function: bool| {
        let owner = modules::owner(real);
        if real == 0 || owner == Some(Owner::Program) {
            return None;
        }
        if let Some(front) = fronts.get(name) {
            return stub(name, real, by_row, *front);
        }
        if owner == Some(Owner::Raddle) || !is_function {
            return None;
        }
        if let Some(entry) = rows.get(name) {
            return Some(*entry);
        }
        if let Some(before) = cxx::hook(name) {
            return stub(name, real, before, no_row);
        }
        let before = match outside::kind(name, real) {
            Kind::Harmless => return None,
            Kind::ByArguments => outside::before,
            Kind::Unknown => outside::before_unknown,
        };
        stub(name, real, before, no_row)
    };
    let mut makes_system_calls = false;
    let mut lead = |name: &str, real: usize, is_function: bool| {
        if modules::owner(real) != Some(Owner::Program) {
            match outside::alias(name) {
                Some(Alias::Same(other)) => {
                    let there = address_of(other);
                    if there != 0 {
                        return lead(other, there, is_function).or(Some(there));
                    }
                }
                Some(Alias::Alike(other)) => return lead(&other, real, is_function),
                None => {}
            }
        }
        lead(name, real, is_function)
    };
    imports(|import| {
        makes_system_calls |= import.name == "syscall";
        cxx::note_import(import.name);
        if matches!(import.name, "dup" | "dup2" | "dup3" | "fcntl" | "fcntl64" | "syscall") {
            streams::copies_descriptors();
        }
        if streams::shows_descriptors(import.name) || import.name == "syscall" {
            streams::numbers_are_seen();
        }
        // SAFETY: a slot of a loaded module.
        lead(import.name, unsafe { import.slot.read() }, import.is_function)
    });
    let (mut has_handlers, mut has_locales) = (false, false);
    imports(|import| {
        has_locales |= import.name == "setlocale";
        has_handlers |=
            matches!(import.name, "signal" | "sigaction" | "sigset" | "bsd_signal" | "sysv_signal");
        None
    });
    if has_handlers {
        watch_unsafe_calls();
    }
    watch_file_buffers();
    if has_locales {
        watch_readers_of_the_locale();
    }
    if makes_system_calls {
        crate::system_calls::install(|name| {
            let real = address_of(name);
            lead(name, real, true).or((real != 0).then_some(real))
        });
    }
}

/// The address of a function by its name; 0 for none.
fn address_of(name: &str) -> usize {
    let name = std::ffi::CString::new(name);
    // SAFETY: the name ends with a zero byte.
    name.map_or(0, |name| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize)
}

/// Lets the C++ library make its locale. It does so when a program first needs one, and gives numbers to the facets by then, which
/// lie in the program's memory. Restored, they would have no numbers, and the locale would stay.
pub(crate) fn make_locale() {
    const CLASSIC: &CStr = c"_ZNSt6locale7classicEv";
    // SAFETY: the name is a C string.
    let classic = unsafe { libc::dlsym(libc::RTLD_DEFAULT, CLASSIC.as_ptr()) };
    if !classic.is_null() {
        // SAFETY: `const std::locale& std::locale::classic()`. References are returned as pointers.
        unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> *const c_void>(classic)() };
    }
}

/// Puts a stub in front of each function that is not async-signal-safe, behind which its own hook stays.
fn watch_unsafe_calls() {
    let mut trampolines = Trampolines { next: 0, end: 0 };
    let mut made: HashMap<usize, usize> = HashMap::new();
    imports(|import| {
        let name = import.name.strip_prefix("__wrap_").unwrap_or(import.name);
        let uses = safety::uses(name);
        // SAFETY: a slot of a loaded module.
        let real = unsafe { import.slot.read() };
        if uses == 0 || real == 0 || modules::owner(real) == Some(Owner::Program) {
            return None;
        }
        if let Some(at) = made.get(&real) {
            return Some(*at);
        }
        let stub = Stub { real, before: safety::before, front: no_row, name: name.to_owned(), uses };
        let at = trampolines.add(Box::leak(Box::new(stub)))?;
        made.insert(real, at);
        Some(at)
    });
}

/// Leads the calls by which file streams of the C++ library use files to their hooks: a program reaches them through functions of
/// streams, through virtual functions and through code of templates.
fn watch_file_buffers() {
    let mut trampolines = Trampolines { next: 0, end: 0 };
    imports_of(is_cxx_library, |import| {
        if import.name == "fclose" {
            return Some(streams::close_hook());
        }
        let front = streams::FILE_BUFFERS.iter().find(|f| f.name == import.name)?;
        let name = std::ffi::CString::new(front.name).ok()?;
        // The slot may still lead to the loader.
        // SAFETY: the name ends with a zero byte.
        let real = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        if real == 0 || modules::owner(real) == Some(Owner::Program) {
            return None;
        }
        let stub =
            Stub { real, before: in_library, front: front.before, name: front.name.to_owned(), uses: 0 };
        trampolines.add(Box::leak(Box::new(stub)))
    });
    cxx::watch_virtual_functions(|real, before| {
        let stub = Stub { real, before, front: no_row, name: String::new(), uses: 0 };
        trampolines.add(Box::leak(Box::new(stub)))
    });
}

/// Puts a stub in front of the functions whose results depend on the locale, behind which their own hooks stay.
fn watch_readers_of_the_locale() {
    let mut trampolines = Trampolines { next: 0, end: 0 };
    imports(|import| {
        let name = import.name.strip_prefix("__wrap_").unwrap_or(import.name);
        let before = table::reads_locale(name)?;
        // SAFETY: a slot of a loaded module.
        let real = unsafe { import.slot.read() };
        if real == 0 || modules::owner(real) == Some(Owner::Program) {
            return None;
        }
        let stub = Stub { real, before, front: no_row, name: name.to_owned(), uses: 0 };
        trampolines.add(Box::leak(Box::new(stub)))
    });
}

fn all_rows() -> impl Iterator<Item = &'static Row> {
    table::all_rows()
        .chain(streams::rows_of())
        .chain(scanning::ROWS)
        .chain(blocks::ROWS)
        .chain(handles::ROWS)
        .chain(command_line::ROWS)
        .chain(hashing::ROWS)
}

fn all_fronts() -> impl Iterator<Item = &'static Front> {
    table::all_fronts().chain(streams::FRONTS).chain(inputs::FRONTS)
}

/// Whether calls of a function have accesses.
fn has_hook(name: &str) -> bool {
    let wrapped = include_str!("../../wrapped.txt").lines().any(|l| l == name);
    wrapped
        || all_rows().any(|r| r.name == name)
        || all_fronts().any(|f| f.name == name)
        || cxx::hook(name).is_some()
}

/// Visits the imports of all modules of the program, and puts the addresses that come back in their place.
fn imports(visit: impl FnMut(Import<'_>) -> Option<usize>) {
    imports_of(|_, owner| owner == Some(Owner::Program), visit);
}

/// Whether the program imports functions and variables of these names alone.
pub(crate) fn imports_only(mut expected: impl FnMut(&str) -> bool) -> bool {
    let mut only = true;
    imports(|import| {
        only = only && expected(import.name);
        None
    });
    only
}

/// Whether a module is the C++ library.
fn is_cxx_library(name: &CStr, owner: Option<Owner>) -> bool {
    owner == Some(Owner::System) && name.to_bytes().windows(12).any(|w| w == b"libstdc++.so")
}

/// Visits the imports of the modules that are chosen by their name and owner.
fn imports_of(choose: fn(&CStr, Option<Owner>) -> bool, mut visit: impl FnMut(Import<'_>) -> Option<usize>) {
    type Choose = fn(&CStr, Option<Owner>) -> bool;
    type Visit<'a> = (Choose, &'a mut dyn FnMut(Import<'_>) -> Option<usize>);
    unsafe extern "C" fn module(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`, and our function.
        unsafe {
            let (choose, visit) = &mut *data.cast::<Visit<'_>>();
            let info = &*info;
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize);
            let base = info.dlpi_addr as usize;
            let code = headers.iter().find(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0);
            let name = CStr::from_ptr(info.dlpi_name);
            if code.is_some_and(|h| choose(name, modules::owner(base + h.p_vaddr as usize))) {
                runtime::imports::redirect(base, headers, visit);
            }
        }
        0
    }
    let mut visit: Visit<'_> = (choose, &mut visit);
    // SAFETY: the callback keeps its contract.
    unsafe { libc::dl_iterate_phdr(Some(module), (&raw mut visit).cast()) };
}
