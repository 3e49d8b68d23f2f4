//! What is done to automata after lowering: atomic blocks become single steps, local steps part of their neighbours, and what
//! nobody needs goes.
//!
//! Two edges, one after the other, are one edge whose guard and values are those of the second with the assignments of the first put
//! in. That is exact if nothing of another thread may come in between, and that is so if one of the two is local and cannot wait:
//! a local step commutes with all steps of others.

use crate::builder::Builder;
use crate::c::{Options, Refusal};
use crate::program::{
    Action, Location, LocationId, LocationKind, Mark, Order, Program, Scope, ThreadId, Transition,
};
use crate::term::{Assign, Place, Term, VarId};
use crate::values;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// At most so many edges may come of one atomic block.
const MOST_PATHS: usize = 4096;

/// Turns what the lowering made into a program.
pub(crate) fn finish(
    builder: Builder,
    interior: &[BTreeSet<LocationId>],
    options: &Options,
) -> Result<Program, Refusal> {
    let mut p = builder.unfinished();
    let mut inside: Vec<Vec<bool>> = Vec::new();
    for t in p.thread_ids() {
        let mut here = vec![false; p.thread(t).locations.len()];
        for l in interior.get(t.index()).into_iter().flatten() {
            here[l.index()] = p.thread(t).location(*l).kind == LocationKind::Normal;
        }
        drop_unreachable(&mut p, t, &mut here);
        inside.push(here);
    }
    make_local(&mut p);
    while values::prune(&mut p) {
        for t in p.thread_ids() {
            drop_unreachable(&mut p, t, &mut inside[t.index()]);
        }
    }
    make_local(&mut p);
    refuse_repeated_creation(&p)?;
    drop_dead_values(&mut p);
    for t in p.thread_ids() {
        let here = &mut inside[t.index()];
        contract(&mut p, t, here)?;
        if options.compress {
            compress(&mut p, t, options);
        }
        drop_unreachable(&mut p, t, here);
    }
    while values::prune(&mut p) {
        p.thread_ids().for_each(|t| drop_unreachable(&mut p, t, &mut Vec::new()));
    }
    drop_dead_values(&mut p);
    for t in p.thread_ids().filter(|_| options.compress) {
        compress(&mut p, t, options);
        drop_unreachable(&mut p, t, &mut Vec::new());
    }
    drop_unused_vars(&mut p);
    p.settle();
    if let Err(why) = p.check() {
        let file = p.files.first().cloned().unwrap_or_default();
        return Err(Refusal { file, line: 0, reason: format!("the automata are not well-formed: {why}") });
    }
    Ok(p)
}

/// The same for a program with annotations, which may speak of every variable: each step stays an edge of its own, and no value goes.
/// `whole` says that it is all of a program, so that nothing else assigns its variables; `lean` that no formula is asked for, so that
/// values that the program itself does not need may go.
pub(crate) fn finish_annotated(
    builder: Builder,
    interior: &[BTreeSet<LocationId>],
    whole: bool,
    lean: bool,
) -> Result<Program, Refusal> {
    let mut p = builder.unfinished();
    let mut inside: Vec<Vec<bool>> = Vec::new();
    for t in p.thread_ids() {
        let mut here = vec![false; p.thread(t).locations.len()];
        for l in interior.get(t.index()).into_iter().flatten() {
            here[l.index()] = p.thread(t).location(*l).kind == LocationKind::Normal;
        }
        drop_unreachable(&mut p, t, &mut here);
        inside.push(here);
    }
    while whole && values::prune(&mut p) {
        for t in p.thread_ids() {
            drop_unreachable(&mut p, t, &mut inside[t.index()]);
        }
    }
    refuse_repeated_creation(&p)?;
    if lean {
        drop_dead_values(&mut p);
    }
    for t in p.thread_ids() {
        let here = &mut inside[t.index()];
        contract(&mut p, t, here)?;
        drop_unreachable(&mut p, t, here);
    }
    p.settle();
    match p.check() {
        Ok(()) => Ok(p),
        Err(why) => {
            let file = p.files.first().cloned().unwrap_or_default();
            Err(Refusal { file, line: 0, reason: format!("the automata are not well-formed: {why}") })
        }
    }
}

