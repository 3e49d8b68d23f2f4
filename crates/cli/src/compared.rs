//! Comparisons of thread handles and of addresses that are compiled inline: a pass over the assembly adds calls in front of them.
//!
//! The C library gives the handle of a thread that has ended to a later one, and the address of a freed block to a later one. A program that
//! compares the two can tell, and raddle gives out each handle once, and not every address again. So such a comparison is named in the report.
//! `pthread_equal` is a call; `a == b` is not.
//! In a source that makes threads or uses the heap, each comparison of two values of eight bytes for equality gets a call of
//! `__raddle_touch_compare`, which looks whether both are handles, or addresses of blocks. It is made only after a thread has left or a block was
//! freed (`__raddle_looks_at_comparisons`).
//!
//! As in `weak`, comparisons are found before `touches` adds calls to the assembly, and get theirs behind it.

use crate::asm::{self, Operand};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const MARK: &str = "# raddle compares";
/// clang subtracts where it has no more use for one of the two.
const COMPARES: [&str; 2] = ["cmpq", "subq"];
/// A source that mentions none of these has neither handles nor addresses that come back, or leaves them alone.
const SUBJECTS: [&str; 9] = [
    "pthread_create",
    "pthread_self",
    "thrd_create",
    "thrd_current",
    "St6thread",
    "alloc",
    "free",
    "_Zdl",
    "_Zda",
];

/// Marks comparisons that may be of handles.
pub(crate) fn mark(text: String) -> String {
    if !SUBJECTS.iter().any(|t| text.contains(t)) {
        return text;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut marked = BTreeSet::new();
    let mut of_ids = false;
    for (i, line) in lines.iter().enumerate() {
        if !line.starts_with([' ', '\t', '.', '#']) && line.contains(':') {
            // The order of handles matters where the library compares them.
            of_ids = line.contains("thread2id");
        }
        let compares = COMPARES.iter().any(|c| line.trim_start().starts_with(c));
        if compares && is_of_two(line) && asks(&lines[i + 1..], of_ids) {
            marked.insert(i);
        }
    }
    if marked.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1024);
    for (i, line) in lines.iter().enumerate() {
        out += line;
        if marked.contains(&i) {
            let _ = write!(out, "\t{MARK}");
        }
        out.push('\n');
    }
    out
}

/// Whether the two operands are values that a call in front can be told.
fn is_of_two(line: &str) -> bool {
    let can_be_pushed = |o: &Operand<'_>| match o {
        Operand::Register(r) => *r != "%rsp",
        Operand::Memory(m) => m.base != Some("%rsp"),
        _ => false,
    };
    asm::parse(line).is_some_and(|i| i.operands.len() == 2 && i.operands.iter().all(can_be_pushed))
}

/// Whether the code behind a comparison asks for equality, or for any order.
fn asks(lines: &[&str], any: bool) -> bool {
    let words = lines.iter().filter_map(|l| asm::without_comment(l).split_whitespace().next());
    // clang puts labels for debug information between the two.
    let mut code = words.filter(|w| !w.starts_with('.') || w.ends_with(':') && !w.starts_with(".Ltmp"));
    let Some(next) = code.find(|w| !w.starts_with("mov")) else { return false };
    let Some(condition) = ["set", "cmov", "j"].iter().find_map(|p| next.strip_prefix(p)) else {
        return false;
    };
    matches!(condition, "e" | "ne" | "el" | "eq" | "nel" | "neq") || any
}

/// Adds the calls.
pub(crate) fn rewrite(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1024);
    let is_wide = ["%ymm", "%zmm", "%st"].iter().any(|r| text.contains(r));
    let wide = if is_wide { "wide_" } else { "" };
    for line in text.lines() {
        let Some((code, _)) = line.split_once(MARK) else {
            let _ = writeln!(out, "{line}");
            continue;
        };
        let operands = asm::without_comment(code).trim().get(COMPARES[0].len()..).unwrap_or_default().trim();
        if let Some((a, b)) = halves(operands) {
            // The comparison sets the flags anew.
            let _ = writeln!(
                out,
                "\tleaq\t-128(%rsp), %rsp\n\tpushq\t%rax\n\tmovq\t__raddle_looks_at_comparisons@GOTPCREL(%rip), %rax\n\
                 \tcmpb\t$0, (%rax)\n\tpopq\t%rax\n\tje\t772774f\n\tpushq\t{b}\n\tpushq\t{a}\n\tpushq\t%rdi\n\tpushq\t%rsi\n\
                 \tmovq\t16(%rsp), %rdi\n\tmovq\t24(%rsp), %rsi\n\tcall\t__raddle_touch_{wide}compare@PLT\n\tpopq\t%rsi\n\
                 \tpopq\t%rdi\n\tleaq\t16(%rsp), %rsp\n772774:\n\tleaq\t128(%rsp), %rsp"
            );
        }
        let _ = writeln!(out, "{code}");
    }
    out
}

/// The two operands of an instruction: the comma between them is outside of parentheses.
fn halves(operands: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let at = operands.find(|c| {
        depth += (c == '(') as i32 - (c == ')') as i32;
        c == ',' && depth == 0
    })?;
    Some((operands[..at].trim(), operands[at + 1..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many comparisons get a call.
    fn calls(body: &str) -> usize {
        let text = rewrite(mark(format!("f:\n\tcall\tpthread_self@PLT\n{body}")));
        assert!(!text.contains(MARK), "{text}");
        text.matches("__raddle_touch_compare").count()
    }

    #[test]
    fn comparisons_of_two_values_for_equality_get_a_call() {
        assert_eq!(calls("\tcmpq\t%rax, -8(%rbp)\n\tjne\t.L2\n"), 1);
        assert_eq!(calls("\tcmpq\t8(%rax,%rcx,4), %rdx\n\tmovl\t$1, %eax\n\tsete\t%al\n"), 1);
        assert_eq!(calls("\tsubq\t%rcx, %rax\n\tje\t.L2\n"), 1);
        assert_eq!(calls("\tsubq\t%rcx, %rax\n\tmovq\t%rax, -8(%rbp)\n\tret\n"), 0);
        assert_eq!(calls("\tcmpq\t%rcx, %rax\n.Ltmp3:\n\t.loc\t1 4 17\n\tjne\t.LBB0_2\n"), 1);
        assert_eq!(calls("\tcmpq\t$0, -8(%rbp)\n\tjne\t.L2\n"), 0);
        assert_eq!(calls("\tcmpq\t%rax, %rdx\n\tjb\t.L2\n"), 0);
        assert_eq!(calls("\tcmpl\t%eax, %edx\n\tje\t.L2\n"), 0);
        assert_eq!(calls("_ZStltNSt6thread2idES0_:\n\tcmpq\t%rax, %rdx\n\tsetb\t%al\n"), 1);
        assert_eq!(
            mark("f:\n\tcmpq\t%rax, %rdx\n\tje\t.L2\n".to_owned()),
            "f:\n\tcmpq\t%rax, %rdx\n\tje\t.L2\n"
        );
    }
}
