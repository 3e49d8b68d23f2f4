//! Proof outlines: annotations in the program, checked (Hoare 1969; Owicki and Gries 1976; Qadeer's lectures).
//!
//! Sequential code is cut at loop heads ([`sequential`](mod@sequential)): for each way without a loop from one cut to the next, what
//! stands at the first and the steps of the way imply what stands at the second. For threads ([`threads`]) each place has an
//! annotation, and besides, no step of a thread may destroy what stands where another one is. A call of a function with a contract is
//! that contract, where no other thread looks ([`calls`]).
//!
//! **Invariant:** a condition *holds* only if the solver refutes the contrary, and *fails* only with values for which it was evaluated
//! to fail ([`decide`]).

mod calls;
mod decide;
mod formula;
#[cfg(test)]
mod random;
mod sequential;
#[cfg(test)]
mod tests;
mod threads;

use self::decide::{Decided, Values, decide, eval, value};
use self::formula::{Context, Formula, Maker, Olds, World, input};
use model::notes::Expr;
use model::{
    Annotated, Annotation, Assign, Clause, ErrorKind, LocationId, LocationKind, Names, Note, Place as Target,
    Program, Refusal, Span, SyncKind, Term, ThreadId, TransitionId, VarId,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What a condition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConditionKind {
    /// A way of sequential code from one cut to the next.
    Triple,
    /// An `assert` on a way.
    Assertion,
    /// What a function requires holds where it is called.
    Call,
    /// A place where the program would go wrong by itself is not reached: an index, a division, a lock, an assertion in C.
    Check,
    /// A step of a thread leads from what stands before it to what stands after it.
    Sequential,
    /// A step of a thread keeps what stands where another one is.
    Interference,
    /// What stands where threads start holds when they do.
    Initial,
    /// What stands where threads end implies what `main` claims after that.
    Final,
}

impl ConditionKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ConditionKind::Triple => "triple",
            ConditionKind::Assertion => "assertion",
            ConditionKind::Call => "call",
            ConditionKind::Check => "check",
            ConditionKind::Sequential => "sequential",
            ConditionKind::Interference => "non-interference",
            ConditionKind::Initial => "initial",
            ConditionKind::Final => "final",
        }
    }
}

/// A place in the source, and what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// The line; 0 if there is none.
    pub line: u32,
    /// What is there, in words.
    pub what: String,
}

/// Values for which a condition fails.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// Variables and places of threads before.
    pub before: Vec<(String, String)>,
    /// What the steps changed.
    pub after: Vec<(String, String)>,
}

/// Whether a condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// For all values.
    Holds,
    /// Not for these.
    Fails(Example),
    /// It could not be decided.
    Unknown(String),
}

/// One condition of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// What it is.
    pub kind: ConditionKind,
    /// The function, or the thread whose step it is about.
    pub of: String,
    /// Where it starts: what is assumed.
    pub from: Place,
    /// What is claimed, and where.
    pub to: Place,
    /// The lines of the steps between, in order, each once in a row.
    pub steps: Vec<u32>,
    /// Whether it holds.
    pub status: Status,
}

/// An outline, checked.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// Its conditions, in the order of the program.
    pub conditions: Vec<Condition>,
    /// What whoever wrote it should know.
    pub remarks: Vec<String>,
}

impl Outline {
    /// How many conditions of a kind there are.
    pub fn count(&self, kind: ConditionKind) -> usize {
        self.conditions.iter().filter(|c| c.kind == kind).count()
    }

    /// Those that do not hold.
    pub fn failing(&self) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().filter(|c| matches!(c.status, Status::Fails(_)))
    }

    /// Those that could not be decided.
    pub fn undecided(&self) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().filter(|c| matches!(c.status, Status::Unknown(_)))
    }
}

