//! What the debug information of a running program says: the line at an address of code, the name of what is at an
//! address of data, and how a value is written.
//!
//! Everything is asked with the addresses of the running process. Files are read when they are first needed, and
//! what was found is kept. Debug information that is odd or missing is no error: the answer then has less in it,
//! down to the symbol table (`counter+4`) and the module (`prog+0x1139`).
//!
//! A stack of 128 KiB is enough for the asking thread.
//!
//! The debug information must be in the module itself, as compilers put it there by default; that of
//! `-gsplit-dwarf`, in files of its own, is not looked for.
//!
//! ```
//! fn answer() {}
//!
//! let symbols = symbols::Symbols::of_process();
//! let place = symbols.place(answer as fn() as usize + 1);
//! assert!(place.function.contains("answer"), "{place:?}");
//! ```

#![forbid(unsafe_code)]

mod debug;
mod heap;
mod module;
mod names;
mod place;
mod program;
mod show;
mod stack;
mod types;

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use place::{Frame, Place};
pub use types::TypeId;

use module::Module;
use program::Program;
use types::Part;

/// What can be asked about a running program.
///
/// Threads may share it; they take turns.
pub struct Symbols {
    program: Mutex<Program>,
}

/// A variable, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// As one would write it in the program: `table[3].next`. With `+4` behind it the address was four bytes behind
    /// the start of that.
    pub text: String,
    /// Bytes of the part that is named, zero if unknown.
    pub size: usize,
    /// The type of the part, for [`Symbols::show`]. `None` without debug information.
    pub ty: Option<TypeId>,
}

/// A pointer with a fixed address: a variable, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerVariable {
    /// Where the pointer is, not where it points.
    pub address: usize,
    /// As one would write it in the program.
    pub text: String,
    /// The type of the pointer.
    pub ty: TypeId,
    /// The type of what it points to. `None` for `void *`.
    pub pointee: Option<TypeId>,
    /// Whether it is a C++ reference, which is followed without an operator.
    pub reference: bool,
}

/// A variable or parameter on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Local {
    /// The name.
    pub text: String,
    /// From the canonical frame address: the stack pointer of the caller before the call.
    pub offset: isize,
    /// In bytes, zero if unknown.
    pub size: usize,
    /// The type, if it is known.
    pub ty: Option<TypeId>,
}

/// A function that was called and has not returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// Where in this function it goes on after the call it is in.
    pub return_address: usize,
    /// The canonical frame address: the stack pointer of its caller before the call. With a frame pointer on x86-64
    /// that is `rbp + 16`.
    pub cfa: usize,
}

/// The memory of the running program.
///
/// Any `Fn(address, length) -> Option<Vec<u8>>` is one that knows no blocks.
pub trait Memory {
    /// The bytes at an address, or `None` if not all of them are mapped.
    fn read(&self, address: usize, length: usize) -> Option<Vec<u8>>;

    /// The block of the heap that has an address, as long as it was asked for. With it, the elements of arrays on
    /// the heap have names as well.
    fn block(&self, _address: usize) -> Option<Range<usize>> {
        None
    }
}

impl<F: Fn(usize, usize) -> Option<Vec<u8>>> Memory for F {
    fn read(&self, address: usize, length: usize) -> Option<Vec<u8>> {
        self(address, length)
    }
}

impl Variable {
    fn new(name: &str, part: Part) -> Variable {
        let rest = if part.rest > 0 { format!("+{}", part.rest) } else { String::new() };
        Variable { text: format!("{name}{}{rest}", part.text), size: part.size as usize, ty: Some(part.ty) }
    }
}

impl Symbols {
    /// A program without modules. Paths under `base` are shown from there.
    pub fn new(base: impl Into<PathBuf>) -> Symbols {
        let base = base.into();
        // Debug information may have the directory by another name.
        let real = base.canonicalize().ok().filter(|real| *real != base);
        let bases = std::iter::once(base).chain(real).filter(|base| base.is_absolute()).collect();
        Symbols { program: Mutex::new(Program::new(bases)) }
    }

    /// A program of one module; paths are shown from the current directory. See [`Symbols::add`].
    pub fn load(path: impl AsRef<Path>, load_base: usize) -> Symbols {
        let mut symbols = Symbols::new(std::env::current_dir().unwrap_or_default());
        symbols.add(path, load_base);
        symbols
    }

