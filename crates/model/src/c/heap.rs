//! Objects that are there before the code that makes them is lowered, and those of `malloc`.
//!
//! A thread that is lowered first may follow a pointer to an object of one that is lowered later. So the objects that a pointer may
//! point to are noted, and made at the very start when everything is lowered again: until none comes to them.
//!
//! Each call of `malloc` that is lowered has objects of its own: one, or a few where it is in a loop. A run that asks for more goes
//! beyond a bound. The memory never runs out. What is given back may not be used again: where a program calls `free` every access
//! through a pointer looks whether the object is still there. Nobody can give it back between that look and the access without a
//! run in which it is given back before the look.
//!
//! An address may come back: where a program gives memory back and compares pointers with more than null (see [`super::reuse`]), a
//! call of `malloc` has a choice between its own object and any of the same type that was given back.

use super::ctype::{ADDRESS, CType};
use super::expr::Value;
use super::lower::{Lowering, Res};
use super::reuse::Compared;
use crate::program::{ErrorKind, Order, Scope, SyncId};
use crate::term::{Place, Term, Type, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::collections::BTreeSet;
use std::rc::Rc;

/// An object that pointers may point to: which one, and what it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Early {
    /// The thread whose code makes it, the place of that code, and the how manieth time it is lowered.
    key: Key,
    name: String,
    ctype: CType,
    span: Span,
    /// Whether it is of `malloc`.
    heap: bool,
    /// Whether it may be gone while somebody has its address.
    ends: bool,
}

type Key = (u16, usize, u32);

/// What is known of such objects.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// As far as was known before.
    before: Vec<Early>,
    /// What this time came up.
    pub(crate) now: Vec<Early>,
    /// Those that were made at the start.
    made: Vec<(Key, CType, usize)>,
    counts: std::collections::HashMap<(u16, usize), u32>,
    /// Objects of `malloc`, each with the variable that says whether it was given back.
    pub(super) heap: Vec<(usize, Option<VarId>)>,
    /// Whether addresses are compared so that one that comes back is seen: as far as was known before, and whether that came up.
    pub(crate) compared: Compared,
    pub(crate) compares: Compared,
    /// The threads that give memory back: as far as was known before, and so far.
    pub(crate) gave: BTreeSet<u16>,
    pub(crate) gives: BTreeSet<u16>,
    /// How many structures are not declared in a function.
    structs: usize,
}

impl Noted {
    pub(crate) fn new(before: &[Early]) -> Noted {
        Noted { before: before.to_vec(), ..Noted::default() }
    }
}

impl<'a> Lowering<'a> {
    /// Makes the objects that are known from before.
    pub(crate) fn make_early(&mut self) -> Res<()> {
        let structs = self.structs.len();
        self.noted.structs = structs;
        for e in std::mem::take(&mut self.noted.before) {
            // A structure that a function declares has another number each time.
            if !e.ctype.is_of(structs) {
                continue;
            }
            let object = self.object(&e.name, &e.ctype, Scope::Shared, e.span)?;
            self.declared_at.resize(object + 1, usize::MAX);
            self.declared_at[object] = e.key.1;
            if e.key.1 >= super::aggregate::TEXTS {
                Self::leaves(&self.objects[object].shape.clone(), 0, &mut |v, _, _| {
                    self.read_only.insert(v);
                });
            }
            self.noted.made.push((e.key, e.ctype.clone(), object));
            if e.heap {
                self.note_heap(&e.name, object);
            }
            if e.ends {
                self.make_flag(object, &e.name);
            }
        }
        Ok(())
    }

    fn note_heap(&mut self, name: &str, object: usize) {
        let freed = self.frees.then(|| self.b.shared(&format!("{name}.freed"), Type::BOOL, 0));
        if let Some(freed) = freed.filter(|_| self.noted.compared.any()) {
            // Who asks for memory looks at what others have.
            self.b.set_declared_atomic(freed);
        }
        self.noted.heap.push((object, freed));
    }

