//! A naive search for the tests: every schedule and every option, depth first. And thin types on top of the runtime.
#![allow(dead_code, missing_docs, unreachable_pub)]

use explore::{
    Decision, End, Executed, Explorer, Failure, MemoryOrder, OpKind, Options, Progress, Promise, Schedule,
    Spent, Stats, ThreadId, View,
};
use runtime::Place;
use runtime::{Class, Handle, Request, Settings};
use std::sync::Arc;

/// Every schedule and every option.
#[derive(Default)]
pub struct Naive {
    /// What was chosen at each point, of how many.
    pub path: Vec<(usize, usize)>,
    pub at: usize,
    pub executions: u64,
    pub assumed: u64,
    pub pruned: u64,
    pub steps: u64,
    /// Yielding threads go last, unless nothing else can run.
    pub fair: bool,
    pub limit: Option<u64>,
}

impl Naive {
    fn choose(&mut self, n: usize) -> usize {
        if self.at == self.path.len() {
            self.path.push((0, n));
        }
        let (choice, was) = self.path[self.at];
        assert_eq!(was, n, "not deterministic at choice {}", self.at);
        self.at += 1;
        choice
    }
}

impl Explorer for Naive {
    fn begin(&mut self) {
        self.at = 0;
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        assert!(!view.enabled.is_empty());
        let mut from = view.enabled;
        if self.fair && !from.minus(&view.yielded).is_empty() {
            from = from.minus(&view.yielded);
        }
        let i = self.choose(from.len());
        Decision::Run(from.iter().nth(i).unwrap())
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        let i = self.choose(options.len());
        options.get(i)
    }

    fn executed(&mut self, _event: Executed<'_>) {
        self.steps += 1;
    }

    fn end(&mut self, end: End, _view: &View<'_>) -> bool {
        match end {
            End::Assumed => self.assumed += 1,
            End::Pruned | End::Undone => self.pruned += 1,
            _ => self.executions += 1,
        }
        self.path.truncate(self.at);
        while let Some((choice, n)) = self.path.pop() {
            if choice + 1 < n {
                self.path.push((choice + 1, n));
                break;
            }
        }
        !self.path.is_empty() && self.limit.is_none_or(|l| self.executions < l)
    }
}

impl Progress for Naive {
    fn stats(&self) -> Stats {
        Stats { executions: self.executions, assumed: self.assumed, steps: self.steps, ..Stats::default() }
    }

    fn finished(&self) -> bool {
        self.path.is_empty()
    }

    fn promise(&self) -> Promise {
        Promise::Everything
    }

    fn restart(&mut self) {
        self.path.clear();
        (self.executions, self.assumed, self.pruned, self.steps) = (0, 0, 0, 0);
    }

    fn spent(&self) -> Option<Spent> {
        None
    }

    fn estimate(&self) -> Option<f64> {
        None
    }

    fn schedule(&self) -> Schedule {
        Schedule::default()
    }
}

pub fn settings() -> Settings {
    Settings { spurious_cas: false, spurious_wakeups: false, ..Settings::default() }
}

pub struct Found {
    pub executions: u64,
    pub assumed: u64,
    pub pruned: u64,
    pub failures: Vec<Failure>,
    pub stopped: Option<explore::Stop>,
}

/// Every schedule, all failures.
pub fn explore_with(settings: &Settings, mut search: Naive, test: impl Fn()) -> Found {
    let runtime::Found { failures, stopped, .. } = runtime::check(settings, &mut search, &test, &mut |_| ());
    Found { executions: search.executions, assumed: search.assumed, pruned: search.pruned, failures, stopped }
}

pub fn explore_all(test: impl Fn()) -> Found {
    explore_with(&Settings { keep_going: true, ..settings() }, Naive::default(), test)
}

/// Every schedule; there must be no failure. Gives the number of executions.
pub fn passes(test: impl Fn()) -> u64 {
    let found = explore_all(test);
    assert!(found.failures.is_empty(), "{:#?}", found.failures[0]);
    found.executions
}

/// The first failure.
pub fn fails(test: impl Fn()) -> Failure {
    let mut found = explore_with(&settings(), Naive::default(), test);
    assert_eq!(found.failures.len(), 1, "a failure was expected");
    found.failures.remove(0)
}

pub struct Atomic {
    handle: Handle,
    initial: u64,
}

impl Atomic {
    pub const fn new(initial: u64) -> Atomic {
        Atomic { handle: Handle::new(), initial }
    }

