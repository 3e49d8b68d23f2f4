//! The goldens of the lectures, and what must fail when an outline or its program is changed.

use super::*;
use ConditionKind::*;

/// The types of pthreads, on the first line.
const PRELUDE: &str = "typedef unsigned long pthread_t; typedef struct { int dummy; } pthread_mutex_t; ";

fn outline(text: &str) -> Outline {
    match try_outline(text) {
        Ok(o) => o,
        Err(e) => panic!("{e}"),
    }
}

fn try_outline(text: &str) -> Result<Outline, Refusal> {
    let file = Annotated::read_text("o.c", &format!("{PRELUDE}{text}"), &model::Options::default())?;
    // Much more than it takes: what is not decided fails a test, also on a machine that has much else to do.
    check_outline(&file, 300.0)
}

fn pattern(o: &Outline, kind: ConditionKind) -> String {
    let one = |c: &Condition| match c.status {
        Status::Holds => 'v',
        Status::Fails(_) => 'I',
        Status::Unknown(_) => '?',
    };
    o.conditions.iter().filter(|c| c.kind == kind).map(one).collect()
}

const FIND: &str = "\n/*@ requires len >= 0 && \\valid(a + (0 .. len - 1));
    ensures \\result >= 0 ==> a[\\result] == n;
    ensures \\result < 0 ==> \\forall integer j; 0 <= j < len ==> a[j] != n; */
int find(int a[], int len, int n) {
  int i = 0;
  BOUNDS
  ABSENT
  while (i < len) {
    if (a[i] == n) return i;
    i++;
  }
  return -1;
}";
const BOUNDS: &str = "//@ loop invariant 0 <= i <= len;";
const ABSENT: &str = "//@ loop invariant \\forall integer j; 0 <= j < i ==> a[j] != n;";

fn find(bounds: bool, absent: bool) -> Outline {
    let text = FIND.replace("BOUNDS", if bounds { BOUNDS } else { "" });
    let none = if bounds { "" } else { "//@ loop invariant \\true;" };
    outline(&text.replace("ABSENT", if absent { ABSENT } else { none }))
}

#[test]
fn find_has_four_triples_and_each_invariant_is_needed_for_one_of_them() {
    // The start, `return i`, the round, `return -1`; and the index is within the array.
    let both = find(true, true);
    assert_eq!(both.count(Triple), 4);
    assert_eq!(pattern(&both, Triple), "vvvv", "{both:?}");
    assert_eq!(pattern(&both, Check), "v");
    let unbounded = find(false, true);
    assert_eq!(pattern(&unbounded, Triple), "vIvv", "{unbounded:?}");
    let failing = unbounded.failing().find(|c| c.kind == Triple).unwrap();
    assert!(failing.steps.contains(&9), "the return of i: {failing:?}");
    assert_eq!(pattern(&unbounded, Check), "I", "nothing keeps the index from being negative");
    let unseen = find(true, false);
    assert_eq!(pattern(&unseen, Triple), "vvvI", "{unseen:?}");
    let failing = unseen.failing().next().unwrap();
    assert_eq!(failing.to.line, 4, "the second of the `ensures`: {failing:?}");
    let Status::Fails(example) = &failing.status else { panic!("it fails") };
    assert!(example.before.iter().any(|(name, _)| name.starts_with("a[")), "{example:?}");
}

const INCREMENT: &str = "int x; pthread_mutex_t l;
void *A(void *p) {
  int t;
  L0: //@ assert (B@M0 ==> x == 0) && (B@M5 ==> x == 1);
    pthread_mutex_lock(&l);
  L1: //@ assert (B@M0 ==> x == 0) && (B@M5 ==> x == 1) && held(l);
    t = x;
  L2: //@ assert (B@M0 ==> x == 0) && (B@M5 ==> x == 1) && held(l) && t == x;
    t = t + 1;
  L3: //@ assert (B@M0 ==> x == 0) && (B@M5 ==> x == 1) && held(l) && t == x + 1;
    x = t;
  L4: //@ assert (B@M0 ==> x == 1) && (B@M5 ==> x == 2) && held(l);
    pthread_mutex_unlock(&l);
  L5: //@ assert (B@M0 ==> x == 1) && (B@M5 ==> x == 2);
    return 0;
}
void *B(void *p) {
  int t;
  M0: //@ assert (A@L0 ==> x == 0) && (A@L5 ==> x == 1);
    pthread_mutex_lock(&l);
  M1: //@ assert (A@L0 ==> x == 0) && (A@L5 ==> x == 1) && held(l, B);
    t = x;
  M2: //@ assert (A@L0 ==> x == 0) && (A@L5 ==> x == 1) && held(l, B) && t == x;
    t = t + 1;
  M3: //@ assert (A@L0 ==> x == 0) && (A@L5 ==> x == 1) && held(l, B) && t == x + 1;
    x = t;
  M4: //@ assert (A@L0 ==> x == 1) && (A@L5 ==> x == 2) && held(l, B);
    pthread_mutex_unlock(&l);
  M5: //@ assert (A@L0 ==> x == 1) && (A@L5 ==> x == 2);
    return 0;
}
//@ ensures x == 2;
int main(void) {
  pthread_t a, b;
  pthread_create(&a, 0, A, 0); pthread_create(&b, 0, B, 0);
  pthread_join(a, 0); pthread_join(b, 0);
  return 0;
}";

