//! Bonded styles of LAMMPS in our kinds: coefficients as `bond_coeff`, `angle_coeff`, `dihedral_coeff` and
//! `improper_coeff` take them (<https://docs.lammps.org/Commands_bond.html>).

use jostle_potentials::{AngleKind, BondKind, DihedralKind};

/// A kind with its parameters.
pub(crate) type Parameters<K> = (K, Vec<f64>);

/// Reason why coefficients cannot be taken, in a sentence.
pub(crate) type Refusal = String;

/// Styles of bonds, angles, dihedrals and impropers that are read, for messages.
pub(crate) const READ: [&str; 4] = [
    "harmonic and fene",
    "harmonic, charmm and cosine",
    "charmm, harmonic, opls, multi/harmonic and fourier",
    "harmonic and cvff",
];

/// Name of a style without the suffix of an accelerated variant.
pub(crate) fn plain(style: &str) -> &str {
    ["/omp", "/opt", "/intel", "/gpu", "/kk", "/kk/host", "/kk/device"]
        .iter()
        .find_map(|suffix| style.strip_suffix(suffix))
        .unwrap_or(style)
}

/// Coefficients, if there are as many as the style has.
fn exactly<'c, const N: usize>(style: &str, c: &'c [f64]) -> Result<&'c [f64; N], Refusal> {
    c.try_into().map_err(|_| format!("the style {style} takes {N} coefficients, these are {}", c.len()))
}

fn unknown(style: &str, what: &str, list: usize) -> Refusal {
    format!("the {what} style {style} is not computed; there are {}", READ[list])
}

/// Bonds of a style; `None` where there is no force.
pub(crate) fn bond(style: &str, c: &[f64]) -> Result<Option<Parameters<BondKind>>, Refusal> {
    match plain(style) {
        "zero" => Ok(None),
        "harmonic" => {
            let [k, length] = exactly(style, c)?;
            Ok(Some((BondKind::HarmonicBond, vec![2.0 * k, *length])))
        }
        "fene" => match exactly::<4>(style, c)? {
            [k, longest, 0.0, _] => Ok(Some((BondKind::Fene, vec![*k, *longest]))),
            _ => Err("the repulsion of fene bonds is a pair force here: its epsilon must be 0".into()),
        },
        _ => Err(unknown(style, "bond", 0)),
    }
}

/// Angles of a style, and the spring between their ends, if it has one (stiffness and length).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AngleForce {
    pub bending: Option<Parameters<AngleKind>>,
    pub urey_bradley: Option<[f64; 2]>,
}

/// Angles of a style.
pub(crate) fn angle(style: &str, c: &[f64]) -> Result<AngleForce, Refusal> {
    let force = |kind, parameters| AngleForce { bending: Some((kind, parameters)), urey_bradley: None };
    match plain(style) {
        "zero" => Ok(AngleForce { bending: None, urey_bradley: None }),
        "harmonic" => {
            let [k, angle] = exactly(style, c)?;
            Ok(force(AngleKind::HarmonicAngle, vec![2.0 * k, *angle]))
        }
        "charmm" => {
            let [k, angle, spring, length] = exactly(style, c)?;
            let urey_bradley = (*spring != 0.0).then_some([2.0 * spring, *length]);
            Ok(AngleForce { urey_bradley, ..force(AngleKind::HarmonicAngle, vec![2.0 * k, *angle]) })
        }
        "cosine" => {
            let [k] = exactly(style, c)?;
            Ok(force(AngleKind::CosineAngle, vec![*k]))
        }
        _ => Err(unknown(style, "angle", 1)),
    }
}

/// Dihedrals of a style: terms that add up, and the weight of the force between first and last atom.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct DihedralForce {
    pub terms: Vec<Parameters<DihedralKind>>,
    pub weight: f64,
}

