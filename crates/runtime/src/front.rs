//! Programs that are not made of our Rust types: what the runtime must be told of them.
//!
//! Rust tests call with `&'static Location`s, and their threads are unwound when an execution is given up. A program in machine
//! code has return addresses for places and addresses for objects, its memory must be put back before each execution, each of
//! its threads has thread-local storage of its own, and nothing may be unwound through it. A [`Front`] knows how.

use crate::Class;
use crate::objects::Handle;
use explore::ThreadId;
use std::panic::Location;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// A place in the program: where in the source for a Rust test, an address in the code for others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Place(pub(crate) usize);

impl Place {
    /// Where the function that calls this was called.
    #[track_caller]
    #[inline]
    pub fn caller() -> Place {
        Location::caller().into()
    }

    /// A place in machine code, for a process that has a [`Front`].
    #[inline]
    pub fn at(address: usize) -> Place {
        debug_assert!(front().is_some(), "addresses are places only for a front end that can read them");
        Place(address)
    }
}

impl Place {
    /// The file of a place in Rust, for a process that has no [`Front`].
    pub(crate) fn file(self) -> Option<&'static str> {
        // SAFETY: without a front end places are made from `&'static Location` alone.
        front().is_none().then(|| unsafe { &*(self.0 as *const Location<'static>) }.file())
    }
}

impl From<&'static Location<'static>> for Place {
    #[inline]
    fn from(location: &'static Location<'static>) -> Place {
        Place(std::ptr::from_ref(location) as usize)
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match front() {
            Some(front) => f.write_str(&front.place(self.0)),
            // SAFETY: without a front end places are made from `&'static Location` alone.
            None => unsafe { &*(self.0 as *const Location<'static>) }.fmt(f),
        }
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// How a process ended that ran an execution, if not as it should.
#[derive(Debug)]
pub struct Crashed(pub String);

/// A part of an object: accesses of different width overlap, and all they touch is one object of the search.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name of the part, as [`Front::object`] takes it.
    pub name: u64,
    /// The first bit of the part in the object's word.
    pub shift: u32,
    /// How many bits it has.
    pub bits: u32,
}

impl Part {
    /// The value of the part in a word of the object.
    pub(crate) fn of(self, word: u64) -> u64 {
        word >> self.shift & u64::MAX >> (64 - self.bits)
    }
}

/// What the runtime asks of a program in machine code.
pub trait Front: Sync {
    /// A place in words, such as `file.c:12`.
    fn place(&self, address: usize) -> String;

    /// The part of the object of that name that the operation of a thread is on, where the object is larger.
    fn part(&self, thread: ThreadId, name: u64) -> Option<Part>;

    /// Whether operations have the names that C and POSIX give them in reports.
    fn speaks_c(&self) -> bool;

    /// The calls in the program's own code that led to the last operation of a thread, innermost first, without the call itself.
    fn callers(&self, thread: ThreadId) -> Vec<String>;

    /// The name that an object has in every execution: its address in the program. 0 for none.
    fn name_of(&self, handle: &Handle) -> u64;

    /// The object of that name, in words.
    fn object(&self, name: u64, class: Class) -> Option<String>;

    /// What was read or written, in words, where the object is not just a number.
    fn value(&self, name: u64, word: u64) -> Option<String>;

    /// The first eight bytes of the object of that name, as they are in memory now.
    fn word_now(&self, name: u64) -> Option<u64>;

    /// Puts the program's memory back to where it was before its first execution. Called before each one.
    fn begin(&self);

    /// What was allocated and can be reached by nobody at the end of a complete execution, in words, and where it was.
    fn leak(&self) -> Option<(String, usize)>;

    /// An execution has ended, and its threads are gone.
    fn end(&self);

    /// Whether each execution is to run in a process of its own.
    fn is_isolated(&self) -> bool;

    /// Runs this in a copy of the process, which then ends. What the runtime has allocated is shared with it.
    fn isolate(&self, f: &mut dyn FnMut()) -> Result<(), Crashed>;

    /// A session starts. A thread that computes for so long without a step should be stopped, and all of it at `stop_at`; see
    /// [`crate::stop_for_time`]. The runtime's own watchdog is a thread, whose calls of the C library would be taken for the program's.
    fn watch(&self, limit: Option<Duration>, stop_at: Option<Instant>);

    /// The session has ended: nobody needs to be stopped any more.
    fn unwatch(&self);

    /// The next code that runs is that of this thread, or the runtime's own again. Called whenever that changes.
    fn switch(&self, to: Option<ThreadId>);

    /// Forgets what was learned of the program.
    fn forget(&self);

    /// The running thread is about to announce a step: a signal may interrupt it first. See [`crate::have_interrupts`].
    fn interrupt(&self, place: Place) {
        let _ = place;
    }

    /// Whether a signal can still come for a thread that decides about that now.
    fn can_come(&self, thread: ThreadId) -> bool {
        let _ = thread;
        true
    }

    /// Whether a thread that waits for ever would be interrupted by a signal that is pending.
    fn has_signal(&self, thread: ThreadId) -> bool {
        let _ = thread;
        false
    }

    /// Whether the last execution had handlers of signals.
    fn has_handlers(&self) -> bool {
        false
    }

    /// Nobody can run and threads are left. Says whether something that comes from outside the program, and was not explored so far,
    /// could help: then the search starts again with it.
    fn stuck(&self) -> bool {
        false
    }

    /// Something is wrong in the execution at hand: a debugger may want to know. Called where it was found, in the thread that it was
    /// found in if there is one.
    fn failed(&self, what: &str) {
        let _ = what;
    }
}

static FRONT: OnceLock<&'static dyn Front> = OnceLock::new();

/// Says, once and before the first check, that this process is a program in machine code.
///
/// # Panics
///
/// If it was said before.
pub fn set_front(front: &'static dyn Front) {
    assert!(FRONT.set(front).is_ok(), "a process has one front end");
}

#[inline]
pub(crate) fn front() -> Option<&'static dyn Front> {
    FRONT.get().copied()
}
