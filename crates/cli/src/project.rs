//! A program of a project that has a `compile_commands.json`: its files are compiled again, with our flags.
//!
//! Such a file says how each object is made and not which objects make a program. CMake puts the objects of a target into
//! `CMakeFiles/TARGET.dir`, so there the target can be told; its libraries are known from `link.txt` or `build.ninja` where there is
//! one. Objects of other targets are offered to the linker as an archive, from which it takes what is missing.

use crate::cc::{self, Trouble};
use crate::toolchain::{Compiler, Language, is_ours, words};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How one object is made.
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    compiler: Vec<String>,
    args: Vec<String>,
    target: Option<String>,
    is_cpp: bool,
}

pub(crate) fn build(
    directory: &Path,
    target: Option<&str>,
    files: &[String],
    flags: &[String],
    program: &Path,
    scratch: &Path,
) -> Result<(), Trouble> {
    let (database, root) = find(directory)?;
    let entries = read(&database)?;
    let target = choose(&entries, target, &database)?;
    let (own, others): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().partition(|e| target.is_none() || e.target == target);
    let link = target.as_deref().map_or_else(Vec::new, |t| link_line(&root, t));
    // Where it is known which libraries a program has, the rest of the project need not even compile.
    let named: Vec<String> = link.iter().filter_map(|w| library_of(w)).collect();
    let others: Vec<&Entry> = others
        .into_iter()
        .filter(|e| named.is_empty() || e.target.as_ref().is_some_and(|t| named.contains(t)))
        .filter(|_| !named.is_empty() || link.is_empty())
        .collect();

    let mut compilers: BTreeMap<Vec<String>, Compiler> = BTreeMap::new();
    let mut compile = |entry: &Entry, number: usize| -> Result<PathBuf, Trouble> {
        let compiler = match compilers.get(&entry.compiler) {
            Some(known) => known.clone(),
            None => {
                let language = if entry.is_cpp { Language::Cpp } else { Language::C };
                let variable = if entry.is_cpp { "CXX" } else { "CC" };
                let given = std::env::var_os(variable).is_some_and(|v| !v.is_empty());
                let found = if given || is_ours(&entry.compiler) {
                    Compiler::find(language)?
                } else {
                    Compiler::named(entry.compiler.clone())?
                };
                compilers.insert(entry.compiler.clone(), found.clone());
                found
            }
        };
        let object = scratch.join(format!("p{number}.o"));
        let mut args = entry.args.clone();
        args.extend(flags.iter().filter(|f| !f.starts_with("-l")).cloned());
        args.extend(["-o".to_owned(), object.to_string_lossy().into_owned()]);
        cc::object(&compiler.within(&entry.directory), &args, scratch)?;
        Ok(object)
    };
    let mut objects = Vec::new();
    for (i, entry) in own.iter().enumerate() {
        objects.push(compile(entry, i)?);
    }
    let mut spare = Vec::new();
    for (i, entry) in others.iter().enumerate() {
        let object = compile(entry, own.len() + i)?;
        if !crate::scan::inspect(&object)?.iter().any(|s| s.defines_main) {
            spare.push(object);
        }
    }
    let is_cpp = own.iter().chain(&others).any(|e| e.is_cpp);
    let compiler = Compiler::find(if is_cpp { Language::Cpp } else { Language::C })?;
    let mut line: Vec<String> = objects.iter().map(|o| o.to_string_lossy().into_owned()).collect();
    line.extend(files.iter().cloned());
    if !spare.is_empty() {
        let archive = scratch.join("others.a");
        let status = Command::new("ar").arg("rcs").arg(&archive).args(&spare).status();
        if !status.map_err(|e| format!("cannot run ar: {e}"))?.success() {
            return Err(Trouble::Said("ar made no archive of the other objects of the project".to_owned()));
        }
        line.push(archive.to_string_lossy().into_owned());
    }
    // Relative names in it are those of the build directory.
    line.extend(link.iter().filter(|w| w.starts_with("-l") || w.starts_with("-pthread")).cloned());
    line.extend(
        link.iter().filter_map(|w| w.strip_prefix("-L")).map(|d| format!("-L{}", root.join(d).display())),
    );
    // Libraries that are files and not targets of the project come from elsewhere.
    let targets: BTreeSet<&str> = entries.iter().filter_map(|e| e.target.as_deref()).collect();
    let foreign = link.iter().filter(|w| library_of(w).is_some_and(|name| !targets.contains(&*name)));
    line.extend(foreign.map(|w| root.join(w)).filter(|f| f.exists()).map(|f| f.display().to_string()));
    line.extend(flags.iter().cloned());
    line.extend(["-o".to_owned(), program.to_string_lossy().into_owned()]);
    cc::program(&compiler, &line, scratch)
}

