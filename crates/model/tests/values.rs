//! Structures as values, initialisers, texts, unions and bit-fields; calls through pointers; what each thread has its own of.

mod support;

use model::{ErrorKind, Interpreter, Options, Reach};
use support::{ASSERT, kind, read, read_with, refused, states};

/// Nothing goes wrong in a program.
fn right(text: &str) {
    let p = read(text);
    assert_eq!(states(&p).errors, 0, "{p}");
}

/// `reach_error` is called in some run.
fn wrong(text: &str) {
    let p = read(text);
    assert_eq!(kind(&states(&p)), Some(ErrorKind::Assertion), "{p}");
}

/// A thread and `main` after it.
fn with_thread(globals: &str, thread: &str, meanwhile: &str, after: &str) -> String {
    format!(
        "{globals} void *f(void *a) {{ {thread} return 0; }}
         int main(void) {{ pthread_t t; pthread_create(&t, 0, f, 0); {meanwhile} pthread_join(t, 0); {after} return 0; }}"
    )
}

#[test]
fn structures_are_assigned_handed_over_and_returned() {
    right(
        "struct p { int x, y; }; struct p mk(int a, int b) { struct p r = { a, b }; return r; }
         int twice(struct p q) { q.x *= 2; return q.x + q.y; }
         int main(void) { struct p h = mk(5, 6), k, l; k = l = h; k = mk(k.y, k.x);
           if (twice(k) != 17 || k.x != 6 || l.y != 6 || mk(8, 9).y != 9 || (l = k).x != 6) reach_error();
           struct p c = k.x == 6 ? h : mk(0, 0); if (c.x != 5) reach_error(); return 0; }",
    );
}

#[test]
fn a_structure_is_copied_field_by_field() {
    let globals = |lock: &str, unlock: &str| {
        format!(
            "struct p {{ int x, y; }} g; pthread_mutex_t m; struct p get(void) {{ {lock} struct p r = g; {unlock} return r; }}
             void set(struct p v) {{ {lock} g = v; {unlock} }}"
        )
    };
    let (thread, meanwhile) =
        ("struct p v = { 1, 1 }; set(v);", "struct p r = get(); if (r.x != r.y) reach_error();");
    wrong(&with_thread(&globals("", ""), thread, meanwhile, ""));
    let (lock, unlock) = ("pthread_mutex_lock(&m);", "pthread_mutex_unlock(&m);");
    right(&with_thread(&globals(lock, unlock), thread, meanwhile, ""));
}

#[test]
fn compound_literals_are_objects() {
    right(
        "struct p { int x, y; }; struct p *g = &(struct p){ 3, 4 };
         int sum(struct p *q) { return q->x + q->y; }
         int main(void) { int *z = (int[]){ 1, 2, 3 }; struct p l = (struct p){ .y = 7 };
           if (sum(&(struct p){ 1, 2 }) != 3 || z[2] != 3 || l.x || l.y != 7 || sum(g) != 7) reach_error(); return 0; }",
    );
}

#[test]
fn initialisers_may_leave_braces_out_and_name_parts() {
    right(
        "struct s { int a[2]; struct { int x, y; } in; } g = { .a = { [1] = 4 }, .in.y = 9 },
           arr[2] = { [1].in.x = 3, [0] = { { 1, 2 }, { 3, 4 } } };
         int m[2][2] = { 1, 2, 3, 4 }; union { int i; char c; } u = { .c = 5 };
         int main(void) { struct s l = { 1, 2, 3, 4 }, k = { 1, .in = { 5 } }; int o[][2] = { 1, 2, 3 };
           struct s both[] = { l, { { 6 } } };
           if (g.a[1] != 4 || g.a[0] || g.in.y != 9 || arr[1].in.x != 3 || arr[0].in.y != 4 || m[1][0] != 3) reach_error();
           if (l.a[1] != 2 || l.in.y != 4 || k.a[1] || k.in.x != 5 || k.in.y || u.c != 5) reach_error();
           if (sizeof o != 16 || o[1][0] != 3 || o[1][1] || both[0].in.x != 3 || both[1].a[0] != 6) reach_error(); return 0; }",
    );
}

