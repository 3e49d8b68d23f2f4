//! Streams and descriptors: what is read from files and written to them, and positions that threads share.
//!
//! A stream has a lock, so two threads that use it do not race; see `objects` for when a use is a step. Functions without the
//! lock (`putc_unlocked`) race. `flockfile` holds the lock over several calls: from then on each use of that stream takes it.

use super::accesses::{
    Access, ask, attributes, before, count, fd, file, k, known_file, length, part, r, s, unmodelled, w, when,
    wide_length, ws,
};
use super::objects::{self, DIRECTORY, Finding, MASK, Part, Use};
use super::paths::{Lookup, OpenFile};
use super::{Row, fronts, incoming, rows};
use crate::real::real;
use crate::shim::Call;
use explore::FailureKind;
use std::ffi::{CStr, c_char, c_int};

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// A stream in memory of the program.
struct InMemory {
    file: usize,
    buffer: usize,
    bytes: usize,
    writes: bool,
    /// Where `open_memstream` says what it has.
    reports: [usize; 2],
}

/// Those of the running execution.
static mut IN_MEMORY: Vec<InMemory> = Vec::new();
/// Whether the program may have two descriptors of one open file.
static mut HAS_COPIES: bool = false;

fn in_memory() -> &'static mut Vec<InMemory> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut IN_MEMORY) }
}

/// The streams that the running execution has opened: address, the thread that has opened it, and its ordinal there. The C
/// library's own memory is not the same in each execution, so an address is no name.
static mut OPENED: Vec<(usize, usize, u64)> = Vec::new();

fn opened_streams() -> &'static mut Vec<(usize, usize, u64)> {
    // SAFETY: as in `in_memory`.
    unsafe { &mut *(&raw mut OPENED) }
}

/// A stream was opened.
pub(crate) fn opened_stream(file: *mut libc::FILE) {
    directories().retain(|d| *d != file as usize);
    is_open_again(file as usize);
    if runtime::in_execution() && !file.is_null() {
        let (all, me) = (opened_streams(), runtime::current().index());
        all.iter_mut().filter(|o| o.0 == file as usize).for_each(|o| o.0 = 0);
        let ordinal = all.iter().filter(|o| o.1 == me).count() as u64;
        all.push((file as usize, me, ordinal));
    }
}

/// A directory was opened.
pub(crate) fn opened_directory(directory: *mut std::ffi::c_void) {
    opened_stream(directory.cast());
    directories().push(directory as usize);
}

fn directories() -> &'static mut Vec<usize> {
    static mut DIRECTORIES: Vec<usize> = Vec::new();
    // SAFETY: as in `in_memory`.
    unsafe { &mut *(&raw mut DIRECTORIES) }
}

fn is_directory(stream: usize) -> bool {
    directories().contains(&stream)
}

/// What a stream is known by.
fn key(file: usize) -> usize {
    match opened_streams().iter().find(|o| o.0 == file) {
        Some((_, thread, ordinal)) => objects::key_of_file(u64::MAX - 2 - *thread as u64, *ordinal),
        None => file,
    }
}

/// Streams and directories that the running execution has closed.
static mut CLOSED: Vec<usize> = Vec::new();
/// Buffers of the program that streams use: the stream, the address and the size.
static mut BUFFERS: Vec<(usize, usize, usize)> = Vec::new();

fn closed_streams() -> &'static mut Vec<usize> {
    // SAFETY: as in `in_memory`.
    unsafe { &mut *(&raw mut CLOSED) }
}

fn buffers() -> &'static mut Vec<(usize, usize, usize)> {
    // SAFETY: as in `in_memory`.
    unsafe { &mut *(&raw mut BUFFERS) }
}

/// The C library has given out an address for a stream.
pub(crate) fn is_open_again(file: usize) {
    if !closed_streams().is_empty() {
        closed_streams().retain(|c| *c != file);
    }
}

/// Reports the use of a stream that is closed: its memory is free.
fn must_be_open(file: usize, call: Call) {
    if closed_streams().contains(&file) {
        runtime::settle();
        let what = if is_directory(file) { "directory" } else { "stream" };
        let close = if is_directory(file) { "closedir" } else { "fclose" };
        let message = format!("a {what} is used after it was closed by `{close}`");
        runtime::fail(FailureKind::UseAfterFree, message, call.place);
    }
}

/// A stream that was open before `main`, such as one of a static object.
struct Earlier {
    file: usize,
    /// Where it stands, and the size of its file.
    position: libc::off_t,
    size: libc::off_t,
}

/// The streams that were open before `main`. Executions do not close them, and each finds them as they were.
static mut EARLIER: Vec<Earlier> = Vec::new();

fn earlier() -> &'static mut Vec<Earlier> {
    // SAFETY: as in `in_memory`.
    unsafe { &mut *(&raw mut EARLIER) }
}

