//! Types that are not ours inside a check: which functions that the test can reach use them, from the test's own executable.
//!
//! The operations of std's atomics, locks, threads and clocks are not announced to anybody. So after a check that found nothing, the
//! machine code of the test is searched. The search starts at the closure that was checked and follows calls, addresses of functions
//! and tables of methods, as the symbol table delimits functions. A function of the test, or of a crate that it uses, that calls one of
//! std's is named. Functions of std and of this workspace are followed, but what they call themselves is their own business.
//! Variables that the test can reach and that change outside of our types, such as a `static mut`, are named as well.
//!
//! It is a search for what is there, and proves nothing: in an optimised executable most of these functions are part of their callers, a
//! stripped one has no names, and calls through pointers that the test got from elsewhere are not followed.
//!
//! Only the symbol table is read from the file. It is read once in a process.

use explore::{Caveat, CaveatKind};

/// What the code that a check runs uses besides our types. `entry` is the address of a function that calls the test.
pub fn alien_uses(entry: usize) -> Vec<Caveat> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return machine::uses(entry);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        let _ = (entry, CaveatKind::ForeignTypes);
        Vec::new()
    }
}

/// The name of the function of this executable that an address lies in.
pub(crate) fn function_name(address: usize) -> Option<String> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return machine::function_name(address);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        let _ = address;
        None
    }
}

/// The variable of the calling OS thread whose symbol contains these texts, of so many bytes, which is made of words.
pub(crate) fn thread_local_variable(texts: &[&str], size: usize) -> Option<*mut u64> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return machine::thread_local_variable(texts, size);
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    {
        let _ = (texts, size);
        None
    }
}

/// The variable of this executable whose symbol contains these texts, if it is a word.
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub(crate) fn variable(texts: &[&str]) -> Option<*mut usize> {
    machine::variable(texts)
}

/// What is left from one execution to the next, and what other threads see of it, is not known to the search.
const FILES: &str = "files";
const SURROUNDINGS: &str = "the environment, the working directory, other processes or the network";

/// What a function of std is that a test should not call, and what stands in for it.
fn alien(name: &str) -> Option<&'static str> {
    const ALIEN: [(&str, &str); 17] = [
        ("core::sync::atomic::", "std's atomics"),
        ("std::sync::poison::mutex::", "std's locks"),
        ("std::sync::poison::rwlock::", "std's locks"),
        ("std::sync::poison::condvar::", "std's locks"),
        ("std::sync::", "std's synchronisation"),
        ("std::thread::local::LocalKey", "std's thread-locals"),
        ("std::thread::", "std's threads"),
        ("std::time::Instant::now", "std's clock"),
        ("std::time::Instant::elapsed", "std's clock"),
        ("std::time::SystemTime::now", "std's clock"),
        ("std::time::SystemTime::elapsed", "std's clock"),
        ("std::fs::", FILES),
        ("std::env::set_var", SURROUNDINGS),
        ("std::env::remove_var", SURROUNDINGS),
        ("std::env::set_current_dir", SURROUNDINGS),
        ("std::process::Command", SURROUNDINGS),
        ("std::net::", SURROUNDINGS),
    ];
    // Both `<a::B<T>>::c` and `a::B<T>::c` are methods of a type.
    let plain = name.strip_prefix('<').map(|rest| match (rest.contains(" as "), rest.rfind(">::")) {
        (false, Some(end)) => format!("{}{}", &rest[..end], &rest[end + 1..]),
        _ => rest.to_owned(),
    });
    let name = plain.as_deref().unwrap_or(name);
    // Errors and memory orders are the same types here as in std.
    if name.contains("Error")
        || name.starts_with("core::sync::atomic::Ordering")
        || name.starts_with("std::thread::panicking")
    {
        return None;
    }
    if name.starts_with("alloc::sync::Arc<") && !name.contains(" as ")
        || name.starts_with("alloc::sync::Weak<")
    {
        let tells = [
            "strong_count",
            "weak_count",
            "try_unwrap",
            "unwrap_or_clone",
            "into_inner",
            "get_mut",
            "make_mut",
            "upgrade",
        ];
        return tells.iter().any(|m| name.ends_with(m)).then_some("counts of std's `Arc`");
    }
    // A reference that threads share, to a cell of std's that no lock of ours is around.
    if let Some((_, shared)) = name.split_once("drop_in_place").filter(|(before, _)| *before == "core::ptr::")
        && let Some((_, content)) = shared.split_once("<raddle::sync::arc::Arc<")
        && let Some((around, _)) = content.split_once("core::cell::")
        && !around.contains("raddle::")
    {
        return Some("std's cells");
    }
    // Accesses to the content of a cell of std's are not checked.
    if name.starts_with("core::cell::UnsafeCell<")
        && (name.ends_with(">::get") || name.ends_with(">::raw_get"))
    {
        return Some("std's `UnsafeCell`");
    }
    ALIEN.iter().find(|(path, _)| name.starts_with(path)).map(|a| a.1)
}

