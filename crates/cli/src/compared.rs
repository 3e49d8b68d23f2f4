//! Instructions that look at addresses and handles of threads as numbers: a pass over the assembly adds calls in front of them.
//!
//! The C library gives the handle of a thread that has ended to a later one, and the address of a freed block to a later one, and their order is
//! not fixed. A program that compares two of them, or computes with them, can tell; raddle gives out each handle once, and not every address again.
//! So what such an instruction may find otherwise is named in the report. `pthread_equal` is a call; `a == b` is not.
//! In a source that makes threads or uses the heap, each comparison of two values of eight bytes gets a call, and so do differences, and
//! instructions that pointer arithmetic does not need: shifts, products, quotients, `^`, `~`, `&` of more than the lowest four bits, and uses of a
//! part of a value of eight bytes (`(uint32_t)(uintptr_t)p`, [`Narrow`]). The call is made only if the values may be addresses, and where it can
//! matter (`__raddle_looks_at_comparisons`). Reads of parts of a word through a pointer are calls already: the runtime looks at these itself.
//!
//! As in `weak`, the instructions are found before `touches` adds calls to the assembly, and get theirs behind it.

use crate::asm::{self, Instruction, Operand};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const MARK: &str = "# raddle looks: ";
/// A source that mentions none of these has neither handles nor addresses that come back, or leaves them alone.
const SUBJECTS: [&str; 10] = [
    "sigaltstack",
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
    let (mut is_exempt, mut is_inline, mut is_undone) = (false, false, false);
    let slots = wide_slots(&lines);
    let mut narrow = Narrow::new(&lines);
    let mut slots_here = slots.get(&0);
    for (i, line) in lines.iter().enumerate() {
        match line.trim() {
            "#APP" => is_inline = true,
            "#NO_APP" => is_inline = false,
            _ => {}
        }
        if !line.starts_with([' ', '\t', '.', '#']) && line.contains(':') {
            // `basic_string` asks whether a piece of text is its own: whatever the order is, the answer is no for any other block.
            is_exempt = line.contains("_M_disjunct");
            slots_here = slots.get(&(i + 1));
        }
        if is_inline {
            narrow.forget();
            continue;
        }
        let part = narrow.look(line, slots_here);
        let undoes = is_undone;
        if let Some(instruction) = asm::parse(line) {
            is_undone = is_undone_next(&instruction, &lines[i + 1..]);
        }
        if undoes {
            continue;
        }
        if let Some(look) = look(line, &lines[i + 1..]).filter(|l| !is_exempt || l.name != "order") {
            marked.insert(i, look);
        } else if let Some(value) = part {
            marked.insert(i, Look { name: "number", a: value, b: "$0".to_owned(), keeps_flags: true });
        }
    }
    if marked.is_empty() {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1024);
    for (i, line) in lines.iter().enumerate() {
        out += line;
        if let Some(look) = marked.get(&i) {
            let keeps = if look.keeps_flags && uses_flags(&lines[i + 1..]) { ";flags" } else { "" };
            let _ = write!(out, "\t{MARK}{};{};{}{keeps}", look.name, look.a, look.b);
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
    /// The instruction leaves flags as they are, and those behind it may use them.
    keeps_flags: bool,
}

/// The slots of eight bytes that a function writes as a whole, by their distance from `%rbp`.
type Slots = BTreeSet<i64>;

/// These slots of each function, by the line behind its label.
fn wide_slots(lines: &[&str]) -> BTreeMap<usize, Slots> {
    let mut all = BTreeMap::new();
    let mut now: Option<(usize, Slots)> = None;
    for (i, line) in lines.iter().enumerate() {
        if !line.starts_with([' ', '\t', '.', '#']) && line.contains(':') {
            all.extend(now.replace((i + 1, Slots::new())));
        } else if let Some((_, slots)) = &mut now
            && line.trim_start().starts_with("movq")
            && let Some(Operand::Memory(m)) = asm::parse(line).as_ref().and_then(|i| i.operands.last())
        {
            slots.extend(slot(m));
        }
    }
    all.extend(now);
    all
}

/// The distance of a slot of the frame from `%rbp`.
fn slot(m: &asm::Memory<'_>) -> Option<i64> {
    let is_slot = m.base == Some("%rbp") && m.index.is_none() && !m.has_segment;
    m.displacement.parse().ok().filter(|_| is_slot)
}

/// Finds uses of a part of a value of eight bytes: the lower half of a register that was set as a whole, and of a slot of the frame that
/// is written as a whole. The rest of the address is gone for the instructions behind, so the whole value is looked at here.
#[derive(Default)]
struct Narrow<'a> {
    /// Functions of the file that return a value of eight bytes, or leave one in the register of the result.
    returning: BTreeSet<&'a str>,
    /// By number: the register was set to a value of eight bytes that may be an address, with no label since.
    is_wide: [bool; 16],
}

impl<'a> Narrow<'a> {
    fn new(lines: &[&'a str]) -> Narrow<'a> {
        let mut found = Narrow::default();
        let mut name = "";
        let mut returning = BTreeSet::new();
        for line in lines {
            if !line.starts_with([' ', '\t', '.', '#'])
                && let Some((label, _)) = line.split_once(':')
            {
                name = label;
            }
            if line.trim_start().starts_with("ret") && found.is_wide[0] {
                returning.insert(name);
            }
            found.look(line, None);
        }
        Narrow { returning, ..Narrow::default() }
    }

    fn forget(&mut self) {
        self.is_wide = [false; 16];
    }

    /// Looks at the next line. Gives the value of eight bytes of which the instruction uses a part.
    fn look(&mut self, line: &str, slots: Option<&Slots>) -> Option<String> {
        if !line.starts_with([' ', '\t', '.', '#']) || line.starts_with(".L") && line.contains(':') {
            self.forget();
            return None;
        }
        let i = asm::parse(line)?;
        let sets_only = i.mnemonic.starts_with("mov")
            || i.mnemonic.starts_with("set")
            || i.mnemonic.starts_with("lea")
            || i.mnemonic.starts_with("pop");
        let last = i.operands.len().saturating_sub(1);
        let is_zero = i.operands.len() == 2 && i.operands[0] == i.operands[1] && !sets_only;
        let is_masked = i.mnemonic.starts_with("and") || i.mnemonic.starts_with("test");
        let is_jump = i.mnemonic.starts_with('j') || i.mnemonic.starts_with("call");
        let mut found = None;
        if !is_zero && !is_masked && !is_jump {
            for (at, operand) in i.operands.iter().enumerate() {
                match operand {
                    Operand::Register(r) if at != last || !sets_only && i.operands.len() < 3 => {
                        let number = asm::register_number(r).filter(|n| self.is_wide[*n]);
                        let is_part = (1..8).contains(&asm::register_bytes(r));
                        // A distance of a shift is not an address.
                        let is_distance = *r == "%cl" && i.operands.len() == 2 && !sets_only;
                        if let Some(n) = number.filter(|_| is_part && !is_distance) {
                            found = Some(WIDE[n].to_owned());
                        }
                    }
                    Operand::Memory(m) if sets_only && at == 0 && !i.mnemonic.starts_with("lea") => {
                        let narrow = ["movl", "movz", "movs", "movw", "movb"];
                        if narrow.iter().any(|n| i.mnemonic.starts_with(n))
                            && let Some(at) = slot(m)
                            && let Some(whole) = slots.and_then(|s| s.range(at - 7..=at).next_back().copied())
                        {
                            found = Some(format!("{whole}(%rbp)"));
                        }
                    }
                    _ => {}
                }
            }
            if matches!(i.mnemonic, "cltq" | "cdqe" | "cwtl" | "cltd") && self.is_wide[0] {
                found = Some("%rax".to_owned());
            }
        }
        self.update(&i);
        found
    }

    fn update(&mut self, i: &Instruction<'_>) {
        if i.mnemonic.starts_with("call") {
            // The upper half of `rax` is undefined behind a function with a narrow result.
            let is_wide = match i.operands.first() {
                Some(Operand::Memory(m)) => self.returning.contains(m.text),
                _ => false,
            };
            let kept = self.is_wide;
            self.forget();
            for n in [3, 5, 12, 13, 14, 15] {
                self.is_wide[n] = kept[n];
            }
            self.is_wide[0] = is_wide;
            return;
        }
        match i.operands.last() {
            Some(Operand::Register(r)) => {
                let Some(n) = asm::register_number(r) else { return };
                // A comparison changes neither.
                if !i.mnemonic.starts_with("cmp") && !i.mnemonic.starts_with("test") {
                    let from_vector =
                        matches!(i.operands.first(), Some(Operand::Register(r)) if r.contains("mm"));
                    let is_whole = matches!(i.mnemonic, "movq" | "addq" | "leaq");
                    self.is_wide[n] = is_whole && !from_vector && !matches!(*r, "%rsp" | "%rbp");
                }
            }
            _ if i.operands.is_empty() => self.is_wide[0] = false,
            _ => {}
        }
        if i.mnemonic.starts_with("xchg") || i.mnemonic.starts_with("cmpxchg") {
            self.forget();
        }
    }
}

/// Whether an instruction behind uses the flags as they are. Where this is not certain they count as used.
fn uses_flags(behind: &[&str]) -> bool {
    for line in behind {
        let text = line.trim();
        if text.starts_with(".L") && text.contains(':') || !line.starts_with([' ', '\t', '.', '#']) {
            return true;
        }
        let Some(i) = asm::parse(line) else { continue };
        let m = i.mnemonic;
        if m.starts_with("call") || m.starts_with("ret") || m == "leave" {
            return false;
        }
        if SETS_FLAGS.iter().any(|s| m.strip_suffix(['b', 'w', 'l', 'q']).unwrap_or(m) == *s) {
            return false;
        }
        if !m.starts_with("mov") && !m.starts_with("lea") && !matches!(m, "cltq" | "cltd" | "cqto" | "nop") {
            return true;
        }
    }
    true
}

/// Instructions that set all flags and use none.
const SETS_FLAGS: [&str; 8] = ["cmp", "test", "add", "sub", "and", "or", "xor", "neg"];

fn look(line: &str, behind: &[&str]) -> Option<Look> {
    // Most lines are others.
    let word = line.trim_start();
    if !LOOKING.iter().any(|l| word.starts_with(l)) {
        return None;
    }
    let i = asm::parse(line)?;
    let pair = |name| {
        let [a, b] = &i.operands[..] else { return None };
        Some(Look { name, a: pushed(a)?, b: pushed(b)?, keeps_flags: false })
    };
    let one = |name, a: &Operand<'_>, b: &str| {
        Some(Look { name, a: pushed(a)?, b: b.to_owned(), keeps_flags: false })
    };
    let keeping = |a: &Operand<'_>| Some(Look { keeps_flags: true, ..one("number", a, "$0")? });
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
        // Of an index a shift to the left makes an offset, and of an address a number.
        "salq" | "shlq" => match &i.operands[..] {
            [Operand::Immediate(n), value] if n.parse().is_ok_and(|n: u32| n < 32) => {
                one("number", value, "$0")
            }
            [_, value] | [value] => one("number", value, "$0"),
            _ => None,
        },
        "addq" if i.operands.first() == i.operands.last() => one("number", i.operands.last()?, "$0"),
        "negq" => one("number", i.operands.last()?, "$0"),
        "notq" | "bswapq" | "bswap" | "cvtsi2sdq" | "cvtsi2ssq" => keeping(match i.operands.first()? {
            operand @ (Operand::Register(_) | Operand::Memory(_)) => operand,
            Operand::Immediate(_) => return None,
        }),
        "leaq" => match &i.operands[..] {
            [Operand::Memory(m), _] if m.scale > 1 => {
                // The index of a sum is an index, unless it is the base as well.
                let is_product = m.base.is_none() || m.base == m.index;
                keeping(&Operand::Register(m.index.filter(|_| is_product)?))
            }
            _ => None,
        },
        "mulq" => one("number", i.operands.first()?, "%rax"),
        "divq" | "idivq" => one("number", &Operand::Register("%rax"), "$0"),
        "imulq" => match &i.operands[..] {
            [Operand::Immediate(_), a, _] | [Operand::Immediate(_), a] => one("number", a, "$0"),
            [_, _] => pair("number"),
            [a] => one("number", a, "%rax"),
            _ => None,
        },
        _ => None,
    }
}

/// How the instructions begin that are looked at.
const LOOKING: [&str; 24] = [
    "cmpq",
    "subq",
    "xorq",
    "andq",
    "andl",
    "testq",
    "testl",
    "shrq",
    "sarq",
    "rolq",
    "rorq",
    "mulq",
    "divq",
    "idivq",
    "imulq",
    "salq",
    "shlq",
    "addq",
    "negq",
    "notq",
    "bswap",
    "cvtsi2sdq",
    "cvtsi2ssq",
    "leaq",
];

/// Whether an instruction is a shift to the right that the next one undoes.
fn is_undone_next(i: &Instruction<'_>, behind: &[&str]) -> bool {
    let ("shrq" | "sarq", [Operand::Immediate(n), value]) = (i.mnemonic, &i.operands[..]) else {
        return false;
    };
    n.parse().is_ok_and(|bits| is_shifted_back(value, bits, behind))
}

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
            Some(Look { name: "number", a: pushed(&wide)?, b: format!("${mask}"), keeps_flags: false })
        }
        // Whether it is null.
        _ if mask == value || !is_long => None,
        _ => Some(Look { name: "number", a: pushed(mask)?, b: pushed(value)?, keeps_flags: false }),
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
            let keeps_flags = parts.next().is_some();
            if keeps_flags {
                out.push_str("\tleaq\t-128(%rsp), %rsp\n\tpushfq\n");
            }
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
            if name != "number" {
                // Most pairs of addresses lie in one block that the runtime knows.
                let [p, q] = scratch(a, b);
                let _ = writeln!(
                    out,
                    "\tleaq\t-128(%rsp), %rsp\n\tpushq\t{p}\n\tpushq\t{q}\n\tmovq\t__raddle_near@GOTPCREL(%rip), {p}\n\
                     \tmovq\t{a}, {q}\n\tsubq\t({p}), {q}\n\tcmpq\t8({p}), {q}\n\tja\t772772f\n\
                     \tmovq\t{b}, {q}\n\tsubq\t({p}), {q}\n\tcmpq\t8({p}), {q}\n772772:\n\
                     \tpopq\t{q}\n\tpopq\t{p}\n\tleaq\t128(%rsp), %rsp\n\tjbe\t772777f"
                );
            }
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
            if keeps_flags {
                out.push_str("\tpopfq\n\tleaq\t128(%rsp), %rsp\n");
            }
        }
        let _ = writeln!(out, "{code}");
    }
    out
}

