//! Destructors that take steps, of values with several owners: which owner runs the destructor is decided by steps.
//!
//! Each program is run under every reduction and compared with the search that reduces nothing: the same outcomes, and races and failures
//! that are the same.

mod common;

use common::plain;
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicU32, Ordering::*};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, OnceLock, RwLock, Weak, mpsc};
use raddle::{Config, thread};
use std::collections::BTreeSet;
use std::sync::Mutex as RealMutex;

/// What is seen in one execution, by thread.
type Outcome = Vec<u32>;

static WORD: AtomicU32 = AtomicU32::new(0);
static LOCK: Mutex<u32> = Mutex::new(0);

/// A value whose destructor takes steps.
struct Loud;

impl Drop for Loud {
    fn drop(&mut self) {
        let seen = WORD.swap(1, SeqCst);
        *LOCK.lock().unwrap() += 1 + seen;
    }
}

fn look() -> u32 {
    WORD.swap(2, SeqCst)
}

type Program = fn() -> Outcome;

/// A handle is dropped while its thread runs.
fn dropped_handle() -> Outcome {
    let handle = thread::spawn(move || Loud);
    drop(handle);
    vec![look()]
}

/// The same, with a look in between and a thread that takes a step before it ends.
fn dropped_handle_after_a_look() -> Outcome {
    let handle = thread::spawn(move || {
        WORD.store(3, SeqCst);
        Loud
    });
    let first = look();
    drop(handle);
    vec![first, look()]
}

/// The handle is dropped by a third thread.
fn handle_dropped_elsewhere() -> Outcome {
    let handle = thread::spawn(move || Loud);
    let other = thread::spawn(move || {
        drop(handle);
        look()
    });
    vec![WORD.load(SeqCst), other.join().unwrap()]
}

/// Handles of a scope are dropped at once.
fn dropped_scoped_handles() -> Outcome {
    let mut seen = 0;
    thread::scope(|s| {
        s.spawn(|| Loud);
        seen = look();
    });
    vec![seen, look()]
}

/// A handle that is joined.
fn joined_handle() -> Outcome {
    let handle = thread::spawn(move || Loud);
    let first = look();
    drop(handle.join());
    vec![first, look()]
}

/// The last owner of an `Arc`.
fn shared() -> Outcome {
    let loud = Arc::new(Loud);
    let other = thread::spawn({
        let loud = loud.clone();
        move || {
            drop(loud);
            look()
        }
    });
    drop(loud);
    vec![look(), other.join().unwrap()]
}

/// A mutex in an `Arc`, with the value inside.
fn shared_mutex() -> Outcome {
    let loud = Arc::new(Mutex::new(Some(Loud)));
    let other = thread::spawn({
        let loud = loud.clone();
        move || {
            drop(loud.lock().unwrap());
            drop(loud);
            look()
        }
    });
    drop(loud.lock().unwrap().take());
    drop(loud);
    vec![look(), other.join().unwrap()]
}

/// A value that a weak reference brings back.
fn upgraded() -> Outcome {
    let loud = Arc::new(Loud);
    let weak: Weak<Loud> = Arc::downgrade(&loud);
    let other = thread::spawn(move || {
        let got = weak.upgrade().is_some();
        look() + 100 * got as u32
    });
    drop(loud);
    vec![look(), other.join().unwrap()]
}

/// A message that nobody takes: the receiver goes, and then the sender, or the other way round.
fn unread_message() -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let other = thread::spawn(move || {
        let sent = sender.send(Loud).is_ok();
        drop(sender);
        look() + 100 * sent as u32
    });
    drop(receiver);
    vec![look(), other.join().unwrap()]
}

/// The same with room for one message, and with a message in the channel from the start.
fn unread_message_with_capacity() -> Outcome {
    let (sender, receiver) = mpsc::sync_channel(1);
    let other = thread::spawn(move || {
        let sent = sender.try_send(Loud).is_ok();
        drop(sender);
        look() + 100 * sent as u32
    });
    drop(receiver);
    vec![look(), other.join().unwrap()]
}

/// A sender and a receiver meet, or do not.
fn unread_message_without_capacity() -> Outcome {
    let (sender, receiver) = mpsc::sync_channel(0);
    let other = thread::spawn(move || {
        let sent = sender.send(Loud).is_ok();
        drop(sender);
        look() + 100 * sent as u32
    });
    let got = receiver.try_recv().is_ok();
    drop(receiver);
    vec![look() + 100 * got as u32, other.join().unwrap()]
}

/// A sender inside the value that its own channel holds.
fn channel_in_itself() -> Outcome {
    let (sender, receiver) = mpsc::channel();
    sender.send(Loud).unwrap();
    let other = thread::spawn(move || {
        drop(receiver);
        look()
    });
    drop(sender);
    vec![look(), other.join().unwrap()]
}

raddle::thread_local! {
    static LOCAL: std::cell::RefCell<Option<Loud>> = const { std::cell::RefCell::new(None) };
}

/// A thread-local of a thread that nobody waits for.
fn thread_local() -> Outcome {
    let handle = thread::spawn(move || LOCAL.with(|l| *l.borrow_mut() = Some(Loud)));
    drop(handle);
    vec![look()]
}

/// A thread-local of a thread of a scope, beside what comes after the scope.
fn thread_local_in_scope() -> Outcome {
    thread::scope(|s| {
        s.spawn(|| LOCAL.with(|l| *l.borrow_mut() = Some(Loud)));
    });
    vec![look()]
}

