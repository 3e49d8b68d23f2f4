//! From the files on the command line to a program that explores itself.

use crate::cc::{self, Trouble, language_of};
use crate::check::ProgramArgs;
use crate::scratch::Scratch;
use crate::toolchain::{Compiler, Language};
use crate::{library, project, scan};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// A program that is ready to run.
pub(crate) struct Built {
    pub(crate) program: PathBuf,
    /// Where it lies; it goes when this goes.
    pub(crate) scratch: Scratch,
    /// What must be set when it runs.
    pub(crate) variables: Vec<(&'static str, String)>,
}

/// Makes the program. `None` when the compiler has said why it cannot be made.
pub(crate) fn build(
    files: &[String],
    args: &ProgramArgs,
    keep: Option<&Path>,
) -> Result<Option<Built>, String> {
    let scratch = Scratch::new()?;
    let flags = args.compiler_flags()?;
    let kept = keep.map(std::path::absolute).transpose().map_err(|e| format!("-o: {e}"))?;
    let program = kept.unwrap_or_else(|| scratch.path().join(name(files, args)));
    let made = match args.project() {
        Some((directory, target)) => {
            for file in files {
                look(file)?;
            }
            project::build(directory, target, files, &flags, &program, scratch.path())
        }
        None => {
            let kinds: Vec<Kind> = files.iter().map(|f| look(f)).collect::<Result<_, _>>()?;
            if kinds.contains(&Kind::Program) {
                return existing(files, &flags, keep, scratch).map(Some);
            }
            if flags.iter().any(|f| f == "-DNDEBUG" || f.starts_with("-DNDEBUG=")) {
                eprintln!("raddle: warning: NDEBUG is defined: `assert` checks nothing");
            }
            let cpp = files.iter().any(|f| language_of(f) == Some(Language::Cpp))
                || files.iter().any(|f| language_of(f).is_none() && has_cpp(f));
            let language = if cpp { Language::Cpp } else { Language::C };
            Compiler::find(language).map_err(Trouble::from).and_then(|compiler| {
                // A C++ compiler takes C for C++.
                let mut c_objects = Vec::new();
                let mut words: Vec<String> = Vec::new();
                for (i, file) in files.iter().enumerate() {
                    if cpp && language_of(file) == Some(Language::C) {
                        let object = scratch.path().join(format!("c{i}.o")).to_string_lossy().into_owned();
                        let mut args = flags.clone();
                        args.extend(["-c".to_owned(), plain(file), "-o".to_owned(), object.clone()]);
                        cc::object(&Compiler::find(Language::C)?, &args, scratch.path())?;
                        c_objects.push(object);
                    } else {
                        words.push(plain(file));
                    }
                }
                words.extend(c_objects);
                words.extend(flags.iter().cloned());
                words.extend(["-o".to_owned(), program.to_string_lossy().into_owned()]);
                cc::program(&compiler, &words, scratch.path())
            })
        }
    };
    match made {
        // What is linked in names the library, but a search path of the user's comes before that.
        Ok(()) if search_path().is_some() => {
            Ok(Some(Built { program, scratch, variables: vec![library_first()?] }))
        }
        Ok(()) => Ok(Some(Built { program, scratch, variables: Vec::new() })),
        Err(Trouble::Said(why)) => Err(why),
        Err(Trouble::Compiler { help, .. }) => {
            let what = match (files, args.project()) {
                ([one], None) => format!("{one} was not made into a program"),
                (_, Some((directory, _))) => format!("{} was not made into a program", directory.display()),
                _ => "these files were not made into a program".to_owned(),
            };
            eprintln!("raddle: {what}: the compiler says why above");
            if let Some(help) = help {
                eprintln!("raddle: {help}");
            }
            Ok(None)
        }
    }
}

/// What the program is called, by itself in its messages for example: as if it had been made by hand.
fn name(files: &[String], args: &ProgramArgs) -> String {
    let target = args.project().and_then(|(_, target)| target.map(str::to_owned));
    let first =
        files.first().and_then(|f| Path::new(f).file_stem()).map(|s| s.to_string_lossy().into_owned());
    // The directory has files of our own, whose names have a point or start with a number.
    target
        .or(first)
        .map(|n| n.replace(['.', '/'], "-"))
        .filter(|n| !n.is_empty())
        .unwrap_or_else(|| "program".to_owned())
}

/// A name that no compiler takes for a flag.
fn plain(file: &str) -> String {
    if file.starts_with('-') || file.starts_with('@') { format!("./{file}") } else { file.to_owned() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Source,
    Object,
    Program,
}

/// What a file is, or what is wrong with it.
fn look(file: &str) -> Result<Kind, String> {
    let path = Path::new(file);
    let about = std::fs::metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => match (crate::example_exists(file), language_of(file)) {
            (true, _) => {
                format!("there is no file {file}; `raddle compare {file}` runs the example of that name")
            }
            _ => format!("there is no file {file}"),
        },
        _ => format!("cannot read {file}: {e}"),
    })?;
    if about.is_dir() {
        return Err(format!(
            "{file} is a directory: name the files in it, or `--project {file}` if it has a compile_commands.json"
        ));
    }
    if about.is_file() && about.len() == 0 {
        return Err(format!("{file} is empty"));
    }
    if language_of(file).is_some() {
        return Ok(Kind::Source);
    }
    let mut start = [0; 20];
    let read = std::fs::File::open(path).and_then(|mut f| std::io::Read::read(&mut f, &mut start));
    let start = &start[..read.map_err(|e| format!("cannot read {file}: {e}"))?];
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    match (extension, start) {
        ("rs", _) => Err(format!(
            "{file} is Rust: Rust code is checked in its tests, with `raddle::check`; `raddle --help` shows how"
        )),
        ("h" | "hh" | "hpp" | "hxx", _) => Err(format!("{file} is a header: name the files that include it")),
        (_, [0x7f, b'E', b'L', b'F', class, _, _, _, .., kind, _, _, _]) => match (class, kind) {
            (1, _) => {
                Err(format!("{file} is a 32-bit program: C programs can be checked on 64-bit x86 Linux only"))
            }
            (_, 1) => Ok(Kind::Object),
            (_, 3) if file.ends_with(".so") || file.contains(".so.") => Ok(Kind::Object),
            _ => Ok(Kind::Program),
        },
        (_, s) if s.starts_with(b"!<arch>") => Ok(Kind::Object),
        (_, s) if s.starts_with(b"!<thin>") => {
            Err(format!("{file} is a thin archive, which names objects and holds none: give the objects"))
        }
        ("s" | "S", _) => Ok(Kind::Object),
        _ => Err(format!(
            "{file} is nothing that can be checked: say C (.c), C++ (.cc, .cpp, .cxx, .C), objects (.o), archives (.a), or a program \
             made by `raddle cc`"
        )),
    }
}

