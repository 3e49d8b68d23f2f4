//! Rust's standard library, instrumented: made once for each toolchain, from what the toolchain has.
//!
//! The libraries that come with a stable toolchain hold, besides machine code, the bitcode it was made of, for link-time
//! optimisation; and the toolchain has a linker that reads bitcode, and runs the passes it is told to. So each member of each
//! library is handed to that linker with the pass that turns atomic operations into calls of ours, and takes its old place in
//! a copy of the library. A directory with these copies, and links to all the rest, is what the compiler is given as its own.
//! No source of std is needed, and no unstable compiler.
//!
//! **Invariant:** a directory that has its name is complete. It is made under another one and renamed.

use object::{Object, ObjectSection};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The only one there is a library for.
pub(crate) const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The passes that instrument, as the compiler is told them.
pub(crate) const PASSES: &str = "tsan-module function(tsan)";
/// Of no use here: what marks where functions begin and end.
pub(crate) const NO_MARKS: &str = "-tsan-instrument-func-entry-exit=0";

/// To be raised when the libraries are made otherwise.
const RECIPE: u32 = 1;

/// Libraries that stay as they are: they do not synchronise, and the first must not call anything.
const PLAIN: [&str; 3] = ["libcompiler_builtins-", "libprofiler_builtins-", "libproc_macro-"];

/// A toolchain.
pub(crate) struct Toolchain {
    rustc: PathBuf,
    sysroot: PathBuf,
    /// Major and minor version.
    pub(crate) version: (u32, u32),
    /// What it calls itself, for file names.
    name: String,
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command.output().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => format!("there is no {name}: install Rust (https://rustup.rs)"),
        _ => format!("cannot run {name}: {e}"),
    })?;
    if !out.status.success() {
        return Err(format!("{name} failed: {}", String::from_utf8_lossy(&out.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&out.stdout).into_owned())
}

impl Toolchain {
    /// The one that cargo would use in a directory.
    pub(crate) fn find(directory: &Path) -> Result<Toolchain, String> {
        let rustc =
            std::env::var_os("RUSTC").filter(|v| !v.is_empty()).map_or_else(|| "rustc".into(), PathBuf::from);
        let about = output(Command::new(&rustc).arg("-vV").current_dir(directory))?;
        let field =
            |name: &str| about.lines().find_map(|l| l.strip_prefix(name)).map(str::trim).unwrap_or("");
        let release = field("release:");
        let number =
            |i: usize| release.split(['.', '-']).nth(i).and_then(|n| n.parse::<u32>().ok()).unwrap_or(0);
        let version = (number(0), number(1));
        if version < (1, 88) {
            return Err(format!("this is Rust {release}: tests of plain Rust need 1.88 or a later one"));
        }
        if field("host:") != TARGET {
            return Err(format!("plain Rust can be checked on {TARGET} only; this is {}", field("host:")));
        }
        let sysroot = output(Command::new(&rustc).args(["--print", "sysroot"]).current_dir(directory))?;
        let commit: String = field("commit-hash:").chars().take(12).collect();
        let name = format!("std-{release}-{commit}-{RECIPE}");
        Ok(Toolchain { rustc, sysroot: PathBuf::from(sysroot.trim()), version, name })
    }

    /// Whether the inside of std's locks is known: it has been looked at up to this version.
    pub(crate) fn knows_locks(&self) -> bool {
        self.version <= (1, 95)
    }

    pub(crate) fn rustc(&self) -> &Path {
        &self.rustc
    }

    /// The instrumented library, made now if it has not been; `beside` is a directory of ours. The error says why there is none.
    pub(crate) fn instrumented(&self, beside: &Path) -> Result<PathBuf, String> {
        let there = beside.join(&self.name);
        if there.is_dir() {
            return Ok(there);
        }
        eprintln!("raddle: instrumenting the standard library, once for this toolchain");
        let building = beside.join(format!(".{}.{}", self.name, std::process::id()));
        let made = self.make(&building).and_then(|()| match fs::rename(&building, &there) {
            // Somebody else was faster.
            Err(_) if there.is_dir() => Ok(()),
            other => other.map_err(|e| format!("{}: {e}", there.display())),
        });
        let _ = fs::remove_dir_all(&building);
        made.map(|()| there)
    }

    fn make(&self, directory: &Path) -> Result<(), String> {
        let say = |path: &Path| {
            let path = path.to_owned();
            move |e: std::io::Error| format!("{}: {e}", path.display())
        };
        let from = self.sysroot.join("lib/rustlib").join(TARGET);
        let to = directory.join("lib/rustlib").join(TARGET);
        let linker = from.join("bin/rust-lld");
        if !linker.is_file() {
            return Err(format!("this toolchain has no {}", linker.display()));
        }
        let work = directory.join("work");
        fs::create_dir_all(to.join("lib")).map_err(say(&to))?;
        fs::create_dir_all(&work).map_err(say(&work))?;
        symlink(from.join("bin"), to.join("bin")).map_err(say(&to))?;
        for entry in fs::read_dir(from.join("lib")).map_err(say(&from))?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let copy = to.join("lib").join(&name);
            if name.ends_with(".rlib") && !PLAIN.iter().any(|p| name.starts_with(p)) {
                fs::copy(entry.path(), &copy).map_err(say(&copy))?;
                instrument(&entry.path(), &copy, &linker, &work)?;
            } else {
                symlink(entry.path(), &copy).map_err(say(&copy))?;
            }
        }
        fs::remove_dir_all(&work).map_err(say(&work))
    }
}

/// Replaces each object of a library.
fn instrument(library: &Path, copy: &Path, linker: &Path, work: &Path) -> Result<(), String> {
    let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", library.display());
    let bytes = fs::read(library).map_err(|e| wrong(&e))?;
    let archive = object::read::archive::ArchiveFile::parse(&*bytes).map_err(|e| wrong(&e))?;
    let mut objects = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|e| wrong(&e))?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if !name.ends_with(".o") {
            continue;
        }
        let data = member.data(&*bytes).map_err(|e| wrong(&e))?;
        let file = object::File::parse(data).map_err(|e| wrong(&e))?;
        let bitcode = file.section_by_name(".llvmbc").and_then(|s| s.data().ok()).filter(|b| !b.is_empty());
        let bitcode = bitcode.ok_or_else(|| wrong(&format!("{name} has no bitcode")))?;
        let (source, object) = (work.join("member.bc"), work.join(&name));
        fs::write(&source, bitcode).map_err(|e| wrong(&e))?;
        let mut command = Command::new(linker);
        command.args(["-flavor", "gnu", "-r", "--lto-O2", "--lto-newpm-passes=tsan-module,function(tsan)"]);
        command.args(["-mllvm", NO_MARKS]).arg(&source).arg("-o").arg(&object);
        output(&mut command)?;
        objects.push(object);
    }
    if !objects.is_empty() {
        output(Command::new("ar").arg("r").arg(copy).args(&objects))?;
        for object in objects {
            fs::remove_file(&object).map_err(|e| wrong(&e))?;
        }
    }
    Ok(())
}
