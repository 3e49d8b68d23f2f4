//! Deadlocks: threads that can never run again.
//!
//! A thread is *stuck* in a state if each of its steps has a condition that does not hold and that no thread which is not stuck can
//! make hold. The set of stuck threads is the greatest one with this property, so threads that wait for each other are stuck. A stuck
//! thread stays so, whatever the others do; they may run for ever. A spurious wake-up is not a step that counts.
//!
//! Who can make a condition hold is decided from the automata: a thread can if an edge that writes a variable of the condition can be
//! reached from where the thread is, or from the entry of a thread that it can still make. The first edge that changes these variables is
//! taken while they have the values that they have now. So an edge whose guard, as far as it is about these variables alone, does not hold
//! now cannot be that edge: only the owner of a mutex unlocks it.
//!
//! A state is a deadlock if a thread is stuck, no thread that is not stuck can end the program from where it is, and the program is
//! not over. A thread that waits for the end of one that runs for ever is stuck and is not counted: that is what servers do. Where no
//! thread can take a step this is the usual definition.
//!
//! Threads that wait for each other's locks are a deadlock even if another thread can end the program, or has ended it: a thread that
//! waits for work may be left behind at the end, but a lock is meant to be released.

use crate::program::{LocationId, LocationKind, Program, SyncKind, Thread, ThreadId, Transition};
use crate::term::{Binary, Node, Place, Term, Terms, VarId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;

/// A condition that a thread may wait for.
#[derive(Clone, Debug)]
struct Condition {
    term: Term,
    helpers: Vec<Helper>,
    /// The thread whose end it asks for.
    end_of: Option<ThreadId>,
    /// Whether it is about variables of one thread alone.
    local: bool,
    /// The holders of the lock that it asks for.
    lock: Option<Holders>,
}

/// How the threads that hold a lock are known.
#[derive(Clone, Debug)]
enum Holders {
    /// The variable has the number of the thread plus one.
    Owner(VarId),
    /// These threads read: each counts in a variable of its own.
    Readers(Vec<(ThreadId, VarId)>),
}

/// Edges that may make a condition hold.
#[derive(Clone, Debug)]
struct Helper {
    /// What must hold now for one of them to be the first.
    now: Vec<Term>,
    /// By thread and location: whether one of them can be reached from there.
    from: Vec<Vec<bool>>,
}

/// A place where a thread may wait: the conditions of each step, by number.
#[derive(Clone, Debug)]
struct Wait {
    at: LocationId,
    steps: Vec<Vec<usize>>,
}

/// Where threads of a program may wait, and what can end it.
#[derive(Clone, Debug)]
pub struct Waits {
    conditions: Vec<Condition>,
    /// By thread.
    waits: Vec<Vec<Wait>>,
    /// By thread and location: whether a loop can be reached from there.
    endless: Vec<Vec<bool>>,
    /// By thread and location: whether the end of the program can be reached from there.
    exits: Vec<Vec<bool>>,
}

/// What formulas about one state are made of.
pub trait Logic {
    /// A formula.
    type Formula: Clone + PartialEq;
    /// What may go wrong while one is made.
    type Error;
    /// A constant.
    fn constant(&mut self, value: bool) -> Self::Formula;
    /// A truth value of the program, in the state.
    fn term(&mut self, t: Term) -> Result<Self::Formula, Self::Error>;
    /// That a thread is at a location.
    fn at(&mut self, t: ThreadId, l: LocationId) -> Result<Self::Formula, Self::Error>;
    /// The locations that a thread may be at.
    fn places(&self, t: ThreadId) -> Vec<LocationId>;
    /// Both.
    fn and(&mut self, a: &Self::Formula, b: &Self::Formula) -> Result<Self::Formula, Self::Error>;
    /// One or both.
    fn or(&mut self, a: &Self::Formula, b: &Self::Formula) -> Result<Self::Formula, Self::Error>;
    /// The contrary.
    fn not(&mut self, a: &Self::Formula) -> Result<Self::Formula, Self::Error>;
    /// That a variable, which is not an array, has a value.
    fn equals(&mut self, var: VarId, value: u64) -> Result<Self::Formula, Self::Error>;
}

/// The conjuncts of a truth value.
fn conjuncts(terms: &Terms, t: Term, out: &mut Vec<Term>) {
    match terms.node(t) {
        Node::Binary(Binary::And, a, b) if terms.ty(t) == crate::Type::BOOL => {
            conjuncts(terms, a, out);
            conjuncts(terms, b, out);
        }
        _ => out.push(t),
    }
}

fn vars(terms: &Terms, t: Term) -> BTreeSet<VarId> {
    let mut all = BTreeSet::new();
    terms.places(t, &mut |p: Place| {
        all.insert(p.var);
    });
    all
}

/// The locations from which one of some locations can be reached.
fn reaching(thread: &Thread, targets: impl IntoIterator<Item = LocationId>) -> Vec<bool> {
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); thread.locations.len()];
    thread.transitions.iter().for_each(|e| into[e.to.index()].push(e.from.index()));
    let mut found = vec![false; thread.locations.len()];
    let mut open: Vec<usize> = targets.into_iter().map(LocationId::index).collect();
    while let Some(l) = open.pop() {
        if !std::mem::replace(&mut found[l], true) {
            open.extend(&into[l]);
        }
    }
    found
}

