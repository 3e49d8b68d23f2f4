//! Threads: Owicki and Gries. Each place of a thread has an annotation; every step leads from what stands before it to what stands
//! after it (*sequential*), keeps what stands where any other thread is (*non-interference*), what stands where threads start holds
//! when they do (*initial*), and what stands where they end implies what `main` claims after joining them (*final*).
//!
//! With E the steps and L the places of each thread these are sum |E(T)| + sum |L(T)| |E(U)| + 2 conditions. A condition also assumes
//! where the two threads are: without that four conditions of the lectures' own example fail.
//!
//! A place is one at which something stands, or which a formula names. Others go where no thread needs to be interrupted
//! ([`crate::merging`]); of those that are left, nothing is known. `main` makes the threads and joins them: what it does before and
//! after is sequential, and while they run it may do nothing that they can see.

use super::formula::{Formula, Olds, World};
use super::sequential::initial_values;
use super::{Claim, Condition, ConditionKind, Contracts, Item, Outline, Place, Work, claim, notes_at};
use crate::merging::{Reducer, locks_follow_rules};
use crate::movers::Movers;
use crate::races::locksets;
use model::notes::Expr;
use model::{
    Action, Annotated, Assign, Clause, LocationId, LocationKind, Names, Noted, Place as Target, Program,
    Refusal, Term, ThreadId, TransitionId, Type, VarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// The type of places.
const WHERE: Type = Type::unsigned(32);
/// More steps of one thread than this are too many.
const MOST_STEPS: usize = 2000;

/// A step of a thread between two places.
struct Edge {
    from: LocationId,
    to: LocationId,
    parts: Vec<TransitionId>,
}

/// A thread with its places.
struct Automaton {
    t: ThreadId,
    /// Local steps before its first place.
    start: Vec<TransitionId>,
    entry: LocationId,
    places: Vec<LocationId>,
    edges: Vec<Edge>,
    /// Steps to where something is wrong.
    errors: Vec<Edge>,
    ends: Vec<LocationId>,
    /// Places that are one with another.
    same: BTreeMap<LocationId, LocationId>,
}

impl Automaton {
    fn of(p: &Program, movers: Option<&Movers>, t: ThreadId, keep: &BTreeSet<LocationId>) -> Automaton {
        let thread = p.thread(t);
        let none = Movers::none(p);
        let mut reducer = Reducer::new(p, movers.unwrap_or(&none), t);
        loop {
            let fits = |l: &LocationId| !keep.contains(l) && reducer.may_go(*l, false);
            let cost = |l: &LocationId| {
                let (into, out) = reducer.degree(*l);
                // The head of a loop is where people look for what holds in it.
                (thread.location(*l).loop_head, into * out)
            };
            match thread.location_ids().filter(fits).min_by_key(cost) {
                Some(l) if reducer.runs.len() < MOST_STEPS => {
                    reducer.let_go(l);
                }
                _ => break,
            }
        }
        let mut a = Automaton {
            t,
            start: Vec::new(),
            entry: thread.entry,
            places: Vec::new(),
            edges: Vec::new(),
            errors: Vec::new(),
            ends: Vec::new(),
            same: BTreeMap::new(),
        };
        for r in reducer.runs {
            let edge = Edge { from: r.from, to: r.to, parts: r.parts };
            match thread.location(edge.to).kind {
                LocationKind::Error { .. } => a.errors.push(edge),
                _ => a.edges.push(edge),
            }
        }
        a.skip_start(p, keep);
        a.join_ends(p);
        let mut places: BTreeSet<LocationId> = BTreeSet::from([a.entry]);
        places.extend(a.edges.iter().flat_map(|e| [e.from, e.to]));
        places.extend(a.errors.iter().map(|e| e.from));
        if a.ends.is_empty() {
            a.ends =
                places.iter().copied().filter(|l| thread.location(*l).kind == LocationKind::End).collect();
        }
        a.places = places.into_iter().collect();
        a
    }

    /// A thread that begins with one way of local steps might as well have taken them before.
    fn skip_start(&mut self, p: &Program, keep: &BTreeSet<LocationId>) {
        let thread = p.thread(self.t);
        let out: Vec<usize> = (0..self.edges.len()).filter(|n| self.edges[*n].from == self.entry).collect();
        let back = self.edges.iter().any(|e| e.to == self.entry);
        let wrong = self.errors.iter().any(|e| e.from == self.entry);
        if keep.contains(&self.entry) || back || wrong {
            return;
        }
        if let [only] = out[..]
            && self.edges[only].parts.iter().all(|e| thread.transition(*e).action == Action::Local)
        {
            let edge = self.edges.remove(only);
            self.same.insert(self.entry, edge.to);
            (self.start, self.entry) = (edge.parts, edge.to);
        }
    }

    /// A thread that only says that it has ended is where it ends already.
    fn join_ends(&mut self, p: &Program) {
        let thread = p.thread(self.t);
        let quiet = |e: &Edge| {
            e.parts.iter().all(|e| {
                let e = thread.transition(*e);
                e.havoc.is_empty() && e.assigns.iter().all(|a| p.var(a.place.var).internal)
            })
        };
        let ends: BTreeSet<LocationId> = self
            .edges
            .iter()
            .map(|e| e.to)
            .filter(|l| thread.location(*l).kind == LocationKind::End)
            .collect();
        let into = |e: &Edge| ends.contains(&e.to);
        let fine = self.edges.iter().filter(|e| into(e)).all(|e| {
            let alone = self.edges.iter().filter(|f| f.from == e.from).count() == 1;
            alone && quiet(e) && e.from != e.to && !self.errors.iter().any(|f| f.from == e.from)
        });
        if !fine || ends.is_empty() {
            return;
        }
        let mut sources = BTreeSet::new();
        for e in self.edges.iter().filter(|e| into(e)) {
            self.same.insert(e.to, e.from);
            sources.insert(e.from);
        }
        self.edges.retain(|e| !ends.contains(&e.to));
        self.ends = sources.into_iter().collect();
    }
}

/// Everything about the threads of a program.
struct Proof<'w, 'p> {
    work: Work<'w, 'p>,
    /// By thread: the variable that says where it is; none for `main`.
    at: Vec<Option<VarId>>,
    automata: Vec<Automaton>,
    claims: BTreeMap<(ThreadId, LocationId), Vec<Claim>>,
    /// Whether a condition of non-interference assumes where the thread is of which something is claimed.
    located: bool,
}

/// Checks the threads of a program.
pub(super) fn check(
    file: &Annotated,
    noted: &Noted,
    contracts: &Contracts,
    seconds: f64,
    out: &mut Outline,
) -> Result<(), Refusal> {
    check_assuming(file, noted, contracts, seconds, true, out)
}

/// The same with or without assuming where the asserting thread is. Without is sound, and proves less.
pub(super) fn check_assuming(
    file: &Annotated,
    noted: &Noted,
    contracts: &Contracts,
    seconds: f64,
    located: bool,
    out: &mut Outline,
) -> Result<(), Refusal> {
    let p = &noted.program;
    let main = Main::of(file, noted, contracts)?;
    let locks = locksets(p);
    let movers = locks_follow_rules(p, &locks).then(|| Movers::of(p, &locks));
    let named = named_labels(file);
    let mut automata = Vec::new();
    for t in p.thread_ids().skip(1) {
        let thread = p.thread(t);
        if let Some(e) =
            thread.transitions.iter().find(|e| matches!(e.action, Action::Create(_) | Action::Join(_)))
        {
            let place = p.files.get(e.span.file.0 as usize).cloned().unwrap_or_default();
            let reason = "threads of an outline are made and joined by `main` alone".to_owned();
            return Err(Refusal { file: place, line: e.span.line, reason });
        }
        let mentioned = |l: &LocationId| {
            let location = thread.location(*l);
            let label =
                location.label.as_ref().is_some_and(|n| named.contains(&(thread.name.clone(), n.clone())));
            label || location.notes().next().is_some()
        };
        let keep: BTreeSet<LocationId> = thread.location_ids().filter(mentioned).collect();
        automata.push(Automaton::of(p, movers.as_ref(), t, &keep));
    }
    let mut work = Work::new(file, p, seconds);
    let mut at = vec![None];
    for a in &automata {
        let thread = p.thread(a.t);
        let v = work.world.fresh(format!("{} at", thread.name));
        let name = |l: &LocationId| {
            let location = thread.location(*l);
            let label = location.label.clone().or_else(|| {
                // The end that is one with a place has the name of that place.
                a.same
                    .iter()
                    .find(|(_, to)| *to == l)
                    .and_then(|(from, _)| thread.location(*from).label.clone())
            });
            (u64::from(l.0), label.unwrap_or_else(|| format!("line {}", location.span.line)))
        };
        work.places.insert(v, (thread.name.clone(), a.places.iter().map(name).collect()));
        at.push(Some(v));
    }
    let mut proof = Proof { work, at, automata, claims: BTreeMap::new(), located };
    proof.read(file, noted, contracts)?;
    proof.remarks(out);
    proof.initial(&main, out);
    proof.sequential(out);
    proof.interference(out);
    proof.last(file, noted, contracts, &main, out)?;
    Ok(())
}

/// The labels that formulas name, with their threads.
fn named_labels(file: &Annotated) -> BTreeSet<(String, String)> {
    fn find(e: &Expr, out: &mut BTreeSet<(String, String)>) {
        match e {
            Expr::At(t, l) => {
                out.insert((t.clone(), l.clone()));
            }
            Expr::Not(a)
            | Expr::Neg(a)
            | Expr::Complement(a)
            | Expr::Old(a)
            | Expr::Length(a)
            | Expr::Field(a, _) => {
                find(a, out);
            }
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                find(a, out);
                find(b, out);
            }
            Expr::Cond(a, b, c) | Expr::Valid(a, b, c) => {
                find(a, out);
                find(b, out);
                find(c, out);
            }
            Expr::Quantified { low, high, body, .. } => {
                find(low, out);
                find(high, out);
                find(body, out);
            }
            Expr::Number(_)
            | Expr::Truth(_)
            | Expr::Name(_)
            | Expr::Result
            | Expr::Separated(_)
            | Expr::Held(..) => {}
        }
    }
    let mut out = BTreeSet::new();
    for a in &file.annotations {
        if let Clause::Requires(e) | Clause::Ensures(e) | Clause::Invariant(e) | Clause::Assert(e) = &a.clause
        {
            find(e, &mut out);
        }
    }
    out
}

