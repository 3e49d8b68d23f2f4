//! Statements to edges.

use super::ctype::CType;
use super::globals::is_constant;
use super::lower::{Entity, Env, Join, Lowering, Res};
use super::scan::{self};
use crate::program::{ErrorKind, Order};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::collections::HashMap;

impl<'a> Lowering<'a> {
    pub(crate) fn block_item(&mut self, i: &'a Node<BlockItem>) -> Res<()> {
        match &i.node {
            BlockItem::Declaration(d) => self.declaration(d),
            BlockItem::StaticAssert(a) => self.static_assert(a),
            BlockItem::Statement(s) => self.statement(s),
        }
    }

    pub(crate) fn compound(&mut self, items: &'a [Node<BlockItem>]) -> Res<()> {
        self.open();
        for i in items {
            self.block_item(i)?;
        }
        self.close();
        Ok(())
    }

    pub(super) fn declaration(&mut self, d: &'a Node<Declaration>) -> Res<()> {
        self.at(d.span);
        let specified = self.specifiers(&d.node.specifiers)?;
        for i in &d.node.declarators {
            let declared = self.declarator(&i.node.declarator, specified.ctype.clone())?;
            let Some(name) = declared.name else { continue };
            if specified.typedef {
                self.declare(name, Entity::Typedef(declared.ctype));
                continue;
            }
            if matches!(declared.ctype, CType::Function(_)) {
                self.declare(name, Entity::Function);
                continue;
            }
            if specified.is_extern {
                // What the whole program has, although a scope around may have another of this name.
                if let Some(outer) = self.scopes[0].get(&name).cloned() {
                    self.declare(name, outer);
                }
                continue;
            }
            let ctype = self.complete(declared.ctype, i.node.initializer.as_ref())?;
            self.must_be_known(&ctype, i.span)?;
            let span = i.node.declarator.span;
            if specified.is_static || specified.thread_local {
                let key = (specified.thread_local.then_some(self.t), span.start);
                let object = match self.statics.get(&key) {
                    Some(object) => *object,
                    None => {
                        let full = format!("{}.{name}", self.frame().name);
                        let object = self.noted_object(&full, &ctype, span.start, span, false)?;
                        self.statics.insert(key, object);
                        self.static_init(object, i.node.initializer.as_ref())?;
                        if is_constant(&d.node.specifiers, &i.node.declarator) {
                            self.must_stay(object);
                        }
                        object
                    }
                };
                self.declare(name, Entity::Object(object));
                continue;
            }
            let object = self.declare_object(&name, &ctype, span, true)?;
            self.declare(name, Entity::Object(object));
            if self.dead {
                continue;
            }
            match &i.node.initializer {
                None => self.begin_fresh(object),
                Some(init) => self.local_init(object, init)?,
            }
            self.set_up_anew(object);
        }
        Ok(())
    }

    fn local_init(&mut self, object: usize, init: &'a Node<Initializer>) -> Res<()> {
        let mut list = Vec::new();
        let to = self.whole(object);
        self.initial(&to, init, &mut list)?;
        let mark = self.held.len();
        // What a list does not name is zero.
        self.start_with(object, list, matches!(init.node, Initializer::List(_)))?;
        self.release(mark);
        Ok(())
    }

    pub(crate) fn statement(&mut self, s: &'a Node<Statement>) -> Res<()> {
        self.expect_loop(s)?;
        if self.dead && !matches!(s.node, Statement::Compound(_) | Statement::Labeled(_)) {
            if !scan::statement(s).labels {
                self.noting.pending.clear();
                return Ok(());
            }
            // Something may jump into the middle: all of it is lowered, and what nothing leads to is dropped in the end.
            let at = self.b.location(self.t);
            self.b.go_on_at(self.t, at);
            self.dead = false;
            self.env.clear();
            (self.atomic, self.atomic_start) = (0, None);
        }
        self.at(s.span);
        let mark = self.held.len();
        match &s.node {
            Statement::Labeled(l) => self.labeled(l)?,
            Statement::Compound(items) => self.compound(items)?,
            Statement::Expression(None) => {}
            Statement::Expression(Some(e)) => self.effect(e)?,
            Statement::If(i) => self.if_statement(i)?,
            Statement::Switch(w) => self.switch(w)?,
            Statement::While(w) => self.while_loop(s, Some(&w.node.expression), None, &w.node.statement)?,
            Statement::DoWhile(w) => self.do_while(s, w)?,
            Statement::For(f) => self.for_loop(s, f)?,
            Statement::Goto(name) => self.goto(name)?,
            Statement::Continue => self.leave(s.span, true)?,
            Statement::Break => self.leave(s.span, false)?,
            Statement::Return(value) => self.return_statement(value.as_deref(), s.span)?,
            Statement::Asm(a) => {
                // What keeps the compiler or the processor from reordering changes nothing here.
                let (text, touches) = match &a.node {
                    AsmStatement::GnuBasic(text) => (text, false),
                    AsmStatement::GnuExtended(e) => {
                        (&e.template, !e.outputs.is_empty() || !e.inputs.is_empty())
                    }
                };
                let text: String = text.node.iter().map(|t| t.trim_matches('"')).collect();
                let text = text.replace("\\n", " ").replace("\\t", " ");
                if touches
                    || !matches!(
                        text.trim(),
                        "" | "nop" | "pause" | "rep; nop" | "mfence" | "lfence" | "sfence"
                    )
                {
                    return Err(self.refuse(s.span, "assembly"));
                }
                if text.trim() == "mfence" {
                    self.fence(Order::Both);
                }
            }
        }
        self.release(mark);
        Ok(())
    }

