//! What all types share: announcing a step on an object.
//!
//! What only looks is inlined always, also in debug builds: the runtime tells a spin loop by the state of the frame that
//! calls it, which should be the user's.

use explore::{MemoryOrder, OpKind};
use runtime::{Class, Done, Handle, Place, Request};
use std::ops::{Deref, DerefMut};

/// The identity of an object whose end matters: operations of other threads must be ordered before it.
pub(crate) struct Live(Handle);

impl Live {
    #[inline]
    pub(crate) const fn new() -> Live {
        Live(Handle::new())
    }
}

impl Deref for Live {
    type Target = Handle;

    #[inline(always)]
    fn deref(&self) -> &Handle {
        &self.0
    }
}

impl DerefMut for Live {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Handle {
        &mut self.0
    }
}

impl Drop for Live {
    #[inline]
    fn drop(&mut self) {
        runtime::object_ends(&mut self.0);
    }
}

/// The identity of an object that ends when nobody counts on it any more: all its users have said so by steps.
pub(crate) struct Counted(Handle);

impl Counted {
    #[inline]
    pub(crate) const fn new() -> Counted {
        Counted(Handle::new())
    }
}

impl Deref for Counted {
    type Target = Handle;

    #[inline(always)]
    fn deref(&self) -> &Handle {
        &self.0
    }
}

impl Drop for Counted {
    #[inline]
    fn drop(&mut self) {
        runtime::object_gone(&mut self.0);
    }
}

/// One step, with defaults for what most steps do not use.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a>(Request<'a>);

impl<'a> Step<'a> {
    #[inline(always)]
    pub(crate) fn new(kind: OpKind, object: &'a Handle, class: Class, place: Place) -> Step<'a> {
        Step(Request { kind, object, class, initial: 0, a: 0, b: 0, order: MemoryOrder::None, place })
    }

    /// The word of the object if this execution has not met it.
    #[inline(always)]
    pub(crate) fn initial(mut self, word: u64) -> Step<'a> {
        self.0.initial = word;
        self
    }

    #[inline(always)]
    pub(crate) fn operands(mut self, a: u64, b: u64) -> Step<'a> {
        self.0.a = a;
        self.0.b = b;
        self
    }

    #[inline(always)]
    pub(crate) fn order(mut self, order: MemoryOrder) -> Step<'a> {
        self.0.order = order;
        self
    }

    #[inline(always)]
    pub(crate) fn run(self) -> Done {
        runtime::step(self.0)
    }
}

/// Whether steps mean something here: a controlled thread runs, and its execution is not being given up. Destructors ask
/// this, because they may run anywhere.
#[inline(always)]
pub(crate) fn live() -> bool {
    runtime::active() && !runtime::tearing_down()
}
