//! Ends of destructors of C++: a pass over the assembly adds a call there.
//!
//! An object whose destructor has run must not be used any more, also where its memory stays. The call says where the object is, and the
//! library gives its memory the contents that it had before anything was written there. Classes of the C++ library are left out.
//!
//! A class with virtual bases has one destructor for complete objects (`D1`), and one for objects that are a base of another one (`D2`), which
//! leaves the virtual bases alone. Any other class has the two in one function. So the second one gets no call if there is the first, or if it
//! has a second argument.

use std::collections::BTreeSet;
use std::fmt::Write as _;

const COMPLETE: &str = "D1Ev";
const BASE: &str = "D2Ev";

/// The mangled class of a destructor of the program, and how the name ends.
fn class_of(label: &str) -> Option<(&str, &str)> {
    let rest = label.strip_prefix("_ZN")?;
    // `S` is how the mangled names of what is in `std` begin.
    let is_of_library = ["S", "9__gnu_cxx", "10__cxxabiv1"].iter().any(|p| rest.starts_with(p));
    let ending = [COMPLETE, BASE].into_iter().find(|e| rest.ends_with(e))?;
    (!is_of_library).then(|| (&rest[..rest.len() - ending.len()], ending))
}

/// The label of a function that a line begins.
fn label(line: &str) -> Option<&str> {
    line.split_once(':').map(|(name, _)| name).filter(|name| name.starts_with("_Z"))
}

/// The slot of the frame in which a line stores the first argument.
fn slot(line: &str) -> Option<&str> {
    let operand = line.trim().strip_prefix("movq\t%rdi, ")?;
    operand.split_whitespace().next().filter(|o| o.ends_with("(%rbp)"))
}

/// Adds the calls.
pub(crate) fn rewrite(text: String) -> String {
    let complete: BTreeSet<&str> = text
        .lines()
        .filter_map(label)
        .filter_map(class_of)
        .filter(|c| c.1 == COMPLETE)
        .map(|c| c.0)
        .collect();
    let is_destructor = |name: &str| {
        class_of(name).is_some_and(|(class, ending)| ending == COMPLETE || !complete.contains(class))
    };
    if !text.lines().filter_map(label).any(is_destructor) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 1024);
    let (mut inside, mut this) = (false, None);
    for line in text.lines() {
        if let Some(name) = label(line) {
            (inside, this) = (is_destructor(name), None);
        } else if line.trim_start().starts_with(".size") {
            inside = false;
        } else if inside && this.is_none() {
            this = slot(line);
        } else if inside && line.trim().starts_with("movq\t%rsi, ") {
            // It is handed a table of the virtual bases, which stay.
            inside = false;
        } else if inside
            && matches!(line.trim(), "leave" | "leaveq" | "popq\t%rbp")
            && let Some(this) = this
        {
            // The stack is aligned here. The slot may lie below the stack pointer already, where nothing has been put.
            let _ = writeln!(out, "\tmovq\t{this}, %rdi\n\tcall\t__raddle_destroyed@PLT");
        }
        let _ = writeln!(out, "{line}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str) -> String {
        format!(
            "{name}:\n\tpushq\t%rbp\n\tmovq\t%rsp, %rbp\n\tmovq\t%rdi, -8(%rbp)\n\tcall\t__tsan_func_entry@PLT\n\
             \tcall\t__tsan_func_exit@PLT\n\tleave\n\tret\n\t.size\t{name}, .-{name}\n"
        )
    }

    #[test]
    fn destructors_of_classes_of_the_program_say_when_they_end() {
        let out = rewrite(function("_ZN3FooD2Ev"));
        let leaf = rewrite(function("_ZN3FooD2Ev").replace("leave", "popq\t%rbp"));
        let of_clang = rewrite(function("_ZN3FooD2Ev").replace("Ev:", "Ev:    # @_ZN3FooD2Ev"));
        assert!(of_clang.contains("__raddle_destroyed"), "{of_clang}");
        assert!(leaf.contains("__raddle_destroyed@PLT\n\tpopq\t%rbp\n\tret"), "{leaf}");
        assert!(out.contains("\tmovq\t-8(%rbp), %rdi\n\tcall\t__raddle_destroyed@PLT\n\tleave"), "{out}");
        for other in
            ["_ZN3FooD0Ev", "_ZN3FooC2Ev", "_ZN3Foo1fEv", "_ZNSt6vectorIiSaIiEED2Ev", "_ZNSaIiED2Ev", "main"]
        {
            assert_eq!(rewrite(function(other)), function(other));
        }
    }

    #[test]
    fn of_two_destructors_that_of_complete_objects_counts() {
        let both = function("_ZN3FooD2Ev") + &function("_ZN3FooD1Ev") + &function("_ZN3BarD2Ev");
        let out = rewrite(both);
        let (base, rest) = out.split_once("_ZN3FooD1Ev:").unwrap();
        assert!(!base.contains("__raddle_destroyed"), "{out}");
        assert_eq!(rest.matches("__raddle_destroyed").count(), 2, "{out}");
        let with_table = function("_ZN3FooD2Ev").replace("-8(%rbp)\n", "-8(%rbp)\n\tmovq\t%rsi, -16(%rbp)\n");
        assert_eq!(rewrite(with_table.clone()), with_table);
    }
}
