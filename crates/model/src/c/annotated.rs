//! Lowering with annotations: what stands where, and what the names there stand for.
//!
//! A program with annotations is lowered as any other, but every step stays an edge of its own, and no value is dropped: formulas may
//! speak of all of them. A function can be lowered alone, for all that may be where it is called: its parameters and all global
//! variables have any value, and a parameter that is a pointer points to an array of its own, as long as a variable says.

use super::ctype::{ADDRESS, CType, Shape, ShapeKind};
use super::lower::{Entity, Function, Lowering, Res};
use super::source::{self, Source};
use super::{Options, Refusal};
use crate::notes::{
    self, Annotation, AtCall, ByContract, Call, CallContract, INVARIANT, NOTE, Named, Names, Note, Noted,
    Start,
};
use crate::passes;
use crate::program::{LocationId, LocationKind, Mark, Scope};
use crate::term::{Assign, Place, Term, VarId};
use lang_c::ast::*;
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::rc::Rc;

/// What was noted on the way.
#[derive(Default)]
pub(crate) struct Noting {
    /// Whether the program is read with its annotations.
    pub(crate) active: bool,
    /// Whether it is a function alone.
    pub(crate) alone: bool,
    notes: Vec<Note>,
    /// Invariants that wait for their loop.
    pub(crate) pending: Vec<usize>,
    starts: BTreeMap<usize, Start>,
    calls: Vec<Call>,
    forgets: Vec<Vec<VarId>>,
    /// For what a parameter points to: the variable that has its length.
    pub(crate) lengths: HashMap<VarId, VarId>,
    /// For a parameter that is a pointer: what it points to.
    pointed: HashMap<VarId, VarId>,
    /// Parameters that always point where they do at the beginning.
    pub(crate) fixed: BTreeSet<VarId>,
    /// For a parameter of a function that is read in place, if it never moves: the array that it points to.
    passed: HashMap<VarId, Named>,
    /// Functions whose calls stand for their contracts.
    contracts: ByContract,
}

/// A function of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    /// Its name.
    pub name: String,
    /// The line on which it begins.
    pub line: u32,
}

/// A C file with its annotations.
pub struct Annotated {
    source: Source,
    options: Options,
    file: String,
    /// The annotations, in the order of the text.
    pub annotations: Vec<Annotation>,
}

impl Annotated {
    /// Reads a C file; one that ends in `.i` is taken to be preprocessed.
    pub fn read_file(path: &Path, options: &Options) -> Result<Annotated, Refusal> {
        let (source, annotations) = source::read_annotated(path, &options.preprocessor)?;
        Ok(Annotated { source, options: options.clone(), file: path.display().to_string(), annotations })
    }

    /// Reads C text that needs no preprocessor. `name` is what messages call it.
    pub fn read_text(name: &str, text: &str, options: &Options) -> Result<Annotated, Refusal> {
        let (annotations, text) = notes::scan(name, text)?;
        let source = source::parse(name, text)?;
        Ok(Annotated { source, options: options.clone(), file: name.to_owned(), annotations })
    }

    /// What messages call the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The functions that the file itself defines, in the order of the text.
    pub fn functions(&self) -> Vec<Defined> {
        let mut out = Vec::new();
        let mut lowering =
            Lowering::new(&self.source, &self.options, &BTreeSet::new(), &[], &BTreeSet::new(), &[]);
        if lowering.collect_functions().is_ok() {
            for f in lowering.functions.values() {
                let (file, line) = self.source.lines.at(f.span.start);
                if file == self.file {
                    out.push(Defined { name: f.name.clone(), line });
                }
            }
        }
        out.sort_by(|a, b| (a.line, &a.name).cmp(&(b.line, &b.name)));
        out
    }

    /// The whole program, if there is a `main`.
    pub fn program(&self) -> Result<Option<Noted>, Refusal> {
        self.whole(false)
    }

