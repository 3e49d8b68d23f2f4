//! From a file to a syntax tree: the preprocessor, and which line of which file an offset is.

use super::{Options, Refusal};
use crate::notes::{self, Annotation};
use lang_c::ast::TranslationUnit;
use lang_c::driver::{Config, Flavor, parse_preprocessed};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Headers that the compiler expands into things that are no C: ours declare the same names and leave the calls as they are.
const HEADERS: &[(&str, &str)] = &[
    (
        "assert.h",
        "#undef assert\n#ifdef NDEBUG\n#define assert(e) ((void)0)\n#else\n\
         #define assert(e) ((e) ? (void)0 : __raddle_assert_fail(#e))\n#endif\n\
         #ifndef __cplusplus\n#define static_assert _Static_assert\n#endif\n",
    ),
    (
        "stdatomic.h",
        "#ifndef RADDLE_STDATOMIC_H\n#define RADDLE_STDATOMIC_H\n\
         typedef enum memory_order { memory_order_relaxed, memory_order_consume, memory_order_acquire,\n\
         memory_order_release, memory_order_acq_rel, memory_order_seq_cst } memory_order;\n\
         typedef _Atomic _Bool atomic_bool; typedef _Atomic char atomic_char; typedef _Atomic signed char atomic_schar;\n\
         typedef _Atomic unsigned char atomic_uchar; typedef _Atomic short atomic_short;\n\
         typedef _Atomic unsigned short atomic_ushort; typedef _Atomic int atomic_int;\n\
         typedef _Atomic unsigned int atomic_uint; typedef _Atomic long atomic_long;\n\
         typedef _Atomic unsigned long atomic_ulong; typedef _Atomic long long atomic_llong;\n\
         typedef _Atomic unsigned long long atomic_ullong; typedef _Atomic unsigned long atomic_size_t;\n\
         typedef _Atomic long atomic_intptr_t; typedef _Atomic unsigned long atomic_uintptr_t;\n\
         typedef _Atomic _Bool atomic_flag;\n\
         #define ATOMIC_VAR_INIT(v) (v)\n#define ATOMIC_FLAG_INIT 0\n#endif\n",
    ),
];

/// A parsed file.
pub(crate) struct Source {
    pub(crate) unit: TranslationUnit,
    pub(crate) lines: Lines,
}

impl Source {
    /// The same with the lines that the text itself has, whatever its markers say.
    fn unmarked(mut self, name: &str) -> Source {
        self.lines = self.lines.unmarked(name);
        self
    }
}

/// A folder with our headers, removed in the end.
struct Headers(PathBuf);

impl Headers {
    fn write() -> std::io::Result<Headers> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("raddle-model-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)?;
        for (name, text) in HEADERS {
            std::fs::write(folder.join(name), text)?;
        }
        Ok(Headers(folder))
    }
}

