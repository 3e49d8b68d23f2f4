//! x86-64 instructions in AT&T syntax, as gcc and clang write them: operands, and which memory an instruction reads and writes.

use explore::CaveatKind;

/// A memory operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Memory<'a> {
    /// The operand as it is written.
    pub(crate) text: &'a str,
    /// It is relative to a segment register: thread-local storage.
    pub(crate) has_segment: bool,
    /// What comes before the parenthesis: a number, a symbol, or both.
    pub(crate) displacement: &'a str,
    pub(crate) base: Option<&'a str>,
    pub(crate) index: Option<&'a str>,
    pub(crate) scale: i64,
}

impl Memory<'_> {
    /// Whether it is a slot of the stack frame.
    pub(crate) fn is_frame(&self) -> bool {
        matches!(self.base, Some("%rsp" | "%rbp"))
    }

    /// Whether it is an entry of a table that the linker fills in, which nobody writes later.
    pub(crate) fn is_linkage(&self) -> bool {
        self.displacement.contains("@GOT") || self.displacement.contains("@got")
    }
}

/// One operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand<'a> {
    Register(&'a str),
    Immediate(&'a str),
    Memory(Memory<'a>),
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction<'a> {
    /// `lock`, `rep`, `repz`, `repnz` and so on, without what follows.
    pub(crate) prefix: Option<&'a str>,
    pub(crate) mnemonic: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
}

/// An access to memory by one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// Which operand it is.
    pub(crate) operand: usize,
    pub(crate) bytes: u32,
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// Prefixes that stand before a mnemonic, on the same line or on one of their own.
const PREFIXES: [&str; 9] = ["lock", "rep", "repe", "repz", "repne", "repnz", "notrack", "bnd", "data16"];

/// Whether a line is a prefix alone.
pub(crate) fn is_prefix(text: &str) -> bool {
    PREFIXES.contains(&text.trim())
}

/// Takes an instruction apart. `None` for directives, labels and empty lines.
pub(crate) fn parse(line: &str) -> Option<Instruction<'_>> {
    let text = without_comment(line).trim();
    if text.is_empty() || text.starts_with(['.', '#', '/']) || text.ends_with(':') {
        return None;
    }
    let mut rest = text;
    let mut prefix = None;
    let (mut mnemonic, mut operands) = split_word(rest);
    while PREFIXES.contains(&mnemonic) && !operands.is_empty() {
        // Of several prefixes the one that says most is kept.
        if prefix.is_none() || mnemonic == "lock" || mnemonic.starts_with("rep") {
            prefix = Some(mnemonic);
        }
        rest = operands.trim_start_matches(';').trim_start();
        (mnemonic, operands) = split_word(rest);
    }
    Some(Instruction { prefix, mnemonic, operands: split_operands(operands) })
}

fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

/// The text up to a comment. Compilers write no `#` inside of operands.
pub(crate) fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or("")
}

fn split_operands(text: &str) -> Vec<Operand<'_>> {
    let mut all = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (i, c) in text.char_indices() {
        match c {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                all.push(operand(text[start..i].trim()));
                start = i + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        all.push(operand(text[start..].trim()));
    }
    all
}

fn operand(text: &str) -> Operand<'_> {
    // A call or jump through memory is marked by a star.
    let text = text.trim_start_matches('*');
    if let Some(rest) = text.strip_prefix('$') {
        return Operand::Immediate(rest);
    }
    // A mask of AVX-512 follows its register.
    let plain = text.split('{').next().unwrap_or(text).trim();
    if plain.starts_with('%') && !plain.contains(':') && !plain.starts_with("%st(") {
        return Operand::Register(plain);
    }
    if plain.starts_with("%st") {
        return Operand::Register("%st");
    }
    let (has_segment, body) = match plain.strip_prefix('%').and_then(|r| r.split_once(':')) {
        Some((_, rest)) => (true, rest),
        None => (false, plain),
    };
    let (displacement, inside) = match body.find('(') {
        Some(at) => (&body[..at], body[at + 1..].trim_end().trim_end_matches(')')),
        None => (body, ""),
    };
    let mut parts = inside.split(',').map(str::trim);
    let base = parts.next().filter(|p| !p.is_empty());
    let index = parts.next().filter(|p| !p.is_empty());
    let scale = parts.next().and_then(|p| p.parse().ok()).unwrap_or(1);
    Operand::Memory(Memory { text: body, has_segment, displacement, base, index, scale })
}

