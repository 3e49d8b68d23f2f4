//! Threads, locks and what else pthreads and C11 threads have.

use super::addresses::{How, handle_of, thread_of};
use super::ctype::{ADDRESS, CType, Shape, ShapeKind, SyncType};
use super::expr::{Lvalue, Value};
use super::lower::{Deferred, Join, Lowering, Res};
use crate::program::{ErrorKind, LocationKind, SyncId, SyncKind};
use crate::term::{Assign, Place, Term, Type};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// What `pthread_mutex_trylock` returns for a mutex that is taken.
const EBUSY: u64 = 16;

/// What is returned to who gives back what it does not have.
const EPERM: u64 = 1;

/// What is returned to who would wait for itself.
const EDEADLK: u64 = 35;

/// What is returned for a number that cannot be.
const EINVAL: u64 = 22;

/// The code for a number that this system does not support.
const ENOTSUP: u64 = 95;

/// The smallest stack of a thread, in bytes.
const LEAST_STACK: i128 = 16384;

/// Functions whose only effect here is what they return: 0 for a number from the least to the most, and else a code. With the position
/// of that number among the arguments, and whether it is as wide as an address.
const NUMBERS: &[(&str, usize, bool, (i128, i128))] = &[
    ("pthread_attr_setstacksize", 1, true, (LEAST_STACK, i64::MAX as i128)),
    ("pthread_attr_setscope", 1, false, (0, 0)),
    ("pthread_mutexattr_setpshared", 1, false, (0, 1)),
    ("pthread_mutexattr_setprotocol", 1, false, (0, 2)),
    ("pthread_setconcurrency", 0, false, (0, i32::MAX as i128)),
];

/// What a semaphore can begin with.
const SEMAPHORES: u64 = 1 << 30;

/// What a wait returns whose time is over.
const ETIMEDOUT: u64 = 110;

/// The same for `mtx_trylock`, and for C11's waits whose time is over.
const THRD_BUSY: u64 = 1;

const THRD_TIMEDOUT: u64 = 4;

/// What `pthread_barrier_wait` returns to one thread.
const SERIAL: u64 = u32::MAX as u64;

/// What a mutex does with who takes it again, or gives it back without having it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MutexKind {
    /// The one waits, the other is wrong.
    Plain,
    /// It can be taken again.
    Recursive,
    /// Both are told so.
    Checking,
}

impl MutexKind {
    /// As glibc numbers them; the fourth spins for a while before it waits.
    pub(super) fn of(n: i128) -> MutexKind {
        match n {
            1 => MutexKind::Recursive,
            2 => MutexKind::Checking,
            _ => MutexKind::Plain,
        }
    }
}

impl<'a> Lowering<'a> {
    /// Does something on the object that an argument points to, whichever it is.
    fn on(
        &mut self,
        e: &'a Node<Expression>,
        kind: SyncType,
        span: Span,
        f: &mut dyn FnMut(&mut Self, SyncId),
    ) -> Res<()> {
        let lv = self.pointed_sync(e, kind)?;
        self.on_object(&lv, span, f)
    }

    /// Does something on a synchronisation object whose lvalue is known.
    fn on_object(&mut self, lv: &Lvalue, span: Span, f: &mut dyn FnMut(&mut Self, SyncId)) -> Res<()> {
        let list = self.syncs(lv, span)?;
        self.on_one_of(list, span, &mut |me, s| {
            me.syncs_still_there(&[s]);
            f(me, s)
        })
    }

    /// Evaluates an operand of which only its effects matter.
    fn effects_of(&mut self, args: &'a [Node<Expression>], n: usize) -> Res<()> {
        self.effects(args.get(n..=n).unwrap_or_default())
    }

