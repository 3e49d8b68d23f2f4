//! Ways between threads that lead through the system: pipes, sockets and the like.
//!
//! What goes through them is not seen: nothing orders who reads and who writes, and a call that blocks stops all threads. A program
//! that makes one is run as it is, and is never called *verified*.

use crate::modules::{self, Owner};
use crate::real::real;
use crate::shim::{export, return_address};

/// Which of the functions below the program has called, one bit each. It is allocated, so that processes share it where
/// executions have their own.
static mut CALLED: *mut u32 = std::ptr::null_mut();

/// Called before the first execution.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet.
    unsafe { CALLED = Box::leak(Box::new(0)) };
}

/// A sentence for each function that the program has called.
pub(crate) fn called() -> impl Iterator<Item = String> {
    // SAFETY: one OS thread alone runs code of the program; `prepare` was called before.
    let called = unsafe { if CALLED.is_null() { 0 } else { *CALLED } };
    NAMES.iter().enumerate().filter(move |(i, _)| called >> i & 1 == 1).map(|(_, name)| {
        format!("the program calls `{name}`: what threads tell each other that way is not seen, nor in which order")
    })
}

fn note(bit: usize) {
    if runtime::in_execution() && modules::owner(return_address()) == Some(Owner::Program) {
        // SAFETY: as in `called`.
        unsafe { *CALLED |= 1 << bit };
    }
}

macro_rules! channels {
    ($($function:ident $name:ident $bit:literal;)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(extern "C" fn $function(a: usize, b: usize, c: usize, d: usize) -> usize {
            note($bit);
            crate::files::note_opened();
            // Where the descriptors of a pair go, the kernel writes.
            image::snapshot::prepare_write(a, 8);
            image::snapshot::prepare_write(d, 8);
            real!($name(a, b, c, d): fn(usize, usize, usize, usize) -> usize)
        })*
        export! { $($name => $function;)* }
    };
}

channels! {
    make_pipe pipe 0;
    make_pipe2 pipe2 1;
    make_socket socket 2;
    make_socketpair socketpair 3;
    make_eventfd eventfd 4;
    make_queue mq_open 5;
    make_memory shm_open 6;
}
