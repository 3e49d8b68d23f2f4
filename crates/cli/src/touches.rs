//! Accesses that the compiler's instrumentation does not announce: a pass over the assembly adds calls in front of them.
//!
//! gcc and clang announce most accesses by calls of `__tsan_*`, and leave out some: structures that are passed and returned by value,
//! built-in functions that are expanded inline, string instructions, vectors, fields of local structures. The pass follows
//! the values of registers and stack slots through each basic block, so that it knows which address a call announces. Each
//! announcement covers one access of its kind. An access that none covers gets a call of `__raddle_touch_*`, which saves all registers.
//!
//! Inline assembly is rewritten too: an instruction that loads, stores or modifies one memory operand becomes an atomic step, and
//! instructions that order accesses become fences. Other inline assembly is a caveat.
//!
//! **Invariant:** the added code changes neither registers nor flags, and keeps the red zone.

use crate::asm::{self, Instruction, Memory, Operand, Text};
use explore::{Caveat, CaveatKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;

/// Rewrites the assembly of one source file. `mentions_attribute`: the source may switch off instrumentation for some functions, so that
/// a function without any announcement is not known to be instrumented.
pub(crate) fn rewrite(text: &str, mentions_attribute: bool) -> (String, Vec<Caveat>) {
    let lines: Vec<&str> = text.lines().collect();
    let functions = functions(&lines);
    let constants = constants(&lines);
    // Where clang's exceptions land: the tables say it in a comment.
    let landings: BTreeSet<&str> =
        lines.iter().filter_map(|l| l.split_once("jumps to ")).map(|(_, label)| label.trim()).collect();
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    let mut caveats = Vec::new();
    let mut places = Places::default();
    let mut at = 0;
    for function in &functions {
        for line in &lines[at..function.start] {
            places.see(line);
            out.push_str(line);
            out.push('\n');
        }
        let mut pass = Pass::new(function, &lines, (&constants, &landings), mentions_attribute);
        pass.run(&mut out, &mut places, &mut caveats);
        at = function.end;
    }
    for line in &lines[at..] {
        out.push_str(line);
        out.push('\n');
    }
    (out, caveats)
}

/// The lines of one function.
struct Function<'a> {
    name: &'a str,
    start: usize,
    end: usize,
    /// It announces accesses, so it is instrumented.
    announces: bool,
}

/// Finds the functions of a file: from a label that is a function to its `.size`.
fn functions<'a>(lines: &[&'a str]) -> Vec<Function<'a>> {
    let mut names = BTreeSet::new();
    for line in lines {
        if let Some((name, kind)) = line.trim().strip_prefix(".type").and_then(|r| r.split_once(','))
            && kind.contains("function")
        {
            names.insert(name.trim());
        }
    }
    let mut all: Vec<Function<'a>> = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut inside = false;
    for (i, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        inside = match trimmed {
            "#APP" | "# Start of file scope inline assembly" => true,
            "#NO_APP" | "# End of file scope inline assembly" => false,
            _ => inside,
        };
        if inside {
            // Assembly that defines functions of its own is not the compiler's.
        } else if let Some(name) = label(line).filter(|l| names.contains(l)) {
            open = Some((name, i + 1));
        } else if trimmed.starts_with(".size")
            && let Some((name, start)) = open
            && trimmed[5..].trim_start().starts_with(name)
        {
            let announces = lines[start..i].iter().any(|l| l.contains("__tsan_func_entry"));
            all.push(Function { name, start, end: i, announces });
            open = None;
        }
    }
    // gcc moves unlikely parts of a function away.
    let announcing: BTreeSet<&str> = all.iter().filter(|f| f.announces).map(|f| f.name).collect();
    for function in &mut all {
        let whole = function.name.strip_suffix(".cold").unwrap_or(function.name);
        function.announces |= announcing.contains(whole);
    }
    all
}

/// The label that a line defines.
fn label(line: &str) -> Option<&str> {
    let name = line.split_once(':')?.0;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_$.@".contains(c);
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
}

/// Labels of data that is never written.
fn constants<'a>(lines: &[&'a str]) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut constant = false;
    for line in lines {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix(".section") {
            let name = rest.trim_start();
            constant = name.starts_with(".rodata") || name.starts_with(".data.rel.ro");
        } else if matches!(trimmed.split_whitespace().next(), Some(".text" | ".data" | ".bss")) {
            constant = false;
        } else if constant && let Some(name) = label(line) {
            found.insert(name);
        }
    }
    found
}

/// Where the assembly at hand comes from.
#[derive(Default)]
struct Places {
    files: BTreeMap<u32, String>,
    now: Option<(String, u32)>,
}

impl Places {
    fn see(&mut self, line: &str) {
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix(".file") {
            if let Some((number, name)) = file(rest) {
                self.files.insert(number, name);
            }
        } else if let Some(rest) = trimmed.strip_prefix(".loc") {
            let mut numbers = rest.split_whitespace().map_while(|n| n.parse::<u32>().ok());
            if let (Some(file), Some(line)) = (numbers.next(), numbers.next()) {
                self.now = self.files.get(&file).map(|f| (f.clone(), line)).filter(|_| line > 0);
            }
        }
    }

    /// gcc marks the line of each piece of inline assembly.
    fn mark(&mut self, line: &str) {
        if let Some((number, name)) = line.trim().strip_prefix("# ").and_then(|r| r.split_once(' '))
            && let Some(number) = number.parse().ok().filter(|n| *n > 0)
            && let Some(name) = name.split('"').nth(1)
        {
            self.now = Some((name.to_owned(), number));
        }
    }
}

/// `0 "directory" "name" md5 ...` or `1 "name"`.
fn file(rest: &str) -> Option<(u32, String)> {
    let (number, names) = rest.trim_start().split_once(char::is_whitespace)?;
    let name = names.split('"').skip(1).step_by(2).last()?;
    Some((number.parse().ok()?, name.to_owned()))
}

/// A value as a sum of atoms with factors, and a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
struct Value {
    terms: Vec<(u32, i64)>,
    constant: i64,
}

impl Value {
    fn number(constant: i64) -> Value {
        Value { terms: Vec::new(), constant }
    }

    fn plus(&self, other: &Value, factor: i64) -> Value {
        let mut sum: BTreeMap<u32, i64> = self.terms.iter().copied().collect();
        for (atom, n) in &other.terms {
            let entry = sum.entry(*atom).or_default();
            *entry = entry.wrapping_add(n.wrapping_mul(factor));
        }
        Value {
            terms: sum.into_iter().filter(|(_, n)| *n != 0).collect(),
            constant: self.constant.wrapping_add(other.constant.wrapping_mul(factor)),
        }
    }

    fn moved(&self, by: i64) -> Value {
        Value { terms: self.terms.clone(), constant: self.constant.wrapping_add(by) }
    }
}

