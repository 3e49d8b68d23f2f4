//! The programs of Wachter, Kroening, Ouaknine, "Verifying multi-threaded software with Impact" (FMCAD 2013), next to its times.

use crate::corpus;
use crate::engines::run;

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

/// The table.
pub(crate) fn table() {
    println!("| program | here | expected | paper, s | impact, s | portfolio, s |");
    println!("|---|---|---|---|---|---|");
    let cases = corpus::cases();
    for (name, file, defines, paper) in ROWS {
        let found = cases.iter().find(|c| c.file == *file && c.defines == *defines && !c.is_mutation());
        let case = found.unwrap_or_else(|| panic!("the manifest has {name}"));
        let cell = |engine: &str| {
            let (word, seconds) = run(case, engine, 60.0);
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
