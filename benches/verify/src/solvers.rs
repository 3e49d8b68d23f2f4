//! The SAT solvers next to each other: the same engines on the same programs.

use crate::corpus::{self, Case};
use crate::engines::run;
use crate::fmcad;
use verify::SatSolver;

/// What one solver did for an engine.
#[derive(Clone, Copy, Default)]
struct Sum {
    decided: u32,
    /// Of the programs that are decided with each of them.
    seconds: f64,
}

/// Producers and consumers with a large buffer.
fn large() -> Vec<Case> {
    let of = |pairs: u32| Case {
        file: "prodcons.c".to_owned(),
        defines: vec![format!("PAIRS={pairs}"), "SIZE=1000".to_owned()],
        expect: "safe".to_owned(),
        ..Case::default()
    };
    [1, 2, 4].map(of).to_vec()
}

/// The table.
pub(crate) fn table(seconds: f64, only: &str, engines: &[String], each: bool) {
    let names: Vec<&str> = SatSolver::ALL.iter().map(|s| s.name()).collect();
    println!("| programs | engine | decided: {} | seconds: {} | ratio |", names.join(", "), names.join(", "));
    println!("|---|---|---|---|---|");
    let all: Vec<Case> = corpus::cases().into_iter().filter(|c| !c.is_mutation()).collect();
    let sets = [("producers and consumers, 1000", large()), ("FMCAD 2013", fmcad::cases()), ("all", all)];
    for (what, cases) in sets {
        for engine in engines {
            let mut sums = vec![Sum::default(); names.len()];
            for case in cases.iter().filter(|c| c.name().contains(only)) {
                let answers: Vec<(String, f64)> =
                    SatSolver::ALL.iter().map(|s| run(case, engine, seconds, *s)).collect();
                let right = |word: &str| word == case.expect;
                for (sum, (word, time)) in sums.iter_mut().zip(&answers) {
                    sum.decided += u32::from(right(word));
                    if answers.iter().all(|(w, _)| right(w)) {
                        sum.seconds += time;
                    }
                }
                if each {
                    let row: Vec<String> = answers.iter().map(|(w, t)| format!("{w} {t:.3}")).collect();
                    println!("| {} | {engine} | | {} | |", case.name(), row.join(", "));
                }
            }
            let list = |of: &dyn Fn(&Sum) -> String| sums.iter().map(of).collect::<Vec<_>>().join(", ");
            let ratio = sums[0].seconds / sums[sums.len() - 1].seconds;
            let (decided, time) = (list(&|s| s.decided.to_string()), list(&|s| format!("{:.2}", s.seconds)));
            println!("| {what} | {engine} | {decided} | {time} | {ratio:.2} |");
        }
    }
}
