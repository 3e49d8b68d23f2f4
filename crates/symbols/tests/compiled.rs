//! Small programs are compiled in many ways and run; they say where things are, and every answer is checked against
//! what the source says.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use symbols::{Memory, StackFrame, Symbols};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Tests need gcc; with clang they test more.
fn installed(compiler: &str) -> bool {
    let found = Command::new(compiler).arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || compiler.starts_with("clang"), "{compiler} is needed for these tests");
    if !found {
        eprintln!("{compiler} is not installed: skipped");
    }
    found
}

/// Compiles, unless another test has done that with the same flags.
fn compile(compiler: &str, flags: &str, files: &[&str]) -> PathBuf {
    static DONE: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("symbols");
    std::fs::create_dir_all(&directory).expect("a directory under the target directory");
    let stem = files[0].split('.').next().unwrap_or_default();
    let name = format!("{stem}-{compiler}{}", flags.replace(' ', ""));
    let out = directory.join(&name);
    if done.contains(&name) {
        return out;
    }
    let output = Command::new(compiler)
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(&out)
        .args(files.iter().map(|file| sources().join(file)))
        .arg("-pthread")
        .output()
        .expect("the compiler starts");
    assert!(output.status.success(), "{compiler} {flags}: {}", String::from_utf8_lossy(&output.stderr));
    done.push(name);
    out
}

/// A test program that said where things are and now answers questions.
struct Running {
    child: Child,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    said: HashMap<String, (usize, u32)>,
    blocks: Vec<Range<usize>>,
    symbols: Symbols,
    clang: bool,
}

impl Running {
    fn start(program: &Path) -> Running {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the compiled program starts");
        let input = child.stdin.take().expect("piped");
        let mut output = BufReader::new(child.stdout.take().expect("piped"));
        let mut said = HashMap::new();
        loop {
            let mut line = String::new();
            assert_ne!(output.read_line(&mut line).expect("text"), 0, "the program ended early");
            let Some(rest) = line.trim_end().strip_prefix("at ") else {
                assert_eq!(line.trim_end(), "ready");
                break;
            };
            let mut words = rest.rsplitn(3, ' ');
            let number = words.next().and_then(|word| word.parse().ok()).expect("a line number");
            let address =
                words.next().and_then(|word| usize::from_str_radix(word, 16).ok()).expect("an address");
            said.insert(words.next().expect("a key").to_string(), (address, number));
        }
        let mut symbols = Symbols::new(sources());
        symbols.add(program, said["base"].0);
        Running { child, pipes: Mutex::new((input, output)), said, blocks: Vec::new(), symbols, clang: false }
    }

    fn at(&self, key: &str) -> usize {
        self.said.get(key).unwrap_or_else(|| panic!("the program did not say where {key} is")).0
    }

    fn line(&self, key: &str) -> Option<u32> {
        Some(self.said[key].1)
    }

    fn name(&self, address: usize) -> Option<String> {
        self.symbols.variable(address).map(|variable| variable.text)
    }

    /// Checks that what is at the address the program gave for this name has this name.
    #[track_caller]
    fn is_named(&self, names: &[&str]) {
        for name in names {
            assert_eq!(self.name(self.at(name)).as_deref(), Some(*name));
        }
    }

    /// The value of a variable, as it is in the memory of the program.
    fn value(&self, key: &str) -> String {
        let variable = self.symbols.variable(self.at(key)).expect("a variable");
        let bytes = self.read(self.at(key), variable.size).expect("memory");
        self.symbols.show(variable.ty, &bytes)
    }

    fn path(&self, key: &str, frames: &[StackFrame]) -> Option<String> {
        self.symbols.path_to(self.at(key), frames, self, 6).map(|found| found.text)
    }
}