fn refusal(p: &Program, t: &Transition, reason: &str) -> Refusal {
    let file = p.files.get(t.span.file.0 as usize).cloned().unwrap_or_default();
    Refusal { file, line: t.span.line, reason: reason.to_owned() }
}

/// Removes locations that nothing leads to, and numbers the others anew.
fn drop_unreachable(p: &mut Program, t: ThreadId, inside: &mut Vec<bool>) {
    let false_guard = |p: &Program, e: &Transition| p.terms.as_const(e.guard) == Some(0);
    let dead: Vec<bool> = p.thread(t).transitions.iter().map(|e| false_guard(p, e)).collect();
    let thread = &mut p.threads[t.index()];
    let mut keep = dead.iter();
    thread.transitions.retain(|_| !keep.next().copied().unwrap_or(false));
    let mut reached = vec![false; thread.locations.len()];
    let mut by_source: Vec<Vec<usize>> = vec![Vec::new(); thread.locations.len()];
    thread.transitions.iter().for_each(|e| by_source[e.from.index()].push(e.to.index()));
    let mut open = vec![thread.entry.index()];
    reached[thread.entry.index()] = true;
    // Numbers go by the order in which locations are met, so that text reads from above.
    let mut order = Vec::new();
    while let Some(l) = open.pop() {
        order.push(l);
        for to in by_source[l].iter().rev() {
            if !reached[*to] {
                reached[*to] = true;
                open.push(*to);
            }
        }
    }
    let mut number = vec![LocationId(u32::MAX); thread.locations.len()];
    order.iter().enumerate().for_each(|(n, l)| number[*l] = LocationId(n as u32));
    let locations: Vec<Location> = order.iter().map(|l| thread.locations[*l].clone()).collect();
    *inside = order.iter().map(|l| inside.get(*l).copied().unwrap_or(false)).collect();
    thread.locations = locations;
    thread.entry = number[thread.entry.index()];
    thread.transitions.retain(|e| reached[e.from.index()]);
    for e in &mut thread.transitions {
        e.from = number[e.from.index()];
        e.to = number[e.to.index()];
    }
    thread.transitions.sort_by_key(|e| e.from);
}

/// A variable of the program that one thread alone uses is a local of it.
fn make_local(p: &mut Program) {
    let mut users: Vec<BTreeSet<ThreadId>> = vec![BTreeSet::new(); p.vars.len()];
    for t in p.thread_ids() {
        for e in &p.thread(t).transitions {
            let a = p.accesses(e);
            for place in a.reads.iter().chain(&a.writes) {
                users[place.var.index()].insert(t);
            }
        }
    }
    for (v, users) in users.iter().enumerate() {
        if let (false, true, 1) = (p.vars[v].internal, p.vars[v].is_shared(), users.len())
            && let Some(t) = users.first()
        {
            p.vars[v].scope = Scope::Local(*t);
        }
    }
    for t in p.thread_ids() {
        for n in 0..p.thread(t).transitions.len() {
            let e = &p.threads[t.index()].transitions[n];
            if matches!(
                e.action,
                Action::Read | Action::Write | Action::Update | Action::CompareExchange { .. }
            ) {
                let a = p.accesses(e);
                if a.reads.is_empty() && a.writes.is_empty() {
                    p.threads[t.index()].transitions[n].action = Action::Local;
                }
            }
        }
    }
}

