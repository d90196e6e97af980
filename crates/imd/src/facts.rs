//! Facts about a run that clients depend on: its atoms, its intervals, and the forces that its atoms can follow.

use crate::permission::Permission;
use crate::spring::Share;
use jostle_core::arithmetic::greatest_common_divisor;
use jostle_core::{Error, Result, UnitSystem};
use jostle_engine::Simulation;
use jostle_engine::model::Action;
use std::num::NonZeroU64;

/// Greatest swing of a spring in one time step, as an angle: velocity Verlet is stable up to 2.
const GREATEST_SWING: f64 = 0.2;

/// Facts about a run that clients depend on.
#[derive(Debug, Clone)]
pub(crate) struct RunFacts {
    pub n_atoms: u32,
    pub units: UnitSystem,
    /// Interval of frames where a client chooses none, in steps.
    pub every: u64,
    /// Number of steps of which all intervals are multiples, see `long_range_every` of the input.
    pub period: u64,
    /// Longest time step; 0 where energy is minimised only.
    pub timestep: f64,
    /// Mass of each atom, by id.
    pub masses: Vec<f64>,
    /// Greatest acceleration that clients may ask for: it moves an atom at rest by a tenth of the mean distance of
    /// atoms in one step.
    pub greatest_acceleration: f64,
    /// Greatest force of a client of the IMD protocol on an atom: that acceleration of the lightest.
    pub greatest_force: f64,
    /// Ids of virtual sites, which no force can pull, in ascending order.
    pub sites: Vec<u32>,
    /// Ids of frozen and driven atoms, which no force moves, in ascending order.
    pub driven: Vec<u32>,
    pub permission: Permission,
}

/// The next multiple of a period; the last there is where a number is so large.
pub(crate) fn round_up(every: u64, period: u64) -> u64 {
    every.checked_next_multiple_of(period).unwrap_or(u64::MAX - u64::MAX % period)
}

/// Words for an interval that was rounded up.
pub(crate) fn instead(every: u64, rounded: u64) -> String {
    format!("every {rounded} steps instead of every {every}, since long-range forces do not act at each step")
}

impl RunFacts {
    /// Facts about a simulation.
    ///
    /// # Errors
    /// If there are more atoms than the protocol can count, or the device failed.
    pub fn new(simulation: &mut Simulation, every: NonZeroU64, permission: Permission) -> Result<Self> {
        let n_atoms = u32::try_from(simulation.n_atoms()).ok().filter(|n| i32::try_from(*n).is_ok());
        let n_atoms =
            n_atoms.ok_or_else(|| Error::input("there are more atoms than the IMD protocol can count"))?;
        let stages = simulation.stages();
        let least_common_multiple = |a: u64, b: u64| a / greatest_common_divisor(a, b) * b;
        let period = stages.iter().map(|s| s.long_range_every.max(1)).fold(1, least_common_multiple);
        let longest = stages.iter().map(|s| match s.action {
            Action::Dynamics { timestep, .. } => timestep,
            Action::Minimize { .. } => 0.0,
        });
        let timestep = longest.fold(0.0, f64::max);
        let lightest = simulation.species().iter().map(|s| s.mass).filter(|mass| *mass > 0.0);
        let lightest = lightest.fold(f64::INFINITY, f64::min);
        let spacing = (simulation.simbox().volume() / f64::from(n_atoms.max(1))).cbrt();
        // An acceleration 2 d / dt^2 moves an atom by d in one step from rest.
        let greatest_acceleration = 0.2 * spacing / (timestep * timestep);
        let mut sites: Vec<u32> = simulation.topology().virtual_sites.iter().map(|site| site.site).collect();
        sites.sort_unstable();
        let species = simulation.species_by_id()?;
        let masses = species.into_iter().map(|s| simulation.species()[usize::from(s)].mass).collect();
        Ok(RunFacts {
            n_atoms,
            units: simulation.units(),
            every: round_up(every.get(), period),
            period,
            timestep,
            masses,
            greatest_acceleration,
            greatest_force: lightest * greatest_acceleration,
            sites,
            driven: simulation.driven().to_vec(),
            permission,
        })
    }

    /// Reason why an atom cannot be pulled, if there is one.
    pub fn refusal(&self, atom: u32) -> Option<String> {
        if atom >= self.n_atoms {
            return Some(format!("there is no atom {atom}: there are {}, counted from 0", self.n_atoms));
        }
        if self.sites.binary_search(&atom).is_ok() {
            return Some(format!("atom {atom} is a virtual site; pull an atom with mass"));
        }
        // A pull would do no work on an atom whose velocity is given.
        let driven = self.driven.binary_search(&atom).is_ok();
        driven.then(|| format!("atom {atom} is frozen or driven; pull an atom that forces move"))
    }

    /// Atoms of a group that is pulled at one of them, without virtual sites.
    ///
    /// # Errors
    /// If one cannot be pulled, or the first is not among them.
    pub fn shares(&self, atom: u32, atoms: &[u32]) -> Result<Vec<Share>> {
        let mut atoms = atoms.to_vec();
        atoms.sort_unstable();
        atoms.dedup();
        atoms.retain(|other| *other == atom || self.sites.binary_search(other).is_err());
        if atoms.binary_search(&atom).is_err() {
            return Err(Error::input(format!("atom {atom} is not one of the {} to be pulled", atoms.len()))
                .hint("grab an atom of the selection"));
        }
        if let Some(why) = atoms.iter().find_map(|atom| self.refusal(*atom)) {
            return Err(Error::input(why));
        }
        let share = |atom: u32| Share { atom, mass: self.masses[atom as usize] };
        Ok(atoms.into_iter().map(share).collect())
    }

    /// Greatest stiffness of a spring that pulls a mass: it swings by a small angle in a step.
    pub fn greatest_stiffness(&self, mass: f64) -> f64 {
        let rate = GREATEST_SWING / self.timestep;
        mass * rate * rate
    }
}
