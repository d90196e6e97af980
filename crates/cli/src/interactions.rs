//! `jostle analyze interaction`: energies of interaction of groups along a trajectory.

use crate::arguments::AnalyzeOptions;
use crate::input_frames::{self, InputFrames};
use crate::numbers::grouped;
use crate::reading::Tell;
use jostle_analysis::averages::BlockAverage;
use jostle_analysis::{Record, Results, Table};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_engine::Quantity;
use jostle_engine::interaction::{Interaction, interactions_from_input};
use jostle_io::Input;

/// Energies by term and forces of each `[[interaction]]` of an input in each frame, as a table, with their means.
/// Groups by positions are those of the first frame.
///
/// # Errors
/// If there is no input with interactions, or an energy is not finite in a frame.
pub fn along_trajectory(options: &AnalyzeOptions, tell: Tell) -> Result<Record> {
    let has = |input: &Input| !input.interactions.is_empty();
    let InputFrames { trajectory, input, mut frames, mut system } =
        input_frames::open(options, "interaction", has, &mut *tell)?;
    let here = |e: Error| e.in_file(&trajectory);
    let mut interactions: Option<Vec<Interaction>> = None;
    let (mut times, mut rows) = (Vec::new(), Vec::new());
    while let Some(mut frame) = frames.next_frame()? {
        frame.wrap_counted().map_err(here)?;
        system.simbox = frame.simbox;
        system.state.position.copy_from_slice(&frame.positions);
        system.state.image.fill([0; 3]);
        let interactions = match &mut interactions {
            Some(interactions) => interactions,
            none => none.insert(interactions_from_input(&input, &system)?),
        };
        let time = frame.time.unwrap_or(times.len() as f64);
        let mut row = Vec::new();
        for interaction in interactions {
            let sums = interaction.evaluate(&system.simbox, &system.state);
            row.extend(sums.map_err(|e| here(e.context(format!("time {time}"))))?.values());
        }
        rows.push(row);
        times.push(time);
    }
    frames.end();
    let Some(interactions) = interactions else {
        return Err(Error::file(&trajectory, "there is no frame to analyze").hint("see --first and --last"));
    };
    tell(&format!("{} frames, units = {}", grouped(times.len() as u64), input.units));
    let frames = times.len() as u64;
    let columns = interactions.iter().flat_map(|interaction| interaction.columns(input.units)).collect();
    let results = results(input.units, columns, times, &rows);
    Ok(Record { kind: options.kind.clone(), units: input.units.name().into(), frames, results })
}

fn results(units: UnitSystem, columns: Vec<Quantity>, times: Vec<f64>, rows: &[Vec<f64>]) -> Results {
    let mut table = Table::new("interaction", "time", unit_name(units, Dimension::TIME), times);
    let mut results = Results::default();
    for (k, Quantity { name, unit, .. }) in columns.into_iter().enumerate() {
        let values: Vec<f64> = rows.iter().map(|row| row[k]).collect();
        let mut average = BlockAverage::default();
        values.iter().for_each(|x| average.add(*x));
        if let Some(estimate) = average.estimate() {
            results.value(&name, &unit, (estimate.mean, Some(estimate.error)));
        }
        table.plain(&name, &unit, values);
    }
    results.tables.push(table);
    results
}
