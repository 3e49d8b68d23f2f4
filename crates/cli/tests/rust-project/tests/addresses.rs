//! Addresses that are compared as numbers, after the memory was freed.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::Arc;
use std::thread;

#[test]
fn number_of_a_freed_box() {
    let a = Box::new(1u64);
    let before = &*a as *const u64 as usize;
    drop(a);
    let b = Box::new(2u64);
    assert_ne!(before, &*b as *const u64 as usize);
}

#[test]
fn exchange_of_a_freed_box() {
    let x = AtomicUsize::new(0);
    let a = Box::new(1u64);
    x.store(&*a as *const u64 as usize, SeqCst);
    drop(a);
    let b = Box::new(2u64);
    let exchanged = x.compare_exchange(&*b as *const u64 as usize, 0, SeqCst, SeqCst);
    assert!(exchanged.is_err(), "another box");
}

#[test]
fn exchange_of_a_box_of_a_thread_that_has_ended() {
    let x = Arc::new(AtomicUsize::new(0));
    let other = x.clone();
    let t = thread::spawn(move || {
        let a = Box::new(1u64);
        other.store(&*a as *const u64 as usize, SeqCst);
    });
    t.join().unwrap();
    let b = Box::new(2u64);
    let exchanged = x.compare_exchange(&*b as *const u64 as usize, 0, SeqCst, SeqCst);
    assert!(exchanged.is_err(), "another box");
}