/// For sets of locations of threads: the same with those from which a thread can be made that reaches them from its entry.
fn by_creation(p: &Program, mut from: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    loop {
        let mut changed = false;
        for t in p.thread_ids() {
            let thread = p.thread(t);
            let makes = |e: &&Transition| match e.action {
                crate::Action::Create(child) => from[child.index()][p.thread(child).entry.index()],
                _ => false,
            };
            let sources: Vec<LocationId> = thread.transitions.iter().filter(makes).map(|e| e.from).collect();
            for (l, reaches) in reaching(thread, sources).into_iter().enumerate() {
                changed |= reaches && !std::mem::replace(&mut from[t.index()][l], true);
            }
        }
        if !changed {
            return from;
        }
    }
}

impl Waits {
    /// Where the threads of a program may wait.
    pub fn of(p: &Program) -> Waits {
        let mut numbers: HashMap<Term, usize> = HashMap::new();
        let mut conditions = Vec::new();
        let writers = writers(p);
        let mut waits = Vec::new();
        for thread in &p.threads {
            let mut here = Vec::new();
            for l in thread.location_ids() {
                let location = thread.location(l);
                let waits = location.may_block || thread.from(l).next().is_none();
                if !waits || location.assumes || location.kind != LocationKind::Normal {
                    continue;
                }
                let mut steps = Vec::new();
                for (_, e) in thread.from(l).filter(|(_, e)| !e.action.is_spurious()) {
                    let mut all = Vec::new();
                    conjuncts(&p.terms, e.guard, &mut all);
                    let number = |c: Term| {
                        *numbers.entry(c).or_insert_with(|| {
                            conditions.push(condition(p, &writers, c));
                            conditions.len() - 1
                        })
                    };
                    steps.push(all.into_iter().map(number).collect());
                }
                here.push(Wait { at: l, steps });
            }
            waits.push(here);
        }
        let endless = p.threads.iter().map(|t| {
            let heads = t.location_ids().filter(|l| t.location(*l).loop_head);
            reaching(t, heads)
        });
        let exits = p.threads.iter().map(|t| {
            let ends = t.location_ids().filter(|l| t.location(*l).kind == LocationKind::Exit);
            reaching(t, ends)
        });
        let (endless, exits) = (endless.collect(), exits.collect());
        Waits { conditions, waits, endless: by_creation(p, endless), exits: by_creation(p, exits) }
    }

    /// Whether a thread can run for ever from a location, or make one that can.
    pub fn is_endless(&self, t: ThreadId, l: LocationId) -> bool {
        self.endless[t.index()][l.index()]
    }

