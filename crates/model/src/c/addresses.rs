//! Looks at addresses and handles whose result holds for one layout of memory only.
//!
//! Here every object has an address of its own, and every thread a handle. In a run of the compiled program a variable may lie where one
//! lay whose function has returned or whose thread has ended, a thread may have the handle of one that was joined, and which of two
//! objects comes first is open. (Memory of `malloc` that comes back is followed: see [`super::reuse`].) So each operation that can tell
//! is noted, with the places that its operands are read at, and when everything is lowered it is asked which addresses they may be:
//!
//! - two that are compared for equality tell if they may be of two variables or threads of which the one may come after the end of the
//!   other;
//! - order and bits tell, but for the order within an object, bits that alignment says, and tests against null.
//!
//! Which addresses a value may be is followed back through assignments: from place to place for the variables of a thread, all
//! assignments for shared ones. Which variable comes after the end of which is decided by the order in which code is lowered, so a look
//! may be noted that tells nothing. The other way round none is missed, as long as addresses are kept in words of 64 bits.

use super::ctype::ADDRESS;
use super::lower::Lowering;
use crate::program::{AddressUse, LocationId, Program, Scope, ThreadId};
use crate::term::{Binary, Node, Term, Type, VarId};
use lang_c::span::Span;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Where the handles of threads begin, which no other number of a program is.
const HANDLES: u64 = 1 << 44;

/// They are as far apart.
const APART: u64 = 64;

/// Numbers below are no addresses.
const LOWEST: u64 = 4096;

/// The bits that alignment decides.
const ALIGNED: u64 = 15;

/// The handle of a thread.
pub(super) fn handle_of(t: ThreadId) -> u64 {
    HANDLES + APART * (u64::from(t.0) + 1)
}

/// The thread with a handle, if that is one of so many.
pub(super) fn thread_of(handle: u64, threads: usize) -> Option<ThreadId> {
    let n = handle.checked_sub(HANDLES + APART)?;
    (n % APART == 0 && n / APART < threads as u64).then_some(ThreadId((n / APART) as u16))
}

/// How an operation looks at addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum How {
    /// Whether two are equal.
    Equal,
    /// Which pointer is the lower one, or how far apart they are.
    Order,
    /// Which number is.
    Numbers,
    /// An operation on the bits of one.
    Bits(Binary),
    /// A part of the bits.
    Cut,
}

/// Such an operation, and where the values of its operands are.
struct Look {
    span: crate::program::Span,
    at: (ThreadId, LocationId),
    how: How,
    a: Term,
    b: Option<Term>,
}

/// A moment of the lowering, in code that may run again or not.
#[derive(Clone, Copy)]
struct Moment {
    by: ThreadId,
    when: u32,
    again: bool,
}

impl Moment {
    /// Whether this may be before another one of the same thread.
    fn before(self, other: Moment) -> bool {
        self.when < other.when || self.again && other.again
    }
}

/// What is noted while everything is lowered.
#[derive(Default)]
pub(crate) struct Looks {
    list: Vec<Look>,
    now: u32,
    /// Local variables: whose, and when they came to be and were gone.
    born: HashMap<usize, Moment>,
    gone: HashMap<usize, Moment>,
    created: HashMap<u16, Moment>,
    /// Joins, and threads that are detached: which one, if that is known.
    joins: Vec<(Option<ThreadId>, Moment)>,
}

impl Looks {
    /// Whether a thread may be made after another one is gone for good.
    fn follows(&self, gone: ThreadId, new: ThreadId) -> bool {
        let (Some(old), Some(made)) = (self.created.get(&gone.0), self.created.get(&new.0)) else {
            return false;
        };
        if gone == new || made.by == old.by && !old.before(*made) {
            return false;
        }
        self.joins.iter().any(|(which, join)| {
            let early = match self.created.get(&join.by.0) {
                _ if join.by == new => false,
                _ if join.by == made.by => join.before(*made),
                // The joining thread may have been created later.
                Some(who) if who.by == made.by => who.before(*made),
                _ => true,
            };
            let of_it = match which {
                Some(t) => *t == gone,
                None => join.by != gone && (join.by != old.by || old.before(*join)),
            };
            early && of_it
        })
    }

