//! Races by happens-before, on executions: the dynamic check beside the static one of [`crate::locksets`].
//!
//! Every execution that a search of `crates/explore` takes is followed with vector clocks (Lamport 1978; Mattern 1988; "FastTrack",
//! Flanagan and Freund 2009): each thread has one, and so has each lock, condition variable, barrier, semaphore and atomic cell.
//! A race is two accesses to one cell by two threads, one of them a write, of which neither happens before the other. Accesses that are
//! one step by themselves do not race with each other, and order what is around them as C says: a write tells what was before it, if
//! its memory order releases, and whoever reads what it wrote, or what updates made of that, knows it, if its own acquires. A
//! release fence makes the writes after it tell what was before the fence; an acquire fence makes its thread know what the reads before it
//! could have told.
//!
//! What is reported is a race of that execution. That there is none is known of all executions only if the search saw all of them.

use crate::executions::{Reach, each};
use crate::races::{data, is_atomic, is_initialization};
use model::{Action, Fence, Interpreter, Order, Program, Step, SyncId, ThreadId, TransitionId, VarId};
use std::collections::BTreeMap;

/// Two accesses that nothing orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRace {
    /// The variable.
    pub var: VarId,
    /// The earlier access.
    pub first: (ThreadId, TransitionId),
    /// The later one.
    pub second: (ThreadId, TransitionId),
    /// A run that has both; the later one is its last step.
    pub run: Vec<Step>,
}

/// What the check found.
#[derive(Clone, Debug, Default)]
pub struct HappensBefore {
    /// Races, each pair of places once.
    pub races: Vec<OrderRace>,
    /// How many executions were followed.
    pub executions: u64,
    /// Whether these were all, one for each order of dependent steps.
    pub all: bool,
}

impl HappensBefore {
    /// The first race on a variable.
    pub fn of(&self, v: VarId) -> Option<&OrderRace> {
        self.races.iter().find(|r| r.var == v)
    }
}

type Clock = Vec<u32>;

fn join(into: &mut Clock, other: &Clock) {
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

/// The last accesses to a cell: by thread and whether it was one step by itself, when, and by which transition.
#[derive(Clone, Default)]
struct Cell {
    reads: BTreeMap<(ThreadId, bool), (u32, TransitionId)>,
    writes: BTreeMap<(ThreadId, bool), (u32, TransitionId)>,
}

struct Follow<'p> {
    p: &'p Program,
    threads: Vec<Clock>,
    ended: Vec<Clock>,
    /// What was given back to each object; readers of a lock apart from writers.
    syncs: Vec<Clock>,
    readers: Vec<Clock>,
    atomics: BTreeMap<usize, Clock>,
    /// What each thread knew at its last release fence, and what reads that do not acquire could have told it.
    fenced: Vec<Clock>,
    heard: Vec<Clock>,
    cells: BTreeMap<usize, Cell>,
}

