//! Data structures without locks: each right one is verified, and each with a seeded bug is found out.

mod common;

use common::{found, kinds, says, verified};
use raddle::FailureKind::{Assertion, DataRace, Panic};
use raddle::cell::UnsafeCell;
use raddle::sync::Mutex;
use raddle::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::*};
use raddle::{hint, thread};
use std::mem::MaybeUninit;
use std::ptr;

/// A Treiber stack whose nodes are entries of an array, taken and given back by number. `TAGGED` counts the changes of the
/// head in its upper half; without it the head can come back to what it was: the ABA bug.
struct Treiber<const TAGGED: bool> {
    head: AtomicUsize,
    next: [AtomicUsize; 3],
}

const NOTHING: usize = 0xffff;
const ONE_CHANGE: usize = 1 << 16;

impl<const TAGGED: bool> Treiber<TAGGED> {
    /// With nodes 0, then 1, then 2 on it, the last on top.
    fn full() -> Self {
        let next = [NOTHING, 0, 1].map(AtomicUsize::new);
        Treiber { head: AtomicUsize::new(2), next }
    }

    fn changed(from: usize, to: usize) -> usize {
        if TAGGED { ((from | 0xffff) + 1) | to } else { to }
    }

    fn push(&self, node: usize) {
        loop {
            let head = self.head.load(SeqCst);
            self.next[node].store(head & 0xffff, SeqCst);
            if self.head.compare_exchange(head, Self::changed(head, node), SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(SeqCst);
            let node = head & 0xffff;
            if node == NOTHING {
                return None;
            }
            let next = self.next[node].load(SeqCst);
            if self.head.compare_exchange(head, Self::changed(head, next), SeqCst, SeqCst).is_ok() {
                return Some(node);
            }
        }
    }
}

/// One thread takes a node; the other takes two and gives the first back.
fn take_and_give_back<const TAGGED: bool>() {
    let stack = Treiber::<TAGGED>::full();
    let (taken, kept) = thread::scope(|s| {
        let other = s.spawn(|| {
            let first = stack.pop();
            let second = stack.pop();
            first.into_iter().for_each(|n| stack.push(n));
            second
        });
        (stack.pop(), other.join().unwrap())
    });
    let mut all: Vec<usize> =
        taken.into_iter().chain(kept).chain(std::iter::from_fn(|| stack.pop())).take(9).collect();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2], "every node is in one place");
}

#[test]
fn a_stack_with_counted_changes_reuses_its_nodes() {
    const { assert!(ONE_CHANGE > NOTHING) };
    verified(take_and_give_back::<true>);
}

#[test]
fn a_stack_that_does_not_count_changes_has_the_aba_bug() {
    let failure = found(Assertion, take_and_give_back::<false>);
    says(&failure.message, &["every node is in one place"]);
    assert!(failure.preemptions >= 1, "{failure:#?}");
}

/// A node of a list on the heap.
struct Node<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    next: AtomicPtr<Node<T>>,
}

fn node<T>(value: MaybeUninit<T>) -> *mut Node<T> {
    Box::into_raw(Box::new(Node { value: UnsafeCell::new(value), next: AtomicPtr::new(ptr::null_mut()) }))
}

/// A Treiber stack on the heap: nodes are freed when all threads are done. `TORN` is the seeded bug: pop sets the head without
/// looking whether it is still the same.
struct HeapStack<const TORN: bool> {
    head: AtomicPtr<Node<usize>>,
    /// Nodes that were taken, to be freed at the end. Not part of the algorithm.
    taken: std::sync::Mutex<Vec<*mut Node<usize>>>,
}

// SAFETY: nodes are freed when the stack is dropped, by one thread; until then they are shared, and accesses are checked.
unsafe impl<const TORN: bool> Sync for HeapStack<TORN> {}

impl<const TORN: bool> HeapStack<TORN> {
    fn new() -> Self {
        HeapStack { head: AtomicPtr::new(ptr::null_mut()), taken: std::sync::Mutex::new(Vec::new()) }
    }

    fn push(&self, value: usize) {
        let new = node(MaybeUninit::new(value));
        let mut head = self.head.load(Relaxed);
        loop {
            // SAFETY: nodes live as long as the stack.
            unsafe { (*new).next.store(head, Relaxed) };
            match self.head.compare_exchange_weak(head, new, Release, Relaxed) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let head = self.head.load(Acquire);
            if head.is_null() {
                return None;
            }
            // SAFETY: nodes live as long as the stack.
            let next = unsafe { (*head).next.load(Relaxed) };
            if TORN {
                self.head.store(next, Release);
            } else if self.head.compare_exchange(head, next, Acquire, Relaxed).is_err() {
                continue;
            }
            self.taken.lock().unwrap().push(head);
            // SAFETY: as above; the value was written before the node was pushed.
            return Some(unsafe { (*head).value.with(|v| (*v).assume_init()) });
        }
    }
}

