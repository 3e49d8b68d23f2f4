//! Idioms of concurrent Rust as users write them, over `rt`, which is std or raddle: right versions, and wrong ones with a known failure.
//!
//! `list!` calls a macro with the names of all of them: `right` ones, which hold under every schedule, and `wrong` ones, each with the kinds
//! of its failure. The failure of those behind `races` is a data race on plain memory.

use super::rt;

use rt::cell::UnsafeCell;
use rt::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering::*};
use rt::sync::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, Weak, mpsc};
use rt::{hint, thread};
use std::collections::VecDeque;
use std::future::Future;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::Duration;

#[allow(unused_macros, reason = "each crate that includes this has its own use of it")]
macro_rules! list {
    ($each:ident) => {
        $each! {
            right: arc_counts_down, arc_get_mut_when_alone, arc_into_inner_once, weak_upgrade, weak_cycle, cache_of_weak,
                once_cell_one_initializer, lazy_static_value, once_runs_once, once_that_panics, mpsc_two_senders,
                sync_channel_of_one, rendezvous, receiver_dropped, scoped_sum, scoped_borrow_mut, park_with_flag,
                executor_block_on, waker_from_arc, spin_mutex, spin_mutex_backoff, ticket_lock, mcs_lock, clh_lock,
                peterson, semaphore, rw_spin_lock, sense_barrier, latch, one_shot, spsc_ring, mpmc_ring, treiber_with_hazard,
                seqlock_atomic, left_right, epoch_like, rcu_by_arc, parker, event_count, double_checked, lock_ordering,
                try_lock_both, condvar_queue, condvar_timeout, rwlock_upgrade_by_hand, thread_local_counts,
                poison_recovered, poison_of_own_guard, catch_unwind_in_thread, is_finished_polled, sleep_in_turn, yield_until,
                barrier_phases, work_stealing, shutdown_flag, reentrant_lock, drop_order_of_scope, hand_over_by_swap,
                fetch_update_saturates, panicking_is_of_own_thread;
            wrong: arc_unwrap_by_count => ["panic", "assertion"], once_cell_by_hand => ["assertion"], sender_is_kept => ["deadlock"],
                rendezvous_one_sided => ["deadlock"], park_without_flag => ["panic"], executor_loses_wake => ["deadlock"],
                waker_released_twice => ["double-free", "use-after-free"], test_then_set => ["assertion", "panic"],
                ticket_lock_not_atomic => ["assertion", "deadlock", "livelock"], mcs_lock_forgets_next => ["deadlock", "livelock"], peterson_one_flag => ["assertion"],
                semaphore_if => ["assertion", "panic"], rw_spin_lock_late => ["assertion"], sense_barrier_reused => ["deadlock", "livelock", "panic"],
                one_shot_lost => ["deadlock"], treiber_double_pop => ["assertion", "double-free", "use-after-free", "panic"],
                seqlock_torn => ["assertion"], left_right_no_wait => ["assertion"], parker_forgets => ["deadlock"],
                double_checked_late => ["assertion", "panic"], lock_inversion => ["deadlock"], condvar_if => ["panic", "assertion"],
                condvar_notify_before => ["deadlock"], rwlock_read_then_write => ["assertion"], poison_unwrapped => ["panic"],
                is_finished_is_not_joined => ["panic"], sleep_is_no_order => ["panic"], barrier_too_few => ["deadlock"],
                shutdown_lost => ["deadlock"], lost_update => ["assertion"], check_then_act => ["assertion", "panic"], swap_leaks_none => ["assertion"];
            races: spin_mutex_leaky, spsc_overrun, latch_forgotten, publish_without_flag;
        }
    };
}

fn both(f: impl Fn(usize) + Sync) {
    thread::scope(|s| {
        s.spawn(|| f(1));
        f(0);
    });
}

// ---- counted references

pub fn arc_counts_down() {
    let a = Arc::new(Mutex::new(0));
    let all: Vec<_> = (0..2)
        .map(|_| {
            let a = Arc::clone(&a);
            thread::spawn(move || *a.lock().unwrap() += 1)
        })
        .collect();
    all.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(Arc::strong_count(&a), 1);
    assert_eq!(Arc::try_unwrap(a).unwrap().into_inner().unwrap(), 2);
}

pub fn arc_unwrap_by_count() {
    let a = Arc::new(5);
    let b = a.clone();
    let t = thread::spawn(move || Arc::strong_count(&b) == 1 && Arc::try_unwrap(b).is_ok());
    let here = Arc::strong_count(&a) == 1 && Arc::try_unwrap(a).is_ok();
    assert!(here || t.join().unwrap(), "one of them is the last");
}

pub fn arc_get_mut_when_alone() {
    let mut a = Arc::new(1);
    let b = a.clone();
    let t = thread::spawn(move || drop(b));
    if let Some(n) = Arc::get_mut(&mut a) {
        *n = 2;
    }
    t.join().unwrap();
    assert!(Arc::get_mut(&mut a).is_some());
}

pub fn arc_into_inner_once() {
    let a = Arc::new(String::from("x"));
    let b = a.clone();
    let t = thread::spawn(move || Arc::into_inner(b).is_some());
    let here = Arc::into_inner(a).is_some();
    assert!(here ^ t.join().unwrap());
}

pub fn weak_upgrade() {
    let a = Arc::new(3);
    let w = Arc::downgrade(&a);
    let t = thread::spawn(move || w.upgrade().map(|a| *a));
    drop(a);
    assert!(matches!(t.join().unwrap(), None | Some(3)));
}

pub fn weak_cycle() {
    struct Node {
        parent: Mutex<Weak<Node>>,
        children: Mutex<Vec<Arc<Node>>>,
    }
    let leaf = Arc::new(Node { parent: Mutex::new(Weak::new()), children: Mutex::new(vec![]) });
    let branch = Arc::new(Node { parent: Mutex::new(Weak::new()), children: Mutex::new(vec![leaf.clone()]) });
    *leaf.parent.lock().unwrap() = Arc::downgrade(&branch);
    let t = thread::spawn({
        let leaf = leaf.clone();
        move || leaf.parent.lock().unwrap().upgrade().map(|p| p.children.lock().unwrap().len())
    });
    drop(branch);
    assert!(matches!(t.join().unwrap(), None | Some(1)));
    assert!(leaf.parent.lock().unwrap().upgrade().is_none());
}

pub fn cache_of_weak() {
    let cache: Mutex<Weak<u32>> = Mutex::new(Weak::new());
    let made = AtomicUsize::new(0);
    let get = || {
        let mut slot = cache.lock().unwrap();
        slot.upgrade().unwrap_or_else(|| {
            made.fetch_add(1, SeqCst);
            let new = Arc::new(9);
            *slot = Arc::downgrade(&new);
            new
        })
    };
    both(|_| assert_eq!(*get(), 9));
    assert!((1..=2).contains(&made.load(SeqCst)));
}