/// k (1 + cos(n phi - phase)); without turns an energy that never changes.
fn periodic(k: f64, n: f64, phase: f64) -> Parameters<DihedralKind> {
    if n == 0.0 {
        let energy = k * (1.0 + phase.to_radians().cos());
        return (DihedralKind::RyckaertBellemans, vec![energy, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
    (DihedralKind::PeriodicDihedral, vec![k, n, phase])
}

/// Phase of the sign d of 1 + d cos(n phi).
fn phase(style: &str, d: f64) -> Result<f64, Refusal> {
    match d {
        1.0 => Ok(0.0),
        -1.0 => Ok(180.0),
        _ => Err(format!("the sign d of the style {style} must be 1 or -1, not {d}")),
    }
}

/// Dihedrals of a style.
pub(crate) fn dihedral(style: &str, c: &[f64]) -> Result<DihedralForce, Refusal> {
    let force = |terms| DihedralForce { terms, weight: 0.0 };
    match plain(style) {
        "zero" => Ok(force(Vec::new())),
        "charmm" => {
            let [k, n, d, weight] = *exactly(style, c)?;
            if !(0.0..=1.0).contains(&weight) {
                return Err(format!("the weight of 1-4 pairs must be from 0 to 1, not {weight}"));
            }
            Ok(DihedralForce { terms: vec![periodic(k, n, d)], weight })
        }
        "harmonic" => {
            let [k, d, n] = *exactly(style, c)?;
            Ok(force(vec![periodic(k, n, phase(style, d)?)]))
        }
        "opls" => {
            let [k1, k2, k3, k4] = exactly(style, c)?;
            // The cosines of 2 phi, 3 phi and 4 phi are polynomials of that of psi = phi - 180 degrees.
            let powers =
                vec![k2 + 0.5 * (k1 + k3), 0.5 * (3.0 * k3 - k1), 4.0 * k4 - k2, -2.0 * k3, -4.0 * k4, 0.0];
            Ok(force(vec![(DihedralKind::RyckaertBellemans, powers)]))
        }
        "multi/harmonic" => {
            let [a, b, c, d, e] = *exactly(style, c)?;
            // cos(psi) = -cos(phi)
            Ok(force(vec![(DihedralKind::RyckaertBellemans, vec![a, -b, c, -d, e, 0.0])]))
        }
        "fourier" => {
            let [m, rows @ ..] = c else {
                return Err("the style fourier begins with a number of terms".into());
            };
            if rows.is_empty() || rows.len() % 3 != 0 || rows.len() as f64 != 3.0 * m {
                let n = rows.len();
                return Err(format!("{m} terms of the style fourier take 3 numbers each, these are {n}"));
            }
            Ok(force(rows.chunks_exact(3).map(|row| periodic(row[0], row[1], row[2])).collect()))
        }
        _ => Err(unknown(style, "dihedral", 2)),
    }
}

/// Impropers of a style; `None` where there is no force.
pub(crate) fn improper(style: &str, c: &[f64]) -> Result<Option<Parameters<DihedralKind>>, Refusal> {
    match plain(style) {
        "zero" => Ok(None),
        "harmonic" => match *exactly::<2>(style, c)? {
            [k, angle] if angle == 0.0 || angle == 180.0 => {
                Ok(Some((DihedralKind::HarmonicDihedral, vec![2.0 * k, angle])))
            }
            // LAMMPS' angle has no sign: there is a second minimum at the opposite one.
            [k, angle] => Ok(Some((DihedralKind::UnsignedHarmonicDihedral, vec![2.0 * k, angle]))),
        },
        "cvff" => {
            let [k, d, n] = *exactly(style, c)?;
            Ok(Some(periodic(k, n, phase(style, d)?)))
        }
        _ => Err(unknown(style, "improper", 3)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_potentials::BondedKind;
    use jostle_potentials::bonded::{DihedralFunction, RyckaertBellemans};

    /// The four terms of Jorgensen, as the paper has them, against the polynomial.
    #[test]
    fn opls_is_its_fourier_series() {
        let k = [1.3, -0.4, 0.9, 0.25];
        let force = dihedral("opls/omp", &k).unwrap();
        let (kind, parameters) = &force.terms[0];
        let coefficients = kind.coefficients(parameters);
        for degrees in [0.0_f64, 17.0, 90.0, 133.0, 180.0, 250.0] {
            let phi = degrees.to_radians();
            let (energy, _) = RyckaertBellemans::evaluate(phi.cos(), phi.sin(), &coefficients);
            let series = 0.5
                * (k[0] * (1.0 + phi.cos())
                    + k[1] * (1.0 - (2.0 * phi).cos())
                    + k[2] * (1.0 + (3.0 * phi).cos())
                    + k[3] * (1.0 - (4.0 * phi).cos()));
            assert!((energy - series).abs() < 1e-12, "{degrees}: {energy} {series}");
        }
    }

    #[test]
    fn coefficients_that_make_no_sense_are_refused() {
        for (refused, why) in [
            (dihedral("charmm", &[1.0, 3.0, 180.0]), "takes 4 coefficients, these are 3"),
            (dihedral("charmm", &[1.0, 3.0, 180.0, 2.0]), "from 0 to 1"),
            (dihedral("harmonic", &[1.0, 0.5, 3.0]), "must be 1 or -1"),
            (dihedral("fourier", &[2.0, 1.0, 1.0, 0.0]), "2 terms"),
            (dihedral("fourier", &[f64::MAX, 1.0, 1.0, 0.0]), "3 numbers each"),
            (dihedral("class2", &[1.0]), "dihedral style class2 is not computed"),
        ] {
            let refusal = refused.unwrap_err();
            assert!(refusal.contains(why), "{refusal}");
        }
        assert!(improper("harmonic", &[20.0]).unwrap_err().contains("2 coefficients"));
        assert!(improper("umbrella", &[20.0, 35.0]).unwrap_err().contains("not computed"));
        assert!(bond("fene", &[30.0, 1.5, 1.0, 1.0]).unwrap_err().contains("must be 0"));
        assert!(angle("charmm", &[30.0, 109.5]).unwrap_err().contains("4 coefficients"));
    }
}