fn counts(o: &Outline) -> (usize, usize, usize) {
    (o.count(Sequential), o.count(Interference), o.count(Initial) + o.count(Final))
}

#[test]
fn the_outline_of_the_lectures_has_72_conditions_and_all_hold() {
    let o = outline(INCREMENT);
    assert_eq!(counts(&o), (10, 60, 2));
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{:?}", o.failing().next());
    assert_eq!(o.count(Check), 2, "each thread gives back a lock that it has");
    assert!(o.remarks.is_empty(), "{:?}", o.remarks);
}

#[test]
fn four_conditions_of_the_lectures_fail_if_it_is_not_assumed_where_the_asserting_thread_is() {
    let file =
        Annotated::read_text("o.c", &format!("{PRELUDE}{INCREMENT}"), &model::Options::default()).unwrap();
    let contracts = Contracts::of(&file).unwrap();
    let noted = file.program().unwrap().unwrap();
    let mut o = Outline::default();
    threads::check_assuming(&file, &noted, &contracts, 300.0, false, &mut o).unwrap();
    assert_eq!(counts(&o), (10, 60, 2));
    assert_eq!(pattern(&o, Interference).matches('I').count(), 4, "{:?}", o.failing().next());
    assert_eq!(o.failing().count() + o.undecided().count(), 4, "all others hold");
}

#[test]
fn an_outline_that_says_too_little_or_something_wrong_fails() {
    let line = |n: usize| INCREMENT.lines().nth(n - 1).unwrap();
    for (what, text) in [
        ("without a lock at L2", INCREMENT.replace(line(8), &line(8).replace(" && held(l)", ""))),
        ("x = 0 at L4", INCREMENT.replace(line(12), &line(12).replace("B@M0 ==> x == 1", "B@M0 ==> x == 0"))),
        (
            "without lock operations",
            INCREMENT.replace("pthread_mutex_lock(&l);", ";").replace("pthread_mutex_unlock(&l);", ";"),
        ),
        ("another end", INCREMENT.replace("ensures x == 2", "ensures x == 3")),
        ("another start", INCREMENT.replace("int x;", "int x = 1;")),
    ] {
        let o = outline(&text);
        assert_eq!(
            o.conditions.len(),
            outline(INCREMENT).conditions.len() - if what.contains("operations") { 2 } else { 0 },
            "{what}"
        );
        let failing: Vec<&Condition> = o.failing().collect();
        assert!(!failing.is_empty(), "{what}");
        assert!(failing.iter().all(|c| c.from.line > 0 && c.to.line > 0), "two places: {failing:?}");
    }
}

#[test]
fn what_fails_is_shown_with_both_places_and_values() {
    let text = INCREMENT.replace("held(l) && t == x;", "t == x;");
    let o = outline(&text);
    // Nothing keeps B from writing x while A is at L2.
    let c = o.failing().find(|c| c.kind == Interference && c.to.line == 8).unwrap();
    assert_eq!((c.of.as_str(), c.from.line), ("B", 25), "{c:?}");
    assert_eq!(c.steps, [26]);
    let Status::Fails(e) = &c.status else { panic!("it fails") };
    assert!(e.before.contains(&("A at".to_owned(), "L2".to_owned())), "{e:?}");
    assert!(e.before.contains(&("B at".to_owned(), "M3".to_owned())), "{e:?}");
    assert!(e.before.contains(&("l".to_owned(), "held by B".to_owned())), "{e:?}");
    assert!(e.after.iter().any(|(name, _)| name == "x"), "{e:?}");
}