impl Drop for Headers {
    fn drop(&mut self) {
        // A folder that stays behind in the place for temporary files harms nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Reads a file, with the preprocessor unless its name ends in `.i`.
pub(crate) fn read(path: &Path, options: &Options) -> Result<Source, Refusal> {
    let whole = |reason: String| Refusal { file: path.display().to_string(), line: 0, reason };
    if path.is_dir() {
        return Err(whole("the file cannot be read: it is a folder".to_owned()));
    }
    if path.extension().is_some_and(|e| e == "i") {
        let text = std::fs::read_to_string(path).map_err(|e| whole(format!("cannot be read: {e}")))?;
        let name = path.display().to_string();
        let source = parse(&name, text)?;
        return Ok(if options.line_markers { source } else { source.unmarked(&name) });
    }
    let headers = Headers::write().map_err(|e| whole(format!("cannot write headers: {e}")))?;
    let text = preprocess(&headers, path, path, &options.preprocessor)?;
    parse(&path.display().to_string(), text)
}

/// Reads a file with its annotations: those at statements are calls in what comes back.
pub(crate) fn read_annotated(
    path: &Path,
    arguments: &[String],
) -> Result<(Source, Vec<Annotation>), Refusal> {
    let name = path.display().to_string();
    let whole = |reason: String| Refusal { file: name.clone(), line: 0, reason };
    let text = std::fs::read_to_string(path).map_err(|e| whole(format!("cannot be read: {e}")))?;
    let (annotations, text) = notes::scan(&name, &text)?;
    if path.extension().is_some_and(|e| e == "i") {
        return Ok((parse(&name, text)?, annotations));
    }
    let headers = Headers::write().map_err(|e| whole(format!("cannot write headers: {e}")))?;
    let copy = headers.0.join("annotated.c");
    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
    std::fs::write(&copy, format!("#line 1 \"{escaped}\"\n{text}"))
        .map_err(|e| whole(format!("cannot write a copy: {e}")))?;
    // What it includes by a name in quotes is next to the file itself.
    let mut words = arguments.to_vec();
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    words.extend(["-iquote".to_owned(), folder.display().to_string()]);
    let text = preprocess(&headers, path, &copy, &words)?;
    Ok((parse(&name, text)?, annotations))
}

/// What the preprocessor makes of a file; messages call it `path`.
fn preprocess(headers: &Headers, path: &Path, file: &Path, arguments: &[String]) -> Result<String, Refusal> {
    let whole = |reason: String| Refusal { file: path.display().to_string(), line: 0, reason };
    std::fs::File::open(file).map_err(|e| whole(format!("the file cannot be read: {e}")))?;
    let compiler = std::env::var("CC").unwrap_or_else(|_| "gcc".to_owned());
    let mut words = compiler.split_whitespace();
    let output = Command::new(words.next().unwrap_or("gcc"))
        .args(words)
        .args(["-E", "-std=gnu11", "-D__thread=_Thread_local", "-I"])
        .arg(&headers.0)
        .args(arguments)
        .arg(file)
        .output()
        .map_err(|e| whole(format!("the preprocessor `{compiler}` does not start: {e}")))?;
    if !output.status.success() {
        let says = String::from_utf8_lossy(&output.stderr);
        return Err(whole(format!("the preprocessor refuses it: {}", says.trim())));
    }
    String::from_utf8(output.stdout).map_err(|_| whole("the file is not UTF-8 text".to_owned()))
}

/// Parses text that has gone through the preprocessor.
pub(crate) fn parse(name: &str, text: String) -> Result<Source, Refusal> {
    // Editors mark UTF-8 so, and the preprocessor takes it away.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    let text = without_dollars(with_types(thread_local(without_comments(text))));
    // Structures lie otherwise from there on.
    if let Some(at) = line_of(&text, "#pragma pack") {
        let lines = Lines::of(name, &text);
        let (file, line) = lines.at(at);
        let reason = "structures that lie otherwise in memory (`#pragma pack`)".to_owned();
        return Err(Refusal { file: file.to_owned(), line, reason });
    }
    if let Some(at) = too_deep(&text) {
        let lines = Lines::of(name, &text);
        let (file, line) = lines.at(at);
        let reason = format!("what is nested more than {DEEPEST} deep, or as long without a comma");
        return Err(Refusal { file: file.to_owned(), line, reason });
    }
    let config = Config { cpp_command: String::new(), cpp_options: Vec::new(), flavor: Flavor::GnuC11 };
    match parse_preprocessed(&config, text) {
        Ok(parsed) => Ok(Source { unit: parsed.unit, lines: Lines::of(name, &parsed.source) }),
        Err(e) => {
            let lines = Lines::of(name, &e.source);
            let (file, line) = lines.at(e.offset);
            let rest: String = e.source[e.offset..].chars().take_while(|c| *c != '\n').take(40).collect();
            let reason = match rest.trim() {
                "" => "syntax error at the end of the line".to_owned(),
                rest => format!("syntax error before `{rest}`"),
            };
            Err(Refusal { file: file.to_owned(), line, reason })
        }
    }
}

/// How deep a text may be nested, in words. The parser and all that work on its tree call themselves for each.
const DEEPEST: usize = 20_000;

/// Where a text is nested too deep, if it is: an upper bound. A word is inside the brackets around it, and all words since the last
/// comma, semicolon or brace may be around it as well, as in `- - x` or `if (a) if (b) x`; each `else` may be in the one before.
fn too_deep(text: &str) -> Option<usize> {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // Of each bracket that is open: how deep it is, and how many `else` follow each other in it.
    let mut open: Vec<(usize, usize)> = vec![(0, 0)];
    let (mut deep, mut ended) = (0, false);
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let (start, mut rest) = (offset, line);
        offset += line.len();
        // What the preprocessor says of lines.
        if line.starts_with('#') {
            continue;
        }
        while let Some(c) = rest.chars().next() {
            let at = start + line.len() - rest.len();
            let word = match c {
                '"' | '\'' => quoted(rest, c),
                c if part(c) => rest.find(|c| !part(c)).unwrap_or(rest.len()),
                c => c.len_utf8(),
            };
            let (now, after) = rest.split_at(word);
            rest = after;
            if now.trim().is_empty() {
                continue;
            }
            let (outer, chain) = open.last_mut().expect("the text itself is never closed");
            if std::mem::take(&mut ended) {
                *chain = if now == "else" { *chain + 1 } else { 0 };
                deep = *outer + *chain;
            }
            match c {
                ',' => deep = *outer + *chain,
                ';' => ended = true,
                '(' | '[' | '{' => {
                    deep += 1;
                    open.push((deep, 0));
                }
                ')' | ']' | '}' if open.len() > 1 => {
                    deep = open.pop().map_or(0, |o| o.0);
                    ended = c == '}';
                }
                _ => deep += 1,
            }
            if deep > DEEPEST {
                return Some(at);
            }
        }
    }
    None
}

/// How long a text in quotes is, in bytes; it ends with its line at the latest.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

/// What stands for a dollar in a name while it is read: gcc takes them, and so do programs that tools have written; the parser does not.
const DOLLAR: &str = "_S36_";

/// A text without dollars in names.
fn without_dollars(text: String) -> String {
    if !text.contains('$') {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut chars = text.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('$', None) => out.push_str(DOLLAR),
            ('\\', Some(_)) => {
                out.push(c);
                out.extend(chars.next());
            }
            (c, _) => {
                match quote {
                    Some(q) if c == q || c == '\n' => quote = None,
                    None if c == '"' || c == '\'' => quote = Some(c),
                    _ => {}
                }
                out.push(c);
            }
        }
    }
    out
}

