//! Searches within bounds, and what they saw: the local state of a thread after each of its steps, and terminal states, by
//! happens-before (Coons 2013, section 8.3).
#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part")]

use crate::support::{Program, Stmt, execute_in};
use explore::{
    BoundKind, End, Limit, Meter, Mistake, Optimisations, Plan, Progress, Promise, Round, Trace, mistaken,
};
use std::collections::BTreeSet;

/// What a search saw.
#[derive(Clone, Debug, Default)]
pub struct Within {
    pub locals: BTreeSet<u64>,
    pub terminals: BTreeSet<u64>,
    /// Leaves of the tree: complete, cut by the bound, or redundant.
    pub leaves: u64,
    pub complete: u64,
    pub blocked: u64,
    pub over_bound: u64,
    /// Steps, each branch of the tree once.
    pub edges: u64,
    pub stuck: u64,
    /// Executions that were cut because they went on too long.
    pub too_long: u64,
    /// Nothing was refused.
    pub saturated: bool,
    pub promise: Option<Promise>,
    pub rounds: Vec<Round>,
    pub finished: bool,
    /// Which leaf was the first to satisfy the condition.
    pub first: Option<u64>,
}

impl Within {
    pub fn sets(&self) -> (&BTreeSet<u64>, &BTreeSet<u64>) {
        (&self.locals, &self.terminals)
    }

    pub fn counts(&self) -> (usize, usize) {
        (self.locals.len(), self.terminals.len())
    }
}

fn mix(h: u64, x: u64) -> u64 {
    let z = (h.rotate_left(23) ^ x).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}

/// Names each event by its happens-before past.
#[derive(Default)]
struct Names {
    of_event: Vec<u64>,
    by_thread: Vec<Vec<u64>>,
    order: Vec<(u16, u32)>,
}

impl Names {
    /// Names what is new since the last execution; gives how many events that is.
    fn take(&mut self, trace: &Trace, out: &mut BTreeSet<u64>) -> usize {
        let events = trace.events();
        let same = self.order.iter().zip(events).take_while(|(a, e)| **a == (e.thread.0, e.option)).count();
        for k in (same..self.order.len()).rev() {
            self.by_thread[self.order[k].0 as usize].pop();
        }
        self.order.truncate(same);
        for (i, e) in events.iter().enumerate().skip(same) {
            let t = e.thread.index();
            if self.by_thread.len() <= t {
                self.by_thread.resize(t + 1, Vec::new());
            }
            let object = if e.op.object.is_some() { e.op.object.0 as u64 } else { 999 };
            let mut h = mix(t as u64 + 1, (e.op.kind as u64) << 32 | object);
            h = mix(h, (e.access.mode as u64) << 32 | e.option as u64);
            for (u, c) in trace.clock(i).iter().enumerate() {
                let c = if u == t { c - 1 } else { *c } as usize;
                if c > 0 {
                    h = mix(h, (u as u64) << 56 ^ self.by_thread[u][c - 1]);
                }
            }
            self.by_thread[t].push(h);
            self.order.push((e.thread.0, e.option));
            out.insert(h);
        }
        events.len() - same
    }

    fn terminal(&self) -> u64 {
        let last = self.by_thread.iter().enumerate().filter_map(|(t, l)| l.last().map(|x| x ^ t as u64));
        last.fold(7, mix)
    }
}

/// Runs a search to its end, or for at most `limit` executions.
pub fn run(p: &Program, mut s: Box<dyn Progress>, limit: u64) -> Within {
    run_until(p, &mut *s, limit, 400, |_, _| false)
}

/// The same with executions of at most `longest` steps, noting the first one for which `found` holds.
pub fn run_until(
    p: &Program,
    s: &mut dyn Progress,
    limit: u64,
    longest: usize,
    found: impl Fn(&Trace, bool) -> bool,
) -> Within {
    let mut seen = Within::default();
    let mut names = Names::default();
    loop {
        let mut trace = Trace::new();
        let before = s.stats();
        let (end, _, stuck, again) = execute_in(p, s, &mut trace, longest, false);
        let now = s.stats();
        // A step that turned out to be over the bound after it ran is not within it.
        let over = now.over_bound > before.over_bound;
        seen.edges += names.take(&trace, &mut seen.locals) as u64;
        if end == End::Complete && !over {
            seen.terminals.insert(names.terminal());
            seen.stuck += stuck as u64;
        }
        seen.leaves += 1;
        seen.too_long += (end == End::Cut) as u64;
        if seen.too_long == 20 && limit < u64::MAX {
            return seen;
        }
        if seen.first.is_none() && end == End::Complete && found(&trace, stuck) {
            seen.first = Some(seen.leaves);
        }
        if !again || seen.leaves >= limit {
            seen.complete = now.executions;
            (seen.blocked, seen.over_bound) = (now.blocked, now.over_bound);
            seen.finished = s.finished();
            seen.saturated = s.promise() == Promise::Everything;
            seen.promise = Some(s.promise());
            seen.rounds = s.rounds().to_vec();
            return seen;
        }
    }
}