impl Memory for Running {
    /// Only what surely is mapped is asked for: near what the program spoke of.
    fn read(&self, address: usize, length: usize) -> Option<Vec<u8>> {
        let near = |&(said, _): &(usize, u32)| address >= said.saturating_sub(64) && address < said + 512;
        if address < 4096 || !self.said.values().any(near) {
            return None;
        }
        let mut pipes = self.pipes.lock().expect("no panic before");
        writeln!(pipes.0, "{address:x} {length}").expect("the program listens");
        let mut line = String::new();
        pipes.1.read_line(&mut line).expect("the program answers");
        let byte = |at: usize| u8::from_str_radix(line.get(at * 2..at * 2 + 2)?, 16).ok();
        (0..length).map(byte).collect()
    }

    fn block(&self, address: usize) -> Option<Range<usize>> {
        self.blocks.iter().find(|block| block.contains(&address)).cloned()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The program of this test alone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a check for each way to compile that is there.
fn each_way(ways: &[(&str, &str)], files: &[&str], check: impl Fn(&mut Running, &str)) {
    for (compiler, flags) in ways {
        if installed(compiler) {
            eprintln!("{compiler} {flags}");
            let mut running = Running::start(&compile(compiler, flags, files));
            running.clang = compiler.starts_with("clang");
            check(&mut running, flags);
        }
    }
}

const C_WAYS: &[(&str, &str)] = &[
    ("gcc", "-g -O0 -pie -fPIE"),
    ("gcc", "-g -O0 -no-pie"),
    ("gcc", "-g -O2 -pie -fPIE"),
    ("gcc", "-g -O2 -no-pie -gdwarf-4"),
    ("gcc", "-g -O0 -gdwarf-4 -fdebug-types-section"),
    ("gcc", "-g -O0 -fdebug-types-section"),
    ("gcc", "-g -O2 -flto"),
    ("gcc", "-g -O0 -gz"),
    ("clang", "-g -O0"),
    ("clang", "-g -O2 -gdwarf-4 -gz"),
];

#[test]
fn c_variables_have_the_names_the_source_gives_them() {
    each_way(C_WAYS, &["data.c", "other.c"], |running, _| {
        running.is_named(&[
            "counter",
            "byte",
            "table[0]",
            "table[3]",
            "table[9]",
            "grid[1][2]",
            "shared",
            "lock",
        ]);
        running.is_named(&[
            "config.limit",
            "config.name[4]",
            "config.corner.y",
            "config.hidden",
            "config.ratio",
        ]);
        running.is_named(&["config.both.whole", "config.both.halves.high"]);
        running.is_named(&[
            "nodes[2].next",
            "list.head",
            "shade",
            "watched",
            "bits.after",
            "flexible.data[2]",
        ]);
        // Static variables of one name are told apart, by file or by function; others need no more than their name.
        running.is_named(&["data.c:hits", "other.c:hits", "alone", "fixed"]);
        for function in ["next_id", "other_id"] {
            let key = format!("{function}.id");
            // With optimization clang 14 leaves out the name of the function; the line is told instead.
            let names = [format!("{function}::id"), format!("data.c:{}:id", running.said[&key].1)];
            let name = running.name(running.at(&key)).expect("a name");
            assert!(name == names[0] || (running.clang && name == names[1]), "{name}");
        }
        // Inside a number, in bit fields that share a byte, in a mutex, behind the end, and thread-local.
        assert_eq!(running.name(running.at("counter") + 1).as_deref(), Some("counter+1"));
        assert_eq!(running.name(running.at("bits")).as_deref(), Some("bits.{a,b}"));
        assert_eq!(running.name(running.at("bits") + 2).as_deref(), Some("bits.c"));
        let lock = running.symbols.variable(running.at("lock") + 8).expect("in the mutex");
        assert_eq!((lock.text.as_str(), lock.size), ("lock", 40));
        assert_ne!(running.name(running.at("table end")).as_deref(), Some("table[10]"));
        assert_eq!(running.name(running.at("own")), None);
        assert_eq!(running.name(running.at("head->value")), None);
        assert_eq!(running.symbols.variable(running.at("grid[1][2]")).map(|found| found.size), Some(4));
        assert_eq!(running.symbols.problems(), Vec::<String>::new());
    });
}

#[test]
fn c_values_are_shown_by_their_type() {
    each_way(C_WAYS, &["data.c", "other.c"], |running, _| {
        let shown = |key: &str| running.value(key);
        assert_eq!(shown("counter"), "7");
        assert_eq!(shown("byte"), "200");
        assert_eq!(shown("small"), "-3");
        assert_eq!(shown("big"), "-5000000000");
        assert_eq!(shown("flag"), "true");
        assert_eq!(shown("third"), "0.5");
        assert_eq!(shown("config.ratio"), "1.5");
        assert_eq!(shown("shade"), "GREEN");
        assert_eq!(shown("dark"), "DARK");
        assert_eq!(shown("nothing"), "null");
        assert_eq!(shown("watched"), "&table[3]");
        assert_eq!(shown("chosen"), "&config");
        assert_eq!(shown("anything"), "&config");
        assert_eq!(shown("handler"), "&outer");
        let head = running.symbols.variable(running.at("list.head")).expect("list.head");
        let heap = running.at("list.head->value");
        assert_eq!(running.symbols.show(head.ty, &heap.to_ne_bytes()), format!("{heap:#x}"));
        let shade = running.symbols.variable(running.at("shade")).expect("shade");
        assert_eq!(running.symbols.show(shade.ty, &77u32.to_ne_bytes()), "77");
        // Not all of it, more than it, nothing, or of no type.
        assert_eq!(running.symbols.show(shade.ty, &[3, 0]), "3");
        assert_eq!(
            running.symbols.show(shade.ty, &[1; 16]),
            "0x01010101010101010101010101010101".replace("0x0", "0x")
        );
        assert_eq!(running.symbols.show(None, &[9, 0, 0, 0]), "9");
        let point = running.symbols.type_named("struct point").expect("struct point");
        let bytes: Vec<u8> = [4i32, -6].iter().flat_map(|number| number.to_ne_bytes()).collect();
        assert_eq!(running.symbols.show(Some(point), &bytes), "{x = 4, y = -6}");
        let bits = running.symbols.type_named("bits").expect("struct bits");
        let shown = running.symbols.show(Some(bits), &[0b1110_1010, 0x34, 0x12, 0x51, 0xfe, 0, 0, 0]);
        assert_eq!(shown, format!("{{a = 2, b = 29, c = {}, after = -2}}", 0x11234));
    });
}

#[test]
fn what_is_on_the_heap_is_named_by_a_path_of_pointers() {
    each_way(C_WAYS, &["data.c", "other.c"], |running, flags| {
        for name in [
            "head->value",
            "head->next->value",
            "head->next",
            "list.head->value",
            "(*indirect)->value",
            "*indirect",
            "*one",
            "corners[2]->y",
            "far->second",
        ] {
            assert_eq!(running.path(name, &[]).as_deref(), Some(name));
        }
        // Without blocks an array on the heap is one object, and what nothing typed points to has little of a name.
        assert_eq!(running.path("row[4]", &[]), None);
        assert_eq!(running.path("untyped", &[]).as_deref(), Some("*untyped"));
        let block = |key: &str, size: usize| running.at(key)..running.at(key) + size;
        let blocks = vec![
            block("row", 24),
            block("queue.slots", 32),
            block("matrix", 32),
            block("growing", 20),
            block("untyped", 64),
        ];
        running.blocks = blocks;
        for name in
            ["row[4]", "queue.slots[1].where", "queue.slots[1].where->y", "matrix[1][2]", "growing->data[3]"]
        {
            assert_eq!(running.path(name, &[]).as_deref(), Some(name));
        }
        let untyped = running.symbols.path_to(running.at("untyped") + 8, &[], running, 3);
        assert_eq!(untyped.map(|found| found.text).as_deref(), Some("*untyped+8"));
        // The type comes with it.
        let found = running.symbols.path_to(running.at("head->value"), &[], running, 3).expect("a path");
        assert_eq!(running.symbols.show(found.ty, &5i32.to_ne_bytes()), "5");
        // No further than it may go.
        let deep = running.symbols.path_to(running.at("head->next->value"), &[], running, 1);
        assert_eq!(deep, None);
        // A local variable can be where it begins.
        let frame = StackFrame { return_address: running.at("stack"), cfa: running.at("cfa") };
        assert_eq!(running.path("chain->value", &[]), None);
        if flags.contains("-O0") && cfg!(target_arch = "x86_64") {
            assert_eq!(running.path("chain->value", &[frame]).as_deref(), Some("chain->value"));
        }
    });
}

#[test]
fn pointers_and_fields_can_be_asked_for() {
    each_way(&C_WAYS[..3], &["data.c", "other.c"], |running, _| {
        let symbols = &running.symbols;
        let pointers = symbols.pointers();
        let texts: Vec<&str> = pointers.iter().map(|pointer| pointer.text.as_str()).collect();
        for expected in
            ["head", "list.head", "nodes[0].next", "nodes[3].next", "queue.slots", "corners[1]", "untyped"]
        {
            assert!(texts.contains(&expected), "{expected} is not in {texts:?}");
        }
        assert!(!texts.contains(&"handler"), "a function is no data");
        let head = symbols.pointee(running.at("list.head")).expect("a pointer");
        assert_eq!((head.text.as_str(), head.address), ("list.head", running.at("list.head")));
        assert_eq!(symbols.type_name(head.ty), "node *");
        let node = head.pointee.expect("its type");
        assert_eq!(symbols.type_name(node), "node");
        assert_eq!(symbols.size_of(node), Some(16));
        assert_eq!(symbols.field(node, 8).map(|field| field.text).as_deref(), Some("next"));
        assert_eq!(symbols.field(node, 4).map(|field| field.text).as_deref(), Some("+4"));
        assert_eq!(symbols.field(node, 16), None);
        assert_eq!(symbols.pointee(running.at("counter")), None);
        let config = symbols.type_named("config").expect("struct config");
        assert_eq!(symbols.field(config, 20).map(|field| field.text).as_deref(), Some("corner.y"));
        assert_eq!(symbols.type_named("no such type"), None);
    });
}

#[test]
fn return_addresses_lead_to_lines_and_inlined_calls() {
    each_way(C_WAYS, &["data.c", "other.c"], |running, flags| {
        let main = running.symbols.place(running.at("main"));
        assert_eq!((main.function.as_str(), main.file.as_deref()), ("main", Some("data.c")));
        assert_eq!(main.line, running.line("main"));
        assert!(main.column.is_some_and(|column| column > 0), "{main:?}");
        assert!(main.inlined.is_empty() && main.user);
        let inner = running.symbols.place(running.at("inner"));
        let frames: Vec<_> = inner.frames().map(|frame| (frame.function, frame.line)).collect();
        let expected = ["inner", "middle", "outer"].map(|name| (name.to_string(), running.line(name)));
        assert!(frames.starts_with(&expected), "{flags}: {frames:?}");
        let user = running.symbols.user_frame(&[running.at("inner"), running.at("main")]).expect("a frame");
        assert_eq!(user.function, "inner");
        assert!(
            user.to_string().starts_with(&format!("data.c:{}:", running.line("inner").unwrap_or(0))),
            "{user}"
        );
    });
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "the program finds its frame as on x86-64")]
fn stack_variables_are_named_without_optimization() {
    let ways: Vec<_> = C_WAYS.iter().filter(|(_, flags)| flags.contains("-O0")).copied().collect();
    each_way(&ways, &["data.c", "other.c"], |running, _| {
        let frame = |key: &str| StackFrame { return_address: running.at(key), cfa: running.at("cfa") };
        let name = |from: &str, key: &str| {
            running.symbols.stack_variable(frame(from), running.at(key)).map(|variable| variable.text)
        };
        for key in ["parameter", "local", "numbers[2]", "mine.corner.y"] {
            assert_eq!(name("stack", key).as_deref(), Some(key));
            assert_eq!(name("block", key).as_deref(), Some(key));
        }
        assert_eq!(name("block", "inner local").as_deref(), Some("local"));
        assert_eq!(name("second block", "other").as_deref(), Some("other"));
        // Out of scope the place has no name, and other functions have other variables.
        assert_eq!(name("stack", "other"), None);
        assert_eq!(name("main", "local"), None);
        assert_eq!(name("stack", "counter"), None);
        let locals = running.symbols.locals(running.at("block"));
        let names: Vec<&str> = locals.iter().map(|local| local.text.as_str()).collect();
        assert_eq!(names[0], "local", "the innermost comes first");
        assert_eq!(names.iter().filter(|name| **name == "local").count(), 2);
        assert!(!names.contains(&"fixed"), "a static variable is not on the stack");
        let numbers =
            running.symbols.stack_variable(frame("stack"), running.at("numbers[2]")).expect("numbers");
        assert_eq!(running.symbols.show(numbers.ty, &(-1i32).to_ne_bytes()), "-1");
    });
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "the program finds its frame as on x86-64")]
fn stack_variables_that_stay_in_memory_are_named_with_optimization_as_well() {
    each_way(&[("gcc", "-g -O2 -pie -fPIE")], &["data.c", "other.c"], |running, _| {
        let frame = StackFrame { return_address: running.at("stack"), cfa: running.at("cfa") };
        let name = |key: &str| running.symbols.stack_variable(frame, running.at(key)).map(|found| found.text);
        for key in ["local", "numbers[2]", "mine.corner.y"] {
            assert_eq!(name(key).as_deref(), Some(key));
        }
    });
}

