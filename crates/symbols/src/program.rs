//! All modules of the program, and what lies at an address.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::debug::Global;
use crate::module::Module;
use crate::names;
use crate::types::TypeId;
use crate::{Place, PointerVariable, Variable};

/// What is behind the lock of [`Symbols`](crate::Symbols).
pub(crate) struct Program {
    pub(crate) modules: Vec<Module>,
    /// Directories that are left out of paths.
    pub(crate) bases: Vec<PathBuf>,
    pub(crate) places: HashMap<usize, Place>,
    /// The pointers of all modules, once they were asked for.
    pub(crate) pointers: Option<Vec<PointerVariable>>,
}

impl Program {
    pub(crate) fn new(bases: Vec<PathBuf>) -> Program {
        Program { modules: Vec::new(), bases, places: HashMap::new(), pointers: None }
    }

    /// What was found before may be found in the new module now.
    pub(crate) fn add(&mut self, module: Module) {
        self.modules.push(module);
        self.places.clear();
        self.pointers = None;
    }

    /// The module an address is in, and how far from its start.
    pub(crate) fn module_of(&mut self, address: u64) -> Option<(usize, u64)> {
        let found = self.modules.iter_mut().map(|module| module.offset(address)).enumerate();
        found.into_iter().find_map(|(number, offset)| Some((number, offset?)))
    }

    /// The address as the file of the module has it.
    pub(crate) fn in_file(&mut self, module: usize, address: u64) -> u64 {
        address.wrapping_sub(self.modules[module].file().bias)
    }

    /// Reads all debug information of a module. Whether there is any.
    pub(crate) fn prepare(&mut self, module: usize) -> bool {
        let file = self.modules[module].file();
        let Some(mut debug) = file.debug.take() else { return false };
        debug.prepare(|address| file.holds(address));
        file.debug = Some(debug);
        true
    }

    /// The variables with fixed addresses of a module.
    pub(crate) fn globals(&mut self, module: usize) -> &[Global] {
        self.prepare(module);
        let debug = self.modules[module].file().debug.as_ref();
        debug.and_then(|debug| debug.index()).map_or(&[], |index| &index.variables)
    }

    /// The variable that has an address, and its part. See [`Program::part`] for `whole`.
    pub(crate) fn variable(&mut self, address: u64, whole: Option<TypeId>) -> Option<Variable> {
        let (module, _) = self.module_of(address)?;
        let at = self.in_file(module, address);
        if let Some((global, ty)) = self.global_at(module, at) {
            let part = self.part(ty, at - global.address, whole);
            return Some(Variable::new(&global.name, part));
        }
        let file = self.modules[module].file();
        let symbol = file.symbol(at, false)?;
        let (offset, size) = (at - symbol.address, symbol.size);
        let mut text = names::demangle(&symbol.name);
        // A variable of a library may have been moved into the executable, which has its declaration.
        let declared = file.debug.as_ref().and_then(|debug| debug.declared_variable(&text));
        if let Some(die) = declared {
            let part = self.part(TypeId { module: module as u32, die }, offset, whole);
            return Some(Variable::new(&text, part));
        }
        if offset > 0 {
            text += &format!("+{offset}");
        }
        Some(Variable { text, size: size.saturating_sub(offset) as usize, ty: None })
    }

    fn global_at(&mut self, module: usize, at: u64) -> Option<(Global, TypeId)> {
        let globals = self.globals(module);
        let end = globals.partition_point(|global| global.address <= at);
        // Variables do not overlap, but several names may be for one.
        let near: Vec<Global> = globals[..end].iter().rev().take(8).cloned().collect();
        for global in near {
            let Some(die) = global.ty else { continue };
            let ty = TypeId { module: module as u32, die };
            // The type of an array may lack its bounds, and the symbol table has the size.
            let size = self.size(ty).unwrap_or(0);
            let size = size.max(self.modules[module].file().size_of_object(global.address));
            if at - global.address < size {
                return Some((global, ty));
            }
        }
        None
    }

    /// The type with a name, of the first module that has it.
    pub(crate) fn type_named(&mut self, name: &str) -> Option<TypeId> {
        for module in 0..self.modules.len() {
            self.prepare(module);
            let debug = self.modules[module].file().debug.as_ref();
            if let Some(die) = debug.and_then(|debug| debug.type_named(name)) {
                return Some(TypeId { module: module as u32, die });
            }
        }
        None
    }
}
