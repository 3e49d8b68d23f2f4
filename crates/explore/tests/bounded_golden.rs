//! The programs and tables of Coons 2013: executions, local states and terminal states within each bound.
//!
//! A cell is `every interleaving / partial-order reduction that merely leaves out what is over the bound / base / all
//! optimisations`, all counting leaves: complete executions, those cut by the bound, and redundant ones. `x` says that the
//! second loses states. Then local and terminal states, and `sat` if nothing is refused.

mod support;
mod within;

use explore::{BoundKind, Meter, Mistake, Trace, mistaken};
use support::{Program, Stmt, Stmt::*};
use within::{Within, bpor, dfs, plan, program, run, run_until, wrong_bpor};

/// Depth, from 1.
const DEPTH: &str = "
G1    | 2/1x/2/2 2,0 | 4/1x/4/4 4,0 | 6/1x/6/6 4,0     | 6/1/6/1 4,1 sat    | 6/1/6/1 4,1 sat
G2    | 2/1x/2/2 2,0 | 3/2/3/3 3,0  | 3/2/3/2 5,2 sat  | 3/2/3/2 5,2 sat    | 3/2/3/2 5,2 sat
G3    | 3/3/3/3 3,0  | 6/6/6/6 9,0  | 6/6/6/6 15,6 sat | 6/6/6/6 15,6 sat   | 6/6/6/6 15,6 sat
G4    | 3/3/3/3 3,0  | 6/5x/6/6 7,0 | 6/5/6/4 10,4 sat | 6/5/6/4 10,4 sat   | 6/5/6/4 10,4 sat
G5    | 2/1x/2/2 2,0 | 4/4/4/4 4,0  | 6/4/6/6 8,0      | 6/4/6/3 10,3 sat   | 6/4/6/3 10,3 sat
G6    | 2/1x/2/2 2,0 | 4/4/4/4 4,0  | 6/6/6/6 8,0      | 6/6/6/4 12,4 sat   | 6/6/6/4 12,4 sat
G7    | 1/1/1/1 1,0  | 2/2/2/2 3,0  | 4/3/4/4 5,0      | 8/3/8/8 7,0        | 16/3/16/16 9,0
G8    | 2/2/2/2 2,0  | 2/2/2/2 4,0  | 2/2/2/2 6,0      | 2/2/2/2 8,0        | 2/2/2/2 10,0
G9    | 3/3/3/3 3,0  | 3/3/3/3 6,0  | 3/3/3/3 9,0      | 3/3/3/3 12,0       | 6/6/6/6 18,0
G10   | 2/1x/2/2 2,0 | 4/4/4/4 4,1  | 4/4/4/4 6,1      | 6/4x/6/6 10,1      | 6/6/6/6 10,1
G11   | 2/1x/2/2 2,0 | 4/1x/4/4 4,0 | 7/1x/7/6 5,1     | 8/1x/8/7 6,1       | 8/3/8/2 6,2 sat
G12   | 1/1/1/1 1,0  | 1/1/1/1 2,0  | 1/1/1/1 3,0      | 1/1/1/1 4,1 sat    | 1/1/1/1 4,1 sat
G12b  | 2/1x/2/2 2,0 | 3/1x/3/3 3,0 | 3/2/3/3 3,0      | 3/3/3/3 4,0        | 3/3/3/1 5,1 sat
G13   | 2/1x/2/2 2,0 | 4/2x/4/4 4,0 | 6/3x/6/6 6,0     | 6/3/6/2 7,2 sat    | 6/3/6/2 7,2 sat
G14   | 2/1x/2/2 2,0 | 4/1x/4/4 4,0 | 5/5/5/5 6,1      | 8/5/8/8 9,1        | 11/10/11/11 11,1
G14b  | 2/1x/2/2 2,0 | 4/4/4/4 4,0  | 5/4x/5/5 8,1     | 6/6/6/6 10,1       | 10/6x/10/10 15,1
G15   | 3/1x/3/3 3,0 | 9/1x/9/9 6,0 | 25/1x/25/25 7,0  | 62/1x/62/62 9,0    | 130/1x/130/130 9,0
G16   | 3/1x/3/3 3,0 | 8/2x/8/8 7,0 | 18/2x/18/18 9,0  | 30/6x/30/30 13,0   | 30/6/30/4 13,4 sat
G17   | 3/2x/3/3 3,0 | 7/5x/7/7 6,0 | 12/9x/12/12 8,0  | 12/9/12/5 11,4 sat | 12/9/12/5 11,4 sat
G18   | 2/1x/2/2 2,0 | 4/1x/4/4 4,1 | 5/1x/5/5 5,1     | 5/4/5/5 5,1        | 5/4/5/2 6,2 sat
G19   | 2/2/2/2 2,0  | 4/4/4/4 6,0  | 8/6x/8/8 10,0    | 16/13/16/16 18,0   | 24/15x/24/24 30,0
";