#[test]
fn texts_can_be_read_and_not_written() {
    right(
        r#"const char *name = "ab\n"; char buf[] = "xyz\x41", cut[2] = "hi";
           int main(void) { if (name[1] != 'b' || name[2] != '\n' || name[3] || sizeof buf != 5 || buf[3] != 'A') reach_error();
             buf[0] = *name; if (buf[0] != 'a' || cut[1] != 'i' || sizeof "a\0b" != 4) reach_error(); return 0; }"#,
    );
    let p = read(r#"char *name = "ab"; int main(void) { name[0] = 'x'; return 0; }"#);
    assert_eq!(kind(&states(&p)), Some(ErrorKind::InvalidPointer));
    let beyond = read(r#"char *name = "ab"; int n; int main(void) { return name[n + 3]; }"#);
    assert!(kind(&states(&beyond)).is_some());
}

#[test]
fn members_of_a_union_are_the_same_bytes() {
    right(
        "union u { unsigned w; struct { unsigned short lo, hi; } s; unsigned char b[4]; } g, *p = &g;
         struct k { int kind; union { int i; unsigned n; }; struct { short a, b; }; } q;
         int at;
         int main(void) { g.w = 0x01020304; if (g.s.lo != 0x0304 || p->s.hi != 0x0102 || g.b[3] != 1) reach_error();
           p->s.hi = 7; g.b[at + 1] = 9; if (g.w != 0x00070904) reach_error();
           union u c = g; if (c.b[1] != 9) reach_error();
           q.i = -1; q.b = 3; if (q.n != 0xffffffffu || q.kind || q.a || q.b != 3 || sizeof q != 12) reach_error(); return 0; }",
    );
}

#[test]
fn bit_fields_have_so_many_bits_and_lie_as_the_abi_says() {
    right(
        "struct b { unsigned a : 4; signed s : 3; unsigned one : 1; unsigned : 0; unsigned c : 30; unsigned d : 5; char e; } g, *p = &g;
         struct b init = { 15, -4, 1, 5, 6, 7 };
         int main(void) { g.a = 17; p->s = 5; g.one = 2; if (g.a != 1 || g.s != -3 || g.one) reach_error();
           if ((g.a += 20) != 5 || g.a++ != 5 || ++g.a != 7 || sizeof(struct b) != 12) reach_error();
           if (init.a != 15 || init.s != -4 || init.one != 1 || init.c != 5 || init.d != 6 || init.e != 7) reach_error();
           struct b l = init; l.a -= 16; if (l.a != 15 || l.s != -4 || g.s - 1 >= 0) reach_error(); return 0; }",
    );
}

#[test]
fn to_write_a_bit_field_may_undo_what_another_thread_writes_into_its_neighbour() {
    let after = "if (g.a != 1 || g.b != 1) reach_error();";
    wrong(&with_thread("struct { unsigned a : 4; unsigned b : 4; } g;", "g.a = 1;", "g.b = 1;", after));
    right(&with_thread(
        "struct { unsigned a : 4; unsigned : 0; unsigned b : 4; } g;",
        "g.a = 1;",
        "g.b = 1;",
        after,
    ));
}

#[test]
fn a_call_through_a_pointer_is_one_of_every_function_that_it_may_point_to() {
    let table = |check: &str| {
        format!(
            "int inc(int x) {{ return x + 1; }} int dbl(int x) {{ return 2 * x; }} int neg(int x) {{ return -x; }}
             int (*const table[])(int) = {{ &inc, dbl, neg }};
             int main(void) {{ unsigned char i = __VERIFIER_nondet_uchar(); __VERIFIER_assume(i < 3);
               int r = table[i](5); if ({check}) reach_error(); return 0; }}"
        )
    };
    right(&table("r != 6 && r != 10 && r != -5"));
    wrong(&table("r != 6 && r != 10"));
    wrong(&with_thread(
        "int x; void one(void) { x = 1; } void two(void) { x = 2; } void (*h)(void) = one;",
        "h = two;",
        "h(); if (x != 1) reach_error();",
        "",
    ));
    let p =
        read("int f(void) { return 0; } int (*h)(void); int main(void) { int (*g)(void) = f; return h(); }");
    assert_eq!(kind(&states(&p)), Some(ErrorKind::InvalidPointer), "a null pointer is called");
}

#[test]
fn a_call_through_a_pointer_is_none_of_a_function_with_fewer_parameters() {
    // Each call would else be one of the thread's function too, which has four.
    let p = read(
        "int x; int sum(int a, int b) { return a + b; } int less(int a, int b) { return a - b; }
         int (*const pick[2])(int, int) = { sum, less };
         void *f(void *p) { int l = x; for (int i = 0; i < 2; i++) { l = pick[l & 1](l, 1); l = pick[l & 1](l, 2); }
           l = pick[l & 1](l, 3); l = pick[l & 1](l, 4); return 0; }
         int main(void) { pthread_t t; x = 3; pthread_create(&t, 0, f, 0); x = 4; return 0; }",
    );
    assert_eq!(kind(&states(&p)), None);
    assert!(p.vars.len() < 60, "{p}");
}

#[test]
fn each_thread_has_its_own_of_a_thread_local_variable() {
    right(&with_thread(
        "_Thread_local int id = 3; int *leak; void bump(void) { static _Thread_local int n; n++; id += n; }",
        "bump(); bump(); if (id != 6) reach_error();",
        "bump();",
        "if (id != 4) reach_error();",
    ));
    wrong(&with_thread(
        "static __thread int depth; int *leak, my__thread;",
        "leak = &depth; depth = 1; if (depth != 1) reach_error();",
        "if (leak) *leak = 2;",
        "if (depth) reach_error();",
    ));
}

#[test]
fn a_function_is_called_once_and_everybody_waits_for_it() {
    let text = with_thread(
        "typedef int pthread_once_t; pthread_once_t once; int n, ready; void init(void) { n++; ready = 1; }",
        "pthread_once(&once, init); if (!ready) reach_error();",
        "pthread_once(&once, init); if (!ready) reach_error();",
        "if (n != 1) reach_error();",
    );
    right(&text);
    wrong(&text.replace("ready = 1;", ""));
}

#[test]
fn a_recursive_mutex_can_be_taken_again() {
    let text = |kind: u32, unlocks: &str| {
        with_thread(
            "typedef int pthread_mutexattr_t; pthread_mutex_t m; int n;
             void add(void) { pthread_mutex_lock(&m); pthread_mutex_lock(&m); int o = n; n = o + 1; UNLOCK }",
            "add();",
            "add();",
            "if (n != 2) reach_error();",
        )
        .replace("UNLOCK", unlocks)
        .replace(
            "pthread_t t;",
            &format!(
                "pthread_t t; pthread_mutexattr_t at; pthread_mutexattr_init(&at);
                 pthread_mutexattr_settype(&at, {kind}); pthread_mutex_init(&m, &at);"
            ),
        )
    };
    let twice = "pthread_mutex_unlock(&m); pthread_mutex_unlock(&m);";
    let all = Reach::default();
    let search = |text: &str| all.search(&Interpreter::new(&read(text))).unwrap();
    assert_eq!(search(&text(1, twice)).errors, 0);
    assert_eq!(search(&text(1, twice)).deadlocks, 0);
    assert!(search(&text(0, twice)).deadlocks > 0, "a plain one waits for itself");
    assert!(
        search(&text(1, "pthread_mutex_unlock(&m);")).deadlocks > 0,
        "it is given back as often as it is taken"
    );
    assert_eq!(
        kind(&search(&text(1, &format!("{twice} pthread_mutex_unlock(&m);")))),
        Some(ErrorKind::LockMisuse)
    );
    let told = search(&text(2, twice));
    assert_eq!((told.errors, told.deadlocks), (0, 0), "one that checks is told so");
}

#[test]
fn c11_threads_are_threads() {
    right(
        "typedef unsigned long thrd_t; typedef struct { int d; } mtx_t; typedef struct { int d; } cnd_t;
         mtx_t m; cnd_t c; int ready, v, tried;
         int w(void *p) { mtx_lock(&m); v = 42; ready = 1; cnd_signal(&c); mtx_unlock(&m); return 7; }
         int u(void *p) { int r = mtx_trylock(&m); if (r == 0) mtx_unlock(&m); else if (r != 1) reach_error(); return 0; }
         int main(void) { thrd_t t, s; int r; mtx_init(&m, 0); cnd_init(&c); if (thrd_create(&t, w, 0)) return 1;
           thrd_create(&s, u, 0); mtx_lock(&m); while (!ready) cnd_wait(&c, &m); if (v != 42) reach_error(); mtx_unlock(&m);
           thrd_join(t, &r); if (r != 7) reach_error(); thrd_join(s, 0); return 0; }",
    );
}

#[test]
fn the_number_of_a_semaphore_can_be_asked_for() {
    let text = |check: &str| {
        with_thread("sem_t s;", "sem_wait(&s); sem_post(&s);", check, "")
            .replace("pthread_t t;", "pthread_t t; int v; sem_init(&s, 0, 2);")
    };
    right(&text("sem_getvalue(&s, &v); if (v != 1 && v != 2) reach_error();"));
    wrong(&text("sem_getvalue(&s, &v); if (v != 2) reach_error();"));
}

#[test]
fn an_atomic_block_may_end_in_each_branch() {
    let text = |end: &str| {
        format!(
            "int m, in; int take(void) {{ __VERIFIER_atomic_begin(); if (m == 0) {{ {end} return 1; }} else {{ __VERIFIER_atomic_end(); }}
               return 0; }}
             void *f(void *a) {{ if (take()) {{ in++; if (in != 1) reach_error(); in--; m = 0; }} return 0; }}
             int main(void) {{ pthread_t t, u; pthread_create(&t, 0, f, 0); pthread_create(&u, 0, f, 0);
               pthread_join(t, 0); pthread_join(u, 0); return 0; }}"
        )
    };
    right(&text("m = 1; __VERIFIER_atomic_end();"));
    wrong(&text("__VERIFIER_atomic_end(); m = 1;"));
}

