//! The functions of the C library by family: what they read and write, which hidden state they use, whether they are pure.

use super::accesses::{
    Access, ask, at, attributes, before, change, changes_variable, count, fd, float, integer, k, length,
    look, made, named, ok, path, paths, r, s, s_until, set, sn, status, unmodelled, w, when, wide_compared,
    wide_has, wide_length, wide_until, ws, wsn,
};
use super::blocks::{addresses, entries, given, handed_over, overwritten, symbols};
use super::handles::{appended, base, conversion, has_offset, locale, new_conversion, new_locale, words};
use super::inputs::{channel, from_outside};
use super::objects::Use;
use super::objects::{
    BASE64, CALLS, CONCURRENCY, CRYPT, DIGITS, DIRECTORY, DRAND48, DRAND48_PARAMETERS, ENV, FILE_SYSTEMS,
    GROUP, GROUP_SHADOW, GROUPS, HOST, HOSTS, LOCALE, LOGIN, LOGINS, LONG_DIGITS, MAIL, MASK, MOUNTS,
    MULTIBYTE, NAMES, NETGROUPS, NETWORKS, PASSWORDS, PRIORITY, PROTOCOLS, SCHEDULING, SERVICES, SHADOW,
    SHELLS, STRERROR, STRSIGNAL, STRTOK, SYSLOG, TERMINALS, TEXT_DOMAIN, TMPNAM, TTYNAME, USERS,
};
use super::paths::Lookup;
use super::restored::lasting;
use super::streams::HERE;
use super::{Front, Row, Stub, Words, fronts, incoming, rows};
use crate::real::real;
use crate::shim::Call;
use std::ffi::{CStr, c_char, c_int, c_long};

const TM: usize = 56;
/// `WRDE_APPEND` of `wordexp`.
const WRDE_APPEND: i32 = 2;
const TIME: usize = 16;
const STAT: usize = 144;
const SIGSET: usize = 128;
/// The bytes of `struct utmp`.
const UT: usize = 384;

unsafe extern "C" {
    static mut signgam: c_int;
    static mut environ: *mut *mut c_char;
    static mut timezone: c_long;
    static mut daylight: c_int;
    static mut tzname: [*mut c_char; 2];
    static mut getdate_err: c_int;
    fn strerrordesc_np(code: c_int) -> *const c_char;
    fn strspn(s: *const c_char, of: *const c_char) -> usize;
    fn strcspn(s: *const c_char, of: *const c_char) -> usize;
    fn strcasestr(s: *const c_char, of: *const c_char) -> *const c_char;
    fn towlower(c: u32) -> u32;
}

pub(super) fn all_rows() -> impl Iterator<Item = &'static Row> {
    [MEMORY, WIDE, NUMBERS, FILES, DESCRIPTORS, SORTING, TIME_ROWS, SYSTEM, OTHER, CONVERTING, SPLITTING]
        .into_iter()
        .flatten()
}

pub(super) fn all_fronts() -> impl Iterator<Item = &'static Front> {
    [STRING_FRONTS, LOCALE_FRONTS, NUMBER_FRONTS, TIME_FRONTS, SYSTEM_FRONTS, THREAD_FRONTS, STATE_FRONTS]
        .into_iter()
        .flatten()
}

/// The bytes up to one that is `c`, with it, and at most `n`.
fn until(p: usize, c: usize, n: usize) -> usize {
    // SAFETY: the program hands in at least so many bytes.
    let found = unsafe { libc::memchr(p as *const _, c as c_int, n) } as usize;
    if found == 0 { n } else { found - p + 1 }
}

/// Bytes between two addresses, with the last one; `n` for no address.
fn up_to(start: usize, last: usize, n: usize) -> usize {
    if last == 0 { n } else { last - start + 1 }
}

/// What `gmtime`, `localtime` and `ctime` write.
const DATE: &str = "the result of `localtime` and `gmtime`";
/// What `asctime` and `ctime` write.
const TEXT: &str = "the result of `asctime` and `ctime`";

/// Where the C library has the result of `localtime`. A call of `ctime`, which overwrites it, is about to run.
fn date() -> usize {
    // SAFETY: the time is ours.
    unsafe { libc::gmtime(&0) as usize }
}

/// The C library sets the variables of the time zone, under its lock.
fn time_zone() -> Access {
    for variable in [(&raw const timezone as usize, 8), (&raw const daylight as usize, 4)] {
        before(changes_variable(variable.0, variable.1), Call::unknown());
    }
    zone_names()
}

/// It sets only the names of the time zone.
fn zone_names() -> Access {
    changes_variable(&raw const tzname as usize, 16)
}

/// Whether a format of `strftime` has a conversion that sets the time zone.
fn names_zone(format: usize) -> bool {
    // SAFETY: the program hands in a string.
    format != 0
        && unsafe { CStr::from_ptr(format as *const c_char) }
            .to_bytes()
            .windows(2)
            .any(|w| w[0] == b'%' && b"Zs".contains(&w[1]))
}

/// The library looks for a variable in the environment, which the program can see and change.
fn environment(name: usize) -> Access {
    if name != 0 {
        // SAFETY: the program hands in a string.
        has_variable(unsafe { CStr::from_ptr(name as *const c_char) }.to_bytes(), Call::unknown());
    }
    Access::Nothing
}

/// Looks for a variable in the environment, and says whether it is there.
pub(super) fn has_variable(name: &[u8], call: Call) -> bool {
    let list = &raw const environ as usize;
    before(look(&ENV), call);
    before(r(list, 8), call);
    find_variable(name, call).is_some()
}

/// The slot of a variable in the list of the environment. The library compares the names one after the other, where the texts are:
/// `putenv` leaves them in the memory of the program.
fn find_variable(name: &[u8], call: Call) -> Option<usize> {
    let start = environ_now();
    let slots = (0..).map(|i| start + i * 8).take_while(|slot| start != 0 && at(*slot) != 0);
    let mut found = None;
    let mut seen = 0;
    for slot in slots {
        seen += 1;
        let text = at(slot);
        // SAFETY: the environment is a list of strings.
        let bytes = unsafe { CStr::from_ptr(text as *const c_char) }.to_bytes();
        let same = bytes.iter().zip(name).take_while(|(a, b)| a == b).count();
        before(r(text, same + 1), call);
        if same == name.len() && bytes.get(same) == Some(&b'=') {
            found = Some(slot);
            break;
        }
    }
    // The null at the end was read by a search that has found nothing.
    before(r(start, (seen + usize::from(start != 0 && found.is_none())) * 8), call);
    found
}

fn environ_now() -> usize {
    // SAFETY: a variable of the C library.
    unsafe { environ as usize }
}

/// The library looks for a variable of the environment and reads its value.
fn asks_for(name: &'static [u8]) -> Access {
    let call = Call::unknown();
    before(look(&ENV), call);
    before(r(&raw const environ as usize, 8), call);
    find_variable(name, call).map_or(Access::Nothing, |slot| s(at(slot)))
}

/// A locale without a name is the one that variables of the environment name.
fn locale_variables(name: usize) -> Access {
    // SAFETY: the program hands in a string.
    if name != 0 && unsafe { *(name as *const u8) } == 0 {
        for variable in [
            &b"LC_ALL"[..],
            b"LC_CTYPE",
            b"LC_NUMERIC",
            b"LC_TIME",
            b"LC_COLLATE",
            b"LC_MONETARY",
            b"LC_MESSAGES",
            b"LANG",
        ] {
            before(asks_for(variable), Call::unknown());
        }
    }
    Access::Nothing
}

/// The library reads the variable of the time zone.
fn zone_variable() -> Access {
    asks_for(b"TZ")
}

/// Whether `strerror` and `strsignal` have a buffer for all threads. Since version 2.32 of the C library each thread has its own.
fn has_one_buffer() -> bool {
    // SAFETY: the version is a string.
    let version = unsafe { CStr::from_ptr(libc::gnu_get_libc_version()) }.to_string_lossy();
    let minor = version.split('.').nth(1).and_then(|n| n.parse::<u32>().ok());
    minor.is_some_and(|n| n < 32)
}

/// The bytes of an array that a search for another one needs: up to the end of the match, or all of it.
fn searched(a: usize, n: usize, b: usize, size: usize) -> usize {
    // SAFETY: the program hands in two arrays of these sizes.
    let found = unsafe { libc::memmem(a as *const _, n, b as *const _, size) } as usize;
    if found == 0 { n } else { found - a + size }
}

/// The same for `strcasestr`.
fn searched_alike(a: usize, b: usize) -> usize {
    // SAFETY: the program hands in two strings.
    let found = unsafe { strcasestr(a as *const _, b as *const _) } as usize;
    if found == 0 { length(a) } else { found - a + length(b) - 1 }
}

/// The bytes of each of two wide strings that a comparison looks at.
fn wide(a: usize, b: usize, n: usize) -> usize {
    wide_compared(a, b, n, true, |x, y| x == y)
}

/// The same, where upper and lower case are alike.
fn wide_alike(a: usize, b: usize, n: usize) -> usize {
    // SAFETY: `towlower` takes any number.
    wide_compared(a, b, n, true, |x, y| x == y || unsafe { towlower(x) == towlower(y) })
}

rows! { MEMORY:
    memccpy(to, from, c, n) pure [r(from, until(from, c, n)), w(to, until(from, c, n))] -> _x [];
    rawmemchr(p, c) pure [] -> found [r(p, up_to(p, found, 0))];
    strchrnul(p, c) pure [s_until(p, c)] -> _x [];
    stpncpy(to, from, n) pure [sn(from, n), w(to, n)] -> _x [];
    strlcpy(to, from, n) pure [s(from), w(to, n.min(length(from)))] -> _x [];
    strlcat(to, from, n) pure [s(from), sn(to, n), k(to, n)] -> size [w(to, n.min(size + 1))];
    strxfrm(to, from, n) pure [look(&LOCALE), s(from), k(to, n)] -> size [w(to, n.min(size + 1))];
    strxfrm_l(to, from, n, l) pure [locale(l), s(from), k(to, n)] -> size [w(to, n.min(size + 1))];
    swab(from, to, n) pure [r(from, n & !1), w(to, n & !1)] -> _x [];
    basename(p) pure [s(p)] -> _x [];
    __xpg_basename(p) pure [s(p), k(p, length(p))] -> _x [w(p, length(p))];
    dirname(p) pure [s(p), k(p, length(p))] -> _x [w(p, length(p))];
}

fronts! { STRING_FRONTS:
    memmem(a, an, b, bn) pure [r(a, searched(a, an, b, bn)), r(b, bn)];
    explicit_bzero(p, n) pure [w(p, n)];
    strcoll(a, b) pure [look(&LOCALE), s(a), s(b)];
    strcoll_l(a, b, l) pure [locale(l), s(a), s(b)];
    strverscmp(a, b) pure [s(a), s(b)];
    strcasestr(a, b) pure [r(a, searched_alike(a, b)), s(b)];
    index(a, c) pure [s_until(a, c)];
    rindex(a, c) pure [s(a)];
    strcasecmp_l(a, b, l) pure [locale(l), s(a), s(b)];
    strncasecmp_l(a, b, n, l) pure [locale(l), sn(a, n), sn(b, n)];
    __memcpy_chk(to, from, n) pure [r(from, n), w(to, n)];
    __memmove_chk(to, from, n) pure [r(from, n), w(to, n)];
    __memset_chk(to, c, n) pure [w(to, n)];
    __strcpy_chk(to, from) pure [s(from), w(to, length(from))];
    __strncpy_chk(to, from, n) pure [sn(from, n), w(to, n)];
    __strcat_chk(to, from) pure [s(to), s(from), w(to + length(to) - 1, length(from))];
    insque(e, before) pure [w(e, 16), w(before, 8)];
    memfrob(p, n) pure [r(p, n), w(p, n)];
    strfry(p) impure [s(p), w(p, length(p) - 1), from_outside("strfry")];
    wcscasecmp_l(a, b, l) pure [locale(l), r(a, wide_alike(a, b, usize::MAX)), r(b, wide_alike(a, b, usize::MAX))];
    wcsncasecmp_l(a, b, n, l) pure [locale(l), r(a, wide_alike(a, b, n)), r(b, wide_alike(a, b, n))];
    wcswidth(p, n) pure [wsn(p, n)];
    mbsinit(p) pure [r(p, 8)];
    wctype(name) pure [look(&LOCALE), s(name)];
    wctrans(name) pure [look(&LOCALE), s(name)];
    remque(e) pure [r(e, 16), w(at(e), 16), w(at(e + 8), 16)];
}

