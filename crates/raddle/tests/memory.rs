//! Memory that comes from `raddle::alloc` and `raddle::boxed`: misuse, leaks, and addresses that come back.

mod common;

use common::fails;
use raddle::FailureKind::{self, Assertion, DataRace, DoubleFree, InvalidFree, Leak, Panic, UseAfterFree};
use raddle::alloc::{Layout, Track, alloc, alloc_zeroed, dealloc};
use raddle::boxed::Box;
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};
use raddle::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use raddle::{Config, Report, Verdict, thread};
use std::collections::BTreeSet;
use std::ptr::null_mut;

fn run(test: impl Fn()) -> Report {
    Config::new().quiet(true).run(test)
}

#[track_caller]
fn verified(test: impl Fn()) -> Report {
    let report = run(test);
    assert_eq!(report.verdict, Verdict::Verified, "{report:?}");
    assert!(report.caveats.is_empty(), "{:?}", report.caveats);
    report
}

fn new_box<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

#[track_caller]
fn free<T>(p: *mut T) {
    if !p.is_null() {
        // SAFETY: the callers hand in what `new_box` gave; a check reports what they do wrong.
        drop(unsafe { Box::from_raw(p) });
    }
}

/// Lets threads share what they are handed.
struct Shared<T>(T);
// SAFETY: the tests use it for raw pointers, and access what is behind them through types of raddle.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

/// Runs two closures side by side.
fn both(a: impl FnOnce() + Send + 'static, b: impl FnOnce() + Send + 'static) {
    let threads = [thread::spawn(a), thread::spawn(b)];
    threads.into_iter().for_each(|t| t.join().unwrap());
}

#[test]
fn an_address_comes_back_without_any_order_between_free_and_alloc() {
    let failure = fails(Panic, || {
        let x = Arc::new((AtomicPtr::new(new_box(1u64)), AtomicPtr::new(null_mut())));
        let y = x.clone();
        both(
            move || {
                let p = x.0.swap(null_mut(), SeqCst);
                free(p);
                let q = x.1.load(SeqCst);
                assert!(p != q, "the same address");
                free(x.1.swap(null_mut(), SeqCst));
            },
            move || {
                y.1.store(new_box(2u64), SeqCst);
                free(y.1.swap(null_mut(), SeqCst));
            },
        );
    });
    assert!(failure.message.contains("the same address"), "{failure:?}");
    let operations: Vec<&str> = failure.trace.iter().map(|s| s.operation.as_str()).collect();
    assert!(operations.contains(&"alloc") && operations.contains(&"dealloc"), "{operations:?}");
    assert!(operations.contains(&"choose_address"), "{operations:?}");
}

/// A slot with a box in it: one thread replaces the box, the other takes it if it is still the one that it has seen.
fn replaced(tag: bool) -> impl Fn() {
    move || {
        let number =
            move |p: *mut u64, version: usize| p.expose_provenance() | if tag { version << 48 } else { 0 };
        let pointer = |n: usize| std::ptr::with_exposed_provenance_mut::<u64>(n & 0xffff_ffff_ffff);
        let slot = Arc::new((AtomicUsize::new(number(new_box(1), 1)), AtomicUsize::new(0)));
        let other = slot.clone();
        let t = thread::spawn(move || {
            let old = other.0.swap(0, SeqCst);
            if old != 0 {
                free(pointer(old));
                other.1.store(1, SeqCst);
                let new = new_box(2);
                other.0.store(number(new, 2), SeqCst);
            }
        });
        let seen = slot.0.load(SeqCst);
        let changed = slot.1.load(SeqCst);
        if seen != 0 && slot.0.compare_exchange(seen, 0, SeqCst, SeqCst).is_ok() {
            assert_eq!(slot.1.load(SeqCst), changed, "another box at the same address");
            free(pointer(seen));
        }
        t.join().unwrap();
        free(pointer(slot.0.load(SeqCst)));
    }
}