#[test]
fn cases_may_stand_inside_of_other_statements() {
    right(
        "int c; void run(int n) { int k = (n + 3) / 4;
           switch (n % 4) { case 0: do { c++; case 3: c++; case 2: c++; case 1: c++; } while (--k > 0); } }
         int main(void) { unsigned char n = __VERIFIER_nondet_uchar(); __VERIFIER_assume(n > 0 && n < 10); run(n);
           if (c != n) reach_error(); return 0; }",
    );
}

#[test]
fn a_statement_as_a_value_has_that_of_its_last_expression() {
    right(
        "int x = 3, y = 9; int main(void) { int z = ({ int a = x++; int b = y; a > b ? a : b; }) + ({ 1; 2; });
           if (z != 11 || x != 4) reach_error(); return 0; }",
    );
}

#[test]
fn an_enumeration_is_unsigned_wherever_it_is_named() {
    right(
        "enum e { A, B }; enum n { M = -1, P }; int main(void) { enum e a = A; enum n m = M;
           if (a - 1 < 0 || m - 1 >= 0 || sizeof(enum e) != 4) reach_error(); return 0; }",
    );
}

#[test]
fn what_a_program_is_started_with_can_be_counted_and_not_read() {
    let p = read("int main(int argc, char **argv) { (void)argv; if (argc < 1) reach_error(); return 0; }");
    assert!(p.to_string().contains("[1 <= main.argc && main.argc < 1]"), "{p}");
    let says = refused("int main(int argc, char **argv) {\n return argc > 1 && argv[1][0]; }");
    assert!(says.starts_with("test.c:2:") && says.contains("arguments of `main`"), "{says}");
}

