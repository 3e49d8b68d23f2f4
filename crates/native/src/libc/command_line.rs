//! `getopt` and its relatives, as glibc has them.
//!
//! glibc keeps the position inside of an argument in variables of its own, which one execution would leave to the next. So the
//! functions run here, on state that each execution has of its own. They make their accesses as they go: the list of arguments (whose
//! elements they reorder), the texts of options, the descriptions of long options, and the variables that those point to.

use super::accesses::{Access, at, before, change, k, length, r, s, w};
use super::objects::OPTIONS;
use super::{Row, incoming};
use crate::real::real;
use crate::shim::{Call, undisturbed};
use std::ffi::{CStr, c_char, c_int};

unsafe extern "C" {
    static mut optarg: *mut c_char;
    static mut optind: c_int;
    static mut optopt: c_int;
    static mut opterr: c_int;
    static stderr: *mut libc::FILE;
}

/// How arguments that are not options are handled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ordering {
    /// They end the options.
    Require,
    /// They move behind the options.
    Permute,
    /// They are returned as arguments of an option with the number 1.
    Return,
}

/// State that the functions keep from call to call.
#[derive(Clone, Copy)]
struct Position {
    has_started: bool,
    ordering: Ordering,
    /// The rest of the argument with the last option; 0 for none.
    next: usize,
    /// The arguments that are not options and were skipped: the first, and the one behind the last.
    skipped: (usize, usize),
    /// The values that the variables of these names get at the end of each call.
    optarg: usize,
    optopt: c_int,
}

const START: Position = Position {
    has_started: false,
    ordering: Ordering::Permute,
    next: 0,
    skipped: (0, 0),
    optarg: 0,
    optopt: 0,
};

static mut POSITION: Position = START;

/// An execution begins.
pub(super) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe { POSITION = START };
}

/// The fields of `struct option`.
const OPTION: usize = 32;
const HAS_ARGUMENT: usize = 8;
const FLAG: usize = 16;
const VALUE: usize = 24;

/// One call.
struct Parser {
    call: Call,
    position: Position,
    argc: usize,
    argv: usize,
    options: usize,
    long: usize,
    index: usize,
    only_long: bool,
    /// The variable of the same name.
    optind: usize,
    prints: bool,
}

/// A byte of a text that was announced.
fn byte(p: usize) -> u8 {
    // SAFETY: the program hands in strings.
    unsafe { *(p as *const u8) }
}

/// A number in a description that was announced.
fn number(p: usize) -> c_int {
    // SAFETY: the program hands in a list of descriptions.
    unsafe { *(p as *const c_int) }
}

fn text<'a>(p: usize) -> std::borrow::Cow<'a, str> {
    // SAFETY: the program hands in strings.
    unsafe { CStr::from_ptr(p as *const c_char) }.to_string_lossy()
}

impl Parser {
    fn makes(&self, access: Access) {
        super::keeping_errno(|| before(access, self.call));
    }

    /// The element of the list of arguments.
    fn argument(&self, i: usize) -> usize {
        self.makes(r(self.argv + i * 8, 8));
        at(self.argv + i * 8)
    }

    /// Whether the next argument is not an option.
    fn is_no_option(&self) -> bool {
        let p = self.argument(self.optind);
        self.makes(r(p, length(p).min(2)));
        byte(p) != b'-' || byte(p + 1) == 0
    }

    /// Whether the options have a character: where.
    fn find(&self, c: u8) -> Option<usize> {
        (self.options..self.options + length(self.options)).find(|p| byte(*p) == c)
    }

    fn complain(&self, what: &str) {
        if self.prints {
            let mut line = format!("{}: {what}\n", text(self.argument(0))).into_bytes();
            line.retain(|b| *b != 0);
            line.push(0);
            // SAFETY: a string, and the stream of the C library.
            super::keeping_errno(|| unsafe { libc::fputs(line.as_ptr().cast(), stderr) });
        }
    }

