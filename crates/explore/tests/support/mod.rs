//! The oracle's side: small concurrent programs as data, an interpreter that drives any search with them, a generator of
//! random ones, and a shrinker.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use explore::{
    Access, Decides, Decision, End, Executed, Explorer, MemoryOrder, Meter, ObjectId, Op, OpKind, Options,
    Pending, Progress, Site, ThreadId, ThreadSet, Trace, View, semantics,
};
use std::collections::{BTreeMap, BTreeSet};

/// A statement. Variables, locks and so on are numbered; registers belong to a thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    Read(u8, u8),
    Write(u8, u64),
    /// Writes a register plus a number.
    WriteReg(u8, u8, u64),
    Add(u8),
    Cas(u8, u64, u64, u8),
    CasWeak(u8, u64, u64, u8),
    Acquire(u8),
    Release(u8),
    Critical(u8, Vec<Stmt>),
    TryCritical(u8, Vec<Stmt>),
    Reading(u8, Vec<Stmt>),
    Writing(u8, Vec<Stmt>),
    TryReading(u8, Vec<Stmt>),
    TryWriting(u8, Vec<Stmt>),
    /// Waits on a condition variable with a mutex that it takes first.
    Wait(u8, u8),
    WaitTimed(u8, u8),
    NotifyOne(u8),
    NotifyAll(u8),
    Send(u8, u64),
    TrySend(u8, u64),
    Recv(u8, u64, u8),
    TryRecv(u8, u64, u8),
    DropSender(u8),
    Park,
    ParkTimed,
    Unpark(u8),
    Spawn(u8),
    Join(u8),
    IsFinished(u8, u8),
    Arrive(u8, u64),
    Choose(u32, u8),
    Down(u8),
    Yield,
    /// Ends a thread's life in one step, for golden programs whose threads are there from the start.
    EndStep,
    /// Waits until a variable is not a value, as a spin loop that was seen to repeat does.
    Await(u8, u64),
    /// Reads a variable and yields until it is not 0.
    Spin(u8),
    If(u8, u64, Vec<Stmt>),
    IfElse(u8, u64, Vec<Stmt>, Vec<Stmt>),
}

/// A program: threads with their statements, those that run from the start, and initial counts.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Program {
    /// Spawns, starts, ends and joins are told, not steps.
    pub silent: bool,
    /// Objects are numbered as they are met, as a front end does that cannot name them; otherwise by name.
    pub numbered: bool,
    /// Operations are announced with what their values decide, as a front end does that has read the program.
    pub known: bool,
    pub threads: Vec<Vec<Stmt>>,
    /// Threads that somebody spawns.
    pub spawned: Vec<u8>,
    /// Initial senders of each channel, initial value of each counter.
    pub count: u64,
}

impl Program {
    pub fn of(threads: Vec<Vec<Stmt>>) -> Program {
        Program { threads, count: 2, ..Program::default() }
    }
}

