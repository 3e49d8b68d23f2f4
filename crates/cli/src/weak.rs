//! Weak compare-exchanges of clang: its instrumentation calls the function of strong ones for both.
//!
//! The function returns the old value, and the code behind the call compares that with the expected one. So the function cannot say that
//! the exchange failed although the two are equal. A pass over the assembly finds calls that come from a weak compare-exchange of the
//! source, by the name of the function or by the token at the line and column of the call. It replaces the call, and adds what the
//! new function says to the result of the comparison. Where the code behind the call has another form, or a macro hides which
//! of the two it is, the call is replaced by one that notes a caveat when it is executed.
//!
//! Calls and comparisons are found before `touches` adds calls to the assembly ([`mark`]), and are changed behind it ([`rewrite`]): what this
//! pass adds is not the program's. Other threads may run between the two, so the result is kept for each thread.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How a compare-exchange is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Strong,
    Weak,
    /// A macro hides it.
    Unknown,
}

/// The call that the instrumentation makes, before and behind the number of bits.
const CALL: (&str, &str) = ("__tsan_atomic", "_compare_exchange_val");
/// A thread-local byte of the program: whether the last weak exchange did not fail spuriously.
const FLAG: &str = "__raddle_exchanged";
/// Marks a call that is to be replaced, with the name of the other function.
const CALLS: &str = "# raddle calls ";
/// Marks the line that puts the result of the comparison into a register.
const RESULT: &str = "# raddle result";
const MARK: &str = "compare_exchange_weak";
/// This many lines behind a call the comparison is looked for.
const WINDOW: usize = 32;

/// Marks weak compare-exchanges in the assembly of one source file. `read` gives the text of a source file.
pub(crate) fn mark(text: String, read: &dyn Fn(&Path) -> Option<String>) -> String {
    if !text.contains(CALL.1) {
        return text;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut sources = Sources::new(read, &text);
    let (mut place, mut function) = (None, "");
    let mut marks: HashMap<usize, String> = HashMap::new();
    for (i, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix(".loc") {
            place = self::place(rest).or(place);
        } else if !line.starts_with([' ', '\t', '.', '#'])
            && let Some((name, _)) = line.split_once(':')
        {
            (function, place) = (name, None);
        } else if trimmed.starts_with("call")
            && let Some(bits) = bits(trimmed)
        {
            let written = if function.contains(MARK) {
                Written::Weak
            } else {
                place.map_or(Written::Unknown, |p| sources.written(p))
            };
            // An exchange of 16 bytes returns its value in both registers.
            let result = compared(&lines[i + 1..]).filter(|_| written == Written::Weak && bits != "128");
            let name = match (written, result) {
                (Written::Strong, _) => continue,
                (Written::Weak, Some(_)) => "weak",
                _ => "perhaps_weak",
            };
            marks.insert(i, format!("{CALLS}__raddle_{name}{bits}"));
            if let Some(at) = result {
                marks.insert(i + 1 + at, RESULT.to_owned());
            }
        }
    }
    if marks.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 4096);
    for (i, line) in lines.iter().enumerate() {
        out += line;
        if let Some(mark) = marks.get(&i) {
            out.push('\t');
            out += mark;
        }
        out.push('\n');
    }
    out
}

/// Replaces the calls that are marked, and adds the results to the comparisons.
pub(crate) fn rewrite(text: String) -> String {
    if !text.contains(CALLS) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 4096);
    for line in text.lines() {
        if let Some((call, name)) = line.split_once(CALLS)
            && let Some(bits) = bits(call)
        {
            let old = format!("{}{bits}{}", CALL.0, CALL.1);
            let _ = writeln!(out, "{}", call.replace(&old, name.trim()).trim_end());
            if !name.contains("perhaps") {
                let _ = writeln!(out, "\tmovq\t{FLAG}@gottpoff(%rip), %r11\n\tmovb\t%dl, %fs:(%r11)");
            }
        } else if let Some((code, _)) = line.split_once(RESULT)
            && let Some(register) = code.split_whitespace().nth(1)
        {
            // The function makes a call, so it does not use the memory below the stack pointer.
            let other = if register.starts_with("%r11") { "%r10" } else { "%r11" };
            let _ = writeln!(
                out,
                "{code}\n\tpushfq\n\tpushq\t{other}\n\tmovq\t{FLAG}@gottpoff(%rip), {other}\n\
                 \tandb\t%fs:({other}), {register}\n\tpopq\t{other}\n\tpopfq"
            );
        } else {
            let _ = writeln!(out, "{line}");
        }
    }
    let _ = writeln!(
        out,
        "\t.section\t.tbss,\"awT\",@nobits\n\t.type\t{FLAG}, @object\n\t.size\t{FLAG}, 1\n{FLAG}:\n\t.zero\t1\n\t.text"
    );
    out
}