    fn leave(&mut self, span: Span, again: bool) -> Res<()> {
        let frame = self.frame();
        let stack = if again { &mut frame.continues } else { &mut frame.breaks };
        let Some(mut j) = stack.pop() else {
            return Err(self.refuse(span, "there is nothing to leave here"));
        };
        let done = self.jump(&mut j, span);
        let frame = self.frame();
        if again {
            frame.continues.push(j)
        } else {
            frame.breaks.push(j)
        }
        done
    }

    fn label(&mut self, name: &str) -> Join {
        match self.frame().labels.remove(name) {
            Some(j) => j,
            None => self.join(),
        }
    }

    fn goto(&mut self, name: &Node<Identifier>) -> Res<()> {
        if name.node.name == "ERROR" && self.error_labels {
            self.error_label();
            return Ok(());
        }
        if self.frame().sealed.contains(&name.node.name) {
            return Err(self.refuse(name.span, "a jump into a loop that is unrolled"));
        }
        let mut j = self.label(&name.node.name);
        let done = self.jump(&mut j, name.span);
        self.frame().labels.insert(name.node.name.clone(), j);
        done
    }

    fn error_label(&mut self) {
        let at = self.b.error_location(self.t, ErrorKind::Assertion, "ERROR is reached");
        if !self.dead {
            self.b.jump(self.t, at);
            self.dead = true;
        }
    }

    fn labeled(&mut self, l: &'a Node<LabeledStatement>) -> Res<()> {
        match &l.node.label.node {
            Label::Identifier(name) if name.node.name == "ERROR" && self.error_labels => {
                self.error_label();
            }
            Label::Identifier(name) => {
                let mut j = self.label(&name.node.name);
                if !self.dead {
                    self.b.move_notes(self.t, j.at);
                } else if j.atomic.is_none() {
                    // Only jumps from below lead here: they are in no atomic block, or refused.
                    j.atomic = Some((0, None));
                }
                self.jump(&mut j, l.span)?;
                // Jumps from below are not known yet, so nothing is known here.
                let at = Join { env: Some(Env::new()), fresh: Vec::new(), ..j };
                self.frame().labels.insert(name.node.name.clone(), at.clone());
                self.land(at);
                self.b.label(self.t, &name.node.name);
            }
            Label::Case(_) | Label::CaseRange(_) | Label::Default => {
                let Some(cases) = self.frame().switches.last_mut() else {
                    return Err(self.refuse(l.span, "a case without a switch"));
                };
                let Some(mut j) = cases.remove(&l.span.start) else {
                    return Err(self.refuse(l.span, "a case that is inside a loop that is unrolled"));
                };
                self.jump(&mut j, l.span)?;
                self.land(j);
            }
        }
        self.statement(&l.node.statement)
    }

    fn if_statement(&mut self, i: &'a Node<IfStatement>) -> Res<()> {
        let (mut yes, mut no, mut after) = (self.join(), self.join(), self.join());
        self.branch(&i.node.condition, &mut yes, &mut no)?;
        self.land(yes);
        self.statement(&i.node.then_statement)?;
        self.at(i.span);
        self.jump(&mut after, i.span)?;
        self.land(no);
        if let Some(e) = &i.node.else_statement {
            self.statement(e)?;
        }
        self.at(i.span);
        self.jump(&mut after, i.span)?;
        self.land(after);
        Ok(())
    }

