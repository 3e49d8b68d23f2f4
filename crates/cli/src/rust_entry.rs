//! Finds the function of a test in a test program, so that it can be called without the harness around it.

use gimli::{AttributeValue, EndianSlice, LittleEndian};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The functions of a program that take nothing and return nothing, by path (`krate::tests::name`), with their addresses in the file.
/// A path that two functions have is not among them.
pub(crate) fn find(program: &Path, wanted: &HashSet<String>) -> Result<HashMap<String, u64>, String> {
    let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", program.display());
    let bytes = std::fs::read(program).map_err(|e| wrong(&e))?;
    let file = object::File::parse(&*bytes).map_err(|e| wrong(&e))?;
    let mut found: HashMap<String, Option<u64>> = HashMap::new();
    for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.is_definition()) {
        let Ok(name) = symbol.name() else { continue };
        let Ok(path) = rustc_demangle::try_demangle(name) else { continue };
        let path = format!("{path:#}");
        if wanted.contains(&path) {
            let address = Some(symbol.address());
            found.entry(path).and_modify(|a| *a = a.filter(|a| Some(*a) == address)).or_insert(address);
        }
    }
    let plain = without_results(&file).map_err(|e| wrong(&e))?;
    let found = found.into_iter().filter_map(|(path, address)| Some((path, address?)));
    Ok(found.filter(|(_, address)| plain.contains(address)).collect())
}

/// The addresses of functions that the debug information says to return nothing.
fn without_results(file: &object::File<'_>) -> Result<HashSet<u64>, gimli::Error> {
    let load = |id: gimli::SectionId| {
        let data = file.section_by_name(id.name()).and_then(|s| s.data().ok()).unwrap_or(&[]);
        Ok::<_, gimli::Error>(EndianSlice::new(data, LittleEndian))
    };
    let dwarf = gimli::Dwarf::load(load)?;
    let mut found = HashSet::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        // That is std, which has no tests.
        if unit.comp_dir.is_some_and(|d| d.slice().starts_with(b"/rustc/")) {
            continue;
        }
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            // What is said elsewhere is not looked up.
            let elsewhere = [gimli::DW_AT_type, gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
            if elsewhere.iter().any(|a| entry.attr(*a).is_some()) {
                continue;
            }
            match entry.attr_value(gimli::DW_AT_low_pc) {
                Some(AttributeValue::Addr(address)) => {
                    found.insert(address);
                }
                Some(AttributeValue::DebugAddrIndex(index)) => {
                    found.insert(dwarf.address(&unit, index)?);
                }
                _ => {}
            }
        }
    }
    Ok(found)
}