/// The file, the line and the column of a `.loc`. Line 0 is code that belongs to no line.
pub(crate) fn place(rest: &str) -> Option<(usize, usize, usize)> {
    let mut numbers = rest.split_whitespace().map_while(|n| n.parse::<usize>().ok());
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(file), Some(line), Some(column)) if line > 0 => Some((file, line, column)),
        _ => None,
    }
}

/// The number of bits, if a line calls the function of strong compare-exchanges.
fn bits(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(CALL.0)?;
    let (bits, _) = rest.split_once(CALL.1)?;
    bits.bytes().all(|b| b.is_ascii_digit()).then_some(bits)
}

/// The line that puts the result of the comparison into a register. Behind the call there is nothing but that.
fn compared(lines: &[&str]) -> Option<usize> {
    let mut compares = false;
    for (i, line) in lines.iter().enumerate().take(WINDOW) {
        let code = line.split('#').next().unwrap_or_default().trim();
        let mut words = code.split_whitespace();
        let Some(mnemonic) = words.next() else { continue };
        if mnemonic.starts_with('.') && !mnemonic.ends_with(':') {
            continue;
        }
        match mnemonic {
            "sete" if compares => return words.next().filter(|r| r.starts_with('%')).map(|_| i),
            m if m.starts_with("cmp") || m.starts_with("sub") => compares = true,
            m if m.starts_with("mov") => {}
            _ => return None,
        }
    }
    None
}

/// The sources that the assembly names.
pub(crate) struct Sources<'a> {
    read: &'a dyn Fn(&Path) -> Option<String>,
    files: HashMap<usize, PathBuf>,
    texts: HashMap<usize, Option<String>>,
}

impl<'a> Sources<'a> {
    pub(crate) fn new(read: &'a dyn Fn(&Path) -> Option<String>, assembly: &str) -> Sources<'a> {
        let mut sources = Sources { read, files: HashMap::new(), texts: HashMap::new() };
        let files = assembly.lines().filter_map(|l| l.trim_start().strip_prefix(".file"));
        files.for_each(|rest| sources.see(rest));
        sources
    }

    /// Whether a source that is not one of the system has a word.
    pub(crate) fn mention(&mut self, word: &str) -> bool {
        let of_user = |p: &PathBuf| !p.starts_with("/usr/include") && !p.starts_with("/usr/lib");
        let files: Vec<usize> = self.files.iter().filter(|(_, p)| of_user(p)).map(|(n, _)| *n).collect();
        files.into_iter().any(|file| self.text(file).is_some_and(|t| t.contains(word)))
    }

    /// The source from a place on.
    pub(crate) fn at(&mut self, (file, line, column): (usize, usize, usize)) -> Option<&str> {
        let text = self.text(file)?;
        let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        text.get(start + column.saturating_sub(1)..)
    }

    /// The definitions of a macro.
    pub(crate) fn macros(&mut self, name: &str) -> Vec<String> {
        let mut found = Vec::new();
        for file in self.files.keys().copied().collect::<Vec<_>>() {
            let Some(text) = self.text(file) else { continue };
            let definitions =
                text.match_indices("define").filter_map(|(at, _)| definition(&text[at..], name));
            found.extend(definitions.map(str::to_owned));
        }
        found
    }

    /// `0 "directory" "name" md5 ...`, or without a directory.
    fn see(&mut self, rest: &str) {
        let mut parts = rest.split('"');
        let number = parts.next().and_then(|n| n.trim().parse().ok());
        let names: Vec<&str> = parts.step_by(2).collect();
        let Some(number) = number else { return };
        // The last part is behind the last quote.
        let path = match rest.matches('"').count() {
            2 => PathBuf::from(names[0]),
            4 => Path::new(names[0]).join(names[1]),
            _ => return,
        };
        self.files.insert(number, path);
    }

    fn text(&mut self, file: usize) -> Option<&str> {
        let (files, read) = (&self.files, self.read);
        self.texts.entry(file).or_insert_with(|| files.get(&file).and_then(|p| read(p))).as_deref()
    }

    /// How the compare-exchange at a place is written. A macro of the sources is looked into.
    fn written(&mut self, (file, line, column): (usize, usize, usize)) -> Written {
        let Some(here) = self.at((file, line, column)) else { return Written::Unknown };
        let (token, known) = (token(here).to_owned(), at_token(here));
        if known != Written::Unknown || token.is_empty() {
            return known;
        }
        let found: Vec<Written> = self.macros(&token).iter().map(|body| defined(body)).collect();
        match found.first() {
            Some(first) if found.iter().all(|f| f == first) => *first,
            _ => Written::Unknown,
        }
    }
}

/// The definition of a macro of this name, from behind the name on, if the source starts with it.
fn definition<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let rest = text.strip_prefix("define")?.trim_start_matches([' ', '\t']).strip_prefix(name)?;
    if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        end += line.len();
        if !line.trim_end().ends_with('\\') {
            break;
        }
    }
    Some(&rest[..end])
}

