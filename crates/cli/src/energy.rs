//! `jostle energy`

use crate::arguments::EnergyOptions;
use crate::input_file;
use crate::numbers::grouped;
use crate::output;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Result, System, Vec3, Vector};
use jostle_engine::biasing::{BiasForce, check_energies};
use jostle_engine::thermo::quantities;
use jostle_engine::{CustomForce, Quantity, begin_on_constraints, single_point_with, system_from_input};
use serde_json::json;
use std::fmt::Write as _;

/// Prints the energies of the configuration that an input describes, with its biases as they act when the first
/// stage of time steps begins.
///
/// # Errors
/// If the input is wrong or the forces cannot be written.
pub fn energy(options: &EnergyOptions) -> Result<()> {
    let input = input_file::read(&options.file, &options.values)?;
    let overrides = options.compute.overrides();
    let mut settings = input.run.settings;
    settings.threads = overrides.threads.or(settings.threads);
    settings.force_matrix = overrides.force_matrix;
    let device = overrides.device.unwrap_or(input.run.device);
    let (mut system, forces) = system_from_input(&input)?;
    let warning = begin_on_constraints(&mut system, input.units)?;
    warning.iter().for_each(|warning| say!("warning: {}", warning.message));
    check_energies(&input, &forces)?;
    let biases = BiasForce::at_start(&input, &system)?;
    let biases = biases.into_iter().map(|force| Box::new(force) as Box<dyn CustomForce>).collect();
    let (atoms, species) = (system.state.len(), species_by_id(&system));
    let quantities = quantities(input.units, &forces, []);
    let energy_unit = unit_name(input.units, Dimension::ENERGY);
    // Energies of biases are no quantities of the forces.
    let unit =
        |name: &str| quantities.iter().find(|q| q.name == name).map_or(energy_unit.as_str(), |q| &q.unit);
    let on = (device, overrides.ranks);
    let point = single_point_with(input.units, system, forces, on, settings, biases)?;
    if let Some(path) = &options.forces {
        let unit = unit_name(input.units, Dimension::FORCE);
        output::write_file(path, forces_csv(&unit, &species, &point.forces).as_bytes())?;
    }
    let thermo = &point.thermo;
    let terms = point.term_names.iter().zip(&thermo.terms);
    if options.format.json {
        let terms: Vec<_> = terms.map(|(name, energy)| json!({ "name": name, "energy": energy })).collect();
        let column =
            |(q, value): &(Quantity, Option<f64>)| json!({ "name": q.name, "unit": q.unit, "value": value });
        let columns: Vec<_> = point.columns.iter().map(column).collect();
        return output::print_json(&json!({
            "atoms": atoms,
            "units": input.units.name(),
            "device": point.device,
            "terms": terms,
            "columns": columns,
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
    for (quantity, value) in &point.columns {
        let value = value.map_or("none".to_string(), |value| format!("{value:.10}"));
        line(&quantity.name, value, &quantity.unit);
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
    for (n, (species, Vector([x, y, z]))) in (1..).zip(species.iter().zip(forces)) {
        let _ = writeln!(csv, "{n},{species},{x:?},{y:?},{z:?}");
    }
    csv
}