/// A plan within these bounds.
pub fn plan(algorithm: &str, bounds: &[(BoundKind, u32)], on: &str) -> Plan {
    Plan {
        bounds: bounds.iter().map(|(kind, n)| Limit::at(*kind, *n)).collect(),
        optimisations: on.parse::<Optimisations>().unwrap(),
        ..Plan::of(algorithm).unwrap()
    }
}

/// Every interleaving within the bounds.
pub fn dfs(p: &Program, bounds: &[(BoundKind, u32)], limit: u64) -> Within {
    run(p, plan("none", bounds, "all").search(Meter::unlimited()).unwrap(), limit)
}

/// Bounded partial-order reduction with these optimisations.
pub fn bpor(p: &Program, bounds: &[(BoundKind, u32)], on: &str, limit: u64) -> Within {
    run(p, plan("bpor", bounds, on).search(Meter::unlimited()).unwrap(), limit)
}

/// The same with a mistake.
pub fn wrong_bpor(p: &Program, bounds: &[(BoundKind, u32)], on: &str, mistake: Mistake) -> Within {
    run(p, mistaken(&plan("bpor", bounds, on), mistake).unwrap(), 100_000)
}

/// A program of the tables of Coons 2013.
pub fn program(name: &str) -> Program {
    use Stmt::*;
    let p = Program::of;
    let lost = || vec![Read(0, 0), WriteReg(0, 0, 1)];
    let locked = || vec![Critical(0, lost())];
    let (x, y, a, b, c, d, z) = (0, 1, 2, 3, 4, 5, 6);
    let w = |v| Write(v, 1);
    let r = |v| Read(v, 0);
    match name {
        "G1" => p(vec![vec![w(a), w(b)], vec![w(c), w(d)]]),
        "G2" => p(vec![vec![w(a), w(x)], vec![w(x)]]),
        "G3" => p(vec![vec![w(x)]; 3]),
        "G4" => p(vec![vec![w(x)], vec![r(x)], vec![r(x)]]),
        "G5" => p(vec![vec![w(x), r(y)], vec![w(y), r(x)]]),
        "G6" => p(vec![lost(), lost()]),
        "G7" => Program {
            threads: vec![vec![Spawn(1), Spawn(2), Join(1), Join(2), r(x)], lost(), lost()],
            spawned: vec![1, 2],
            count: 2,
            ..Program::default()
        },
        "G8" => p(vec![locked(); 2]),
        "G9" => p(vec![locked(); 3]),
        "G10" => p(vec![
            vec![Critical(0, vec![Critical(1, vec![])])],
            vec![Critical(1, vec![Critical(0, vec![])])],
        ]),
        "G11" => p(vec![vec![w(a), Acquire(0), w(b), w(c)], vec![w(d), Acquire(0)]]),
        "G12" => p(vec![vec![w(x), EndStep], vec![Join(0), r(x)]]),
        "G12b" => p(vec![vec![w(x), EndStep], vec![r(d), Join(0), r(x)]]),
        "G13" => p(vec![vec![w(x), w(y)], vec![Read(y, 0), IfElse(0, 1, vec![w(x)], vec![Read(c, 1)])]]),
        "G14" => p(vec![vec![Acquire(0), Release(0), w(x)], vec![w(x), Acquire(0), w(x)]]),
        "G14b" => p(vec![vec![Acquire(0), w(x), Release(0), r(x)], vec![w(x), Acquire(0), w(x)]]),
        "G15" => p(vec![vec![w(a), w(b), w(c)], vec![w(d), w(x)], vec![w(z), r(x)]]),
        "G16" => p(vec![vec![w(a)], vec![w(x), w(y)], vec![r(x), w(y)]]),
        "G17" => p(vec![vec![w(x)], vec![r(y), r(x)], vec![r(x)]]),
        "G18" => p(vec![vec![Acquire(0), r(x), Release(0)], vec![r(y), Acquire(0)]]),
        "G19" => p(vec![vec![w(x), w(7)], vec![Await(7, 0), r(x)], vec![r(x), w(7)]]),
        "F1" => p(vec![vec![Spin(x)], vec![w(x)]]),
        "F2" => p(vec![vec![Spin(x)], vec![w(x)], vec![Spin(x)]]),
        "F3" => p(vec![vec![w(x), Spin(y)], vec![Spin(x), w(y)]]),
        "F4" => p(vec![vec![w(x), Spin(y)], vec![Spin(x), w(y), Spin(z)], vec![Spin(y), w(z)]]),
        _ => panic!("there is no program {name}"),
    }
}