/// A name, or a message that has some, as the source has it.
pub(crate) fn with_dollars(text: &mut String) {
    if text.contains(DOLLAR) {
        *text = text.replace(DOLLAR, "$");
    }
}

/// Where a line begins with some text.
fn line_of(text: &str, start: &str) -> Option<usize> {
    let mut offset = 0;
    text.split_inclusive('\n').find_map(|l| {
        let at = offset;
        offset += l.len();
        l.starts_with(start).then_some(at)
    })
}

/// A text with spaces in place of its comments: gcc takes them in what is preprocessed, too, and the parser does not.
fn without_comments(text: String) -> String {
    if !text.contains("//") && !text.contains("/*") {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' => {
                out.push(c);
                while let Some(d) = chars.next() {
                    out.push(d);
                    match d {
                        '\\' => out.extend(chars.next()),
                        d if d == c || d == '\n' => break,
                        _ => {}
                    }
                }
            }
            '/' if chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|d| *d != '\n') {
                    chars.next();
                }
            }
            '/' if chars.peek() == Some(&'*') => {
                chars.next();
                let mut before = ' ';
                for d in chars.by_ref() {
                    // Lines stay where they are.
                    out.extend((d == '\n').then_some('\n'));
                    if before == '*' && d == '/' {
                        break;
                    }
                    before = d;
                }
                out.push(' ');
            }
            c => out.push(c),
        }
    }
    out
}

