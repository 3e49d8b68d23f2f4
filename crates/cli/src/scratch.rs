//! A directory for what nobody keeps.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A temporary directory, removed when this goes.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Result<Scratch, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::temp_dir();
        let base = std::path::absolute(&base).unwrap_or(base);
        for _ in 0..1000 {
            let name = format!("raddle-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = base.join(name);
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Scratch(path)),
                // Left behind by a process of the same number.
                Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(e) => {
                    return Err(format!("cannot make a temporary directory in {}: {e}", base.display()));
                }
            }
        }
        Err(format!("cannot make a temporary directory in {}: every name is taken", base.display()))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
