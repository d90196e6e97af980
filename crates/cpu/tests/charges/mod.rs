//! Charges for tests of both engines: ions at random.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, Species, System, Vec3};
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};

/// A kind of ion.
pub fn ion(name: &str, charge: f64) -> Species {
    Species { name: name.into(), mass: 1.0, charge }
}

/// Ions at random in a tilted box, some pairs of them excluded, with a soft core.
pub fn ions(n: usize, excluded: bool) -> (System, PairTerm) {
    let simbox = SimBox::new([1.0, -2.0, 0.5], [9.0, 10.0, 11.0], [1.5, -1.0, 0.8], [true; 3]).unwrap();
    let mut system = System::new(simbox, vec![ion("A", 1.0), ion("B", -2.0), ion("C", 1.0)]);
    let mut random = Stream::new(5, Purpose::Placement, 0, 0);
    while system.state.len() < n {
        let r = simbox.to_cartesian([random.uniform(), random.uniform(), random.uniform()]);
        let far = |other: &Vec3| {
            let d = simbox.nearest_image([0, 1, 2].map(|k| r[k] - other[k]));
            d.iter().map(|x| x * x).sum::<f64>() > 0.8
        };
        if system.state.position.iter().all(far) {
            system.state.push((system.state.len() % 3) as u16, r);
        }
    }
    if excluded {
        // Excluded pairs that are near, and some that are far apart.
        system.topology.excluded = (0..n as u32 - 7).step_by(5).map(|a| [a, a + 7]).collect();
    }
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 3);
    for (a, b, epsilon, sigma) in [(0, 0, 0.1, 0.9), (0, 1, 0.2, 0.8)] {
        core.set(a, b, PairEntry { parameters: vec![epsilon, sigma], cutoff: 2.5 });
    }
    (system, core)
}

/// The norm of all forces together.
pub fn norm(forces: &[Vec3]) -> f64 {
    forces.iter().flatten().map(|f| f * f).sum::<f64>().sqrt()
}

/// Norm of a difference.
pub fn difference(a: &[Vec3], b: &[Vec3]) -> f64 {
    let differences: Vec<Vec3> = a.iter().zip(b).map(|(a, b)| [0, 1, 2].map(|k| a[k] - b[k])).collect();
    norm(&differences)
}
