//! Formats of `printf` and `scanf`: which memory a call reads and writes through its arguments.
//!
//! A format is parsed into conversions first, and the arguments are fetched afterwards: with `%2$s` the order of the conversions is not
//! that of the arguments, and the types of all conversions say where an argument lies.

use super::accesses::{length, wide_length};
use crate::printing::Arguments;

/// A character of a format: one byte, or four in a wide one.
pub(crate) trait Character: Copy {
    fn code(self) -> u32;
}

impl Character for u8 {
    fn code(self) -> u32 {
        self.into()
    }
}

impl Character for u32 {
    fn code(self) -> u32 {
        self
    }
}

/// Memory that a call reads or writes through one of its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Touch {
    pub(crate) at: usize,
    pub(crate) bytes: usize,
    pub(crate) writes: bool,
}

/// A conversion of a kind that is not known: what the call accesses from there on is not known either.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unknown;

/// The type of an argument, as far as the calling convention tells types apart.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Word,
    Double,
    LongDouble,
}

/// The most bytes or characters that a conversion of a string may touch.
#[derive(Clone, Copy)]
enum Most {
    Fixed(usize),
    /// The value of an argument; a negative one is no limit.
    Argument(usize),
}

/// The memory behind the argument of a conversion.
#[derive(Clone, Copy)]
enum Behind {
    Nothing,
    String(Most),
    WideString(Most),
    /// A variable of this size that receives a number.
    Number(usize),
}

/// The parser: the next character, and the argument that comes next in a format without positions.
struct Parser<C> {
    at: *const C,
    next: usize,
}

impl<C: Character> Parser<C> {
    fn peek(&self) -> u8 {
        // SAFETY: the format ends with a zero, which nothing passes.
        u8::try_from(unsafe { *self.at }.code()).unwrap_or(b'?')
    }

    fn skip(&mut self) {
        debug_assert_ne!(self.peek(), 0);
        // SAFETY: the current character is not the end.
        self.at = unsafe { self.at.add(1) };
    }

    fn take(&mut self, c: u8) -> bool {
        let found = self.peek() == c;
        if found {
            self.skip();
        }
        found
    }

    fn take_all(&mut self, of: &[u8]) {
        while self.peek() != 0 && of.contains(&self.peek()) {
            self.skip();
        }
    }

    fn number(&mut self) -> usize {
        let mut n = 0usize;
        while self.peek().is_ascii_digit() {
            n = n.saturating_mul(10).saturating_add((self.peek() - b'0').into());
            self.skip();
        }
        n
    }

    /// The position in `2$`, counted from 0, if there is one here.
    fn position(&mut self) -> Option<usize> {
        let start = self.at;
        let n = self.number();
        if n > 0 && self.take(b'$') {
            return Some(n - 1);
        }
        self.at = start;
        None
    }

    /// The argument of a conversion, or of a `*`.
    fn argument(&mut self, position: Option<usize>) -> usize {
        position.unwrap_or_else(|| {
            self.next += 1;
            self.next - 1
        })
    }

    /// Moves behind the next `%` that starts a conversion; false at the end of the format.
    fn find(&mut self) -> bool {
        while self.peek() != 0 {
            let starts = self.take(b'%');
            if starts && !self.take(b'%') {
                return true;
            }
            if !starts {
                self.skip();
            }
        }
        false
    }
}

/// Length modifiers of a conversion.
#[derive(Clone, Copy, Default)]
struct Size {
    short: u8,
    long: u8,
    long_double: bool,
}

impl Size {
    fn parse<C: Character>(parser: &mut Parser<C>) -> Size {
        let mut size = Size::default();
        loop {
            match parser.peek() {
                b'h' => size.short = size.short.saturating_add(1),
                b'l' | b'q' | b'j' | b'z' | b'Z' | b't' => size.long = size.long.saturating_add(1),
                b'L' => size.long_double = true,
                _ => return size,
            }
            parser.skip();
        }
    }

    fn of_integer(self) -> usize {
        match self {
            Size { short: 1, .. } => 2,
            Size { short: 2.., .. } => 1,
            Size { long: 0, long_double: false, .. } => 4,
            _ => 8,
        }
    }

    fn of_float(self) -> usize {
        match self {
            Size { long_double: true, .. } => 16,
            Size { long: 0, .. } => 4,
            _ => 8,
        }
    }
}

