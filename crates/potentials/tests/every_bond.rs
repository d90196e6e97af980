//! Tests of every bond, angle and dihedral of the registry. A new one is tested here by the line that
//! registers it.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Components, Dual, Vec3, Vector};
use jostle_potentials::bonded::{
    AngleFunction, AngleVisitor, DihedralAngle, DihedralFunction, DihedralVisitor, angle_forces,
    dihedral_forces,
};
use jostle_potentials::pair::{PairFunction, PairVisitor, Parameter};
use jostle_potentials::{AngleKind, AngleTerm, BondKind, BondTerm, BondedKind, DihedralKind, DihedralTerm};

fn examples(parameters: &[Parameter]) -> Vec<f64> {
    parameters.iter().map(|p| p.example).collect()
}

/// Energy, its slope du/dr, and the force by the formula.
struct At<'a>(f64, &'a [f64]);

impl PairVisitor for At<'_> {
    type Output = [f64; 3];

    fn visit<F: PairFunction>(self) -> [f64; 3] {
        let c: Vec<_> = self.1.iter().map(|c| Dual::constant(*c)).collect();
        let r = Dual::variable(self.0);
        let (energy, force_over_r) = F::evaluate(r * r, &c);
        [energy.value, energy.slope, force_over_r.value * self.0]
    }
}

#[test]
fn forces_of_bonds_are_the_exact_derivatives_of_their_energies() {
    for kind in BondKind::ALL {
        let parameters = examples(kind.parameters());
        let c = kind.coefficients(&parameters);
        let end = kind.longest(&parameters).unwrap_or(2.0);
        for k in 1..100 {
            let r = end * f64::from(k) / 100.0;
            let [energy, slope, force] = kind.visit(At(r, &c));
            let scale = force.abs() + energy.abs() / r;
            assert!((force + slope).abs() <= 1e-12 * scale, "{kind:?} at {r}: {force} is not {}", -slope);
        }
    }
}

/// Energy of an angle and all derivatives, along every coordinate of its ends, with the forces.
struct AngleAt<'a>([Vec3; 2], &'a [f64]);

impl AngleVisitor for AngleAt<'_> {
    type Output = (f64, [Vec3; 2], [Vec3; 2]);

    fn visit<F: AngleFunction>(self) -> Self::Output {
        let AngleAt(ends, c) = self;
        let c: Vec<_> = c.iter().map(|c| Dual::constant(*c)).collect();
        let at = |end: usize, axis: usize| {
            let dual = |e: usize| {
                Vector::from_fn(|k| match (e, k) == (end, axis) {
                    true => Dual::variable(ends[e][k]),
                    false => Dual::constant(ends[e][k]),
                })
            };
            angle_forces::<F, Dual<f64>>(dual(0), dual(1), &c)
        };
        let slopes = std::array::from_fn(|end| Vector::from_fn(|axis| at(end, axis).0.slope));
        let (energy, a, b) = at(0, 0);
        (energy.value, slopes, [a.map(|x| x.value), b.map(|x| x.value)])
    }
}

#[test]
fn forces_of_angles_are_the_exact_derivatives_of_their_energies() {
    for kind in AngleKind::ALL {
        let c = kind.coefficients(&examples(kind.parameters()));
        for trial in 0..200 {
            let mut random = Stream::new(5, Purpose::Placement, trial, 0);
            let mut end = || 1.3 * random.direction();
            let ends = [end(), end()];
            let (energy, slopes, forces) = kind.visit(AngleAt(ends, &c));
            let scale = energy.abs() + c[0].abs();
            for (force, slope) in forces.as_flattened().iter().zip(slopes.as_flattened()) {
                assert!((force + slope).abs() < 1e-10 * scale, "{kind:?}: {forces:?} is not -{slopes:?}");
            }
        }
    }
}

type Vectors = [Vec3; 3];

/// Energy of a dihedral and all its derivatives, with the forces.
struct DihedralAt<'a>(Vectors, &'a [f64]);

