//! Objects that are overwritten or moved while other threads have pointers to them, and programs that look like it and are right.

mod common;

use common::{found, says, verified};
use raddle::FailureKind::{DataRace, UseAfterFree};
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Mutex, mpsc};
use raddle::{FailureKind, Verdict, thread};

/// A pointer that may go to another thread.
struct Sent<T>(*mut T);

impl<T> Clone for Sent<T> {
    fn clone(&self) -> Sent<T> {
        *self
    }
}

impl<T> Copy for Sent<T> {}

// SAFETY: those who use it say why.
unsafe impl<T> Send for Sent<T> {}

impl<T> Sent<T> {
    fn get(self) -> *mut T {
        self.0
    }
}

fn on_heap<T>(value: T) -> Sent<T> {
    Sent(Box::into_raw(Box::new(value)))
}

/// One of the two ways to report that one thread does something to an object that another one uses.
#[track_caller]
fn is_misused(f: impl Fn()) {
    let report = common::default().run(&f);
    assert_eq!(report.verdict, Verdict::Failure, "{} {:?}", report.guarantee, report.caveats);
    let kind: FailureKind = report.failures[0].kind;
    assert!([DataRace, UseAfterFree].contains(&kind), "{}", report.failures[0].message);
}

#[test]
fn an_object_that_is_overwritten_while_another_thread_uses_it_is_found() {
    // The assignment comes first in the first execution.
    is_misused(|| {
        let p = on_heap(AtomicUsize::new(0));
        // SAFETY: it is not: the atomic is replaced meanwhile.
        let t = thread::spawn(move || unsafe { (*p.get()).fetch_add(1, SeqCst) });
        // SAFETY: it is not.
        unsafe { *p.get() = AtomicUsize::new(5) };
        t.join().unwrap();
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(p.get()) });
    });
    // The other thread replaces it.
    is_misused(|| {
        let p = on_heap(AtomicUsize::new(0));
        // SAFETY: it is not.
        let t = thread::spawn(move || unsafe { *p.get() = AtomicUsize::new(5) });
        // SAFETY: it is not.
        unsafe { (*p.get()).fetch_add(1, SeqCst) };
        t.join().unwrap();
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(p.get()) });
    });
    // A lock.
    is_misused(|| {
        let p = on_heap(Mutex::new(0));
        // SAFETY: it is not.
        let t = thread::spawn(move || unsafe { *(*p.get()).lock().unwrap() += 1 });
        // SAFETY: it is not.
        unsafe { *p.get() = Mutex::new(5) };
        t.join().unwrap();
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(p.get()) });
    });
    // On the stack of the thread that replaces it.
    is_misused(|| {
        let mut x = AtomicUsize::new(0);
        let p = Sent(&raw mut x);
        // SAFETY: it is not.
        let t = thread::spawn(move || unsafe { (*p.get()).fetch_add(1, SeqCst) });
        // SAFETY: it is not.
        unsafe { *p.get() = AtomicUsize::new(5) };
        t.join().unwrap();
    });
}

#[test]
fn an_object_that_is_overwritten_before_others_get_it_is_fine() {
    verified(|| {
        let p = on_heap(AtomicUsize::new(0));
        let other = thread::spawn(|| ());
        // SAFETY: nobody else has it yet.
        unsafe { *p.get() = AtomicUsize::new(5) };
        // SAFETY: it is replaced before this thread starts.
        let t = thread::spawn(move || unsafe { (*p.get()).fetch_add(1, SeqCst) });
        assert_eq!(t.join().unwrap(), 5);
        other.join().unwrap();
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(p.get()) });
    });
    // Handed over by a message.
    verified(|| {
        let (tx, rx) = mpsc::channel();
        let t = thread::spawn(move || {
            let p: Sent<AtomicUsize> = rx.recv().unwrap();
            // SAFETY: sent by its owner.
            let b = unsafe { Box::from_raw(p.get()) };
            b.fetch_add(1, SeqCst)
        });
        let p = on_heap(AtomicUsize::new(0));
        // SAFETY: nobody else has it yet.
        unsafe { *p.get() = AtomicUsize::new(7) };
        tx.send(p).unwrap();
        assert_eq!(t.join().unwrap(), 7);
    });
    // Under a lock.
    verified(|| {
        let slot = Mutex::new(AtomicUsize::new(0));
        thread::scope(|s| {
            s.spawn(|| *slot.lock().unwrap() = AtomicUsize::new(1));
            slot.lock().unwrap().fetch_add(1, SeqCst);
        });
    });
}