    /// The same, with calls of some functions standing for their contracts. Only for a program without threads: another thread would
    /// see what such a function does on its way.
    pub fn program_by_contract(&self, contracts: &ByContract) -> Result<Noted, Refusal> {
        self.lower(None, false, contracts)
    }

    /// The same to be run: values that the program does not need are left out, and formulas cannot speak of them.
    pub fn program_to_run(&self) -> Result<Option<Noted>, Refusal> {
        self.whole(true)
    }

    fn whole(&self, lean: bool) -> Result<Option<Noted>, Refusal> {
        if !self.functions().iter().any(|f| f.name == "main") {
            // Says what is wrong with a file of which nothing can be read.
            Lowering::new(&self.source, &self.options, &BTreeSet::new(), &[], &BTreeSet::new(), &[])
                .collect_functions()?;
            return Ok(None);
        }
        self.lower(None, lean, &ByContract::new()).map(Some)
    }

    /// One function, as if called by anybody.
    pub fn function(&self, name: &str) -> Result<Noted, Refusal> {
        self.function_by_contract(name, &ByContract::new())
    }

    /// The same, with calls of some functions standing for their contracts.
    pub fn function_by_contract(&self, name: &str, contracts: &ByContract) -> Result<Noted, Refusal> {
        self.lower(Some(name), false, contracts)
    }

    fn lower(&self, function: Option<&str>, lean: bool, contracts: &ByContract) -> Result<Noted, Refusal> {
        let mut lowering = super::settled(&self.source, &self.options, |lowering| {
            lowering.noting.active = true;
            // What else a lock can be than free or held by somebody no formula can say.
            lowering.b.leave_lives();
            lowering.noting.contracts = contracts.clone();
            match function {
                None => lowering.run(),
                Some(name) => lowering.run_function(name),
            }
        })?;
        let noting = std::mem::take(&mut lowering.noting);
        let (builder, interior) = lowering.into_parts();
        let program = passes::finish_annotated(builder, &interior, function.is_none(), lean)?;
        let starts = noting.starts.into_values().collect();
        Ok(Noted { program, notes: noting.notes, starts, calls: noting.calls, forgets: noting.forgets })
    }
}

/// Whether a variable itself is assigned, and not what it points to.
struct Moves<'n> {
    name: &'n str,
    found: bool,
}

impl Moves<'_> {
    fn is(&self, e: &Expression) -> bool {
        matches!(e, Expression::Identifier(i) if i.node.name == self.name)
    }
}

/// Whether a statement assigns a variable.
fn moves(name: &str, body: &Node<Statement>) -> bool {
    let mut moves = Moves { name, found: false };
    moves.visit_statement(&body.node, &body.span);
    moves.found
}

impl<'v> Visit<'v> for Moves<'_> {
    fn visit_binary_operator_expression(&mut self, e: &'v BinaryOperatorExpression, s: &'v Span) {
        use BinaryOperator::*;
        self.found |= matches!(e.operator.node, Assign | AssignPlus | AssignMinus) && self.is(&e.lhs.node);
        visit::visit_binary_operator_expression(self, e, s);
    }

    fn visit_unary_operator_expression(&mut self, e: &'v UnaryOperatorExpression, s: &'v Span) {
        use UnaryOperator::*;
        let writes =
            matches!(e.operator.node, PostIncrement | PostDecrement | PreIncrement | PreDecrement | Address);
        self.found |= writes && self.is(&e.operand.node);
        visit::visit_unary_operator_expression(self, e, s);
    }
}

