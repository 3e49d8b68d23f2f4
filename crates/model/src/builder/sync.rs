//! Locks, condition variables, barriers, semaphores and threads as guarded steps over variables of their own.

use super::{Builder, WAITING};
use crate::program::*;
use crate::term::{Assign, Place, Term, VarId};

impl Builder {
    pub(super) fn me(t: ThreadId) -> u64 {
        t.0 as u64 + 1
    }

    fn owner(&self, m: SyncId) -> VarId {
        match self.program.sync(m).kind {
            SyncKind::Mutex { owner } => owner,
            _ => panic!("`{}` is no mutex", self.program.sync(m).name),
        }
    }

    fn rw(&self, l: SyncId) -> (VarId, VarId) {
        match self.program.sync(l).kind {
            SyncKind::RwLock { readers, writer } => (readers, writer),
            _ => panic!("`{}` is no reader-writer lock", self.program.sync(l).name),
        }
    }

    fn count(&self, s: SyncId) -> VarId {
        match self.program.sync(s).kind {
            SyncKind::Semaphore { count } => count,
            _ => panic!("`{}` is no semaphore", self.program.sync(s).name),
        }
    }

    pub(super) fn true_term(&mut self) -> Term {
        self.program.terms.boolean(true)
    }

    /// Takes a mutex.
    pub fn lock(&mut self, t: ThreadId, m: SyncId) {
        let owner = self.owner(m);
        let edge = self.onwards(t);
        let (free, take) = (self.is(owner, 0), self.set(owner, Self::me(t)));
        self.sync_edge(t, edge, free, vec![take], Action::Lock(m));
    }

    /// Takes a mutex if it is free; `result` gets `done` then and `busy` otherwise.
    pub fn try_lock(&mut self, t: ThreadId, m: SyncId, result: VarId, done: u64, busy: u64) {
        let owner = self.owner(m);
        let (free, take) = (self.is(owner, 0), self.set(owner, Self::me(t)));
        self.tried(t, free, vec![take], Action::TryLock(m), (result, done, busy));
    }

    /// Two edges from here to one place, by whether something could be had.
    fn tried(
        &mut self,
        t: ThreadId,
        free: Term,
        mut take: Vec<Assign>,
        action: Action,
        (result, done, busy): (VarId, u64, u64),
    ) {
        let edge = self.onwards(t);
        let taken = self.terms().not(free);
        let (yes, no) = (self.set(result, done), self.set(result, busy));
        take.push(yes);
        self.sync_edge(t, edge, free, take, action);
        self.sync_edge(t, edge, taken, vec![no], action);
    }

    /// Gives a mutex back.
    pub fn unlock(&mut self, t: ThreadId, m: SyncId) {
        let owner = self.owner(m);
        let (from, to) = self.onwards(t);
        let held = self.is(owner, Self::me(t));
        let give = self.set(owner, 0);
        self.give_back(t, (from, to), held, vec![give], Action::Unlock(m), m);
    }

    fn give_back(
        &mut self,
        t: ThreadId,
        (from, to): (LocationId, LocationId),
        held: Term,
        give: Vec<Assign>,
        action: Action,
        what: SyncId,
    ) {
        if self.lock_misuse {
            let name = self.program.sync(what).name.clone();
            let says = format!("`{name}` is given back by a thread that does not hold it");
            let wrong = self.error_location(t, ErrorKind::LockMisuse, &says);
            let not = self.terms().not(held);
            self.sync_edge(t, (from, to), held, give, action);
            self.sync_edge(t, (from, wrong), not, Vec::new(), action);
        } else {
            let yes = self.true_term();
            self.sync_edge(t, (from, to), yes, give, action);
        }
    }

    /// The variable that counts how often a recursive mutex was taken again.
    pub(crate) fn depth_of(&mut self, m: SyncId) -> VarId {
        let name = format!("{}.depth", self.program.sync(m).name);
        self.plain(&name, WAITING, Scope::Shared, 0, true)
    }

