//! Searches over states: with or without memory of states, with or without persistent sets from a static analysis, with or without
//! sleep sets. With the searches of `explore` these are the ten configurations that Flanagan and Godefroid (2005, section 5) compare.
//!
//! *Persistent sets* (Godefroid 1996): from the edges of the automata follows what each thread may still access from each location. A
//! set of threads is persistent in a state if nothing that the others may still do conflicts with the next steps of its members. A cell
//! of an array is told apart from another only where the index is a constant; all else may be the same cell. A state with memory that
//! is met again on the way to itself is expanded by all threads, so that no thread is put off for ever.
//!
//! *Sleep sets* with memory of states (Godefroid 1996, figure 5.2): a state is gone through again for what slept before and is awake now.

use crate::program::{Action, Program, ThreadId, Transition};
use crate::state::{Interpreter, State, Step, TooWide, Wrong};
use crate::term::Place;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::time::Instant;

/// Which threads are explored from a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// All.
    None,
    /// A persistent set.
    Static,
}

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// Whether states are remembered.
    pub stateful: bool,
    /// Which threads are explored.
    pub reduction: Reduction,
    /// Whether steps that were explored next to independent ones are left out.
    pub sleep: bool,
    /// Stop at the first thing that is wrong.
    pub first: bool,
    /// Stop after so many states, or so many nodes of the tree.
    pub most: u64,
    /// Stop after so long.
    pub seconds: Option<f64>,
    /// Without memory: go no deeper.
    pub depth: usize,
    /// Whether the states in which no thread can go on are kept.
    pub keep_finals: bool,
}

impl Default for Reach {
    /// All states, breadth-first.
    fn default() -> Self {
        Reach {
            stateful: true,
            reduction: Reduction::None,
            sleep: false,
            first: false,
            most: 10_000_000,
            seconds: None,
            depth: 100_000,
            keep_finals: false,
        }
    }
}

/// What a search saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Different states with memory, nodes of the tree without.
    pub states: u64,
    /// Steps that were taken.
    pub transitions: u64,
    /// Ends: states in which no thread can go on (each node of the tree is one, without memory).
    pub ends: u64,
    /// Ends that are deadlocks.
    pub deadlocks: u64,
    /// Ends or states at which a thread is at an error location.
    pub errors: u64,
    /// Nodes that were left out because all that was enabled slept.
    pub asleep: u64,
    /// What is wrong, with a run that shows it: with all states breadth-first one of the shortest.
    pub wrong: Option<(Wrong, Vec<Step>)>,
    /// The different ends, if they are to be kept.
    pub finals: BTreeSet<State>,
    /// Whether everything was searched.
    pub finished: bool,
}

/// A set of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cells(Vec<u64>);

impl Cells {
    fn new(cells: usize) -> Cells {
        Cells(vec![0; cells.div_ceil(64)])
    }

    fn insert(&mut self, c: usize) {
        self.0[c / 64] |= 1 << (c % 64);
    }

    fn add(&mut self, other: &Cells) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *b & !*a != 0;
            *a |= b;
        }
        changed
    }

    fn meets(&self, other: &Cells) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a & b != 0)
    }
}

/// What may be read and written.
#[derive(Clone, Debug)]
struct Touched {
    reads: Cells,
    writes: Cells,
}

impl Touched {
    fn new(cells: usize) -> Touched {
        Touched { reads: Cells::new(cells), writes: Cells::new(cells) }
    }

    fn add(&mut self, other: &Touched) -> bool {
        let reads = self.reads.add(&other.reads);
        self.writes.add(&other.writes) | reads
    }

    fn conflicts(&self, other: &Touched) -> bool {
        self.writes.meets(&other.reads) || self.writes.meets(&other.writes) || self.reads.meets(&other.writes)
    }
}

struct Searcher<'i, 'p> {
    run: &'i Interpreter<'p>,
    /// By thread and location: what may still be accessed from there.
    future: Vec<Vec<Touched>>,
    /// By thread and location: which threads may still be made from there.
    creates: Vec<Vec<u128>>,
    how: Reach,
    seen: Reached,
    path: Vec<Step>,
    start: Instant,
    asked: u64,
}

impl Reach {
    /// Searches the states of a program.
    pub fn search(self, run: &Interpreter<'_>) -> Result<Reached, TooWide> {
        let mut s = Searcher {
            run,
            future: Vec::new(),
            creates: Vec::new(),
            how: self,
            seen: Reached { finished: true, ..Reached::default() },
            path: Vec::new(),
            start: Instant::now(),
            asked: 0,
        };
        let plain = self.reduction == Reduction::None && !self.sleep;
        if self.reduction == Reduction::Static {
            s.look_ahead();
        }
        if self.stateful && plain {
            s.breadth_first()?;
        } else if self.stateful {
            s.with_memory()?;
        } else {
            s.without_memory(run.initial(), 0)?;
        }
        Ok(s.seen)
    }
}

