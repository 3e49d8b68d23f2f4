//! Calls of functions with contracts: what is required is claimed, all that the function may assign gets any value, and what is
//! ensured is known then. The function is checked by itself, once, so a call of itself is no exception.
//!
//! Only where no other thread looks: another one would see what the function does on its way.
//!
//! **Invariant:** what a function may assign is found in its own steps, and in what the functions that it calls may assign; `assigns` may
//! name more and not less. Of an array any cell counts as assigned if one is. Where what is assigned has no name (arrays of structures,
//! locks), or where arguments may be the same memory and must not, calls are read in place.

use super::{Contracts, Outline};
use model::notes::Expr;
use model::{Annotated, ByContract, CallContract, Clause, Named, Noted, Refusal, VarId};
use std::collections::{BTreeMap, BTreeSet};

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
        for n in list {
            if let Clause::Requires(e) = &file.annotations[*n].clause {
                said_apart(e, &mut c.apart);
            }
        }
        out.insert(f.name, c);
    }
    // What a function assigns depends on what those assign that it calls: from nothing upwards.
    'again: loop {
        let mut grown = false;
        for name in out.keys().cloned().collect::<Vec<_>>() {
            let Some(list) = file.function_by_contract(&name, &out).ok().and_then(|n| written(&n)) else {
                out.remove(&name);
                for c in out.values_mut() {
                    c.assigns.clear();
                    c.arrays.clear();
                    c.parameters.clear();
                }
                continue 'again;
            };
            let known = out.get_mut(&name).expect("it is one of them");
            for w in list {
                grown |= match w {
                    Written::Variable(name) => known.assigns.insert(name),
                    Written::Array(name) => known.arrays.insert(name),
                    Written::Parameter(n, _) => known.parameters.insert(n),
                };
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
        let mut named = Vec::new();
        let mut says = None;
        let noted = match list.iter().any(|n| matches!(file.annotations[*n].clause, Clause::Assigns(_))) {
            true => file.function_by_contract(&f.name, &found)?,
            false => continue,
        };
        for a in list.iter().map(|n| &file.annotations[*n]) {
            let Clause::Assigns(list) = &a.clause else { continue };
            says = Some(a);
            for e in list {
                let Some(all) = resolve(e, &noted).and_then(|n| targets(&n, &noted)) else {
                    let reason = "expected global variables, or parameters that point to arrays";
                    return Err(super::refuse(file, a, reason.to_owned()));
                };
                named.extend(all);
            }
        }
        let Some(says) = says else { continue };
        let missing = match written(&noted) {
            None => Some("a lock, or something without a name".to_owned()),
            Some(all) => all.into_iter().find(|w| !named.contains(w)).map(|w| match w {
                Written::Variable(name) | Written::Array(name) | Written::Parameter(_, name) => {
                    format!("`{name}`")
                }
            }),
        };
        if let Some(what) = missing {
            let reason = format!("`{}` may assign {what}, which is not named", f.name);
            return Err(super::refuse(file, says, reason));
        }
        if let Some(c) = out.get_mut(&f.name) {
            for w in named {
                _ = match w {
                    Written::Variable(name) => c.assigns.insert(name),
                    Written::Array(name) => c.arrays.insert(name),
                    Written::Parameter(n, _) => c.parameters.insert(n),
                };
            }
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
                true => "an argument is no array by name, or two of them may be the same memory",
                false => "it may assign what has no name",
            };
            let text = format!("a call of `{name}` is read in place, and not by its contract: {why}");
            if !out.remarks.contains(&text) {
                out.remarks.push(text);
            }
        }
    }
}

/// What must be different memory.
fn said_apart(e: &Expr, out: &mut Vec<Vec<String>>) {
    match e {
        Expr::Separated(names) => out.push(names.clone()),
        Expr::Binary(model::notes::Operator::And, a, b) => {
            said_apart(a, out);
            said_apart(b, out);
        }
        _ => {}
    }
}

/// Something that a function may assign.
#[derive(Clone, PartialEq)]
enum Written {
    /// A global variable, by its name in the program.
    Variable(String),
    /// Cells of a global array.
    Array(String),
    /// What a parameter points to, by its number and name.
    Parameter(usize, String),
}

/// What a function lowered alone may assign of what is not its own. None where that cannot be named.
fn written(noted: &Noted) -> Option<Vec<Written>> {
    let p = &noted.program;
    if p.threads.len() > 1 {
        return None;
    }
    let start = &noted.starts[0];
    let mut known: BTreeMap<VarId, Written> = BTreeMap::new();
    for (name, named) in &start.names {
        let parameter = start.parameters.iter().position(|q| q == name);
        globals(named, parameter.map(|n| (n, name.as_str())), noted, &mut known);
    }
    let mut all: BTreeSet<VarId> = noted.forgets.iter().flatten().copied().collect();
    for e in &p.threads[0].transitions {
        all.extend(e.assigns.iter().map(|a| a.place.var).chain(e.havoc.iter().map(|h| h.var)));
    }
    let mut out = Vec::new();
    for v in all {
        match known.get(&v) {
            _ if p.var(v).internal => return None,
            Some(w) => out.push(w.clone()),
            None if p.var(v).is_shared() => return None,
            None => {}
        }
    }
    Some(out)
}

/// The variables and arrays behind a global name, and the array behind a parameter.
fn globals(
    named: &Named,
    parameter: Option<(usize, &str)>,
    noted: &Noted,
    out: &mut BTreeMap<VarId, Written>,
) {
    let full = |v: &VarId| noted.program.name(*v).to_owned();
    match (named, parameter) {
        (Named::Pointed { cells, .. }, Some((n, name))) => {
            out.insert(*cells, Written::Parameter(n, name.to_owned()));
        }
        (Named::Var(v), None) => _ = out.insert(*v, Written::Variable(full(v))),
        (Named::Array(v, _), None) => _ = out.insert(*v, Written::Array(full(v))),
        (Named::Struct(fields), None) => fields.values().for_each(|f| globals(f, None, noted, out)),
        _ => {}
    }
}

/// What a name in `assigns` stands for; none for what cannot be assigned from outside, or has parts without a name.
fn targets(named: &(Named, Option<usize>), noted: &Noted) -> Option<Vec<Written>> {
    fn complete(named: &Named) -> bool {
        match named {
            Named::Struct(fields) => fields.values().all(complete),
            Named::Var(_) | Named::Array(..) | Named::Pointed { .. } => true,
            Named::Number(_) | Named::Sync(_) | Named::Other => false,
        }
    }
    let (named, parameter) = named;
    let parameter = parameter.map(|n| (n, noted.starts[0].parameters[n].as_str()));
    let mut found = BTreeMap::new();
    globals(named, parameter, noted, &mut found);
    (complete(named) && !found.is_empty()).then(|| found.into_values().collect())
}

/// What a name of a function stands for, and which parameter it is.
fn resolve(e: &Expr, noted: &Noted) -> Option<(Named, Option<usize>)> {
    let start = &noted.starts[0];
    match e {
        Expr::Name(n) => {
            let parameter = start.parameters.iter().position(|p| p == n);
            Some((start.names.get(n)?.clone(), parameter))
        }
        Expr::Field(base, field) => match resolve(base, noted)? {
            (Named::Struct(fields), parameter) => Some((fields.get(field)?.clone(), parameter)),
            _ => None,
        },
        _ => None,
    }
}
