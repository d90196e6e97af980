//! A part of a system on its own: residues that move, others around them that are frozen, and nothing else (the molten
//! and the fixed zone of NAMD's AutoIMD). Far fewer atoms answer at once to a hand that pulls.
//!
//! Disadvantage: beyond the shell is vacuum, and charges end at the cut-off.

use super::system_files::{SystemFiles, quoted};
use jostle_core::{Dimension, Error, Molecules as Division, Result, System, UnitSystem};
use jostle_io::forcefield::Molecules;
use jostle_io::input::NamedChoice;
use jostle_io::input::model::{Action, AtomsInput, Cutoff, ElectrostaticsKind, Input, MoleculesInput};
use jostle_io::{Selection, gro};
use jostle_potentials::Truncation;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Temperature where the input has none, in kelvin.
const TEMPERATURE: f64 = 300.0;

/// Time step where the input has none, in ps.
const TIMESTEP: f64 = 0.002;

/// Atoms of a part, by id in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    /// Atoms that move.
    pub molten: Vec<u32>,
    /// Atoms around them that stay where they are.
    pub shell: Vec<u32>,
}

impl Extraction {
    /// Whole residues (molecules, where atoms have none) of the chosen atoms, and those with an atom within a distance of
    /// these.
    ///
    /// # Errors
    /// If no atom is chosen.
    pub fn of(system: &System, chosen: &[u32], reach: f64, units: UnitSystem) -> Result<Self> {
        if chosen.is_empty() {
            return Err(Error::input("no atom would move"));
        }
        let whole = Whole::of(system);
        let molten = whole.complete(chosen);
        let near = format!("within {reach:?} of index {}", ranges(&molten));
        let near = Selection::parse(&near).and_then(|near| near.ids(system, units));
        let near = near.map_err(|fault| Error::input(fault.message).hint(fault.hint))?;
        let mut shell = whole.complete(&near);
        shell.retain(|id| molten.binary_search(id).is_err());
        Ok(Extraction { molten, shell })
    }

    /// All atoms of the part, in ascending order.
    pub fn atoms(&self) -> Vec<u32> {
        let mut atoms: Vec<u32> = self.molten.iter().chain(&self.shell).copied().collect();
        atoms.sort_unstable();
        atoms
    }

    /// Files of the part of the system of an input, which has its positions from anywhere: topology and coordinates for
    /// GROMACS, OpenMM and Jostle, and an input in which the shell is frozen. `name` is that of the files.
    ///
    /// # Errors
    /// If the input has no topology, or changes its atoms or pair forces; if GROMACS has no such force, or a name does not fit its
    /// columns.
    pub fn files(&self, input: &Input, system: &System, name: &str) -> Result<SystemFiles> {
        let files = topology_of(input)?;
        let atoms = self.atoms();
        let whole = Molecules::read(files, UnitSystem::Nano)?;
        let mut part = whole.subset(&atoms);
        if part.names.atoms.is_empty() {
            part.names = system.names.of_atoms(&atoms);
        }
        let nm = 1.0 / (1e-9 * input.units.from_si(Dimension::LENGTH).unwrap_or(1e9));
        let index_by_id = system.state.index_by_id();
        let positions: Vec<_> =
            atoms.iter().map(|id| nm * system.state.position[index_by_id.of(*id)]).collect();
        let title = format!("{} of {} atoms: {name}", atoms.len(), system.state.len());
        let [lengths, tilts] = [system.simbox.lengths(), system.simbox.tilts()].map(|x| x.map(|x| nm * x));
        let origin = nm * system.simbox.origin();
        let simbox = jostle_core::SimBox::new(origin, lengths, tilts, system.simbox.periodic())?;
        // Files have boxes that begin at zero.
        let placed: Vec<_> = positions.iter().map(|r| *r - origin).collect();
        Ok(SystemFiles {
            topology: part.to_gromacs(&title)?,
            coordinates: gro::structure(&title, &part.names, &placed, &simbox)?,
            input: self.input(input, (files, simbox.periodic()), nm, (&title, name)),
        })
    }