impl<'p> Searcher<'_, 'p> {
    fn program(&self) -> &'p Program {
        self.run.program()
    }

    /// Whether it has seen as many states, or taken as long, as it may.
    fn is_spent(&mut self) -> bool {
        // A look at the clock costs as much as a state.
        self.asked += 1;
        let look = self.asked.is_multiple_of(64);
        let late = |s: f64| look && self.start.elapsed().as_secs_f64() > s;
        self.seen.states > self.how.most || self.how.seconds.is_some_and(late)
    }

    /// What an edge may access whatever the state: for an index that is not constant, every cell.
    fn may_touch(&self, e: &Transition, into: &mut Touched) {
        let a = self.program().accesses(e);
        let cells = |q: &Place| {
            let var = self.program().var(q.var);
            match q.index.map(|i| self.program().terms.as_const(i)) {
                None => 0..1,
                Some(Some(i)) => i..(i + 1).min(var.cells() as u64),
                Some(None) => 0..var.cells() as u64,
            }
        };
        for (list, set) in [(&a.reads, &mut into.reads), (&a.writes, &mut into.writes)] {
            for q in list {
                cells(q).filter_map(|i| self.run.cell(q.var, i)).for_each(|c| set.insert(c));
            }
        }
    }

    fn look_ahead(&mut self) {
        let p = self.program();
        for t in p.thread_ids() {
            let thread = p.thread(t);
            let n = thread.locations.len();
            let mut future = vec![Touched::new(self.run.cells()); n];
            let mut creates = vec![0u128; n];
            loop {
                let mut changed = false;
                for e in &thread.transitions {
                    let mut here = future[e.to.index()].clone();
                    self.may_touch(e, &mut here);
                    changed |= future[e.from.index()].add(&here);
                    let made = match e.action {
                        Action::Create(c) => 1 << c.index(),
                        _ => 0,
                    } | creates[e.to.index()];
                    changed |= made & !creates[e.from.index()] != 0;
                    creates[e.from.index()] |= made;
                }
                if !changed {
                    break;
                }
            }
            self.future.push(future);
            self.creates.push(creates);
        }
    }

    /// What the next steps of a thread access in a state; indices are of locals, so this holds until the thread moves.
    fn next(&self, s: &State, t: ThreadId) -> Touched {
        let mut out = Touched::new(self.run.cells());
        for (_, e) in self.program().thread(t).from(s.locations[t.index()]) {
            if e.action == Action::Atomic {
                self.may_touch(e, &mut out);
                continue;
            }
            let a = self.program().accesses(e);
            a.reads.iter().filter_map(|q| self.run.place_cell(s, *q)).for_each(|c| out.reads.insert(c));
            a.writes.iter().filter_map(|q| self.run.place_cell(s, *q)).for_each(|c| out.writes.insert(c));
        }
        out
    }

    fn enabled(&self, s: &State) -> Vec<ThreadId> {
        self.program().thread_ids().filter(|t| self.run.is_enabled(s, *t)).collect()
    }

    /// A persistent set of threads, given as the enabled ones among them: the smallest that one of the enabled threads leads to.
    fn persistent(&self, s: &State, enabled: &[ThreadId]) -> Vec<ThreadId> {
        if self.how.reduction == Reduction::None || enabled.len() < 2 {
            return enabled.to_vec();
        }
        let p = self.program();
        let next: Vec<Touched> = p.thread_ids().map(|t| self.next(s, t)).collect();
        let mut best = enabled.to_vec();
        for seed in enabled {
            let mut members = 1u128 << seed.index();
            loop {
                // Those outside that may take a step before a member does.
                let mut outside = 0u128;
                for t in p.thread_ids() {
                    if members >> t.index() & 1 == 0 && self.run.is_live(s, t) {
                        outside |= 1 << t.index();
                    }
                }
                loop {
                    let mut more = outside;
                    for t in p.thread_ids().filter(|t| outside >> t.index() & 1 == 1) {
                        more |= self.creates[t.index()][s.locations[t.index()].index()] & !members;
                    }
                    if more == outside {
                        break;
                    }
                    outside = more;
                }
                let conflicts = |u: &ThreadId| {
                    let future = &self.future[u.index()][s.locations[u.index()].index()];
                    p.thread_ids()
                        .any(|m| members >> m.index() & 1 == 1 && future.conflicts(&next[m.index()]))
                };
                let outside = p.thread_ids().filter(|u| outside >> u.index() & 1 == 1);
                let add: Vec<ThreadId> = outside.filter(conflicts).collect();
                if add.is_empty() {
                    break;
                }
                add.iter().for_each(|u| members |= 1 << u.index());
            }
            let chosen: Vec<ThreadId> =
                enabled.iter().copied().filter(|t| members >> t.index() & 1 == 1).collect();
            if chosen.len() < best.len() {
                best = chosen;
            }
        }
        best
    }

    /// Notes what is wrong in a state; whether to go on.
    fn look(&mut self, s: &State, end: bool, run: impl FnOnce(&Self) -> Vec<Step>) -> bool {
        let error = self.run.error(s);
        let deadlock = self.run.all_wait(s);
        self.seen.ends += end as u64;
        if end && self.how.keep_finals {
            self.seen.finals.insert(s.clone());
        }
        self.seen.errors += error.is_some() as u64;
        self.seen.deadlocks += deadlock as u64;
        if let Some(wrong) = error.or(deadlock.then_some(Wrong::Deadlock))
            && self.seen.wrong.is_none()
        {
            self.seen.wrong = Some((wrong, run(self)));
            return !self.how.first;
        }
        true
    }

    fn breadth_first(&mut self) -> Result<(), TooWide> {
        let first = self.run.initial();
        let mut known: HashMap<State, u32> = HashMap::from([(first.clone(), 0)]);
        let mut from: Vec<(u32, Option<Step>)> = vec![(0, None)];
        let mut open = VecDeque::from([first]);
        self.seen.states = 1;
        while let Some(s) = open.pop_front() {
            let id = known[&s];
            let enabled = self.enabled(&s);
            let back = |_: &Self| {
                let (mut run, mut at) = (Vec::new(), id);
                while let (parent, Some(step)) = &from[at as usize] {
                    run.push(step.clone());
                    at = *parent;
                }
                run.reverse();
                run
            };
            if !self.look(&s, enabled.is_empty(), back) {
                self.seen.finished = false;
                return Ok(());
            }
            for t in enabled {
                for (step, next) in self.run.successors(&s, t)? {
                    self.seen.transitions += 1;
                    if let Entry::Vacant(e) = known.entry(next) {
                        open.push_back(e.key().clone());
                        e.insert(from.len() as u32);
                        from.push((id, Some(step)));
                        self.seen.states += 1;
                    }
                }
            }
            if self.is_spent() {
                self.seen.finished = false;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Depth-first with memory of states.
    fn with_memory(&mut self) -> Result<(), TooWide> {
        let mut memory: HashMap<State, Remembered> = HashMap::new();
        self.visit(self.run.initial(), 0, &mut memory).map(|_| ())
    }

    /// Goes through a state; whether to go on with the search.
    fn visit(
        &mut self,
        s: State,
        sleep: u128,
        memory: &mut HashMap<State, Remembered>,
    ) -> Result<bool, TooWide> {
        // A stack of our own: runs can be long.
        let mut stack: Vec<Frame> = Vec::new();
        if !self.enter(s, sleep, memory, &mut stack)? {
            return Ok(false);
        }
        while let Some(top) = stack.last_mut() {
            if let Some((step, next)) = top.left.pop() {
                let sleep = top.child_sleep;
                self.seen.transitions += 1;
                // Going back to a state on the way: all threads must have their turn there.
                let on_path = memory.get(&next).is_some_and(|m| m.on_path > 0);
                if on_path && !top.full {
                    top.full = true;
                    top.threads = top.all.iter().rev().copied().filter(|t| !top.done.contains(t)).collect();
                }
                self.path.push(step);
                if !self.enter(next, sleep, memory, &mut stack)? {
                    return Ok(false);
                }
                continue;
            }
            match top.threads.pop() {
                None => {
                    if let Some(m) = memory.get_mut(&top.state) {
                        m.on_path -= 1;
                    }
                    stack.pop();
                    self.path.pop();
                }
                Some(t) => {
                    let state = top.state.clone();
                    let before = top.sleep;
                    top.done.push(t);
                    top.sleep |= if self.how.sleep { 1 << t.index() } else { 0 };
                    let child = self.filtered(&state, before, t);
                    let list = self.run.successors(&state, t)?;
                    let top = stack.last_mut().expect("it is there");
                    top.child_sleep = child;
                    top.left = list;
                    top.left.reverse();
                }
            }
        }
        Ok(true)
    }

    /// The sleeping threads whose next step does not conflict with that of a thread.
    fn filtered(&self, s: &State, sleep: u128, t: ThreadId) -> u128 {
        if sleep == 0 {
            return 0;
        }
        let mine = self.next(s, t);
        let mut out = 0;
        for u in self.program().thread_ids().filter(|u| sleep >> u.index() & 1 == 1 && *u != t) {
            if !self.next(s, u).conflicts(&mine) {
                out |= 1 << u.index();
            }
        }
        out
    }

    fn enter(
        &mut self,
        s: State,
        sleep: u128,
        memory: &mut HashMap<State, Remembered>,
        stack: &mut Vec<Frame>,
    ) -> Result<bool, TooWide> {
        let enabled = self.enabled(&s);
        let bits = |list: &[ThreadId]| list.iter().fold(0u128, |b, t| b | 1 << t.index());
        let known = memory.get(&s).map(|m| m.sleep);
        let (mut threads, all) = match known {
            Some(before) => {
                // What slept whenever the state was gone through before, and is awake now, is still to do.
                let again = before & !sleep & bits(&enabled);
                if let Some(m) = memory.get_mut(&s) {
                    m.sleep &= sleep;
                }
                if again == 0 {
                    self.path.pop();
                    return Ok(true);
                }
                let list: Vec<ThreadId> =
                    enabled.iter().copied().filter(|t| again >> t.index() & 1 == 1).collect();
                (list.clone(), list)
            }
            None => {
                self.seen.states += 1;
                memory.insert(s.clone(), Remembered { sleep, on_path: 0 });
                if !self.look(&s, enabled.is_empty(), |me| me.path.clone()) {
                    self.seen.finished = false;
                    return Ok(false);
                }
                let awake = |list: Vec<ThreadId>| -> Vec<ThreadId> {
                    list.into_iter().filter(|t| sleep >> t.index() & 1 == 0).collect()
                };
                (awake(self.persistent(&s, &enabled)), awake(enabled.clone()))
            }
        };
        if self.is_spent() {
            self.seen.finished = false;
            return Ok(false);
        }
        if threads.is_empty() && !enabled.is_empty() {
            self.seen.asleep += 1;
        }
        if let Some(m) = memory.get_mut(&s) {
            m.on_path += 1;
        }
        threads.reverse();
        let full = threads.len() == all.len();
        stack.push(Frame {
            state: s,
            threads,
            all,
            done: Vec::new(),
            sleep,
            child_sleep: 0,
            left: Vec::new(),
            full,
        });
        Ok(true)
    }

    /// Depth-first without memory: every node of the tree.
    fn without_memory(&mut self, s: State, sleep: u128) -> Result<bool, TooWide> {
        let mut stack: Vec<Frame> = Vec::new();
        if !self.node(s, sleep, &mut stack)? {
            return Ok(false);
        }
        while let Some(top) = stack.last_mut() {
            if let Some((step, next)) = top.left.pop() {
                let sleep = top.child_sleep;
                self.seen.transitions += 1;
                self.path.push(step);
                if stack.len() > self.how.depth {
                    self.seen.finished = false;
                    self.path.pop();
                    continue;
                }
                if !self.node(next, sleep, &mut stack)? {
                    return Ok(false);
                }
                continue;
            }
            match top.threads.pop() {
                None => {
                    stack.pop();
                    self.path.pop();
                }
                Some(t) => {
                    let (state, before) = (top.state.clone(), top.sleep);
                    top.sleep |= if self.how.sleep { 1 << t.index() } else { 0 };
                    let child = self.filtered(&state, before, t);
                    let list = self.run.successors(&state, t)?;
                    let top = stack.last_mut().expect("it is there");
                    top.child_sleep = child;
                    top.left = list;
                    top.left.reverse();
                }
            }
        }
        Ok(true)
    }

    fn node(&mut self, s: State, sleep: u128, stack: &mut Vec<Frame>) -> Result<bool, TooWide> {
        self.seen.states += 1;
        let enabled = self.enabled(&s);
        if !self.look(&s, enabled.is_empty(), |me| me.path.clone()) || self.is_spent() {
            self.seen.finished = false;
            return Ok(false);
        }
        let mut threads = self.persistent(&s, &enabled);
        threads.retain(|t| sleep >> t.index() & 1 == 0);
        if threads.is_empty() && !enabled.is_empty() {
            self.seen.asleep += 1;
        }
        threads.reverse();
        stack.push(Frame {
            state: s,
            threads,
            all: Vec::new(),
            done: Vec::new(),
            sleep,
            child_sleep: 0,
            left: Vec::new(),
            full: true,
        });
        Ok(true)
    }
}

/// What is known of a state.
struct Remembered {
    /// What slept whenever it was gone through.
    sleep: u128,
    /// How often it is on the way at hand.
    on_path: u32,
}

/// A state on the way at hand.
struct Frame {
    state: State,
    threads: Vec<ThreadId>,
    all: Vec<ThreadId>,
    done: Vec<ThreadId>,
    sleep: u128,
    child_sleep: u128,
    left: Vec<(Step, State)>,
    full: bool,
}
