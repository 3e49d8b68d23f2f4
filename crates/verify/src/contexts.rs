//! Context-bounded reachability: all runs in which each thread has at most `c` contexts, for `c` = 1, 2, 3 and so on.
//!
//! Qadeer, "Algorithmic verification of concurrent programs" (and Qadeer and Rehof 2005). A context is a block of steps of one thread.
//! A work item is a state and how many contexts each thread has left; from it, one context of a thread leads to every state that the
//! thread reaches alone. That closure is computed when it is first asked for, and kept: it depends only on where the thread is and on
//! the cells that it names, so one computation serves all states that look the same to the thread.
//!
//! The slides' `ComputeRTClosure` puts pairs back without asking whether they are there (it does not end where a thread has a cycle),
//! starts from all pairs instead of the equal ones, and takes a closure as done that may still be open. Here a closure is computed
//! breadth-first to its end before anybody sees it, and the tests have a thread with a cycle.
//!
//! The bound is contexts *a thread*, which is something else than a number of preemptions in a run. A state that was met with at least
//! as many contexts left for every thread is not gone on from again. A context that follows another one of the same thread would only
//! be the longer one, which is there already.
//!
//! Once the states within a bound are closed under steps they are all that there are: *safe*, with these states as the certificate.

use crate::budget::Meter;
use crate::certificate::Certificate;
use crate::engines::Engine;
use crate::outcome::{Options, Outcome, Unknown, Verdict};
use crate::packed::StateSet;
use model::{
    ErrorKind, Interpreter, LocationId, Place, Program, State, Step, Stepper, ThreadId, Transition, VarId,
    WordHash, Wrong,
};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Contexts {
    /// Go no further than this many contexts a thread.
    pub(crate) most: Option<u32>,
}

/// The engine `contexts`, which goes no further than so many contexts a thread.
pub fn contexts_within(most: u32) -> Box<dyn Engine> {
    Box::new(Contexts { most: Some(most) })
}

impl Engine for Contexts {
    fn name(&self) -> &'static str {
        "contexts"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let mut search = Search::new(program, options);
        let mut contexts = 0;
        let verdict = loop {
            if self.most.is_some_and(|m| contexts >= m) {
                let why = format!("nothing is wrong with up to {contexts} contexts a thread");
                break Verdict::Unknown(Unknown::Within(why));
            }
            contexts += 1;
            match search.within(contexts) {
                Err(unknown) => break Verdict::Unknown(unknown),
                Ok(Some(verdict)) => break verdict,
                Ok(None) => {}
            }
        };
        Outcome {
            engine: self.name(),
            verdict,
            counts: vec![
                ("contexts", u64::from(contexts).into()),
                ("states", (search.seen.len() as u64).into()),
                ("closures", (search.closures.len() as u64).into()),
            ],
            seconds: search.meter.seconds(),
        }
    }
}

/// What a thread sees of a state: where it is, and the cells that it names.
type View = (LocationId, Box<[u64]>);

/// What a thread can do alone.
struct Closure {
    /// The first one is where it starts; each other one with the one before it and the step between.
    views: Vec<(View, Option<(usize, Step)>)>,
}

impl Closure {
    fn steps(&self, mut to: usize) -> Vec<Step> {
        let mut out = Vec::new();
        while let Some((before, step)) = &self.views[to].1 {
            out.push(step.clone());
            to = *before;
        }
        out.reverse();
        out
    }
}

fn view_of(s: &State, t: ThreadId, cells: &[usize]) -> View {
    (s.locations[t.index()], cells.iter().map(|c| s.values[*c]).collect())
}

struct Item {
    state: Rc<State>,
    left: Box<[u32]>,
    last: Option<ThreadId>,
    /// The item before, and the context between.
    from: Option<(usize, Rc<Closure>, usize)>,
}

struct Search<'p> {
    program: &'p Program,
    options: &'p Options,
    run: Interpreter<'p>,
    stepper: Stepper<'p>,
    /// The cells that each thread names.
    named: Vec<Vec<usize>>,
    closures: HashMap<(ThreadId, View), Rc<Closure>, WordHash>,
    /// The states within the bound, with how many contexts were left; none of these is below another one.
    seen: HashMap<Rc<State>, Vec<Box<[u32]>>, WordHash>,
    meter: Meter,
}