    /// That a state is a deadlock.
    pub fn deadlock<L: Logic>(&self, p: &Program, logic: &mut L) -> Result<L::Formula, L::Error> {
        let (yes, no) = (logic.constant(true), logic.constant(false));
        let places: Vec<Vec<LocationId>> = p.thread_ids().map(|t| logic.places(t)).collect();
        // The program has ended: other threads may still run. Or the run does not count any more.
        let (mut ended, mut void) = (no.clone(), no.clone());
        for t in p.thread_ids() {
            for l in &places[t.index()] {
                let formula = match p.thread(t).location(*l).kind {
                    LocationKind::Exit => &mut ended,
                    LocationKind::Halt | LocationKind::Error { .. } => &mut void,
                    _ => continue,
                };
                let at = logic.at(t, *l)?;
                *formula = logic.or(formula, &at)?;
            }
        }
        if void == yes {
            return Ok(no);
        }
        let mut live = Vec::new();
        for t in p.thread_ids() {
            let normal: Vec<bool> =
                p.thread(t).locations.iter().map(|l| l.kind == LocationKind::Normal).collect();
            let normal = self.at_some(logic, t, &places[t.index()], &normal)?;
            // A thread that is there from the start was made.
            let made = match p.thread(t).life {
                Some(life) => {
                    let unborn = logic.equals(life, Thread::UNBORN)?;
                    logic.not(&unborn)?
                }
                None => yes.clone(),
            };
            live.push(logic.and(&normal, &made)?);
        }
        let stuck = self.stuck(p, logic, &places, &live)?;
        let mut bad = no.clone();
        let benign = self.benign(p, logic, &places, &live, &stuck)?;
        for t in p.thread_ids() {
            let not = logic.not(&benign[t.index()])?;
            let this = logic.and(&stuck[t.index()], &not)?;
            bad = logic.or(&bad, &this)?;
        }
        for t in p.thread_ids() {
            // A thread that is not stuck and may end the program: the others need not run again.
            let ends = self.at_some(logic, t, &places[t.index()], &self.exits[t.index()])?;
            let ends = logic.and(&ends, &live[t.index()])?;
            let runs = logic.not(&stuck[t.index()])?;
            let may = logic.and(&ends, &runs)?;
            let stays = logic.not(&may)?;
            bad = logic.and(&bad, &stays)?;
        }
        let goes_on = logic.not(&ended)?;
        bad = logic.and(&bad, &goes_on)?;
        let mut left = no.clone();
        for caught in self.caught(p, logic, &places, &stuck)? {
            left = logic.or(&left, &caught)?;
        }
        if left != no {
            // Where all others come to an end, the state that counts is the one in which they have.
            let (mut rests, mut runs_on) = (yes.clone(), no.clone());
            for t in p.thread_ids() {
                let still = logic.not(&stuck[t.index()])?;
                let runs = logic.and(&live[t.index()], &still)?;
                let endless = self.at_some(logic, t, &places[t.index()], &self.endless[t.index()])?;
                let for_ever = logic.and(&runs, &endless)?;
                runs_on = logic.or(&runs_on, &for_ever)?;
                let not = logic.not(&runs)?;
                rests = logic.and(&rests, &not)?;
            }
            let last = logic.or(&rests, &runs_on)?;
            left = logic.and(&left, &last)?;
            bad = logic.or(&bad, &left)?;
        }
        let counts = logic.not(&void)?;
        logic.and(&bad, &counts)
    }

    /// That a thread is at one of some locations.
    fn at_some<L: Logic>(
        &self,
        logic: &mut L,
        t: ThreadId,
        places: &[LocationId],
        which: &[bool],
    ) -> Result<L::Formula, L::Error> {
        let mut all = logic.constant(false);
        for l in places.iter().filter(|l| which[l.index()]) {
            let at = logic.at(t, *l)?;
            all = logic.or(&all, &at)?;
        }
        Ok(all)
    }

