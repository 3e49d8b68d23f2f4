//! Executions: counts, deadlocks, panics, teardown, waiting.
#![allow(missing_docs)]

mod common;

use common::*;
use explore::{FailureKind, OpKind, ThreadId};
use runtime::Place;
use runtime::{Class, Settings};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The set of outcomes over all schedules.
fn outcomes<T: Ord + Clone + 'static>(test: impl Fn(&dyn Fn(T))) -> BTreeSet<T> {
    let seen = RefCell::new(BTreeSet::new());
    passes(|| test(&|v| _ = seen.borrow_mut().insert(v)));
    seen.into_inner()
}

#[test]
fn two_threads_that_add_once_have_the_schedules_of_their_steps() {
    // Spawns, starts, ends and joins are no steps: what is left are two additions, and main's load after the joins.
    let n = passes(|| {
        let x = shared(Atomic::new(0));
        let threads = [0, 1].map(|_| {
            let x = x.clone();
            spawn(move || _ = x.add(1))
        });
        threads.into_iter().for_each(join);
        assert_eq!(x.load(), 2);
    });
    assert_eq!(n, 2);
}

#[test]
fn a_lost_update_is_found_with_its_trace() {
    let f = fails(|| {
        let x = shared(Atomic::new(0));
        let threads = [0, 1].map(|_| {
            let x = x.clone();
            spawn(move || {
                let v = x.load();
                x.store(v + 1);
            })
        });
        threads.into_iter().for_each(join);
        assert_eq!(x.load(), 2, "an update was lost");
    });
    assert_eq!(f.kind, FailureKind::Assertion);
    assert!(f.message.contains("an update was lost"), "{}", f.message);
    assert!(f.location.as_deref().unwrap().contains("executions.rs"));
    assert_eq!(f.thread, Some(ThreadId(0)));
    assert!(f.trace.iter().any(|s| s.operation == "load" && s.object.as_deref() == Some("atomic #1")));
    assert!(f.trace.iter().any(|s| s.operation == "store" && s.detail.as_deref() == Some("= 1")));
    assert_eq!(f.preemptions, 1, "{:#?}", f.trace);
    assert!(f.replay.starts_with("rd1-"));
}

#[test]
fn ab_ba_is_a_deadlock_with_its_cycle() {
    let f = fails(|| {
        let (a, b) = (shared(Mutex::new()), shared(Mutex::new()));
        let (a1, b1) = (a.clone(), b.clone());
        let t = named("other", move || {
            let _b = b1.lock();
            let _a = a1.lock();
        });
        {
            let _a = a.lock();
            let _b = b.lock();
        }
        join(t);
    });
    assert_eq!(f.kind, FailureKind::Deadlock);
    assert_eq!(f.cycle, [ThreadId(0), ThreadId(1)]);
    assert!(f.message.contains("thread 0 (main) waits for mutex #"), "{}", f.message);
    assert!(f.message.contains("held by thread 1 (other)"), "{}", f.message);
    assert_eq!(f.threads[1].waits_for, [ThreadId(0)]);
}

#[test]
fn a_panic_is_caught_with_message_and_place() {
    let f = fails(|| {
        let t = spawn(|| panic!("this is wrong"));
        join(t);
    });
    assert_eq!((f.kind, f.message.as_str()), (FailureKind::Panic, "this is wrong"));
    assert_eq!(f.thread, Some(ThreadId(1)));
    assert!(f.help.unwrap().contains("main"));
}

#[test]
fn a_panic_that_is_joined_is_an_error_and_no_failure() {
    passes(|| {
        let t = spawn(|| panic!("expected"));
        let e = runtime::join(t, Place::caller()).unwrap_err();
        assert_eq!(e.downcast_ref::<&str>(), Some(&"expected"));
    });
}

#[test]
fn a_panic_that_nobody_joins_is_a_failure_and_others_go_on() {
    let ended = Rc::new(Cell::new(0));
    let e = ended.clone();
    let f = fails(move || {
        let e = e.clone();
        spawn(|| panic!("nobody listens"));
        let t = spawn(move || e.set(e.get() + 1));
        join(t);
    });
    assert_eq!(f.message, "nobody listens");
    assert!(ended.get() > 0);
}

