//! Random numbers of the C library that follow from a seed: those of its own generators, from the same state in every execution.
//!
//! The state is shared by all threads, so who draws first decides what the others get: each draw is a step. The generators are the functions of
//! the C library that work on a state of the caller (`random_r`, `lrand48_r`), with a state in here.

use crate::real::real;
use crate::shim::{call, export};
use crate::table;
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Request};
use std::ffi::{c_char, c_double, c_int, c_long, c_uint};
use std::ptr::null_mut;

/// The state of `random`: where its numbers are, and of which kind they are. As in `stdlib.h`.
#[repr(C)]
struct RandomData {
    front: *mut i32,
    rear: *mut i32,
    state: *mut i32,
    kind: c_int,
    degree: c_int,
    separation: c_int,
    end: *mut i32,
}

/// The state of `drand48`, as in `stdlib.h`.
#[repr(C)]
struct Drand48Data {
    x: [u16; 3],
    old: [u16; 3],
    c: u16,
    is_initialized: u16,
    a: u64,
}

unsafe extern "C" {
    fn random_r(state: *mut RandomData, out: *mut i32) -> c_int;
    fn srandom_r(seed: c_uint, state: *mut RandomData) -> c_int;
    fn initstate_r(seed: c_uint, at: *mut c_char, n: usize, state: *mut RandomData) -> c_int;
    fn setstate_r(at: *mut c_char, state: *mut RandomData) -> c_int;
    fn lrand48_r(state: *mut Drand48Data, out: *mut c_long) -> c_int;
    fn mrand48_r(state: *mut Drand48Data, out: *mut c_long) -> c_int;
    fn drand48_r(state: *mut Drand48Data, out: *mut c_double) -> c_int;
    fn srand48_r(seed: c_long, state: *mut Drand48Data) -> c_int;
    fn seed48_r(seed: *mut u16, state: *mut Drand48Data) -> c_int;
    fn lcong48_r(parameters: *mut u16, state: *mut Drand48Data) -> c_int;
}

/// How often something was drawn or set: the word of the generators as an object.
static mut DRAWN: u64 = 0;
/// The execution for which [`RANDOM`] was set.
static mut SET_FOR: Option<u64> = None;
static mut RANDOM: RandomData = RandomData {
    front: null_mut(),
    rear: null_mut(),
    state: null_mut(),
    kind: 0,
    degree: 0,
    separation: 0,
    end: null_mut(),
};
/// The numbers of `random` as long as the program gives it no other place for them.
static mut NUMBERS: [u64; 16] = [0; 16];
const NEW_DRAND48: Drand48Data = Drand48Data { x: [0; 3], old: [0; 3], c: 0, is_initialized: 0, a: 0 };
static mut DRAND48: Drand48Data = NEW_DRAND48;

/// An execution begins.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe {
        (DRAWN, SET_FOR) = (0, None);
        DRAND48 = NEW_DRAND48;
    }
}

/// The state of `random`, which starts with the seed 1.
fn random_state() -> *mut RandomData {
    let now = Some(crate::threads::execution());
    // SAFETY: one OS thread alone runs code of the program. The place for the numbers is large enough.
    unsafe {
        if SET_FOR != now {
            SET_FOR = now;
            RANDOM.state = null_mut();
            initstate_r(1, (&raw mut NUMBERS).cast(), 128, &raw mut RANDOM);
        }
        &raw mut RANDOM
    }
}

/// The library changes numbers of `random` in a place that the program has given it, under a lock of its own.
fn changes_numbers() {
    // SAFETY: as in `random`; the kind 0 has one number.
    unsafe {
        let state = &*random_state();
        if runtime::in_execution() && state.state != (&raw mut NUMBERS).cast::<i32>().add(1) {
            let used = if state.kind == 0 { [state.state, state.state] } else { [state.front, state.rear] };
            for number in used {
                let access = crate::libc::accesses::changes_variable(number as usize, 4);
                crate::libc::keeping_errno(|| {
                    crate::libc::accesses::before(access, crate::shim::Call::unknown())
                });
            }
        }
    }
}

