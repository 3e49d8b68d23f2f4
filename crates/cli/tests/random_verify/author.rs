//! Writes random C programs with threads, as trees of text, so that they can be made smaller by pieces.
//!
//! What C leaves open is left out, so that there is one right answer: at most one access to memory that others may write in an expression
//! without sequence points, no overflow that matters, nothing read before it is set. Every `@` stands for the number of the program, so
//! that many of them go into one file.

use std::fmt::Write;

/// Numbers that look random (SplitMix64).
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn of<T: Clone>(&mut self, some: &[T]) -> T {
        some[self.below(some.len() as u64) as usize].clone()
    }
}

/// A piece of a program.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Line(String),
    /// Blocks with what stands before each, and what stands after the last.
    Nest(Vec<(String, Vec<Node>)>, String),
}

fn line(text: impl Into<String>) -> Node {
    Node::Line(text.into())
}

fn nest(open: impl Into<String>, body: Vec<Node>, close: impl Into<String>) -> Node {
    Node::Nest(vec![(open.into(), body)], close.into())
}

/// A program: declarations and functions, `main_@` among them.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) nodes: Vec<Node>,
    /// How many bits of the sum at the end are values: what is above them marks it.
    pub(crate) bits: u32,
    /// The compiled program does less than it might: what it does not do says nothing.
    pub(crate) less: bool,
    /// The compiler may know what a comparison says from the type alone, and not read.
    pub(crate) unread: bool,
}

/// What the sum at the end begins with.
pub(crate) const MARK: u64 = 0x5a5;

impl Program {
    pub(crate) fn text(&self, number: u64) -> String {
        let mut out = String::new();
        write_nodes(&self.nodes, 0, &mut out);
        out.replace('@', &format!("_{number}"))
    }

    /// Programs with one piece less.
    pub(crate) fn smaller(&self) -> Vec<Program> {
        let all = smaller(&self.nodes);
        all.into_iter().map(|nodes| Program { nodes, ..self.clone() }).collect()
    }
}

fn write_nodes(nodes: &[Node], depth: usize, out: &mut String) {
    let indent = "    ".repeat(depth);
    for n in nodes {
        match n {
            Node::Line(text) => writeln!(out, "{indent}{text}").unwrap(),
            Node::Nest(parts, close) => {
                for (open, body) in parts {
                    writeln!(out, "{indent}{open}").unwrap();
                    write_nodes(body, depth + 1, out);
                }
                writeln!(out, "{indent}{close}").unwrap();
            }
        }
    }
}

fn smaller(nodes: &[Node]) -> Vec<Vec<Node>> {
    let mut out = vec![];
    for (i, node) in nodes.iter().enumerate() {
        let with = |middle: Vec<Node>| {
            let mut all = nodes[..i].to_vec();
            all.extend(middle);
            all.extend_from_slice(&nodes[i + 1..]);
            all
        };
        out.push(with(vec![]));
        let Node::Nest(parts, close) = node else { continue };
        out.extend(parts.iter().map(|(_, body)| with(body.clone())));
        for (k, (open, body)) in parts.iter().enumerate() {
            for less in smaller(body) {
                let mut parts = parts.clone();
                parts[k] = (open.clone(), less);
                out.push(with(vec![Node::Nest(parts, close.clone())]));
            }
        }
    }
    out
}

/// What all programs of a file share.
pub(crate) const PRELUDE: &str = r#"#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <threads.h>

_Bool __VERIFIER_nondet_bool(void);
unsigned char __VERIFIER_nondet_uchar(void);
int __VERIFIER_nondet_int(void);
void __VERIFIER_assume(int);
void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);
static unsigned long state;
#ifndef FINAL
#define FINAL 1
#endif
#ifndef END
#define END return 0
#endif

"#;

/// What a program is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Theme {
    Mutex,
    Try,
    Condition,
    ReadWrite,
    Semaphore,
    Barrier,
    Atomics,
    Builtins,
    Blocks,
    Inputs,
    Heap,
    Asserts,
    Calls,
    Pointers,
    Spin,
    Recursive,
    Once,
    Local,
    C11,
    Exit,
    Structs,
    Bits,
    Timed,
    Ends,
    Weak,
    List,
    Functions,
    Queue,
    ByValue,
}

const THEMES: [Theme; 29] = [
    Theme::Mutex,
    Theme::Try,
    Theme::Condition,
    Theme::ReadWrite,
    Theme::Semaphore,
    Theme::Barrier,
    Theme::Atomics,
    Theme::Builtins,
    Theme::Blocks,
    Theme::Inputs,
    Theme::Heap,
    Theme::Asserts,
    Theme::Calls,
    Theme::Pointers,
    Theme::Spin,
    Theme::Recursive,
    Theme::Once,
    Theme::Local,
    Theme::C11,
    Theme::Exit,
    Theme::Structs,
    Theme::Bits,
    Theme::Timed,
    Theme::Ends,
    Theme::Weak,
    Theme::List,
    Theme::Functions,
    Theme::Queue,
    Theme::ByValue,
];

struct Author {
    g: Rng,
    themes: Vec<Theme>,
    /// What threads share, plain.
    places: Vec<String>,
    /// What the function at hand has besides.
    own: Vec<String>,
    /// Of those, what may be written in expressions.
    locals: Vec<String>,
    fresh: u32,
    inputs: u32,
    /// Statements that may still come.
    left: i64,
    in_block: bool,
    in_helper: bool,
    in_main: bool,
    helpers: u64,
    waited: bool,
    less: bool,
    /// Some plain variables are truth values: gcc reads one that is counted down again to know what it was.
    truths: bool,
    /// Nearly everything that does not wait is under one lock.
    orderly: bool,
    /// Locks that are held: they are not taken again, nor is an earlier one, mostly.
    held: Vec<String>,
}

impl Author {
    fn has(&self, t: Theme) -> bool {
        self.themes.contains(&t)
    }

    fn number(&mut self) -> u32 {
        self.fresh += 1;
        self.fresh
    }

    fn place(&mut self) -> String {
        if !self.own.is_empty() && self.g.one_in(4) {
            return self.g.of(&self.own);
        }
        self.g.of(&self.places)
    }