fn size_of_file(fd: c_int) -> Option<libc::off_t> {
    // SAFETY: zero is a valid `stat`, which the kernel fills.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        let found = libc::syscall(libc::SYS_fstat, fd, &raw mut stat) == 0;
        (found && stat.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(stat.st_size)
    }
}

/// Called before the first execution: finds the streams that are open.
pub(crate) fn prepare() {
    /// Where a stream has the address of the next one in the C library's list.
    const NEXT: usize = 104;
    // SAFETY: the C library has the list of open streams at this name, and no other thread runs.
    unsafe {
        let list = libc::dlsym(libc::RTLD_DEFAULT, c"_IO_list_all".as_ptr()) as usize;
        let mut file = super::accesses::at(list);
        while file != 0 {
            let stream = file as *mut libc::FILE;
            let fd = libc::fileno(stream);
            if fd > 2
                && let Some(size) = (libc::fflush(stream) == 0).then(|| size_of_file(fd)).flatten()
            {
                earlier().push(Earlier { file, position: libc::ftello(stream), size });
            }
            file = super::accesses::at(file + NEXT);
        }
    }
}

/// Puts the streams that were open before `main` back to where they were.
#[cold]
fn rewind_earlier() {
    unsafe extern "C" {
        fn __fpurge(file: *mut libc::FILE);
    }
    for e in earlier().iter() {
        let file = e.file as *mut libc::FILE;
        // SAFETY: executions do not close it.
        unsafe {
            __fpurge(file);
            libc::clearerr(file);
            let fd = libc::fileno(file);
            if size_of_file(fd).is_some_and(|size| size != e.size) {
                // It fails for a stream that only reads.
                libc::syscall(libc::SYS_ftruncate, fd, e.size);
            }
            libc::fseeko(file, e.position, libc::SEEK_SET);
        }
    }
}

/// An execution begins.
pub(crate) fn begin() {
    if !earlier().is_empty() {
        rewind_earlier();
    }
    closed_streams().clear();
    buffers().clear();
    if !opened_streams().is_empty() {
        close_all();
    }
    if !in_memory().is_empty() {
        in_memory().clear();
    }
}

/// Closes what the last execution has left open: its memory is the C library's, and the next one gets the same addresses only if
/// it is free.
#[cold]
fn close_all() {
    let all: Vec<usize> = opened_streams().drain(..).map(|o| o.0).filter(|f| *f != 0).collect();
    for file in all {
        // SAFETY: the program has opened it and not closed it, and nobody who could use it is left.
        unsafe {
            if is_directory(file) {
                libc::closedir(file as *mut _);
            } else if let Some(m) = in_memory().iter().find(|m| m.file == file) {
                close_in_memory(m);
            } else {
                libc::fclose(file as *mut _);
            }
        }
    }
    directories().clear();
}

/// Closes a stream in memory without a trace in the program's memory, which is as at the start of an execution already.
///
/// # Safety
///
/// The program has opened the stream in the last execution and not closed it.
unsafe fn close_in_memory(m: &InMemory) {
    unsafe extern "C" {
        fn __fpurge(file: *mut libc::FILE);
    }
    let file = m.file as *mut libc::FILE;
    // SAFETY: by the contract. Output that is pending would be written to the program's buffer. `open_memstream` writes its results
    // when it is closed: two words, which are mapped, and are put back.
    unsafe {
        if m.reports == [0; 2] {
            __fpurge(file);
            libc::fclose(file);
            return;
        }
        let places = m.reports.map(|place| place as *mut usize);
        // The place may lie on a stack that is gone: then the stream stays open.
        if m.reports.iter().all(|place| crate::names::word_at(*place).is_some()) {
            let words = places.map(|place| place.read_unaligned());
            libc::fclose(file);
            crate::own_heap::__libc_free(places[0].read_unaligned() as *mut u8);
            places.iter().zip(words).for_each(|(place, word)| place.write_unaligned(word));
        }
    }
}

/// The number of the descriptor of a stream that this execution has opened: when a stream is closed matters to a thread that asks for it.
/// Writes of other threads to the stream do not matter to it.
fn number_of(file: usize, how: Use) -> Access {
    if let Some((_, thread, ordinal)) = opened_streams().iter().find(|o| o.0 == file).copied() {
        let key = objects::key_of_file(NUMBER + thread as u64, ordinal);
        objects::name(key, || "whether a stream is open".to_owned());
        objects::together(&[Part { key, how, finding: Finding::Unordered }], Call::unknown());
    }
    Access::Nothing
}

/// In place of the number of a device, for the keys of [`number_of`].
const NUMBER: u64 = (1 << 62) + (1 << 20);

/// The program asks for the descriptor of a stream or a directory.
fn numbered(file: usize) -> Access {
    must_be_open(file, Call::unknown());
    number_of(file, Use::Look);
    // It may have been closed while this thread waited for its turn.
    must_be_open(file, Call::unknown());
    Access::Nothing
}

/// A stream or a directory is about to be closed.
fn ends(file: usize) -> Access {
    number_of(file, Use::Change);
    must_be_open(file, Call::unknown());
    Access::Nothing
}

