//! Programs, the generator and the shrinker. A program has two or three threads that share a few objects of each kind.

use std::fmt::Debug;

/// What the statements of a program are mainly about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Timed waits, spurious wake-ups and weak compare-exchanges, also in loops that count.
    Waits,
    /// Structures as arguments, results and in assignments.
    Structures,
    /// Memory that is freed and allocated again.
    Reuse,
    /// Library functions on shared buffers.
    Library,
    /// Atomic operations of several sizes within one word.
    SubWord,
    /// Volatile flags beside plain variables.
    Volatile,
    /// Loops that look until something changes, or count their looks.
    Polling,
}

pub(crate) const FAMILIES: [Family; 7] = [
    Family::Waits,
    Family::Structures,
    Family::Reuse,
    Family::Library,
    Family::SubWord,
    Family::Volatile,
    Family::Polling,
];

/// Sizes of structures.
pub(crate) const SIZES: [usize; 11] = [1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 65];

/// The size of the members of a structure of this size.
pub(crate) fn member_size(size: usize) -> usize {
    match size {
        12 => 4,
        16 | 24 | 32 => 8,
        _ => 1,
    }
}

/// A part of an atomic word: the word, the bytes, and which of the parts of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct At {
    pub(crate) word: u8,
    pub(crate) size: u8,
    pub(crate) index: u8,
}

/// A constant or a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Const(u64),
    Reg(u8),
}

/// A structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Global(u8),
    /// The structure of the thread itself.
    Local,
}

/// A position in a buffer. Buffer 2 belongs to the thread itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer {
    pub(crate) which: u8,
    pub(crate) offset: u8,
}

/// The bytes of a buffer.
pub(crate) const BUFFER: usize = 8;

pub(crate) const LITERALS: [&str; 4] = ["", "1", "ab", "27b"];

/// Calls of library functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Memcpy(Buffer, Buffer, u8),
    /// Moves bytes within one buffer.
    Memmove(u8, u8, u8, u8),
    Memset(Buffer, u8, u8),
    StrcpyLiteral(Buffer, u8),
    Strcpy(Buffer, Buffer),
    Strncpy(Buffer, Buffer, u8),
    Strcat(Buffer, Buffer),
    Strlen(Buffer, u8),
    /// The sign of the result.
    Strcmp(Buffer, Buffer, u8),
    Memcmp(Buffer, Buffer, u8, u8),
    /// The offset of a character, or 9.
    Strchr(Buffer, u8, u8),
    Memchr(Buffer, u8, u8, u8),
    /// `snprintf` of a number, with the size.
    Print(Buffer, u8, u8),
    /// `snprintf` of `%s`.
    PrintText(Buffer, Buffer),
    Atoi(Buffer, u8),
    /// `sscanf` of `%d`; the register stays if there is no number.
    Scan(Buffer, u8),
    /// `qsort` of bytes.
    Sort(Buffer, u8),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stmt {
    // Atomic words.
    Load(At, u8),
    Store(At, Value),
    Add(At, u64, u8),
    Exchange(At, Value, u8),
    /// The register says whether it succeeded.
    Cas {
        at: At,
        from: u64,
        to: u64,
        weak: bool,
        r: u8,
    },
    /// Attempts a weak compare-exchange until it succeeds, at most this often; the register counts failures.
    CasCounted {
        at: At,
        from: u64,
        to: u64,
        most: u64,
        r: u8,
    },
    /// Adds with a loop of weak compare-exchanges.
    CasAdd(At, u64),
    // Plain and volatile variables.
    Read(u8, u8),
    Write(u8, Value),
    Bump(u8),
    ReadFlag(u8, u8),
    WriteFlag(u8, Value),
    // Locks, the condition variable (of mutex 0), the semaphore.
    Critical(u8, Vec<Stmt>),
    /// The body if the lock was taken in time. The register says whether.
    TimedCritical(u8, u8, Vec<Stmt>),
    Wait {
        timed: bool,
        r: u8,
    },
    /// Waits while the plain variable has this value, at most `most` times (0: no limit). The register counts.
    WaitWhile {
        variable: u8,
        value: u64,
        timed: bool,
        most: u64,
        r: u8,
    },
    Signal,
    Broadcast,
    Post,
    Down,
    DownTimed(u8),
    /// Tries until it succeeds, at most this often; the register counts timeouts.
    DownCounted(u64, u8),
    // Structures.
    Fill(Place, u8),
    Init(Place, u8),
    Sum(Place, u8),
    Copy(Place, Place),
    /// Argument and result.
    Pass(Place, Place),
    Member(Place, u8, u8),
    SetMember(Place, u8, u8),
    // The library.
    Call(Call),
    // The heap. Pointers are variables of the thread, and atomic words.
    New(u8),
    Free(u8),
    PointerLoad(u8, u8),
    PointerStore(u8, Option<u8>),
    PointerExchange(u8, Option<u8>, u8),
    /// Word, expected, new, register that says whether it succeeded.
    PointerCas(u8, u8, Option<u8>, u8),
    Equal(u8, u8, u8),
    /// Writes and reads the first word of the block, unless the pointer is null.
    Poke(u8, u8),
    Peek(u8, u8),
    // Loops that look.
    Poll(At, u64, bool),
    PollCounted {
        at: At,
        value: u64,
        most: u64,
        r: u8,
    },
    PollFlag(u8, u64),
    // Control.
    If(u8, u64, Vec<Stmt>),
    /// Fails if the register has this value. The number names the assertion.
    Assert(u8, u64, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) family: Family,
    /// The size of the structures.
    pub(crate) size: usize,
    pub(crate) threads: Vec<Vec<Stmt>>,
}

