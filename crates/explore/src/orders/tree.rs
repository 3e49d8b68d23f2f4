//! The execution tree of a best-first search (Coons 2013, section 3.3, figure 3.3), and its fringe.
//!
//! A node is one execution: that of its parent up to one step, at which another thread (or another outcome) is taken,
//! and the default from there on. So a node stores one [`Delta`], and an execution is found by walking to the root.
//! Leaves wait in the fringe, inner nodes have been run. A node that has been run and has no successors left takes
//! itself out, and its parent, if it was the last one: memory goes with the number of open nodes, and at the end
//! nothing but the root is left.
//!
//! Above a limit the low end of the fringe goes to a [`Spill`] in sorted batches, of which only the best key stays in
//! memory. A batch comes back before anything worse than its best node is run, so the order is the same as without a
//! limit. Nodes that have been run and have something open below them stay in memory: they say how it is run.

use super::spill::Spill;
use crate::ids::{Site, ThreadId};
use crate::op::Op;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// Where an execution leaves that of its parent in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta {
    /// At this step, from 0,
    pub step: u32,
    /// this thread runs,
    pub thread: ThreadId,
    /// with this outcome, where the step has several and it is not the first one.
    pub outcome: Option<u32>,
}

/// How many priorities can be combined.
pub(crate) const MOST_PRIORITIES: usize = 4;

/// What the fringe is sorted by: the greatest comes first.
pub(crate) type Key = [u32; MOST_PRIORITIES];

const NONE: u32 = u32::MAX;
/// In place of a child: it is run already, or is the parent's own choice.
const RUN: u32 = u32::MAX;
/// In place of a child: it is out of memory.
const OUT: u32 = u32::MAX - 1;

/// What is known of an alternative before it is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub(crate) delta: Delta,
    pub(crate) key: Key,
    /// A hash of all that happens before the step, and of the step itself.
    pub(crate) check: u64,
    /// The step itself, for reports, as [`Tree::name_step`] gives it.
    pub(crate) expected: u32,
    /// It is in the backtrack set of its state.
    pub(crate) wanted: bool,
}

/// An alternative that was made from a node, for as long as the node lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    pub(crate) step: u32,
    pub(crate) thread: ThreadId,
    pub(crate) outcome: Option<u32>,
    pub(crate) wanted: bool,
    child: u32,
}

impl Made {
    /// Whether it has been run, or is being run.
    pub(crate) fn is_run(&self) -> bool {
        self.child == RUN
    }

    fn order(&self) -> (u32, ThreadId, Option<u32>) {
        (self.step, self.thread, self.outcome)
    }
}

struct Node {
    parent: u32,
    delta: Delta,
    successors: u32,
    expected: u32,
    check: u64,
    /// Its place in the fringe, or 0 when it is not there.
    seq: u64,
    key: Key,
    made: Vec<Made>,
}

impl Node {
    fn new(parent: u32, leaf: &Leaf) -> Node {
        Node {
            parent,
            delta: leaf.delta,
            successors: 0,
            expected: leaf.expected,
            check: leaf.check,
            seq: 0,
            key: leaf.key,
            made: Vec::new(),
        }
    }
}

/// A node in the fringe. Ties go to the one that came last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Open {
    key: Key,
    seq: u64,
    node: u32,
}

struct Batch {
    best: (Key, u64),
    count: usize,
    number: u64,
}

/// The tree and its fringe.
pub(crate) struct Tree {
    nodes: Vec<Node>,
    free: Vec<u32>,
    fringe: BinaryHeap<Open>,
    /// Entries of the fringe whose node got another key.
    stale: usize,
    seq: u64,
    /// Alternatives are kept with the node they were made from.
    keeps: bool,
    limit: usize,
    spill: Option<Arc<dyn Spill>>,
    batches: Vec<Batch>,
    /// What went wrong with the spill: nodes that could not be read back are lost.
    pub(crate) lost: Option<String>,
    steps: Vec<(Op, Site)>,
    step_names: HashMap<(Op, Site), u32>,
    most: usize,
    bytes: Vec<u8>,
}