/// The hook of a function whose result depends on the locale, in programs that set it. Functions that always look at it have that in
/// their rows.
pub(super) fn reads_locale(name: &str) -> Option<fn(&Stub, &Words)> {
    const NAMES: &[&str] = &[
        "strtod",
        "strtof",
        "strtold",
        "atof",
        "strftime",
        "wcsftime",
        "wcstod",
        // The macros of `tolower` and `toupper` read the tables of the locale.
        "__ctype_tolower_loc",
        "__ctype_toupper_loc",
        "isalpha",
        "isalnum",
        "isupper",
        "islower",
        "ispunct",
        "isspace",
        "isprint",
        "isgraph",
        "iscntrl",
        "isblank",
        "toupper",
        "tolower",
        "iswalpha",
        "iswalnum",
        "iswupper",
        "iswlower",
        "iswpunct",
        "iswspace",
        "towupper",
        "towlower",
        "strcasecmp",
        "strncasecmp",
        "nl_langinfo",
    ];
    if NAMES.contains(&name) {
        return Some(|_, _| before(look(&LOCALE), Call::unknown()));
    }
    Some(match name {
        "printf" | "vprintf" | "scanf" => |_, a| formats(a[0]),
        "sprintf" | "vsprintf" | "fprintf" | "vfprintf" | "dprintf" | "sscanf" | "fscanf" | "asprintf"
        | "vasprintf" => |_, a| formats(a[1]),
        "snprintf" | "vsnprintf" => |_, a| formats(a[2]),
        "__ctype_b_loc" => |_, _| classifies(),
        _ => return None,
    })
}

/// A macro such as `isalpha` reads the table of the locale. What is a digit does not depend on the locale: behind the call the program has a
/// mask for the class.
fn classifies() {
    const DIGIT: u32 = 0x0800;
    const HEXADECIMAL_DIGIT: u32 = 0x1000;
    const WINDOW: usize = 256;
    let site = crate::shim::return_address();
    // SAFETY: code of the program, behind a call. Behind the code of a module there is more of it.
    let code = unsafe { std::slice::from_raw_parts(site as *const u8, WINDOW) };
    // and eax, imm32
    let masks =
        code.windows(5).filter(|w| w[0] == 0x25).map(|w| u32::from_le_bytes([w[1], w[2], w[3], w[4]]));
    let mask = masks.into_iter().find(|m| m.is_power_of_two() && *m <= 0x8000);
    if !matches!(mask, Some(DIGIT | HEXADECIMAL_DIGIT)) {
        before(look(&LOCALE), Call::unknown());
    }
}

/// Looks at the locale if a format has a conversion of a floating-point number, which has a decimal point.
fn formats(format: usize) {
    if format == 0 {
        return;
    }
    // SAFETY: the program hands in a string.
    let text = unsafe { CStr::from_ptr(format as *const _) }.to_bytes();
    let mut rest = text.iter();
    while rest.by_ref().any(|b| *b == b'%') {
        let kind = rest.by_ref().find(|b| !b"-+ #0123456789.*$'IhlLqjzt".contains(b));
        if kind.is_some_and(|k| b"aefgAEFG".contains(k)) {
            return before(look(&LOCALE), Call::unknown());
        }
    }
}

fronts! { LOCALE_FRONTS:
    isalnum_l(c, l) pure [locale(l)];
    isalpha_l(c, l) pure [locale(l)];
    isblank_l(c, l) pure [locale(l)];
    iscntrl_l(c, l) pure [locale(l)];
    isdigit_l(c, l) pure [locale(l)];
    isgraph_l(c, l) pure [locale(l)];
    islower_l(c, l) pure [locale(l)];
    isprint_l(c, l) pure [locale(l)];
    ispunct_l(c, l) pure [locale(l)];
    isspace_l(c, l) pure [locale(l)];
    isupper_l(c, l) pure [locale(l)];
    isxdigit_l(c, l) pure [locale(l)];
    toupper_l(c, l) pure [locale(l)];
    tolower_l(c, l) pure [locale(l)];
    towupper_l(c, l) pure [locale(l)];
    towlower_l(c, l) pure [locale(l)];
    iswalnum_l(c, l) pure [locale(l)];
    iswalpha_l(c, l) pure [locale(l)];
    iswblank_l(c, l) pure [locale(l)];
    iswcntrl_l(c, l) pure [locale(l)];
    iswdigit_l(c, l) pure [locale(l)];
    iswgraph_l(c, l) pure [locale(l)];
    iswlower_l(c, l) pure [locale(l)];
    iswprint_l(c, l) pure [locale(l)];
    iswpunct_l(c, l) pure [locale(l)];
    iswspace_l(c, l) pure [locale(l)];
    iswupper_l(c, l) pure [locale(l)];
    iswxdigit_l(c, l) pure [locale(l)];
    iswctype_l(c, d, l) pure [locale(l)];
    nl_langinfo_l(item, l) pure [locale(l)];
    strerror_l(n, l) pure [locale(l)];
    wctype_l(name, l) pure [locale(l), s(name)];
    wcscoll_l(a, b, l) pure [locale(l), ws(a), ws(b)];
    uselocale(l) impure [locale(l), super::handles::own_locale(l)];
}

rows! { WIDE:
    wcscpy(to, from) pure [ws(from), w(to, wide_length(from, usize::MAX))] -> _x [];
    wcpcpy(to, from) pure [ws(from), w(to, wide_length(from, usize::MAX))] -> _x [];
    wcsncpy(to, from, n) pure [wsn(from, n), w(to, n * 4)] -> _x [];
    wcpncpy(to, from, n) pure [wsn(from, n), w(to, n * 4)] -> _x [];
    wcscat(to, from) pure [ws(to), ws(from),
        w(to + wide_length(to, usize::MAX) - 4, wide_length(from, usize::MAX))] -> _x [];
    wcsncat(to, from, n) pure [ws(to), wsn(from, n),
        w(to + wide_length(to, usize::MAX) - 4, wide_length(from, n))] -> _x [];
    wcslen(p) pure [ws(p)] -> _x [];
    wcsnlen(p, n) pure [wsn(p, n)] -> _x [];
    wcscmp(a, b) pure [r(a, wide(a, b, usize::MAX)), r(b, wide(a, b, usize::MAX))] -> _x [];
    wcsncmp(a, b, n) pure [r(a, wide(a, b, n)), r(b, wide(a, b, n))] -> _x [];
    wcscasecmp(a, b) pure [r(a, wide_alike(a, b, usize::MAX)), r(b, wide_alike(a, b, usize::MAX))] -> _x [];
    wcsncasecmp(a, b, n) pure [r(a, wide_alike(a, b, n)), r(b, wide_alike(a, b, n))] -> _x [];
    wcscoll(a, b) pure [look(&LOCALE), ws(a), ws(b)] -> _x [];
    wcschr(p, c) pure [r(p, wide_until(p, usize::MAX, |x| x == 0 || x == c as u32))] -> _x [];
    wcsrchr(p, c) pure [ws(p)] -> _x [];
    wcschrnul(p, c) pure [r(p, wide_until(p, usize::MAX, |x| x == 0 || x == c as u32))] -> _x [];
    wcsstr(a, b) pure [ws(b)]
        -> found [if found == 0 { ws(a) } else { r(a, found - a + wide_length(b, usize::MAX) - 4) }];
    wcsspn(a, b) pure [r(a, wide_until(a, usize::MAX, |x| x == 0 || !wide_has(b, x))), ws(b)] -> _x [];
    wcscspn(a, b) pure [r(a, wide_until(a, usize::MAX, |x| x == 0 || wide_has(b, x))), ws(b)] -> _x [];
    wcspbrk(a, b) pure [r(a, wide_until(a, usize::MAX, |x| x == 0 || wide_has(b, x))), ws(b)] -> _x [];
    wcsxfrm(to, from, n) pure [look(&LOCALE), ws(from), k(to, n * 4)] -> size [w(to, n.min(size + 1) * 4)];
    wcsdup(p) impure [ws(p)] -> new [handed_over(new, wide_length(new, usize::MAX))];
    wcstok(p, of, save) impure [ws(of), when(p != 0, || ws(p)), when(p == 0, || r(save, 8)),
        when(p == 0, || ws(at(save))), k(save, 8),
        k(if p == 0 { at(save) } else { p }, wide_length(if p == 0 { at(save) } else { p }, usize::MAX))]
        -> found [w(save, 8), when(found != 0, || w(found, wide_length(found, usize::MAX)))];
    wmemcpy(to, from, n) pure [r(from, n * 4), w(to, n * 4)] -> _x [];
    wmemmove(to, from, n) pure [r(from, n * 4), w(to, n * 4)] -> _x [];
    wmempcpy(to, from, n) pure [r(from, n * 4), w(to, n * 4)] -> _x [];
    wmemset(to, c, n) pure [w(to, n * 4)] -> _x [];
    wmemcmp(a, b, n) pure [r(a, wide_compared(a, b, n, false, |x, y| x == y)),
        r(b, wide_compared(a, b, n, false, |x, y| x == y))] -> _x [];
    wmemchr(p, c, n) pure [r(p, wide_until(p, n, |x| x == c as u32))] -> _x [];
    wcstombs(to, from, n) pure [look(&LOCALE), ws(from), k(to, n)] -> size [when(to != 0, || w(to, n.min(count(size) + 1)))];
    mbstowcs(to, from, n) pure [look(&LOCALE), s(from), k(to, n * 4)]
        -> size [when(to != 0, || w(to, n.min(count(size) + 1) * 4))];
    wcsrtombs(to, from, n, state) impure [look(&LOCALE), r(from, 8), ws(at(from)), k(to, n), k(from, 8), r(state, 8), k(state, 8)]
        -> size [when(to != 0, || w(to, n.min(count(size) + 1))), when(to != 0, || w(from, 8)), w(state, 8)];
    mbsrtowcs(to, from, n, state) impure [look(&LOCALE), r(from, 8), s(at(from)), k(to, n * 4), k(from, 8), r(state, 8), k(state, 8)]
        -> size [when(to != 0, || w(to, n.min(count(size) + 1) * 4)), when(to != 0, || w(from, 8)), w(state, 8)];
    wcsnrtombs(to, from, nw, n, state) impure [look(&LOCALE), r(from, 8), wsn(at(from), nw), k(to, n), r(state, 8), k(state, 8)]
        -> size [when(to != 0, || w(to, n.min(count(size) + 1))), when(to != 0, || w(from, 8)), w(state, 8)];
    mbsnrtowcs(to, from, nb, n, state) impure [look(&LOCALE), r(from, 8), sn(at(from), nb), k(to, n * 4), r(state, 8), k(state, 8)]
        -> size [when(to != 0, || w(to, n.min(count(size) + 1) * 4)), when(to != 0, || w(from, 8)), w(state, 8)];
    wcrtomb(to, c, state) impure [look(&LOCALE), k(to, 16), r(state, 8), k(state, 8)] -> size [w(to, count(size)), w(state, 8),
        when(state == 0, || change(&MULTIBYTE))];
    mbrtowc(to, from, n, state) impure [look(&LOCALE), k(to, 4), r(state, 8), k(state, 8)]
        -> size [r(from, count(size).min(n).max(1)), w(to, 4), w(state, 8), when(state == 0, || change(&MULTIBYTE))];
    mbrlen(from, n, state) impure [look(&LOCALE), r(state, 8), k(state, 8)]
        -> size [r(from, count(size).min(n).max(1)), w(state, 8), when(state == 0, || change(&MULTIBYTE))];
    mbrtoc16(to, from, n, state) impure [look(&LOCALE), k(to, 2), r(state, 8), k(state, 8)]
        -> size [r(from, count(size).min(n).max(1)), w(to, 2), w(state, 8), when(state == 0, || change(&MULTIBYTE))];
    mbrtoc32(to, from, n, state) impure [look(&LOCALE), k(to, 4), r(state, 8), k(state, 8)]
        -> size [r(from, count(size).min(n).max(1)), w(to, 4), w(state, 8), when(state == 0, || change(&MULTIBYTE))];
    c16rtomb(to, c, state) impure [look(&LOCALE), k(to, 16), r(state, 8), k(state, 8)] -> size [w(to, count(size)), w(state, 8),
        when(state == 0, || change(&MULTIBYTE))];
    c32rtomb(to, c, state) impure [look(&LOCALE), k(to, 16), r(state, 8), k(state, 8)] -> size [w(to, count(size)), w(state, 8),
        when(state == 0, || change(&MULTIBYTE))];
    mbtowc(to, from, n) impure [look(&LOCALE), k(to, 4)] -> size [when(from != 0, || r(from, count(size as i32 as usize).max(1))),
        w(to, 4), change(&MULTIBYTE)];
    wctomb(to, c) impure [look(&LOCALE), k(to, 16)] -> size [w(to, count(size as i32 as usize)), change(&MULTIBYTE)];
    mblen(from, n) impure [look(&LOCALE)] -> size [when(from != 0, || r(from, count(size as i32 as usize).max(1))),
        change(&MULTIBYTE)];
}