/// The word of gcc for what C11 calls `_Thread_local`, which the parser knows.
fn thread_local(text: String) -> String {
    const WORD: &str = "__thread";
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(WORD) {
        let (before, after) = (&rest[..at], &rest[at + WORD.len()..]);
        out.push_str(before);
        let alone = !out.ends_with(part) && !after.starts_with(part);
        out.push_str(if alone { "_Thread_local" } else { WORD });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Declarations of gcc's headers that leave the type to their initialiser, `__auto_type x = e`, with the type of that: the parser does
/// not know the word. Lines stay where they are.
fn with_types(text: String) -> String {
    const WORD: &str = "__auto_type";
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(WORD) {
        let after = &rest[at + WORD.len()..];
        let value = after.find('=').map(|e| &after[e + 1..]);
        let end = value.and_then(|v| {
            let mut deep = 0i32;
            v.find(|c| {
                deep += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
                c == ';' && deep == 0
            })
        });
        let (Some(value), Some(end)) = (value, end) else { break };
        let lines = value[..end].lines().filter(|l| !l.starts_with('#'));
        let value: Vec<&str> = lines.collect();
        out.push_str(&rest[..at]);
        out.push_str(&format!("__typeof__({})", value.join(" ")));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where the lines of a text come from.
pub(crate) struct Lines {
    /// The offset of each line, its file and its number there.
    starts: Vec<(usize, u16, u32)>,
    /// The number of each in the text itself.
    own: Vec<u32>,
    files: Vec<String>,
}

impl Lines {
    fn of(name: &str, text: &str) -> Lines {
        let mut lines = Lines { starts: Vec::new(), own: Vec::new(), files: vec![name.to_owned()] };
        let (mut file, mut line, mut offset) = (0, 1, 0);
        for (n, l) in (1..).zip(text.split_inclusive('\n')) {
            match directive(l) {
                Some((number, named)) => {
                    let known = lines.files.iter().position(|f| f == named);
                    file = known.unwrap_or_else(|| {
                        lines.files.push(named.to_owned());
                        lines.files.len() - 1
                    }) as u16;
                    line = number;
                }
                None => {
                    lines.starts.push((offset, file, line));
                    lines.own.push(n);
                    line += 1;
                }
            }
            offset += l.len();
        }
        lines
    }

    fn unmarked(self, name: &str) -> Lines {
        let starts = self.starts.iter().zip(&self.own).map(|(s, n)| (s.0, 0, *n)).collect();
        Lines { starts, own: self.own, files: vec![name.to_owned()] }
    }

    /// The file and the line of an offset.
    pub(crate) fn at(&self, offset: usize) -> (&str, u32) {
        let i = self.starts.partition_point(|s| s.0 <= offset);
        match i.checked_sub(1).map(|i| self.starts[i]) {
            Some((_, file, line)) => (&self.files[file as usize], line),
            None => (&self.files[0], 1),
        }
    }
}

/// Which lines of a preprocessed text, from 1, come from a line of some file, by the text's line markers: several where a macro was
/// expanded, none where it is not there. Without markers the text is the file `name`.
///
/// ```
/// let text = "# 1 \"p.c\"\nint x;\n# 7 \"p.c\"\nint main(void) { return x; }\n";
/// assert_eq!(model::lines_made_of("p.i", text, |f| f == "p.c", 7), [4]);
/// assert_eq!(model::lines_made_of("p.i", "int x;\n", |f| f == "p.i", 1), [1]);
/// ```
pub fn lines_made_of(name: &str, text: &str, is: impl Fn(&str) -> bool, line: u32) -> Vec<u32> {
    let lines = Lines::of(name, text);
    let from = |s: &(usize, u16, u32)| s.2 == line && is(&lines.files[s.1 as usize]);
    lines.starts.iter().zip(&lines.own).filter(|(s, _)| from(s)).map(|(_, own)| *own).collect()
}

/// A line that says which line of which file comes next.
fn directive(line: &str) -> Option<(u32, &str)> {
    let rest = line.strip_prefix("# ").or_else(|| line.strip_prefix("#line "))?;
    let (number, rest) = rest.split_once(' ')?;
    let file = rest.trim_start().strip_prefix('"')?;
    Some((number.parse().ok()?, &file[..file.find('"')?]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_is_counted_by_brackets_operators_and_branches_and_not_by_length() {
        let many = DEEPEST + 1;
        let (few, half) = (many / 4, many / 2);
        let deep = [
            format!("x = {}a{};", "(".repeat(many), ")".repeat(many)),
            format!("x = {}a;", "- ".repeat(many)),
            format!("x = a{};", " + a".repeat(half)),
            format!("{}x = 1;", "if (a) ".repeat(half)),
            format!("if (a) x = 1; {}", "else if (a) { x = 1; } ".repeat(many)),
            format!("x = {}a{};", "f(1, ".repeat(half), ")".repeat(half)),
        ];
        for text in deep {
            assert!(too_deep(&text).is_some(), "{}", &text[..60]);
        }
        let flat = [
            "x = a + b; ".repeat(many),
            format!("int a[] = {{ {} }};", "(1 + 2), ".repeat(many)),
            format!("char *s = \"{}\\\"((\";", "(- ".repeat(many)),
            "if (a) x = 1; else if (b) { x = 2; }\n".repeat(many),
            format!("x = {}a{};", "(".repeat(few), ")".repeat(few)),
            format!("# 1 \"{}\"\nint x;", "(".repeat(many)),
        ];
        for text in flat {
            assert_eq!(too_deep(&text), None, "{}", &text[..30]);
        }
    }
}
