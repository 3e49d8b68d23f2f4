//! Automata as a program for the searches of `explore`: one shared access, one operation.
//!
//! A thread runs its local steps by itself and announces the next one that others can see. Which operation that is depends on its own
//! past alone: guards are evaluated with everything shared unknown. Making threads, ending and joining are no steps; the search is told
//! of the order they make. What accesses several variables at once (an atomic block) is one operation on one object: variables that
//! occur together in such a step are one object, everywhere. Only a step that copies one cell to another is an operation on both.
//!
//! A thread at an atomic block that cannot go on, and one whose assumption does not hold, takes the execution with it: it does not
//! count. Every execution in which the thread comes later, when it can go on, is seen as well.
//!
//! A thread that comes to a place with the same locals as before, having only read since, does nothing new until one of the words that
//! it read changes: it waits for that.

mod course;
mod executions;

pub use executions::{Execution, Executions, Explored};

use crate::code::{Code, Codes, Effect, Guard, Scratch, Target};
use crate::flow::Flow;
use crate::program::{
    Action, LocationId, LocationKind, Program, SyncId, SyncKind, ThreadId, Transition, TransitionId,
};
use crate::state::{Interpreter, State, Step, TooWide};
use crate::term::{Assign, Place, VarId};
use explore::{
    Access, Decides, Executed, Explorer, MemoryOrder, ObjectId, Op, OpKind, Options, Pending, Site,
    ThreadSet, semantics,
};
use thiserror::Error;

/// Why a program cannot be searched in this way.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CannotRun {
    /// An input has too many values.
    #[error(transparent)]
    TooWide(#[from] TooWide),
    /// A step that has no operation.
    #[error("{0}")]
    NoOperation(String),
}

/// A step on data: where, and whether it writes; for a plain write also what.
struct Touch {
    target: Target,
    writes: bool,
    value: Option<Code>,
}

/// An edge made ready to be taken.
struct Edge {
    guard: Guard,
    effect: Effect,
    /// What it does to data. In an atomic block each is the first cell of the object that all are.
    touches: Vec<Touch>,
    /// It copies one cell to another, and the value may decide this.
    copies: Option<(Target, Target, Decides)>,
    /// It has one outcome, and is on locals and at most one word of data, beside the life of its thread.
    plain: bool,
    /// It writes this to its word, and that word decides nothing else.
    blind: Option<Code>,
}

/// A program made ready for searches.
pub struct Runner<'p> {
    interpreter: Interpreter<'p>,
    flow: Flow,
    codes: Codes<'p>,
    /// By thread and transition.
    edges: Vec<Vec<Edge>>,
    /// By thread: the cells of its own variables.
    locals: Vec<Vec<usize>>,
    /// By cell: the first cell of those that are one object with it.
    group: Vec<u32>,
    /// By cell: the cells of its object.
    members: Vec<Vec<u32>>,
    /// An execution is cut after so many steps of threads.
    pub longest: usize,
    /// Whether final states are kept.
    pub keep_finals: bool,
    /// How often a thread may wake up for no reason in one execution. A loop around a wait may do so for ever.
    pub most_spurious: u32,
}

