//! `jostle analyze`

use crate::arguments::{AnalyzeOptions, ReadingOptions};
use crate::free_energy;
use crate::interactions;
use crate::moments::refuse_means;
use crate::numbers::grouped;
use crate::profile;
use crate::reading::{FrameSelection, trajectory_at};
use crate::results::print;
use crate::trajectory_context::{FrameSums, TrajectoryContext};
use crate::variables;
use jostle_analysis::kinds::Frames;
use jostle_analysis::{
    CommonMotion, FrameSubset, Kind, Measure, MeasureSettings, MoleculeView, Observable, Paths, Polarity,
    Record, SystemInfo, View, Whole, kinds,
};
use jostle_core::quantity::describe;
use jostle_core::{Dimension, Error, Molecules, Result, SimBox, Species, System, Vec3};
use jostle_engine::Checkpoint;
use jostle_engine::fluctuations;
use jostle_engine::replicas::RECORD;
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Selection, Snapshot, TrajectoryReader};
use jostle_show::RunFiles;
use std::fmt::Write as _;
use std::path::Path;

/// Goes through a trajectory and prints what one kind of analysis finds.
///
/// # Errors
/// As for [`analysis`].
pub fn analyze(options: &AnalyzeOptions) -> Result<()> {
    print(options, analysis(options, &mut |message| say!("{message}"))?)
}

/// Goes through a trajectory; returns what one kind of analysis finds. Messages go to `tell`.
///
/// # Errors
/// If the trajectory cannot be read or does not have what is measured.
pub fn analysis(options: &AnalyzeOptions, tell: &mut dyn FnMut(&str)) -> Result<Record> {
    let of_whole = kinds::find(&options.kind).is_some_and(|kind| kind.observable == Observable::Whole);
    if of_whole || [PMF, FREE_ENERGY].contains(&options.kind.as_str()) {
        refuse_frame_options(options)?;
    }
    options.reading.refuse_empty()?;
    match options.kind.as_str() {
        VARIABLE => return variables::along_trajectory(options, tell),
        INTERACTION => return interactions::along_trajectory(options, tell),
        PMF => return profile::profile(options, tell),
        FREE_ENERGY => return free_energy::free_energy(options, tell),
        _ => {}
    }
    let kind = kinds::find(&options.kind)
        .ok_or_else(|| Error::input(format!("there is no analysis \"{}\"", options.kind)))?;
    if kind.observable.is_of_whole() && options.atoms.is_some() {
        return Err(of_all(kind));
    }
    if kind.frames == Frames::AlongPath {
        refuse_exchanged(&options.trajectory, kind)?;
    }
    match kind.observable {
        Observable::Positions
        | Observable::Molecules
        | Observable::Velocities
        | Observable::Dipole
        | Observable::Current
        | Observable::HeatCurrent => {
            let trajectory = trajectory_at(&options.trajectory, options.stage.as_deref())?;
            if trajectory != options.trajectory {
                tell(&trajectory.display().to_string());
            }
            frames(&AnalyzeOptions { trajectory, ..options.clone() }, kind, tell)
        }
        Observable::Whole => rows(options, kind, tell),
    }
}

const VARIABLE: &str = "variable";
const INTERACTION: &str = "interaction";
const PMF: &str = "pmf";
const FREE_ENERGY: &str = "free-energy";

/// Analyses that are no measures of frames: names, and a line about each.
pub const OTHERS: &[(&str, &str)] = &[
    (VARIABLE, "the variables of an input along a trajectory"),
    (INTERACTION, "energies of interaction of groups, by term, and forces between them, along a trajectory"),
    (
        PMF,
        "free energy along variables, from umbrella windows, hills, kernels, adaptive forces or steered runs: by the biases \
         that act in a stage, the last with such (--stage). Windows (method=mbar or wham, bins=..., variable=..., \
         temperature=... without a thermostat) and kernels give that without any bias, from the energies in thermo.csv; \
         hills, adaptive forces and works that of the system with all other biases, which a warning names",
    ),
    (
        FREE_ENERGY,
        "free energies of states: of the windows of runs with [alchemy], which may differ in nothing else, or from tables of \
         energies or derivatives with one parameter or several (alchemlyb's CSV, in kT)",
    ),
];

