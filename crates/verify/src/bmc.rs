//! Bounded model checking: all runs of k steps at once, for k = 0, 1, 2, ..., as formulas for the solver.
//!
//! A state of the unrolling is a variable for the location of each thread, and a term for each of the program's variables and cells
//! over the choices made so far. A step is a choice of a transition; its guard, its thread's location and its inputs are conditions. The
//! solver is incremental: what was translated for k stays for k + 1. Where no run has k steps, all have been seen: then the
//! answer is *safe*, and the certificate is that number.
//!
//! Biere et al., TACAS 1999; in Qadeer's lectures with the union of all threads' transitions.

use crate::bits::BitSolver;
use crate::budget::Meter;
use crate::certificate::Certificate;
use crate::engines::Engine;
use crate::outcome::{Options, Outcome, Unknown, Verdict};
use crate::solver::{Answer, Solver};
use crate::unrolling::Unrolling;
use model::{Program, Term};

/// The engine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bmc;

impl Engine for Bmc {
    fn name(&self) -> &'static str {
        "bmc"
    }

    fn verify(&self, program: &Program, options: &Options) -> Outcome {
        let mut run = Run {
            unrolling: Unrolling::new(program),
            solver: BitSolver::with_room(),
            meter: Meter::new(options.budget),
            bound: None,
        };
        let verdict = run.deepen(program, options).unwrap_or_else(Verdict::Unknown);
        Outcome {
            engine: self.name(),
            verdict,
            counts: vec![
                ("steps", (run.unrolling.depth() as u64).into()),
                ("queries", run.solver.queries().into()),
            ],
            seconds: run.meter.seconds(),
        }
    }
}

struct Run<'p> {
    unrolling: Unrolling<'p>,
    solver: BitSolver,
    meter: Meter,
    /// A run beyond the bound under which the program was read.
    bound: Option<Unknown>,
}

impl Run<'_> {
    fn can_hold(&mut self, also: Term) -> Result<bool, Unknown> {
        self.meter.look().map_err(Unknown::Spent)?;
        self.solver.limit(self.meter.left());
        let mut all = self.unrolling.path().to_vec();
        all.push(also);
        match self.solver.check(self.unrolling.terms(), &all) {
            Answer::Sat => Ok(true),
            Answer::Unsat => Ok(false),
            Answer::Unknown => {
                self.meter.look().map_err(Unknown::Spent)?;
                Err(Unknown::Cannot("the solver gives up".to_owned()))
            }
        }
    }

    fn deepen(&mut self, program: &Program, options: &Options) -> Result<Verdict, Unknown> {
        if let Some(why) = Unrolling::too_large(program) {
            return Err(Unknown::Cannot(why));
        }
        loop {
            self.meter.step().map_err(Unknown::Spent)?;
            let wrong = self.unrolling.wrong(options.deadlocks);
            if self.can_hold(wrong)? {
                let steps = self.unrolling.steps(&|terms, t| self.solver.value(terms, t));
                return Ok(Verdict::of_trace(program, steps));
            }
            let beyond = self.unrolling.beyond_bound();
            if self.bound.is_none() && self.can_hold(beyond)? {
                let steps = self.unrolling.steps(&|terms, t| self.solver.value(terms, t));
                match Verdict::of_trace(program, steps) {
                    Verdict::Unknown(u) => self.bound = Some(u),
                    _ => return Err(Unknown::Mistake("a bound that is none".to_owned())),
                }
            }
            self.unrolling.extend();
            let yes = self.unrolling.yes();
            if !self.can_hold(yes)? {
                return match self.bound.take() {
                    Some(u) => Err(u),
                    None => Ok(Verdict::Safe(Certificate::Depth(self.unrolling.depth() - 1))),
                };
            }
        }
    }
}
