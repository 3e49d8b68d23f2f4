//! Names as a person writes them: demangled functions, paths relative to where the person is, and which files
//! belong to the system rather than to the program.

use std::path::{Component, Path, PathBuf};

/// Mangled C++ and Rust names without parameters, return types and hashes; other names as they are.
pub(crate) fn demangle(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
    {
        let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        if let Ok(text) = symbol.demangle_with_options(&options) {
            return text;
        }
    }
    name.to_string()
}

/// Whom a file belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The program, as far as can be told.
    Program,
    /// A header of the C or C++ implementation: names with a leading underscore are its own business.
    Headers,
    /// Rust's standard library: all its fields are its own business.
    RustStd,
}

/// Decides by the path alone, since the file need not exist on this machine.
pub(crate) fn owner(path: &str) -> Owner {
    let path = &normal(path);
    if path.starts_with("/rustc/")
        || path.starts_with("/rust/deps/")
        || path.contains("/rustlib/src/rust/library/")
    {
        return Owner::RustStd;
    }
    let roots = ["/usr/include/", "/usr/local/include/", "/usr/lib/gcc/", "/usr/lib/llvm", "/usr/lib/clang/"];
    if roots.iter().any(|root| path.starts_with(root))
        || path.contains("/include/c++/")
        || (path.contains("/lib/clang/") && path.contains("/include/"))
        || (path.contains("/lib/gcc/") && path.contains("/include/"))
    {
        return Owner::Headers;
    }
    Owner::Program
}

/// Whether a file is one of a standard library of C++ or Rust. Other libraries that are installed beside them are not.
pub(crate) fn is_standard(path: &str) -> bool {
    match owner(path) {
        Owner::Program => false,
        Owner::RustStd => true,
        Owner::Headers => {
            let path = normal(path);
            path.contains("/c++/") || path.contains("/gcc/") || path.contains("/clang/")
        }
    }
}

/// `a/./b/../c` is `a/c`. Decided on the text: links are not followed.
fn normal(path: &str) -> String {
    let mut out = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out.to_string_lossy().into_owned()
}

/// The path without the first of the `bases` that it lies under.
pub(crate) fn shown(path: &str, bases: &[PathBuf]) -> String {
    let path = normal(path);
    for base in bases {
        if let Ok(rest) = Path::new(&path).strip_prefix(base)
            && rest.components().next().is_some()
        {
            return rest.to_string_lossy().into_owned();
        }
    }
    path
}

/// The last part of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_both_languages_are_demangled_and_c_names_stay() {
        assert_eq!(demangle("_ZN2ns6Worker3runEi"), "ns::Worker::run");
        assert_eq!(demangle("_ZNSt6atomicIiE9fetch_addEiSt12memory_order"), "std::atomic<int>::fetch_add");
        assert_eq!(demangle("_ZN4demo4main17h0123456789abcdefE"), "demo::main");
        assert_eq!(demangle("_RNvC4demo4main"), "demo::main");
        assert_eq!(demangle("pthread_create"), "pthread_create");
        assert_eq!(demangle("_Z"), "_Z");
        assert_eq!(demangle("_ZN999x"), "_ZN999x");
    }

    #[test]
    fn files_of_compilers_belong_to_the_system() {
        assert_eq!(owner("/usr/include/c++/12/bits/atomic_base.h"), Owner::Headers);
        assert_eq!(
            owner("/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/atomic"),
            Owner::Headers
        );
        assert_eq!(owner("/opt/llvm/include/c++/v1/atomic"), Owner::Headers);
        assert_eq!(owner("/rustc/0123/library/core/src/sync/atomic.rs"), Owner::RustStd);
        assert_eq!(owner("/home/me/include/queue.h"), Owner::Program);
        assert_eq!(owner("queue.c"), Owner::Program);
    }

    #[test]
    fn libraries_beside_the_standard_one_are_not_standard() {
        assert!(is_standard("/usr/include/c++/12/bits/shared_ptr_base.h"));
        assert!(is_standard("/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h"));
        assert!(is_standard("/usr/lib/llvm-16/include/c++/v1/memory"));
        assert!(is_standard("/rustc/0123/library/alloc/src/sync.rs"));
        assert!(!is_standard("/usr/include/boost/lockfree/queue.hpp"));
        assert!(!is_standard("src/c++/queue.h"));
    }

    #[test]
    fn paths_under_a_base_are_shown_from_there() {
        let bases = [PathBuf::from("/home/me/p"), PathBuf::from("/home/me")];
        assert_eq!(shown("/home/me/p/./src/../a.c", &bases), "a.c");
        assert_eq!(shown("/home/me/q/a.c", &bases), "q/a.c");
        assert_eq!(shown("/home/men/a.c", &bases), "/home/men/a.c");
        assert_eq!(shown("../a.c", &bases), "../a.c");
        assert_eq!(shown("/home/me/p", &bases[..1]), "/home/me/p");
    }
}
