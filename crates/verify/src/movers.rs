//! Atomicity by reduction (Lipton 1975; Flanagan and Qadeer 2003): which stretches of a thread might as well run without interruption.
//!
//! A step is a *right mover* if it can be put off until after the next step of another thread, with the same result; a *left mover* if
//! it can be done before the one that came before it; a *both mover* if either. To take a lock is a right mover, to give it back a left
//! mover, and an access to a variable whose guard is held a both mover. Any stretch of the form `(R + B)* (A + nothing) (L + B)*` has the
//! same result as if it had run alone.
//!
//! Guards are inferred: a variable is guarded by a lock that is held at each of its accesses that can be concurrent with others
//! ([`crate::locksets`]). What is not known to be a mover is none.

use crate::races::{Locksets, Mode};
use model::{Action, LocationId, Program, SyncId, ThreadId, Transition, TransitionId};
use std::collections::BTreeSet;

/// How a step, or a stretch of them, commutes with those of other threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mover {
    /// It can be put off, and done before.
    Both,
    /// It can be put off.
    Right,
    /// It can be done before.
    Left,
    /// As if done in one step, but at that time.
    Atomic,
    /// Not atomic.
    Compound,
}

impl Mover {
    /// One after the other.
    ///
    /// ```
    /// use verify::Mover::*;
    /// assert_eq!(Right.then(Both).then(Both).then(Left), Atomic);
    /// assert_eq!(Atomic.then(Right), Compound);
    /// ```
    pub fn then(self, next: Mover) -> Mover {
        use Mover::*;
        match (self, next) {
            (Both, m) => m,
            (Compound, _) | (_, Compound) => Compound,
            (m, Both) => m,
            (Right, Right) => Right,
            (Right, _) => Atomic,
            (Left, Left) => Left,
            (Atomic, Left) => Atomic,
            (Left | Atomic, _) => Compound,
        }
    }

    /// One or the other.
    pub fn or(self, other: Mover) -> Mover {
        use Mover::*;
        match (self, other) {
            (a, b) if a == b => a,
            (Both, m) | (m, Both) => m,
            (Compound, _) | (_, Compound) => Compound,
            _ => Atomic,
        }
    }

    /// Any number of times, none included.
    pub fn repeated(self) -> Mover {
        let mut all = Mover::Both;
        loop {
            let more = all.or(all.then(self));
            if more == all {
                return all;
            }
            all = more;
        }
    }

    /// Its letter in the literature.
    pub fn letter(self) -> char {
        match self {
            Mover::Both => 'B',
            Mover::Right => 'R',
            Mover::Left => 'L',
            Mover::Atomic => 'A',
            Mover::Compound => 'C',
        }
    }

    /// Whether it is as if done in one step.
    pub fn is_atomic(self) -> bool {
        self != Mover::Compound
    }
}

/// A stretch that is not atomic: the step at which it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAtomic {
    /// The way to it from the start of the stretch: the steps, with what they are.
    pub way: Vec<(TransitionId, Mover)>,
}

/// The steps of a program, and how they move.
#[derive(Clone, Debug)]
pub struct Movers {
    of: Vec<Vec<Mover>>,
}

impl Movers {
    /// Those of a program.
    pub fn of(p: &Program, locks: &Locksets) -> Movers {
        let tried = tried(p);
        let of = p
            .thread_ids()
            .map(|t| p.thread(t).transitions.iter().map(|e| step(p, locks, &tried, t, e)).collect())
            .collect();
        Movers { of }
    }

    /// Of which nothing is known but that local steps move.
    pub(crate) fn none(p: &Program) -> Movers {
        let one = |e: &Transition| if e.action == Action::Local { Mover::Both } else { Mover::Atomic };
        Movers { of: p.threads.iter().map(|t| t.transitions.iter().map(one).collect()).collect() }
    }

    /// How a step moves.
    pub fn step(&self, t: ThreadId, e: TransitionId) -> Mover {
        self.of[t.index()][e.index()]
    }

    /// How all ways of a thread from one location to another move.
    pub fn between(&self, p: &Program, t: ThreadId, from: LocationId, to: LocationId) -> Mover {
        let thread = p.thread(t);
        let mut at: Vec<Option<Mover>> = vec![None; thread.locations.len()];
        at[from.index()] = Some(Mover::Both);
        let mut open = vec![from];
        while let Some(l) = open.pop() {
            let Some(before) = at[l.index()] else { continue };
            for (id, e) in thread.from(l) {
                let here = before.then(self.step(t, id));
                let there = &mut at[e.to.index()];
                let new = there.map_or(here, |m| m.or(here));
                if *there != Some(new) {
                    *there = Some(new);
                    if e.to != to {
                        open.push(e.to);
                    }
                }
            }
        }
        // What never comes there is as its worst part is.
        let worst = at.iter().flatten().fold(Mover::Both, |a, b| if b.is_atomic() { a } else { *b });
        at[to.index()].map_or(worst, |m| m.or(worst))
    }

