//! Programs of the literature, as Rust. Arrays are on the stack, so that the search can tell their elements apart by name.

use crate::Variant;
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

/// `n` threads of one kind, each with its number, on one shared state, joined at the end.
fn threads<S: Sync>(n: usize, shared: &S, body: impl Fn(&S, usize) + Sync) {
    thread::scope(|s| {
        for i in 0..n {
            let body = &body;
            s.spawn(move || body(shared, i));
        }
    });
}

fn atomics<const N: usize>() -> [AtomicUsize; N] {
    std::array::from_fn(|_| AtomicUsize::new(0))
}

pub(crate) fn counter(times: usize, _: Variant) {
    threads(2, &AtomicUsize::new(0), |x, _| {
        for _ in 0..times {
            x.fetch_add(1, SeqCst);
        }
    });
}

pub(crate) fn mutex(n: usize, _: Variant) {
    threads(n, &Mutex::new(0), |m, _| *m.lock().unwrap() += 1);
}

pub(crate) fn readers(n: usize, _: Variant) {
    threads(n + 1, &AtomicUsize::new(0), |x, i| {
        if i == 0 {
            x.store(1, SeqCst);
        } else {
            x.load(SeqCst);
        }
    });
}

pub(crate) fn last_zero(n: usize, _: Variant) {
    threads(n + 1, &atomics::<32>(), |a, j| {
        if j == 0 {
            let mut i = n;
            while a[i].load(SeqCst) != 0 {
                i -= 1;
            }
        } else {
            a[j].store(a[j - 1].load(SeqCst) + 1, SeqCst);
        }
    });
}

pub(crate) fn fib(n: usize, _: Variant) {
    let state = atomics::<2>();
    thread::scope(|s| {
        for mine in 0..2 {
            let state = &state;
            s.spawn(move || {
                for _ in 0..n {
                    let sum = state[mine].load(SeqCst) + state[1 - mine].load(SeqCst);
                    state[mine].store(sum, SeqCst);
                }
            });
        }
        let _ = (state[0].load(SeqCst), state[1].load(SeqCst));
    });
}

/// Flanagan and Godefroid, figure 7.
pub(crate) fn file_system(n: usize, _: Variant) {
    const INODES: usize = 32;
    const BLOCKS: usize = 26;
    let inodes: [_; INODES] = std::array::from_fn(|_| Mutex::new(0));
    let busy: [_; BLOCKS] = std::array::from_fn(|_| Mutex::new(false));
    threads(n, &(inodes, busy), |(inodes, busy), tid| {
        let i = (tid + 1) % INODES;
        let mut inode = inodes[i].lock().unwrap();
        if *inode == 0 {
            let mut b = i * 2 % BLOCKS;
            loop {
                let mut busy = busy[b].lock().unwrap();
                if !*busy {
                    *busy = true;
                    *inode = b + 1;
                    break;
                }
                drop(busy);
                b = (b + 1) % BLOCKS;
            }
        }
    });
}

/// Flanagan and Godefroid, figure 1.
pub(crate) fn indexer(n: usize, _: Variant) {
    threads(n, &atomics::<128>(), |table, i| {
        for m in 1..=4 {
            let w = m * 11 + i + 1;
            let mut h = w * 7 % 128;
            while table[h].compare_exchange(0, w, SeqCst, SeqCst).is_err() {
                h = (h + 1) % 128;
            }
        }
    });
}
