//! Chains with bonds and angles of several kinds.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Exclude, SimBox, Species, System, Topology};
use jostle_potentials::{
    AngleKind, AngleTerm, BondKind, BondTerm, Forces, PairEntry, PairKind, PairTerm, Truncation,
};

/// A kind of bead.
pub fn bead(name: &str) -> Species {
    Species { name: name.into(), mass: 1.0, charge: 0.0 }
}

/// Chains that cross the faces of a tilted box.
pub fn chains(periodic: [bool; 3]) -> System {
    let tilts = if periodic[2] { [1.5, -1.0, 0.8] } else { [1.5, 0.0, 0.0] };
    let simbox = SimBox::new([1.0, -2.0, 0.5], [9.0, 8.0, 10.0], tilts, periodic).unwrap();
    let mut system = System::new(simbox, vec![bead("A"), bead("B")]);
    let (n, beads) = (40, 12);
    for chain in 0..n {
        let mut random = Stream::new(3, Purpose::Placement, chain, 0);
        let mut r = simbox.to_cartesian([random.uniform(), random.uniform(), random.uniform()]);
        for k in 0..beads {
            system.state.push(u16::from(k % 3 == 0), r);
            if let Some(v) = system.state.velocity.last_mut() {
                *v = random.normal3();
            }
            let (step, length) = (random.direction(), 0.8 + 0.4 * random.uniform());
            r = std::array::from_fn(|k| r[k] + length * step[k]);
        }
    }
    let mut topology = Topology::chains(n as usize, beads as usize, "a");
    topology.bond_types.push("b".into());
    topology.angle_types.push("b".into());
    topology.bonds.iter_mut().step_by(3).for_each(|b| b.kind = 1);
    topology.angles.iter_mut().step_by(4).for_each(|a| a.kind = 1);
    system.topology = topology;
    system
}

/// Soft beads, two kinds of bonds and two of angles.
pub fn forces(exclude: Exclude) -> Forces {
    let mut soft = PairTerm::new(PairKind::SoftRepulsion, Truncation::Plain, 2);
    for (a, b, strength) in [(0, 0, 25.0), (0, 1, 30.0), (1, 1, 35.0)] {
        let parameters = vec![strength, 1.3];
        soft.set(a, b, PairEntry { parameters, cutoff: 1.3 });
    }
    let bond = |kind, number, parameters: &[f64]| BondTerm::new(kind, 2).with(number, parameters).unwrap();
    let angle = |kind, number, parameters: &[f64]| AngleTerm::new(kind, 2).with(number, parameters).unwrap();
    Forces {
        pairs: vec![soft],
        bonds: vec![bond(BondKind::Fene, 0, &[30.0, 1.5]), bond(BondKind::HarmonicBond, 1, &[50.0, 1.1])],
        angles: vec![
            angle(AngleKind::CosineAngle, 0, &[1.5]),
            angle(AngleKind::HarmonicAngle, 1, &[20.0, 100.0]),
        ],
        exclude,
        ..Forces::default()
    }
}
