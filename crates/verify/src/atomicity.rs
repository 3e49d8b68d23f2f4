//! Whether functions are atomic: by movers first, and where these do not tell, by a run that breaks it.
//!
//! A function is declared with `//@ atomic;`, a variable with `//@ guarded_by lock;`. Guards are checked at every access that can be
//! concurrent with another; those that are not written are inferred ([`crate::locksets`]). A function whose steps are
//! `(R + B)* (A + nothing) (L + B)*` on every way is atomic ([`crate::Movers`]). Of one that is not, executions are searched: one in
//! which an access of another thread comes after one of the function's and before another one, each pair in conflict (or such a chain
//! of them), is equivalent to none in which the function runs alone. If all executions were seen and none is of that kind, counting
//! locks as accesses too, the function is atomic in this program after all.

use crate::executions::{Reach, each};
use crate::movers::{Mover, Movers};
use crate::races::{Access, Mode, data, locksets};
use model::notes::Expr;
use model::{
    Annotated, Clause, Interpreter, LocationId, Mark, Named, Noted, Program, Refusal, Step, SyncId, ThreadId,
    TransitionId, VarId,
};
use std::collections::{BTreeMap, BTreeSet};

/// A run that no run is equivalent to in which a function is not interrupted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its steps.
    pub run: Vec<Step>,
    /// For each step, whether it is one of the function.
    pub inside: Vec<bool>,
    /// A step of the function, one of another thread that comes after it, and one of the function that comes after that.
    pub accesses: [usize; 3],
}

/// Whether a function might as well run alone.
#[derive(Clone, Debug, PartialEq)]
pub enum Serial {
    /// Its steps move.
    ByMovers,
    /// All so many executions are equivalent to such.
    BySearch(u64),
    /// It is interrupted by something that matters.
    No(Box<Broken>),
    /// Movers do not tell, and neither did the search.
    Unknown(String),
}

/// What is known of a function.
#[derive(Clone, Debug)]
pub struct FunctionAtomicity {
    /// Its name.
    pub name: String,
    /// Its line.
    pub line: u32,
    /// The line of its `atomic`, if it has one.
    pub declared: Option<u32>,
    /// How it moves, at worst.
    pub mover: Mover,
    /// The steps of a way through it that are not local, with their lines: one that is not atomic, if there is one.
    pub way: Vec<(Mover, u32)>,
    /// The answer.
    pub serial: Serial,
}

/// What is known of a variable's guard.
#[derive(Clone, Debug)]
pub struct GuardChecked {
    /// The variable.
    pub var: VarId,
    /// The lock that was declared, with its line.
    pub declared: Option<(SyncId, u32)>,
    /// Locks that are held at every access that may be concurrent with another.
    pub inferred: BTreeSet<SyncId>,
    /// Accesses that may be concurrent with others.
    pub accesses: Vec<Access>,
    /// Those of them without the declared lock.
    pub without: Vec<Access>,
}

/// The answer for a program.
#[derive(Clone, Debug)]
pub struct Atomicity {
    /// The program: every step is an edge of its own.
    pub program: Program,
    /// Its functions, in the order of the text.
    pub functions: Vec<FunctionAtomicity>,
    /// The variables that threads share.
    pub guards: Vec<GuardChecked>,
}

