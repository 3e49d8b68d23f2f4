//! Makes programs without C text: what the tests use, and what the lowering from C is written with.
//!
//! ```
//! use model::{Builder, Type};
//! let mut b = Builder::new();
//! let x = b.shared("x", Type::INT, 0);
//! let l = b.mutex("l");
//! for name in ["A", "B"] {
//!     let t = b.thread(name);
//!     let tmp = b.local(t, "t", Type::INT, 0);
//!     b.lock(t, l);
//!     let read = b.value(x);
//!     b.assign(t, tmp, read);
//!     let one = b.terms().int(1);
//!     let old = b.value(tmp);
//!     let next = b.terms().add(old, one);
//!     b.assign(t, x, next);
//!     b.unlock(t, l);
//! }
//! let program = b.finish();
//! assert_eq!(program.threads.len(), 2);
//! ```

use crate::program::{
    Action, ErrorKind, Location, LocationId, LocationKind, Mark, Order, Program, Scope, Span, Sync, SyncId,
    SyncKind, Thread, ThreadId, Transition, TransitionId, Var,
};
use crate::term::{Assign, Node, Place, Term, Terms, Type, VarId};
use std::collections::{BTreeSet, HashMap};

/// The type of the variable of a mutex.
pub(crate) const OWNER: Type = Type::unsigned(8);
/// The type of the variable that says what a thread waits at.
pub(crate) const WAITING: Type = Type::unsigned(16);
/// The type of the variable of a thread's life.
pub(crate) const LIFE: Type = Type::unsigned(2);

/// A program that is being made. Each thread has a place at which it goes on: [`Builder::here`].
#[derive(Clone, Debug, Default)]
pub struct Builder {
    program: Program,
    here: Vec<LocationId>,
    waits_at: Vec<BTreeSet<SyncId>>,
    joined: BTreeSet<ThreadId>,
    span: Span,
    /// Whether a mutex that is given back by who does not hold it leads to an error location.
    lock_misuse: bool,
    /// Whether a thread that waits may return for no reason.
    spurious: bool,
    /// What the accesses of an atomic operation order: one that writes, and one that does not.
    order: Option<(Order, Order)>,
}

impl Builder {
    /// An empty program. Locks that are given back by who does not hold them are errors; nobody wakes up for no reason.
    pub fn new() -> Builder {
        Builder { lock_misuse: true, ..Builder::default() }
    }

    /// Whether a lock that is given back by who does not hold it is an error. If not, the program must not do it: it is given
    /// back all the same.
    pub fn check_locks(&mut self, yes: bool) {
        self.lock_misuse = yes;
    }

    /// Whether a thread that waits at a condition variable may return with nobody having woken it.
    pub fn spurious_wakeups(&mut self, yes: bool) {
        self.spurious = yes;
    }

    /// The terms of the program.
    pub fn terms(&mut self) -> &mut Terms {
        &mut self.program.terms
    }

    /// The program so far. Signals, broadcasts, barriers and joins get their last form when it is finished.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Adds a file; spans name it by the number.
    pub fn file(&mut self, name: &str) -> crate::FileId {
        let known = self.program.files.iter().position(|f| f == name);
        let at = known.unwrap_or_else(|| {
            self.program.files.push(name.to_owned());
            self.program.files.len() - 1
        });
        crate::FileId(at as u16)
    }

    /// Where in the source the next things come from.
    pub fn at_span(&mut self, span: Span) {
        self.span = span;
    }

    /// Where in the source the next things come from.
    pub fn span(&self) -> Span {
        self.span
    }

    /// A variable with all that there is to say about it. A name that is taken gets a number.
    pub fn variable(&mut self, mut var: Var) -> VarId {
        if self.program.var_named(&var.name).is_some() {
            let other = |n: &u32| self.program.var_named(&format!("{}#{n}", var.name)).is_none();
            let n = (2..).find(other).unwrap_or(2);
            var.name = format!("{}#{n}", var.name);
        }
        self.program.vars.push(var);
        VarId(self.program.vars.len() as u32 - 1)
    }

