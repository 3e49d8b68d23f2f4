//! Whose code an address is in.

use std::ffi::CStr;
use std::ffi::c_void;

/// Whose code it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The program's, or a library's that is part of it.
    Program,
    /// A library's of the system.
    System,
    /// The C library's.
    Libc,
    /// Ours.
    Raddle,
}

/// A loaded object.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) owner: Owner,
    code: (usize, usize),
}

static mut MODULES: Vec<Module> = Vec::new();

/// All loaded objects; found on the first call.
pub(crate) fn modules() -> &'static [Module] {
    // SAFETY: one OS thread alone runs code of the program; the list changes only on the first call, and in `refresh`.
    unsafe {
        if (*(&raw const MODULES)).is_empty() {
            MODULES = find();
        }
        &*(&raw const MODULES)
    }
}

/// Whose code is at this address?
#[inline]
pub(crate) fn owner(address: usize) -> Option<Owner> {
    modules().iter().find(|m| (m.code.0..m.code.1).contains(&address)).map(|m| m.owner)
}

/// The machine code of the executable.
pub(crate) fn program_code() -> Option<&'static [u8]> {
    let (start, end) = modules().iter().find(|m| m.owner == Owner::Program)?.code;
    // SAFETY: a loaded object with code stays where it is, and its code can be read.
    (start < end).then(|| unsafe { std::slice::from_raw_parts(start as *const u8, end - start) })
}

fn find() -> Vec<Module> {
    unsafe extern "C" fn visit(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: `dl_iterate_phdr` hands in a valid `info`, and our list.
        unsafe {
            let found = &mut *data.cast::<Vec<Module>>();
            let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
            let base = (*info).dlpi_addr as usize;
            let name = CStr::from_ptr((*info).dlpi_name).to_string_lossy().into_owned();
            let mut code = (usize::MAX, 0);
            for h in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_X != 0) {
                let start = base + h.p_vaddr as usize;
                code = (code.0.min(start), code.1.max(start + h.p_memsz as usize));
            }
            let file = name.rsplit('/').next().unwrap_or_default();
            let owner = if (code.0..code.1).contains(&(find as *const () as usize)) {
                Owner::Raddle
            } else if found.is_empty() {
                Owner::Program
            } else if file.starts_with("libc.so") || file.starts_with("ld-linux") {
                Owner::Libc
            } else if name.is_empty() || ["/lib", "/usr/lib"].iter().any(|d| name.starts_with(d)) {
                Owner::System
            } else {
                Owner::Program
            };
            found.push(Module { owner, code });
        }
        0
    }
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: `visit` has the signature that is asked for, and the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut found).cast()) };
    found
}