/// Whether a thread is at a label.
fn is_at(
    world: &mut World<'_>,
    at: &[Option<VarId>],
    automata: &[Automaton],
    thread: &str,
    label: &str,
) -> Result<Term, String> {
    let p = world.program;
    let Some(t) = p.thread_ids().find(|t| p.thread(*t).name == thread) else {
        let names: Vec<&str> = p.threads.iter().skip(1).map(|t| t.name.as_str()).collect();
        return Err(format!("there is no thread `{thread}`; there are {}", names.join(", ")));
    };
    let Some(v) = at[t.index()] else { return Err("where `main` is cannot be said".to_owned()) };
    let a = automata.iter().find(|a| a.t == t).expect("every thread but main has one");
    let labels = |l: &LocationId| p.thread(t).location(*l).label.as_deref() == Some(label);
    let mut some = world.terms.boolean(false);
    let mut found = false;
    for l in p.thread(t).location_ids().filter(labels) {
        let l = a.same.get(&l).copied().unwrap_or(l);
        if a.places.contains(&l) {
            let here = world.is(v, WHERE, u64::from(l.0));
            some = world.terms.or(some, here);
            found = true;
        }
    }
    if !found {
        let names: Vec<String> = p.thread(t).locations.iter().filter_map(|l| l.label.clone()).collect();
        return Err(format!(
            "thread `{thread}` is never at `{label}`; it has the labels {}",
            names.join(", ")
        ));
    }
    Ok(some)
}

