//! Races: two accesses to one cell by two threads, one of them a write, with nothing to order them. Two checks, side by side.
//!
//! [`locksets`] looks at the automata alone (Savage and others, "Eraser", 1997, as a static pass): for each place in a thread, which
//! locks it certainly holds; for each variable, which locks are held at all its accesses. Accesses before a thread is made, and after it
//! is joined, are not concurrent with it, as Eraser's *exclusive* state has it. Two accesses that may be concurrent and hold no common
//! lock are a warning. There are false warnings: programs can order accesses by other means. There are no misses, as long as locks are
//! used by their rules (a lock given back by who does not hold it is an error location of its own).
//!
//! [`races`] searches the states: a race is a state in which two threads can go on with two such accesses at once. It has no false
//! alarms, each race comes with a run to it, and for programs with few states it is complete: then every race is also a warning.
//!
//! Accesses that are one step by themselves (to variables that are declared atomic, updates, exchanges, atomic blocks) do not race
//! with each other.

use crate::budget::{Budget, Meter};
use crate::outcome::Unknown;
use model::{
    Action, Binary, Interpreter, LocationId, Node, Place, Program, State, Step, SyncId, SyncKind, Term,
    ThreadId, TransitionId, Type, VarId,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// How a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Together with others that read.
    Read,
    /// Alone.
    Write,
}

/// An access to data by a transition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whose.
    pub thread: ThreadId,
    /// By which transition.
    pub transition: TransitionId,
    /// To what.
    pub place: Place,
    /// Whether it writes.
    pub write: bool,
    /// The locks that are certainly held, and how.
    pub held: BTreeMap<SyncId, Mode>,
}

/// What the static pass says.
#[derive(Clone, Debug, Default)]
pub struct Locksets {
    /// For each shared variable that more than one thread accesses at the same time, one of them to write: the locks that are held at
    /// every such access, alone where it writes.
    pub guards: BTreeMap<VarId, BTreeSet<SyncId>>,
    /// Pairs of accesses that may be concurrent and hold no lock in common.
    pub warnings: Vec<(Access, Access)>,
    /// Whether locks are certainly given back only by who has them. If not, what is said here may miss something.
    pub by_rules: bool,
    /// The accesses to each such variable.
    pub concurrent: BTreeMap<VarId, Vec<Access>>,
    /// For each thread and location, the locks that are certainly held there; `None` where it never is.
    held: Vec<Vec<Option<BTreeMap<SyncId, Mode>>>>,
}

impl Locksets {
    /// The locks that a thread certainly holds at a location.
    pub fn held(&self, t: ThreadId, l: LocationId) -> BTreeMap<SyncId, Mode> {
        self.held[t.index()][l.index()].clone().unwrap_or_default()
    }

    /// Whether two transitions are warned of, in either order.
    pub fn warns(&self, a: (ThreadId, TransitionId), b: (ThreadId, TransitionId)) -> bool {
        self.warnings.iter().any(|(x, y)| {
            let (x, y) = ((x.thread, x.transition), (y.thread, y.transition));
            (x, y) == (a, b) || (x, y) == (b, a)
        })
    }

    /// Whether there is a warning about a variable.
    pub fn warns_of(&self, v: VarId) -> bool {
        self.warnings.iter().any(|(x, _)| x.place.var == v)
    }
}

