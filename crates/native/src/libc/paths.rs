//! Files as threads share them: names in directories, and what the names lead to.
//!
//! Each path that exists or could exist is an *entry*. A directory has the *list* of its entries, and a file has *contents* and
//! *attributes* (mode, owner, times, links). An open file has an *offset* and *flags*. A lookup looks at each entry on its way, links
//! included, as the kernel does; so the removal of a directory conflicts with the use of a file in it.
//!
//! An operation uses several of these objects, and is one step (`objects::together`). It is a step only if another thread uses one of
//! the objects in a conflicting way.
//!
//! A file is known by the path under which an execution first meets it: the kernel's number of a file that is made in each execution
//! is not the same in two of them.

use super::objects::{self, Finding, Part, Use};
use crate::shim::{Call, undisturbed};
use std::collections::HashMap;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// What is done with a path.
#[derive(Clone, Copy)]
pub(crate) struct Lookup {
    /// The directory that a relative path starts from.
    at: c_int,
    /// The string of the program.
    path: usize,
    /// A link at the end is followed.
    follows: bool,
    entry: Use,
    contents: Option<Use>,
    attributes: Option<Use>,
    /// The list of the directory that the path leads to is looked at.
    lists: bool,
}

impl Lookup {
    /// Looks at what a path leads to.
    pub(crate) fn look(path: usize) -> Lookup {
        let at = libc::AT_FDCWD;
        Lookup {
            at,
            path,
            follows: true,
            entry: Use::Look,
            contents: None,
            attributes: Some(Use::Look),
            lists: false,
        }
    }

    /// Makes, replaces or removes an entry.
    pub(crate) fn change(path: usize) -> Lookup {
        Lookup { follows: false, entry: Use::Change, attributes: Some(Use::Change), ..Lookup::look(path) }
    }

    pub(crate) fn at(self, at: usize) -> Lookup {
        Lookup { at: at as c_int, ..self }
    }

    pub(crate) fn follows(self, follows: bool) -> Lookup {
        Lookup { follows, ..self }
    }

    pub(crate) fn contents(self, how: Use) -> Lookup {
        Lookup { contents: Some(how), ..self }
    }

    pub(crate) fn attributes(self, how: Use) -> Lookup {
        Lookup { attributes: Some(how), ..self }
    }

    pub(crate) fn lists(self) -> Lookup {
        Lookup { lists: true, ..self }
    }
}

/// What is done with an open file.
#[derive(Clone, Copy, Default)]
pub(crate) struct OpenFile {
    pub(crate) offset: Option<Use>,
    pub(crate) contents: Option<Use>,
    pub(crate) attributes: Option<Use>,
    /// `O_APPEND` and the like.
    pub(crate) flags: Option<Use>,
    /// The contents are used at a place that is not announced.
    pub(crate) somewhere: bool,
}

// In place of the number of a device, for keys of objects.
const ENTRY: u64 = u64::MAX - 1;
const LIST: u64 = 1 << 62;
const CONTENTS: u64 = LIST + 1;
const ATTRIBUTES: u64 = LIST + 2;
const OFFSET: u64 = LIST + 3;
const FLAGS: u64 = LIST + 4;
const OFFSET_OF_NUMBER: u64 = LIST + 5;
const FLAGS_OF_NUMBER: u64 = LIST + 6;
const DESCRIPTOR_FLAGS: u64 = LIST + 7;

/// Files of the running execution: what stands for them, by the kernel's numbers.
static mut FILES: Option<HashMap<(u64, u64), u64>> = None;

fn files() -> &'static mut HashMap<(u64, u64), u64> {
    // SAFETY: one OS thread alone runs code of the program, and no borrow is held over a step.
    unsafe { (*(&raw mut FILES)).get_or_insert_default() }
}

/// An execution begins.
pub(super) fn begin() {
    if !files().is_empty() {
        files().clear();
    }
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

fn hash_of(path: &Path) -> u64 {
    hash(path.as_os_str().as_bytes())
}

/// The directory that a relative path starts from.
fn start(at: c_int) -> PathBuf {
    let found = if at == libc::AT_FDCWD { std::env::current_dir().ok() } else { path_of(at) };
    found.unwrap_or_else(|| PathBuf::from("/"))
}

/// The path of what a descriptor is open on, as the kernel has it.
fn path_of(fd: c_int) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    let bytes = path.into_os_string().into_vec();
    let kept = bytes.strip_suffix(b" (deleted)").unwrap_or(&bytes);
    // A file without a name is called by its number, which is another one in each execution.
    let end = kept.windows(2).rposition(|w| w == b"/#").map_or(kept.len(), |i| i + 2);
    Some(PathBuf::from(OsStr::from_bytes(&kept[..end])))
}

