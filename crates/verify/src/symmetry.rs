//! Threads that can change places: of states that differ only in which of them does what, one stands for all.
//!
//! Threads form a *group* if exchanging any two of them, with their locals, their lives and what they wait for, turns the edges of
//! the group into themselves. The locks say who holds them by the number of a thread: those numbers are exchanged too, and a program
//! that does anything with them but ask for equality, or that keeps them elsewhere, has no groups. Other threads tell the members apart
//! at first: they make them, and wait for them, one after the other. To wait for a thread's end has no effect, and who can do it once can
//! do it ever after; so it is one step with what the thread does next ([`Joined`]), and waiting for all in turn is waiting for all. Those
//! who make the members tell them apart until the last is made. So the exchange is made in those states only from which no other
//! thread comes to an edge that tells them apart. That stays so, and the exchange is a symmetry of all that follows (Emerson and Sistla,
//! 1996; Ip and Dill, 1996).

use model::{
    Action, Assign, Binary, Interpreter, LocationId, LocationKind, Node, Program, State, Step, SyncKind,
    Term, Thread, ThreadId, Transition, TransitionId, VarId,
};
use std::collections::{HashMap, HashSet};

/// The largest part of two terms that is compared.
const MOST_COMPARED: usize = 100_000;

struct Group {
    members: Vec<ThreadId>,
    /// By member: the cells of its own, one member's in the order of the other's.
    cells: Vec<Vec<usize>>,
    /// By thread and location: from there on, nobody tells members apart. Of a member it is true everywhere.
    equal_from: Vec<Vec<bool>>,
}

/// The groups of a program.
pub(crate) struct Symmetry {
    groups: Vec<Group>,
    /// Cells with the number of a thread plus one.
    holders: Vec<usize>,
}

/// Two threads change places.
struct Exchange<'p> {
    program: &'p Program,
    threads: [ThreadId; 2],
    /// Variables that change places.
    vars: HashMap<VarId, VarId>,
    holders: &'p HashSet<VarId>,
    same: HashMap<(Term, Term), bool>,
    left: usize,
}

/// A program in which waiting for the end of a thread is one step with what comes next.
pub(crate) struct Joined {
    pub(crate) program: Program,
    /// By thread and transition: the steps that it is in the program itself.
    steps: Vec<Vec<Vec<TransitionId>>>,
}

impl Joined {
    /// Makes it. What can go wrong in the one can go wrong in the other: a state between the two steps is like the one before the first,
    /// but that the thread is further on, and from there it can do nothing that it could not do in one step.
    pub(crate) fn of(program: &Program) -> Joined {
        let mut out = program.clone();
        let mut steps = Vec::new();
        for (thread, t) in out.threads.iter_mut().zip(&program.threads) {
            let (mut edges, mut own) = (Vec::new(), Vec::new());
            for e in &t.transitions {
                for way in ways(t, e, t.locations.len()) {
                    let last = t.transition(way[way.len() - 1]);
                    let mut made = Transition { from: e.from, ..last.clone() };
                    if way.len() > 1 {
                        made.action = Action::Atomic;
                        let guards = way.iter().map(|id| t.transition(*id).guard);
                        made.guard = out.terms.all(guards);
                    }
                    edges.push(made);
                    own.push(way);
                }
            }
            for l in &mut thread.out {
                l.clear();
            }
            for (n, e) in edges.iter().enumerate() {
                thread.out[e.from.index()].push(TransitionId(n as u32));
            }
            thread.transitions = edges;
            steps.push(own);
        }
        Joined { program: out, steps }
    }

    /// A run of the program itself. Where it ends in a deadlock, threads wait as far on as they come.
    pub(crate) fn expanded(&self, program: &Program, run: &[Step]) -> Vec<Step> {
        let mut out = Vec::new();
        for s in run {
            let own = &self.steps[s.thread.index()][s.transition.index()];
            for (k, transition) in own.iter().enumerate() {
                let inputs = if k + 1 == own.len() { s.inputs.clone() } else { Vec::new() };
                out.push(Step { thread: s.thread, transition: *transition, inputs });
            }
        }
        let interpreter = Interpreter::new(program);
        let Some(mut state) = interpreter.replay(&out).ok().and_then(|mut all| all.pop()) else { return out };
        if interpreter.error(&state).is_some() {
            return out;
        }
        for thread in program.thread_ids() {
            let t = program.thread(thread);
            while let Some((id, e)) = t.from(state.locations[thread.index()]).next()
                && is_wait(t, e)
                && interpreter.holds(&state, e)
            {
                let step = Step { thread, transition: id, inputs: Vec::new() };
                state = interpreter.take(&state, &step);
                out.push(step);
            }
        }
        out
    }
}