impl Tree {
    pub(crate) const ROOT: u32 = 0;

    /// A tree with a root that is about to be run. `keeps` says whether alternatives are looked up again later.
    pub(crate) fn new(keeps: bool, limit: usize, spill: Option<Arc<dyn Spill>>) -> Tree {
        let delta = Delta { step: NONE, thread: ThreadId::MAIN, outcome: None };
        let root = Leaf { delta, key: Key::default(), check: 0, expected: NONE, wanted: true };
        Tree {
            nodes: vec![Node::new(NONE, &root)],
            free: Vec::new(),
            fringe: BinaryHeap::new(),
            stale: 0,
            seq: 0,
            keeps,
            limit: limit.max(2),
            spill,
            batches: Vec::new(),
            lost: None,
            steps: Vec::new(),
            step_names: HashMap::new(),
            most: 1,
            bytes: Vec::new(),
        }
    }

    /// How many nodes are in memory, the root included.
    pub(crate) fn alive(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// The most there ever were.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    /// How many nodes wait to be run, those out of memory included.
    pub(crate) fn open(&self) -> usize {
        self.fringe.len() - self.stale + self.batches.iter().map(|b| b.count).sum::<usize>()
    }

    /// A number for a step, for [`Leaf::expected`].
    pub(crate) fn name_step(&mut self, op: &Op, site: Site) -> u32 {
        // Operands may take any value; places and objects are few.
        let step = (op.with(0, 0), site);
        let next = self.steps.len() as u32;
        let n = *self.step_names.entry(step).or_insert(next);
        if n == next {
            self.steps.push(step);
        }
        n
    }

    /// The step that a node's delta stands for, and its check.
    pub(crate) fn expected(&self, node: u32) -> (Option<(Op, Site)>, u64) {
        let n = &self.nodes[node as usize];
        (self.steps.get(n.expected as usize).copied(), n.check)
    }

    /// The first step that is free to a node: its parent, or an ancestor, answers for those before.
    pub(crate) fn from(&self, node: u32) -> u32 {
        self.nodes[node as usize].delta.step.wrapping_add(1)
    }

    /// The nodes from the root to this one, and their deltas.
    pub(crate) fn path(&self, node: u32, nodes: &mut Vec<u32>, deltas: &mut Vec<Delta>) {
        nodes.clear();
        deltas.clear();
        let mut at = node;
        while at != NONE {
            let n = &self.nodes[at as usize];
            nodes.push(at);
            if at != Tree::ROOT {
                deltas.push(n.delta);
            }
            at = n.parent;
        }
        nodes.reverse();
        deltas.reverse();
    }

    /// The alternatives that were made from a node at a step, its own choice included.
    pub(crate) fn made(&self, node: u32, step: u32) -> &[Made] {
        let made = &self.nodes[node as usize].made;
        let from = made.partition_point(|m| m.step < step);
        let to = made.partition_point(|m| m.step <= step);
        &made[from..to]
    }

    /// Notes an alternative with its parent; `false` if it was there.
    fn note(&mut self, parent: u32, made: Made) -> bool {
        let list = &mut self.nodes[parent as usize].made;
        match list.binary_search_by_key(&made.order(), Made::order) {
            Ok(_) => false,
            Err(at) => {
                list.insert(at, made);
                true
            }
        }
    }

    fn set_child(&mut self, parent: u32, delta: &Delta, child: u32) {
        let list = &mut self.nodes[parent as usize].made;
        if let Ok(at) = list.binary_search_by_key(&(delta.step, delta.thread, delta.outcome), Made::order) {
            list[at].child = child;
        }
    }

    /// Makes a successor. `own` is the thread that the parent itself took at that step.
    pub(crate) fn add(&mut self, parent: u32, own: ThreadId, leaf: &Leaf) {
        let d = leaf.delta;
        let index = self.new_node(parent, leaf);
        if self.keeps {
            let own = Made { step: d.step, thread: own, outcome: None, wanted: true, child: RUN };
            let made = Made {
                step: d.step,
                thread: d.thread,
                outcome: d.outcome,
                wanted: leaf.wanted,
                child: index,
            };
            self.note(parent, own);
            let new = self.note(parent, made);
            debug_assert!(new, "{d:?} was made before");
        }
        self.nodes[parent as usize].successors += 1;
        self.seq += 1;
        self.open_node(index, leaf.key, self.seq);
        if self.fringe.len() > self.limit {
            self.spill_low_end();
        }
    }

    /// Marks an alternative as one of the backtrack set, and gives it another key if it still waits in memory.
    pub(crate) fn want(&mut self, parent: u32, step: u32, thread: ThreadId, raise: impl Fn(&mut Key)) {
        let list = &mut self.nodes[parent as usize].made;
        let Ok(at) = list.binary_search_by_key(&(step, thread, None), Made::order) else { return };
        list[at].wanted = true;
        let child = list[at].child;
        if child >= OUT {
            return;
        }
        let old = self.nodes[child as usize].key;
        let mut key = old;
        raise(&mut key);
        if key != old {
            self.stale += 1;
            self.seq += 1;
            self.open_node(child, key, self.seq);
        }
    }

    fn new_node(&mut self, parent: u32, leaf: &Leaf) -> u32 {
        let node = Node::new(parent, leaf);
        let index = match self.free.pop() {
            Some(i) => {
                self.nodes[i as usize] = node;
                i
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        };
        self.most = self.most.max(self.alive());
        index
    }

    fn open_node(&mut self, node: u32, key: Key, seq: u64) {
        let n = &mut self.nodes[node as usize];
        (n.seq, n.key) = (seq, key);
        self.fringe.push(Open { key, seq, node });
    }

    /// The best node of the fringe, which is run next.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        loop {
            let here = self.fringe.peek().map(|o| (o.key, o.seq));
            let out = (0..self.batches.len()).max_by_key(|b| self.batches[*b].best);
            if let Some(b) = out.filter(|b| here.is_none_or(|h| h < self.batches[*b].best)) {
                self.fetch(b);
                continue;
            }
            let open = self.fringe.pop()?;
            let n = &mut self.nodes[open.node as usize];
            if n.seq != open.seq {
                self.stale -= 1;
                continue;
            }
            n.seq = 0;
            let (parent, delta) = (n.parent, n.delta);
            if self.keeps {
                self.set_child(parent, &delta, RUN);
            }
            return Some(open.node);
        }
    }

