//! What the pages show is what the command says: C programs on them, each with the command after it and its output.

use std::path::Path;
use std::process::Command;

/// A program on a page, and the lines of the session that follows it.
struct Shown {
    line: usize,
    program: String,
    session: String,
}

/// The programs of a page that a session follows before the next one.
fn shown(page: &str) -> Vec<Shown> {
    let mut out = Vec::<Shown>::new();
    let (mut program, mut block) = (None::<(usize, String)>, None::<(String, String)>);
    for (n, line) in page.lines().enumerate() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(kind)) => block = Some((kind.to_owned(), String::new())),
            (Some(_), Some(_)) => {
                let (kind, text) = block.take().expect("it is open");
                match (&kind[..], program.take()) {
                    ("c", _) => program = Some((n, text)),
                    ("", Some((line, program))) if text.starts_with("$ raddle ") => {
                        out.push(Shown { line, program, session: text });
                    }
                    _ => {}
                }
            }
            (Some((_, text)), None) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    out
}

/// Runs what a page shows, and compares.
fn is_true(page: &str, least: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let all = shown(&text);
    assert!(all.len() >= least, "{page}: {} programs with sessions", all.len());
    let place = std::env::temp_dir().join(format!("raddle-docs-{}-{page}", std::process::id()));
    std::fs::create_dir_all(&place).unwrap();
    for s in &all {
        let (command, expected) = s.session.split_once('\n').unwrap();
        let words: Vec<&str> = command.strip_prefix("$ raddle ").unwrap().split(' ').collect();
        let file = words.iter().find(|w| w.ends_with(".c")).unwrap();
        std::fs::write(place.join(file), &s.program).unwrap();
        let done =
            Command::new(env!("CARGO_BIN_EXE_raddle")).args(&words).current_dir(&place).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout);
        assert_eq!(
            said.trim_end(),
            expected.trim_end(),
            "docs/{page}: the program that ends on line {}",
            s.line
        );
    }
    std::fs::remove_dir_all(&place).unwrap();
}

#[test]
fn outlines_atomicity_and_races_are_as_the_page_shows_them() {
    is_true("outlines.md", 5);
}
