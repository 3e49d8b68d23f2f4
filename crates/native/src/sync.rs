//! What all things that programs synchronise with have in common: steps on them, and a life that begins and ends.
//!
//! # Lives
//!
//! `pthread_*_destroy` is no step: whoever still uses the thing has to be ordered with it anyway, and if that is not so, it is
//! found in whatever order the two come, as a data race is: to destroy is a write of its life, to use it is a read. That is
//! looked at for things that the program is known to destroy; when that is learned, the search starts again.
//!
//! To initialize an object is a write of its life as well. It is looked at only where another thread can be concurrent with it, so the
//! ordinary program, which initializes before it starts threads, pays nothing. An initializer that is assigned, or any other plain
//! write to the first bytes of an object, counts as an initialization ([`overwritten`]).
//!
//! # Copies
//!
//! The result of using a copy of a lock is undefined. So an object keeps its own address from its initialization, or its first use, on, in
//! bytes of its memory that the C library does not use ([`On::stamp`]). A copy has the address of the original. A copy of an
//! initializer that was never used is an initialization.
//!
//! # Objects that are in use when their memory goes
//!
//! To free a block in which a lock is held, or on which a thread waits, is misuse: C++ has no call for the end of a `std::mutex`. For
//! objects on stacks this is looked at when the thread has no frames any more.
//!
//! # Waits
//!
//! A thread that was woken from a condition variable or a barrier still uses it until its call returns. The C library's `destroy` waits
//! for such threads, and its `init` does not. So the threads inside of a wait are listed, and the return from a wait is a
//! use that an initialization must be ordered with, unless the object was destroyed in between.

use crate::front::Program;
use crate::options::{Races, options};
use crate::shim::Call;
use crate::table::{self, Entry};
use explore::{CaveatKind, FailureKind, MemoryOrder, OpKind, ThreadId};
use runtime::{Class, Done, Front, LocalState, Place, Request, Touching};

/// Called before the first execution.
pub(crate) fn prepare() {
    crate::semaphore::prepare();
    crate::locals::prepare();
    crate::pipes::prepare();
    crate::file_locks::prepare();
    crate::signals::prepare();
    crate::verifier::prepare();
}

/// An execution begins.
pub(crate) fn begin() {
    // SAFETY: no thread of the program runs.
    if unsafe { LIBRARIES.2 } == 0 {
        find_libraries();
    }
    crate::locals::begin();
    crate::pipes::begin();
    crate::signals::begin();
    crate::rwlock::begin();
    crate::semaphore::begin();
    crate::shared_pointers::begin();
    crate::exception_pointers::begin();
    crate::verifier::begin();
    inside().clear();
    on_stacks().clear();
}

/// The objects on stacks that this execution has used.
static mut ON_STACKS: Vec<On> = Vec::new();

fn on_stacks() -> &'static mut Vec<On> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut ON_STACKS) }
}

/// The running thread has returned from its function, or was unwound: its frames are gone, and with them the objects that lie there.
#[inline]
pub(crate) fn frames_are_gone(place: impl FnOnce() -> Place) {
    if !on_stacks().is_empty() {
        objects_are_gone(place());
    }
}

#[cold]
fn objects_are_gone(place: Place) {
    for on in on_stacks().iter().filter(|on| runtime::on_own_stack(on.address)) {
        if let Some(state) = runtime::is_in_use(&on.entry().handle) {
            let call = Call { place, state: LocalState::UNKNOWN };
            on.misuse(
                &format!("{state}, and the function that it is a local variable of has returned"),
                call,
            );
        }
    }
}

/// A thread inside of a wait on a condition variable or a barrier.
pub(crate) struct Inside {
    address: usize,
    pub(crate) thread: ThreadId,
    /// The mutex that it waits with, or 0.
    pub(crate) mutex: usize,
}

static mut INSIDE: Vec<Inside> = Vec::new();

fn inside() -> &'static mut Vec<Inside> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut INSIDE) }
}

/// Whether a thing is the program's, and it is used by a thread of the program. What lies in the data of a library (the
/// unwinder has locks, too) is not put back between executions, and what libraries do runs at once between two steps: that
/// is left to the C library.
#[inline]
pub(crate) fn is_modelled(address: usize) -> bool {
    runtime::in_execution() && !in_library(address)
}

/// The writable data of all libraries that are no part of the program, but this one, and where the first begins and the last ends.
static mut LIBRARIES: (Vec<(usize, usize)>, usize, usize) = (Vec::new(), 0, 0);

