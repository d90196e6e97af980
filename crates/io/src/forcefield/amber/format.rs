//! Fortran's formats: `(10I8)`, `(20a4)`, `(8(F9.5))`, `(i2,a78)`.

/// Largest number of fields in a line.
const MOST_FIELDS: usize = 1000;

/// The fields of lines of one format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FieldFormat {
    /// Columns of these widths, over and over.
    Columns(Vec<usize>),
    /// `(a)`: a line.
    Whole,
}

impl FieldFormat {
    /// Reads the text behind `%FORMAT`; `None` if it is no format of fields one behind the other.
    pub fn new(text: &str) -> Option<FieldFormat> {
        let text = text.trim().to_ascii_lowercase();
        if text == "(a)" {
            return Some(FieldFormat::Whole);
        }
        let (widths, rest) = group(text.strip_prefix('(')?)?;
        (rest.is_empty() && !widths.is_empty()).then_some(FieldFormat::Columns(widths))
    }

    /// Fields of a line, up to characters that are not ASCII.
    pub fn fields<'a>(&self, line: &'a str) -> Vec<&'a str> {
        let FieldFormat::Columns(widths) = self else { return vec![line] };
        let mut rest = line;
        let mut fields = Vec::new();
        for width in widths.iter().cycle() {
            let Some((field, after)) = rest.split_at_checked((*width).min(rest.len())) else { break };
            if field.is_empty() {
                break;
            }
            fields.push(field);
            rest = after;
        }
        fields
    }
}

/// Widths up to the bracket that ends them, and the rest behind it.
fn group(mut text: &str) -> Option<(Vec<usize>, &str)> {
    let mut widths = Vec::new();
    loop {
        let (times, rest) = number(text.trim_start());
        let inner;
        (inner, text) = match rest.strip_prefix('(') {
            Some(inside) => group(inside)?,
            None => field(rest)?,
        };
        let times = times.unwrap_or(1);
        if inner.len().checked_mul(times)?.checked_add(widths.len())? > MOST_FIELDS {
            return None;
        }
        widths.extend(std::iter::repeat_n(inner, times).flatten());
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix(')') {
            return Some((widths, rest.trim_start()));
        }
        text = text.strip_prefix(',')?;
    }
}

/// Field such as `e16.8`, and the rest behind it.
fn field(text: &str) -> Option<(Vec<usize>, &str)> {
    let rest = text.strip_prefix(['i', 'a', 'e', 'f', 'g', 'd'])?;
    let (width, rest) = number(rest);
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some((vec![width.filter(|width| *width > 0)?], rest))
}

/// Whole number at the start, and the rest behind it.
fn number(text: &str) -> (Option<usize>, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].parse().ok(), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_widths_of_their_format() {
        let widths = |text: &str| match FieldFormat::new(text) {
            Some(FieldFormat::Columns(widths)) => widths,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(widths("(10I8)"), [8; 10]);
        assert_eq!(widths("(5E16.8)  "), [16; 5]);
        assert_eq!(widths("(8(F9.5))"), [9; 8]);
        assert_eq!(widths("(i2,a78)"), [2, 78]);
        assert_eq!(widths("( 2(i4, 2f8.3), a4 )"), [4, 8, 8, 4, 8, 8, 4]);
        assert_eq!(FieldFormat::new("(a)"), Some(FieldFormat::Whole));
        for bad in [
            "",
            "(",
            "()",
            "(10I)",
            "(i0)",
            "10I8",
            "(10I8",
            "(99999999999999999999(9999(i8)))",
            "(10q8)",
            "(i8)x",
        ] {
            assert_eq!(FieldFormat::new(bad), None, "{bad}");
        }
        let format = FieldFormat::new("(i2,a4)").unwrap();
        assert_eq!(format.fields(" 1abcd 2e"), [" 1", "abcd", " 2", "e"]);
        assert_eq!(format.fields(" 1ab\u{e4}\u{e4}"), [" 1", "ab\u{e4}", "\u{e4}"]);
        assert_eq!(format.fields(" \u{e4}"), Vec::<&str>::new());
        assert_eq!(FieldFormat::Whole.fields("a b"), ["a b"]);
    }
}
