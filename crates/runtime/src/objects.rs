//! The object table of an execution, and the handle by which a type finds its entry.

use crate::execution::{Execution, Phase};
use crate::{Class, Place, statics};
use explore::ObjectId;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The identity of a shared object: lives inside each of our types, costs one word, and is made in a `const`.
///
/// It caches which entry of the running execution's object table belongs to the object. An object that is met for the
/// first time in an execution is entered with its initial state, so statics start afresh in each execution.
pub struct Handle {
    /// The number of the execution in the upper half, the index in its table in the lower.
    cached: AtomicU64,
}

impl Handle {
    /// The handle of an object that no execution has met.
    pub const fn new() -> Handle {
        Handle { cached: AtomicU64::new(0) }
    }

    /// The address, which identifies a handle in a static.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// No execution has met it.
    pub(crate) fn is_fresh(&self) -> bool {
        self.cached.load(Ordering::Relaxed) == 0
    }

    /// Marks it as that of an object that was dropped. No execution has the number that is stored.
    pub(crate) fn bury(&mut self, epoch: u32) {
        *self.cached.get_mut() = u64::from(!epoch) << 32;
    }

    pub(crate) fn forget(&mut self) {
        *self.cached.get_mut() = 0;
    }
}

impl Default for Handle {
    fn default() -> Self {
        Handle::new()
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handle")
    }
}

/// An object was made before the check, of the kind [`explore::CaveatKind::State`].
pub(crate) const MADE_OUTSIDE: &str = "what a lock, a cell or a channel holds that was made outside of the check is not put back between executions: \
                            make it in the closure that is checked";

/// Handles are aligned, so no address of one has this bit.
pub(crate) const GONE: usize = 1;

/// A few bits of each address at which an execution has met an object.
#[derive(Default)]
pub(crate) struct Addresses([u64; 4]);

impl Addresses {
    /// Adds an address. Says whether it may have been there.
    #[inline]
    fn insert(&mut self, address: usize) -> bool {
        let (word, bit) = (address >> 9 & 3, 1 << (address >> 3 & 63));
        let had = self.0[word] & bit != 0;
        self.0[word] |= bit;
        had
    }

    pub(crate) fn clear(&mut self) {
        self.0 = [0; 4];
    }
}

/// Where the value that an object guards is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Home {
    /// Beside its handle.
    Inline,
    /// In a copy that belongs to the execution: the object lies in a static.
    Static,
    /// Beside its handle. This execution has not used it, and keeps it if it does; see [`crate::outside`].
    New,
    /// Beside its handle. An earlier execution has met the object, and this one has not used the value.
    Outside,
}

/// One shared object.
pub(crate) struct Object {
    /// Its state, as [`explore::semantics`] lays it out.
    pub(crate) word: u64,
    /// Where it was first used.
    pub(crate) place: Option<Place>,
    /// How many threads have announced an operation on it that may block.
    pub(crate) waiters: u16,
    pub(crate) class: Class,
    /// Where its value is.
    pub(crate) home: Home,
    /// Its count must be 0 at the end.
    pub(crate) counted: bool,
    /// Its index among the cells, plus one.
    pub(crate) cell: u32,
    /// Where its handle was when it was last used. [`GONE`] is added if it is not there any more.
    pub(crate) address: usize,
    /// Which thread has accessed it atomically, plus one; see [`crate::orders`].
    pub(crate) toucher: u16,
}

/// Numbers for executions that no other execution of the process has. They are taken from the common counter many at a time.
#[derive(Default)]
pub(crate) struct Epochs {
    next: u32,
    left: u32,
}

/// The number of the first execution: not one that variables of a test commonly have.
const FIRST: u32 = 0x5ad0_0000;

/// The numbers that no execution has had yet.
static NEXT: AtomicU32 = AtomicU32::new(FIRST);

/// Whether a word is what the handle of an object holds, one that is gone included.
pub(crate) fn is_handle(word: u64) -> bool {
    let epoch = (word >> 32) as u32;
    let had = FIRST..NEXT.load(Ordering::Relaxed);
    had.contains(&epoch) || had.contains(&!epoch)
}

impl Epochs {
    /// Sees to it that the next number can be had without the counter of the process.
    pub(crate) fn stock(&mut self) {
        if self.left == 0 {
            self.next();
        }
    }

    pub(crate) fn next(&mut self) -> u32 {
        const MANY: u32 = 64;
        if self.left == 0 {
            // After four thousand million executions numbers come again; a handle that was last used that long ago and
            // has not been touched since would have to meet exactly its own old number.
            (self.next, self.left) = (NEXT.fetch_add(MANY, Ordering::Relaxed), MANY);
            // 0 is what no execution has.
            if self.next == 0 {
                (self.next, self.left) = (1, MANY - 1);
            }
        }
        let epoch = self.next;
        (self.next, self.left) = (epoch.wrapping_add(1), self.left - 1);
        epoch
    }
}

impl Execution {
    /// The entry of a handle; a handle that this execution has not met is entered.
    #[inline]
    pub(crate) fn resolve(&mut self, handle: &Handle, class: Class, initial: u64, place: Place) -> ObjectId {
        match self.known(handle) {
            Some(id) => {
                if self.objects[id.index()].address != handle.address() {
                    self.met_elsewhere(handle, id, place);
                }
                id
            }
            None => self.meet(handle, class, initial, place),
        }
    }

    /// An object is used at another address than before.
    #[cold]
    #[inline(never)]
    fn met_elsewhere(&mut self, handle: &Handle, id: ObjectId, place: Place) {
        let before = std::mem::replace(&mut self.objects[id.index()].address, handle.address());
        if self.unjoined > 0 && self.front.is_none() {
            self.object_moved(before, id, place);
        }
    }

