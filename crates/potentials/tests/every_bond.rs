//! What every bond and angle of the registry must satisfy. A new one is tested here by the line
//! that registers it.

use jostle_core::Dual;
use jostle_core::random::{Purpose, Stream};
use jostle_potentials::bonded::{AngleFunction, AngleVisitor, angle_forces};
use jostle_potentials::pair::{PairFunction, PairVisitor, Parameter};
use jostle_potentials::{AngleKind, AngleTerm, BondKind, BondTerm, BondedKind};

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
struct AngleAt<'a>([[f64; 3]; 2], &'a [f64]);

impl AngleVisitor for AngleAt<'_> {
    type Output = (f64, [[f64; 3]; 2], [[f64; 3]; 2]);

    fn visit<F: AngleFunction>(self) -> Self::Output {
        let AngleAt(ends, c) = self;
        let c: Vec<_> = c.iter().map(|c| Dual::constant(*c)).collect();
        let at = |end: usize, axis: usize| {
            let dual = |e: usize| {
                std::array::from_fn(|k| match (e, k) == (end, axis) {
                    true => Dual::variable(ends[e][k]),
                    false => Dual::constant(ends[e][k]),
                })
            };
            angle_forces::<F, Dual<f64>>(dual(0), dual(1), &c)
        };
        let slopes = std::array::from_fn(|end| std::array::from_fn(|axis| at(end, axis).0.slope));
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
            let mut end = || random.direction().map(|x| 1.3 * x);
            let ends = [end(), end()];
            let (energy, slopes, forces) = kind.visit(AngleAt(ends, &c));
            let scale = energy.abs() + c[0].abs();
            for (force, slope) in forces.as_flattened().iter().zip(slopes.as_flattened()) {
                assert!((force + slope).abs() < 1e-10 * scale, "{kind:?}: {forces:?} is not -{slopes:?}");
            }
        }
    }
}

#[test]
fn values_at_known_places() {
    // Kremer and Grest's bond at its mean length.
    let fene = BondKind::Fene.coefficients(&[30.0, 1.5]);
    let r = 0.97_f64;
    let [energy, ..] = BondKind::Fene.visit(At(r, &fene));
    assert!((energy + 33.75 * (1.0 - r * r / 2.25).ln()).abs() < 1e-12);
    let right = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
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
        for ends in [[[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], [[0.3, 0.4, 0.0], [0.6, 0.8, 0.0]]] {
            struct Plain<'a>([[f64; 3]; 2], &'a [f64]);
            impl AngleVisitor for Plain<'_> {
                type Output = [f64; 3];
                fn visit<F: AngleFunction>(self) -> [f64; 3] {
                    angle_forces::<F, f64>(self.0[0], self.0[1], self.1).1
                }
            }
            assert!(kind.visit(Plain(ends, &c)).iter().all(|f| f.is_finite()), "{kind:?}");
        }
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
