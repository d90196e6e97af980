//! Analysis during a run: the measures of the stage under way.

use crate::dipole::{Dipoles, check_conductor};
use crate::fluctuations;
use crate::heat_current::{self, HeatCurrent};
use crate::heat_flux::DrivenHeat;
use crate::ramp::Springs;
use crate::run_files::stage_file;
use jostle_analysis::{
    FrameSubset, Kind, Measure, MoleculeView, Observable, Record, SystemInfo, View, Whole, restore, save,
};
use jostle_core::group::chosen;
use jostle_core::{
    Backend, Error, Group, IdIndex, Molecules, Result, SimBox, Species, State, System, UnitSystem, Vec3,
};
use jostle_io::Input;
use jostle_io::input::model::{MeasureInput, StageInput};
use jostle_potentials::Forces;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::{Deserialize, Serialize};

/// The measures of a stage.
#[derive(Default)]
pub(crate) struct Measures {
    measures: Vec<ActiveMeasure>,
    /// Sums over atoms that a measure takes.
    sums: Option<AtomSums>,
    /// Pool of as many threads as the run has; `None` where nothing is measured.
    threads: Option<ThreadPool>,
    /// The heat flux, where the stage drives one.
    pub heat: Option<DrivenHeat>,
}

/// Sums over all atoms that no device has.
pub(crate) struct AtomSums {
    pub dipoles: Dipoles,
    /// The heat current, where a measure of the stage takes it.
    pub heat_current: Option<HeatCurrent>,
}

/// A measure.
struct ActiveMeasure {
    kind: &'static Kind,
    every: u64,
    /// Ids of the measured atoms; `None`: all.
    atoms: Option<Vec<u32>>,
    /// Beginning of the names of the files with results.
    base: String,
    measure: Box<dyn Measure>,
    frames: u64,
}

/// A measure in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedMeasure {
    frames: u64,
    memory: Vec<u8>,
}

impl Measures {
    /// The measures of a stage that begins. `threads`: `None` for all cores.
    ///
    /// # Errors
    /// If the settings of a measure do not fit the system.
    pub(crate) fn begin(
        stage: &StageInput,
        index: usize,
        system_info: &SystemInfo,
        groups: &[Group],
        sums: AtomSums,
        threads: Option<usize>,
    ) -> Result<Self> {
        if stage.measures.is_empty() {
            return Ok(Measures::default());
        }
        let mut measures: Vec<ActiveMeasure> = Vec::new();
        for input in &stage.measures {
            let (kind, every) = (input.value.kind, input.value.every);
            let of_kind = measures.iter().filter(|m| m.kind.name == kind.name).count();
            let number = if of_kind > 0 { format!("-{}", of_kind + 1) } else { String::new() };
            let base = format!("{}.{}{number}", stage_file(index, &stage.name), kind.name);
            let atoms = atoms_of(&input.value, groups).map(<[u32]>::to_vec);
            let system_info = system_info.part(atoms.as_deref());
            let measure =
                kind.measure(&system_info, &input.value.settings).map_err(|e| e.context(kind.name))?;
            measures.push(ActiveMeasure { kind, every, atoms, base, measure, frames: 0 });
        }
        let threads = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
        let threads = threads.map_err(|e| Error::device(format!("no threads to measure with: {e}")))?;
        let asked = measures.iter().any(|m| {
            let observable = m.kind.observable;
            observable == Observable::Molecules || observable.atoms() && observable.energies()
        });
        Ok(Measures { measures, sums: asked.then_some(sums), threads: Some(threads), heat: None })
    }

    /// Interval in steps of each measure, and the observable it takes.
    pub(crate) fn intervals(&self) -> impl Iterator<Item = (u64, Observable)> {
        self.measures.iter().map(|m| (m.every, m.kind.observable))
    }

    /// True if a measure that takes this observable is due after so many steps of the stage.
    fn is_due(&self, observable: Observable, stage_step: u64) -> bool {
        let mut taking = self.intervals().filter(|(_, taken)| *taken == observable);
        stage_step > 0 && taking.any(|(every, _)| stage_step.is_multiple_of(every))
    }

