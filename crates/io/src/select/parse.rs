//! Expressions from text: "and" binds stronger than "or", and "not", "within 5 of", "same residue as" belong to
//! the part right after them.

use super::keywords::{self, Class, Meaning, Number, TextProperty};
use super::scan::{NumberComparison, Token, TokenKind, tokens};
use super::{Fault, meant};
use std::ops::Range;

/// Largest depth of parentheses.
const DEEPEST: usize = 100;

/// A selection, read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Class(Class),
    Text(TextProperty, Vec<NameValue>),
    Groups(Vec<NameValue>),
    /// Numbers from the first of each two to the second.
    Ranges(Number, Vec<[f64; 2]>, Range<usize>),
    Compare(Number, NumberComparison, f64, Range<usize>),
    Not(Box<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Within(f64, Box<Expression>, Range<usize>),
    Same(SharedProperty, Box<Expression>, Range<usize>),
}

/// Property that atoms may have in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum SharedProperty {
    Text(TextProperty),
    Number(Number),
}

/// A name that atoms may have.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NameValue {
    pub name: String,
    pub spelling: Spelling,
    pub span: Range<usize>,
}

/// Form of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `*` stands for any characters and `?` for one.
    Pattern,
    /// Name without wildcards.
    Literal,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

pub(super) fn parse(text: &str) -> Result<Expression, Fault> {
    let mut parser = Parser { text, tokens: tokens(text)?, next: 0, depth: 0 };
    let expression = parser.alternatives()?;
    match parser.peek() {
        None => Ok(expression),
        Some(token) if token.kind == TokenKind::Close => {
            Err(Fault::new(token.span.clone(), "there is no \"(\" for this \")\"", "take it away"))
        }
        Some(token) => {
            let here = &text[token.span.clone()];
            Err(Fault::new(
                token.span.clone(),
                format!("there is something missing before \"{here}\""),
                meant(here, ["and", "or"].into_iter(), "join selections with \"and\" or \"or\""),
            ))
        }
    }
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    /// Consumes this word, if it comes next.
    fn takes(&mut self, word: &str) -> bool {
        let here = matches!(self.peek(), Some(Token { kind: TokenKind::Word(next), .. }) if next == word);
        self.next += usize::from(here);
        here
    }

    fn need(&mut self, word: &str, example: &str) -> Result<(), Fault> {
        if self.takes(word) {
            return Ok(());
        }
        Err(Fault::new(self.here(), format!("here should be \"{word}\""), format!("write {example}")))
    }

    /// Place of the next token, or the end of the text.
    fn here(&self) -> Range<usize> {
        self.peek().map_or(self.text.len()..self.text.len(), |token| token.span.clone())
    }

    fn alternatives(&mut self) -> Result<Expression, Fault> {
        self.joined("or", Expression::Or, |parser| parser.joined("and", Expression::And, Self::one))
    }

    fn joined(
        &mut self,
        word: &str,
        join: fn(Vec<Expression>) -> Expression,
        part: fn(&mut Self) -> Result<Expression, Fault>,
    ) -> Result<Expression, Fault> {
        let first = part(self)?;
        let mut parts = vec![first];
        while self.takes(word) {
            parts.push(part(self)?);
        }
        Ok(if parts.len() > 1 { join(parts) } else { parts.remove(0) })
    }

    fn one(&mut self) -> Result<Expression, Fault> {
        if self.depth == DEEPEST {
            let hint = format!("at most {DEEPEST} levels of parentheses and \"not\" are read");
            return Err(Fault::new(self.here(), "this is nested too deeply", hint));
        }
        self.depth += 1;
        let expression = self.term();
        self.depth -= 1;
        expression
    }

    fn term(&mut self) -> Result<Expression, Fault> {
        if self.takes("not") {
            return Ok(Expression::Not(Box::new(self.one()?)));
        }
        if self.takes("within") {
            let span = self.here();
            let reach = self.number()?;
            if !(reach > 0.0 && reach.is_finite()) {
                return Err(Fault::new(
                    span,
                    format!("nothing is within {reach}"),
                    "give a distance above 0",
                ));
            }
            self.need("of", "within 5 of protein")?;
            return Ok(Expression::Within(reach, Box::new(self.one()?), span));
        }
        if self.takes("same") {
            let span = self.here();
            let shared = match self.word("a name or number that atoms share")?.meaning {
                Meaning::Text(text) => SharedProperty::Text(text),
                Meaning::Number(number) => SharedProperty::Number(number),
                Meaning::Class(_) | Meaning::Groups => {
                    let here = &self.text[span.clone()];
                    let message = format!("\"{here}\" is nothing that atoms share");
                    return Err(Fault::new(span, message, "for example \"same residue as name CA\""));
                }
            };
            self.need("as", "same residue as name CA")?;
            return Ok(Expression::Same(shared, Box::new(self.one()?), span));
        }
        if matches!(self.peek(), Some(Token { kind: TokenKind::Open, .. })) {
            let open = self.here();
            self.next += 1;
            let inside = self.alternatives()?;
            return match self.peek() {
                Some(Token { kind: TokenKind::Close, .. }) => {
                    self.next += 1;
                    Ok(inside)
                }
                Some(token) => Err(Fault::new(
                    token.span.clone(),
                    format!("there is something missing before \"{}\"", &self.text[token.span.clone()]),
                    "join selections with \"and\" or \"or\", or close the parenthesis",
                )),
                None => Err(Fault::new(open, "there is no \")\" for this \"(\"", "add it")),
            };
        }
        let span = self.here();
        match self.word("a selection")?.meaning {
            Meaning::Class(class) => Ok(Expression::Class(class)),
            Meaning::Text(text) => Ok(Expression::Text(text, self.names()?)),
            Meaning::Groups => Ok(Expression::Groups(self.names()?)),
            Meaning::Number(number) => self.numbers(number, span),
        }
    }

    /// The next word, which chooses atoms.
    fn word(&mut self, what: &str) -> Result<&'static keywords::Keyword, Fault> {
        let span = self.here();
        let Some(token) = self.peek() else {
            return Err(Fault::new(
                span,
                format!("here should be {what}"),
                "jostle help select lists the words",
            ));
        };
        let here = &self.text[token.span.clone()];
        let found = match &token.kind {
            TokenKind::Word(word) => keywords::find(word),
            _ => None,
        };
        let Some(word) = found else {
            let message = match keywords::is_operator(here) || !matches!(token.kind, TokenKind::Word(_)) {
                true => format!("here should be {what}, not \"{here}\""),
                false => format!("there is no word \"{here}\" in selections"),
            };
            let hint =
                meant(here, keywords::all().filter(|w| *w != here), "jostle help select lists the words");
            return Err(Fault::new(span, message, hint));
        };
        self.next += 1;
        Ok(word)
    }

    fn names(&mut self) -> Result<Vec<NameValue>, Fault> {
        let mut values = Vec::new();
        while let Some(Token { kind, span }) = self.peek() {
            if let (TokenKind::Word(word), Some(comma)) = (kind, self.text[span.clone()].find(',')) {
                let comma = span.start + comma;
                let hint = match word.replace(',', " ") {
                    names if names.trim().is_empty() => "leave it out".to_string(),
                    names => format!("write {}; a name with a comma in quotes", names.trim()),
                };
                let message = "names are separated by spaces, not by a comma";
                return Err(Fault::new(comma..comma + 1, message, hint));
            }
            let (name, spelling) = match kind {
                TokenKind::Word(word) if !keywords::is_operator(word) => (word, Spelling::Pattern),
                TokenKind::Quoted(word) => (word, Spelling::Literal),
                _ => break,
            };
            values.push(NameValue { name: name.clone(), spelling, span: span.clone() });
            self.next += 1;
        }
        if values.is_empty() {
            let hint = "for example \"name CA CB\"; a name that is a word like \"and\" in quotes";
            return Err(Fault::new(self.here(), "here should be a name", hint));
        }
        Ok(values)
    }

    fn numbers(&mut self, number: Number, word: Range<usize>) -> Result<Expression, Fault> {
        if let Some(Token { kind: TokenKind::Compare(comparison), .. }) = self.peek() {
            let comparison = *comparison;
            self.next += 1;
            return Ok(Expression::Compare(number, comparison, self.number_of(number, &word)?, word));
        }
        let mut ranges = Vec::new();
        while ranges.is_empty() || self.number_follows() {
            let begin = self.here().start;
            let from = self.number_of(number, &word)?;
            let to = if self.takes("to") { self.number_of(number, &word)? } else { from };
            if to < from {
                let end = self.tokens[self.next - 1].span.end;
                let hint = format!("write {to} to {from}");
                return Err(Fault::new(begin..end, "this range ends before it begins", hint));
            }
            ranges.push([from, to]);
        }
        Ok(Expression::Ranges(number, ranges, word))
    }

    fn number_follows(&self) -> bool {
        matches!(self.peek(), Some(Token { kind: TokenKind::Word(word), .. }) if word.parse::<f64>().is_ok())
    }

    /// A number that the property can have.
    fn number_of(&mut self, property: Number, word: &Range<usize>) -> Result<f64, Fault> {
        let span = self.here();
        let number = self.number()?;
        if property.is_whole() && number.fract() != 0.0 {
            let word = &self.text[word.clone()];
            let message = format!("numbers of \"{word}\" are whole, not {number}");
            let hint = format!("for example \"{word} {}\"", number.trunc());
            return Err(Fault::new(span, message, hint));
        }
        Ok(number)
    }

    fn number(&mut self) -> Result<f64, Fault> {
        let span = self.here();
        let here = &self.text[span.clone()];
        match here.parse::<f64>() {
            Ok(number) if number.is_finite() => {
                self.next += 1;
                Ok(number)
            }
            _ if here.is_empty() => {
                Err(Fault::new(span, "here should be a number", "for example \"x > 3.5\""))
            }
            _ if here.contains(',')
                && here.split(',').all(|part| part.is_empty() || part.parse::<f64>().is_ok()) =>
            {
                let hint = format!("write {}", here.replace(',', " ").trim());
                Err(Fault::new(span, "numbers are separated by spaces, not by a comma", hint))
            }
            _ => {
                let message = format!("here should be a number, not \"{here}\"");
                Err(Fault::new(span, message, "for example \"resid 1 to 10\" or \"x > 3.5\""))
            }
        }
    }
}
