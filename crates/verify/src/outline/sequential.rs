//! Sequential code: Hoare triples over ways without loops, between cuts.
//!
//! The cuts are the entry, the heads of loops (where their invariants stand) and the return. What a function requires of variables that
//! it never changes is known at every cut. An `assert` is no cut: it is a condition of its own, and known from there on.

use super::formula::{Formula, Olds};
use super::{
    Claim, Condition, ConditionKind, Contracts, Item, Outline, Place, Status, Work, claim, notes_at,
};
use model::notes::Expr;
use model::{
    Annotated, Clause, ErrorKind, LocationId, LocationKind, Named, Noted, Refusal, Scope, ThreadId,
    TransitionId, Type, VarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// More ways than this are too many.
const MOST_WAYS: usize = 4000;

/// Checks one function, or `main` from the start of the program.
pub(super) fn check(
    file: &Annotated,
    noted: &Noted,
    contracts: &Contracts,
    from_start: bool,
    seconds: f64,
    out: &mut Outline,
) -> Result<(), Refusal> {
    let p = &noted.program;
    let t = ThreadId(0);
    let thread = p.thread(t);
    let start = &noted.starts[0];
    if p.threads.len() > 1 {
        return Err(whole(
            file,
            format!("`{}` makes threads: only `main` may, in an outline", start.function),
        ));
    }
    let mut work = Work::new(file, p, seconds);
    let prefix = format!("{}.", thread.name);
    for (n, v) in p.vars.iter().enumerate() {
        if let Some(short) = v.name.strip_prefix(&prefix) {
            work.called.insert(VarId(n as u32), short.trim_end_matches("[]").to_owned());
        }
    }
    work.called.retain(|_, name| !name.contains('%'));
    for named in start.names.values() {
        if let Named::Pointed { cells, .. } = named {
            // Its length is a variable, not that of the type.
            work.arrays.remove(cells);
        }
    }
    let mut modified: BTreeSet<VarId> = BTreeSet::new();
    for e in &thread.transitions {
        modified.extend(e.assigns.iter().map(|a| a.place.var).chain(e.havoc.iter().map(|h| h.var)));
    }
    modified.extend(noted.forgets.iter().flatten());
    let alone =
        |_: &mut super::World<'_>, _: &str, _: &str| Err("there are no other threads here".to_owned());
    let mut olds = Olds::default();
    let all = (0..p.vars.len()).map(|n| VarId(n as u32));
    // What never changes is what it was.
    olds.of.extend(all.filter(|v| !modified.contains(v)).map(|v| (v, v)));
    let none = BTreeSet::new();
    let mut requires = Vec::new();
    for (n, _) in contracts.parts(file, &start.function, false) {
        requires.push(claim(file, &mut work.world, &mut olds, n, &start.names, t, None, &none, &alone)?);
    }
    let mut as_called = BTreeSet::new();
    for name in &start.parameters {
        if let Some(Named::Var(v)) = start.names.get(name)
            && modified.contains(v)
        {
            as_called.insert(*v);
        }
    }
    let mut ensures = Vec::new();
    for (n, _) in contracts.parts(file, &start.function, true) {
        let claimed =
            claim(file, &mut work.world, &mut olds, n, &start.names, t, start.result, &as_called, &alone)?;
        ensures.push(claimed);
    }
    let mut spoken: BTreeSet<VarId> = BTreeSet::new();
    // What stands at locations.
    let mut invariants: BTreeMap<LocationId, Vec<Claim>> = BTreeMap::new();
    let mut asserts: BTreeMap<LocationId, Vec<(ConditionKind, Claim)>> = BTreeMap::new();
    let mut returned: BTreeMap<LocationId, Vec<Item>> = BTreeMap::new();
    for l in thread.location_ids() {
        let mut forgotten = BTreeMap::new();
        for v in thread.location(l).forgets().flat_map(|n| &noted.forgets[n as usize]) {
            let old = work.world.fresh(format!("%what {} was", p.name(*v)));
            forgotten.insert(*v, old);
        }
        if !forgotten.is_empty() {
            returned.entry(l).or_default().push(Item::Forget(forgotten.clone()));
        }
        for note in notes_at(p, &noted.notes, t, l) {
            let n = note.annotation;
            if let Some(call) = note.call.as_ref().filter(|c| c.returned) {
                let mut olds = Olds { of: call.before.clone(), asked: BTreeSet::new() };
                olds.of.extend(&forgotten);
                note.names.values().for_each(|named| unchanged(named, &mut olds));
                let result = call.result;
                let made = claim(file, &mut work.world, &mut olds, n, &note.names, t, result, &none, &alone)?;
                spoken.extend(made.formula.vars(&work.world.terms));
                spoken.extend(&olds.asked);
                returned.entry(l).or_default().push(Item::Know(made.formula));
                continue;
            }
            if note.inside && file.annotations[n].text.contains("\\old") {
                let reason = "`\\old` in a function that is read in place of its call: it needs a contract";
                return Err(super::refuse(file, &file.annotations[n], reason.to_owned()));
            }
            let made = claim(file, &mut work.world, &mut olds, n, &note.names, t, None, &none, &alone)?;
            match (&file.annotations[n].clause, &note.call) {
                (Clause::Invariant(_), _) => invariants.entry(l).or_default().push(made),
                (_, Some(_)) => asserts.entry(l).or_default().push((ConditionKind::Call, made)),
                _ => asserts.entry(l).or_default().push((ConditionKind::Assertion, made)),
            }
        }
    }
    let all = requires.iter().chain(&ensures).chain(invariants.values().flatten());
    let all = all.chain(asserts.values().flatten().map(|a| &a.1));
    all.for_each(|c| spoken.extend(c.formula.vars(&work.world.terms)));
    // What something was is the same memory as what it is.
    spoken.extend(&olds.asked);
    separated(file, noted, contracts, &modified, spoken)?;
    // What is known everywhere: of what never changes.
    let mut known: Vec<Formula> = Vec::new();
    for named in start.names.values() {
        if let Named::Pointed { length, .. } = named {
            let n = work.world.value(*length);
            let most = work.world.terms.constant(1 << 40, Type::unsigned(64));
            known.push(Formula::Term(work.world.terms.le(n, most)));
        }
    }
    for r in &requires {
        for part in r.formula.clone().conjuncts() {
            if part.vars(&work.world.terms).iter().all(|v| !modified.contains(v)) {
                known.push(part);
            }
        }
    }
    let mut at_entry: Vec<Formula> = requires.iter().map(|r| r.formula.clone()).collect();
    if from_start {
        at_entry.extend(initial_values(&mut work));
    }
    // Where the function is called, what variables were is what they are.
    let entry_olds: BTreeMap<VarId, VarId> = olds.of.iter().map(|(now, old)| (*old, *now)).collect();

    let mut cuts = vec![thread.entry];
    cuts.extend(invariants.keys().copied().filter(|l| *l != thread.entry));
    let mut ways = 0;
    for cut in cuts {
        let entry = cut == thread.entry;
        let here = invariants.get(&cut);
        let mut assumed = known.clone();
        if let Some(list) = here {
            assumed.extend(list.iter().map(|c| c.formula.clone()));
        }
        let mut before: Vec<Claim> = here.cloned().unwrap_or_default();
        if entry {
            assumed.extend(at_entry.clone());
            before.extend(requires.iter().cloned());
        }
        let from = match before.first() {
            Some(c) => work.at_line(c.line, texts(&before)),
            None => {
                let line = file.functions().iter().find(|f| f.name == start.function).map_or(0, |f| f.line);
                work.at_line(line, format!("the beginning of `{}`", start.function))
            }
        };
        let renamed = if entry { entry_olds.clone() } else { BTreeMap::new() };
        let search = Ways {
            noted,
            t,
            invariants: &invariants,
            asserts: &asserts,
            returned: &returned,
            ensures: &ensures,
        };
        let mut found = Vec::new();
        let mut path = Path { items: Vec::new(), visited: vec![cut], at: cut };
        search.from(file, &mut path, true, &mut found)?;
        ways += found.len();
        if ways > MOST_WAYS {
            return Err(whole(
                file,
                format!("`{}` has more than {MOST_WAYS} ways without a loop", start.function),
            ));
        }
        for way in found {
            let (mut status, which) = work.decide(&assumed, &way.items, &[], &way.claims, &renamed);
            if let (Some(why), Status::Fails(_)) = (&way.beyond, &status) {
                status = Status::Unknown(why.clone());
            }
            let to = match (which.and_then(|n| way.claims.get(n)), way.claims.first()) {
                (Some(c), _) if c.line > 0 => work.at_line(c.line, c.text.clone()),
                (_, Some(c)) if c.line > 0 => work.at_line(c.line, texts(&way.claims)),
                _ => way.place(&work),
            };
            let steps = work.lines(&way.items);
            out.conditions.push(Condition {
                kind: way.kind,
                of: start.function.clone(),
                from: from.clone(),
                to,
                steps,
                status,
            });
        }
    }
    Ok(())
}

/// Variables that a function does not assign are what they were.
fn unchanged(named: &Named, olds: &mut Olds) {
    match named {
        Named::Var(v) | Named::Array(v, _) | Named::Pointed { cells: v, .. } => {
            olds.of.entry(*v).or_insert(*v);
        }
        Named::Struct(fields) => fields.values().for_each(|f| unchanged(f, olds)),
        Named::Number(_) | Named::Sync(_) | Named::Other => {}
    }
}

/// Formulas side by side.
fn texts(claims: &[Claim]) -> String {
    claims.iter().map(|c| c.text.as_str()).collect::<Vec<_>>().join("; ")
}

fn whole(file: &Annotated, reason: String) -> Refusal {
    Refusal { file: file.file().to_owned(), line: 0, reason }
}

/// What variables are when the program starts.
pub(super) fn initial_values(work: &mut Work<'_, '_>) -> Vec<Formula> {
    let p = work.world.program;
    let mut out = Vec::new();
    for (n, v) in p.vars.iter().enumerate() {
        let id = VarId(n as u32);
        for (i, bits) in v.init.iter().enumerate().take(256) {
            let value = match v.len {
                None => work.world.value(id),
                Some(_) => {
                    let i = work.world.terms.constant(i as u64, Type::unsigned(64));
                    work.world.terms.cell(id, i, v.ty)
                }
            };
            let bits = work.world.terms.constant(*bits, v.ty);
            out.push(Formula::Term(work.world.terms.eq(value, bits)));
        }
    }
    out
}

/// What two parameters point to, or a parameter and a global variable, may be the same: then a write to one changes the other. They
/// must be said to be apart, unless nobody writes. What formulas speak of counts as used.
fn separated(
    file: &Annotated,
    noted: &Noted,
    contracts: &Contracts,
    modified: &BTreeSet<VarId>,
    spoken: BTreeSet<VarId>,
) -> Result<(), Refusal> {
    let p = &noted.program;
    let start = &noted.starts[0];
    let mut apart: Vec<&Vec<String>> = Vec::new();
    fn find<'e>(e: &'e Expr, out: &mut Vec<&'e Vec<String>>) {
        match e {
            Expr::Separated(names) => out.push(names),
            Expr::Binary(model::notes::Operator::And, a, b) => {
                find(a, out);
                find(b, out);
            }
            _ => {}
        }
    }
    for (_, e) in contracts.parts(file, &start.function, false) {
        find(e, &mut apart);
    }
    let mut used: BTreeSet<VarId> = spoken;
    used.extend(modified);
    for e in &p.threads[0].transitions {
        let a = p.accesses(e);
        used.extend(a.reads.iter().chain(&a.writes).map(|q| q.var));
    }
    let var = |n: &Named| match n {
        Named::Var(v) | Named::Array(v, _) if p.var(*v).scope == Scope::Shared => Some(*v),
        Named::Pointed { cells, .. } => Some(*cells),
        _ => None,
    };
    for (a, x) in &start.names {
        let Named::Pointed { cells, .. } = x else { continue };
        for (b, y) in &start.names {
            let Some(other) = var(y) else { continue };
            let same_type = p.var(*cells).ty.bits == p.var(other).ty.bits;
            let matters = modified.contains(cells) || modified.contains(&other);
            let said = apart.iter().any(|names| names.contains(a) && names.contains(b));
            if *cells != other
                && same_type
                && matters
                && used.contains(cells)
                && used.contains(&other)
                && !said
            {
                let line = file.functions().iter().find(|f| f.name == start.function).map_or(0, |f| f.line);
                let reason = format!(
                    "`{a}` and `{b}` may be the same memory: expected `requires \\separated({a}, {b});`"
                );
                return Err(Refusal { file: file.file().to_owned(), line, reason });
            }
        }
    }
    Ok(())
}