    /// The entry of a handle if its cached word belongs to this execution.
    #[inline]
    pub(crate) fn known(&self, handle: &Handle) -> Option<ObjectId> {
        let cached = handle.cached.load(Ordering::Relaxed);
        ((cached >> 32) as u32 == self.epoch).then_some(ObjectId(cached as u32))
    }

    /// The slow path: tests on other OS threads may have overwritten the cached word of a static, so statics are also
    /// found by their address.
    #[cold]
    fn meet(&mut self, handle: &Handle, class: Class, initial: u64, place: Place) -> ObjectId {
        if let Some(front) = self.front {
            let id = self.enter(class, initial, Some(place));
            self.names[id.index()] = front.name_of(handle);
            self.objects[id.index()].address = handle.address();
            if let Some(labels) = &self.settings.labels {
                labels.named(id, class, self.names[id.index()]);
            }
            handle.cached.store((self.epoch as u64) << 32 | id.0 as u64, Ordering::Relaxed);
            return id;
        }
        let address = handle.address();
        let word = handle.cached.load(Ordering::Relaxed);
        if !self.watch.is_empty() {
            self.watch.note_handle(address);
        }
        let is_static = statics::contains(address);
        let earlier = word != 0 && !is_static && self.phase == Phase::Running && self.was_met_earlier(handle);
        if earlier {
            self.met_before(class, address, place);
        }
        let found = if is_static { self.statics.find(address) } else { None };
        let id = found.unwrap_or_else(|| {
            let id = self.enter(class, initial, Some(place));
            self.names[id.index()] = if is_static { address as u64 } else { self.name_on_stack(address) };
            if is_static {
                self.objects[id.index()].home = Home::Static;
            } else if earlier {
                self.objects[id.index()].home = Home::Outside;
            } else if self.keeps_values && word == 0 && self.names[id.index()] == 0 {
                self.objects[id.index()].home = Home::New;
            }
            if is_static {
                self.statics.note(address, id);
            } else if !self.heap.is_empty() {
                self.met_near_blocks(address, id, place);
            }
            self.objects[id.index()].address = address;
            if word == 0 && !is_static && self.met_addresses.insert(address) {
                self.replaced_without_drop(address, id, place);
            }
            if !is_static
                && (word != 0 || self.lifetimes.has_ends())
                && let Some(message) = self.met_at(address, id, word)
                && self.heap.fault.is_none()
            {
                self.heap.fault = Some(Box::new((message, place)));
                // The next turn looks for it.
                self.due = true;
                self.attend = true;
            }
            id
        });
        // Freed memory may be part of the allocator's lists by now.
        if self.heap.fault.is_none() {
            handle.cached.store((self.epoch as u64) << 32 | id.0 as u64, Ordering::Relaxed);
        }
        id
    }

    /// Whether an earlier execution has met an object, so that it was made outside of this one.
    pub(crate) fn was_met_earlier(&self, handle: &Handle) -> bool {
        let word = handle.cached.load(Ordering::Relaxed);
        let (epoch, index) = ((word >> 32) as u32, word as u32);
        // Executions count up; other words are what freed memory was used for.
        word != 0 && epoch < self.epoch && self.epoch - epoch < 1 << 30 && index < 1 << 16
    }

    /// An object that an earlier execution has met. The word of an object starts afresh in each execution. What a lock, a cell or a
    /// channel holds does not, unless it is put back.
    #[cold]
    fn met_before(&mut self, class: Class, address: usize, place: Place) {
        let stays = match class {
            Class::Channel => true,
            // One that is not known to this check is kept as it is now.
            Class::Mutex | Class::RwLock | Class::Cell => {
                !crate::outside::is_put_back(address).unwrap_or(self.keeps_values)
            }
            _ => false,
        };
        if stays {
            self.caveats.add(explore::CaveatKind::State, MADE_OUTSIDE.into(), place);
        }
    }

    /// The thread on whose stack an address lies.
    pub(crate) fn holder_of_stack(&self, address: usize) -> Option<explore::ThreadId> {
        self.order.iter().copied().find(|t| {
            let thread = &self.threads[t.index()];
            thread.running && (thread.stack_floor..thread.frames_end).contains(&address)
        })
    }

    /// The name of an object that lies on the stack of a thread: whose, and how far from its bottom. The frames of a thread lie
    /// there alike whenever it has done the same.
    fn name_on_stack(&self, address: usize) -> u64 {
        self.holder_of_stack(address).map_or(0, |t| {
            let depth = self.threads[t.index()].frames_end - address;
            1 << 63 | (t.0 as u64) << 40 | depth as u64
        })
    }

    /// A new entry in the table.
    pub(crate) fn enter(&mut self, class: Class, word: u64, place: Option<Place>) -> ObjectId {
        debug_assert!(
            !self.deferred,
            "an object is numbered before those of threads whose start was deferred"
        );
        let id = ObjectId(self.objects.len() as u32);
        self.names.push(0);
        if let Some(labels) = &self.settings.labels {
            labels.enter(class, place);
        }
        self.objects.push(Object {
            word,
            place,
            waiters: 0,
            class,
            home: Home::Inline,
            counted: false,
            cell: 0,
            address: 0,
            toucher: 0,
        });
        id
    }

    /// Finds the entry of a handle without entering it.
    pub(crate) fn find(&self, handle: &Handle) -> Option<ObjectId> {
        self.known(handle).or_else(|| self.statics.find(handle.address()))
    }
}