    fn plain(&mut self, name: &str, ty: Type, scope: Scope, init: i128, internal: bool) -> VarId {
        let span = self.span;
        let init = vec![ty.bits_of(init)];
        self.variable(Var {
            name: name.to_owned(),
            ty,
            len: None,
            scope,
            init,
            internal,
            atomic: false,
            parts: false,
            span,
        })
    }

    /// A shared variable.
    pub fn shared(&mut self, name: &str, ty: Type, init: i128) -> VarId {
        self.plain(name, ty, Scope::Shared, init, false)
    }

    /// A shared array.
    pub fn shared_array(&mut self, name: &str, ty: Type, init: &[i128]) -> VarId {
        let span = self.span;
        self.variable(Var {
            name: name.to_owned(),
            ty,
            len: Some(init.len() as u32),
            scope: Scope::Shared,
            init: init.iter().map(|v| ty.bits_of(*v)).collect(),
            internal: false,
            atomic: false,
            parts: false,
            span,
        })
    }

    /// A variable of one thread.
    pub fn local(&mut self, t: ThreadId, name: &str, ty: Type, init: i128) -> VarId {
        let name = format!("{}.{name}", self.program.thread(t).name);
        self.plain(&name, ty, Scope::Local(t), init, false)
    }

    fn sync(&mut self, name: &str, kind: SyncKind) -> SyncId {
        let span = self.span;
        self.program.syncs.push(Sync { name: name.to_owned(), kind, span });
        SyncId(self.program.syncs.len() as u32 - 1)
    }

    /// A mutex.
    pub fn mutex(&mut self, name: &str) -> SyncId {
        let owner = self.plain(name, OWNER, Scope::Shared, 0, true);
        self.sync(name, SyncKind::Mutex { owner })
    }

    /// A reader-writer lock.
    pub fn rwlock(&mut self, name: &str) -> SyncId {
        let readers = self.plain(&format!("{name}.readers"), OWNER, Scope::Shared, 0, true);
        let writer = self.plain(&format!("{name}.writer"), OWNER, Scope::Shared, 0, true);
        self.sync(name, SyncKind::RwLock { readers, writer })
    }

    /// A condition variable.
    pub fn condition(&mut self, name: &str) -> SyncId {
        self.sync(name, SyncKind::Condition)
    }

    /// A barrier for so many threads.
    pub fn barrier(&mut self, name: &str, needed: u32) -> SyncId {
        let arrived = self.plain(&format!("{name}.arrived"), Type::UINT, Scope::Shared, 0, true);
        let needed = self.plain(&format!("{name}.needed"), Type::UINT, Scope::Shared, needed as i128, true);
        self.sync(name, SyncKind::Barrier { arrived, needed })
    }

    /// A semaphore.
    pub fn semaphore(&mut self, name: &str, count: u32) -> SyncId {
        let count = self.plain(name, Type::UINT, Scope::Shared, count as i128, true);
        self.sync(name, SyncKind::Semaphore { count })
    }

    /// A thread that runs from the start.
    pub fn thread(&mut self, name: &str) -> ThreadId {
        let taken = |n: &str| self.program.threads.iter().any(|t| t.name == n);
        let mut unique = name.to_owned();
        let mut n = 2;
        while taken(&unique) {
            unique = format!("{name}#{n}");
            n += 1;
        }
        self.program.threads.push(Thread {
            name: unique,
            entry: LocationId(0),
            locations: Vec::new(),
            transitions: Vec::new(),
            out: Vec::new(),
            life: None,
            waiting: None,
        });
        let t = ThreadId(self.program.threads.len() as u16 - 1);
        self.waits_at.push(BTreeSet::new());
        let entry = self.location(t);
        self.here.push(entry);
        t
    }

    /// A thread that runs once another one has made it ([`Builder::create`]).
    pub fn created_thread(&mut self, name: &str) -> ThreadId {
        let t = self.thread(name);
        let name = format!("{}.life", self.program.thread(t).name);
        let life = self.plain(&name, LIFE, Scope::Shared, Thread::UNBORN as i128, true);
        self.program.threads[t.index()].life = Some(life);
        t
    }