/// How wide a register is, in bytes; 0 for what is not an integer or vector register.
pub(crate) fn register_bytes(name: &str) -> u32 {
    let name = name.trim_start_matches('%');
    match name {
        n if n.starts_with("xmm") => 16,
        n if n.starts_with("ymm") => 32,
        n if n.starts_with("zmm") => 64,
        n if n.starts_with("mm") => 8,
        n if n.starts_with("st") || n.starts_with('k') => 0,
        "al" | "bl" | "cl" | "dl" | "ah" | "bh" | "ch" | "dh" | "sil" | "dil" | "bpl" | "spl" => 1,
        "ax" | "bx" | "cx" | "dx" | "si" | "di" | "bp" | "sp" => 2,
        n if n.starts_with('e') => 4,
        n if n.starts_with('r') => match n.as_bytes().last() {
            Some(b'd') => 4,
            Some(b'w') => 2,
            Some(b'b') => 1,
            _ => 8,
        },
        _ => 0,
    }
}

/// The number of an integer register, whatever its width: 0 to 15.
pub(crate) fn register_number(name: &str) -> Option<usize> {
    let name = name.trim_start_matches('%');
    const OLD: [(&str, &str); 8] = [
        ("ax", "al"),
        ("cx", "cl"),
        ("dx", "dl"),
        ("bx", "bl"),
        ("sp", "spl"),
        ("bp", "bpl"),
        ("si", "sil"),
        ("di", "dil"),
    ];
    let short = if name.len() == 3 { name.strip_prefix(['r', 'e']).unwrap_or(name) } else { name };
    if let Some(i) = OLD.iter().position(|(wide, narrow)| short == *wide || name == *narrow) {
        return Some(i);
    }
    if let Some(i) = ["ah", "ch", "dh", "bh"].iter().position(|n| *n == name) {
        return Some(i);
    }
    let digits = name.strip_prefix('r')?.trim_end_matches(['d', 'w', 'b']);
    digits.parse().ok().filter(|n| (8..16).contains(n))
}

/// An instruction with a memory operand that is not in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

fn suffix(letter: u8) -> Option<u32> {
    match letter {
        b'b' => Some(1),
        b'w' => Some(2),
        b'l' => Some(4),
        b'q' => Some(8),
        _ => None,
    }
}

/// Integer instructions that change their last operand.
const MODIFY: [&str; 23] = [
    "add", "sub", "and", "or", "xor", "adc", "sbb", "inc", "dec", "neg", "not", "shl", "sal", "shr", "sar",
    "rol", "ror", "rcl", "rcr", "shld", "shrd", "btr", "btc",
];
/// Integer instructions that read memory only.
const READ: [&str; 25] = [
    "cmp", "test", "bt", "imul", "mul", "div", "idiv", "push", "bsf", "bsr", "popcnt", "lzcnt", "tzcnt",
    "crc32", "adcx", "adox", "andn", "bextr", "blsi", "blsr", "blsmsk", "rorx", "sarx", "shlx", "shrx",
];
/// Integer instructions that change memory in whatever operand it is.
const EXCHANGE: [&str; 4] = ["xchg", "xadd", "cmpxchg", "bts"];

/// The accesses of an instruction to its memory operands. String instructions are not looked at here, nor what a call or a push does
/// to the stack.
pub(crate) fn accesses(i: &Instruction<'_>) -> Result<Vec<Access>, Unknown> {
    let is_memory = |o: &Operand<'_>| matches!(o, Operand::Memory(_));
    let Some(operand) = i.operands.iter().position(is_memory) else { return Ok(Vec::new()) };
    let m = i.mnemonic;
    let none = m.starts_with('j')
        || m.starts_with("call")
        || m.starts_with("lea")
        || m.starts_with("nop")
        || m.starts_with("prefetch")
        || ["ret", "retq", "endbr64", "clflush", "clflushopt", "clwb", "invlpg", "xbegin"].contains(&m)
        || m.starts_with("loop");
    if none {
        return Ok(Vec::new());
    }
    let last = operand + 1 == i.operands.len();
    let (bytes, read, write) = kind(i, last).ok_or(Unknown)?;
    Ok(vec![Access { operand, bytes, read, write }])
}

/// The size and the direction of an access to the memory operand; `last`: it is the destination.
fn kind(i: &Instruction<'_>, last: bool) -> Option<(u32, bool, bool)> {
    let m = i.mnemonic;
    if i.operands.len() > 3 && i.operands.iter().all(|o| !matches!(o, Operand::Immediate(_))) {
        return None;
    }
    integer(i, last).or_else(|| float(m, last)).or_else(|| vector(i, last)).or(match m {
        "cmpxchg16b" => Some((16, true, true)),
        "cmpxchg8b" => Some((8, true, true)),
        "ldmxcsr" | "vldmxcsr" => Some((4, true, false)),
        "stmxcsr" | "vstmxcsr" => Some((4, false, true)),
        _ => None,
    })
}

