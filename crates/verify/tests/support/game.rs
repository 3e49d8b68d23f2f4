//! Schedules, state by state: what they lead to, and whether there are any. For programs with few states.
#![allow(dead_code, unreachable_pub, reason = "each user takes its own part")]

use model::{Interpreter, Program, State, TransitionId, Wrong};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use verify::{Schedule, Sections};

/// What is wrong in a state for a schedule: an error, or that nobody can go on. Threads that wait for ever while others run count where
/// `stuck` asks for them.
fn wrong(run: &Interpreter<'_>, s: &State, stuck: bool) -> Option<Wrong> {
    let waits = run.all_wait(s) || stuck && run.some_are_stuck(s);
    run.error(s).or_else(|| waits.then_some(Wrong::Deadlock))
}

/// All states, where each thread leads from them, and what is wrong there.
pub struct Game {
    /// By state and thread: the states after its steps, for all inputs; `None` if it cannot be let go.
    pub next: Vec<Vec<Option<Vec<usize>>>>,
    /// By state and thread: whether it may be able to go.
    pub may: Vec<Vec<bool>>,
    /// Something is wrong, or all wait for ever.
    pub bad: Vec<bool>,
    /// The program is over, or nobody is left.
    pub end: Vec<bool>,
}

impl Game {
    /// The game of a program; `None` if there are more states than this.
    pub fn of(p: &Program, stuck: bool, most: usize) -> Option<Game> {
        let run = Interpreter::new(p);
        let mut number: HashMap<State, usize> = HashMap::from([(run.initial(), 0)]);
        let mut states = vec![run.initial()];
        let mut game = Game { next: Vec::new(), may: Vec::new(), bad: Vec::new(), end: Vec::new() };
        let mut i = 0;
        while i < states.len() {
            let s = states[i].clone();
            let wrong = wrong(&run, &s, stuck);
            game.bad.push(wrong.is_some());
            let live = p.thread_ids().any(|t| run.is_live(&s, t));
            game.end.push(wrong.is_none() && (run.is_over(&s) || !live));
            let mut row = Vec::new();
            for t in p.thread_ids() {
                let after = run.successors(&s, t).ok()?;
                let after: Vec<usize> = after
                    .into_iter()
                    .map(|(_, next)| {
                        let new = states.len();
                        *number.entry(next.clone()).or_insert_with(|| {
                            states.push(next);
                            new
                        })
                    })
                    .collect();
                row.push((!after.is_empty()).then_some(after));
            }
            game.may.push(row.iter().map(Option::is_some).collect());
            game.next.push(row);
            if states.len() > most {
                return None;
            }
            i += 1;
        }
        Some(game)
    }

    /// The same game for a scheduler that sees which transitions are taken and no values, as a schedule does: its states are sets of those
    /// in which the program may be. It lets a thread go only if it can in all of them.
    pub fn without_values(p: &Program, stuck: bool, most: usize) -> Option<Game> {
        let run = Interpreter::new(p);
        let first = BTreeSet::from([run.initial()]);
        let mut number: HashMap<BTreeSet<State>, usize> = HashMap::from([(first.clone(), 0)]);
        let mut sets = vec![first];
        let mut game = Game { next: Vec::new(), may: Vec::new(), bad: Vec::new(), end: Vec::new() };
        let mut i = 0;
        while i < sets.len() {
            let set = sets[i].clone();
            game.bad.push(set.iter().any(|s| wrong(&run, s, stuck).is_some()));
            let ends = |s: &State| run.is_over(s) || !p.thread_ids().any(|t| run.is_live(s, t));
            game.end.push(!game.bad[i] && set.iter().all(ends));
            let (mut row, mut may) = (Vec::new(), Vec::new());
            for t in p.thread_ids() {
                let mut after: BTreeMap<TransitionId, BTreeSet<State>> = BTreeMap::new();
                let (mut all, mut some) = (true, false);
                for s in &set {
                    let steps = run.successors(s, t).ok()?;
                    all &= !steps.is_empty();
                    some |= !steps.is_empty();
                    for (step, next) in steps {
                        after.entry(step.transition).or_default().insert(next);
                    }
                }
                may.push(some);
                let after = after.into_values().map(|set| {
                    let new = sets.len();
                    *number.entry(set.clone()).or_insert_with(|| {
                        sets.push(set);
                        new
                    })
                });
                row.push(if all { Some(after.collect()) } else { None });
            }
            game.next.push(row);
            game.may.push(may);
            if sets.len() > most {
                return None;
            }
            i += 1;
        }
        Some(game)
    }

    /// Whether a scheduler can go on from a state so that, whatever inputs come, a state of a set follows.
    fn into(&self, s: usize, set: &[bool]) -> bool {
        self.end[s] && set[s] || self.next[s].iter().flatten().any(|after| after.iter().all(|w| set[*w]))
    }

    /// Whether a scheduler that sees everything can avoid for ever what is bad, fair or not.
    pub fn is_won(&self) -> bool {
        let mut won: Vec<bool> = self.bad.iter().map(|b| !b).collect();
        loop {
            let lost: Vec<usize> =
                (0..won.len()).filter(|s| won[*s] && !self.end[*s] && !self.into(*s, &won)).collect();
            if lost.is_empty() {
                return won[0];
            }
            lost.into_iter().for_each(|s| won[s] = false);
        }
    }