#[test]
fn memory_that_other_threads_get_from_the_allocator_is_fine() {
    // Both threads drop and allocate objects of one size again and again: addresses come back.
    verified(|| {
        let work = || {
            for _ in 0..3 {
                let b = Box::new(AtomicUsize::new(0));
                b.fetch_add(1, SeqCst);
                let v: Vec<AtomicUsize> = (0..3).map(AtomicUsize::new).collect();
                v[1].fetch_add(1, SeqCst);
            }
        };
        let t = thread::spawn(work);
        work();
        t.join().unwrap();
    });
    // On stacks, one thread after the other.
    verified(|| {
        for _ in 0..3 {
            let all: [_; 2] = std::array::from_fn(|_| {
                thread::spawn(|| {
                    let x = AtomicUsize::new(0);
                    x.fetch_add(1, SeqCst)
                })
            });
            for t in all {
                t.join().unwrap();
            }
        }
    });
}

#[test]
fn a_pointer_into_a_vector_that_has_grown_is_found() {
    // The vector grows before the pointer is used, or after.
    for first in [true, false] {
        let failure = found(UseAfterFree, move || {
            let mut v = vec![AtomicUsize::new(0)];
            v[0].store(1, SeqCst);
            let p = Sent(&raw mut v[0]);
            // SAFETY: it is not: the vector may have grown.
            let t = thread::spawn(move || unsafe { (*p.get()).fetch_add(1, SeqCst) });
            if first {
                v.reserve(100);
                t.join().unwrap();
            } else {
                v[0].load(SeqCst);
                v.reserve(100);
                v[0].load(SeqCst);
                t.join().unwrap();
            }
        });
        says(&failure.message, &["moved"]);
    }
}

#[test]
fn vectors_that_grow_while_others_use_what_is_theirs_are_fine() {
    verified(|| {
        let other = AtomicUsize::new(0);
        thread::scope(|s| {
            s.spawn(|| other.fetch_add(1, SeqCst));
            let mut v = Vec::new();
            for i in 0..20 {
                v.push(AtomicUsize::new(i));
                v[i].fetch_add(1, SeqCst);
                v[0].load(SeqCst);
            }
            let popped = v.pop().unwrap();
            v.reserve(1000);
            assert_eq!(popped.load(SeqCst), 20);
        });
    });
    // Elements that left the vector are used by others when it grows.
    verified(|| {
        let mut v = vec![AtomicUsize::new(0), AtomicUsize::new(1)];
        v[1].load(SeqCst);
        let popped = v.pop().unwrap();
        thread::scope(|s| {
            s.spawn(|| popped.fetch_add(1, SeqCst));
            v.reserve(1000);
            assert_eq!(v[0].load(SeqCst), 0);
        });
    });
    // Under a lock.
    verified(|| {
        let v = Mutex::new(vec![AtomicUsize::new(0)]);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let mut v = v.lock().unwrap();
                    v[0].fetch_add(1, SeqCst);
                    let n = v.len();
                    v.reserve(100 * n);
                    v.push(AtomicUsize::new(n));
                });
            }
        });
        assert_eq!(v.into_inner().unwrap()[0].load(SeqCst), 2);
    });
}

/// Pointers for a thread that uses an object while its owner moves it.
fn pointer<T>(object: &T) -> Sent<T> {
    Sent(std::ptr::from_ref(object).cast_mut())
}

#[test]
fn an_object_that_its_owner_moves_or_consumes_while_another_thread_uses_it_is_found() {
    let adds = |p: Sent<AtomicUsize>| {
        // SAFETY: it is not: the owner moves the atomic meanwhile.
        thread::spawn(move || unsafe { (*p.get()).fetch_add(1, SeqCst) })
    };
    is_misused(|| {
        let a = AtomicUsize::new(0);
        let t = adds(pointer(&a));
        a.into_inner();
        t.join().unwrap();
    });
    is_misused(|| {
        let a = Box::new(AtomicUsize::new(0));
        let t = adds(pointer(&*a));
        (*a).into_inner();
        t.join().unwrap();
    });
    is_misused(|| {
        let a = AtomicUsize::new(0);
        let t = adds(pointer(&a));
        drop(a);
        t.join().unwrap();
    });
    is_misused(|| {
        let mut a = AtomicUsize::new(0);
        let t = adds(pointer(&a));
        let b = std::mem::replace(&mut a, AtomicUsize::new(7));
        t.join().unwrap();
        b.load(SeqCst);
    });
    is_misused(|| {
        let (mut a, mut b) = (AtomicUsize::new(0), AtomicUsize::new(5));
        let t = adds(pointer(&a));
        std::mem::swap(&mut a, &mut b);
        t.join().unwrap();
    });
    is_misused(|| {
        let a = AtomicUsize::new(0);
        let t = adds(pointer(&a));
        let b = a;
        b.load(SeqCst);
        t.join().unwrap();
    });
    is_misused(|| {
        let mut a = Mutex::new(0);
        let p = pointer(&a);
        // SAFETY: it is not.
        let t = thread::spawn(move || unsafe { *(*p.get()).lock().unwrap() += 1 });
        let b = std::mem::take(&mut a);
        t.join().unwrap();
        assert_eq!(b.into_inner().unwrap(), 0);
    });
}

