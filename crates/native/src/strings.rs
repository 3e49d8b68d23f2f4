//! Functions of the C library that read and write memory of the program: what they touch is touched by the program.
//!
//! They are reached by the linker's `--wrap`, from the program's own objects alone: inside this library the same names must mean
//! the C library's functions. The list of names is in `wrapped.txt`, which the command hands to the linker.

use crate::access::{self, range};
use crate::options::{Races, options};
use crate::shim::{Call, call, export};
use std::ffi::{c_char, c_double, c_int, c_long, c_longlong, c_ulong, c_ulonglong, c_void};

unsafe extern "C" {
    fn mempcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void;
    fn memrchr(s: *const c_void, c: c_int, n: usize) -> *mut c_void;
    fn strspn(s: *const c_char, of: *const c_char) -> usize;
    fn strcspn(s: *const c_char, of: *const c_char) -> usize;
    fn strpbrk(s: *const c_char, of: *const c_char) -> *mut c_char;
    fn stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char;
}

/// The call, if it is one of a thread that is checked.
#[inline]
fn incoming() -> Option<Call> {
    runtime::in_execution().then(call)
}

pub(crate) fn reads<T>(call: Option<Call>, at: *const T, bytes: usize) {
    if let Some(call) = call
        && bytes > 0
    {
        range(at as usize, bytes, false, call);
    }
}

pub(crate) fn writes<T>(call: Option<Call>, at: *mut T, bytes: usize) {
    if let Some(call) = call
        && bytes > 0
    {
        range(at as usize, bytes, true, call);
    }
}

/// Writes memory piece by piece, each when its turn has come, if accesses are steps; says whether it did. A piece is at the same
/// offset of what `piece` reads.
fn pieced(
    call: Option<Call>,
    to: *mut c_void,
    n: usize,
    backwards: bool,
    piece: impl Fn(Call, usize, &mut [u8]),
) -> bool {
    let Some(call) = call.filter(|_| options().races == Races::Sync) else { return false };
    let start = to as usize;
    let end = start + n;
    let mut done = 0;
    while done < n {
        let (at, len) = if backwards {
            let stop = end - done;
            let at = ((stop - 1) & !7).max(start);
            (at, stop - at)
        } else {
            let at = start + done;
            (at, ((at & !7) + 8).min(end) - at)
        };
        let mut held = [0u8; 8];
        piece(call, at - start, &mut held[..len]);
        // SAFETY: the program writes there.
        access::write_now(at, len, call, || unsafe { (at as *mut u8).copy_from(held.as_ptr(), len) });
        done += len;
    }
    true
}

/// Copies, in the order in which nothing is overwritten before it is read.
fn copied(call: Option<Call>, to: *mut c_void, from: *const c_void, n: usize) -> bool {
    pieced(call, to, n, from < to.cast_const(), |call, offset, held| {
        let source = from as usize + offset;
        range(source, held.len(), false, call);
        // SAFETY: the program reads there.
        unsafe { held.as_mut_ptr().copy_from(source as *const u8, held.len()) };
    })
}

/// How many bytes of a string up to `most` are looked at, the zero byte included.
pub(crate) fn extent(s: *const c_char, most: usize) -> usize {
    // SAFETY: the program hands in a string, or an array of at least `most` bytes.
    let n = unsafe { libc::strnlen(s, most) };
    if n < most { n + 1 } else { n }
}

fn reads_string(call: Option<Call>, s: *const c_char) {
    if call.is_some() {
        let n = match read_in_steps(call, s, usize::MAX) {
            Some(bytes) => bytes.len(),
            None => {
                let n = extent(s, usize::MAX);
                reads(call, s, n);
                n
            }
        };
        depends_on(call, s, n);
    }
}

/// Where accesses are steps: reads a string of at most `most` bytes piece by piece, each when its turn has come, and gives its bytes with the
/// zero byte, if that is among them. How long it is turns out only then.
fn read_in_steps(call: Option<Call>, s: *const c_char, most: usize) -> Option<Vec<u8>> {
    let call = call.filter(|_| options().races == Races::Sync)?;
    let mut bytes = Vec::new();
    while bytes.len() < most && bytes.last() != Some(&0) {
        let at = s.wrapping_add(bytes.len());
        let n = extent(at, (8 - (at as usize & 7)).min(most - bytes.len()));
        range(at as usize, n, false, call);
        // SAFETY: the program reads there.
        let piece = unsafe { std::slice::from_raw_parts(at.cast::<u8>(), n) };
        bytes.extend(piece.iter().take(1 + piece.iter().take_while(|b| **b != 0).count()));
    }
    Some(bytes)
}