rows! { NUMBERS:
    strtoimax(p, end, base) pure [integer(p, base), w(end, 8)] -> _x [];
    strtoumax(p, end, base) pure [integer(p, base), w(end, 8)] -> _x [];
    strtoq(p, end, base) pure [integer(p, base), w(end, 8)] -> _x [];
    strtouq(p, end, base) pure [integer(p, base), w(end, 8)] -> _x [];
    __isoc23_strtol(p, end, base) pure [integer(p, base), w(end, 8)] -> _x [];
    __isoc23_strtoul(p, end, base) pure [integer(p, base), w(end, 8)] -> _x [];
    __isoc23_strtoll(p, end, base) pure [integer(p, base), w(end, 8)] -> _x [];
    __isoc23_strtoull(p, end, base) pure [integer(p, base), w(end, 8)] -> _x [];
    wcstol(p, end, base) pure [ws(p), w(end, 8)] -> _x [];
    wcstoul(p, end, base) pure [ws(p), w(end, 8)] -> _x [];
    wcstoll(p, end, base) pure [ws(p), w(end, 8)] -> _x [];
    wcstoull(p, end, base) pure [ws(p), w(end, 8)] -> _x [];
    a64l(p) pure [s(p)] -> _x [];
    l64a(n) impure [] -> _x [change(&BASE64)];
    crypt(key, salt) impure [s(key), s(salt)] -> _x [change(&CRYPT)];
    inet_addr(p) pure [s(p)] -> _x [];
    inet_aton(p, out) pure [s(p), k(out, 4)] -> done [when(done as i32 != 0, || w(out, 4))];
    inet_pton(family, p, out) pure [s(p), k(out, 16)]
        -> done [when(done as i32 == 1, || w(out, if family as i32 == libc::AF_INET { 4 } else { 16 }))];
    inet_ntop(family, from, out, n) pure [r(from, if family as i32 == libc::AF_INET { 4 } else { 16 }), k(out, n as u32 as usize)]
        -> done [when(done != 0, || w(out, length(out)))];
    inet_ntoa(a) impure [] -> out [named(out, length(out), "the result of `inet_ntoa`")];
}

fronts! { NUMBER_FRONTS:
    atof(p) pure [float(p)];
    strtof(p, end) pure [float(p), w(end, 8)];
    strtold(p, end) pure [float(p), w(end, 8)];
    strtod_l(p, end, l) pure [locale(l), float(p), w(end, 8)];
    strtof_l(p, end, l) pure [locale(l), float(p), w(end, 8)];
    strtold_l(p, end, l) pure [locale(l), float(p), w(end, 8)];
    wcstod(p, end) pure [ws(p), w(end, 8)];
    wcstof(p, end) pure [ws(p), w(end, 8)];
    wcstold(p, end) pure [ws(p), w(end, 8)];
    frexp(out) pure [w(out, 4)];
    frexpf(out) pure [w(out, 4)];
    frexpl(out) pure [w(out, 4)];
    modf(out) pure [w(out, 8)];
    modff(out) pure [w(out, 4)];
    modfl(out) pure [w(out, 16)];
    remquo(out) pure [w(out, 4)];
    remquof(out) pure [w(out, 4)];
    remquol(out) pure [w(out, 4)];
    sincos(a, b) pure [w(a, 8), w(b, 8)];
    sincosf(a, b) pure [w(a, 4), w(b, 4)];
    sincosl(a, b) pure [w(a, 16), w(b, 16)];
    lgamma_r(out) pure [w(out, 4)];
    lgammaf_r(out) pure [w(out, 4)];
    lgamma() impure [w(&raw const signgam as usize, 4)];
    lgammaf() impure [w(&raw const signgam as usize, 4)];
    gamma() impure [w(&raw const signgam as usize, 4)];
    nan(p) pure [s(p)];
    ecvt(x, d, e) impure [w(d, 4), w(e, 4), change(&DIGITS)];
    fcvt(x, d, e) impure [w(d, 4), w(e, 4), change(&DIGITS)];
    gcvt(digits, out) pure [w(out, 2)];
    qecvt(n, d, e) impure [w(d, 4), w(e, 4), change(&LONG_DIGITS)];
    qfcvt(n, d, e) impure [w(d, 4), w(e, 4), change(&LONG_DIGITS)];
    qgcvt(digits, out) pure [w(out, 2)];
    ecvt_r(n, d, e, out, size) pure [w(d, 4), w(e, 4), w(out, size.min(1))];
    fcvt_r(n, d, e, out, size) pure [w(d, 4), w(e, 4), w(out, size.min(1))];
    qecvt_r(n, d, e, out, size) pure [w(d, 4), w(e, 4), w(out, size.min(1))];
    qfcvt_r(n, d, e, out, size) pure [w(d, 4), w(e, 4), w(out, size.min(1))];
    strfromd(out, n, format) pure [s(format), w(out, n.min(1))];
    strfromf(out, n, format) pure [s(format), w(out, n.min(1))];
    strfroml(out, n, format) pure [s(format), w(out, n.min(1))];
    strtol_l(p, end, base, l) pure [locale(l), integer(p, base), w(end, 8)];
    strtoul_l(p, end, base, l) pure [locale(l), integer(p, base), w(end, 8)];
    strtoll_l(p, end, base, l) pure [locale(l), integer(p, base), w(end, 8)];
    strtoull_l(p, end, base, l) pure [locale(l), integer(p, base), w(end, 8)];
    wcstoimax(p, end) pure [ws(p), w(end, 8)];
    wcstoumax(p, end) pure [ws(p), w(end, 8)];
    wcstod_l(p, end, l) pure [locale(l), ws(p), w(end, 8)];
    wcstof_l(p, end, l) pure [locale(l), ws(p), w(end, 8)];
    wcstold_l(p, end, l) pure [locale(l), ws(p), w(end, 8)];
    wcstol_l(p, end, base, l) pure [locale(l), ws(p), w(end, 8)];
    wcstoul_l(p, end, base, l) pure [locale(l), ws(p), w(end, 8)];
    wcstoll_l(p, end, base, l) pure [locale(l), ws(p), w(end, 8)];
    wcstoull_l(p, end, base, l) pure [locale(l), ws(p), w(end, 8)];
    lgammal() impure [w(&raw const signgam as usize, 4)];
    gammaf() impure [w(&raw const signgam as usize, 4)];
    gammal() impure [w(&raw const signgam as usize, 4)];
    lgammal_r(out) pure [w(out, 4)];
    nanf(p) pure [s(p)];
    nanl(p) pure [s(p)];
    canonicalize(out, from) pure [r(from, 8), w(out, 8)];
    canonicalizef(out, from) pure [r(from, 4), w(out, 4)];
    canonicalizel(out, from) pure [r(from, 16), w(out, 16)];
    getpayload(p) pure [r(p, 8)];
    getpayloadf(p) pure [r(p, 4)];
    getpayloadl(p) pure [r(p, 16)];
    setpayload(p) pure [w(p, 8)];
    setpayloadf(p) pure [w(p, 4)];
    setpayloadl(p) pure [w(p, 16)];
    setpayloadsig(p) pure [w(p, 8)];
    setpayloadsigf(p) pure [w(p, 4)];
    setpayloadsigl(p) pure [w(p, 16)];
    totalorder(a, b) pure [r(a, 8), r(b, 8)];
    totalorderf(a, b) pure [r(a, 4), r(b, 4)];
    totalorderl(a, b) pure [r(a, 16), r(b, 16)];
    totalordermag(a, b) pure [r(a, 8), r(b, 8)];
    totalordermagf(a, b) pure [r(a, 4), r(b, 4)];
    totalordermagl(a, b) pure [r(a, 16), r(b, 16)];
}

rows! { FILES:
    stat(name, out) impure [s(name), path(told(name)), k(out, STAT)] -> done [when(ok(done), || w(out, STAT))];
    stat64(name, out) impure [s(name), path(told(name)), k(out, STAT)] -> done [when(ok(done), || w(out, STAT))];
    lstat(name, out) impure [s(name), path(told(name).follows(false)), k(out, STAT)] -> done [when(ok(done), || w(out, STAT))];
    lstat64(name, out) impure [s(name), path(told(name).follows(false)), k(out, STAT)] -> done [when(ok(done), || w(out, STAT))];
    fstatat(at, name, out, flags) impure [by_descriptor(at, name, flags, "fstatat"), s(name), path(told(name).at(at).follows(follows(flags))), k(out, STAT)] -> done [when(ok(done), || w(out, STAT))];
    fstatat64(at, name, out, flags) impure [by_descriptor(at, name, flags, "fstatat"), s(name), path(told(name).at(at).follows(follows(flags))), k(out, STAT)] -> done [when(ok(done), || w(out, STAT))];
    __xstat(v, name, out) impure [s(name), path(told(name)), k(out, STAT)] -> done [when(ok(done), || w(out, STAT))];
    __lxstat(v, name, out) impure [s(name), path(told(name).follows(false)), k(out, STAT)] -> done [when(ok(done), || w(out, STAT))];
    statx(at, name, flags, mask, out) impure [by_descriptor(at, name, flags, "statx"), s(name), path(told(name).at(at).follows(follows(flags))), k(out, 256)] -> done [when(ok(done), || w(out, 256))];
    statfs(name, out) impure [s(name), path(Lookup::look(name)), k(out, 120)] -> done [when(ok(done), || w(out, 120))];
    fstatfs(fd, out) impure [unmodelled(fd, "fstatfs"), k(out, 120)] -> done [when(ok(done), || w(out, 120))];
    statvfs(name, out) impure [s(name), path(Lookup::look(name)), k(out, 112)] -> done [when(ok(done), || w(out, 112))];
    fstatvfs(fd, out) impure [unmodelled(fd, "fstatvfs"), k(out, 112)] -> done [when(ok(done), || w(out, 112))];
    readlink(name, out, n) impure [s(name), path(Lookup::look(name).follows(false)), k(out, n)] -> got [w(out, count(got))];
    readlinkat(at, name, out, n) impure [s(name), path(Lookup::look(name).at(at).follows(false)), k(out, n)] -> got [w(out, count(got))];
    realpath(name, out) impure [s(name), path(Lookup::look(name)), k(out, 4096)]
        -> got [if out == 0 { handed_over(got, length(got)) } else { w(got, length(got)) }];
    canonicalize_file_name(name) impure [s(name), path(Lookup::look(name))] -> got [handed_over(got, length(got))];
    getcwd(out, n) impure [k(out, n), ask(&DIRECTORY)]
        -> got [if out == 0 { handed_over(got, n.max(length(got))) } else { w(got, length(got)) }];
    getwd(out) impure [k(out, 4096), ask(&DIRECTORY)] -> got [when(got != 0, || w(got, length(got)))];
    get_current_dir_name() impure [ask(&DIRECTORY)] -> got [handed_over(got, length(got))];
    tempnam(directory, prefix) impure [asks_for(b"TMPDIR"), s(directory), s(prefix)] -> got [handed_over(got, length(got))];
    scandir(name, list, select, order) impure [s(name), path(Lookup::look(name).lists()), k(list, 8)]
        -> got [when(ok(got), || w(list, 8)), entries(list, got)];
    scandir64(name, list, select, order) impure [s(name), path(Lookup::look(name).lists()), k(list, 8)]
        -> got [when(ok(got), || w(list, 8)), entries(list, got)];
    backtrace_symbols(list, n) impure [r(list, n as u32 as usize * 8)] -> got [symbols(got, n as u32 as usize)];
    getxattr(file, name, out, n) impure [s(file), s(name), path(Lookup::look(file)), k(out, n)] -> got [when(n > 0, || w(out, count(got)))];
    lgetxattr(file, name, out, n) impure [s(file), s(name), path(Lookup::look(file)), k(out, n)] -> got [when(n > 0, || w(out, count(got)))];
    fgetxattr(f, name, out, n) impure [unmodelled(f, "fgetxattr"), s(name), attributes(f, Use::Look), k(out, n)] -> got [when(n > 0, || w(out, count(got)))];
    listxattr(file, out, n) impure [s(file), path(Lookup::look(file)), k(out, n)] -> got [when(n > 0, || w(out, count(got)))];
    readdir(d) impure [Access::Stream(d, Use::Change), super::streams::listed(d), overwritten(d)] -> got [given(d, got)];
    readdir64(d) impure [Access::Stream(d, Use::Change), super::streams::listed(d), overwritten(d)] -> got [given(d, got)];
    readdir_r(d, e, out) impure [Access::Stream(d, Use::Change), super::streams::listed(d), k(e, 280), k(out, 8)] -> _x [w(out, 8), when(at(out) != 0, || w(e, 19 + length(e + 19)))];
    ttyname(fd) impure [] -> _x [change(&TTYNAME)];
    ttyname_r(fd, out, n) impure [k(out, n)] -> done [when(done as i32 == 0, || w(out, length(out)))];
    ctermid(out) impure [k(out, 16)] -> got [when(out != 0, || w(out, length(got)))];
    tmpnam(out) impure [when(out == 0, || change(&TMPNAM)), k(out, 20)] -> got [when(out != 0, || w(got, length(got)))];
    glob(pattern, flags, f, out) impure [s(pattern), w(out, 72), appended(out, flags as i32 & libc::GLOB_APPEND != 0)]
        -> _x [w(out, 72), words(out, has_offset(out))];
    fnmatch(a, b, flags) pure [s(a), s(b)] -> _x [];
    wordexp(text, out, flags) impure [s(text), w(out, 24), appended(out, flags as i32 & WRDE_APPEND != 0)]
        -> done [w(out, 24), when(done as i32 == 0, || words(out, true))];
    iconv_open(to, from) impure [s(to), s(from)] -> cd [new_conversion(cd)];
    newlocale(mask, name, of) impure [s(name), locale_variables(name), base(of)] -> l [new_locale(l)];
    duplocale(l) impure [locale(l)] -> new [new_locale(new)];
    regcomp(regex, pattern, flags) impure [s(pattern), w(regex, 64)] -> _x [w(regex, 64)];
    regexec(regex, p, n, out, flags) pure [r(regex, 64), s(p), k(out, n * 8)] -> done [when(done as i32 == 0, || w(out, n * 8))];
    regfree(regex) impure [w(regex, 64)] -> _x [];
    regerror(code, regex, out, n) pure [r(regex, 64), k(out, n)] -> size [w(out, n.min(size))];
    getgroups(n, out) impure [k(out, n as u32 as usize * 4)] -> got [when(n as u32 > 0, || w(out, count(got as i32 as usize) * 4))];
}

