//! Reading of the text of a formula into an expression.

use super::algebra::{Algebra, Base, Function, Sum};
use jostle_core::quantity::nearest;
use std::collections::HashMap;
use std::ops::Range;

/// A mistake in a formula, and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistake {
    /// The bytes at fault.
    pub at: Range<usize>,
    /// Cause.
    pub message: String,
    /// Remedy.
    pub hint: String,
}

/// A formula, read.
#[derive(Debug, Clone, Default)]
pub struct Parsed {
    /// The expressions.
    pub algebra: Algebra,
    /// u(r).
    pub energy: Sum,
    /// Distance at which the interaction ends by itself: `, r < ...` behind the energy.
    pub end: Option<Sum>,
    /// Unknown names, in the order of their first use, and the places of that.
    pub parameters: Vec<(String, Range<usize>)>,
}

/// The functions by name, and how many arguments they take.
pub const FUNCTIONS: [(&str, usize); 16] = [
    ("exp", 1),
    ("log", 1),
    ("ln", 1),
    ("pow", 2),
    ("sqrt", 1),
    ("sin", 1),
    ("cos", 1),
    ("tanh", 1),
    ("erf", 1),
    ("erfc", 1),
    ("abs", 1),
    ("min", 2),
    ("max", 2),
    ("step", 1),
    ("if", 3),
    ("tan", 1),
];

/// The largest exponent.
const LARGEST_EXPONENT: f64 = 1000.0;
/// Largest depth of nested brackets.
const DEEPEST: usize = 100;

type Read<T> = Result<T, Mistake>;

/// Reads a formula; names in `known` stand for their numbers.
pub fn parse(text: &str, known: &HashMap<String, f64>) -> Read<Parsed> {
    let tokens = tokens(text)?;
    let mut parser = Parser { text, tokens, next: 0, depth: 0, known, parsed: Parsed::default() };
    let energy = parser.expression()?;
    let end = if parser.takes(Token::Comma) { Some(parser.end()?) } else { None };
    if let Some((token, at)) = parser.tokens.get(parser.next).cloned() {
        let hint = match token {
            Token::Close(_) => "there is no bracket that it closes",
            _ => "an energy is one expression, such as 4 epsilon ((sigma/r)^12 - (sigma/r)^6)",
        };
        return Err(mistake(at, "the formula should have ended before this", hint));
    }
    Ok(Parsed { energy, end, ..parser.parsed })
}

fn mistake(at: Range<usize>, message: impl Into<String>, hint: impl Into<String>) -> Mistake {
    Mistake { at, message: message.into(), hint: hint.into() }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Token {
    Number(f64),
    Name,
    Operator(char),
    Less { swapped: bool },
    Open(char),
    Close(char),
    Comma,
}

fn tokens(text: &str) -> Read<Vec<(Token, Range<usize>)>> {
    let mut tokens = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        let mut end = start + c.len_utf8();
        let token = match c {
            _ if c.is_whitespace() => continue,
            '0'..='9' | '.' => {
                end = start + number_length(&text[start..]);
                while rest.next_if(|(at, _)| *at < end).is_some() {}
                let digits = text[start..end].replace('_', "");
                match digits.parse::<f64>() {
                    Ok(x) if x.is_finite() => Token::Number(x),
                    _ => {
                        return Err(mistake(
                            start..end,
                            "this is not a number",
                            "numbers are written 12, 0.5 or 1.5e-3",
                        ));
                    }
                }
            }
            _ if c.is_alphabetic() || c == '_' => {
                while let Some((at, c)) = rest.next_if(|(_, c)| c.is_alphanumeric() || *c == '_') {
                    end = at + c.len_utf8();
                }
                Token::Name
            }
            '*' if rest.next_if(|(_, c)| *c == '*').is_some() => {
                end += 1;
                Token::Operator('^')
            }
            '+' | '-' | '*' | '/' | '^' => Token::Operator(c),
            '<' | '>' => {
                if rest.next_if(|(_, c)| *c == '=').is_some() {
                    end += 1;
                }
                Token::Less { swapped: c == '>' }
            }
            '(' | '[' => Token::Open(c),
            ')' => Token::Close('('),
            ']' => Token::Close('['),
            ',' => Token::Comma,
            _ => {
                let hint = "formulas are made of numbers, names, + - * / ^, brackets and functions";
                return Err(mistake(start..end, format!("'{c}' means nothing here"), hint));
            }
        };
        tokens.push((token, start..end));
    }
    Ok(tokens)
}