/// The static pass.
pub fn locksets(p: &Program) -> Locksets {
    let held: Vec<_> = p.thread_ids().map(|t| held_at(p, t)).collect();
    let order = Order::of(p);
    let mut accesses: Vec<Access> = Vec::new();
    for t in p.thread_ids() {
        for (n, e) in p.thread(t).transitions.iter().enumerate() {
            let Some(locks) = &held[t.index()][e.from.index()] else { continue };
            let transition = TransitionId(n as u32);
            accesses.extend(data(p, t, transition).into_iter().map(|(place, write)| Access {
                thread: t,
                transition,
                place,
                write,
                held: locks.clone(),
            }));
        }
    }
    let mut out = Locksets { held, ..Locksets::default() };
    let mut concurrent: BTreeMap<VarId, Vec<&Access>> = BTreeMap::new();
    for (i, a) in accesses.iter().enumerate() {
        for b in &accesses[i + 1..] {
            let conflict = a.thread != b.thread && (a.write || b.write) && may_be_same(p, a.place, b.place);
            if !conflict || !order.concurrent(p, (a.thread, a.transition), (b.thread, b.transition)) {
                continue;
            }
            concurrent.entry(a.place.var).or_default().extend([a, b]);
            let both = |(m, mode): (&SyncId, &Mode)| {
                b.held.get(m).is_some_and(|other| *mode == Mode::Write || *other == Mode::Write)
            };
            let fine = a.held.iter().any(both) || is_one_step(p, a) && is_one_step(p, b);
            if !fine {
                out.warnings.push((a.clone(), b.clone()));
            }
        }
    }
    for (v, list) in concurrent {
        let guards = |a: &Access| -> BTreeSet<SyncId> {
            a.held.iter().filter(|(_, mode)| !a.write || **mode == Mode::Write).map(|(m, _)| *m).collect()
        };
        let common = list.iter().map(|a| guards(a)).reduce(|x, y| &x & &y).unwrap_or_default();
        let mut each: Vec<Access> = Vec::new();
        for a in list {
            if !each.contains(a) {
                each.push(a.clone());
            }
        }
        out.concurrent.insert(v, each);
        out.guards.insert(v, common);
    }
    out.by_rules = crate::merging::locks_follow_rules(p, &out);
    out
}

/// The shared data that a transition reads or writes; once a place, as a write if it does both.
pub(crate) fn data(p: &Program, t: ThreadId, e: TransitionId) -> Vec<(Place, bool)> {
    let a = p.accesses(p.thread(t).transition(e));
    let mut out: Vec<(Place, bool)> = a.writes.iter().map(|q| (*q, true)).collect();
    out.extend(a.reads.iter().filter(|q| !a.writes.contains(q)).map(|q| (*q, false)));
    out.retain(|(q, _)| !p.var(q.var).internal);
    out.extend(uses(p, p.thread(t).transition(e)));
    out
}

/// The objects of synchronization that a transition initializes or uses, where an initialization may happen while other threads run: as
/// writes and reads of the variable that stands for the initialization.
fn uses(p: &Program, e: &model::Transition) -> Vec<(Place, bool)> {
    let mut out = Vec::new();
    for (n, s) in p.syncs.iter().enumerate() {
        let Some(var) = s.initialized else { continue };
        let id = SyncId(n as u32);
        let writes = e.assigns.iter().any(|a| a.place.var == var);
        let used = match e.action {
            // A thread that was woken, or let through, does not use the object any more.
            Action::Wake { .. } | Action::TimeOut { .. } | Action::Pass(_) => false,
            Action::SyncInit(_) | Action::Destroy(_) => false,
            Action::Wait { condition, mutex } => condition == id || mutex == id,
            Action::Atomic => {
                let a = p.accesses(e);
                a.reads.iter().chain(&a.writes).any(|q| is_state_of(s.kind, q.var))
            }
            other => other.sync() == Some(id),
        };
        if writes || used {
            out.push((Place::scalar(var), writes));
        }
    }
    out
}

/// Whether a variable is part of the state of an object.
fn is_state_of(kind: SyncKind, v: VarId) -> bool {
    match kind {
        SyncKind::Mutex { owner } => v == owner,
        SyncKind::RwLock { readers, writer } => v == readers || v == writer,
        SyncKind::Barrier { arrived, needed } => v == arrived || v == needed,
        SyncKind::Semaphore { count } => v == count,
        SyncKind::Condition => false,
    }
}

/// Whether a variable stands for the initialization of an object: see [`model::Sync::initialized`].
pub(crate) fn is_initialization(p: &Program, v: VarId) -> bool {
    p.syncs.iter().any(|s| s.initialized == Some(v))
}