/// A thread is made at most once: nothing leads from where it is made back there.
fn refuse_repeated_creation(p: &Program) -> Result<(), Refusal> {
    for t in p.thread_ids() {
        let thread = p.thread(t);
        for e in &thread.transitions {
            if !matches!(e.action, Action::Create(_)) {
                continue;
            }
            let mut seen = vec![false; thread.locations.len()];
            let mut open = vec![e.to];
            while let Some(l) = open.pop() {
                if l == e.from {
                    return Err(refusal(p, e, "a thread is made in a loop, and how often is not known here"));
                }
                if !std::mem::replace(&mut seen[l.index()], true) {
                    open.extend(thread.transitions.iter().filter(|f| f.from == l).map(|f| f.to));
                }
            }
        }
    }
    Ok(())
}

/// One edge in place of two. `None` if the second reads an input of the first, which no term stands for; nor do inputs become part of
/// a step that others can see, but in an atomic block.
fn compose(p: &mut Program, a: &Transition, b: &Transition, atomic: bool) -> Option<Transition> {
    let input = |x: &Transition, y: &Transition| !x.havoc.is_empty() && y.action != Action::Local;
    if !atomic && (input(a, b) || input(b, a)) {
        return None;
    }
    for h in &a.havoc {
        let mut reads = |t: Term| p.terms.mentions(t, h.var);
        let read = reads(b.guard)
            || b.assigns.iter().any(|x| reads(x.value) || x.place.index.is_some_and(&mut reads))
            || b.havoc.iter().any(|x| x.index.is_some_and(&mut reads))
            || matches!(b.action, Action::CompareExchange { expected, desired } if reads(expected) || reads(desired));
        if read {
            return None;
        }
    }
    let mut known = HashMap::new();
    let mut put = |p: &mut Program, t: Term| p.terms.substitute_with(t, &a.assigns, &mut known);
    let guard = put(p, b.guard);
    let guard = p.terms.and(a.guard, guard);
    let mut assigns: Vec<Assign> = Vec::new();
    for x in &b.assigns {
        let index = x.place.index.map(|i| put(p, i));
        let value = put(p, x.value);
        assigns.push(Assign { place: Place { var: x.place.var, index }, value });
    }
    let mut havoc: Vec<Place> = Vec::new();
    for h in &b.havoc {
        let index = h.index.map(|i| put(p, i));
        havoc.push(Place { var: h.var, index });
    }
    // Two cells may have become one: the later part wins, and an input over both.
    let mut n = 0;
    while n < assigns.len() {
        let same = assigns[n].place;
        if assigns[n + 1..].iter().any(|x| x.place == same) || havoc.contains(&same) {
            assigns.remove(n);
        } else {
            n += 1;
        }
    }
    let action = match (a.action, b.action) {
        (Action::Local, Action::CompareExchange { expected, desired }) => {
            Action::CompareExchange { expected: put(p, expected), desired: put(p, desired) }
        }
        (Action::Local, other) | (other, Action::Local) => other,
        _ => Action::Atomic,
    };
    // What the first wrote and the second did not. Of a cell that may be one that the second writes, the second wins: it comes
    // later in the list.
    let mut first = Vec::new();
    for x in &a.assigns {
        let again = |q: &Place| q.var == x.place.var && (q.index.is_none() || q.index == x.place.index);
        if !assigns.iter().any(|y| again(&y.place)) && !havoc.iter().any(again) {
            first.push(*x);
        }
    }
    // An input of the first to a cell that the second may write in another way cannot be said in one edge.
    let mut more = Vec::new();
    for h in &a.havoc {
        let same = |q: &Place| q.var == h.var && q.index == h.index;
        if assigns.iter().any(|y| same(&y.place)) || havoc.iter().any(same) {
            continue;
        }
        if assigns.iter().any(|y| y.place.var == h.var) || havoc.iter().any(|q| q.var == h.var) {
            let constant = |q: &Place| q.index.is_none_or(|i| p.terms.as_const(i).is_some());
            let clear = constant(h)
                && assigns.iter().map(|y| &y.place).chain(&havoc).filter(|q| q.var == h.var).all(constant);
            if !clear {
                return None;
            }
        }
        more.push(*h);
    }
    // The same for what the first assigned and an input of the second may hit.
    for x in &first {
        let hit = |q: &&Place| q.var == x.place.var;
        if havoc.iter().any(|q| hit(&q)) {
            let constant = |q: &Place| q.index.is_none_or(|i| p.terms.as_const(i).is_some());
            if !constant(&x.place) || !havoc.iter().filter(hit).all(constant) {
                return None;
            }
        }
    }
    havoc.extend(more);
    first.extend(assigns);
    let span = if a.action == Action::Local { b.span } else { a.span };
    let order = match (a.action, b.action) {
        (Action::Local, _) => b.order,
        (_, Action::Local) => a.order,
        _ => Order::Unsaid,
    };
    let operand = if a.action == Action::Local { b.operand } else { a.operand };
    let fences = a.fences.then(b.fences, (a.action != Action::Local, b.action != Action::Local));
    Some(Transition {
        from: a.from,
        to: b.to,
        guard,
        assigns: first,
        havoc,
        action,
        span,
        order,
        operand,
        fences,
    })
}

