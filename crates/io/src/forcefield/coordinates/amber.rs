//! AMBER's formatted coordinate and restart files (inpcrd, rst7): a title, the number of atoms, and
//! numbers in columns of twelve: positions in angstrom, velocities in angstrom per 1/20.455 ps, edges
//! and angles of the box.

use super::{Coordinates, cell};
use crate::forcefield::assembly::factor;
use crate::structure::Lines;
use jostle_core::vector::vectors_of;
use jostle_core::{Dimension, Result, UnitSystem, Vec3};

/// AMBER's unit of time in ps, as its manual has it.
const PICOSECONDS: f64 = 1.0 / 20.455;

const WIDTH: usize = 12;

pub(super) fn read(mut lines: Lines, units: UnitSystem) -> Result<Coordinates> {
    let _title = lines.next();
    let second = lines.next().unwrap_or("");
    let n: usize = lines.parse(second.split_whitespace().next(), "the number of atoms")?;
    let mut numbers = Vec::new();
    while let Some(line) = lines.next() {
        let line = line.trim_end();
        let mut at = 0;
        while at < line.len() {
            let field = line.get(at..(at + WIDTH).min(line.len()));
            let field = field.ok_or_else(|| lines.error("a line is not in columns of twelve characters"))?;
            numbers.push(lines.number(Some(field.trim()), "a coordinate")?);
            at += WIDTH;
        }
    }
    let length = factor(UnitSystem::Real, units, Dimension::LENGTH);
    // Angstrom per ps.
    let velocity = factor(UnitSystem::Metal, units, Dimension::VELOCITY) / PICOSECONDS;
    let three = n.checked_mul(3).filter(|_| n > 0);
    let three = three.ok_or_else(|| lines.error(format!("the file has {n} atoms")))?;
    // Velocities or not, three edges with or without three angles.
    let rest = numbers.len().checked_sub(three);
    let (moving, boxed) = match rest {
        Some(0) => (false, 0),
        Some(6) if n != 2 => (false, 6),
        Some(3) if n != 1 => (false, 3),
        Some(rest) if rest == three => (true, 0),
        Some(rest) if rest == three + 6 => (true, 6),
        Some(rest) if rest == three + 3 => (true, 3),
        _ => {
            let count = numbers.len();
            return Err(lines
                .error(format!("the file has {count} numbers, which does not go with {n} atoms"))
                .hint("the file seems to be truncated"));
        }
    };
    let vectors = |numbers: &[f64], scale: f64| -> Vec<Vec3> {
        vectors_of(numbers).iter().map(|v| *v * scale).collect()
    };
    let edges = &numbers[numbers.len() - boxed..];
    let simbox = match edges {
        [] => None,
        [a, b, c, rest @ ..] => {
            let angles = if let [p, q, r] = rest { [*p, *q, *r] } else { [90.0; 3] };
            let simbox = cell([*a, *b, *c].map(|x| x * length), angles);
            Some(simbox.map_err(|e| lines.error(e.message()))?)
        }
        _ => None,
    };
    Ok(Coordinates {
        positions: vectors(&numbers[..three], length),
        velocities: moving.then(|| vectors(&numbers[three..2 * three], velocity)),
        simbox,
        ..Coordinates::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn parse(text: &str) -> Result<Coordinates> {
        read(Lines::new(Path::new("a.rst7"), text), UnitSystem::Nano)
    }

    const POSITIONS: &str = "  15.9081745  11.9692554  16.0887376  15.3772539  12.8994663  15.8864236\n  14.4705674-112.9396154  16.4900842\n";
    const BOX: &str = "  32.8528630  32.8616480  31.8550980  90.0000000  90.0000000  90.0000000\n";

    #[test]
    fn what_is_there_is_told_by_how_much_there_is() {
        let plain = parse(&format!("title\n    3\n{POSITIONS}")).unwrap();
        assert!((plain.positions[2][1] + 11.29396154).abs() < 1e-14);
        assert!(plain.simbox.is_none() && plain.velocities.is_none());
        let boxed = parse(&format!("title\n    3  0.5\n{POSITIONS}{BOX}")).unwrap();
        assert!((boxed.simbox.unwrap().lengths()[1] - 3.286_164_8).abs() < 1e-14);
        let moving = parse(&format!("title\n    3\n{POSITIONS}{POSITIONS}{BOX}")).unwrap();
        let speed = moving.velocities.unwrap()[0][0];
        assert!((speed / (1.59081745 * 20.455) - 1.0).abs() < 1e-12, "{speed}");
        let error = parse(&format!("title\n    4\n{POSITIONS}")).unwrap_err();
        assert!(error.message().contains("9 numbers"), "{error}");
        assert!(parse("title\n 0\n").is_err());
        assert!(parse("title\n 1\n  1.0000000   2.x\n").is_err());
    }
}
