//! Heat driven through a box by exchanges of velocities (F. Müller-Plathe, J. Chem. Phys. 106 (1997) 6082).
//!
//! The fastest atom of the first slab and the slowest one of the middle slab, of one species and so of one mass,
//! exchange their velocities: heat goes from the first slab to the middle one, and flows back through the system.
//! Energy and momentum of the whole stay as they are, exactly. The flux is given, the temperatures are measured by
//! [`jostle_analysis::HeatFlux`].
//!
//! Advantage: neither a thermostat nor energies and stresses of single atoms. Disadvantage: all atoms come to the host
//! at each exchange.

use crate::run_files::stage_file;
use jostle_analysis::{HeatExchange, HeatFlux, Record, THERMAL_CONDUCTIVITY, slab};
use jostle_core::{Backend, Error, Result, SimBox, Species, State, Topology, UnitSystem};
use jostle_io::input::model::{HeatFluxInput, StageInput};

/// The heat flux of a stage under way.
pub(crate) struct DrivenHeat {
    input: HeatFluxInput,
    units: UnitSystem,
    timestep: f64,
    /// Beginning of the names of the files with results.
    pub base: String,
    pub flux: HeatFlux,
}

/// Refuses a flux along which a box is open, or one between atoms that do not move by themselves.
///
/// # Errors
/// If the box has no cross section, its slabs are too few or too many, or velocities cannot be exchanged.
pub(crate) fn check(stage: &StageInput, simbox: &SimBox, topology: &Topology) -> Result<()> {
    let Some(input) = stage.heat_flux else { return Ok(()) };
    HeatFlux::new(input.slabs)?;
    if simbox.periodic() != [true; 3] {
        return Err(Error::input("heat cannot flow both ways through a box with an open axis")
            .hint("make all axes periodic, or leave out heat_flux"));
    }
    if topology.is_constrained() {
        return Err(Error::input("atoms with constraints cannot exchange their velocities")
            .hint("drive heat through atoms, or molecules with flexible bonds"));
    }
    Ok(())
}

impl DrivenHeat {
    /// The flux of a stage that begins, if it has one.
    ///
    /// # Errors
    /// If the slabs are too few, or there are grains.
    pub fn begin(stage: &StageInput, index: usize, timestep: f64, units: UnitSystem) -> Result<Option<Self>> {
        let Some(input) = stage.heat_flux else { return Ok(None) };
        let flux = HeatFlux::new(input.slabs)?;
        let base = format!("{}.{THERMAL_CONDUCTIVITY}", stage_file(index, &stage.name));
        Ok(Some(DrivenHeat { input, units, timestep, base, flux }))
    }

    /// Exchanges velocities where that is due before the next step. `driven` are the ids of frozen and driven atoms, in
    /// ascending order.
    ///
    /// # Errors
    /// If the device failed.
    pub fn act(
        &mut self,
        backend: &mut dyn Backend,
        stage_step: u64,
        species: &[Species],
        driven: &[u32],
    ) -> Result<()> {
        let HeatFluxInput { axis, slabs, every, swaps } = self.input;
        if !stage_step.is_multiple_of(every) {
            return Ok(());
        }
        let simbox = *backend.simbox();
        let state = backend.state()?;
        let moving = Moving::find(state, &simbox, (axis.index(), slabs), (species, driven));
        let temperatures = moving.temperatures(slabs, self.units.boltzmann());
        let pairs = moving.pairs(slabs, swaps);
        if !pairs.is_empty() {
            let mut velocities = state.velocity.clone();
            pairs.iter().for_each(|pair| velocities.swap(pair.fast, pair.slow));
            backend.set_velocities(&velocities)?;
        }
        let height = simbox.widths()[axis.index()];
        self.flux.add(&HeatExchange {
            heat: pairs.iter().map(|pair| pair.heat).sum(),
            time: every as f64 * self.timestep,
            area: simbox.volume() / height,
            height,
            temperatures: &temperatures,
        });
        Ok(())
    }

    /// Results so far.
    ///
    /// # Errors
    /// If there was no exchange.
    pub fn record(&self) -> Result<Record> {
        self.flux.record(self.units, self.input.axis.index())
    }
}

/// An atom that forces move.
struct Atom {
    index: usize,
    id: u32,
    species: u16,
    slab: usize,
    /// Twice its kinetic energy.
    motion: f64,
}

/// The atoms that forces move, in the order of their ids.
struct Moving(Vec<Atom>);