/// What a value is made of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Atom {
    /// The address of a symbol.
    Symbol(String),
    /// The stack pointer at the start of the function.
    Stack,
    /// A value about which nothing is known.
    Fresh(u32),
    /// The lower half of a value, with zeros or with its sign above.
    Half { signed: bool, of: Value },
}

/// An announcement that no access has used yet.
struct Announced {
    address: Value,
    length: i64,
    /// How many bytes accesses may still use up.
    left: i64,
    write: bool,
}

const RAX: usize = 0;
const RCX: usize = 1;
const RDX: usize = 2;
const RSP: usize = 4;
const RBP: usize = 5;
const RSI: usize = 6;
const RDI: usize = 7;

struct Pass<'a, 'b> {
    function: &'b Function<'a>,
    lines: &'b [&'a str],
    constants: &'b BTreeSet<&'a str>,
    /// Labels at which exceptions land.
    landings: &'b BTreeSet<&'a str>,
    /// Accesses that nothing covers are noted at run time, not checked: the function may contain atomic accesses that look like others.
    only_noted: bool,
    /// It keeps the address of its frame in `rbp`.
    has_frame: bool,
    /// The address of a slot of the frame gets out.
    leaks_frame: bool,
    /// It uses registers that only a full save keeps.
    is_wide: bool,
    atoms: HashMap<Atom, u32>,
    fresh: u32,
    registers: [Value; 16],
    /// Registers that hold the address of one variable in the whole function.
    fixed: Vec<(usize, Value)>,
    slots: BTreeMap<i64, (u32, Value)>,
    announced: Vec<Announced>,
    /// The size of the atomic load that was called last, with no other call since.
    left_behind: Option<i64>,
    /// The unwinder finds the frame by the stack pointer here.
    by_stack_pointer: bool,
}