const CPP_WAYS: &[(&str, &str)] = &[
    ("g++", "-std=c++17 -g -O0"),
    ("g++", "-std=c++17 -g -O2 -gdwarf-4 -fdebug-types-section -no-pie"),
    ("clang++", "-std=c++17 -g -O0 -gdwarf-4"),
    ("clang++", "-std=c++17 -g -O2"),
];

#[test]
fn cpp_names_are_those_of_the_source_without_what_belongs_to_the_library() {
    each_way(CPP_WAYS, &["names.cpp"], |running, flags| {
        running.is_named(&["bank::accounts[1].id", "bank::accounts[1]._vptr", "bank::accounts[1].balance"]);
        running.is_named(&["bank::accounts[1].guard", "bank::accounts[1].locked", "bank::accounts[1].state"]);
        running.is_named(&[
            "bank::Account::opened",
            "bank::total",
            "bank::secret",
            "bank::box.inside.second",
        ]);
        running.is_named(&["fixed[2]", "grown", "runs", "bank::top"]);
        assert_eq!(running.name(running.at("grown") + 8).as_deref(), Some("grown"));
        assert_eq!(running.value("bank::total"), "5");
        assert_eq!(running.value("bank::accounts[1].balance"), "11");
        assert_eq!(running.value("bank::accounts[1].state"), "Closed");
        assert_eq!(running.value("bank::accounts[1].locked"), "false");
        // What only the library knows is left out.
        assert_eq!(running.value("grown"), "{...}");
        for name in ["bank::top->next->value", "bank::owned->value", "*grown", "alias", "favourite.balance"] {
            assert_eq!(running.path(name, &[]).as_deref(), Some(name), "{flags}");
        }
        // An object of a derived class is no array of the base class, however large it is.
        let base = running
            .symbols
            .size_of(running.symbols.type_named("bank::Base").expect("a class"))
            .expect("a size");
        let start = running.at("bank::base");
        running.blocks.push(start..start + 2 * base);
        assert_eq!(running.path("bank::base->id", &[]).as_deref(), Some("bank::base->id"));
        for (key, function) in [("run", "bank::Worker::run"), ("add", "add"), ("main", "main")] {
            let place = running.symbols.place(running.at(key));
            assert_eq!((place.function.as_str(), place.line), (function, running.line(key)));
            assert_eq!(place.file.as_deref(), Some("names.cpp"));
        }
        let open = running.symbols.place(running.at("open"));
        assert!(
            open.function.starts_with("bank::Box<std::pair<int, int>") && open.function.ends_with("::open"),
            "{open:?}"
        );
    });
}

