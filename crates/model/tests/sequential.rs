//! Statements of C: what random programs of one thread compute is what they compute when compiled.

mod support;

use model::{Interpreter, Options};
use std::fmt::Write;
use std::process::Command;
use support::Rng;

/// Writes statements that C gives one meaning, with loops that end.
struct Author {
    g: Rng,
    text: String,
    loops: u32,
    labels: u32,
    left: i64,
    /// In a function that others call, which calls nobody.
    callee: bool,
}

const PLACES: [&str; 9] = ["g0", "g1", "l0", "l1", "a[l0 & 3]", "b[g1 & 1][l1 & 1]", "st.v", "sp->w", "(*p)"];

impl Author {
    fn place(&mut self) -> &'static str {
        PLACES[self.g.below(PLACES.len() as u64) as usize]
    }

    fn value(&mut self, depth: u32) -> String {
        if depth == 0 || self.g.below(3) == 0 {
            return if self.g.below(3) == 0 { self.g.below(9).to_string() } else { self.place().to_owned() };
        }
        let (x, y) = (self.value(depth - 1), self.value(depth - 1));
        match self.g.below(11) {
            0 => format!("({x} + {y})"),
            1 => format!("({x} - {y})"),
            2 => format!("({x} * 3)"),
            3 => format!("({x} / (({y} & 3) + 1))"),
            4 => format!("({x} % (({y} & 7) + 2))"),
            5 => format!("({x} ^ {y})"),
            6 => format!("({x} < {y})"),
            7 => format!("({x} && {y})"),
            8 => format!("({x} || !{y})"),
            9 => format!("({x} ? {y} : 5)"),
            _ if !self.callee => format!("twice({x}, {y})"),
            _ => format!("(-({x}))"),
        }
    }

    fn block(&mut self, depth: u32, in_loop: bool) {
        self.text += "{ ";
        for _ in 0..1 + self.g.below(4) {
            self.statement(depth, in_loop);
        }
        self.text += "} ";
    }

    fn statement(&mut self, depth: u32, in_loop: bool) {
        self.left -= 1;
        if self.left < 0 {
            return;
        }
        let (mut v, x, y) = (self.place(), self.value(2), self.value(1));
        // Operands are evaluated in any order: a function that is called in an expression changes its own variables alone.
        if self.callee {
            v = ["l0", "l1"][self.g.below(2) as usize];
        }
        let kinds = if depth == 0 { 9 } else { 17 };
        match self.g.below(kinds) {
            0..3 => write!(self.text, "{v} = {x}; "),
            3 => write!(self.text, "{v} += {x}; "),
            4 => write!(self.text, "{v}++; "),
            5 => write!(self.text, "--{v}; "),
            6 => {
                let target =
                    ["&g0", "&g1", "&l1", "&a[l0 & 3]", "a + (g1 & 3)", "&st.w"][self.g.below(6) as usize];
                write!(self.text, "p = {target}; ")
            }
            7 if in_loop => {
                write!(self.text, "if ({x} > {y}) {}; ", ["break", "continue"][self.g.below(2) as usize])
            }
            8 if !self.callee => {
                write!(self.text, "set(&{}, {x}); ", ["g0", "l0", "a[1]", "st.v"][self.g.below(4) as usize])
            }
            9 | 10 => {
                write!(self.text, "if ({x}) ").unwrap();
                self.block(depth - 1, in_loop);
                if self.g.below(2) == 0 {
                    self.text += "else ";
                    self.block(depth - 1, in_loop);
                }
                Ok(())
            }
            11 | 12 => {
                self.loops += 1;
                let i = self.loops;
                write!(self.text, "for (int i{i} = 0; i{i} < {}; i{i}++) ", self.g.below(4)).unwrap();
                self.block(depth - 1, true);
                Ok(())
            }
            13 => {
                self.loops += 1;
                let c = self.loops;
                write!(self.text, "int c{c} = {}; while (c{c}-- > 0) ", self.g.below(4)).unwrap();
                self.block(depth - 1, true);
                Ok(())
            }
            14 => {
                self.loops += 1;
                let c = self.loops;
                write!(self.text, "int d{c} = {}; do ", self.g.below(4)).unwrap();
                self.block(depth - 1, true);
                write!(self.text, "while (d{c}-- > 0 && {y}); ")
            }
            15 => {
                write!(self.text, "switch (({x}) & 3) {{ ").unwrap();
                for k in 0..3 {
                    if k == 2 && self.g.below(2) == 0 {
                        self.text += "default: ";
                    } else {
                        write!(self.text, "case {k}: ").unwrap();
                    }
                    self.block(depth - 1, false);
                    if self.g.below(2) == 0 {
                        self.text += "break; ";
                    }
                }
                write!(self.text, "}} ")
            }
            16 if !in_loop => {
                self.labels += 1;
                let l = self.labels;
                write!(self.text, "if ({x}) goto l{l}; ").unwrap();
                self.block(depth - 1, in_loop);
                write!(self.text, "l{l}: ; ")
            }
            _ => write!(self.text, "{v} = {y}; "),
        }
        .unwrap();
    }
}