/// Where accesses are steps: writes these bytes piece by piece.
fn write_in_steps(call: Option<Call>, to: *mut c_char, bytes: &[u8]) {
    pieced(call, to.cast(), bytes.len(), false, |_, offset, piece| {
        piece.copy_from_slice(&bytes[offset..offset + piece.len()]);
    });
}

/// Reads a string up to the first of `most` bytes at which a function stops, with that byte. Says how many bytes these are.
fn reads_until(
    call: Option<Call>,
    s: *const c_char,
    most: usize,
    stops: impl Fn(usize, u8) -> bool,
) -> usize {
    if call.is_none() {
        return 0;
    }
    let in_steps = options().races == Races::Sync;
    let mut n = 0;
    while n < most {
        let at = s.wrapping_add(n);
        let piece = (8 - (at as usize & 7)).min(most - n);
        let looked_at = || {
            // SAFETY: the program hands in an array that has the byte at which the function stops, or `most` bytes.
            let stop = |i: &usize| stops(n + i, unsafe { *at.add(*i) } as u8);
            (0..piece).find(stop).map_or((piece, false), |i| (i + 1, true))
        };
        if in_steps {
            reads(call, at, looked_at().0);
        }
        // Other threads may have run.
        let (bytes, is_end) = looked_at();
        n += bytes;
        if is_end {
            break;
        }
    }
    if !in_steps {
        reads(call, s, n);
    }
    depends_on(call, s, n);
    n
}

/// Reads a string up to the first byte that is, or is not, in `set`.
fn reads_span(call: Option<Call>, s: *const c_char, set: *const c_char, ends_inside: bool) {
    if call.is_some() {
        reads_string(call, set);
        // SAFETY: the program hands in a string.
        let set = unsafe { std::ffi::CStr::from_ptr(set) }.to_bytes();
        reads_until(call, s, usize::MAX, |_, b| b == 0 || set.contains(&b) == ends_inside);
    }
}

/// Reads the part of a string that a search for another one needs: up to the end of the match, or all of it.
fn reads_search(call: Option<Call>, s: *const c_char, t: *const c_char) {
    if call.is_some() {
        reads_string(call, t);
        // SAFETY: the program hands in two strings.
        let (found, size) = unsafe { (libc::strstr(s, t), libc::strlen(t)) };
        if found.is_null() {
            reads_string(call, s);
        } else {
            let end = found as usize - s as usize + size;
            reads_until(call, s, end, |_, b| b == 0);
        }
    }
}

/// How many bytes of a string a conversion to a number looks at: those of the number, and the one behind it. `end` is where the number
/// ends.
fn extent_of_number(s: *const c_char, end: *const c_char) -> usize {
    let mut n = (end as usize).saturating_sub(s as usize);
    if n == 0 {
        // There is no number: the function looks behind spaces and a sign.
        // SAFETY: the program hands in a string.
        unsafe {
            n = strspn(s, c" \t\n\x0b\x0c\r".as_ptr());
            n += usize::from(matches!(*s.add(n) as u8, b'+' | b'-'));
        }
    }
    extent(s, n + 1)
}

/// How many bytes `strtol` and its relatives look at.
pub(crate) fn extent_of_integer(s: *const c_char, base: c_int) -> usize {
    let mut end = std::ptr::null_mut();
    // SAFETY: the program hands in a string.
    unsafe { libc::strtoull(s, &mut end, base) };
    extent_of_number(s, end)
}

/// How many bytes `strtod` and its relatives look at.
pub(crate) fn extent_of_float(s: *const c_char) -> usize {
    let mut end = std::ptr::null_mut();
    // SAFETY: the program hands in a string.
    unsafe { libc::strtod(s, &mut end) };
    extent_of_number(s, end)
}

fn reads_integer(call: Option<Call>, s: *const c_char, base: c_int) {
    if call.is_some() {
        reads_until(call, s, extent_of_integer(s, base), |_, b| b == 0);
    }
}

fn reads_float(call: Option<Call>, s: *const c_char) {
    if call.is_some() {
        reads_until(call, s, extent_of_float(s), |_, b| b == 0);
    }
}

