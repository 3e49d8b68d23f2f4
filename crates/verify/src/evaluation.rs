//! Expressions whose result may depend on an order of evaluation that C leaves open.
//!
//! The automata evaluate operands in the order of the source. That is one of several orders where operands are unsequenced. It matters
//! only if two operands have steps that do not commute with what other threads do, or if one operand calls a function that changes what
//! another one depends on. A step on data that a lock protects at each concurrent access commutes.
//!
//! Where all these steps are plain accesses they make a difference only in a data race: nothing happens before one of them that does not
//! happen before the other.

use crate::races::{self, Locksets, Mode, data, is_atomic, locksets};
use model::{Action, Program, Span, SyncId, ThreadId, TransitionId, VarId};
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
    /// Whether the order can only matter in a program with data races.
    pub only_in_races: bool,
}

/// What one operand does that others can see.
#[derive(Clone, Debug, Default)]
struct Side {
    /// The variables, locks and the like at which order matters.
    names: BTreeSet<String>,
    /// The variables at which it matters if threads that are created or joined in another operand run beside it.
    late: BTreeSet<String>,
    /// Whether it is more than plain accesses.
    synchronizes: bool,
    /// Whether it does something that others can see.
    seen: bool,
    /// Whether it creates or joins threads.
    threads: bool,
}

/// The expressions of a program whose order of evaluation may matter.
pub fn open_orders(p: &Program) -> Vec<OpenOrder> {
    if p.operators.is_empty() {
        return Vec::new();
    }
    let steps = Steps::of(p);
    let mut sides: BTreeMap<u32, BTreeMap<u32, Side>> = BTreeMap::new();
    for t in p.thread_ids() {
        for n in 0..p.thread(t).transitions.len() {
            let id = TransitionId(n as u32);
            let mut operand = p.thread(t).transition(id).operand;
            let Some(one) = (operand > 0).then(|| steps.observed(t, id)).flatten() else { continue };
            while let Some(o) = operand.checked_sub(1).and_then(|n| p.operands.get(n as usize)) {
                let side = sides.entry(o.operator).or_default().entry(o.side).or_default();
                side.names.extend(one.names.iter().cloned());
                side.late.extend(one.late.iter().cloned());
                side.synchronizes |= one.synchronizes;
                side.seen |= one.seen;
                side.threads |= one.threads;
                operand = p.operators[o.operator as usize].around;
            }
        }
    }
    let mut found: BTreeMap<u32, OpenOrder> = BTreeMap::new();
    for (n, operator) in p.operators.iter().enumerate() {
        let concurrent = sides.get(&(n as u32)).and_then(conflict);
        if concurrent.is_none() && !operator.dependent {
            continue;
        }
        let only_in_races = !operator.dependent && concurrent.as_ref().is_some_and(|(_, only)| *only);
        let one = found.entry(operator.source).or_insert_with(|| OpenOrder {
            span: operator.span,
            what: operator.what,
            variables: Vec::new(),
            only_in_races: true,
        });
        one.only_in_races &= only_in_races;
        one.variables.extend(concurrent.into_iter().flat_map(|(names, _)| names));
        one.variables.sort();
        one.variables.dedup();
    }
    found.into_values().collect()
}

/// Whether two operands do what does not commute, as far as others can see: at which variables, and whether only in data races.
fn conflict(sides: &BTreeMap<u32, Side>) -> Option<(BTreeSet<String>, bool)> {
    // Threads that another operand creates or joins may run beside this one, or not.
    let others_make = |n: &u32| sides.iter().any(|(m, s)| m != n && s.threads);
    let seen: Vec<u32> = sides
        .iter()
        .filter(|(n, s)| s.seen || !s.late.is_empty() && others_make(n))
        .map(|(n, _)| *n)
        .collect();
    if seen.len() < 2 && !seen.iter().any(others_make) {
        return None;
    }
    let mut names = BTreeSet::new();
    for n in &seen {
        names.extend(sides[n].names.iter().cloned());
        if others_make(n) {
            names.extend(sides[n].late.iter().cloned());
        }
    }
    let only = !sides.values().any(|s| s.synchronizes || s.threads);
    Some((names, only))
}