impl<const TORN: bool> Drop for HeapStack<TORN> {
    fn drop(&mut self) {
        let mut all = std::mem::take(&mut *self.taken.lock().unwrap());
        let mut at = *self.head.get_mut();
        while !at.is_null() && !all.contains(&at) {
            all.push(at);
            // SAFETY: nodes live until the end of this function, and nobody else has the stack.
            at = unsafe { *(*at).next.get_mut() };
        }
        all.sort_unstable();
        all.dedup();
        // SAFETY: each node once, and nobody uses them after this.
        all.into_iter().for_each(|n| drop(unsafe { Box::from_raw(n) }));
    }
}

fn push_and_pop<const TORN: bool>() {
    let stack = HeapStack::<TORN>::new();
    stack.push(1);
    let mut got = thread::scope(|s| {
        let other = s.spawn(|| {
            stack.push(2);
            stack.pop()
        });
        let mine = stack.pop();
        [mine, other.join().unwrap(), stack.pop()]
    });
    got.sort_unstable();
    assert!(got == [None, Some(1), Some(2)], "each value comes out once: {got:?}");
}

#[test]
fn a_stack_on_the_heap() {
    verified(push_and_pop::<false>);
    let failure = found(Panic, push_and_pop::<true>);
    says(&failure.message, &["each value comes out once"]);
}

/// How the end of the queue is moved.
const RIGHT: u8 = 0;
/// Seeded bug: the new node is linked without looking whether another one is there.
const BLIND_LINK: u8 = 1;
/// Seeded bug: the end moves first, the link comes after; in between the queue is cut in two.
const SWING_FIRST: u8 = 2;

/// Michael and Scott's queue, 1996; nodes are freed when all threads are done.
struct Queue<const HOW: u8> {
    head: AtomicPtr<Node<usize>>,
    tail: AtomicPtr<Node<usize>>,
    all: std::sync::Mutex<Vec<*mut Node<usize>>>,
}

// SAFETY: as for `HeapStack`.
unsafe impl<const HOW: u8> Sync for Queue<HOW> {}

impl<const HOW: u8> Queue<HOW> {
    fn new() -> Self {
        let dummy = node(MaybeUninit::uninit());
        let all = std::sync::Mutex::new(vec![dummy]);
        Queue { head: AtomicPtr::new(dummy), tail: AtomicPtr::new(dummy), all }
    }

    fn enqueue(&self, value: usize) {
        let new = node(MaybeUninit::new(value));
        self.all.lock().unwrap().push(new);
        if HOW == SWING_FIRST {
            let last = self.tail.swap(new, AcqRel);
            // SAFETY: nodes live as long as the queue.
            return unsafe { (*last).next.store(new, Release) };
        }
        loop {
            let tail = self.tail.load(Acquire);
            // SAFETY: nodes live as long as the queue.
            let link = unsafe { &(*tail).next };
            let next = link.load(Acquire);
            if !next.is_null() {
                let _ = self.tail.compare_exchange(tail, next, AcqRel, Relaxed);
            } else {
                if HOW == BLIND_LINK {
                    link.store(new, Release);
                } else if link.compare_exchange(next, new, AcqRel, Relaxed).is_err() {
                    continue;
                }
                let _ = self.tail.compare_exchange(tail, new, AcqRel, Relaxed);
                return;
            }
        }
    }

    fn dequeue(&self) -> Option<usize> {
        loop {
            let head = self.head.load(Acquire);
            let tail = self.tail.load(Acquire);
            // SAFETY: nodes live as long as the queue.
            let next = unsafe { (*head).next.load(Acquire) };
            if next.is_null() {
                return None;
            }
            if head == tail && HOW == RIGHT {
                let _ = self.tail.compare_exchange(tail, next, AcqRel, Relaxed);
            }
            if self.head.compare_exchange(head, next, AcqRel, Relaxed).is_ok() {
                // SAFETY: as above; the value was written before the node was linked.
                return Some(unsafe { (*next).value.with(|v| (*v).assume_init()) });
            }
        }
    }
}

impl<const HOW: u8> Drop for Queue<HOW> {
    fn drop(&mut self) {
        // SAFETY: each node once, and nobody uses them after this.
        self.all.lock().unwrap().drain(..).for_each(|n| drop(unsafe { Box::from_raw(n) }));
    }
}

/// A thread puts one in; the other puts one in and takes one out, of which there must be one.
fn in_and_out<const HOW: u8>() {
    let queue = Queue::<HOW>::new();
    thread::scope(|s| {
        s.spawn(|| queue.enqueue(1));
        queue.enqueue(2);
        let first = queue.dequeue();
        assert!(first.is_some(), "what was put in before can be taken out");
    });
    assert!(queue.dequeue().is_some(), "nothing is lost");
    assert_eq!(queue.dequeue(), None);
}

