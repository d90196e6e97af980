//! `jostle analyze variable`: the variables of an input along a trajectory.

use crate::arguments::AnalyzeOptions;
use crate::input_frames::{self, InputFrames};
use crate::numbers::grouped;
use crate::output;
use crate::reading::Tell;
use jostle_analysis::averages::BlockAverage;
use jostle_analysis::{Paths, Record, ResultWarning, Results, Table, Verdict};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, System, Vec3};
use jostle_engine::biasing::variables_from_input;
use jostle_engine::system_from_input;
use jostle_io::{Input, Open, TrajectoryReader};
use jostle_sampling::Variables;
use jostle_sampling::group::Surroundings;
use std::fmt::Write as _;
use std::path::Path;

/// Name of the file with PLUMED's layout.
const COLVAR: &str = "COLVAR";

/// Values of the variables of an input in each frame, as a table, with their means. References of deviations and of
/// contacts are where the run began or, where that is not known, the positions of the first frame.
///
/// # Errors
/// If there is no input with variables, or a variable is not defined in a frame.
pub fn along_trajectory(options: &AnalyzeOptions, tell: Tell) -> Result<Record> {
    let has = |input: &Input| !input.variables.is_empty();
    let InputFrames { trajectory, input, mut frames, mut system } =
        input_frames::open(options, "variable", has, &mut *tell)?;
    let here = |e: Error| e.in_file(&trajectory);
    let start = beginning(&input, &trajectory, &system)?;
    let (mut variables, mut paths) = (None::<Variables>, Paths::default());
    if let Some(start) = &start {
        paths.advance(&start.simbox, &start.state.position, None);
    }
    // Paths from where the run began have the images that it chose there, as long as steps are short.
    let mut from_start = start.is_some();
    let (mut times, mut rows, mut loose) = (Vec::new(), Vec::new(), false);
    while let Some(mut frame) = frames.next_frame()? {
        frame.wrap_counted().map_err(here)?;
        let unwrapped: Vec<Vec3> =
            paths.advance(&frame.simbox, &frame.positions, frame.images.as_deref()).1.to_vec();
        from_start &= frame.images.is_none() && !paths.are_doubtful();
        system.simbox = frame.simbox;
        system.state.position.copy_from_slice(&frame.positions);
        system.state.image.fill([0; 3]);
        let surroundings = Surroundings::with_paths(&system, unwrapped.clone());
        let is_first = variables.is_none();
        let variables = match &mut variables {
            Some(variables) => variables,
            none => {
                let begun = start.as_ref().map(Surroundings::new);
                let (first, there) =
                    (start.as_ref().unwrap_or(&system), begun.as_ref().unwrap_or(&surroundings));
                none.insert(variables_from_input(&input, first, there)?)
            }
        };
        let counts_crossings = frame.images.is_some();
        if !from_start && (is_first || !counts_crossings) {
            variables.find_images(&surroundings);
        }
        loose |= !from_start && !counts_crossings && variables.have_loose_groups(&surroundings);
        let positions: Vec<Vec3> = variables.atoms().iter().map(|id| unwrapped[*id as usize]).collect();
        let time = frame.time.unwrap_or(times.len() as f64);
        let moment = |e: Error| here(e.context(format!("time {time}")));
        rows.push(variables.values_without_energies(&frame.simbox, &positions).map_err(moment)?);
        times.push(time);
    }
    frames.end();
    let Some(variables) = variables else {
        return Err(Error::file(&trajectory, "there is no frame to analyze").hint("see --first and --last"));
    };
    tell(&format!("{} frames, units = {}", grouped(times.len() as u64), input.units));
    let of_energies = (0..variables.len()).filter(|k| variables.follows_from_energies(*k));
    let left_out: Vec<&str> = of_energies.map(|k| variables.name(k)).collect();
    if left_out.len() == variables.len() {
        let message =
            "all variables are energies, which are known during a run alone, not along a trajectory";
        return Err(Error::file(&trajectory, message).hint("they are columns of thermo.csv"));
    }
    if !left_out.is_empty() {
        tell(&format!("left out, as energies are known during a run alone: {}", left_out.join(", ")));
    }
    if let Some(folder) = &options.output {
        std::fs::create_dir_all(folder).map_err(|e| Error::io("create", folder, &e))?;
        output::write_file(&folder.join(COLVAR), colvar(&variables, &times, &rows).as_bytes())?;
    }
    let frames = times.len() as u64;
    let mut results = results(&input, &variables, times, &rows);
    results.warnings.extend(loose.then(loose_groups));
    Ok(Record { kind: options.kind.clone(), units: input.units.name().into(), frames, results })
}

