//! Loops: as cycles of edges, or unrolled where a thread is made or joined and in atomic blocks.

use super::lower::{Join, Lowering, Res};
use super::scan::{self, Found};
use crate::program::{ErrorKind, Mark};
use lang_c::ast::*;
use lang_c::span::Node;
use std::collections::BTreeSet;

/// How far a loop is unrolled.
struct Rounds {
    /// The labels inside; each round has its own.
    labels: BTreeSet<String>,
    begun: u32,
    /// Rounds after which it was not known whether there is another.
    open: u32,
}

impl<'a> Lowering<'a> {
    /// Forgets what a loop may change.
    fn forget(&mut self, found: &Found) {
        let (roots, fixed) = (&self.roots, &self.noting.fixed);
        self.env.retain(|(v, _), _| {
            fixed.contains(v) || roots.get(v).is_some_and(|n| !found.assigned.contains(n))
        });
    }

    /// What a loop does, in itself and in what it calls.
    fn found_in_loop(
        &self,
        body: &Node<Statement>,
        condition: Option<&Node<Expression>>,
        step: Option<&Node<Expression>>,
    ) -> Found {
        let mut found = scan::statement(body);
        for e in condition.into_iter().chain(step) {
            found.add(scan::expression(e));
        }
        found.closed(&self.found, &self.callable)
    }

    /// The truth of a condition, if it is known here.
    fn known(&mut self, e: Option<&'a Node<Expression>>) -> Res<Option<bool>> {
        let Some(e) = e else { return Ok(Some(true)) };
        let value = self.in_dead_code(|me| me.condition(e))?;
        Ok(self.b.terms().as_const(value).map(|v| v != 0))
    }

    pub(super) fn while_loop(
        &mut self,
        s: &'a Node<Statement>,
        condition: Option<&'a Node<Expression>>,
        step: Option<&'a Node<Expression>>,
        body: &'a Node<Statement>,
    ) -> Res<()> {
        let found = self.found_in_loop(body, condition, step);
        let makes = found.makes_threads();
        let unrolls = makes || found.joins_threads() || self.atomic > 0;
        if unrolls && (makes || self.known(condition)?.is_some()) {
            return self.unrolled(s, condition, step, body, &found);
        }
        let before = self.before_loop(condition, body, &found);
        let mut after = self.join();
        let mut again = self.head(s, &found)?;
        let at = self.b.here(self.t);
        self.b.mark(self.t, at, Mark::Head);
        self.note_loop();
        let mut enter = self.join();
        match condition {
            None => self.jump(&mut enter, s.span)?,
            Some(c) => self.branch(c, &mut enter, &mut after)?,
        }
        self.land(enter);
        let after = self.round(s, body, after)?;
        if let Some(e) = step {
            self.effect(e)?;
        }
        self.jump(&mut again, s.span)?;
        self.loops -= 1;
        self.after_loop(before, &after, s);
        self.land(after);
        Ok(())
    }

    /// Whether the source has a way out of a loop: a condition on variables, `break`, or `return` where the function has not returned yet.
    fn before_loop(
        &self,
        condition: Option<&Node<Expression>>,
        body: &Node<Statement>,
        found: &Found,
    ) -> bool {
        if self.dead || found.gotos {
            return false;
        }
        let (breaks, returns) = scan::ways_out(body);
        let varies = |n: &String| matches!(self.lookup(n), Some(super::lower::Entity::Object(_)));
        let asks = condition.is_some_and(|c| scan::expression(c).names.iter().any(varies));
        let unreturned = self.frames.last().is_some_and(|f| f.exit.env.is_none());
        (asks || breaks || returns) && (!returns || unreturned)
    }

    /// Notes a loop that has a way out in the source which nothing takes.
    fn after_loop(&mut self, has_way_out: bool, after: &super::lower::Join, s: &Node<Statement>) {
        let unreturned = self.frames.last().is_some_and(|f| f.exit.env.is_none());
        if has_way_out && after.env.is_none() && (unreturned || !scan::ways_out(s).1) {
            let (from, to) = (self.span(s.span), self.lines.at(s.span.end).1);
            self.b.never_left(self.t, from, to);
        }
    }

