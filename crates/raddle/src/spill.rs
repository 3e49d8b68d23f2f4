//! The low end of a long fringe, in a file that nobody else sees.

use explore::Spill;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Keeps batches in a temporary file, which is made when the first one comes, and is gone when this is.
#[derive(Debug, Default)]
pub(crate) struct FileSpill(Mutex<Batches>);

#[derive(Debug, Default)]
struct Batches {
    file: Option<Temporary>,
    /// Where each batch lies: from here, so many bytes.
    kept: Vec<Option<(u64, u64)>>,
    /// Where batches lay that have been read.
    holes: Vec<(u64, u64)>,
    end: u64,
}

#[derive(Debug)]
struct Temporary {
    file: File,
    /// Where the file still has a name.
    path: Option<PathBuf>,
}

impl Temporary {
    fn new() -> io::Result<Temporary> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let n = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("raddle-fringe-{}-{n}", std::process::id()));
            match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
                // Where a file can lose its name while it is open it does so now: then it goes whatever becomes of the
                // process.
                Ok(file) if cfg!(unix) => {
                    let path = std::fs::remove_file(&path).err().map(|_| path);
                    return Ok(Temporary { file, path });
                }
                Ok(file) => return Ok(Temporary { file, path: Some(path) }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // There is nobody to tell.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Batches {
    /// Room for so many bytes: in the place of a batch that was read, or at the end.
    fn room(&mut self, len: u64) -> u64 {
        if let Some(k) = self.holes.iter().position(|h| h.1 >= len) {
            let (at, size) = self.holes.swap_remove(k);
            if size > len {
                self.holes.push((at + len, size - len));
            }
            return at;
        }
        self.end += len;
        self.end - len
    }

    fn write(&mut self, batch: &[u8]) -> io::Result<u64> {
        if self.file.is_none() {
            self.file = Some(Temporary::new()?);
        }
        let at = self.room(batch.len() as u64);
        if let Some(t) = &mut self.file {
            t.file.seek(SeekFrom::Start(at))?;
            t.file.write_all(batch)?;
        }
        self.kept.push(Some((at, batch.len() as u64)));
        Ok(self.kept.len() as u64 - 1)
    }

    fn read(&mut self, batch: u64, into: &mut Vec<u8>) -> io::Result<()> {
        let place = self.kept.get_mut(batch as usize).and_then(Option::take);
        let (Some((at, len)), Some(t)) = (place, &mut self.file) else {
            return Err(io::Error::other("there is no such batch"));
        };
        t.file.seek(SeekFrom::Start(at))?;
        let from = into.len();
        into.resize(from + len as usize, 0);
        t.file.read_exact(&mut into[from..])?;
        self.holes.push((at, len));
        Ok(())
    }
}

impl Spill for FileSpill {
    fn write(&self, batch: &[u8]) -> Result<u64, String> {
        let mut batches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        batches.write(batch).map_err(|e| format!("a temporary file could not be written: {e}"))
    }

    fn read(&self, batch: u64, into: &mut Vec<u8>) -> Result<(), String> {
        let mut batches = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        batches.read(batch, into).map_err(|e| format!("a temporary file could not be read: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> usize {
        let mine = format!("raddle-fringe-{}-", std::process::id());
        let all = std::fs::read_dir(std::env::temp_dir()).unwrap();
        all.filter(|e| e.as_ref().unwrap().file_name().to_string_lossy().starts_with(&mine)).count()
    }

    #[test]
    fn batches_come_back_as_they_were_and_their_room_is_used_again() {
        let spill = FileSpill::default();
        assert_eq!(files(), 0, "nothing is made before it is needed");
        let batch = |n: u8, len: usize| vec![n; len];
        let numbers: Vec<u64> = (0..10).map(|n| spill.write(&batch(n, 100 + n as usize)).unwrap()).collect();
        for n in (0..10).rev() {
            let mut bytes = vec![7];
            spill.read(numbers[n as usize], &mut bytes).unwrap();
            assert_eq!(bytes[0], 7);
            assert_eq!(bytes[1..], batch(n, 100 + n as usize));
        }
        assert!(spill.read(numbers[0], &mut vec![]).is_err(), "a batch is read once");
        let end = spill.0.lock().unwrap().end;
        for n in 0..50 {
            let number = spill.write(&batch(n, 90)).unwrap();
            let mut bytes = vec![];
            spill.read(number, &mut bytes).unwrap();
            assert_eq!(bytes, batch(n, 90));
        }
        assert_eq!(spill.0.lock().unwrap().end, end);
        drop(spill);
        assert_eq!(files(), 0, "no file is left");
    }
}