/// A generator of numbers that is the same everywhere (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    fn register(&mut self) -> u8 {
        self.below(2) as u8
    }

    fn value(&mut self) -> Value {
        if self.chance(4) { Value::Reg(self.register()) } else { Value::Const(1 + self.below(2)) }
    }

    fn word(&mut self) -> At {
        At { word: self.below(2) as u8, size: 8, index: 0 }
    }

    /// A part of the first word, which is where different sizes meet.
    fn part(&mut self) -> At {
        let size = 1 << self.below(4);
        At { word: self.chance(6) as u8, size, index: self.below((8 / size as u64).min(3)) as u8 }
    }

    fn place(&mut self) -> Place {
        if self.chance(4) { Place::Local } else { Place::Global(self.below(2) as u8) }
    }

    fn buffer(&mut self) -> Buffer {
        let which = if self.chance(5) { 2 } else { self.below(2) as u8 };
        Buffer { which, offset: if self.chance(3) { 4 } else { 0 } }
    }

    /// A buffer other than this one.
    fn other(&mut self, than: Buffer) -> Buffer {
        loop {
            let b = self.buffer();
            if b.which != than.which {
                return b;
            }
        }
    }
}

/// How the threads of a program protect what is not atomic.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    Locked,
    MostlyLocked,
    /// Thread 0 writes and then sets word 1; the others look at it.
    Published,
    Bare,
}

struct Author {
    random: Random,
    family: Family,
    size: usize,
    style: Style,
    /// The number of assertions so far.
    assertions: u32,
}

impl Author {
    /// A part of a word as the family has them. Published programs keep word 1 for the message.
    fn at(&mut self) -> At {
        let mut at = if self.family == Family::SubWord { self.random.part() } else { self.random.word() };
        if self.style == Style::Published {
            at.word = 0;
        }
        at
    }

    fn constant(&mut self, size: u8) -> u64 {
        let all = [0, 1, 2, 0x0101, 0x0100, 0x0001_0001, 0x0100_0001, 0x0101_0101_0101_0101, 1 << 32];
        let value = if size == 1 || self.family != Family::SubWord {
            self.random.below(3)
        } else {
            all[self.random.below(9) as usize]
        };
        if size == 8 { value } else { value & ((1 << (8 * size as u64)) - 1) }
    }

    fn atomic(&mut self) -> Stmt {
        let at = self.at();
        let r = self.random.register();
        let (from, to) =
            (if self.random.chance(2) { 0 } else { self.constant(at.size) }, self.constant(at.size));
        match self.random.below(9) {
            0..=2 => Stmt::Load(at, r),
            3 => Stmt::Store(at, Value::Const(to)),
            4 => Stmt::Store(at, self.random.value()),
            5 => Stmt::Add(at, if self.random.chance(4) { u64::MAX } else { 1 }, r),
            6 => Stmt::Exchange(at, Value::Const(to), r),
            n => Stmt::Cas { at, from, to, weak: n == 7, r },
        }
    }

