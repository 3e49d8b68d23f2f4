//! Two thread-local variables of std's that each controlled thread should have for itself: the number of panics that a thread unwinds
//! from (`std::thread::panicking`), and the keys of the next hash map (`RandomState`).
//!
//! All controlled threads run on one OS thread, so they would share these. The variables are found by the symbol table of the executable,
//! and tried out before they are used. While one of them matters, each thread keeps its value when it is suspended and puts it back when
//! it continues:
//!
//! - the number of panics from the first panic of an execution on;
//! - the keys once a check has been seen to make a hash map ([`Restart::MakesHashMaps`]). Each thread then starts with the same keys in
//!   all executions, so the order of elements does not change from one execution to the next.
//!
//! Where the symbols are missing, as in a stripped executable, both stay as std has them.

use crate::alien;
use crate::execution::Execution;
use crate::polling::Restart;
use std::cell::Cell;
use std::hash::RandomState;

/// The variables of one OS thread.
#[derive(Clone, Copy, Default)]
struct Found {
    looked: bool,
    panics: Option<*mut usize>,
    /// The part of the keys that each hash map changes, and the other part.
    keys: Option<(*mut u64, *mut u64)>,
}

thread_local! {
    static FOUND: Cell<Found> = const { Cell::new(Found { looked: false, panics: None, keys: None }) };
}

fn found() -> Found {
    FOUND.with(|f| {
        if !f.get().looked {
            f.set(look());
        }
        f.get()
    })
}

#[cold]
fn look() -> Found {
    let panics = alien::thread_local_variable(&["3std9panicking11panic_count", "LOCAL_PANIC_COUNT"], 16);
    // Nobody panics now, and the variable is what it is taken for only if it says so.
    let is_zero = |p: &*mut u64| {
        // SAFETY: a variable of this thread with two words.
        !std::thread::panicking() && unsafe { p.read_volatile() == 0 }
    };
    let panics = panics.filter(is_zero).map(|p| p.cast::<usize>());
    let keys = alien::thread_local_variable(&["3std4hash6random", "RandomState", "KEYS"], 24);
    Found { looked: true, panics, keys: keys.and_then(try_keys) }
}

/// The words of the keys, if making hash maps changes them as it should.
fn try_keys(variable: *mut u64) -> Option<(*mut u64, *mut u64)> {
    const { assert!(size_of::<RandomState>() == 16 && align_of::<RandomState>() == 8) };
    let made = RandomState::new();
    // SAFETY: two words, all of whose values are valid.
    let keys = unsafe { (&raw const made).cast::<[u64; 2]>().read() };
    // SAFETY: a variable of this thread with three words: the two keys, and a flag.
    let words: [u64; 3] = std::array::from_fn(|i| unsafe { variable.add(i).read_volatile() });
    let index_of = |key: u64| words.iter().position(|w| *w == key);
    let found = [(keys[0], keys[1]), (keys[1], keys[0])].into_iter().find_map(|(counting, other)| {
        let (i, j) = (index_of(counting.wrapping_add(1))?, index_of(other)?);
        // SAFETY: inside of the variable.
        (i != j).then(|| unsafe { (variable.add(i), variable.add(j)) })
    })?;
    // SAFETY: as above.
    let count = || unsafe { found.0.read_volatile() };
    let before = count();
    std::hint::black_box(RandomState::new());
    (count() == before.wrapping_add(1)).then_some(found)
}

/// What a suspended thread has.
#[derive(Clone, Copy, Default)]
pub(crate) struct Saved {
    panics: usize,
    key: u64,
}

const KEYS: (u64, u64) = (0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);

impl Execution {
    /// An execution starts.
    #[inline]
    pub(crate) fn start_std_locals(&mut self) {
        self.swaps_locals = self.modes.hashes && self.front.is_none();
        if self.front.is_none() && !self.modes.hashes {
            // SAFETY: a variable of this thread.
            self.first_key = found().keys.map_or(0, |(count, _)| unsafe { count.read_volatile() });
        }
    }

    /// An execution has ended.
    #[inline]
    pub(crate) fn end_std_locals(&mut self) {
        if self.front.is_some() {
            return;
        }
        let found = found();
        // SAFETY: variables of this thread.
        unsafe {
            if !self.modes.hashes
                && let Some((count, _)) = found.keys
                && count.read_volatile() != self.first_key
            {
                self.restart.get_or_insert(Restart::MakesHashMaps);
            }
            if self.swaps_locals
                && let Some(panics) = found.panics
            {
                panics.write_volatile(0);
            }
        }
    }

    /// The running thread has panicked.
    pub(crate) fn panics_are_counted(&mut self) {
        self.swaps_locals = self.front.is_none();
    }
}

/// The running thread starts.
#[cold]
pub(crate) fn start(ex: &mut Execution) {
    let thread = &mut ex.threads[ex.current.index()];
    thread.std_locals = Saved { panics: 0, key: KEYS.0.wrapping_add(ex.modes.hash_seed) };
    resume(ex);
}

/// The running thread is about to be suspended.
#[cold]
pub(crate) fn suspend(ex: &mut Execution) {
    let found = found();
    let saved = &mut ex.threads[ex.current.index()].std_locals;
    // SAFETY: variables of this thread.
    unsafe {
        if let Some(panics) = found.panics {
            saved.panics = panics.read_volatile();
        }
        if let Some((count, _)) = found.keys.filter(|_| ex.modes.hashes) {
            saved.key = count.read_volatile();
        }
    }
}

/// The running thread continues.
#[cold]
pub(crate) fn resume(ex: &mut Execution) {
    let found = found();
    let saved = ex.threads[ex.current.index()].std_locals;
    // SAFETY: variables of this thread.
    unsafe {
        if let Some(panics) = found.panics {
            panics.write_volatile(saved.panics);
        }
        if let Some((count, other)) = found.keys.filter(|_| ex.modes.hashes) {
            count.write_volatile(saved.key);
            other.write_volatile(KEYS.1);
        }
    }
}