impl<'p> Follow<'p> {
    fn new(p: &'p Program) -> Follow<'p> {
        let n = p.threads.len();
        let zero = vec![0; n];
        let mut threads = vec![zero.clone(); n];
        threads.iter_mut().enumerate().for_each(|(t, c)| c[t] = 1);
        Follow {
            p,
            threads,
            ended: vec![zero.clone(); n],
            syncs: vec![zero.clone(); p.syncs.len()],
            readers: vec![zero.clone(); p.syncs.len()],
            atomics: BTreeMap::new(),
            fenced: vec![zero.clone(); n],
            heard: vec![zero; n],
            cells: BTreeMap::new(),
        }
    }

    fn acquire(&mut self, t: ThreadId, s: SyncId) {
        let from = self.syncs[s.index()].clone();
        join(&mut self.threads[t.index()], &from);
    }

    fn release(&mut self, t: ThreadId, s: SyncId) {
        let from = self.threads[t.index()].clone();
        join(&mut self.syncs[s.index()], &from);
        self.threads[t.index()][t.index()] += 1;
    }

    fn fence(&mut self, t: ThreadId, fence: Fence) {
        if fence.acquires {
            let heard = self.heard[t.index()].clone();
            join(&mut self.threads[t.index()], &heard);
        }
        if fence.releases {
            self.fenced[t.index()] = self.threads[t.index()].clone();
            self.threads[t.index()][t.index()] += 1;
        }
    }

    /// What a step of synchronisation orders.
    fn order(&mut self, t: ThreadId, action: Action, took: bool) {
        match action {
            Action::Lock(s)
            | Action::SemWait(s)
            | Action::Wake { condition: s, spurious: false }
            | Action::Pass(s) => {
                self.acquire(t, s);
            }
            Action::TryLock(s) | Action::SemTryWait(s) if took => self.acquire(t, s),
            Action::ReadLock(s) => self.acquire(t, s),
            Action::TryReadLock(s) if took => self.acquire(t, s),
            Action::WriteLock(s) | Action::TryWriteLock(s) => {
                if took || matches!(action, Action::WriteLock(_)) {
                    self.acquire(t, s);
                    let readers = self.readers[s.index()].clone();
                    join(&mut self.threads[t.index()], &readers);
                }
            }
            Action::Unlock(s) | Action::WriteUnlock(s) | Action::SemPost(s) | Action::Broadcast(s) => {
                self.release(t, s)
            }
            Action::Signal { condition: s, .. } => self.release(t, s),
            Action::ReadUnlock(s) => {
                let from = self.threads[t.index()].clone();
                join(&mut self.readers[s.index()], &from);
                self.threads[t.index()][t.index()] += 1;
            }
            Action::Wait { mutex, .. } => self.release(t, mutex),
            Action::Arrive { barrier, last } => {
                if last {
                    self.acquire(t, barrier);
                }
                self.release(t, barrier);
            }
            Action::Create(child) => {
                let from = self.threads[t.index()].clone();
                join(&mut self.threads[child.index()], &from);
                self.threads[t.index()][t.index()] += 1;
            }
            Action::End => self.ended[t.index()] = self.threads[t.index()].clone(),
            Action::Join(child) => {
                let from = self.ended[child.index()].clone();
                join(&mut self.threads[t.index()], &from);
            }
            Action::Local
            | Action::Read
            | Action::Write
            | Action::Update
            | Action::CompareExchange { .. }
            | Action::Atomic
            | Action::Destroy(_)
            | Action::SyncInit(_)
            | Action::Wake { .. }
            | Action::TimeOut { .. }
            | Action::TryLock(_)
            | Action::SemTryWait(_)
            | Action::TryReadLock(_) => {}
        }
    }

    /// An access; the earlier ones that it races with.
    fn access(
        &mut self,
        t: ThreadId,
        e: TransitionId,
        cell: usize,
        write: bool,
        order: Option<Order>,
    ) -> Vec<(ThreadId, TransitionId)> {
        let atomic = order.is_some();
        let order = order.unwrap_or(Order::Both);
        // An atomic block, or an update, reads what it writes.
        let reads = atomic && (!write || self.p.thread(t).transition(e).action != Action::Write);
        if reads {
            let told = self.told(cell).clone();
            let to = if order.acquires() { &mut self.threads } else { &mut self.heard };
            join(&mut to[t.index()], &told);
        }
        let now = self.threads[t.index()].clone();
        let known = self.cells.entry(cell).or_default();
        let mut found = Vec::new();
        let mut look = |list: &BTreeMap<(ThreadId, bool), (u32, TransitionId)>| {
            for ((u, one), (when, by)) in list {
                if *u != t && *when > now[u.index()] && !(atomic && *one) {
                    found.push((*u, *by));
                }
            }
        };
        look(&known.writes);
        if write {
            look(&known.reads);
        }
        let mine = (now[t.index()], e);
        if write {
            known.writes.insert((t, atomic), mine);
        } else {
            known.reads.insert((t, atomic), mine);
        }
        if atomic && write {
            // What an update tells goes on; what was there before a write is gone.
            let tells = if order.releases() { now } else { self.fenced[t.index()].clone() };
            let told = self.told(cell);
            if !reads {
                told.fill(0);
            }
            join(told, &tells);
            self.threads[t.index()][t.index()] += 1;
        }
        found
    }

    /// What is known to whoever reads an atomic cell.
    fn told(&mut self, cell: usize) -> &mut Clock {
        self.atomics.entry(cell).or_insert_with(|| vec![0; self.p.threads.len()])
    }
}

/// Follows up to so many executions.
pub fn happens_before(p: &Program, executions: u64, seconds: f64) -> Result<HappensBefore, String> {
    let run = Interpreter::new(p);
    let mut out = HappensBefore::default();
    let reach = Reach { executions, seconds, longest: 2000 };
    let mut wrong = None;
    let seen = each(p, reach, &mut |execution| {
        let states = match run.replay(execution.run) {
            Ok(states) => states,
            Err(e) => {
                wrong = Some(e.to_string());
                return false;
            }
        };
        let mut follow = Follow::new(p);
        for (n, step) in execution.run.iter().enumerate() {
            let (t, e) = (step.thread, p.thread(step.thread).transition(step.transition));
            // A lock that was tried was taken if a variable of it changed.
            let took = e.assigns.iter().any(|a| p.var(a.place.var).internal);
            // An object is in use before it orders anything.
            let (uses, data): (Vec<_>, Vec<_>) =
                data(p, t, step.transition).into_iter().partition(|(q, _)| is_initialization(p, q.var));
            let all = uses.into_iter().map(Some).chain([None]).chain(data.into_iter().map(Some));
            follow.fence(t, e.fences.before);
            for access in all {
                let Some((place, write)) = access else {
                    follow.order(t, e.action, took);
                    continue;
                };
                let Some(cell) = run.place_cell(&states[n], place) else { continue };
                let atomic = is_atomic(p, e, place).then_some(e.order);
                for first in follow.access(t, step.transition, cell, write, atomic) {
                    let second = (t, step.transition);
                    let var = run.place_of(cell).0;
                    let same = |r: &OrderRace| {
                        let pair = [(first, second), (second, first)];
                        r.var == var && pair.contains(&(r.first, r.second))
                    };
                    if !out.races.iter().any(same) {
                        out.races.push(OrderRace { var, first, second, run: execution.run[..=n].to_vec() });
                    }
                }
            }
            follow.fence(t, e.fences.after);
        }
        true
    })?;
    if let Some(why) = wrong {
        return Err(why);
    }
    (out.executions, out.all) = (seen.executions, seen.all);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, locksets, races, testing};

