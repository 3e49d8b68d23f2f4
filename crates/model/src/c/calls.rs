//! Calls: functions of the program are inlined; pthreads, atomics and the intrinsics of verifiers are steps.

use super::ctype::{ADDRESS, CType, SyncType};
use super::expr::{Lvalue, Value};
use super::lower::{Deferred, Lowering, Res};
use crate::program::{ErrorKind, LocationKind, Order, SyncId};
use crate::term::{Assign, Binary, Place, Term, Type};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// What `pthread_mutex_trylock` returns for a mutex that is taken.
const EBUSY: u64 = 16;
/// What a wait returns whose time is over.
const ETIMEDOUT: u64 = 110;
/// What `pthread_barrier_wait` returns to one thread.
const SERIAL: u64 = u32::MAX as u64;

/// Functions that print, sleep or otherwise do nothing that another thread can see: their arguments are evaluated.
const HARMLESS: &[&str] = &[
    "printf",
    "fprintf",
    "puts",
    "putchar",
    "fflush",
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
];

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
        let name = self.b.terms().as_const(callee.term).and_then(|a| self.function_at(a)).map(str::to_owned);
        let f = name.and_then(|n| self.function(&n));
        match f {
            Some(f) => self.inlined(&f, args, span),
            None if self.dead => Ok(self.number(0)),
            None => Err(self.refuse(span, "a call of a function that is not known here")),
        }
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
                Some(p) => {
                    if p.ctype.scalar().is_none() {
                        return Err(self.refuse(a.span, format!("{} as an argument", p.ctype)));
                    }
                    let v = self.rvalue(a)?;
                    let term = self.convert(v, &p.ctype, a.span)?;
                    let pointed = self.pointed_argument(a, &p.ctype);
                    // Formulas speak of arrays by name, so a pointer into one is followed into the function.
                    if matches!(p.ctype.plain(), CType::Pointer(_)) && pointed.is_none() {
                        contract = None;
                    }
                    values.push((term, p.ctype.clone(), pointed));
                }
                None => self.effect(a)?,
            }
        }
        let result = match f.result.plain() {
            CType::Void => None,
            t => {
                let Some(ty) = t.scalar() else {
                    return Err(self.refuse(span, format!("{t} as the result of a function")));
                };
                Some((self.temporary(ty), t.clone()))
            }
        };
        if let Some(contract) = contract.filter(|c| self.are_apart(f, c, &values)) {
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
        self.inline(f, values, result.clone(), span)?;
        if atomic {
            self.end_atomic();
        }
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
        if HARMLESS.contains(&name) && self.function(name).is_none() {
            self.effects(args)?;
            return Ok(Some(self.number(0)));
        }
        Ok(None)
    }

    fn fail(&mut self, message: &str) {
        let no = self.b.terms().boolean(false);
        self.check(no, ErrorKind::Assertion, message);
    }

    fn verifier_call(&mut self, name: &str, args: &'a [Node<Expression>], span: Span) -> Res<Option<Value>> {
        if let Some(of) = name.strip_prefix("__VERIFIER_nondet_") {
            let ty = match of {
                "bool" | "_Bool" => Type::BOOL,
                "char" => Type::signed(8),
                "uchar" => Type::unsigned(8),
                "short" => Type::signed(16),
                "ushort" => Type::unsigned(16),
                "int" => Type::INT,
                "uint" | "unsigned" | "unsigned_int" => Type::UINT,
                "long" | "longlong" => Type::signed(64),
                "ulong" | "ulonglong" | "size_t" | "loff_t" => Type::unsigned(64),
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
                if self.atomic > 0 {
                    self.end_atomic();
                }
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
            "pthread_create" => return self.create(args, span).map(Some),
            "pthread_join" => return self.join_thread(args, span).map(Some),
            "pthread_exit" => {
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
            "pthread_self" => {
                let me = self.t.0 as i128 + 1;
                return Ok(Some(self.value(me, ADDRESS)));
            }
            "pthread_equal" => {
                let (a, b) = (self.arg(args, 0, span)?, self.arg(args, 1, span)?);
                let (a, b) = (self.rvalue(a)?, self.rvalue(b)?);
                let same = self.b.terms().eq(a.term, b.term);
                let term = self.b.terms().cast(Type::INT, same);
                return Ok(Some(Value { term, ctype: CType::INT }));
            }
            "pthread_mutex_init" | "pthread_cond_init" | "pthread_rwlock_init" => {
                if let Some(attributes) = args.get(1)
                    && !self.is_null(attributes)?
                {
                    return Err(self.refuse(span, "attributes of a lock"));
                }
            }
            "pthread_spin_init" => {}
            "pthread_mutex_lock" | "pthread_spin_lock" => on(self, Mutex, &mut |me, s| me.b.lock(me.t, s))?,
            "pthread_mutex_unlock" | "pthread_spin_unlock" => {
                on(self, Mutex, &mut |me, s| me.b.unlock(me.t, s))?
            }
            "pthread_mutex_trylock" | "pthread_spin_trylock" => {
                let r = self.temporary(result);
                on(self, Mutex, &mut |me, s| me.b.try_lock(me.t, s, r, 0, EBUSY))?;
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
            "pthread_cond_wait" | "pthread_cond_timedwait" | "pthread_cond_clockwait" => {
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
                if name == "pthread_cond_wait" {
                    on(self, Condition, &mut |me, s| me.b.wait(me.t, s, m))?;
                } else {
                    // When the time is over nobody knows, so how long it is does not matter.
                    self.effects(&args[2..])?;
                    let r = self.temporary(result);
                    on(self, Condition, &mut |me, s| me.b.timed_wait(me.t, s, m, r, ETIMEDOUT))?;
                    return Ok(Some(self.outcome(r)));
                }
            }
            // The time can only be over while another thread has the lock: that is an attempt at that moment.
            "pthread_mutex_timedlock" | "pthread_mutex_clocklock" => {
                self.effects(args.get(1..).unwrap_or_default())?;
                let r = self.temporary(result);
                on(self, Mutex, &mut |me, s| me.b.try_lock(me.t, s, r, 0, ETIMEDOUT))?;
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
            "pthread_cond_signal" => on(self, Condition, &mut |me, s| me.b.signal(me.t, s))?,
            "pthread_cond_broadcast" => on(self, Condition, &mut |me, s| me.b.broadcast(me.t, s))?,
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

    fn create(&mut self, args: &'a [Node<Expression>], span: Span) -> Res<Value> {
        let zero = self.number(0);
        if self.dead {
            return Ok(zero);
        }
        if self.atomic > 0 {
            return Err(self.refuse(span, "a thread that is made in an atomic block"));
        }
        let [handle, _, start, argument] = args else {
            return Err(self.refuse(span, "`pthread_create` takes 4 arguments"));
        };
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
        if self.atomic > 0 {
            return access(self);
        }
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
