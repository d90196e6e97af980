//! The heat current: against the derivative of positions times energies of atoms in a box that they do not leave, and
//! against itself with other splittings of sums over images.

use crate::embedded::{alloy, copper, system as metal};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{SimBox, Species, System, Vec3};
use jostle_cpu::{HeatCurrent, reference};
use jostle_fixtures::covalent::{TERSOFF_SILICON, crystal, silicon, two_sizes};
use jostle_potentials::electrostatics::{Method, NetCharge};
use jostle_potentials::{
    Dispersion, Electrostatics, Forces, PairEntry, PairKind, PairTerm, ThreeBody, Truncation,
};

/// A Lennard-Jones force between all species.
fn lennard_jones(n_species: usize, epsilon: f64, sigma: f64, truncation: Truncation) -> PairTerm {
    let mut term = PairTerm::new(PairKind::LennardJones, truncation, n_species);
    for a in 0..n_species {
        for b in a..n_species {
            let epsilon = epsilon * (1.0 + 0.3 * (a + b) as f64);
            term.set(a, b, PairEntry { parameters: vec![epsilon, sigma], cutoff: 2.5 * sigma });
        }
    }
    term
}

/// Gives atoms velocities; the centre of mass rests.
fn stir(mut system: System, width: f64) -> System {
    let mut random = Stream::new(3, Purpose::Velocity, 0, 0);
    let momentum = (0..system.state.len()).map(|k| {
        system.state.velocity[k] = width * random.normal3();
        system.mass(k) * system.state.velocity[k]
    });
    let momentum: Vec3 = momentum.sum();
    let total: f64 = (0..system.state.len()).map(|k| system.mass(k)).sum();
    system.state.velocity.iter_mut().for_each(|v| *v -= momentum / total);
    system
}

/// Atoms in the middle of a box so large that they have no images.
fn alone(mut system: System) -> System {
    let [a, b, c] = system.simbox.edges();
    system.simbox = SimBox::new([0.0; 3], [200.0; 3], [0.0; 3], [true; 3]).unwrap();
    let shift = Vec3::from([100.0; 3]) - 0.5 * (a + b + c);
    system.state.position.iter_mut().for_each(|r| *r += shift);
    system
}

/// Share of each atom in the potential energy.
fn shares(system: &System, forces: &Forces) -> Vec<f64> {
    let (state, n) = (&system.state, system.state.len());
    let species = |k: usize| usize::from(state.species[k]);
    let mut shares = vec![0.0; n];
    for i in 0..n {
        let (mut density, mut around) = (0.0, Vec::new());
        for j in (0..n).filter(|j| *j != i) {
            let d = state.position[j] - state.position[i];
            let r2 = d.norm_squared();
            for term in &forces.pairs {
                let entry = term.get(species(i), species(j)).unwrap();
                if r2 < entry.cutoff.powi(2) {
                    shares[i] +=
                        0.5 * term.evaluate(r2, &term.coefficients(species(i), species(j)).unwrap()).0;
                }
            }
            if let Some(term) = forces.embedded.iter().find(|term| r2 < term.cutoff().powi(2)) {
                density += term.density(species(i), species(j), r2.sqrt()).0;
                shares[i] += 0.5 * term.pair([species(i), species(j)], r2, [0.0; 2]).0;
            }
            if let Some(term) = &forces.three_body
                && r2 < term.cutoff_of(species(i), species(j)).powi(2)
            {
                around.push((species(j), d));
            }
        }
        shares[i] += forces.embedded.iter().map(|term| term.embedding(species(i), density).0).sum::<f64>();
        shares[i] += forces.three_body.iter().map(|term| term.center(species(i), &around).0).sum::<f64>();
    }
    shares
}

#[test]
fn it_is_the_derivative_of_positions_times_energies() {
    let pairs = || lennard_jones(2, 0.4, 2.6, Truncation::Switched { from: 0.8 });
    let silicon_atoms = |species: &[(&str, f64)]| crystal(2, 5.0, species, 0.8, false);
    let cases: [(System, Forces); 6] = [
        (metal(3, 4.2, &["A", "B"], 0.6), pairs().into()),
        (metal(3, 3.61, &["Cu"], 0.5), copper()),
        (metal(3, 3.8, &["A", "B"], 0.5), Forces { pairs: vec![pairs()], ..alloy() }),
        (silicon_atoms(&[("Si", 2.0)]), silicon().into()),
        (silicon_atoms(&[("Si", 2.0), ("C", 1.0)]), two_sizes().into()),
        (silicon_atoms(&[("Si", 2.0)]), ThreeBody::tersoff(1, &[TERSOFF_SILICON]).into()),
    ];
    for (case, (system, forces)) in cases.into_iter().enumerate() {
        let system = stir(alone(system), 0.7);
        let force = reference::evaluate(&system, &forces).unwrap().0;
        let energies: f64 = shares(&system, &forces).iter().sum();
        let exact = reference::evaluate(&system, &forces).unwrap().1.potential();
        assert!((energies - exact).abs() < 1e-9 * exact.abs(), "{case}: {energies} {exact}");
        // Sum of positions times energies on the way of all atoms.
        let at = |time: f64| {
            let mut moved = system.clone();
            for (k, force) in force.iter().enumerate() {
                let acceleration = *force / system.mass(k);
                let state = &mut moved.state;
                state.position[k] += time * state.velocity[k] + 0.5 * time * time * acceleration;
                state.velocity[k] += time * acceleration;
            }
            let shares = shares(&moved, &forces);
            let of_atom = |k: usize| {
                let energy = shares[k] + 0.5 * system.mass(k) * moved.state.velocity[k].norm_squared();
                energy * (moved.state.position[k] - Vec3::from([100.0; 3]))
            };
            (0..shares.len()).map(of_atom).sum::<Vec3>()
        };
        let h = 1e-5;
        let derivative = (at(h) - at(-h)) / (2.0 * h);
        let mut current = HeatCurrent::new(&system, &forces, Some(2)).unwrap();
        let found = current.evaluate(&system.simbox, &system.state).unwrap();
        let miss = (found - derivative).norm() / derivative.norm();
        assert!(miss < 1e-6, "{case}: {found:?} instead of {derivative:?}");
        // A box that moves as a whole, stored in another order, has the same one.
        let mut other = system.state.clone();
        other.velocity.iter_mut().for_each(|v| *v += Vec3::from([3.0, -2.0, 1.0]));
        other.permute(&(0..other.len() as u32).rev().collect::<Vec<_>>());
        let again = current.evaluate(&system.simbox, &other).unwrap();
        assert!((again - found).norm() < 1e-9 * found.norm(), "{case}: {again:?} instead of {found:?}");
    }
}

