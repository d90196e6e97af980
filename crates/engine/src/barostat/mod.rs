//! Pressure control: barostats change the volume of the box between two steps.
//!
//! Molecules are moved and not deformed: their centres of mass keep their fractional coordinates, and bonds
//! and rigid shapes keep their lengths. An atom without bonds is a molecule of one atom.

mod cell_rescaling;
mod martyna_tobias_klein;
mod molecular;
mod monte_carlo;

use crate::degrees_of_freedom::Momentum;
use crate::ramp::Springs;
use crate::step::StepContext;
use cell_rescaling::CellRescaling;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Backend, Error, Molecules, Result, SimBox, Thermostat};
use jostle_io::input::model::{Action, Barostat, StageInput};
use jostle_potentials::{Forces, PairKind, PairTerm, Potential, Truncation};
use martyna_tobias_klein::MartynaTobiasKlein;
use molecular::Surroundings;
use monte_carlo::MonteCarlo;
use serde::{Deserialize, Serialize};

/// Fewest changes of the volume within the time constant of a barostat.
const FEWEST_CHANGES: f64 = 50.0;
/// The barostat of a stage with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BarostatState {
    kind: BarostatKind,
    every: u64,
    /// Energy that the atoms gained by changes of the volume.
    pub energy: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum BarostatKind {
    MonteCarlo(MonteCarlo),
    CellRescaling(CellRescaling),
    MartynaTobiasKlein(MartynaTobiasKlein),
}

impl BarostatState {
    /// The initial state of a barostat of the input, at the k_B T of the thermostat.
    pub fn new(barostat: &Barostat, momentum: Momentum, thermal_energy: f64) -> Self {
        let kind = match *barostat {
            Barostat::MonteCarlo { pressure, coupling, .. } => {
                BarostatKind::MonteCarlo(MonteCarlo::new(pressure, coupling))
            }
            Barostat::CellRescaling { pressure, time, compressibility, .. } => {
                BarostatKind::CellRescaling(CellRescaling { pressure, time, compressibility, momentum })
            }
            Barostat::MartynaTobiasKlein { pressure, time, .. } => BarostatKind::MartynaTobiasKlein(
                MartynaTobiasKlein::new(pressure, time, momentum, thermal_energy),
            ),
        };
        BarostatState { kind, every: barostat.every(), energy: 0.0 }
    }

    /// True if the barostat has a Nose-Hoover chain, which cannot hold a temperature of zero.
    pub fn has_chain(&self) -> bool {
        matches!(self.kind, BarostatKind::MartynaTobiasKlein(_))
    }

    /// Interval in steps at which the barostat acts.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// True if the barostat acts after so many steps of a stage; energies must have been evaluated there.
    pub fn is_due(&self, stage_step: u64) -> bool {
        stage_step > 0 && stage_step.is_multiple_of(self.every)
    }

    /// Changes the volume before a step, or attempts a change. Forces are those of the new box afterwards,
    /// with this weight of long-range forces.
    ///
    /// # Errors
    /// If the box comes to be smaller than two cut-offs, the volume changes too fast, and those of a
    /// force evaluation.
    pub fn act(
        &mut self,
        backend: &mut dyn Backend,
        thermostat: &Thermostat,
        molecules: &Molecules,
        context: &StepContext,
        long_range_weight: f64,
    ) -> Result<()> {
        let Some(thermal_energy) = thermostat.thermal_energy() else {
            return Err(Error::input("a barostat needs the temperature of a thermostat"));
        };
        let random = Stream::new(context.seed, Purpose::Barostat, 0, context.step);
        let mut around = Surroundings { molecules, thermal_energy, long_range_weight, random };
        let interval = context.timestep * self.every as f64;
        self.energy += match &mut self.kind {
            BarostatKind::MonteCarlo(trials) => trials.act(backend, &mut around)?,
            BarostatKind::CellRescaling(walk) => walk.act(backend, &mut around, interval)?,
            BarostatKind::MartynaTobiasKlein(moving) => moving.act(backend, &around, interval)?,
        };
        Ok(())
    }
}