#[derive(Clone, Debug)]
enum Ins {
    Op(OpKind, Obj, u64, u64, Option<u8>),
    WriteReg(Obj, u8, u64),
    Wait(Obj, Obj, bool),
    Arrive(Obj, u64),
    TryJump(OpKind, Obj, usize),
    JumpUnless(u8, u64, usize),
    Jump(usize),
    Start,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Obj {
    None,
    Var(u8),
    Mutex(u8),
    RwLock(u8),
    Cond(u8),
    Chan(u8),
    Token(u8),
    Life(u8),
    Barrier(u8),
    Count(u8),
}

impl Obj {
    /// A number that is the same in all executions.
    fn name(self) -> u32 {
        match self {
            Obj::None => unreachable!("no object"),
            Obj::Var(i) => i as u32,
            Obj::Mutex(i) => 32 + i as u32,
            Obj::RwLock(i) => 64 + i as u32,
            Obj::Cond(i) => 96 + i as u32,
            Obj::Chan(i) => 128 + i as u32,
            Obj::Token(i) => 160 + i as u32,
            Obj::Life(i) => 192 + i as u32,
            Obj::Barrier(i) => 224 + i as u32,
            Obj::Count(i) => 256 + i as u32,
        }
    }
}

fn flatten(stmts: &[Stmt], out: &mut Vec<Ins>) {
    use OpKind as K;
    let block = |take: K, give: K, o: Obj, body: &[Stmt], out: &mut Vec<Ins>| {
        out.push(Ins::Op(take, o, 0, 0, None));
        flatten(body, out);
        out.push(Ins::Op(give, o, 0, 0, None));
    };
    let try_block = |take: K, give: K, o: Obj, body: &[Stmt], out: &mut Vec<Ins>| {
        let at = out.len();
        out.push(Ins::Jump(0));
        flatten(body, out);
        out.push(Ins::Op(give, o, 0, 0, None));
        out[at] = Ins::TryJump(take, o, out.len());
    };
    for s in stmts {
        match s {
            Stmt::Read(x, r) => out.push(Ins::Op(K::Load, Obj::Var(*x), 0, 0, Some(*r))),
            Stmt::Write(x, v) => out.push(Ins::Op(K::Store, Obj::Var(*x), *v, 0, None)),
            Stmt::WriteReg(x, r, d) => out.push(Ins::WriteReg(Obj::Var(*x), *r, *d)),
            Stmt::Add(x) => out.push(Ins::Op(K::Rmw, Obj::Var(*x), 0, 0, None)),
            Stmt::Cas(x, a, b, r) => out.push(Ins::Op(K::CompareExchange, Obj::Var(*x), *a, *b, Some(*r))),
            Stmt::CasWeak(x, a, b, r) => {
                out.push(Ins::Op(K::CompareExchangeWeak, Obj::Var(*x), *a, *b, Some(*r)))
            }
            Stmt::Acquire(m) => out.push(Ins::Op(K::Lock, Obj::Mutex(*m), 0, 0, None)),
            Stmt::Release(m) => out.push(Ins::Op(K::Unlock, Obj::Mutex(*m), 0, 0, None)),
            Stmt::Critical(m, b) => block(K::Lock, K::Unlock, Obj::Mutex(*m), b, out),
            Stmt::TryCritical(m, b) => try_block(K::TryLock, K::Unlock, Obj::Mutex(*m), b, out),
            Stmt::Reading(l, b) => block(K::ReadLock, K::ReadUnlock, Obj::RwLock(*l), b, out),
            Stmt::Writing(l, b) => block(K::WriteLock, K::WriteUnlock, Obj::RwLock(*l), b, out),
            Stmt::TryReading(l, b) => try_block(K::TryReadLock, K::ReadUnlock, Obj::RwLock(*l), b, out),
            Stmt::TryWriting(l, b) => try_block(K::TryWriteLock, K::WriteUnlock, Obj::RwLock(*l), b, out),
            Stmt::Wait(c, m) | Stmt::WaitTimed(c, m) => {
                let timed = matches!(s, Stmt::WaitTimed(..));
                out.push(Ins::Op(K::Lock, Obj::Mutex(*m), 0, 0, None));
                out.push(Ins::Wait(Obj::Cond(*c), Obj::Mutex(*m), timed));
                out.push(Ins::Op(K::Unlock, Obj::Mutex(*m), 0, 0, None));
            }
            Stmt::NotifyOne(c) => out.push(Ins::Op(K::NotifyOne, Obj::Cond(*c), 0, 0, None)),
            Stmt::NotifyAll(c) => out.push(Ins::Op(K::NotifyAll, Obj::Cond(*c), 0, 0, None)),
            Stmt::Send(c, cap) => out.push(Ins::Op(K::Send, Obj::Chan(*c), *cap, 0, None)),
            Stmt::TrySend(c, cap) => out.push(Ins::Op(K::TrySend, Obj::Chan(*c), *cap, 0, None)),
            Stmt::Recv(c, cap, r) => out.push(Ins::Op(K::Recv, Obj::Chan(*c), *cap, 0, Some(*r))),
            Stmt::TryRecv(c, cap, r) => out.push(Ins::Op(K::TryRecv, Obj::Chan(*c), *cap, 0, Some(*r))),
            Stmt::DropSender(c) => out.push(Ins::Op(K::DropSender, Obj::Chan(*c), 0, 0, None)),
            Stmt::Park => out.push(Ins::Op(K::Park, Obj::None, 0, 0, None)),
            Stmt::ParkTimed => out.push(Ins::Op(K::Park, Obj::None, Op::MAY_TIME_OUT, 0, None)),
            Stmt::Unpark(t) => out.push(Ins::Op(K::Unpark, Obj::Token(*t), 0, 0, None)),
            Stmt::Spawn(t) => out.push(Ins::Op(K::Spawn, Obj::Life(*t), *t as u64, 0, None)),
            Stmt::Join(t) => out.push(Ins::Op(K::Join, Obj::Life(*t), 0, 0, None)),
            Stmt::IsFinished(t, r) => out.push(Ins::Op(K::IsFinished, Obj::Life(*t), 0, 0, Some(*r))),
            Stmt::Arrive(b, n) => out.push(Ins::Arrive(Obj::Barrier(*b), *n)),
            Stmt::Choose(n, r) => out.push(Ins::Op(K::Choose, Obj::None, *n as u64, 0, Some(*r))),
            Stmt::Down(k) => out.push(Ins::Op(K::CountDown, Obj::Count(*k), 1, 0, Some(7))),
            Stmt::Yield => out.push(Ins::Op(K::Yield, Obj::None, 0, 0, None)),
            Stmt::EndStep => out.push(Ins::End),
            Stmt::Await(x, v) => out.push(Ins::Op(K::Await, Obj::Var(*x), *v, 1, None)),
            Stmt::Spin(x) => {
                let at = out.len();
                out.push(Ins::Op(K::Load, Obj::Var(*x), 0, 0, Some(4)));
                out.push(Ins::JumpUnless(4, 0, at + 4));
                out.push(Ins::Op(K::Yield, Obj::None, 0, 0, None));
                out.push(Ins::Jump(at));
            }
            Stmt::If(r, v, b) => {
                let at = out.len();
                out.push(Ins::Jump(0));
                flatten(b, out);
                out[at] = Ins::JumpUnless(*r, *v, out.len());
            }
            Stmt::IfElse(r, v, a, b) => {
                let at = out.len();
                out.push(Ins::Jump(0));
                flatten(a, out);
                let over = out.len();
                out.push(Ins::Jump(0));
                out[at] = Ins::JumpUnless(*r, *v, out.len());
                flatten(b, out);
                out[over] = Ins::Jump(out.len());
            }
        }
    }
}

#[derive(Clone, Default)]
struct Thread {
    pc: usize,
    phase: u8,
    regs: [u64; 8],
    live: bool,
    ended: bool,
    generation: u64,
    woken_by: u64,
    events: u32,
}

struct Machine {
    code: Vec<Vec<Ins>>,
    threads: Vec<Thread>,
    words: BTreeMap<Obj, u64>,
    numbers: BTreeMap<Obj, ObjectId>,
    waiting: BTreeMap<Obj, Vec<u32>>,
    pending: Vec<Pending>,
    count: u64,
    numbered: bool,
    known: bool,
    silent: bool,
    /// Spawns and joins that are to be told.
    orders: Vec<(u16, u16)>,
}

impl Machine {
    fn new(p: &Program) -> Machine {
        let code = p
            .threads
            .iter()
            .enumerate()
            .map(|(t, b)| {
                let mut out = vec![];
                let spawned = p.spawned.contains(&(t as u8)) && !p.silent;
                if spawned {
                    out.push(Ins::Start);
                }
                flatten(b, &mut out);
                if spawned {
                    // Jump targets are absolute within the thread: all are behind the start step.
                    out.iter_mut().for_each(|i| match i {
                        Ins::JumpUnless(_, _, to) | Ins::TryJump(_, _, to) | Ins::Jump(to) => *to += 0,
                        _ => {}
                    });
                    out.push(Ins::End);
                }
                out
            })
            .collect();
        let threads = (0..p.threads.len())
            .map(|t| Thread { live: !p.spawned.contains(&(t as u8)), ..Thread::default() })
            .collect();
        let none = Pending { op: Op::local(OpKind::Yield), site: Site(0), awaited: (0, 0) };
        Machine {
            code,
            threads,
            words: BTreeMap::new(),
            numbers: BTreeMap::new(),
            waiting: BTreeMap::new(),
            pending: vec![none; p.threads.len()],
            count: p.count,
            numbered: p.numbered,
            known: p.known,
            silent: p.silent,
            orders: vec![],
        }
    }

