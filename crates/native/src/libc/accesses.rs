//! Accesses that a library function makes on behalf of its caller.

use super::aliases;
use super::objects::{self, Hidden, Process, Use};
use super::paths::{self, Lookup, OpenFile};
use super::streams;
use crate::access::range;
use crate::options::{Races, options};
use crate::shim::Call;
use image::arena::State;
use runtime::Touching;
use std::ffi::c_char;

/// One access.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Nothing,
    Read(usize, usize),
    Write(usize, usize),
    /// The function will write at most so many bytes; how many is known afterwards.
    Writable(usize, usize),
    /// State inside the library that no lock protects.
    Hidden(&'static Hidden, bool),
    /// A stream, with its lock.
    Stream(usize, Use),
    /// A stream, without its lock.
    Unlocked(usize),
    /// An open file, by its descriptor.
    OpenFile(i32, OpenFile),
    /// A part of an open file: where it begins, if that is not the descriptor's offset, its size, and whether it is written.
    Part(i32, Option<u64>, u64, bool),
    /// What one path or two lead to.
    Paths([Option<Lookup>; 2]),
    /// The list of the directory that a stream reads, by its descriptor.
    Lists(i32),
    /// State of the process, and whether it is changed.
    Process(&'static Process, bool),
    /// A descriptor is made.
    MakesDescriptor,
    /// A descriptor is used.
    Descriptor(i32),
    /// The flags of a descriptor (`FD_CLOEXEC`).
    DescriptorFlags(i32, Use),
    /// A descriptor is closed.
    Closes(i32),
    /// The library accesses a variable that it shares with the program, under a lock of its own or in a way that is safe between threads:
    /// two of these do not race with each other.
    Variable(usize, usize, bool),
    /// After a call: the program gets another result.
    Result(usize),
}

/// Reads `n` bytes at `p`.
pub(crate) fn r(p: usize, n: usize) -> Access {
    Access::Read(p, n)
}

/// Writes `n` bytes at `p`.
pub(crate) fn w(p: usize, n: usize) -> Access {
    Access::Write(p, n)
}

/// Results that lie in memory of the C library: address, size and name.
static mut RESULTS: Vec<(usize, usize, &str)> = Vec::new();

/// Writes a result that lies in memory of the C library, and gives it a name for reports.
pub(crate) fn named(p: usize, n: usize, name: &'static str) -> Access {
    if p != 0 {
        // SAFETY: one OS thread alone runs code of the program; the borrow ends here.
        let all = unsafe { &mut *(&raw mut RESULTS) };
        match all.iter_mut().find(|r| r.0 == p) {
            Some(known) => known.1 = known.1.max(n),
            None => all.push((p, n, name)),
        }
    }
    Access::Write(p, n)
}

/// The name of the result at an address.
pub(crate) fn name_of_result(address: usize) -> Option<&'static str> {
    // SAFETY: as in `named`.
    let all = unsafe { &*(&raw const RESULTS) };
    all.iter().find(|r| (r.0..r.0 + r.1).contains(&address)).map(|r| r.2)
}

/// Will write up to `n` bytes at `p`: a write after the call says how many. Where accesses are steps this is the step.
pub(crate) fn k(p: usize, n: usize) -> Access {
    Access::Writable(p, n)
}

/// Reads a string with its end.
pub(crate) fn s(p: usize) -> Access {
    Access::Read(p, length(p))
}

/// Reads a string of at most `n` bytes.
pub(crate) fn sn(p: usize, n: usize) -> Access {
    Access::Read(p, crate::strings::extent(p as *const c_char, n))
}

/// Reads a string up to a byte `c`, or with its end.
pub(crate) fn s_until(p: usize, c: usize) -> Access {
    // SAFETY: the program hands in a string.
    let found = unsafe { libc::strchr(p as *const c_char, c as i32) } as usize;
    Access::Read(p, if found == 0 { length(p) } else { found - p + 1 })
}

/// Reads the text of a whole number.
pub(crate) fn integer(p: usize, base: usize) -> Access {
    Access::Read(p, crate::strings::extent_of_integer(p as *const c_char, base as i32))
}

/// Reads the text of a floating-point number.
pub(crate) fn float(p: usize) -> Access {
    Access::Read(p, crate::strings::extent_of_float(p as *const c_char))
}

/// Reads two arrays of wide characters up to the first that differ, at most `n`. Strings end at a zero.
pub(crate) fn wide_compared(
    a: usize,
    b: usize,
    n: usize,
    strings: bool,
    same: fn(u32, u32) -> bool,
) -> usize {
    let mut i = 0;
    // SAFETY: the program hands in two wide strings, or arrays of at least `n` characters.
    unsafe {
        while i < n {
            let (x, y) = (*(a as *const u32).add(i), *(b as *const u32).add(i));
            i += 1;
            if !same(x, y) || strings && x == 0 {
                break;
            }
        }
    }
    i * 4
}

