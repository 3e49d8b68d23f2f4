//! Tests of plain Rust: which function is run instead of `main`, and what became of it.
//!
//! The harness around a test makes a thread for it, a channel, and much else that has schedules of its own. So the function of the
//! test is called straight away, where `cargo raddle` has found it (`RADDLE_ENTRY`, its address in the file). Where it has not, or the
//! harness is needed to judge the test (it should panic, or returns a result), `RADDLE_LIBTEST` is set: the first thread cannot be
//! made then, as if there were too many, and the harness runs the test on its own thread, one thing after the other.
//!
//! A panic that leaves the test finds nobody to catch it: std gives up with `abort`, with the message written already.

use crate::shim::export_past;
use crate::{functions, names, real::real, shim, start, threads};
use explore::{CaveatKind, FailureKind, ThreadId};
use runtime::Place;
use std::ffi::c_void;
use std::sync::OnceLock;

/// How the program is to be run.
struct Tests {
    /// The function to run instead of `main`.
    entry: Option<usize>,
    /// The program is a harness that runs one test.
    harness: bool,
}

static TESTS: OnceLock<Tests> = OnceLock::new();

fn tests() -> &'static Tests {
    TESTS.get_or_init(|| {
        let entry = std::env::var("RADDLE_ENTRY").ok().map(|text| {
            match usize::from_str_radix(text.trim_start_matches("0x"), 16) {
                Ok(address) => functions::base() + address,
                Err(_) => {
                    start::die(&format!("RADDLE_ENTRY is set to {text:?}; it is an address in the file"))
                }
            }
        });
        Tests { entry, harness: std::env::var_os("RADDLE_LIBTEST").is_some_and(|v| v == "1") }
    })
}

/// The function to run instead of `main`.
pub(crate) fn entry() -> Option<usize> {
    tests().entry
}

/// Whether the program is Rust.
pub(crate) fn is_rust() -> bool {
    tests().entry.is_some() || tests().harness
}

/// Where the functions of the harness are: the one that calls a test, and all.
struct Harness {
    calls_test: Vec<(usize, usize)>,
    all: Vec<(usize, usize)>,
}

static HARNESS: OnceLock<Harness> = OnceLock::new();

fn harness() -> &'static Harness {
    HARNESS.get_or_init(|| {
        let mut found = Harness { calls_test: Vec::new(), all: Vec::new() };
        let base = functions::base();
        functions::each(|symbol| {
            let Ok(name) = std::str::from_utf8(symbol.name) else { return };
            // A crate in both ways of mangling.
            let is_of_test =
                name.starts_with("_ZN4test") || name.starts_with("_R") && name.contains("_4test");
            if !symbol.is_variable && is_of_test {
                let range = (base + symbol.address, base + symbol.address + symbol.size);
                found.all.push(range);
                if name.contains("4test28__rust_begin_short_backtrace") {
                    found.calls_test.push(range);
                }
            }
        });
        found
    })
}

/// Whether a call that returns to `at` stands in one of `ranges`. The call of a function that never returns can be the last
/// instruction of its caller, so the return address itself may be outside.
fn is_in(ranges: &[(usize, usize)], at: usize) -> bool {
    ranges.iter().any(|(a, b)| (*a..*b).contains(&at.wrapping_sub(1)))
}

/// Whether the harness itself makes the call at hand, and not the test that it runs.
pub(crate) fn is_in_harness() -> bool {
    if !tests().harness {
        return false;
    }
    shim::undisturbed(|| {
        // First, because `harness` makes calls that overwrite the last call of the thread.
        let own = names::frames(runtime::current());
        let harness = harness();
        let found = own.iter().map(|f| f.return_address).find(|at| is_in(&harness.all, *at));
        found.is_some_and(|at| !is_in(&harness.calls_test, at))
    })
}

/// The only exit code that the harness passes to `exit`: a test has failed. After success it returns from `main`.
const TESTS_FAILED: i32 = 101;

/// A test calls `exit`, or something of its kind: neither it nor the tests after it would run to their ends.
pub(crate) fn fail_if_test_exits(code: i32, place: Place) {
    if is_rust() && code != TESTS_FAILED || is_in_test() {
        let message = format!("the test ends the process, with exit code {code}, before it has returned");
        runtime::fail(FailureKind::ExitCode, message, place);
    }
}

/// Whether the code of a test makes the call at hand, or a thread of the test where there is no harness.
fn is_in_test() -> bool {
    if !tests().harness {
        return tests().entry.is_some();
    }
    shim::undisturbed(|| {
        // First, because `harness` makes calls that overwrite the last call of the thread.
        let own = names::frames(runtime::current());
        let calls_test = &harness().calls_test;
        own.iter().any(|f| is_in(calls_test, f.return_address))
    })
}

/// Whether the harness has asked for its thread, in this execution.
static mut ASKED: bool = false;
/// How many numbers each thread has drawn.
static mut DRAWN: [u64; explore::MAX_THREADS] = [0; explore::MAX_THREADS];

/// An execution begins.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe { ASKED = false };
}

/// A thread begins.
#[inline]
pub(crate) fn fresh(t: ThreadId) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { DRAWN[t.index()] = 0 };
}

/// Whether a thread that is asked for is the one that the harness would run the test on.
pub(crate) fn is_harness_thread() -> bool {
    // SAFETY: one OS thread alone runs code of the program.
    tests().harness && unsafe { !std::mem::replace(&mut *(&raw mut ASKED), true) }
}