    /// The object of a declaration or a call of `malloc` that pointers may point to: made before, or now.
    pub(crate) fn noted_object(
        &mut self,
        name: &str,
        ctype: &CType,
        at: usize,
        span: Span,
        heap: bool,
    ) -> Res<usize> {
        let thread = self.t.0;
        let nth = self.noted.counts.entry((thread, at)).or_insert(0);
        let key = (thread, at, *nth);
        *nth += 1;
        let ends = !heap && self.may_outlive(name.rsplit('.').next().unwrap_or(name));
        self.noted.now.push(Early { key, name: name.to_owned(), ctype: ctype.clone(), span, heap, ends });
        if let Some(made) = self.noted.made.iter().find(|m| m.0 == key && m.1 == *ctype) {
            return Ok(made.2);
        }
        if heap && self.noted.compared.any() && !ctype.is_of(self.noted.structs) {
            // A call that is lowered before does not know of it.
            let why =
                "memory that may come back, of a structure that a function declares; declare it outside";
            return Err(self.refuse(span, why));
        }
        let object = self.object(name, ctype, Scope::Shared, span)?;
        self.declared_at.resize(object + 1, usize::MAX);
        self.declared_at[object] = at;
        if heap {
            self.note_heap(name, object);
        }
        if ends {
            self.make_flag(object, name);
        }
        Ok(object)
    }

    /// `malloc` and `calloc`.
    pub(crate) fn allocate(&mut self, name: &str, args: &'a [Node<Expression>], span: Span) -> Res<Value> {
        self.allocate_with(name, args, span, None, &mut |_, _| Ok(()))
    }

    /// `realloc`: another object, with what was in the old one as far as that fits, which is given back; or the old one, if that is as large
    /// and somebody can see it.
    pub(crate) fn reallocate(&mut self, args: &'a [Node<Expression>], span: Span) -> Res<Value> {
        let [old, size @ ..] = args else { return Err(self.refuse(span, "an argument is missing")) };
        let wanted = self.wanted.take();
        let old = self.rvalue(old)?;
        let old = self.b.terms().cast(ADDRESS, old.term);
        let old = self.keep(old);
        self.wanted = wanted;
        self.allocate_with("realloc", size, span, Some(old), &mut |me, new| me.take_over(old, new, span))
    }

    /// What is in the object that an address is of goes into another one, and the first is given back.
    fn take_over(&mut self, address: Term, new: usize, span: Span) -> Res<()> {
        let element = |t: &CType| match t {
            CType::Array(e, _) => (**e).clone(),
            other => other.clone(),
        };
        let all = |o: &super::ctype::Object| {
            let mut leaves = Vec::new();
            Self::leaves(&o.shape, 0, &mut |v, i, _| leaves.push((v, i)));
            leaves
        };
        let ctype = element(&self.objects[new].shape.ctype);
        if !self.is_data(&ctype) {
            return Err(self.refuse(span, format!("`realloc` of {ctype}")));
        }
        self.hand_back(address, span, &mut |me, object| {
            let Some(object) = object else { return Ok(()) };
            if object == new || element(&me.objects[object].shape.ctype) != ctype {
                let no = me.b.terms().boolean(false);
                me.check(
                    no,
                    ErrorKind::Bound,
                    "`realloc` of what is of another type, or of this call, is not followed",
                );
                return Ok(());
            }
            for ((from, i), (to, j)) in all(&me.objects[object]).into_iter().zip(all(&me.objects[new])) {
                let cell = |me: &mut Self, v: VarId, i: u64| match me.b.program().var(v).len {
                    None => me.b.value(v),
                    Some(_) => {
                        let i = me.b.terms().constant(i, ADDRESS);
                        me.b.cell(v, i)
                    }
                };
                let (value, copy) = (cell(me, from, i), me.temporary(me.b.program().var(from).ty));
                me.set_var(copy, value);
                me.env.remove(&(copy, 0));
                let value = me.local_value(copy);
                me.set_cell(to, j, value);
            }
            Ok(())
        })
    }

    /// Whether something consists of numbers and pointers alone.
    fn is_data(&self, t: &CType) -> bool {
        match t {
            CType::Int(_) | CType::Pointer(_) => true,
            CType::Array(e, _) | CType::Atomic(e) => self.is_data(e),
            CType::Struct(id) if !self.structs[*id].union => {
                self.structs[*id].fields.as_ref().is_some_and(|f| f.iter().all(|f| self.is_data(&f.1)))
            }
            _ => false,
        }
    }

