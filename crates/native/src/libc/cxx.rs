//! Code inside the C++ library: nodes of lists and trees, strings, streams.
//!
//! Templates are compiled with the program and instrumented there. What the library has compiled itself is found by its mangled
//! name, and its accesses are those of the object that it is called on.

use super::accesses::{ask, at, before, changes_variable, k, length, r, set, w};
use super::objects::{HANDLERS, Use};
use super::{Stub, Words, streams};
use crate::modules::{self, Owner};
use crate::shim::Call;
use std::ffi::CStr;

type Hook = fn(&Stub, &Words);

const STRING: &str = "St7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE";
const NODE: usize = 16;
const TREE_NODE: usize = 32;

/// The hook of a function of the C++ library, if its accesses are known.
pub(super) fn hook(name: &str) -> Option<Hook> {
    let exact: Option<Hook> = match name {
        "_ZNSt8__detail15_List_node_base7_M_hookEPS0_" => Some(list_hook),
        "_ZNSt8__detail15_List_node_base9_M_unhookEv" => Some(list_unhook),
        "_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_" => Some(list_transfer),
        "_ZNSt8__detail15_List_node_base10_M_reverseEv" => Some(list_reverse),
        "_ZNSt8__detail15_List_node_base4swapERS0_S1_" => Some(list_swap),
        "_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_" => Some(tree_insert),
        "_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_" => Some(tree_erase),
        "_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base"
        | "_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base" => Some(tree_increment),
        "_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base"
        | "_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base" => Some(tree_decrement),
        "_ZSt11_Hash_bytesPKvmm" => Some(|_, a| {
            reads(a[0], a[1]);
            crate::looks::hashed(a[0], a[1], here());
        }),
        "_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm" => {
            Some(|_, a| before(w(a[0] + 8, 8), here()))
        }
        "_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm" => Some(|_, a| before(w(a[0] + 8, 8), here())),
        "_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv" => {
            Some(|_, a| crate::thread_exit::registers(a[0]))
        }
        "_ZNSt8ios_base15sync_with_stdioEb" => Some(sync_with_stdio),
        "__cxa_end_catch" => Some(|_, _| crate::exception_pointers::leaves_handler()),
        "_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv" => Some(|_, a| reads(a[0], 8)),
        "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE" => Some(|_, a| reads(a[0], 8)),
        // The pointer to the table of virtual functions.
        "__dynamic_cast" => Some(|_, a| reads(a[0], 8)),
        "_ZSt13set_terminatePFvvE" | "_ZSt15set_new_handlerPFvvE" | "_ZNSt6locale6globalERKS_" => {
            Some(|_, _| {
                before(set(&HANDLERS), here());
                super::restored::lasting("std::set_terminate, std::set_new_handler or std::locale::global");
            })
        }
        "_ZSt13get_terminatev" | "_ZSt15get_new_handlerv" | "_ZNSt6localeC1Ev" => {
            Some(|_, _| before(ask(&HANDLERS), here()))
        }
        "_ZNSt6localeC1ERKS_" | "_ZNSt6localeC2ERKS_" => Some(|_, a| reads(a[1], 8)),
        "_ZNSt6localeaSERKS_" => Some(|_, a| {
            reads(a[1], 8);
            writes(a[0], 8);
        }),
        "_ZNSt6localeD1Ev" | "_ZNSt6localeD2Ev" => Some(|_, a| writes(a[0], 8)),
        "_ZNKSt6locale4nameB5cxx11Ev" => Some(|_, a| reads(a[1], 8)),
        "_ZNKSt6localeeqERKS_" => Some(|_, a| {
            reads(a[0], 8);
            reads(a[1], 8);
        }),
        "_ZNSt6thread4joinEv" => Some(joins),
        "_ZNSt6thread6detachEv" => Some(|_, a| {
            reads(a[0], 8);
            // Without a thread it throws.
            if at(a[0]) != 0 {
                writes(a[0], 8);
            }
        }),
        // They return the old locale, so the place for that comes first.
        "_ZNSt8ios_base5imbueERKSt6locale" => Some(|_, a| imbues(a[1], a[2])),
        "_ZNSt8ios_base17register_callbackEPFvNS_5eventERS_iEi" => Some(|_, a| writes(a[0] + CALLBACKS, 8)),
        "_ZNSt8ios_base13_M_grow_wordsEib" => Some(|_, a| writes(a[0] + EXTRA_WORDS, 8)),
        "_ZNSt8ios_base6xallocEv" => Some(|_, _| before(set(&HANDLERS), here())),
        "_ZNSt13random_device9_M_getvalEv" | "_ZNSt13random_device16_M_getval_pretr1Ev" => Some(|_, _| {
            super::inputs::from_outside("std::random_device");
        }),
        _ => None,
    };
    exact
        .or_else(|| error(name))
        .or_else(|| string(name))
        .or_else(|| stream(name))
        .or_else(|| number(name))
        .or_else(|| facet(name))
}

/// A word that a call has on the stack, behind those in registers.
fn on_stack(a: &Words, ordinal: usize) -> usize {
    // SAFETY: `forward` saves the registers 208 bytes below its frame, which has the caller's frame pointer and the return address in front
    // of the arguments. The function has at least so many.
    unsafe { std::ptr::from_ref(a).byte_add(208 + 16 + 8 * ordinal).cast::<usize>().read() }
}

/// `std::thread::join` reads the number of the thread before it waits, and sets it to zero afterwards.
fn joins(_: &Stub, a: &Words) {
    reads(a[0], 8);
    // Without a thread it throws.
    if at(a[0]) != 0 {
        crate::threads::joins_object(a[0]);
    }
}

/// Where the base of a stream has its width.
const WIDTH: usize = 16;
/// Where the base of a stream has its callbacks, its extra words, and its locale.
const CALLBACKS: usize = 40;
const EXTRA_WORDS: usize = 192;
const LOCALE_OF_STREAM: usize = 208;
/// Where a buffer has its locale.
const LOCALE_OF_BUFFER: usize = 56;

/// A stream gets another locale.
fn imbues(base: usize, locale: usize) {
    runtime::end_looking();
    reads(locale, 8);
    writes(base + LOCALE_OF_STREAM, 8);
}

