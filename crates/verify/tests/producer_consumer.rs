//! Producers and consumers in endless loops: what a search for states cannot finish.

mod support;

use support::{producer_consumer, read, run, within};

#[test]
fn producers_and_consumers_are_proved_safe_whatever_the_size_of_the_buffer() {
    for threads in [1, 2, 4] {
        let mut nodes = Vec::new();
        for n in [5, 1000] {
            let p = read(&producer_consumer(threads, threads, n));
            let out = run("impact", &p, &within(20_000));
            assert_eq!(out.verdict.name(), "safe", "{threads}p{threads}c, {n} cells");
            nodes.push(out.count("nodes"));
        }
        assert_eq!(nodes[0], nodes[1], "the proof does not grow with the buffer");
    }
}
