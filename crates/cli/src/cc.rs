//! A C compiler that makes programs which explore themselves: `raddle cc`, `raddle c++`, and what `raddle check` compiles with.
//!
//! A command line for gcc or clang is taken apart only as far as needed: which words are sources, which are objects and libraries,
//! and what is to come out. Sources are compiled to assembly, so that inline assembly can be seen, then assembled; programs are linked
//! with raddle's library in front of all others, and without the sanitizer's.
//!
//! **Invariant:** what cannot be instrumented is either refused or noted in the object, and from there in the executable.

use crate::library;
use crate::scan;
use crate::scratch::Scratch;
use crate::toolchain::{Compiler, Language, words};
use crate::touches;
use crate::warnings;
use explore::{Caveat, CaveatKind};
use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Functions of the C library whose calls in the program's own objects go to raddle's instead.
pub(crate) const WRAPPED: &str = include_str!("../../native/wrapped.txt");

/// What keeps a program from being made.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Ours to explain.
    Said(String),
    /// The compiler or linker has said why; this is what may help besides.
    Compiler { code: u8, help: Option<String> },
}

impl From<String> for Trouble {
    fn from(why: String) -> Trouble {
        Trouble::Said(why)
    }
}

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Nothing that is run: preprocessed text, dependencies, the version.
    Other,
    Assembly,
    Objects,
    Program,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// A source, and the language that was said before it.
    Source(String, Option<String>),
    /// An object, an archive, a shared library, a linker script.
    Object(String),
    /// `-lNAME`.
    Library(String),
    /// Goes everywhere.
    Flag(Vec<String>),
    /// Is for the linker.
    Link(Vec<String>),
    /// Is for the assembler.
    Assembler(Vec<String>),
    /// Where to look for libraries.
    Search(String),
}

/// A command line, taken apart.
#[derive(Debug)]
struct Line {
    words: Vec<Word>,
    mode: Mode,
    output: Option<String>,
    /// `-MD` or `-MMD`, without `-MF`, without `-MT`.
    dependencies: bool,
    names_dependency_file: bool,
    names_dependency_target: bool,
    /// `-r` or `-shared`: no program.
    is_part: bool,
    shared: bool,
}

/// Flags whose value is the next word.
const WITH_VALUE: [&str; 31] = [
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-arch",
    "-target",
    "--param",
    "-aux-info",
    "-A",
    "-B",
    "--sysroot",
    "-I",
    "-D",
    "-U",
    "-dumpbase",
    "-dumpdir",
    "-specs",
    "-wrapper",
];
const LINK_WITH_VALUE: [&str; 7] = ["-Xlinker", "-T", "-u", "-e", "-z", "-framework", "-rpath"];

/// The language that the name of a file stands for, if it is one that is compiled here.
pub(crate) fn language_of(path: &str) -> Option<Language> {
    match Path::new(path).extension()?.to_str()? {
        "c" | "i" => Some(Language::C),
        "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "ii" => Some(Language::Cpp),
        _ => None,
    }
}

