//! Idioms of concurrent programs over std's own types, right ones and wrong ones.

#![cfg(test)]

use std as rt;

#[path = "../../../../raddle/tests/idioms/bodies.rs"]
#[macro_use]
mod bodies;

macro_rules! tests {
    (right: $($right:ident),*; wrong: $($wrong:ident => $kinds:expr),*; races: $($race:ident),*;) => {
        mod right {
            $(#[test] fn $right() { super::bodies::$right(); })*
        }
        mod wrong {
            $(#[test] fn $wrong() { super::bodies::$wrong(); })*
        }
        mod races {
            $(#[test] fn $race() { super::bodies::$race(); })*
        }
    };
}

list!(tests);