    /// Whether every way of a thread from one location to another (or to the end, or for ever) is atomic. A step of the stretch that
    /// leads out of the program's rules, to an error location, ends it.
    pub fn check(&self, p: &Program, t: ThreadId, from: LocationId, to: LocationId) -> Result<(), NotAtomic> {
        let thread = p.thread(t);
        // Before the step that counts, and after it.
        let mut seen = BTreeSet::from([(from, false)]);
        let mut open = vec![(from, false, Vec::<(TransitionId, Mover)>::new())];
        while let Some((l, after, way)) = open.pop() {
            for (id, e) in thread.from(l) {
                let mover = self.step(t, id);
                let mut way = way.clone();
                way.push((id, mover));
                let next = match (after, mover) {
                    (_, Mover::Compound) | (true, Mover::Right | Mover::Atomic) => {
                        return Err(NotAtomic { way });
                    }
                    (false, Mover::Both | Mover::Right) => false,
                    (false, Mover::Left | Mover::Atomic) | (true, Mover::Both | Mover::Left) => true,
                };
                if e.to != to && seen.insert((e.to, next)) {
                    open.push((e.to, next, way));
                }
            }
        }
        Ok(())
    }
}

/// Locks that somebody only tries to take: who fails to sees that it is taken, so taking it and giving it back are no movers. Who
/// destroys one sees that, too.
fn tried(p: &Program) -> BTreeSet<SyncId> {
    let of = |e: &Transition| match e.action {
        Action::TryLock(s) | Action::TryReadLock(s) | Action::TryWriteLock(s) | Action::Destroy(s) => Some(s),
        // What an atomic block does with locks is not told apart.
        _ => None,
    };
    let mut out: BTreeSet<SyncId> = p.threads.iter().flat_map(|t| &t.transitions).filter_map(of).collect();
    for e in p.threads.iter().flat_map(|t| &t.transitions).filter(|e| e.action == Action::Atomic) {
        let a = p.accesses(e);
        if a.reads.iter().chain(&a.writes).any(|q| p.var(q.var).internal) {
            out.extend((0..p.syncs.len() as u32).map(SyncId));
        }
    }
    out
}

fn step(p: &Program, locks: &Locksets, tried: &BTreeSet<SyncId>, t: ThreadId, e: &Transition) -> Mover {
    let life = p.thread(t).life;
    let mover = on_data(p, locks, tried, t, e);
    // The first step of a thread cannot be done before the thread is made.
    if life.is_some_and(|v| p.terms.mentions(e.guard, v)) { Mover::Right.then(mover) } else { mover }
}