fn has_cpp(file: &str) -> bool {
    scan::inspect(Path::new(file)).is_ok_and(|all| all.iter().any(|s| s.is_cpp))
}

/// A program that was made before.
fn existing(
    files: &[String],
    flags: &[String],
    keep: Option<&Path>,
    scratch: Scratch,
) -> Result<Built, String> {
    let [file] = files else {
        return Err("a program that is made is checked alone: give it, or files to make one of".to_owned());
    };
    if !flags.is_empty() || keep.is_some() {
        return Err(format!("{file} is a program that is made: flags of the compiler and -o come too late"));
    }
    match scan::needs_library(Path::new(file))? {
        scan::Linked::WithUs => {}
        scan::Linked::Static => {
            return Err(format!(
                "{file} is statically linked: its calls to the C library cannot be taken over. Link it with `raddle cc`"
            ));
        }
        scan::Linked::Without => {
            return Err(format!(
                "{file} was not made by raddle: compile and link it with `raddle cc`, or give its sources"
            ));
        }
    }
    let program = std::path::absolute(file).map_err(|e| format!("{file}: {e}"))?;
    // The directory that it was linked with may be gone, and this library is the one that knows our options.
    let variables = vec![library_first()?];
    Ok(Built { program, scratch, variables })
}

/// Where the user has libraries looked for.
fn search_path() -> Option<OsString> {
    std::env::var_os("LD_LIBRARY_PATH").filter(|v| !v.is_empty())
}

/// Has our library found before any other of its name.
fn library_first() -> Result<(&'static str, String), String> {
    let mut path = library::directory()?.into_os_string();
    if let Some(before) = search_path() {
        path.push(":");
        path.push(before);
    }
    Ok(("LD_LIBRARY_PATH", path.to_string_lossy().into_owned()))
}