/// Checks the annotations of a program; each condition may take so many seconds.
///
/// ```
/// let text = "/*@ requires n >= 0;\n    ensures \\result == n; */\n\
///     int count(int n) { int i = 0;\n //@ loop invariant 0 <= i <= n;\n while (i < n) i++; return i; }";
/// let file = model::Annotated::read_text("count.c", text, &model::Options::default()).unwrap();
/// let found = verify::check_outline(&file, 5.0).unwrap();
/// assert_eq!(found.conditions.len(), 3);
/// assert_eq!(found.failing().count(), 0);
/// ```
pub fn check_outline(file: &Annotated, seconds: f64) -> Result<Outline, Refusal> {
    let contracts = Contracts::of(file)?;
    let by_contract = calls::by_contract(file, &contracts)?;
    let whole = file.program()?;
    let mut out = Outline::default();
    let mut seen = BTreeSet::new();
    let mut started = BTreeSet::new();
    if let Some(noted) = &whole {
        started.extend(noted.starts.iter().map(|s| s.function.clone()));
        seen.extend(noted.notes.iter().map(|n| n.annotation));
        if noted.program.threads.len() > 1 {
            threads::check(file, noted, &contracts, seconds, &mut out)?;
        } else {
            let noted = file.program_by_contract(&by_contract)?;
            calls::remarks(&noted, &contracts, &by_contract, &mut out);
            if contracts.before("main").is_some() || noted.notes.iter().any(|n| n.call.is_none()) {
                sequential::check(file, &noted, &contracts, true, seconds, &mut out)?;
            } else if !noted.notes.is_empty() {
                // Nothing is said of `main` itself, so that its calls cannot be followed is no mistake.
                let mut found = Outline::default();
                match sequential::check(file, &noted, &contracts, true, seconds, &mut found) {
                    Ok(()) => out.conditions.append(&mut found.conditions),
                    Err(why) => out.remarks.push(format!("the calls in `main` are not checked: {why}")),
                }
            }
        }
    }
    // Functions with something to say, each alone. What `main` calls without threads is checked with it as well.
    for f in file.functions() {
        if started.contains(&f.name) {
            continue;
        }
        let inside = annotated_inside(file, &f.name);
        if contracts.before(&f.name).is_none()
            && (inside.is_empty() || inside.iter().all(|n| seen.contains(n)))
        {
            continue;
        }
        let noted = file.function_by_contract(&f.name, &by_contract)?;
        calls::remarks(&noted, &contracts, &by_contract, &mut out);
        seen.extend(noted.notes.iter().map(|n| n.annotation));
        sequential::check(file, &noted, &contracts, false, seconds, &mut out)?;
    }
    for (n, a) in file.annotations.iter().enumerate() {
        if matches!(a.clause, Clause::Assert(_) | Clause::Invariant(_)) && !seen.contains(&n) {
            out.remarks.push(format!("{}:{}: nothing leads to `{}`", file.file(), a.line, a.text));
        }
    }
    Ok(out)
}

/// The annotations of statements between the beginning of a function and that of the next one.
fn annotated_inside(file: &Annotated, name: &str) -> Vec<usize> {
    let functions = file.functions();
    let Some(at) = functions.iter().position(|f| f.name == name) else { return Vec::new() };
    let end = functions.get(at + 1).map_or(u32::MAX, |f| f.line);
    let inside = |a: &Annotation| {
        matches!(a.clause, Clause::Assert(_) | Clause::Invariant(_))
            && a.line >= functions[at].line
            && a.line < end
    };
    (0..file.annotations.len()).filter(|n| inside(&file.annotations[*n])).collect()
}

/// What stands before functions.
struct Contracts {
    of: BTreeMap<String, Vec<usize>>,
}

impl Contracts {
    fn of(file: &Annotated) -> Result<Contracts, Refusal> {
        let functions = file.functions();
        let mut of: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (n, a) in file.annotations.iter().enumerate() {
            if !matches!(a.clause, Clause::Requires(_) | Clause::Ensures(_) | Clause::Assigns(_)) {
                continue;
            }
            match functions.iter().find(|f| f.line >= a.end) {
                Some(f) => of.entry(f.name.clone()).or_default().push(n),
                None => return Err(refuse(file, a, "expected a function after this".to_owned())),
            }
        }
        Ok(Contracts { of })
    }

    fn before(&self, function: &str) -> Option<&[usize]> {
        self.of.get(function).map(Vec::as_slice)
    }

    /// What a function requires, or ensures.
    fn parts<'f>(&self, file: &'f Annotated, function: &str, ensures: bool) -> Vec<(usize, &'f Expr)> {
        let list = self.before(function).unwrap_or_default();
        let part = |n: &usize| match (&file.annotations[*n].clause, ensures) {
            (Clause::Requires(e), false) | (Clause::Ensures(e), true) => Some((*n, e)),
            _ => None,
        };
        list.iter().filter_map(part).collect()
    }
}

