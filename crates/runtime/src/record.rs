//! What is kept of an execution: a short record of every step, always; and, for a failure that is shown, all of it.

use crate::execution::{Execution, Moment, Noted};
use crate::sync::{CHANCE, LIMIT, SIGNAL};
use crate::time::CLOCK;
use crate::{Class, Part, Place};
use explore::Mode;
use explore::semantics::{Applied, Channel};
use explore::{FailureKind, MemoryOrder, ObjectId, Op, OpKind, Schedule, Site, Step, ThreadId, semantics};
use std::hash::{Hash, Hasher};

/// Marks the choice of an address by `malloc`.
pub(crate) const REUSE: u64 = 32;

/// The short record: enough for the schedule and for the order that the step establishes.
#[derive(Clone, Copy)]
pub(crate) struct Logged {
    pub(crate) thread: ThreadId,
    pub(crate) kind: OpKind,
    pub(crate) order: MemoryOrder,
    pub(crate) mode: Mode,
    pub(crate) ok: bool,
    pub(crate) object: ObjectId,
    pub(crate) other: ObjectId,
    /// What of the numbers matters for this kind.
    pub(crate) aux: u64,
}

impl Logged {
    #[inline]
    pub(crate) fn new(thread: ThreadId, op: &Op, before: u64, applied: &Applied) -> Logged {
        let aux = match op.kind {
            OpKind::Arrive => before,
            OpKind::Pass => op.a,
            // The room that the channel has.
            OpKind::Recv | OpKind::TryRecv if applied.access.mode == Mode::FoundClosed => op.a,
            OpKind::TrySend | OpKind::CountDown | OpKind::IsFinished if applied.access.mode != Mode::Sent => {
                applied.value
            }
            _ => applied.access.aux,
        };
        Logged {
            thread,
            kind: op.kind,
            order: op.order,
            mode: applied.access.mode,
            ok: applied.ok,
            object: op.object,
            other: op.other,
            aux,
        }
    }

    /// A spawn or a join of another thread, which are no steps.
    #[inline]
    pub(crate) fn quiet(thread: ThreadId, kind: OpKind, other: ThreadId) -> Logged {
        Logged {
            thread,
            kind,
            order: MemoryOrder::None,
            mode: Mode::Local,
            ok: true,
            object: ObjectId::NONE,
            other: ObjectId::NONE,
            aux: other.0 as u64,
        }
    }
}

/// The full record.
pub(crate) struct Recorded {
    thread: ThreadId,
    op: Op,
    option: u32,
    before: u64,
    applied: Applied,
    site: Site,
    pub(crate) preempts: Option<ThreadId>,
    /// What an await waited on.
    awaited: Vec<ObjectId>,
    callers: Vec<String>,
    /// The part of the object that it is on.
    part: Option<Part>,
    /// It is not a step but a plain access.
    plain: Option<Plain>,
}

/// A plain access, which is not a step: shown where it is to a variable of the failure.
struct Plain {
    /// The name of the variable, as the front end knows it: the address of its first byte.
    name: u64,
    kind: PlainKind,
    /// How many bytes are accessed.
    bytes: u64,
    /// The bytes that were read, or that the write left there, as a word.
    value: Option<u64>,
}

/// Bytes of memory: the first one, and the one behind the last.
pub(crate) type Span = (u64, u64);

impl Plain {
    fn span(&self) -> Span {
        (self.name, self.name + self.bytes.max(1))
    }

    /// The bytes of a variable that the access is to.
    fn part_of(&self, variable: Span) -> Option<Span> {
        let (start, end) = self.span();
        let part = (start.max(variable.0), end.min(variable.1));
        (part.0 < part.1).then_some(part)
    }

