//! Keys for data of threads: each thread has a variable for each key.
//!
//! Each call that makes a key and is lowered makes one of its own. Which one a variable holds only the run knows, if threads share it: what is
//! done with it is done for each that there is. So all have to be known before, and everything is lowered again until they are.
//!
//! When a thread ends, what it has is handed to the function of the key, again as long as that leaves something, up to four times. In which
//! order that is done for several keys nobody knows: a run in which it would matter goes beyond a bound.

use super::ctype::{ADDRESS, CType};
use super::expr::Value;
use super::lower::{Argument, Lowering, Res};
use crate::program::{ErrorKind, Scope, ThreadId, Var};
use crate::term::{Term, Type, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::collections::HashMap;
use std::rc::Rc;

/// How often what is left is handed to the function of a key: `PTHREAD_DESTRUCTOR_ITERATIONS`.
const ROUNDS: u32 = 4;

/// A key: the function that is called with what a thread has when it ends.
pub(crate) type Key = Option<String>;

/// What is known of keys.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// As far as was known before, and now.
    before: Vec<Key>,
    pub(crate) now: Vec<Key>,
    vars: HashMap<(ThreadId, usize), VarId>,
    /// Whether the program deletes keys, and by key the variable that says that it was.
    pub(super) deletes: bool,
    deleted: HashMap<usize, VarId>,
}

impl Keys {
    pub(crate) fn new(before: &[Key]) -> Keys {
        Keys { before: before.to_vec(), ..Keys::default() }
    }

    /// Whether there is something to be called when a thread ends.
    pub(super) fn have_functions(&self) -> bool {
        self.before.iter().any(Option::is_some)
    }
}

impl<'a> Lowering<'a> {
    pub(super) fn key_call(
        &mut self,
        name: &str,
        args: &'a [Node<Expression>],
        span: Span,
    ) -> Res<Option<Value>> {
        let pointer = CType::Pointer(Rc::new(CType::Void));
        match name {
            "pthread_key_create" | "tss_create" => self.make_key(args, span)?,
            "pthread_key_delete" | "tss_delete" => {
                self.on_key(args, span, &mut |me, key| {
                    let (var, yes) = (me.deleted(key), me.b.terms().boolean(true));
                    me.set_var(var, yes);
                    Ok(())
                })?;
            }
            "pthread_getspecific" | "tss_get" => {
                let result = self.temporary(ADDRESS);
                self.on_key(args, span, &mut |me, key| {
                    let var = me.own_value(key);
                    let value = me.local_value(var);
                    me.set_var(result, value);
                    Ok(())
                })?;
                return Ok(Some(Value { term: self.local_value(result), ctype: pointer }));
            }
            "pthread_setspecific" | "tss_set" => {
                let value = self.arg(args, 1, span)?;
                let value = self.rvalue(value)?;
                let value = self.convert(value, &pointer, span)?;
                self.on_key(args, span, &mut |me, key| {
                    let var = me.own_value(key);
                    me.set_var(var, value);
                    Ok(())
                })?;
            }
            _ => return Ok(None),
        }
        Ok(Some(self.number(0)))
    }

    fn make_key(&mut self, args: &'a [Node<Expression>], span: Span) -> Res<()> {
        let (to, function) = (self.arg(args, 0, span)?, self.arg(args, 1, span)?);
        let function = self.rvalue(function)?;
        let to = self.pointed(to)?;
        if self.dead {
            return Ok(());
        }
        if self.may_come_again() {
            return Err(self.refuse(span, "a key that is made in a loop"));
        }
        let function = match self.b.terms().as_const(function.term) {
            Some(0) => None,
            Some(address) => match self.function_at(address).map(str::to_owned) {
                Some(name) if self.function(&name).is_some_and(|f| f.parameters.len() == 1) => Some(name),
                _ => return Err(self.refuse(span, "a key whose function is not known here")),
            },
            None => return Err(self.refuse(span, "a key whose function is not known here")),
        };
        self.keys.now.push(function);
        let ctype = self.type_at(&to);
        let number = self.number(self.keys.now.len() as i128);
        let number = self.convert(number, &ctype, span)?;
        self.store(&to, number, span)
    }

    /// What the thread at hand has under a key.
    fn own_value(&mut self, key: usize) -> VarId {
        let t = self.t;
        match self.keys.vars.get(&(t, key)) {
            Some(v) => *v,
            None => {
                let v = self.b.local(t, &format!("key {}", key + 1), ADDRESS, 0);
                self.keys.vars.insert((t, key), v);
                // All ways that did not come here left it as it was.
                v
            }
        }
    }