impl<'a, 'b> Pass<'a, 'b> {
    fn new(
        function: &'b Function<'a>,
        lines: &'b [&'a str],
        (constants, landings): (&'b BTreeSet<&'a str>, &'b BTreeSet<&'a str>),
        mentions_attribute: bool,
    ) -> Pass<'a, 'b> {
        let body = &lines[function.start..function.end];
        let code = || body.iter().map(|l| asm::without_comment(l));
        let is_wide = code().any(|l| {
            l.contains("%ymm") || l.contains("%zmm") || l.contains("%st") || {
                let word = l.trim_start();
                word.starts_with('f') && !word.starts_with("fence")
            }
        });
        let has_frame = code().any(|l| {
            let mut words = l.split([' ', '\t', ',']).filter(|w| !w.is_empty());
            words.next() == Some("movq") && words.next() == Some("%rsp") && words.next() == Some("%rbp")
        });
        let mut pass = Pass {
            function,
            lines,
            constants,
            landings,
            only_noted: !function.announces && mentions_attribute,
            has_frame,
            leaks_frame: false,
            is_wide,
            atoms: HashMap::new(),
            fresh: 0,
            registers: Default::default(),
            fixed: Vec::new(),
            slots: BTreeMap::new(),
            announced: Vec::new(),
            left_behind: None,
            by_stack_pointer: true,
        };
        pass.leaks_frame = pass.finds_leak(body);
        pass.forget();
        pass.fixed = pass.find_fixed(body);
        pass
    }

    /// Finds the registers that calls preserve and that the function sets once, to the address of a variable. clang keeps addresses
    /// in such registers over loops.
    fn find_fixed(&mut self, body: &[&str]) -> Vec<(usize, Value)> {
        const PRESERVED: [usize; 6] = [3, RBP, 12, 13, 14, 15];
        let mut found: Vec<(usize, Option<Value>)> = Vec::new();
        for line in body {
            let Some(i) = asm::parse(line) else { continue };
            if i.mnemonic.starts_with("push") || i.mnemonic.starts_with("pop") {
                continue;
            }
            let changes_all = i.mnemonic.contains("xchg") || i.mnemonic.contains("xadd");
            for (at, operand) in i.operands.iter().enumerate() {
                let Operand::Register(name) = operand else { continue };
                let Some(register) = asm::register_number(name).filter(|r| PRESERVED.contains(r)) else {
                    continue;
                };
                if at + 1 < i.operands.len() && !changes_all {
                    continue;
                }
                let value = match &i.operands[..] {
                    [Operand::Memory(m), _] if i.mnemonic == "leaq" && m.base == Some("%rip") => {
                        Some(self.address(m))
                    }
                    _ => None,
                };
                match found.iter_mut().find(|f| f.0 == register) {
                    Some(other) => other.1 = None,
                    None => found.push((register, value)),
                }
            }
        }
        found.into_iter().filter_map(|(register, value)| Some((register, value?))).collect()
    }

    /// Whether the address of a slot is stored, or handed to a function other than an announcement.
    fn finds_leak(&self, body: &[&str]) -> bool {
        let mut holders = BTreeSet::new();
        for line in body {
            let Some(i) = asm::parse(line) else { continue };
            if i.mnemonic.starts_with("lea")
                && let [Operand::Memory(m), Operand::Register(to)] = &i.operands[..]
            {
                if m.is_frame() && (m.base != Some("%rbp") || self.has_frame) {
                    holders.extend(asm::register_number(to));
                } else if !m.base.and_then(asm::register_number).is_some_and(|b| holders.contains(&b))
                    && let Some(to) = asm::register_number(to)
                {
                    holders.remove(&to);
                }
                continue;
            }
            if i.mnemonic.starts_with("call") {
                let target = line.trim();
                let is_hook = target.contains("__tsan_") && !target.contains("__tsan_mem");
                if !is_hook && !holders.is_empty() {
                    return true;
                }
                holders.clear();
                continue;
            }
            match &i.operands[..] {
                [Operand::Register(from), to] if i.mnemonic.starts_with("mov") => {
                    let held = asm::register_number(from).is_some_and(|r| holders.contains(&r));
                    match to {
                        Operand::Memory(_) if held => return true,
                        Operand::Register(to) => {
                            if let Some(to) = asm::register_number(to) {
                                if held {
                                    holders.insert(to);
                                } else {
                                    holders.remove(&to);
                                }
                            }
                        }
                        _ => {}
                    }
                }
                [_, Operand::Register(to)] if i.mnemonic.starts_with("mov") => {
                    if let Some(to) = asm::register_number(to) {
                        holders.remove(&to);
                    }
                }
                _ => {}
            }
        }
        false
    }

    fn atom(&mut self, atom: Atom) -> Value {
        let next = self.atoms.len() as u32;
        let number = *self.atoms.entry(atom).or_insert(next);
        Value { terms: vec![(number, 1)], constant: 0 }
    }

    fn unknown(&mut self) -> Value {
        self.fresh += 1;
        self.atom(Atom::Fresh(self.fresh))
    }

    /// A new basic block starts: only the frame is known.
    fn forget(&mut self) {
        for r in 0..16 {
            if r != RBP || !self.has_frame {
                self.registers[r] = self.unknown();
            } else {
                self.registers[r] = self.atom(Atom::Stack);
            }
        }
        for (register, value) in &self.fixed {
            self.registers[*register] = value.clone();
        }
        self.slots.clear();
        self.announced.clear();
        self.left_behind = None;
    }

    /// The address that an operand stands for.
    fn address(&mut self, m: &Memory<'_>) -> Value {
        let mut sum = Value::default();
        let text = m.displacement.replace(' ', "");
        // `8+g`, `g-4`, `-8`, `g@tpoff`.
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let sign = if let Some(r) = rest.strip_prefix('-') {
                rest = r;
                -1
            } else {
                rest = rest.strip_prefix('+').unwrap_or(rest);
                1
            };
            let end = rest.find(['+', '-']).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            rest = tail;
            let number = word
                .strip_prefix("0x")
                .map_or_else(|| word.parse::<i64>().ok(), |h| i64::from_str_radix(h, 16).ok());
            let term = match number {
                Some(n) => Value::number(n),
                None => self.atom(Atom::Symbol(word.to_owned())),
            };
            sum = sum.plus(&term, sign);
        }
        for (register, factor) in [(m.base, 1), (m.index, m.scale)] {
            if let Some(register) = register.filter(|r| *r != "%rip") {
                let value = self.register(register);
                sum = sum.plus(&value, factor);
            }
        }
        sum
    }

    fn register(&mut self, name: &str) -> Value {
        match asm::register_number(name) {
            Some(n) => self.registers[n].clone(),
            None => self.unknown(),
        }
    }

    /// The offset of a slot of the frame, if the address is one.
    fn slot(&mut self, address: &Value) -> Option<i64> {
        let stack = self.atom(Atom::Stack);
        (address.terms == stack.terms).then_some(address.constant)
    }

    fn set(&mut self, name: &str, value: Value) {
        let Some(n) = asm::register_number(name) else { return };
        self.registers[n] = match asm::register_bytes(name) {
            8 | 4 => value,
            _ => self.unknown(),
        };
    }

    fn half(&mut self, signed: bool, of: Value) -> Value {
        // A half that is already extended with zeros stays what it is.
        if let [(atom, 1)] = of.terms[..]
            && of.constant == 0
            && !signed
            && self.atoms.iter().any(|(a, n)| *n == atom && matches!(a, Atom::Half { signed: false, .. }))
        {
            return of;
        }
        self.atom(Atom::Half { signed, of })
    }

    /// What an operand of some size holds.
    fn read(&mut self, operand: &Operand<'_>, bytes: u32) -> Value {
        match operand {
            Operand::Register(r) => {
                let value = self.register(r);
                if asm::register_bytes(r) == 8 {
                    value
                } else if asm::register_bytes(r) == 4 {
                    self.half(false, value)
                } else {
                    self.unknown()
                }
            }
            Operand::Immediate(text) => text
                .parse()
                .map(Value::number)
                .unwrap_or_else(|_| self.atom(Atom::Symbol(format!("${text}")))),
            Operand::Memory(m) if !m.has_segment => {
                let address = self.address(m);
                let Some(slot) = self.slot(&address) else { return self.unknown() };
                if let Some((size, value)) = self.slots.get(&slot)
                    && *size == bytes
                {
                    return value.clone();
                }
                let value = self.unknown();
                let value = if bytes == 4 { self.half(false, value) } else { value };
                if !self
                    .slots
                    .range(slot - 7..slot + i64::from(bytes))
                    .any(|(at, (size, _))| at + i64::from(*size) > slot)
                {
                    self.slots.insert(slot, (bytes, value.clone()));
                }
                value
            }
            Operand::Memory(_) => self.unknown(),
        }
    }

    /// A write to memory: slots that it may change are forgotten.
    fn wrote(&mut self, m: &Memory<'_>, bytes: u32, value: Option<Value>) {
        if m.has_segment {
            return;
        }
        let address = self.address(m);
        let Some(slot) = self.slot(&address) else {
            // A pointer may lead to the frame if its address got out.
            if self.leaks_frame && !m.displacement.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            {
                self.slots.clear();
            }
            return;
        };
        let end = slot + i64::from(bytes.max(1));
        let hit: Vec<i64> = self
            .slots
            .range(slot - 64..end)
            .filter(|(at, (n, _))| **at + i64::from(*n) > slot)
            .map(|(at, _)| *at)
            .collect();
        hit.iter().for_each(|at| {
            self.slots.remove(at);
        });
        if let Some(value) = value {
            self.slots.insert(slot, (bytes, value));
        }
    }

    /// Follows what an instruction does to registers and slots.
    fn step(&mut self, i: &Instruction<'_>) {
        let m = i.mnemonic;
        match (m, &i.operands[..]) {
            ("movq" | "movl" | "mov" | "movabsq", [from, Operand::Register(to)])
                if asm::register_number(to).is_some() =>
            {
                let bytes = asm::register_bytes(to);
                let value = self.read(from, bytes);
                let value = if bytes == 4 { self.half_of(value) } else { value };
                self.set(to, value);
            }
            ("movq" | "movl", [from, Operand::Memory(to)]) => {
                let bytes = if m == "movq" { 8 } else { 4 };
                let vector = matches!(from, Operand::Register(r) if asm::register_number(r).is_none());
                let value = if vector { None } else { Some(self.read(from, bytes)) };
                self.wrote(to, bytes, value);
            }
            ("cltq", []) => {
                let value = self.registers[RAX].clone();
                self.registers[RAX] = self.half(true, value);
            }
            ("movslq", [from, Operand::Register(to)]) => {
                let value = match from {
                    Operand::Register(r) => self.register(r),
                    other => self.read(other, 4),
                };
                let value = self.half(true, value);
                self.set(to, value);
            }
            ("leaq" | "leal" | "lea", [Operand::Memory(from), Operand::Register(to)]) => {
                let value = self.address(from);
                let value = if asm::register_bytes(to) == 4 { self.half(false, value) } else { value };
                self.set(to, value);
            }
            ("addq" | "subq", [from, Operand::Register(to)]) => {
                let (a, b) = (self.register(to), self.read(from, 8));
                self.set(to, a.plus(&b, if m == "addq" { 1 } else { -1 }));
            }
            ("salq" | "shlq", [Operand::Immediate(n), Operand::Register(to)]) => {
                let (value, by) = (self.register(to), n.parse::<u32>().unwrap_or(63));
                let value = if by < 32 { Value::default().plus(&value, 1 << by) } else { self.unknown() };
                self.set(to, value);
            }
            ("addl" | "subl" | "sall" | "shll" | "andl" | "orl" | "xorl", [from, Operand::Register(to)]) => {
                let value = if m == "xorl" && *from == Operand::Register(to) {
                    Value::number(0)
                } else if m == "addl" || m == "subl" {
                    let (a, b) = (self.register(to), self.read(from, 4));
                    let sum = a.plus(&b, if m == "addl" { 1 } else { -1 });
                    self.half(false, sum)
                } else {
                    self.unknown()
                };
                self.set(to, value);
            }
            ("pushq" | "push", [from]) => {
                let value = self.read(from, 8);
                self.registers[RSP] = self.registers[RSP].moved(-8);
                let rsp = self.registers[RSP].clone();
                if let Some(slot) = self.slot(&rsp) {
                    self.slots.insert(slot, (8, value));
                }
            }
            ("popq" | "pop", [to]) => {
                let value = self.unknown();
                self.registers[RSP] = self.registers[RSP].moved(8);
                if let Operand::Register(to) = to {
                    self.set(to, value);
                }
            }
            ("leave" | "leaveq", []) => {
                self.registers[RBP] = self.unknown();
                self.registers[RSP] = self.unknown();
            }
            ("cmpl" | "cmpq" | "cmpb" | "cmpw" | "testl" | "testq" | "testb" | "testw", _) => {}
            ("nop" | "endbr64" | "nopw" | "nopl", _) => {}
            _ => self.clobber(i),
        }
        if self.has_frame
            && m == "movq"
            && i.operands == [Operand::Register("%rsp"), Operand::Register("%rbp")]
        {
            // What the frame pointer holds is the name that slots have in all blocks.
            let stack = self.atom(Atom::Stack);
            self.registers[RBP] = stack.clone();
            self.registers[RSP] = stack;
            self.slots.clear();
        }
    }

    fn half_of(&mut self, value: Value) -> Value {
        if value.terms.is_empty() { value } else { self.half(false, value) }
    }

    /// An instruction about which nothing special is known: it may change all registers that it names, and some that it does not.
    fn clobber(&mut self, i: &Instruction<'_>) {
        let m = i.mnemonic;
        let implicit = [
            "mul", "div", "imul", "idiv", "cqto", "cltd", "cwtl", "cqo", "cdq", "cdqe", "cpuid", "cmpxchg",
            "xadd", "rdtsc",
        ];
        if implicit.iter().any(|s| m.starts_with(s)) || i.operands.is_empty() {
            for r in [RAX, RDX, RCX, 3] {
                self.registers[r] = self.unknown();
            }
        }
        for operand in &i.operands {
            match operand {
                Operand::Register(r) => {
                    if let Some(n) = asm::register_number(r) {
                        self.registers[n] = self.unknown();
                    }
                }
                Operand::Memory(to) => self.wrote(to, 64, None),
                Operand::Immediate(_) => {}
            }
        }
    }

    /// A call: what it announces, or that everything may be different now.
    fn call(&mut self, line: &str) {
        let target = line.trim();
        let hook = target.find("__tsan_").map(|at| &target[at + 7..]);
        let hook = hook.map(|h| h.split(['@', '(', ' ', '\t']).next().unwrap_or(h)).unwrap_or("");
        let (address, size) = (self.registers[RDI].clone(), self.registers[RSI].clone());
        let plain = hook.replace("unaligned_", "").replace("volatile_", "");
        self.left_behind = None;
        if !plain.starts_with("read") && !plain.starts_with("write") && !plain.starts_with("vptr") {
            self.announced.clear();
        }
        let mut announce = |length: i64, write: bool| {
            self.announced.push(Announced { address: address.clone(), length, left: length, write });
        };
        if plain == "read_range" || plain == "write_range" {
            if size.terms.is_empty() {
                announce(size.constant, plain == "write_range");
            }
        } else if plain == "vptr_update" {
            announce(8, true);
        } else if plain == "vptr_read" {
            announce(8, false);
        } else if let Some(bytes) = plain.strip_prefix("read_write").and_then(|n| n.parse().ok()) {
            announce(bytes, false);
            announce(bytes, true);
        } else if let Some(bytes) = plain.strip_prefix("read").and_then(|n| n.parse().ok()) {
            announce(bytes, false);
        } else if let Some(bytes) = plain.strip_prefix("write").and_then(|n| n.parse().ok()) {
            announce(bytes, true);
        } else if let Some((bits, operation)) = plain.strip_prefix("atomic").and_then(|a| a.split_once('_'))
            && let Ok(bits) = bits.parse::<i64>()
        {
            // clang leaves a load behind whose result nobody uses. gcc, which writes `call`, does not.
            announce(bits / 8, operation == "store");
            if operation == "load" && target.starts_with("callq") {
                self.left_behind = Some(bits / 8);
            }
        }
        if hook.is_empty() || hook.starts_with("mem") {
            self.slots.clear();
        }
        for r in [RAX, RCX, RDX, RSI, RDI, 8, 9, 10, 11] {
            self.registers[r] = self.unknown();
        }
    }

    /// Whether an announcement covers an access; it is used up then.
    fn covered(&mut self, address: &Value, bytes: i64, write: bool) -> bool {
        let within = |a: &Announced, length: i64| {
            let offset = address.constant.wrapping_sub(a.address.constant);
            a.address.terms == address.terms && offset >= 0 && offset + bytes <= length
        };
        // gcc announces the bytes that a bit-field is in, and reads the next larger word.
        let length = |a: &Announced| if write || a.length > 8 { a.length } else { next_power(a.length) };
        let found = self.announced.iter().position(|a| a.write == write && within(a, length(a)));
        // clang announces plain reads by calls, so a read that follows an atomic load is what it has left behind of the load.
        if !write && self.left_behind == Some(bytes) {
            self.left_behind = None;
            if found.is_none() {
                return true;
            }
        }
        let Some(at) = found else {
            // What is about to be written may be read first, as a part of the same access: a bit-field.
            return !write && self.announced.iter().any(|a| a.write && within(a, a.length));
        };
        self.announced[at].left -= bytes;
        if self.announced[at].left <= 0 {
            self.announced.remove(at);
        }
        true
    }

    /// Whether nobody can write what an operand names, or nobody else can get at it.
    fn is_harmless(&self, m: &Memory<'_>) -> bool {
        if m.has_segment || m.is_linkage() {
            return true;
        }
        if m.is_frame() && (m.base == Some("%rsp") || self.has_frame) {
            // Hooks are handed the return address.
            let own = m.base == Some("%rbp") && m.displacement == "8";
            return !self.leaks_frame || self.only_noted || own;
        }
        let symbol =
            m.displacement.split(['+', '-', '@']).find(|w| !w.is_empty() && w.parse::<i64>().is_err());
        symbol.is_some_and(|s| {
            s.starts_with(".LC")
                || s.starts_with(".LCPI")
                || s.starts_with("_ZGV")
                || s.starts_with("_ZTV")
                || self.constants.contains(s)
        })
    }

    fn run(&mut self, out: &mut String, places: &mut Places, caveats: &mut Vec<Caveat>) {
        let (start, end) = (self.function.start, self.function.end);
        let mut at = start;
        while at < end {
            let line = self.lines[at];
            let trimmed = line.trim();
            places.see(line);
            if trimmed == "#APP" {
                let stop = (at..end).find(|i| self.lines[*i].trim() == "#NO_APP").unwrap_or(end - 1);
                self.assembly(at, stop, out, places, caveats);
                self.forget();
                at = stop + 1;
                continue;
            }
            self.follow_unwinding(trimmed);
            if let Some(name) = label(line) {
                if starts_block(name) || self.landings.contains(name) {
                    self.forget();
                }
            } else if let Some(i) = asm::parse(line) {
                if asm::is_prefix(trimmed) {
                    // The instruction is on the next line; compilers write this in inline assembly alone.
                } else if i.mnemonic.starts_with("call") {
                    self.call(line);
                } else if i.mnemonic.starts_with('j') || i.mnemonic.starts_with("ret") {
                    // What follows an unconditional jump starts with a label.
                } else {
                    self.access(&i, at, out, places, caveats);
                    self.step(&i);
                }
            }
            out.push_str(line);
            out.push('\n');
            at += 1;
        }
    }

    /// Notes by which register the unwinder finds the frame.
    fn follow_unwinding(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix(".cfi_def_cfa") else { return };
        if let Some(register) = rest
            .strip_prefix("_register")
            .or_else(|| rest.strip_prefix(' '))
            .or_else(|| rest.strip_prefix('\t'))
        {
            let register = register.trim().split(',').next().unwrap_or("");
            self.by_stack_pointer = matches!(register, "7" | "%rsp");
        }
    }

    /// Adds what is missing in front of an instruction.
    fn access(
        &mut self,
        i: &Instruction<'_>,
        at: usize,
        out: &mut String,
        places: &Places,
        caveats: &mut Vec<Caveat>,
    ) {
        if i.mnemonic == "mfence" {
            return self.emit(out, at, &Added::fence());
        }
        if i.prefix == Some("lock") && self.only_noted {
            // An atomic operation in a function without instrumentation.
            if let Ok(accesses) = asm::accesses(i) {
                for a in accesses {
                    let Operand::Memory(m) = &i.operands[a.operand] else { continue };
                    self.emit(out, at, &Added::on("modify", a.bytes, m));
                }
            }
            return;
        }
        if let Some(text) = asm::text_instruction(i) {
            return self.string(i, text, at, out);
        }
        if let Some((kind, what)) = asm::from_outside(i.mnemonic) {
            let text = format!("the instruction `{}` in `{}` {what}", i.mnemonic, self.function.name);
            return note(caveats, Caveat::new(kind, text), places);
        }
        let accesses = match asm::accesses(i) {
            Ok(accesses) => accesses,
            Err(asm::Unknown) => {
                let harmless = i.operands.iter().all(|o| match o {
                    Operand::Memory(m) => self.is_harmless(m) || m.is_frame(),
                    _ => true,
                });
                if !harmless && !self.only_noted {
                    let text = format!(
                        "the instruction `{}` in `{}` is not known: its access to memory is not seen",
                        i.mnemonic, self.function.name
                    );
                    note(caveats, Caveat::new(CaveatKind::Uninstrumented, text), places);
                }
                return;
            }
        };
        for a in accesses {
            let Operand::Memory(m) = &i.operands[a.operand] else { continue };
            let address = self.address(m);
            let bytes = i64::from(a.bytes);
            let read = a.read && !self.covered(&address, bytes, false);
            let write = a.write && !self.covered(&address, bytes, true);
            if !(read || write) || self.is_harmless(m) {
                continue;
            }
            let kind = match (self.only_noted, read, write) {
                (true, ..) => "note",
                (_, true, true) => "update",
                (_, true, false) => "read",
                _ => "write",
            };
            let mut added = Added::on(kind, a.bytes, m);
            added.is_frame = m.is_frame() && (m.base == Some("%rsp") || self.has_frame);
            self.emit(out, at, &added);
        }
    }

    /// A string instruction: its ranges are in registers.
    fn string(&mut self, i: &Instruction<'_>, text: Text, at: usize, out: &mut String) {
        let repeated = i.prefix.is_some_and(|p| p.starts_with("rep"));
        let unit = match text {
            Text::Move(n) | Text::Store(n) | Text::Load(n) | Text::Compare(n) | Text::Scan(n) => n,
        };
        let count = &self.registers[RCX];
        let length = match (repeated, count.terms.is_empty()) {
            (false, _) => Some(i64::from(unit)),
            (true, true) => Some(count.constant.wrapping_mul(i64::from(unit))),
            (true, false) => None,
        };
        let reads: &[usize] = match text {
            Text::Move(_) | Text::Load(_) => &[RSI],
            Text::Compare(_) => &[RSI, RDI],
            Text::Scan(_) => &[RDI],
            Text::Store(_) => &[],
        };
        let writes: &[usize] = if matches!(text, Text::Move(_) | Text::Store(_)) { &[RDI] } else { &[] };
        for (register, write) in reads.iter().map(|r| (*r, false)).chain(writes.iter().map(|r| (*r, true))) {
            let address = self.registers[register].clone();
            let covered = length.is_some_and(|n| self.covered(&address, n, write));
            // What lies in the frame is of the function's own, unless its address got out.
            let own = self.slot(&address).is_some() && !self.leaks_frame;
            if covered || own {
                continue;
            }
            let kind = if self.only_noted {
                "note"
            } else if write {
                "write"
            } else {
                "read"
            };
            let stops = matches!(text, Text::Scan(_) | Text::Compare(_)) && repeated;
            let added =
                Added { kind, bytes: unit, place: At::Range { register, repeated, stops }, is_frame: false };
            self.emit(out, at, &added);
        }
        for r in [RSI, RDI, RCX, RAX] {
            self.registers[r] = self.unknown();
        }
        self.slots.clear();
    }

    /// Writes a call in front of an instruction.
    fn emit(&self, out: &mut String, at: usize, added: &Added<'_>) {
        let flags = !self.flags_are_dead(at);
        // A function that calls others has no red zone.
        let zone = !self.function.announces;
        let mut depth = 0i64;
        let unwinding = self.by_stack_pointer;
        let mut push = |out: &mut String, text: &str, bytes: i64| {
            let _ = writeln!(out, "\t{text}");
            depth += bytes;
            if unwinding && bytes != 0 {
                let _ = writeln!(out, "\t.cfi_adjust_cfa_offset {bytes}");
            }
            depth
        };
        if zone {
            push(out, "leaq\t-128(%rsp), %rsp", 128);
        }
        if flags {
            push(out, "pushfq", 8);
        }
        if added.is_frame {
            // Nothing happens while no other thread was ever seen to access a stack.
            let _ = writeln!(out, "\tpushq\t%rax\n\tmovq\t__raddle_stack_is_shared@GOTPCREL(%rip), %rax");
            let _ = writeln!(out, "\tcmpb\t$0, (%rax)\n\tpopq\t%rax\n\tje\t772773f");
        }
        let mut below = push(out, "pushq\t%rdi", 8);
        let mut range = false;
        match &added.place {
            At::Nothing => {}
            At::Operand(m) => {
                let text = if m.base == Some("%rsp") { deeper(m, below) } else { m.text.to_owned() };
                let _ = writeln!(out, "\tleaq\t{text}, %rdi");
            }
            At::Range { register, repeated, .. } => {
                range = *repeated;
                if range {
                    below = push(out, "pushq\t%rsi", 8);
                }
                if *register == RSI {
                    let _ = writeln!(out, "\tmovq\t%rsi, %rdi");
                }
                if range {
                    let _ = writeln!(out, "\tleaq\t0(,%rcx,{}), %rsi", added.bytes);
                }
            }
        }
        let _ = below;
        let wide = if self.is_wide { "_wide" } else { "" };
        let size = match &added.place {
            At::Nothing => String::new(),
            At::Range { repeated: true, stops, .. } => if *stops { "_until" } else { "_range" }.to_owned(),
            _ => added.bytes.to_string(),
        };
        let _ = writeln!(out, "\tcall\t__raddle_touch{wide}_{}{size}@PLT", added.kind);
        if range {
            push(out, "popq\t%rsi", -8);
        }
        push(out, "popq\t%rdi", -8);
        if added.is_frame {
            out.push_str("772773:\n");
        }
        if flags {
            push(out, "popfq", -8);
        }
        if zone {
            push(out, "leaq\t128(%rsp), %rsp", -128);
        }
    }

    /// Whether the next instruction that has to do with flags sets them all.
    fn flags_are_dead(&self, at: usize) -> bool {
        for line in &self.lines[at..self.function.end] {
            let trimmed = line.trim();
            if trimmed == "#APP" {
                return false;
            }
            if let Some(name) = label(line) {
                if starts_block(name) || self.landings.contains(name) {
                    return false;
                }
                continue;
            }
            let Some(i) = asm::parse(line) else { continue };
            let m = i.mnemonic;
            if m.starts_with("call") || m.starts_with("ret") {
                return true;
            }
            let reads = m.starts_with("set")
                || m.starts_with("cmov")
                || m.starts_with("adc")
                || m.starts_with("sbb")
                || m.starts_with("rc")
                || m.starts_with('j')
                || m.starts_with("pushf")
                || m.starts_with("lahf");
            if reads {
                return false;
            }
            let writes = ["add", "sub", "cmp", "test", "and", "or", "xor", "neg", "imul", "ucomis", "comis"];
            if writes.iter().any(|w| m.strip_prefix(w).is_some_and(|r| r.len() <= 1 || w.ends_with("comis")))
            {
                return true;
            }
        }
        false
    }

    /// A piece of inline assembly.
    fn assembly(
        &mut self,
        from: usize,
        to: usize,
        out: &mut String,
        places: &mut Places,
        caveats: &mut Vec<Caveat>,
    ) {
        out.push_str(self.lines[from]);
        out.push('\n');
        // Short jumps have no room for more code.
        let body = &self.lines[from + 1..to];
        let is_tight = body.iter().any(|l| {
            asm::without_comment(l).split([';', '\n']).any(|p| {
                let word = p.split_whitespace().next().unwrap_or("");
                word.starts_with("loop") || word.ends_with("cxz")
            })
        });
        let mut prefix = String::new();
        for line in body {
            places.see(line);
            places.mark(line);
            if line.trim_start().starts_with(['#', '.']) || asm::without_comment(line).trim().is_empty() {
                out.push_str(line);
                out.push('\n');
                continue;
            }
            for part in asm::without_comment(line).split(';') {
                let mut part = part.trim();
                // A label stands before its instruction.
                while let Some(name) = label(part) {
                    let _ = writeln!(out, "{name}:");
                    part = part[name.len() + 1..].trim();
                }
                if part.is_empty() {
                    continue;
                }
                if asm::is_prefix(part) {
                    prefix = part.to_owned();
                    continue;
                }
                let text = if prefix.is_empty() { part.to_owned() } else { format!("{prefix} {part}") };
                prefix.clear();
                self.assembly_instruction(&text, is_tight, out, places, caveats);
                let _ = writeln!(out, "\t{text}");
            }
        }
        if !prefix.is_empty() {
            let _ = writeln!(out, "\t{prefix}");
        }
        if to < self.function.end {
            out.push_str(self.lines[to]);
            out.push('\n');
        }
    }

    fn assembly_instruction(
        &mut self,
        text: &str,
        is_tight: bool,
        out: &mut String,
        places: &Places,
        caveats: &mut Vec<Caveat>,
    ) {
        match effect(text) {
            Effect::Nothing => {}
            Effect::Fence if !is_tight => self.emit_always(out, &Added::fence()),
            Effect::On { kind, bytes, operand } if !is_tight => {
                if let Some(i) = asm::parse(text)
                    && let Some(Operand::Memory(m)) = i.operands.get(operand)
                {
                    self.emit_always(out, &Added::on(kind, bytes, m));
                }
            }
            Effect::Outside => {
                let mnemonic = asm::parse(text).map_or("", |i| i.mnemonic);
                let text = format!(
                    "the instruction `{mnemonic}` in `{}` gives a value from outside, and other values than this run's are not explored",
                    self.function.name
                );
                note(caveats, Caveat::new(CaveatKind::Inputs, text), places);
            }
            _ => {
                let text = format!(
                    "inline assembly in `{}` is not instrumented: its accesses to memory are not seen",
                    self.function.name
                );
                note(caveats, Caveat::new(CaveatKind::Assembly, text), places);
            }
        }
    }

    /// Writes a call that keeps flags and the red zone.
    fn emit_always(&self, out: &mut String, added: &Added<'_>) {
        self.emit(out, self.function.end, added);
    }
}