/// Whether an edge does nothing but wait for the end of a thread, and its thread can do nothing else there.
fn is_wait(t: &Thread, e: &Transition) -> bool {
    matches!(e.action, Action::Join(_))
        && e.assigns.is_empty()
        && e.havoc.is_empty()
        && t.out[e.from.index()].len() == 1
        && matches!(t.location(e.to).kind, LocationKind::Normal)
}

/// The edges that an edge is one step with: itself, or what is waited for and what comes next.
fn ways(t: &Thread, e: &Transition, left: usize) -> Vec<Vec<TransitionId>> {
    let id = t.from(e.from).find(|f| std::ptr::eq(f.1, e)).map(|f| f.0);
    let Some(id) = id else { return Vec::new() };
    // Where a thread can wait no further, or waits in a circle, or has nothing to do, it is as it was.
    if left == 0 || !is_wait(t, e) || t.out[e.to.index()].is_empty() {
        return vec![vec![id]];
    }
    let after = t.from(e.to).flat_map(|(_, f)| ways(t, f, left - 1));
    after.map(|way| std::iter::once(id).chain(way).collect()).collect()
}

impl Symmetry {
    /// Finds them.
    pub(crate) fn of(program: &Program) -> Symmetry {
        let run = Interpreter::new(program);
        let vars: HashSet<VarId> = program
            .syncs
            .iter()
            .filter_map(|s| match s.kind {
                SyncKind::Mutex { owner } => Some(owner),
                SyncKind::RwLock { writer, .. } => Some(writer),
                _ => None,
            })
            .collect();
        let holders: Vec<usize> = vars.iter().filter_map(|v| run.cell(*v, 0)).collect();
        let mut groups: Vec<Group> = Vec::new();
        for t in program.thread_ids() {
            let known = |g: &Group| g.members.contains(&t);
            if groups.iter().any(known) {
                continue;
            }
            let mut members = vec![t];
            for u in program.thread_ids().filter(|u| *u > t) {
                let may = Exchange::new(program, [t, u], &vars)
                    .is_some_and(|mut x| x.keeps(&[t, u]) && members.iter().all(|m| x.keeps(&[*m])));
                if may {
                    members.push(u);
                }
            }
            // What was compared with the first may still tell the others apart.
            let pairs = members.windows(2).map(|w| [w[0], w[1]]).collect::<Vec<_>>();
            let all_keep = pairs
                .iter()
                .all(|p| Exchange::new(program, *p, &vars).is_some_and(|mut x| x.keeps(&members)));
            if members.len() < 2 || !all_keep {
                continue;
            }
            let cells = members.iter().map(|m| own(program, *m)).map(|vars| {
                vars.iter()
                    .flat_map(|v| (0..program.var(*v).cells() as u64).filter_map(|i| run.cell(*v, i)))
                    .collect()
            });
            let cells = cells.collect();
            let equal_from = program.thread_ids().map(|u| {
                let tells = |l: LocationId| {
                    pairs
                        .iter()
                        .any(|p| Exchange::new(program, *p, &vars).is_none_or(|mut x| !x.keeps_at(u, l)))
                };
                equal_from(program.thread(u), !members.contains(&u), tells)
            });
            let equal_from = equal_from.collect();
            groups.push(Group { members, cells, equal_from });
        }
        Symmetry { groups, holders }
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The state that stands for one; `to` is written to.
    pub(crate) fn settled<'a>(&self, s: &State, to: &'a mut State) -> &'a State {
        to.locations.copy_from_slice(&s.locations);
        to.values.copy_from_slice(&s.values);
        self.settle(to);
        to
    }

    /// Puts the state in its place that stands for all that it can be exchanged with.
    pub(crate) fn settle(&self, s: &mut State) {
        for g in &self.groups {
            let equal = |(t, l): (usize, &LocationId)| g.equal_from[t][l.index()];
            if !s.locations.iter().enumerate().all(equal) {
                continue;
            }
            // Insertion: few threads, and most of the time they are in order.
            for k in 1..g.members.len() {
                let mut at = k;
                while at > 0 && self.is_before(g, s, at, at - 1) {
                    self.exchange(g, s, at - 1, at);
                    at -= 1;
                }
            }
        }
    }

    /// Whether what a member does comes before what another does.
    fn is_before(&self, g: &Group, s: &State, a: usize, b: usize) -> bool {
        let key = |m: usize| {
            let number = u64::from(g.members[m].0) + 1;
            let own = g.cells[m].iter().map(|c| s.values[*c]);
            let holds = self.holders.iter().map(move |c| u64::from(s.values[*c] == number));
            std::iter::once(u64::from(s.locations[g.members[m].index()].0)).chain(own).chain(holds)
        };
        key(a).lt(key(b))
    }

    fn exchange(&self, g: &Group, s: &mut State, a: usize, b: usize) {
        let (t, u) = (g.members[a], g.members[b]);
        s.locations.swap(t.index(), u.index());
        for (c, d) in g.cells[a].iter().zip(&g.cells[b]) {
            s.values.swap(*c, *d);
        }
        let (x, y) = (u64::from(t.0) + 1, u64::from(u.0) + 1);
        for c in &self.holders {
            s.values[*c] = match s.values[*c] {
                v if v == x => y,
                v if v == y => x,
                v => v,
            };
        }
    }
}