#[test]
fn aba_is_found_and_a_version_in_the_word_prevents_it() {
    let failure = fails(Assertion, replaced(false));
    assert!(failure.message.contains("another box at the same address"), "{failure:?}");
    verified(replaced(true));
}

#[test]
fn a_failure_with_an_address_that_came_back_can_be_replayed() {
    let report = run(replaced(false));
    let token = report.failures[0].replay.clone();
    let again = Config::new().quiet(true).replay(&token).run(replaced(false));
    assert_eq!(again.failures[0].message, report.failures[0].message, "{again:?}");
}

struct Node {
    next: AtomicPtr<Node>,
    value: u64,
}

fn node(value: u64) -> *mut Node {
    new_box(Node { next: AtomicPtr::new(null_mut()), value })
}

/// A stack of one node. One thread pops with a hazard pointer, or without; the other pops, frees the node and pushes a new one.
fn stack(hazard: bool) -> impl Fn() {
    move || {
        let head = Arc::new((AtomicPtr::new(node(1)), AtomicPtr::new(null_mut())));
        let other = head.clone();
        let reader = thread::spawn(move || {
            let (head, guard) = &*other;
            let top = head.load(SeqCst);
            if top.is_null() {
                return 0;
            }
            if hazard {
                guard.store(top, SeqCst);
                if head.load(SeqCst) != top {
                    guard.store(null_mut(), SeqCst);
                    return 0;
                }
            }
            // SAFETY: with the hazard pointer nobody frees it; without one the check reports the use.
            let next = unsafe { &(*top).next }.load(SeqCst);
            let popped = head.compare_exchange(top, next, SeqCst, SeqCst).is_ok();
            if hazard {
                guard.store(null_mut(), SeqCst);
            }
            if popped { top as usize } else { 0 }
        });
        let (top, guard) = &*head;
        let mut retired = null_mut::<Node>();
        let old = top.swap(null_mut(), SeqCst);
        if !old.is_null() {
            if hazard && guard.load(SeqCst) == old {
                retired = old;
            } else {
                free(old);
            }
            top.store(node(3), SeqCst);
        }
        let popped = std::ptr::with_exposed_provenance_mut::<Node>(reader.join().unwrap());
        if !popped.is_null() {
            // SAFETY: it was popped, so nobody has freed it.
            assert!(matches!(unsafe { (*popped).value }, 1 | 3));
        }
        let left = top.load(SeqCst);
        [left, popped, retired].into_iter().for_each(free);
    }
}

#[test]
fn a_stack_that_frees_its_nodes_is_wrong_and_right_with_a_hazard_pointer() {
    fails(UseAfterFree, stack(false));
    verified(stack(true));
}

#[test]
fn an_address_that_threads_compare_under_a_lock_comes_back_too() {
    let failure = fails(Panic, || {
        let slot = Arc::new(Mutex::new((Shared(new_box(1u64)), 0)));
        let other = slot.clone();
        let t = thread::spawn(move || {
            let seen = other.lock().unwrap().0.0 as usize;
            let now = other.lock().unwrap();
            assert!(now.0.0 as usize != seen || now.1 == 0, "taken for the old one");
        });
        let old = std::mem::replace(&mut slot.lock().unwrap().0, Shared(null_mut())).0;
        free(old);
        let new = new_box(2u64);
        *slot.lock().unwrap() = (Shared(new), 1);
        t.join().unwrap();
        free(new);
    });
    assert!(failure.message.contains("taken for the old one"), "{failure:?}");
}

/// Whether the second of two blocks can have the address of the first.
fn same_addresses(first: Layout, second: Layout) -> BTreeSet<bool> {
    let seen = std::boxed::Box::new(std::sync::Mutex::new(BTreeSet::new()));
    verified(|| {
        let old = Arc::new(AtomicPtr::new(null_mut()));
        let other = old.clone();
        let t = thread::spawn(move || {
            // SAFETY: the sizes are not 0, and each block is freed once.
            unsafe {
                let p = alloc(first);
                dealloc(p, first);
                other.store(p, SeqCst);
            }
        });
        // SAFETY: as above.
        unsafe {
            let p = alloc(second);
            let first = old.load(SeqCst);
            if !first.is_null() {
                seen.lock().unwrap().insert(p == first);
            }
            dealloc(p, second);
        }
        t.join().unwrap();
    });
    seen.into_inner().unwrap()
}