/// Constructors of exceptions copy the text that they are handed.
fn error(name: &str) -> Option<Hook> {
    const CLASSES: &[&str] = &[
        "11logic_error",
        "12domain_error",
        "16invalid_argument",
        "12length_error",
        "12out_of_range",
        "13runtime_error",
        "11range_error",
        "14overflow_error",
        "15underflow_error",
    ];
    if matches!(name, "_ZNKSt13runtime_error4whatEv" | "_ZNKSt11logic_error4whatEv") {
        return Some(what);
    }
    let rest = name.strip_prefix("_ZNSt")?;
    let rest = CLASSES.iter().find_map(|c| rest.strip_prefix(c))?;
    match rest {
        "aSERKS_" | "C1ERKS_" | "C2ERKS_" => {
            return Some(|_, a| {
                reads(a[1] + MESSAGE, 8);
                writes(a[0] + MESSAGE, 8);
            });
        }
        "aSEOS_" | "C1EOS_" | "C2EOS_" => {
            return Some(|_, a| {
                writes(a[1] + MESSAGE, 8);
                writes(a[0] + MESSAGE, 8);
            });
        }
        _ => {}
    }
    match argument_of_stream(rest.strip_prefix("C1E").or_else(|| rest.strip_prefix("C2E"))?) {
        Argument::String => Some(|_, a| reads_string(a[1])),
        Argument::Text => Some(|_, a| reads(a[1], length(a[1]))),
        _ => None,
    }
}

/// Where an exception has its message.
const MESSAGE: usize = 8;

/// `what` of an exception that has a message.
fn what(_: &Stub, a: &Words) {
    reads(a[0] + MESSAGE, 8);
}

/// Memory resources that only one thread may use at a time. The program reaches their code through virtual calls, which are not hooked.
const RESOURCES: &[&str] = &["25monotonic_buffer_resource", "28unsynchronized_pool_resource"];

static mut HAS_RESOURCES: bool = false;

/// Looks at a name that the program imports.
pub(super) fn note_import(name: &str) {
    if RESOURCES.iter().any(|r| name.contains(r)) {
        // SAFETY: called before the first execution, on the only thread.
        unsafe { HAS_RESOURCES = true };
    }
}

/// Names what is not seen of a program with several threads.
pub(crate) fn thread_created(call: Call) {
    // SAFETY: one OS thread alone runs code of the program.
    if unsafe { HAS_RESOURCES } {
        let text = "a memory resource of `std::pmr` allocates inside the C++ library; what threads that share it access there is not seen";
        runtime::caveat_at(explore::CaveatKind::Library, text, call.place);
    }
}

fn here() -> Call {
    Call::unknown()
}

fn reads(p: usize, n: usize) {
    before(r(p, n), here());
}

fn writes(p: usize, n: usize) {
    before(w(p, n), here());
}

/// `from_chars` and `to_chars` of floating-point numbers. Those of integers are templates.
fn number(name: &str) -> Option<Hook> {
    if name.starts_with("_ZSt10from_charsPKcS0_R") {
        return Some(match name.as_bytes()[23] {
            b'f' => |stub, a| parsed(stub, a, 4),
            b'd' => |stub, a| parsed(stub, a, 8),
            _ => |stub, a| parsed(stub, a, 16),
        });
    }
    let kind = name.strip_prefix("_ZSt8to_charsPcS_")?;
    Some(match kind.as_bytes().first()? {
        b'f' | b'd' => printed,
        // How much is written of a `long double` is not known: a byte at least.
        b'e' => |_, a| writes(a[0], if a[0] < a[1] { 1 } else { 0 }),
        _ => return None,
    })
}

/// What `from_chars` and `to_chars` give.
#[repr(C)]
struct Converted {
    end: usize,
    error: i32,
}

/// Runs a conversion from text into a number of our own, to see how far it reads.
fn parsed(stub: &Stub, a: &Words, bytes: usize) {
    let [first, last, value, format, ..] = *a;
    let mut scratch = [0u64; 2];
    // SAFETY: the function has these parameters, and writes at most 16 bytes.
    let done = unsafe {
        let real: extern "C" fn(usize, usize, *mut u64, usize) -> Converted =
            std::mem::transmute(stub.real as *const ());
        real(first, last, scratch.as_mut_ptr(), format)
    };
    // The character that ends the number is looked at.
    reads(first, last.min(done.end + 1).saturating_sub(first));
    if done.error == 0 {
        writes(value, bytes);
    }
}

/// Runs a conversion into a buffer of our own, to see how much it writes.
fn printed(stub: &Stub, a: &Words) {
    let [first, last, format, precision, ..] = *a;
    let room = last.saturating_sub(first);
    let mut scratch = vec![0u8; room.min(1 << 13)];
    let start = scratch.as_mut_ptr() as usize;
    // SAFETY: `forward` saves the first vector register 80 bytes behind the integer registers. The function has these parameters,
    // or fewer, and writes within the buffer.
    let done = unsafe {
        let number = std::ptr::from_ref(a).byte_add(80).cast::<f64>().read();
        let real: extern "C" fn(usize, usize, f64, usize, usize) -> Converted =
            std::mem::transmute(stub.real as *const ());
        real(start, start + scratch.len(), number, format, precision)
    };
    if done.error == 0 {
        writes(first, done.end - start);
    }
}

fn list_hook(_: &Stub, a: &Words) {
    let [node, position, ..] = *a;
    writes(node, NODE);
    reads(position + 8, 8);
    writes(at(position + 8), 8);
    writes(position + 8, 8);
}

fn list_unhook(_: &Stub, a: &Words) {
    reads(a[0], NODE);
    writes(at(a[0]) + 8, 8);
    writes(at(a[0] + 8), 8);
}

fn list_transfer(_: &Stub, a: &Words) {
    let [position, first, last, ..] = *a;
    if position == last {
        return;
    }
    for node in [position, first, last] {
        reads(node + 8, 8);
        writes(at(node + 8), 8);
        writes(node + 8, 8);
    }
}

fn list_reverse(_: &Stub, a: &Words) {
    let mut node = a[0];
    while node != 0 {
        writes(node, NODE);
        node = at(node);
        if node == a[0] {
            break;
        }
    }
}

fn list_swap(_: &Stub, a: &Words) {
    for list in [a[0], a[1]] {
        writes(list, NODE);
        writes(at(list) + 8, 8);
        writes(at(list + 8), 8);
    }
}

const PARENT: usize = 8;
const LEFT: usize = 16;
const RIGHT: usize = 24;

/// Writes the nodes from one up to the root.
fn writes_path(mut node: usize, header: usize) {
    while node != 0 && node != header {
        writes(node, TREE_NODE);
        node = at(node + PARENT);
    }
    writes(header, TREE_NODE);
}

fn tree_insert(_: &Stub, a: &Words) {
    let [_, node, parent, header, ..] = *a;
    writes(node, TREE_NODE);
    writes_path(parent, header);
}

fn tree_erase(_: &Stub, a: &Words) {
    let [node, header, ..] = *a;
    let mut next = at(node + RIGHT);
    if at(node + LEFT) != 0 {
        while next != 0 {
            writes(next, TREE_NODE);
            next = at(next + LEFT);
        }
    }
    for child in [at(node + LEFT), at(node + RIGHT)] {
        writes(child, if child == 0 { 0 } else { TREE_NODE });
    }
    writes_path(node, header);
}

