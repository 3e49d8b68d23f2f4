//! What lowering knows on its way: names, objects, threads to be made, functions that are being read.

use super::annotated::Noting;
use super::ctype::{CType, Object, Structure};
use super::decl::Parameter;
use super::expr::Lvalue;
use super::fresh::Fresh;
use super::scan::{self, Found};
use super::source::{Lines, Source};
use super::{Options, Refusal};
use crate::builder::Builder;
use crate::program::{
    ErrorKind, FileId, LocationId, LocationKind, Scope, Span as Place_, SyncId, ThreadId, TransitionId,
};
use crate::term::{Place, Term, Type, VarId};
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
    /// What is fresh on all ways so far.
    pub(crate) fresh: Vec<Fresh>,
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
    pub(super) returned: Option<usize>,
    pub(super) labels: HashMap<String, Join>,
    /// Labels of loops that were unrolled: nothing else may jump there.
    pub(super) sealed: BTreeSet<String>,
    pub(super) breaks: Vec<Join>,
    pub(super) continues: Vec<Join>,
    pub(super) switches: Vec<HashMap<usize, Join>>,
    /// The flags of its variables that may outlive it.
    pub(super) ends: Vec<VarId>,
}

/// A value that a function is called with.
pub(crate) enum Argument {
    Scalar(Term),
    /// A structure, which is copied.
    Structure(Lvalue),
}

/// A variable that each thread has its own of.
pub(super) struct ThreadLocal<'a> {
    pub(super) name: String,
    pub(super) ctype: CType,
    pub(super) span: Span,
    pub(super) init: Option<&'a Node<Initializer>>,
}

/// A thread that is to be lowered.
pub(super) struct Made<'a> {
    thread: ThreadId,
    function: Rc<Function<'a>>,
    argument: Option<usize>,
    env: Env,
}

/// A temporary variable, and whether its value is still wanted.
pub(super) struct Temporary {
    pub(super) var: VarId,
    pub(super) ty: Type,
    pub(super) used: bool,
}

/// A join of a thread that is not known yet.
pub(crate) struct Deferred {
    pub(crate) thread: ThreadId,
    pub(crate) from: LocationId,
    pub(crate) to: LocationId,
    pub(crate) handle: Term,
    pub(crate) span: Place_,
    /// What is returned, and what it is if the thread is the one that asks.
    pub(crate) result: (VarId, u64),
    /// What gets the result of the thread, if somebody wants that.
    pub(crate) returned: Option<VarId>,
}

