//! Memory of atomics that a test reaches through plain pointers: `as_ptr` and `from_ptr`.
//!
//! The runtime has the value of an atomic, so accesses through such a pointer are not seen. After each operation on the atomic the memory is
//! brought up to date, and before the next one the atomic takes what was written there. A test that uses the pointer while it
//! is the only one to use the atomic, as std demands of accesses that are not atomic, finds what it expects. Data races with such accesses are not
//! found: the caveat `races` says so.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The text of the caveat for such pointers.
pub(crate) const UNSEEN: &str = "accesses through the pointer of an atomic (`as_ptr`, `from_ptr`) are not seen: data races with them are not found";

/// The bytes of a value, filled up with zeros.
pub(crate) type Bytes = [u8; 8];

/// The number of the memory of an atomic, which no other has; 0 for none. It stays with an atomic that is moved, and over executions.
pub(crate) struct Flag(AtomicU64);

// Code of the test is searched for std's atomics (`runtime::alien_uses`). With assertions on, the test may be compiled without optimisation
// while this crate is optimised: what is inlined here would then look like an operation of the test.
impl Flag {
    pub(crate) const fn new() -> Flag {
        Flag(AtomicU64::new(0))
    }

    #[cfg_attr(debug_assertions, inline(never))]
    #[cfg_attr(not(debug_assertions), inline)]
    pub(crate) fn is_set(&self) -> bool {
        self.number() != 0
    }

    fn number(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Memory that has the value of an atomic.
struct Mirror {
    memory: *mut u8,
    size: usize,
    /// The contents after the last operation on the atomic.
    last: Bytes,
    /// Where it lies, unless the test has it.
    _own: Option<Box<u64>>,
}

impl Mirror {
    fn read(&self) -> Bytes {
        let mut bytes = Bytes::default();
        // SAFETY: the memory has this size. It is our own, or the test says that it is an atomic's as long as that is used.
        unsafe { bytes.as_mut_ptr().copy_from_nonoverlapping(self.memory, self.size) };
        bytes
    }
}

/// An atomic that stands for memory of the test, and how to drop it.
struct Made {
    atomic: *mut (),
    drop: unsafe fn(*mut ()),
}

impl Drop for Made {
    fn drop(&mut self) {
        // SAFETY: `made_at` was handed both, and the execution that used the atomic is over.
        unsafe { (self.drop)(self.atomic) }
    }
}

/// The mirrors of one execution.
struct Mirrors {
    execution: u32,
    /// By number.
    mirrors: BTreeMap<u64, Mirror>,
    /// By the address of the memory and the type of the atomic.
    made: BTreeMap<(usize, &'static str), Made>,
}

thread_local! {
    static ALL: RefCell<Mirrors> =
        const { RefCell::new(Mirrors { execution: 0, mirrors: BTreeMap::new(), made: BTreeMap::new() }) };
}

/// Calls `f` with what the execution at hand has.
fn with<R>(f: impl FnOnce(&mut Mirrors) -> R) -> R {
    let now = runtime::execution_number();
    ALL.with_borrow_mut(|all| {
        if all.execution != now {
            (all.execution, all.mirrors, all.made) = (now, BTreeMap::new(), BTreeMap::new());
        }
        f(all)
    })
}

/// Where the value of an atomic is mirrored.
pub(crate) fn memory_of(atomic: &Flag) -> Option<*mut u8> {
    with(|all| all.mirrors.get(&atomic.number()).map(|m| m.memory))
}

/// Mirrors an atomic with this value, in memory of the test or in new memory, and says where.
pub(crate) fn add(atomic: &Flag, memory: Option<*mut u8>, value: Bytes, size: usize) -> *mut u8 {
    let mut own = memory.is_none().then(|| Box::new(u64::from_ne_bytes(value)));
    let memory =
        memory.unwrap_or_else(|| own.as_mut().map_or(std::ptr::null_mut(), |o| (&raw mut **o).cast()));
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    atomic.0.store(number, Ordering::Relaxed);
    with(|all| all.mirrors.insert(number, Mirror { memory, size, last: value, _own: own }));
    memory
}

/// Returns the bytes written to the memory of an atomic since its last operation. The error: the atomic has no such memory.
pub(crate) fn written(atomic: &Flag) -> Result<Option<Bytes>, ()> {
    with(|all| {
        let mirror = all.mirrors.get_mut(&atomic.number()).ok_or(())?;
        let now = mirror.read();
        Ok((std::mem::replace(&mut mirror.last, now) != now).then_some(now))
    })
}

/// An operation has left this value in an atomic.
pub(crate) fn update(atomic: &Flag, value: Bytes) {
    with(|all| {
        if let Some(mirror) = all.mirrors.get_mut(&atomic.number()) {
            mirror.last = value;
            // SAFETY: as for `read`.
            unsafe { mirror.memory.copy_from_nonoverlapping(value.as_ptr(), mirror.size) };
        }
    });
}

/// The atomic of this type that stands for memory of the test; `make` makes it. The second result: it is new.
///
/// # Safety
///
/// `drop` drops what `make` has made.
pub(crate) unsafe fn made_at(
    memory: usize,
    of_type: &'static str,
    make: impl FnOnce() -> *mut (),
    drop: unsafe fn(*mut ()),
) -> (*mut (), bool) {
    with(|all| {
        let mut is_new = false;
        let made = all.made.entry((memory, of_type)).or_insert_with(|| {
            is_new = true;
            Made { atomic: make(), drop }
        });
        (made.atomic, is_new)
    })
}