    fn racy(p: &Program) -> Vec<String> {
        let found = happens_before(p, 5000, 20.0).unwrap();
        assert!(found.all);
        let mut names: Vec<String> = found.races.iter().map(|r| p.name(r.var).to_owned()).collect();
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn increments_race_without_a_lock_and_not_with_one() {
        assert_eq!(racy(&testing::increments(2, false, false)), ["x"]);
        assert!(racy(&testing::increments(2, true, false)).is_empty());
    }

    #[test]
    fn a_variable_that_is_always_under_its_lock_does_not_race() {
        let p = testing::read(
            "int x, y; pthread_mutex_t m, n;
             void *f(void *p) { pthread_mutex_lock(&m); x = 1; pthread_mutex_unlock(&m);
               pthread_mutex_lock(&n); y = 1; pthread_mutex_unlock(&n); return 0; }
             void *g(void *p) { pthread_mutex_lock(&m); x = 2; pthread_mutex_unlock(&m); return 0; }
             int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_create(&t, 0, g, 0); return 0; }",
        );
        assert!(racy(&p).is_empty());
        assert!(locksets(&p).warnings.is_empty());
    }

    #[test]
    fn making_and_joining_threads_and_atomic_variables_order() {
        let text = |flag: &str, join: &str| {
            testing::read(&format!(
                "int x; {flag} done;
                 void *f(void *p) {{ x = 1; done = 1; return 0; }}
                 int main(void) {{ pthread_t t; x = 5; pthread_create(&t, 0, f, 0);
                   if (done) x = 2; {join} return 0; }}"
            ))
        };
        assert!(racy(&text("_Atomic int", "")).is_empty());
        assert_eq!(racy(&text("int", "")), ["done", "x"]);
        assert!(racy(&text("_Atomic int", "pthread_join(t, 0); x = 3;")).is_empty());
        assert_eq!(racy(&text("_Atomic int", "x = 3; pthread_join(t, 0);")), ["x"]);
    }