/// Two registers of which the operands do not depend.
fn scratch(a: &str, b: &str) -> [&'static str; 2] {
    let mut free = ["%r11", "%r10", "%r9", "%r8", "%rdi", "%rsi"].into_iter();
    // Two operands mention at most four registers.
    std::array::from_fn(|_| free.find(|r| !a.contains(r) && !b.contains(r)).unwrap_or("%rax"))
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
        assert_eq!(name("\tsalq\t$3, %rax\n\taddq\t$1, %rax"), "number;%rax;$0");
        assert_eq!(name("\tnotq\t%rax\n\tcmpq\t%rax, %rcx"), "number;%rax;$0");
        assert_eq!(name("\tleaq\t0(,%rdx,8), %rax\n\tjne\t.L2"), "number;%rdx;$0;flags");
        // Parts of values of eight bytes.
        assert_eq!(
            name("\tmovq\t-8(%rbp), %rax\n\timull\t$-1640531535, %eax, %eax\n\tret"),
            "number;%rax;$0"
        );
        assert_eq!(name("\tmovq\t-8(%rbp), %rdx\n\tmovzwl\t%dx, %ebx\n\tje\t.L2"), "number;%rdx;$0;flags");
        assert_eq!(name("\tmovq\t%rax, -8(%rbp)\n\tmovl\t-4(%rbp), %edx\n\tret"), "number;-8(%rbp);$0");
        assert_eq!(
            name("\tmovq\t-8(%rbp), %rax\n\tret\ng:\n\tcall\tf\n\tmovl\t%eax, -4(%rbp)\n\tret"),
            "number;%rax;$0"
        );
        assert_eq!(
            name("\tmovq\t-8(%rbp), %rax\n\tsetb\t%al\n\tret\ng:\n\tcall\tf\n\tmovl\t%eax, -4(%rbp)"),
            ""
        );
        assert_eq!(name("\tmovq\t-8(%rbp), %rax\n\tmovl\t(%rax), %eax\n\tmovl\t%eax, -4(%rbp)"), "");
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