#[test]
fn the_first_frame_of_the_user_is_behind_those_of_the_library() {
    each_way(CPP_WAYS, &["names.cpp"], |running, flags| {
        let in_std = running.at("in std");
        let library = running.symbols.place(in_std);
        assert!(library.function.contains("for_each") && !library.user, "{library:?}");
        let mut chain = vec![in_std];
        if flags.contains("-O0") {
            assert!(library.inlined.is_empty());
            assert_eq!(running.symbols.user_frame(&chain), None);
            chain.push(running.at("caller of std"));
        }
        let user = running.symbols.user_frame(&chain).expect("main called it");
        assert_eq!((user.function.as_str(), user.line), ("main", running.line("for_each")));
    });
}

#[test]
fn without_debug_information_the_symbol_table_answers() {
    each_way(&[("gcc", "-O0 -g0"), ("gcc", "-O2 -g0 -no-pie")], &["plain.c"], |running, _| {
        running.is_named(&["numbers", "numbers+8", "alone"]);
        let numbers = running.symbols.variable(running.at("numbers+8")).expect("numbers");
        assert_eq!((numbers.size, numbers.ty), (8, None));
        let work = running.symbols.place(running.at("work"));
        assert!(work.function.starts_with("work+0x"), "{work:?}");
        assert_eq!((&work.file, work.line, work.user), (&None, None, false));
        assert!(!running.symbols.has_debug_information(running.at("work")));
        assert_eq!(running.symbols.user_frame(&[running.at("work")]), None);
        assert_eq!(running.symbols.pointers(), []);
        assert_eq!(running.symbols.locals(running.at("work")), []);
        assert_eq!(running.symbols.path_to(running.at("alone"), &[], running, 5), None);
        assert_eq!(running.symbols.problems(), Vec::<String>::new());
    });
}