    fn local(&mut self) -> String {
        self.g.of(&self.locals)
    }

    /// A value of locals and numbers.
    fn plain(&mut self, depth: u32) -> String {
        if depth == 0 || self.g.one_in(2) {
            return if self.g.one_in(2) { self.g.below(5).to_string() } else { self.local() };
        }
        // The compiler works out what no value changes, and then reads less.
        let (x, y) = (self.local(), self.plain(depth - 1));
        let y = if y == x { "3".to_owned() } else { y };
        self.combine(&x, &y)
    }

    fn combine(&mut self, x: &str, y: &str) -> String {
        match self.g.below(16) {
            0 | 1 => format!("({x} + {y})"),
            2 => format!("({x} - {y})"),
            3 => format!("({x} * 3)"),
            4 => format!("({x} / (({y} & 3) + 1))"),
            5 => format!("({x} % (({y} & 7) + 2))"),
            6 => format!("({x} ^ {y})"),
            7 => format!("({x} < {y})"),
            8 => format!("({x} == {y})"),
            9 => format!("({x} & ({y} | 1))"),
            10 => format!("({x} << ({y} & 3))"),
            11 => format!("({x} >> 1)"),
            12 => format!("(unsigned char)({x} - {y})"),
            13 => format!("(~{x} & ({y} | 2))"),
            14 => format!("({x} >= {y})"),
            _ => format!("(-{x} | {y})"),
        }
    }

    /// A value with at most one access to memory that others write, or with sequence points between them.
    fn value(&mut self) -> String {
        match self.g.below(12) {
            0 | 1 => self.plain(2),
            2..6 => {
                let (x, y) = (self.place(), self.plain(1));
                self.combine(&x, &y)
            }
            6 => {
                let (x, y) = (self.plain(1), self.place());
                self.combine(&x, &y)
            }
            7 => {
                let (x, y) = (self.condition(), self.condition());
                let op = self.g.of(&["&&", "||"]);
                format!("({x} {op} {y})")
            }
            8 => {
                let (c, x, y) = (self.condition(), self.place(), self.plain(1));
                if self.g.one_in(2) { format!("({c} ? {x} : {y})") } else { format!("({c} ? {y} : {x})") }
            }
            9 => {
                let x = self.place();
                // The value of an assignment may be read again, and be another one by then.
                let down = if self.truths { "++" } else { "--" };
                self.g.of(&[format!("{x}++"), format!("{x}{down}"), format!("({x} |= 1, 2)")])
            }
            10 => {
                let (x, y) = (self.place(), self.plain(1));
                format!("({x} += 1, {y})")
            }
            _ => {
                let x = self.place();
                format!("!{x}")
            }
        }
    }

    /// Something that may be true, with one access at most.
    fn condition(&mut self) -> String {
        let (x, k) = (self.place(), self.g.below(4));
        match self.g.below(8) {
            0 => format!("{x} == {k}"),
            1 => format!("{x} < {}", k + 1),
            2 => x,
            3 => format!("!{x}"),
            4 => format!("({x} & 1)"),
            5 => format!("{x}++ == {k}"),
            6 => self.plain(2),
            _ => format!("{x} != {k}"),
        }
    }

    fn block(&mut self, depth: u32, in_loop: bool) -> Vec<Node> {
        let n = 1 + self.g.below(3);
        (0..n).flat_map(|_| self.statement(depth, in_loop)).collect()
    }

    fn guarded(&mut self, lock: &str, open: String, depth: u32, close: String) -> Vec<Node> {
        // A lock that is held is seldom taken again, and the order of locks seldom another.
        let bad = self.held.iter().any(|h| h.as_str() >= lock) && !self.g.one_in(12);
        if bad || self.in_block {
            return self.block(depth.saturating_sub(1), false);
        }
        self.held.push(lock.to_owned());
        let body = self.block(depth.saturating_sub(1), false);
        self.held.pop();
        let close = if self.g.one_in(40) { String::new() } else { close };
        vec![nest(format!("{open} {{"), body, format!("}} {close}"))]
    }

