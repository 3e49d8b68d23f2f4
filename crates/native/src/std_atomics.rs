//! `fetch_max` and `fetch_min` of Rust's atomics.
//!
//! The compiler's pass announces all other atomic operations. It leaves the greatest and the least value as they are, and the compiler makes
//! loops of machine code of them. So the functions of core are replaced, which are functions of their own in a crate that is compiled
//! without optimisation.

use crate::shim::export;
use crate::std_locks::{self, Function};
use crate::{atomics, functions};

/// A memory order of Rust as one of C.
fn order(order: u8) -> i32 {
    // As `core::sync::atomic::Ordering` has them: relaxed, release, acquire, both, and sequentially consistent.
    [0, 3, 2, 4].get(usize::from(order)).copied().unwrap_or(5)
}

macro_rules! replacements {
    ($($unsigned:ty, $signed:ty: $max:ident $min:ident $signed_max:ident $signed_min:ident;)*) => {$(
        extern "C" fn $max(address: usize, value: $unsigned, mo: u8) -> $unsigned {
            atomics::rmw(address, order(mo), |old: $unsigned| old.max(value))
        }
        extern "C" fn $min(address: usize, value: $unsigned, mo: u8) -> $unsigned {
            atomics::rmw(address, order(mo), |old: $unsigned| old.min(value))
        }
        extern "C" fn $signed_max(address: usize, value: $unsigned, mo: u8) -> $unsigned {
            atomics::rmw(address, order(mo), |old: $unsigned| old.cast_signed().max(value.cast_signed()).cast_unsigned())
        }
        extern "C" fn $signed_min(address: usize, value: $unsigned, mo: u8) -> $unsigned {
            atomics::rmw(address, order(mo), |old: $unsigned| old.cast_signed().min(value.cast_signed()).cast_unsigned())
        }
    )*};
}

replacements! {
    u8, i8: max8 min8 signed_max8 signed_min8;
    u16, i16: max16 min16 signed_max16 signed_min16;
    u32, i32: max32 min32 signed_max32 signed_min32;
    u64, i64: max64 min64 signed_max64 signed_min64;
}

export! {
    raddle_std_max8 => max8;
    raddle_std_min8 => min8;
    raddle_std_signed_max8 => signed_max8;
    raddle_std_signed_min8 => signed_min8;
    raddle_std_max16 => max16;
    raddle_std_min16 => min16;
    raddle_std_signed_max16 => signed_max16;
    raddle_std_signed_min16 => signed_min16;
    raddle_std_max32 => max32;
    raddle_std_min32 => min32;
    raddle_std_signed_max32 => signed_max32;
    raddle_std_signed_min32 => signed_min32;
    raddle_std_max64 => max64;
    raddle_std_min64 => min64;
    raddle_std_signed_max64 => signed_max64;
    raddle_std_signed_min64 => signed_min64;
}

/// The types, as both ways of mangling write their names and how Rust names their values, and what stands in for `fetch_max` and `fetch_min`.
const REPLACED: [(&str, &str, Function, Function); 10] = [
    ("8AtomicU8", "Atomic$LT$u8$GT$", raddle_std_max8, raddle_std_min8),
    ("8AtomicI8", "Atomic$LT$i8$GT$", raddle_std_signed_max8, raddle_std_signed_min8),
    ("9AtomicU16", "Atomic$LT$u16$GT$", raddle_std_max16, raddle_std_min16),
    ("9AtomicI16", "Atomic$LT$i16$GT$", raddle_std_signed_max16, raddle_std_signed_min16),
    ("9AtomicU32", "Atomic$LT$u32$GT$", raddle_std_max32, raddle_std_min32),
    ("9AtomicI32", "Atomic$LT$i32$GT$", raddle_std_signed_max32, raddle_std_signed_min32),
    ("9AtomicU64", "Atomic$LT$u64$GT$", raddle_std_max64, raddle_std_min64),
    ("9AtomicI64", "Atomic$LT$i64$GT$", raddle_std_signed_max64, raddle_std_signed_min64),
    ("11AtomicUsize", "Atomic$LT$usize$GT$", raddle_std_max64, raddle_std_min64),
    ("11AtomicIsize", "Atomic$LT$isize$GT$", raddle_std_signed_max64, raddle_std_signed_min64),
];

/// Puts these functions in place, before the first execution.
pub(crate) fn prepare() {
    let base = functions::base();
    functions::each(|symbol| {
        let Ok(name) = std::str::from_utf8(symbol.name) else { return };
        let Some((_, method)) = name.split_once("4core4sync6atomic").filter(|_| !symbol.is_variable) else {
            return;
        };
        let found =
            REPLACED.iter().find(|(named, shown, ..)| method.contains(named) || method.contains(shown));
        let Some((.., max, min)) = found else { return };
        let range = (base + symbol.address, base + symbol.address + symbol.size);
        for (function, by) in [("9fetch_max", max), ("9fetch_min", min)] {
            if std_locks::is_named(name, "4core4sync6atomic", function) {
                std_locks::replace_whole(range, *by);
            }
        }
    });
}
