//! Which term a force that is not finite comes from.

use jostle_core::{Error, Precision, System};
use jostle_potentials::outside::behind;
use jostle_potentials::{BondTerm, Electrostatics, Forces};

/// Says which force on the atom `id` is not finite, looking at the positions as they are.
pub fn force(system: &System, forces: &Forces, precision: Precision, id: usize) -> Error {
    let hint = forces.hint();
    let state = &system.state;
    let Some(i) = state.id.iter().position(|k| *k as usize == id) else {
        return Error::simulation("a force is not finite").hint(hint);
    };
    if let Some(error) = behind(system, forces) {
        return error;
    }
    if let Some(error) = bond(system, forces, i) {
        return error;
    }
    for term in &forces.pairs {
        for j in (0..state.len()).filter(|j| *j != i) {
            let (a, b) = (state.species[i] as usize, state.species[j] as usize);
            let (Some(entry), Some(coefficients)) = (term.get(a, b), term.coefficients(a, b)) else {
                continue;
            };
            let (p, q) = (state.position[i], state.position[j]);
            let d = system.simbox.nearest_image([p[0] - q[0], p[1] - q[1], p[2] - q[2]]);
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            if r2 >= entry.cutoff * entry.cutoff {
                continue;
            }
            let (_, force) = term.evaluate(r2, &coefficients);
            let finite = match precision {
                Precision::Mixed => (force as f32 * r2.sqrt() as f32).is_finite(),
                Precision::Double => force.is_finite(),
            };
            if !finite {
                let (name, id) = (term.potential.name(), id + 1);
                let mut message = format!("the '{name}' force on atom {id} is not finite");
                if r2.is_finite() {
                    message += &format!("; atom {} is {:.3e} away", state.id[j] + 1, r2.sqrt());
                }
                return Error::simulation(message).hint(hint);
            }
        }
    }
    if let Some(term) = &forces.electrostatics {
        for j in (0..state.len()).filter(|j| *j != i) {
            let (p, q) = (state.position[i], state.position[j]);
            let d = system.simbox.nearest_image([p[0] - q[0], p[1] - q[1], p[2] - q[2]]);
            let r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            let charges = term.coulomb * system.charge(i) * system.charge(j);
            // The product of charges and 1/r^3 is what overflows first.
            let force = charges / (r2 * r2.sqrt());
            let finite = match precision {
                Precision::Mixed => (force as f32).is_finite(),
                Precision::Double => force.is_finite(),
            };
            if charges != 0.0 && !finite {
                let (name, id, other) = (Electrostatics::TERM, id + 1, state.id[j] + 1);
                return Error::simulation(format!(
                    "the '{name}' force on atom {id} is not finite; atom {other} is {:.3e} away",
                    r2.sqrt()
                ))
                .hint(hint);
            }
        }
    }
    if let Some(term) = &forces.embedded {
        let name = term.kind.name();
        return Error::simulation(format!("the '{name}' force on atom {} is not finite", id + 1)).hint(hint);
    }
    Error::simulation(format!("the force on atom {} is not finite, or too large for exact sums", id + 1))
        .hint(hint)
}

/// A bond of the atom at a place that is as long as it cannot be.
fn bond(system: &System, forces: &Forces, place: usize) -> Option<Error> {
    let (state, order) = (&system.state, system.state.order());
    let id = state.id[place];
    for bond in system.topology.bonds.iter().filter(|b| b.atoms.contains(&id)) {
        let [p, q] = bond.atoms.map(|id| state.position[order[id as usize]]);
        let d = system.simbox.nearest_image([p[0] - q[0], p[1] - q[1], p[2] - q[2]]);
        let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        let longest = |term: &BondTerm| term.longest(bond.kind as usize);
        let longest = forces.bonds.iter().map(longest).fold(f64::INFINITY, f64::min);
        if length.is_nan() || length >= longest {
            let (a, b) = (bond.atoms[0].min(bond.atoms[1]) + 1, bond.atoms[0].max(bond.atoms[1]) + 1);
            return Some(Error::simulation(format!("the bond between atoms {a} and {b} is broken")).hint(
                "minimise first, shorten the time step, or give bound beads a repulsion (exclude = \"none\")",
            ));
        }
    }
    None
}
