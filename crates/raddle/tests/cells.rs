//! What orders accesses of cells, and which accesses there are: the cells are shared by types that say, wrongly, that they can be.

use raddle::FailureKind::{DataRace, Deadlock, Panic};
use raddle::cell::{Cell, LazyCell, OnceCell, RefCell, UnsafeCell};
use raddle::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use raddle::sync::mpsc::{self, TryRecvError::Disconnected};
use raddle::sync::{Arc, Mutex, Weak};
use raddle::{Config, FailureKind, Report, Verdict, hint, thread};

fn run(test: impl Fn()) -> Report {
    Config::new().quiet(true).run(test)
}

#[track_caller]
fn holds(test: impl Fn()) {
    let report = run(test);
    let said = |c: &raddle::Caveat| c.kind.weakens();
    assert!(report.verdict == Verdict::Verified && !report.caveats.iter().any(said), "{report:?}");
}

#[track_caller]
fn fails(kind: FailureKind, test: impl Fn()) -> String {
    let report = run(test);
    assert!(!report.failures.is_empty(), "{report:?}");
    let failure = &report.failures[0];
    assert_eq!(failure.kind, kind, "{report:?}");
    failure.message.clone()
}

struct Shared<T>(T);
// SAFETY: the point of the tests is that this is wrong; accesses are checked.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> &T {
        &self.0
    }
}

/// Two threads use one value, with nothing that orders them.
fn both<T>(value: T, a: fn(&T), b: fn(&T)) {
    let value = Shared(value);
    thread::scope(|s| {
        s.spawn(|| a(value.get()));
        s.spawn(|| b(value.get()));
    });
}

#[test]
fn every_cell_of_the_module_is_checked() {
    fails(DataRace, || both(Cell::new(1), |c| c.set(2), |c| c.set(3)));
    fails(DataRace, || both(RefCell::new(1), |c| *c.borrow_mut() += 1, |c| *c.borrow_mut() += 1));
    fails(DataRace, || both(RefCell::new(1), |c| drop(c.borrow()), |c| drop(c.borrow())));
    fails(DataRace, || both(OnceCell::new(), |c| assert!(c.set(1).is_ok()), |c| assert!(c.get().is_some())));
    fails(DataRace, || both(OnceCell::new(), |c| assert!(c.set(1).is_ok()), |c| assert!(c.set(2).is_err())));
    fails(DataRace, || both(LazyCell::new(|| 1), |c| assert_eq!(**c, 1), |c| assert_eq!(**c, 1)));
    // To look at a value that is there is a read.
    holds(|| both(OnceCell::from(1), |c| assert_eq!(c.get(), Some(&1)), |c| assert_eq!(c.set(2), Err(2))));
    holds(|| {
        let lazy = LazyCell::new(|| 1);
        assert_eq!(*lazy, 1);
        both(lazy, |c| assert_eq!(**c, 1), |c| assert_eq!(**c, 1));
    });
    holds(|| {
        let m = Shared((Mutex::new(()), RefCell::new(0)));
        let add = || {
            let (lock, cell) = m.get();
            let _guard = lock.lock().unwrap();
            *cell.borrow_mut() += 1;
        };
        thread::scope(|s| {
            s.spawn(add);
            s.spawn(add);
        });
        assert_eq!(*m.get().1.borrow(), 2);
    });
}

#[test]
fn cells_do_what_those_of_std_do() {
    let use_them = || {
        let r = RefCell::new(vec![1]);
        {
            let b = r.borrow();
            assert!(r.try_borrow_mut().is_err() && r.try_borrow().is_ok());
            assert_eq!(b.len(), 1);
        }
        assert_eq!(r.replace(vec![2]), [1]);
        assert_eq!(r.replace_with(|v| [&v[..], &[3]].concat()), [2]);
        r.swap(&RefCell::new(vec![4]));
        assert_eq!((r.clone() == r, format!("{r:?}")), (true, "RefCell { value: [4] }".to_owned()));
        assert_eq!((r.take(), r.into_inner()), (vec![4], vec![]));
        let mut o = OnceCell::new();
        assert_eq!((o.get(), *o.get_or_init(|| 1), o.set(2)), (None, 1, Err(2)));
        assert_eq!((format!("{o:?}"), o.take(), o.into_inner()), ("OnceCell(1)".to_owned(), Some(1), None));
        let l = LazyCell::new(|| 7);
        assert_eq!((format!("{l:?}"), *l), ("LazyCell(<uninit>)".to_owned(), 7));
    };
    use_them();
    holds(use_them);
}

