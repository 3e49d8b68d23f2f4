// Runs a generated program over the types of the module that includes this file: it has `sync`, `thread`, `Var`, `Bytes`, `Block` and `rest`.
//
// The local data of a thread is on its stack, so that loops are found in it.

use super::program::{At, BUFFER, Buffer, Call, Place, Program, Stmt, Value, member_size};
use sync::atomic::{AtomicPtr, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use sync::mpsc::{Receiver, Sender, channel};
use sync::{Arc, Condvar, Mutex, MutexGuard};

/// The objects that the threads of a program share.
struct Shared {
    size: usize,
    words: [Word; 2],
    plain: [Var; 2],
    flags: [AtomicU64; 2],
    structures: [Vec<Var>; 2],
    mutexes: [Mutex<()>; 2],
    condvar: Condvar,
    /// Messages are what the semaphore counts.
    semaphore: Sender<()>,
    /// One thread takes from it.
    receiver: OfOne<Receiver<()>>,
    pointers: [AtomicPtr<Var>; 2],
    buffers: [Bytes; 2],
}

/// Eight bytes, as atomics of one size side by side.
enum Word {
    Bytes([AtomicU8; 8]),
    Halves([AtomicU16; 4]),
    Doubles([AtomicU32; 2]),
    Whole([AtomicU64; 1]),
}

/// Does something with the part `$a`, of type `$t`, of a word.
macro_rules! part {
    ($word:expr, $at:expr, $a:ident, $t:ident, $do:expr) => {
        match $word {
            Word::Bytes(parts) => { type $t = u8; let $a = &parts[$at.index as usize]; $do }
            Word::Halves(parts) => { type $t = u16; let $a = &parts[$at.index as usize]; $do }
            Word::Doubles(parts) => { type $t = u32; let $a = &parts[$at.index as usize]; $do }
            Word::Whole(parts) => { type $t = u64; let $a = &parts[$at.index as usize]; $do }
        }
    };
}

impl Word {
    fn new(size: u8) -> Word {
        match size {
            1 => Word::Bytes(std::array::from_fn(|_| AtomicU8::new(0))),
            2 => Word::Halves(std::array::from_fn(|_| AtomicU16::new(0))),
            4 => Word::Doubles(std::array::from_fn(|_| AtomicU32::new(0))),
            _ => Word::Whole([AtomicU64::new(0)]),
        }
    }

    fn load(&self, at: At) -> u64 {
        part!(self, at, a, T, T::into(a.load(SeqCst)))
    }

    fn store(&self, at: At, v: u64) {
        part!(self, at, a, T, a.store(v as T, SeqCst));
    }

    fn add(&self, at: At, n: u64) -> u64 {
        part!(self, at, a, T, T::into(a.fetch_add(n as T, SeqCst)))
    }

    fn swap(&self, at: At, v: u64) -> u64 {
        part!(self, at, a, T, T::into(a.swap(v as T, SeqCst)))
    }

    /// The value that a failed attempt saw.
    fn compare_exchange(&self, at: At, from: u64, to: u64, weak: bool) -> Result<(), u64> {
        part!(self, at, a, T, {
            let done = if weak {
                a.compare_exchange_weak(from as T, to as T, SeqCst, SeqCst)
            } else {
                a.compare_exchange(from as T, to as T, SeqCst, SeqCst)
            };
            match done {
                Ok(_) => Ok(()),
                Err(seen) => Err(T::into(seen)),
            }
        })
    }

    /// All eight bytes, at the end.
    fn whole(&self) -> u64 {
        let size = match self {
            Word::Bytes(_) => 1,
            Word::Halves(_) => 2,
            Word::Doubles(_) => 4,
            Word::Whole(_) => 8,
        };
        (0..8 / size).map(|index| self.load(At { word: 0, size, index }) << (8 * size * index)).sum()
    }
}

/// The objects that one thread uses.
struct OfOne<T>(T);
// SAFETY: one thread uses it, which has it for itself.
unsafe impl<T: Send> Sync for OfOne<T> {}

/// The most members of a structure.
const MEMBERS: usize = 65;

struct Thread<'a> {
    shared: &'a Shared,
    r: [u64; 3],
    p: [*mut Var; 2],
    own: [u64; MEMBERS],
    buffer: Bytes,
    guards: [Option<MutexGuard<'a, ()>>; 2],
}

const LIMIT: std::time::Duration = std::time::Duration::from_millis(1);

impl<'a> Thread<'a> {
    fn value(&self, v: Value) -> u64 {
        match v {
            Value::Const(c) => c,
            Value::Reg(r) => self.r[r as usize],
        }
    }

    fn word(&self, at: At) -> &'a Word {
        &self.shared.words[at.word as usize]
    }

    fn buffer(&self, which: u8) -> &Bytes {
        self.shared.buffers.get(which as usize).unwrap_or(&self.buffer)
    }

    fn call(&mut self, c: Call) {
        let of = |b: Buffer| (self.buffer(b.which), b.offset as usize);
        match c {
            Call::Memcpy(to, from, n) => of(to).0.copy(of(to).1, of(from).0, of(from).1, n as usize),
            Call::Memmove(which, to, from, n) => {
                let buffer = self.buffer(which);
                buffer.copy(to as usize, buffer, from as usize, n as usize);
            }
            Call::Memset(to, v, n) => of(to).0.fill(of(to).1, v, n as usize),
            Call::Memcmp(a, b, n, r) => {
                let order = of(a).0.compare(of(a).1, of(b).0, of(b).1, n as usize);
                self.r[r as usize] = order as i64 as u64 & 3;
            }
            Call::Memchr(a, c, n, r) => {
                self.r[r as usize] = of(a).0.find(of(a).1, c, n as usize).map_or(9, |i| i as u64);
            }
            Call::Sort(a, n) => of(a).0.sort(of(a).1, n as usize),
            other => unreachable!("{other:?} is a call of C"),
        }
    }

    fn members(&self) -> usize {
        self.shared.size / member_size(self.shared.size)
    }

    fn load(&self, p: Place, i: usize) -> u64 {
        match p {
            Place::Global(g) => self.shared.structures[g as usize][i].read(),
            Place::Local => self.own[i],
        }
    }

    fn store(&mut self, p: Place, i: usize, v: u64) {
        match p {
            Place::Global(g) => self.shared.structures[g as usize][i].write(v),
            Place::Local => self.own[i] = v,
        }
    }

    fn pointer(&self, p: Option<u8>) -> *mut Var {
        p.map_or(std::ptr::null_mut(), |p| self.p[p as usize])
    }

    fn compare_exchange(&self, at: At, from: u64, to: u64, weak: bool) -> bool {
        self.word(at).compare_exchange(at, from, to, weak).is_ok()
    }

    /// Waits on the condition variable. Returns whether it timed out.
    fn wait(&mut self, timed: bool) -> bool {
        let guard = self.guards[0].take().expect("mutex 0 is held");
        let (guard, timed_out) = if timed {
            let (guard, result) = self.shared.condvar.wait_timeout(guard, LIMIT).unwrap();
            (guard, result.timed_out())
        } else {
            (self.shared.condvar.wait(guard).unwrap(), false)
        };
        self.guards[0] = Some(guard);
        timed_out
    }

    /// Takes one from the semaphore. Returns whether it timed out.
    fn down_timed(&self) -> bool {
        self.shared.receiver.0.recv_timeout(LIMIT).is_err()
    }

    fn run(&mut self, block: &[Stmt]) {
        for s in block {
            self.statement(s);
        }
    }

    fn statement(&mut self, s: &Stmt) {
        match *s {
            Stmt::Load(at, r) => self.r[r as usize] = self.word(at).load(at),
            Stmt::Store(at, v) => self.word(at).store(at, self.value(v)),
            Stmt::Add(at, n, r) => self.r[r as usize] = self.word(at).add(at, n),
            Stmt::Exchange(at, v, r) => self.r[r as usize] = self.word(at).swap(at, self.value(v)),
            Stmt::Cas { at, from, to, weak, r } => {
                self.r[r as usize] = self.compare_exchange(at, from, to, weak) as u64;
            }
            Stmt::CasCounted { at, from, to, most, r } => {
                self.r[r as usize] = 0;
                while !self.compare_exchange(at, from, to, true) {
                    self.r[r as usize] += 1;
                    if self.r[r as usize] == most {
                        break;
                    }
                }
            }
            Stmt::CasAdd(at, n) => {
                let mut seen = self.word(at).load(at);
                while let Err(now) = self.word(at).compare_exchange(at, seen, seen.wrapping_add(n), true) {
                    seen = now;
                }
            }
            Stmt::Read(v, r) => self.r[r as usize] = self.shared.plain[v as usize].read(),
            Stmt::Write(v, n) => self.shared.plain[v as usize].write(self.value(n)),
            Stmt::Bump(v) => {
                let variable = &self.shared.plain[v as usize];
                variable.write(variable.read().wrapping_add(1));
            }
            Stmt::ReadFlag(f, r) => self.r[r as usize] = self.shared.flags[f as usize].load(Relaxed),
            Stmt::WriteFlag(f, v) => self.shared.flags[f as usize].store(self.value(v), Relaxed),
            Stmt::Critical(m, ref body) => {
                self.guards[m as usize] = Some(self.shared.mutexes[m as usize].lock().unwrap());
                self.run(body);
                self.guards[m as usize] = None;
            }
            // A lock that is taken in time, or not, is one that is tried.
            Stmt::TimedCritical(m, r, ref body) => {
                let got = self.shared.mutexes[m as usize].try_lock().ok();
                let taken = got.is_some();
                if taken {
                    self.guards[m as usize] = got;
                    self.run(body);
                    self.guards[m as usize] = None;
                }
                self.r[r as usize] = taken as u64;
            }
            Stmt::Wait { timed, r } => self.r[r as usize] = self.wait(timed) as u64,
            Stmt::WaitWhile { variable, value, timed, most, r } => {
                if most > 0 {
                    self.r[r as usize] = 0;
                }
                while self.shared.plain[variable as usize].read() == value {
                    self.wait(timed);
                    if most > 0 {
                        self.r[r as usize] += 1;
                        if self.r[r as usize] == most {
                            break;
                        }
                    }
                }
            }
            Stmt::Signal => self.shared.condvar.notify_one(),
            Stmt::Broadcast => self.shared.condvar.notify_all(),
            Stmt::Post => self.shared.semaphore.send(()).unwrap(),
            Stmt::Down => self.shared.receiver.0.recv().unwrap(),
            Stmt::DownTimed(r) => self.r[r as usize] = self.down_timed() as u64,
            Stmt::DownCounted(most, r) => {
                self.r[r as usize] = 0;
                while self.down_timed() {
                    self.r[r as usize] += 1;
                    if self.r[r as usize] == most {
                        break;
                    }
                }
            }
            Stmt::Fill(p, v) => (0..self.members()).for_each(|i| self.store(p, i, v as u64)),
            Stmt::Init(p, v) => (0..self.members()).for_each(|i| self.store(p, i, if i == 0 { v as u64 } else { 0 })),
            Stmt::Sum(p, r) => {
                let sum = (0..self.members()).map(|i| self.load(p, i).wrapping_mul(i as u64 + 1));
                self.r[r as usize] = sum.fold(0, u64::wrapping_add);
            }
            Stmt::Copy(to, from) | Stmt::Pass(to, from) => {
                let copy: [u64; MEMBERS] =
                    std::array::from_fn(|i| if i < self.members() { self.load(from, i) } else { 0 });
                (0..self.members()).for_each(|i| self.store(to, i, copy[i]));
            }
            Stmt::Member(p, i, r) => self.r[r as usize] = self.load(p, i as usize % self.members()),
            Stmt::SetMember(p, i, v) => self.store(p, i as usize % self.members(), v as u64),
            Stmt::New(p) => self.p[p as usize] = Block::into_raw(Block::new(Var::new(7))),
            Stmt::Free(p) => {
                let p = self.p[p as usize];
                if !p.is_null() {
                    // SAFETY: it came from `into_raw`. If it was freed before, the check reports that.
                    drop(unsafe { Block::from_raw(p) });
                }
            }
            Stmt::PointerLoad(x, p) => self.p[p as usize] = self.shared.pointers[x as usize].load(SeqCst),
            Stmt::PointerStore(x, p) => self.shared.pointers[x as usize].store(self.pointer(p), SeqCst),
            Stmt::PointerExchange(x, p, q) => {
                self.p[q as usize] = self.shared.pointers[x as usize].swap(self.pointer(p), SeqCst);
            }
            Stmt::PointerCas(x, expected, new, r) => {
                let word = &self.shared.pointers[x as usize];
                let done = word.compare_exchange(self.p[expected as usize], self.pointer(new), SeqCst, SeqCst);
                self.r[r as usize] = done.is_ok() as u64;
            }
            Stmt::Equal(p, q, r) => self.r[r as usize] = (self.p[p as usize] == self.p[q as usize]) as u64,
            Stmt::Poke(p, v) => {
                // SAFETY: the block is there, or the check reports that it is not.
                if let Some(block) = unsafe { self.p[p as usize].as_ref() } {
                    block.write(v as u64);
                }
            }
            Stmt::Peek(p, r) => {
                // SAFETY: as above.
                if let Some(block) = unsafe { self.p[p as usize].as_ref() } {
                    self.r[r as usize] = block.read();
                }
            }
            Stmt::Poll(at, v, yields) => {
                while self.word(at).load(at) != v {
                    rest(yields);
                }
            }
            Stmt::PollCounted { at, value, most, r } => {
                self.r[r as usize] = 0;
                while self.word(at).load(at) != value {
                    self.r[r as usize] += 1;
                    if self.r[r as usize] == most {
                        break;
                    }
                }
            }
            Stmt::PollFlag(f, v) => {
                while self.shared.flags[f as usize].load(Relaxed) != v {
                    rest(false);
                }
            }
            Stmt::If(r, v, ref body) => {
                if self.r[r as usize] == v {
                    self.run(body);
                }
            }
            Stmt::Assert(r, v, n) => assert!(self.r[r as usize] != v, "number {n}."),
            Stmt::Call(c) => self.call(c),
        }
    }
}

