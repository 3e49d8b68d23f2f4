//! Objects of type `_Atomic` that gcc reads without saying that the read is atomic: an index, and a pointer that is indexed.
//!
//! gcc replaces each use of an atomic object by an atomic load, but forgets the two operands of `[]`: `a[i]` and `p[0]` read `i` and `p` by a
//! plain instruction, and announce a plain read. Neither the assembly nor the debug information says which reads these are. So the
//! file is compiled a second time with every `_Atomic` made `volatile _Atomic`: the instrumentation has functions of its own for reads of volatile
//! objects ([`FLAG`]). A read that is announced as plain in the first assembly and as volatile in the second is one of an atomic object, and its
//! announcement becomes an atomic load.
//!
//! The volatile qualifier changes what is evaluated twice (`a[i] += 1`), so calls are matched for each place in the source of each function.
//!
//! gcc also takes two such reads to be one: `a[i] + a[i]` becomes `2 * a[i]`, even without optimization. The second assembly has both reads, so
//! each place at which it has more of them is named by a caveat.

use explore::{Caveat, CaveatKind};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

/// Makes every atomic type a volatile one too.
pub(crate) const FLAG: &str = "-D_Atomic=volatile _Atomic";
const HOOK: &str = "__tsan_";
const VOLATILE: &str = "volatile_";
/// Marks the call of a read that is an atomic load.
const MARK: &str = "# raddle loads";
const MERGED: &str = "gcc takes several reads of an atomic object that is an index, or a pointer that is indexed, to be one: other threads \
                      between these reads were not explored; read the object into a variable for each use";

/// Whether assembly may have such reads: gcc compiled it from C, it reads something, and an atomic type is described (`DW_TAG_atomic_type`).
pub(crate) fn are_possible(text: &str) -> bool {
    text.contains("__tsan_read") && text.contains(".uleb128 0x47\n") && !text.contains("\"GNU C++")
}

/// A call of the instrumentation: its line in the assembly, and its name.
struct Hook<'a> {
    line: usize,
    name: &'a str,
}

impl Hook<'_> {
    fn is_volatile(&self) -> bool {
        self.name.starts_with(VOLATILE)
    }

    fn is_volatile_read(&self) -> bool {
        self.is_volatile() && self.plain_name().starts_with("read")
    }

    fn plain_name(&self) -> &str {
        self.name.strip_prefix(VOLATILE).unwrap_or(self.name)
    }
}

/// A function, and a place in the source: file, line and column.
type Key<'a> = (&'a str, Option<(usize, usize, usize)>);

/// The calls by function and place in the source.
fn hooks(text: &str) -> HashMap<Key<'_>, Vec<Hook<'_>>> {
    let mut found: HashMap<_, Vec<Hook<'_>>> = HashMap::new();
    let (mut function, mut place) = ("", None);
    for (line, code) in text.lines().enumerate() {
        let trimmed = code.trim_start();
        if let Some(rest) = trimmed.strip_prefix(".loc") {
            place = crate::weak::place(rest).or(place);
        } else if !code.starts_with([' ', '\t', '.', '#'])
            && let Some((name, _)) = code.split_once(':')
        {
            (function, place) = (name, None);
        } else if trimmed.starts_with("call")
            && let Some((_, name)) = trimmed.split_once(HOOK)
        {
            let name = name.split(['@', ' ', '\t']).next().unwrap_or(name);
            found.entry((function, place)).or_default().push(Hook { line, name });
        }
    }
    found
}

