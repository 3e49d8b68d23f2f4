//! What a search within a bound put off, for the search within the next one to go on from.
//!
//! When the bound cuts an execution, the branch that it was on is not finished. Its place is kept: the nodes from the root to it, and
//! of each the branches that were taken there, in order; and so is what was to be explored below it. Within the next bound the search goes back there and goes on; nothing
//! that was run before is run again but the steps that lead to the place.
//!
//! That is the same search in another order. A branch sleeps in those that were begun after it from the same node, finished or
//! not: what begins with it is seen below it in the end, and the order in which branches were begun has no cycles. So in an
//! execution that goes on, what was begun *before* the branch sleeps below it, as it did the first time; and what was begun
//! *after* it covers new sequences at its node, and does not sleep below. Each class is still completed once.
//!
//! One thing is lost. A sleeping step that is not in a sequence covers it in an optimal search, because what comes later and
//! conflicts with the step is found below the step and leads back, into a branch that was not begun. With something put
//! off below the step, that branch may have been begun and finished. So such a step is not *settled* in all that was begun before
//! everything below it was seen, and where one sleeps that a sequence does not have and does not conflict with, no step covers the sequence
//! that is not in it. Nor is a sequence put below a branch that it does not have. An execution may then end with all threads asleep.

use crate::explorer::{Divergence, View};
use crate::footprint::Footprint;
use crate::ids::{Site, ThreadId};
use crate::reductions::wakeup::Forest;
use crate::search::{ANY, Core, Sleeper};

const NONE: u32 = u32::MAX;

/// A branch: the place it leaves from, and its number there.
#[derive(Clone, Copy)]
struct Branch {
    place: u32,
    number: u32,
}

/// A node below which something was put off.
struct Place {
    /// The branch that leads here.
    from: Branch,
    /// What keeps it: places and branches below that were put off, and the execution at hand.
    users: u32,
    /// Its first step was given by a wakeup tree.
    guided: bool,
    /// The branches that were taken, in order. The one that is being taken is not in it yet.
    taken: Vec<Taken>,
}

/// A branch that was taken.
#[derive(Clone, Copy)]
struct Taken {
    step: Sleeper,
    /// How much below it is still put off.
    put_off: u32,
    /// The first branch that was begun when nothing was.
    settled_for: u32,
}

impl Taken {
    /// The step as it sleeps in branch `number`.
    fn seen_from(&self, number: u32) -> Sleeper {
        Sleeper { settled: number >= self.settled_for, ..self.step }
    }
}

/// The place of a node of the execution at hand.
#[derive(Clone, Copy)]
struct Stand {
    place: u32,
    /// The branch that the search came back for, while it is on it.
    again: Option<u32>,
    /// How much below the branch that is being taken for the first time was put off.
    put_off: u32,
}

/// Branches that were put off.
#[derive(Default)]
pub(crate) struct Postponed {
    places: Vec<Place>,
    free: Vec<u32>,
    /// The places of the first nodes of the execution at hand.
    stack: Vec<Stand>,
    /// To be taken within this bound, and within the next, each with the wakeup tree of the node that it leads to.
    due: Vec<(Branch, u32)>,
    later: Vec<(Branch, u32)>,
    /// The way to the branch that is taken up again, and its tree.
    way: Vec<Branch>,
    below: u32,
    /// How many steps are kept, and how many may be.
    size: usize,
    room: usize,
    /// There was no room: the search within the next bound must begin anew.
    full: bool,
}

impl Postponed {
    /// With room for so many steps.
    pub(crate) fn with_room(room: usize) -> Postponed {
        Postponed { room, ..Postponed::default() }
    }

