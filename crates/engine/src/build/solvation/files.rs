//! Files of a box of water: topology and coordinates for GROMACS, OpenMM and Jostle, and an input that minimises,
//! heats, lets go and samples.

use super::super::system_files::{SystemFiles, quoted};
use super::{Slab, Solvated};
use jostle_core::Result;
use jostle_io::forcefield::solvent::Reach;
use jostle_io::gro;
use jostle_io::input::NamedChoice;
use jostle_io::input::model::Rigid;
use jostle_io::select::keywords::is_water;

/// Mass of the heaviest hydrogen, in g/mol.
const HEAVIEST_HYDROGEN: f64 = 3.5;

/// Part of the sum of all charges' sizes that a run takes for the rounding of files.
const ROUNDING: f64 = 1e-6;

/// Settings of the input.
#[derive(Debug, Clone, Copy)]
pub struct RunSettings<'a> {
    /// Title of all files, in one line.
    pub title: &'a str,
    /// Name of the files without their endings.
    pub name: &'a str,
    /// Temperature in kelvin.
    pub temperature: f64,
    /// Bonds that are rigid.
    pub rigid: Rigid,
    /// Mass of hydrogens in g/mol, where it is not that of the files.
    pub hydrogen_mass: Option<f64>,
    /// Seed.
    pub seed: u64,
}

impl Solvated {
    /// Texts of all files.
    ///
    /// # Errors
    /// If GROMACS has no such force, or a name does not fit its columns.
    pub fn files(&self, settings: RunSettings) -> Result<SystemFiles> {
        Ok(SystemFiles {
            topology: self.molecules.to_gromacs(settings.title)?,
            coordinates: gro::structure(
                settings.title,
                &self.molecules.names,
                &self.positions,
                &self.simbox,
            )?,
            input: self.input(settings),
        })
    }

    /// Returns true where a run needs a background that neutralises the charges.
    pub fn needs_background(&self) -> bool {
        self.charge().abs() > ROUNDING * self.molecules.charges.iter().map(|q| q.abs()).sum::<f64>()
    }

    fn input(&self, settings: RunSettings) -> String {
        let RunSettings { title, name, temperature, rigid, hydrogen_mass, seed } = settings;
        let (title, name, rigid) = (quoted(title), quoted(name), rigid.name());
        let (background, held) = (self.background(), self.restraint());
        let heavy = hydrogen_mass.map_or(String::new(), |mass| format!("hydrogen_mass = {mass:?}\n"));
        // The correction for what is beyond the cut-off is one of uniform fluids, and a slab has no pressure to keep.
        let reach = match (self.reach, self.slab) {
            (Reach::Corrected, Slab::None) => "cutoff = 0.9\ntail_correction = true\n",
            (Reach::Corrected, Slab::InVacuum) => "cutoff = 0.9\n",
            (Reach::Switched, _) => {
                "cutoff = 1.2\ntruncation = \"charmm-switched\"\nswitch_from = 0.8333333333\n"
            }
        };
        let barostat = match self.slab {
            Slab::None => {
                "barostat = { kind = \"cell-rescaling\", pressure = \"1 bar\", compressibility = \"4.5e-5 1/bar\" }\n"
            }
            Slab::InVacuum => "",
        };
        let [release, free] = match held.is_empty() {
            true => ["", ""],
            false => ["restraints = { solute = [1000, 1] }    # let go slowly\n", "restraints = []\n"],
        };
        format!(
            r#"title = "{title}"
units = "nano"                      # nm, ps, kJ/mol, g/mol, kelvin, elementary charges

[system]
topology = "{name}.top"
coordinates = "{name}.gro"
periodic = true
rigid = "{rigid}"
{heavy}temperature = 10
seed = {seed}

[[force]]
kind = "lennard-jones"              # parameters are those of the topology
{reach}
[electrostatics]
kind = "pme"
{background}{held}
[[stage]]
name = "minimise"
minimize = {{ steps = 2_000, force_tolerance = 500 }}

[[stage]]
name = "heat"
steps = 10_000
timestep = 0.001
thermostat = {{ kind = "langevin", temperature = [10, {temperature:?}], friction = 5 }}

[[stage]]
name = "equilibrate"
steps = 50_000
timestep = 0.002
thermostat = {{ kind = "bussi", temperature = {temperature:?}, period = 0.5 }}
{barostat}{release}
[[stage]]
name = "sample"
steps = 500_000
timestep = 0.002
thermostat = {{ kind = "bussi", temperature = {temperature:?}, period = 0.5 }}
{barostat}{free}trajectory = {{ every = 1000, format = "xtc" }}
"#
        )
    }

    fn background(&self) -> &'static str {
        match self.needs_background() {
            true => "net_charge = \"background\"           # the system is charged\n",
            false => "",
        }
    }

    /// Springs that hold the heavy atoms of the solute, if it has any but those of water.
    fn restraint(&self) -> String {
        let heavy = self.solute.clone().any(|atom| {
            let species = &self.molecules.species[usize::from(self.molecules.atoms[atom])];
            let names = &self.molecules.names;
            let residue = names.atoms.get(atom).and_then(|atom| names.residues.get(atom.residue as usize));
            self.molecules.units.mass_to_user(species.mass) > HEAVIEST_HYDROGEN
                && !residue.is_some_and(|residue| is_water(&residue.name))
        });
        if !heavy {
            return String::new();
        }
        format!(
            r#"
[[restraint]]
name = "solute"
kind = "position"
atoms = "index 0 to {} and mass > {HEAVIEST_HYDROGEN} and not water"
stiffness = 1000
scaling = "center"                  # reference positions follow the box by their centre of mass
"#,
            self.solute.end - 1
        )
    }
}
