//! Values of sixteen bytes as words: each value that is met gets a number, which it keeps.

use std::collections::HashMap;

/// The numbers by value, and the values by number. Allocated, so that processes share it where executions have their own.
type Wide = (HashMap<u128, u64>, Vec<u128>);

static mut WIDE: *mut Wide = std::ptr::null_mut();

/// Called before the first execution.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet.
    unsafe { WIDE = Box::leak(Box::default()) };
}

fn known() -> &'static mut Wide {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a call of this; `prepare` was called
    // before the first step.
    unsafe { &mut *WIDE }
}

/// The number of a value.
pub(crate) fn number(value: u128) -> u64 {
    let (numbers, values) = known();
    *numbers.entry(value).or_insert_with(|| {
        values.push(value);
        values.len() as u64 - 1
    })
}

/// The value of a number.
pub(crate) fn value(number: u64) -> u128 {
    known().1[number as usize]
}

/// A number for what is in a larger object: two contents with the same one are taken to be the same.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let mut h = 0x9E37_79B9_7F4A_7C15u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        h = (h ^ u64::from_le_bytes(word)).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29);
    }
    h
}
