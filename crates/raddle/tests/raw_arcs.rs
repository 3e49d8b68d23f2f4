//! References that become pointers and references again: `into_raw`, `from_raw`, and counts that are changed through a pointer.

mod common;

use common::{fails, found, outcomes, says, verified, verified_with};
use raddle::FailureKind::{DoubleFree, Leak, UseAfterFree};
use raddle::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use raddle::sync::{Arc, Mutex, Weak};
use raddle::thread;
use std::collections::BTreeSet;
use std::mem::ManuallyDrop;

/// A cell with a current value, which readers take a reference of, and writers replace.
struct Swap<T> {
    current: AtomicPtr<T>,
    /// Held by whoever reads the pointer, or releases what was there.
    lock: Mutex<()>,
}

impl<T> Swap<T> {
    fn new(value: T) -> Swap<T> {
        Swap { current: AtomicPtr::new(Arc::into_raw(Arc::new(value)).cast_mut()), lock: Mutex::new(()) }
    }

    /// Increments the count of what it has seen, which may be gone by then.
    fn load(&self) -> Arc<T> {
        let p = self.current.load(SeqCst);
        // SAFETY: it is not: nothing keeps the value alive between the load and the increment.
        unsafe {
            Arc::increment_strong_count(p);
            Arc::from_raw(p)
        }
    }

    /// The same with a reference that is borrowed, as in a waker.
    fn load_by_clone(&self) -> Arc<T> {
        let p = self.current.load(SeqCst);
        // SAFETY: as above.
        let borrowed = ManuallyDrop::new(unsafe { Arc::from_raw(p) });
        (*borrowed).clone()
    }

    fn load_locked(&self) -> Arc<T> {
        let _guard = self.lock.lock().unwrap();
        self.load()
    }

    fn store(&self, value: T) {
        let old = self.current.swap(Arc::into_raw(Arc::new(value)).cast_mut(), SeqCst);
        // SAFETY: the pointer had one reference.
        drop(unsafe { Arc::from_raw(old) });
    }

    fn store_locked(&self, value: T) {
        let _guard = self.lock.lock().unwrap();
        self.store(value);
    }
}

impl<T> Drop for Swap<T> {
    fn drop(&mut self) {
        // SAFETY: the pointer has one reference.
        drop(unsafe { Arc::from_raw(*self.current.get_mut()) });
    }
}

fn with_swap(
    load: impl Fn(&Swap<String>) -> Arc<String> + Sync,
    store: impl Fn(&Swap<String>) + Sync,
) -> usize {
    let swap = Swap::new("a".to_owned());
    thread::scope(|s| {
        s.spawn(|| store(&swap));
        load(&swap).len()
    })
}

#[test]
fn a_count_that_is_raised_without_protection_is_a_use_after_free() {
    let store: fn(&Swap<String>) = |s| s.store("bc".to_owned());
    for load in [Swap::load, Swap::load_by_clone] {
        let failure = found(UseAfterFree, move || {
            with_swap(load, store);
        });
        says(&failure.message, &["whose last reference was dropped before"]);
    }
    // The same where dropping the value does nothing.
    found(UseAfterFree, || {
        let swap = Swap::new(1u32);
        thread::scope(|s| {
            s.spawn(|| swap.store(2));
            assert!(*swap.load() < 3);
        });
    });
    // Two references to begin with: both must go first.
    found(UseAfterFree, || {
        let swap = Swap::new(1u32);
        let held = swap.load();
        thread::scope(|s| {
            s.spawn(|| swap.store(2));
            s.spawn(move || drop(held));
            assert!(*swap.load() < 3);
        });
    });
}

