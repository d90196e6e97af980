//! The promise of `accuracy`: the error of forces on charges in disorder, relative to the forces (root mean
//! squares), in boxes of any shape, with any number of charges within the cut-off, for all orders of splines.

use crate::engine::{by_id, open};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Precision, SimBox, System, Vec3, Vector};
use jostle_fixtures::charges::{difference, ion, norm};
use jostle_potentials::Electrostatics;
use jostle_potentials::electrostatics::{Composition, Method};

/// Edges and tilts of boxes, to be scaled.
const CUBIC: ([f64; 3], [f64; 3]) = ([1.0; 3], [0.0; 3]);
const FLAT: ([f64; 3], [f64; 3]) = ([4.0, 3.5, 1.0], [0.0; 3]);
const LONG: ([f64; 3], [f64; 3]) = ([1.0, 1.0, 5.0], [0.0; 3]);
const TRICLINIC: ([f64; 3], [f64; 3]) = ([9.0, 10.0, 11.0], [1.5, -1.0, 0.8]);
const SKEWED: ([f64; 3], [f64; 3]) = ([1.0, 0.8, 0.7], [0.5, -0.4, 0.35]);
/// A truncated octahedron.
const OCTAHEDRON: ([f64; 3], [f64; 3]) =
    ([1.0, 0.942_809_041_582_063_4, 0.816_496_580_927_726], [1.0 / 3.0, -1.0 / 3.0, 0.471_404_520_791_031_7]);

/// A box with one charge in a unit of volume, on the average.
fn simbox((lengths, tilts): ([f64; 3], [f64; 3]), n: usize) -> SimBox {
    let scale = (n as f64 / lengths.iter().product::<f64>()).cbrt();
    SimBox::new([0.3, -0.2, 0.1], lengths.map(|x| scale * x), tilts.map(|x| scale * x), [true; 3]).unwrap()
}

/// A place in a box.
fn place(simbox: &SimBox, random: &mut Stream) -> Vec3 {
    simbox.to_cartesian(Vector([random.uniform(), random.uniform(), random.uniform()]))
}

/// Returns true if a place is this far from all atoms.
fn is_free(system: &System, r: Vec3, distance: f64) -> bool {
    system.state.position.iter().all(|other| {
        let d = system.simbox.nearest_image(r - *other);
        d.iter().map(|x| x * x).sum::<f64>() > distance * distance
    })
}

/// Ions at random, this far apart; of charges that are as unlike as they may be, or 1 and -1.
fn ions(shape: ([f64; 3], [f64; 3]), n: usize, apart: f64, uneven: bool) -> System {
    let mut system = System::new(simbox(shape, n), vec![ion("A", 1.0), ion("B", -1.0)]);
    let mut random = Stream::new(11, Purpose::Placement, 0, 0);
    while system.state.len() < n {
        let r = place(&system.simbox, &mut random);
        if is_free(&system, r, apart) {
            system.state.push((system.state.len() % 2) as u16, r);
        }
    }
    if uneven {
        system.charges = (0..n).map(|_| 2.0 * random.uniform() - 1.0).collect();
        let mean = system.charges.iter().sum::<f64>() / n as f64;
        system.charges.iter_mut().for_each(|q| *q -= mean);
    }
    system
}

/// Molecules of three charges, whose arms are this long, that exclude each other: a liquid or a vapour.
fn molecules(n: usize, arm: f64) -> System {
    let mut system = System::new(simbox(CUBIC, 3 * n), vec![ion("O", -2.0), ion("H", 1.0)]);
    let mut random = Stream::new(12, Purpose::Placement, 0, 0);
    let unit = |v: Vec3| {
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.map(|x| x / length)
    };
    while system.state.len() < 3 * n {
        let r = place(&system.simbox, &mut random);
        if !is_free(&system, r, (2.2 * arm).min(1.1)) {
            continue;
        }
        let along = unit(random.normal3());
        let other = random.normal3();
        let share: f64 = (0..3).map(|k| along[k] * other[k]).sum();
        let across = unit(other - share * along);
        let second = across * 8f64.sqrt() / 3.0 - along / 3.0;
        let first = system.state.len() as u32;
        system.state.push(0, r);
        for direction in [along, Vector(*second)] {
            system.state.push(1, r + arm * direction);
        }
        system.topology.excluded.extend([[first, first + 1], [first, first + 2], [first + 1, first + 2]]);
    }
    system
}