/// A cell that two threads want to set: the value that is not used is dropped by its thread.
fn set_once() -> Outcome {
    let cell = Arc::new(OnceLock::new());
    let other = thread::spawn({
        let cell = cell.clone();
        move || {
            let set = cell.set(Loud).is_ok();
            drop(cell);
            look() + 100 * set as u32
        }
    });
    let set = cell.set(Loud).is_ok();
    drop(cell);
    vec![look() + 100 * set as u32, other.join().unwrap()]
}

/// A closure of a thread that owns the value.
fn captured() -> Outcome {
    let loud = Loud;
    let handle = thread::spawn(move || {
        let _loud = &loud;
    });
    let first = look();
    drop(handle);
    vec![first, look()]
}

/// The value of a thread is a handle of another thread, whose value has the destructor.
fn handle_in_a_handle() -> Outcome {
    let handle = thread::spawn(move || thread::spawn(move || Loud));
    drop(handle);
    vec![look()]
}

/// Both ends of a lock that guards the value.
fn behind_a_reader_writer_lock() -> Outcome {
    let loud = Arc::new((RwLock::new(Loud), Condvar::new(), Barrier::new(1)));
    let other = thread::spawn({
        let loud = loud.clone();
        move || {
            drop(loud.0.try_read());
            drop(loud);
            look()
        }
    });
    drop(loud.0.try_write());
    drop(loud);
    vec![look(), other.join().unwrap()]
}

/// Data that the destructor of [`Touches`] writes to.
struct Data(UnsafeCell<u32>);
// SAFETY: races are reported.
unsafe impl Sync for Data {}
static DATA: Data = Data(UnsafeCell::new(0));

struct Touches;

impl Drop for Touches {
    fn drop(&mut self) {
        // SAFETY: threads of an execution run one at a time.
        DATA.0.with_mut(|p| unsafe { *p += 1 });
    }
}

/// The destructor touches data that the thread has touched: to leave orders what came before with the destructor.
fn data_before_the_value() -> Outcome {
    drop(thread::spawn(|| {
        // SAFETY: as above.
        DATA.0.with_mut(|p| unsafe { *p += 1 });
        Touches
    }));
    vec![look()]
}

/// The same, beside an access that nothing orders.
fn data_beside_the_value() -> Outcome {
    drop(thread::spawn(|| Touches));
    // SAFETY: as above.
    vec![DATA.0.with(|p| unsafe { *p })]
}

const PROGRAMS: &[(&str, Program)] = &[
    ("dropped_handle", dropped_handle),
    ("dropped_handle_after_a_look", dropped_handle_after_a_look),
    ("handle_dropped_elsewhere", handle_dropped_elsewhere),
    ("dropped_scoped_handles", dropped_scoped_handles),
    ("joined_handle", joined_handle),
    ("shared", shared),
    ("shared_mutex", shared_mutex),
    ("upgraded", upgraded),
    ("unread_message", unread_message),
    ("unread_message_with_capacity", unread_message_with_capacity),
    ("unread_message_without_capacity", unread_message_without_capacity),
    ("channel_in_itself", channel_in_itself),
    ("thread_local", thread_local),
    ("thread_local_in_scope", thread_local_in_scope),
    ("set_once", set_once),
    ("captured", captured),
    ("handle_in_a_handle", handle_in_a_handle),
    ("behind_a_reader_writer_lock", behind_a_reader_writer_lock),
    ("data_before_the_value", data_before_the_value),
    ("data_beside_the_value", data_beside_the_value),
];

/// All outcomes of a program: what its threads saw, and what was left when all had ended. Says also how many executions there were.
fn explore(config: Config, program: Program) -> (BTreeSet<Outcome>, BTreeSet<String>, u64) {
    let seen = Box::new(RealMutex::new(BTreeSet::new()));
    let report = config.keep_going(true).run(|| {
        let mut outcome = program();
        outcome.extend([look(), *LOCK.lock().unwrap()]);
        seen.lock().unwrap().insert(outcome);
    });
    let failures = report.failures.iter().map(|f| format!("{}: {}", f.kind.name(), f.message)).collect();
    (seen.into_inner().unwrap(), failures, report.stats.executions)
}

#[test]
fn every_reduction_finds_what_all_interleavings_find() {
    for (name, program) in PROGRAMS {
        let (all, failures, total) = explore(plain().algorithm("none").max_executions(400_000), *program);
        for algorithm in ["optimal", "source", "dpor", "sleep"] {
            let (seen, failed, executions) = explore(plain().algorithm(algorithm), *program);
            assert_eq!(failed, failures, "{name} under {algorithm}");
            assert_eq!(seen, all, "{name} under {algorithm}");
            assert!(executions <= total, "{name} under {algorithm}");
        }
    }
}

#[test]
fn only_the_access_that_nothing_orders_is_a_race() {
    assert_eq!(explore(plain(), data_before_the_value).1, BTreeSet::new());
    let failures = explore(plain(), data_beside_the_value).1;
    assert!(failures.iter().all(|f| f.starts_with("data-race")) && !failures.is_empty(), "{failures:?}");
}

#[test]
fn a_handle_of_a_value_without_a_destructor_is_dropped_without_a_step() {
    let executions = |f: fn()| plain().run(f).stats.executions;
    assert_eq!(executions(|| drop(thread::spawn(|| 7))), 1);
    assert_eq!(executions(|| drop(thread::spawn(|| Box::new(7)))), 2);
    assert_eq!(executions(|| drop(thread::spawn(|| Box::new(7)).join())), 1);
}
