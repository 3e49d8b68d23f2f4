//! One value that describes an execution, and its text token.

use crate::ids::ThreadId;
use thiserror::Error;

/// The choices of one execution: which thread took each step, and which outcome was taken where there were several.
///
/// ```
/// use explore::{Schedule, ThreadId};
/// let s = Schedule::new(vec![ThreadId(0), ThreadId(0), ThreadId(2)], vec![1]);
/// assert_eq!(s.to_string().parse::<Schedule>().unwrap(), s);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default, Hash)]
pub struct Schedule {
    threads: Vec<ThreadId>,
    options: Vec<u32>,
    passed: u32,
}

/// Why a text is not a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TokenError {
    /// It does not start as a token does.
    #[error("a replay token starts with `{PREFIX}`; copy the whole of it from the report")]
    Prefix,
    /// It has a character that no token has.
    #[error("a replay token has no character {0:?}; copy the whole of it from the report")]
    Character(char),
    /// It is too short, or changed.
    #[error("the replay token is damaged (its check sum is wrong); copy the whole of it from the report")]
    Damaged,
}

const PREFIX: &str = "rd1-";
/// The prefix of a schedule that continues after data races.
const PASSING: &str = "rd2-";
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Schedule {
    /// From the thread of each step, and the chosen outcome of each step that had several, in order.
    pub fn new(threads: Vec<ThreadId>, options: Vec<u32>) -> Self {
        Schedule { threads, options, passed: 0 }
    }

    /// The same schedule, in which the execution continues after so many data races that it meets first.
    #[must_use]
    pub fn passing(self, passed: u32) -> Self {
        Schedule { passed, ..self }
    }

    /// After how many data races the execution continues.
    pub fn passed(&self) -> u32 {
        self.passed
    }

    /// The thread of each step.
    pub fn threads(&self) -> &[ThreadId] {
        &self.threads
    }

    /// The chosen outcome of each step that had several.
    pub fn options(&self) -> &[u32] {
        &self.options
    }

    /// How often the running thread changes.
    pub fn switches(&self) -> usize {
        self.threads.windows(2).filter(|w| w[0] != w[1]).count()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.passed > 0 {
            varint(&mut out, self.passed as u64);
        }
        let runs: Vec<&[ThreadId]> = self.threads.chunk_by(|a, b| a == b).collect();
        varint(&mut out, runs.len() as u64);
        for run in runs {
            varint(&mut out, run[0].0 as u64);
            varint(&mut out, run.len() as u64);
        }
        for o in &self.options {
            varint(&mut out, *o as u64);
        }
        let sum = checksum(&out);
        out.extend(sum);
        out
    }

    fn from_bytes(bytes: &[u8], passes: bool) -> Result<Self, TokenError> {
        let (body, sum) = bytes.split_at_checked(bytes.len().wrapping_sub(2)).ok_or(TokenError::Damaged)?;
        if sum != checksum(body) {
            return Err(TokenError::Damaged);
        }
        let mut rest = body;
        let mut s = Schedule::default();
        if passes {
            s.passed = read_varint(&mut rest).ok_or(TokenError::Damaged)? as u32;
        }
        let runs = read_varint(&mut rest).ok_or(TokenError::Damaged)?;
        for _ in 0..runs {
            let t = read_varint(&mut rest).ok_or(TokenError::Damaged)?;
            let n = read_varint(&mut rest).ok_or(TokenError::Damaged)?;
            if t > u16::MAX as u64 || n > u32::MAX as u64 {
                return Err(TokenError::Damaged);
            }
            s.threads.extend(std::iter::repeat_n(ThreadId(t as u16), n as usize));
        }
        while !rest.is_empty() {
            s.options.push(read_varint(&mut rest).ok_or(TokenError::Damaged)? as u32);
        }
        Ok(s)
    }
}

fn varint(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

fn read_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..63).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= ((first & 0x7f) as u64) << shift;
        if first & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

/// Fletcher's sum: enough to notice a token that lost its end.
fn checksum(bytes: &[u8]) -> [u8; 2] {
    let (a, b) = bytes.iter().fold((7u16, 3u16), |(a, b), x| {
        let a = (a + *x as u16) % 255;
        (a, (a + b) % 255)
    });
    [a as u8, b as u8]
}

impl std::fmt::Display for Schedule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.passed > 0 { PASSING } else { PREFIX })?;
        for chunk in self.to_bytes().chunks(3) {
            let n = chunk.iter().fold(0u32, |n, b| n << 8 | *b as u32) << (8 * (3 - chunk.len()));
            for i in 0..=chunk.len() {
                let six = (n >> (18 - 6 * i)) & 63;
                write!(f, "{}", ALPHABET[six as usize] as char)?;
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for Schedule {
    type Err = TokenError;

    fn from_str(s: &str) -> Result<Self, TokenError> {
        let passing = s.trim().strip_prefix(PASSING);
        let body = passing.or_else(|| s.trim().strip_prefix(PREFIX)).ok_or(TokenError::Prefix)?;
        let sixes = body
            .chars()
            .map(|c| ALPHABET.iter().position(|a| *a as char == c).ok_or(TokenError::Character(c)))
            .collect::<Result<Vec<_>, _>>()?;
        let mut bytes = Vec::new();
        for chunk in sixes.chunks(4) {
            if chunk.len() == 1 {
                return Err(TokenError::Damaged);
            }
            let n = chunk.iter().fold(0usize, |n, x| n << 6 | x) << (6 * (4 - chunk.len()));
            bytes.extend((0..chunk.len() - 1).map(|i| (n >> (16 - 8 * i)) as u8));
        }
        Schedule::from_bytes(&bytes, passing.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_schedule_survives_its_token(
            threads in prop::collection::vec(0u16..300, 0..60), options in prop::collection::vec(any::<u32>(), 0..5),
            passed in 0u32..300,
        ) {
            let s = Schedule::new(threads.into_iter().map(ThreadId).collect(), options).passing(passed);
            prop_assert_eq!(s.to_string().parse::<Schedule>(), Ok(s));
        }
    }

    #[test]
    fn a_token_that_lost_its_end_is_refused() {
        let token = Schedule::new(vec![ThreadId(0), ThreadId(1), ThreadId(0)], vec![]).to_string();
        assert_eq!(token[..token.len() - 2].parse::<Schedule>(), Err(TokenError::Damaged));
        assert_eq!("hello".parse::<Schedule>(), Err(TokenError::Prefix));
        assert_eq!("rd1-?".parse::<Schedule>(), Err(TokenError::Character('?')));
    }
}