    /// The address by which a trace shows the access: the first byte that belongs to one of the variables.
    fn shown_at(&self, variables: &[Span]) -> u64 {
        let part = variables.iter().find_map(|v| self.part_of(*v));
        part.filter(|_| self.kind != PlainKind::Free).map_or(self.name, |p| p.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlainKind {
    Read,
    Write,
    /// The block is freed; its name is the address of its first byte.
    Free,
    /// The function returns that a local variable belongs to.
    End,
}

impl PlainKind {
    fn name(self) -> &'static str {
        match self {
            PlainKind::Read => "read",
            PlainKind::Write => "write",
            PlainKind::Free => "free",
            PlainKind::End => "end of",
        }
    }
}

/// Whether a record is the choice between a spurious end of a wait and none.
fn is_chance(r: &Recorded) -> bool {
    r.op.kind == OpKind::Choose && r.op.b & (CHANCE | LIMIT) != 0
}

/// Whether a trace shows a record. That a wait does not end spuriously goes without saying, and plain accesses are shown of the
/// variables of the failure alone.
fn is_shown(r: &Recorded, variables: &[Span]) -> bool {
    if let Some(plain) = &r.plain {
        return variables.iter().any(|v| plain.part_of(*v).is_some());
    }
    let nothing = is_chance(r) || r.op.kind == OpKind::Choose && r.op.b == SIGNAL;
    !(nothing && r.applied.value == 0 && r.preempts.is_none())
}

/// The place that a site stands for.
pub(crate) fn place_of(site: Site) -> Option<Place> {
    if site.0 == 0 {
        return None;
    }
    // This crate makes sites from places alone (`sync::site`), or 0.
    Some(Place(site.0))
}

/// What objects of a class are called, unless they are part of a thread.
pub(crate) fn class_word(class: Class) -> Option<&'static str> {
    Some(match class {
        Class::Atomic => "atomic",
        Class::Mutex => "mutex",
        Class::RwLock => "rwlock",
        Class::Condvar => "condvar",
        Class::Channel => "channel",
        Class::Barrier => "barrier",
        Class::Arc => "arc",
        Class::Cell => "cell",
        Class::Once => "once",
        Class::Semaphore => "semaphore",
        Class::Variable => "variable",
        Class::Heap => "heap",
        Class::Thread | Class::Token | Class::Version => return None,
    })
}

/// How a trace says that a wait ends spuriously.
pub(crate) const SPURIOUS: &str = "ends spuriously";

/// The name of an operation, in the words of the program's language.
pub(crate) fn operation(kind: OpKind) -> &'static str {
    match crate::front::front() {
        Some(front) if front.speaks_c() => c_name(kind).unwrap_or_else(|| rust_name(kind)),
        _ => rust_name(kind),
    }
}

/// The name of an operation in C, where that is another one.
fn c_name(kind: OpKind) -> Option<&'static str> {
    use OpKind::*;
    Some(match kind {
        TryLock => "trylock",
        ReadLock => "rdlock",
        TryReadLock => "tryrdlock",
        WriteLock => "wrlock",
        TryWriteLock => "trywrlock",
        ReadUnlock | WriteUnlock => "unlock",
        NotifyOne => "signal",
        NotifyAll => "broadcast",
        Spawn => "create",
        _ => return None,
    })
}

fn rust_name(kind: OpKind) -> &'static str {
    use OpKind::*;
    match kind {
        Load => "load",
        Store => "store",
        Rmw => "fetch",
        CompareExchange => "compare_exchange",
        CompareExchangeWeak => "compare_exchange_weak",
        Fence => "fence",
        Lock => "lock",
        TryLock => "try_lock",
        Unlock => "unlock",
        ReadLock => "read",
        TryReadLock => "try_read",
        ReadUnlock => "unlock_read",
        WriteLock => "write",
        TryWriteLock => "try_write",
        WriteUnlock => "unlock_write",
        Wait => "wait",
        Wake => "wake",
        NotifyOne => "notify_one",
        NotifyAll => "notify_all",
        Send => "send",
        TrySend => "try_send",
        SendDone => "sent",
        RecvReady => "ready_to_recv",
        Recv => "recv",
        TryRecv => "try_recv",
        AddSender => "clone_sender",
        DropSender => "drop_sender",
        DropReceiver => "drop_receiver",
        Arrive => "barrier_arrive",
        Pass => "barrier_pass",
        Park => "park",
        Unpark => "unpark",
        Spawn => "spawn",
        Start => "start",
        End => "end",
        Join => "join",
        IsFinished => "is_finished",
        CountUp => "clone",
        CountDown => "drop",
        CountRead => "count",
        Yield => "yield",
        Choose => "choose",
        Await => "spin",
        Assume => "assume",
        Assign => "assign",
        SemWait => "sem_wait",
        SemTryWait => "sem_trywait",
        SemPost => "sem_post",
        Transfer => "transfer",
        TryTransfer => "try_transfer",
    }
}

