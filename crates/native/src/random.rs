//! Random numbers of the C library: glibc's own, which start anew in each execution.
//!
//! glibc documents the numbers of `rand`, `random` and `drand48` for a seed, so a program may count on them. They come from the
//! reentrant forms (`random_r`, `drand48_r`) on state that is kept here. All threads share that state, so the first thread that
//! draws decides what the others get: each draw is a step.
//!
//! `initstate` and `setstate` hand over a buffer of the program, which each later call of `random` reads and writes under the lock of
//! the library.

use crate::libc::accesses::{Access, before, changes_variable};
use crate::libc::{keeping_errno, set_errno};
use crate::shim::{Call, call, export};
use crate::table;
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Request};
use std::ffi::{c_char, c_double, c_int, c_long, c_uint};

/// `struct random_data` of glibc.
#[derive(Clone, Copy)]
#[repr(C)]
struct Additive {
    front: *mut i32,
    rear: *mut i32,
    state: *mut i32,
    kind: c_int,
    degree: c_int,
    separation: c_int,
    end: *mut i32,
}

/// `struct drand48_data` of glibc.
#[derive(Clone, Copy)]
#[repr(C)]
struct Linear {
    now: [u16; 3],
    old: [u16; 3],
    addend: u16,
    is_set: u16,
    factor: u64,
}

unsafe extern "C" {
    fn random_r(data: *mut Additive, out: *mut i32) -> c_int;
    fn srandom_r(seed: c_uint, data: *mut Additive) -> c_int;
    fn initstate_r(seed: c_uint, buffer: *mut c_char, bytes: usize, data: *mut Additive) -> c_int;
    fn setstate_r(buffer: *mut c_char, data: *mut Additive) -> c_int;
    fn drand48_r(data: *mut Linear, out: *mut c_double) -> c_int;
    fn erand48_r(x: *mut u16, data: *mut Linear, out: *mut c_double) -> c_int;
    fn lrand48_r(data: *mut Linear, out: *mut c_long) -> c_int;
    fn nrand48_r(x: *mut u16, data: *mut Linear, out: *mut c_long) -> c_int;
    fn mrand48_r(data: *mut Linear, out: *mut c_long) -> c_int;
    fn jrand48_r(x: *mut u16, data: *mut Linear, out: *mut c_long) -> c_int;
    fn srand48_r(seed: c_long, data: *mut Linear) -> c_int;
    fn seed48_r(x: *mut u16, data: *mut Linear) -> c_int;
    fn lcong48_r(parameters: *mut u16, data: *mut Linear) -> c_int;
}

/// The words of the state array that `random` starts with.
const WORDS: usize = 32;

/// The words that a state array of a kind has behind its first one.
pub(crate) fn words(kind: usize) -> usize {
    [1, 7, 15, 31, 63].get(kind).copied().unwrap_or(0)
}

/// The kind of the state array that fits into a buffer; none if the buffer is too small.
pub(crate) fn kind_for(bytes: usize) -> Option<usize> {
    match bytes {
        0..8 => None,
        8..32 => Some(0),
        32..64 => Some(1),
        64..128 => Some(2),
        128..256 => Some(3),
        _ => Some(4),
    }
}

/// The state of both generators.
#[derive(Clone, Copy)]
struct State {
    table: [i32; WORDS],
    additive: Additive,
    linear: Linear,
    /// The number of draws from each generator, and of changes of its state.
    draws: [u64; 2],
}

static mut STATE: State = State {
    table: [0; WORDS],
    additive: Additive {
        front: std::ptr::null_mut(),
        rear: std::ptr::null_mut(),
        state: std::ptr::null_mut(),
        kind: 0,
        degree: 0,
        separation: 0,
        end: std::ptr::null_mut(),
    },
    linear: Linear { now: [0; 3], old: [0; 3], addend: 0, is_set: 0, factor: 0 },
    draws: [0; 2],
};

/// The state that each execution starts with: what was drawn before `main` is drawn.
static mut KEPT: Option<State> = None;

fn state() -> *mut State {
    let state = &raw mut STATE;
    // SAFETY: one OS thread alone runs code of the program. The table has room for the state array.
    unsafe {
        if (*state).additive.state.is_null() {
            let table = (&raw mut (*state).table).cast::<c_char>();
            initstate_r(1, table, WORDS * 4, &raw mut (*state).additive);
        }
    }
    state
}

/// An execution begins.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe {
        let state = state();
        match *(&raw const KEPT) {
            Some(kept) => *state = kept,
            None => KEPT = Some(*state),
        }
    }
}

fn additive() -> *mut Additive {
    // SAFETY: a field of a static.
    unsafe { &raw mut (*state()).additive }
}

fn linear() -> *mut Linear {
    // SAFETY: a field of a static.
    unsafe { &raw mut (*state()).linear }
}

const ADDITIVE: usize = 0;
const LINEAR: usize = 1;

/// A step on a generator, in an execution.
fn step(generator: usize) -> Option<Call> {
    if !runtime::in_execution() {
        return None;
    }
    let call = call();
    // SAFETY: an element of a field of a static.
    let draws = unsafe { &raw mut (*state()).draws[generator] };
    let object = &table::sync(draws as usize).handle;
    let (class, order) = (Class::Atomic, MemoryOrder::Relaxed);
    let kind = OpKind::Rmw;
    // The state is not memory of the program: other threads can tell only that a thread has drawn.
    // SAFETY: one OS thread alone runs code of the program.
    let a = unsafe { *draws }.wrapping_add(1);
    runtime::step_in(
        &Request { kind, object, class, initial: 0, a, b: 0, order, place: call.place },
        call.state,
    );
    // SAFETY: as above.
    unsafe { *draws = a };
    Some(call)
}