fn integer(i: &Instruction<'_>, last: bool) -> Option<(u32, bool, bool)> {
    let m = i.mnemonic;
    let widest = i.operands.iter().filter_map(|o| match o {
        Operand::Register(r) => register_number(r).map(|_| register_bytes(r)),
        _ => None,
    });
    // The count of a shift is in `cl` and says nothing about the size.
    let by_register = widest.max();
    let vector = i.operands.iter().any(|o| matches!(o, Operand::Register(r) if register_number(r).is_none()));
    if vector {
        return None;
    }
    let named = |names: &[&str]| {
        if names.contains(&m) {
            return by_register;
        }
        let (stem, letter) = m.split_at_checked(m.len().checked_sub(1)?)?;
        names.contains(&stem).then(|| suffix(letter.as_bytes()[0])).flatten()
    };
    if let Some(bytes) = named(&["mov", "movbe", "movabs"]) {
        return Some((bytes, !last, last));
    }
    if let Some(bytes) = named(&MODIFY) {
        return Some((bytes, true, last));
    }
    if let Some(bytes) = named(&EXCHANGE) {
        return Some((bytes, true, true));
    }
    if let Some(bytes) = named(&READ) {
        // `push` without a suffix is of eight bytes.
        return Some((bytes, true, false));
    }
    if m == "push" || m == "pop" {
        return Some((8, m == "push", m == "pop"));
    }
    if let Some(bytes) = named(&["pop", "movnti"]) {
        return Some((bytes, false, true));
    }
    if m.starts_with("set") && m.len() <= 6 {
        return Some((1, false, true));
    }
    if m.starts_with("cmov") {
        return by_register.map(|b| (b, true, false));
    }
    // Extensions: `movzbl`, `movslq`.
    let extension = m.strip_prefix("movz").or_else(|| m.strip_prefix("movs")).map(str::as_bytes);
    if let Some([from, to]) = extension
        && let (Some(from), Some(to)) = (suffix(*from), suffix(*to))
        && from < to
    {
        return Some((from, true, false));
    }
    None
}

/// Instructions of the x87 unit.
fn float(m: &str, last: bool) -> Option<(u32, bool, bool)> {
    let rest = m.strip_prefix('f')?;
    let _ = last;
    match m {
        "fldcw" => return Some((2, true, false)),
        "fldenv" => return Some((28, true, false)),
        "fnstenv" | "fstenv" => return Some((28, false, true)),
        "fnstcw" | "fstcw" | "fnstsw" | "fstsw" => return Some((2, false, true)),
        _ => {}
    }
    let sized = |stems: &[&str], sizes: &[(&str, u32)]| {
        stems.iter().find_map(|stem| {
            let letter = rest.strip_prefix(stem)?;
            sizes.iter().find(|(l, _)| *l == letter).map(|(_, bytes)| *bytes)
        })
    };
    let real = [("s", 4), ("l", 8), ("t", 10)];
    let whole = [("s", 2), ("l", 4), ("q", 8), ("ll", 8)];
    if let Some(bytes) = sized(&["istp", "isttp", "ist"], &whole) {
        return Some((bytes, false, true));
    }
    if let Some(bytes) = sized(&["stp", "st"], &real) {
        return Some((bytes, false, true));
    }
    let arithmetic = ["ld", "add", "subr", "sub", "mul", "divr", "div", "comp", "com"];
    if let Some(bytes) = sized(&arithmetic, &real) {
        return Some((bytes, true, false));
    }
    let on_whole = ["ild", "iadd", "isubr", "isub", "imul", "idivr", "idiv", "icomp", "icom"];
    sized(&on_whole, &whole).map(|bytes| (bytes, true, false))
}

/// Instructions whose results come from outside of the program, or whose access to memory has no operand: what to say of them.
pub(crate) fn from_outside(mnemonic: &str) -> Option<(CaveatKind, &'static str)> {
    let clock = "reads a clock, and how far apart two readings are is not explored";
    let value = "gives a value from outside, and other values than this run's are not explored";
    match mnemonic {
        "rdtsc" | "rdtscp" => Some((CaveatKind::Clock, clock)),
        "rdpid" | "rdpmc" => Some((CaveatKind::Inputs, value)),
        m if m.starts_with("rdrand") || m.starts_with("rdseed") => Some((CaveatKind::Inputs, value)),
        "maskmovdqu" | "vmaskmovdqu" | "maskmovq" => {
            Some((CaveatKind::Uninstrumented, "is not known: its access to memory is not seen"))
        }
        _ => None,
    }
}

