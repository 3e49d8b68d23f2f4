//! What the program finds out from addresses and handles as such: it compares two, or computes with one.
//!
//! Which address a block, a thread's variables or a handle get is left to the C library. Two things are not explored, or not always:
//! that a later one gets what an earlier one had, and that the order of two is another one. The program finds out by comparing
//! (`a == b`, `a < b`, `a - b`, `memcmp`), and by computing with both (a hash, a remainder, the bytes of a pointer), which is taken for a comparison
//! of each two with which it has computed. Pairs of one block, of one stack, and of variables with a fixed place are ordinary arithmetic.
//!
//! That the program computes with addresses of blocks is seen only while it can matter. So when it is first seen to do so, the search
//! starts again, and from then on looks from the beginning of each execution.

use crate::heap::heap;
use crate::shim::{self, Call};
use crate::{locals, reuse, start, threads, touch};
use explore::{CaveatKind, ThreadId};
use image::arena::State;

/// The kind of object that an address or a handle belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Thing {
    /// The block of the heap that starts here.
    Block(usize),
    Handle(ThreadId),
    Stack(ThreadId),
    /// A thread-local variable.
    Local(ThreadId),
    /// A variable with a fixed place.
    Variable,
}

/// Information about the current execution.
struct Known {
    /// What the program has computed with in this execution, with the value of each.
    computed: Vec<(Thing, usize)>,
    /// Whether it is looked at from the beginning of each execution. It is learned.
    from_start: bool,
}

/// It is allocated, so that processes share it where executions have their own.
static mut KNOWN: *mut Known = std::ptr::null_mut();

/// With more things than these no further one is compared.
const MOST: usize = 512;

/// Called before the first execution.
pub(crate) fn prepare() {
    let known = Known { computed: Vec::with_capacity(MOST), from_start: false };
    // SAFETY: nothing else runs yet.
    unsafe { KNOWN = Box::leak(Box::new(known)) };
}

fn known() -> &'static mut Known {
    // SAFETY: one OS thread alone runs code of the program, `prepare` was called, and no borrow is held over a step.
    unsafe { &mut *KNOWN }
}

/// An execution begins.
pub(crate) fn begin() {
    let known = known();
    known.computed.clear();
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { (*(&raw mut PARTS)).iter_mut().for_each(|p| p.at = 0) };
    touch::forget_ranges();
    touch::set_looks(known.from_start);
}

fn thing_of(address: usize) -> Option<Thing> {
    if heap().is_within(address) {
        return match heap().state_of(address) {
            State::Live(block) | State::Freed { block, .. } => Some(Thing::Block(block.start)),
            // The end of an array.
            State::Gap { before: Some((block, 1)), .. } => Some(Thing::Block(block.start)),
            _ => None,
        };
    }
    if runtime::may_be_on_stack(address)
        && let Some(t) = runtime::thread_of_stack(address)
    {
        return Some(Thing::Stack(t));
    }
    if start::is_variable(address) || start::is_constant(address) {
        return Some(Thing::Variable);
    }
    if let Some(t) = threads::made().find(|t| threads::handle(*t) as usize == address) {
        return Some(Thing::Handle(t));
    }
    threads::made().find(|t| locals::is_of(*t, address)).map(Thing::Local)
}

/// The program compares two values that differ for equality. `top`: its frames begin there.
pub(crate) fn compared(a: usize, b: usize, top: usize, call: Call) {
    if crate::rust_tests::is_rust() {
        reuse::compared(a, b, call);
        threads::compared(a, b, call.place);
    } else if touch::may_be_address(a) && touch::may_be_address(b) {
        refuse_alternate_stack(a, b, call);
        let (x, y) = (thing_of(a), thing_of(b));
        remember_range(a, b, x, y);
        if let (Some(x), Some(y)) = (x, y) {
            equality((x, a), (y, b), top, call);
        }
    }
}