impl<'a> Lowering<'a> {
    /// Lowers one function alone.
    fn run_function(&mut self, name: &str) -> Res<()> {
        self.noting.alone = true;
        self.collect_functions()?;
        let t = self.b.thread(name);
        self.new_thread(t);
        self.collect_globals()?;
        let Some(f) = self.function(name) else {
            let (file, _) = self.lines.at(0);
            return Err(Refusal { file: file.to_owned(), line: 0, reason: format!("there is no `{name}`") });
        };
        self.start(t);
        // Whoever calls it may have done anything before.
        self.env.clear();
        self.at(f.span);
        let result = match f.result.plain() {
            CType::Void => None,
            ctype => match ctype.scalar() {
                Some(ty) => Some((self.b.local(t, "%result", ty, 0), f.result.clone())),
                None => return Err(self.refuse(f.span, format!("{ctype} as the result of a function"))),
            },
        };
        self.results[t.index()] = result.as_ref().map(|r| r.0);
        let exit = self.join();
        self.push_frame(&f.name, exit, result);
        self.open();
        for (n, p) in f.parameters.iter().enumerate() {
            let Some(name) = &p.name else { continue };
            let object = self.declare_object(name, &p.ctype, p.span, true)?;
            self.declare(name.clone(), Entity::Object(object));
            if let CType::Pointer(element) = p.ctype.plain() {
                let ShapeKind::Scalar(pointer) = self.objects[object].shape.kind else { continue };
                if let CType::Sync(_) | CType::Void | CType::Function(_) | CType::Opaque(_) = element.plain()
                {
                    continue;
                }
                if element.scalar().is_none() || !self.is_tracked(pointer) {
                    return Err(self.refuse(p.span, format!("a parameter of type {}", p.ctype)));
                }
                self.point_to_array(n, name, pointer, element, p.span)?;
                if !moves(name, f.body) {
                    self.noting.fixed.insert(pointer);
                }
            }
        }
        self.note_start(&f);
        self.statement(f.body)?;
        self.close();
        let mut frame = self.frames.pop().expect("it was pushed");
        self.jump(&mut frame.exit, f.span)?;
        self.b.set_kind(t, frame.exit.at, LocationKind::End);
        self.check_blocks()
    }

    /// A parameter points to an array of its own.
    fn point_to_array(
        &mut self,
        n: usize,
        name: &str,
        pointer: VarId,
        element: &Rc<CType>,
        span: Span,
    ) -> Res<()> {
        // Two cells make an array of it; how many there are says a variable.
        let array = CType::Array(element.clone(), 2);
        let full = format!("{}.{name}[]", self.b.program().thread(self.t).name);
        let object = self.object(&full, &array, Scope::Shared, span)?;
        self.declared_at.resize(object + 1, usize::MAX);
        self.declared_at[object] = usize::MAX - 1 - n;
        self.take_address(object);
        let mut cells = None;
        Self::leaves(&self.objects[object].shape.clone(), 0, &mut |v, _, _| cells = Some(v));
        let Some(cells) = cells else { return Err(self.refuse(span, "a parameter of this type")) };
        let length = self.b.local(self.t, &format!("{name}.length"), ADDRESS, 0);
        self.noting.lengths.insert(cells, length);
        self.noting.pointed.insert(pointer, cells);
        let base = self.objects[object].base;
        let value = self.b.terms().constant(base, ADDRESS);
        let yes = self.b.terms().boolean(true);
        self.step(yes, vec![Assign { place: Place::scalar(pointer), value }]);
        self.env.insert((pointer, 0), base);
        Ok(())
    }

    /// The names that are known here.
    fn names(&self) -> Names {
        let mut out = Names::new();
        for scope in &self.scopes {
            for (name, entity) in scope {
                let named = match entity {
                    Entity::Object(o) => self.named(&self.objects[*o].shape),
                    Entity::Constant(v, _) => Named::Number(*v),
                    Entity::Function | Entity::Typedef(_) => continue,
                };
                out.insert(name.clone(), named);
            }
        }
        out
    }