#[test]
fn blocks_that_are_atomic_need_annotations_at_their_ends_alone() {
    // What stands inside of the locks goes: 2 + 4 + 2 conditions instead of 72.
    let inside =
        |l: &str| ["L1:", "L2:", "L3:", "L4:", "M1:", "M2:", "M3:", "M4:"].iter().any(|n| l.contains(n));
    let text: Vec<&str> = INCREMENT.lines().map(|l| if inside(l) { "" } else { l }).collect();
    let o = outline(&text.join("\n"));
    assert_eq!(counts(&o), (2, 4, 2), "{:?}", o.remarks);
    assert_eq!(o.failing().count() + o.undecided().count(), 0);
    // Without the lock the places inside stay, and nothing is known there.
    let open =
        text.join("\n").replace("pthread_mutex_lock(&l);", "").replace("pthread_mutex_unlock(&l);", "");
    let o = outline(&open);
    assert!(counts(&o).0 > 2 && o.failing().count() > 0);
    assert!(o.remarks.iter().any(|r| r.contains("taken as \\true")), "{:?}", o.remarks);
}

#[test]
fn what_a_function_returns_and_what_was_before_can_be_spoken_of() {
    let text = |ensures: &str| {
        format!(
            "int g;
            /*@ requires 0 <= n <= 1000;
                ensures {ensures}; */
            int add(int n) {{ int m = n; g = g + n; n = 0; return m + 1; }}"
        )
    };
    for (ensures, holds) in [
        ("\\result == n + 1", true),
        ("\\result == 1", false),
        ("g == \\old(g) + n || \\old(g) > 2000000000", true),
        ("g == \\old(g)", false),
    ] {
        let o = outline(&text(ensures));
        assert_eq!(o.failing().count() == 0, holds, "{ensures}");
        assert_eq!(o.undecided().count(), 0, "{ensures}");
    }
}

#[test]
fn a_function_that_returns_zero_does_so() {
    assert_eq!(outline("//@ ensures \\result == 0;\nint f(int n) { return 0; }").failing().count(), 0);
    assert_eq!(outline("//@ ensures \\result == 1;\nint f(int n) { return 0; }").failing().count(), 1);
}

#[test]
fn writes_to_arrays_are_followed() {
    let text = |invariant: &str| {
        format!(
            "/*@ requires n >= 0 && \\valid(a + (0 .. n - 1));
                 ensures \\forall integer j; 0 <= j < n ==> a[j] == 7; */
            void fill(int *a, int n) {{
              int i;
              /*@ loop invariant 0 <= i <= n;
                  loop invariant \\forall integer j; {invariant}; */
              for (i = 0; i < n; i++) a[i] = 7;
            }}"
        )
    };
    let o = outline(&text("0 <= j < i ==> a[j] == 7"));
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
    let o = outline(&text("0 <= j < i - 1 ==> a[j] == 7"));
    assert!(o.failing().count() > 0, "the last cell is not spoken of");
}

#[test]
fn an_index_past_the_end_and_a_division_by_zero_are_checks() {
    let o = outline(
        "/*@ requires n > 0 && \\valid(a + (0 .. n - 1)); */
        int last(int *a, int n, int d) { return a[n] / d; }",
    );
    assert_eq!(o.count(Check), 2);
    assert_eq!(o.failing().filter(|c| c.kind == Check).count(), 2, "{o:?}");
    let o = outline(
        "/*@ requires n > 0 && \\valid(a + (0 .. n - 1)) && d > 0; */
        int last(int *a, int n, int d) { return a[n - 1] / d; }",
    );
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
}

#[test]
fn memory_that_may_be_the_same_must_be_said_to_be_apart() {
    let text = |apart: &str| {
        format!(
            "/*@ requires \\valid(a) && \\valid(b){apart};
                 ensures b[0] == \\old(b[0]); */
            void set(int *a, int *b) {{ a[0] = b[0] + 1; }}"
        )
    };
    let e = try_outline(&text("")).unwrap_err();
    assert!(e.reason.contains("\\separated(a, b)"), "{e}");
    let o = outline(&text(" && \\separated(a, b)"));
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
}

#[test]
fn an_assertion_on_the_way_is_checked_and_then_known() {
    let o = outline(
        "/*@ ensures \\result > 0; */ int f(int n) { if (n < 1) n = 1;\n //@ assert n >= 1;\n return n; }",
    );
    assert_eq!(o.count(Assertion), 2, "one for each way");
    assert_eq!(o.failing().count(), 0);
    let o = outline("int f(int n) { n = n / 2;\n //@ assert n >= 0;\n return n; }");
    assert_eq!(o.failing().count(), 1);
}