    fn deleted(&mut self, key: usize) -> VarId {
        if let Some(v) = self.keys.deleted.get(&key) {
            return *v;
        }
        let span = self.b.span();
        let v = self.b.variable(Var {
            name: format!("key {}.deleted", key + 1),
            ty: Type::BOOL,
            len: None,
            scope: Scope::Shared,
            init: vec![0],
            internal: false,
            atomic: true,
            parts: false,
            span,
        });
        self.keys.deleted.insert(key, v);
        v
    }

    /// Whether a key was deleted.
    fn is_deleted(&mut self, key: usize) -> Term {
        if !self.keys.deletes {
            return self.b.terms().boolean(false);
        }
        let (var, seen) = (self.deleted(key), self.temporary(Type::BOOL));
        let there = self.b.value(var);
        self.set_var(seen, there);
        self.env.remove(&(seen, 0));
        self.local_value(seen)
    }

    /// Does something with the key that the first argument is, whichever it is.
    fn on_key(
        &mut self,
        args: &'a [Node<Expression>],
        span: Span,
        f: &mut dyn FnMut(&mut Self, usize) -> Res<()>,
    ) -> Res<()> {
        let key = self.arg(args, 0, span)?;
        let key = self.rvalue(key)?;
        let key = self.convert(key, &CType::Int(Type::UINT), span)?;
        let mut after = self.join();
        for n in 0..self.keys.before.len() {
            let number = self.b.terms().constant(n as u64 + 1, Type::UINT);
            let it = self.b.terms().eq(key, number);
            let (mut yes, mut no) = (self.join(), self.join());
            self.fork(it, &mut yes, &mut no, span)?;
            self.land(yes);
            if !self.dead {
                let gone = self.is_deleted(n);
                let there = self.b.terms().not(gone);
                self.check(there, ErrorKind::InvalidPointer, "a key is used after it was deleted");
                f(self, n)?;
            }
            self.jump(&mut after, span)?;
            self.land(no);
        }
        let no = self.b.terms().boolean(false);
        self.check(no, ErrorKind::InvalidPointer, "what is no key is used as one");
        self.land(after);
        Ok(())
    }

    /// The thread at hand ends: what it has under keys is handed to their functions.
    pub(super) fn leave_keys(&mut self, span: Span) -> Res<()> {
        let keys = self.keys.before.clone();
        let own: Vec<(usize, String)> =
            keys.into_iter().enumerate().filter_map(|(n, f)| Some((n, f?))).collect();
        if own.is_empty() || self.dead {
            return Ok(());
        }
        if self.leaving {
            return Err(self.refuse(span, "a thread that ends in a function of a key"));
        }
        self.leaving = true;
        let done = self.call_functions(&own, span);
        self.leaving = false;
        done
    }

    fn call_functions(&mut self, own: &[(usize, String)], span: Span) -> Res<()> {
        let zero = self.b.terms().constant(0, ADDRESS);
        let mut after = self.join();
        for _ in 0..ROUNDS {
            let mut has = Vec::new();
            for (key, _) in own {
                let var = self.own_value(*key);
                let value = self.local_value(var);
                let some = self.b.terms().ne(value, zero);
                has.push((var, value, some));
            }
            let mut some = self.b.terms().boolean(false);
            let mut several = self.b.terms().boolean(false);
            for (_, _, it) in &has {
                let both = self.b.terms().and(some, *it);
                several = self.b.terms().or(several, both);
                some = self.b.terms().or(some, *it);
            }
            let one = self.b.terms().not(several);
            self.check(
                one,
                ErrorKind::Bound,
                "in which order the functions of keys are called is not followed",
            );
            for ((key, name), (var, value, it)) in own.iter().zip(has) {
                let (mut yes, mut no) = (self.join(), self.join());
                self.fork(it, &mut yes, &mut no, span)?;
                // On that way it has nothing.
                if let Some(env) = &mut no.env {
                    env.insert((var, 0), 0);
                }
                self.land(yes);
                if !self.dead {
                    let kept = self.keep(value);
                    self.set_var(var, zero);
                    let gone = self.is_deleted(*key);
                    let (mut skip, mut call) = (self.join(), self.join());
                    self.fork(gone, &mut skip, &mut call, span)?;
                    self.land(call);
                    if let Some(f) = self.function(name) {
                        let ctype = f.parameters[0].ctype.clone();
                        let from = Value { term: kept, ctype: CType::Pointer(Rc::new(CType::Void)) };
                        let term = self.convert(from, &ctype, span)?;
                        self.inline(&f, vec![(Argument::Scalar(term), ctype)], None, None, span)?;
                    }
                    self.jump(&mut skip, span)?;
                    self.land(skip);
                }
                self.jump(&mut no, span)?;
                self.land(no);
            }
        }
        self.jump(&mut after, span)?;
        self.land(after);
        Ok(())
    }
}
