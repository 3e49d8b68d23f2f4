//! The programs of Wachter, Kroening, Ouaknine, "Verifying multi-threaded software with Impact" (FMCAD 2013), next to its times.

use crate::corpus::{self, Case};
use crate::engines::run;
use verify::SatSolver;

/// The name there, the program and the macro here, the seconds there.
const ROWS: &[(&str, &str, &[&str], f64)] = &[
    ("dekker", "dekker.c", &["ROUNDS=0"], 0.1),
    ("lamport", "lamport.c", &["ROUNDS=0"], 0.3),
    ("peterson", "peterson.c", &["ROUNDS=0"], 0.1),
    ("szymanski", "szymanski.c", &["ROUNDS=0"], 0.2),
    ("read_write_u", "read_write_lock.c", &["BUG"], 0.6),
    ("read_write_s", "read_write_lock.c", &[], 0.9),
    ("time_var_mutex", "time_var_mutex.c", &[], 0.1),
    ("stack_u", "stack.c", &["BUG"], 0.5),
    ("stack_s", "stack.c", &[], 38.8),
];

/// The programs here, in the order of the rows.
pub(crate) fn cases() -> Vec<Case> {
    let cases = corpus::cases();
    let find = |(name, file, defines, _): &(&str, &str, &[&str], f64)| {
        let found = cases.iter().find(|c| c.file == *file && c.defines == *defines && !c.is_mutation());
        found.unwrap_or_else(|| panic!("the manifest has {name}")).clone()
    };
    ROWS.iter().map(find).collect()
}

/// The table.
pub(crate) fn table(sat: SatSolver) {
    println!("| program | here | expected | paper, s | impact, s | portfolio, s |");
    println!("|---|---|---|---|---|---|");
    for ((name, .., paper), case) in ROWS.iter().zip(cases()) {
        let cell = |engine: &str| {
            let (word, seconds) = run(&case, engine, 60.0, sat);
            if word == case.expect { format!("{seconds:.2}") } else { format!("{word} {seconds:.2}") }
        };
        println!(
            "| {name} | {} | {} | {paper} | {} | {} |",
            case.name(),
            case.expect,
            cell("impact"),
            cell("portfolio")
        );
    }
}
