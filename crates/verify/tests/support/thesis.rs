//! The programs of chapter 4 of Metzler's thesis, as C text. Each needs the prelude before it, and main joins all threads.
#![allow(dead_code, unreachable_pub, reason = "each user takes its own part")]

/// A program of threads that are all joined.
pub fn program(globals: &str, threads: &[&str]) -> String {
    let n = threads.len();
    let mut text = format!("{globals}\n");
    let mut main = format!("int main(void) {{ pthread_t t[{n}];\n");
    for (i, body) in threads.iter().enumerate() {
        text += &format!("void *f{i}(void *p) {{ {body} return 0; }}\n");
        main += &format!("pthread_create(&t[{i}], 0, f{i}, 0);\n");
    }
    text + &main + &format!("for (int i = 0; i < {n}; i++) pthread_join(t[i], 0);\nreturn 0; }}\n")
}

/// Figure 4.2: one producer and one consumer that fail where the buffer is full or empty.
pub fn overflowing(n: u32) -> String {
    overflowing_with(1, 1, n)
}

/// The same with more of them.
pub fn overflowing_with(producers: usize, consumers: usize, n: u32) -> String {
    let produce = format!(
        "while (1) {{ pthread_mutex_lock(&m); if (count < {n}) {{ buffer[count] = 1; count = count + 1; }} \
         else reach_error(); pthread_mutex_unlock(&m); }}"
    );
    let consume = "int item; while (1) { pthread_mutex_lock(&m); if (count > 0) { count = count - 1; item = buffer[count]; } \
         else reach_error(); pthread_mutex_unlock(&m); }";
    let mut threads = vec![&produce[..]; producers];
    threads.extend(vec![consume; consumers]);
    program(&format!("int buffer[{n}], count; pthread_mutex_t m;"), &threads)
}

/// Figure 4.10: two locks, in the second thread the other way round; or corrected.
pub fn double_lock(corrected: bool) -> String {
    let (first, second) = if corrected { ("m", "n") } else { ("n", "m") };
    program(
        "pthread_mutex_t m, n; int inside;",
        &[
            "while (1) { pthread_mutex_lock(&m); pthread_mutex_lock(&n); inside = inside + 1; assert(inside == 1); \
             inside = inside - 1; pthread_mutex_unlock(&n); pthread_mutex_unlock(&m); }",
            &format!(
                "while (1) {{ pthread_mutex_lock(&{first}); pthread_mutex_lock(&{second}); inside = inside + 1; \
                 assert(inside == 1); inside = inside - 1; pthread_mutex_unlock(&n); pthread_mutex_unlock(&m); }}"
            ),
        ],
    )
}

/// Figure 4.12: whether there is room, or an item, is asked before the lock is taken.
pub fn racy(producers: usize, consumers: usize, n: u32) -> String {
    let produce = format!(
        "while (1) {{ if (count < {n}) {{ pthread_mutex_lock(&m); assert(count < {n}); count = count + 1; pthread_mutex_unlock(&m); }} }}"
    );
    let consume = "while (1) { if (count > 0) { pthread_mutex_lock(&m); assert(count > 0); count = count - 1; pthread_mutex_unlock(&m); } }";
    let mut threads = vec![&produce[..]; producers];
    threads.extend(vec![consume; consumers]);
    program("int count; pthread_mutex_t m;", &threads)
}

/// Figure 4.14: which lock protects a block depends on whether it is busy.
pub fn file_system() -> String {
    program(
        "int block; _Bool busy, inode; pthread_mutex_t m_inode, m_busy;",
        &[
            "while (1) { pthread_mutex_lock(&m_inode); if (!inode) { pthread_mutex_lock(&m_busy); busy = 1; \
             pthread_mutex_unlock(&m_busy); inode = 1; } block = 1; assert(block == 1); pthread_mutex_unlock(&m_inode); }",
            "while (1) { pthread_mutex_lock(&m_busy); if (!busy) { block = 0; assert(block == 0); } pthread_mutex_unlock(&m_busy); }",
            "while (1) { pthread_mutex_lock(&m_inode); pthread_mutex_lock(&m_busy); inode = 0; busy = 0; \
             pthread_mutex_unlock(&m_inode); pthread_mutex_unlock(&m_busy); }",
        ],
    )
}

/// Figure 4.15: the same without locks; what must hold is assumed. The second thread asks first whether it has anything to do, or not.
pub fn declared(asks: bool) -> String {
    let second = "__VERIFIER_atomic_begin(); __VERIFIER_assume(!busy); block = 0; __VERIFIER_atomic_end();";
    let second = if asks {
        format!("while (1) {{ if (!busy) {{ {second} }} }}")
    } else {
        format!("while (1) {{ {second} }}")
    };
    program(
        "int block; _Bool busy, inode;",
        &[
            "while (1) { if (!inode) { busy = 1; inode = 1; } __VERIFIER_atomic_begin(); __VERIFIER_assume(inode && busy); \
             block = 1; __VERIFIER_atomic_end(); }",
            &second,
            "while (1) { __VERIFIER_atomic_begin(); __VERIFIER_assume(inode == busy); inode = 0; busy = 0; __VERIFIER_atomic_end(); }",
        ],
    )
}

/// Threads in a ring: each passes a value on, between two barriers.
pub fn ring(threads: usize) -> String {
    let bodies: Vec<String> = (0..threads)
        .map(|i| {
            let from = (i + threads - 1) % threads;
            format!(
                "int r; while (1) {{ r = x[{from}]; pthread_barrier_wait(&b); x[{i}] = r; pthread_barrier_wait(&c); \
                 assert(x[{i}] == r); }}"
            )
        })
        .collect();
    let bodies: Vec<&str> = bodies.iter().map(|b| &b[..]).collect();
    let text = program(&format!("int x[{threads}]; pthread_barrier_t b, c;"), &bodies);
    text.replace(
        "int main(void) {",
        &format!("int main(void) {{ pthread_barrier_init(&b, 0, {threads}); pthread_barrier_init(&c, 0, {threads});"),
    )
}

/// Wachter, Kroening, Ouaknine: what reduction and covers together may miss.
pub fn trap() -> String {
    program("int x;", &["if (__VERIFIER_nondet_bool()) x = 1; x = 0;", "assert(x == 0);"])
}
