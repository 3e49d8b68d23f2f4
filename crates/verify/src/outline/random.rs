//! Random outlines of two threads against all states of their programs, by an interpreter of its own.

use super::*;
use crate::testing::Rng;

#[derive(Clone, Copy, PartialEq)]
enum Statement {
    Set(usize, i32),
    Read(usize),
    Write(usize),
    Next,
    Add(usize),
    Lock,
    Unlock,
}

const SHARED: [&str; 2] = ["x", "y"];
const THREADS: [(&str, &str); 2] = [("A", "L"), ("B", "M")];

impl Statement {
    fn text(self) -> String {
        match self {
            Statement::Set(v, k) => format!("{} = {k};", SHARED[v]),
            Statement::Read(v) => format!("t = {};", SHARED[v]),
            Statement::Write(v) => format!("{} = t;", SHARED[v]),
            Statement::Next => "t = t + 1;".to_owned(),
            Statement::Add(v) => format!("__sync_fetch_and_add(&{}, 1);", SHARED[v]),
            Statement::Lock => "pthread_mutex_lock(&l);".to_owned(),
            Statement::Unlock => "pthread_mutex_unlock(&l);".to_owned(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    shared: [i32; 2],
    owner: usize,
    own: [i32; 2],
    at: [usize; 2],
}

/// One step of a thread, if it can go on.
fn step(s: &State, t: usize, program: &[Vec<Statement>; 2]) -> Option<State> {
    let mut next = *s;
    match *program[t].get(s.at[t])? {
        Statement::Set(v, k) => next.shared[v] = k,
        Statement::Read(v) => next.own[t] = s.shared[v],
        Statement::Write(v) => next.shared[v] = s.own[t],
        Statement::Next => next.own[t] += 1,
        Statement::Add(v) => next.shared[v] += 1,
        Statement::Lock if s.owner != 0 => return None,
        Statement::Lock => next.owner = t + 1,
        Statement::Unlock => next.owner = 0,
    }
    next.at[t] += 1;
    Some(next)
}

fn reachable(program: &[Vec<Statement>; 2]) -> BTreeSet<State> {
    let start = State { shared: [0; 2], owner: 0, own: [0; 2], at: [0; 2] };
    let mut seen = BTreeSet::from([start]);
    let mut open = vec![start];
    while let Some(s) = open.pop() {
        for next in (0..2).filter_map(|t| step(&s, t, program)) {
            if seen.insert(next) {
                open.push(next);
            }
        }
    }
    seen
}

/// What is true of a state, as far as a thread can say it: not what the other one has of its own.
fn says(s: &State, me: usize) -> String {
    let (other, label) = THREADS[1 - me];
    let lock = match s.owner {
        0 => "!held(l, A) && !held(l, B)".to_owned(),
        n => format!("held(l, {})", THREADS[n - 1].0),
    };
    let [x, y] = s.shared;
    format!("x == {x} && y == {y} && t == {} && {lock} && {other}@{label}{}", s.own[me], s.at[1 - me])
}

fn random_statements(g: &mut Rng) -> Vec<Statement> {
    let mut out = Vec::new();
    for _ in 0..1 + g.below(3) {
        let v = g.below(2) as usize;
        out.push(match g.below(5) {
            0 => Statement::Set(v, g.below(3) as i32),
            1 => Statement::Read(v),
            2 => Statement::Write(v),
            3 => Statement::Next,
            _ => Statement::Add(v),
        });
    }
    if g.below(2) == 0 {
        out.insert(0, Statement::Lock);
        out.push(Statement::Unlock);
    }
    out
}

/// Outlines that say at each place which states there are; of every second one, one of them is left out somewhere. Those must not hold. How
/// many of the others do, and how many do not: what two threads have of their own cannot be said together.
fn compare(seeds: std::ops::Range<u64>) -> (usize, usize) {
    let (mut held, mut not) = (0, 0);
    for seed in seeds {
        let mut g = Rng(seed);
        let program = [random_statements(&mut g), random_statements(&mut g)];
        let states = reachable(&program);
        let mut said: Vec<(usize, usize, BTreeSet<String>)> = Vec::new();
        for (t, statements) in program.iter().enumerate() {
            for at in 0..=statements.len() {
                said.push((t, at, states.iter().filter(|s| s.at[t] == at).map(|s| says(s, t)).collect()));
            }
        }
        let wrong = seed % 2 == 1;
        if wrong {
            let n = g.below(said.len() as u64) as usize;
            let list = &mut said[n].2;
            let which = list.iter().nth(g.below(list.len() as u64) as usize).cloned();
            list.remove(&which.expect("every place is reached, or the first one is"));
        }
        let mut text = "typedef unsigned long pthread_t; typedef struct { int d; } pthread_mutex_t;\n\
            int x, y; pthread_mutex_t l;\n"
            .to_owned();
        for (t, at, list) in &said {
            let (name, label) = THREADS[*t];
            if *at == 0 {
                text += &format!("void *{name}(void *p) {{ int t = 0;\n");
            }
            let all: Vec<String> = list.iter().map(|s| format!("({s})")).collect();
            let all = if all.is_empty() { "\\false".to_owned() } else { all.join(" || ") };
            text += &format!("{label}{at}: //@ assert {all};\n");
            text += &program[*t].get(*at).map_or("return 0; }\n".to_owned(), |s| s.text() + "\n");
        }
        text += "int main(void) { pthread_t a, b; pthread_create(&a, 0, A, 0); pthread_create(&b, 0, B, 0);\n\
            pthread_join(a, 0); pthread_join(b, 0); return 0; }\n";
        let file = Annotated::read_text("o.c", &text, &model::Options::default()).expect("it can be read");
        let o = check_outline(&file, 20.0).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(o.undecided().count(), 0, "seed {seed}\n{text}");
        let holds = o.failing().count() == 0;
        assert!(!(holds && wrong), "seed {seed}: a state is left out, and all is said to hold\n{text}");
        match holds {
            true => held += 1,
            false if !wrong => not += 1,
            false => {}
        }
    }
    (held, not)
}

#[test]
fn what_an_outline_proves_is_true_of_every_state() {
    let (held, not) = compare(0..100);
    assert!(held > 3 * not, "{held} hold, {not} do not");
}

#[test]
#[ignore = "thousands"]
fn what_an_outline_proves_is_true_of_every_state_of_thousands() {
    compare(1000..20_000);
}
