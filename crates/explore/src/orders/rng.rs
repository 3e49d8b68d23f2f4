//! Random numbers that are the same everywhere: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
//!
//! Every execution has a generator of its own, made from the seed and the number of the execution, so that what one
//! execution does never depends on how many numbers another one has drawn.

use crate::trace::mix;

/// A generator.
#[derive(Clone, Debug)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The generator of the `n`-th execution of a search with this seed.
    pub(crate) fn new(seed: u64, n: u64) -> Rng {
        Rng(mix(mix(0, seed), n))
    }

    /// The next number, all of whose bits are random.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, each as likely as the others but for one part in 2^64 / n.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((self.next() as u128 * n as u128) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_a_limit_are_spread_evenly() {
        let mut rng = Rng::new(1, 0);
        let mut counts = [0u32; 7];
        (0..70_000).for_each(|_| counts[rng.below(7) as usize] += 1);
        assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
    }

    #[test]
    fn executions_and_seeds_have_numbers_of_their_own() {
        let first = |seed, n| Rng::new(seed, n).next();
        assert_eq!(first(3, 4), first(3, 4));
        assert_ne!(first(3, 4), first(3, 5));
        assert_ne!(first(3, 4), first(4, 4));
    }
}