/// What a composed edge on data is: it may access less than its parts.
fn classify(p: &Program, e: &mut Transition) {
    if matches!(e.action, Action::Read | Action::Write | Action::Update | Action::Atomic | Action::Local) {
        let a = p.accesses(e);
        let internal = a.reads.iter().chain(&a.writes).any(|q| p.var(q.var).internal);
        let first = a.writes.first().or(a.reads.first()).copied();
        let one = a.reads.iter().chain(&a.writes).all(|q| Some(*q) == first);
        let indexed = first.and_then(|q| q.index).is_some_and(|i| {
            let mut shared = false;
            p.terms.places(i, &mut |q| shared |= p.var(q.var).is_shared());
            shared
        });
        e.action = match (a.reads.is_empty(), a.writes.is_empty()) {
            (true, true) => Action::Local,
            _ if !one || indexed || internal => Action::Atomic,
            (false, true) => Action::Read,
            (true, false) => Action::Write,
            (false, false) => Action::Update,
        };
    }
}

impl Program {
    /// One transition in place of two, one after the other, with nothing of another thread in between. `None` if no transition says
    /// it: the second reads an input of the first.
    pub fn in_one(&mut self, a: &Transition, b: &Transition) -> Option<Transition> {
        let mut e = compose(self, a, b, true)?;
        classify(self, &mut e);
        Some(e)
    }

    /// The program with other transitions for one thread, between the same locations. `blocks` says where the thread may wait.
    pub fn with_transitions(&mut self, t: ThreadId, transitions: Vec<Transition>, blocks: &[LocationId]) {
        let thread = &mut self.threads[t.index()];
        thread.transitions = transitions;
        for l in blocks {
            thread.locations[l.index()].may_block = true;
        }
        self.settle();
    }
}

/// What two edges access, one after the other, and the edge that is made of them does not. All indices are of the state before both.
fn forgotten(p: &mut Program, a: &Transition, b: &Transition, both: &Transition) -> Vec<Place> {
    let of_first = p.accesses(a);
    let mut lost: Vec<Place> = of_first.reads.into_iter().chain(of_first.writes).collect();
    let of_second = p.accesses(b);
    let mut known = HashMap::new();
    for q in of_second.reads.into_iter().chain(of_second.writes) {
        let index = q.index.map(|i| p.terms.substitute_with(i, &a.assigns, &mut known));
        lost.push(Place { var: q.var, index });
    }
    let all = p.accesses(both);
    let kept: BTreeSet<Place> = all.reads.into_iter().chain(all.writes).collect();
    lost.retain(|q| !p.var(q.var).internal && !kept.contains(q));
    lost.sort();
    lost.dedup();
    // The same cell can have indices of different types.
    let mut same = |q: &Place, r: &Place| {
        q.var == r.var
            && match (q.index, r.index) {
                (Some(i), Some(j)) => {
                    let equal = p.terms.eq_index(i, j);
                    p.terms.as_const(equal) == Some(1)
                }
                _ => true,
            }
    };
    lost.retain(|q| !kept.iter().any(|r| same(q, r)));
    lost
}