    fn plain(&mut self) -> Stmt {
        let (variable, r) = (self.random.below(2) as u8, self.random.register());
        match self.random.below(4) {
            0 | 1 => Stmt::Read(variable, r),
            2 => Stmt::Write(variable, self.random.value()),
            _ => Stmt::Bump(variable),
        }
    }

    fn structure(&mut self) -> Stmt {
        let (a, r, v) = (self.random.place(), self.random.register(), 1 + self.random.below(2) as u8);
        let members = (self.size / member_size(self.size)) as u64;
        let i = if self.random.chance(2) { 0 } else { members - 1 } as u8;
        let b = self.random.place();
        match self.random.below(12) {
            0..=2 => Stmt::Sum(a, r),
            3 | 4 => Stmt::Fill(a, v),
            5 if a != b => Stmt::Copy(a, b),
            5..=7 => Stmt::Pass(a, b),
            8 => Stmt::Init(a, v),
            9 => Stmt::Member(a, i, r),
            _ => Stmt::SetMember(a, i, v),
        }
    }

    fn call(&mut self) -> Stmt {
        let random = &mut self.random;
        let a = random.buffer();
        let b = random.other(a);
        let (r, c) = (random.register(), b"1a2"[random.below(3) as usize]);
        let room = BUFFER as u8 - a.offset.max(b.offset);
        let n = [1, 2, 4, 8][random.below(4) as usize].min(room);
        Stmt::Call(match random.below(20) {
            0..=2 => Call::Memcpy(a, b, n),
            // The compiler leaves out a move to the same place.
            3 => {
                let to = random.below(3) as u8;
                Call::Memmove(a.which, to, (to + 1 + random.below(2) as u8) % 3, n.min(4))
            }
            4 => Call::Memset(a, c, n.min(4)),
            5 => Call::Memset(a, 0, n),
            6 => Call::StrcpyLiteral(a, random.below(LITERALS.len() as u64) as u8),
            7 => Call::Strcpy(a, b),
            8 => Call::Strncpy(a, b, n),
            9 => Call::Strcat(a, b),
            10 => Call::Strlen(a, r),
            11 => Call::Strcmp(a, b, r),
            12 => Call::Memcmp(a, b, n, r),
            13 => Call::Strchr(a, c, r),
            14 => Call::Memchr(a, c, n, r),
            15 => Call::Print(a, 1 + random.below(40) as u8, 1 + random.below(4) as u8),
            16 => Call::PrintText(a, b),
            17 => Call::Atoi(a, r),
            18 => Call::Scan(a, r),
            _ => Call::Sort(a, 2 + random.below(3) as u8),
        })
    }

    fn heap(&mut self) -> Stmt {
        let random = &mut self.random;
        let (p, q, word, r) =
            (random.below(2) as u8, random.below(2) as u8, (!random.chance(3)) as u8, random.register());
        let new = if random.chance(2) { Some(q) } else { None };
        match random.below(16) {
            0..=2 => Stmt::New(p),
            3 | 4 => Stmt::Free(p),
            5 | 6 => Stmt::PointerLoad(word, p),
            7 => Stmt::PointerStore(word, new),
            8..=10 => Stmt::PointerExchange(word, new, p),
            11 | 12 => Stmt::PointerCas(word, p, new, r),
            13 | 14 => Stmt::Equal(0, 1, r),
            _ if random.chance(3) => {
                if random.chance(2) {
                    Stmt::Peek(p, r)
                } else {
                    Stmt::Poke(p, 1)
                }
            }
            _ => Stmt::Equal(0, 1, r),
        }
    }

    /// Waits, which stand inside mutex 0.
    fn wait(&mut self) -> Stmt {
        let (timed, r) = (self.random.chance(2), self.random.register());
        if self.random.chance(3) {
            return Stmt::Wait { timed, r };
        }
        let most = if self.random.chance(3) { 0 } else { 1 + self.random.below(3) };
        Stmt::WaitWhile { variable: self.random.below(2) as u8, value: 0, timed, most, r }
    }

