//! Which bits a state has, and in which order the diagrams have them.
//!
//! A thread's location is a number in as few bits as it needs. A variable has the bits that its interval needs ([`Ranges`]); those
//! above are copies of the sign, or zero. Each bit is two variables of the diagrams, next to each other: before a step, and after.
//!
//! The order: where threads are, then locks and the like, then the lowest bit of every other variable, the next bit of every
//! variable, and so on: sums and comparisons of two variables are then small whatever their width.

use crate::ranges::{Interval, Ranges};
use model::{LocationId, Program, State, ThreadId, Type, Var, VarId};
use oxidd::VarNo;

/// The bits of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellBits {
    /// The numbers of its bits, the lowest first.
    pub(crate) bits: Vec<usize>,
    /// Whether the highest one is a sign.
    pub(crate) signed: bool,
}

/// The bits of a state.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    threads: Vec<CellBits>,
    cells: Vec<Vec<CellBits>>,
    /// By variable: how many bits its type has.
    widths: Vec<usize>,
    ranges: Vec<Interval>,
    len: usize,
}

/// One variable.
struct Kind {
    cells: usize,
    width: u8,
    /// Its values, which say how many bits are kept.
    range: Interval,
    internal: bool,
}

impl Kind {
    fn of(v: &Var, range: Interval) -> Kind {
        Kind { cells: v.cells(), width: v.ty.bits, range, internal: v.internal }
    }
}

impl Layout {
    /// For a program: only the bits that its variables need.
    pub(crate) fn of(p: &Program) -> Layout {
        let ranges = Ranges::of(p);
        let kinds = p.vars.iter().enumerate().map(|(n, v)| Kind::of(v, ranges.var(VarId(n as u32))));
        Layout::with(p, kinds.collect())
    }

    /// All bits of the variables of a program, and so many inputs besides, for values of every type.
    pub(crate) fn whole(p: &Program, inputs: usize) -> Layout {
        let all = |ty: Type| Interval::of(ty.min(), ty.max());
        let vars = p.vars.iter().map(|v| Kind::of(v, all(v.ty)));
        let wide = Type::unsigned(64);
        let input = || Kind { cells: 1, width: wide.bits, range: all(wide), internal: false };
        Layout::with(p, vars.chain((0..inputs).map(|_| input())).collect())
    }

    fn with(p: &Program, kinds: Vec<Kind>) -> Layout {
        let mut len = 0;
        let mut fresh = || {
            len += 1;
            len - 1
        };
        let mut threads = Vec::new();
        for t in &p.threads {
            let last = t.locations.len().saturating_sub(1);
            let bits = usize::BITS - last.leading_zeros();
            threads.push(CellBits { bits: (0..bits).map(|_| fresh()).collect(), signed: false });
        }
        let mut cells: Vec<Vec<CellBits>> = kinds
            .iter()
            .map(|k| vec![CellBits { bits: Vec::new(), signed: k.range.bits().1 }; k.cells])
            .collect();
        let most = kinds.iter().map(|k| k.range.bits().0).max().unwrap_or(0);
        for internal in [true, false] {
            for slice in 0..most {
                for (v, kind) in kinds.iter().enumerate() {
                    if kind.internal == internal && slice < kind.range.bits().0 {
                        cells[v].iter_mut().for_each(|c| c.bits.push(fresh()));
                    }
                }
            }
        }
        let widths = kinds.iter().map(|k| k.width as usize).collect();
        let ranges = kinds.iter().map(|k| k.range).collect();
        Layout { threads, cells, widths, ranges, len }
    }

    /// How many cells a variable has.
    pub(crate) fn cells(&self, v: VarId) -> usize {
        self.cells[v.index()].len()
    }

    /// How many bits a variable's type has.
    pub(crate) fn width(&self, v: VarId) -> usize {
        self.widths[v.index()]
    }

    /// How many bits.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The diagrams' variable of a bit before a step.
    pub(crate) fn now(&self, bit: usize) -> VarNo {
        2 * bit as VarNo
    }

    /// The diagrams' variable of a bit after a step.
    pub(crate) fn next(&self, bit: usize) -> VarNo {
        2 * bit as VarNo + 1
    }

    /// The bits of a thread's location.
    pub(crate) fn thread(&self, t: ThreadId) -> &CellBits {
        &self.threads[t.index()]
    }

    /// The bits of a cell that is there.
    pub(crate) fn cell(&self, v: VarId, index: u64) -> &CellBits {
        &self.cells[v.index()][index as usize]
    }

    /// Between which numbers a variable stays.
    pub(crate) fn range(&self, v: VarId) -> Interval {
        self.ranges[v.index()]
    }

    /// Whether a state is one that a run could have: its locations are there, and its values within the intervals.
    pub(crate) fn is_within(&self, p: &Program, s: &State) -> bool {
        let mut values = s.values.iter();
        s.locations.iter().zip(&p.threads).all(|(l, t)| l.index() < t.locations.len())
            && p.vars.iter().enumerate().all(|(v, var)| {
                let range = self.range(VarId(v as u32));
                values.by_ref().take(var.cells()).all(|b| {
                    let n = var.ty.value(*b);
                    range.low <= n && n <= range.high
                })
            })
    }

    /// The bits of a state, by number.
    pub(crate) fn encode(&self, s: &State) -> Vec<bool> {
        let mut out = vec![false; self.len];
        let numbers = s.locations.iter().map(|l| l.0 as u64).chain(s.values.iter().copied());
        for (place, value) in self.threads.iter().chain(self.cells.iter().flatten()).zip(numbers) {
            for (i, b) in place.bits.iter().enumerate() {
                out[*b] = value >> i & 1 == 1;
            }
        }
        out
    }

    /// The state with these bits.
    pub(crate) fn decode(&self, p: &Program, bits: &[bool]) -> State {
        let number = |place: &CellBits| {
            let low: u64 = place.bits.iter().enumerate().map(|(i, b)| (bits[*b] as u64) << i).sum();
            let minus = place.signed && place.bits.last().is_some_and(|b| bits[*b]);
            if minus { low | u64::MAX.checked_shl(place.bits.len() as u32).unwrap_or(0) } else { low }
        };
        State {
            locations: self.threads.iter().map(|t| LocationId(number(t) as u32)).collect(),
            values: p
                .vars
                .iter()
                .zip(&self.cells)
                .flat_map(|(v, cells)| cells.iter().map(move |c| number(c) & v.ty.mask()))
                .collect(),
        }
    }
}
