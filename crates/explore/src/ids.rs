//! Small types with meaning: threads, objects, events, source places, and sets of threads.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The most threads one execution may have over its whole life.
pub const MAX_THREADS: usize = 128;

const WORDS: usize = MAX_THREADS / 64;

/// A thread of the program under test. Thread 0 is the one that runs the test itself.
///
/// The number is stable over executions: it names a path in the tree of spawns (the k-th spawn of a thread), not
/// the moment at which the thread came to life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ThreadId(pub u16);

impl ThreadId {
    /// The thread that runs the test.
    pub const MAIN: ThreadId = ThreadId(0);

    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for ThreadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A shared object of one execution, numbered in the order in which operations on it were first announced.
///
/// Two executions with a common prefix agree on the numbers that were given out in that prefix, not on later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectId(pub u32);

impl ObjectId {
    /// No object: the operation is local to its thread.
    pub const NONE: ObjectId = ObjectId(u32::MAX);

    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this names an object at all.
    #[inline]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// The position of an event in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EventIndex(pub u32);

impl EventIndex {
    /// No event.
    pub const NONE: EventIndex = EventIndex(u32::MAX);

    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this names an event at all.
    #[inline]
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

/// A place in the source of the program under test, opaque to the search.
///
/// Front ends put here whatever lets them find the place again (the address of a `Location`, an index); 0 is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Site(pub usize);

/// A set of threads.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct ThreadSet([u64; WORDS]);

impl ThreadSet {
    /// The empty set.
    pub const EMPTY: ThreadSet = ThreadSet([0; WORDS]);

    /// The set with one member.
    #[inline]
    pub fn single(t: ThreadId) -> Self {
        let mut s = Self::EMPTY;
        s.insert(t);
        s
    }

    /// Adds a thread; says whether it was new.
    #[inline]
    pub fn insert(&mut self, t: ThreadId) -> bool {
        let (w, b) = (t.index() / 64, 1u64 << (t.index() % 64));
        let new = self.0[w] & b == 0;
        self.0[w] |= b;
        new
    }

    /// Removes a thread; says whether it was there.
    #[inline]
    pub fn remove(&mut self, t: ThreadId) -> bool {
        let (w, b) = (t.index() / 64, 1u64 << (t.index() % 64));
        let had = self.0[w] & b != 0;
        self.0[w] &= !b;
        had
    }

    /// Whether a thread is a member.
    #[inline]
    pub fn contains(&self, t: ThreadId) -> bool {
        self.0[t.index() / 64] >> (t.index() % 64) & 1 == 1
    }

    /// Whether there is no member.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.iter().fold(0, |all, w| all | w) == 0
    }

    /// How many members there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The member with the lowest number.
    #[inline]
    pub fn first(&self) -> Option<ThreadId> {
        self.0
            .iter()
            .enumerate()
            .find(|(_, w)| **w != 0)
            .map(|(i, w)| ThreadId((i * 64) as u16 + w.trailing_zeros() as u16))
    }

    /// The first member after `t` in ring order (`t` itself comes last).
    #[inline]
    pub fn next_on_ring(&self, t: ThreadId) -> Option<ThreadId> {
        let mut above = *self;
        for (i, w) in above.0.iter_mut().enumerate() {
            // Those up to `t` are left out: all of the words before its own.
            *w &= match (t.index() / 64).cmp(&i) {
                Ordering::Less => u64::MAX,
                Ordering::Equal => u64::MAX << (t.index() % 64) << 1,
                Ordering::Greater => 0,
            };
        }
        above.first().or_else(|| self.first())
    }

    /// The members that are not in `other`.
    #[inline]
    #[must_use]
    pub fn minus(&self, other: &ThreadSet) -> ThreadSet {
        let mut out = *self;
        out.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= !b);
        out
    }

    /// The members of both.
    #[inline]
    #[must_use]
    pub fn and(&self, other: &ThreadSet) -> ThreadSet {
        let mut out = *self;
        out.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= b);
        out
    }

    /// The members of either.
    #[inline]
    #[must_use]
    pub fn or(&self, other: &ThreadSet) -> ThreadSet {
        let mut out = *self;
        out.0.iter_mut().zip(other.0).for_each(|(a, b)| *a |= b);
        out
    }

    /// The members in ascending order.
    #[inline]
    pub fn iter(&self) -> Threads {
        Threads { left: self.0 }
    }
}

/// The members of a [`ThreadSet`], in ascending order.
#[derive(Clone, Debug)]
pub struct Threads {
    left: [u64; WORDS],
}

impl Iterator for Threads {
    type Item = ThreadId;

    #[inline]
    fn next(&mut self) -> Option<ThreadId> {
        for (i, word) in self.left.iter_mut().enumerate() {
            if *word != 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                return Some(ThreadId((i * 64) as u16 + bit as u16));
            }
        }
        None
    }
}

impl std::fmt::Debug for ThreadSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.iter().map(|t| t.0)).finish()
    }
}

impl FromIterator<ThreadId> for ThreadSet {
    fn from_iter<I: IntoIterator<Item = ThreadId>>(iter: I) -> Self {
        let mut s = Self::EMPTY;
        iter.into_iter().for_each(|t| {
            s.insert(t);
        });
        s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_hold_threads_beyond_the_first_word() {
        let s: ThreadSet = [3, 64, 120].map(ThreadId).into_iter().collect();
        assert_eq!(s.iter().map(|t| t.0).collect::<Vec<_>>(), [3, 64, 120]);
        assert_eq!(s.next_on_ring(ThreadId(2)), Some(ThreadId(3)));
        assert_eq!(s.next_on_ring(ThreadId(3)), Some(ThreadId(64)));
        assert_eq!(s.next_on_ring(ThreadId(63)), Some(ThreadId(64)));
        assert_eq!(s.next_on_ring(ThreadId(64)), Some(ThreadId(120)));
        assert_eq!(s.next_on_ring(ThreadId(127)), Some(ThreadId(3)));
        assert_eq!(ThreadSet::single(ThreadId(5)).next_on_ring(ThreadId(5)), Some(ThreadId(5)));
        assert_eq!(ThreadSet::EMPTY.next_on_ring(ThreadId(5)), None);
        assert_eq!(s.next_on_ring(ThreadId(120)), Some(ThreadId(3)));
        assert_eq!(s.minus(&ThreadSet::single(ThreadId(3))).first(), Some(ThreadId(64)));
        assert_eq!(s.len(), 3);
    }
}