fn frames(options: &AnalyzeOptions, kind: &Kind, tell: &mut dyn FnMut(&str)) -> Result<Record> {
    let context = TrajectoryContext::of(options)?;
    let reading =
        ReadingOptions { units: options.reading.units.or(context.units()), ..options.reading.clone() };
    let mut frames = FrameSelection::open(&options.trajectory, &reading, tell)?;
    let units = frames.reader().units();
    let here = |e: Error| e.in_file(&options.trajectory);
    let follows_positions = kind.frames == Frames::AlongPath && kind.observable.positions();
    let corner_matters = follows_positions && !frames.reader().knows_corner();
    let mut common_motion = corner_matters.then(CommonMotion::default);
    let mut measure = None;
    let mut paths = Paths::default();
    let mut count = 0u64;
    while let Some(mut frame) = frames.next_frame()? {
        // Positions outside of the box would seem to move with its edges where it changes.
        frame.wrap_counted().map_err(here)?;
        let measure = match &mut measure {
            Some(measure) => measure,
            none => none.insert(FrameMeasure::new(options, kind, &context, frames.reader(), &frame)?),
        };
        let (lattice, unwrapped) = paths.advance(&frame.simbox, &frame.positions, frame.images.as_deref());
        if let Some(common_motion) = &mut common_motion {
            common_motion.add(&lattice, unwrapped);
        }
        measure.add(&frame, (&lattice, unwrapped)).map_err(here)?;
        count += 1;
    }
    frames.end();
    let Some(FrameMeasure { measure, .. }) = measure else {
        return Err(
            Error::file(&options.trajectory, "there is no frame to analyze").hint("see --first and --last")
        );
    };
    let mut results = measure.results().map_err(here)?;
    let with_corner = TrajectoryFormat::titles("or", TrajectoryFormat::has_corner);
    results.warnings.extend(common_motion.and_then(|motion| motion.warning(kind.name, &with_corner)));
    tell(&format!("{} frames, units = {units}", grouped(count)));
    Ok(Record { kind: kind.name.into(), units: units.name().into(), frames: count, results })
}

/// Measure of the frames of a trajectory.
struct FrameMeasure {
    measure: Box<dyn Measure>,
    /// Ids of the atoms that are chosen; `None`: all.
    chosen: Option<Vec<u32>>,
    /// Molecules, where they are known and the measure takes them.
    molecules: Option<Molecules>,
    sums: Option<FrameSums>,
    needs_velocities: bool,
}

impl FrameMeasure {
    /// Measure that was asked for, given the first frame.
    ///
    /// # Errors
    /// If settings or atoms do not fit, or it needs what is not known of the atoms.
    fn new(
        options: &AnalyzeOptions,
        kind: &Kind,
        context: &TrajectoryContext,
        reader: &TrajectoryReader,
        first: &Snapshot,
    ) -> Result<Self> {
        let settings = MeasureSettings::parse(&options.settings, kind.settings, reader.units())?;
        let takes_molecules = kind.observable == Observable::Molecules;
        let wanted = kind.observable.is_of_whole() || takes_molecules || options.atoms.is_some();
        let known = if wanted { context.system(reader)? } else { None };
        let choose = |text: &String| choose(text, known.as_ref(), reader, first);
        let chosen = options.atoms.as_ref().map(choose).transpose()?;
        if known.is_none() && kind.observable == Observable::HeatCurrent {
            return Err(Error::input("a trajectory does not tell the forces between its atoms")
                .hint("they come from the run beside it, or from an input: --input FILE")
                .in_file(&options.trajectory));
        }
        let joined = known.as_ref().filter(|_| takes_molecules);
        let molecules = joined.map(|system| Molecules::new(&system.topology, &system.species, &system.state));
        let of_whole = known.filter(|_| kind.observable.is_of_whole());
        let sums = of_whole.map(|system| context.frame_sums(options, kind, &settings, system)).transpose()?;
        let polarity = sums.as_ref().map_or(Polarity::Unknown, FrameSums::polarity);
        let (names, species) = (reader.names().to_vec(), reader.species().to_vec());
        let system_info =
            SystemInfo { units: reader.units(), names, species, simbox: first.simbox, polarity, unmoved: 0 };
        let measure = kind.measure(&system_info.part(chosen.as_deref()), &settings)?;
        let of_velocities = [Observable::Velocities, Observable::Current, Observable::HeatCurrent];
        let needs_velocities = of_velocities.contains(&kind.observable);
        Ok(FrameMeasure { measure, chosen, molecules, sums, needs_velocities })
    }

    /// Takes a frame, and its edges and the positions of its atoms on unbroken paths.
    ///
    /// # Errors
    /// If the frame lacks what is measured.
    fn add(&mut self, frame: &Snapshot, (lattice, unwrapped): (&SimBox, &[Vec3])) -> Result<()> {
        let paths = |all: &Molecules| all.paths(&frame.simbox, |id| frame.positions[id as usize]);
        let arms = self.molecules.as_ref().map(paths);
        let molecules = self.molecules.as_ref().zip(arms.as_deref());
        let view = View {
            time: frame.time,
            simbox: &frame.simbox,
            lattice,
            positions: &frame.positions,
            unwrapped,
            images: frame.images.as_deref(),
            molecules: molecules.map(|(all, arms)| MoleculeView { of_atoms: all.of_atoms(), arms }),
            velocities: frame.velocities.as_deref(),
            whole: self.sums.as_mut().map(|sums| sums.whole(frame)).transpose()?,
        };
        let part = self.chosen.as_deref().map(|atoms| FrameSubset::of(&view, atoms));
        let added = self.measure.add(&part.as_ref().map_or(view, |part| part.view(&view)));
        added.map_err(|e| match self.needs_velocities && frame.velocities.is_none() {
            true => e.hint(format!(
                "{} files have them, if they were written",
                TrajectoryFormat::titles("and", TrajectoryFormat::has_velocities)
            )),
            false => e,
        })
    }
}