/// A value with a count of its users, in a box that the last of them takes apart.
struct Counted {
    users: AtomicU32,
    cell: UnsafeCell<u32>,
}

/// One thread gives its use up and then looks at the cell; or the other way round.
fn last_use(too_late: bool, end: fn(Box<Counted>)) {
    let p = Shared(Box::into_raw(Box::new(Counted { users: AtomicU32::new(2), cell: UnsafeCell::new(1) })));
    let q = Shared(p.0);
    let t = thread::spawn(move || {
        // SAFETY: where it is too late, that is reported.
        let counted = unsafe { &**q.get() };
        let look = || counted.cell.with(|_| ());
        if !too_late {
            look();
        }
        if counted.users.fetch_sub(1, SeqCst) == 1 {
            // SAFETY: the last user owns it.
            end(unsafe { Box::from_raw(*q.get()) });
        } else if too_late {
            look();
        }
    });
    // SAFETY: the box is there while the count is not 0.
    if unsafe { &**p.get() }.users.fetch_sub(1, SeqCst) == 1 {
        // SAFETY: as above.
        end(unsafe { Box::from_raw(*p.get()) });
    }
    t.join().unwrap();
}

#[test]
fn the_end_of_a_cell_is_an_access() {
    let ends: [fn(Box<Counted>); 3] =
        [drop, |mut b| *b.cell.get_mut() += 1, |b| assert_eq!(b.cell.into_inner(), 1)];
    for end in ends {
        holds(|| last_use(false, end));
    }
    // The thread looks after the other one has ended the cell, or before: it is a race in both orders. The memory is kept here, so that
    // the test itself is sound.
    fn keep(b: Box<Counted>) {
        let cell = &raw const b.cell;
        std::mem::forget(b);
        // SAFETY: the box is not used any more by this thread, and its memory stays.
        unsafe { cell.cast_mut().drop_in_place() };
    }
    let message = fails(DataRace, || last_use(true, keep));
    assert!(message.contains("dropped by"), "{message}");
    fails(DataRace, || {
        last_use(true, |b| {
            *Box::leak(b).cell.get_mut() += 1;
        });
    });
}

/// Another thread writes a cell and then does something; this one does something that may show it, and reads.
fn ordered_by<A: Send + 'static, B>(
    objects: fn() -> (A, B),
    other: fn(A),
    saw: fn(&mut B) -> bool,
) -> impl Fn() {
    move || {
        let cell = Arc::new(Shared(UnsafeCell::new(0)));
        let (a, mut b) = objects();
        let theirs = cell.clone();
        let t = thread::spawn(move || {
            // SAFETY: the pointer is good during the call.
            theirs.get().with_mut(|p| unsafe { *p = 1 });
            other(a);
        });
        if saw(&mut b) {
            cell.get().with(|_| ());
        }
        t.join().unwrap();
    }
}

