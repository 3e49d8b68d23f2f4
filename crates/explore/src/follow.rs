//! Following a run that somebody else found: a prover, on a model of the program.
//!
//! A [`Guide`] says who does what, line by line, but it is no schedule: the model has one step where the program may have several
//! (a variable whose address is taken is accessed too), or none (making a thread is none here). So steps of the program are
//! matched with those of the guide by thread, kind and line. A step that the guide does not know is taken when its thread is in
//! the way of the next one that it does.
//!
//! **Invariant:** nothing is claimed. Where the guide cannot be followed the execution goes on somehow, and whether it fails as the
//! guide says is for the caller to see.

use crate::explorer::{Decision, End, Executed, Explorer, Options, Pending, View};
use crate::ids::ThreadId;
use crate::op::OpKind;
use crate::orders::Names;
use crate::search::Core;
use std::str::FromStr;
use std::sync::Arc;

/// What a step of a guide is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// An operation of this kind, or of one that stands for it.
    Kind(OpKind),
    /// Several accesses that nobody interrupts.
    Block,
    /// A thread is made: the one with this number exists afterwards.
    Create(ThreadId),
    /// A wait ends by its time limit. The program decides that where the wait starts.
    TimeOut,
}

/// How a wait ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitEnd {
    Notified,
    TimedOut,
    Spurious,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct GuideStep {
    thread: ThreadId,
    what: What,
    /// Who is woken by it.
    woken: Option<ThreadId>,
    line: u32,
}

/// A run to follow: steps, and the inputs of each thread. As text it has a line for each:
///
/// ```text
/// any-line                 steps are matched by kind alone
/// step 1 load 14           thread 1 loads at line 14
/// step 1 notify-one 20 2   thread 1 notifies at line 20, and thread 2 is woken
/// step 0 create 31 1       thread 0 makes thread 1
/// step 2 block 18          thread 2 runs through an atomic block
/// step 2 time-out 9        the wait of thread 2 at line 9 ends by its time limit
/// input 1 12 3             thread 1 gets the fourth of the possible inputs at line 12
/// ```
///
/// ```
/// let guide: explore::Guide = "step 0 load 3\ninput 0 2 1\n".parse().unwrap();
/// assert_eq!(guide.len(), 1);
/// assert!("step 0 jump 3".parse::<explore::Guide>().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guide {
    steps: Vec<GuideStep>,
    inputs: Vec<(ThreadId, u32, u32)>,
    any_line: bool,
}

impl Guide {
    /// How many steps it has.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl FromStr for Guide {
    type Err = String;

    fn from_str(text: &str) -> Result<Guide, String> {
        let mut guide = Guide::default();
        for (n, line) in text.lines().enumerate() {
            read(&mut guide, line)
                .ok_or_else(|| format!("line {}: `{line}` is no part of a guide", n + 1))?;
        }
        Ok(guide)
    }
}

fn read(guide: &mut Guide, line: &str) -> Option<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let thread = |w: &str| w.parse().ok().filter(|t| (*t as usize) < crate::MAX_THREADS).map(ThreadId);
    match words[..] {
        [] => {}
        ["any-line"] => guide.any_line = true,
        ["step", t, "create", line, child] => {
            let what = What::Create(thread(child)?);
            guide.steps.push(GuideStep { thread: thread(t)?, what, woken: None, line: line.parse().ok()? });
        }
        ["step", t, kind, line, ref rest @ ..] => {
            let what = match kind {
                "block" => What::Block,
                "time-out" => What::TimeOut,
                _ => What::Kind(kind_named(kind)?),
            };
            let woken = match rest {
                [] => None,
                [who] => Some(thread(who)?),
                _ => return None,
            };
            guide.steps.push(GuideStep { thread: thread(t)?, what, woken, line: line.parse().ok()? });
        }
        ["input", t, line, n] => guide.inputs.push((thread(t)?, line.parse().ok()?, n.parse().ok()?)),
        _ => return None,
    }
    Some(())
}

