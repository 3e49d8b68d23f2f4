//! Names for pointers: the numbers by which the search knows them.
//!
//! Addresses differ from one execution to the next, and a search that compares what a step saw with what it saw before
//! must not see them. So the word of an [`AtomicPtr`](super::atomic::AtomicPtr) is a name. Within an execution names and
//! addresses stand for each other, so two pointers are equal when their names are; null is 0. In all executions that are
//! equivalent the same pointer gets the same name: it is named by the thread that first hands it to an atomic, and by how
//! many that thread has named before. A pointer that an atomic was made with is named by how many of those came before, since
//! any of several threads may be the first to meet it.
//!
//! What is left of the addresses: whether the allocator gives memory again that was freed in the same execution, and, if atomics
//! that were made with different pointers are first used by racing threads, which of them came first.

use runtime::{Class, Handle};
use std::cell::{RefCell, UnsafeCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The namespace of pointers that atomics were made with; the others are the numbers of threads.
const INITIAL: u64 = explore::MAX_THREADS as u64;

#[derive(Default)]
struct Names {
    by_address: Map<usize, u64>,
    by_name: Map<u64, usize>,
    /// How many names there are, by namespace.
    count: Map<u64, u64>,
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// A hash for one number: looked up several times in a step, so it must be quick.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, n: u64) {
        // Multiplication carries upwards only, so the well mixed upper half is brought down.
        self.0 = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

impl Names {
    fn name(&mut self, address: usize, namespace: impl FnOnce() -> u64) -> u64 {
        if let Some(name) = self.by_address.get(&address) {
            return *name;
        }
        let namespace = namespace();
        let count = self.count.entry(namespace).or_default();
        let name = *count * (INITIAL + 1) + namespace + 1;
        *count += 1;
        self.by_address.insert(address, name);
        self.by_name.insert(name, address);
        name
    }

    fn clear(&mut self) {
        self.by_address.clear();
        self.by_name.clear();
        self.count.clear();
    }
}

/// Tells one execution from the next: its data is `false` when an execution first asks.
struct Begun {
    handle: Handle,
    begun: UnsafeCell<bool>,
}

// SAFETY: the data is reached through `runtime::data` only, which gives each execution, and so each OS thread, its own copy.
unsafe impl Sync for Begun {}

/// The names of the execution that runs on this OS thread.
fn with_names<R>(f: impl FnOnce(&mut Names) -> R) -> R {
    static BEGUN: Begun = Begun { handle: Handle::new(), begun: UnsafeCell::new(false) };
    std::thread_local! {
        static NAMES: RefCell<Names> = RefCell::default();
    }
    NAMES.with_borrow_mut(|names| {
        // While an execution is given up its names stay: the destructors of what statics held may need them.
        if runtime::active() && !runtime::tearing_down() {
            let begun = runtime::data(&BEGUN.handle, Class::Cell, BEGUN.begun.get());
            // SAFETY: a copy that belongs to this execution; nobody keeps a reference to it, and no other thread of it runs now.
            if !unsafe { std::mem::replace(&mut *begun, true) } {
                names.clear();
            }
        }
        f(names)
    })
}

/// The name of a pointer that the running thread hands to an atomic.
pub(super) fn name(address: usize) -> u64 {
    if address == 0 || !runtime::active() {
        return 0;
    }
    with_names(|names| names.name(address, || u64::from(runtime::current().0)))
}

/// The name of a pointer that an atomic was made with.
pub(super) fn initial_name(address: usize) -> u64 {
    if address == 0 || !runtime::active() {
        return 0;
    }
    with_names(|names| names.name(address, || INITIAL))
}

/// The address of the pointer with this name.
pub(super) fn address(name: u64) -> usize {
    if name == 0 {
        return 0;
    }
    with_names(|names| names.by_name.get(&name).copied().unwrap_or(0))
}