    /// Takes a recursive mutex, again if it has it. `tried` has the variable that gets 0 for that, and the number if another has it.
    pub(crate) fn lock_again(&mut self, t: ThreadId, m: SyncId, depth: VarId, tried: Option<(VarId, u64)>) {
        let owner = self.owner(m);
        let edge = self.onwards(t);
        let (free, mine) = (self.is(owner, 0), self.is(owner, Self::me(t)));
        let fine: Vec<Assign> = tried.map(|(r, _)| self.set(r, 0)).into_iter().collect();
        let (mut take, mut more) = (vec![self.set(owner, Self::me(t))], vec![self.plus(depth, 1)]);
        take.extend(&fine);
        more.extend(&fine);
        let action = if tried.is_some() { Action::TryLock(m) } else { Action::Lock(m) };
        self.sync_edge(t, edge, free, take, action);
        // Nobody else changes the owner or the depth meanwhile.
        self.sync_edge(t, edge, mine, more, Action::Atomic);
        if let Some((r, busy)) = tried {
            let either = self.terms().or(free, mine);
            let other = self.terms().not(either);
            let no = self.set(r, busy);
            self.sync_edge(t, edge, other, vec![no], action);
        }
    }

    /// Gives a recursive mutex back, once.
    pub(crate) fn unlock_again(&mut self, t: ThreadId, m: SyncId, depth: VarId) {
        let owner = self.owner(m);
        let (from, to) = self.onwards(t);
        let (mine, last) = (self.is(owner, Self::me(t)), self.is(depth, 0));
        let not = self.terms().not(last);
        let inner = self.terms().and(mine, not);
        let less = self.plus(depth, -1);
        self.sync_edge(t, (from, to), inner, vec![less], Action::Atomic);
        let outer = self.terms().and(mine, last);
        let give = self.set(owner, 0);
        self.sync_edge(t, (from, to), outer, vec![give], Action::Unlock(m));
        // Whatever the settings are: to give back what it does not have leaves nothing to go on with.
        let name = self.program.sync(m).name.clone();
        let says = format!("`{name}` is given back by a thread that does not hold it");
        let wrong = self.error_location(t, ErrorKind::LockMisuse, &says);
        let other = self.terms().not(mine);
        self.sync_edge(t, (from, wrong), other, Vec::new(), Action::Unlock(m));
    }

    /// Takes a mutex that checks for errors: `result` gets 0, or `again` if the thread has it. With `busy`, which it gets if another
    /// thread has it, it does not wait.
    pub(crate) fn lock_checked(
        &mut self,
        t: ThreadId,
        m: SyncId,
        (result, again): (VarId, u64),
        busy: Option<u64>,
    ) {
        let owner = self.owner(m);
        let edge = self.onwards(t);
        let (free, mine) = (self.is(owner, 0), self.is(owner, Self::me(t)));
        let take = vec![self.set(owner, Self::me(t)), self.set(result, 0)];
        let action = if busy.is_some() { Action::TryLock(m) } else { Action::Lock(m) };
        self.sync_edge(t, edge, free, take, action);
        // Nobody else changes that meanwhile.
        let told = self.set(result, again);
        self.sync_edge(t, edge, mine, vec![told], Action::Atomic);
        if let Some(busy) = busy {
            let either = self.terms().or(free, mine);
            let other = self.terms().not(either);
            let no = self.set(result, busy);
            self.sync_edge(t, edge, other, vec![no], action);
        }
    }

    /// Gives a mutex back that checks for errors: `result` gets 0, or the number if the thread does not have it.
    pub(crate) fn unlock_checked(&mut self, t: ThreadId, m: SyncId, (result, not): (VarId, u64)) {
        let owner = self.owner(m);
        let edge = self.onwards(t);
        let mine = self.is(owner, Self::me(t));
        let give = vec![self.set(owner, 0), self.set(result, 0)];
        self.sync_edge(t, edge, mine, give, Action::Unlock(m));
        let (other, told) = (self.terms().not(mine), self.set(result, not));
        self.sync_edge(t, edge, other, vec![told], Action::Atomic);
    }