fn note(caveats: &mut Vec<Caveat>, caveat: Caveat, places: &Places) {
    let caveat = match &places.now {
        Some((file, line)) => caveat.at(format!("{file}:{line}")),
        None => caveat,
    };
    caveat.add_to(caveats);
}

fn next_power(n: i64) -> i64 {
    u64::try_from(n).map_or(n, |n| n.next_power_of_two() as i64)
}

/// Whether a label may be jumped to. Those of debug information and of tables for exceptions are not.
fn starts_block(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(".L") else { return true };
    let debug = ["VL", "BE", "FB", "FE", "M", "EHB", "EHE", "tmp", "func_begin", "func_end", "cfi"];
    // clang's blocks are `.LBB0_1`, gcc's debug labels `.LBB12`.
    let block = rest.starts_with("BB");
    if block {
        return rest.contains('_');
    }
    !debug.iter().any(|d| rest.strip_prefix(d).is_some_and(|r| r.bytes().all(|b| b.is_ascii_digit())))
}

/// An operand with the stack pointer as its base, `bytes` further down.
fn deeper(m: &Memory<'_>, bytes: i64) -> String {
    let inside = m.text.find('(').map_or("", |at| &m.text[at..]);
    match m.displacement {
        "" => format!("{bytes}{inside}"),
        displacement => format!("{bytes}+{displacement}{inside}").replace("+-", "-"),
    }
}