#[inline]
fn in_library(address: usize) -> bool {
    // SAFETY: one OS thread alone runs code of the program; the list is made before its first step.
    let (all, start, end) = unsafe { &*(&raw const LIBRARIES) };
    address >= *start && address < *end && all.iter().any(|(a, b)| (*a..*b).contains(&address))
}

fn find_libraries() {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut std::ffi::c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`; `data` is our list.
        unsafe {
            let found = &mut *data.cast::<Vec<(usize, usize)>>();
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
            let at = |h: &libc::Elf64_Phdr| ((*info).dlpi_addr + h.p_vaddr) as usize;
            let segments =
                headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0);
            let segments: Vec<_> = segments.map(|h| (at(h), at(h) + h.p_memsz as usize)).collect();
            found.extend(segments);
        }
        0
    }
    let mut found: Vec<(usize, usize)> = Vec::new();
    // SAFETY: the callback keeps its contract; nothing else runs.
    unsafe {
        libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast());
        let objects = image::segments::user_objects();
        let mut modelled: Vec<usize> =
            objects.iter().flat_map(|o| o.writable.iter().map(|r| r.start)).collect();
        modelled.push(&raw const LIBRARIES as usize);
        found.retain(|(a, b)| !modelled.iter().any(|m| (*a..*b).contains(m)));
        let start = found.iter().map(|s| s.0).min().unwrap_or(0);
        let end = found.iter().map(|s| s.1).max().unwrap_or(0);
        LIBRARIES = (found, start, end);
    }
}

/// How far from its address the life of a thing is entered.
pub(crate) const LIFE: usize = 1;
/// How far from its address a second object of a thing is entered.
pub(crate) const SECOND: usize = 2;
/// How far from its address the returns from waits on an object are entered.
const RETURNS: usize = 4;

/// What a step is on: the thing at an address.
#[derive(Clone, Copy)]
pub(crate) struct On {
    pub(crate) address: usize,
    pub(crate) class: Class,
    /// Its word, if this execution has not met it.
    pub(crate) initial: u64,
}

impl On {
    pub(crate) fn new(address: usize, class: Class) -> On {
        On { address, class, initial: 0 }
    }

    pub(crate) fn entry(&self) -> &'static mut Entry {
        table::sync(self.address)
    }

    /// A step.
    pub(crate) fn step(&self, kind: OpKind, call: Call) -> Done {
        self.step_with(kind, 0, 0, MemoryOrder::None, call)
    }

    pub(crate) fn step_with(&self, kind: OpKind, a: u64, b: u64, order: MemoryOrder, call: Call) -> Done {
        let On { class, initial, .. } = *self;
        let object = &self.entry().handle;
        runtime::step_in(
            &Request { kind, object, class, initial, a, b, order, place: call.place },
            call.state,
        )
    }

    /// Its word now; for what the running thread knows already.
    pub(crate) fn word(&self) -> u64 {
        runtime::peek(&self.entry().handle).unwrap_or(self.initial)
    }

    /// Whether this execution has met it.
    pub(crate) fn is_met(&self) -> bool {
        runtime::peek(&self.entry().handle).is_some()
    }

    /// It begins anew.
    pub(crate) fn put(&self, word: u64, call: Call) {
        runtime::settle();
        runtime::put_word(&self.entry().handle, self.class, word, call.place);
    }

    /// What to call it.
    pub(crate) fn name(&self) -> String {
        let kind = match self.class {
            Class::Mutex => "mutex",
            Class::RwLock => "reader-writer lock",
            Class::Condvar => "condition variable",
            Class::Barrier => "barrier",
            Class::Semaphore => "semaphore",
            Class::Once => "once control",
            Class::Channel => "descriptor",
            _ => "object",
        };
        let name = Program.object(Program.name_of(&self.entry().handle), self.class);
        match name {
            Some(name) if name.starts_with(kind) => name,
            Some(name) => format!("{kind} {name}"),
            None => format!("{kind} at {:#x}", self.address),
        }
    }

    /// A rule is broken.
    pub(crate) fn misuse(&self, what: &str, call: Call) -> ! {
        runtime::settle();
        runtime::fail(FailureKind::LockMisuse, format!("{}: {what}", self.name()), call.place)
    }

    /// It is used.
    pub(crate) fn used(&self, call: Call) {
        crate::heap::check(self.address, 1, false, call);
        self.is_initialized(call);
        if runtime::may_be_on_stack(self.address) && !on_stacks().iter().any(|o| o.address == self.address) {
            on_stacks().push(*self);
        }
        let entry = self.entry();
        if !entry.atomic {
            self.first_used(entry);
        }
        if entry.plain {
            self.live(false, "it is made or destroyed", FailureKind::LockMisuse, call);
        }
    }

    /// It is used for the first time in all executions. Writes to its memory that came before were not looked at as such.
    #[cold]
    fn first_used(&self, entry: &mut Entry) {
        if runtime::may_be_on_stack(self.address)
            && options().races == Races::Report
            && table::learn_sync_on_stack()
        {
            return;
        }
        entry.atomic = true;
        let mut written = false;
        table::known(self.address & !3, 4, |_| written = true);
        if written && !entry.plain && options().races == Races::Report {
            entry.plain = true;
            runtime::restart_soon();
        }
    }

    /// Reports the use of what lies on the heap in memory that was never written: the functions that initialize write there.
    fn is_initialized(&self, call: Call) {
        // SAFETY: the program uses an object here, which has at least these bytes.
        let bytes = unsafe { at::<u32>(self.address, 0) };
        if bytes == u32::from_ne_bytes([image::arena::FRESH; 4]) && crate::heap::is_block(self.address) {
            self.misuse("it was never initialized", call);
        }
    }

    /// It is initialized, or used for the first time: it keeps its address at `memory`, one of its own bytes.
    pub(crate) fn stamp(&self, memory: usize) {
        // SAFETY: the caller hands in eight bytes of the object that the C library does not use.
        unsafe { put(memory, 0, stamp_of(memory)) };
    }

    /// It is used, and keeps its address at `memory`. Reports a copy of an object that was initialized or used elsewhere.
    #[inline]
    pub(crate) fn is_original(&self, memory: usize, call: Call) {
        // SAFETY: as above.
        let found = unsafe { at::<u64>(memory, 0) };
        if found != stamp_of(memory) {
            if is_stamp(found) {
                self.copied(memory, call);
            }
            self.stamp(memory);
        }
    }

    /// It has the address of another object. Shared memory can have had another address before.
    #[cold]
    pub(crate) fn copied(&self, memory: usize, call: Call) {
        if !crate::heap::is_elsewhere(memory) || runtime::may_be_on_stack(memory) {
            self.misuse("it is a copy of one that was initialized or used at another address", call);
        }
    }

    /// It is initialized. Where no other thread can be concurrent with that, nobody can use it at the same time.
    pub(crate) fn made(&self, call: Call) {
        let what = "it is initialized";
        if !self.entry().plain && runtime::is_alone() {
            return;
        }
        self.ended(what, FailureKind::LockMisuse, call);
        if matches!(self.class, Class::Condvar | Class::Barrier) {
            self.touch_at(RETURNS, true, what, FailureKind::LockMisuse, call);
        }
        if self.waiting().next().is_some() {
            self.misuse("it is initialized while a thread is in a wait on it", call);
        }
    }

    /// It is initialized, by a call or by an assignment, while a thread holds it. What lies on a stack may be another object by now.
    pub(crate) fn made_while_held(&self, what: &str, call: Call) {
        if !crate::heap::is_elsewhere(self.address) {
            self.misuse(what, call);
        }
        let text = "a lock on the stack is initialized where one is held; whether the two are one lock, which would be undefined, is not known";
        runtime::caveat_at(CaveatKind::Reuse, text, call.place);
        self.put(0, call);
    }

    /// It is destroyed.
    pub(crate) fn destroyed(&self, call: Call) {
        crate::heap::check(self.address, 1, false, call);
        self.ended("it is destroyed", FailureKind::LockMisuse, call);
        // The C library waits here for the threads that were woken and have not returned.
        inside().retain(|i| i.address != self.address);
        runtime::forget_accesses(&table::sync(self.address + RETURNS).handle);
    }

    /// The threads that are inside of a wait on it.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &'static Inside> + use<> {
        let address = self.address;
        inside().iter().filter(move |i| i.address == address)
    }

    /// The running thread begins to wait on it, with a mutex, if it has one.
    pub(crate) fn enters_wait(&self, mutex: usize) {
        inside().push(Inside { address: self.address, thread: runtime::current(), mutex });
    }

    /// The running thread returns from a wait on it.
    pub(crate) fn leaves_wait(&self, call: Call) {
        let thread = runtime::current();
        let Some(i) = inside().iter().position(|i| i.address == self.address && i.thread == thread) else {
            return;
        };
        inside().swap_remove(i);
        if self.entry().plain {
            self.touch_at(RETURNS, false, "it is initialized", FailureKind::LockMisuse, call);
        }
    }

    /// It ends: nobody may use it beside that.
    pub(crate) fn ended(&self, what: &str, kind: FailureKind, call: Call) {
        if options().races == Races::Ignore {
            return;
        }
        let entry = self.entry();
        if !entry.plain {
            entry.plain = true;
            if entry.atomic {
                runtime::restart_soon();
            }
        }
        self.live(true, what, kind, call);
    }

    fn live(&self, write: bool, what: &str, kind: FailureKind, call: Call) {
        self.touch_at(LIFE, write, what, kind, call);
    }

    fn touch_at(&self, offset: usize, write: bool, what: &str, kind: FailureKind, call: Call) {
        runtime::settle();
        let life = table::sync(self.address + offset);
        let how = Touching { write, atomic: false, elsewhere: false };
        if let Some(race) = runtime::touch(&life.handle, how, call.place) {
            let both = race.split_once(": ").map_or(race.as_str(), |r| r.1);
            let message = format!(
                "{}: {what} (a write, below) while another thread may use it (a read): {both}",
                self.name()
            );
            runtime::fail(kind, message, call.place);
        }
    }
}

/// A block of the heap is freed: that is the end of whatever lies in it.
pub(crate) fn freed(start: usize, size: usize, call: Call) {
    table::known_sync(start, size, |entry| {
        if !entry.atomic {
            return;
        }
        if let Some(state) = runtime::is_in_use(&entry.handle) {
            let on = On::new(entry.address, runtime::class_of(&entry.handle).unwrap_or(Class::Variable));
            on.misuse(&format!("the memory it lies in is freed while {state}"), call);
        }
        if !entry.plain {
            entry.plain = true;
            runtime::restart_soon();
        }
        if let Some(class @ (Class::Condvar | Class::Barrier)) = runtime::class_of(&entry.handle) {
            let on = On::new(entry.address, class);
            let what = "the memory it lies in is freed";
            if on.waiting().next().is_some() {
                on.misuse(&format!("{what} while a thread is in a wait on it"), call);
            }
            if runtime::peek(&table::sync(entry.address + RETURNS).handle).is_some() {
                on.touch_at(RETURNS, true, what, FailureKind::LockMisuse, call);
            }
        }
        // As in `access::free_part`: what this execution has not met stays so.
        if runtime::peek(&table::sync(entry.address + LIFE).handle).is_some() {
            let on = On::new(entry.address, Class::Variable);
            on.live(true, "the memory it lies in is freed", FailureKind::UseAfterFree, call);
        }
    });
}

/// The program writes these bytes, within one granule, by an access that is not atomic. An object that lies there is initialized by that,
/// or broken. See [`Entry::has_sync`].
#[cold]
pub(crate) fn overwritten(address: usize, bytes: usize, call: Call) {
    let address = crate::libc::aliases::canonical(address);
    table::known_sync(address & !7, 8, |entry| {
        // The objects have at least four bytes, and are aligned to as many.
        let start = entry.address & !3;
        if !entry.atomic || address + bytes <= start || start + 4 <= address {
            return;
        }
        if !entry.plain {
            entry.plain = true;
            runtime::restart_soon();
        }
        let on = On::new(entry.address, Class::Variable);
        on.live(true, "its memory is written", FailureKind::LockMisuse, call);
    });
}

const STAMP: u64 = 0x5AD1 << 48;

/// What an object has in its memory that keeps its address there.
#[inline]
fn stamp_of(memory: usize) -> u64 {
    STAMP | crate::libc::aliases::canonical(memory) as u64
}

/// Whether a word is the stamp of an object, of whatever address.
#[inline]
pub(crate) fn is_stamp(word: u64) -> bool {
    word >> 48 == STAMP >> 48
}

/// What the program asks for is not modelled: nothing may be said about it.
pub(crate) fn not_modelled(what: &str, call: Call) -> ! {
    runtime::settle();
    let message = format!("{what} is not modelled, so this program cannot be checked");
    runtime::fail(FailureKind::Limit, message, call.place)
}

/// A number at an address of the program.
///
/// # Safety
///
/// A `T` can be read there.
pub(crate) unsafe fn at<T: Copy>(address: usize, offset: usize) -> T {
    // SAFETY: by the contract.
    unsafe { ((address + offset) as *const T).read_unaligned() }
}

/// Puts a number there.
///
/// # Safety
///
/// A `T` can be written there.
pub(crate) unsafe fn put<T: Copy>(address: usize, offset: usize, value: T) {
    // SAFETY: by the contract.
    unsafe { ((address + offset) as *mut T).write_unaligned(value) }
}

/// Sets `errno` and gives -1, unless there is no error.
pub(crate) fn with_errno(error: libc::c_int) -> libc::c_int {
    if error == 0 {
        return 0;
    }
    // SAFETY: `errno` can always be written.
    unsafe { *libc::__errno_location() = error };
    -1
}
