//! Following one scheduler: where it goes, what has to be unwound for it, and the schedule that comes of it.
//!
//! Two schedulers are tried. The first lets threads go on to the end of their loops' bodies, in rounds ([`super::memory`]). Where that
//! leaves somebody out, the second lets whoever is due go as soon as it can be brought about, by ranks: the distance to a node at
//! which it can go, whatever branches are taken on the way.

use super::Search;
use super::fair::components;
use super::memory::{Memory, jumps_back, only_exits};
use crate::impact::{At, NodeId, Stop};
use crate::outcome::{Schedule, ScheduleNode};
use model::{ThreadId, TransitionId};
use std::collections::{HashMap, HashSet, VecDeque};

/// A schedule with more nodes than this is not made.
const LARGEST: usize = 4000;
/// So often is a more permissive schedule tried again after labels have changed.
const TRIES: usize = 50;
/// So often in all is a cover refused because of what it leaves out: where nothing is fair it may never help.
const ALL_REFUSED: usize = 60;

/// Nodes of the unwinding together with what the scheduler remembers there; the first one is where it starts.
pub(crate) struct Graph {
    pub(crate) keys: Vec<(NodeId, Memory)>,
    pub(crate) next: Vec<Vec<(ThreadId, TransitionId, usize)>>,
}

enum Scheduler {
    Rounds,
    Ranked(Ranks),
}

/// What later schedules allow besides what the first one does: somebody else at a place, at some moment of the round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Extra {
    place: At,
    moment: u128,
    thread: ThreadId,
}

/// Where ranks lead.
enum Ranking {
    /// Nobody is left out.
    Fair(Ranks),
    /// From these nodes on somebody is left out who can go, whatever the scheduler does.
    LeavesOut(Vec<NodeId>),
}

/// How far it is, by thread and node, until the thread has gone or is excused.
struct Ranks {
    rank: Vec<Vec<usize>>,
    excused: Vec<Vec<bool>>,
}

const NEVER: usize = usize::MAX;

impl Search<'_, '_> {
    /// A schedule, if there is one. Unwinds what it needs.
    pub(crate) fn find_schedule(&mut self) -> Result<Option<Schedule>, Stop> {
        loop {
            self.find_lost()?;
            if self.facts[0].lost || self.facts[0].wrong {
                return Ok(None);
            }
            self.grew = false;
            self.ranked = false;
            let graph = self.walk(&Scheduler::Rounds)?;
            if self.grew {
                continue;
            }
            if let Some(graph) = graph {
                let left_out = self.left_out(&graph)?;
                // Labels may have changed for it.
                if self.grew {
                    continue;
                }
                if left_out.is_none() {
                    return Ok(Some(self.schedule(graph)));
                }
            }
            self.rule_out()?;
            let ranks = self.ranks()?;
            if self.grew {
                continue;
            }
            let ranks = match ranks {
                Ranking::Fair(ranks) => ranks,
                // Where only labels say that somebody can go nothing is lost yet.
                Ranking::LeavesOut(nodes) if self.strict => {
                    if self.part(&nodes) {
                        continue;
                    }
                    return Ok(None);
                }
                Ranking::LeavesOut(_) => return Ok(None),
            };
            self.ranked = true;
            let graph = self.walk(&Scheduler::Ranked(ranks))?;
            if self.grew {
                continue;
            }
            let Some(graph) = graph else { return Ok(None) };
            let left_out = self.left_out(&graph)?;
            if self.grew {
                continue;
            }
            return Ok(left_out.is_none().then(|| self.schedule(graph)));
        }
    }