    fn word(&self, o: Obj) -> u64 {
        self.words.get(&o).copied().unwrap_or(match o {
            Obj::Chan(_) => semantics::Channel { senders: self.count, ..Default::default() }.pack(),
            Obj::Count(_) => self.count,
            _ => 0,
        })
    }

    fn number(&mut self, o: Obj) -> ObjectId {
        if o == Obj::None {
            return ObjectId::NONE;
        }
        let next = ObjectId(if self.numbered { self.numbers.len() as u32 } else { o.name() });
        *self.numbers.entry(o).or_insert(next)
    }

    /// Runs local instructions and announces the next operation.
    fn announce(&mut self, t: usize) {
        loop {
            let th = &self.threads[t];
            if !th.live {
                return;
            }
            match self.code[t].get(th.pc) {
                None => {
                    self.threads[t].live = false;
                    self.threads[t].ended = true;
                    if self.silent {
                        (0..self.threads.len()).filter(|u| *u != t).for_each(|u| self.announce(u));
                    }
                    return;
                }
                Some(Ins::Op(OpKind::Spawn, _, child, ..)) if self.silent => {
                    let child = *child as usize;
                    self.threads[t].pc += 1;
                    self.threads[child].live = true;
                    self.orders.push((t as u16, child as u16));
                    self.announce(child);
                }
                Some(Ins::Op(OpKind::Join, Obj::Life(target), ..))
                    if self.silent && self.threads[*target as usize].ended =>
                {
                    self.orders.push((*target as u16, t as u16));
                    self.threads[t].pc += 1;
                }
                Some(Ins::Jump(to)) => self.threads[t].pc = *to,
                Some(Ins::JumpUnless(r, v, to)) => {
                    self.threads[t].pc = if th.regs[*r as usize] == *v { th.pc + 1 } else { *to };
                }
                Some(_) => break,
            }
        }
        let op = self.op(t);
        self.pending[t].op = op;
        self.pending[t].site = Site(t << 16 | self.threads[t].pc << 4 | self.threads[t].phase as usize);
    }

