//! Both solvers are asked the same.

use super::*;
use std::time::Instant;

/// Random numbers, the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    fn literal(&mut self, vars: &[Lit]) -> Lit {
        let l = vars[self.below(vars.len() as u64) as usize];
        if self.below(2) == 0 { l } else { !l }
    }

    fn literals(&mut self, vars: &[Lit], most: u64) -> Vec<Lit> {
        (0..1 + self.below(most)).map(|_| self.literal(vars)).collect()
    }
}

/// Whether a literal holds where the bits of a number are the values of variables.
fn holds(values: u64, l: Lit) -> bool {
    (values >> (l.0 >> 1) & 1 == 1) == (l.0 & 1 == 0)
}

fn all_hold(values: u64, clauses: &[Vec<Lit>], assumptions: &[Lit]) -> bool {
    assumptions.iter().all(|l| holds(values, *l))
        && clauses.iter().all(|c| c.iter().any(|l| holds(values, *l)))
}

/// The answer of a solver; what comes with it is checked: values that satisfy, or a core of the assumptions that is enough.
fn asked(sat: &mut Sat, clauses: &[Vec<Lit>], assumptions: &[Lit], what: &str) -> bool {
    let answer = sat.solve(assumptions, None).expect("there is no limit");
    if answer {
        let fine = |l: &Lit| sat.value(*l) && !sat.value(!*l);
        assert!(assumptions.iter().all(fine), "{what}: assumptions hold");
        assert!(clauses.iter().all(|c| c.iter().any(fine)), "{what}: clauses hold");
    } else {
        let core: Vec<Lit> = assumptions.iter().copied().filter(|l| sat.in_core(*l)).collect();
        assert_eq!(sat.solve(&core, None), Some(false), "{what}: the core is enough");
    }
    answer
}

#[test]
fn every_solver_answers_random_questions_as_trying_all_values_does() {
    let (mut yes, mut no) = (0, 0);
    for seed in 1..=300u64 {
        let mut g = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut solvers: Vec<Sat> = SatSolver::ALL.iter().map(|s| Sat::of(*s)).collect();
        let (mut vars, mut clauses) = (vec![Lit::TRUE], vec![vec![Lit::TRUE]]);
        for round in 0..6 {
            // The question grows between answers, in variables and in clauses.
            for _ in 0..1 + g.below(2) {
                let fresh: Vec<Lit> = solvers.iter_mut().map(Sat::fresh).collect();
                assert!(fresh.iter().all(|l| *l == fresh[0]));
                vars.push(fresh[0]);
            }
            for _ in 0..g.below(vars.len() as u64) {
                let clause: Vec<Lit> = (0..2 + g.below(2)).map(|_| g.literal(&vars)).collect();
                solvers.iter_mut().for_each(|s| s.add(&clause));
                clauses.push(clause);
            }
            for _ in 0..3 {
                let assumptions = g.literals(&vars, 4);
                let values = 0..1u64 << vars.len();
                let expected = values.into_iter().any(|v| all_hold(v, &clauses, &assumptions));
                *if expected { &mut yes } else { &mut no } += 1;
                for (s, sat) in SatSolver::ALL.iter().zip(&mut solvers) {
                    let what = format!("{s}, seed {seed}, round {round}");
                    assert_eq!(asked(sat, &clauses, &assumptions, &what), expected, "{what}");
                    if !expected {
                        let in_core = |l: &Lit| sat.in_core(*l);
                        let core: Vec<Lit> = assumptions.iter().copied().filter(in_core).collect();
                        let mut values = 0..1u64 << vars.len();
                        assert!(!values.any(|v| all_hold(v, &clauses, &core)), "{what}: a core is too small");
                    }
                }
            }
        }
    }
    assert!(yes > 1000 && no > 1000, "{yes} can hold, {no} cannot");
}

#[test]
fn solvers_agree_on_random_questions_that_need_search() {
    let (mut yes, mut no) = (0, 0);
    for seed in 1..=40u64 {
        let mut g = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut solvers: Vec<Sat> = SatSolver::ALL.iter().map(|s| Sat::of(*s)).collect();
        let mut clauses = vec![];
        let mut vars: Vec<Lit> = Vec::new();
        for _ in 0..60 {
            let fresh: Vec<Lit> = solvers.iter_mut().map(Sat::fresh).collect();
            vars.push(fresh[0]);
        }
        // So many that about half of the questions have an answer.
        for n in 0..250 {
            let clause: Vec<Lit> = (0..3).map(|_| g.literal(&vars)).collect();
            solvers.iter_mut().for_each(|s| s.add(&clause));
            clauses.push(clause);
            if n < 200 || n % 10 != 0 {
                continue;
            }
            let assumptions = g.literals(&vars, 6);
            let answers: Vec<bool> = SatSolver::ALL
                .iter()
                .zip(&mut solvers)
                .map(|(s, sat)| asked(sat, &clauses, &assumptions, &format!("{s}, seed {seed}, {n} clauses")))
                .collect();
            assert!(answers.iter().all(|a| *a == answers[0]), "seed {seed}, {n} clauses: {answers:?}");
            *if answers[0] { &mut yes } else { &mut no } += 1;
        }
    }
    assert!(yes > 30 && no > 30, "{yes} can hold, {no} cannot");
}

#[test]
fn every_solver_stops_when_its_time_is_over_and_can_be_asked_again() {
    const HOLES: usize = 14;
    for s in SatSolver::ALL {
        let mut sat = Sat::of(*s);
        // More pigeons than holes: no solver of this kind sees that soon.
        let away = sat.fresh();
        let at: Vec<Vec<Lit>> = (0..=HOLES).map(|_| (0..HOLES).map(|_| sat.fresh()).collect()).collect();
        for p in &at {
            let mut somewhere = p.clone();
            somewhere.push(away);
            sat.add(&somewhere);
        }
        for (i, p) in at.iter().enumerate() {
            for q in &at[..i] {
                p.iter().zip(q).for_each(|(a, b)| sat.add(&[!*a, !*b]));
            }
        }
        let start = Instant::now();
        assert_eq!(sat.solve(&[!away], Some(0.05)), None, "{s}");
        assert!(start.elapsed().as_secs_f64() < 5.0, "{s}: {:?}", start.elapsed());
        assert_eq!(sat.solve(&[away], None), Some(true), "{s}");
        assert_eq!(sat.solve(&[!away, at[0][0], at[1][0]], None), Some(false), "{s}");
        assert!(sat.in_core(at[0][0]) && sat.in_core(at[1][0]), "{s}");
    }
}

#[test]
fn a_solver_is_chosen_for_what_runs_inside_and_no_longer() {
    for s in SatSolver::ALL {
        let is = |sat: &Sat| match sat {
            #[cfg(feature = "cadical")]
            Sat::Cadical(_) => SatSolver::Cadical,
            Sat::Batsat(_) => SatSolver::Batsat,
        };
        assert_eq!(with_sat(*s, || is(&Sat::new())), *s);
        assert_eq!(is(&Sat::new()), SatSolver::default());
        assert_eq!(s.name().parse::<SatSolver>(), Ok(*s));
    }
    assert!("minisat".parse::<SatSolver>().unwrap_err().contains("batsat"));
}
