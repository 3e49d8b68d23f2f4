//! Files and descriptors.
//!
//! What a program reads must be the same in every execution, and it must not wait for the outside: everything runs on one OS
//! thread, so nobody could do anything meanwhile. Regular files are read as they are; standard input is made one, and read
//! from its beginning in each execution, unless nothing comes from there at all. What else has nothing to read at the moment is refused. Descriptors that an execution leaves
//! open are closed before the next one. What was written to files is put back (`libc/restored.rs`).

use crate::libc::streams;
use crate::modules::{self, Owner};
use crate::own_state::FIRST_OWN;
use crate::pipes;
use crate::real::real;
use crate::shim::{Call, call, export, return_address};
use explore::FailureKind;
use std::ffi::{c_char, c_int, c_void};

struct Files {
    /// Descriptors that were open before `main`.
    before: Vec<c_int>,
    /// Something may have been opened since.
    opened: bool,
    /// Where standard input was, if it can be read again.
    input: Option<libc::off_t>,
    /// Copies of the three standard descriptors, above the numbers that programs get. -1 for one that is not open.
    standard: [c_int; 3],
    /// One of the three may have been closed or redirected.
    changed_standard: bool,
}

static mut FILES: Files =
    Files { before: Vec::new(), opened: false, input: None, standard: [-1; 3], changed_standard: false };

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    fn __fpurge(file: *mut libc::FILE);
}

fn files() -> &'static mut Files {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a call into it.
    unsafe { &mut *(&raw mut FILES) }
}

fn kind_of(fd: c_int) -> Option<libc::mode_t> {
    // SAFETY: zero is a valid `stat`, which the kernel fills.
    unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::fstat(fd, &mut stat) == 0).then_some(stat.st_mode & libc::S_IFMT)
    }
}

/// Called before the first execution.
pub(crate) fn prepare() {
    streams::prepare();
    // SAFETY: system calls on descriptors.
    unsafe {
        if matches!(kind_of(0), Some(libc::S_IFIFO | libc::S_IFSOCK)) {
            keep_input();
        }
        let at = libc::lseek(0, 0, libc::SEEK_CUR);
        files().input = (kind_of(0) == Some(libc::S_IFREG) && at >= 0).then_some(at);
        files().standard = [0, 1, 2].map(|fd| libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, FIRST_OWN + 20));
        files().before = (0..FIRST_OWN).filter(|fd| libc::fcntl(*fd, libc::F_GETFD) >= 0).collect();
    }
}

/// How many milliseconds standard input may take to begin. It may be a pipe that nobody will ever write to or close, as where a program
/// is started by another one, and most programs read none.
const PATIENCE: c_int = 2000;

/// Puts a pipe that stays empty in the place of standard input: whoever reads it waits, and that is noticed.
///
/// # Safety
///
/// Nothing has read standard input yet, and no other thread runs.
unsafe fn no_input() {
    // SAFETY: system calls on descriptors of our own, and on standard input, which nothing has read yet.
    unsafe {
        let mut ends = [0; 2];
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return;
        }
        libc::dup2(ends[0], 0);
        libc::close(ends[0]);
        // It is open for good, above what programs count on.
        libc::fcntl(ends[1], libc::F_DUPFD_CLOEXEC, 500);
        libc::close(ends[1]);
    }
}