#[test]
fn what_was_never_set_has_any_value_also_before_it_is_set() {
    let text = "void *f(void *a) { int x; int *p = &x;
        //@ assert x == 0;
        x = 5;
        //@ assert x == 5;
        return p; }
        int main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); return 0; }";
    assert_eq!(outline(text).failing().count(), 1);
    assert_eq!(outline(&text.replace("x == 0", "x == x")).failing().count(), 0);
}

#[test]
fn a_loop_without_an_invariant_and_names_that_are_not_known_are_refused_with_their_lines() {
    for (text, line, part) in [
        (
            "\n//@ ensures \\result == n;\nint f(int n) { int i = 0;\nwhile (i < n) i++;\nreturn i; }",
            4,
            "`loop invariant`",
        ),
        ("\n//@ requires m > 0;\nint f(int n) { return n; }", 2, "`m` is not known here"),
        ("\n//@ requires \\result > 0;\nint f(int n) { return n; }", 2, "\\result"),
        (
            "\nint x; void *A(void *p) {\n//@ assert B@L;\nx = 1; return 0; }\nint main(void) { pthread_t a; pthread_create(&a, 0, A, 0); return 0; }",
            3,
            "no thread `B`",
        ),
        (
            "\nint x; void *A(void *p) {\n//@ assert x >= 0;\nx = 1; return 0; }\nint main(void) { pthread_t a; pthread_create(&a, 0, A, 0); x = 2;\npthread_join(a, 0); return 0; }",
            5,
            "while they run",
        ),
        ("\n//@ ensures \\result == 0;", 2, "expected a function after this"),
    ] {
        let e = try_outline(text).unwrap_err();
        assert_eq!(e.line, line, "{text}: {e}");
        assert!(e.reason.contains(part), "{text}: {e}");
    }
}

