//! Eager reduction on random model programs that know what their values decide: copies, and accesses through an index that
//! is read from memory.

mod models;
mod support;

use models::{Code, Model, address, assign, assign_address, count, look, search, store, test};
use std::collections::BTreeSet;
use support::Rng;

const WORDS: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stmt {
    Write(usize, u64),
    Read(usize),
    Count(usize),
    Copy(usize, usize),
    /// `t := word; words[t % 2] := 2`.
    WriteAt(usize),
    /// `t := word; read words[t % 2]`.
    ReadAt(usize),
    /// Passes the next statement over if the word is not 0.
    If0(usize),
}

use Stmt::*;

/// The words that may become an index: those that are used as one, and those that are copied to such.
fn indices(threads: &[Vec<Stmt>]) -> BTreeSet<usize> {
    let all = || threads.iter().flatten();
    let mut found: BTreeSet<usize> =
        all().filter_map(|s| if let WriteAt(x) | ReadAt(x) = s { Some(*x) } else { None }).collect();
    loop {
        let more: BTreeSet<usize> = all()
            .filter_map(|s| if let Copy(to, from) = s { found.contains(to).then_some(*from) } else { None })
            .filter(|x| !found.contains(x))
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

fn code(statements: Vec<Stmt>, indices: BTreeSet<usize>) -> Code {
    Box::new(move |got| {
        let mut got = got.iter();
        let mut skip = false;
        for s in &statements {
            if std::mem::take(&mut skip) {
                continue;
            }
            let Some(value) = got.next() else {
                return Some(match *s {
                    Write(x, v) => store(x, v),
                    Read(x) => look(x),
                    Count(x) => count(x),
                    Copy(to, from) if indices.contains(&to) => assign_address(to, from),
                    Copy(to, from) => assign(to, from),
                    WriteAt(x) | ReadAt(x) => address(x),
                    If0(x) => test(x),
                });
            };
            let at = *value as usize % 2;
            match s {
                If0(_) => skip = *value != 0,
                WriteAt(_) if got.next().is_none() => return Some(store(at, 2)),
                ReadAt(_) if got.next().is_none() => return Some(look(at)),
                _ => {}
            }
        }
        None
    })
}

fn model(threads: &[Vec<Stmt>]) -> Model {
    let indices = indices(threads);
    Model {
        memory: vec![0; WORDS],
        threads: threads.iter().map(|t| code(t.clone(), indices.clone())).collect(),
    }
}

fn random(seed: u64) -> Vec<Vec<Stmt>> {
    let mut g = Rng(seed);
    let threads = 2 + g.below(2) as usize;
    let mut body = |_| {
        (0..1 + g.below([0, 0, 4, 2][threads]))
            .map(|_| {
                let (x, y) = (g.below(WORDS as u64) as usize, g.below(WORDS as u64 - 1) as usize);
                match g.below(10) {
                    0..3 => Write(x, 1 + g.below(2)),
                    3 => Read(x),
                    4 => Count(x),
                    5 => Copy(x, if y >= x { y + 1 } else { y }),
                    6 | 7 => WriteAt(x),
                    8 => ReadAt(x),
                    _ => If0(x),
                }
            })
            .collect()
    };
    (0..threads).map(&mut body).collect()
}

/// What is wrong with a search of this program.
fn wrong(threads: &[Vec<Stmt>]) -> Option<String> {
    let m = model(threads);
    let all = search(&m, "none", true);
    ["epor", "epor-sh", "source", "optimal"].iter().find_map(|a| {
        let seen = search(&m, a, true);
        let (found, expected) = (seen.classes.len(), all.classes.len());
        if seen.classes != all.classes || seen.states != all.states {
            return Some(format!("{a}: {found} classes instead of {expected}"));
        }
        (seen.stats.executions != expected as u64).then(|| format!("{a}: classes completed more than once"))
    })
}

fn check(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let mut p = random(seed);
        if wrong(&p).is_none() {
            continue;
        }
        let smaller = |p: &Vec<Vec<Stmt>>| {
            let places = (0..p.len()).flat_map(|t| (0..p[t].len()).map(move |i| (t, i)));
            places
                .map(|(t, i)| {
                    let mut q = p.clone();
                    q[t].remove(i);
                    q
                })
                .find(|q| wrong(q).is_some())
        };
        while let Some(q) = smaller(&p) {
            p = q;
        }
        panic!("seed {seed}: {:?}\n{p:?}", wrong(&p));
    }
}

#[test]
fn addresses_that_are_read_lose_nothing() {
    check(0..5_000);
}

#[test]
#[ignore = "takes minutes: 100,000 programs on demand"]
fn addresses_that_are_read_lose_nothing_on_100_000_programs() {
    check(1_000_000..1_100_000);
}
