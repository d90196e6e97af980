//! The lines of a file around an error, short enough to be shown: a line may be longer than any
//! terminal is wide, a file without line ends may be one line, and drawing either in full takes
//! memory and, beyond 65,535 columns, more width than text can be padded to.

use jostle_core::error::Place;
use miette::{LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use std::ops::Range;

/// Characters of a line that are shown before the label, and at most under it and after it.
const BEFORE: usize = 60;
const WITHIN: usize = 80;
const AFTER: usize = 60;
/// Lines that a label may span; a longer one is shown where it begins.
const MOST_LINES: usize = 12;

/// The lines at fault with one line before and one after, cut to what surrounds the label.
pub struct Excerpt {
    file: String,
    text: String,
    /// The label in `text`, in bytes.
    label: Range<usize>,
    /// The first line of `text` in the file, counted from 0.
    first_line: usize,
    /// The column of the label in its line of the file, in characters counted from 0.
    column: usize,
}

impl Excerpt {
    /// The excerpt of a place; nothing without a text and a part of it that is at fault.
    pub fn of(place: &Place) -> Option<Excerpt> {
        let (text, span) = (place.text.as_deref()?, place.span.as_ref()?);
        let start = text.floor_char_boundary(span.start);
        let end = text.ceil_char_boundary(span.end).max(start);
        let line_start = line_start(text, start);
        let shown_from = if line_start == 0 { 0 } else { self::line_start(text, line_start - 1) };
        let first_line = text[..shown_from].bytes().filter(|b| *b == b'\n').count();
        let end = match text[start..end].bytes().filter(|b| *b == b'\n').count() {
            lines if lines < MOST_LINES => end,
            _ => line_end(text, start),
        };
        let last_end = line_end(text, end);
        let shown_to = if last_end == text.len() { last_end } else { line_end(text, last_end + 1) };
        let column = text[line_start..start].chars().count();

        let mut excerpt = Excerpt {
            file: place.file.display().to_string(),
            text: String::new(),
            label: 0..0,
            first_line,
            column,
        };
        let mut at = shown_from;
        for line in text[shown_from..shown_to].split('\n') {
            let here = at..at + line.len();
            let within = start.clamp(here.start, here.end)..end.clamp(here.start, here.end);
            if at > shown_from {
                excerpt.text.push('\n');
            }
            let of_label = start <= here.end && end >= here.start;
            let label = excerpt.push(line, within.start - at..within.end - at);
            if of_label {
                excerpt.label = if at <= start { label } else { excerpt.label.start..label.end };
            }
            at = here.end + 1;
        }
        Some(excerpt)
    }

    /// Adds a line, cut to the surroundings of a part of it; where that part is in the excerpt.
    fn push(&mut self, line: &str, part: Range<usize>) -> Range<usize> {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let part = part.start.min(line.len())..part.end.min(line.len());
        let before = line[..part.start].char_indices().rev().nth(BEFORE - 1).map_or(0, |(at, _)| at);
        let characters =
            |from: usize, most: usize| line[from..].char_indices().nth(most).map(|(at, _)| from + at);
        let within = characters(part.start, WITHIN).map_or(part.end, |end| end.min(part.end));
        let after = characters(within, AFTER).unwrap_or(line.len());
        if before > 0 {
            self.text.push('…');
        }
        self.text.extend(line[before..part.start].chars().map(visible));
        let start = self.text.len();
        self.text.extend(line[part.start..within].chars().map(visible));
        let end = self.text.len();
        self.text.extend(line[within..after].chars().map(visible));
        if after < line.len() {
            self.text.push('…');
        }
        start..end
    }

    /// The part at fault, for a handler of miette.
    pub fn labels(&self) -> impl Iterator<Item = LabeledSpan> + use<> {
        std::iter::once(LabeledSpan::underline(self.label.clone()))
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let read = self.text.read_span(span, lines_before, lines_after)?;
        // Without lines around it is the label that is asked for, whose column is named.
        let column = if lines_before == 0 { self.column } else { read.column() };
        Ok(Box::new(MietteSpanContents::new_named(
            self.file.clone(),
            read.data(),
            *read.span(),
            self.first_line + read.line(),
            column,
            read.line_count(),
        )))
    }
}

/// Characters of a word beyond which it is no name and no path, but what a broken file has instead.
const LONGEST_WORD: usize = 400;
/// Characters of the beginning and of the end of such a word that are shown.
const ENDS: (usize, usize) = (100, 30);

/// Words about something that comes from a file: without the middle of words that fill a screen, and
/// with characters that do nothing to a terminal.
pub fn legible(text: &str) -> String {
    let mut shown = String::new();
    for word in text.split_inclusive([' ', '\n']) {
        let letters: Vec<char> = word.chars().map(|c| if c == '\n' { c } else { visible(c) }).collect();
        if letters.len() <= LONGEST_WORD {
            shown.extend(letters);
        } else {
            shown.extend(&letters[..ENDS.0]);
            shown.push('…');
            shown.extend(&letters[letters.len() - ENDS.1..]);
        }
    }
    shown
}

/// A character that takes one place on a terminal and does nothing to it.
fn visible(c: char) -> char {
    if c.is_control() && c != '\t' { '\u{fffd}' } else { c }
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn excerpt(text: &str, span: Range<usize>) -> Excerpt {
        let text: Arc<str> = text.into();
        Excerpt::of(&Place { file: "f.toml".into(), line: None, span: Some(span), text: Some(text) }).unwrap()
    }

    #[test]
    fn short_lines_are_shown_whole() {
        let shown = excerpt("a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n", 16..17);
        assert_eq!((shown.text.as_str(), shown.first_line, shown.column), ("b = 2\nc = 3\nd = 4", 1, 4));
        assert_eq!(&shown.text[shown.label.clone()], "3");
    }

    #[test]
    fn long_lines_are_cut_around_the_label() {
        let long = "é".repeat(200_000);
        let line = format!("{long}WRONG{long}");
        let text = format!("{long}\n{line}\n{long}");
        let start = 2 * 400_000 + 1;
        let shown = excerpt(&text, start..start + 5);
        assert_eq!(&shown.text[shown.label.clone()], "WRONG");
        assert_eq!((shown.first_line, shown.column), (0, 200_000));
        assert!(shown.text.lines().all(|line| line.chars().count() < 220), "{}", shown.text);
        let middle = shown.text.lines().nth(1).unwrap();
        assert!(middle.starts_with('…') && middle.ends_with('…'), "{middle}");
    }

    #[test]
    fn any_span_of_any_text_is_shown() {
        let long = "x".repeat(3000);
        for text in [
            "",
            "\n",
            "\r\n",
            "é",
            "a\tb\x1b[2J\r\nc\n\n\nd",
            &long,
            &format!("{long}\n{long}\n"),
            &"\n".repeat(100),
        ] {
            for start in 0..text.len() + 3 {
                for end in [start, start + 1, start + 7, text.len(), usize::MAX] {
                    let shown = excerpt(text, start..end);
                    assert!(shown.text.get(shown.label.clone()).is_some(), "{text:?} {start}..{end}");
                    assert!(shown.text.len() < 600 * 3 && !shown.text.contains('\x1b'));
                    let span = SourceSpan::from(shown.label.clone());
                    assert!(shown.read_span(&span, 1, 1).is_ok(), "{text:?} {start}..{end}");
                }
            }
        }
    }

    #[test]
    fn words_of_broken_files_are_short() {
        assert_eq!(legible("two\nlines, \u{1b}[2J and é"), "two\nlines, \u{fffd}[2J and é");
        let shown = legible(&format!("unknown key \"{}\" here", "é".repeat(70_000)));
        assert!(shown.starts_with("unknown key \"é") && shown.ends_with("é\" here") && shown.contains('…'));
        assert!(shown.chars().count() < 200, "{shown}");
    }

    #[test]
    fn a_label_over_several_lines_is_kept() {
        let text = "one\ntwo\nthree\nfour\nfive";
        let shown = excerpt(text, 4..16);
        assert_eq!(&shown.text[shown.label.clone()], "two\nthree\nfo");
        assert_eq!((shown.text.as_str(), shown.column), (text, 0));
    }
}
