//! What a program does that the instrumentation cannot see: inline assembly, objects that were compiled otherwise, functions that lead
//! out of the process. Read from the assembly that the compiler writes, and from the symbols of objects.

use explore::{Caveat, CaveatKind};
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection, ObjectSymbol, SectionKind};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The section of objects that keeps caveats; the library reads it in the executable.
const SECTION: &str = "raddle_caveats";

/// Caveats about assembly outside of functions in the output of a compiler. What is inside of functions is looked at by
/// [`crate::touches`].
pub(crate) fn inline_assembly(text: &str) -> Vec<Caveat> {
    let mut files: BTreeMap<u32, String> = BTreeMap::new();
    let (mut function, mut place) = (None::<String>, None::<(String, u32)>);
    let (mut inside, mut top) = (false, false);
    let mut functions: BTreeSet<&str> = BTreeSet::new();
    let mut found: BTreeSet<(String, u32)> = BTreeSet::new();
    for line in text.lines() {
        let trimmed = line.trim();
        match trimmed {
            "#APP" => inside = true,
            "#NO_APP" => inside = false,
            "# Start of file scope inline assembly" => top = true,
            "# End of file scope inline assembly" => top = false,
            _ => {}
        }
        if let Some((number, name)) = trimmed.strip_prefix(".file").and_then(file) {
            files.insert(number, name);
        } else if let Some(rest) = trimmed.strip_prefix(".loc") {
            let mut numbers = rest.split_whitespace().map_while(|n| n.parse::<u32>().ok());
            if let (Some(file), Some(line)) = (numbers.next(), numbers.next()) {
                place = files.get(&file).map(|f| (f.clone(), line));
            }
        } else if inside && let Some(marked) = trimmed.strip_prefix("# ").and_then(mark) {
            // gcc says itself where each one is.
            place = if marked.1 == 0 { place } else { Some(marked) };
        } else if (inside || top) && !trimmed.starts_with('#') {
            if trimmed.split([';', '\n']).any(does_something) {
                let (file, line) = place.clone().unwrap_or_default();
                // What is inside of a function is rewritten, or noted, by the pass over functions.
                if function.is_none() {
                    found.insert((file, line));
                }
            }
        } else if let Some((name, _)) = trimmed
            .strip_prefix(".type")
            .and_then(|r| r.split_once(','))
            .filter(|(_, k)| k.contains("function"))
        {
            functions.insert(name.trim());
        } else if trimmed.starts_with(".size") {
            (function, place) = (None, None);
        } else if let Some(label) = label(line).filter(|l| functions.contains(l)) {
            (function, place) = (Some(label.to_owned()), None);
        }
    }
    let assembly = found.into_iter().map(|(file, line)| {
        let text = "assembly outside of functions is not instrumented: its accesses to memory are not seen";
        let caveat = Caveat::new(CaveatKind::Assembly, text);
        if line > 0 { caveat.at(format!("{file}:{line}")) } else { caveat }
    });
    assembly.collect()
}

/// `0 "directory" "name" md5 ...` or `1 "name"`.
pub(crate) fn file(rest: &str) -> Option<(u32, String)> {
    let (number, names) = rest.trim_start().split_once(char::is_whitespace)?;
    let name = names.split('"').skip(1).step_by(2).last()?;
    Some((number.parse().ok()?, name.to_owned()))
}

/// `12 "file.c" 1`.
fn mark(rest: &str) -> Option<(String, u32)> {
    let (line, name) = rest.split_once(' ')?;
    Some((name.split('"').nth(1)?.to_owned(), line.parse().ok()?))
}

fn label(line: &str) -> Option<&str> {
    let name = line.split_once(':')?.0;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_$.".contains(c);
    (!name.is_empty() && !name.starts_with('.') && name.chars().all(plain)).then_some(name)
}

fn does_something(instruction: &str) -> bool {
    let mut text = instruction.trim();
    if let Some(label) = label(text) {
        text = text[label.len() + 1..].trim();
    }
    let text = text.split('#').next().unwrap_or("").trim();
    let words: Vec<&str> = text.split_whitespace().collect();
    const NOTHING: [&str; 8] = ["nop", "pause", "rep", "mfence", "lfence", "sfence", "endbr64", "lock"];
    match words[..] {
        [] => false,
        // On its own line the prefix says nothing yet.
        [word] => !word.starts_with('.') && !NOTHING.contains(&word),
        ["rep", "nop"] => false,
        // A barrier of old: nothing is added to the top of the stack.
        ["lock", "addl" | "addq" | "orl" | "orq", zero, ..] | ["addl" | "addq" | "orl" | "orq", zero, ..] => {
            !(zero.starts_with("$0,") || zero.starts_with("$0x0,")) || !text.ends_with("(%rsp)")
        }
        [word, ..] => !word.starts_with('.'),
    }
}

