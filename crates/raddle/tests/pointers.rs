//! Pointers from `UnsafeCell::get`: an access happens where the pointer is used, not where it is got.

use raddle::FailureKind::DataRace;
use raddle::cell::UnsafeCell;
use raddle::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use raddle::sync::{Arc, Mutex};
use raddle::{Config, Report, Verdict, thread};

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
fn races(test: impl Fn()) {
    let report = run(test);
    assert_eq!(report.failures.first().map(|f| f.kind), Some(DataRace), "{report:?}");
}

struct Shared<T> {
    lock: Mutex<()>,
    flag: AtomicBool,
    cell: UnsafeCell<T>,
}
// SAFETY: the point of the tests is that this may be wrong; accesses are checked.
unsafe impl<T> Sync for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Send for Shared<T> {}

/// Two threads with one cell; both have ended at the end.
fn two<T: 'static>(value: T, a: fn(&Shared<T>), b: fn(&Shared<T>)) -> Arc<Shared<T>> {
    let shared =
        Arc::new(Shared { lock: Mutex::new(()), flag: AtomicBool::new(false), cell: UnsafeCell::new(value) });
    let other = shared.clone();
    let t = thread::spawn(move || a(&other));
    b(&shared);
    t.join().unwrap();
    shared
}

fn add_under_lock(s: &Shared<u32>) {
    let _guard = s.lock.lock().unwrap();
    // SAFETY: under the lock.
    unsafe { *s.cell.get() += 1 };
}

fn add_through_early_pointer(s: &Shared<u32>) {
    let p = s.cell.get();
    let _guard = s.lock.lock().unwrap();
    // SAFETY: under the lock.
    unsafe { *p += 1 };
}

fn read_under_lock(s: &Shared<u32>) {
    let p = s.cell.get();
    let _guard = s.lock.lock().unwrap();
    // SAFETY: under the lock.
    std::hint::black_box(unsafe { *p });
}

fn read_after_lock(s: &Shared<u32>) {
    let p = s.cell.get();
    drop(s.lock.lock().unwrap());
    // SAFETY: it is not: a race.
    std::hint::black_box(unsafe { *p });
}

fn read_before_lock(s: &Shared<u32>) {
    // SAFETY: it is not: a race.
    std::hint::black_box(unsafe { *s.cell.get() });
    drop(s.lock.lock().unwrap());
}

fn write_after_lock(s: &Shared<u32>) {
    let p = s.cell.get();
    drop(s.lock.lock().unwrap());
    // SAFETY: it is not: a race.
    unsafe { *p = 7 };
}

fn write_same_value(s: &Shared<u32>) {
    // SAFETY: it is not: a race.
    unsafe { s.cell.get().write_volatile(0) };
}

fn only_get(s: &Shared<u32>) {
    assert!(!s.cell.get().is_null());
    drop(s.lock.lock().unwrap());
}

fn read_at_once(s: &Shared<u32>) {
    // SAFETY: a race if another thread writes.
    std::hint::black_box(unsafe { s.cell.get().read_volatile() });
}

fn with_mut_under_lock(s: &Shared<u32>) {
    let _guard = s.lock.lock().unwrap();
    // SAFETY: under the lock.
    s.cell.with_mut(|p| unsafe { *p += 1 });
}

#[test]
fn a_pointer_from_before_a_lock_may_be_used_under_it() {
    for a in [add_under_lock, add_through_early_pointer, read_under_lock, only_get, with_mut_under_lock] {
        for b in [add_under_lock, add_through_early_pointer, read_under_lock, only_get, with_mut_under_lock] {
            holds(|| drop(two(0, a, b)));
        }
    }
    holds(|| drop(two(0, read_after_lock, read_before_lock)));
    holds(|| drop(two(0, read_at_once, read_under_lock)));
    holds(|| drop(two(0, only_get, write_after_lock)));
}

#[test]
fn an_access_outside_of_the_lock_is_a_race() {
    for a in [read_after_lock, read_before_lock, write_after_lock, read_at_once, write_same_value] {
        for b in [add_under_lock, add_through_early_pointer, with_mut_under_lock] {
            races(|| drop(two(0, a, b)));
            races(|| drop(two(0, b, a)));
        }
    }
    races(|| drop(two(0, write_after_lock, read_after_lock)));
    races(|| drop(two(0, write_same_value, read_at_once)));
}