    fn object(&self, t: usize) -> (Obj, Obj) {
        let th = &self.threads[t];
        match &self.code[t][th.pc] {
            Ins::Op(OpKind::Park, ..) => (Obj::Token(t as u8), Obj::None),
            Ins::Op(_, o, ..) | Ins::WriteReg(o, ..) | Ins::TryJump(_, o, _) | Ins::Arrive(o, _) => {
                (*o, Obj::None)
            }
            Ins::Wait(c, m, _) => match th.phase {
                0 => (*c, *m),
                1 => (*c, Obj::None),
                _ => (*m, Obj::None),
            },
            Ins::Start | Ins::End => (Obj::Life(t as u8), Obj::None),
            Ins::Jump(_) | Ins::JumpUnless(..) => unreachable!("local"),
        }
    }

    fn op(&mut self, t: usize) -> Op {
        let (o, other) = self.object(t);
        let (object, other) = (self.number(o), self.number(other));
        let th = &self.threads[t];
        let mut op = match &self.code[t][th.pc] {
            Ins::Op(k, _, a, b, _) => Op::new(*k, object).with(*a, *b),
            Ins::WriteReg(_, r, d) => Op::new(OpKind::Store, object).with(th.regs[*r as usize] + d, 0),
            Ins::TryJump(k, _, _) => Op::new(*k, object),
            Ins::Arrive(_, n) if th.phase == 0 => Op::new(OpKind::Arrive, object).with(*n, 0),
            Ins::Arrive(..) => Op::new(OpKind::Pass, object).with(th.generation, 0),
            Ins::Wait(_, _, timed) => match th.phase {
                0 => Op::new(OpKind::Wait, object),
                1 => Op::new(OpKind::Wake, object).with(*timed as u64 * Op::MAY_TIME_OUT, th.woken_by),
                _ => Op::new(OpKind::Lock, object),
            },
            Ins::Start => Op::new(OpKind::Start, object),
            Ins::End => Op::new(OpKind::End, object),
            Ins::Jump(_) | Ins::JumpUnless(..) => unreachable!("local"),
        };
        op.other = other;
        op.order = MemoryOrder::SeqCst;
        if self.known && !self.value_is_tested(t) {
            op.decides = Decides::Nothing;
        }
        op
    }

    /// Whether the thread tests the register that its next operation sets, somewhere.
    fn value_is_tested(&self, t: usize) -> bool {
        match &self.code[t][self.threads[t].pc] {
            Ins::Op(_, _, _, _, Some(r)) => {
                self.code[t].iter().any(|i| matches!(i, Ins::JumpUnless(tested, ..) if tested == r))
            }
            Ins::Op(..) => false,
            _ => true,
        }
    }

    fn enabled(&self, t: usize) -> bool {
        let op = &self.pending[t].op;
        let word = self.word(self.object(t).0);
        match op.kind {
            OpKind::Await => word != op.a,
            OpKind::Start => word == 1,
            _ => semantics::enabled(op, word, ThreadId(t as u16)),
        }
    }

    fn live(&self) -> ThreadSet {
        (0..self.threads.len()).filter(|t| self.threads[*t].live).map(|t| ThreadId(t as u16)).collect()
    }

    /// Tells of spawns and joins that took place.
    fn tell(&mut self, explorer: &mut dyn Explorer, trace: &mut Trace) {
        for (before, after) in self.orders.drain(..) {
            explorer.ordered(ThreadId(before), ThreadId(after));
            trace.order(ThreadId(before), ThreadId(after), trace.len());
        }
    }

