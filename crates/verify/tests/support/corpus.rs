//! The programs of `programs/verify`, as their manifest lists them.
#![allow(dead_code, unreachable_pub, reason = "each user of this file has its own part")]

use model::{Program, Refusal};
use std::fs;
use std::path::{Path, PathBuf};

/// One table of the manifest.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Where it is in the manifest.
    pub line: usize,
    /// The C file.
    pub file: String,
    /// Macros for the preprocessor.
    pub defines: Vec<String>,
    /// `safe` or `unsafe`.
    pub expect: String,
    /// Whether the question is for deadlocks too.
    pub deadlocks: bool,
    /// How often loops go round in what has to be seen; nothing is without end.
    pub unwind: Option<u32>,
    /// Whether it takes the portfolio seconds.
    pub slow: bool,
    /// A mutation: what is removed from the text.
    pub remove: Vec<String>,
}

impl Case {
    /// What it is called in messages and tables.
    pub fn name(&self) -> String {
        let mut name = self.file.trim_end_matches(".c").to_owned();
        if !self.defines.is_empty() {
            name += &format!(" {}", self.defines.join(" "));
        }
        if !self.remove.is_empty() {
            name += &format!(" without {:?}", self.remove);
        }
        name
    }

    /// Whether it is a mutation.
    pub fn is_mutation(&self) -> bool {
        !self.remove.is_empty()
    }

    fn set(&mut self, key: &str, value: &str) {
        let text = || value.trim_matches('"').to_owned();
        let list = || -> Vec<String> {
            let inner = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
            let inner = inner.unwrap_or_else(|| panic!("line {}: {key} is a list", self.line));
            inner.split('"').skip(1).step_by(2).map(str::to_owned).collect()
        };
        match key {
            "file" => self.file = text(),
            "defines" => self.defines = list(),
            "remove" => self.remove = list(),
            "expect" => self.expect = text(),
            "deadlocks" => self.deadlocks = value == "true",
            "slow" => self.slow = value == "true",
            "unwind" if value == "\"unbounded\"" => self.unwind = None,
            "unwind" => self.unwind = Some(value.parse().expect("a number")),
            _ => panic!("line {}: the manifest has no key {key}", self.line),
        }
    }

    /// Reads the program.
    pub fn read(&self) -> Result<Program, Refusal> {
        self.read_with(&model::Options::default())
    }

    /// Reads the program under options; its macros come to them.
    pub fn read_with(&self, options: &model::Options) -> Result<Program, Refusal> {
        let mut options = options.clone();
        options.preprocessor.extend(self.defines.iter().map(|d| format!("-D{d}")));
        let path = directory().join(&self.file);
        if self.remove.is_empty() {
            return model::read_file(&path, &options);
        }
        let mut text = fs::read_to_string(&path).unwrap();
        for part in &self.remove {
            assert_eq!(text.matches(part.as_str()).count(), 1, "line {}: {part:?} is there once", self.line);
            text = text.replace(part.as_str(), "");
        }
        let folder =
            std::env::temp_dir().join(format!("raddle-mutation-{}-{}", std::process::id(), self.line));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(&self.file);
        fs::write(&file, text).unwrap();
        let read = model::read_file(&file, &options);
        fs::remove_dir_all(&folder).unwrap();
        read
    }
}

/// Where the programs are.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/verify")
}

/// All tables of the manifest.
pub fn cases() -> Vec<Case> {
    let text = fs::read_to_string(directory().join("expected.toml")).unwrap();
    let mut all: Vec<Case> = vec![];
    for (number, line) in text.lines().enumerate() {
        if line == "[[program]]" || line == "[[mutation]]" {
            let expect = if line == "[[mutation]]" { "unsafe" } else { "" };
            all.push(Case { line: number + 1, expect: expect.to_owned(), ..Case::default() });
        } else if let Some((key, value)) = line.split_once(" = ").filter(|_| !line.starts_with('#')) {
            all.last_mut().expect("a table first").set(key.trim(), value.trim());
        }
    }
    all
}
