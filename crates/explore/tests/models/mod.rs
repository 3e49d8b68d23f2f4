//! Model programs that know what their values decide: a thread is a function from the values it got so far to its next
//! operation.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use explore::{
    Decides, Decision, End, Executed, Explorer, Meter, ObjectId, Op, OpKind, Pending, Plan, Site, Stats,
    ThreadId, ThreadSet, Trace, View, semantics,
};
use std::collections::BTreeSet;

/// A thread: the values it got, one for each operation, give the next one.
pub type Code = Box<dyn Fn(&[u64]) -> Option<Op>>;

/// Threads, and the words they share.
pub struct Model {
    pub memory: Vec<u64>,
    pub threads: Vec<Code>,
}

/// What a search saw.
#[derive(Debug, Default)]
pub struct Seen {
    pub stats: Stats,
    /// Classes and final states, if they were asked for.
    pub classes: BTreeSet<u64>,
    pub states: BTreeSet<String>,
}

/// Reads a word that decides nothing.
pub fn look(x: usize) -> Op {
    Op::new(OpKind::Load, ObjectId(x as u32)).deciding(Decides::Nothing)
}

/// Reads a word that is an address.
pub fn address(x: usize) -> Op {
    Op::new(OpKind::Load, ObjectId(x as u32)).deciding(Decides::Addresses)
}

/// Reads a word that a branch depends on.
pub fn test(x: usize) -> Op {
    Op::new(OpKind::Load, ObjectId(x as u32))
}

pub fn store(x: usize, value: u64) -> Op {
    Op::new(OpKind::Store, ObjectId(x as u32)).with(value, 0)
}

/// Counts a word up and does not look at it.
pub fn count(x: usize) -> Op {
    Op::new(OpKind::Rmw, ObjectId(x as u32)).deciding(Decides::Nothing)
}

pub fn compare_exchange(x: usize, from: u64, to: u64) -> Op {
    Op::new(OpKind::CompareExchange, ObjectId(x as u32)).with(from, to)
}

/// `to := from`, in one step, where no address comes from `to`.
pub fn assign(to: usize, from: usize) -> Op {
    Op {
        other: ObjectId(to as u32),
        ..Op::new(OpKind::Assign, ObjectId(from as u32)).deciding(Decides::Nothing)
    }
}

/// `to := from`, in one step, where an address may come from `to`.
pub fn assign_address(to: usize, from: usize) -> Op {
    assign(to, from).deciding(Decides::Addresses)
}

/// A thread without branches.
pub fn straight(ops: Vec<Op>) -> Code {
    Box::new(move |got| ops.get(got.len()).copied())
}

/// Searches a model to the end.
pub fn search(model: &Model, algorithm: &str, keep: bool) -> Seen {
    search_as(model, &Plan::of(algorithm).unwrap(), keep)
}

/// The same with a plan.
pub fn search_as(model: &Model, plan: &Plan, keep: bool) -> Seen {
    let mut search = plan.search(Meter::unlimited()).unwrap();
    let mut seen = Seen::default();
    loop {
        let before = search.stats().executions;
        let (class, state, again) = execute(model, &mut *search, keep);
        if keep && search.stats().executions > before {
            seen.classes.insert(class);
            seen.states.insert(state);
        }
        if !again {
            assert!(search.finished(), "{plan} stopped early: {:?}", search.divergence());
            seen.stats = search.stats();
            return seen;
        }
    }
}

fn execute(model: &Model, explorer: &mut dyn Explorer, keep: bool) -> (u64, String, bool) {
    let mut memory = model.memory.clone();
    let mut got: Vec<Vec<u64>> = vec![vec![]; model.threads.len()];
    let idle = Pending { op: Op::local(OpKind::Yield), site: Site(0), awaited: (0, 0) };
    let mut pending = vec![idle; model.threads.len()];
    let mut live = ThreadSet::EMPTY;
    let announce =
        |t: usize, got: &[u64], pending: &mut [Pending], live: &mut ThreadSet| match model.threads[t](got) {
            Some(op) => {
                pending[t].op = op;
                live.insert(ThreadId(t as u16));
            }
            None => {
                live.remove(ThreadId(t as u16));
            }
        };
    (0..got.len()).for_each(|t| announce(t, &got[t], &mut pending, &mut live));
    let mut trace = Trace::new();
    let mut current = None;
    explorer.begin();
    loop {
        let view = View {
            pending: &pending,
            live,
            enabled: live,
            current,
            yielded: ThreadSet::EMPTY,
            objects: u32::MAX,
            names: &[],
            awaited: &[],
        };
        if live.is_empty() {
            let state = if keep { format!("{memory:?} {got:?}") } else { String::new() };
            return (trace.class(), state, explorer.end(End::Complete, &view));
        }
        let Decision::Run(thread) = explorer.next_thread(&view) else {
            assert_eq!(explorer.divergence(), None);
            return (0, String::new(), explorer.end(End::Stopped, &view));
        };
        current = Some(thread);
        let mut op = pending[thread.index()].op;
        let before = memory[op.object.index()];
        match op.kind {
            OpKind::Rmw => op.a = before + 1,
            OpKind::Assign => op = op.with(before, memory[op.other.index()]),
            _ => {}
        }
        let done = semantics::apply(&op, before, thread, 0);
        memory[op.object.index()] = done.word;
        if op.other.is_some() {
            memory[op.other.index()] = semantics::apply_other(&op, memory[op.other.index()]);
        }
        let (access, value, ok) = (done.access, done.value, done.ok);
        let site = pending[thread.index()].site;
        let x = Executed { thread, op, access, before, value, ok, site, awaited: &[] };
        explorer.executed(x);
        if keep {
            trace.push(&x, 0, 1);
        }
        let t = thread.index();
        got[t].push(value);
        announce(t, &got[t], &mut pending, &mut live);
    }
}
