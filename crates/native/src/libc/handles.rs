//! Objects that a library function opens and another one closes: locales, conversion descriptors, and the results of `glob`.
//!
//! The program gets a block of its own heap for each, so that a use after the end is one of freed memory, uses by two threads are
//! checked for races, and the same address does not come back by chance. A locale is copied there, because macros of the C library
//! read it. A conversion descriptor is only a name: the block stands for it.

use super::accesses::{Access, after, at, before, length, r, w};
use super::{Row, incoming};
use crate::heap;
use crate::own_heap::__libc_free;
use crate::real::real;
use crate::shim::{Call, undisturbed};
use image::arena::State;

/// The bytes of a locale: 13 categories, three tables, 13 names.
const LOCALE: usize = 29 * 8;
/// `LC_GLOBAL_LOCALE`.
const GLOBAL_LOCALE: usize = usize::MAX;
/// The bytes of the block that stands for a conversion descriptor.
const CONVERSION: usize = 16;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Locale,
    Conversion,
}

/// An object that is open.
struct Opened {
    kind: Kind,
    /// The block that the program has.
    block: usize,
    /// The C library's own.
    real: usize,
    /// The program has changed its copy: the names in the C library's may be gone.
    changed: bool,
}

static mut OPENED: Vec<Opened> = Vec::new();

fn opened() -> &'static mut Vec<Opened> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { &mut *(&raw mut OPENED) }
}

/// The C library's object that a block stands for.
fn real_of(kind: Kind, block: usize) -> Option<usize> {
    opened().iter().find(|o| o.kind == kind && o.block == block).map(|o| o.real)
}

/// A thread has a locale of its own.
static mut HAS_LOCALE: bool = false;

/// A thread chooses a locale of its own, or asks which one it has.
pub(super) fn own_locale(locale: usize) -> Access {
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { HAS_LOCALE |= locale != 0 };
    Access::Nothing
}

/// An execution begins: what the last one has left open is closed.
pub(super) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe {
        if opened().is_empty() && !HAS_LOCALE {
            return;
        }
        HAS_LOCALE = false;
        libc::uselocale(GLOBAL_LOCALE as libc::locale_t);
    }
    for o in opened().drain(..).filter(|o| !o.changed) {
        match o.kind {
            // SAFETY: the locale is the C library's own, and nobody uses it any more.
            Kind::Locale => unsafe { libc::freelocale(o.real as libc::locale_t) },
            Kind::Conversion => {
                real!(iconv_close(o.real): fn(usize) -> i32);
            }
        }
    }
}

/// Gives the program a block for an object of the C library. The first bytes of the object are copied there.
fn open(kind: Kind, real: usize, bytes: usize) -> Access {
    let block = heap::allocate(bytes) as usize;
    if block == 0 {
        return Access::Nothing;
    }
    if kind == Kind::Locale {
        // SAFETY: a locale and the block have so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(real as *const u8, block as *mut u8, bytes) };
    }
    after(w(block, bytes), Call::unknown());
    opened().push(Opened { kind, block, real, changed: false });
    Access::Result(block)
}

/// Takes an object off the list, and frees its block, which reports uses that nothing orders with it.
fn close(kind: Kind, block: usize) -> Option<usize> {
    let i = opened().iter().position(|o| o.kind == kind && o.block == block)?;
    heap::release(block as *mut _);
    Some(opened().swap_remove(i).real)
}

/// Reads a locale that a function is called with.
pub(super) fn locale(l: usize) -> Access {
    if l == 0 || l == GLOBAL_LOCALE { Access::Nothing } else { r(l, 8) }
}

/// `newlocale` changes the locale that it starts from.
pub(super) fn base(l: usize) -> Access {
    match opened().iter_mut().find(|o| o.kind == Kind::Locale && o.block == l) {
        Some(o) => {
            o.changed = true;
            w(l, LOCALE)
        }
        None => Access::Nothing,
    }
}

/// Whether a locale is the one named "C", which is never freed.
fn is_static(l: usize) -> bool {
    // SAFETY: asks for the locale with this name, which needs no memory.
    l == unsafe { libc::newlocale(libc::LC_ALL_MASK, c"C".as_ptr(), std::ptr::null_mut()) } as usize
}

/// `newlocale` or `duplocale` has given a locale.
pub(super) fn new_locale(l: usize) -> Access {
    if l == 0 || real_of(Kind::Locale, l).is_some() || is_static(l) {
        return Access::Nothing;
    }
    open(Kind::Locale, l, LOCALE)
}

extern "C" fn free_locale(l: usize) {
    let call = incoming(false);
    if call.is_some()
        && let Some(real) = real_of(Kind::Locale, l)
    {
        // SAFETY: both are locales. `newlocale` may have changed the program's copy.
        unsafe { std::ptr::copy_nonoverlapping(l as *const u8, real as *mut u8, LOCALE) };
        close(Kind::Locale, l);
        undisturbed(|| real!(freelocale(real): fn(usize) -> ()));
        return;
    }
    if heap::heap().state_of(l) != State::NotHeap {
        // It was freed before: this is reported.
        return heap::release(l as *mut _);
    }
    undisturbed(|| real!(freelocale(l): fn(usize) -> ()));
}

