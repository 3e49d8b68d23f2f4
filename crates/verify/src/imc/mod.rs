//! Iterative Impact: schedules that keep a program safe, while it is still being verified.
//!
//! The unwinding is that of [`crate::impact`]: same labels, same refinement, same covers. What differs is who is followed. An iteration
//! follows *one* thread from each node, as one deterministic scheduler would, with all its branches and inputs. When that scheduler
//! has been followed everywhere, what it does is a *schedule*: an automaton that says who may go next. It is proved safe, free of
//! deadlocks and fair for every input, although the rest of the program may not have been looked at yet, or be wrong. Further
//! iterations follow what was left out, breadth-first, and yield more permissive schedules and counterexamples. When nothing is left out
//! the verdict is *safe* with the unwinding as its proof, *partially safe* (something goes wrong, but not under the schedules), or
//! *unsafe* (no schedule was found that avoids it). Metzler, "Verification and Enforcement of Safe Schedules for Concurrent Programs",
//! 2020, chapter 4, algorithm 3.
//!
//! Where this differs from the printed algorithm:
//! - There a cover that closes an unfair cycle is refused, so a complete proof has to unwind until every thread has had its turn, in every
//!   order. Here covers are as in Impact, and the *schedule* remembers who has had a turn ([`memory::Memory`]): its nodes are pairs of
//!   a node of the unwinding and that memory. Fairness is decided on the schedule, component by component.
//! - A thread that surely cannot go all around a cycle (it waits for one that never ends) is not treated unfairly there.
//! - That a step can be taken is proved at the node *before* it, by strengthening the whole path; where it cannot be proved the thread
//!   is not used there ([`Search::is_sure`]). No label becomes false for that.
//! - What is lost ([`Search::find_lost`]) is the greatest fixpoint of the game of the scheduler against inputs and branches. A node that
//!   is lost covers nothing any more: what it covered may be better off, and is looked at by itself.
//! - Only where no schedule can be fair otherwise are covers refused that close an unfair cycle, as often in a row as [`LAPS`] says; if
//!   that does not help the cycle is lost ([`Search::part`]).
//! - Following one thread alone where its steps commute with all others ([`Run::first_of_all`]) is sound for proofs and depends on
//!   the place alone, so that covers need no set of threads to be followed later. Where a node is lost because of it, it is dropped,
//!   unless it would be lost in any order ([`Search::loses_anyway`]).
//!
//! **Invariant:** every schedule that leaves this module has passed [`crate::check_schedule`], every trace was replayed.

mod art;
mod concrete;
mod fair;
mod memory;
mod walk;

pub use art::{Art, ArtNode, Kind};

use crate::budget::{Budget, Meter};
use crate::certificate::Certificate;
use crate::checker::Refuted;
use crate::engines::Engine;
use crate::impact::{FIRST_TRY, NodeId, Reduction, Run, Stop};
use crate::outcome::{Options, Outcome, Schedule, Trace, Unknown, Verdict};
use crate::scheduled::schedule_within;
use model::{LocationId, LocationKind, Program, Term, Thread, ThreadId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::ops::ControlFlow;

/// With more nodes than this no schedule is looked for any more.
const CAREFUL: usize = 4000;
const NO_PATIENCE: &str = "no schedule was found within the nodes or the time for that";

/// So many times in vain is a more permissive schedule tried.
const FAILED: usize = 40;

/// So often in a row is a cover refused because of what it leaves out, one after the other: what goes round in a circle does so for ever in
/// most cases, and to find out takes many nodes where there are many circles.
const LAPS: [u32; 3] = [1, 0, 3];

/// How many queries one order of the threads has before the other one is tried, for the first time.
const FIRST_ROUNDS: u64 = 1000;

/// So often is a cover of one node forced.
const FORCED: u32 = 12;

/// The engine: one schedule is enough for it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Imc;

impl Engine for Imc {
    fn name(&self) -> &'static str {
        "imc"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        schedules(program, options, 1, &mut |_| ControlFlow::Continue(())).outcome
    }
}

/// What comes out while the program is being verified.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A schedule that is fair, free of deadlocks and safe. Its check has passed.
    Schedule {
        /// The schedule.
        schedule: &'a Schedule,
        /// Seconds since the start.
        seconds: f64,
    },
    /// A run that goes wrong. The first one for each place where one can.
    Counterexample {
        /// The run.
        trace: &'a Trace,
        /// Seconds since the start.
        seconds: f64,
    },
}