    /// Goes on only if the thread has a mutex; otherwise `result` gets the number, at the place that is returned.
    pub(crate) fn unless_held(&mut self, t: ThreadId, m: SyncId, (result, not): (VarId, u64)) -> LocationId {
        let owner = self.owner(m);
        let (from, to) = self.onwards(t);
        let mine = self.is(owner, Self::me(t));
        self.sync_edge(t, (from, to), mine, Vec::new(), Action::Atomic);
        let (other, told, after) = (self.terms().not(mine), self.set(result, not), self.location(t));
        self.sync_edge(t, (from, after), other, vec![told], Action::Atomic);
        after
    }

    /// How many a semaphore has.
    pub(crate) fn sem_value(&mut self, t: ThreadId, s: SyncId, result: VarId) {
        let count = self.count(s);
        let edge = self.onwards(t);
        let now = self.value(count);
        let ty = self.program.var(result).ty;
        let value = self.terms().cast(ty, now);
        let yes = self.true_term();
        let seen = Assign { place: Place::scalar(result), value };
        self.sync_edge(t, edge, yes, vec![seen], Action::Atomic);
    }

    /// The variable that counts how often a thread has a lock for reading, where it matters who gives it back.
    fn own_reads(&mut self, t: ThreadId, l: SyncId) -> Option<VarId> {
        if !self.lock_misuse {
            return None;
        }
        if let Some(v) = self.reads.get(&(t, l)) {
            return Some(*v);
        }
        let name = format!("{}.{}.reads", self.program.thread(t).name, self.program.sync(l).name);
        let v = self.plain(&name, WAITING, Scope::Local(t), 0, true);
        self.reads.insert((t, l), v);
        Some(v)
    }

    /// One more who reads.
    fn begin_reading(&mut self, t: ThreadId, l: SyncId) -> Vec<Assign> {
        let readers = self.rw(l).0;
        let own = self.own_reads(t, l);
        [Some(readers), own].into_iter().flatten().map(|v| self.plus(v, 1)).collect()
    }

    /// Takes a reader-writer lock for reading.
    pub fn read_lock(&mut self, t: ThreadId, l: SyncId) {
        let writer = self.rw(l).1;
        let edge = self.onwards(t);
        let (free, take) = (self.is(writer, 0), self.begin_reading(t, l));
        self.sync_edge(t, edge, free, take, Action::ReadLock(l));
    }

    /// Takes a reader-writer lock, to write or to read; `result` gets 0, or `again` if the thread writes already.
    pub(crate) fn rw_lock_or(&mut self, t: ThreadId, l: SyncId, write: bool, (result, again): (VarId, u64)) {
        let writer = self.rw(l).1;
        let edge = self.onwards(t);
        let mine = self.is(writer, Self::me(t));
        let (free, mut take, action) = if write {
            (self.rw_free(l), vec![self.set(writer, Self::me(t))], Action::WriteLock(l))
        } else {
            (self.is(writer, 0), self.begin_reading(t, l), Action::ReadLock(l))
        };
        take.push(self.set(result, 0));
        self.sync_edge(t, edge, free, take, action);
        // It has the lock to write, then as before.
        let told = self.set(result, again);
        self.sync_edge(t, edge, mine, vec![told], Action::WriteLock(l));
    }

    /// The same if nobody writes.
    pub fn try_read_lock(&mut self, t: ThreadId, l: SyncId, result: VarId, done: u64, busy: u64) {
        let writer = self.rw(l).1;
        let (free, take) = (self.is(writer, 0), self.begin_reading(t, l));
        self.tried(t, free, take, Action::TryReadLock(l), (result, done, busy));
    }

    fn rw_free(&mut self, l: SyncId) -> Term {
        let (readers, writer) = self.rw(l);
        let (a, b) = (self.is(readers, 0), self.is(writer, 0));
        self.terms().and(a, b)
    }