/// A call that is added.
struct Added<'a> {
    kind: &'static str,
    bytes: u32,
    place: At<'a>,
    is_frame: bool,
}

enum At<'a> {
    Nothing,
    Operand(&'a Memory<'a>),
    /// From the address in a register on; with a prefix, as many as `rcx` says, and not all of these if something is looked for.
    Range {
        register: usize,
        repeated: bool,
        stops: bool,
    },
}

impl<'a> Added<'a> {
    fn fence() -> Added<'a> {
        Added { kind: "fence", bytes: 0, place: At::Nothing, is_frame: false }
    }

    fn on(kind: &'static str, bytes: u32, m: &'a Memory<'a>) -> Added<'a> {
        Added { kind, bytes, place: At::Operand(m), is_frame: false }
    }
}

/// What an instruction of inline assembly does to other threads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It gives a value from outside, such as the time, and touches no memory.
    Outside,
    Nothing,
    Fence,
    /// An atomic access to one operand.
    On {
        kind: &'static str,
        bytes: u32,
        operand: usize,
    },
    Unknown,
}

/// Instructions that change registers only, or nothing.
const QUIET: [&str; 20] = [
    "nop",
    "pause",
    "lfence",
    "sfence",
    "endbr64",
    "ret",
    "retq",
    "cltq",
    "cqto",
    "cltd",
    "cwtl",
    "cld",
    "clc",
    "stc",
    "emms",
    "vzeroupper",
    "xgetbv",
    "cpuid",
    "serialize",
    "ud2",
];
/// Instructions whose result other executions do not repeat, or that leave the program.
const OUTSIDE: [&str; 14] = [
    "syscall", "sysenter", "int", "int3", "rdtsc", "rdtscp", "rdrand", "rdseed", "rdpmc", "in", "out",
    "xbegin", "xend", "hlt",
];