/// The database of a project, and the directory it is in. Build directories are looked into too.
fn find(directory: &Path) -> Result<(PathBuf, PathBuf), String> {
    const NAME: &str = "compile_commands.json";
    if directory.is_file() {
        let root = directory.parent().unwrap_or(Path::new(".")).to_owned();
        return Ok((directory.to_owned(), root));
    }
    if !directory.is_dir() {
        return Err(format!("there is no directory {}", directory.display()));
    }
    let below = ["", "build", "_build", "out", "builddir"].map(|b| directory.join(b));
    for place in below {
        if place.join(NAME).is_file() {
            return Ok((place.join(NAME), place));
        }
    }
    Err(format!(
        "{} has no {NAME}: cmake writes one with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, meson always, and for make there is `bear -- \
         make`. Or build the project with `CC=\"raddle cc\"`",
        directory.display()
    ))
}

fn read(database: &Path) -> Result<Vec<Entry>, String> {
    let shown = database.display();
    let text = std::fs::read_to_string(database).map_err(|e| format!("cannot read {shown}: {e}"))?;
    let value: Value = serde_json::from_str(&text).map_err(|e| format!("{shown} is not JSON: {e}"))?;
    let list = value.as_array().ok_or_else(|| format!("{shown} is not a list of commands"))?;
    let home = database.parent().unwrap_or(Path::new("."));
    let mut entries = Vec::new();
    for item in list {
        let text = |name: &str| item[name].as_str();
        let file = text("file").ok_or_else(|| format!("{shown}: a command has no file"))?;
        let mut line: Vec<String> = match (item["arguments"].as_array(), text("command")) {
            (Some(all), _) => all.iter().filter_map(|a| a.as_str().map(str::to_owned)).collect(),
            (None, Some(command)) => {
                words(command).map_err(|e| format!("{shown}: the command of {file}: {e}"))?
            }
            (None, None) => return Err(format!("{shown}: {file} has no command")),
        };
        let Some(language) = cc::language_of(file) else { continue };
        // A launcher such as ccache stands before the compiler, and `raddle cc` is two words.
        let first = line.iter().skip(1).position(|w| w.starts_with('-')).map_or(1, |i| i + 1);
        let rest = line.split_off(first.min(line.len()));
        let mut args = Vec::new();
        let mut output = text("output").map(str::to_owned);
        let mut rest = rest.into_iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "-o" => output = rest.next().or(output),
                _ => args.push(word),
            }
        }
        let target = output.as_deref().and_then(target_of);
        let is_cpp = language == Language::Cpp;
        let directory = home.join(text("directory").unwrap_or("."));
        entries.push(Entry { file: directory.join(file), directory, compiler: line, args, target, is_cpp });
    }
    if entries.is_empty() {
        return Err(format!("{shown} names no C or C++ file"));
    }
    if let Some(gone) = entries.iter().find(|e| !e.file.exists()) {
        return Err(format!("{shown} names {}, which is not there", gone.file.display()));
    }
    Ok(entries)
}

/// `app` of `CMakeFiles/app.dir/main.c.o`, and of `app.p/main.c.o`, as meson has it.
fn target_of(output: &str) -> Option<String> {
    let parts: Vec<&str> = output.split('/').collect();
    let cmake = parts.windows(2).find(|w| w[0] == "CMakeFiles").and_then(|w| w[1].strip_suffix(".dir"));
    cmake.or_else(|| parts.iter().find_map(|p| p.strip_suffix(".p"))).map(str::to_owned)
}

