//! Lines over a pair of axes, as SVG.
//!
//! The picture brings its own colours, for a light and for a dark page, and needs nothing else: no script, no font, no file.
//! Series are told apart by colour and, from the ninth on, by dashes too. One that runs over an earlier one is dashed as well, so that
//! the earlier one shows through. The legend is beside the plot, so that it hides nothing.

use crate::numbers::{short_count, short_duration};
use crate::paint::one_line;
use std::fmt::Write;

/// How the horizontal axis is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart. Points at or below 0 are drawn at the left edge.
    Log,
}

/// What the horizontal axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Whole things, from 1.
    Count,
    /// Seconds and parts of them.
    Seconds,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A full circle: the search is complete.
    Finished,
    /// An open circle: it would have gone on.
    Stopped,
    /// A cross: it found a failure.
    Failed,
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// From left to right; the vertical values are percentages.
    pub points: Vec<(f64, f64)>,
    /// How it ends.
    pub mark: Mark,
}

/// A plot of percentages.
///
/// ```
/// use report::plot::{Mark, Plot, Scale, Series, Unit};
/// let plot = Plot {
///     title: "two threads".into(),
///     x_label: "executions".into(),
///     y_label: "classes seen, %".into(),
///     unit: Unit::Count,
///     scale: Scale::Linear,
///     series: vec![Series { name: "optimal".into(), points: vec![(1.0, 50.0), (2.0, 100.0)], mark: Mark::Finished }],
/// };
/// let svg = plot.svg();
/// assert!(svg.starts_with("<svg") && svg.contains("optimal"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// Above the plot.
    pub title: String,
    /// Below the horizontal axis.
    pub x_label: String,
    /// Beside the vertical axis.
    pub y_label: String,
    /// Of the horizontal axis.
    pub unit: Unit,
    /// Of the horizontal axis.
    pub scale: Scale,
    /// The lines.
    pub series: Vec<Series>,
}

/// The plot inside its margins.
const LEFT: f64 = 64.0;
const TOP: f64 = 48.0;
const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 320.0;
const BELOW: f64 = 56.0;
/// A line of the legend.
const ROW: f64 = 20.0;
/// How wide a character of the legend is taken to be.
const CHARACTER: f64 = 7.0;

/// Blue, vermilion, green, pink, ochre, sky, violet, grey: apart also for those who see fewer colours.
const LIGHT: [&str; 8] =
    ["#0068b0", "#d04a00", "#00865f", "#b8478a", "#a87400", "#3a9fd8", "#6d4aa8", "#5f6368"];
const DARK: [&str; 8] =
    ["#5aaeea", "#ff8a4a", "#35cf9f", "#f09bcb", "#f2bf4b", "#9bd8ff", "#bb9cf0", "#b4b8bd"];
const DASHES: [&str; 4] = ["", "6 4", "2 3", "9 3 2 3"];

impl Plot {
    /// The picture.
    pub fn svg(&self) -> String {
        let names = self.series.iter().map(|s| one_line(&s.name).chars().count()).max().unwrap_or(0);
        let marks = self.legend_of_marks();
        let beside = (names.max(marks.iter().map(|m| m.1.len()).max().unwrap_or(0)) as f64 * CHARACTER
            + 56.0)
            .max(120.0);
        let width = LEFT + WIDTH + 24.0 + beside;
        let rows = (self.series.len() + marks.len() + 1) as f64 * ROW;
        let height = TOP + HEIGHT.max(rows) + BELOW;
        let mut out = String::new();
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\" aria-label=\"{}\">",
            escape(&self.title)
        );
        out.push_str(&styles());
        let _ = writeln!(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>");
        let _ = writeln!(out, "<text class=\"title\" x=\"{LEFT}\" y=\"26\">{}</text>", escape(&self.title));
        self.axes(&mut out);
        for (i, series) in self.series.iter().enumerate() {
            self.line(&mut out, i, series);
        }
        self.legend(&mut out, &marks);
        out.push_str("</svg>\n");
        out
    }