    /// One step of a thread.
    fn step(&mut self, t: usize, explorer: &mut dyn Explorer, trace: &mut Trace) {
        let (o, other) = self.object(t);
        let before = self.word(o);
        let mut op = self.pending[t].op;
        let waiters = self.waiting.get(&o).cloned().unwrap_or_default();
        let options = match op.kind {
            OpKind::Choose => Some(Options::Below(op.a as u32)),
            OpKind::NotifyOne if waiters.len() > 1 => Some(Options::Of(&waiters)),
            OpKind::CompareExchangeWeak if before == op.a => Some(Options::Below(2)),
            _ => None,
        };
        let (option, count) = match options {
            Some(list) => (explorer.next_option(list), list.len() as u32),
            None if op.kind == OpKind::NotifyOne => (waiters.first().copied().unwrap_or(0), 1),
            None => (0, 1),
        };
        if op.kind == OpKind::Rmw {
            op.a = before + 1;
        }
        let done = semantics::apply(&op, before, ThreadId(t as u16), option);
        self.words.insert(o, done.word);
        if op.kind == OpKind::Wait {
            self.words.insert(other, 0);
        }
        let awaited = [(op.object, op.a)];
        let x = Executed {
            thread: ThreadId(t as u16),
            op,
            access: done.access,
            before,
            value: done.value,
            ok: done.ok,
            site: self.pending[t].site,
            awaited: if op.kind == OpKind::Await { &awaited } else { &[] },
        };
        self.threads[t].events += 1;
        let cause = Access::cause(ThreadId(t as u16), self.threads[t].events);
        let one_outcome = if count == 1 { 0 } else { option };
        explorer.executed(x);
        trace.push(&x, one_outcome, count);
        self.after(t, &op, &done, option, cause, o);
    }

    fn after(&mut self, t: usize, op: &Op, done: &semantics::Applied, option: u32, cause: u64, o: Obj) {
        let wake = |m: &mut Machine, u: u32| {
            m.waiting.entry(o).or_default().retain(|w| *w != u);
            m.threads[u as usize].woken_by = cause;
            m.pending[u as usize].op.b = cause;
        };
        match op.kind {
            OpKind::Wait => {
                let list = self.waiting.entry(o).or_default();
                list.push(t as u32);
                list.sort_unstable();
                self.threads[t].woken_by = 0;
            }
            OpKind::NotifyOne if done.ok => wake(self, option),
            OpKind::NotifyAll if done.ok => {
                for u in self.waiting.get(&o).cloned().unwrap_or_default() {
                    wake(self, u);
                }
            }
            OpKind::Wake if !done.ok => self.waiting.entry(o).or_default().retain(|w| *w != t as u32),
            OpKind::Spawn => {
                self.threads[op.a as usize].live = true;
                self.announce(op.a as usize);
            }
            _ => {}
        }
        let th = &mut self.threads[t];
        match &self.code[t][th.pc] {
            Ins::Op(k, _, _, _, r) => {
                if let Some(r) = r {
                    th.regs[*r as usize] = match k {
                        OpKind::CompareExchange | OpKind::CompareExchangeWeak => done.ok as u64,
                        OpKind::TryRecv | OpKind::Recv if !done.ok => 99 + done.value,
                        // Only who takes the last reference shows.
                        OpKind::CountDown => (done.value == 0) as u64,
                        _ => done.value,
                    };
                }
                th.pc += 1;
            }
            Ins::TryJump(_, _, to) => th.pc = if done.ok { th.pc + 1 } else { *to },
            Ins::Wait(..) if th.phase < 2 => {
                if th.phase == 1 {
                    th.regs[6] = done.ok as u64;
                }
                th.phase += 1;
            }
            Ins::Arrive(..) if th.phase == 0 && !done.ok => {
                th.phase = 1;
                th.generation = done.value;
            }
            Ins::Arrive(..) => {
                th.regs[5] = (th.phase == 0) as u64;
                th.phase = 0;
                th.pc += 1;
            }
            _ => {
                th.phase = 0;
                th.pc += 1;
            }
        }
        self.announce(t);
    }
}

/// What an execution showed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shown {
    /// Its happens-before class.
    pub class: u64,
    /// Registers and objects at the end.
    pub state: String,
    /// Whether a thread was left waiting.
    pub stuck: bool,
    /// Which thread took each step.
    pub order: Vec<u16>,
}

/// Runs one execution; `None` if the search stopped it.
pub fn execute(p: &Program, explorer: &mut dyn Explorer) -> (Option<Shown>, bool) {
    let mut trace = Trace::new();
    let (end, state, stuck, again) = execute_in(p, explorer, &mut trace, usize::MAX, true);
    let order = trace.events().iter().map(|e| e.thread.0).collect();
    ((end == End::Complete).then(|| Shown { class: trace.class(), state, stuck, order }), again)
}