    /// Moves the skipped arguments behind the options that were read since.
    fn exchange(&mut self) {
        let (first, last) = self.position.skipped;
        let n = self.optind - first;
        self.makes(r(self.argv + first * 8, n * 8));
        self.makes(w(self.argv + first * 8, n * 8));
        // SAFETY: the elements lie in the list of arguments.
        let list = unsafe { std::slice::from_raw_parts_mut((self.argv + first * 8) as *mut usize, n) };
        list.rotate_left(last - first);
        self.position.skipped = (first + self.optind - last, self.optind);
    }

    fn start(&mut self) {
        if self.optind == 0 {
            self.optind = 1;
        }
        self.position.skipped = (self.optind, self.optind);
        self.position.next = 0;
        self.position.ordering = match byte(self.options) {
            b'-' => Ordering::Return,
            b'+' => Ordering::Require,
            _ => {
                let is_set =
                    super::keeping_errno(|| super::table::has_variable(b"POSIXLY_CORRECT", self.call));
                if is_set { Ordering::Require } else { Ordering::Permute }
            }
        };
        self.position.has_started = true;
    }

    /// The result of the call.
    fn run(&mut self) -> c_int {
        if (self.argc as c_int) < 1 {
            return -1;
        }
        self.position.optarg = 0;
        self.makes(s(self.options));
        if self.optind == 0 || !self.position.has_started {
            self.start();
        }
        if matches!(byte(self.options), b'-' | b'+') {
            self.options += 1;
        }
        if byte(self.options) == b':' {
            self.prints = false;
        }
        if self.position.next != 0 {
            self.makes(s(self.position.next));
        }
        if (self.position.next == 0 || byte(self.position.next) == 0)
            && let Some(result) = self.advance()
        {
            return result;
        }
        self.short()
    }

    /// Goes to the next argument with an option. The result of the call, if it is not a short option.
    fn advance(&mut self) -> Option<c_int> {
        let skipped = &mut self.position.skipped;
        *skipped = (skipped.0.min(self.optind), skipped.1.min(self.optind));
        if self.position.ordering == Ordering::Permute {
            let (first, last) = self.position.skipped;
            if first != last && last != self.optind {
                self.exchange();
            } else if last != self.optind {
                self.position.skipped.0 = self.optind;
            }
            while self.optind < self.argc && self.is_no_option() {
                self.optind += 1;
            }
            self.position.skipped.1 = self.optind;
        }
        if self.optind < self.argc {
            let p = self.argument(self.optind);
            self.makes(r(p, length(p).min(3)));
            if length(p) == 3 && byte(p) == b'-' && byte(p + 1) == b'-' {
                self.optind += 1;
                let (first, last) = self.position.skipped;
                if first != last && last != self.optind {
                    self.exchange();
                } else if first == last {
                    self.position.skipped.0 = self.optind;
                }
                self.position.skipped.1 = self.argc;
                self.optind = self.argc;
            }
        }
        if self.optind >= self.argc {
            let (first, last) = self.position.skipped;
            if first != last {
                self.optind = first;
            }
            return Some(-1);
        }
        if self.is_no_option() {
            if self.position.ordering == Ordering::Require {
                return Some(-1);
            }
            self.position.optarg = self.argument(self.optind);
            self.optind += 1;
            return Some(1);
        }
        let p = self.argument(self.optind);
        self.makes(s(p));
        if self.long != 0 {
            if byte(p + 1) == b'-' {
                self.position.next = p + 2;
                return self.long_option(self.only_long, "--");
            }
            if self.only_long && (byte(p + 2) != 0 || self.find(byte(p + 1)).is_none()) {
                self.position.next = p + 1;
                let result = self.long_option(true, "-");
                if result.is_some() {
                    return result;
                }
            }
        }
        self.position.next = p + 1;
        None
    }