    /// Statements that need protection by the style of the program.
    fn unprotected(&mut self) -> Stmt {
        match self.family {
            Family::Structures => self.structure(),
            Family::Library => self.call(),
            _ => self.plain(),
        }
    }

    fn protected(&mut self, t: usize) -> Vec<Stmt> {
        let count = 1 + self.random.chance(3) as usize;
        let body: Vec<Stmt> = (0..count).map(|_| self.unprotected()).collect();
        let lock = |body| vec![Stmt::Critical(0, body)];
        match self.style {
            Style::Locked => lock(body),
            Style::MostlyLocked if !self.random.chance(6) => lock(body),
            Style::Published => {
                let message = At { word: 1, size: 8, index: 0 };
                let volatile = self.family == Family::Volatile;
                if t == 0 {
                    let mut body = body;
                    body.push(match volatile {
                        true => Stmt::WriteFlag(1, Value::Const(1)),
                        false => Stmt::Store(message, Value::Const(1)),
                    });
                    return body;
                }
                let (wait, look) = match volatile {
                    true => (Stmt::PollFlag(1, 1), Stmt::ReadFlag(1, 2)),
                    false => (Stmt::Poll(message, 1, self.random.chance(2)), Stmt::Load(message, 2)),
                };
                if self.random.chance(2) {
                    return [vec![wait], body].concat();
                }
                vec![look, Stmt::If(2, 1, body)]
            }
            _ => body,
        }
    }

    fn waits(&mut self, t: usize) -> Vec<Stmt> {
        let r = self.random.register();
        match self.random.below(13) {
            0..=2 => vec![Stmt::Critical(0, vec![self.wait()])],
            3 | 4 => {
                let write = Stmt::Write(self.random.below(2) as u8, Value::Const(1));
                let notify = if self.random.chance(2) { Stmt::Signal } else { Stmt::Broadcast };
                if self.random.chance(2) {
                    vec![Stmt::Critical(0, vec![write, notify])]
                } else {
                    vec![Stmt::Critical(0, vec![write]), notify]
                }
            }
            5 => {
                let at = self.random.word();
                let most = 1 + self.random.below(3);
                vec![Stmt::CasCounted {
                    at,
                    from: self.random.below(2),
                    to: 1 + self.random.below(2),
                    most,
                    r,
                }]
            }
            6 => vec![Stmt::CasAdd(self.random.word(), 1)],
            7 => vec![Stmt::DownTimed(r)],
            8 => vec![Stmt::DownCounted(1 + self.random.below(3), r)],
            9 => vec![Stmt::Post],
            10 => {
                let body = self.protected(t);
                let body = if body.iter().any(|s| matches!(s, Stmt::Critical(..))) { vec![] } else { body };
                vec![Stmt::TimedCritical(1, r, body)]
            }
            11 if self.random.chance(3) => vec![Stmt::Down],
            11 => self.protected(t),
            _ => vec![self.atomic()],
        }
    }

    fn polling(&mut self, t: usize) -> Vec<Stmt> {
        let (at, r) = (self.at(), self.random.register());
        match self.random.below(8) {
            0 | 1 => vec![Stmt::Poll(at, 1 + self.random.below(2), self.random.chance(2))],
            2 | 3 => {
                let most = 1 + self.random.below(3);
                vec![Stmt::PollCounted { at, value: 1 + self.random.below(2), most, r }]
            }
            4 => vec![Stmt::CasCounted { at, from: 0, to: 1, most: 1 + self.random.below(2), r }],
            5 => self.protected(t),
            _ => vec![self.atomic()],
        }
    }

    fn volatile(&mut self, t: usize) -> Vec<Stmt> {
        // Flag 1 is the message of published programs.
        let flag = if self.style == Style::Published { 0 } else { self.random.below(2) as u8 };
        match self.random.below(8) {
            0 | 1 => vec![Stmt::WriteFlag(flag, self.random.value())],
            2 => vec![Stmt::ReadFlag(flag, self.random.register())],
            3 => vec![Stmt::PollFlag(flag, 1)],
            4..=6 => self.protected(t),
            _ => vec![self.atomic()],
        }
    }