#[test]
fn what_printing_returns_is_any_number() {
    let inputs = |text: &str| {
        let p = read(text);
        let count = p.threads[0].transitions.iter().filter(|t| !t.havoc.is_empty()).count();
        (count, p.threads[0].errors().count())
    };
    let asked = inputs(r#"int main(void) { if (printf("x") != 1) reach_error(); return 0; }"#);
    assert_eq!(asked, (1, 1));
    let unasked = inputs(r#"int x; int main(void) { printf("%d", x); (void)puts("y"); return 0; }"#);
    assert_eq!(unasked, (0, 0), "where nobody asks for it there is none");
}

#[test]
fn threads_made_in_a_loop_of_unknown_length_are_followed_up_to_a_bound() {
    let text = |n: u32| {
        format!(
            "int a[8], i; void *f(void *p) {{ a[*(int *)p] = 1; return 0; }}
             int main(void) {{ pthread_t t; for (i = 0; i < {n}; i++) pthread_create(&t, 0, f, &i); return 0; }}"
        )
    };
    let options = Options { rounds: 3, ..Options::default() };
    assert_eq!(states(&read_with(&text(2), &options)).errors, 0);
    assert_eq!(kind(&states(&read_with(&text(4), &options))), Some(ErrorKind::Bound));
}

#[test]
fn operands_are_evaluated_from_left_to_right_also_where_main_alone_uses_a_variable() {
    right(
        "int g; int next(void) { g += 5; return 1; } int pair(int a, int b) { return a * 10 + b; }
         int main(void) { g = 1; if (g + next() != 2) reach_error(); if (pair(g, next()) != 61) reach_error(); return 0; }",
    );
}

#[test]
fn offsets_generic_choices_and_copies_of_memory() {
    right(
        "struct in { short a, b[2]; }; struct out { char c; struct in in; union { int u; }; } o = { 1, { 2, { 3, 4 } }, { 5 } }, q;
         int main(void) { if (__builtin_offsetof(struct out, in.b[1]) != 6 || __builtin_offsetof(struct out, u) != 8) reach_error();
           long l = 0; if (_Generic(l, int: 1, long: 2, default: 3) != 2) reach_error();
           memcpy(&q, &o, sizeof q); memset(&o, 0, sizeof o); if (q.in.b[1] != 4 || q.u != 5 || o.in.a || o.u) reach_error();
           __asm__ __volatile__(\"\" ::: \"memory\"); return 0; }",
    );
}

#[test]
fn an_array_that_only_library_functions_write_is_no_constant() {
    wrong("atomic_int a[1]; int main(void) { atomic_fetch_add(a, 1); if (a[0]) reach_error(); return 0; }");
    right(
        "pthread_t t[1]; void *r[1]; void *f(void *a) { return (void *)3; }
         int main(void) { pthread_create(t, 0, f, 0); pthread_join(*t, r); if (r[0] != (void *)3) reach_error(); return 0; }",
    );
    right(
        "atomic_int x = 5; int e[1] = { 4 }; int main(void) {
           if (atomic_compare_exchange_strong(&x, e, 9) || e[0] != 5) reach_error(); return 0; }",
    );
}

#[test]
fn what_is_printed_as_a_text_is_read_to_its_end() {
    let text = |n: u32| {
        format!(r#"char m[{n}] = "abc"; int main(void) {{ m[0] = 'x'; printf("%d %s", 1, m); return 0; }}"#)
    };
    assert_eq!(states(&read(&text(4))).errors, 0);
    assert_eq!(kind(&states(&read(&text(3)))), Some(ErrorKind::InvalidPointer), "it has no end");
    right(
        r#"const char *t[2] = { "a", "b" }; int i; int main(void) { printf("%s", t[i]); puts(t[1]); return 0; }"#,
    );
}

#[test]
fn extern_in_a_block_names_the_variable_of_the_program() {
    right(
        "int x = 1; int main(void) { int x = 7; { extern int x; x = 3; } if (x != 7) reach_error();
           { extern int x; if (x != 3) reach_error(); } return 0; }",
    );
}

#[test]
fn a_label_error_is_one_like_any_other_where_there_is_a_function_for_it() {
    let label = "int x; int main(void) { if (!x) goto ERROR; return 0; ERROR: return 1; }";
    right(label);
    let options = Options { error_labels: true, ..Options::default() };
    let p = read_with(label, &options);
    assert_eq!(kind(&states(&p)), Some(ErrorKind::Assertion), "{p}");
    let both = "int x; int main(void) { if (!x) goto ERROR; reach_error(); return 0; ERROR: return 1; }";
    right(both);
    let p = read_with(both, &options);
    assert_eq!(states(&p).errors, 0, "{p}");
}

#[test]
fn a_loop_that_is_unrolled_may_have_labels_cases_and_jumps_out_of_it() {
    right(
        "int c[3]; pthread_t t[3]; void *f(void *p) { c[(long)p]++; return 0; }
         int main(void) { long i = 0;
           do { switch (i) { case 1: goto skip; default: if (pthread_create(&t[i], 0, f, (void *)i)) goto out; } skip: ; } while (++i < 3);
           pthread_join(t[0], 0); pthread_join(t[2], 0); if (c[0] != 1 || c[1] || c[2] != 1) reach_error(); return 0; out: return 1; }",
    );
    let says = refused(
        "int n; void *f(void *p) { n = 1; return 0; } int main(void) { pthread_t t;
           for (int i = 0; i < 2; i++) { again: pthread_create(&t, 0, f, 0); }
           if (__VERIFIER_nondet_bool()) goto again; return 0; }",
    );
    assert!(says.contains("a jump into a loop"), "{says}");
}

#[test]
fn a_declaration_may_leave_its_type_to_its_initialiser() {
    right(
        "atomic_int n = 3; int main(void) { int v = __extension__ ({ __auto_type p = (&n); __typeof__((void)0, *p) t;
             __atomic_load(p, &t, 5); t; }); if (v != 3) reach_error(); return 0; }",
    );
}

