//! Caveats of a session: what its executions leave out, noted where it is left out.

use crate::{Place, context};
use explore::{Caveat, CaveatKind};
use std::borrow::Cow;

/// The caveats that were noted since the session started.
#[derive(Default)]
pub(crate) struct Noted {
    /// Places of machine code are read from debug information, so they stay addresses until a report is made.
    list: Vec<(CaveatKind, Cow<'static, str>, Vec<Place>)>,
    pub(crate) named: Vec<Caveat>,
}

impl Noted {
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.named.clear();
    }

    pub(crate) fn add(&mut self, kind: CaveatKind, text: Cow<'static, str>, place: Place) {
        match self.list.iter_mut().find(|(k, t, _)| *k == kind && *t == text) {
            Some((.., places)) if places.contains(&place) => {}
            Some((.., places)) => places.push(place),
            None => self.list.push((kind, text, vec![place])),
        }
    }

    /// Whether something of this kind was noted at a place.
    pub(crate) fn is_noted(&self, kind: CaveatKind, place: Place) -> bool {
        self.list.iter().any(|(k, _, places)| *k == kind && places.contains(&place))
    }

    /// As [`caveat_at`], for one who has the execution.
    pub(crate) fn note_at(&mut self, kind: CaveatKind, text: impl Into<Cow<'static, str>>, place: Place) {
        self.add(kind, text.into(), place);
    }

    pub(crate) fn forget(&mut self, kind: CaveatKind) {
        self.list.retain(|(k, ..)| *k != kind);
        self.named.retain(|c| c.kind != kind);
    }

    pub(crate) fn all(&self) -> Vec<Caveat> {
        if self.list.is_empty() && self.named.is_empty() {
            return Vec::new();
        }
        let mut all = self.named.clone();
        for (kind, text, places) in &self.list {
            let caveat = Caveat::new(*kind, text.clone());
            places.iter().fold(caveat, |c, p| c.at(p.to_string())).add_to(&mut all);
        }
        all.sort_by_key(|c| c.kind);
        all
    }
}

/// A test compares addresses, of the kind [`CaveatKind::Reuse`].
pub(crate) const ADDRESSES: &str =
    "whether freed memory gets an address again that compare_exchange compares was left to the allocator";

/// Memory that a test frees was kept, of the kind [`CaveatKind::Reuse`].
pub(crate) const KEPT: &str = "addresses of freed memory were not allocated again in the same execution, because the allocator's choice differed between executions";

/// `compare_exchange` compares an address that the allocator may give out again.
pub fn compares_freed(place: Place) {
    caveat_at(CaveatKind::Reuse, ADDRESSES, place);
    let ex = context::current();
    if ex.is_null() {
        return;
    }
    // SAFETY: a current execution is valid, and our callers hold no reference into it.
    unsafe {
        let is_new = !(*ex).modes.keeps_freed && (*ex).restart.is_none() && (*ex).in_fiber;
        if is_new && crate::quarantine::Quarantine::is_available() {
            (*ex).restart = Some(crate::polling::Restart::GivesBack);
        }
    }
}

/// The test keeps an address in an atomic, so the search compares words that stand for addresses.
pub fn compares_addresses() {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: a current execution is valid, and our callers hold no reference into it.
        unsafe { (*ex).compared_addresses = true };
    }
}

/// Notes something that the session leaves out, once. Outside of an execution it does nothing.
pub fn caveat(kind: CaveatKind, text: impl Into<String>, place: Option<String>) {
    let ex = context::current();
    if !ex.is_null() {
        let caveat = Caveat::new(kind, text);
        let caveat = place.into_iter().fold(caveat, Caveat::at);
        // SAFETY: a current execution is valid, and our callers hold no reference into it.
        caveat.add_to(unsafe { &mut (*ex).caveats.named });
    }
}

/// Notes something that the session leaves out at a place, whose file and line are looked up only when a report is made.
pub fn caveat_at(kind: CaveatKind, text: impl Into<Cow<'static, str>>, place: Place) {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: as in `caveat`.
        unsafe { (*ex).caveats.add(kind, text.into(), place) };
    }
}

/// Takes back what was noted at a place.
pub fn take_back(kind: CaveatKind, place: Place) {
    let ex = context::current();
    if !ex.is_null() {
        // SAFETY: as in `caveat`.
        let list = unsafe { &mut (*ex).caveats.list };
        for (_, _, places) in list.iter_mut().filter(|(k, ..)| *k == kind) {
            places.retain(|p| *p != place);
        }
        list.retain(|(k, _, places)| *k != kind || !places.is_empty());
    }
}
