//! Calls of functions with contracts: what is required is claimed, all that the function may assign gets any value, and what is
//! ensured is known then. The function is checked by itself, once, so a call of itself is no exception.
//!
//! Only where no other thread looks: another one would see what the function does on its way.
//!
//! **Invariant:** what a function may assign is found in its own steps, and in what the functions that it calls may assign; `assigns` may
//! name more and not less. Where that is not a list of variables (cells of arrays, memory behind pointers, locks), or where memory must
//! be said to be apart, calls are read in place.

use super::{Contracts, Outline};
use model::notes::Expr;
use model::{Annotated, ByContract, CallContract, Clause, Named, Noted, Refusal, VarId};
use std::collections::BTreeSet;

/// The functions whose calls stand for their contracts, with what they may assign.
pub(super) fn by_contract(file: &Annotated, contracts: &Contracts) -> Result<ByContract, Refusal> {
    let mut out = ByContract::new();
    for f in file.functions() {
        let atomic = f.name.starts_with("__VERIFIER_atomic_");
        let Some(list) = contracts.before(&f.name).filter(|_| f.name != "main" && !atomic) else { continue };
        let mut c = CallContract::default();
        for n in list {
            match &file.annotations[*n].clause {
                Clause::Requires(_) => c.requires.push(*n),
                Clause::Ensures(_) => c.ensures.push(*n),
                _ => {}
            }
        }
        let apart = |n: &usize| matches!(&file.annotations[*n].clause, Clause::Requires(e) if says_apart(e));
        if !list.iter().any(apart) {
            out.insert(f.name, c);
        }
    }
    // What a function assigns depends on what those assign that it calls: from nothing upwards.
    'again: loop {
        let mut grown = false;
        for name in out.keys().cloned().collect::<Vec<_>>() {
            let found = file.function_by_contract(&name, &out).ok().and_then(|n| plain(&written(&n)?));
            let Some(assigns) = found else {
                out.remove(&name);
                out.values_mut().for_each(|c| c.assigns.clear());
                continue 'again;
            };
            let known = out.get_mut(&name).expect("it is one of them");
            if !assigns.is_subset(&known.assigns) {
                known.assigns.extend(assigns);
                grown = true;
            }
        }
        if !grown {
            break;
        }
    }
    declared(file, contracts, &mut out)?;
    Ok(out)
}

/// What `assigns` says must be enough, and counts then.
fn declared(file: &Annotated, contracts: &Contracts, out: &mut ByContract) -> Result<(), Refusal> {
    let found = out.clone();
    for f in file.functions() {
        let list = contracts.before(&f.name).unwrap_or_default();
        let mut names = BTreeSet::new();
        let mut says = None;
        let noted = match list.iter().any(|n| matches!(file.annotations[*n].clause, Clause::Assigns(_))) {
            true => file.function_by_contract(&f.name, &found)?,
            false => continue,
        };
        for a in list.iter().map(|n| &file.annotations[*n]) {
            let Clause::Assigns(list) = &a.clause else { continue };
            says = Some(a);
            for e in list {
                let named = resolve(e, &noted);
                let vars = named.as_ref().and_then(leaves).filter(|_| !is_parameter(e, &noted));
                let Some(vars) = vars else {
                    return Err(super::refuse(
                        file,
                        a,
                        "expected global variables that are no arrays".to_owned(),
                    ));
                };
                names.extend(vars.into_iter().map(|v| noted.program.var(v).name.clone()));
            }
        }
        let Some(says) = says else { continue };
        let missing = match written(&noted) {
            None => Some("a lock, or something of other threads".to_owned()),
            Some(all) => all
                .into_iter()
                .map(|(name, _)| name)
                .find(|name| !names.contains(name))
                .map(|n| format!("`{n}`")),
        };
        if let Some(what) = missing {
            let reason = format!("`{}` may assign {what}, which is not named", f.name);
            return Err(super::refuse(file, says, reason));
        }
        if let Some(c) = out.get_mut(&f.name) {
            c.assigns = names;
        }
    }
    Ok(())
}

/// Functions with contracts that are read in place all the same.
pub(super) fn remarks(noted: &Noted, contracts: &Contracts, by_contract: &ByContract, out: &mut Outline) {
    let called: BTreeSet<&str> = noted.calls.iter().map(|c| c.function.as_str()).collect();
    for name in called {
        let own = noted.starts.iter().any(|s| s.function == name);
        if !own && contracts.before(name).is_some() {
            let why = match by_contract.contains_key(name) {
                true => "an argument is no array by name",
                false => "it may assign more than variables by name",
            };
            let text = format!("a call of `{name}` is read in place, and not by its contract: {why}");
            if !out.remarks.contains(&text) {
                out.remarks.push(text);
            }
        }
    }
}

fn says_apart(e: &Expr) -> bool {
    match e {
        Expr::Separated(_) => true,
        Expr::Binary(model::notes::Operator::And, a, b) => says_apart(a) || says_apart(b),
        _ => false,
    }
}

/// What a function lowered alone may assign of what is not its own: names, and whether each is one variable. None where that cannot be
/// named.
fn written(noted: &Noted) -> Option<Vec<(String, bool)>> {
    let p = &noted.program;
    if p.threads.len() > 1 {
        return None;
    }
    let start = &noted.starts[0];
    let own = |name: &String| start.parameters.contains(name);
    let mut globals: BTreeSet<VarId> = BTreeSet::new();
    for (_, named) in start.names.iter().filter(|(name, _)| !own(name)) {
        globals.extend(leaves(named).unwrap_or_default());
    }
    let mut out: Vec<(String, bool)> = Vec::new();
    for e in &p.threads[0].transitions {
        for v in e.assigns.iter().map(|a| a.place.var).chain(e.havoc.iter().map(|h| h.var)) {
            let var = p.var(v);
            if var.internal {
                return None;
            }
            let one = globals.contains(&v);
            let entry = (var.name.clone(), one);
            if (one || var.is_shared()) && !out.contains(&entry) {
                out.push(entry);
            }
        }
    }
    Some(out)
}

/// The names of what is written, if each is one variable.
fn plain(written: &[(String, bool)]) -> Option<BTreeSet<String>> {
    written.iter().map(|(name, one)| one.then(|| name.clone())).collect()
}

/// The variables of a name; none for what is no variable or a structure of such.
fn leaves(named: &Named) -> Option<Vec<VarId>> {
    match named {
        Named::Var(v) => Some(vec![*v]),
        Named::Struct(fields) => {
            let all: Option<Vec<Vec<VarId>>> = fields.values().map(leaves).collect();
            Some(all?.concat())
        }
        _ => None,
    }
}

fn resolve(e: &Expr, noted: &Noted) -> Option<Named> {
    match e {
        Expr::Name(n) => noted.starts[0].names.get(n).cloned(),
        Expr::Field(base, field) => match resolve(base, noted)? {
            Named::Struct(fields) => fields.get(field).cloned(),
            _ => None,
        },
        _ => None,
    }
}

fn is_parameter(e: &Expr, noted: &Noted) -> bool {
    match e {
        Expr::Name(n) => noted.starts[0].parameters.contains(n),
        Expr::Field(base, _) => is_parameter(base, noted),
        _ => false,
    }
}