#[test]
fn comments_are_taken_in_what_is_preprocessed_and_lines_stay() {
    right(
        "/* one\n two */ char *s = \"// no /* comment\"; // one more '\n int main(void) { if (s[0] != '/') reach_error(); return 0; }",
    );
    let says = refused("/* one\n two */ // three\n float f; int main(void) { return f; }");
    assert!(says.starts_with("test.c:3:"), "{says}");
}

#[test]
fn the_size_of_floating_point_types_is_known() {
    right(
        "struct m { char c; float f; double d; long double l; }; int main(void) {
           if (sizeof(float) != 4 || sizeof(double) != 8 || sizeof(struct m) != 32) reach_error(); return 0; }",
    );
}

#[test]
fn an_input_is_read_where_its_atomic_block_begins_and_that_is_one_place() {
    let text = |input: &str| {
        format!(
            "int w, x; void *f(void *p) {{ __VERIFIER_atomic_begin();
               while (w != 0) {{ __VERIFIER_atomic_end(); __VERIFIER_atomic_begin(); }} x = {input}; __VERIFIER_atomic_end(); return 0; }}
             int main(void) {{ pthread_t t; w = 1; pthread_create(&t, 0, f, 0); w = 0; if (x > 1) reach_error(); return 0; }}"
        )
    };
    right(&text("1"));
    let says = refused(&text("__VERIFIER_nondet_bool()"));
    assert!(says.contains("begins in several places"), "{says}");
}

