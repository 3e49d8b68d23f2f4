//! A hash for small keys that nobody outside chooses: terms, literals, numbers of variables. It costs a multiplication a word, where the
//! default, made for keys of strangers, costs a hundred instructions.

use std::hash::{BuildHasherDefault, Hasher};

/// Hashes words by multiplication (Fibonacci hashing; Knuth, volume 3, section 6.4).
#[derive(Clone, Copy, Debug, Default)]
pub struct WordHasher(u64);

/// For maps whose keys are small.
pub type WordHash = BuildHasherDefault<WordHasher>;

impl WordHasher {
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, n: u8) {
        self.word(n.into());
    }

    fn write_u16(&mut self, n: u16) {
        self.word(n.into());
    }

    fn write_u32(&mut self, n: u32) {
        self.word(n.into());
    }

    fn write_u64(&mut self, n: u64) {
        self.word(n);
    }

    fn write_usize(&mut self, n: usize) {
        self.word(n as u64);
    }

    fn write_isize(&mut self, n: isize) {
        self.word(n as u64);
    }

    /// The upper bits are the good ones, and tables take the lower ones too.
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::{BuildHasher, Hash};

    #[test]
    fn small_keys_spread_over_the_bits_that_tables_use() {
        let hash = |key: &dyn Fn(&mut WordHasher)| {
            let mut h = WordHash::default().build_hasher();
            key(&mut h);
            h.finish()
        };
        let (mut all, mut low, mut high) = (HashSet::new(), HashSet::new(), HashSet::new());
        for a in 0..64u32 {
            for b in 0..64u32 {
                let h = hash(&|h| (a, b).hash(h));
                all.insert(h);
                low.insert(h & 0xfff);
                high.insert(h >> 57);
            }
        }
        assert_eq!(all.len(), 4096);
        // 4096 keys fall into about 2589 of 4096 places if they fall at random.
        assert!(low.len() > 2200, "{}", low.len());
        assert_eq!(high.len(), 128);
        assert_ne!(hash(&|h| [1u32, 2].hash(h)), hash(&|h| [2u32, 1].hash(h)));
    }
}
