//! `jostle energy`

use crate::arguments::EnergyOptions;
use crate::input_file;
use crate::numbers::grouped;
use crate::output;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Result, System, Vec3};
use jostle_engine::thermo::quantities;
use jostle_engine::{single_point, system_from_input};
use serde_json::json;
use std::fmt::Write as _;

/// Prints the energies of the configuration that an input describes.
///
/// # Errors
/// If the input is wrong or the forces cannot be written.
pub fn energy(options: &EnergyOptions) -> Result<()> {
    let input = input_file::read(&options.file, &options.values)?;
    let overrides = options.compute.overrides();
    let mut settings = input.run.settings;
    settings.threads = overrides.threads.or(settings.threads);
    let device = overrides.device.unwrap_or(input.run.device);
    let (system, forces) = system_from_input(&input)?;
    if !input.biases.is_empty() {
        say!("the biases of the input are not part of these energies");
    }
    let (atoms, species) = (system.state.len(), species_by_id(&system));
    let quantities = quantities(input.units, &forces, []);
    let unit = |name: &str| quantities.iter().find(|q| q.name == name).map_or("", |q| q.unit.as_str());
    let point = single_point(input.units, system, forces, device, settings)?;
    if let Some(path) = &options.forces {
        let unit = unit_name(input.units, Dimension::FORCE);
        output::write_file(path, forces_csv(&unit, &species, &point.forces).as_bytes())?;
    }
    let thermo = &point.thermo;
    let terms = point.term_names.iter().zip(&thermo.terms);
    if options.format.json {
        let terms: Vec<_> = terms.map(|(name, energy)| json!({ "name": name, "energy": energy })).collect();
        return output::print_json(&json!({
            "atoms": atoms,
            "units": input.units.name(),
            "device": point.device,
            "terms": terms,
            "potential": thermo.potential,
            "kinetic": thermo.kinetic,
            "temperature": thermo.temperature,
            "virial": point.virial,
            "pressure": thermo.pressure,
            "pressure_tensor": thermo.pressure_tensor,
        }));
    }
    let mut text = String::new();
    let mut line = |name: &str, value: String, unit: &str| {
        let _ = writeln!(text, "{}", format!("{name:<15} {value} {unit}").trim_end());
    };
    line("atoms", grouped(atoms as u64), "");
    for (name, energy) in terms {
        line(name, format!("{energy:.10}"), unit(name));
    }
    line("potential", format!("{:.10}", thermo.potential), unit("potential"));
    line("kinetic", format!("{:.10}", thermo.kinetic), unit("kinetic"));
    line("virial", tensor(&point.virial), unit("potential"));
    if let (Some(pressure), Some(components)) = (thermo.pressure, &thermo.pressure_tensor) {
        line("pressure", format!("{pressure:.10}"), unit("pressure"));
        line("pressure tensor", tensor(components), unit("pressure"));
    }
    output::print(&text)
}

/// Components in the order xx, yy, zz, xy, xz, yz.
fn tensor(components: &[f64; 6]) -> String {
    components.map(|c| format!("{c:.8}")).join(" ")
}

/// The species' name of every atom, in the order of ids.
fn species_by_id(system: &System) -> Vec<String> {
    let name = |index: usize| system.species[usize::from(system.state.species[index])].name.clone();
    system.state.index_by_id().into_iter().map(name).collect()
}

/// Lines of atoms, one each, in the order of ids, which count from 1 in files.
fn forces_csv(unit: &str, species: &[String], forces: &[Vec3]) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let mut csv = format!("atom,species,fx{unit},fy{unit},fz{unit}\n");
    for (n, (species, [x, y, z])) in (1..).zip(species.iter().zip(forces)) {
        let _ = writeln!(csv, "{n},{species},{x:?},{y:?},{z:?}");
    }
    csv
}