    /// Whether one local variable may come to be after another one is gone.
    fn comes_after(&self, gone: usize, new: usize) -> bool {
        let (Some(old), Some(born)) = (self.born.get(&gone), self.born.get(&new)) else { return false };
        if old.by != born.by {
            return self.follows(old.by, born.by);
        }
        self.gone.get(&gone).is_some_and(|end| end.before(*born))
    }
}

/// The object that an address belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    Object(usize),
    Thread(ThreadId),
}

impl<'a> Lowering<'a> {
    fn moment(&mut self) -> Moment {
        self.looks.now += 1;
        Moment { by: self.t, when: self.looks.now, again: self.may_come_again() }
    }

    /// An operation may look at addresses.
    pub(super) fn look(&mut self, how: How, a: Term, b: Option<Term>, span: Span) {
        if self.dead || self.looking || b == Some(a) {
            return;
        }
        let small = |t: Term| self.b.program().terms.as_const(t).is_some_and(|c| c < LOWEST);
        let never = match how {
            How::Bits(op) => op != Binary::And && small(a),
            How::Cut => small(a),
            _ => small(a) || b.is_some_and(small),
        };
        if never {
            return;
        }
        let span = self.span(span);
        let at = (self.t, self.b.here(self.t));
        self.looks.list.push(Look { span, at, how, a, b });
    }

    /// A local variable comes to be.
    pub(super) fn note_born(&mut self, object: usize) {
        let now = self.moment();
        self.looks.born.entry(object).or_insert(now);
    }

    /// The variables with these flags are gone.
    pub(super) fn note_gone(&mut self, flags: &[VarId]) {
        let now = self.moment();
        for (object, flag) in &self.gone {
            if flags.contains(flag) {
                self.looks.gone.entry(*object).or_insert(now);
            }
        }
    }

    /// A thread is made.
    pub(super) fn note_created(&mut self, t: ThreadId) {
        let now = self.moment();
        self.looks.created.insert(t.0, now);
    }

    /// A thread is joined, or detached, after which another one may have its handle and its stack.
    pub(super) fn note_joined(&mut self, which: Option<ThreadId>) {
        let now = self.moment();
        self.looks.joins.push((which, now));
    }

    /// Says of the program which operations look at addresses.
    pub(crate) fn tell_looks(&mut self) {
        let list = std::mem::take(&mut self.looks.list);
        let flow = Flow::of(self);
        let told: Vec<_> = list.iter().filter_map(|l| Some((l.span, flow.tells(l)?))).collect();
        for (span, what) in told {
            self.b.note_address_use(span, what);
        }
    }
}

/// Where values come from.
struct Flow<'l> {
    program: &'l Program,
    looks: &'l Looks,
    /// Where objects are, in order.
    objects: Vec<(u64, u64, usize)>,
    /// By thread and location: the transitions that lead there.
    into: Vec<Vec<Vec<usize>>>,
    /// By variable: who assigns it, by which transition, and what.
    assigned: HashMap<VarId, Vec<(ThreadId, usize, Term)>>,
    /// The variables that may hold addresses or handles at all.
    holders: HashSet<VarId>,
}

type At = (ThreadId, LocationId);