    /// A new location, at which the thread does not go on yet.
    pub fn location(&mut self, t: ThreadId) -> LocationId {
        let span = self.span;
        let thread = &mut self.program.threads[t.index()];
        thread.locations.push(Location {
            kind: LocationKind::Normal,
            label: None,
            span,
            may_block: false,
            loop_head: false,
            marks: Vec::new(),
        });
        LocationId(thread.locations.len() as u32 - 1)
    }

    /// Where the thread goes on.
    pub fn here(&self, t: ThreadId) -> LocationId {
        self.here[t.index()]
    }

    /// The thread goes on there from now on.
    pub fn go_on_at(&mut self, t: ThreadId, at: LocationId) {
        self.here[t.index()] = at;
    }

    /// Gives the place at which the thread goes on a name.
    pub fn label(&mut self, t: ThreadId, name: &str) {
        let at = self.here(t);
        self.program.threads[t.index()].locations[at.index()].label = Some(name.to_owned());
    }

    /// Something of the source is at a location.
    pub(crate) fn mark(&mut self, t: ThreadId, at: LocationId, mark: Mark) {
        self.program.threads[t.index()].locations[at.index()].marks.push(mark);
    }

    /// The annotations that stand where the thread goes on stand elsewhere from now on, unless that place has a name of its own.
    pub(crate) fn move_notes(&mut self, t: ThreadId, to: LocationId) {
        let at = self.here(t);
        let locations = &mut self.program.threads[t.index()].locations;
        if at == to || locations[at.index()].label.is_some() {
            return;
        }
        let note = |m: &Mark| matches!(m, Mark::Note(_));
        let notes: Vec<Mark> = locations[at.index()].marks.iter().copied().filter(note).collect();
        locations[at.index()].marks.retain(|m| !note(m));
        locations[to.index()].marks.extend(notes);
    }

    /// The value of a variable.
    pub fn value(&mut self, v: VarId) -> Term {
        let ty = self.program.var(v).ty;
        self.program.terms.var(v, ty)
    }

    /// The value of a cell.
    pub fn cell(&mut self, v: VarId, index: Term) -> Term {
        let ty = self.program.var(v).ty;
        self.program.terms.cell(v, index, ty)
    }

    /// What accesses order from here on, if they are those of an atomic operation: one that writes, and one that does not.
    pub(crate) fn set_order(&mut self, order: Option<(Order, Order)>) {
        self.order = order;
    }

    /// Steps from these locations are parts of atomic blocks: one access alone is atomic there, too.
    pub(crate) fn order_inside(&mut self, t: ThreadId, inside: &BTreeSet<LocationId>) {
        for e in &mut self.program.threads[t.index()].transitions {
            if e.action != Action::Local && inside.contains(&e.from) {
                e.order = Order::Both;
            }
        }
    }

    /// There is a fence.
    pub(crate) fn fence(&mut self) {
        self.program.fences = true;
    }

    /// An edge with all that there is to say about it.
    pub fn edge(&mut self, t: ThreadId, mut transition: Transition) -> TransitionId {
        if let Some((writes, reads)) = self.order
            && transition.action != Action::Local
        {
            let accesses = self.program.accesses(&transition);
            transition.order = if accesses.writes.is_empty() { reads } else { writes };
        }
        let thread = &mut self.program.threads[t.index()];
        thread.transitions.push(transition);
        TransitionId(thread.transitions.len() as u32 - 1)
    }

    /// An edge between two locations. What it accesses says whether it is local, a read, a write, or an update.
    pub fn step(&mut self, t: ThreadId, from: LocationId, to: LocationId, guard: Term, assigns: Vec<Assign>) {
        let span = self.span;
        let mut edge = Transition {
            from,
            to,
            guard,
            assigns,
            havoc: Vec::new(),
            action: Action::Local,
            span,
            order: Order::Unsaid,
        };
        edge.action = self.action_of(&edge);
        self.edge(t, edge);
    }

