//! The unwinding as data.

use super::Search;
use model::{LocationId, Term, Terms, ThreadId, TransitionId};

/// An unwinding of a program, finished or not.
#[derive(Clone, Debug)]
pub struct Art {
    /// The labels, and the program's terms before them.
    pub terms: Terms,
    /// The nodes; the first one is the root. What is below a covered or an impossible node is left out.
    pub nodes: Vec<ArtNode>,
}

/// What a node of an [`Art`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All threads that need be were followed from it.
    Followed,
    /// Some were not yet.
    Open,
    /// Another node stands for it.
    Covered(usize),
    /// No run comes here.
    Impossible,
    /// A run comes here, and something is wrong.
    Wrong,
}

/// A node of an [`Art`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtNode {
    /// Where each thread is.
    pub locations: Box<[LocationId]>,
    /// What holds of all states that it stands for.
    pub label: Term,
    /// How it is reached: the node before, who goes, along which transition.
    pub parent: Option<(usize, ThreadId, TransitionId)>,
    /// What it is.
    pub kind: Kind,
    /// Whatever the scheduler does from here, something goes wrong or waits for ever.
    pub lost: bool,
}

impl Search<'_, '_> {
    pub(crate) fn art(&mut self) -> Art {
        let (mut order, mut number) = (Vec::new(), vec![usize::MAX; self.run.nodes.len()]);
        let mut queue = std::collections::VecDeque::from([0]);
        while let Some(v) = queue.pop_front().filter(|v| *v < self.run.nodes.len()) {
            number[v] = order.len();
            order.push(v);
            if self.run.nodes[v].covered_by.is_none() && !self.run.is_false(v) {
                queue.extend(&self.run.nodes[v].children);
            }
        }
        let mut nodes = Vec::new();
        for v in order {
            let kind = match self.run.nodes[v].covered_by.map(|w| number[w]) {
                Some(w) if w != usize::MAX => Kind::Covered(w),
                _ if self.run.is_false(v) => Kind::Impossible,
                _ if self.facts[v].wrong => Kind::Wrong,
                _ if self.run.nodes[v].expanded => Kind::Followed,
                _ => Kind::Open,
            };
            let label = self.run.full_label(v);
            nodes.push(ArtNode {
                locations: self.run.nodes[v].at.locations.clone(),
                label,
                parent: self.run.nodes[v].parent.map(|(p, t, e)| (number[p], t, e)),
                kind,
                lost: self.facts[v].lost,
            });
        }
        Art { terms: self.run.symbols.terms.clone(), nodes }
    }
}
