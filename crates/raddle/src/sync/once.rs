//! Once-only initialisation.
//!
//! A once is two objects of the runtime: its state, a word that is loaded first (acquire), and an internal lock for those who
//! found it incomplete. Whoever holds the lock looks again, runs the initialiser, stores the new state (release) and gives
//! the lock back. So a thread that comes late waits, and what the initialiser did happens before everything that follows.

use crate::object::{Live, Step};
use explore::{MemoryOrder, OpKind};
use runtime::{Class, Handle, Place};
use std::cell::Cell;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// The words of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Incomplete,
    Complete,
    Poisoned,
}

impl Stage {
    fn from_word(word: u64) -> Stage {
        match word {
            0 => Stage::Incomplete,
            1 => Stage::Complete,
            _ => Stage::Poisoned,
        }
    }
}

/// std's `Once`: runs one initialiser, whoever comes first. In a static it is new in each execution.
///
/// ```
/// use raddle::sync::{Once, atomic::{AtomicU32, Ordering}};
///
/// static START: Once = Once::new();
/// static RUNS: AtomicU32 = AtomicU32::new(0);
///
/// raddle::check(|| {
///     let start = || START.call_once(|| { RUNS.fetch_add(1, Ordering::Relaxed); });
///     let other = raddle::thread::spawn(start);
///     start();
///     other.join().unwrap();
///     assert_eq!(RUNS.load(Ordering::Relaxed), 1);
/// });
/// ```
pub struct Once {
    state: Live,
    lock: Handle,
}

impl UnwindSafe for Once {}
impl RefUnwindSafe for Once {}

/// What an initialiser that is run by force may ask.
pub struct OnceState {
    poisoned: bool,
}

/// An unused [`Once`].
#[deprecated(since = "0.1.0", note = "use `Once::new()` instead, as with std's")]
#[expect(clippy::declare_interior_mutable_const, reason = "std has it")]
pub const ONCE_INIT: Once = Once::new();

impl Once {
    /// Makes one that has not run.
    #[inline]
    #[must_use]
    #[expect(clippy::new_without_default, reason = "std's has none")]
    pub const fn new() -> Once {
        Once { state: Live::new(), lock: Handle::new() }
    }

    /// The handle of the state, for the data that a once guards.
    pub(super) fn handle(&self) -> &Handle {
        &self.state
    }

    /// Loads the state. `initial` is what it is if this execution has not met the once.
    #[inline(always)]
    pub(super) fn stage(&self, initial: Stage, place: Place) -> Stage {
        let load = Step::new(OpKind::Load, &self.state, Class::Once, place)
            .initial(initial as u64)
            .order(MemoryOrder::Acquire)
            .run();
        Stage::from_word(load.value)
    }

    fn lock(&self, kind: OpKind, place: Place) {
        Step::new(kind, &self.lock, Class::Once, place).run();
    }

    /// Runs `f` unless it has run; `force` lets it run after a panic.
    #[track_caller]
    pub(super) fn call(&self, initial: Stage, force: bool, place: Place, f: impl FnOnce(&OnceState)) {
        if runtime::tearing_down() || self.stage(initial, place) == Stage::Complete {
            return;
        }
        self.lock(OpKind::Lock, place);
        let holder = Holder { once: self, next: Cell::new(None), place };
        match self.stage(initial, place) {
            Stage::Complete => {}
            Stage::Poisoned if !force => {
                drop(holder);
                panic!("Once instance has previously been poisoned (at {place})");
            }
            stage => {
                holder.next.set(Some(Stage::Poisoned));
                f(&OnceState { poisoned: stage == Stage::Poisoned });
                holder.next.set(Some(Stage::Complete));
            }
        }
    }

    /// Runs `f` if no other call has; waits until one is done.
    ///
    /// # Panics
    ///
    /// Panics if an earlier initialiser panicked.
    #[inline]
    #[track_caller]
    pub fn call_once<F>(&self, f: F)
    where
        F: FnOnce(),
    {
        self.call(Stage::Incomplete, false, Place::caller(), |_| f());
    }

    /// The same, but an earlier panic is forgiven.
    #[inline]
    #[track_caller]
    pub fn call_once_force<F>(&self, f: F)
    where
        F: FnOnce(&OnceState),
    {
        self.call(Stage::Incomplete, true, Place::caller(), f);
    }

    /// Whether an initialiser is done.
    #[inline(always)]
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        self.stage(Stage::Incomplete, Place::caller()) == Stage::Complete
    }

    /// Waits until another thread's initialiser is done.
    ///
    /// # Panics
    ///
    /// Panics if it panicked.
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for(Stage::Incomplete, false, Place::caller());
    }

    /// The same, but after a panic it waits for the next initialiser.
    #[track_caller]
    pub fn wait_force(&self) {
        self.wait_for(Stage::Incomplete, true, Place::caller());
    }

    /// Waits until the state changes: a thread that waits for ever is blocked.
    pub(super) fn wait_for(&self, initial: Stage, force: bool, place: Place) {
        while !runtime::tearing_down() {
            match self.stage(initial, place) {
                Stage::Complete => return,
                Stage::Poisoned if !force => {
                    panic!("Once instance has previously been poisoned (at {place})")
                }
                stage => runtime::wait_while(&self.state, stage as u64, false, place),
            }
        }
    }
}

/// Holds the internal lock; stores the next state, if there is one, and gives the lock back, also when the initialiser panics.
struct Holder<'a> {
    once: &'a Once,
    next: Cell<Option<Stage>>,
    place: Place,
}

impl Drop for Holder<'_> {
    fn drop(&mut self) {
        if let Some(stage) = self.next.get() {
            Step::new(OpKind::Store, &self.once.state, Class::Once, self.place)
                .operands(stage as u64, 0)
                .order(MemoryOrder::Release)
                .run();
        }
        self.once.lock(OpKind::Unlock, self.place);
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl OnceState {
    /// Whether an earlier initialiser panicked.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.poisoned
    }
}

impl fmt::Debug for OnceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceState").field("poisoned", &self.poisoned).finish()
    }
}