/// The ids of the atoms that words choose in the first frame. What the atoms are called says what is
/// known of the system, else the trajectory itself.
fn choose(
    text: &str,
    known: Option<&System>,
    reader: &TrajectoryReader,
    first: &Snapshot,
) -> Result<Vec<u32>> {
    let selection = Selection::parse(text).map_err(|fault| fault.alone(text))?;
    let mut system = match known {
        Some(system) => system.clone(),
        None => {
            let told = reader.header(first, None);
            // A trajectory has neither masses nor charges.
            let species = |name: &String| Species { name: name.clone(), mass: f64::NAN, charge: 0.0 };
            let mut system = System::new(first.simbox, told.names.iter().map(species).collect());
            told.species.iter().for_each(|species| system.state.push(*species, [0.0; 3]));
            system.names = told.atoms;
            system
        }
    };
    system.simbox = first.simbox;
    system.state.position.copy_from_slice(&first.positions);
    selection.some_ids(&system, reader.units()).map_err(|fault| fault.alone(text))
}

/// A box of the same shape with a volume that a row has; the box itself where rows have none.
fn with_volume(simbox: &SimBox, volume: f64) -> Result<SimBox> {
    // Rows have all digits of it.
    if !volume.is_finite() || volume == simbox.volume() {
        return Ok(*simbox);
    }
    let scale = (volume / simbox.volume()).cbrt();
    let [lengths, tilts] = [simbox.lengths(), simbox.tilts()].map(|all| all.map(|x| x * scale));
    SimBox::new(simbox.origin(), lengths, tilts, simbox.periodic())
}

/// Refuses frames of a replica, which are not moments of one path.
fn refuse_exchanged(trajectory: &Path, kind: &Kind) -> Result<()> {
    let folder = if trajectory.is_dir() { Some(trajectory) } else { trajectory.parent() };
    if folder.is_some_and(|folder| folder.join("..").join(RECORD).is_file()) {
        let message =
            format!("{} follows atoms from frame to frame, and replicas have exchanged theirs", kind.name);
        return Err(Error::file(trajectory, message).hint("analyze runs without exchange"));
    }
    Ok(())
}

/// Refuses options of the frames of a trajectory, for kinds of analysis that read none.
fn refuse_frame_options(options: &AnalyzeOptions) -> Result<()> {
    let reading = &options.reading;
    let given = [("--timestep", reading.timestep.is_some()), ("--names", reading.names.is_some())];
    let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    let message = format!("{option} means nothing for {}, which reads no trajectory", options.kind);
    Err(Error::input(message).hint("leave it out"))
}

fn of_all(kind: &Kind) -> Error {
    Error::input(format!("{} is one of the system as a whole", kind.name)).hint("leave out --atoms")
}