fn equality((x, a): (Thing, usize), (y, b): (Thing, usize), top: usize, call: Call) {
    let text = match (x, y) {
        (Thing::Block(_), Thing::Block(_)) => return reuse::compared(a, b, call),
        (Thing::Handle(_), Thing::Handle(_)) => return threads::compared(a, b, call.place),
        (Thing::Stack(t), Thing::Stack(u)) if t != u && threads::are_apart(t, u) => {
            "the address of a variable on the stack of a thread that is gone is compared with one of a later thread; that the two are equal, as the \
             C library gives out stacks again, was not explored"
        }
        (Thing::Local(t), Thing::Local(u)) if t != u && threads::are_apart(t, u) => {
            "the address of a thread-local variable of a thread that is gone is compared with one of a later thread; that the two are equal, as the \
             C library gives out their memory again, was not explored"
        }
        (Thing::Stack(t), Thing::Stack(u)) if t == u && t == runtime::current() => {
            if !runtime::on_own_stack(top) || a.min(b) >= top {
                return;
            }
            "the address of a variable of a function that has returned is compared with that of another one; whether the two are equal depends on \
             the compiler, and other answers were not explored"
        }
        _ => return,
    };
    runtime::caveat_at(CaveatKind::Reuse, text, call.place);
}

/// Handlers run on the stack of their thread. One that looks whether it runs on the alternate stack gets no answer.
fn refuse_alternate_stack(a: usize, b: usize, call: Call) {
    if crate::signals::sees_its_stack(a, b) {
        crate::sync::not_modelled(
            "a handler that compares addresses with those of its alternate stack",
            call,
        );
    }
}

/// The program asks which of two values that differ is larger, or for their difference.
pub(crate) fn ordered(a: usize, b: usize, top: usize, call: Call) {
    if crate::rust_tests::is_rust() {
        return;
    }
    refuse_alternate_stack(a, b, call);
    let (x, y) = (thing_of(a), thing_of(b));
    remember_range(a, b, x, y);
    let (Some(x), Some(y)) = (x, y) else { return };
    equality((x, a), (y, b), top, call);
    let text = match (x, y) {
        (Thing::Block(p), Thing::Block(q)) if p != q && !reuse::is_moved(p, q) => {
            "the program asks for the order or the difference of the addresses of two blocks of the heap; that malloc gives them out in another order \
             was not explored"
        }
        (Thing::Handle(t), Thing::Handle(u)) if t != u => {
            "the program asks for the order of the handles of two threads; that they are in another order was not explored"
        }
        (Thing::Stack(t), Thing::Stack(u)) | (Thing::Local(t), Thing::Local(u)) if t != u => {
            "the program asks for the order or the difference of the addresses of variables of two threads; that their stacks or thread-local memory \
             are in another order was not explored"
        }
        _ => return,
    };
    runtime::caveat_at(CaveatKind::Reuse, text, call.place);
}

/// Loops over arrays ask for the order of addresses in each turn: what was found of two is kept for all between the same ends.
fn remember_range(a: usize, b: usize, x: Option<Thing>, y: Option<Thing>) {
    /// So far apart two addresses of which nothing is known may be.
    const NEAR: usize = 1 << 20;
    if crate::signals::is_on_alternate_stack() {
        return;
    }
    match (x, y) {
        (Some(Thing::Block(p)), Some(Thing::Block(q))) if p == q => {
            if let State::Live(block) = heap().state_of(p) {
                touch::set_near(block.start, block.end());
            }
        }
        (Some(Thing::Stack(t)), Some(Thing::Stack(u))) if t == u && t == runtime::current() => {
            if let Some((low, high)) = runtime::stack_of(t) {
                touch::set_stack(low, high);
            }
        }
        (Some(Thing::Local(t)), Some(Thing::Local(u))) if t == u => touch::set_near(a.min(b), a.max(b)),
        (Some(Thing::Variable), _) => {
            if let Some((low, high)) = start::variables_around(a) {
                touch::set_variables(low, high);
            }
        }
        (None, None) if a.abs_diff(b) < NEAR && !heap().is_within(a) => touch::set_near(a.min(b), a.max(b)),
        _ => {}
    }
}

