//! `atomic_init`: it initializes an atomic object, and is not atomic itself, but gcc and libstdc++ have a relaxed store in its place.
//!
//! In C it is a macro: a pass over the assembly finds the stores whose line and column in the source are those of `atomic_init`, or of a macro
//! that contains it, and calls a function for a plain write instead. In C++ it is a function: gcc has the store inside, and clang a call of
//! `store`, in front of which a call says that it is not atomic.

use crate::weak::{Sources, token};
use std::fmt::Write as _;
use std::path::Path;

const NAME: &str = "atomic_init";
/// The call of a store, before and behind the number of bits.
const CALL: (&str, &str) = ("__tsan_atomic", "_store");
/// How the names of the functions of C++ begin.
const OF_CXX: &str = "_ZSt11atomic_init";
/// Marks a call of `store` in one of these.
const MARK: &str = "# raddle initializes";

/// Replaces the calls of C, and marks those of C++.
pub(crate) fn mark(text: String, read: &dyn Fn(&Path) -> Option<String>) -> String {
    if !text.contains(CALL.1) && !text.contains(OF_CXX) {
        return text;
    }
    let mut sources = Sources::new(read, &text);
    let in_sources = sources.mention(NAME);
    if !in_sources && !text.contains(OF_CXX) {
        return text;
    }
    let (mut place, mut function) = (None, "");
    let mut out = String::with_capacity(text.len() + 1024);
    for line in text.lines() {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix(".loc") {
            place = crate::weak::place(rest).or(place);
        } else if !line.starts_with([' ', '\t', '.', '#'])
            && let Some((name, _)) = line.split_once(':')
        {
            (function, place) = (name, None);
        } else if trimmed.starts_with("call") {
            if function.starts_with(OF_CXX) && trimmed.contains("5storeE") {
                let _ = writeln!(out, "{line}\t{MARK}");
                continue;
            }
            let is_cxx = function.starts_with(OF_CXX);
            if let Some(bits) = bits(trimmed)
                && (is_cxx || in_sources && place.is_some_and(|p| initializes(&mut sources, p)))
            {
                let old = format!("{}{bits}{}", CALL.0, CALL.1);
                let _ = writeln!(out, "{}", line.replace(&old, &format!("__raddle_init{bits}")));
                continue;
            }
        }
        out += line;
        out.push('\n');
    }
    out
}

/// Adds the calls in front of those that are marked.
pub(crate) fn rewrite(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1024);
    for line in text.lines() {
        if let Some((call, _)) = line.split_once(MARK) {
            // Three arguments of `store`, and eight bytes to keep the stack aligned.
            out += "\tpushq\t%rdi\n\tpushq\t%rsi\n\tpushq\t%rdx\n\tpushq\t%rdx\n\tcall\t__raddle_initializes@PLT\n\
                    \tpopq\t%rdx\n\tpopq\t%rdx\n\tpopq\t%rsi\n\tpopq\t%rdi\n";
            let _ = writeln!(out, "{}", call.trim_end());
        } else {
            let _ = writeln!(out, "{line}");
        }
    }
    out
}

/// The number of bits, if a line calls a store of at most eight bytes.
fn bits(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(CALL.0)?;
    let (bits, _) = rest.split_once(CALL.1)?;
    matches!(bits, "8" | "16" | "32" | "64").then_some(bits)
}

/// Whether `atomic_init` is at a place of the source, or a macro that contains it and no other store.
fn initializes(sources: &mut Sources<'_>, place: (usize, usize, usize)) -> bool {
    let Some(name) = sources.at(place).map(|text| token(text).to_owned()) else { return false };
    if name == NAME {
        return true;
    }
    let bodies = sources.macros(&name);
    let is_one = |body: &String| body.contains(NAME) && !body.contains("atomic_store");
    !bodies.is_empty() && bodies.iter().all(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_of_atomic_init_are_plain_writes() {
        let assembly =
            "f:\n\t.file 1 \"a.c\"\n\t.loc 1 2 3 discriminator 1\n\tcall\t__tsan_atomic32_store@PLT\n";
        let marked = |source: &str| mark(assembly.to_owned(), &|_| Some(source.to_owned()));
        assert!(marked("\n  atomic_init(&a, 1);\n").contains("call\t__raddle_init32@PLT"));
        assert_eq!(marked("\n  atomic_store(&a, 1); atomic_init(&b, 1);\n"), assembly);
        assert!(marked("#define SET(x) atomic_init(x, 1)\n  SET(&a);\n").contains("__raddle_init32"));
        assert_eq!(marked("#define SET(x) atomic_store(x, 1)\n  SET(&a); atomic_init(&a, 2);\n"), assembly);
        assert_eq!(mark(assembly.to_owned(), &|_| None), assembly);
    }

    #[test]
    fn stores_of_the_function_of_cpp_are_announced() {
        let assembly = "_ZSt11atomic_initIiEvPSt6atomicIT_ES1_:\n\tcall\t_ZNSt13__atomic_baseIiE5storeEiSt12memory_order\n";
        let out = rewrite(mark(assembly.to_owned(), &|_| None));
        let (before, behind) = out.split_once("\tcall\t__raddle_initializes@PLT\n").unwrap();
        assert_eq!(before.matches("pushq").count(), behind.matches("popq").count());
        assert!(behind.contains("5storeEiSt12memory_order") && !out.contains(MARK));
        let inside = "_ZSt11atomic_initIiEvPSt6atomicIT_ES1_:\n\tcall\t__tsan_atomic32_store@PLT\n";
        assert!(mark(inside.to_owned(), &|_| None).contains("__raddle_init32@PLT"));
    }
}