/// A program without its `main`, whose work is done by `f{n}`.
fn program(n: u64) -> String {
    let g = Rng(n * 7919 + 1);
    let mut author = Author { g, text: String::new(), loops: 0, labels: 0, left: 12, callee: true };
    let locals = "int l0 = 1, l1 = 2, *p = &g0;";
    author.text += "int twice(int l0, int l1) { int *p = &g1; ";
    author.block(1, false);
    author.text += "return l0 * 2 + l1; } ";
    author.callee = false;
    author.left = 30;
    author.text += "void set(int *q, int x) { *q = x; } ";
    author.text += &format!("int work(void) {{ {locals} ");
    for _ in 0..8 {
        author.statement(3, false);
    }
    author.text += "return g0 + 3 * g1 + 5 * l0 + 7 * l1 + 11 * a[0] + 13 * a[1] + 17 * a[2] + 19 * a[3] \
        + 23 * b[0][0] + 29 * b[0][1] + 31 * b[1][0] + 37 * b[1][1] + 41 * st.v + 43 * st.w; } ";
    author.text
}

const GLOBALS: &str = "int g0 = 4, g1 = -3, a[4] = { 1, [2] = 5 }, b[2][2] = { { 1, 2 }, { 3 } }; \
    struct s { int v; int w; } st = { 8, 9 }, *sp = &st; ";

#[test]
fn random_programs_compute_what_they_compute_when_compiled() {
    compare(0, 80);
}

#[test]
#[ignore = "long: thousands of programs"]
fn thousands_of_random_programs_compute_what_they_compute_when_compiled() {
    (0..10).for_each(|part| compare(1000 + part * 200, 1200 + part * 200));
}

fn compare(from: u64, to: u64) {
    let folder = std::env::temp_dir().join(format!("raddle-model-sequential-{}-{from}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    // One file with all programs, told apart by their names.
    let mut text = String::from("#include <stdio.h>\n");
    for n in from..to {
        let mut one = format!("{GLOBALS}{}", program(n));
        for name in ["twice", "set", "work", "g0", "g1", "st", "sp", "a", "b", "s"] {
            one = rename(&one, name, &format!("{name}_{n}"));
        }
        writeln!(text, "{one}").unwrap();
    }
    text += "int main(void) {\n";
    (from..to).for_each(|n| writeln!(text, "printf(\"%d\\n\", work_{n}());").unwrap());
    text += "return 0; }\n";
    std::fs::write(folder.join("a.c"), &text).unwrap();
    let (out, file) = (folder.join("a"), folder.join("a.c"));
    let built = Command::new("gcc")
        .args(["-w", "-fwrapv", "-O0", "-std=gnu11", "-o"])
        .arg(&out)
        .arg(file)
        .status()
        .unwrap();
    assert!(built.success());
    let printed = Command::new(&out).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let expected: Vec<i32> =
        String::from_utf8(printed.stdout).unwrap().lines().map(|l| l.parse().unwrap()).collect();
    assert_eq!(expected.len() as u64, to - from);
    for (n, expected) in (from..to).zip(expected) {
        for (shared, compress) in [(false, true), (true, true), (true, false)] {
            // A thread that nobody makes, but might, so that the globals are shared.
            let other = "void *t(void *q) { g0 = g1; st.v = st.w; a[0] = b[0][0]; sp = 0; return 0; } \
                void *(*start)(void *) = t; ";
            let text = format!(
                "{GLOBALS}{}{} int main(void) {{ if (work() != {expected}) reach_error(); return 0; }}",
                if shared { other } else { "" },
                program(n)
            );
            let p = match model::read_text("a.c", &text, &Options { compress, ..Options::default() }) {
                Ok(p) => p,
                Err(why) => panic!("{why}: {text}"),
            };
            let run = Interpreter::new(&p);
            let (mut s, main) = (run.initial(), model::ThreadId(0));
            loop {
                let first = run.enabled(&s, main).next();
                let Some(transition) = first else { break };
                let inputs = vec![0; p.threads[0].transition(transition).havoc.len()];
                s = run.take(&s, &model::Step { thread: main, transition, inputs });
            }
            assert_eq!(
                run.error(&s),
                None,
                "program {n}, shared {shared}, compressed {compress}: {text}\n{p}"
            );
            assert!(run.is_over(&s), "program {n} does not end");
        }
    }
}

/// Puts another name in place of one.
fn rename(text: &str, from: &str, to: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars().chain([' ']) {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
            continue;
        }
        // Fields keep their names.
        out += if word == from && before != '.' && before != '>' { to } else { &word };
        word.clear();
        out.push(c);
        before = c;
    }
    out
}