    /// A node has been run: if it has no successors it goes, and so do its parents as far as that leaves them with
    /// none.
    pub(crate) fn close(&mut self, mut node: u32) {
        while node != Tree::ROOT && self.nodes[node as usize].successors == 0 {
            let parent = self.nodes[node as usize].parent;
            self.discard(node);
            self.nodes[parent as usize].successors -= 1;
            node = parent;
        }
    }

    fn discard(&mut self, node: u32) {
        self.nodes[node as usize].made = Vec::new();
        self.free.push(node);
    }

    /// Writes the worse half of the fringe out.
    #[cold]
    fn spill_low_end(&mut self) {
        let Some(spill) = self.spill.clone() else { return };
        let mut all = std::mem::take(&mut self.fringe).into_vec();
        all.retain(|o| self.nodes[o.node as usize].seq == o.seq);
        self.stale = 0;
        all.sort_unstable();
        let low = all.len() / 2;
        // Batches of one spill do not overlap, so that one of them can come back without the others.
        for batch in all[..low].chunks(low.div_ceil(4).max(1)) {
            let mut bytes = std::mem::take(&mut self.bytes);
            bytes.clear();
            batch.iter().for_each(|o| self.pack(o, &mut bytes));
            let written = spill.write(&bytes);
            self.bytes = bytes;
            match written {
                Ok(number) => {
                    let best = batch.last().map_or(([0; MOST_PRIORITIES], 0), |o| (o.key, o.seq));
                    self.batches.push(Batch { best, count: batch.len(), number });
                    for o in batch {
                        let n = &self.nodes[o.node as usize];
                        let (parent, delta) = (n.parent, n.delta);
                        if self.keeps {
                            self.set_child(parent, &delta, OUT);
                        }
                        self.discard(o.node);
                    }
                }
                Err(_) => {
                    // There is no room: all stays in memory from now on.
                    self.limit = usize::MAX;
                    self.fringe.extend(batch);
                }
            }
        }
        self.fringe.extend(&all[low..]);
    }