/// Length of a number at the beginning of the text, in bytes.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count();
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    depth: usize,
    known: &'a HashMap<String, f64>,
    parsed: Parsed,
}

impl Parser<'_> {
    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.next).map(|t| t.0)
    }

    fn takes(&mut self, token: Token) -> bool {
        let found = self.peek() == Some(token);
        self.next += usize::from(found);
        found
    }

    /// Place of the next token, or of the end of the text.
    fn place(&self) -> Range<usize> {
        let last = self.text.char_indices().last().map_or(0, |(at, _)| at);
        self.tokens.get(self.next).map_or(last..self.text.len(), |t| t.1.clone())
    }

    fn word(&self, at: &Range<usize>) -> String {
        self.text.get(at.clone()).unwrap_or("").to_string()
    }

    /// Terms with + and - between them.
    fn expression(&mut self) -> Read<Sum> {
        let mut sum = self.term()?;
        loop {
            if self.takes(Token::Operator('+')) {
                sum = sum.plus(self.term()?);
            } else if self.takes(Token::Operator('-')) {
                sum = sum.plus(self.term()?.times(-1.0));
            } else {
                return Ok(sum);
            }
        }
    }

    /// Factors with *, / or nothing between them.
    fn term(&mut self) -> Read<Sum> {
        let mut product = self.signed()?;
        let mut divided = false;
        loop {
            let place = self.place();
            if self.takes(Token::Operator('*')) {
                let factor = self.signed()?;
                product = self.parsed.algebra.multiply(product, factor);
                divided = false;
            } else if self.takes(Token::Operator('/')) {
                let divisor = self.signed()?;
                let inverse = self.parsed.algebra.power(divisor, -1.0);
                product = self.parsed.algebra.multiply(product, inverse);
                divided = true;
            } else if matches!(self.peek(), Some(Token::Number(_) | Token::Name | Token::Open(_))) {
                if divided {
                    return Err(mistake(
                        place,
                        "it is not clear whether this belongs to the denominator",
                        "write * in front of it, or brackets around the denominator",
                    ));
                }
                self.refuse_two_numbers(&place)?;
                let factor = self.power()?;
                product = self.parsed.algebra.multiply(product, factor);
            } else {
                return Ok(product);
            }
        }
    }

    /// Refuses a number right behind another one: a slip of the pen, as in 1.5.2, rather than a product.
    fn refuse_two_numbers(&self, place: &Range<usize>) -> Read<()> {
        let is_number = |index: usize| matches!(self.tokens.get(index), Some((Token::Number(_), _)));
        if !(self.next > 0 && is_number(self.next - 1) && is_number(self.next)) {
            return Ok(());
        }
        let hint = "write * between them if a product is meant; numbers are written 12, 0.5 or 1.5e-3";
        Err(mistake(place.clone(), "a number stands right behind another one", hint))
    }

    fn signed(&mut self) -> Read<Sum> {
        if self.takes(Token::Operator('-')) {
            self.deeper(|parser| Ok(parser.signed()?.times(-1.0)))
        } else if self.takes(Token::Operator('+')) {
            self.deeper(Self::signed)
        } else {
            self.power()
        }
    }

    fn power(&mut self) -> Read<Sum> {
        let base = self.primary()?;
        if !self.takes(Token::Operator('^')) {
            return Ok(base);
        }
        let place = self.place();
        // To the right first: 2^3^2 = 2^9, and -1 may be an exponent.
        let exponent = self.deeper(Self::signed)?;
        self.raise(base, exponent, place)
    }

    fn raise(&mut self, base: Sum, exponent: Sum, place: Range<usize>) -> Read<Sum> {
        if let Some(n) = exponent.known().filter(|n| n.is_nan() || n.abs() > LARGEST_EXPONENT) {
            let hint = format!("exponents may be as large as {LARGEST_EXPONENT}");
            return Err(mistake(place, format!("the exponent {n} is too large"), hint));
        }
        Ok(self.parsed.algebra.power_of(base, exponent))
    }

    /// Brackets inside brackets, but not without end.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(mistake(self.place(), "there are too many brackets inside each other", "shorten it"));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn primary(&mut self) -> Read<Sum> {
        let place = self.place();
        let Some(token) = self.peek() else {
            let hint = "a number, a name, a function or a bracket is missing";
            return Err(mistake(place, "the formula ends too early", hint));
        };
        self.next += 1;
        match token {
            Token::Number(x) => Ok(Sum::number(x)),
            Token::Open(kind) => {
                let inner = self.deeper(Self::expression)?;
                self.close(kind, &place)?;
                Ok(inner)
            }
            Token::Name => self.name(place),
            _ => {
                let message = format!("'{}' cannot stand here", self.word(&place));
                Err(mistake(place, message, "a number, a name, a function or a bracket is missing"))
            }
        }
    }

    fn close(&mut self, kind: char, opened: &Range<usize>) -> Read<()> {
        if self.takes(Token::Close(kind)) {
            return Ok(());
        }
        let place = self.place();
        if self.next >= self.tokens.len() {
            return Err(mistake(opened.clone(), "this bracket is never closed", "add the closing bracket"));
        }
        let message = format!("a closing bracket is expected here, not '{}'", self.word(&place));
        Err(mistake(place, message, "close the bracket, or write an operator"))
    }

    fn name(&mut self, place: Range<usize>) -> Read<Sum> {
        let name = self.word(&place);
        // A function's bracket follows at once; a factor in brackets after a space.
        let bracket = self.tokens.get(self.next).filter(|t| t.0 == Token::Open('('));
        let called = bracket.is_some_and(|t| t.1.start == place.end);
        if let Some((_, arity)) = FUNCTIONS.iter().find(|f| f.0 == name) {
            if bracket.is_none() {
                let hint = format!("write {name}(...)");
                return Err(mistake(place, format!("{name} is a function"), hint));
            }
            return self.deeper(|parser| parser.call(&name, *arity, place));
        }
        let constant = match name.as_str() {
            "r" => Some(Sum::of(Base::Distance, 1.0)),
            "pi" => Some(Sum::number(std::f64::consts::PI)),
            _ => self.known.get(&name).map(|x| Sum::number(*x)),
        };
        if let Some(value) = constant {
            return Ok(value);
        }
        if called {
            let names = FUNCTIONS.map(|f| f.0);
            let hint = match nearest(&name, names.iter().copied()) {
                Some(near) => format!("did you mean {near}? For a product write {name} * (...)"),
                None => format!("there are {}; for a product write {name} * (...)", names.join(", ")),
            };
            return Err(mistake(place, format!("there is no function {name}"), hint));
        }
        let names = &mut self.parsed.parameters;
        let index = names.iter().position(|n| n.0 == name).unwrap_or_else(|| {
            names.push((name, place));
            names.len() - 1
        });
        Ok(Sum::of(Base::Parameter(index as u32), 1.0))
    }

    fn call(&mut self, name: &str, arity: usize, place: Range<usize>) -> Read<Sum> {
        let opened = self.place();
        self.next += 1;
        let condition = if name == "if" {
            let condition = self.comparison()?;
            self.comma(name, arity)?;
            Some(condition)
        } else {
            None
        };
        let mut arguments = vec![];
        let mut places = vec![];
        let expected = if condition.is_some() { arity - 1 } else { arity };
        while arguments.len() < expected {
            if !arguments.is_empty() {
                self.comma(name, arity)?;
            }
            places.push(self.place());
            arguments.push(self.expression()?);
        }
        if self.peek() == Some(Token::Comma) {
            let message = format!("{name} takes {}", many(arity));
            return Err(mistake(self.place(), message, "leave out what is too much"));
        }
        self.close('(', &opened)?;
        let algebra = &mut self.parsed.algebra;
        let call = |algebra: &mut Algebra, function, mut arguments: Vec<Sum>| {
            algebra.call(function, arguments.pop().unwrap_or_default())
        };
        let mut it = arguments.clone().into_iter();
        let mut next = || it.next().unwrap_or_default();
        Ok(match name {
            "exp" => call(algebra, Function::Exp, arguments),
            "log" | "ln" => call(algebra, Function::Ln, arguments),
            "sin" => call(algebra, Function::Sin, arguments),
            "cos" => call(algebra, Function::Cos, arguments),
            "tan" => {
                let (sine, cosine) =
                    (algebra.call(Function::Sin, next()), call(algebra, Function::Cos, arguments));
                let inverse = algebra.power(cosine, -1.0);
                algebra.multiply(sine, inverse)
            }
            "tanh" => call(algebra, Function::Tanh, arguments),
            "erf" => call(algebra, Function::Erf, arguments),
            "erfc" => call(algebra, Function::Erfc, arguments),
            "sqrt" => algebra.power(next(), 0.5),
            "pow" => {
                let (base, exponent) = (next(), next());
                return self.raise(base, exponent, places.pop().unwrap_or(place));
            }
            "abs" => {
                let x = next();
                let opposite = x.clone().times(-1.0);
                algebra.choice(x.clone(), Sum::default(), opposite, x)
            }
            "min" => {
                let (a, b) = (next(), next());
                algebra.choice(a.clone(), b.clone(), a, b)
            }
            "max" => {
                let (a, b) = (next(), next());
                algebra.choice(a.clone(), b.clone(), b, a)
            }
            "step" => algebra.choice(next(), Sum::default(), Sum::default(), Sum::number(1.0)),
            _ => {
                let (a, b) = condition.unwrap_or_default();
                let (yes, no) = (next(), next());
                algebra.choice(a, b, yes, no)
            }
        })
    }

    fn comma(&mut self, name: &str, arity: usize) -> Read<()> {
        if self.takes(Token::Comma) {
            return Ok(());
        }
        let hint = if name == "if" { "write if(r < 1, a, b)" } else { "separate them by commas" };
        Err(mistake(self.place(), format!("{name} takes {}", many(arity)), hint))
    }

    /// Reads two expressions of which the first is to be less than the second.
    fn comparison(&mut self) -> Read<(Sum, Sum)> {
        let a = self.expression()?;
        let Some(Token::Less { swapped }) = self.peek() else {
            return Err(mistake(self.place(), "a comparison is expected here", "write if(r < 1, a, b)"));
        };
        self.next += 1;
        let b = self.expression()?;
        Ok(if swapped { (b, a) } else { (a, b) })
    }

    /// `r < ...` behind an energy: where it ends.
    fn end(&mut self) -> Read<Sum> {
        let place = self.place();
        let (r, end) = self.comparison()?;
        let depends = end.0.iter().flat_map(|t| &t.factors).any(|f| self.parsed.algebra.depends(f.0));
        if r != Sum::of(Base::Distance, 1.0) || depends {
            let hint = "behind the energy may stand where it ends, as in: ..., r < 2^(1/6) sigma";
            return Err(mistake(place, "this does not say where the energy ends", hint));
        }
        Ok(end)
    }
}

fn many(arity: usize) -> String {
    match arity {
        1 => "one argument".into(),
        2 => "two arguments".into(),
        _ => "three arguments".into(),
    }
}