/// The program closes a stream or a directory.
fn closed(file: usize) -> Access {
    let stays = (0..3).any(|i| standard(i) == file) || earlier().iter().any(|e| e.file == file);
    if stays || opened_streams().iter().any(|o| o.0 == file) {
        closed_streams().push(file);
    }
    opened_streams().iter_mut().filter(|o| o.0 == file).for_each(|o| o.0 = 0);
    in_memory().retain(|m| m.file != file);
    buffers().retain(|b| b.0 != file);
    Access::Nothing
}

/// Whether the program can see numbers of descriptors that it did not choose.
static mut NUMBERS_SEEN: bool = false;

/// Whether a function shows the number of a descriptor.
pub(super) fn shows_descriptors(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "accept",
        "accept4",
        "creat",
        "dirfd",
        "dup",
        "epoll_create",
        "epoll_create1",
        "eventfd",
        "fcntl",
        "fcntl64",
        "fileno",
        "fileno_unlocked",
        "inotify_init",
        "inotify_init1",
        "memfd_create",
        "mkstemp",
        "open",
        "open64",
        "openat",
        "openat64",
        "pipe",
        "pipe2",
        "posix_openpt",
        "shm_open",
        "socket",
        "socketpair",
        "timerfd_create",
    ];
    NAMES.contains(&name)
}

/// The program can see numbers of descriptors.
pub(super) fn numbers_are_seen() {
    // SAFETY: nothing else runs yet.
    unsafe { NUMBERS_SEEN = true };
}

/// A descriptor is made for a stream. Its number matters only to programs that can see numbers.
pub(super) fn made_unseen() -> Access {
    // SAFETY: set before the first execution.
    if unsafe { NUMBERS_SEEN } { Access::MakesDescriptor } else { Access::Nothing }
}

/// The descriptor of a stream is closed.
fn closed_unseen(file: usize) -> Access {
    // SAFETY: set before the first execution; the program hands in a stream that is open.
    unsafe {
        if !NUMBERS_SEEN || file == 0 {
            return Access::Nothing;
        }
        let fd = if is_directory(file) {
            libc::dirfd(file as *mut libc::DIR)
        } else {
            libc::fileno(file as *mut libc::FILE)
        };
        Access::Closes(fd)
    }
}

/// A path that is looked up from the working directory.
pub(super) fn relative(path: usize) -> Access {
    // SAFETY: the program hands in a string.
    if path != 0 && unsafe { *(path as *const u8) } != b'/' { ask(&DIRECTORY) } else { Access::Nothing }
}

/// The program can copy descriptors.
pub(super) fn copies_descriptors() {
    // SAFETY: nothing else runs yet.
    unsafe { HAS_COPIES = true };
}

/// The value of one of the standard streams.
fn standard(which: usize) -> usize {
    // SAFETY: the C library defines them.
    unsafe { [stdin, stdout, stderr][which] as usize }
}

/// The same for a function that reads the variable, which a program may assign.
pub(super) fn reads_standard(which: usize) -> usize {
    let variables = [&raw const stdin, &raw const stdout, &raw const stderr];
    if runtime::in_execution() {
        super::keeping_errno(|| before(r(variables[which] as usize, 8), here()));
    }
    standard(which)
}

fn name(file: usize) -> String {
    match (0..3).find(|i| standard(*i) == file) {
        Some(i) => format!("the stream {}", ["stdin", "stdout", "stderr"][i]),
        None => "a stream".to_owned(),
    }
}

/// A use of a stream.
pub(crate) fn used(file: usize, how: Use, call: Call) {
    if file == 0 {
        return;
    }
    must_be_open(file, call);
    if super::aliases::is_any() && !is_directory(file) && how != Use::Look {
        // SAFETY: the stream is open.
        super::aliases::used_somewhere(unsafe { libc::fileno(file as *mut _) }, call);
    }
    // What is printed to memory can be read there, so its order matters.
    let is_in_memory = in_memory().iter().any(|m| m.file == file);
    let how = if is_in_memory && how == Use::Append { Use::Change } else { how };
    objects::used_with(
        key(file),
        how,
        || name(file),
        call,
        || {
            if let Some(m) = in_memory().iter().find(|m| m.file == file) {
                let (buffer, bytes, writes) = (m.buffer, m.bytes, m.writes);
                before(if writes { w(buffer, bytes) } else { r(buffer, bytes) }, call);
            } else if let Some((_, start, bytes)) =
                buffers().iter().copied().find(|b| b.0 == file && how != Use::Look)
            {
                before(w(start, bytes), call);
            }
        },
    );
    // The stream may have been closed while this thread waited for its turn.
    must_be_open(file, call);
    if in_memory().iter().any(|m| m.file == file) {
        return;
    }
    if (0..3).all(|i| standard(i) != file) && !is_directory(file) {
        // SAFETY: the program hands in a stream.
        let fd = unsafe { libc::fileno(file as *mut libc::FILE) };
        let how = if how == Use::Append { Use::Append } else { Use::Look };
        before(super::accesses::file(fd as usize, None, how), call);
        // That may have been a step, too.
        must_be_open(file, call);
    }
}

