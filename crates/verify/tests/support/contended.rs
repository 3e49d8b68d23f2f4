//! Random programs in which much depends on who goes first.
#![allow(dead_code, unreachable_pub, reason = "each user takes its own part")]

use crate::support::small::Rng;

/// A random program with few states in which much depends on who goes first: two or three threads, many of them in endless loops.
pub fn random_program(seed: u64) -> String {
    let mut g = Rng(seed);
    let threads = 2 + g.below(2);
    let mut text = String::from("int x, y; pthread_mutex_t m, n; sem_t s; pthread_cond_t c;\n");
    let mut left = if threads == 2 { 6 } else { 5 };
    for t in 0..threads {
        let endless = g.below(2) == 0;
        text += &format!("void *f{t}(void *p) {{ int r = 0;{}\n", if endless { " while (1) {" } else { "" });
        for _ in 0..1 + g.below(3) {
            if left == 0 {
                break;
            }
            left -= 1;
            let (v, w) = (g.of(&["x", "y"]), g.of(&["x", "y"]));
            let k = g.below(3);
            let (lock, other) = if g.below(2) == 0 { ("m", "n") } else { ("n", "m") };
            text += &match g.below(15) {
                0 => format!("{v} = {k};\n"),
                1 => format!("r = {v}; {w} = (r + 1) & 3;\n"),
                2 => format!("if ({v} == {k}) {w} = 1;\n"),
                3 => format!(
                    "pthread_mutex_lock(&{lock}); r = {v}; {w} = (r + 1) & 3; pthread_mutex_unlock(&{lock});\n"
                ),
                4 | 5 => format!("assert({v} != {});\n", 1 + k % 2),
                6 => "if (__VERIFIER_nondet_bool()) r = 1; else r = 2;\n".to_owned(),
                7 => format!("assert({v} == r || {w} != {k});\n"),
                8 => format!(
                    "sem_wait(&s); {w} = {k};{}\n",
                    if g.below(3) == 0 { "" } else { " sem_post(&s);" }
                ),
                9 => format!(
                    "__VERIFIER_atomic_begin(); __VERIFIER_assume({v} == {k}); {w} = {}; __VERIFIER_atomic_end();\n",
                    (k + 1) % 3
                ),
                10 => format!(
                    "pthread_mutex_lock(&{lock}); pthread_mutex_lock(&{other}); {v} = {k}; \
                     pthread_mutex_unlock(&{lock}); pthread_mutex_unlock(&{other});\n"
                ),
                11 => format!(
                    "pthread_mutex_lock(&m); if ({v} == {k}) pthread_cond_wait(&c, &m); pthread_mutex_unlock(&m);\n"
                ),
                12 => format!(
                    "pthread_mutex_lock(&m); {v} = {k}; pthread_cond_signal(&c); pthread_mutex_unlock(&m);\n"
                ),
                13 => format!("r = __VERIFIER_nondet_bool(); {v} = r;\n"),
                _ => format!("while ({v} == {k}) ;\n"),
            };
        }
        text += if endless { "} return 0; }\n" } else { "return 0; }\n" };
    }
    text += "int main(void) { pthread_t t[3]; sem_init(&s, 0, 1);\n";
    for t in 0..threads {
        text += &format!("pthread_create(&t[{t}], 0, f{t}, 0);\n");
    }
    // Whether the end of main ends the program before the others are done.
    if g.below(5) > 0 {
        for t in 0..threads {
            text += &format!("pthread_join(t[{t}], 0);\n");
        }
        if g.below(3) == 0 {
            text += &format!("assert(x != {});\n", g.below(3));
        }
    }
    text + "return 0; }\n"
}
