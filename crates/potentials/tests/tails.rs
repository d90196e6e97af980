//! Long-range corrections, for every potential that has one and every truncation that may be corrected.

use jostle_potentials::{PairKind, PairTerm, Truncation};

const TRUNCATIONS: [Truncation; 5] = [
    Truncation::Plain,
    Truncation::Shifted,
    Truncation::Switched { from: 0.9 },
    Truncation::Switched { from: 0.5 },
    Truncation::CharmmSwitched { from: 0.7 },
];
const CUTOFF: f64 = 2.3;
const ATOMS: usize = 50;

fn term(kind: PairKind, truncation: Truncation) -> PairTerm {
    let parameters: Vec<f64> = kind.parameters().iter().map(|p| p.example).collect();
    let cutoff = kind.natural_cutoff(&parameters).unwrap_or(CUTOFF);
    PairTerm::uniform(kind, truncation, &parameters, cutoff)
}

/// Potentials that have a correction, under every truncation.
fn corrected() -> Vec<(PairKind, Truncation, PairTerm)> {
    let kinds = PairKind::ALL.iter().flat_map(|kind| TRUNCATIONS.map(|truncation| (*kind, truncation)));
    let with = |(kind, truncation)| {
        let term = term(kind, truncation).with_tail_correction().ok()?;
        Some((kind, truncation, term))
    };
    kinds.filter_map(with).collect()
}

/// The integral by Simpson's rule.
fn simpson(from: f64, to: f64, function: impl Fn(f64) -> f64) -> f64 {
    let n = 2000;
    let step = (to - from) / f64::from(n);
    let weight = |k| if k == 0 || k == n { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
    (0..=n).map(|k| weight(k) * function(from + f64::from(k) * step)).sum::<f64>() * step / 3.0
}

#[test]
fn all_but_one_of_the_registry_have_corrections() {
    let kinds: Vec<PairKind> = corrected().into_iter().map(|(kind, ..)| kind).collect();
    let without: Vec<_> = PairKind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
    // A polynomial, which ends where its cut-off is put.
    assert_eq!(without, [&PairKind::PakDoyama]);
    assert_eq!(kinds.len(), TRUNCATIONS.len() * (PairKind::ALL.len() - 1));
}

/// Pressure is the derivative of energy by volume where the truncated energy is continuous, and so are their
/// corrections.
#[test]
fn pressures_are_derivatives_of_energies() {
    for (kind, truncation, term) in corrected() {
        if truncation == Truncation::Plain {
            continue;
        }
        let (tail, volume, step) = (term.tail(&[ATOMS]), 70.0, 1e-3);
        let energy = |volume| tail.at(volume)[0];
        let slope = (energy(volume + step) - energy(volume - step)) / (2.0 * step);
        let [_, virial] = tail.at(volume);
        let error = virial + volume * slope;
        assert!(error.abs() <= 1e-8 * virial.abs(), "{kind:?} {truncation:?}: {virial} {slope}");
    }
}

/// Corrections of energies are in proportion to the density: a gas whose atoms have no neighbours has none.
#[test]
fn a_thin_gas_has_no_correction() {
    for (kind, truncation, term) in corrected() {
        let tail = term.tail(&[ATOMS]);
        for (dense, thin) in tail.at(70.0).into_iter().zip(tail.at(70.0e9)) {
            assert!(
                (1e9 * thin - dense).abs() <= 1e-12 * dense.abs(),
                "{kind:?} {truncation:?}: {dense} {thin}"
            );
        }
    }
}

/// Correction of a switch: that of a plain cut-off and an integral over the range of the switch; a shift
/// takes its constant from every pair within the cut-off, of which an even density has so many.
#[test]
fn switches_and_shifts_are_corrected() {
    let (pairs, volume) = ((ATOMS * ATOMS) as f64, 70.0);
    for (kind, truncation, corrected) in corrected() {
        let plain = term(kind, Truncation::Plain);
        let cutoff = plain.largest_cutoff();
        let [c, own] = [&plain, &corrected].map(|term| term.coefficients(0, 0).unwrap());
        let lost = |r: f64| plain.evaluate(r * r, &c).0 - corrected.evaluate(r * r, &own).0;
        let lacking = match truncation {
            Truncation::Switched { from } | Truncation::CharmmSwitched { from } => {
                simpson(from * cutoff, cutoff, |r| r * r * lost(r))
            }
            _ => simpson(0.0, cutoff, |r| r * r * lost(cutoff.min(r.max(0.5 * cutoff)))),
        };
        let expected = 2.0 * std::f64::consts::PI * pairs / volume * lacking;
        let at = |term: PairTerm| term.tail(&[ATOMS]).at(volume)[0];
        let found = at(corrected) - at(plain.with_tail_correction().unwrap());
        let scale = expected.abs().max(1e-12);
        assert!((found - expected).abs() < 1e-8 * scale, "{kind:?} {truncation:?}: {found} {expected}");
    }
}

/// Under a switch that all but a step is, the correction is that of a plain cut-off.
#[test]
fn a_sharp_switch_is_a_cut() {
    let kind = PairKind::LennardJones;
    let [sharp, plain] = [Truncation::Switched { from: 0.999_999 }, Truncation::Plain]
        .map(|truncation| term(kind, truncation).with_tail_correction().unwrap().tail(&[ATOMS]).at(70.0)[0]);
    assert!((sharp / plain - 1.0).abs() < 1e-5, "{sharp} {plain}");
}

/// Forces that are shifted differ at every distance.
#[test]
fn shifted_forces_have_no_tail() {
    let error = term(PairKind::LennardJones, Truncation::ForceShifted).with_tail_correction().unwrap_err();
    assert!(error.message().contains("force-shifted"), "{error}");
    assert!(error.help().unwrap().contains("\"switched\" or \"shifted\""), "{error}");
}