impl<'p> Runner<'p> {
    /// For a program.
    pub fn new(program: &'p Program) -> Result<Runner<'p>, CannotRun> {
        let interpreter = Interpreter::new(program);
        let cells = interpreter.cells();
        let mut group: Vec<u32> = (0..cells as u32).collect();
        for t in &program.threads {
            for e in &t.transitions {
                if e.action == Action::Atomic && copied(program, t, e).is_none() {
                    unite(&mut group, &footprint(&interpreter, e)?);
                }
                if e.havoc.iter().any(|h| program.var(h.var).is_shared()) {
                    let place = program.show_span(e.span);
                    let says = format!(
                        "{place}: an input is written to a shared variable; write it to a local one first"
                    );
                    return Err(CannotRun::NoOperation(says));
                }
            }
        }
        // A copy to or from what is one object with others is a step on that object too.
        let copies = program.threads.iter().flat_map(|t| t.transitions.iter().map(move |e| (t, e)));
        let copies = copies.filter(|(t, e)| e.action == Action::Atomic && copied(program, t, e).is_some());
        let copies = copies.map(|(_, e)| footprint(&interpreter, e)).collect::<Result<Vec<_>, _>>()?;
        loop {
            let roots: Vec<u32> = (0..cells as u32).map(|c| root(&group, c)).collect();
            let shared = |c: &u32| roots.iter().filter(|r| **r == roots[*c as usize]).count() > 1;
            let apart = |all: &&Vec<u32>| all.iter().any(|c| roots[*c as usize] != roots[all[0] as usize]);
            let Some(all) = copies.iter().filter(apart).find(|all| all.iter().any(shared)) else { break };
            unite(&mut group, all);
        }
        let group: Vec<u32> = (0..cells as u32).map(|c| root(&group, c)).collect();
        let mut members = vec![Vec::new(); cells];
        group.iter().enumerate().for_each(|(c, g)| members[*g as usize].push(c as u32));
        let flow = Flow::of(program);
        let mut locals = vec![Vec::new(); program.threads.len()];
        for (v, var) in program.vars.iter().enumerate() {
            if let crate::Scope::Local(t) = var.scope {
                let cells = (0..var.cells() as u64).filter_map(|i| interpreter.cell(VarId(v as u32), i));
                locals[t.index()].extend(cells);
            }
        }
        let codes = Codes::new(program);
        let mut runner = Runner {
            interpreter,
            flow,
            codes,
            edges: Vec::new(),
            locals,
            group,
            members,
            longest: 100_000,
            keep_finals: false,
            most_spurious: u32::MAX,
        };
        for t in &program.threads {
            let edges = t.transitions.iter().map(|e| runner.edge(t, e)).collect();
            runner.edges.push(edges);
        }
        Ok(runner)
    }

    /// Makes an edge ready.
    fn edge(&mut self, thread: &crate::Thread, e: &Transition) -> Edge {
        let p = self.program();
        let guard = self.codes.guard(thread, e);
        let effect = self.codes.effect(e);
        let all = p.accesses(e);
        let data = |q: &&Place| !p.var(q.var).internal;
        let reads = all.reads.iter().filter(data).map(|q| (q, false));
        let atomic = if e.action == Action::Atomic { footprint(&self.interpreter, e).ok() } else { None };
        let mut touches = Vec::new();
        for (q, writes) in reads.chain(all.writes.iter().filter(data).map(|q| (q, true))) {
            // Of an atomic block the whole group is meant, whichever cell it is.
            let target = if e.action == Action::Atomic {
                let first = self.interpreter.cell(q.var, 0).map(|c| c as u32);
                let of_all = atomic.as_ref().and_then(|all| all.first()).copied();
                first.map(|first| Target::Cell(of_all.unwrap_or(first)))
            } else {
                self.codes.target(*q)
            };
            let Some(target) = target else { continue };
            let assign = e.assigns.iter().find(|x| writes && e.action == Action::Write && x.place == *q);
            let value = assign.map(|x| self.codes.of(x.value));
            touches.push(Touch { target, writes, value });
        }
        let copies = copied(p, thread, e).filter(|_| e.action == Action::Atomic).and_then(|(from, to)| {
            Some((self.codes.target(from)?, self.codes.target(to)?, self.flow.decided_by(to.var)))
        });
        let one = matches!(
            e.action,
            Action::Local | Action::Read | Action::Write | Action::Update | Action::CompareExchange { .. }
        );
        let plain = one
            && e.havoc.is_empty()
            && all.writes.iter().all(|q| data(&q))
            && all.reads.iter().all(|q| data(&q) || thread.life == Some(q.var));
        let shared = |t: crate::Term| {
            let mut any = false;
            p.terms.places(t, &mut |q| any |= p.var(q.var).is_shared());
            any
        };
        let to_memory = |a: &&Assign| p.var(a.place.var).is_shared();
        let indices = e.assigns.iter().filter_map(|a| a.place.index);
        let to_locals = e.assigns.iter().filter(|a| !to_memory(a)).map(|a| a.value);
        let learns = indices.chain(to_locals).any(shared);
        let blind = match e.assigns.iter().filter(to_memory).collect::<Vec<_>>()[..] {
            [one] if plain && guard.rest.is_empty() && !learns => Some(self.codes.of(one.value)),
            _ => None,
        };
        Edge { guard, effect, touches, copies, plain, blind }
    }

    /// The program.
    pub fn program(&self) -> &'p Program {
        self.interpreter.program()
    }

    fn object_of_cell(&self, cell: usize) -> ObjectId {
        ObjectId(self.group[cell])
    }

    fn object_of_sync(&self, s: SyncId) -> ObjectId {
        ObjectId(self.interpreter.cells() as u32 + s.0)
    }

    fn object_of_life(&self, t: ThreadId) -> ObjectId {
        ObjectId(self.interpreter.cells() as u32 + self.program().syncs.len() as u32 + t.0 as u32)
    }
}

fn root(group: &[u32], mut c: u32) -> u32 {
    while group[c as usize] != c {
        c = group[c as usize];
    }
    c
}