/// Reads all of standard input, which comes but once, into a file in memory that takes its place.
///
/// # Safety
///
/// Nothing has read standard input yet, and no other thread runs.
unsafe fn keep_input() {
    // SAFETY: system calls on descriptors and a buffer of our own.
    unsafe {
        let file = libc::memfd_create(c"stdin".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 {
            return;
        }
        let mut buffer = vec![0u8; 1 << 16];
        let mut ready = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        if libc::poll(&raw mut ready, 1, PATIENCE) == 0 {
            libc::close(file);
            return no_input();
        }
        loop {
            let n = libc::read(0, buffer.as_mut_ptr().cast(), buffer.len());
            if n <= 0 || libc::write(file, buffer.as_ptr().cast(), n as usize) != n {
                break;
            }
        }
        libc::lseek(file, 0, libc::SEEK_SET);
        libc::dup2(file, 0);
        libc::close(file);
    }
}

/// An execution begins.
#[inline]
pub(crate) fn begin() {
    let files = files();
    if files.changed_standard {
        files.changed_standard = false;
        restore_standard(&files.standard);
    }
    if let Some(at) = files.input {
        // SAFETY: no thread of the program runs.
        unsafe {
            if libc::lseek(0, 0, libc::SEEK_CUR) != at {
                libc::lseek(0, at, libc::SEEK_SET);
            }
            __fpurge(stdin);
            libc::clearerr(stdin);
        }
    }
    if files.opened {
        files.opened = false;
        close_others(&files.before);
    }
}

/// A descriptor is about to be closed or to be led elsewhere.
pub(crate) fn note_changed(fd: c_int) {
    if runtime::in_execution() && (0..3).contains(&fd) {
        files().changed_standard = true;
    }
}

#[cold]
fn restore_standard(copies: &[c_int; 3]) {
    for (fd, copy) in (0..).zip(copies) {
        // SAFETY: no thread of the program runs.
        unsafe {
            match copy {
                -1 => libc::syscall(libc::SYS_close, fd),
                copy => libc::syscall(libc::SYS_dup2, *copy, fd),
            };
        }
    }
}

#[cold]
fn close_others(before: &[c_int]) {
    for fd in 3..FIRST_OWN {
        if !before.contains(&fd) {
            // SAFETY: nobody who could use it is left.
            unsafe { libc::syscall(libc::SYS_close, fd) };
        }
    }
}

/// Whether the call that has just come in is one of the program, in an execution.
fn of_program() -> bool {
    runtime::in_execution() && !matches!(modules::owner(return_address()), Some(Owner::Raddle | Owner::Libc))
}

/// Refuses to wait for something that never comes.
fn must_be_ready(fd: c_int, events: libc::c_short, what: &str) {
    if !of_program() || matches!(kind_of(fd), Some(libc::S_IFREG | libc::S_IFDIR) | None) {
        return;
    }
    // SAFETY: a valid descriptor set of one.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        let mut poll = libc::pollfd { fd, events, revents: 0 };
        let ready = libc::syscall(libc::SYS_poll, &raw mut poll, 1, 0) != 0;
        if !ready && flags & libc::O_NONBLOCK == 0 {
            let call = call();
            runtime::settle();
            let name = match fd {
                0 => "standard input".to_owned(),
                fd => format!("descriptor {fd}"),
            };
            let message = format!(
                "the program calls `{what}` on {name}, which would wait for the outside: all threads stand still meanwhile. Give \
                 input with `< file`, or take the call out of what is checked"
            );
            runtime::fail(FailureKind::Limit, message, call.place);
        }
    }
}

/// What has no position, or no connections.
fn no_position(_: c_int, _: usize, _: usize, _: c_int, _: Call) -> Option<isize> {
    Some(crate::sync::with_errno(libc::ESPIPE) as isize)
}

macro_rules! reads {
    ($($function:ident $name:ident($fd:ident: c_int, $($arg:ident: $ty:ty),*) -> $ret:ty, $buffer:expr, $modelled:expr, $flags:expr, $at:expr;)*) => {
        $(extern "C" fn $function($fd: c_int, $($arg: $ty),*) -> $ret {
            let here: fn(c_int, usize, usize, c_int, Call) -> Option<isize> = $modelled;
            if crate::pipes::open_of($fd).is_some() {
                let written: Option<(usize, usize)> = $buffer;
                let (start, bytes) = written.unwrap_or((0, 0));
                if let Some(n) = here($fd, start, bytes, $flags, call()) {
                    return n as $ret;
                }
            }
            // Before anything below calls functions of ours.
            let call = of_program().then(call);
            crate::shim::undisturbed(|| must_be_ready($fd, libc::POLLIN, stringify!($name)));
            let written: Option<(usize, usize)> = $buffer;
            if let Some((start, bytes)) = written {
                // The kernel cannot write to pages that are watched.
                image::snapshot::prepare_write(start, bytes);
                if let Some(call) = call {
                    streams::to_be_filled($fd, start, bytes, $at, call);
                }
            }
            let result = real!($name($fd, $($arg),*): fn(c_int, $($ty),*) -> $ret);
            if let (Some(call), Some((start, _))) = (call, written) {
                streams::filled(start, result as isize, call);
            }
            result
        })*
        export! { $($name => $function;)* }
    };
}

