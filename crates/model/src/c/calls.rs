//! Calls: functions of the program are inlined; pthreads, atomics and the intrinsics of verifiers are steps.

use super::ctype::{ADDRESS, CType, SyncType};
use super::expr::{Lvalue, Value};
use super::lower::{Argument, Deferred, Join, Lowering, Res};
use crate::program::{ErrorKind, LocationKind, Order, SyncId};
use crate::term::{Assign, Binary, Place, Term, Type};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// What `pthread_mutex_trylock` returns for a mutex that is taken.
const EBUSY: u64 = 16;
/// What a wait returns whose time is over.
const ETIMEDOUT: u64 = 110;
/// The same for `mtx_trylock`, and for C11's waits whose time is over.
const THRD_BUSY: u64 = 1;
const THRD_TIMEDOUT: u64 = 4;
/// What `pthread_barrier_wait` returns to one thread.
const SERIAL: u64 = u32::MAX as u64;

/// Functions that print, sleep or otherwise do nothing that another thread can see: their arguments are evaluated.
const HARMLESS: &[&str] = &[
    "perror",
    "sleep",
    "usleep",
    "sched_yield",
    "pthread_yield",
    "pthread_attr_init",
    "pthread_attr_destroy",
    "pthread_attr_setdetachstate",
    "pthread_detach",
    "srand",
    "pthread_mutex_destroy",
    "pthread_cond_destroy",
    "pthread_rwlock_destroy",
    "pthread_barrier_destroy",
    "sem_destroy",
    "pthread_spin_destroy",
    "pthread_setconcurrency",
    "atomic_signal_fence",
    "__atomic_signal_fence",
    "nanosleep",
    "srandom",
    "pthread_attr_setstacksize",
    "pthread_attr_setscope",
    "pthread_mutexattr_destroy",
    "pthread_mutexattr_setpshared",
    "pthread_mutexattr_setprotocol",
    "thrd_yield",
    "thrd_sleep",
    "thrd_detach",
    "mtx_destroy",
    "cnd_destroy",
];

/// Functions that write to a file or a terminal: their arguments are evaluated, and what they return is any number.
const PRINTING: &[&str] = &["printf", "fprintf", "puts", "putchar", "fputs", "fputc", "putc", "fflush"];

impl<'a> Lowering<'a> {
    pub(crate) fn call(&mut self, c: &'a Node<CallExpression>) -> Res<Value> {
        let span = c.span;
        let args = &c.node.arguments;
        let wanted = self.wanted.take();
        if let Expression::Identifier(i) = &c.node.callee.node {
            let name = i.node.name.as_str();
            self.at(span);
            if matches!(name, "malloc" | "calloc" | "__builtin_malloc") {
                self.wanted = wanted;
            }
            if let Some(v) = self.known_call(name, args, span)? {
                return Ok(v);
            }
            if let Some(f) = self.function(name) {
                return self.inlined(&f, args, span);
            }
            if !matches!(self.lookup(name), Some(super::lower::Entity::Object(_))) {
                return Err(self.refuse(span, format!("the function `{name}` is not known")));
            }
        }
        let callee = self.rvalue(&c.node.callee)?;
        self.call_at(callee, args, span)
    }

    /// A call of the function that an address is of: of each that it may be, where that is not known.
    fn call_at(&mut self, callee: Value, args: &'a [Node<Expression>], span: Span) -> Res<Value> {
        let result = match callee.ctype.plain() {
            CType::Pointer(t) => match t.plain() {
                CType::Function(r) => (**r).clone(),
                _ => return Err(self.refuse(span, format!("a call of {}", callee.ctype))),
            },
            t => return Err(self.refuse(span, format!("a call of {t}"))),
        };
        if let Some(address) = self.b.terms().as_const(callee.term) {
            let name = self.function_at(address).map(str::to_owned);
            return match (name.as_ref().and_then(|n| self.function(n)), name) {
                (Some(f), _) => self.inlined(&f, args, span),
                (None, _) if self.dead => Ok(self.number(0)),
                (None, Some(n)) => Err(self.refuse(span, format!("the function `{n}` is not known"))),
                (None, None) => {
                    let no = self.b.terms().boolean(false);
                    self.check(no, ErrorKind::InvalidPointer, "a call of what is no function");
                    Ok(self.void())
                }
            };
        }
        let object = match result.plain() {
            CType::Struct(_) => Some(self.declare_object("called", &result, span, true)?),
            _ => None,
        };
        let kept = result.scalar().map(|ty| self.temporary(ty));
        let mut after = self.join();
        let from = self.b.here(self.t);
        let (env, dead, block) = (self.env.clone(), self.dead, self.block());
        let mut none = self.b.terms().boolean(true);
        for name in self.callable.clone() {
            let Some(f) = self.function(&name).filter(|f| f.parameters.len() <= args.len()) else { continue };
            // What is no value of the type that the pointer says is no function of that type.
            if f.result.scalar().is_some() != kept.is_some() {
                continue;
            }
            let address = self.function_address(&name);
            let address = self.b.terms().constant(address, ADDRESS);
            let it = self.b.terms().eq(callee.term, address);
            let not = self.b.terms().not(it);
            none = self.b.terms().and(none, not);
            if dead {
                continue;
            }
            let case = self.join();
            self.b.step(self.t, from, case.at, it, Vec::new());
            self.land(Join { env: Some(env.clone()), atomic: Some(block), ..case });
            let value = self.inlined(&f, args, span)?;
            if let Some(var) = kept {
                let term = self.convert(value, &result, span)?;
                self.set_var(var, term);
            }
            if let (Some(object), Some(from)) = (object, self.returned.take()) {
                let to = self.whole(object);
                self.copy(&to, &from, span)?;
            }
            self.jump(&mut after, span)?;
        }
        if !dead {
            // Other functions there are, of other types or of the library: they are not followed.
            self.b.go_on_at(self.t, from);
            let start = self.b.terms().constant(1 << 48, ADDRESS);
            let end = self.b.terms().constant((1 << 48) + (1 << 20), ADDRESS);
            let (low, high) = (self.b.terms().le(start, callee.term), self.b.terms().lt(callee.term, end));
            let function = self.b.terms().and(low, high);
            let nothing = self.b.terms().not(function);
            for (kind, message, it) in [
                (ErrorKind::InvalidPointer, "a call of what is no function", nothing),
                (ErrorKind::Bound, "a call of a function of another type is not followed", function),
            ] {
                let guard = self.b.terms().and(none, it);
                if self.b.terms().as_const(guard) != Some(0) {
                    let wrong = self.b.error_location(self.t, kind, message);
                    self.b.step(self.t, from, wrong, guard, Vec::new());
                }
            }
        }
        self.land(after);
        self.dead |= dead;
        self.returned = object.map(|o| self.whole(o));
        match kept {
            None => Ok(self.void()),
            Some(var) => Ok(Value { term: self.local_value(var), ctype: result.plain().clone() }),
        }
    }