#[test]
fn of_a_stripped_program_the_module_and_offset_remain() {
    each_way(&[("gcc", "-O0 -g -s"), ("gcc", "-O0 -g -s -no-pie")], &["plain.c"], |running, flags| {
        let work = running.at("work");
        let place = running.symbols.place(work);
        let offset = if flags.contains("-no-pie") { work } else { work - running.at("base") };
        let name = place.function.rsplit_once('+').expect("an offset");
        assert!(name.0.starts_with("plain-gcc-"), "{place:?}");
        assert_eq!(name.1, format!("{offset:#x}"));
        assert_eq!(running.name(running.at("alone")), None);
        assert_eq!(running.symbols.problems(), Vec::<String>::new());
    });
}

#[test]
fn line_tables_alone_give_lines_with_the_names_of_symbols() {
    each_way(&[("gcc", "-O0 -g1"), ("clang", "-O0 -gline-tables-only")], &["plain.c"], |running, _| {
        let work = running.symbols.place(running.at("work"));
        assert_eq!((work.function.as_str(), work.line), ("work", running.line("work")));
        running.is_named(&["numbers", "numbers+8", "alone"]);
    });
}

#[test]
fn what_cannot_be_read_is_said_and_named_by_module() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("symbols");
    std::fs::create_dir_all(&directory).expect("a directory");
    let text = directory.join("text.so");
    std::fs::write(&text, "not a program at all, but long enough to have been one for a moment")
        .expect("written");
    for (path, words) in [(text, "not a readable ELF file"), (directory.join("absent.so"), "No such file")] {
        let symbols = Symbols::load(&path, 0x10000);
        let problems = symbols.problems();
        assert!(problems.len() == 1 && problems[0].contains(words), "{problems:?}");
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        assert_eq!(symbols.place(0x10010).function, format!("{name}+0x10"));
        assert_eq!(symbols.place(0x10).function, "0x10");
        assert_eq!(symbols.variable(0x10010), None);
        assert_eq!(symbols.pointers(), []);
        assert_eq!(symbols.locals(0x10010), []);
        assert_eq!(symbols.type_named("int"), None);
    }
}

