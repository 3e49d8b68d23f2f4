//! The debug information (DWARF) of one module, and what one pass over it collects: variables with a fixed address,
//! functions with their code, and definitions of types by name.
//!
//! Invariant: a part that cannot be read is left out; what can be read elsewhere still is.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use gimli::{AttributeValue, Operation, Reader as _, RunTimeEndian, Section as _, UnitOffset};

use crate::names::{self, Owner};
use crate::types::Type;

/// The bytes of a section.
pub(crate) type Slice = Arc<[u8]>;
pub(crate) type Reader = gimli::EndianArcSlice<RunTimeEndian>;
pub(crate) type Unit = gimli::Unit<Reader>;
pub(crate) type Entry = gimli::DebuggingInformationEntry<Reader>;
type Value = AttributeValue<Reader>;

/// Chains of references (a definition of a declaration of ...) are short; longer ones are loops.
const CHAIN: usize = 8;

/// An entry of the debug information of one module: the number of its unit, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Die {
    pub(crate) unit: u32,
    pub(crate) offset: usize,
}

/// The debug information of one module.
pub(crate) struct Debug {
    pub(crate) dwarf: Arc<gimli::Dwarf<Reader>>,
    context: Option<addr2line::Context<Reader>>,
    index: Option<Index>,
    /// Types that were asked for.
    pub(crate) types: HashMap<Die, Arc<Type>>,
}

/// What one pass over all entries found.
#[derive(Default)]
pub(crate) struct Index {
    units: Vec<Unit>,
    /// Units of `.debug_info` by where they begin, for references from one unit to another.
    starts: Vec<(usize, u32)>,
    /// Types that have a unit of their own.
    signatures: HashMap<u64, Die>,
    /// Sorted by address.
    pub(crate) variables: Vec<Global>,
    /// Sorted by where the code begins.
    functions: Vec<(Range<u64>, Die)>,
    /// Structures, classes, unions and enumerations that are defined, by full name.
    records: HashMap<String, Die>,
    /// Other types by name.
    others: HashMap<String, Die>,
    /// Types of external variables that are only declared.
    declared: HashMap<String, Die>,
    /// Full names of records, and of what is only declared.
    full_names: HashMap<Die, String>,
}

/// A variable with a fixed address.
#[derive(Clone)]
pub(crate) struct Global {
    /// In the file.
    pub(crate) address: u64,
    pub(crate) name: String,
    pub(crate) ty: Option<Die>,
    /// The function it is a static variable of.
    function: Option<String>,
    file: Option<String>,
    line: Option<u64>,
    external: bool,
}