/// Blocks of a trace that were allocated at one place, so that their names are the same.
#[derive(Default)]
struct Blocks {
    /// The places, each with where its blocks start, in the order in which they are met.
    places: Vec<(String, Vec<u64>)>,
}

impl Blocks {
    /// The offset and the place in the name of a part of a block.
    fn parts(name: &str) -> Option<(u64, &str)> {
        let (offset, place) = name.strip_prefix("byte ")?.split_once(" of the block allocated at ")?;
        Some((offset.parse().ok()?, place))
    }

    fn note(&mut self, name: Option<&str>, address: u64) {
        let Some((offset, place)) = name.and_then(Blocks::parts) else { return };
        let start = address.wrapping_sub(offset);
        match self.places.iter_mut().find(|(p, _)| p == place) {
            Some((_, starts)) if starts.contains(&start) => {}
            Some((_, starts)) => starts.push(start),
            None => self.places.push((place.to_owned(), vec![start])),
        }
    }

    /// The name with the number of the block, where there are several.
    fn tell_apart(&self, name: Option<String>, address: u64) -> Option<String> {
        let name = name?;
        let Some((offset, place)) = Blocks::parts(&name) else { return Some(name) };
        let starts = self.places.iter().find(|(p, _)| p == place).map_or(&[][..], |(_, starts)| starts);
        match starts.iter().position(|s| *s == address.wrapping_sub(offset)) {
            Some(i) if starts.len() > 1 => {
                Some(format!("byte {offset} of block {} allocated at {place}", i + 1))
            }
            _ => Some(name),
        }
    }
}

impl Execution {
    /// A number that tells executions apart in which recorded steps differ.
    pub(crate) fn digest(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        for r in &self.recorded {
            (r.thread, r.op, r.applied.value).hash(&mut hasher);
        }
        hasher.finish()
    }

    #[cold]
    pub(crate) fn record(&mut self, op: &Op, option: u32, before: u64, applied: &Applied, site: Site) {
        self.finish_plain_writes();
        let thread = self.current;
        let (from, n) = self.pending[thread.index()].awaited;
        let awaited = self.awaited[from as usize..(from + n) as usize].iter().map(|a| a.0).collect();
        let preempts = self.preempted_by(thread);
        self.recorded.push(Recorded {
            thread,
            op: *op,
            option,
            before,
            applied: *applied,
            site,
            preempts,
            awaited,
            callers: self.callers_at(thread, site),
            part: self
                .front
                .zip(self.names.get(op.object.index()))
                .and_then(|(f, name)| f.part(thread, *name)),
            plain: None,
        });
    }

    /// The same for what is no step: it is shown, with the number 0.
    #[cold]
    pub(crate) fn record_quietly(&mut self, op: &Op, site: Site) {
        self.finish_plain_writes();
        let thread = self.current;
        self.recorded.push(Recorded {
            thread,
            op: *op,
            option: 0,
            before: 0,
            applied: semantics::apply(op, 0, thread, 0),
            site,
            preempts: None,
            awaited: Vec::new(),
            callers: self.callers_at(thread, site),
            part: None,
            plain: None,
        });
    }