    /// What one of the program's themes is about.
    fn themed(&mut self, depth: u32) -> Vec<Node> {
        let theme = self.g.of(&self.themes.clone());
        let (l, v, x) = (self.local(), self.plain(1), self.place());
        let blocking = !self.in_block;
        match theme {
            Theme::Mutex => {
                let m = self.g.of(&["m0@", "m1@"]);
                let (open, close) =
                    (format!("pthread_mutex_lock(&{m});"), format!("pthread_mutex_unlock(&{m});"));
                self.guarded(m, open, depth, close)
            }
            Theme::Try if blocking && depth > 0 => {
                let m = self.g.of(&["m0@", "m1@"]);
                if self.held.iter().any(|h| h == m) && !self.g.one_in(4) {
                    return vec![line(format!("{l} = pthread_mutex_trylock(&{m}) != 0;"))];
                }
                self.held.push(m.to_owned());
                let body = self.block(depth - 1, false);
                self.held.pop();
                let open = format!("if (pthread_mutex_trylock(&{m}) == 0) {{");
                let unlock = format!("pthread_mutex_unlock(&{m}); }}");
                if self.g.one_in(2) {
                    let other = self.block(0, false);
                    return vec![Node::Nest(
                        vec![(open, body), (format!("{unlock} else {{"), other)],
                        "}".into(),
                    )];
                }
                vec![nest(open, body, unlock)]
            }
            Theme::Condition if blocking && !self.held.iter().any(|h| h == "m0@") => {
                self.held.push("m0@".to_owned());
                let more = self.block(0, false);
                self.held.pop();
                let f = self.g.of(&["go@".to_owned(), "go@".to_owned(), format!("({x} > 1)")]);
                let wake = self.g.of(&["signal", "broadcast"]);
                let wait = if self.has(Theme::Timed) {
                    self.less = true;
                    "{ struct timespec until = {2000000000, 0}; if (pthread_cond_timedwait(&c@, &m0@, &until)) break; }"
                } else {
                    "pthread_cond_wait(&c@, &m0@);"
                };
                let (open, close) = ("pthread_mutex_lock(&m0@); {", "} pthread_mutex_unlock(&m0@);");
                let wait = match self.g.below(5) {
                    0 | 1 => format!("while (!{f}) {wait}"),
                    2 if !self.has(Theme::Timed) => format!("if (!{f}) {wait}"),
                    _ => {
                        let set = self.g.of(&["go@ = 1;", "go@ = 1;", "go@++;", "go@ ^= 1;"]);
                        let set = if f == "go@" { set.to_owned() } else { format!("{x} += 2;") };
                        if self.g.one_in(5) {
                            // Not under the lock.
                            return vec![line(set), line(format!("pthread_cond_{wake}(&c@);"))];
                        }
                        format!("{set} pthread_cond_{wake}(&c@);")
                    }
                };
                let mut body = vec![line(wait)];
                body.extend(more);
                vec![nest(open, body, close)]
            }
            Theme::ReadWrite => {
                let kind = self.g.of(&["rdlock", "wrlock", "tryrdlock", "trywrlock"]);
                if kind.starts_with("try") {
                    if !blocking || depth == 0 {
                        return vec![];
                    }
                    let held = self.held.len();
                    self.held.push("r@".to_owned());
                    let body = self.block(depth - 1, false);
                    self.held.truncate(held);
                    let open = format!("if (!pthread_rwlock_{kind}(&r@)) {{");
                    return vec![nest(open, body, "pthread_rwlock_unlock(&r@); }")];
                }
                self.guarded(
                    "r@",
                    format!("pthread_rwlock_{kind}(&r@);"),
                    depth,
                    "pthread_rwlock_unlock(&r@);".into(),
                )
            }
            Theme::Semaphore if blocking => match self.g.below(6) {
                0 | 1 => vec![line("sem_post(&e@);")],
                2 => {
                    let body = self.block(0, false);
                    vec![nest("if (sem_trywait(&e@) == 0) {", body, "}")]
                }
                3 => vec![line(format!("{{ int n; sem_getvalue(&e@, &n); {l} = n; }}"))],
                _ => {
                    let body = self.block(depth.saturating_sub(1), false);
                    let close = self.g.of(&["} sem_post(&e@);", "} sem_post(&e@);", "}"]);
                    vec![nest("sem_wait(&e@); {", body, close)]
                }
            },
            Theme::Barrier if blocking && !self.waited && !self.in_helper => {
                self.waited = true;
                vec![line(self.g.of(&[
                    "pthread_barrier_wait(&b@);".to_owned(),
                    format!("{l} = pthread_barrier_wait(&b@) == PTHREAD_BARRIER_SERIAL_THREAD;"),
                ]))]
            }
            Theme::Atomics => {
                let z = self.g.of(&["z@", "zs@.w", "za@[1]"]);
                let order = self.g.of(&["relaxed", "acquire", "seq_cst"]);
                let release = self.g.of(&["relaxed", "release", "seq_cst"]);
                let both = self.g.of(&["relaxed", "acquire", "release", "acq_rel", "seq_cst"]);
                let k = self.g.below(3);
                vec![line(match self.g.below(14) {
                    0 => format!("{l} = atomic_fetch_add(&{z}, {v});"),
                    1 => format!("{l} = atomic_fetch_sub_explicit(&{z}, {k}, memory_order_{both});"),
                    2 => format!("{l} = atomic_exchange(&{z}, {v});"),
                    3 | 4 => {
                        let (how, n) = (self.g.of(&["strong", "strong", "weak"]), self.number());
                        self.less |= how == "weak";
                        format!(
                            "{{ Z@ w{n} = {k}; {l} = atomic_compare_exchange_{how}(&{z}, &w{n}, {v}); {l} += w{n} & 3; }}"
                        )
                    }
                    5 => format!("{z} += {v};"),
                    6 => format!("{l} = {z}++;"),
                    7 => format!("{l} = --{z} + 1;"),
                    8 => format!("{z} = {v};"),
                    9 => format!("atomic_store_explicit(&{z}, {v}, memory_order_{release});"),
                    10 => format!("{l} = atomic_load_explicit(&{z}, memory_order_{order});"),
                    11 => format!("if ({z} == {k}) {x} = 2;"),
                    12 => format!("{z} |= {k};"),
                    _ => format!("{x} = atomic_fetch_or_explicit(&{z}, 2, memory_order_{both}) & 3;"),
                })]
            }
            Theme::Builtins => {
                let k = self.g.below(3);
                vec![line(match self.g.below(7) {
                    0 => format!("{l} = __sync_fetch_and_add(&k@, {k});"),
                    1 => format!("{l} = __sync_bool_compare_and_swap(&k@, {k}, 2);"),
                    2 => format!("{l} = __atomic_add_fetch(&k@, {k}, __ATOMIC_ACQ_REL);"),
                    3 => format!("__atomic_store_n(&k@, {v}, __ATOMIC_RELEASE);"),
                    4 => format!("{l} = __atomic_load_n(&k@, __ATOMIC_ACQUIRE);"),
                    5 => format!("{l} = __sync_val_compare_and_swap(&k@, {k}, {k} + 1);"),
                    _ => {
                        format!("if (__atomic_test_and_set(&flag@, __ATOMIC_SEQ_CST)) {x} = 1; else {l} = 0;")
                    }
                })]
            }
            Theme::Blocks if blocking && depth > 0 => {
                self.in_block = true;
                let body = self.block(depth - 1, false);
                self.in_block = false;
                vec![nest("__VERIFIER_atomic_begin(); {", body, "} __VERIFIER_atomic_end();")]
            }
            Theme::Inputs if self.inputs < 2 && !self.in_helper => {
                self.inputs += 1;
                vec![line(match self.g.below(4) {
                    0 => format!("{l} = __VERIFIER_nondet_bool();"),
                    1 => format!("{l} = __VERIFIER_nondet_uchar() & 3;"),
                    2 => format!("{x} = __VERIFIER_nondet_bool() + 1;"),
                    _ => format!("{l} = __VERIFIER_nondet_bool(); __VERIFIER_assume({l} != {x});"),
                })]
            }
            Theme::Heap => {
                let n = self.number();
                vec![match self.g.below(6) {
                    4 => line("{ struct S@ *old = hp@; hp@ = 0; free(old); }"),
                    5 => line(format!("{{ struct S@ *h{n} = hp@; if (h{n}) {l} = h{n}->f; }}")),
                    0 => line(format!(
                        "{{ T@ *h{n} = malloc(sizeof(T@)); *h{n} = {v}; *h{n} += {x}; {l} = *h{n}; free(h{n}); }}"
                    )),
                    1 => line(format!("if (hp@) hp@->f = {v};")),
                    2 => line(format!("if (hp@) {l} = hp@->g++;")),
                    _ => line(format!(
                        "{{ struct S@ *h{n} = calloc(1, sizeof(struct S@)); h{n}->f = {v}; h{n}->g = 1; hp@ = h{n}; }}"
                    )),
                }]
            }
            Theme::Asserts => {
                let k = self.g.below(5);
                vec![line(match self.g.below(4) {
                    0 => format!("assert({x} <= {});", k + 2),
                    1 => format!("assert({x} != {});", k + 2),
                    2 => format!("assert({x} < 100);"),
                    _ => format!("assert({l} != {});", k + 3),
                })]
            }
            Theme::Calls if !self.in_helper && self.helpers > 0 => {
                let h = self.g.below(self.helpers);
                let w = self.plain(1);
                vec![line(match self.g.below(9) {
                    0 => format!("{x} = help{h}@({v}, {w});"),
                    1 => format!("set@(&x@, {v});"),
                    2 => format!("set@(a@ + ({l} & 1), {v});"),
                    3 => format!("{l} = pick@[{l} & 1]({v}, 1);"),
                    4 => format!("{l} = down@({l} & 3);"),
                    5 => format!("{l} = count@();"),
                    6 => format!("{l} = fields@((struct S@){{ .f = {v}, .h = {{ 1 }} }});"),
                    7 => format!("{l} = pair@({v}).g;"),
                    _ => format!("{l} = help{h}@({x}, {w});"),
                })]
            }
            Theme::Pointers => vec![line(match self.g.below(11) {
                5 => format!("{{ int *lp = &l1; *lp += 1; {l} = *lp + 1; }}"),
                6 => {
                    "{ T@ *c = p@; if (c == &a@[0]) p@ = c + 1; else if (c == &a@[1]) p@ = --c; }".to_owned()
                }
                7 => "{ T@ **pp = &p@; *pp = &a@[1]; **pp = 2; }".to_owned(),
                8 => format!("{l} = *(a@ + ({l} & 1));"),
                9 => "{ T@ *old = p@; p@ = 0; if (old) *old += 1; p@ = &x@; }".to_owned(),
                0 => "p@ = &x@;".to_owned(),
                1 => format!("p@ = &a@[{l} & 1];"),
                2 => "p@ = &s@.f;".to_owned(),
                3 => format!("*p@ = {v};"),
                4 => format!("{l} = *p@;"),
                _ => format!("{l} = p@ == &x@;"),
            })],
            Theme::Spin => self.guarded(
                "m9@",
                "pthread_spin_lock(&m9@);".into(),
                depth,
                "pthread_spin_unlock(&m9@);".into(),
            ),
            Theme::Recursive if blocking => {
                let body = self.block(depth.saturating_sub(1), false);
                vec![nest("pthread_mutex_lock(&rm@); {", body, "} pthread_mutex_unlock(&rm@);")]
            }
            Theme::Once if blocking && !self.in_helper => vec![line("pthread_once(&once@, init@);")],
            Theme::Local => vec![line(self.g.of(&[
                format!("tl@ += {v};"),
                format!("{l} = tl@++;"),
                format!("{x} = tl@;"),
            ]))],
            Theme::C11 => match self.g.below(3) {
                0 if blocking && depth > 0 => {
                    let body = self.block(depth - 1, false);
                    vec![nest("if (mtx_trylock(&cm@) == thrd_success) {", body, "mtx_unlock(&cm@); }")]
                }
                _ => self.guarded("m8@", "mtx_lock(&cm@);".into(), depth, "mtx_unlock(&cm@);".into()),
            },
            Theme::Exit if blocking && !self.in_main && self.held.is_empty() => {
                let c = self.condition();
                vec![line(match self.g.below(6) {
                    0 => format!("if ({c}) exit(0);"),
                    1..4 => format!("if ({c}) pthread_exit((void *)2);"),
                    _ => {
                        format!("if ({c}) {};", if self.in_helper { "return 3" } else { "return (void *)1" })
                    }
                })]
            }
            Theme::Structs => {
                // A structure is copied field by field where it is proved, at once where it is run.
                let kind = self.g.below(5);
                self.less |= [0, 1, 4].contains(&kind);
                vec![line(match kind {
                    0 => "s@ = s1@;".to_owned(),
                    1 => format!("{{ struct S@ c = {{ .f = {v}, .g = 1 }}; s@ = c; }}"),
                    2 => format!("{l} = sp@->f;"),
                    3 => format!("sp@->h[{l} & 1] += 1;"),
                    _ => format!("{{ struct S@ c = s@; {l} = c.f + c.g; }}"),
                })]
            }
            Theme::Bits => {
                self.less = true;
                vec![line(match self.g.below(5) {
                    0 => format!("bf@.u = {v};"),
                    1 => format!("bf@.v -= {v};"),
                    2 => format!("{l} = bf@.u++;"),
                    3 => format!("{l} = bf@.v;"),
                    _ => format!("{l} = bf@.w ? 1 : bf@.u;"),
                })]
            }
            Theme::Timed if blocking => {
                self.less = true;
                let body = self.block(0, false);
                let until = "struct timespec until = {2000000000, 0};";
                match self.g.below(2) {
                    0 if !self.held.iter().any(|h| h == "m0@") => vec![nest(
                        format!("{{ {until} if (pthread_mutex_timedlock(&m0@, &until) == 0) {{"),
                        body,
                        "pthread_mutex_unlock(&m0@); } }",
                    )],
                    _ => {
                        vec![nest(format!("{{ {until} if (sem_timedwait(&e@, &until) == 0) {{"), body, "} }")]
                    }
                }
            }
            // Also in atomic blocks, and while locks are held.
            Theme::Ends => {
                let (c, k) = (self.condition(), self.g.below(2));
                vec![line(match self.g.below(5) {
                    0 | 1 => format!("if ({c}) abort();"),
                    2 => format!("if ({c}) exit({k});"),
                    3 => format!("if ({c}) _Exit(0);"),
                    _ => format!("if ({c}) quick_exit(0);"),
                })]
            }
            Theme::Weak => {
                let n = self.number();
                vec![line(match self.g.below(4) {
                    0 | 1 if blocking => format!(
                        "{{ int w{n} = wk@; while (!atomic_compare_exchange_weak(&wk@, &w{n}, w{n} + 1)) ; {l} = w{n}; }}"
                    ),
                    2 => {
                        self.less = true;
                        format!(
                            "{{ int w{n} = wk@, n{n} = 0; do n{n}++; while (!atomic_compare_exchange_weak(&wk@, &w{n}, {v}) && n{n} < 2); {l} = n{n}; }}"
                        )
                    }
                    _ => format!(
                        "{{ int w{n} = {l}; {x} = atomic_compare_exchange_strong(&wk@, &w{n}, {v}); }}"
                    ),
                })]
            }
            Theme::List => {
                let n = self.number();
                let (lock, unlock) = if self.in_block || self.g.one_in(6) {
                    ("", "")
                } else {
                    ("pthread_mutex_lock(&lm@);", "pthread_mutex_unlock(&lm@);")
                };
                vec![line(match self.g.below(2) {
                    0 => format!(
                        "{{ struct N@ *e{n} = malloc(sizeof(struct N@)); e{n}->v = {v}; {lock} e{n}->next = top@; top@ = e{n}; {unlock} }}"
                    ),
                    _ => format!(
                        "{{ {lock} struct N@ *e{n} = top@; if (e{n}) top@ = e{n}->next; {unlock} if (e{n}) {{ {l} = e{n}->v; free(e{n}); }} }}"
                    ),
                })]
            }
            Theme::Functions => vec![line(match self.g.below(7) {
                0 => "fn@ = down1@;".to_owned(),
                1 => format!("fn@ = {l} & 1 ? up1@ : down1@;"),
                2 => format!("{l} = fn@({v});"),
                3 => format!("{{ int (*g)(int) = fn@; if (g != down1@) {l} = g({v}); }}"),
                4 => format!("a@[vol@ & 1] = {v};"),
                5 => format!("{l} = a@[at@.n & 1];"),
                _ => "{ int (*g)(int) = fn@; fn@ = 0; fn@ = g ? g : up1@; }".to_owned(),
            })],
            Theme::Queue if blocking => {
                let wake = self.g.of(&["signal", "broadcast"]);
                let test = self.g.of(&["while", "while", "while", "if"]);
                vec![line(match self.g.below(2) {
                    0 => format!(
                        "pthread_mutex_lock(&qm@); {test} (qn@ == 2) pthread_cond_wait(&qc@, &qm@); qb@[qn@ & 1] = {v}; qn@++; \
                         pthread_cond_{wake}(&qc@); pthread_mutex_unlock(&qm@);"
                    ),
                    _ => format!(
                        "pthread_mutex_lock(&qm@); {test} (qn@ == 0) pthread_cond_wait(&qc@, &qm@); qn@--; {l} = qb@[qn@ & 1]; \
                         pthread_cond_{wake}(&qc@); pthread_mutex_unlock(&qm@);"
                    ),
                })]
            }
            Theme::ByValue if blocking => {
                // A structure is copied field by field where it is proved, at once where it is run.
                self.less = true;
                let n = self.number();
                let (lock, unlock) = ("pthread_mutex_lock(&vm@);", "pthread_mutex_unlock(&vm@);");
                vec![line(match self.g.below(4) {
                    0 => format!("{{ {lock} struct S@ c{n} = s@; {unlock} {l} = total@(c{n}); }}"),
                    1 => format!("{lock} s@ = make@({v}); {unlock}"),
                    2 => format!("{lock} {l} = total@(s@); {unlock}"),
                    _ => format!("many@[1] = make@({v});"),
                })]
            }
            _ => vec![],
        }
    }