    fn allocate_with(
        &mut self,
        name: &str,
        args: &'a [Node<Expression>],
        span: Span,
        old: Option<Term>,
        fill: &mut dyn FnMut(&mut Self, usize) -> Res<()>,
    ) -> Res<Value> {
        let wanted = self.wanted.take();
        let pointer = CType::Pointer(Rc::new(CType::Void));
        let nothing = self.b.terms().constant(0, ADDRESS);
        if self.dead {
            return Ok(Value { term: nothing, ctype: pointer });
        }
        let mut size = 1i128;
        let mut element = None;
        for a in args {
            size *= self.constant(a, "the size of what is allocated")?;
            element = element.or(self.measured(a)?);
        }
        let Some(element) = element.or(wanted.filter(|t| !matches!(t, CType::Void))) else {
            return Err(self.refuse(span, "an allocation whose size does not name its type by `sizeof`"));
        };
        let each = i128::from(self.layout(&element).0.max(1));
        if size <= 0 || size % each != 0 {
            return Err(self.refuse(span, format!("an allocation of {size} bytes of {element}")));
        }
        let ctype = if size == each { element } else { CType::Array(Rc::new(element), (size / each) as u64) };
        let copies = if self.may_come_again() { self.options.allocations } else { 1 };
        let line = self.span(span).line;
        let mut objects = Vec::new();
        for i in 0..copies {
            let full = format!("{}.{name}@{line}.{i}", self.b.program().thread(self.t).name);
            let object = self.noted_object(&full, &ctype, span.start, span, true)?;
            self.take_address(object);
            objects.push(object);
        }
        let again = self.may_come_back();
        if self.noted.compared.any() && (again || old.is_some()) {
            let result = self.temporary(ADDRESS);
            let mut after = self.join();
            if let Some(old) = old {
                self.stay_in_place(old, &ctype, (result, &mut after), span)?;
            }
            // What is made here once cannot have been given back before.
            let own = if copies == 1 { &objects[..] } else { &[] };
            if again {
                self.allocate_again(&ctype, own, name == "calloc", (result, &mut after), span, fill)?;
            }
            let term = self.allocate_new(name, &objects, span, fill)?;
            self.set_var(result, term);
            self.jump(&mut after, span)?;
            self.land(after);
            return Ok(Value { term: self.local_value(result), ctype: pointer });
        }
        let term = self.allocate_new(name, &objects, span, fill)?;
        Ok(Value { term, ctype: pointer })
    }

    /// The address of the next of the objects of a call.
    fn allocate_new(
        &mut self,
        name: &str,
        objects: &[usize],
        span: Span,
        fill: &mut dyn FnMut(&mut Self, usize) -> Res<()>,
    ) -> Res<Term> {
        if let [object] = objects {
            let term = self.allocated(*object, name == "calloc");
            fill(self, *object)?;
            return Ok(term);
        }
        let (copies, line) = (objects.len(), self.span(span).line);
        let result = self.temporary(ADDRESS);
        let counter = Type::unsigned(8);
        let used = self.b.local(self.t, &format!("%{name}@{line}"), counter, 0);
        let mut after = self.join();
        let from = self.b.here(self.t);
        let now = self.b.value(used);
        let env = self.env.clone();
        for (i, object) in objects.iter().copied().enumerate() {
            let n = self.b.terms().constant(i as u64, counter);
            let it = self.b.terms().eq(now, n);
            let case = self.join();
            self.b.step(self.t, from, case.at, it, Vec::new());
            self.land(super::lower::Join { env: Some(env.clone()), ..case });
            let more = self.b.terms().constant(i as u64 + 1, counter);
            self.set(Place::scalar(used), more);
            let address = self.allocated(object, name == "calloc");
            fill(self, object)?;
            self.set_var(result, address);
            self.jump(&mut after, span)?;
            self.dead = false;
        }
        let end = self.b.terms().constant(copies as u64, counter);
        let beyond = self.b.terms().eq(now, end);
        let why = format!("`{name}` is called more than {copies} times here");
        let wrong = self.b.error_location(self.t, ErrorKind::Bound, &why);
        self.b.step(self.t, from, wrong, beyond, Vec::new());
        self.land(after);
        Ok(self.local_value(result))
    }