    /// Adds the atoms to the measures of positions and velocities that are due.
    ///
    /// # Errors
    /// If the device failed, or a frame lacks what is measured.
    pub(crate) fn add_atoms(&mut self, backend: &mut dyn Backend, stage_step: u64, time: f64) -> Result<()> {
        let taken = [Observable::Positions, Observable::Molecules, Observable::Velocities];
        let [positions, molecules, velocities] = taken.map(|observable| self.is_due(observable, stage_step));
        let positions = positions || molecules;
        if !positions && !velocities {
            return Ok(());
        }
        let simbox = *backend.simbox();
        let state = backend.state()?;
        let index_by_id = state.index_by_id();
        // Arrays that no measure takes are left empty.
        fn by_id<T>(index_by_id: &IdIndex, wanted: bool, of: impl Fn(usize) -> T) -> Vec<T> {
            index_by_id.iter().filter(|_| wanted).map(&of).collect()
        }
        let unwrapped = by_id(&index_by_id, positions, |index| state.unwrapped_position(&simbox, index));
        let wrapped = by_id(&index_by_id, positions, |index| state.wrapped_with_image(&simbox, index));
        let (positions, images): (Vec<Vec3>, Vec<[i32; 3]>) = wrapped.into_iter().unzip();
        let velocities = by_id(&index_by_id, velocities, |index| state.velocity[index]);
        let molecules = self.sums.as_ref().filter(|_| molecules).map(|sums| sums.dipoles.molecules());
        let joined =
            |all: &Molecules| (all.of_atoms().to_vec(), all.paths(&simbox, |id| positions[id as usize]));
        let molecules = molecules.map(joined);
        let molecules = molecules.as_ref().map(|(of_atoms, arms)| MoleculeView { of_atoms, arms });
        let view = View {
            time: Some(time),
            simbox: &simbox,
            lattice: &simbox,
            positions: &positions,
            unwrapped: &unwrapped,
            images: Some(&images),
            molecules,
            velocities: Some(&velocities),
            whole: None,
        };
        taken.into_iter().try_for_each(|observable| self.add_view(observable, stage_step, &view))
    }

    /// Adds energies, pressure and sums over atoms to the measures of the whole system that are due.
    ///
    /// # Errors
    /// If the device failed, or `whole` lacks what is measured.
    pub(crate) fn add_whole(
        &mut self,
        backend: &mut dyn Backend,
        stage_step: u64,
        time: f64,
        mut whole: Whole,
    ) -> Result<()> {
        let simbox = *backend.simbox();
        self.add_view(Observable::Whole, stage_step, &View::of_whole(time, &simbox, whole))?;
        let taken = [Observable::Dipole, Observable::Current, Observable::HeatCurrent];
        let [dipole, current, heat] = taken.map(|observable| self.is_due(observable, stage_step));
        let Some(sums) = &mut self.sums else { return Ok(()) };
        if dipole {
            whole.dipole = Some(sums.dipoles.moment(&simbox, backend.state()?)?);
        }
        if current {
            whole.current = Some(sums.dipoles.current(backend.state()?));
        }
        if let Some(heat_current) = sums.heat_current.as_mut().filter(|_| heat) {
            whole.heat_current = Some(heat_current.evaluate(&simbox, backend.state()?)?);
        }
        let view = View::of_whole(time, &simbox, whole);
        taken.into_iter().try_for_each(|observable| self.add_view(observable, stage_step, &view))
    }

    fn add_view(&mut self, observable: Observable, stage_step: u64, view: &View) -> Result<()> {
        let Some(threads) = &self.threads else { return Ok(()) };
        let due =
            |m: &&mut ActiveMeasure| m.kind.observable == observable && stage_step.is_multiple_of(m.every);
        for m in self.measures.iter_mut().filter(due) {
            m.frames += 1;
            let part = m.atoms.as_deref().map(|atoms| FrameSubset::of(view, atoms));
            let view = part.as_ref().map_or(*view, |part| part.view(view));
            // A few sums take less time than waking another thread.
            let added = match observable {
                Observable::Positions | Observable::Molecules | Observable::Velocities => {
                    threads.install(|| m.measure.add(&view))
                }
                Observable::Whole | Observable::Dipole | Observable::Current | Observable::HeatCurrent => {
                    m.measure.add(&view)
                }
            };
            added.map_err(|e| e.context(m.kind.name))?;
        }
        Ok(())
    }

    /// The state of all measures, for a checkpoint.
    ///
    /// # Errors
    /// As for [`save`].
    pub(crate) fn save(&mut self) -> Result<Vec<SavedMeasure>> {
        let one =
            |m: &mut ActiveMeasure| Ok(SavedMeasure { frames: m.frames, memory: save(&mut *m.measure)? });
        let mut saved = self.measures.iter_mut().map(one).collect::<Result<Vec<_>>>()?;
        if let Some(heat) = &mut self.heat {
            let mut memory = Vec::new();
            heat.flux.saved_state().write(&mut memory)?;
            saved.push(SavedMeasure { frames: 0, memory });
        }
        Ok(saved)
    }

    /// Restores the state of all measures from a checkpoint.
    ///
    /// # Errors
    /// If the checkpoint is one of other measures.
    pub(crate) fn restore(&mut self, kept: &[SavedMeasure]) -> Result<()> {
        if kept.len() != self.measures.len() + usize::from(self.heat.is_some()) {
            return Err(Error::input("the checkpoint was written with other measures"));
        }
        for (m, kept) in self.measures.iter_mut().zip(kept) {
            restore(&mut *m.measure, &kept.memory).map_err(|e| e.context(m.kind.name))?;
            m.frames = kept.frames;
        }
        if let Some((heat, kept)) = self.heat.as_mut().zip(kept.last()) {
            heat.flux.saved_state().read(&mut kept.memory.as_slice())?;
        }
        Ok(())
    }

