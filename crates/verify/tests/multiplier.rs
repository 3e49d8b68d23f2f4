//! The decision diagrams of a multiplier: Qadeer's lectures give 40,563,945 nodes for all outputs at 16 bits, and 2.86 times as many for
//! each bit more.
//!
//! The number does not come with its order or its way of counting. Of those that were tried this one gives it, exactly: all bits of one
//! word and then all bits of the other, both from the most significant; edges may be complemented; a node is counted once however
//! many outputs share it, and the one leaf is counted too. Orders that interleave the words, begin with the least significant bits or turn
//! one word round, diagrams without complemented edges, and sums over outputs all have other numbers: at 10 bits, where this one has
//! 74,455 inner nodes, from 71,922 to 210,972.

use oxidd::bcdd::{BCDDFunction, new_manager};
use oxidd::{BooleanFunction, Manager, ManagerRef};

/// Nodes of the diagram of all outputs of a multiplier of words of so many bits, with room for so many nodes.
fn nodes(bits: usize, room: usize) -> usize {
    let manager = new_manager(room, room / 4, 1);
    manager.with_manager_exclusive(|m| m.add_vars(2 * bits as u32));
    let variable = |level: usize| {
        manager.with_manager_shared(|m| BCDDFunction::var(m, level as u32)).expect("room for a variable")
    };
    // Both words from the least significant bit, which is the last of its word in the order.
    let a: Vec<_> = (0..bits).map(|i| variable(bits - 1 - i)).collect();
    let b: Vec<_> = (0..bits).map(|i| variable(2 * bits - 1 - i)).collect();
    let no = manager.with_manager_shared(|m| BCDDFunction::f(m));
    let mut product = vec![no.clone(); 2 * bits];
    for (i, x) in a.iter().enumerate() {
        let mut carry = no.clone();
        for (j, y) in b.iter().enumerate() {
            let bit = &mut product[i + j];
            let add = x.and(y).expect("room");
            let half = bit.xor(&add).expect("room");
            let over = bit.and(&add).expect("room").or(&half.and(&carry).expect("room")).expect("room");
            *bit = half.xor(&carry).expect("room");
            carry = over;
        }
        product[i + bits] = carry;
    }
    // What is left when nothing else is held is the shared diagram of the outputs. Its leaf is no inner node.
    drop((a, b, no));
    let left = manager.with_manager_shared(|m| {
        m.gc();
        m.num_inner_nodes()
    });
    assert_eq!(product.len(), 2 * bits);
    left + 1
}

#[test]
fn a_multiplier_has_the_diagram_that_grows_to_that_of_the_lectures() {
    for (bits, expected) in (4..).zip([140, 404, 1_156, 3_256, 9_258, 26_217, 74_456]) {
        assert_eq!(nodes(bits, 1 << 20), expected, "{bits} bits");
    }
}

#[test]
#[ignore = "long: minutes, and up to eight gigabytes of memory"]
fn a_multiplier_of_16_bits_has_the_nodes_of_the_lectures() {
    // Room for what is made on the way as well, so that nothing has to be collected before the end.
    let rows = [(12, 22, 605_883), (14, 25, 4_955_083), (15, 27, 14_181_971), (16, 28, 40_563_945)];
    for (bits, room, expected) in rows {
        let found = nodes(bits, 1 << room);
        println!("{bits} bits: {found} nodes");
        assert_eq!(found, expected, "{bits} bits");
    }
    // 2.86 times as many for the last bit.
    assert_eq!((rows[3].2 * 100 + rows[2].2 / 2) / rows[2].2, 286);
}