/// Runs the function of a test.
///
/// # Safety
///
/// On a fiber; `function` is that of a test, which takes nothing and returns nothing.
pub(crate) unsafe fn run(function: usize) {
    crate::std_threads::name_main(threads::handle(ThreadId::MAIN) as usize);
    // SAFETY: by the contract.
    unsafe { threads::run_destructor(function as *const c_void, 0) };
}

/// If the program gives up because of a panic, that is what it fails with.
pub(crate) fn fail_if_panicked(place: Place) {
    if !is_rust() {
        return;
    }
    if let Some(message) = last_panic(&start::look_at_output()) {
        runtime::fail(FailureKind::Panic, message, place);
    }
}

/// What the last panic said, and where it was, from what the panic hook of std has written.
fn last_panic(output: &str) -> Option<String> {
    let text = &output[output.rfind("panicked at ")?..];
    let end = ["\nstack backtrace:", "\nnote: run with", "\nfatal runtime error:", "\nfailures:", "\n\n"]
        .iter()
        .filter_map(|mark| text.find(mark))
        .min();
    let text = text[..end.unwrap_or(text.len())].trim_end();
    let (place, message) = text["panicked at ".len()..].split_once(":\n")?;
    Some(format!("{message} (panicked at {place})"))
}

/// What the program has written, without what std says of a panic that nobody catches: there was nobody because of us.
pub(crate) fn without_end(output: &str) -> String {
    let ours = |line: &&str| !line.starts_with("fatal runtime error: failed to initiate panic");
    output.split_inclusive('\n').filter(ours).collect()
}

/// A number for the running thread: the same in each execution that comes to the same call in the thread.
fn draw() -> u64 {
    let t = if runtime::in_execution() { runtime::current().index() } else { 0 };
    // SAFETY: one OS thread alone runs code of the program.
    let n = unsafe {
        let n = &mut (*(&raw mut DRAWN))[t];
        *n += 1;
        *n
    };
    let mut z = (((t as u64) << 32) + n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z ^ (z >> 29)
}

/// Where the program makes seeds of hash maps, and whether it goes through a hash map in its own order.
struct Seeds {
    made: Vec<(usize, usize)>,
    iterates: bool,
}

static SEEDS: OnceLock<Seeds> = OnceLock::new();

fn seeds() -> &'static Seeds {
    SEEDS.get_or_init(|| {
        let mut found = Seeds { made: Vec::new(), iterates: false };
        let base = functions::base();
        functions::each(|symbol| {
            let Ok(name) = std::str::from_utf8(symbol.name) else { return };
            if symbol.is_variable {
                return;
            }
            if name.contains("19hashmap_random_keys") {
                found.made.push((base + symbol.address, base + symbol.address + symbol.size));
            }
            // Both ways of mangling. The harness goes through maps of its own.
            let of_map = name.contains("collections..hash..") || name.contains("11collections4hash");
            let of_harness = name.contains("_4test") || name.starts_with("_ZN4test");
            found.iterates |= of_map && name.contains("Iterator") && !of_harness;
        });
        found
    })
}

/// Names random numbers that the test uses: each execution has the same ones.
fn name_random_numbers() {
    if !is_rust() || is_in_harness() {
        return;
    }
    let of_map = shim::undisturbed(|| {
        let own = names::frames(runtime::current());
        let made = &seeds().made;
        own.iter().any(|f| made.iter().any(|(a, b)| (*a..*b).contains(&f.return_address)))
    });
    if !of_map {
        let text =
            "random numbers of the system are the same in each execution: one choice of many was explored";
        runtime::caveat(CaveatKind::Inputs, text, None);
    } else if seeds().iterates {
        let text = "the seed of hash maps is the same in each execution: what depends on the order of their elements was explored for one order";
        runtime::caveat(CaveatKind::Inputs, text, None);
    }
}

/// Random bytes, which must be the same whenever an execution is repeated: seeds of hash maps are made of them.
pub(crate) fn fill(buffer: *mut u8, bytes: usize) {
    if runtime::in_execution() {
        name_random_numbers();
    }
    let mut at = 0;
    while at < bytes {
        let word = draw().to_le_bytes();
        let n = (bytes - at).min(8);
        // SAFETY: the program hands in a buffer of this size.
        unsafe { word.as_ptr().copy_to_nonoverlapping(buffer.add(at), n) };
        at += n;
    }
}

extern "C" fn random(buffer: *mut u8, bytes: usize, flags: u32) -> isize {
    if !runtime::in_execution() {
        return random_inside(buffer, bytes, flags);
    }
    fill(buffer, bytes);
    bytes as isize
}

extern "C" fn random_inside(buffer: *mut u8, bytes: usize, flags: u32) -> isize {
    real!(getrandom(buffer, bytes, flags): fn(*mut u8, usize, u32) -> isize)
}

extern "C" fn entropy(buffer: *mut u8, bytes: usize) -> libc::c_int {
    if !runtime::in_execution() {
        return entropy_inside(buffer, bytes);
    }
    fill(buffer, bytes);
    0
}

extern "C" fn entropy_inside(buffer: *mut u8, bytes: usize) -> libc::c_int {
    real!(getentropy(buffer, bytes): fn(*mut u8, usize) -> libc::c_int)
}

export_past! {
    getrandom => random, random_inside;
    getentropy => entropy, entropy_inside;
}