    fn statements(&mut self, t: usize) -> Vec<Stmt> {
        if self.random.chance(10) {
            self.assertions += 1;
            return vec![Stmt::Assert(self.random.register(), 1 + self.random.below(2), self.assertions)];
        }
        let body = match self.family {
            Family::Waits => self.waits(t),
            Family::Polling => self.polling(t),
            Family::Volatile => self.volatile(t),
            Family::Reuse => vec![self.heap()],
            Family::SubWord if self.random.chance(4) => self.protected(t),
            Family::SubWord => vec![self.atomic()],
            Family::Structures | Family::Library if self.random.chance(5) => vec![self.atomic()],
            Family::Structures | Family::Library => self.protected(t),
        };
        if self.random.chance(8) {
            return vec![Stmt::If(self.random.register(), self.random.below(2), body)];
        }
        body
    }

    fn thread(&mut self, t: usize, count: usize) -> Vec<Stmt> {
        let length = match (count, self.family) {
            (2, Family::Reuse) => 3 + self.random.below(4),
            (2, _) => 2 + self.random.below(3),
            (_, Family::Reuse) => 2 + self.random.below(3),
            _ => 1 + self.random.below(2),
        };
        let mut body = vec![];
        // A block that others know of makes reuse visible.
        if self.family == Family::Reuse && t == 0 {
            body.extend([Stmt::New(0), Stmt::PointerStore(1, Some(0))]);
        }
        for _ in 0..length {
            body.extend(self.statements(t));
        }
        body
    }
}

/// The program of this number.
pub(crate) fn program(family: Family, seed: u64) -> Program {
    let mut random = Random(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ family as u64);
    let style = match random.below(6) {
        0 | 1 => Style::Locked,
        2 => Style::MostlyLocked,
        3 | 4 => Style::Published,
        _ => Style::Bare,
    };
    let size = SIZES[random.below(SIZES.len() as u64) as usize];
    let count = 2 + random.chance(4) as usize;
    let mut author = Author { random, family, size, style, assertions: 0 };
    let threads = (0..count).map(|t| author.thread(t, count)).collect();
    Program { family, size, threads }
}

/// All programs with one statement less, or with the body of a statement in its place.
fn smaller(block: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut all = vec![];
    for (i, s) in block.iter().enumerate() {
        let with = |new: Vec<Stmt>| {
            let mut b = block.to_vec();
            b.splice(i..=i, new);
            b
        };
        all.push(with(vec![]));
        let body = match s {
            Stmt::Critical(_, b) | Stmt::TimedCritical(_, _, b) | Stmt::If(_, _, b) => b,
            _ => continue,
        };
        if !body.iter().any(|s| matches!(s, Stmt::Wait { .. } | Stmt::WaitWhile { .. })) {
            all.push(with(body.clone()));
        }
        for b in smaller(body) {
            all.push(with(vec![match s {
                Stmt::Critical(m, _) => Stmt::Critical(*m, b),
                Stmt::TimedCritical(m, r, _) => Stmt::TimedCritical(*m, *r, b),
                Stmt::If(r, v, _) => Stmt::If(*r, *v, b),
                other => other.clone(),
            }]));
        }
    }
    all
}

/// The smallest program reached from this one for which `differs` still holds.
pub(crate) fn shrink(mut program: Program, differs: impl Fn(&Program) -> bool) -> Program {
    'again: loop {
        let mut candidates = vec![];
        for t in 0..program.threads.len() {
            if program.threads.len() > 1 {
                let mut p = program.clone();
                p.threads.remove(t);
                candidates.push(p);
            }
            for b in smaller(&program.threads[t]) {
                let mut p = program.clone();
                p.threads[t] = b;
                candidates.push(p);
            }
        }
        if let Some(at) = SIZES.iter().position(|s| *s == program.size)
            && at > 0
        {
            candidates.push(Program { size: SIZES[at - 1], ..program.clone() });
        }
        for candidate in candidates {
            if differs(&candidate) {
                program = candidate;
                continue 'again;
            }
        }
        return program;
    }
}
