//! `[alchemy]` during a run: the system of the window of the run, and samples of the energies of all windows.
//!
//! A sample needs no step: the host evaluates the Lennard-Jones energies of the molecule, or of both parts, in all
//! windows at the positions of the device (`CouplingTable`), and the device the energy of charges at three factors, or at
//! six pairs of factors, of which it is a quadratic function.
//! Forces and energies of the step stay as they are, so that samples change no bit of a path.

mod charges;
mod samples;

use crate::checkpoint::Checkpoint;
use crate::custom_force::{
    AtomChoice, AtomForces, Configuration, CustomForce, EnergyColumn, ForceSums, StageSpan,
};
use crate::degrees_of_freedom::Momentum;
use crate::force_context::StageEntry;
use crate::observe::{Context, Observer};
use crate::report::{Warning, WarningKind};
use charges::ChargeForm;
use jostle_core::backend::Evaluate;
use jostle_core::{Error, Result, System, UnitSystem};
use jostle_io::Input;
use jostle_io::input::model::{AlchemyInput, StageInput};
use jostle_potentials::Forces;
use jostle_potentials::alchemy::{
    Coupling, CouplingEnergies, CouplingTable, Original, Window, decouple, exchange_parts,
};
use jostle_potentials::electrostatics::Electrostatics;
use samples::{Path, Sample, StageSamples, ThermalUnits};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Name of the samples in checkpoints.
const NAME: &str = "alchemy";

/// Energy of the Wigner lattice of unit charges in their background, times the edge of its cubic cell and -2.
const WIGNER: f64 = 2.837_297;

/// The molecule of `[alchemy]` and the samples of its windows.
pub(crate) struct Alchemy {
    sampler: Sampler,
    records: Records,
    /// Warning about a change of the net charge.
    pub warning: Option<Warning>,
}

/// Samples of all stages, and what a resumed run needs to undo the change of the system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    /// Of the molecule, or of both parts, in the order of the changes.
    originals: Vec<Original>,
    stages: Vec<StageSamples>,
    /// Number of the stage under way in `stages`, and its first step; `None` in a stage without samples.
    active: Option<(usize, u64)>,
}

/// State that the sampler and the records share.
type SharedState = Arc<Mutex<State>>;

fn lock(state: &SharedState) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Turns the system and the forces of an input into those of the window of its `[alchemy]`; `None` without one.
///
/// # Errors
/// If the atoms are not one molecule, or a force on them cannot be scaled; errors point into the input.
pub(crate) fn apply(input: &Input, system: &mut System, forces: &mut Forces) -> Result<Option<Alchemy>> {
    let Some(given) = &input.alchemy else { return Ok(None) };
    let at = |e: Error| e.at_span(&input.source.path, &input.source.text, given.span.clone());
    let alchemy = &given.value;
    let atoms = input.alchemical_atoms(system)?;
    let path = Path { windows: alchemy.windows_of_parts(), window: alchemy.window };
    let (window, form) = (path.own(), alchemy.decoupling);
    let changed = match (&atoms[..], window) {
        ([first, second], &[one, other]) => {
            exchange_parts(system, forces, [(&first[..], one), (&second[..], other)], form).map(Vec::from)
        }
        _ => decouple(system, forces, &atoms[0], window[0], form).map(|changed| vec![changed]),
    };
    let (originals, couplings): (Vec<_>, Vec<_>) = changed.map_err(at)?.into_iter().unzip();
    let term = forces.electrostatics.as_ref();
    let warning = net_charge_warning(&originals, &path, system, (term, input.units));
    let charges = || originals.iter().flat_map(|original: &Original| &original.charges);
    let charged = term.is_some() && charges().any(|q| *q != 0.0);
    let counts = system.counts();
    let table = |(part, coupling): (usize, Coupling)| {
        coupling.table(&counts, &path.lennard_jones(part), path.own()[part].lennard_jones)
    };
    let couplings = couplings.into_iter().enumerate().map(table).collect::<Result<_>>();
    let sampler = Sampler {
        every: alchemy.sample_every,
        couplings: couplings.map_err(at)?,
        charges: charged.then(|| (system.charges.clone(), forces.n_pairs())),
        path: path.clone(),
        units: input.units,
        state: Arc::new(Mutex::new(State { originals, stages: stages(input, alchemy, &path), active: None })),
    };
    let records = Records { state: sampler.state.clone() };
    Ok(Some(Alchemy { sampler, records, warning }))
}

/// Stages with samples.
fn stages(input: &Input, alchemy: &AlchemyInput, path: &Path) -> Vec<StageSamples> {
    let stages: Vec<&StageInput> = input.stages.iter().map(|stage| &stage.value).collect();
    let sampled = stages.iter().enumerate().filter(|(_, stage)| alchemy.stages.contains(&stage.name));
    sampled
        .filter_map(|(index, stage)| {
            let [temperature, _] = stage.temperatures()?;
            let units = ThermalUnits::new(input.units, temperature);
            Some(StageSamples::new(index, &stage.name, path, &units))
        })
        .collect()
}