/// The bytes of a wide string up to the first character at which `stops` is true, with it.
pub(crate) fn wide_until(p: usize, n: usize, stops: impl Fn(u32) -> bool) -> usize {
    let mut i = 0;
    // SAFETY: as above.
    unsafe {
        while i < n {
            i += 1;
            if stops(*(p as *const u32).add(i - 1)) {
                break;
            }
        }
    }
    i * 4
}

/// Whether a wide string has a character that is not its end.
pub(crate) fn wide_has(set: usize, c: u32) -> bool {
    let end = wide_length(set, usize::MAX) / 4 - 1;
    // SAFETY: the program hands in a wide string.
    (0..end).any(|i| unsafe { *(set as *const u32).add(i) } == c)
}

/// Reads a wide string with its end.
pub(crate) fn ws(p: usize) -> Access {
    Access::Read(p, wide_length(p, usize::MAX))
}

/// Reads a wide string of at most `n` characters.
pub(crate) fn wsn(p: usize, n: usize) -> Access {
    Access::Read(p, wide_length(p, n))
}

/// Reads hidden state.
pub(crate) fn look(object: &'static Hidden) -> Access {
    Access::Hidden(object, false)
}

/// Changes hidden state.
pub(crate) fn change(object: &'static Hidden) -> Access {
    Access::Hidden(object, true)
}

/// The library changes a variable that it exports.
pub(crate) fn changes_variable(p: usize, n: usize) -> Access {
    Access::Variable(p, n, true)
}

/// The library makes an access to a variable that it shares with the program.
fn variable(p: usize, n: usize, write: bool, call: Call) {
    match options().races {
        Races::Ignore => {}
        Races::Sync => range(p, n, write, call),
        Races::Report if runtime::in_execution() => {
            runtime::settle();
            for at in (p..p + n).step_by(8) {
                let n = (p + n - at).min(8);
                let entry = crate::access::entry(crate::table::memory(at, n));
                (entry.atomic, entry.plain) = (true, true);
                let how = Touching { write, atomic: true, elsewhere: true };
                crate::access::touch(entry, at, n, how, call);
            }
        }
        Races::Report => {}
    }
}

/// Reads state of the process.
pub(crate) fn ask(object: &'static Process) -> Access {
    Access::Process(object, false)
}

/// Changes state of the process.
pub(crate) fn set(object: &'static Process) -> Access {
    Access::Process(object, true)
}

/// Uses a descriptor.
pub(crate) fn fd(fd: usize) -> Access {
    Access::Descriptor(fd as i32)
}

/// Refuses a function on a descriptor that is modelled, if its effect there is not.
pub(crate) fn unmodelled(fd: usize, name: &str) -> Access {
    crate::pipes::refuse(fd as i32, name);
    Access::Nothing
}

/// Uses a path.
pub(crate) fn path(lookup: Lookup) -> Access {
    Access::Paths([Some(lookup), None])
}

/// Uses two paths.
pub(crate) fn paths(a: Lookup, b: Lookup) -> Access {
    Access::Paths([Some(a), Some(b)])
}

/// Uses the offset and the contents of an open file.
pub(crate) fn file(fd: usize, offset: Option<Use>, contents: Use) -> Access {
    // Where a write goes depends on `O_APPEND`.
    let flags = (contents == Use::Append && offset.is_some()).then_some(Use::Look);
    let what = OpenFile { offset, contents: Some(contents), flags, somewhere: true, ..OpenFile::default() };
    Access::OpenFile(fd as i32, what)
}

/// The same for a call whose [`part`] of the file is announced, too.
pub(crate) fn known_file(fd: usize, offset: Option<Use>, contents: Use) -> Access {
    match file(fd, offset, contents) {
        Access::OpenFile(fd, what) => Access::OpenFile(fd, OpenFile { somewhere: false, ..what }),
        access => access,
    }
}

/// Writes a part of an open file, which may be mapped.
pub(crate) fn part(fd: usize, at: Option<usize>, bytes: usize) -> Access {
    Access::Part(fd as i32, at.map(|at| at as u64), bytes as u64, true)
}

/// Uses the attributes of an open file.
pub(crate) fn attributes(fd: usize, how: Use) -> Access {
    Access::OpenFile(fd as i32, OpenFile { attributes: Some(how), ..OpenFile::default() })
}

