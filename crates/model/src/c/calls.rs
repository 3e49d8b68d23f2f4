//! Calls: functions of the program are inlined; pthreads, atomics and the intrinsics of verifiers are steps.

use super::ctype::{ADDRESS, CType};
use super::expr::{Lvalue, Value};
use super::lower::{Argument, Join, Lowering, Res};
use crate::program::{ErrorKind, LocationKind};
use crate::term::{Binary, Term, Type};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// Functions that print, sleep or otherwise do nothing that another thread can see: their arguments are evaluated.
const HARMLESS: &[&str] = &[
    "perror",
    "sched_yield",
    "pthread_yield",
    "pthread_attr_destroy",
    "srand",
    "atomic_signal_fence",
    "__atomic_signal_fence",
    "srandom",
    "pthread_mutexattr_destroy",
    "thrd_yield",
];

/// Functions that write to a file or a terminal: their arguments are evaluated, and what they return is any number.
pub(super) const PRINTING: &[&str] =
    &["printf", "fprintf", "puts", "putchar", "fputs", "fputc", "putc", "fflush"];

impl<'a> Lowering<'a> {
    pub(crate) fn call(&mut self, c: &'a Node<CallExpression>) -> Res<Value> {
        let span = c.span;
        let args = &c.node.arguments;
        let wanted = self.wanted.take();
        if let Expression::Identifier(i) = &c.node.callee.node {
            let name = i.node.name.as_str();
            self.at(span);
            if matches!(name, "malloc" | "calloc" | "realloc" | "__builtin_malloc") {
                self.wanted = wanted;
            }
            if let Some(v) = self.known_call(name, args, span)? {
                return Ok(v);
            }
            if let Some(f) = self.function(name) {
                return self.inlined(&f, args, span);
            }
            if !matches!(self.lookup(name), Some(super::lower::Entity::Object(_))) {
                let what = match name {
                    "__errno_location" => "`errno`".to_owned(),
                    _ => format!("the function `{name}` is not known"),
                };
                return Err(self.refuse(span, what));
            }
        }
        let callee = self.rvalue(&c.node.callee)?;
        self.call_at(callee, args, span)
    }

