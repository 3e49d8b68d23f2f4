//! The intrinsics of the Software Verification Competition.
//!
//! # Inputs
//!
//! `__VERIFIER_nondet_bool` gives both values. Other types have too many: they give the whole numbers of a range, -1 to 1 unless
//! `RADDLE_NONDET=lo..hi` says otherwise (both ends belong to it), as far as the type has them; a pointer is null. A list, such as
//! `RADDLE_NONDET=0,7,1000000`, gives these numbers (and both truth values). What was covered is said with the result, which then
//! never is *verified*.
//!
//! # Atomic blocks
//!
//! What is between `__VERIFIER_atomic_begin` and `__VERIFIER_atomic_end`, or in a function whose name begins with
//! `__VERIFIER_atomic_`, is not interrupted by steps on memory of other threads. How, and why that misses nothing, is said at the
//! runtime's `Blocks`. That a program has such blocks is learned when it enters the first one; then the search starts again.

use crate::shim::{Call, call, export, return_address};
use crate::start;
use explore::{CaveatKind, FailureKind, ThreadId};
use raddle::Report;
use runtime::Handle;
use std::sync::OnceLock;

/// The values of inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Range {
    Between {
        low: i128,
        high: i128,
    },
    /// In order, each once.
    List(Vec<i128>),
}

impl Range {
    /// `lo..hi` or `a,b,c`.
    fn read(text: &str) -> Option<Range> {
        let Some((low, high)) = text.split_once("..") else {
            let mut list = text.split(',').map(|v| v.trim().parse().ok()).collect::<Option<Vec<i128>>>()?;
            list.sort_unstable();
            list.dedup();
            return Some(Range::List(list));
        };
        let high = high.strip_prefix('=').unwrap_or(high);
        let (low, high): (i128, i128) = (low.trim().parse().ok()?, high.trim().parse().ok()?);
        (low <= high && high.abs_diff(low) < 1 << 20).then_some(Range::Between { low, high })
    }

    /// How many of them a type has, and the n-th.
    fn of_type(&self, least: i128, most: i128) -> (u32, impl Fn(u32) -> i128) {
        let some: Vec<i128> = match self {
            Range::List(_) if (least, most) == (0, 1) => vec![0, 1],
            Range::List(list) => list.iter().copied().filter(|v| (least..=most).contains(v)).collect(),
            Range::Between { .. } => Vec::new(),
        };
        let (low, count) = match self {
            Range::Between { low, high } => {
                let (low, high) = (*low.max(&least), *high.min(&most));
                (low, (high - low + 1).max(0) as u32)
            }
            Range::List(_) => (0, some.len() as u32),
        };
        (count, move |n| some.get(n as usize).copied().unwrap_or(low + i128::from(n)))
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Range::Between { low, high } => write!(f, "from {low} to {high}"),
            Range::List(list) => {
                let list: Vec<String> = list.iter().map(i128::to_string).collect();
                f.write_str(&list.join(", "))
            }
        }
    }
}

static RANGE: OnceLock<Range> = OnceLock::new();

/// What is learned of the program. It is allocated, so that processes share it where executions have their own.
#[derive(Default)]
struct Learned {
    /// It has asked for an input that was not covered whole.
    partly: bool,
    /// It has atomic blocks.
    blocks: bool,
    /// Functions that are atomic blocks, by their addresses.
    functions: Vec<(usize, usize)>,
}

static mut LEARNED: *mut Learned = std::ptr::null_mut();

/// Whether there are any of these functions: to enter or to leave another one is nothing.
pub(crate) static mut HAS_FUNCTIONS: bool = false;

/// Called before the first execution.
pub(crate) fn prepare() {
    // A range that cannot be read ends the program here, before it does anything.
    range();
    let functions = crate::functions::named("__VERIFIER_atomic_");
    let learned = Learned { partly: false, blocks: !functions.is_empty(), functions };
    // SAFETY: nothing else runs yet.
    unsafe {
        HAS_FUNCTIONS = !learned.functions.is_empty();
        LEARNED = Box::leak(Box::new(learned));
    }
}

fn learned() -> &'static mut Learned {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a call of this; `prepare` was called
    // before the first execution.
    unsafe { &mut *LEARNED }
}

fn range() -> &'static Range {
    RANGE.get_or_init(|| {
        let Ok(text) = std::env::var("RADDLE_NONDET") else { return Range::Between { low: -1, high: 1 } };
        Range::read(&text).unwrap_or_else(|| {
            start::die(&format!(
                "RADDLE_NONDET is set to {text:?}; it is a range `lo..hi` of at most a million whole numbers, such as `0..3`, or a \
                 list, such as `0,7,1000`"
            ))
        })
    })
}

/// An input of a type that has the numbers from `least` to `most`.
fn input(least: i128, most: i128) -> i128 {
    let (count, nth) = range().of_type(least, most);
    if count == 0 {
        // No number of the range is one of this type.
        if runtime::in_execution() {
            note_partial_inputs();
        }
        return least;
    }
    if i128::from(count) != most - least + 1 && runtime::in_execution() {
        note_partial_inputs();
    }
    if !runtime::in_execution() {
        return nth(0);
    }
    let call = call();
    runtime::settle();
    nth(runtime::choose(count, call.place))
}

/// Notes that inputs are explored in part of their range.
fn note_partial_inputs() {
    learned().partly = true;
    runtime::caveat(
        CaveatKind::Inputs,
        format!(
            "__VERIFIER_nondet_* returned the numbers {}, as far as the type has them: other inputs were not explored \
             (RADDLE_NONDET=lo..hi sets the range)",
            range()
        ),
        None,
    );
}

