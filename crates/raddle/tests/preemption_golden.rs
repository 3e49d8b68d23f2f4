//! How many classes have an execution with at most k preemptions, as another tool counts them under sequential consistency.
#![allow(missing_docs)]

use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::{Config, Verdict, thread};

/// The program has so many classes within 0, 1, ... preemptions; the last of them are all.
#[track_caller]
fn counts(name: &str, wanted: &[u64], program: impl Fn()) {
    for algorithm in ["optimal", "lazy-bpor"] {
        for (k, n) in wanted.iter().enumerate() {
            let config = Config::new().algorithm(algorithm).bound(&format!("preemptions={k}")).quiet(true);
            let report = config.run(&program);
            assert!(report.passed(), "{name}: {}", report.guarantee);
            assert_eq!(report.stats.executions, *n, "{name}, {algorithm}, {k} preemptions");
        }
    }
    let all = Config::new().quiet(true).run(&program);
    assert_eq!((all.verdict, all.stats.executions), (Verdict::Verified, wanted[wanted.len() - 1]), "{name}");
    let one_by_one = Config::new().algorithm("optimal").bound("preemptions=0..").quiet(true);
    let rounds = one_by_one.run(&program).rounds;
    let found: Vec<u64> = rounds.iter().map(|r| r.covered).collect();
    assert!(found.starts_with(wanted) || wanted.starts_with(&found), "{name}: {found:?}");
}

fn atomics<const N: usize>() -> [AtomicUsize; N] {
    std::array::from_fn(|_| AtomicUsize::new(0))
}

#[test]
fn a_writer_and_readers_need_no_preemption() {
    for n in [2, 4, 6] {
        counts(&format!("readers({n})"), &[1 << n; 3], || {
            let x = AtomicUsize::new(0);
            thread::scope(|s| {
                s.spawn(|| x.store(1, SeqCst));
                for _ in 0..n {
                    s.spawn(|| x.load(SeqCst));
                }
            });
        });
    }
}

#[test]
fn increments_of_one_and_of_two_words() {
    counts("ainc(4)", &[24; 2], || {
        let x = AtomicUsize::new(0);
        thread::scope(|s| (0..4).for_each(|_| drop(s.spawn(|| x.fetch_add(1, SeqCst)))));
    });
    counts("binc(3)", &[6, 24, 36], || {
        let [x, y] = atomics();
        thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    x.fetch_add(1, SeqCst);
                    y.fetch_add(1, SeqCst);
                });
            }
        });
    });
}

#[test]
fn one_mutex_needs_no_preemption() {
    counts("mutex(4)", &[24; 2], || {
        let m = Mutex::new(0);
        thread::scope(|s| (0..4).for_each(|_| drop(s.spawn(|| *m.lock().unwrap() += 1))));
    });
}

#[test]
fn the_last_zero_needs_no_preemption() {
    fn last_zero<const N: usize>() {
        let a: [AtomicUsize; N] = atomics();
        thread::scope(|s| {
            let a = &a;
            s.spawn(move || (0..N).rev().find(|i| a[*i].load(SeqCst) == 0));
            for j in 1..N {
                s.spawn(move || a[j].store(a[j - 1].load(SeqCst) + 1, SeqCst));
            }
        });
    }
    counts("lastzero(3)", &[12; 3], last_zero::<4>);
    counts("lastzero(5)", &[64; 3], last_zero::<6>);
}

#[test]
fn fibonacci_with_a_main_thread_that_looks_on() {
    let fib = |n: usize| {
        move || {
            let [i, j]: [AtomicUsize; 2] = std::array::from_fn(|_| AtomicUsize::new(1));
            thread::scope(|s| {
                for (mine, other) in [(&i, &j), (&j, &i)] {
                    s.spawn(move || {
                        for _ in 0..n {
                            let sum = mine.load(SeqCst) + other.load(SeqCst);
                            mine.store(sum, SeqCst);
                        }
                    });
                }
                let _ = (i.load(SeqCst), j.load(SeqCst));
            });
        }
    };
    counts("fib_bench(2)", &[2, 13, 49, 114, 139, 140], fib(2));
    counts("fib_bench(3)", &[2, 17, 102, 401, 936, 1485, 1680, 1698], fib(3));
}

#[test]
fn a_main_thread_that_counts_while_it_spawns() {
    fn sigma(n: usize) {
        let (index, a): (_, [_; 5]) = (AtomicUsize::new(0), atomics());
        thread::scope(|s| {
            for _ in 0..n {
                index.store(index.load(SeqCst) + 1, SeqCst);
                s.spawn(|| a[index.load(SeqCst)].store(1, SeqCst));
            }
        });
    }
    counts("sigma(2)", &[2, 3], || sigma(2));
    counts("sigma(3)", &[6, 14, 15], || sigma(3));
    counts("sigma(4)", &[24, 82, 104, 105], || sigma(4));
}

#[test]
fn a_rotation_of_compare_exchanges_needs_no_preemption() {
    counts("casrot(5)", &[43; 3], || {
        let x = AtomicUsize::new(0);
        thread::scope(|s| {
            for i in 1..=5 {
                let x = &x;
                s.spawn(move || x.compare_exchange(i - 1, i, SeqCst, SeqCst));
            }
        });
    });
}
