//! The programs of Metzler (2020), chapter 3, as C text, with the numbers of its appendix A.
#![allow(dead_code, unreachable_pub, reason = "each user of this file has its own part")]

/// A line of the appendix: time in seconds, traces, dependency checks and race checks of SDPOR, EPOR and EPOR-SH.
pub struct Row {
    /// The name there.
    pub name: &'static str,
    /// The program here.
    pub program: &'static str,
    /// Its size.
    pub size: u32,
    /// How many classes of executions it has: counted again, not taken from there.
    pub classes: u64,
    /// What is there.
    pub paper: [[f64; 4]; 3],
    /// The dependency checks that are there for the next smaller size. Their counter was never set back: for three readers and writers
    /// section 3.1 has 25 and 8, and the appendix 28 and 10, which is more by what it has for two.
    pub before: [f64; 3],
}

const TYPES: &str = "typedef unsigned long pthread_t; typedef _Atomic int atomic_int;";

/// Threads that are made in order, each with its number, and not joined.
fn main_of(n: u32) -> String {
    format!(
        "int main(void) {{ pthread_t t; for (long i = 0; i < {n}; i++) pthread_create(&t, 0, f, (void *)i); return 0; }}"
    )
}

/// The text of a program.
pub fn program(name: &str, n: u32) -> String {
    let body = match name {
        "readers-writers" => format!(
            "int x; void *f(void *p) {{ if ((long)p == 0) x = 1; else {{ int t = x; }} return 0; }} {}",
            main_of(n)
        ),
        "ring" | "ring-extended" => {
            let copy = format!(
                "__VERIFIER_atomic_begin(); x[(me + 1) % {n}] = x[me]; __VERIFIER_atomic_end();"
            );
            let twice = if name == "ring" { String::new() } else { copy.clone() };
            format!("int x[{n}]; void *f(void *p) {{ int me = (int)(long)p; {copy} {twice} return 0; }} {}", main_of(n))
        }
        "branching" => {
            let test = format!("if (x[me] == 0) x[(me + 1) % {n}] = 1;");
            format!("int x[{n}]; void *f(void *p) {{ int me = (int)(long)p; {test} {test} return 0; }} {}", main_of(n))
        }
        // Each access through the own pointer is: which one, and a step on that.
        "shared-pointer" => format!(
            "int c[2], q[2] = {{ 0, 1 }};
             void *f(void *p) {{ int me = (int)(long)p;
               for (int i = 0; i < {n}; i++) {{ int to = q[me] & 1; __sync_fetch_and_add(&c[to], 1); }}
               q[1 - me] = me; return 0; }} {}",
            main_of(2)
        ),
        "indexer" => format!(
            "atomic_int table[128];
             void *f(void *p) {{ int tid = (int)(long)p; int m = 0, w, h;
               while (m < 4) {{ w = (++m) * 11 + tid; h = (w * 7) % 128;
                 while (!__sync_bool_compare_and_swap(&table[h], 0, w)) h = (h + 1) % 128; }} return 0; }} {}",
            main_of(n)
        ),
        // The reader goes upwards, and writers read and write in two steps, as the numbers of the thesis say.
        "last-zero" => format!(
            "int a[{n}];
             void *f(void *p) {{ int j = (int)(long)p;
               if (j == {n} - 1) {{ int i = 1; while (i < {n} && a[i] != 0) i++; }}
               else {{ int t = a[j]; a[j + 1] = t + 1; }} return 0; }} {}",
            main_of(n)
        ),
        other => panic!("there is no `{other}`"),
    };
    format!("{TYPES} {body}")
}

