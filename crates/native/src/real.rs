//! The functions of the C library that ours stand in front of.

/// The next definition of a function after ours, looked up once.
macro_rules! real {
    ($name:ident($($arg:expr),* $(,)?): fn($($ty:ty),*) -> $ret:ty) => {{
        static FOUND: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let address = $crate::real::find(&FOUND, concat!(stringify!($name), "\0"));
        // SAFETY: the C library defines the function with this type.
        let f: unsafe extern "C" fn($($ty),*) -> $ret = unsafe { std::mem::transmute(address) };
        #[allow(unused_unsafe)]
        // SAFETY: the caller hands on what the program handed in.
        unsafe { f($($arg),*) }
    }};
}
pub(crate) use real;

use std::sync::atomic::{AtomicUsize, Ordering};

#[inline]
pub(crate) fn find(found: &AtomicUsize, name: &'static str) -> usize {
    match found.load(Ordering::Relaxed) {
        0 => look_up(found, name),
        address => address,
    }
}

#[cold]
fn look_up(found: &AtomicUsize, name: &'static str) -> usize {
    // SAFETY: the name ends with a zero byte.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr().cast()) } as usize;
    if address == 0 {
        crate::start::die(&format!("the C library has no `{}`", name.trim_end_matches('\0')));
    }
    found.store(address, Ordering::Relaxed);
    address
}