    /// An expression that prints, and whose value nobody wants.
    pub(crate) fn printed(&mut self, e: &'a Node<Expression>) -> Res<bool> {
        let Expression::Call(c) = &e.node else { return Ok(false) };
        let Expression::Identifier(i) = &c.node.callee.node else { return Ok(false) };
        let name = i.node.name.as_str();
        if !PRINTING.contains(&name) || self.function(name).is_some() {
            return Ok(false);
        }
        self.at(c.span);
        self.print(name, &c.node.arguments)?;
        Ok(true)
    }

    /// What a call that prints does: its arguments are evaluated, and texts are read to their end.
    fn print(&mut self, name: &str, args: &'a [Node<Expression>]) -> Res<()> {
        let format = match name {
            "printf" => 0,
            "fprintf" => 1,
            "puts" | "fputs" => {
                args.first().map_or(Ok(()), |text| self.read_text(text))?;
                return self.effects(args.get(1..).unwrap_or_default());
            }
            _ => return self.effects(args),
        };
        self.effects(args.get(..=format).unwrap_or_default())?;
        let mut kinds = match args.get(format).map(|a| &a.node) {
            Some(Expression::StringLiteral(s)) => conversions(&self.text(s)?).into_iter(),
            _ => return Err(self.refuse(args[0].span, "a format that is no text of the program")),
        };
        for a in &args[format + 1..] {
            match kinds.next() {
                Some('s') => self.read_text(a)?,
                Some('S') => return Err(self.refuse(a.span, "a text that is printed up to a length")),
                Some('n') => return Err(self.refuse(a.span, "`%n` in a format")),
                _ => self.effects(std::slice::from_ref(a))?,
            }
        }
        Ok(())
    }

    /// Reads a text up to its end, character by character.
    fn read_text(&mut self, e: &'a Node<Expression>) -> Res<()> {
        if matches!(e.node, Expression::StringLiteral(_)) {
            return Ok(());
        }
        let v = self.rvalue(e)?;
        let CType::Pointer(t) = v.ctype.plain().clone() else {
            return Err(self.refuse(e.span, format!("{} that is printed as a text", v.ctype)));
        };
        if self.dead {
            return Ok(());
        }
        if self.only_constant_texts(&t) {
            let ok = self.is_inside(v.term);
            self.check(ok, ErrorKind::InvalidPointer, "what is printed as a text is none");
            return Ok(());
        }
        let at = self.temporary(ADDRESS);
        self.set_var(at, v.term);
        let (mut head, mut more, mut after) = (self.join(), self.join(), self.join());
        self.jump(&mut head, e.span)?;
        let mut again = head.clone();
        self.land(head);
        self.env.remove(&(at, 0));
        let address = self.b.value(at);
        let c = self.load(&Lvalue::Memory { address, ctype: (*t).clone() }, e.span)?;
        let goes_on = self.b.terms().truth(c.term);
        self.fork(goes_on, &mut more, &mut after, e.span)?;
        self.land(more);
        let one = self.b.terms().constant(1, ADDRESS);
        let next = self.b.terms().add(address, one);
        self.set_var(at, next);
        self.jump(&mut again, e.span)?;
        self.land(after);
        Ok(())
    }

    fn number(&mut self, n: i128) -> Value {
        self.value(n, Type::INT)
    }

    fn void(&mut self) -> Value {
        Value { term: self.b.terms().int(0), ctype: CType::Void }
    }

    fn inlined(
        &mut self,
        f: &Rc<super::lower::Function<'a>>,
        args: &'a [Node<Expression>],
        span: Span,
    ) -> Res<Value> {
        if args.len() < f.parameters.len() {
            return Err(self.refuse(span, format!("`{}` takes {} arguments", f.name, f.parameters.len())));
        }
        let mut values = Vec::new();
        let mut contract = self.contract(f);
        for (n, a) in args.iter().enumerate() {
            match f.parameters.get(n) {
                Some(p) if matches!(p.ctype.plain(), CType::Struct(_)) => {
                    let from = self.lvalue(a)?;
                    contract = None;
                    values.push((Argument::Structure(from), p.ctype.clone(), None));
                }
                Some(p) => {
                    if p.ctype.scalar().is_none() {
                        return Err(self.refuse(a.span, format!("{} as an argument", p.ctype)));
                    }
                    let v = self.rvalue(a)?;
                    let mut term = self.convert(v, &p.ctype, a.span)?;
                    for later in &args[n + 1..] {
                        term = self.kept_for(term, later);
                    }
                    let pointed = self.pointed_argument(a, &p.ctype);
                    // Formulas speak of arrays by name, so a pointer into one is followed into the function.
                    if matches!(p.ctype.plain(), CType::Pointer(_)) && pointed.is_none() {
                        contract = None;
                    }
                    values.push((Argument::Scalar(term), p.ctype.clone(), pointed));
                }
                None => self.effect(a)?,
            }
        }
        let returned = match f.result.plain() {
            CType::Struct(_) => {
                contract = None;
                Some(self.declare_object(&format!("{}()", f.name), &f.result, span, true)?)
            }
            _ => None,
        };
        let result = match f.result.plain() {
            CType::Void | CType::Struct(_) => None,
            t => {
                let Some(ty) = t.scalar() else {
                    return Err(self.refuse(span, format!("{t} as the result of a function")));
                };
                Some((self.temporary(ty), t.clone()))
            }
        };
        let apart: Vec<(Term, CType, Option<crate::notes::Named>)> = values
            .iter()
            .filter_map(|(a, t, p)| match a {
                Argument::Scalar(term) => Some((*term, t.clone(), p.clone())),
                Argument::Structure(_) => None,
            })
            .collect();
        if let Some(contract) =
            contract.filter(|c| apart.len() == values.len() && self.are_apart(f, c, &apart))
        {
            let values = apart;
            self.by_contract(f, &contract, values, result.as_ref().map(|r| r.0), span)?;
            return match result {
                None => Ok(self.void()),
                Some((var, ctype)) => Ok(Value { term: self.local_value(var), ctype }),
            };
        }
        let values = values.into_iter().map(|(term, ctype, _)| (term, ctype)).collect();
        let atomic = f.name.starts_with("__VERIFIER_atomic_");
        if atomic {
            self.begin_atomic();
        }
        self.inline(f, values, result.clone(), returned, span)?;
        if atomic {
            self.end_atomic();
        }
        self.returned = returned.map(|o| self.whole(o));
        match result {
            None => Ok(self.void()),
            Some((var, ctype)) => Ok(Value { term: self.local_value(var), ctype }),
        }
    }

