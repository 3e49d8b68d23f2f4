//! The SAT solver underneath: clauses, assumptions, cores and values.
//!
//! There are two: CaDiCaL, which needs a C++ compiler and is what is taken by default, and `batsat`, which is Rust alone and all there is without
//! the feature `cadical`. [`with_sat`] chooses. Both are the same to whoever asks: a test asks both the same.

use std::cell::Cell;
use std::fmt;
use std::ops::Not;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// A SAT solver that the embedded solver can stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SatSolver {
    /// CaDiCaL: strong on long unrollings.
    #[cfg(feature = "cadical")]
    Cadical,
    /// `batsat`, a MiniSat in Rust.
    Batsat,
}

impl SatSolver {
    /// All that are compiled in, the default first.
    pub const ALL: &'static [SatSolver] = &[
        #[cfg(feature = "cadical")]
        SatSolver::Cadical,
        SatSolver::Batsat,
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "cadical")]
            SatSolver::Cadical => "cadical",
            SatSolver::Batsat => "batsat",
        }
    }
}

impl Default for SatSolver {
    fn default() -> SatSolver {
        SatSolver::ALL[0]
    }
}

impl fmt::Display for SatSolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SatSolver {
    type Err = String;

    fn from_str(name: &str) -> Result<SatSolver, String> {
        SatSolver::ALL.iter().copied().find(|s| s.name() == name).ok_or_else(|| {
            let known: Vec<&str> = SatSolver::ALL.iter().map(|s| s.name()).collect();
            format!("there is no SAT solver `{name}` in this build; there is: {}", known.join(", "))
        })
    }
}

thread_local! {
    static CHOSEN: Cell<Option<SatSolver>> = const { Cell::new(None) };
}

/// Runs `f` with this SAT solver under the embedded solver, for all that is asked on this thread, proofs that are checked included.
///
/// ```
/// use verify::{SatSolver, with_sat};
///
/// let p = model::read_text("p.c", "int x; int main(void) { x = 1; if (x != 1) reach_error(); }", &model::Options::default()).unwrap();
/// let impact = (verify::engine("impact").unwrap().make)();
/// for solver in SatSolver::ALL {
///     let out = with_sat(*solver, || verify::verify_checked(&*impact, &p, &verify::Options::default()));
///     assert_eq!(out.verdict.name(), "safe");
/// }
/// ```
pub fn with_sat<R>(solver: SatSolver, f: impl FnOnce() -> R) -> R {
    struct Back(Option<SatSolver>);
    impl Drop for Back {
        fn drop(&mut self) {
            CHOSEN.set(self.0);
        }
    }
    let _back = Back(CHOSEN.replace(Some(solver)));
    f()
}

/// A literal: a variable or its negation. Variable 0 is the constant *true*.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Lit(u32);

impl Lit {
    pub(crate) const TRUE: Lit = Lit(0);
    pub(crate) const FALSE: Lit = Lit(1);
}

impl Not for Lit {
    type Output = Lit;

    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// One instance of the solver that was chosen.
pub(crate) enum Sat {
    #[cfg(feature = "cadical")]
    Cadical(with_cadical::Sat),
    Batsat(Box<with_batsat::Sat>),
}

/// The same call to whichever it is.
macro_rules! either {
    ($sat:expr, $s:ident => $call:expr) => {
        match $sat {
            #[cfg(feature = "cadical")]
            Sat::Cadical($s) => $call,
            Sat::Batsat($s) => $call,
        }
    };
}

impl Sat {
    /// One with the solver that was chosen for this thread.
    pub(crate) fn new() -> Sat {
        Sat::of(CHOSEN.get().unwrap_or_default())
    }

    pub(crate) fn of(solver: SatSolver) -> Sat {
        let mut sat = match solver {
            #[cfg(feature = "cadical")]
            SatSolver::Cadical => Sat::Cadical(with_cadical::Sat::new()),
            SatSolver::Batsat => Sat::Batsat(Box::new(with_batsat::Sat::new())),
        };
        let first = sat.fresh();
        debug_assert_eq!(first, Lit::TRUE);
        sat.add(&[Lit::TRUE]);
        sat
    }

    /// How many variables there are.
    pub(crate) fn vars(&self) -> u32 {
        either!(self, s => s.vars)
    }

    pub(crate) fn fresh(&mut self) -> Lit {
        either!(self, s => s.fresh())
    }

    pub(crate) fn add(&mut self, clause: &[Lit]) {
        either!(self, s => s.add(clause));
    }