/// Instructions with vector registers.
fn vector(i: &Instruction<'_>, last: bool) -> Option<(u32, bool, bool)> {
    let registers = i.operands.iter().filter_map(|o| match o {
        Operand::Register(r) => Some(register_bytes(r)),
        _ => None,
    });
    let whole = registers.max().unwrap_or(0);
    let m = i.mnemonic.strip_prefix('v').unwrap_or(i.mnemonic);
    if ["maskmov", "pmaskmov", "gather", "pgather", "scatter", "pscatter", "compress", "expand"]
        .iter()
        .any(|s| m.starts_with(s))
        || i.mnemonic.starts_with("vpcompress")
        || i.mnemonic.starts_with("vpexpand")
    {
        return None;
    }
    let fixed = match m {
        "movd" => 4,
        "movq" | "movlps" | "movhps" | "movlpd" | "movhpd" | "movddup" if whole <= 16 => 8,
        "movntss" | "extractps" | "insertps" | "broadcastss" => 4,
        "movntsd" | "broadcastsd" => 8,
        "movntq" => 8,
        "pinsrb" | "pextrb" | "pbroadcastb" => 1,
        "pinsrw" | "pextrw" | "pbroadcastw" => 2,
        "pinsrd" | "pextrd" | "pbroadcastd" => 4,
        "pinsrq" | "pextrq" | "pbroadcastq" => 8,
        "extractf128" | "extracti128" | "insertf128" | "inserti128" | "broadcastf128" | "broadcasti128" => 16,
        _ if m.starts_with("cvtsi2s") => {
            if m.ends_with('q') {
                8
            } else {
                4
            }
        }
        _ if m.starts_with("cvtss2") || m.starts_with("cvttss2") => 4,
        _ if m.starts_with("cvtsd2") || m.starts_with("cvttsd2") => 8,
        "cvtps2pd" | "cvtdq2pd" => whole / 2,
        _ if m.starts_with("pmovzx") || m.starts_with("pmovsx") => {
            let ratio = match &m[6..] {
                "bw" | "wd" | "dq" => 2,
                "bd" | "wq" => 4,
                "bq" => 8,
                _ => return None,
            };
            whole / ratio
        }
        _ => 0,
    };
    if fixed > 0 {
        return Some((fixed, !last, last));
    }
    if whole < 16 {
        // Vectors of MMX, or no vector at all.
        return (whole == 8 && m.starts_with('p')).then_some((8, !last, last));
    }
    if m.ends_with("ss") && !m.ends_with("subss") || m.ends_with("subss") {
        return Some((4, !last, last));
    }
    if m.ends_with("sd") {
        return Some((8, !last, last));
    }
    let packed = ["mov", "lddqu", "p", "aes", "sha", "round", "blend", "dpp", "mpsadbw", "gf2p8"];
    let known = m.ends_with("ps")
        || m.ends_with("pd")
        || packed.iter().any(|p| m.starts_with(p))
        || m.starts_with("cvt")
        || m.starts_with("shuf")
        || m.starts_with("unpck")
        || m.starts_with("perm");
    known.then_some((whole, !last, last))
}

/// A string instruction: what it does in each turn, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// Copies from `rsi` to `rdi`.
    Move(u32),
    /// Writes at `rdi`.
    Store(u32),
    /// Reads at `rsi`.
    Load(u32),
    /// Compares what is at `rsi` and at `rdi`.
    Compare(u32),
    /// Looks for what is in `rax`, at `rdi`.
    Scan(u32),
}