    fn named(&self, shape: &Shape) -> Named {
        match &shape.kind {
            ShapeKind::Scalar(v) => match self.noting.pointed.get(v) {
                Some(cells) => Named::Pointed { cells: *cells, length: self.noting.lengths[cells] },
                None if self.noting.passed.contains_key(v) => self.noting.passed[v].clone(),
                None if matches!(shape.ctype.plain(), CType::Pointer(_)) => Named::Other,
                None => Named::Var(*v),
            },
            ShapeKind::Array { len, element, .. } => match element.kind {
                ShapeKind::Scalar(v) if matches!(element.ctype.plain(), CType::Int(_)) => {
                    Named::Array(v, *len)
                }
                _ => Named::Other,
            },
            ShapeKind::Struct(fields) => {
                Named::Struct(fields.iter().map(|(n, f)| (n.clone(), self.named(f))).collect())
            }
            ShapeKind::Sync(list) => match list[..] {
                [one] => Named::Sync(one),
                _ => Named::Other,
            },
            ShapeKind::Union { .. } | ShapeKind::Opaque => Named::Other,
        }
    }

    /// An argument for a function that is read in place: formulas there may speak of the array that a parameter points to, if it
    /// always does.
    pub(super) fn note_argument(&mut self, f: &Function<'a>, name: &str, object: usize, value: Term) {
        if !self.noting.active || moves(name, f.body) {
            return;
        }
        let shape = self.objects[object].shape.clone();
        let (CType::Pointer(element), ShapeKind::Scalar(pointer)) = (shape.ctype.plain(), &shape.kind) else {
            return;
        };
        let Some(base) = self.b.terms().as_const(value).filter(|n| *n != 0) else { return };
        let Some(target) = self.objects.iter().find(|o| o.base == base && o.size > 0) else { return };
        let named = match &target.shape.kind {
            ShapeKind::Array { element: cell, .. } => match cell.kind {
                ShapeKind::Scalar(cells) if self.noting.lengths.contains_key(&cells) => {
                    Named::Pointed { cells, length: self.noting.lengths[&cells] }
                }
                _ => self.named(&target.shape),
            },
            _ => return,
        };
        if let Named::Array(cells, _) | Named::Pointed { cells, .. } = named
            && Some(self.b.program().var(cells).ty) == element.scalar()
        {
            self.noting.passed.insert(*pointer, named);
            // Where it points to is known in loops too.
            self.noting.fixed.insert(*pointer);
            self.env.insert((*pointer, 0), base);
        }
    }

    /// A function starts a thread, or stands alone.
    pub(super) fn note_start(&mut self, f: &Rc<Function<'a>>) {
        if !self.noting.active {
            return;
        }
        let start = Start {
            function: f.name.clone(),
            names: self.names(),
            parameters: f.parameters.iter().filter_map(|p| p.name.clone()).collect(),
            result: self.results[self.t.index()],
        };
        self.noting.starts.insert(self.t.index(), start);
    }

    /// What stands for a call of a function, if something does.
    pub(super) fn contract(&self, f: &Function<'a>) -> Option<CallContract> {
        self.noting.contracts.get(&f.name).filter(|_| self.atomic == 0).cloned()
    }

    /// What an argument for a pointer points to: an array by its name, or a parameter that never moves.
    pub(super) fn pointed_argument(&self, e: &Node<Expression>, ctype: &CType) -> Option<Named> {
        let Expression::Identifier(name) = &e.node else { return None };
        let Some(Entity::Object(o)) = self.lookup(&name.node.name) else { return None };
        let shape = &self.objects[o].shape;
        let CType::Pointer(element) = ctype.plain() else { return None };
        if let ShapeKind::Scalar(pointer) = shape.kind
            && !self.noting.fixed.contains(&pointer)
        {
            return None;
        }
        let named = self.named(shape);
        match named {
            Named::Array(cells, _) | Named::Pointed { cells, .. } => {
                (Some(self.b.program().var(cells).ty) == element.scalar()).then_some(named)
            }
            _ => None,
        }
    }