/// How a step moves if its thread is there.
fn on_data(p: &Program, locks: &Locksets, tried: &BTreeSet<SyncId>, t: ThreadId, e: &Transition) -> Mover {
    match e.action {
        Action::Lock(s) | Action::ReadLock(s) | Action::WriteLock(s) if !tried.contains(&s) => Mover::Right,
        Action::Unlock(s) | Action::ReadUnlock(s) | Action::WriteUnlock(s) if !tried.contains(&s) => {
            Mover::Left
        }
        Action::Local => Mover::Both,
        Action::Read | Action::Write | Action::Update | Action::CompareExchange { .. } | Action::Atomic => {
            let a = p.accesses(e);
            let held = locks.held(t, e.from);
            let quiet = |v: model::VarId, write: bool| {
                let own = Some(v) == p.thread(t).life && !write;
                (own || !p.var(v).internal)
                    && match locks.guards.get(&v) {
                        // Nobody writes it while another one is there.
                        None => true,
                        Some(guards) => guards.iter().any(|g| match held.get(g) {
                            Some(Mode::Write) => true,
                            Some(Mode::Read) => !write,
                            None => false,
                        }),
                    }
            };
            let all =
                a.writes.iter().all(|q| quiet(q.var, true)) && a.reads.iter().all(|q| quiet(q.var, false));
            if all { Mover::Both } else { Mover::Atomic }
        }
        _ => Mover::Atomic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locksets;
    use crate::testing;
    use Mover::*;

    const ALL: [Mover; 5] = [Both, Right, Left, Atomic, Compound];

    #[test]
    fn movers_compose_as_the_table_says() {
        let table = [
            [Both, Right, Left, Atomic, Compound],
            [Right, Right, Atomic, Atomic, Compound],
            [Left, Compound, Left, Compound, Compound],
            [Atomic, Compound, Atomic, Compound, Compound],
            [Compound, Compound, Compound, Compound, Compound],
        ];
        for (a, row) in ALL.iter().zip(table) {
            for (b, expected) in ALL.iter().zip(row) {
                assert_eq!(a.then(*b), expected, "{a:?} ; {b:?}");
            }
        }
        for (m, expected) in ALL.iter().zip([Both, Right, Left, Compound, Compound]) {
            assert_eq!(m.repeated(), expected, "{m:?}*");
        }
        let either = [
            [Both, Right, Left, Atomic, Compound],
            [Right, Right, Atomic, Atomic, Compound],
            [Left, Atomic, Left, Atomic, Compound],
            [Atomic, Atomic, Atomic, Atomic, Compound],
            [Compound, Compound, Compound, Compound, Compound],
        ];
        for (a, row) in ALL.iter().zip(either) {
            for (b, expected) in ALL.iter().zip(row) {
                assert_eq!(a.or(*b), expected, "{a:?} or {b:?}");
            }
        }
    }

    #[test]
    fn composition_is_associative_and_choice_is_the_least_of_what_is_above_both() {
        for a in ALL {
            for b in ALL {
                assert_eq!(a.or(b), b.or(a));
                for c in ALL {
                    assert_eq!(a.then(b).then(c), a.then(b.then(c)), "{a:?} {b:?} {c:?}");
                    assert_eq!(a.or(b).then(c), a.then(c).or(b.then(c)), "{a:?} {b:?} {c:?}");
                }
            }
        }
    }

    /// An account with a procedure of its own in each of two threads; whether that of the first one is atomic.
    fn account(body: &str) -> bool {
        let p = testing::read(&format!(
            "int balance; pthread_mutex_t l;
             int get(void) {{ int r; pthread_mutex_lock(&l); r = balance; pthread_mutex_unlock(&l); return r; }}
             void *f(void *p) {{ int r; {body} return 0; }}
             void *g(void *p) {{ pthread_mutex_lock(&l); balance = balance + 10; pthread_mutex_unlock(&l); return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }}"
        ));
        let movers = Movers::of(&p, &locksets(&p));
        let t = p.thread_ids().find(|t| p.thread(*t).name == "f").unwrap();
        movers.check(&p, t, p.thread(t).entry, LocationId(u32::MAX)).is_ok()
    }

    #[test]
    fn the_account_of_the_slides_is_atomic_but_for_the_second_withdrawal() {
        let deposit = "pthread_mutex_lock(&l); r = balance; balance = r + 1; pthread_mutex_unlock(&l);";
        assert!(account(deposit));
        assert!(account("r = get();"));
        assert!(!account("r = get(); pthread_mutex_lock(&l); balance = r - 1; pthread_mutex_unlock(&l);"));
    }

    #[test]
    fn two_reads_without_a_lock_are_not_atomic_and_one_is() {
        let program = |body: &str| {
            let p = testing::read(&format!(
                "int x, y; void *f(void *p) {{ int r = 0; {body} return 0; }}
                 void *g(void *p) {{ x = 1; return 0; }}
                 int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }}"
            ));
            let movers = Movers::of(&p, &locksets(&p));
            let t = p.thread_ids().find(|t| p.thread(*t).name == "f").unwrap();
            movers.check(&p, t, p.thread(t).entry, LocationId(u32::MAX))
        };
        assert!(program("r = x; y = r;").is_ok());
        let found = program("r = x; y = r; r = x; y = r;").unwrap_err();
        assert_eq!(found.way.last().unwrap().1, Atomic);
        assert!(program("while (1) r = x;").is_err());
    }

    #[test]
    fn a_lock_that_somebody_tries_is_no_mover() {
        let p = testing::read(
            "int x; pthread_mutex_t m;
             void *f(void *p) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m); return 0; }
             void *g(void *p) { if (pthread_mutex_trylock(&m) == 0) { x = 2; pthread_mutex_unlock(&m); } return 0; }
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
        );
        let movers = Movers::of(&p, &locksets(&p));
        let t = p.thread_ids().find(|t| p.thread(*t).name == "f").unwrap();
        assert!(movers.check(&p, t, p.thread(t).entry, LocationId(u32::MAX)).is_err());
    }
}