#[test]
fn an_address_comes_back_for_a_block_that_fits() {
    let of = |size, align| Layout::from_size_align(size, align).unwrap();
    assert_eq!(same_addresses(of(32, 8), of(32, 8)), BTreeSet::from([false, true]));
    assert_eq!(same_addresses(of(64, 8), of(24, 8)), BTreeSet::from([false, true]));
    assert_eq!(same_addresses(of(24, 8), of(64, 8)), BTreeSet::from([false]));
}

#[test]
fn contents_of_new_memory() {
    verified(|| {
        let layout = Layout::new::<[u64; 4]>();
        // SAFETY: the size is not 0; each block is freed once, and read in between.
        unsafe {
            let (a, z) = (alloc(layout), alloc_zeroed(layout));
            assert_eq!(*a.cast::<[u64; 4]>(), [0xcdcd_cdcd_cdcd_cdcd; 4]);
            assert_eq!(*z.cast::<[u64; 4]>(), [0; 4]);
            dealloc(a, layout);
            dealloc(z, layout);
        }
        // A value without a size has no memory.
        assert_eq!(*Box::new(()), ());
    });
}

#[test]
fn misuse_is_reported() {
    let layout = Layout::new::<u64>();
    /// What is wrong, how it is reported, and the test.
    type Case = (&'static str, FailureKind, &'static str, fn());
    let cases: [Case; 7] = [
        ("freed twice", DoubleFree, "is freed again", || {
            let p = new_box(1);
            free(p);
            free(p);
        }),
        ("freed twice by two threads", DoubleFree, "is freed again", || {
            let p = Arc::new(AtomicPtr::new(new_box(1)));
            let q = p.clone();
            both(move || free(p.load(SeqCst)), move || free(q.load(SeqCst)));
        }),
        ("not allocated", InvalidFree, "was not allocated by raddle", || {
            let mut n = 1u64;
            free(&raw mut n);
        }),
        ("an address inside", InvalidFree, "lies 8 bytes into", || {
            let p = new_box([1u64; 2]);
            free(p.cast::<u64>().wrapping_add(1));
        }),
        ("another layout", InvalidFree, "with size 4 and alignment 4", || free(new_box(1u64).cast::<u32>())),
        ("never freed", Leak, "8 bytes, allocated at", || {
            let _lost = new_box(1u64);
        }),
        ("never dropped", Leak, "the value that is tracked", || std::mem::forget(Track::new(1))),
    ];
    for (what, kind, message, test) in cases {
        let report = run(test);
        let failure = report.failures.first().unwrap_or_else(|| panic!("{what}: {report:?}"));
        assert_eq!(failure.kind, kind, "{what}: {failure:?}");
        assert!(failure.message.contains(message), "{what}: {failure:?}");
        assert!(failure.location.as_ref().is_some_and(|l| l.contains("memory.rs")), "{what}: {failure:?}");
    }
    verified(move || {
        let track = Track::new(1);
        assert_eq!(*track + track.get_ref(), 2);
        assert_eq!(track.into_inner(), 1);
        // SAFETY: the size is not 0, and it is freed once.
        unsafe { dealloc(alloc(layout), layout) };
    });
    // Outside of a check it is std's allocator.
    free(new_box(1));
}

/// Something in a block is used by one thread while another one frees the block.
fn used<T: 'static>(value: impl Fn() -> T, use_it: fn(&T)) -> Report {
    run(|| {
        let p = Shared(new_box(value()));
        let q = Shared(p.0);
        both(
            move || {
                let q = q;
                // SAFETY: wrong, as the block may be freed by now; that is what the check reports.
                use_it(unsafe { &*q.0 });
            },
            move || {
                let p = p;
                free(p.0);
            },
        );
    })
}