/// Contexts, from 0.
const CONTEXTS: &str = "
G1    | 2/1x/2/2 4,0 | 4/1/2/1 4,1      | 6/1/2/1 4,1      | 6/1/2/1 4,1 sat
G2    | 2/1x/2/2 3,0 | 3/2x/3/3 5,2     | 3/2/3/2 5,2 sat  | 3/2/3/2 5,2 sat
G3    | 3/3/3/3 3,0  | 6/6/6/6 9,0      | 6/6/6/6 15,6 sat | 6/6/6/6 15,6 sat
G4    | 3/3/3/3 3,0  | 6/5x/6/6 7,0     | 6/5/6/4 10,4 sat | 6/5/6/4 10,4 sat
G5    | 2/1x/2/2 4,0 | 4/4/4/4 10,2     | 6/4/4/3 10,3     | 6/4/4/3 10,3 sat
G6    | 2/1x/2/2 4,0 | 4/4/4/4 10,2     | 6/6/6/6 12,4     | 6/6/6/4 12,4 sat
G7    | 1/1/1/1 2,0  | 3/3/3/2 10,0     | 13/9/10/7 21,0   | 41/26x/32/14 31,2
G8    | 2/2/2/2 8,0  | 2/2/2/2 16,2 sat | 2/2/2/2 16,2 sat | 2/2/2/2 16,2 sat
G9    | 3/3/3/3 12,0 | 6/6/6/6 36,0     | 6/6/6/6 60,6 sat | 6/6/6/6 60,6 sat
G10   | 2/1x/2/2 8,0 | 6/6/6/3 16,3     | 6/6/6/3 16,3     | 6/6/6/3 16,3 sat
G11   | 2/1x/2/2 6,0 | 6/2/4/2 6,2      | 8/3/6/2 6,2 sat  | 8/3/6/2 6,2 sat
G12   | 1/1/1/1 2,0  | 1/1/1/1 4,1 sat  | 1/1/1/1 4,1 sat  | 1/1/1/1 4,1 sat
G12b  | 2/1x/2/2 3,0 | 3/3/3/1 5,1      | 3/3/3/1 5,1      | 3/3/3/1 5,1 sat
G13   | 2/1x/2/2 4,0 | 4/3/3/3 7,2      | 6/3/3/2 7,2      | 6/3/3/2 7,2 sat
G14   | 2/1x/2/2 6,1 | 5/5/5/4 12,2     | 8/7/7/6 14,4     | 10/9/9/4 14,4
G14b  | 2/1x/2/2 7,1 | 6/6/6/5 16,2     | 9/8/8/7 21,4     | 12/11/11/8 23,6
G15   | 3/1x/3/3 7,0 | 14/1x/10/10 9,0  | 50/2x/20/14 9,2  | 120/3/28/2 9,2
G16   | 3/1x/3/3 5,0 | 10/2x/10/10 11,0 | 22/4x/20/14 13,2 | 30/6/28/4 13,4
G17   | 3/2x/3/3 4,0 | 8/6x/8/8 8,0     | 12/9/11/6 11,4   | 12/9/11/5 11,4 sat
G18   | 2/1x/2/2 5,1 | 5/4/4/2 6,2      | 5/4/4/2 6,2      | 5/4/4/2 6,2 sat
G19   | 2/2/2/2 4,0  | 6/4x/6/6 14,0    | 14/13/13/11 29,4 | 22/15/15/9 35,9
";

/// Preemptions, from 0.
const PREEMPTIONS: &str = "
G1    | 2/1/1/1 4,1      | 4/1/1/1 4,1       | 6/1/1/1 4,1 sat    | 6/1/1/1 4,1 sat
G2    | 2/1x/2/2 5,2     | 3/2/3/2 5,2 sat   | 3/2/3/2 5,2 sat    | 3/2/3/2 5,2 sat
G3    | 6/6/6/6 15,6 sat | 6/6/6/6 15,6 sat  | 6/6/6/6 15,6 sat   | 6/6/6/6 15,6 sat
G4    | 6/5/5/4 10,4 sat | 6/5/5/4 10,4 sat  | 6/5/5/4 10,4 sat   | 6/5/5/4 10,4 sat
G5    | 2/2/2/2 8,2      | 4/4/4/3 10,3      | 6/4/4/3 10,3 sat   | 6/4/4/3 10,3 sat
G6    | 2/1x/2/2 8,2     | 4/4/4/4 12,4      | 6/6/6/4 12,4 sat   | 6/6/6/4 12,4 sat
G7    | 3/2/3/2 22,2     | 16/14/15/7 36,4   | 56/44/51/5 36,4    | 125/105/110/5 36,4
G8    | 2/2/2/2 16,2 sat | 2/2/2/2 16,2 sat  | 2/2/2/2 16,2 sat   | 2/2/2/2 16,2 sat
G9    | 6/6/6/6 60,6 sat | 6/6/6/6 60,6 sat  | 6/6/6/6 60,6 sat   | 6/6/6/6 60,6 sat
G10   | 2/1x/2/2 16,2    | 6/6/6/3 16,3 sat  | 6/6/6/3 16,3 sat   | 6/6/6/3 16,3 sat
G11   | 2/1x/2/2 6,2     | 6/2/4/2 6,2       | 8/3/6/2 6,2 sat    | 8/3/6/2 6,2 sat
G12   | 1/1/1/1 4,1 sat  | 1/1/1/1 4,1 sat   | 1/1/1/1 4,1 sat    | 1/1/1/1 4,1 sat
G12b  | 2/2/2/1 5,1      | 3/3/3/1 5,1 sat   | 3/3/3/1 5,1 sat    | 3/3/3/1 5,1 sat
G13   | 2/2/2/2 7,2      | 4/3/3/2 7,2       | 6/3/3/2 7,2 sat    | 6/3/3/2 7,2 sat
G14   | 2/1x/2/2 9,2     | 5/5/5/5 14,4      | 9/8/8/4 14,4       | 11/10/10/4 14,4 sat
G14b  | 2/1x/2/2 10,2    | 6/6/6/6 21,5      | 11/10/10/6 23,6    | 14/13/13/6 23,6 sat
G15   | 6/1x/2/2 9,2     | 30/2/4/2 9,2      | 92/3/6/2 9,2       | 172/3/6/2 9,2
G16   | 6/2/4/2 9,2      | 18/4/8/4 13,4     | 30/6/12/4 13,4 sat | 30/6/12/4 13,4 sat
G17   | 6/5/5/4 11,4     | 12/9/9/5 11,4 sat | 12/9/9/5 11,4 sat  | 12/9/9/5 11,4 sat
G18   | 2/1x/2/2 6,2     | 5/4/4/2 6,2 sat   | 5/4/4/2 6,2 sat    | 5/4/4/2 6,2 sat
G19   | 4/4/4/4 19,4     | 12/11/11/9 35,9   | 22/15/15/9 35,9    | 24/15/15/9 35,9 sat
";