/// Walks to the neighbour of a node: down on the side `towards`, or up from the other one.
fn neighbour(mut node: usize, towards: usize, back: usize) {
    reads(node, TREE_NODE);
    if at(node + towards) != 0 {
        node = at(node + towards);
        while node != 0 {
            reads(node, TREE_NODE);
            node = at(node + back);
        }
        return;
    }
    let mut parent = at(node + PARENT);
    while parent != 0 {
        reads(parent, TREE_NODE);
        if at(parent + towards) != node {
            return;
        }
        (node, parent) = (parent, at(parent + PARENT));
        // The header is the parent of the root, and the root its parent.
        if at(parent + PARENT) == node {
            return reads(parent, TREE_NODE);
        }
    }
}

fn tree_increment(_: &Stub, a: &Words) {
    neighbour(a[0], RIGHT, LEFT);
}

fn tree_decrement(_: &Stub, a: &Words) {
    neighbour(a[0], LEFT, RIGHT);
}

/// A string: the object and its characters.
fn reads_string(object: usize) {
    reads(object, 32);
    reads(at(object), at(object + 8) + 1);
}

fn changes_string(object: usize) {
    writes(object, 32);
    writes(at(object), at(object + 8) + 1);
}

/// Functions of strings that look at the object alone.
const LOOKS: &[&str] = &[
    "4sizeE",
    "6lengthE",
    "5emptyE",
    "8capacityE",
    "8max_sizeE",
    "5beginE",
    "3endE",
    "6rbeginE",
    "4rendE",
    "6cbeginE",
    "4cendE",
    "4dataE",
    "5c_strE",
    "5frontE",
    "4backE",
    "2atE",
    "ixE",
    "7_M_dataEv",
    "13_M_local_dataE",
    "11_M_is_localE",
    "13get_allocatorE",
    "8_M_checkE",
    "15_M_check_lengthE",
    "8_M_limitE",
    "11_M_disjunctE",
    "16_M_get_allocatorE",
    "9_M_createE",
];

fn string(name: &str) -> Option<Hook> {
    let (rest, constant) = match name.strip_prefix("_ZNK").and_then(|n| n.strip_prefix(STRING)) {
        Some(rest) => (rest, true),
        None => (name.strip_prefix("_ZN")?.strip_prefix(STRING)?, false),
    };
    let starts = |list: &[&str]| list.iter().any(|l| rest.starts_with(l));
    if starts(LOOKS) {
        return Some(|_, a| reads(a[0], 32));
    }
    if rest.starts_with("6substrE") {
        return Some(|_, a| reads_string(a[1]));
    }
    if rest.starts_with("7_S_copyE") || rest.starts_with("7_S_moveE") {
        return Some(|_, a| {
            reads(a[1], a[2]);
            writes(a[0], a[2]);
        });
    }
    if rest.starts_with("13_S_copy_charsE") {
        return Some(|_, a| {
            reads(a[1], a[2].saturating_sub(a[1]));
            writes(a[0], a[2].saturating_sub(a[1]));
        });
    }
    if rest.starts_with("9_S_assignE") {
        return Some(|_, a| writes(a[0], a[1]));
    }
    if starts(&["10_S_compareE", "12_Alloc_hiderC", "12_Alloc_hiderD"]) {
        return Some(|_, _| ());
    }
    let made = starts(&["C1", "C2"]);
    let parameters = rest.split_once('E').map_or("", |p| p.1);
    Some(match (constant, made, argument(parameters)) {
        (true, _, Argument::String) => |_, a| {
            reads_string(a[0]);
            reads_string(a[1]);
        },
        (true, _, Argument::Text) => |_, a| {
            reads_string(a[0]);
            reads(a[1], length(a[1]));
        },
        (true, ..) => |_, a| reads_string(a[0]),
        (_, true, Argument::String) => |_, a| {
            reads_string(a[1]);
            writes(a[0], 32);
        },
        (_, true, Argument::Moved) => |_, a| {
            changes_string(a[1]);
            writes(a[0], 32);
        },
        (_, true, Argument::Text) => |_, a| {
            reads(a[1], length(a[1]));
            writes(a[0], 32);
        },
        (_, true, Argument::Bytes) => |_, a| {
            reads(a[1], a[2]);
            writes(a[0], 32);
        },
        (_, true, Argument::Other) => |_, a| writes(a[0], 32),
        (_, false, Argument::String) => |_, a| {
            reads_string(a[1]);
            changes_string(a[0]);
        },
        (_, false, Argument::Moved) => |_, a| {
            changes_string(a[1]);
            changes_string(a[0]);
        },
        (_, false, Argument::Text) => |_, a| {
            reads(a[1], length(a[1]));
            changes_string(a[0]);
        },
        (_, false, Argument::Bytes) => |_, a| {
            reads(a[1], a[2]);
            changes_string(a[0]);
        },
        (_, false, Argument::Other) => |_, a| changes_string(a[0]),
    })
}

/// What the first parameter of a string's function is.
enum Argument {
    String,
    Moved,
    Text,
    Bytes,
    Other,
}

fn argument(parameters: &str) -> Argument {
    match parameters {
        p if p.starts_with("RKS4_") => Argument::String,
        p if p.starts_with("OS4_") || p.starts_with("RS4_") => Argument::Moved,
        p if p.starts_with("PKcm") => Argument::Bytes,
        p if p.starts_with("PKc") => Argument::Text,
        _ => Argument::Other,
    }
}

/// Whether the standard streams are synchronised with those of C.
static mut SYNCHRONISED: bool = true;

/// An execution begins.
pub(super) fn begin() {
    // SAFETY: no thread of the program runs.
    unsafe { SYNCHRONISED = true };
}

fn sync_with_stdio(_: &Stub, a: &Words) {
    let on = a[0] as u8 != 0;
    // SAFETY: one OS thread alone runs code of the program.
    if unsafe { SYNCHRONISED } && !on {
        // All streams get buffers of their own. The library does not go back from that.
        runtime::end_looking();
        for stream in standard_streams().into_iter().filter(|s| *s != 0) {
            writes(base_of(stream) + BUFFER, 8);
        }
        // SAFETY: as above.
        unsafe { SYNCHRONISED = false };
    }
}

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
}

/// The standard streams of C++ that the program has, by address; the first is the one for input.
fn standard_streams() -> [usize; 8] {
    static mut FOUND: Option<[usize; 8]> = None;
    const NAMES: [&CStr; 8] = [
        c"_ZSt3cin",
        c"_ZSt4cout",
        c"_ZSt4cerr",
        c"_ZSt4clog",
        c"_ZSt4wcin",
        c"_ZSt5wcout",
        c"_ZSt5wcerr",
        c"_ZSt5wclog",
    ];
    // SAFETY: one OS thread alone runs code of the program; the names are C strings.
    unsafe {
        *(*(&raw mut FOUND))
            .get_or_insert_with(|| NAMES.map(|n| libc::dlsym(libc::RTLD_DEFAULT, n.as_ptr()) as usize))
    }
}

