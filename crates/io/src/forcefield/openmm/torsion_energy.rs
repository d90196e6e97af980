//! Energies of OpenMM's custom torsions: springs in any words, which are known by their values.

use jostle_potentials::Formula;
use std::f64::consts::PI;

/// A spring that takes the shorter way around the circle as ParmEd writes it; digits of pi follow.
const PARMED: &str =
    "k*dtheta_torus^2;dtheta_torus=dtheta-floor(dtheta/(2*pi)+0.5)*(2*pi);dtheta=theta-theta0;pi=3.14159";

/// Parameters of a custom torsion, by name.
pub(super) const PARAMETERS: [&str; 2] = ["k", "theta0"];

/// Longest text with definitions put in.
const LONGEST: usize = 4000;

/// Number of angles at which energies are compared.
const ANGLES: usize = 48;

/// Largest difference of energies that are the same, of those with k = 1: pi may have six digits.
const TOLERANCE: f64 = 1e-4;

/// Energy of a custom torsion by its angle, theta, with k and theta0.
pub(super) enum TorsionEnergy {
    Parmed,
    Written(Box<Formula>),
}

impl TorsionEnergy {
    /// Reads an energy without spaces, `a*b;b=c^2;c=theta-theta0`; `None` where it has other parameters, or functions
    /// that are not known.
    pub fn new(text: &str) -> Option<Self> {
        if text.starts_with(PARMED) {
            return Some(TorsionEnergy::Parmed);
        }
        let mut parts = text.split(';');
        let mut energy = parts.next()?.to_string();
        // A definition has names of later ones.
        for part in parts {
            let (name, meaning) = part.split_once('=')?;
            energy = with_definition(&energy, name, meaning);
            if energy.len() > LONGEST {
                return None;
            }
        }
        let formula = Formula::new(&energy).ok()?;
        let known = |name: &String| name == "theta" || PARAMETERS.contains(&name.as_str());
        formula.parameters().iter().all(known).then(|| TorsionEnergy::Written(Box::new(formula)))
    }

    /// The energy of c k (theta - theta0)^2 by the shorter way around the circle as c; `None` for other energies.
    pub fn spring(&self, k: f64, theta0: f64) -> Option<f64> {
        let TorsionEnergy::Written(formula) = self else { return Some(1.0) };
        let angles = (0..ANGLES).map(|n| PI * (2.0 * (n as f64 + 0.5) / ANGLES as f64 - 1.0));
        let same = |c: f64, theta: f64| {
            let turned = (theta - theta0) / (2.0 * PI);
            let shorter = 2.0 * PI * (turned - turned.round());
            let difference = value(formula, k, theta0, theta) - c * k * shorter * shorter;
            difference.abs() <= TOLERANCE * k.abs()
        };
        [1.0, 0.5].into_iter().find(|c| angles.clone().all(|theta| same(*c, theta)))
    }

    /// Returns true where the energy jumps between pi and -pi, which are one angle.
    pub fn jumps(&self, k: f64, theta0: f64) -> bool {
        let TorsionEnergy::Written(formula) = self else { return false };
        let [one, other] = [PI, -PI].map(|theta| value(formula, k, theta0, theta));
        (one - other).abs() > TOLERANCE * k.abs()
    }
}

fn value(formula: &Formula, k: f64, theta0: f64, theta: f64) -> f64 {
    let of = |name: &String| match name.as_str() {
        "k" => k,
        "theta0" => theta0,
        _ => theta,
    };
    let parameters: Vec<f64> = formula.parameters().iter().map(of).collect();
    formula.constant(&parameters)
}

/// A text in which a name has been replaced by its meaning.
fn with_definition(text: &str, name: &str, meaning: &str) -> String {
    let ends = |c: char| !(c.is_alphanumeric() || c == '_');
    let pieces = text.split_inclusive(ends).map(|piece| match piece.strip_suffix(ends).unwrap_or(piece) {
        word if word == name => piece.replacen(word, &format!("({meaning})"), 1),
        _ => piece.to_string(),
    });
    pieces.collect()
}