    /// Whether a long option begins with `n` bytes of an argument, and whether it is the same.
    fn compare(&self, option: usize, n: usize) -> (bool, bool) {
        let (name, given) = (at(option), self.position.next);
        let same = (0..n).take_while(|i| byte(name + i) == byte(given + i) && byte(name + i) != 0).count();
        self.makes(r(name, length(name).min(same + 1)));
        (same == n, same == n && length(name) == n + 1)
    }

    fn missing(&self) -> c_int {
        c_int::from(if byte(self.options) == b':' { b':' } else { b'?' })
    }

    /// Reads a long option. No result where a short one may be meant.
    fn long_option(&mut self, only_long: bool, prefix: &str) -> Option<c_int> {
        let given = self.position.next;
        let n = (0..).take_while(|i| !matches!(byte(given + i), 0 | b'=')).count();
        let (mut found, mut ambiguous) = (None, Vec::new());
        let mut count = 0;
        loop {
            let option = self.long + count * OPTION;
            self.makes(r(option, OPTION));
            if at(option) == 0 {
                break;
            }
            let (begins, is_same) = self.compare(option, n);
            if is_same {
                (found, ambiguous) = (Some(count), Vec::new());
                break;
            }
            if begins {
                let first = *found.get_or_insert(count);
                let here = self.long + first * OPTION;
                let differs = |field: usize| number(here + field) != number(option + field);
                if first != count
                    && (only_long
                        || differs(HAS_ARGUMENT)
                        || differs(VALUE)
                        || at(here + FLAG) != at(option + FLAG))
                {
                    ambiguous.push(count);
                }
            }
            count += 1;
        }
        if !ambiguous.is_empty() {
            let mut line = format!("option '{prefix}{}' is ambiguous; possibilities:", text(given));
            for i in found.into_iter().chain(ambiguous) {
                line += &format!(" '{prefix}{}'", text(at(self.long + i * OPTION)));
            }
            self.complain(&line);
            self.position.next = given + length(given) - 1;
            self.optind += 1;
            self.position.optopt = 0;
            return Some(b'?'.into());
        }
        let Some(found) = found else {
            let is_long = !only_long
                || byte(self.argument(self.optind) + 1) == b'-'
                || self.find(byte(given)).is_none();
            if !is_long {
                return None;
            }
            self.complain(&format!("unrecognized option '{prefix}{}'", text(given)));
            self.position.next = 0;
            self.optind += 1;
            self.position.optopt = 0;
            return Some(b'?'.into());
        };
        let option = self.long + found * OPTION;
        let (has_argument, flag, value) =
            (number(option + HAS_ARGUMENT), at(option + FLAG), number(option + VALUE));
        self.optind += 1;
        self.position.next = 0;
        if byte(given + n) != 0 {
            if has_argument == 0 {
                self.complain(&format!("option '{prefix}{}' doesn't allow an argument", text(at(option))));
                self.position.optopt = value;
                return Some(b'?'.into());
            }
            self.position.optarg = given + n + 1;
        } else if has_argument == 1 {
            if self.optind >= self.argc {
                self.complain(&format!("option '{prefix}{}' requires an argument", text(at(option))));
                self.position.optopt = value;
                return Some(self.missing());
            }
            self.position.optarg = self.argument(self.optind);
            self.optind += 1;
        }
        if self.index != 0 {
            self.store(self.index, found as c_int);
        }
        if flag != 0 {
            self.store(flag, value);
            return Some(0);
        }
        Some(value)
    }

    fn store(&self, place: usize, value: c_int) {
        self.makes(w(place, 4));
        // SAFETY: the program hands in a place for a number.
        unsafe { (place as *mut c_int).write(value) };
    }