    /// This process: the executable, and every shared object that is mapped now. Paths are shown from the current
    /// directory.
    pub fn of_process() -> Symbols {
        let mut symbols = Symbols::new(std::env::current_dir().unwrap_or_default());
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let program = symbols.program.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (path, mapped) in mapped_files(&maps) {
            program.add(Module::new(path, mapped.start, Some(mapped)));
        }
        symbols
    }

    /// Adds the executable or a shared object. `load_base` is where its first byte is mapped, as `/proc/self/maps` and
    /// `dl_iterate_phdr` say; for an executable that is not position independent it does not matter.
    ///
    /// The file is not read before somebody asks for an address.
    pub fn add(&mut self, path: impl AsRef<Path>, load_base: usize) {
        let program = self.program.get_mut().unwrap_or_else(PoisonError::into_inner);
        program.add(Module::new(path.as_ref().to_path_buf(), load_base as u64, None));
    }

    /// Asks, and says nothing where asking panics: the readers of debug information are not ours, and a failure of the
    /// program must be shown whatever they make of a damaged file. What was found before stays right.
    fn with<T: Default>(&self, ask: impl FnOnce(&mut Program) -> T) -> T {
        let mut program = self.program.lock().unwrap_or_else(PoisonError::into_inner);
        catch_unwind(AssertUnwindSafe(|| ask(&mut program))).unwrap_or_default()
    }

    /// What could not be read, one sentence a module; reads those that were not read yet. A module without debug
    /// information is no problem.
    pub fn problems(&self) -> Vec<String> {
        self.with(|program| {
            program.modules.iter_mut().filter_map(|module| module.file().problem.clone()).collect()
        })
    }

    /// Whether the module with an address has debug information.
    pub fn has_debug_information(&self, address: usize) -> bool {
        self.with(|program| match program.module_of(address as u64) {
            Some((module, _)) => program.modules[module].file().debug.is_some(),
            None => false,
        })
    }

    /// The place of a call, by its *return address*: what is looked up is the byte before it. For an address that is
    /// that of an instruction, as a signal gives it, add one.
    pub fn place(&self, return_address: usize) -> Place {
        let place = self.with(|program| Some(program.place(return_address)));
        place.unwrap_or_else(|| Place::unknown(return_address))
    }

    /// The innermost frame that belongs to the program, not to the system or a standard library, of a call chain.
    /// The return addresses are innermost first.
    pub fn user_frame(&self, return_addresses: &[usize]) -> Option<Frame> {
        self.with(|program| program.user_frame(return_addresses))
    }

    /// The global or static variable that has an address, and which part of it. Thread-local variables have no address
    /// in the debug information, and no name here.
    pub fn variable(&self, address: usize) -> Option<Variable> {
        self.with(|program| program.variable(address as u64, None))
    }