impl Proof<'_, '_> {
    /// Makes formulas of all annotations.
    fn read(&mut self, file: &Annotated, noted: &Noted, contracts: &Contracts) -> Result<(), Refusal> {
        let p = &noted.program;
        let (at, automata) = (&self.at, &self.automata);
        let where_is = |w: &mut World<'_>, t: &str, l: &str| is_at(w, at, automata, t, l);
        let none = BTreeSet::new();
        let mut olds = Olds::default();
        let world = &mut self.work.world;
        let mut said = |n: usize, names: &Names, t: ThreadId| {
            claim(file, world, &mut olds, n, names, t, None, &none, &where_is)
        };
        for a in automata {
            let start = &noted.starts[a.t.index()];
            for l in p.thread(a.t).location_ids() {
                let place = a.same.get(&l).copied().unwrap_or(l);
                for note in notes_at(p, &noted.notes, a.t, l) {
                    let c = said(note.annotation, &note.names, a.t)?;
                    self.claims.entry((a.t, place)).or_default().push(c);
                }
            }
            for (n, _) in contracts.parts(file, &start.function, false) {
                let c = said(n, &start.names, a.t)?;
                self.claims.entry((a.t, a.entry)).or_default().push(c);
            }
            for (n, _) in contracts.parts(file, &start.function, true) {
                let c = said(n, &start.names, a.t)?;
                for end in &a.ends {
                    self.claims.entry((a.t, *end)).or_default().push(c.clone());
                }
            }
        }
        if !olds.of.is_empty() {
            let says = file.annotations.iter().find(|a| a.text.contains("\\old"));
            let line = says.map_or(0, |a| a.line);
            let reason = "`\\old` is known in sequential functions alone".to_owned();
            return Err(Refusal { file: file.file().to_owned(), line, reason });
        }
        Ok(())
    }

