//! Instructions that look at addresses and handles of threads as numbers: a pass over the assembly adds calls in front of them.
//!
//! The C library gives the handle of a thread that has ended to a later one, and the address of a freed block to a later one, and their order is
//! not fixed. A program that compares two of them, or computes with them, can tell; raddle gives out each handle once, and not every address again.
//! So what such an instruction may find otherwise is named in the report. `pthread_equal` is a call; `a == b` is not.
//! In a source that makes threads or uses the heap, each comparison of two values of eight bytes gets a call, and so do differences, and
//! instructions that pointer arithmetic does not need: shifts to the right, products, quotients, `^`, and `&` of more than the lowest four
//! bits. The call is made only if the values may be addresses, and where it can matter (`__raddle_looks_at_comparisons`).
//!
//! As in `weak`, the instructions are found before `touches` adds calls to the assembly, and get theirs behind it.

use crate::asm::{self, Instruction, Operand};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const MARK: &str = "# raddle looks: ";
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

/// Marks instructions that may look at addresses.
pub(crate) fn mark(text: String) -> String {
    if !SUBJECTS.iter().any(|t| text.contains(t)) {
        return text;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut marked = BTreeMap::new();
    let (mut is_exempt, mut is_inline) = (false, false);
    for (i, line) in lines.iter().enumerate() {
        match line.trim() {
            "#APP" => is_inline = true,
            "#NO_APP" => is_inline = false,
            _ => {}
        }
        if !line.starts_with([' ', '\t', '.', '#']) && line.contains(':') {
            // `basic_string` asks whether a piece of text is its own: whatever the order is, the answer is no for any other block.
            is_exempt = line.contains("_M_disjunct");
        }
        if is_inline {
            continue;
        }
        if let Some(look) = look(line, &lines[i + 1..]).filter(|l| !is_exempt || l.name != "order") {
            marked.insert(i, look);
        }
    }
    if marked.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1024);
    for (i, line) in lines.iter().enumerate() {
        out += line;
        if let Some(look) = marked.get(&i) {
            let _ = write!(out, "\t{MARK}{};{};{}", look.name, look.a, look.b);
        }
        out.push('\n');
    }
    out
}

/// How an instruction uses values.
struct Look {
    name: &'static str,
    /// The values, as operands that can be pushed.
    a: String,
    b: String,
}

fn look(line: &str, behind: &[&str]) -> Option<Look> {
    // Most lines are others.
    let word = line.trim_start();
    if !LOOKING.iter().any(|l| word.starts_with(l)) {
        return None;
    }
    let i = asm::parse(line)?;
    let pair = |name| {
        let [a, b] = &i.operands[..] else { return None };
        Some(Look { name, a: pushed(a)?, b: pushed(b)? })
    };
    let one = |name, a: &Operand<'_>, b: &str| Some(Look { name, a: pushed(a)?, b: b.to_owned() });
    match i.mnemonic {
        "cmpq" | "subq" => match condition(behind) {
            Some("e" | "ne" | "el" | "eq" | "nel" | "neq") => pair("compare"),
            Some(_) => pair("order"),
            // A difference.
            None if i.mnemonic == "subq" => pair("order"),
            None => None,
        },
        "xorq" if i.operands.first() != i.operands.last() => pair("number"),
        "andq" | "testq" | "andl" | "testl" => masked(&i),
        "shrq" | "sarq" | "rolq" | "rorq" => {
            let bits: u32 = match i.operands.first()? {
                Operand::Immediate(n) => n.parse().unwrap_or(0),
                _ => 0,
            };
            // Of an address such a shift leaves nothing; one back makes an address again, as for arrays whose length is computed.
            let value = i.operands.last()?;
            if bits > 44 || is_shifted_back(value, bits, behind) { None } else { one("number", value, "$0") }
        }
        "mulq" => Some(Look { name: "number", a: pushed(i.operands.first()?)?, b: "%rax".to_owned() }),
        "divq" | "idivq" => Some(Look { name: "number", a: "%rax".to_owned(), b: "$0".to_owned() }),
        "imulq" => match &i.operands[..] {
            [Operand::Immediate(_), a, _] | [Operand::Immediate(_), a] => one("number", a, "$0"),
            [a, b] => Some(Look { name: "number", a: pushed(a)?, b: pushed(b)? }),
            [a] => Some(Look { name: "number", a: pushed(a)?, b: "%rax".to_owned() }),
            _ => None,
        },
        _ => None,
    }
}

/// How the instructions begin that are looked at.
const LOOKING: [&str; 15] = [
    "cmpq", "subq", "xorq", "andq", "andl", "testq", "testl", "shrq", "sarq", "rolq", "rorq", "mulq", "divq",
    "idivq", "imulq",
];

