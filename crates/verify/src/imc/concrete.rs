//! A schedule by all states, for programs that have few of them.
//!
//! Labels of the unwinding speak of few facts, and where a schedule needs to know the value of every variable (a lock made of a plain
//! flag, say) it takes many refinements to find them. Where there are few states they are played out instead: the greatest set of
//! states from which some thread can be chosen so that all of its steps stay in the set, and in it the scheduler that goes round.

use super::memory::{Memory, jumps_back};
use crate::outcome::{Schedule, ScheduleNode};
use model::{Interpreter, LocationId, Place, Program, State, Term, Terms, ThreadId, TransitionId, Type};
use std::collections::HashMap;

/// With more states than this nothing is tried.
const MOST_STATES: usize = 20_000;
/// The same for the nodes of the schedule, which are all checked, and for the states of a node.
const MOST_NODES: usize = 600;
const MOST_TOGETHER: usize = 64;

/// The steps of a thread from a state: along which edge, and to which state.
type Moves = Vec<(TransitionId, usize)>;

struct Game {
    numbers: HashMap<State, usize>,
    states: Vec<State>,
    /// By state and thread; nothing for a state that was not looked at.
    moves: Vec<Vec<Moves>>,
    /// By state and thread: whether it can take a step that is no spurious wake-up.
    able: Vec<Vec<bool>>,
    good: Vec<bool>,
}

/// A schedule that keeps a program safe, if its states are few and there is one that goes round.
pub(super) fn schedule(p: &Program) -> Option<Schedule> {
    let run = Interpreter::new(p);
    // What goes round and looks one step ahead is often enough, and sees few of the states.
    if let Some(found) = walk(&run, Game::new(&run)) {
        return Some(found);
    }
    let mut game = Game::new(&run);
    game.play(&run)?;
    if game.good[0] { walk(&run, game) } else { None }
}

/// The scheduler that goes round, as far as states are known to be good.
fn walk(run: &Interpreter<'_>, mut game: Game) -> Option<Schedule> {
    let p = run.program();
    let mut numbers: HashMap<(Vec<usize>, Memory), usize> = HashMap::new();
    let mut open = vec![(vec![0], Memory::FIRST)];
    numbers.insert(open[0].clone(), 0);
    let mut nodes: Vec<ScheduleNode> = Vec::new();
    let mut terms = p.terms.clone();
    let mut at = 0;
    while at < open.len() {
        if open.len() > MOST_NODES {
            return None;
        }
        let (set, memory) = open[at].clone();
        for s in &set {
            game.expand(run, *s)?;
        }
        let mut next = Vec::new();
        if let Some((thread, memory)) = game.chosen(p, &set, memory) {
            let mut by_edge: HashMap<TransitionId, Vec<usize>> = HashMap::new();
            for (e, to) in set.iter().flat_map(|s| &game.moves[*s][thread.index()]) {
                by_edge.entry(*e).or_default().push(*to);
            }
            let mut edges: Vec<(TransitionId, Vec<usize>)> = by_edge.into_iter().collect();
            edges.sort();
            for (e, mut to) in edges {
                to.sort_unstable();
                to.dedup();
                if to.len() > MOST_TOGETHER {
                    return None;
                }
                let edge = p.thread(thread).transition(e);
                let key = (to, memory.after(thread, jumps_back(p, thread, edge.from, edge.to)));
                let number = *numbers.entry(key.clone()).or_insert_with(|| {
                    open.push(key);
                    open.len() - 1
                });
                next.push((thread, e, number));
            }
        } else if !set.iter().all(|s| game.is_end(run, *s)) {
            return None;
        }
        let locations: Box<[LocationId]> = game.states[set[0]].locations.clone();
        let labels: Vec<Term> = set.iter().map(|s| label(p, run, &mut terms, &game.states[*s])).collect();
        nodes.push(ScheduleNode { locations, label: terms.any(labels), next });
        at += 1;
    }
    Some(Schedule { terms, nodes })
}