    /// Nodes from which somebody is left out for ever go round in circles that covers close. What is covered there may be better off
    /// than what covers it, so it is looked at by itself, [`Search::laps`] times in a row; then the circle is taken to be lost.
    /// Whether anything has changed.
    fn part(&mut self, nodes: &[NodeId]) -> bool {
        let number: HashMap<NodeId, usize> = nodes.iter().copied().zip(0..).collect();
        // The steps that stay among them: from, the child, and what stands for it.
        let mut steps = Vec::new();
        for v in nodes {
            for t in self.moves(*v).into_iter().filter(|t| self.is_good(*v, *t)) {
                for c in self.children(*v, t) {
                    if let Some(to) = number.get(&self.stands_for(c)) {
                        steps.push((number[v], c, *to));
                    }
                }
            }
        }
        let mut next = vec![Vec::new(); nodes.len()];
        steps.iter().for_each(|(from, _, to)| next[*from].push(*to));
        let (component, cyclic) = components(&next);
        let circles =
            steps.into_iter().filter(|s| component[s.0] == component[s.2] && cyclic[component[s.0]]);
        let covers: Vec<(NodeId, NodeId)> =
            circles.filter(|s| s.1 != nodes[s.2]).map(|s| (s.1, nodes[s.2])).collect();
        let mut parted = false;
        for (c, w) in &covers {
            let refused = self.facts[*w].refused;
            if refused < self.laps && self.run.nodes[*c].covered_by == Some(*w) {
                self.facts[*c].refused = self.facts[*c].refused.max(refused + 1);
                self.run.refuse_cover(*c, *w);
                parted = true;
                self.refused += 1;
            }
        }
        if self.refused > ALL_REFUSED {
            self.guessed = true;
            return false;
        }
        if !parted {
            let all: Vec<ThreadId> = self.run.program.thread_ids().collect();
            let inside = (0..nodes.len()).filter(|n| cyclic[component[*n]]).map(|n| nodes[n]);
            // What is covered there is lost as well, so that these covers stay, and no others.
            let lost: Vec<NodeId> = inside.chain(covers.into_iter().map(|c| c.0)).collect();
            for v in &lost {
                parted |= !self.facts[*v].lost;
                self.facts[*v].lost = true;
                self.guessed = true;
                self.run.nodes[*v].bad = all.clone();
            }
            for v in lost {
                self.run.leave_better(v);
            }
        }
        self.drain_work();
        parted
    }

    /// What the scheduler of the last schedule does together with the extras, if that is fair.
    fn walk_again(&mut self) -> Result<Option<Graph>, Stop> {
        for _ in 0..TRIES {
            self.find_lost()?;
            if self.facts[0].lost {
                return Ok(None);
            }
            self.grew = false;
            let scheduler = match self.ranked {
                false => Scheduler::Rounds,
                true => match self.ranks()? {
                    Ranking::Fair(ranks) => Scheduler::Ranked(ranks),
                    Ranking::LeavesOut(_) if self.grew => continue,
                    Ranking::LeavesOut(_) => return Ok(None),
                },
            };
            let graph = self.walk(&scheduler)?;
            if self.grew {
                continue;
            }
            let Some(graph) = graph else { return Ok(None) };
            let left_out = self.left_out(&graph)?;
            if self.grew {
                continue;
            }
            return Ok(left_out.is_none().then_some(graph));
        }
        Ok(None)
    }

    /// A schedule that allows the last of the extras, if there is one.
    pub(crate) fn find_more(&mut self) -> Result<Option<Schedule>, Stop> {
        let Some(graph) = self.walk_again()? else { return Ok(None) };
        let Some(extra) = self.extra.last().cloned() else { return Ok(None) };
        for (i, (v, memory)) in graph.keys.iter().enumerate() {
            let goes = graph.next[i].iter().any(|e| e.0 == extra.thread);
            if goes && self.run.nodes[*v].at == extra.place && self.moment(*v, *memory).1 == extra.moment {
                return Ok(Some(self.schedule(graph)));
            }
        }
        Ok(None)
    }

    /// Gets ready for more permissive schedules. A schedule by ranks lets whoever is due go at once, so it can allow little more; by now
    /// labels say enough for whole rounds, in which anybody may be the first.
    pub(crate) fn relax(&mut self) -> Result<(), Stop> {
        if self.ranked {
            (self.ranked, self.whole) = (false, true);
            match self.walk_again()? {
                Some(graph) => self.graph = Some(graph),
                None => (self.ranked, self.whole) = (true, false),
            }
        }
        Ok(())
    }