    pub(super) fn do_while(&mut self, s: &'a Node<Statement>, w: &'a Node<DoWhileStatement>) -> Res<()> {
        let found = self.found_in_loop(&w.node.statement, Some(&w.node.expression), None);
        let joins = found.joins_threads() && self.known(Some(&w.node.expression))?.is_some();
        // A macro that is written `do { ... } while (0)` is no loop.
        let once = self.is_pure(&w.node.expression) && self.known(Some(&w.node.expression))? == Some(false);
        if found.makes_threads() || joins || self.atomic > 0 || once {
            return self.unrolled_do(s, w, &found);
        }
        let before = self.before_loop(Some(&w.node.expression), &w.node.statement, &found);
        let after = self.join();
        let mut again = self.head(s, &found)?;
        self.note_loop();
        let mut after = self.round(s, &w.node.statement, after)?;
        self.branch(&w.node.expression, &mut again, &mut after)?;
        self.loops -= 1;
        self.after_loop(before, &after, s);
        self.land(after);
        Ok(())
    }

    /// The place that every round of a loop begins at; nothing is known there of what the loop changes.
    fn head(&mut self, s: &'a Node<Statement>, found: &Found) -> Res<Join> {
        self.loops += 1;
        self.forget(found);
        self.fresh.clear();
        let mut head = self.join();
        self.jump(&mut head, s.span)?;
        self.land(head.clone());
        Ok(head)
    }

    /// The body of a loop, to where `continue` leads; gives back where `break` leads.
    fn round(&mut self, s: &'a Node<Statement>, body: &'a Node<Statement>, after: Join) -> Res<Join> {
        let next = self.join();
        let frame = self.frame();
        frame.breaks.push(after);
        frame.continues.push(next);
        self.statement(body)?;
        self.at(s.span);
        let frame = self.frame();
        let mut next = frame.continues.pop().expect("it was pushed");
        let after = frame.breaks.pop().expect("it was pushed");
        self.jump(&mut next, s.span)?;
        self.land(next);
        Ok(after)
    }

    /// A loop whose rounds are known, one after the other.
    fn unrolled(
        &mut self,
        s: &'a Node<Statement>,
        condition: Option<&'a Node<Expression>>,
        step: Option<&'a Node<Expression>>,
        body: &'a Node<Statement>,
        found: &Found,
    ) -> Res<()> {
        let line = self.lines.at(s.span.start).1;
        let entry = self.b.program().thread(self.t).entry;
        self.b.mark(self.t, entry, Mark::Unrolled(line));
        let mut rounds = self.begin_rounds(s, body)?;
        let mut after = self.join();
        let endless = Self::is_endless(body, condition, found);
        while self.next_round(s, &mut rounds)? {
            let mut enter = self.join();
            let open = endless.unwrap_or(after.env.is_some() && Self::is_always(condition));
            self.count_open(s, condition, found, open, &mut rounds)?;
            match condition {
                None => self.jump(&mut enter, s.span)?,
                Some(c) => self.branch(c, &mut enter, &mut after)?,
            }
            self.land(enter);
            if self.dead || self.too_many_rounds(&rounds) {
                break;
            }
            after = self.round(s, body, after)?;
            if let Some(e) = step {
                self.effect(e)?;
            }
        }
        self.frame().sealed.extend(rounds.labels);
        self.land(after);
        Ok(())
    }

    /// The same for a loop that asks after each round.
    fn unrolled_do(
        &mut self,
        s: &'a Node<Statement>,
        w: &'a Node<DoWhileStatement>,
        found: &Found,
    ) -> Res<()> {
        let mut rounds = self.begin_rounds(s, &w.node.statement)?;
        let mut after = self.join();
        let condition = Some(&*w.node.expression);
        let endless = Self::is_endless(&w.node.statement, condition, found);
        while self.next_round(s, &mut rounds)? && !self.too_many_rounds(&rounds) {
            after = self.round(s, &w.node.statement, after)?;
            if self.dead {
                break;
            }
            let open = endless.unwrap_or(after.env.is_some() && Self::is_always(condition));
            self.count_open(s, Some(&w.node.expression), found, open, &mut rounds)?;
            let mut again = self.join();
            self.branch(&w.node.expression, &mut again, &mut after)?;
            self.land(again);
        }
        self.frame().sealed.extend(rounds.labels);
        self.land(after);
        Ok(())
    }