/// Runs one execution of at most `longest` steps into `trace`: how it ended, the state then if that is wanted, whether a thread
/// was left waiting, and whether the search asks for another.
pub fn execute_in(
    p: &Program,
    explorer: &mut dyn Explorer,
    trace: &mut Trace,
    longest: usize,
    want_state: bool,
) -> (End, String, bool, bool) {
    let mut m = Machine::new(p);
    explorer.begin();
    (0..p.threads.len()).for_each(|t| m.announce(t));
    let mut current = None;
    m.tell(explorer, trace);
    let mut yielded = ThreadSet::EMPTY;
    loop {
        let live = m.live();
        let enabled: ThreadSet = live.iter().filter(|t| m.enabled(t.index())).collect();
        let awaited: Vec<(ObjectId, u64)> = m.pending.iter().map(|p| (p.op.object, p.op.a)).collect();
        for (t, p) in m.pending.iter_mut().enumerate() {
            p.awaited = if p.op.kind == OpKind::Await { (t as u32, 1) } else { (0, 0) };
        }
        let pending = m.pending.clone();
        let objects = if p.numbered { m.numbers.len() as u32 } else { u32::MAX };
        let view = View {
            pending: &pending,
            live,
            enabled,
            current,
            yielded,
            objects,
            names: &[],
            awaited: &awaited,
        };
        if enabled.is_empty() || trace.len() == longest {
            let end = if enabled.is_empty() { End::Complete } else { End::Cut };
            let again = explorer.end(end, &view);
            let mut state = String::new();
            if want_state {
                state = format!("{:?} {:?}", m.threads.iter().map(|t| t.regs).collect::<Vec<_>>(), m.words);
            }
            return (end, state, !live.is_empty(), again);
        }
        match explorer.next_thread(&view) {
            Decision::Run(t) => {
                assert!(enabled.contains(t), "the search ran a thread that was not enabled");
                current = Some(t);
                if pending[t.index()].op.kind == OpKind::Yield {
                    yielded.insert(t);
                } else {
                    yielded.remove(t);
                }
                m.step(t.index(), explorer, trace);
                m.tell(explorer, trace);
            }
            Decision::Stop => {
                assert_eq!(explorer.divergence(), None);
                return (End::Stopped, String::new(), false, explorer.end(End::Stopped, &view));
            }
        }
    }
}

/// The algorithms that search without a bound, by name.
pub fn unbounded() -> impl Iterator<Item = &'static str> {
    let builds = |a: &&str| explore::Plan::of(a).unwrap().search(Meter::unlimited()).is_ok();
    explore::algorithms().iter().map(|a| a.name).filter(builds)
}

/// Everything a search saw of a program.
#[derive(Debug, Default)]
pub struct Seen {
    pub classes: BTreeMap<u64, u64>,
    pub states: BTreeSet<String>,
    pub executions: u64,
    pub blocked: u64,
    pub stuck: u64,
    pub orders: Vec<Vec<u16>>,
    /// One order of steps for each class.
    pub by_class: BTreeMap<u64, Vec<u16>>,
    pub finished: bool,
    pub estimate: Option<f64>,
}

impl Seen {
    /// Classes that were completed more than once.
    pub fn duplicates(&self) -> usize {
        self.classes.values().filter(|n| **n > 1).count()
    }
}

/// Searches a program to the end, or for at most `limit` executions.
pub fn search(p: &Program, algorithm: &str, limit: u64) -> Seen {
    let mut s: Box<dyn Progress> = explore::Plan::of(algorithm).unwrap().search(Meter::unlimited()).unwrap();
    let mut seen = Seen::default();
    loop {
        let before = s.stats().executions;
        let (shown, again) = execute(p, &mut *s);
        // An execution may be found redundant at its very last step.
        if let Some(shown) = shown.filter(|_| s.stats().executions > before) {
            *seen.classes.entry(shown.class).or_default() += 1;
            seen.states.insert(shown.state);
            seen.stuck += shown.stuck as u64;
            seen.by_class.entry(shown.class).or_insert_with(|| shown.order.clone());
            if seen.orders.len() < 64 {
                seen.orders.push(shown.order);
            }
        }
        let stats = s.stats();
        if !again || stats.executions + stats.blocked >= limit {
            seen.executions = stats.executions;
            seen.blocked = stats.blocked;
            seen.finished = s.finished();
            seen.estimate = s.estimate();
            return seen;
        }
    }
}

/// Runs one execution; says whether the search asks for another.
pub fn once(p: &Program, explorer: &mut dyn Explorer) -> bool {
    execute(p, explorer).1
}

/// A small deterministic generator (splitmix64).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A random program. The seed decides which features take part, so that small programs concentrate on few.
pub fn random_program(seed: u64) -> Program {
    let mut g = Rng(seed);
    let threads = 2 + g.below(3) as usize;
    let budget = [0, 0, 6, 4, 3][threads];
    let features = g.next();
    let mut p = Program { count: threads as u64, ..Program::default() };
    for _ in 0..threads {
        let mut left = 1 + g.below(budget) as i64;
        p.threads.push(block(&mut g, &mut left, features, 0, threads));
    }
    if g.below(2) == 0 {
        // Thread 0 spawns the last one somewhere, and perhaps joins it.
        let last = threads as u8 - 1;
        p.spawned.push(last);
        let at = g.below(p.threads[0].len() as u64 + 1) as usize;
        p.threads[0].insert(at, Stmt::Spawn(last));
        if g.below(2) == 0 {
            let at = at + 1 + g.below((p.threads[0].len() - at) as u64) as usize;
            p.silent = g.below(2) == 0;
            let ask = !p.silent && g.below(3) == 0;
            p.threads[0].insert(at, if ask { Stmt::IsFinished(last, 2) } else { Stmt::Join(last) });
        }
    }
    p
}