impl DihedralVisitor for DihedralAt<'_> {
    type Output = (f64, Vectors, Vectors);

    fn visit<F: DihedralFunction>(self) -> Self::Output {
        let DihedralAt(vectors, c) = self;
        let duals: Vec<_> = c.iter().map(|c| Dual::constant(*c)).collect();
        let at = |vector: usize, axis: usize| {
            let mut dual = vectors.map(|v| v.map(Dual::constant));
            dual[vector][axis] = Dual::variable(vectors[vector][axis]);
            dihedral_forces::<F, Dual<f64>>(dual, &duals).0.slope
        };
        let slopes = std::array::from_fn(|vector| Vector::from_fn(|axis| at(vector, axis)));
        let (energy, forces) = dihedral_forces::<F, f64>(vectors, c);
        (energy, slopes, forces)
    }
}

/// Three vectors in some direction whose dihedral angle is `phi` and whose bends are `first` and `last`, 0
/// for a straight line.
fn turned(phi: f64, first: f64, last: f64, trial: u32) -> Vectors {
    let mut random = Stream::new(7, Purpose::Placement, trial, 0);
    let x = random.direction();
    let other = random.direction();
    let z = x.cross(other);
    let z = z / z.norm();
    let y = z.cross(x);
    let along = |a: f64, b: f64, c: f64| a * x + b * y + c * z;
    [
        along(1.1 * first.cos(), -1.1 * first.sin(), 0.0),
        along(0.9, 0.0, 0.0),
        along(1.3 * last.cos(), 1.3 * last.sin() * phi.cos(), 1.3 * last.sin() * phi.sin()),
    ]
}

/// All the way round, with cis and trans and what is next to them, and nearly straight ends.
#[test]
fn forces_of_dihedrals_are_the_exact_derivatives_of_their_energies() {
    let mut angles: Vec<f64> = (0..72).map(|k| f64::from(k - 36) * 0.0875).collect();
    for near in [0.0, std::f64::consts::PI, -std::f64::consts::PI] {
        angles.extend([-1e-3, -1e-6, -1e-9, 1e-9, 1e-6, 1e-3].map(|d| near + d));
    }
    for kind in DihedralKind::ALL {
        let c = kind.coefficients(&examples(kind.parameters()));
        for (trial, phi) in angles.iter().enumerate() {
            for (first, last) in [(1.2, 0.9), (0.3, 2.8), (1e-3, 1.0), (1.1, 3.1), (2e-5, 1e-4)] {
                let vectors = turned(*phi, first, last, trial as u32);
                let turn = DihedralAngle::new(vectors);
                let off = (turn.cosine - phi.cos()).hypot(turn.sine - phi.sin());
                let sines = first.sin() * last.sin();
                assert!(off < 1e-14 / sines, "{phi}: {}", turn.angle());
                let (energy, slopes, forces) = kind.visit(DihedralAt(vectors, &c));
                assert!(energy.is_finite());
                for (force, slope) in forces.as_flattened().iter().zip(slopes.as_flattened()) {
                    // Rounding of the angle, and what a small distance from the axis makes of it.
                    let rounding = 1e-13 * 500.0 / first.sin().min(last.sin()).powi(2);
                    assert!(
                        (force + slope).abs() < rounding,
                        "{kind:?} {phi}: {forces:?} is not -{slopes:?}"
                    );
                }
            }
        }
    }
}

/// The total force and torque vanish: forces of vectors are internal, and exert no torque.
#[test]
fn dihedrals_exert_no_torque_as_a_whole() {
    for kind in DihedralKind::ALL {
        let c = kind.coefficients(&examples(kind.parameters()));
        let vectors = turned(0.7, 1.2, 0.9, 1);
        let (_, _, forces) = kind.visit(DihedralAt(vectors, &c));
        for (p, q) in [(0, 1), (1, 2), (2, 0)] {
            let torque: f64 = vectors.iter().zip(forces).map(|(v, f)| v[p] * f[q] - v[q] * f[p]).sum();
            assert!(torque.abs() < 1e-12, "{kind:?}: {torque}");
        }
    }
}