/// A use of a stream without its lock.
pub(crate) fn used_unlocked(file: usize, call: Call) {
    if file != 0 {
        must_be_open(file, call);
        objects::used_unlocked(key(file), || name(file), call);
    }
}

/// Whether the program may have two descriptors of one open file.
pub(super) fn has_copies() -> bool {
    // SAFETY: set before the first execution.
    unsafe { HAS_COPIES }
}

/// Standard output is written to.
pub(crate) fn printed(call: Option<Call>) {
    // SAFETY: the C library defines it.
    printed_to(if call.is_some() { reads_standard(1) as *mut _ } else { unsafe { stdout } }, call);
}

/// A stream is written to by a function that prints.
pub(crate) fn printed_to(file: *mut libc::FILE, call: Option<Call>) {
    if let Some(call) = call {
        runtime::end_looking();
        used(file as usize, Use::Append, call);
    }
}

fn f(file: usize, how: Use) -> Access {
    Access::Stream(file, how)
}

fn bare(file: usize) -> Access {
    Access::Unlocked(file)
}

use Use::{Append, Change, Look};

/// The pieces of a list of buffers, as far as `n` bytes go.
fn pieces(list: usize, pieces: usize, mut n: usize, mut see: impl FnMut(usize, usize)) {
    for i in 0..pieces {
        // SAFETY: the program hands in so many pieces.
        let piece = unsafe { (list as *const libc::iovec).add(i).read() };
        if piece.iov_len > isize::MAX as usize {
            // The call fails.
            return;
        }
        let bytes = piece.iov_len.min(n);
        see(piece.iov_base as usize, bytes);
        n -= bytes;
    }
}

/// How many buffers of a list a call uses. With a number that is not valid it uses none, and fails.
pub(crate) fn number_of_pieces(n: usize) -> usize {
    const MOST: c_int = 1024;
    match n as c_int {
        n @ 0..=MOST => n as usize,
        _ => 0,
    }
}

/// Reads what is to be written from a list of buffers.
fn gathered(list: usize, n: usize, call: Call) {
    let n = number_of_pieces(n);
    before(r(list, n * 16), call);
    pieces(list, n, usize::MAX, |p, bytes| before(r(p, bytes), call));
}

/// The same for the header of a message.
fn message_sent(header: usize, call: Call) {
    before(r(header, size_of::<libc::msghdr>()), call);
    // SAFETY: the program hands in a header.
    let header = unsafe { (header as *const libc::msghdr).read() };
    gathered(header.msg_iov as usize, header.msg_iovlen, call);
    before(r(header.msg_control as usize, header.msg_controllen), call);
}

/// A buffer was filled by a call on a descriptor.
pub(crate) fn filled(buffer: usize, got: isize, call: Call) {
    super::keeping_errno(|| super::accesses::after(w(buffer, count(got as usize)), call));
}

/// A call on a descriptor is about to fill a buffer of `n` bytes.
pub(crate) fn to_be_filled(fd: c_int, buffer: usize, n: usize, at: Option<u64>, call: Call) {
    runtime::end_looking();
    super::keeping_errno(|| {
        before(k(buffer, n), call);
        before(known_file(fd as usize, at.is_none().then_some(Change), Look), call);
        before(Access::Part(fd, at, n as u64, false), call);
    });
}

rows! { INPUT:
    fread(p, size, n, file) impure [k(p, size * n), f(file, Change)] -> got [w(p, got * size)];
    fread_unlocked(p, size, n, file) impure [k(p, size * n), bare(file)] -> got [w(p, got * size)];
    fgets(p, n, file) impure [k(p, n), f(file, Change)] -> got [when(got != 0, || w(p, length(p)))];
    fgets_unlocked(p, n, file) impure [k(p, n), bare(file)] -> got [when(got != 0, || w(p, length(p)))];
    fgetws(p, n, file) impure [k(p, n * 4), f(file, Change)] -> got [when(got != 0, || w(p, wide_length(p, usize::MAX)))];
    gets(p) impure [f(standard(0), Change)] -> got [when(got != 0, || w(p, length(p)))];
    fdopen(fd, mode) impure [s(mode)] -> file [{ opened_stream(file as *mut _); Access::Nothing }];
    tmpfile() impure [made_unseen()] -> file [{ opened_stream(file as *mut _); Access::Nothing }];
    fgetpos(file, out) impure [f(file, Look), w(out, 16)] -> _x [];
    readv(fd, list, n) impure [prepared(fd, list, n, true)] -> got [scattered(list, n, got)];
    preadv(fd, list, n, o) impure [prepared(fd, list, n, false)] -> got [scattered(list, n, got)];
    fmemopen(p, n, mode) impure [s(mode)] -> file [opened_on(file, p, n, mode)];
    fflush(file) impure [f(file, Append), reported(file)] -> _x [{ tell(file); Access::Nothing }];
    open_memstream(p, n) impure [w(p, 8), w(n, 8)] -> file [opened_for(file, p, n)];
}