    /// The least and the greatest horizontal value.
    fn range(&self) -> (f64, f64) {
        let all = || self.series.iter().flat_map(|s| s.points.iter().map(|p| p.0)).filter(|x| x.is_finite());
        let most = all().fold(if self.unit == Unit::Count { 1.0 } else { 1e-6 }, f64::max);
        match self.scale {
            Scale::Linear => (0.0, most),
            Scale::Log => (all().filter(|x| *x > 0.0).fold(most, f64::min), most),
        }
    }

    fn x(&self, value: f64) -> f64 {
        let (least, most) = self.range();
        let part = match self.scale {
            Scale::Linear => value / most,
            Scale::Log if most > least => (value.max(least) / least).ln() / (most / least).ln(),
            Scale::Log => 1.0,
        };
        LEFT + part.clamp(0.0, 1.0) * WIDTH
    }

    fn ticks(&self) -> Vec<f64> {
        let (least, most) = self.range();
        match self.scale {
            Scale::Linear => {
                let step = round_step(most / 5.0);
                let step = if self.unit == Unit::Count { step.max(1.0) } else { step };
                (0..).map(|i| i as f64 * step).take_while(|x| *x <= most * 1.0001).collect()
            }
            Scale::Log => {
                let decades = (most.log10().floor() - least.log10().floor()) as i32;
                // A tick at 2 and 5 as well while there is room for the numbers.
                let within: &[f64] = if decades <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
                let first = least.log10().floor() as i32;
                (first..=first + decades)
                    .flat_map(|d| within.iter().map(move |m| m * 10f64.powi(d)))
                    .filter(|x| *x >= least * 0.9999 && *x <= most * 1.0001)
                    .collect()
            }
        }
    }

    fn axes(&self, out: &mut String) {
        let bottom = TOP + HEIGHT;
        for percent in [0, 20, 40, 60, 80, 100] {
            let y = height_of(percent as f64);
            let class = if percent == 0 { "axis" } else { "grid" };
            let _ = writeln!(
                out,
                "<line class=\"{class}\" x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>\n\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{percent}</text>",
                LEFT + WIDTH,
                LEFT - 8.0,
                y + 4.0
            );
        }
        for value in self.ticks() {
            let x = self.x(value);
            let _ = writeln!(
                out,
                "<line class=\"axis\" x1=\"{x:.1}\" y1=\"{bottom:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>\n\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 5.0,
                bottom + 19.0,
                if self.unit == Unit::Count { short_count(value) } else { short_duration(value) }
            );
        }
        let _ = writeln!(
            out,
            "<line class=\"axis\" x1=\"{LEFT}\" y1=\"{TOP}\" x2=\"{LEFT}\" y2=\"{bottom:.1}\"/>\n\
             <text class=\"label\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text class=\"label\" transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            LEFT + WIDTH / 2.0,
            bottom + 42.0,
            escape(&self.x_label),
            TOP + HEIGHT / 2.0,
            escape(&self.y_label)
        );
    }