// ---- once

pub fn once_cell_one_initializer() {
    let (cell, runs) = (OnceLock::new(), AtomicUsize::new(0));
    both(|i| {
        let v = *cell.get_or_init(|| {
            runs.fetch_add(1, SeqCst);
            i + 10
        });
        assert_eq!(Some(&v), cell.get());
    });
    assert_eq!(runs.load(SeqCst), 1);
}

pub fn once_cell_by_hand() {
    let (ready, runs) = (AtomicBool::new(false), AtomicUsize::new(0));
    both(|_| {
        if !ready.load(SeqCst) {
            runs.fetch_add(1, SeqCst);
            ready.store(true, SeqCst);
        }
    });
    assert_eq!(runs.load(SeqCst), 1);
}

pub fn lazy_static_value() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    static VALUE: LazyLock<Vec<usize>> = LazyLock::new(|| vec![RUNS.fetch_add(1, SeqCst), 7]);
    both(|_| assert_eq!(VALUE.len(), 2));
    assert_eq!(VALUE[0], 0);
}

pub fn once_runs_once() {
    let (once, n) = (Once::new(), AtomicUsize::new(0));
    both(|_| {
        once.call_once(|| {
            n.fetch_add(1, SeqCst);
        });
        assert_eq!(n.load(SeqCst), 1);
    });
    assert!(once.is_completed());
}

pub fn once_that_panics() {
    let once = Once::new();
    thread::scope(|s| {
        let t = s.spawn(|| once.call_once(|| panic!("first")));
        assert!(t.join().is_err());
    });
    let mut ran = false;
    once.call_once_force(|state| ran = state.is_poisoned());
    assert!(ran);
}

// ---- channels

pub fn mpsc_two_senders() {
    let (tx, rx) = mpsc::channel();
    let all: Vec<_> = (0..2)
        .map(|i| {
            let tx = tx.clone();
            thread::spawn(move || tx.send(i).unwrap())
        })
        .collect();
    drop(tx);
    let mut got: Vec<_> = rx.iter().collect();
    got.sort_unstable();
    assert_eq!(got, [0, 1]);
    all.into_iter().for_each(|t| t.join().unwrap());
}

pub fn sync_channel_of_one() {
    let (tx, rx) = mpsc::sync_channel(1);
    let t = thread::spawn(move || (0..3).for_each(|i| tx.send(i).unwrap()));
    assert_eq!(rx.iter().collect::<Vec<_>>(), [0, 1, 2]);
    t.join().unwrap();
}

pub fn sender_is_kept() {
    let (tx, rx) = mpsc::channel();
    let other = tx.clone();
    let t = thread::spawn(move || other.send(1).unwrap());
    assert_eq!(rx.iter().count(), 1);
    t.join().unwrap();
    drop(tx);
}

pub fn rendezvous() {
    let (tx, rx) = mpsc::sync_channel(0);
    let t = thread::spawn(move || rx.recv().unwrap());
    tx.send(4).unwrap();
    assert_eq!(t.join().unwrap(), 4);
}

pub fn rendezvous_one_sided() {
    let (tx, rx) = mpsc::sync_channel(0);
    let t = thread::spawn(move || rx.try_recv().ok().map(|n: u32| (n, rx)));
    tx.send(4).unwrap_or(());
    let (tx2, rx2) = mpsc::sync_channel(0);
    tx2.send(1).unwrap();
    drop((t, rx2));
}

pub fn receiver_dropped() {
    let (tx, rx) = mpsc::channel();
    let t = thread::spawn(move || drop(rx));
    let _either = tx.send(1);
    t.join().unwrap();
    assert!(tx.send(2).is_err());
}

// ---- threads

pub fn scoped_sum() {
    let data = [1, 2, 3, 4];
    let (a, b) = data.split_at(2);
    let sum = thread::scope(|s| {
        let left = s.spawn(|| a.iter().sum::<i32>());
        let right = s.spawn(|| b.iter().sum::<i32>());
        left.join().unwrap() + right.join().unwrap()
    });
    assert_eq!(sum, 10);
}

pub fn scoped_borrow_mut() {
    let mut data = vec![1, 2];
    thread::scope(|s| {
        for x in &mut data {
            s.spawn(move || *x *= 10);
        }
    });
    assert_eq!(data, [10, 20]);
}

pub fn park_with_flag() {
    let flag = Arc::new(AtomicBool::new(false));
    let t = thread::spawn({
        let flag = flag.clone();
        move || {
            while !flag.load(Acquire) {
                thread::park();
            }
        }
    });
    flag.store(true, Release);
    t.thread().unpark();
    t.join().unwrap();
}

pub fn park_without_flag() {
    let flag = Arc::new(AtomicBool::new(false));
    let t = thread::spawn({
        let flag = flag.clone();
        move || {
            thread::park();
            assert!(flag.load(SeqCst), "parked threads wake up spuriously");
        }
    });
    flag.store(true, SeqCst);
    t.thread().unpark();
    t.join().unwrap();
}

pub fn is_finished_polled() {
    let t = thread::spawn(|| 5);
    while !t.is_finished() {
        thread::yield_now();
    }
    assert_eq!(t.join().unwrap(), 5);
}

pub fn is_finished_is_not_joined() {
    let n = Arc::new(AtomicUsize::new(0));
    let t = thread::spawn({
        let n = n.clone();
        move || n.store(1, SeqCst)
    });
    let finished = t.is_finished();
    assert!(finished || n.load(SeqCst) == 0, "not finished: nothing was stored");
    t.join().unwrap();
}

pub fn sleep_in_turn() {
    let n = Arc::new(Mutex::new(0));
    let t = thread::spawn({
        let n = n.clone();
        move || {
            thread::sleep(Duration::from_millis(5));
            *n.lock().unwrap() += 1;
        }
    });
    thread::sleep(Duration::from_millis(1));
    *n.lock().unwrap() += 1;
    t.join().unwrap();
    assert_eq!(*n.lock().unwrap(), 2);
}

pub fn sleep_is_no_order() {
    let ready = Arc::new(AtomicBool::new(false));
    let t = thread::spawn({
        let ready = ready.clone();
        move || {
            for _ in 0..2 {
                thread::yield_now();
            }
            ready.store(true, SeqCst);
        }
    });
    thread::yield_now();
    thread::yield_now();
    thread::yield_now();
    assert!(ready.load(SeqCst), "it has had time enough");
    t.join().unwrap();
}

pub fn yield_until() {
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        s.spawn(|| {
            while n.load(Acquire) != 1 {
                thread::yield_now();
            }
            n.store(2, Release);
        });
        n.store(1, Release);
        while n.load(Acquire) != 2 {
            hint::spin_loop();
        }
    });
}