/// Which of the standard streams a stream is.
fn standard(stream: usize) -> Option<usize> {
    standard_streams().iter().position(|f| *f == stream)
}

/// The part of a stream that all its bases share.
fn base_of(stream: usize) -> usize {
    let table = at(stream);
    if table < 4096 {
        return stream;
    }
    // SAFETY: a stream begins with the address of its table, which has the offset of its virtual base in front.
    let offset = unsafe { ((table - 24) as *const isize).read() };
    if (0..4096).contains(&offset) { stream.wrapping_add_signed(offset) } else { stream }
}

/// A stream is used: all of it.
fn uses(stream: usize, write: bool) {
    if stream == 0 {
        return;
    }
    // SAFETY: one OS thread alone runs code of the program.
    if let Some(which) = standard(stream)
        // SAFETY: one OS thread alone runs code of the program.
        && unsafe { SYNCHRONISED }
    {
        // SAFETY: the C library defines them.
        let (file, how) = unsafe {
            match which % 4 {
                0 => (stdin, Use::Change),
                1 => (stdout, Use::Append),
                _ => (stderr, Use::Append),
            }
        };
        let buffer = buffer_of(base_of(stream));
        // Input and output of two threads do not race, but they read the flags that manipulators write, and the locale.
        let base = base_of(stream);
        reads(base + 8, 8);
        reads(base + 24, 4);
        reads(base + LOCALE_OF_STREAM, 8);
        // Formatted output uses the width up. Others read it, so they race only with functions that set it.
        before(changes_variable(base + WIDTH, 8), here());
        if is_of_c_stream(buffer) {
            return streams::used(file as usize, how, here());
        }
        // The program has given it another buffer. What a class of the program does there is seen.
        let is_programs = modules::owner(at(at(buffer) + 16)) == Some(Owner::Program);
        return before(if write && !is_programs { w(buffer + 8, 48) } else { r(buffer + 8, 48) }, here());
    }
    let base = base_of(stream);
    let access = |p: usize, n: usize| before(if write { w(p, n) } else { r(p, n) }, here());
    // The state of the stream, and the head of its buffer.
    access(base + 8, LOCALE_OF_STREAM - 8);
    reads(base + LOCALE_OF_STREAM, 8);
    let buffer = buffer_of(base);
    if buffer != 0 {
        access(buffer + 8, 48);
    }
}

/// Where the base of a stream has the address of its buffer.
const BUFFER: usize = 232;

/// The buffer of a stream, whose address is read.
fn buffer_of(base: usize) -> usize {
    reads(base + BUFFER, 8);
    at(base + BUFFER)
}

/// Whether a buffer is one that hands all to a stream of C, or there is none.
fn is_of_c_stream(buffer: usize) -> bool {
    static mut TABLES: Option<[usize; 2]> = None;
    const NAMES: [&CStr; 2] = [
        c"_ZTVN9__gnu_cxx18stdio_sync_filebufIcSt11char_traitsIcEEE",
        c"_ZTVN9__gnu_cxx18stdio_sync_filebufIwSt11char_traitsIwEEE",
    ];
    // SAFETY: one OS thread alone runs code of the program; the names are C strings.
    let tables = unsafe {
        *(*(&raw mut TABLES))
            .get_or_insert_with(|| NAMES.map(|n| libc::dlsym(libc::RTLD_DEFAULT, n.as_ptr()) as usize))
    };
    // Objects point behind the two words in front of the functions.
    buffer == 0 || tables.contains(&0) || tables.iter().any(|t| at(buffer) == t + 16)
}

fn uses_changed(_: &Stub, a: &Words) {
    uses_changed_at(a[0]);
}

fn uses_changed_at(stream: usize) {
    runtime::end_looking();
    uses(stream, true);
}

const STRING_BUFFER: &CStr = c"_ZTVNSt7__cxx1115basic_stringbufIcSt11char_traitsIcESaIcEE";
const FILE_BUFFER: &CStr = c"_ZTVSt13basic_filebufIcSt11char_traitsIcEE";
const CLASSIFIER: &CStr = c"_ZTVSt5ctypeIcE";
const NAMED_CLASSIFIER: &CStr = c"_ZTVSt12ctype_bynameIcE";

/// Hooks the virtual functions of buffers that move characters, and of facets that change arrays of them: inline functions call them from code of
/// the program. `lead` makes code that runs a hook in front of a function.
pub(super) fn watch_virtual_functions(mut lead: impl FnMut(usize, Hook) -> Option<usize>) {
    // With the ordinals of the functions in the tables, behind the two words in front of them.
    let of_buffers: [(usize, Hook); 2] = [(2 + 8, taken), (2 + 12, put)];
    let of_files: [(usize, Hook); 4] = [
        (2 + 3, buffer_set),
        (2 + 6, |_, a| uses_own_buffer(a[0])),
        (2 + 9, |_, a| uses_own_buffer(a[0])),
        (2 + 13, |_, a| {
            uses_own_buffer(a[0]);
        }),
    ];
    let of_classifiers: [(usize, Hook); 4] =
        [(2 + 3, changed), (2 + 5, changed), (2 + 7, widened), (2 + 9, narrowed)];
    // `compare`, `transform`, which returns a string, and `hash`.
    let of_collations: [(usize, Hook); 3] = [
        (2 + 2, |_, a| {
            reads(a[1], a[2].saturating_sub(a[1]));
            reads(a[3], a[4].saturating_sub(a[3]));
        }),
        (2 + 3, |_, a| reads(a[2], a[3].saturating_sub(a[2]))),
        (2 + 4, |_, a| reads(a[1], a[2].saturating_sub(a[1]))),
    ];
    let of_errors: [(usize, Hook); 1] = [(2 + 2, what)];
    let all: [(&CStr, &[(usize, Hook)]); 16] = [
        (c"_ZTVNSt7__cxx117collateIcEE", &of_collations),
        (c"_ZTVNSt7__cxx1114collate_bynameIcEE", &of_collations),
        (c"_ZTVSt11logic_error", &of_errors),
        (c"_ZTVSt12domain_error", &of_errors),
        (c"_ZTVSt16invalid_argument", &of_errors),
        (c"_ZTVSt12length_error", &of_errors),
        (c"_ZTVSt12out_of_range", &of_errors),
        (c"_ZTVSt13runtime_error", &of_errors),
        (c"_ZTVSt11range_error", &of_errors),
        (c"_ZTVSt14overflow_error", &of_errors),
        (c"_ZTVSt15underflow_error", &of_errors),
        (STRING_BUFFER, &of_buffers),
        (FILE_BUFFER, &of_buffers),
        (FILE_BUFFER, &of_files),
        (CLASSIFIER, &of_classifiers),
        (NAMED_CLASSIFIER, &of_classifiers),
    ];
    for (name, functions) in all {
        // SAFETY: the name is a C string.
        let table = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
        if table == 0 {
            continue;
        }
        for (ordinal, hook) in functions {
            let slot = table + ordinal * 8;
            // Programs that define the class themselves are instrumented.
            if modules::owner(at(slot)) != Some(Owner::System) {
                continue;
            }
            if let Some(to) = lead(at(slot), *hook) {
                let page = (slot & !(image::PAGE - 1)) as *mut libc::c_void;
                // SAFETY: the table lies in the data of a loaded module, and is only read but for this.
                unsafe {
                    libc::mprotect(page, image::PAGE, libc::PROT_READ | libc::PROT_WRITE);
                    (slot as *mut usize).write(to);
                }
            }
        }
    }
}

