//! Statements to edges.

use super::annotated::Noting;
use super::ctype::{CType, Object, Structure};
use super::decl::Parameter;
use super::scan::{self, Found};
use super::source::{Lines, Source};
use super::{Options, Refusal};
use crate::builder::Builder;
use crate::program::{
    ErrorKind, FileId, LocationId, LocationKind, Mark, Order, Scope, Span as Place_, ThreadId, TransitionId,
};
use crate::term::{Assign, Place, Term, Type, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

/// A result, or the reason why the program is refused.
pub(crate) type Res<T> = Result<T, Refusal>;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Entity {
    Object(usize),
    Function,
    Constant(i128, CType),
    Typedef(CType),
}

/// What is known of the values of locals on the way here, by variable and cell.
pub(crate) type Env = HashMap<(VarId, u64), u64>;

/// A place that several ways lead to.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) at: LocationId,
    /// What all ways so far agree on; nothing leads here if there is none.
    pub(crate) env: Option<Env>,
    pub(crate) atomic: bool,
}

/// A function of the program.
pub(crate) struct Function<'a> {
    pub(crate) name: String,
    pub(crate) result: CType,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: &'a Node<Statement>,
    pub(crate) span: Span,
}

/// A function that is being inlined.
pub(crate) struct Frame {
    pub(crate) name: String,
    pub(crate) exit: Join,
    pub(crate) result: Option<(VarId, CType)>,
    labels: HashMap<String, Join>,
    breaks: Vec<Join>,
    continues: Vec<Join>,
    switches: Vec<HashMap<usize, Join>>,
}

/// A thread that is to be lowered.
struct Made<'a> {
    thread: ThreadId,
    function: Rc<Function<'a>>,
    argument: Option<usize>,
    env: Env,
}

/// A temporary variable, and whether its value is still wanted.
struct Temporary {
    var: VarId,
    ty: Type,
    used: bool,
}

/// A join of a thread that is not known yet.
pub(crate) struct Deferred {
    pub(crate) thread: ThreadId,
    pub(crate) from: LocationId,
    pub(crate) to: LocationId,
    pub(crate) handle: Term,
    pub(crate) span: Place_,
}