fn kind_named(name: &str) -> Option<OpKind> {
    use OpKind::*;
    let all = [
        Load,
        Store,
        Rmw,
        CompareExchange,
        Lock,
        TryLock,
        Unlock,
        ReadLock,
        TryReadLock,
        ReadUnlock,
        WriteLock,
        TryWriteLock,
        WriteUnlock,
        Wait,
        Wake,
        NotifyOne,
        NotifyAll,
        Arrive,
        Pass,
        SemWait,
        SemTryWait,
        SemPost,
    ];
    all.into_iter().find(|k| kebab(*k) == name)
}

/// `NotifyOne` as `notify-one`.
fn kebab(kind: OpKind) -> String {
    let mut out = String::new();
    for c in format!("{kind:?}").chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Runs one execution along a [`Guide`].
pub struct Follow {
    guide: Guide,
    names: Arc<dyn Names>,
    at: usize,
    /// The thread of the block that is being run, once it has entered it.
    inside: bool,
    inputs: Vec<(ThreadId, u32, u32)>,
    chosen: Option<(ThreadId, u32)>,
    /// Whom the step at hand wakes, if there are several.
    woken: Option<ThreadId>,
    /// The step at hand decides how a wait ends, and the guide says how.
    wait_end: Option<WaitEnd>,
}

impl Follow {
    /// Along this guide; `names` says where operations are.
    pub fn new(guide: Guide, names: Arc<dyn Names>) -> Follow {
        let inputs = guide.inputs.clone();
        Follow { guide, names, at: 0, inside: false, inputs, chosen: None, woken: None, wait_end: None }
    }

    /// How many steps of the guide were met.
    pub fn met(&self) -> usize {
        self.at
    }

    fn line(&self, p: &Pending) -> u32 {
        let place = self.names.site(p.site).unwrap_or_default();
        // `file:line:column`, or without a column.
        let numbers: Vec<u32> = place.rsplit(':').map_while(|w| w.parse().ok()).take(2).collect();
        numbers.last().copied().unwrap_or(0)
    }

    /// Whether an operation is what a step of the guide says.
    fn matches(&self, step: &GuideStep, p: &Pending) -> bool {
        let kind = match step.what {
            What::Kind(kind) => kind,
            What::Block | What::Create(_) | What::TimeOut => return false,
        };
        let found = p.op.kind;
        let alike = found == kind
            || matches!(
                (kind, found),
                (OpKind::Load, OpKind::Await)
                    | (OpKind::CompareExchange, OpKind::CompareExchangeWeak | OpKind::Await)
                    | (OpKind::Rmw, OpKind::Await)
            );
        alike && (self.guide.any_line || step.line == self.line(p))
    }

    /// Whether what a thread wants to do is not its next step in the guide.
    fn is_extra(&self, t: ThreadId, p: &Pending) -> bool {
        let is_step = |s: &&GuideStep| !matches!(s.what, What::Create(_) | What::TimeOut);
        let next = self.guide.steps[self.at..].iter().filter(is_step).find(|s| s.thread == t);
        next.is_none_or(|s| s.what == What::Block || !self.matches(s, p))
    }

    fn run(&mut self, t: ThreadId, view: &View<'_>) -> Decision {
        self.chosen = Some((t, self.line(&view.pending[t.index()])));
        self.woken = None;
        let op = &view.pending[t.index()].op;
        self.wait_end = (op.kind == OpKind::Choose && op.b != 0).then(|| self.end_of_wait(t));
        Decision::Run(t)
    }

    /// How the next wait of a thread ends.
    fn end_of_wait(&self, t: ThreadId) -> WaitEnd {
        let is = |s: &&GuideStep, kind| s.thread == t && s.what == What::Kind(kind);
        let mut steps = self.guide.steps[self.at..].iter().skip_while(|s| !is(s, OpKind::Wait));
        let until_woken = steps.find(|s| {
            let notified = match s.what {
                What::Kind(OpKind::NotifyOne) => s.woken.is_none_or(|u| u == t),
                What::Kind(OpKind::NotifyAll) => true,
                _ => false,
            };
            let times_out = s.thread == t && s.what == What::TimeOut;
            notified && s.thread != t || is(s, OpKind::Wake) || times_out
        });
        match until_woken {
            Some(GuideStep { what: What::TimeOut, .. }) => WaitEnd::TimedOut,
            Some(s) if s.thread == t => WaitEnd::Spurious,
            _ => WaitEnd::Notified,
        }
    }
}

impl Explorer for Follow {
    fn begin(&mut self) {
        self.at = 0;
        self.inside = false;
        self.inputs = self.guide.inputs.clone();
        self.woken = None;
    }

    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        while let Some(step) = self.guide.steps.get(self.at).copied() {
            let t = step.thread;
            let is_done = match step.what {
                What::Create(child) => view.live.contains(child),
                What::TimeOut => true,
                What::Kind(_) | What::Block => false,
            };
            if is_done {
                self.at += 1;
                continue;
            }
            let Some(p) = view.pending.get(t.index()).filter(|_| view.live.contains(t)) else {
                // It has ended, or is not made: the guide is about something else.
                self.at += 1;
                continue;
            };
            if step.what == What::Block {
                if self.inside && p.op.kind == OpKind::WriteUnlock {
                    (self.at, self.inside) = (self.at + 1, false);
                }
                self.inside |= p.op.kind == OpKind::WriteLock;
            }
            if self.matches(&step, p) {
                self.at += 1;
                if view.enabled.contains(t) {
                    let decision = self.run(t, view);
                    self.woken = step.woken;
                    return decision;
                }
                // A loop that only looks, and saw the same again.
                if p.op.kind == OpKind::Await {
                    continue;
                }
                self.at -= 1;
            } else if view.enabled.contains(t) {
                return self.run(t, view);
            }
            // Whoever is in the way may go on with what the guide does not know.
            let extra = |u: &ThreadId| *u != t && self.is_extra(*u, &view.pending[u.index()]);
            if let Some(u) = view.enabled.iter().find(extra) {
                return self.run(u, view);
            }
            self.at += 1;
        }
        match Core::default_thread(view, view.enabled) {
            Some(t) => self.run(t, view),
            None => Decision::Stop,
        }
    }

    fn next_option(&mut self, options: Options<'_>) -> u32 {
        // The first option is a notification, the second one of a wait with a time limit is a timeout, and a spurious end comes last.
        match self.wait_end {
            Some(WaitEnd::Notified) => return options.get(0),
            Some(WaitEnd::TimedOut) => return options.get(1),
            Some(WaitEnd::Spurious) => return options.get(options.len() - 1),
            None => {}
        }
        let Some((thread, line)) = self.chosen else { return options.get(0) };
        if let Options::Of(_) = options {
            let wanted = self.woken.map(|t| t.0 as u32);
            return wanted
                .filter(|w| (0..options.len()).any(|k| options.get(k) == *w))
                .unwrap_or_else(|| options.get(0));
        }
        let mine = |i: &(ThreadId, u32, u32)| i.0 == thread && (self.guide.any_line || i.1 == line);
        match self.inputs.iter().position(mine) {
            Some(n) => self.inputs.remove(n).2.min(options.len() as u32 - 1),
            None => options.get(0),
        }
    }

    fn executed(&mut self, _event: Executed<'_>) {}

    fn end(&mut self, _end: End, _view: &View<'_>) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guide_reads_what_it_documents_and_nothing_else() {
        let guide: Guide = "any-line\nstep 1 load 14\nstep 1 notify-one 20 2\nstep 0 create 31 1\nstep 2 block 18\nstep 2 time-out 9\n\ninput 1 12 3"
            .parse()
            .unwrap();
        assert_eq!((guide.len(), guide.inputs.len(), guide.any_line), (5, 1, true));
        assert_eq!(guide.steps[1].woken, Some(ThreadId(2)));
        assert_eq!(guide.steps[2].what, What::Create(ThreadId(1)));
        assert_eq!(guide.steps[4].what, What::TimeOut);
        for bad in
            ["step", "step 0 load", "step 9999 load 3", "step 0 load x", "input 1 2", "step 0 load 1 2 3"]
        {
            assert!(bad.parse::<Guide>().unwrap_err().contains("is no part of a guide"), "{bad}");
        }
    }
}