fn parse(args: &[String]) -> Result<Line, String> {
    let mut line = Line {
        words: Vec::new(),
        mode: Mode::Program,
        output: None,
        dependencies: false,
        names_dependency_file: false,
        names_dependency_target: false,
        is_part: false,
        shared: false,
    };
    let mut language: Option<String> = None;
    let mut inputs = 0;
    let mut rest = args.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().cloned().ok_or_else(|| format!("{word} needs a value"));
        let flag = |w: &String| Word::Flag(vec![w.clone()]);
        match word.as_str() {
            "-o" => line.output = Some(value()?),
            "-x" => language = Some(value()?).filter(|l| l != "none"),
            "-l" => line.words.push(Word::Library(value()?)),
            "-L" => line.words.push(Word::Search(value()?)),
            "-c" => line.mode = line.mode.min(Mode::Objects),
            "-S" => line.mode = line.mode.min(Mode::Assembly),
            "-E" | "-M" | "-MM" | "-fsyntax-only" | "-###" => {
                line.mode = Mode::Other;
                line.words.push(flag(word));
            }
            "-MD" | "-MMD" => {
                line.dependencies = true;
                line.words.push(flag(word));
            }
            "-static" | "-static-pie" | "--static" => {
                return Err(format!(
                    "{word}: a statically linked program cannot be checked, because its calls to the C library cannot be taken \
                     over; leave {word} out"
                ));
            }
            "-m32" | "-mx32" | "-m16" => {
                return Err(format!(
                    "{word}: C programs can be checked on 64-bit x86 Linux only, not as 32-bit programs"
                ));
            }
            "-fopenmp" | "-fopenacc" => {
                return Err(format!("{word}: OpenMP has threads of its own, which raddle does not see"));
            }
            "-shared" | "-r" => {
                (line.is_part, line.shared) = (true, line.shared || word == "-shared");
                line.words.push(Word::Link(vec![word.clone()]));
            }
            // What we set ourselves, and what would take names and lines away.
            "-s" | "-g0" | "-gsplit-dwarf" | "-O" | "-fsanitize=thread" | "-fno-sanitize=thread" => {}
            "-" => {
                line.words.push(Word::Source(word.clone(), language.clone()));
                inputs += 1;
            }
            w if WITH_VALUE.contains(&w) => {
                line.names_dependency_file |= w == "-MF";
                line.names_dependency_target |= matches!(w, "-MT" | "-MQ");
                let value = value()?;
                if w == "-target" {
                    target(&value)?;
                }
                line.words.push(Word::Flag(vec![word.clone(), value]));
            }
            w if LINK_WITH_VALUE.contains(&w) => line.words.push(Word::Link(vec![word.clone(), value()?])),
            "-Xassembler" => line.words.push(Word::Assembler(vec![word.clone(), value()?])),
            w if w.starts_with("-flto") || (w.starts_with("-O") && !keep_o()) => {}
            w if w.starts_with("-fsanitize=") => {
                if let Some(kept) = sanitizers(&w["-fsanitize=".len()..])? {
                    line.words.push(Word::Flag(vec![format!("-fsanitize={kept}")]));
                }
            }
            w if w.starts_with("--target=") => {
                target(&w["--target=".len()..])?;
                line.words.push(flag(word));
            }
            w if w.starts_with("-MF") || w.starts_with("-MT") || w.starts_with("-MQ") => {
                line.names_dependency_file |= w.starts_with("-MF");
                line.names_dependency_target |= !w.starts_with("-MF");
                line.words.push(flag(word));
            }
            w if w.starts_with("-Wl,") => {
                if w[4..].split(',').any(|p| p == "-static" || p == "-Bstatic") && w.contains("-static") {
                    return Err(format!("{word}: a statically linked program cannot be checked"));
                }
                line.words.push(Word::Link(vec![word.clone()]));
            }
            w if w.starts_with("-Wa,") => line.words.push(Word::Assembler(vec![word.clone()])),
            w if w.starts_with("-x") && w.len() > 2 => {
                language = Some(w[2..].to_owned()).filter(|l| l != "none");
            }
            w if w.starts_with("-o") && w.len() > 2 && !w.starts_with("-objc") => {
                line.output = Some(w[2..].to_owned())
            }
            w if w.starts_with("-l") => line.words.push(Word::Library(w[2..].to_owned())),
            w if w.starts_with("-L") => line.words.push(Word::Search(w[2..].to_owned())),
            w if w.starts_with("-z") || matches!(w, "-pie" | "-no-pie" | "-rdynamic" | "-nostartfiles") => {
                line.words.push(Word::Link(vec![word.clone()]));
            }
            w if w.starts_with('-') => line.words.push(flag(word)),
            w => {
                inputs += 1;
                let compiled = language.is_some() || language_of(w).is_some();
                let header = language.as_ref().is_some_and(|l| l.ends_with("header"))
                    || [".h", ".hh", ".hpp", ".H"].iter().any(|e| language.is_none() && w.ends_with(e));
                if header {
                    line.mode = Mode::Other;
                }
                let assembly = language.as_ref().is_some_and(|l| l.starts_with("assembler"));
                line.words.push(if compiled && !assembly {
                    Word::Source(w.to_owned(), language.clone())
                } else {
                    Word::Object(w.to_owned())
                });
            }
        }
    }
    if inputs == 0 {
        line.mode = Mode::Other;
    }
    Ok(line)
}

impl Mode {
    fn min(self, other: Mode) -> Mode {
        if (other as u8) < self as u8 { other } else { self }
    }
}

fn target(name: &str) -> Result<(), String> {
    if name.starts_with("x86_64") && name.contains("linux") {
        return Ok(());
    }
    Err(format!("the target {name}: C programs can be checked on 64-bit x86 Linux only"))
}