/// Delta, from 0.
const DELTA: &str = "
G1    | 1/1/1/1 4,1     | 3/1/1/1 4,1      | 5/1/1/1 4,1      | 6/1/1/1 4,1 sat
G2    | 1/1/1/1 3,1     | 3/2/2/2 5,2 sat  | 3/2/2/2 5,2 sat  | 3/2/2/2 5,2 sat
G3    | 1/1/1/1 3,1     | 3/3/3/3 8,3      | 5/5/5/5 13,5     | 6/6/6/6 15,6 sat
G4    | 1/1/1/1 3,1     | 3/2/2/2 6,2      | 5/4/4/4 10,4     | 6/5/5/4 10,4 sat
G5    | 1/1/1/1 4,1     | 3/3/3/3 10,3     | 5/4/4/3 10,3     | 6/4/4/3 10,3 sat
G6    | 1/1/1/1 4,1     | 3/3/3/3 10,3     | 5/5/5/4 12,4     | 6/6/6/4 12,4 sat
G7    | 1/1/1/1 13,1    | 10/9/9/5 29,3    | 26/22/22/5 36,4  | 89/73/73/5 36,4
G8    | 1/1/1/1 8,1     | 2/2/2/2 16,2 sat | 2/2/2/2 16,2 sat | 2/2/2/2 16,2 sat
G9    | 1/1/1/1 12,1    | 3/3/3/3 32,3     | 5/5/5/5 52,5     | 6/6/6/6 60,6 sat
G10   | 1/1/1/1 8,1     | 4/4/4/3 16,3     | 6/6/6/3 16,3 sat | 6/6/6/3 16,3 sat
G11   | 1/1/1/1 5,1     | 5/2/2/2 6,2      | 7/3/3/2 6,2      | 8/3/3/2 6,2 sat
G12   | 1/1/1/1 4,1 sat | 1/1/1/1 4,1 sat  | 1/1/1/1 4,1 sat  | 1/1/1/1 4,1 sat
G12b  | 1/1/1/1 5,1     | 3/3/3/1 5,1 sat  | 3/3/3/1 5,1 sat  | 3/3/3/1 5,1 sat
G13   | 1/1/1/1 4,1     | 3/3/3/2 7,2      | 5/3/3/2 7,2      | 6/3/3/2 7,2 sat
G14   | 1/1/1/1 6,1     | 4/4/4/4 14,4     | 8/7/7/4 14,4     | 10/9/9/4 14,4
G14b  | 1/1/1/1 7,1     | 5/5/5/5 21,5     | 10/9/9/6 23,6    | 13/12/12/6 23,6
G15   | 1/1/1/1 7,1     | 6/2/2/2 9,2      | 20/3/3/2 9,2     | 48/3/3/2 9,2
G16   | 1/1/1/1 5,1     | 4/3/3/3 11,3     | 10/5/5/4 13,4    | 16/6/6/4 13,4
G17   | 1/1/1/1 4,1     | 4/2/2/2 7,2      | 7/4/5/5 11,4     | 10/8/8/5 11,4
G18   | 1/1/1/1 5,1     | 4/3/3/2 6,2      | 5/4/4/2 6,2 sat  | 5/4/4/2 6,2 sat
G19   | 1/1/1/1 6,1     | 5/4/4/4 19,4     | 12/10/10/8 32,8  | 21/14/14/9 35,9
";