    fn statement(&mut self, depth: u32, in_loop: bool) -> Vec<Node> {
        self.left -= 1;
        if self.left < 0 {
            return vec![];
        }
        if self.g.below(5) < 2 {
            let found = self.themed(depth);
            if !found.is_empty() {
                return found;
            }
        }
        let (l, x) = (self.local(), self.place());
        let kinds = if depth == 0 { 9 } else { 16 };
        match self.g.below(kinds) {
            0 => {
                let v = self.plain(2);
                vec![line(format!("{x} = {v};"))]
            }
            1 => {
                let v = self.place();
                vec![line(format!("{l} = {v};"))]
            }
            2 => {
                let (op, v) = (self.g.of(&["+=", "-=", "^=", "|=", "&="]), self.plain(1));
                vec![line(format!("{x} {op} {v};"))]
            }
            3 => {
                let op = self.g.of(&["*= 2", "<<= 1", ">>= 1", "/= 2", "%= 3"]);
                vec![line(format!("{x} {op};"))]
            }
            4 => vec![line(self.g.of(&[
                format!("{x}++;"),
                format!("--{x};"),
                format!("++{x};"),
                format!("{x}--;"),
            ]))],
            5 | 6 => {
                let v = self.value();
                vec![line(format!("{l} = {v};"))]
            }
            7 if in_loop => {
                let (c, how) = (self.condition(), self.g.of(&["break", "continue"]));
                vec![line(format!("if ({c}) {how};"))]
            }
            7 | 8 => {
                let (c, d) = (self.condition(), self.condition());
                let (op, y) = (self.g.of(&["&&", "||"]), self.place());
                vec![line(match self.g.below(3) {
                    0 => format!("({c} {op} {d}) ? {x}++ : ({y} = 1);"),
                    1 => format!("if ({c} {op} {d}) {x} = {l};"),
                    _ => format!("{c} {op} ({y} += 2);"),
                })]
            }
            9..12 => {
                let (c, body) = (self.value(), self.block(depth - 1, in_loop));
                let mut parts = vec![(format!("if ({c}) {{"), body)];
                if self.g.one_in(2) {
                    parts.push(("} else {".to_owned(), self.block(depth - 1, in_loop)));
                }
                vec![Node::Nest(parts, "}".into())]
            }
            12 => {
                let (i, n) = (self.number(), 1 + self.g.below(2));
                let body = self.block(depth - 1, true);
                vec![nest(format!("for (int i{i} = 0; i{i} < {n}; i{i}++) {{"), body, "}")]
            }
            13 => {
                let (i, n, c) = (self.number(), 1 + self.g.below(2), self.condition());
                let body = self.block(depth - 1, true);
                vec![match self.g.below(3) {
                    0 => nest(format!("int i{i} = {n}; while (i{i}-- > 0 && {c}) {{"), body, "}"),
                    1 => {
                        nest(format!("int i{i} = {n}; do {{"), body, format!("}} while (--i{i} > 0 && {c});"))
                    }
                    _ => nest(format!("for (int i{i} = 0; {c} && i{i} < {n}; i{i}++) {{"), body, "}"),
                }]
            }
            14 => {
                let v = self.value();
                let mut parts = vec![];
                let mut before = format!("switch ({v} & 3) {{");
                for k in 0..2 + self.g.below(2) {
                    let label = if k == 2 { "default:".to_owned() } else { format!("case {k}:") };
                    parts.push((format!("{before} {label} {{"), self.block(depth - 1, false)));
                    before = self.g.of(&["} break;".to_owned(), "}".to_owned()]);
                }
                vec![Node::Nest(parts, format!("{before} }}"))]
            }
            _ => {
                let (n, c) = (self.number(), self.value());
                // Not over what releases a lock: the label is in the same block.
                let body = self.block(depth - 1, false);
                let close = format!("l{n}: ;");
                vec![nest(format!("if ({c}) goto l{n}; {{"), body, format!("}} {close}"))]
            }
        }
    }