/// That the variables of a program have the values of a state.
fn label(p: &Program, run: &Interpreter<'_>, terms: &mut Terms, s: &State) -> Term {
    let mut all = Vec::new();
    for (cell, value) in s.values.iter().enumerate() {
        let (var, index) = run.place_of(cell);
        let ty = p.var(var).ty;
        let place = match p.var(var).len {
            None => Place::scalar(var),
            Some(_) => Place::cell(var, terms.constant(index, Type::unsigned(64))),
        };
        let (now, value) = (terms.read(place, ty), terms.constant(*value, ty));
        all.push(terms.eq(now, value));
    }
    terms.all(all)
}

impl Game {
    fn new(run: &Interpreter<'_>) -> Game {
        let mut game =
            Game { numbers: HashMap::new(), states: vec![], moves: vec![], able: vec![], good: vec![] };
        game.number(run, run.initial());
        game
    }

    /// The number of a state. One that is wrong is not good; of others nothing is known yet.
    fn number(&mut self, run: &Interpreter<'_>, s: State) -> usize {
        if let Some(known) = self.numbers.get(&s) {
            return *known;
        }
        self.good.push(run.wrong(&s).is_none());
        self.numbers.insert(s.clone(), self.states.len());
        self.states.push(s);
        self.moves.push(Vec::new());
        self.able.push(Vec::new());
        self.states.len() - 1
    }

    /// Finds the steps from a state. Nothing if there are too many of them.
    fn expand(&mut self, run: &Interpreter<'_>, s: usize) -> Option<()> {
        if !self.moves[s].is_empty() {
            return Some(());
        }
        let p = run.program();
        let state = self.states[s].clone();
        let ends = !self.good[s] || run.is_over(&state);
        for t in p.thread_ids() {
            let (mut here, mut can) = (Vec::new(), false);
            let steps = if ends { Vec::new() } else { run.successors(&state, t).ok()? };
            for (step, next) in steps {
                can |= !p.thread(t).transition(step.transition).action.is_spurious();
                here.push((step.transition, self.number(run, next)));
            }
            self.moves[s].push(here);
            self.able[s].push(can);
        }
        Some(())
    }

    /// Finds all states, and those from which a scheduler can keep the program safe.
    fn play(&mut self, run: &Interpreter<'_>) -> Option<()> {
        let p = run.program();
        let mut at = 0;
        while at < self.states.len() {
            self.expand(run, at)?;
            if self.states.len() > MOST_STATES {
                return None;
            }
            at += 1;
        }
        loop {
            let mut changed = false;
            for s in (0..self.states.len()).rev() {
                if self.good[s] && !p.thread_ids().any(|t| self.is_good(s, t)) && !self.is_end(run, s) {
                    self.good[s] = false;
                    changed = true;
                }
            }
            if !changed {
                return Some(());
            }
        }
    }

    /// Whether a thread can go in a state, and all that it may do is good.
    fn is_good(&self, s: usize, t: ThreadId) -> bool {
        self.able[s][t.index()] && self.moves[s][t.index()].iter().all(|(_, to)| self.good[*to])
    }

    fn is_end(&self, run: &Interpreter<'_>, s: usize) -> bool {
        let state = &self.states[s];
        run.is_over(state) || run.program().thread_ids().all(|t| !run.is_live(state, t))
    }

    /// The thread that goes next, and the memory before its step: one that is inside a round of a loop goes on, then comes who had
    /// no turn yet.
    fn chosen(&self, p: &Program, set: &[usize], memory: Memory) -> Option<(ThreadId, Memory)> {
        let good = |t: &ThreadId| set.iter().all(|s| self.is_good(*s, *t));
        if memory.goes_on && good(&memory.last) {
            return Some((memory.last, memory));
        }
        let n = p.threads.len() as u16;
        let circle = || (1..=n).map(|i| ThreadId((memory.last.0 + i) % n));
        if let Some(t) = circle().find(|t| !memory.is_served(*t) && good(t)) {
            return Some((t, memory));
        }
        circle().find(good).map(|t| (t, Memory { served: 0, ..memory }))
    }
}