    /// Results of each measure so far, with the beginning of the names of its files.
    pub(crate) fn records(&self, units: UnitSystem) -> Vec<(String, Result<Record>)> {
        let record = |m: &ActiveMeasure| {
            let results = m.measure.results();
            let record = results.map(|results| Record {
                kind: m.kind.name.into(),
                units: units.name().into(),
                frames: m.frames,
                results,
            });
            (m.base.clone(), record.map_err(|e| e.context(m.kind.name)))
        };
        let heat = self.heat.iter().map(|heat| (heat.base.clone(), heat.record()));
        self.measures.iter().map(record).chain(heat).collect()
    }
}

/// Facts about the system that measures need; so many of its atoms have no degrees of freedom.
pub(crate) fn system_info(
    units: UnitSystem,
    species: &[Species],
    state: &State,
    simbox: SimBox,
    dipoles: &Dipoles,
    unmoved: usize,
) -> SystemInfo {
    SystemInfo {
        units,
        names: species.iter().map(|s| s.name.clone()).collect(),
        species: state.index_by_id().into_iter().map(|index| state.species[index]).collect(),
        simbox,
        polarity: dipoles.polarity(),
        unmoved,
    }
}

/// Ids of the atoms that a measure takes; `None`: all.
fn atoms_of<'a>(input: &MeasureInput, groups: &'a [Group]) -> Option<&'a [u32]> {
    input.atoms.as_ref().and_then(|atoms| chosen(groups, atoms.value.text()))
}

/// Refuses measures whose settings do not fit the system, or that fail for its first configuration, at their lines of the
/// input.
pub(crate) fn check(input: &Input, system: &System, forces: &Forces) -> Result<()> {
    let measures = input.stages.iter().flat_map(|s| s.value.measures.iter().map(|m| (&s.value, m)));
    if measures.clone().next().is_none() {
        return Ok(());
    }
    let dipoles = Dipoles::of(system);
    let unmoved = system.state.len() - system.n_free();
    let whole = system_info(input.units, &system.species, &system.state, system.simbox, &dipoles, unmoved);
    for (stage, measure) in measures {
        let here = |e: Error| {
            let e = e.context(format!("stage '{}', measure {}", stage.name, measure.value.kind.name));
            e.at_span(&input.source.path, &input.source.text, measure.span.clone())
        };
        let atoms = atoms_of(&measure.value, &system.groups);
        let MeasureInput { kind, settings, .. } = &measure.value;
        let mut tried = kind.measure(&whole.part(atoms), settings).map_err(here)?;
        // A box that changes may fit later.
        if kind.observable.positions() && !changes_box(input, stage) {
            try_first(&mut *tried, system, atoms).map_err(here)?;
        }
        fluctuations::check_pressure(kind, &system.simbox).map_err(here)?;
        fluctuations::check(kind, stage, input, system).map_err(here)?;
        match kind.observable {
            Observable::Dipole => check_conductor(input).map_err(here)?,
            Observable::HeatCurrent => {
                let springs = Springs::new(&forces.restraints);
                let obstacle = heat_current::obstacle(system, forces);
                heat_current::check(stage, obstacle, &springs).map_err(here)?;
                heat_current::check_unbiased(input, Some(stage)).map_err(here)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns true where the box changes in a stage, or in one before it.
fn changes_box(input: &Input, stage: &StageInput) -> bool {
    let stages = input.stages.iter().map(|other| &other.value);
    let mut so_far = stages.take_while(|other| !std::ptr::eq(*other, stage)).chain([stage]);
    so_far.any(|stage| stage.barostat.is_some() || stage.deformation.is_some())
}

/// Measures the first configuration of a system.
fn try_first(measure: &mut dyn Measure, system: &System, atoms: Option<&[u32]>) -> Result<()> {
    let System { state, simbox, .. } = system;
    let index_by_id = state.index_by_id();
    let by_id = |of: &dyn Fn(usize) -> Vec3| -> Vec<Vec3> { index_by_id.iter().map(of).collect() };
    let unwrapped = by_id(&|index| state.unwrapped_position(simbox, index));
    let wrapped = by_id(&|index| state.wrapped_with_image(simbox, index).0);
    let view = View {
        time: Some(0.0),
        simbox,
        lattice: simbox,
        positions: &wrapped,
        unwrapped: &unwrapped,
        images: None,
        molecules: None,
        velocities: None,
        whole: None,
    };
    let part = atoms.map(|atoms| FrameSubset::of(&view, atoms));
    measure.add(&part.as_ref().map_or(view, |part| part.view(&view)))
}