/// `iconv_open` has given a descriptor.
pub(super) fn new_conversion(cd: usize) -> Access {
    if cd == usize::MAX { Access::Nothing } else { open(Kind::Conversion, cd, CONVERSION) }
}

/// The C library's descriptor for one of the program. The use changes its state, which no lock protects.
pub(super) fn conversion(cd: usize, call: Option<Call>) -> usize {
    if let Some(call) = call {
        super::keeping_errno(|| before(w(cd, 8), call));
    }
    real_of(Kind::Conversion, cd).unwrap_or(cd)
}

extern "C" fn close_conversion(cd: usize) -> i32 {
    let call = incoming(false);
    let real = if call.is_some() && heap::heap().state_of(cd) != State::NotHeap {
        match close(Kind::Conversion, cd) {
            Some(real) => real,
            None => {
                // It was closed before: this is reported.
                heap::release(cd as *mut _);
                return 0;
            }
        }
    } else {
        cd
    };
    undisturbed(|| real!(iconv_close(real): fn(usize) -> i32))
}

// `glob_t` and `wordexp_t` begin alike.
const COUNT: usize = 0;
const LIST: usize = 8;
const OFFSET: usize = 16;

/// Whether a block is the C library's.
fn is_foreign(p: usize) -> bool {
    p != 0 && heap::heap().state_of(p) == State::NotHeap
}

fn copy(p: usize, n: usize) -> usize {
    let new = heap::allocate(n) as usize;
    if new != 0 {
        // SAFETY: both have so many bytes.
        unsafe { std::ptr::copy_nonoverlapping(p as *const u8, new as *mut u8, n) };
        after(w(new, n), Call::unknown());
        // SAFETY: the C library has allocated this block for the program.
        unsafe { __libc_free(p as *mut u8) };
    }
    new
}

/// How many empty places a list has in front of its words.
fn skipped(result: usize, has_offset: bool) -> usize {
    if has_offset { at(result + OFFSET) } else { 0 }
}

/// `glob` or `wordexp` has written its result: the list and its words are blocks, which `globfree` and `wordfree` free.
pub(super) fn words(result: usize, has_offset: bool) -> Access {
    let (n, list) = (at(result + COUNT), at(result + LIST));
    if !is_foreign(list) {
        return Access::Nothing;
    }
    let skipped = skipped(result, has_offset);
    let new = copy(list, (skipped + n + 1) * 8);
    if new != 0 {
        for i in skipped..skipped + n {
            let word = at(new + i * 8);
            if is_foreign(word) {
                // SAFETY: the copy has so many places.
                unsafe { ((new + i * 8) as *mut usize).write(copy(word, length(word))) };
            }
        }
        // SAFETY: the program hands in a place for the result.
        unsafe { ((result + LIST) as *mut usize).write(new) };
    }
    Access::Nothing
}

/// The C library is about to append to a result. Words that the program may point to cannot move, and the list is not the C library's.
pub(super) fn appended(result: usize, appends: bool) -> Access {
    if appends && at(result + LIST) != 0 && !is_foreign(at(result + LIST)) {
        crate::sync::not_modelled("`glob` with GLOB_APPEND or `wordexp` with WRDE_APPEND", Call::unknown());
    }
    Access::Nothing
}

/// Frees a result that [`words`] has copied. Says whether it was one.
fn free_words(result: usize, has_offset: bool, call: Option<Call>) -> bool {
    let list = at(result + LIST);
    let Some(call) = call.filter(|_| list != 0 && !is_foreign(list)) else { return false };
    let skipped = skipped(result, has_offset);
    before(w(result, 24), call);
    before(r(list, 8), call);
    for i in skipped..skipped + at(result + COUNT) {
        heap::release(at(list + i * 8) as *mut _);
    }
    heap::release(list as *mut _);
    // SAFETY: the program hands in its result.
    unsafe { ((result + LIST) as *mut usize).write(0) };
    true
}

/// `GLOB_DOOFFS` in the flags that `glob` keeps in its result.
const FLAGS: usize = 24;

pub(super) fn has_offset(result: usize) -> bool {
    // SAFETY: the program hands in a `glob_t`.
    unsafe { ((result + FLAGS) as *const i32).read() & libc::GLOB_DOOFFS != 0 }
}

extern "C" fn free_glob(result: usize) {
    let call = incoming(false);
    if !free_words(result, has_offset(result), call) {
        if let Some(call) = call {
            before(w(result, 72), call);
        }
        undisturbed(|| real!(globfree(result): fn(usize) -> ()));
    }
}

extern "C" fn free_words_of(result: usize) {
    let call = incoming(false);
    // Without `WRDE_DOOFFS` the C library sets the offset to 0.
    if !free_words(result, true, call) {
        if let Some(call) = call {
            before(w(result, 24), call);
        }
        undisturbed(|| real!(wordfree(result): fn(usize) -> ()));
    }
}

pub(super) static ROWS: &[Row] = &[
    Row { name: "freelocale", entry: super::entry!(free_locale) },
    Row { name: "iconv_close", entry: super::entry!(close_conversion) },
    Row { name: "globfree", entry: super::entry!(free_glob) },
    Row { name: "wordfree", entry: super::entry!(free_words_of) },
];