/// All that came out.
#[derive(Clone, Debug)]
pub struct Found {
    /// The verdict. *Partially safe* has all schedules.
    pub outcome: Outcome,
    /// How many schedules there were.
    pub schedules: usize,
    /// One run for each place where something goes wrong.
    pub counterexamples: Vec<Trace>,
    /// The unwinding at the end.
    pub art: Art,
}

/// Verifies a program and hands out schedules as soon as they are there, at most so many. Once it is known that the program is
/// safe under some schedules only, it goes on for as long as there may be another schedule. `see` ends it with `Break`.
///
/// ```
/// let text = "int x; void *f(void *p) { while (1) { x = 1; x = 0; } return 0; }
///     typedef unsigned long pthread_t; void reach_error(void);
///     void *g(void *p) { while (1) { if (x) reach_error(); } return 0; }
///     int main(void) { pthread_t a, b; pthread_create(&a, 0, f, 0); pthread_create(&b, 0, g, 0);
///       pthread_join(a, 0); pthread_join(b, 0); return 0; }";
/// let program = model::read_text("race.c", text, &model::Options::default()).unwrap();
/// let mut seen = 0;
/// let found = verify::schedules(&program, &verify::Options::default(), 1, &mut |event| {
///     seen += matches!(event, verify::Event::Schedule { .. }) as usize;
///     std::ops::ControlFlow::Continue(())
/// });
/// assert_eq!(found.outcome.verdict.name(), "partially-safe");
/// assert_eq!(seen, 1);
/// ```
pub fn schedules(
    program: &Program,
    options: &Options,
    most: usize,
    see: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
) -> Found {
    let mut search = Search {
        run: Run::new(program, options, Reduction::OneIsEnough),
        facts: Vec::new(),
        blocked: HashSet::new(),
        sure: HashSet::new(),
        ever: HashSet::new(),
        may: HashMap::new(),
        taken: HashSet::new(),
        open: BinaryHeap::new(),
        grew: false,
        counterexamples: Vec::new(),
        undecided: None,
        schedules: Vec::new(),
        careful: true,
        patience: Meter::new(Budget {
            seconds: options.budget.seconds.map(|s| s / 2.0),
            work: options.budget.work.map(|w| w / 2),
        }),
        late: false,
        broken_off: false,
        strict: false,
        graph: None,
        extra: Vec::new(),
        ranked: false,
        circle: false,
        whole: false,
        laps: 0,
        guessed: false,
        refused: 0,
        played: false,
        can: HashMap::new(),
        most,
        see,
        over: false,
    };
    let end = search.search();
    let schedules = search.schedules.len();
    let counterexamples = search.counterexamples.clone();
    let verdict = search.verdict(end);
    let covers = search.run.nodes.iter().filter(|n| n.covered_by.is_some()).count() as u64;
    let outcome = Outcome {
        engine: "imc",
        verdict,
        counts: vec![
            ("schedules", (schedules as u64).into()),
            ("counterexamples", (counterexamples.len() as u64).into()),
            ("nodes", (search.run.nodes.len() as u64).into()),
            ("refinements", search.run.refinements.into()),
            ("covers", covers.into()),
            ("queries", search.run.queries().into()),
        ],
        seconds: search.run.meter.seconds(),
    };
    Found { outcome, schedules, counterexamples, art: search.art() }
}

/// What is known of a node besides its label.
#[derive(Clone, Debug, Default)]
struct Fact {
    /// It was looked at: whether it is wrong, possible, covered.
    settled: bool,
    /// A run goes wrong here, or nobody can tell. It is never followed.
    wrong: bool,
    /// Whatever the scheduler does from here, something goes wrong or waits for ever.
    lost: bool,
    /// How often a cover was to be forced.
    forced: u32,
    /// How many in a row were not to be covered, this one included.
    refused: u32,
    /// Whose steps were followed.
    followed: Vec<ThreadId>,
}