/// Whether a block takes from the semaphore.
fn takes(block: &[Stmt]) -> bool {
    let mut found = false;
    each(block, &mut |s| found |= matches!(s, Stmt::Down | Stmt::DownTimed(_) | Stmt::DownCounted(..)));
    found
}

/// Whether a program can be written in Rust after [`in_rust`]: one thread takes from the semaphore.
pub(crate) fn is_rust(p: &Program) -> bool {
    p.threads.iter().filter(|b| takes(b)).count() <= 1
}

/// The program with what Rust has in place of what it does not: the atomics of a word have the size of the first one that is used, and
/// slices are copied, filled, compared, searched and sorted where strings of C are.
pub(crate) fn in_rust(mut p: Program) -> Program {
    let mut sizes = [0; 2];
    for body in &mut p.threads {
        each_mut(body, &mut |s| {
            let (Stmt::Load(at, _)
            | Stmt::Store(at, _)
            | Stmt::Add(at, ..)
            | Stmt::Exchange(at, ..)
            | Stmt::Cas { at, .. }
            | Stmt::CasCounted { at, .. }
            | Stmt::CasAdd(at, _)
            | Stmt::Poll(at, ..)
            | Stmt::PollCounted { at, .. }) = s
            else {
                return;
            };
            let size = &mut sizes[at.word as usize];
            if *size == 0 {
                *size = at.size;
            }
            (at.size, at.index) = (*size, at.index % (8 / *size));
            let small = |v: &mut u64| *v &= u64::MAX >> (64 - 8 * *size as u32);
            match s {
                Stmt::Store(_, Value::Const(v)) | Stmt::Exchange(_, Value::Const(v), _) => small(v),
                Stmt::Cas { from, to, .. } | Stmt::CasCounted { from, to, .. } => {
                    small(from);
                    small(to);
                }
                _ => {}
            }
        });
        each_mut(body, &mut |s| {
            let Stmt::Call(c) = s else { return };
            *c = match *c {
                Call::StrcpyLiteral(a, l) => Call::Memset(a, b'0' + l, 2),
                Call::Strcpy(a, b) => Call::Memcpy(a, b, 2),
                Call::Strncpy(a, b, n) => Call::Memcpy(a, b, n),
                Call::PrintText(a, b) => Call::Memcpy(a, b, 4),
                Call::Print(a, v, n) => Call::Memset(a, v, n),
                Call::Strcat(a, b) => Call::Memcmp(a, b, 4, 0),
                Call::Strcmp(a, b, r) => Call::Memcmp(a, b, 2, r),
                Call::Strlen(a, r) => Call::Memchr(a, 0, 2, r),
                Call::Strchr(a, c, r) => Call::Memchr(a, c, 4, r),
                Call::Atoi(a, r) | Call::Scan(a, r) => Call::Memchr(a, b'a', 4, r),
                other => other,
            };
        });
    }
    p
}

