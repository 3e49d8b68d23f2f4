//! What engines ask of a solver.

use crate::smt::SmtCommand;
use model::{Term, Terms, VarId};
use std::cell::RefCell;

thread_local! {
    static CHOSEN: RefCell<Option<SmtCommand>> = const { RefCell::new(None) };
}

/// Runs `f` with another solver than the embedded one, for all queries that engines make on this thread.
/// [`verify_checked`](crate::verify_checked) checks certificates with the embedded one nevertheless: so neither is believed alone.
pub fn with_solver<R>(solver: &SmtCommand, f: impl FnOnce() -> R) -> R {
    under(Some(solver.clone()), f)
}

/// Runs `f` with the embedded solver, whatever was chosen outside.
pub(crate) fn embedded<R>(f: impl FnOnce() -> R) -> R {
    under(None, f)
}

fn under<R>(solver: Option<SmtCommand>, f: impl FnOnce() -> R) -> R {
    struct Back(Option<SmtCommand>);
    impl Drop for Back {
        fn drop(&mut self) {
            let before = self.0.take();
            CHOSEN.with(|c| *c.borrow_mut() = before);
        }
    }
    let _back = Back(CHOSEN.with(|c| std::mem::replace(&mut *c.borrow_mut(), solver)));
    f()
}

/// The solver that was chosen for this thread, if it is not the embedded one.
pub(crate) fn chosen() -> Option<SmtCommand> {
    CHOSEN.with(|c| c.borrow().clone())
}

/// The answer to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// There are values for which all assumptions hold; [`Solver::value`] has them.
    Sat,
    /// There are none; [`Solver::core`] has assumptions that are enough for that.
    Unsat,
    /// The solver gave up.
    Unknown,
}

/// Decides formulas over bit-vectors. Truth values are terms of one bit; variables are those of the terms, whatever program they
/// belong to, and an array is a function that gives 0 for an index at or past its length.
pub trait Solver {
    /// The length of an array whose cells occur in formulas. Must be told before the first of them is seen.
    fn declare_array(&mut self, var: VarId, len: u32);

    /// Whether all assumptions can hold at once. The terms must be the same ones each time, or continue them.
    fn check(&mut self, terms: &Terms, assumptions: &[Term]) -> Answer;

    /// After [`Answer::Unsat`]: which of the assumptions cannot hold together (not necessarily the fewest).
    fn core(&self) -> &[Term];

    /// After [`Answer::Sat`]: the value of a term that occurs in the query. For one that does not, any value is as good: it may be 0.
    fn value(&self, terms: &Terms, t: Term) -> u64;

    /// Stops within about so many seconds with [`Answer::Unknown`].
    fn limit(&mut self, seconds: Option<f64>);
}
