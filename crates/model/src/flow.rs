//! What values decide: which variables a branch or an address depends on, through assignments and through memory.

use crate::program::{Action, LocationId, Program, ThreadId, Transition};
use crate::term::{Term, VarId};
use explore::Decides;
use std::collections::BTreeSet;

/// For each variable, whether its value may decide what a thread does next, or where.
pub(crate) struct Flow {
    /// Decides which operations come next.
    anything: BTreeSet<VarId>,
    /// Decides on which objects they are.
    addresses: BTreeSet<VarId>,
}

impl Flow {
    pub(crate) fn of(p: &Program) -> Flow {
        let mut flow = Flow { anything: BTreeSet::new(), addresses: BTreeSet::new() };
        for t in p.thread_ids() {
            for l in p.thread(t).location_ids() {
                let edges: Vec<&Transition> = p.thread(t).from(l).map(|e| e.1).collect();
                let set = match choice(&edges) {
                    Decides::Nothing => None,
                    Decides::Addresses => Some(&mut flow.addresses),
                    Decides::Anything => Some(&mut flow.anything),
                };
                if let Some(set) = set {
                    edges.iter().for_each(|e| see(p, e.guard, set));
                }
                for e in edges {
                    let a = p.accesses(e);
                    for i in a.reads.iter().chain(&a.writes).filter_map(|q| q.index) {
                        see(p, i, &mut flow.addresses);
                    }
                }
            }
        }
        close(p, &mut flow.anything);
        close(p, &mut flow.addresses);
        flow
    }

    /// What the value of a variable may decide.
    pub(crate) fn decided_by(&self, v: VarId) -> Decides {
        if self.anything.contains(&v) {
            Decides::Anything
        } else if self.addresses.contains(&v) {
            Decides::Addresses
        } else {
            Decides::Nothing
        }
    }

    /// What the shared value that a step at a location reads may decide.
    pub(crate) fn decided_at(&self, p: &Program, t: ThreadId, l: LocationId) -> Decides {
        let edges: Vec<&Transition> = p.thread(t).from(l).map(|e| e.1).collect();
        let reads_shared = |term: Term| {
            let mut shared = false;
            p.terms.places(term, &mut |q| shared |= p.var(q.var).is_shared() && !p.var(q.var).internal);
            shared
        };
        let mut worst = Decides::Nothing;
        if edges.iter().any(|e| reads_shared(e.guard)) {
            worst = choice(&edges);
        }
        for e in &edges {
            if matches!(e.action, Action::CompareExchange { .. } | Action::Atomic) {
                return Decides::Anything;
            }
            for a in e.assigns.iter().filter(|a| reads_shared(a.value)) {
                if self.anything.contains(&a.place.var) {
                    return Decides::Anything;
                }
                if self.addresses.contains(&a.place.var) && worst == Decides::Nothing {
                    worst = Decides::Addresses;
                }
            }
        }
        worst
    }
}

/// What the choice between the edges of a location decides.
fn choice(edges: &[&Transition]) -> Decides {
    let Some((first, rest)) = edges.split_first() else { return Decides::Nothing };
    if rest.is_empty() {
        return Decides::Nothing;
    }
    let alike = |e: &&&Transition| {
        e.to == first.to && std::mem::discriminant(&e.action) == std::mem::discriminant(&first.action)
    };
    if rest.iter().all(|e| alike(&e)) { Decides::Addresses } else { Decides::Anything }
}

fn see(p: &Program, t: Term, set: &mut BTreeSet<VarId>) {
    p.terms.places(t, &mut |q| {
        set.insert(q.var);
    });
}

/// Adds what flows into the variables of a set.
fn close(p: &Program, set: &mut BTreeSet<VarId>) {
    loop {
        let before = set.len();
        for e in p.threads.iter().flat_map(|t| &t.transitions) {
            for a in e.assigns.iter().filter(|a| set.contains(&a.place.var)).collect::<Vec<_>>() {
                see(p, a.value, set);
                a.place.index.iter().for_each(|i| see(p, *i, set));
            }
        }
        if set.len() == before {
            return;
        }
    }
}
