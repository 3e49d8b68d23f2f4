//! Programs of Metzler's thesis as automata, without a main that makes their threads: their numbers are those of the thesis.
#![allow(dead_code, unreachable_pub, reason = "each user takes its own part")]

use model::{Builder, Place, Program, Term, Type, VarId};

/// A thread of plain steps one after the other: what must hold, and what is assigned. Back to the start after the last, or not.
pub fn thread(b: &mut Builder, name: &str, steps: Vec<(Term, Vec<(VarId, Term)>)>, forever: bool) {
    let t = b.thread(name);
    let start = b.here(t);
    let last = steps.len() - 1;
    for (i, (guard, assigns)) in steps.into_iter().enumerate() {
        let from = b.here(t);
        let to = if forever && i == last { start } else { b.location(t) };
        let assign = |(var, value)| model::Assign { place: Place::scalar(var), value };
        b.step(t, from, to, guard, assigns.into_iter().map(assign).collect());
        b.set_may_block(t, from);
        b.go_on_at(t, to);
    }
    if !forever {
        let end = b.here(t);
        b.set_kind(t, end, model::LocationKind::End);
    }
}

/// To take a lock, or to give it back.
pub fn take(b: &mut Builder, lock: VarId, yes: bool) -> (Term, Vec<(VarId, Term)>) {
    let (now, zero, one) = (b.value(lock), b.terms().int(0), b.terms().int(1));
    let free = b.terms().eq(now, zero);
    let always = b.terms().boolean(true);
    if yes { (free, vec![(lock, one)]) } else { (always, vec![(lock, zero)]) }
}

/// Two threads that take both locks, each in its order, perhaps do something, and give them back, each in its order.
pub fn double_lock(orders: [[usize; 4]; 2], critical: bool, forever: bool) -> Program {
    let mut b = Builder::new();
    let locks = [b.shared("m1", Type::INT, 0), b.shared("m2", Type::INT, 0)];
    for (n, order) in orders.into_iter().enumerate() {
        let mut steps: Vec<_> = order[..2].iter().map(|l| take(&mut b, locks[*l], true)).collect();
        if critical {
            steps.push((b.terms().boolean(true), Vec::new()));
        }
        steps.extend(order[2..].iter().map(|l| take(&mut b, locks[*l], false)));
        thread(&mut b, &format!("T{}", n + 1), steps, forever);
    }
    b.finish()
}

/// Figures 4.3 and 4.2 of the thesis: one producer and one consumer with so many cells, five steps a body. Where the buffer is full or empty
/// they do nothing, or that is an error.
pub fn one_producer_one_consumer(n: i32, fails: bool) -> Program {
    let mut b = Builder::new();
    let count = b.shared("count", Type::INT, 0);
    let m = b.shared("m", Type::INT, 0);
    for up in [true, false] {
        let t = b.thread(if up { "T1" } else { "T2" });
        let (now, zero, most, one) = (b.value(count), b.terms().int(0), b.terms().int(n), b.terms().int(1));
        let may = if up { b.terms().lt(now, most) } else { b.terms().lt(zero, now) };
        let not = b.terms().not(may);
        let next = if up { b.terms().add(now, one) } else { b.terms().sub(now, one) };
        let always = b.terms().boolean(true);
        let start = b.here(t);
        let at: Vec<_> = (0..4).map(|_| b.location(t)).collect();
        let otherwise = match fails {
            true => {
                b.error_location(t, model::ErrorKind::Assertion, if up { "overflow" } else { "underflow" })
            }
            false => at[3],
        };
        let (lock, unlock) = (take(&mut b, m, true), take(&mut b, m, false));
        let assign = |(var, value): (VarId, Term)| model::Assign { place: Place::scalar(var), value };
        b.step(t, start, at[0], lock.0, lock.1.into_iter().map(assign).collect());
        b.set_may_block(t, start);
        b.step(t, at[0], at[1], may, Vec::new());
        b.step(t, at[0], otherwise, not, Vec::new());
        // Put or remove, and count: two steps.
        b.step(t, at[1], at[2], always, Vec::new());
        b.step(t, at[2], at[3], always, vec![assign((count, next))]);
        b.step(t, at[3], start, unlock.0, unlock.1.into_iter().map(assign).collect());
    }
    b.finish()
}
