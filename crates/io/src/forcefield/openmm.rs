//! OpenMM's serialised System (XML): every parameter of every term, in nm, kJ/mol and radians.

mod bonded;
mod contents;
mod file;
mod pairs;
mod torsion_energy;
mod virtual_sites;

use super::assembly::Assembly;
use super::{BoundAtoms, Boundary, Molecules, TypeNames, elements};
use file::{ForceFieldFile, items};
use jostle_core::{Error, Result, SimBox, UnitSystem, Vec3, Vector};
use pairs::{NO_CUTOFF, Pairs};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::HashMap;
use std::path::Path;

/// Reads the text of a file.
///
/// # Errors
/// If it is no such file, or has forces that Jostle has not; the error has the line.
pub(super) fn read(path: &Path, text: &str, units: UnitSystem) -> Result<Molecules> {
    let options = ParsingOptions { nodes_limit: u32::MAX, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|e| {
        Error::file_line(path, e.pos().row as usize, format!("this is not XML: {e}"))
            .hint("a System that OpenMM wrote by XmlSerializer.serialize is wanted")
    })?;
    let file = ForceFieldFile { path, document: &document };
    let root = document.root_element();
    if root.tag_name().name() != "System" {
        let message = format!("the file has a {}, not a System", root.tag_name().name());
        return Err(file.error(root, message).hint("write it by XmlSerializer.serialize(system)"));
    }
    let assembly = Assembly::new(UnitSystem::Nano, units)?;
    let mut reader = OpenmmReader { file, assembly, pairs: Pairs::default(), bound: Vec::new() };
    reader.system(root)?;
    reader.finish(root)
}

struct OpenmmReader<'a, 'i> {
    file: ForceFieldFile<'a, 'i>,
    assembly: Assembly,
    pairs: Pairs,
    /// Atoms of bonded terms without periodic images.
    bound: Vec<BoundAtoms>,
}

impl OpenmmReader<'_, '_> {
    fn system(&mut self, root: Node) -> Result<()> {
        let particles: Vec<Node> = items(root, "Particles").collect();
        let forces: Vec<Node> = items(root, "Forces").collect();
        let kind = |force: &Node| force.attribute("type").unwrap_or_default().to_string();
        self.file.check_system(root)?;
        forces.iter().try_for_each(|force| self.file.check_force(*force, &kind(force)))?;
        // Forces that tell the Lennard-Jones types of atoms come first.
        for force in &forces {
            match kind(force).as_str() {
                "NonbondedForce" => self.nonbonded(*force)?,
                "CustomNonbondedForce" => self.custom_nonbonded(*force)?,
                _ => {}
            }
        }
        let mut types: HashMap<[u64; 2], usize> = HashMap::new();
        for (k, particle) in particles.iter().enumerate() {
            let mass = self.file.number(*particle, "mass")?;
            let Vector([charge, sigma, epsilon]) = self.pairs.particles.get(k).copied().unwrap_or_default();
            let of_type = match &self.pairs.table {
                Some(table) => table.types.get(k).copied().unwrap_or(0),
                None => {
                    // Without a well the size means nothing.
                    let well = [epsilon, if epsilon == 0.0 { 0.0 } else { sigma }];
                    *types.entry(well.map(f64::to_bits)).or_insert_with(|| {
                        self.pairs.wells.push(well);
                        self.pairs.wells.len() - 1
                    })
                }
            };
            let name = elements::by_mass(mass).unwrap_or(if mass == 0.0 { "M" } else { "X" });
            self.assembly
                .atom(&format!("{name}{}", of_type + 1), of_type, mass, charge)
                .map_err(|e| self.at(*particle, e))?;
        }
        for (k, particle) in particles.iter().enumerate() {
            for site in particle.children().filter(Node::is_element) {
                self.virtual_site(k as u32, site)?;
            }
        }
        for constraint in items(root, "Constraints") {
            let atoms = self.file.atoms(constraint, ["p1", "p2"])?;
            let length = self.file.number(constraint, "d")?;
            self.assembly.constraint(length, atoms).map_err(|e| self.at(constraint, e))?;
        }
        forces.iter().try_for_each(|force| self.force(*force, &kind(force)))
    }

    /// An error at a line of the file.
    fn at(&self, node: Node, error: Error) -> Error {
        error.at_line(self.file.path, self.file.line(node))
    }

