//! The programs as tests over std's own types.

#[cfg(test)]
mod programs {
    use std::{sync, thread, time};
    include!("programs.rs");

    macro_rules! tests {
        ($($name:ident)*) => { $( #[test] fn $name() { super::$name() } )* };
    }
    mod tests {
        all_programs!(tests);
    }
}