/// Lines of the appendix.
#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    Row {
        name: "Readers-Writers",
        program: "readers-writers",
        size: 5,
        classes: 16,
        paper: [[0.015, 16.0, 607.0, 153.0], [0.012, 16.0, 92.0, 10.0], [0.012, 16.0, 92.0, 10.0]],
        before: [148.0, 33.0, 33.0],
    },
    Row {
        name: "Readers-Writers",
        program: "readers-writers",
        size: 9,
        classes: 256,
        paper: [[0.668, 256.0, 60885.0, 8193.0], [0.400, 256.0, 3204.0, 36.0], [0.403, 256.0, 3204.0, 36.0]],
        before: [21107.0, 1375.0, 1375.0],
    },
    Row {
        name: "Readers-Writers",
        program: "readers-writers",
        size: 15,
        classes: 16384,
        paper: [[116.479, 16384.0, 19429409.0, 1445889.0], [54.015, 16384.0, 393794.0, 105.0], [54.318, 16384.0, 393794.0, 105.0]],
        before: [7799839.0, 180696.0, 180696.0],
    },
    Row {
        name: "Indexer",
        program: "indexer",
        size: 11,
        classes: 1,
        paper: [[0.015, 1.0, 880.0, 946.0], [0.026, 1.0, 880.0, 946.0], [0.025, 1.0, 880.0, 946.0]],
        before: [0.0, 0.0, 0.0],
    },
    Row {
        name: "Indexer",
        program: "indexer",
        size: 12,
        classes: 8,
        paper: [[0.413, 8.0, 27072.0, 12825.0], [0.284, 8.0, 19325.0, 7961.0], [0.274, 8.0, 19325.0, 7961.0]],
        before: [880.0, 880.0, 880.0],
    },
    Row {
        name: "Indexer",
        program: "indexer",
        size: 13,
        classes: 64,
        paper: [[4.181, 64.0, 485600.0, 106214.0], [3.506, 64.0, 239590.0, 74980.0], [3.367, 64.0, 239590.0, 74980.0]],
        before: [27072.0, 19325.0, 19325.0],
    },
    Row {
        name: "Indexer",
        program: "indexer",
        size: 14,
        classes: 512,
        paper: [[49.120, 512.0, 5279831.0, 1177634.0], [44.144, 512.0, 2812237.0, 795788.0], [42.644, 512.0, 2812237.0, 795788.0]],
        before: [485600.0, 239590.0, 239590.0],
    },
    Row {
        name: "Last Zero",
        program: "last-zero",
        size: 4,
        classes: 16,
        paper: [[0.068, 16.0, 2065.0, 709.0], [0.070, 16.0, 676.0, 479.0], [0.044, 16.0, 800.0, 579.0]],
        before: [197.0, 80.0, 125.0],
    },
    Row {
        name: "Last Zero",
        program: "last-zero",
        size: 6,
        classes: 96,
        paper: [[0.911, 96.0, 66384.0, 10275.0], [0.724, 96.0, 29570.0, 7885.0], [0.633, 96.0, 19645.0, 8480.0]],
        before: [13613.0, 4976.0, 4279.0],
    },
    Row {
        name: "Last Zero",
        program: "last-zero",
        size: 10,
        classes: 2560,
        paper: [[108.007, 2560.0, 15149844.0, 1160330.0], [95.582, 2578.0, 11544604.0, 1015493.0], [94.648, 2560.0, 5405445.0, 923038.0]],
        before: [3836659.0, 2884130.0, 1464128.0],
    },
    Row {
        name: "Last Zero",
        program: "last-zero",
        size: 13,
        classes: 26624,
        paper: [[2160.776, 26624.0, 565002531.0, 29044732.0], [1441.852, 26624.0, 347226642.0, 11989526.0], [1361.417, 26624.0, 111575184.0, 14917085.0]],
        before: [175535648.0, 125302898.0, 41678637.0],
    },
    Row {
        name: "Shared Pointer",
        program: "shared-pointer",
        size: 10,
        classes: 21,
        paper: [[0.480, 21.0, 80395.0, 32777.0], [0.535, 21.0, 60546.0, 33025.0], [0.896, 21.0, 61207.0, 33655.0]],
        before: [0.0, 0.0, 0.0],
    },
    Row {
        name: "Shared Pointer",
        program: "shared-pointer",
        size: 50,
        classes: 101,
        paper: [[32.529, 101.0, 14074966.0, 3205817.0], [17.398, 101.0, 11459539.0, 3213065.0], [125.372, 101.0, 11494347.0, 3228215.0]],
        before: [6201931.0, 5042257.0, 5060976.0],
    },
    Row {
        name: "Shared Pointer",
        program: "shared-pointer",
        size: 100,
        classes: 201,
        paper: [[238.968, 201.0, 192707828.0, 24816617.0], [170.762, 201.0, 154590222.0, 24846115.0], [1531.204, 201.0, 154847568.0, 24906415.0]],
        before: [128693768.0, 102676446.0, 102871367.0],
    },
    Row {
        name: "Ring",
        program: "ring",
        size: 4,
        classes: 14,
        paper: [[0.018, 14.0, 247.0, 80.0], [0.017, 14.0, 43.0, 6.0], [0.022, 14.0, 43.0, 6.0]],
        before: [39.0, 11.0, 11.0],
    },
    Row {
        name: "Ring",
        program: "ring",
        size: 9,
        classes: 510,
        paper: [[3.530, 510.0, 191381.0, 17288.0], [1.635, 510.0, 5577.0, 36.0], [0.877, 510.0, 5577.0, 36.0]],
        before: [59947.0, 2540.0, 2540.0],
    },
    Row {
        name: "Ring",
        program: "ring",
        size: 12,
        classes: 4094,
        paper: [[57.755, 4094.0, 4498596.0, 299602.0], [17.331, 4094.0, 61507.0, 66.0], [18.373, 4094.0, 61507.0, 66.0]],
        before: [1551020.0, 27769.0, 27769.0],
    },
    Row {
        name: "Ring",
        program: "ring",
        size: 17,
        classes: 131070,
        paper: [[5984.174, 131070.0, 734642101.0, 35656128.0], [538.031, 131070.0, 2096753.0, 136.0], [708.740, 131070.0, 2096753.0, 136.0]],
        before: [278381118.0, 1084045.0, 1084045.0],
    },
    Row {
        name: "Branching",
        program: "branching",
        size: 3,
        classes: 28,
        paper: [[0.046, 28.0, 3169.0, 1105.0], [0.046, 28.0, 2206.0, 943.0], [0.055, 28.0, 2679.0, 1124.0]],
        before: [181.0, 142.0, 174.0],
    },
    Row {
        name: "Branching",
        program: "branching",
        size: 5,
        classes: 311,
        paper: [[1.180, 311.0, 145186.0, 32384.0], [1.045, 311.0, 114640.0, 26926.0], [1.458, 311.0, 143461.0, 34068.0]],
        before: [24945.0, 17296.0, 21967.0],
    },
    Row {
        name: "Branching",
        program: "branching",
        size: 7,
        classes: 3165,
        paper: [[23.737, 3165.0, 3963738.0, 665731.0], [18.819, 3165.0, 3332731.0, 505448.0], [29.320, 3165.0, 4153755.0, 677854.0]],
        before: [796033.0, 645243.0, 809098.0],
    },
    Row {
        name: "Branching",
        program: "branching",
        size: 9,
        classes: 31780,
        paper: [[588.386, 31780.0, 102640823.0, 15619776.0], [444.051, 30921.0, 68635810.0, 11463305.0], [835.651, 31775.0, 106250930.0, 17043326.0]],
        before: [19677616.0, 16091273.0, 19995225.0],
    },
    Row {
        name: "Ring Extended",
        program: "ring-extended",
        size: 3,
        classes: 90,
        paper: [[0.050, 90.0, 2264.0, 1029.0], [0.365, 90.0, 126.0, 15.0], [0.047, 72.0, 1553.0, 663.0]],
        before: [41.0, 9.0, 38.0],
    },
    Row {
        name: "Ring Extended",
        program: "ring-extended",
        size: 4,
        classes: 786,
        paper: [[0.692, 786.0, 44477.0, 14734.0], [7.826, 786.0, 1632.0, 28.0], [0.737, 786.0, 39708.0, 12722.0]],
        before: [2264.0, 126.0, 1553.0],
    },
    Row {
        name: "Ring Extended",
        program: "ring-extended",
        size: 5,
        classes: 5730,
        paper: [[7.497, 5730.0, 631224.0, 156322.0], [164.094, 5730.0, 16734.0, 45.0], [7.754, 5730.0, 565678.0, 138590.0]],
        before: [44477.0, 1632.0, 39708.0],
    },
    Row {
        name: "Ring Extended",
        program: "ring-extended",
        size: 6,
        classes: 38466,
        paper: [[70.729, 38466.0, 7537485.0, 1427204.0], [3412.561, 38466.0, 144095.0, 66.0], [72.869, 38466.0, 6747840.0, 1285045.0]],
        before: [631224.0, 16734.0, 565678.0],
    },
];
