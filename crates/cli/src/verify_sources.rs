//! Several C files as one program: what `raddle verify` reads is one text.
//!
//! The files follow each other in one file, each with its own lines. Macros that one of them defines end with it, so that none changes
//! another. Names that two files keep to themselves clash there; the compiler says so, and the program is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The file to read, and a folder that is removed in the end.
pub(crate) struct Sources {
    pub(crate) file: PathBuf,
    /// More words for the preprocessor.
    pub(crate) words: Vec<String>,
    folder: Option<PathBuf>,
}

impl Drop for Sources {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            // A folder that stays behind in the place for temporary files harms nobody.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

impl Sources {
    /// The file to read for some files; `words` are for the preprocessor.
    pub(crate) fn of(files: &[PathBuf], words: &[String]) -> Result<Sources, String> {
        let [file] = files else { return together(files, words) };
        Ok(Sources { file: file.clone(), words: Vec::new(), folder: None })
    }
}

fn together(files: &[PathBuf], words: &[String]) -> Result<Sources, String> {
    let (mut text, mut own) = (String::new(), Vec::new());
    for file in files {
        let name = file.display().to_string();
        if file.extension().is_some_and(|e| e == "i") {
            return Err(format!("{name}: a preprocessed file is read alone; pass the sources"));
        }
        let source = std::fs::read_to_string(file).map_err(|e| format!("{name}: cannot be read: {e}"))?;
        text += &format!("#line 1 \"{}\"\n{source}\n", name.replace('\\', "\\\\").replace('"', "\\\""));
        for macro_name in defined(&source) {
            text += &format!("#undef {macro_name}\n");
        }
        let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let word = ["-iquote".to_owned(), folder.display().to_string()];
        if !own.ends_with(&word) {
            own.extend(word);
        }
    }
    let folder = std::env::temp_dir().join(format!("raddle-sources-{}", std::process::id()));
    let wrong = |e: std::io::Error| format!("{}: cannot be written: {e}", folder.display());
    std::fs::create_dir_all(&folder).map_err(wrong)?;
    let all = Sources { file: folder.join("all.c"), words: own, folder: Some(folder.clone()) };
    std::fs::write(&all.file, text).map_err(wrong)?;
    compiles(&all, words)?;
    Ok(all)
}

/// The macros that a source defines itself.
fn defined(source: &str) -> Vec<&str> {
    let name = |line: &'_ str| -> Option<usize> {
        let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("define")?;
        rest.starts_with([' ', '\t']).then(|| line.len() - rest.trim_start().len())
    };
    let end = |rest: &str| rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let one = |line| name(line).map(|at| &line[at..at + end(&line[at..])]);
    let mut all: Vec<&str> = source.lines().filter_map(one).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether the compiler takes the files together: names that two of them keep to themselves clash.
fn compiles(sources: &Sources, words: &[String]) -> Result<(), String> {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "gcc".to_owned());
    let mut command = compiler.split_whitespace();
    let done = Command::new(command.next().unwrap_or("gcc"))
        .args(command)
        .args(["-fsyntax-only", "-std=gnu11", "-w"])
        .args(words)
        .args(&sources.words)
        .arg(&sources.file)
        .output()
        .map_err(|e| format!("the compiler `{compiler}` does not start: {e}"))?;
    if done.status.success() {
        return Ok(());
    }
    let says = String::from_utf8_lossy(&done.stderr);
    let error = says.lines().find(|l| l.contains("error")).unwrap_or("it does not say why");
    Err(format!("several files are read as one text, and the compiler refuses that: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_of_a_source_are_found() {
        assert_eq!(
            defined("#define N 3\n # define MAX(a, b) a\n#ifdef X\n#defined\nint define;\n#define N 4"),
            ["MAX", "N"]
        );
    }
}