/// A way from a cut to the next one.
struct Way {
    kind: ConditionKind,
    items: Vec<Item>,
    claims: Vec<Claim>,
    /// Where it ends.
    span: model::Span,
    what: String,
    /// Why a failure is none: the way leads beyond a bound of the reader.
    beyond: Option<String>,
}

impl Way {
    fn place(&self, work: &Work<'_, '_>) -> Place {
        work.place(self.span, self.what.clone())
    }
}

struct Path {
    items: Vec<Item>,
    visited: Vec<LocationId>,
    at: LocationId,
}

struct Ways<'s> {
    noted: &'s Noted,
    t: ThreadId,
    invariants: &'s BTreeMap<LocationId, Vec<Claim>>,
    asserts: &'s BTreeMap<LocationId, Vec<(ConditionKind, Claim)>>,
    /// What is known where a function has returned.
    returned: &'s BTreeMap<LocationId, Vec<Item>>,
    ensures: &'s [Claim],
}

impl Ways<'_> {
    /// All ways on from where a path is.
    fn from(
        &self,
        file: &Annotated,
        path: &mut Path,
        first: bool,
        out: &mut Vec<Way>,
    ) -> Result<(), Refusal> {
        let p = &self.noted.program;
        let thread = p.thread(self.t);
        let location = thread.location(path.at);
        let last = path.items.iter().rev().find_map(|i| match i {
            Item::Step(t, e) => Some(p.thread(*t).transition(*e).span),
            Item::Know(_) | Item::Forget(_) => None,
        });
        let mut way = |kind, claims: Vec<Claim>, what: &str| {
            let span = last.unwrap_or(location.span);
            out.push(Way {
                kind,
                items: path.items.clone(),
                claims,
                span,
                what: what.to_owned(),
                beyond: None,
            });
        };
        if !first && let Some(claims) = self.invariants.get(&path.at) {
            way(ConditionKind::Triple, claims.clone(), "the head of a loop");
            return Ok(());
        }
        let here = self.asserts.get(&path.at).cloned().unwrap_or_default();
        for (kind, claimed) in &here {
            way(*kind, vec![claimed.clone()], "");
        }
        let length = path.items.len();
        path.items.extend(here.into_iter().map(|(_, c)| Item::Know(c.formula)));
        path.items.extend(self.returned.get(&path.at).into_iter().flatten().cloned());
        match &location.kind {
            LocationKind::End | LocationKind::Exit => {
                let span = last.unwrap_or(location.span);
                let (items, claims) = (path.items.clone(), self.ensures.to_vec());
                let what = "the function returns".to_owned();
                out.push(Way { kind: ConditionKind::Triple, items, claims, span, what, beyond: None });
            }
            LocationKind::Halt => {}
            LocationKind::Error { kind, message } => {
                let no = self.never();
                let claims = vec![Claim { formula: no, line: 0, text: String::new() }];
                let span = last.unwrap_or(location.span);
                let beyond = (*kind == ErrorKind::Bound).then(|| message.clone());
                let what = format!("{}: {message}", kind.name());
                out.push(Way {
                    kind: ConditionKind::Check,
                    items: path.items.clone(),
                    claims,
                    span,
                    what,
                    beyond,
                });
            }
            LocationKind::Normal => {
                let next: Vec<(TransitionId, LocationId)> =
                    thread.from(path.at).map(|(id, e)| (id, e.to)).collect();
                for (id, to) in next {
                    if path.visited.contains(&to) && !self.invariants.contains_key(&to) {
                        let span = thread.location(to).span;
                        let name = p.files.get(span.file.0 as usize).cloned();
                        return Err(Refusal {
                            file: name.unwrap_or_else(|| file.file().to_owned()),
                            line: span.line,
                            reason: "expected a `loop invariant` before this loop".to_owned(),
                        });
                    }
                    if out.len() > MOST_WAYS {
                        return Ok(());
                    }
                    path.items.push(Item::Step(self.t, id));
                    path.visited.push(to);
                    let before = std::mem::replace(&mut path.at, to);
                    self.from(file, path, false, out)?;
                    path.at = before;
                    path.visited.pop();
                    path.items.pop();
                }
            }
        }
        path.items.truncate(length);
        Ok(())
    }

    /// An empty disjunction never holds.
    fn never(&self) -> Formula {
        Formula::Or(Vec::new())
    }
}