/// Whether the next instruction undoes a shift to the right.
fn is_shifted_back(value: &Operand<'_>, bits: u32, behind: &[&str]) -> bool {
    let Some(next) = behind.iter().find_map(|l| asm::parse(l)) else { return false };
    let Operand::Register(register) = value else { return false };
    match (next.mnemonic, next.operands.first()) {
        ("salq" | "shlq", Some(Operand::Immediate(n))) => {
            n.parse() == Ok(bits) && next.operands.last() == Some(value)
        }
        ("leaq", Some(Operand::Memory(m))) => {
            m.base.is_none() && m.index == Some(*register) && m.scale == 1 << bits.min(8)
        }
        _ => false,
    }
}

/// `&`: the lowest four bits of an address are the same for every block.
fn masked(i: &Instruction<'_>) -> Option<Look> {
    let [mask, value] = &i.operands[..] else { return None };
    let is_long = i.mnemonic.ends_with('q');
    match mask {
        Operand::Immediate(n) => {
            let mask: i64 = n.parse().ok()?;
            let wide = match value {
                // Compilers leave out the upper half where the mask does.
                Operand::Register(r) if !is_long && mask > 0 => {
                    Operand::Register(WIDE[asm::register_number(r)?])
                }
                other if is_long => other.clone(),
                _ => return None,
            };
            (!(0..16).contains(&mask)).then_some(())?;
            Some(Look { name: "number", a: pushed(&wide)?, b: format!("${mask}") })
        }
        // Whether it is null.
        _ if mask == value || !is_long => None,
        _ => Some(Look { name: "number", a: pushed(mask)?, b: pushed(value)? }),
    }
}

/// The names of registers of eight bytes, by number.
const WIDE: [&str; 16] = [
    "%rax", "%rcx", "%rdx", "%rbx", "%rsp", "%rbp", "%rsi", "%rdi", "%r8", "%r9", "%r10", "%r11", "%r12",
    "%r13", "%r14", "%r15",
];

/// An operand as a call in front can be told it.
fn pushed(operand: &Operand<'_>) -> Option<String> {
    match operand {
        Operand::Register(r)
            if *r != "%rsp" && asm::register_bytes(r) == 8 && asm::register_number(r).is_some() =>
        {
            Some((*r).to_owned())
        }
        Operand::Memory(m) if m.base != Some("%rsp") && !m.is_linkage() => {
            Some(if m.has_segment { format!("%fs:{}", m.text) } else { m.text.to_owned() })
        }
        _ => None,
    }
}

