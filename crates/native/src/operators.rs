//! `operator new` and `operator delete` of C++: which of them allocated a block, and whether the right one frees it.
//!
//! Each block knows whether `malloc`, `new` or `new[]` allocated it ([`Origin`]). To free it by a function of another family is a failure.
//! In a program that replaces one of these operators nothing is looked at: what its operators allocate with is not known. Calls that do not
//! lead to them already do so from here, or to the C++ library.

// The names are those of the C++ library.
#![allow(non_snake_case)]

use crate::heap::{self, allocate, allocate_aligned, heap, release};
use crate::real;
use crate::shim::export;
use explore::FailureKind;
use image::arena::{Origin, State};
use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;

type New = unsafe extern "C-unwind" fn(usize, usize, usize) -> *mut c_void;
type Delete = unsafe extern "C-unwind" fn(*mut c_void, usize, usize);

/// The operators that the program defines, by name. They are not among its dynamic symbols.
fn replaced() -> &'static [(String, usize)] {
    static mut FOUND: Option<Vec<(String, usize)>> = None;
    // SAFETY: one OS thread alone runs code of the program; the list is made once.
    unsafe {
        match &*(&raw const FOUND) {
            Some(found) => found,
            None => (*(&raw mut FOUND)).insert(crate::shim::undisturbed(find_replaced)),
        }
    }
}

#[cold]
fn find_replaced() -> Vec<(String, usize)> {
    let base = crate::functions::base();
    let mut found = Vec::new();
    crate::functions::each(|symbol| {
        if !symbol.is_variable && NEWS.iter().chain(DELETES).any(|name| name.as_bytes() == symbol.name) {
            found.push((String::from_utf8_lossy(symbol.name).into_owned(), base + symbol.address));
        }
    });
    found
}

/// Whether the program replaces an operator.
#[inline]
fn is_replaced() -> bool {
    !replaced().is_empty()
}

/// The operator of this name that the program defines, or the one of the C++ library.
fn target(found: &AtomicUsize, name: &'static str) -> usize {
    let own = replaced().iter().find(|(own, _)| own == name.trim_end_matches('\0'));
    own.map_or_else(|| real::find(found, name), |(_, address)| *address)
}

/// The block that an operator gives out.
fn noted(p: *mut c_void, origin: Origin) -> *mut c_void {
    heap().set_origin(p as usize, origin);
    p
}

/// Reports that a block is freed by another function than the one that belongs to its origin.
pub(crate) fn check(p: *mut c_void, by: Origin) {
    let State::Live(block) = heap().state_of(p as usize) else { return };
    let origin = heap().origin_of(p as usize);
    if block.start != p as usize || origin == by {
        return;
    }
    let allocates = |origin| match origin {
        Origin::Malloc => "malloc",
        Origin::New => "new",
        Origin::NewArray => "new[]",
    };
    let frees = match by {
        Origin::Malloc => "free or realloc",
        Origin::New => "delete",
        Origin::NewArray => "delete[]",
    };
    heap::fail(FailureKind::InvalidFree, || {
        format!(
            "a block of {} bytes that {} allocated, at {}, is freed by {frees}",
            block.size,
            allocates(origin),
            runtime::Place::at(block.site)
        )
    })
}

fn delete(p: *mut c_void, by: Origin) {
    if !p.is_null() {
        check(p, by);
        release(p);
    }
}

macro_rules! operators {
    ($($name:ident: $symbol:ident, $origin:ident, $allocate:expr;)*) => {
        $(extern "C-unwind" fn $name(size: usize, second: usize, third: usize) -> *mut c_void {
            if !is_replaced() {
                let allocate: fn(usize, usize) -> *mut c_void = $allocate;
                let p = allocate(size.max(1), second);
                if !p.is_null() {
                    return noted(p, Origin::$origin);
                }
            }
            // There is no memory, or the program replaces operators.
            static FOUND: AtomicUsize = AtomicUsize::new(0);
            let real = target(&FOUND, concat!(stringify!($symbol), "\0"));
            // SAFETY: the C++ library defines the operator; it takes as many of the arguments as it has.
            unsafe { std::mem::transmute::<usize, New>(real)(size, second, third) }
        })*
        export! { $($symbol => $name;)* }
        const NEWS: &[&str] = &[$(stringify!($symbol)),*];
    };
}

macro_rules! delete_operators {
    ($($name:ident: $symbol:ident, $origin:ident;)*) => {
        $(extern "C-unwind" fn $name(p: *mut c_void, second: usize, third: usize) {
            if !is_replaced() {
                return delete(p, Origin::$origin);
            }
            static FOUND: AtomicUsize = AtomicUsize::new(0);
            let real = target(&FOUND, concat!(stringify!($symbol), "\0"));
            // SAFETY: as above.
            unsafe { std::mem::transmute::<usize, Delete>(real)(p, second, third) }
        })*
        export! { $($symbol => $name;)* }
        const DELETES: &[&str] = &[$(stringify!($symbol)),*];
    };
}

operators! {
    new: _Znwm, New, |size, _| allocate(size);
    new_array: _Znam, NewArray, |size, _| allocate(size);
    new_or_null: _ZnwmRKSt9nothrow_t, New, |size, _| allocate(size);
    new_array_or_null: _ZnamRKSt9nothrow_t, NewArray, |size, _| allocate(size);
    new_aligned: _ZnwmSt11align_val_t, New, |size, align| allocate_aligned(align, size);
    new_array_aligned: _ZnamSt11align_val_t, NewArray, |size, align| allocate_aligned(align, size);
    new_aligned_or_null: _ZnwmSt11align_val_tRKSt9nothrow_t, New, |size, align| allocate_aligned(align, size);
    new_array_aligned_or_null: _ZnamSt11align_val_tRKSt9nothrow_t, NewArray, |size, align| allocate_aligned(align, size);
}

delete_operators! {
    delete_one: _ZdlPv, New;
    delete_array: _ZdaPv, NewArray;
    delete_sized: _ZdlPvm, New;
    delete_array_sized: _ZdaPvm, NewArray;
    delete_or_null: _ZdlPvRKSt9nothrow_t, New;
    delete_array_or_null: _ZdaPvRKSt9nothrow_t, NewArray;
    delete_aligned: _ZdlPvSt11align_val_t, New;
    delete_array_aligned: _ZdaPvSt11align_val_t, NewArray;
    delete_sized_aligned: _ZdlPvmSt11align_val_t, New;
    delete_array_sized_aligned: _ZdaPvmSt11align_val_t, NewArray;
    delete_aligned_or_null: _ZdlPvSt11align_val_tRKSt9nothrow_t, New;
    delete_array_aligned_or_null: _ZdaPvSt11align_val_tRKSt9nothrow_t, NewArray;
}
