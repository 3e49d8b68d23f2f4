//! Expressions whose result may depend on an order of evaluation that C leaves open.
//!
//! The automata evaluate operands in the order of the source. That is one of several orders where operands are unsequenced. It matters
//! only if two operands have steps that do not commute with what other threads do, or if one operand calls a function that changes what
//! another one depends on. A step on data that a lock protects at each concurrent access commutes.

use crate::races::{Locksets, Mode, data, locksets};
use model::{Action, Program, Span, ThreadId, TransitionId};
use std::collections::{BTreeMap, BTreeSet};

/// An expression whose operands were evaluated in one of several orders that may differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OpenOrder {
    /// Where.
    pub span: Span,
    /// What is evaluated in an order that is open: operands, arguments, initializers.
    pub what: &'static str,
    /// The shared variables that make the difference, as far as it is about variables.
    pub variables: Vec<String>,
}

/// The expressions of a program whose order of evaluation may matter.
pub fn open_orders(p: &Program) -> Vec<OpenOrder> {
    let locks = locksets(p);
    // By operator and side: the variables at which order matters, each side once.
    let mut sides: BTreeMap<u32, BTreeMap<u32, BTreeSet<String>>> = BTreeMap::new();
    for t in p.thread_ids() {
        for n in 0..p.thread(t).transitions.len() {
            let id = TransitionId(n as u32);
            let mut operand = p.thread(t).transition(id).operand;
            let Some(names) = (operand > 0).then(|| observed(p, &locks, t, id)).flatten() else { continue };
            while let Some(o) = operand.checked_sub(1).and_then(|n| p.operands.get(n as usize)) {
                sides.entry(o.operator).or_default().entry(o.side).or_default().extend(names.iter().cloned());
                operand = p.operators[o.operator as usize].around;
            }
        }
    }
    let mut found: BTreeMap<u32, OpenOrder> = BTreeMap::new();
    for (n, operator) in p.operators.iter().enumerate() {
        let concurrent = sides.get(&(n as u32)).filter(|s| s.len() > 1);
        if concurrent.is_none() && !operator.dependent {
            continue;
        }
        let names = concurrent.into_iter().flat_map(BTreeMap::values).flatten().cloned();
        let one = found.entry(operator.source).or_insert_with(|| OpenOrder {
            span: operator.span,
            what: operator.what,
            variables: Vec::new(),
        });
        one.variables.extend(names);
        one.variables.sort();
        one.variables.dedup();
    }
    found.into_values().collect()
}

/// Whether a step does not commute with steps of other threads: the variables that it is about.
fn observed(p: &Program, locks: &Locksets, t: ThreadId, id: TransitionId) -> Option<BTreeSet<String>> {
    let e = p.thread(t).transition(id);
    match e.action {
        Action::Local => None,
        Action::Read | Action::Write | Action::Update | Action::CompareExchange { .. } | Action::Atomic => {
            let held = locks.held(t, e.from);
            let mut names = BTreeSet::new();
            for (place, write) in data(p, t, id) {
                let here = |a: &crate::races::Access| a.thread == t && a.transition == id;
                let concurrent = locks.concurrent.get(&place.var).is_some_and(|all| all.iter().any(here));
                let guarded = locks.guards.get(&place.var).is_some_and(|guards| {
                    guards.iter().any(|g| match held.get(g) {
                        Some(Mode::Write) => true,
                        Some(Mode::Read) => !write,
                        None => false,
                    })
                });
                if concurrent && !(guarded && locks.by_rules) {
                    names.insert(p.name(place.var).to_owned());
                }
            }
            (!names.is_empty()).then_some(names)
        }
        other => {
            let name = other.sync().map(|s| p.sync(s).name.clone());
            Some(name.into_iter().collect())
        }
    }
}
