//! From return addresses to lines.

use std::fmt;

use crate::names::{self, Owner};
use crate::program::Program;

/// A line of a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The demangled name, without parameters. Without debug information it is `name+0x12` from the symbol table, or
    /// `module+0x1234`.
    pub function: String,
    /// Relative to the base directory, if it lies under it.
    pub file: Option<String>,
    /// Counted from one.
    pub line: Option<u32>,
    /// Counted from one.
    pub column: Option<u32>,
    /// Whether the line belongs to the program: it has a file, and that is not of the system or a standard library.
    pub user: bool,
}

impl Frame {
    /// Whether the line belongs to a standard library. Other libraries that are installed on the system are neither this nor the program.
    pub fn is_standard(&self) -> bool {
        self.file.as_deref().is_some_and(names::is_standard)
    }
}

/// What is at an address of code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The demangled name of the innermost function. See [`Frame::function`].
    pub function: String,
    /// See [`Frame::file`].
    pub file: Option<String>,
    /// Counted from one.
    pub line: Option<u32>,
    /// Counted from one.
    pub column: Option<u32>,
    /// See [`Frame::user`].
    pub user: bool,
    /// If the function was inlined: into which line of which function, and so on outwards. The last one is the
    /// function that has the code.
    pub inlined: Vec<Frame>,
}

impl Place {
    fn new(innermost: Frame, inlined: Vec<Frame>) -> Place {
        let Frame { function, file, line, column, user } = innermost;
        Place { function, file, line, column, user, inlined }
    }

    /// A place of which nothing is known but the address.
    pub(crate) fn unknown(return_address: usize) -> Place {
        Place::new(no_line(format!("{return_address:#x}")), Vec::new())
    }

    /// All frames at the address, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = Frame> + '_ {
        let Place { function, file, line, column, user, .. } = self.clone();
        std::iter::once(Frame { function, file, line, column, user }).chain(self.inlined.iter().cloned())
    }
}

impl fmt::Display for Frame {
    /// `src/queue.c:12:5 in push`, with what is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
                if let Some(column) = self.column {
                    write!(f, ":{column}")?;
                }
            }
            write!(f, " in ")?;
        }
        write!(f, "{}", self.function)
    }
}

impl Program {
    pub(crate) fn place(&mut self, return_address: usize) -> Place {
        if let Some(known) = self.places.get(&return_address) {
            return known.clone();
        }
        let place = self.find_place(return_address as u64);
        self.places.insert(return_address, place.clone());
        place
    }

    fn find_place(&mut self, return_address: u64) -> Place {
        // The call is before the address it returns to, which may already be on another line.
        let address = return_address.saturating_sub(1);
        let Some((module, offset)) = self.module_of(address) else {
            return Place::new(self.nameless(address), Vec::new());
        };
        let at = self.in_file(module, address);
        let name = self.modules[module].name();
        let bases = self.bases.clone();
        let file = self.modules[module].file();
        let fallback = match file.symbol(at, true) {
            Some(symbol) => format!("{}+{:#x}", names::demangle(&symbol.name), at + 1 - symbol.address),
            None => format!("{name}+{:#x}", offset + 1),
        };
        let symbol = file.symbol(at, true).map(|symbol| names::demangle(&symbol.name));
        let mut frames = Vec::new();
        if let Some(context) = file.debug.as_mut().and_then(|debug| debug.context())
            && let Ok(mut found) = context.find_frames(at).skip_all_loads()
        {
            while let Ok(Some(frame)) = found.next() {
                let raw = frame.function.as_ref().and_then(|name| name.raw_name().ok());
                let function = raw.map(|raw| names::demangle(&raw));
                let location = frame.location;
                let path = location.as_ref().and_then(|location| location.file);
                frames.push(Frame {
                    function: function.unwrap_or_default(),
                    file: path.map(|path| names::shown(path, &bases)),
                    line: location.as_ref().and_then(|location| location.line).filter(|&line| line > 0),
                    column: location
                        .as_ref()
                        .and_then(|location| location.column)
                        .filter(|&column| column > 0),
                    user: path.is_some_and(|path| names::owner(path) == Owner::Program),
                });
            }
        }
        // A line without a function is known where only the line table is there; the symbol table has the name.
        if let Some(last) = frames.last_mut()
            && last.function.is_empty()
        {
            last.function = symbol.unwrap_or_else(|| fallback.clone());
        }
        for frame in frames.iter_mut().filter(|frame| frame.function.is_empty()) {
            frame.function = "?".to_string();
        }
        let mut frames = frames.into_iter();
        match frames.next() {
            Some(innermost) => Place::new(innermost, frames.collect()),
            None => Place::new(no_line(fallback), Vec::new()),
        }
    }

    /// An address outside all that could be read: behind the start of a module that could not be, or a number.
    fn nameless(&mut self, address: u64) -> Frame {
        let mut nearest: Option<(u64, String)> = None;
        for module in &mut self.modules {
            if let Some(distance) = module.distance_if_unreadable(address)
                && nearest.as_ref().is_none_or(|(near, _)| distance < *near)
            {
                nearest = Some((distance, module.name()));
            }
        }
        no_line(match nearest {
            Some((distance, name)) => format!("{name}+{:#x}", distance + 1),
            None => format!("{:#x}", address.saturating_add(1)),
        })
    }

    pub(crate) fn user_frame(&mut self, return_addresses: &[usize]) -> Option<Frame> {
        return_addresses.iter().find_map(|&address| self.place(address).frames().find(|frame| frame.user))
    }
}

fn no_line(function: String) -> Frame {
    Frame { function, file: None, line: None, column: None, user: false }
}