/// Makes cells one object.
fn unite(group: &mut [u32], all: &[u32]) {
    let Some(first) = all.first().copied() else { return };
    for c in all {
        let (a, b) = (root(group, first), root(group, *c));
        group[a.max(b) as usize] = a.min(b);
    }
}

/// All cells that an atomic step may touch.
fn footprint(run: &Interpreter<'_>, e: &Transition) -> Result<Vec<u32>, CannotRun> {
    let p = run.program();
    let a = p.accesses(e);
    let mut out = Vec::new();
    for q in a.reads.iter().chain(&a.writes) {
        let var = p.var(q.var);
        if var.internal && !p.threads.iter().any(|t| t.life == Some(q.var)) {
            let place = p.show_span(e.span);
            return Err(CannotRun::NoOperation(format!(
                "{place}: a lock or the like is used in an atomic block"
            )));
        }
        if var.internal {
            continue;
        }
        match q.index.map(|i| p.terms.as_const(i)) {
            None => out.extend(run.cell(q.var, 0).map(|c| c as u32)),
            Some(Some(i)) => out.extend(run.cell(q.var, i).map(|c| c as u32)),
            Some(None) => {
                out.extend((0..var.cells() as u64).filter_map(|i| run.cell(q.var, i)).map(|c| c as u32))
            }
        }
    }
    Ok(out)
}

/// An atomic step that does nothing but copy one shared cell to another: from where, and to where. Locals decide which cells they are.
fn copied(p: &Program, thread: &crate::Thread, e: &Transition) -> Option<(Place, Place)> {
    let [assign] = &e.assigns.iter().filter(|a| p.var(a.place.var).is_shared()).collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let from = match p.terms.node(assign.value) {
        crate::Node::Var(v, _) => Place::scalar(v),
        crate::Node::Cell(v, i, _) => Place::cell(v, i),
        _ => return None,
    };
    let plain = |v: VarId| !p.var(v).internal && p.var(v).is_shared();
    let shared = |t: crate::Term| {
        let mut any = false;
        p.terms.places(t, &mut |q| any |= p.var(q.var).is_shared() && thread.life != Some(q.var));
        any
    };
    let indices = [from, assign.place].into_iter().filter_map(|q| q.index);
    let others = e.assigns.iter().filter(|a| a.place != assign.place).map(|a| a.value);
    let alone = thread.transitions.iter().filter(|f| f.from == e.from).count() == 1;
    let same = p.var(from.var).ty == p.var(assign.place.var).ty && from != assign.place;
    (alone
        && same
        && plain(from.var)
        && plain(assign.place.var)
        && e.havoc.is_empty()
        && !shared(e.guard)
        && !indices.chain(others).any(shared))
    .then_some((from, assign.place))
}

/// What a thread has done since it last did something that others can see, to notice that it goes round in circles.
#[derive(Default)]
struct Past {
    /// Where it was, and how many reads it had made.
    seen: Vec<(LocationId, usize)>,
    /// With which locals, one list after the other.
    locals: Vec<u64>,
    reads: Vec<(ObjectId, u64)>,
}

impl Clone for Past {
    fn clone(&self) -> Past {
        let mut out = Past::default();
        out.clone_from(self);
        out
    }

    fn clone_from(&mut self, other: &Past) {
        self.seen.clone_from(&other.seen);
        self.locals.clone_from(&other.locals);
        self.reads.clone_from(&other.reads);
    }
}

impl Past {
    fn forget(&mut self) {
        self.seen.clear();
        self.locals.clear();
        self.reads.clear();
    }
}

/// An edge that a thread may take next, as far as it can know, and whether it knows that it can.
type Candidate = (TransitionId, bool);

struct Machine<'r, 'p> {
    run: &'r Runner<'p>,
    state: State,
    alive: ThreadSet,
    pending: Vec<Pending>,
    awaiting: Vec<Vec<(ObjectId, u64)>>,
    past: Vec<Past>,
    /// Since the thread was last asked what it does next.
    candidates: Vec<Vec<Candidate>>,
    scratch: Scratch,
    woken_by: Vec<u64>,
    generation: Vec<u64>,
    entered: Vec<u64>,
    events: Vec<u32>,
    orders: Vec<(ThreadId, ThreadId)>,
    trace: Vec<Step>,
    assumed: bool,
    /// Threads at an atomic block that could not go on.
    stuck: Vec<bool>,
    /// How often each has woken up for no reason, and whether one could not for having done so too often.
    spurious: Vec<u32>,
    limited: bool,
}

/// How far a thread may go by itself.
const LOCAL_STEPS: usize = 1_000_000;

