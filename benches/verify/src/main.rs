//! Every engine on every program of `programs/verify`, the programs of the paper on Impact for threads next to its times, and
//! eager search on automata next to the tables of Metzler's thesis. Tables are Markdown, on the standard output.
//!
//! Each engine runs in a process of its own: it can be ended when its time is over, and what it takes is counted for it alone.

#[path = "../../../crates/verify/tests/support/corpus.rs"]
mod corpus;
mod engines;
mod fmcad;
mod solvers;
mod traces;
mod usage;

use clap::{Parser, Subcommand};
use verify::SatSolver;

#[derive(Parser)]
#[command(about = "Which engine decides which program, and in how much time")]
struct Arguments {
    #[command(subcommand)]
    what: What,
    /// The SAT solver underneath
    #[arg(long, global = true, default_value_t)]
    sat: SatSolver,
}

#[derive(Subcommand)]
enum What {
    /// Every engine on every program
    Engines {
        /// Seconds for each
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        /// Only programs whose name has this in it
        #[arg(long, default_value = "")]
        only: String,
        /// Only these engines
        #[arg(long, value_delimiter = ',')]
        engine: Vec<String>,
        /// Mutations, too
        #[arg(long)]
        mutations: bool,
    },
    /// The programs of the FMCAD 2013 paper with `impact` and the portfolio
    Fmcad,
    /// Each SAT solver under the same engines
    Solvers {
        /// Seconds for each
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        /// Only programs whose name has this in it
        #[arg(long, default_value = "")]
        only: String,
        /// These engines
        #[arg(long, value_delimiter = ',', default_value = "portfolio,impact,predabs,bmc")]
        engine: Vec<String>,
        /// A row for each program
        #[arg(long)]
        each: bool,
    },
    /// Eager search and source sets on automata
    Traces {
        /// Sizes that take minutes, too
        #[arg(long)]
        large: bool,
    },
    /// One engine on one program: what the other processes do
    #[command(hide = true)]
    One { what: String, engine: String, seconds: f64, defines: Vec<String> },
}

fn main() {
    let Arguments { what, sat } = Arguments::parse();
    match what {
        What::Engines { seconds, only, engine, mutations } => {
            engines::table(seconds, &only, &engine, mutations, sat);
        }
        What::Fmcad => fmcad::table(sat),
        What::Solvers { seconds, only, engine, each } => solvers::table(seconds, &only, &engine, each),
        What::Traces { large } => traces::table(large),
        What::One { what, engine, seconds, defines } => engines::one(&what, &engine, seconds, sat, defines),
    }
}