// ---- futures

struct Flag {
    woken: AtomicBool,
    thread: thread::Thread,
}

impl Flag {
    unsafe fn clone_raw(p: *const ()) -> RawWaker {
        // SAFETY: the pointer comes from `into_raw` and has a reference.
        let this = ManuallyDrop::new(unsafe { Arc::from_raw(p.cast::<Flag>()) });
        RawWaker::new(Arc::into_raw(Arc::clone(&this)).cast(), &Flag::TABLE)
    }
    unsafe fn wake_raw(p: *const ()) {
        // SAFETY: as above; it is consumed.
        unsafe { Arc::from_raw(p.cast::<Flag>()) }.wake();
    }
    unsafe fn wake_by_ref_raw(p: *const ()) {
        // SAFETY: as above; it is borrowed.
        ManuallyDrop::new(unsafe { Arc::from_raw(p.cast::<Flag>()) }).wake();
    }
    unsafe fn drop_raw(p: *const ()) {
        // SAFETY: as above; it is consumed.
        drop(unsafe { Arc::from_raw(p.cast::<Flag>()) });
    }
    const TABLE: RawWakerVTable =
        RawWakerVTable::new(Flag::clone_raw, Flag::wake_raw, Flag::wake_by_ref_raw, Flag::drop_raw);

    /// Like `TABLE`, but a wake-up by reference releases the reference.
    const CARELESS: RawWakerVTable =
        RawWakerVTable::new(Flag::clone_raw_careless, Flag::wake_raw, Flag::wake_raw, Flag::drop_raw);

    unsafe fn clone_raw_careless(p: *const ()) -> RawWaker {
        // SAFETY: as above.
        let this = ManuallyDrop::new(unsafe { Arc::from_raw(p.cast::<Flag>()) });
        RawWaker::new(Arc::into_raw(Arc::clone(&this)).cast(), &Flag::CARELESS)
    }

    fn wake(&self) {
        self.woken.store(true, SeqCst);
        self.thread.unpark();
    }
}

fn block_on<F: Future>(future: F, table: &'static RawWakerVTable) -> F::Output {
    let flag = Arc::new(Flag { woken: AtomicBool::new(false), thread: thread::current() });
    // SAFETY: the functions of the table keep the contract of wakers (those of `CARELESS` do not).
    let waker = unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(flag.clone()).cast(), table)) };
    let mut future = Box::pin(future);
    loop {
        if let Poll::Ready(v) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return v;
        }
        while !flag.woken.swap(false, SeqCst) {
            thread::park();
        }
    }
}

/// A value that another thread will give.
struct Promise {
    state: Mutex<(Option<u32>, Option<Waker>)>,
}

struct Wait(Arc<Promise>);

impl Future for Wait {
    type Output = u32;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u32> {
        let mut state = self.0.state.lock().unwrap();
        match state.0.take() {
            Some(v) => Poll::Ready(v),
            None => {
                state.1 = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn promised(table: &'static RawWakerVTable, give: fn(&Promise)) {
    let promise = Arc::new(Promise { state: Mutex::new((None, None)) });
    let t = thread::spawn({
        let promise = promise.clone();
        move || give(&promise)
    });
    assert_eq!(block_on(Wait(promise), table), 6);
    t.join().unwrap();
}

pub fn executor_block_on() {
    promised(&Flag::TABLE, |p| {
        let waker = {
            let mut state = p.state.lock().unwrap();
            state.0 = Some(6);
            state.1.take()
        };
        if let Some(w) = waker {
            w.wake();
        }
    });
}

pub fn waker_from_arc() {
    promised(&Flag::TABLE, |p| {
        let mut state = p.state.lock().unwrap();
        state.0 = Some(6);
        if let Some(w) = &state.1 {
            w.wake_by_ref();
        }
    });
}

pub fn executor_loses_wake() {
    promised(&Flag::TABLE, |p| {
        let waker = p.state.lock().unwrap().1.take();
        p.state.lock().unwrap().0 = Some(6);
        if let Some(w) = waker {
            w.wake();
        }
    });
}

pub fn waker_released_twice() {
    promised(&Flag::CARELESS, |p| {
        let mut state = p.state.lock().unwrap();
        state.0 = Some(6);
        if let Some(w) = &state.1 {
            w.wake_by_ref();
        }
    });
}

// ---- locks

/// A lock by hand over a value.
struct Spin<T> {
    locked: AtomicBool,
    data: UnsafeCell<T>,
}

// SAFETY: the value is accessed under the lock.
unsafe impl<T: Send> Sync for Spin<T> {}

struct Guard<'a, T>(&'a Spin<T>);

impl<T> Spin<T> {
    fn new(data: T) -> Spin<T> {
        Spin { locked: AtomicBool::new(false), data: UnsafeCell::new(data) }
    }
    fn lock(&self) -> Guard<'_, T> {
        while self.locked.swap(true, Acquire) {
            hint::spin_loop();
        }
        Guard(self)
    }
    fn lock_with_backoff(&self) -> Guard<'_, T> {
        let mut tries = 0;
        while self.locked.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            while self.locked.load(Relaxed) {
                tries += 1;
                if tries > 3 { thread::yield_now() } else { hint::spin_loop() }
            }
        }
        Guard(self)
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.data.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.data.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        self.0.locked.store(false, Release);
    }
}

pub fn spin_mutex() {
    let lock = Spin::new(0);
    both(|_| *lock.lock() += 1);
    assert_eq!(*lock.lock(), 2);
}

pub fn spin_mutex_backoff() {
    let lock = Spin::new(0);
    both(|_| *lock.lock_with_backoff() += 1);
    assert_eq!(*lock.lock(), 2);
}

pub fn spin_mutex_leaky() {
    let lock = Spin::new(0);
    both(|_| {
        let mut guard = lock.lock();
        *guard += 1;
        let p = lock.data.get();
        drop(guard);
        // SAFETY: it is not: the lock has been released.
        unsafe { *p += 1 };
    });
}

pub fn test_then_set() {
    let (locked, inside) = (AtomicBool::new(false), AtomicUsize::new(0));
    both(|_| {
        while locked.load(SeqCst) {
            hint::spin_loop();
        }
        locked.store(true, SeqCst);
        assert_eq!(inside.fetch_add(1, SeqCst), 0, "two are inside");
        inside.fetch_sub(1, SeqCst);
        locked.store(false, SeqCst);
    });
}

pub fn ticket_lock() {
    let (next, serving, n) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    both(|_| {
        let ticket = next.fetch_add(1, SeqCst);
        while serving.load(SeqCst) != ticket {
            hint::spin_loop();
        }
        n.store(n.load(SeqCst) + 1, SeqCst);
        serving.store(ticket + 1, SeqCst);
    });
    assert_eq!(n.load(SeqCst), 2);
}