    /// By thread: that it is stuck.
    fn stuck<L: Logic>(
        &self,
        p: &Program,
        logic: &mut L,
        places: &[Vec<LocationId>],
        live: &[L::Formula],
    ) -> Result<Vec<L::Formula>, L::Error> {
        let no = logic.constant(false);
        let mut stuck = Vec::new();
        for t in p.thread_ids() {
            let mut waits = no.clone();
            for w in self.waits_at(t, &places[t.index()]) {
                let at = logic.at(t, w.at)?;
                waits = logic.or(&waits, &at)?;
            }
            stuck.push(logic.and(&waits, &live[t.index()])?);
        }
        // That each helper's threads are all stuck, where they matter at all.
        let used: BTreeSet<usize> = p
            .thread_ids()
            .flat_map(|t| {
                self.waits_at(t, &places[t.index()]).flat_map(|w| w.steps.iter().flatten().copied())
            })
            .collect();
        let mut fails: BTreeMap<usize, L::Formula> = BTreeMap::new();
        #[allow(clippy::type_complexity)] // By thread: when it can help, and which threads that takes.
        let mut helps: BTreeMap<usize, Vec<(L::Formula, Vec<(ThreadId, L::Formula)>)>> = BTreeMap::new();
        for c in used {
            let holds = logic.term(self.conditions[c].term)?;
            fails.insert(c, logic.not(&holds)?);
            let mut list = Vec::new();
            for h in &self.conditions[c].helpers {
                let mut now = logic.constant(true);
                for d in &h.now {
                    let d = logic.term(*d)?;
                    now = logic.and(&now, &d)?;
                }
                let mut who = Vec::new();
                for t in p.thread_ids() {
                    let there = self.at_some(logic, t, &places[t.index()], &h.from[t.index()])?;
                    let there = logic.and(&there, &live[t.index()])?;
                    if there != no {
                        who.push((t, there));
                    }
                }
                if now != no && !who.is_empty() {
                    list.push((now, who));
                }
            }
            helps.insert(c, list);
        }
        for _ in 0..=p.threads.len() {
            let mut never: BTreeMap<usize, L::Formula> = BTreeMap::new();
            for (c, list) in &helps {
                let mut formula = fails[c].clone();
                for (now, who) in list {
                    let mut someone = no.clone();
                    for (t, there) in who {
                        let runs = logic.not(&stuck[t.index()])?;
                        let this = logic.and(there, &runs)?;
                        someone = logic.or(&someone, &this)?;
                    }
                    let helped = logic.and(now, &someone)?;
                    let not = logic.not(&helped)?;
                    formula = logic.and(&formula, &not)?;
                }
                never.insert(*c, formula);
            }
            let mut next = Vec::new();
            for t in p.thread_ids() {
                let mut all = no.clone();
                for w in self.waits_at(t, &places[t.index()]) {
                    let mut here = logic.at(t, w.at)?;
                    for step in &w.steps {
                        let mut closed = no.clone();
                        for c in step {
                            closed = logic.or(&closed, &never[c])?;
                        }
                        here = logic.and(&here, &closed)?;
                    }
                    all = logic.or(&all, &here)?;
                }
                next.push(logic.and(&all, &stuck[t.index()])?);
            }
            if next == stuck {
                break;
            }
            stuck = next;
        }
        Ok(stuck)
    }

    /// By thread: that it is stuck because it waits for a lock that another such thread holds, or that it holds itself.
    fn caught<L: Logic>(
        &self,
        p: &Program,
        logic: &mut L,
        places: &[Vec<LocationId>],
        stuck: &[L::Formula],
    ) -> Result<Vec<L::Formula>, L::Error> {
        let no = logic.constant(false);
        let mut caught = stuck.to_vec();
        for _ in 0..=p.threads.len() {
            let mut next = Vec::new();
            for t in p.thread_ids() {
                let mut all = no.clone();
                if caught[t.index()] != no {
                    for w in self.waits_at(t, &places[t.index()]) {
                        let at = logic.at(t, w.at)?;
                        for step in &w.steps {
                            let mut held = no.clone();
                            for c in step {
                                if let Some(holders) = &self.conditions[*c].lock {
                                    let by = Self::held(p, logic, holders, &caught)?;
                                    let free = logic.term(self.conditions[*c].term)?;
                                    let taken = logic.not(&free)?;
                                    let by = logic.and(&by, &taken)?;
                                    held = logic.or(&held, &by)?;
                                }
                            }
                            if held == no {
                                continue;
                            }
                            // The thread waits for the lock alone, not to be woken.
                            for c in step.iter().filter(|c| self.conditions[**c].lock.is_none()) {
                                let holds = logic.term(self.conditions[*c].term)?;
                                held = logic.and(&held, &holds)?;
                            }
                            let here = logic.and(&at, &held)?;
                            all = logic.or(&all, &here)?;
                        }
                    }
                }
                next.push(logic.and(&all, &caught[t.index()])?);
            }
            if next == caught {
                break;
            }
            caught = next;
        }
        Ok(caught)
    }

    /// That one of some threads holds a lock.
    fn held<L: Logic>(
        p: &Program,
        logic: &mut L,
        holders: &Holders,
        by: &[L::Formula],
    ) -> Result<L::Formula, L::Error> {
        let no = logic.constant(false);
        let mut held = no.clone();
        match holders {
            Holders::Owner(owner) => {
                for t in p.thread_ids().filter(|t| by[t.index()] != no) {
                    let owns = logic.equals(*owner, u64::from(t.0) + 1)?;
                    let this = logic.and(&owns, &by[t.index()])?;
                    held = logic.or(&held, &this)?;
                }
            }
            Holders::Readers(all) => {
                for (t, count) in all.iter().filter(|(t, _)| by[t.index()] != no) {
                    let none = logic.equals(*count, 0)?;
                    let reads = logic.not(&none)?;
                    let this = logic.and(&reads, &by[t.index()])?;
                    held = logic.or(&held, &this)?;
                }
            }
        }
        Ok(held)
    }

