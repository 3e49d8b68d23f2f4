//! Cycles of graphs, and who is left out on them.

use super::Search;
use super::walk::Graph;
use crate::impact::Stop;
use model::ThreadId;

/// The strongly connected component of each node (Tarjan, without recursion), and whether it has a cycle.
pub(crate) fn components(next: &[Vec<usize>]) -> (Vec<usize>, Vec<bool>) {
    let n = next.len();
    let (mut index, mut low) = (vec![usize::MAX; n], vec![0; n]);
    let (mut component, mut cyclic) = (vec![usize::MAX; n], Vec::new());
    let (mut stack, mut count) = (Vec::new(), 0);
    for root in 0..n {
        if index[root] != usize::MAX {
            continue;
        }
        let mut calls = vec![(root, 0)];
        while let Some((v, i)) = calls.pop() {
            if i == 0 {
                (index[v], low[v]) = (count, count);
                count += 1;
                stack.push(v);
            }
            if let Some(w) = next[v].get(i).copied() {
                calls.push((v, i + 1));
                if index[w] == usize::MAX {
                    calls.push((w, 0));
                } else if component[w] == usize::MAX {
                    low[v] = low[v].min(index[w]);
                }
                continue;
            }
            if low[v] == index[v] {
                let at = stack.iter().rposition(|w| *w == v).unwrap_or(0);
                let members = stack.split_off(at);
                cyclic.push(members.len() > 1 || next[v].contains(&v));
                members.iter().for_each(|w| component[*w] = cyclic.len() - 1);
            }
            if let Some((u, _)) = calls.last() {
                low[*u] = low[*u].min(low[v]);
            }
        }
    }
    (component, cyclic)
}

impl Search<'_, '_> {
    /// A thread that a cycle of a graph leaves out although it can go there.
    pub(crate) fn left_out(&mut self, graph: &Graph) -> Result<Option<ThreadId>, Stop> {
        for thread in self.run.program.thread_ids() {
            let next: Vec<Vec<usize>> = graph
                .next
                .iter()
                .map(|e| e.iter().filter(|e| e.0 != thread).map(|e| e.2).collect())
                .collect();
            let (component, cyclic) = components(&next);
            for n in 0..next.len() {
                if cyclic[component[n]] && self.ever_goes(graph.keys[n].0, thread)? {
                    return Ok(Some(thread));
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn components_are_those_nodes_that_reach_each_other() {
        let next = vec![vec![1], vec![2, 3], vec![0], vec![4], vec![3, 5], vec![], vec![6]];
        let (c, cyclic) = components(&next);
        assert!(c[0] == c[1] && c[1] == c[2] && c[3] == c[4]);
        assert!(c[0] != c[3] && c[5] != c[4] && c[6] != c[5]);
        assert!(cyclic[c[0]] && cyclic[c[3]] && cyclic[c[6]] && !cyclic[c[5]]);
    }
}
