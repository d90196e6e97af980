//! Conditions at which a stage ends before its last step: `until = "density settled and temperature < 120"`.

use super::fields::Fields;
use super::model::{Condition, Located, Source, StageInput, Test, Until};
use jostle_core::Result;
use std::ops::Range;

/// Hint of every error.
const EXAMPLES: &str = "write a column of thermo.csv with what is asked of it: \"density settled\", \
                        \"potential < -5000\", or several joined by \"and\"";

/// The condition of a stage, if it has one.
pub(super) fn until(source: &Source, fields: &Fields) -> Result<Option<Located<Until>>> {
    let Some(Located { value, span }) = fields.get::<String>("until") else { return Ok(None) };
    // Where the text has escapes, places within it are not known.
    let begin = source.text.get(span.clone()).and_then(|written| written.find(value.as_str()));
    let conditions = parse(&value).map_err(|fault| {
        let at = match begin {
            Some(begin) if !fault.span.is_empty() => {
                span.start + begin + fault.span.start..span.start + begin + fault.span.end
            }
            _ => span.clone(),
        };
        source.error(&at, fault.message).hint(EXAMPLES)
    })?;
    Ok(Some(Located { value: Until { conditions }, span }))
}

/// Refuses a condition where no rows are written that it could be asked of, and one of a quantity that the stage keeps as
/// it is.
pub(super) fn check_until(source: &Source, stage: &StageInput) -> Result<()> {
    let Some(until) = &stage.until else { return Ok(()) };
    if stage.thermo_every == 0 {
        return Err(source
            .error(&until.span, "until is asked of the rows of thermo.csv, but there are none")
            .hint("leave out thermo = { every = 0 }"));
    }
    let deforms = stage.deformation.is_some();
    let changes = |quantity: &str| match quantity {
        "strain" | "stress" => deforms,
        "volume" | "density" => deforms || stage.barostat.is_some(),
        _ => true,
    };
    match until.value.conditions.iter().find(|condition| !changes(&condition.quantity)) {
        Some(Condition { quantity, .. }) => {
            let hint =
                "strain and stress are those of deform = { ... }; volume and density change with a barostat";
            Err(source.error(&until.span, format!("{quantity} does not change in this stage")).hint(hint))
        }
        None => Ok(()),
    }
}

/// Mistake in a condition.
#[derive(Debug, PartialEq)]
struct Fault {
    span: Range<usize>,
    message: String,
}

/// Words of a text with their places; comparisons are words by themselves.
fn words(text: &str) -> Vec<(&str, Range<usize>)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let ends = c.is_whitespace() || c == '<' || c == '>';
        match (start, ends) {
            (None, false) => start = Some(at),
            (Some(from), true) => {
                found.push((&text[from..at], from..at));
                start = None;
            }
            (Some(_), false) | (None, true) => {}
        }
        if c == '<' || c == '>' {
            found.push((&text[at..=at], at..at + 1));
        }
    }
    found
}

/// Conditions, joined by "and".
fn parse(text: &str) -> std::result::Result<Vec<Condition>, Fault> {
    let words = words(text);
    let end = text.len()..text.len();
    let mut rest = words.as_slice();
    let mut conditions = Vec::new();
    loop {
        let (condition, after) = condition(rest, &end)?;
        conditions.push(condition);
        rest = match after {
            [] => return Ok(conditions),
            [("and", _), after @ ..] => after,
            [(word, span), ..] => {
                return Err(Fault {
                    span: span.clone(),
                    message: format!("'{word}' where \"and\" or the end must be"),
                });
            }
        };
    }
}

type Words<'w, 't> = &'w [(&'t str, Range<usize>)];

/// The first condition, and the words behind it.
fn condition<'w, 't>(
    words: Words<'w, 't>,
    end: &Range<usize>,
) -> std::result::Result<(Condition, Words<'w, 't>), Fault> {
    let fault = |span: &Range<usize>, message: String| Fault { span: span.clone(), message };
    let is_name = |word: &str| word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let (quantity, rest) = match words {
        [] => return Err(fault(end, "a column of thermo.csv is missing".into())),
        [(word, span), ..] if !is_name(word) => {
            return Err(fault(span, format!("'{word}' where a column of thermo.csv must be")));
        }
        [(word, _), rest @ ..] => ((*word).to_string(), rest),
    };
    let number = |word: &str, span: &Range<usize>| {
        let value = word.parse::<f64>().ok().filter(|value| value.is_finite());
        value.ok_or_else(|| fault(span, format!("'{word}' is no number")))
    };
    let (test, rest) = match rest {
        [("settled", _), rest @ ..] => (Test::Settled, rest),
        [("<", _), (word, span), rest @ ..] => (Test::Below(number(word, span)?), rest),
        [(">", _), (word, span), rest @ ..] => (Test::Above(number(word, span)?), rest),
        [("<" | ">", _)] => return Err(fault(end, "a number is missing".into())),
        [] => return Err(fault(end, format!("it is missing what is asked of {quantity}"))),
        [(word, span), ..] => {
            return Err(fault(span, format!("'{word}' where <, > or \"settled\" must be")));
        }
    };
    Ok((Condition { quantity, test }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn one(quantity: &str, test: Test) -> Condition {
        Condition { quantity: quantity.into(), test }
    }

    #[test]
    fn conditions_are_read() {
        assert_eq!(parse("density settled"), Ok(vec![one("density", Test::Settled)]));
        assert_eq!(parse("potential<-5e3"), Ok(vec![one("potential", Test::Below(-5000.0))]));
        let both = vec![one("temperature", Test::Above(300.0)), one("x_slab", Test::Settled)];
        assert_eq!(parse(" temperature > 300 and x_slab settled "), Ok(both));
    }

    #[test]
    fn mistakes_are_pointed_at() {
        for (text, at, cause) in [
            ("", 0..0, "is missing"),
            ("density", 7..7, "what is asked of density"),
            ("density = 3", 8..9, "'=' where"),
            ("density <", 9..9, "a number is missing"),
            ("density < high", 10..14, "'high' is no number"),
            ("density < nan", 10..13, "no number"),
            ("3 < density", 0..1, "where a column"),
            ("density settled or x settled", 16..18, "'or' where"),
            ("density settled and", 19..19, "is missing"),
        ] {
            let fault = parse(text).expect_err(text);
            assert_eq!(fault.span, at, "{text}");
            assert!(fault.message.contains(cause), "{text}: {}", fault.message);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_condition_or_a_fault_within_it(text in "[a-c<> 0-9.é]{0,20}") {
            if let Err(fault) = parse(&text) {
                prop_assert!(text.get(fault.span).is_some());
            }
        }
    }
}