    #[inline]
    fn op(&self, kind: OpKind, a: u64, b: u64, order: MemoryOrder, place: Place) -> runtime::Done {
        let (object, class, initial) = (&self.handle, Class::Atomic, self.initial);
        runtime::step(Request { kind, object, class, initial, a, b, order, place })
    }

    #[inline]
    #[track_caller]
    pub fn load(&self) -> u64 {
        self.op(OpKind::Load, 0, 0, MemoryOrder::SeqCst, Place::caller()).value
    }

    #[inline]
    #[track_caller]
    pub fn load_with(&self, order: MemoryOrder) -> u64 {
        self.op(OpKind::Load, 0, 0, order, Place::caller()).value
    }

    #[inline]
    #[track_caller]
    pub fn store(&self, v: u64) {
        self.op(OpKind::Store, v, 0, MemoryOrder::SeqCst, Place::caller());
    }

    #[inline]
    #[track_caller]
    pub fn store_with(&self, v: u64, order: MemoryOrder) {
        self.op(OpKind::Store, v, 0, order, Place::caller());
    }

    #[inline]
    #[track_caller]
    pub fn cas(&self, a: u64, b: u64) -> bool {
        self.op(OpKind::CompareExchange, a, b, MemoryOrder::SeqCst, Place::caller()).ok
    }

    #[inline]
    #[track_caller]
    pub fn cas_weak(&self, a: u64, b: u64) -> bool {
        self.op(OpKind::CompareExchangeWeak, a, b, MemoryOrder::SeqCst, Place::caller()).ok
    }

    #[inline]
    #[track_caller]
    pub fn add(&self, n: u64) -> u64 {
        runtime::rmw(&self.handle, self.initial, MemoryOrder::SeqCst, Place::caller(), |v| v.wrapping_add(n))
    }

    #[inline]
    #[track_caller]
    pub fn swap(&self, n: u64) -> u64 {
        runtime::rmw(&self.handle, self.initial, MemoryOrder::SeqCst, Place::caller(), |_| n)
    }
}

/// A lock; which class is given, so that it serves for all of them.
pub struct Sync {
    pub handle: Handle,
    class: Class,
    initial: u64,
}

impl Sync {
    pub const fn new(class: Class, initial: u64) -> Sync {
        Sync { handle: Handle::new(), class, initial }
    }

    #[track_caller]
    pub fn op(&self, kind: OpKind) -> runtime::Done {
        self.op_with(kind, 0, 0)
    }

    #[track_caller]
    pub fn op_with(&self, kind: OpKind, a: u64, b: u64) -> runtime::Done {
        let (object, class, initial, place) = (&self.handle, self.class, self.initial, Place::caller());
        runtime::step(Request { kind, object, class, initial, a, b, order: MemoryOrder::None, place })
    }
}

pub struct Mutex(pub Sync);

impl Mutex {
    pub const fn new() -> Mutex {
        Mutex(Sync::new(Class::Mutex, 0))
    }

    #[track_caller]
    pub fn lock(&self) -> Guard<'_> {
        self.0.op(OpKind::Lock);
        Guard(self)
    }
}

pub struct Guard<'a>(&'a Mutex);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.0.op(OpKind::Unlock);
    }
}

/// A closure as what a thread runs.
struct Once<F>(std::cell::Cell<Option<F>>);

impl<F: FnOnce()> runtime::Body for Once<F> {
    fn run(&self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }

    fn discard(&self) {
        drop(self.0.take());
    }
}

fn body(f: impl FnOnce() + 'static) -> runtime::Task {
    let body: Box<dyn runtime::Body> = Box::new(Once(std::cell::Cell::new(Some(f))));
    let body = std::ptr::NonNull::from(Box::leak(body));
    // SAFETY: the box is there until it is left, once.
    unsafe { runtime::Task::new(body, |body| drop(Box::from_raw(body.as_ptr()))) }
}

#[track_caller]
pub fn spawn(f: impl FnOnce() + 'static) -> ThreadId {
    runtime::spawn(None, None, Place::caller(), body(f))
}

#[track_caller]
pub fn named(name: &str, f: impl FnOnce() + 'static) -> ThreadId {
    runtime::spawn(Some(name.to_string()), None, Place::caller(), body(f))
}

#[track_caller]
pub fn join(t: ThreadId) {
    runtime::join(t, Place::caller()).unwrap();
}

#[inline]
#[track_caller]
pub fn yield_now() {
    runtime::local_step(OpKind::Yield, MemoryOrder::None, Place::caller());
}

pub fn shared<T>(value: T) -> Arc<T> {
    Arc::new(value)
}