/// A path that is empty stands for the descriptor, which may be one that is modelled.
fn by_descriptor(fd: usize, name: usize, flags: usize, function: &str) -> Access {
    // SAFETY: the program hands in a string.
    let is_empty = name == 0 || unsafe { *(name as *const u8) } == 0;
    when(is_empty && flags as c_int & libc::AT_EMPTY_PATH != 0, || unmodelled(fd, function))
}

extern "C" fn file_status(f: usize, out: usize) -> c_int {
    let call = incoming(false);
    if let Some(call) = call {
        super::keeping_errno(|| before(fd(f), call));
        if let Some(about) = crate::pipes::status(f as c_int, call) {
            super::keeping_errno(|| before(w(out, STAT), call));
            // SAFETY: the program hands in a place.
            unsafe { (out as *mut libc::stat).write(about) };
            return 0;
        }
        super::keeping_errno(|| [status(f), k(out, STAT)].into_iter().for_each(|a| before(a, call)));
    }
    let done = crate::shim::undisturbed(|| real!(fstat(f, out): fn(usize, usize) -> c_int));
    if let Some(call) = call.filter(|_| done == 0) {
        super::keeping_errno(|| super::accesses::after(w(out, STAT), call));
    }
    done
}

extern "C" fn old_file_status(_version: usize, f: usize, out: usize) -> c_int {
    file_status(f, out)
}

/// Runs a function that fills a place `out` of `*n` bytes and stores how many those are.
fn told_by_socket(out: usize, n: usize, call: Option<Call>, real: impl FnOnce() -> c_int) -> c_int {
    let room = at(n) as u32 as usize;
    if let Some(call) = call {
        super::keeping_errno(|| [r(n, 4), k(out, room), k(n, 4)].into_iter().for_each(|a| before(a, call)));
    }
    let done = crate::shim::undisturbed(real);
    if let Some(call) = call.filter(|_| done == 0) {
        let told = room.min(at(n) as u32 as usize);
        super::keeping_errno(|| {
            [w(out, told), w(n, 4)].into_iter().for_each(|a| super::accesses::after(a, call));
        });
    }
    done
}

/// Answers from a model: copies the answer, or fails.
fn told_by_model(told: Result<&[u8], c_int>, out: usize, n: usize) -> c_int {
    let fail = |error| {
        super::set_errno(error);
        -1
    };
    let told = match told {
        Ok(told) => told,
        Err(error) => return fail(error),
    };
    // SAFETY: the program hands in a place for a number, and as many bytes as that says.
    unsafe {
        let Ok(room) = usize::try_from(*(n as *const c_int)) else { return fail(libc::EINVAL) };
        std::ptr::copy_nonoverlapping(told.as_ptr(), out as *mut u8, told.len().min(room));
        (n as *mut c_int).write(told.len() as c_int);
    }
    0
}

/// The address of a socket of a pair: a family and nothing else.
const UNNAMED: [u8; 2] = (libc::AF_UNIX as u16).to_ne_bytes();

extern "C" fn own_name(f: usize, out: usize, n: usize) -> c_int {
    let call = incoming(false);
    match call.and_then(|call| crate::pipes::socket(f as c_int, call)) {
        Some(kind) => told_by_socket(out, n, call, || told_by_model(kind.map(|_| &UNNAMED[..]), out, n)),
        None => {
            told_by_socket(out, n, call, || real!(getsockname(f, out, n): fn(usize, usize, usize) -> c_int))
        }
    }
}

extern "C" fn name_of_peer(f: usize, out: usize, n: usize) -> c_int {
    let call = incoming(false);
    match call.and_then(|call| crate::pipes::socket(f as c_int, call)) {
        Some(kind) => told_by_socket(out, n, call, || told_by_model(kind.map(|_| &UNNAMED[..]), out, n)),
        None => {
            told_by_socket(out, n, call, || real!(getpeername(f, out, n): fn(usize, usize, usize) -> c_int))
        }
    }
}

extern "C" fn socket_option(f: usize, level: usize, name: usize, out: usize, n: usize) -> c_int {
    let call = incoming(false);
    let Some(kind) = call.and_then(|call| crate::pipes::socket(f as c_int, call)) else {
        return told_by_socket(
            out,
            n,
            call,
            || real!(getsockopt(f, level, name, out, n): fn(usize, usize, usize, usize, usize) -> c_int),
        );
    };
    let value = match (kind, level as c_int, name as c_int) {
        (Err(error), ..) => Err(error),
        (Ok(kind), libc::SOL_SOCKET, libc::SO_TYPE) => Ok(kind),
        (Ok(_), libc::SOL_SOCKET, libc::SO_DOMAIN) => Ok(libc::AF_UNIX),
        (Ok(_), libc::SOL_SOCKET, libc::SO_PROTOCOL | libc::SO_ACCEPTCONN) => Ok(0),
        (Ok(_), libc::SOL_SOCKET, libc::SO_ERROR) => {
            Ok(call.map_or(0, |call| crate::pipes::take_error(f as c_int, call)))
        }
        _ => {
            crate::pipes::refuse(f as c_int, "this option of `getsockopt`");
            Ok(0)
        }
    };
    let bytes = value.map(c_int::to_ne_bytes);
    // An option tells at most as many bytes as there is room for.
    let room = at(n) as u32 as usize;
    let told = bytes.as_ref().map(|b| &b[..b.len().min(room)]).map_err(|e| *e);
    told_by_socket(out, n, call, || told_by_model(told, out, n))
}

static DESCRIPTORS: &[Row] = &[
    Row { name: "fstat", entry: super::entry!(file_status) },
    Row { name: "fstat64", entry: super::entry!(file_status) },
    Row { name: "__fxstat", entry: super::entry!(old_file_status) },
    Row { name: "getsockname", entry: super::entry!(own_name) },
    Row { name: "getpeername", entry: super::entry!(name_of_peer) },
    Row { name: "getsockopt", entry: super::entry!(socket_option) },
];

rows! { SORTING:
    qsort(a, n, size, f) impure [r(a, n * size), w(a, n * size)] -> _x [w(a, n * size)];
    qsort_r(a, n, size, f, x) impure [r(a, n * size), w(a, n * size)] -> _x [w(a, n * size)];
    lsearch(key, a, n, size, f) impure [r(n, 8), k(n, 8), r(key, size), k(a + at(n) * size, size)]
        -> got [when(got == a + (at(n) - 1) * size, || w(got, size)), when(got == a + (at(n) - 1) * size, || w(n, 8))];
    lfind(key, a, n, size, f) impure [r(n, 8)] -> _x [];
    tsearch(key, root, f) impure [r(root, 8), k(root, 8)] -> _x [w(root, 8), w(at(root) & !1, 8)];
    tfind(key, root, f) impure [r(root, 8), r(at(root) & !1, 8)] -> _x [];
    tdelete(key, root, f) impure [r(root, 8), k(root, 8)] -> _x [w(root, 8), w(at(root) & !1, 8)];
    tdestroy(root, f) impure [when(root != 0, || w(root & !1, 24))] -> _x [];
    twalk(root, f) impure [r(root, 8)] -> _x [];
    twalk_r(root, f, x) impure [r(root, 8)] -> _x [];
    hcreate_r(n, t) impure [w(t, 16)] -> _x [w(t, 16)];
    hdestroy_r(t) impure [w(t, 16)] -> _x [];
}

rows! { TIME_ROWS:
    gmtime(t) impure [r(t, 8)] -> tm [named(tm, TM, DATE)];
    localtime(t) impure [r(t, 8), zone_variable(), time_zone()] -> tm [named(tm, TM, DATE)];
    asctime(tm) impure [r(tm, TM)] -> text [named(text, length(text), TEXT)];
    ctime(t) impure [r(t, 8), zone_variable(), time_zone(), named(date(), TM, DATE)] -> text [named(text, length(text), TEXT)];
    gmtime_r(t, tm) pure [r(t, 8), w(tm, TM)] -> _x [];
    localtime_r(t, tm) pure [r(t, 8), w(tm, TM), zone_variable(), zone_names()] -> _x [];
    asctime_r(tm, out) pure [r(tm, TM), k(out, 26)] -> text [w(text, length(text))];
    ctime_r(t, out) pure [r(t, 8), k(out, 26), zone_variable(), zone_names()] -> text [w(text, length(text))];
    mktime(tm) impure [r(tm, TM), w(tm, TM), zone_variable(), time_zone()] -> _x [];
    timelocal(tm) impure [r(tm, TM), w(tm, TM), zone_variable(), time_zone()] -> _x [];
    timegm(tm) pure [r(tm, TM), w(tm, TM)] -> _x [];
    strftime(out, n, format, tm) impure [s(format), r(tm, TM), k(out, n), zone_variable(), when(names_zone(format), time_zone)] -> size [when(size > 0, || w(out, size + 1))];
    wcsftime(out, n, format, tm) impure [ws(format), r(tm, TM), k(out, n * 4), zone_variable()]
        -> size [when(size > 0, || w(out, (size + 1) * 4))];
    strptime(p, format, tm) pure [s(p), s(format), r(tm, TM), k(tm, TM)] -> _x [w(tm, TM)];
    getdate(p) impure [s(p), zone_variable(), time_zone()] -> tm [w(tm, TM), when(tm == 0, || w(&raw const getdate_err as usize, 4))];
    getdate_r(p, tm) impure [s(p), zone_variable(), k(tm, TM), time_zone()] -> done [when(done as i32 == 0, || w(tm, TM))];
    tzset() impure [zone_variable(), time_zone()] -> _x [];
    clock_getres(clock, out) pure [w(out, TIME)] -> _x [];
}