#[test]
fn objects_that_move_when_others_are_done_with_them_are_no_failure() {
    verified(|| {
        let a = AtomicUsize::new(0);
        thread::scope(|s| {
            s.spawn(|| a.fetch_add(1, SeqCst));
        });
        let b = Box::new(a);
        let t = thread::spawn(move || {
            b.fetch_add(1, SeqCst);
            *b
        });
        let c = t.join().unwrap();
        assert_eq!(c.load(SeqCst), 2);
        assert_eq!(c.into_inner(), 2);
    });
    verified(|| {
        let (s, r) = mpsc::channel();
        let t = thread::spawn(move || {
            let m = Mutex::new(1);
            *m.lock().unwrap() += 1;
            s.send(m).unwrap();
        });
        let m = r.recv().unwrap();
        assert_eq!(*m.lock().unwrap(), 2);
        t.join().unwrap();
    });
}

fn races_are_named(f: impl Fn()) {
    let report = common::default().run(f);
    let kinds: Vec<_> = report.caveats.iter().map(|c| c.kind).collect();
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{}", raddle::to_json(&report));
    assert!(kinds.contains(&raddle::CaveatKind::Races), "{}", raddle::to_json(&report));
}

/// Writes a new value without dropping the old one.
///
/// # Safety
///
/// The memory is valid.
#[inline(never)]
unsafe fn write_over<T>(p: Sent<T>, value: T) {
    // SAFETY: by the contract.
    unsafe { p.get().write(value) }
}

#[test]
fn an_object_that_is_written_over_without_a_drop_is_found_or_named() {
    // The thread that writes uses the new one.
    is_misused(|| {
        let p = on_heap(AtomicUsize::new(0));
        // SAFETY: it is not: the atomic is replaced meanwhile.
        let t = thread::spawn(move || unsafe { (*p.get()).fetch_add(1, SeqCst) });
        // SAFETY: it is not.
        unsafe {
            (*p.get()).store(1, SeqCst);
            write_over(p, AtomicUsize::new(5));
            (*p.get()).store(1, SeqCst);
        }
        t.join().unwrap();
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(p.get()) });
    });
    // Another one meets it.
    races_are_named(|| {
        let p = on_heap(AtomicUsize::new(0));
        // SAFETY: nobody else has it.
        unsafe { (*p.get()).store(1, SeqCst) };
        // SAFETY: it is not: the atomic is replaced meanwhile.
        let t = thread::spawn(move || unsafe { write_over(p, AtomicUsize::new(5)) });
        // SAFETY: it is not.
        let u = thread::spawn(move || unsafe { (*p.get()).load(SeqCst) });
        t.join().unwrap();
        u.join().unwrap();
        // SAFETY: nobody else has it.
        drop(unsafe { Box::from_raw(p.get()) });
    });
}

#[test]
fn objects_that_come_and_go_at_one_address_are_fine() {
    verified(|| {
        let slot = Mutex::new(Some(Box::new(AtomicUsize::new(1))));
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let mut slot = slot.lock().unwrap();
                    let old = slot.take().unwrap();
                    old.fetch_add(1, SeqCst);
                    drop(old);
                    let new = Box::new(AtomicUsize::new(3));
                    new.fetch_add(1, SeqCst);
                    *slot = Some(new);
                });
            }
        });
    });
    verified(|| {
        let list = Mutex::new(vec![AtomicUsize::new(0)]);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let mut list = list.lock().unwrap();
                    list[0].fetch_add(1, SeqCst);
                    list[0] = AtomicUsize::new(7);
                    list[0].fetch_add(1, SeqCst);
                    let last = list.pop().unwrap();
                    last.fetch_add(1, SeqCst);
                    list.push(AtomicUsize::new(1));
                    list[0].fetch_add(1, SeqCst);
                });
            }
        });
    });
}
