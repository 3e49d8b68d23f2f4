//! What tests of compiled programs share: where they are made, and how they are started.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const RADDLE: &str = env!("CARGO_BIN_EXE_raddle");

/// Where the programs of a test are made: a folder that is empty.
pub(crate) fn place(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// A command without variables that would change what it does.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os().filter(|(n, _)| n.to_string_lossy().starts_with("RADDLE_")) {
        command.env_remove(name);
    }
    // Cargo has libraries looked for where an older build of ours may lie.
    command
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("CC")
        .env("RADDLE_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command
}
