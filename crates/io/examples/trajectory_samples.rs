//! Writes trajectories of known numbers in every format, with the numbers in plain text beside
//! them, for `tests/external/check_trajectories.py` to open with other programs.

use jostle_core::{Names, SimBox, UnitSystem, Vec3, Vector};
use jostle_io::input::model::TrajectoryFormat;
use jostle_io::{Frame, TrajectoryHeader, TrajectoryWriter};
use serde_json::json;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("samples"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let mut samples = Vec::new();
    // (atoms, box edge, tilts, units): few atoms are stored uncompressed in XTC, molecules in
    // runs, sparse gases with large numbers.
    for (n, edge, tilts, units) in [
        (1, 5.0, [0.0; 3], UnitSystem::Metal),
        (9, 20.0, [0.0; 3], UnitSystem::Real),
        (10, 20.0, [3.0, -2.0, 4.0], UnitSystem::Real),
        (1000, 40.0, [0.0; 3], UnitSystem::Real),
        (999, 4.0, [1.0, 0.5, -0.7], UnitSystem::Nano),
        (257, 20_000.0, [0.0; 3], UnitSystem::Metal),
        (257, 40_000.0, [0.0; 3], UnitSystem::Real),
        (500, 8.7, [1.2, -0.9, 1.5], UnitSystem::Lj),
    ] {
        // The columns of PDB end at 9999 angstrom.
        let fits = |format: &&TrajectoryFormat| edge < 9000.0 || **format != TrajectoryFormat::Pdb;
        for format in TrajectoryFormat::ALL.iter().filter(fits) {
            samples.push(sample(&folder, n, edge, tilts, units, *format)?);
        }
    }
    std::fs::write(folder.join("samples.json"), serde_json::to_string(&samples)?)?;
    Ok(())
}

fn sample(
    folder: &Path,
    n: usize,
    edge: f64,
    tilts: [f64; 3],
    units: UnitSystem,
    format: TrajectoryFormat,
) -> jostle_core::Result<serde_json::Value> {
    let name = format!("{n}-{units}.{}", format.extension());
    let names = vec!["Ar".to_string(), "Kr".to_string()];
    let species = (0..n).map(|k| (k % 2) as u16).collect();
    let masses: Vec<f64> = (0..n).map(|k| [39.948, 83.798][k % 2]).collect();
    let charges: Vec<f64> = (0..n).map(|k| 0.5 - 0.25 * k as f64).collect();
    let (timestep, every) = (0.5, 20);
    let (atoms, bonds, periodic) = (Names::default(), Vec::new(), [true; 3]);
    let header = TrajectoryHeader {
        units,
        names,
        species,
        masses: masses.clone(),
        charges: charges.clone(),
        atoms,
        bonds,
        periodic,
        timestep,
        every,
        images: false,
    };
    let mut writer = TrajectoryWriter::create(&folder.join(&name), format, header)?;
    let mut frames = Vec::new();
    for k in 0..5u64 {
        let grow = 1.0 + 0.01 * k as f64;
        let lengths = [edge * grow, 1.1 * edge * grow, 0.9 * edge * grow];
        let simbox = SimBox::new([0.0; 3], lengths, tilts, [true; 3])?;
        let step = 40 + every * k;
        let time = timestep * step as f64;
        let positions: Vec<Vec3> = (0..n).map(|id| place(id, k, &simbox)).collect();
        let velocities: Vec<Vec3> = positions.iter().map(|r| r.map(|x| 0.5 * (x * 7.0).sin())).collect();
        let velocities = Some(&velocities[..]);
        writer.write(&Frame {
            step,
            time: Some(time),
            simbox: &simbox,
            positions: &positions,
            velocities,
            images: None,
        })?;
        frames.push(json!({ "step": step, "time": time, "edges": simbox.edges(),
                            "positions": positions, "velocities": velocities }));
    }
    Ok(
        json!({ "file": name, "format": format.name(), "units": units.name(), "masses": masses, "charges": charges,
               "frames": frames }),
    )
}

/// Groups of three atoms near each other, some of them outside the box.
fn place(id: usize, frame: u64, simbox: &SimBox) -> Vec3 {
    let random = |k: usize| {
        let x = ((k + 1) as f64 * 0.618_033_988_749_895 + frame as f64 * 0.137).fract();
        1.4 * x - 0.2
    };
    let molecule = id / 3;
    let centre = simbox.to_cartesian(Vector([random(molecule), random(7 * molecule), random(13 * molecule)]));
    let small = 0.01 * simbox.lengths()[0];
    Vector([
        centre[0] + small * random(id),
        centre[1] - small * random(2 * id),
        centre[2] + small * random(5 * id),
    ])
}
