//! Quantities with units: `"1.374 g/cm3"`, `"119.8 K"`, `"10 /ps"`.
//!
//! A quantity is a number and a unit; a unit is a product or a quotient of named units with whole
//! powers, read from left to right (`kcal/mol/A`, `kg m^-3`, `1/A3`). Temperatures and energies
//! convert into each other through Boltzmann's constant. Reduced units have no SI, so only bare
//! numbers make sense in them.

mod names;

pub use names::{describe, unit_name};

use crate::units::{Dimension, UnitSystem};
use crate::{Error, Result};
use names::example;

/// A named unit.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// Spellings; the first one is the usual one.
    pub names: &'static [&'static str],
    /// Size of the unit in SI.
    pub si: f64,
    /// Dimension of the unit.
    pub dimension: Dimension,
}

const AVOGADRO: f64 = 6.02214076e23;
const ELEMENTARY_CHARGE: f64 = 1.602176634e-19;
const SPEED_OF_LIGHT: f64 = 299_792_458.0;
const BOLTZMANN: f64 = 1.380649e-23;

macro_rules! units {
    ($($dimension:ident { $($($name:literal)|+ = $si:expr,)* })*) => {
        /// All named units.
        pub const UNITS: &[Unit] = &[
            $($(Unit { names: &[$($name),+], si: $si, dimension: Dimension::$dimension },)*)*
        ];
    };
}

units! {
    LENGTH {
        "m" = 1.0,
        "cm" = 1e-2,
        "mm" = 1e-3,
        "um" | "µm" | "μm" = 1e-6,
        "nm" = 1e-9,
        "A" | "angstrom" | "Angstrom" | "Å" | "\u{212b}" = 1e-10,
        "pm" = 1e-12,
        "fm" = 1e-15,
        "bohr" = 5.29177210903e-11,
    }
    TIME {
        "s" = 1.0,
        "ms" = 1e-3,
        "us" | "µs" | "μs" = 1e-6,
        "ns" = 1e-9,
        "ps" = 1e-12,
        "fs" = 1e-15,
    }
    RATE {
        "Hz" = 1.0,
        "GHz" = 1e9,
        "THz" = 1e12,
    }
    VELOCITY {
        "c" = SPEED_OF_LIGHT,
    }
    ENERGY {
        "J" = 1.0,
        "kJ" = 1e3,
        "cal" = 4.184,
        "kcal" = 4184.0,
        "eV" = ELEMENTARY_CHARGE,
        "meV" = 1e-3 * ELEMENTARY_CHARGE,
        "keV" = 1e3 * ELEMENTARY_CHARGE,
        "MeV" = 1e6 * ELEMENTARY_CHARGE,
        "hartree" | "Hartree" | "Ha" = 4.3597447222071e-18,
    }
    TEMPERATURE {
        "K" | "kelvin" = 1.0,
        "mK" = 1e-3,
    }
    MASS {
        "kg" = 1.0,
        "g" = 1e-3,
        "u" | "Da" | "amu" | "dalton" = 1e-3 / AVOGADRO,
    }
    NUMBER {
        "mol" = AVOGADRO,
    }
    CHARGE {
        "e" = ELEMENTARY_CHARGE,
        "C" = 1.0,
    }
    VOLTAGE {
        "V" = 1.0,
        "mV" = 1e-3,
        "kV" = 1e3,
        "MV" = 1e6,
    }
    FORCE {
        "N" = 1.0,
        "pN" = 1e-12,
        "nN" = 1e-9,
    }
    PRESSURE {
        "Pa" = 1.0,
        "kPa" = 1e3,
        "MPa" = 1e6,
        "GPa" = 1e9,
        "bar" = 1e5,
        "kbar" = 1e8,
        "atm" = 101_325.0,
    }
}