/// Writes where a number ends, for who asks.
fn ends(call: Option<Call>, end: *mut *mut c_char) {
    if !end.is_null() {
        writes(call, end, size_of::<*mut c_char>());
    }
}

/// How many bytes of two strings a comparison looks at.
fn compared(a: *const c_char, b: *const c_char, most: usize, same: impl Fn(c_char, c_char) -> bool) -> usize {
    let mut i = 0;
    // SAFETY: the program hands in strings, or arrays of at least `most` bytes.
    unsafe {
        while i < most {
            let (x, y) = (*a.add(i), *b.add(i));
            i += 1;
            if !same(x, y) || x == 0 {
                break;
            }
        }
    }
    i
}

/// How many bytes of two arrays a comparison needs to look at: up to the first that differ.
fn compared_bytes(a: *const c_void, b: *const c_void, n: usize) -> usize {
    // SAFETY: the program hands in arrays of at least `n` bytes.
    let same = |i: &usize| unsafe { *a.cast::<u8>().add(*i) == *b.cast::<u8>().add(*i) };
    (0..n).position(|i| !same(&i)).map_or(n, |i| i + 1)
}

fn alike(x: c_char, y: c_char) -> bool {
    (x as u8).eq_ignore_ascii_case(&(y as u8))
}

fn reads_both(call: Option<Call>, a: *const c_char, b: *const c_char, n: usize) {
    reads(call, a, n);
    reads(call, b, n);
    depends_on(call, a, n);
    depends_on(call, b, n);
}

/// What was never written is no more written where it is copied to.
fn copies(call: Option<Call>, to: *const u8, from: *const u8, n: usize) {
    if call.is_some() {
        crate::heap::heap().copy_written(to as usize, from as usize, n);
    }
}

/// What a function returns depends on each of these bytes.
fn depends_on(call: Option<Call>, at: *const c_char, n: usize) {
    if let Some(call) = call {
        crate::unwritten::depends_on(at as usize, n, call);
    }
}

macro_rules! wrap {
    ($($name:ident as $wrapped:ident ($($arg:ident: $ty:ty),*) -> $ret:ty, $call:ident $before:block => $real:expr;)*) => {
        $(extern "C" fn $name($($arg: $ty),*) -> $ret {
            let $call = incoming();
            $before
            // SAFETY: the program calls the function with these arguments.
            unsafe { $real($($arg),*) }
        })*
        export! { $($wrapped => $name;)* }
    };
}