/// Atoms that exchange their velocities.
struct Pair {
    fast: usize,
    slow: usize,
    heat: f64,
}

impl Moving {
    fn find(
        state: &State,
        simbox: &SimBox,
        (axis, slabs): (usize, usize),
        (all, driven): (&[Species], &[u32]),
    ) -> Self {
        let atom = |index: usize| {
            let (id, species) = (state.id[index], state.species[index]);
            let mass = all[usize::from(species)].mass;
            let moves = mass > 0.0 && driven.binary_search(&id).is_err();
            moves.then(|| {
                let motion = mass * state.velocity[index].norm_squared();
                Atom { index, id, species, slab: slab(simbox, state.position[index], axis, slabs), motion }
            })
        };
        Moving(state.index_by_id().iter().filter_map(atom).collect())
    }

    /// Temperature of each slab; NaN where no atom is.
    fn temperatures(&self, slabs: usize, boltzmann: f64) -> Vec<f64> {
        let mut sums = vec![(0.0, 0.0); slabs];
        for atom in &self.0 {
            let (motion, count) = &mut sums[atom.slab];
            *motion += atom.motion;
            *count += 1.0;
        }
        sums.into_iter().map(|(motion, count)| motion / (3.0 * count * boltzmann)).collect()
    }

    /// At most so many pairs, those that carry most heat: each atom of the first slab with one of its species in the
    /// middle slab that is slower.
    fn pairs(&self, slabs: usize, most: usize) -> Vec<Pair> {
        let of_slab = |slab: usize, sign: f64| {
            let mut atoms: Vec<&Atom> = self.0.iter().filter(|atom| atom.slab == slab).collect();
            let key = |atom: &Atom| sign * atom.motion;
            atoms.sort_by(|a, b| {
                a.species.cmp(&b.species).then(key(a).total_cmp(&key(b))).then(a.id.cmp(&b.id))
            });
            atoms
        };
        let (first, middle) = (of_slab(0, -1.0), of_slab(slabs / 2, 1.0));
        let mut pairs = Vec::new();
        for fast in first.chunk_by(|a, b| a.species == b.species) {
            let slow = middle.iter().filter(|atom| atom.species == fast[0].species);
            let both = fast.iter().zip(slow).map(|(fast, slow)| Pair {
                fast: fast.index,
                slow: slow.index,
                heat: 0.5 * (fast.motion - slow.motion),
            });
            pairs.extend(both.filter(|pair| pair.heat > 0.0));
        }
        pairs.sort_by(|a, b| b.heat.total_cmp(&a.heat));
        pairs.truncate(most);
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    /// A light and a heavy species in a box of eight slabs along x, with these speeds: by slab, species and speed.
    fn moving(atoms: &[(usize, u16, f64)], driven: &[u32]) -> Moving {
        let simbox = SimBox::orthorhombic([8.0, 1.0, 1.0]).unwrap();
        let species = [1.0, 4.0].map(|mass| Species { name: "A".into(), mass, charge: 0.0 });
        let mut state = State::default();
        for (slab, kind, speed) in atoms {
            // One box away from where it counts.
            state.push(*kind, Vector([*slab as f64 + 0.5 - 8.0, 0.0, 0.0]));
            *state.velocity.last_mut().unwrap() = Vector([0.0, *speed, 0.0]);
        }
        Moving::find(&state, &simbox, (0, 8), (&species, driven))
    }

    #[test]
    fn atoms_of_one_species_exchange_most_heat() {
        let atoms =
            [(0, 0, 3.0), (0, 0, 5.0), (0, 1, 2.0), (4, 0, 1.0), (4, 1, 1.0), (4, 1, 3.0), (2, 0, 9.0)];
        let all = moving(&atoms, &[]);
        let of = |moving: &Moving, most| {
            let pairs = moving.pairs(8, most);
            pairs.iter().map(|pair| (pair.fast, pair.slow, pair.heat)).collect::<Vec<_>>()
        };
        assert_eq!(of(&all, 9), [(1, 3, 12.0), (2, 4, 6.0)]);
        assert_eq!(of(&all, 1), [(1, 3, 12.0)]);
        // Without the fastest atom and the slow heavy one, which do not move by themselves.
        assert_eq!(of(&moving(&atoms, &[1, 4]), 9), [(0, 3, 4.0)]);
        let temperatures = all.temperatures(8, 0.5);
        assert_eq!(temperatures[4], (1.0 + 4.0 + 36.0) / (3.0 * 3.0 * 0.5));
        assert!(temperatures[1].is_nan());
    }
}