/// Makes an edge read what the two read that it is made of, though the value decides nothing: others may race with that. An atomic block
/// must be one step all the same, so it asks for what always holds of the value.
fn remember(p: &mut Program, lost: Vec<Place>, both: &mut Transition) {
    for q in lost {
        let ty = p.var(q.var).ty;
        let value = p.terms.read(q, ty);
        let most = p.terms.constant(ty.max() as u64 & ty.mask(), ty);
        let holds = p.terms.le(value, most);
        both.guard = p.terms.and(both.guard, holds);
    }
}

/// Makes an edge leave the values of shared variables as they are: where the program ends inside an atomic block, nobody sees what the
/// block did. A variable of the program is still written, with its own value: others may race with that.
fn keep_shared_values(p: &mut Program, e: &mut Transition) {
    let (shared, own): (Vec<Place>, Vec<Place>) = e.havoc.drain(..).partition(|h| p.var(h.var).is_shared());
    e.havoc = own;
    let written = |a: &Assign| !p.var(a.place.var).is_shared() || !p.var(a.place.var).internal;
    e.assigns.retain(written);
    for a in &mut e.assigns {
        let var = p.var(a.place.var);
        if var.is_shared() {
            a.value = p.terms.read(a.place, var.ty);
        }
    }
    for place in shared.into_iter().filter(|h| !p.vars[h.var.index()].internal) {
        let value = p.terms.read(place, p.vars[place.var.index()].ty);
        e.assigns.push(Assign { place, value });
    }
}

/// Removes a location by putting each edge into it together with each edge out of it.
fn eliminate(p: &mut Program, t: ThreadId, l: LocationId, atomic: bool) -> bool {
    let edges = |here: &dyn Fn(&Transition) -> bool| -> Vec<Transition> {
        p.thread(t).transitions.iter().filter(|e| here(e)).cloned().collect()
    };
    let (into, out) = (edges(&|e| e.to == l), edges(&|e| e.from == l));
    let (mut made, mut ok) = (Vec::new(), true);
    for a in &into {
        for b in &out {
            let Some(mut e) = compose(p, a, b, atomic) else {
                ok = false;
                continue;
            };
            let kind = &p.thread(t).location(b.to).kind;
            if atomic && matches!(kind, LocationKind::Exit | LocationKind::Halt) {
                keep_shared_values(p, &mut e);
            }
            // A read stays a step that others may race with, although its value is overwritten.
            let lost = forgotten(p, a, b, &e);
            if !atomic && !lost.is_empty() {
                ok = false;
                continue;
            }
            remember(p, lost, &mut e);
            classify(p, &mut e);
            if p.terms.as_const(e.guard) != Some(0) {
                made.push(e);
            }
        }
    }
    if !ok {
        return false;
    }
    let thread = &mut p.threads[t.index()];
    let blocks = thread.locations[l.index()].may_block
        || thread.transitions.iter().any(|e| e.from == l && e.action.may_block());
    let assumes = thread.locations[l.index()].assumes;
    thread.transitions.retain(|e| e.from != l && e.to != l);
    for e in &made {
        // Where a wait becomes part of a step, the step may wait.
        if blocks {
            thread.locations[e.from.index()].may_block = true;
        }
        thread.locations[e.from.index()].assumes |= assumes;
    }
    thread.transitions.extend(made);
    true
}