    /// Takes a reader-writer lock for writing.
    pub fn write_lock(&mut self, t: ThreadId, l: SyncId) {
        let edge = self.onwards(t);
        let writer = self.rw(l).1;
        let (free, take) = (self.rw_free(l), self.set(writer, Self::me(t)));
        self.sync_edge(t, edge, free, vec![take], Action::WriteLock(l));
    }

    /// The same if nobody has it.
    pub fn try_write_lock(&mut self, t: ThreadId, l: SyncId, result: VarId, done: u64, busy: u64) {
        let writer = self.rw(l).1;
        let (free, take) = (self.rw_free(l), self.set(writer, Self::me(t)));
        self.tried(t, free, vec![take], Action::TryWriteLock(l), (result, done, busy));
    }

    /// Gives a reader-writer lock back, however it was taken.
    pub fn rw_unlock(&mut self, t: ThreadId, l: SyncId) {
        let (readers, writer) = self.rw(l);
        let (from, to) = self.onwards(t);
        let writes = self.is(writer, Self::me(t));
        let give = self.set(writer, 0);
        self.sync_edge(t, (from, to), writes, vec![give], Action::WriteUnlock(l));
        let reads = self.terms().not(writes);
        let own = self.own_reads(t, l);
        let less = [Some(readers), own].into_iter().flatten().map(|v| self.plus(v, -1)).collect();
        let nobody = self.is(own.unwrap_or(readers), 0);
        let somebody = self.terms().not(nobody);
        let held = self.terms().and(reads, somebody);
        self.sync_edge(t, (from, to), held, less, Action::ReadUnlock(l));
        // To count below zero means nothing, so this is an error whatever the settings are.
        let name = self.program.sync(l).name.clone();
        let says = match own {
            None => format!("`{name}` is given back while nobody holds it"),
            Some(_) => format!("`{name}` is given back by a thread that does not hold it"),
        };
        let wrong = self.error_location(t, ErrorKind::LockMisuse, &says);
        let misuse = self.terms().and(reads, nobody);
        self.sync_edge(t, (from, wrong), misuse, Vec::new(), Action::ReadUnlock(l));
    }

    /// The variable that says what a thread waits at.
    fn waiting(&mut self, t: ThreadId) -> VarId {
        if let Some(w) = self.program.thread(t).waiting {
            return w;
        }
        let name = format!("{}.waiting", self.program.thread(t).name);
        let w = self.plain(&name, WAITING, Scope::Shared, 0, true);
        self.program.threads[t.index()].waiting = Some(w);
        w
    }

    /// Waits at a condition variable: gives the mutex back, waits to be woken, takes the mutex again. Three steps.
    pub fn wait(&mut self, t: ThreadId, condition: SyncId, mutex: SyncId) {
        self.wait_within(t, condition, mutex, None);
    }

    /// The same with a limit of time: `result` gets 0, or `over` if the time is over before somebody wakes it.
    pub fn timed_wait(&mut self, t: ThreadId, condition: SyncId, mutex: SyncId, result: VarId, over: u64) {
        self.wait_within(t, condition, mutex, Some((result, over)));
    }

    /// The same without a limit: `result` gets 0.
    pub(crate) fn wait_told(&mut self, t: ThreadId, condition: SyncId, mutex: SyncId, result: VarId) {
        self.wait_within(t, condition, mutex, None);
        let (yes, fine) = (self.true_term(), self.set(result, 0));
        self.then(t, yes, vec![fine]);
    }