impl Debug {
    /// Reads the sections; `None` if there is no debug information among them.
    pub(crate) fn read(little_endian: bool, mut section: impl FnMut(&str) -> Option<Slice>) -> Option<Debug> {
        let endian = if little_endian { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let mut load = |id: gimli::SectionId| {
            let data = section(id.name()).unwrap_or_else(|| Slice::from(&[][..]));
            Ok::<_, gimli::Error>(Reader::new(data, endian))
        };
        let dwarf = gimli::Dwarf::load(&mut load).ok()?;
        if dwarf.debug_info.reader().is_empty() && dwarf.debug_line.reader().is_empty() {
            return None;
        }
        Some(Debug { dwarf: Arc::new(dwarf), context: None, index: None, types: HashMap::new() })
    }

    /// What turns addresses into lines.
    pub(crate) fn context(&mut self) -> Option<&addr2line::Context<Reader>> {
        if self.context.is_none() {
            self.context = addr2line::Context::from_arc_dwarf(self.dwarf.clone()).ok();
        }
        self.context.as_ref()
    }

    /// Makes the index, unless it is there. `holds` says whether an address of the file is mapped.
    pub(crate) fn prepare(&mut self, holds: impl Fn(u64) -> bool) {
        if self.index.is_none() {
            self.index = Some(Index::new(&self.dwarf, holds));
        }
    }

    /// The index, after [`Debug::prepare`].
    pub(crate) fn index(&self) -> Option<&Index> {
        self.index.as_ref()
    }

    pub(crate) fn unit(&self, die: Die) -> Option<&Unit> {
        self.index.as_ref()?.units.get(die.unit as usize)
    }

    pub(crate) fn entry(&self, die: Die) -> Option<Entry> {
        self.unit(die)?.entry(UnitOffset(die.offset)).ok()
    }

    /// The entry that a reference leads to.
    pub(crate) fn target(&self, from: Die, value: Option<Value>) -> Option<Die> {
        self.index.as_ref()?.target(from.unit, value?)
    }

    /// A name of the entry, or of what it completes.
    pub(crate) fn name(&self, die: Die, entry: &Entry) -> Option<String> {
        self.index.as_ref()?.name(&self.dwarf, die, entry)
    }

    /// An attribute of the entry, or of what it completes.
    pub(crate) fn inherited(&self, die: Die, entry: &Entry, name: gimli::DwAt) -> Option<(Die, Value)> {
        self.index.as_ref()?.inherited(die, entry, name)
    }

    /// The definition of what is only declared at `die`.
    pub(crate) fn definition(&self, die: Die, entry: &Entry) -> Option<Die> {
        let index = self.index.as_ref()?;
        if let Some(Value::DebugTypesRef(signature)) = entry.attr_value(gimli::DW_AT_signature) {
            return index.signatures.get(&signature.0).copied();
        }
        index.records.get(index.full_names.get(&die)?).copied()
    }

    /// The type of a variable that is defined in another module.
    pub(crate) fn declared_variable(&self, name: &str) -> Option<Die> {
        self.index.as_ref()?.declared.get(name).copied()
    }

    /// A type with this full name.
    pub(crate) fn type_named(&self, name: &str) -> Option<Die> {
        let index = self.index.as_ref()?;
        let bare = ["struct ", "class ", "union ", "enum "].iter().find_map(|word| name.strip_prefix(word));
        let name = bare.unwrap_or(name);
        index.records.get(name).or_else(|| index.others.get(name)).copied()
    }

    /// The function whose code is at an address of the file.
    pub(crate) fn function(&self, address: u64) -> Option<Die> {
        let functions = &self.index.as_ref()?.functions;
        let end = functions.partition_point(|(code, _)| code.start <= address);
        functions[..end].iter().rev().take(8).find(|(code, _)| code.contains(&address)).map(|(_, die)| *die)
    }

    /// Whom the file belongs to that the entry was declared in.
    pub(crate) fn owner(&self, die: Die, entry: &Entry) -> Owner {
        let file = self.index.as_ref().and_then(|index| index.file(&self.dwarf, die, entry));
        // Rust declares no files for its types; their full names say where they are from.
        match file {
            Some(file) => names::owner(&file),
            None if self.is_rust(die) => {
                let name = self.index.as_ref().and_then(|index| index.full_names.get(&die));
                let std = ["core::", "alloc::", "std::"];
                match name {
                    Some(name) if std.iter().any(|root| name.starts_with(root)) => Owner::RustStd,
                    _ => Owner::Program,
                }
            }
            None => Owner::Program,
        }
    }

    /// Whether the unit was written in Rust.
    pub(crate) fn is_rust(&self, die: Die) -> bool {
        let root = self.unit(die).and_then(|unit| unit.entry(unit.header.root_offset()).ok());
        let language = root.and_then(|root| root.attr_value(gimli::DW_AT_language));
        matches!(language, Some(Value::Language(gimli::DW_LANG_Rust)))
    }

    /// The operations of a place that is one operation, at an address of code. `None` for all other places.
    pub(crate) fn single_operation(&self, die: Die, value: Value, pc: u64) -> Option<Operation<Reader>> {
        let unit = self.unit(die)?;
        if let Value::Exprloc(expression) = value {
            return single(unit, expression);
        }
        let mut list = self.dwarf.attr_locations(unit, value).ok()??;
        while let Ok(Some(entry)) = list.next() {
            if entry.range.begin <= pc && pc < entry.range.end {
                return single(unit, entry.data);
            }
        }
        None
    }

    /// Whether the code of an entry has an address of the file.
    pub(crate) fn has_code(&self, die: Die, entry: &Entry, pc: u64) -> bool {
        let Some(unit) = self.unit(die) else { return false };
        ranges(&self.dwarf, unit, entry).iter().any(|range| range.contains(&pc))
    }
}

fn single(unit: &Unit, expression: gimli::Expression<Reader>) -> Option<Operation<Reader>> {
    let mut operations = expression.operations(unit.encoding());
    let only = operations.next().ok()??;
    matches!(operations.next(), Ok(None)).then_some(only)
}

fn ranges(dwarf: &gimli::Dwarf<Reader>, unit: &Unit, entry: &Entry) -> Vec<Range<u64>> {
    let mut found = Vec::new();
    let address = |name| {
        let value = entry.attr_value(name)?;
        dwarf.attr_address(unit, value).ok()?
    };
    if let Some(value) = entry.attr_value(gimli::DW_AT_ranges) {
        if let Ok(Some(mut ranges)) = dwarf.attr_ranges(unit, value) {
            while let Ok(Some(range)) = ranges.next() {
                found.push(range.begin..range.end);
            }
        }
    } else if let Some(start) = address(gimli::DW_AT_low_pc) {
        // The end is an address or a length, which in odd debug information may lead too far.
        let length = entry.attr_value(gimli::DW_AT_high_pc).and_then(|value| value.udata_value());
        let end = match length {
            Some(length) => start.checked_add(length),
            None => address(gimli::DW_AT_high_pc),
        };
        found.extend(end.map(|end| start..end));
    }
    found.retain(|range| !range.is_empty());
    found
}

/// What is found in one unit.
#[derive(Default)]
struct Places {
    variables: Vec<Global>,
    functions: Vec<(Range<u64>, Die)>,
    declared: Vec<(String, Die)>,
}

/// What the pass stands in.
struct Scope {
    depth: isize,
    name: Option<String>,
    function: bool,
}

impl Index {
    fn new(dwarf: &gimli::Dwarf<Reader>, holds: impl Fn(u64) -> bool) -> Index {
        let mut index = Index::default();
        let mut headers = Vec::new();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            headers.push(header);
        }
        let mut type_units = dwarf.type_units();
        while let Ok(Some(header)) = type_units.next() {
            headers.push(header);
        }
        for header in headers {
            let Ok(unit) = dwarf.unit(header) else { continue };
            let number = index.units.len() as u32;
            if let Some(start) = unit.header.debug_info_offset() {
                index.starts.push((start.0, number));
            }
            if let gimli::UnitType::Type { type_signature, type_offset } = unit.header.type_() {
                index.signatures.insert(type_signature.0, Die { unit: number, offset: type_offset.0 });
            }
            index.units.push(unit);
        }
        index.starts.sort_unstable();
        let units = std::mem::take(&mut index.units);
        // Names of what variables complete may stand in later units, so those are collected first.
        for (number, unit) in units.iter().enumerate() {
            index.collect_names(dwarf, number as u32, unit);
        }
        index.units = units;
        for number in 0..index.units.len() as u32 {
            let found = index.collect_places(dwarf, number, &holds);
            index.variables.extend(found.variables);
            index.functions.extend(found.functions);
            index.declared.extend(found.declared);
        }
        index.functions.sort_by_key(|(code, die)| (code.start, *die));
        index.settle_names();
        index
    }