fn each_mut(block: &mut [Stmt], f: &mut dyn FnMut(&mut Stmt)) {
    for s in block {
        f(s);
        if let Stmt::Critical(_, b) | Stmt::TimedCritical(_, _, b) | Stmt::If(_, _, b) = s {
            each_mut(b, f);
        }
    }
}

/// The sizes of the atomics in the words of a program.
fn sizes(p: &Program) -> [u8; 2] {
    let mut sizes = [8; 2];
    for body in &p.threads {
        each(body, &mut |s| match s {
            Stmt::Load(at, _) | Stmt::Store(at, _) | Stmt::Add(at, ..) | Stmt::Exchange(at, ..) => sizes[at.word as usize] = at.size,
            Stmt::Cas { at, .. } | Stmt::CasCounted { at, .. } | Stmt::CasAdd(at, _) => sizes[at.word as usize] = at.size,
            Stmt::Poll(at, ..) | Stmt::PollCounted { at, .. } => sizes[at.word as usize] = at.size,
            _ => {}
        });
    }
    sizes
}

fn each(block: &[Stmt], f: &mut dyn FnMut(&Stmt)) {
    for s in block {
        f(s);
        if let Stmt::Critical(_, b) | Stmt::TimedCritical(_, _, b) | Stmt::If(_, _, b) = s {
            each(b, f);
        }
    }
}