fronts! { TIME_FRONTS:
    clock_gettime(clock, out) pure [w(out, TIME)];
    gettimeofday(out, zone) pure [w(out, TIME)];
    time(out) pure [w(out, 8)];
    times(out) pure [w(out, 32)];
    getrusage(who, out) pure [w(out, 144)];
    timespec_get(out) pure [w(out, TIME)];
    nanosleep(t, left) pure [r(t, TIME)];
    clock_nanosleep(clock, flags, t, left) pure [r(t, TIME)];
}

rows! { SYSTEM:
    getpwnam_r(name, out, buffer, n, result) impure [s(name), k(out, 48), k(buffer, n), w(result, 8)]
        -> _x [when(at(result) != 0, || w(out, 48)), when(at(result) != 0, || w(buffer, n))];
    getpwuid_r(id, out, buffer, n, result) impure [k(out, 48), k(buffer, n), w(result, 8)]
        -> _x [when(at(result) != 0, || w(out, 48)), when(at(result) != 0, || w(buffer, n))];
    getgrnam_r(name, out, buffer, n, result) impure [s(name), k(out, 32), k(buffer, n), w(result, 8)]
        -> _x [when(at(result) != 0, || w(out, 32)), when(at(result) != 0, || w(buffer, n))];
    getgrgid_r(id, out, buffer, n, result) impure [k(out, 32), k(buffer, n), w(result, 8)]
        -> _x [when(at(result) != 0, || w(out, 32)), when(at(result) != 0, || w(buffer, n))];
    getpwnam(name) impure [s(name), change(&PASSWORDS)] -> got [w(got, 48), texts(got, &[0, 8, 24, 32, 40])];
    getpwuid(id) impure [change(&PASSWORDS)] -> got [w(got, 48), texts(got, &[0, 8, 24, 32, 40])];
    getpwent() impure [change(&PASSWORDS), lasting("getpwent")] -> got [w(got, 48), texts(got, &[0, 8, 24, 32, 40])];
    getgrnam(name) impure [s(name), change(&GROUP)] -> got [w(got, 32), texts(got, &[0, 8])];
    getgrgid(id) impure [change(&GROUP)] -> got [w(got, 32), texts(got, &[0, 8])];
    getgrent() impure [change(&GROUP), lasting("getgrent")] -> got [w(got, 32), texts(got, &[0, 8])];
    gethostbyname(name) impure [s(name), change(&HOSTS)] -> got [w(got, 32), texts(got, &[0])];
    gethostbyaddr(a, n, t) impure [r(a, n as u32 as usize), change(&HOSTS)] -> got [w(got, 32), texts(got, &[0])];
    getservbyname(a, b) impure [s(a), change(&SERVICES)] -> got [w(got, 32), texts(got, &[0, 24])];
    getservbyport(a, b) impure [change(&SERVICES)] -> got [w(got, 32), texts(got, &[0, 24])];
    getprotobyname(a) impure [s(a), change(&PROTOCOLS)] -> got [w(got, 24), texts(got, &[0])];
    getprotobynumber(a) impure [change(&PROTOCOLS)] -> got [w(got, 24), texts(got, &[0])];
    getaddrinfo(node, service, hints, out) impure [s(node), s(service), r(hints, 48), k(out, 8)]
        -> done [when(done as i32 == 0, || w(out, 8)), when(done as i32 == 0, || addresses(out))];
    ether_ntoa(a) impure [r(a, 6)] -> got [w(got, length(got))];
    ether_aton(p) impure [s(p)] -> got [w(got, 6)];
    ether_ntoa_r(a, out) pure [r(a, 6), k(out, 18)] -> got [when(got != 0, || w(out, length(out)))];
    ether_aton_r(p, out) pure [s(p), k(out, 6)] -> got [when(got != 0, || w(out, 6))];
    getlogin() impure [change(&LOGIN)] -> _x [];
    getutent() impure [change(&LOGINS)] -> got [w(got, UT)];
    getutid(p) impure [r(p, UT), change(&LOGINS)] -> got [w(got, UT)];
    getutline(p) impure [r(p, UT), change(&LOGINS)] -> got [w(got, UT)];
    getutxid(p) impure [r(p, UT), change(&LOGINS)] -> got [w(got, UT)];
    getutxline(p) impure [r(p, UT), change(&LOGINS)] -> got [w(got, UT)];
    getutent_r(out, result) impure [change(&LOGINS), k(out, UT), k(result, 8)]
        -> done [when(ok(done), || w(out, UT)), w(result, 8)];
    getutid_r(p, out, result) impure [r(p, UT), change(&LOGINS), k(out, UT), k(result, 8)]
        -> done [when(ok(done), || w(out, UT)), w(result, 8)];
    getutline_r(p, out, result) impure [r(p, UT), change(&LOGINS), k(out, UT), k(result, 8)]
        -> done [when(ok(done), || w(out, UT)), w(result, 8)];
    setutent() impure [change(&LOGINS)] -> _x [];
    endutent() impure [change(&LOGINS)] -> _x [];
    utmpname(name) impure [s(name), change(&LOGINS)] -> _x [];
    utmpxname(name) impure [s(name), change(&LOGINS)] -> _x [];
    getmntent(file) impure [Access::Stream(file, Use::Change), change(&MOUNTS)] -> got [w(got, 40), texts(got, &[0, 8, 16, 24])];
    getmntent_r(file, out, text, n) impure [Access::Stream(file, Use::Change), k(out, 40), k(text, n as u32 as usize)]
        -> got [when(got != 0, || w(out, 40)), when(got != 0, || w(text, n as u32 as usize))];
    hasmntopt(entry, option) pure [r(entry + MOUNT_OPTIONS, 8), s(option), s(at(entry + MOUNT_OPTIONS))] -> _x [];
    addmntent(file, entry) impure [Access::Stream(file, Use::Change), r(entry, 40), texts_of(entry, 4)] -> _x [];
    setfsent() impure [change(&FILE_SYSTEMS)] -> _x [];
    endfsent() impure [change(&FILE_SYSTEMS)] -> _x [];
    getfsent() impure [change(&FILE_SYSTEMS)] -> _x [];
    getfsspec(name) impure [s(name), change(&FILE_SYSTEMS)] -> _x [];
    getfsfile(name) impure [s(name), change(&FILE_SYSTEMS)] -> _x [];
    setttyent() impure [change(&TERMINALS)] -> _x [];
    endttyent() impure [change(&TERMINALS)] -> _x [];
    getttyent() impure [change(&TERMINALS)] -> _x [];
    getttynam(name) impure [s(name), change(&TERMINALS)] -> _x [];
    getrpcbyname(name) impure [s(name), change(&CALLS)] -> _x [];
    getrpcbynumber(n) impure [change(&CALLS)] -> _x [];
    getrpcent() impure [change(&CALLS), lasting("getrpcent")] -> _x [];
    setrpcent(stay) impure [change(&CALLS)] -> _x [];
    endrpcent() impure [change(&CALLS)] -> _x [];
    getaliasbyname(name) impure [s(name), change(&MAIL)] -> _x [];
    getaliasent() impure [change(&MAIL), lasting("getaliasent")] -> _x [];
    setaliasent() impure [change(&MAIL)] -> _x [];
    endaliasent() impure [change(&MAIL)] -> _x [];
    getsgnam(name) impure [s(name), change(&GROUP_SHADOW)] -> _x [];
    getsgent() impure [change(&GROUP_SHADOW)] -> _x [];
    setsgent() impure [change(&GROUP_SHADOW)] -> _x [];
    endsgent() impure [change(&GROUP_SHADOW)] -> _x [];
    setspent() impure [change(&SHADOW)] -> _x [];
    endspent() impure [change(&SHADOW)] -> _x [];
    setnetent(stay) impure [change(&NETWORKS)] -> _x [];
    endnetent() impure [change(&NETWORKS)] -> _x [];
    setnetgrent(name) impure [s(name), change(&NETGROUPS)] -> _x [];
    getnetgrent(a, b, c) impure [change(&NETGROUPS), w(a, 8), w(b, 8), w(c, 8)] -> _x [];
    endnetgrent() impure [change(&NETGROUPS)] -> _x [];
    gettext(p) pure [s(p), look(&TEXT_DOMAIN), look(&LOCALE), look(&ENV)] -> _x [];
    dgettext(d, p) pure [s(d), s(p), look(&TEXT_DOMAIN), look(&LOCALE), look(&ENV)] -> _x [];
    dcgettext(d, p, c) pure [s(d), s(p), look(&TEXT_DOMAIN), look(&LOCALE), look(&ENV)] -> _x [];
    ngettext(a, b, n) pure [s(a), s(b), look(&TEXT_DOMAIN), look(&LOCALE), look(&ENV)] -> _x [];
    dngettext(d, a, b, n) pure [s(d), s(a), s(b), look(&TEXT_DOMAIN), look(&LOCALE), look(&ENV)] -> _x [];
    dcngettext(d, a, b, n, c) pure [s(d), s(a), s(b), look(&TEXT_DOMAIN), look(&LOCALE), look(&ENV)] -> _x [];
    textdomain(d) impure [s(d), if d == 0 { look(&TEXT_DOMAIN) } else { change(&TEXT_DOMAIN) }, when(d != 0, || lasting("textdomain"))] -> _x [];
    bindtextdomain(d, p) impure [s(d), s(p), if p == 0 { look(&TEXT_DOMAIN) } else { change(&TEXT_DOMAIN) }, when(p != 0, || lasting("bindtextdomain"))] -> _x [];
    bind_textdomain_codeset(d, p) impure [s(d), s(p), if p == 0 { look(&TEXT_DOMAIN) } else { change(&TEXT_DOMAIN) }, when(p != 0, || lasting("bind_textdomain_codeset"))] -> _x [];
    tcgetattr(fd, out) impure [k(out, 60)] -> done [when(ok(done), || w(out, 60))];
    mincore(p, n, out) impure [k(out, n.div_ceil(4096))] -> done [when(ok(done), || w(out, n.div_ceil(4096)))];
    ptsname_r(fd, out, n) impure [k(out, n)] -> done [when(done as i32 == 0, || w(out, length(out)))];
    tmpnam_r(out) impure [k(out, 20)] -> got [when(got != 0, || w(got, length(got)))];
    pathconf(name, which) impure [s(name), path(Lookup::look(name))] -> _x [];
    ftok(name, n) impure [s(name), path(told(name))] -> _x [];
    dladdr(address, out) pure [k(out, 32)] -> done [when(done as i32 != 0, || w(out, 32))];
    dladdr1(address, out, more, flags) pure [k(out, 32), k(more, 8)]
        -> done [when(done as i32 != 0, || w(out, 32)), when(done as i32 != 0, || w(more, 8))];
    setpwent() impure [change(&PASSWORDS)] -> _x [];
    endpwent() impure [change(&PASSWORDS)] -> _x [];
    setgrent() impure [change(&GROUP)] -> _x [];
    endgrent() impure [change(&GROUP)] -> _x [];
    gethostent() impure [change(&HOSTS), lasting("gethostent")] -> got [w(got, 32), texts(got, &[0])];
    sethostent(stay) impure [change(&HOSTS)] -> _x [];
    endhostent() impure [change(&HOSTS)] -> _x [];
    gethostbyname2(name, family) impure [s(name), change(&HOSTS)] -> got [w(got, 32), texts(got, &[0])];
    getservent() impure [change(&SERVICES), lasting("getservent")] -> got [w(got, 32), texts(got, &[0, 24])];
    setservent(stay) impure [change(&SERVICES)] -> _x [];
    endservent() impure [change(&SERVICES)] -> _x [];
    getprotoent() impure [change(&PROTOCOLS), lasting("getprotoent")] -> got [w(got, 24), texts(got, &[0])];
    setprotoent(stay) impure [change(&PROTOCOLS)] -> _x [];
    endprotoent() impure [change(&PROTOCOLS)] -> _x [];
    getnetent() impure [change(&NETWORKS), lasting("getnetent")] -> got [w(got, 24), texts(got, &[0])];
    getnetbyname(name) impure [s(name), change(&NETWORKS)] -> got [w(got, 24), texts(got, &[0])];
    getnetbyaddr(net, family) impure [change(&NETWORKS)] -> _x [];
    getspnam(name) impure [s(name), change(&SHADOW)] -> got [w(got, 72), texts(got, &[0, 8])];
    getspent() impure [change(&SHADOW), lasting("getspent")] -> got [w(got, 72), texts(got, &[0, 8])];
    fgetpwent(file) impure [Access::Stream(file, Use::Change), change(&PASSWORDS)] -> _x [];
    fgetgrent(file) impure [Access::Stream(file, Use::Change), change(&GROUP)] -> _x [];
    getutxent() impure [change(&LOGINS)] -> _x [];
    setutxent() impure [change(&LOGINS)] -> _x [];
    endutxent() impure [change(&LOGINS)] -> _x [];
    getusershell() impure [set(&SHELLS)] -> _x [];
    setusershell() impure [set(&SHELLS)] -> _x [];
    endusershell() impure [set(&SHELLS)] -> _x [];
    ptsname(f) impure [change(&TTYNAME)] -> _x [];
    getpass(text) impure [s(text), change(&TTYNAME)] -> _x [];
    encrypt(block, mode) impure [r(block, 64), change(&CRYPT), w(block, 64)] -> _x [];
    setkey(key) impure [r(key, 64), change(&CRYPT)] -> _x [];
    socket(a, b, c) impure [Access::MakesDescriptor] -> f [made(f, Call::unknown())];
    memfd_create(name, flags) impure [s(name), Access::MakesDescriptor] -> f [made(f, Call::unknown())];
    shm_open(name, flags, mode) impure [s(name), Access::MakesDescriptor] -> f [made(f, Call::unknown())];
    inotify_init() impure [channel("inotify_init"), Access::MakesDescriptor] -> f [made(f, Call::unknown())];
    inotify_init1(flags) impure [channel("inotify_init1"), Access::MakesDescriptor] -> f [made(f, Call::unknown())];
    posix_openpt(flags) impure [Access::MakesDescriptor] -> f [made(f, Call::unknown())];
    getlogin_r(out, n) impure [k(out, n)] -> done [when(done as i32 == 0, || w(out, length(out)))];
    uname(out) pure [k(out, 390)] -> done [when(ok(done), || w(out, 390))];
    sysinfo(out) impure [from_outside("sysinfo"), k(out, 112)] -> done [when(ok(done), || w(out, 112))];
    getloadavg(out, n) impure [from_outside("getloadavg"), w(out, n as u32 as usize * 8)] -> _x [];
    gethostname(out, n) pure [ask(&HOST), k(out, n)] -> done [when(ok(done), || w(out, length(out).min(n)))];
    getdomainname(out, n) pure [k(out, n)] -> done [when(ok(done), || w(out, length(out).min(n)))];
    sched_getaffinity(pid, n, out) pure [ask(&SCHEDULING), k(out, n)] -> done [when(ok(done), || w(out, n))];
    sched_getparam(pid, out) pure [ask(&SCHEDULING), w(out, 4)] -> _x [];
    getitimer(which, out) impure [w(out, 32)] -> _x [];
    confstr(name, out, n) pure [k(out, n)] -> size [w(out, n.min(size))];
    strsignal(n) impure [] -> _x [when(has_one_buffer(), || change(&STRSIGNAL))];
}

