//! Calls of `reach_error` in programs that define it themselves, as verification tasks do: each is a failure, whatever the body does.
//! `assume_abort_if_not`, which verification tasks define with a call of `abort`, is an assumption in the same way.
//!
//! The assembly of a source that defines the function is changed: the definition gets another name, so that all references lead to
//! raddle's function.

/// The names of the functions in assembly, and the name that raddle exports for each.
const NAMES: [(&str, &str); 6] = [
    ("assume_abort_if_not", "__VERIFIER_assume"),
    ("_Z19assume_abort_if_noti", "__VERIFIER_assume"),
    ("reach_error", "reach_error"),
    ("__VERIFIER_error", "__VERIFIER_error"),
    ("_Z11reach_errorv", "reach_error"),
    ("_Z16__VERIFIER_errorv", "__VERIFIER_error"),
];

/// Directives that are about the definition of a symbol.
const DEFINES: [&str; 8] =
    [".globl", ".global", ".type", ".size", ".local", ".weak", ".hidden", ".protected"];

/// The assembly with every definition of one of the functions renamed; `None` where there is none.
pub(crate) fn without_definitions(assembly: &str) -> Option<String> {
    let own: Vec<(&str, &str)> =
        NAMES.into_iter().filter(|(name, _)| assembly.lines().any(|l| defines(l, name))).collect();
    if own.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(assembly.len());
    for line in assembly.lines() {
        let directive = line.split_whitespace().next().unwrap_or("");
        let text = matches!(directive, ".string" | ".ascii" | ".asciz" | ".section" | ".file" | ".ident");
        let mut line = line.to_owned();
        for (name, ours) in own.iter().copied() {
            if text || !line.contains(name) {
                continue;
            }
            let to = match defines(&line, name) || DEFINES.contains(&directive) {
                true => format!("raddle.own.{name}"),
                false => ours.to_owned(),
            };
            line = renamed(&line, name, &to);
            line = through_table(&line, ours);
        }
        out.push_str(&line);
        out.push('\n');
    }
    Some(out)
}

/// A line that computes the address of a function of another module takes it from the global offset table.
fn through_table(line: &str, name: &str) -> String {
    let operand = format!("{name}(%rip)");
    match line.trim_start().strip_prefix("leaq").map(str::trim_start) {
        Some(rest) if rest.starts_with(&operand) => {
            format!("\tmovq\t{name}@GOTPCREL(%rip){}", &rest[operand.len()..])
        }
        _ => line.to_owned(),
    }
}

/// Whether a line is the label of a function.
fn defines(line: &str, name: &str) -> bool {
    line.strip_prefix(name).is_some_and(|rest| rest.starts_with(':'))
}

/// A line with a symbol replaced, where it stands alone.
fn renamed(line: &str, name: &str, to: &str) -> String {
    let part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let (mut out, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        let alone = !before.ends_with(part) && !after.starts_with(part);
        out.push_str(before);
        out.push_str(if alone { to } else { name });
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_renamed_and_calls_of_it_lead_elsewhere() {
        let text = "\t.globl\treach_error\n\t.type\treach_error, @function\nreach_error:\n\tret\n\t.size\treach_error, .-reach_error\n\
                    \tcall\treach_error\n\tcall\treach_errors\n\t.string\t\"reach_error\"\n";
        let want = "\t.globl\traddle.own.reach_error\n\t.type\traddle.own.reach_error, @function\nraddle.own.reach_error:\n\tret\n\
                    \t.size\traddle.own.reach_error, .-raddle.own.reach_error\n\tcall\treach_error\n\tcall\treach_errors\n\
                    \t.string\t\"reach_error\"\n";
        assert_eq!(without_definitions(text).as_deref(), Some(want));
        assert_eq!(without_definitions("\tcall\treach_error\n"), None);
        let address =
            "reach_error:\n\tret\n\tleaq\treach_error(%rip), %rax\n\tleaq\treach_errors(%rip), %rax\n";
        let want = "raddle.own.reach_error:\n\tret\n\tmovq\treach_error@GOTPCREL(%rip), %rax\n\tleaq\treach_errors(%rip), %rax\n";
        assert_eq!(without_definitions(address).as_deref(), Some(want));
        let cpp = "_Z11reach_errorv:\n\tret\n\tcall\t_Z11reach_errorv@PLT\n";
        let want = "raddle.own._Z11reach_errorv:\n\tret\n\tcall\treach_error@PLT\n";
        assert_eq!(without_definitions(cpp).as_deref(), Some(want));
    }
}