/// Reads a quantity that may have any of the dimensions in `wanted`; returns its value in `units` and its
/// dimension. Masses are as users write them (g/mol; MeV/c^2 in `nuclear`), and pressures energy per volume.
///
/// # Errors
/// If there is no number or no unit, the unit is unknown or measures something else, or the units are
/// reduced. The error names the unit and an alternative.
pub fn parse_quantity(text: &str, wanted: &[Dimension], units: UnitSystem) -> Result<(f64, Dimension)> {
    let (number, unit) = split(text.trim());
    let Ok(number) = number.replace('_', "").parse::<f64>() else {
        return Err(Error::input(format!("\"{text}\" does not start with a number"))
            .hint(format!("write {}", example(wanted, units))));
    };
    if unit.is_empty() {
        return Err(Error::input(format!("\"{text}\" is in quotes but has no unit")).hint(format!(
            "without quotes a number is in the units of the file; with a unit: {}",
            example(wanted, units)
        )));
    }
    if units.is_reduced() {
        return Err(Error::input(format!("\"{text}\" has a unit, but units = \"{units}\" are reduced"))
            .hint(format!("write the bare number, or choose units = \"real\", \"metal\", \"nano\" or \"nuclear\"; \"{unit}\" means nothing in reduced units")));
    }
    let found = parse_unit(unit)?;
    let Some(&dimension) = wanted.iter().find(|w| base(**w) == base(found.dimension)) else {
        let mut error = Error::input(format!(
            "\"{unit}\" measures {}, but {} is wanted",
            describe(found.dimension),
            wanted.iter().map(|d| describe(*d)).collect::<Vec<_>>().join(" or ")
        ));
        if unit == "C" && wanted.contains(&Dimension::TEMPERATURE) {
            let kelvin = number + 273.15;
            error = error.hint(format!("C is the coulomb; {number} degrees Celsius are \"{kelvin} K\""));
        }
        return Err(error.hint(format!("write {}", example(wanted, units))));
    };
    // Energy for temperature and the other way round.
    let thermal = BOLTZMANN.powi(i32::from(found.dimension.temperature - dimension.temperature));
    let factor = snap(found.si * thermal * units.from_si(dimension).unwrap_or(1.0));
    let value = if factor < 1.0 { number / snap(1.0 / factor) } else { number * factor };
    if !value.is_finite() {
        return Err(Error::input(format!("\"{text}\" is not a finite number")));
    }
    let extensive = dimension == Dimension::MASS || dimension.energy > 0;
    // Avogadro's number is missing in the one, and once too much in the other.
    let is_off = if found.per_mole { value != 0.0 && value.abs() < 1e-15 } else { value.abs() > 1e15 };
    if extensive && is_off {
        let unit_here = unit_name(units, dimension);
        let error = Error::input(format!("\"{text}\" would be {value:.3e} {unit_here} for a single atom"));
        return Err(error.hint(match unit.strip_suffix("/mol") {
            _ if !found.per_mole => format!("did you mean per mole, \"{number} {unit}/mol\"?"),
            Some(alone) => format!("\"{alone}\" is of a single atom: did you mean \"{number} {alone}\"?"),
            None => format!("write {}", example(wanted, units)),
        }));
    }
    Ok((value, dimension))
}

/// Reads a quantity of any dimension, for numbers with a meaning that the user gives them.
///
/// # Errors
/// Errors of [`parse_quantity`], without any about the dimension.
pub fn parse_any_quantity(text: &str, units: UnitSystem) -> Result<f64> {
    let (_, unit) = split(text.trim());
    let dimension = if unit.is_empty() { Dimension::NUMBER } else { parse_unit(unit)?.dimension };
    parse_quantity(text, &[dimension], units).map(|(value, _)| value)
}

/// A unit read from text.
struct Compound {
    si: f64,
    dimension: Dimension,
    per_mole: bool,
}

/// The number in front and the unit behind it.
fn split(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count();
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    end += digits(end);
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    // An exponent, unless the e begins a unit ("2eV").
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end += 1 + sign;
            end += digits(end);
        }
    }
    (&text[..end], text[end..].trim())
}