reads! {
    read_some read(fd: c_int, buffer: *mut c_void, n: usize) -> isize, Some((buffer as usize, n)), pipes::read_from, 0, None;
    read_at pread(fd: c_int, buffer: *mut c_void, n: usize, at: libc::off_t) -> isize, Some((buffer as usize, n)), no_position, 0, Some(at as u64);
    read_at_64 pread64(fd: c_int, buffer: *mut c_void, n: usize, at: libc::off_t) -> isize, Some((buffer as usize, n)), no_position, 0, Some(at as u64);
    receive recv(fd: c_int, buffer: *mut c_void, n: usize, flags: c_int) -> isize, Some((buffer as usize, n)), pipes::receive, flags, None;
    receive_from recvfrom(fd: c_int, buffer: *mut c_void, n: usize, flags: c_int, a: usize, l: usize) -> isize,
        Some((buffer as usize, n)), pipes::receive_from, pipes::with_sender(flags, a, l), None;
    accept_one accept(fd: c_int, address: usize, length: usize) -> c_int, { note_opened(); None }, pipes::accept_from, 0, None;
    accept_one_4 accept4(fd: c_int, address: usize, length: usize, flags: c_int) -> c_int, { note_opened(); None }, pipes::accept_from, 0, None;
}

/// Whether a descriptor is open.
pub(crate) fn is_open(fd: c_int) -> bool {
    // SAFETY: a system call that takes any number.
    unsafe { libc::syscall(libc::SYS_fcntl, fd, libc::F_GETFD) >= 0 }
}

/// Whether a descriptor was open before `main`.
pub(crate) fn was_open_before(fd: c_int) -> bool {
    files().before.contains(&fd)
}

/// A descriptor was made by the program.
fn made(fd: c_int) {
    crate::shim::undisturbed(|| crate::libc::objects::made_descriptor(fd, Call::unknown()));
}

/// Whether a descriptor leads to a regular file; nothing if it is not open.
pub(crate) fn is_regular(fd: c_int) -> Option<bool> {
    kind_of(fd).map(|k| matches!(k, libc::S_IFREG | libc::S_IFDIR))
}

/// Something was opened that is to be closed before the next execution.
pub(crate) fn opened() {
    files().opened = true;
}

/// The program opens something. What we open ourselves is ours to close.
pub(crate) fn note_opened() {
    if of_program() {
        files().opened = true;
    }
}

macro_rules! opens {
    ($($function:ident $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $(, $then:path)?;)*) => {
        $(extern "C" fn $function($($arg: $ty),*) -> $ret {
            note_opened();
            // What the C++ library opens it closes by itself. Asked before the call, which may call functions of ours.
            let _is_programs = modules::owner(return_address()) == Some(Owner::Program);
            let opened = real!($name($($arg),*): fn($($ty),*) -> $ret);
            // An address that the C library gives out again is the address of an open stream.
            streams::is_open_again(opened as usize);
            $(if _is_programs {
                let errno = crate::libc::errno();
                $then(opened);
                crate::libc::set_errno(errno);
            })?
            opened
        })*
        export! { $($name => $function;)* }
    };
}

opens! {
    open_file open(path: *const c_char, flags: c_int, mode: c_int) -> c_int, made;
    open_file_64 open64(path: *const c_char, flags: c_int, mode: c_int) -> c_int, made;
    open_at openat(at: c_int, path: *const c_char, flags: c_int, mode: c_int) -> c_int, made;
    open_at_64 openat64(at: c_int, path: *const c_char, flags: c_int, mode: c_int) -> c_int, made;
    create_file creat(path: *const c_char, mode: c_int) -> c_int, made;
    open_stream fopen(path: *const c_char, mode: *const c_char) -> *mut libc::FILE, streams::opened_stream;
    open_stream_64 fopen64(path: *const c_char, mode: *const c_char) -> *mut libc::FILE, streams::opened_stream;
    open_directory opendir(path: *const c_char) -> *mut c_void, streams::opened_directory;
}
