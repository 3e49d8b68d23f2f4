//! What tests of several crates share: random numbers, and the program of Qadeer's lectures.
#![allow(dead_code, unreachable_pub, reason = "each user of this file has its own part")]

use model::{Builder, Program, Type};

/// A small deterministic generator (splitmix64).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// `t := x; t := t + 1; x := t` in so many threads, perhaps under a lock. The variable x is the first one.
pub fn increments(threads: usize, locked: bool) -> Program {
    increments_with(threads, locked, false)
}

/// The same; the step in the middle is one that a search of schedules sees, or not.
pub fn increments_with(threads: usize, locked: bool, seen: bool) -> Program {
    let mut b = Builder::new();
    b.check_locks(false);
    let x = b.shared("x", Type::INT, 0);
    let l = b.mutex("l");
    for n in 0..threads {
        let t = b.thread(&format!("T{n}"));
        let own = b.local(t, "t", Type::INT, 0);
        if locked {
            b.lock(t, l);
        }
        let now = b.value(x);
        b.assign(t, own, now);
        let (value, one) = (b.value(own), b.terms().int(1));
        let more = b.terms().add(value, one);
        if seen {
            let mark = b.shared(&format!("s{n}"), Type::INT, 0);
            b.assign(t, mark, one);
            b.assign(t, x, more);
        } else {
            b.assign(t, own, more);
            let value = b.value(own);
            b.assign(t, x, value);
        }
        if locked {
            b.unlock(t, l);
        }
    }
    b.finish()
}