pub fn ticket_lock_not_atomic() {
    let (next, serving, n) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    both(|_| {
        let ticket = next.load(SeqCst);
        next.store(ticket + 1, SeqCst);
        while serving.load(SeqCst) != ticket {
            hint::spin_loop();
        }
        n.store(n.load(SeqCst) + 1, SeqCst);
        serving.store(ticket + 1, SeqCst);
    });
    assert_eq!(n.load(SeqCst), 2);
}

struct McsNode {
    next: AtomicPtr<McsNode>,
    locked: AtomicBool,
}

fn mcs(forgets: bool) {
    let tail: AtomicPtr<McsNode> = AtomicPtr::new(ptr::null_mut());
    let n = AtomicUsize::new(0);
    both(|_| {
        let node = McsNode { next: AtomicPtr::new(ptr::null_mut()), locked: AtomicBool::new(true) };
        let me = (&raw const node).cast_mut();
        let before = tail.swap(me, AcqRel);
        if !before.is_null() {
            // SAFETY: the node before us waits for us to be linked before it goes.
            unsafe { (*before).next.store(me, Release) };
            while node.locked.load(Acquire) {
                hint::spin_loop();
            }
        }
        n.store(n.load(Relaxed) + 1, Relaxed);
        let mut next = node.next.load(Acquire);
        if next.is_null() {
            if forgets {
                tail.compare_exchange(me, ptr::null_mut(), AcqRel, Acquire).ok();
                return;
            }
            if tail.compare_exchange(me, ptr::null_mut(), AcqRel, Acquire).is_ok() {
                return;
            }
            loop {
                next = node.next.load(Acquire);
                if !next.is_null() {
                    break;
                }
                hint::spin_loop();
            }
        }
        // SAFETY: the next one waits until it is unlocked.
        unsafe { (*next).locked.store(false, Release) };
    });
    assert_eq!(n.load(SeqCst), 2);
}

pub fn mcs_lock() {
    mcs(false);
}

/// The node is not on the stack, so that forgetting the one behind is a deadlock alone.
pub fn mcs_lock_forgets_next() {
    let tail = AtomicUsize::new(0);
    let nodes: [(AtomicUsize, AtomicBool); 2] =
        std::array::from_fn(|_| (AtomicUsize::new(0), AtomicBool::new(true)));
    both(|i| {
        let before = tail.swap(i + 1, SeqCst);
        if before != 0 {
            nodes[before - 1].0.store(i + 1, SeqCst);
            while nodes[i].1.load(SeqCst) {
                hint::spin_loop();
            }
        }
        let next = nodes[i].0.load(SeqCst);
        if next == 0 {
            // It may be about to be linked.
            tail.compare_exchange(i + 1, 0, SeqCst, SeqCst).ok();
            return;
        }
        nodes[next - 1].1.store(false, SeqCst);
    });
}

pub fn clh_lock() {
    let tail = AtomicPtr::new(Box::into_raw(Box::new(AtomicBool::new(false))));
    let n = AtomicUsize::new(0);
    both(|_| {
        let mine = Box::into_raw(Box::new(AtomicBool::new(true)));
        let before = tail.swap(mine, AcqRel);
        // SAFETY: only we wait for the node before, and we free it; the one behind frees ours.
        unsafe {
            while (*before).load(Acquire) {
                hint::spin_loop();
            }
            n.store(n.load(Relaxed) + 1, Relaxed);
            (*mine).store(false, Release);
            drop(Box::from_raw(before));
        }
    });
    assert_eq!(n.load(SeqCst), 2);
    // SAFETY: nobody waits any more.
    drop(unsafe { Box::from_raw(tail.into_inner()) });
}

pub fn peterson() {
    let (flags, turn) = ([AtomicBool::new(false), AtomicBool::new(false)], AtomicUsize::new(0));
    let inside = AtomicUsize::new(0);
    both(|i| {
        flags[i].store(true, SeqCst);
        turn.store(1 - i, SeqCst);
        while flags[1 - i].load(SeqCst) && turn.load(SeqCst) == 1 - i {
            hint::spin_loop();
        }
        assert_eq!(inside.fetch_add(1, SeqCst), 0);
        inside.fetch_sub(1, SeqCst);
        flags[i].store(false, SeqCst);
    });
}

pub fn peterson_one_flag() {
    let flags = [AtomicBool::new(false), AtomicBool::new(false)];
    let inside = AtomicUsize::new(0);
    both(|i| {
        if !flags[1 - i].load(SeqCst) {
            flags[i].store(true, SeqCst);
            assert_eq!(inside.fetch_add(1, SeqCst), 0, "two are inside");
            inside.fetch_sub(1, SeqCst);
            flags[i].store(false, SeqCst);
        }
    });
}

fn semaphore_of(one: fn(&Mutex<usize>, &Condvar)) {
    let (permits, free, inside) = (Mutex::new(1usize), Condvar::new(), AtomicUsize::new(0));
    both(|_| {
        one(&permits, &free);
        assert_eq!(inside.fetch_add(1, SeqCst), 0, "two are inside");
        inside.fetch_sub(1, SeqCst);
        *permits.lock().unwrap() += 1;
        free.notify_one();
    });
}

pub fn semaphore() {
    semaphore_of(|permits, free| {
        let mut n = permits.lock().unwrap();
        while *n == 0 {
            n = free.wait(n).unwrap();
        }
        *n -= 1;
    });
}

pub fn semaphore_if() {
    semaphore_of(|permits, free| {
        let mut n = permits.lock().unwrap();
        if *n == 0 {
            n = free.wait(n).unwrap();
        }
        *n = n.saturating_sub(1);
    });
}

const WRITER: u32 = u32::MAX;

pub fn rw_spin_lock() {
    let (state, inside) = (AtomicU32::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            while state.compare_exchange(0, WRITER, Acquire, Relaxed).is_err() {
                hint::spin_loop();
            }
            inside.store(1, SeqCst);
            inside.store(0, SeqCst);
            state.store(0, Release);
        });
        let mut now = state.load(Relaxed);
        loop {
            if now == WRITER {
                hint::spin_loop();
                now = state.load(Relaxed);
                continue;
            }
            match state.compare_exchange_weak(now, now + 1, Acquire, Relaxed) {
                Ok(_) => break,
                Err(n) => now = n,
            }
        }
        assert_eq!(inside.load(SeqCst), 0);
        state.fetch_sub(1, Release);
    });
}

pub fn rw_spin_lock_late() {
    let (readers, writing, inside) = (AtomicU32::new(0), AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            while readers.load(SeqCst) != 0 {
                hint::spin_loop();
            }
            writing.store(true, SeqCst);
            inside.store(1, SeqCst);
            inside.store(0, SeqCst);
            writing.store(false, SeqCst);
        });
        while writing.load(SeqCst) {
            hint::spin_loop();
        }
        readers.fetch_add(1, SeqCst);
        assert_eq!(inside.load(SeqCst), 0, "a writer is inside");
        readers.fetch_sub(1, SeqCst);
    });
}

