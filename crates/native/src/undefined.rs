//! Indices past the end of an array, shifts by the width of their type or more, and divisions by zero.
//!
//! The compiler compares each index with the length of its array, each distance of a shift with the width of what is shifted, and each divisor
//! with zero (`-fsanitize=bounds,shift-exponent,integer-divide-by-zero`). Where the comparison fails, the program calls a handler with a
//! description of the place and the types. The handlers here report a failure. An access through a pointer is not compared with anything. Most
//! divisions by zero raise `SIGFPE`, and are reported as this signal is; gcc computes `1 / x` without a division.

use crate::shim::{call, export};
use explore::FailureKind;
use std::ffi::{CStr, c_char};

/// The place of an operation in the source.
#[repr(C)]
struct Location {
    file: *const c_char,
    line: u32,
    column: u32,
}

/// A type: its kind (0 for whole numbers), the sign in the lowest bit of `info` and the logarithm of the width above it, and the name.
#[repr(C)]
struct Described {
    kind: u16,
    info: u16,
    name: [c_char; 0],
}

/// What a handler gets: an array and its index, or what is shifted and the distance.
#[repr(C)]
struct Data {
    at: Location,
    first: *const Described,
    second: *const Described,
}

impl Described {
    /// The name of the type, in quotes.
    fn name(&self) -> String {
        // SAFETY: the compiler puts a string that ends with a null byte behind the two numbers.
        let name = unsafe { CStr::from_ptr(self.name.as_ptr()) }.to_string_lossy();
        format!("`{}`", name.trim_matches('\''))
    }

    /// A number of this type that fits into a register, and `None` for others.
    fn number(&self, value: usize) -> Option<i128> {
        let bits = 1_u32.checked_shl(u32::from(self.info >> 1)).filter(|b| self.kind == 0 && *b <= 64)?;
        let unused = 64 - bits;
        let shifted = (value as u64) << unused;
        Some(match self.info & 1 {
            1 => i128::from(shifted as i64 >> unused),
            _ => i128::from(shifted >> unused),
        })
    }

    fn show(&self, value: usize) -> String {
        self.number(value).map_or_else(|| "a number".to_owned(), |n| n.to_string())
    }
}

fn fail(kind: FailureKind, message: String, at: &Location) {
    if runtime::in_execution() {
        let call = call();
        runtime::settle();
        runtime::fail(kind, message, call.place);
    }
    // SAFETY: the compiler describes the place with the name of its file, or null.
    let file = (!at.file.is_null()).then(|| unsafe { CStr::from_ptr(at.file) }.to_string_lossy());
    let place = file.map(|f| format!("{f}:{}:{}", at.line, at.column));
    crate::start::fail_before_main(kind, &message, place)
}

extern "C" fn out_of_bounds(data: *const Data, index: usize) {
    // SAFETY: the compiler passes the description of an array and of the type of its index.
    let (at, array, of) = unsafe { (&(*data).at, &*(*data).first, &*(*data).second) };
    let message = format!("the index {} is not one of an array of type {}", of.show(index), array.name());
    fail(FailureKind::OutOfBounds, message, at);
}

extern "C" fn shift_out_of_bounds(data: *const Data, _: usize, distance: usize) {
    // SAFETY: the compiler passes the description of both operands.
    let (at, shifted, of) = unsafe { (&(*data).at, &*(*data).first, &*(*data).second) };
    let distance = of.show(distance);
    let message = format!("a value of type {} is shifted by {distance}, which is undefined", shifted.name());
    fail(FailureKind::Shift, message, at);
}

extern "C" fn division_by_zero(data: *const Location, _: usize, _: usize) {
    // SAFETY: the compiler passes the place of the division, with the type of its operands behind it.
    let at = unsafe { &*data };
    fail(FailureKind::Signal, crate::crash::DIVISION_BY_ZERO.to_owned(), at);
}

export! {
    __ubsan_handle_divrem_overflow => division_by_zero;
    __ubsan_handle_divrem_overflow_abort => division_by_zero;
    __ubsan_handle_out_of_bounds => out_of_bounds;
    __ubsan_handle_out_of_bounds_abort => out_of_bounds;
    __ubsan_handle_shift_out_of_bounds => shift_out_of_bounds;
    __ubsan_handle_shift_out_of_bounds_abort => shift_out_of_bounds;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_sign_and_the_width_of_their_type() {
        let of = |kind, info| Described { kind, info, name: [] };
        let int = of(0, 5 << 1 | 1);
        assert_eq!(int.number(0xffff_ffff), Some(-1));
        assert_eq!(int.number(7), Some(7));
        assert_eq!(of(0, 5 << 1).number(usize::MAX), Some(0xffff_ffff));
        assert_eq!(of(0, 6 << 1 | 1).number(usize::MAX), Some(-1));
        assert_eq!(of(0, 7 << 1).number(0), None);
        assert_eq!(of(1, 5 << 1).number(0), None);
    }
}
