//! Reasons why a result says less than "every behaviour of the program was explored", as data.

use serde::{Deserialize, Serialize};

/// The kind of a [`Caveat`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaveatKind {
    /// Spurious wake-ups or spurious failures were explored up to a number in a row, or not at all.
    Spurious,
    /// A loop was not explored beyond a number of turns in a row that saw no change.
    Turns,
    /// Threads can keep each other from ending under some fair schedules.
    MayNotEnd,
    /// Executions were cut at a depth.
    Depth,
    /// Addresses of freed memory were not given out again in every way.
    Reuse,
    /// Readings of the clock were not explored with every value.
    Clock,
    /// Timed waits end by timeout only when nothing else can run.
    Patient,
    /// Code without instrumentation: its accesses are not seen.
    Uninstrumented,
    /// Inline assembly whose effect is not known.
    Assembly,
    /// Library functions whose accesses are not known.
    Library,
    /// State outside the program's memory that one execution leaves to the next.
    State,
    /// Signals that can arrive at times that were not explored.
    Signal,
    /// Pipes, sockets and files through which threads communicate outside of the search.
    Channel,
    /// Inputs that were explored in part of their range.
    Inputs,
    /// Data races that were not looked for.
    Races,
    /// Deadlocks that were not looked for.
    Deadlocks,
    /// Types, such as those of std, whose operations are not announced.
    ForeignTypes,
    /// Atomic operations weaker than sequentially consistent, and data races of programs whose plain accesses are steps, which were explored as if
    /// they were sequentially consistent.
    MemoryOrder,
    /// Accesses in an order that the language leaves open.
    EvaluationOrder,
    /// Memory that was read before anything was written to it: what is in it is left to the allocator.
    Uninitialised,
    /// Calls of `abort` that were taken to be failed assumptions.
    Aborts,
}

impl CaveatKind {
    /// The name, as in the JSON report.
    pub fn name(self) -> &'static str {
        match self {
            CaveatKind::Spurious => "spurious",
            CaveatKind::Turns => "turns",
            CaveatKind::MayNotEnd => "may-not-end",
            CaveatKind::Depth => "depth",
            CaveatKind::Reuse => "reuse",
            CaveatKind::Clock => "clock",
            CaveatKind::Patient => "patient",
            CaveatKind::Uninstrumented => "uninstrumented",
            CaveatKind::Assembly => "assembly",
            CaveatKind::Library => "library",
            CaveatKind::State => "state",
            CaveatKind::Signal => "signal",
            CaveatKind::Channel => "channel",
            CaveatKind::Inputs => "inputs",
            CaveatKind::Races => "races",
            CaveatKind::Deadlocks => "deadlocks",
            CaveatKind::ForeignTypes => "foreign-types",
            CaveatKind::MemoryOrder => "memory-order",
            CaveatKind::EvaluationOrder => "evaluation-order",
            CaveatKind::Uninitialised => "uninitialised",
            CaveatKind::Aborts => "aborts",
        }
    }

    /// Whether a complete search with this caveat is not called verified. The memory model is named in the sentence instead:
    /// "verified under sequential consistency".
    pub fn weakens(self) -> bool {
        self != CaveatKind::MemoryOrder
    }
}

/// One reason why a result says less.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Caveat {
    /// The kind.
    pub kind: CaveatKind,
    /// A sentence: what was left out, and which option changes that.
    pub text: String,
    /// The source locations concerned, each `file:line` or `file:line:column`, without repetition.
    pub places: Vec<String>,
}

impl Caveat {
    /// A caveat about no place in particular.
    pub fn new(kind: CaveatKind, text: impl Into<String>) -> Caveat {
        Caveat { kind, text: text.into(), places: Vec::new() }
    }

    /// The same caveat, about one more place.
    pub fn at(mut self, place: impl Into<String>) -> Caveat {
        let place = place.into();
        if !self.places.contains(&place) {
            self.places.push(place);
        }
        self
    }

    /// Adds this caveat to a list. A caveat with the same kind and text gets the places instead.
    ///
    /// ```
    /// use explore::{Caveat, CaveatKind};
    /// let mut list = Vec::new();
    /// Caveat::new(CaveatKind::Assembly, "inline assembly").at("a.c:3").add_to(&mut list);
    /// Caveat::new(CaveatKind::Assembly, "inline assembly").at("a.c:9").add_to(&mut list);
    /// assert_eq!((list.len(), list[0].places.len()), (1, 2));
    /// ```
    pub fn add_to(self, list: &mut Vec<Caveat>) {
        match list.iter_mut().find(|c| c.kind == self.kind && c.text == self.text) {
            Some(known) => {
                for place in self.places {
                    if !known.places.contains(&place) {
                        known.places.push(place);
                    }
                }
            }
            None => list.push(self),
        }
    }
}
