//! Ways between threads that lead through the system: sockets with an address, message queues, shared memory. Pipes are in `pipes`.
//!
//! What goes through them is not seen: nothing orders who reads and who writes, and a call that blocks stops all threads. A program
//! that makes one is run as it is, and is never called *verified*.

use crate::modules::{self, Owner};
use crate::real::real;
use crate::shim::{export, return_address};
use explore::CaveatKind;

fn note(name: &str) {
    if runtime::in_execution() && modules::owner(return_address()) == Some(Owner::Program) {
        runtime::caveat(
            CaveatKind::Channel,
            format!("the program calls `{name}`: communication of threads through it is not explored"),
            None,
        );
    }
}

macro_rules! channels {
    ($($function:ident $name:ident;)*) => {
        $(extern "C" fn $function(a: usize, b: usize, c: usize, d: usize) -> usize {
            note(stringify!($name));
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
    make_socket socket;
    make_queue mq_open;
    make_memory shm_open;
}