    /// After an extra was tried in vain: what it took apart is put together again, so that the tree is that of the schedules.
    pub(crate) fn restore(&mut self) -> Result<(), Stop> {
        if let Some(graph) = self.walk_again()? {
            self.graph = Some(graph);
        }
        Ok(())
    }

    /// What is to be allowed next: at the first node of the last schedule, breadth-first, somebody else who has had no turn yet.
    pub(crate) fn not_allowed(&mut self, tried: &HashSet<Extra>) -> Result<Option<Extra>, Stop> {
        let Some(graph) = self.graph.take() else { return Ok(None) };
        let (mut seen, mut queue) = (HashSet::from([0]), VecDeque::from([0]));
        let mut found = None;
        while let Some(i) = queue.pop_front() {
            let (v, memory) = graph.keys[i];
            let (_, moment) = self.moment(v, memory);
            for thread in self.moves(v) {
                let extra = Extra { place: self.run.nodes[v].at.clone(), moment, thread };
                let allowed = graph.next[i].iter().any(|e| e.0 == thread);
                let is_new = !allowed && (self.ranked || moment >> thread.index() & 1 == 1);
                if !is_new || tried.contains(&extra) || !self.run.is_live(v) || self.is_end(v) {
                    continue;
                }
                if self.is_good(v, thread) && self.may_go(v, thread)? {
                    found = Some(extra);
                    break;
                }
            }
            if found.is_some() {
                break;
            }
            queue.extend(graph.next[i].iter().map(|e| e.2).filter(|n| seen.insert(*n)));
        }
        self.graph = Some(graph);
        Ok(found)
    }

    /// What is remembered at a node when it is left, and the moment of the round: bit by bit who has had no turn and can go. For a ranked
    /// schedule: whose turn it is.
    fn moment(&mut self, v: NodeId, mut memory: Memory) -> (Memory, u128) {
        if self.ranked {
            return (memory, memory.served);
        }
        let mut can = Vec::new();
        for t in self.run.program.thread_ids() {
            let formula = self.can_go(v, t);
            if self.run.symbols.terms.as_const(formula) != Some(0) {
                can.push(t);
            }
        }
        let bits =
            |m: &Memory| can.iter().filter(|t| !m.is_served(**t)).fold(0, |b, t| b | 1 << (t.index() % 128));
        // Whether that the others cannot go while somebody is inside the body of a loop, with a lock say, ends a round. If it does
        // rounds are short, and so are the paths that labels are made of; if not, everybody has a turn in each.
        let inside = self.whole && memory.goes_on && self.moves(v).contains(&memory.last);
        if bits(&memory) == 0 && !inside {
            memory.served = 0;
        }
        let moment = bits(&memory);
        (memory, moment)
    }

    /// Who else may go at a node, for the sake of later schedules.
    fn extras(&self, v: NodeId, moment: u128) -> Vec<ThreadId> {
        let here = |e: &&Extra| e.moment == moment && e.place == self.run.nodes[v].at;
        self.extra.iter().filter(here).map(|e| e.thread).collect()
    }

    /// Follows a thread from a node where others were followed already, and then one thread from each new node.
    pub(crate) fn iterate(&mut self, v: NodeId, thread: ThreadId) -> Result<(), Stop> {
        self.follow(v, thread)?;
        let mut stack = self.children(v, thread);
        stack.reverse();
        while let Some(c) = stack.pop() {
            self.settle(c)?;
            let new = !self.facts[c].wrong && self.facts[c].followed.is_empty();
            if !new || !self.run.is_live(c) || self.is_end(c) {
                continue;
            }
            let Some((last, e)) = self.run.incoming(c) else { continue };
            let t = self.run.transition(last, e);
            let back = jumps_back(self.run.program, last, t.from, t.to);
            let threads = self.run.program.threads.len();
            let order = (0..threads).map(|k| (last.index() + usize::from(back) + k) % threads);
            let moves = self.moves(c);
            let mut next = None;
            for t in order.map(|t| ThreadId(t as u16)).filter(|t| moves.contains(t)) {
                let can = self.can_go(c, t);
                if self.run.symbols.terms.as_const(can) != Some(0) {
                    next = Some(t);
                    break;
                }
            }
            if let Some(t) = next {
                self.follow(c, t)?;
                let children = self.children(c, t);
                stack.extend(children.into_iter().rev());
            }
        }
        Ok(())
    }

