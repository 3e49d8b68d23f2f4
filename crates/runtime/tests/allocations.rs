//! No heap allocation per step once warm.
#![allow(missing_docs)]

mod common;

use common::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local!(static COUNT: Cell<u64> = const { Cell::new(0) });

// SAFETY: everything is handed on to the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
        // SAFETY: by our caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: by our caller's contract.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of the executions after the first 20, for a test with `n` rounds of steps.
fn allocations(n: usize) -> u64 {
    let mut search = Naive { limit: Some(60), ..Naive::default() };
    let mut session = runtime::Session::new(&settings());
    let test = move || {
        let (x, m) = (shared(Atomic::new(0)), shared(Mutex::new()));
        let (x1, m1) = (x.clone(), m.clone());
        let t = spawn(move || {
            for i in 0..n as u64 {
                x1.add(1);
                let _g = m1.lock();
                x1.store(i);
                x1.cas(7, 8);
            }
        });
        for _ in 0..n {
            let _g = m.lock();
            x.load();
            yield_now();
        }
        join(t);
    };
    let mut start = 0;
    for i in 0.. {
        if i == 20 {
            start = COUNT.with(Cell::get);
        }
        let once = session.run_once(&mut search, &test, false);
        if !once.again {
            return COUNT.with(Cell::get) - start;
        }
    }
    unreachable!()
}

#[test]
fn steps_do_not_allocate_once_warm() {
    // The explorer's own path is warm as well: the first run made it long enough.
    let (few, many) = (allocations(5), allocations(50));
    assert_eq!(few, many, "allocations must not depend on the number of steps");
}
