//! Local variables that are read before they are written: what the compiler warns of.
//!
//! The runtime does not see reads of a local variable whose address nobody takes. So each compilation asks for the warnings about reads that
//! certainly find nothing written (`-Wuninitialized`), and each of these is a caveat with its line. They are not shown unless
//! the user asks for them.
//!
//! A caveat also names uses of local variables whose block or function has ended (`-Wreturn-local-addr`, `-Wdangling-pointer`), where the runtime
//! cannot tell the memory from that of another variable.

use explore::{Caveat, CaveatKind};

/// The warnings that are requested. A user's `-Werror` does not turn these warnings into errors.
pub(crate) const FLAGS: [&str; 2] = ["-Wuninitialized", "-Wno-error=uninitialized"];

/// The warnings about variables that have ended, in versions of gcc from this one on. Where a use depends on a condition there is no warning.
pub(crate) const DANGLING: [&str; 2] = ["-Wdangling-pointer=1", "-Wno-error=dangling-pointer"];
pub(crate) const DANGLING_SINCE: u32 = 12;

const NAME: &str = "[-Wuninitialized]";
/// The warnings about addresses of variables that have ended: what they say, and their name.
const ENDED: [(&str, &str); 3] = [
    ("using ", OTHERS),
    ("returns address of local variable", "[-Wreturn-local-addr]"),
    ("address of stack memory associated with", "[-Wreturn-stack-address]"),
];
/// The compiler gives only the last two without being asked.
const OTHERS: &str = "[-Wdangling-pointer=]";
const TEXT_ENDED: &str = "a local variable may be used after its block or its function has ended: what is in its memory then depends on the compiler";
const TEXT: &str = "a local variable was read before anything was written to it: other contents than the ones that it had were not explored";

/// The flag that turns all warnings off. The compiler does not get it at first, and what it says then is not shown.
pub(crate) const NONE: &str = "-w";

/// Whether a flag of the user asks for these warnings.
pub(crate) fn asks(flag: &str) -> bool {
    matches!(flag, "-Wall" | "-Wuninitialized" | "-Weverything") || flag.ends_with("=uninitialized")
}

/// The caveats for the warnings in what a compiler has said.
pub(crate) fn caveats(said: &str) -> Vec<Caveat> {
    let one = |line: &str| {
        let line = without_colours(line);
        let (place, says) = place(&line)?;
        if says.contains(NAME) {
            return Some(Caveat::new(CaveatKind::Uninitialised, TEXT).at(place));
        }
        let ended = |(what, name): &(&str, &str)| says.contains(what) && says.contains(name);
        // Whether an address that is stored is used is not known: a function that is called may take it back.
        ENDED.iter().any(ended).then(|| Caveat::new(CaveatKind::Uninitialised, TEXT_ENDED).at(place))
    };
    said.lines().filter_map(one).collect()
}

/// Whether all that a compiler has said is such warnings.
pub(crate) fn are_ours(said: &str) -> bool {
    let (mut ours, mut any) = (true, false);
    for line in said.lines().map(without_colours) {
        if line.contains(": error:") || line.contains(": warning:") {
            let is_ours = line.contains(NAME) || line.contains(OTHERS);
            ours &= is_ours;
            any |= is_ours;
        }
    }
    ours && any
}

/// The file and the line of a warning, and what it says.
fn place(line: &str) -> Option<(String, &str)> {
    let (place, rest) = line.split_once(": warning:")?;
    // The last number is the column.
    let (place, column) = place.rsplit_once(':')?;
    column.bytes().all(|b| b.is_ascii_digit()).then(|| (place.to_owned(), rest))
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
        let using = "a.c:6:9: warning: using dangling pointer 'q' to 't' [-Wdangling-pointer=]\n";
        assert_eq!(caveats(using)[0].places, ["a.c:6"]);
        assert!(are_ours(using));
        let storing =
            "a.c:6:9: warning: storing the address of local variable 'y' in 'g' [-Wdangling-pointer=]\n";
        assert!(caveats(storing).is_empty() && are_ours(storing));
        let returns = "a.c:2:9: warning: function returns address of local variable [-Wreturn-local-addr]\n";
        assert!(!caveats(returns).is_empty() && !are_ours(returns));
        let other = "a.c:1:1: warning: unused [-Wunused]\n";
        assert!(
            caveats(other).is_empty()
                && !are_ours(other)
                && !are_ours("")
                && !are_ours(&format!("{gcc}{other}"))
        );
    }
}
