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

mod lives;
mod sync;

use crate::program::{
    Action, ErrorKind, Fence, Fences, Location, LocationId, LocationKind, Mark, Operand, Operator, Order,
    Program, Scope, Span, Sync, SyncId, SyncKind, Thread, ThreadId, Transition, TransitionId, Var,
};
use crate::term::{Assign, Place, Term, Terms, Type, VarId};
use std::collections::{BTreeMap, BTreeSet, HashMap};

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
    /// The names of all variables, each with the number that the next one of this name may get.
    names: HashMap<String, u32>,
    here: Vec<LocationId>,
    waits_at: Vec<BTreeSet<SyncId>>,
    joined: BTreeSet<ThreadId>,
    /// How often a thread has a reader-writer lock for reading.
    reads: BTreeMap<(ThreadId, SyncId), VarId>,
    /// Objects that are destroyed somewhere.
    destroyed: BTreeSet<SyncId>,
    /// Whether nothing is said of what was destroyed, joined or detached.
    unwatched: bool,
    /// Whether locks and the like are set up while the program runs.
    sets_up: bool,
    /// Edges that initialize an object, which nobody may hold or wait at then.
    initialized: Vec<(ThreadId, TransitionId, SyncId)>,
    /// Edges that free the memory of an object, which nobody may hold or wait at then.
    freed: Vec<(ThreadId, TransitionId, SyncId)>,
    /// Edges that end a lock on the stack of the thread, which may not hold it then.
    ended: Vec<(ThreadId, TransitionId, SyncId)>,
    /// By thread: where it is detached, and the value that says whether it is from its beginning.
    detached: BTreeMap<ThreadId, Vec<(ThreadId, TransitionId)>>,
    born_detached: BTreeMap<ThreadId, Term>,
    span: Span,
    /// Whether a mutex that is given back by who does not hold it leads to an error location.
    lock_misuse: bool,
    /// Whether a thread that waits may return for no reason.
    spurious: bool,
    /// What the accesses of an atomic operation order: one that writes, and one that does not.
    order: Option<(Order, Order)>,
    /// The operand that the next steps belong to.
    operand: u32,
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

    /// The operand that the next steps belong to: its number plus one, or 0.
    pub(crate) fn operand(&self) -> u32 {
        self.operand
    }

    pub(crate) fn set_operand(&mut self, operand: u32) {
        self.operand = operand;
    }

    pub(crate) fn new_operator(&mut self, operator: Operator) -> u32 {
        self.program.operators.push(operator);
        self.program.operators.len() as u32 - 1
    }

    /// Adds an operand; its number plus one.
    pub(crate) fn new_operand(&mut self, operand: Operand) -> u32 {
        self.program.operands.push(operand);
        self.program.operands.len() as u32
    }

    pub(crate) fn set_dependent(&mut self, operator: u32) {
        self.program.operators[operator as usize].dependent = true;
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
        if let Some(&from) = self.names.get(&var.name) {
            let other = |n: &u32| !self.names.contains_key(&format!("{}#{n}", var.name));
            let n = (from..).find(other).unwrap_or(from);
            let name = format!("{}#{n}", var.name);
            self.names.insert(std::mem::replace(&mut var.name, name), n + 1);
        }
        self.names.insert(var.name.clone(), 2);
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

    /// Accesses to a variable are no data races.
    pub(crate) fn set_declared_atomic(&mut self, v: VarId) {
        self.program.vars[v.0 as usize].atomic = true;
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
        self.program.syncs.push(Sync { name: name.to_owned(), kind, initialized: None, span });
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
            assumes: false,
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
    /// Gives what it was before.
    pub(crate) fn set_order(&mut self, order: Option<(Order, Order)>) -> Option<(Order, Order)> {
        std::mem::replace(&mut self.order, order)
    }

    /// Whether accesses are those of an atomic operation.
    pub(crate) fn has_order(&self) -> bool {
        self.order.is_some()
    }

    /// Steps from these locations are parts of atomic blocks: one access alone is atomic there, too.
    pub(crate) fn order_inside(&mut self, t: ThreadId, inside: &BTreeSet<LocationId>) {
        for e in &mut self.program.threads[t.index()].transitions {
            if e.action != Action::Local && inside.contains(&e.from) {
                e.order = Order::Both;
            }
        }
    }

    /// A call of `abort` at the place at hand ends the run like a failed assumption.
    pub(crate) fn assumed_abort(&mut self) {
        if !self.program.assumed_aborts.contains(&self.span) {
            self.program.assumed_aborts.push(self.span);
        }
    }

    /// An operation at a place looks at addresses in a way that holds for one layout of memory only.
    pub(crate) fn note_address_use(&mut self, span: Span, what: crate::AddressUse) {
        if !self.program.address_uses.contains(&(span, what)) {
            self.program.address_uses.push((span, what));
        }
    }

    /// A loop is never left, although the source has a way out of it.
    pub(crate) fn never_left(&mut self, thread: ThreadId, from: Span, to: u32) {
        self.program.never_left.push(crate::NeverLeft { thread, from, to });
    }

    /// A thread passes a fence.
    pub(crate) fn fence(&mut self, t: ThreadId, fence: Fence) {
        let yes = self.terms().boolean(true);
        self.then(t, yes, Vec::new());
        if let Some(edge) = self.program.threads[t.index()].transitions.last_mut() {
            edge.fences = Fences::one(fence);
        }
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
            operand: self.operand,
            fences: Fences::default(),
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
            operand: self.operand,
            fences: Fences::default(),
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
            operand: self.operand,
            fences: Fences::default(),
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

    /// A place keeps its value on an edge after all.
    pub(crate) fn remove_havoc(&mut self, t: ThreadId, edge: TransitionId, place: Place) {
        let it = &mut self.program.threads[t.index()].transitions[edge.index()];
        it.havoc.retain(|p| *p != place);
        let action = self.action_of(&self.program.threads[t.index()].transitions[edge.index()]);
        self.program.threads[t.index()].transitions[edge.index()].action = action;
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

    /// Says that a location is at the place in the source at hand.
    pub(crate) fn place_here(&mut self, t: ThreadId, at: LocationId) {
        self.program.threads[t.index()].locations[at.index()].span = self.span;
    }

    /// A step from a location is an atomic block that may have to wait for an assumption.
    pub(crate) fn set_assumes(&mut self, t: ThreadId, at: LocationId) {
        self.program.threads[t.index()].locations[at.index()].assumes = true;
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
            Transition {
                from,
                to,
                guard,
                assigns,
                havoc: Vec::new(),
                action,
                span,
                order: Order::Unsaid,
                operand: self.operand,
                fences: Fences::default(),
            },
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
        self.watch_threads();
        self.wake_waiters();
        self.watch_conditions();
        self.watch_objects();
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