/// The system where its run began: as `start.xyz` beside the trajectory has it, or as its input builds it. `None` where
/// neither is there, or is one of other atoms.
fn beginning(input: &Input, trajectory: &Path, system: &System) -> Result<Option<System>> {
    let file = trajectory.with_file_name("start.xyz");
    if file != *trajectory && file.is_file() {
        let open = Open { units: Some(input.units), ..Open::default() };
        let Some(frame) = TrajectoryReader::open(&file, &open)?.next_frame()? else { return Ok(None) };
        let mut begun = system.clone();
        begun.simbox = frame.simbox;
        begun.state.image.fill([0; 3]);
        begun.state.position = frame.positions;
        return Ok((begun.state.position.len() == system.state.len()).then_some(begun));
    }
    let Ok((mut built, _)) = system_from_input(input) else { return Ok(None) };
    built.state.sort_by_id();
    built.state.image.fill([0; 3]);
    Ok((built.state.len() == system.state.len()).then_some(built))
}

/// Warning about groups whose images are not certain.
fn loose_groups() -> ResultWarning {
    ResultWarning {
        verdict: Verdict::Doubtful,
        about: "variable".into(),
        reason: "atoms of a group that nothing binds are nearly half the box apart or more, and the trajectory does not \
                 count the crossings of borders: which images belong together is not certain"
            .into(),
        remedy: "the columns of thermo.csv, frames so near each other and to the start of the run that no atom moves by a \
                 quarter of the box, or a trajectory with the numbers of crossings, which those of runs have not \
                 (ix iy iz in LAMMPS dumps, images in GSD and H5MD)"
            .into(),
    }
}

fn results(input: &Input, variables: &Variables, times: Vec<f64>, rows: &[Vec<f64>]) -> Results {
    let mut table = Table::new("variable", "time", unit_name(input.units, Dimension::TIME), times);
    let mut results = Results::default();
    for k in known(variables) {
        let (name, unit) = (variables.name(k), variables.unit(k, input.units));
        let values: Vec<f64> = rows.iter().map(|row| row[k]).collect();
        // The mean of an angle on a circle means nothing.
        if variables.period(k).is_none() {
            let mut average = BlockAverage::default();
            values.iter().for_each(|x| average.add(*x));
            if let Some(estimate) = average.estimate() {
                results.value(name, &unit, (estimate.mean, Some(estimate.error)));
            }
        }
        table.plain(name, &unit, values);
    }
    results.tables.push(table);
    results
}

/// Numbers of the variables that are known along a trajectory.
fn known(variables: &Variables) -> impl Iterator<Item = usize> {
    (0..variables.len()).filter(|k| !variables.follows_from_energies(*k))
}

/// Values in PLUMED's layout.
fn colvar(variables: &Variables, times: &[f64], rows: &[Vec<f64>]) -> String {
    let names: Vec<&str> = known(variables).map(|k| variables.name(k)).collect();
    let mut text = format!("#! FIELDS time {}\n", names.join(" "));
    for name in known(variables).filter(|k| variables.period(*k).is_some()).map(|k| variables.name(k)) {
        let _ = writeln!(text, "#! SET min_{name} -pi\n#! SET max_{name} pi");
    }
    for (time, row) in times.iter().zip(rows) {
        let values: Vec<String> = known(variables).map(|k| row[k].to_string()).collect();
        let _ = writeln!(text, "{time} {}", values.join(" "));
    }
    text
}
