//! Terms as code: what a search evaluates at every step is translated once.
//!
//! A term becomes instructions for a word at hand and a stack of others. What a term means is said by [`Terms::eval`]; this is the same,
//! faster. Terms whose parts are shared so often that they would be too long as code are left as they are.
//!
//! A guard is split at its *and*s: into what the locals of a thread decide, what they may decide, and what they never do.

use crate::program::{Program, Thread, Transition};
use crate::state::Interpreter;
use crate::term::{Binary, Node, Place, Term, Type, Unary, VarId, apply_binary, apply_unary, convert};

/// The longest code of a term.
const LONGEST: usize = 4096;

#[derive(Clone, Copy)]
enum Ins {
    /// Lays the word at hand on the stack and takes this one.
    Const(u64),
    /// The same with the value of a cell.
    Load(u32),
    /// The word at hand is an index: the value of that cell, 0 past the end.
    LoadAt {
        base: u32,
        len: u32,
    },
    Unary(Unary, Type),
    /// With the word from the stack on the left.
    Binary(Binary, Type),
    /// With a constant on the right.
    WithConst(Binary, Type, u32),
    /// With the value of a cell on the right.
    WithCell(Binary, Type, u32),
    Mask(Type),
    Cast(Type, Type),
    /// If the word at hand is 0, goes on so many instructions further; takes a word from the stack.
    Unless(u32),
    Skip(u32),
}

/// How to come by the value of a term.
#[derive(Clone, Copy)]
pub(crate) enum Code {
    Const(u64),
    Cell(u32),
    Run {
        from: u32,
        to: u32,
    },
    /// Too long.
    Term(Term),
}

/// Where a place is.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Cell(u32),
    /// A cell of an array, with the code of its index.
    At {
        base: u32,
        len: u32,
        index: Code,
    },
}

/// When an edge can be taken: all of these hold.
#[derive(Default)]
pub(crate) struct Guard {
    /// What the thread knows by itself.
    pub(crate) local: Vec<Code>,
    /// What it may know.
    maybe: Vec<Term>,
    /// There is more, which it does not know.
    never: bool,
    /// All but what is in `local`.
    pub(crate) rest: Vec<Code>,
}

/// What an edge does.
pub(crate) struct Effect {
    assigns: Vec<(Target, Code)>,
    /// Where each input goes, and the bits that it may have.
    havoc: Vec<(Option<Target>, u64)>,
}

/// What evaluating needs besides, kept so that it is not made anew each time.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) stack: Vec<u64>,
    written: Vec<(usize, u64)>,
}

/// The code of a program. What it is evaluated in are the values of [`crate::State`].
pub(crate) struct Codes<'p> {
    interpreter: Interpreter<'p>,
    code: Vec<Ins>,
}

/// What can be known of a term whose shared variables are not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Always,
    Perhaps,
    Never,
}

impl<'p> Codes<'p> {
    pub(crate) fn new(program: &'p Program) -> Codes<'p> {
        Codes { interpreter: Interpreter::new(program), code: Vec::new() }
    }

    fn program(&self) -> &'p Program {
        self.interpreter.program()
    }

    /// The code of a term.
    pub(crate) fn of(&mut self, t: Term) -> Code {
        let from = self.code.len();
        if !self.emit(t, from + LONGEST) {
            self.code.truncate(from);
            return Code::Term(t);
        }
        let code = match self.code[from..] {
            [Ins::Const(v)] => Code::Const(v),
            [Ins::Load(c)] => Code::Cell(c),
            _ => return Code::Run { from: from as u32, to: self.code.len() as u32 },
        };
        self.code.truncate(from);
        code
    }

