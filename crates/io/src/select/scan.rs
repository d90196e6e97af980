//! The text of a selection, word by word.

use super::Fault;
use std::ops::Range;

/// A word or sign.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Word(String),
    Quoted(String),
    Open,
    Close,
    Compare(NumberComparison),
}

/// Comparison of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberComparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
    Unequal,
}

const COMPARISONS: [(&str, NumberComparison); 7] = [
    ("<=", NumberComparison::AtMost),
    (">=", NumberComparison::AtLeast),
    ("==", NumberComparison::Equal),
    ("!=", NumberComparison::Unequal),
    ("<", NumberComparison::Less),
    (">", NumberComparison::More),
    ("=", NumberComparison::Equal),
];

/// Tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let (kind, length) = match first {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '(' => (TokenKind::Open, 1),
            ')' => (TokenKind::Close, 1),
            '"' | '\'' => {
                let Some(length) = rest[1..].find(first) else {
                    return Err(Fault::new(at..text.len(), "a quote is not closed", "add the second quote"));
                };
                (TokenKind::Quoted(rest[1..=length].to_string()), length + 2)
            }
            _ => match COMPARISONS.iter().find(|(sign, _)| rest.starts_with(sign)) {
                Some((sign, comparison)) => (TokenKind::Compare(*comparison), sign.len()),
                None => {
                    // A "!" by itself is no sign: it becomes an unknown word.
                    let ends = |(k, c): &(usize, char)| {
                        c.is_whitespace()
                            || matches!(c, '(' | ')' | '"' | '<' | '>' | '=')
                            || (*c == '!' && *k > 0)
                    };
                    let length = rest.char_indices().find(ends).map_or(rest.len(), |(k, _)| k);
                    (TokenKind::Word(rest[..length].to_string()), length)
                }
            },
        };
        tokens.push(Token { kind, span: at..at + length });
        at += length;
    }
    Ok(tokens)
}
