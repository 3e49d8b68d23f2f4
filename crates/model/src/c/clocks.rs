//! Clocks, and what sleeps.
//!
//! `CLOCK_REALTIME`, and what else tells the time of day, can be set at any time: it gives any value. The clocks that nobody can set never
//! run backwards, whichever thread looks: a variable has what was last shown, and who looks next sees that or later. Nothing else is known
//! of them, so any such sequence can be. Who sleeps wakes up at least as much later by `CLOCK_MONOTONIC` as it slept, or never.
//!
//! No clock shows more than 2^33 seconds, which is 272 years: those of Linux count nanoseconds in 63 bits.

use super::ctype::CType;
use super::expr::{Lvalue, Value};
use super::lower::{Entity, Lowering, Res};
use crate::program::{ErrorKind, Scope, ThreadId, Var};
use crate::term::Binary::{Div, Mul, Rem, Shl, Shr, Sub};
use crate::term::{Assign, Place, Term, Type, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::collections::{BTreeSet, HashMap};

/// The type of a time: seconds, and behind them nanoseconds in 30 bits, so that the later of two is the larger number.
const TIME: Type = Type::unsigned(63);
const SECONDS: Type = Type::unsigned(33);
const NANOSECONDS: Type = Type::unsigned(30);
const MICROSECONDS: Type = Type::unsigned(20);
/// The type of what may be later than any time.
const WIDE: Type = Type::unsigned(64);

const NANO: u64 = 1_000_000_000;
const MICRO: u64 = 1_000_000;

const MONOTONIC: u64 = 1;
const OF_THREAD: u64 = 3;
const COARSE: u64 = 6;
const BOOT: u64 = 7;

/// What is known of clocks that never run backwards.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    /// Which ones somebody looks at, as far as was known before, and now.
    before: BTreeSet<u64>,
    pub(crate) now: BTreeSet<u64>,
    /// What each of them showed last; one of a thread is its own.
    vars: HashMap<(u64, Option<ThreadId>), VarId>,
}

impl Clocks {
    pub(crate) fn new(before: &BTreeSet<u64>) -> Clocks {
        Clocks { before: before.clone(), ..Clocks::default() }
    }
}

impl<'a> Lowering<'a> {
    pub(super) fn clock_call(
        &mut self,
        name: &str,
        args: &'a [Node<Expression>],
        span: Span,
    ) -> Res<Option<Value>> {
        if matches!(self.lookup(name), Some(Entity::Object(_))) {
            return Ok(None);
        }
        match name {
            "clock_gettime" => {
                let clock = self.arg(args, 0, span)?;
                let clock = self.rvalue(clock)?;
                let to = self.arg(args, 1, span)?;
                let to = self.pointed(to)?;
                if self.dead {
                    return Ok(Some(self.number(0)));
                }
                let (seconds, parts) = match self.b.terms().as_const(clock.term) {
                    // Of the day, precisely or not, and atomic time.
                    Some(0 | 5 | 11) => self.any_time(NANOSECONDS, NANO),
                    Some(n @ (1..=4 | COARSE | BOOT)) => {
                        let time = self.later_time(n, span)?;
                        self.split(time)
                    }
                    _ => return Err(self.refuse(span, "a clock that is not known here")),
                };
                self.put_time(&to, seconds, (parts, "tv_nsec"), span)?;
            }
            "gettimeofday" => {
                let to = self.arg(args, 0, span)?;
                let to = self.pointed(to)?;
                self.effects(&args[1..])?;
                let (seconds, parts) = self.any_time(MICROSECONDS, MICRO);
                self.put_time(&to, seconds, (parts, "tv_usec"), span)?;
            }
            "time" => {
                let to = self.arg(args, 0, span)?;
                let nowhere = self.is_null_now(to)?;
                let seconds = self.any_value(SECONDS).term;
                let ctype = CType::Int(Type::signed(64));
                let term = self.b.terms().cast(Type::signed(64), seconds);
                if !nowhere {
                    let to = self.pointed(to)?;
                    self.store(&to, term, span)?;
                }
                return Ok(Some(Value { term, ctype }));
            }
            "sleep" | "usleep" | "nanosleep" | "thrd_sleep" => {
                if !self.clocks.before.contains(&MONOTONIC) && !self.clocks.before.contains(&BOOT) {
                    self.effects(args)?;
                    return Ok(Some(self.number(0)));
                }
                self.sleep(name, args, span)?;
            }
            // The end of such a wait would have to move the clock on.
            "pthread_cond_clockwait" | "pthread_mutex_clocklock"
                if self.clocks.before.contains(&MONOTONIC) || self.clocks.before.contains(&BOOT) =>
            {
                let clock = self.arg(args, if name == "pthread_cond_clockwait" { 2 } else { 1 }, span)?;
                let clock = self.in_dead_code(|me| me.rvalue(clock))?;
                if self.b.terms().as_const(clock.term) != Some(0) {
                    return Err(self.refuse(span, "a time limit on a clock that the program looks at"));
                }
                return Ok(None);
            }
            _ => return Ok(None),
        }
        Ok(Some(self.number(0)))
    }