    fn emit(&mut self, t: Term, end: usize) -> bool {
        if self.code.len() >= end {
            return false;
        }
        let p = self.program();
        let put = |s: &mut Self, i: Ins| {
            s.code.push(i);
            true
        };
        match p.terms.node(t) {
            Node::Const(v, _) => put(self, Ins::Const(v)),
            Node::Var(v, ty) => {
                match self.interpreter.cell(v, 0) {
                    Some(c) => put(self, Ins::Load(c as u32)),
                    None => put(self, Ins::Const(0)),
                };
                self.cut(v, ty)
            }
            Node::Cell(v, i, ty) => {
                let (base, len) = self.extent(v);
                let read = match p.terms.as_const(i) {
                    Some(i) if i < u64::from(len) => put(self, Ins::Load(base + i as u32)),
                    Some(_) => put(self, Ins::Const(0)),
                    None => self.emit(i, end) && put(self, Ins::LoadAt { base, len }),
                };
                read && self.cut(v, ty)
            }
            Node::Unary(op, a) => self.emit(a, end) && put(self, Ins::Unary(op, p.terms.ty(a))),
            Node::Binary(op, a, b) => {
                let ty = p.terms.ty(a);
                if !self.emit(a, end) {
                    return false;
                }
                let from = self.code.len();
                if !self.emit(b, end) {
                    return false;
                }
                let ins = match self.code[from..] {
                    [Ins::Const(v)] if v <= u64::from(u32::MAX) => Ins::WithConst(op, ty, v as u32),
                    [Ins::Load(c)] => Ins::WithCell(op, ty, c),
                    _ => return put(self, Ins::Binary(op, ty)),
                };
                self.code.truncate(from);
                put(self, ins)
            }
            Node::Ite(c, a, b) => {
                if !self.emit(c, end) {
                    return false;
                }
                let unless = self.code.len();
                put(self, Ins::Unless(0));
                if !self.emit(a, end) {
                    return false;
                }
                let skip = self.code.len();
                put(self, Ins::Skip(0));
                if !self.emit(b, end) {
                    return false;
                }
                self.code[unless] = Ins::Unless((skip + 1 - unless) as u32);
                self.code[skip] = Ins::Skip((self.code.len() - skip) as u32);
                true
            }
            Node::Cast(to, a) => self.emit(a, end) && put(self, Ins::Cast(p.terms.ty(a), to)),
        }
    }

    /// A variable that is read as another type than its own is cut to that.
    fn cut(&mut self, v: VarId, ty: Type) -> bool {
        if self.program().var(v).ty != ty {
            self.code.push(Ins::Mask(ty));
        }
        true
    }

    /// The first cell of a variable, and how many it has.
    fn extent(&self, v: VarId) -> (u32, u32) {
        let base = self.interpreter.cell(v, 0).unwrap_or(0);
        (base as u32, self.program().var(v).cells() as u32)
    }

    /// Where a place is; `None` if it is past the end of its array.
    pub(crate) fn target(&mut self, q: Place) -> Option<Target> {
        let (base, len) = self.extent(q.var);
        let index = q.index.map_or(Code::Const(0), |i| self.of(i));
        match index {
            Code::Const(i) => (i < u64::from(len)).then_some(Target::Cell(base + i as u32)),
            index => Some(Target::At { base, len, index }),
        }
    }

    /// The guard of an edge.
    pub(crate) fn guard(&mut self, thread: &Thread, e: &Transition) -> Guard {
        let (mut guard, mut left) = (Guard::default(), vec![e.guard]);
        while let Some(t) = left.pop() {
            match self.program().terms.node(t) {
                Node::Binary(Binary::And, a, b) if left.len() < LONGEST => left.extend([b, a]),
                Node::Const(1, _) => {}
                _ => {
                    let known = self.known(thread, t, &mut LONGEST.clone());
                    match known {
                        Known::Always => guard.local.push(self.of(t)),
                        Known::Perhaps => guard.maybe.push(t),
                        Known::Never => guard.never = true,
                    }
                    if known != Known::Always {
                        guard.rest.push(self.of(t));
                    }
                }
            }
        }
        guard
    }

    /// What an edge does.
    pub(crate) fn effect(&mut self, e: &Transition) -> Effect {
        let assigns = e.assigns.iter().filter_map(|a| {
            let to = self.target(a.place)?;
            Some((to, self.of(a.value)))
        });
        let assigns = assigns.collect();
        let havoc = e.havoc.iter().map(|q| (self.target(*q), self.program().var(q.var).ty.mask())).collect();
        Effect { assigns, havoc }
    }

    /// Does it: everything is read before anything is written.
    #[inline]
    pub(crate) fn apply(&self, effect: &Effect, inputs: &[u64], values: &mut [u64], scratch: &mut Scratch) {
        let Scratch { stack, written } = scratch;
        for (to, value) in &effect.assigns {
            if let Some(c) = self.cell(*to, values, stack) {
                written.push((c, self.eval(*value, values, stack)));
            }
        }
        for ((to, mask), value) in effect.havoc.iter().zip(inputs) {
            if let Some(c) = to.and_then(|to| self.cell(to, values, stack)) {
                written.push((c, value & mask));
            }
        }
        written.drain(..).for_each(|(c, value)| values[c] = value);
    }