/// Warning about the net charge of a molecule that charges are taken from: the lattice of its images in a neutralising
/// background has an energy of its own.
fn net_charge_warning(
    originals: &[Original],
    path: &Path,
    system: &System,
    (term, units): (Option<&Electrostatics>, UnitSystem),
) -> Option<Warning> {
    let term = term?;
    let of_window = |window: &Vec<Window>| -> f64 {
        originals.iter().zip(window).map(|(part, w)| w.charges * part.net_charge()).sum()
    };
    let totals = || path.windows.iter().map(of_window);
    let charge = totals().fold(f64::MIN, f64::max) - totals().fold(f64::MAX, f64::min);
    let sizes: f64 = originals.iter().flat_map(|part| &part.charges).map(|q| q.abs()).sum();
    if charge <= 1e-6 * sizes {
        return None;
    }
    let edge = system.simbox.volume().cbrt();
    let energy = 0.5 * term.coulomb * charge * charge * WIGNER / edge;
    let unit = jostle_core::quantity::unit_name(units, jostle_core::Dimension::ENERGY);
    let message = format!(
        "the net charge of the molecule of [alchemy] changes by {charge:.6}: a uniform background neutralises the box in some \
         windows. Of the energy of its images, {energy:.4} {unit}, the part that a solvent of permittivity e leaves \
         unscreened, that energy over e, and the potential of the solvent's quadrupoles are errors of the free energy of \
         charging: correct it (Rocklin, Mobley, Dill and Huenenberger 2013), or compare boxes of several sizes",
    );
    Some(Warning { kind: WarningKind::NetCharge, message })
}

/// Takes the change by `[alchemy]` back from the system of a checkpoint.
///
/// # Errors
/// If the checkpoint is damaged.
pub(crate) fn restore_plain(checkpoint: &Checkpoint, system: &mut System) -> Result<()> {
    match checkpoint.header.forces.iter().find(|force| force.name == NAME) {
        Some(saved) => decode(&saved.state)?.originals.iter().rev().try_for_each(|part| part.restore(system)),
        None => Ok(()),
    }
}

fn decode(bytes: &[u8]) -> Result<State> {
    postcard::from_bytes(bytes).map_err(|e| Error::input(format!("samples of [alchemy] are damaged: {e}")))
}

impl Alchemy {
    /// Sampler, and keeper of the samples.
    pub fn split(self) -> (impl Observer + 'static, impl CustomForce + 'static) {
        (self.sampler, self.records)
    }
}

/// Sampler of the energies of all windows.
struct Sampler {
    every: u64,
    couplings: Vec<CouplingTable>,
    /// Charges of all atoms in the window of the run, and the number of their term; `None` without charges.
    charges: Option<(Vec<f64>, usize)>,
    path: Path,
    units: UnitSystem,
    state: SharedState,
}

impl Sampler {
    /// Energy of charges as a function of their factors, those of single pairs within the molecule included.
    fn charge_form(&self, context: &mut Context, pairs: &[CouplingEnergies]) -> Result<Option<ChargeForm>> {
        let own: Vec<[f64; 2]> = pairs.iter().map(|part| part.own_charges).collect();
        if self.charges.is_none() && own.as_flattened().iter().all(|x| *x == 0.0) {
            return Ok(None);
        }
        let form = ChargeForm::new(own.len(), |factors| {
            let Some((charges, term)) = &self.charges else { return Ok(0.0) };
            let mut scaled = charges.clone();
            for (part, factor) in lock(&self.state).originals.iter().zip(factors) {
                scaled = part.charges_at(&scaled, *factor);
            }
            let found = context.backend.energies_with_charges(&scaled)?;
            Ok(found.terms.get(*term).copied().unwrap_or_default())
        })?;
        Ok(Some(form.with_pairs(&own)))
    }
}

impl Observer for Sampler {
    fn every(&self) -> u64 {
        if lock(&self.state).active.is_some() { self.every } else { 0 }
    }

    fn requested(&self) -> Evaluate {
        Evaluate::Forces
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        let active = lock(&self.state).active;
        let Some((stage, _)) = active.filter(|(_, first)| context.step > *first) else { return Ok(()) };
        let simbox = *context.backend.simbox();
        let atoms = context.backend.state()?;
        let pairs: Vec<_> = self.couplings.iter().map(|part| part.energies(&simbox, atoms)).collect();
        let charges = self.charge_form(context, &pairs)?;
        let sample = Sample { charges, pairs };
        let time = context.time * self.units.nanoseconds().map_or(1.0, |ns| 1e3 * ns);
        lock(&self.state).stages[stage].push(time, &self.path, &sample);
        Ok(())
    }
}

/// Samples in the folder of the run and in its checkpoints.
struct Records {
    state: SharedState,
}

impl CustomForce for Records {
    fn name(&self) -> &str {
        NAME
    }

    fn energy_column(&self) -> EnergyColumn {
        EnergyColumn::Absent
    }

    fn atoms(&self) -> AtomChoice<'_> {
        AtomChoice::Ids(&[])
    }

    fn momentum(&self) -> Momentum {
        Momentum::Conserved
    }

    fn evaluate(&mut self, _now: &Configuration, _forces: &mut AtomForces) -> Result<ForceSums> {
        Ok(ForceSums::default())
    }

    fn begin_stage(&mut self, stage: &StageSpan) -> Result<()> {
        let mut state = lock(&self.state);
        let index = state.stages.iter().position(|samples| samples.stage() == stage.name);
        if stage.entry == StageEntry::Begun || state.active.is_none() {
            state.active = index.map(|index| (index, stage.first_step));
        }
        Ok(())
    }

    fn fixes_temperature(&self) -> Option<&'static str> {
        Some("[alchemy], whose energies in files are in units of the temperature in the input")
    }

    fn files(&self) -> Vec<(String, String)> {
        lock(&self.state).stages.iter().filter_map(StageSamples::file).collect()
    }

    fn save(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(&*lock(&self.state))
            .map_err(|e| Error::simulation(format!("samples cannot be saved: {e}")))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let saved = decode(saved)?;
        let mut state = lock(&self.state);
        let same = state.originals == saved.originals && state.stages.len() == saved.stages.len();
        if !same {
            return Err(Error::input("the checkpoint has samples of another molecule or of other stages"));
        }
        *state = saved;
        Ok(())
    }
}