    /// Reads a short option.
    fn short(&mut self) -> c_int {
        let c = byte(self.position.next);
        // The result is a `char`, which has a sign.
        let result = c_int::from(c as i8);
        self.position.next += 1;
        let rest = self.position.next;
        if byte(rest) == 0 {
            self.optind += 1;
        }
        let shown = char::from(c);
        let Some(found) = self.find(c).filter(|_| c != b':' && c != b';') else {
            self.complain(&format!("invalid option -- '{shown}'"));
            self.position.optopt = result;
            return b'?'.into();
        };
        let requires = format!("option requires an argument -- '{shown}'");
        if c == b'W' && byte(found + 1) == b';' && self.long != 0 {
            if byte(rest) == 0 {
                if self.optind >= self.argc {
                    self.complain(&requires);
                    self.position.optopt = result;
                    return self.missing();
                }
                self.position.next = self.argument(self.optind);
                self.makes(s(self.position.next));
            }
            return self.long_option(false, "-W ").unwrap_or(-1);
        }
        if byte(found + 1) != b':' {
            return result;
        }
        self.position.next = 0;
        if byte(rest) != 0 {
            self.position.optarg = rest;
            self.optind += 1;
        } else if byte(found + 2) != b':' {
            if self.optind >= self.argc {
                self.complain(&requires);
                self.position.optopt = result;
                return self.missing();
            }
            self.position.optarg = self.argument(self.optind);
            self.optind += 1;
        }
        result
    }
}

fn parse(call: Call, [argc, argv, options, long, index]: [usize; 5], only_long: bool) -> c_int {
    let makes = |access| super::keeping_errno(|| before(access, call));
    makes(change(&OPTIONS));
    makes(r(&raw const opterr as usize, 4));
    makes(r(&raw const optind as usize, 4));
    for (variable, bytes) in
        [(&raw const optind as usize, 4), (&raw const optarg as usize, 8), (&raw const optopt as usize, 4)]
    {
        makes(k(variable, bytes));
    }
    // SAFETY: one OS thread alone runs code of the program, and the variables are the C library's.
    unsafe {
        let argc = argc as c_int as usize;
        let mut parser = Parser {
            call,
            position: POSITION,
            argc,
            argv,
            options,
            long,
            index,
            only_long,
            optind: optind.max(0) as usize,
            prints: opterr != 0,
        };
        let result = parser.run();
        POSITION = parser.position;
        for (variable, bytes) in [
            (&raw const optind as usize, 4),
            (&raw const optarg as usize, 8),
            (&raw const optopt as usize, 4),
        ] {
            super::keeping_errno(|| super::accesses::after(w(variable, bytes), call));
        }
        optind = parser.optind as c_int;
        optarg = parser.position.optarg as *mut c_char;
        optopt = parser.position.optopt;
        result
    }
}

extern "C" fn short_options(argc: usize, argv: usize, options: usize) -> c_int {
    match incoming(false) {
        Some(call) => parse(call, [argc, argv, options, 0, 0], false),
        None => undisturbed(|| real!(getopt(argc, argv, options): fn(usize, usize, usize) -> c_int)),
    }
}

extern "C" fn long_options(argc: usize, argv: usize, options: usize, long: usize, index: usize) -> c_int {
    match incoming(false) {
        Some(call) => parse(call, [argc, argv, options, long, index], false),
        None => undisturbed(
            || real!(getopt_long(argc, argv, options, long, index): fn(usize, usize, usize, usize, usize) -> c_int),
        ),
    }
}

extern "C" fn only_long_options(
    argc: usize,
    argv: usize,
    options: usize,
    long: usize,
    index: usize,
) -> c_int {
    match incoming(false) {
        Some(call) => parse(call, [argc, argv, options, long, index], true),
        None => undisturbed(
            || real!(getopt_long_only(argc, argv, options, long, index): fn(usize, usize, usize, usize, usize) -> c_int),
        ),
    }
}

pub(super) static ROWS: &[Row] = &[
    Row { name: "getopt", entry: super::entry!(short_options) },
    Row { name: "getopt_long", entry: super::entry!(long_options) },
    Row { name: "getopt_long_only", entry: super::entry!(only_long_options) },
];
