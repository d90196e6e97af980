//! OpenMM's serialised System (XML): every parameter of every term, in nm, kJ/mol and radians.

use super::assembly::Assembly;
use super::{Boundary, Molecules, elements};
use jostle_core::{Arms, Error, LocalFrame, Result, SimBox, SiteRule, UnitSystem, Vec3};
use jostle_potentials::{AngleKind, BondKind, BondedKind, DihedralKind};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::str::FromStr;

/// Value of `method` of a force between pairs without a cut-off.
const NO_CUTOFF: u32 = 0;

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
    let mut reader =
        OpenmmReader { file, assembly: Assembly::new(UnitSystem::Nano, units)?, pairs: Pairs::default() };
    reader.system(root)?;
    reader.finish(root)
}

/// The file, for places in errors.
#[derive(Clone, Copy)]
struct ForceFieldFile<'a, 'i> {
    path: &'a Path,
    document: &'a Document<'i>,
}

impl ForceFieldFile<'_, '_> {
    fn line(&self, node: Node) -> usize {
        self.document.text_pos_at(node.range().start).row as usize
    }

    fn error(&self, node: Node, message: impl Into<String>) -> Error {
        Error::file_line(self.path, self.line(node), message)
    }

    /// An attribute.
    fn get<T: FromStr>(&self, node: Node, name: &str) -> Result<T> {
        let tag = node.tag_name().name();
        let text =
            node.attribute(name).ok_or_else(|| self.error(node, format!("this {tag} has no \"{name}\"")))?;
        text.parse().map_err(|_| self.error(node, format!("\"{name}\" of this {tag} is \"{text}\"")))
    }

    fn atoms<const N: usize>(&self, node: Node, names: [&str; N]) -> Result<[u32; N]> {
        let mut atoms = [0; N];
        for (atom, name) in atoms.iter_mut().zip(names) {
            *atom = self.get(node, name)?;
        }
        Ok(atoms)
    }

    /// A number without a unit, or in the file's units.
    fn number(&self, node: Node, name: &str) -> Result<f64> {
        self.get(node, name)
    }

    fn degrees(&self, node: Node, name: &str) -> Result<f64> {
        Ok(self.number(node, name)?.to_degrees())
    }
}

/// The elements of a list: `<Bonds><Bond/><Bond/></Bonds>`.
fn items<'a, 'i>(node: Node<'a, 'i>, list: &'static str) -> impl Iterator<Item = Node<'a, 'i>> {
    let lists = node.children().filter(move |child| child.has_tag_name(list));
    lists.flat_map(|list| list.children()).filter(|child| child.is_element())
}

/// Forces between pairs in the file.
#[derive(Default)]
struct Pairs {
    /// Charge, sigma and epsilon of each atom.
    particles: Vec<[f64; 3]>,
    /// Epsilon and sigma by Lennard-Jones type, where there is no table.
    wells: Vec<[f64; 2]>,
    /// Pairs that the charges leave out.
    excluded: HashSet<[u32; 2]>,
    /// Lennard-Jones forces given by pairs of types.
    table: Option<LennardJonesTable>,
    method: Option<u32>,
}

/// u = a / r^12 - b / r^6 by pairs of types.
struct LennardJonesTable {
    types: Vec<usize>,
    size: usize,
    a: Vec<f64>,
    b: Vec<f64>,
    excluded: HashSet<[u32; 2]>,
}

struct OpenmmReader<'a, 'i> {
    file: ForceFieldFile<'a, 'i>,
    assembly: Assembly,
    pairs: Pairs,
}