/// From which locations nothing can be reached that tells members apart.
fn equal_from(thread: &Thread, other: bool, tells: impl Fn(LocationId) -> bool) -> Vec<bool> {
    let mut equal: Vec<bool> = thread.location_ids().map(|l| !other || !tells(l)).collect();
    loop {
        let mut changed = false;
        for e in &thread.transitions {
            if other && equal[e.from.index()] && !equal[e.to.index()] {
                equal[e.from.index()] = false;
                changed = true;
            }
        }
        if !changed {
            return equal;
        }
    }
}

/// The variables of a thread alone: its locals, its life, what it waits for.
fn own(program: &Program, t: ThreadId) -> Vec<VarId> {
    let locals = (0..program.vars.len() as u32).map(VarId);
    let locals = locals.filter(|v| program.var(*v).scope == model::Scope::Local(t));
    let thread = program.thread(t);
    locals.chain(thread.life).chain(thread.waiting).collect()
}

impl<'p> Exchange<'p> {
    /// Of two threads that look alike from afar.
    fn new(
        program: &'p Program,
        threads: [ThreadId; 2],
        holders: &'p HashSet<VarId>,
    ) -> Option<Exchange<'p>> {
        let [a, b] = threads.map(|t| program.thread(t));
        let alike = a.entry == b.entry
            && a.locations.len() == b.locations.len()
            && a.locations.iter().zip(&b.locations).all(|(x, y)| {
                std::mem::discriminant(&x.kind) == std::mem::discriminant(&y.kind)
                    && x.may_block == y.may_block
            })
            && a.transitions.len() == b.transitions.len()
            && a.life.is_some() == b.life.is_some()
            && a.waiting.is_some() == b.waiting.is_some();
        let [mine, theirs] = threads.map(|t| own(program, t));
        let fits = |(v, w): (&VarId, &VarId)| {
            let (v, w) = (program.var(*v), program.var(*w));
            v.ty == w.ty && v.len == w.len && v.init == w.init
        };
        if !alike || mine.len() != theirs.len() || !mine.iter().zip(&theirs).all(fits) {
            return None;
        }
        let vars = mine.iter().zip(&theirs).flat_map(|(v, w)| [(*v, *w), (*w, *v)]).collect();
        Some(Exchange { program, threads, vars, holders, same: HashMap::new(), left: MOST_COMPARED })
    }

    fn thread(&self, t: ThreadId) -> ThreadId {
        match self.threads {
            [a, b] if t == a => b,
            [a, b] if t == b => a,
            _ => t,
        }
    }

    /// Whether it turns the edges of these threads into those of the ones in whose place they come.
    fn keeps(&mut self, threads: &[ThreadId]) -> bool {
        threads.iter().all(|t| self.program.thread(*t).location_ids().all(|l| self.keeps_at(*t, l)))
    }

    /// The same of the edges from one location.
    fn keeps_at(&mut self, t: ThreadId, l: LocationId) -> bool {
        let (p, u) = (self.program, self.thread(t));
        let (from, to) = (p.thread(t), p.thread(u));
        let mut left: Vec<&Transition> = to.from(l).map(|e| e.1).collect();
        from.from(l).count() == left.len()
            && from.from(l).all(|(_, e)| match left.iter().position(|f| self.becomes(e, f)) {
                Some(k) => {
                    left.remove(k);
                    true
                }
                None => false,
            })
    }

    fn becomes(&mut self, e: &Transition, f: &Transition) -> bool {
        e.to == f.to
            && self.action(e.action, f.action)
            && e.havoc.len() == f.havoc.len()
            && e.havoc.iter().zip(&f.havoc).all(|(a, b)| self.place((a.var, a.index), (b.var, b.index)))
            && self.conjunction(e.guard, f.guard)
            && e.assigns.len() == f.assigns.len()
            && e.assigns.iter().all(|a| f.assigns.iter().any(|b| self.assign(a, b)))
    }

    fn action(&mut self, a: Action, b: Action) -> bool {
        match (a, b) {
            (Action::Create(t), Action::Create(u)) | (Action::Join(t), Action::Join(u)) => {
                self.thread(t) == u
            }
            (Action::Signal { condition: c, woken: t }, Action::Signal { condition: d, woken: u }) => {
                c == d && t.map(|t| self.thread(t)) == u
            }
            (
                Action::CompareExchange { expected: a, desired: b },
                Action::CompareExchange { expected: c, desired: d },
            ) => self.same(a, c) && self.same(b, d),
            _ => a == b,
        }
    }

    fn place(&mut self, a: (VarId, Option<Term>), b: (VarId, Option<Term>)) -> bool {
        let index = match (a.1, b.1) {
            (Some(i), Some(j)) => self.same(i, j),
            (i, j) => i == j,
        };
        index && self.var(a.0) == b.0
    }

    fn var(&self, v: VarId) -> VarId {
        self.vars.get(&v).copied().unwrap_or(v)
    }

    fn assign(&mut self, a: &Assign, b: &Assign) -> bool {
        if !self.place((a.place.var, a.place.index), (b.place.var, b.place.index)) {
            return false;
        }
        if self.holders.contains(&a.place.var) {
            self.number(a.value, b.value)
        } else {
            self.same(a.value, b.value)
        }
    }

    /// Both are numbers of threads plus one, or 0, and the first becomes the second.
    fn number(&self, a: Term, b: Term) -> bool {
        let (Some(a), Some(b)) = (self.program.terms.as_const(a), self.program.terms.as_const(b)) else {
            return false;
        };
        let thread = |v: u64| v.checked_sub(1).map(|t| self.thread(ThreadId(t as u16)));
        thread(a) == b.checked_sub(1).map(|t| ThreadId(t as u16))
    }

    /// Two guards, in whatever order their parts stand.
    fn conjunction(&mut self, a: Term, b: Term) -> bool {
        let parts = |t: Term| {
            let (mut out, mut left) = (Vec::new(), vec![t]);
            while let Some(t) = left.pop() {
                match self.program.terms.node(t) {
                    Node::Binary(Binary::And, a, b) if out.len() + left.len() < 1000 => left.extend([a, b]),
                    _ => out.push(t),
                }
            }
            out
        };
        let (mine, mut theirs) = (parts(a), parts(b));
        mine.len() == theirs.len()
            && mine.iter().all(|a| match theirs.iter().position(|b| self.same(*a, *b)) {
                Some(k) => {
                    theirs.swap_remove(k);
                    true
                }
                None => false,
            })
    }

    /// Whether the first term becomes the second. Where too much had to be compared, it is not known to.
    fn same(&mut self, a: Term, b: Term) -> bool {
        if let Some(known) = self.same.get(&(a, b)) {
            return *known;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let p = self.program;
        let holder = |t: Term| matches!(p.terms.node(t), Node::Var(v, _) if self.holders.contains(&v));
        let found = match (p.terms.node(a), p.terms.node(b)) {
            (Node::Const(..), Node::Const(..)) => a == b,
            // Who holds a lock is asked for equality alone.
            (Node::Binary(Binary::Eq, h, x), Node::Binary(Binary::Eq, i, y)) if holder(h) && h == i => {
                self.number(x, y)
            }
            (Node::Binary(Binary::Eq, x, h), Node::Binary(Binary::Eq, y, i)) if holder(h) && h == i => {
                self.number(x, y)
            }
            (Node::Var(v, t), Node::Var(w, u)) => !holder(a) && t == u && self.var(v) == w,
            (Node::Cell(v, i, t), Node::Cell(w, j, u)) => {
                !self.holders.contains(&v) && t == u && self.var(v) == w && self.same(i, j)
            }
            (Node::Unary(o, a), Node::Unary(q, b)) => o == q && self.same(a, b),
            (Node::Cast(t, a), Node::Cast(u, b)) => t == u && self.same(a, b),
            (Node::Binary(o, a, b), Node::Binary(q, c, d)) => {
                let turns = matches!(
                    o,
                    Binary::And | Binary::Or | Binary::Eq | Binary::Add | Binary::Xor | Binary::Mul
                );
                o == q && (self.same(a, c) && self.same(b, d) || turns && self.same(a, d) && self.same(b, c))
            }
            (Node::Ite(a, b, c), Node::Ite(d, e, f)) => self.same(a, d) && self.same(b, e) && self.same(c, f),
            _ => false,
        };
        self.same.insert((a, b), found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Engine;
    use crate::explicit::{Explicit, Symmetric};
    use crate::outcome::{Options, Verdict};
    use crate::{Certificate, StateSet, check};
    use model::Stepper;

    fn read(text: &str) -> Program {
        model::read_text("test.c", text, &model::Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    const HEAD: &str =
        "typedef unsigned long pthread_t; typedef struct { int a; } pthread_mutex_t, pthread_cond_t;
        pthread_mutex_t m; pthread_cond_t c; int x, y;";

    /// Threads that are alike, made one after the other and joined.
    fn program(body: &str, threads: usize, others: &str, last: &str) -> Program {
        read(&format!(
            "{HEAD} void *f(void *p) {{ int t = 0; {body} return 0; }}
             int main(void) {{ pthread_t h[{threads}]; for (int i = 0; i < {threads}; i++) pthread_create(&h[i], 0, f, 0);
             {others} for (int i = 0; i < {threads}; i++) pthread_join(h[i], 0); {last} return 0; }}"
        ))
    }

    /// All states that can be reached.
    fn reached(p: &Program) -> StateSet {
        let (mut all, mut stepper) = (StateSet::new(p), Stepper::new(p));
        let mut s = Interpreter::new(p).initial();
        all.insert(&s);
        let mut n = 0;
        while n < all.len() {
            all.read(n, &mut s);
            for t in p.thread_ids() {
                stepper
                    .successors(&s, t, |_, _, next| {
                        all.insert(next);
                    })
                    .unwrap();
            }
            n += 1;
        }
        all
    }

    fn states(p: &Program, engine: &dyn Engine) -> u64 {
        engine.verify(p, &Options::default()).count("states").unwrap()
    }

    #[test]
    fn of_three_threads_that_are_alike_about_a_sixth_of_the_states_is_left() {
        let p = program("for (int i = 0; i < 3; i++) { t = x; x = t + 1; }", 3, "", "");
        let (all, few) = (states(&p, &Explicit), states(&p, &Symmetric));
        assert!(few * 9 < all * 2, "{few} of {all}");
    }

    #[test]
    fn threads_that_are_told_apart_are_no_group() {
        let p = read(&format!(
            "{HEAD} void *f(void *p) {{ x = (int)(long)p; return 0; }}
             int main(void) {{ pthread_t h; for (int i = 0; i < 2; i++) pthread_create(&h, 0, f, (void *)(long)i); return 0; }}"
        ));
        assert!(Symmetry::of(&Joined::of(&p).program).is_empty());
        let p = program("x = 1;", 2, "", "");
        assert!(!Symmetry::of(&Joined::of(&p).program).is_empty());
    }

    #[test]
    fn who_waits_for_one_of_them_first_tells_them_apart_until_then() {
        // What the first thread wrote is there when it has ended, and the second may not have begun.
        let p = read(&format!(
            "{HEAD} void *f(void *p) {{ int t = x; x = t + 1; return 0; }}
             int main(void) {{ pthread_t g, h; pthread_create(&g, 0, f, 0); pthread_create(&h, 0, f, 0);
             pthread_join(g, 0); y = x; pthread_join(h, 0); if (y == 2) y = 3; return 0; }}"
        ));
        let joined = Joined::of(&p).program;
        let symmetry = Symmetry::of(&joined);
        let interpreter = Interpreter::new(&joined);
        let (mut settled, mut exchanged) = (interpreter.initial(), 0);
        for s in reached(&joined).iter() {
            if *symmetry.settled(&s, &mut settled) != s {
                exchanged += 1;
                assert!(
                    (1..3).all(|t| !interpreter.is_live(&s, ThreadId(t))),
                    "`main` waits for one of them: {s:?}"
                );
            }
        }
        assert!(exchanged > 0);
    }

    /// A body of random steps.
    fn body(draw: &mut impl FnMut(u64) -> u64) -> String {
        let mut out = String::new();
        for _ in 0..1 + draw(4) {
            let v = ["x", "y"][draw(2) as usize];
            let k = draw(3);
            out += &match draw(8) {
                0 => format!("{v} = {k}; "),
                1 => format!("t = {v}; "),
                2 => format!("{v} = t + {k}; "),
                3 => format!("if ({v} == {k}) y = 2; "),
                4 => format!("pthread_mutex_lock(&m); t = {v}; {v} = t + 1; pthread_mutex_unlock(&m); "),
                5 => format!(
                    "pthread_mutex_lock(&m); if ({v} == {k}) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m); "
                ),
                6 => "pthread_cond_signal(&c); ".to_owned(),
                _ => "pthread_mutex_lock(&m); x = 1; pthread_cond_broadcast(&c); pthread_mutex_unlock(&m); "
                    .to_owned(),
            };
        }
        out
    }

    #[test]
    fn one_state_of_each_kind_is_kept_and_verdicts_are_the_same() {
        let mut x = 0x2545_f491_4f6c_dd1d_u64;
        let mut draw = move |n: u64| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            x % n
        };
        let (mut fewer, mut wrong, mut stuck) = (0, 0, 0);
        for _ in 0..150 {
            let threads = 2 + draw(2) as usize;
            let steps = body(&mut draw);
            let others = if draw(2) == 0 {
                body(&mut draw).replace("t = ", "int u = ").replace("= t", "= 1")
            } else {
                String::new()
            };
            let others = if others.matches("int u").count() > 1 { String::new() } else { others };
            let last = format!("if (x == {} && y == {}) __VERIFIER_error();", draw(4), draw(3));
            let p = program(&steps, threads, &others, &last);
            let joined = Joined::of(&p).program;
            let symmetry = Symmetry::of(&joined);
            for deadlocks in [false, true] {
                let options = Options { deadlocks, ..Options::default() };
                let (plain, few) = (Explicit.verify(&p, &options), Symmetric.verify(&p, &options));
                match (&plain.verdict, &few.verdict) {
                    (Verdict::Safe(_), Verdict::Safe(proof)) => {
                        check(&p, &options, proof).unwrap_or_else(|e| panic!("{e:?} {steps} | {others}"));
                        let Certificate::Symmetric(set) = proof else { panic!("no group: {steps}") };
                        let mut expected = StateSet::new(&joined);
                        let mut settled = Interpreter::new(&joined).initial();
                        for s in reached(&joined).iter() {
                            expected.insert(symmetry.settled(&s, &mut settled));
                        }
                        assert_eq!(*set, expected, "{steps} | {others}");
                        fewer += u32::from(few.count("states") < plain.count("states"));
                    }
                    (Verdict::Unsafe(a), Verdict::Unsafe(b)) => {
                        assert_eq!(
                            std::mem::discriminant(&a.wrong),
                            std::mem::discriminant(&b.wrong),
                            "{steps} | {others}"
                        );
                        if deadlocks && b.wrong == model::Wrong::Deadlock { stuck += 1 } else { wrong += 1 }
                    }
                    other => panic!("{other:?}: {steps} | {others}"),
                }
            }
        }
        assert!(fewer > 50 && wrong > 20 && stuck > 10, "{fewer} {wrong} {stuck}");
    }
}
