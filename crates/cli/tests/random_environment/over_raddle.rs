//! The generated programs over raddle's types.

use raddle::boxed::Box as Block;
use raddle::{sync, thread};

/// A variable that is not atomic.
pub(crate) struct Var(raddle::cell::UnsafeCell<u64>);

// SAFETY: every access is checked for data races.
unsafe impl Sync for Var {}

impl Var {
    fn new(value: u64) -> Var {
        Var(raddle::cell::UnsafeCell::new(value))
    }
    fn read(&self) -> u64 {
        // SAFETY: the pointer is good during the call.
        self.0.with(|p| unsafe { *p })
    }
    fn write(&self, value: u64) {
        // SAFETY: as above.
        self.0.with_mut(|p| unsafe { *p = value });
    }
}

/// Bytes that are copied, compared and sorted, each a variable.
pub(crate) struct Bytes([raddle::cell::UnsafeCell<u8>; 8]);

// SAFETY: every access is checked for data races.
unsafe impl Sync for Bytes {}

impl Bytes {
    fn new() -> Bytes {
        Bytes(std::array::from_fn(|_| raddle::cell::UnsafeCell::new(0)))
    }
    fn read(&self, i: usize) -> u8 {
        // SAFETY: the pointer is good during the call.
        self.0[i].with(|p| unsafe { *p })
    }
    fn write(&self, i: usize, value: u8) {
        // SAFETY: as above.
        self.0[i].with_mut(|p| unsafe { *p = value });
    }
    fn copy(&self, to: usize, other: &Bytes, from: usize, n: usize) {
        let bytes: [u8; 8] = std::array::from_fn(|i| if i < n { other.read(from + i) } else { 0 });
        (0..n).for_each(|i| self.write(to + i, bytes[i]));
    }
    fn fill(&self, at: usize, value: u8, n: usize) {
        (at..at + n).for_each(|i| self.write(i, value));
    }
    fn compare(&self, at: usize, other: &Bytes, from: usize, n: usize) -> std::cmp::Ordering {
        let different = (0..n).map(|i| self.read(at + i).cmp(&other.read(from + i))).find(|o| o.is_ne());
        different.unwrap_or(std::cmp::Ordering::Equal)
    }
    fn find(&self, at: usize, value: u8, n: usize) -> Option<usize> {
        (0..n).find(|i| self.read(at + i) == value)
    }
    fn sort(&self, at: usize, n: usize) {
        let mut bytes: [u8; 8] = std::array::from_fn(|i| if i < n { self.read(at + i) } else { 0 });
        let before = bytes;
        bytes[..n].sort_unstable();
        // A byte that stays need not be written.
        (0..n).filter(|i| bytes[*i] != before[*i]).for_each(|i| self.write(at + i, bytes[i]));
    }
}

fn rest(yields: bool) {
    if yields {
        thread::yield_now();
    }
}

include!("rust_run.rs");
