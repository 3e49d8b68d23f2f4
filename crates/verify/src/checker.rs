//! Checks certificates. This is what *safe* rests on, so it is small, and it shares nothing with the engines but the meaning of the
//! program and, for formulas, the solver.

use crate::certificate::{Certificate, StateSet};
use crate::outcome::Options;
use model::{Interpreter, Program};
use thiserror::Error;

/// A certificate that proves nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the certificate does not hold: {0}")]
pub struct Refuted(pub String);

/// Whether a certificate proves that nothing goes wrong in a program (nor deadlocks, if those are asked for).
pub fn check(program: &Program, options: &Options, certificate: &Certificate) -> Result<(), Refuted> {
    match certificate {
        Certificate::States(set) => states(program, options, set),
        _ => Err(Refuted("this kind of certificate cannot be checked yet".to_owned())),
    }
}

fn states(program: &Program, options: &Options, set: &StateSet) -> Result<(), Refuted> {
    let run = Interpreter::new(program);
    if !set.states.contains(&run.initial()) {
        return Err(Refuted("the first state is missing".to_owned()));
    }
    for s in &set.states {
        if let Some(wrong) = run.error(s) {
            return Err(Refuted(format!("a state is wrong: {wrong:?}")));
        }
        if options.deadlocks && run.is_deadlock(s) {
            return Err(Refuted("a state is a deadlock".to_owned()));
        }
        for t in program.thread_ids() {
            for (step, next) in run.successors(s, t).map_err(|e| Refuted(e.to_string()))? {
                if !set.states.contains(&next) {
                    return Err(Refuted(format!(
                        "a state is missing after a step of thread {}",
                        step.thread
                    )));
                }
            }
        }
    }
    Ok(())
}
