//! State of the process that lasts: put back before each execution, or named in the verdict.
//!
//! A file that the program writes, makes or removes is kept as it was when it was first met, and is put back before the next
//! execution. After the last one it stays as that execution left it, as it would without a check.

use super::accesses::Access;
use super::objects::Use;
use super::paths::Lookup;
use super::streams::HERE;
use crate::shim::{Call, undisturbed};
use explore::{CaveatKind, ThreadId};
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The largest file that is kept.
const MOST: u64 = 64 << 20;

/// What was at a path before the program did something there.
enum Original {
    Missing,
    /// A file with these contents.
    File(Vec<u8>),
    /// A directory that is to be made anew by each execution.
    NoDirectory,
    /// Something that stays as it is: a device, or a file that is too large.
    Left,
}

#[derive(Default)]
struct Kept {
    /// What was at each path, and whether this execution did something there.
    paths: HashMap<PathBuf, (Original, bool)>,
    mask: Option<libc::mode_t>,
    place: Option<CString>,
    locale: Option<CString>,
    /// Standard streams whose buffering has changed: how they were buffered.
    streams: [Option<c_int>; 3],
    /// Some thread has changed its floating-point environment.
    rounding: bool,
    /// Something of the above is to be put back.
    changed: bool,
}

static mut KEPT: *mut Kept = std::ptr::null_mut();

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
    fn __fpurge(file: *mut libc::FILE);
    fn __flbf(file: *mut libc::FILE) -> c_int;
    fn __fbufsize(file: *mut libc::FILE) -> usize;
}

/// Called before the first execution.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet.
    unsafe { KEPT = Box::leak(Box::default()) };
}

fn kept() -> &'static mut Kept {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step; `prepare` was called before.
    unsafe { &mut *KEPT }
}

/// An execution begins.
pub(crate) fn begin() {
    super::table::begin();
    super::command_line::begin();
    super::hashing::begin();
    super::cxx::begin();
    super::streams::begin();
    super::aliases::begin();
    super::blocks::begin();
    super::handles::begin();
    super::paths::begin();
    if kept().changed {
        kept().changed = false;
        put_back();
    }
}

#[cold]
fn put_back() {
    let kept = kept();
    // SAFETY: no thread of the program runs; the strings end with zero bytes.
    unsafe {
        if let Some(mask) = kept.mask.take() {
            libc::umask(mask);
        }
        if let Some(place) = kept.place.take() {
            libc::chdir(place.as_ptr());
        }
        if let Some(locale) = kept.locale.take() {
            libc::setlocale(libc::LC_ALL, locale.as_ptr());
        }
        let files = [stdin, stdout, stderr];
        for (i, file) in files.into_iter().enumerate() {
            if let Some(mode) = kept.streams[i].take() {
                static mut BUFFERS: [[u8; 4096]; 3] = [[0; 4096]; 3];
                __fpurge(file);
                libc::setvbuf(file, (&raw mut BUFFERS[i]).cast(), mode, 4096);
            }
        }
        if kept.rounding {
            environments().clear();
            load(DEFAULT);
        }
    }
    // What lies in a directory goes before the directory.
    let mut all: Vec<_> = kept.paths.iter_mut().filter(|(_, (_, dirty))| *dirty).collect();
    all.sort_by_key(|(path, _)| std::cmp::Reverse(path.as_os_str().len()));
    for (path, (original, dirty)) in all {
        *dirty = false;
        // What fails here fails in the program, too, and is seen there.
        let _ = match original {
            Original::Missing => std::fs::remove_file(path),
            Original::NoDirectory => std::fs::remove_dir(path),
            Original::File(bytes) => match std::fs::read(path) {
                Ok(now) if now == *bytes => Ok(()),
                _ => std::fs::write(path, bytes),
            },
            Original::Left => Ok(()),
        };
    }
}

/// Notes what is at a path before the program does something there.
fn note(at: usize, path: usize, missing: Original) -> Access {
    if path == 0 || !runtime::in_execution() {
        return Access::Nothing;
    }
    undisturbed(|| {
        let path = super::paths::absolute(at as c_int, path, false);
        let shown = path.display().to_string();
        let (original, dirty) = kept().paths.entry(path).or_insert_with_key(|path| {
            let original = match std::fs::metadata(path) {
                Err(_) => missing,
                Ok(about) if about.is_file() && about.len() <= MOST => {
                    std::fs::read(path).map_or(Original::Left, Original::File)
                }
                Ok(about) => {
                    if about.is_file() {
                        let text = format!(
                            "the file {shown} is written and is too large to be put back between executions"
                        );
                        runtime::caveat(CaveatKind::State, text, None);
                    }
                    Original::Left
                }
            };
            (original, false)
        });
        if !matches!(original, Original::Left) {
            *dirty = true;
            kept().changed = true;
        }
    });
    Access::Nothing
}

/// A file is written, made or removed.
pub(crate) fn file(path: usize) -> Access {
    file_at(HERE, path)
}

/// The same for a path that starts from an open directory.
pub(super) fn file_at(at: usize, path: usize) -> Access {
    note(at, path, Original::Missing)
}

/// A directory is made.
pub(crate) fn directory(at: usize, path: usize) -> Access {
    note(at, path, Original::NoDirectory)
}