/// `toupper` and `tolower` of an array.
fn changed(_: &Stub, a: &Words) {
    writes(a[1], a[2].saturating_sub(a[1]));
}

/// `widen` of an array. The library calls it for tables of its own.
fn widened(_: &Stub, a: &Words) {
    if is_of_program() {
        let n = a[2].saturating_sub(a[1]);
        reads(a[1], n);
        writes(a[3], n);
    }
}

/// `narrow` of an array.
fn narrowed(_: &Stub, a: &Words) {
    if is_of_program() {
        let n = a[2].saturating_sub(a[1]);
        reads(a[1], n);
        writes(a[4], n);
    }
}

/// Whether the program itself calls.
fn is_of_program() -> bool {
    modules::owner(crate::shim::return_address()) == Some(Owner::Program)
}

/// `setbuf` of the buffer of a file: the array must be as long as it says.
fn buffer_set(_: &Stub, a: &Words) {
    if a[1] != 0 && a[2] as isize > 0 {
        before(k(a[1], a[2]), here());
    }
}

/// The buffer of a file moves characters through an array that the program gave it.
fn uses_own_buffer(buffer: usize) {
    // Where it has the address of the array, its size, and whether it allocated the array itself.
    const ARRAY: usize = 152;
    static mut TABLE: usize = 0;
    // SAFETY: one OS thread alone runs code of the program; the name is a C string.
    let table = unsafe {
        if TABLE == 0 {
            TABLE = libc::dlsym(libc::RTLD_DEFAULT, FILE_BUFFER.as_ptr()) as usize;
        }
        TABLE
    };
    if table == 0 || at(buffer) != table + 16 {
        return;
    }
    let (array, size, is_own) =
        (at(buffer + ARRAY), at(buffer + ARRAY + 8), at(buffer + ARRAY + 16) & 0xff != 0);
    if array != 0 && !is_own && size > 1 {
        writes(array, size);
    }
}

/// Functions of buffers and of facets that read or write arrays of characters.
fn characters(name: &str) -> Option<Hook> {
    if let Some(rest) = name.strip_prefix("_ZNKSt5ctypeIcE") {
        let changes = ["7toupperEPcPKc", "7tolowerEPcPKc", "10do_toupperEPcPKc", "10do_tolowerEPcPKc"];
        return changes.contains(&rest).then_some(|_, a| writes(a[1], a[2].saturating_sub(a[1])));
    }
    let classes = ["St15basic_streambufI", "St13basic_filebufI", "St7__cxx1115basic_stringbufI"];
    // The locale is returned, so the place for it comes first.
    if name.starts_with("_ZNKSt15basic_streambufI") && name.ends_with("EE6getlocEv") {
        return Some(|_, a| reads(a[1] + LOCALE_OF_BUFFER, 8));
    }
    let rest = name.strip_prefix("_ZN")?;
    if rest.starts_with(classes[0]) && rest.ends_with("EE8pubimbueERKSt6locale") {
        return Some(|_, a| {
            reads(a[2], 8);
            writes(a[1] + LOCALE_OF_BUFFER, 8);
        });
    }
    if !classes.iter().any(|c| rest.starts_with(c)) {
        return None;
    }
    match rest {
        r if r.ends_with("E5sputnEPKcl") || r.ends_with("E6xsputnEPKcl") => Some(put),
        r if r.ends_with("E5sgetnEPcl") || r.ends_with("E6xsgetnEPcl") => Some(taken),
        r if ["EE5sgetcEv", "EE8in_availEv"].iter().any(|m| r.ends_with(m)) => {
            Some(|_, a| looks_at(a[0], false))
        }
        r if ["EE6sbumpcEv", "EE6snextcEv", "EE6stosscEv", "EE7sungetcEv"].iter().any(|m| r.ends_with(m)) => {
            Some(|_, a| looks_at(a[0], true))
        }
        r if ["EE5sputcE", "EE9sputbackcE"].iter().any(|m| r.contains(m)) => {
            Some(|_, a| looks_at(a[0], true))
        }
        // A position has two words, so the place for that does not come first.
        r if r.contains("EE10pubseekoffE") || r.contains("EE10pubseekposE") => {
            Some(|_, a| looks_at(a[0], true))
        }
        _ => None,
    }
}

/// A member of a buffer that takes or gives one character, or moves in it: it uses the pointers into the buffer.
fn looks_at(buffer: usize, write: bool) {
    if is_of_c_stream(buffer) {
        return;
    }
    runtime::end_looking();
    if write { writes(buffer + 8, 48) } else { reads(buffer + 8, 48) }
}

/// `xsputn` of a buffer. The library hands in buffers of its own on the stack, too.
fn put(_: &Stub, a: &Words) {
    if a[2] as isize > 0 && !runtime::on_own_stack(a[1]) {
        reads(a[1], a[2]);
    }
    uses_own_buffer(a[0]);
    writes(a[0] + 8, 48);
}

/// `xsgetn` of a buffer: what it has. What a file has beyond that is read by `read`.
fn taken(_: &Stub, a: &Words) {
    let has = at(a[0] + 24).saturating_sub(at(a[0] + 16));
    if a[2] as isize > 0 && !runtime::on_own_stack(a[1]) {
        writes(a[1], has.min(a[2]));
    }
    uses_own_buffer(a[0]);
    writes(a[0] + 8, 48);
}

/// What follows the class in the mangled name of a member of a stream.
fn member(name: &str) -> Option<(&str, bool)> {
    const CLASSES: &[&str] = &[
        "So",
        "Si",
        "Sd",
        "St13basic_ostreamIwSt11char_traitsIwEE",
        "St13basic_istreamIwSt11char_traitsIwEE",
        "St14basic_ifstreamIcSt11char_traitsIcEE",
        "St14basic_ofstreamIcSt11char_traitsIcEE",
        "St13basic_fstreamIcSt11char_traitsIcEE",
        "St7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEE",
        "St7__cxx1119basic_ostringstreamIcSt11char_traitsIcESaIcEE",
        "St7__cxx1119basic_istringstreamIcSt11char_traitsIcESaIcEE",
        "St7__cxx1118basic_stringstreamIwSt11char_traitsIwESaIwEE",
        "St7__cxx1119basic_ostringstreamIwSt11char_traitsIwESaIwEE",
        "St7__cxx1119basic_istringstreamIwSt11char_traitsIwESaIwEE",
    ];
    let (rest, constant) = match name.strip_prefix("_ZNK") {
        Some(rest) => (rest, true),
        None => (name.strip_prefix("_ZN")?, false),
    };
    // For an object that stays (`R`), or that is not needed any more (`O`).
    let rest = rest.strip_prefix('R').or_else(|| rest.strip_prefix('O')).unwrap_or(rest);
    CLASSES.iter().find_map(|c| rest.strip_prefix(c)).map(|rest| (rest, constant))
}

