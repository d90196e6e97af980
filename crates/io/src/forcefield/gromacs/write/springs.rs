//! Springs of a molecule: bonds, and springs across angles (Urey and Bradley).
//!
//! Files of OpenMM do not tell them apart. Taken for bonds, springs across angles would exclude pairs that are further
//! apart than they seem, in programs that find exclusions by bonds.

use super::ascending;
use super::parameters::Parameters;
use super::types::without_parameters;
use super::unwritable;
use crate::forcefield::UREY_BRADLEY;
use jostle_core::{Angle, Bond, Result};
use jostle_potentials::{BondKind, BondedKind};
use std::collections::HashMap;

/// Length of a spring across an angle in lengths of the longer of its bonds, at least: it is 1.3 where the angle is 80
/// degrees, and about 1 in rings of three bonds.
const ACROSS: f64 = 1.3;

/// Stiffness and length.
type Spring = [f64; 2];

/// Springs of a molecule.
pub(super) struct Springs {
    /// Bonds.
    pub bonds: Vec<([u32; 2], Spring)>,
    /// Springs between the ends of angles, by these ends.
    pub across: Vec<([u32; 2], Vec<Spring>)>,
}

impl Springs {
    /// Springs among the bonds of a molecule.
    ///
    /// # Errors
    /// If there is another bond, or one without parameters.
    pub fn new<'a>(
        bonds: impl Iterator<Item = &'a Bond>,
        angles: impl Iterator<Item = &'a Angle>,
        parameters: &Parameters,
    ) -> Result<Self> {
        let mut all: Vec<([u32; 2], Spring, bool)> = Vec::new();
        let mut lengths: HashMap<[u32; 2], f64> = HashMap::new();
        for Bond { kind, atoms } in bonds {
            let known = parameters.bonds[*kind as usize].as_ref();
            match known.ok_or_else(|| without_parameters("bond"))? {
                (BondKind::ScaledPair, ..) => {}
                (kind @ (BondKind::Fene | BondKind::SoftPair | BondKind::SoftPairGapsys), ..) => {
                    return Err(unwritable(&format!("bond of the kind {}", kind.name())));
                }
                (BondKind::HarmonicBond, name, p) => {
                    let is_across = *name == UREY_BRADLEY;
                    all.push((*atoms, [p[0], p[1]], is_across));
                    if !is_across {
                        lengths.insert(ascending(*atoms), p[1]);
                    }
                }
            }
        }
        let mut longest: HashMap<[u32; 2], f64> = HashMap::new();
        for Angle { atoms: [a, b, c], .. } in angles {
            let of = |one: u32, other: u32| lengths.get(&ascending([one, other]));
            if let (Some(first), Some(second)) = (of(*a, *b), of(*b, *c)) {
                longest.insert(ascending([*a, *c]), first.max(*second));
            }
        }
        let mut springs = Springs { bonds: Vec::new(), across: Vec::new() };
        let mut places: HashMap<[u32; 2], usize> = HashMap::new();
        for (atoms, spring, is_across) in all {
            let ends = ascending(atoms);
            let far = longest.get(&ends).is_some_and(|longest| spring[1] > ACROSS * longest);
            if !(is_across || far) {
                springs.bonds.push((atoms, spring));
                continue;
            }
            let place = *places.entry(ends).or_insert(springs.across.len());
            if place == springs.across.len() {
                springs.across.push((ends, Vec::new()));
            }
            springs.across[place].1.push(spring);
        }
        Ok(springs)
    }
}