/// The pressure due to jumps of the energy at plain cut-offs in a fluid that is uniform there, times the
/// square of the volume: 2 pi/3 N_a N_b r^3 u(r) at the cut-off, summed over ordered pairs of species (Allen
/// and Tildesley, Computer Simulation of Liquids, 2.8). Neither forces nor the virial contain the jumps; the
/// energies that a Monte Carlo barostat compares do. With a tail correction the virial contains them, too.
pub(crate) fn pressure_of_jumps(forces: &Forces, counts: &[usize]) -> f64 {
    let covered = |term: &PairTerm| {
        forces.dispersion.is_some() && term.potential == Potential::BuiltIn(PairKind::LennardJones)
    };
    let jumps = |term: &&PairTerm| term.truncation == Truncation::Plain && !term.tail_correction();
    let mut sum = 0.0;
    for term in forces.pairs.iter().filter(jumps).filter(|term| !covered(term)) {
        for (a, n_a) in counts.iter().enumerate().take(term.n_species()) {
            for (b, n_b) in counts.iter().enumerate().take(term.n_species()) {
                let Some((entry, c)) = term.get(a, b).zip(term.coefficients(a, b)) else { continue };
                let (energy, _) = term.evaluate(entry.cutoff * entry.cutoff, &c);
                sum += *n_a as f64 * *n_b as f64 * entry.cutoff.powi(3) * energy;
            }
        }
    }
    2.0 * std::f64::consts::PI / 3.0 * sum
}

