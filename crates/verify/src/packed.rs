//! Many states of one program in little memory: each variable and each location takes the bits that it needs, and all states lie one
//! after the other. A state is known by its number.

use model::{Interpreter, LocationId, Program, State};
use std::fmt;

/// Where a number lies in the words of a state.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Field {
    word: u32,
    shift: u8,
    bits: u8,
}

/// States of one program, each kept once.
#[derive(Clone)]
pub struct StateSet {
    /// Of the locations, then of the cells.
    fields: Vec<Field>,
    threads: usize,
    /// How many words a state has.
    width: usize,
    words: Vec<u64>,
    /// Numbers of states plus one, by hash; 0 where nothing is. There is always room.
    table: Vec<u32>,
    buffer: Vec<u64>,
    /// Some state, to be filled in.
    form: State,
}

impl fmt::Debug for StateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl PartialEq for StateSet {
    fn eq(&self, other: &StateSet) -> bool {
        self.fields == other.fields && self.len() == other.len() && self.iter().all(|s| other.contains(&s))
    }
}

impl Eq for StateSet {}

impl StateSet {
    /// None yet.
    pub fn new(program: &Program) -> StateSet {
        let locations = program.threads.iter().map(|t| t.locations.len() as u64);
        let locations = locations.map(|n| (64 - n.saturating_sub(1).leading_zeros()).max(1) as u8);
        let cells = program.vars.iter().flat_map(|v| std::iter::repeat_n(v.ty.bits.clamp(1, 64), v.cells()));
        let (mut word, mut shift) = (0, 0);
        let fields: Vec<Field> = locations
            .chain(cells)
            .map(|bits| {
                if shift + bits > 64 {
                    (word, shift) = (word + 1, 0);
                }
                shift += bits;
                Field { word, shift: shift - bits, bits }
            })
            .collect();
        let width = word as usize + 1;
        StateSet {
            fields,
            threads: program.threads.len(),
            width,
            words: Vec::new(),
            table: vec![0; 1 << 10],
            buffer: vec![0; width],
            form: Interpreter::new(program).initial(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words.len() / self.width
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    fn pack(fields: &[Field], s: &State, words: &mut [u64]) {
        words.fill(0);
        let numbers = s.locations.iter().map(|l| u64::from(l.0)).chain(s.values.iter().copied());
        for (f, v) in fields.iter().zip(numbers) {
            debug_assert!(f.bits == 64 || v >> f.bits == 0, "a value is not wider than its variable");
            words[f.word as usize] |= v << f.shift;
        }
    }

    /// Writes the state with a number to `s`.
    pub(crate) fn read(&self, n: usize, s: &mut State) {
        let words = &self.words[n * self.width..][..self.width];
        let number = |f: &Field| words[f.word as usize] >> f.shift & (u64::MAX >> (64 - f.bits));
        let (locations, cells) = self.fields.split_at(self.threads);
        s.locations.iter_mut().zip(locations).for_each(|(l, f)| *l = LocationId(number(f) as u32));
        s.values.iter_mut().zip(cells).for_each(|(v, f)| *v = number(f));
    }

    /// All of them, in the order in which they came.
    pub fn iter(&self) -> impl Iterator<Item = State> + '_ {
        let mut s = self.form.clone();
        (0..self.len()).map(move |n| {
            self.read(n, &mut s);
            s.clone()
        })
    }

    fn hash(words: &[u64]) -> u64 {
        let h = words.iter().fold(0u64, |h, w| (h.rotate_left(26) ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        h ^ h >> 32
    }

    /// Where in the table a state is, or is to be.
    fn slot(&self, words: &[u64]) -> usize {
        let mask = self.table.len() - 1;
        let mut at = Self::hash(words) as usize & mask;
        while let Some(n) = (self.table[at] as usize).checked_sub(1) {
            if self.words[n * self.width..][..self.width] == *words {
                break;
            }
            at = (at + 1) & mask;
        }
        at
    }

    /// The number of a state, if it is here.
    fn find(&self, s: &State) -> Option<usize> {
        // On the stack, but for very large states.
        let (mut short, mut long) = ([0; 32], Vec::new());
        let words = match short.get_mut(..self.width) {
            Some(words) => words,
            None => {
                long.resize(self.width, 0);
                &mut long[..]
            }
        };
        Self::pack(&self.fields, s, words);
        (self.table[self.slot(words)] as usize).checked_sub(1)
    }

    /// Whether a state is here.
    pub fn contains(&self, s: &State) -> bool {
        self.find(s).is_some()
    }

    /// Keeps a state; says whether it is new. Then it has the greatest number.
    pub fn insert(&mut self, s: &State) -> bool {
        Self::pack(&self.fields, s, &mut self.buffer);
        let at = self.slot(&self.buffer);
        if self.table[at] != 0 {
            return false;
        }
        self.words.extend_from_slice(&self.buffer);
        self.table[at] = self.len() as u32;
        if self.len() * 2 > self.table.len() {
            self.grow();
        }
        true
    }

    /// Keeps a state; returns its number.
    pub(crate) fn number(&mut self, s: &State) -> u32 {
        Self::pack(&self.fields, s, &mut self.buffer);
        let known = self.table[self.slot(&self.buffer)];
        if known != 0 {
            return known - 1;
        }
        self.insert(s);
        self.len() as u32 - 1
    }

    #[cold]
    fn grow(&mut self) {
        self.table = vec![0; self.table.len() * 2];
        let mask = self.table.len() - 1;
        for (n, words) in self.words.chunks_exact(self.width).enumerate() {
            let mut at = Self::hash(words) as usize & mask;
            while self.table[at] != 0 {
                at = (at + 1) & mask;
            }
            self.table[at] = n as u32 + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Builder, Type};
    use std::collections::HashMap;

    #[test]
    fn states_come_back_as_they_were_and_each_is_kept_once() {
        let mut b = Builder::new();
        for (i, bits) in [1, 64, 7, 63, 64, 2, 33, 31].into_iter().enumerate() {
            b.shared(&format!("x{i}"), Type::unsigned(bits), 0);
        }
        b.shared_array("list", Type::signed(20), &[0; 5]);
        let t = b.thread("A");
        let yes = b.terms().boolean(true);
        for _ in 0..4 {
            b.assume(t, yes);
        }
        let p = b.finish();
        let run = Interpreter::new(&p);
        let mut states = StateSet::new(&p);
        let mut known: HashMap<State, usize> = HashMap::new();
        let mut x = 1u64;
        let mut s = run.initial();
        for _ in 0..20_000 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let cell = (x >> 33) as usize % s.values.len();
            let mask = p.var(run.place_of(cell).0).ty.mask();
            s.values[cell] = if x >> 60 == 0 { mask } else { ((x >> 20) % 3) & mask };
            s.locations[0] = LocationId((x >> 50) as u32 % p.threads[0].locations.len() as u32);
            assert_eq!(states.find(&s), known.get(&s).copied());
            let number = states.len();
            assert_eq!(states.insert(&s), known.insert(s.clone(), number).is_none());
            // A state that was there keeps its number.
            if states.len() == number {
                let n = states.find(&s).unwrap();
                known.insert(s.clone(), n);
            }
        }
        assert!(states.len() > 1 << 10, "the table has grown");
        let all: Vec<State> = states.iter().collect();
        assert_eq!(all.len(), known.len());
        assert!(all.iter().enumerate().all(|(n, s)| known[s] == n && states.contains(s)));
        let mut other = StateSet::new(&p);
        all.iter().rev().for_each(|s| assert!(other.insert(s)));
        assert_eq!(states, other);
        other.insert(&run.initial());
        s.values[1] = 12_345;
        assert!(other.insert(&s) && states != other);
    }
}