/// An access of a word of a state array, unless the array is the initial one.
fn uses(word: *mut i32, words: usize, write: bool, call: Option<Call>) {
    // SAFETY: a field of a static.
    let table = unsafe { (&raw const (*state()).table).cast::<i32>() };
    if let Some(call) = call
        && !(table..table.wrapping_add(WORDS)).contains(&word.cast_const())
    {
        let (at, bytes) = (word as usize, words * 4);
        let access = if write { changes_variable(at, bytes) } else { Access::Variable(at, bytes, false) };
        keeping_errno(|| before(access, call));
    }
}

/// The next 31 bits of `random`.
fn draw() -> i32 {
    let call = step(ADDITIVE);
    let data = additive();
    let mut drawn = 0;
    // SAFETY: one OS thread alone runs code of the program. The pointers lead into the state array.
    unsafe {
        if (*data).kind == 0 {
            uses((*data).state, 1, true, call);
        } else {
            uses((*data).rear, 1, false, call);
            uses((*data).front, 1, true, call);
        }
        random_r(data, &mut drawn);
    }
    drawn
}

extern "C" fn number() -> c_int {
    draw()
}

extern "C" fn long_number() -> c_long {
    c_long::from(draw())
}

extern "C" fn seed(seed: c_uint) {
    let call = step(ADDITIVE);
    let data = additive();
    // SAFETY: as in `draw`.
    unsafe {
        uses((*data).state, words((*data).kind as usize), true, call);
        srandom_r(seed, data);
    }
}

/// The start of the state array in use, where its kind and position are saved when another one takes its place.
fn array() -> *mut i32 {
    // SAFETY: the state array has a word in front of the first one in use.
    unsafe { (*additive()).state.sub(1) }
}

extern "C" fn new_array(seed: c_uint, buffer: *mut c_char, bytes: usize) -> *mut c_char {
    let call = step(ADDITIVE);
    let old = array();
    let Some(kind) = kind_for(bytes) else {
        set_errno(libc::EINVAL);
        return std::ptr::null_mut();
    };
    uses(old, 1, true, call);
    uses(buffer.cast(), words(kind) + 1, true, call);
    // SAFETY: the program hands in a buffer of so many bytes.
    match unsafe { initstate_r(seed, buffer, bytes, additive()) } {
        0 => old.cast(),
        _ => std::ptr::null_mut(),
    }
}

extern "C" fn other_array(buffer: *mut c_char) -> *mut c_char {
    let call = step(ADDITIVE);
    let old = array();
    uses(old, 1, true, call);
    uses(buffer.cast(), 1, false, call);
    // SAFETY: the program hands in a buffer that `initstate` has filled.
    match unsafe { setstate_r(buffer, additive()) } {
        0 => old.cast(),
        _ => std::ptr::null_mut(),
    }
}

/// Draws from the linear generator, whose state is shared.
fn linear_draw<T: Default>(draw: unsafe extern "C" fn(*mut Linear, *mut T) -> c_int) -> T {
    step(LINEAR);
    let mut drawn = T::default();
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { draw(linear(), &mut drawn) };
    drawn
}

/// Draws with a state of the caller: only the parameters are shared, and they are read.
fn own_draw<T: Default>(
    draw: unsafe extern "C" fn(*mut u16, *mut Linear, *mut T) -> c_int,
    x: *mut u16,
) -> T {
    let mut drawn = T::default();
    // SAFETY: the program hands in three numbers.
    unsafe { draw(x, linear(), &mut drawn) };
    drawn
}

extern "C" fn fraction() -> c_double {
    linear_draw(drand48_r)
}

extern "C" fn linear_number() -> c_long {
    linear_draw(lrand48_r)
}

extern "C" fn signed_number() -> c_long {
    linear_draw(mrand48_r)
}

extern "C" fn own_fraction(x: *mut u16) -> c_double {
    own_draw(erand48_r, x)
}

extern "C" fn own_number(x: *mut u16) -> c_long {
    own_draw(nrand48_r, x)
}

extern "C" fn own_signed(x: *mut u16) -> c_long {
    own_draw(jrand48_r, x)
}

extern "C" fn linear_seed(seed: c_long) {
    step(LINEAR);
    // SAFETY: as in `linear_draw`.
    unsafe { srand48_r(seed, linear()) };
}

extern "C" fn linear_state(x: *mut u16) -> *mut u16 {
    step(LINEAR);
    // SAFETY: the program hands in three numbers.
    unsafe { seed48_r(x, linear()) };
    previous_state() as *mut u16
}

/// Where `seed48` leaves the state before.
pub(crate) fn previous_state() -> usize {
    // SAFETY: a field of a static.
    unsafe { &raw mut (*linear()).old as usize }
}

extern "C" fn linear_parameters(parameters: *mut u16) {
    step(LINEAR);
    // SAFETY: the program hands in seven numbers.
    unsafe { lcong48_r(parameters, linear()) };
}

export! {
    rand => number;
    srand => seed;
    random => long_number;
    srandom => seed;
    initstate => new_array;
    setstate => other_array;
    lrand48 => linear_number;
    mrand48 => signed_number;
    drand48 => fraction;
    erand48 => own_fraction;
    nrand48 => own_number;
    jrand48 => own_signed;
    srand48 => linear_seed;
    seed48 => linear_state;
    lcong48 => linear_parameters;
}