/// Asks all there is to ask; only a panic or a hang is wrong.
fn ask_everything(path: &Path, addresses: &[usize]) {
    let symbols = Symbols::load(path, 0x10000);
    symbols.problems();
    for &address in addresses {
        symbols.place(address);
        if let Some(variable) = symbols.variable(address) {
            symbols.show(variable.ty, &vec![1; variable.size.min(4096)]);
        }
        symbols.locals(address);
        symbols.stack_variable(StackFrame { return_address: address, cfa: 0x7000 }, 0x6ff0);
    }
    symbols.pointers();
    symbols.path_to(0x99, &[], &|address: usize, length: usize| Some(vec![address as u8; length]), 4);
    for name in ["config", "node", "int"] {
        if let Some(ty) = symbols.type_named(name) {
            symbols.type_name(ty);
            symbols.field(ty, 8);
        }
    }
}

#[test]
fn truncated_and_damaged_files_never_panic() {
    // A panic inside is caught and costs the answer; here there must be none at all.
    static PANICS: AtomicU32 = AtomicU32::new(0);
    let this_test = std::thread::current().id();
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == this_test {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        usual(info);
    }));
    let good = compile("gcc", "-g -O0 -pie -fPIE", &["data.c", "other.c"]);
    let bytes = std::fs::read(&good).expect("the program");
    let addresses: Vec<usize> = (0x11000..0x15000).step_by(0x97).collect();
    ask_everything(&good, &addresses);
    let bad = good.with_file_name("bad");
    for length in
        [0, 1, 16, 63, 64, 65, 1000, bytes.len() / 4, bytes.len() / 2, bytes.len() * 3 / 4, bytes.len() - 1]
    {
        std::fs::write(&bad, &bytes[..length]).expect("written");
        ask_everything(&bad, &addresses);
    }
    // Bytes changed all over the file, the same ones in each run.
    let mut state = 0x2545_f491_4f6c_dd1du64;
    for _ in 0..60 {
        let mut damaged = bytes.clone();
        for _ in 0..40 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // The header stays, so that more than the header is looked at.
            let at = 64 + (state >> 20) as usize % (damaged.len() - 64);
            damaged[at] = state as u8;
        }
        std::fs::write(&bad, &damaged).expect("written");
        ask_everything(&bad, &addresses);
    }
    assert_eq!(PANICS.load(Ordering::Relaxed), 0);
}

