//! Locks made of atomics: each right one is verified, and each with a seeded bug is found out.
//!
//! What a lock protects is a cell whose accesses are checked: two threads inside at once are a data race. The locks wait in
//! loops as they would anywhere; the searches must end nevertheless.

mod common;

use common::{found, kinds, says, verified};
use raddle::FailureKind::{self, DataRace, Livelock};
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use raddle::{hint, thread};

/// A lock for threads that know their numbers.
trait Lock: Sync {
    fn new() -> Self;
    fn lock(&self, me: usize);
    fn unlock(&self, me: usize);
}

struct Counter(UnsafeCell<usize>);

// SAFETY: the point of these tests is whether it is; every access is checked.
unsafe impl Sync for Counter {}

impl Counter {
    fn add(&self) {
        // SAFETY: checked by raddle: an access that nothing orders with another one ends the execution.
        self.0.with_mut(|n| unsafe { *n += 1 });
    }
}

/// Threads that go in and out so many times each.
fn contend<L: Lock>(threads: usize, rounds: usize) {
    let (lock, counter) = (L::new(), Counter(UnsafeCell::new(0)));
    thread::scope(|s| {
        for me in 0..threads {
            let (lock, counter) = (&lock, &counter);
            s.spawn(move || {
                for _ in 0..rounds {
                    lock.lock(me);
                    counter.add();
                    lock.unlock(me);
                }
            });
        }
    });
    assert_eq!(counter.0.into_inner(), threads * rounds);
}

/// The bug is found, in the place where it shows.
#[track_caller]
fn broken<L: Lock>(kind: FailureKind, threads: usize) {
    let failure = found(kind, || contend::<L>(threads, 1));
    assert!(failure.location.is_some_and(|l| l.contains("mutual_exclusion.rs")));
}

fn bools<const N: usize>() -> [AtomicBool; N] {
    std::array::from_fn(|_| AtomicBool::new(false))
}

/// Peterson, 1981. `TURN_FIRST` is the seeded bug: the turn is given before the wish is shown.
struct Peterson<const TURN_FIRST: bool> {
    wants: [AtomicBool; 2],
    turn: AtomicUsize,
}

impl<const TURN_FIRST: bool> Lock for Peterson<TURN_FIRST> {
    fn new() -> Self {
        Peterson { wants: bools(), turn: AtomicUsize::new(0) }
    }

    fn lock(&self, me: usize) {
        let other = 1 - me;
        if TURN_FIRST {
            self.turn.store(other, SeqCst);
        }
        self.wants[me].store(true, SeqCst);
        if !TURN_FIRST {
            self.turn.store(other, SeqCst);
        }
        while self.wants[other].load(SeqCst) && self.turn.load(SeqCst) == other {
            hint::spin_loop();
        }
    }

    fn unlock(&self, me: usize) {
        self.wants[me].store(false, SeqCst);
    }
}

#[test]
fn petersons_lock() {
    verified(|| contend::<Peterson<false>>(2, 1));
    verified(|| contend::<Peterson<false>>(2, 2));
    broken::<Peterson<true>>(DataRace, 2);
}

/// Dekker, as told by Dijkstra, 1965. `STUBBORN` is the seeded bug: nobody gives way.
struct Dekker<const STUBBORN: bool> {
    wants: [AtomicBool; 2],
    turn: AtomicUsize,
}

impl<const STUBBORN: bool> Lock for Dekker<STUBBORN> {
    fn new() -> Self {
        Dekker { wants: bools(), turn: AtomicUsize::new(0) }
    }

    fn lock(&self, me: usize) {
        let other = 1 - me;
        self.wants[me].store(true, SeqCst);
        while self.wants[other].load(SeqCst) {
            if !STUBBORN && self.turn.load(SeqCst) != me {
                self.wants[me].store(false, SeqCst);
                while self.turn.load(SeqCst) != me {}
                self.wants[me].store(true, SeqCst);
            }
        }
    }

    fn unlock(&self, me: usize) {
        self.turn.store(1 - me, SeqCst);
        self.wants[me].store(false, SeqCst);
    }
}

#[test]
fn dekkers_lock() {
    verified(|| contend::<Dekker<false>>(2, 1));
    let stuck = found(Livelock, || contend::<Dekker<true>>(2, 1));
    says(&stuck.message, &["livelock", "thread 1", "thread 2", "spins on atomic"]);
}

/// Lamport's fast mutex, 1987. `HASTY` is the seeded bug: who lost the race for `x` does not wait for the others.
struct Fast<const HASTY: bool> {
    x: AtomicUsize,
    y: AtomicUsize,
    b: [AtomicBool; 2],
}

impl<const HASTY: bool> Lock for Fast<HASTY> {
    fn new() -> Self {
        Fast { x: AtomicUsize::new(0), y: AtomicUsize::new(0), b: bools() }
    }

    fn lock(&self, me: usize) {
        let name = me + 1;
        loop {
            self.b[me].store(true, SeqCst);
            self.x.store(name, SeqCst);
            if self.y.load(SeqCst) != 0 {
                self.b[me].store(false, SeqCst);
                while self.y.load(SeqCst) != 0 {}
                continue;
            }
            self.y.store(name, SeqCst);
            if self.x.load(SeqCst) == name {
                return;
            }
            self.b[me].store(false, SeqCst);
            if !HASTY {
                for b in &self.b {
                    while b.load(SeqCst) {}
                }
            }
            if self.y.load(SeqCst) == name {
                return;
            }
            while self.y.load(SeqCst) != 0 {}
        }
    }