fn sense_barrier_of(own_sense: bool) {
    let (count, sense, phase) = (AtomicUsize::new(2), AtomicBool::new(false), AtomicUsize::new(0));
    both(|_| {
        let mut mine = false;
        for round in 1..=2 {
            mine = !(own_sense && mine);
            phase.fetch_add(1, SeqCst);
            if count.fetch_sub(1, SeqCst) == 1 {
                count.store(2, SeqCst);
                sense.store(mine, SeqCst);
            } else {
                while sense.load(SeqCst) != mine {
                    hint::spin_loop();
                }
            }
            assert!(phase.load(SeqCst) >= 2 * round, "one is behind");
        }
    });
}

pub fn sense_barrier() {
    sense_barrier_of(true);
}

pub fn sense_barrier_reused() {
    sense_barrier_of(false);
}

pub fn latch() {
    let (left, cell) = (AtomicUsize::new(1), Shared(UnsafeCell::new(0)));
    thread::scope(|s| {
        s.spawn(|| {
            // SAFETY: the other one waits.
            unsafe { *cell.get() = 3 };
            left.fetch_sub(1, Release);
        });
        while left.load(Acquire) > 0 {
            hint::spin_loop();
        }
        // SAFETY: the writer has counted down.
        assert_eq!(unsafe { *cell.get() }, 3);
    });
}

pub fn latch_forgotten() {
    let (left, cell) = (AtomicUsize::new(1), Shared(UnsafeCell::new(0)));
    thread::scope(|s| {
        s.spawn(|| {
            left.fetch_sub(1, Release);
            // SAFETY: it is not: the other one reads it by now.
            unsafe { *cell.get() = 3 };
        });
        while left.load(Acquire) > 0 {
            hint::spin_loop();
        }
        // SAFETY: it is not.
        std::hint::black_box(unsafe { *cell.get() });
    });
}

struct Shared<T>(UnsafeCell<T>);

// SAFETY: those who use it say why.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> *mut T {
        self.0.get()
    }
}

pub fn publish_without_flag() {
    let cell = Shared(UnsafeCell::new(0));
    both(|i| {
        if i == 0 {
            // SAFETY: it is not.
            unsafe { *cell.get() = 3 };
        } else {
            // SAFETY: it is not.
            std::hint::black_box(unsafe { *cell.get() });
        }
    });
}

// ---- channels by hand

/// One value, once.
struct OneShot<T> {
    ready: AtomicBool,
    slot: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: `ready` hands the slot over.
unsafe impl<T: Send> Sync for OneShot<T> {}

impl<T> OneShot<T> {
    fn new() -> OneShot<T> {
        OneShot { ready: AtomicBool::new(false), slot: UnsafeCell::new(MaybeUninit::uninit()) }
    }
    fn send(&self, v: T) {
        // SAFETY: there is one sender, and the receiver waits.
        unsafe { (*self.slot.get()).write(v) };
        self.ready.store(true, Release);
    }
    fn recv(&self) -> T {
        while !self.ready.swap(false, Acquire) {
            thread::park();
        }
        // SAFETY: it was sent.
        unsafe { (*self.slot.get()).assume_init_read() }
    }
}

pub fn one_shot() {
    let channel = OneShot::new();
    thread::scope(|s| {
        let main = thread::current();
        let channel = &channel;
        s.spawn(move || {
            channel.send(String::from("hello"));
            main.unpark();
        });
        assert_eq!(channel.recv(), "hello");
    });
}

pub fn one_shot_lost() {
    let (m, ready) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            // The flag is set without the lock of the one who waits being involved.
            ready.notify_one();
            *m.lock().unwrap() = true;
        });
        let mut g = m.lock().unwrap();
        while !*g {
            g = ready.wait(g).unwrap();
        }
    });
}

struct Ring<const N: usize> {
    slots: [UnsafeCell<u32>; N],
    head: AtomicUsize,
    tail: AtomicUsize,
}

// SAFETY: one thread pushes and one pops; the indices hand slots over.
unsafe impl<const N: usize> Sync for Ring<N> {}

impl<const N: usize> Ring<N> {
    fn new() -> Ring<N> {
        let slots = std::array::from_fn(|_| UnsafeCell::new(0));
        Ring { slots, head: AtomicUsize::new(0), tail: AtomicUsize::new(0) }
    }
    fn push(&self, v: u32, room: usize) -> bool {
        let tail = self.tail.load(Relaxed);
        if tail - self.head.load(Acquire) >= room {
            return false;
        }
        // SAFETY: the slot is free (it is not if `room` is more than there are).
        unsafe { *self.slots[tail % N].get() = v };
        self.tail.store(tail + 1, Release);
        true
    }
    fn pop(&self) -> Option<u32> {
        let head = self.head.load(Relaxed);
        if head == self.tail.load(Acquire) {
            return None;
        }
        // SAFETY: the slot was filled.
        let v = unsafe { *self.slots[head % N].get() };
        self.head.store(head + 1, Release);
        Some(v)
    }
}

pub fn spsc_ring() {
    let ring = Ring::<2>::new();
    thread::scope(|s| {
        s.spawn(|| {
            for i in 0..3 {
                while !ring.push(i, 2) {
                    thread::yield_now();
                }
            }
        });
        let mut got = Vec::new();
        while got.len() < 3 {
            match ring.pop() {
                Some(v) => got.push(v),
                None => thread::yield_now(),
            }
        }
        assert_eq!(got, [0, 1, 2]);
    });
}

pub fn spsc_overrun() {
    let ring = Ring::<2>::new();
    thread::scope(|s| {
        s.spawn(|| assert!((0..2).all(|i| ring.push(i, 3)) && ring.push(2, 3)));
        std::hint::black_box(ring.pop());
    });
}

pub fn mpmc_ring() {
    // Slots with sequence numbers.
    struct Slot {
        seq: AtomicUsize,
        value: AtomicUsize,
    }
    let slots: [Slot; 2] =
        std::array::from_fn(|i| Slot { seq: AtomicUsize::new(i), value: AtomicUsize::new(0) });
    let (head, tail) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let push = |v: usize| {
        let mut pos = tail.load(Relaxed);
        loop {
            let slot = &slots[pos % 2];
            if slot.seq.load(Acquire) == pos {
                match tail.compare_exchange(pos, pos + 1, Relaxed, Relaxed) {
                    Ok(_) => {
                        slot.value.store(v, Relaxed);
                        slot.seq.store(pos + 1, Release);
                        return;
                    }
                    Err(p) => pos = p,
                }
            } else {
                pos = tail.load(Relaxed);
            }
        }
    };
    let pop = || {
        let pos = head.load(Relaxed);
        let slot = &slots[pos % 2];
        (slot.seq.load(Acquire) == pos + 1 && head.compare_exchange(pos, pos + 1, Relaxed, Relaxed).is_ok())
            .then(|| {
                let v = slot.value.load(Relaxed);
                slot.seq.store(pos + 2, Release);
                v
            })
    };
    both(|i| push(i + 1));
    let mut got = [pop().unwrap(), pop().unwrap()];
    got.sort_unstable();
    assert_eq!((got, pop()), ([1, 2], None));
}