    /// Reads a batch back.
    #[cold]
    fn fetch(&mut self, b: usize) {
        let batch = self.batches.swap_remove(b);
        let Some(spill) = self.spill.clone() else { return };
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let read = spill.read(batch.number, &mut bytes);
        let whole = bytes.len() == batch.count * PACKED;
        match read {
            Ok(()) if whole => bytes.chunks_exact(PACKED).for_each(|record| self.unpack(record)),
            Ok(()) => self.lose("a batch came back with another length".to_owned()),
            Err(e) => self.lose(e),
        }
        self.bytes = bytes;
        if self.fringe.len() > self.limit {
            self.spill_low_end();
        }
    }

    fn lose(&mut self, why: String) {
        self.lost.get_or_insert(why);
    }

    fn pack(&self, o: &Open, bytes: &mut Vec<u8>) {
        let n = &self.nodes[o.node as usize];
        o.key.iter().for_each(|k| bytes.extend(k.to_le_bytes()));
        bytes.extend(o.seq.to_le_bytes());
        bytes.extend(n.check.to_le_bytes());
        for word in [n.parent, n.delta.step, n.delta.thread.0 as u32, n.expected] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend((n.delta.outcome.map_or(0, |o| o as u64 + 1)).to_le_bytes());
    }

    fn unpack(&mut self, mut record: &[u8]) {
        let mut word = || {
            let (first, rest) = record.split_at(4);
            record = rest;
            u32::from_le_bytes([first[0], first[1], first[2], first[3]])
        };
        let key = [word(), word(), word(), word()];
        let mut long = || word() as u64 | (word() as u64) << 32;
        let (seq, check) = (long(), long());
        let (parent, step, thread, expected) = (word(), word(), ThreadId(word() as u16), word());
        let outcome = (word() as u64 | (word() as u64) << 32).checked_sub(1).map(|o| o as u32);
        let delta = Delta { step, thread, outcome };
        let index = self.new_node(parent, &Leaf { delta, key, check, expected, wanted: false });
        if self.keeps {
            self.set_child(parent, &delta, index);
        }
        self.open_node(index, key, seq);
    }
}

/// The bytes of a node that is written out.
const PACKED: usize = MOST_PRIORITIES * 4 + 8 + 8 + 4 * 4 + 8;

#[cfg(test)]
mod tests {
    use super::super::spill::MemorySpill;
    use super::*;

    fn leaf(step: u32, key: u32) -> Leaf {
        let delta = Delta { step, thread: ThreadId(1), outcome: (step % 2 == 1).then_some(step) };
        Leaf { delta, key: [key, 0, 0, 0], check: step as u64, expected: 0, wanted: false }
    }

    fn drain(tree: &mut Tree) -> Vec<(u32, Option<u32>)> {
        let mut out = Vec::new();
        while let Some(n) = tree.pop() {
            let (mut nodes, mut deltas) = (vec![], vec![]);
            tree.path(n, &mut nodes, &mut deltas);
            assert_eq!(nodes[0], Tree::ROOT);
            assert_eq!(tree.expected(n).1, deltas[0].step as u64);
            out.push((deltas[0].step, deltas[0].outcome));
            tree.close(n);
        }
        out
    }