    fn locals(&mut self, extra: &[&str]) -> String {
        let t = self.g.of(&["int", "int", "long", "unsigned", "short", "unsigned char", "signed char"]);
        self.locals = vec!["l0".into(), "l1".into()];
        self.locals.extend(extra.iter().map(|e| (*e).to_owned()));
        let (a, b) = (self.g.below(3), self.g.below(3));
        format!("{t} l0 = {a}; int l1 = {b};")
    }

    fn body(&mut self, statements: u64, depth: u32) -> Vec<Node> {
        (0..statements)
            .flat_map(|_| {
                let found = self.statement(depth, false);
                self.under_the_lock(found)
            })
            .collect()
    }

    fn under_the_lock(&mut self, found: Vec<Node>) -> Vec<Node> {
        let text = format!("{found:?}");
        let waits = ["wait", "exit", "return", "once"].iter().any(|w| text.contains(w));
        if !self.orderly || self.in_helper || waits || found.is_empty() || self.g.one_in(12) {
            return found;
        }
        vec![nest("pthread_mutex_lock(&mm@); {", found, "} pthread_mutex_unlock(&mm@);")]
    }
}

const TYPES: [&str; 10] =
    ["int", "int", "int", "char", "signed char", "unsigned char", "short", "unsigned", "long", "_Bool"];

