//! Functions and variables of the file, before `main` is lowered.

use super::ctype::CType;
use super::lower::{Entity, Function, Lowering, Res, ThreadLocal};
use super::scan::{self, Found};
use lang_c::ast::*;
use lang_c::span::Node;
use std::collections::BTreeSet;
use std::rc::Rc;

impl<'a> Lowering<'a> {
    pub(super) fn collect_functions(&mut self) -> Res<()> {
        let unit = self.unit;
        for item in &unit.0 {
            if let ExternalDeclaration::FunctionDefinition(d) = &item.node {
                let mut found = scan::statement(&d.node.statement);
                if let Some((name, at)) = found.targets.iter().find(|t| !found.label_names.contains(&t.0)) {
                    return Err(self.refuse(*at, format!("there is no label `{name}`")));
                }
                found.labels = false;
                if let Some(name) = declared_name(&d.node.declarator) {
                    self.found.insert(name, found);
                }
            }
        }
        let calls = |names: &[&str]| self.found.values().any(|f| names.iter().any(|n| f.called.contains(*n)));
        self.destroys = calls(&[
            "pthread_mutex_destroy",
            "pthread_spin_destroy",
            "pthread_rwlock_destroy",
            "pthread_cond_destroy",
            "mtx_destroy",
            "cnd_destroy",
        ]);
        self.keys.deletes = calls(&["pthread_key_delete", "tss_delete"]);
        self.joins = calls(&["pthread_join", "thrd_join"]);
        self.detaches = calls(&["pthread_attr_setdetachstate"]);
        let says = |f: &Found| ["reach_error", "__VERIFIER_error"].iter().any(|n| f.called.contains(*n));
        let is_task = self.found.values().any(says);
        self.error_labels = self.options.error_labels && !is_task;
        self.aborts = self.options.aborts && !is_task;
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
                ExternalDeclaration::StaticAssert(a) => self.static_assert(a)?,
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
                if is_constant(&d.node.specifiers, &i.node.declarator) {
                    self.must_stay(object);
                }
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

    /// An object was declared as constant: nobody may write it.
    pub(super) fn must_stay(&mut self, object: usize) {
        let shape = self.objects[object].shape.clone();
        Self::leaves(&shape, 0, &mut |v, _, _| {
            self.declared_constant.insert(v);
        });
    }

    pub(super) fn static_init(&mut self, object: usize, init: Option<&'a Node<Initializer>>) -> Res<()> {
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
}

fn declared_name(d: &Node<Declarator>) -> Option<String> {
    match &d.node.kind.node {
        DeclaratorKind::Identifier(i) => Some(i.node.name.clone()),
        DeclaratorKind::Declarator(inner) => declared_name(inner),
        DeclaratorKind::Abstract => None,
    }
}

/// Whether a declaration says of the variable itself, not of what it points to, that it is constant.
pub(super) fn is_constant(specifiers: &[Node<DeclarationSpecifier>], declarator: &Node<Declarator>) -> bool {
    let pointer = declarator.node.derived.iter().rev().find_map(|d| match &d.node {
        DerivedDeclarator::Pointer(qualifiers) => Some(qualifiers),
        _ => None,
    });
    match pointer {
        Some(list) => {
            let is = |q: &Node<PointerQualifier>| matches!(&q.node, PointerQualifier::TypeQualifier(q) if q.node == TypeQualifier::Const);
            // What is declared in brackets may be anything around a pointer.
            matches!(declarator.node.kind.node, DeclaratorKind::Identifier(_)) && list.iter().any(is)
        }
        None => {
            let is = |s: &Node<DeclarationSpecifier>| matches!(&s.node, DeclarationSpecifier::TypeQualifier(q) if q.node == TypeQualifier::Const);
            matches!(declarator.node.kind.node, DeclaratorKind::Identifier(_)) && specifiers.iter().any(is)
        }
    }
}