// ---- reclamation

struct Node {
    value: usize,
    next: *mut Node,
}

fn push_node(head: &AtomicPtr<Node>, value: usize) {
    let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
    loop {
        let old = head.load(SeqCst);
        // SAFETY: nobody else has the node.
        unsafe { (*node).next = old };
        if head.compare_exchange(old, node, SeqCst, SeqCst).is_ok() {
            return;
        }
    }
}

/// Pops under a hazard pointer; the memory is freed at the end.
pub fn treiber_with_hazard() {
    let head = AtomicPtr::new(ptr::null_mut());
    push_node(&head, 1);
    push_node(&head, 2);
    let hazards: [AtomicPtr<Node>; 2] = std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()));
    let retired = Mutex::new(Vec::new());
    let sum = AtomicUsize::new(0);
    both(|i| {
        loop {
            let old = head.load(SeqCst);
            if old.is_null() {
                return;
            }
            hazards[i].store(old, SeqCst);
            if head.load(SeqCst) != old {
                continue;
            }
            // SAFETY: a node with a hazard pointer is not freed.
            let (value, next) = unsafe { ((*old).value, (*old).next) };
            if head.compare_exchange(old, next, SeqCst, SeqCst).is_ok() {
                hazards[i].store(ptr::null_mut(), SeqCst);
                sum.fetch_add(value, SeqCst);
                retired.lock().unwrap().push(old as usize);
                return;
            }
        }
    });
    assert_eq!(sum.load(SeqCst), 3);
    for p in retired.into_inner().unwrap() {
        // SAFETY: each node was retired once, and nobody has a pointer to it any more.
        drop(unsafe { Box::from_raw(p as *mut Node) });
    }
}

pub fn treiber_double_pop() {
    let head = AtomicPtr::new(ptr::null_mut());
    push_node(&head, 1);
    let popped = AtomicUsize::new(0);
    both(|_| {
        let old = head.load(SeqCst);
        if !old.is_null() {
            // SAFETY: the node is freed at the end.
            head.store(unsafe { (*old).next }, SeqCst);
            popped.fetch_add(1, SeqCst);
        }
    });
    assert_eq!(popped.load(SeqCst), 1, "popped by both");
}

pub fn epoch_like() {
    let (global, pinned) = (AtomicUsize::new(1), [AtomicUsize::new(0), AtomicUsize::new(0)]);
    let value = AtomicPtr::new(Box::into_raw(Box::new(AtomicUsize::new(7))));
    thread::scope(|s| {
        s.spawn(|| {
            pinned[1].store(global.load(SeqCst), SeqCst);
            let p = value.load(SeqCst);
            if !p.is_null() {
                // SAFETY: pinned.
                assert_eq!(unsafe { (*p).load(SeqCst) }, 7);
            }
            pinned[1].store(0, SeqCst);
        });
        let old = value.swap(ptr::null_mut(), SeqCst);
        global.fetch_add(1, SeqCst);
        while pinned[1].load(SeqCst) != 0 {
            hint::spin_loop();
        }
        // SAFETY: whoever is pinned now has seen null.
        drop(unsafe { Box::from_raw(old) });
    });
}

pub fn rcu_by_arc() {
    let current = RwLock::new(Arc::new(1));
    both(|i| {
        if i == 0 {
            let next = Arc::new(**current.read().unwrap() + 1);
            *current.write().unwrap() = next;
        } else {
            let seen = current.read().unwrap().clone();
            assert!((1..=2).contains(&*seen));
        }
    });
    assert_eq!(**current.read().unwrap(), 2);
}

// ---- versions

fn seqlock(looks_twice: bool) {
    let (seq, a, b) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            seq.fetch_add(1, SeqCst);
            a.store(1, SeqCst);
            b.store(1, SeqCst);
            seq.fetch_add(1, SeqCst);
        });
        loop {
            let before = seq.load(SeqCst);
            if before % 2 == 1 {
                hint::spin_loop();
                continue;
            }
            let seen = (a.load(SeqCst), b.load(SeqCst));
            if !looks_twice || seq.load(SeqCst) == before {
                assert_eq!(seen.0, seen.1, "torn");
                return;
            }
        }
    });
}

pub fn seqlock_atomic() {
    seqlock(true);
}

pub fn seqlock_torn() {
    seqlock(false);
}

fn left_right_of(waits: bool) {
    let sides: [(AtomicUsize, AtomicUsize); 2] =
        std::array::from_fn(|_| (AtomicUsize::new(0), AtomicUsize::new(0)));
    let (active, readers) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            readers.fetch_add(1, SeqCst);
            let side = &sides[active.load(SeqCst)];
            assert_eq!(side.0.load(SeqCst), side.1.load(SeqCst), "torn");
            readers.fetch_sub(1, SeqCst);
        });
        let old = active.load(SeqCst);
        sides[1 - old].0.store(1, SeqCst);
        sides[1 - old].1.store(1, SeqCst);
        active.store(1 - old, SeqCst);
        while waits && readers.load(SeqCst) != 0 {
            hint::spin_loop();
        }
        sides[old].0.store(1, SeqCst);
        sides[old].1.store(1, SeqCst);
    });
}

pub fn left_right() {
    left_right_of(true);
}

pub fn left_right_no_wait() {
    left_right_of(false);
}

// ---- parkers and events

fn parker_of(keeps_token: bool) {
    const EMPTY: u32 = 0;
    const PARKED: u32 = 1;
    const NOTIFIED: u32 = 2;
    let (state, lock, cvar) = (AtomicU32::new(EMPTY), Mutex::new(()), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            if keeps_token {
                if state.swap(NOTIFIED, SeqCst) == PARKED {
                    drop(lock.lock().unwrap());
                    cvar.notify_one();
                }
            } else if state.compare_exchange(PARKED, NOTIFIED, SeqCst, SeqCst).is_ok() {
                drop(lock.lock().unwrap());
                cvar.notify_one();
            }
        });
        if state.compare_exchange(NOTIFIED, EMPTY, SeqCst, SeqCst).is_ok() {
            return;
        }
        let mut guard = lock.lock().unwrap();
        if state.compare_exchange(EMPTY, PARKED, SeqCst, SeqCst).is_err() {
            state.swap(EMPTY, SeqCst);
            return;
        }
        loop {
            guard = cvar.wait(guard).unwrap();
            if state.compare_exchange(NOTIFIED, EMPTY, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    });
}