    /// Any seconds, and parts of which so many make one. A value that nobody wants costs nothing: no input is refused.
    fn any_time(&mut self, ty: Type, most: u64) -> (Term, Term) {
        let seconds = self.any_value(SECONDS).term;
        let part = self.any_value(ty).term;
        let (most, zero) = (self.b.terms().constant(most, ty), self.b.terms().constant(0, ty));
        let fits = self.b.terms().lt(part, most);
        (seconds, self.b.terms().ite(fits, part, zero))
    }

    /// The seconds of a time, and its nanoseconds.
    fn split(&mut self, time: Term) -> (Term, Term) {
        let ty = self.b.terms().ty(time);
        let by = self.b.terms().constant(NANOSECONDS.bits.into(), ty);
        let seconds = self.b.terms().binary(Shr, time, by);
        (seconds, self.b.terms().cast(NANOSECONDS, time))
    }

    /// What a clock showed last.
    fn shown(&mut self, clock: u64) -> VarId {
        let own = (clock == OF_THREAD).then_some(self.t);
        if let Some(known) = self.clocks.vars.get(&(clock, own)) {
            return *known;
        }
        let span = self.b.span();
        let var = self.b.variable(Var {
            name: format!("clock {clock}"),
            ty: TIME,
            len: None,
            scope: own.map_or(Scope::Shared, Scope::Local),
            init: vec![0],
            internal: false,
            atomic: true,
            parts: false,
            span,
        });
        self.clocks.vars.insert((clock, own), var);
        var
    }

    /// A clock is set to a time, unless it shows a later one; what it shows then.
    fn move_on(&mut self, clock: u64, to: Term) -> Term {
        let var = self.shown(clock);
        let last = self.b.value(var);
        let later = self.b.terms().le(last, to);
        let value = self.b.terms().ite(later, to, last);
        let seen = self.temporary(TIME);
        let yes = self.b.terms().boolean(true);
        self.step(yes, [var, seen].map(|v| Assign { place: Place::scalar(v), value }).into());
        self.env.remove(&(var, 0));
        self.env.remove(&(seen, 0));
        self.local_value(seen)
    }

    /// What a clock shows that never runs backwards.
    fn later_time(&mut self, clock: u64, span: Span) -> Res<Term> {
        self.clocks.now.insert(clock);
        // They differ by what is not known here, but not in any way.
        let related = self.clocks.now.iter().filter(|c| [MONOTONIC, COARSE, BOOT].contains(c)).count();
        if related > 1 {
            return Err(self.refuse(span, "several clocks that go with each other"));
        }
        let time = self.any_value(TIME).term;
        let (_, part) = self.split(time);
        let most = self.b.terms().constant(NANO, NANOSECONDS);
        let fits = self.b.terms().lt(part, most);
        let part = self.b.terms().cast(TIME, part);
        let whole = self.b.terms().binary(Sub, time, part);
        let time = self.b.terms().ite(fits, time, whole);
        Ok(self.move_on(clock, time))
    }