    /// Does something on one of these: the one whose condition holds.
    fn on_one_of<T: Copy>(
        &mut self,
        list: Vec<(Term, T)>,
        span: Span,
        f: &mut dyn FnMut(&mut Self, T),
    ) -> Res<()> {
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

    pub(super) fn pthread_call(
        &mut self,
        name: &str,
        args: &'a [Node<Expression>],
        span: Span,
    ) -> Res<Option<Value>> {
        use SyncType::*;
        let result = Type::INT;
        let first = args.first();
        let on = |me: &mut Self, kind, f: &mut dyn FnMut(&mut Self, SyncId)| match first {
            Some(e) => me.on(e, kind, span, f),
            None => Err(me.refuse(span, "an argument is missing")),
        };
        if let Some((_, n, wide, range)) = NUMBERS.iter().find(|(known, ..)| *known == name) {
            return self.number_in_range(args, *n, *wide, *range, span).map(Some);
        }
        match name {
            "pthread_create" => {
                let [handle, attributes, start, argument] = args else {
                    return Err(self.refuse(span, "`pthread_create` takes 4 arguments"));
                };
                return self.create(handle, Some(attributes), start, argument, span).map(Some);
            }
            "thrd_create" => {
                let [handle, start, argument] = args else {
                    return Err(self.refuse(span, "`thrd_create` takes 3 arguments"));
                };
                return self.create(handle, None, start, argument, span).map(Some);
            }
            "pthread_join" | "thrd_join" => return self.join_thread(args, span).map(Some),
            "pthread_detach" | "thrd_detach" => return self.detach_thread(args, span).map(Some),
            // Of the attributes of a thread only one matters: whether it is detached.
            "pthread_attr_init" | "pthread_attr_setdetachstate" => {
                let to = self.arg(args, 0, span)?;
                let state = match name {
                    "pthread_attr_init" => self.number(0),
                    _ => {
                        let state = self.arg(args, 1, span)?;
                        self.rvalue(state)?
                    }
                };
                if !self.detaches {
                    self.effects(&args[..1])?;
                    return Ok(Some(self.number(0)));
                }
                if !self.dead && !matches!(self.b.terms().as_const(state.term), Some(0 | 1)) {
                    return Err(self.refuse(span, "whether threads are detached is not known here"));
                }
                let to = self.pointed(to)?;
                let state = self.convert(state, &CType::INT, span)?;
                self.store(&to, state, span)?;
            }
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
                if self.atomic > 0 && !self.dead {
                    return Err(self.refuse(span, "a thread that ends in an atomic block"));
                }
                self.leave_keys(span)?;
                self.end_stack_syncs();
                self.end_all_locals();
                self.end_main();
                self.stop(LocationKind::End);
                return Ok(Some(self.void()));
            }
            "pthread_self" | "thrd_current" => {
                let me = handle_of(self.t);
                self.main_is_named |= self.t.0 == 0;
                return Ok(Some(self.value(me.into(), ADDRESS)));
            }
            "pthread_equal" | "thrd_equal" => {
                let (a, b) = (self.arg(args, 0, span)?, self.arg(args, 1, span)?);
                let (a, b) = (self.rvalue(a)?, self.rvalue(b)?);
                self.look(How::Equal, a.term, Some(b.term), span);
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
                // A kind that there is not leaves the attribute as it is.
                if self.b.terms().as_const(kind).is_some_and(|k| k > 3) {
                    return Ok(Some(self.number(EINVAL as i128)));
                }
                self.store(&to, kind, span)?;
            }
            "pthread_mutex_init" => {
                let mut kind = 0;
                if let Some(attributes) = args.get(1)
                    && !self.is_null_now(attributes)?
                {
                    let from = self.pointed(attributes)?;
                    let said = self.load(&from, span)?;
                    let Some(known) = self.b.terms().as_const(said.term) else {
                        return Err(self.refuse(span, "a mutex whose kind is not known here"));
                    };
                    kind = known;
                }
                self.init_mutex(first, MutexKind::of(kind.into()), span)?;
            }
            "mtx_init" => {
                let kind = self.arg(args, 1, span)?;
                let kind = self.constant(kind, "the kind of a mutex")?;
                self.init_mutex(first, MutexKind::of(kind & 1), span)?;
            }
            "cnd_init" => self.set_up(first, Condition, span)?,
            "pthread_cond_init" | "pthread_rwlock_init" => {
                if let Some(attributes) = args.get(1)
                    && !self.is_null_now(attributes)?
                {
                    return Err(self.refuse(span, "attributes of a lock"));
                }
                let kind = if name == "pthread_cond_init" { Condition } else { RwLock };
                self.set_up(first, kind, span)?;
            }
            "pthread_spin_init" => {
                self.effects_of(args, 1)?;
                self.set_up(first, Mutex, span)?
            }
            "pthread_mutex_destroy" | "pthread_spin_destroy" | "mtx_destroy" => {
                on(self, Mutex, &mut |me, s| me.b.destroy(me.t, s))?
            }
            "pthread_cond_destroy" | "cnd_destroy" => {
                on(self, Condition, &mut |me, s| me.b.destroy(me.t, s))?
            }
            "pthread_rwlock_destroy" => on(self, RwLock, &mut |me, s| me.b.destroy(me.t, s))?,
            "pthread_barrier_destroy" => on(self, Barrier, &mut |me, s| me.b.destroy(me.t, s))?,
            "sem_destroy" => on(self, Semaphore, &mut |me, s| me.b.destroy(me.t, s))?,
            "pthread_mutex_lock" | "pthread_spin_lock" | "mtx_lock" => {
                let r = self.checked_result();
                on(self, Mutex, &mut |me, s| me.lock(s, r))?;
                return Ok(Some(r.map_or(self.number(0), |r| self.outcome(r))));
            }
            "pthread_mutex_unlock" | "pthread_spin_unlock" | "mtx_unlock" => {
                let r = self.checked_result();
                on(self, Mutex, &mut |me, s| me.unlock(s, r))?;
                return Ok(Some(r.map_or(self.number(0), |r| self.outcome(r))));
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
            // As glibc has it, who writes is told so instead of waiting for itself.
            "pthread_rwlock_rdlock" | "pthread_rwlock_wrlock" => {
                let r = self.temporary(result);
                let write = name == "pthread_rwlock_wrlock";
                on(self, RwLock, &mut |me, s| me.b.rw_lock_or(me.t, s, write, (r, EDEADLK)))?;
                return Ok(Some(self.outcome(r)));
            }
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
                let mutexes = self.syncs(&lv, span)?;
                if mutexes.iter().any(|(_, m)| self.recursive.contains_key(m)) {
                    return Err(self.refuse(span, "a wait with a recursive mutex"));
                }
                let mut checking = Vec::new();
                for (_, m) in &mutexes {
                    match self.mutex_kinds.get(m) {
                        Some(MutexKind::Checking) => checking.push(*m),
                        _ => drop(self.mutex_kinds.insert(*m, MutexKind::Plain)),
                    }
                }
                let condition = self.arg(args, 0, span)?;
                let lv = self.pointed_sync(condition, Condition)?;
                let conditions = self.syncs(&lv, span)?;
                let mut list = Vec::new();
                for (this, m) in &mutexes {
                    for (that, c) in &conditions {
                        let both = self.b.terms().and(*this, *that);
                        if self.b.terms().as_const(both) != Some(0) {
                            list.push((both, (*c, *m)));
                        }
                    }
                }
                let over = if name == "cnd_timedwait" { THRD_TIMEDOUT } else { ETIMEDOUT };
                let timed = !matches!(name, "pthread_cond_wait" | "cnd_wait");
                if timed {
                    // When the time is over nobody knows, so how long it is does not matter.
                    self.effects(&args[2..])?;
                }
                if timed || !checking.is_empty() {
                    let r = self.temporary(result);
                    self.on_one_of(list, span, &mut |me, (c, m)| {
                        me.syncs_still_there(&[c, m]);
                        let denied = checking.contains(&m).then(|| me.b.unless_held(me.t, m, (r, EPERM)));
                        match timed {
                            true => me.b.timed_wait(me.t, c, m, r, over),
                            false => me.b.wait_told(me.t, c, m, r),
                        }
                        if let Some(after) = denied {
                            me.b.jump(me.t, after);
                            me.b.go_on_at(me.t, after);
                        }
                    })?;
                    return Ok(Some(self.outcome(r)));
                }
                self.on_one_of(list, span, &mut |me, (c, m)| {
                    me.syncs_still_there(&[c, m]);
                    me.b.wait(me.t, c, m);
                })?;
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
                self.effects_of(args, 1)?;
                return self.init(first, Barrier, n, span).map(Some);
            }
            "pthread_barrier_wait" => {
                let r = self.temporary(result);
                on(self, Barrier, &mut |me, s| me.b.arrive(me.t, s, Some((r, SERIAL))))?;
                return Ok(Some(self.outcome(r)));
            }
            "sem_init" => {
                let n = self.arg(args, 2, span)?;
                self.effects_of(args, 1)?;
                return self.init(first, Semaphore, n, span).map(Some);
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

    /// A call of one of [`NUMBERS`].
    fn number_in_range(
        &mut self,
        args: &'a [Node<Expression>],
        n: usize,
        wide: bool,
        (least, most): (i128, i128),
        span: Span,
    ) -> Res<Value> {
        let e = self.arg(args, n, span)?;
        self.effects(&args[..n])?;
        let value = self.rvalue(e)?;
        let ty = if wide { ADDRESS } else { Type::INT };
        let value = self.convert(value, &CType::Int(ty), span)?;
        let [least, most] = [least, most].map(|b| self.b.terms().number(b, ty));
        let (enough, fits) = (self.b.terms().le(least, value), self.b.terms().le(value, most));
        let fine = self.b.terms().and(enough, fits);
        // A scope that there is, and that Linux does not have.
        let one = self.b.terms().number(1, ty);
        let known = self.b.terms().eq(value, one);
        let scope = n == 1 && least == most;
        let codes = [0, EINVAL, ENOTSUP].map(|c| self.b.terms().int(c as i32));
        let wrong = if scope { self.b.terms().ite(known, codes[2], codes[1]) } else { codes[1] };
        let term = self.b.terms().ite(fine, codes[0], wrong);
        Ok(Value { term, ctype: CType::INT })
    }

    /// Whether `main` has ended by `pthread_exit`: threads may join it then. If it returns, no thread runs on.
    pub(super) fn main_ended(&mut self) -> crate::VarId {
        if let Some(known) = self.main_end {
            return known;
        }
        let var = self.b.shared("main%ended", Type::BOOL, 0);
        self.b.set_declared_atomic(var);
        self.main_end = Some(var);
        var
    }

    /// The main thread ends, and others run on.
    fn end_main(&mut self) {
        if self.t.0 == 0 && !self.dead && self.joins {
            let var = self.main_ended();
            let one = self.b.terms().constant(1, Type::BOOL);
            self.b.assign(self.t, var, one);
        }
    }

    fn outcome(&mut self, r: crate::VarId) -> Value {
        self.env.remove(&(r, 0));
        Value { term: self.local_value(r), ctype: CType::INT }
    }

    /// Gives a barrier or a semaphore its number, and says whether it can have that.
    fn init(
        &mut self,
        object: Option<&'a Node<Expression>>,
        kind: SyncType,
        n: &'a Node<Expression>,
        span: Span,
    ) -> Res<Value> {
        let Some(e) = object else { return Err(self.refuse(span, "an argument is missing")) };
        let value = self.rvalue(n)?;
        let value = self.convert(value, &CType::Int(Type::UINT), span)?;
        let value = self.kept_for(value, e);
        let object = self.pointed_sync(e, kind)?;
        let (ok, refused) = match kind {
            SyncType::Barrier => {
                let zero = self.b.terms().constant(0, Type::UINT);
                (self.b.terms().ne(value, zero), EINVAL)
            }
            _ => {
                // Far below the most that there can be, so that nobody comes there by giving back.
                let near = self.b.terms().constant(SEMAPHORES, Type::UINT);
                let most = self.b.terms().constant(i32::MAX as u64, Type::UINT);
                let (few, fits) = (self.b.terms().le(value, near), self.b.terms().le(value, most));
                let too_many = self.b.terms().not(fits);
                let fine = self.b.terms().or(few, too_many);
                self.check(fine, ErrorKind::Bound, "a semaphore begins with more than a milliard");
                (fits, u32::MAX as u64)
            }
        };
        let company = self.has_company();
        let mut set_up = |me: &mut Self, s: SyncId| {
            me.b.sync_init(me.t, s, value);
            me.b.initializes(me.t, s, company);
        };
        if self.b.terms().as_const(ok) == Some(1) || self.dead {
            self.on_object(&object, span, &mut set_up)?;
            return Ok(self.number(0));
        }
        let r = self.temporary(Type::INT);
        let (mut yes, mut no, mut after) = (self.join(), self.join(), self.join());
        self.fork(ok, &mut yes, &mut no, span)?;
        self.land(no);
        let code = self.b.terms().constant(refused, Type::INT);
        self.set_var(r, code);
        self.jump(&mut after, span)?;
        self.land(yes);
        self.on_object(&object, span, &mut set_up)?;
        let zero = self.b.terms().int(0);
        self.set_var(r, zero);
        self.jump(&mut after, span)?;
        self.land(after);
        Ok(self.outcome(r))
    }

    fn init_mutex(&mut self, object: Option<&'a Node<Expression>>, kind: MutexKind, span: Span) -> Res<()> {
        let Some(e) = object else { return Err(self.refuse(span, "an argument is missing")) };
        let lv = self.pointed_sync(e, SyncType::Mutex)?;
        if self.dead {
            return Ok(());
        }
        let mut known = false;
        for (_, s) in self.syncs(&lv, span)? {
            let before = self.mutex_kinds.get(&s);
            if before.is_some_and(|k| *k != kind) {
                let why = "a mutex that is used before its kind is known, or is not always of one kind";
                return Err(self.refuse(span, why));
            }
            known |= before.is_some();
            self.make_mutex(s, kind);
        }
        self.set_up_or_anew(&lv, known, span)
    }

    /// A lock or a condition variable is set up: it may have been destroyed before.
    fn set_up(&mut self, object: Option<&'a Node<Expression>>, kind: SyncType, span: Span) -> Res<()> {
        let Some(e) = object else { return Err(self.refuse(span, "an argument is missing")) };
        let lv = self.pointed_sync(e, kind)?;
        self.set_up_or_anew(&lv, false, span)
    }

    /// The same. A lock that may have been used before is a new one then.
    fn set_up_or_anew(&mut self, lv: &Lvalue, known: bool, span: Span) -> Res<()> {
        let company = self.has_company();
        if known || company || self.may_come_again() {
            self.on_object(lv, span, &mut |me, s| {
                if me.b.renew(me.t, s, me.recursive.get(&s).copied()) {
                    me.b.initializes(me.t, s, company);
                }
            })
        } else if self.destroys {
            self.on_object(lv, span, &mut |me, s| {
                me.b.set_up(me.t, s);
            })
        } else {
            Ok(())
        }
    }

    /// The locks and the like of a variable that comes to be are new ones, each time.
    pub(super) fn set_up_anew(&mut self, object: usize) {
        if !self.dead && self.may_come_again() {
            let mut all = Vec::new();
            syncs_of(&self.objects[object].shape, &mut all);
            for s in all {
                if !matches!(
                    self.b.program().sync(s).kind,
                    SyncKind::Barrier { .. } | SyncKind::Semaphore { .. }
                ) {
                    self.b.renew(self.t, s, self.recursive.get(&s).copied());
                }
            }
        }
    }

    /// The memory of the locks and the like in an object is freed.
    pub(super) fn free_syncs(&mut self, object: usize) {
        let mut all = Vec::new();
        syncs_of(&self.objects[object].shape, &mut all);
        for s in all {
            if !self.dead {
                self.b.free_memory_of(self.t, s);
            }
        }
    }

    /// Notes the locks and the like in a local variable.
    pub(super) fn note_stack_syncs(&mut self, object: usize) {
        let mut all = Vec::new();
        syncs_of(&self.objects[object].shape, &mut all);
        for s in all {
            if !self.stack_syncs.contains(&s) {
                self.stack_syncs.push(s);
            }
        }
    }

    /// The stack of the thread ends.
    pub(super) fn end_stack_syncs(&mut self) {
        for s in self.stack_syncs.clone() {
            if !self.dead {
                self.b.end_stack_of(self.t, s);
            }
        }
    }

    /// Whether other threads may run beside the code at hand.
    fn has_company(&self) -> bool {
        self.t.0 > 0 || self.b.program().threads.len() > 1
    }

    /// From now on a mutex is of a kind.
    pub(crate) fn make_mutex(&mut self, s: SyncId, kind: MutexKind) {
        self.mutex_kinds.insert(s, kind);
        if kind == MutexKind::Recursive && !self.recursive.contains_key(&s) {
            let depth = self.b.depth_of(s);
            self.recursive.insert(s, depth);
        }
    }

    fn kind_of(&mut self, s: SyncId) -> MutexKind {
        *self.mutex_kinds.entry(s).or_insert(MutexKind::Plain)
    }

    /// A variable for what is returned, where there are mutexes that do not always return 0.
    fn checked_result(&mut self) -> Option<crate::VarId> {
        let some = self.mutex_kinds.values().any(|k| *k == MutexKind::Checking);
        some.then(|| self.temporary(Type::INT))
    }

    /// What is returned is 0 for all kinds but one.
    fn fine(&mut self, result: Option<crate::VarId>) {
        if let Some(r) = result {
            let zero = self.b.terms().int(0);
            self.set_var(r, zero);
        }
    }

    fn lock(&mut self, s: SyncId, result: Option<crate::VarId>) {
        match (self.kind_of(s), self.recursive.get(&s).copied(), result) {
            (MutexKind::Checking, _, Some(r)) => {
                return self.b.lock_checked(self.t, s, (r, EDEADLK), None);
            }
            (MutexKind::Recursive, Some(depth), _) => self.b.lock_again(self.t, s, depth, None),
            _ => self.b.lock(self.t, s),
        }
        self.fine(result);
    }

    /// Takes a mutex if it is free; `result` gets 0, or `busy`.
    fn try_lock(&mut self, s: SyncId, result: crate::VarId, busy: u64) {
        match (self.kind_of(s), self.recursive.get(&s).copied()) {
            // Who only tries is not told that it is itself.
            (MutexKind::Checking, _) if busy == ETIMEDOUT => {
                self.b.lock_checked(self.t, s, (result, EDEADLK), Some(busy));
            }
            (MutexKind::Recursive, Some(depth)) => {
                self.b.lock_again(self.t, s, depth, Some((result, busy)));
            }
            _ => self.b.try_lock(self.t, s, result, 0, busy),
        }
    }

    fn unlock(&mut self, s: SyncId, result: Option<crate::VarId>) {
        match (self.kind_of(s), self.recursive.get(&s).copied(), result) {
            (MutexKind::Checking, _, Some(r)) => return self.b.unlock_checked(self.t, s, (r, EPERM)),
            (MutexKind::Recursive, Some(depth), _) => self.b.unlock_again(self.t, s, depth),
            _ => self.b.unlock(self.t, s),
        }
        self.fine(result);
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
        attributes: Option<&'a Node<Expression>>,
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
        let mut detached = None;
        match attributes {
            Some(e) if self.detaches && !self.is_null(e)? => {
                let from = self.pointed(e)?;
                detached = Some(self.load(&from, span)?.term);
            }
            Some(e) => self.effects(std::slice::from_ref(e))?,
            None => {}
        }
        let start = self.rvalue(start)?;
        let name = self.b.terms().as_const(start.term).and_then(|a| self.function_at(a)).map(str::to_owned);
        let Some(f) = name.and_then(|n| self.function(&n)) else {
            return Err(self.refuse(span, "a thread whose function is not known here"));
        };
        let value = self.rvalue(argument)?;
        let value = self.convert(value, &CType::Pointer(Rc::new(CType::Void)), span)?;
        let value = self.kept_for(value, handle);
        let lv = if self.is_null_now(handle)? { None } else { Some(self.pointed(handle)?) };
        if self.b.program().threads.len() >= explore::MAX_THREADS {
            return Err(self.refuse(span, format!("more than {} threads", explore::MAX_THREADS)));
        }
        let known = self.b.terms().as_const(value);
        let (t, var) = self.make_thread(&f, known)?;
        self.note_created(t);
        if let Some(value) = detached {
            self.b.detached_from_start(t, value);
            self.note_joined(Some(t));
        }
        if let Some(lv) = lv {
            let ty = self.type_at(&lv).scalar().unwrap_or(ADDRESS);
            let number = self.b.terms().constant(handle_of(t), ty);
            self.store(&lv, number, span)?;
        }
        self.at(span);
        let mut assigns = Vec::new();
        if let Some(v) = var {
            let own = self.b.program().var(v).ty;
            let value = self.b.terms().cast(own, value);
            assigns.push(Assign { place: Place::scalar(v), value });
        }
        self.fresh.clear();
        self.b.create(self.t, t, assigns);
        Ok(zero)
    }

    fn detach_thread(&mut self, args: &'a [Node<Expression>], span: Span) -> Res<Value> {
        let handle = self.arg(args, 0, span)?;
        let handle = self.rvalue(handle)?.term;
        let zero = self.number(0);
        let threads = self.b.program().threads.len();
        let known = self.b.terms().as_const(handle);
        if !self.dead {
            self.note_joined(known.and_then(|n| thread_of(n, threads)));
        }
        if self.dead || !self.options.lock_misuse {
            return Ok(zero);
        }
        if let Some(n) = known {
            if let Some(t) = thread_of(n, threads) {
                self.b.detach(self.t, t);
            } else {
                let no = self.b.terms().boolean(false);
                self.check(no, ErrorKind::InvalidPointer, "what is detached is no thread");
            }
            return Ok(zero);
        }
        let (from, to, at) = (self.b.here(self.t), self.b.location(self.t), self.b.span());
        self.deferred_detaches.push((self.t, (from, to), handle, at));
        self.b.go_on_at(self.t, to);
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
        let handle = match args.get(1) {
            Some(e) => Value { term: self.kept_for(handle.term, e), ..handle },
            None => handle,
        };
        // Where the result goes is known before the wait.
        let goes_to = match args.get(1) {
            Some(e) if !self.is_null_now(e)? => Some(self.pointed(e)?),
            _ => None,
        };
        let wants = goes_to.is_some();
        match self.b.terms().as_const(handle.term) {
            Some(n) => {
                let known = thread_of(n, self.b.program().threads.len());
                if known == Some(self.t) {
                    return Ok(self.number(EDEADLK as i128));
                }
                if known == Some(explore::ThreadId(0)) {
                    if wants {
                        return Err(
                            self.refuse(span, "the result of the main thread, which another thread joins")
                        );
                    }
                    let (ended, from) = (self.main_ended(), self.b.here(self.t));
                    self.b.set_may_block(self.t, from);
                    let over = self.b.value(ended);
                    self.b.then(self.t, over, Vec::new());
                    return Ok(zero);
                }
                let Some(t) = known.filter(|t| self.b.program().thread(*t).life.is_some()) else {
                    let no = self.b.terms().boolean(false);
                    self.check(no, ErrorKind::InvalidPointer, "a join of what is no thread");
                    return Ok(zero);
                };
                self.b.join(self.t, t);
                self.note_joined(Some(t));
                if let Some(lv) = goes_to {
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
                let result = self.temporary(Type::INT);
                self.set_var(result, zero.term);
                let returned = if wants { Some(self.temporary(ADDRESS)) } else { None };
                if let Some(r) = returned {
                    // The other case is that the thread is the one that asks, which gets none.
                    let nothing = self.b.terms().constant(0, ADDRESS);
                    self.set_var(r, nothing);
                }
                let from = self.b.here(self.t);
                let to = self.b.location(self.t);
                let at = self.b.span();
                self.deferred.push(Deferred {
                    thread: self.t,
                    from,
                    to,
                    handle: handle.term,
                    span: at,
                    result: (result, EDEADLK),
                    returned,
                });
                self.b.go_on_at(self.t, to);
                self.note_joined(None);
                let outcome = self.outcome(result);
                if let (Some(r), Some(lv)) = (returned, goes_to) {
                    self.env.remove(&(r, 0));
                    let term = self.local_value(r);
                    let ctype = self.type_at(&lv);
                    let from = Value { term, ctype: CType::Int(ADDRESS) };
                    let term = self.convert(from, &ctype, span)?;
                    // Who asks for its own gets nothing.
                    let (mut yes, mut no) = (self.join(), self.join());
                    let told = self.b.terms().truth(outcome.term);
                    self.fork(told, &mut no, &mut yes, span)?;
                    self.land(yes);
                    self.store(&lv, term, span)?;
                    self.jump(&mut no, span)?;
                    self.land(no);
                }
                return Ok(outcome);
            }
        }
        Ok(zero)
    }
}

/// The locks and the like in an object.
fn syncs_of(shape: &Shape, out: &mut Vec<SyncId>) {
    match &shape.kind {
        ShapeKind::Sync(list) => out.extend(list),
        ShapeKind::Struct(fields) => fields.iter().for_each(|(_, f)| syncs_of(f, out)),
        ShapeKind::Array { element, .. } => syncs_of(element, out),
        _ => {}
    }
}