fn refuse(file: &Annotated, a: &Annotation, reason: String) -> Refusal {
    Refusal { file: file.file().to_owned(), line: a.line, reason: format!("{reason}, in `{}`", a.text) }
}

/// A formula that stands somewhere.
#[derive(Clone)]
struct Claim {
    formula: Formula,
    line: u32,
    text: String,
}

/// Says what an annotation means where it stands.
#[allow(clippy::too_many_arguments, reason = "all that a formula may speak of")]
fn claim(
    file: &Annotated,
    world: &mut World<'_>,
    olds: &mut Olds,
    annotation: usize,
    names: &Names,
    me: ThreadId,
    result: Option<VarId>,
    as_called: &BTreeSet<VarId>,
    at: &dyn Fn(&mut World<'_>, &str, &str) -> Result<Term, String>,
) -> Result<Claim, Refusal> {
    let a = &file.annotations[annotation];
    let e = match &a.clause {
        Clause::Requires(e) | Clause::Ensures(e) | Clause::Invariant(e) | Clause::Assert(e) => e,
        Clause::GuardedBy(_) | Clause::Atomic | Clause::Assigns(_) => {
            return Err(refuse(file, a, "expected a formula".to_owned()));
        }
    };
    let context = Context { names, me, result, as_called: as_called.clone(), at };
    let formula = Maker::new(world, &context, olds).make(e).map_err(|why| refuse(file, a, why))?;
    Ok(Claim { formula, line: a.line, text: a.text.clone() })
}

/// A step of a way, or something that is known on it.
#[derive(Clone)]
enum Item {
    Step(ThreadId, TransitionId),
    Know(Formula),
    /// Arrays have any content from here on; for each, a name for what it was.
    Forget(BTreeMap<VarId, VarId>),
}

/// What has to hold before some steps, so that something holds after them.
struct Before {
    /// Guards of the steps, and what is known on the way.
    guards: Vec<Formula>,
    claims: Vec<Formula>,
    /// Terms after the steps, in terms of what was before.
    after: Vec<Term>,
}

/// The weakest precondition of a way: inputs are new variables.
fn before(world: &mut World<'_>, items: &[Item], claims: &[Formula], after: &[Term]) -> Before {
    let mut out = Before { guards: Vec::new(), claims: claims.to_vec(), after: after.to_vec() };
    for item in items.iter().rev() {
        match item {
            Item::Know(f) => out.guards.push(f.clone()),
            Item::Forget(arrays) => {
                let mut to = BTreeMap::new();
                for (now, was) in arrays {
                    let any = world.fresh(format!("any {}", world.program.name(*now)));
                    to.extend([(*now, any), (*was, *now)]);
                }
                for f in out.guards.iter_mut().chain(&mut out.claims) {
                    *f = world.renamed(f, &to);
                }
                for t in &mut out.after {
                    *t = formula::rename(&mut world.terms, *t, &to);
                }
            }
            Item::Step(t, e) => {
                let (t, n) = (*t, *e);
                let e = world.program.thread(t).transition(n).clone();
                let mut assigns = e.assigns.clone();
                for h in &e.havoc {
                    assigns.push(input(world, *h));
                }
                let mut known = HashMap::new();
                for f in out.guards.iter_mut().chain(&mut out.claims) {
                    *f = world.before(f, &assigns, &mut known);
                }
                for t in &mut out.after {
                    *t = world.terms.substitute_with(*t, &assigns, &mut known);
                }
                if !is_bounds_check(world.program, t, n) {
                    out.guards.push(Formula::Term(e.guard));
                }
            }
        }
    }
    out
}

/// Whether a step only says that an index is within its array. That is a condition of its own, and what comes after does not lean on it.
fn is_bounds_check(p: &Program, t: ThreadId, n: TransitionId) -> bool {
    let thread = p.thread(t);
    let e = thread.transition(n);
    let bounds = |l: LocationId| {
        matches!(thread.location(l).kind, LocationKind::Error { kind: ErrorKind::OutOfBounds, .. })
    };
    !bounds(e.to)
        && e.assigns.is_empty()
        && e.havoc.is_empty()
        && thread.from(e.from).any(|(_, f)| bounds(f.to))
}

/// All that conditions of one program have in common.
struct Work<'w, 'p> {
    file: &'w Annotated,
    world: World<'p>,
    /// Arrays of known length.
    arrays: HashMap<VarId, u32>,
    /// What variables are called in examples, where not by their own names.
    called: BTreeMap<VarId, String>,
    /// The variable that says where a thread is.
    places: BTreeMap<VarId, (String, BTreeMap<u64, String>)>,
    /// All values are known at the start: only those that matter are shown.
    all_known: bool,
    seconds: f64,
}

impl<'w, 'p> Work<'w, 'p> {
    fn new(file: &'w Annotated, program: &'p Program, seconds: f64) -> Work<'w, 'p> {
        let arrays =
            program.vars.iter().enumerate().filter_map(|(n, v)| Some((VarId(n as u32), v.len?))).collect();
        let world = World::new(program);
        Work {
            file,
            world,
            arrays,
            called: BTreeMap::new(),
            places: BTreeMap::new(),
            all_known: false,
            seconds,
        }
    }

    /// Whether claims hold after a way, if something holds before it; and which of them does not.
    fn decide(
        &mut self,
        assumed: &[Formula],
        items: &[Item],
        extra: &[Assign],
        claims: &[Claim],
        renamed: &BTreeMap<VarId, VarId>,
    ) -> (Status, Option<usize>) {
        let mut formulas: Vec<Formula> = claims.iter().map(|c| c.formula.clone()).collect();
        // Places of threads change with the last step.
        let mut known = HashMap::new();
        for f in &mut formulas {
            *f = self.world.before(f, extra, &mut known);
        }
        let changed = self.changed(items);
        let after: Vec<Term> = changed.iter().map(|v| self.world.value(*v)).collect();
        let mut b = before(&mut self.world, items, &formulas, &after);
        let mut all: Vec<Formula> = assumed.to_vec();
        all.append(&mut b.guards);
        if !renamed.is_empty() {
            for f in all.iter_mut().chain(&mut b.claims) {
                *f = self.world.renamed(f, renamed);
            }
        }
        let all: Vec<Formula> = all.into_iter().flat_map(Formula::conjuncts).collect();
        match self.follow(&all, &b.claims) {
            Decided::Holds => (Status::Holds, None),
            Decided::Unknown(why) => (Status::Unknown(why), None),
            Decided::Fails(values) => {
                let fails = |f: &Formula| {
                    eval(&self.world.terms, f, &values, &mut Vec::new(), &mut 1_000_000) == Some(false)
                };
                let which = b.claims.iter().position(fails);
                let mut vars = BTreeSet::new();
                let assumed = if self.all_known { &[] } else { &all[..] };
                for f in assumed.iter().chain(&b.claims) {
                    vars.extend(f.vars(&self.world.terms));
                }
                let before = self.example(&values, &vars);
                let mut later = Vec::new();
                for (v, t) in changed.iter().zip(&b.after) {
                    let now = values.scalars.get(v).copied().unwrap_or(0);
                    let new = value(&self.world.terms, *t, &values, &[]);
                    if now != new
                        && let Some(name) = self.name(*v)
                    {
                        later.push((name, self.show(*v, new)));
                    }
                }
                (Status::Fails(Example { before, after: later }), which)
            }
        }
    }

    /// Whether claims follow: all at once, and one by one where that is too hard.
    fn follow(&mut self, assumed: &[Formula], claims: &[Formula]) -> Decided {
        let claim = Formula::And(claims.to_vec());
        let parts = claim.clone().conjuncts();
        let seconds = if parts.len() > 1 { (self.seconds / 4.0).min(2.0) } else { self.seconds };
        let mut out = decide(&mut self.world, &self.arrays, assumed, &claim, seconds);
        if parts.len() < 2 || !matches!(out, Decided::Unknown(_)) {
            return out;
        }
        let each = (self.seconds - seconds) / parts.len() as f64;
        let mut all_hold = true;
        for part in &parts {
            match decide(&mut self.world, &self.arrays, assumed, part, each) {
                Decided::Holds => {}
                fails @ Decided::Fails(_) => return fails,
                unknown => {
                    all_hold = false;
                    out = unknown;
                }
            }
        }
        if all_hold { Decided::Holds } else { out }
    }

    /// The variables that a way assigns, arrays aside.
    fn changed(&self, items: &[Item]) -> Vec<VarId> {
        let p = self.world.program;
        let mut out = BTreeSet::new();
        for item in items {
            if let Item::Step(t, e) = item {
                let e = p.thread(*t).transition(*e);
                let places = e.assigns.iter().map(|a| a.place).chain(e.havoc.iter().copied());
                out.extend(places.filter(|q: &Target| q.index.is_none()).map(|q| q.var));
            }
        }
        out.into_iter().collect()
    }

    /// What a variable is called; `None` for those that nobody wrote.
    fn name(&self, v: VarId) -> Option<String> {
        if let Some(name) = self.called.get(&v) {
            return Some(name.clone());
        }
        if let Some(name) = self.world.names.get(&v) {
            return (!name.contains('%')).then(|| name.clone());
        }
        let var = self.world.program.var(v);
        let lock = self.lock(v).is_some();
        (!var.name.contains('%') && (!var.internal || lock)).then(|| var.name.clone())
    }

    /// The lock of which a variable says who has it.
    fn lock(&self, v: VarId) -> Option<&str> {
        self.world.program.syncs.iter().find_map(|s| match s.kind {
            SyncKind::Mutex { owner } if owner == v => Some(s.name.as_str()),
            SyncKind::RwLock { writer, .. } if writer == v => Some(s.name.as_str()),
            _ => None,
        })
    }

    fn show(&self, v: VarId, bits: u64) -> String {
        if let Some((_, at)) = self.places.get(&v) {
            return at.get(&bits).cloned().unwrap_or_else(|| "elsewhere".to_owned());
        }
        if v.index() >= self.world.program.vars.len() {
            // Inputs have the type of what they are for; what is left is a number of formulas.
            return formula::WIDE.value(bits).to_string();
        }
        if self.lock(v).is_some() {
            let owner = bits.checked_sub(1).and_then(|n| self.world.program.threads.get(n as usize));
            return owner.map_or("free".to_owned(), |t| format!("held by {}", t.name));
        }
        self.world.program.var(v).ty.value(bits).to_string()
    }

    fn example(&self, values: &Values, vars: &BTreeSet<VarId>) -> Vec<(String, String)> {
        let mut out = Vec::new();
        for (v, (thread, _)) in &self.places {
            if let Some(bits) = values.scalars.get(v).filter(|_| vars.contains(v)) {
                out.push((format!("{thread} at"), self.show(*v, *bits)));
            }
        }
        for (v, bits) in &values.scalars {
            if vars.contains(v)
                && !self.places.contains_key(v)
                && v.index() < self.world.program.vars.len()
                && let Some(name) = self.name(*v)
            {
                out.push((name, self.show(*v, *bits)));
            }
        }
        for ((v, i), bits) in &values.cells {
            let within = self.arrays.get(v).is_none_or(|n| *i < u64::from(*n));
            if vars.contains(v)
                && within
                && v.index() < self.world.program.vars.len()
                && let Some(name) = self.name(*v)
            {
                out.push((
                    format!("{name}[{}]", *i as i64),
                    self.world.program.var(*v).ty.value(*bits).to_string(),
                ));
            }
        }
        out
    }

    fn place(&self, span: Span, what: impl Into<String>) -> Place {
        let file = self.world.program.files.get(span.file.0 as usize).cloned();
        Place {
            file: file.unwrap_or_else(|| self.file.file().to_owned()),
            line: span.line,
            what: what.into(),
        }
    }

    fn at_line(&self, line: u32, what: impl Into<String>) -> Place {
        Place { file: self.file.file().to_owned(), line, what: what.into() }
    }

    /// The lines of a way.
    fn lines(&self, items: &[Item]) -> Vec<u32> {
        let mut out: Vec<u32> = Vec::new();
        for item in items {
            if let Item::Step(t, e) = item {
                let e = self.world.program.thread(*t).transition(*e);
                // A jump is no statement.
                let jump = e.assigns.is_empty()
                    && e.havoc.is_empty()
                    && self.world.program.terms.as_const(e.guard) == Some(1);
                let line = if jump { 0 } else { e.span.line };
                if line > 0 && out.last() != Some(&line) {
                    out.push(line);
                }
            }
        }
        out
    }
}

/// What stands at a location, by annotation.
fn notes_at<'n>(program: &Program, notes: &'n [Note], t: ThreadId, l: LocationId) -> Vec<&'n Note> {
    program.thread(t).location(l).notes().map(|n| &notes[n as usize]).collect()
}
