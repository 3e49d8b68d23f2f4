//! What values decide: which variables a branch or an address depends on, through assignments and through memory.

use crate::program::{Action, LocationId, Program, ThreadId, Transition};
use crate::ranges::truth;
use crate::term::{Binary, Node, Term, VarId};
use explore::Decides;
use std::collections::BTreeSet;

/// For each variable, whether its value may decide what a thread does next, or where.
pub(crate) struct Flow {
    /// Decides which operations come next.
    anything: BTreeSet<VarId>,
    /// Decides on which objects they are.
    addresses: BTreeSet<VarId>,
    /// What the shared value decides that is read at a location of a thread.
    at: Vec<Vec<Decides>>,
}

impl Flow {
    pub(crate) fn of(p: &Program) -> Flow {
        let mut flow = Flow { anything: BTreeSet::new(), addresses: BTreeSet::new(), at: Vec::new() };
        for t in p.thread_ids() {
            for l in p.thread(t).location_ids() {
                let edges = possible(p, t, l);
                let set = match choice(&edges) {
                    Decides::Nothing => None,
                    Decides::Addresses => Some(&mut flow.addresses),
                    Decides::Anything => Some(&mut flow.anything),
                };
                if let Some(set) = set {
                    edges.iter().for_each(|e| chosen_by(p, e.guard, &mut |part| see(p, part, set)));
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
        let locations = |t| p.thread(t).location_ids().map(move |l| (t, l));
        flow.at =
            p.thread_ids().map(|t| locations(t).map(|(t, l)| flow.found_at(p, t, l)).collect()).collect();
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
    pub(crate) fn decided_at(&self, t: ThreadId, l: LocationId) -> Decides {
        self.at[t.index()][l.index()]
    }

    fn found_at(&self, p: &Program, t: ThreadId, l: LocationId) -> Decides {
        let edges = possible(p, t, l);
        let reads_shared = |term: Term| {
            let mut shared = false;
            p.terms.places(term, &mut |q| shared |= p.var(q.var).is_shared() && !p.var(q.var).internal);
            shared
        };
        let mut worst = Decides::Nothing;
        let mut chosen_by_shared = false;
        edges.iter().for_each(|e| chosen_by(p, e.guard, &mut |part| chosen_by_shared |= reads_shared(part)));
        if chosen_by_shared {
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

/// The edges from a location, but for those that no value lets through.
fn possible(p: &Program, t: ThreadId, l: LocationId) -> Vec<&Transition> {
    p.thread(t).from(l).map(|e| e.1).filter(|e| truth(&p.terms, e.guard) != Some(false)).collect()
}

/// The parts of a guard that values decide: an index that is cut to the size of its array is within it whatever it was.
fn chosen_by(p: &Program, guard: Term, see: &mut impl FnMut(Term)) {
    match p.terms.node(guard) {
        _ if truth(&p.terms, guard).is_some() => {}
        Node::Binary(Binary::And, a, b) if p.terms.ty(guard).bits == 1 => {
            chosen_by(p, a, see);
            chosen_by(p, b, see);
        }
        _ => see(guard),
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