struct Search<'p, 's> {
    run: Run<'p>,
    facts: Vec<Fact>,
    /// Threads that may have to wait at a node.
    blocked: HashSet<(NodeId, ThreadId)>,
    /// Threads that can go at a node, by its label.
    sure: HashSet<(NodeId, ThreadId)>,
    /// Threads that can go at a node in some run to it.
    ever: HashSet<(NodeId, ThreadId)>,
    /// That a thread can go at a node.
    can: HashMap<(NodeId, ThreadId), Term>,
    /// Whether a thread can ever go at a node with a label of so many parts.
    may: HashMap<(NodeId, ThreadId, usize), bool>,
    /// Steps that are possible: the node after it, with labels of so many parts before and after it.
    taken: HashSet<(NodeId, usize, usize)>,
    /// Nodes from which something may be left to follow, the highest first.
    open: BinaryHeap<Reverse<(usize, NodeId)>>,
    /// The unwinding, or what is known of it, has changed.
    grew: bool,
    counterexamples: Vec<Trace>,
    /// Why something could not be decided.
    undecided: Option<Unknown>,
    schedules: Vec<Schedule>,
    /// While a schedule is looked for: covers do not mix what must not be done with what may.
    careful: bool,
    /// Within half of what there is, so that the rest is left for the proof.
    patience: Meter,
    /// Whether that is over.
    late: bool,
    /// Whether that was noticed: something was left half done.
    broken_off: bool,
    /// The same for what may have to wait.
    strict: bool,
    /// What the last schedule is made of.
    graph: Option<walk::Graph>,
    /// What later schedules allow besides what the first one does.
    extra: Vec<walk::Extra>,
    /// Whether the schedules are made by ranks.
    ranked: bool,
    /// Whether who comes next in a circle is before who comes first of all.
    circle: bool,
    /// Whether a round lasts until everybody had a turn, also if nobody who is left can go at the moment.
    whole: bool,
    /// How often a circle that leaves somebody out is gone round before it is taken to be lost.
    laps: u32,
    /// Whether one was.
    guessed: bool,
    /// How many covers were refused because of what they leave out.
    refused: usize,
    /// Whether a schedule was looked for by all states.
    played: bool,
    most: usize,
    see: &'s mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    /// Whoever listens has heard enough.
    over: bool,
}