    fn wait_within(&mut self, t: ThreadId, condition: SyncId, mutex: SyncId, limit: Option<(VarId, u64)>) {
        let (owner, waiting) = (self.owner(mutex), self.waiting(t));
        self.waits_at[t.index()].insert(condition);
        let edge = self.onwards(t);
        let held = self.is(owner, Self::me(t));
        let give = vec![self.set(owner, 0), self.set(waiting, condition.0 as u64 + 1)];
        self.give_back(t, edge, held, give, Action::Wait { condition, mutex }, mutex);
        let edge = self.onwards(t);
        let woken = self.is(waiting, 0);
        let fine: Vec<Assign> = limit.map(|(result, _)| self.set(result, 0)).into_iter().collect();
        self.sync_edge(t, edge, woken, fine.clone(), Action::Wake { condition, spurious: false });
        if self.spurious {
            let not = self.terms().not(woken);
            let mut alone = vec![self.set(waiting, 0)];
            alone.extend(fine);
            self.sync_edge(t, edge, not, alone, Action::Wake { condition, spurious: true });
        }
        if let Some((result, over)) = limit {
            let not = self.terms().not(woken);
            let alone = vec![self.set(waiting, 0), self.set(result, over)];
            self.sync_edge(t, edge, not, alone, Action::TimeOut { condition });
        }
        self.lock(t, mutex);
    }

    /// Wakes one thread that waits at a condition variable, if there is one.
    pub fn signal(&mut self, t: ThreadId, condition: SyncId) {
        let edge = self.onwards(t);
        let yes = self.true_term();
        self.sync_edge(t, edge, yes, Vec::new(), Action::Signal { condition, woken: None });
    }

    /// Wakes all threads that wait at a condition variable.
    pub fn broadcast(&mut self, t: ThreadId, condition: SyncId) {
        let edge = self.onwards(t);
        let yes = self.true_term();
        self.sync_edge(t, edge, yes, Vec::new(), Action::Broadcast(condition));
    }

    fn barrier_vars(&self, b: SyncId) -> (VarId, VarId) {
        match self.program.sync(b).kind {
            SyncKind::Barrier { arrived, needed } => (arrived, needed),
            _ => panic!("`{}` is no barrier", self.program.sync(b).name),
        }
    }

    /// Waits at a barrier. `result`, if there is one, gets `serial` for who comes last and 0 for the others.
    pub fn arrive(&mut self, t: ThreadId, barrier: SyncId, result: Option<(VarId, u64)>) {
        let (arrived, needed) = self.barrier_vars(barrier);
        let waiting = self.waiting(t);
        self.waits_at[t.index()].insert(barrier);
        let (from, between) = self.onwards(t);
        let to = self.location(t);
        self.go_on_at(t, to);
        let more = self.plus(arrived, 1);
        let needed = self.value(needed);
        let early = self.terms().lt(more.value, needed);
        let mut assigns = vec![more, self.set(waiting, barrier.0 as u64 + 1)];
        if let Some((r, _)) = result {
            assigns.push(self.set(r, 0));
        }
        self.sync_edge(t, (from, between), early, assigns, Action::Arrive { barrier, last: false });
        let late = self.terms().not(early);
        let mut assigns = vec![self.set(arrived, 0)];
        if let Some((r, serial)) = result {
            assigns.push(self.set(r, serial));
        }
        self.sync_edge(t, (from, to), late, assigns, Action::Arrive { barrier, last: true });
        let woken = self.is(waiting, 0);
        self.sync_edge(t, (between, to), woken, Vec::new(), Action::Pass(barrier));
    }

    /// Takes one from a semaphore.
    pub fn sem_wait(&mut self, t: ThreadId, s: SyncId) {
        let count = self.count(s);
        let edge = self.onwards(t);
        let none = self.is(count, 0);
        let some = self.terms().not(none);
        let take = self.plus(count, -1);
        self.sync_edge(t, edge, some, vec![take], Action::SemWait(s));
    }

    /// Takes one from a semaphore if there is one.
    pub fn sem_try_wait(&mut self, t: ThreadId, s: SyncId, result: VarId, done: u64, busy: u64) {
        let count = self.count(s);
        let none = self.is(count, 0);
        let some = self.terms().not(none);
        let take = self.plus(count, -1);
        self.tried(t, some, vec![take], Action::SemTryWait(s), (result, done, busy));
    }

    /// Gives one to a semaphore.
    pub fn sem_post(&mut self, t: ThreadId, s: SyncId) {
        let count = self.count(s);
        let edge = self.onwards(t);
        let give = self.plus(count, 1);
        let yes = self.true_term();
        self.sync_edge(t, edge, yes, vec![give], Action::SemPost(s));
    }

