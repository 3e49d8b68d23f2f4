//! What engines ask of a solver.

use model::{Term, Terms, VarId};

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
