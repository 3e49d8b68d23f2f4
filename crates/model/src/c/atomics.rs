//! Atomic operations of C11 and of the compiler.

use super::ctype::CType;
use super::expr::{Lvalue, Value};
use super::lower::{Lowering, Res};
use crate::program::{Fence, Order};
use crate::term::{Binary, Term, Type};
use lang_c::ast::*;
use lang_c::span::{Node, Span};

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

impl<'a> Lowering<'a> {
    pub(super) fn atomic_call(
        &mut self,
        name: &str,
        args: &'a [Node<Expression>],
        span: Span,
    ) -> Res<Option<Value>> {
        if matches!(name, "atomic_thread_fence" | "__atomic_thread_fence" | "__sync_synchronize") {
            let order = match args.first() {
                Some(e) => self.said_order(e)?,
                None => Order::Both,
            };
            self.effects(args)?;
            self.fence(order);
            return Ok(Some(self.void()));
        }
        let Some((what, shape)) = atomic_name(name) else { return Ok(None) };
        let two = matches!(what, Atomic::CompareExchange { .. });
        let order = self.orders(name, two, args)?;
        // The operands that name memory orders are evaluated, as all operands are.
        let told = name.ends_with("_explicit") || name.starts_with("__atomic_");
        let orders = if told { 1 + usize::from(two) } else { 0 };
        let operands = args.len().saturating_sub(orders);
        self.effects(&args[operands..])?;
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
                // C11 counts in elements, gcc in bytes in both forms.
                if name.starts_with("atomic_") && scale > 1 {
                    let what = format!("`{name}` on a pointer, which C counts in elements and gcc in bytes,");
                    return Err(self.refuse(span, what));
                }
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
            // An initialization is not an atomic access: C11, 7.17.2.1.
            "atomic_init" => return Ok((Order::Plain, Order::Plain)),
            "__sync_lock_test_and_set" => return Ok((Order::Acquire, Order::Acquire)),
            "__sync_lock_release" => return Ok((Order::Release, Order::Release)),
            _ => {}
        }
        let told = name.ends_with("_explicit") || name.starts_with("__atomic_");
        let mut nth = |n: usize| -> Res<Order> {
            let at = args.len().checked_sub(n).filter(|_| told);
            let Some(e) = at.and_then(|n| args.get(n)) else { return Ok(Order::Both) };
            self.said_order(e)
        };
        if two { Ok((nth(2)?, nth(1)?)) } else { nth(1).map(|o| (o, o)) }
    }

    /// A memory order, by the numbers of gcc's macros and of `memory_order`. One that is not known here counts as the strongest, as it
    /// is compiled.
    fn said_order(&mut self, e: &'a Node<Expression>) -> Res<Order> {
        let value = self.in_dead_code(|me| me.rvalue(e))?;
        Ok(match self.b.terms().as_const(value.term) {
            Some(0) => Order::Relaxed,
            Some(1 | 2) => Order::Acquire,
            Some(3) => Order::Release,
            _ => Order::Both,
        })
    }

    /// A fence with this memory order.
    pub(super) fn fence(&mut self, order: Order) {
        if !self.dead && order != Order::Relaxed {
            self.b.fence(self.t, Fence::of(order));
        }
    }

    /// Accesses of an atomic operation, or that are none whatever they are to.
    pub(super) fn ordered<T>(
        &mut self,
        order: (Order, Order),
        access: impl FnOnce(&mut Self) -> Res<T>,
    ) -> Res<T> {
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