    /// The value of an expression that is assigned to something of a type: what `malloc` gives is of the type that it points to.
    pub(crate) fn rvalue_for(&mut self, e: &'a Node<Expression>, ctype: &CType) -> Res<Value> {
        let pointee = |t: &CType| match t.plain() {
            CType::Pointer(t) => Some((**t).clone()),
            _ => None,
        };
        self.wanted = None;
        match &e.node {
            Expression::Call(_) => self.wanted = pointee(ctype),
            Expression::Cast(c) if matches!(c.node.expression.node, Expression::Call(_)) => {
                let to = self.type_name(&c.node.type_name)?;
                self.wanted = pointee(&to).filter(|t| *t != CType::Void).or_else(|| pointee(ctype));
            }
            _ => {}
        }
        self.rvalue(e)
    }

    /// The address of a new object, whose content is anything, or zero.
    fn allocated(&mut self, object: usize, zero: bool) -> Term {
        if zero {
            self.clear(object);
        } else {
            self.begin_fresh(object);
        }
        let base = self.objects[object].base;
        self.b.terms().constant(base, ADDRESS)
    }

    /// All of an object is zero.
    pub(super) fn clear(&mut self, object: usize) {
        let mut leaves = Vec::new();
        Self::leaves(&self.objects[object].shape.clone(), 0, &mut |v, i, _| leaves.push((v, i)));
        for (v, i) in leaves {
            let ty = self.b.program().var(v).ty;
            let value = self.b.terms().constant(0, ty);
            self.set_cell(v, i, value);
        }
    }

    /// Whether the code at hand may run more than once.
    pub(super) fn may_come_again(&self) -> bool {
        self.loops > 0 || self.frames.iter().any(|f| self.jumps(&f.name))
    }

    /// The type whose size an expression speaks of.
    fn measured(&mut self, e: &'a Node<Expression>) -> Res<Option<CType>> {
        Ok(match &e.node {
            Expression::SizeOfTy(t) => Some(self.type_name(&t.node.0)?),
            Expression::SizeOfVal(v) => Some(self.type_of(&v.node.0)?),
            Expression::Cast(c) => self.measured(&c.node.expression)?,
            Expression::BinaryOperator(b) if b.node.operator.node == BinaryOperator::Multiply => {
                match self.measured(&b.node.lhs)? {
                    Some(t) => Some(t),
                    None => self.measured(&b.node.rhs)?,
                }
            }
            _ => None,
        })
    }

    /// `free`.
    pub(crate) fn give_back(&mut self, e: &'a Node<Expression>, span: Span) -> Res<()> {
        let v = self.rvalue(e)?;
        if self.dead {
            return Ok(());
        }
        let address = self.b.terms().cast(ADDRESS, v.term);
        self.fresh.clear();
        self.hand_back(address, span, &mut |_, _| Ok(()))
    }

    /// Gives back what an address is of, whichever it is, after something was done with it; the address of nothing is of none.
    fn hand_back(
        &mut self,
        address: Term,
        span: Span,
        f: &mut dyn FnMut(&mut Self, Option<usize>) -> Res<()>,
    ) -> Res<()> {
        if !self.dead {
            self.noted.gives.insert(self.t.0);
        }
        let mut after = self.join();
        let from = self.b.here(self.t);
        let (env, fresh) = (self.env.clone(), self.fresh.clone());
        let nothing = self.b.terms().constant(0, ADDRESS);
        let mut none = self.b.terms().boolean(true);
        let mut cases = vec![(nothing, None, None)];
        for (object, freed) in self.noted.heap.clone() {
            let base = self.b.terms().constant(self.objects[object].base, ADDRESS);
            cases.push((base, Some(object), freed));
        }
        for (base, object, freed) in cases {
            let it = self.b.terms().eq(address, base);
            if self.b.terms().as_const(it) == Some(0) {
                continue;
            }
            let mut case = self.join();
            // Where it is known which one, ways do not part.
            if self.b.terms().as_const(it) == Some(1) {
                case.fresh = fresh.clone();
            }
            self.b.step(self.t, from, case.at, it, Vec::new());
            self.land(super::lower::Join { env: Some(env.clone()), ..case });
            if let Some(freed) = freed {
                let old = self.temporary(Type::BOOL);
                let (was, yes) = (self.b.value(freed), self.b.terms().boolean(true));
                let always = self.b.terms().boolean(true);
                let keep = crate::Assign { place: Place::scalar(old), value: was };
                let set = crate::Assign { place: Place::scalar(freed), value: yes };
                self.step(always, vec![set, keep]);
                self.env.remove(&(old, 0));
                let was = self.local_value(old);
                let ok = self.b.terms().not(was);
                self.check(ok, ErrorKind::InvalidPointer, "what was given back is given back again");
            }
            if let Some(object) = object {
                self.end_fresh(object);
                self.free_syncs(object);
            }
            f(self, object)?;
            self.jump(&mut after, span)?;
            self.dead = false;
            let not = self.b.terms().not(it);
            none = self.b.terms().and(none, not);
        }
        if self.b.terms().as_const(none) != Some(0) {
            let message = "what is given back is not from `malloc`";
            let wrong = self.b.error_location(self.t, ErrorKind::InvalidPointer, message);
            self.b.step(self.t, from, wrong, none, Vec::new());
        }
        self.land(after);
        Ok(())
    }