    /// Everything a scheduler does. What it needs is unwound on the way; then [`Search::grew`] is set, and the graph is not to be
    /// trusted. Depth first: what is wrong along one way is known before another is begun; what comes after a cover comes last, as what
    /// is wrong before the cover may take it back.
    fn walk(&mut self, scheduler: &Scheduler) -> Result<Option<Graph>, Stop> {
        let mut graph = Graph { keys: Vec::new(), next: Vec::new() };
        let mut index = HashMap::new();
        let mut first = Memory::FIRST;
        first.goes_on = matches!(scheduler, Scheduler::Rounds);
        // A node, what is remembered there, and the step that leads to it.
        let mut stack = vec![(0, first, None)];
        let mut later = VecDeque::new();
        while let Some((c, memory, step)) = stack.pop().or_else(|| later.pop_front()) {
            if graph.keys.len() > LARGEST {
                return Ok(None);
            }
            self.settle(c)?;
            let v = self.stands_for(c);
            if self.run.is_false(c) || self.facts[v].wrong || !self.run.is_live(v) {
                self.grew = true;
                continue;
            }
            if v != c {
                later.push_back((v, memory, step));
                continue;
            }
            let new = graph.keys.len();
            let number = *index.entry((v, memory)).or_insert(new);
            if let Some((from, thread, e)) = step {
                let next: &mut Vec<(ThreadId, TransitionId, usize)> = &mut graph.next[from];
                next.push((thread, e, number));
            }
            if number < new {
                continue;
            }
            graph.keys.push((v, memory));
            graph.next.push(Vec::new());
            if self.is_end(v) {
                continue;
            }
            let mut after = Vec::new();
            let mut chosen = self.choose(scheduler, v, memory)?;
            loop {
                for (thread, _) in &chosen {
                    self.follow(v, *thread)?;
                }
                if !self.run.is_live(v) || chosen.iter().all(|c| self.is_good(v, c.0)) {
                    break;
                }
                // What is wrong at once need not be tried.
                chosen = self.choose(scheduler, v, memory)?;
            }
            if chosen.is_empty() && !self.grew {
                return Ok(None);
            }
            for (thread, memory) in chosen {
                for c in self.children(v, thread) {
                    let Some((_, e)) = self.run.incoming(c) else { continue };
                    let t = self.run.transition(thread, e);
                    let back = || jumps_back(self.run.program, thread, t.from, t.to);
                    // Where one thread alone is followed that is nobody's turn, unless it goes on with its own.
                    let forced = self.run.nodes[v].only.is_some() && thread != memory.last;
                    let memory = match scheduler {
                        Scheduler::Rounds if !forced => memory.after(thread, back()),
                        _ => memory,
                    };
                    after.push((c, memory, Some((number, thread, e))));
                }
            }
            stack.extend(after.into_iter().rev());
        }
        Ok(Some(graph))
    }

    /// Who may go at a node, each with what is remembered then.
    fn choose(
        &mut self,
        scheduler: &Scheduler,
        v: NodeId,
        memory: Memory,
    ) -> Result<Vec<(ThreadId, Memory)>, Stop> {
        match scheduler {
            Scheduler::Rounds => self.choose_in_rounds(v, memory),
            Scheduler::Ranked(ranks) => self.choose_by_rank(ranks, v, memory),
        }
    }