fn with_assert(text: &str) -> model::Program {
    read(&format!("{ASSERT} {text}"))
}

#[test]
fn a_function_that_returns_nothing_where_it_should_returns_anything() {
    let p = read(
        "void *w(void *p) { if (!p) return (void *)1; }
         int main(void) { pthread_t t; void *r; pthread_create(&t, 0, w, &t); pthread_join(t, &r); return r != 0; }",
    );
    let inputs = |p: &model::Program| {
        p.threads.iter().flat_map(|t| &t.transitions).filter(|e| !e.havoc.is_empty()).count()
    };
    assert_eq!(inputs(&p), 1, "the result of the thread: {p}");
    let call = |claim: &str| {
        format!(
            "unsigned char f(int x) {{ if (x > 0) return 1; }}
             int main(void) {{ int y = f(1), z = f(0); assert({claim}); return 0; }}"
        )
    };
    assert_eq!(kind(&states(&with_assert(&call("y == 1 && z < 256")))), None);
    assert_eq!(kind(&states(&with_assert(&call("z != 77")))), Some(ErrorKind::Assertion));
    // What nobody looks at is no input.
    let unused = "int x; int g(int y) { x = y; } void *w(void *p) { g(1); }
         int main(void) { pthread_t t; pthread_create(&t, 0, w, 0); pthread_join(t, 0); return 0; }";
    let p = read(unused);
    assert_eq!(inputs(&p), 0, "{p}");
}

#[test]
fn what_is_declared_constant_is_not_written_through_a_pointer() {
    let write = |declaration: &str, target: &str| {
        let text = format!("{declaration} int main(void) {{ int *p = (int *){target}; *p = 2; return 0; }}");
        kind(&states(&with_assert(&text)))
    };
    assert_eq!(write("const int k = 1;", "&k"), Some(ErrorKind::InvalidPointer));
    assert_eq!(write("static const int k[2] = { 1, 2 };", "&k[1]"), Some(ErrorKind::InvalidPointer));
    assert_eq!(write("int x; int *const q = &x;", "q"), None);
    assert_eq!(write("int x; const int *q = &x;", "q"), None);
    let text =
        "const int a = 1, b = 2; const int *q = &a; int main(void) { q = &b; assert(*q == 2); return 0; }";
    assert_eq!(kind(&states(&with_assert(text))), None, "what points to it is no constant");
}