    /// What a transition on data alone is.
    pub(crate) fn action_of(&self, t: &Transition) -> Action {
        let a = self.program.accesses(t);
        let same = |p: &Place| a.writes.first().or(a.reads.first()) == Some(p);
        if !a.reads.iter().chain(&a.writes).all(same) {
            return Action::Atomic;
        }
        match (a.reads.is_empty(), a.writes.is_empty()) {
            (true, true) => Action::Local,
            (false, true) => Action::Read,
            (true, false) => Action::Write,
            (false, false) => Action::Update,
        }
    }

    /// Goes on from here to a new location by an edge with a guard and assignments.
    pub fn then(&mut self, t: ThreadId, guard: Term, assigns: Vec<Assign>) -> LocationId {
        let (from, to) = (self.here(t), self.location(t));
        self.step(t, from, to, guard, assigns);
        self.go_on_at(t, to);
        to
    }

    /// Assigns a variable and goes on.
    pub fn assign(&mut self, t: ThreadId, var: VarId, value: Term) {
        self.assign_place(t, Place::scalar(var), value);
    }

    /// Assigns a variable or a cell and goes on.
    pub fn assign_place(&mut self, t: ThreadId, place: Place, value: Term) {
        let yes = self.terms().boolean(true);
        self.then(t, yes, vec![Assign { place, value }]);
    }

    /// Gives a place any value of its type and goes on.
    pub fn havoc(&mut self, t: ThreadId, place: Place) {
        let guard = self.terms().boolean(true);
        let (from, to, span) = (self.here(t), self.location(t), self.span);
        let mut edge = Transition {
            from,
            to,
            guard,
            assigns: Vec::new(),
            havoc: vec![place],
            action: Action::Local,
            span,
            order: Order::Unsaid,
        };
        edge.action = self.action_of(&edge);
        self.edge(t, edge);
        self.go_on_at(t, to);
    }

    /// Gives several places any value and goes on.
    pub(crate) fn havoc_all(&mut self, t: ThreadId, places: Vec<Place>) {
        let guard = self.terms().boolean(true);
        let (from, to, span) = (self.here(t), self.location(t), self.span);
        let mut edge = Transition {
            from,
            to,
            guard,
            assigns: Vec::new(),
            havoc: places,
            action: Action::Local,
            span,
            order: Order::Unsaid,
        };
        edge.action = self.action_of(&edge);
        self.edge(t, edge);
        self.go_on_at(t, to);
    }

    /// One more input on an edge.
    pub(crate) fn add_havoc(&mut self, t: ThreadId, edge: TransitionId, place: Place) {
        let edge = &mut self.program.threads[t.index()].transitions[edge.index()];
        if !edge.havoc.contains(&place) {
            edge.havoc.push(place);
        }
    }

    /// The edge that was made last.
    pub(crate) fn last_edge(&self, t: ThreadId) -> TransitionId {
        TransitionId(self.program.thread(t).transitions.len() as u32 - 1)
    }

    /// The value of a cell at the start.
    pub(crate) fn set_initial(&mut self, var: VarId, index: u64, bits: u64) {
        self.program.vars[var.index()].init[index as usize] = bits;
    }

    /// An edge that joins a thread where a condition holds.
    pub(crate) fn join_if(
        &mut self,
        t: ThreadId,
        from: LocationId,
        to: LocationId,
        condition: Term,
        child: ThreadId,
    ) {
        let ended = self.joinable(child);
        let guard = self.terms().and(condition, ended);
        self.sync_edge(t, (from, to), guard, Vec::new(), Action::Join(child));
    }