/// Analyzes the rows of `thermo.csv` of one stage.
fn rows(options: &AnalyzeOptions, kind: &Kind, tell: &mut dyn FnMut(&str)) -> Result<Record> {
    let folder = &options.trajectory;
    if !folder.is_dir() {
        return Err(Error::file(folder, format!("{} comes from the rows of thermo.csv", kind.name))
            .hint("give the folder of the run"));
    }
    let run = RunFiles::read(folder)?;
    let checkpoint = Checkpoint::of_run(folder)?;
    let checkpoint_input = checkpoint.input()?;
    let (units, mut system) = (checkpoint.units()?, checkpoint.into_system()?);
    if let Some(input) = &checkpoint_input {
        // A checkpoint does not have the velocities that atoms keep.
        system.driven = input.driven(&system).map_err(|e| e.in_file(folder))?;
    }
    let thermo = run.thermo.as_ref().ok_or_else(|| Error::file(folder, "there is no thermo.csv"))?;
    let stage = match &options.stage {
        None => thermo.stages.last(),
        Some(name) => thermo.stages.iter().find(|s| s.name == *name),
    };
    let report = stage.and_then(|s| run.stages.iter().find(|r| r.name == s.name));
    let (Some(stage), Some(report)) = (stage, report) else {
        let names: Vec<&str> = thermo.stages.iter().map(|s| s.name.as_str()).collect();
        return Err(Error::file(folder, "there is no such stage")
            .hint(format!("with rows there are: {}", names.join(", "))));
    };
    if let Some(input) = checkpoint_input {
        refuse_means(&input, folder, &stage.name, kind.name)?;
        let of_input = input.stages.iter().find(|other| other.value.name == stage.name);
        if let Some(of_input) = of_input {
            fluctuations::check(kind, &of_input.value, &input, &system).map_err(|e| e.in_file(folder))?;
        }
    }
    let settings = MeasureSettings::parse(&options.settings, kind.settings, units)?;
    let names = system.species.iter().map(|s| s.name.clone()).collect();
    let species: Vec<u16> =
        system.state.index_by_id().into_iter().map(|index| system.state.species[index]).collect();
    let unmoved = system.state.len() - system.n_free();
    let system_info =
        SystemInfo { units, names, species, simbox: system.simbox, polarity: Polarity::Unknown, unmoved };
    let here = |e: Error| e.in_file(folder);
    let mut measure = kind.measure(&system_info, &settings).map_err(here)?;
    let mut frames = 0u64;
    for (k, time) in stage.time.iter().enumerate().filter(|(k, _)| options.reading.takes(*k as u64)) {
        let value = |name: &str| -> Result<f64> {
            let found = thermo.quantity(name).map(|quantity| stage.values[quantity][k]);
            found.ok_or_else(|| Error::file(folder, format!("thermo.csv has no column {name}")))
        };
        let mut pressure = [0.0; 6];
        for (p, name) in pressure.iter_mut().zip(["pxx", "pyy", "pzz", "pxy", "pxz", "pyz"]) {
            *p = value(name)? / units.pressure_to_user(1.0);
        }
        let whole = Whole {
            kinetic: value("kinetic")?,
            total: value("total")?,
            degrees_of_freedom: report.degrees_of_freedom,
            pressure: pressure.iter().all(|p| p.is_finite()).then_some(pressure),
            dipole: None,
            current: None,
            heat_current: None,
        };
        let simbox = with_volume(&system.simbox, value("volume")?)?;
        measure.add(&View::of_whole(*time, &simbox, whole)).map_err(here)?;
        frames += 1;
    }
    let results = measure.results().map_err(here)?;
    tell(&format!("{} rows of stage '{}', units = {units}", grouped(frames), stage.name));
    Ok(Record { kind: kind.name.into(), units: units.name().into(), frames, results })
}

/// Settings of each kind, for `jostle help analyze`.
pub fn help() -> String {
    let mut text = "Examples:\n  \
        jostle analyze rdf argon cutoff=12 > rdf.csv   the last trajectory of the run\n  \
        jostle analyze msd argon/sample.xtc from=5ps to=20ps --output analysis\n  \
        jostle analyze msd water/sample.xtc --atoms \"element O\"\n  \
        jostle analyze dielectric water/sample.xtc    charges are those of the run beside it\n  \
        jostle analyze dielectric md.xtc temperature=300 --input water.toml\n  \
        jostle analyze viscosity argon            from the rows of thermo.csv\n  \
        jostle analyze variable run               [[variable]] of its input, along its last trajectory\n  \
        jostle analyze pmf window-*               umbrella windows, by MBAR; method=wham for histograms\n  \
        jostle analyze pmf run/meta.hills         the sum of hills; run/b.grad: the integral of mean forces\n  \
        jostle analyze pmf forth-* back-*         the free energy between the ends of steered runs\n  \
        jostle analyze free-energy u_nk.csv       MBAR and BAR; of dHdl.csv thermodynamic integration\n  \
        jostle analyze free-energy w0 w1 w2       the same of runs with [alchemy], a folder for each window\n\n\
        The first table goes to stdout as CSV, single numbers with their errors to stderr; without a table the \
        numbers go to stdout. --json prints all of it, --output writes it to files.\n\
        Errors come from blocks of frames, by the jackknife.\n\
        A number from frames too far apart, too few or in too small a box comes with a warning, or not at all: \
        stderr and \"warnings\" in JSON say why.\n\n\
        What can be set:\n  \
        pmf\n    \
        method=mbar|wham for windows [default: mbar]\n    \
        bins= number of bins [default: 50]\n    \
        temperature= [default: that of the thermostat]\n"
        .to_string();
    for kind in kinds::ALL.iter().filter(|kind| !kind.settings.is_empty()) {
        let _ = writeln!(text, "  {}", kind.name);
        for setting in kind.settings {
            let default = setting.default.map_or(String::new(), |d| format!(" [default: {d}]"));
            let what = match setting.dimension {
                Dimension::NUMBER => String::new(),
                other => format!(" ({})", describe(other)),
            };
            let _ = writeln!(text, "    {}={what} {}{default}", setting.name, setting.about);
        }
    }
    text
}