/// Calls `see` with the strings that a format prints and the variables that `%n` sets. At a conversion that is not known it ends.
///
/// # Safety
///
/// The format ends with a zero, and the arguments are those that it says.
pub(crate) unsafe fn printed<C: Character>(
    format: *const C,
    mut left: Arguments,
    mut see: impl FnMut(Touch),
) -> Result<(), Unknown> {
    let mut parser = Parser { at: format, next: 0 };
    let mut types: Vec<Type> = Vec::new();
    let mut touches: Vec<(usize, Behind)> = Vec::new();
    let mut result = Ok(());
    let mut has_type = |argument: usize, t: Type| {
        // The C library has a limit, too.
        if argument < 4096 {
            types.resize(types.len().max(argument + 1), Type::Word);
            types[argument] = t;
        }
    };
    while parser.find() {
        let position = parser.position();
        parser.take_all(b"-+ #0'I");
        if parser.take(b'*') {
            let width = parser.position();
            has_type(parser.argument(width), Type::Word);
        } else {
            parser.number();
        }
        let mut most = Most::Fixed(usize::MAX);
        if parser.take(b'.') {
            if parser.take(b'*') {
                let precision = parser.position();
                let argument = parser.argument(precision);
                has_type(argument, Type::Word);
                most = Most::Argument(argument);
            } else {
                most = Most::Fixed(parser.number());
            }
        }
        let size = Size::parse(&mut parser);
        let kind = parser.peek();
        let (argument_type, behind) = match kind {
            b'S' => (Type::Word, Behind::WideString(most)),
            b's' if size.long > 0 => (Type::Word, Behind::WideString(most)),
            b's' => (Type::Word, Behind::String(most)),
            b'n' => (Type::Word, Behind::Number(size.of_integer())),
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'b' | b'B' | b'c' | b'C' | b'p' => {
                (Type::Word, Behind::Nothing)
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' if size.long_double => {
                (Type::LongDouble, Behind::Nothing)
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => (Type::Double, Behind::Nothing),
            b'm' | b'%' => {
                parser.skip();
                continue;
            }
            0 => break,
            _ => {
                result = Err(Unknown);
                break;
            }
        };
        parser.skip();
        let argument = parser.argument(position);
        has_type(argument, argument_type);
        if !matches!(behind, Behind::Nothing) {
            touches.push((argument, behind));
        }
    }
    let values: Vec<usize> = types
        .iter()
        .map(|t| match t {
            // SAFETY: by the contract there is an argument of this type.
            Type::Word => unsafe { left.word() },
            Type::Double => {
                left.float();
                0
            }
            Type::LongDouble => {
                left.long_double();
                0
            }
        })
        .collect();
    let value = |argument: usize| values.get(argument).copied().unwrap_or(0);
    let limit = |most: Most| match most {
        Most::Fixed(n) => n,
        Most::Argument(a) => usize::try_from(value(a) as i32).unwrap_or(usize::MAX),
    };
    for (argument, behind) in touches {
        let at = value(argument);
        let (bytes, writes) = match behind {
            _ if at == 0 => continue,
            Behind::Nothing => continue,
            Behind::String(most) => (crate::strings::extent(at as *const _, limit(most)), false),
            Behind::WideString(most) => (wide_length(at, limit(most)), false),
            Behind::Number(bytes) => (bytes, true),
        };
        see(Touch { at, bytes, writes });
    }
    result
}

/// Calls `see` with what a scan has written: `assigned` conversions of a format, and `%n` before the next one.
///
/// # Safety
///
/// The format ends with a zero, the arguments are those that it says, and the scan is over.
pub(crate) unsafe fn scanned<C: Character>(
    format: *const C,
    mut left: Arguments,
    mut assigned: usize,
    mut see: impl FnMut(Touch),
) -> Result<(), Unknown> {
    let mut parser = Parser { at: format, next: 0 };
    let mut values: Vec<usize> = Vec::new();
    while parser.find() {
        let position = parser.position();
        parser.take_all(b"'I");
        let dropped = parser.take(b'*');
        parser.take_all(b"'I");
        let width = parser.number();
        let allocates = parser.take(b'm');
        let size = Size::parse(&mut parser);
        let kind = parser.peek();
        if kind == 0 {
            return Ok(());
        }
        parser.skip();
        if kind == b'[' {
            parser.take(b'^');
            parser.take(b']');
            while parser.peek() != 0 && parser.peek() != b']' {
                parser.skip();
            }
            if parser.peek() != 0 {
                parser.skip();
            }
        }
        if dropped {
            continue;
        }
        if kind != b'n' {
            if assigned == 0 {
                return Ok(());
            }
            assigned -= 1;
        }
        let argument = parser.argument(position);
        while values.len() <= argument.min(4096) {
            // SAFETY: by the contract each argument up to this one is a pointer.
            values.push(unsafe { left.word() });
        }
        let Some(&at) = values.get(argument) else { return Err(Unknown) };
        let is_wide = size.long > 0 || matches!(kind, b'S' | b'C');
        let bytes = match kind {
            b's' | b'S' | b'[' | b'c' | b'C' if allocates => 8,
            b's' | b'S' | b'[' if is_wide => wide_length(at, usize::MAX),
            b's' | b'[' => length(at),
            b'c' | b'C' => width.max(1) * if is_wide { 4 } else { 1 },
            b'p' => 8,
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'n' => size.of_integer(),
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => size.of_float(),
            _ => return Err(Unknown),
        };
        see(Touch { at, bytes, writes: true });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments that all lie on the stack.
    fn on_stack(words: &[usize]) -> Arguments {
        Arguments::on_stack(words.as_ptr() as usize)
    }

    fn touched_by_printing(format: &[u8], words: &[usize]) -> Vec<(usize, usize, bool)> {
        let mut found = Vec::new();
        assert_eq!(format.last(), Some(&0));
        // SAFETY: the format ends with a zero, and each test hands in its arguments.
        let known =
            unsafe { printed(format.as_ptr(), on_stack(words), |t| found.push((t.at, t.bytes, t.writes))) };
        assert_eq!(known, Ok(()));
        found
    }

    #[test]
    fn positions_say_which_argument_is_printed() {
        let s = c"abc".as_ptr() as usize;
        assert_eq!(touched_by_printing(b"%2$s %1$d\n\0", &[1, s]), [(s, 4, false)]);
        assert_eq!(touched_by_printing(b"%3$*2$d %1$s\0", &[s, 9, 5]), [(s, 4, false)]);
    }

    #[test]
    fn precisions_limit_what_is_read_and_n_is_written() {
        let (s, n) = (c"abcdef".as_ptr() as usize, 0u64);
        let to = &raw const n as usize;
        assert_eq!(touched_by_printing(b"%.2s%%%n\0", &[s, to]), [(s, 2, false), (to, 4, true)]);
        assert_eq!(touched_by_printing(b"%-5.*s|%hhn\0", &[3, s, to]), [(s, 3, false), (to, 1, true)]);
        assert_eq!(touched_by_printing(b"%.*s\0", &[-1i32 as u32 as usize, s]), [(s, 7, false)]);
    }

    #[test]
    fn wide_strings_have_four_bytes_a_character() {
        let s = [u32::from(b'a'), u32::from(b'b'), 0];
        let at = s.as_ptr() as usize;
        for format in [b"%ls\0".as_slice(), b"%S\0"] {
            assert_eq!(touched_by_printing(format, &[at]), [(at, 12, false)]);
        }
        assert_eq!(touched_by_printing(b"%.1ls\0", &[at]), [(at, 4, false)]);
    }

    #[test]
    fn a_conversion_that_is_not_known_is_said() {
        // SAFETY: no argument is fetched.
        assert_eq!(unsafe { printed(c"%y".as_ptr().cast::<u8>(), on_stack(&[]), |_| ()) }, Err(Unknown));
    }

    #[test]
    fn a_scan_writes_what_it_has_assigned() {
        let mut found = Vec::new();
        let words = [16, 32, 48, 64];
        // SAFETY: the format ends with a zero; no string is scanned, so the addresses are not followed.
        let known = unsafe {
            scanned(c"%d %*d%hd%n %[^]x]%ld".as_ptr().cast::<u8>(), on_stack(&words), 2, |t| {
                found.push((t.at, t.bytes))
            })
        };
        assert_eq!((known, found), (Ok(()), vec![(16, 4), (32, 2), (48, 4)]));
        let mut found = Vec::new();
        // SAFETY: as above.
        unsafe {
            scanned(c"%2$d %1$ld".as_ptr().cast::<u8>(), on_stack(&words), 2, |t| found.push((t.at, t.bytes)))
        }
        .unwrap();
        assert_eq!(found, [(32, 4), (16, 8)]);
    }
}
