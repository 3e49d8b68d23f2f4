//! What the runtime asks of the program.

use crate::names::Author;
use crate::table::Entry;
use crate::{
    arguments, crash, files, heap, isolate, kept, leaving, names, own_heap, process, random, rust_tests,
    shim, start, sync, threads,
};
use explore::ThreadId;
use runtime::{Class, Crashed, Front, Handle, Part};
use std::time::{Duration, Instant};

/// Marks the names of what the program synchronises with.
const SYNC: u64 = 1 << 63;

pub(crate) struct Program;

/// Whether calls may come from headers of the standard library: the program is one of C++ or Rust.
static mut HEADERS: bool = false;

/// Finds out what the program is.
pub(crate) fn prepare() {
    // SAFETY: nothing else runs yet; the name is a C string.
    unsafe {
        let cpp = !libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_throw".as_ptr()).is_null();
        HEADERS = cpp || rust_tests::is_rust();
    }
    names::find_guards();
    if rust_tests::is_rust() {
        crate::quiet::prepare();
        crate::std_atomics::prepare();
        crate::std_locks::prepare();
    }
}

/// The place in the program's own code that a call comes from.
#[inline]
pub(crate) fn user_site(site: usize, frame: usize) -> usize {
    // SAFETY: set before the first execution.
    if unsafe { HEADERS } { names::user_site(site, frame) } else { site }
}

/// The author of the atomic operation that has just come in: the program or a library.
#[inline]
pub(crate) fn author() -> Author {
    // SAFETY: set before the first execution.
    match (unsafe { HEADERS }, shim::caller()) {
        (true, Some((site, frame))) => names::author(site, frame),
        _ => Author::Program,
    }
}

impl Front for Program {
    fn place(&self, address: usize) -> String {
        crate::libc::keeping_errno(|| names::place(address))
    }

    fn part(&self, thread: ThreadId, name: u64) -> Option<Part> {
        let of = || names::part_of(thread, name as usize);
        if name == 0 || name & SYNC != 0 { None } else { crate::libc::keeping_errno(of) }
    }

    fn speaks_c(&self) -> bool {
        !rust_tests::is_rust()
    }

    fn callers(&self, thread: ThreadId) -> Vec<String> {
        crate::libc::keeping_errno(|| names::callers(thread))
    }

    fn name_of(&self, handle: &Handle) -> u64 {
        // SAFETY: handles of this process lie in entries, as their first field.
        let entry = unsafe { &*(std::ptr::from_ref(handle).cast::<Entry>()) };
        entry.address as u64 | if entry.is_sync { SYNC } else { 0 }
    }

    fn object(&self, name: u64, class: Class) -> Option<String> {
        if name == 0 {
            return None;
        }
        let address = (name & !SYNC) as usize;
        if class == Class::Heap {
            return crate::reuse::name_of(address);
        }
        if let Some(name) = crate::semaphore::name_of(address) {
            return Some(name);
        }
        if let Some(name) = process::name_of(address)
            .or_else(|| crate::shared_pointers::name_of(address))
            .or_else(|| crate::locals::name_of(address))
            .or_else(|| crate::pipes::name_of(address))
            .or_else(|| crate::file_locks::name_of(address))
            .or_else(|| crate::signals::name_of(address))
            .or_else(|| threads::name_of(address))
            .or_else(|| crate::std_threads::name_of(address))
        {
            return Some(name);
        }
        if let Some(name) = crate::libc::objects::name_of(address) {
            return Some(name);
        }
        // Some objects have a second one, a few bytes into the same variable.
        let is_second = name & SYNC != 0 && address & 3 == crate::sync::SECOND;
        let first = if is_second { address - crate::sync::SECOND } else { address };
        // It may read files with debug information.
        Some(crate::libc::keeping_errno(|| names::describe(first)))
    }

    fn value(&self, name: u64, word: u64) -> Option<String> {
        let of = || names::value(name as usize, word);
        if name == 0 || name & SYNC != 0 { None } else { crate::libc::keeping_errno(of) }
    }

    fn word_now(&self, name: u64) -> Option<u64> {
        if name == 0 || name & SYNC != 0 { None } else { names::word_at(name as usize) }
    }

    fn begin(&self) {
        start::restore();
        arguments::begin();
        threads::begin();
        sync::begin();
        names::begin();
        crate::reuse::begin();
        crate::looks::begin();
        crate::frames::begin();
        process::begin();
        crate::libc::restored::begin();
        files::begin();
        kept::begin();
        leaving::begin();
        random::begin();
        rust_tests::begin();
        crate::std_threads::begin();
        crate::touch::set_stack_is_shared(crate::table::has_foreign());
        crate::access::watch();
        shim::begin();
    }

    fn leak(&self) -> Option<(String, usize)> {
        heap::leak()
    }

    fn end(&self) {
        shim::end();
        if self.is_isolated() {
            // The tables of the heap are shared, what is noted of them is not.
            heap::heap().reset();
        }
    }

    fn is_isolated(&self) -> bool {
        own_heap::is_shared()
    }

    fn isolate(&self, f: &mut dyn FnMut()) -> Result<(), Crashed> {
        isolate::run(f)
    }

    fn watch(&self, limit: Option<Duration>, stop_at: Option<Instant>) {
        crash::watch(limit, stop_at);
    }

    fn unwatch(&self) {
        crash::unwatch();
    }

    fn switch(&self, to: Option<ThreadId>) {
        shim::keep_call(to);
        crate::libc::restored::switch(to);
        start::switch(to);
    }

    fn interrupt(&self, place: runtime::Place) {
        crate::signals::before_step(place);
    }

    fn has_handlers(&self) -> bool {
        crate::signals::has_handlers()
    }

    fn stuck(&self) -> bool {
        crate::signals::stuck()
    }

    fn can_come(&self, thread: ThreadId) -> bool {
        crate::signals::can_come(thread)
    }

    fn has_signal(&self, thread: ThreadId) -> bool {
        crate::signals::has_signal(thread)
    }

    fn forget(&self) {
        crate::table::prepare();
    }

    fn failed(&self, what: &str) {
        crate::debugger::failed(what);
    }
}
