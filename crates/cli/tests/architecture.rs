//! The walls of ARCHITECTURE.md, as far as a test can see them.

use std::fs;
use std::path::{Path, PathBuf};

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The crates of this workspace that a crate's program, not its tests, depends on.
fn dependencies(krate: &str) -> Vec<String> {
    let manifest = fs::read_to_string(crates().join(krate).join("Cargo.toml")).unwrap();
    let mut section = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]")
            && !section.contains("dev-")
            && line.starts_with("raddle")
        {
            found.push(line.split([' ', '=', '.']).next().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

fn sources(folder: &Path, into: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
        if entry.is_dir() {
            sources(&entry, into);
        } else if entry.extension().is_some_and(|e| e == "rs") {
            let text = fs::read_to_string(&entry).unwrap();
            into.push((entry, text));
        }
    }
}

#[test]
fn each_crate_knows_only_those_below_it() {
    assert_eq!(dependencies("explore"), [""; 0]);
    assert_eq!(dependencies("runtime"), ["raddle-explore"]);
    assert_eq!(dependencies("report"), ["raddle-explore"]);
    assert_eq!(dependencies("raddle"), ["raddle-explore", "raddle-report", "raddle-runtime"]);
    assert_eq!(dependencies("examples"), ["raddle"]);
    assert_eq!(dependencies("model"), ["raddle-explore"]);
    assert_eq!(dependencies("verify"), ["raddle-explore", "raddle-model"]);
}

#[test]
fn the_search_and_the_reports_do_no_io_and_use_no_unsafe() {
    for krate in ["explore", "report"] {
        let mut files = Vec::new();
        sources(&crates().join(krate).join("src"), &mut files);
        assert!(
            files.iter().any(|(_, text)| text.contains("#![forbid(unsafe_code)]")),
            "{krate} forbids unsafe code"
        );
        for (file, text) in files {
            // Unit tests may print.
            let text = text.split("#[cfg(test)]").next().unwrap_or(&text);
            for word in [
                "std::fs",
                "std::net",
                "std::io",
                "std::process",
                "std::env",
                "Instant",
                "SystemTime",
                "println!",
            ] {
                assert!(!text.contains(word), "{} uses {word}", file.display());
            }
        }
    }
}