/// Checks what is declared atomic or guarded, and infers the rest. A search goes on for so many executions and seconds.
pub fn atomicity(file: &Annotated, executions: u64, seconds: f64) -> Result<Atomicity, Refusal> {
    let Some(noted) = file.program_to_run()? else {
        return Err(Refusal {
            file: file.file().to_owned(),
            line: 0,
            reason: "there is no `main`".to_owned(),
        });
    };
    let locks = locksets(&noted.program);
    let p = &noted.program;
    let guards = guards(file, &noted, &locks)?;
    let movers = Movers::of(p, &locks);
    let rules = crate::merging::locks_follow_rules(p, &locks);
    let mut functions = Vec::new();
    let mut open = BTreeMap::new();
    let declared = declared(file)?;
    for f in file.functions() {
        let mut all: Option<Mover> = None;
        let mut way: Vec<(Mover, u32)> = Vec::new();
        let mut calls = Vec::new();
        for (n, call) in noted.calls.iter().enumerate().filter(|(_, c)| c.function == f.name) {
            let Some((from, to)) = ends(p, call.thread, n as u32) else { continue };
            let m = movers.between(p, call.thread, from, to);
            let broken = movers.check(p, call.thread, from, to).err();
            let steps = match &broken {
                Some(b) => b.way.clone(),
                None => one_way(p, &movers, call.thread, from, to),
            };
            if all.is_none() || broken.is_some() && all.is_some_and(Mover::is_atomic) {
                let line = |id: TransitionId| p.thread(call.thread).transition(id).span.line;
                let shared =
                    |id: TransitionId| p.thread(call.thread).transition(id).action != model::Action::Local;
                way = steps.iter().filter(|s| shared(s.0)).map(|(id, m)| (*m, line(*id))).collect();
            }
            let m = if broken.is_some() { Mover::Compound } else { m };
            all = Some(all.map_or(m, |a| a.or(m)));
            if broken.is_some() || !rules {
                calls.push(n as u32);
            }
        }
        let Some(mover) = all else { continue };
        let declared = declared.get(&f.name).copied();
        // What makes and joins threads is no block.
        if f.name == "main" && declared.is_none() {
            continue;
        }
        let serial = if calls.is_empty() { Serial::ByMovers } else { Serial::Unknown(String::new()) };
        if !calls.is_empty() {
            open.insert(functions.len(), calls);
        }
        functions.push(FunctionAtomicity { name: f.name, line: f.line, declared, mover, way, serial });
    }
    for name in declared.keys() {
        if !functions.iter().any(|f| f.name == *name) {
            let line = declared[name];
            let reason = format!("`{name}` is declared atomic, and no thread calls it");
            return Err(Refusal { file: file.file().to_owned(), line, reason });
        }
    }
    search(&noted, &mut functions, &open, executions, seconds);
    Ok(Atomicity { program: noted.program, functions, guards })
}

/// The functions that are declared atomic, with the line that says so.
fn declared(file: &Annotated) -> Result<BTreeMap<String, u32>, Refusal> {
    let functions = file.functions();
    let mut out = BTreeMap::new();
    for a in file.annotations.iter().filter(|a| a.clause == Clause::Atomic) {
        match functions.iter().find(|f| f.line >= a.end) {
            Some(f) => {
                out.insert(f.name.clone(), a.line);
            }
            None => {
                let reason = "expected a function after `atomic`".to_owned();
                return Err(Refusal { file: file.file().to_owned(), line: a.line, reason });
            }
        }
    }
    Ok(out)
}