    /// The same for a scheduler that is fair: who can go again and again goes again and again. Nested fixpoints for Streett's condition
    /// (Piterman and Pnueli 2006).
    pub fn is_won_fairly(&self) -> bool {
        let within: Vec<bool> = self.bad.iter().map(|b| !b).collect();
        let none = vec![false; self.bad.len()];
        let threads: Vec<usize> = (0..self.next[0].len()).collect();
        self.fair(&threads, &within, &none)[0]
    }

    /// From where a scheduler can reach `good`, or stay inside and be fair to these threads.
    fn fair(&self, threads: &[usize], within: &[bool], good: &[bool]) -> Vec<bool> {
        let n = self.bad.len();
        let mut z: Vec<bool> = (0..n).map(|s| within[s] || good[s]).collect();
        loop {
            let before = z.clone();
            if threads.is_empty() {
                z = (0..n).map(|s| good[s] || within[s] && self.into(s, &z)).collect();
            }
            for t in threads {
                let others: Vec<usize> = threads.iter().copied().filter(|u| u != t).collect();
                // It goes, and stays where that is possible for ever.
                let goes = |s: usize| {
                    let after = self.next[s][*t].as_ref();
                    within[s]
                        && (self.end[s] && z[s] || after.is_some_and(|after| after.iter().all(|w| z[*w])))
                };
                let goal: Vec<bool> = (0..n).map(|s| good[s] || goes(s)).collect();
                let calm: Vec<bool> = (0..n).map(|s| within[s] && !self.may[s][*t]).collect();
                let mut y = goal.clone();
                loop {
                    let near: Vec<bool> = (0..n).map(|s| goal[s] || within[s] && self.into(s, &y)).collect();
                    let x = if calm.contains(&true) { self.fair(&others, &calm, &near) } else { near };
                    if x == y {
                        break;
                    }
                    y = x;
                }
                z = y;
            }
            if z == before {
                return z;
            }
        }
    }
}

/// Runs a program under a schedule with all inputs, and fails where anything goes wrong or nobody can go. How many states there were.
pub fn run_under(p: &Program, schedule: &Schedule, most: usize) -> usize {
    let run = Interpreter::new(p);
    let mut seen = HashSet::from([(run.initial(), 0)]);
    let mut stack = vec![(run.initial(), 0)];
    while let Some((s, n)) = stack.pop() {
        let node = &schedule.nodes[n];
        assert_eq!(s.locations, node.locations, "the schedule is where the program is");
        assert_eq!(schedule.terms.eval(node.label, &mut |v, i| run.value(&s, v, i)), 1, "its label holds");
        assert!(
            !matches!(wrong(&run, &s, false), Some(Wrong::Error { .. } | Wrong::Deadlock)),
            "node {n}: {:?}",
            wrong(&run, &s, false)
        );
        let live = p.thread_ids().any(|t| run.is_live(&s, t));
        if node.next.is_empty() {
            assert!(!live || run.is_over(&s), "nobody may go at node {n}");
        }
        let allowed: HashSet<_> = node.next.iter().map(|e| e.0).collect();
        for t in allowed {
            let after = run.successors(&s, t).unwrap();
            assert!(!after.is_empty(), "thread {t} may go at node {n} and cannot");
            for (step, state) in after {
                let e = node.next.iter().find(|e| e.0 == t && e.1 == step.transition);
                let to = e.unwrap_or_else(|| panic!("a step of thread {t} is constrained at node {n}")).2;
                if seen.insert((state.clone(), to)) {
                    assert!(seen.len() <= most, "too many states");
                    stack.push((state, to));
                }
            }
        }
    }
    seen.len()
}

/// Runs a program under the sections of a schedule, in every order that they allow and with all inputs, and fails where anything goes wrong
/// or nobody can go. How many states there were.
pub fn run_in_sections(p: &Program, sections: &Sections, most: usize) -> usize {
    let run = Interpreter::new(p);
    let start = (run.initial(), sections.start());
    let mut seen = HashSet::from([start.clone()]);
    let mut stack = vec![start];
    while let Some((s, at)) = stack.pop() {
        assert!(
            !matches!(wrong(&run, &s, false), Some(Wrong::Error { .. } | Wrong::Deadlock)),
            "{:?}",
            wrong(&run, &s, false)
        );
        // Who has called exit leaves the others where they are.
        if run.is_over(&s) {
            continue;
        }
        let free = sections.free(&at);
        if free.is_empty() {
            assert!(!p.thread_ids().any(|t| run.is_live(&s, t)), "nobody may go");
        }
        for thread in free.iter().map(|f| f.0).collect::<BTreeSet<_>>() {
            let after = run.successors(&s, thread).unwrap();
            assert!(!after.is_empty(), "thread {thread} may go and cannot");
            for (step, state) in after {
                assert!(
                    free.contains(&(thread, step.transition)),
                    "thread {thread} goes as the section says"
                );
                let mut at = at.clone();
                sections.went(&mut at, thread, step.transition);
                if seen.insert((state.clone(), at.clone())) {
                    assert!(seen.len() <= most, "too many states");
                    stack.push((state, at));
                }
            }
        }
    }
    seen.len()
}
