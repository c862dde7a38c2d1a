//! Bar charts as plain SVG. Text and lines follow the light or dark theme of the page.

use std::fmt::Write as _;

/// A label, and one bar for each colour.
pub struct Row {
    pub label: String,
    pub values: Vec<f64>,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 70.0;
const TOP: f64 = 62.0;
const BAR: f64 = 13.0;
const GAP: f64 = 11.0;
const COLOURS: [&str; 2] = ["#9a9a9a", "#2f7f8f"];

/// Draws rows of bars from zero; values may be negative. `names` is the legend of the colours.
pub fn bars(title: &str, names: &[&str], rows: &[Row], decimals: usize) -> String {
    let all = || rows.iter().flat_map(|row| row.values.iter().copied());
    let (least, most) = (all().fold(0.0, f64::min), all().fold(0.0, f64::max));
    let span = (most - least).max(f64::MIN_POSITIVE);
    // Leaves room for the numbers of negative values.
    let left = LEFT + if least < 0.0 { RIGHT } else { 0.0 };
    let x = |value: f64| left + (value - least) / span * (WIDTH - left - RIGHT);
    let step = BAR * count(names.len()) + GAP;
    let height = TOP + step * count(rows.len());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"currentColor\" role=\"img\">\n\
         <style>svg {{ color: #222 }} @media (prefers-color-scheme: dark) {{ svg {{ color: #ddd }} }}</style>\n\
         <title>{0}</title>\n<text x=\"8\" y=\"22\" font-size=\"15\" font-weight=\"600\">{0}</text>\n",
        escape(title)
    );
    let mut at = 8.0;
    for (name, colour) in names.iter().zip(colours(names.len())) {
        let _ = writeln!(
            svg,
            "<rect x=\"{at}\" y=\"35\" width=\"11\" height=\"11\" fill=\"{colour}\"/><text x=\"{}\" y=\"45\">{}</text>",
            at + 16.0,
            escape(name)
        );
        at += 40.0 + 7.0 * count(name.chars().count());
    }
    for (number, row) in rows.iter().enumerate() {
        let top = TOP + step * count(number);
        let middle = top + BAR * count(row.values.len()) / 2.0 + 4.0;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 10.0,
            escape(&row.label)
        );
        for (place, (value, colour)) in row.values.iter().zip(colours(names.len())).enumerate() {
            let (y, start, end) = (top + BAR * count(place), x(value.min(0.0)), x(value.max(0.0)));
            let (beside, anchor) = if *value < 0.0 { (start - 5.0, "end") } else { (end + 5.0, "start") };
            let _ = writeln!(
                svg,
                "<rect x=\"{start:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\"/>\
                 <text x=\"{beside:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"{anchor}\">{value:.decimals$}</text>",
                end - start,
                BAR - 2.0,
                y + BAR - 3.0
            );
        }
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{0:.1} {1} V{2}\" stroke=\"currentColor\" opacity=\".5\"/>\n</svg>",
        x(0.0),
        TOP - 4.0,
        height - 4.0
    );
    svg
}

/// Returns the last `count` colours: a single bar gets the accent colour.
fn colours(count: usize) -> impl Iterator<Item = &'static str> {
    COLOURS.into_iter().skip(COLOURS.len().saturating_sub(count))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[expect(clippy::cast_precision_loss, reason = "a few rows and letters")]
fn count(number: usize) -> f64 {
    number as f64
}