/// Local depth, from 1.
const LOCAL_DEPTH: &str = "
G1    | 2/1x/1/1 2,0 | 6/1/1/1 4,1 sat | 6/1/1/1 4,1 sat  | 6/1/1/1 4,1 sat   | 6/1/1/1 4,1 sat
G2    | 2/1x/1/1 2,0 | 3/2/2/2 3,0     | 3/2/2/2 5,2 sat  | 3/2/2/2 5,2 sat   | 3/2/2/2 5,2 sat
G3    | 3/3/3/3 3,0  | 6/6/6/6 9,0     | 6/6/6/6 15,6 sat | 6/6/6/6 15,6 sat  | 6/6/6/6 15,6 sat
G4    | 3/3/3/3 3,0  | 6/5/5/4 7,1     | 6/5/5/4 10,4 sat | 6/5/5/4 10,4 sat  | 6/5/5/4 10,4 sat
G5    | 2/1x/2/2 2,0 | 4/4/4/3 4,0     | 6/4/4/3 8,1      | 6/4/4/3 10,3 sat  | 6/4/4/3 10,3 sat
G6    | 2/1x/2/2 2,0 | 4/4/4/3 4,0     | 6/6/6/4 8,0      | 6/6/6/4 12,4 sat  | 6/6/6/4 12,4 sat
G7    | 1/1/1/1 1,0  | 2/2/2/1 3,0     | 6/3/3/2 5,0      | 20/3/20/4 7,0     | 30/24/30/4 9,0
G8    | 2/2/2/2 2,0  | 2/2/2/2 4,0     | 2/2/2/2 6,0      | 2/2/2/2 8,0       | 2/2/2/2 10,0
G9    | 3/3/3/3 3,0  | 3/3/3/3 6,0     | 3/3/3/3 9,0      | 3/3/3/3 12,0      | 6/6/6/6 18,0
G10   | 2/1x/2/2 2,1 | 4/4/4/3 4,1     | 4/4/4/3 6,1      | 6/6/6/3 10,1      | 6/6/6/3 10,1
G11   | 2/1x/1/1 2,0 | 6/1x/3/2 4,1    | 7/1x/3/2 5,1     | 8/3/3/2 6,2 sat   | 8/3/3/2 6,2 sat
G12   | 1/1/1/1 1,0  | 1/1/1/1 2,0     | 1/1/1/1 3,0      | 1/1/1/1 4,1 sat   | 1/1/1/1 4,1 sat
G12b  | 2/1x/1/1 2,0 | 3/2/2/1 3,0     | 3/2/2/1 3,0      | 3/3/3/1 4,0       | 3/3/3/1 5,1 sat
G13   | 2/1x/1/1 2,0 | 4/2/2/2 4,0     | 6/3/3/2 6,1      | 6/3/3/2 7,2 sat   | 6/3/3/2 7,2 sat
G14   | 2/1x/2/2 2,0 | 4/1x/4/2 4,0    | 5/5/5/3 6,1      | 8/7/7/3 9,1       | 11/10/10/4 11,1
G14b  | 2/1x/2/2 2,0 | 4/4/4/3 4,0     | 5/4x/5/3 8,1     | 6/6/6/4 10,1      | 10/9/9/5 15,1
G15   | 6/1x/1/1 3,0 | 60/1x/3/2 6,0   | 120/3/3/2 7,0    | 210/3/3/2 9,2 sat | 210/3/3/2 9,2 sat
G16   | 4/2/2/2 3,0  | 16/4/4/4 7,0    | 24/6/6/4 9,0     | 30/6/6/4 13,4 sat | 30/6/6/4 13,4 sat
G17   | 4/3/4/3 3,0  | 9/8x/8/4 6,0    | 12/9/9/5 8,1     | 12/9/9/5 11,4 sat | 12/9/9/5 11,4 sat
G18   | 2/1x/2/2 2,0 | 4/1x/3/2 4,1    | 5/4/4/2 5,1      | 5/4/4/2 5,1       | 5/4/4/2 6,2 sat
G19   | 2/2/2/2 2,0  | 4/4/4/4 6,0     | 8/6x/8/6 10,0    | 16/15/15/9 18,0   | 24/15/15/9 30,4
";

