//! Statements to edges.

use super::annotated::Noting;
use super::ctype::{CType, Object, Structure};
use super::decl::Parameter;
use super::expr::Lvalue;
use super::scan::{self, Found};
use super::source::{Lines, Source};
use super::{Options, Refusal};
use crate::builder::Builder;
use crate::program::{
    ErrorKind, FileId, LocationId, LocationKind, Mark, Scope, Span as Place_, ThreadId, TransitionId,
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
    /// How deep in atomic blocks it is, and the edge into the outermost: what all ways so far agree on.
    pub(crate) atomic: Option<Block>,
}

/// How deep in atomic blocks something is, and the edge into the outermost.
pub(crate) type Block = (u32, Option<TransitionId>);

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
    /// The object that gets the result, if that is a structure.
    returned: Option<usize>,
    labels: HashMap<String, Join>,
    /// Labels of loops that were unrolled: nothing else may jump there.
    sealed: BTreeSet<String>,
    breaks: Vec<Join>,
    continues: Vec<Join>,
    switches: Vec<HashMap<usize, Join>>,
}

/// A value that a function is called with.
pub(crate) enum Argument {
    Scalar(Term),
    /// A structure, which is copied.
    Structure(Lvalue),
}

/// A variable that each thread has its own of.
struct ThreadLocal<'a> {
    name: String,
    ctype: CType,
    span: Span,
    init: Option<&'a Node<Initializer>>,
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
    statics: HashMap<(Option<ThreadId>, usize), usize>,
    thread_locals: Vec<ThreadLocal<'a>>,
    /// Structures by the place of their definition.
    pub(super) defined: HashMap<usize, usize>,
    /// The types of the variables of the whole program, before these are made.
    pub(super) global_types: HashMap<String, CType>,
    /// What functions return that are declared.
    pub(super) prototypes: HashMap<String, CType>,
    /// Functions whose address is taken somewhere.
    pub(crate) callable: BTreeSet<String>,
    /// Texts by the place where they stand, and the variables of all of them.
    pub(super) texts: HashMap<usize, usize>,
    pub(super) read_only: BTreeSet<VarId>,
    /// The structure that the call at hand returned.
    pub(crate) returned: Option<Lvalue>,
    /// Variables of the whole program that `main` alone uses.
    outer: BTreeSet<VarId>,
    /// Recursive mutexes, each with the variable that counts; and the kinds of those that were initialised or used.
    pub(crate) recursive: HashMap<crate::SyncId, VarId>,
    pub(crate) mutex_kinds: HashMap<crate::SyncId, bool>,
    /// The names of variables that `main` alone uses.
    main_only: BTreeSet<String>,
    /// The objects whose address is taken, by the place of their declaration: as far as was known before, and what came to it.
    taken_before: BTreeSet<usize>,
    pub(super) taken: BTreeSet<usize>,
    /// Objects that pointers may point to, and those of `malloc`.
    pub(crate) noted: super::heap::Noted,
    /// Whether a label `ERROR` is what must not be reached: it is one like any other where the program has a function for that.
    error_labels: bool,
    /// Whether the program gives memory back.
    pub(crate) frees: bool,
    /// What a call whose value is assigned is to point to.
    pub(crate) wanted: Option<CType>,
    /// Only the address of the element that comes next is wanted, which may be that just behind the array.
    pub(crate) past_end: bool,
    /// How many loops are around the code at hand.
    pub(crate) loops: u32,
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
    /// The edge into the atomic block at hand: inputs are read on that edge.
    atomic_start: Option<TransitionId>,
    /// Edges into atomic blocks that are the same from some place on, and those on which inputs are read.
    atomic_merged: Vec<(ThreadId, TransitionId, TransitionId)>,
    atomic_inputs: Vec<(ThreadId, TransitionId, Place_)>,
    /// By thread: where atomic blocks begin, and the edges that end them.
    atomic_from: Vec<Vec<LocationId>>,
    atomic_ends: Vec<BTreeSet<TransitionId>>,
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
            thread_locals: Vec::new(),
            defined: HashMap::new(),
            global_types: HashMap::new(),
            prototypes: HashMap::new(),
            callable: BTreeSet::new(),
            texts: HashMap::new(),
            read_only: BTreeSet::new(),
            returned: None,
            outer: BTreeSet::new(),
            recursive: HashMap::new(),
            mutex_kinds: HashMap::new(),
            main_only: BTreeSet::new(),
            taken_before: taken.clone(),
            taken: BTreeSet::new(),
            noted: super::heap::Noted::new(early),
            error_labels: true,
            frees: false,
            wanted: None,
            past_end: false,
            loops: 0,
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
            atomic_merged: Vec::new(),
            atomic_inputs: Vec::new(),
            atomic_from: Vec::new(),
            atomic_ends: Vec::new(),
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

    /// What was made, and by thread the locations inside of atomic blocks: all that is reached from where one begins before it ends.
    pub(crate) fn into_parts(mut self) -> (Builder, Vec<BTreeSet<LocationId>>) {
        let mut all = Vec::new();
        for (t, starts) in self.atomic_from.iter().enumerate() {
            let thread = &self.b.program().threads[t];
            let mut out: Vec<Vec<LocationId>> = vec![Vec::new(); thread.locations.len()];
            for (n, e) in thread.transitions.iter().enumerate() {
                if !self.atomic_ends[t].contains(&TransitionId(n as u32)) {
                    out[e.from.index()].push(e.to);
                }
            }
            let (mut inside, mut open) = (BTreeSet::new(), starts.clone());
            while let Some(l) = open.pop() {
                if inside.insert(l) {
                    open.extend(&out[l.index()]);
                }
            }
            all.push(inside);
        }
        for (t, inside) in all.iter().enumerate() {
            self.b.order_inside(ThreadId(t as u16), inside);
        }
        (self.b, all)
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
        self.make_thread_locals()?;
        self.body(&function, None, true)?;
        while let Some(made) = self.queue.pop_front() {
            self.start(made.thread);
            self.env = made.env;
            self.make_thread_locals()?;
            self.body(&made.function, made.argument, false)?;
        }
        self.join_deferred();
        self.check_blocks()
    }

    /// An input is read where its atomic block begins, so that has to be one place.
    pub(super) fn check_blocks(&self) -> Res<()> {
        for (t, edge, at) in &self.atomic_inputs {
            if self.atomic_merged.iter().any(|(u, a, b)| u == t && (a == edge || b == edge)) {
                let file = self.b.program().files.get(at.file.0 as usize).cloned().unwrap_or_default();
                let reason = "an input in an atomic block that begins in several places".to_owned();
                return Err(Refusal { file, line: at.line, reason });
            }
        }
        Ok(())
    }

    pub(super) fn new_thread(&mut self, t: ThreadId) {
        debug_assert_eq!(t.index(), self.atomic_from.len());
        self.atomic_from.push(Vec::new());
        self.atomic_ends.push(BTreeSet::new());
        self.temporaries.push(Vec::new());
        self.results.push(None);
    }

    pub(super) fn start(&mut self, t: ThreadId) {
        self.t = t;
        self.dead = false;
        self.env = self.env.drain().filter(|_| t == ThreadId(0)).collect();
        self.atomic = 0;
        self.atomic_start = None;
        self.held.clear();
    }

    /// The thread at hand gets its own of the variables that each thread has its own of.
    fn make_thread_locals(&mut self) -> Res<()> {
        for n in 0..self.thread_locals.len() {
            let ThreadLocal { name, ctype, span, init } = &self.thread_locals[n];
            let (name, ctype, span, init) = (name.clone(), ctype.clone(), *span, *init);
            let object = self.declare_object(&name, &ctype, span, true)?;
            self.scopes[0].insert(name, Entity::Object(object));
            self.static_init(object, init)?;
        }
        Ok(())
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
                // Nothing is known of the texts that a program is started with: they can be named, not used.
                None if main && matches!(p.ctype.plain(), CType::Pointer(_)) => {
                    let ctype = CType::Opaque("the arguments of `main`".to_owned());
                    self.declare_object(name, &ctype, p.span, true)?
                }
                None => {
                    let object = self.declare_object(name, &p.ctype, p.span, true)?;
                    self.forget_value(object);
                    // There can be any number of them; who does not ask needs no such input.
                    let asks = self.found.get(&f.name).is_some_and(|f| f.names.contains(name));
                    if main && n == 0 && asks {
                        let lv = self.whole(object);
                        let count = self.load(&lv, p.span)?;
                        let zero = self.b.terms().int(0);
                        let ok = self.b.terms().le(zero, count.term);
                        self.assume(ok);
                    }
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
        if frame.exit.atomic.is_some_and(|a| a.0 > 0) {
            return Err(self.refuse(f.span, "a thread that ends in an atomic block"));
        }
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
        let says = |f: &Found| ["reach_error", "__VERIFIER_error"].iter().any(|n| f.called.contains(*n));
        self.error_labels = !self.found.values().any(says);
        let mut initial = Found::default();
        for item in &self.unit.0 {
            if let ExternalDeclaration::Declaration(d) = &item.node {
                initial.add(scan::declaration(d));
            }
        }
        let value =
            |n: &&String| initial.values.contains(*n) || self.found.values().any(|f| f.values.contains(*n));
        self.callable = self.found.keys().filter(value).cloned().collect();
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
            } else if let Ok(declared) = self.declarator(&i.node.declarator, specified.ctype.clone())
                && let Ok(ctype) = self.complete(declared.ctype, i.node.initializer.as_ref())
                && let Some(name) = declared.name
            {
                // What is wrong with it is said when the variable is made.
                self.global_types.insert(name, ctype);
            }
        }
        Ok(())
    }

    /// Variables that only `main` and what it calls use are no more shared than its locals.
    pub(super) fn find_main_only(&mut self) {
        let Some(main) = self.found.get("main") else { return };
        let main = main.clone().closed(&self.found, &self.callable);
        let mut elsewhere = BTreeSet::new();
        for (name, found) in &self.found {
            // A function that is used as a value may be the start of a thread.
            let value = self.callable.contains(name);
            if value || !main.called.contains(name) && name != "main" {
                elsewhere.extend(found.clone().closed(&self.found, &self.callable).names);
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
                if let CType::Function(result) = &declared.ctype {
                    self.prototypes.insert(name.clone(), (**result).clone());
                    self.scopes[0].entry(name).or_insert(Entity::Function);
                    continue;
                }
                let ctype = self.complete(declared.ctype, i.node.initializer.as_ref())?;
                if specified.is_extern && i.node.initializer.is_none() {
                    // Something of the library, or a declaration of what comes later.
                    continue;
                }
                if specified.thread_local {
                    self.must_be_known(&ctype, i.span)?;
                    let (span, init) = (i.node.declarator.span, i.node.initializer.as_ref());
                    self.thread_locals.retain(|t| t.name != name || t.init.is_some());
                    if !self.thread_locals.iter().any(|t| t.name == name) {
                        self.thread_locals.push(ThreadLocal { name, ctype, span, init });
                    }
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
            self.static_init(object, Some(init))?;
        }
        Ok(())
    }

    fn static_init(&mut self, object: usize, init: Option<&'a Node<Initializer>>) -> Res<()> {
        let shape = self.objects[object].shape.clone();
        if let Some(init) = init {
            let mut list = Vec::new();
            let to = self.whole(object);
            self.initial(&to, init, &mut list)?;
            self.set_initials(list)?;
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
            if !local {
                self.outer.insert(v);
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
            if let Some(edge) = self.atomic_start {
                self.atomic_inputs.push((self.t, edge, self.b.span()));
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
            // What is known is of the value that it had.
            self.env.remove(&(list[i].var, 0));
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
        if self.dead {
            return;
        }
        self.atomic += 1;
        if self.atomic == 1 {
            let yes = self.b.terms().boolean(true);
            self.b.then(self.t, yes, Vec::new());
            self.atomic_start = Some(self.b.last_edge(self.t));
            let to = self.b.then(self.t, yes, Vec::new());
            self.atomic_from[self.t.index()].push(to);
        }
    }

    /// Up to here all is one step.
    pub(crate) fn end_atomic(&mut self) {
        if self.dead || self.atomic == 0 {
            return;
        }
        self.atomic -= 1;
        if self.atomic == 0 {
            self.atomic_start = None;
            let yes = self.b.terms().boolean(true);
            self.step(yes, Vec::new());
            let edge = self.b.last_edge(self.t);
            self.atomic_ends[self.t.index()].insert(edge);
        }
    }

    /// A place gets any value: a step, or a part of the edge into the atomic block at hand. Inputs do not depend on what happens.
    pub(crate) fn input(&mut self, var: VarId) {
        if self.dead {
            return;
        }
        self.env.remove(&(var, 0));
        match self.atomic_start {
            Some(edge) => {
                self.atomic_inputs.push((self.t, edge, self.b.span()));
                self.b.add_havoc(self.t, edge, Place::scalar(var))
            }
            None => self.b.havoc(self.t, Place::scalar(var)),
        }
    }

    pub(crate) fn join(&mut self) -> Join {
        Join { at: self.b.location(self.t), env: None, atomic: None }
    }

    /// In which atomic block the code at hand is.
    pub(crate) fn block(&self) -> Block {
        (self.atomic, self.atomic_start)
    }

    /// One more way to a join: all are in the same atomic block, or in none.
    fn same_block(&mut self, j: &mut Join, span: Span) -> Res<()> {
        let here = (self.atomic, self.atomic_start);
        match j.atomic {
            None => j.atomic = Some(here),
            Some(there) if there == here => {}
            // A block may begin in several places: one that ends and begins again while something is waited for.
            Some((deep, Some(other))) if deep == self.atomic && self.atomic_start.is_some() => {
                let start = self.atomic_start.unwrap_or(other);
                self.atomic_merged.push((self.t, start, other));
            }
            Some(_) => return Err(self.refuse(span, "a way out of an atomic block, or into one")),
        }
        Ok(())
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
            self.same_block(j, span)?;
            self.b.jump(self.t, j.at);
            self.merge(j);
            self.dead = true;
        }
        Ok(())
    }

    pub(crate) fn land(&mut self, j: Join) {
        self.b.go_on_at(self.t, j.at);
        self.dead = j.env.is_none();
        if let (Some(_), Some((deep, start))) = (&j.env, j.atomic) {
            (self.atomic, self.atomic_start) = (deep, start);
        }
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
                self.same_block(yes, span)?;
                self.same_block(no, span)?;
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
            returned: None,
            labels: HashMap::new(),
            sealed: BTreeSet::new(),
            breaks: Vec::new(),
            continues: Vec::new(),
            switches: Vec::new(),
        });
    }

    pub(crate) fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("code is in a function")
    }

    // ---- functions

    /// What a function returns, if it is known.
    pub(crate) fn result_of(&self, name: &str) -> Option<CType> {
        match self.functions.get(name) {
            Some(f) => Some(f.result.clone()),
            None => self.prototypes.get(name).cloned(),
        }
    }

    /// A value that stays what it is while something with calls is evaluated: those may assign variables of the whole program.
    pub(crate) fn kept_for(&mut self, term: Term, next: &Node<Expression>) -> Term {
        let mut reads = false;
        self.b.program().terms.places(term, &mut |p| reads |= self.outer.contains(&p.var));
        if reads && !scan::expression(next).called.is_empty() { self.keep(term) } else { term }
    }

    /// Inlines a function; arguments are converted already.
    pub(crate) fn inline(
        &mut self,
        f: &Rc<Function<'a>>,
        arguments: Vec<(Argument, CType)>,
        result: Option<(VarId, CType)>,
        returned: Option<usize>,
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
        self.frame().returned = returned;
        self.open();
        for (p, (value, ctype)) in f.parameters.iter().zip(arguments) {
            let Some(name) = &p.name else { continue };
            let object = self.declare_object(name, &ctype, p.span, true)?;
            self.declare(name.clone(), Entity::Object(object));
            let lv = self.whole(object);
            match value {
                Argument::Scalar(value) => {
                    self.store(&lv, value, span)?;
                    self.note_argument(f, name, object, value);
                }
                Argument::Structure(from) => self.copy(&lv, &from, span)?,
            }
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

    pub(crate) fn block_item(&mut self, i: &'a Node<BlockItem>) -> Res<()> {
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
                // What the whole program has, although a scope around may have another of this name.
                if let Some(outer) = self.scopes[0].get(&name).cloned() {
                    self.declare(name, outer);
                }
                continue;
            }
            let ctype = self.complete(declared.ctype, i.node.initializer.as_ref())?;
            self.must_be_known(&ctype, i.span)?;
            let span = i.node.declarator.span;
            if specified.is_static || specified.thread_local {
                let key = (specified.thread_local.then_some(self.t), span.start);
                let object = match self.statics.get(&key) {
                    Some(object) => *object,
                    None => {
                        let full = format!("{}.{name}", self.frame().name);
                        let object = self.noted_object(&full, &ctype, span.start, span, false)?;
                        self.statics.insert(key, object);
                        self.static_init(object, i.node.initializer.as_ref())?;
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
        let mut list = Vec::new();
        let to = self.whole(object);
        self.initial(&to, init, &mut list)?;
        let mark = self.held.len();
        // What a list does not name is zero.
        self.start_with(object, list, matches!(init.node, Initializer::List(_)))?;
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
            (self.atomic, self.atomic_start) = (0, None);
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
            Statement::Asm(a) => {
                // What keeps the compiler or the processor from reordering changes nothing here.
                let (text, touches) = match &a.node {
                    AsmStatement::GnuBasic(text) => (text, false),
                    AsmStatement::GnuExtended(e) => {
                        (&e.template, !e.outputs.is_empty() || !e.inputs.is_empty())
                    }
                };
                let text: String = text.node.iter().map(|t| t.trim_matches('"')).collect();
                let text = text.replace("\\n", " ").replace("\\t", " ");
                if touches
                    || !matches!(
                        text.trim(),
                        "" | "nop" | "pause" | "rep; nop" | "mfence" | "lfence" | "sfence"
                    )
                {
                    return Err(self.refuse(s.span, "assembly"));
                }
            }
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
        if name.node.name == "ERROR" && self.error_labels {
            self.error_label();
            return Ok(());
        }
        if self.frame().sealed.contains(&name.node.name) {
            return Err(self.refuse(name.span, "a jump into a loop that is unrolled"));
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
            Label::Identifier(name) if name.node.name == "ERROR" && self.error_labels => {
                self.error_label();
            }
            Label::Identifier(name) => {
                let mut j = self.label(&name.node.name);
                if !self.dead {
                    self.b.move_notes(self.t, j.at);
                } else if j.atomic.is_none() {
                    // Only jumps from below lead here: they are in no atomic block, or refused.
                    j.atomic = Some((0, None));
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
                    return Err(self.refuse(l.span, "a case that is inside a loop that is unrolled"));
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
                        self.same_block(&mut j, w.span)?;
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
                self.same_block(&mut to, w.span)?;
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
        found.closed(&self.found, &self.callable)
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
                None if makes => return self.unrolled(s, condition, step, body, &found),
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
        let inner = &scan::statement(body).label_names;
        if inner.iter().any(|l| self.frame().labels.contains_key(l)) {
            return Err(self.refuse(s.span, "a jump into a loop that is unrolled"));
        }
        self.frame().sealed.retain(|l| !inner.contains(l));
        if !self.noting.pending.is_empty() {
            return Err(self.refuse(s.span, "an invariant of a loop that is unrolled"));
        }
        let mut after = self.join();
        let mut open = 0;
        for round in 0.. {
            if self.dead {
                break;
            }
            // Each round has labels of its own.
            inner.iter().for_each(|l| {
                self.frame().labels.remove(l);
            });
            if round > self.options.unroll {
                let why = format!(
                    "a loop that makes or joins threads and goes round more than {} times",
                    self.options.unroll
                );
                return Err(self.refuse(s.span, why));
            }
            let mut enter = self.join();
            if self.known(condition)?.is_none() {
                if self.atomic > 0 {
                    return Err(
                        self.refuse(s.span, "a loop whose number of rounds must be known here, and is not")
                    );
                }
                open += found.makes_threads() as u32;
            }
            match condition {
                None => self.jump(&mut enter, s.span)?,
                Some(c) => self.branch(c, &mut enter, &mut after)?,
            }
            self.land(enter);
            if self.dead {
                break;
            }
            if open > self.options.rounds {
                self.too_many_rounds();
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
        self.frame().sealed.extend(inner.iter().cloned());
        self.land(after);
        Ok(())
    }

    /// A run that goes round here more often is not followed.
    fn too_many_rounds(&mut self) {
        let n = self.options.rounds;
        let why = format!("a loop that makes threads goes round more than {n} times");
        let at = self.b.error_location(self.t, ErrorKind::Bound, &why);
        self.b.jump(self.t, at);
        self.dead = true;
    }

    /// The same for a loop that asks after each round.
    fn unrolled_do(
        &mut self,
        s: &'a Node<Statement>,
        w: &'a Node<DoWhileStatement>,
        found: &Found,
    ) -> Res<()> {
        let inner = &scan::statement(&w.node.statement).label_names;
        if inner.iter().any(|l| self.frame().labels.contains_key(l)) {
            return Err(self.refuse(s.span, "a jump into a loop that is unrolled"));
        }
        self.frame().sealed.retain(|l| !inner.contains(l));
        if !self.noting.pending.is_empty() {
            return Err(self.refuse(s.span, "an invariant of a loop that is unrolled"));
        }
        let mut after = self.join();
        let mut open = 0;
        for round in 0.. {
            if self.dead {
                break;
            }
            if round > self.options.unroll {
                let why =
                    format!("a loop that is unrolled goes round more than {} times", self.options.unroll);
                return Err(self.refuse(s.span, why));
            }
            if open > self.options.rounds {
                self.too_many_rounds();
                break;
            }
            inner.iter().for_each(|l| {
                self.frame().labels.remove(l);
            });
            let next = self.join();
            let frame = self.frame();
            frame.breaks.push(after);
            frame.continues.push(next);
            self.statement(&w.node.statement)?;
            self.at(s.span);
            let frame = self.frame();
            let mut next = frame.continues.pop().expect("it was pushed");
            after = frame.breaks.pop().expect("it was pushed");
            self.jump(&mut next, s.span)?;
            self.land(next);
            if self.dead {
                break;
            }
            if self.known(Some(&w.node.expression))?.is_none() {
                if self.atomic > 0 {
                    return Err(
                        self.refuse(s.span, "a loop whose number of rounds must be known here, and is not")
                    );
                }
                open += found.makes_threads() as u32;
            }
            let mut again = self.join();
            self.branch(&w.node.expression, &mut again, &mut after)?;
            self.land(again);
        }
        self.frame().sealed.extend(inner.iter().cloned());
        self.land(after);
        Ok(())
    }

    fn do_while(&mut self, s: &'a Node<Statement>, w: &'a Node<DoWhileStatement>) -> Res<()> {
        let found = self.found_in_loop(&w.node.statement, Some(&w.node.expression), None);
        let joins = found.joins_threads() && self.known(Some(&w.node.expression))?.is_some();
        // A macro that is written `do { ... } while (0)` is no loop.
        let once = self.is_pure(&w.node.expression) && self.known(Some(&w.node.expression))? == Some(false);
        if found.makes_threads() || joins || self.atomic > 0 || once {
            return self.unrolled_do(s, w, &found);
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
        let returned = self.frame().returned;
        if let (Some(e), Some(object)) = (value, returned) {
            let from = self.lvalue(e)?;
            let to = self.whole(object);
            self.copy(&to, &from, span)?;
        } else if let Some(e) = value {
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
        Statement::If(i) => {
            collect_cases(&i.node.then_statement, out);
            i.node.else_statement.iter().for_each(|s| collect_cases(s, out));
        }
        Statement::While(w) => collect_cases(&w.node.statement, out),
        Statement::DoWhile(w) => collect_cases(&w.node.statement, out),
        Statement::For(f) => collect_cases(&f.node.statement, out),
        _ => {}
    }
}
