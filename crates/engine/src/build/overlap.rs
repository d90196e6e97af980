//! Systems that were read are checked before they are run.

use super::grid::Grid;
use jostle_core::{Error, Result, State, System};

/// Two atoms nearer than this fraction of the box are taken to be at the same place.
const SAME_PLACE: f64 = 1e-7;

/// Refuses positions or velocities that are not finite, and two atoms at the same place, where
/// every force is infinite or has no direction.
pub fn check_atoms(system: &System) -> Result<()> {
    let State { id, position, velocity, .. } = &system.state;
    for ((id, r), v) in id.iter().zip(position).zip(velocity) {
        if r.iter().any(|x| !x.is_finite()) {
            return Err(Error::input(format!("the position of {} is not finite: {r:?}", number(*id))));
        }
        if v.iter().any(|x| !x.is_finite()) {
            return Err(Error::input(format!("the velocity of {} is not finite: {v:?}", number(*id))));
        }
    }
    let reach = SAME_PLACE * system.simbox.lengths().into_iter().fold(0.0, f64::max);
    let mut grid = Grid::new(system.simbox, reach, system.state.len());
    for (place, r) in position.iter().enumerate() {
        if let Some(other) = grid.neighbor(*r) {
            let [a, b] = [other, place].map(|place| number(id[place]));
            return Err(Error::input(format!("{a} and {b} are at the same place: {r:?}"))
                .hint("remove one of them, or check the box: periodic images count, too"));
        }
        grid.insert(*r);
    }
    Ok(())
}

/// An atom as people count.
fn number(id: u32) -> String {
    format!("atom {}", id + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{SimBox, Species};

    fn system(positions: &[[f64; 3]]) -> System {
        let species = vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
        let mut system = System::new(SimBox::orthorhombic([10.0; 3]).unwrap(), species);
        positions.iter().for_each(|r| system.state.push(0, *r));
        system
    }

    #[test]
    fn both_atoms_are_named() {
        assert!(check_atoms(&system(&[[1.0; 3], [2.0; 3], [1.1; 3]])).is_ok());
        let error = check_atoms(&system(&[[1.0; 3], [2.0; 3], [1.0; 3]])).unwrap_err();
        assert!(error.message().starts_with("atom 1 and atom 3 are at the same place"), "{error}");
        // The same place through the boundary.
        let error = check_atoms(&system(&[[0.0, 5.0, 5.0], [10.0, 5.0, 5.0]])).unwrap_err();
        assert!(error.message().starts_with("atom 1 and atom 2"), "{error}");
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        let error = check_atoms(&system(&[[1.0; 3], [f64::NAN, 0.0, 0.0]])).unwrap_err();
        assert!(error.message().contains("position of atom 2"), "{error}");
        let mut moving = system(&[[1.0; 3]]);
        moving.state.velocity[0][1] = f64::INFINITY;
        assert!(check_atoms(&moving).unwrap_err().message().contains("velocity of atom 1"));
    }
}
