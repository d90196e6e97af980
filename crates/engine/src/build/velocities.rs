//! Velocities at the start.

use crate::degrees_of_freedom::{Momentum, constrained, degrees_of_freedom};
use crate::minimize::ConstraintProjection;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{System, Vec3};
use jostle_io::input::model::Distribution;

/// Draws the velocity of every atom at random; the centre of mass is at rest and the temperature is exact.
///
/// `thermal_energy` is k_B T. Speeds of [`Distribution::Constant`] are equal but for what constraints and rigid bodies do
/// not allow and for the velocity of the centre of mass, which is subtracted. The velocity of an atom depends on the seed
/// and on its id only.
pub fn assign_velocities(system: &mut System, thermal_energy: f64, distribution: Distribution, seed: u64) {
    let momentum = if system.has_driven() { Momentum::Thermal } else { Momentum::Conserved };
    draw_velocities(system, thermal_energy, distribution, seed, momentum);
}

/// Draws velocities likewise, with the temperature that belongs to such a momentum.
pub(super) fn draw_velocities(
    system: &mut System,
    thermal_energy: f64,
    distribution: Distribution,
    seed: u64,
    momentum: Momentum,
) {
    for index in 0..system.state.len() {
        let mut stream = Stream::new(seed, Purpose::Velocity, system.state.id[index], 0);
        let spread = (thermal_energy / system.mass(index)).sqrt();
        system.state.velocity[index] = match distribution {
            _ if system.driven(index).is_some() || system.mass(index) == 0.0 => Vec3::ZERO,
            Distribution::Maxwell => stream.normal3().map(|x| spread * x),
            Distribution::Constant => stream.direction().map(|x| 3f64.sqrt() * spread * x),
        };
    }
    // Constraints that no engine solves are refused where one is opened.
    if let Ok(Some(constraints)) = ConstraintProjection::new(system) {
        constraints.project_velocities(&system.simbox, &mut system.state);
    }
    let free = system.n_free();
    if !system.has_driven() {
        rest_center_of_mass(system);
    }
    let kinetic = kinetic_energy(system);
    if kinetic > 0.0 {
        let wanted = 0.5 * degrees_of_freedom(free, momentum).saturating_sub(constrained(system)) as f64;
        let scale = (wanted * thermal_energy / kinetic).sqrt();
        system.state.velocity.iter_mut().flatten().for_each(|v| *v *= scale);
    }
    system.driven.hold(&mut system.state);
}

/// Subtracts the velocity of the centre of mass, except in a system of a single atom.
fn rest_center_of_mass(system: &mut System) {
    if system.state.len() < 2 {
        return;
    }
    let (mut momentum, mut total_mass) = (Vec3::ZERO, 0.0);
    for index in 0..system.state.len() {
        let m = system.mass(index);
        total_mass += m;
        momentum += m * system.state.velocity[index];
    }
    let velocity = momentum / total_mass;
    for v in &mut system.state.velocity {
        *v -= velocity;
    }
}

fn kinetic_energy(system: &System) -> f64 {
    let square = |v: &Vec3| v.iter().map(|x| x * x).sum::<f64>();
    system.state.velocity.iter().enumerate().map(|(k, v)| 0.5 * system.mass(k) * square(v)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{Constraint, SimBox, Species};

    fn system(atoms: usize) -> System {
        let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
        let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
        let mut system = System::new(simbox, vec![species("A", 1.0), species("B", 4.0)]);
        (0..atoms).for_each(|k| system.state.push((k % 2) as u16, [0.1 * k as f64; 3]));
        system
    }

    #[test]
    fn temperature_is_exact_and_momentum_zero() {
        for distribution in [Distribution::Maxwell, Distribution::Constant] {
            let mut s = system(500);
            assign_velocities(&mut s, 1.7, distribution, 5);
            let temperature = 2.0 * kinetic_energy(&s) / (3.0 * 500.0 - 3.0);
            assert!((temperature / 1.7 - 1.0).abs() < 1e-12);
            for k in 0..3 {
                let p: f64 = (0..500).map(|i| s.mass(i) * s.state.velocity[i][k]).sum();
                assert!(p.abs() < 1e-10, "{p}");
            }
        }
    }

    /// The part of velocities that constraints take is not counted.
    #[test]
    fn temperature_is_exact_with_constraints() {
        let mut s = system(300);
        let pair = |k: u32| Constraint { atoms: [3 * k, 3 * k + 1], length: 0.1 * 3f64.sqrt() };
        s.topology.constraints = (0..100).map(pair).collect();
        assign_velocities(&mut s, 1.7, Distribution::Maxwell, 5);
        let temperature = 2.0 * kinetic_energy(&s) / (3.0 * 300.0 - 3.0 - 100.0);
        assert!((temperature / 1.7 - 1.0).abs() < 1e-12, "{temperature}");
        for k in (0..300).step_by(3) {
            let along: f64 = (s.state.velocity[k + 1] - s.state.velocity[k]).iter().sum();
            assert!(along.abs() < 1e-12, "{along}");
        }
    }

    /// Kurtosis of a velocity component: 3 for a Gaussian, 9/5 for random directions at constant speed.
    #[test]
    fn distributions_have_their_shapes() {
        for (distribution, kurtosis) in [(Distribution::Maxwell, 3.0), (Distribution::Constant, 1.8)] {
            let mut s = system(40_000);
            assign_velocities(&mut s, 1.0, distribution, 11);
            let light: Vec<f64> = (0..40_000).step_by(2).flat_map(|i| s.state.velocity[i]).collect();
            let moment = |k: i32| light.iter().map(|v| v.powi(k)).sum::<f64>() / light.len() as f64;
            let measured = moment(4) / moment(2).powi(2);
            assert!((measured - kurtosis).abs() < 0.1, "{measured} is not {kurtosis}");
        }
    }

    #[test]
    fn zero_temperature_is_rest_and_one_atom_may_move() {
        let mut s = system(10);
        assign_velocities(&mut s, 0.0, Distribution::Maxwell, 1);
        assert!(s.state.velocity.iter().flatten().all(|v| *v == 0.0));
        let mut one = system(1);
        assign_velocities(&mut one, 2.0, Distribution::Maxwell, 1);
        assert!((kinetic_energy(&one) - 3.0).abs() < 1e-12);
    }
}