/// Classifies an instruction of inline assembly, which is written without comments and labels.
pub(crate) fn effect(text: &str) -> Effect {
    let Some(i) = asm::parse(text) else { return Effect::Nothing };
    let m = i.mnemonic;
    if m == "mfence" {
        return Effect::Fence;
    }
    if i.operands.is_empty() && (QUIET.contains(&m) || asm::is_prefix(m)) {
        return Effect::Nothing;
    }
    let is_register = |o: &Operand<'_>| !matches!(o, Operand::Memory(_));
    if asm::from_outside(m).is_some_and(|(kind, _)| kind != CaveatKind::Uninstrumented)
        && i.operands.iter().all(is_register)
    {
        return Effect::Outside;
    }
    if OUTSIDE.iter().any(|o| m == *o || (*o == "rdrand" || *o == "rdseed") && m.starts_with(o))
        || asm::text_instruction(&i).is_some()
        || m.starts_with("call")
    {
        return Effect::Unknown;
    }
    if m.starts_with('j') || m.starts_with("nop") || m.starts_with("lea") || m.starts_with("prefetch") {
        return Effect::Nothing;
    }
    let memory = i.operands.iter().position(|o| matches!(o, Operand::Memory(_)));
    let Some(operand) = memory else {
        // Only registers, of instructions that are known.
        let named = i.operands.iter().all(|o| !matches!(o, Operand::Register("%st")));
        return if named && is_known(m) { Effect::Nothing } else { Effect::Unknown };
    };
    let Operand::Memory(at) = &i.operands[operand] else { return Effect::Unknown };
    let Ok(accesses) = asm::accesses(&i) else { return Effect::Unknown };
    let [a] = accesses[..] else { return Effect::Unknown };
    if at.has_segment {
        return Effect::Nothing;
    }
    let locked = i.prefix == Some("lock") || m.starts_with("xchg");
    if locked && at.base == Some("%rsp") && at.index.is_none() {
        return Effect::Fence;
    }
    match (a.read, a.write, a.bytes) {
        (.., bytes) if !matches!(bytes, 1 | 2 | 4 | 8 | 16) => Effect::Unknown,
        (true, true, bytes) if locked => Effect::On { kind: "modify", bytes, operand },
        (true, true, _) => Effect::Unknown,
        (.., 16) => Effect::Unknown,
        (true, false, bytes) => Effect::On { kind: "load", bytes, operand },
        (_, _, bytes) => Effect::On { kind: "store", bytes, operand },
    }
}