/// The program of a seed.
pub(crate) fn program(seed: u64) -> Program {
    let mut g = Rng(seed.wrapping_mul(0x1_0001).wrapping_add(77));
    let mut themes: Vec<Theme> = (0..1 + g.below(4)).map(|_| g.of(&THEMES)).collect();
    if g.one_in(3) {
        themes.push(Theme::Mutex);
    }
    let all = [
        "x@",
        "y@",
        "a@[0]",
        "a@[1]",
        "s@.f",
        "s@.g",
        "s@.h[1]",
        "n@",
        "vol@",
        "d@[1][0]",
        "at@.n",
        "many@[1].f",
        "many@[1].h[0]",
    ];
    let mut places: Vec<String> = (0..1 + g.below(3)).map(|_| g.of(&all).to_owned()).collect();
    if g.one_in(6) {
        places.push(g.of(&["un@.i", "un@.c[1]", "un@.s[0]"]).to_owned());
        places.push("un@.i".to_owned());
    }
    let orderly = g.one_in(3);
    let mut w = Author {
        g,
        themes,
        places,
        own: vec![],
        locals: vec![],
        fresh: 0,
        inputs: 0,
        left: 0,
        in_block: false,
        in_helper: false,
        in_main: false,
        helpers: 0,
        waited: false,
        less: false,
        truths: false,
        orderly,
        held: vec![],
    };
    let mut nodes = declarations(&mut w);
    let unread = format!("{nodes:?}").matches("typedef unsigned").count()
        + format!("{nodes:?}").matches("typedef _Bool").count()
        > 0;
    if w.has(Theme::Calls) {
        nodes.extend(helpers(&mut w));
    }
    if w.has(Theme::Once) {
        (w.in_helper, w.in_main) = (true, true);
        (w.left, w.own) = (2, vec![]);
        let l = w.locals(&[]);
        let body = w.body(2, 0);
        nodes.push(nest(format!("static void init@(void) {{ {l}"), body, "}"));
        (w.in_helper, w.in_main) = (false, false);
    }
    let (count, functions) = if w.g.one_in(3) { (3, w.g.of(&[1, 2, 3])) } else { (2, w.g.of(&[1, 2, 2, 2])) };
    let mut kinds: Vec<u64> = (0..functions).map(|_| w.g.below(7)).collect();
    let per = if count == 3 { 3 } else { 5 };
    // One of the threads may be made by another.
    let nested = count == 3 && functions == 3 && w.g.one_in(2);
    if nested {
        kinds[2] = 0;
        nodes.push(line("static void *t2@(void *arg);"));
    }
    for (f, kind) in kinds.iter().enumerate() {
        nodes.push(thread(&mut w, f, *kind, per, nested && f == 0));
    }
    let (main, bits) = main(&mut w, count, &kinds, nested);
    nodes.push(main);
    Program { nodes, bits, less: w.less, unread }
}