    fn remarks(&self, out: &mut Outline) {
        let p = self.work.world.program;
        for a in &self.automata {
            for l in a.places.iter().filter(|l| !self.claims.contains_key(&(a.t, **l))) {
                let place = p.show_span(p.thread(a.t).location(*l).span);
                out.remarks.push(format!(
                    "{place}: nothing is said about `{}` here ({}): taken as \\true",
                    p.thread(a.t).name,
                    self.name(a.t, *l)
                ));
            }
        }
    }

    fn name(&self, t: ThreadId, l: LocationId) -> String {
        let (_, names) = &self.work.places[&self.at[t.index()].expect("it is not main")];
        names.get(&u64::from(l.0)).cloned().unwrap_or_default()
    }

    fn here(&self, t: ThreadId, l: LocationId) -> Vec<Claim> {
        self.claims.get(&(t, l)).cloned().unwrap_or_default()
    }

    /// That a thread is at a place, and what stands there.
    fn stands(&mut self, t: ThreadId, l: LocationId) -> Vec<Formula> {
        let v = self.at[t.index()].expect("it is not main");
        let mut out = vec![Formula::Term(self.work.world.is(v, WHERE, u64::from(l.0)))];
        out.extend(self.here(t, l).into_iter().map(|c| c.formula));
        out
    }

    /// That other threads are at one of their places.
    fn somewhere(&mut self, but: &[ThreadId]) -> Vec<Formula> {
        let mut out = Vec::new();
        for n in 0..self.automata.len() {
            let t = self.automata[n].t;
            if but.contains(&t) {
                continue;
            }
            let v = self.at[t.index()].expect("it is not main");
            let places = self.automata[n].places.clone();
            let some =
                places.iter().map(|l| Formula::Term(self.work.world.is(v, WHERE, u64::from(l.0)))).collect();
            out.push(Formula::Or(some));
        }
        out
    }

    /// A thread is at a place from now on.
    fn moved(&mut self, t: ThreadId, l: LocationId) -> Assign {
        let v = self.at[t.index()].expect("it is not main");
        let value = self.work.world.terms.constant(u64::from(l.0), WHERE);
        Assign { place: Target::scalar(v), value }
    }