    fn line(&self, out: &mut String, i: usize, series: &Series) {
        let Some(last) = series.points.last() else { return };
        let points: String = series
            .points
            .iter()
            .filter(|p| p.0.is_finite() && p.1.is_finite())
            .map(|(x, y)| format!("{:.1},{:.1} ", self.x(*x), height_of(*y)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline class=\"line s{}\"{} points=\"{}\"><title>{}</title></polyline>",
            i % LIGHT.len(),
            self.dash(i),
            points.trim_end(),
            escape(&series.name)
        );
        mark(out, series.mark, &format!("s{}", i % LIGHT.len()), self.x(last.0), height_of(last.1));
    }

    fn dash(&self, i: usize) -> String {
        let hides = self.series[..i].iter().filter(|s| s.points == self.series[i].points).count();
        match DASHES[(i / LIGHT.len() + hides) % DASHES.len()] {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        }
    }

    /// The marks that occur, with what they mean.
    fn legend_of_marks(&self) -> Vec<(Mark, &'static str)> {
        [(Mark::Finished, "complete"), (Mark::Stopped, "stopped early"), (Mark::Failed, "failure found")]
            .into_iter()
            .filter(|(mark, _)| self.series.iter().any(|s| s.mark == *mark))
            .collect()
    }

    fn legend(&self, out: &mut String, marks: &[(Mark, &str)]) {
        let x = LEFT + WIDTH + 24.0;
        let row = |i: usize| TOP + 10.0 + i as f64 * ROW;
        let text = |out: &mut String, y: f64, words: &str| {
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x + 36.0,
                y + 4.0,
                escape(words)
            );
        };
        for (i, series) in self.series.iter().enumerate() {
            let y = row(i);
            let _ = writeln!(
                out,
                "<line class=\"line s{}\"{} x1=\"{x:.1}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\"/>",
                i % LIGHT.len(),
                self.dash(i),
                x + 28.0
            );
            text(out, y, &series.name);
        }
        for (k, (kind, words)) in marks.iter().enumerate() {
            let y = row(self.series.len() + k) + ROW / 2.0;
            mark(out, *kind, "plain", x + 14.0, y);
            text(out, y, words);
        }
    }
}

fn height_of(percent: f64) -> f64 {
    TOP + HEIGHT * (1.0 - percent.clamp(0.0, 100.0) / 100.0)
}

/// The next larger of 1, 2, 5, 10, 20, 50, ...
fn round_step(x: f64) -> f64 {
    let unit = 10f64.powf(x.max(1e-9).log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * unit).find(|s| *s >= x * 0.9999).unwrap_or(unit * 10.0)
}

fn mark(out: &mut String, mark: Mark, class: &str, x: f64, y: f64) {
    let _ = match mark {
        Mark::Finished => {
            writeln!(out, "<circle class=\"full {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>")
        }
        Mark::Stopped => {
            writeln!(out, "<circle class=\"open {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>")
        }
        Mark::Failed => writeln!(
            out,
            "<path class=\"line {class}\" d=\"M{:.1} {:.1}l10 10m0 -10l-10 10\"/>",
            x - 5.0,
            y - 5.0
        ),
    };
}

fn styles() -> String {
    let colours = |palette: &[&str], indent: &str| -> String {
        palette.iter().enumerate().fold(String::new(), |mut out, (i, c)| {
            let _ = writeln!(out, "{indent}.s{i} {{ stroke: {c}; fill: {c}; }}");
            out
        })
    };
    let page = |page: &str, ink: &str, grid: &str, indent: &str| {
        format!(
            "{indent}.page {{ fill: {page}; }}\n{indent}.title, .tick, .label {{ fill: {ink}; }}\n{indent}.axis {{ stroke: {ink}; \
             }}\n{indent}.grid {{ stroke: {grid}; }}\n{indent}.plain {{ stroke: {ink}; fill: {ink}; }}\n"
        )
    };
    format!(
        "<style>\ntext {{ font: 12px system-ui, sans-serif; }}\n.title {{ font-size: 15px; font-weight: 600; }}\n{}{}\
         @media (prefers-color-scheme: dark) {{\n{}{}}}\n\
         .axis, .grid {{ stroke-width: 1; }}\n.line {{ stroke-width: 2; stroke-linejoin: round; }}\n\
         polyline.line {{ fill: none; }}\n.full {{ stroke: none; }}\n.open {{ stroke-width: 2; fill: none; }}\n</style>\n",
        page("#ffffff", "#24292f", "#d8dee4", ""),
        colours(&LIGHT, ""),
        page("#15181c", "#d6dbe1", "#343a42", "  "),
        colours(&DARK, "  "),
    )
}