/// The first parameter of a member of a stream, if it is text.
fn argument_of_stream(parameters: &str) -> Argument {
    match parameters {
        p if p.starts_with("RKNSt7__cxx1112basic_string") || p.starts_with("RKNS_12basic_string") => {
            Argument::String
        }
        p if p.starts_with("PKc") => Argument::Text,
        _ => Argument::Other,
    }
}

/// Members of streams that read or write what they are handed a pointer or a reference to.
fn formatted(rest: &str) -> Option<Hook> {
    if let Some(kind) = rest.strip_prefix("rsER") {
        return Some(match kind {
            "b" => |_, a| extracts(a, 1),
            "s" | "t" => |_, a| extracts(a, 2),
            "i" | "j" | "f" => |_, a| extracts(a, 4),
            "l" | "m" | "x" | "y" | "d" | "Pv" => |_, a| extracts(a, 8),
            "e" => |_, a| extracts(a, 16),
            _ => return None,
        });
    }
    Some(match rest {
        "3getERc" => |_, a| takes(a, 1),
        "3getERw" => |_, a| takes(a, 4),
        "3getEPcl" | "7getlineEPcl" => |_, a| takes_line::<u8>(a, b'\n'),
        "3getEPclc" | "7getlineEPclc" => |_, a| takes_line::<u8>(a, a[3] as u8),
        "3getEPwl" | "7getlineEPwl" => |_, a| takes_line::<u32>(a, u32::from(b'\n')),
        "3getEPwlw" | "7getlineEPwlw" => |_, a| takes_line::<u32>(a, a[3] as u32),
        "4readEPcl" | "8readsomeEPcl" => |_, a| takes(a, filled(a[0]).min(a[2])),
        "4readEPwl" | "8readsomeEPwl" => |_, a| takes(a, filled(a[0]).min(a[2].saturating_mul(4))),
        "5writeEPKcl" => |_, a| {
            runtime::end_looking();
            reads(a[1], a[2]);
            uses(a[0], true);
        },
        "5writeEPKwl" => |_, a| {
            runtime::end_looking();
            reads(a[1], a[2].saturating_mul(4));
            uses(a[0], true);
        },
        // Characters go from one buffer to another one.
        r if r.starts_with("lsEPSt15basic_streambuf") || r.starts_with("rsEPSt15basic_streambuf") => {
            |_, a| with_buffer(a)
        }
        r if r.starts_with("3getERSt15basic_streambuf") => |_, a| with_buffer(a),
        r if COUNTED.iter().any(|m| r.starts_with(m)) => |_, a| {
            counts(a[0]);
            uses_changed_at(a[0]);
        },
        r if r.starts_with("4openEPKc") => |_, a| {
            runtime::end_looking();
            reads(a[1], length(a[1]));
            uses(a[0], true);
        },
        r if r.starts_with("4openERKNSt7__cxx1112basic_string") => |_, a| {
            runtime::end_looking();
            reads_string(a[1]);
            uses(a[0], true);
        },
        _ => return None,
    })
}

/// Unformatted input, which sets what `gcount` returns.
const COUNTED: &[&str] = &["3getEv", "4peekE", "5ungetE", "6ignoreE", "7putbackE"];

/// A stream sets the number of characters that it has read last.
fn counts(stream: usize) {
    if standard(stream).is_none() {
        writes(stream + 8, 8);
    }
}

/// Unformatted input of so many bytes.
fn takes(a: &Words, bytes: usize) {
    counts(a[0]);
    extracts(a, bytes);
}

/// Input of a line. The end of the text is written in any case.
fn takes_line<T: Copy + PartialEq>(a: &Words, end: T) {
    let room = a[2] as isize;
    if room <= 0 {
        return takes(a, 0);
    }
    let most = (filled(a[0]) / size_of::<T>()).min(room as usize - 1);
    let start = next(a[0]) as *const T;
    // SAFETY: the buffer of the stream has so many characters.
    let text = (0..most).find(|i| unsafe { start.add(*i).read_unaligned() } == end).unwrap_or(most);
    takes(a, (text + 1) * size_of::<T>());
}

/// `>>` of an array of characters, which has room for `a[2]` of them: a word, and its end.
fn takes_word<T: Copy + Into<u32>>(a: &Words) {
    const SKIPS: usize = 1 << 12;
    let base = base_of(a[0]);
    let width = at(base + 16) as isize;
    let room = if width > 0 { width.min(a[2] as isize) } else { a[2] as isize };
    if room <= 0 {
        return extracts(a, 0);
    }
    let (start, all) = (next(a[0]) as *const T, filled(a[0]) / size_of::<T>());
    let is_space = |i: &usize| {
        // SAFETY: the buffer of the stream has so many characters.
        let c: u32 = unsafe { start.add(*i).read_unaligned() }.into();
        matches!(c, 9..=13 | 32)
    };
    let skipped = if at(base + 24) & SKIPS != 0 { (0..all).find(|i| !is_space(i)).unwrap_or(all) } else { 0 };
    let end = (skipped..all).find(is_space).unwrap_or(all);
    extracts(a, ((end - skipped).min(room as usize - 1) + 1) * size_of::<T>());
}

/// A stream moves characters to or from the buffer that is its argument.
fn with_buffer(a: &Words) {
    runtime::end_looking();
    if a[1] != 0 && !is_of_c_stream(a[1]) {
        let is_programs = modules::owner(at(at(a[1]) + 16)) == Some(Owner::Program);
        if !is_programs {
            writes(a[1] + 8, 48);
        }
    }
    uses(a[0], true);
}

/// A stream writes so many bytes at its first argument.
fn extracts(a: &Words, bytes: usize) {
    runtime::end_looking();
    writes(a[1], bytes);
    uses(a[0], true);
}

/// The next byte that a stream reads.
fn next(stream: usize) -> usize {
    at(at(base_of(stream) + BUFFER) + 16)
}

/// How many bytes a stream has in its buffer.
fn available(stream: usize) -> usize {
    match at(base_of(stream) + BUFFER) {
        0 => 0,
        buffer => at(buffer + 24).saturating_sub(at(buffer + 16)),
    }
}