    fn waits_at<'a>(&'a self, t: ThreadId, places: &'a [LocationId]) -> impl Iterator<Item = &'a Wait> {
        self.waits[t.index()].iter().filter(|w| places.binary_search(&w.at).is_ok())
    }

    /// By thread: that it is stuck because it waits for the end of a thread that runs, or that waits so itself.
    fn benign<L: Logic>(
        &self,
        p: &Program,
        logic: &mut L,
        places: &[Vec<LocationId>],
        live: &[L::Formula],
        stuck: &[L::Formula],
    ) -> Result<Vec<L::Formula>, L::Error> {
        let no = logic.constant(false);
        let mut benign = vec![no.clone(); p.threads.len()];
        for _ in 0..=p.threads.len() {
            let mut next = Vec::new();
            for t in p.thread_ids() {
                let mut all = no.clone();
                for w in self.waits_at(t, &places[t.index()]) {
                    let at = logic.at(t, w.at)?;
                    for step in &w.steps {
                        for c in step {
                            let Some(child) = self.conditions[*c].end_of else { continue };
                            let mut here = at.clone();
                            // Which thread is joined is up to its own variables. Other conditions are those of what comes after the
                            // join, where that is one step with it.
                            for d in step.iter().filter(|d| *d != c && self.conditions[**d].local) {
                                let d = logic.term(self.conditions[*d].term)?;
                                here = logic.and(&here, &d)?;
                            }
                            let runs = logic.not(&stuck[child.index()])?;
                            let fine = logic.or(&runs, &benign[child.index()])?;
                            let fine = logic.and(&fine, &live[child.index()])?;
                            here = logic.and(&here, &fine)?;
                            all = logic.or(&all, &here)?;
                        }
                    }
                }
                next.push(logic.and(&all, &stuck[t.index()])?);
            }
            if next == benign {
                break;
            }
            benign = next;
        }
        Ok(benign)
    }
}

/// By variable: the edges that write it, each with its thread.
fn writers(p: &Program) -> HashMap<VarId, Vec<(ThreadId, usize)>> {
    let mut all: HashMap<VarId, Vec<(ThreadId, usize)>> = HashMap::new();
    for t in p.thread_ids() {
        for (n, e) in p.thread(t).transitions.iter().enumerate() {
            let written = e.assigns.iter().map(|a| a.place.var).chain(e.havoc.iter().map(|h| h.var));
            for v in written.collect::<BTreeSet<VarId>>() {
                all.entry(v).or_default().push((t, n));
            }
        }
    }
    all
}

/// A condition, with all that may make it hold.
fn condition(p: &Program, writers: &HashMap<VarId, Vec<(ThreadId, usize)>>, term: Term) -> Condition {
    let about: BTreeSet<VarId> = vars(&p.terms, term).into_iter().filter(|v| p.var(*v).is_shared()).collect();
    let edges: BTreeSet<(ThreadId, usize)> =
        about.iter().flat_map(|v| writers.get(v).into_iter().flatten().copied()).collect();
    // Edges that can be first under the same conditions, by thread.
    let mut groups: BTreeMap<Vec<Term>, BTreeMap<ThreadId, Vec<LocationId>>> = BTreeMap::new();
    for (t, n) in edges {
        let e = &p.thread(t).transitions[n];
        let mut all = Vec::new();
        conjuncts(&p.terms, e.guard, &mut all);
        if let Some(only) = only_if(p, e, &about) {
            all.push(only);
        }
        let mut now: Vec<Term> = all.into_iter().filter(|d| vars(&p.terms, *d).is_subset(&about)).collect();
        now.retain(|d| p.terms.as_const(*d) != Some(1));
        now.sort_unstable();
        now.dedup();
        groups.entry(now).or_default().entry(t).or_default().push(e.from);
    }
    let helper = |(now, sources): (Vec<Term>, BTreeMap<ThreadId, Vec<LocationId>>)| {
        let from =
            p.thread_ids().map(|t| reaching(p.thread(t), sources.get(&t).into_iter().flatten().copied()));
        let from = from.collect();
        Helper { now, from: by_creation(p, from) }
    };
    let helpers = groups.into_iter().map(helper).collect();
    let end_of = p.thread_ids().find(|t| {
        let life = p.thread(*t).life;
        life.is_some_and(|life| about.contains(&life) && asks_for(p, term, life, Thread::ENDED))
    });
    let lock = match about.first() {
        // Other questions about a lock, such as whether the thread has it, are not what a thread waits for.
        Some(v) if about.len() == 1 && asks_for(p, term, *v, 0) => {
            p.syncs.iter().find_map(|s| match s.kind {
                SyncKind::Mutex { owner } if owner == *v => Some(Holders::Owner(owner)),
                SyncKind::RwLock { writer, .. } if writer == *v => Some(Holders::Owner(writer)),
                SyncKind::RwLock { readers, .. } if readers == *v => {
                    Some(Holders::Readers(own_counts(p, readers)))
                }
                _ => None,
            })
        }
        _ => None,
    };
    Condition { term, helpers, end_of, local: about.is_empty(), lock }
}