/// Local contexts, from 0.
const LOCAL_CONTEXTS: &str = "
G1    | 6/1/1/1 4,1 sat | 6/1/1/1 4,1 sat   | 6/1/1/1 4,1 sat     | 6/1/1/1 4,1 sat
G2    | 3/2/2/2 3,0     | 3/2/2/2 5,2 sat   | 3/2/2/2 5,2 sat     | 3/2/2/2 5,2 sat
G3    | 3/3/3/3 3,0     | 6/6/6/6 9,0       | 6/6/6/6 15,6 sat    | 6/6/6/6 15,6 sat
G4    | 3/3/3/3 3,0     | 6/5/5/4 7,1       | 6/5/5/4 10,4 sat    | 6/5/5/4 10,4 sat
G5    | 4/4/4/3 4,0     | 6/4/4/3 10,3 sat  | 6/4/4/3 10,3 sat    | 6/4/4/3 10,3 sat
G6    | 4/4/4/3 4,0     | 6/6/6/4 10,2      | 6/6/6/4 12,4 sat    | 6/6/6/4 12,4 sat
G7    | 1/1/1/1 2,0     | 31/30/30/4 10,0   | 166/80/80/5 21,0    | 241/180/180/5 31,2
G8    | 2/2/2/2 8,0     | 2/2/2/2 16,2 sat  | 2/2/2/2 16,2 sat    | 2/2/2/2 16,2 sat
G9    | 3/3/3/3 12,0    | 6/6/6/6 36,0      | 6/6/6/6 60,6 sat    | 6/6/6/6 60,6 sat
G10   | 4/4/4/3 8,1     | 6/6/6/3 16,3 sat  | 6/6/6/3 16,3 sat    | 6/6/6/3 16,3 sat
G11   | 8/3/3/2 6,2 sat | 8/3/3/2 6,2 sat   | 8/3/3/2 6,2 sat     | 8/3/3/2 6,2 sat
G12   | 1/1/1/1 2,0     | 1/1/1/1 4,1 sat   | 1/1/1/1 4,1 sat     | 1/1/1/1 4,1 sat
G12b  | 3/2/2/1 3,0     | 3/3/3/1 5,1 sat   | 3/3/3/1 5,1 sat     | 3/3/3/1 5,1 sat
G13   | 4/2/2/2 4,0     | 6/3/3/2 7,2 sat   | 6/3/3/2 7,2 sat     | 6/3/3/2 7,2 sat
G14   | 5/5/5/3 6,1     | 11/10/10/4 12,2   | 11/10/10/4 14,4 sat | 11/10/10/4 14,4 sat
G14b  | 4/4/4/3 7,1     | 6/6/6/4 16,2      | 14/13/13/6 21,4     | 14/13/13/6 23,6 sat
G15   | 120/3/3/2 7,0   | 210/3/3/2 9,2 sat | 210/3/3/2 9,2 sat   | 210/3/3/2 9,2 sat
G16   | 6/2/2/2 5,0     | 28/6/6/4 11,2     | 30/6/6/4 13,4 sat   | 30/6/6/4 13,4 sat
G17   | 5/5/5/4 4,0     | 12/9/9/5 8,1      | 12/9/9/5 11,4 sat   | 12/9/9/5 11,4 sat
G18   | 5/4/4/2 5,1     | 5/4/4/2 6,2 sat   | 5/4/4/2 6,2 sat     | 5/4/4/2 6,2 sat
G19   | 2/2/2/2 4,0     | 14/13/13/7 14,0   | 22/15/15/9 29,5     | 24/15/15/9 35,9 sat
";

/// Fair, from 0: `every interleaving / base / optimised`.
const FAIR: &str = "
F1    | 3/2/2 6,2          | 5/4/4 10,3      | 7/6/5 14,4         | 9/8/6 18,5
F2    | 40/5/5 16,4        | 710/69/49 35,9  | 9968/923/463 60,16
F3    | 30/6/6 20,4        | 287/59/59 50,11 | 1062/207/174 92,21 | 2767/496/380 146,34
F4    | 462404/42/66 96,16
";

/// Preemptions, from 0, with fair=1: `every interleaving / base / tr,at,ro,bo`.
const FAIR_AND_PREEMPTIONS: &str = "
F1    | 3/3/3 10,3            | 5/3/3 10,3     | 5/3/3 10,3
F2    | 36/19/19 35,9         | 180/19/19 35,9 | 448/19/19 35,9
F3    | 9/9/9 46,9            | 43/21/21 50,11 | 122/26/26 50,11
F4    | 6710/1612/1612 457,82
";

/// No bound: every interleaving, steps, local states, terminal states; base, tr, ro, tr+at+ro, all five (redundant ones);
/// source sets with tr, ro and ss; deadlocks.
const UNBOUNDED: &str = "
G1    | 6 18 4 1 1 1 1 1 1(0) 1(0) 0
G2    | 3 8 5 2 2 2 2 2 2(0) 2(0) 0
G3    | 6 15 15 6 6 6 6 6 6(0) 6(0) 0
G4    | 6 15 10 4 5 5 5 5 4(0) 4(0) 0
G5    | 6 18 10 3 4 4 4 4 3(0) 3(0) 0
G6    | 6 18 12 4 6 6 6 6 4(0) 4(0) 0
G7    | 251 1419 36 4 220 165 31 20 5(1) 5(1) 0
G8    | 2 16 16 2 2 2 2 2 2(0) 2(0) 0
G9    | 6 60 60 6 6 6 6 6 6(0) 6(0) 0
G10   | 6 28 16 3 6 6 4 4 3(0) 3(0) 2
G11   | 8 23 6 2 3 3 3 3 2(0) 2(0) 8
G12   | 1 4 4 1 1 1 1 1 1(0) 1(0) 0
G12b  | 3 14 5 1 3 2 2 1 1(0) 1(0) 0
G13   | 6 18 7 2 3 2 3 2 2(0) 2(0) 0
G14   | 11 38 14 4 10 10 7 7 4(0) 4(0) 1
G14b  | 14 51 23 6 13 13 10 10 6(0) 6(0) 1
G15   | 210 649 9 2 3 3 3 3 2(0) 2(0) 0
G16   | 30 89 13 4 6 6 6 6 4(0) 4(0) 0
G17   | 12 34 11 4 9 9 9 9 5(1) 5(1) 0
G18   | 5 18 6 2 4 4 3 3 2(0) 2(0) 1
G19   | 24 78 35 9 15 15 15 15 9(0) 9(0) 0
";