/// Refuses a barostat that makes no sense for a stage or a system, of which `molecules` counts the molecules.
pub(crate) fn check_barostat(
    stage: &StageInput,
    simbox: &SimBox,
    momentum: Momentum,
    springs: &Springs,
    molecules: impl Fn() -> usize,
) -> Result<()> {
    let Some(barostat) = &stage.barostat else { return Ok(()) };
    let Action::Dynamics { timestep, thermostat, .. } = &stage.action else {
        return Err(Error::input("a minimisation keeps its box").hint("leave out the barostat"));
    };
    if thermostat.is_none() {
        return Err(Error::input("a barostat needs the temperature of a thermostat, and there is none")
            .hint("choose one"));
    }
    if stage.deformation.is_some() {
        return Err(Error::input("a box that is deformed cannot follow a pressure as well")
            .hint("leave out deform or the barostat"));
    }
    if simbox.periodic() != [true; 3] {
        return Err(Error::input("a box that is open along an axis has no pressure")
            .hint("leave out the barostat, or make all axes periodic"));
    }
    if momentum != Momentum::Conserved {
        return Err(Error::input(
            "fields, walls, frozen and driven atoms stay where they are, so a barostat cannot act on them",
        )
        .hint("leave one of them out"));
    }
    if springs.hold_fixed_positions(stage) {
        return Err(Error::input(
            "restraints hold atoms at places that do not follow the box, so a barostat cannot act on them",
        )
        .hint(
            "let them follow the box, by scaling = \"center\" in [[restraint]], or name those that act in this stage: restraints = []",
        ));
    }
    let finite = |name: &str, value: f64, least: f64| match value > least && value.is_finite() {
        true => Ok(()),
        false => Err(Error::input(format!("barostat: {name} = {value} makes no sense"))),
    };
    let enough_changes = |time: f64, every: u64| {
        finite("time", time, 0.0)?;
        let between = every as f64 * timestep;
        // The error of the splitting is of the order of this ratio, or of its square, and affects the
        // fluctuations. Times that are so many steps but for rounding are long enough.
        match time < FEWEST_CHANGES * between * (1.0 - 1e-9) {
            true => Err(Error::input(format!(
                "the barostat's time is {:.1} steps, too short for changes every {every} steps, of which it must have \
                 {FEWEST_CHANGES}",
                time / timestep
            ))
            .hint("choose a longer time, or a smaller \"every\"; those not given have their defaults")),
            false => Ok(()),
        }
    };
    finite("every", barostat.every() as f64, 0.0)?;
    match *barostat {
        Barostat::MonteCarlo { pressure, .. } => finite("pressure", pressure, f64::NEG_INFINITY),
        Barostat::CellRescaling { pressure, time, compressibility, every } => {
            finite("pressure", pressure, f64::NEG_INFINITY)?;
            finite("compressibility", compressibility, 0.0)?;
            enough_changes(time, every)
        }
        Barostat::MartynaTobiasKlein { pressure, time, every } => {
            finite("pressure", pressure, f64::NEG_INFINITY)?;
            if stage.temperatures().is_some_and(|ends| ends.into_iter().any(|t| t <= 0.0)) {
                return Err(Error::input("the barostat's chain cannot hold a temperature of zero").hint(
                    "choose a temperature above zero, or barostat = { kind = \"cell-rescaling\", ... }",
                ));
            }
            if molecules() < 2 {
                return Err(Error::input("a single molecule cannot be moved away from others")
                    .hint("leave out the barostat"));
            }
            enough_changes(time, every)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::molecular::{centers_virial, resize};
    use super::*;
    use jostle_core::thermostat::Langevin;
    use jostle_core::{
        Evaluate, Precision, Settings, Species, System, Topology, UnitSystem, Vector, WaterShape, WholeGroups,
    };
    use jostle_io::input::model::{DensityInput, Distribution, Lattice, LatticeExtent, RegionInput};
    use jostle_potentials::electrostatics::Method;
    use jostle_potentials::restraint::{Anchor, Center, Distance, Restraints, Spring};
    use jostle_potentials::{Electrostatics, PairEntry};

    /// Springs from atoms of some molecules to nearby reference positions that follow the box around a
    /// centre, and a spring between two groups.
    fn restraints(system: &System) -> Restraints {
        let (fraction, places) = (Vector([0.25, 0.5, 0.75]), &system.state.position);
        let center = system.simbox.to_cartesian(fraction);
        let off = |atom: u32| Vector([0, 1, 2]).map(|k| 0.02 * f64::from((atom + k) % 5) - 0.01);
        let anchor = |atom: u32| {
            let (r, off) = (places[atom as usize], off(atom));
            Anchor { atom, place: r + off - center, spring: 0 }
        };
        let start = WholeGroups::of_start(system);
        let ends = [&[0, 1, 2][..], &[90, 91]].map(|atoms| Center::new(system, &start, atoms));
        Restraints {
            springs: vec![Spring { stiffness: 500.0, center: Some(Vector(*fraction)) }, Spring::new(100.0)],
            anchors: (30..60).map(anchor).collect(),
            distances: vec![Distance { centers: ends, range: [0.1, 0.1], spring: 1 }],
        }
    }

    /// The molecular virial is minus the derivative of the energy with respect to the logarithm of the edges,
    /// for water with and without a rigid shape, where the atomic virial is quite different, and for
    /// restraints whose reference positions follow the box.
    #[test]
    fn the_virial_is_a_derivative() {
        let species = |name: &str, mass, charge| Species { name: name.into(), mass, charge };
        let shape = WaterShape::new(0.1, 109.47);
        let (molecules, units) = (60, UnitSystem::Nano);
        let mut system = crate::Mixture::new(units)
            .with(species("O", 16.0, -0.8476), None)
            .with(species("H", 1.0, 0.4238), None)
            .water(molecules, RegionInput::Density(DensityInput::Number(60.0)), &shape, 3)
            .unwrap();
        let mut core = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
        core.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.7 });
        let forces = Forces {
            electrostatics: Some(Electrostatics::new(Method::ewald(0.7, 1e-8), units.coulomb(), 0.7)),
            restraints: restraints(&system),
            ..Forces::from(vec![core])
        };
        for rigid in [true, false] {
            system.topology = Topology::rigid_water(molecules, &shape);
            if !rigid {
                // Atoms without constraints, in the same positions.
                system.topology.constraints.clear();
            }
            let settings = Settings { precision: Precision::Double, threads: Some(1), ..Settings::default() };
            let mut backend = jostle_cpu::open(system.clone(), forces.clone(), settings).unwrap();
            let backend = &mut *backend;
            backend.update_neighbors().unwrap();
            backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            let joined = Molecules::new(&system.topology, &system.species, backend.state().unwrap());
            let molecular = backend.molecular_virial(&joined).unwrap();
            let virial = centers_virial(&backend.energies().virial, &molecular);
            let atomic: f64 = backend.energies().virial[..3].iter().sum();
            assert_eq!((atomic - virial).abs() > 0.1 * virial.abs(), rigid, "{atomic} {virial}");
            let step: f64 = 1e-5;
            let mut at = |factor: f64| {
                let (before, energy) = resize(backend, molecular.clone(), Vector([factor; 3]), 0.0).unwrap();
                backend.undo_scale(before).unwrap();
                energy
            };
            let slope = (at(1.0 + step) - at(1.0 - step)) / (2.0 * step);
            assert!((slope / -virial - 1.0).abs() < 1e-5, "{rigid}: {slope} is not {}", -virial);
            // Restraints contribute noticeably to the virial.
            backend.set_stiffness(&[0.0, 100.0]).unwrap();
            backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            let molecular = backend.molecular_virial(&joined).unwrap();
            let without = centers_virial(&backend.energies().virial, &molecular);
            assert!((without - virial).abs() > 1e-3 * virial.abs(), "{rigid}: {without} {virial}");
        }
    }

    /// The energy of atoms and box together is conserved, also when the temperature of the thermostat
    /// changes, which changes the mass of the box.
    #[test]
    fn another_temperature_makes_no_jump() {
        let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
        let (extent, density) = (LatticeExtent::Atoms(108), DensityInput::Number(0.8));
        let mixture = crate::Mixture::new(UnitSystem::Lj).with(argon, None);
        let mut system = mixture.lattice(Lattice::Fcc, extent, density, 2).unwrap();
        crate::assign_velocities(&mut system, 1.0, Distribution::Maxwell, 2);
        let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 2.2);
        let settings = Settings { precision: Precision::Double, threads: Some(1), ..Settings::default() };
        let molecules = Molecules::new(&system.topology, &system.species, &system.state);
        let mut backend = jostle_cpu::open(system, vec![lj], settings).unwrap();
        let backend = &mut *backend;
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        let barostat = Barostat::MartynaTobiasKlein { pressure: 5.0, time: 0.5, every: 1 };
        let mut thermostat = Thermostat::Langevin(Langevin::new(1.0, 1.0, 0.0005));
        let mut barostat = BarostatState::new(&barostat, Momentum::Thermal, 1.0);
        let atoms =
            |backend: &mut dyn Backend| backend.kinetic().unwrap().energy() + backend.energies().potential();
        let start = atoms(backend);
        let mut taken = 0.0_f64;
        for step in 1..=400 {
            if step == 200 {
                thermostat.set_thermal_energy(4.0);
            }
            let context = StepContext { seed: 1, step, timestep: 0.0005, long_range_weight: 1.0 };
            barostat.act(backend, &thermostat, &molecules, &context, 1.0).unwrap();
            let now = atoms(backend);
            taken = taken.max((now - start).abs());
            assert!(
                (now - barostat.energy - start).abs() < 1e-3 * taken,
                "{step}: {now} {}",
                barostat.energy
            );
        }
        assert!(taken > 10.0, "{taken}");
    }
}
