//! What the runtime itself costs: an explorer that does nothing but follow one fixed rule, and three shapes.
//!
//! `cargo run --release -p raddle-runtime --example speed`
#![allow(missing_docs)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::*;
use explore::{Decision, End, Executed, Explorer, Options, View};
use std::time::Instant;

/// Runs the lowest enabled thread, or takes turns at each step, `left` times.
struct Fixed {
    left: u64,
    turns: bool,
}

impl Explorer for Fixed {
    fn begin(&mut self) {}
    fn next_thread(&mut self, view: &View<'_>) -> Decision {
        let t = match view.current {
            Some(c) if self.turns => view.enabled.next_on_ring(c),
            Some(c) if view.enabled.contains(c) => Some(c),
            _ => view.enabled.first(),
        };
        t.map_or(Decision::Stop, Decision::Run)
    }
    fn next_option(&mut self, options: Options<'_>) -> u32 {
        options.get(0)
    }
    fn executed(&mut self, _event: Executed<'_>) {}
    fn end(&mut self, _end: End, _view: &View<'_>) -> bool {
        self.left -= 1;
        self.left > 0
    }
}

/// The best of seven rounds, since other programs run on the machine as well.
fn measure(what: &str, explorer: impl Fn() -> Box<dyn Explorer>, test: &dyn Fn()) {
    let (mut best, mut executions, mut steps) = (f64::MAX, 0u64, 0);
    for _ in 0..7 {
        let mut session = runtime::Session::new(&settings());
        let mut explorer = explorer();
        let start = Instant::now();
        executions = 0;
        loop {
            let once = session.run_once(&mut *explorer, test, false);
            executions += 1;
            assert!(once.failure.is_none(), "{:?}", once.failure);
            if !once.again {
                break;
            }
        }
        best = best.min(start.elapsed().as_nanos() as f64);
        steps = session.total_steps();
    }
    println!(
        "{what:44} {executions:9} executions {:9.0} ns each, {:6.1} ns a step",
        best / executions as f64,
        best / steps as f64
    );
}

fn adds(threads: usize, n: usize) -> impl Fn() {
    move || {
        let x = shared(Atomic::new(0));
        let ids: Vec<_> = (0..threads)
            .map(|_| {
                let x = x.clone();
                spawn(move || {
                    for _ in 0..n {
                        x.add(1);
                    }
                })
            })
            .collect();
        ids.into_iter().for_each(join);
    }
}

fn main() {
    // For a profiler: one shape, once.
    if let Some(n) = std::env::args().nth(1).and_then(|n| n.parse().ok()) {
        let mut session = runtime::Session::new(&settings());
        let mut explorer = Fixed { left: n, turns: true };
        let test = adds(2, 3);
        while session.run_once(&mut explorer, &test, false).again {}
        return;
    }
    let one = || {
        let x = Atomic::new(0);
        for _ in 0..10_000 {
            x.add(1);
        }
    };
    let fixed = |left, turns| move || Box::new(Fixed { left, turns }) as Box<dyn Explorer>;
    let naive = || Box::new(Naive::default()) as Box<dyn Explorer>;
    measure("one thread, 10,000 adds", fixed(100, false), &one);
    let loads = || {
        let x = Atomic::new(0);
        for i in 0..10_000 {
            x.store(i);
            x.load();
        }
    };
    measure("one thread, 10,000 stores and loads", fixed(50, false), &loads);
    measure("two threads taking turns, 5,000 adds each", fixed(100, true), &adds(2, 5000));
    measure("2 x 3 adds, no preemption", fixed(100_000, false), &adds(2, 3));
    measure("2 x 3 adds, taking turns", fixed(100_000, true), &adds(2, 3));
    measure("2 x 3 adds, every schedule", naive, &adds(2, 3));
}