    fn begin_rounds(&mut self, s: &'a Node<Statement>, body: &'a Node<Statement>) -> Res<Rounds> {
        let labels = scan::statement(body).label_names;
        if labels.iter().any(|l| self.frame().labels.contains_key(l)) {
            return Err(self.refuse(s.span, "a jump into a loop that is unrolled"));
        }
        self.frame().sealed.retain(|l| !labels.contains(l));
        if !self.noting.pending.is_empty() {
            return Err(self.refuse(s.span, "an invariant of a loop that is unrolled"));
        }
        Ok(Rounds { labels, begun: 0, open: 0 })
    }

    /// Begins a round, with labels of its own, unless no way leads there.
    fn next_round(&mut self, s: &'a Node<Statement>, rounds: &mut Rounds) -> Res<bool> {
        if self.dead {
            return Ok(false);
        }
        if rounds.begun > self.options.unroll {
            let most = self.options.unroll;
            return Err(
                self.refuse(s.span, format!("a loop that is unrolled and goes round more than {most} times"))
            );
        }
        rounds.begun += 1;
        for l in &rounds.labels {
            self.frame().labels.remove(l);
        }
        Ok(true)
    }

    /// Whether a loop has a condition that is a number, or none.
    fn is_always(condition: Option<&Node<Expression>>) -> bool {
        condition.is_none_or(|c| scan::expression(c).names.is_empty())
    }

    /// Whether nothing ends a loop that makes threads; `None` if something may.
    fn is_endless(
        body: &Node<Statement>,
        condition: Option<&Node<Expression>>,
        found: &Found,
    ) -> Option<bool> {
        const ENDS: &[&str] = &["abort", "exit", "_exit", "_Exit", "quick_exit", "pthread_exit", "thrd_exit"];
        let ends = scan::leaves(body)
            || found.indirect
            || ENDS.iter().any(|n| found.called.contains(*n))
            || found
                .called
                .iter()
                .any(|n| n.contains("assume") || n.contains("assert") || n.contains("error"));
        (Self::is_always(condition) && !ends).then_some(true)
    }

    /// Counts the rounds of a loop that makes threads and may end here or go on, or never ends.
    fn count_open(
        &mut self,
        s: &'a Node<Statement>,
        condition: Option<&'a Node<Expression>>,
        found: &Found,
        open: bool,
        rounds: &mut Rounds,
    ) -> Res<()> {
        let known = self.known(condition)?;
        if known == Some(true) && open {
            rounds.open += found.makes_threads() as u32;
        }
        if known.is_none() {
            if self.atomic > 0 {
                return Err(self.refuse(s.span, "a loop whose number of rounds is needed and not known here"));
            }
            rounds.open += found.makes_threads() as u32;
        }
        Ok(())
    }

    /// A run that goes round here more often is not followed.
    fn too_many_rounds(&mut self, rounds: &Rounds) -> bool {
        let n = self.options.rounds;
        if rounds.open <= n {
            return false;
        }
        let why = format!("a loop that makes threads goes round more than {n} times");
        let at = self.b.error_location(self.t, ErrorKind::Bound, &why);
        self.b.jump(self.t, at);
        self.dead = true;
        true
    }

    pub(super) fn for_loop(&mut self, s: &'a Node<Statement>, f: &'a Node<ForStatement>) -> Res<()> {
        self.open();
        match &f.node.initializer.node {
            ForInitializer::Empty | ForInitializer::StaticAssert(_) => {}
            ForInitializer::Expression(e) => self.effect(e)?,
            ForInitializer::Declaration(d) => self.declaration(d)?,
        }
        let (condition, step) = (f.node.condition.as_deref(), f.node.step.as_deref());
        self.while_loop(s, condition, step, &f.node.statement)?;
        self.close();
        Ok(())
    }
}