/// A string of the program as a path.
///
/// # Safety
///
/// The program hands in a string.
unsafe fn text<'a>(path: usize) -> &'a Path {
    // SAFETY: by the contract.
    Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path as *const c_char) }.to_bytes()))
}

/// The path that a lookup leads to, links in it followed, without the last one unless that is followed too.
pub(super) fn absolute(at: c_int, path: usize, follows: bool) -> PathBuf {
    // SAFETY: the program hands in a string.
    walk(at, unsafe { text(path) }, follows, |_| {})
}

/// Walks a path as the kernel does, and shows each entry on the way but the last.
fn walk(at: c_int, path: &Path, follows: bool, mut see: impl FnMut(&Path)) -> PathBuf {
    const MOST_LINKS: usize = 40;
    let mut now = if path.is_absolute() { PathBuf::from("/") } else { start(at) };
    let parts = |p: &Path| -> Vec<OsString> {
        p.components()
            .rev()
            .filter_map(|c| match c {
                Component::Normal(name) => Some(name.to_owned()),
                Component::ParentDir => Some(OsString::from("..")),
                _ => None,
            })
            .collect()
    };
    let mut rest = parts(path);
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            now.pop();
            continue;
        }
        now.push(part);
        let link = if follows || !rest.is_empty() { std::fs::read_link(&now).ok() } else { None };
        if let Some(target) = link.filter(|_| links < MOST_LINKS) {
            links += 1;
            see(&now);
            now.pop();
            if target.is_absolute() {
                now = PathBuf::from("/");
            }
            rest.extend(parts(&target));
        } else if !rest.is_empty() {
            see(&now);
        }
    }
    now
}

fn key(kind: u64, number: u64, name: impl FnOnce() -> String) -> usize {
    let key = objects::key_of_file(kind, number);
    objects::name(key, name);
    key
}

/// What stands for a file, by the kernel's numbers; `path` is its path if it is new.
fn file(device: u64, number: u64, path: impl FnOnce() -> Option<PathBuf>) -> u64 {
    *files()
        .entry((device, number))
        .or_insert_with(|| path().map_or(device ^ number.rotate_left(32), |p| hash_of(&p)))
}

/// The parts of a lookup.
fn parts_of(lookup: Lookup, parts: &mut Vec<Part>) {
    let entry = |path: &Path, how: Use| Part {
        key: key(ENTRY, hash_of(path), || format!("the path {}", path.display())),
        how,
        finding: Finding::Unordered,
    };
    let list = |path: &Path, how: Use| Part {
        key: key(LIST, hash_of(path), || format!("the list of the directory {}", path.display())),
        how,
        finding: Finding::UnorderedSet,
    };
    // SAFETY: the program hands in a string.
    let text = unsafe { text(lookup.path) };
    let last = walk(lookup.at, text, lookup.follows, |p| parts.push(entry(p, Use::Look)));
    parts.push(entry(&last, lookup.entry));
    if lookup.entry == Use::Change
        && let Some(parent) = last.parent()
    {
        parts.push(list(parent, Use::Append));
    }
    let about = if lookup.follows { std::fs::metadata(&last) } else { std::fs::symlink_metadata(&last) };
    let Ok(about) = about else { return };
    let me = file(about.dev(), about.ino(), || Some(last.clone()));
    if let Some(how) = lookup.attributes {
        let key = key(ATTRIBUTES, me, || format!("the attributes of {}", last.display()));
        parts.push(Part { key, how, finding: Finding::Unordered });
    }
    if about.is_dir() {
        if lookup.lists || lookup.contents == Some(Use::Look) {
            parts.push(list(&last, Use::Look));
        }
    } else if let Some(how) = lookup.contents {
        let key = key(CONTENTS, me, || format!("the file {}", last.display()));
        parts.push(Part { key, how, finding: Finding::ByThread });
    }
}