#[test]
fn seventy_threads_run() {
    let search = Naive { limit: Some(3), ..Naive::default() };
    let found = explore_with(&settings(), search, || {
        let x = shared(Atomic::new(0));
        let threads: Vec<_> = (0..70)
            .map(|_| {
                let x = x.clone();
                spawn(move || _ = x.add(1))
            })
            .collect();
        threads.into_iter().for_each(join);
        assert_eq!(x.load(), 70);
    });
    assert!(found.failures.is_empty());
}

#[test]
fn too_many_threads_are_a_limit_that_names_the_setting() {
    let settings = Settings { max_threads: 4, ..settings() };
    let found = explore_with(&settings, Naive::default(), || {
        for _ in 0..4 {
            spawn(|| {});
        }
    });
    let stop = found.stopped.unwrap();
    assert_eq!(stop.reason, explore::StopReason::Limit);
    assert!(stop.text.contains("RADDLE_MAX_THREADS"), "{}", stop.text);
}

#[test]
fn too_many_steps_are_a_limit_that_names_the_setting() {
    let settings = Settings { max_steps: 1000, ..settings() };
    let found = explore_with(&settings, Naive::default(), || {
        let x = Atomic::new(0);
        loop {
            x.add(1);
        }
    });
    let stop = found.stopped.unwrap();
    assert_eq!(stop.reason, explore::StopReason::Limit);
    assert!(stop.text.contains("RADDLE_MAX_STEPS") && !stop.replay.is_empty(), "{stop:?}");
}

#[test]
fn deep_recursion_is_reported_with_the_setting() {
    fn deep(n: u64, x: &Atomic) -> u64 {
        let pad = std::hint::black_box([n; 32]);
        std::hint::black_box(x);
        if n == u64::MAX { pad[3] } else { deep(n + 1, x) + pad[1] }
    }
    fn deep_with_steps(n: u64, x: &Atomic) -> u64 {
        let pad = std::hint::black_box([n; 32]);
        x.load();
        if n == u64::MAX { pad[3] } else { deep_with_steps(n + 1, x) + pad[1] }
    }
    for f in [deep, deep_with_steps] {
        for _ in 0..2 {
            let failure = fails(move || {
                let t = spawn(move || {
                    let x = Atomic::new(0);
                    std::hint::black_box(f(0, &x));
                });
                join(t);
            });
            assert_eq!(failure.kind, FailureKind::Signal, "{failure:#?}");
            assert!(failure.message.contains("RADDLE_STACK_SIZE"));
            assert_eq!(failure.thread, Some(ThreadId(1)));
        }
    }
}

struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(n: &Arc<AtomicUsize>) -> Counted {
        n.fetch_add(1, Ordering::Relaxed);
        Counted(n.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn abandoned_executions_release_what_their_threads_hold() {
    let alive = Arc::new(AtomicUsize::new(0));
    let counted = alive.clone();
    let found = explore_all(move || {
        let _on_main = Counted::new(&counted);
        let (a, b) = (shared(Mutex::new()), shared(Mutex::new()));
        let (a1, b1, c1) = (a.clone(), b.clone(), Counted::new(&counted));
        let c2 = counted.clone();
        let t = spawn(move || {
            let _moved = c1;
            let _local = Counted::new(&c2);
            let _b = b1.lock();
            let _a = a1.lock();
        });
        {
            let _a = a.lock();
            let _b = b.lock();
        }
        join(t);
    });
    assert_eq!(found.failures[0].kind, FailureKind::Deadlock);
    assert!(found.executions > 3);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_thread_that_unwinds_into_a_deadlock_is_torn_down() {
    struct LocksOnDrop(Arc<Mutex>);
    impl Drop for LocksOnDrop {
        fn drop(&mut self) {
            let _g = self.0.lock();
        }
    }
    let found = explore_all(|| {
        let m = shared(Mutex::new());
        let m1 = m.clone();
        spawn(move || {
            let _l = LocksOnDrop(m1);
            panic!("first");
        });
        let g = m.lock();
        std::mem::forget(g);
    });
    assert!(found.failures.iter().any(|f| f.kind == FailureKind::Leak), "{:#?}", found.failures);
    assert!(found.failures.iter().any(|f| f.message == "first"));
    assert!(!std::thread::panicking());
}

#[test]
fn a_destructor_that_joins_in_an_abandoned_execution_does_not_end_the_process() {
    struct Pool(Option<ThreadId>);
    impl Drop for Pool {
        fn drop(&mut self) {
            join(self.0.take().unwrap());
        }
    }
    let f = fails(|| {
        let m = shared(Mutex::new());
        let m1 = m.clone();
        let g = m.lock();
        let _pool = Pool(Some(spawn(move || drop(m1.lock()))));
        std::mem::forget(g);
    });
    assert_eq!(f.kind, FailureKind::Deadlock);
}

#[test]
fn a_thread_that_is_never_joined_and_never_ends_is_a_leak() {
    let f = fails(|| {
        let m = shared(Mutex::new());
        let g = m.lock();
        let m1 = m.clone();
        spawn(move || drop(m1.lock()));
        std::mem::forget(g);
    });
    assert_eq!(f.kind, FailureKind::Leak);
    assert!(f.message.contains("thread 1 was never joined and never ends"), "{}", f.message);
}

#[test]
fn an_assumption_that_fails_is_no_failure() {
    let found = explore_all(|| {
        let n = runtime::choose(3, Place::caller());
        runtime::assume(n != 1, Place::caller());
        assert_ne!(n, 1);
    });
    assert!(found.failures.is_empty());
    assert_eq!((found.executions, found.assumed), (2, 1));
}

struct Condvar(runtime::Handle);

impl Condvar {
    fn new() -> Condvar {
        Condvar(runtime::Handle::new())
    }

    #[track_caller]
    fn wait(&self, m: &Mutex, timed: bool) -> bool {
        let limit = timed.then_some(std::time::Duration::from_millis(1));
        runtime::wait(&self.0, &m.0.handle, true, limit, Place::caller()) == runtime::Ended::Notified
    }

    #[track_caller]
    fn notify(&self, all: bool) {
        runtime::notify(&self.0, all, Place::caller());
    }
}

#[test]
fn a_lost_wake_up_is_a_deadlock() {
    let f = fails(|| {
        let (m, c) = (shared(Mutex::new()), shared(Condvar::new()));
        let c1 = c.clone();
        let t = spawn(move || c1.notify(false));
        let _g = m.lock();
        c.wait(&m, false);
        join(t);
    });
    assert_eq!(f.kind, FailureKind::Deadlock);
    assert!(f.message.contains("waits on condvar #1 for a notification"), "{}", f.message);
}

#[test]
fn notify_one_wakes_any_waiter() {
    let woken = outcomes(|out| {
        let (m, c, who) = (shared(Mutex::new()), shared(Condvar::new()), Rc::new(Cell::new(0)));
        let ready = shared(Atomic::new(0));
        for i in 1..=2 {
            let (m, c, who, ready) = (m.clone(), c.clone(), who.clone(), ready.clone());
            spawn(move || {
                let _g = m.lock();
                ready.add(1);
                c.wait(&m, false);
                if who.get() == 0 {
                    who.set(i);
                }
                c.notify(false);
            });
        }
        {
            let _g = m.lock();
            runtime::assume(ready.load() == 2, Place::caller());
            c.notify(false);
        }
        runtime::assume(m.0.op(OpKind::TryLock).ok, Place::caller());
        let w = who.get();
        m.0.op(OpKind::Unlock);
        out(w);
    });
    assert!(woken.contains(&1) && woken.contains(&2), "{woken:?}");
}

#[test]
fn a_timed_wait_may_time_out_at_once_and_must_when_nobody_notifies() {
    let woken = outcomes(|out| {
        let (m, c) = (shared(Mutex::new()), shared(Condvar::new()));
        let (m1, c1) = (m.clone(), c.clone());
        let t = spawn(move || {
            let _g = m1.lock();
            c1.notify(false);
        });
        let first = {
            let _g = m.lock();
            c.wait(&m, true)
        };
        join(t);
        // Nobody is left who could notify: time passes.
        let _g = m.lock();
        assert!(!c.wait(&m, true));
        assert!(!c.wait(&m, true));
        out(first);
    });
    assert_eq!(woken.len(), 2);
}

#[test]
fn spurious_wake_ups_are_explored_and_loops_of_them_end() {
    let settings = Settings { spurious_wakeups: true, keep_going: true, ..settings() };
    let found = explore_with(&settings, Naive::default(), || {
        let (m, c) = (shared(Mutex::new()), shared(Condvar::new()));
        let flag = Rc::new(Cell::new(false));
        let (m1, c1, f1) = (m.clone(), c.clone(), flag.clone());
        spawn(move || {
            let _g = m1.lock();
            f1.set(true);
            c1.notify(true);
        });
        let _g = m.lock();
        if !flag.get() {
            c.wait(&m, false);
            assert!(flag.get(), "woken too early");
        }
    });
    assert_eq!(found.failures.len(), 1);
    assert!(found.failures[0].trace.iter().any(|s| s.detail.as_deref() == Some("ends spuriously")));
    let ends = explore_with(&settings, Naive::default(), || {
        let (m, c) = (shared(Mutex::new()), shared(Condvar::new()));
        let flag = Rc::new(Cell::new(false));
        let (m1, c1, f1) = (m.clone(), c.clone(), flag.clone());
        spawn(move || {
            let _g = m1.lock();
            f1.set(true);
            c1.notify(true);
        });
        let _g = m.lock();
        while !flag.get() {
            c.wait(&m, false);
        }
    });
    assert!(ends.failures.is_empty());
}

#[test]
fn a_weak_compare_exchange_may_fail_as_often_as_the_bound_says() {
    let tries = |most: u32| {
        let settings = Settings { spurious_cas: true, spurious: most, ..settings() };
        let tries = RefCell::new(BTreeSet::new());
        let found = explore_with(&settings, Naive::default(), || {
            let x = Atomic::new(0);
            let mut n = 1;
            while !x.cas_weak(0, 1) {
                n += 1;
            }
            tries.borrow_mut().insert(n);
        });
        assert!(found.failures.is_empty());
        tries.into_inner().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(tries(0), [1]);
    // The second one is free: whether the thread counts cannot be told before the third.
    assert_eq!(tries(1), [1, 2, 3]);
    assert_eq!(tries(4), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_loop_that_does_not_count_its_failures_has_one_execution() {
    let settings = Settings { spurious_cas: true, spurious: 8, ..settings() };
    let found = explore_with(&settings, Naive::default(), || {
        let x = Atomic::new(0);
        while !x.cas_weak(0, 1) {}
    });
    assert!(found.failures.is_empty());
    assert_eq!((found.executions, found.pruned), (2, 1));
}

#[test]
fn park_waits_for_unpark_and_remembers_one() {
    passes(|| {
        let flag = shared(Atomic::new(0));
        let f1 = flag.clone();
        let main = runtime::current();
        spawn(move || {
            f1.store(1);
            runtime::unpark(main, Place::caller());
        });
        runtime::park(None, Place::caller());
        assert_eq!(flag.load(), 1);
    });
    let f = fails(|| assert_eq!(runtime::park(None, Place::caller()), runtime::Ended::Notified));
    assert_eq!(f.kind, FailureKind::Deadlock);
    assert!(f.message.contains("nobody unparks it"));
    passes(|| {
        runtime::park(Some(std::time::Duration::ZERO), Place::caller());
    });
}

#[test]
fn channels_block_and_close() {
    let channel =
        || Sync::new(Class::Channel, explore::semantics::Channel { senders: 1, ..Default::default() }.pack());
    passes(move || {
        let c = shared(channel());
        let c1 = c.clone();
        spawn(move || {
            for i in 0..2 {
                assert_eq!(c1.op_with(OpKind::Send, 1, 0).value, i);
            }
            c1.op(OpKind::DropSender);
        });
        assert_eq!(c.op_with(OpKind::Recv, 1, 0).value, 0);
        assert_eq!(c.op_with(OpKind::Recv, 1, 0).value, 1);
        assert!(!c.op_with(OpKind::Recv, 1, 0).ok);
    });
    let f = fails(move || _ = channel().op_with(OpKind::Recv, 1, 0));
    assert!(
        f.message.contains("waits for a message on channel #1, which has 1 living sender"),
        "{}",
        f.message
    );
}

#[test]
fn a_barrier_lets_all_pass_when_the_last_arrives() {
    passes(|| {
        let b = shared(Sync::new(Class::Barrier, 0));
        let n = shared(Atomic::new(0));
        let (b1, n1) = (b.clone(), n.clone());
        let cross = |b: &Sync| {
            let a = b.op_with(OpKind::Arrive, 2, 0);
            if !a.ok {
                b.op_with(OpKind::Pass, a.value, 0);
            }
        };
        spawn(move || {
            n1.add(1);
            cross(&b1);
        });
        n.add(1);
        cross(&b);
        assert_eq!(n.load(), 2);
    });
}

#[test]
fn thread_locals_belong_to_a_thread_and_drop_with_it() {
    static KEY: u8 = 0;
    thread_local!(static DROPS: Cell<u32> = const { Cell::new(0) });
    struct Noisy(Cell<u32>);
    impl Drop for Noisy {
        fn drop(&mut self) {
            assert!(
                runtime::thread_local::<Noisy>((&raw const KEY).cast(), || Noisy(Cell::new(0))).is_none()
            );
            DROPS.with(|d| d.set(d.get() + 1));
        }
    }
    fn local() -> u32 {
        let p = runtime::thread_local((&raw const KEY).cast(), || Noisy(Cell::new(0))).unwrap();
        // SAFETY: the local lives as long as its thread.
        let n = unsafe { &(*p).0 };
        n.set(n.get() + 1);
        n.get()
    }
    let n = passes(|| {
        assert_eq!((local(), local()), (1, 2));
        join(spawn(|| assert_eq!(local(), 1)));
    });
    assert_eq!(DROPS.with(Cell::get) as u64, 2 * n);
}

#[test]
fn statics_start_afresh_and_os_threads_do_not_disturb_each_other() {
    static X: Atomic = Atomic::new(7);
    static M: Mutex = Mutex::new();
    fn run() -> u64 {
        passes(|| {
            let t = spawn(|| {
                let _g = M.lock();
                X.add(1);
            });
            {
                let _g = M.lock();
                X.add(1);
            }
            join(t);
            assert_eq!(X.load(), 9);
        })
    }
    let expected = run();
    let others = [0; 4].map(|_| std::thread::spawn(run));
    others.into_iter().for_each(|t| assert_eq!(t.join().unwrap(), expected));
}

#[test]
fn the_data_of_a_static_is_copied_for_each_execution() {
    struct Shared {
        handle: runtime::Handle,
        data: std::cell::UnsafeCell<Vec<u32>>,
    }
    // SAFETY: used by one controlled thread only.
    unsafe impl std::marker::Sync for Shared {}
    static S: Shared =
        Shared { handle: runtime::Handle::new(), data: std::cell::UnsafeCell::new(Vec::new()) };
    let run = || {
        passes(|| {
            // SAFETY: only this thread uses the data.
            let v = unsafe { &mut *runtime::data(&S.handle, Class::Mutex, S.data.get()) };
            assert!(v.is_empty());
            v.extend([1, 2, 3]);
            // SAFETY: as above.
            let again = unsafe { &mut *runtime::data(&S.handle, Class::Mutex, S.data.get()) };
            assert_eq!(again.len(), 3);
            join(spawn(|| ()));
        })
    };
    let other = std::thread::spawn(run);
    run();
    other.join().unwrap();
    // SAFETY: the inline data is never written.
    assert!(unsafe { (*S.data.get()).is_empty() });
}

#[test]
fn use_outside_a_check_says_so() {
    let e = std::panic::catch_unwind(|| Atomic::new(0).load()).unwrap_err();
    let message = e.downcast_ref::<String>().unwrap();
    assert!(message.contains("outside `raddle::check`") && message.contains("executions.rs"), "{message}");
}

#[test]
fn a_check_inside_a_check_says_so() {
    let f = fails(|| _ = passes(|| ()));
    assert!(f.message.contains("cannot check another one"), "{}", f.message);
}

#[test]
fn a_count_that_is_not_zero_at_the_end_is_a_leak() {
    let f = fails(|| runtime::enter_count(&runtime::Handle::new(), Place::caller()));
    assert_eq!(f.kind, FailureKind::Leak);
    assert!(f.message.contains("arc #1 was never dropped"), "{}", f.message);
}

#[test]
fn a_test_that_is_not_deterministic_is_reported() {
    let n = Cell::new(0);
    let f = fails(move || {
        n.set(n.get() + 1);
        assert!(n.get() != 1, "only the first time");
    });
    assert_eq!(f.kind, FailureKind::Nondeterminism);
    assert!(f.message.contains("only the first time"), "{}", f.message);
}

#[test]
fn thread_numbers_do_not_depend_on_the_schedule() {
    let seen = RefCell::new(BTreeSet::new());
    passes(|| {
        let ids = Rc::new(RefCell::new(Vec::new()));
        let parents = [0, 1].map(|i| {
            let ids = ids.clone();
            spawn(move || {
                let id = spawn(|| ());
                ids.borrow_mut().push((i, id));
            })
        });
        parents.into_iter().for_each(join);
        let mut ids = ids.borrow().clone();
        ids.sort();
        seen.borrow_mut().insert(ids);
    });
    assert_eq!(seen.into_inner().len(), 1);
}

#[test]
fn panicking_speaks_of_the_controlled_thread() {
    struct Yields(Arc<Atomic>);
    impl Drop for Yields {
        fn drop(&mut self) {
            assert!(runtime::panicking());
            self.0.add(1);
            assert!(runtime::panicking());
        }
    }
    passes(|| {
        let x = shared(Atomic::new(0));
        let x1 = x.clone();
        let t = spawn(move || {
            let _y = Yields(x1);
            panic!("expected");
        });
        x.add(1);
        assert!(!runtime::panicking());
        assert!(runtime::join(t, Place::caller()).is_err());
        assert!(!runtime::panicking());
    });
}

#[test]
fn a_destructor_that_catches_its_own_panic_in_teardown_is_fine() {
    struct Catches(Arc<Atomic>);
    impl Drop for Catches {
        fn drop(&mut self) {
            let caught = std::panic::catch_unwind(|| panic!("inside"));
            assert!(caught.is_err());
            self.0.load();
        }
    }
    let f = fails(|| {
        let _c = Catches(shared(Atomic::new(0)));
        runtime::park(None, Place::caller());
    });
    assert_eq!(f.kind, FailureKind::Deadlock);
}

#[test]
fn code_that_catches_the_unwinding_of_an_abandoned_execution_is_unwound_further() {
    let alive = Arc::new(AtomicUsize::new(0));
    let counted = alive.clone();
    let f = fails(move || {
        let _c = Counted::new(&counted);
        let x = Atomic::new(0);
        loop {
            let _ = std::panic::catch_unwind(|| runtime::park(None, Place::caller()));
            x.add(1);
        }
    });
    assert_eq!(f.kind, FailureKind::Deadlock);
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[test]
fn a_destructor_that_loops_in_teardown_is_left_behind() {
    struct Loops(Arc<Atomic>);
    impl Drop for Loops {
        fn drop(&mut self) {
            while self.0.load() == 0 {}
        }
    }
    let f = fails(|| {
        let x = shared(Atomic::new(0));
        let l = Loops(x.clone());
        runtime::park(None, Place::caller());
        x.store(1);
        drop(l);
    });
    assert_eq!(f.kind, FailureKind::Deadlock);
}

#[test]
fn a_panic_of_the_search_is_not_taken_for_one_of_the_test() {
    struct Broken(u32);
    impl explore::Explorer for Broken {
        fn begin(&mut self) {}
        fn next_thread(&mut self, view: &explore::View<'_>) -> explore::Decision {
            self.0 += 1;
            assert!(self.0 < 4, "a lemma does not hold");
            explore::Decision::Run(view.enabled.first().unwrap())
        }
        fn next_option(&mut self, options: explore::Options<'_>) -> u32 {
            options.get(0)
        }
        fn executed(&mut self, _event: explore::Executed<'_>) {}
        fn end(&mut self, _end: explore::End, _view: &explore::View<'_>) -> bool {
            false
        }
    }
    let run = || {
        // The search is not started again because the loop repeats itself.
        let settings = Settings { spin_loops: false, ..settings() };
        let mut session = runtime::Session::new(&settings);
        session.run_once(&mut Broken(0), &|| drop((0..9).map(|_| yield_now()).collect::<Vec<_>>()), false);
    };
    let e = std::panic::catch_unwind(run).unwrap_err();
    assert!(e.downcast_ref::<&str>().unwrap().contains("the search panicked"));
    assert!(!runtime::active());
}

#[test]
fn a_failure_is_shown_with_as_few_preemptions_as_were_found() {
    // Without shrinking, a search that runs the youngest thread first meets the failure with many switches.
    let test = || {
        let (x, y) = (shared(Atomic::new(0)), shared(Atomic::new(0)));
        let threads = [0, 1].map(|_| {
            let (x, y) = (x.clone(), y.clone());
            spawn(move || {
                y.add(1);
                let v = x.load();
                y.add(1);
                x.store(v + 1);
                y.add(1);
            })
        });
        threads.into_iter().for_each(join);
        assert_eq!(x.load(), 2);
    };
    let schedule = explore::Schedule::new([1, 2, 1, 2, 1, 2, 1, 2].map(ThreadId).to_vec(), Vec::new());
    struct Then(explore::Replay);
    impl explore::Explorer for Then {
        fn begin(&mut self) {
            self.0.begin();
        }
        fn next_thread(&mut self, view: &explore::View<'_>) -> explore::Decision {
            self.0.next_thread(view)
        }
        fn next_option(&mut self, options: explore::Options<'_>) -> u32 {
            self.0.next_option(options)
        }
        fn executed(&mut self, _event: explore::Executed<'_>) {}
        fn end(&mut self, _end: explore::End, _view: &explore::View<'_>) -> bool {
            false
        }
    }
    impl explore::Progress for Then {
        fn restart(&mut self) {}

        fn stats(&self) -> explore::Stats {
            explore::Stats::default()
        }
        fn finished(&self) -> bool {
            true
        }
        fn promise(&self) -> explore::Promise {
            explore::Promise::Everything
        }
        fn spent(&self) -> Option<explore::Spent> {
            None
        }
        fn estimate(&self) -> Option<f64> {
            None
        }
        fn schedule(&self) -> explore::Schedule {
            explore::Schedule::default()
        }
    }
    let preemptions = |shrink| {
        let settings = Settings { shrink, ..settings() };
        let mut search = Then(explore::Replay::strict(schedule.clone()));
        let found = runtime::check(&settings, &mut search, &test, &mut |_| ()).failures;
        assert_eq!(found[0].kind, FailureKind::Assertion, "{:#?}", found[0]);
        found[0].preemptions
    };
    assert!(preemptions(false) > 3);
    assert_eq!(preemptions(true), 1);
}