/// One caveat as a line of text, which the library reads again.
pub(crate) fn line(caveat: &Caveat) -> String {
    serde_json::to_string(caveat).unwrap_or_else(|_| caveat.text.clone())
}

/// Assembly that keeps caveats in an object.
pub(crate) fn section(caveats: &[Caveat]) -> String {
    let mut text = format!("\n\t.section {SECTION},\"aR\",@progbits\n");
    for caveat in caveats {
        let escaped: String =
            line(caveat).bytes().flat_map(std::ascii::escape_default).map(char::from).collect();
        // The assembler knows octal numbers, and `\'` not at all.
        let escaped = escaped.replace("\\'", "'");
        let octal = escaped.split("\\x").enumerate().map(|(i, part)| match part.get(..2) {
            Some(hex) if i > 0 => {
                format!("\\{:03o}{}", u8::from_str_radix(hex, 16).unwrap_or(b'?'), &part[2..])
            }
            _ => part.to_owned(),
        });
        text += &format!("\t.asciz \"{}\"\n", octal.collect::<String>());
    }
    text
}

/// What the symbols of one object say.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The file, with the member of an archive.
    pub(crate) name: String,
    /// Whether it has code that is not instrumented.
    pub(crate) bare: bool,
    /// The functions that it calls and does not define.
    pub(crate) calls: BTreeSet<String>,
    /// It is linked only if something in it is called: a member of an archive, or a shared library.
    pub(crate) on_demand: bool,
    /// Sentences about functions that lead out of what can be seen.
    pub(crate) leads_out: Vec<String>,
    pub(crate) defines_main: bool,
    /// Functions that it defines and that other objects can call.
    pub(crate) defines: BTreeSet<String>,
    /// Names of C++ are there.
    pub(crate) is_cpp: bool,
}

/// What is said of functions that a program should not call.
const LEADS_OUT: [(&str, &[&str]); 5] = [
    (
        "starts another process, in which nothing is checked",
        &["fork", "vfork", "_Fork", "posix_spawn", "posix_spawnp", "popen", "system", "daemon", "forkpty"],
    ),
    ("makes threads that raddle does not see", &["clone", "clone3", "__clone"]),
    ("loads code that is not instrumented", &["dlopen", "dlmopen"]),
    (
        "replaces the process",
        &["execve", "execv", "execvp", "execl", "execlp", "execle", "execvpe", "fexecve"],
    ),
    ("runs on threads of OpenMP, which raddle does not see", &["GOMP_parallel", "__kmpc_fork_call"]),
];

/// Looks into an object, an archive or a shared library. What is none of these gives an empty list.
pub(crate) fn inspect(path: &Path) -> Result<Vec<Seen>, String> {
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
    if bytes.starts_with(b"!<arch>\n") {
        let archive = ArchiveFile::parse(&*bytes).map_err(|e| format!("{shown}: {e}"))?;
        let mut all = Vec::new();
        for member in archive.members() {
            let member = member.map_err(|e| format!("{shown}: {e}"))?;
            let name = format!("{shown}({})", String::from_utf8_lossy(member.name()));
            let data = member.data(&*bytes).map_err(|e| format!("{name}: {e}"))?;
            all.extend(one(&name, data)?.map(|seen| Seen { on_demand: true, ..seen }));
        }
        return Ok(all);
    }
    Ok(one(&shown.to_string(), &bytes)?.into_iter().collect())
}

