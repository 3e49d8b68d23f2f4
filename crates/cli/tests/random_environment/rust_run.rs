// Runs a generated program over the types of the module that includes this file: it has `sync`, `thread`, `Var`, `Block` and `rest`.
//
// The local data of a thread is on its stack, so that loops are found in it.

use super::program::{At, Place, Program, Stmt, Value, member_size};
use sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use sync::mpsc::{Receiver, Sender, channel};
use sync::{Arc, Condvar, Mutex, MutexGuard};

/// The objects that the threads of a program share.
struct Shared {
    size: usize,
    words: [AtomicU64; 2],
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

    fn word(&self, at: At) -> &'a AtomicU64 {
        assert_eq!(at.size, 8, "programs over atomics of one size");
        &self.shared.words[at.word as usize]
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
        let word = self.word(at);
        if weak {
            word.compare_exchange_weak(from, to, SeqCst, SeqCst).is_ok()
        } else {
            word.compare_exchange(from, to, SeqCst, SeqCst).is_ok()
        }
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
            Stmt::Load(at, r) => self.r[r as usize] = self.word(at).load(SeqCst),
            Stmt::Store(at, v) => self.word(at).store(self.value(v), SeqCst),
            Stmt::Add(at, n, r) => self.r[r as usize] = self.word(at).fetch_add(n, SeqCst),
            Stmt::Exchange(at, v, r) => self.r[r as usize] = self.word(at).swap(self.value(v), SeqCst),
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
                let mut seen = self.word(at).load(SeqCst);
                while let Err(now) = self.word(at).compare_exchange_weak(seen, seen.wrapping_add(n), SeqCst, SeqCst) {
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
                while self.word(at).load(SeqCst) != v {
                    rest(yields);
                }
            }
            Stmt::PollCounted { at, value, most, r } => {
                self.r[r as usize] = 0;
                while self.word(at).load(SeqCst) != value {
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
            Stmt::Call(_) => unreachable!("Rust programs do not call the C library"),
        }
    }
}

/// Whether a block takes from the semaphore.
fn takes(block: &[Stmt]) -> bool {
    let mut found = false;
    each(block, &mut |s| found |= matches!(s, Stmt::Down | Stmt::DownTimed(_) | Stmt::DownCounted(..)));
    found
}

/// Whether a program can be written in Rust: one thread takes from the semaphore, atomics have one size, and the C library is not called.
pub(crate) fn is_rust(p: &Program) -> bool {
    let mut one_size = true;
    for body in &p.threads {
        each(body, &mut |s| match s {
            Stmt::Load(at, _) | Stmt::Store(at, _) | Stmt::Add(at, ..) | Stmt::Exchange(at, ..) => one_size &= at.size == 8,
            Stmt::Cas { at, .. } | Stmt::CasCounted { at, .. } | Stmt::CasAdd(at, _) => one_size &= at.size == 8,
            Stmt::Poll(at, ..) | Stmt::PollCounted { at, .. } => one_size &= at.size == 8,
            Stmt::Call(_) => one_size = false,
            _ => {}
        });
    }
    one_size && p.threads.iter().filter(|b| takes(b)).count() <= 1
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
        words: [AtomicU64::new(0), AtomicU64::new(0)],
        plain: [Var::new(0), Var::new(0)],
        flags: [AtomicU64::new(0), AtomicU64::new(0)],
        structures: [structure(), structure()],
        mutexes: [Mutex::new(()), Mutex::new(())],
        condvar: Condvar::new(),
        semaphore: sender,
        receiver: OfOne(receiver),
        pointers: [AtomicPtr::new(std::ptr::null_mut()), AtomicPtr::new(std::ptr::null_mut())],
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
                    guards: [None, None],
                };
                thread.run(&p.threads[t]);
                thread.r
            })
        })
        .collect();
    let results: Vec<[u64; 3]> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    let add = |sum: u64, v: u64| sum.wrapping_mul(31).wrapping_add(v);
    let mut sum = shared.words.iter().map(|w| w.load(SeqCst)).fold(0, add);
    sum = shared.plain.iter().map(Var::read).fold(sum, add);
    sum = shared.flags.iter().map(|f| f.load(SeqCst)).fold(sum, add);
    let bytes = member_size(p.size);
    for member in shared.structures.iter().flatten() {
        sum = member.read().to_le_bytes()[..bytes].iter().map(|b| *b as u64).fold(sum, add);
    }
    // The buffers of the C library.
    sum = (0..16).fold(sum, |sum, _| add(sum, 0));
    results.iter().map(|r| r.iter().copied().fold(0, add)).fold(sum, add)
}