pub(crate) struct Lowering<'a> {
    pub(crate) b: Builder,
    pub(crate) options: &'a Options,
    pub(super) lines: &'a Lines,
    pub(super) unit: &'a TranslationUnit,
    pub(super) functions: HashMap<String, Rc<Function<'a>>>,
    pub(super) found: HashMap<String, Found>,
    pub(super) scopes: Vec<HashMap<String, Entity>>,
    pub(super) tags: Vec<HashMap<String, usize>>,
    pub(crate) structs: Vec<Structure>,
    pub(crate) objects: Vec<Object>,
    pub(crate) next_address: u64,
    pub(super) statics: HashMap<(Option<ThreadId>, usize), usize>,
    pub(super) thread_locals: Vec<ThreadLocal<'a>>,
    /// Structures by the place of their definition.
    pub(super) defined: HashMap<usize, usize>,
    /// The types of the variables of the whole program, before these are made.
    pub(super) global_types: HashMap<String, CType>,
    /// The types of variables of statements as values whose own type is asked for.
    pub(super) typed: Vec<HashMap<String, CType>>,
    /// What functions return that are declared.
    pub(super) prototypes: HashMap<String, CType>,
    /// Functions whose address is taken somewhere.
    pub(crate) callable: BTreeSet<String>,
    /// Texts by the place where they stand, and the variables of all of them.
    pub(super) texts: HashMap<usize, usize>,
    pub(super) read_only: BTreeSet<VarId>,
    /// What was declared as constant.
    pub(super) declared_constant: BTreeSet<VarId>,
    /// The structure that the call at hand returned.
    pub(crate) returned: Option<Lvalue>,
    /// Variables of the whole program that `main` alone uses.
    outer: BTreeSet<VarId>,
    /// How deep a function may call itself, and how many such calls were inlined.
    pub(super) recursion: u32,
    again: u32,
    /// Recursive mutexes, each with the variable that counts; and the kinds of those that were initialised or used.
    pub(crate) recursive: HashMap<crate::SyncId, VarId>,
    pub(crate) mutex_kinds: HashMap<crate::SyncId, super::pthreads::MutexKind>,
    /// The names of variables that `main` alone uses.
    pub(super) main_only: BTreeSet<String>,
    /// The objects whose address is taken, by the place of their declaration: as far as was known before, and what came to it.
    taken_before: BTreeSet<usize>,
    pub(super) taken: BTreeSet<usize>,
    /// Objects that pointers may point to, and those of `malloc`.
    pub(crate) noted: super::heap::Noted,
    pub(crate) clocks: super::clocks::Clocks,
    pub(crate) keys: super::keys::Keys,
    pub(super) looks: super::addresses::Looks,
    /// The thread at hand calls the functions of keys, as its last steps.
    pub(super) leaving: bool,
    /// Whether a label `ERROR` is what must not be reached: it is one like any other where the program has a function for that.
    pub(super) error_labels: bool,
    /// Whether a call of `abort` is an error.
    pub(super) aborts: bool,
    /// Whether the program gives memory back.
    pub(crate) frees: bool,
    /// Whether `main` asks who it is, so that others may join it; whether threads are joined; and what says that `main` has ended.
    pub(super) main_is_named: bool,
    pub(super) joins: bool,
    pub(super) main_end: Option<VarId>,
    /// Names of variables whose address may outlive their function; objects with the flag that says that they are gone; the flags of
    /// thread-local variables of the thread at hand; and whether `main` may end before the program does.
    pub(super) escaping: BTreeSet<String>,
    pub(super) gone: Vec<(usize, VarId)>,
    pub(super) thread_ends: Vec<VarId>,
    /// The locks and the like on the stack of the thread.
    pub(super) stack_syncs: Vec<SyncId>,
    /// Whether variables of `main` have flags: threads may run when they are gone.
    pub(super) main_leaves: bool,
    /// Where `main` returns.
    pub(super) main_returns: Option<LocationId>,
    /// Whether it destroys locks or the like, and whether it makes threads that are detached.
    pub(crate) destroys: bool,
    pub(crate) detaches: bool,
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
    pub(super) looking: bool,
    pub(crate) env: Env,
    /// Objects that no other thread can know of.
    pub(super) fresh: Vec<Fresh>,
    pub(crate) atomic: u32,
    /// The edge into the atomic block at hand: inputs are read on that edge.
    pub(super) atomic_start: Option<TransitionId>,
    /// Edges into atomic blocks that are the same from some place on, and those on which inputs are read.
    pub(super) atomic_merged: Vec<(ThreadId, TransitionId, TransitionId)>,
    pub(super) atomic_inputs: Vec<(ThreadId, TransitionId, Place_)>,
    /// By thread: where atomic blocks begin, and the edges that end them.
    pub(super) atomic_from: Vec<Vec<LocationId>>,
    pub(super) atomic_ends: Vec<BTreeSet<TransitionId>>,
    pub(crate) frames: Vec<Frame>,
    queue: VecDeque<Made<'a>>,
    pub(super) temporaries: Vec<Vec<Temporary>>,
    pub(super) held: Vec<usize>,
    pub(crate) deferred: Vec<Deferred>,
    /// The same for threads that are detached: by whom, on which edge, which one, and where in the source.
    pub(super) deferred_detaches: Vec<(ThreadId, (LocationId, LocationId), Term, Place_)>,
    /// By thread: where its result is kept, if it has one.
    pub(crate) results: Vec<Option<VarId>>,
    pub(crate) noting: Noting,
    pub(super) evaluation: super::evaluation::Operands<'a>,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(
        source: &'a Source,
        options: &'a Options,
        taken: &BTreeSet<usize>,
        early: &[super::heap::Early],
        clocks: &BTreeSet<u64>,
        keys: &[super::keys::Key],
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
            next_address: (1 << 32) + 4096,
            statics: HashMap::new(),
            thread_locals: Vec::new(),
            defined: HashMap::new(),
            global_types: HashMap::new(),
            typed: Vec::new(),
            prototypes: HashMap::new(),
            callable: BTreeSet::new(),
            texts: HashMap::new(),
            read_only: BTreeSet::new(),
            declared_constant: BTreeSet::new(),
            returned: None,
            outer: BTreeSet::new(),
            recursive: HashMap::new(),
            recursion: options.recursion,
            again: 0,
            mutex_kinds: HashMap::new(),
            main_only: BTreeSet::new(),
            taken_before: taken.clone(),
            taken: BTreeSet::new(),
            noted: super::heap::Noted::new(early),
            clocks: super::clocks::Clocks::new(clocks),
            keys: super::keys::Keys::new(keys),
            looks: super::addresses::Looks::default(),
            leaving: false,
            error_labels: true,
            aborts: false,
            frees: false,
            escaping: super::lifetimes::escaping(&source.unit),
            gone: Vec::new(),
            thread_ends: Vec::new(),
            stack_syncs: Vec::new(),
            main_leaves: false,
            main_returns: None,
            destroys: false,
            detaches: false,
            main_is_named: false,
            joins: false,
            main_end: None,
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
            fresh: Vec::new(),
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
            deferred_detaches: Vec::new(),
            results: Vec::new(),
            noting: Noting::default(),
            evaluation: super::evaluation::Operands::of(&source.unit),
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
        self.frees = self.found.values().any(|f| f.called.contains("free") || f.called.contains("realloc"));
        let of_main = self.found.get("main").cloned().unwrap_or_default();
        let of_main = of_main.closed(&self.found, &self.callable);
        let calls = |names: [&str; 2]| names.iter().any(|n| of_main.called.contains(*n));
        self.main_leaves |= calls(["pthread_exit", "thrd_exit"]);
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
        self.detach_deferred();
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
        self.fresh.clear();
        self.atomic = 0;
        self.atomic_start = None;
        self.held.clear();
        self.thread_ends.clear();
        self.stack_syncs.clear();
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
                    // There can be any number of arguments besides the name of the program, without which Linux starts none. A program
                    // that does not ask needs no such input.
                    let asks = self.found.get(&f.name).is_some_and(|f| f.names.contains(name));
                    if main && n == 0 && asks {
                        let lv = self.whole(object);
                        let count = self.load(&lv, p.span)?;
                        let one = self.b.terms().int(1);
                        let ok = self.b.terms().le(one, count.term);
                        self.assume(ok);
                    }
                    object
                }
            };
            self.declare(name.clone(), Entity::Object(object));
            self.begin_local(object);
        }
        self.note_start(f);
        let call = self.enter(f);
        self.statement(f.body)?;
        if !main {
            self.end_without_value();
        }
        self.close();
        let mut frame = self.frames.pop().expect("it was pushed");
        self.jump(&mut frame.exit, f.span)?;
        if frame.exit.atomic.is_some_and(|a| a.0 > 0) {
            return Err(self.refuse(f.span, "a thread that ends in an atomic block"));
        }
        if !main && self.keys.have_functions() && frame.exit.env.is_some() {
            let last = self.join();
            self.land(std::mem::replace(&mut frame.exit, last));
            self.leave_keys(f.span)?;
            self.jump(&mut frame.exit, f.span)?;
        }
        if !self.stack_syncs.is_empty() && frame.exit.env.is_some() {
            let last = self.join();
            self.land(std::mem::replace(&mut frame.exit, last));
            self.end_stack_syncs();
            self.jump(&mut frame.exit, f.span)?;
        }
        frame.ends.append(&mut self.thread_ends);
        if (!main || self.main_leaves) && !frame.ends.is_empty() && frame.exit.env.is_some() {
            let last = self.join();
            self.land(std::mem::replace(&mut frame.exit, last));
            self.end_locals(&frame.ends);
            self.jump(&mut frame.exit, f.span)?;
        }
        let at = frame.exit.at;
        self.leave_call(call, at);
        // It was made before the body was read: the end is where the body ends.
        self.b.place_here(self.t, at);
        let kind = if main { LocationKind::Exit } else { LocationKind::End };
        self.b.set_kind(self.t, at, kind);
        if main {
            self.main_returns = Some(at);
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
            let object = self.noted_object(&full, ctype, span.start, span, false)?;
            self.begin_local(object);
            object
        } else {
            let object = self.object(&full, ctype, scope, span)?;
            self.declared_at.resize(object + 1, usize::MAX);
            self.declared_at[object] = span.start;
            object
        };
        if local {
            self.note_born(object);
            self.note_stack_syncs(object);
        }
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
            ends: Vec::new(),
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
        let calls = |f: &Found| f.indirect || !f.called.is_empty();
        if reads && calls(&scan::expression(next)) { self.keep(term) } else { term }
    }

    /// The same for a place.
    pub(crate) fn kept_place(&mut self, lv: Lvalue, next: &Node<Expression>) -> Lvalue {
        match lv {
            Lvalue::Path(mut p) => {
                for (i, ..) in &mut p.indices {
                    *i = self.kept_for(*i, next);
                }
                Lvalue::Path(p)
            }
            Lvalue::Memory { address, ctype } => {
                Lvalue::Memory { address: self.kept_for(address, next), ctype }
            }
            Lvalue::Cell { var, index, address, ctype } => {
                let (index, address) = (self.kept_for(index, next), self.kept_for(address, next));
                Lvalue::Cell { var, index, address, ctype }
            }
            Lvalue::Bits { whole, shift, ctype, field } => {
                let (whole, shift) = (self.kept_place(*whole, next), self.kept_for(shift, next));
                Lvalue::Bits { whole: Box::new(whole), shift, ctype, field }
            }
        }
    }

    /// Whether functions that call themselves more than once make more code than can be looked at: each level doubles it.
    pub(super) fn is_crowded(&self) -> bool {
        self.again > 3000
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
        if depth > self.recursion as usize {
            let at = self.b.error_location(
                self.t,
                ErrorKind::Bound,
                &format!("`{}` calls itself more than {} deep", f.name, self.recursion),
            );
            self.b.jump(self.t, at);
            self.dead = true;
            return Ok(());
        }
        if depth > 0 {
            self.again += 1;
            if self.is_crowded() {
                return Err(self.refuse(span, format!("`{}` calls itself in too many ways", f.name)));
            }
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
        self.end_without_value();
        self.close();
        self.scopes.truncate(1);
        self.tags.truncate(1);
        self.scopes.extend(outer_scopes);
        self.tags.extend(outer_tags);
        let mut frame = self.frames.pop().expect("it was pushed");
        self.jump(&mut frame.exit, f.span)?;
        self.leave_call(call, frame.exit.at);
        self.land(frame.exit);
        self.end_locals(&frame.ends);
        Ok(())
    }

    /// Code comes to the end of a function: what it returns is anything.
    fn end_without_value(&mut self) {
        let (result, returned) = (self.frame().result.clone(), self.frame().returned);
        if self.dead {
            return;
        }
        if let Some((var, _)) = result {
            self.input(var);
        }
        if let Some(object) = returned {
            self.forget_value(object);
        }
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
            // It is a variable of the new thread, and not of the function that makes it.
            let flag = self.flag_of(made);
            let frame = self.frame();
            frame.ends.retain(|v| Some(*v) != flag);
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
                let handle = self.b.terms().constant(super::addresses::handle_of(t), ty);
                let it = self.b.terms().eq(d.handle, handle);
                if t == d.thread {
                    let (place, code) = (Place::scalar(d.result.0), d.result.1);
                    let value = self.b.terms().constant(code, Type::INT);
                    self.b.step(d.thread, d.from, d.to, it, vec![crate::Assign { place, value }]);
                } else {
                    match (d.returned, self.results[t.index()]) {
                        (Some(to), Some(from)) => {
                            let between = self.b.location(d.thread);
                            self.b.join_if(d.thread, d.from, between, it, t);
                            let value = self.b.value(from);
                            let own = self.b.program().var(to).ty;
                            let value = self.b.terms().cast(own, value);
                            let copy = crate::Assign { place: Place::scalar(to), value };
                            let yes = self.b.terms().boolean(true);
                            self.b.step(d.thread, between, d.to, yes, vec![copy]);
                        }
                        _ => self.b.join_if(d.thread, d.from, d.to, it, t),
                    }
                }
                let not = self.b.terms().not(it);
                none = self.b.terms().and(none, not);
            }
            if self.main_is_named {
                let main = self.b.terms().constant(super::addresses::handle_of(ThreadId(0)), ty);
                let it = self.b.terms().eq(d.handle, main);
                if d.thread.0 == 0 {
                    let (place, code) = (Place::scalar(d.result.0), d.result.1);
                    let value = self.b.terms().constant(code, Type::INT);
                    self.b.step(d.thread, d.from, d.to, it, vec![crate::Assign { place, value }]);
                } else if d.returned.is_some() {
                    let why = "the result of the main thread, which another thread joins, is not followed";
                    let beyond = self.b.error_location(d.thread, ErrorKind::Bound, why);
                    self.b.step(d.thread, d.from, beyond, it, Vec::new());
                } else {
                    let ended = self.main_ended();
                    let over = self.b.value(ended);
                    let guard = self.b.terms().and(it, over);
                    self.b.set_may_block(d.thread, d.from);
                    self.b.step(d.thread, d.from, d.to, guard, Vec::new());
                }
                let not = self.b.terms().not(it);
                none = self.b.terms().and(none, not);
            }
            let wrong =
                self.b.error_location(d.thread, ErrorKind::InvalidPointer, "a join of what is no thread");
            self.b.step(d.thread, d.from, wrong, none, Vec::new());
        }
    }

    /// The same for threads that are detached.
    fn detach_deferred(&mut self) {
        for (t, (from, to), handle, span) in std::mem::take(&mut self.deferred_detaches) {
            self.b.at_span(span);
            let ty = self.b.terms().ty(handle);
            let mut none = self.b.terms().boolean(true);
            for child in self.b.program().thread_ids() {
                let number = self.b.terms().constant(super::addresses::handle_of(child), ty);
                let it = self.b.terms().eq(handle, number);
                self.b.detach_if(t, (from, to), it, child);
                let not = self.b.terms().not(it);
                none = self.b.terms().and(none, not);
            }
            let wrong = self.b.error_location(t, ErrorKind::InvalidPointer, "what is detached is no thread");
            self.b.step(t, from, wrong, none, Vec::new());
        }
    }
}