    /// Gives the number of a barrier or of a semaphore another value while the program runs.
    pub fn sync_init(&mut self, t: ThreadId, s: SyncId, value: Term) {
        let assigns = match self.program.sync(s).kind {
            SyncKind::Barrier { arrived, needed } => {
                vec![self.set(arrived, 0), Assign { place: Place::scalar(needed), value }]
            }
            SyncKind::Semaphore { count } => vec![Assign { place: Place::scalar(count), value }],
            _ => panic!("`{}` has no number to set", self.program.sync(s).name),
        };
        let edge = self.onwards(t);
        let yes = self.true_term();
        self.sync_edge(t, edge, yes, assigns, Action::SyncInit(s));
    }

    /// Makes a thread, which must come from [`Builder::created_thread`]; `assigns` gives its locals values, and those of `t`.
    ///
    /// # Panics
    /// If the thread runs from the start.
    pub fn create(&mut self, t: ThreadId, child: ThreadId, mut assigns: Vec<Assign>) {
        let Some(life) = self.program.thread(child).life else {
            panic!("the thread is there from the start")
        };
        let edge = self.onwards(t);
        assigns.push(self.set(life, Thread::ALIVE));
        let yes = self.true_term();
        self.sync_edge(t, edge, yes, assigns, Action::Create(child));
    }

    /// Waits for the end of a thread that somebody makes.
    ///
    /// # Panics
    /// If the thread runs from the start.
    pub fn join(&mut self, t: ThreadId, child: ThreadId) {
        let guard = self.joinable(child);
        let edge = self.onwards(t);
        self.sync_edge(t, edge, guard, Vec::new(), Action::Join(child));
    }

    /// The condition under which a thread can be joined.
    pub(crate) fn joinable(&mut self, child: ThreadId) -> Term {
        let Some(life) = self.program.thread(child).life else {
            panic!("the thread is there from the start")
        };
        self.joined.insert(child);
        self.is(life, Thread::ENDED)
    }

    /// Now that it is known who waits where: signals, broadcasts, and those who come last to a barrier wake them.
    pub(super) fn wake_waiters(&mut self) {
        for t in self.program.thread_ids() {
            let transitions = std::mem::take(&mut self.program.threads[t.index()].transitions);
            let mut out = Vec::with_capacity(transitions.len());
            for mut e in transitions {
                let object = match e.action {
                    Action::Signal { condition, woken: None } => condition,
                    Action::Broadcast(s) | Action::Arrive { barrier: s, last: true } => s,
                    _ => {
                        out.push(e);
                        continue;
                    }
                };
                let waiters: Vec<(ThreadId, VarId)> = self
                    .program
                    .thread_ids()
                    .filter(|u| *u != t && self.waits_at[u.index()].contains(&object))
                    .filter_map(|u| Some((u, self.program.thread(u).waiting?)))
                    .collect();
                let number = object.0 as u64 + 1;
                if let Action::Signal { condition, .. } = e.action {
                    let mut nobody = e.guard;
                    for (u, var) in waiters {
                        let waits = self.is(var, number);
                        let mut edge = e.clone();
                        edge.guard = self.terms().and(e.guard, waits);
                        edge.assigns.push(self.set(var, 0));
                        edge.action = Action::Signal { condition, woken: Some(u) };
                        out.push(edge);
                        let not = self.terms().not(waits);
                        nobody = self.terms().and(nobody, not);
                    }
                    e.guard = nobody;
                } else {
                    for (_, var) in waiters {
                        let waits = self.is(var, number);
                        let woken = self.set(var, 0);
                        let old = self.value(var);
                        let value = self.terms().ite(waits, woken.value, old);
                        e.assigns.push(Assign { place: Place::scalar(var), value });
                    }
                }
                out.push(e);
            }
            self.program.threads[t.index()].transitions = out;
        }
    }
}