pub fn parker() {
    parker_of(true);
}

pub fn parker_forgets() {
    parker_of(false);
}

pub fn event_count() {
    let (epoch, lock, cvar, data) =
        (AtomicUsize::new(0), Mutex::new(()), Condvar::new(), AtomicUsize::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            data.store(1, SeqCst);
            epoch.fetch_add(1, SeqCst);
            drop(lock.lock().unwrap());
            cvar.notify_all();
        });
        while data.load(SeqCst) == 0 {
            let key = epoch.load(SeqCst);
            if data.load(SeqCst) == 0 {
                let mut g = lock.lock().unwrap();
                while epoch.load(SeqCst) == key {
                    g = cvar.wait(g).unwrap();
                }
            }
        }
    });
}

// ---- blocking locks

pub fn double_checked() {
    let (ready, lock, value) = (AtomicBool::new(false), Mutex::new(()), AtomicUsize::new(0));
    both(|_| {
        if !ready.load(Acquire) {
            let _guard = lock.lock().unwrap();
            if !ready.load(Relaxed) {
                value.fetch_add(1, Relaxed);
                ready.store(true, Release);
            }
        }
        assert_eq!(value.load(Relaxed), 1);
    });
}

pub fn double_checked_late() {
    let (ready, lock, value) = (AtomicBool::new(false), Mutex::new(()), AtomicUsize::new(0));
    both(|_| {
        if !ready.load(SeqCst) {
            let _guard = lock.lock().unwrap();
            ready.store(true, SeqCst);
            value.fetch_add(1, SeqCst);
        }
        assert_eq!(value.load(SeqCst), 1, "made once, and before it is said to be ready");
    });
}

pub fn lock_ordering() {
    let m = [Mutex::new(1), Mutex::new(2)];
    both(|_| {
        let mut a = m[0].lock().unwrap();
        let mut b = m[1].lock().unwrap();
        std::mem::swap(&mut *a, &mut *b);
    });
    assert_eq!(*m[0].lock().unwrap(), 1);
}

pub fn lock_inversion() {
    let m = [Mutex::new(1), Mutex::new(2)];
    both(|i| {
        let mut a = m[i].lock().unwrap();
        let mut b = m[1 - i].lock().unwrap();
        std::mem::swap(&mut *a, &mut *b);
    });
}

pub fn try_lock_both() {
    let m = [Mutex::new(0), Mutex::new(0)];
    both(|i| {
        loop {
            let mut a = m[i].lock().unwrap();
            if let Ok(mut b) = m[1 - i].try_lock() {
                *a += 1;
                *b += 1;
                return;
            }
            drop(a);
            thread::yield_now();
        }
    });
    assert_eq!(*m[0].lock().unwrap(), 2);
}

fn queue_of(again: bool) {
    let (queue, ready) = (Mutex::new(VecDeque::new()), Condvar::new());
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                let mut q = queue.lock().unwrap();
                if again {
                    q = ready.wait_while(q, |q: &mut VecDeque<i32>| q.is_empty()).unwrap();
                } else if q.is_empty() {
                    q = ready.wait(q).unwrap();
                }
                q.pop_front().expect("there is something");
            });
        }
        for i in 0..2 {
            queue.lock().unwrap().push_back(i);
            ready.notify_one();
        }
    });
}

pub fn condvar_queue() {
    queue_of(true);
}

pub fn condvar_if() {
    queue_of(false);
}

pub fn condvar_notify_before() {
    let (m, c) = (Mutex::new(()), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| c.notify_one());
        drop(c.wait_while(m.lock().unwrap(), {
            let mut first = true;
            move |()| std::mem::take(&mut first)
        }));
    });
    // Whoever is notified once waits once more.
    let g = m.lock().unwrap();
    drop(c.wait_while(g, |()| true));
}

pub fn condvar_timeout() {
    let (m, c) = (Mutex::new(false), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            *m.lock().unwrap() = true;
            c.notify_one();
        });
        let (ready, result) =
            c.wait_timeout_while(m.lock().unwrap(), Duration::from_millis(10), |ready| !*ready).unwrap();
        assert!(*ready || result.timed_out());
    });
}

pub fn rwlock_upgrade_by_hand() {
    let l = RwLock::new(0);
    both(|_| {
        let seen = *l.read().unwrap();
        let mut w = l.write().unwrap();
        if *w == seen {
            *w += 1;
        }
    });
    assert!((1..=2).contains(&*l.read().unwrap()));
}

pub fn rwlock_read_then_write() {
    let l = RwLock::new(0);
    both(|_| {
        let seen = *l.read().unwrap();
        *l.write().unwrap() = seen + 1;
    });
    assert_eq!(*l.read().unwrap(), 2);
}

pub fn reentrant_lock() {
    struct Reentrant {
        owner: AtomicUsize,
        depth: UnsafeCell<usize>,
        lock: AtomicBool,
    }
    // SAFETY: `depth` belongs to the owner.
    unsafe impl Sync for Reentrant {}
    impl Reentrant {
        fn lock(&self, me: usize) {
            if self.owner.load(Relaxed) != me {
                while self.lock.swap(true, Acquire) {
                    thread::yield_now();
                }
                self.owner.store(me, Relaxed);
            }
            // SAFETY: we are the owner.
            unsafe { *self.depth.get() += 1 };
        }
        fn unlock(&self) {
            // SAFETY: we are the owner.
            let left = unsafe {
                *self.depth.get() -= 1;
                *self.depth.get()
            };
            if left == 0 {
                self.owner.store(usize::MAX, Relaxed);
                self.lock.store(false, Release);
            }
        }
    }
    let l = Reentrant {
        owner: AtomicUsize::new(usize::MAX),
        depth: UnsafeCell::new(0),
        lock: AtomicBool::new(false),
    };
    let n = AtomicUsize::new(0);
    both(|i| {
        l.lock(i);
        l.lock(i);
        n.store(n.load(Relaxed) + 1, Relaxed);
        l.unlock();
        l.unlock();
    });
    assert_eq!(n.load(SeqCst), 2);
}

// ---- thread-locals, panics