fn block(g: &mut Rng, left: &mut i64, features: u64, depth: u32, threads: usize) -> Vec<Stmt> {
    let mut out = vec![];
    while *left > 0 && (out.is_empty() || g.below(5) > 0) {
        *left -= 1;
        out.push(statement(g, left, features, depth, threads));
    }
    out
}

fn statement(g: &mut Rng, left: &mut i64, features: u64, depth: u32, threads: usize) -> Stmt {
    let x = g.below(2) as u8;
    let r = g.below(2) as u8;
    let v = g.below(3);
    let has = |bit: u32| features >> bit & 1 == 1;
    let t = g.below(threads as u64) as u8;
    let cap = if has(20) { 1 } else { Op::UNBOUNDED };
    loop {
        return match g.below(28) {
            0 | 1 => Stmt::Read(x, r),
            2 | 3 => Stmt::Write(x, v),
            4 => Stmt::Add(x),
            5 => Stmt::Cas(x, v, g.below(3), r),
            6 if depth < 2 => Stmt::If(r, v.min(1), block(g, left, features, depth + 1, threads)),
            7 if depth < 2 && has(0) => Stmt::Critical(x, block(g, left, features, depth + 1, threads)),
            8 if depth < 2 && has(1) => Stmt::TryCritical(x, block(g, left, features, depth + 1, threads)),
            9 if depth < 2 && has(2) => Stmt::Reading(0, block(g, left, features, depth + 1, threads)),
            10 if depth < 2 && has(2) => Stmt::Writing(0, block(g, left, features, depth + 1, threads)),
            11 if depth < 2 && has(2) && has(3) => {
                Stmt::TryReading(0, block(g, left, features, depth + 1, threads))
            }
            12 if depth < 2 && has(2) && has(4) => {
                Stmt::TryWriting(0, block(g, left, features, depth + 1, threads))
            }
            13 if has(5) && depth == 0 => Stmt::Wait(0, 0),
            14 if has(5) => Stmt::NotifyOne(0),
            15 if has(5) => Stmt::NotifyAll(0),
            16 if has(5) && has(6) && depth == 0 => Stmt::WaitTimed(0, 0),
            17 if has(7) => Stmt::Send(0, cap),
            18 if has(7) => Stmt::Recv(0, cap, r),
            19 if has(7) && has(8) => Stmt::TryRecv(0, cap, r),
            20 if has(7) && has(9) => Stmt::DropSender(0),
            21 if has(7) && has(10) => Stmt::TrySend(0, cap),
            22 if has(11) => Stmt::Park,
            23 if has(11) => Stmt::Unpark(t),
            24 if has(12) => Stmt::Arrive(0, 2),
            25 if has(13) => Stmt::Choose(2, r),
            26 if has(14) => Stmt::Down(0),
            27 if has(15) => Stmt::CasWeak(x, v, g.below(3), r),
            4.. if has(16) && g.below(6) == 0 => Stmt::ParkTimed,
            4.. if has(17) && g.below(6) == 0 => Stmt::WriteReg(x, r, 1),
            4.. if has(18) && g.below(6) == 0 => Stmt::Await(x, v),
            _ => continue,
        };
    }
}

/// A random program of many threads that do little each: what a step of one may stand between grows with their number.
pub fn wide_program(seed: u64) -> Program {
    use Stmt::*;
    let mut g = Rng(seed ^ 0x77_7777);
    let threads = 4 + g.below(4) as usize;
    let vars = 1 + g.below(3);
    let locks = g.below(4) == 0;
    let weak = g.below(4) == 0;
    let statement = |g: &mut Rng| {
        let (x, r) = (g.below(vars) as u8, g.below(2) as u8);
        match g.below(10) {
            0..3 => Read(x, r),
            3..6 => Write(x, g.below(3)),
            6 if weak => CasWeak(x, g.below(2), g.below(3), r),
            6 => Cas(x, g.below(2), g.below(3), r),
            7 => Add(x),
            8 if locks => Critical(g.below(2) as u8, vec![]),
            8 => If(r, g.below(2), vec![Write(x, 1)]),
            _ => IfElse(r, g.below(2), vec![Read(x, 1)], vec![Write(x, 2)]),
        }
    };
    let mut left = 8 - threads;
    let body = |_| {
        let more = g.below(left as u64 + 1).min(2) as usize;
        left -= more;
        (0..1 + more).map(|_| statement(&mut g)).collect()
    };
    Program::of((0..threads).map(body).collect())
}