#[test]
fn a_count_that_is_raised_under_a_lock_is_fine() {
    let seen = outcomes(|| with_swap(Swap::load_locked, |s| s.store_locked("bc".to_owned())));
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

#[test]
fn a_reference_that_is_released_twice_is_a_failure() {
    found(DoubleFree, || {
        let p = Arc::into_raw(Arc::new(5));
        // SAFETY: it is not: there is one reference.
        unsafe {
            Arc::decrement_strong_count(p);
            Arc::decrement_strong_count(p);
        }
    });
    found(UseAfterFree, || {
        let p = Arc::into_raw(Arc::new(5));
        // SAFETY: as above.
        unsafe {
            drop(Arc::from_raw(p));
            drop(Arc::from_raw(p));
        }
    });
    found(DoubleFree, || {
        let p = Arc::into_raw(Arc::new("text".to_owned()));
        // SAFETY: as above.
        let (a, b) = unsafe { (Arc::from_raw(p), Arc::from_raw(p)) };
        drop(a);
        drop(b);
    });
    found(DoubleFree, || {
        let p = Arc::into_raw(Arc::new("text".to_owned()));
        // SAFETY: as above.
        let (a, b) = unsafe { (Arc::from_raw(p), Arc::from_raw(p)) };
        assert!(Arc::into_inner(a).is_some());
        drop(b);
    });
    // By two threads that both think that it is theirs.
    let failure = fails(DoubleFree, || {
        let p = Arc::into_raw(Arc::new(5)) as usize;
        // SAFETY: as above.
        let release = move || unsafe { Arc::decrement_strong_count(p as *const i32) };
        let other = thread::spawn(release);
        release();
        other.join().unwrap();
    });
    says(&failure.message, &["released", "its count was 0 before"]);
    // A weak one.
    found(DoubleFree, || {
        let a = Arc::new(5);
        let p = Arc::downgrade(&a).into_raw();
        // SAFETY: as above.
        unsafe {
            drop(Weak::from_raw(p));
            drop(Weak::from_raw(p));
        }
    });
}

#[test]
fn a_reference_that_only_one_interleaving_releases_twice_is_found() {
    found(DoubleFree, || {
        static TAKEN: AtomicUsize = AtomicUsize::new(0);
        let p = Arc::into_raw(Arc::new(5)) as usize;
        let release = move || {
            // A look and a write are not one step.
            if TAKEN.load(SeqCst) == 0 {
                TAKEN.store(1, SeqCst);
                // SAFETY: it is not.
                unsafe { Arc::decrement_strong_count(p as *const i32) };
            }
        };
        let other = thread::spawn(release);
        release();
        other.join().unwrap();
    });
}

#[test]
fn several_references_from_one_pointer_share_its_counts() {
    // As the functions of a waker do.
    verified(|| {
        let p = Arc::into_raw(Arc::new(AtomicUsize::new(0))) as usize;
        let wake_by_ref = move || {
            // SAFETY: the pointer has a reference.
            let borrowed = ManuallyDrop::new(unsafe { Arc::from_raw(p as *const AtomicUsize) });
            borrowed.fetch_add(1, SeqCst);
            Arc::into_raw((*borrowed).clone()) as usize
        };
        let other = thread::spawn(wake_by_ref);
        let here = wake_by_ref();
        for q in [other.join().unwrap(), here] {
            assert_eq!(p, q);
            // SAFETY: each has made one.
            unsafe { Arc::decrement_strong_count(q as *const AtomicUsize) };
        }
        // SAFETY: the first one.
        let last = unsafe { Arc::from_raw(p as *const AtomicUsize) };
        assert_eq!(Arc::strong_count(&last), 1);
        assert_eq!(last.load(SeqCst), 2);
    });
    fails(Leak, || {
        let p = Arc::into_raw(Arc::new(1));
        // SAFETY: the pointer has a reference.
        unsafe { Arc::increment_strong_count(p) };
        // SAFETY: as above.
        drop(unsafe { Arc::from_raw(p) });
    });
}

#[test]
fn pointers_leave_the_other_methods_as_they_are() {
    verified(|| {
        let mut a = Arc::new(vec![1]);
        let p = Arc::as_ptr(&a);
        Arc::get_mut(&mut a).unwrap().push(2);
        Arc::make_mut(&mut a).push(3);
        assert_eq!(p, Arc::as_ptr(&a));
        // SAFETY: `a` has a reference.
        unsafe { Arc::increment_strong_count(p) };
        assert_eq!(Arc::strong_count(&a), 2);
        // SAFETY: made above.
        let b = unsafe { Arc::from_raw(p) };
        let weak = Arc::downgrade(&b);
        drop(b);
        assert_eq!(Arc::weak_count(&a), 1);
        assert_eq!(Arc::try_unwrap(a), Ok(vec![1, 2, 3]));
        assert!(weak.upgrade().is_none());
        // A weak reference alone keeps the memory.
        let q = weak.into_raw();
        // SAFETY: from `into_raw`.
        assert!(unsafe { Weak::from_raw(q) }.upgrade().is_none());
    });
    // One that goes to std and stays there.
    verified(|| {
        let a = Arc::new(1);
        let _ = Arc::as_ptr(&a);
        let mut a = Arc::into_std(a);
        *std::sync::Arc::get_mut(&mut a).unwrap() = 2;
    });
    // One that was made outside.
    let outside = Arc::new(7);
    verified_with(common::default(), || {
        let p = Arc::into_raw(outside.clone());
        // SAFETY: from `into_raw`.
        assert_eq!(*unsafe { Arc::from_raw(p) }, 7);
    });
    assert_eq!(Arc::strong_count(&outside), 1);
}