/// A file is opened as a stream.
pub(super) fn stream_opened(path: usize, mode: usize) -> Access {
    if path == 0 {
        return Access::Nothing;
    }
    // SAFETY: the program hands in a string.
    let mode = unsafe { CStr::from_ptr(mode as *const c_char) }.to_bytes();
    if mode.iter().any(|b| b"wa+".contains(b)) {
        file(path);
    }
    let makes = mode.iter().any(|b| b"wa".contains(b));
    let mut lookup = Lookup::look(path);
    if makes {
        lookup = Lookup::change(path).follows(true).attributes(Use::Look);
    }
    if mode.contains(&b'w') {
        lookup = lookup.contents(Use::Change);
    }
    super::accesses::path(lookup)
}

/// A function changes the process in a way that is not put back.
pub(super) fn lasting(name: &'static str) -> Access {
    if runtime::in_execution() {
        let text =
            format!("the effect of `{name}` on the process or on files is not undone between executions");
        runtime::caveat_at(CaveatKind::State, text, Call::unknown().place);
    }
    Access::Nothing
}

/// The file mode mask changes.
pub(super) fn mask() -> Access {
    if runtime::in_execution() && kept().mask.is_none() {
        // SAFETY: the mask is a number; it is set back at once.
        unsafe {
            let mask = libc::umask(0);
            libc::umask(mask);
            kept().mask = Some(mask);
        }
        kept().changed = true;
    }
    Access::Nothing
}

/// The working directory changes.
pub(super) fn place() -> Access {
    if runtime::in_execution() && kept().place.is_none() {
        let here = undisturbed(|| {
            crate::names::keep_directory();
            std::env::current_dir().ok()
        });
        kept().place = here.and_then(|p| CString::new(p.as_os_str().as_bytes()).ok());
        kept().changed = true;
    }
    Access::Nothing
}

/// The locale changes.
pub(super) fn locale(name: usize) -> Access {
    if name != 0 && runtime::in_execution() && kept().locale.is_none() {
        // SAFETY: without a name the locale is only asked for; the answer is a string.
        let now = unsafe { CStr::from_ptr(libc::setlocale(libc::LC_ALL, std::ptr::null())) };
        kept().locale = Some(now.to_owned());
        kept().changed = true;
    }
    Access::Nothing
}

/// The buffer of a stream changes.
pub(super) fn stream(file: usize) -> Access {
    // SAFETY: the C library defines the streams, and has functions that look at them.
    unsafe {
        let found = [stdin, stdout, stderr].iter().position(|f| *f as usize == file);
        if let Some(i) = found
            && runtime::in_execution()
            && kept().streams[i].is_none()
        {
            let file = file as *mut libc::FILE;
            let mode = match () {
                () if __flbf(file) != 0 => libc::_IOLBF,
                () if __fbufsize(file) == 1 => libc::_IONBF,
                () => libc::_IOFBF,
            };
            kept().streams[i] = Some(mode);
            kept().changed = true;
        }
    }
    Access::Nothing
}

/// The control words of floating-point arithmetic.
#[derive(Clone, Copy)]
struct Environment {
    mxcsr: u32,
    control: u16,
}

const DEFAULT: Environment = Environment { mxcsr: 0x1f80, control: 0x37f };

/// Those of threads that are not running.
static mut ENVIRONMENTS: Vec<Option<Environment>> = Vec::new();
/// The thread that the control words now belong to.
static mut RUNNING: Option<ThreadId> = None;

fn environments() -> &'static mut Vec<Option<Environment>> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut ENVIRONMENTS) }
}

fn loaded() -> Environment {
    let mut now = DEFAULT;
    // SAFETY: stores the control words to locals.
    unsafe {
        std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut now.mxcsr, options(nostack));
        std::arch::asm!("fnstcw [{}]", in(reg) &raw mut now.control, options(nostack));
    }
    now
}

fn load(to: Environment) {
    // SAFETY: the words were stored by `loaded`, or are those that a process starts with. What is rounded in here does not matter.
    unsafe {
        std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const to.mxcsr, options(nostack));
        std::arch::asm!("fldcw [{}]", in(reg) &raw const to.control, options(nostack));
    }
}

/// A thread changes how it rounds, or which exceptions trap.
pub(super) fn rounding() -> Access {
    if runtime::in_execution() {
        // SAFETY: one OS thread alone runs code of the program.
        unsafe { RUNNING = Some(runtime::current()) };
        kept().rounding = true;
        kept().changed = true;
    }
    Access::Nothing
}

fn slot(t: ThreadId) -> &'static mut Option<Environment> {
    let all = environments();
    if all.len() <= t.index() {
        all.resize(t.index() + 1, None);
    }
    &mut all[t.index()]
}

/// Another thread's code is about to run.
#[inline]
pub(crate) fn switch(to: Option<ThreadId>) {
    // SAFETY: as in `kept`; before `prepare` no thread runs.
    if unsafe { KEPT.as_ref() }.is_some_and(|k| k.rounding) {
        switch_environment(to);
    }
}

#[cold]
fn switch_environment(to: Option<ThreadId>) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe {
        if let Some(t) = RUNNING {
            *slot(t) = Some(loaded());
        }
        RUNNING = to;
    }
    load(to.and_then(|t| *slot(t)).unwrap_or(DEFAULT));
}

/// The running thread makes another one, which starts with its floating-point environment.
pub(crate) fn spawned(child: ThreadId) {
    // SAFETY: as in `switch`.
    if unsafe { KEPT.as_ref() }.is_some_and(|k| k.rounding) {
        *slot(child) = Some(loaded());
    }
}