/// The numbers of a cell.
struct Cell<'a> {
    executions: Vec<u64>,
    naive_loses: bool,
    states: (usize, usize),
    saturated: bool,
    text: &'a str,
}

fn cell(text: &str) -> Cell<'_> {
    let mut words = text.split_whitespace();
    let executions = words.next().unwrap();
    let (local, terminal) = words.next().unwrap().split_once(',').unwrap();
    Cell {
        executions: executions.split('/').map(|n| n.trim_end_matches('x').parse().unwrap()).collect(),
        naive_loses: executions.contains('x'),
        states: (local.parse().unwrap(), terminal.parse().unwrap()),
        saturated: words.next() == Some("sat"),
        text,
    }
}

fn rows(table: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    table.trim().lines().map(|l| {
        let mut cells = l.split('|').map(str::trim);
        (cells.next().unwrap(), cells.collect())
    })
}

/// Compares a table; gives what is not as it says.
fn compare(table: &str, kind: BoundKind, from: u32, wrong: &mut Vec<String>) {
    for (name, cells) in rows(table) {
        let p = program(name);
        for (k, text) in cells.iter().enumerate() {
            let c = cell(text);
            let at = [(kind, from + k as u32)];
            let oracle = dfs(&p, &at, u64::MAX);
            let naive = wrong_bpor(&p, &at, "none", Mistake::Naive);
            let base = wrong_bpor(&p, &at, "none", Mistake::PointsAsPrinted);
            let all = if kind == BoundKind::Depth {
                wrong_bpor(&p, &at, "all", Mistake::DepthAsUnstable)
            } else {
                // Ours leaves out a point between the start of a thread and a join of it, which saves an execution of G7.
                wrong_bpor(&p, &at, "all", Mistake::StartMeetsJoin)
            };
            assert_eq!(oracle.counts(), c.states, "{name} at {at:?}: {}", c.text);
            assert_eq!(oracle.leaves, c.executions[0], "{name} at {at:?}: {}", c.text);
            assert_eq!(oracle.saturated, c.saturated, "{name} at {at:?}: {}", c.text);
            for s in [&base, &all, &bpor(&p, &at, "none", u64::MAX), &bpor(&p, &at, "all", u64::MAX)] {
                assert_eq!(s.sets(), oracle.sets(), "{name} at {at:?} loses states");
            }
            let found = [oracle.leaves, naive.leaves, base.leaves, all.leaves];
            if found[..] != c.executions[..] || (naive.sets() != oracle.sets()) != c.naive_loses {
                wrong.push(format!("{name} {:?}: {found:?} instead of {}", at[0], c.text));
            }
        }
    }
}

