//! Reasons to believe that a program is safe, as data.
//!
//! A certificate says all that a checker needs, so that the checker ([`crate::check`]) searches for nothing. Formulas are terms of
//! the certificate's own [`Terms`], which continue those of the program: a term of the program is the same term here.

use crate::packed::StateSet;
use model::{LocationId, Term, Terms, ThreadId, TransitionId};

/// Why a program is safe.
#[derive(Clone, Debug)]
pub enum Certificate {
    /// A set of states that has the first one, none that is wrong, and every successor of each of its own.
    States(StateSet),
    /// The same up to which of several equal threads does what: it has a state that stands for each successor of each of its own. Which
    /// threads are equal is found again by the check. To wait for the end of a thread is one step with what comes next.
    Symmetric(StateSet),
    /// The same with formulas: what holds at each combination of locations.
    Invariant(Invariant),
    /// An unwinding of the program whose labels are inductive, with no end that is neither covered nor impossible.
    Tree(Tree),
    /// No run has more than this many steps, and none of these goes wrong.
    Depth(usize),
    /// At these locations no thread needs to be interrupted ([`crate::Merged`]), and the program without them is safe.
    Merged {
        /// The locations, in the order in which they may go.
        gone: Vec<(ThreadId, LocationId)>,
        /// Why the program without them is safe.
        inner: Box<Certificate>,
    },
}

/// What holds at each combination of locations.
#[derive(Clone, Debug)]
pub struct Invariant {
    /// The formulas, and the program's terms before them.
    pub terms: Terms,
    /// A combination of locations, one for each thread, and what holds there. Those that are not here are never reached. One that is
    /// here more than once stands for the disjunction.
    pub at: Vec<(Box<[LocationId]>, Term)>,
}

/// An unwinding of a program, labelled with formulas.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The labels, and the program's terms before them.
    pub terms: Terms,
    /// Whether a thread need not be followed from a node if it comes before the thread that went last, in the order of threads, and
    /// its next steps commute with the step by which that went. From a node that covers another one all threads must be followed
    /// that must be from the other.
    pub monotonic: bool,
    /// The nodes; the first one is the root.
    pub nodes: Vec<TreeNode>,
}

/// A node of a [`Tree`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// Where each thread is.
    pub locations: Box<[LocationId]>,
    /// What holds of all states that the node stands for.
    pub label: Term,
    /// The node that stands for all that this one does, if there is one: then this one needs no successors.
    pub covered_by: Option<usize>,
    /// If only one thread was followed from here: which. Its next steps must commute with all that others may still do.
    pub only: Option<ThreadId>,
    /// The nodes after it.
    pub edges: Vec<TreeEdge>,
}

/// An edge of a [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeEdge {
    /// Who goes.
    pub thread: ThreadId,
    /// Along which transition.
    pub transition: TransitionId,
    /// The node after it.
    pub to: usize,
}
