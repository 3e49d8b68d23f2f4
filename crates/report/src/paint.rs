//! Colours, or none.

/// What a piece of text means, from which its colour follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ink {
    Plain,
    Bad,
    Good,
    Warning,
    Strong,
    Faint,
    /// The lane of a thread.
    Lane(usize),
}

/// Puts colours on text, if they are wanted.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) colour: bool,
}

impl Paint {
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        const LANES: [&str; 6] = ["36", "35", "32", "34", "96", "95"];
        let code = match ink {
            Ink::Plain => "",
            Ink::Bad => "1;31",
            Ink::Good => "1;32",
            Ink::Warning => "33",
            Ink::Strong => "1",
            Ink::Faint => "2",
            Ink::Lane(i) => LANES[i % LANES.len()],
        };
        if self.colour && !code.is_empty() && !text.is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// How many columns a text takes. Every character counts as one.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// The text with spaces after it, so that it takes so many columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    format!("{text:width$}")
}

/// The text without what would move the cursor or change colours; a tab or a line end becomes a space.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text without escape sequences and control characters other than the line end. Programs put them into panic
/// messages, and a report that is written to a file must not carry them.
pub(crate) fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => {
                if chars.next_if_eq(&'[').is_some() {
                    chars.by_ref().find(|c| ('@'..='~').contains(c));
                }
            }
            '\t' => out.push_str("    "),
            '\n' => out.push('\n'),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// The text in at most so many columns, with its middle left out when it is longer.
pub(crate) fn elide(text: &str, width: usize) -> String {
    let n = columns(text);
    if n <= width {
        return text.to_owned();
    }
    let tail = width.saturating_sub(1) / 2;
    let head = width.saturating_sub(1) - tail;
    let chars: Vec<char> = text.chars().collect();
    chars[..head].iter().chain(['…'].iter().take(width.min(1))).chain(&chars[n - tail..]).collect()
}

/// The text in lines of at most so many columns, broken at spaces where there are any.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let indent: String = paragraph.chars().take_while(|c| *c == ' ').take(width / 2).collect();
        let mut line = indent.clone();
        let mut empty = true;
        for word in paragraph.split_whitespace() {
            let mut word: Vec<char> = word.chars().collect();
            if !empty && columns(&line) + 1 + word.len() > width {
                lines.push(std::mem::replace(&mut line, indent.clone()));
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            while columns(&line) + word.len() > width {
                let rest = word.split_off(width - columns(&line));
                line.extend(word);
                lines.push(std::mem::replace(&mut line, indent.clone()));
                word = rest;
            }
            line.extend(word);
            empty = false;
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_spaces_and_inside_words_only_when_it_must() {
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrap("  left: 1\n right: 2", 40), ["  left: 1", " right: 2"]);
        assert_eq!(wrap("", 4), Vec::<String>::new());
    }

    #[test]
    fn the_middle_of_a_long_name_is_left_out() {
        assert_eq!(elide("transfer-worker-1", 9), "tran…er-1");
        assert_eq!(elide("main", 4), "main");
        assert_eq!(elide("main", 1), "…");
        assert_eq!(elide("main", 0), "");
    }

    #[test]
    fn escape_sequences_do_not_survive() {
        assert_eq!(clean("\x1b[1;31mred\x1b[0m\r\nnext\x07"), "red\nnext");
        assert_eq!(one_line("a\n  b\tc"), "a b c");
    }
}