#[test]
fn a_ticket_that_only_one_thread_has_keeps_the_other_out() {
    // A turn instead of a lock: annotations speak of shared variables and of where the other thread is.
    let text = |phi: &str| {
        format!(
            "int turn, x;
            void *A(void *p) {{
              //@ assert turn == 0 || turn == 1;
              while (turn != 0) {{ }}
              C: //@ assert {phi};
                x = 1;
              //@ assert turn == 0;
              turn = 1;
              D: //@ assert \\true;
              return 0;
            }}
            void *B(void *p) {{
              //@ assert turn == 0 || turn == 1;
              while (turn != 1) {{ }}
              E: //@ assert turn == 1;
                x = 2;
              F: //@ assert turn == 1 && x == 2;
              return 0;
            }}
            //@ ensures x == 2;
            int main(void) {{ pthread_t a, b; pthread_create(&a, 0, A, 0); pthread_create(&b, 0, B, 0);
              pthread_join(a, 0); pthread_join(b, 0); return 0; }}"
        )
    };
    let o = outline(&text("turn == 0"));
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{:#?}\n{:?}", o.failing().next(), o.remarks);
    assert!(outline(&text("turn == 0 || turn == 1")).failing().count() > 0);
}

/// Random formulas over small numbers: what holds must hold for all of them, and what fails must fail for some.
#[test]
fn answers_about_quantified_formulas_agree_with_trying_all_values() {
    let mut g = crate::testing::Rng(7);
    let (mut held, mut failed) = (0, 0);
    for _ in 0..120 {
        let (c, k, d) = (g.below(3), g.below(3), g.below(3));
        let rel = |n: u64| ["<", "<=", "==", "!="][n as usize];
        let (r, s, q) = (rel(g.below(4)), rel(g.below(4)), ["forall", "exists"][g.below(2) as usize]);
        let (glue, other) = if q == "forall" { ("==>", "==>") } else { ("&&", "&&") };
        let text = format!(
            "enum {{ N = 3 }}; signed char a[3];
            /*@ requires 0 <= i <= N && \\forall integer j; 0 <= j < N ==> 0 <= a[j] <= 2;
                requires \\{q} integer j; 0 <= j < i {glue} a[j] {r} {c};
                ensures \\{q} integer j; {k} <= j < i {other} a[j] {s} {d}; */
            void f(int i) {{ a[0] = a[0]; }}"
        );
        let o = outline(&text);
        assert_eq!(o.undecided().count(), 0, "{text}");
        let compare = |r: &str, x: i64, y: i64| match r {
            "<" => x < y,
            "<=" => x <= y,
            "==" => x == y,
            _ => x != y,
        };
        let all = |from: i64, to: i64, a: [i64; 3], r: &str, c: i64| {
            let mut range = (from..to).map(|j| compare(r, a[j as usize], c));
            if q == "forall" { range.all(|b| b) } else { range.any(|b| b) }
        };
        let mut expected = true;
        for i in 0..=3i64 {
            for n in 0..27 {
                let a = [n % 3, n / 3 % 3, n / 9];
                if all(0, i, a, r, c as i64) && !all(k as i64, i, a, s, d as i64) {
                    expected = false;
                }
            }
        }
        assert_eq!(o.failing().count() == 0, expected, "{text}");
        held += usize::from(expected);
        failed += usize::from(!expected);
    }
    assert!(held > 15 && failed > 15, "{held} hold, {failed} fail");
}

const ADD: &str = "int g, h;
/*@ requires 0 <= n < 1000;
    REST */
int add(int n) { g = n; return n + 1; }
";

#[test]
fn a_call_claims_what_is_required_and_knows_what_is_ensured_and_nothing_else() {
    let text = |ensures: &str, argument: &str, claim: &str| {
        let caller = format!(
            "/*@ requires h == 7; ensures {claim}; */ int caller(void) {{ g = 3; return add({argument}); }}"
        );
        outline(&format!("{}{caller}", ADD.replace("REST", ensures)))
    };
    let full = "assigns g; ensures g == n && \\result == n + 1;";
    let o = text(full, "5", "g == 5 && \\result == 6 && h == 7");
    assert_eq!((o.count(Call), o.count(Triple)), (1, 2), "{o:?}");
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
    assert!(o.remarks.is_empty(), "{:?}", o.remarks);
    // What the body does besides is not known where it is called.
    let o = text("ensures \\result == n + 1;", "5", "g == 5");
    assert_eq!(pattern(&o, Triple).matches('I').count(), 1, "{o:?}");
    // What was before is not known any more, unless it is not assigned.
    assert_eq!(text("ensures \\result > 0;", "5", "g == 3").failing().count(), 1);
    assert_eq!(text("ensures \\result > 0;", "5", "h == 7").failing().count(), 0);
    // What it may assign by its own word it may.
    assert_eq!(text("assigns g, h; ensures \\result > 0;", "5", "h == 7").failing().count(), 1);
    let o = text(full, "-1", "\\true");
    let failing: Vec<&Condition> = o.failing().collect();
    assert_eq!(failing.len(), 1, "{failing:?}");
    assert_eq!((failing[0].kind, failing[0].of.as_str(), failing[0].to.line), (Call, "caller", 2));
    // A function that does not do what it says is wrong itself, once, and its callers believe it.
    let o = text("ensures \\result == n;", "5", "\\result == 5");
    assert_eq!(o.failing().map(|c| c.of.as_str()).collect::<Vec<_>>(), ["add"]);
}

#[test]
fn what_was_before_a_call_is_what_was_there_then() {
    let text = |claim: &str| {
        outline(&format!(
            "int g; struct {{ int a, b; }} s;
            /*@ assigns g, s.a; ensures g == \\old(g) + 1 && s.a == \\old(g) + \\old(s.b); */ void more(void) {{ s.a = g + s.b; g = g + 1; }}
            /*@ requires g == 1 && s.b == 10; ensures {claim}; */ void twice(void) {{ more(); more(); }}"
        ))
    };
    let o = text("g == 3 && s.a == 12 && s.b == 10");
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
    assert_eq!(text("g == 2").failing().count(), 1);
    assert_eq!(text("s.a == 11").failing().count(), 1);
}

#[test]
fn a_function_that_calls_itself_is_proved_by_its_contract() {
    let text = |ensures: &str| {
        outline(&format!(
            "/*@ requires 0 <= n <= 1000; assigns \\nothing; ensures {ensures}; */
            int twice(int n) {{ if (n == 0) return 0; return twice(n - 1) + 2; }}"
        ))
    };
    let o = text("\\result == 2 * n");
    assert_eq!((o.count(Call), o.count(Triple)), (1, 2), "{o:?}");
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
    assert!(text("\\result == 2 * n + 1").failing().count() > 0);
    assert!(text("\\result == n").failing().count() > 0);
}

#[test]
fn arrays_are_passed_by_name_to_a_function_with_a_contract() {
    let find = FIND.replace("BOUNDS", BOUNDS).replace("ABSENT", ABSENT);
    let text = |claim: &str, array: &str| {
        let caller = format!(
            "\nint table[4];\n/*@ requires len >= 0 && \\valid(b + (0 .. len - 1));\n ensures \\result == 0 ==> {claim}; */
            int contains(int *b, int len, int n) {{ return find({array}) >= 0; }}"
        );
        outline(&format!("{find}{caller}"))
    };
    let o = text("\\forall integer j; 0 <= j < len ==> b[j] != n", "b, len, n");
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
    assert_eq!((o.count(Call), o.count(Triple)), (1, 4 + 1), "the loop is followed once: {o:?}");
    assert!(text("\\forall integer j; 0 <= j <= len ==> b[j] != n", "b, len, n").failing().count() > 0);
    let o = text("\\forall integer j; 0 <= j < 4 ==> table[j] != n", "table, 4, n");
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
    assert!(text("\\true", "table, 5, n").failing().any(|c| c.kind == Call), "it has four cells");
    // A pointer into an array has no name: the function is read in place, and that is said.
    let o = outline(
        "int table[4]; /*@ requires \\valid(a); ensures \\result == a[0]; */ int first(int *a) { return a[0]; }
        //@ ensures \\result == table[1];
        int second(void) { return first(table + 1); }",
    );
    assert_eq!((o.count(Call), o.failing().count() + o.undecided().count()), (0, 0), "{o:?}");
    assert!(o.remarks.iter().any(|r| r.contains("`first` is read in place")), "{:?}", o.remarks);
}

#[test]
fn what_is_known_after_a_call_in_a_loop_is_not_known_at_its_head() {
    let text = |invariant: &str| {
        outline(&format!(
            "int g; //@ assigns g; ensures g == 1;
            void set(void) {{ g = 1; }}
            /*@ requires g == 0 && n > 0; ensures g == 1; */
            void f(int n) {{ int i = 0;
            //@ loop invariant 0 <= i <= n; loop invariant {invariant};
            while (i < n) {{ set(); i++; }} }}"
        ))
    };
    assert!(text("g == 0").failing().count() > 0);
    assert!(text("g == 1").failing().count() > 0, "not at the beginning");
    let o = text("i == 0 ? g == 0 : g == 1");
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
}

#[test]
fn assigns_must_name_everything_and_what_has_no_name_is_read_in_place() {
    for (text, line, part) in [
        ("int g, h;\n//@ assigns g;\nvoid f(void) { g = 1; h = 2; }", 2, "`f` may assign `h`"),
        ("int g;\n//@ assigns \\nothing;\nvoid f(void) { if (g) g = 1; }", 2, "may assign `g`"),
        ("int a[3];\n//@ assigns \\nothing;\nvoid f(void) { a[1] = 1; }", 2, "may assign `a`"),
        ("int g;\n//@ assigns n;\nvoid f(int n) { n = 1; }", 2, "expected global variables"),
        // Also what a function assigns that it calls.
        (
            "int g;\n//@ ensures \\true;\nvoid e(void) { g = 1; }\n//@ assigns \\nothing;\nvoid f(void) { e(); }",
            4,
            "may assign `g`",
        ),
    ] {
        let e = try_outline(text).unwrap_err();
        assert_eq!(e.line, line, "{text}: {e}");
        assert!(e.reason.contains(part), "{text}: {e}");
    }
    let o = outline(
        "struct { int x; } a[3]; //@ ensures \\true;
        void e(void) { a[1].x = 1; }
        //@ ensures \\true;
        void f(void) { e(); }",
    );
    assert_eq!((o.count(Call), o.failing().count() + o.undecided().count()), (0, 0), "{o:?}");
    assert!(o.remarks.iter().any(|r| r.contains("`e` is read in place")), "{:?}", o.remarks);
}

/// A function that exchanges two cells, by contract, and one that sorts with it.
const SORT: &str = "\
/*@ requires \\valid(a + i) && \\valid(a + j);
  @ assigns a;
  @ ensures a[i] == \\old(a[j]) && a[j] == \\old(a[i])REST; */
void swap(int *a, int i, int j) { int t = a[i]; a[i] = a[j]; a[j] = t; }
/*@ requires 0 < n && \\valid(a + (0 .. n - 1));
  @ ensures \\forall integer k, l; 0 <= k <= l < n ==> a[k] <= a[l]; */
void sort(int *a, int n) {
  int i, j;
  /*@ loop invariant 0 <= i <= n;
    @ loop invariant \\forall integer k, l; 0 <= k <= l < i ==> a[k] <= a[l];
    @ loop invariant \\forall integer k; \\forall integer l; 0 <= k < i ==> i <= l < n ==> a[k] <= a[l]; */
  for (i = 0; i < n; i++) {
    /*@ loop invariant 0 <= i < n && i + 1 <= j <= n;
      @ loop invariant \\forall integer k, l; 0 <= k <= l < i ==> a[k] <= a[l];
      @ loop invariant \\forall integer k, l; 0 <= k < i <= l < n ==> a[k] <= a[l];
      @ loop invariant \\forall integer l; i <= l < j ==> a[i] <= a[l]; */
    for (j = i + 1; j < n; j++)
      if (a[j] < a[i]) swap(a, i, j);
  }
}
";

#[test]
fn sorting_is_proved_with_the_contract_of_swap_and_not_without_what_it_leaves_alone() {
    let rest = "&& \\forall integer k; 0 <= k < \\length(a) && k != i && k != j ==> a[k] == \\old(a[k])";
    let main = "int d[8]; //@ ensures d[0] <= d[7];\nint main(void) { d[0] = 4; sort(d, 8); return 0; }";
    let o = outline(&format!("{}{main}", SORT.replace("REST", rest)));
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
    assert_eq!((o.count(Call), o.remarks.len()), (2, 0), "{o:?}");
    // Nothing is known of the cells that the contract does not speak of.
    let o = outline(&SORT.replace("REST", ""));
    assert!(o.failing().count() + o.undecided().count() > 0, "{o:?}");
    let bad = SORT.replace("a[j] < a[i]", "a[j] > a[i]").replace("REST", rest);
    assert!(outline(&bad).failing().count() > 0);
}

#[test]
fn a_call_may_change_all_cells_of_the_arrays_that_it_assigns_and_of_no_others() {
    let text = |call: &str, claim: &str| {
        outline(&format!(
            "int g[3], h[3];
            /*@ requires \\valid(a); assigns a; ensures a[0] == \\old(a[0]) + 1; */ void more(int *a) {{ a[0] = a[0] + 1; }}
            /*@ assigns h; ensures h[0] == 1; */ void set(void) {{ h[0] = 1; }}
            /*@ requires g[0] == 1 && g[1] == 2 && h[0] == 3 && h[1] == 4; ensures {claim}; */ void f(void) {{ {call} }}"
        ))
    };
    for (call, claim, holds) in [
        ("more(g);", "g[0] == 2 && h[0] == 3 && h[1] == 4", true),
        ("more(g); more(g);", "g[0] == 3", true),
        ("more(g); more(g);", "g[0] == 2", false),
        ("more(g); more(h);", "g[0] == 2 && h[0] == 4", true),
        ("more(g);", "g[1] == 2", false),
        ("set();", "h[0] == 1 && g[1] == 2", true),
        ("set();", "h[1] == 4", false),
        ("set(); more(h);", "h[0] == 2 && \\old(h[0]) == 3", true),
        ("h[1] = 7; set();", "h[1] == 7", false),
        ("set(); h[1] = 7;", "h[1] == 7 && h[0] == 1", true),
        ("int l[2]; l[0] = 5; l[1] = 6; more(l); g[0] = l[0];", "g[0] == 6 && g[1] == 2", true),
        ("int l[2]; l[0] = 5; l[1] = 6; more(l); g[0] = l[1];", "g[0] == 6", false),
    ] {
        let o = text(call, claim);
        assert_eq!((o.undecided().count(), o.remarks.len()), (0, 0), "{call}: {o:?}");
        assert_eq!(o.failing().count() == 0, holds, "{call} {claim}: {o:?}");
    }
}

#[test]
fn arguments_that_must_be_apart_and_are_the_same_are_followed_into_the_function() {
    let text = |call: &str, claim: &str| {
        outline(&format!(
            "int g[2], h[2];
            /*@ requires \\valid(a) && \\valid(b) && \\separated(a, b); assigns a; ensures a[0] == 1 && b[0] == \\old(b[0]); */
            void set(int *a, int *b) {{ a[0] = 1; }}
            /*@ requires g[0] == 3; ensures {claim}; */ void f(void) {{ {call} }}"
        ))
    };
    let o = text("set(h, g);", "h[0] == 1 && g[0] == 3");
    assert_eq!((o.count(Call), o.failing().count() + o.undecided().count()), (1, 0), "{o:?}");
    let o = text("set(g, g);", "g[0] == 3");
    assert_eq!(o.count(Call), 0, "{o:?}");
    assert!(o.failing().count() > 0, "{o:?}");
    assert_eq!(text("set(g, g);", "g[0] == 1").failing().count(), 0);
}

#[test]
fn what_something_was_is_what_it_is_where_it_never_changes() {
    let o = outline(
        "/*@ requires n >= 0 && \\valid(a + (0 .. n - 1)) && \\valid(b + (0 .. n - 1)) && \\separated(a, b);
            ensures \\forall integer k; 0 <= k < n ==> b[k] == \\old(a[n - 1 - k]); */
        void turn(int *a, int *b, int n) { int i = 0;
        /*@ loop invariant 0 <= i <= n;
            loop invariant \\forall integer k; 0 <= k < i ==> b[k] == \\old(a[n - 1 - k]); */
        while (i < n) { b[i] = a[n - 1 - i]; i++; } }",
    );
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
}

#[test]
fn a_pointer_that_moves_and_what_was_before_an_inlined_call_have_no_name() {
    for (text, line, part) in [
        (
            "//@ requires \\valid(a + (0 .. 1)) && a[0] == 5;\nvoid f(int *a) { a++;\n//@ assert a[0] == 5;\na[0] = 1; }",
            3,
            "a pointer that moves",
        ),
        (
            "int g; void e(int n) { int i = 0;\n//@ loop invariant g == \\old(g);\nwhile (i < n) i++; }
            //@ ensures g == 7;\nint main(void) { g = 7; e(3); return 0; }",
            2,
            "it needs a contract",
        ),
    ] {
        let e = try_outline(text).unwrap_err();
        assert_eq!(e.line, line, "{e}");
        assert!(e.reason.contains(part), "{e}");
    }
    // What it points to at the beginning has one, in what is ensured.
    let o = outline(
        "//@ requires \\valid(a + (0 .. 1)); ensures a[0] == 1 && a[1] == 2;
        void f(int *a) { *a = 1; a++; *a = 2; }",
    );
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
    // A function without a contract may speak of the array that it got.
    let o = outline(
        "int d[4]; void fill(int *a, int n) { int i = 0;
        //@ loop invariant 0 <= i <= n && n == 4 && \\forall integer k; 0 <= k < i ==> a[k] == 7;
        while (i < n) { a[i] = 7; i++; } }
        //@ ensures d[3] == 7;
        int main(void) { fill(d, 4); return 0; }",
    );
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
}

