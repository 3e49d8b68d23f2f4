//! Addresses that tests keep in atomics, as pointers and as numbers.

mod common;

use common::fails;
use raddle::FailureKind::Assertion;
use raddle::sync::Arc;
use raddle::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::SeqCst};
use raddle::{CaveatKind, Config, Report, Verdict, thread};

fn run(test: fn()) -> Report {
    Config::new().quiet(true).run(test)
}

/// A block of a size that nothing else here allocates, so that the allocator gives out next the one that was freed last.
type Block = [u64; 121];

fn new_box(n: u64) -> usize {
    Box::into_raw(Box::<Block>::new([n; 121])).expose_provenance()
}

/// Frees what [`new_box`] made, whatever the tag is.
fn free(address: usize) {
    let address = address & !7;
    if address != 0 {
        // SAFETY: the callers hand in what `new_box` gave, once.
        drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<Block>(address)) });
    }
}

#[test]
fn a_number_that_is_an_address_is_no_nondeterminism() {
    // Each execution has other addresses, also for blocks of other sizes.
    let report = run(|| {
        let noise: Vec<Vec<u8>> = (0..8).map(|n| vec![0; 24 + 8 * n]).collect();
        let slot = Arc::new((AtomicUsize::new(new_box(1)), AtomicU64::new(0)));
        let other = slot.clone();
        let t = thread::spawn(move || {
            // The lowest bit is a tag.
            let address = other.0.load(SeqCst);
            other.1.store((address | 1) as u64, SeqCst);
        });
        let seen = slot.1.load(SeqCst);
        assert!(seen == 0 || seen as usize == slot.0.load(SeqCst) | 1);
        t.join().unwrap();
        assert_eq!(slot.1.fetch_and(!1, SeqCst) as usize, slot.0.load(SeqCst) | 1);
        assert_eq!(slot.1.load(SeqCst) as usize, slot.0.load(SeqCst));
        free(slot.0.swap(0, SeqCst));
        drop(noise);
    });
    assert_eq!((report.verdict, report.stats.executions), (Verdict::Verified, 2), "{report:?}");
}

#[test]
fn numbers_at_either_end_of_the_range_come_back_as_they_were() {
    let report = run(|| {
        let x = AtomicU64::new(0);
        let words = [
            0,
            1,
            0x6eff_ffff_ffff,
            0x6f00_0000_0000,
            0x7eff_ffff_ffff,
            0x7f00_0000_0000,
            0x7fff_ffff_ffff,
            0x8000_0000_0000,
            u64::MAX,
        ];
        for n in words.into_iter().chain([0xabcd_7f12_3456_7890, 0x7f00_0000_0010]) {
            x.store(n, SeqCst);
            assert_eq!(x.load(SeqCst), n);
            assert_eq!(x.fetch_add(1, SeqCst), n);
            assert_eq!(x.swap(n, SeqCst), n.wrapping_add(1));
            assert_eq!(AtomicU64::new(n).load(SeqCst), n);
            assert_eq!(AtomicU64::new(n).into_inner(), n);
        }
    });
    assert_eq!((report.verdict, report.stats.executions), (Verdict::Verified, 1), "{report:?}");
}

#[test]
fn an_address_that_comes_back_is_taken_for_the_old_one() {
    let failure = fails(Assertion, || {
        let slot = Arc::new((AtomicUsize::new(new_box(1)), AtomicUsize::new(0)));
        let other = slot.clone();
        let t = thread::spawn(move || {
            let old = other.0.swap(0, SeqCst);
            if old == 0 {
                return;
            }
            free(old);
            other.1.fetch_add(1, SeqCst);
            let new = new_box(2);
            if other.0.compare_exchange(0, new, SeqCst, SeqCst).is_err() {
                free(new);
            }
        });
        let p = slot.0.load(SeqCst);
        let version = slot.1.load(SeqCst);
        if p != 0 && slot.0.compare_exchange(p, 0, SeqCst, SeqCst).is_ok() {
            assert_eq!(slot.1.load(SeqCst), version, "another box at the same address");
            free(p);
        }
        t.join().unwrap();
        free(slot.0.load(SeqCst));
    });
    assert!(failure.message.contains("another box at the same address"), "{failure:?}");
}

