//! Local variables that are read before they are written: what the compiler warns of.
//!
//! The runtime does not see reads of a local variable whose address nobody takes. So each compilation asks for the warnings about reads that
//! certainly find nothing written (`-Wuninitialized`), and each of these is a caveat with its line. They are not shown unless
//! the user asks for them.

use explore::{Caveat, CaveatKind};

/// The warnings that are requested. A user's `-Werror` does not turn these warnings into errors.
pub(crate) const FLAGS: [&str; 2] = ["-Wuninitialized", "-Wno-error=uninitialized"];

const NAME: &str = "[-Wuninitialized]";
const TEXT: &str = "a local variable was read before anything was written to it: other contents than the ones that it had were not explored";

/// The flag that turns all warnings off. The compiler does not get it at first, and what it says then is not shown.
pub(crate) const NONE: &str = "-w";

/// Whether a flag of the user asks for these warnings.
pub(crate) fn asks(flag: &str) -> bool {
    matches!(flag, "-Wall" | "-Wuninitialized" | "-Weverything") || flag.ends_with("=uninitialized")
}

/// The caveats for the warnings in what a compiler has said.
pub(crate) fn caveats(said: &str) -> Vec<Caveat> {
    let places = said.lines().filter_map(|line| place(&without_colours(line)));
    places.map(|place| Caveat::new(CaveatKind::Uninitialised, TEXT).at(place)).collect()
}

/// Whether all that a compiler has said is such warnings.
pub(crate) fn are_ours(said: &str) -> bool {
    let mut ours = true;
    for line in said.lines().map(without_colours) {
        if line.contains(": error:") || line.contains(": warning:") {
            ours &= line.contains(NAME);
        }
    }
    ours && said.contains(NAME)
}

/// The file and the line of a warning.
fn place(line: &str) -> Option<String> {
    let (place, rest) = line.split_once(": warning:")?;
    if !rest.contains(NAME) {
        return None;
    }
    // The last number is the column.
    let (place, column) = place.rsplit_once(':')?;
    column.bytes().all(|b| b.is_ascii_digit()).then(|| place.to_owned())
}

/// A line without the sequences that set colours.
fn without_colours(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut parts = line.split('\u{1b}');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        out.push_str(part.find(['m', 'K']).map_or("", |end| &part[end + 1..]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_caveats_with_their_lines() {
        let gcc = "a.c: In function 'f':\na.c:3:7: warning: 'v' is used uninitialized [-Wuninitialized]\n    3 |   g(v);\n";
        assert_eq!(caveats(gcc)[0].places, ["a.c:3"]);
        assert!(are_ours(gcc));
        let coloured = "\u{1b}[01m\u{1b}[Ka.c:3:7:\u{1b}[m\u{1b}[K \u{1b}[01;35m\u{1b}[Kwarning: \u{1b}[m\u{1b}[K'v' [-Wuninitialized]";
        assert_eq!(caveats(coloured)[0].places, ["a.c:3"]);
        let other = "a.c:1:1: warning: unused [-Wunused]\n";
        assert!(
            caveats(other).is_empty()
                && !are_ours(other)
                && !are_ours("")
                && !are_ours(&format!("{gcc}{other}"))
        );
    }
}
