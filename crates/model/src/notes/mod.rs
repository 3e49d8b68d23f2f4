//! Annotations: what a programmer says about a program, in comments, in the manner of ACSL.
//!
//! Comments that begin with `/*@` or `//@` are found in the text before the preprocessor takes them away. What stands
//! at a statement (`assert`, `loop invariant`) is put into the text as a call that the lowering knows, on the same line, so that it is
//! where its statement is, with the names that are known there. What stands before a function or a variable (`requires`, `ensures`,
//! `assigns`, `atomic`, `guarded_by`) is attached by its line.
//!
//! **Invariant:** nothing here knows what holds. An annotation that is not understood is refused, with its line and what was
//! expected; none is ignored.

mod parse;

pub use parse::{Expr, Operator};

use crate::c::Refusal;
use crate::program::{Program, SyncId};
use crate::term::VarId;
use std::collections::{BTreeMap, BTreeSet};

/// What an annotation is.
#[derive(Clone, Debug, PartialEq)]
pub enum Clause {
    /// What holds where a function is called.
    Requires(Expr),
    /// What holds where it returns.
    Ensures(Expr),
    /// The variables, or fields, that a function may assign, besides its own.
    Assigns(Vec<Expr>),
    /// What holds at the head of the loop that follows.
    Invariant(Expr),
    /// What holds here.
    Assert(Expr),
    /// The lock that is held wherever the variable is accessed.
    GuardedBy(Expr),
    /// The function that follows might as well run without interruption.
    Atomic,
}

/// An annotation.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// What it says.
    pub clause: Clause,
    /// Its text, without the comment around it.
    pub text: String,
    /// The line on which it begins.
    pub line: u32,
    /// The line on which its comment ends.
    pub end: u32,
    /// Whether there is something before it on its line.
    pub trails: bool,
}

/// What a name in a formula stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    /// A number: a constant of an enumeration.
    Number(i128),
    /// A variable.
    Var(VarId),
    /// An array, with its length.
    Array(VarId, u64),
    /// An array that a parameter points to: its cells, and the variable that has its length.
    Pointed {
        /// The cells.
        cells: VarId,
        /// How many there are.
        length: VarId,
    },
    /// A structure.
    Struct(BTreeMap<String, Named>),
    /// A synchronisation object.
    Sync(SyncId),
    /// Something that formulas cannot speak of.
    Other,
}

/// The names that are known somewhere.
pub type Names = BTreeMap<String, Named>;

/// An annotation at a location: [`crate::Location::marks`] has its number.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Which annotation, by its number in [`crate::Annotated::annotations`].
    pub annotation: usize,
    /// What is known there.
    pub names: Names,
    /// Set for what is claimed or known of a function where it is called, and not where it stands.
    pub call: Option<AtCall>,
    /// Whether it stands in a function that was read in place of a call.
    pub inside: bool,
}

/// What a function with a contract requires where it is called, or what is known of it there after it has returned.
#[derive(Clone, Debug, PartialEq)]
pub struct AtCall {
    /// Whether it has returned: what it ensures is known. Else what it requires is claimed.
    pub returned: bool,
    /// What it returned.
    pub result: Option<VarId>,
    /// For variables that it may have assigned: those that have what they were before.
    pub before: BTreeMap<VarId, VarId>,
}

/// Functions whose calls stand for what is written before them: what they require is claimed, all that they may assign gets any value,
/// and what they ensure is known then.
pub type ByContract = BTreeMap<String, CallContract>;

/// What is written before a function, by number in [`crate::Annotated::annotations`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallContract {
    /// What it requires.
    pub requires: Vec<usize>,
    /// What it ensures.
    pub ensures: Vec<usize>,
    /// The global variables that it may assign, by their names in the program; none of them is an array.
    pub assigns: BTreeSet<String>,
    /// The global arrays of which it may assign cells.
    pub arrays: BTreeSet<String>,
    /// The parameters, by number, that point to what it may assign.
    pub parameters: BTreeSet<usize>,
    /// Names, of parameters or global variables, that must be different memory.
    pub apart: Vec<Vec<String>>,
}

/// The function that a thread starts with.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    /// Its name.
    pub function: String,
    /// Global names, and those of its parameters.
    pub names: Names,
    /// The parameters among them.
    pub parameters: Vec<String>,
    /// What it returns.
    pub result: Option<VarId>,
}

/// A function where it was inlined, or that a thread starts with: [`crate::Location::marks`] says where it begins and returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its name.
    pub function: String,
    /// Which thread.
    pub thread: crate::ThreadId,
}

/// A program with its annotations.
#[derive(Clone, Debug)]
pub struct Noted {
    /// The program: every step is an edge of its own.
    pub program: Program,
    /// What stands at its locations.
    pub notes: Vec<Note>,
    /// By thread: what it starts with.
    pub starts: Vec<Start>,
    /// The functions that it calls.
    pub calls: Vec<Call>,
    /// The arrays that calls leave with any content.
    pub forgets: Vec<Vec<VarId>>,
}