fronts! { SYSTEM_FRONTS:
    getenv(name) impure [s(name), environment(name)];
    secure_getenv(name) impure [s(name), environment(name)];
    setenv(name, value, always) impure [s(name), s(value), change(&ENV), variable(name, always as u32 != 0, false)];
    unsetenv(name) impure [s(name), change(&ENV), variable(name, true, true)];
    putenv(p) impure [s(p), change(&ENV), variable(p, true, false)];
    clearenv() impure [change(&ENV), w(&raw const environ as usize, 8)];
    getrandom(out, n) impure [w(out, n), from_outside("getrandom")];
    getentropy(out, n) impure [w(out, n), from_outside("getentropy")];
    posix_memalign(out) impure [w(out, 8)];
    rand() impure [];
    srand() impure [];
    random() impure [];
    srandom() impure [];
    initstate() impure [];
    setstate() impure [];
    lrand48() impure [look(&DRAND48_PARAMETERS), change(&DRAND48)];
    mrand48() impure [look(&DRAND48_PARAMETERS), change(&DRAND48)];
    drand48() impure [look(&DRAND48_PARAMETERS), change(&DRAND48)];
    srand48() impure [change(&DRAND48_PARAMETERS), change(&DRAND48)];
    seed48(p) impure [r(p, 6), change(&DRAND48_PARAMETERS), change(&DRAND48),
        named(crate::random::previous_state(), 6, "the result of `seed48`")];
    lcong48(p) impure [r(p, 14), change(&DRAND48_PARAMETERS), change(&DRAND48)];
    erand48(x) impure [look(&DRAND48_PARAMETERS), r(x, 6), w(x, 6)];
    nrand48(x) impure [look(&DRAND48_PARAMETERS), r(x, 6), w(x, 6)];
    jrand48(x) impure [look(&DRAND48_PARAMETERS), r(x, 6), w(x, 6)];
    openlog(name) impure [change(&SYSLOG), identifies(name)];
    closelog() impure [identifies_no_more()];
    opendir(name) impure [s(name), super::streams::made_unseen(), path(Lookup::look(name).lists())];
    access(name) impure [s(name), path(Lookup::look(name))];
    euidaccess(name) impure [s(name), path(Lookup::look(name))];
    eaccess(name) impure [s(name), path(Lookup::look(name))];
    faccessat(at, name, mode, flags) impure [s(name), path(Lookup::look(name).at(at).follows(follows(flags)))];
    unlink(name) impure [s(name), super::restored::file(name), path(Lookup::change(name))];
    unlinkat(at, name, flags) impure [s(name), removed_at(at, name, flags)];
    remove(name) impure [s(name), super::restored::file(name), path(Lookup::change(name).lists())];
    rename(a, b) impure [s(a), s(b), super::restored::file(a), super::restored::file(b),
        paths(Lookup::change(a), Lookup::change(b))];
    renameat(from, a, to, b) impure [s(a), s(b), super::restored::file_at(from, a), super::restored::file_at(to, b),
        paths(Lookup::change(a).at(from), Lookup::change(b).at(to))];
    renameat2(from, a, to, b) impure [s(a), s(b), super::restored::file_at(from, a), super::restored::file_at(to, b),
        paths(Lookup::change(a).at(from), Lookup::change(b).at(to))];
    truncate(name) impure [s(name), super::restored::file(name), path(Lookup::look(name).contents(Use::Change))];
    truncate64(name) impure [s(name), super::restored::file(name), path(Lookup::look(name).contents(Use::Change))];
    mkdir(name) impure [s(name), ask(&MASK), super::restored::directory(HERE, name), path(Lookup::change(name))];
    mkdirat(at, name) impure [s(name), ask(&MASK), super::restored::directory(at, name), path(Lookup::change(name).at(at))];
    rmdir(name) impure [s(name), super::restored::lasting("rmdir"), path(Lookup::change(name).lists())];
    link(a, b) impure [s(a), s(b), super::restored::file(b),
        paths(Lookup::look(a).follows(false).attributes(Use::Change), Lookup::change(b))];
    linkat(from, a, to, b) impure [s(a), s(b), super::restored::file_at(to, b),
        paths(Lookup::look(a).at(from).attributes(Use::Change), Lookup::change(b).at(to))];
    symlink(a, b) impure [s(a), s(b), super::restored::file(b), path(Lookup::change(b))];
    symlinkat(a, to, b) impure [s(a), s(b), super::restored::file_at(to, b), path(Lookup::change(b).at(to))];
    chmod(name) impure [s(name), super::restored::lasting("chmod"), path(Lookup::look(name).attributes(Use::Change))];
    fchmodat(at, name) impure [s(name), super::restored::lasting("fchmodat"),
        path(Lookup::look(name).at(at).attributes(Use::Change))];
    chown(name) impure [s(name), super::restored::lasting("chown"), path(Lookup::look(name).attributes(Use::Change))];
    lchown(name) impure [s(name), super::restored::lasting("lchown"),
        path(Lookup::look(name).follows(false).attributes(Use::Change))];
    fchownat(at, name) impure [s(name), super::restored::lasting("fchownat"),
        path(Lookup::look(name).at(at).attributes(Use::Change))];
    utime(name, times) impure [s(name), r(times, 16), super::restored::lasting("utime"),
        path(Lookup::look(name).attributes(Use::Change))];
    utimes(name, times) impure [s(name), r(times, 32), super::restored::lasting("utimes"),
        path(Lookup::look(name).attributes(Use::Change))];
    utimensat(at, name, times) impure [s(name), r(times, 32), super::restored::lasting("utimensat"),
        path(Lookup::look(name).at(at).attributes(Use::Change))];
    setxattr(file, name, p, n) impure [s(file), s(name), r(p, n), super::restored::lasting("setxattr"),
        path(Lookup::look(file).attributes(Use::Change))];
    mkfifo(name) impure [s(name), ask(&MASK), super::restored::file(name), path(Lookup::change(name))];
    mknod(name) impure [s(name), ask(&MASK), super::restored::file(name), path(Lookup::change(name))];
}

rows! { OTHER:
    rand_r(seed) pure [r(seed, 4), w(seed, 4)] -> _x [];
    random_r(state, out) pure [r(state, 48), when(kind(state) != 0, || r(at(state + REAR), 4)),
        w(at(state + if kind(state) == 0 { ARRAY } else { 0 }), 4), w(state, 48), w(out, 4)] -> _x [];
    srandom_r(seed, state) pure [r(state, 48), w(at(state + ARRAY), crate::random::words(kind(state)) * 4), w(state, 48)] -> _x [];
    lrand48_r(state, out) pure [r(state, 24), w(state, 24), w(out, 8)] -> _x [];
    mrand48_r(state, out) pure [r(state, 24), w(state, 24), w(out, 8)] -> _x [];
    drand48_r(state, out) pure [r(state, 24), w(state, 24), w(out, 8)] -> _x [];
    srand48_r(seed, state) pure [w(state, 24)] -> _x [];
    strerror_r(code, out, n) pure [w(out, n.min(described(code)))] -> _x [];
    __xpg_strerror_r(code, out, n) pure [w(out, n.min(described(code)))] -> _x [];
    strerror(code) pure [when(!is_error(code) && has_one_buffer(), || change(&STRERROR))] -> _x [];
    __ctype_get_mb_cur_max() pure [look(&LOCALE)] -> _x [];
    btowc(c) pure [look(&LOCALE)] -> _x [];
    wctob(c) pure [look(&LOCALE)] -> _x [];
    localeconv() impure [look(&LOCALE)] -> got [w(got, 96)];
    nl_langinfo(item) pure [look(&LOCALE)] -> _x [];
    erand48_r(x, state, out) pure [r(x, 6), w(x, 6), w(state, 24), w(out, 8)] -> _x [];
    nrand48_r(x, state, out) pure [r(x, 6), w(x, 6), w(state, 24), w(out, 8)] -> _x [];
    jrand48_r(x, state, out) pure [r(x, 6), w(x, 6), w(state, 24), w(out, 8)] -> _x [];
    seed48_r(p, state) pure [r(p, 6), w(state, 24)] -> _x [];
    lcong48_r(p, state) pure [r(p, 14), w(state, 24)] -> _x [];
    initstate_r(seed, p, n, state) pure [when(at(state + ARRAY) != 0, || w(at(state + ARRAY) - 4, 4)), r(state, 48),
        w(p, array_bytes(n)), w(state, 48)] -> _x [];
    setstate_r(p, state) pure [when(at(state + ARRAY) != 0, || w(at(state + ARRAY) - 4, 4)), r(p, 4), r(state, 48), w(state, 48)] -> _x [];
    getresuid(a, b, c) impure [ask(&USERS), w(a, 4), w(b, 4), w(c, 4)] -> _x [];
    getresgid(a, b, c) impure [ask(&USERS), w(a, 4), w(b, 4), w(c, 4)] -> _x [];
    timespec_getres(out, base) pure [k(out, TIME)] -> done [when(done as i32 != 0, || w(out, TIME))];
    inet_network(p) pure [s(p)] -> _x [];
    if_nametoindex(p) pure [s(p)] -> _x [];
    if_indextoname(n, out) pure [k(out, 16)] -> got [when(got != 0, || w(out, length(out)))];
    setlocale(category, name) impure [s(name), locale_variables(name), if name == 0 { look(&LOCALE) } else { change(&LOCALE) },
        super::restored::locale(name)] -> _x [];
}