/// How the compare-exchange in a macro is written.
fn defined(rest: &str) -> Written {
    let end = rest.len();
    let calls: Vec<Written> = rest
        .match_indices("compare_exchange")
        .map(|(at, _)| {
            let before =
                rest[..at].rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |i| i + 1);
            at_token(&rest[before..end])
        })
        .collect();
    match calls[..] {
        [one] => one,
        _ => Written::Unknown,
    }
}

/// The name that a text begins with.
pub(crate) fn token(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Tells a weak exchange from a strong one in source that starts at the call.
fn at_token(text: &str) -> Written {
    let (token, rest) = text.split_at(token(text).len());
    match token {
        "__atomic_compare_exchange" | "__atomic_compare_exchange_n" => match argument(rest, 3) {
            Some("0" | "false") => Written::Strong,
            Some("1" | "true") => Written::Weak,
            _ => Written::Unknown,
        },
        t if t.contains(MARK) => Written::Weak,
        t if t.contains("compare_exchange_strong") || t.starts_with("__sync_") => Written::Strong,
        _ => Written::Unknown,
    }
}

/// An argument of a call, without the spaces around it. The text begins with the parenthesis.
fn argument(text: &str, n: usize) -> Option<&str> {
    let text = text.trim_start().strip_prefix('(')?;
    let (mut depth, mut count, mut start) = (0, 0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth > 0 => depth -= 1,
            ',' | ')' if depth == 0 => {
                if count == n {
                    return Some(text[start..i].trim());
                }
                if c == ')' {
                    return None;
                }
                (count, start) = (count + 1, i + 1);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_at_the_place_says_what_it_is() {
        for (text, right) in [
            ("atomic_compare_exchange_weak(&x, &e, 1);", Written::Weak),
            ("atomic_compare_exchange_weak_explicit(&x, &e, 1, a, b);", Written::Weak),
            ("atomic_compare_exchange_strong(&x, &e, 1);", Written::Strong),
            ("__atomic_compare_exchange_n(&x, &e, f(1, 2), 1,\n  a, b)", Written::Weak),
            ("__atomic_compare_exchange_n(&x, &e, f(1, 2), 0, a, b)", Written::Strong),
            ("__atomic_compare_exchange(&x, &e, &n, weak, a, b)", Written::Unknown),
            ("CAS(&x)", Written::Unknown),
            ("__sync_bool_compare_and_swap(&x, 0, 1)", Written::Strong),
        ] {
            assert_eq!(at_token(text), right, "{text}");
        }
    }

    #[test]
    fn a_weak_exchange_of_clang_says_whether_it_succeeded() {
        let source = "int f(void) {\n  return atomic_compare_exchange_weak(&x, &e, 5);\n}\n";
        let assembly = "f:\n\t.file\t0 \"/d\" \"a.c\" md5 0x1\n\t.loc\t0 2 10\n\tcallq\t__tsan_atomic32_compare_exchange_val@PLT\n\
                        \tmovl\t-24(%rbp), %edx # Reload\n\tsubl\t%edx, %eax\n\tsete\t%al\n";
        let both = |text: &str, read: &dyn Fn(&Path) -> Option<String>| rewrite(mark(text.to_owned(), read));
        let out = both(assembly, &|p| (p == Path::new("/d/a.c")).then(|| source.to_owned()));
        assert!(out.contains("\tcallq\t__raddle_weak32@PLT\n\tmovq\t__raddle_exchanged@gottpoff"), "{out}");
        assert!(
            out.contains("\tsete\t%al\t\n\tpushfq\n") && out.contains("\tandb\t%fs:(%r11), %al\n"),
            "{out}"
        );
        // Another form of the comparison, and a source that is not there.
        let jumps = assembly.replace("\tsete\t%al\n", "\tjne\t.L1\n");
        let out = both(&jumps, &|_| Some(source.to_owned()));
        assert!(out.contains("__raddle_perhaps_weak32") && !out.contains("pushfq"), "{out}");
        assert!(both(assembly, &|_| None).contains("__raddle_perhaps_weak32"));
        let strong = source.replace("weak", "strong");
        assert_eq!(both(assembly, &|_| Some(strong.clone())), assembly);
        // A macro.
        for (body, right) in [("weak(p, e, n)", "__raddle_weak32"), ("strong(p, e, n)", "__tsan_atomic32")] {
            let source =
                format!("#define CAS(p, e, n) atomic_compare_exchange_{body}\n  return CAS(&x, &e, 5);\n");
            assert!(both(assembly, &|_| Some(source.clone())).contains(right), "{source}");
        }
    }
}