    fn choose_in_rounds(&mut self, v: NodeId, memory: Memory) -> Result<Vec<(ThreadId, Memory)>, Stop> {
        let p = self.run.program;
        let moves = self.moves(v);
        let (memory, moment) = self.moment(v, memory);
        let mut order = Vec::new();
        if memory.goes_on {
            order.push(memory.last);
        }
        // Who would end the program lets the others go first.
        let exits = |t: &ThreadId| only_exits(p, *t, self.run.nodes[v].at.locations[t.index()]);
        let n = p.threads.len();
        let circle = || (1..=n).map(|k| ThreadId(((memory.last.index() + k) % n) as u16));
        let mut unserved: Vec<ThreadId> = circle().filter(|t| !memory.is_served(*t)).collect();
        if !self.circle {
            unserved.sort();
        }
        order.extend(unserved.iter().filter(|t| !exits(t)));
        order.extend(unserved.iter().filter(|t| exits(t)));
        order.extend(circle());
        let mut out = Vec::new();
        for t in order {
            if moves.contains(&t) && self.is_good(v, t) && self.is_sure(v, t)? {
                out.push((t, memory));
                break;
            }
        }
        for t in self.extras(v, moment) {
            let new = out.iter().all(|c: &(ThreadId, Memory)| c.0 != t);
            if new && moves.contains(&t) && self.is_good(v, t) && self.is_sure(v, t)? {
                out.push((t, memory));
            }
        }
        Ok(out)
    }

    fn choose_by_rank(
        &mut self,
        ranks: &Ranks,
        v: NodeId,
        mut memory: Memory,
    ) -> Result<Vec<(ThreadId, Memory)>, Stop> {
        let n = self.run.program.threads.len();
        let moves: Vec<ThreadId> = self.moves(v).into_iter().filter(|t| self.is_good(v, *t)).collect();
        // What was unwound since the ranks were made will have some next time.
        if ranks.rank.iter().any(|r| v >= r.len()) {
            self.grew = true;
            return Ok(Vec::new());
        }
        let moment = memory.served;
        let mut due = moment as usize % n;
        for _ in 0..n {
            if ranks.excused[due][v] {
                due = (due + 1) % n;
            }
        }
        let thread = ThreadId(due as u16);
        memory.served = due as u128;
        let stays = |s: &Self, t: ThreadId| {
            let after = s.children(v, t).into_iter().map(|c| s.stands_for(c));
            after.map(|w| ranks.rank[due].get(w).copied().unwrap_or(NEVER)).max().unwrap_or(0)
        };
        let mut out = Vec::new();
        if moves.contains(&thread) && stays(self, thread) != NEVER && self.is_sure(v, thread)? {
            out.push((thread, Memory { served: ((due + 1) % n) as u128, ..memory }));
        }
        let mut best: Vec<(usize, ThreadId)> = moves.iter().map(|t| (stays(self, *t), *t)).collect();
        best.sort();
        for (rank, t) in best {
            if out.is_empty() && rank != NEVER && self.is_sure(v, t)? {
                out.push((t, memory));
            }
        }
        // Others too, as long as whoever is due comes nearer.
        for t in self.extras(v, moment) {
            let new = out.iter().all(|c| c.0 != t) && moves.contains(&t);
            if new && stays(self, t) < ranks.rank[due][v] && self.is_sure(v, t)? {
                out.push((t, memory));
            }
        }
        Ok(out)
    }

