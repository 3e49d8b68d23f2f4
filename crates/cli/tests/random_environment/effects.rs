//! What plain accesses do, by the rules of C: the bytes that a statement reads and writes, and its result.

use crate::program::{BUFFER, Buffer, Call, LITERALS, Place, Stmt, Value, member_size};

/// The bytes that a thread can access: shared variables, flags, structures and buffers, then the thread's own structure and buffer.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) size: usize,
}

impl Layout {
    pub(crate) fn variable(self, v: u8) -> usize {
        8 * v as usize
    }

    pub(crate) fn flag(self, f: u8) -> usize {
        16 + 8 * f as usize
    }

    pub(crate) fn place(self, p: Place) -> usize {
        match p {
            Place::Global(g) => 32 + self.size * g as usize,
            Place::Local => self.shared(),
        }
    }

    fn buffer(self, which: u8) -> usize {
        match which {
            2 => self.shared() + self.size,
            n => 32 + 2 * self.size + BUFFER * n as usize,
        }
    }

    /// Where the thread's own bytes start.
    pub(crate) fn shared(self) -> usize {
        32 + 2 * self.size + 2 * BUFFER
    }

    pub(crate) fn own(self) -> usize {
        self.size + BUFFER
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Effect {
    /// Start and length, and whether every implementation reads these bytes.
    pub(crate) reads: Vec<(usize, usize, bool)>,
    /// Start and new bytes, and whether every implementation writes them.
    pub(crate) writes: Vec<(usize, Vec<u8>, bool)>,
    /// The register, and what it becomes.
    pub(crate) result: Option<(u8, u64)>,
}

impl Effect {
    fn read(&mut self, start: usize, length: usize) {
        self.reads.push((start, length, true));
    }

    fn write(&mut self, start: usize, bytes: Vec<u8>) {
        self.writes.push((start, bytes, true));
    }
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | *b as u64)
}

pub(crate) fn value(v: Value, registers: &[u64]) -> u64 {
    match v {
        Value::Const(c) => c,
        Value::Reg(r) => registers[r as usize],
    }
}

/// The effect of a statement that accesses plain memory; nothing if its behaviour is undefined.
pub(crate) fn effect(s: &Stmt, layout: Layout, view: &[u8], registers: &[u64]) -> Option<Effect> {
    let mut e = Effect::default();
    let size = layout.size;
    let member = |i: u8| {
        let bytes = member_size(size);
        (i as usize % (size / bytes) * bytes, bytes)
    };
    let filled = |v: u8, count: usize| -> Vec<u8> {
        let bytes = member_size(size);
        (0..size).map(|i| if i % bytes == 0 && i / bytes < count { v } else { 0 }).collect()
    };
    match s {
        Stmt::Read(v, r) => {
            e.read(layout.variable(*v), 8);
            e.result = Some((*r, number(&view[layout.variable(*v)..][..8])));
        }
        Stmt::Write(v, n) => e.write(layout.variable(*v), value(*n, registers).to_le_bytes().into()),
        Stmt::Bump(v) => {
            let at = layout.variable(*v);
            e.read(at, 8);
            e.write(at, number(&view[at..][..8]).wrapping_add(1).to_le_bytes().into());
        }
        Stmt::ReadFlag(f, r) => {
            e.read(layout.flag(*f), 8);
            e.result = Some((*r, number(&view[layout.flag(*f)..][..8])));
        }
        Stmt::WriteFlag(f, n) => e.write(layout.flag(*f), value(*n, registers).to_le_bytes().into()),
        Stmt::Fill(p, v) => e.write(layout.place(*p), filled(*v, size)),
        Stmt::Init(p, v) => e.write(layout.place(*p), filled(*v, 1)),
        Stmt::Sum(p, r) => {
            let at = layout.place(*p);
            e.read(at, size);
            let members = view[at..at + size].chunks(member_size(size));
            let sum = members.zip(1..).fold(0u64, |sum, (m, i)| sum.wrapping_add(number(m).wrapping_mul(i)));
            e.result = Some((*r, sum));
        }
        Stmt::Copy(to, from) | Stmt::Pass(to, from) => {
            e.read(layout.place(*from), size);
            e.write(layout.place(*to), view[layout.place(*from)..][..size].into());
        }
        Stmt::Member(p, i, r) => {
            let (offset, bytes) = member(*i);
            let at = layout.place(*p) + offset;
            e.read(at, bytes);
            e.result = Some((*r, number(&view[at..at + bytes])));
        }
        Stmt::SetMember(p, i, v) => {
            let (offset, bytes) = member(*i);
            e.write(layout.place(*p) + offset, (*v as u64).to_le_bytes()[..bytes].into());
        }
        Stmt::Call(c) => return call(*c, layout, view),
        other => unreachable!("{other:?} does not access plain memory"),
    }
    Some(e)
}

/// The effect of a call of a library function.
fn call(c: Call, layout: Layout, view: &[u8]) -> Option<Effect> {
    let mut e = Effect::default();
    let at = |b: Buffer| layout.buffer(b.which) + b.offset as usize;
    let room = |b: Buffer| BUFFER - b.offset as usize;
    let bytes = |b: Buffer, n: usize| &view[at(b)..at(b) + n];
    let text = |b: Buffer| bytes(b, room(b)).split(|c| *c == 0).next();
    // Without its end in the buffer it is not a string.
    let string = |b: Buffer| text(b).filter(|t| t.len() < room(b));
    let with_end = |t: &[u8]| [t, &[0]].concat();
    let sign = |o: std::cmp::Ordering| o as i64 as u64 & 3;
    // A comparison must read up to the first difference, and may read on.
    let compared = |e: &mut Effect, a: Buffer, b: Buffer, x: &[u8], y: &[u8]| {
        let same = x.iter().zip(y).take_while(|(x, y)| x == y).count();
        for (start, length) in [(at(a), x.len()), (at(b), y.len())] {
            e.read(start, length.min(same + 1));
            e.reads.push((start, length, false));
        }
    };
    match c {
        Call::Memcpy(d, s, n) => {
            e.read(at(s), n as usize);
            e.write(at(d), bytes(s, n as usize).into());
        }
        Call::Memmove(which, to, from, n) => {
            let (d, s) = (Buffer { which, offset: to }, Buffer { which, offset: from });
            e.read(at(s), n as usize);
            e.write(at(d), bytes(s, n as usize).into());
        }
        Call::Memset(d, v, n) => e.write(at(d), vec![v; n as usize]),
        Call::StrcpyLiteral(d, l) => e.write(at(d), with_end(LITERALS[l as usize].as_bytes())),
        Call::Strcpy(d, s) => {
            let t = with_end(string(s)?);
            e.read(at(s), t.len());
            e.write(at(d), t);
        }
        Call::Strncpy(d, s, n) => {
            let t = &text(s)?[..text(s)?.len().min(n as usize)];
            e.read(at(s), (t.len() + 1).min(n as usize));
            let mut copied = t.to_vec();
            copied.resize(n as usize, 0);
            e.write(at(d), copied);
        }
        Call::Strcat(d, s) => {
            let (before, t) = (string(d)?, with_end(string(s)?));
            e.read(at(d), before.len() + 1);
            e.read(at(s), t.len());
            if before.len() + t.len() > room(d) {
                return None;
            }
            e.write(at(d) + before.len(), t);
        }
        Call::Strlen(s, r) => {
            e.read(at(s), string(s)?.len() + 1);
            e.result = Some((r, string(s)?.len() as u64));
        }
        Call::Strcmp(a, b, r) => {
            let (x, y) = (with_end(string(a)?), with_end(string(b)?));
            compared(&mut e, a, b, &x, &y);
            e.result = Some((r, sign(x.cmp(&y))));
        }
        Call::Memcmp(a, b, n, r) => {
            let (x, y) = (bytes(a, n as usize), bytes(b, n as usize));
            compared(&mut e, a, b, x, y);
            e.result = Some((r, sign(x.cmp(y))));
        }
        Call::Strchr(s, c, r) => {
            let t = string(s)?;
            let found = t.iter().position(|b| *b == c);
            e.read(at(s), found.unwrap_or(t.len()) + 1);
            e.reads.push((at(s), t.len() + 1, false));
            e.result = Some((r, found.unwrap_or(9) as u64));
        }
        Call::Memchr(s, c, n, r) => {
            let found = bytes(s, n as usize).iter().position(|b| *b == c);
            e.read(at(s), found.map_or(n as usize, |f| f + 1));
            e.reads.push((at(s), n as usize, false));
            e.result = Some((r, found.unwrap_or(9) as u64));
        }
        Call::Print(d, v, n) => {
            let digits = v.to_string();
            e.write(at(d), with_end(&digits.as_bytes()[..digits.len().min(n as usize - 1)]));
        }
        Call::PrintText(d, s) => {
            let t = string(s)?;
            e.read(at(s), t.len() + 1);
            e.write(at(d), with_end(&t[..t.len().min(room(d) - 1)]));
        }
        Call::Atoi(s, r) | Call::Scan(s, r) => {
            let t = string(s)?;
            let digits = t.iter().take_while(|b| b.is_ascii_digit()).count();
            e.read(at(s), digits + 1);
            e.reads.push((at(s), t.len() + 1, false));
            let number = t[..digits].iter().fold(0u64, |n, d| 10 * n + (d - b'0') as u64);
            e.result = (digits > 0 || matches!(c, Call::Atoi(..))).then_some((r, number));
        }
        Call::Sort(d, n) => {
            let before = bytes(d, n as usize);
            let mut after = before.to_vec();
            after.sort_unstable();
            e.read(at(d), n as usize);
            for (i, b) in after.iter().enumerate() {
                e.writes.push((at(d) + i, vec![*b], before[i] != *b));
            }
        }
    }
    let fits = |start: &usize, length: usize| {
        (0..3).any(|w| *start >= layout.buffer(w) && start + length <= layout.buffer(w) + BUFFER)
    };
    e.writes.iter().all(|(start, b, _)| fits(start, b.len())).then_some(e)
}
