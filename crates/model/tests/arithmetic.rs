//! The arithmetic of C: what the interpreter makes of random expressions is what a compiled program prints.

mod support;

use model::{Interpreter, Options};
use std::fmt::Write;
use std::process::Command;
use support::Rng;

const TYPES: [&str; 9] = [
    "_Bool",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
];
const VALUES: [i64; 14] = [
    0,
    1,
    -1,
    2,
    7,
    127,
    128,
    -128,
    255,
    32767,
    -32768,
    2_147_483_647,
    -2_147_483_648,
    0x1234_5678_9abc_def0,
];

/// A random expression over the variables v0 to v8, one of each type, that C gives a meaning to.
fn expression(g: &mut Rng, depth: u32) -> String {
    if depth == 0 || g.below(6) == 0 {
        return match g.below(4) {
            0 => {
                let v = VALUES[g.below(VALUES.len() as u64) as usize];
                let suffix = ["", "U", "L", "UL"][g.below(4) as usize];
                // A negative number is the negation of a positive one.
                if v < 0 { format!("(-{}{suffix})", v.unsigned_abs()) } else { format!("{v}{suffix}") }
            }
            _ => format!("v{}", g.below(9)),
        };
    }
    let mut sub = || expression(g, depth - 1);
    let (a, b) = (sub(), sub());
    let c = sub();
    match g.below(24) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("({a} / (({b} & 15) + 1))"),
        4 => format!("({a} % (({b} & 15) + 1))"),
        5 => format!("({a} & {b})"),
        6 => format!("({a} | {b})"),
        7 => format!("({a} ^ {b})"),
        8 => format!("({a} << ({b} & 7))"),
        9 => format!("({a} >> ({b} & 7))"),
        10 => format!("({a} < {b})"),
        11 => format!("({a} <= {b})"),
        12 => format!("({a} > {b})"),
        13 => format!("({a} >= {b})"),
        14 => format!("({a} == {b})"),
        15 => format!("({a} != {b})"),
        16 => format!("({a} && {b})"),
        17 => format!("({a} || {b})"),
        18 => format!("(!{a})"),
        19 => format!("(~{a})"),
        20 => format!("(-{a})"),
        21 => format!("({a} ? {b} : {c})"),
        _ => format!("(({}){a})", TYPES[g.below(9) as usize]),
    }
}

#[test]
fn random_expressions_have_the_values_of_a_compiled_program() {
    let mut g = Rng(2024);
    let declarations = |values: &[i64; 9]| {
        let mut out = String::new();
        for (i, (t, v)) in TYPES.iter().zip(values).enumerate() {
            writeln!(out, "{t} v{i} = ({t}){}L;", if *v == i64::MIN { 0 } else { *v }).unwrap();
        }
        out
    };
    let cases: Vec<([i64; 9], String)> = (0..400)
        .map(|_| {
            let values = std::array::from_fn(|_| VALUES[g.below(VALUES.len() as u64) as usize]);
            (values, expression(&mut g, 4))
        })
        .collect();
    let mut text = String::from("#include <stdio.h>\n");
    for (n, (values, e)) in cases.iter().enumerate() {
        writeln!(text, "long f{n}(void) {{ {} return (long)({e}); }}", declarations(values)).unwrap();
    }
    text += "int main(void) {\n";
    (0..cases.len()).for_each(|n| writeln!(text, "printf(\"%ld\\n\", f{n}());").unwrap());
    text += "return 0; }\n";
    let folder = std::env::temp_dir().join(format!("raddle-model-arithmetic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.c"), text).unwrap();
    let built = Command::new("gcc")
        .args(["-w", "-fwrapv", "-O0", "-std=gnu11", "-o"])
        .arg(folder.join("a"))
        .arg(folder.join("a.c"))
        .status()
        .expect("gcc is there");
    assert!(built.success());
    let printed = Command::new(folder.join("a")).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let printed = String::from_utf8(printed.stdout).unwrap();
    let expected: Vec<i64> = printed.lines().map(|l| l.parse().unwrap()).collect();
    assert_eq!(expected.len(), cases.len());
    for ((values, e), expected) in cases.iter().zip(expected) {
        // Known while lowering, so that all is folded; and read from memory, so that terms are evaluated.
        for shared in [false, true] {
            let other = if shared {
                "void *g(void *p) { v0 = v0; v1 = v1; v2 = v2; v3 = v3; v4 = v4; v5 = v5; v6 = v6; \
                v7 = v7; v8 = v8; r = r; return 0; } void *(*start)(void *) = g;"
            } else {
                ""
            };
            // Nobody starts the thread, but it might be started. The check must fail if the value is another one.
            for (claimed, holds) in [(expected, true), (expected.wrapping_add(1), false)] {
                let literal =
                    if claimed < 0 { format!("(-{}L - 1)", -(claimed + 1)) } else { format!("{claimed}L") };
                let text = format!(
                    "{} long r; {other} int main(void) {{ r = (long)({e}); if (r != {literal}) reach_error(); return 0; }}",
                    declarations(values).replace('\n', " ")
                );
                let p = match model::read_text(
                    "a.c",
                    &text,
                    &Options { compress: !shared, ..Options::default() },
                ) {
                    Ok(p) => p,
                    Err(why) => panic!("{why}: {text}"),
                };
                let run = Interpreter::new(&p);
                let mut s = run.initial();
                let main = model::ThreadId(0);
                while run.is_enabled(&s, main) {
                    s = run.successors(&s, main).unwrap().remove(0).1;
                }
                assert_eq!(run.error(&s).is_none(), holds, "{text}\n{p}");
            }
        }
    }
}