pub(crate) struct Lowering<'a> {
    pub(crate) b: Builder,
    pub(crate) options: &'a Options,
    pub(super) lines: &'a Lines,
    pub(super) unit: &'a TranslationUnit,
    pub(super) functions: HashMap<String, Rc<Function<'a>>>,
    found: HashMap<String, Found>,
    pub(super) scopes: Vec<HashMap<String, Entity>>,
    pub(super) tags: Vec<HashMap<String, usize>>,
    pub(crate) structs: Vec<Structure>,
    pub(crate) objects: Vec<Object>,
    pub(crate) next_address: u64,
    statics: HashMap<usize, usize>,
    /// The names of variables that `main` alone uses.
    main_only: BTreeSet<String>,
    /// The objects whose address is taken, by the place of their declaration: as far as was known before, and what came to it.
    taken_before: BTreeSet<usize>,
    pub(super) taken: BTreeSet<usize>,
    /// Objects that pointers may point to, and those of `malloc`.
    pub(crate) noted: super::heap::Noted,
    /// Whether the program gives memory back.
    pub(crate) frees: bool,
    /// What a call whose value is assigned is to point to.
    pub(crate) wanted: Option<CType>,
    /// Only the address of the element that comes next is wanted, which may be that just behind the array.
    pub(crate) past_end: bool,
    /// How many loops are around the code at hand.
    pub(crate) loops: u32,
    /// The variables of unions.
    pub(crate) unions: BTreeSet<VarId>,
    /// By object: the place of its declaration, and by variable: its name in the program.
    pub(crate) declared_at: Vec<usize>,
    pub(super) roots: HashMap<VarId, String>,
    /// Variables that nothing assigns: they keep their initial values.
    pub(crate) constants: BTreeSet<VarId>,
    function_numbers: Vec<String>,
    pub(crate) t: ThreadId,
    /// Nothing leads here: nothing is emitted, and nothing is learned.
    pub(crate) dead: bool,
    /// Something is only looked at: its addresses do not get around.
    looking: bool,
    pub(crate) env: Env,
    pub(crate) atomic: u32,
    /// The edge into the atomic block at hand, and how many locations there were: inputs are read on that edge, and the locations
    /// that came since are none that others can see.
    atomic_start: Option<(TransitionId, usize)>,
    interior: Vec<BTreeSet<LocationId>>,
    pub(crate) frames: Vec<Frame>,
    queue: VecDeque<Made<'a>>,
    temporaries: Vec<Vec<Temporary>>,
    held: Vec<usize>,
    pub(crate) deferred: Vec<Deferred>,
    /// By thread: where its result is kept, if it has one.
    pub(crate) results: Vec<Option<VarId>>,
    pub(crate) noting: Noting,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(
        source: &'a Source,
        options: &'a Options,
        taken: &BTreeSet<usize>,
        early: &[super::heap::Early],
    ) -> Lowering<'a> {
        let mut b = Builder::new();
        b.check_locks(options.lock_misuse);
        b.spurious_wakeups(options.spurious);
        Lowering {
            b,
            options,
            lines: &source.lines,
            unit: &source.unit,
            functions: HashMap::new(),
            found: HashMap::new(),
            scopes: vec![HashMap::new()],
            tags: vec![HashMap::new()],
            structs: Vec::new(),
            objects: Vec::new(),
            next_address: 1 << 32,
            statics: HashMap::new(),
            main_only: BTreeSet::new(),
            taken_before: taken.clone(),
            taken: BTreeSet::new(),
            noted: super::heap::Noted::new(early),
            frees: false,
            wanted: None,
            past_end: false,
            loops: 0,
            unions: BTreeSet::new(),
            declared_at: Vec::new(),
            roots: HashMap::new(),
            constants: BTreeSet::new(),
            function_numbers: Vec::new(),
            t: ThreadId(0),
            dead: false,
            looking: false,
            env: Env::new(),
            atomic: 0,
            atomic_start: None,
            interior: Vec::new(),
            frames: Vec::new(),
            queue: VecDeque::new(),
            temporaries: Vec::new(),
            held: Vec::new(),
            deferred: Vec::new(),
            results: Vec::new(),
            noting: Noting::default(),
        }
    }

    pub(crate) fn taken(&self) -> BTreeSet<usize> {
        self.taken.clone()
    }

    /// The objects that pointers may point to, of those that code makes.
    pub(crate) fn early(&self) -> Vec<super::heap::Early> {
        self.noted.now.clone()
    }

    /// Whether a function jumps about.
    pub(crate) fn jumps(&self, function: &str) -> bool {
        self.found.get(function).is_some_and(|f| f.gotos)
    }

    pub(crate) fn into_parts(self) -> (Builder, Vec<BTreeSet<LocationId>>) {
        (self.b, self.interior)
    }

    /// A refusal at a place.
    pub(crate) fn refuse(&self, span: Span, reason: impl Into<String>) -> Refusal {
        let (file, line) = self.lines.at(span.start);
        Refusal { file: file.to_owned(), line, reason: reason.into() }
    }

    /// A place in the source.
    pub(crate) fn span(&mut self, span: Span) -> Place_ {
        let (file, line) = self.lines.at(span.start);
        let file: FileId = self.b.file(file);
        Place_ { file, line, column: 0 }
    }

    /// What comes next is from here.
    pub(crate) fn at(&mut self, span: Span) {
        let s = self.span(span);
        self.b.at_span(s);
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<Entity> {
        self.scopes.iter().rev().find_map(|s| s.get(name)).cloned()
    }

    pub(crate) fn declare(&mut self, name: String, entity: Entity) {
        self.scopes.last_mut().expect("there is a scope").insert(name, entity);
    }

    pub(crate) fn tag(&self, name: &str, complete: bool) -> Option<usize> {
        if complete {
            // A definition is of this scope, whatever the ones around have.
            let here = self.tags.last().and_then(|t| t.get(name)).copied();
            return here.filter(|id| self.structs[*id].fields.is_none());
        }
        self.tags.iter().rev().find_map(|t| t.get(name)).copied()
    }

    pub(crate) fn set_tag(&mut self, name: String, id: usize) {
        self.tags.last_mut().expect("there is a scope").insert(name, id);
    }

    pub(crate) fn function(&self, name: &str) -> Option<Rc<Function<'a>>> {
        self.functions.get(name).cloned()
    }

    /// The address of a function.
    pub(crate) fn function_address(&mut self, name: &str) -> u64 {
        let known = self.function_numbers.iter().position(|n| n == name);
        let n = known.unwrap_or_else(|| {
            self.function_numbers.push(name.to_owned());
            self.function_numbers.len() - 1
        });
        (1 << 48) + 16 * n as u64
    }

    /// The function at an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<&str> {
        let n = address.checked_sub(1 << 48)?;
        self.function_numbers.get((n / 16) as usize).filter(|_| n % 16 == 0).map(String::as_str)
    }

    // ---- the whole program

    pub(crate) fn run(&mut self) -> Res<()> {
        self.collect_functions()?;
        self.find_main_only();
        let main = self.b.thread("main");
        self.new_thread(main);
        self.frees = self.found.values().any(|f| f.called.contains("free"));
        self.collect_globals()?;
        self.make_early()?;
        let Some(function) = self.function("main") else {
            let (file, _) = self.lines.at(0);
            return Err(Refusal { file: file.to_owned(), line: 0, reason: "there is no `main`".to_owned() });
        };
        self.start(main);
        self.body(&function, None, true)?;
        while let Some(made) = self.queue.pop_front() {
            self.start(made.thread);
            self.env = made.env;
            self.body(&made.function, made.argument, false)?;
        }
        self.join_deferred();
        Ok(())
    }

    pub(super) fn new_thread(&mut self, t: ThreadId) {
        debug_assert_eq!(t.index(), self.interior.len());
        self.interior.push(BTreeSet::new());
        self.temporaries.push(Vec::new());
        self.results.push(None);
    }

    pub(super) fn start(&mut self, t: ThreadId) {
        self.t = t;
        self.dead = false;
        self.env = self.env.drain().filter(|_| t == ThreadId(0)).collect();
        self.atomic = 0;
        self.b.set_order(None);
        self.held.clear();
    }

    pub(super) fn body(&mut self, f: &Rc<Function<'a>>, argument: Option<usize>, main: bool) -> Res<()> {
        let exit = self.join();
        let result = if main || f.result == CType::Void {
            None
        } else {
            self.results[self.t.index()].map(|v| (v, f.result.clone()))
        };
        self.push_frame(&f.name, exit, result);
        self.open();
        for (n, p) in f.parameters.iter().enumerate() {
            let Some(name) = &p.name else { continue };
            let object = match argument.filter(|_| n == 0) {
                Some(object) => object,
                None => {
                    // The arguments of `main` can be anything.
                    let object = self.declare_object(name, &p.ctype, p.span, true)?;
                    self.forget_value(object);
                    object
                }
            };
            self.declare(name.clone(), Entity::Object(object));
        }
        self.note_start(f);
        let call = self.enter(f);
        self.statement(f.body)?;
        self.close();
        let mut frame = self.frames.pop().expect("it was pushed");
        self.jump(&mut frame.exit, f.span)?;
        self.note_interior();
        let at = frame.exit.at;
        self.leave_call(call, at);
        let kind = if main { LocationKind::Exit } else { LocationKind::End };
        self.b.set_kind(self.t, at, kind);
        Ok(())
    }

    pub(super) fn collect_functions(&mut self) -> Res<()> {
        let unit = self.unit;
        for item in &unit.0 {
            if let ExternalDeclaration::FunctionDefinition(d) = &item.node {
                let mut found = scan::statement(&d.node.statement);
                found.labels = false;
                if let Some(name) = declared_name(&d.node.declarator) {
                    self.found.insert(name, found);
                }
            }
        }
        // Types are needed to read declarations, so everything is read in the order of the text.
        for item in &unit.0 {
            match &item.node {
                ExternalDeclaration::Declaration(d) => self.types_of(d)?,
                ExternalDeclaration::FunctionDefinition(d) => {
                    let specified = self.specifiers(&d.node.specifiers)?;
                    let declared = self.declarator(&d.node.declarator, specified.ctype)?;
                    let (Some(name), CType::Function(result)) = (declared.name, declared.ctype) else {
                        return Err(self.refuse(d.span, "a function of this form"));
                    };
                    self.declare(name.clone(), Entity::Function);
                    let parameters = declared.parameters.unwrap_or_default();
                    let result = (*result).clone();
                    let f = Function {
                        name: name.clone(),
                        result,
                        parameters,
                        body: &d.node.statement,
                        span: d.span,
                    };
                    self.functions.insert(name, Rc::new(f));
                }
                ExternalDeclaration::StaticAssert(_) => {}
            }
        }
        Ok(())
    }

    /// Reads the types, the typedefs and the functions of a declaration, not its variables.
    fn types_of(&mut self, d: &Node<Declaration>) -> Res<()> {
        let specified = self.specifiers(&d.node.specifiers)?;
        for i in &d.node.declarators {
            if specified.typedef {
                let declared = self.declarator(&i.node.declarator, specified.ctype.clone())?;
                if let Some(name) = declared.name {
                    self.declare(name, Entity::Typedef(declared.ctype));
                }
            }
        }
        Ok(())
    }

    /// Variables that only `main` and what it calls use are no more shared than its locals.
    pub(super) fn find_main_only(&mut self) {
        let Some(main) = self.found.get("main") else { return };
        let main = main.clone().closed(&self.found);
        let mut elsewhere = BTreeSet::new();
        let mut initial = Found::default();
        for item in &self.unit.0 {
            if let ExternalDeclaration::Declaration(d) = &item.node {
                initial.add(scan::declaration(d));
            }
        }
        for (name, found) in &self.found {
            // A function that is used as a value may be the start of a thread.
            let value = initial.values.contains(name) || self.found.values().any(|f| f.values.contains(name));
            if value || !main.called.contains(name) && name != "main" {
                elsewhere.extend(found.clone().closed(&self.found).names);
            }
        }
        self.main_only = main.names.into_iter().filter(|n| !elsewhere.contains(n)).collect();
    }

    pub(super) fn collect_globals(&mut self) -> Res<()> {
        let unit = self.unit;
        let mut inits = Vec::new();
        for item in &unit.0 {
            let ExternalDeclaration::Declaration(d) = &item.node else { continue };
            let specified = self.specifiers(&d.node.specifiers)?;
            if specified.typedef {
                continue;
            }
            for i in &d.node.declarators {
                let declared = self.declarator(&i.node.declarator, specified.ctype.clone())?;
                let Some(name) = declared.name else { continue };
                if matches!(declared.ctype, CType::Function(_)) {
                    self.scopes[0].entry(name).or_insert(Entity::Function);
                    continue;
                }
                if specified.thread_local {
                    return Err(self.refuse(i.span, "a variable that each thread has its own of"));
                }
                let ctype = self.complete(declared.ctype, i.node.initializer.as_ref())?;
                if specified.is_extern && i.node.initializer.is_none() {
                    // Something of the library, or a declaration of what comes later.
                    continue;
                }
                let object = match self.scopes[0].get(&name) {
                    // A tentative definition, said again.
                    Some(Entity::Object(object)) => *object,
                    _ => {
                        self.must_be_known(&ctype, i.span)?;
                        let object = self.declare_object(&name, &ctype, i.node.declarator.span, false)?;
                        self.scopes[0].insert(name, Entity::Object(object));
                        object
                    }
                };
                if let Some(init) = &i.node.initializer {
                    inits.push((object, init));
                }
            }
        }
        for (object, init) in inits {
            self.static_init(object, init)?;
        }
        Ok(())
    }

    fn static_init(&mut self, object: usize, init: &'a Node<Initializer>) -> Res<()> {
        let shape = self.objects[object].shape.clone();
        let mut list = Vec::new();
        self.initial(&shape, 0, init, &mut list)?;
        for (var, index, ctype, e) in list {
            let dead = std::mem::replace(&mut self.dead, true);
            let value = self.rvalue(e);
            self.dead = dead;
            self.initial_fits(e, &ctype)?;
            let value = self.convert(value?, &ctype, e.span)?;
            let Some(bits) = self.b.terms().as_const(value) else {
                return Err(self.refuse(e.span, "an initial value that is not constant"));
            };
            self.b.set_initial(var, index, bits);
        }
        // What main alone uses is known from the start.
        let mut known = Vec::new();
        Self::leaves(&shape, 0, &mut |v, i, _| known.push((v, i)));
        for (v, i) in known {
            if self.is_tracked(v) {
                let bits = self.b.program().var(v).init[i as usize];
                self.env.insert((v, i), bits);
            }
        }
        Ok(())
    }

    // ---- objects

    /// Whether the values of a variable are followed while lowering: it is a local of the thread at hand.
    pub(crate) fn is_tracked(&self, v: VarId) -> bool {
        self.b.program().var(v).scope == Scope::Local(self.t)
    }

    /// Makes the object of a variable; a local one is shared if its address is taken.
    pub(crate) fn declare_object(
        &mut self,
        name: &str,
        ctype: &CType,
        span: Span,
        local: bool,
    ) -> Res<usize> {
        let taken = self.taken_before.contains(&span.start);
        let alone = local || self.main_only.contains(name);
        let scope = if alone && !taken { Scope::Local(self.t) } else { Scope::Shared };
        let full =
            if local { format!("{}.{name}", self.b.program().thread(self.t).name) } else { name.to_owned() };
        let object = if local && taken {
            self.noted_object(&full, ctype, span.start, span, false)?
        } else {
            let object = self.object(&full, ctype, scope, span)?;
            self.declared_at.resize(object + 1, usize::MAX);
            self.declared_at[object] = span.start;
            object
        };
        let mut vars = Vec::new();
        Self::leaves(&self.objects[object].shape.clone(), 0, &mut |v, _, _| vars.push(v));
        let tracked = !local && scope != Scope::Shared;
        let never_assigned = !local && !taken && !self.found.values().any(|f| f.assigned.contains(name));
        for v in vars {
            self.roots.insert(v, name.to_owned());
            if never_assigned {
                self.constants.insert(v);
            }
            if tracked {
                let cells = self.b.program().var(v).cells();
                (0..cells as u64).for_each(|i| {
                    self.env.insert((v, i), 0);
                });
            }
        }
        Ok(object)
    }

    /// The address of an object gets around.
    pub(crate) fn take_address(&mut self, object: usize) {
        if !self.looking {
            self.taken.insert(self.declared_at[object]);
        }
    }

    /// Whether a pointer may point to an object.
    pub(crate) fn is_taken(&self, object: usize) -> bool {
        let at = self.declared_at[object];
        self.taken_before.contains(&at) || self.taken.contains(&at)
    }

    /// An object gets any value.
    pub(crate) fn forget_value(&mut self, object: usize) {
        let mut leaves = Vec::new();
        Self::leaves(&self.objects[object].shape.clone(), 0, &mut |v, i, _| leaves.push((v, i)));
        for (v, i) in &leaves {
            self.env.remove(&(*v, *i));
        }
        let places = leaves
            .into_iter()
            .map(|(v, i)| match self.b.program().var(v).len {
                None => Place::scalar(v),
                Some(_) => {
                    let i = self.b.terms().number(i as i128, Type::unsigned(64));
                    Place::cell(v, i)
                }
            })
            .collect::<Vec<_>>();
        if !self.dead && !places.is_empty() {
            // In an atomic block the value was there before: it is any value.
            if let Some((edge, _)) = self.atomic_start {
                places.into_iter().for_each(|q| self.b.add_havoc(self.t, edge, q));
                return;
            }
            self.b.havoc_all(self.t, places);
        }
    }

    /// A variable for a value in between.
    pub(crate) fn temporary(&mut self, ty: Type) -> VarId {
        let list = &mut self.temporaries[self.t.index()];
        if let Some(i) = list.iter().position(|t| !t.used && t.ty == ty) {
            list[i].used = true;
            self.held.push(i);
            return list[i].var;
        }
        let n = list.len();
        let var = self.b.local(self.t, &format!("%{n}"), ty, 0);
        self.temporaries[self.t.index()].push(Temporary { var, ty, used: true });
        self.held.push(n);
        var
    }

    /// Temporaries that were taken since then are free again.
    fn release(&mut self, mark: usize) {
        for i in self.held.drain(mark..) {
            self.temporaries[self.t.index()][i].used = false;
        }
    }

    // ---- flow

    /// From here on all is one step.
    pub(crate) fn begin_atomic(&mut self) {
        self.atomic += 1;
        // One access alone is atomic there, too.
        self.b.set_order(Some((Order::Both, Order::Both)));
        if self.atomic == 1 && !self.dead {
            let yes = self.b.terms().boolean(true);
            let to = self.b.then(self.t, yes, Vec::new());
            let edge = self.b.last_edge(self.t);
            self.atomic_start = Some((edge, to.index() + 1));
        }
    }

    /// Up to here all is one step.
    pub(crate) fn end_atomic(&mut self) {
        self.atomic -= 1;
        if self.atomic == 0 {
            self.b.set_order(None);
            self.note_interior();
            let yes = self.b.terms().boolean(true);
            self.step(yes, Vec::new());
        }
    }

    pub(super) fn note_interior(&mut self) {
        if let Some((_, from)) = self.atomic_start.take() {
            let all = self.b.program().thread(self.t).locations.len();
            self.interior[self.t.index()].extend((from..all).map(|l| LocationId(l as u32)));
        }
    }

    /// A place gets any value: a step, or a part of the edge into the atomic block at hand. Inputs do not depend on what happens.
    pub(crate) fn input(&mut self, var: VarId) {
        if self.dead {
            return;
        }
        self.env.remove(&(var, 0));
        match self.atomic_start {
            Some((edge, _)) => self.b.add_havoc(self.t, edge, Place::scalar(var)),
            None => self.b.havoc(self.t, Place::scalar(var)),
        }
    }

    pub(crate) fn join(&mut self) -> Join {
        Join { at: self.b.location(self.t), env: None, atomic: self.atomic > 0 }
    }

    fn merge(&self, j: &mut Join) {
        match &mut j.env {
            None => j.env = Some(self.env.clone()),
            Some(env) => env.retain(|k, v| self.env.get(k) == Some(v)),
        }
    }

    /// Goes on at a join; nothing comes after this on the way at hand.
    pub(crate) fn jump(&mut self, j: &mut Join, span: Span) -> Res<()> {
        if !self.dead {
            if j.atomic != (self.atomic > 0) {
                return Err(self.refuse(span, "a way out of an atomic block, or into one"));
            }
            self.b.jump(self.t, j.at);
            self.merge(j);
            self.dead = true;
        }
        Ok(())
    }

    pub(crate) fn land(&mut self, j: Join) {
        self.b.go_on_at(self.t, j.at);
        self.dead = j.env.is_none();
        self.env = j.env.unwrap_or_default();
    }

    /// One step, unless nothing leads here.
    pub(crate) fn step(&mut self, guard: Term, assigns: Vec<Assign>) {
        if !self.dead {
            self.b.then(self.t, guard, assigns);
        }
    }

    /// A step that assigns one place.
    pub(crate) fn set(&mut self, place: Place, value: Term) {
        let yes = self.b.terms().boolean(true);
        self.step(yes, vec![Assign { place, value }]);
    }

    /// Assigns a temporary, or any variable that is not followed.
    pub(crate) fn set_var(&mut self, var: VarId, value: Term) {
        self.set(Place::scalar(var), value);
        if !self.dead && self.is_tracked(var) {
            match self.b.terms().as_const(value) {
                Some(v) => self.env.insert((var, 0), v),
                None => self.env.remove(&(var, 0)),
            };
        }
    }

    /// Two ways, by a condition that is known or not.
    pub(crate) fn fork(&mut self, condition: Term, yes: &mut Join, no: &mut Join, span: Span) -> Res<()> {
        if self.dead {
            return Ok(());
        }
        match self.b.terms().as_const(condition) {
            Some(0) => self.jump(no, span),
            Some(_) => self.jump(yes, span),
            None => {
                if yes.atomic != (self.atomic > 0) || no.atomic != (self.atomic > 0) {
                    return Err(self.refuse(span, "a way out of an atomic block, or into one"));
                }
                let from = self.b.here(self.t);
                let not = self.b.terms().not(condition);
                self.b.step(self.t, from, yes.at, condition, Vec::new());
                self.b.step(self.t, from, no.at, not, Vec::new());
                self.merge(yes);
                self.merge(no);
                self.dead = true;
                Ok(())
            }
        }
    }

    /// Something is wrong unless the condition holds.
    pub(crate) fn check(&mut self, ok: Term, kind: ErrorKind, message: &str) {
        if self.dead || self.b.terms().as_const(ok) == Some(1) {
            return;
        }
        let wrong = self.b.error_location(self.t, kind, message);
        let not = self.b.terms().not(ok);
        let from = self.b.here(self.t);
        self.b.step(self.t, from, wrong, not, Vec::new());
        if self.b.terms().as_const(ok) == Some(0) {
            self.dead = true;
        } else {
            self.step(ok, Vec::new());
        }
    }

    /// Goes on only where the condition holds. In an atomic block the whole block waits until it does.
    pub(crate) fn assume(&mut self, condition: Term) {
        if self.dead || self.b.terms().as_const(condition) == Some(1) {
            return;
        }
        if self.atomic > 0 && self.b.terms().as_const(condition).is_none() {
            let at = self.b.here(self.t);
            self.b.set_may_block(self.t, at);
        } else {
            let halt = self.b.location(self.t);
            self.b.set_kind(self.t, halt, LocationKind::Halt);
            let not = self.b.terms().not(condition);
            let from = self.b.here(self.t);
            self.b.step(self.t, from, halt, not, Vec::new());
        }
        if self.b.terms().as_const(condition) == Some(0) {
            self.dead = true;
        } else {
            self.step(condition, Vec::new());
        }
    }

    /// The thread, or the whole program, is over here.
    pub(crate) fn stop(&mut self, kind: LocationKind) {
        if !self.dead {
            let at = self.b.location(self.t);
            self.b.set_kind(self.t, at, kind);
            self.b.jump(self.t, at);
            self.dead = true;
        }
    }

    /// Does something without leaving a trace.
    pub(crate) fn in_dead_code<T>(&mut self, f: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        // What branches lands somewhere else, with nothing known: afterwards all goes on here.
        let (at, env) = (self.b.here(self.t), self.env.clone());
        let before = (std::mem::replace(&mut self.dead, true), std::mem::replace(&mut self.looking, true));
        let out = f(self);
        (self.dead, self.looking) = before;
        self.b.go_on_at(self.t, at);
        self.env = env;
        out
    }

    pub(super) fn open(&mut self) {
        self.scopes.push(HashMap::new());
        self.tags.push(HashMap::new());
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
        self.tags.pop();
    }

    pub(super) fn push_frame(&mut self, name: &str, exit: Join, result: Option<(VarId, CType)>) {
        self.frames.push(Frame {
            name: name.to_owned(),
            exit,
            result,
            labels: HashMap::new(),
            breaks: Vec::new(),
            continues: Vec::new(),
            switches: Vec::new(),
        });
    }

    pub(crate) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("code is in a function")
    }

    // ---- functions

    /// Inlines a function; arguments are converted already.
    pub(crate) fn inline(
        &mut self,
        f: &Rc<Function<'a>>,
        arguments: Vec<(Term, CType)>,
        result: Option<(VarId, CType)>,
        span: Span,
    ) -> Res<()> {
        if self.dead {
            return Ok(());
        }
        let depth = self.frames.iter().filter(|g| g.name == f.name).count();
        if depth > self.options.recursion as usize {
            let at = self.b.error_location(
                self.t,
                ErrorKind::Bound,
                &format!("`{}` calls itself more than {} deep", f.name, self.options.recursion),
            );
            self.b.jump(self.t, at);
            self.dead = true;
            return Ok(());
        }
        if self.frames.len() > 200 {
            return Err(self.refuse(span, "calls that are more than 200 deep"));
        }
        let outer_scopes = self.scopes.split_off(1);
        let outer_tags = self.tags.split_off(1);
        let exit = self.join();
        let call = self.enter(f);
        self.push_frame(&f.name, exit, result);
        self.open();
        for (p, (value, ctype)) in f.parameters.iter().zip(arguments) {
            let Some(name) = &p.name else { continue };
            let object = self.declare_object(name, &ctype, p.span, true)?;
            self.declare(name.clone(), Entity::Object(object));
            let lv = self.whole(object);
            self.store(&lv, value, span)?;
            self.note_argument(f, name, object, value);
        }
        self.statement(f.body)?;
        self.close();
        self.scopes.truncate(1);
        self.tags.truncate(1);
        self.scopes.extend(outer_scopes);
        self.tags.extend(outer_tags);
        let mut frame = self.frames.pop().expect("it was pushed");
        self.jump(&mut frame.exit, f.span)?;
        self.leave_call(call, frame.exit.at);
        self.land(frame.exit);
        Ok(())
    }

    /// A thread is made: its number, and the variable that gets the argument.
    pub(crate) fn make_thread(
        &mut self,
        f: &Rc<Function<'a>>,
        argument: Option<u64>,
    ) -> Res<(ThreadId, Option<VarId>)> {
        let t = self.b.created_thread(&f.name);
        self.new_thread(t);
        if !matches!(f.result, CType::Void) {
            let name = format!("{}.%result", self.b.program().thread(t).name);
            let ty = f.result.scalar().unwrap_or(super::ctype::ADDRESS);
            let v = self.b.shared(&name, ty, 0);
            self.results[t.index()] = Some(v);
        }
        let (mut object, mut var, mut env) = (None, None, Env::new());
        if let Some(p) = f.parameters.first()
            && let Some(name) = &p.name
        {
            let me = std::mem::replace(&mut self.t, t);
            let made = self.declare_object(name, &p.ctype, p.span, true);
            self.t = me;
            let made = made?;
            object = Some(made);
            let mut leaf = None;
            Self::leaves(&self.objects[made].shape.clone(), 0, &mut |v, _, _| leaf = Some(v));
            var = leaf;
            if let (Some(v), Some(bits)) = (leaf, argument)
                && self.b.program().var(v).scope == Scope::Local(t)
            {
                env.insert((v, 0), bits);
            }
        }
        self.queue.push_back(Made { thread: t, function: f.clone(), argument: object, env });
        Ok((t, var))
    }

    /// Joins whose thread only the run knows: one edge for each thread.
    fn join_deferred(&mut self) {
        for d in std::mem::take(&mut self.deferred) {
            self.b.at_span(d.span);
            let made: Vec<ThreadId> = {
                let p = self.b.program();
                p.thread_ids().filter(|t| p.thread(*t).life.is_some()).collect()
            };
            let ty = self.b.terms().ty(d.handle);
            let mut none = self.b.terms().boolean(true);
            for t in made {
                let handle = self.b.terms().constant(t.0 as u64 + 1, ty);
                let it = self.b.terms().eq(d.handle, handle);
                self.b.join_if(d.thread, d.from, d.to, it, t);
                let not = self.b.terms().not(it);
                none = self.b.terms().and(none, not);
            }
            let wrong =
                self.b.error_location(d.thread, ErrorKind::InvalidPointer, "a join of what is no thread");
            self.b.step(d.thread, d.from, wrong, none, Vec::new());
        }
    }

    // ---- statements

    fn block_item(&mut self, i: &'a Node<BlockItem>) -> Res<()> {
        match &i.node {
            BlockItem::Declaration(d) => self.declaration(d),
            BlockItem::StaticAssert(_) => Ok(()),
            BlockItem::Statement(s) => self.statement(s),
        }
    }

    pub(crate) fn compound(&mut self, items: &'a [Node<BlockItem>]) -> Res<()> {
        self.open();
        for i in items {
            self.block_item(i)?;
        }
        self.close();
        Ok(())
    }

    fn declaration(&mut self, d: &'a Node<Declaration>) -> Res<()> {
        self.at(d.span);
        let specified = self.specifiers(&d.node.specifiers)?;
        for i in &d.node.declarators {
            let declared = self.declarator(&i.node.declarator, specified.ctype.clone())?;
            let Some(name) = declared.name else { continue };
            if specified.typedef {
                self.declare(name, Entity::Typedef(declared.ctype));
                continue;
            }
            if matches!(declared.ctype, CType::Function(_)) {
                self.declare(name, Entity::Function);
                continue;
            }
            if specified.is_extern {
                // The scope around has it.
                continue;
            }
            let ctype = self.complete(declared.ctype, i.node.initializer.as_ref())?;
            self.must_be_known(&ctype, i.span)?;
            let span = i.node.declarator.span;
            if specified.is_static {
                let object = match self.statics.get(&span.start) {
                    Some(object) => *object,
                    None => {
                        let full = format!("{}.{name}", self.frame().name);
                        let object = self.noted_object(&full, &ctype, span.start, span, false)?;
                        self.statics.insert(span.start, object);
                        if let Some(init) = &i.node.initializer {
                            self.static_init(object, init)?;
                        }
                        object
                    }
                };
                self.declare(name, Entity::Object(object));
                continue;
            }
            let object = self.declare_object(&name, &ctype, span, true)?;
            self.declare(name, Entity::Object(object));
            if self.dead {
                continue;
            }
            match &i.node.initializer {
                None => self.forget_value(object),
                Some(init) => self.local_init(object, init)?,
            }
        }
        Ok(())
    }

    fn local_init(&mut self, object: usize, init: &'a Node<Initializer>) -> Res<()> {
        let shape = self.objects[object].shape.clone();
        if let (super::ctype::ShapeKind::Struct(_), Initializer::Expression(e)) = (&shape.kind, &init.node) {
            let from = self.lvalue(e)?;
            let to = self.whole(object);
            return self.copy(&to, &from, e.span);
        }
        let mut list = Vec::new();
        self.initial(&shape, 0, init, &mut list)?;
        let mark = self.held.len();
        // What is not named is zero, and may be named again.
        if matches!(init.node, Initializer::List(_)) {
            let named: BTreeSet<(VarId, u64)> = list.iter().map(|l| (l.0, l.1)).collect();
            let mut zero = Vec::new();
            Self::leaves(&shape, 0, &mut |v, i, _| {
                if !named.contains(&(v, i)) {
                    zero.push((v, i));
                }
            });
            for (v, i) in zero {
                let ty = self.b.program().var(v).ty;
                let value = self.b.terms().constant(0, ty);
                self.set_cell(v, i, value);
            }
        }
        for (var, index, ctype, e) in list {
            let value = self.rvalue_for(e, &ctype)?;
            let value = self.convert(value, &ctype, e.span)?;
            self.set_cell(var, index, value);
        }
        self.release(mark);
        Ok(())
    }

    /// Assigns a cell whose index is known.
    pub(crate) fn set_cell(&mut self, var: VarId, index: u64, value: Term) {
        let place = match self.b.program().var(var).len {
            None => Place::scalar(var),
            Some(_) => {
                let i = self.b.terms().number(index as i128, Type::unsigned(64));
                Place::cell(var, i)
            }
        };
        self.set(place, value);
        if !self.dead && self.is_tracked(var) {
            match self.b.terms().as_const(value) {
                Some(v) => self.env.insert((var, index), v),
                None => self.env.remove(&(var, index)),
            };
        }
    }

    pub(crate) fn statement(&mut self, s: &'a Node<Statement>) -> Res<()> {
        self.expect_loop(s)?;
        if self.dead && !matches!(s.node, Statement::Compound(_) | Statement::Labeled(_)) {
            if !scan::statement(s).labels {
                self.noting.pending.clear();
                return Ok(());
            }
            // Something may jump into the middle: all of it is lowered, and what nothing leads to is dropped in the end.
            let at = self.b.location(self.t);
            self.b.go_on_at(self.t, at);
            self.dead = false;
            self.env.clear();
        }
        self.at(s.span);
        let mark = self.held.len();
        match &s.node {
            Statement::Labeled(l) => self.labeled(l)?,
            Statement::Compound(items) => self.compound(items)?,
            Statement::Expression(None) => {}
            Statement::Expression(Some(e)) => self.effect(e)?,
            Statement::If(i) => self.if_statement(i)?,
            Statement::Switch(w) => self.switch(w)?,
            Statement::While(w) => self.while_loop(s, Some(&w.node.expression), None, &w.node.statement)?,
            Statement::DoWhile(w) => self.do_while(s, w)?,
            Statement::For(f) => self.for_loop(s, f)?,
            Statement::Goto(name) => self.goto(name)?,
            Statement::Continue => self.leave(s.span, true)?,
            Statement::Break => self.leave(s.span, false)?,
            Statement::Return(value) => self.return_statement(value.as_deref(), s.span)?,
            Statement::Asm(_) => return Err(self.refuse(s.span, "assembly")),
        }
        self.release(mark);
        Ok(())
    }

    fn leave(&mut self, span: Span, again: bool) -> Res<()> {
        let frame = self.frame();
        let stack = if again { &mut frame.continues } else { &mut frame.breaks };
        let Some(mut j) = stack.pop() else {
            return Err(self.refuse(span, "there is nothing to leave here"));
        };
        let done = self.jump(&mut j, span);
        let frame = self.frame();
        if again {
            frame.continues.push(j)
        } else {
            frame.breaks.push(j)
        }
        done
    }

    fn label(&mut self, name: &str) -> Join {
        match self.frame().labels.remove(name) {
            Some(j) => j,
            None => self.join(),
        }
    }

    fn goto(&mut self, name: &Node<Identifier>) -> Res<()> {
        if name.node.name == "ERROR" {
            self.error_label();
            return Ok(());
        }
        let mut j = self.label(&name.node.name);
        let done = self.jump(&mut j, name.span);
        self.frame().labels.insert(name.node.name.clone(), j);
        done
    }

    fn error_label(&mut self) {
        let at = self.b.error_location(self.t, ErrorKind::Assertion, "ERROR is reached");
        if !self.dead {
            self.b.jump(self.t, at);
            self.dead = true;
        }
    }

    fn labeled(&mut self, l: &'a Node<LabeledStatement>) -> Res<()> {
        match &l.node.label.node {
            Label::Identifier(name) if name.node.name == "ERROR" => {
                self.error_label();
            }
            Label::Identifier(name) => {
                let mut j = self.label(&name.node.name);
                if !self.dead {
                    self.b.move_notes(self.t, j.at);
                }
                self.jump(&mut j, l.span)?;
                // Jumps from below are not known yet, so nothing is known here.
                let at = Join { env: Some(Env::new()), ..j.clone() };
                self.frame().labels.insert(name.node.name.clone(), Join { env: Some(Env::new()), ..j });
                self.land(at);
                self.b.label(self.t, &name.node.name);
            }
            Label::Case(_) | Label::CaseRange(_) | Label::Default => {
                let Some(cases) = self.frame().switches.last_mut() else {
                    return Err(self.refuse(l.span, "a case without a switch"));
                };
                let Some(mut j) = cases.remove(&l.span.start) else {
                    return Err(self.refuse(l.span, "a case that is inside another statement"));
                };
                self.jump(&mut j, l.span)?;
                self.land(j);
            }
        }
        self.statement(&l.node.statement)
    }

    fn if_statement(&mut self, i: &'a Node<IfStatement>) -> Res<()> {
        let (mut yes, mut no, mut after) = (self.join(), self.join(), self.join());
        self.branch(&i.node.condition, &mut yes, &mut no)?;
        self.land(yes);
        self.statement(&i.node.then_statement)?;
        self.at(i.span);
        self.jump(&mut after, i.span)?;
        self.land(no);
        if let Some(e) = &i.node.else_statement {
            self.statement(e)?;
        }
        self.at(i.span);
        self.jump(&mut after, i.span)?;
        self.land(after);
        Ok(())
    }

    fn switch(&mut self, w: &'a Node<SwitchStatement>) -> Res<()> {
        let value = self.rvalue(&w.node.expression)?;
        let Some(ty) = value.ctype.scalar() else { return Err(self.refuse(w.span, "a switch over this")) };
        let ty = super::expr::promoted(ty);
        let value = self.b.terms().cast(ty, value.term);
        let mut labels = Vec::new();
        collect_cases(&w.node.statement, &mut labels);
        let mut cases = HashMap::new();
        let (mut after, mut default) = (self.join(), None);
        let mut none = self.b.terms().boolean(true);
        let mut targets = Vec::new();
        for (at, label) in labels {
            let j = self.join();
            match label {
                Label::Case(e) => {
                    let v = self.constant(e, "the value of a case")?;
                    let c = self.b.terms().number(v, ty);
                    let it = self.b.terms().eq(value, c);
                    let not = self.b.terms().not(it);
                    none = self.b.terms().and(none, not);
                    targets.push((it, at));
                }
                Label::CaseRange(r) => {
                    let low = self.constant(&r.node.low, "the value of a case")?;
                    let high = self.constant(&r.node.high, "the value of a case")?;
                    let (low, high) = (self.b.terms().number(low, ty), self.b.terms().number(high, ty));
                    let (above, below) = (self.b.terms().le(low, value), self.b.terms().le(value, high));
                    let it = self.b.terms().and(above, below);
                    let not = self.b.terms().not(it);
                    none = self.b.terms().and(none, not);
                    targets.push((it, at));
                }
                _ => default = Some(at),
            }
            cases.insert(at, j);
        }
        if !self.dead {
            let from = self.b.here(self.t);
            let known = targets.iter().find(|(it, _)| self.b.terms().as_const(*it) == Some(1)).map(|t| t.1);
            let otherwise = match known {
                Some(at) => {
                    let j = cases.get_mut(&at).expect("it was put there");
                    let mut case = j.clone();
                    self.jump(&mut case, w.span)?;
                    cases.insert(at, case);
                    false
                }
                None => {
                    for (it, at) in &targets {
                        if self.b.terms().as_const(*it) == Some(0) {
                            continue;
                        }
                        let mut j = cases.remove(at).expect("it was put there");
                        self.b.step(self.t, from, j.at, *it, Vec::new());
                        self.merge(&mut j);
                        cases.insert(*at, j);
                    }
                    true
                }
            };
            if otherwise {
                let j = match default {
                    Some(at) => cases.get_mut(&at).expect("it was put there"),
                    None => &mut after,
                };
                let mut to = j.clone();
                self.b.step(self.t, from, to.at, none, Vec::new());
                self.merge(&mut to);
                *j = to;
            }
            self.dead = true;
        }
        self.frame().breaks.push(after);
        self.frame().switches.push(cases);
        self.statement(&w.node.statement)?;
        self.frame().switches.pop();
        let mut after = self.frame().breaks.pop().expect("it was pushed");
        self.jump(&mut after, w.span)?;
        self.land(after);
        Ok(())
    }

    /// Forgets what a loop may change.
    fn forget(&mut self, found: &Found) {
        let (roots, fixed) = (&self.roots, &self.noting.fixed);
        self.env.retain(|(v, _), _| {
            fixed.contains(v) || roots.get(v).is_some_and(|n| !found.assigned.contains(n))
        });
    }

    /// What a loop does, in itself and in what it calls.
    fn found_in_loop(
        &self,
        body: &Node<Statement>,
        condition: Option<&Node<Expression>>,
        step: Option<&Node<Expression>>,
    ) -> Found {
        let mut found = scan::statement(body);
        for e in condition.into_iter().chain(step) {
            found.add(scan::expression(e));
        }
        found.closed(&self.found)
    }

    /// The truth of a condition, if it is known here.
    fn known(&mut self, e: Option<&'a Node<Expression>>) -> Res<Option<bool>> {
        let Some(e) = e else { return Ok(Some(true)) };
        let value = self.in_dead_code(|me| me.condition(e))?;
        Ok(self.b.terms().as_const(value).map(|v| v != 0))
    }

    fn while_loop(
        &mut self,
        s: &'a Node<Statement>,
        condition: Option<&'a Node<Expression>>,
        step: Option<&'a Node<Expression>>,
        body: &'a Node<Statement>,
    ) -> Res<()> {
        let found = self.found_in_loop(body, condition, step);
        let makes = found.makes_threads();
        if makes || found.joins_threads() || self.atomic > 0 {
            match self.known(condition)? {
                Some(_) => return self.unrolled(s, condition, step, body, &found),
                None if makes => {
                    return Err(
                        self.refuse(s.span, "a loop that makes threads, and how often is not known here")
                    );
                }
                None => {}
            }
        }
        let after = self.join();
        self.loops += 1;
        self.forget(&found);
        let mut head = self.join();
        self.jump(&mut head, s.span)?;
        let again = head.clone();
        self.land(head);
        let at = self.b.here(self.t);
        self.b.mark(self.t, at, Mark::Head);
        self.note_loop();
        let mut enter = self.join();
        let mut exit = after;
        match condition {
            None => self.jump(&mut enter, s.span)?,
            Some(c) => self.branch(c, &mut enter, &mut exit)?,
        }
        self.land(enter);
        let next = self.join();
        let frame = self.frame();
        frame.breaks.push(exit);
        frame.continues.push(next);
        self.statement(body)?;
        self.at(s.span);
        let frame = self.frame();
        let mut next = frame.continues.pop().expect("it was pushed");
        let after = frame.breaks.pop().expect("it was pushed");
        self.jump(&mut next, s.span)?;
        self.land(next);
        if let Some(e) = step {
            self.effect(e)?;
        }
        let mut again = again;
        self.jump(&mut again, s.span)?;
        self.loops -= 1;
        self.land(after);
        Ok(())
    }

    /// A loop whose rounds are known, one after the other.
    fn unrolled(
        &mut self,
        s: &'a Node<Statement>,
        condition: Option<&'a Node<Expression>>,
        step: Option<&'a Node<Expression>>,
        body: &'a Node<Statement>,
        found: &Found,
    ) -> Res<()> {
        let line = self.lines.at(s.span.start).1;
        let entry = self.b.program().thread(self.t).entry;
        self.b.mark(self.t, entry, Mark::Unrolled(line));
        if found.labels || found.gotos {
            return Err(self.refuse(
                s.span,
                "labels in a loop that makes or joins threads, or is part of an atomic block",
            ));
        }
        if !self.noting.pending.is_empty() {
            return Err(self.refuse(s.span, "an invariant of a loop that is unrolled"));
        }
        let mut after = self.join();
        for round in 0.. {
            if self.dead {
                break;
            }
            if round > self.options.unroll {
                let why = format!(
                    "a loop that makes or joins threads and goes round more than {} times",
                    self.options.unroll
                );
                return Err(self.refuse(s.span, why));
            }
            let mut enter = self.join();
            match self.known(condition)? {
                None if found.makes_threads() || self.atomic > 0 => {
                    return Err(
                        self.refuse(s.span, "a loop whose number of rounds must be known here, and is not")
                    );
                }
                _ => {}
            }
            match condition {
                None => self.jump(&mut enter, s.span)?,
                Some(c) => self.branch(c, &mut enter, &mut after)?,
            }
            self.land(enter);
            if self.dead {
                break;
            }
            let next = self.join();
            let frame = self.frame();
            frame.breaks.push(after);
            frame.continues.push(next);
            self.statement(body)?;
            self.at(s.span);
            let frame = self.frame();
            let mut next = frame.continues.pop().expect("it was pushed");
            after = frame.breaks.pop().expect("it was pushed");
            self.jump(&mut next, s.span)?;
            self.land(next);
            if let Some(e) = step {
                self.effect(e)?;
            }
        }
        self.land(after);
        Ok(())
    }

    fn do_while(&mut self, s: &'a Node<Statement>, w: &'a Node<DoWhileStatement>) -> Res<()> {
        let found = self.found_in_loop(&w.node.statement, Some(&w.node.expression), None);
        if found.makes_threads() {
            return Err(self.refuse(s.span, "a do-while loop that makes threads"));
        }
        if self.atomic > 0 && self.known(Some(&w.node.expression))? != Some(false) {
            return Err(self.refuse(s.span, "a do-while loop in an atomic block"));
        }
        let after = self.join();
        self.loops += 1;
        self.forget(&found);
        let mut head = self.join();
        self.jump(&mut head, s.span)?;
        let mut again = head.clone();
        self.land(head);
        self.note_loop();
        let next = self.join();
        let frame = self.frame();
        frame.breaks.push(after);
        frame.continues.push(next);
        self.statement(&w.node.statement)?;
        self.at(s.span);
        let frame = self.frame();
        let mut next = frame.continues.pop().expect("it was pushed");
        let mut after = frame.breaks.pop().expect("it was pushed");
        self.jump(&mut next, s.span)?;
        self.land(next);
        self.branch(&w.node.expression, &mut again, &mut after)?;
        self.loops -= 1;
        self.land(after);
        Ok(())
    }

    fn for_loop(&mut self, s: &'a Node<Statement>, f: &'a Node<ForStatement>) -> Res<()> {
        self.open();
        match &f.node.initializer.node {
            ForInitializer::Empty | ForInitializer::StaticAssert(_) => {}
            ForInitializer::Expression(e) => self.effect(e)?,
            ForInitializer::Declaration(d) => self.declaration(d)?,
        }
        let (condition, step) = (f.node.condition.as_deref(), f.node.step.as_deref());
        self.while_loop(s, condition, step, &f.node.statement)?;
        self.close();
        Ok(())
    }

    fn return_statement(&mut self, value: Option<&'a Node<Expression>>, span: Span) -> Res<()> {
        let result = self.frame().result.clone();
        if let Some(e) = value {
            match result {
                Some((var, ctype)) => {
                    let value = self.rvalue(e)?;
                    let term = self.convert(value, &ctype, e.span)?;
                    // The result of a thread is zero unless it says otherwise, and nobody reads it before its end. That of a function
                    // alone is anything.
                    let thread = self.frames.len() == 1 && !self.noting.alone;
                    if !(thread && self.b.terms().as_const(term) == Some(0)) {
                        self.set_var(var, term);
                    }
                }
                None => self.effect(e)?,
            }
        }
        let mut frame = self.frames.pop().expect("code is in a function");
        let done = self.jump(&mut frame.exit, span);
        self.frames.push(frame);
        done
    }
}

fn declared_name(d: &Node<Declarator>) -> Option<String> {
    match &d.node.kind.node {
        DeclaratorKind::Identifier(i) => Some(i.node.name.clone()),
        DeclaratorKind::Declarator(inner) => declared_name(inner),
        DeclaratorKind::Abstract => None,
    }
}

/// The cases of a switch, not those of switches inside it.
fn collect_cases<'a>(s: &'a Node<Statement>, out: &mut Vec<(usize, &'a Label)>) {
    match &s.node {
        Statement::Labeled(l) => {
            if !matches!(l.node.label.node, Label::Identifier(_)) {
                out.push((l.span.start, &l.node.label.node));
            }
            collect_cases(&l.node.statement, out);
        }
        Statement::Compound(items) => {
            for i in items {
                if let BlockItem::Statement(s) = &i.node {
                    collect_cases(s, out);
                }
            }
        }
        _ => {}
    }
}