/// The crate that a demangled name belongs to. For an implementation of a trait it is that of the type.
fn krate(name: &str) -> &str {
    let skipped = ["<", "&", "mut ", "dyn ", "[", "(", "*const ", "*mut "];
    let mut rest = name;
    while let Some(after) = skipped.iter().find_map(|s| rest.strip_prefix(s)) {
        rest = after;
    }
    rest.split_once("::").map_or("", |(first, _)| first)
}

/// Whether a crate is part of Rust or of this workspace: what it calls is its own business.
fn is_known(krate: &str) -> bool {
    const KNOWN: [&str; 14] = [
        "",
        "core",
        "alloc",
        "std",
        "test",
        "hashbrown",
        "compiler_builtins",
        "rustc_demangle",
        "libc",
        "corosensei",
        "raddle",
        "runtime",
        "explore",
        "report",
    ];
    KNOWN.contains(&krate) || krate.contains(|c: char| !(c.is_alphanumeric() || c == '_'))
}

/// Functions of known crates that an optimising compiler makes one with a closure of the test.
fn is_around_closure(name: &str) -> bool {
    const AROUND: [&str; 5] = [
        "<raddle::thread::join::Packet<",
        "core::ops::function::Fn",
        "core::ops::function::impls::",
        "<F as core::ops::function::Fn",
        "raddle::config::entry::call",
    ];
    // The result of a thread is taken without its closure.
    AROUND.iter().any(|a| name.starts_with(a)) && !name.contains(" as raddle::thread::join::Slot<")
}