#[test]
fn memory_that_only_formulas_speak_of_must_be_apart_too() {
    let e = try_outline(
        "int g; /*@ requires \\valid(b); ensures b[0] == \\old(b[0]); */ void set(int *b) { g = 1; }",
    )
    .unwrap_err();
    assert!(e.reason.contains("\\separated(b, g)"), "{e}");
}

/// Small functions with contracts and callers that claim something: where all conditions hold, every run keeps the claim.
#[test]
fn what_holds_by_contract_holds_in_every_run() {
    let bodies = ["g = n;", "g = g + n;", "if (n > 1) g = 0;", "", "h = g; g = n;"];
    let ensures =
        ["g == n", "g == \\old(g) + n", "g >= 0", "\\true", "h == \\old(g) && g == n", "n > 1 ==> g == 0"];
    let claims = ["g == 2", "g >= 0", "h == 1", "g == 3", "h == 0 || g == 2"];
    let (mut held, mut not) = (0, 0);
    for body in bodies {
        for ensured in ensures {
            for claim in claims {
                let text = format!(
                    "int g, h; /*@ ensures {ensured}; */ void f(int n) {{ {body} }}
                    //@ ensures {claim};
                    int main(void) {{ g = 1; h = 0; f(2); if (!({claim})) reach_error(); return 0; }}"
                );
                let o = outline(&text);
                assert_eq!(o.undecided().count(), 0, "{text}");
                if o.failing().count() > 0 {
                    not += 1;
                    continue;
                }
                held += 1;
                let plain: String = text
                    .replace("/*", "\n")
                    .replace("*/", "\n")
                    .lines()
                    .filter(|l| !l.contains('@'))
                    .collect();
                let p = crate::testing::read(&plain);
                use crate::Engine;
                let found = crate::explicit::Explicit.verify(&p, &crate::Options::default());
                assert_eq!(found.verdict.name(), "safe", "{text}");
            }
        }
    }
    assert!(held > 10 && not > 50, "{held} hold, {not} do not");
}

#[test]
fn the_calls_of_the_page_on_outlines_are_told_apart() {
    let text = |most: &str| {
        format!(
            "int calls;
/*@ requires 0 <= n <= 1000 && 0 <= calls <= {most};
  @ assigns calls;
  @ ensures \\result == 2 * n && calls == \\old(calls) + n + 1; */
int twice(int n) {{
  calls = calls + 1;
  if (n == 0) return 0;
  return twice(n - 1) + 2;
}}"
        )
    };
    let o = outline(&text("1000000"));
    let failing: Vec<(ConditionKind, u32, &[u32])> =
        o.failing().map(|c| (c.kind, c.to.line, &c.steps[..])).collect();
    assert_eq!(failing, [(Call, 2, &[6, 7, 8][..])]);
    let o = outline(&text("1000000 - n"));
    assert_eq!(o.failing().count() + o.undecided().count(), 0, "{o:?}");
}