/// What the allocator has in store differs from one execution to the next. That is not nondeterminism of the test.
#[test]
fn addresses_that_come_back_only_now_and_then_are_no_nondeterminism() {
    static EXECUTIONS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
    let report = run(|| {
        let odd = EXECUTIONS.fetch_add(1, SeqCst) % 2 == 1;
        let slots = Arc::new([const { AtomicUsize::new(0) }; 2]);
        let other = slots.clone();
        let t = thread::spawn(move || {
            other[0].store(new_box(1), SeqCst);
            free(other[0].swap(0, SeqCst));
            // It takes the block that was just freed.
            let taken = if odd { new_box(2) } else { 0 };
            other[0].store(new_box(3), SeqCst);
            other[1].store(1, SeqCst);
            free(taken);
        });
        let seen = slots[0].load(SeqCst);
        if seen != 0 {
            slots[1].load(SeqCst);
        }
        t.join().unwrap();
        free(slots[0].load(SeqCst));
    });
    assert!(report.failures.is_empty(), "{report:?}");
    assert!(report.stats.executions > 3, "{report:?}");
    assert!(report.caveats.iter().any(|c| c.kind == CaveatKind::Reuse), "{report:?}");
}

#[test]
fn addresses_that_are_compared_are_named_in_the_report() {
    let report = run(|| {
        let mut n = 1;
        let slot = AtomicPtr::new(&raw mut n);
        let seen = slot.load(SeqCst);
        assert!(slot.compare_exchange(seen, std::ptr::null_mut(), SeqCst, SeqCst).is_ok());
    });
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats);
    assert_eq!(report.caveats.iter().map(|c| c.kind).collect::<Vec<_>>(), [CaveatKind::Reuse]);
    // Whether there is one at all is no question of addresses.
    let report = run(|| {
        let mut n = 1;
        let slot = AtomicPtr::new(std::ptr::null_mut());
        assert!(slot.compare_exchange(std::ptr::null_mut(), &raw mut n, SeqCst, SeqCst).is_ok());
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report:?}");
}

/// Which block the allocator would give out differs between executions. Where addresses are compared, it is the one that was freed last.
#[test]
fn an_address_comes_back_in_every_search_that_compares_it() {
    for n in 0..20 {
        // Other contents of the allocator.
        let _kept: Vec<_> = (0..n).map(|i| vec![0u8; 8 + i % 64]).collect();
        let failure = fails(Assertion, || {
            let slot = Arc::new((AtomicUsize::new(new_box(1) | 1), AtomicUsize::new(0)));
            let other = slot.clone();
            let t = thread::spawn(move || {
                let old = other.0.swap(0, SeqCst);
                free(old & !1);
                other.1.fetch_add(1, SeqCst);
                other.0.store(new_box(2) | 1, SeqCst);
            });
            let p = slot.0.load(SeqCst);
            let version = slot.1.load(SeqCst);
            if p != 0 && slot.0.compare_exchange(p, p, SeqCst, SeqCst).is_ok() {
                assert_eq!(slot.1.load(SeqCst), version, "another box at the same address");
            }
            t.join().unwrap();
            free(slot.0.load(SeqCst) & !1);
        });
        assert!(failure.message.contains("another box at the same address"), "{failure:?}");
    }
}

#[test]
fn an_address_that_an_atomic_keeps_comes_back_where_there_is_one_thread() {
    use raddle::boxed::Box;
    let report = run(|| {
        let a = Box::into_raw(Box::new(1u64));
        let kept = AtomicPtr::new(a);
        kept.load(SeqCst);
        // SAFETY: it comes from `into_raw`.
        drop(unsafe { Box::from_raw(a) });
        let b = Box::into_raw(Box::new(2u64));
        let same = kept.compare_exchange(b, std::ptr::null_mut(), SeqCst, SeqCst).is_ok();
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(b) });
        assert!(!same, "the address came back");
    });
    assert_eq!(report.verdict, raddle::Verdict::Failure, "{}", report.guarantee);
    assert!(report.failures[0].message.contains("the address came back"), "{}", report.failures[0].message);
}