#[test]
fn michael_and_scotts_queue() {
    verified(in_and_out::<RIGHT>);
}

#[test]
fn a_queue_that_links_blindly_loses_a_value() {
    says(&found(Panic, in_and_out::<BLIND_LINK>).message, &["nothing is lost"]);
}

#[test]
fn a_queue_whose_end_moves_before_the_link_looks_empty_when_it_is_not() {
    says(&found(Panic, in_and_out::<SWING_FIRST>).message, &["what was put in before can be taken out"]);
}

#[test]
fn two_takers_of_a_queue_never_get_the_same() {
    verified(|| {
        let queue = Queue::<RIGHT>::new();
        queue.enqueue(1);
        let (a, b) = thread::scope(|s| {
            let a = s.spawn(|| queue.dequeue());
            let b = s.spawn(|| queue.dequeue());
            (a.join().unwrap(), b.join().unwrap())
        });
        assert_ne!(a.is_some(), b.is_some());
    });
}

/// A ring for one who puts in and one who takes out. `CHECKED` looks whether there is room; without that, the seeded bug, a
/// slot is written while it is read.
struct Ring<const CHECKED: bool> {
    slots: [UnsafeCell<usize>; 2],
    put: AtomicUsize,
    taken: AtomicUsize,
}

// SAFETY: the point of the test is whether it is; accesses are checked.
unsafe impl<const CHECKED: bool> Sync for Ring<CHECKED> {}

impl<const CHECKED: bool> Ring<CHECKED> {
    fn new() -> Self {
        let slots = [0, 0].map(UnsafeCell::new);
        Ring { slots, put: AtomicUsize::new(0), taken: AtomicUsize::new(0) }
    }

    fn put(&self, value: usize) {
        let at = self.put.load(Relaxed);
        while CHECKED && at - self.taken.load(Acquire) == self.slots.len() {
            hint::spin_loop();
        }
        // SAFETY: checked by raddle.
        self.slots[at % 2].with_mut(|p| unsafe { *p = value });
        self.put.store(at + 1, Release);
    }

    fn take(&self) -> usize {
        let at = self.taken.load(Relaxed);
        while self.put.load(Acquire) == at {
            hint::spin_loop();
        }
        // SAFETY: checked by raddle.
        let value = self.slots[at % 2].with(|p| unsafe { *p });
        self.taken.store(at + 1, Release);
        value
    }
}

fn three_through_a_ring_of_two<const CHECKED: bool>() {
    let ring = Ring::<CHECKED>::new();
    thread::scope(|s| {
        s.spawn(|| (1..=3).for_each(|v| ring.put(v)));
        for v in 1..=3 {
            assert_eq!(ring.take(), v);
        }
    });
}

#[test]
fn a_ring_buffer() {
    verified(three_through_a_ring_of_two::<true>);
    // What is found first is a value that was overwritten.
    let kinds = kinds(three_through_a_ring_of_two::<false>);
    assert!(kinds.contains(&DataRace) && kinds.contains(&Assertion), "{kinds:?}");
}

/// Made by the first who needs it. `PUBLISHED` says so with release and acquire; relaxed, the seeded bug, nothing orders the
/// making and the use.
struct Lazy<const PUBLISHED: bool> {
    made: AtomicBool,
    making: Mutex<()>,
    value: UnsafeCell<usize>,
}

// SAFETY: the point of the test is whether it is; accesses are checked.
unsafe impl<const PUBLISHED: bool> Sync for Lazy<PUBLISHED> {}

impl<const PUBLISHED: bool> Lazy<PUBLISHED> {
    fn get(&self) -> usize {
        let (load, store) = if PUBLISHED { (Acquire, Release) } else { (Relaxed, Relaxed) };
        if !self.made.load(load) {
            let _guard = self.making.lock().unwrap();
            if !self.made.load(load) {
                // SAFETY: checked by raddle.
                self.value.with_mut(|p| unsafe { *p = 7 });
                self.made.store(true, store);
            }
        }
        // SAFETY: checked by raddle.
        self.value.with(|p| unsafe { *p })
    }
}

fn double_checked<const PUBLISHED: bool>() {
    let lazy =
        Lazy::<PUBLISHED> { made: AtomicBool::new(false), making: Mutex::new(()), value: UnsafeCell::new(0) };
    thread::scope(|s| {
        s.spawn(|| assert_eq!(lazy.get(), 7));
        s.spawn(|| assert_eq!(lazy.get(), 7));
        assert_eq!(lazy.get(), 7);
    });
}

#[test]
fn double_checked_initialisation() {
    verified(double_checked::<true>);
    says(&found(DataRace, double_checked::<false>).message, &["data_structures.rs"]);
}