    fn switch(&mut self, w: &'a Node<SwitchStatement>) -> Res<()> {
        let value = self.rvalue(&w.node.expression)?;
        let Some(ty) = value.ctype.scalar() else { return Err(self.refuse(w.span, "a switch over this")) };
        let ty = super::expr::promoted(ty);
        let value = self.b.terms().cast(ty, value.term);
        let mut labels = Vec::new();
        collect_cases(&w.node.statement, &mut labels);
        let mut cases = HashMap::new();
        let (mut after, mut default) = (self.join(), None);
        let mut none = self.b.terms().boolean(true);
        let mut targets = Vec::new();
        let mut values = std::collections::HashSet::new();
        for (at, label) in labels {
            let j = self.join();
            match label {
                Label::Case(e) => {
                    let v = self.constant(e, "the value of a case")?;
                    let c = self.b.terms().number(v, ty);
                    if !values.insert(c) {
                        return Err(self.refuse(e.span, "a second case of the same value"));
                    }
                    let it = self.b.terms().eq(value, c);
                    let not = self.b.terms().not(it);
                    none = self.b.terms().and(none, not);
                    targets.push((it, at));
                }
                Label::CaseRange(r) => {
                    let low = self.constant(&r.node.low, "the value of a case")?;
                    let high = self.constant(&r.node.high, "the value of a case")?;
                    let (low, high) = (self.b.terms().number(low, ty), self.b.terms().number(high, ty));
                    let (above, below) = (self.b.terms().le(low, value), self.b.terms().le(value, high));
                    let it = self.b.terms().and(above, below);
                    let not = self.b.terms().not(it);
                    none = self.b.terms().and(none, not);
                    targets.push((it, at));
                }
                _ => default = Some(at),
            }
            cases.insert(at, j);
        }
        if !self.dead {
            let from = self.b.here(self.t);
            let known = targets.iter().find(|(it, _)| self.b.terms().as_const(*it) == Some(1)).map(|t| t.1);
            let otherwise = match known {
                Some(at) => {
                    let j = cases.get_mut(&at).expect("it was put there");
                    let mut case = j.clone();
                    self.jump(&mut case, w.span)?;
                    cases.insert(at, case);
                    false
                }
                None => {
                    self.fresh.clear();
                    for (it, at) in &targets {
                        if self.b.terms().as_const(*it) == Some(0) {
                            continue;
                        }
                        let mut j = cases.remove(at).expect("it was put there");
                        self.same_block(&mut j, w.span)?;
                        self.b.step(self.t, from, j.at, *it, Vec::new());
                        self.merge(&mut j);
                        cases.insert(*at, j);
                    }
                    true
                }
            };
            if otherwise {
                let j = match default {
                    Some(at) => cases.get_mut(&at).expect("it was put there"),
                    None => &mut after,
                };
                let mut to = j.clone();
                self.same_block(&mut to, w.span)?;
                self.b.step(self.t, from, to.at, none, Vec::new());
                self.merge(&mut to);
                *j = to;
            }
            self.dead = true;
        }
        self.frame().breaks.push(after);
        self.frame().switches.push(cases);
        self.statement(&w.node.statement)?;
        self.frame().switches.pop();
        let mut after = self.frame().breaks.pop().expect("it was pushed");
        self.jump(&mut after, w.span)?;
        self.land(after);
        Ok(())
    }

    fn return_statement(&mut self, value: Option<&'a Node<Expression>>, span: Span) -> Res<()> {
        let result = self.frame().result.clone();
        let returned = self.frame().returned;
        if let (Some(e), Some(object)) = (value, returned) {
            let from = self.lvalue(e)?;
            let to = self.whole(object);
            self.copy(&to, &from, span)?;
        } else if let Some(e) = value {
            match result {
                Some((var, ctype)) => {
                    let value = self.rvalue(e)?;
                    let term = self.convert(value, &ctype, e.span)?;
                    // The result of a thread is zero unless it says otherwise, and nobody reads it before its end. That of a function
                    // alone is anything.
                    let thread = self.frames.len() == 1 && !self.noting.alone;
                    if !(thread && self.b.terms().as_const(term) == Some(0)) {
                        self.set_var(var, term);
                    }
                }
                None if self.frames.len() == 1 && self.t.0 == 0 && self.options.exit_codes => {
                    self.exit_code(e)?
                }
                None => self.effect(e)?,
            }
        }
        let mut frame = self.frames.pop().expect("code is in a function");
        let done = self.jump(&mut frame.exit, span);
        self.frames.push(frame);
        done
    }
}

/// The cases of a switch, not those of switches inside it.
fn collect_cases<'a>(s: &'a Node<Statement>, out: &mut Vec<(usize, &'a Label)>) {
    match &s.node {
        Statement::Labeled(l) => {
            if !matches!(l.node.label.node, Label::Identifier(_)) {
                out.push((l.span.start, &l.node.label.node));
            }
            collect_cases(&l.node.statement, out);
        }
        Statement::Compound(items) => {
            for i in items {
                if let BlockItem::Statement(s) = &i.node {
                    collect_cases(s, out);
                }
            }
        }
        Statement::If(i) => {
            collect_cases(&i.node.then_statement, out);
            i.node.else_statement.iter().for_each(|s| collect_cases(s, out));
        }
        Statement::While(w) => collect_cases(&w.node.statement, out),
        Statement::DoWhile(w) => collect_cases(&w.node.statement, out),
        Statement::For(f) => collect_cases(&f.node.statement, out),
        _ => {}
    }
}