fn guards(
    file: &Annotated,
    noted: &Noted,
    locks: &crate::races::Locksets,
) -> Result<Vec<GuardChecked>, Refusal> {
    let p = &noted.program;
    let here = |v: &model::Var| p.files.get(v.span.file.0 as usize).is_some_and(|f| f == file.file());
    let global = |v: &model::Var| !v.internal && !v.name.contains('%') && !v.name.contains("main.");
    let mut declared: BTreeMap<VarId, (SyncId, u32)> = BTreeMap::new();
    for a in &file.annotations {
        let Clause::GuardedBy(e) = &a.clause else { continue };
        let refuse = |reason: String| Refusal { file: file.file().to_owned(), line: a.line, reason };
        let named = match e {
            Expr::Name(n) => noted.starts[0].names.get(n),
            Expr::Field(base, field) => match &**base {
                Expr::Name(n) => match noted.starts[0].names.get(n) {
                    Some(Named::Struct(fields)) => fields.get(field),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        };
        let Some(Named::Sync(lock)) = named else {
            return Err(refuse(format!(
                "expected the name of a lock after `guarded_by`, found `{}`",
                a.text
            )));
        };
        let lines = p.vars.iter().filter(|v| here(v) && global(v)).map(|v| v.span.line);
        let line = if a.trails { Some(a.line) } else { lines.filter(|l| *l >= a.end).min() };
        let vars: Vec<VarId> = (0..p.vars.len() as u32)
            .map(VarId)
            .filter(|v| here(p.var(*v)) && global(p.var(*v)) && Some(p.var(*v).span.line) == line)
            .collect();
        if vars.is_empty() {
            return Err(refuse("expected a variable next to `guarded_by`".to_owned()));
        }
        declared.extend(vars.into_iter().map(|v| (v, (*lock, a.line))));
    }
    let mut out = Vec::new();
    for v in (0..p.vars.len() as u32).map(VarId).filter(|v| global(p.var(*v))) {
        let accesses = locks.concurrent.get(&v).cloned().unwrap_or_default();
        let said = declared.get(&v).copied();
        if accesses.is_empty() && said.is_none() {
            continue;
        }
        let without = |a: &&Access| {
            said.is_some_and(|(lock, _)| match a.held.get(&lock) {
                None => true,
                Some(mode) => a.write && *mode == Mode::Read,
            })
        };
        let without = accesses.iter().filter(without).cloned().collect();
        let inferred = locks.guards.get(&v).cloned().unwrap_or_default();
        out.push(GuardChecked { var: v, declared: said, inferred, accesses, without });
    }
    Ok(out)
}

/// Where a function begins and returns.
fn ends(p: &Program, t: ThreadId, call: u32) -> Option<(LocationId, LocationId)> {
    let find = |m: Mark| p.thread(t).location_ids().find(|l| p.thread(t).location(*l).marks.contains(&m));
    let from = find(Mark::Enter(call))?;
    // A function that never returns has no such place.
    Some((from, find(Mark::Leave(call)).unwrap_or(from)))
}

/// A shortest way through a function.
fn one_way(
    p: &Program,
    movers: &Movers,
    t: ThreadId,
    from: LocationId,
    to: LocationId,
) -> Vec<(TransitionId, Mover)> {
    let mut seen = BTreeSet::from([from]);
    let mut open = std::collections::VecDeque::from([(from, Vec::new())]);
    while let Some((l, way)) = open.pop_front() {
        if l == to && !way.is_empty() {
            return way;
        }
        for (id, e) in p.thread(t).from(l) {
            if seen.insert(e.to) {
                let mut way = way.clone();
                way.push((id, movers.step(t, id)));
                open.push_back((e.to, way));
            }
        }
    }
    Vec::new()
}

/// Looks for executions in which one of the functions is interrupted.
fn search(
    noted: &Noted,
    functions: &mut [FunctionAtomicity],
    open: &BTreeMap<usize, Vec<u32>>,
    executions: u64,
    seconds: f64,
) {
    if open.is_empty() {
        return;
    }
    let p = &noted.program;
    let run = Interpreter::new(p);
    let mut best: BTreeMap<usize, (usize, Broken)> = BTreeMap::new();
    // Functions of which a cycle goes through locks.
    let mut doubtful: BTreeSet<usize> = BTreeSet::new();
    let mut more = 200u32;
    let reach = Reach { executions, seconds, longest: 600 };
    let seen = each(p, reach, &mut |execution| {
        let steps = &execution.run;
        let Ok(states) = run.replay(steps) else { return false };
        let touched: Vec<Vec<(usize, bool, bool)>> =
            steps.iter().enumerate().map(|(n, s)| touches(p, &run, &states[n], s)).collect();
        for (f, calls) in open {
            for block in blocks(p, steps, calls) {
                if let Some(accesses) = interrupted(steps, &touched, &block, false) {
                    let switches = steps.windows(2).filter(|w| w[0].thread != w[1].thread).count();
                    let rank = switches * 1000 + steps.len();
                    if best.get(f).is_none_or(|b| rank < b.0) {
                        let inside = (0..steps.len()).map(|n| block.contains(&n)).collect();
                        best.insert(*f, (rank, Broken { run: steps.to_vec(), inside, accesses }));
                    }
                } else if interrupted(steps, &touched, &block, true).is_some() {
                    doubtful.insert(*f);
                }
            }
        }
        // A few more may be easier to read.
        if best.len() == open.len() {
            more -= 1;
        }
        more > 0
    });
    for f in open.keys() {
        functions[*f].serial = match (best.remove(f), &seen) {
            (Some((_, broken)), _) => Serial::No(Box::new(broken)),
            (None, Err(why)) => Serial::Unknown(format!("its executions cannot be searched: {why}")),
            (None, Ok(s)) if s.all && !doubtful.contains(f) => Serial::BySearch(s.executions),
            (None, Ok(s)) if s.all => Serial::Unknown(format!(
                "in {} executions it is interrupted, but only locks tell",
                s.executions
            )),
            (None, Ok(s)) => {
                Serial::Unknown(format!("{} executions do not break it, and there are more", s.executions))
            }
        };
    }
}

/// What a step touches: cells and objects, whether it writes, and whether it is data.
fn touches(
    p: &Program,
    run: &Interpreter<'_>,
    state: &model::State,
    step: &Step,
) -> Vec<(usize, bool, bool)> {
    let mut out = Vec::new();
    for (place, write) in data(p, step.thread, step.transition) {
        if let Some(c) = run.place_cell(state, place) {
            out.push((c, write, true));
        }
    }
    let action = p.thread(step.thread).transition(step.transition).action;
    if let Some(s) = action.sync() {
        out.push((run.cells() + s.index(), true, false));
    }
    if let model::Action::Wait { mutex, .. } = action {
        out.push((run.cells() + mutex.index(), true, false));
    }
    out
}

/// The steps of each time that one of these calls was made.
fn blocks(p: &Program, steps: &[Step], calls: &[u32]) -> Vec<BTreeSet<usize>> {
    let mut done = Vec::new();
    let mut open: BTreeMap<(ThreadId, u32), BTreeSet<usize>> = BTreeMap::new();
    let look = |t: ThreadId, l: LocationId, open: &mut BTreeMap<_, BTreeSet<usize>>, done: &mut Vec<_>| {
        for m in &p.thread(t).location(l).marks {
            match m {
                Mark::Leave(c) if calls.contains(c) => done.extend(open.remove(&(t, *c))),
                Mark::Enter(c) if calls.contains(c) => {
                    done.extend(open.insert((t, *c), BTreeSet::new()));
                }
                _ => {}
            }
        }
    };
    for t in p.thread_ids() {
        look(t, p.thread(t).entry, &mut open, &mut done);
    }
    for (n, s) in steps.iter().enumerate() {
        for ((t, _), block) in &mut open {
            if *t == s.thread {
                block.insert(n);
            }
        }
        look(s.thread, p.thread(s.thread).transition(s.transition).to, &mut open, &mut done);
    }
    done.extend(open.into_values());
    done.retain(|b| b.len() > 1);
    done
}

/// A step of the block, one of another thread that must come after it, and one of the block that must come after that.
fn interrupted(
    steps: &[Step],
    touched: &[Vec<(usize, bool, bool)>],
    block: &BTreeSet<usize>,
    locks: bool,
) -> Option<[usize; 3]> {
    let conflict = |a: usize, b: usize| {
        touched[a]
            .iter()
            .any(|x| touched[b].iter().any(|y| x.0 == y.0 && (x.1 || y.1) && (locks || x.2 && y.2)))
    };
    let linked = |a: usize, b: usize| steps[a].thread == steps[b].thread || conflict(a, b);
    let (first, last) = (*block.first()?, *block.last()?);
    let me = steps[first].thread;
    // Which steps of others must come after a step of the block, and after which one.
    let mut after: BTreeMap<usize, usize> = BTreeMap::new();
    for (n, step) in steps.iter().enumerate().take(last).skip(first + 1) {
        if step.thread == me {
            continue;
        }
        let direct = block.range(..n).find(|a| conflict(**a, n)).copied();
        let through = after.iter().rev().find(|(m, _)| linked(**m, n)).map(|(_, a)| *a);
        if let Some(a) = direct.or(through) {
            after.insert(n, a);
        }
    }
    // Direct conflicts read best; a chain through others is as good a reason.
    let found = |direct: bool| {
        after.iter().find_map(|(n, a)| {
            let b = block.range(n + 1..).find(|b| conflict(*n, **b))?;
            (!direct || conflict(*a, *n)).then_some([*a, *n, *b])
        })
    };
    found(true).or_else(|| found(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRELUDE: &str = "typedef unsigned long pthread_t; typedef struct { int dummy; } pthread_mutex_t;";

    fn answer(text: &str) -> Atomicity {
        let file =
            Annotated::read_text("a.c", &format!("{PRELUDE}\n{text}"), &model::Options::default()).unwrap();
        atomicity(&file, 5000, 20.0).unwrap()
    }

    fn bank(withdraw: &str) -> String {
        format!(
            "pthread_mutex_t l;
            //@ guarded_by l;
            int balance;
            //@ atomic;
            void deposit(int x) {{ pthread_mutex_lock(&l); int r = balance; balance = r + x; pthread_mutex_unlock(&l); }}
            //@ atomic;
            int read(void) {{ int r; pthread_mutex_lock(&l); r = balance; pthread_mutex_unlock(&l); return r; }}
            //@ atomic;
            void withdraw(int x) {{ {withdraw} }}
            void *f(void *p) {{ deposit(10); int r = read(); return 0; }}
            void *g(void *p) {{ withdraw(5); return 0; }}
            int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }}"
        )
    }

    fn of<'a>(a: &'a Atomicity, name: &str) -> &'a FunctionAtomicity {
        a.functions.iter().find(|f| f.name == name).unwrap()
    }

    fn word(f: &FunctionAtomicity) -> String {
        f.way.iter().map(|w| w.0.letter()).collect()
    }

    #[test]
    fn the_account_of_the_lectures_is_atomic_in_its_first_form_and_not_in_its_second() {
        let first = answer(&bank(
            "pthread_mutex_lock(&l); int r = balance; balance = r - x; pthread_mutex_unlock(&l);",
        ));
        for (name, steps) in [("deposit", "RBBL"), ("read", "RBL"), ("withdraw", "RBBL")] {
            let f = of(&first, name);
            assert_eq!((f.mover, &f.serial), (Mover::Atomic, &Serial::ByMovers), "{name}");
            assert!(f.declared.is_some());
            assert_eq!(word(f), steps, "{name}");
        }
        let [balance] = &first.guards[..] else { panic!("one variable is shared: {:?}", first.guards) };
        assert!(balance.without.is_empty() && balance.inferred.len() == 1);
        let second = answer(&bank(
            "int r = read(); pthread_mutex_lock(&l); balance = r - x; pthread_mutex_unlock(&l);",
        ));
        let f = of(&second, "withdraw");
        assert_eq!(f.mover, Mover::Compound);
        assert!(word(f).starts_with("RBLR"), "{}", word(f));
        assert_eq!(of(&second, "read").serial, Serial::ByMovers);
        let Serial::No(broken) = &f.serial else { panic!("a deposit in between is lost: {:?}", f.serial) };
        let [a, b, c] = broken.accesses;
        let thread = |n: usize| second.program.thread(broken.run[n].thread).name.as_str();
        assert_eq!([thread(a), thread(b), thread(c)], ["g", "f", "g"]);
        assert!(broken.inside[a] && !broken.inside[b] && broken.inside[c]);
        assert!(Interpreter::new(&second.program).replay(&broken.run).is_ok());
    }

    #[test]
    fn two_reads_of_a_variable_without_a_guard_are_broken_by_a_write_between_them() {
        let text = |body: &str| {
            format!(
                "int x, y; /*@ atomic; */ void twice(void) {{ int a = 0, b = 0; {body} }}
                void *f(void *p) {{ twice(); return 0; }} void *g(void *p) {{ x = 1; return 0; }}
                int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }}"
            )
        };
        assert_eq!(of(&answer(&text("a = x;")), "twice").serial, Serial::ByMovers);
        assert!(matches!(of(&answer(&text("a = x; b = x;")), "twice").serial, Serial::No(_)));
    }

    #[test]
    fn an_access_without_the_declared_guard_is_found_unless_nobody_else_is_there() {
        let text = |early: &str, late: &str| {
            format!(
                "pthread_mutex_t l; int x; //@ guarded_by l;
                void *f(void *p) {{ pthread_mutex_lock(&l); x = 1; pthread_mutex_unlock(&l); return 0; }}
                int main(void) {{ pthread_t t; {early} pthread_create(&t, 0, f, 0); {late} return 0; }}"
            )
        };
        let fine = answer(&text("x = 5;", ""));
        assert!(fine.guards[0].without.is_empty() && fine.guards[0].declared.is_some());
        let wrong = answer(&text("", "x = 5;"));
        assert_eq!(wrong.guards[0].without.len(), 1);
    }

    #[test]
    fn what_movers_do_not_see_a_search_of_all_executions_may() {
        // Two writes of one value, and nobody reads: no order tells them apart from one after the other... but by conflict they are.
        let text = "int x, y; /*@ atomic; */ void both(void) { x = 1; y = 1; }
            void *f(void *p) { both(); return 0; } void *g(void *p) { int r = x; return 0; }
            void *h(void *p) { int r = y; return 0; }
            int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0);
              pthread_create(&t, 0, h, 0); return 0; }";
        // A x B: g and h do not depend on each other, so each can be moved out.
        let f = answer(text);
        let both = of(&f, "both");
        assert_eq!(both.mover, Mover::Compound);
        assert!(matches!(both.serial, Serial::BySearch(n) if n > 1), "{:?}", both.serial);
    }
}