/// Makes a failing program as small as it gets: drops statements and unfolds blocks while `fails` still says so.
pub fn shrink(mut p: Program, fails: impl Fn(&Program) -> bool) -> Program {
    loop {
        let smaller = candidates(&p).into_iter().find(|c| fails(c));
        match smaller {
            Some(c) => p = c,
            None => return p,
        }
    }
}

fn candidates(p: &Program) -> Vec<Program> {
    let mut out = vec![];
    for t in 0..p.threads.len() {
        for b in smaller_blocks(&p.threads[t]) {
            let mut q = p.clone();
            q.threads[t] = b;
            if q.spawned.iter().all(|s| format!("{:?}", q.threads).contains(&format!("Spawn({s})"))) {
                out.push(q);
            }
        }
    }
    out
}

/// Makes a block again with another inside.
type Remake = Box<dyn Fn(Vec<Stmt>) -> Stmt>;

fn smaller_blocks(b: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut out = vec![];
    for i in 0..b.len() {
        let with = |replacement: Vec<Stmt>| {
            let mut c = b[..i].to_vec();
            c.extend(replacement);
            c.extend_from_slice(&b[i + 1..]);
            c
        };
        out.push(with(vec![]));
        let remake: Option<(&Vec<Stmt>, Remake)> = match b[i].clone() {
            Stmt::Critical(m, _) => Some((inner(&b[i]), Box::new(move |x| Stmt::Critical(m, x)))),
            Stmt::TryCritical(m, _) => Some((inner(&b[i]), Box::new(move |x| Stmt::TryCritical(m, x)))),
            Stmt::Reading(m, _) => Some((inner(&b[i]), Box::new(move |x| Stmt::Reading(m, x)))),
            Stmt::Writing(m, _) => Some((inner(&b[i]), Box::new(move |x| Stmt::Writing(m, x)))),
            Stmt::TryReading(m, _) => Some((inner(&b[i]), Box::new(move |x| Stmt::TryReading(m, x)))),
            Stmt::TryWriting(m, _) => Some((inner(&b[i]), Box::new(move |x| Stmt::TryWriting(m, x)))),
            Stmt::If(r, v, _) => Some((inner(&b[i]), Box::new(move |x| Stmt::If(r, v, x)))),
            _ => None,
        };
        if let Some((body, make)) = remake {
            out.push(with(body.clone()));
            out.extend(smaller_blocks(body).into_iter().map(|s| with(vec![make(s)])));
        }
    }
    out
}

fn inner(s: &Stmt) -> &Vec<Stmt> {
    match s {
        Stmt::Critical(_, b)
        | Stmt::TryCritical(_, b)
        | Stmt::Reading(_, b)
        | Stmt::Writing(_, b)
        | Stmt::TryReading(_, b)
        | Stmt::TryWriting(_, b)
        | Stmt::If(_, _, b) => b,
        _ => unreachable!("only blocks have an inside"),
    }
}

/// Programs with more interleavings than this are passed over.
pub const TOO_MANY: u64 = 6_000;

/// What is wrong with a search of this program, if anything.
pub fn wrong(p: &Program, algorithm: &str, oracle: &Seen) -> Option<String> {
    let seen = search(p, algorithm, 4 * TOO_MANY);
    let classes = |s: &Seen| s.classes.keys().copied().collect::<Vec<_>>();
    let (lost, extra) =
        (oracle.states.difference(&seen.states).count(), seen.states.difference(&oracle.states).count());
    if !seen.finished {
        return Some(format!("does not end: {} executions", seen.executions));
    }
    if classes(&seen) != classes(oracle) {
        return Some(format!("{} classes instead of {}", seen.classes.len(), oracle.classes.len()));
    }
    if lost + extra > 0 {
        return Some(format!("{lost} final states lost, {extra} invented"));
    }
    // Where objects have no lasting names, an optimal search may now and then try a sequence that it need not.
    let once = ["optimal", "source", "dpor", "nidhugg-dpor", "epor", "epor-sh", "sleep", "least", "hb-cache"];
    if once.contains(&algorithm) && seen.duplicates() > 0 {
        return Some(format!("{} classes completed more than once", seen.duplicates()));
    }
    // So it may where a weak compare-exchange has two outcomes, among many threads.
    let weak = p.threads.len() > 4 && format!("{:?}", p.threads).contains("CasWeak");
    if algorithm == "optimal" && seen.blocked > 0 && !p.numbered && !weak {
        return Some(format!("{} blocked executions", seen.blocked));
    }
    if seen.estimate != Some((seen.executions + seen.blocked) as f64) {
        return Some(format!("a finished search estimates {:?}", seen.estimate));
    }
    None
}