    /// The type with a name: `node`, `struct node`, `ns::Queue`, `int`.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.with(|program| program.type_named(name))
    }

    /// The name of a type: `node *`, `int[3]`.
    pub fn type_name(&self, ty: TypeId) -> String {
        self.with(|program| program.name_of_type(ty))
    }

    /// The bytes of an object of a type, if the type is complete.
    pub fn size_of(&self, ty: TypeId) -> Option<usize> {
        self.with(|program| program.size(ty)).map(|size| size as usize)
    }

    /// The part of an object of a type that is at an offset: `next`, `slots[1].value`, `[3]`; empty for the object
    /// itself. `None` behind its end.
    pub fn field(&self, ty: TypeId, offset: usize) -> Option<Variable> {
        self.with(|program| {
            // Of a type without a size, as an array without bounds, every offset can be one.
            if program.size(ty).is_some_and(|size| offset as u64 >= size) {
                return None;
            }
            let mut found = Variable::new("", program.part(ty, offset as u64, None));
            if found.text.starts_with('.') {
                found.text.remove(0);
            }
            Some(found)
        })
    }

    /// All pointers to data that are in global and static variables.
    pub fn pointers(&self) -> Vec<PointerVariable> {
        self.with(|program| program.pointers().to_vec())
    }

    /// The pointer at an address, if a variable has one there: what it points to is of type
    /// [`PointerVariable::pointee`].
    pub fn pointee(&self, address: usize) -> Option<PointerVariable> {
        self.with(|program| program.pointers().iter().find(|pointer| pointer.address == address).cloned())
    }

    /// A path to an address on the heap, in C's notation: `head->next->value`, `queue.slots[1]`, `*p`. It begins at a
    /// global or static variable or at one in `frames`, follows at most `max_depth` pointers, and is a shortest one.
    pub fn path_to(
        &self,
        address: usize,
        frames: &[StackFrame],
        memory: &dyn Memory,
        max_depth: usize,
    ) -> Option<Variable> {
        self.with(|program| program.path_to(address as u64, frames, memory, max_depth))
    }

    /// The variables and parameters on the stack that are in scope where a function goes on after a call, those of the
    /// innermost block first. Only those at a fixed place in the frame, as all are without optimization.
    pub fn locals(&self, return_address: usize) -> Vec<Local> {
        self.with(|program| program.locals(return_address))
    }

    /// The bytes of the object that a member function of C++ is called on, if it has any members and they are known.
    pub fn size_of_this(&self, return_address: usize) -> Option<usize> {
        self.with(|program| {
            let this = program.locals(return_address).into_iter().find(|local| local.text == "this")?;
            program.size_of_pointee(this.ty?).map(|size| size as usize)
        })
    }

    /// The variable on the stack of a function that has an address.
    pub fn stack_variable(&self, frame: StackFrame, address: usize) -> Option<Variable> {
        self.with(|program| program.stack_variable(frame.return_address, frame.cfa, address))
    }

    /// A value of a type: numbers, `true`, names of constants, `null`, `&name` where a pointer points to something with
    /// a name. Bytes that are not one whole object of the type, or without a type, are shown as a number.
    pub fn show(&self, ty: Option<TypeId>, bytes: &[u8]) -> String {
        self.with(|program| program.show(ty, bytes))
    }
}

/// Every file of `/proc/self/maps` of which the first byte is mapped, with the span from there to its last mapping.
/// What follows without a gap and has no file belongs to it: variables that begin as zero are there.
fn mapped_files(maps: &str) -> Vec<(PathBuf, Range<u64>)> {
    let mut found: Vec<(PathBuf, Range<u64>)> = Vec::new();
    for line in maps.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(range), Some(_), Some(offset)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        let Some((start, end)) = range.split_once('-') else { continue };
        let (Ok(start), Ok(end)) = (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16)) else {
            continue;
        };
        // A path may have spaces in it; the fields before it have none.
        let Some(path) = line.find('/').map(|at| &line[at..]) else {
            if let Some((_, mapped)) = found.last_mut().filter(|(_, mapped)| mapped.end == start) {
                mapped.end = end;
            }
            continue;
        };
        let first = u64::from_str_radix(offset, 16) == Ok(0);
        match found.iter_mut().rev().find(|(known, _)| known == Path::new(path)) {
            Some((_, mapped)) if !first => mapped.end = mapped.end.max(end),
            _ if first => found.push((PathBuf::from(path), start..end)),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared_by_threads<T: Send + Sync>() {}

    #[test]
    fn threads_can_share_it() {
        shared_by_threads::<Symbols>();
    }

    #[test]
    fn a_panic_while_asking_costs_that_answer_alone() {
        let symbols = Symbols::load("/nonexistent/prog", 0x1000);
        assert_eq!(symbols.with(|_| -> Option<u32> { panic!("odd debug information") }), None);
        assert_eq!(symbols.place(0x1010).function, "prog+0x10");
    }

    #[test]
    fn files_are_found_in_the_map_of_the_process() {
        let maps = "\
1000-2000 r--p 00000000 08:01 7 /bin/my prog
2000-3000 r-xp 00001000 08:01 7 /bin/my prog
3000-4000 rw-p 00000000 00:00 0
4800-4900 rw-p 00000000 00:00 0
5000-6000 r--p 00000000 08:01 8 /lib/a.so
7000-8000 rw-p 00001000 08:01 8 /lib/a.so
9000-a000 rw-p 00000000 00:00 0 [stack]
odd line
";
        let expected = vec![
            (PathBuf::from("/bin/my prog"), 0x1000..0x4000),
            (PathBuf::from("/lib/a.so"), 0x5000..0x8000),
        ];
        assert_eq!(mapped_files(maps), expected);
    }
}