/// Looks at all that `fstat` tells.
pub(crate) fn status(fd: usize) -> Access {
    let look = Some(Use::Look);
    Access::OpenFile(fd as i32, OpenFile { contents: look, attributes: look, ..OpenFile::default() })
}

/// A new descriptor, after the call.
pub(crate) fn made(fd: usize, call: Call) -> Access {
    crate::files::opened();
    objects::made_descriptor(fd as i32, call);
    Access::Nothing
}

/// An access only if a condition holds.
pub(crate) fn when(condition: bool, access: impl FnOnce() -> Access) -> Access {
    if condition { access() } else { Access::Nothing }
}

/// The bytes of a string with its end; 0 for none.
pub(crate) fn length(p: usize) -> usize {
    if p == 0 { 0 } else { crate::strings::extent(p as *const c_char, usize::MAX) }
}

/// The bytes of a wide string of at most `most` characters, with its end.
pub(crate) fn wide_length(p: usize, most: usize) -> usize {
    if p == 0 {
        return 0;
    }
    let mut n = 0;
    // SAFETY: the program hands in a wide string, or an array of at least `most` characters.
    unsafe {
        while n < most {
            n += 1;
            if *(p as *const u32).add(n - 1) == 0 {
                break;
            }
        }
    }
    n * 4
}

/// A word of the program's memory; 0 at no address.
pub(crate) fn at(p: usize) -> usize {
    // SAFETY: the program hands in the address of a word, or null.
    if p == 0 { 0 } else { unsafe { (p as *const usize).read_unaligned() } }
}

/// Whether an `int` that a function returned is not negative.
pub(crate) fn ok(result: usize) -> bool {
    result as i32 >= 0
}

/// A count that a function returned; 0 for an error.
pub(crate) fn count(result: usize) -> usize {
    usize::try_from(result as isize).unwrap_or(0)
}

/// Makes an access before the call.
pub(crate) fn before(access: Access, call: Call) {
    match access {
        // The call fails, or crashes.
        Access::Read(_, n) | Access::Write(_, n) if n > 1 << 46 => {}
        Access::Read(p, n) if p != 0 && n > 0 => range(p, n, false, call),
        Access::Write(p, n) if p != 0 && n > 0 => {
            // The kernel cannot write to pages that are watched.
            image::snapshot::prepare_write(p, n);
            range(p, n, true, call);
        }
        Access::Writable(p, n) if p != 0 && n > 0 => {
            let n = within(p, n);
            image::snapshot::prepare_write(p, n);
            if options().races == Races::Sync {
                range(p, n, true, call);
            }
        }
        Access::Variable(p, n, write) if p != 0 => variable(p, n, write, call),
        Access::Hidden(object, write) => objects::unlocked(object, write, call),
        Access::Stream(file, how) => streams::used(file, how, call),
        Access::Unlocked(file) => streams::used_unlocked(file, call),
        Access::OpenFile(fd, what) => {
            if what.somewhere && aliases::is_any() {
                aliases::used_somewhere(fd, call);
            }
            paths::used_open(fd, what, call);
        }
        Access::Part(fd, at, bytes, write) if aliases::is_any() => aliases::used(fd, at, bytes, write, call),
        Access::Paths(lookups) => paths::used(&lookups, call),
        Access::Lists(fd) => paths::listed(fd, call),
        Access::Process(object, write) => objects::process(object, write, call),
        Access::MakesDescriptor => objects::making_descriptor(call),
        Access::Descriptor(fd) => objects::used_descriptor(fd, || crate::files::is_open(fd), call),
        Access::DescriptorFlags(fd, how) => paths::descriptor_flags(fd, how, call),
        // What is modelled is closed by a step of its own.
        Access::Closes(fd) if crate::pipes::open_of(fd).is_none() => {
            objects::closing_descriptor(fd, call);
            crate::file_locks::closing(fd, call);
        }
        _ => {}
    }
}

/// Makes an access after the call.
pub(crate) fn after(access: Access, call: Call) {
    match access {
        // It was a step before the call.
        Access::Write(..) if options().races == Races::Sync => {}
        access => before(access, call),
    }
}

/// Makes an access after the call. Gives the result that the program gets in place of the function's own, if there is one.
pub(crate) fn result(access: Access, call: Call) -> Option<usize> {
    match access {
        Access::Result(new) => Some(new),
        access => {
            after(access, call);
            None
        }
    }
}

/// As much of `n` bytes as lies in the block of the heap at `p`, or a sensible number.
fn within(p: usize, n: usize) -> usize {
    match crate::heap::heap().state_of(p) {
        State::Live(block) => n.min(block.end() - p),
        _ => n.min(1 << 20),
    }
}