wrap! {
    copy as __wrap_memcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void,
        call { if copied(call, to, from, n) { return to; } reads(call, from, n); writes(call, to, n); copies(call, to.cast(), from.cast(), n); } => libc::memcpy;
    move_ as __wrap_memmove(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void,
        call { if copied(call, to, from, n) { return to; } reads(call, from, n); writes(call, to, n); copies(call, to.cast(), from.cast(), n); } => libc::memmove;
    copy_on as __wrap_mempcpy(to: *mut c_void, from: *const c_void, n: usize) -> *mut c_void,
        call {
            if copied(call, to, from, n) {
                return to.wrapping_byte_add(n);
            }
            reads(call, from, n);
            writes(call, to, n);
            copies(call, to.cast(), from.cast(), n);
        } => mempcpy;
    set as __wrap_memset(to: *mut c_void, c: c_int, n: usize) -> *mut c_void,
        call {
            if pieced(call, to, n, false, |_, _, held| held.fill(c as u8)) {
                return to;
            }
            writes(call, to, n);
        } => libc::memset;
    compare as __wrap_memcmp(a: *const c_void, b: *const c_void, n: usize) -> c_int,
        call {
            if let Some(call) = call {
                reads_both(Some(call), a.cast(), b.cast(), compared_bytes(a, b, n));
                crate::looks::arrays_compared(a as usize, b as usize, n, call);
            }
        } => libc::memcmp;
    compare_bytes as __wrap_bcmp(a: *const c_void, b: *const c_void, n: usize) -> c_int,
        call {
            if let Some(call) = call {
                reads_both(Some(call), a.cast(), b.cast(), compared_bytes(a, b, n));
                crate::looks::arrays_compared(a as usize, b as usize, n, call);
            }
        } => libc::memcmp;
    find as __wrap_memchr(s: *const c_void, c: c_int, n: usize) -> *mut c_void,
        // It behaves as if it stopped at the byte that it finds.
        call { reads_until(call, s.cast(), n, |_, b| b == c as u8); } => libc::memchr;
    find_last as __wrap_memrchr(s: *const c_void, c: c_int, n: usize) -> *mut c_void,
        call {
            // SAFETY: the program hands in so many bytes.
            let found = if call.is_some() { (unsafe { memrchr(s, c, n) }) as usize } else { 0 };
            let start = if found == 0 { s as usize } else { found };
            reads(call, start as *const c_char, (s as usize + n).saturating_sub(start));
        } => memrchr;
    length as __wrap_strlen(s: *const c_char) -> usize,
        call { reads_string(call, s); } => libc::strlen;
    length_up_to as __wrap_strnlen(s: *const c_char, n: usize) -> usize,
        call { reads(call, s, extent(s, n)); } => libc::strnlen;
    copy_string as __wrap_strcpy(to: *mut c_char, from: *const c_char) -> *mut c_char,
        call {
            if let Some(bytes) = read_in_steps(call, from, usize::MAX) {
                write_in_steps(call, to, &bytes);
                return to;
            }
            let n = extent(from, usize::MAX);
            reads(call, from, n);
            writes(call, to, n);
            depends_on(call, from, n);
        } => libc::strcpy;
    copy_string_on as __wrap_stpcpy(to: *mut c_char, from: *const c_char) -> *mut c_char,
        call {
            if let Some(bytes) = read_in_steps(call, from, usize::MAX) {
                write_in_steps(call, to, &bytes);
                return to.wrapping_add(bytes.len() - 1);
            }
            let n = extent(from, usize::MAX);
            reads(call, from, n);
            writes(call, to, n);
            copies(call, to.cast(), from.cast(), n);
        } => stpcpy;
    copy_string_up_to as __wrap_strncpy(to: *mut c_char, from: *const c_char, n: usize) -> *mut c_char,
        call {
            if let Some(mut bytes) = read_in_steps(call, from, n) {
                bytes.resize(n, 0);
                write_in_steps(call, to, &bytes);
                return to;
            }
            reads(call, from, extent(from, n));
            writes(call, to, n);
        } => libc::strncpy;
    append as __wrap_strcat(to: *mut c_char, from: *const c_char) -> *mut c_char,
        call { if append_parts(call, to, from, usize::MAX) { return to; } } => libc::strcat;
    append_up_to as __wrap_strncat(to: *mut c_char, from: *const c_char, n: usize) -> *mut c_char,
        call { if append_parts(call, to, from, n) { return to; } } => libc::strncat;
    compare_strings as __wrap_strcmp(a: *const c_char, b: *const c_char) -> c_int,
        call { if call.is_some() { reads_both(call, a, b, compared(a, b, usize::MAX, |x, y| x == y)); } } => libc::strcmp;
    compare_strings_up_to as __wrap_strncmp(a: *const c_char, b: *const c_char, n: usize) -> c_int,
        call { if call.is_some() { reads_both(call, a, b, compared(a, b, n, |x, y| x == y)); } } => libc::strncmp;
    compare_alike as __wrap_strcasecmp(a: *const c_char, b: *const c_char) -> c_int,
        call { if call.is_some() { reads_both(call, a, b, compared(a, b, usize::MAX, alike)); } } => libc::strcasecmp;
    compare_alike_up_to as __wrap_strncasecmp(a: *const c_char, b: *const c_char, n: usize) -> c_int,
        call { if call.is_some() { reads_both(call, a, b, compared(a, b, n, alike)); } } => libc::strncasecmp;
    find_char as __wrap_strchr(s: *const c_char, c: c_int) -> *mut c_char,
        call { reads_until(call, s, usize::MAX, |_, b| b == 0 || b == c as u8); } => libc::strchr;
    find_last_char as __wrap_strrchr(s: *const c_char, c: c_int) -> *mut c_char,
        call { reads_string(call, s); } => libc::strrchr;
    find_string as __wrap_strstr(s: *const c_char, t: *const c_char) -> *mut c_char,
        call { reads_search(call, s, t); } => libc::strstr;
    span as __wrap_strspn(s: *const c_char, t: *const c_char) -> usize,
        call { reads_span(call, s, t, false); } => strspn;
    span_without as __wrap_strcspn(s: *const c_char, t: *const c_char) -> usize,
        call { reads_span(call, s, t, true); } => strcspn;
    find_any as __wrap_strpbrk(s: *const c_char, t: *const c_char) -> *mut c_char,
        call { reads_span(call, s, t, true); } => strpbrk;
    to_long as __wrap_strtol(s: *const c_char, end: *mut *mut c_char, base: c_int) -> c_long,
        call { reads_integer(call, s, base); ends(call, end); } => libc::strtol;
    to_unsigned_long as __wrap_strtoul(s: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulong,
        call { reads_integer(call, s, base); ends(call, end); } => libc::strtoul;
    to_long_long as __wrap_strtoll(s: *const c_char, end: *mut *mut c_char, base: c_int) -> c_longlong,
        call { reads_integer(call, s, base); ends(call, end); } => libc::strtoll;
    to_unsigned_long_long as __wrap_strtoull(s: *const c_char, end: *mut *mut c_char, base: c_int) -> c_ulonglong,
        call { reads_integer(call, s, base); ends(call, end); } => libc::strtoull;
    to_double as __wrap_strtod(s: *const c_char, end: *mut *mut c_char) -> c_double,
        call { reads_float(call, s); ends(call, end); } => libc::strtod;
    to_int as __wrap_atoi(s: *const c_char) -> c_int,
        call { reads_integer(call, s, 10); } => libc::atoi;
    to_long_plain as __wrap_atol(s: *const c_char) -> c_long,
        call { reads_integer(call, s, 10); } => libc::atol;
    to_long_long_plain as __wrap_atoll(s: *const c_char) -> c_longlong,
        call { reads_integer(call, s, 10); } => libc::atoll;
}

/// What `strcat` touches: all of the first string, and behind it as much as the second one has. Where accesses are steps it appends, too,
/// at the end that it has seen, and returns true.
fn append_parts(call: Option<Call>, to: *mut c_char, from: *const c_char, most: usize) -> bool {
    if call.is_none() {
        return false;
    }
    if let Some(before) = read_in_steps(call, to.cast_const(), usize::MAX)
        && let Some(mut bytes) = read_in_steps(call, from, most)
    {
        if bytes.last() != Some(&0) {
            bytes.push(0);
        }
        write_in_steps(call, to.wrapping_add(before.len() - 1), &bytes);
        return true;
    }
    // SAFETY: the program hands in strings, or an array of at least `most` bytes.
    let (old, n) = unsafe { (libc::strlen(to), libc::strnlen(from, most)) };
    reads(call, to.cast_const(), old + 1);
    reads(call, from, extent(from, most));
    writes(call, to.wrapping_add(old), n + 1);
    false
}

/// A copy of a string of at most `most` bytes: on the program's heap, as if it had called `malloc` itself.
fn duplicate(s: *const c_char, most: usize) -> *mut c_char {
    let call = incoming();
    // SAFETY: the program hands in a string, or an array of at least `most` bytes.
    unsafe {
        let n = libc::strnlen(s, most);
        reads(call, s, extent(s, most));
        let p = crate::heap::allocate(n + 1).cast::<c_char>();
        if !p.is_null() {
            writes(call, p, n + 1);
            p.copy_from(s, n);
            *p.add(n) = 0;
        }
        p
    }
}

extern "C" fn duplicate_all(s: *const c_char) -> *mut c_char {
    duplicate(s, usize::MAX)
}

extern "C" fn duplicate_part(s: *const c_char, most: usize) -> *mut c_char {
    duplicate(s, most)
}

extern "C" fn zero(to: *mut c_void, n: usize) {
    writes(incoming(), to, n);
    // SAFETY: the program calls the function with these arguments.
    unsafe { libc::memset(to, 0, n) };
}

extern "C" fn copy_backwards(from: *const c_void, to: *mut c_void, n: usize) {
    let call = incoming();
    reads(call, from, n);
    writes(call, to, n);
    copies(call, to.cast(), from.cast(), n);
    // SAFETY: as above.
    unsafe { libc::memmove(to, from, n) };
}

export! {
    __wrap_strdup => duplicate_all;
    __wrap_strndup => duplicate_part;
    __wrap_bzero => zero;
    __wrap_bcopy => copy_backwards;
    __tsan_memcpy => copy;
    __tsan_memmove => move_;
    __tsan_memset => set;
}
