//! Executions that end with threads that wait for ever: who waits for what, held by whom.

use crate::Class;
use crate::cycles::STOPPED;
use crate::execution::{Execution, Noted};
use crate::record::place_of;
use crate::session::Suspicion;
use explore::semantics::{Channel, RwWord};
use explore::{FailureKind, Mode, ObjectId, Op, OpKind, ThreadId, ThreadInfo};

impl Execution {
    /// The failure that the blocked threads amount to, if any are left, and the cycle they wait in.
    pub(crate) fn blocked_failure(&self) -> Option<(Noted, Vec<ThreadId>)> {
        // Threads that still run when the process has ended go with it.
        let first = self.live.first().filter(|_| !self.exited)?;
        let cycle = self.cycle(&|t| self.waits(t).1);
        let awaits =
            |t: &ThreadId| matches!(self.pending[t.index()].op, Op { kind: OpKind::Await, a: 0, .. });
        let spins = |t: &ThreadId| awaits(t) || self.is_stopped(*t);
        let main_ended = !self.live.contains(ThreadId::MAIN);
        let kind = if !cycle.is_empty() {
            FailureKind::Deadlock
        } else if self.live.iter().any(|t| spins(&t)) {
            FailureKind::Livelock
        } else if main_ended && self.front.is_none() {
            FailureKind::Leak
        } else {
            FailureKind::Deadlock
        };
        let shown = match kind {
            FailureKind::Livelock => self.live.iter().find(spins).unwrap_or(first),
            _ => cycle
                .first()
                .copied()
                .or_else(|| self.live.iter().find(|t| *t != ThreadId::MAIN))
                .unwrap_or(first),
        };
        let others: Vec<ThreadId> = self.live.iter().filter(|t| !cycle.contains(t)).collect();
        let waits = self.describe_waits(cycle.iter().chain(&others));
        let message = match kind {
            FailureKind::Leak => {
                let waits: Vec<String> = self
                    .live
                    .iter()
                    .map(|t| {
                        format!(
                            "{} was never joined and never ends: it {}",
                            self.thread_label(t),
                            self.waits(t).0
                        )
                    })
                    .collect();
                waits.join("; ")
            }
            FailureKind::Livelock => format!("livelock: {waits}"),
            _ => format!("deadlock: {waits}"),
        };
        let location = place_of(self.pending[shown.index()].site).map(|p| p.to_string());
        let panicked = self.order.iter().find_map(|t| {
            let panicked = self.threads[t.index()].seldom().panicked.as_ref()?;
            Some(format!("{} had panicked by then: {}", self.thread_label(*t), panicked.message))
        });
        let noted =
            Noted { kind, message, location, thread: Some(shown), help: panicked, at: None, passed: None };
        Some((noted, self.ranks(cycle)))
    }

    /// The deadlock of threads that wait for each other's locks, if there is one. No other thread can end it, so it is a failure also
    /// where the others continue for ever, or end the process.
    pub(crate) fn lock_deadlock(&self) -> Option<(Noted, Vec<ThreadId>)> {
        if self.blocking.is_empty() {
            return None;
        }
        let cycle = self.cycle(&|t| self.holders(t));
        let shown = *cycle.first()?;
        let message = format!("deadlock: {}", self.describe_waits(cycle.iter()));
        let location = place_of(self.pending[shown.index()].site).map(|p| p.to_string());
        let kind = FailureKind::Deadlock;
        let noted =
            Noted { kind, message, location, thread: Some(shown), help: None, at: None, passed: None };
        Some((noted, self.ranks(cycle)))
    }

    /// The threads that hold the lock for which a thread is blocked.
    fn holders(&self, t: ThreadId) -> Vec<ThreadId> {
        let op = &self.pending[t.index()].op;
        let is_lock = matches!(op.kind, OpKind::Lock | OpKind::ReadLock | OpKind::WriteLock);
        if !is_lock || !self.blocking.contains(t) || self.enabled.contains(t) {
            return Vec::new();
        }
        let word = self.word(op.object);
        let holder = |owner: u64| vec![ThreadId(owner as u16 - 1)];
        match op.kind {
            OpKind::Lock if word != 0 => holder(word),
            OpKind::ReadLock | OpKind::WriteLock if RwWord(word).writer() != 0 => {
                holder(RwWord(word).writer())
            }
            OpKind::WriteLock => self.readers(op.object),
            _ => Vec::new(),
        }
    }

