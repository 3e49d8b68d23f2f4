//! The C compiler: which one, what it is, and which flags make it instrument.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The language, which decides about the compiler and the libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cpp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Gcc,
    Clang,
}

/// Functions whose calls stay calls, so that reports name them: comparisons and printing to memory, which compilers expand.
///
/// All of them return `int`. Other built-in functions stay built in: without that, a function that a program uses without a
/// declaration would return `int` as well (`malloc`, `strcpy`). Accesses of functions that are expanded inline are added by
/// [`crate::touches`].
const CALLED: [&str; 8] = [
    "-fno-builtin-memcmp",
    "-fno-builtin-bcmp",
    "-fno-builtin-strcmp",
    "-fno-builtin-strncmp",
    "-fno-builtin-strcasecmp",
    "-fno-builtin-strncasecmp",
    "-fno-builtin-sprintf",
    "-fno-builtin-snprintf",
];

/// A compiler that was asked what it is.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    /// The program and arguments that always come first: `CC="ccache gcc"` is two words.
    words: Vec<String>,
    family: Family,
    /// The first number of its version.
    version: u32,
    /// Where it runs, if not here.
    directory: Option<PathBuf>,
}

impl Compiler {
    pub(crate) fn is_clang(&self) -> bool {
        self.family == Family::Clang
    }

    /// The first number of its version.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// The compiler for a language: what the variable `CC` or `CXX` names, or what is there.
    pub(crate) fn find(language: Language) -> Result<Compiler, String> {
        // `CC="raddle cc" make` sets the variable that would name the compiler behind it.
        let (own, usual, names): (_, _, &[&str]) = match language {
            Language::C => ("RADDLE_CC", "CC", &["gcc", "clang", "cc"]),
            Language::Cpp => ("RADDLE_CXX", "CXX", &["g++", "clang++", "c++"]),
        };
        for variable in [own, usual] {
            let Some(named) = std::env::var(variable).ok().filter(|v| !v.trim().is_empty()) else { continue };
            let words = words(&named).map_err(|e| format!("{variable} is set to {named:?}: {e}"))?;
            if !is_ours(&words) {
                return Compiler::ask(words).map_err(|e| match e {
                    Asked::Missing => format!("{variable} is set to {named:?}, and there is no such program"),
                    Asked::Wrong(why) => format!("{variable} is set to {named:?}: {why}"),
                });
            }
        }
        for name in names {
            match Compiler::ask(vec![(*name).to_owned()]) {
                Err(Asked::Missing) => continue,
                Err(Asked::Wrong(why)) => return Err(why),
                Ok(found) => return Ok(found),
            }
        }
        let (what, package) = match language {
            Language::C => ("C", "gcc"),
            Language::Cpp => ("C++", "g++"),
        };
        Err(format!(
            "there is no {what} compiler: install gcc or clang (Debian, Ubuntu: `apt install {package}`; Fedora: `dnf install \
             {}`), or set {usual}",
            if language == Language::C { "gcc" } else { "gcc-c++" }
        ))
    }

    /// A compiler that something else names, such as a compilation database.
    pub(crate) fn named(words: Vec<String>) -> Result<Compiler, String> {
        let name = words.join(" ");
        Compiler::ask(words).map_err(|e| match e {
            Asked::Missing => format!("there is no compiler `{name}`"),
            Asked::Wrong(why) => why,
        })
    }

    fn ask(words: Vec<String>) -> Result<Compiler, Asked> {
        let answer = Command::new(&words[0])
            .args(&words[1..])
            .arg("-v")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output();
        let answer = match answer {
            Ok(answer) => answer,
            Err(e) if e.kind() == ErrorKind::NotFound => return Err(Asked::Missing),
            Err(e) => return Err(Asked::Wrong(format!("cannot run `{}`: {e}", words.join(" ")))),
        };
        let text = String::from_utf8_lossy(&answer.stderr);
        let name = words.join(" ");
        let family = match () {
            () if text.contains("clang version") => Family::Clang,
            () if text.contains("gcc version") => Family::Gcc,
            () => return Err(Asked::Wrong(format!("`{name}` is neither gcc nor clang"))),
        };
        let target = text.lines().find_map(|l| l.strip_prefix("Target: ")).unwrap_or("unknown").trim();
        if !(target.starts_with("x86_64-") && target.contains("linux")) {
            return Err(Asked::Wrong(format!(
                "`{name}` compiles for {target}: C programs can be checked on 64-bit x86 Linux only"
            )));
        }
        let marker = if family == Family::Gcc { "gcc version " } else { "clang version " };
        let version = text.split_once(marker).map_or("", |(_, rest)| rest);
        let major: u32 =
            version.split(|c: char| !c.is_ascii_digit()).next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let least = if family == Family::Gcc { 11 } else { 14 };
        if major < least {
            return Err(Asked::Wrong(format!(
                "`{name}` is version {major}, and its instrumentation is too old: gcc 11 or clang 14 is needed"
            )));
        }
        Ok(Compiler { words, family, version: major, directory: None })
    }

