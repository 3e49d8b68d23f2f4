//! One file of the program: the executable or a shared object, where it is mapped, its symbol table, and its debug
//! information if it has any.
//!
//! Invariant: nothing here fails. A file that cannot be read is a module without symbols, and says why.

use std::ops::Range;
use std::path::{Path, PathBuf};

use object::{Object, ObjectKind, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::debug::{Debug, Slice};
use crate::names;

/// A module as it was added; the file is read when somebody asks.
pub(crate) struct Module {
    path: PathBuf,
    base: u64,
    /// Where it is mapped, when the caller knew; spares reading files that cannot be meant.
    mapped: Option<Range<u64>>,
    file: Option<File>,
}

/// What was in the file.
pub(crate) struct File {
    /// Run-time address minus address in the file.
    pub(crate) bias: u64,
    /// Addresses in the file that are mapped; empty if the file could not be read.
    span: Range<u64>,
    /// Sorted by address.
    symbols: Vec<Symbol>,
    pub(crate) debug: Option<Debug>,
    pub(crate) little_endian: bool,
    pub(crate) x86_64: bool,
    /// What could not be read, in words.
    pub(crate) problem: Option<String>,
}

/// A line of the symbol table.
pub(crate) struct Symbol {
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// The end of its section, which is as far as a symbol without a size can reach.
    limit: u64,
    pub(crate) name: String,
    pub(crate) code: bool,
}

impl Module {
    pub(crate) fn new(path: PathBuf, base: u64, mapped: Option<Range<u64>>) -> Module {
        Module { path, base, mapped, file: None }
    }

    /// The name shown with an offset when there is nothing better.
    pub(crate) fn name(&self) -> String {
        names::file_name(&self.path.to_string_lossy()).to_string()
    }

    /// The file, read at the first call.
    pub(crate) fn file(&mut self) -> &mut File {
        self.file.get_or_insert_with(|| File::read(&self.path, self.base))
    }

    /// The distance from where the module is mapped, when the address is in it.
    pub(crate) fn offset(&mut self, address: u64) -> Option<u64> {
        if self.mapped.as_ref().is_some_and(|mapped| !mapped.contains(&address)) {
            return None;
        }
        let base = self.base;
        let file = self.file();
        if file.span.is_empty() {
            return None;
        }
        let inner = address.wrapping_sub(file.bias);
        file.span.contains(&inner).then(|| if file.bias == 0 { inner } else { address.wrapping_sub(base) })
    }

    /// How far behind its start an address is, for a module of which nothing is known but the start.
    pub(crate) fn distance_if_unreadable(&mut self, address: u64) -> Option<u64> {
        if self.mapped.as_ref().is_some_and(|mapped| !mapped.contains(&address)) {
            return None;
        }
        let base = self.base;
        if self.file().span.is_empty() { address.checked_sub(base) } else { None }
    }
}

impl File {
    fn unreadable(path: &Path, why: &str) -> File {
        File {
            bias: 0,
            span: 0..0,
            symbols: Vec::new(),
            debug: None,
            little_endian: cfg!(target_endian = "little"),
            x86_64: false,
            problem: Some(format!("{}: {why}", path.display())),
        }
    }

    fn read(path: &Path, base: u64) -> File {
        let data = match std::fs::read(path) {
            Ok(data) => data,
            Err(error) => return File::unreadable(path, &error.to_string()),
        };
        let object = match object::File::parse(&*data) {
            Ok(object) => object,
            Err(error) => return File::unreadable(path, &format!("not a readable ELF file ({error})")),
        };
        let mut span: Option<Range<u64>> = None;
        for segment in object.segments() {
            let (start, end) = (segment.address(), segment.address().saturating_add(segment.size()));
            let old = span.unwrap_or(start..end);
            span = Some(old.start.min(start)..old.end.max(end));
        }
        let Some(span) = span.filter(|span| !span.is_empty()) else {
            return File::unreadable(path, "nothing in it is loaded into memory");
        };
        // An executable that is not position independent is where it was linked to be, whatever the caller says.
        let first_page = span.start & !0xfff;
        let bias = match object.kind() {
            ObjectKind::Executable => 0,
            _ => base.wrapping_sub(first_page),
        };
        let little_endian = object.is_little_endian();
        let mut problem = None;
        let debug = Debug::read(little_endian, |name| section(&object, name, path, &mut problem));
        File {
            bias,
            span: first_page..span.end,
            symbols: symbols(&object),
            debug,
            little_endian,
            x86_64: object.architecture() == object::Architecture::X86_64,
            problem,
        }
    }

    /// The symbol that an address of the file lies in. A symbol without a size reaches to the next one.
    pub(crate) fn symbol(&self, address: u64, code: bool) -> Option<&Symbol> {
        let end = self.symbols.partition_point(|symbol| symbol.address <= address);
        // A few symbols can begin at one address, and a sized one may lie inside another.
        let near = self.symbols[..end].iter().rev().take(16);
        let mut unsized_one = None;
        let mut between = false;
        for symbol in near.filter(|symbol| symbol.code == code) {
            if symbol.size == 0 {
                if !between && address < symbol.limit {
                    unsized_one = unsized_one.or(Some(symbol));
                }
            } else if address - symbol.address < symbol.size {
                return Some(symbol);
            } else {
                between = true;
            }
        }
        unsized_one
    }

    /// How many bytes the symbol table says the object at this address has.
    pub(crate) fn size_of_object(&self, address: u64) -> u64 {
        let start = self.symbols.partition_point(|symbol| symbol.address < address);
        let here = self.symbols[start..].iter().take_while(|symbol| symbol.address == address);
        here.filter(|symbol| !symbol.code).map(|symbol| symbol.size).max().unwrap_or(0)
    }

    /// Whether an address of the file is mapped at all: what the linker dropped has address zero or so.
    pub(crate) fn holds(&self, address: u64) -> bool {
        address != 0 && self.span.contains(&address)
    }
}

fn section(
    object: &object::File<'_>,
    name: &str,
    path: &Path,
    problem: &mut Option<String>,
) -> Option<Slice> {
    let section = object.section_by_name(name)?;
    match section.uncompressed_data() {
        Ok(data) => Some(Slice::from(&*data)),
        Err(error) => {
            problem.get_or_insert_with(|| format!("{}: section {name}: {error}", path.display()));
            None
        }
    }
}

fn symbols(object: &object::File<'_>) -> Vec<Symbol> {
    let mut found: Vec<Symbol> = object
        .symbols()
        .chain(object.dynamic_symbols())
        .filter(|symbol| symbol.is_definition() || symbol.kind() == SymbolKind::Unknown)
        .filter(|symbol| symbol.address() != 0 && symbol.section_index().is_some())
        .filter_map(|symbol| {
            // Thread-local symbols are offsets, no addresses; sections, files and labels are no names for people.
            let code = match symbol.kind() {
                SymbolKind::Text => true,
                SymbolKind::Data => false,
                _ => return None,
            };
            // The linker writes the version of a library behind a name: `stdout@GLIBC_2.2.5`.
            let name = symbol.name().ok().and_then(|name| name.split('@').next());
            let name = name.filter(|name| !name.is_empty())?;
            let section = object.section_by_index(symbol.section_index()?).ok()?;
            let limit = section.address().saturating_add(section.size());
            Some(Symbol {
                address: symbol.address(),
                size: symbol.size(),
                limit,
                name: name.to_string(),
                code,
            })
        })
        .collect();
    // Of several names for one place the symbol table's first is kept, and that is the last one after the sort.
    found.reverse();
    found.sort_by_key(|symbol| symbol.address);
    found
}