/// The string instruction that an instruction is, if it is one.
pub(crate) fn text_instruction(i: &Instruction<'_>) -> Option<Text> {
    // Written with operands, one of them is always relative to `es`.
    let implicit = i.operands.is_empty()
        || i.operands.iter().any(|o| matches!(o, Operand::Memory(m) if m.has_segment && m.text == "(%rdi)"))
        || i.mnemonic.starts_with("lods");
    let (stem, letter) = i.mnemonic.split_at_checked(i.mnemonic.len().checked_sub(1)?)?;
    let bytes = suffix(letter.as_bytes()[0])?;
    if !implicit {
        return None;
    }
    match stem {
        "movs" => Some(Text::Move(bytes)),
        "stos" => Some(Text::Store(bytes)),
        "lods" => Some(Text::Load(bytes)),
        "cmps" => Some(Text::Compare(bytes)),
        "scas" => Some(Text::Scan(bytes)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Vec<(u32, bool, bool)>, Unknown> {
        let i = parse(line).unwrap();
        accesses(&i).map(|a| a.iter().map(|a| (a.bytes, a.read, a.write)).collect())
    }

    #[test]
    fn sizes_and_directions_of_accesses_are_known() {
        let read = |n| Ok(vec![(n, true, false)]);
        let write = |n| Ok(vec![(n, false, true)]);
        let both = |n| Ok(vec![(n, true, true)]);
        for (line, wanted) in [
            ("\tmovl\t$1, x(%rip)", write(4)),
            ("movq 8(%rax), %rdx", read(8)),
            ("movzbl\tbf(%rip), %eax", read(1)),
            ("movslq (%rdx,%rax,4), %rax", read(4)),
            ("movsbl (%rax), %eax # comment", read(1)),
            ("addl $1, n(%rip)", both(4)),
            ("addl n(%rip), %eax", read(4)),
            ("cmpl $0, n(%rip)", read(4)),
            ("lock addl $0, (%rsp)", both(4)),
            ("lock; incl x(%rip)", both(4)),
            ("xchgl %eax, (%rdi)", both(4)),
            ("xchg %al, (%rdi)", both(1)),
            ("lock cmpxchg %rcx, (%rdi)", both(8)),
            ("lock xaddl %eax, (%rdi)", both(4)),
            ("sall %cl, x(%rip)", both(4)),
            ("sete x(%rip)", write(1)),
            ("pushq 16(%rax)", read(8)),
            ("popq (%rax)", write(8)),
            ("cmovne (%rdx), %eax", read(4)),
            ("movaps %xmm0, g(%rip)", write(16)),
            ("movdqu (%rax), %xmm1", read(16)),
            ("vmovdqu %ymm0, (%rdi)", write(32)),
            ("movntdq %xmm0, (%rdi)", write(16)),
            ("movntil %eax, (%rdi)", write(4)),
            ("movnti %rax, (%rdi)", write(8)),
            ("movsd x(%rip), %xmm0", read(8)),
            ("movss %xmm0, 4(%rax)", write(4)),
            ("addsd (%rax), %xmm0", read(8)),
            ("cvtsi2sdl n(%rip), %xmm0", read(4)),
            ("movq %xmm0, (%rax)", write(8)),
            ("movhps %xmm0, 8(%rax)", write(8)),
            ("fnstenv (%rsp)", write(28)),
            ("fldenv (%rsp)", read(28)),
            ("fldt ld(%rip)", read(10)),
            ("fstpt ld(%rip)", write(10)),
            ("fstpl (%rax)", write(8)),
            ("fildq (%rax)", read(8)),
            ("cmpxchg16b (%rdi)", both(16)),
            ("leaq (%rax), %rdx", Ok(vec![])),
            ("call *8(%rax)", Ok(vec![])),
            ("nopw 0(%rax,%rax,1)", Ok(vec![])),
            ("movl %eax, %ebx", Ok(vec![])),
            ("vpgatherdd %ymm1, (%rax,%ymm2,4), %ymm0", Err(Unknown)),
            ("maskmovdqu %xmm1, (%rdi)", Err(Unknown)),
            ("fxsave (%rax)", Err(Unknown)),
        ] {
            assert_eq!(of(line), wanted, "{line}");
        }
    }

    #[test]
    fn string_instructions_are_known_in_both_spellings() {
        let text = |line| text_instruction(&parse(line).unwrap());
        assert_eq!(text("rep movsq"), Some(Text::Move(8)));
        assert_eq!(text("rep;movsq (%rsi), %es:(%rdi)"), Some(Text::Move(8)));
        assert_eq!(text("rep stosl"), Some(Text::Store(4)));
        assert_eq!(text("repz cmpsb"), Some(Text::Compare(1)));
        assert_eq!(text("movslq (%rax), %rdx"), None);
        assert_eq!(text("movsbl (%rax), %edx"), None);
    }

    #[test]
    fn registers_have_a_number_whatever_part_is_named() {
        for names in [["%rax", "%eax", "%al"], ["%r9", "%r9d", "%r9b"], ["%rsi", "%esi", "%sil"]] {
            let numbers = names.map(register_number);
            assert!(numbers[0].is_some() && numbers.iter().all(|n| *n == numbers[0]), "{names:?}");
        }
        assert_eq!(register_number("%xmm0"), None);
        assert_eq!(register_number("%rip"), None);
    }
}
