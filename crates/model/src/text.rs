//! Programs as text and as a picture.

use crate::program::{Action, LocationKind, Program, Thread, Transition, Var};
use std::fmt::{self, Write};

impl Program {
    /// What a transition does, as text: what it is, its guard, its assignments.
    pub fn show_transition(&self, t: &Transition) -> String {
        let mut out = String::new();
        match t.action {
            Action::Local | Action::Read | Action::Write | Action::Update => {}
            Action::CompareExchange { .. } | Action::Atomic | Action::End => {
                out.push_str(t.action.name());
                out.push(' ');
            }
            Action::Create(u) | Action::Join(u) => {
                write!(out, "{} {} ", t.action.name(), self.thread(u).name).expect("a string takes all");
            }
            _ => {
                let name = t.action.sync().map_or("", |s| &self.sync(s).name[..]);
                write!(out, "{} {name} ", t.action.name()).expect("a string takes all");
            }
        }
        if let Action::Wake { spurious: true, .. } = t.action {
            out.push_str("spuriously ");
        }
        if self.terms.as_const(t.guard) != Some(1) {
            write!(out, "[{}] ", self.show(t.guard)).expect("a string takes all");
        }
        let mut parts: Vec<String> = Vec::new();
        for a in &t.assigns {
            parts.push(format!("{} := {}", self.show_place(a.place), self.show(a.value)));
        }
        for p in &t.havoc {
            parts.push(format!("{} := *", self.show_place(*p)));
        }
        out.push_str(&parts.join(", "));
        let end = out.trim_end().len();
        out.truncate(end);
        if out.is_empty() {
            out.push_str("skip");
        }
        out
    }

    /// The automata as a picture in the language of Graphviz.
    pub fn to_dot(&self) -> String {
        let mut out =
            String::from("digraph program {\n  node [shape=circle, fontsize=10]; edge [fontsize=9];\n");
        for (i, thread) in self.threads.iter().enumerate() {
            writeln!(out, "  subgraph cluster_{i} {{\n    label={};", quoted(&thread.name))
                .expect("a string takes all");
            for l in thread.location_ids() {
                let location = thread.location(l);
                let mut label = l.0.to_string();
                if let Some(name) = &location.label {
                    write!(label, "\n{name}").expect("a string takes all");
                }
                let style = match &location.kind {
                    LocationKind::Normal if l == thread.entry => ", style=bold",
                    LocationKind::Normal => "",
                    LocationKind::End | LocationKind::Exit => ", shape=doublecircle",
                    LocationKind::Halt => ", style=dashed",
                    LocationKind::Error { message, .. } => {
                        write!(label, "\n{message}").expect("a string takes all");
                        ", shape=box, color=red"
                    }
                };
                writeln!(out, "    t{i}_{} [label={}{style}];", l.0, quoted(&label))
                    .expect("a string takes all");
            }
            for t in &thread.transitions {
                let label = format!("{}\n{}", self.show_transition(t), self.show_span(t.span));
                writeln!(out, "    t{i}_{} -> t{i}_{} [label={}];", t.from.0, t.to.0, quoted(&label))
                    .expect("a string takes all");
            }
            out.push_str("  }\n");
        }
        out.push_str("}\n");
        out
    }

    fn write_thread(&self, thread: &Thread, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for l in thread.location_ids() {
            let location = thread.location(l);
            if let Some(name) = &location.label {
                writeln!(f, "  {name}:")?;
            }
            match &location.kind {
                LocationKind::Normal => {}
                LocationKind::End => writeln!(f, "  {}: end", l.0)?,
                LocationKind::Exit => writeln!(f, "  {}: exit", l.0)?,
                LocationKind::Halt => writeln!(f, "  {}: halt", l.0)?,
                LocationKind::Error { kind, message } => {
                    writeln!(f, "  {}: error {}: {message}", l.0, kind.name())?
                }
            }
            for (_, t) in thread.from(l) {
                write!(f, "  {} -> {}: {}", l.0, t.to.0, self.show_transition(t))?;
                if t.span.line > 0 {
                    write!(f, "  @{}", t.span.line)?;
                }
                writeln!(f)?;
            }
        }
        Ok(())
    }
}

fn write_var(v: &Var, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{}: {}", v.name, v.ty)?;
    let shown = |b: &u64| v.ty.value(*b).to_string();
    match v.len {
        None => writeln!(f, " = {}", shown(&v.init[0])),
        Some(n) if v.init.iter().all(|b| *b == v.init[0]) => {
            writeln!(f, "[{n}] = {}", v.init.first().map_or("0".into(), shown))
        }
        Some(n) => {
            let list: Vec<String> = v.init.iter().map(shown).collect();
            writeln!(f, "[{n}] = {{{}}}", list.join(", "))
        }
    }
}

/// A text in the quotes of Graphviz.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The automata as text: variables, then for each thread its locals and its edges, `from -> to: what`, with the line.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for v in self.vars.iter().filter(|v| v.is_shared()) {
            f.write_str("shared ")?;
            write_var(v, f)?;
        }
        for (t, thread) in self.thread_ids().zip(&self.threads) {
            writeln!(f, "thread {} {}, from {}", t.0, thread.name, thread.entry.0)?;
            for v in self.vars.iter().filter(|v| v.scope == crate::Scope::Local(t)) {
                f.write_str("  local ")?;
                write_var(v, f)?;
            }
            self.write_thread(thread, f)?;
        }
        Ok(())
    }
}