    /// Full names of types and declarations.
    fn collect_names(&mut self, dwarf: &gimli::Dwarf<Reader>, number: u32, unit: &Unit) {
        let mut scopes: Vec<Scope> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            while scopes.last().is_some_and(|scope| scope.depth >= entry.depth()) {
                scopes.pop();
            }
            let die = Die { unit: number, offset: entry.offset().0 };
            let name = own_name(dwarf, unit, entry);
            match entry.tag() {
                gimli::DW_TAG_namespace => scopes.push(Scope { depth: entry.depth(), name, function: false }),
                gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type
                | gimli::DW_TAG_enumeration_type => {
                    if let Some(name) = &name {
                        // A type in a unit of its own stands outside the namespace that it completes a name of.
                        let up = entry.attr_value(gimli::DW_AT_specification);
                        let up = up.and_then(|up| self.full_names.get(&self.target(number, up)?));
                        let full = up.cloned().unwrap_or_else(|| joined(&scopes, name));
                        self.full_names.insert(die, full.clone());
                        if !entry.has_attr(gimli::DW_AT_declaration) {
                            self.records.entry(full).or_insert(die);
                        }
                    }
                    scopes.push(Scope { depth: entry.depth(), name, function: false });
                }
                gimli::DW_TAG_base_type | gimli::DW_TAG_typedef => {
                    if let Some(name) = &name {
                        self.others.entry(joined(&scopes, name)).or_insert(die);
                    }
                }
                gimli::DW_TAG_variable | gimli::DW_TAG_member | gimli::DW_TAG_subprogram
                    if entry.has_attr(gimli::DW_AT_declaration) =>
                {
                    if let Some(name) = &name {
                        self.full_names.insert(die, joined(&scopes, name));
                    }
                }
                _ => {}
            }
        }
    }

    /// Variables and functions.
    fn collect_places(
        &self,
        dwarf: &gimli::Dwarf<Reader>,
        number: u32,
        holds: &impl Fn(u64) -> bool,
    ) -> Places {
        let mut found = Places::default();
        let unit = &self.units[number as usize];
        let mut scopes: Vec<Scope> = Vec::new();
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            while scopes.last().is_some_and(|scope| scope.depth >= entry.depth()) {
                scopes.pop();
            }
            let die = Die { unit: number, offset: entry.offset().0 };
            match entry.tag() {
                gimli::DW_TAG_namespace
                | gimli::DW_TAG_structure_type
                | gimli::DW_TAG_class_type
                | gimli::DW_TAG_union_type => {
                    let name = own_name(dwarf, unit, entry);
                    scopes.push(Scope { depth: entry.depth(), name, function: false });
                }
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine => {
                    let name = self.full(dwarf, die, entry, &scopes);
                    if entry.tag() == gimli::DW_TAG_subprogram {
                        let code = ranges(dwarf, unit, entry).into_iter().filter(|code| holds(code.start));
                        found.functions.extend(code.map(|code| (code, die)));
                    }
                    scopes.push(Scope { depth: entry.depth(), name, function: true });
                }
                gimli::DW_TAG_variable => {
                    if entry.has_attr(gimli::DW_AT_declaration) {
                        let ty = entry.attr_value(gimli::DW_AT_type).and_then(|ty| self.target(number, ty));
                        let name =
                            self.full_names.get(&die).filter(|_| entry.has_attr(gimli::DW_AT_external));
                        found.declared.extend(name.cloned().zip(ty));
                    }
                    let Some(address) = self.fixed_address(dwarf, unit, entry).filter(|&at| holds(at)) else {
                        continue;
                    };
                    let Some(name) = self.full(dwarf, die, entry, &scopes) else { continue };
                    let function = scopes.iter().rev().find(|scope| scope.function);
                    let ty = self.inherited(die, entry, gimli::DW_AT_type);
                    let file = self.file(dwarf, die, entry);
                    found.variables.push(Global {
                        address,
                        name,
                        ty: ty.and_then(|(at, value)| self.target(at.unit, value)),
                        function: function.and_then(|scope| scope.name.clone()),
                        file: file.map(|file| names::file_name(&file).to_string()),
                        line: self
                            .inherited(die, entry, gimli::DW_AT_decl_line)
                            .and_then(|(_, line)| line.udata_value()),
                        external: self.inherited(die, entry, gimli::DW_AT_external).is_some(),
                    });
                }
                _ => {}
            }
        }
        found
    }

    /// The address of a variable that is in one place for the whole run, and the same in each thread.
    fn fixed_address(&self, dwarf: &gimli::Dwarf<Reader>, unit: &Unit, entry: &Entry) -> Option<u64> {
        let Value::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else { return None };
        let mut operations = expression.operations(unit.encoding());
        let mut address = match operations.next().ok()?? {
            Operation::Address { address } => address,
            Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
            _ => return None,
        };
        while let Some(operation) = operations.next().ok()? {
            match operation {
                Operation::PlusConstant { value } => address = address.checked_add(value)?,
                _ => return None,
            }
        }
        Some(address)
    }

    /// A name with the namespaces and classes around it. Inside a function the name alone.
    fn full(
        &self,
        dwarf: &gimli::Dwarf<Reader>,
        die: Die,
        entry: &Entry,
        scopes: &[Scope],
    ) -> Option<String> {
        for attribute in [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin] {
            let declared = entry.attr_value(attribute).and_then(|value| self.target(die.unit, value));
            if let Some(full) = declared.and_then(|at| self.full_names.get(&at)) {
                return Some(full.clone());
            }
        }
        let name = self.name(dwarf, die, entry)?;
        // What comes out of line or inlined has its scopes elsewhere; its own name must do.
        let scopes = match scopes.iter().rposition(|scope| scope.function) {
            Some(at) => &scopes[at + 1..],
            None => scopes,
        };
        Some(joined(scopes, &name))
    }

    fn target(&self, unit: u32, value: Value) -> Option<Die> {
        match value {
            Value::UnitRef(offset) => Some(Die { unit, offset: offset.0 }),
            Value::DebugInfoRef(offset) => {
                let end = self.starts.partition_point(|(start, _)| *start <= offset.0);
                let (_, unit) = *self.starts.get(end.checked_sub(1)?)?;
                let inner = offset.to_unit_offset(&self.units.get(unit as usize)?.header)?;
                Some(Die { unit, offset: inner.0 })
            }
            Value::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            _ => None,
        }
    }

    fn inherited(&self, die: Die, entry: &Entry, name: gimli::DwAt) -> Option<(Die, Value)> {
        let (mut die, mut entry) = (die, entry.clone());
        for _ in 0..CHAIN {
            if let Some(value) = entry.attr_value(name) {
                return Some((die, value));
            }
            let up = entry
                .attr_value(gimli::DW_AT_specification)
                .or_else(|| entry.attr_value(gimli::DW_AT_abstract_origin))?;
            die = self.target(die.unit, up)?;
            entry = self.units.get(die.unit as usize)?.entry(UnitOffset(die.offset)).ok()?;
        }
        None
    }

    fn name(&self, dwarf: &gimli::Dwarf<Reader>, die: Die, entry: &Entry) -> Option<String> {
        let (at, value) = self.inherited(die, entry, gimli::DW_AT_name)?;
        let text = dwarf.attr_string(self.units.get(at.unit as usize)?, value).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    /// The path of the file that the entry was declared in.
    fn file(&self, dwarf: &gimli::Dwarf<Reader>, die: Die, entry: &Entry) -> Option<String> {
        let (at, value) = self.inherited(die, entry, gimli::DW_AT_decl_file)?;
        let number = match value {
            Value::FileIndex(number) => number,
            other => other.udata_value()?,
        };
        let unit = self.units.get(at.unit as usize)?;
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(number)?;
        let text = |value| Some(dwarf.attr_string(unit, value).ok()?.to_string_lossy().ok()?.into_owned());
        let name = text(file.path_name())?;
        let directory = file.directory(header).and_then(text).unwrap_or_default();
        Some(if name.starts_with('/') { name } else { format!("{directory}/{name}") })
    }

    /// Two variables must not look like one: static ones that share a name get their function in front, or
    /// their file, or the line as well.
    fn settle_names(&mut self) {
        self.variables
            .sort_by(|a, b| (a.address, &a.name, !a.external).cmp(&(b.address, &b.name, !b.external)));
        self.variables.dedup_by(|b, a| {
            let same = a.address == b.address && a.name == b.name;
            if same {
                a.ty = a.ty.or(b.ty);
                a.function = a.function.take().or(b.function.take());
            }
            same
        });
        let in_front: [fn(&Global) -> Option<String>; 3] = [
            |global| Some(format!("{}::{}", global.function.as_ref()?, global.name)),
            |global| Some(format!("{}:{}", global.file.as_ref()?, global.name)),
            |global| {
                let bare = global.name.strip_prefix(global.file.as_ref()?)?;
                Some(format!("{}:{}{bare}", global.file.as_ref()?, global.line?))
            },
        ];
        for longer in in_front {
            let mut counts: HashMap<String, usize> = HashMap::new();
            for variable in &self.variables {
                *counts.entry(variable.name.clone()).or_default() += 1;
            }
            for variable in self.variables.iter_mut().filter(|variable| !variable.external) {
                if counts[&variable.name] > 1 {
                    variable.name = longer(variable).unwrap_or_else(|| variable.name.clone());
                }
            }
        }
    }
}

fn own_name(dwarf: &gimli::Dwarf<Reader>, unit: &Unit, entry: &Entry) -> Option<String> {
    let text = dwarf.attr_string(unit, entry.attr_value(gimli::DW_AT_name)?).ok()?;
    Some(text.to_string_lossy().ok()?.into_owned())
}

fn joined(scopes: &[Scope], name: &str) -> String {
    let mut full = String::new();
    for scope in scopes.iter().filter_map(|scope| scope.name.as_deref()) {
        full.push_str(scope);
        full.push_str("::");
    }
    full.push_str(name);
    full
}