fn one(name: &str, bytes: &[u8]) -> Result<Option<Seen>, String> {
    if !bytes.starts_with(b"\x7fELF") {
        return Ok(None);
    }
    if bytes.get(4) != Some(&2) {
        return Err(format!("{name} is 32-bit code: C programs can be checked on 64-bit x86 Linux only"));
    }
    let file = object::File::parse(bytes).map_err(|e| format!("{name} is damaged: {e}"))?;
    if file.architecture() != object::Architecture::X86_64 {
        return Err(format!(
            "{name} is code for {:?}: C programs can be checked on 64-bit x86 Linux only",
            file.architecture()
        ));
    }
    let is_shared = file.kind() == object::ObjectKind::Dynamic;
    let has_code = file.sections().any(|s| s.kind() == SectionKind::Text && s.size() > 0);
    let (mut instrumented, mut defines_main, mut is_cpp) = (false, false, false);
    let (mut called, mut defines) = (BTreeSet::new(), BTreeSet::new());
    let names: Vec<_> = if is_shared { file.dynamic_symbols().collect() } else { file.symbols().collect() };
    for symbol in names {
        let Ok(name) = symbol.name() else { continue };
        is_cpp |= name.starts_with("_ZNSt") || name == "__gxx_personality_v0";
        if symbol.is_undefined() {
            // Every compilation with the flags calls this in a constructor, whatever else is in it.
            instrumented |= name == "__tsan_init";
            if !symbol.is_weak() {
                called.insert(name.to_owned());
            }
        } else {
            defines_main |= name == "main";
            if symbol.is_global() && symbol.kind() == object::SymbolKind::Text {
                defines.insert(name.to_owned());
            }
        }
    }
    let mut leads_out = Vec::new();
    for (why, functions) in LEADS_OUT {
        for function in functions.iter().filter(|f| called.contains(**f)) {
            leads_out.push(format!("{name} calls `{function}`, which {why}"));
        }
    }
    Ok(Some(Seen {
        name: name.to_owned(),
        bare: has_code && !instrumented,
        calls: called,
        defines,
        on_demand: is_shared,
        leads_out,
        defines_main,
        is_cpp,
    }))
}

/// How an executable is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linked {
    WithUs,
    Without,
    Static,
}

/// Whether an executable loads raddle's library.
pub(crate) fn needs_library(path: &Path) -> Result<Linked, String> {
    use object::elf::{DT_NEEDED, FileHeader64};
    use object::read::elf::{Dyn, FileHeader};
    let shown = path.display();
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
    let damaged = |e: object::Error| format!("{shown} is damaged: {e}");
    let header = FileHeader64::<object::Endianness>::parse(&*bytes).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    if header.e_machine(endian) != object::elf::EM_X86_64 {
        return Err(format!(
            "{shown} is a program for another machine: C programs can be checked on 64-bit x86 Linux only"
        ));
    }
    let sections = header.sections(endian, &*bytes).map_err(damaged)?;
    let Some((dynamic, strings)) = sections.dynamic(endian, &*bytes).map_err(damaged)? else {
        return Ok(Linked::Static);
    };
    let strings = sections.strings(endian, &*bytes, strings).map_err(damaged)?;
    let mut needed = dynamic.iter().filter(|d| d.tag(endian) == DT_NEEDED).peekable();
    if needed.peek().is_none() {
        return Ok(Linked::Static);
    }
    let ours = needed.any(|d| d.string(endian, strings).is_ok_and(|n| n.ends_with(b"libraddle_native.so")));
    Ok(if ours { Linked::WithUs } else { Linked::Without })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assembly_outside_of_functions_is_found() {
        let gcc = "x:\n#APP\n# 2 \"asm.c\" 1\n\t.globl foo\nfoo: incl x(%rip)\n# 0 \"\" 2\n#NO_APP\n\t.type\tf, @function\nf:\n\
                   #APP\n# 4 \"asm.c\" 1\n\tincl x(%rip)\n# 0 \"\" 2\n#NO_APP\n\t.size\tf, .-f\n";
        let found = inline_assembly(gcc);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].places, ["asm.c:2"]);
        let clang =
            "# Start of file scope inline assembly\n\tincl\tx(%rip)\n# End of file scope inline assembly\n";
        assert_eq!(inline_assembly(clang).len(), 1);
    }

    #[test]
    fn assembly_that_only_orders_is_no_news() {
        for harmless in ["", "nop", "pause", "rep; nop", "mfence", "lock; addl $0,0(%rsp)", ".globl x", "x:"]
        {
            assert!(!harmless.split(';').any(does_something), "{harmless}");
        }
        for real in ["xchgl %eax, x(%rip)", "lock cmpxchgl %ecx, (%rdi)", "syscall", "lock addl $1, x(%rip)"]
        {
            assert!(real.split(';').any(does_something), "{real}");
        }
    }

    #[test]
    fn caveats_survive_the_assembler() {
        let text = section(&[Caveat::new(CaveatKind::Assembly, "it's \"x\" in ä.c")]);
        assert!(text.contains(r#"\"text\":\"it's \\\"x\\\" in \303\244.c\""#), "{text}");
    }
}
