//! The barostat of Martyna, Tobias and Klein.

use super::molecular::{MolecularPressure, Surroundings, resize, small_enough, without_constraints};
use crate::degrees_of_freedom::{Momentum, degrees_of_freedom};
use jostle_core::thermostat::{NoseHoover, Target};
use jostle_core::{Backend, Evaluate, Result, Vector};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Links of the chain on the box.
const CHAIN: usize = 3;

/// The barostat of G. J. Martyna, D. J. Tobias and M. L. Klein (J. Chem. Phys. 101 (1994) 4177),
/// isotropic: the logarithm of the edges has a velocity v and a mass W, and a Nose-Hoover chain of its own
/// holds it at the temperature of the thermostat. For N molecules with centres R, momenta P and the
/// virial of molecules as points,
///
/// dR/dt = v R, dP/dt = -a v P, dV/dt = 3 v V,
/// W dv/dt = a sum P^2 / M + sum R . F - 3 p V,
///
/// in addition to the motion of molecules in a box of constant size. Either motion by itself conserves H + p
/// V + W v^2 / 2 and the energy of the chain. The factor a follows from the compressibility of the flow in
/// phase space: with a = 1 + 3 / n for n = 3 N momenta the flow due to v is incompressible, and V has the
/// distribution of constant pressure. Where the total momentum is zero, n = 3 N - 3, and the factor V that
/// the centre of mass, at rest in the box, has in the distribution requires a = 1 + 6 / n.
///
/// The motion of the box over an interval of many steps is integrated at once, around all of them (the
/// splitting of G. J. Martyna, M. E. Tuckerman, D. J. Tobias and M. L. Klein, Mol. Phys. 87 (1996) 1117, with
/// an outer time step): chain, v, then centres, momenta and volume, then v, chain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MartynaTobiasKlein {
    pressure: f64,
    /// Time constant of the mass W = (n + 3) k_B T time^2 and of the chain.
    time: f64,
    momentum: Momentum,
    /// The velocity v, in 1 / time.
    velocity: f64,
    chain: NoseHoover,
}

impl MartynaTobiasKlein {
    /// The barostat of a box at rest.
    pub fn new(pressure: f64, time: f64, momentum: Momentum, thermal_energy: f64) -> Self {
        let target = Target { thermal_energy, degrees_of_freedom: 1 };
        // With this period the links of the chain have the mass k_B T time^2.
        let chain = NoseHoover::new(target, TAU * time, CHAIN);
        MartynaTobiasKlein { pressure, time, momentum, velocity: 0.0, chain }
    }

    /// Integrates the motion of the box over an interval; returns the energy that the atoms gained, which is
    /// the energy that the box lost.
    pub fn act(&mut self, backend: &mut dyn Backend, around: &Surroundings, interval: f64) -> Result<f64> {
        without_constraints(backend, around)?;
        // The temperature may have changed since the last interval; masses are proportional to it.
        self.chain.set_thermal_energy(around.thermal_energy);
        let inertia = Inertia::new(self.momentum, around.molecules.count(), around.thermal_energy, self.time);
        let molecular = backend.molecular_virial(around.molecules)?;
        let pressure = MolecularPressure::new(backend, &molecular);
        let before = self.energy(&inertia, pressure.volume);
        let [growth, slower] = self.first_half(&inertia, &pressure, interval);
        small_enough(growth.powi(3))?;
        // Long-range forces have weight 1 until their virial is evaluated.
        backend.set_long_range_weight(1.0)?;
        resize(backend, molecular, Vector([growth; 3]), slower - 1.0)?;
        let molecular = backend.molecular_virial(around.molecules)?;
        let pressure = MolecularPressure::new(backend, &molecular);
        if around.long_range_weight != 1.0 {
            backend.set_long_range_weight(around.long_range_weight)?;
            backend.compute_forces(Evaluate::Forces)?;
        }
        self.second_half(&inertia, &pressure, interval);
        Ok(before - self.energy(&inertia, pressure.volume))
    }

    /// First half of chain and kick of the box; returns the factors of its edges and of the velocities of
    /// molecules.
    fn first_half(&mut self, inertia: &Inertia, pressure: &MolecularPressure, interval: f64) -> [f64; 2] {
        self.propagate_chain(inertia, 0.5 * interval);
        self.kick(inertia, pressure, 0.5 * interval);
        let longer = self.velocity * interval;
        [longer.exp(), (-inertia.coupling * longer).exp()]
    }

    /// Second half of kick and chain, with the pressure in the scaled box.
    fn second_half(&mut self, inertia: &Inertia, pressure: &MolecularPressure, interval: f64) {
        self.kick(inertia, pressure, 0.5 * interval);
        self.propagate_chain(inertia, 0.5 * interval);
    }

    fn kick(&mut self, inertia: &Inertia, pressure: &MolecularPressure, time: f64) {
        let force = inertia.coupling * pressure.twice_kinetic + pressure.virial
            - 3.0 * self.pressure * pressure.volume;
        self.velocity += time * force / inertia.mass;
    }

    fn propagate_chain(&mut self, inertia: &Inertia, time: f64) {
        self.velocity *= self.chain.chain().propagate(inertia.kinetic(self.velocity), time);
    }