/// Marks the reads in the assembly `text` that are volatile in `second`, the assembly of the same source with [`FLAG`]. Returns a caveat for each
/// place where the compiler left out some of them.
pub(crate) fn mark(text: String, second: &str) -> (String, Vec<Caveat>) {
    let others = hooks(second);
    let mut lines: Vec<usize> = Vec::new();
    // By place, and the most in any function, as functions may be inlined: the reads in the first assembly, and those in the second.
    let mut reads: BTreeMap<(usize, usize, usize), (usize, usize)> = BTreeMap::new();
    let volatile = |calls: &[Hook<'_>]| calls.iter().filter(|c| c.is_volatile_read()).count();
    for ((_, place), calls) in &others {
        if let Some(place) = place {
            let most = &mut reads.entry(*place).or_default().1;
            *most = volatile(calls).max(*most);
        }
    }
    for (key, calls) in hooks(&text) {
        let Some(others) = others.get(&key) else { continue };
        let found = matched(&calls, others);
        if let Some(place) = key.1 {
            let most = &mut reads.entry(place).or_default().0;
            *most = (found.len() + volatile(&calls)).max(*most);
        }
        lines.extend(found);
    }
    let files: BTreeMap<u32, String> = text
        .lines()
        .filter_map(|l| l.trim_start().strip_prefix(".file"))
        .filter_map(crate::scan::file)
        .collect();
    let mut caveats = Vec::new();
    for ((file, line, _), _) in reads.iter().filter(|(_, (first, second))| first < second) {
        let name = u32::try_from(*file).ok().and_then(|n| files.get(&n)).map_or("?", String::as_str);
        Caveat::new(CaveatKind::Uninstrumented, MERGED).at(format!("{name}:{line}")).add_to(&mut caveats);
    }
    if lines.is_empty() {
        return (text, caveats);
    }
    lines.sort_unstable();
    let mut out = String::with_capacity(text.len() + 64 * lines.len());
    for (i, line) in text.lines().enumerate() {
        out += line;
        if lines.binary_search(&i).is_ok() {
            out.push('\t');
            out += MARK;
        }
        out.push('\n');
    }
    (out, caveats)
}

/// The lines of the plain reads among `calls` that are volatile among `others`: by a longest common subsequence of the names. A read without a
/// partner is a second evaluation: of one of the same name that is volatile and stands beside it, or if all of this name are volatile.
fn matched(calls: &[Hook<'_>], others: &[Hook<'_>]) -> Vec<usize> {
    if !others.iter().any(Hook::is_volatile) {
        return Vec::new();
    }
    let width = others.len() + 1;
    let mut longest = vec![0_u32; (calls.len() + 1) * width];
    for i in (0..calls.len()).rev() {
        for j in (0..others.len()).rev() {
            longest[i * width + j] = if calls[i].plain_name() == others[j].plain_name() {
                1 + longest[(i + 1) * width + j + 1]
            } else {
                longest[(i + 1) * width + j].max(longest[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut found: Vec<usize> = Vec::new();
    let mut alone: Vec<usize> = Vec::new();
    while i < calls.len() {
        if j < others.len() && calls[i].plain_name() == others[j].plain_name() {
            if others[j].is_volatile() && calls[i].name.starts_with("read") {
                found.push(i);
            }
            (i, j) = (i + 1, j + 1);
        } else if j < others.len() && longest[i * width + j + 1] >= longest[(i + 1) * width + j] {
            j += 1;
        } else {
            alone.push(i);
            i += 1;
        }
    }
    for i in alone {
        let is_beside = |k: usize| found.contains(&k) && calls[k].name == calls[i].name;
        let mut alike = others.iter().filter(|o| o.plain_name() == calls[i].name).peekable();
        let are_all = alike.peek().is_some() && alike.all(Hook::is_volatile);
        if calls[i].name.starts_with("read") && (are_all || is_beside(i + 1) || i > 0 && is_beside(i - 1)) {
            found.push(i);
        }
    }
    found.into_iter().map(|i| calls[i].line).collect()
}

/// Replaces the calls that are marked by atomic loads.
pub(crate) fn rewrite(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1024);
    for line in text.lines() {
        let Some((call, _)) = line.split_once(MARK) else {
            let _ = writeln!(out, "{line}");
            continue;
        };
        let bytes = call.split_once("_read").map_or("", |(_, rest)| rest.trim_end().trim_end_matches("@PLT"));
        match bytes.parse::<u32>() {
            // The order is `seq_cst`. A call changes this register anyway.
            Ok(bytes @ (1 | 2 | 4 | 8)) => {
                let _ = writeln!(out, "\tmovl\t$5, %esi\n\tcall\t__tsan_atomic{}_load@PLT", 8 * bytes);
            }
            _ => {
                let _ = writeln!(out, "{}", call.trim_end());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_that_become_volatile_are_atomic_loads() {
        let first = "f:\n\t.loc 1 2 3\n\tcall\t__tsan_read4@PLT\n\tcall\t__tsan_read4@PLT\n\tcall\t__tsan_write4@PLT\n\
                     g:\n\t.loc 1 2 3\n\tcall\t__tsan_read4@PLT\n";
        let second = "f:\n\t.loc 1 2 3\n\tcall\t__tsan_volatile_read4@PLT\n\tcall\t__tsan_read4@PLT\n\tcall\t__tsan_volatile_write4@PLT\n\
                      g:\n\t.loc 1 2 3\n\tcall\t__tsan_read4@PLT\n";
        let out = rewrite(mark(first.to_owned(), second).0);
        assert_eq!(
            out,
            first.replacen(
                "\tcall\t__tsan_read4@PLT",
                "\tmovl\t$5, %esi\n\tcall\t__tsan_atomic32_load@PLT",
                1
            )
        );
        assert_eq!(rewrite(mark(first.to_owned(), first).0), first);
    }

    #[test]
    fn an_index_that_is_evaluated_twice_is_loaded_twice() {
        // a[i] += 1
        let first = "f:\n\t.loc 1 2 3\n\tcall\t__tsan_read8@PLT\n\tcall\t__tsan_read8@PLT\n\tcall\t__tsan_read4@PLT\n\tcall\t__tsan_write4@PLT\n";
        let second = "f:\n\t.loc 1 2 3\n\tcall\t__tsan_volatile_read8@PLT\n\tcall\t__tsan_read4@PLT\n\tcall\t__tsan_write4@PLT\n";
        let apart =
            first.replacen("read8@PLT\n\tcall\t__tsan_read4@PLT", "read4@PLT\n\tcall\t__tsan_read8@PLT", 1);
        for first in [first, &apart] {
            let out = rewrite(mark(first.to_owned(), second).0);
            assert_eq!(out.matches("__tsan_atomic64_load").count(), 2, "{out}");
            assert_eq!(out.matches("__tsan_read4").count(), 1, "{out}");
        }
    }

    #[test]
    fn reads_that_the_compiler_left_out_are_named() {
        // a[i] + a[i]
        let first =
            "\t.file 1 \"a.c\"\nf:\n\t.loc 1 2 3\n\tcall\t__tsan_read4@PLT\n\tcall\t__tsan_read4@PLT\n";
        let both = "f:\n\t.loc 1 2 3\n\tcall\t__tsan_volatile_read4@PLT\n\tcall\t__tsan_read4@PLT\n";
        let second = format!("{both}{}", both.replacen("f:\n\t.loc 1 2 3", "\t.loc 1 2 9", 1));
        let places = |second: &str| {
            let caveats = mark(first.to_owned(), second).1;
            caveats.into_iter().flat_map(|c| c.places).collect::<Vec<_>>()
        };
        assert_eq!(places(&second), ["a.c:2"]);
        assert!(places(both).is_empty());
        assert!(places(&both.replace("f:", "g:").replace("volatile_", "")).is_empty());
    }

    #[test]
    fn only_c_of_gcc_with_atomic_types_is_compiled_twice() {
        let text = "\tcall\t__tsan_read4@PLT\n\t.uleb128 0x47\n\t.string\t\"GNU C17 12.2.0\"\n";
        assert!(are_possible(text));
        assert!(!are_possible(&text.replace("C17", "C++17")));
        assert!(!are_possible(&text.replace("0x47", "0x34")));
        assert!(!are_possible(&text.replace("read4", "write4")));
    }
}