#[test]
fn the_value_is_where_it_should_be_in_the_end() {
    holds(|| {
        let shared = two(5, add_through_early_pointer, add_under_lock);
        let Ok(mut shared) = Arc::try_unwrap(shared) else { unreachable!("both have ended") };
        assert_eq!(*shared.cell.get_mut(), 7);
        *shared.cell.get_mut() += 1;
        let cell = shared.cell;
        // SAFETY: the pointer is good during the call.
        assert_eq!(cell.with(|p| unsafe { *p }), 8);
        assert_eq!(cell.into_inner(), 8);
    });
    // What a cell owns is dropped once, and it is what was there last.
    let dropped = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    struct Counted(std::sync::Arc<std::sync::atomic::AtomicUsize>, usize);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_add(self.1, Relaxed);
        }
    }
    let report = Config::new().quiet(true).scan(false).run(|| {
        dropped.store(0, Relaxed);
        let push = |s: &Shared<Vec<Counted>>| {
            let p = s.cell.get();
            let _guard = s.lock.lock().unwrap();
            // SAFETY: under the lock.
            let all = unsafe { &mut *p };
            let first = &all[0];
            all.push(Counted(first.0.clone(), 10));
        };
        drop(two(vec![Counted(dropped.clone(), 1)], push, push));
        assert_eq!(dropped.load(Relaxed), 21);
    });
    assert_eq!(report.verdict, Verdict::Verified, "{report:?}");
}

#[test]
fn statics_are_watched_too() {
    struct Static(UnsafeCell<u32>, Mutex<()>);
    // SAFETY: accesses are checked.
    unsafe impl Sync for Static {}
    static S: Static = Static(UnsafeCell::new(3), Mutex::new(()));
    fn add() {
        let p = S.0.get();
        let _guard = S.1.lock().unwrap();
        // SAFETY: under the lock.
        unsafe { *p += 1 };
    }
    holds(|| {
        let t = thread::spawn(add);
        add();
        t.join().unwrap();
        // SAFETY: the pointer is good during the call.
        assert_eq!(S.0.with(|p| unsafe { *p }), 5);
    });
    races(|| {
        let t = thread::spawn(add);
        // SAFETY: it is not: a race.
        std::hint::black_box(unsafe { *S.0.get() });
        t.join().unwrap();
    });
}

/// A queue of four slots in one cell, for one thread that puts and one that takes.
struct Ring {
    slots: UnsafeCell<[u32; 4]>,
    head: AtomicUsize,
    tail: AtomicUsize,
}
// SAFETY: each slot belongs to one thread at a time.
unsafe impl Sync for Ring {}
// SAFETY: as above.
unsafe impl Send for Ring {}

impl Ring {
    fn put(&self, v: u32) {
        let at = self.tail.load(SeqCst);
        // SAFETY: the slot is free.
        unsafe { (*self.slots.get())[at % 4] = v };
        self.tail.store(at + 1, SeqCst);
    }

    fn take(&self, early: bool) -> Option<u32> {
        let at = self.head.load(SeqCst);
        if !early && at == self.tail.load(SeqCst) {
            return None;
        }
        // SAFETY: the slot is full, unless it is taken too early.
        let v = unsafe { (*self.slots.get())[at % 4] };
        self.head.store(at + 1, SeqCst);
        Some(v)
    }
}

#[test]
fn elements_of_one_cell_are_told_apart() {
    let ring = |early: bool| {
        move || {
            let ring = Arc::new(Ring {
                slots: UnsafeCell::new([0; 4]),
                head: AtomicUsize::new(0),
                tail: AtomicUsize::new(0),
            });
            let other = ring.clone();
            let t = thread::spawn(move || (1..4).for_each(|v| other.put(v)));
            let mut next = 1;
            for _ in 0..3 {
                if let Some(v) = ring.take(early) {
                    assert_eq!(v, next);
                    next += 1;
                }
            }
            t.join().unwrap();
        }
    };
    holds(ring(false));
    races(ring(true));
    // Parts of eight bytes.
    holds(|| {
        drop(two(
            [0u8; 8],
            // SAFETY: each thread has bytes of its own.
            |s| unsafe { s.cell.get().cast::<u8>().write(1) },
            // SAFETY: as above.
            |s| unsafe { s.cell.get().cast::<u8>().add(1).write(1) },
        ));
    });
    races(|| {
        drop(two(
            [0u16; 4],
            // SAFETY: it is not: both write the second byte.
            |s| unsafe { s.cell.get().cast::<u16>().write(0x101) },
            // SAFETY: as above.
            |s| unsafe { s.cell.get().cast::<u8>().add(1).write(7) },
        ));
    });
    races(|| {
        drop(two(
            [0u64; 64],
            // SAFETY: it is not: the other one reads all.
            |s| unsafe { (*s.cell.get())[63] = 1 },
            // SAFETY: as above.
            |s| {
                // SAFETY: as above.
                std::hint::black_box(unsafe { s.cell.get().read() });
            },
        ));
    });
}

#[test]
fn a_pointer_on_the_heap_is_followed() {
    races(|| {
        drop(two(
            0u32,
            |s| {
                let kept = Box::new(s.cell.get());
                drop(s.lock.lock().unwrap());
                // SAFETY: it is not: a race.
                unsafe { **kept = 1 };
            },
            |s| {
                let kept = Box::new([s.cell.get()]);
                drop(s.lock.lock().unwrap());
                // SAFETY: as above.
                std::hint::black_box(unsafe { *kept[0] });
            },
        ));
    });
    // A pointer that one thread gets and another one uses.
    holds(|| {
        let cell =
            Arc::new(Shared { lock: Mutex::new(()), flag: AtomicBool::new(false), cell: UnsafeCell::new(1) });
        let p = cell.cell.get() as usize;
        let other = cell.clone();
        let t = thread::spawn(move || {
            let _guard = other.lock.lock().unwrap();
            // SAFETY: under the lock.
            unsafe { *(p as *mut i32) += 1 };
        });
        {
            let _guard = cell.lock.lock().unwrap();
            // SAFETY: under the lock.
            unsafe { *cell.cell.get() += 1 };
        }
        cell.flag.store(true, SeqCst);
        t.join().unwrap();
    });
}