    fn unlock(&self, me: usize) {
        self.y.store(0, SeqCst);
        self.b[me].store(false, SeqCst);
    }
}

#[test]
fn lamports_fast_mutex() {
    verified(|| contend::<Fast<false>>(2, 1));
    broken::<Fast<true>>(DataRace, 2);
}

#[test]
fn lamports_fast_mutex_twice() {
    verified(|| contend::<Fast<false>>(2, 2));
}

/// How a spin lock is taken.
const SWAP: u8 = 0;
const WEAK: u8 = 1;
const TEST_AND_SET: u8 = 2;
/// Seeded bug: look, then take.
const LOOK_THEN_TAKE: u8 = 3;
/// Seeded bug: given back with no release.
const RELAXED: u8 = 4;

struct Spin<const HOW: u8>(AtomicBool);

impl<const HOW: u8> Lock for Spin<HOW> {
    fn new() -> Self {
        Spin(AtomicBool::new(false))
    }

    fn lock(&self, _me: usize) {
        match HOW {
            SWAP | RELAXED => while self.0.swap(true, Acquire) {},
            WEAK => {
                while self.0.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
                    hint::spin_loop();
                }
            }
            TEST_AND_SET => {
                while self.0.swap(true, Acquire) {
                    while self.0.load(Relaxed) {
                        thread::yield_now();
                    }
                }
            }
            _ => {
                while self.0.load(Acquire) {}
                self.0.store(true, Release);
            }
        }
    }

    fn unlock(&self, _me: usize) {
        self.0.store(false, if HOW == RELAXED { Relaxed } else { Release });
    }
}

#[test]
fn spin_locks() {
    verified(|| contend::<Spin<SWAP>>(3, 1));
    verified(|| contend::<Spin<SWAP>>(2, 2));
    verified(|| contend::<Spin<WEAK>>(2, 2));
    verified(|| contend::<Spin<TEST_AND_SET>>(3, 1));
    broken::<Spin<LOOK_THEN_TAKE>>(DataRace, 2);
    broken::<Spin<RELAXED>>(DataRace, 2);
}

/// A ticket lock. `TORN` is the seeded bug: a ticket is taken in two steps.
struct Ticket<const TORN: bool> {
    next: AtomicUsize,
    serving: AtomicUsize,
}

impl<const TORN: bool> Lock for Ticket<TORN> {
    fn new() -> Self {
        Ticket { next: AtomicUsize::new(0), serving: AtomicUsize::new(0) }
    }

    fn lock(&self, _me: usize) {
        let mine = if TORN {
            let mine = self.next.load(Relaxed);
            self.next.store(mine + 1, Relaxed);
            mine
        } else {
            self.next.fetch_add(1, Relaxed)
        };
        while self.serving.load(Acquire) != mine {
            thread::yield_now();
        }
    }

    fn unlock(&self, _me: usize) {
        self.serving.store(self.serving.load(Relaxed) + 1, Release);
    }
}

#[test]
fn a_ticket_lock() {
    verified(|| contend::<Ticket<false>>(3, 1));
    verified(|| contend::<Ticket<false>>(2, 2));
    // Two with the same ticket go in together, or the second comes too late and waits for ever.
    let kinds = kinds(|| contend::<Ticket<true>>(2, 1));
    assert!(kinds.contains(&DataRace) && kinds.contains(&Livelock), "{kinds:?}");
}

/// Readers and writers in one word: the writer is the top bit. `UNSURE` is the seeded bug: a writer looks for readers, and only
/// then says that it is there.
struct ReadersWriter<const UNSURE: bool>(AtomicUsize);

const WRITER: usize = 1 << 31;

impl<const UNSURE: bool> ReadersWriter<UNSURE> {
    fn read(&self) {
        while self.0.fetch_add(1, Acquire) & WRITER != 0 {
            self.0.fetch_sub(1, Relaxed);
            while self.0.load(Relaxed) & WRITER != 0 {
                hint::spin_loop();
            }
        }
    }

    fn end_read(&self) {
        self.0.fetch_sub(1, Release);
    }

    fn write(&self) {
        if UNSURE {
            while self.0.load(Acquire) != 0 {}
            self.0.fetch_or(WRITER, Acquire);
        } else {
            while self.0.compare_exchange_weak(0, WRITER, Acquire, Relaxed).is_err() {}
        }
    }

    fn end_write(&self) {
        self.0.fetch_and(!WRITER, Release);
    }
}

fn readers_and_writer<const UNSURE: bool>(readers: usize) {
    let (lock, value) = (ReadersWriter::<UNSURE>(AtomicUsize::new(0)), Counter(UnsafeCell::new(0)));
    thread::scope(|s| {
        for _ in 0..readers {
            s.spawn(|| {
                let value = &value;
                lock.read();
                // SAFETY: as in `Counter::add`.
                assert!(value.0.with(|n| unsafe { *n }) < 2);
                lock.end_read();
            });
        }
        lock.write();
        value.add();
        lock.end_write();
    });
}

#[test]
fn readers_and_a_writer() {
    verified(|| readers_and_writer::<false>(1));
    found(DataRace, || readers_and_writer::<true>(1));
}

#[test]
fn two_readers_and_a_writer() {
    verified(|| readers_and_writer::<false>(2));
}