/// The call in which a list of buffers is used.
fn here() -> Call {
    Call::unknown()
}

fn prepared(fd: usize, list: usize, n: usize, moves: bool) -> Access {
    pieces(list, n as u32 as usize, usize::MAX, |p, bytes| before(k(p, bytes), here()));
    file(fd, moves.then_some(Change), Look)
}

fn scattered(list: usize, n: usize, got: usize) -> Access {
    pieces(list, n as u32 as usize, count(got), |p, bytes| super::accesses::after(w(p, bytes), here()));
    Access::Nothing
}

/// Closes a stream. A standard one stays, for the next execution: only its descriptor is closed. So does one that was open before
/// `main`, with its descriptor.
extern "C" fn close(file: usize) -> c_int {
    let Some(call) = incoming(false) else { return real!(fclose(file): fn(usize) -> c_int) };
    let places = places_of(file);
    super::keeping_errno(|| {
        before(f(file, Change), call);
        before(ends(file), call);
        before(reported(file), call);
        before(closed_unseen(file), call);
        before(closed(file), call);
    });
    match (0..3).find(|i| standard(*i) == file) {
        // SAFETY: the program hands in a stream of the C library.
        Some(fd) => unsafe {
            crate::files::note_changed(fd as c_int);
            let flushed = libc::fflush(file as *mut libc::FILE);
            let closed = libc::syscall(libc::SYS_close, fd) as c_int;
            flushed.min(closed)
        },
        // SAFETY: the program hands in a stream of the C library.
        None if earlier().iter().any(|e| e.file == file) => unsafe { libc::fflush(file as *mut libc::FILE) },
        None => {
            let done = crate::shim::undisturbed(|| real!(fclose(file): fn(usize) -> c_int));
            if let Some(places) = places {
                super::keeping_errno(|| super::blocks::told(file, places, true));
            }
            done
        }
    }
}

extern "C" fn read_part(line: usize, size: usize, end: c_int, file: usize) -> isize {
    let call = incoming(false);
    if let Some(call) = call {
        super::keeping_errno(|| {
            before(r(line, 8), call);
            before(r(size, 8), call);
            before(w(line, 8), call);
            before(w(size, 8), call);
            used(file, Change, call);
        });
    }
    let (mut text, mut bytes) = (0usize, 0usize);
    let got = crate::shim::undisturbed(|| {
        crate::real::real!(getdelim(&raw mut text, &raw mut bytes, end, file):
            fn(*mut usize, *mut usize, c_int, usize) -> isize)
    });
    // SAFETY: the program hands in places for a block of its heap and its size; the C library has made the other one.
    unsafe {
        if got >= 0 {
            let needed = got as usize + 1;
            let (place, room) = (line as *mut usize, size as *mut usize);
            if *place == 0 || *room < needed {
                // As the C library has it: at least 120 bytes, then twice as many.
                let wanted = needed.max(120).max(if *place == 0 { 0 } else { *room * 2 });
                let new = crate::heap::reallocate(*place as *mut _, wanted);
                if new.is_null() {
                    crate::own_heap::__libc_free(text as *mut u8);
                    return -1;
                }
                *place = new as usize;
                *room = wanted;
            }
            if let Some(call) = call {
                super::keeping_errno(|| before(w(*place, needed), call));
            }
            std::ptr::copy_nonoverlapping(text as *const u8, *place as *mut u8, needed);
        }
        crate::own_heap::__libc_free(text as *mut u8);
    }
    got
}

extern "C" fn read_line(line: usize, size: usize, file: usize) -> isize {
    read_part(line, size, c_int::from(b'\n'), file)
}

/// A stream whose reads and writes are functions of the program: another thread could use the stream while one of them runs.
fn no_cookies() -> Access {
    let why = "the functions of its stream run inside the C library, where threads cannot be switched";
    crate::process::unsupported("fopencookie", why)
}

fn opened_on(file: usize, p: usize, n: usize, mode: usize) -> Access {
    // SAFETY: the program hands in a string.
    let mode = unsafe { CStr::from_ptr(mode as *const c_char) }.to_bytes();
    let writes = mode != b"r" && mode != b"rb";
    opened_stream(file as *mut _);
    if file != 0 && p != 0 {
        objects::protects_memory(key(file), || name(file));
        in_memory().push(InMemory { file, buffer: p, bytes: n, writes, reports: [0; 2] });
    }
    Access::Nothing
}

fn opened_for(file: usize, p: usize, n: usize) -> Access {
    opened_stream(file as *mut _);
    in_memory().push(InMemory { file, buffer: 0, bytes: 0, writes: false, reports: [p, n] });
    Access::Nothing
}