#[test]
fn several_modules_are_told_apart() {
    let first = Running::start(&compile("gcc", "-g -O0 -pie -fPIE", &["data.c", "other.c"]));
    let mut symbols = Symbols::new(sources());
    let plain = compile("gcc", "-g -O0 -pie -fPIE", &["plain.c"]);
    symbols.add(&plain, 0x1000_0000);
    symbols.add(compile("gcc", "-g -O0 -pie -fPIE", &["data.c", "other.c"]), first.at("base"));
    assert_eq!(symbols.variable(first.at("table[3]")).map(|found| found.text).as_deref(), Some("table[3]"));
    assert_eq!(symbols.place(first.at("main")).file.as_deref(), Some("data.c"));
    let alone = Running::start(&plain);
    let moved = alone.at("alone") - alone.at("base") + 0x1000_0000;
    assert_eq!(symbols.variable(moved).map(|found| found.text).as_deref(), Some("alone"));
}

#[test]
fn variables_of_shared_libraries_are_named_wherever_they_are() {
    for (library_flags, program_flags) in
        [("-g", "-g -O0 -pie -fPIE"), ("-g", "-g -O0 -no-pie"), ("-g0", "-g -O2 -no-pie")]
    {
        let library = compile("gcc", &format!("{library_flags} -shared -fPIC"), &["remote.c"]);
        let moved = library.with_file_name(format!("libremote{library_flags}.so"));
        std::fs::copy(&library, &moved).expect("copied");
        let path = moved.to_str().expect("a path of text");
        let program = moved.with_file_name(format!("local{library_flags}{}", program_flags.replace(' ', "")));
        let output = Command::new("gcc")
            .args(program_flags.split_whitespace())
            .arg("-o")
            .args([&program, &sources().join("local.c")])
            .args([path, &format!("-Wl,-rpath,{}", moved.parent().expect("a directory").display())])
            .output()
            .expect("gcc starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut running = Running::start(&program);
        let base = running.at("library");
        running.symbols.add(&moved, base);
        running.is_named(&["remote.right"]);
        assert_eq!(running.value("remote.right"), "2");
        if library_flags == "-g" {
            running.is_named(&["inside[2].right"]);
        } else {
            assert_eq!(running.name(running.at("inside[2].right")).as_deref(), Some("inside+20"));
        }
        assert_eq!(running.symbols.problems(), Vec::<String>::new());
    }
}

#[test]
fn a_small_stack_is_enough() {
    each_way(&CPP_WAYS[..2], &["names.cpp"], |running, _| {
        std::thread::scope(|scope| {
            let asking = || {
                let path = running.path("bank::top->next->value", &[]);
                let open = running.symbols.place(running.at("open")).function;
                (path, open.ends_with("::open"), running.value("bank::total"))
            };
            let small = std::thread::Builder::new().stack_size(128 * 1024);
            let answers = small.spawn_scoped(scope, asking).expect("a thread").join().expect("answers");
            assert_eq!(answers, (Some("bank::top->next->value".to_string()), true, "5".to_string()));
        });
    });
}

struct Settings {
    limit: AtomicU32,
    pair: (u16, u32),
    guarded: Mutex<[Inner; 2]>,
}

struct Inner {
    first: u64,
    second: u64,
}

static SETTINGS: Settings = Settings {
    limit: AtomicU32::new(12),
    pair: (1, 7),
    guarded: Mutex::new([Inner { first: 1, second: 2 }, Inner { first: 3, second: 4 }]),
};

/// Not in the file, since all of it begins as zero.
static ZEROES: [AtomicU32; 100_000] = [const { AtomicU32::new(0) }; 100_000];

#[test]
fn this_process_can_ask_about_itself() {
    let symbols = Symbols::of_process();
    let address = this_process_can_ask_about_itself as fn() as usize;
    let place = symbols.place(address + 1);
    assert!(place.function.contains("this_process_can_ask_about_itself"), "{place:?}");
    assert!(place.file.is_some_and(|file| file.ends_with("compiled.rs")));
    let variable = |address: usize| {
        let variable = symbols.variable(address).expect("a static");
        (variable.text.rsplit("::").next().unwrap_or_default().to_string(), variable.ty)
    };
    let (name, ty) = variable(SETTINGS.limit.as_ptr() as usize);
    assert_eq!(name, "SETTINGS.limit");
    assert_eq!(symbols.show(ty, &12u32.to_ne_bytes()), "12");
    let (name, ty) = variable(&raw const SETTINGS.pair.1 as usize);
    assert_eq!(name, "SETTINGS.pair.1");
    assert_eq!(symbols.show(ty, &SETTINGS.pair.1.to_ne_bytes()), "7");
    assert_eq!(variable(ZEROES[90_000].as_ptr() as usize).0, "ZEROES[90000]");
    // What std has around the data of a mutex is left out.
    let guarded = SETTINGS.guarded.lock().expect("no panic");
    assert_eq!((guarded[1].first, guarded[1].second), (3, 4));
    assert_eq!(variable(&raw const guarded[1].second as usize).0, "SETTINGS.guarded[1].second");
}