    /// The same, run in another directory.
    pub(crate) fn within(&self, directory: &Path) -> Compiler {
        Compiler { directory: Some(directory.to_owned()), ..self.clone() }
    }

    /// A path as the compiler reads it.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.directory.as_deref().unwrap_or(Path::new("")).join(name)
    }

    /// The compiler with nothing but what its name says.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    /// Flags of every compilation, which go after those of the user.
    ///
    /// Optimization is off, because it turns loops that wait for another thread into loops that look once. `keep_o` keeps the
    /// user's level. With `checks` the program reports indices past the end of an array, shifts by the width, and divisions by zero.
    pub(crate) fn compile_flags(&self, keep_o: bool, checks: bool) -> Vec<&'static str> {
        let mut flags = vec!["-g", "-fno-omit-frame-pointer", "-fno-lto", "-U_FORTIFY_SOURCE"];
        flags.extend(CALLED);
        // `std::string` is compiled with the program, where its accesses are seen, not taken from the library.
        flags.extend(["-U_GLIBCXX_ASSERTIONS", "-D_GLIBCXX_ASSERTIONS"]);
        if !keep_o {
            flags.push("-O0");
        }
        flags.push("-fsanitize=thread");
        match self.family {
            Family::Gcc => {
                flags.extend(["-Wno-tsan", "--param=tsan-distinguish-volatile=1"]);
                if checks {
                    // `undefined.rs` of the runtime library has the handlers.
                    flags.push("-fsanitize=bounds,shift-exponent,integer-divide-by-zero");
                }
            }
            // Without the first it leaves out the read of `x++`.
            Family::Clang => flags.extend([
                "-mllvm",
                "-tsan-instrument-read-before-write=1",
                "-mllvm",
                "-tsan-distinguish-volatile=1",
            ]),
        }
        flags
    }
}

enum Asked {
    Missing,
    Wrong(String),
}

/// Whether a compiler is this very program.
pub(crate) fn is_ours(words: &[String]) -> bool {
    let name = words.first().and_then(|w| w.rsplit('/').next()).unwrap_or("");
    name == "raddle" || name.starts_with("raddle-c")
}

/// Splits text into words as a shell does: blanks, quotes and backslashes, and nothing else.
pub(crate) fn words(text: &str) -> Result<Vec<String>, String> {
    let (mut out, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                let next = chars.next().ok_or("it ends with a backslash")?;
                let word = word.get_or_insert_default();
                if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            (q @ ('"' | '\''), None) => {
                quote = Some(q);
                word.get_or_insert_default();
            }
            (c, Some(q)) if c == q => quote = None,
            (c, None) if c.is_whitespace() => out.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(q) => Err(format!("a {q} is never closed")),
        None => {
            out.extend(word);
            Ok(out)
        }
    }
}

/// A word that a shell reads as one word.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-:./=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does() {
        assert_eq!(words(r#"-DX="a b" -I'c d' e\ f """#).unwrap(), ["-DX=a b", "-Ic d", "e f", ""]);
        assert_eq!(words(r#"-DS=\"x\""#).unwrap(), ["-DS=\"x\""]);
        assert_eq!(words("  ").unwrap(), [""; 0]);
        assert!(words("'x").is_err() && words("x\\").is_err());
    }

    #[test]
    fn what_is_quoted_is_one_word_again() {
        for word in ["", "plain", "a b", "it's", "$HOME", "-DX=\"1 2\"", "*"] {
            assert_eq!(words(&quoted(word)).unwrap(), [word]);
        }
    }
}