fn declarations(w: &mut Author) -> Vec<Node> {
    let mut nodes = vec![];
    for name in ["T@", "U@", "V@"] {
        let t = w.g.of(&TYPES);
        w.truths |= t == "_Bool";
        nodes.push(line(format!("typedef {t} {name};")));
    }
    let v = w.g.below(3);
    if w.orderly {
        nodes.push(line("static pthread_mutex_t mm@ = PTHREAD_MUTEX_INITIALIZER;"));
    }
    for text in [
        "struct S@ { T@ f; U@ g; V@ h[2]; };",
        "static T@ x@, a@[2], *p@ = &x@;",
        &format!("static U@ y@ = {v};"),
        "static V@ n@;",
        "static volatile int vol@;",
        "enum E@ { A@, B@ = 3, C@ }; static struct { enum E@ e; int n; } at@ = { B@, 1 }; static struct S@ many@[2];",
        "static U@ d@[2][2] = { { 1 }, { 2 } };",
        "static struct S@ s@ = { .g = 1 }, s1@ = { 1, 0, { 1, 1 } }, *sp@ = &s@;",
        "static union { int i; unsigned char c[4]; short s[2]; } un@;",
    ] {
        nodes.push(line(text));
    }
    let z = w.g.of(&["int", "unsigned char", "long", "short", "unsigned"]);
    for (theme, text) in [
        (
            Theme::Mutex,
            "static pthread_mutex_t m0@ = PTHREAD_MUTEX_INITIALIZER, m1@ = PTHREAD_MUTEX_INITIALIZER;",
        ),
        (Theme::Condition, "static pthread_cond_t c@ = PTHREAD_COND_INITIALIZER; static int go@;"),
        (Theme::ReadWrite, "static pthread_rwlock_t r@ = PTHREAD_RWLOCK_INITIALIZER;"),
        (Theme::Semaphore, "static sem_t e@;"),
        (Theme::Barrier, "static pthread_barrier_t b@;"),
        (
            Theme::Atomics,
            &format!(
                "typedef {z} Z@; static _Atomic Z@ z@, za@[2]; static struct {{ char c; _Atomic Z@ w; }} zs@;"
            ),
        ),
        (Theme::Builtins, "static int k@; static char flag@;"),
        (Theme::Heap, "static struct S@ *hp@;"),
        (Theme::Spin, "static pthread_spinlock_t m9@;"),
        (Theme::Recursive, "static pthread_mutex_t rm@;"),
        (Theme::Once, "static pthread_once_t once@ = PTHREAD_ONCE_INIT;"),
        (Theme::Local, "static _Thread_local int tl@ = 1;"),
        (Theme::C11, "static mtx_t cm@;"),
        (Theme::Bits, "static struct { unsigned u : 3; signed v : 4; unsigned w : 1; } bf@;"),
        (Theme::Weak, "static _Atomic int wk@;"),
        (
            Theme::List,
            "struct N@ { int v; struct N@ *next; }; static struct N@ *top@; \
             static pthread_mutex_t lm@ = PTHREAD_MUTEX_INITIALIZER;",
        ),
        (
            Theme::Functions,
            "static int up1@(int a) { return a + 1; } static int down1@(int a) { return a - 1; } static int (*fn@)(int) = up1@;",
        ),
        (
            Theme::Queue,
            "static pthread_mutex_t qm@ = PTHREAD_MUTEX_INITIALIZER; static pthread_cond_t qc@ = PTHREAD_COND_INITIALIZER; \
             static int qn@, qb@[2];",
        ),
        (
            Theme::ByValue,
            "static pthread_mutex_t vm@ = PTHREAD_MUTEX_INITIALIZER; \
             static int total@(struct S@ v) { v.g += 1; return v.f + v.g + v.h[1]; } \
             static struct S@ make@(int a) { struct S@ v = { a, 1, { 2, a } }; return v; }",
        ),
    ] {
        let also = match theme {
            Theme::Mutex => w.has(Theme::Try) || w.has(Theme::Condition) || w.has(Theme::Timed),
            Theme::Semaphore => w.has(Theme::Timed),
            _ => false,
        };
        if w.has(theme) || also {
            nodes.push(line(text));
        }
    }
    nodes
}

/// Functions that threads call.
fn helpers(w: &mut Author) -> Vec<Node> {
    let mut nodes = vec![line("static void set@(T@ *at, T@ to) { *at = to; }")];
    w.in_helper = true;
    let n = 1 + w.g.below(2);
    for h in 0..n {
        w.left = 3;
        w.own = vec![];
        let l = w.locals(&["b"]);
        let body = w.body(2, 1);
        let t = w.g.of(&["int", "unsigned char", "long"]);
        nodes.push(nest(format!("static {t} help{h}@(int a, short b) {{ {l}"), body, "return l0 + a; }"));
    }
    w.in_helper = false;
    w.helpers = n;
    let x = w.place();
    nodes.push(line(format!("static int one@(int a, int b) {{ return {x} + a - b; }}")));
    nodes.push(line("static int count@(void) { static int n; static U@ m = 1; n++; m += 1; return n + m; }"));
    nodes.push(line("static int fields@(struct S@ v) { v.f += 1; return v.f + v.h[0]; }"));
    nodes.push(line(format!(
        "static struct S@ pair@(int a) {{ struct S@ v = {{ .f = a }}; v.g = {x}; return v; }}"
    )));
    nodes.push(line("static int two@(int a, int b) { return a * 2 + b; }"));
    nodes.push(line("static int (*const pick@[2])(int, int) = { one@, two@ };"));
    nodes.push(line(format!(
        "static int down@(int a) {{ if (a <= 0) return 0; {x} += 1; return 1 + down@(a - 1); }}"
    )));
    nodes
}