/// Where a stream of `open_memstream` tells its buffer and size.
fn places_of(file: usize) -> Option<[usize; 2]> {
    in_memory().iter().find(|m| m.file == file && m.reports[0] != 0).map(|m| m.reports)
}

/// A stream was flushed, or all of them: those in memory have told where they are.
fn tell(file: usize) {
    let all: Vec<_> = in_memory().iter().filter(|m| m.reports[0] != 0).map(|m| (m.file, m.reports)).collect();
    for (one, places) in all {
        if file == 0 || file == one {
            super::blocks::told(one, places, false);
        }
    }
}

/// What a stream in memory says of itself when it is flushed or closed.
fn reported(file: usize) -> Access {
    if let Some([p, n]) = places_of(file) {
        before(w(p, 8), here());
        return w(n, 8);
    }
    Access::Nothing
}

fronts! { OUTPUT:
    fwrite(p, size, n, file) impure [r(p, size * n), f(file, Append)];
    fwrite_unlocked(p, size, n, file) impure [r(p, size * n), bare(file)];
    fputs_unlocked(p, file) impure [s(p), bare(file)];
    fputc(c, file) impure [f(file, Append)];
    putc(c, file) impure [f(file, Append)];
    _IO_putc(c, file) impure [f(file, Append)];
    putchar(c) impure [f(reads_standard(1), Append)];
    putw(c, file) impure [f(file, Append)];
    fputws(p, file) impure [ws(p), f(file, Append)];
    fputwc(c, file) impure [f(file, Append)];
    putwc(c, file) impure [f(file, Append)];
    putwchar(c) impure [f(reads_standard(1), Append)];
    fputc_unlocked(c, file) impure [bare(file)];
    putc_unlocked(c, file) impure [bare(file)];
    putchar_unlocked(c) impure [bare(reads_standard(1))];
    perror(p) impure [s(p), f(reads_standard(2), Append)];
    psignal(n, p) impure [s(p), f(reads_standard(2), Append)];
    fflush_unlocked(file) impure [bare(file)];
    fgetc(file) impure [f(file, Change)];
    getc(file) impure [f(file, Change)];
    _IO_getc(file) impure [f(file, Change)];
    getw(file) impure [f(file, Change)];
    getchar() impure [f(reads_standard(0), Change)];
    fgetwc(file) impure [f(file, Change)];
    getwc(file) impure [f(file, Change)];
    getwchar() impure [f(reads_standard(0), Change)];
    fgetc_unlocked(file) impure [bare(file)];
    getc_unlocked(file) impure [bare(file)];
    getchar_unlocked() impure [bare(reads_standard(0))];
    __uflow(file) impure [bare(file)];
    __overflow(file) impure [bare(file)];
    ungetc(c, file) impure [f(file, Change)];
    ungetwc(c, file) impure [f(file, Change)];
    fseek(file) impure [f(file, Change)];
    fseeko(file) impure [f(file, Change)];
    fseeko64(file) impure [f(file, Change)];
    fsetpos(file, p) impure [r(p, 16), f(file, Change)];
    rewind(file) impure [f(file, Change)];
    ftell(file) impure [f(file, Look)];
    ftello(file) impure [f(file, Look)];
    ftello64(file) impure [f(file, Look)];
    feof(file) impure [f(file, Look)];
    ferror(file) impure [f(file, Look)];
    feof_unlocked(file) impure [bare(file)];
    ferror_unlocked(file) impure [bare(file)];
    clearerr(file) impure [f(file, Change)];
    clearerr_unlocked(file) impure [bare(file)];
    fileno(file) pure [numbered(file)];
    fileno_unlocked(file) pure [numbered(file)];
    dirfd(file) pure [numbered(file)];
    rewinddir(file) impure [f(file, Change)];
    seekdir(file) impure [f(file, Change)];
    telldir(file) impure [f(file, Look)];
    endmntent(file) impure [f(file, Change), ends(file), closed_unseen(file), closed(file)];
    setmntent(path, mode) impure [s(path), s(mode), made_unseen(), super::restored::stream_opened(path, mode)];
    __fpurge(file) impure [bare(file)];
    __fpending(file) impure [bare(file)];
    closedir(file) impure [f(file, Change), ends(file), super::blocks::freed(file), closed_unseen(file), closed(file)];
    fcloseall() impure [];
    freopen(path, mode, file) impure [s(path), s(mode), f(file, Change), ends(file), super::restored::stream_opened(path, mode),
        super::restored::stream(file)];
    setvbuf(file, p, mode, n) impure [f(file, Change), super::restored::stream(file), buffered(file, p, mode, n)];
    setbuf(file, p) impure [f(file, Change), super::restored::stream(file), buffered(file, p, 0, libc::BUFSIZ as usize)];
    setbuffer(file, p, n) impure [f(file, Change), super::restored::stream(file), buffered(file, p, 0, n)];
    setlinebuf(file) impure [f(file, Change), super::restored::stream(file)];
    fwide(file, mode) impure [f(file, Change), super::restored::stream(file), when(mode as i32 != 0, || super::restored::lasting("fwide"))];
    open(path, flags) impure [s(path), super::inputs::opened(path), Access::MakesDescriptor, opened(HERE, path, flags)];
    open64(path, flags) impure [s(path), super::inputs::opened(path), Access::MakesDescriptor, opened(HERE, path, flags)];
    creat(path) impure [s(path), Access::MakesDescriptor,
        opened(HERE, path, (libc::O_CREAT | libc::O_TRUNC | libc::O_WRONLY) as usize)];
    openat(at, path, flags) impure [s(path), super::inputs::opened(path), Access::MakesDescriptor, opened(at, path, flags)];
    openat64(at, path, flags) impure [s(path), super::inputs::opened(path), Access::MakesDescriptor, opened(at, path, flags)];
    fopencookie() impure [no_cookies()];
    fopen(path, mode) impure [s(path), s(mode), super::inputs::opened(path), made_unseen(), super::restored::stream_opened(path, mode)];
    fopen64(path, mode) impure [s(path), s(mode), super::inputs::opened(path), made_unseen(), super::restored::stream_opened(path, mode)];
    write(d, p, n) impure [r(p, n), known_file(d, Some(Append), Append), part(d, None, n), fd(d)];
    pwrite(d, p, n, at) impure [r(p, n), known_file(d, None, Append), part(d, Some(at), n), fd(d)];
    pwrite64(d, p, n, at) impure [r(p, n), known_file(d, None, Append), part(d, Some(at), n), fd(d)];
    writev(fd, list, n) impure [{ gathered(list, n, here()); file(fd, Some(Append), Append) }];
    pwritev(fd, list, n) impure [{ gathered(list, n, here()); file(fd, None, Append) }];
    send(d, p, n) impure [r(p, n), fd(d)];
    sendto(fd, p, n, flags, a, an) impure [r(p, n), r(a, an as u32 as usize)];
    sendmsg(fd, header) impure [{ message_sent(header, here()); Access::Nothing }];
    lseek(d, n, whence) impure [sought(d, whence), fd(d)];
    lseek64(d, n, whence) impure [sought(d, whence), fd(d)];
    ftruncate(d, n) impure [known_file(d, None, Change), part(d, Some(n), usize::MAX), fd(d)];
    ftruncate64(d, n) impure [known_file(d, None, Change), part(d, Some(n), usize::MAX), fd(d)];
    posix_fallocate(d) impure [known_file(d, None, Change), fd(d)];
    posix_fallocate64(d) impure [known_file(d, None, Change), fd(d)];
    fallocate(d) impure [file(d, None, Change), fd(d)];
    fallocate64(d) impure [file(d, None, Change), fd(d)];
    copy_file_range(d, at, to, there) impure [r(at, 8), w(at, 8), r(there, 8), w(there, 8),
        file(d, (at == 0).then_some(Change), Look), file(to, (there == 0).then_some(Append), Append), fd(d), fd(to)];
    sendfile(to, d, at) impure [r(at, 8), w(at, 8), file(d, (at == 0).then_some(Change), Look),
        file(to, Some(Append), Append), fd(d), fd(to)];
    sendfile64(to, d, at) impure [r(at, 8), w(at, 8), file(d, (at == 0).then_some(Change), Look),
        file(to, Some(Append), Append), fd(d), fd(to)];
    fchmod(d) impure [unmodelled(d, "fchmod"), super::restored::lasting("fchmod"), attributes(d, Change), fd(d)];
    fchown(d) impure [unmodelled(d, "fchown"), super::restored::lasting("fchown"), attributes(d, Change), fd(d)];
    futimens(d, times) impure [unmodelled(d, "futimens"), r(times, 32), super::restored::lasting("futimens"), attributes(d, Change), fd(d)];
    futimes(d, times) impure [unmodelled(d, "futimes"), r(times, 32), super::restored::lasting("futimes"), attributes(d, Change), fd(d)];
    fsync(d) impure [fd(d)];
    fdatasync() impure [];
    bind(fd, a, n) impure [unmodelled(fd, "bind"), r(a, n as u32 as usize)];
    connect(fd, a, n) impure [unmodelled(fd, "connect"), r(a, n as u32 as usize)];
    setsockopt(fd, level, name, p, n) impure [unmodelled(fd, "setsockopt"), r(p, n as u32 as usize)];
}