    /// Whether all clauses and assumptions can hold; `None` when the time is over.
    pub(crate) fn solve(&mut self, assumptions: &[Lit], seconds: Option<f64>) -> Option<bool> {
        let end = seconds.map(|s| Instant::now() + Duration::from_secs_f64(s.clamp(0.0, 1e6)));
        either!(self, s => s.solve(assumptions, end))
    }

    /// After *unsat*: whether an assumption is one of those that cannot hold together.
    pub(crate) fn in_core(&self, l: Lit) -> bool {
        either!(self, s => s.in_core(l))
    }

    /// After *sat*: whether a literal holds.
    pub(crate) fn value(&self, l: Lit) -> bool {
        either!(self, s => s.value(l))
    }
}

mod with_batsat {
    use super::Lit;
    use batsat::{Callbacks, Lit as SatLit, Solver, SolverInterface, SolverOpts, Var, lbool};
    use std::time::Instant;

    impl Lit {
        fn bat(self) -> SatLit {
            SatLit::new(Var::unsafe_from_idx(self.0 >> 1), self.0 & 1 == 0)
        }
    }

    /// Stops the solver when the time is over.
    #[derive(Default)]
    struct Deadline(Option<Instant>);

    impl Callbacks for Deadline {
        fn stop(&self) -> bool {
            self.0.is_some_and(|end| Instant::now() >= end)
        }
    }

    pub(crate) struct Sat {
        solver: Solver<Deadline>,
        pub(super) vars: u32,
    }

    impl Sat {
        pub(super) fn new() -> Sat {
            Sat { solver: Solver::new(SolverOpts::default(), Deadline::default()), vars: 0 }
        }

        pub(super) fn fresh(&mut self) -> Lit {
            let v = self.solver.new_var_default();
            assert_eq!(v.idx(), self.vars, "variables are numbered one after the other");
            self.vars += 1;
            Lit(v.idx() << 1)
        }

        pub(super) fn add(&mut self, clause: &[Lit]) {
            let mut clause: Vec<SatLit> = clause.iter().map(|l| l.bat()).collect();
            self.solver.add_clause_reuse(&mut clause);
        }

        pub(super) fn solve(&mut self, assumptions: &[Lit], end: Option<Instant>) -> Option<bool> {
            self.solver.cb_mut().0 = end;
            let assumptions: Vec<SatLit> = assumptions.iter().map(|l| l.bat()).collect();
            let result = self.solver.solve_limited(&assumptions);
            if result == lbool::TRUE {
                Some(true)
            } else if result == lbool::FALSE {
                Some(false)
            } else {
                None
            }
        }

        pub(super) fn in_core(&self, l: Lit) -> bool {
            self.solver.unsat_core_contains_var(l.bat().var())
        }

        pub(super) fn value(&self, l: Lit) -> bool {
            self.solver.value_lit(l.bat()) == lbool::TRUE
        }
    }
}

#[cfg(feature = "cadical")]
mod with_cadical {
    use super::Lit;
    use cadical::{Callbacks, Solver};
    use std::time::Instant;

    impl Lit {
        /// Numbers from one on, negative for a negation.
        fn cadical(self) -> i32 {
            let v = (self.0 >> 1) as i32 + 1;
            if self.0 & 1 == 0 { v } else { -v }
        }
    }

    /// Stops the solver when the time is over.
    struct Deadline(Instant);

    impl Callbacks for Deadline {
        fn terminate(&mut self) -> bool {
            Instant::now() >= self.0
        }
    }

    pub(crate) struct Sat {
        solver: Solver<Deadline>,
        pub(super) vars: u32,
    }

    impl Sat {
        pub(super) fn new() -> Sat {
            Sat { solver: Solver::new(), vars: 0 }
        }

        pub(super) fn fresh(&mut self) -> Lit {
            self.vars += 1;
            Lit((self.vars - 1) << 1)
        }

        pub(super) fn add(&mut self, clause: &[Lit]) {
            self.solver.add_clause(clause.iter().map(|l| l.cadical()));
        }

        pub(super) fn solve(&mut self, assumptions: &[Lit], end: Option<Instant>) -> Option<bool> {
            self.solver.set_callbacks(end.map(Deadline));
            self.solver.solve_with(assumptions.iter().map(|l| l.cadical()))
        }

        pub(super) fn in_core(&self, l: Lit) -> bool {
            self.solver.failed(l.cadical())
        }

        pub(super) fn value(&self, l: Lit) -> bool {
            self.solver.value(l.cadical()) == Some(true)
        }
    }
}

#[cfg(test)]
mod tests;