/// Where `struct mntent` has its options.
const MOUNT_OPTIONS: usize = 24;

/// The text that `openlog` has been handed. The library keeps the pointer, and each message begins with the text as it is then.
static mut IDENTITY: usize = 0;

fn identifies(name: usize) -> Access {
    if name != 0 && runtime::in_execution() {
        // SAFETY: one OS thread alone runs code of the program.
        unsafe { IDENTITY = name };
    }
    Access::Nothing
}

fn identifies_no_more() -> Access {
    // SAFETY: as in `identifies`.
    unsafe { IDENTITY = 0 };
    Access::Nothing
}

/// A message is logged.
pub(super) fn reads_identity() -> Access {
    // SAFETY: as in `identifies`.
    s(unsafe { IDENTITY })
}

/// A result in memory of the C library has pointers to strings there, which the call has written, too.
fn texts(result: usize, pointers: &[usize]) -> Access {
    if result != 0 {
        for text in pointers.iter().map(|offset| at(result + offset)).filter(|text| *text != 0) {
            super::accesses::after(w(text, length(text)), Call::unknown());
        }
    }
    Access::Nothing
}

/// The library reads the strings that a structure begins with pointers to.
fn texts_of(p: usize, n: usize) -> Access {
    for i in 0..n {
        before(s(at(p + i * 8)), Call::unknown());
    }
    Access::Nothing
}

/// Where `struct random_data` has the pointer behind, the state array and its kind.
const REAR: usize = 8;
const ARRAY: usize = 16;
const KIND: usize = 24;

/// The kind of the state array of a `struct random_data`; 0 without one.
fn kind(state: usize) -> usize {
    if state == 0 { 0 } else { at(state + KIND) as u32 as usize }
}

/// The bytes that `initstate_r` fills of a buffer of `n` bytes.
fn array_bytes(n: usize) -> usize {
    crate::random::kind_for(n).map_or(0, |kind| crate::random::words(kind) * 4 + 4)
}

/// What `setenv` and its like change of the environment that a program can see without their help: the list, and the text of the
/// variable before. `name` may go on with `=` and a value.
fn variable(name: usize, always: bool, removed: bool) -> Access {
    if name == 0 {
        return Access::Nothing;
    }
    // SAFETY: the program hands in a string; the environment is a list of strings with a null at its end.
    unsafe {
        let bytes = CStr::from_ptr(name as *const c_char).to_bytes();
        let bytes = bytes.split(|b| *b == b'=').next().unwrap_or_default();
        let start = environ as usize;
        let texts = || (0..).map(|i| start + i * 8).take_while(|slot| start != 0 && at(*slot) != 0);
        let call = Call::unknown();
        match find_variable(bytes, call) {
            Some(_) if !always => Access::Nothing,
            Some(slot) => {
                // A text of the program, which it has handed to `putenv`, stays as it is.
                let text = at(slot);
                let is_programs = crate::start::is_variable(text)
                    || crate::heap::heap().state_of(text) != image::arena::State::NotHeap;
                if !is_programs {
                    super::accesses::before(w(text, length(text)), call);
                }
                let last = if removed { start + texts().count() * 8 } else { slot };
                w(slot, last - slot + 8)
            }
            None if removed => Access::Nothing,
            None => {
                super::accesses::before(w(&raw const environ as usize, 8), call);
                w(start, if start == 0 { 0 } else { texts().count() * 8 + 8 })
            }
        }
    }
}

/// A function that sets user or group numbers. To set others than those of now is refused: raddle runs in the same process.
fn users(name: &'static str, ids: &[usize], groups: bool) -> Access {
    // SAFETY: system calls without preconditions.
    let now = unsafe { if groups { libc::getegid() } else { libc::geteuid() } };
    let is_same = |id: &usize| *id as u32 == now || *id as u32 == u32::MAX;
    if runtime::in_execution() && !crate::own_heap::is_shared() && !ids.iter().all(is_same) {
        let why = "raddle runs in the process whose user it would change; `--isolate` runs each execution in another one";
        crate::process::unsupported_at(name, why, Call::unknown());
    }
    set(&USERS)
}

/// All that `stat` tells.
fn told(name: usize) -> Lookup {
    Lookup::look(name).contents(Use::Look)
}

/// Whether a link at the end of a path is followed, by the flags of a function whose name ends in `at`.
fn follows(flags: usize) -> bool {
    flags as c_int & libc::AT_SYMLINK_NOFOLLOW == 0
}

fn removed_at(at: usize, name: usize, flags: usize) -> Access {
    if flags as c_int & libc::AT_REMOVEDIR != 0 {
        super::restored::lasting("unlinkat");
        return path(Lookup::change(name).at(at).lists());
    }
    super::restored::file_at(at, name);
    path(Lookup::change(name).at(at))
}

/// Whether a number is that of an error.
fn is_error(code: usize) -> bool {
    // SAFETY: any number may be asked for.
    unsafe { !strerrordesc_np(code as c_int).is_null() }
}

/// The bytes of the description of an error.
fn described(code: usize) -> usize {
    // SAFETY: as above; the description is a string.
    unsafe {
        let text = strerrordesc_np(code as c_int);
        if text.is_null() { "Unknown error -1234567890".len() } else { length(text as usize) }
    }
}

// Most of these are this library's own: what they do to objects of threads is a step there.
fronts! { THREAD_FRONTS:
    sem_getvalue(sem, out) pure [w(out, 4)];
    sem_open(name) impure [s(name)];
    sem_unlink(name) impure [s(name)];
    pthread_getname_np(t, out, n) pure [w(out, n.min(16)), ask(&NAMES)];
    pthread_setname_np(t, name) pure [s(name), set(&NAMES)];
    pthread_getaffinity_np(t, n, out) pure [w(out, n)];
    pthread_getschedparam(t, policy, out) pure [w(policy, 4), w(out, 4)];
    sched_setaffinity(pid, n, p) impure [r(p, n), set(&SCHEDULING)];
    sched_setparam(pid, p) impure [r(p, 4), set(&SCHEDULING)];
    sched_setscheduler(pid, policy, p) impure [r(p, 4), set(&SCHEDULING)];
    sched_getscheduler() pure [ask(&SCHEDULING)];
    dup(f) impure [fd(f)];
    fcntl(f, command, argument) impure [fd(f), when(copies(f, command), || Access::MakesDescriptor),
        super::streams::controlled(f, command, argument)];
    fcntl64(f, command, argument) impure [fd(f), when(copies(f, command), || Access::MakesDescriptor),
        super::streams::controlled(f, command, argument)];
    close(f) impure [Access::Closes(f as c_int)];
    read(f) pure [fd(f)];
    pread(f) pure [fd(f)];
    pread64(f) pure [fd(f)];
    recv(f) pure [fd(f)];
    recvfrom(f) pure [fd(f)];
    isatty(f) pure [fd(f)];
    accept(f) impure [fd(f), Access::MakesDescriptor];
    accept4(f) impure [fd(f), Access::MakesDescriptor];
    pthread_getcpuclockid(t, out) pure [w(out, 4)];
    pthread_getattr_np(t, out) pure [w(out, 56)];
    pthread_sigmask(how, set, old) impure [r(set, SIGSET), w(old, SIGSET)];
    sigprocmask(how, set, old) impure [r(set, SIGSET), w(old, SIGSET)];
    sigaction(n, new, old) impure [r(new, 152), w(old, 152)];
    sigaltstack(new, old) impure [r(new, 24), w(old, 24)];
    sigpending(out) impure [w(out, SIGSET)];
    sigemptyset(out) pure [w(out, SIGSET)];
    sigfillset(out) pure [w(out, SIGSET)];
    sigaddset(set) pure [r(set, SIGSET), w(set, SIGSET)];
    sigdelset(set) pure [r(set, SIGSET), w(set, SIGSET)];
    sigismember(set) pure [r(set, SIGSET)];
    pipe(out) impure [w(out, 8)];
    pipe2(out) impure [w(out, 8)];
    socketpair(a, b, c, out) impure [w(out, 8)];
    pthread_setcancelstate(state, old) impure [w(old, 4)];
    pthread_setcanceltype(state, old) impure [w(old, 4)];
    pthread_key_create(out) impure [w(out, 4)];
    pthread_attr_init(a) pure [w(a, 56)];
    pthread_attr_destroy(a) pure [w(a, 56)];
    pthread_attr_setdetachstate(a) pure [w(a, 56)];
    pthread_attr_setstacksize(a) pure [w(a, 56)];
    pthread_attr_setguardsize(a) pure [w(a, 56)];
    pthread_attr_setschedpolicy(a) pure [w(a, 56)];
    pthread_attr_setschedparam(a, p) pure [r(p, 4), w(a, 56)];
    pthread_attr_setinheritsched(a) pure [w(a, 56)];
    pthread_attr_setscope(a) pure [w(a, 56)];
    pthread_attr_setstack(a) pure [w(a, 56)];
    pthread_attr_setaffinity_np(a, n, set) pure [r(set, n), w(a, 56)];
    pthread_attr_getdetachstate(a, out) pure [r(a, 56), w(out, 4)];
    pthread_attr_getstacksize(a, out) pure [r(a, 56), w(out, 8)];
    pthread_attr_getguardsize(a, out) pure [r(a, 56), w(out, 8)];
    pthread_attr_getschedpolicy(a, out) pure [r(a, 56), w(out, 4)];
    pthread_attr_getschedparam(a, out) pure [r(a, 56), w(out, 4)];
    pthread_attr_getinheritsched(a, out) pure [r(a, 56), w(out, 4)];
    pthread_attr_getscope(a, out) pure [r(a, 56), w(out, 4)];
    pthread_attr_getstack(a, p, n) pure [r(a, 56), w(p, 8), w(n, 8)];
    pthread_attr_getaffinity_np(a, n, out) pure [r(a, 56), w(out, n)];
    pthread_mutexattr_init(a) pure [w(a, 4)];
    pthread_mutexattr_destroy(a) pure [w(a, 4)];
    pthread_mutexattr_settype(a) pure [r(a, 4), w(a, 4)];
    pthread_mutexattr_setpshared(a) pure [r(a, 4), w(a, 4)];
    pthread_mutexattr_setprotocol(a) pure [r(a, 4), w(a, 4)];
    pthread_mutexattr_setrobust(a) pure [r(a, 4), w(a, 4)];
    pthread_mutexattr_gettype(a, out) pure [r(a, 4), w(out, 4)];
    pthread_mutexattr_getpshared(a, out) pure [r(a, 4), w(out, 4)];
    pthread_mutexattr_getprotocol(a, out) pure [r(a, 4), w(out, 4)];
    pthread_mutexattr_getrobust(a, out) pure [r(a, 4), w(out, 4)];
    pthread_condattr_init(a) pure [w(a, 4)];
    pthread_condattr_destroy(a) pure [w(a, 4)];
    pthread_condattr_setclock(a) pure [r(a, 4), w(a, 4)];
    pthread_condattr_setpshared(a) pure [r(a, 4), w(a, 4)];
    pthread_condattr_getclock(a, out) pure [r(a, 4), w(out, 4)];
    pthread_condattr_getpshared(a, out) pure [r(a, 4), w(out, 4)];
    pthread_rwlockattr_init(a) pure [w(a, 8)];
    pthread_rwlockattr_destroy(a) pure [w(a, 8)];
    pthread_rwlockattr_setkind_np(a) pure [w(a, 8)];
    pthread_rwlockattr_setpshared(a) pure [w(a, 8)];
    pthread_rwlockattr_getkind_np(a, out) pure [r(a, 8), w(out, 4)];
    pthread_barrierattr_init(a) pure [w(a, 4)];
    pthread_barrierattr_destroy(a) pure [w(a, 4)];
    pthread_barrierattr_setpshared(a) pure [w(a, 4)];
    pthread_barrierattr_getpshared(a, out) pure [r(a, 4), w(out, 4)];
    pthread_rwlockattr_getpshared(a, out) pure [r(a, 8), w(out, 4)];
    pthread_mutexattr_getprioceiling(a, out) pure [r(a, 4), w(out, 4)];
    pthread_mutexattr_setprioceiling(a) pure [r(a, 4), w(a, 4)];
    pthread_attr_setstackaddr(a) pure [w(a, 56)];
    pthread_attr_getstackaddr(a, out) pure [r(a, 56), w(out, 8)];
    pthread_attr_setsigmask_np(a, set) pure [r(set, SIGSET), w(a, 56)];
    pthread_attr_getsigmask_np(a, out) pure [r(a, 56), w(out, SIGSET)];
    sched_rr_get_interval(pid, out) pure [w(out, TIME)];
    sigandset(out, a, b) pure [r(a, SIGSET), r(b, SIGSET), w(out, SIGSET)];
    sigorset(out, a, b) pure [r(a, SIGSET), r(b, SIGSET), w(out, SIGSET)];
    sigisemptyset(a) pure [r(a, SIGSET)];
    cfmakeraw(p) pure [r(p, 60), w(p, 60)];
    cfgetispeed(p) pure [r(p, 60)];
    cfgetospeed(p) pure [r(p, 60)];
    cfsetispeed(p) pure [r(p, 60), w(p, 60)];
    cfsetospeed(p) pure [r(p, 60), w(p, 60)];
    cfsetspeed(p) pure [r(p, 60), w(p, 60)];
    inotify_add_watch(f, name) impure [s(name)];
    tss_create(out) impure [w(out, 4)];
    pthread_cond_timedwait(c, m, t) pure [r(t, TIME)];
    pthread_cond_clockwait(c, m, clock, t) pure [r(t, TIME)];
    pthread_mutex_timedlock(m, t) pure [r(t, TIME)];
    pthread_mutex_clocklock(m, clock, t) pure [r(t, TIME)];
    pthread_rwlock_timedrdlock(l, t) pure [r(t, TIME)];
    pthread_rwlock_timedwrlock(l, t) pure [r(t, TIME)];
    pthread_rwlock_clockrdlock(l, clock, t) pure [r(t, TIME)];
    pthread_rwlock_clockwrlock(l, clock, t) pure [r(t, TIME)];
    pthread_timedjoin_np(thread, out, t) pure [r(t, TIME)];
    pthread_clockjoin_np(thread, out, clock, t) pure [r(t, TIME)];
    sem_timedwait(s, t) pure [r(t, TIME)];
    sem_clockwait(s, clock, t) pure [r(t, TIME)];
    cnd_timedwait(c, m, t) pure [r(t, TIME)];
    mtx_timedlock(m, t) pure [r(t, TIME)];
    thrd_sleep(t) pure [r(t, TIME)];
    ppoll(list, n, t, mask) pure [r(t, TIME), r(mask, SIGSET)];
    pselect(n, a, b, c, t) pure [r(t, TIME)];
    select(n, a, b, c, t) pure [r(t, TIME), w(t, TIME)];
    timer_create(clock, event, out) pure [r(event, 64), w(out, 8)];
    timer_settime(timer, flags, new, old) pure [r(new, 32), w(old, 32)];
    timer_gettime(timer, out) pure [w(out, 32)];
    setitimer(which, new, old) pure [r(new, 32), w(old, 32)];
}