/// Runs a program. Returns the sum at the end.
pub(crate) fn run(p: &Arc<Program>) -> u64 {
    let members = p.size / member_size(p.size);
    let (sender, receiver) = channel();
    let structure = || (0..members).map(|_| Var::new(0)).collect();
    let shared = Arc::new(Shared {
        size: p.size,
        words: sizes(p).map(Word::new),
        plain: [Var::new(0), Var::new(0)],
        flags: [AtomicU64::new(0), AtomicU64::new(0)],
        structures: [structure(), structure()],
        mutexes: [Mutex::new(()), Mutex::new(())],
        condvar: Condvar::new(),
        semaphore: sender,
        receiver: OfOne(receiver),
        pointers: [AtomicPtr::new(std::ptr::null_mut()), AtomicPtr::new(std::ptr::null_mut())],
        buffers: [Bytes::new(), Bytes::new()],
    });
    let threads: Vec<_> = (0..p.threads.len())
        .map(|t| {
            let (p, shared) = (p.clone(), shared.clone());
            thread::spawn(move || {
                let mut thread = Thread {
                    shared: &shared,
                    r: [0; 3],
                    p: [std::ptr::null_mut(); 2],
                    own: [0; MEMBERS],
                    buffer: Bytes::new(),
                    guards: [None, None],
                };
                thread.run(&p.threads[t]);
                thread.r
            })
        })
        .collect();
    let results: Vec<[u64; 3]> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    let add = |sum: u64, v: u64| sum.wrapping_mul(31).wrapping_add(v);
    let mut sum = shared.words.iter().map(Word::whole).fold(0, add);
    sum = shared.plain.iter().map(Var::read).fold(sum, add);
    sum = shared.flags.iter().map(|f| f.load(SeqCst)).fold(sum, add);
    let bytes = member_size(p.size);
    for member in shared.structures.iter().flatten() {
        sum = member.read().to_le_bytes()[..bytes].iter().map(|b| *b as u64).fold(sum, add);
    }
    sum = shared.buffers.iter().flat_map(|b| (0..BUFFER).map(|i| b.read(i) as u64)).fold(sum, add);
    results.iter().map(|r| r.iter().copied().fold(0, add)).fold(sum, add)
}