/// Makes single steps of atomic blocks.
fn contract(p: &mut Program, t: ThreadId, inside: &mut [bool]) -> Result<(), Refusal> {
    loop {
        let thread = p.thread(t);
        let count = |l: usize, to: bool| {
            thread
                .transitions
                .iter()
                .filter(|e| if to { e.to.index() == l } else { e.from.index() == l })
                .count()
        };
        let left: Vec<usize> = (0..inside.len()).filter(|l| inside[*l]).collect();
        // The cheapest first.
        let Some(l) = left.into_iter().min_by_key(|l| count(*l, true) * count(*l, false)) else {
            return Ok(());
        };
        let at = LocationId(l as u32);
        inside[l] = false;
        let first = thread.transitions.iter().find(|e| e.from == at).cloned();
        if let Some(e) = thread.transitions.iter().find(|e| e.from == at && e.to == at) {
            return Err(refusal(p, e, "a loop in an atomic block whose number of rounds is not known here"));
        }
        let wait = thread.transitions.iter().find(|e| {
            (e.from == at || e.to == at)
                && matches!(
                    e.action,
                    Action::Wait { .. }
                        | Action::Wake { .. }
                        | Action::TimeOut { .. }
                        | Action::Arrive { .. }
                        | Action::Pass(_)
                )
        });
        if let Some(e) = wait {
            return Err(refusal(p, e, "a wait in an atomic block"));
        }
        if !eliminate(p, t, at, true) {
            let e = first.unwrap_or_else(|| p.thread(t).transitions[0].clone());
            return Err(refusal(p, &e, "an input in an atomic block that is written to a shared place"));
        }
        if p.thread(t).transitions.len() > MOST_PATHS {
            let e = first.unwrap_or_else(|| p.thread(t).transitions[0].clone());
            return Err(refusal(p, &e, "an atomic block with too many ways through it"));
        }
    }
}

/// Makes local steps a part of their neighbours.
fn compress(p: &mut Program, t: ThreadId, options: &Options) {
    /// What leads to a location, or away from it: how many edges, and whether all are local.
    #[derive(Clone, Copy)]
    struct Edges {
        count: usize,
        local: bool,
    }
    const NONE: Edges = Edges { count: 0, local: true };
    let mut tried: BTreeMap<LocationId, usize> = BTreeMap::new();
    // Filled again for each step, and never made anew: there may be thousands of locations.
    let (mut into, mut out, mut round) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let thread = p.thread(t);
        let n = thread.locations.len();
        into.clear();
        out.clear();
        round.clear();
        into.resize(n, NONE);
        out.resize(n, NONE);
        round.resize(n, false);
        for e in &thread.transitions {
            let local = e.action == Action::Local;
            for side in [&mut out[e.from.index()], &mut into[e.to.index()]] {
                side.count += 1;
                side.local &= local;
            }
            round[e.to.index()] |= e.from == e.to;
        }
        let fits = |l: &LocationId, after: bool| {
            let (i, o) = (into[l.index()], out[l.index()]);
            let location = thread.location(*l);
            *l != thread.entry
                && location.kind == LocationKind::Normal
                && (!options.keep_labels || location.label.is_none())
                && (!options.keep_loops || !location.marks.contains(&Mark::Head))
                && i.count > 0
                && o.count > 0
                && (i.count == 1 || o.count == 1)
                // A local step may come after one that others see at once, or wait for the one that comes next.
                && if after { !location.may_block && o.local } else { i.local }
                && !round[l.index()]
                && tried.get(l) != Some(&(i.count * 1000 + o.count))
        };
        let after = thread.location_ids().find(|l| fits(l, true));
        let Some(l) = after.or_else(|| thread.location_ids().find(|l| fits(l, false))) else { return };
        let size = into[l.index()].count * 1000 + out[l.index()].count;
        if !eliminate(p, t, l, false) {
            tried.insert(l, size);
        }
    }
}

/// The cells that a place can be: one, or all of its variable.
fn cells(p: &Program, q: &Place) -> Vec<(VarId, u64)> {
    match q.index.map(|i| p.terms.as_const(i)) {
        None => vec![(q.var, 0)],
        Some(Some(i)) => vec![(q.var, i)],
        Some(None) => (0..p.var(q.var).cells() as u64).map(|i| (q.var, i)).collect(),
    }
}

