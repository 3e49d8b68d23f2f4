//! Random numbers of the C library: the same in every execution.
//!
//! Their state is shared by all threads, so who draws first decides what the others get: each draw is a step. Which numbers they are is
//! nothing that a program may count on; ours are those of a simple generator that starts anew in each execution.

use crate::shim::{call, export};
use crate::table;
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Request};
use std::ffi::{c_double, c_int, c_long, c_uint};

static mut STATE: u64 = 1;

/// An execution begins.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe { STATE = 1 };
}

/// A step on the generator, in an execution.
fn step() {
    if runtime::in_execution() {
        let call = call();
        let object = &table::sync(&raw const STATE as usize).handle;
        let (class, order) = (Class::Atomic, MemoryOrder::Relaxed);
        let kind = OpKind::Rmw;
        // The state is no memory of the program: that somebody drew is all that others can tell.
        // SAFETY: one OS thread alone runs code of the program.
        let a = unsafe { STATE }.wrapping_add(1);
        runtime::step_in(
            &Request { kind, object, class, initial: 0, a, b: 0, order, place: call.place },
            call.state,
        );
    }
}

/// The next 31 bits.
fn draw() -> u32 {
    step();
    // SAFETY: one OS thread alone runs code of the program, and it is this thread's turn.
    unsafe {
        STATE = STATE.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (STATE >> 33) as u32
    }
}

extern "C" fn number() -> c_int {
    draw() as c_int
}

extern "C" fn long_number() -> c_long {
    c_long::from(draw())
}

extern "C" fn signed_number() -> c_long {
    c_long::from((draw() << 1) as i32)
}

extern "C" fn fraction() -> c_double {
    c_double::from(draw()) / c_double::from(1u32 << 31)
}

extern "C" fn seed(seed: c_uint) {
    step();
    // SAFETY: as in `draw`.
    unsafe { STATE = u64::from(seed) };
}

extern "C" fn long_seed(value: c_long) {
    seed(value as c_uint);
}

export! {
    rand => number;
    srand => seed;
    random => long_number;
    srandom => seed;
    lrand48 => long_number;
    mrand48 => signed_number;
    drand48 => fraction;
    srand48 => long_seed;
}