#[test]
fn objects_of_raddle_in_a_cell_are_themselves() {
    struct Node {
        count: AtomicUsize,
        lock: Mutex<u32>,
        inner: UnsafeCell<u32>,
    }
    fn node() -> Node {
        Node { count: AtomicUsize::new(0), lock: Mutex::new(0), inner: UnsafeCell::new(0) }
    }
    fn use_it(s: &Shared<Node>) {
        // SAFETY: nobody writes the node itself.
        let node = unsafe { &*s.cell.get() };
        node.count.fetch_add(1, SeqCst);
        let mut n = node.lock.lock().unwrap();
        *n += 1;
        // SAFETY: under the lock.
        unsafe { *node.inner.get() += 1 };
    }
    holds(|| {
        let shared = two(node(), use_it, use_it);
        let Ok(shared) = Arc::try_unwrap(shared) else { unreachable!("both have ended") };
        let node = shared.cell.into_inner();
        assert_eq!(
            (node.count.into_inner(), node.lock.into_inner().unwrap(), node.inner.into_inner()),
            (2, 2, 2)
        );
    });
    races(|| {
        // SAFETY: it is not: the node is replaced while it is used.
        drop(two(node(), use_it, |s| unsafe { s.cell.get().write(node()) }));
    });
}

/// The runtime has the value of an atomic: memory that pointers lead to follows it, and it takes what was written there.
#[test]
fn pointers_to_atomics_have_their_values_and_are_named() {
    use raddle::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64};
    let report = run(|| {
        let a = AtomicU64::new(1);
        a.store(2, SeqCst);
        let p = a.as_ptr();
        // SAFETY: nobody else uses the atomic, here and below.
        assert_eq!(unsafe { p.read() }, 2);
        a.fetch_add(1, SeqCst);
        // SAFETY: nobody else uses this memory.
        assert_eq!(unsafe { p.read() }, 3);
        // SAFETY: nobody else uses this memory.
        unsafe { p.write(7) };
        assert_eq!(a.swap(8, SeqCst), 7);
        assert_eq!(a.as_ptr(), p);
        // SAFETY: nobody else uses this memory.
        unsafe { p.write(9) };
        assert_eq!(a.compare_exchange(8, 1, SeqCst, SeqCst), Err(9));
        // SAFETY: nobody else uses this memory.
        unsafe { p.write(10) };
        assert_eq!(a.into_inner(), 10);

        let mut plain = [5u8; 2];
        let second = &raw mut plain[1];
        // SAFETY: nobody else uses this memory.
        let one = unsafe { AtomicU8::from_ptr(second) };
        one.fetch_add(1, SeqCst);
        // SAFETY: nobody else uses this memory.
        assert_eq!(unsafe { second.read() }, 6);
        // SAFETY: nobody else uses this memory.
        unsafe { second.write(1) };
        // SAFETY: nobody else uses this memory.
        assert_eq!(unsafe { AtomicU8::from_ptr(second) }.load(SeqCst), 1);
        assert_eq!(plain, [5, 1]);

        let (mut x, mut y) = (1, 2);
        let mut to: *mut i32 = &raw mut x;
        // SAFETY: nobody else uses this memory.
        unsafe { AtomicPtr::from_ptr(&raw mut to) }.store(&raw mut y, SeqCst);
        assert_eq!(to, &raw mut y);
    });
    assert_eq!(report.verdict, Verdict::NoFailureWithCaveats, "{report:?}");
    assert!(report.caveats.iter().any(|c| c.text.contains("as_ptr")), "{report:?}");
}

#[test]
fn atomics_of_one_address_are_one_atomic_for_all_threads() {
    let report = run(|| {
        #[derive(Clone, Copy)]
        struct Everybodys(*mut u32);
        // SAFETY: the memory is accessed by atomics while there are several threads.
        unsafe impl Send for Everybodys {}
        fn add(memory: Everybodys) {
            // SAFETY: the memory lives as long as the threads.
            let a = unsafe { raddle::sync::atomic::AtomicU32::from_ptr(memory.0) };
            let seen = a.load(SeqCst);
            a.store(seen + 1, SeqCst);
        }
        let memory = Everybodys(Box::into_raw(Box::new(0)));
        let t = thread::spawn(move || add(memory));
        add(memory);
        t.join().unwrap();
        // SAFETY: the other thread has ended.
        assert_eq!(*unsafe { Box::from_raw(memory.0) }, 2);
    });
    assert_eq!(report.failures.first().map(|f| f.kind), Some(raddle::FailureKind::Assertion), "{report:?}");
}
