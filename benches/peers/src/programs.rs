//! The programs, written once and made for each tool: only where `sync` and `thread` come from differs.
//!
//! `Arc` is std's everywhere, so that reference counts are not part of what is explored.

use std::sync::Arc;

/// The tests, by name, with the number of executions that an optimal search needs: one for each way in which dependent
/// steps can be ordered.
pub(crate) const TESTS: [Test; 8] = [
    Test { name: "spawn", about: "2 threads that do nothing", classes: 1, heavy: false },
    Test { name: "A", about: "2 threads x 3 fetch_add, one atomic", classes: 20, heavy: false },
    Test { name: "A2", about: "2 threads x 3 fetch_add, an atomic each", classes: 1, heavy: false },
    Test { name: "A3", about: "2 threads, store/load/store, 2 atomics", classes: 7, heavy: false },
    Test { name: "B", about: "3 threads, one mutex", classes: 6, heavy: false },
    Test { name: "B4", about: "4 threads, one mutex", classes: 24, heavy: true },
    Test { name: "C", about: "3 threads x 2 fetch_add, one atomic", classes: 90, heavy: false },
    Test { name: "C3", about: "3 threads x 3 fetch_add, one atomic", classes: 1680, heavy: true },
];

/// A test, whatever runs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Executions of an optimal search.
    pub(crate) classes: u64,
    /// Takes a peer many seconds.
    pub(crate) heavy: bool,
}

macro_rules! programs {
    ($tool:ident) => {
        pub(crate) mod $tool {
            use super::Arc;
            use $tool::sync::Mutex;
            use $tool::sync::atomic::{AtomicUsize, Ordering::SeqCst};
            use $tool::thread;

            /// The program of a test.
            pub(crate) fn program(test: &str) -> fn() {
                match test {
                    "spawn" => || threads(2, |_| || ()),
                    "A" => || additions(2, 3),
                    "A2" => || {
                        threads(2, |_| {
                            let own = AtomicUsize::new(0);
                            move || add(&own, 3)
                        })
                    },
                    "A3" => store_load_store,
                    "B" => || counter(3),
                    "B4" => || counter(4),
                    "C" => || additions(3, 2),
                    "C3" => || additions(3, 3),
                    _ => unreachable!("a test without a program"),
                }
            }

            fn threads<F: FnOnce() + Send + 'static>(n: usize, body: impl Fn(usize) -> F) {
                let handles: Vec<_> = (0..n).map(|i| thread::spawn(body(i))).collect();
                for handle in handles {
                    handle.join().unwrap();
                }
            }

            fn add(atomic: &AtomicUsize, times: usize) {
                for _ in 0..times {
                    atomic.fetch_add(1, SeqCst);
                }
            }

            fn additions(n: usize, times: usize) {
                let atomic = Arc::new(AtomicUsize::new(0));
                threads(n, |_| {
                    let atomic = atomic.clone();
                    move || add(&atomic, times)
                });
            }

            fn counter(n: usize) {
                let count = Arc::new(Mutex::new(0));
                threads(n, |_| {
                    let count = count.clone();
                    move || *count.lock().unwrap() += 1
                });
            }

            fn store_load_store() {
                let atomics = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
                threads(2, |i| {
                    let atomics = atomics.clone();
                    move || {
                        atomics[i].store(1, SeqCst);
                        atomics[1 - i].load(SeqCst);
                        atomics[i].store(2, SeqCst);
                    }
                });
            }
        }
    };
}

programs!(loom);
programs!(shuttle);
programs!(raddle);