fn is_one_step(p: &Program, a: &Access) -> bool {
    is_atomic(p, p.thread(a.thread).transition(a.transition), a.place)
}

/// Whether an access is one step by itself: to a variable that was declared atomic, by an atomic operation, or an atomic block. To write
/// some of the bytes of a union is an update of the automata only.
pub(crate) fn is_atomic(p: &Program, e: &model::Transition, place: Place) -> bool {
    if is_initialization(p, place.var) {
        // Uses do not race with each other.
        return !e.assigns.iter().any(|a| a.place == place);
    }
    let var = p.var(place.var);
    let one_step = matches!(e.action, Action::CompareExchange { .. } | Action::Atomic);
    match e.order {
        model::Order::Plain => one_step,
        model::Order::Unsaid => var.atomic || one_step || e.action == Action::Update && !var.parts,
        _ => true,
    }
}

fn may_be_same(p: &Program, a: Place, b: Place) -> bool {
    let index = |q: Place| q.index.and_then(|i| p.terms.as_const(i));
    a.var == b.var && (index(a).is_none() || index(b).is_none() || index(a) == index(b))
}

/// Whether a condition says, alone or together with others, that a variable has a value.
fn asks_for(p: &Program, condition: Term, var: VarId, value: u64) -> bool {
    match p.terms.node(condition) {
        Node::Binary(Binary::And, a, b) if p.terms.ty(condition) == Type::BOOL => {
            asks_for(p, a, var, value) || asks_for(p, b, var, value)
        }
        Node::Binary(Binary::Eq, a, b) => [(a, b), (b, a)].into_iter().any(|(a, b)| {
            matches!(p.terms.node(a), Node::Var(v, _) if v == var) && p.terms.as_const(b) == Some(value)
        }),
        _ => false,
    }
}

/// The locks that a thread certainly holds at each of its locations: those that it takes on all ways there.
fn held_at(p: &Program, t: ThreadId) -> Vec<Option<BTreeMap<SyncId, Mode>>> {
    let thread = p.thread(t);
    let mut held: Vec<Option<BTreeMap<SyncId, Mode>>> = vec![None; thread.locations.len()];
    held[thread.entry.index()] = Some(BTreeMap::new());
    let mut open = vec![thread.entry];
    while let Some(l) = open.pop() {
        for (_, e) in thread.from(l) {
            let Some(mut now) = held[l.index()].clone() else { continue };
            // A step that asks whether the thread has a lock is taken by a thread that has it: a recursive mutex is taken again.
            for (n, s) in p.syncs.iter().enumerate() {
                let (SyncKind::Mutex { owner } | SyncKind::RwLock { writer: owner, .. }) = s.kind else {
                    continue;
                };
                if asks_for(p, e.guard, owner, t.index() as u64 + 1) {
                    now.insert(SyncId(n as u32), Mode::Write);
                }
            }
            for a in &e.assigns {
                for (n, s) in p.syncs.iter().enumerate() {
                    let id = SyncId(n as u32);
                    let value = p.terms.as_const(a.value);
                    match s.kind {
                        SyncKind::Mutex { owner } if owner == a.place.var => match value {
                            Some(v) if v == t.index() as u64 + 1 => {
                                now.insert(id, Mode::Write);
                            }
                            _ => {
                                now.remove(&id);
                            }
                        },
                        SyncKind::RwLock { writer, .. } if writer == a.place.var => match value {
                            Some(v) if v == t.index() as u64 + 1 => {
                                now.insert(id, Mode::Write);
                            }
                            _ => {
                                now.remove(&id);
                            }
                        },
                        SyncKind::RwLock { readers, .. } if readers == a.place.var => {
                            let taken =
                                matches!(e.action, Action::ReadLock(s) | Action::TryReadLock(s) if s == id);
                            if taken {
                                now.entry(id).or_insert(Mode::Read);
                            } else {
                                now.remove(&id);
                            }
                        }
                        _ => {}
                    }
                }
            }
            let there = &mut held[e.to.index()];
            let new = match &there {
                None => now,
                Some(before) => {
                    let common = |(m, mode): (&SyncId, &Mode)| now.get(m).map(|other| (*m, *mode.min(other)));
                    before.iter().filter_map(common).collect()
                }
            };
            if there.as_ref() != Some(&new) {
                *there = Some(new);
                open.push(e.to);
            }
        }
    }
    held
}

