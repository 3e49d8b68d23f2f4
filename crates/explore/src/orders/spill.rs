//! Where the low end of a fringe goes when it is too long for memory. The search does no I/O: a front end hands in the
//! place.

use std::fmt;
use std::sync::Mutex;

/// Keeps batches of bytes until they are asked for. A batch is written once and read at most once.
pub trait Spill: fmt::Debug + Send + Sync {
    /// Keeps a batch; gives the number by which it is asked for. An error leaves the batch with the search, in memory.
    fn write(&self, batch: &[u8]) -> Result<u64, String>;

    /// Gives a batch back, to the end of `into`, and forgets it.
    fn read(&self, batch: u64, into: &mut Vec<u8>) -> Result<(), String>;
}

/// Keeps batches in memory, packed: for tests, and for front ends that have no files.
#[derive(Debug, Default)]
pub struct MemorySpill(Mutex<Batches>);

#[derive(Debug, Default)]
struct Batches {
    kept: Vec<Option<Vec<u8>>>,
    written: u64,
}

impl MemorySpill {
    /// How many batches were written so far.
    pub fn written(&self) -> u64 {
        self.0.lock().map_or(0, |b| b.written)
    }

    /// How many batches wait to be asked for.
    pub fn kept(&self) -> usize {
        self.0.lock().map_or(0, |b| b.kept.iter().flatten().count())
    }
}

impl Spill for MemorySpill {
    fn write(&self, batch: &[u8]) -> Result<u64, String> {
        let mut b = self.0.lock().map_err(|e| e.to_string())?;
        b.kept.push(Some(batch.to_vec()));
        b.written += 1;
        Ok(b.kept.len() as u64 - 1)
    }

    fn read(&self, batch: u64, into: &mut Vec<u8>) -> Result<(), String> {
        let mut b = self.0.lock().map_err(|e| e.to_string())?;
        let bytes = b.kept.get_mut(batch as usize).and_then(Option::take).ok_or("no such batch")?;
        into.extend_from_slice(&bytes);
        Ok(())
    }
}