    /// Whether there was more to keep than there is room for.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// How many branches wait for this bound and for the next.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.due.len(), self.later.len())
    }

    /// What was put off is to be taken now.
    pub(crate) fn raise(&mut self) {
        debug_assert!(self.due.is_empty(), "a round is over when nothing is left of it");
        self.due = std::mem::take(&mut self.later);
        // The first that was put off is taken up first: fewer branches are begun before it is finished.
        self.due.reverse();
    }

    /// Makes ready for the next branch of this round; says whether there is one.
    pub(crate) fn take_up(&mut self) -> bool {
        self.leave(0);
        self.way.clear();
        let Some((branch, below)) = self.due.pop() else { return false };
        self.below = below;
        let mut at = branch;
        while at.place != NONE {
            self.way.push(at);
            at = self.places[at.place as usize].from;
        }
        self.way.reverse();
        // The execution at hand keeps the places from now on.
        for at in &self.way {
            let place = &mut self.places[at.place as usize];
            place.users += 1;
            place.taken[at.number as usize].put_off -= 1;
        }
        self.drop_user(branch.place);
        true
    }

    /// The top node is new. If it is on the way to the branch that is taken up, gives the thread to take there and the tree of the
    /// next node, and the node has what was taken from it before.
    pub(crate) fn enter(
        &mut self,
        core: &mut Core,
        view: &View<'_>,
    ) -> Option<Result<(ThreadId, u32), Divergence>> {
        let i = core.nodes.len() - 1;
        let Branch { place, number } = *self.way.get(i)?;
        debug_assert_eq!(self.stack.len(), i);
        let mut below = NONE;
        if i + 1 == self.way.len() {
            // It was gone; nodes that come later are others.
            self.way.clear();
            below = self.below;
        }
        self.stack.push(Stand { place, again: Some(number), put_off: 0 });
        let Place { taken, guided, .. } = &self.places[place as usize];
        let step = taken[number as usize].step;
        let (earlier, rest) = taken.split_at(number as usize);
        let seen = |t: &Taken| t.seen_from(number);
        core.sleep_as_before(earlier.iter().map(seen), rest[1..].iter().map(seen));
        let thread = step.step.thread;
        let n = &mut core.nodes[i];
        n.guided = *guided;
        n.fixed = if step.options == 1 { ANY } else { step.option };
        n.tree = NONE;
        let now = view.pending.get(thread.index()).filter(|_| view.live.contains(thread));
        let same = now.is_some_and(|p| step.step.op().same_step(&p.op)) && view.enabled.contains(thread);
        Some(if same {
            Ok((thread, below))
        } else {
            Err(Divergence {
                step: i,
                thread,
                expected: Some((*step.step.op(), Site::default())),
                found: now.map(|p| (p.op, p.site)),
                ended: false,
            })
        })
    }

    /// The execution was cut after its last step: puts the branch off, with the wakeup tree that was to be
    /// followed from there.
    pub(crate) fn put_off(&mut self, core: &Core, below: u32, forest: &mut Forest) {
        if self.full {
            forest.discard(below);
            return;
        }
        for i in self.stack.len()..core.nodes.len() {
            let from = match i.checked_sub(1) {
                Some(above) => self.branch_at(above),
                None => Branch { place: NONE, number: 0 },
            };
            let node = &core.nodes[i];
            let own = core.sleep(i)[node.sleep_inherited as usize..].iter();
            // Where there was no place, nothing was put off.
            let taken =
                own.zip(1..).map(|(s, k)| Taken { step: *s, put_off: 0, settled_for: k }).collect::<Vec<_>>();
            self.size += 1 + taken.len();
            // The execution at hand keeps it.
            let new = Place { from, users: 1, guided: node.guided, taken };
            let place = match self.free.pop() {
                Some(p) => {
                    self.places[p as usize] = new;
                    p
                }
                None => {
                    self.places.push(new);
                    self.places.len() as u32 - 1
                }
            };
            if from.place != NONE {
                self.places[from.place as usize].users += 1;
            }
            self.stack.push(Stand { place, again: None, put_off: 0 });
        }
        if let Some(last) = core.nodes.len().checked_sub(1) {
            let branch = self.branch_at(last);
            self.places[branch.place as usize].users += 1;
            self.later.push((branch, below));
            for stand in &mut self.stack {
                let put_off = match stand.again {
                    Some(k) => &mut self.places[stand.place as usize].taken[k as usize].put_off,
                    None => &mut stand.put_off,
                };
                *put_off += 1;
            }
        }
        if self.size > self.room {
            self.full = true;
            for (branch, below) in std::mem::take(&mut self.later) {
                forest.discard(below);
                self.drop_user(branch.place);
            }
        }
    }

    /// All below the branch taken at node `i` was explored, or put off.
    pub(crate) fn finished(&mut self, core: &mut Core, i: usize) {
        self.leave(i + 1);
        core.put_off = false;
        let Some(stand) = self.stack.get_mut(i) else { return };
        let taken = &mut self.places[stand.place as usize].taken;
        if let Some(number) = stand.again.take() {
            let next = taken.len() as u32;
            let t = &mut taken[number as usize];
            core.put_off = t.put_off > 0;
            if t.put_off == 0 {
                t.settled_for = next;
            }
            // What is begun from now on finds the others as they are now.
            let others = taken.iter().enumerate().filter(|(k, _)| *k != number as usize);
            for (s, (_, t)) in core.own_sleep_mut(i).iter_mut().zip(others) {
                *s = t.seen_from(next);
            }
        } else {
            let put_off = std::mem::take(&mut stand.put_off);
            core.put_off = put_off > 0;
            let e = core.trace.event(i);
            let step = Footprint::of(&core.trace, i);
            let step = Sleeper { step, option: e.option, options: e.options, settled: put_off == 0 };
            let settled_for = if put_off == 0 { taken.len() as u32 + 1 } else { u32::MAX };
            taken.push(Taken { step, put_off, settled_for });
            self.size += 1;
        }
    }

    /// The branch that is taken at a node which has a place.
    fn branch_at(&self, i: usize) -> Branch {
        let Stand { place, again, .. } = self.stack[i];
        let number = again.unwrap_or(self.places[place as usize].taken.len() as u32);
        Branch { place, number }
    }

    /// Nodes from `len` on are gone.
    fn leave(&mut self, len: usize) {
        while self.stack.len() > len {
            let stand = self.stack.pop().expect("there are more");
            self.drop_user(stand.place);
        }
    }

    /// Nothing is below a place that nobody uses: it is forgotten.
    fn drop_user(&mut self, mut place: u32) {
        while place != NONE {
            let p = &mut self.places[place as usize];
            p.users -= 1;
            if p.users > 0 {
                return;
            }
            self.size -= 1 + p.taken.len();
            p.taken = Vec::new();
            self.free.push(place);
            place = p.from.place;
        }
    }
}