/// The cells that an edge reads.
fn cells_read(p: &Program, e: &Transition, out: &mut BTreeSet<(VarId, u64)>) {
    let mut see = |t: Term| p.terms.places(t, &mut |q| out.extend(cells(p, &q)));
    see(e.guard);
    for a in &e.assigns {
        see(a.value);
        a.place.index.iter().for_each(|i| see(*i));
    }
    e.havoc.iter().filter_map(|h| h.index).for_each(&mut see);
    if let Action::CompareExchange { expected, desired } = e.action {
        see(expected);
        see(desired);
    }
}

/// Removes assignments and inputs of locals that nobody reads, and sets temporaries to zero where their value is done with: a state
/// does not differ from another by what is left in them.
fn drop_dead_values(p: &mut Program) {
    let reads_of = |p: &Program, t: ThreadId| {
        let mut all = BTreeSet::new();
        p.thread(t).transitions.iter().for_each(|e| cells_read(p, e, &mut all));
        all
    };
    let read: Vec<BTreeSet<(VarId, u64)>> = p.thread_ids().map(|t| reads_of(p, t)).collect();
    for t in p.thread_ids() {
        let thread = p.thread(t);
        let n = thread.locations.len();
        let mut live: Vec<BTreeSet<(VarId, u64)>> = vec![BTreeSet::new(); n];
        loop {
            let mut changed = false;
            for e in thread.transitions.iter().rev() {
                let mut now = live[e.to.index()].clone();
                for w in e.assigns.iter().map(|a| &a.place).chain(&e.havoc) {
                    if let [one] = cells(p, w)[..] {
                        now.remove(&one);
                    }
                }
                cells_read(p, e, &mut now);
                if let Action::Create(child) = e.action {
                    let mut open = vec![child];
                    let mut seen = BTreeSet::new();
                    while let Some(c) = open.pop() {
                        if seen.insert(c) {
                            now.extend(read[c.index()].iter().copied());
                            open.extend(children(p, c));
                        }
                    }
                }
                let before = live[e.from.index()].len();
                live[e.from.index()].extend(now);
                changed |= live[e.from.index()].len() != before;
            }
            if !changed {
                break;
            }
        }
        // How often a thread has a lock for reading says who holds it, also if the thread never looks at it again.
        let own = |v: VarId| p.var(v).scope == Scope::Local(t) && !p.var(v).internal;
        let mut edges = thread.transitions.clone();
        for e in &mut edges {
            let (from, after) = (e.from, &live[e.to.index()]);
            let wanted = |q: &Place| cells(p, q).iter().any(|c| after.contains(c));
            let of_child = |v: VarId| match e.action {
                Action::Create(c) => p.var(v).scope == Scope::Local(c),
                _ => false,
            };
            // What the edge reads besides, in its guard and in assignments that stay.
            let mut read_anyway: BTreeSet<Place> = BTreeSet::new();
            p.terms.places(e.guard, &mut |q| {
                read_anyway.insert(q);
            });
            for a in e.assigns.iter().filter(|a| !own(a.place.var) || wanted(&a.place)) {
                p.terms.places(a.value, &mut |q| {
                    read_anyway.insert(q);
                });
            }
            let unread = |v: VarId, c: ThreadId| !read[c.index()].iter().any(|r| r.0 == v);
            e.assigns.retain(|a| {
                let v = a.place.var;
                if of_child(v) {
                    return !matches!(p.var(v).scope, Scope::Local(c) if unread(v, c));
                }
                // A read of something shared is a step that others may race with, whether its value is wanted or not.
                let mut looks = false;
                p.terms.places(a.value, &mut |q| {
                    let var = p.var(q.var);
                    looks |= var.is_shared() && !var.internal && !read_anyway.contains(&q);
                });
                !own(v) || looks || wanted(&a.place)
            });
            e.havoc.retain(|h| {
                if own(h.var) {
                    return wanted(h);
                }
                // A variable that the thread shares: a thread that runs already may read it at any time; what those read that
                // are made later is live where they are made.
                let quiet = |c: &(VarId, u64)| {
                    p.thread_ids()
                        .all(|u| u == t || !read[u.index()].contains(c) || later(p, t, from).contains(&u))
                };
                wanted(h) || !cells(p, h).iter().all(quiet)
            });
        }
        // Temporaries that were live before, or are written here, and are not wanted any more.
        let mut resets: Vec<(usize, VarId)> = Vec::new();
        let temporary = |v: VarId| own(v) && p.name(v).contains('%');
        for (n, e) in edges.iter().enumerate() {
            let mut over: BTreeSet<VarId> =
                live[e.from.index()].iter().map(|c| c.0).filter(|v| temporary(*v)).collect();
            over.retain(|v| !live[e.to.index()].contains(&(*v, 0)));
            over.retain(|v| {
                !e.assigns.iter().any(|a| a.place.var == *v) && !e.havoc.iter().any(|h| h.var == *v)
            });
            resets.extend(over.into_iter().map(|v| (n, v)));
        }
        for (n, v) in resets {
            let value = p.terms.constant(0, p.vars[v.index()].ty);
            edges[n].assigns.push(Assign { place: Place::scalar(v), value });
        }
        for e in &mut edges {
            classify(p, e);
        }
        p.threads[t.index()].transitions = edges;
    }
}