// State of the process that a function changes, and that the next execution must find as it was.
fronts! { STATE_FRONTS:
    umask() impure [set(&MASK), super::restored::mask()];
    chdir(name) impure [s(name), path(Lookup::look(name)), set(&DIRECTORY), super::restored::place()];
    fchdir(f) impure [fd(f), set(&DIRECTORY), super::restored::place()];
    getpriority() impure [ask(&PRIORITY)];
    getuid() pure [ask(&USERS)];
    geteuid() pure [ask(&USERS)];
    getgid() pure [ask(&USERS)];
    getegid() pure [ask(&USERS)];
    seteuid(a) impure [users("seteuid", &[a], false)];
    setegid(a) impure [users("setegid", &[a], true)];
    setreuid(a, b) impure [users("setreuid", &[a, b], false)];
    setregid(a, b) impure [users("setregid", &[a, b], true)];
    setresuid(a, b, c) impure [users("setresuid", &[a, b, c], false)];
    setresgid(a, b, c) impure [users("setresgid", &[a, b, c], true)];
    getpgrp() pure [ask(&GROUPS)];
    getpgid() pure [ask(&GROUPS)];
    getsid() pure [ask(&GROUPS)];
    setpgid() impure [set(&GROUPS), super::restored::lasting("setpgid")];
    setpgrp() impure [set(&GROUPS), super::restored::lasting("setpgrp")];
    setsid() impure [set(&GROUPS), super::restored::lasting("setsid")];
    sethostname(p, n) impure [r(p, n), set(&HOST), super::restored::lasting("sethostname")];
    fesetround() impure [super::restored::rounding()];
    feenableexcept() impure [super::restored::rounding()];
    fedisableexcept() impure [super::restored::rounding()];
    fesetenv(p) impure [when(p < usize::MAX - 16, || r(p, 32)), super::restored::rounding()];
    feupdateenv() impure [super::restored::rounding()];
    fegetexceptflag(p) pure [w(p, 2)];
    fesetexceptflag(p) impure [r(p, 2)];
    fetestexceptflag(p) pure [r(p, 2)];
    fegetmode(p) pure [w(p, 8)];
    fesetmode(p) impure [when(p < usize::MAX - 16, || r(p, 8)), super::restored::rounding()];
    feholdexcept(p) impure [w(p, 32), super::restored::rounding()];
    fegetenv(p) impure [w(p, 32)];
    setpriority() impure [set(&PRIORITY), super::restored::lasting("setpriority")];
    nice() impure [set(&PRIORITY), super::restored::lasting("nice")];
    setuid(a) impure [users("setuid", &[a], false)];
    setgid(a) impure [users("setgid", &[a], true)];
    mallopt() impure [];
}

/// Whether a command of `fcntl` makes a descriptor of a file. Those of pipes are made elsewhere.
fn copies(f: usize, command: usize) -> bool {
    matches!(command as c_int, libc::F_DUPFD | libc::F_DUPFD_CLOEXEC)
        && crate::pipes::open_of(f as c_int).is_none()
}

/// The rest of a string that `strtok` has not seen.
static mut REST: usize = 0;

/// An execution begins.
pub(super) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe { (REST, LEVEL, IDENTITY) = (0, 0, 0) };
}

/// The next token from `start` on, and where the rest begins; the byte that ends the token is written.
fn token(start: usize, of: usize, call: Option<Call>) -> (usize, usize) {
    // SAFETY: the program hands in strings.
    unsafe {
        let (start, of) = (start as *mut c_char, of as *const c_char);
        let first = start.add(strspn(start, of));
        let end = first.add(strcspn(first, of));
        if let Some(call) = call {
            super::accesses::before(s(of as usize), call);
            super::accesses::before(r(start as usize, end as usize - start as usize + 1), call);
        }
        if *first == 0 {
            return (0, first as usize);
        }
        if *end == 0 {
            return (first as usize, end as usize);
        }
        if let Some(call) = call {
            super::accesses::before(w(end as usize, 1), call);
        }
        *end = 0;
        (first as usize, end as usize + 1)
    }
}

extern "C" fn split(start: usize, of: usize) -> usize {
    let call = incoming(false);
    if let Some(call) = call {
        super::accesses::before(change(&STRTOK), call);
    }
    // SAFETY: one OS thread alone runs code of the program.
    let from = if start == 0 { unsafe { REST } } else { start };
    if from == 0 {
        if let Some(call) = call {
            let message = "a null pointer is read: `strtok` was not given a string before".to_owned();
            runtime::fail(explore::FailureKind::Signal, message, call.place);
        }
        return 0;
    }
    let (found, rest) = token(from, of, call);
    // SAFETY: as above.
    unsafe { REST = rest };
    found
}

extern "C" fn split_with(start: usize, of: usize, save: usize) -> usize {
    let call = incoming(false);
    if let Some(call) = call {
        if start == 0 {
            super::accesses::before(r(save, 8), call);
        }
        super::accesses::before(w(save, 8), call);
    }
    let from = if start == 0 { at(save) } else { start };
    if from == 0 {
        return 0;
    }
    let (found, rest) = token(from, of, call);
    // SAFETY: the program hands in a place for a pointer.
    unsafe { (save as *mut usize).write(rest) };
    found
}

extern "C" fn separate(place: usize, of: usize) -> usize {
    let call = incoming(false);
    if let Some(call) = call {
        super::accesses::before(r(place, 8), call);
    }
    let start = at(place);
    if start == 0 {
        return 0;
    }
    // SAFETY: the program hands in a place with a string, and a string.
    unsafe {
        let end = (start as *mut c_char).add(strcspn(start as *const c_char, of as *const c_char));
        if let Some(call) = call {
            super::accesses::before(s(of), call);
            super::accesses::before(r(start, end as usize - start + 1), call);
            super::accesses::before(w(place, 8), call);
        }
        let rest = if *end == 0 {
            0
        } else {
            if let Some(call) = call {
                super::accesses::before(w(end as usize, 1), call);
            }
            *end = 0;
            end as usize + 1
        };
        (place as *mut usize).write(rest);
    }
    start
}

/// Converts characters. The descriptor has a state of its own that no lock protects.
extern "C" fn convert(cd: usize, input: usize, n: usize, output: usize, m: usize) -> usize {
    let call = incoming(false);
    let real_cd = conversion(cd, call);
    let start = if call.is_some() { at(output) } else { 0 };
    if let Some(call) = call {
        super::keeping_errno(|| {
            for access in [
                r(input, 8),
                r(n, 8),
                r(at(input), at(n)),
                k(input, 8),
                k(n, 8),
                r(output, 8),
                r(m, 8),
                k(output, 8),
                k(m, 8),
                k(start, at(m)),
            ] {
                super::accesses::before(access, call);
            }
        });
    }
    let result = crate::shim::undisturbed(
        || real!(iconv(real_cd, input, n, output, m): fn(usize, usize, usize, usize, usize) -> usize),
    );
    if let Some(call) = call {
        super::keeping_errno(|| {
            let written = at(output).saturating_sub(start);
            for access in [w(start, written), w(input, 8), w(n, 8), w(output, 8), w(m, 8)] {
                super::accesses::after(access, call);
            }
        });
    }
    result
}

static CONVERTING: &[Row] = &[Row { name: "iconv", entry: super::entry!(convert) }];

/// The level that `pthread_setconcurrency` has set.
static mut LEVEL: c_int = 0;

extern "C" fn set_concurrency(level: c_int) -> c_int {
    if let Some(call) = incoming(false) {
        super::keeping_errno(|| before(set(&CONCURRENCY), call));
    }
    if level < 0 {
        return libc::EINVAL;
    }
    // SAFETY: one OS thread alone runs code of the program.
    unsafe { LEVEL = level };
    0
}

extern "C" fn concurrency() -> c_int {
    if let Some(call) = incoming(true) {
        super::keeping_errno(|| before(ask(&CONCURRENCY), call));
    }
    // SAFETY: as above.
    unsafe { LEVEL }
}

static SPLITTING: &[Row] = &[
    Row { name: "pthread_setconcurrency", entry: super::entry!(set_concurrency) },
    Row { name: "pthread_getconcurrency", entry: super::entry!(concurrency) },
    Row { name: "strtok", entry: super::entry!(split) },
    Row { name: "strtok_r", entry: super::entry!(split_with) },
    Row { name: "__strtok_r", entry: super::entry!(split_with) },
    Row { name: "strsep", entry: super::entry!(separate) },
];