/// The condition that the code behind a comparison asks for.
fn condition<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let words = lines.iter().filter_map(|l| asm::without_comment(l).split_whitespace().next());
    // clang puts labels for debug information between the two.
    let mut code = words.filter(|w| !w.starts_with('.') || w.ends_with(':') && !w.starts_with(".Ltmp"));
    let next = code.find(|w| !w.starts_with("mov"))?;
    let found = ["set", "cmov", "j"].iter().find_map(|p| next.strip_prefix(p))?;
    (!matches!(found, "mp" | "mpq" | "s" | "ns" | "o" | "no" | "p" | "np")).then_some(found)
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
        let Some((code, look)) = line.split_once(MARK) else {
            let _ = writeln!(out, "{line}");
            continue;
        };
        let mut parts = look.split(';');
        if let (Some(name), Some(a), Some(b)) = (parts.next(), parts.next(), parts.next()) {
            // Most values are small numbers, which no address is.
            const SMALL: &str = "cmpq\t$0x7fffffff, ";
            let _ = match (name, b.starts_with('$')) {
                ("number", true) => writeln!(out, "\t{SMALL}{a}\n\tjbe\t772777f"),
                ("number", false) => {
                    writeln!(out, "\t{SMALL}{a}\n\tja\t772773f\n\t{SMALL}{b}\n\tjbe\t772777f\n772773:")
                }
                _ => writeln!(out, "\t{SMALL}{a}\n\tjbe\t772777f\n\t{SMALL}{b}\n\tjbe\t772777f"),
            };
            let when = if name == "number" { 1 } else { 3 };
            // A comparison may be of addresses if both values may, other instructions if one may.
            let (one, label) = if name == "number" { ("jb", "772776f") } else { ("jae", "772775f") };
            // The instruction sets the flags anew.
            let _ = writeln!(
                out,
                "\tleaq\t-128(%rsp), %rsp\n\tpushq\t%rax\n\tmovq\t__raddle_looks_at_comparisons@GOTPCREL(%rip), %rax\n\
                 \ttestb\t${when}, (%rax)\n\tpopq\t%rax\n\tje\t772774f\n\tpushq\t{b}\n\tpushq\t{a}\n\tpushq\t%rax\n\
                 \tmovl\t12(%rsp), %eax\n\tsubl\t$1, %eax\n\tcmpl\t$0x7fff, %eax\n\t{one}\t{label}\n\
                 \tmovl\t20(%rsp), %eax\n\tsubl\t$1, %eax\n\tcmpl\t$0x7fff, %eax\n\tjae\t772775f\n772776:\n\
                 \tpushq\t%rdi\n\tpushq\t%rsi\n\tmovq\t24(%rsp), %rdi\n\tmovq\t32(%rsp), %rsi\n\
                 \tcall\t__raddle_touch_{wide}{name}@PLT\n\tpopq\t%rsi\n\tpopq\t%rdi\n772775:\n\tpopq\t%rax\n\
                 \tleaq\t16(%rsp), %rsp\n772774:\n\tleaq\t128(%rsp), %rsp\n772777:"
            );
        }
        let _ = writeln!(out, "{code}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many comparisons get a call.
    fn calls(body: &str) -> usize {
        let text = rewrite(mark(format!("f:\n\tcall\tpthread_self@PLT\n{body}")));
        assert!(!text.contains(MARK), "{text}");
        text.matches("call\t__raddle_touch_").count()
    }

    #[test]
    fn comparisons_of_two_values_for_equality_get_a_call() {
        assert_eq!(calls("\tcmpq\t%rax, -8(%rbp)\n\tjne\t.L2\n"), 1);
        assert_eq!(calls("\tcmpq\t8(%rax,%rcx,4), %rdx\n\tmovl\t$1, %eax\n\tsete\t%al\n"), 1);
        assert_eq!(calls("\tsubq\t%rcx, %rax\n\tje\t.L2\n"), 1);
        assert_eq!(calls("\tcmpq\t%rcx, %rax\n.Ltmp3:\n\t.loc\t1 4 17\n\tjne\t.LBB0_2\n"), 1);
        assert_eq!(calls("\tcmpq\t$0, -8(%rbp)\n\tjne\t.L2\n"), 0);
        assert_eq!(calls("\tcmpq\t%rax, %rdx\n\tjs\t.L2\n"), 0);
        assert_eq!(calls("\tcmpl\t%eax, %edx\n\tje\t.L2\n"), 0);
        assert_eq!(
            mark("f:\n\tcmpq\t%rax, %rdx\n\tje\t.L2\n".to_owned()),
            "f:\n\tcmpq\t%rax, %rdx\n\tje\t.L2\n"
        );
    }

    /// The name of the call.
    fn name(line: &str) -> String {
        let text = mark(format!("f:\n\tcall\tpthread_self@PLT\n{line}\n\tret\n"));
        text.split_once(MARK).map_or("", |(_, l)| l.lines().next().unwrap_or("")).to_owned()
    }

    #[test]
    fn instructions_that_take_addresses_for_numbers_get_a_call() {
        assert_eq!(name("\tcmpq\t%rax, %rdx\n\tsetb\t%al"), "order;%rax;%rdx");
        assert_eq!(name("\tsubq\t%rcx, %rax\n\tmovq\t%rax, -8(%rbp)"), "order;%rcx;%rax");
        assert_eq!(name("\tshrq\t$4, %rax"), "number;%rax;$0");
        assert_eq!(name("\tmulq\t%rdx"), "number;%rdx;%rax");
        assert_eq!(name("\timulq\t$1021, %rdx, %rax"), "number;%rdx;$0");
        assert_eq!(name("\tdivq\t-8(%rbp)"), "number;%rax;$0");
        assert_eq!(name("\tandl\t$1023, %ecx"), "number;%rcx;$1023");
        assert_eq!(name("\tandq\t$-4096, %rcx"), "number;%rcx;$-4096");
        // Tags, tests for null, parts of words.
        for line in [
            "andl\t$15, %eax",
            "andq\t$7, %rax",
            "testq\t%rax, %rax",
            "shrl\t$4, %eax",
            "shrq\t$48, %rax",
            "shrq\t$4, %rax\n\tsalq\t$4, %rax",
            "shrq\t$3, %rax\n\tleaq\t0(,%rax,8), %rax",
            "andl\t$-16, %eax",
            "andq\t$-16, %rsp",
            "subq\t$64, %rsp",
            "imull\t%edx, %eax",
            "xorl\t%eax, %eax",
        ] {
            assert_eq!(name(&format!("\t{line}")), "", "{line}");
        }
    }
}
