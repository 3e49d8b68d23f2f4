//! Shows the automata of a C file.
fn main() {
    let path = std::env::args().nth(1).expect("a file");
    match model::read_file(path.as_ref(), &model::Options::default()) {
        Ok(p) => print!("{p}"),
        Err(e) => println!("{e}"),
    }
}