/// The call that stands for an annotation at a statement.
pub(crate) const NOTE: &str = "__raddle_note";
/// The call that stands for an annotation of the loop that follows.
pub(crate) const INVARIANT: &str = "__raddle_invariant";

/// The annotations of a text, and the text with calls in place of those that stand at statements. Lines stay what they are.
pub(crate) fn scan(file: &str, text: &str) -> Result<(Vec<Annotation>, String), Refusal> {
    let mut found = Vec::new();
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let (mut at, mut line) = (0, 1u32);
    // What is before a comment says whether a statement may stand there.
    let (mut last, mut last_line) = (' ', 0u32);
    while at < bytes.len() {
        let rest = &text[at..];
        let comment = if rest.starts_with("/*") {
            Some(rest.find("*/").map_or(rest.len(), |n| n + 2))
        } else if rest.starts_with("//") {
            Some(rest.find('\n').unwrap_or(rest.len()))
        } else {
            None
        };
        if let Some(n) = comment {
            let whole = &rest[..n];
            let end = line + whole.matches('\n').count() as u32;
            if whole.as_bytes().get(2) == Some(&b'@') {
                let inner = whole[3..].strip_suffix("*/").unwrap_or(&whole[3..]);
                let trails = last_line == line;
                for (clause, from, said) in parse::clauses(file, inner, line)? {
                    let number = found.len();
                    let call = match clause {
                        Clause::Assert(_) => Some(NOTE),
                        Clause::Invariant(_) => Some(INVARIANT),
                        _ => None,
                    };
                    if let Some(call) = call {
                        if !matches!(last, ';' | '{' | '}' | ':') {
                            let reason = "an annotation of a statement stands before a statement of a block: \
                                          put braces around the statement";
                            return Err(Refusal {
                                file: file.to_owned(),
                                line: from,
                                reason: reason.to_owned(),
                            });
                        }
                        out.push_str(&format!("{call}({number}); "));
                    }
                    found.push(Annotation { clause, text: said, line: from, end, trails });
                }
            }
            // A comment is a blank, whatever else it is.
            out.push(' ');
            out.extend(whole.chars().filter(|c| *c == '\n'));
            (at, line) = (at + n, end);
            continue;
        }
        let c = rest.chars().next().unwrap_or(' ');
        let mut n = c.len_utf8();
        if c == '"' || c == '\'' {
            // To the end of the literal, or of the line if it has none.
            let mut escaped = false;
            n = rest.len();
            for (i, d) in rest.char_indices().skip(1) {
                if !escaped && (d == c || d == '\n') {
                    n = i + if d == c { d.len_utf8() } else { 0 };
                    break;
                }
                escaped = !escaped && d == '\\';
            }
        }
        if c == '\n' {
            line += 1;
        } else if !c.is_whitespace() {
            (last, last_line) = (c, line);
        }
        out.push_str(&rest[..n]);
        line += if c == '\n' { 0 } else { rest[..n].matches('\n').count() as u32 };
        at += n;
    }
    Ok((found, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_found_with_their_lines_and_the_text_keeps_its_own() {
        let text = "/*@ requires n >= 0;\n  @ ensures \\result == n; */\nint f(int n) {\n  char *s = \"/*@ no */\"; // no\n  \
                    L: //@ assert n > 0;\n  return n;\n}\n";
        let (found, out) = scan("f.c", text).unwrap();
        let said: Vec<(u32, &str)> = found.iter().map(|a| (a.line, a.text.as_str())).collect();
        assert_eq!(said, [(1, "requires n >= 0"), (2, "ensures \\result == n"), (5, "assert n > 0")]);
        assert_eq!(out.lines().count(), text.lines().count());
        assert!(out.lines().nth(4).unwrap().contains("L: __raddle_note(2);"), "{out}");
        assert!(out.contains("\"/*@ no */\""));
    }

    #[test]
    fn an_annotation_where_no_statement_can_stand_is_refused() {
        let wrong =
            scan("f.c", "void f(int n) {\n  if (n)\n    //@ assert n != 0;\n    g();\n}").unwrap_err();
        assert_eq!(wrong.line, 3);
        assert!(wrong.reason.contains("braces"), "{wrong}");
    }

    #[test]
    fn what_is_not_understood_is_refused_with_what_was_expected() {
        for (text, line, part) in [
            ("//@ requires x >;\n", 1, "expected an expression, found `;`"),
            ("\n/*@ requires x > 0;\n    loop assigns y; */", 3, "expected `invariant`, found `assigns`"),
            ("//@ ensure x;\n", 1, "expected `requires`, `ensures`"),
            ("//@ assigns 3;\n", 1, "expected a variable"),
            ("//@ assigns x, a[0];\n", 1, "names of variables"),
            ("//@ requires x > 0\n", 1, "expected `;`"),
            ("//@ requires \\forall integer j; j > 0;\n", 1, "bounds"),
            ("//@ requires \\foo(x);\n", 1, "`\\foo`"),
        ] {
            let e = scan("a.c", text).unwrap_err();
            assert_eq!(e.line, line, "{text}: {e}");
            assert!(e.reason.contains(part), "{text}: {e}");
        }
    }
}
