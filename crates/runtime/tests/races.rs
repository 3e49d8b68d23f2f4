//! Data races on cells.
#![allow(missing_docs)]

mod common;

use common::*;
use explore::{FailureKind, MemoryOrder, OpKind};
use runtime::Place;
use runtime::{Class, Handle};

struct Cell(Handle);

impl Cell {
    const fn new() -> Cell {
        Cell(Handle::new())
    }

    #[track_caller]
    fn read(&self) {
        runtime::cell_access(&self.0, false, Place::caller());
    }

    #[track_caller]
    fn write(&self) {
        runtime::cell_access(&self.0, true, Place::caller());
    }
}

#[test]
fn two_writes_without_order_are_a_race() {
    let f = fails(|| {
        let c = shared(Cell::new());
        let d = c.clone();
        spawn(move || d.write());
        c.write();
    });
    assert_eq!(f.kind, FailureKind::DataRace);
    assert!(f.message.contains("cell #1") && f.message.contains("thread 1") && f.message.contains("main"));
    assert_eq!(f.message.matches("races.rs").count(), 2);
}

#[test]
fn reads_do_not_race_and_join_orders() {
    passes(|| {
        let c = shared(Cell::new());
        c.write();
        let threads = [0, 1].map(|_| {
            let c = c.clone();
            spawn(move || c.read())
        });
        threads.into_iter().for_each(join);
        c.write();
    });
}

#[test]
fn a_mutex_orders() {
    passes(|| {
        let (m, c) = (shared(Mutex::new()), shared(Cell::new()));
        let (m1, c1) = (m.clone(), c.clone());
        spawn(move || {
            let _g = m1.lock();
            c1.write();
        });
        let _g = m.lock();
        c.write();
    });
}

fn message_passing(store: MemoryOrder, load: MemoryOrder) -> Found {
    explore_all(move || {
        let (flag, c) = (shared(Atomic::new(0)), shared(Cell::new()));
        let (f1, c1) = (flag.clone(), c.clone());
        spawn(move || {
            c1.write();
            f1.store_with(1, store);
        });
        if flag.load_with(load) == 1 {
            c.read();
        }
    })
}

#[test]
fn release_and_acquire_order_and_relaxed_does_not() {
    use MemoryOrder::*;
    assert!(message_passing(Release, Acquire).failures.is_empty());
    assert!(message_passing(SeqCst, SeqCst).failures.is_empty());
    for (s, l) in [(Relaxed, Acquire), (Release, Relaxed), (Relaxed, Relaxed)] {
        assert_eq!(message_passing(s, l).failures[0].kind, FailureKind::DataRace, "{s:?} {l:?}");
    }
}

fn fences(release: bool, acquire: bool) -> Found {
    explore_all(move || {
        let (flag, c) = (shared(Atomic::new(0)), shared(Cell::new()));
        let (f1, c1) = (flag.clone(), c.clone());
        let fence = |order| runtime::local_step(OpKind::Fence, order, Place::caller());
        spawn(move || {
            c1.write();
            if release {
                fence(MemoryOrder::Release);
            }
            f1.store_with(1, MemoryOrder::Relaxed);
        });
        if flag.load_with(MemoryOrder::Relaxed) == 1 {
            if acquire {
                fence(MemoryOrder::Acquire);
            }
            c.read();
        }
    })
}

#[test]
fn fences_order_only_in_pairs() {
    assert!(fences(true, true).failures.is_empty());
    assert_eq!(fences(true, false).failures[0].kind, FailureKind::DataRace);
    assert_eq!(fences(false, true).failures[0].kind, FailureKind::DataRace);
}

#[test]
fn a_release_sequence_goes_through_a_relaxed_read_modify_write() {
    passes(|| {
        let (flag, c) = (shared(Atomic::new(0)), shared(Cell::new()));
        let (f1, c1, f2) = (flag.clone(), c.clone(), flag.clone());
        spawn(move || {
            c1.write();
            f1.store_with(1, MemoryOrder::Release);
        });
        spawn(move || _ = f2.cas(1, 2));
        if flag.load_with(MemoryOrder::Acquire) == 2 {
            c.read();
        }
    });
}

#[test]
fn channels_barriers_and_tokens_order() {
    passes(|| {
        let one = explore::semantics::Channel { senders: 1, ..Default::default() }.pack();
        let (ch, c) = (shared(Sync::new(Class::Channel, one)), shared(Cell::new()));
        let (ch1, c1) = (ch.clone(), c.clone());
        spawn(move || {
            c1.write();
            ch1.op_with(OpKind::Send, 1, 0);
        });
        ch.op_with(OpKind::Recv, 1, 0);
        c.write();
    });
    passes(|| {
        let (b, c) = (shared(Sync::new(Class::Barrier, 0)), shared(Cell::new()));
        let (b1, c1) = (b.clone(), c.clone());
        let cross = |b: &Sync| {
            let a = b.op_with(OpKind::Arrive, 2, 0);
            if !a.ok {
                b.op_with(OpKind::Pass, a.value, 0);
            }
        };
        spawn(move || {
            c1.write();
            cross(&b1);
        });
        cross(&b);
        c.write();
    });
    passes(|| {
        let c = shared(Cell::new());
        let (c1, main) = (c.clone(), runtime::current());
        spawn(move || {
            c1.write();
            runtime::unpark(main, Place::caller());
        });
        runtime::park(None, Place::caller());
        c.write();
    });
}

#[test]
fn the_next_message_orders_only_what_came_before_it() {
    let found = explore_all(|| {
        let one = explore::semantics::Channel { senders: 1, ..Default::default() }.pack();
        let (ch, c) = (shared(Sync::new(Class::Channel, one)), shared(Cell::new()));
        let (ch1, c1) = (ch.clone(), c.clone());
        spawn(move || {
            ch1.op_with(OpKind::Send, explore::Op::UNBOUNDED, 0);
            c1.write();
            ch1.op_with(OpKind::Send, explore::Op::UNBOUNDED, 0);
        });
        ch.op_with(OpKind::Recv, explore::Op::UNBOUNDED, 0);
        c.write();
    });
    assert_eq!(found.failures[0].kind, FailureKind::DataRace);
}