/// What the making and joining of threads orders.
pub(crate) struct Order {
    /// For each thread: who makes it, where that is the only one.
    maker: Vec<Option<ThreadId>>,
    /// For each thread and location: the threads that it may have made on the way there.
    made: Vec<Vec<BTreeSet<ThreadId>>>,
    /// For each thread and location: the threads that it has certainly joined.
    joined: Vec<Vec<Option<BTreeSet<ThreadId>>>>,
}

impl Order {
    pub(crate) fn of(p: &Program) -> Order {
        let mut makers: Vec<BTreeSet<ThreadId>> = vec![BTreeSet::new(); p.threads.len()];
        let mut order = Order { maker: Vec::new(), made: Vec::new(), joined: Vec::new() };
        for t in p.thread_ids() {
            let thread = p.thread(t);
            let mut made = vec![BTreeSet::new(); thread.locations.len()];
            let mut joined: Vec<Option<BTreeSet<ThreadId>>> = vec![None; thread.locations.len()];
            joined[thread.entry.index()] = Some(BTreeSet::new());
            loop {
                let mut changed = false;
                for e in &thread.transitions {
                    let Some(mut all) = joined[e.from.index()].clone() else { continue };
                    let mut some = made[e.from.index()].clone();
                    match e.action {
                        Action::Create(child) => {
                            makers[child.index()].insert(t);
                            all.remove(&child);
                            some.insert(child);
                        }
                        Action::Join(child) => {
                            all.insert(child);
                        }
                        _ => {}
                    }
                    let before = made[e.to.index()].len();
                    made[e.to.index()].extend(some);
                    changed |= made[e.to.index()].len() != before;
                    let there = &mut joined[e.to.index()];
                    let new = match &there {
                        None => all,
                        Some(known) => known & &all,
                    };
                    if there.as_ref() != Some(&new) {
                        *there = Some(new);
                        changed = true;
                    }
                }
                if !changed {
                    break;
                }
            }
            order.made.push(made);
            order.joined.push(joined);
        }
        let only = |m: BTreeSet<ThreadId>| if m.len() == 1 { m.first().copied() } else { None };
        order.maker = makers.into_iter().map(only).collect();
        order
    }

    /// Whether two steps of two threads may happen at the same time, for all that is said here.
    pub(crate) fn concurrent(
        &self,
        p: &Program,
        a: (ThreadId, TransitionId),
        b: (ThreadId, TransitionId),
    ) -> bool {
        !self.apart(p, a, b.0) && !self.apart(p, b, a.0)
    }

    /// Whether another thread is not there yet, or not any more, wherever a step happens.
    fn apart(&self, p: &Program, (thread, step): (ThreadId, TransitionId), other: ThreadId) -> bool {
        let at = p.thread(thread).transition(step).from;
        let joined = self.joined[thread.index()][at.index()].as_ref().is_some_and(|j| j.contains(&other));
        if joined {
            return true;
        }
        // The one of its makers that the thread of the step makes itself.
        let mut child = other;
        for _ in 0..p.threads.len() {
            match self.maker[child.index()] {
                Some(m) if m == thread => return !self.made[thread.index()][at.index()].contains(&child),
                Some(m) => child = m,
                None => return false,
            }
        }
        false
    }
}

/// A race, and a run to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// One access.
    pub first: (ThreadId, TransitionId),
    /// The other one.
    pub second: (ThreadId, TransitionId),
    /// The variable.
    pub var: VarId,
    /// A shortest run after which either of them can be next.
    pub run: Vec<Step>,
}

/// Every pair of transitions that race, by a search of all states.
///
/// Where these are too many for the budget, or an input has too many values to try them all, those that were found are the answer: each
/// has its run. If there are none then, it is not known.
pub fn races(p: &Program, budget: Budget) -> Result<Vec<Race>, Unknown> {
    races_until(p, budget, |_| false)
}

