//! What the caller decides about the looks of a report.

/// How a report is to look.
///
/// ```
/// let style = report::Style { width: 80, ..report::Style::for_test(Some("bank::transfer")) };
/// assert_eq!(
///     style.command.unwrap(),
///     "RADDLE_REPLAY={token} cargo test bank::transfer -- --exact --nocapture"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colours. The caller decides: on a terminal, unless `NO_COLOR` is set.
    pub colour: bool,
    /// How many columns there are.
    pub width: usize,
    /// The command that runs a failure again, with `{token}` where the replay token goes.
    pub command: Option<String>,
    /// Whether to show who did what.
    pub show_trace: bool,
    /// The most rows of a trace to show; the rest is left out, and the report says so.
    pub rows: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style { colour: false, width: 100, command: None, show_trace: true, rows: 200 }
    }
}

impl Style {
    /// The style for a test: libtest gives each test's thread the test's name, and that is enough to run it again.
    /// Without a name, the report says which variable to set.
    pub fn for_test(name: Option<&str>) -> Style {
        let command = name.filter(|name| !name.is_empty() && *name != "main").map(|name| {
            format!("RADDLE_REPLAY={{token}} cargo test {} -- --exact --nocapture", quoted(name))
        });
        Style { command, ..Style::default() }
    }

    /// How to run one failure again.
    pub(crate) fn replay_command(&self, token: &str) -> String {
        match &self.command {
            Some(command) => command.replace("{token}", token),
            None => format!("set RADDLE_REPLAY={token} and run the same program again"),
        }
    }
}

/// A word a shell reads as one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-:./".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