    /// A call of the function that an address is of: of each that it may be, where that is not known.
    pub(super) fn call_at(&mut self, callee: Value, args: &'a [Node<Expression>], span: Span) -> Res<Value> {
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
                (Some(f), _) => self.called(&f, args, span),
                (None, _) if self.dead => Ok(self.number(0)),
                // What else a program calls is looked for by name when it is read.
                (None, Some(n))
                    if ["abort", "exit", "_exit", "_Exit", "quick_exit"].contains(&n.as_str()) =>
                {
                    self.verifier_call(&n, args, span).map(|v| v.unwrap_or_else(|| self.void()))
                }
                (None, Some(n)) => {
                    Err(self.refuse(span, format!("a call of the library's `{n}` through a pointer")))
                }
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
            // One that takes another number of arguments is of another type: threads' functions are not read inside each other.
            let fits = |count: usize| count == args.len() || count == 0;
            let Some(f) = self.function(&name).filter(|f| fits(f.parameters.len())) else { continue };
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
            let value = self.called(&f, args, span)?;
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

    pub(super) fn number(&mut self, n: i128) -> Value {
        self.value(n, Type::INT)
    }

    pub(super) fn void(&mut self) -> Value {
        Value { term: self.b.terms().int(0), ctype: CType::Void }
    }

    /// A call through a pointer of a function of the program, which may be one that has a meaning of its own: `reach_error`.
    fn called(
        &mut self,
        f: &Rc<super::lower::Function<'a>>,
        args: &'a [Node<Expression>],
        span: Span,
    ) -> Res<Value> {
        match self.verifier_call(&f.name, args, span)? {
            Some(v) => Ok(v),
            None => self.inlined(f, args, span),
        }
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

    pub(super) fn arg(
        &mut self,
        args: &'a [Node<Expression>],
        n: usize,
        span: Span,
    ) -> Res<&'a Node<Expression>> {
        args.get(n).ok_or_else(|| self.refuse(span, "an argument is missing"))
    }

    pub(super) fn is_null(&mut self, e: &'a Node<Expression>) -> Res<bool> {
        let v = self.in_dead_code(|me| me.rvalue(e))?;
        Ok(self.b.terms().as_const(v.term) == Some(0))
    }

    /// Whether an operand is a null pointer. One that is has its effects here; any other is evaluated by who uses it.
    pub(super) fn is_null_now(&mut self, e: &'a Node<Expression>) -> Res<bool> {
        let null = self.is_null(e)?;
        if null {
            self.effects(std::slice::from_ref(e))?;
        }
        Ok(null)
    }

    pub(super) fn effects(&mut self, args: &'a [Node<Expression>]) -> Res<()> {
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
            Expression::UnaryOperator(u) if u.node.operator.node == UnaryOperator::Address => {
                // On the way to it something may be counted, or called.
                let found = super::scan::expression(&u.node.operand);
                found.assigned.is_empty() && found.called.is_empty() && !found.indirect
            }
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
        // A function of the program is what its own text says, whatever it is called.
        if self.function(name).is_some() {
            return Ok(None);
        }
        for known in
            [Self::clock_call, Self::key_call, Self::pthread_call, Self::atomic_call, Self::memory_call]
        {
            if let Some(v) = known(self, name, args, span)? {
                return Ok(Some(v));
            }
        }
        if HARMLESS.contains(&name) {
            self.effects(args)?;
            return Ok(Some(self.number(0)));
        }
        if PRINTING.contains(&name) {
            self.print(name, args)?;
            return Ok(Some(self.any_value(Type::INT)));
        }
        Ok(None)
    }

    fn fail(&mut self, message: &str) {
        let no = self.b.terms().boolean(false);
        self.check(no, ErrorKind::Assertion, message);
    }

    /// The program ends with an exit code, of which the system gets eight bits.
    pub(super) fn exit_code(&mut self, e: &'a Node<Expression>) -> Res<()> {
        let value = self.rvalue(e)?;
        let term = self.convert(value, &CType::INT, e.span)?;
        let (bits, zero) = (self.b.terms().int(0xff), self.b.terms().int(0));
        let code = self.b.terms().binary(Binary::And, term, bits);
        let ok = self.b.terms().eq(code, zero);
        self.check(ok, ErrorKind::ExitCode, "the program exits with a code other than 0");
        Ok(())
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
            "abort" | "__builtin_abort" | "__builtin_trap" | "exit" | "_exit" | "_Exit" | "quick_exit" => {
                match args {
                    [code] if self.options.exit_codes => self.exit_code(code)?,
                    _ => self.effects(args)?,
                }
                if ["abort", "__builtin_abort", "__builtin_trap"].contains(&name) {
                    if self.aborts {
                        let no = self.b.terms().boolean(false);
                        self.check(no, ErrorKind::Abort, &format!("`{name}` is called"));
                    } else if self.options.aborts && !self.dead {
                        self.b.assumed_abort();
                    }
                }
                self.stop(LocationKind::Exit);
                self.void()
            }
            "malloc" | "calloc" | "__builtin_malloc" if self.function(name).is_none() => {
                return self.allocate(name, args, span).map(Some);
            }
            "realloc" if self.function(name).is_none() => {
                return self.reallocate(args, span).map(Some);
            }
            "free" if self.function(name).is_none() => {
                let what = self.arg_at(args, 0, span)?;
                self.give_back(what, span)?;
                self.void()
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
                let mut term = self.convert(v, &ctype, span)?;
                for other in &args[1..] {
                    term = self.kept_for(term, other);
                    self.effect(other)?;
                }
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

    /// Any value of a type.
    pub(super) fn any_value(&mut self, ty: Type) -> Value {
        let var = self.temporary(ty);
        self.input(var);
        let term = self.b.terms().var(var, ty);
        Value { term, ctype: CType::Int(ty) }
    }
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