    /// Whether arguments are different memory where a contract wants them to be. Arrays by name are, unless they are the same; of two
    /// parameters of the function at hand, that is claimed elsewhere, if it matters.
    pub(super) fn are_apart(
        &self,
        f: &Function<'a>,
        contract: &CallContract,
        arguments: &[(Term, CType, Option<Named>)],
    ) -> bool {
        let cells = |name: &String| {
            let passed = f.parameters.iter().position(|p| p.name.as_ref() == Some(name));
            let named = match passed {
                Some(n) => arguments.get(n).and_then(|a| a.2.clone()),
                None => match self.scopes[0].get(name) {
                    Some(Entity::Object(o)) => Some(self.named(&self.objects[*o].shape)),
                    _ => None,
                },
            };
            match named {
                Some(Named::Array(v, _) | Named::Var(v) | Named::Pointed { cells: v, .. }) => Some(v),
                _ => None,
            }
        };
        contract.apart.iter().all(|names| {
            let found: Option<BTreeSet<VarId>> = names.iter().map(cells).collect();
            found.is_some_and(|set| set.len() == names.len())
        })
    }

    /// A call that stands for a contract: its claims, then any value for what the function may assign, then what is known.
    pub(super) fn by_contract(
        &mut self,
        f: &Rc<Function<'a>>,
        contract: &CallContract,
        arguments: Vec<(Term, CType, Option<Named>)>,
        result: Option<VarId>,
        span: Span,
    ) -> Res<()> {
        if self.dead {
            return Ok(());
        }
        let outer_scopes = self.scopes.split_off(1);
        let outer_tags = self.tags.split_off(1);
        self.open();
        let mut pointed = Vec::new();
        for (p, (value, ctype, named)) in f.parameters.iter().zip(arguments) {
            let Some(name) = &p.name else { continue };
            let object = self.declare_object(name, &ctype, p.span, true)?;
            self.declare(name.clone(), Entity::Object(object));
            let lv = self.whole(object);
            self.store(&lv, value, span)?;
            pointed.extend(named.map(|n| (name.clone(), n)));
        }
        let assigned = contract.parameters.iter().filter_map(|n| f.parameters.get(*n)?.name.as_ref());
        let mut forgotten: Vec<VarId> = pointed
            .iter()
            .filter(|(name, _)| assigned.clone().any(|n| n == name))
            .filter_map(|(_, named)| match named {
                Named::Array(cells, _) | Named::Pointed { cells, .. } => Some(*cells),
                _ => None,
            })
            .collect();
        forgotten.extend(contract.arrays.iter().filter_map(|name| self.b.program().var_named(name)));
        forgotten.sort_unstable();
        forgotten.dedup();
        let mut names = self.names();
        names.extend(pointed);
        self.close();
        self.scopes.extend(outer_scopes);
        self.tags.extend(outer_tags);
        // Locations of its own: nothing else leads to where something is known.
        let yes = self.b.terms().boolean(true);
        self.step(yes, Vec::new());
        for n in &contract.requires {
            let call = AtCall { returned: false, result: None, before: BTreeMap::new() };
            self.note_at_call(*n, names.clone(), call);
        }
        let (mut places, mut saved, mut before) = (Vec::new(), Vec::new(), BTreeMap::new());
        for name in &contract.assigns {
            let Some(v) = self.b.program().var_named(name) else { continue };
            let ty = self.b.program().var(v).ty;
            let old = self.temporary(ty);
            self.env.remove(&(old, 0));
            let value = self.b.terms().var(v, ty);
            saved.push(Assign { place: Place::scalar(old), value });
            places.push(Place::scalar(v));
            before.insert(v, old);
        }
        self.step(yes, saved);
        places.extend(result.map(Place::scalar));
        for q in &places {
            self.env.remove(&(q.var, 0));
        }
        self.b.havoc_all(self.t, places);
        if !forgotten.is_empty() {
            self.env.retain(|(v, _), _| !forgotten.contains(v));
            let at = self.b.here(self.t);
            self.b.mark(self.t, at, Mark::Forget(self.noting.forgets.len() as u32));
            self.noting.forgets.push(forgotten);
        }
        for n in &contract.ensures {
            let call = AtCall { returned: true, result, before: before.clone() };
            self.note_at_call(*n, names.clone(), call);
        }
        self.step(yes, Vec::new());
        Ok(())
    }