/// Text that XML takes for text.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(scale: Scale, series: Vec<Series>) -> Plot {
        Plot { title: "t".into(), x_label: "x".into(), y_label: "y".into(), unit: Unit::Count, scale, series }
    }

    fn series(points: &[(f64, f64)]) -> Series {
        Series { name: "s".into(), points: points.to_vec(), mark: Mark::Finished }
    }

    #[test]
    fn text_cannot_break_out_of_the_picture() {
        let mut p = plot(Scale::Linear, vec![series(&[(1.0, 1.0)])]);
        p.title = "<script>alert(\"1\")</script> & 'x' \x1b[31m\u{0}".into();
        p.series[0].name = "</text><b>".into();
        let svg = p.svg();
        assert!(svg.contains("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; &amp; &#39;x&#39;"), "{svg}");
        assert!(
            !svg.contains("<script") && !svg.contains("<b>") && !svg.contains('\x1b') && !svg.contains('\0')
        );
    }

    #[test]
    fn points_are_where_their_values_are() {
        let p = plot(Scale::Linear, vec![series(&[(0.0, 0.0), (5.0, 50.0), (10.0, 100.0)])]);
        let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
        let middle = (LEFT + WIDTH / 2.0, TOP + HEIGHT / 2.0);
        let expected =
            format!("points=\"{LEFT:.1},{bottom:.1} {:.1},{:.1} {right:.1},{TOP:.1}\"", middle.0, middle.1);
        assert!(p.svg().contains(&expected), "{}", p.svg());
        let p = plot(Scale::Log, vec![series(&[(1.0, 0.0), (10.0, 50.0), (100.0, 100.0)])]);
        assert!(p.svg().contains(&expected), "on a logarithmic scale, 10 is half way from 1 to 100");
    }

    #[test]
    fn ticks_are_round_numbers_within_the_range() {
        let at = |scale, most| plot(scale, vec![series(&[(1.0, 0.0), (most, 100.0)])]).ticks();
        assert_eq!(at(Scale::Linear, 20.0), [0.0, 5.0, 10.0, 15.0, 20.0]);
        assert_eq!(at(Scale::Linear, 1680.0), [0.0, 500.0, 1000.0, 1500.0]);
        assert_eq!(at(Scale::Log, 100.0), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(at(Scale::Log, 1e6), [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
    }

    #[test]
    fn short_times_have_ticks_too() {
        let mut p = plot(Scale::Linear, vec![series(&[(0.0001, 0.0), (0.002, 100.0)])]);
        p.unit = Unit::Seconds;
        assert_eq!(p.ticks().len(), 5, "{:?}", p.ticks());
        assert!(p.svg().contains(">500 us<") && p.svg().contains(">2 ms<"), "{}", p.svg());
        p.scale = Scale::Log;
        assert!(p.svg().contains(">200 us<") && p.svg().contains(">1 ms<"), "{}", p.svg());
    }

    #[test]
    fn nothing_to_draw_is_no_error() {
        for scale in [Scale::Linear, Scale::Log] {
            for series in [vec![], vec![series(&[])], vec![series(&[(1.0, 100.0)])]] {
                let svg = plot(scale, series).svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn every_line_can_be_told_from_the_others() {
        let same: Vec<Series> = (0..32).map(|_| series(&[(1.0, 1.0)])).collect();
        let other: Vec<Series> = (0..32).map(|i| series(&[(1.0, i as f64)])).collect();
        for many in [same, other] {
            let svg = plot(Scale::Linear, many).svg();
            let mut looks: Vec<&str> = svg
                .lines()
                .filter(|l| l.starts_with("<polyline"))
                .map(|l| l.split(" points").next().unwrap())
                .collect();
            looks.sort_unstable();
            looks.dedup();
            assert_eq!(looks.len(), 32);
        }
    }

    #[test]
    fn a_line_over_another_one_is_dashed() {
        let svg = plot(Scale::Linear, vec![series(&[(1.0, 1.0)]), series(&[(1.0, 1.0)])]).svg();
        let dashed: Vec<bool> =
            svg.lines().filter(|l| l.starts_with("<polyline")).map(|l| l.contains("dasharray")).collect();
        assert_eq!(dashed, [false, true]);
    }
}