    /// A message through a flag, with one memory order for the write and one for the read.
    fn message(write: &str, read: &str, fence: &str) -> Program {
        testing::read(&format!(
            "int x, f;
             void *a(void *p) {{ x = 1; {fence} __atomic_store_n(&f, 1, {write}); return 0; }}
             void *b(void *p) {{ if (__atomic_load_n(&f, {read})) {{ {fence} x = 2; }} return 0; }}
             int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); pthread_create(&t, 0, b, 0); return 0; }}"
        ))
    }

    #[test]
    fn memory_orders_say_what_is_ordered() {
        for (write, read, races) in [
            ("5", "5", false),
            ("3", "2", false),
            ("3", "5", false),
            ("0", "2", true),
            ("3", "0", true),
            ("0", "0", true),
        ] {
            let p = message(write, read, "");
            let found = racy(&p);
            assert_eq!(found == ["x"], races, "{write} {read}: {found:?}");
            assert_eq!(found.is_empty(), !races, "the flag itself is atomic: {found:?}");
            assert!(!locksets(&p).warns_of(p.var_named("f").unwrap()));
        }
    }

    #[test]
    fn fences_order_what_is_before_and_after_them() {
        let program = |writer: &str, reader: &str| {
            testing::read(&format!(
                "int x, f, g;
                 void *a(void *p) {{ {writer} return 0; }}
                 void *b(void *p) {{ {reader} return 0; }}
                 int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); pthread_create(&t, 0, b, 0); return 0; }}"
            ))
        };
        let send = "__atomic_store_n(&f, 1, 0);";
        let sends = |fence: &str| format!("x = 1; {fence} {send}");
        let late = |fence: &str| format!("x = 1; {send} {fence}");
        let takes = |fence: &str| format!("if (__atomic_load_n(&f, 0)) {{ {fence} x = 2; }}");
        let early = |fence: &str| format!("{fence} if (__atomic_load_n(&f, 0)) x = 2;");
        let fence = |order: u32| format!("__atomic_thread_fence({order});");
        let full = "__sync_synchronize();";
        for (writer, reader, races) in [
            (sends(&fence(3)), takes(&fence(2)), false),
            (sends(&fence(4)), takes(&fence(4)), false),
            (sends(full), takes(full), false),
            (sends("__asm__ volatile(\"mfence\");"), takes("__asm__ volatile(\"mfence\");"), false),
            (sends(&fence(2)), takes(&fence(2)), true),
            (sends(&fence(3)), takes(&fence(3)), true),
            (sends(&fence(0)), takes(&fence(2)), true),
            (sends(&fence(3)), takes(""), true),
            (sends("__atomic_signal_fence(5);"), takes(&fence(2)), true),
            (sends("__asm__ volatile(\"\" ::: \"memory\");"), takes(&fence(2)), true),
            (late(full), takes(full), true),
            (sends(full), early(full), true),
            // A fence orders also with a write that releases, and with a read that acquires.
            (sends(&fence(3)), "if (__atomic_load_n(&f, 2)) x = 2;".to_owned(), false),
            ("x = 1; __atomic_store_n(&f, 1, 3);".to_owned(), takes(&fence(2)), false),
            // The fence does not stand for what comes after it, nor for another variable.
            (format!("{full} x = 1; {send}"), takes(full), true),
            (sends(full), format!("if (__atomic_load_n(&g, 0)) {{ {full} }} x = 2;"), true),
            // Fences in one branch, in a function, and in a loop.
            (sends("if (g) __atomic_thread_fence(3);"), takes(full), true),
            (format!("for (int i = 0; i < 2; i++) {{ if (i) {full} x = 1; }} {send}"), takes(full), true),
            (format!("for (int i = 0; i < 2; i++) {{ x = 1; {full} }} {send}"), takes(full), false),
        ] {
            let found = racy(&program(&writer, &reader));
            assert_eq!(found == ["x"], races, "{writer} | {reader}: {found:?}");
            assert_eq!(found.is_empty(), !races, "{writer} | {reader}: {found:?}");
        }
    }

    #[test]
    fn two_that_only_read_an_atomic_variable_are_not_ordered_by_it() {
        for swapped in [false, true] {
            let (a, b) = ("x = 1; __atomic_load_n(&f, 5);", "__atomic_load_n(&f, 5); x = 2;");
            let (a, b) = if swapped { (b, a) } else { (a, b) };
            let p = testing::read(&format!(
                "int x, f; void *a(void *p) {{ {a} return 0; }} void *b(void *p) {{ {b} return 0; }}
                 int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); pthread_create(&t, 0, b, 0); return 0; }}"
            ));
            assert_eq!(racy(&p), ["x"]);
        }
    }

    #[test]
    fn a_single_access_in_an_atomic_block_races_with_plain_accesses_alone() {
        let text = |before: &str, after: &str| {
            testing::read(&format!(
                "int x; void *a(void *p) {{ __VERIFIER_atomic_begin(); x = 1; __VERIFIER_atomic_end(); return 0; }}
                 int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); {before} x = 2; {after} return 0; }}"
            ))
        };
        let p = text("__VERIFIER_atomic_begin();", "__VERIFIER_atomic_end();");
        assert!(racy(&p).is_empty() && races(&p, Budget::default()).unwrap().is_empty());
        let p = text("", "");
        assert_eq!((racy(&p), races(&p, Budget::default()).unwrap().len()), (vec!["x".to_owned()], 1));
    }

    #[test]
    fn a_value_that_nobody_wants_was_still_read_in_an_atomic_block() {
        for body in ["int l = x; l = 3;", "int l = x * 0;", "int l; l = list[y]; l = x; y = 1;", "if (x) ;"] {
            let p = testing::read(&format!(
                "int x, y, list[2]; void *a(void *p) {{ __VERIFIER_atomic_begin(); {body} __VERIFIER_atomic_end(); return 0; }}
                 int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); list[1] = 1; x = 1; pthread_join(t, 0); return 0; }}"
            ));
            assert!(racy(&p).contains(&"x".to_owned()), "{body}: {p}");
            let found = races(&p, Budget::default()).unwrap();
            assert!(found.iter().any(|r| p.name(r.var) == "x"), "{body}");
            let all = model::Reach::default().search(&Interpreter::new(&p)).unwrap();
            assert_eq!((all.errors, all.deadlocks), (0, 0), "{body}");
        }
    }

    #[test]
    fn a_loop_around_a_wait_does_not_keep_the_search_from_what_comes_after() {
        let text = "int x, ready; pthread_mutex_t m; pthread_cond_t c;
            void *a(void *p) { pthread_mutex_lock(&m); while (!ready) pthread_cond_wait(&c, &m);
              pthread_mutex_unlock(&m); x = 1; return 0; }
            void *b(void *p) { pthread_mutex_lock(&m); ready = 1; pthread_cond_signal(&c); pthread_mutex_unlock(&m);
              x = 2; return 0; }
            int main(void) { pthread_t t; pthread_create(&t, 0, a, 0); pthread_create(&t, 0, b, 0); return 0; }";
        let spurious = model::Options { spurious: true, ..model::Options::default() };
        let p = model::read_text("w.c", &format!("{} {text}", testing::PRELUDE), &spurious).unwrap();
        let found = happens_before(&p, 5000, 20.0).unwrap();
        assert_eq!(found.races.iter().map(|r| p.name(r.var)).collect::<Vec<_>>(), ["x"]);
        assert!(found.executions < 20 && found.races[0].run.len() < 30, "{found:?}");
        assert!(!found.all, "threads may wake up for no reason more often");
    }

    #[test]
    fn an_update_hands_on_what_it_read() {
        let text = |order: &str| {
            testing::read(&format!(
                "int x, f;
                 void *a(void *p) {{ x = 1; __atomic_store_n(&f, 1, 3); return 0; }}
                 void *b(void *p) {{ __atomic_fetch_add(&f, 1, 0); return 0; }}
                 void *c(void *p) {{ if (__atomic_load_n(&f, {order}) == 2) x = 2; return 0; }}
                 int main(void) {{ pthread_t t; pthread_create(&t, 0, a, 0); pthread_create(&t, 0, b, 0);
                   pthread_create(&t, 0, c, 0); return 0; }}"
            ))
        };
        assert!(racy(&text("2")).is_empty());
        assert_eq!(racy(&text("0")), ["x"]);
    }

    #[test]
    fn what_it_finds_is_warned_of_and_what_can_happen_at_once_is_found() {
        let mut seen = 0;
        for seed in 0..120 {
            let text = testing::random_text(seed);
            // Endless threads have endless executions.
            if text.contains("while") {
                continue;
            }
            let p = testing::read(&text);
            let Ok(found) = happens_before(&p, 3000, 5.0) else { continue };
            let warned = locksets(&p);
            for r in &found.races {
                assert!(
                    warned.warns(r.first, r.second),
                    "seed {seed}: {r:?}\n{}",
                    testing::random_text(seed)
                );
                seen += 1;
            }
            if found.all {
                for r in races(&p, Budget::default()).unwrap() {
                    assert!(found.of(r.var).is_some(), "seed {seed}: {r:?}\n{}", testing::random_text(seed));
                }
            }
        }
        assert!(seen > 50, "{seen}");
    }
}