    /// Whether the value of a term is known where shared variables are not, but for the thread's own life. Of a term that is too long it
    /// may be.
    fn known(&self, thread: &Thread, t: Term, left: &mut usize) -> Known {
        use Known::*;
        let p = self.program();
        if *left == 0 {
            return Perhaps;
        }
        *left -= 1;
        let shared = |v: VarId| p.var(v).is_shared() && thread.life != Some(v);
        match p.terms.node(t) {
            Node::Const(..) => Always,
            Node::Var(v, _) | Node::Cell(v, ..) if shared(v) => Never,
            Node::Var(..) => Always,
            Node::Cell(_, a, _) | Node::Unary(_, a) | Node::Cast(_, a) => self.known(thread, a, left),
            Node::Binary(op, a, b) => {
                let (ka, kb) = (self.known(thread, a, left), self.known(thread, b, left));
                let decides = |t: Term, known: Known| {
                    let other = if op == Binary::And { 0 } else { p.terms.ty(t).mask() };
                    known != Never && p.terms.as_const(t).is_none_or(|v| v == other)
                };
                match (ka, kb) {
                    (Always, Always) => Always,
                    (Never, Never) => Never,
                    _ if matches!(op, Binary::And | Binary::Or) && (decides(a, ka) || decides(b, kb)) => {
                        Perhaps
                    }
                    (Never, _) | (_, Never) => Never,
                    _ => Perhaps,
                }
            }
            Node::Ite(c, a, b) => {
                let parts = [c, a, b].map(|t| self.known(thread, t, left));
                match parts {
                    [Always, Always, Always] => Always,
                    [_, Never, Never] => Never,
                    [Never, Never, _] | [Never, _, Never] => Never,
                    _ => Perhaps,
                }
            }
        }
    }

    /// The value that code has where cells have these values.
    #[inline]
    pub(crate) fn eval(&self, code: Code, values: &[u64], stack: &mut Vec<u64>) -> u64 {
        match code {
            Code::Const(v) => v,
            Code::Cell(c) => values[c as usize],
            Code::Run { from, to } => run(&self.code[from as usize..to as usize], values, stack),
            Code::Term(t) => {
                let read = &mut |v, i| self.interpreter.cell(v, i).map_or(0, |c| values[c]);
                self.program().terms.eval(t, read)
            }
        }
    }

    /// The cell that a target is.
    #[inline]
    pub(crate) fn cell(&self, target: Target, values: &[u64], stack: &mut Vec<u64>) -> Option<usize> {
        match target {
            Target::Cell(c) => Some(c as usize),
            Target::At { base, len, index } => {
                let i = self.eval(index, values, stack);
                (i < u64::from(len)).then(|| base as usize + i as usize)
            }
        }
    }

    /// Whether all of these are true.
    #[inline]
    pub(crate) fn all(&self, parts: &[Code], values: &[u64], stack: &mut Vec<u64>) -> bool {
        parts.iter().all(|c| self.eval(*c, values, stack) != 0)
    }

    /// The value of a guard when nothing shared is known but that the thread was made.
    #[inline]
    pub(crate) fn locally(
        &self,
        thread: &Thread,
        guard: &Guard,
        values: &[u64],
        stack: &mut Vec<u64>,
    ) -> Option<bool> {
        if !self.all(&guard.local, values, stack) {
            return Some(false);
        }
        let mut sure = !guard.never;
        for t in &guard.maybe {
            match self.partly(thread, *t, values) {
                Some(0) => return Some(false),
                Some(_) => {}
                None => sure = false,
            }
        }
        sure.then_some(true)
    }

    fn partly(&self, thread: &Thread, t: Term, values: &[u64]) -> Option<u64> {
        let p = self.program();
        let read = &mut |v: VarId, i: u64| {
            if Some(v) == thread.life {
                return Some(Thread::ALIVE);
            }
            (!p.var(v).is_shared()).then(|| self.interpreter.cell(v, i).map_or(0, |c| values[c]))
        };
        p.terms.eval_partly(t, read)
    }
}

