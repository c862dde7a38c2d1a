//! What a change of a text does to its lines, in the form that people know.

use std::fmt::Write as _;

/// Lines shown around a change.
const AROUND: usize = 2;
/// Lines between the first and the last change up to which the least difference is looked for; beyond, all of them
/// are shown as changed.
const MOST: usize = 3_000;

/// Returns the difference of two texts; nothing, where there is none.
pub fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let lines =
        |text: Option<&'_ str>| text.unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    let file = |text: Option<&str>| if text.is_some() { name } else { "/dev/null" }.to_owned();
    let mut shown = format!("--- {}\n+++ {}\n", file(before), file(after));
    let edits = edits(&old, &new);
    let near = |at: usize| {
        let (from, to) = (at.saturating_sub(AROUND), (at + AROUND + 1).min(edits.len()));
        edits[from..to].iter().any(|(mark, _)| *mark != ' ')
    };
    let mut apart = true;
    for (at, (mark, line)) in edits.iter().enumerate() {
        if near(at) {
            if apart {
                shown.push_str("@@\n");
            }
            let _ = writeln!(shown, "{mark}{line}");
        }
        apart = !near(at);
    }
    shown
}

/// Each line with `-`, `+` or a space: out, in, or as it was.
fn edits<'a>(old: &'a [String], new: &'a [String]) -> Vec<(char, &'a str)> {
    let same = |(one, other): &(&String, &String)| one == other;
    let head = old.iter().zip(new).take_while(same).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(same).count();
    let (out, into) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut edits: Vec<(char, &str)> = old[..head].iter().map(|line| (' ', line.as_str())).collect();
    if out.len().max(into.len()) > MOST {
        edits.extend(out.iter().map(|line| ('-', line.as_str())));
        edits.extend(into.iter().map(|line| ('+', line.as_str())));
    } else {
        // The longest common part of what is left, from each pair of places on.
        let mut common = vec![vec![0_u32; into.len() + 1]; out.len() + 1];
        for one in (0..out.len()).rev() {
            for other in (0..into.len()).rev() {
                common[one][other] = if out[one] == into[other] {
                    common[one + 1][other + 1] + 1
                } else {
                    common[one + 1][other].max(common[one][other + 1])
                };
            }
        }
        let (mut one, mut other) = (0, 0);
        while one < out.len() || other < into.len() {
            if one < out.len() && other < into.len() && out[one] == into[other] {
                edits.push((' ', &out[one]));
                (one, other) = (one + 1, other + 1);
            } else if one < out.len()
                && (other == into.len() || common[one + 1][other] >= common[one][other + 1])
            {
                edits.push(('-', &out[one]));
                one += 1;
            } else {
                edits.push(('+', &into[other]));
                other += 1;
            }
        }
    }
    edits.extend(old[old.len() - tail..].iter().map(|line| (' ', line.as_str())));
    edits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_shown_with_what_is_around() {
        let shown = unified("f", Some("a\nb\nc\nd\ne\nf\n\ng\nh\n"), Some("a\nb\nc\nX\ne\nf\n\ng\nh\ni\n"));
        assert_eq!(shown, "--- f\n+++ f\n@@\n b\n c\n-d\n+X\n e\n f\n@@\n g\n h\n+i\n");
        assert_eq!(unified("f", None, Some("a\n")), "--- /dev/null\n+++ f\n@@\n+a\n");
        assert_eq!(unified("f", Some("a\n"), None), "--- f\n+++ /dev/null\n@@\n-a\n");
        assert_eq!(unified("f", Some("a"), Some("a")), "");
    }
}
