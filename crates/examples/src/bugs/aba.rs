//! ABA: Treiber's stack over an array of nodes.

use super::Log;
use crate::Variant;
use raddle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use raddle::thread;

const NODES: usize = 18;
const NONE: usize = NODES;
/// Where the count of changes starts in the word of the top.
const COUNT: u32 = 16;

struct Stack {
    top: AtomicUsize,
    next: [AtomicUsize; NODES],
    /// How many threads each node belongs to.
    owners: [AtomicUsize; NODES],
    variant: Variant,
}

impl Stack {
    /// Nodes 0 to `n` - 1, the first on top.
    fn new(n: usize, variant: Variant) -> Stack {
        Stack {
            top: AtomicUsize::new(0),
            next: std::array::from_fn(|i| AtomicUsize::new(if i + 1 < n { i + 1 } else { NONE })),
            owners: std::array::from_fn(|_| AtomicUsize::new(0)),
            variant,
        }
    }

    /// The word for this top after a change.
    fn changed(&self, word: usize, top: usize) -> usize {
        match self.variant {
            Variant::Correct => ((word >> COUNT) + 1) << COUNT | top,
            // The bug: a top that was away and is back is the same word.
            Variant::Buggy => top,
        }
    }

    fn pop(&self) -> Option<usize> {
        loop {
            let word = self.top.load(SeqCst);
            let top = word & ((1 << COUNT) - 1);
            if top == NONE {
                return None;
            }
            let next = self.next[top].load(SeqCst);
            if self.top.compare_exchange(word, self.changed(word, next), SeqCst, SeqCst).is_ok() {
                assert_eq!(self.owners[top].fetch_add(1, SeqCst), 0, "a node was taken twice");
                return Some(top);
            }
        }
    }

    fn push(&self, node: usize) {
        self.owners[node].fetch_sub(1, SeqCst);
        loop {
            let word = self.top.load(SeqCst);
            self.next[node].store(word & ((1 << COUNT) - 1), SeqCst);
            if self.top.compare_exchange(word, self.changed(word, node), SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }
}

pub(crate) fn aba(takers: usize, variant: Variant) {
    let (stack, log) = (Stack::new(takers + 2, variant), Log::new());
    thread::scope(|s| {
        s.spawn(|| {
            let first = stack.pop();
            stack.pop();
            if let Some(first) = first {
                stack.push(first);
            }
        });
        for _ in 0..takers {
            s.spawn(|| {
                stack.pop();
                log.note();
            });
        }
    });
    let mut top = stack.top.load(SeqCst) & ((1 << COUNT) - 1);
    while top != NONE {
        assert_eq!(stack.owners[top].load(SeqCst), 0, "a node is taken and still in the stack");
        top = stack.next[top].load(SeqCst);
    }
}