fn run(code: &[Ins], values: &[u64], stack: &mut Vec<u64>) -> u64 {
    stack.clear();
    // Nothing is at hand at first that would have to be laid on the stack.
    let (mut at, mut word) = match code.first() {
        Some(Ins::Const(v)) => (1, *v),
        Some(Ins::Load(c)) => (1, values[*c as usize]),
        _ => (0, 0),
    };
    while let Some(ins) = code.get(at) {
        at += 1;
        match *ins {
            Ins::Const(v) => {
                stack.push(word);
                word = v;
            }
            Ins::Load(c) => {
                stack.push(word);
                word = values[c as usize];
            }
            Ins::LoadAt { base, len } => {
                word = if word < u64::from(len) { values[base as usize + word as usize] } else { 0 };
            }
            Ins::Unary(op, ty) => word = apply_unary(op, word, ty),
            Ins::Binary(op, ty) => word = apply_binary(op, stack.pop().unwrap_or(0), word, ty),
            Ins::WithConst(op, ty, v) => word = apply_binary(op, word, u64::from(v), ty),
            Ins::WithCell(op, ty, c) => word = apply_binary(op, word, values[c as usize], ty),
            Ins::Mask(ty) => word &= ty.mask(),
            Ins::Cast(from, to) => word = convert(word, from, to),
            Ins::Unless(n) => {
                let zero = word == 0;
                word = stack.pop().unwrap_or(0);
                if zero {
                    at += n as usize - 1;
                }
            }
            Ins::Skip(n) => at += n as usize - 1,
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Builder;

    /// A sequence of numbers that look random.
    fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut x = seed;
        move |n| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x % n
        }
    }

    #[test]
    fn code_and_guards_mean_what_their_terms_mean() {
        let mut b = Builder::new();
        let t = b.thread("A");
        let types = [Type::BOOL, Type::INT, Type::UINT, Type::signed(8), Type::unsigned(64)];
        let mut vars = Vec::new();
        for (i, ty) in types.iter().enumerate() {
            vars.push((b.shared(&format!("s{i}"), *ty, 0), *ty));
            vars.push((b.local(t, &format!("l{i}"), *ty, 0), *ty));
        }
        let list = b.shared_array("list", Type::INT, &[5, -1, 7]);
        let mut draw = numbers(88_172_645_463_325_252);
        let mut terms: Vec<Term> = Vec::new();
        for (v, ty) in &vars {
            terms.push(b.terms().var(*v, *ty));
        }
        for v in [0, 1, 2, 3, u64::MAX] {
            terms.extend(types.map(|ty| b.terms().constant(v & ty.mask(), ty)));
        }
        for _ in 0..4000 {
            let a = terms[draw(terms.len() as u64) as usize];
            let ty = b.terms().ty(a);
            let same: Vec<Term> = terms.iter().copied().filter(|t| b.terms().ty(*t) == ty).collect();
            let other = same[draw(same.len() as u64) as usize];
            let truths: Vec<Term> =
                terms.iter().copied().filter(|t| b.terms().ty(*t) == Type::BOOL).collect();
            let made = match draw(6) {
                0 => {
                    let op = [Unary::Not, Unary::Neg][draw(2) as usize];
                    b.terms().unary(op, a)
                }
                1 => {
                    let c = truths[draw(truths.len() as u64) as usize];
                    b.terms().ite(c, a, other)
                }
                2 => b.terms().cast(types[draw(5) as usize], a),
                3 => b.terms().cell(list, a, Type::INT),
                _ => {
                    let op = Binary::ALL[draw(Binary::ALL.len() as u64) as usize];
                    b.terms().binary(op, a, other)
                }
            };
            terms.push(made);
        }
        let truths: Vec<Term> = terms.iter().copied().filter(|t| b.terms().ty(*t) == Type::BOOL).collect();
        for g in &truths {
            b.assume(t, *g);
        }
        let p = b.finish();
        let thread = p.thread(t);
        let mut codes = Codes::new(&p);
        let all: Vec<(Term, Code)> = terms.iter().map(|t| (*t, codes.of(*t))).collect();
        let guards: Vec<(&Transition, Guard)> =
            thread.transitions.iter().map(|e| (e, codes.guard(thread, e))).collect();
        assert!(guards.iter().any(|g| !g.1.maybe.is_empty()) && guards.iter().any(|g| g.1.never));
        let interpreter = Interpreter::new(&p);
        let mut state = interpreter.initial();
        let mut stack = Vec::new();
        for _ in 0..20 {
            for (v, ty) in &vars {
                let value = if draw(2) == 0 { draw(3) } else { draw(u64::MAX) };
                state.values[interpreter.cell(*v, 0).unwrap()] = value & ty.mask();
            }
            for (t, c) in all.iter().filter(|c| !matches!(c.1, Code::Term(_))) {
                assert_eq!(codes.eval(*c, &state.values, &mut stack), interpreter.eval(&state, *t));
            }
            for (e, g) in guards.iter().filter(|g| !g.1.rest.iter().any(|c| matches!(c, Code::Term(_)))) {
                let known = codes.locally(thread, g, &state.values, &mut stack);
                let expected = codes.partly(thread, e.guard, &state.values).map(|v| v != 0);
                assert_eq!(known, expected);
                let holds = known != Some(false) && codes.all(&g.rest, &state.values, &mut stack);
                assert_eq!(holds, interpreter.holds(&state, e));
            }
        }
    }

    #[test]
    fn a_term_whose_parts_are_shared_too_often_is_left_as_it_is() {
        let mut b = Builder::new();
        let t = b.thread("A");
        let x = b.local(t, "x", Type::UINT, 0);
        let mut long = b.terms().var(x, Type::UINT);
        for _ in 0..100 {
            let square = b.terms().binary(Binary::Mul, long, long);
            long = b.terms().add(square, long);
        }
        let p = b.finish();
        let mut codes = Codes::new(&p);
        assert!(matches!(codes.of(long), Code::Term(_)));
        assert!(codes.code.is_empty());
        assert!(codes.known(p.thread(t), long, &mut LONGEST.clone()) == Known::Perhaps);
    }
}