    fn describe_waits<'a>(&self, threads: impl Iterator<Item = &'a ThreadId>) -> String {
        let waits: Vec<String> =
            threads.map(|t| format!("{} {}", self.thread_label(*t), self.waits(*t).0)).collect();
        waits.join("; ")
    }

    fn ranks(&self, threads: Vec<ThreadId>) -> Vec<ThreadId> {
        threads.into_iter().map(|t| self.rank(t)).collect()
    }

    /// What may be a livelock at the end of this execution.
    #[cold]
    pub(crate) fn suspicion(&self) -> Suspicion {
        // Only an execution that reached the step limit has to be shortened.
        let repeated = if self.enabled.is_empty() { None } else { self.over_and_over() };
        let shown_after = repeated.map_or(self.steps, |r| (r.from + 3 * r.period) as u64);
        Suspicion {
            places: self.repeating(),
            schedule: self.schedule_of_session(),
            state: self.suspicious_state(),
            shown_after,
            may_not_end: self.live.iter().any(|t| self.is_stopped(t)) && self.cycles_leave_others_blocked(),
        }
    }

    /// A hash of the words of all objects, and of what each thread is about to do, in which local state if that is known.
    fn suspicious_state(&self) -> u64 {
        let mix = |h: u64, word: u64| (h ^ word).wrapping_mul(0xFF51_AFD7_ED55_8CCD).rotate_left(29);
        let mut h = self.objects.iter().fold(0, |h, o| mix(h, o.word));
        for t in self.live.iter() {
            let p = &self.pending[t.index()];
            h = mix(mix(h, t.0 as u64), p.op.kind as u64 ^ (p.op.object.0 as u64) << 8);
            h = mix(mix(h, p.site.0 as u64), self.threads[t.index()].cycles.last_state());
        }
        h
    }

    /// The places of the threads that repeat themselves, or run for too long.
    fn repeating(&self) -> Vec<crate::Place> {
        let repeats = |t: &ThreadId| {
            let spins = matches!(self.pending[t.index()].op, Op { kind: OpKind::Await, a: 0, .. });
            spins || self.is_stopped(*t) || self.enabled.contains(*t)
        };
        let sites = self.live.iter().filter(repeats).map(|t| self.pending[t.index()].site);
        let mut places: Vec<crate::Place> = sites.filter_map(place_of).collect();
        places.dedup();
        places
    }

    /// What a blocked thread waits for, and which threads could end that.
    fn waits(&self, t: ThreadId) -> (String, Vec<ThreadId>) {
        let pending = &self.pending[t.index()];
        let op = &pending.op;
        let word = self.word(op.object);
        let name = self.object_name(op.object).unwrap_or_default();
        let holder = |owner: u64| ThreadId(owner as u16 - 1);
        match op.kind {
            OpKind::Lock if word != 0 => {
                let by = holder(word);
                let whom = if by == t { "itself".to_string() } else { self.thread_label(by) };
                (format!("waits for {name}, held by {whom}"), vec![by])
            }
            OpKind::ReadLock | OpKind::WriteLock if RwWord(word).writer() != 0 => {
                let by = holder(RwWord(word).writer());
                let whom = if by == t { "itself".to_string() } else { self.thread_label(by) };
                (format!("waits for {name}, held for writing by {whom}"), vec![by])
            }
            OpKind::WriteLock => {
                let by = self.readers(op.object);
                let names: Vec<String> = by.iter().map(|t| self.thread_label(*t)).collect();
                (format!("waits for {name}, held for reading by {}", names.join(", ")), by)
            }
            OpKind::ReadLock => {
                let by = self.readers(op.object);
                let names: Vec<String> = by.iter().map(|t| self.thread_label(*t)).collect();
                let waits = |u: &ThreadId| {
                    let p = &self.pending[u.index()].op;
                    p.kind == OpKind::WriteLock && p.object == op.object
                };
                let writers: Vec<ThreadId> = self.live.iter().filter(waits).collect();
                let writer: Vec<String> = writers.iter().map(|t| self.thread_label(*t)).collect();
                let text = format!(
                    "waits for {name}, held for reading by {}, because {} waits to write and holds up new readers",
                    names.join(", "),
                    writer.join(", ")
                );
                (text, by.into_iter().chain(writers).collect())
            }
            OpKind::Wake => (format!("waits on {name} for a notification"), Vec::new()),
            OpKind::Park => ("is parked and nobody unparks it".to_string(), Vec::new()),
            OpKind::Join => {
                let whom = ThreadId(op.a as u16);
                (format!("waits for the end of {}", self.thread_label(whom)), vec![whom])
            }
            OpKind::Recv => {
                let senders = Channel::unpack(word).senders;
                let s = if senders == 1 { "" } else { "s" };
                (format!("waits for a message on {name}, which has {senders} living sender{s}"), Vec::new())
            }
            OpKind::Send => {
                let s = if op.a == 1 { "" } else { "s" };
                (format!("waits for room in {name}, which holds {} message{s}", op.a), Vec::new())
            }
            OpKind::SendDone => (format!("waits for a receiver on {name}"), Vec::new()),
            OpKind::Pass => {
                let n = word & 0xffff_ffff;
                (format!("waits at {name}, where {n} have arrived"), Vec::new())
            }
            OpKind::Await if op.a == 1 => match self.last_writer(op.object) {
                Some(by) if by == t => (format!("waits for {name}, held by itself"), vec![by]),
                Some(by) => (format!("waits for {name}, held by {}", self.thread_label(by)), vec![by]),
                None => (format!("waits for {name}"), Vec::new()),
            },
            OpKind::Await if op.a == 2 || op.a == crate::foreign::OPTIONAL => {
                (format!("waits for {name}"), Vec::new())
            }
            OpKind::Await => {
                let (from, n) = pending.awaited;
                self.spins_on(&self.awaited[from as usize..(from + n) as usize])
            }
            OpKind::Transfer if op.b as u32 > 0 => {
                (format!("waits to read from {name}, which is empty"), Vec::new())
            }
            OpKind::Transfer => (format!("waits to write to {name}, which is full"), Vec::new()),
            OpKind::Assume if op.a == STOPPED => self.spins_on(self.stopped_at_words(t)),
            OpKind::SemWait if self.objects[op.object.index()].class == Class::Thread => {
                let is_it = |u: &ThreadId| self.threads[u.index()].seldom().closure == Some(op.object);
                let whom: Vec<ThreadId> = self.order.iter().copied().filter(is_it).collect();
                let names: Vec<String> = whom.iter().map(|u| self.thread_label(*u)).collect();
                (format!("waits for the end of {}", names.join(", ")), whom)
            }
            OpKind::SemWait => (format!("waits for {name}, which is 0"), Vec::new()),
            OpKind::Assume => ("stands at an assumption that does not hold".to_string(), Vec::new()),
            _ => ("could go on".to_string(), Vec::new()),
        }
    }

    /// A thread that goes round as long as these objects are what they are.
    fn spins_on(&self, words: &[(ObjectId, u64)]) -> (String, Vec<ThreadId>) {
        let seen: Vec<String> = words
            .iter()
            .map(|(o, _)| match self.object_name(*o) {
                Some(name) if self.objects[o.index()].class == Class::Version => name,
                Some(name) => format!("{name} = {}", self.word(*o)),
                None => "the end of a thread".to_string(),
            })
            .collect();
        let what = if seen.is_empty() { "for ever".to_string() } else { format!("on {}", seen.join(", ")) };
        (format!("spins {what}"), Vec::new())
    }

    /// Who holds a reader-writer lock for reading, from the record of all steps.
    fn readers(&self, object: ObjectId) -> Vec<ThreadId> {
        let mut held: Vec<(ThreadId, i64)> = Vec::new();
        for l in self.log.iter().filter(|l| l.object == object) {
            let by = match l.kind {
                OpKind::ReadLock | OpKind::TryReadLock if l.ok => 1,
                OpKind::ReadUnlock => -1,
                _ => continue,
            };
            match held.iter_mut().find(|h| h.0 == l.thread) {
                Some(h) => h.1 += by,
                None => held.push((l.thread, by)),
            }
        }
        held.into_iter().filter(|h| h.1 > 0).map(|h| h.0).collect()
    }

    /// Who changed an object last. Of a lock that is a word of memory and is taken, that is who took it: those who wait do not
    /// change it.
    fn last_writer(&self, object: ObjectId) -> Option<ThreadId> {
        self.log.iter().rev().find(|l| l.object == object && l.mode == Mode::Write).map(|l| l.thread)
    }

    /// Threads, each waiting for the next, the last for the first. `waits_for` lists the threads that one waits for.
    fn cycle(&self, waits_for: &dyn Fn(ThreadId) -> Vec<ThreadId>) -> Vec<ThreadId> {
        for start in self.live.iter() {
            let mut path = vec![start];
            if self.walk(start, &mut path, waits_for) {
                return path;
            }
        }
        Vec::new()
    }

    fn walk(
        &self,
        start: ThreadId,
        path: &mut Vec<ThreadId>,
        waits_for: &dyn Fn(ThreadId) -> Vec<ThreadId>,
    ) -> bool {
        let at = path[path.len() - 1];
        for next in waits_for(at) {
            if next == start {
                return true;
            }
            if self.live.contains(next) && !path.contains(&next) {
                path.push(next);
                if self.walk(start, path, waits_for) {
                    return true;
                }
                path.pop();
            }
        }
        false
    }

    /// All threads of the execution, in the order of their spawns. `failed` is the one that failed, and where.
    pub(crate) fn thread_infos(
        &self,
        failed: Option<(ThreadId, FailureKind, Option<&str>)>,
    ) -> Vec<ThreadInfo> {
        self.order
            .iter()
            .map(|t| {
                let thread = &self.threads[t.index()];
                let site = self.pending[t.index()].site;
                let failed = failed.filter(|(who, ..)| who == t);
                let (state, location, waits_for) =
                    if let Some((_, kind, at)) = failed.filter(|_| !thread.ended) {
                        (format!("failed ({})", kind.name()), at.map(str::to_owned), Vec::new())
                    } else if let Some(p) = &thread.seldom().panicked {
                        ("panicked".to_string(), p.location.clone(), Vec::new())
                    } else if thread.ended {
                        ("finished".to_string(), None, Vec::new())
                    } else if !self.live.contains(*t) {
                        ("was about to be spawned".to_string(), None, Vec::new())
                    } else {
                        let location = place_of(site).map(|p| p.to_string());
                        if self.enabled.contains(*t) {
                            (self.could(&self.pending[t.index()].op), location, Vec::new())
                        } else {
                            let (state, whom) = self.waits(*t);
                            (state, location, whom.into_iter().map(|t| self.rank(t)).collect())
                        }
                    };
                let name = match (&thread.seldom().name, *t) {
                    (Some(name), _) => name.clone(),
                    (None, ThreadId::MAIN) => "main".to_string(),
                    (None, _) => String::new(),
                };
                let callers = if location.is_some() { self.callers_of(*t) } else { Vec::new() };
                ThreadInfo { thread: self.rank(*t), name, state, location, callers, waits_for }
            })
            .collect()
    }

    fn could(&self, op: &Op) -> String {
        let name = self.object_name(op.object).map_or_else(String::new, |n| format!(" of {n}"));
        format!("is at {}{name}", crate::record::operation(op.kind))
    }
}