    fn note_at_call(&mut self, annotation: usize, names: Names, call: AtCall) {
        let at = self.b.here(self.t);
        self.b.mark(self.t, at, Mark::Note(self.noting.notes.len() as u32));
        self.noting.notes.push(Note { annotation, names, call: Some(call), inside: false });
    }

    /// A function begins here.
    pub(super) fn enter(&mut self, f: &Function<'a>) -> u32 {
        let n = self.noting.calls.len() as u32;
        if !self.noting.active {
            return n;
        }
        self.noting.calls.push(Call { function: f.name.clone(), thread: self.t });
        let at = self.b.here(self.t);
        self.b.mark(self.t, at, Mark::Enter(n));
        n
    }

    /// It returns there.
    pub(super) fn leave_call(&mut self, call: u32, at: LocationId) {
        if self.noting.active {
            self.b.mark(self.t, at, Mark::Leave(call));
        }
    }

    /// Whether a call stands for an annotation: then it is noted.
    pub(super) fn noted(&mut self, name: &str, args: &'a [Node<Expression>], span: Span) -> Res<bool> {
        if name != NOTE && name != INVARIANT {
            return Ok(false);
        }
        let n = match args.first() {
            Some(e) => self.constant(e, "the number of an annotation")? as usize,
            None => return Err(self.refuse(span, "an annotation without a number")),
        };
        if self.atomic > 0 {
            return Err(self.refuse(span, "an annotation in an atomic block, where no other thread looks"));
        }
        if name == INVARIANT {
            self.noting.pending.push(n);
        } else {
            self.note(n);
        }
        Ok(true)
    }

    fn note(&mut self, annotation: usize) {
        if !self.dead {
            let mut names = self.names();
            // What a pointer that moves points to has no name here.
            for (name, named) in &mut names {
                let shape = match self.lookup(name) {
                    Some(Entity::Object(o)) => &self.objects[o].shape.kind,
                    _ => continue,
                };
                if let (ShapeKind::Scalar(v), Named::Pointed { .. }) = (shape, &named)
                    && self.noting.pointed.contains_key(v)
                    && !self.noting.fixed.contains(v)
                {
                    *named = Named::Other;
                }
            }
            let at = self.b.here(self.t);
            self.b.mark(self.t, at, Mark::Note(self.noting.notes.len() as u32));
            let inside = self.frames.len() > 1;
            self.noting.notes.push(Note { annotation, names, call: None, inside });
        }
    }

    /// The head of a loop: what waits for it stands here.
    pub(super) fn note_loop(&mut self) {
        for n in std::mem::take(&mut self.noting.pending) {
            self.note(n);
        }
    }

    /// An invariant stands before a loop.
    pub(super) fn expect_loop(&mut self, s: &Node<Statement>) -> Res<()> {
        if self.noting.pending.is_empty() {
            return Ok(());
        }
        let annotation = match &s.node {
            Statement::Expression(Some(e)) => match &e.node {
                Expression::Call(c) => {
                    matches!(&c.node.callee.node, Expression::Identifier(i) if i.node.name == INVARIANT)
                }
                _ => false,
            },
            _ => false,
        };
        match s.node {
            Statement::While(_) | Statement::DoWhile(_) | Statement::For(_) => Ok(()),
            _ if annotation => Ok(()),
            _ => Err(self.refuse(s.span, "expected a loop after `loop invariant`")),
        }
    }
}