#[test]
fn what_fails_orders_nothing() {
    fn weak() -> (Arc<()>, Weak<()>) {
        let a = Arc::new(());
        let w = Arc::downgrade(&a);
        (a, w)
    }
    fn three() -> (Arc<()>, [Option<Arc<()>>; 2]) {
        let a = Arc::new(());
        (a.clone(), [Some(a.clone()), Some(a)])
    }
    fn one_left([_, b]: &[Option<Arc<()>>; 2]) -> bool {
        Arc::strong_count(b.as_ref().unwrap()) == 1
    }
    fails(DataRace, ordered_by(weak, drop, |w| w.upgrade().is_none()));
    fails(DataRace, ordered_by(weak, drop, |w| w.strong_count() == 0));
    let unwraps = |all: &mut [Option<Arc<()>>; 2]| {
        all[0] = Arc::try_unwrap(all[0].take().unwrap()).err();
        all[0].is_some() && Arc::strong_count(all[0].as_ref().unwrap()) == 2
    };
    fails(DataRace, ordered_by(three, drop, unwraps));
    let takes =
        |all: &mut [Option<Arc<()>>; 2]| Arc::into_inner(all[0].take().unwrap()).is_none() && one_left(all);
    fails(DataRace, ordered_by(three, drop, takes));
    fails(DataRace, ordered_by(mpsc::channel::<()>, drop, |r| r.recv().is_err()));
    fails(DataRace, ordered_by(mpsc::channel::<()>, drop, |r| r.try_recv() == Err(Disconnected)));
    fails(DataRace, ordered_by(|| mpsc::sync_channel::<()>(1), drop, |r| r.recv().is_err()));
    // These do.
    let last = |all: &mut [Option<Arc<()>>; 2]| {
        all[0] = None;
        Arc::try_unwrap(all[1].take().unwrap()).is_ok()
    };
    holds(ordered_by(three, drop, last));
    let only = |all: &mut [Option<Arc<()>>; 2]| {
        all[0] = None;
        Arc::get_mut(all[1].as_mut().unwrap()).is_some()
    };
    holds(ordered_by(three, drop, only));
    holds(ordered_by(mpsc::channel::<()>, |s| s.send(()).unwrap(), |r| r.recv().is_ok()));
    holds(ordered_by(|| mpsc::sync_channel::<()>(0), drop, |r| r.recv().is_err()));
}