    fn arg(&mut self, args: &'a [Node<Expression>], n: usize, span: Span) -> Res<&'a Node<Expression>> {
        args.get(n).ok_or_else(|| self.refuse(span, "an argument is missing"))
    }

    fn is_null(&mut self, e: &'a Node<Expression>) -> Res<bool> {
        let v = self.in_dead_code(|me| me.rvalue(e))?;
        Ok(self.b.terms().as_const(v.term) == Some(0))
    }

    fn effects(&mut self, args: &'a [Node<Expression>]) -> Res<()> {
        for a in args {
            if !matches!(a.node, Expression::StringLiteral(_)) && !self.is_opaque(a) {
                self.effect(a)?;
            }
        }
        Ok(())
    }

    /// The address of a lock, or a variable of the library: nothing that is read.
    fn is_opaque(&mut self, e: &'a Node<Expression>) -> bool {
        match &e.node {
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Address => true,
            Expression::Identifier(i) => self.lookup(&i.node.name).is_none(),
            _ => false,
        }
    }

    /// A call that has a meaning of its own; `None` for others.
    fn known_call(&mut self, name: &str, args: &'a [Node<Expression>], span: Span) -> Res<Option<Value>> {
        if self.noted(name, args, span)? {
            return Ok(Some(self.void()));
        }
        if let Some(v) = self.verifier_call(name, args, span)? {
            return Ok(Some(v));
        }
        if let Some(v) = self.pthread_call(name, args, span)? {
            return Ok(Some(v));
        }
        if let Some(v) = self.atomic_call(name, args, span)? {
            return Ok(Some(v));
        }
        if let Some(v) = self.memory_call(name, args, span)? {
            return Ok(Some(v));
        }
        if HARMLESS.contains(&name) && self.function(name).is_none() {
            self.effects(args)?;
            return Ok(Some(self.number(0)));
        }
        if PRINTING.contains(&name) && self.function(name).is_none() {
            self.print(name, args)?;
            return Ok(Some(self.any_value(Type::INT)));
        }
        Ok(None)
    }

    fn fail(&mut self, message: &str) {
        let no = self.b.terms().boolean(false);
        self.check(no, ErrorKind::Assertion, message);
    }

    fn verifier_call(&mut self, name: &str, args: &'a [Node<Expression>], span: Span) -> Res<Option<Value>> {
        if let Some(of) = name.strip_prefix("__VERIFIER_nondet_") {
            let declared = self.prototypes.get(name).map(CType::plain);
            if let Some(CType::Int(ty)) = declared {
                let ty = *ty;
                return Ok(Some(self.any_value(ty)));
            }
            let ty = match of {
                "bool" | "_Bool" => Type::BOOL,
                "char" => Type::signed(8),
                "uchar" => Type::unsigned(8),
                "short" => Type::signed(16),
                "ushort" => Type::unsigned(16),
                "int" => Type::INT,
                "uint" | "unsigned" | "unsigned_int" | "u32" => Type::UINT,
                "u8" => Type::unsigned(8),
                "u16" => Type::unsigned(16),
                "long" | "longlong" | "loff_t" => Type::signed(64),
                "ulong" | "ulonglong" | "size_t" | "u64" | "sector_t" => Type::unsigned(64),
                _ => return Err(self.refuse(span, format!("an input of type `{of}`"))),
            };
            return Ok(Some(self.any_value(ty)));
        }
        let value = match name {
            "reach_error" | "__VERIFIER_error" => {
                self.fail("an error is reached");
                self.void()
            }
            "__assert_fail" | "__raddle_assert_fail" | "__assert" | "__assert_rtn" => {
                let text = args.first().map(text_of).unwrap_or_default();
                let message = if text.is_empty() { "an assertion fails".to_owned() } else { text };
                self.fail(&message);
                self.void()
            }
            "__VERIFIER_assert" if self.function(name).is_none() => {
                let c = self.condition(self.arg_at(args, 0, span)?)?;
                self.check(c, ErrorKind::Assertion, "an assertion fails");
                self.void()
            }
            "__VERIFIER_assume" | "assume_abort_if_not" => {
                let c = self.condition(self.arg_at(args, 0, span)?)?;
                self.assume(c);
                self.void()
            }
            "__VERIFIER_atomic_begin" => {
                self.begin_atomic();
                self.void()
            }
            "__VERIFIER_atomic_end" => {
                if self.atomic == 0 && !self.dead {
                    return Err(self.refuse(span, "the end of an atomic block that was not begun"));
                }
                self.end_atomic();
                self.void()
            }
            "abort" | "exit" | "_exit" | "_Exit" | "quick_exit" => {
                self.effects(args)?;
                self.stop(LocationKind::Exit);
                self.void()
            }
            "malloc" | "calloc" | "__builtin_malloc" if self.function(name).is_none() => {
                return self.allocate(name, args, span).map(Some);
            }
            "free" if self.function(name).is_none() => {
                let what = self.arg_at(args, 0, span)?;
                self.give_back(what, span)?;
                self.void()
            }
            // The time is any time.
            "clock_gettime" if self.function(name).is_none() => {
                let to = self.arg_at(args, 1, span)?;
                let to = self.pointed(to)?;
                self.any_content(&to, span)?;
                self.number(0)
            }
            "rand" | "random" if self.function(name).is_none() => {
                let v = self.any_value(Type::INT);
                let zero = self.b.terms().int(0);
                let ok = self.b.terms().le(zero, v.term);
                self.assume(ok);
                v
            }
            "__builtin_expect" => {
                let v = self.rvalue(self.arg_at(args, 0, span)?)?;
                let ctype = CType::Int(Type::signed(64));
                let term = self.convert(v, &ctype, span)?;
                Value { term, ctype }
            }
            "__builtin_unreachable" => {
                self.fail("a place is reached that must not be");
                self.void()
            }
            _ => return Ok(None),
        };
        Ok(Some(value))
    }

    fn arg_at(&self, args: &'a [Node<Expression>], n: usize, span: Span) -> Res<&'a Node<Expression>> {
        args.get(n).ok_or_else(|| self.refuse(span, "an argument is missing"))
    }

    /// Sets an lvalue to any value, field by field.
    fn any_content(&mut self, to: &Lvalue, span: Span) -> Res<()> {
        match self.type_at(to).plain().clone() {
            CType::Struct(id) if self.structs[id].union => {
                let unit = self.unit(to.clone(), span)?;
                self.any_content(&unit, span)
            }
            CType::Struct(id) => {
                let fields = self.structs[id].fields.clone().unwrap_or_default();
                for (name, ..) in fields {
                    let part = self.member(to.clone(), &name, span)?;
                    self.any_content(&part, span)?;
                }
                Ok(())
            }
            t => {
                let Some(ty) = t.scalar() else { return Err(self.refuse(span, format!("any value of {t}"))) };
                let value = self.any_value(ty);
                self.store(to, value.term, span)
            }
        }
    }

    /// Any value of a type.
    fn any_value(&mut self, ty: Type) -> Value {
        let var = self.temporary(ty);
        self.input(var);
        let term = self.b.terms().var(var, ty);
        Value { term, ctype: CType::Int(ty) }
    }

    // ---- pthreads

    /// Does something on the object that an argument points to, whichever it is.
    fn on(
        &mut self,
        e: &'a Node<Expression>,
        kind: SyncType,
        span: Span,
        f: &mut dyn FnMut(&mut Self, SyncId),
    ) -> Res<()> {
        let lv = self.pointed_sync(e, kind)?;
        let list = self.syncs(&lv, e.span)?;
        if self.dead {
            return Ok(());
        }
        let certain = list.len() == 1 && self.b.terms().as_const(list[0].0) == Some(1);
        if certain {
            f(self, list[0].1);
            return Ok(());
        }
        let mut after = self.join();
        let from = self.b.here(self.t);
        let env = self.env.clone();
        let mut none = self.b.terms().boolean(true);
        for (it, s) in list {
            let case = self.join();
            self.b.step(self.t, from, case.at, it, Vec::new());
            self.land(super::lower::Join { env: Some(env.clone()), ..case });
            f(self, s);
            self.jump(&mut after, span)?;
            let not = self.b.terms().not(it);
            none = self.b.terms().and(none, not);
        }
        let message = "a pointer to no lock or the like is used as one";
        let wrong = self.b.error_location(self.t, ErrorKind::InvalidPointer, message);
        self.b.step(self.t, from, wrong, none, Vec::new());
        self.land(after);
        Ok(())
    }

    fn pointed_sync(&mut self, e: &'a Node<Expression>, kind: SyncType) -> Res<Lvalue> {
        let lv = self.pointed(e)?;
        match self.type_at(&lv).plain() {
            CType::Sync(k) if *k == kind => Ok(lv),
            t => Err(self.refuse(e.span, format!("{t} where a {kind:?} is wanted"))),
        }
    }

    fn pthread_call(&mut self, name: &str, args: &'a [Node<Expression>], span: Span) -> Res<Option<Value>> {
        use SyncType::*;
        if self.function(name).is_some() {
            return Ok(None);
        }
        let result = Type::INT;
        let first = args.first();
        let on = |me: &mut Self, kind, f: &mut dyn FnMut(&mut Self, SyncId)| match first {
            Some(e) => me.on(e, kind, span, f),
            None => Err(me.refuse(span, "an argument is missing")),
        };
        match name {
            "pthread_create" => {
                let [handle, _, start, argument] = args else {
                    return Err(self.refuse(span, "`pthread_create` takes 4 arguments"));
                };
                return self.create(handle, start, argument, span).map(Some);
            }
            "thrd_create" => {
                let [handle, start, argument] = args else {
                    return Err(self.refuse(span, "`thrd_create` takes 3 arguments"));
                };
                return self.create(handle, start, argument, span).map(Some);
            }
            "pthread_join" | "thrd_join" => return self.join_thread(args, span).map(Some),
            "pthread_once" | "call_once" => return self.once(args, span).map(Some),
            "pthread_exit" | "thrd_exit" => {
                if let Some(e) = first {
                    let value = self.rvalue(e)?;
                    if let Some(var) = self.results[self.t.index()] {
                        let ty = self.b.program().var(var).ty;
                        let term = self.b.terms().cast(ty, value.term);
                        if self.b.terms().as_const(term) != Some(0) {
                            self.set_var(var, term);
                        }
                    }
                }
                self.stop(LocationKind::End);
                return Ok(Some(self.void()));
            }
            "pthread_self" | "thrd_current" => {
                let me = self.t.0 as i128 + 1;
                return Ok(Some(self.value(me, ADDRESS)));
            }
            "pthread_equal" | "thrd_equal" => {
                let (a, b) = (self.arg(args, 0, span)?, self.arg(args, 1, span)?);
                let (a, b) = (self.rvalue(a)?, self.rvalue(b)?);
                let same = self.b.terms().eq(a.term, b.term);
                let term = self.b.terms().cast(Type::INT, same);
                return Ok(Some(Value { term, ctype: CType::INT }));
            }
            "pthread_mutexattr_init" | "pthread_mutexattr_settype" => {
                let to = self.arg(args, 0, span)?;
                let to = self.pointed(to)?;
                let kind = match name {
                    "pthread_mutexattr_init" => self.number(0),
                    _ => {
                        let kind = self.arg(args, 1, span)?;
                        self.rvalue(kind)?
                    }
                };
                let kind = self.convert(kind, &CType::INT, span)?;
                self.store(&to, kind, span)?;
            }
            "pthread_mutex_init" => {
                let mut kind = 0;
                if let Some(attributes) = args.get(1)
                    && !self.is_null(attributes)?
                {
                    let from = self.pointed(attributes)?;
                    let said = self.load(&from, span)?;
                    let Some(known) = self.b.terms().as_const(said.term) else {
                        return Err(self.refuse(span, "a mutex whose kind is not known here"));
                    };
                    kind = known;
                }
                // glibc: 0 plain, 1 recursive, 2 with checks, 3 that spins for a while before it waits.
                if kind == 2 {
                    return Err(self.refuse(span, "a mutex that checks for errors"));
                }
                self.init_mutex(first, kind == 1, span)?;
            }
            "mtx_init" => {
                let kind = self.arg(args, 1, span)?;
                let kind = self.constant(kind, "the kind of a mutex")?;
                self.init_mutex(first, kind & 1 == 1, span)?;
            }
            "cnd_init" => {}
            "pthread_cond_init" | "pthread_rwlock_init" => {
                if let Some(attributes) = args.get(1)
                    && !self.is_null(attributes)?
                {
                    return Err(self.refuse(span, "attributes of a lock"));
                }
            }
            "pthread_spin_init" => {}
            "pthread_mutex_lock" | "pthread_spin_lock" | "mtx_lock" => {
                on(self, Mutex, &mut |me, s| me.lock(s))?
            }
            "pthread_mutex_unlock" | "pthread_spin_unlock" | "mtx_unlock" => {
                on(self, Mutex, &mut |me, s| me.unlock(s))?
            }
            "pthread_mutex_trylock" | "pthread_spin_trylock" => {
                let r = self.temporary(result);
                on(self, Mutex, &mut |me, s| me.try_lock(s, r, EBUSY))?;
                return Ok(Some(self.outcome(r)));
            }
            "mtx_trylock" => {
                let r = self.temporary(result);
                on(self, Mutex, &mut |me, s| me.try_lock(s, r, THRD_BUSY))?;
                return Ok(Some(self.outcome(r)));
            }
            "pthread_rwlock_rdlock" => on(self, RwLock, &mut |me, s| me.b.read_lock(me.t, s))?,
            "pthread_rwlock_wrlock" => on(self, RwLock, &mut |me, s| me.b.write_lock(me.t, s))?,
            "pthread_rwlock_unlock" => on(self, RwLock, &mut |me, s| me.b.rw_unlock(me.t, s))?,
            "pthread_rwlock_tryrdlock" => {
                let r = self.temporary(result);
                on(self, RwLock, &mut |me, s| me.b.try_read_lock(me.t, s, r, 0, EBUSY))?;
                return Ok(Some(self.outcome(r)));
            }
            "pthread_rwlock_trywrlock" => {
                let r = self.temporary(result);
                on(self, RwLock, &mut |me, s| me.b.try_write_lock(me.t, s, r, 0, EBUSY))?;
                return Ok(Some(self.outcome(r)));
            }
            "pthread_cond_wait"
            | "pthread_cond_timedwait"
            | "pthread_cond_clockwait"
            | "cnd_wait"
            | "cnd_timedwait" => {
                if self.atomic > 0 {
                    return Err(self.refuse(span, "a wait in an atomic block"));
                }
                let mutex = self.arg(args, 1, span)?;
                let lv = self.pointed_sync(mutex, Mutex)?;
                let list = self.syncs(&lv, span)?;
                let [(yes, m)] = list[..] else {
                    return Err(self.refuse(span, "a wait with a mutex that is not known here"));
                };
                if self.b.terms().as_const(yes) != Some(1) {
                    return Err(self.refuse(span, "a wait with a mutex that is not known here"));
                }
                if self.recursive.contains_key(&m) {
                    return Err(self.refuse(span, "a wait with a recursive mutex"));
                }
                self.mutex_kinds.insert(m, false);
                let over = if name == "cnd_timedwait" { THRD_TIMEDOUT } else { ETIMEDOUT };
                if matches!(name, "pthread_cond_wait" | "cnd_wait") {
                    on(self, Condition, &mut |me, s| me.b.wait(me.t, s, m))?;
                } else {
                    // When the time is over nobody knows, so how long it is does not matter.
                    self.effects(&args[2..])?;
                    let r = self.temporary(result);
                    on(self, Condition, &mut |me, s| me.b.timed_wait(me.t, s, m, r, over))?;
                    return Ok(Some(self.outcome(r)));
                }
            }
            // The time can only be over while another thread has the lock: that is an attempt at that moment.
            "pthread_mutex_timedlock" | "pthread_mutex_clocklock" => {
                self.effects(args.get(1..).unwrap_or_default())?;
                let r = self.temporary(result);
                on(self, Mutex, &mut |me, s| me.try_lock(s, r, ETIMEDOUT))?;
                return Ok(Some(self.outcome(r)));
            }
            "mtx_timedlock" => {
                self.effects(args.get(1..).unwrap_or_default())?;
                let r = self.temporary(result);
                on(self, Mutex, &mut |me, s| me.try_lock(s, r, THRD_TIMEDOUT))?;
                return Ok(Some(self.outcome(r)));
            }
            "pthread_rwlock_timedrdlock" => {
                self.effects(args.get(1..).unwrap_or_default())?;
                let r = self.temporary(result);
                on(self, RwLock, &mut |me, s| me.b.try_read_lock(me.t, s, r, 0, ETIMEDOUT))?;
                return Ok(Some(self.outcome(r)));
            }
            "pthread_rwlock_timedwrlock" => {
                self.effects(args.get(1..).unwrap_or_default())?;
                let r = self.temporary(result);
                on(self, RwLock, &mut |me, s| me.b.try_write_lock(me.t, s, r, 0, ETIMEDOUT))?;
                return Ok(Some(self.outcome(r)));
            }
            "sem_timedwait" => {
                self.effects(args.get(1..).unwrap_or_default())?;
                let r = self.temporary(result);
                on(self, Semaphore, &mut |me, s| me.b.sem_try_wait(me.t, s, r, 0, u32::MAX as u64))?;
                return Ok(Some(self.outcome(r)));
            }
            "sem_getvalue" => {
                let r = self.temporary(result);
                on(self, Semaphore, &mut |me, s| me.b.sem_value(me.t, s, r))?;
                let to = self.arg(args, 1, span)?;
                let to = self.pointed(to)?;
                let value = self.outcome(r);
                let own = self.type_at(&to);
                let term = self.convert(value, &own, span)?;
                self.store(&to, term, span)?;
            }
            "pthread_cond_signal" | "cnd_signal" => on(self, Condition, &mut |me, s| me.b.signal(me.t, s))?,
            "pthread_cond_broadcast" | "cnd_broadcast" => {
                on(self, Condition, &mut |me, s| me.b.broadcast(me.t, s))?
            }
            "pthread_barrier_init" => {
                let n = self.arg(args, 2, span)?;
                self.init(first, Barrier, n, span)?;
            }
            "pthread_barrier_wait" => {
                let r = self.temporary(result);
                on(self, Barrier, &mut |me, s| me.b.arrive(me.t, s, Some((r, SERIAL))))?;
                return Ok(Some(self.outcome(r)));
            }
            "sem_init" => {
                let n = self.arg(args, 2, span)?;
                self.init(first, Semaphore, n, span)?;
            }
            "sem_wait" => on(self, Semaphore, &mut |me, s| me.b.sem_wait(me.t, s))?,
            "sem_post" => on(self, Semaphore, &mut |me, s| me.b.sem_post(me.t, s))?,
            "sem_trywait" => {
                let r = self.temporary(result);
                on(self, Semaphore, &mut |me, s| me.b.sem_try_wait(me.t, s, r, 0, u32::MAX as u64))?;
                return Ok(Some(self.outcome(r)));
            }
            _ => return Ok(None),
        }
        Ok(Some(self.number(0)))
    }

    fn outcome(&mut self, r: crate::VarId) -> Value {
        self.env.remove(&(r, 0));
        Value { term: self.local_value(r), ctype: CType::INT }
    }

    fn init(
        &mut self,
        object: Option<&'a Node<Expression>>,
        kind: SyncType,
        n: &'a Node<Expression>,
        span: Span,
    ) -> Res<()> {
        let value = self.rvalue(n)?;
        let value = self.convert(value, &CType::Int(Type::UINT), span)?;
        match object {
            Some(e) => self.on(e, kind, span, &mut |me, s| me.b.sync_init(me.t, s, value)),
            None => Err(self.refuse(span, "an argument is missing")),
        }
    }

    fn init_mutex(&mut self, object: Option<&'a Node<Expression>>, recursive: bool, span: Span) -> Res<()> {
        let Some(e) = object else { return Err(self.refuse(span, "an argument is missing")) };
        let lv = self.pointed_sync(e, SyncType::Mutex)?;
        if self.dead {
            return Ok(());
        }
        for (_, s) in self.syncs(&lv, span)? {
            if self.mutex_kinds.get(&s).is_some_and(|r| *r != recursive) {
                let why = "a mutex that is used before it is known to be recursive, or is not always";
                return Err(self.refuse(span, why));
            }
            if recursive {
                self.make_recursive(s);
            }
            self.mutex_kinds.insert(s, recursive);
        }
        Ok(())
    }

    /// From now on a mutex can be taken again by who has it.
    pub(crate) fn make_recursive(&mut self, s: SyncId) {
        self.mutex_kinds.insert(s, true);
        if !self.recursive.contains_key(&s) {
            let depth = self.b.depth_of(s);
            self.recursive.insert(s, depth);
        }
    }

    fn lock(&mut self, s: SyncId) {
        match self.recursive.get(&s).copied() {
            Some(depth) => self.b.lock_again(self.t, s, depth, None),
            None => {
                self.mutex_kinds.insert(s, false);
                self.b.lock(self.t, s);
            }
        }
    }

    fn try_lock(&mut self, s: SyncId, result: crate::VarId, busy: u64) {
        match self.recursive.get(&s).copied() {
            Some(depth) => self.b.lock_again(self.t, s, depth, Some((result, busy))),
            None => {
                self.mutex_kinds.insert(s, false);
                self.b.try_lock(self.t, s, result, 0, busy);
            }
        }
    }

    fn unlock(&mut self, s: SyncId) {
        match self.recursive.get(&s).copied() {
            Some(depth) => self.b.unlock_again(self.t, s, depth),
            None => {
                self.mutex_kinds.insert(s, false);
                self.b.unlock(self.t, s);
            }
        }
    }

    /// `pthread_once`: one thread calls the function, the others wait until it has returned.
    fn once(&mut self, args: &'a [Node<Expression>], span: Span) -> Res<Value> {
        let (flag, function) = (self.arg(args, 0, span)?, self.arg(args, 1, span)?);
        if self.atomic > 0 {
            return Err(self.refuse(span, "`pthread_once` in an atomic block"));
        }
        let callee = self.rvalue(function)?;
        let lv = self.pointed(flag)?;
        let Some(ty) = self.type_at(&lv).scalar() else {
            return Err(self.refuse(span, "this is no flag of `pthread_once`"));
        };
        // 0 before, 1 while the function runs, 2 afterwards.
        let [zero, one, two] = [0, 1, 2].map(|n| self.b.terms().number(n, ty));
        self.touch(&lv, span, &mut |me, place, own| {
            if me.dead {
                return Ok(());
            }
            let from = me.b.here(me.t);
            let there = me.b.terms().read(place, own);
            let (before, over) = (me.b.terms().eq(there, zero), me.b.terms().eq(there, two));
            me.b.set_may_block(me.t, from);
            let (first, mut done) = (me.join(), me.join());
            me.b.step(me.t, from, first.at, before, vec![Assign { place, value: one }]);
            me.b.step(me.t, from, done.at, over, Vec::new());
            let env = me.env.clone();
            // What the function does may have been done by another thread: only what that cannot change is known.
            done.env = Some(env.clone());
            me.land(Join { env: Some(env), ..first });
            me.call_at(callee.clone(), &[], span)?;
            if me.atomic > 0 && !me.dead {
                return Err(me.refuse(span, "a function that leaves an atomic block open"));
            }
            me.at(span);
            me.set(place, two);
            me.jump(&mut done, span)?;
            me.land(done);
            Ok(())
        })?;
        Ok(self.number(0))
    }

    fn create(
        &mut self,
        handle: &'a Node<Expression>,
        start: &'a Node<Expression>,
        argument: &'a Node<Expression>,
        span: Span,
    ) -> Res<Value> {
        let zero = self.number(0);
        if self.dead {
            return Ok(zero);
        }
        if self.atomic > 0 {
            return Err(self.refuse(span, "a thread that is made in an atomic block"));
        }
        let start = self.rvalue(start)?;
        let name = self.b.terms().as_const(start.term).and_then(|a| self.function_at(a)).map(str::to_owned);
        let Some(f) = name.and_then(|n| self.function(&n)) else {
            return Err(self.refuse(span, "a thread whose function is not known here"));
        };
        let value = self.rvalue(argument)?;
        let value = self.convert(value, &CType::Pointer(Rc::new(CType::Void)), span)?;
        let lv = if self.is_null(handle)? { None } else { Some(self.pointed(handle)?) };
        if self.b.program().threads.len() >= explore::MAX_THREADS {
            return Err(self.refuse(span, format!("more than {} threads", explore::MAX_THREADS)));
        }
        let known = self.b.terms().as_const(value);
        let (t, var) = self.make_thread(&f, known)?;
        if let Some(lv) = lv {
            let ty = self.type_at(&lv).scalar().unwrap_or(ADDRESS);
            let number = self.b.terms().constant(t.0 as u64 + 1, ty);
            self.store(&lv, number, span)?;
        }
        self.at(span);
        let mut assigns = Vec::new();
        if let Some(v) = var {
            let own = self.b.program().var(v).ty;
            let value = self.b.terms().cast(own, value);
            assigns.push(Assign { place: Place::scalar(v), value });
        }
        self.b.create(self.t, t, assigns);
        Ok(zero)
    }

    fn join_thread(&mut self, args: &'a [Node<Expression>], span: Span) -> Res<Value> {
        let zero = self.number(0);
        let handle = self.arg(args, 0, span)?;
        let handle = self.rvalue(handle)?;
        if self.dead {
            return Ok(zero);
        }
        if self.atomic > 0 {
            return Err(self.refuse(span, "a join in an atomic block"));
        }
        let wants = match args.get(1) {
            Some(e) => !self.is_null(e)?,
            None => false,
        };
        match self.b.terms().as_const(handle.term) {
            Some(n) => {
                let t = explore::ThreadId((n as u16).wrapping_sub(1));
                let known = n > 0 && (n as usize) <= self.b.program().threads.len();
                if !known || self.b.program().thread(t).life.is_none() {
                    let no = self.b.terms().boolean(false);
                    self.check(no, ErrorKind::InvalidPointer, "a join of what is no thread");
                    return Ok(zero);
                }
                self.b.join(self.t, t);
                if wants {
                    let lv = self.pointed(&args[1])?;
                    let value = match self.results[t.index()] {
                        None => self.b.terms().constant(0, ADDRESS),
                        Some(v) => {
                            let copy = self.temporary(self.b.program().var(v).ty);
                            let there = self.b.value(v);
                            self.set_var(copy, there);
                            self.env.remove(&(copy, 0));
                            self.local_value(copy)
                        }
                    };
                    let ctype = self.type_at(&lv);
                    let from = Value { term: value, ctype: CType::Int(self.b.terms().ty(value)) };
                    let term = self.convert(from, &ctype, span)?;
                    self.store(&lv, term, span)?;
                }
            }
            None => {
                if wants {
                    return Err(self.refuse(span, "the result of a thread that is not known here"));
                }
                let from = self.b.here(self.t);
                let to = self.b.location(self.t);
                let at = self.b.span();
                self.deferred.push(Deferred { thread: self.t, from, to, handle: handle.term, span: at });
                self.b.go_on_at(self.t, to);
            }
        }
        Ok(zero)
    }

    // ---- atomics

    fn atomic_call(&mut self, name: &str, args: &'a [Node<Expression>], span: Span) -> Res<Option<Value>> {
        if matches!(name, "atomic_thread_fence" | "__atomic_thread_fence" | "__sync_synchronize") {
            self.b.fence();
            self.effects(args)?;
            return Ok(Some(self.void()));
        }
        let Some((what, shape)) = atomic_name(name) else { return Ok(None) };
        if self.function(name).is_some() {
            return Ok(None);
        }
        let order = self.orders(name, matches!(what, Atomic::CompareExchange { .. }), args)?;
        let place = self.arg(args, 0, span)?;
        let lv = self.pointed(place)?;
        let ctype = self.type_at(&lv);
        let Some(_) = ctype.scalar() else {
            return Err(self.refuse(span, format!("an atomic access to {ctype}")));
        };
        let plain = ctype.plain().clone();
        let operand = |me: &mut Self, n: usize| -> Res<Value> {
            let e = me.arg(args, n, span)?;
            if shape == Shape::Pointers {
                let from = me.pointed(e)?;
                return me.load(&from, span);
            }
            me.rvalue(e)
        };
        // Where the result goes of a builtin that returns nothing.
        let hand_over = |me: &mut Self, n: usize, value: Value| -> Res<Value> {
            let e = me.arg(args, n, span)?;
            let to = me.pointed(e)?;
            let own = me.type_at(&to);
            let term = me.convert(value, &own, span)?;
            me.store(&to, term, span)?;
            Ok(me.void())
        };
        let value = match what {
            Atomic::Load if shape == Shape::Pointers => {
                let value = self.load_atomic(&lv, order, span)?;
                hand_over(self, 1, value)?
            }
            Atomic::Load => self.load_atomic(&lv, order, span)?,
            Atomic::Store => {
                let v = match shape {
                    Shape::Clear => self.number(0),
                    _ => operand(self, 1)?,
                };
                let v = self.convert(v, &ctype, span)?;
                self.at(span);
                self.ordered(order, |me| me.store(&lv, v, span))?;
                self.void()
            }
            Atomic::Exchange => {
                let v = match shape {
                    Shape::Set => self.number(1),
                    _ => operand(self, 1)?,
                };
                let v = self.convert(v, &ctype, span)?;
                self.at(span);
                let old = self.ordered(order, |me| me.update(&lv, false, span, &mut |_, _| Ok(v)))?;
                match shape {
                    Shape::Pointers => hand_over(self, 2, old)?,
                    _ => old,
                }
            }
            Atomic::Fetch(op, new) => {
                if matches!(op, Operation::Add | Operation::Sub) {
                    self.no_signed_atomic(&plain, span)?;
                }
                let v = operand(self, 1)?;
                self.at(span);
                let scale = match &plain {
                    CType::Pointer(t) => self.layout(t).0,
                    _ => 1,
                };
                let Some(ty) = plain.scalar() else { return Err(self.refuse(span, "this atomic operation")) };
                let v = self.b.terms().cast(ty, v.term);
                // C11 counts in elements, the builtins of gcc in bytes.
                let scale = if name.starts_with("atomic_") { scale } else { 1 };
                let scale = self.b.terms().constant(scale, ty);
                let v = if plain.scalar() == Some(ADDRESS) {
                    self.b.terms().binary(Binary::Mul, v, scale)
                } else {
                    v
                };
                self.ordered(order, |me| {
                    me.update(&lv, new, span, &mut |me, old| Ok(me.operate_atomic(op, old, v)))
                })?
            }
            Atomic::CompareExchange { weak } => {
                // The expected value is where the second argument points, and gets what was there.
                let expected = self.arg(args, 1, span)?;
                let expected = self.pointed(expected)?;
                let desired = operand(self, 2)?;
                let e = self.load(&expected, span)?;
                // gcc's builtins say by an argument whether they may fail for no reason.
                let weak = match args.get(3).filter(|_| name.starts_with("__atomic_")) {
                    Some(said) => {
                        let said = self.rvalue(said)?;
                        self.b.terms().as_const(said.term) != Some(0)
                    }
                    None => weak,
                };
                self.at(span);
                let (done, old) =
                    self.ordered(order, |me| me.compare_exchange(&lv, e, desired, weak, span))?;
                if !self.dead {
                    let (mut yes, mut no, mut after) = (self.join(), self.join(), self.join());
                    self.fork(done, &mut yes, &mut no, span)?;
                    self.land(no);
                    let own = self.type_at(&expected);
                    let seen = Value { term: old, ctype: plain.clone() };
                    let seen = self.convert(seen, &own, span)?;
                    self.store(&expected, seen, span)?;
                    self.jump(&mut after, span)?;
                    self.land(yes);
                    self.jump(&mut after, span)?;
                    self.land(after);
                }
                let term = self.b.terms().cast(Type::INT, done);
                Value { term, ctype: CType::INT }
            }
            Atomic::Swap { value } => {
                let (e, d) = (operand(self, 1)?, operand(self, 2)?);
                self.at(span);
                let (done, old) = self.ordered(order, |me| me.compare_exchange(&lv, e, d, false, span))?;
                if value {
                    Value { term: old, ctype: plain }
                } else {
                    let term = self.b.terms().cast(Type::INT, done);
                    Value { term, ctype: CType::INT }
                }
            }
        };
        Ok(Some(value))
    }

    fn load_atomic(&mut self, lv: &Lvalue, order: (Order, Order), span: Span) -> Res<Value> {
        self.at(span);
        self.ordered(order, |me| me.load(lv, span))
    }

    /// What an atomic operation orders: where it writes, and where a compare-exchange does not.
    fn orders(&mut self, name: &str, two: bool, args: &'a [Node<Expression>]) -> Res<(Order, Order)> {
        match name {
            "__sync_lock_test_and_set" => return Ok((Order::Acquire, Order::Acquire)),
            "__sync_lock_release" => return Ok((Order::Release, Order::Release)),
            _ => {}
        }
        let told = name.ends_with("_explicit") || name.starts_with("__atomic_");
        let mut nth = |n: usize| -> Res<Order> {
            let at = args.len().checked_sub(n).filter(|_| told);
            let Some(e) = at.and_then(|n| args.get(n)) else { return Ok(Order::Both) };
            let value = self.in_dead_code(|me| me.rvalue(e))?;
            // The numbers of gcc's macros and of `memory_order`; one that is not known here counts as the strongest, as it is compiled.
            Ok(match self.b.terms().as_const(value.term) {
                Some(0) => Order::Relaxed,
                Some(1 | 2) => Order::Acquire,
                Some(3) => Order::Release,
                _ => Order::Both,
            })
        };
        if two { Ok((nth(2)?, nth(1)?)) } else { nth(1).map(|o| (o, o)) }
    }

    /// Accesses of an atomic operation.
    fn ordered<T>(&mut self, order: (Order, Order), access: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        self.b.set_order(Some(order));
        let done = access(self);
        self.b.set_order(None);
        done
    }

    fn operate_atomic(&mut self, op: Operation, old: Term, v: Term) -> Term {
        let op = match op {
            Operation::Add => Binary::Add,
            Operation::Sub => Binary::Sub,
            Operation::And => Binary::And,
            Operation::Or => Binary::Or,
            Operation::Xor => Binary::Xor,
            Operation::Nand => {
                let and = self.b.terms().and(old, v);
                return self.b.terms().not(and);
            }
        };
        self.b.terms().binary(op, old, v)
    }
}

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Sub,
    And,
    Or,
    Xor,
    Nand,
}

#[derive(Clone, Copy)]
enum Atomic {
    Load,
    Store,
    Exchange,
    /// What is done, and whether the value afterwards is wanted.
    Fetch(Operation, bool),
    CompareExchange {
        weak: bool,
    },
    Swap {
        value: bool,
    },
}

/// What the arguments look like.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Plain,
    /// Values are handed over by their addresses.
    Pointers,
    Clear,
    Set,
}