    fn input(
        &self,
        input: &Input,
        (files, periodic): (&MoleculesInput, [bool; 3]),
        nm: f64,
        (title, name): (&str, &str),
    ) -> String {
        let (title, name) = (quoted(title), quoted(name));
        let heavy = files.hydrogen_mass.map_or(String::new(), |mass| format!("hydrogen_mass = {mass:?}\n"));
        let forces = forces(input, nm);
        let periodic = match periodic {
            [x, y, z] if x == y && y == z => x.to_string(),
            axes => format!("{axes:?}"),
        };
        let temperature = temperature(input);
        let atoms = self.atoms();
        let renumbered: Vec<u32> = (0..)
            .zip(&atoms)
            .filter(|(_, id)| self.molten.binary_search(id).is_ok())
            .map(|(k, _)| k)
            .collect();
        let shell = match self.shell.is_empty() {
            true => String::new(),
            false => format!(
                "[[group]]\nname = \"shell\"\natoms = \"not index {}\"\nfrozen = true\n\n",
                ranges(&renumbered)
            ),
        };
        format!(
            r#"title = "{title}"
units = "nano"                      # nm, ps, kJ/mol, g/mol, kelvin, elementary charges

[system]
topology = "{name}.top"
coordinates = "{name}.gro"
periodic = {periodic}
rigid = "{rigid}"
{heavy}temperature = {temperature:?}
seed = {seed}

{forces}{shell}[[stage]]
name = "minimise"
minimize = {{ steps = 200, force_tolerance = 1000 }}

[[stage]]
name = "sample"
steps = 500_000
timestep = {timestep:?}
thermostat = {{ kind = "langevin", temperature = {temperature:?}, friction = 1 }}
trajectory = {{ every = 500, format = "xtc" }}
"#,
            rigid = files.rigid.name(),
            seed = input.system.seed,
            timestep = timestep(input),
        )
    }
}

/// Sections of an input that the input of a part does not have.
pub fn sections_left_out(input: &Input) -> Vec<&'static str> {
    let lists = [
        ("[[group]]", input.groups.len()),
        ("[[rigid]]", input.rigid.len()),
        ("[[field]]", input.fields.len()),
        ("[[wall]]", input.walls.len()),
        ("[[restraint]]", input.restraints.len()),
        ("[[interaction]]", input.interactions.len()),
        ("[[variable]]", input.variables.len()),
        ("[[bias]]", input.biases.len()),
        ("[alchemy]", usize::from(input.alchemy.is_some())),
    ];
    lists.into_iter().filter(|(_, number)| *number > 0).map(|(name, _)| name).collect()
}

/// Molecules of an input whose atoms and pair forces are those of its topology.
fn topology_of(input: &Input) -> Result<&MoleculesInput> {
    let refused =
        |message: &str, hint: &str| Err(input.source.error(&input.system.atoms.span, message).hint(hint));
    if !input.enhanced.is_empty() || input.system.replicate.value != [1; 3] {
        return refused("this input makes copies of its atoms", "leave out [[enhanced]] and replicate");
    }
    let AtomsInput::Molecules(files) = &input.system.atoms.value else {
        return refused(
            "this input has no topology",
            "an input with topology = \"...\" in [system] is wanted",
        );
    };
    if let Some(screening) =
        input.electrostatics.as_ref().and_then(|charges| charges.value.screening.as_ref())
    {
        return Err(input
            .source
            .error(&screening.span, "screened charges are summed over images, which a part has not")
            .hint("leave out the screening"));
    }
    match input.forces.iter().find_map(|force| force.value.pairs.first()) {
        Some(pair) => Err(input
            .source
            .error(&pair.span, "a part has the parameters of the topology alone")
            .hint("leave out pairs, or write them into the topology")),
        None => Ok(files),
    }
}