pub fn thread_local_counts() {
    rt::thread_local! {
        static N: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
    let total = AtomicUsize::new(0);
    both(|i| {
        N.with(|n| n.set(n.get() + i + 1));
        total.fetch_add(N.with(std::cell::Cell::get), SeqCst);
    });
    assert_eq!(total.load(SeqCst), 3);
}

pub fn poison_recovered() {
    let m = Arc::new(Mutex::new(1));
    let t = thread::spawn({
        let m = m.clone();
        move || {
            let mut g = m.lock().unwrap_or_else(|e| e.into_inner());
            *g = 2;
            panic!("half done");
        }
    });
    let seen = *m.lock().unwrap_or_else(|e| e.into_inner());
    assert!(t.join().is_err());
    assert!(m.is_poisoned() && (1..=2).contains(&seen));
    m.clear_poison();
    assert_eq!(*m.lock().unwrap(), 2);
}

pub fn poison_unwrapped() {
    let m = Arc::new(Mutex::new(1));
    let t = thread::spawn({
        let m = m.clone();
        move || {
            let _g = m.lock();
            panic!("half done");
        }
    });
    drop(m.lock().unwrap());
    t.join().unwrap_err();
}

/// A lock of a user with poisoning of its own.
struct Own<'a>(&'a AtomicBool, &'a AtomicUsize);

impl Drop for Own<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, SeqCst);
        }
        self.1.fetch_add(1, SeqCst);
    }
}

pub fn poison_of_own_guard() {
    let (bad, good, n) = (AtomicBool::new(false), AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|s| {
        let t = s.spawn(|| {
            let _own = Own(&bad, &n);
            panic!("poison");
        });
        drop(Own(&good, &n));
        assert!(t.join().is_err());
    });
    assert!(bad.load(SeqCst) && !good.load(SeqCst));
    assert_eq!(n.load(SeqCst), 2);
}

/// The other thread is in the middle of unwinding while this one looks.
pub fn panicking_is_of_own_thread() {
    struct Steps<'a>(&'a AtomicUsize);
    impl Drop for Steps<'_> {
        fn drop(&mut self) {
            for _ in 0..2 {
                self.0.fetch_add(1, SeqCst);
                assert!(std::thread::panicking());
            }
        }
    }
    let n = AtomicUsize::new(0);
    thread::scope(|s| {
        let t = s.spawn(|| {
            let _steps = Steps(&n);
            panic!("unwinds");
        });
        for _ in 0..2 {
            n.fetch_add(10, SeqCst);
            assert!(!std::thread::panicking());
        }
        assert!(t.join().is_err());
        assert!(!std::thread::panicking());
    });
}

pub fn catch_unwind_in_thread() {
    let n = Arc::new(AtomicUsize::new(0));
    let t = thread::spawn({
        let n = n.clone();
        move || {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                n.fetch_add(1, SeqCst);
                panic!("caught");
            }));
            assert!(caught.is_err() && !std::thread::panicking());
            n.fetch_add(1, SeqCst);
        }
    });
    n.fetch_add(1, SeqCst);
    t.join().unwrap();
    assert_eq!(n.load(SeqCst), 3);
}

// ---- the rest

pub fn barrier_phases() {
    let (b, n) = (Barrier::new(2), AtomicUsize::new(0));
    both(|_| {
        n.fetch_add(1, SeqCst);
        b.wait();
        assert_eq!(n.load(SeqCst), 2);
        b.wait();
    });
}

pub fn barrier_too_few() {
    let b = Barrier::new(3);
    both(|_| {
        b.wait();
    });
}

pub fn work_stealing() {
    let queues: [Mutex<VecDeque<usize>>; 2] = [Mutex::new((1..3).collect()), Mutex::new(VecDeque::new())];
    let sum = AtomicUsize::new(0);
    both(|i| {
        loop {
            let own = queues[i].lock().unwrap().pop_back();
            let task = own.or_else(|| queues[1 - i].lock().unwrap().pop_front());
            match task {
                Some(n) => {
                    sum.fetch_add(n, SeqCst);
                }
                None => return,
            }
        }
    });
    assert_eq!(sum.load(SeqCst), 3);
}

pub fn shutdown_flag() {
    let (stop, turns) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(Acquire) {
                thread::yield_now();
            }
            turns.store(1, Relaxed);
        });
        stop.store(true, Release);
    });
    assert_eq!(turns.load(Relaxed), 1);
}

pub fn shutdown_lost() {
    let (stop, m, c) = (AtomicBool::new(false), Mutex::new(()), Condvar::new());
    thread::scope(|s| {
        s.spawn(|| {
            let mut g = m.lock().unwrap();
            while !stop.load(SeqCst) {
                g = c.wait(g).unwrap();
            }
        });
        stop.store(true, SeqCst);
        c.notify_all();
    });
}

pub fn drop_order_of_scope() {
    struct Last<'a>(&'a Mutex<Vec<u8>>, u8);
    impl Drop for Last<'_> {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(self.1);
        }
    }
    let order = Mutex::new(Vec::new());
    thread::scope(|s| {
        let _here = Last(&order, 0);
        s.spawn(|| drop(Last(&order, 1)));
    });
    let mut order = order.into_inner().unwrap();
    order.sort_unstable();
    assert_eq!(order, [0, 1]);
}

pub fn hand_over_by_swap() {
    let slot: AtomicPtr<u32> = AtomicPtr::new(ptr::null_mut());
    let seen = AtomicUsize::new(0);
    both(|i| {
        let mine = if i == 0 { Box::into_raw(Box::new(5)) } else { ptr::null_mut() };
        let old = slot.swap(mine, AcqRel);
        if !old.is_null() {
            // SAFETY: swapped out, so it is ours.
            seen.fetch_add(*unsafe { Box::from_raw(old) } as usize, SeqCst);
        }
    });
    let left = slot.into_inner();
    if !left.is_null() {
        // SAFETY: nobody else has it.
        seen.fetch_add(*unsafe { Box::from_raw(left) } as usize, SeqCst);
    }
    assert_eq!(seen.load(SeqCst), 5);
}

pub fn swap_leaks_none() {
    let slot = AtomicUsize::new(0);
    let taken = AtomicUsize::new(0);
    both(|i| {
        if i == 0 {
            slot.store(5, SeqCst);
        } else if slot.load(SeqCst) == 5 {
            taken.fetch_add(slot.swap(0, SeqCst), SeqCst);
        }
    });
    assert_eq!(taken.load(SeqCst), 5, "the other one was late");
}

pub fn fetch_update_saturates() {
    let n = AtomicUsize::new(1);
    let taken = AtomicUsize::new(0);
    both(|_| {
        if n.fetch_update(SeqCst, SeqCst, |n| n.checked_sub(1)).is_ok() {
            taken.fetch_add(1, SeqCst);
        }
    });
    assert_eq!((taken.load(SeqCst), n.load(SeqCst)), (1, 0));
}

pub fn lost_update() {
    let n = AtomicUsize::new(0);
    both(|_| n.store(n.load(SeqCst) + 1, SeqCst));
    assert_eq!(n.load(SeqCst), 2);
}

pub fn check_then_act() {
    let q = Mutex::new(vec![1]);
    both(|_| {
        if !q.lock().unwrap().is_empty() {
            q.lock().unwrap().pop().expect("it was not empty");
        }
    });
}