/// What the steps of other threads are.
struct Steps<'p> {
    p: &'p Program,
    locks: Locksets,
    order: races::Order,
    /// By variable: the threads that access it, and whether one of these accesses writes.
    users: BTreeMap<VarId, BTreeMap<ThreadId, bool>>,
    /// By lock and the like: the steps on it.
    objects: BTreeMap<SyncId, Vec<(ThreadId, TransitionId)>>,
}

impl<'p> Steps<'p> {
    fn of(p: &'p Program) -> Steps<'p> {
        let mut users: BTreeMap<VarId, BTreeMap<ThreadId, bool>> = BTreeMap::new();
        let mut objects: BTreeMap<SyncId, Vec<(ThreadId, TransitionId)>> = BTreeMap::new();
        for t in p.thread_ids() {
            for (n, e) in p.thread(t).transitions.iter().enumerate() {
                let id = TransitionId(n as u32);
                for (place, write) in data(p, t, id) {
                    *users.entry(place.var).or_default().entry(t).or_default() |= write;
                }
                if let Action::Wait { condition, mutex } = e.action {
                    objects.entry(condition).or_default().push((t, id));
                    objects.entry(mutex).or_default().push((t, id));
                } else if let Some(s) = e.action.sync() {
                    objects.entry(s).or_default().push((t, id));
                }
            }
        }
        Steps { p, locks: locksets(p), order: races::Order::of(p), users, objects }
    }

    /// What others can see of a step, if that is anything.
    fn observed(&self, t: ThreadId, id: TransitionId) -> Option<Side> {
        let (p, locks) = (self.p, &self.locks);
        let e = p.thread(t).transition(id);
        let mut side = Side::default();
        match e.action {
            Action::Local => return None,
            Action::Create(_) | Action::Join(_) => side.threads = true,
            Action::Read
            | Action::Write
            | Action::Update
            | Action::CompareExchange { .. }
            | Action::Atomic => {
                let held = locks.held(t, e.from);
                for (place, write) in data(p, t, id) {
                    let here = |a: &races::Access| a.thread == t && a.transition == id;
                    let concurrent = locks.concurrent.get(&place.var).is_some_and(|all| all.iter().any(here));
                    let guarded = locks.guards.get(&place.var).is_some_and(|guards| {
                        guards.iter().any(|g| match held.get(g) {
                            Some(Mode::Write) => true,
                            Some(Mode::Read) => !write,
                            None => false,
                        })
                    });
                    let name = p.name(place.var).to_owned();
                    let others = self.users.get(&place.var).into_iter().flatten().filter(|(u, _)| **u != t);
                    if concurrent && !(guarded && locks.by_rules) {
                        side.synchronizes |= is_atomic(p, e, place);
                        side.seen = true;
                        side.names.insert(name);
                    } else if !concurrent && others.into_iter().any(|(_, writes)| write || *writes) {
                        side.late.insert(name);
                    }
                }
            }
            other => {
                let own = (t, id);
                let beside = |list: &Vec<(ThreadId, TransitionId)>| {
                    list.iter().any(|s| s.0 != t && self.order.concurrent(p, own, *s))
                };
                let used: Vec<SyncId> = match other {
                    Action::Wait { condition, mutex } => vec![condition, mutex],
                    _ => other.sync().into_iter().collect(),
                };
                let shared = used.iter().filter(|s| self.objects.get(s).is_some_and(beside));
                side.names.extend(shared.map(|s| p.sync(*s).name.clone()));
                side.seen = !side.names.is_empty() || used.is_empty();
                side.synchronizes = side.seen;
            }
        }
        (side.seen || side.threads || !side.late.is_empty()).then_some(side)
    }
}