    /// Before a cell of an object is touched through a pointer: it is still there.
    pub(crate) fn still_there(&mut self, var: VarId) {
        if self.dead {
            return;
        }
        self.local_still_there(|shape| {
            let mut has = false;
            Self::leaves(shape, 0, &mut |v, _, _| has |= v == var);
            has
        });
        if !self.frees || self.is_fresh(var) {
            return;
        }
        let mut flag = None;
        for (object, freed) in &self.noted.heap {
            Self::leaves(&self.objects[*object].shape, 0, &mut |v, _, _| {
                if v == var {
                    flag = *freed;
                }
            });
        }
        if let Some(freed) = flag {
            self.not_freed(freed);
        }
    }

    /// Before a variable of a function or of a thread is touched through a pointer: it is still there.
    fn local_still_there(&mut self, is_touched: impl Fn(&super::ctype::Shape) -> bool) {
        let touched: Vec<VarId> = self
            .gone
            .iter()
            .filter(|(object, _)| is_touched(&self.objects[*object].shape))
            .map(|(_, flag)| *flag)
            .collect();
        for flag in touched {
            self.not_set(flag, "a variable is used whose function has returned or whose thread has ended");
        }
    }

    /// The same for locks and the like, of which nothing else is touched.
    pub(crate) fn syncs_still_there(&mut self, syncs: &[SyncId]) {
        if self.dead {
            return;
        }
        self.local_still_there(|shape| syncs.iter().any(|s| shape.has_sync(*s)));
        if !self.frees {
            return;
        }
        let has = |object: usize| syncs.iter().any(|s| self.objects[object].shape.has_sync(*s));
        let of: Vec<VarId> = self
            .noted
            .heap
            .iter()
            .filter(|(object, _)| has(*object))
            .filter_map(|(_, freed)| *freed)
            .collect();
        for freed in of {
            self.not_freed(freed);
        }
    }

    pub(super) fn not_freed(&mut self, freed: VarId) {
        // To give memory back is to write all of it, which no atomic access to a part of it is one with. Who asks for memory looks at the
        // flag as well, where it may come back.
        let order = (!self.noted.compared.any()).then_some((Order::Plain, Order::Plain));
        let own = self.b.set_order(order);
        self.not_set(freed, "what was given back is used");
        self.b.set_order(own);
    }

    /// Something is wrong where a flag is set.
    fn not_set(&mut self, freed: VarId, message: &str) {
        let seen = self.temporary(Type::BOOL);
        let gone = self.b.value(freed);
        self.set_var(seen, gone);
        self.env.remove(&(seen, 0));
        let gone = self.local_value(seen);
        let ok = self.b.terms().not(gone);
        self.check(ok, ErrorKind::InvalidPointer, message);
    }
}

impl CType {
    /// Whether it speaks of these structures only.
    fn is_of(&self, structs: usize) -> bool {
        match self {
            CType::Struct(id) => *id < structs,
            CType::Pointer(t) | CType::Array(t, _) | CType::OpenArray(t) | CType::Atomic(t) => {
                t.is_of(structs)
            }
            _ => true,
        }
    }
}
