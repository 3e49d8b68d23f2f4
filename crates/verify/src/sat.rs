//! The SAT solver underneath: clauses, assumptions, cores and values.
//!
//! `batsat` is Rust alone and is what raddle uses by default; with the feature `cadical` it is CaDiCaL, which needs a C++ compiler.
//! Both are the same to whoever asks: the tests of this crate pass with either.

use std::ops::Not;

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

#[cfg(not(feature = "cadical"))]
pub(crate) use with_batsat::Sat;
#[cfg(feature = "cadical")]
pub(crate) use with_cadical::Sat;

#[cfg(not(feature = "cadical"))]
mod with_batsat {
    use super::Lit;
    use batsat::{Callbacks, Lit as SatLit, Solver, SolverInterface, SolverOpts, Var, lbool};
    use std::time::{Duration, Instant};

    impl Lit {
        fn sat(self) -> SatLit {
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

    /// One instance of the solver.
    pub(crate) struct Sat {
        solver: Solver<Deadline>,
        vars: u32,
    }

    impl Sat {
        pub(crate) fn new() -> Sat {
            let mut sat = Sat { solver: Solver::new(SolverOpts::default(), Deadline::default()), vars: 0 };
            sat.fresh();
            sat.add(&[Lit::TRUE]);
            sat
        }

        /// How many variables there are.
        pub(crate) fn vars(&self) -> u32 {
            self.vars
        }

        pub(crate) fn fresh(&mut self) -> Lit {
            let v = self.solver.new_var_default();
            assert_eq!(v.idx(), self.vars, "variables are numbered one after the other");
            self.vars += 1;
            Lit(v.idx() << 1)
        }

        pub(crate) fn add(&mut self, clause: &[Lit]) {
            let mut clause: Vec<SatLit> = clause.iter().map(|l| l.sat()).collect();
            self.solver.add_clause_reuse(&mut clause);
        }

        /// Whether all clauses and assumptions can hold; `None` when the time is over.
        pub(crate) fn solve(&mut self, assumptions: &[Lit], seconds: Option<f64>) -> Option<bool> {
            let end = seconds.map(|s| Instant::now() + Duration::from_secs_f64(s.clamp(0.0, 1e6)));
            self.solver.cb_mut().0 = end;
            let assumptions: Vec<SatLit> = assumptions.iter().map(|l| l.sat()).collect();
            let result = self.solver.solve_limited(&assumptions);
            if result == lbool::TRUE {
                Some(true)
            } else if result == lbool::FALSE {
                Some(false)
            } else {
                None
            }
        }

        /// After *unsat*: whether an assumption is one of those that cannot hold together.
        pub(crate) fn in_core(&self, l: Lit) -> bool {
            self.solver.unsat_core_contains_var(l.sat().var())
        }

        /// After *sat*: whether a literal holds.
        pub(crate) fn value(&self, l: Lit) -> bool {
            self.solver.value_lit(l.sat()) == lbool::TRUE
        }
    }
}

#[cfg(feature = "cadical")]
mod with_cadical {
    use super::Lit;
    use cadical::{Solver, Timeout};

    impl Lit {
        /// Numbers from one on, negative for a negation.
        fn sat(self) -> i32 {
            let v = (self.0 >> 1) as i32 + 1;
            if self.0 & 1 == 0 { v } else { -v }
        }
    }

    /// One instance of the solver.
    pub(crate) struct Sat {
        solver: Solver<Timeout>,
        vars: u32,
    }

    impl Sat {
        pub(crate) fn new() -> Sat {
            let mut sat = Sat { solver: Solver::new(), vars: 0 };
            sat.fresh();
            sat.add(&[Lit::TRUE]);
            sat
        }

        /// How many variables there are.
        pub(crate) fn vars(&self) -> u32 {
            self.vars
        }

        pub(crate) fn fresh(&mut self) -> Lit {
            self.vars += 1;
            Lit((self.vars - 1) << 1)
        }

        pub(crate) fn add(&mut self, clause: &[Lit]) {
            self.solver.add_clause(clause.iter().map(|l| l.sat()));
        }

        /// Whether all clauses and assumptions can hold; `None` when the time is over.
        pub(crate) fn solve(&mut self, assumptions: &[Lit], seconds: Option<f64>) -> Option<bool> {
            self.solver.set_callbacks(seconds.map(|s| Timeout::new(s.clamp(0.0, 1e6) as f32)));
            self.solver.solve_with(assumptions.iter().map(|l| l.sat()))
        }

        /// After *unsat*: whether an assumption is one of those that cannot hold together.
        pub(crate) fn in_core(&self, l: Lit) -> bool {
            self.solver.failed(l.sat())
        }

        /// After *sat*: whether a literal holds.
        pub(crate) fn value(&self, l: Lit) -> bool {
            self.solver.value(l.sat()) == Some(true)
        }
    }
}