    /// Ranks by which nobody is left out, if there are. What was not followed yet is taken to be fine.
    fn ranks(&mut self) -> Result<Ranking, Stop> {
        let (n, threads) = (self.run.nodes.len(), self.run.program.threads.len());
        let mut inside: Vec<bool> = (0..n).map(|v| self.run.is_live(v) && !self.is_lost(v)).collect();
        // For each node and each thread that may go: where that leads, if it is known.
        type Moves = Vec<(ThreadId, Option<Vec<NodeId>>)>;
        let mut moves: Vec<Moves> = vec![Vec::new(); n];
        let mut may = vec![vec![false; n]; threads];
        let mut ends = vec![false; n];
        for v in (0..n).filter(|v| inside[*v]).collect::<Vec<_>>() {
            ends[v] = self.is_end(v) || !self.facts[v].settled;
            for t in self.run.program.thread_ids() {
                may[t.index()][v] = !ends[v] && self.run.is_live(v) && self.ever_goes(v, t)?;
            }
            for t in self.moves(v).into_iter().filter(|t| self.is_good(v, *t)) {
                let follows = self.facts[v].followed.contains(&t);
                let after = || self.children(v, t).into_iter().map(|c| self.stands_for(c)).collect();
                moves[v].push((t, follows.then(after)));
            }
        }
        let mut first_out = Vec::new();
        loop {
            let usable = |v: NodeId| {
                let fine = |m: &&(ThreadId, Option<Vec<NodeId>>)| {
                    m.1.as_ref().is_none_or(|after| after.iter().all(|w| inside[*w]))
                };
                moves[v].iter().filter(fine).collect::<Vec<_>>()
            };
            let next: Vec<Vec<usize>> = (0..n)
                .map(|v| match inside[v] {
                    true => usable(v).iter().flat_map(|m| m.1.clone().unwrap_or_default()).collect(),
                    false => Vec::new(),
                })
                .collect();
            let (component, _) = components(&next);
            let (mut rank, mut excused) = (vec![vec![NEVER; n]; threads], vec![vec![false; n]; threads]);
            for t in 0..threads {
                let mut goes = vec![false; n];
                (0..n).filter(|v| inside[*v] && may[t][*v]).for_each(|v| goes[component[v]] = true);
                for v in (0..n).filter(|v| inside[*v]) {
                    excused[t][v] = !goes[component[v]];
                    let goes_now = || usable(v).iter().any(|m| m.0.index() == t);
                    if ends[v] || excused[t][v] || goes_now() {
                        rank[t][v] = 0;
                    }
                }
                for distance in 1.. {
                    let near = |m: &&(ThreadId, Option<Vec<NodeId>>)| {
                        m.1.as_ref().is_none_or(|after| after.iter().all(|w| rank[t][*w] < distance))
                    };
                    let closer: Vec<NodeId> = (0..n)
                        .filter(|v| inside[*v] && rank[t][*v] == NEVER && usable(*v).iter().any(near))
                        .collect();
                    if closer.is_empty() {
                        break;
                    }
                    closer.into_iter().for_each(|v| rank[t][v] = distance);
                }
            }
            let out: Vec<NodeId> =
                (0..n).filter(|v| inside[*v] && rank.iter().any(|r| r[*v] == NEVER)).collect();
            if out.is_empty() && inside[0] {
                return Ok(Ranking::Fair(Ranks { rank, excused }));
            }
            if out.is_empty() {
                return Ok(Ranking::LeavesOut(first_out));
            }
            if first_out.is_empty() {
                first_out.clone_from(&out);
            }
            out.into_iter().for_each(|v| inside[v] = false);
        }
    }

    /// The schedule of a graph: nodes that allow the same for ever are one.
    fn schedule(&mut self, graph: Graph) -> Schedule {
        let n = graph.keys.len();
        let mut class = vec![0; n];
        let mut classes = 0;
        loop {
            let mut numbers = HashMap::new();
            let new: Vec<usize> = (0..n)
                .map(|i| {
                    let next: Vec<_> = graph.next[i].iter().map(|e| (e.0, e.1, class[e.2])).collect();
                    let number = numbers.len();
                    *numbers.entry((graph.keys[i].0, next)).or_insert(number)
                })
                .collect();
            class = new;
            if numbers.len() == classes {
                break;
            }
            classes = numbers.len();
        }
        let mut nodes: Vec<Option<ScheduleNode>> = vec![None; classes];
        for i in 0..n {
            if nodes[class[i]].is_none() {
                let v = graph.keys[i].0;
                let label = self.run.full_label(v);
                let locations = self.run.nodes[v].at.locations.clone();
                let next = graph.next[i].iter().map(|e| (e.0, e.1, class[e.2])).collect();
                nodes[class[i]] = Some(ScheduleNode { locations, label, next });
            }
        }
        self.graph = Some(graph);
        Schedule { terms: self.run.symbols.terms.clone(), nodes: nodes.into_iter().flatten().collect() }
    }
}