    /// An edge that succeeds and one that fails to exchange a place if it has a value; `done` gets 1 or 0, `old` what was there.
    pub(crate) fn compare_exchange(
        &mut self,
        t: ThreadId,
        place: Place,
        (expected, desired): (Term, Term),
        (done, old): (VarId, VarId),
        may_fail: bool,
    ) {
        let ty = self.program.var(place.var).ty;
        let edge = self.onwards(t);
        let there = self.program.terms.read(place, ty);
        let same = self.terms().eq(there, expected);
        let other = self.terms().not(same);
        let action = Action::CompareExchange { expected, desired };
        let seen = Assign { place: Place::scalar(old), value: there };
        let (yes, no) = (self.set(done, 1), self.set(done, 0));
        self.sync_edge(t, edge, same, vec![Assign { place, value: desired }, yes, seen], action);
        self.sync_edge(t, edge, other, vec![no, seen], action);
        if may_fail {
            self.sync_edge(t, edge, same, vec![no, seen], action);
        }
    }

    /// Goes on only where the condition holds; waits until it does.
    pub fn assume(&mut self, t: ThreadId, condition: Term) {
        let from = self.here(t);
        self.program.threads[t.index()].locations[from.index()].may_block = true;
        self.then(t, condition, Vec::new());
    }

    /// Two ways on from here: where the condition holds, and where not.
    pub fn branch(&mut self, t: ThreadId, condition: Term) -> (LocationId, LocationId) {
        let from = self.here(t);
        let (yes, no) = (self.location(t), self.location(t));
        let not = self.terms().not(condition);
        self.step(t, from, yes, condition, Vec::new());
        self.step(t, from, no, not, Vec::new());
        (yes, no)
    }

    /// An edge from here to a location that is there already; the thread goes on nowhere until told so.
    pub fn jump(&mut self, t: ThreadId, to: LocationId) {
        let yes = self.terms().boolean(true);
        let from = self.here(t);
        self.step(t, from, to, yes, Vec::new());
    }

    /// An error location.
    pub fn error_location(&mut self, t: ThreadId, kind: ErrorKind, message: &str) -> LocationId {
        let at = self.location(t);
        self.set_kind(t, at, LocationKind::Error { kind, message: message.to_owned() });
        at
    }

    /// Says what a location is.
    pub fn set_kind(&mut self, t: ThreadId, at: LocationId, kind: LocationKind) {
        self.program.threads[t.index()].locations[at.index()].kind = kind;
    }

    /// Says that a thread may wait at a location.
    pub fn set_may_block(&mut self, t: ThreadId, at: LocationId) {
        self.program.threads[t.index()].locations[at.index()].may_block = true;
    }

    /// Goes on where the condition holds; where it does not, something is wrong.
    pub fn assert(&mut self, t: ThreadId, condition: Term, message: &str) {
        let from = self.here(t);
        let wrong = self.error_location(t, ErrorKind::Assertion, message);
        let not = self.terms().not(condition);
        self.step(t, from, wrong, not, Vec::new());
        self.then(t, condition, Vec::new());
    }

    fn sync_edge(
        &mut self,
        t: ThreadId,
        (from, to): (LocationId, LocationId),
        guard: Term,
        assigns: Vec<Assign>,
        action: Action,
    ) {
        let span = self.span;
        self.edge(
            t,
            Transition { from, to, guard, assigns, havoc: Vec::new(), action, span, order: Order::Unsaid },
        );
    }

    fn onwards(&mut self, t: ThreadId) -> (LocationId, LocationId) {
        let (from, to) = (self.here(t), self.location(t));
        self.go_on_at(t, to);
        (from, to)
    }

    fn set(&mut self, var: VarId, value: u64) -> Assign {
        let ty = self.program.var(var).ty;
        Assign { place: Place::scalar(var), value: self.program.terms.constant(value, ty) }
    }

    fn is(&mut self, var: VarId, value: u64) -> Term {
        let ty = self.program.var(var).ty;
        let (v, c) = (self.program.terms.var(var, ty), self.program.terms.constant(value, ty));
        self.program.terms.eq(v, c)
    }

    fn plus(&mut self, var: VarId, by: i128) -> Assign {
        let ty = self.program.var(var).ty;
        let (v, c) = (self.program.terms.var(var, ty), self.program.terms.number(by, ty));
        Assign { place: Place::scalar(var), value: self.program.terms.add(v, c) }
    }