/// What an atomic builtin does, by its name.
fn atomic_name(name: &str) -> Option<(Atomic, Shape)> {
    let operation = |n: &str| {
        Some(match n {
            "add" => Operation::Add,
            "sub" => Operation::Sub,
            "and" => Operation::And,
            "or" => Operation::Or,
            "xor" => Operation::Xor,
            "nand" => Operation::Nand,
            _ => return None,
        })
    };
    if let Some(rest) = name.strip_prefix("__sync_") {
        if let Some(op) = rest.strip_prefix("fetch_and_").and_then(operation) {
            return Some((Atomic::Fetch(op, false), Shape::Plain));
        }
        if let Some(op) = rest.strip_suffix("_and_fetch").and_then(operation) {
            return Some((Atomic::Fetch(op, true), Shape::Plain));
        }
        return Some(match rest {
            "bool_compare_and_swap" => (Atomic::Swap { value: false }, Shape::Plain),
            "val_compare_and_swap" => (Atomic::Swap { value: true }, Shape::Plain),
            "lock_test_and_set" => (Atomic::Exchange, Shape::Plain),
            "lock_release" => (Atomic::Store, Shape::Clear),
            _ => return None,
        });
    }
    let (rest, builtin) = match (name.strip_prefix("__atomic_"), name.strip_prefix("atomic_")) {
        (Some(rest), _) => (rest, true),
        (_, Some(rest)) => (rest.strip_suffix("_explicit").unwrap_or(rest), false),
        _ => return None,
    };
    if let Some(op) = rest.strip_prefix("fetch_").and_then(operation) {
        return Some((Atomic::Fetch(op, false), Shape::Plain));
    }
    if let Some(op) = rest.strip_suffix("_fetch").and_then(operation).filter(|_| builtin) {
        return Some((Atomic::Fetch(op, true), Shape::Plain));
    }
    Some(match rest {
        "load" if !builtin => (Atomic::Load, Shape::Plain),
        "load_n" if builtin => (Atomic::Load, Shape::Plain),
        "store" | "init" if !builtin => (Atomic::Store, Shape::Plain),
        "store_n" if builtin => (Atomic::Store, Shape::Plain),
        "exchange" if !builtin => (Atomic::Exchange, Shape::Plain),
        "exchange_n" if builtin => (Atomic::Exchange, Shape::Plain),
        "compare_exchange_strong" if !builtin => (Atomic::CompareExchange { weak: false }, Shape::Plain),
        "compare_exchange_weak" if !builtin => (Atomic::CompareExchange { weak: true }, Shape::Plain),
        "load" => (Atomic::Load, Shape::Pointers),
        "store" => (Atomic::Store, Shape::Pointers),
        "exchange" => (Atomic::Exchange, Shape::Pointers),
        // Whether it is weak is an argument.
        "compare_exchange_n" if builtin => (Atomic::CompareExchange { weak: true }, Shape::Plain),
        "compare_exchange" if builtin => (Atomic::CompareExchange { weak: true }, Shape::Pointers),
        "flag_test_and_set" if !builtin => (Atomic::Exchange, Shape::Set),
        "test_and_set" if builtin => (Atomic::Exchange, Shape::Set),
        "flag_clear" if !builtin => (Atomic::Store, Shape::Clear),
        "clear" if builtin => (Atomic::Store, Shape::Clear),
        _ => return None,
    })
}

/// What a format says of each argument: the letter of its conversion (`S` for a text up to a length), or `*` for a width.
fn conversions(format: &[i128]) -> Vec<char> {
    let mut out = Vec::new();
    let mut chars = format.iter().filter_map(|c| u8::try_from(*c).ok()).map(char::from);
    while let Some(c) = chars.next() {
        if c != '%' {
            continue;
        }
        let mut limited = false;
        for c in chars.by_ref() {
            match c {
                '%' => break,
                '*' => out.push('*'),
                '.' => limited = true,
                's' if limited => {
                    out.push('S');
                    break;
                }
                c if c.is_ascii_alphabetic() && !"hljztL".contains(c) => {
                    out.push(c);
                    break;
                }
                _ => {}
            }
        }
    }
    out
}

/// The text of a string literal.
fn text_of(e: &Node<Expression>) -> String {
    match &e.node {
        Expression::StringLiteral(s) => {
            let part = |p: &String| p.trim_matches('"').replace("\\\"", "\"").replace("\\\\", "\\");
            s.node.iter().map(part).collect()
        }
        _ => String::new(),
    }
}