#[test]
fn the_tables_of_each_bound_hold() {
    let mut wrong = vec![];
    compare(DEPTH, BoundKind::Depth, 1, &mut wrong);
    compare(CONTEXTS, BoundKind::Contexts, 0, &mut wrong);
    compare(PREEMPTIONS, BoundKind::Preemptions, 0, &mut wrong);
    compare(DELTA, BoundKind::Delta, 0, &mut wrong);
    compare(LOCAL_DEPTH, BoundKind::LocalDepth, 1, &mut wrong);
    compare(LOCAL_CONTEXTS, BoundKind::LocalContexts, 0, &mut wrong);
    assert!(wrong.is_empty(), "{} cells:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_unbounded_table_holds() {
    let mut wrong = vec![];
    for (name, cells) in rows(UNBOUNDED) {
        let p = program(name);
        let numbers: Vec<&str> = cells[0].split_whitespace().collect();
        let n = |k: usize| numbers[k].parse::<u64>().unwrap();
        let oracle = dfs(&p, &[], u64::MAX);
        let (local, terminal) = oracle.counts();
        let of_oracle = [oracle.leaves, oracle.edges, local as u64, terminal as u64, oracle.stuck];
        assert_eq!(of_oracle, [n(0), n(1), n(2), n(3), n(10)], "{name}");
        for (k, on) in ["none", "tr", "ro", "tr,at,ro", "tr,at,ro,ss"].into_iter().enumerate() {
            let seen: Within = wrong_bpor(&p, &[], on, Mistake::StartMeetsJoin);
            let ours = bpor(&p, &[], on, u64::MAX);
            assert_eq!(ours.sets(), oracle.sets(), "{name} with {on}");
            assert!(ours.leaves <= seen.leaves, "{name} with {on}");
            assert_eq!(seen.sets(), oracle.sets(), "{name} with {on}");
            assert!(seen.saturated);
            let found = if on.contains("ss") {
                format!("{}({})", seen.leaves, seen.blocked)
            } else {
                seen.leaves.to_string()
            };
            if found != numbers[4 + k] {
                wrong.push(format!("{name} with {on}: {found} instead of {}", numbers[4 + k]));
            }
        }
        // A race is between steps with nothing in between and that could be turned round: that is tr and ro.
        let source = run(&p, plan("source", &[], "all").search(Meter::unlimited()).unwrap(), u64::MAX);
        assert_eq!(source.terminals, oracle.terminals, "{name}: source");
        // The reference answers races of steps that are only announced. Ours waits until they are taken, and so leaves out the one
        // redundant execution that the reference has of G7 and of G17.
        let found = format!("{}(0)", source.leaves);
        let expected = numbers[9].replace("5(1)", "4(0)");
        if found != expected || source.blocked > 0 {
            wrong.push(format!("{name} by source sets: {found} instead of {}", numbers[9]));
        }
    }
    assert!(wrong.is_empty(), "{} cells:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_tables_of_fair_bounds_hold() {
    let mut wrong = vec![];
    for (table, more, on) in
        [(FAIR, None, "all"), (FAIR_AND_PREEMPTIONS, Some(BoundKind::Preemptions), "tr,at,ro,bo")]
    {
        for (name, cells) in rows(table) {
            let p = program(name);
            for (k, text) in cells.iter().enumerate() {
                let c = cell(text);
                let k = k as u32;
                let at = match more {
                    None => vec![(BoundKind::Fair, k)],
                    Some(kind) => vec![(kind, k), (BoundKind::Fair, 1)],
                };
                if c.executions[0] > 20_000 {
                    // Too many to run here: the states of the table stand for those of every interleaving.
                    let base = wrong_bpor(&p, &at, "none", Mistake::PointsAsPrinted);
                    let all = bpor(&p, &at, on, u64::MAX);
                    assert_eq!((base.counts(), all.counts()), (c.states, c.states), "{name} at {at:?}");
                    if [base.leaves, all.leaves] != c.executions[1..] {
                        wrong.push(format!(
                            "{name} {at:?}: {}/{} instead of {}",
                            base.leaves, all.leaves, c.text
                        ));
                    }
                    continue;
                }
                let oracle = dfs(&p, &at, u64::MAX);
                assert_eq!(oracle.leaves, c.executions[0], "{name} at {at:?}: {}", c.text);
                assert_eq!(oracle.counts(), c.states, "{name} at {at:?}: {}", c.text);
                let base = wrong_bpor(&p, &at, "none", Mistake::PointsAsPrinted);
                let all = bpor(&p, &at, on, u64::MAX);
                for s in [&base, &all, &bpor(&p, &at, "all", u64::MAX), &bpor(&p, &at, "none", u64::MAX)] {
                    assert_eq!(s.sets(), oracle.sets(), "{name} at {at:?} loses states");
                }
                let found = [oracle.leaves, base.leaves, all.leaves];
                // The one cell that depends on who begins among equally cheap threads. The reference takes the one that has yielded
                // least, as for a fair bound alone, and so does the base here: 1612. Ours lets the running thread go on,
                // and has the same states in 939.
                let expected = match name {
                    "F4" if at.len() == 2 => [6710, 1612, 939],
                    _ => [c.executions[0], c.executions[1], c.executions[2]],
                };
                if found != expected {
                    wrong.push(format!("{name} {at:?}: {found:?} instead of {}", c.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells:\n{}", wrong.len(), wrong.join("\n"));
}

/// Which leaf is the first that shows the failure, and how many there are.
fn first_failure(name: &str, kind: BoundKind, c: u32, on: Option<&str>) -> (Option<u64>, u64) {
    let at = [(kind, c)];
    let mut search = match on {
        None => plan("none", &at, "all").search(Meter::unlimited()).unwrap(),
        Some("none") => mistaken(&plan("bpor", &at, "none"), Mistake::PointsAsPrinted).unwrap(),
        Some(on) => mistaken(&plan("bpor", &at, on), Mistake::StartMeetsJoin).unwrap(),
    };
    let fails = |trace: &Trace, stuck: bool| match name {
        // The main thread reads last, and should read 2.
        "G7" => trace.events().iter().rfind(|e| e.thread.0 == 0).is_some_and(|e| e.value != 2),
        _ => stuck,
    };
    let seen = run_until(&program(name), &mut *search, u64::MAX, 400, fails);
    (seen.first, seen.leaves)
}

#[test]
fn the_smallest_bound_that_exposes_a_bug_is_as_told() {
    use BoundKind::*;
    // The bound, and then for every interleaving, base and all optimisations: which leaf is the first to fail, of how many.
    let table = [
        ("G7", Contexts, 4u32, Some([(13, 89), (10, 68), (2, 19)])),
        ("G7", Preemptions, 1, Some([(7, 16), (6, 15), (2, 7)])),
        ("G7", Delta, 1, Some([(7, 10), (6, 9), (2, 5)])),
        ("G7", Depth, 13, None),
        ("G7", LocalContexts, 4, Some([(16, 251), (11, 220), (2, 5)])),
        ("G7", LocalDepth, 13, None),
        ("G10", Contexts, 1, Some([(3, 6), (3, 6), (2, 3)])),
        ("G10", Preemptions, 1, Some([(3, 6), (3, 6), (2, 3)])),
        ("G10", Delta, 1, Some([(3, 4), (3, 4), (2, 3)])),
        ("G10", Depth, 2, None),
        ("G10", LocalContexts, 0, None),
        ("G10", LocalDepth, 1, None),
    ];
    for (name, kind, c, found) in table {
        for (k, on) in [None, Some("none"), Some("all")].into_iter().enumerate() {
            let at = format!("{name} within {}={c} with {on:?}", kind.name());
            if let Some(less) = c.checked_sub(1) {
                assert_eq!(first_failure(name, kind, less, on).0, None, "{at}");
            }
            let (first, leaves) = first_failure(name, kind, c, on);
            match found {
                Some(f) => assert_eq!((first, leaves), (Some(f[k].0), f[k].1), "{at}"),
                None => assert!(first.is_some(), "{at}"),
            }
        }
    }
}

#[test]
fn without_a_fair_bound_programs_that_spin_do_not_end() {
    for name in ["F1", "F3", "F4"] {
        let mut search = plan("bpor", &[], "none").search(Meter::unlimited()).unwrap();
        let seen = run_until(&program(name), &mut *search, u64::MAX, 200, |_, _| false);
        assert!(seen.too_long > 0, "{name}");
        assert_eq!(seen.leaves, 101, "{name}");
    }
}

/// Threads that a main thread spawns and joins; what it does in between.
fn with_main(threads: Vec<Vec<Stmt>>, between: Vec<Stmt>) -> Program {
    let n = threads.len() as u8;
    let mut main: Vec<Stmt> = (1..=n).map(Spawn).collect();
    main.extend(between);
    main.extend((1..=n).map(Join));
    let threads = std::iter::once(main).chain(threads).collect();
    Program { threads, spawned: (1..=n).collect(), count: 2, ..Program::default() }
}

#[test]
fn classes_within_preemptions_are_as_another_tool_counts_them() {
    let fib = |n: usize| {
        let side = |x: u8, y: u8| vec![vec![Read(x, 0), Read(y, 1), Write(x, 1)]; n].concat();
        with_main(vec![side(0, 1), side(1, 0)], vec![Read(0, 0), Read(1, 0)])
    };
    let readers = |n: usize| {
        let mut threads = vec![vec![Write(0, 1)]];
        threads.extend(vec![vec![Read(0, 0)]; n]);
        with_main(threads, vec![])
    };
    // Thread 0 reads from the last variable down until it finds a zero; thread j makes variable j one more than j - 1.
    let last_zero = |n: u8| {
        let reads = (1..=n).fold(vec![Read(0, 0)], |rest, j| vec![Read(j, 0), IfElse(0, 0, vec![], rest)]);
        let steps = (1..=n).map(|j| vec![Read(j - 1, 0), WriteReg(j, 0, 1)]);
        with_main(std::iter::once(reads).chain(steps).collect(), vec![])
    };
    let rotation = |n: u64| with_main((1..=n).map(|i| vec![Cas(0, i - 1, i, 0)]).collect(), vec![]);
    // The main thread counts up an index and spawns, again and again; each thread writes where the index then points.
    let sigma = |n: u8| {
        let mut main: Vec<Stmt> = (1..=n).flat_map(|t| [Read(0, 0), WriteReg(0, 0, 1), Spawn(t)]).collect();
        main.extend((1..=n).map(Join));
        let mut thread = vec![Read(0, 0)];
        thread.extend((1..=n).map(|i| If(0, i as u64, vec![Write(i, 1)])));
        let threads = std::iter::once(main).chain(vec![thread; n as usize]).collect();
        Program { threads, spawned: (1..=n).collect(), count: 2, ..Program::default() }
    };
    let counted: [(&str, Program, &[usize]); 11] = [
        ("readers(2)", readers(2), &[4, 4, 4]),
        ("readers(4)", readers(4), &[16, 16]),
        ("lastzero(3)", last_zero(3), &[12, 12, 12]),
        ("lastzero(5)", last_zero(5), &[64]),
        ("binc(3)", with_main(vec![vec![Add(0), Add(1)]; 3], vec![]), &[6, 24, 36]),
        ("casrot(5)", rotation(5), &[43]),
        ("sigma(2)", sigma(2), &[2, 3]),
        ("sigma(3)", sigma(3), &[6, 14, 15]),
        ("sigma(4)", sigma(4), &[24, 82, 104, 105]),
        ("fib_bench(2)", fib(2), &[2, 13, 49, 114, 139, 140]),
        ("fib_bench(3)", fib(3), &[2, 17, 102, 401, 936, 1485, 1680, 1698]),
    ];
    for (name, p, counts) in counted {
        for (k, count) in (0..).zip(counts) {
            let seen = bpor(&p, &[(BoundKind::Preemptions, k)], "all", u64::MAX);
            assert_eq!(seen.terminals.len(), *count, "{name} within {k} preemptions");
        }
    }
}

#[test]
#[ignore = "takes a minute: 462,404 executions"]
fn every_interleaving_of_a_chain_that_is_fair_is_as_told() {
    let (p, at) = (program("F4"), [(BoundKind::Fair, 0)]);
    let oracle = dfs(&p, &at, u64::MAX);
    assert_eq!((oracle.leaves, oracle.counts()), (462_404, (96, 16)));
    for on in ["none", "all"] {
        assert_eq!(bpor(&p, &at, on, u64::MAX).sets(), oracle.sets(), "{on}");
    }
}