    /// Records a plain access to a variable of a native program.
    #[cold]
    pub(crate) fn record_plain(&mut self, name: u64, bytes: u64, kind: PlainKind, place: Place) {
        const MOST: usize = 50_000;
        let thread = self.current;
        // An assignment of a structure announces what it writes, one part after the other, and then what it reads. Reads change nothing.
        let continues = self.unfinished.last().is_some_and(|last| {
            let last = &self.recorded[*last];
            let next = last.plain.as_ref().is_some_and(|p| name > p.name && name - p.name <= 8);
            let is_part = kind == PlainKind::Write && last.site == Site(place.0) && next;
            last.thread == thread && (kind == PlainKind::Read || is_part)
        });
        if !continues {
            self.finish_plain_writes();
        }
        if self.recorded.len() > MOST {
            return;
        }
        let op = Op::local(if kind == PlainKind::Read { OpKind::Load } else { OpKind::Store });
        let value = if kind == PlainKind::Read { self.word_now(name) } else { None };
        self.recorded.push(Recorded {
            thread,
            op,
            option: 0,
            before: 0,
            applied: semantics::apply(&Op::local(OpKind::Yield), 0, thread, 0),
            site: Site(place.0),
            preempts: None,
            awaited: Vec::new(),
            callers: Vec::new(),
            part: None,
            plain: Some(Plain { name, kind, bytes, value }),
        });
        // A limit can end the execution at any instruction: what is noted as unfinished has a record.
        if kind == PlainKind::Write {
            self.unfinished.push(self.recorded.len() - 1);
        }
    }

    /// Completes the records of plain writes. A hook runs before the write, and nothing else runs until the thread's next hook.
    pub(crate) fn finish_plain_writes(&mut self) {
        while let Some(at) = self.unfinished.pop() {
            let Some(name) = self.recorded[at].plain.as_ref().map(|p| p.name) else { continue };
            let value = self.word_now(name);
            if let Some(plain) = &mut self.recorded[at].plain {
                plain.value = value;
            }
        }
    }

    fn word_now(&self, name: u64) -> Option<u64> {
        self.front?.word_now(name)
    }

    /// The variables that a failure is about: what the failing thread accessed since its last step. Of a race between two ranges it is what both
    /// have.
    pub(crate) fn variables_of(&self, noted: &Noted) -> Vec<Span> {
        const MOST: usize = 4;
        let (Some(thread), Some(at)) = (noted.thread, noted.at) else { return Vec::new() };
        let own = self.recorded[..at.rows].iter().rev().filter(|r| r.thread == thread);
        let mut found: Vec<Span> = Vec::new();
        for plain in own.map_while(|r| r.plain.as_ref()) {
            if noted.kind == FailureKind::DataRace {
                return vec![self.raced(plain, thread, at.rows)];
            }
            if !found.contains(&plain.span()) {
                found.push(plain.span());
            }
            if found.len() == MOST {
                break;
            }
        }
        found
    }

    /// The bytes on which an access races: those that the last conflicting access of another thread has, too.
    fn raced(&self, last: &Plain, thread: ThreadId, rows: usize) -> Span {
        let others = self.recorded[..rows].iter().rev().filter(|r| r.thread != thread);
        let conflicts = |p: &&Plain| last.kind != PlainKind::Read || p.kind != PlainKind::Read;
        let common =
            others.filter_map(|r| r.plain.as_ref()).filter(conflicts).find_map(|p| p.part_of(last.span()));
        common.unwrap_or(last.span())
    }

    /// The number of records up to a step, which is the last of them.
    pub(crate) fn rows_until(&self, step: usize) -> usize {
        let mut steps = self.recorded.iter().enumerate().filter(|(_, r)| r.plain.is_none());
        steps.nth(step).map_or(self.recorded.len(), |(row, _)| row + 1)
    }

    /// The calls that led to the operation of a thread, where callers are recorded.
    fn callers_at(&self, t: ThreadId, site: Site) -> Vec<String> {
        match self.front {
            _ if !self.with_callers => Vec::new(),
            Some(front) => front.callers(t),
            None => crate::callers::outside_std(site),
        }
    }

    /// The calls that led to where a thread stands.
    pub(crate) fn callers_of(&self, t: ThreadId) -> Vec<String> {
        self.front.filter(|_| self.with_callers).map_or_else(Vec::new, |front| front.callers(t))
    }

    /// The schedule so far, with threads numbered in the order of their spawns.
    pub(crate) fn schedule(&self) -> Schedule {
        self.schedule_until(None, None)
    }