/// The target to check: the one named, or the only one there is.
fn choose(entries: &[Entry], wanted: Option<&str>, database: &Path) -> Result<Option<String>, String> {
    let known: BTreeSet<&str> = entries.iter().filter_map(|e| e.target.as_deref()).collect();
    let list = || known.iter().copied().collect::<Vec<_>>().join(", ");
    match wanted {
        Some(name) if known.contains(name) => Ok(Some(name.to_owned())),
        Some(name) if known.is_empty() => Err(format!(
            "{} does not say which target a file belongs to, so `{name}` cannot be told: leave --target out to take all files",
            database.display()
        )),
        Some(name) => Err(format!("there is no target `{name}`; there are {}", list())),
        None if known.len() > 1 => {
            Err(format!("there are several targets ({}): say which with --target", list()))
        }
        None => Ok(known.first().map(|t| (*t).to_owned())),
    }
}

/// What CMake links a target with, if that can be found.
fn link_line(root: &Path, target: &str) -> Vec<String> {
    let of_make = format!("CMakeFiles/{target}.dir/link.txt");
    if let Some(text) = search(root, &of_make, 4) {
        return words(&text).unwrap_or_default();
    }
    let ninja = std::fs::read_to_string(root.join("build.ninja")).unwrap_or_default();
    let mut lines = ninja.lines().skip_while(|l| {
        let made = l.strip_prefix("build ").and_then(|l| l.split_once(": "));
        !made.is_some_and(|(name, rule)| {
            name.rsplit('/').next() == Some(target) && rule.contains("EXECUTABLE_LINKER")
        })
    });
    let Some(_) = lines.next() else { return Vec::new() };
    let found =
        lines.take_while(|l| l.starts_with(' ')).find_map(|l| l.trim().strip_prefix("LINK_LIBRARIES = "));
    // A program without libraries is known to have none.
    found.map_or_else(|| vec!["-lpthread".to_owned()], |l| words(l).unwrap_or_default())
}

/// The text of a file of that name, in this directory or below.
fn search(root: &Path, name: &str, depth: usize) -> Option<String> {
    if let Ok(text) = std::fs::read_to_string(root.join(name)) {
        return Some(text);
    }
    let below = std::fs::read_dir(root).ok().filter(|_| depth > 0)?;
    let mut below: Vec<PathBuf> = below.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    below.sort();
    below.iter().filter(|p| !p.ends_with("CMakeFiles")).find_map(|p| search(p, name, depth - 1))
}

/// `pool` of `lib/libpool.a`, `libpool.so` or `libpool.so.1.2`: the name of a library that is given as a file.
fn library_of(word: &str) -> Option<String> {
    let name = word.rsplit('/').next()?.strip_prefix("lib")?;
    let is_version = |v: &str| v.split('.').all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    let versioned = name.split_once(".so.").filter(|(_, version)| is_version(version)).map(|(name, _)| name);
    let name = name.strip_suffix(".a").or_else(|| name.strip_suffix(".so")).or(versioned);
    name.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_told_from_where_its_objects_go() {
        assert_eq!(target_of("CMakeFiles/app.dir/src/main.c.o").as_deref(), Some("app"));
        assert_eq!(target_of("lib/CMakeFiles/pool.dir/pool.c.o").as_deref(), Some("pool"));
        assert_eq!(target_of("app.p/main.c.o").as_deref(), Some("app"));
        assert_eq!(target_of("main.o"), None);
        assert_eq!(library_of("../lib/libpool.a").as_deref(), Some("pool"));
        assert_eq!(library_of("lib/libpool.so.1.2.3").as_deref(), Some("pool"));
        assert_eq!(library_of("/usr/lib/libz.so.1").as_deref(), Some("z"));
        assert_eq!(library_of("libpool.so.old"), None);
        assert_eq!(library_of("-lpool"), None);
    }
}