/// The same, when the stream has read from its file if the buffer was empty: it is about to do so.
fn filled(stream: usize) -> usize {
    let here = available(stream);
    if here > 0 {
        return here;
    }
    let base = base_of(stream);
    let buffer = at(base + BUFFER);
    // Where the base of a stream has its state; 0 if all is well.
    let state = at(base + 32) as u32;
    if state == 0 && is_of_regular_file(buffer) {
        // SAFETY: the buffer is one of the library, whose function for this reads from the file. It does not throw for a regular file.
        unsafe {
            let underflow = at(at(buffer) + 9 * 8);
            let underflow: extern "C" fn(usize) -> i32 = std::mem::transmute(underflow);
            underflow(buffer);
        }
    }
    available(stream)
}

/// Whether a buffer is one of the library that reads from an open regular file.
fn is_of_regular_file(buffer: usize) -> bool {
    // Where it has the stream of C, and how it was opened.
    const FILE: usize = 104;
    const MODE: usize = 120;
    const INPUT: usize = 8;
    // SAFETY: the name is a C string.
    let table = unsafe { libc::dlsym(libc::RTLD_DEFAULT, FILE_BUFFER.as_ptr()) } as usize;
    if buffer == 0 || table == 0 || at(buffer) != table + 16 {
        return false;
    }
    let file = at(buffer + FILE);
    if file == 0 || at(buffer + MODE) & INPUT == 0 {
        return false;
    }
    // SAFETY: an open stream of the C library; the status is ours.
    unsafe {
        let mut status: libc::stat = std::mem::zeroed();
        libc::fstat(libc::fileno(file as *mut libc::FILE), &mut status) == 0
            && status.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// Manipulators change one field of a stream, which nothing protects.
fn manipulator(name: &str) -> Option<Hook> {
    let kind = name.strip_prefix("_ZStlsI").or_else(|| name.strip_prefix("_ZStrsI"))?;
    let field: Hook = match kind.rsplit_once("St").map_or("", |k| k.1) {
        "5_Setw" => |_, a| manipulates(a[0], 16, 8),
        "13_Setprecision" => |_, a| manipulates(a[0], 8, 8),
        "8_Setbase" | "14_Setiosflags" | "16_Resetiosflags" => |_, a| manipulates(a[0], 24, 4),
        _ => return None,
    };
    Some(field)
}

fn manipulates(stream: usize, offset: usize, bytes: usize) {
    runtime::end_looking();
    writes(base_of(stream) + offset, bytes);
}

fn stream(name: &str) -> Option<Hook> {
    if let Some(hook) = manipulator(name) {
        return Some(hook);
    }
    if let Some(hook) = characters(name) {
        return Some(hook);
    }
    if name.starts_with("_ZSt9use_facetI") || name.starts_with("_ZSt9has_facetI") {
        return Some(|_, a| reads(a[0], 8));
    }
    if let Some((rest, constant)) = member(name) {
        // The other stream changes, too.
        if ["C1EO", "C2EO"].iter().any(|m| rest.starts_with(m)) {
            return Some(|_, a| {
                uses_changed_at(a[1]);
                writes(a[0], 8);
            });
        }
        if rest.starts_with("aSEO") || rest.starts_with("4swapER") {
            return Some(|_, a| {
                uses_changed_at(a[1]);
                uses(a[0], true);
            });
        }
        if rest.starts_with("C1") || rest.starts_with("C2") {
            return Some(match rest.strip_prefix("C1E").map(argument_of_stream) {
                Some(Argument::String) => |_, a| {
                    reads_string(a[1]);
                    writes(a[0], 8);
                },
                Some(Argument::Text) => |_, a| {
                    reads(a[1], length(a[1]));
                    writes(a[0], 8);
                },
                _ => |_, a| writes(a[0], 8),
            });
        }
        if rest.starts_with("6sentryD") {
            // A guard has the stream behind a flag.
            return Some(|_, a| uses(at(a[0] + 8), true));
        }
        if rest.starts_with("6sentry") {
            return Some(|_, a| uses(a[1], true));
        }
        if let Some(hook) = formatted(rest) {
            return Some(hook);
        }
        return Some(match (constant, rest) {
            // It gives a string, so the place for that comes first.
            (true, "3strEv") => |_, a| uses(a[1], false),
            (false, "3strEv") => |_, a| uses(a[1], true),
            (true, _) => |_, a| uses(a[0], false),
            (false, "3strERKNS_12basic_stringIcS2_S3_EE") => |_, a| {
                reads_string(a[1]);
                uses(a[0], true);
            },
            (false, _) => uses_changed,
        });
    }
    if let Some(rest) =
        name.strip_prefix("_ZNKSt9basic_iosI").or_else(|| name.strip_prefix("_ZNSt9basic_iosI"))
    {
        if rest.contains("EEC1") || rest.contains("EEC2") || rest.contains("4init") {
            return Some(|_, _| ());
        }
        let constant = name.starts_with("_ZNK");
        // The old locale is returned, so the place for it comes first.
        if rest.contains("EE5imbueE") {
            return Some(|_, a| {
                imbues(a[1], a[2]);
                let buffer = buffer_of(a[1]);
                if buffer != 0 {
                    writes(buffer + LOCALE_OF_BUFFER, 8);
                }
            });
        }
        if rest.contains("EE7copyfmtE") {
            return Some(|_, a| {
                reads(a[1] + 8, 208);
                writes(a[0] + 8, 208);
            });
        }
        if ["EE4moveE", "EE4swapE"].iter().any(|m| rest.contains(m)) {
            return Some(|_, a| {
                writes(a[1] + 8, 208);
                writes(a[0] + 8, 208);
            });
        }
        if rest.contains("EE5rdbufEP") {
            return Some(|_, a| {
                writes(a[0] + BUFFER, 8);
                writes(a[0] + 8, 208);
            });
        }
        return Some(if constant { |_, a| reads(a[0] + 8, 208) } else { |_, a| writes(a[0] + 8, 208) });
    }
    let buffer = "St7__cxx1115basic_stringbufI";
    if let Some(rest) = name.strip_prefix("_ZNK").map(|n| n.strip_prefix('R').unwrap_or(n))
        && rest.starts_with(buffer)
    {
        return rest.ends_with("3strEv").then_some(|_, a| reads(a[1] + 8, 48));
    }
    if name.strip_prefix("_ZNO").is_some_and(|n| n.starts_with(buffer) && n.ends_with("3strEv")) {
        return Some(|_, a| writes(a[1] + 8, 48));
    }
    // Functions beside the classes have the stream as their first argument.
    let beside =
        ["_ZStls", "_ZStrs", "_ZSt4endl", "_ZSt4ends", "_ZSt5flush", "_ZSt2ws", "_ZSt16__ostream_insert"];
    if beside.iter().any(|p| name.starts_with(p))
        && (name.contains("stream") || name.contains("Si") || name.contains("So"))
    {
        let string = name.contains("12basic_stringI");
        return Some(match (name.starts_with("_ZStls"), string) {
            (true, true) => |_, a| {
                runtime::end_looking();
                reads_string(a[1]);
                uses(a[0], true);
            },
            (false, false) if name.starts_with("_ZSt16__ostream_insertIc") => |_, a| {
                runtime::end_looking();
                reads(a[1], a[2]);
                uses(a[0], true);
            },
            (false, false) if name.starts_with("_ZStrsIc") && name.ends_with("_RS3_") => {
                |_, a| extracts(a, 1)
            }
            (false, false) if name.starts_with("_ZStrsIw") && name.ends_with("_RS3_") => {
                |_, a| extracts(a, 4)
            }
            // The array has room for what comes.
            (false, false) if name.starts_with("_ZStrsIc") && name.ends_with("_PS3_") => |_, a| {
                takes_word::<u8>(&[a[0], a[1], isize::MAX as usize, 0, 0, 0]);
            },
            (false, false) if name.starts_with("_ZStrsIw") && name.ends_with("_PS3_") => |_, a| {
                takes_word::<u32>(&[a[0], a[1], isize::MAX as usize, 0, 0, 0]);
            },
            (true, false) if name.ends_with("PKc") => |_, a| {
                runtime::end_looking();
                reads(a[1], length(a[1]));
                uses(a[0], true);
            },
            (false, true) => |_, a| {
                runtime::end_looking();
                changes_string(a[1]);
                uses(a[0], true);
            },
            _ => uses_changed,
        });
    }
    if name == "_ZSt17__istream_extractRSiPcl" {
        return Some(|_, a| takes_word::<u8>(a));
    }
    if name.starts_with("_ZSt17__istream_extractIw") {
        return Some(|_, a| takes_word::<u32>(a));
    }
    if name.starts_with("_ZSt7getlineI") {
        return Some(|_, a| {
            runtime::end_looking();
            changes_string(a[1]);
            uses(a[0], true);
        });
    }
    None
}

/// Facets that read or write what they are handed a pointer or a reference to. An iterator is two words. Those of a stream, the flags for errors
/// and what comes behind them are on the stack.
fn facet(name: &str) -> Option<Hook> {
    let rest = name.strip_prefix("_ZNKSt")?;
    let rest = rest.strip_prefix("7__cxx11").unwrap_or(rest);
    let is = |class: &str, member: &str| rest.starts_with(class) && rest.contains(member);
    if is("8time_getI", "EEE3getE") {
        return Some(if rest.ends_with("P2tmcc") {
            |_, a| writes_time(on_stack(a, 1), &[on_stack(a, 2) as u8])
        } else if rest.starts_with("8time_getIc") {
            |_, a| writes_time(on_stack(a, 1), &between::<u8>(on_stack(a, 2), on_stack(a, 3)))
        } else {
            |_, a| writes_time(on_stack(a, 1), &between::<u32>(on_stack(a, 2), on_stack(a, 3)))
        });
    }
    if rest.starts_with("8time_getI") && rest.ends_with("P2tm") {
        return Some(if rest.contains("EEE8get_timeE") {
            |_, a| writes_time(on_stack(a, 1), b"T")
        } else {
            |_, a| writes_time(on_stack(a, 1), b"D")
        });
    }
    if is("8time_putI", "EEE3putE") {
        return Some(if rest.ends_with("PK2tmcc") {
            |_, a| reads_time(a[5], &[on_stack(a, 0) as u8])
        } else if rest.starts_with("8time_putIc") {
            |_, a| reads_time(a[5], &between::<u8>(on_stack(a, 0), on_stack(a, 1)))
        } else {
            |_, a| reads_time(a[5], &between::<u32>(on_stack(a, 0), on_stack(a, 1)))
        });
    }
    if is("9money_getI", "EEE3getE") {
        return match rest {
            r if r.ends_with("Re") => Some(|_, a| writes(on_stack(a, 2), 16)),
            r if r.contains("12basic_stringIc") => Some(|_, a| changes_string(on_stack(a, 2))),
            _ => None,
        };
    }
    if is("7num_getI", "EEE3getE") {
        return Some(match rest.rsplit_once('R')?.1 {
            "b" => |_, a| writes(on_stack(a, 1), 1),
            "t" => |_, a| writes(on_stack(a, 1), 2),
            "j" | "f" => |_, a| writes(on_stack(a, 1), 4),
            "l" | "m" | "x" | "y" | "d" | "Pv" => |_, a| writes(on_stack(a, 1), 8),
            "e" => |_, a| writes(on_stack(a, 1), 16),
            _ => return None,
        });
    }
    None
}

/// The conversions in a format, which lies between two addresses.
fn between<T: Copy + TryInto<u8>>(start: usize, end: usize) -> Vec<u8> {
    let n = end.saturating_sub(start) / size_of::<T>();
    // SAFETY: the program hands in the beginning and the end of an array.
    let characters = (0..n).map(|i| unsafe { (start as *const T).add(i).read_unaligned() });
    let text: Vec<u8> = characters.map(|c| c.try_into().unwrap_or(b'?')).collect();
    let mut rest = text.iter();
    let mut out = Vec::new();
    while rest.by_ref().any(|b| *b == b'%') {
        out.extend(rest.by_ref().find(|b| !b"EO".contains(b)));
    }
    out
}

/// The members of a `tm` that a conversion uses: the seconds first, each of four bytes.
fn members(conversion: u8) -> &'static [usize] {
    match conversion {
        b'S' => &[0],
        b'M' => &[1],
        b'H' | b'I' | b'p' => &[2],
        b'R' => &[1, 2],
        b'T' | b'X' | b'r' => &[0, 1, 2],
        b'd' | b'e' => &[3],
        b'm' | b'b' | b'B' | b'h' => &[4],
        b'y' | b'Y' | b'C' => &[5],
        b'D' | b'x' | b'F' => &[3, 4, 5],
        b'a' | b'A' | b'w' | b'u' => &[6],
        b'j' => &[7],
        b'U' | b'W' => &[6, 7],
        b'G' | b'g' | b'V' => &[5, 6, 7],
        b'c' => &[0, 1, 2, 3, 4, 5, 6],
        b'Z' | b'z' => &[8],
        _ => &[],
    }
}

/// `put_time` reads what its format asks for.
fn reads_time(tm: usize, conversions: &[u8]) {
    for member in conversions.iter().flat_map(|c| members(*c)) {
        reads(tm + 4 * member, 4);
    }
}

/// `get_time` writes what its format asks for, and the days that follow from a date.
fn writes_time(tm: usize, conversions: &[u8]) {
    for member in conversions.iter().flat_map(|c| members(*c)) {
        writes(tm + 4 * member, 4);
    }
}