/// Sections of forces: the reach of the input, and charges without their images.
fn forces(input: &Input, nm: f64) -> String {
    let given = input.forces.first().map(|force| &force.value);
    let mut text = String::new();
    if let Some(force) = given {
        let _ = write!(
            text,
            "[[force]]\nkind = \"lennard-jones\"              # parameters are those of the topology\n"
        );
        if let Some(cutoff) = force.cutoff.and_then(Cutoff::length) {
            let _ = writeln!(text, "cutoff = {:?}", rounded(nm * cutoff));
        }
        let _ = writeln!(text, "truncation = \"{}\"", force.truncation.name());
        if let Truncation::Switched { from } | Truncation::CharmmSwitched { from } = force.truncation {
            let _ = writeln!(text, "switch_from = {from:?}");
        }
        text.push('\n');
    }
    if let Some(charges) = &input.electrostatics {
        text += match charges.value.kind {
            ElectrostaticsKind::Cutoff => "[electrostatics]\nkind = \"cutoff\"\n",
            ElectrostaticsKind::ReactionField { .. } => "[electrostatics]\nkind = \"reaction-field\"\n",
            ElectrostaticsKind::Pme { .. } | ElectrostaticsKind::Ewald { .. } => {
                "[electrostatics]\nkind = \"reaction-field\"             # the rest, and all images, are gone\n"
            }
        };
        if let ElectrostaticsKind::ReactionField { dielectric: Some(dielectric) } = charges.value.kind {
            let _ = writeln!(text, "dielectric = {dielectric:?}");
        }
        if let Some(cutoff) = charges.value.cutoff {
            let _ = writeln!(text, "cutoff = {:?}", rounded(nm * cutoff));
        }
        text.push('\n');
    }
    text
}

/// A number without the rounding of its units.
fn rounded(number: f64) -> f64 {
    (1e9 * number).round() / 1e9
}

fn temperature(input: &Input) -> f64 {
    let of_stages = input.stages.iter().rev().find_map(|stage| Some(stage.value.temperatures()?[1]));
    let drawn = || input.system.velocities.map(|velocities| velocities.temperature);
    of_stages.or_else(drawn).unwrap_or(TEMPERATURE)
}

/// Time step of the last stage that makes steps, in ps.
fn timestep(input: &Input) -> f64 {
    let steps = input.stages.iter().rev().find_map(|stage| match stage.value.action {
        Action::Dynamics { timestep, .. } => Some(timestep),
        _ => None,
    });
    let ps = input.units.from_si(Dimension::TIME).map(|unit| 1.0 / (1e-12 * unit));
    match (steps, ps) {
        (Some(step), Some(ps)) => rounded(ps * step),
        _ => TIMESTEP,
    }
}

/// Number of the residue of each atom, or of its molecule.
struct Whole(Vec<u32>);

impl Whole {
    fn of(system: &System) -> Self {
        if system.names.atoms.is_empty() {
            let molecules = Division::new(&system.topology, &system.species, &system.state);
            return Whole(molecules.of_atoms().to_vec());
        }
        Whole(system.names.atoms.iter().map(|atom| atom.residue).collect())
    }

    /// All atoms of the residues of these.
    fn complete(&self, atoms: &[u32]) -> Vec<u32> {
        let wanted: BTreeSet<u32> = atoms.iter().map(|id| self.0[*id as usize]).collect();
        (0..).zip(&self.0).filter(|(_, residue)| wanted.contains(residue)).map(|(id, _)| id).collect()
    }
}

/// Ascending numbers as selections have them: `0 to 20 25 30 to 31`.
fn ranges(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a + 1 == *b);
    let run = |run: &[u32]| match run {
        [one] => one.to_string(),
        run => format!("{} to {}", run[0], run[run.len() - 1]),
    };
    runs.map(run).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0 to 2 5 7 to 8");
        assert_eq!(ranges(&[3]), "3");
    }
}