    fn me(t: ThreadId) -> u64 {
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

    fn true_term(&mut self) -> Term {
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

    /// Takes a reader-writer lock for reading.
    pub fn read_lock(&mut self, t: ThreadId, l: SyncId) {
        let (readers, writer) = self.rw(l);
        let edge = self.onwards(t);
        let (free, take) = (self.is(writer, 0), self.plus(readers, 1));
        self.sync_edge(t, edge, free, vec![take], Action::ReadLock(l));
    }

    /// The same if nobody writes.
    pub fn try_read_lock(&mut self, t: ThreadId, l: SyncId, result: VarId, done: u64, busy: u64) {
        let (readers, writer) = self.rw(l);
        let (free, take) = (self.is(writer, 0), self.plus(readers, 1));
        self.tried(t, free, vec![take], Action::TryReadLock(l), (result, done, busy));
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
        let one_less = self.plus(readers, -1);
        let nobody = self.is(readers, 0);
        let somebody = self.terms().not(nobody);
        let held = self.terms().and(reads, somebody);
        self.sync_edge(t, (from, to), held, vec![one_less], Action::ReadUnlock(l));
        // To count below zero means nothing, so this is an error whatever the settings are.
        let name = self.program.sync(l).name.clone();
        let says = format!("`{name}` is given back while nobody holds it");
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

    /// The program. Where a thread was left, it ends.
    ///
    /// # Panics
    /// If the program breaks a promise of [`Program::check`].
    pub fn finish(self) -> Program {
        let mut program = self.unfinished();
        program.settle();
        if let Err(why) = program.check() {
            panic!("{why}");
        }
        program
    }

    /// The program without what follows from its transitions.
    pub(crate) fn unfinished(mut self) -> Program {
        for t in self.program.thread_ids() {
            self.end_where_left(t);
        }
        self.wake_waiters();
        self.program
    }

    /// Locations that nothing leaves are ends; a thread that is joined says so in a last step.
    fn end_where_left(&mut self, t: ThreadId) {
        let thread = self.program.thread(t);
        let mut leaves = vec![true; thread.locations.len()];
        thread.transitions.iter().for_each(|e| leaves[e.from.index()] = false);
        let ends: Vec<LocationId> = thread
            .location_ids()
            .filter(|l| leaves[l.index()])
            .filter(|l| matches!(thread.location(*l).kind, LocationKind::Normal | LocationKind::End))
            .collect();
        let life = thread.life.filter(|_| self.joined.contains(&t));
        let mut last = None;
        for at in ends {
            match life {
                None => self.set_kind(t, at, LocationKind::End),
                Some(life) => {
                    self.span = self.program.thread(t).location(at).span;
                    self.set_kind(t, at, LocationKind::Normal);
                    let to = *last.get_or_insert_with(|| self.location(t));
                    self.set_kind(t, to, LocationKind::End);
                    let over = self.set(life, Thread::ENDED);
                    let yes = self.true_term();
                    self.sync_edge(t, (at, to), yes, vec![over], Action::End);
                }
            }
        }
    }

    /// Now that it is known who waits where: signals, broadcasts, and those who come last to a barrier wake them.
    fn wake_waiters(&mut self) {
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

impl Program {
    /// Brings what follows from the transitions up to date: those from each location, loop heads, where threads may wait, and the
    /// guard that asks whether the thread was made.
    pub(crate) fn settle(&mut self) {
        for i in 0..self.threads.len() {
            self.guard_entry(i);
            let thread = &mut self.threads[i];
            thread.out = vec![Vec::new(); thread.locations.len()];
            for (n, e) in thread.transitions.iter().enumerate() {
                thread.out[e.from.index()].push(TransitionId(n as u32));
                if e.action.may_block() {
                    thread.locations[e.from.index()].may_block = true;
                }
            }
            if thread.life.is_some() {
                let entry = thread.entry.index();
                thread.locations[entry].may_block = true;
            }
            mark_loop_heads(thread);
        }
    }

    /// Keeps some of the variables, and numbers them anew; no edge names the others.
    pub(crate) fn keep_vars(&mut self, keep: &[bool]) {
        let mut next = 0;
        let number: Vec<VarId> = keep
            .iter()
            .map(|k| {
                next += *k as u32;
                VarId(next.wrapping_sub(1))
            })
            .collect();
        let mut left = keep.iter();
        self.vars.retain(|_| left.next().copied().unwrap_or(true));
        let old = std::mem::take(&mut self.terms);
        let mut new = Rename { old, new: Terms::new(), number, known: HashMap::new() };
        for thread in &mut self.threads {
            thread.life = thread.life.map(|v| new.var(v));
            thread.waiting = thread.waiting.map(|v| new.var(v));
            for e in &mut thread.transitions {
                e.guard = new.term(e.guard);
                for a in &mut e.assigns {
                    *a = Assign { place: new.place(a.place), value: new.term(a.value) };
                }
                e.havoc.iter_mut().for_each(|h| *h = new.place(*h));
                if let Action::CompareExchange { expected, desired } = &mut e.action {
                    (*expected, *desired) = (new.term(*expected), new.term(*desired));
                }
            }
        }
        for s in &mut self.syncs {
            match &mut s.kind {
                SyncKind::Mutex { owner: v } | SyncKind::Semaphore { count: v } => *v = new.var(*v),
                SyncKind::RwLock { readers: v, writer: w } | SyncKind::Barrier { arrived: v, needed: w } => {
                    (*v, *w) = (new.var(*v), new.var(*w));
                }
                SyncKind::Condition => {}
            }
        }
        self.terms = new.new;
    }

    /// A thread that is made later takes its first step only then; nothing may lead back to its entry.
    fn guard_entry(&mut self, i: usize) {
        let Some(life) = self.threads[i].life else { return };
        let entry = self.threads[i].entry;
        if self.threads[i].transitions.iter().any(|e| e.to == entry) {
            let first = self.threads[i].locations[entry.index()].clone();
            self.threads[i].locations.push(first);
            let new = LocationId(self.threads[i].locations.len() as u32 - 1);
            let span = self.threads[i].locations[entry.index()].span;
            self.threads[i].entry = new;
            let guard = self.terms.boolean(true);
            let edge = Transition {
                from: new,
                to: entry,
                guard,
                assigns: vec![],
                havoc: vec![],
                action: Action::Local,
                span,
                order: Order::Unsaid,
            };
            self.threads[i].transitions.push(edge);
        }
        let ty = self.vars[life.index()].ty;
        let (v, alive) = (self.terms.var(life, ty), self.terms.constant(Thread::ALIVE, ty));
        let made = self.terms.eq(v, alive);
        let entry = self.threads[i].entry;
        for n in 0..self.threads[i].transitions.len() {
            let e = &self.threads[i].transitions[n];
            if e.from == entry && !self.terms.mentions(e.guard, life) {
                let guard = self.terms.and(made, e.guard);
                self.threads[i].transitions[n].guard = guard;
            }
        }
    }
}

/// Terms again, with other numbers for variables.
struct Rename {
    old: Terms,
    new: Terms,
    number: Vec<VarId>,
    known: HashMap<Term, Term>,
}

impl Rename {
    fn var(&self, v: VarId) -> VarId {
        self.number[v.index()]
    }

    fn place(&mut self, p: Place) -> Place {
        Place { var: self.var(p.var), index: p.index.map(|i| self.term(i)) }
    }

    fn term(&mut self, t: Term) -> Term {
        if let Some(done) = self.known.get(&t) {
            return *done;
        }
        let out = match self.old.node(t) {
            Node::Const(v, ty) => self.new.constant(v, ty),
            Node::Var(v, ty) => self.new.var(self.number[v.index()], ty),
            Node::Cell(v, i, ty) => {
                let i = self.term(i);
                self.new.cell(self.number[v.index()], i, ty)
            }
            Node::Unary(op, a) => {
                let a = self.term(a);
                self.new.unary(op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.term(a), self.term(b));
                self.new.binary(op, a, b)
            }
            Node::Ite(c, a, b) => {
                let (c, a, b) = (self.term(c), self.term(a), self.term(b));
                self.new.ite(c, a, b)
            }
            Node::Cast(to, a) => {
                let a = self.term(a);
                self.new.cast(to, a)
            }
        };
        self.known.insert(t, out);
        out
    }
}

fn mark_loop_heads(thread: &mut Thread) {
    let n = thread.locations.len();
    thread.locations.iter_mut().for_each(|l| l.loop_head = false);
    // 0 not seen, 1 on the path, 2 done.
    let mut seen = vec![0u8; n];
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in std::iter::once(thread.entry.index()).chain(0..n) {
        if seen[start] != 0 {
            continue;
        }
        seen[start] = 1;
        path.push((start, 0));
        while let Some((at, next)) = path.last_mut() {
            match thread.out[*at].get(*next) {
                Some(e) => {
                    *next += 1;
                    let to = thread.transitions[e.index()].to.index();
                    match seen[to] {
                        0 => {
                            seen[to] = 1;
                            path.push((to, 0));
                        }
                        1 => thread.locations[to].loop_head = true,
                        _ => {}
                    }
                }
                None => {
                    seen[*at] = 2;
                    path.pop();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_shows_its_variables_and_edges() {
        let mut b = Builder::new();
        b.check_locks(false);
        let x = b.shared("x", Type::INT, 0);
        let l = b.mutex("l");
        let t = b.thread("A");
        b.lock(t, l);
        let (old, one) = (b.value(x), b.terms().int(1));
        let more = b.terms().add(old, one);
        b.assign(t, x, more);
        let limit = b.terms().int(3);
        let (now, below) = (b.value(x), b.value(x));
        let below = b.terms().lt(below, limit);
        assert_eq!(now, old);
        b.assert(t, below, "x < 3");
        b.unlock(t, l);
        let text = "shared x: i32 = 0\n\
            shared l: u8 = 0\n\
            thread 0 A, from 0\n\
            \x20 0 -> 1: lock l [l == 0] l := 1\n\
            \x20 1 -> 2: x := x + 1\n\
            \x20 2 -> 3: [x >= 3]\n\
            \x20 2 -> 4: [x < 3]\n\
            \x20 3: error assertion: x < 3\n\
            \x20 4 -> 5: unlock l l := 0\n\
            \x20 5: end\n";
        assert_eq!(b.finish().to_string(), text);
    }

    #[test]
    fn a_signal_has_an_edge_for_each_thread_that_may_wait() {
        let mut b = Builder::new();
        let (m, c) = (b.mutex("m"), b.condition("c"));
        for name in ["A", "B"] {
            let t = b.thread(name);
            b.lock(t, m);
            b.wait(t, c, m);
            b.unlock(t, m);
        }
        let t = b.thread("C");
        b.signal(t, c);
        let p = b.finish();
        let woken: Vec<Action> = p.threads[2].transitions.iter().map(|t| t.action).collect();
        let signal = |woken| Action::Signal { condition: c, woken };
        assert_eq!(woken, [signal(Some(ThreadId(0))), signal(Some(ThreadId(1))), signal(None)]);
        assert_eq!(p.show(p.threads[2].transitions[2].guard), "A.waiting != 2 && B.waiting != 2");
    }

    #[test]
    fn a_thread_that_is_joined_says_when_it_ends() {
        let mut b = Builder::new();
        let main = b.thread("main");
        let child = b.created_thread("child");
        b.create(main, child, vec![]);
        b.join(main, child);
        let p = b.finish();
        let text = "shared child.life: u2 = 0\n\
            thread 0 main, from 0\n\
            \x20 0 -> 1: create child child.life := 1\n\
            \x20 1 -> 2: join child [child.life == 2]\n\
            \x20 2: end\n\
            thread 1 child, from 0\n\
            \x20 0 -> 1: end [child.life == 1] child.life := 2\n\
            \x20 1: end\n";
        assert_eq!(p.to_string(), text);
    }
}