    fn force(&mut self, force: Node, kind: &str) -> Result<()> {
        match kind {
            "NonbondedForce" | "CustomNonbondedForce" => self.exceptions(force),
            "HarmonicBondForce" => self.bonds(force),
            "HarmonicAngleForce" => self.angles(force),
            "PeriodicTorsionForce" => self.torsions(force),
            "RBTorsionForce" => self.polynomial_torsions(force),
            "CustomTorsionForce" => self.custom_torsions(force),
            "CMAPTorsionForce" => self.maps(force),
            "CustomBondForce" => self.custom_bonds(force),
            // Momentum is conserved where nothing else is asked for.
            "CMMotionRemover" => Ok(()),
            "AndersenThermostat" | "MonteCarloBarostat" | "MonteCarloAnisotropicBarostat"
            | "MonteCarloMembraneBarostat" => Err(self
                .file
                .error(force, format!("the System has a {kind}, which is no force"))
                .hint("leave it out of the System; [[stage]] says what the ensemble is")),
            _ => Err(self
                .file
                .error(force, format!("Jostle has no {kind}"))
                .hint("harmonic bonds and angles, periodic, Ryckaert-Bellemans and harmonic torsions, CMAP, NonbondedForce and the custom forces of CHARMM's force field are read")),
        }
    }

    /// The energy of a custom force without spaces and a last semicolon.
    fn energy(&self, force: Node) -> Result<String> {
        let energy: String = self.file.get(force, "energy")?;
        let packed: String = energy.chars().filter(|c| !c.is_whitespace()).collect();
        Ok(packed.trim_end_matches(';').to_string())
    }

    fn unknown_energy(&self, force: Node) -> Error {
        let kind = force.attribute("type").unwrap_or_default();
        let energy = force.attribute("energy").unwrap_or_default();
        self.file
            .error(force, format!("Jostle does not know this {kind}: {energy}"))
            .hint("custom forces are read where they are those of CHARMM's force field: harmonic impropers, Lennard-Jones by pairs of types")
    }

    /// The attributes that hold the named parameters of a custom force.
    fn parameters<const N: usize>(
        &self,
        force: Node,
        list: &'static str,
        wanted: [&str; N],
    ) -> Result<[String; N]> {
        let names: Vec<&str> = items(force, list).filter_map(|p| p.attribute("name")).collect();
        let mut found = wanted.map(str::to_string);
        for (attribute, name) in found.iter_mut().zip(wanted) {
            let place = names.iter().position(|n| *n == name);
            let place =
                place.ok_or_else(|| self.file.error(force, format!("there is no parameter {name}")))?;
            *attribute = format!("param{}", place + 1);
        }
        Ok(found)
    }

    fn finish(self, root: Node) -> Result<Molecules> {
        let OpenmmReader { file, assembly, pairs, bound } = self;
        let (n, given) = (assembly.n_atoms(), pairs.particles.len());
        if n > 0 && given == 0 {
            let message = format!("the System has {n} particles, and no NonbondedForce with them");
            return Err(file.error(root, message).hint(
                "charges and Lennard-Jones forces are those of one: add it, with addParticle(0, 1, 0) for each particle \
                 without them",
            ));
        }
        if n == 0 || n != given {
            let message = format!("the System has {n} particles, and a NonbondedForce for {given}");
            return Err(file.error(root, message));
        }
        let mut molecules = match pairs.table {
            Some(table) => {
                if pairs.particles.iter().any(|p| p[2] != 0.0) {
                    return Err(
                        file.error(root, "both a NonbondedForce and a table have Lennard-Jones forces")
                    );
                }
                if table.excluded != pairs.excluded {
                    return Err(
                        file.error(root, "charges and Lennard-Jones forces leave out different pairs")
                    );
                }
                assembly.finish(|a, b| super::well(table.a[a * table.size + b], table.b[a * table.size + b]))
            }
            None => assembly.finish(|a, b| super::lorentz_berthelot(pairs.wells[a], pairs.wells[b])),
        }
        .map_err(|e| e.in_file(file.path))?;
        molecules.type_names = TypeNames::Invented;
        molecules.separation = pairs.separation;
        let unit = super::assembly::factor(UnitSystem::Nano, molecules.units, jostle_core::Dimension::LENGTH);
        let in_units = |b: BoundAtoms| BoundAtoms { length: b.length.map(|length| unit * length), ..b };
        molecules.bound = bound.into_iter().map(in_units).collect();
        molecules.boundary = match pairs.method {
            Some(NO_CUTOFF) => Boundary::Open,
            _ => simbox(file, root, molecules.units)?.map_or(Boundary::Unsaid, Boundary::Box),
        };
        Ok(molecules)
    }
}

/// The box of the file.
fn simbox(file: ForceFieldFile, root: Node, units: UnitSystem) -> Result<Option<SimBox>> {
    let length = super::assembly::factor(UnitSystem::Nano, units, jostle_core::Dimension::LENGTH);
    let mut edges: [Vec3; 3] = [Vec3::ZERO; 3];
    for (edge, name) in edges.iter_mut().zip(["A", "B", "C"]) {
        let Some(node) = items(root, "PeriodicBoxVectors").find(|n| n.has_tag_name(name)) else {
            return Ok(None);
        };
        for (x, axis) in edge.iter_mut().zip(["x", "y", "z"]) {
            *x = length * file.number(node, axis)?;
        }
    }
    super::edges_to_box(edges).map(Some).map_err(|e| e.in_file(file.path))
}