/// The program computes with two values: a hash, a product, a mask.
pub(crate) fn numbers(a: usize, b: usize, call: Call) {
    if !crate::rust_tests::is_rust() {
        number(a, a & b, call);
        number(b, a & b, call);
    }
}

/// A word of which the program has read parts.
#[derive(Clone, Copy)]
struct Parts {
    at: usize,
    word: usize,
    /// One bit for each byte that was read.
    read: u8,
}

/// By place: the words that were read in parts last.
static mut PARTS: [Parts; 8] = [Parts { at: 0, word: 0, read: 0 }; 8];

/// The bytes in which addresses differ.
const ADDRESS: u8 = 0x3f;

/// The program reads a part of a word through a pointer. If it has read the other parts too, and the word is an address, it computes with the
/// address: a hash of bytes. One part alone may be a variable beside the remains of an address.
#[inline]
pub(crate) fn read_part(address: usize, bytes: usize) {
    let at = address & !7;
    // SAFETY: the program is about to read a part of this word, so it can be read.
    let word = unsafe { (at as *const usize).read() };
    if touch::may_be_address(word) && (address & 7) + bytes <= 8 {
        // SAFETY: one OS thread alone runs code of the program.
        let parts = unsafe { &mut (*(&raw mut PARTS))[at >> 3 & 7] };
        if parts.at != at || parts.word != word {
            *parts = Parts { at, word, read: 0 };
        }
        parts.read |= (((1_u32 << bytes) - 1) << (address & 7)) as u8;
        if parts.read & ADDRESS == ADDRESS && runtime::in_execution() {
            parts.at = 0;
            numbers(word, 0, shim::call());
        }
    }
}

/// The program computes with an address or a handle. `result`: what may come of it.
fn number(value: usize, result: usize, call: Call) {
    if !touch::may_be_address(value) {
        return;
    }
    let Some(thing) = thing_of(value).filter(|t| *t != Thing::Variable) else { return };
    // The address of a part of the same block.
    if matches!(thing, Thing::Block(_)) && thing_of(result) == Some(thing) {
        return;
    }
    let known = known();
    if !known.from_start {
        known.from_start = true;
        runtime::restart_soon();
    }
    if known.computed.len() >= MOST || known.computed.iter().any(|(t, _)| *t == thing) {
        return;
    }
    known.computed.push((thing, value));
    for i in 0..known.computed.len() - 1 {
        equality(known.computed[i], (thing, value), shim::stack_pointer(), call);
    }
}

/// A library function compares the bytes of two arrays.
pub(crate) fn arrays_compared(a: usize, b: usize, bytes: usize, call: Call) {
    if !touch::looks() || (a ^ b) & 7 != 0 {
        return;
    }
    for (x, y) in words(a, bytes).zip(words(b, bytes)) {
        if x != y && touch::may_be_address(x) && touch::may_be_address(y) {
            compared(x, y, shim::stack_pointer(), call);
        }
    }
}

/// A library function computes a hash of an array.
pub(crate) fn hashed(at: usize, bytes: usize, call: Call) {
    if touch::looks() {
        words(at, bytes).for_each(|word| numbers(word, 0, call));
    }
}

/// The whole words of an array.
fn words(at: usize, bytes: usize) -> impl Iterator<Item = usize> {
    let skipped = at.wrapping_neg() & 7;
    let count = bytes.saturating_sub(skipped) / 8;
    // SAFETY: the program hands in so many bytes, which the function is about to read; the words are aligned.
    (0..count).map(move |i| unsafe { ((at + skipped) as *const usize).add(i).read() })
}