    #[test]
    fn the_best_key_comes_first_and_ties_go_to_the_last_one() {
        let mut tree = Tree::new(false, usize::MAX, None);
        for (step, key) in [(0, 5), (2, 9), (4, 5), (6, 1)] {
            tree.add(Tree::ROOT, ThreadId(0), &leaf(step, key));
        }
        assert_eq!((tree.open(), tree.alive()), (4, 5));
        assert_eq!(drain(&mut tree).iter().map(|d| d.0).collect::<Vec<_>>(), [2, 4, 0, 6]);
        assert_eq!((tree.open(), tree.alive()), (0, 1));
    }

    #[test]
    fn a_chain_of_nodes_goes_when_its_last_one_does() {
        let mut tree = Tree::new(true, usize::MAX, None);
        let mut at = Tree::ROOT;
        for step in 0..5 {
            tree.add(at, ThreadId(0), &leaf(step, 0));
            tree.close(at);
            at = tree.pop().unwrap();
        }
        assert_eq!(tree.alive(), 6);
        tree.close(at);
        assert_eq!(tree.alive(), 1);
    }

    #[test]
    fn a_fringe_that_spills_has_the_order_of_one_that_does_not() {
        let keys: Vec<u32> = (0..500u32).map(|i| i.wrapping_mul(2_654_435_761) >> 25).collect();
        for keeps in [false, true] {
            let spill = Arc::new(MemorySpill::default());
            let mut plain = Tree::new(keeps, usize::MAX, None);
            let mut small = Tree::new(keeps, 16, Some(spill.clone()));
            for (step, key) in keys.iter().enumerate() {
                plain.add(Tree::ROOT, ThreadId(0), &leaf(step as u32, *key));
                small.add(Tree::ROOT, ThreadId(0), &leaf(step as u32, *key));
            }
            assert_eq!(small.open(), 500);
            assert!(small.most() <= 18, "{} nodes in memory", small.most());
            assert_eq!(drain(&mut plain), drain(&mut small));
            assert!(small.most() <= 18 && spill.written() > 20 && spill.kept() == 0);
            assert_eq!((small.alive(), small.lost.clone()), (1, None));
        }
    }

    #[derive(Debug)]
    struct Broken {
        writes: bool,
    }

    impl Spill for Broken {
        fn write(&self, _batch: &[u8]) -> Result<u64, String> {
            if self.writes { Ok(0) } else { Err("the disk is full".into()) }
        }
        fn read(&self, _batch: u64, _into: &mut Vec<u8>) -> Result<(), String> {
            Err("the file is gone".into())
        }
    }

    #[test]
    fn what_cannot_be_written_stays_and_what_cannot_be_read_is_said_to_be_lost() {
        let fill = |writes| {
            let mut tree = Tree::new(false, 8, Some(Arc::new(Broken { writes })));
            (0..30).for_each(|step| tree.add(Tree::ROOT, ThreadId(0), &leaf(step, step)));
            let ran = drain(&mut tree).len();
            (ran, tree.lost)
        };
        assert_eq!(fill(false), (30, None));
        let (ran, lost) = fill(true);
        assert!(ran < 30);
        assert_eq!(lost.as_deref(), Some("the file is gone"));
    }

    #[test]
    fn an_alternative_that_turns_out_to_be_wanted_is_raised() {
        let mut tree = Tree::new(true, usize::MAX, None);
        for step in [0, 2, 4] {
            tree.add(Tree::ROOT, ThreadId(0), &leaf(step, 0));
        }
        tree.want(Tree::ROOT, 0, ThreadId(1), |key| key[0] = 1);
        assert_eq!(tree.open(), 3);
        assert_eq!(drain(&mut tree).iter().map(|d| d.0).collect::<Vec<_>>(), [0, 4, 2]);
        assert_eq!(tree.alive(), 1);
    }
}