#[test]
fn a_use_that_nothing_orders_before_the_free_is_reported() {
    let is = |report: Report, kinds: &[FailureKind]| {
        assert!(report.failures.first().is_some_and(|f| kinds.contains(&f.kind)), "{report:?}");
    };
    is(used(|| AtomicU64::new(1), |a| assert!(a.load(SeqCst) == 1)), &[UseAfterFree]);
    is(used(|| (1u64, AtomicU64::new(1)), |a| a.1.store(2, SeqCst)), &[UseAfterFree]);
    is(used(|| UnsafeCell::new(1u64), |c| c.with(|_| ())), &[UseAfterFree, DataRace]);
    is(used(|| Mutex::new(1u64), |m| drop(m.lock())), &[UseAfterFree]);
    is(used(|| RwLock::new(1u64), |m| drop(m.read())), &[UseAfterFree]);
}

/// Another thread meets the object for the first time after its block was freed.
#[test]
fn a_first_use_after_the_free_is_reported() {
    fn late<T: 'static>(make: impl Fn() -> T, use_it: fn(&T)) {
        let report = run(|| {
            let p = Shared(new_box(make()));
            let other = Shared(p.0);
            let t = thread::spawn(move || {
                let p = other;
                // SAFETY: it is not safe: a check reports it.
                use_it(unsafe { &*p.0 });
            });
            free(p.0);
            t.join().unwrap();
        });
        let kind = report.failures.first().map(|f| f.kind);
        assert!(matches!(kind, Some(UseAfterFree | DataRace)), "{}: {report:?}", std::any::type_name::<T>());
    }
    late(|| AtomicU64::new(1), |a| assert!(a.load(SeqCst) == 1));
    late(|| AtomicU64::new(1), |a| a.store(1, SeqCst));
    late(|| AtomicBool::new(true), |a| assert!(a.fetch_and(true, SeqCst)));
    late(|| AtomicPtr::new(null_mut::<u8>()), |a| assert!(a.load(SeqCst).is_null()));
    late(|| Mutex::new(1u64), |m| drop(m.lock()));
    late(|| Mutex::new(1u64), |m| drop(m.try_lock()));
    late(|| RwLock::new(1u64), |m| drop(m.read()));
    late(|| RwLock::new(1u64), |m| drop(m.try_write()));
    late(Condvar::new, |c| c.notify_one());
    late(Once::new, |o| o.call_once(|| ()));
    late(OnceLock::<u64>::new, |o| assert_eq!(o.get_or_init(|| 1), &1));
    late(|| Barrier::new(1), |b| assert!(b.wait().is_leader()));
    late(|| UnsafeCell::new(1u64), |c| c.with(|_| ()));
}

#[test]
fn a_use_that_is_ordered_before_the_free_is_fine() {
    for use_it in [|a: &AtomicU64| a.load(SeqCst), |a: &AtomicU64| a.fetch_add(1, SeqCst)] {
        verified(|| {
            let p = Arc::new((AtomicPtr::new(new_box(AtomicU64::new(1))), AtomicU64::new(2)));
            let work = |p: Arc<(AtomicPtr<AtomicU64>, AtomicU64)>| {
                move || {
                    // SAFETY: the last one to be done frees it.
                    use_it(unsafe { &*p.0.load(SeqCst) });
                    if p.1.fetch_sub(1, SeqCst) == 1 {
                        free(p.0.load(SeqCst));
                    }
                }
            };
            both(work(p.clone()), work(p));
        });
    }
}

#[test]
fn memory_in_statics_is_freed_at_the_end() {
    static KEPT: Mutex<Option<Box<u64>>> = Mutex::new(None);
    verified(|| {
        let t = thread::spawn(|| *KEPT.lock().unwrap() = Some(Box::new(1)));
        drop(KEPT.lock().unwrap().replace(Box::new(2)));
        t.join().unwrap();
    });
}