/// Whether a mnemonic is one that only computes with its operands.
fn is_known(m: &str) -> bool {
    const STEMS: [&str; 41] = [
        "mov", "add", "sub", "and", "or", "xor", "adc", "sbb", "inc", "dec", "neg", "not", "shl", "sal",
        "shr", "sar", "rol", "ror", "rcl", "rcr", "shld", "shrd", "bt", "bts", "btr", "btc", "cmp", "test",
        "imul", "mul", "div", "idiv", "bsf", "bsr", "popcnt", "lzcnt", "tzcnt", "bswap", "xchg", "set",
        "cmov",
    ];
    STEMS.iter().any(|s| m.strip_prefix(s).is_some_and(|r| r.len() <= 3))
        || m.starts_with('p')
        || m.starts_with('v')
        || m.ends_with("ps")
        || m.ends_with("pd")
        || m.ends_with("ss")
        || m.ends_with("sd")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The calls that are added to a function with these instructions.
    fn added(body: &str) -> Vec<String> {
        let text = format!(
            "\t.type\tf, @function\nf:\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n\tmovq\t8(%rbp), %rdi\n\
             \tcall\t__tsan_func_entry@PLT\n{body}\tret\n\t.size\tf, .-f\n"
        );
        let (out, _) = rewrite(&text, false);
        let calls = out.lines().filter_map(|l| l.split_once("__raddle_touch_"));
        calls.map(|(_, name)| name.trim_end_matches("@PLT").to_owned()).collect()
    }

    #[test]
    fn an_announcement_covers_one_access_of_its_kind() {
        let announce = "\tleaq\tx(%rip), %rax\n\tmovq\t%rax, %rdi\n\tcall\t__tsan_read4@PLT\n";
        let read = "\tmovl\tx(%rip), %eax\n";
        assert_eq!(added(&format!("{announce}{read}")), [""; 0]);
        assert_eq!(added(&format!("{announce}{read}{read}")), ["read4"]);
        assert_eq!(added(&format!("{announce}\tmovl\t$1, x(%rip)\n")), ["write4"]);
        assert_eq!(added(&format!("{announce}\taddl\t$1, x(%rip)\n")), ["write4"]);
        assert_eq!(added(&format!("{announce}\tmovl\t4+x(%rip), %eax\n")), ["read4"]);
        assert_eq!(added(&format!("{announce}\tcall\tg\n{read}")), ["read4"]);
        assert_eq!(added(&format!("{announce}.L3:\n{read}")), ["read4"]);
        assert_eq!(added(&format!("{announce}.LVL3:\n{read}")), [""; 0]);
    }

    #[test]
    fn registers_that_are_set_once_are_known_in_loops() {
        // What clang makes of `while (!atomic_load(&x));` with optimization.
        let set = "\tleaq\tx(%rip), %rbx\n";
        let turn =
            ".L1:\n\tmovq\t%rbx, %rdi\n\tcallq\t__tsan_atomic32_load@PLT\n\tmovl\tx(%rip), %ecx\n\tje\t.L1\n";
        assert_eq!(added(&format!("{set}{turn}")), [""; 0]);
        assert_eq!(added(&format!("{set}{turn}\tleaq\ty(%rip), %rbx\n")), [""; 0]);
        assert_eq!(added(&format!("{set}{turn}\txchgq\t%rbx, %rax\n")), [""; 0]);
        assert_eq!(added(&format!("{set}{turn}\tmovl\ty(%rip), %ecx\n")), ["read4"]);
        let gcc = turn.replace("callq", "call");
        assert_eq!(added(&format!("{set}{gcc}")), [""; 0]);
        assert_eq!(added(&format!("{set}{gcc}\tleaq\ty(%rip), %rbx\n")), ["read4"]);
        assert_eq!(added(&format!("{set}{gcc}\txchgq\t%rbx, %rax\n")), ["read4"]);
        assert_eq!(added(&format!("\tleaq\ty(%rip), %rbx\n{gcc}")), ["read4"]);
    }

    #[test]
    fn addresses_are_followed_through_registers_and_slots() {
        // An element of an array, as gcc writes it without optimization.
        let index = "\tmovl\t-20(%rbp), %eax\n\tcltq\n\tleaq\t0(,%rax,4), %rdx\n\tleaq\tarr(%rip), %rax\n";
        let announce = format!("{index}\taddq\t%rdx, %rax\n\tmovq\t%rax, %rdi\n\tcall\t__tsan_write4@PLT\n");
        let write = format!("{index}\tmovl\t%ebx, (%rdx,%rax)\n");
        assert_eq!(added(&format!("{announce}{write}")), [""; 0]);
        // Another index.
        let other = write.replace("-20(%rbp)", "-24(%rbp)");
        assert_eq!(added(&format!("{announce}{other}")), ["write4"]);
        let changed = format!("{announce}\tmovl\t$7, -20(%rbp)\n{write}");
        assert_eq!(added(&changed), ["write4"]);
        // A pointer in a slot.
        let pointer = "\tmovq\t-8(%rbp), %rax\n\taddq\t$8, %rax\n\tmovq\t%rax, %rdi\n\tcall\t__tsan_read8@PLT\n\
                       \tmovq\t-8(%rbp), %rax\n\tmovq\t8(%rax), %rcx\n";
        assert_eq!(added(pointer), [""; 0]);
        // A range covers its parts.
        let range = "\tmovl\t$24, %esi\n\tmovq\t%rbx, %rdi\n\tcall\t__tsan_read_range@PLT\n\tmovq\t(%rbx), %rax\n\
                     \tmovq\t8(%rbx), %rdx\n\tmovq\t16(%rbx), %rcx\n\tmovq\t16(%rbx), %rcx\n";
        assert_eq!(added(range), ["read8"]);
    }

    #[test]
    fn accesses_that_nobody_announces_get_a_call() {
        assert_eq!(added("\tmovq\tshared(%rip), %rax\n\tmovq\t%rax, %rdi\n\tcall\tuse@PLT\n"), ["read8"]);
        assert_eq!(added("\tmovdqu\t(%rax), %xmm1\n\tmovups\t%xmm1, (%rsp)\n\tcall\tuse\n"), ["read16"]);
        assert_eq!(added("\trep stosq\n"), ["write_range"]);
        assert_eq!(added("\trep movsq\n"), ["read_range", "write_range"]);
        assert_eq!(added("\tfldt\tx(%rip)\n"), ["wide_read10"].map(|s| s.to_owned()));
        assert_eq!(
            added("\tmovl\t.LC0(%rip), %eax\n\tmovq\tx@GOTPCREL(%rip), %rax\n\tmovl\t%fs:x@tpoff, %eax\n"),
            [""; 0]
        );
        // A frame is private until its address gets out.
        assert_eq!(added("\tmovl\t$1, -12(%rbp)\n"), [""; 0]);
        assert_eq!(added("\tleaq\t-16(%rbp), %rdi\n\tcall\tshare\n\tmovl\t$1, -12(%rbp)\n"), ["write4"]);
    }

    #[test]
    fn instructions_of_inline_assembly_have_effects() {
        let on = |kind, bytes, operand| Effect::On { kind, bytes, operand };
        for (text, wanted) in [
            ("mfence", Effect::Fence),
            ("lock addl $0,0(%rsp)", Effect::Fence),
            ("lock orq $0,-8(%rsp)", Effect::Fence),
            ("pause", Effect::Nothing),
            ("rep nop", Effect::Nothing),
            ("bswap %eax", Effect::Nothing),
            ("movl %fs:0, %eax", Effect::Nothing),
            ("xchgl %eax, x(%rip)", on("modify", 4, 1)),
            ("lock cmpxchgq %rcx, (%rdi)", on("modify", 8, 1)),
            ("lock incl x(%rip)", on("modify", 4, 0)),
            ("lock cmpxchg16b (%rdi)", on("modify", 16, 0)),
            ("movb $1, (%rdi)", on("store", 1, 1)),
            ("cmpb $0, (%rdi)", on("load", 1, 1)),
            ("incl x(%rip)", Effect::Unknown),
            ("syscall", Effect::Unknown),
            ("rdtsc", Effect::Outside),
            ("rdrand %rax", Effect::Outside),
            ("rep movsb", Effect::Unknown),
            ("call f", Effect::Unknown),
        ] {
            assert_eq!(effect(text), wanted, "{text}");
        }
    }
}