/// Sanitizers that go with our runtime.
fn sanitizers(list: &str) -> Result<Option<String>, String> {
    let wanted: Vec<&str> = list.split(',').filter(|s| *s != "thread").collect();
    if let Some(other) =
        wanted.iter().find(|s| ["address", "memory", "leak", "hwaddress", "kernel-address"].contains(s))
    {
        return Err(format!(
            "-fsanitize={other} has a runtime of its own, which does not go with raddle's: leave it out"
        ));
    }
    Ok((!wanted.is_empty()).then(|| wanted.join(",")))
}

/// Whether indices, shifts and divisors are checked: the user does not turn a check of the compiler off.
fn checks_operands(line: &Line) -> bool {
    !flags(line).any(|f| f.starts_with("-fno-sanitize="))
}

/// Whether the user wants the optimisation that the command line says.
fn keep_o() -> bool {
    std::env::var_os("RADDLE_KEEP_O").is_some_and(|v| !v.is_empty() && v != "0")
}

/// Puts the words of response files (`@FILE`) where they were named.
fn expand(args: Vec<String>, depth: usize) -> Result<Vec<String>, String> {
    let mut out = Vec::new();
    for arg in args {
        match arg.strip_prefix('@').map(std::fs::read_to_string) {
            Some(Ok(text)) if depth < 16 => {
                out.extend(expand(words(&text).map_err(|e| format!("{arg}: {e}"))?, depth + 1)?);
            }
            // As compilers do, a name that cannot be read is a name.
            _ => out.push(arg),
        }
    }
    Ok(out)
}

/// `raddle cc ARGS...`.
pub(crate) fn drop_in(language: Language, args: Vec<String>) -> ExitCode {
    let made = Compiler::find(language).map_err(Trouble::from).and_then(|compiler| {
        let line = expand(args.clone(), 0).and_then(|args| parse(&args).map(|line| (args, line)));
        let (args, line) = line?;
        if line.mode == Mode::Other {
            return run_through(&compiler, &args);
        }
        let scratch = Scratch::new()?;
        make(&compiler, &line, scratch.path(), For::Later)
    });
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble::Said(why)) => {
            eprintln!("raddle: {why}");
            ExitCode::from(2)
        }
        Err(Trouble::Compiler { code, help }) => {
            if let Some(help) = help {
                eprintln!("raddle: {help}");
            }
            ExitCode::from(code)
        }
    }
}

/// Whether the user waits for a program that is run at once, and whose report has the notes, or for one of many objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum For {
    Check,
    Later,
}

/// Compiles and links. `args` is a command line for the compiler that makes a program; what it warns of is printed.
pub(crate) fn program(compiler: &Compiler, args: &[String], scratch: &Path) -> Result<(), Trouble> {
    let line = parse(args)?;
    make(compiler, &line, scratch, For::Check)
}

/// Compiles one file as a compilation database says.
pub(crate) fn object(compiler: &Compiler, args: &[String], scratch: &Path) -> Result<(), Trouble> {
    let line = parse(&expand(args.to_vec(), 0)?)?;
    make(compiler, &line, scratch, For::Check)
}

/// Says what is also noted in the object.
fn warn(purpose: For, notes: &[Caveat]) {
    for note in notes.iter().filter(|_| purpose == For::Later) {
        let at: String = note.places.iter().map(|p| format!("{p}: ")).collect();
        eprintln!("raddle: warning: {at}{}", note.text);
    }
}

fn run_through(compiler: &Compiler, args: &[String]) -> Result<(), Trouble> {
    let status =
        compiler.command().args(args).status().map_err(|e| format!("cannot run the compiler: {e}"))?;
    finished(status, None)
}

fn finished(status: ExitStatus, help: Option<String>) -> Result<(), Trouble> {
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Trouble::Compiler { code: u8::try_from(code).unwrap_or(1), help }),
        None => Err(Trouble::Said(format!("the compiler was stopped: {status}"))),
    }
}