// Calls inside the C++ library, of `basic_filebuf`. Those of `read` come in like the program's own. The buffers are the library's,
// or were announced by the function that the program has called.
fronts! { FILE_BUFFERS:
    fopen64(path, mode) impure [super::inputs::opened(path), made_unseen(), super::restored::stream_opened(path, mode)];
    write(d, p, n) impure [known_file(d, Some(Append), Append), part(d, None, n)];
    writev(d) impure [file(d, Some(Append), Append)];
    lseek64(d, n, whence) impure [sought(d, whence)];
}

/// A stream has a buffer of the program's from now on.
fn buffered(file: usize, p: usize, mode: usize, n: usize) -> Access {
    buffers().retain(|b| b.0 != file);
    if file != 0 && p != 0 && n > 0 && mode as c_int != libc::_IONBF {
        objects::protects_memory(key(file), || name(file));
        buffers().push((file, p, n));
    }
    Access::Nothing
}

/// `lseek`: it looks at the size of the file where it starts from the end.
fn sought(fd: usize, whence: usize) -> Access {
    if whence as c_int == libc::SEEK_SET || whence as c_int == libc::SEEK_CUR {
        let offset = Some(Change);
        return Access::OpenFile(fd as c_int, OpenFile { offset, ..OpenFile::default() });
    }
    file(fd, Some(Change), Look)
}

