//! Where the globals of the user's program are.
//!
//! The *user's objects* are the main executable and every shared object outside the system's library directories. The
//! C library and its relatives are never the user's, wherever they are: putting their data back would break the process
//! (locks, the list of loaded objects, the real heap). The object that holds this very code is not the user's either.
//!
//! A writable segment is given without the part that the dynamic linker made read-only after relocation (RELRO).

use crate::{PAGE, page_down};
use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A range of memory that belongs to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The first byte.
    pub start: usize,
    /// The number of bytes.
    pub len: usize,
    /// The protection that its pages have, as for `mmap`.
    pub protection: i32,
}

impl Region {
    /// A range that can be read and written.
    pub fn new(start: usize, len: usize) -> Self {
        Self { start, len, protection: libc::PROT_READ | libc::PROT_WRITE }
    }

    /// The first byte after it.
    pub fn end(&self) -> usize {
        self.start + self.len
    }

    /// Whether the address is in it.
    pub fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.len
    }
}

/// What the thread-local variables of an object start with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsImage {
    /// The number by which the C library knows the object.
    pub module: usize,
    /// Where the initial values are.
    pub address: usize,
    /// How many bytes of them there are.
    pub initialised: usize,
    /// How many bytes the variables take; those after the initial values start as zero.
    pub size: usize,
}

/// One of the user's loaded objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// The file it was loaded from.
    pub path: PathBuf,
    /// What to subtract from an address to get the one in the file.
    pub base: usize,
    /// Whether it is the main executable.
    pub is_main: bool,
    /// Its globals.
    pub writable: Vec<Region>,
    /// Its thread-local variables, if it has any.
    pub tls: Option<TlsImage>,
}

/// Every object of the user, the main executable first.
pub fn user_objects() -> Vec<Object> {
    let mut found: Vec<Object> = Vec::new();
    let mut first = true;
    let mut state = (&mut found, &mut first);
    // SAFETY: `visit` gets the pointer to `state` that it expects, and both live until this call is over.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut state).cast()) };
    found
}

/// The functions that the dynamic linker calls when the process ends, for each object of the user and in order: `.fini_array` from its
/// end. `_fini` is left out: on this machine it does nothing.
pub fn destructors() -> Vec<usize> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, all: *mut libc::c_void) -> i32 {
        const DT_NULL: usize = 0;
        const DT_FINI_ARRAY: usize = 26;
        const DT_FINI_ARRAYSZ: usize = 28;
        // SAFETY: the C library passes a valid description, `all` is the list handed in below, and the dynamic section of a loaded object
        // ends with a null entry.
        unsafe {
            let info = &*info;
            let all = &mut *all.cast::<Vec<(usize, Vec<usize>)>>();
            let base = info.dlpi_addr as usize;
            let Some(dynamic) = headers(info).iter().find(|h| h.p_type == libc::PT_DYNAMIC) else { return 0 };
            let mut entry = (base + dynamic.p_vaddr as usize) as *const [usize; 2];
            let (mut array, mut bytes) = (0, 0);
            while (*entry)[0] != DT_NULL {
                match *entry {
                    [DT_FINI_ARRAY, at] => array = base + at,
                    [DT_FINI_ARRAYSZ, size] => bytes = size,
                    _ => {}
                }
                entry = entry.add(1);
            }
            let count = if array == 0 { 0 } else { bytes / size_of::<usize>() };
            let found: Vec<usize> =
                (0..count).rev().map(|i| *(array as *const usize).add(i)).filter(|f| *f != 0).collect();
            all.push((base, found));
        }
        0
    }
    let mut all: Vec<(usize, Vec<usize>)> = Vec::new();
    // SAFETY: `add` gets the pointer to a list that it expects.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut all).cast()) };
    let users = user_objects();
    all.retain(|(base, _)| users.iter().any(|o| o.base == *base));
    all.into_iter().flat_map(|(_, found)| found).collect()
}

/// How many bytes of thread-local variables all loaded objects have, the system's too.
pub(crate) fn all_tls_bytes() -> usize {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, sum: *mut libc::c_void) -> i32 {
        // SAFETY: the C library passes a valid description, and `sum` is the one handed in below.
        unsafe {
            for header in headers(&*info) {
                if header.p_type == libc::PT_TLS {
                    *sum.cast::<usize>() += header.p_memsz as usize + header.p_align as usize;
                }
            }
        }
        0
    }
    let mut sum = 0usize;
    // SAFETY: `add` gets the pointer to a number that it expects.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut sum).cast()) };
    sum
}

/// # Safety
///
/// `info` must be what `dl_iterate_phdr` passes.
unsafe fn headers(info: &libc::dl_phdr_info) -> &[libc::Elf64_Phdr] {
    if info.dlpi_phdr.is_null() {
        return &[];
    }
    // SAFETY: the C library says that there are so many.
    unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) }
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, data: *mut libc::c_void) -> i32 {
    // SAFETY: the C library passes a valid description, whose name ends with a zero; `data` is from `user_objects`.
    unsafe {
        let (found, first) = &mut *data.cast::<(&mut Vec<Object>, &mut bool)>();
        let is_main = std::mem::replace(*first, false);
        let info = &*info;
        let name = if info.dlpi_name.is_null() { c"" } else { CStr::from_ptr(info.dlpi_name) };
        if let Some(object) =
            describe(info.dlpi_addr as usize, name, is_main, headers(info), info.dlpi_tls_modid)
        {
            found.push(object);
        }
    }
    0
}