/// The variables in which threads count how often each of them has a lock for reading: those that grow with the count of all readers.
fn own_counts(p: &Program, readers: VarId) -> Vec<(ThreadId, VarId)> {
    let mut all = BTreeSet::new();
    for t in p.thread_ids() {
        for e in p.thread(t).transitions.iter().filter(|e| e.assigns.iter().any(|a| a.place.var == readers)) {
            let counts = |a: &&crate::Assign| {
                let grows = matches!(p.terms.node(a.value), Node::Binary(Binary::Add, ..));
                grows && a.place.var != readers && vars(&p.terms, a.value) == BTreeSet::from([a.place.var])
            };
            let own = e.assigns.iter().filter(counts).map(|a| a.place.var);
            all.extend(own.filter(|v| !p.var(*v).is_shared()).map(|v| (t, v)));
        }
    }
    all.into_iter().collect()
}

/// Whether a condition says that a variable has a value.
fn asks_for(p: &Program, term: Term, var: VarId, value: u64) -> bool {
    match p.terms.node(term) {
        Node::Binary(Binary::Eq, a, b) => [(a, b), (b, a)].into_iter().any(|(a, b)| {
            matches!(p.terms.node(a), Node::Var(v, _) if v == var) && p.terms.as_const(b) == Some(value)
        }),
        _ => false,
    }
}

/// Where an edge changes one of the variables only if something holds, as a broadcast does: that. Nothing if it changes several.
fn only_if(p: &Program, e: &Transition, about: &BTreeSet<VarId>) -> Option<Term> {
    if e.havoc.iter().any(|h| about.contains(&h.var)) {
        return None;
    }
    let mut written = e.assigns.iter().filter(|a| about.contains(&a.place.var));
    let (first, more) = (written.next()?, written.next());
    match p.terms.node(first.value) {
        Node::Ite(c, _, old)
            if more.is_none()
                && first.place.index.is_none()
                && matches!(p.terms.node(old), Node::Var(v, _) if v == first.place.var) =>
        {
            Some(c)
        }
        _ => None,
    }
}

/// One state: formulas are truth values.
pub(crate) struct Concrete<'s> {
    pub(crate) run: &'s crate::Interpreter<'s>,
    pub(crate) state: &'s crate::State,
}

impl Logic for Concrete<'_> {
    type Formula = bool;
    type Error = Infallible;

    fn constant(&mut self, value: bool) -> bool {
        value
    }

    fn term(&mut self, t: Term) -> Result<bool, Infallible> {
        Ok(self.run.eval(self.state, t) != 0)
    }

    fn at(&mut self, t: ThreadId, l: LocationId) -> Result<bool, Infallible> {
        Ok(self.state.locations[t.index()] == l)
    }

    fn places(&self, t: ThreadId) -> Vec<LocationId> {
        vec![self.state.locations[t.index()]]
    }

    fn and(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(*a && *b)
    }

    fn or(&mut self, a: &bool, b: &bool) -> Result<bool, Infallible> {
        Ok(*a || *b)
    }

    fn not(&mut self, a: &bool) -> Result<bool, Infallible> {
        Ok(!a)
    }

    fn equals(&mut self, var: VarId, value: u64) -> Result<bool, Infallible> {
        Ok(self.run.value(self.state, var, 0) == value)
    }
}