/// Rock salt that has melted, or nearly so.
fn melt(cells: usize) -> System {
    let edge = (2 * cells) as f64;
    let mut system =
        System::new(SimBox::orthorhombic([edge; 3]).unwrap(), vec![ion("A", 1.0), ion("B", -1.0)]);
    let mut random = Stream::new(13, Purpose::Placement, 0, 0);
    for site in 0..(2 * cells).pow(3) {
        let [x, y, z] = [site / (4 * cells * cells), site / (2 * cells) % (2 * cells), site % (2 * cells)];
        let shaken = random.normal3();
        let r = [(x, 0), (y, 1), (z, 2)].map(|(n, k)| n as f64 + 0.2 * shaken[k]);
        system.state.push(((x + y + z) % 2) as u16, r);
    }
    system
}

/// Forces relative to those of Ewald's sum, at a cut-off.
struct Trial {
    system: System,
    cutoff: f64,
    exact: Vec<Vec3>,
}

impl Trial {
    fn new(system: System, cutoff: f64) -> Self {
        let most = 0.999 * system.simbox.largest_cutoff();
        let found = forces(&system, Method::ewald(most, 1e-10), most);
        Trial { system, cutoff: cutoff.min(most), exact: found }
    }

    fn method(&self, order: usize, accuracy: f64) -> Method {
        let composition = Composition::new(&self.system, self.system.simbox.volume()).unwrap();
        Method::pme_of(&composition, self.cutoff, accuracy, order, 0.0)
    }

    fn error(&self, method: Method) -> f64 {
        difference(&forces(&self.system, method, self.cutoff), &self.exact) / norm(&self.exact)
    }
}

fn forces(system: &System, method: Method, cutoff: f64) -> Vec<Vec3> {
    by_id(&mut *open(system, &Electrostatics::new(method, 1.0, cutoff).into(), Precision::Double, 1))
}

#[test]
fn accuracy_is_kept_in_every_box() {
    let all = [(4, 1e-3), (4, 1e-4), (5, 5e-4), (5, 1e-4), (5, 1e-5), (6, 1e-3), (6, 1e-5), (6, 1e-6)];
    let few = [(4, 1e-3), (5, 5e-4), (6, 1e-4)];
    let whole = f64::INFINITY;
    let trials = [
        ("20 ions, cubic", ions(CUBIC, 20, 0.8, false), whole, &all[..]),
        ("20 ions, skewed", ions(SKEWED, 20, 0.5, false), whole, &all),
        ("60 ions, triclinic", ions(TRICLINIC, 60, 0.8, false), whole, &all),
        ("60 uneven ions, triclinic", ions(TRICLINIC, 60, 0.8, true), whole, &all),
        ("100 ions, octahedron", ions(OCTAHEDRON, 100, 0.5, false), whole, &all),
        ("300 ions, flat", ions(FLAT, 300, 0.5, false), whole, &few),
        ("200 ions, long", ions(LONG, 200, 0.7, false), 1.2, &few),
        ("100 ions, dilute", ions(CUBIC, 100, 0.8, false), 0.7, &few),
        ("1000 ions", ions(CUBIC, 1000, 0.8, false), 4.0, &few),
        ("a melt", melt(4), 3.5, &all),
        ("a liquid of molecules", molecules(300, 0.45), 4.2, &all),
        ("a vapour of molecules", molecules(100, 0.1), 1.5, &few),
    ];
    let mut broken = Vec::new();
    for (name, system, cutoff, cases) in trials {
        // Statistical error of the root mean square over the components of one configuration.
        let known = 1.0 + (6.0 * system.state.len() as f64).sqrt().recip();
        let trial = Trial::new(system, cutoff);
        for &(order, accuracy) in cases {
            let error = trial.error(trial.method(order, accuracy));
            let found = format!("{name}, order {order}: {accuracy:e} asked for, {error:.3e} found");
            println!("{found}");
            broken.extend((error >= known * accuracy).then_some(found));
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Few charges within the cut-off, for which the rule for matter as dense as water fails.
#[test]
fn accuracy_is_kept_with_few_charges_within_the_cutoff() {
    let trial = Trial::new(ions(TRICLINIC, 60, 0.8, false), f64::INFINITY);
    for (order, accuracy) in [(4, 1e-4), (6, 1e-6)] {
        let error = trial.error(Method::pme(trial.cutoff, accuracy, order));
        assert!(error > 1.2 * accuracy, "order {order}: {error:e}");
    }
}