/// Functions that call nothing of the test by themselves: what they are given by it is found where it is given.
fn is_closed(name: &str) -> bool {
    const CLOSED: [&str; 12] = [
        "core::fmt::",
        "core::panicking::",
        "std::io::",
        "std::panicking::",
        "std::backtrace",
        "std::sys::",
        "std::rt::",
        "std::env::",
        "alloc::raw_vec::",
        "explore::",
        "report::",
        "runtime::",
    ];
    CLOSED.iter().any(|c| name.starts_with(c))
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod machine {
    use super::{
        Caveat, CaveatKind, FILES, SURROUNDINGS, alien, is_around_closure, is_closed, is_known, krate,
    };
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet, HashSet};
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::sync::OnceLock;

    #[derive(Clone)]
    struct Symbol {
        start: usize,
        size: usize,
        name: String,
    }

    /// A section that is in memory.
    struct Section {
        start: usize,
        size: usize,
        /// Where its content is in the file; `None` for zeros.
        offset: Option<u64>,
        writable: bool,
    }

    struct Program {
        /// What addresses in the file have to be moved by.
        base: usize,
        file: File,
        /// By start.
        functions: Vec<Symbol>,
        variables: Vec<Symbol>,
        /// Thread-local ones, with where they are in the memory of a thread.
        locals: Vec<Symbol>,
        sections: Vec<Section>,
    }

    fn word(bytes: &[u8], at: usize) -> Option<u64> {
        Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    }

    fn half(bytes: &[u8], at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    }

    fn quarter(bytes: &[u8], at: usize) -> Option<u16> {
        Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
    }

    fn part(file: &File, at: u64, size: u64) -> Option<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        file.read_exact_at(&mut bytes, at).ok()?;
        Some(bytes)
    }

    fn base() -> usize {
        unsafe extern "C" fn first(
            info: *mut libc::dl_phdr_info,
            _size: libc::size_t,
            data: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: `dl_iterate_phdr` hands in a valid `info`; `data` is the number given below.
            unsafe { data.cast::<usize>().write((*info).dlpi_addr as usize) };
            1
        }
        let mut base = 0usize;
        // SAFETY: `first` has the signature that is asked for, and `base` outlives the call. The first module is the executable.
        unsafe { libc::dl_iterate_phdr(Some(first), std::ptr::from_mut(&mut base).cast()) };
        base
    }

    impl Program {
        fn this() -> Option<&'static Program> {
            static PROGRAM: OnceLock<Option<Program>> = OnceLock::new();
            PROGRAM.get_or_init(Program::read).as_ref()
        }

        fn read() -> Option<Program> {
            const ALLOCATED: u64 = 2;
            const WRITABLE: u64 = 1;
            const NO_BITS: u32 = 8;
            const SYMBOLS: u32 = 2;
            let file = File::open("/proc/self/exe").ok()?;
            let head = part(&file, 0, 64)?;
            let (size, count) = (quarter(&head, 0x3a)? as usize, quarter(&head, 0x3c)? as usize);
            let table = part(&file, word(&head, 0x28)?, (size * count) as u64)?;
            let base = base();
            let mut program = Program {
                base,
                file,
                functions: Vec::new(),
                variables: Vec::new(),
                locals: Vec::new(),
                sections: Vec::new(),
            };
            let mut symbols = None;
            for s in (0..count).map(|i| i * size) {
                let (kind, flags) = (half(&table, s + 4)?, word(&table, s + 8)?);
                let (at, offset, bytes) =
                    (word(&table, s + 0x10)?, word(&table, s + 0x18)?, word(&table, s + 0x20)?);
                if kind == SYMBOLS {
                    symbols = Some((offset, bytes, half(&table, s + 0x28)? as usize * size));
                }
                if flags & ALLOCATED != 0 {
                    program.sections.push(Section {
                        start: base + at as usize,
                        size: bytes as usize,
                        offset: (kind != NO_BITS).then_some(offset),
                        writable: flags & WRITABLE != 0,
                    });
                }
            }
            let (offset, bytes, names) = symbols?;
            let names = part(&program.file, word(&table, names + 0x18)?, word(&table, names + 0x20)?)?;
            program.read_symbols(&part(&program.file, offset, bytes)?, &names);
            Some(program)
        }

        fn read_symbols(&mut self, table: &[u8], names: &[u8]) {
            const VARIABLE: u8 = 1;
            const FUNCTION: u8 = 2;
            const LOCAL: u8 = 6;
            for entry in table.chunks_exact(24) {
                let (Some(name), Some(start), Some(size)) = (half(entry, 0), word(entry, 8), word(entry, 16))
                else {
                    continue;
                };
                let (kind, defined) = (entry[4] & 15, entry[6..8] != [0, 0]);
                if !defined || size == 0 || ![VARIABLE, FUNCTION, LOCAL].contains(&kind) {
                    continue;
                }
                let name = names.get(name as usize..).unwrap_or_default().split(|b| *b == 0).next();
                let name = String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
                let symbol = Symbol { start: self.base + start as usize, size: size as usize, name };
                match kind {
                    FUNCTION => self.functions.push(symbol),
                    VARIABLE => self.variables.push(symbol),
                    _ => self.locals.push(Symbol { start: start as usize, ..symbol }),
                }
            }
            self.functions.sort_unstable_by_key(|f| f.start);
            self.functions.dedup_by_key(|f| f.start);
            self.variables.sort_unstable_by_key(|v| v.start);
        }

        fn function_at(&self, address: usize) -> Option<usize> {
            self.functions.binary_search_by_key(&address, |f| f.start).ok()
        }

        fn function_around(&self, address: usize) -> Option<usize> {
            let i = self.functions.partition_point(|f| f.start <= address).checked_sub(1)?;
            (address < self.functions[i].start + self.functions[i].size).then_some(i)
        }

        fn section_of(&self, address: usize) -> Option<&Section> {
            self.sections.iter().find(|s| (s.start..s.start + s.size).contains(&address))
        }

        /// A word of our own memory, if it lies in a section.
        fn peek(&self, address: usize) -> Option<usize> {
            let section = self.section_of(address)?;
            if !address.is_multiple_of(8) || address + 8 > section.start + section.size {
                return None;
            }
            // SAFETY: sections lie in memory that can be read, and the word is inside of one.
            Some(unsafe { (address as *const usize).read_volatile() })
        }

        /// Functions that a table in read-only data refers to: methods of a trait object, or a list of functions.
        fn functions_in(&self, table: usize) -> Vec<usize> {
            const MOST: usize = 64;
            let code = |i: usize| self.peek(table + 8 * i).and_then(|w| self.function_at(w));
            let is_number = |i: usize| code(i).is_none();
            let is_align =
                |i: usize| self.peek(table + 8 * i).is_some_and(|w| w.is_power_of_two() && w <= 4096);
            // A table of methods begins with the function that drops the value, or 0, its size and its alignment.
            let head = |i: usize| is_number(i + 1) && is_align(i + 2);
            let mut found = Vec::new();
            let from = if head(0) && (code(0).is_some() || self.peek(table) == Some(0)) {
                found.extend(code(0));
                3
            } else {
                0
            };
            for i in from..MOST {
                match code(i) {
                    // The next table begins here.
                    Some(_) if i > from && head(i) => break,
                    Some(f) => found.push(f),
                    None => break,
                }
            }
            found
        }

        /// Whether a variable has been changed since the program started, not by the identities of our types.
        fn has_changed(&self, v: &Symbol) -> bool {
            let Some(section) = self.section_of(v.start) else { return false };
            let initial = match section.offset {
                None => vec![0; v.size],
                Some(offset) => {
                    match part(&self.file, offset + (v.start - section.start) as u64, v.size as u64) {
                        Some(bytes) => bytes,
                        None => return false,
                    }
                }
            };
            let byte = |i: usize| {
                // SAFETY: the variable lies in memory that can be read.
                unsafe { ((v.start + i) as *const u8).read_volatile() }
            };
            (0..v.size).step_by(8).any(|at| {
                let n = (v.size - at).min(8);
                let now: Vec<u8> = (at..at + n).map(byte).collect();
                if now == initial[at..at + n] {
                    return false;
                }
                let Some(now) = word(&now, 0).map(|w| w as usize) else { return true };
                // An address that was filled in when the program was loaded.
                !crate::objects::is_handle(now as u64) && self.section_of(now).is_none()
            })
        }
    }

    /// Where the instructions of a function refer to.
    struct References {
        /// Functions, each with where the reference is.
        functions: BTreeSet<usize>,
        variables: BTreeSet<usize>,
    }

    fn references(program: &Program, function: &Symbol) -> References {
        // SAFETY: the symbol table says that this is code, which can be read.
        let code = unsafe { std::slice::from_raw_parts(function.start as *const u8, function.size) };
        let mut found = References { functions: BTreeSet::new(), variables: BTreeSet::new() };
        let relative = |at: usize, end: usize| {
            let distance = i32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?);
            Some((function.start + end).wrapping_add_signed(distance as isize))
        };
        for i in 0..code.len() {
            // Instructions are not decoded: what looks like a reference and leads to the start of a function is one.
            if matches!(code[i], 0xe8 | 0xe9)
                && let Some(f) = relative(i + 1, i + 5).and_then(|to| program.function_at(to))
            {
                found.functions.insert(f);
            }
            // The byte that says that an operand is relative to the next instruction.
            if i == 0 || code[i] & 0xc7 != 0x05 {
                continue;
            }
            let Some(to) = relative(i + 1, i + 5) else { continue };
            match code[i - 1] {
                // The address of something.
                0x8d => match program.function_at(to) {
                    Some(f) => drop(found.functions.insert(f)),
                    None if program.section_of(to).is_some_and(|s| s.writable) => {
                        found.functions.extend(program.functions_in(to));
                    }
                    None => {}
                },
                // A function or a variable through the table of addresses.
                0x8b | 0xff => {
                    let there = program.peek(to);
                    found.functions.extend(there.and_then(|w| program.function_at(w)));
                    found.variables.extend(there.and_then(|w| variable_at(program, w)));
                }
                _ => {}
            }
            // An operand in memory, before a constant of up to four bytes.
            found.variables.extend([0, 1, 2, 4].iter().find_map(|n| variable_at(program, to + n)));
        }
        found
    }

    fn variable_at(program: &Program, address: usize) -> Option<usize> {
        let i = program.variables.partition_point(|v| v.start <= address).checked_sub(1)?;
        (address < program.variables[i].start + program.variables[i].size).then_some(i)
    }

    pub(super) fn thread_local_variable(texts: &[&str], size: usize) -> Option<*mut u64> {
        unsafe extern "C" fn first(
            info: *mut libc::dl_phdr_info,
            _size: libc::size_t,
            data: *mut libc::c_void,
        ) -> libc::c_int {
            // SAFETY: `dl_iterate_phdr` hands in a valid `info`; `data` is the pointer given below.
            unsafe { data.cast::<*mut libc::c_void>().write((*info).dlpi_tls_data) };
            1
        }
        let program = Program::this()?;
        let found =
            program.locals.iter().find(|l| l.size == size && texts.iter().all(|t| l.name.contains(t)))?;
        let mut memory: *mut libc::c_void = std::ptr::null_mut();
        // SAFETY: `first` has the signature that is asked for, and `memory` outlives the call. The first module is the executable.
        unsafe { libc::dl_iterate_phdr(Some(first), std::ptr::from_mut(&mut memory).cast()) };
        let variable = memory.wrapping_byte_add(found.start).cast::<u64>();
        (!memory.is_null() && variable.is_aligned()).then_some(variable)
    }

    #[cfg(target_env = "gnu")]
    pub(super) fn variable(texts: &[&str]) -> Option<*mut usize> {
        let program = Program::this()?;
        let is_it = |v: &&Symbol| v.size == size_of::<usize>() && texts.iter().all(|t| v.name.contains(t));
        let found = program.variables.iter().find(is_it)?.start as *mut usize;
        found.is_aligned().then_some(found)
    }

    pub(super) fn function_name(address: usize) -> Option<String> {
        let program = Program::this()?;
        program.function_around(address).map(|i| demangled(&program.functions[i].name))
    }

    fn demangled(name: &str) -> String {
        format!("{:#}", rustc_demangle::demangle(name))
    }

    /// What the code from one entry on refers to: the same in each check that starts there.
    struct Scan {
        /// What it calls.
        caveats: Vec<Caveat>,
        /// Variables outside of known crates that it may change, each with its name.
        variables: Vec<(&'static Symbol, String)>,
    }

    std::thread_local! {
        /// The scans of this OS thread, the last one first. There is one for each check in the program's text.
        static SCANS: RefCell<Vec<(usize, Scan)>> = const { RefCell::new(Vec::new()) };
    }

    pub(super) fn uses(entry: usize) -> Vec<Caveat> {
        SCANS.with_borrow_mut(|scans| {
            match scans.iter().position(|s| s.0 == entry) {
                Some(0) => {}
                Some(i) => scans.swap(0, i),
                None => scans.insert(0, (entry, scan(entry))),
            }
            uses_now(&scans[0].1)
        })
    }

    /// What such code uses, as far as the variables have changed by now.
    fn uses_now(scan: &Scan) -> Vec<Caveat> {
        let mut caveats = scan.caveats.clone();
        let Some(program) = Program::this() else { return caveats };
        for (v, name) in &scan.variables {
            // Every type of ours has an identity, which takes eight bytes alone.
            let small = v.size <= 8 && !name.ends_with("::RADDLE_KEY");
            if small || program.has_changed(v) {
                let text = "variables outside of raddle's types, such as a `static mut`, are changed inside the check: accesses to them \
                            are not seen by the search";
                Caveat::new(CaveatKind::ForeignTypes, text).at(name.clone()).add_to(&mut caveats);
            }
        }
        caveats
    }

    fn scan(entry: usize) -> Scan {
        /// The most functions that are searched.
        const MOST: usize = 20_000;
        let nothing = || Scan { caveats: Vec::new(), variables: Vec::new() };
        let Some(program) = Program::this() else { return nothing() };
        let Some(first) = program.function_around(entry) else { return nothing() };
        let mut seen = HashSet::from([first]);
        let mut open = vec![first];
        let mut called: BTreeMap<&'static str, BTreeSet<String>> = BTreeMap::new();
        let mut variables = BTreeSet::new();
        while let Some(i) = open.pop() {
            let function = &program.functions[i];
            let name = demangled(&function.name);
            let is_theirs = !is_known(krate(&name)) || is_around_closure(&name);
            let found = references(program, function);
            for f in found.functions {
                let callee = demangled(&program.functions[f].name);
                if let Some(what) = alien(&callee) {
                    if is_theirs {
                        let by = if is_known(krate(&name)) { "a closure".to_owned() } else { name.clone() };
                        called.entry(what).or_default().insert(by);
                    }
                } else if !is_closed(&callee) && seen.len() < MOST && seen.insert(f) {
                    open.push(f);
                }
            }
            if is_theirs {
                variables.extend(found.variables);
            }
        }
        let mut caveats: Vec<Caveat> = Vec::new();
        for (what, by) in called {
            let (kind, text) = match what {
                FILES | SURROUNDINGS => (
                    CaveatKind::State,
                    format!(
                        "{what}, used inside the check, are not put back between executions, and in which order threads use them is not \
                         explored"
                    ),
                ),
                _ if what.contains("`UnsafeCell`") => (
                    CaveatKind::Races,
                    "accesses through std's `UnsafeCell` inside the check are not checked for data races (use raddle's)".to_owned(),
                ),
                _ => (
                    CaveatKind::ForeignTypes,
                    format!("{what}, used inside the check, are not seen by the search (use raddle's)"),
                ),
            };
            by.into_iter().fold(Caveat::new(kind, text), Caveat::at).add_to(&mut caveats);
        }
        let variables = variables.into_iter().map(|v| &program.variables[v]);
        let named = variables.map(|v| (v, demangled(&v.name))).filter(|(v, name)| {
            let writable = program.section_of(v.start).is_some_and(|s| s.writable);
            writable && !is_known(krate(name)) && !name.contains("RADDLE_KEY")
        });
        Scan { caveats, variables: named.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_std_that_a_test_should_not_call_are_told_from_others() {
        for name in [
            "core::sync::atomic::AtomicU32::load",
            "std::sync::poison::mutex::Mutex<T>::lock",
            "std::sync::mpsc::Sender<T>::send",
            "<std::sync::poison::mutex::MutexGuard<T> as core::ops::drop::Drop>::drop",
            "std::thread::spawn",
            "std::thread::local::LocalKey<T>::with",
            "std::time::Instant::now",
            "<std::time::Instant>::now",
            "<std::sync::poison::mutex::Mutex<u32>>::lock",
            "alloc::sync::Arc<T,A>::strong_count",
            "alloc::sync::Arc<T,A>::unwrap_or_clone",
            "std::fs::read_to_string",
            "<std::fs::File>::open",
            "std::env::set_var",
            "std::process::Command::output",
        ] {
            assert!(alien(name).is_some(), "{name}");
        }
        for name in [
            "std::thread::panicking",
            "<core::sync::atomic::Ordering as core::cmp::PartialEq>::eq",
            "<std::sync::mpsc::SendError<T> as core::fmt::Debug>::fmt",
            "std::sync::poison::PoisonError<T>::into_inner",
            "alloc::sync::Arc<T>::new",
            "<alloc::sync::Arc<T,A> as core::clone::Clone>::clone",
            "core::time::Duration::from_secs",
            "std::io::stdio::_print",
            "core::cell::Cell<T>::get",
        ] {
            assert_eq!(alien(name), None, "{name}");
        }
        assert_eq!(krate("<&mut mine::Thing as core::fmt::Debug>::fmt"), "mine");
        assert_eq!(krate("mine::test::{{closure}}"), "mine");
        assert!(is_known(krate("<T as core::convert::Into<U>>::into")));
    }
}