/// Atoms in a line, three or four of them, have no dihedral angle; nothing becomes infinite.
#[test]
fn straight_dihedrals_have_finite_forces() {
    for kind in DihedralKind::ALL {
        let c = kind.coefficients(&examples(kind.parameters()));
        let x = Vector([1.0, 0.0, 0.0]);
        for vectors in [[x, x, x], [x, x, Vector([0.0, 1.0, 0.0])], [Vector([0.0, 1.0, 0.0]), x, -x]] {
            struct Plain<'a>(Vectors, &'a [f64]);
            impl DihedralVisitor for Plain<'_> {
                type Output = (f64, Vectors);
                fn visit<F: DihedralFunction>(self) -> Self::Output {
                    dihedral_forces::<F, f64>(self.0, self.1)
                }
            }
            let (energy, forces) = kind.visit(Plain(vectors, &c));
            assert!(energy.is_finite() && forces.as_flattened().iter().all(|f| f.is_finite()), "{kind:?}");
        }
    }
}

#[test]
fn dihedrals_at_known_angles() {
    let at = |kind: DihedralKind, parameters: &[f64], degrees: f64| {
        let c = kind.coefficients(parameters);
        kind.visit(DihedralAt(turned(f64::to_radians(degrees), 1.2, 0.9, 3), &c)).0
    };
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    for n in 1..=6 {
        for degrees in [-170.0, -60.0, 0.0, 37.0, 180.0] {
            let energy = at(DihedralKind::PeriodicDihedral, &[2.0, f64::from(n), 30.0], degrees);
            close(energy, 2.0 * (1.0 + (f64::from(n) * degrees - 30.0).to_radians().cos()));
        }
    }
    // Butane (Ryckaert and Bellemans 1975): zero for trans, the sum of all six for cis.
    let butane = [9.28, 12.16, -13.12, -3.06, 26.24, -31.5];
    close(at(DihedralKind::RyckaertBellemans, &butane, 180.0), 9.28 + 12.16 - 13.12 - 3.06 + 26.24 - 31.5);
    close(at(DihedralKind::RyckaertBellemans, &butane, 0.0), 9.28 - 12.16 - 13.12 + 3.06 + 26.24 + 31.5);
    close(at(DihedralKind::RyckaertBellemans, &butane, 90.0), 9.28);
    // The shorter way from -170 to 170 degrees is one of 20.
    let turn = f64::to_radians(20.0);
    close(at(DihedralKind::HarmonicDihedral, &[3.0, 170.0], -170.0), 1.5 * turn * turn);
    close(at(DihedralKind::HarmonicDihedral, &[3.0, 0.0], 20.0), 1.5 * turn * turn);
    for degrees in [-170.0, -35.0, 35.0, 20.0] {
        let bend = f64::to_radians(f64::abs(degrees) - 35.0);
        close(at(DihedralKind::UnsignedHarmonicDihedral, &[3.0, 35.0], degrees), 1.5 * bend * bend);
    }
    for n in [0.0, 1.5, 7.0, f64::NAN] {
        let error = DihedralTerm::uniform(DihedralKind::PeriodicDihedral, &[1.0, n, 0.0]).unwrap_err();
        assert!(error.message().contains("a whole number from 1 to 6"), "{error}");
    }
}