impl<'p> Search<'p> {
    fn new(program: &'p Program, options: &'p Options) -> Search<'p> {
        let run = Interpreter::new(program);
        let named = program.thread_ids().map(|t| named_cells(program, &run, t)).collect();
        Search {
            program,
            options,
            run,
            stepper: Stepper::new(program),
            named,
            closures: HashMap::default(),
            seen: HashMap::default(),
            meter: Meter::new(options.budget),
        }
    }

    fn view(&self, s: &State, t: ThreadId) -> View {
        view_of(s, t, &self.named[t.index()])
    }

    /// The state with what a thread has made of its part.
    fn with(&self, s: &State, t: ThreadId, view: &View) -> State {
        let mut out = s.clone();
        out.locations[t.index()] = view.0;
        for (c, v) in self.named[t.index()].iter().zip(&view.1) {
            out.values[*c] = *v;
        }
        out
    }

    fn is_error(&self, s: &State) -> bool {
        self.run.error(s).is_some()
    }

    fn closure(&mut self, s: &State, t: ThreadId) -> Result<Rc<Closure>, Unknown> {
        let first = self.view(s, t);
        if let Some(known) = self.closures.get(&(t, first.clone())) {
            return Ok(known.clone());
        }
        let mut views = vec![(first.clone(), None)];
        let mut known: HashSet<View, WordHash> = std::iter::once(first.clone()).collect();
        let mut next = 0;
        while next < views.len() {
            self.meter.step().map_err(Unknown::Spent)?;
            let state = self.with(s, t, &views[next].0);
            // What is wrong, or beyond the bound, is not gone on from.
            if !self.is_error(&state) {
                let (run, cells) = (&self.run, &self.named[t.index()]);
                let see = |transition, n, after: &State| {
                    let view = view_of(after, t, cells);
                    if known.insert(view.clone()) {
                        let inputs = run.input(run.program().thread(t).transition(transition), n);
                        views.push((view, Some((next, Step { thread: t, transition, inputs }))));
                    }
                };
                self.stepper.successors(&state, t, see).map_err(|e| Unknown::Cannot(e.to_string()))?;
            }
            next += 1;
        }
        let closure = Rc::new(Closure { views });
        self.closures.insert((t, first), closure.clone());
        Ok(closure)
    }

    /// Whether a state with so many contexts left is new; if so it is noted.
    fn is_new(&mut self, state: &Rc<State>, left: &[u32]) -> bool {
        let below = |a: &[u32], b: &[u32]| a.iter().zip(b).all(|(x, y)| x <= y);
        let known = self.seen.entry(state.clone()).or_default();
        if known.iter().any(|k| below(left, k)) {
            return false;
        }
        known.retain(|k| !below(k, left));
        known.push(left.into());
        true
    }

    /// The verdict if there is one within a bound.
    fn within(&mut self, contexts: u32) -> Result<Option<Verdict>, Unknown> {
        self.seen.clear();
        let first = Rc::new(self.run.initial());
        let left: Box<[u32]> = vec![contexts; self.program.threads.len()].into();
        let mut items = vec![Item { state: first.clone(), left: left.clone(), last: None, from: None }];
        let mut open = VecDeque::from([0]);
        let mut beyond = None;
        self.is_new(&first, &left);
        while let Some(at) = open.pop_front() {
            self.meter.step().map_err(Unknown::Spent)?;
            let (state, left, last) = (items[at].state.clone(), items[at].left.clone(), items[at].last);
            match self.run.error(&state) {
                Some(Wrong::Error { kind: ErrorKind::Bound, .. }) => {
                    beyond.get_or_insert(at);
                    continue;
                }
                Some(_) => return Ok(Some(self.verdict(&items, at))),
                None if self.options.deadlocks
                    && (self.run.all_wait(&state) || self.run.some_are_stuck_for_ever(&state)) =>
                {
                    return Ok(Some(self.verdict(&items, at)));
                }
                None => {}
            }
            for t in self.program.thread_ids().filter(|t| Some(*t) != last && left[t.index()] > 0) {
                let closure = self.closure(&state, t)?;
                let mut rest = left.clone();
                rest[t.index()] -= 1;
                for (n, (view, _)) in closure.views.iter().enumerate().skip(1) {
                    // One thread alone may have come to millions.
                    if n % 1024 == 0 {
                        self.meter.look().map_err(Unknown::Spent)?;
                    }
                    let next = Rc::new(self.with(&state, t, view));
                    if self.is_new(&next, &rest) {
                        let from = Some((at, closure.clone(), n));
                        items.push(Item { state: next, left: rest.clone(), last: Some(t), from });
                        open.push_back(items.len() - 1);
                    }
                }
            }
        }
        if !self.is_closed()? {
            return Ok(None);
        }
        Ok(Some(match beyond {
            Some(at) => self.verdict(&items, at),
            None => {
                let mut states = StateSet::new(self.run.program());
                self.seen.keys().for_each(|s| {
                    states.insert(s);
                });
                Verdict::Safe(Certificate::States(states))
            }
        }))
    }

    /// Whether no step leads out of the states that were seen.
    fn is_closed(&mut self) -> Result<bool, Unknown> {
        for s in self.seen.keys() {
            self.meter.step().map_err(Unknown::Spent)?;
            if self.is_error(s) {
                continue;
            }
            for t in self.program.thread_ids() {
                let mut closed = true;
                let see = |_, _, next: &State| closed &= self.seen.contains_key(next);
                self.stepper.successors(s, t, see).map_err(|e| Unknown::Cannot(e.to_string()))?;
                if !closed {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// What the run to an item shows.
    fn verdict(&self, items: &[Item], mut at: usize) -> Verdict {
        let mut parts = Vec::new();
        while let Some((before, closure, n)) = &items[at].from {
            parts.push(closure.steps(*n));
            at = *before;
        }
        Verdict::of_trace(self.program, parts.into_iter().rev().flatten().collect())
    }
}

/// The cells that the transitions of a thread name, those of a thread that it makes included.
fn named_cells(p: &Program, run: &Interpreter<'_>, t: ThreadId) -> Vec<usize> {
    let mut vars: BTreeSet<VarId> = BTreeSet::new();
    for e in &p.thread(t).transitions {
        each_place(p, e, &mut |q| {
            vars.insert(q.var);
        });
    }
    let cells = |v: &VarId| {
        let v = *v;
        (0..p.var(v).cells() as u64).filter_map(move |i| run.cell(v, i)).collect::<Vec<_>>()
    };
    vars.iter().flat_map(cells).collect()
}

/// Every place that a transition reads or writes.
fn each_place(p: &Program, e: &Transition, see: &mut impl FnMut(Place)) {
    p.terms.places(e.guard, see);
    for a in &e.assigns {
        p.terms.places(a.value, see);
    }
    for q in e.assigns.iter().map(|a| a.place).chain(e.havoc.iter().copied()) {
        see(q);
        if let Some(i) = q.index {
            p.terms.places(i, see);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn with(most: u32, p: &Program) -> Outcome {
        Contexts { most: Some(most) }.verify(p, &Options::default())
    }

    #[test]
    fn a_lost_increment_needs_two_contexts_a_thread() {
        let p = testing::increments(2, false, true);
        assert!(matches!(with(1, &p).verdict, Verdict::Unknown(Unknown::Within(_))));
        assert_eq!(with(2, &p).verdict.name(), "unsafe");
        let found = Contexts::default().verify(&p, &Options::default());
        assert_eq!((found.verdict.name(), found.count("contexts")), ("unsafe", Some(2)));
    }

    #[test]
    fn a_lock_makes_it_safe_with_any_number_of_contexts() {
        let p = testing::increments(2, true, true);
        for c in 1..4 {
            assert_ne!(with(c, &p).verdict.name(), "unsafe", "{c} contexts");
        }
        assert_eq!(Contexts::default().verify(&p, &Options::default()).verdict.name(), "safe");
    }

    #[test]
    fn a_thread_that_goes_round_for_ever_has_a_closure() {
        let p = testing::read(
            "int x; void *f(void *p) { while (1) { x = 1; x = 0; } return 0; }
             void *g(void *p) { if (x == 2) reach_error(); return 0; }
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
        );
        let found = Contexts::default().verify(&p, &Options::default());
        assert_eq!(found.verdict.name(), "safe");
    }

    #[test]
    fn as_many_contexts_are_needed_as_threads_must_take_turns() {
        // The first thread sees 1, 3 and 5 only if the second one runs in between.
        for turns in 1..4 {
            let mut text = String::from("int x;\nvoid *f(void *p) {\n");
            for n in 0..turns {
                text += &format!("while (x != {}); x = {};\n", 2 * n, 2 * n + 1);
            }
            text += "return 0; }\nvoid *g(void *p) {\n";
            for n in 0..turns {
                text += &format!("while (x != {}); x = {};\n", 2 * n + 1, 2 * n + 2);
            }
            text += "reach_error(); return 0; }
                int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }";
            let found = Contexts::default().verify(&testing::read(&text), &Options::default());
            assert_eq!(
                (found.verdict.name(), found.count("contexts")),
                ("unsafe", Some(turns)),
                "{turns} turns"
            );
        }
    }
}