impl<'l> Flow<'l> {
    fn of(me: &'l Lowering<'_>) -> Flow<'l> {
        let program = me.b.program();
        let mut assigned: HashMap<VarId, Vec<(ThreadId, usize, Term)>> = HashMap::new();
        let mut into = Vec::new();
        for t in program.thread_ids() {
            let thread = program.thread(t);
            let mut here = vec![Vec::new(); thread.locations.len()];
            for (n, e) in thread.transitions.iter().enumerate() {
                here[e.to.index()].push(n);
                for a in &e.assigns {
                    assigned.entry(a.place.var).or_default().push((t, n, a.value));
                }
            }
            into.push(here);
        }
        let mut objects: Vec<_> =
            me.objects.iter().enumerate().map(|(n, o)| (o.base, o.base + o.size, n)).collect();
        objects.sort_unstable();
        let mut flow = Flow { program, looks: &me.looks, objects, into, assigned, holders: HashSet::new() };
        flow.find_holders();
        flow
    }

    fn find_holders(&mut self) {
        let mut uses: HashMap<VarId, Vec<VarId>> = HashMap::new();
        let mut open = Vec::new();
        for (n, v) in self.program.vars.iter().enumerate() {
            if v.init.iter().any(|n| self.origin(*n).is_some()) {
                open.push(VarId(n as u32));
            }
        }
        let mut known = HashMap::new();
        for (v, list) in &self.assigned {
            for (.., value) in list {
                let (address, parts) = known.entry(*value).or_insert_with(|| self.parts(*value));
                if *address {
                    open.push(*v);
                }
                parts.iter().for_each(|part| uses.entry(*part).or_default().push(*v));
            }
        }
        while let Some(v) = open.pop() {
            if self.holders.insert(v) {
                open.extend(uses.remove(&v).unwrap_or_default());
            }
        }
    }

    /// Whether an address or a handle stands in a term, and the variables that do.
    fn parts(&self, term: Term) -> (bool, HashSet<VarId>) {
        let (mut address, mut out) = (false, HashSet::new());
        let (mut open, mut seen) = (vec![term], HashSet::new());
        while let Some(t) = open.pop() {
            if !seen.insert(t) {
                continue;
            }
            match self.program.terms.node(t) {
                Node::Const(n, ty) => address |= ty.bits == ADDRESS.bits && self.origin(n).is_some(),
                Node::Var(v, _) | Node::Cell(v, ..) => drop(out.insert(v)),
                Node::Unary(_, a) | Node::Cast(_, a) => open.push(a),
                Node::Binary(op, ..) if op.is_comparison() => {}
                Node::Binary(_, a, b) | Node::Ite(_, a, b) => open.extend([a, b]),
            }
        }
        (address, out)
    }

    /// Whether a term may be an address or a handle at all.
    fn may_hold(&self, term: Term) -> bool {
        let (address, parts) = self.parts(term);
        address || parts.iter().any(|v| self.holders.contains(v))
    }

    /// The result of an operation that depends on the memory layout.
    fn tells(&self, look: &Look) -> Option<AddressUse> {
        if !self.may_hold(look.a) && !look.b.is_some_and(|b| self.may_hold(b)) {
            return None;
        }
        let a = self.origins(look.a, look.at, 0);
        let b = look.b.map(|b| self.origins(b, look.at, 0)).unwrap_or_default();
        let is_thread = |o: &Origin| matches!(o, Origin::Thread(_));
        let value = match a.iter().chain(&b).any(is_thread) {
            true => AddressUse::Handle,
            false => AddressUse::Value,
        };
        let pairs = || a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y))).filter(|(x, y)| x != y);
        match look.how {
            How::Equal => pairs().find_map(|(x, y)| match (x, y) {
                (Origin::Thread(s), Origin::Thread(t)) => {
                    let may = self.looks.follows(s, t) || self.looks.follows(t, s);
                    may.then_some(AddressUse::Handle)
                }
                (Origin::Object(x), Origin::Object(y)) => {
                    let may = self.looks.comes_after(x, y) || self.looks.comes_after(y, x);
                    may.then_some(AddressUse::Local)
                }
                _ => None,
            }),
            How::Order => pairs().next().map(|_| value),
            How::Numbers => {
                let one_sided = a.is_empty() != b.is_empty();
                (one_sided || pairs().next().is_some()).then_some(value)
            }
            How::Bits(op) => {
                let number = |t: Option<Term>| t.and_then(|t| self.program.terms.as_const(t));
                let fine = |n: u64| match op {
                    Binary::Rem => n.is_power_of_two() && n <= ALIGNED + 1,
                    Binary::And => n <= ALIGNED || !n <= ALIGNED,
                    _ => false,
                };
                let known = if a.is_empty() { number(Some(look.a)) } else { number(look.b) };
                let some = !a.is_empty() || op == Binary::And && !b.is_empty();
                (some && !known.is_some_and(fine)).then_some(value)
            }
            How::Cut => (!a.is_empty()).then_some(value),
        }
    }

    /// The object or thread whose address or handle a number is.
    fn origin(&self, n: u64) -> Option<Origin> {
        if let Some(t) = thread_of(n, self.program.threads.len()) {
            return Some(Origin::Thread(t));
        }
        // Objects are 16 bytes or more apart: the place just behind one is its own, and so is one shortly before it.
        let next = self.objects.partition_point(|o| o.0 <= n.saturating_add(ALIGNED));
        let (_, end, object) = *self.objects.get(next.checked_sub(1)?)?;
        if n <= end {
            return Some(Origin::Object(object));
        }
        None
    }

    /// The objects and threads whose address or handle the value of a term at a place may be.
    fn origins(&self, term: Term, at: At, depth: u32) -> BTreeSet<Origin> {
        let mut walk = Walk::default();
        walk.terms.push((term, at));
        loop {
            if let Some((term, at)) = walk.terms.pop() {
                if walk.seen_terms.insert((term, at)) {
                    self.follow(term, at, depth, &mut walk);
                }
            } else if let Some((v, (t, l))) = walk.locals.pop() {
                self.back(v, t, l, &mut walk);
            } else {
                return walk.found;
            }
        }
    }

    fn follow(&self, term: Term, at: At, depth: u32, walk: &mut Walk) {
        let terms = &self.program.terms;
        match terms.node(term) {
            Node::Const(n, ty) if ty.bits == ADDRESS.bits => walk.found.extend(self.origin(n)),
            Node::Const(..) => {}
            Node::Var(v, _) | Node::Cell(v, ..) => self.variable(v, at, walk),
            Node::Unary(_, a) => walk.terms.push((a, at)),
            Node::Ite(_, a, b) => walk.terms.extend([(a, at), (b, at)]),
            Node::Cast(ty, a) if ty.bits == ADDRESS.bits => walk.terms.push((a, at)),
            Node::Cast(..) => {}
            Node::Binary(Binary::Sub, a, b) => {
                // How far it is from one address to another is none.
                let apart = depth < 4
                    && terms.as_const(b).is_none_or(|n| self.origin(n).is_some())
                    && !self.origins(b, at, depth + 1).is_empty()
                    && !self.origins(a, at, depth + 1).is_empty();
                if !apart {
                    walk.terms.extend([(a, at), (b, at)]);
                }
            }
            Node::Binary(Binary::Add | Binary::And | Binary::Or | Binary::Xor, a, b) => {
                walk.terms.extend([(a, at), (b, at)]);
            }
            // What these tell of an address is told where they are.
            Node::Binary(..) => {}
        }
    }

    fn variable(&self, v: VarId, at: At, walk: &mut Walk) {
        let var = self.program.var(v);
        if var.internal || var.ty.bits != ADDRESS.bits || !self.holders.contains(&v) {
            return;
        }
        if var.scope == Scope::Local(at.0) {
            if walk.seen_locals.insert((v, at)) {
                walk.locals.push((v, at));
            }
        } else if walk.seen_shared.insert(v) {
            self.begins(v, walk);
            for (t, n, value) in self.assigned.get(&v).into_iter().flatten() {
                let from = self.program.thread(*t).transitions[*n].from;
                walk.terms.push((*value, (*t, from)));
            }
        }
    }

    /// The values that a variable has at the start.
    fn begins(&self, v: VarId, walk: &mut Walk) {
        walk.found.extend(self.program.var(v).init.iter().filter_map(|n| self.origin(*n)));
    }

    /// One step back from where a variable of a thread is read.
    fn back(&self, v: VarId, t: ThreadId, l: LocationId, walk: &mut Walk) {
        let thread = self.program.thread(t);
        if l == thread.entry {
            self.begins(v, walk);
            // The creating thread determines the argument.
            for (by, n, value) in self.assigned.get(&v).into_iter().flatten().filter(|a| a.0 != t) {
                let from = self.program.thread(*by).transitions[*n].from;
                walk.terms.push((*value, (*by, from)));
            }
        }
        for n in &self.into[t.index()][l.index()] {
            let e = &thread.transitions[*n];
            let mut over = e.havoc.iter().any(|q| q.var == v && q.index.is_none());
            for a in e.assigns.iter().filter(|a| a.place.var == v) {
                walk.terms.push((a.value, (t, e.from)));
                over |= a.place.index.is_none();
            }
            if !over && walk.seen_locals.insert((v, (t, e.from))) {
                walk.locals.push((v, (t, e.from)));
            }
        }
    }
}

/// What is still to be followed, and what was.
#[derive(Default)]
struct Walk {
    terms: Vec<(Term, At)>,
    locals: Vec<(VarId, At)>,
    seen_terms: HashSet<(Term, At)>,
    seen_locals: HashSet<(VarId, At)>,
    seen_shared: HashSet<VarId>,
    found: BTreeSet<Origin>,
}

/// Whether a conversion leaves out a part of an address.
pub(super) fn cuts(from: Type, to: Type) -> bool {
    from.bits == ADDRESS.bits && to.bits < ADDRESS.bits && to != Type::BOOL
}