/// Adds the range of inputs to the bound of a report.
pub(crate) fn name_inputs(report: &mut Report) {
    if !learned().partly {
        return;
    }
    let inputs = format!("inputs {}", range());
    report.bound = Some(match report.bound.take() {
        Some(bound) => format!("{bound}, {inputs}"),
        None => inputs,
    });
}

macro_rules! inputs {
    ($($name:ident: $ty:ty, $least:expr, $most:expr;)*) => {$(
        extern "C" fn $name() -> $ty {
            input($least as i128, $most as i128) as $ty
        }
    )*};
}

inputs! {
    bool_: u32, 0, 1;
    char_: i8, i8::MIN, i8::MAX;
    uchar: u8, 0, u8::MAX;
    short: i16, i16::MIN, i16::MAX;
    ushort: u16, 0, u16::MAX;
    int: i32, i32::MIN, i32::MAX;
    uint: u32, 0, u32::MAX;
    long: i64, i64::MIN, i64::MAX;
    ulong: u64, 0, u64::MAX;
    float: f32, i64::MIN, i64::MAX;
    double: f64, i64::MIN, i64::MAX;
}

extern "C" fn pointer() -> usize {
    if runtime::in_execution() {
        note_partial_inputs();
    }
    0
}

extern "C" fn assume(condition: i32) {
    if runtime::in_execution() {
        let call = call();
        runtime::settle();
        runtime::assume(condition != 0, call.place);
    }
}

/// What stands for the lock of atomic blocks.
static LOCK_AT: u64 = 0;

/// By thread: how deep in blocks it is.
static mut DEPTH: [u32; explore::MAX_THREADS] = [0; explore::MAX_THREADS];

fn lock() -> &'static Handle {
    &crate::table::sync(&raw const LOCK_AT as usize).handle
}

/// A thread begins.
#[inline]
pub(crate) fn fresh(t: ThreadId) {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { DEPTH[t.index()] = 0 };
}

/// An execution begins.
pub(crate) fn begin() {
    if learned().blocks {
        runtime::have_blocks(lock(), runtime::Place::at(0));
    }
}

fn depth() -> &'static mut u32 {
    // SAFETY: as above; the borrow is not held over a step.
    unsafe { &mut (*(&raw mut DEPTH))[runtime::current().index()] }
}

fn enter(call: Call) {
    if !learned().blocks {
        learned().blocks = true;
        runtime::restart_soon();
    }
    if *depth() == 0 {
        runtime::enter_block(call.place);
    }
    *depth() += 1;
}

fn leave(call: Call) {
    let depth_now = depth();
    if *depth_now == 0 {
        runtime::settle();
        let what = "__VERIFIER_atomic_end without __VERIFIER_atomic_begin".to_owned();
        runtime::fail(FailureKind::LockMisuse, what, call.place);
    }
    *depth_now -= 1;
    if *depth_now == 0 {
        runtime::leave_block(call.place);
    }
}

extern "C" fn atomic_begin() {
    if runtime::in_execution() {
        enter(call());
    }
}

extern "C" fn atomic_end() {
    if runtime::in_execution() {
        leave(call());
    }
}

#[inline]
fn in_atomic_function() -> bool {
    if !runtime::in_execution() {
        return false;
    }
    let functions = &learned().functions;
    !functions.is_empty() && {
        let at = return_address();
        functions.iter().any(|(start, end)| (*start..*end).contains(&at))
    }
}

/// A function of the program is entered.
pub(crate) extern "C" fn entered(_from: usize) {
    if in_atomic_function() {
        enter(call());
    }
}

/// It is left.
pub(crate) extern "C" fn left() {
    if in_atomic_function() {
        leave(call());
    }
}

export! {
    __VERIFIER_assume => assume;
    __VERIFIER_atomic_begin => atomic_begin;
    __VERIFIER_atomic_end => atomic_end;
    __VERIFIER_nondet_bool => bool_;
    __VERIFIER_nondet__Bool => bool_;
    __VERIFIER_nondet_char => char_;
    __VERIFIER_nondet_uchar => uchar;
    __VERIFIER_nondet_u8 => uchar;
    __VERIFIER_nondet_short => short;
    __VERIFIER_nondet_ushort => ushort;
    __VERIFIER_nondet_u16 => ushort;
    __VERIFIER_nondet_int => int;
    __VERIFIER_nondet_uint => uint;
    __VERIFIER_nondet_u32 => uint;
    __VERIFIER_nondet_unsigned => uint;
    __VERIFIER_nondet_long => long;
    __VERIFIER_nondet_longlong => long;
    __VERIFIER_nondet_loff_t => long;
    __VERIFIER_nondet_ulong => ulong;
    __VERIFIER_nondet_ulonglong => ulong;
    __VERIFIER_nondet_size_t => ulong;
    __VERIFIER_nondet_float => float;
    __VERIFIER_nondet_double => double;
    __VERIFIER_nondet_pointer => pointer;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, least: i128, most: i128) -> Vec<i128> {
        let range = Range::read(text).expect(text);
        let (count, nth) = range.of_type(least, most);
        (0..count).map(nth).collect()
    }

    #[test]
    fn inputs_are_a_range_or_a_list_as_far_as_the_type_has_them() {
        assert_eq!(all("-1..1", -128, 127), [-1, 0, 1]);
        assert_eq!(all("-1..=1", 0, 255), [0, 1]);
        assert_eq!(all("5..7", 0, 1), Vec::<i128>::new());
        assert_eq!(all("7, 1000000000,-3,7", i32::MIN.into(), i32::MAX.into()), [-3, 7, 1_000_000_000]);
        assert_eq!(all("7,300", 0, 255), [7]);
        assert_eq!(all("7,300", 0, 1), [0, 1]);
        for bad in ["", "a", "3..1", "0..2000000", "1,,2"] {
            assert_eq!(Range::read(bad), None, "{bad}");
        }
    }
}