/// A step on the generator, in an execution.
fn step() {
    if runtime::in_execution() {
        let call = call();
        let object = &table::sync(&raw const DRAWN as usize).handle;
        let (class, order) = (Class::Atomic, MemoryOrder::Relaxed);
        let kind = OpKind::Rmw;
        // The state is no memory of the program: that somebody drew is all that others can tell.
        // SAFETY: one OS thread alone runs code of the program.
        let a = unsafe { DRAWN } + 1;
        runtime::step_in(
            &Request { kind, object, class, initial: 0, a, b: 0, order, place: call.place },
            call.state,
        );
    }
}

/// A draw, or another change of the state.
fn drawn() {
    step();
    // SAFETY: one OS thread alone runs code of the program, and it is this thread's turn.
    unsafe { DRAWN += 1 };
}

extern "C" fn number() -> c_int {
    drawn();
    changes_numbers();
    let mut out = 0;
    // SAFETY: the state is set.
    unsafe { random_r(random_state(), &mut out) };
    out
}

extern "C" fn long_number() -> c_long {
    c_long::from(number())
}

extern "C" fn seed(seed: c_uint) {
    drawn();
    changes_numbers();
    // SAFETY: as above.
    unsafe { srandom_r(seed, random_state()) };
}

/// Where the numbers of the state are, as `initstate` and `setstate` give it.
fn place() -> *mut c_char {
    // SAFETY: one word about the kind stands in front of the numbers.
    unsafe { (*random_state()).state.sub(1).cast() }
}

/// The hooks in front make the accesses to the place.
extern "C" fn initialize(seed: c_uint, at: *mut c_char, n: usize) -> *mut c_char {
    drawn();
    let before = place();
    // SAFETY: the program hands in a place of that size.
    if unsafe { initstate_r(seed, at, n, random_state()) } == 0 { before } else { null_mut() }
}

extern "C" fn set_state(at: *mut c_char) -> *mut c_char {
    drawn();
    let before = place();
    // SAFETY: the program hands in a place that was initialized.
    if unsafe { setstate_r(at, random_state()) } == 0 { before } else { null_mut() }
}

macro_rules! draws_of_48_bits {
    ($($function:ident $by:ident $ty:ty;)*) => {
        $(extern "C" fn $function() -> $ty {
            drawn();
            let mut out = <$ty>::default();
            // SAFETY: one OS thread alone runs code of the program.
            unsafe { $by(&raw mut DRAND48, &mut out) };
            out
        })*
    };
}

draws_of_48_bits! {
    long_48 lrand48_r c_long;
    signed_48 mrand48_r c_long;
    fraction_48 drand48_r c_double;
}

extern "C" fn seed_48(seed: c_long) {
    drawn();
    // SAFETY: as above.
    unsafe { srand48_r(seed, &raw mut DRAND48) };
}

extern "C" fn long_seed_48(seed: *mut u16) -> *mut u16 {
    drawn();
    // SAFETY: as above; the program hands in three numbers.
    unsafe {
        seed48_r(seed, &raw mut DRAND48);
        (&raw mut DRAND48.old).cast()
    }
}

extern "C" fn parameters_48(parameters: *mut u16) {
    drawn();
    // SAFETY: as above; the program hands in seven numbers. `erand48` uses the parameters that the C library has.
    unsafe { lcong48_r(parameters, &raw mut DRAND48) };
    real!(lcong48(parameters): fn(*mut u16) -> ());
}

export! {
    rand => number;
    srand => seed;
    random => long_number;
    srandom => seed;
    initstate => initialize;
    setstate => set_state;
    lrand48 => long_48;
    mrand48 => signed_48;
    drand48 => fraction_48;
    srand48 => seed_48;
    seed48 => long_seed_48;
    lcong48 => parameters_48;
}