#[test]
fn loops_with_a_back_off_are_deterministic() {
    let wait = |looks: fn(&mut u32)| {
        move || {
            let flag = Arc::new(AtomicBool::new(false));
            let other = flag.clone();
            let t = thread::spawn(move || other.store(true, SeqCst));
            let mut step = 0;
            while !flag.load(SeqCst) {
                looks(&mut step);
            }
            t.join().unwrap();
        }
    };
    let forms: [fn(&mut u32); 2] = [
        |step| {
            if *step < 4 {
                *step += 1;
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        },
        |step| {
            for _ in 0..1 << (*step).min(3) {
                hint::spin_loop();
            }
            if *step < 4 {
                *step += 1;
            } else {
                thread::yield_now();
            }
        },
    ];
    for form in forms {
        let report = run(wait(form));
        assert!(report.failures.is_empty() && report.stopped.is_none(), "{report:?}");
    }
}

#[test]
fn the_panic_of_the_first_thread_is_shown() {
    // It comes before the join that would take the other one.
    let message = fails(Panic, || {
        let m = Arc::new(Mutex::new(0));
        let other = m.clone();
        let t = thread::spawn(move || {
            let _guard = other.lock().unwrap();
            panic!("taken by the join");
        });
        assert!(!m.is_poisoned(), "of the first thread");
        let _ = t.join();
    });
    assert_eq!(message, "of the first thread");
    // Another thread only repeats itself.
    let report = Config::new().quiet(true).spurious(32).run(|| {
        let x = Arc::new((Mutex::new(()), raddle::sync::Condvar::new(), AtomicBool::new(false)));
        let y = x.clone();
        let t = thread::spawn(move || {
            let mut guard = y.0.lock().unwrap();
            while !y.2.load(Relaxed) {
                guard = y.1.wait_timeout(guard, std::time::Duration::from_millis(1)).unwrap().0;
            }
        });
        assert!(x.2.load(Relaxed), "at once");
        t.join().unwrap();
    });
    assert_eq!(report.failures.first().map(|f| &f.message[..]), Some("at once"), "{report:?}");
}

#[test]
fn a_loop_that_catches_panics_does_not_hide_a_deadlock() {
    fails(Deadlock, || {
        let m = Arc::new((Mutex::new(()), Mutex::new(())));
        let n = m.clone();
        let t = thread::spawn(move || {
            let work = || {
                let _b = n.1.lock();
                let _a = n.0.lock();
            };
            while std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err() {}
        });
        {
            let _a = m.0.lock().unwrap();
            let _b = m.1.lock().unwrap();
        }
        t.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "null bytes")]
fn a_name_with_a_null_byte_is_refused() {
    raddle::check(|| {
        let _ = thread::Builder::new().name("a\0b".to_owned()).spawn(|| ());
    });
}

/// An object in a box, used by two threads through a pointer.
struct Freed<T>(*mut T);
// SAFETY: the point of the tests is that this may be wrong; operations are checked.
unsafe impl<T> Send for Freed<T> {}

/// One thread uses an object once and says so, or says so first; another one waits for that and then ends the object.
fn ended<T: 'static>(make: fn() -> T, early: bool, uses: fn(&T), end: fn(*mut T)) {
    let said = Arc::new(AtomicBool::new(false));
    let (p, told) = (Freed(Box::into_raw(Box::new(make()))), said.clone());
    let q = Freed(p.0);
    let t = thread::spawn(move || {
        let q = q;
        if early {
            told.store(true, SeqCst);
        }
        // SAFETY: where the object may be gone, that is reported.
        uses(unsafe { &*q.0 });
        if !early {
            told.store(true, SeqCst);
        }
    });
    // SAFETY: the object is there.
    uses(unsafe { &*p.0 });
    while !said.load(SeqCst) {
        hint::spin_loop();
    }
    end(p.0);
    t.join().unwrap();
}

#[test]
fn objects_are_not_used_by_others_while_one_thread_owns_them() {
    fn add(n: &AtomicU32) {
        n.fetch_add(1, SeqCst);
    }
    fn lock(m: &Mutex<u32>) {
        *m.lock().unwrap() += 1;
    }
    fn read(l: &raddle::sync::RwLock<u32>) {
        drop(l.read().unwrap());
    }
    fn notify(c: &raddle::sync::Condvar) {
        c.notify_all();
    }
    fn drop_it<T>(p: *mut T) {
        // SAFETY: the memory of the box stays, so that the test is sound; uses by the other thread are reported.
        unsafe { p.drop_in_place() };
    }
    let holds_or_not = |test: &dyn Fn(bool)| {
        let report = run(|| test(false));
        assert!(report.failures.is_empty() && report.stopped.is_none(), "{report:?}");
        let report = run(|| test(true));
        let kind = report.failures.first().map(|f| f.kind);
        assert!(matches!(kind, Some(DataRace | FailureKind::UseAfterFree)), "{report:?}");
    };
    holds_or_not(&|early| ended(|| AtomicU32::new(0), early, add, drop_it));
    // SAFETY: the memory of the box stays, so that the test is sound; uses by the other thread are reported.
    holds_or_not(&|early| ended(|| AtomicU32::new(0), early, add, |p| unsafe { *(*p).get_mut() += 1 }));
    holds_or_not(&|early| {
        // SAFETY: the memory of the box stays, so that the test is sound; uses by the other thread are reported.
        ended(|| AtomicU32::new(0), early, add, |p| assert!(unsafe { p.read() }.into_inner() > 0));
    });
    holds_or_not(&|early| ended(|| Mutex::new(0), early, lock, drop_it));
    // SAFETY: the memory of the box stays, so that the test is sound; uses by the other thread are reported.
    holds_or_not(&|early| ended(|| Mutex::new(0), early, lock, |p| unsafe { *(*p).get_mut().unwrap() += 1 }));
    holds_or_not(&|early| ended(|| raddle::sync::RwLock::new(0), early, read, drop_it));
    holds_or_not(&|early| {
        // SAFETY: the memory of the box stays, so that the test is sound; uses by the other thread are reported.
        ended(|| raddle::sync::RwLock::new(0), early, read, |p| unsafe { *(*p).get_mut().unwrap() += 1 });
    });
    holds_or_not(&|early| ended(raddle::sync::Condvar::new, early, notify, drop_it));
    // A relaxed count orders nothing.
    let counted = |order| {
        move || {
            let p = Freed(Box::into_raw(Box::new((AtomicU32::new(2), AtomicU32::new(0)))));
            let q = Freed(p.0);
            let leave = move |p: Freed<(AtomicU32, AtomicU32)>| {
                // SAFETY: the count is not 0 yet.
                let both = unsafe { &*p.0 };
                both.1.fetch_add(1, Relaxed);
                if both.0.fetch_sub(1, order) == 1 {
                    // SAFETY: nobody else uses it, if the order is strong enough.
                    drop(unsafe { Box::from_raw(p.0) });
                }
            };
            let t = thread::spawn(move || leave(q));
            leave(p);
            t.join().unwrap();
        }
    };
    holds(counted(SeqCst));
    fails(DataRace, counted(Relaxed));
    // An address that comes back, and an object that is moved, are not uses after the end.
    holds(|| {
        let all = Arc::new(Mutex::new(Vec::new()));
        let add = |all: &Mutex<Vec<Box<AtomicU32>>>| {
            for _ in 0..3 {
                let fresh = Box::new(AtomicU32::new(1));
                fresh.store(2, SeqCst);
                drop(fresh);
                let moved = *Box::new(AtomicU32::new(3));
                moved.store(4, SeqCst);
                all.lock().unwrap().push(Box::new(moved));
            }
        };
        let other = all.clone();
        let t = thread::spawn(move || add(&other));
        add(&all);
        t.join().unwrap();
        assert!(all.lock().unwrap().iter().all(|n| n.load(SeqCst) == 4));
    });
}

#[test]
fn an_arc_is_not_used_through_a_pointer_when_the_last_reference_is_gone() {
    let kept = |wait: bool| {
        move || {
            let a = Arc::new(Mutex::new(0));
            let p = Freed(Arc::as_ptr(&a).cast_mut());
            let t = thread::spawn(move || {
                let p = p;
                // SAFETY: where the mutex may be gone, that is reported.
                *unsafe { &*p.0 }.lock().unwrap() += 1;
            });
            if wait {
                t.join().unwrap();
                drop(a);
            } else {
                drop(a);
                t.join().unwrap();
            }
        }
    };
    holds(kept(true));
    let report = run(kept(false));
    let kind = report.failures.first().map(|f| f.kind);
    assert!(matches!(kind, Some(DataRace | FailureKind::UseAfterFree)), "{report:?}");
}

#[test]
fn the_last_reference_of_an_arc_of_std_may_be_anywhere() {
    struct Both {
        count: AtomicU32,
        lock: Mutex<u32>,
        cell: Shared<UnsafeCell<u32>>,
    }
    impl Drop for Both {
        fn drop(&mut self) {
            assert!(*self.count.get_mut() > 0 && *self.lock.get_mut().unwrap() > 0);
        }
    }
    let report = run(|| {
        let both = Both { count: AtomicU32::new(0), lock: Mutex::new(0), cell: Shared(UnsafeCell::new(0)) };
        let both = std::sync::Arc::new(both);
        for _ in 0..2 {
            let both = both.clone();
            thread::spawn(move || {
                both.count.fetch_add(1, Relaxed);
                *both.lock.lock().unwrap() += 1;
                let _guard = both.lock.lock().unwrap();
                // SAFETY: under the lock.
                both.cell.get().with_mut(|p| unsafe { *p += 1 });
            });
        }
    });
    assert!(report.failures.is_empty() && report.stopped.is_none(), "{report:?}");
}

#[test]
fn an_operation_that_a_thread_was_about_to_do_when_its_object_ended_is_a_use_after_the_end() {
    use raddle::sync::{Condvar, Once, OnceLock};
    // The thread may be anywhere when the object ends, or has been joined.
    fn both_use<T: 'static>(make: fn() -> T, joined: bool, uses: fn(&T), ends: fn(*mut T)) -> Report {
        run(move || {
            let p = Freed(Box::into_raw(Box::new(make())));
            let q = Freed(p.0);
            let t = thread::spawn(move || {
                let q = q;
                // SAFETY: where the object may be gone, that is reported.
                uses(unsafe { &*q.0 });
            });
            // SAFETY: the object is there.
            uses(unsafe { &*p.0 });
            if joined {
                t.join().unwrap();
                ends(p.0);
            } else {
                ends(p.0);
                t.join().unwrap();
            }
        })
    }
    fn drop_it<T>(p: *mut T) {
        // SAFETY: the memory of the box stays, so that the test is sound; uses by the other thread are reported.
        unsafe { p.drop_in_place() };
    }
    fn compare<T: 'static>(make: fn() -> T, uses: fn(&T)) {
        let report = both_use(make, true, uses, drop_it);
        assert!(report.failures.is_empty() && report.stopped.is_none(), "{report:?}");
        let report = both_use(make, false, uses, drop_it);
        let kind = report.failures.first().map(|f| f.kind);
        assert!(matches!(kind, Some(DataRace | FailureKind::UseAfterFree)), "{report:?}");
    }
    compare(|| AtomicU32::new(0), |n| _ = n.fetch_add(1, SeqCst));
    compare(|| AtomicU32::new(0), |n| _ = n.load(SeqCst));
    compare(|| Mutex::new(0), |m| *m.lock().unwrap() += 1);
    compare(Condvar::new, |c| c.notify_one());
    compare(OnceLock::new, |c| _ = c.set(1));
    compare(Once::new, |o| o.call_once(|| ()));

    // A reference that is made from a pointer before the last one goes.
    holds(|| {
        let p = Freed(Arc::into_raw(Arc::new(Mutex::new(1))).cast_mut());
        let q = Freed(p.0);
        let t = thread::spawn(move || {
            let q = q;
            // SAFETY: the reference of the other thread is there until this one has ended.
            unsafe {
                Arc::increment_strong_count(q.0);
                *Arc::from_raw(q.0).lock().unwrap() += 1;
            }
        });
        t.join().unwrap();
        // SAFETY: the reference that was made into the pointer.
        drop(unsafe { Arc::from_raw(p.0) });
    });
}