/// Does what an operation does with paths, as one step at most.
pub(super) fn used(lookups: &[Option<Lookup>; 2], call: Call) {
    if !runtime::in_execution() {
        return;
    }
    for lookup in lookups.iter().flatten().filter(|l| l.path != 0 && l.at == libc::AT_FDCWD) {
        super::accesses::before(super::streams::relative(lookup.path), call);
    }
    let all = || {
        let mut parts = Vec::new();
        for lookup in lookups.iter().flatten().filter(|l| l.path != 0) {
            parts_of(*lookup, &mut parts);
        }
        parts
    };
    // Nothing is kept over the step: the thread may never come back from it.
    let mut kept = [Part { key: 0, how: Use::Look, finding: Finding::ByThread }; 48];
    let found = undisturbed(|| {
        let parts = all();
        let n = parts.len().min(kept.len());
        kept[..n].copy_from_slice(&parts[parts.len() - n..]);
        n
    });
    if objects::together(&kept[..found], call) {
        // Links may lead elsewhere by now: what is used instead is noted.
        undisturbed(|| {
            let parts = all();
            let is_new = |p: &Part| !kept[..found].iter().any(|k| k.key == p.key);
            objects::noted(parts.iter().filter(|p| is_new(p)), call);
        });
    }
}

/// Does what an operation does with an open file, as one step at most.
pub(super) fn used_open(fd: c_int, what: OpenFile, call: Call) {
    if !runtime::in_execution() || crate::pipes::open_of(fd).is_some() {
        return;
    }
    // SAFETY: zero is a valid `stat`, which the kernel fills.
    let stat = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        (libc::syscall(libc::SYS_fstat, fd, &raw mut stat) == 0).then_some(stat)
    };
    let Some(stat) = stat else { return };
    let is_regular = stat.st_mode & libc::S_IFMT == libc::S_IFREG;
    let mut parts = [Part { key: 0, how: Use::Look, finding: Finding::ByThread }; 4];
    let mut count = 0;
    let mut add = |part: Part| {
        parts[count] = part;
        count += 1;
    };
    undisturbed(|| {
        let me = file(stat.st_dev, stat.st_ino, || path_of(fd));
        let is_standard = (0..=2).contains(&fd);
        let copies = super::streams::has_copies() && !is_standard;
        if let Some(how) = what.offset.filter(|_| is_regular && !is_standard) {
            let (kind, number) = if copies { (OFFSET, me) } else { (OFFSET_OF_NUMBER, fd as u64) };
            let key = key(kind, number, || format!("the offset of descriptor {fd}"));
            add(Part { key, how, finding: Finding::ByThread });
        }
        if let Some(how) = what.contents.filter(|_| is_regular) {
            let key = key(CONTENTS, me, || format!("the file of descriptor {fd}"));
            add(Part { key, how, finding: Finding::ByThread });
        }
        if let Some(how) = what.attributes {
            let key = key(ATTRIBUTES, me, || format!("the attributes of the file of descriptor {fd}"));
            add(Part { key, how, finding: Finding::Unordered });
        }
        if let Some(how) = what.flags.filter(|_| super::streams::has_copies()) {
            let (kind, number) = if is_standard { (FLAGS_OF_NUMBER, fd as u64) } else { (FLAGS, me) };
            let key = key(kind, number, || format!("the flags of descriptor {fd}"));
            add(Part { key, how, finding: Finding::Unordered });
        }
    });
    objects::together(&parts[..count], call);
}

/// Uses the flags of a descriptor.
pub(crate) fn descriptor_flags(fd: c_int, how: Use, call: Call) {
    let key = key(DESCRIPTOR_FLAGS, fd as u64, || format!("the flags of the number {fd}"));
    objects::together(&[Part { key, how, finding: Finding::Unordered }], call);
}

/// Looks at the list of the directory that a stream reads.
pub(super) fn listed(fd: c_int, call: Call) {
    let part = undisturbed(|| {
        let path = path_of(fd)?;
        let key = key(LIST, hash_of(&path), || format!("the list of the directory {}", path.display()));
        Some(Part { key, how: Use::Look, finding: Finding::UnorderedSet })
    });
    if let Some(part) = part {
        objects::together(&[part], call);
    }
}