/// Atoms of one species and charge at random, in a tilted box.
fn plasma() -> System {
    let simbox = SimBox::new([1.0, -2.0, 0.5], [9.0, 10.0, 11.0], [1.5, -1.0, 0.8], [true; 3]).unwrap();
    let mut system = System::new(simbox, vec![Species { name: "A".into(), mass: 2.0, charge: 1.3 }]);
    let mut random = Stream::new(5, Purpose::Placement, 0, 0);
    while system.state.len() < 120 {
        let r = simbox.to_cartesian(Vec3::from_fn(|_| random.uniform()));
        if system.state.position.iter().all(|other| simbox.nearest_image(r - *other).norm() > 1.0) {
            system.state.push(0, r);
        }
    }
    stir(system, 1.1)
}

#[test]
fn splittings_of_sums_over_images_do_not_matter() {
    let system = plasma();
    let of = |forces: Forces| {
        let mut current = HeatCurrent::new(&system, &forces, None).unwrap();
        current.evaluate(&system.simbox, &system.state).unwrap()
    };
    let ewald = |alpha: f64| Method::Ewald { alpha, longest: 13.0 * alpha };
    let charged = |alpha: f64, screening_length: f64| {
        let net_charge = NetCharge::Background;
        of(Electrostatics { screening_length, net_charge, ..Electrostatics::new(ewald(alpha), 1.0, 4.0) }
            .into())
    };
    let core = || lennard_jones(1, 0.7, 1.6, Truncation::Plain);
    let dispersed = |alpha: f64| {
        let dispersion = Some(Dispersion::new(&core(), ewald(alpha)).unwrap());
        of(Forces { dispersion, ..core().into() })
    };
    let kinetic = of(Forces::default());
    let cases: [(&str, &dyn Fn(f64) -> Vec3); 3] = [
        ("charges", &|alpha| charged(alpha, f64::INFINITY)),
        ("screened charges", &|alpha| charged(alpha, 1.5)),
        ("dispersion", &dispersed),
    ];
    for (name, at) in cases {
        let (one, other) = (at(1.6), at(2.1));
        let potential = (one - kinetic).norm();
        assert!((one - other).norm() < 1e-6 * potential, "{name}: {one:?} and {other:?}");
        assert!(potential > 0.1 * kinetic.norm(), "{name}");
    }
    // With a short screening length, pairs alone have all of the current.
    let mut yukawa = PairTerm::new(PairKind::Yukawa, Truncation::Plain, 1);
    yukawa.set(0, 0, PairEntry { parameters: vec![1.69, 0.25], cutoff: 4.4 });
    let (pairs, images) = (of(yukawa.into()), charged(1.6, 0.25));
    assert!((pairs - images).norm() < 1e-5 * (pairs - kinetic).norm(), "{pairs:?} and {images:?}");
}

/// LAMMPS' compute heat/flux (`tests/external/make_heat_current_reference.py`), which has half of a pair's virial at each
/// atom, as here. Its error function has seven digits.
#[test]
fn another_program_has_the_same_current() {
    const N: usize = 5;
    let simbox = SimBox::orthorhombic([1.1 * N as f64; 3]).unwrap();
    let mut system = System::new(simbox, vec![Species { name: "A".into(), mass: 2.0, charge: 1.3 }]);
    for n in 0..N * N * N {
        let cell = Vec3::from([n / N / N, n / N % N, n % N].map(|k| k as f64 + 0.5));
        let phase = Vec3::from([1.0, 1.7, 2.3].map(|k| k * n as f64)) + Vec3::from([0.3, 1.1, 0.7]);
        system.state.push(0, 1.1 * cell + 0.12 * phase.map(f64::sin));
        system.state.velocity[n] = (0.6 * phase).map(f64::cos);
    }
    let method = Method::Ewald { alpha: 1.9, longest: 24.0 };
    let charges =
        Electrostatics { net_charge: NetCharge::Background, ..Electrostatics::new(method, 1.0, 2.7) };
    let cases: [(Forces, [f64; 3], f64); 2] = [
        (
            lennard_jones(1, 0.7, 1.0, Truncation::Plain).into(),
            [-21.906961636710452, -43.70689893337257, 89.87001208906237],
            1e-12,
        ),
        (charges.into(), [0.25132773517424806, 1.0689921620985783, 1.0263437449387627], 2e-6),
    ];
    for (forces, expected, tolerance) in cases {
        let mut current = HeatCurrent::new(&system, &forces, None).unwrap();
        let found = current.evaluate(&simbox, &system.state).unwrap();
        assert!(
            (found - Vec3::from(expected)).norm() < tolerance * found.norm(),
            "{found:?} not {expected:?}"
        );
    }
}