fn make(compiler: &Compiler, line: &Line, scratch: &Path, purpose: For) -> Result<(), Trouble> {
    let sources: Vec<(&String, &Option<String>)> = line
        .words
        .iter()
        .filter_map(|w| if let Word::Source(s, l) = w { Some((s, l)) } else { None })
        .collect();
    if line.mode != Mode::Program && line.output.is_some() && sources.len() > 1 {
        return Err(Trouble::Said("-o goes with one file only where nothing is linked".to_owned()));
    }
    if line.mode == Mode::Assembly {
        for (source, language) in sources {
            let out = line.output.clone().unwrap_or_else(|| beside(source, "s"));
            to_assembly(compiler, line, source, language.as_deref(), &out, &out)?;
        }
        return Ok(());
    }
    let objects: Vec<PathBuf> = match (line.mode, &line.output) {
        (Mode::Objects, Some(out)) => vec![PathBuf::from(out); sources.len()],
        (Mode::Objects, None) => sources.iter().map(|(s, _)| PathBuf::from(beside(s, "o"))).collect(),
        _ => (0..sources.len())
            .map(|i| scratch.join(format!("{i}-{}", number())))
            .map(|p| p.with_extension("o"))
            .collect(),
    };
    compile_all(compiler, line, &sources, &objects, scratch, purpose)?;
    if line.mode == Mode::Objects {
        // Assembly among the sources is compiled as it is; at the link it is seen not to be instrumented.
        let plain: Vec<&String> =
            line.words.iter().filter_map(|w| if let Word::Object(o) = w { Some(o) } else { None }).collect();
        for file in plain.iter().filter(|f| f.ends_with(".s") || f.ends_with(".S") || f.ends_with(".sx")) {
            let out = line.output.clone().unwrap_or_else(|| beside(file, "o"));
            let mut command = compiler.command();
            command.args(flags(line)).args(["-c", file, "-o", &out]);
            finished(command.status().map_err(|e| format!("cannot run the compiler: {e}"))?, None)?;
        }
        return Ok(());
    }
    link(compiler, line, &objects, scratch, purpose)
}

/// The file beside which the compiler would put its output: in the working directory, under the name of the source.
fn beside(source: &str, extension: &str) -> String {
    let name = Path::new(source).with_extension(extension);
    name.file_name().map_or_else(|| format!("a.{extension}"), |n| n.to_string_lossy().into_owned())
}

/// A number that this process has given to nothing else.
fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The flags of a compilation that the user gave.
fn flags(line: &Line) -> impl Iterator<Item = &String> {
    line.words.iter().flat_map(|w| if let Word::Flag(f) = w { f.as_slice() } else { &[] })
}

fn compile_all(
    compiler: &Compiler,
    line: &Line,
    sources: &[(&String, &Option<String>)],
    objects: &[PathBuf],
    scratch: &Path,
    purpose: For,
) -> Result<(), Trouble> {
    let next = AtomicUsize::new(0);
    let most = std::thread::available_parallelism().map_or(1, usize::from).min(sources.len());
    let worker = || {
        let mut result = Ok(());
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some((source, language)) = sources.get(i) else { return result };
            let one = compile(compiler, line, (source, language.as_deref()), &objects[i], scratch, purpose);
            if result.is_ok() {
                result = one;
            }
        }
    };
    std::thread::scope(|s| {
        let others: Vec<_> = (1..most).map(|_| s.spawn(worker)).collect();
        let mut result = worker();
        for other in others {
            let theirs =
                other.join().unwrap_or_else(|_| Err(Trouble::Said("a compilation panicked".to_owned())));
            result = result.and(theirs);
        }
        result
    })
}

