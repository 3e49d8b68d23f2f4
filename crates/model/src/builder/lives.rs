//! What may not be used any more: locks and the like that were destroyed, threads that were joined or detached.
//!
//! All of it is added in the end, when it is known what the program does at all: one that destroys nothing, detaches no thread, and
//! joins none in two places of one run has no variable and no step more than without.
//!
//! Who waits for a semaphore cannot be told from who is about to: where it is destroyed, both find that it is.

use super::{Builder, WAITING};
use crate::program::*;
use crate::term::{Assign, Place, Term, Type, VarId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What happens to a lock on the stack of a thread that ends.
const ON_STACK: &str = "is a local variable, and its function returns";

/// Where a thread is joined or detached: by whom, and the edge.
type Use = (ThreadId, TransitionId);

impl Builder {
    /// From here on nothing is said of what was destroyed, joined or detached.
    pub(crate) fn leave_lives(&mut self) {
        self.unwatched = true;
    }

    fn watches(&self) -> bool {
        self.lock_misuse && !self.unwatched
    }

    /// Destroys a lock or the like.
    pub fn destroy(&mut self, t: ThreadId, s: SyncId) {
        if self.watches() {
            self.destroyed.insert(s);
            let (edge, yes) = (self.onwards(t), self.true_term());
            self.sync_edge(t, edge, yes, Vec::new(), Action::Destroy(s));
        }
    }

    /// The memory of a lock or the like is freed, which nobody may hold or wait at then.
    pub(crate) fn free_memory_of(&mut self, t: ThreadId, s: SyncId) {
        // A semaphore does not know who waits.
        if self.watches() && !matches!(self.program.sync(s).kind, SyncKind::Semaphore { .. }) {
            let (edge, yes) = (self.onwards(t), self.true_term());
            self.sync_edge(t, edge, yes, Vec::new(), Action::Destroy(s));
            let id = self.last_edge(t);
            self.freed.push((t, id, s));
        }
    }

    /// A thread ends, and with it a lock on its stack, which it may not hold then.
    pub(crate) fn end_stack_of(&mut self, t: ThreadId, s: SyncId) {
        let is_lock = matches!(self.program.sync(s).kind, SyncKind::Mutex { .. } | SyncKind::RwLock { .. });
        if self.watches() && is_lock {
            let (edge, yes) = (self.onwards(t), self.true_term());
            self.sync_edge(t, edge, yes, Vec::new(), Action::Destroy(s));
            let id = self.last_edge(t);
            self.ended.push((t, id, s));
        }
    }

    /// Whether a thread holds a lock.
    fn is_held_by(&mut self, t: ThreadId, s: SyncId) -> Term {
        match self.program.sync(s).kind {
            SyncKind::Mutex { owner } => self.is(owner, Self::me(t)),
            SyncKind::RwLock { writer, .. } => {
                let writes = self.is(writer, Self::me(t));
                let Some(reads) = self.reads.get(&(t, s)).copied() else { return writes };
                let none = self.is(reads, 0);
                let some = self.terms().not(none);
                self.terms().or(writes, some)
            }
            _ => self.terms().boolean(false),
        }
    }

    /// A lock, a reader-writer lock or a condition variable is set up while the program runs: it may have been destroyed before.
    ///
    /// Returns whether an edge was made for that.
    pub(crate) fn set_up(&mut self, t: ThreadId, s: SyncId) -> bool {
        if self.watches() {
            self.sets_up = true;
            let (edge, yes) = (self.onwards(t), self.true_term());
            self.sync_edge(t, edge, yes, Vec::new(), Action::SyncInit(s));
        }
        self.watches()
    }

    /// A lock or a reader-writer lock is a new one, which nobody has. `depth` counts how often a recursive one was taken again.
    ///
    /// Returns whether an edge was made for that.
    pub(crate) fn renew(&mut self, t: ThreadId, s: SyncId, depth: Option<VarId>) -> bool {
        let mut assigns = match self.program.sync(s).kind {
            SyncKind::Mutex { owner } => vec![self.set(owner, 0)],
            SyncKind::RwLock { readers, writer } => vec![self.set(readers, 0), self.set(writer, 0)],
            _ => return self.set_up(t, s),
        };
        let (edge, yes) = (self.onwards(t), self.true_term());
        assigns.extend(depth.map(|d| self.set(d, 0)));
        let action = if depth.is_some() { Action::Atomic } else { Action::SyncInit(s) };
        self.sync_edge(t, edge, yes, assigns, action);
        true
    }

    /// The last edge is an initialization of an object, which nobody may hold or wait at then. With `company` other threads may run
    /// meanwhile, and a use that is not ordered with it is a race.
    pub(crate) fn initializes(&mut self, t: ThreadId, s: SyncId, company: bool) {
        if !self.watches() {
            return;
        }
        let id = self.last_edge(t);
        self.initialized.push((t, id, s));
        if !company {
            return;
        }
        let known = self.program.sync(s).initialized;
        let var = known.unwrap_or_else(|| {
            let name = format!("{}.initialized", self.program.sync(s).name);
            self.plain(&name, Type::BOOL, Scope::Shared, 0, true)
        });
        self.program.syncs[s.index()].initialized = Some(var);
        let set = self.set(var, 1);
        self.program.threads[t.index()].transitions[id.index()].assigns.push(set);
    }

    /// Objects that somebody holds or waits at may neither be initialized nor lose their memory. Both are fine after `destroy`.
    fn watch_unused(&mut self, ends: &BTreeMap<SyncId, (VarId, u64)>) {
        let initialized = std::mem::take(&mut self.initialized).into_iter().map(|e| (e, "is initialized"));
        let freed = self.freed.clone().into_iter().map(|e| (e, "lies in memory that is freed"));
        let ended = std::mem::take(&mut self.ended);
        self.freed.extend(&ended);
        let ended = ended.into_iter().map(|e| (e, ON_STACK));
        for ((t, id, s), does) in initialized.chain(freed).chain(ended) {
            let (used, by) = match does {
                ON_STACK => (self.is_held_by(t, s), "the thread holds it"),
                _ => self.in_use(s),
            };
            let gone = match ends.get(&s) {
                Some((var, end)) => self.is(*var, *end),
                None => self.terms().boolean(false),
            };
            let there = self.terms().not(gone);
            let wrong = self.terms().and(used, there);
            if self.terms().as_const(wrong) == Some(0) {
                let edge = &mut self.program.threads[t.index()].transitions[id.index()];
                if matches!(edge.action, Action::Destroy(_)) {
                    edge.action = Action::Local;
                }
                continue;
            }
            let fine = self.terms().not(wrong);
            let edge = &mut self.program.threads[t.index()].transitions[id.index()];
            edge.guard = fine;
            let (from, action) = (edge.from, edge.action);
            self.span = edge.span;
            let why = format!("`{}` {does} while {by}", self.program.sync(s).name);
            let at = self.error_location(t, ErrorKind::LockMisuse, &why);
            self.sync_edge(t, (from, at), wrong, Vec::new(), action);
        }
    }

    /// Nobody may join a thread from here on.
    pub(crate) fn detach(&mut self, t: ThreadId, child: ThreadId) {
        if self.watches() {
            let ((from, to), yes) = (self.onwards(t), self.true_term());
            self.detach_if(t, (from, to), yes, child);
        }
    }

    /// An edge that detaches a thread where a condition holds.
    pub(crate) fn detach_if(
        &mut self,
        t: ThreadId,
        (from, to): (LocationId, LocationId),
        condition: Term,
        child: ThreadId,
    ) {
        self.step(t, from, to, condition, Vec::new());
        let edge = self.last_edge(t);
        self.detached.entry(child).or_default().push((t, edge));
    }

    /// A thread is detached from its beginning if a value, which who makes it has, is not 0.
    pub(crate) fn detached_from_start(&mut self, child: ThreadId, value: Term) {
        if self.watches() && self.terms().as_const(value) != Some(0) {
            let yes = self.terms().truth(value);
            self.born_detached.insert(child, yes);
        }
    }

    /// The variable that says that an object was destroyed, and the value that it has then and never otherwise.
    fn end_of(&mut self, s: SyncId) -> (VarId, u64) {
        let nobody = self.program.threads.len() as u64 + 1;
        match self.program.sync(s).kind {
            SyncKind::Mutex { owner } => (owner, nobody),
            SyncKind::RwLock { writer, .. } => (writer, nobody),
            SyncKind::Barrier { arrived, .. } => (arrived, u64::from(u32::MAX)),
            // A count is far below that: see `sem_init`.
            SyncKind::Semaphore { count } => (count, u64::from(u32::MAX)),
            SyncKind::Condition => {
                let name = format!("{}.destroyed", self.program.sync(s).name);
                (self.plain(&name, Type::BOOL, Scope::Shared, 0, true), 1)
            }
        }
    }

    /// Whether somebody holds an object or waits at it, and that in words.
    fn in_use(&mut self, s: SyncId) -> (Term, &'static str) {
        let not = |b: &mut Self, v: VarId| {
            let free = b.is(v, 0);
            b.terms().not(free)
        };
        match self.program.sync(s).kind {
            SyncKind::Mutex { owner } => (not(self, owner), "a thread holds it"),
            SyncKind::RwLock { readers, writer } => {
                let (a, b) = (not(self, readers), not(self, writer));
                (self.terms().or(a, b), "a thread holds it")
            }
            SyncKind::Barrier { arrived, .. } => (not(self, arrived), "a thread waits at it"),
            SyncKind::Semaphore { .. } => (self.terms().boolean(false), ""),
            SyncKind::Condition => {
                let mut some = self.terms().boolean(false);
                for u in self.program.thread_ids() {
                    if let Some(w) = self.program.thread(u).waiting
                        && self.waits_at[u.index()].contains(&s)
                    {
                        let here = self.is(w, u64::from(s.0) + 1);
                        some = self.terms().or(some, here);
                    }
                }
                (some, "a thread waits at it")
            }
        }
    }

    /// What destroyed objects take. That comes after all edges are there that use them.
    pub(super) fn watch_objects(&mut self) {
        if self.destroyed.is_empty()
            && !self.sets_up
            && self.initialized.is_empty()
            && self.freed.is_empty()
            && self.ended.is_empty()
        {
            return;
        }
        let ends: BTreeMap<SyncId, (VarId, u64)> =
            std::mem::take(&mut self.destroyed).into_iter().map(|s| (s, self.end_of(s))).collect();
        self.watch_unused(&ends);
        // Only the edges of `destroy` mark an object as destroyed.
        let frees: BTreeSet<(ThreadId, LocationId)> = std::mem::take(&mut self.freed)
            .into_iter()
            .map(|(t, id, _)| (t, self.program.thread(t).transition(id).from))
            .collect();
        for t in self.program.thread_ids() {
            let mut told: BTreeSet<(LocationId, SyncId)> = BTreeSet::new();
            for n in 0..self.program.thread(t).transitions.len() {
                let e = self.program.thread(t).transitions[n].clone();
                self.span = e.span;
                match e.action {
                    Action::SyncInit(s)
                        if self.program.thread(t).location(e.to).kind == LocationKind::Normal
                            && self.has_no_state(&e, s) =>
                    {
                        let edge = &mut self.program.threads[t.index()].transitions[n];
                        if e.assigns.is_empty() {
                            edge.action = Action::Local;
                        }
                        if let Some((var, _)) = ends.get(&s) {
                            let fresh = self.set(*var, 0);
                            let edge = &mut self.program.threads[t.index()].transitions[n];
                            edge.action = Action::SyncInit(s);
                            edge.assigns.push(fresh);
                        }
                    }
                    Action::Destroy(_) if frees.contains(&(t, e.from)) => {}
                    Action::Destroy(s) => self.destroys(t, n, s, ends[&s]),
                    _ => {
                        for (s, end) in &ends {
                            if self.is_use(&e, *s, end.0) {
                                self.not_after(t, n, *s, *end, &mut told);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Whether an initialization does not assign the variables of the object's state.
    fn has_no_state(&self, e: &Transition, s: SyncId) -> bool {
        let only = self.program.sync(s).initialized;
        e.assigns.iter().all(|a| Some(a.place.var) == only)
    }

    /// An edge that destroys an object: that is fine if it was not yet, and nobody has it.
    fn destroys(&mut self, t: ThreadId, n: usize, s: SyncId, (var, end): (VarId, u64)) {
        let from = self.program.thread(t).transitions[n].from;
        let name = self.program.sync(s).name.clone();
        let (gone, (used, by)) = (self.is(var, end), self.in_use(s));
        let there = self.terms().not(gone);
        let wrong = self.terms().and(there, used);
        let free = self.terms().not(used);
        let fine = self.terms().and(there, free);
        let set = self.set(var, end);
        let edge = &mut self.program.threads[t.index()].transitions[n];
        (edge.guard, edge.assigns) = (fine, vec![set]);
        for (guard, why) in [
            (gone, format!("`{name}` is destroyed a second time")),
            (wrong, format!("`{name}` is destroyed while {by}")),
        ] {
            if self.terms().as_const(guard) != Some(0) {
                let at = self.error_location(t, ErrorKind::LockMisuse, &why);
                self.sync_edge(t, (from, at), guard, Vec::new(), Action::Destroy(s));
            }
        }
    }

    /// Whether an edge uses an object. Who was woken at one, or let through, does not any more.
    fn is_use(&self, e: &Transition, s: SyncId, var: VarId) -> bool {
        match e.action {
            Action::Wake { .. } | Action::TimeOut { .. } | Action::Pass(_) | Action::SyncInit(_) => false,
            Action::Wait { condition, mutex } => condition == s || mutex == s,
            Action::Atomic => {
                let a = self.program.accesses(e);
                a.reads.iter().chain(&a.writes).any(|q| q.var == var)
            }
            other => other.sync() == Some(s),
        }
    }

    /// An edge that uses an object, which must not have been destroyed.
    fn not_after(
        &mut self,
        t: ThreadId,
        n: usize,
        s: SyncId,
        (var, end): (VarId, u64),
        told: &mut BTreeSet<(LocationId, SyncId)>,
    ) {
        let e = self.program.thread(t).transitions[n].clone();
        let (gone, set) = (self.is(var, end), self.set(var, end));
        // Most guards say so already: a lock that is free was not destroyed.
        let then = self.terms().substitute_with(e.guard, &[set], &mut HashMap::new());
        if self.terms().as_const(then) != Some(0) {
            let there = self.terms().not(gone);
            let guard = self.terms().and(there, e.guard);
            self.program.threads[t.index()].transitions[n].guard = guard;
        }
        if told.insert((e.from, s)) {
            let why = format!("`{}` is used after it was destroyed", self.program.sync(s).name);
            let wrong = self.error_location(t, ErrorKind::LockMisuse, &why);
            self.sync_edge(t, (e.from, wrong), gone, Vec::new(), e.action);
        }
    }

    /// Threads that wait at a condition variable at the same time must do so with one mutex. A condition variable that is used with
    /// several mutexes has a variable for the mutex of the latest wait, which is that of all threads that wait.
    pub(super) fn watch_conditions(&mut self) {
        if !self.watches() {
            return;
        }
        let mut mutexes: BTreeMap<SyncId, BTreeSet<SyncId>> = BTreeMap::new();
        let mut waits = Vec::new();
        for t in self.program.thread_ids() {
            for (n, e) in self.program.thread(t).transitions.iter().enumerate() {
                if let Action::Wait { condition, mutex } = e.action
                    && !matches!(self.program.thread(t).location(e.to).kind, LocationKind::Error { .. })
                {
                    mutexes.entry(condition).or_default().insert(mutex);
                    waits.push((t, n, condition, mutex));
                }
            }
        }
        mutexes.retain(|_, used| used.len() > 1);
        let mut latest: BTreeMap<SyncId, VarId> = BTreeMap::new();
        for condition in mutexes.into_keys() {
            let name = format!("{}.mutex", self.program.sync(condition).name);
            latest.insert(condition, self.plain(&name, WAITING, Scope::Shared, 0, true));
        }
        for (t, n, condition, mutex) in waits {
            let Some(var) = latest.get(&condition).copied() else { continue };
            let e = self.program.thread(t).transitions[n].clone();
            self.span = e.span;
            let number = u64::from(mutex.0) + 1;
            let (waited, same, set) = (self.in_use(condition).0, self.is(var, number), self.set(var, number));
            let other = self.terms().not(same);
            let clash = self.terms().and(waited, other);
            let wrong = self.terms().and(e.guard, clash);
            let clear = self.terms().not(clash);
            let guard = self.terms().and(e.guard, clear);
            let edge = &mut self.program.threads[t.index()].transitions[n];
            edge.guard = guard;
            edge.assigns.push(set);
            let name = self.program.sync(condition).name.clone();
            let why = format!("two threads wait at `{name}` with two different mutexes");
            let at = self.error_location(t, ErrorKind::LockMisuse, &why);
            self.sync_edge(t, (e.from, at), wrong, Vec::new(), e.action);
        }
    }

    /// Threads that may be joined or detached more than once have a variable that says that they were.
    pub(super) fn watch_threads(&mut self) {
        if !self.watches() {
            return;
        }
        let mut uses: BTreeMap<ThreadId, Vec<Use>> = std::mem::take(&mut self.detached);
        let detaches: BTreeSet<Use> = uses.values().flatten().copied().collect();
        for t in self.program.thread_ids() {
            for (n, e) in self.program.thread(t).transitions.iter().enumerate() {
                if let Action::Join(child) = e.action {
                    uses.entry(child).or_default().push((t, TransitionId(n as u32)));
                }
            }
        }
        let mut behind: HashMap<Use, Vec<bool>> = HashMap::new();
        for (child, list) in uses {
            let born = self.born_detached.get(&child).copied();
            if born.is_none() && !self.may_both(&list, &mut behind) {
                continue;
            }
            let name = self.program.thread(child).name.clone();
            let gone = self.plain(&format!("{name}.gone"), Type::BOOL, Scope::Shared, 0, true);
            if let Some(value) = born {
                let made = |e: &&mut Transition| e.action == Action::Create(child);
                for e in self.program.threads.iter_mut().flat_map(|t| &mut t.transitions).filter(made) {
                    e.assigns.push(Assign { place: Place::scalar(gone), value });
                }
            }
            for (t, id) in list {
                let e = self.program.thread(t).transition(id).clone();
                self.span = e.span;
                let detach = detaches.contains(&(t, id));
                let (was, set) = (self.is(gone, 1), self.set(gone, 1));
                let not = self.terms().not(was);
                let guard = self.terms().and(e.guard, not);
                // Whether it has ended does not matter for what is wrong.
                let mut asked = e.guard;
                if let Some(life) = self.program.thread(child).life {
                    let ended = self.set(life, Thread::ENDED);
                    asked = self.terms().substitute_with(asked, &[ended], &mut HashMap::new());
                }
                let wrong = self.terms().and(asked, was);
                let edge = &mut self.program.threads[t.index()].transitions[id.index()];
                edge.guard = guard;
                edge.assigns.push(set);
                if detach {
                    edge.action = Action::Atomic;
                }
                let action = edge.action;
                let does = if detach { "detached" } else { "joined" };
                let why = format!("`{name}` is {does} after it was joined or detached");
                let at = self.error_location(t, ErrorKind::LockMisuse, &why);
                self.sync_edge(t, (e.from, at), wrong, Vec::new(), action);
            }
        }
    }

    /// Whether one run may take two of these edges, or one of them twice.
    fn may_both(&self, list: &[Use], behind: &mut HashMap<Use, Vec<bool>>) -> bool {
        list.iter().any(|a| {
            let thread = self.program.thread(a.0);
            let seen = behind.entry(*a).or_insert_with(|| {
                let mut out: Vec<Vec<LocationId>> = vec![Vec::new(); thread.locations.len()];
                thread.transitions.iter().for_each(|e| out[e.from.index()].push(e.to));
                let mut seen = vec![false; thread.locations.len()];
                let mut open = vec![thread.transition(a.1).to];
                while let Some(l) = open.pop() {
                    if !std::mem::replace(&mut seen[l.index()], true) {
                        open.extend(&out[l.index()]);
                    }
                }
                seen
            });
            list.iter().any(|b| a.0 != b.0 || seen[thread.transition(b.1).from.index()])
        })
    }
}