/// The working directory, in place of a descriptor.
pub(crate) const HERE: usize = libc::AT_FDCWD as usize;

/// `fcntl` on a descriptor that is not modelled: flags of the open file, of the descriptor, and locks.
pub(super) fn controlled(fd: usize, command: usize, argument: usize) -> Access {
    let flags = |how| Access::OpenFile(fd as c_int, OpenFile { flags: Some(how), ..OpenFile::default() });
    match command as c_int {
        _ if crate::pipes::open_of(fd as c_int).is_some() => Access::Nothing,
        libc::F_GETFL => flags(Look),
        libc::F_SETFL => flags(Change),
        libc::F_GETFD => Access::DescriptorFlags(fd as c_int, Look),
        libc::F_SETFD => Access::DescriptorFlags(fd as c_int, Change),
        libc::F_SETLK | libc::F_SETLKW | libc::F_OFD_SETLK | libc::F_OFD_SETLKW => {
            r(argument, size_of::<libc::flock>())
        }
        libc::F_GETLK | libc::F_OFD_GETLK => w(argument, size_of::<libc::flock>()),
        _ => Access::Nothing,
    }
}

/// Looks at the list of the directory that a stream reads.
pub(super) fn listed(directory: usize) -> Access {
    // SAFETY: the program hands in a directory that is open.
    Access::Lists(unsafe { libc::dirfd(directory as *mut libc::DIR) })
}

/// A file is opened.
fn opened(at: usize, path: usize, flags: usize) -> Access {
    let flags = flags as c_int;
    let makes = flags & libc::O_CREAT != 0;
    if flags & libc::O_ACCMODE != libc::O_RDONLY || makes || flags & libc::O_TRUNC != 0 {
        super::restored::file_at(at, path);
    }
    if makes {
        before(ask(&MASK), here());
    }
    let follows = flags & libc::O_NOFOLLOW == 0 && !(makes && flags & libc::O_EXCL != 0);
    let mut lookup = Lookup::look(path);
    if makes {
        lookup = Lookup::change(path).attributes(Look);
    }
    if flags & libc::O_TRUNC != 0 {
        lookup = lookup.contents(Change);
    }
    super::accesses::path(lookup.at(at).follows(follows))
}

extern "C" fn lock(file: usize) {
    if let Some(call) = incoming(false) {
        objects::lock(key(file), true, || name(file), call);
    }
}

extern "C" fn try_lock(file: usize) -> c_int {
    match incoming(false) {
        Some(call) if !objects::lock(key(file), false, || name(file), call) => 1,
        _ => 0,
    }
}

extern "C" fn unlock(file: usize) {
    if let Some(call) = incoming(false) {
        objects::unlock(key(file), call);
    }
}

/// The hook of `fclose` for calls inside the C++ library.
pub(super) fn close_hook() -> usize {
    /// Nothing in the stream is buffered there, so the file stays as it is.
    extern "C" fn close(file: usize) -> c_int {
        if runtime::in_execution() && earlier().iter().any(|e| e.file == file) {
            return 0;
        }
        crate::shim::undisturbed(|| real!(fclose(file): fn(usize) -> c_int))
    }
    close as *const () as usize
}

static LOCKS: &[Row] = &[
    Row { name: "fclose", entry: super::entry!(close) },
    Row { name: "getline", entry: super::entry!(read_line) },
    Row { name: "getdelim", entry: super::entry!(read_part) },
    Row { name: "__getdelim", entry: super::entry!(read_part) },
    Row { name: "flockfile", entry: super::entry!(lock) },
    Row { name: "_IO_flockfile", entry: super::entry!(lock) },
    Row { name: "ftrylockfile", entry: super::entry!(try_lock) },
    Row { name: "funlockfile", entry: super::entry!(unlock) },
    Row { name: "_IO_funlockfile", entry: super::entry!(unlock) },
];

pub(super) static ROWS_OF: [&[Row]; 2] = [INPUT, LOCKS];

pub(super) fn rows_of() -> impl Iterator<Item = &'static Row> {
    ROWS_OF.into_iter().flatten()
}

pub(super) use OUTPUT as FRONTS;
