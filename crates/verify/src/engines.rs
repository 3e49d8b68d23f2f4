//! Every engine by name: one table, one line each.

use crate::outcome::{Options, Outcome};
use model::Program;
use thiserror::Error;

/// Something that decides whether a program can go wrong.
pub trait Engine {
    /// Its name in the table.
    fn name(&self) -> &'static str;

    /// The answer for a program. Never wrong: what it cannot tell is *unknown*.
    fn verify(&self, program: &Program, options: &Options) -> Outcome;
}

/// An engine that users can name.
#[derive(Clone, Copy)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// For which programs it can answer *safe*.
    pub complete: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Makes one.
    pub make: fn() -> Box<dyn Engine>,
}

impl std::fmt::Debug for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listed").field("name", &self.name).finish_non_exhaustive()
    }
}

macro_rules! table {
    ($($name:literal, $complete:literal, $source:literal, $summary:literal, $make:expr;)*) => {
        &[$(Listed { name: $name, complete: $complete, source: $source, summary: $summary, make: || Box::new($make) }),*]
    };
}

static TABLE: &[Listed] = table! {
    "portfolio", "what any of its engines can", "-",
        "explicit while there are few states, then impact, bdd, bmc, predabs, explicit-symmetric with more states, and impact again", crate::portfolio::Portfolio;
    "explicit", "programs with few states", "Qadeer, lectures",
        "every state that can be reached, breadth-first: shortest traces", crate::explicit::Explicit;
    "explicit-symmetric", "programs with few states up to which of several equal threads does what", "Emerson and Sistla 1996; Ip and Dill 1996",
        "explicit, with one state for all that differ only in which of several equal threads does what", crate::explicit::Symmetric;
    "bdd", "programs whose sets of states have small decision diagrams", "Qadeer, lectures; Bryant 1986",
        "sets of states as decision diagrams, forwards from the first state: shortest traces",
        crate::bdd::Symbolic(crate::bdd::Direction::Forward);
    "bdd-backward", "programs whose sets of states have small decision diagrams", "Qadeer, lectures; Bryant 1986",
        "the same backwards from the states that are wrong", crate::bdd::Symbolic(crate::bdd::Direction::Backward);
    "contexts", "programs with few states", "Qadeer and Rehof 2005",
        "runs with at most c contexts a thread, for c = 1, 2, ... until there are no other states",
        crate::contexts::Contexts::default();
    "predabs", "programs with an invariant over a few predicates", "Graf and Saidi 1997; Ball and Rajamani 2001",
        "combinations of predicates instead of values; predicates from runs that cannot be taken",
        crate::predabs::Predabs;
    "lal-reps", "none", "Lal and Reps 2008",
        "up to three rounds of all threads as a program of one thread, which `bdd` searches",
        crate::rounds::LalReps::default();
    "bmc", "programs whose runs all end", "Biere et al., TACAS 1999",
        "all runs of k steps at once, for k after k: shortest traces", crate::bmc::Bmc;
    "impact", "programs whose proof needs no relation between variables that the program does not test", "Wachter, Kroening, Ouaknine, FMCAD 2013",
        "an unwinding with labels from weakest preconditions, late cores and forced covers", crate::impact::Impact(crate::impact::Reduction::OneIsEnough);
    "impact-monotonic", "what impact can", "the same",
        "impact with the reduction of its paper: threads in order where their steps commute, and cover expansion",
        crate::impact::Impact(crate::impact::Reduction::Monotonic);
    "imc", "what impact can", "Metzler 2020, after the same",
        "impact one scheduler after the other: schedules that are safe, also of programs that are not", crate::imc::Imc;
};

/// Every engine.
pub fn engines() -> &'static [Listed] {
    TABLE
}

/// No engine has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no engine `{name}`; there are: {known}")]
pub struct UnknownEngine {
    /// The name that was asked for.
    pub name: String,
    known: String,
}

/// The engine with this name.
///
/// ```
/// assert_eq!(verify::engine("explicit").unwrap().name, "explicit");
/// assert!(verify::engine("implicit").unwrap_err().to_string().contains("explicit"));
/// ```
pub fn engine(name: &str) -> Result<&'static Listed, UnknownEngine> {
    TABLE.iter().find(|e| e.name == name).ok_or_else(|| UnknownEngine {
        name: name.to_owned(),
        known: TABLE.iter().map(|e| e.name).collect::<Vec<_>>().join(", "),
    })
}