    /// The schedule that leads to a failure. Where the other threads of a native program have continued after it, it ends there. A Rust test
    /// decides at its end whether a panic is a failure.
    pub(crate) fn schedule_to(&self, moment: Option<Moment>, passed: Option<u32>) -> Schedule {
        let ends_there = self.front.is_some() && self.notes_all();
        self.schedule_until(moment.filter(|_| ends_there), passed)
    }

    /// The schedule, with the numbers that threads have in this session.
    pub(crate) fn schedule_of_session(&self) -> Schedule {
        let is_step = |l: &&Logged| !matches!(l.kind, OpKind::Spawn | OpKind::Join);
        let threads = self.log.iter().filter(is_step).map(|l| l.thread).collect();
        Schedule::new(threads, self.options.iter().map(|(o, _)| *o).collect())
    }

    /// The schedule up to a point of the execution, and after how many failures it continues.
    fn schedule_until(&self, moment: Option<Moment>, passed: Option<u32>) -> Schedule {
        let is_step = |l: &&Logged| !matches!(l.kind, OpKind::Spawn | OpKind::Join);
        let (steps, options) = moment.map_or((self.log.len(), self.options.len()), |m| (m.steps, m.options));
        let threads = self.log[..steps].iter().filter(is_step).map(|l| self.rank(l.thread)).collect();
        let options = self.options[..options]
            .iter()
            .map(|(o, thread)| if *thread { self.rank(ThreadId(*o as u16)).0 as u32 } else { *o })
            .collect();
        let passed = passed.unwrap_or_else(|| self.met_races.borrow().passed());
        Schedule::new(threads, options).passing(passed)
    }

    /// `mutex #2`, `thread 1`.
    pub(crate) fn object_name(&self, id: ObjectId) -> Option<String> {
        let class = self.objects.get(id.index())?.class;
        let class = if class == Class::Token { self.objects[id.index()].class } else { class };
        if class == Class::Version {
            let lock = self.versioned.iter().find(|v| v.version == id)?.lock;
            return Some(format!("what {} guards", self.object_name(lock)?));
        }
        let word = class_word(class)?;
        if let Some(name) = self.front.and_then(|f| f.object(self.names[id.index()], class)) {
            return Some(name);
        }
        let number = self.objects[..=id.index()].iter().filter(|o| o.class == class).count();
        Some(format!("{word} #{number}"))
    }

    fn is_heap(&self, id: ObjectId) -> bool {
        self.objects.get(id.index()).is_some_and(|o| o.class == Class::Heap)
    }

    fn is_version(&self, id: ObjectId) -> bool {
        self.objects.get(id.index()).is_some_and(|o| o.class == Class::Version)
    }

    /// The thread whose life or token an object is.
    pub(crate) fn thread_of(&self, id: ObjectId) -> Option<ThreadId> {
        self.order.iter().copied().find(|t| {
            let thread = self.threads[t.index()].seldom();
            thread.life == Some(id) || thread.token == Some(id)
        })
    }

    /// The recorded steps in words.
    pub(crate) fn trace(&self, variables: &[Span]) -> Vec<Step> {
        let mut steps = 0;
        let mut number = |r: &Recorded| {
            let quiet = r.plain.is_some() || matches!(r.op.kind, OpKind::Spawn | OpKind::Join);
            steps += !quiet as usize;
            if quiet { 0 } else { steps }
        };
        let name = |r: &Recorded| match r.op.kind {
            _ if self.is_version(r.op.object) => "change",
            OpKind::CountRead if self.is_heap(r.op.object) && self.front.is_none() => "alloc",
            OpKind::CountUp if self.is_heap(r.op.object) && self.front.is_none() => "dealloc",
            OpKind::CountRead if self.is_heap(r.op.object) => "malloc",
            OpKind::CountUp if self.is_heap(r.op.object) => "free",
            OpKind::CompareExchange if self.is_heap(r.op.object) => "give_out_again",
            // Our own types announce atomics with their orders; see `crate::heap`.
            OpKind::Rmw if self.front.is_none() && r.op.order == MemoryOrder::None => "dealloc",
            OpKind::Choose if r.op.b == REUSE => "choose_address",
            OpKind::Choose if is_chance(r) => "wait",
            OpKind::Choose if r.op.b == SIGNAL => "signal",
            OpKind::Park if self.is_sleep(r.op.object) => "sleep",
            kind => operation(kind),
        };
        let mut blocks = Blocks::default();
        for r in self.recorded.iter().filter(|r| self.front.is_some() && is_shown(r, variables)) {
            let name = self.part_name(r, variables).or_else(|| self.object_name(r.op.object));
            blocks.note(name.as_deref(), self.address_of(r));
        }
        let all = self.recorded.iter().map(|r| (number(r), r));
        all.filter(|(_, r)| is_shown(r, variables))
            .map(|(step, r)| Step {
                step,
                thread: self.rank(r.thread),
                operation: r.plain.as_ref().map_or_else(|| name(r), |plain| plain.kind.name()).to_string(),
                object: blocks.tell_apart(
                    self.part_name(r, variables).or_else(|| self.object_name(r.op.object)),
                    self.address_of(r),
                ),
                detail: self.detail(r, variables),
                location: place_of(r.site).map(|p| p.to_string()),
                callers: r.callers.clone(),
                preempts: r.preempts.map(|t| self.rank(t)),
            })
            .collect()
    }