impl<'r, 'p> Machine<'r, 'p> {
    fn new(run: &'r Runner<'p>) -> Machine<'r, 'p> {
        let p = run.program();
        let n = p.threads.len();
        let none = Pending { op: Op::local(OpKind::Yield), site: Site(0), awaited: (0, 0) };
        Machine {
            run,
            state: run.interpreter.initial(),
            alive: ThreadSet::EMPTY,
            pending: vec![none; n],
            awaiting: vec![Vec::new(); n],
            past: vec![Past::default(); n],
            candidates: vec![Vec::new(); n],
            scratch: Scratch::default(),
            woken_by: vec![0; n],
            generation: vec![0; p.syncs.len()],
            entered: vec![0; n],
            events: vec![0; n],
            orders: Vec::new(),
            trace: Vec::new(),
            assumed: false,
            stuck: vec![false; n],
            spurious: vec![0; n],
            limited: false,
        }
    }

    /// Comes to where another one is; how it came there stays what it was. Nothing is allocated the second time.
    fn copy(&mut self, other: &Machine<'r, 'p>) {
        let Machine {
            run: _,
            scratch: _,
            orders: _,
            trace: _,
            state,
            alive,
            pending,
            awaiting,
            past,
            candidates,
            woken_by,
            generation,
            entered,
            events,
            assumed,
            stuck,
            spurious,
            limited,
        } = other;
        self.state.locations.clone_from(&state.locations);
        self.state.values.clone_from(&state.values);
        (self.alive, self.assumed, self.limited) = (*alive, *assumed, *limited);
        self.pending.clone_from(pending);
        self.awaiting.clone_from(awaiting);
        self.past.clone_from(past);
        self.candidates.clone_from(candidates);
        self.woken_by.clone_from(woken_by);
        self.generation.clone_from(generation);
        self.entered.clone_from(entered);
        self.events.clone_from(events);
        self.stuck.clone_from(stuck);
        self.spurious.clone_from(spurious);
    }

