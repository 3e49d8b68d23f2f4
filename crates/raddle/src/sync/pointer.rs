//! Names for pointers: the numbers by which the search knows them.
//!
//! Addresses differ from one execution to the next, and a search that compares what a step saw with what it saw before
//! must not see them. So the word of an [`AtomicPtr`](super::atomic::AtomicPtr) is a name. Within an execution names and
//! addresses stand for each other, so two pointers are equal when their names are; null is 0. In all executions that are
//! equivalent the same pointer gets the same name: it is named by the thread that first hands it to an atomic, and by how
//! many that thread has named before. A pointer that an atomic was made with is named by how many of those came before, since
//! any of several threads may be the first to meet it.
//!
//! An integer of 64 bits that looks like an address is taken for one: programs keep addresses in an `AtomicUsize`, with tags in their
//! lowest or highest bits. Its word has the same tags around the name, and looks like an address itself.
//!
//! What is left of the addresses: whether the allocator gives memory again that was freed in the same execution (where that differs between
//! executions, the runtime keeps freed memory until the end), and, if atomics
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
        runtime::address_is_kept(address);
        if let Some(name) = self.by_address.get(&address) {
            return *name;
        }
        runtime::compares_addresses();
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

/// The bits of a number that an address takes; those above may be a tag.
const ADDRESS_BITS: u32 = 48;
/// The lowest bits of an address are 0, as allocators align what they give out; in a number they may be a tag.
const TAG_BITS: u32 = 4;
/// Where Linux puts libraries, stacks and large blocks: at random places in the highest 16 TiB (`vm.mmap_rnd_bits` is 32 at most), with some room
/// below. Words that stand for addresses look as if they were there.
const LOWEST: u64 = 0x6f00_0000_0000;
const END: u64 = 0x8000_0000_0000;
/// The heap begins not farther than this behind the variables of the program.
const HEAP: u64 = 1 << 36;
/// Linux maps nothing below. A program that is not position-independent lies a little above.
const FIRST: u64 = 1 << 16;

/// Whether a number may be an address, or the word of one. Few others are taken for one, and these are named like addresses.
#[inline(always)]
pub(super) fn is_like_an_address(n: u64) -> bool {
    // Most numbers are small.
    n >= FIRST && is_among_addresses(n)
}

#[cold]
fn is_among_addresses(n: u64) -> bool {
    static VARIABLE: u8 = 0;
    let address = n & ((1 << ADDRESS_BITS) - 1);
    let program = (&raw const VARIABLE).addr() as u64;
    let from = (program & !(HEAP - 1)).max(FIRST);
    address.wrapping_sub(LOWEST) < END - LOWEST || address.wrapping_sub(from) < 2 * HEAP
}

/// What is around the address in a number or word, and the rest of it.
fn parts(n: u64) -> (u64, u64) {
    let tags = !((1 << ADDRESS_BITS) - 1) | ((1 << TAG_BITS) - 1);
    (n & tags, n & !tags)
}

/// The address in a number that looks like one.
#[cold]
pub(super) fn without_tags(n: u64) -> usize {
    parts(n).1 as usize
}

fn word_of(n: u64, name: impl FnOnce(usize) -> u64) -> u64 {
    let (tags, address) = parts(n);
    match name(address as usize) {
        // Outside of an execution nothing is compared.
        0 => n,
        name => tags | (LOWEST + (name << TAG_BITS)),
    }
}

/// The word of a number that looks like an address and that the running thread hands to an atomic.
#[cold]
pub(super) fn number_to_word(n: u64) -> u64 {
    word_of(n, name)
}

/// The word of a number that looks like an address and that an atomic was made with.
#[cold]
pub(super) fn initial_number_to_word(n: u64) -> u64 {
    word_of(n, initial_name)
}

/// The number that such a word stands for.
#[cold]
pub(super) fn word_to_number(word: u64) -> u64 {
    let (tags, rest) = parts(word);
    match address((rest - LOWEST) >> TAG_BITS) {
        // It is not a word of this execution, but a number that was kept as it is.
        0 => word,
        address => tags | address as u64,
    }
}