    /// The name that the front end has given to what a record is about, which is its address, without the mark of what programs synchronise with.
    fn address_of(&self, r: &Recorded) -> u64 {
        let part = r.plain.as_ref().map(|p| p.name).or(r.part.map(|p| p.name));
        part.or_else(|| self.names.get(r.op.object.index()).copied()).unwrap_or(0) & !(1 << 63)
    }

    fn part_name(&self, r: &Recorded, variables: &[Span]) -> Option<String> {
        let name = r.plain.as_ref().map(|p| p.shown_at(variables)).or(r.part.map(|p| p.name))?;
        let object = self.front?.object(name, Class::Variable)?;
        Some(match r.plain {
            Some(Plain { kind: PlainKind::Free, .. }) => format!("the block of {object}"),
            _ => object,
        })
    }

    /// How many of the first `rows` records a trace shows.
    pub(crate) fn shown_before(&self, rows: usize, variables: &[Span]) -> usize {
        self.recorded[..rows].iter().filter(|r| is_shown(r, variables)).count()
    }

    fn detail(&self, r: &Recorded, variables: &[Span]) -> Option<String> {
        use OpKind::*;
        if let Some(plain @ Plain { name, kind, value, .. }) = &r.plain {
            let at = plain.shown_at(variables);
            // A word was kept.
            let offset = u32::try_from(at - name).ok().filter(|o| *o < 8)?;
            let value = self.front?.value(at, (*value)? >> (8 * offset))?;
            return Some(if *kind == PlainKind::Write { format!("= {value}") } else { value });
        }
        let whole = self.names.get(r.op.object.index()).copied();
        let front = self.front.zip(r.part.map(|p| p.name).or(whole));
        let of_part = |n: u64| r.part.map_or(n, |p| p.of(n));
        let number = |n: u64| match front.and_then(|(f, name)| f.value(name, n)) {
            Some(text) => text,
            None if n > i64::MAX as u64 => (n as i64).to_string(),
            None => n.to_string(),
        };
        let (before, after) = (of_part(r.before), of_part(r.applied.word));
        let (value, ok) = (r.applied.value, r.applied.ok);
        let outcome = |what: &str| if ok { None } else { Some(what.to_string()) };
        Some(match r.op.kind {
            Store if self.is_version(r.op.object) => return None,
            CountRead | CountUp | CompareExchange if self.is_heap(r.op.object) => return None,
            Choose if r.op.b == REUSE && value == 0 => "a fresh one".to_string(),
            Choose if r.op.b == REUSE => "one that was freed".to_string(),
            Rmw if self.front.is_none() && r.op.order == MemoryOrder::None => return None,
            Load | CountRead => number(of_part(value)),
            Store => format!("= {}", number(r.op.a)),
            Rmw if r.option == 1 => format!("{}: failed spuriously", number(before)),
            Rmw | CountUp | CountDown | SemPost | SemWait => {
                format!("{} -> {}", number(before), number(after))
            }
            CompareExchange | CompareExchangeWeak if ok => format!("{} -> {}", number(before), number(after)),
            CompareExchangeWeak if r.option == 1 => format!("{}: failed spuriously", number(before)),
            CompareExchange | CompareExchangeWeak => {
                format!("{}, wanted {}: failed", number(before), number(r.op.a))
            }
            TryLock | TryReadLock | TryWriteLock => return outcome("held: failed"),
            ReadLock | WriteLock => return outcome("held: waits"),
            SemTryWait => return outcome("0: failed"),
            Transfer | TryTransfer if ok => {
                let amount = |word: u64| word & 0x7fff_ffff;
                format!("{} -> {}", amount(before), amount(after))
            }
            TryTransfer => return outcome("not ready"),
            Wait => format!("releases {}", self.object_name(r.op.other)?),
            Wake if r.op.b != 0 => {
                let by = ThreadId((r.op.b >> 32) as u16 - 1);
                format!("woken by {}", self.thread_label(by))
            }
            Wake => "timed out".to_string(),
            NotifyOne if ok => format!("wakes {}", self.thread_label(ThreadId(r.option as u16))),
            NotifyAll if ok => format!("wakes {value}"),
            NotifyOne | NotifyAll => "nobody waits".to_string(),
            Send | TrySend if ok => format!("message {value}"),
            Send | SendDone => return outcome("the receiver is gone"),
            TrySend if value == 1 && !Channel::unpack(before).closed => "full".to_string(),
            TrySend => "the receiver is gone".to_string(),
            Recv | TryRecv if ok => format!("message {value}"),
            Recv | TryRecv if value == 1 => "all senders are gone".to_string(),
            Recv | TryRecv => "empty".to_string(),
            Arrive if ok => format!("the last of {}", r.op.a),
            Arrive => format!("{} of {}", after & 0xffff_ffff, r.op.a),
            Park if ok => return None,
            Park => "timed out".to_string(),
            Spawn | Join => self.thread_label(ThreadId(r.op.a as u16)),
            Unpark => self.thread_label(self.thread_of(r.op.object)?),
            IsFinished => {
                format!(
                    "{}: {}",
                    self.thread_label(self.thread_of(r.op.object)?),
                    if value == 1 { "yes" } else { "no" }
                )
            }
            Choose if r.op.b == SIGNAL && value == 0 => "does not come".to_string(),
            Choose if r.op.b == SIGNAL => "comes".to_string(),
            Choose if r.op.b == CLOCK && value == 0 => "no time has passed".to_string(),
            Choose if r.op.b == CLOCK => "late".to_string(),
            Choose if is_chance(r) && value == 0 => "will take a notification to end".to_string(),
            Choose if value == 1 && r.op.b & LIMIT != 0 => "times out".to_string(),
            Choose if is_chance(r) => SPURIOUS.to_string(),
            Choose => format!("{value} of {}", r.op.a),
            Await => {
                let names: Vec<String> = r.awaited.iter().filter_map(|o| self.object_name(*o)).collect();
                format!("saw a change of {}", names.join(", "))
            }
            Fence => format!("{:?}", r.op.order),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Blocks;

    #[test]
    fn blocks_that_were_allocated_at_one_place_have_numbers() {
        let part = |offset: u64, line: u32| format!("byte {offset} of the block allocated at a.rs:{line}");
        let mut blocks = Blocks::default();
        for (name, address) in [(part(0, 1), 100), (part(8, 1), 108), (part(0, 1), 200), (part(0, 2), 300)] {
            blocks.note(Some(&name), address);
        }
        let shown = |name: String, address: u64| blocks.tell_apart(Some(name), address).unwrap();
        assert_eq!(shown(part(8, 1), 108), "byte 8 of block 1 allocated at a.rs:1");
        assert_eq!(shown(part(0, 1), 200), "byte 0 of block 2 allocated at a.rs:1");
        assert_eq!(shown(part(0, 2), 300), part(0, 2));
        assert_eq!(shown("m[1]".to_owned(), 100), "m[1]");
    }
}