/// The threads that a thread makes.
fn children(p: &Program, t: ThreadId) -> Vec<ThreadId> {
    let child = |e: &Transition| match e.action {
        Action::Create(c) => Some(c),
        _ => None,
    };
    p.thread(t).transitions.iter().filter_map(child).collect()
}

/// The threads that a thread makes, and those that they make, unless they may be there already when it is at a location.
fn later(p: &Program, t: ThreadId, at: LocationId) -> BTreeSet<ThreadId> {
    let thread = p.thread(t);
    let (mut all, mut there) = (BTreeSet::new(), BTreeSet::new());
    for e in &thread.transitions {
        let Action::Create(child) = e.action else { continue };
        let mut seen = vec![false; thread.locations.len()];
        let mut open = vec![e.to];
        while let Some(l) = open.pop() {
            if !std::mem::replace(&mut seen[l.index()], true) {
                open.extend(thread.transitions.iter().filter(|f| f.from == l).map(|f| f.to));
            }
        }
        // Several edges may make the same thread: it is there already if one of them leads here.
        let made = if seen[at.index()] { &mut there } else { &mut all };
        let mut open = vec![child];
        while let Some(c) = open.pop() {
            if made.insert(c) {
                open.extend(children(p, c));
            }
        }
    }
    all.retain(|t| !there.contains(t));
    all
}

/// Removes variables that no edge names.
fn drop_unused_vars(p: &mut Program) {
    let mut used = vec![false; p.vars.len()];
    for t in &p.threads {
        for e in &t.transitions {
            let mut see = |term: Term| p.terms.places(term, &mut |q| used[q.var.index()] = true);
            see(e.guard);
            for a in &e.assigns {
                see(a.value);
                a.place.index.iter().for_each(|i| see(*i));
            }
            e.havoc.iter().filter_map(|h| h.index).for_each(&mut see);
            e.assigns.iter().for_each(|a| used[a.place.var.index()] = true);
            e.havoc.iter().for_each(|h| used[h.var.index()] = true);
        }
        t.life.iter().for_each(|v| used[v.index()] = true);
        t.waiting.iter().for_each(|v| used[v.index()] = true);
    }
    // Shared variables of the program stay, whether they are used or not: people look for them.
    let keep: Vec<bool> =
        p.vars.iter().zip(&used).map(|(v, u)| *u || v.is_shared() && !v.name.contains('%')).collect();
    if keep.iter().all(|k| *k) {
        return;
    }
    p.keep_vars(&keep);
}
