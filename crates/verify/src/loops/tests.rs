//! What is written is put back into the program as a check at its loop, and every state of that program is looked at.

use super::*;
use crate::{Budget, Engine, Options, Verdict, engine, testing};
use std::path::Path;

/// The program with a check at the head of each loop: in one step, so that it sees one state.
fn with_checks(text: &str, said: &[LoopInvariant]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let (mut before, mut after) = ("extern void reach_error(void); ".to_owned(), String::new());
    for (n, i) in said.iter().enumerate() {
        let line = &mut lines[i.span.line as usize - 1];
        let mut at = line.find('(').unwrap() + 1;
        if line.trim_start().starts_with("for") {
            at += line[at..].find(';').unwrap() + 1;
        }
        let empty = line[at..].trim_start().starts_with(';');
        line.insert_str(at, &format!(" __VERIFIER_atomic_said_{n}(){} ", if empty { "" } else { " &&" }));
        before += &format!("int __VERIFIER_atomic_said_{n}(void); ");
        after += &format!(
            "int __VERIFIER_atomic_said_{n}(void) {{ if (!({})) reach_error(); return 1; }}\n",
            i.text
        );
    }
    // A directive stays at the beginning of its line.
    let first = if lines[0].starts_with('#') { before + "\n" } else { before };
    first + &lines.join("\n") + "\n" + &after
}

fn kept() -> model::Options {
    model::Options { keep_loops: true, ..model::Options::default() }
}

fn within(seconds: f64) -> Options {
    Options { deadlocks: false, budget: Budget { seconds: Some(seconds), work: Some(200_000) } }
}

fn proof(name: &str, p: &Program, options: &Options) -> Option<Certificate> {
    match (engine(name).unwrap().make)().verify(p, options).verdict {
        Verdict::Safe(c) => Some(c),
        _ => None,
    }
}

/// Whether a program can go wrong; none if its states are too many.
fn goes_wrong(p: &Program) -> Option<bool> {
    match crate::explicit::Explicit.verify(p, &within(20.0)).verdict {
        Verdict::Safe(_) => Some(false),
        Verdict::Unknown(_) => None,
        _ => Some(true),
    }
}

#[test]
fn what_is_said_of_random_programs_holds_in_every_state() {
    let mut said_of = BTreeMap::new();
    for seed in 0..250 {
        let text = format!("{}{}", testing::PRELUDE, testing::random_text(seed));
        if !text.contains("while") {
            continue;
        }
        let read =
            |text: &str| model::read_text("test.c", text, &kept()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let p = read(&text);
        for name in ["explicit", "impact", "predabs"] {
            let Some(c) = proof(name, &p, &within(2.0)) else { continue };
            let said = loop_invariants(&p, "test.c", &text, &c);
            if !said.is_empty() {
                let checked = with_checks(&text, &said);
                assert_ne!(goes_wrong(&read(&checked)), Some(true), "seed {seed}, {name}\n{checked}");
                *said_of.entry(name).or_insert(0) += 1;
            }
        }
    }
    assert!(said_of.len() == 3 && said_of.values().all(|n| *n >= 10), "{said_of:?}");
}

/// How many loops of a program are spoken of with a proof of an engine; all of it is checked if there are few states.
fn said_of_file(file: &str, defines: &[&str], name: &str) -> Option<Vec<LoopInvariant>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/verify").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut options = kept();
    options.preprocessor.extend(defines.iter().map(|d| format!("-D{d}")));
    let p = model::read_file(&path, &options).unwrap();
    let c = proof(name, &p, &within(5.0))?;
    let said = loop_invariants(&p, &path.display().to_string(), &text, &c);
    let checked = with_checks(&text, &said);
    let folder = std::env::temp_dir().join(format!("raddle-loops-{}-{name}-{file}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let copy = folder.join(file);
    std::fs::write(&copy, &checked).unwrap();
    let again = model::read_file(&copy, &options);
    std::fs::remove_dir_all(&folder).unwrap();
    let again = again.unwrap_or_else(|e| panic!("{e}\n{checked}"));
    let said_wrong = |e: &str| panic!("{file} {name}: {e}\n{checked}");
    match goes_wrong(&again) {
        Some(true) => said_wrong("something that is said does not hold"),
        Some(false) => {}
        // Too many states for that: by the engine itself.
        None => {
            if let Verdict::Unsafe(_) = (engine(name).unwrap().make)().verify(&again, &within(5.0)).verdict {
                said_wrong("something that is said does not hold");
            }
        }
    }
    Some(said)
}

#[test]
fn proofs_of_programs_with_loops_say_something_at_them() {
    for (file, defines, names) in [
        ("peterson.c", &["ROUNDS=0"][..], &["impact", "predabs"][..]),
        ("spin_lock.c", &[], &["impact", "predabs"]),
    ] {
        for name in names {
            let said = said_of_file(file, defines, name).unwrap_or_else(|| panic!("{name} proves {file}"));
            assert!(!said.is_empty(), "{file} {name}");
        }
    }
}

#[test]
#[ignore = "long: every program"]
fn what_is_said_of_all_programs_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/verify");
    let manifest = std::fs::read_to_string(folder.join("expected.toml")).unwrap();
    for case in manifest.split("[[program]]").skip(1).map(|c| c.split("[[").next().unwrap()) {
        let field = |key: &str| {
            let line = case.lines().find(|l| l.starts_with(&format!("{key} =")))?;
            Some(line.split_once('=').unwrap().1.split('"').skip(1).step_by(2).collect::<Vec<_>>())
        };
        if field("expect") != Some(vec!["safe"]) {
            continue;
        }
        let (file, defines) = (field("file").unwrap()[0], field("defines").unwrap_or_default());
        for name in ["explicit", "impact", "predabs"] {
            match said_of_file(file, &defines, name) {
                Some(said) => {
                    eprintln!("{file} {defines:?} {name}: {} loops", said.len());
                    said.iter().for_each(|i| eprintln!("    {}: {}", i.span.line, i.text));
                }
                None => eprintln!("{file} {defines:?} {name}: no proof"),
            }
        }
    }
}

#[test]
fn names_that_mean_something_else_inside_of_functions_are_not_said() {
    let text = "#define OTHER(me) (1 - (me))\nint x, y, z; int table[2][2]; int *p; void f(int z) { int i, y = 1; y = y * x; } void g(void) { int r = x; }";
    let words = words(text);
    assert_eq!(["x", "y", "z", "p", "i"].map(|n| declarations(&words, n)), [1, 2, 2, 1, 1]);
    assert!(is_plain_declaration("unsigned long n, row[4];", "row"));
    assert!(!is_plain_declaration("int table[2][2];", "table"));
    assert!(!is_plain_declaration("row_t table[2];", "table"));
    assert!(!is_plain_declaration("int *p, q;", "q"));
}