/// Coordinates by hand, and the sign of IUPAC for a right-handed screw.
#[test]
fn right_handed_screws_are_positive() {
    let turn =
        DihedralAngle::new([Vector([0.0, -1.0, 0.0]), Vector([1.0, 0.0, 0.0]), Vector([0.0, 0.0, 1.0])]);
    assert!((turn.angle() - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
}

#[test]
fn values_at_known_places() {
    // Kremer and Grest's bond at its mean length.
    let fene = BondKind::Fene.coefficients(&[30.0, 1.5]);
    let r = 0.97_f64;
    let [energy, ..] = BondKind::Fene.visit(At(r, &fene));
    assert!((energy + 33.75 * (1.0 - r * r / 2.25).ln()).abs() < 1e-12);
    let right = [Vector([1.0, 0.0, 0.0]), Vector([0.0, 2.0, 0.0])];
    assert!((AngleKind::CosineAngle.visit(AngleAt(right, &[1.5])).0 - 1.5).abs() < 1e-15);
    let harmonic = AngleKind::HarmonicAngle.coefficients(&[20.0, 60.0]);
    let energy = AngleKind::HarmonicAngle.visit(AngleAt(right, &harmonic)).0;
    assert!((energy - 10.0 * (std::f64::consts::PI / 6.0).powi(2)).abs() < 1e-12);
}

/// A straight line must not make a force infinite.
#[test]
fn straight_angles_have_finite_forces() {
    for kind in AngleKind::ALL {
        let c = kind.coefficients(&examples(kind.parameters()));
        for ends in [
            [Vector([1.0, 0.0, 0.0]), Vector([-1.0, 0.0, 0.0])],
            [Vector([0.3, 0.4, 0.0]), Vector([0.6, 0.8, 0.0])],
        ] {
            struct Plain<'a>([Vec3; 2], &'a [f64]);
            impl AngleVisitor for Plain<'_> {
                type Output = Vec3;
                fn visit<F: AngleFunction>(self) -> Vec3 {
                    angle_forces::<F, f64>(self.0[0], self.0[1], self.1).1
                }
            }
            assert!(kind.visit(Plain(ends, &c)).iter().all(|f| f.is_finite()), "{kind:?}");
        }
    }
}

/// A part of the energy of every kind is that of parameters with this part of their energy.
#[test]
fn weighted_parameters_have_a_part_of_the_energy() {
    let mut random = Stream::new(11, Purpose::Placement, 0, 0);
    let mut vector = || 1.2 * random.direction();
    let (a, b, c) = (vector(), vector(), vector());
    let check = |name: &str, energy: &dyn Fn(&[f64]) -> f64, [whole, part]: [Vec<f64>; 2]| {
        let [whole, part] = [energy(&whole), energy(&part)];
        assert!(whole != 0.0 && (part / whole - 0.2).abs() < 1e-14, "{name}: {part} of {whole}");
    };
    for kind in BondKind::ALL {
        let term = BondTerm::uniform(*kind, &examples(kind.parameters())).unwrap();
        let both = [term.parameters(0).unwrap().to_vec(), term.weighted(0, 0.2).unwrap()];
        check(kind.name(), &|c| kind.visit(At(1.2, c))[0], both.map(|p| kind.coefficients(&p)));
        assert!(term.weighted(1, 0.2).is_none());
    }
    for kind in AngleKind::ALL {
        let term = AngleTerm::uniform(*kind, &examples(kind.parameters())).unwrap();
        let both = [term.parameters(0).unwrap().to_vec(), term.weighted(0, 0.2).unwrap()];
        check(kind.name(), &|c| kind.visit(AngleAt([a, b], c)).0, both.map(|p| kind.coefficients(&p)));
    }
    for kind in DihedralKind::ALL {
        let term = DihedralTerm::uniform(*kind, &examples(kind.parameters())).unwrap();
        let both = [term.parameters(0).unwrap().to_vec(), term.weighted(0, 0.2).unwrap()];
        check(kind.name(), &|p| kind.visit(DihedralAt([a, b, c], p)).0, both.map(|p| kind.coefficients(&p)));
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let error = BondTerm::uniform(BondKind::Fene, &[30.0, 0.0]).unwrap_err();
    assert!(error.message().contains("longest = 0"), "{error}");
    assert!(BondTerm::uniform(BondKind::Fene, &[30.0]).is_err());
    assert!(AngleTerm::new(AngleKind::CosineAngle, 1).with(1, &[1.0]).is_err());
    assert_eq!(BondTerm::uniform(BondKind::Fene, &[30.0, 1.5]).unwrap().longest(0), 1.5);
    assert_eq!(BondTerm::uniform(BondKind::HarmonicBond, &[1.0, 1.0]).unwrap().longest(0), f64::INFINITY);
}
