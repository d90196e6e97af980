//! Bead-spring chains at a density: random walks, pushed apart until beads no longer overlap.
//!
//! A step of a walk does not fold back onto the one before: beads next but one keep the initial distance of
//! K. Kremer and G. S. Grest, J. Chem. Phys. 92 (1990) 5057. Then the energy of soft spheres on springs is
//! minimised until they no longer overlap, as in the soft push-off of R. Auhl et al., J. Chem. Phys. 119
//! (2003) 12718.

use super::push_off::{SPRING, push_apart};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Result, SimBox, Species, System, Topology, Vec3, Vector};
use jostle_potentials::{BondKind, BondTerm};

/// Smallest distance of beads next but one, in bond lengths: 1.02 sigma where a bond is 0.97 sigma.
const NEXT_BUT_ONE: f64 = 1.02 / 0.97;

/// Positions of the beads, chain by chain; chains are whole and reach beyond the box.
///
/// # Errors
/// If the bond is longer than half the box.
pub fn positions(simbox: &SimBox, chains: usize, beads: usize, bond: f64, seed: u64) -> Result<Vec<Vec3>> {
    // The box in units of the bond length.
    let unit = simbox.converted(|x| x / bond)?;
    let mut system = System::new(unit, vec![Species { name: "bead".into(), mass: 1.0, charge: 0.0 }]);
    for chain in 0..chains {
        for r in walk(&unit, beads, chain, seed) {
            system.state.push(0, r);
        }
    }
    system.topology = Topology::chains(chains, beads, "chain");
    (system.topology.angles, system.topology.angle_types) = Default::default();
    let spring = BondTerm::uniform(BondKind::HarmonicBond, &[SPRING, 1.0])?;
    push_apart(system, spring).map(|positions| positions.into_iter().map(|r| r * bond).collect())
}

/// A random walk of unit steps.
fn walk(simbox: &SimBox, beads: usize, chain: usize, seed: u64) -> Vec<Vec3> {
    let mut stream = Stream::new(seed, Purpose::Placement, chain as u32, 0);
    let mut here = simbox.to_cartesian(Vector([stream.uniform(), stream.uniform(), stream.uniform()]));
    let mut before: Option<Vec3> = None;
    let mut positions = vec![here];
    while positions.len() < beads {
        let step = stream.direction();
        let two = before.map_or(Vector([2.0, 0.0, 0.0]), |b| b + step);
        if two.iter().map(|x| x * x).sum::<f64>() < NEXT_BUT_ONE * NEXT_BUT_ONE {
            continue;
        }
        here += step;
        before = Some(step);
        positions.push(here);
    }
    positions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beads_keep_apart_and_bonds_their_length() {
        let (chains, beads, bond) = (10, 30, 0.97);
        let simbox = SimBox::orthorhombic([(300.0_f64 / 0.85).cbrt(); 3]).unwrap();
        let r = positions(&simbox, chains, beads, bond, 3).unwrap();
        assert_eq!(r.len(), chains * beads);
        let distance = |i: usize, j: usize| {
            let d = simbox.nearest_image(r[i] - r[j]);
            d.iter().map(|x| x * x).sum::<f64>().sqrt()
        };
        let mut least = f64::INFINITY;
        for i in 0..r.len() {
            for j in 0..i {
                least = least.min(distance(i, j));
            }
        }
        assert!(least > 0.9 * bond, "beads {least} apart");
        for c in 0..chains {
            for k in 1..beads {
                let length = distance(c * beads + k - 1, c * beads + k);
                assert!((length / bond - 1.0).abs() < 0.05, "a bond of {length}");
            }
        }
        assert_eq!(r, positions(&simbox, chains, beads, bond, 3).unwrap());
    }
}