#[test]
fn elements_of_a_list_in_a_cell_are_named_where_threads_may_share_them() {
    let named = |f: &dyn Fn()| {
        let report = run(f);
        assert_eq!(report.verdict, raddle::Verdict::NoFailureWithCaveats, "{}", raddle::to_json(&report));
        assert!(report.caveats[0].text.contains("list"), "{:?}", report.caveats);
    };
    let list = || Arc::new(Shared(UnsafeCell::new(vec![0, 0])));
    named(&|| {
        let shared = list();
        let other = shared.clone();
        // SAFETY: it is not: both write the first element.
        let t = thread::spawn(move || unsafe { (&mut *other.get().get())[0] = 1 });
        // SAFETY: as above.
        unsafe { (&mut *shared.get().get())[0] = 2 };
        t.join().unwrap();
    });
    // Under a lock, and through an end of a thread.
    holds(|| {
        let (shared, lock) = (list(), Arc::new(Mutex::new(())));
        let (other, others) = (shared.clone(), lock.clone());
        let t = thread::spawn(move || {
            let _lock = others.lock().unwrap();
            // SAFETY: under the lock.
            unsafe { (&mut *other.get().get())[0] = 1 };
        });
        {
            let _lock = lock.lock().unwrap();
            // SAFETY: under the lock.
            unsafe { (&mut *shared.get().get())[0] = 2 };
        }
        t.join().unwrap();
        // SAFETY: the thread has ended.
        unsafe { (&mut *shared.get().get())[1] = 2 };
    });
}