/// Compiles one source, by way of assembly.
fn compile(
    compiler: &Compiler,
    line: &Line,
    (source, language): (&str, Option<&str>),
    object: &Path,
    scratch: &Path,
    purpose: For,
) -> Result<(), Trouble> {
    let assembly = scratch.join(format!("{}.s", number()));
    let (files, unwritten) = to_assembly(
        compiler,
        line,
        source,
        language,
        &assembly.to_string_lossy(),
        &object.to_string_lossy(),
    )?;
    let text = std::fs::read(&assembly).map_err(|e| format!("cannot read what the compiler wrote: {e}"))?;
    // In any other encoding each byte is one character; what is added is ASCII.
    let is_utf8 = std::str::from_utf8(&text).is_ok();
    let text =
        String::from_utf8(text).unwrap_or_else(|e| e.into_bytes().into_iter().map(char::from).collect());
    let text = crate::reached::without_definitions(&text).unwrap_or(text);
    let read = |name: &Path| {
        let bytes = std::fs::read(compiler.path(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = if compiler.is_clang() { crate::weak::mark(text, &read) } else { text };
    let text = crate::initialised::mark(text, &read);
    let (text, merged) = if !compiler.is_clang() && crate::atomic_indices::are_possible(&text) {
        mark_atomic_indices(compiler, line, (source, language), text, scratch)
    } else {
        (text, Vec::new())
    };
    let text = crate::compared::mark(text);
    let mut notes = scan::inline_assembly(&text);
    let (mut rewritten, found) = touches::rewrite(&text, names_attribute(compiler, line, &files));
    found.into_iter().chain(unwritten).chain(merged).for_each(|c| c.add_to(&mut notes));
    rewritten = crate::compared::rewrite(crate::weak::rewrite(rewritten));
    rewritten = crate::atomic_indices::rewrite(crate::initialised::rewrite(rewritten));
    rewritten = crate::destroyed::rewrite(rewritten);
    if !notes.is_empty() {
        warn(purpose, &notes);
        rewritten += &scan::section(&notes);
    }
    let language_number = if is_before_cpp20(line) { 1 } else { 2 };
    rewritten += &format!("\n\t.section raddle_languages,\"aR\",@progbits\n\t.byte {language_number}\n");
    let bytes =
        if is_utf8 { rewritten.into_bytes() } else { rewritten.chars().map(|c| c as u32 as u8).collect() };
    std::fs::write(&assembly, bytes).map_err(|e| format!("cannot write {}: {e}", assembly.display()))?;
    let mut command = compiler.command();
    command.args(line.words.iter().flat_map(|w| if let Word::Assembler(f) = w { f.as_slice() } else { &[] }));
    // It is the compiler's own text: clang finds fault with what clang wrote.
    command.arg("-Wa,--no-warn").arg("-c").arg(&assembly).arg("-o").arg(object);
    finished(command.status().map_err(|e| format!("cannot run the compiler: {e}"))?, None)?;
    let _ = std::fs::remove_file(assembly);
    Ok(())
}

/// Compiles the source a second time, and marks what that shows. A source that does not compile with the other qualifier stays as it is.
fn mark_atomic_indices(
    compiler: &Compiler,
    line: &Line,
    (source, language): (&str, Option<&str>),
    text: String,
    scratch: &Path,
) -> (String, Vec<Caveat>) {
    let out = scratch.join(format!("{}.s", number()));
    let mut command = compiler.command();
    command.args(flags(line)).args(compiler.compile_flags(keep_o(), checks_operands(line)));
    command.args(["-w", crate::atomic_indices::FLAG]);
    if line.dependencies {
        command.arg("-MF").arg(out.with_extension("d"));
    }
    if let Some(language) = language {
        command.args(["-x", language]);
    }
    command.args(["-S", source, "-o"]).arg(&out);
    let done = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let second = done.ok().filter(ExitStatus::success).and_then(|_| std::fs::read(&out).ok());
    let _ = std::fs::remove_file(&out);
    match second {
        Some(second) => crate::atomic_indices::mark(text, &String::from_utf8_lossy(&second)),
        None => (text, Vec::new()),
    }
}

/// Compiles to assembly in `out`. Rules for make name `target`, which is what the user asked for.
fn to_assembly(
    compiler: &Compiler,
    line: &Line,
    source: &str,
    language: Option<&str>,
    out: &str,
    target: &str,
) -> Result<(PathBuf, Vec<Caveat>), Trouble> {
    let mut files = PathBuf::from(format!("{out}.d"));
    let mut command = compiler.command();
    command
        .args(flags(line).filter(|f| *f != warnings::NONE))
        .args(compiler.compile_flags(keep_o(), checks_operands(line)));
    let is_silent = flags(line).any(|f| f == warnings::NONE);
    let is_asked = !is_silent && flags(line).any(|f| warnings::asks(f));
    if !is_asked {
        command.args(warnings::FLAGS);
    }
    let is_asked_for_ended =
        !is_silent && flags(line).any(|f| f.contains("dangling-pointer") || f == "-Wall");
    if !is_asked_for_ended && !compiler.is_clang() && compiler.version() >= warnings::DANGLING_SINCE {
        command.args(warnings::DANGLING);
    }
    if std::io::stderr().is_terminal() && !flags(line).any(|f| f.contains("diagnostics-color")) {
        command.arg("-fdiagnostics-color=always");
    }
    if line.dependencies {
        let target = if line.mode == Mode::Program { beside(source, "o") } else { target.to_owned() };
        if !line.names_dependency_file {
            files = Path::new(&target).with_extension("d");
            command.arg("-MF").arg(&files);
        } else if let Some(named) = dependency_file(line) {
            files = PathBuf::from(named);
        }
        if !line.names_dependency_target {
            command.args(["-MT", &target]);
        }
    }
    if !line.dependencies && line.mode != Mode::Assembly {
        command.args(["-MD", "-MT", "x", "-MF"]).arg(&files);
    }
    if let Some(language) = language {
        command.args(["-x", language]);
    }
    command.args(["-S", source, "-o", out]).stderr(Stdio::piped());
    let child = command.spawn().and_then(std::process::Child::wait_with_output);
    let output = child.map_err(|e| format!("cannot run the compiler: {e}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if is_silent {
        let status = if output.status.success() {
            Ok(output.status)
        } else {
            // Warnings may have been errors.
            command.arg(warnings::NONE).stderr(Stdio::inherit()).status()
        };
        finished(status.map_err(|e| format!("cannot run the compiler: {e}"))?, None)?;
        return Ok((files, warnings::caveats(&said)));
    }
    if is_asked || !warnings::are_ours(&said) {
        // A compiler that cannot be heard has still compiled.
        let _ = std::io::stderr().write_all(&output.stderr);
    }
    finished(output.status, None)?;
    Ok((files, warnings::caveats(&said)))
}

/// Whether sources are in C, or in C++ before C++20, which took stores of the same thread out of release sequences.
fn is_before_cpp20(line: &Line) -> bool {
    let standard =
        flags(line).filter_map(|f| f.strip_prefix("-std=").or_else(|| f.strip_prefix("--std="))).last();
    // 20, 2a, 23, 2b, 26 and so on.
    !standard.is_some_and(|s| s.contains("++2"))
}

/// The file that the command line names for dependencies.
fn dependency_file(line: &Line) -> Option<&str> {
    line.words.iter().rev().find_map(|w| match w {
        Word::Flag(f) => match &f[..] {
            [flag, file] if flag == "-MF" => Some(file.as_str()),
            [flag] => flag.strip_prefix("-MF").filter(|f| !f.is_empty()),
            _ => None,
        },
        _ => None,
    })
}

/// Whether a source may switch instrumentation off for some functions: the attribute is named in one of its files, or on the
/// command line. `files` is the rule for make that the compiler wrote.
fn names_attribute(compiler: &Compiler, line: &Line, files: &Path) -> bool {
    let named = |text: &[u8]| {
        [b"no_sanitize".as_slice(), b"disable_sanitizer"]
            .iter()
            .any(|a| text.windows(a.len()).any(|w| w == *a))
    };
    if flags(line).any(|f| named(f.as_bytes())) {
        return true;
    }
    // Without the list nothing is known.
    let Ok(rule) = std::fs::read_to_string(compiler.path(files)) else { return true };
    let rule = rule.replace("\\\n", " ");
    let names = rule.split_once(": ").map_or("", |(_, names)| names);
    let names = names.split_whitespace().filter(|n| !n.starts_with("/usr/") && *n != "\\");
    names.into_iter().any(|n| std::fs::read(compiler.path(n)).map_or(true, |text| named(&text)))
}

/// Libraries that belong to the compiler and the system, whose functions the runtime knows.
const SYSTEM: [&str; 14] = [
    "c", "m", "pthread", "rt", "dl", "stdc++", "gcc", "gcc_s", "gcc_eh", "atomic", "util", "resolv",
    "stdc++fs", "supc++",
];

fn link(
    compiler: &Compiler,
    line: &Line,
    objects: &[PathBuf],
    scratch: &Path,
    purpose: For,
) -> Result<(), Trouble> {
    let mut seen = Vec::new();
    for object in objects {
        seen.extend(scan::inspect(object)?);
    }
    // Objects of ours have names that nobody knows.
    let sources = line.words.iter().filter_map(|w| if let Word::Source(s, _) = w { Some(s) } else { None });
    for (one, source) in seen.iter_mut().zip(sources) {
        let temporary = std::mem::replace(&mut one.name, source.clone());
        for sentence in &mut one.leads_out {
            *sentence = sentence.replace(&temporary, source);
        }
    }
    let (mut notes, mut of_system) = (Vec::new(), Vec::new());
    let search = || line.words.iter().filter_map(|w| if let Word::Search(d) = w { Some(d) } else { None });
    for word in &line.words {
        match word {
            Word::Object(path) => {
                let assembly = path.ends_with(".s") || path.ends_with(".S");
                if assembly {
                    notes.push(bare(format!("{path} is assembly and is not instrumented")));
                } else if Path::new(path).exists() {
                    seen.extend(scan::inspect(Path::new(path))?);
                }
            }
            Word::Library(name) if !SYSTEM.contains(&name.as_str()) => {
                let own = search().find_map(|directory| {
                    let file = |ending: &str| match name.strip_prefix(':') {
                        Some(exact) => Path::new(directory).join(exact),
                        None => Path::new(directory).join(format!("lib{name}.{ending}")),
                    };
                    ["so", "a"].map(file).into_iter().find(|f| f.exists())
                });
                if let Some(path) = own {
                    seen.extend(scan::inspect(&path)?);
                    continue;
                }
                let found = installed(compiler, name).map_or(Ok(Vec::new()), |path| scan::inspect(&path))?;
                if found.is_empty() {
                    // A script of the linker, or a file that only the linker finds.
                    notes.push(bare(format!("the library {name} is not instrumented")));
                }
                of_system.extend(found);
            }
            _ => {}
        }
    }
    let instrumented = seen.iter().filter(|s| !s.bare);
    let called: BTreeSet<&String> = instrumented.flat_map(|s| &s.calls).collect();
    for one in seen.iter().chain(&of_system) {
        let used: Vec<&String> = one.defines.iter().filter(|d| called.contains(d)).collect();
        // Nothing in the program's own code leads into what is on demand and not named by it.
        if one.bare && !(one.on_demand && used.is_empty()) {
            notes.push(uninstrumented(one, &used));
        }
        one.leads_out.iter().for_each(|n| eprintln!("raddle: warning: {n}"));
    }
    warn(purpose, &notes);
    let mut command = compiler.command();
    let library = library::directory()?;
    let noted = if notes.is_empty() { None } else { Some(note(compiler, &notes, scratch)?) };
    if !line.is_part || line.shared {
        // First of all libraries, so that its functions are found before those of the system.
        command
            .args(["-Wl,--push-state,--no-as-needed", "-L"])
            .arg(&library)
            .args(["-lraddle_native", "-Wl,--pop-state"]);
    }
    let mut objects = objects.iter();
    for word in &line.words {
        match word {
            Word::Source(..) => {
                command.args(objects.next());
            }
            Word::Object(path) => {
                command.arg(path);
            }
            Word::Library(name) => {
                command.arg(format!("-l{name}"));
            }
            Word::Search(directory) => {
                command.arg("-L").arg(directory);
            }
            Word::Flag(f) | Word::Link(f) | Word::Assembler(f) => {
                command.args(f);
            }
        }
    }
    command.args(noted);
    if !line.is_part || line.shared {
        command.args(["-Wl,-z,relro,-z,now", "-Xlinker", "-rpath", "-Xlinker"]).arg(&library);
        command.args(["-lpthread", "-lm"]);
        // A function of the program that has the name of one of the library's is just a function of the program.
        let own: BTreeSet<&str> = seen.iter().flat_map(|s| &s.defines).map(String::as_str).collect();
        let wrapped = WRAPPED.lines().filter(|name| !own.contains(name));
        command.args(wrapped.map(|name| format!("-Wl,--wrap={name}")));
        if !line.shared
            && let Some(script) = hide(&own, scratch)?
        {
            command.arg(format!("-Wl,--version-script={}", script.display()));
        }
    }
    command.arg("-o").arg(line.output.as_deref().unwrap_or("a.out"));
    let done = command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::inherit()).output();
    let done = done.map_err(|e| format!("cannot run the compiler: {e}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    eprint!("{said}");
    let help = (purpose == For::Check).then(|| explain(&said)).flatten();
    finished(done.status, help)?;
    Ok(())
}

/// Functions that a program may replace for the libraries too.
const REPLACED: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "free",
    "cfree",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "malloc_usable_size",
];

/// A script for the linker that keeps functions of the program to itself that have the name of a function of the C library.
/// Otherwise the libraries would call them, and raddle's own code with them.
fn hide(own: &BTreeSet<&str>, scratch: &Path) -> Result<Option<PathBuf>, Trouble> {
    let of_library = |name: &&str| {
        let name = std::ffi::CString::new(*name).unwrap_or_default();
        // SAFETY: the name is a C string; nothing is loaded or called.
        unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() }
    };
    let hidden = own.iter().copied().filter(|n| *n != "main" && !REPLACED.contains(n) && !n.starts_with('_'));
    let hidden: Vec<&str> = hidden.filter(of_library).collect();
    if hidden.is_empty() {
        return Ok(None);
    }
    let script = scratch.join("own.map");
    let text = format!("{{ local: {}; }};\n", hidden.join("; "));
    std::fs::write(&script, text).map_err(|e| format!("cannot write {}: {e}", script.display()))?;
    Ok(Some(script))
}

/// What a linker means.
fn explain(said: &str) -> Option<String> {
    let missing = |name: &str| {
        said.contains(&format!("undefined reference to `{name}'"))
            || said.lines().any(|l| l.contains("undefined symbol") && l.trim_end().ends_with(name))
    };
    if missing("main") {
        return Some(
            "there is no `main`: raddle checks whole programs, so a file with a `main` that starts the threads must be among those \
             given"
                .to_owned(),
        );
    }
    if said.contains("multiple definition of `main'") || said.contains("duplicate symbol: main") {
        return Some("there are two `main`s: give the files of one program".to_owned());
    }
    if said.contains("__tsan_") {
        return Some(
            "this compiler calls for something of the thread instrumentation that raddle does not know; gcc 12 to 14 and clang 14 to \
             19 are known"
                .to_owned(),
        );
    }
    said.contains("undefined reference").then(|| {
        "something is used and nowhere defined: give all files of the program, and libraries with -l"
            .to_owned()
    })
}

/// The file of a library that the compiler finds by itself.
fn installed(compiler: &Compiler, name: &str) -> Option<PathBuf> {
    ["so", "a"].iter().find_map(|ending| {
        let file = format!("lib{name}.{ending}");
        let answer = compiler.command().arg(format!("-print-file-name={file}")).output().ok()?;
        let path = PathBuf::from(String::from_utf8_lossy(&answer.stdout).trim());
        // What it does not find it only repeats.
        (path.is_absolute() && path.exists()).then_some(path)
    })
}

/// How many functions are named in one caveat.
const MOST_NAMED: usize = 8;

/// A caveat about an object without instrumentation, with the functions that the program calls.
fn uninstrumented(one: &scan::Seen, used: &[&String]) -> Caveat {
    let mut names: Vec<String> = used.iter().take(MOST_NAMED).map(|f| format!("`{f}`")).collect();
    if used.len() > MOST_NAMED {
        names.push(format!("{} more", used.len() - MOST_NAMED));
    }
    let names = match names.split_last() {
        None => return bare(format!("{} is not instrumented", one.name)),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    };
    let text = format!("{} is not instrumented: the accesses of {names} to memory are not seen", one.name);
    let kind = if one.on_demand { CaveatKind::Library } else { CaveatKind::Uninstrumented };
    Caveat::new(kind, text)
}

/// A caveat about code whose accesses are not seen.
fn bare(what: String) -> Caveat {
    Caveat::new(CaveatKind::Uninstrumented, what + ": its accesses to memory are not seen")
}

/// An object that holds caveats.
fn note(compiler: &Compiler, notes: &[Caveat], scratch: &Path) -> Result<PathBuf, Trouble> {
    let (text, object) = (scratch.join("unseen.s"), scratch.join("unseen.o"));
    let source = format!("{}\t.section .note.GNU-stack,\"\",@progbits\n", scan::section(notes));
    std::fs::write(&text, source).map_err(|e| format!("cannot write {}: {e}", text.display()))?;
    let mut command: Command = compiler.command();
    let status = command.arg("-c").arg(&text).arg("-o").arg(&object).status();
    finished(status.map_err(|e| format!("cannot run the compiler: {e}"))?, None)?;
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Line, String> {
        parse(&words(text).unwrap())
    }

    #[test]
    fn the_parts_of_a_command_line_are_told_apart() {
        let l = line("-O2 -Wall -I inc -c a.c -MD -o out/a.o").unwrap();
        assert_eq!((l.mode, l.output.as_deref(), l.dependencies), (Mode::Objects, Some("out/a.o"), true));
        assert_eq!(flags(&l).collect::<Vec<_>>(), ["-Wall", "-I", "inc", "-MD"], "the optimisation is ours");
        let l = line("a.o b.c -lfoo -L dir -Wl,-x -oprog").unwrap();
        assert_eq!((l.mode, l.output.as_deref()), (Mode::Program, Some("prog")));
        assert!(
            l.words.contains(&Word::Library("foo".into())) && l.words.contains(&Word::Search("dir".into()))
        );
        assert_eq!(line("--version").unwrap().mode, Mode::Other);
        assert_eq!(line("-E a.c").unwrap().mode, Mode::Other);
        assert_eq!(line("-S a.c").unwrap().mode, Mode::Assembly);
        assert_eq!(line("-x c++ -c file").unwrap().words[0], Word::Source("file".into(), Some("c++".into())));
    }

    #[test]
    fn what_cannot_be_checked_is_refused_with_a_reason() {
        for (text, part) in [
            ("-static a.c", "statically linked"),
            ("-m32 a.c", "64-bit x86 Linux"),
            ("-fsanitize=address a.c", "runtime of its own"),
            ("-fopenmp a.c", "OpenMP"),
            ("--target=aarch64-linux-gnu a.c", "64-bit x86 Linux"),
        ] {
            let why = line(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
        assert!(line("-fsanitize=thread,undefined a.c").is_ok());
    }
}
