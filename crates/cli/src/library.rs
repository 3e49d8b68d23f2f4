//! The library that C programs are linked with: carried inside the command, written to disk when it is first needed.
//!
//! It goes to a directory whose name has the hash of the library, so that versions do not meet and programs made by `raddle cc` keep
//! the one they were linked with. A file is never changed once it has its name: it is written beside and renamed, so that any number
//! of processes can start at once.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libraddle_native.so"));
const NAME: &str = "libraddle_native.so";

/// The directory in which the library lies.
pub(crate) fn directory() -> Result<PathBuf, String> {
    let version = concat!(env!("CARGO_PKG_VERSION"), "-", env!("NATIVE_LIBRARY_HASH"));
    if let Some(cache) = given("RADDLE_CACHE") {
        // Whoever names a place wants this one.
        let cache = std::path::absolute(&cache).map_err(|e| format!("RADDLE_CACHE: {e}"))?;
        return put(&cache.join(version))
            .map_err(|e| format!("cannot write the library to {}: {e}", cache.display()));
    }
    let user = given("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let user = user.or_else(|| given("HOME").map(|h| PathBuf::from(h).join(".cache")));
    let first = user.map(|u| u.join("raddle").join(version)).filter(|p| p.is_absolute());
    if let Some(Ok(found)) = first.as_deref().map(put) {
        return Ok(found);
    }
    // A home that cannot be written to. Anybody can make names in the temporary directory, so it must be ours alone.
    // SAFETY: `geteuid` has no preconditions.
    let own = unsafe { libc::geteuid() };
    let temporary = std::env::temp_dir().join(format!("raddle-{own}"));
    let _ = fs::DirBuilder::new().mode(0o700).create(&temporary);
    let safe =
        fs::symlink_metadata(&temporary).is_ok_and(|m| m.is_dir() && m.uid() == own && m.mode() & 0o022 == 0);
    let written = if safe {
        put(&temporary.join(version)).map_err(|e| e.to_string())
    } else {
        Err("it belongs to somebody else".to_owned())
    };
    written.map_err(|e| {
        format!(
            "cannot write the library for C programs to {}: {e}; name a directory with RADDLE_CACHE",
            temporary.display()
        )
    })
}

fn given(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|v| !v.is_empty())
}

/// Sees that the library is there, whole.
fn put(directory: &Path) -> std::io::Result<PathBuf> {
    let path = directory.join(NAME);
    if fs::read(&path).is_ok_and(|there| there == LIBRARY) {
        return Ok(directory.to_owned());
    }
    fs::create_dir_all(directory)?;
    let beside = directory.join(format!(".{NAME}.{}", std::process::id()));
    let written = fs::File::create(&beside).and_then(|mut f| f.write_all(LIBRARY));
    let named = written.and_then(|()| fs::rename(&beside, &path));
    if named.is_err() {
        let _ = fs::remove_file(&beside);
    }
    named.map(|()| directory.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_can_write_the_library_at_once_and_a_damaged_one_is_replaced() {
        let directory = std::env::temp_dir().join(format!("raddle-library-test-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(NAME), b"half a lib").unwrap();
        std::thread::scope(|s| {
            for _ in 0..4 {
                // One process has one name for the file beside, so these take turns at worst.
                s.spawn(|| put(&directory));
            }
        });
        put(&directory).unwrap();
        assert_eq!(fs::read(directory.join(NAME)).unwrap(), LIBRARY);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1, "nothing is left beside it");
        fs::remove_dir_all(&directory).unwrap();
    }
}