impl<'p> Search<'p, '_> {
    fn verdict(&mut self, end: Result<bool, Stop>) -> Verdict {
        if let Err(Stop::Unknown(u @ Unknown::Mistake(_))) = end {
            return Verdict::Unknown(u);
        }
        if let Some(trace) = self.counterexamples.first().cloned() {
            if !self.schedules.is_empty() {
                return Verdict::PartiallySafe { schedules: std::mem::take(&mut self.schedules), trace };
            }
            // What goes wrong does so, whether or not all schedules were looked at.
            return Verdict::Unsafe(trace);
        }
        match end {
            Err(Stop::Unknown(u)) => Verdict::Unknown(u),
            Err(Stop::Wrong(_) | Stop::Again) => {
                Verdict::Unknown(Unknown::Mistake("a run is left over".to_owned()))
            }
            Ok(false) => Verdict::Unknown(Unknown::Cannot("it was told to stop".to_owned())),
            Ok(true) => match (self.undecided.take(), self.run.bound.take()) {
                (Some(u), _) => Verdict::Unknown(u),
                (None, Some(t)) => Verdict::Unknown(Unknown::Bound(t)),
                (None, None) => Verdict::Safe(Certificate::Tree(self.run.tree())),
            },
        }
    }

    /// Whether it came to its end; `false` if it was told to stop.
    fn search(&mut self) -> Result<bool, Stop> {
        self.run.plant();
        self.drain_work();
        let first = self.find_first()?;
        if let Some(s) = first {
            self.hand_out(s)?;
            // More permissive ones come from the unwinding that the first one came from.
            let more = if self.graph.is_some() { self.more_schedules() } else { Ok(()) };
            match more {
                Err(Stop::Unknown(Unknown::Within(why))) if why == NO_PATIENCE => {}
                other => other?,
            }
        }
        self.strict = false;
        if self.counterexamples.is_empty() {
            // The proof is looked for without such care. What was unwound with it may be more than a proof needs.
            self.careful = false;
            if self.broken_off || self.run.nodes.iter().any(|n| !n.bad.is_empty()) {
                self.begin_anew();
            }
        }
        self.prove()
    }

    /// Follows all that is left. Where something goes wrong and the schedules are there, or cannot be, all is said. Neither form of the
    /// labels is better for all programs, so both get more and more, as in [`crate::impact`].
    fn prove(&mut self) -> Result<bool, Stop> {
        let (mut few, mut most, mut given_up) = (true, FIRST_TRY, false);
        loop {
            self.run.few_guards = few;
            self.run.most_queries = self.run.queries().saturating_add(most);
            let end = self.follow_all();
            match &end {
                Err(Stop::Again) if !given_up => {}
                // Where one form of the labels cannot do without quantifiers the other one may.
                Ok(true) if self.counterexamples.is_empty() && self.undecided.is_some() && !given_up => {
                    given_up = true;
                }
                _ => return end,
            }
            most = match (given_up, few) {
                (true, _) => u64::MAX,
                (false, true) => most,
                (false, false) => most.saturating_mul(3),
            };
            few = !few;
            (self.undecided, self.run.bound) = (None, None);
            self.begin_anew();
        }
    }

    fn follow_all(&mut self) -> Result<bool, Stop> {
        while !self.over && self.counterexamples.is_empty() {
            let Some((v, thread)) = self.next_start()? else { return Ok(true) };
            self.iterate(v, thread)?;
        }
        Ok(!self.over)
    }

    /// Allows more and more: at the first node of the schedule, breadth-first, somebody else as well.
    fn more_schedules(&mut self) -> Result<(), Stop> {
        let (mut tried, mut failed) = (HashSet::new(), 0);
        if self.most > 1 {
            self.relax()?;
        }
        while self.schedules.len() < self.most && failed < FAILED && !self.over {
            let Some(new) = self.not_allowed(&tried)? else { return Ok(()) };
            tried.insert(new.clone());
            self.extra.push(new);
            match self.find_more()? {
                Some(s) => self.hand_out(s)?,
                None => {
                    self.extra.pop();
                    failed += 1;
                    self.restore()?;
                }
            }
        }
        Ok(())
    }

    fn begin_anew(&mut self) {
        self.run.clear();
        self.facts.clear();
        self.blocked.clear();
        self.sure.clear();
        self.ever.clear();
        self.may.clear();
        self.taken.clear();
        self.open.clear();
        self.can.clear();
        (self.graph, self.extra, self.ranked, self.whole) = (None, Vec::new(), false, false);
        (self.guessed, self.refused) = (false, 0);
        self.run.plant();
        self.drain_work();
    }

    /// Whether to go on looking for a schedule: where there is none that may never end.
    fn has_patience(&mut self) -> Result<(), Stop> {
        if self.careful && (self.is_late() || self.run.nodes.len() > CAREFUL) {
            self.broken_off = true;
            return Err(Stop::Unknown(Unknown::Within(NO_PATIENCE.to_owned())));
        }
        Ok(())
    }

    fn is_late(&self) -> bool {
        self.late || self.patience.look().is_err()
    }

    /// The first schedule. A round may be over while somebody is inside the body of a loop, as nobody else can go there. Who comes first
    /// of all then makes for short ways round, but may leave others out until a counter has run full; who comes next in a circle
    /// goes round with everybody, and labels have to say how far all of them get. Neither is better for all programs, so both get
    /// more and more.
    fn find_first(&mut self) -> Result<Option<Schedule>, Stop> {
        let (mut most, mut first) = (FIRST_ROUNDS, true);
        loop {
            // What labels do not find in a first try all states may, where they are few.
            if !std::mem::take(&mut first)
                && !std::mem::replace(&mut self.played, true)
                && let Some(found) = self.by_all_states()
            {
                return Ok(Some(found));
            }
            for circle in [false, true] {
                self.circle = circle;
                // To find a way round with everybody takes more.
                most = if circle { most.saturating_mul(4) } else { most };
                self.run.most_queries = self.run.queries().saturating_add(most);
                let found = self.find_in_order();
                self.run.most_queries = u64::MAX;
                match found {
                    Err(Stop::Again) => self.begin_anew(),
                    Ok(None) if !std::mem::replace(&mut self.played, true) => return Ok(self.by_all_states()),
                    found => return found,
                }
            }
        }
    }

    /// A schedule by all states, if these are few and it passes its check.
    fn by_all_states(&mut self) -> Option<Schedule> {
        let found = concrete::schedule(self.run.program)?;
        let left = Budget { seconds: self.run.meter.left(), work: None };
        schedule_within(self.run.program, &found, self.run.looks_for_deadlocks(), Meter::new(left)).ok()?;
        self.begin_anew();
        Some(found)
    }

    fn find_in_order(&mut self) -> Result<Option<Schedule>, Stop> {
        self.strict = false;
        for (strict, laps) in [(false, 0)].into_iter().chain(LAPS.map(|laps| (true, laps))) {
            match (strict, self.guessed) {
                (true, true) => self.begin_anew(),
                // Nothing was taken to be lost that may not be.
                (true, false) if self.strict => return Ok(None),
                _ => {}
            }
            (self.strict, self.laps) = (strict, laps);
            match self.find_schedule() {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                // What was taken to be lost may have cost the nodes; the others have as many.
                Err(Stop::Unknown(Unknown::Within(why))) if why == NO_PATIENCE => {
                    if !self.guessed || self.is_late() {
                        return Ok(None);
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(None)
    }

    fn hand_out(&mut self, schedule: Schedule) -> Result<(), Stop> {
        let left = Budget { seconds: self.run.meter.left(), work: None };
        let deadlocks = self.run.looks_for_deadlocks();
        schedule_within(self.run.program, &schedule, deadlocks, Meter::new(left)).map_err(|why| {
            Stop::Unknown(match why {
                Refuted::Spent(s) => Unknown::Spent(s),
                why => Unknown::Mistake(why.to_string()),
            })
        })?;
        let seconds = self.run.meter.seconds();
        self.over |= (self.see)(Event::Schedule { schedule: &schedule, seconds }).is_break();
        self.schedules.push(schedule);
        Ok(())
    }

    fn wrong_run(&mut self, steps: Vec<model::Step>) -> Result<(), Stop> {
        match Verdict::of_trace(self.run.program, steps) {
            Verdict::Unsafe(trace) => {
                if self.counterexamples.iter().all(|t| t.wrong != trace.wrong) {
                    let seconds = self.run.meter.seconds();
                    self.over |= (self.see)(Event::Counterexample { trace: &trace, seconds }).is_break();
                    self.counterexamples.push(trace);
                }
                Ok(())
            }
            Verdict::Unknown(u) => Err(Stop::Unknown(u)),
            _ => Err(Stop::Unknown(Unknown::Mistake("a run is no trace".to_owned()))),
        }
    }

    /// Says so where labels rule a step out by now. What comes after such a step may be covered all the same, and the ways that such a
    /// cover seems to open are there in no run: whoever goes only along them would seem to be left out.
    fn rule_out(&mut self) -> Result<(), Stop> {
        for v in 0..self.run.nodes.len() {
            if !self.facts[v].settled || !self.run.is_live(v) {
                continue;
            }
            for c in self.run.nodes[v].children.clone() {
                let key = (c, self.run.nodes[v].label.len(), self.run.nodes[c].label.len());
                if self.run.is_false(c) || !self.taken.insert(key) {
                    continue;
                }
                self.grew |= self.run.rule_out(c)?;
            }
        }
        self.drain_work();
        Ok(())
    }

    /// Nodes that lost their cover have to be looked at again.
    fn drain_work(&mut self) {
        self.facts.resize_with(self.run.nodes.len(), Fact::default);
        for n in std::mem::take(&mut self.run.work) {
            self.facts[n].settled = false;
            self.open.push(Reverse((self.run.nodes[n].depth, n)));
            self.grew = true;
        }
    }

    fn node_location(&self, v: NodeId, thread: ThreadId) -> LocationId {
        self.run.nodes[v].at.locations[thread.index()]
    }

    /// Looks at a node: after this it is wrong, impossible, covered, or to be followed.
    fn settle(&mut self, v: NodeId) -> Result<(), Stop> {
        if self.facts[v].settled || self.facts[v].wrong || !self.run.is_live(v) {
            return Ok(());
        }
        self.facts[v].settled = true;
        self.grew = true;
        let done = self.look_at(v);
        self.facts[v].settled &= done.is_ok();
        self.drain_work();
        done
    }

    fn look_at(&mut self, v: NodeId) -> Result<(), Stop> {
        self.run.meter.step().map_err(|s| Stop::Unknown(Unknown::Spent(s)))?;
        self.late |= self.patience.step().is_err();
        self.has_patience()?;
        if self.run.is_beyond_bound(v) {
            self.run.look_beyond_bound(v)?;
            self.give_up(v);
            return Ok(());
        }
        match self.run.refine_wrong(v) {
            Ok(()) => {}
            Err(Stop::Wrong(steps)) => {
                self.give_up(v);
                return self.wrong_run(steps);
            }
            Err(Stop::Unknown(u @ Unknown::Cannot(_))) => {
                self.undecided.get_or_insert(u);
                self.give_up(v);
                return Ok(());
            }
            Err(e) => return Err(e),
        }
        if !self.run.is_live(v) {
            return Ok(());
        }
        match self.run.prune_blocked(v) {
            Ok(()) | Err(Stop::Unknown(Unknown::Cannot(_))) => {}
            Err(e) => return Err(e),
        }
        if !self.run.is_live(v) {
            return Ok(());
        }
        if self.facts[v].followed.is_empty() {
            self.run.nodes[v].only = self.run.first_of_all(v)?;
        }
        self.probe(v)?;
        if !self.run.is_live(v) || self.run.close(v)? {
            return Ok(());
        }
        // Two covers that are forced again and again, each to take the other back, would unwind a loop in their labels.
        self.facts[v].forced += 1;
        if self.facts[v].forced <= FORCED && self.run.force_cover(v)? {
            return Ok(());
        }
        self.run.nodes[v].expanded = self.is_followed(v);
        if !self.run.nodes[v].expanded {
            self.open.push(Reverse((self.run.nodes[v].depth, v)));
        }
        Ok(())
    }

    /// What must not be done at other nodes of the same place is tried here: only where it must not be done either may they cover.
    fn probe(&mut self, v: NodeId) -> Result<(), Stop> {
        if !self.careful {
            return Ok(());
        }
        let others = self.run.same_place(v).iter().filter(|w| **w < v && self.run.is_live(**w));
        let mut bad: Vec<ThreadId> = others.flat_map(|w| self.run.nodes[*w].bad.clone()).collect();
        bad.sort();
        bad.dedup();
        for t in self.moves(v).into_iter().filter(|t| bad.contains(t)) {
            self.follow(v, t)?;
            // It may have to wait here as well.
            if self.strict && self.run.is_live(v) {
                self.is_sure(v, t)?;
            }
            if !self.run.is_live(v) {
                return Ok(());
            }
        }
        self.note_bad(v);
        Ok(())
    }

    /// Notes who must not go at a node, and that it stands no more for those where they may. Whether there is anybody new, and whether
    /// it stood for such.
    fn note_bad(&mut self, v: NodeId) -> (bool, bool) {
        let known = &self.run.nodes[v].bad;
        let more: Vec<ThreadId> = self.bad(v).into_iter().filter(|t| !known.contains(t)).collect();
        if more.is_empty() {
            return (false, false);
        }
        self.run.nodes[v].bad.extend(more);
        (true, self.run.leave_better(v))
    }

    /// Who must not go at a node, as far as it is known.
    fn bad(&self, v: NodeId) -> Vec<ThreadId> {
        if self.facts[v].lost {
            return self.run.program.thread_ids().collect();
        }
        let bad = |t: &ThreadId| match self.blocked.contains(&(v, *t)) {
            true => self.strict,
            false => !self.is_good(v, *t),
        };
        self.moves(v).into_iter().filter(bad).collect()
    }

    /// Marks a node at which something is wrong.
    fn give_up(&mut self, v: NodeId) {
        if self.run.is_live(v) {
            self.facts[v].wrong = true;
            self.run.nodes[v].barren = true;
        }
    }

    /// Who can be followed from a node.
    fn moves(&self, v: NodeId) -> Vec<ThreadId> {
        match self.run.nodes[v].only {
            Some(only) => vec![only],
            None => {
                let p = self.run.program;
                let has = |t: &ThreadId| !p.thread(*t).out[self.node_location(v, *t).index()].is_empty();
                p.thread_ids().filter(has).collect()
            }
        }
    }

    fn is_followed(&self, v: NodeId) -> bool {
        self.moves(v).iter().all(|t| self.facts[v].followed.contains(t))
    }

    /// Follows a thread from a node, in all its branches. Those where something may be wrong are looked at at once.
    fn follow(&mut self, v: NodeId, thread: ThreadId) -> Result<(), Stop> {
        if self.facts[v].followed.contains(&thread) {
            return Ok(());
        }
        self.grew = true;
        self.facts[v].followed.push(thread);
        let children = self.run.follow(v, thread);
        self.run.nodes[v].expanded = self.is_followed(v);
        self.facts.resize_with(self.run.nodes.len(), Fact::default);
        let p = self.run.program;
        for c in children {
            self.open.push(Reverse((self.run.nodes[c].depth, c)));
            if matches!(
                p.thread(thread).location(self.node_location(c, thread)).kind,
                LocationKind::Error { .. }
            ) {
                self.settle(c)?;
            }
        }
        Ok(())
    }

    /// The children by steps of a thread that are possible.
    fn children(&self, v: NodeId, thread: ThreadId) -> Vec<NodeId> {
        let by = |c: &NodeId| self.run.incoming(*c).is_some_and(|(t, _)| t == thread);
        let all = self.run.nodes[v].children.iter().copied().filter(by);
        all.filter(|c| !self.run.is_false(*c)).collect()
    }

    /// The node that stands for a node.
    fn stands_for(&self, v: NodeId) -> NodeId {
        self.run.nodes[v].covered_by.unwrap_or(v)
    }

    /// Whether the program is over at a node, or nobody is left.
    fn is_end(&self, v: NodeId) -> bool {
        let p = self.run.program;
        let at = &self.run.nodes[v].at;
        let kind = |t: ThreadId| &p.thread(t).location(at.locations[t.index()]).kind;
        let unborn = |t: ThreadId| {
            let i = p.thread(t).life.and_then(|life| self.run.known.iter().position(|k| *k == life));
            i.is_some_and(|i| at.known[i] == Thread::UNBORN)
        };
        let over = |t| matches!(kind(t), LocationKind::Exit | LocationKind::Halt);
        p.thread_ids().any(over)
            || p.thread_ids().all(|t| !matches!(kind(t), LocationKind::Normal) || unborn(t))
    }

    /// That a thread can go at a node, as a formula. That it might wake up for no reason does not count.
    fn can_go(&mut self, v: NodeId, thread: ThreadId) -> Term {
        if let Some(known) = self.can.get(&(v, thread)) {
            return *known;
        }
        let at = self.node_location(v, thread);
        let p = self.run.program;
        let mut env = self.run.env_at(v);
        let mut guards = Vec::new();
        for (_, t) in p.thread(thread).from(at).filter(|(_, t)| !t.action.is_spurious()) {
            guards.push(env.eval(&mut self.run.symbols, t.guard));
        }
        let can = self.run.symbols.terms.any(guards);
        self.can.insert((v, thread), can);
        can
    }

    /// Whether a thread can go in some state of a node.
    fn may_go(&mut self, v: NodeId, thread: ThreadId) -> Result<bool, Stop> {
        let can = self.can_go(v, thread);
        if let Some(value) = self.run.symbols.terms.as_const(can) {
            return Ok(value != 0);
        }
        let key = (v, thread, self.run.nodes[v].label.len());
        if let Some(known) = self.may.get(&key) {
            return Ok(*known);
        }
        let mut all = self.run.nodes[v].label.clone();
        all.push(can);
        let may = self.run.can_hold(&all)?;
        self.may.insert(key, may);
        Ok(may)
    }

    /// Whether a thread can go in every state of a node: labels are strengthened until they say so, if that is how it is.
    fn is_sure(&mut self, v: NodeId, thread: ThreadId) -> Result<bool, Stop> {
        if self.sure.contains(&(v, thread)) {
            return Ok(true);
        }
        if self.blocked.contains(&(v, thread)) {
            return Ok(false);
        }
        let can = self.can_go(v, thread);
        let label = self.run.nodes[v].label.clone();
        let mut sure = match self.run.symbols.terms.as_const(can) {
            Some(value) => value != 0,
            None => self.run.implies(&label, can)?,
        };
        if !sure && self.run.symbols.terms.as_const(can) != Some(0) {
            let cannot = self.run.symbols.terms.not(can);
            if self.run.run_to(v, cannot)?.is_none() {
                sure = match self.run.refine_from_root(v, can) {
                    Ok(()) => true,
                    Err(Stop::Unknown(Unknown::Cannot(_))) => false,
                    Err(e) => return Err(e),
                };
                self.grew = true;
                self.drain_work();
            }
        }
        if sure {
            self.sure.insert((v, thread));
        } else {
            self.blocked.insert((v, thread));
            self.grew = true;
        }
        Ok(sure)
    }

    /// Whether a run comes to a node: if none does its label becomes false, if that can be said.
    fn is_possible(&mut self, v: NodeId) -> Result<bool, Stop> {
        let (yes, no) = (self.run.symbols.terms.boolean(true), self.run.symbols.terms.boolean(false));
        if self.run.run_to(v, yes)?.is_some() {
            return Ok(true);
        }
        match self.run.refine_from_root(v, no) {
            Ok(()) => {
                self.run.notice_false(v)?;
                Ok(!self.run.is_false(v))
            }
            Err(Stop::Unknown(Unknown::Cannot(_))) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Whether a thread can go in some state of a node that runs come to: labels are strengthened until they say that it cannot, if that
    /// is how it is.
    fn ever_goes(&mut self, v: NodeId, thread: ThreadId) -> Result<bool, Stop> {
        // To say so of data would unwind loops over them: it is tried where nothing else helps.
        if !self.strict || !self.may_go(v, thread)? || self.ever.contains(&(v, thread)) {
            return self.may_go(v, thread);
        }
        let can = self.can_go(v, thread);
        if self.run.run_to(v, can)?.is_none() {
            let cannot = self.run.symbols.terms.not(can);
            match self.run.refine_from_root(v, cannot) {
                Ok(()) => {
                    self.run.notice_false(v)?;
                    self.grew = true;
                    self.drain_work();
                    return Ok(false);
                }
                Err(Stop::Unknown(Unknown::Cannot(_))) => {}
                Err(e) => return Err(e),
            }
        }
        self.ever.insert((v, thread));
        Ok(true)
    }

    /// Whether a step of a thread is not known to lose. What was not followed yet is taken to be fine.
    fn is_good(&self, v: NodeId, thread: ThreadId) -> bool {
        if self.blocked.contains(&(v, thread)) {
            return false;
        }
        if !self.facts[v].followed.contains(&thread) {
            return true;
        }
        // Where no step was there to follow nobody goes; where all turn out to be impossible, nobody comes here.
        let followed = |c: &NodeId| self.run.incoming(*c).is_some_and(|(t, _)| t == thread);
        self.run.nodes[v].children.iter().any(followed)
            && !self.children(v, thread).into_iter().any(|c| self.is_lost(c))
    }

    /// Whether the scheduler has lost at a node, as far as it is known. Also if it has at the one that stands for it, where covers are
    /// taken lightly, or nobody must go here.
    fn is_lost(&self, v: NodeId) -> bool {
        let own = |v: NodeId| self.facts[v].wrong || self.facts[v].lost;
        let no_better = || self.run.nodes[v].bad.len() == self.run.program.threads.len();
        own(v) || (!self.careful || no_better()) && own(self.stands_for(v))
    }

    /// Whether the scheduler loses in any order where it loses by letting a thread go whose next step commutes with all that others
    /// may do: that is so if it loses by what comes after the step, and if the step has to be taken at some time. It can be taken
    /// whenever, so only the end of the program can come before it, if nobody waits for the thread then.
    fn loses_anyway(&self, v: NodeId, thread: ThreadId) -> bool {
        let p = self.run.program;
        !self.blocked.contains(&(v, thread))
            && self.children(v, thread).into_iter().any(|c| self.is_lost(c))
            && p.thread_ids()
                .filter(|u| *u != thread)
                .all(|u| !memory::may_exit_before(p, u, self.node_location(v, u), thread))
    }

    /// Finds the nodes from which the scheduler loses whatever it does: the greatest fixpoint over what is fine. What is lost stays
    /// so: that there is a run to show it does not change. It covers no node any more that is not known to be lost as well.
    fn find_lost(&mut self) -> Result<(), Stop> {
        loop {
            self.run.meter.look().map_err(|s| Stop::Unknown(Unknown::Spent(s)))?;
            self.has_patience()?;
            let n = self.run.nodes.len();
            let mut live = vec![false; n];
            for v in 0..n {
                let above = self.run.nodes[v].parent.is_none_or(|(p, ..)| live[p]);
                live[v] = above && self.run.nodes[v].covered_by.is_none() && !self.run.is_false(v);
            }
            let mut impossible = false;
            loop {
                let mut changed = false;
                for v in (0..n).rev() {
                    let known = self.is_lost(v) || !self.facts[v].settled || self.is_end(v);
                    if !live[v] || known || self.moves(v).into_iter().any(|t| self.is_good(v, t)) {
                        continue;
                    }
                    changed = true;
                    // To follow one thread alone is enough for a proof, and may be too little for a schedule.
                    if self.run.nodes[v].only.is_some_and(|t| !self.loses_anyway(v, t)) {
                        self.run.nodes[v].only = None;
                        self.run.nodes[v].expanded = self.is_followed(v);
                        self.open.push(Reverse((self.run.nodes[v].depth, v)));
                    } else if self.is_possible(v)? {
                        self.facts[v].lost = true;
                    } else {
                        impossible = true;
                    }
                }
                if !changed || impossible {
                    break;
                }
            }
            self.drain_work();
            if impossible {
                self.grew = true;
                continue;
            }
            if !self.careful {
                return Ok(());
            }
            let mut again = false;
            let looked_at = (0..n).filter(|v| live[*v] && self.facts[*v].settled);
            for v in looked_at.collect::<Vec<_>>() {
                if !self.run.is_live(v) {
                    continue;
                }
                let (worse, left) = self.note_bad(v);
                // It may be no better than another one by now.
                again |= left || worse && self.run.close(v)?;
            }
            self.drain_work();
            if !again {
                return Ok(());
            }
        }
    }

    /// The first node, breadth-first, from which a thread is left to follow, with that thread.
    fn next_start(&mut self) -> Result<Option<(NodeId, ThreadId)>, Stop> {
        while let Some(Reverse((depth, v))) = self.open.pop() {
            if self.facts[v].wrong || !self.run.is_live(v) {
                continue;
            }
            self.settle(v)?;
            if self.facts[v].wrong || !self.run.is_live(v) {
                continue;
            }
            let left = self.moves(v).into_iter().find(|t| !self.facts[v].followed.contains(t));
            if let Some(thread) = left {
                self.open.push(Reverse((depth, v)));
                return Ok(Some((v, thread)));
            }
            self.run.nodes[v].expanded = true;
        }
        Ok(None)
    }
}