impl OpenmmReader<'_, '_> {
    fn system(&mut self, root: Node) -> Result<()> {
        let particles: Vec<Node> = items(root, "Particles").collect();
        let forces: Vec<Node> = items(root, "Forces").collect();
        let kind = |force: &Node| force.attribute("type").unwrap_or_default().to_string();
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
            let [charge, sigma, epsilon] = self.pairs.particles.get(k).copied().unwrap_or_default();
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

    fn virtual_site(&mut self, site: u32, node: Node) -> Result<()> {
        let file = self.file;
        let (atoms, rule) = match node.tag_name().name() {
            "TwoParticleAverageSite" => {
                let [a, b] = file.atoms(node, ["p1", "p2"])?;
                let weights = [file.number(node, "w1")?, file.number(node, "w2")?, 0.0];
                ([a, b, b], SiteRule::Average(weights))
            }
            "ThreeParticleAverageSite" => {
                let weights = [file.number(node, "w1")?, file.number(node, "w2")?, file.number(node, "w3")?];
                (file.atoms(node, ["p1", "p2", "p3"])?, SiteRule::Average(weights))
            }
            "OutOfPlaneSite" => {
                let weights =
                    [file.number(node, "w12")?, file.number(node, "w13")?, file.number(node, "wc")?];
                (file.atoms(node, ["p1", "p2", "p3"])?, SiteRule::OutOfPlane(weights))
            }
            "LocalCoordinatesSite" => self.local_frame(node)?,
            other => return Err(file.error(node, format!("a particle has an unknown virtual site, {other}"))),
        };
        self.assembly.virtual_site(site, atoms, rule).map_err(|e| self.at(node, e))
    }

    /// The atoms and the axes of a site in local coordinates.
    fn local_frame(&self, node: Node) -> Result<([u32; 3], SiteRule)> {
        let file = self.file;
        let atoms = match (node.attribute("p3"), node.attribute("p4")) {
            (None, _) => file.atoms(node, ["p1", "p2"]).map(|[a, b]| [a, b, b])?,
            (Some(_), None) => file.atoms(node, ["p1", "p2", "p3"])?,
            (Some(_), Some(_)) => {
                let message = "a virtual site in local coordinates of more than three atoms";
                return Err(file.error(node, message).hint("two and three are read"));
            }
        };
        // Arms from the first atom to the others, as far as the weights, one for each atom, leave them.
        let three = node.has_attribute("p3");
        let weights = |name: &str, wanted: f64| {
            let of = |k: usize| file.number(node, &format!("{name}{k}"));
            let [a, b, c] = [of(1)?, of(2)?, if three { of(3)? } else { 0.0 }];
            let sum = a + b + c;
            if (sum - wanted).abs() <= 1e-6 {
                return Ok([b, c]);
            }
            Err(file.error(
                node,
                format!("the weights {name} of a virtual site add up to {sum}, not to {wanted}"),
            ))
        };
        let (origin, x, y) = (weights("wo", 1.0)?, weights("wx", 0.0)?, weights("wy", 0.0)?);
        let place = [file.number(node, "pos1")?, file.number(node, "pos2")?, file.number(node, "pos3")?];
        Ok((atoms, SiteRule::Frame(LocalFrame { arms: Arms::AsLong, origin, x, y, place })))
    }

    fn bonds(&mut self, force: Node) -> Result<()> {
        let named = force.attribute("name").unwrap_or_default().to_lowercase();
        let kind = BondKind::HarmonicBond;
        let term = if named.contains("urey") { super::UREY_BRADLEY } else { kind.term() };
        for bond in items(force, "Bonds") {
            let parameters = [self.file.number(bond, "k")?, self.file.number(bond, "d")?];
            let atoms = self.file.atoms(bond, ["p1", "p2"])?;
            self.assembly.bond(kind, term, &parameters, atoms).map_err(|e| self.at(bond, e))?;
        }
        Ok(())
    }

    fn angles(&mut self, force: Node) -> Result<()> {
        for angle in items(force, "Angles") {
            let parameters = [self.file.number(angle, "k")?, self.file.degrees(angle, "a")?];
            let atoms = self.file.atoms(angle, ["p1", "p2", "p3"])?;
            let added = self.assembly.angle(AngleKind::HarmonicAngle, &parameters, atoms);
            added.map_err(|e| self.at(angle, e))?;
        }
        Ok(())
    }

    fn torsions(&mut self, force: Node) -> Result<()> {
        let file = self.file;
        for torsion in items(force, "Torsions") {
            let (stiffness, turns) = (file.number(torsion, "k")?, file.number(torsion, "periodicity")?);
            let parameters = [stiffness, turns, file.degrees(torsion, "phase")?];
            self.torsion(torsion, DihedralKind::PeriodicDihedral, &parameters)?;
        }
        Ok(())
    }

    fn torsion(&mut self, torsion: Node, kind: DihedralKind, parameters: &[f64]) -> Result<()> {
        let atoms = self.file.atoms(torsion, ["p1", "p2", "p3", "p4"])?;
        self.assembly.dihedral(kind, kind.term(), parameters, atoms).map_err(|e| self.at(torsion, e))
    }

    fn polynomial_torsions(&mut self, force: Node) -> Result<()> {
        for torsion in items(force, "Torsions") {
            let mut parameters = [0.0; 6];
            for (n, parameter) in parameters.iter_mut().enumerate() {
                *parameter = self.file.number(torsion, &format!("c{n}"))?;
            }
            self.torsion(torsion, DihedralKind::RyckaertBellemans, &parameters)?;
        }
        Ok(())
    }

    /// CHARMM's impropers, as OpenMM writes them.
    fn custom_torsions(&mut self, force: Node) -> Result<()> {
        let energy = self.energy(force)?;
        let shorter_way = energy.starts_with("k*min(dtheta,2*pi-dtheta)^2;dtheta=abs(theta-theta0);pi=3.14");
        if energy != "k*(theta-theta0)^2" && !shorter_way {
            return Err(self.unknown_energy(force));
        }
        let names = self.parameters(force, "PerTorsionParameters", ["k", "theta0"])?;
        for torsion in items(force, "Torsions") {
            let k = self.file.number(torsion, &names[0])?;
            let parameters = [2.0 * k, self.file.degrees(torsion, &names[1])?];
            self.torsion(torsion, DihedralKind::HarmonicDihedral, &parameters)?;
        }
        Ok(())
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

    fn maps(&mut self, force: Node) -> Result<()> {
        for map in items(force, "Maps") {
            let size: usize = self.file.get(map, "size")?;
            let energies = map.children().filter(Node::is_element).map(|e| self.file.number(e, "e"));
            let energies: Vec<f64> = energies.collect::<Result<_>>()?;
            if size == 0 || size % 2 == 1 || Some(energies.len()) != size.checked_mul(size) {
                let n = energies.len();
                return Err(self.file.error(map, format!("a map of {size} x {size} with {n} energies")));
            }
            // OpenMM's maps begin at 0, these at -180 degrees.
            let turned = |k: usize| (k + size / 2) % size;
            let at = |k: usize| energies[turned(k % size) + size * turned(k / size)];
            let energies: Vec<f64> = (0..size * size).map(at).collect();
            self.assembly.cmap(size, &energies).map_err(|e| self.at(map, e))?;
        }
        for torsion in items(force, "Torsions") {
            let first = self.file.atoms(torsion, ["a1", "a2", "a3", "a4"])?;
            let second = self.file.atoms(torsion, ["b1", "b2", "b3", "b4"])?;
            let map: u32 = self.file.get(torsion, "map")?;
            self.assembly.cross_term(map, first, second).map_err(|e| self.at(torsion, e))?;
        }
        Ok(())
    }

    /// Lennard-Jones forces of 1-4 pairs, as OpenMM writes CHARMM's.
    fn custom_bonds(&mut self, force: Node) -> Result<()> {
        if self.energy(force)? != "4*epsilon*((sigma/r)^12-(sigma/r)^6)" {
            return Err(self.unknown_energy(force));
        }
        let names = self.parameters(force, "PerBondParameters", ["epsilon", "sigma"])?;
        for bond in items(force, "Bonds") {
            let parameters = [self.file.number(bond, &names[0])?, self.file.number(bond, &names[1])?];
            let atoms = self.file.atoms(bond, ["p1", "p2"])?;
            self.assembly.pair_of_its_own(parameters, 0.0, atoms).map_err(|e| self.at(bond, e))?;
        }
        Ok(())
    }

    fn nonbonded(&mut self, force: Node) -> Result<()> {
        for list in ["ParticleOffsets", "ExceptionOffsets"] {
            if let Some(offset) = items(force, list).next() {
                let message = "charges that depend on a global parameter are not read";
                return Err(self.file.error(offset, message));
            }
        }
        if !self.pairs.particles.is_empty() {
            return Err(self.file.error(force, "there is a second NonbondedForce"));
        }
        for particle in items(force, "Particles") {
            let of = |name: &str| self.file.number(particle, name);
            let (charge, sigma, epsilon) = (of("q")?, of("sig")?, of("eps")?);
            if !(epsilon >= 0.0 && sigma >= 0.0) {
                let message = format!("a particle has epsilon = {epsilon} and sigma = {sigma}");
                return Err(self.file.error(particle, message));
            }
            self.pairs.particles.push([charge, sigma, epsilon]);
        }
        self.method(force)
    }

    /// Treatment of pairs far apart, which is the same for all forces.
    fn method(&mut self, force: Node) -> Result<()> {
        let method: u32 = self.file.get(force, "method")?;
        match self.pairs.method.replace(method) {
            Some(before) if (before == NO_CUTOFF) != (method == NO_CUTOFF) => {
                Err(self.file.error(force, "one force between pairs has a cut-off and another one has none"))
            }
            _ => Ok(()),
        }
    }

    /// Lennard-Jones forces by pairs of types, with which OpenMM writes CHARMM's (NBFIX).
    fn custom_nonbonded(&mut self, force: Node) -> Result<()> {
        let energy = self.energy(force)?;
        let squared = match energy.as_str() {
            "acoef(type1,type2)/r^12-bcoef(type1,type2)/r^6" => false,
            "(a/r6)^2-b/r6;r6=r^6;a=acoef(type1,type2);b=bcoef(type1,type2)" => true,
            _ => return Err(self.unknown_energy(force)),
        };
        let [of_type] = self.parameters(force, "PerParticleParameters", ["type"])?;
        let number = |particle: Node| -> Result<usize> {
            let x: f64 = self.file.number(particle, &of_type)?;
            Ok(x as usize)
        };
        let types = items(force, "Particles").map(number).collect::<Result<Vec<_>>>()?;
        let (size, mut a) = self.function(force, "acoef")?;
        let (other, b) = self.function(force, "bcoef")?;
        if squared {
            a.iter_mut().for_each(|a| *a *= *a);
        }
        if size != other || types.iter().any(|t| *t >= size) {
            return Err(self.file.error(force, "its tables do not have all types of its particles"));
        }
        let mut excluded = HashSet::new();
        for pair in items(force, "Exclusions") {
            let [a, b] = self.file.atoms(pair, ["p1", "p2"])?;
            excluded.insert([a.min(b), a.max(b)]);
        }
        if self.pairs.table.replace(LennardJonesTable { types, size, a, b, excluded }).is_some() {
            return Err(self.file.error(force, "there is a second table of Lennard-Jones forces"));
        }
        self.method(force)
    }

    /// A table over two types.
    fn function(&self, force: Node, name: &str) -> Result<(usize, Vec<f64>)> {
        let function = items(force, "Functions").find(|f| f.attribute("name") == Some(name));
        let function =
            function.ok_or_else(|| self.file.error(force, format!("it has no function {name}")))?;
        let size: usize = self.file.get(function, "xsize")?;
        let values = items(function, "Values").map(|v| self.file.number(v, "v"));
        let values = values.collect::<Result<Vec<_>>>()?;
        if self.file.get::<usize>(function, "ysize")? != size || Some(values.len()) != size.checked_mul(size)
        {
            return Err(self.file.error(function, format!("{name} is no table of {size} x {size} values")));
        }
        Ok((size, values))
    }

    /// Pairs that are left out or have a force of their own.
    fn exceptions(&mut self, force: Node) -> Result<()> {
        for pair in items(force, "Exceptions") {
            let atoms = self.file.atoms(pair, ["p1", "p2"])?;
            let of = |name: &str| self.file.number(pair, name);
            let (epsilon, sigma, charges) = (of("eps")?, of("sig")?, of("q")?);
            let added = self.assembly.scaled_pair([epsilon, sigma], charges, atoms);
            added.map_err(|e| self.at(pair, e))?;
            self.pairs.excluded.insert([atoms[0].min(atoms[1]), atoms[0].max(atoms[1])]);
        }
        Ok(())
    }

    fn finish(self, root: Node) -> Result<Molecules> {
        let OpenmmReader { file, assembly, pairs } = self;
        let (n, given) = (assembly.n_atoms(), pairs.particles.len());
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
    let mut edges: [Vec3; 3] = [[0.0; 3]; 3];
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