    fn put_time(&mut self, to: &Lvalue, seconds: Term, part: (Term, &str), span: Span) -> Res<()> {
        for (term, name) in [(seconds, "tv_sec"), part] {
            let field = self.member(to.clone(), name, span)?;
            let ctype = self.type_at(&field);
            let from = Value { term, ctype: CType::Int(self.b.terms().ty(term)) };
            let value = self.convert(from, &ctype, span)?;
            self.store(&field, value, span)?;
        }
        Ok(())
    }

    /// A thread sleeps where somebody looks at a clock that goes on meanwhile.
    fn sleep(&mut self, name: &str, args: &'a [Node<Expression>], span: Span) -> Res<()> {
        let how_long = self.arg(args, 0, span)?;
        let (seconds, parts) = match name {
            "sleep" | "usleep" => {
                let n = self.rvalue(how_long)?;
                let n = self.convert(n, &CType::Int(Type::UINT), span)?;
                let n = self.b.terms().cast(WIDE, n);
                if name == "sleep" {
                    (n, self.b.terms().constant(0, WIDE))
                } else {
                    let (micro, thousand) =
                        (self.b.terms().constant(MICRO, WIDE), self.b.terms().constant(1000, WIDE));
                    let rest = self.b.terms().binary(Rem, n, micro);
                    (self.b.terms().binary(Div, n, micro), self.b.terms().binary(Mul, rest, thousand))
                }
            }
            _ => {
                let from = self.pointed(how_long)?;
                let mut both = Vec::new();
                for field in ["tv_sec", "tv_nsec"] {
                    let part = self.member(from.clone(), field, span)?;
                    let value = self.load(&part, span)?;
                    both.push(self.b.terms().cast(WIDE, value.term));
                }
                (both[0], both[1])
            }
        };
        self.effects(&args[1..])?;
        if self.dead {
            return Ok(());
        }
        // What is not a time is not slept, and somebody is told so; that is not followed.
        let nano = self.b.terms().constant(NANO, WIDE);
        let fits = self.b.terms().lt(parts, nano);
        let zero = self.b.terms().constant(0, Type::signed(64));
        let signed = self.b.terms().cast(Type::signed(64), seconds);
        let positive = self.b.terms().le(zero, signed);
        let valid = self.b.terms().and(fits, positive);
        self.check(valid, ErrorKind::Bound, "a sleep of what is no time is not followed");
        let last = self.b.terms().constant(1 << SECONDS.bits, WIDE);
        let short = self.b.terms().lt(seconds, last);
        self.assume(short);
        let by = self.b.terms().constant(NANOSECONDS.bits.into(), WIDE);
        let seconds = self.b.terms().binary(Shl, seconds, by);
        let long = self.b.terms().add(seconds, parts);
        for clock in [MONOTONIC, BOOT] {
            if !self.clocks.before.contains(&clock) {
                continue;
            }
            // It begins at what is shown now, or later: the earlier, the less is known of its end.
            let var = self.shown(clock);
            let start = self.b.value(var);
            let start = self.b.terms().cast(WIDE, start);
            let (_, part) = self.split(start);
            let part = self.b.terms().cast(WIDE, part);
            let sum = self.b.terms().add(part, parts);
            let carry = self.b.terms().le(nano, sum);
            let gap = self.b.terms().constant((1 << NANOSECONDS.bits) - NANO, WIDE);
            let zero = self.b.terms().constant(0, WIDE);
            let gap = self.b.terms().ite(carry, gap, zero);
            let end = self.b.terms().add(start, long);
            let end = self.b.terms().add(end, gap);
            let until = self.temporary(WIDE);
            self.set_var(until, end);
            self.env.remove(&(until, 0));
            let end = self.local_value(until);
            let last = self.b.terms().constant(1 << TIME.bits, WIDE);
            let wakes = self.b.terms().lt(end, last);
            self.assume(wakes);
            let end = self.b.terms().cast(TIME, end);
            self.move_on(clock, end);
        }
        Ok(())
    }
}