fn describe(
    base: usize,
    name: &CStr,
    is_main: bool,
    headers: &[libc::Elf64_Phdr],
    module: usize,
) -> Option<Object> {
    let range = |header: &libc::Elf64_Phdr| {
        let start = base.wrapping_add(header.p_vaddr as usize);
        (start, start + header.p_memsz as usize)
    };
    let loads = || headers.iter().filter(|h| h.p_type == libc::PT_LOAD);
    let own = describe as *const () as usize;
    if loads().map(range).any(|(start, end)| (start..end).contains(&own)) {
        return None;
    }
    let path = if is_main {
        std::fs::read_link("/proc/self/exe").unwrap_or_default()
    } else {
        normal(Path::new(OsStr::from_bytes(name.to_bytes())))
    };
    if !is_main && is_system(&path) {
        return None;
    }
    // The dynamic linker rounds both ends down.
    let relro = headers
        .iter()
        .filter(|h| h.p_type == libc::PT_GNU_RELRO)
        .map(range)
        .map(|(start, end)| (page_down(start), page_down(end)))
        .next();
    let mut writable = Vec::new();
    for header in loads().filter(|h| h.p_flags & libc::PF_W != 0) {
        let protection =
            [(libc::PF_R, libc::PROT_READ), (libc::PF_W, libc::PROT_WRITE), (libc::PF_X, libc::PROT_EXEC)]
                .iter()
                .filter(|(flag, _)| header.p_flags & flag != 0)
                .fold(0, |all, (_, protection)| all | protection);
        for (start, end) in without(range(header), relro) {
            writable.push(Region { start, len: end - start, protection });
        }
    }
    let tls = headers.iter().find(|h| h.p_type == libc::PT_TLS && h.p_memsz > 0).map(|header| TlsImage {
        module,
        address: range(header).0,
        initialised: header.p_filesz as usize,
        size: header.p_memsz as usize,
    });
    Some(Object { path, base, is_main, writable, tls })
}

/// The parts of a range that are not in the hole.
fn without((start, end): (usize, usize), hole: Option<(usize, usize)>) -> Vec<(usize, usize)> {
    debug_assert!(hole.is_none_or(|(from, to)| from % PAGE == 0 && to % PAGE == 0));
    let Some((from, to)) = hole else { return vec![(start, end)] };
    [(start, end.min(from)), (start.max(to), end)].into_iter().filter(|(start, end)| start < end).collect()
}

/// The path without `..`, and absolute if it is a path at all. Links are not followed: the function of the C library
/// that does so allocates, from whatever `malloc` the process has, and expects its own `free`.
fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    if !path.as_os_str().as_bytes().contains(&b'/') {
        return path.to_path_buf();
    }
    let mut normal = PathBuf::new();
    for component in std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).components() {
        match component {
            Component::ParentDir => drop(normal.pop()),
            other => normal.push(other),
        }
    }
    normal
}

/// Whether an object is part of the system rather than of the program.
fn is_system(path: &Path) -> bool {
    const DIRECTORIES: [&str; 6] = ["/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64"];
    const NAMES: [&str; 12] = [
        "ld-linux",
        "libc.so",
        "libm.so",
        "libpthread.so",
        "libdl.so",
        "librt.so",
        "libgcc_s.so",
        "libstdc++.so",
        "libc++.so",
        "libc++abi.so",
        "libunwind.so",
        "linux-vdso.so",
    ];
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // Without a directory it is not a file: the kernel's own object.
    !path.is_absolute()
        || DIRECTORIES.iter().any(|directory| path.starts_with(directory))
        || NAMES.iter().any(|name| file.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_read_only_part_is_cut_out_wherever_it_lies() {
        assert_eq!(without((0x1000, 0x5010), None), [(0x1000, 0x5010)]);
        assert_eq!(without((0x1100, 0x5010), Some((0x1000, 0x2000))), [(0x2000, 0x5010)]);
        assert_eq!(without((0x1100, 0x5010), Some((0x2000, 0x3000))), [(0x1100, 0x2000), (0x3000, 0x5010)]);
        assert_eq!(without((0x1100, 0x1800), Some((0x1000, 0x2000))), []);
        assert_eq!(without((0x3100, 0x3800), Some((0x1000, 0x2000))), [(0x3100, 0x3800)]);
    }

    #[test]
    fn the_c_library_is_never_the_users() {
        for system in [
            "/lib/x.so",
            "/usr/lib/x86_64-linux-gnu/libz.so.1",
            "/opt/gcc/lib64/libstdc++.so.6",
            "/nix/store/x/lib/libc.so.6",
            "linux-vdso.so.1",
        ] {
            assert!(is_system(Path::new(system)), "{system}");
        }
        for user in ["/home/me/libqueue.so", "/usr/local/lib/libqueue.so", "/libs/libcommon.so"] {
            assert!(!is_system(Path::new(user)), "{user}");
        }
    }

    #[test]
    fn a_path_says_where_a_library_is_however_it_is_written() {
        assert_eq!(normal(Path::new("/opt/x/bin/../lib/./libx.so")), Path::new("/opt/x/lib/libx.so"));
        assert_eq!(normal(Path::new("linux-vdso.so.1")), Path::new("linux-vdso.so.1"));
        assert_eq!(normal(Path::new("./libx.so")), std::env::current_dir().unwrap().join("libx.so"));
        assert!(is_system(&normal(Path::new("/usr/local/../lib/libx.so"))));
    }

    #[test]
    fn the_object_with_this_code_is_not_the_users() {
        assert_eq!(user_objects(), []);
    }
}