    /// Where a thread is, as a place of a report.
    fn place(&self, t: ThreadId, l: LocationId, claims: &[Claim]) -> Place {
        let p = self.work.world.program;
        let who = format!("`{}` at {}", p.thread(t).name, self.name(t, l));
        match claims.first() {
            Some(c) => {
                let texts: Vec<&str> = claims.iter().map(|c| c.text.as_str()).collect();
                self.work.at_line(c.line, format!("{who}: {}", texts.join("; ")))
            }
            None => self.work.place(p.thread(t).location(l).span, who),
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of a condition")]
    fn push(
        &mut self,
        kind: ConditionKind,
        of: String,
        from: Place,
        to: &dyn Fn(&Self, &[Claim]) -> Place,
        (assumed, items, extra, claims): (&[Formula], &[Item], &[Assign], &[Claim]),
        out: &mut Outline,
    ) {
        let (status, which) = self.work.decide(assumed, items, extra, claims, &BTreeMap::new());
        let one = which.and_then(|n| claims.get(n)).map(std::slice::from_ref);
        let to = to(self, one.unwrap_or(claims));
        let steps = self.work.lines(items);
        out.conditions.push(Condition { kind, of, from, to, steps, status });
    }

    fn sequential(&mut self, out: &mut Outline) {
        for n in 0..self.automata.len() {
            let t = self.automata[n].t;
            let name = self.work.world.program.thread(t).name.clone();
            let others = self.somewhere(&[t]);
            for (wrong, m) in (0..self.automata[n].edges.len())
                .map(|m| (false, m))
                .chain((0..self.automata[n].errors.len()).map(|m| (true, m)))
            {
                let a = &self.automata[n];
                let edge = if wrong { &a.errors[m] } else { &a.edges[m] };
                let (from, to) = (edge.from, edge.to);
                let items: Vec<Item> = edge.parts.iter().map(|e| Item::Step(t, *e)).collect();
                let mut assumed = self.stands(t, from);
                assumed.extend(others.clone());
                let at = self.place(t, from, &self.here(t, from));
                if wrong {
                    let p = self.work.world.program;
                    let what = match &p.thread(t).location(to).kind {
                        LocationKind::Error { kind, message } => format!("{}: {message}", kind.name()),
                        _ => String::new(),
                    };
                    let span = match items.last() {
                        Some(Item::Step(t, e)) => p.thread(*t).transition(*e).span,
                        _ => p.thread(t).location(to).span,
                    };
                    let never = [Claim { formula: Formula::Or(Vec::new()), line: 0, text: String::new() }];
                    let place = |me: &Self, _: &[Claim]| me.work.place(span, what.clone());
                    let parts = (&assumed[..], &items[..], &[][..], &never[..]);
                    self.push(ConditionKind::Check, name.clone(), at, &place, parts, out);
                } else {
                    let extra = [self.moved(t, to)];
                    let claims = self.here(t, to);
                    let place = |me: &Self, c: &[Claim]| me.place(t, to, c);
                    let parts = (&assumed[..], &items[..], &extra[..], &claims[..]);
                    self.push(ConditionKind::Sequential, name.clone(), at, &place, parts, out);
                }
            }
        }
    }

    fn interference(&mut self, out: &mut Outline) {
        for a in 0..self.automata.len() {
            for b in 0..self.automata.len() {
                if a == b {
                    continue;
                }
                let (t, u) = (self.automata[a].t, self.automata[b].t);
                let others = self.somewhere(&[t, u]);
                let name = self.work.world.program.thread(u).name.clone();
                for place in self.automata[a].places.clone() {
                    let claims = self.here(t, place);
                    for m in 0..self.automata[b].edges.len() {
                        let edge = &self.automata[b].edges[m];
                        let (from, to) = (edge.from, edge.to);
                        let items: Vec<Item> = edge.parts.iter().map(|e| Item::Step(u, *e)).collect();
                        let mut assumed = self.stands(t, place);
                        if !self.located {
                            assumed.remove(0);
                            assumed.extend(self.somewhere(&[u]));
                        }
                        assumed.extend(self.stands(u, from));
                        assumed.extend(others.clone());
                        let extra = [self.moved(u, to)];
                        let step = self.place(u, from, &self.here(u, from));
                        let at = |me: &Self, c: &[Claim]| me.place(t, place, c);
                        let parts = (&assumed[..], &items[..], &extra[..], &claims[..]);
                        self.push(ConditionKind::Interference, name.clone(), step, &at, parts, out);
                    }
                }
            }
        }
    }

    fn initial(&mut self, main: &Main, out: &mut Outline) {
        let assumed = initial_values(&mut self.work);
        self.work.all_known = true;
        let mut claims = Vec::new();
        let mut extra = Vec::new();
        let mut start = Vec::new();
        for n in 0..self.automata.len() {
            let (t, entry) = (self.automata[n].t, self.automata[n].entry);
            claims.extend(self.here(t, entry));
            extra.push(self.moved(t, entry));
            start.extend(self.automata[n].start.iter().map(|e| Item::Step(t, *e)));
        }
        let from = self.work.place(main.span, "the beginning of `main`");
        let mut worst: Option<Condition> = None;
        for path in &main.before {
            let mut items: Vec<Item> = path.iter().map(|e| Item::Step(ThreadId(0), *e)).collect();
            items.extend(start.clone());
            let mut one = Outline::default();
            let place = |me: &Self, c: &[Claim]| match c.first() {
                Some(c) => me.work.at_line(c.line, c.text.clone()),
                None => me.work.place(main.span, "the threads start"),
            };
            let parts = (&assumed[..], &items[..], &extra[..], &claims[..]);
            self.push(ConditionKind::Initial, "main".to_owned(), from.clone(), &place, parts, &mut one);
            worst = worse(worst, one.conditions.pop());
        }
        out.conditions.extend(worst);
        for (path, span, what) in &main.wrong_before {
            let items: Vec<Item> = path.iter().map(|e| Item::Step(ThreadId(0), *e)).collect();
            let never = [Claim { formula: Formula::Or(Vec::new()), line: 0, text: String::new() }];
            let place = |me: &Self, _: &[Claim]| me.work.place(*span, what.clone());
            let parts = (&assumed[..], &items[..], &[][..], &never[..]);
            self.push(ConditionKind::Check, "main".to_owned(), from.clone(), &place, parts, out);
        }
        self.work.all_known = false;
    }

    fn last(
        &mut self,
        file: &Annotated,
        noted: &Noted,
        contracts: &Contracts,
        main: &Main,
        out: &mut Outline,
    ) -> Result<(), Refusal> {
        let start = &noted.starts[0];
        let none = BTreeSet::new();
        let mut olds = Olds::default();
        let mut ensures = Vec::new();
        {
            let (at, automata) = (&self.at, &self.automata);
            let where_is = |w: &mut World<'_>, t: &str, l: &str| is_at(w, at, automata, t, l);
            for (n, _) in contracts.parts(file, "main", true) {
                let world = &mut self.work.world;
                ensures.push(claim(
                    file,
                    world,
                    &mut olds,
                    n,
                    &start.names,
                    ThreadId(0),
                    None,
                    &none,
                    &where_is,
                )?);
            }
        }
        if !olds.of.is_empty() {
            let line = ensures.first().map_or(0, |c| c.line);
            let reason = "`\\old` is known in sequential functions alone".to_owned();
            return Err(Refusal { file: file.file().to_owned(), line, reason });
        }
        // Each thread is at one of its ends, with what stands there.
        let mut assumed = Vec::new();
        for n in 0..self.automata.len() {
            let (t, ends) = (self.automata[n].t, self.automata[n].ends.clone());
            let some = ends.iter().map(|l| Formula::And(self.stands(t, *l))).collect();
            assumed.push(Formula::Or(some));
        }
        let from = self.work.place(main.joined, "all threads have ended");
        let mut worst: Option<Condition> = None;
        for path in &main.after {
            let items: Vec<Item> = path.iter().map(|e| Item::Step(ThreadId(0), *e)).collect();
            let mut one = Outline::default();
            let place = |me: &Self, c: &[Claim]| match c.first() {
                Some(c) => me.work.at_line(c.line, c.text.clone()),
                None => me.work.place(main.joined, "nothing is claimed of `main`"),
            };
            let parts = (&assumed[..], &items[..], &[][..], &ensures[..]);
            self.push(ConditionKind::Final, "main".to_owned(), from.clone(), &place, parts, &mut one);
            worst = worse(worst, one.conditions.pop());
        }
        out.conditions.extend(worst);
        for (path, span, what) in &main.wrong_after {
            let items: Vec<Item> = path.iter().map(|e| Item::Step(ThreadId(0), *e)).collect();
            let never = [Claim { formula: Formula::Or(Vec::new()), line: 0, text: String::new() }];
            let place = |me: &Self, _: &[Claim]| me.work.place(*span, what.clone());
            let parts = (&assumed[..], &items[..], &[][..], &never[..]);
            self.push(ConditionKind::Check, "main".to_owned(), from.clone(), &place, parts, out);
        }
        Ok(())
    }
}

/// Of two conditions that are one the worse: what fails, then what is unknown.
fn worse(a: Option<Condition>, b: Option<Condition>) -> Option<Condition> {
    let rank = |c: &Condition| match c.status {
        super::Status::Holds => 0,
        super::Status::Unknown(_) => 1,
        super::Status::Fails(_) => 2,
    };
    match (a, b) {
        (Some(a), Some(b)) => Some(if rank(&b) > rank(&a) { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// A way to where something is wrong, with its place and what it is.
type Wrong = (Vec<TransitionId>, model::Span, String);

/// What `main` does before it makes threads, and after it has joined them.
#[derive(Default)]
struct Main {
    span: model::Span,
    joined: model::Span,
    before: Vec<Vec<TransitionId>>,
    wrong_before: Vec<Wrong>,
    after: Vec<Vec<TransitionId>>,
    wrong_after: Vec<Wrong>,
}

impl Main {
    fn of(file: &Annotated, noted: &Noted, contracts: &Contracts) -> Result<Main, Refusal> {
        let p = &noted.program;
        let t = ThreadId(0);
        let main = p.thread(t);
        let refuse = |span: model::Span, reason: String| {
            let name = p.files.get(span.file.0 as usize).cloned();
            Refusal { file: name.unwrap_or_else(|| file.file().to_owned()), line: span.line, reason }
        };
        if let Some(n) = main.locations.iter().flat_map(|l| l.notes()).next() {
            let a = &file.annotations[noted.notes[n as usize].annotation];
            let reason =
                "expected annotations in threads, not in `main`: it has `requires` and `ensures`".to_owned();
            return Err(Refusal { file: file.file().to_owned(), line: a.line, reason });
        }
        if let Some((n, _)) = contracts.parts(file, "main", false).first() {
            let a = &file.annotations[*n];
            let reason =
                "nothing can be required of the start of a program: the values of its variables are known";
            return Err(Refusal { file: file.file().to_owned(), line: a.line, reason: reason.to_owned() });
        }
        let claims = !contracts.parts(file, "main", true).is_empty();
        let line = file.functions().iter().find(|f| f.name == "main").map_or(0, |f| f.line);
        let mut out =
            Main { span: model::Span { line, ..main.location(main.entry).span }, ..Main::default() };
        let seen_by_others = seen_by_others(p, noted, file);
        let mut paths = Vec::new();
        walk(p, main.entry, &mut Vec::new(), &mut vec![main.entry], &mut paths).map_err(|l| {
            refuse(
                main.location(l).span,
                "`main` has a loop: expected one that makes or joins threads".to_owned(),
            )
        })?;
        let all: BTreeSet<ThreadId> = p.thread_ids().skip(1).collect();
        for path in paths {
            let step = |n: usize| main.transition(path[n]);
            let end = path.last().map_or(main.entry, |e| main.transition(*e).to);
            let wrong = match &main.location(end).kind {
                LocationKind::Error { kind, message } => Some(format!("{}: {message}", kind.name())),
                _ => None,
            };
            let span = path.last().map_or(out.span, |e| main.transition(*e).span);
            let is = |n: usize, join: bool| match step(n).action {
                Action::Create(c) if !join => Some(c),
                Action::Join(c) if join => Some(c),
                _ => None,
            };
            let made: Vec<usize> = (0..path.len()).filter(|n| is(*n, false).is_some()).collect();
            let joined: Vec<usize> = (0..path.len()).filter(|n| is(*n, true).is_some()).collect();
            let Some((first, last)) = made.first().zip(made.last()) else {
                if let Some(what) = wrong {
                    out.wrong_before.push((path, span, what));
                }
                continue;
            };
            let created: BTreeSet<ThreadId> = made.iter().filter_map(|n| is(*n, false)).collect();
            let ended: BTreeSet<ThreadId> = joined.iter().filter_map(|n| is(*n, true)).collect();
            let over = joined.last().copied().filter(|j| j > last).unwrap_or(*last);
            if created != all && wrong.is_none() && main.location(end).kind != LocationKind::Halt {
                return Err(refuse(span, "`main` does not make all threads on every way".to_owned()));
            }
            for n in *first..=over {
                let e = step(n);
                let a = p.accesses(e);
                let mut touched = a.reads.iter().chain(&a.writes).map(|q| q.var);
                let quiet = match e.action {
                    Action::Local => true,
                    Action::Create(_) | Action::Join(_) => {
                        touched.all(|v| p.var(v).internal || !seen_by_others.contains(&v))
                    }
                    Action::Read | Action::Write => touched.all(|v| !seen_by_others.contains(&v)),
                    _ => false,
                };
                if !quiet {
                    let reason = "`main` does something that the threads may see while they run: put it before the \
                                  first `pthread_create`, after the last `pthread_join`, or into a thread";
                    return Err(refuse(e.span, reason.to_owned()));
                }
            }
            // What is wrong while threads run depends on what main knew before.
            let early = path.len() == over + 1 && wrong.is_some();
            if early {
                out.wrong_before.push((path, span, wrong.unwrap_or_default()));
                continue;
            }
            if created != all {
                continue;
            }
            let before = path[..=*last].to_vec();
            if !out.before.contains(&before) {
                out.before.push(before);
            }
            out.joined = step(over).span;
            let after = path[over + 1..].to_vec();
            if ended != all {
                let loud = after.iter().any(|e| main.transition(*e).action != Action::Local);
                if loud || claims || wrong.is_some() {
                    let left: Vec<&str> =
                        all.difference(&ended).map(|t| p.thread(*t).name.as_str()).collect();
                    let reason = format!("`main` goes on before it has joined {}", left.join(", "));
                    return Err(refuse(span, reason));
                }
            }
            match wrong {
                Some(what) => out.wrong_after.push((after, span, what)),
                None if main.location(end).kind == LocationKind::Halt => {}
                None if !out.after.contains(&after) => out.after.push(after),
                None => {}
            }
        }
        Ok(out)
    }
}

/// The variables that other threads access, or of which annotations may speak.
fn seen_by_others(p: &Program, noted: &Noted, file: &Annotated) -> BTreeSet<VarId> {
    let mut out = BTreeSet::new();
    for t in p.threads.iter().skip(1) {
        for e in &t.transitions {
            let a = p.accesses(e);
            out.extend(a.reads.iter().chain(&a.writes).map(|q| q.var));
        }
    }
    fn names(e: &Expr, out: &mut BTreeSet<String>) {
        match e {
            Expr::Name(n) => {
                out.insert(n.clone());
            }
            Expr::Field(a, _)
            | Expr::Not(a)
            | Expr::Neg(a)
            | Expr::Complement(a)
            | Expr::Old(a)
            | Expr::Length(a) => {
                names(a, out);
            }
            Expr::Held(a, _) => names(a, out),
            Expr::Binary(_, a, b) | Expr::Index(a, b) => {
                names(a, out);
                names(b, out);
            }
            Expr::Cond(a, b, c) | Expr::Valid(a, b, c) => {
                names(a, out);
                names(b, out);
                names(c, out);
            }
            Expr::Quantified { low, high, body, .. } => {
                names(low, out);
                names(high, out);
                names(body, out);
            }
            Expr::Number(_) | Expr::Truth(_) | Expr::Result | Expr::Separated(_) | Expr::At(..) => {}
        }
    }
    let mut said = BTreeSet::new();
    for a in &file.annotations {
        if let Clause::Requires(e) | Clause::Ensures(e) | Clause::Invariant(e) | Clause::Assert(e) = &a.clause
        {
            names(e, &mut said);
        }
    }
    fn vars(n: &model::Named, out: &mut BTreeSet<VarId>) {
        match n {
            model::Named::Var(v) | model::Named::Array(v, _) => {
                out.insert(*v);
            }
            model::Named::Struct(fields) => fields.values().for_each(|f| vars(f, out)),
            _ => {}
        }
    }
    for start in &noted.starts {
        for (name, named) in &start.names {
            if said.contains(name) {
                vars(named, &mut out);
            }
        }
    }
    out
}

/// All ways of `main`; the head of a loop if there is one.
fn walk(
    p: &Program,
    at: LocationId,
    path: &mut Vec<TransitionId>,
    visited: &mut Vec<LocationId>,
    out: &mut Vec<Vec<TransitionId>>,
) -> Result<(), LocationId> {
    let main = p.thread(ThreadId(0));
    let next: Vec<(TransitionId, LocationId)> = main.from(at).map(|(id, e)| (id, e.to)).collect();
    if next.is_empty() {
        out.push(path.clone());
    }
    for (id, to) in next {
        if visited.contains(&to) || out.len() > MOST_STEPS {
            return Err(to);
        }
        path.push(id);
        visited.push(to);
        walk(p, to, path, visited, out)?;
        visited.pop();
        path.pop();
    }
    Ok(())
}