fn parse_unit(text: &str) -> Result<Compound> {
    let mut whole = Compound { si: 1.0, dimension: Dimension::NUMBER, per_mole: false };
    let mut rest = text;
    let mut first = true;
    while !rest.is_empty() {
        let mut sign = 1;
        if let Some(after) = rest.strip_prefix('/') {
            (sign, rest) = (-1, after.trim_start());
        } else if let Some(after) = rest.strip_prefix(['*', '·']).filter(|_| !first) {
            rest = after.trim_start();
        }
        if first && sign == 1 && rest.starts_with('1') {
            rest = rest[1..].trim_start();
            first = false;
            continue;
        }
        first = false;
        let is_name = |c: char| c.is_alphabetic() || c == '°' || c == '%';
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        if name.is_empty() {
            return Err(Error::input(format!("the unit \"{text}\" cannot be read at \"{rest}\""))
                .hint("a unit looks like nm, kcal/mol, g/cm3, kg/m^3 or 1/ps"));
        }
        rest = &rest[name.len()..];
        let (power, after) = parse_power(rest).ok_or_else(|| {
            Error::input(format!("the unit \"{text}\" has a power that cannot be read at \"{rest}\""))
                .hint("powers are whole numbers from -9 to 9: nm^3, cm3, s^-1")
        })?;
        rest = after.trim_start();
        let unit = find(name)?;
        let power = sign * power;
        whole.si *= unit.si.powi(i32::from(power));
        whole.per_mole |= name == "mol" && power < 0;
        let (d, u) = (&mut whole.dimension, unit.dimension);
        let all = [
            (&mut d.length, u.length),
            (&mut d.time, u.time),
            (&mut d.mass, u.mass),
            (&mut d.energy, u.energy),
            (&mut d.temperature, u.temperature),
            (&mut d.charge, u.charge),
        ];
        for (sum, exponent) in all {
            *sum = sum.saturating_add(exponent.saturating_mul(power));
        }
    }
    Ok(whole)
}

/// `^3`, `3`, `-1`, `^-1`, `³` or nothing.
fn parse_power(text: &str) -> Option<(i8, &str)> {
    for (mark, power) in [('²', 2), ('³', 3)] {
        if let Some(rest) = text.strip_prefix(mark) {
            return Some((power, rest));
        }
    }
    let marked = text.strip_prefix('^');
    let body = marked.unwrap_or(text);
    let sign = usize::from(body.starts_with(['-', '+']));
    let digits = body[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return (marked.is_none() && sign == 0).then_some((1, text));
    }
    let power = body[..sign + digits].parse::<i8>().ok()?;
    (power.abs() <= 9).then_some((power, &body[sign + digits..]))
}

fn find(name: &str) -> Result<&'static Unit> {
    if let Some(unit) = UNITS.iter().find(|u| u.names.contains(&name)) {
        return Ok(unit);
    }
    let error = Error::input(format!("\"{name}\" is not a unit"));
    let kelvin = ["°C", "degC", "celsius", "Celsius", "F", "°F"];
    if kelvin.contains(&name) {
        return Err(error.hint("temperatures are in K: T/K = T/degC + 273.15"));
    }
    let names = || UNITS.iter().flat_map(|u| u.names.iter().copied()).filter(|n| n.is_ascii());
    let same: Vec<&str> = names().filter(|n| n.eq_ignore_ascii_case(name)).collect();
    let near = if same.is_empty() { nearest(name, names()).into_iter().collect() } else { same };
    Err(if near.is_empty() {
        error.hint("`jostle schema` lists the units")
    } else {
        error.hint(format!("did you mean {}?", near.join(" or ")))
    })
}

/// The candidate that is spelt most like `word`, if one is near enough to have been meant. Of
/// equally near ones the one that begins alike: people rarely mistype the first letter.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let fold = |text: &str| text.to_lowercase().replace('_', "-");
    let word = fold(word);
    let (distance, _, near) = candidates
        .map(|c| {
            let folded = fold(c);
            let begins_otherwise = folded.chars().next() != word.chars().next();
            (strsim::damerau_levenshtein(&word, &folded), begins_otherwise, c)
        })
        .min_by_key(|(distance, begins_otherwise, _)| (*distance, *begins_otherwise))?;
    let longer = word.chars().count().max(near.chars().count());
    (distance < longer && distance <= (longer / 3).max(1)).then_some(near)
}

/// The dimension with energies and temperatures taken apart, so that equal things compare equal
/// however they are counted.
fn base(d: Dimension) -> [i16; 4] {
    let energy = i16::from(d.energy) + i16::from(d.temperature);
    [
        i16::from(d.length) + 2 * energy,
        i16::from(d.time) - 2 * energy,
        i16::from(d.mass) + energy,
        i16::from(d.charge),
    ]
}

/// Rounds a factor that is nearly a power of ten to it, so that 0.5 ps are 500 fs exactly.
fn snap(factor: f64) -> f64 {
    let power = 10f64.powi(factor.log10().round() as i32);
    if (factor / power - 1.0).abs() < 1e-14 { power } else { factor }
}

#[cfg(test)]
mod tests;