    /// The energy of the box; its sum with the energy of the atoms is conserved.
    fn energy(&self, inertia: &Inertia, volume: f64) -> f64 {
        self.pressure * volume + inertia.kinetic(self.velocity) + self.chain.energy()
    }
}

/// Mass of the box, and its coupling to the momenta of molecules.
struct Inertia {
    /// The factor a.
    coupling: f64,
    /// The mass W.
    mass: f64,
}

impl Inertia {
    fn new(momentum: Momentum, molecules: usize, thermal_energy: f64, time: f64) -> Self {
        let momenta = degrees_of_freedom(molecules, momentum) as f64;
        let coupling = 1.0 + (3 + momentum.n_conserved()) as f64 / momenta;
        Inertia { coupling, mass: (momenta + 3.0) * thermal_energy * time * time }
    }

    fn kinetic(&self, velocity: f64) -> f64 {
        0.5 * self.mass * velocity * velocity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::thermostat::Bussi;

    const KT: f64 = 1.5;
    const PRESSURE: f64 = 0.3;

    fn barostat(momentum: Momentum) -> MartynaTobiasKlein {
        MartynaTobiasKlein::new(PRESSURE, 1.0, momentum, KT)
    }

    /// One interval of an ideal gas, given by its kinetic energy and volume; returns both after the interval.
    fn step(
        barostat: &mut MartynaTobiasKlein,
        inertia: &Inertia,
        [kinetic, volume]: [f64; 2],
        interval: f64,
    ) -> [f64; 2] {
        let pressure =
            |[k, volume]: [f64; 2]| MolecularPressure { twice_kinetic: 2.0 * k, virial: 0.0, volume };
        let [growth, slower] = barostat.first_half(inertia, &pressure([kinetic, volume]), interval);
        let after = [slower * slower * kinetic, growth.powi(3) * volume];
        barostat.second_half(inertia, &pressure(after), interval);
        after
    }

    /// The sum of the energies of gas and box is conserved to second order.
    #[test]
    fn energy_of_gas_and_box_is_conserved() {
        let error = |interval: f64| {
            let mut moving = barostat(Momentum::Thermal);
            let inertia = Inertia::new(Momentum::Thermal, 20, KT, 1.0);
            let mut gas = [60.0, 80.0];
            let mut range = (f64::INFINITY, 0.0_f64);
            let start = gas[0] + moving.energy(&inertia, gas[1]);
            let mut worst = 0.0_f64;
            for _ in 0..(20.0 / interval) as usize {
                gas = step(&mut moving, &inertia, gas, interval);
                worst = worst.max((gas[0] + moving.energy(&inertia, gas[1]) - start).abs());
                range = (range.0.min(gas[0]), range.1.max(gas[0]));
            }
            assert!(range.0 < 50.0 && range.1 > 59.0, "{range:?}: no exchange");
            worst
        };
        let (coarse, fine) = (error(0.02), error(0.01));
        assert!(coarse < 0.05, "{coarse}");
        assert!((3.8..4.2).contains(&(coarse / fine)), "{coarse} {fine}");
    }

    #[test]
    fn the_motion_of_the_box_is_reversible() {
        let mut moving = barostat(Momentum::Conserved);
        let inertia = Inertia::new(Momentum::Conserved, 20, KT, 1.0);
        let start = moving.clone();
        let mut gas = [60.0, 80.0];
        for interval in [0.02; 50].into_iter().chain([-0.02; 50]) {
            gas = step(&mut moving, &inertia, gas, interval);
        }
        assert!((gas[0] - 60.0).abs() < 1e-10 && (gas[1] - 80.0).abs() < 1e-10, "{gas:?}");
        assert!((moving.velocity - start.velocity).abs() < 1e-12);
    }

    /// The distribution of the volumes of an ideal gas is proportional to V^N exp(-P V / kT), of mean
    /// (N + 1) kT / P and variance mean kT / P, whether its centre of mass moves or not.
    #[test]
    fn volumes_of_an_ideal_gas() {
        let (n, interval, intervals) = (20, 0.02, 1_000_000);
        for momentum in [Momentum::Thermal, Momentum::Conserved] {
            let mut moving = barostat(momentum);
            let inertia = Inertia::new(momentum, n, KT, 1.0);
            let target = Target { thermal_energy: KT, degrees_of_freedom: degrees_of_freedom(n, momentum) };
            let mut thermostat = Bussi::new(target, 0.5, interval);
            let mean = (n as f64 + 1.0) * KT / PRESSURE;
            let mut gas = [target.kinetic_energy(), mean];
            let (mut sum, mut squares) = (0.0, 0.0);
            for k in 0..intervals {
                gas = step(&mut moving, &inertia, gas, interval);
                let deviates = thermostat.deviates(5, k);
                gas[0] *= thermostat.scale(gas[0], deviates).powi(2);
                sum += gas[1] - mean;
                squares += (gas[1] - mean).powi(2);
            }
            let (count, variance) = (intervals as f64, mean * KT / PRESSURE);
            let (off, spread) = (sum / count, squares / count);
            // A value counts as new after five times the time constant.
            let independent = count * interval / 5.0;
            assert!(off.abs() < 4.0 * (variance / independent).sqrt(), "{momentum:?}: {off} off {mean}");
            let error = (2.0 / independent).sqrt();
            assert!((spread / variance - 1.0).abs() < 4.0 * error, "{momentum:?}: {spread}, not {variance}");
        }
    }
}