fn thread(w: &mut Author, f: usize, kind: u64, per: u64, spawns: bool) -> Node {
    // What its argument is.
    let (take, own): (&str, &[&str]) = match kind {
        0 => ("(void)arg;", &[]),
        1 => ("V@ *q = arg;", &["(*q)"]),
        2 => ("struct S@ *q = arg;", &["q->f", "q->h[1]"]),
        3 => ("long q = (long)arg;", &[]),
        4 => ("int *q = (int *)arg;", &["(*q)", "q[0]"]),
        5 => ("static V@ kept; static int *also = &at@.n; (void)arg;", &["kept", "at@.n", "(*also)"]),
        _ => ("T@ *q = arg; q++;", &["(*q)", "q[-1]"]),
    };
    w.own = own.iter().map(|o| (*o).to_owned()).collect();
    w.left = per as i64 + 3;
    w.waited = false;
    let l = w.locals(if kind == 3 { &["q"] } else { &[] });
    let mut body = w.body(per, 2);
    if spawns {
        let at = w.g.below(body.len() as u64 + 1) as usize;
        body.insert(at, line("pthread_t u; pthread_create(&u, 0, t2@, 0);"));
        body.push(line("pthread_join(u, 0);"));
    }
    let back = w.g.of(&["return 0;", "return (void *)(long)(l0 & 3);", "pthread_exit(0);", "return arg;"]);
    nest(format!("static void *t{f}@(void *arg) {{ {take} {l}"), body, format!("{back} }}"))
}

fn main(w: &mut Author, count: u64, kinds: &[u64], nested: bool) -> (Node, u32) {
    w.own = vec![];
    w.in_main = true;
    w.left = 4;
    w.waited = false;
    let l = w.locals(&[]);
    let mut body =
        vec![line("V@ mine = 1; int also = 0; unsigned long sum = 0x5a5; (void)mine; (void)also;")];
    let (initial, parties) = (w.g.below(2), if w.g.one_in(8) { 3 } else { 2 });
    for (theme, text) in [
        (Theme::Semaphore, format!("sem_init(&e@, 0, {initial});")),
        (Theme::Barrier, format!("pthread_barrier_init(&b@, 0, {parties});")),
        (Theme::Spin, "pthread_spin_init(&m9@, 0);".to_owned()),
        (
            Theme::Recursive,
            "pthread_mutexattr_t at; pthread_mutexattr_init(&at); pthread_mutexattr_settype(&at, PTHREAD_MUTEX_RECURSIVE); \
             pthread_mutex_init(&rm@, &at);"
                .to_owned(),
        ),
        (Theme::C11, "mtx_init(&cm@, mtx_plain);".to_owned()),
    ] {
        if w.has(theme) || theme == Theme::Semaphore && w.has(Theme::Timed) {
            body.push(line(text));
        }
    }
    if w.has(Theme::Heap) && w.g.one_in(2) {
        body.push(line("hp@ = calloc(1, sizeof(struct S@));"));
    }
    let made: Vec<u64> = (0..count).filter(|t| !(nested && *t == 2)).collect();
    let looped = kinds.len() == 1 && w.g.one_in(2);
    let arg = |w: &mut Author, kind: u64| match kind {
        0 => "0".to_owned(),
        1 => w.g.of(&["&n@", "&mine", "&s@.h[1]"]).to_owned(),
        2 => w.g.of(&["&s@", "sp@", "&s1@"]).to_owned(),
        3 => format!("(void *){}L", w.g.below(3)),
        5 => "0".to_owned(),
        4 => w.g.of(&["&also", "(int *)&vol@", "&also"]).to_owned(),
        _ => "&a@[0]".to_owned(),
    };
    if looped {
        let a = arg(w, kinds[0]);
        body.push(line(format!(
            "pthread_t t[{count}]; for (int i = 0; i < {count}; i++) pthread_create(&t[i], 0, t0@, {a});"
        )));
    } else {
        body.push(line(format!("pthread_t t[{count}];")));
        for t in &made {
            let f = (*t as usize).min(kinds.len() - 1);
            let a = arg(w, kinds[f]);
            body.push(line(format!("pthread_create(&t[{t}], 0, t{f}@, {a});")));
            if w.g.one_in(5) {
                w.left = 1;
                body.extend(w.body(1, 0));
            }
        }
    }
    w.left = 3;
    if w.g.one_in(2) {
        let n = w.g.below(3);
        body.extend(w.body(n, 1));
    }
    let mut order = made;
    if w.g.one_in(2) {
        order.reverse();
    }
    for t in order {
        body.push(match w.g.below(8) {
            0 | 1 => line(format!("{{ void *back; pthread_join(t[{t}], &back); l1 += (long)back == 2; }}")),
            2 if count == 2 && t == 1 => line(""),
            _ => line(format!("pthread_join(t[{t}], 0);")),
        });
    }
    w.left = 2;
    if w.g.one_in(3) {
        body.extend(w.body(1, 1));
    }
    let mut seen: Vec<String> = vec![];
    let more: &[(Theme, &str)] = &[
        (Theme::Atomics, "z@"),
        (Theme::Atomics, "zs@.w"),
        (Theme::Builtins, "k@"),
        (Theme::Pointers, "*p@"),
        (Theme::Bits, "bf@.u"),
        (Theme::Bits, "bf@.v"),
        (Theme::Structs, "s@.h[0]"),
        (Theme::Condition, "go@"),
        (Theme::Weak, "wk@"),
        (Theme::List, "(top@ ? top@->v : 5)"),
        (Theme::Queue, "qn@"),
        (Theme::ByValue, "s@.f"),
        (Theme::Heap, "(hp@ ? hp@->f : 0)"),
    ];
    let more = more.iter().filter(|(t, _)| w.has(*t)).map(|(_, p)| (*p).to_owned());
    for p in w
        .places
        .iter()
        .cloned()
        .chain(["l0".into(), "l1".into(), "mine".into(), "also".into(), "x@".into()])
        .chain(more)
    {
        if !seen.contains(&p) {
            seen.push(p);
        }
    }
    for p in &seen {
        body.push(line(format!("sum = sum << 3 | ({p} & 7);")));
    }
    body.push(line("assert(FINAL);"));
    body.push(line("state = sum;"));
    (nest(format!("static int main@(void) {{ {l}"), body, "END; }"), 3 * seen.len() as u32)
}