/// The same, but the search is over when there is one that is enough. The first ones have the shortest runs.
pub fn races_until(
    p: &Program,
    budget: Budget,
    enough: impl Fn(&Race) -> bool,
) -> Result<Vec<Race>, Unknown> {
    let (run, mut meter) = (Interpreter::new(p), Meter::new(budget));
    let first = Rc::new(run.initial());
    let mut parents: HashMap<Rc<State>, Option<(Rc<State>, Step)>> = HashMap::from([(first.clone(), None)]);
    let mut open = VecDeque::from([first]);
    let (mut found, mut known) = (Vec::new(), HashSet::new());
    let tried = crate::explicit::telling(p);
    let mut missing = None;
    while let Some(s) = open.pop_front() {
        if let Err(spent) = meter.step() {
            missing.get_or_insert(Unknown::Spent(spent));
            break;
        }
        // What each thread can do next, with the cells.
        let mut next: Vec<(ThreadId, TransitionId, usize, bool, bool)> = Vec::new();
        for t in p.thread_ids() {
            for e in run.enabled(&s, t) {
                let transition = p.thread(t).transition(e);
                for (place, write) in data(p, t, e) {
                    if let Some(c) = run.place_cell(&s, place) {
                        next.push((t, e, c, write, is_atomic(p, transition, place)));
                    }
                }
            }
        }
        for (i, a) in next.iter().enumerate() {
            for b in &next[i + 1..] {
                let pair = ((a.0, a.1), (b.0, b.1));
                if a.0 != b.0 && a.2 == b.2 && (a.3 || b.3) && !(a.4 && b.4) && known.insert(pair) {
                    let mut steps = Vec::new();
                    let mut at = &s;
                    while let Some(Some((before, step))) = parents.get(at) {
                        steps.push(step.clone());
                        at = before;
                    }
                    steps.reverse();
                    let race = Race { first: pair.0, second: pair.1, var: run.place_of(a.2).0, run: steps };
                    let last = enough(&race);
                    found.push(race);
                    if last {
                        return Ok(found);
                    }
                }
            }
        }
        if run.error(&s).is_some() {
            continue;
        }
        for t in p.thread_ids() {
            let next = run.successors(&s, t).unwrap_or_else(|e| {
                let why = || Unknown::Cannot(format!("{e}; with those that were tried there is no race"));
                missing.get_or_insert_with(why);
                run.some_successors(&s, t, &tried)
            });
            for (step, state) in next {
                if !parents.contains_key(&state) {
                    let state = Rc::new(state);
                    parents.insert(state.clone(), Some((s.clone(), step)));
                    open.push_back(state);
                }
            }
        }
    }
    match missing {
        Some(why) if found.is_empty() => Err(why),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn racy(p: &Program) -> BTreeSet<VarId> {
        races(p, Budget::default()).unwrap().iter().map(|r| r.var).collect()
    }

    #[test]
    fn increments_race_without_a_lock_and_not_with_one() {
        for (locked, races) in [(false, true), (true, false)] {
            let p = testing::increments(2, locked, false);
            let x = p.var_named("x").unwrap();
            let found = locksets(&p);
            assert_eq!(found.warns_of(x), races);
            assert_eq!(racy(&p).contains(&x), races);
            assert_eq!(found.guards[&x].len(), locked as usize);
        }
    }

    #[test]
    fn what_happens_before_a_thread_is_made_or_after_it_is_joined_is_no_race() {
        let text = |early: &str, late: &str| {
            format!(
                "int x; void *f(void *p) {{ x = 1; return 0; }}
                 int main(void) {{ pthread_t t; {early} pthread_create(&t, 0, f, 0); {late} pthread_join(t, 0); x = 3; return 0; }}"
            )
        };
        let p = testing::read(&text("x = 2;", ""));
        assert!(locksets(&p).warnings.is_empty());
        assert!(racy(&p).is_empty());
        let p = testing::read(&text("", "x = 2;"));
        assert_eq!(locksets(&p).warnings.len(), 1);
        assert_eq!(racy(&p).len(), 1);
    }

    #[test]
    fn accesses_to_what_is_declared_atomic_do_not_race() {
        for (ty, races) in [("int", true), ("_Atomic int", false)] {
            let p = testing::read(&format!(
                "{ty} x; void *f(void *p) {{ x = 1; return 0; }}
                 int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); x = 2; return 0; }}"
            ));
            assert_eq!(!locksets(&p).warnings.is_empty(), races, "{ty}");
            assert_eq!(!racy(&p).is_empty(), races, "{ty}");
        }
    }

    /// Threads that lock or not as an input says; `guard` is when one writes without the other.
    fn as_the_input_says(guard: &str) -> Program {
        testing::read(&format!(
            "int x; pthread_mutex_t m; int __VERIFIER_nondet_int(void);
             void *f(void *p) {{ int n = __VERIFIER_nondet_int(); if (n) pthread_mutex_lock(&m); if ({guard}) x++;
               if (n) pthread_mutex_unlock(&m); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_mutex_lock(&m); x++;
               pthread_mutex_unlock(&m); return 0; }}"
        ))
    }

    #[test]
    fn a_race_is_found_though_an_input_has_too_many_values_to_try_all() {
        let p = as_the_input_says("1");
        assert!(racy(&p).contains(&p.var_named("x").unwrap()));
        let Err(Unknown::Cannot(why)) = races(&as_the_input_says("n"), Budget::default()) else { panic!() };
        assert!(why.contains("there is no race"), "{why}");
    }

    #[test]
    fn a_race_that_was_found_before_the_time_is_over_is_one() {
        let p = testing::read(
            "unsigned x, y; void *f(void *p) { x++; while (1) y++; return 0; }
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x++; while (1) y++; return 0; }",
        );
        let some = Budget { seconds: None, work: Some(500) };
        assert!(!races(&p, some).unwrap().is_empty());
        let one = races_until(&p, Budget::default(), |_| true).unwrap();
        assert_eq!(one.len(), 1);
        let none = Budget { seconds: None, work: Some(1) };
        assert!(matches!(races(&p, none), Err(Unknown::Spent(_))));
    }

    #[test]
    fn different_locks_do_not_guard() {
        let p = testing::read(
            "int x; pthread_mutex_t m, n;
             void *f(void *p) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); return 0; }
             void *g(void *p) { pthread_mutex_lock(&n); x = 2; pthread_mutex_unlock(&n); return 0; }
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
        );
        let x = p.var_named("x").unwrap();
        let found = locksets(&p);
        assert!(found.warns_of(x) && found.guards[&x].is_empty());
        assert!(racy(&p).contains(&x));
    }

    #[test]
    fn order_by_other_means_is_a_false_warning_that_the_search_does_not_have() {
        let p = testing::read(
            "int x; int turn;
             void *f(void *p) { x = 1; turn = 1; return 0; }
             void *g(void *p) { if (turn == 1) x = 2; return 0; }
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
        );
        let x = p.var_named("x").unwrap();
        assert!(locksets(&p).warns_of(x));
        assert!(!racy(&p).contains(&x));
    }

    #[test]
    fn every_race_of_random_programs_is_warned_of_and_its_run_replays() {
        let mut seen = 0;
        for seed in 0..150 {
            let p = testing::random(seed);
            let warned = locksets(&p);
            let run = Interpreter::new(&p);
            for r in races(&p, Budget::default()).unwrap() {
                seen += 1;
                assert!(
                    warned.warns(r.first, r.second),
                    "seed {seed}: {r:?}\n{}",
                    testing::random_text(seed)
                );
                let end = run.replay(&r.run).unwrap().pop().unwrap();
                assert!(run.enabled(&end, r.first.0).any(|e| e == r.first.1));
                assert!(run.enabled(&end, r.second.0).any(|e| e == r.second.1));
            }
        }
        assert!(seen > 100, "{seen}");
    }
}
