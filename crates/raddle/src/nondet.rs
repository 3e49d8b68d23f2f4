//! Nondeterministic data: every value is explored.

use runtime::Place;

/// One of the numbers below `n`; each is explored.
///
/// # Panics
///
/// Panics if `n` is 0 or more than `u32::MAX`.
///
/// ```
/// let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
/// raddle::check(|| {
///     seen.lock().unwrap().insert(raddle::choose(3));
/// });
/// assert_eq!(seen.into_inner().unwrap().len(), 3);
/// ```
#[track_caller]
pub fn choose(n: usize) -> usize {
    assert!(n > 0, "choose(0): there is nothing to choose from");
    let n = u32::try_from(n).unwrap_or_else(|_| panic!("choose({n}): more than u32::MAX choices"));
    runtime::choose(n, Place::caller()) as usize
}

/// Any value of a type; each is explored.
///
/// ```
/// raddle::check(|| {
///     let (a, b) = raddle::any::<(bool, bool)>();
///     assert_eq!(!(a && b), !a || !b);
/// });
/// ```
#[track_caller]
pub fn any<T: Nondet>() -> T {
    T::any()
}

/// Leaves this execution out unless the condition holds: it counts neither as seen nor as failed.
///
/// ```
/// raddle::check(|| {
///     let n = raddle::choose(10);
///     raddle::assume(n % 2 == 0);
///     assert_ne!(n, 7);
/// });
/// ```
#[inline]
#[track_caller]
pub fn assume(condition: bool) {
    runtime::assume(condition, Place::caller());
}

/// A type with few enough values to try them all.
///
/// ```
/// # #[derive(Debug, PartialEq)]
/// enum Light { Red, Green }
///
/// impl raddle::Nondet for Light {
///     fn any() -> Light {
///         if raddle::any() { Light::Red } else { Light::Green }
///     }
/// }
///
/// raddle::check(|| assert!(matches!(raddle::any::<Light>(), Light::Red | Light::Green)));
/// ```
pub trait Nondet: Sized {
    /// Any of its values.
    fn any() -> Self;
}

impl Nondet for bool {
    #[track_caller]
    fn any() -> bool {
        choose(2) == 1
    }
}

macro_rules! small_integers {
    ($($int:ty)*) => {$(
        impl Nondet for $int {
            #[track_caller]
            fn any() -> $int {
                choose(1 << <$int>::BITS) as $int
            }
        }
    )*};
}
small_integers!(u8 i8 u16 i16);

impl Nondet for std::cmp::Ordering {
    #[track_caller]
    fn any() -> std::cmp::Ordering {
        use std::cmp::Ordering::*;
        [Less, Equal, Greater][choose(3)]
    }
}

impl<T: Nondet> Nondet for Option<T> {
    #[track_caller]
    fn any() -> Option<T> {
        if choose(2) == 0 { None } else { Some(T::any()) }
    }
}

impl<T: Nondet, E: Nondet> Nondet for Result<T, E> {
    #[track_caller]
    fn any() -> Result<T, E> {
        if choose(2) == 0 { Ok(T::any()) } else { Err(E::any()) }
    }
}

impl<T: Nondet, const N: usize> Nondet for [T; N] {
    #[track_caller]
    fn any() -> [T; N] {
        // Not `from_fn` with the function's path: the place would be lost in it.
        let mut all = Vec::with_capacity(N);
        for _ in 0..N {
            all.push(T::any());
        }
        all.try_into().unwrap_or_else(|_| unreachable!("N values were made"))
    }
}

macro_rules! tuples {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Nondet),*> Nondet for ($($name,)*) {
            #[track_caller]
            #[allow(clippy::unused_unit, reason = "the empty tuple is one of the cases")]
            fn any() -> ($($name,)*) {
                ($($name::any(),)*)
            }
        }
    )*};
}
tuples!(() (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F));