    fn program(&self) -> &'p Program {
        self.run.program()
    }

    fn born(&mut self, t: ThreadId) {
        self.alive.insert(t);
    }

    /// Finds the edges that the thread may take next, as far as it can know.
    fn find_candidates(&mut self, t: ThreadId) {
        let thread = self.program().thread(t);
        let awake = self.is_awake(t);
        let list = &mut self.candidates[t.index()];
        list.clear();
        for (id, e) in thread.from(self.state.locations[t.index()]) {
            if awake && e.action.is_spurious() {
                self.limited = true;
                continue;
            }
            let guard = &self.run.edges[t.index()][id.index()].guard;
            let known = self.run.codes.locally(thread, guard, &self.state.values, &mut self.scratch.stack);
            if known != Some(false) {
                list.push((id, known.is_some()));
            }
        }
    }

    /// Whether a thread has woken up for no reason as often as it may.
    fn is_awake(&self, t: ThreadId) -> bool {
        self.spurious[t.index()] >= self.run.most_spurious
    }

    fn take(&mut self, t: ThreadId, transition: TransitionId, inputs: Vec<u64>) {
        let run = self.run;
        let (e, edge) =
            (run.program().thread(t).transition(transition), &run.edges[t.index()][transition.index()]);
        self.spurious[t.index()] += u32::from(e.action.is_spurious());
        let step = Step { thread: t, transition, inputs };
        let reference = cfg!(debug_assertions).then(|| run.interpreter.take(&self.state, &step));
        run.codes.apply(&edge.effect, &step.inputs, &mut self.state.values, &mut self.scratch);
        self.state.locations[t.index()] = e.to;
        debug_assert!(reference.is_none_or(|r| r == self.state), "code does what the interpreter does");
        self.trace.push(step);
    }

    /// Runs the local steps of a thread and announces its next operation.
    fn announce(&mut self, t: ThreadId) -> Result<(), CannotRun> {
        if !self.alive.contains(t) {
            return Ok(());
        }
        if self.stuck[t.index()] {
            self.pending[t.index()].op = Op::local(OpKind::Assume);
            return Ok(());
        }
        for _ in 0..LOCAL_STEPS {
            let at = self.state.locations[t.index()];
            match &self.program().thread(t).location(at).kind {
                LocationKind::Normal => {}
                LocationKind::Halt => {
                    self.assumed = true;
                    self.pending[t.index()].op = Op::local(OpKind::Assume);
                    return Ok(());
                }
                LocationKind::End | LocationKind::Exit | LocationKind::Error { .. } => {
                    self.alive.remove(t);
                    return Ok(());
                }
            }
            self.find_candidates(t);
            let list = &self.candidates[t.index()];
            let (Some((id, sure)), single) = (list.first().copied(), list.len() == 1) else {
                return Err(self.strange(t, "no edge leads on from here"));
            };
            let e = self.program().thread(t).transition(id);
            match e.action {
                Action::Local if sure && single && e.havoc.is_empty() => {
                    self.take(t, id, Vec::new());
                }
                Action::Create(child) => {
                    self.take(t, id, Vec::new());
                    self.born(child);
                    self.orders.push((t, child));
                    self.announce(child)?;
                }
                Action::End => {
                    self.take(t, id, Vec::new());
                    self.alive.remove(t);
                    // Whoever waits for this end may go on.
                    for u in self.program().thread_ids().filter(|u| *u != t) {
                        if self.alive.contains(u) && self.pending[u.index()].op.kind == OpKind::Join {
                            self.announce(u)?;
                        }
                    }
                    return Ok(());
                }
                Action::Join(child) if single => {
                    if !self.run.interpreter.holds(&self.state, e) {
                        self.pending[t.index()].op = Op::new(OpKind::Join, self.run.object_of_life(child));
                        self.pending[t.index()].site = self.site(t, at);
                        return Ok(());
                    }
                    self.orders.push((child, t));
                    self.take(t, id, Vec::new());
                }
                _ => {
                    if self.goes_round(t, at) {
                        return Ok(());
                    }
                    let op = self.operation(t, at)?;
                    self.pending[t.index()].op = op;
                    self.pending[t.index()].site = self.site(t, at);
                    return Ok(());
                }
            }
        }
        // It never does anything that others can see.
        self.awaiting[t.index()].clear();
        self.pending[t.index()].op = Op::local(OpKind::Await);
        Ok(())
    }

    fn strange(&self, t: ThreadId, why: &str) -> CannotRun {
        let thread = self.program().thread(t);
        let l = thread.location(self.state.locations[t.index()]);
        CannotRun::NoOperation(format!("{}: {why}", self.program().show_span(l.span)))
    }

    fn site(&self, t: ThreadId, at: LocationId) -> Site {
        Site((t.index() + 1) << 32 | at.index())
    }

    /// Whether the thread was here with these locals and has only read since: then it waits for one of those words to change.
    fn goes_round(&mut self, t: ThreadId, at: LocationId) -> bool {
        let cells = &self.run.locals[t.index()];
        let values = cells.iter().map(|c| self.state.values[*c]);
        let past = &mut self.past[t.index()];
        let locals = |k: usize| past.locals[k * cells.len()..][..cells.len()].iter().copied();
        let same = |k: usize| past.seen[k].0 == at && locals(k).eq(values.clone());
        let before = (0..past.seen.len()).find(|k| same(*k)).map(|k| past.seen[k].1);
        match before {
            Some(from) if from < past.reads.len() => {
                let mut waits: Vec<(ObjectId, u64)> = past.reads.split_off(from);
                waits.sort_unstable();
                waits.dedup();
                past.forget();
                let mut op = Op::new(OpKind::Await, waits[0].0).with(waits[0].1, waits.len() as u64);
                op.order = MemoryOrder::SeqCst;
                self.awaiting[t.index()] = waits;
                self.pending[t.index()].op = op;
                self.pending[t.index()].site = self.site(t, at);
                true
            }
            _ => {
                let reads = past.reads.len();
                past.seen.push((at, reads));
                past.locals.extend(values);
                false
            }
        }
    }

    /// The operation of a thread at a location.
    fn operation(&mut self, t: ThreadId, at: LocationId) -> Result<Op, CannotRun> {
        // Not used otherwise while this lasts.
        let mut stack = std::mem::take(&mut self.scratch.stack);
        let op = self.operation_with(t, at, &mut stack);
        self.scratch.stack = stack;
        op
    }

    fn operation_with(&self, t: ThreadId, at: LocationId, stack: &mut Vec<u64>) -> Result<Op, CannotRun> {
        let (p, run) = (self.program(), self.run);
        let list = &self.candidates[t.index()][..];
        let (edges, values) = (&run.edges[t.index()], &self.state.values[..]);
        let transition = |id: TransitionId| p.thread(t).transition(id);
        let action = transition(list[0].0).action;
        let sync =
            |kind: OpKind, s: SyncId| Op::new(kind, self.run.object_of_sync(s)).ordered(MemoryOrder::SeqCst);
        let plain = |op: Op| Ok(op.deciding(Decides::Nothing));
        if let Action::ReadLock(s) | Action::WriteLock(s) = action
            && let SyncKind::RwLock { writer, .. } = p.sync(s).kind
            && self.run.interpreter.value(&self.state, writer, 0) == t.0 as u64 + 1
        {
            return Err(self.strange(t, "a reader-writer lock is taken by who writes already"));
        }
        match action {
            Action::Local => {
                let mut count = 0;
                for (id, _) in list {
                    let e = transition(*id);
                    if e.action != Action::Local {
                        return Err(self.strange(t, "local steps and others are possible at once"));
                    }
                    count += self.run.interpreter.inputs(e)?;
                }
                return Ok(Op::local(OpKind::Choose).with(count, 0));
            }
            Action::Lock(s) => return plain(sync(OpKind::Lock, s)),
            Action::TryLock(s) => return Ok(sync(OpKind::TryLock, s)),
            Action::Unlock(s) => return plain(sync(OpKind::Unlock, s)),
            Action::ReadLock(s) => return plain(sync(OpKind::ReadLock, s)),
            Action::TryReadLock(s) => return Ok(sync(OpKind::TryReadLock, s)),
            Action::WriteLock(s) => return plain(sync(OpKind::WriteLock, s)),
            Action::TryWriteLock(s) => return Ok(sync(OpKind::TryWriteLock, s)),
            Action::ReadUnlock(s) | Action::WriteUnlock(s) => {
                // Whether it writes is what the thread itself has done.
                let writes = match p.sync(s).kind {
                    SyncKind::RwLock { writer, .. } => {
                        self.run.interpreter.value(&self.state, writer, 0) == t.0 as u64 + 1
                    }
                    _ => false,
                };
                return plain(sync(if writes { OpKind::WriteUnlock } else { OpKind::ReadUnlock }, s));
            }
            Action::Wait { condition, mutex } => {
                let mut op = sync(OpKind::Wait, condition);
                op.other = self.run.object_of_sync(mutex);
                return Ok(op);
            }
            Action::Wake { condition, .. } | Action::TimeOut { condition } => {
                let alone = list.iter().any(|c| transition(c.0).action.is_spurious());
                let timed = list.iter().any(|c| matches!(transition(c.0).action, Action::TimeOut { .. }));
                if alone && timed {
                    // The operation does not say which of the two it was.
                    return Err(self.strange(t, "a wait that may time out and may wake up for no reason"));
                }
                let bits = if alone { Op::MAY_WAKE_SPURIOUSLY } else { 0 };
                let bits = if timed { bits | Op::MAY_TIME_OUT } else { bits };
                return Ok(sync(OpKind::Wake, condition).with(bits, self.woken_by[t.index()]));
            }
            Action::Signal { condition, .. } => return plain(sync(OpKind::NotifyOne, condition)),
            Action::Broadcast(s) => return plain(sync(OpKind::NotifyAll, s)),
            Action::Arrive { barrier, .. } => {
                let needed = match p.sync(barrier).kind {
                    SyncKind::Barrier { needed, .. } => self.run.interpreter.value(&self.state, needed, 0),
                    _ => 0,
                };
                return Ok(sync(OpKind::Arrive, barrier).with(needed, 0));
            }
            Action::Pass(s) => return Ok(sync(OpKind::Pass, s).with(self.entered[t.index()], 0)),
            Action::SemWait(s) => return plain(sync(OpKind::SemWait, s)),
            Action::SemTryWait(s) => return Ok(sync(OpKind::SemTryWait, s)),
            Action::SemPost(s) => return plain(sync(OpKind::SemPost, s)),
            Action::SyncInit(s) | Action::Destroy(s) => {
                let mut op = sync(OpKind::Store, s);
                op.order = MemoryOrder::None;
                return plain(op);
            }
            Action::Join(_) | Action::Create(_) | Action::End => {
                return Err(self.strange(t, "a join of a thread that is not known before it is joined"));
            }
            Action::Read
            | Action::Write
            | Action::Update
            | Action::CompareExchange { .. }
            | Action::Atomic => {}
        }
        if let [(id, _)] = list
            && let Some((from, to, decides)) = edges[id.index()].copies
            && let Some(a) = run.codes.cell(from, values, stack)
            && let Some(b) = run.codes.cell(to, values, stack)
        {
            let (a, b) = (run.object_of_cell(a), run.object_of_cell(b));
            let single = |o: ObjectId| run.members[o.index()].len() == 1;
            if single(a) && single(b) {
                // A cell that is copied to itself is written all the same.
                let kind = if a == b { OpKind::Rmw } else { OpKind::Assign };
                let mut op = Op::new(kind, a).ordered(MemoryOrder::SeqCst);
                if a != b {
                    op.other = b;
                }
                // The value goes to memory alone: it decides what the cell may decide that it is written to.
                return Ok(op.deciding(decides));
            }
        }
        let (mut object, mut reads, mut writes, mut always) = (None, false, false, true);
        let mut value = None;
        for (id, _) in list {
            let mut writes_here = false;
            for touch in &edges[id.index()].touches {
                let Some(cell) = run.codes.cell(touch.target, values, stack) else { continue };
                let here = run.object_of_cell(cell);
                if object.is_some_and(|o| o != here) {
                    return Err(self.strange(t, "different variables may be accessed in one step"));
                }
                object = Some(here);
                reads |= !touch.writes;
                writes_here |= touch.writes;
                value = touch.value.map(|v| run.codes.eval(v, values, stack)).or(value);
            }
            writes |= writes_here;
            always &= writes_here;
        }
        let Some(object) = object else { return Err(self.strange(t, "a step that accesses nothing")) };
        let decides = self.run.flow.decided_at(t, at);
        let single = self.run.members[object.index()].len() == 1;
        let op = if let Action::CompareExchange { expected, desired } = action
            && single
            && list.iter().all(|c| transition(c.0).action == action)
        {
            let weak = list.len() > 2;
            let kind = if weak { OpKind::CompareExchangeWeak } else { OpKind::CompareExchange };
            let eval = |x| self.run.interpreter.eval(&self.state, x);
            Op::new(kind, object).with(eval(expected), eval(desired))
        } else if !writes {
            Op::new(OpKind::Load, object)
        } else if let (false, true, true, Some(v), 1) = (reads, single, always, value, list.len()) {
            return plain(Op::new(OpKind::Store, object).with(v, 0).ordered(MemoryOrder::SeqCst));
        } else {
            Op::new(OpKind::Rmw, object)
        };
        Ok(op.ordered(MemoryOrder::SeqCst).deciding(decides))
    }

    /// The word of an object as `explore` knows it.
    fn word(&self, o: ObjectId) -> u64 {
        let run = &self.run.interpreter;
        let cells = run.cells();
        if o.index() < cells {
            return match &self.run.members[o.index()][..] {
                [one] => self.state.values[*one as usize],
                // Of several cells it is enough that the word differs when they do.
                many => many.iter().fold(0xcbf2_9ce4_8422_2325, |h, c| {
                    (h ^ self.state.values[*c as usize].wrapping_add(*c as u64))
                        .wrapping_mul(0x0000_0100_0000_01b3)
                }),
            };
        }
        let s = SyncId((o.index() - cells) as u32);
        let Some(sync) = self.program().syncs.get(s.index()) else { return 0 };
        let value = |v| run.value(&self.state, v, 0);
        match sync.kind {
            SyncKind::Mutex { owner } => value(owner),
            SyncKind::RwLock { readers, writer } => value(writer) << 32 | value(readers),
            SyncKind::Condition => self.waiters(s).len() as u64,
            SyncKind::Barrier { arrived, .. } => self.generation[s.index()] << 32 | value(arrived),
            SyncKind::Semaphore { count } => value(count),
        }
    }

    /// The threads that wait at an object.
    fn waiters(&self, s: SyncId) -> Vec<u32> {
        let waits = |t: &ThreadId| {
            self.program()
                .thread(*t)
                .waiting
                .is_some_and(|w| self.run.interpreter.value(&self.state, w, 0) == s.0 as u64 + 1)
        };
        self.program().thread_ids().filter(waits).map(|t| t.0 as u32).collect()
    }

    /// Whether a thread can take its next step, which may block.
    fn does_not_block(&self, t: ThreadId) -> bool {
        let op = &self.pending[t.index()].op;
        match op.kind {
            OpKind::Await => self.awaiting[t.index()].iter().any(|(o, w)| self.word(*o) != *w),
            OpKind::Assume | OpKind::Join => false,
            _ => semantics::enabled(op, self.word(op.object), t),
        }
    }

    /// One step of a thread.
    #[inline]
    fn step(&mut self, t: ThreadId, explorer: &mut (impl Explorer + ?Sized)) -> Result<(), CannotRun> {
        let mut op = self.pending[t.index()].op;
        let before = if op.object.is_some() { self.word(op.object) } else { 0 };
        let other = if op.kind == OpKind::Assign { self.word(op.other) } else { 0 };
        let sync = op.object.index().checked_sub(self.run.interpreter.cells()).map(|s| SyncId(s as u32));
        let waiters = match (op.kind, sync) {
            (OpKind::NotifyOne | OpKind::NotifyAll, Some(s)) => self.waiters(s),
            _ => Vec::new(),
        };
        let options = match op.kind {
            OpKind::Choose if op.a > 1 => Some(Options::Below(op.a as u32)),
            OpKind::NotifyOne if waiters.len() > 1 => Some(Options::Of(&waiters)),
            OpKind::CompareExchangeWeak if before == op.a => Some(Options::Below(2)),
            _ => None,
        };
        let option = match options {
            Some(list) => explorer.next_option(list),
            None if op.kind == OpKind::NotifyOne => waiters.first().copied().unwrap_or(0),
            None => 0,
        };
        let waits = std::mem::take(&mut self.awaiting[t.index()]);
        if op.kind != OpKind::Await {
            self.follow(t, &op, option, !waiters.is_empty())?;
        }
        if op.kind == OpKind::Assign {
            // What is copied, and what is lost: both are known now.
            (op.a, op.b) = (before, other);
        }
        if op.kind == OpKind::Rmw || op.kind == OpKind::Store {
            op.a = self.word(op.object);
        }
        let done = semantics::apply(&op, before, t, option);
        self.events[t.index()] += 1;
        let cause = Access::cause(t, self.events[t.index()]);
        explorer.executed(Executed {
            thread: t,
            op,
            access: done.access,
            before,
            value: done.value,
            ok: done.ok,
            site: self.pending[t.index()].site,
            awaited: if op.kind == OpKind::Await { &waits } else { &[] },
        });
        match (op.kind, sync) {
            (OpKind::NotifyOne, _) if done.ok => self.wake(option as usize, cause),
            (OpKind::NotifyAll, _) => waiters.iter().for_each(|u| self.wake(*u as usize, cause)),
            (OpKind::Wait, _) => self.woken_by[t.index()] = 0,
            (OpKind::Arrive, Some(s)) => {
                self.entered[t.index()] = self.generation[s.index()];
                self.generation[s.index()] += done.ok as u64;
            }
            _ => {}
        }
        // Whoever only looks may come round; whoever changes something starts afresh.
        let past = &mut self.past[t.index()];
        match done.access.mode {
            explore::Mode::Read if op.kind != OpKind::Await => past.reads.push((op.object, before)),
            explore::Mode::Read => {}
            _ => past.forget(),
        }
        self.announce(t)
    }

    fn wake(&mut self, u: usize, cause: u64) {
        self.woken_by[u] = cause;
        self.pending[u].op.b = cause;
    }

    /// Takes the edge that an operation turns out to be.
    #[inline]
    fn follow(&mut self, t: ThreadId, op: &Op, option: u32, anybody: bool) -> Result<(), CannotRun> {
        let thread = self.program().thread(t);
        if op.kind == OpKind::Choose {
            let mut n = option as u64;
            for k in 0..self.candidates[t.index()].len() {
                let id = self.candidates[t.index()][k].0;
                let e = thread.transition(id);
                let inputs = self.run.interpreter.inputs(e)?;
                if n < inputs {
                    let input = self.run.interpreter.input(e, n);
                    self.take(t, id, input);
                    return Ok(());
                }
                n -= inputs;
            }
            return Err(self.strange(t, "a choice that is none"));
        }
        // What the thread knew of a guard when it was asked holds still.
        let (run, values) = (self.run, &self.state.values);
        let mut open = self.candidates[t.index()].iter().map(|c| c.0).filter(|id| {
            let rest = &run.edges[t.index()][id.index()].guard.rest;
            let holds = run.codes.all(rest, values, &mut self.scratch.stack);
            debug_assert_eq!(holds, run.interpreter.holds(&self.state, thread.transition(*id)));
            holds
        });
        let woken = Some(ThreadId(option as u16));
        let chosen = match op.kind {
            OpKind::NotifyOne if anybody => open.find(
                |id| matches!(thread.transition(*id).action, Action::Signal { woken: w, .. } if w == woken),
            ),
            // The edge that writes comes first, the one that fails for no reason last.
            OpKind::CompareExchangeWeak if option != 0 => open.last(),
            _ => open.next(),
        };
        match chosen {
            Some(id) => {
                if !thread.transition(id).havoc.is_empty() {
                    return Err(self.strange(t, "an input in a step that others can see"));
                }
                self.take(t, id, Vec::new());
            }
            None => {
                // An atomic block that cannot go on now.
                self.assumed = true;
                self.stuck[t.index()] = true;
                let at = self.state.locations[t.index()];
                if !self.program().thread(t).location(at).may_block {
                    return Err(self.strange(t, "no edge leads on from here"));
                }
            }
        }
        Ok(())
    }
}
