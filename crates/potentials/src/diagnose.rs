//! Diagnosis of a force that is not finite: the term that it comes from, and the other atoms.
//!
//! The cost is one pass over all atoms for each term, so that a large system that blows up says so at once. The
//! lists of neighbours are of no use here: after a blow-up they no longer hold.

use crate::bonded::{
    AngleFunction, AngleVisitor, BondedKind, BondedTerm, DihedralFunction, DihedralVisitor, angle_forces,
    dihedral_forces,
};
use crate::external::{FormulaField, behind};
use crate::pair::{PairFunction, PairVisitor};
use crate::restraint::AtomRestraints;
use crate::{Cmap, Dispersion, Electrostatics, Embedded, Forces, LatticeSum, PairTerm, ThreeBody, Vacuum};
use jostle_core::{Error, IdIndex, Precision, System, Vec3, Vector};

/// The error for a force on the atom stored at `index` that is not finite in arithmetic of this precision:
/// names the atom, the term and, where there are others, these and how far away the first of them is.
pub fn force(system: &System, forces: &Forces, precision: Precision, index: usize) -> Error {
    let (state, hint) = (&system.state, forces.hint());
    if let Some(error) = behind(system, &forces.walls) {
        return error;
    }
    let number = |index: usize| state.id[index] + 1;
    if state.position[index].iter().any(|x| !x.is_finite()) {
        return Error::simulation(format!("the position of atom {} is not finite", number(index))).hint(hint);
    }
    let diagnosis = Diagnosis { system, forces, precision, index_by_id: state.index_by_id() };
    if let Some(error) = diagnosis.broken_bond(index) {
        return error;
    }
    let mut points = diagnosis.points(index).into_iter();
    if let Some(error) = points.find_map(|point| undefined_field(system, forces, point)) {
        return error;
    }
    let mut strongest = ForcePart::none(index);
    for point in diagnosis.points(index) {
        diagnosis.parts(point, &mut strongest);
    }
    let ForcePart { term, atom, others, distance, force } = strongest;
    let atom = number(atom);
    let with = match &others[..] {
        [most @ .., last] if !most.is_empty() => {
            let most: Vec<String> = most.iter().map(|other| number(*other).to_string()).collect();
            format!(" with atoms {} and {}", most.join(", "), number(*last))
        }
        _ => String::new(),
    };
    let mut message = match () {
        () if !force.is_finite() => format!("the '{term}' force on atom {atom}{with} is not finite"),
        () if term.is_empty() => format!("the force on atom {atom} is not finite"),
        // Parts are finite, their sum is not.
        () => format!("the force on atom {atom} is too large, most of it the '{term}' force{with}"),
    };
    if let [other] = others[..] {
        message += &format!("; atom {} is {distance:.3e} away", number(other));
    }
    Error::simulation(message).hint(hint)
}

/// The error for the first field by a formula that is not defined at an atom.
fn undefined_field(system: &System, forces: &Forces, index: usize) -> Option<Error> {
    let state = &system.state;
    let place = (state.position[index], state.image[index]);
    forces.formula_fields.iter().find_map(|field| {
        let (energy, force) = field.on(&system.simbox, state.id[index], place);
        let defined = energy.is_finite() && force.iter().all(|f| f.is_finite());
        (!defined).then(|| {
            let (Vector([x, y, z]), id, text) = (place.0, state.id[index] + 1, field.text());
            let message =
                format!("the field \"{text}\" is not defined at atom {id}, at [{x:.6}, {y:.6}, {z:.6}]");
            Error::simulation(message).hint("give it another energy there: if(x < 1, ..., ...)")
        })
    })
}

/// The error for an energy that is not finite though all forces are: names the term. `energies` are in the
/// order of [`Forces::kinds`].
pub fn energy(forces: &Forces, energies: &[f64]) -> Error {
    let kinds = forces.kinds();
    let bad = energies.iter().zip(&kinds).find(|(energy, _)| !energy.is_finite());
    let message = match bad {
        Some((_, kind)) => format!("the '{kind}' energy is not finite"),
        None => "the potential energy is not finite".to_string(),
    };
    Error::simulation(message).hint(forces.hint())
}

/// A part of the force on an atom.
struct ForcePart<'a> {
    /// The name of the term; empty where there is none.
    term: &'a str,
    /// The index of the atom, and of the others that it comes from.
    atom: usize,
    others: Vec<usize>,
    /// Distance to the first of these.
    distance: f64,
    /// Size of the force, infinite where it is not finite.
    force: f64,
}

impl<'a> ForcePart<'a> {
    fn none(atom: usize) -> Self {
        ForcePart { term: "", atom, others: Vec::new(), distance: 0.0, force: -1.0 }
    }

    /// The stronger of two; of two that are not finite the first.
    fn or_stronger(&mut self, other: ForcePart<'a>) {
        if other.force > self.force {
            *self = other;
        }
    }
}

fn length(v: Vec3) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

struct Diagnosis<'a> {
    system: &'a System,
    forces: &'a Forces,
    precision: Precision,
    /// Index of each atom, by id.
    index_by_id: IdIndex,
}

impl<'a> Diagnosis<'a> {
    /// Size of a force in the precision: infinite where it is not finite.
    fn size(&self, force: f64) -> f64 {
        let force = match self.precision {
            Precision::Mixed => f64::from(force as f32),
            Precision::Double => force,
        };
        if force.is_finite() { force.abs() } else { f64::INFINITY }
    }

    /// Vector from one atom to another, by their indices.
    fn between(&self, from: usize, to: usize) -> Vec3 {
        let (a, b) = (self.system.state.position[from], self.system.state.position[to]);
        self.system.simbox.nearest_image(b - a)
    }

    /// An atom and the points that follow it, which hand their forces on to it.
    fn points(&self, index: usize) -> Vec<usize> {
        let id = self.system.state.id[index];
        let sites = self.system.topology.virtual_sites.iter().filter(|site| site.atoms.contains(&id));
        [index].into_iter().chain(sites.map(|site| self.index_by_id.of(site.site))).collect()
    }

    /// A bond of the atom that is longer than it can be.
    fn broken_bond(&self, index: usize) -> Option<Error> {
        let id = self.system.state.id[index];
        self.system.topology.bonds.iter().filter(|bond| bond.atoms.contains(&id)).find_map(|bond| {
            let [a, b] = bond.atoms.map(|id| self.index_by_id.of(id));
            let length = length(self.between(a, b));
            let longest = self.forces.bonds.iter().map(|term| term.longest(bond.kind as usize));
            let longest = longest.fold(f64::INFINITY, f64::min);
            let [a, b] = [bond.atoms[0].min(bond.atoms[1]) + 1, bond.atoms[0].max(bond.atoms[1]) + 1];
            (length.is_nan() || length >= longest).then(|| {
                Error::simulation(format!("the bond between atoms {a} and {b} is broken")).hint(
                    "minimise first, shorten the time step, or give bound beads a repulsion (exclude = \"none\")",
                )
            })
        })
    }

    /// Goes through all parts of the force on an atom.
    fn parts(&self, index: usize, strongest: &mut ForcePart<'a>) {
        let (system, forces) = (self.system, self.forces);
        let state = &system.state;
        let exclusions = system.topology.exclusions(state.len(), forces.exclude);
        let excluded = exclusions.get(state.id[index] as usize).map_or(&[][..], |list| list);
        let is_excluded = |other: usize| excluded.contains(&state.id[other]);
        let species = |index: usize| usize::from(state.species[index]);
        for term in &forces.pairs {
            let row = row_of(term, species(index), system.species.len());
            self.pair(index, term.potential.name(), strongest, |other, r2| {
                let (cutoff2, coefficients) = row[species(other)].as_ref()?;
                (r2 < *cutoff2 && !is_excluded(other)).then(|| term.evaluate(r2, coefficients).1)
            });
        }
        if let Some(term) = &forces.embedded {
            self.embedded(index, term, strongest);
        }
        if let Some(term) = &forces.three_body {
            self.three_body(index, term, strongest);
        }
        for sum in forces.sums() {
            let (strengths, cutoff) = (sum.strengths(system), sum.cutoff());
            let name = match sum {
                LatticeSum::Dispersion(_) => Dispersion::TERM,
                LatticeSum::Charges(_) => Electrostatics::TERM,
            };
            self.pair(index, name, strongest, |other, r2| {
                let product = strengths[index] * strengths[other];
                let near = r2 < cutoff * cutoff && product != 0.0 && !is_excluded(other);
                near.then(|| product * sum.direct(r2, 1.0).1)
            });
        }
        if let Some(term) = &forces.vacuum {
            let charge = term.coulomb * system.charge(index);
            let [lennard_jones, coulomb] = Vacuum::TERMS;
            self.pair(index, lennard_jones, strongest, |other, r2| {
                let coefficients = || term.coefficients(species(index), species(other));
                (!is_excluded(other)).then(|| Vacuum::evaluate(r2, coefficients(), 0.0).1)
            });
            self.pair(index, coulomb, strongest, |other, r2| {
                let strength = charge * system.charge(other);
                let interact = strength != 0.0 && !is_excluded(other);
                interact.then(|| Vacuum::evaluate(r2, [0.0; 2], strength).1)
            });
        }
        self.bound(index, strongest);
        for field in &forces.formula_fields {
            let (id, place) = (state.id[index], (state.position[index], state.image[index]));
            let (_, force) = field.on(&system.simbox, id, place);
            let size = self.size(length(force));
            strongest.or_stronger(ForcePart {
                term: FormulaField::TERM,
                force: size,
                ..ForcePart::none(index)
            });
        }
        for wall in &forces.walls {
            let (_, force) = wall.evaluate(species(index), state.position[index]);
            let part = ForcePart { term: "wall", force: self.size(force), ..ForcePart::none(index) };
            strongest.or_stronger(part);
        }
        if !forces.restraints.is_empty() {
            let now = forces.restraints.at(&system.simbox, state, &self.index_by_id);
            let at = (&system.simbox, state.position[index]);
            let by_atom = AtomRestraints::new(&forces.restraints, state.len());
            let force = by_atom.on(state.id[index], at, &forces.restraints, &now).force;
            strongest.or_stronger(ForcePart {
                term: "restraint",
                force: self.size(length(force)),
                ..ForcePart::none(index)
            });
        }
    }

    /// A force between pairs of atoms: over distance, by the index of the other one and the squared distance.
    fn pair(
        &self,
        index: usize,
        term: &'a str,
        strongest: &mut ForcePart<'a>,
        force_over_r: impl Fn(usize, f64) -> Option<f64>,
    ) {
        for other in (0..self.system.state.len()).filter(|other| *other != index) {
            let distance = length(self.between(other, index));
            if !distance.is_finite() {
                continue;
            }
            if let Some(force_over_r) = force_over_r(other, distance * distance) {
                let force = self.size(self.size(force_over_r) * distance);
                strongest.or_stronger(ForcePart { term, atom: index, others: vec![other], distance, force });
            }
        }
    }

    /// Goes through the embedded atoms around the atom, after the densities around them are summed up.
    fn embedded(&self, index: usize, term: &'a Embedded, strongest: &mut ForcePart<'a>) {
        let state = &self.system.state;
        let (species, cutoff) = (|index: usize| usize::from(state.species[index]), term.cutoff());
        let near = |around: usize, reach: f64, among: &[usize]| -> Vec<usize> {
            let within = |other: &usize| *other != around && length(self.between(*other, around)) < reach;
            among.iter().copied().filter(within).collect()
        };
        let all: Vec<usize> = (0..state.len()).collect();
        let around = near(index, 2.0 * cutoff, &all);
        let with_it: Vec<usize> = around.iter().copied().chain([index]).collect();
        let slope = |atom: usize| {
            let others = near(atom, cutoff, &with_it).into_iter();
            let density =
                |other| term.density(species(atom), species(other), length(self.between(other, atom))).0;
            term.embedding(species(atom), others.map(density).sum()).1
        };
        let own = slope(index);
        for other in near(index, cutoff, &around) {
            let distance = length(self.between(other, index));
            let kinds = [species(index), species(other)];
            let (_, force_over_r) = term.pair(kinds, distance * distance, [own, slope(other)]);
            let (term, others) = (term.kind.name(), vec![other]);
            let force = self.size(force_over_r * distance);
            strongest.or_stronger(ForcePart { term, atom: index, others, distance, force });
        }
    }

    /// Goes through the forces that neighbours of the atom have on it as their centre.
    fn three_body(&self, index: usize, term: &'a ThreeBody, strongest: &mut ForcePart<'a>) {
        let state = &self.system.state;
        let species = |index: usize| usize::from(state.species[index]);
        let near: Vec<(usize, Vec3)> = (0..state.len())
            .filter(|other| *other != index)
            .map(|other| (other, self.between(index, other)))
            .filter(|(other, d)| length(*d) < term.cutoff_of(species(index), species(*other)))
            .collect();
        let neighbors: Vec<_> = near.iter().map(|(other, d)| (species(*other), *d)).collect();
        let (_, gradients) = term.center(species(index), &neighbors);
        for ((other, d), gradient) in near.into_iter().zip(gradients) {
            let (term, others, distance) = (term.kind.name(), vec![other], length(d));
            let force = self.size(length(gradient));
            strongest.or_stronger(ForcePart { term, atom: index, others, distance, force });
        }
    }

    /// Goes through the bonded parts of the force on the atom.
    fn bound(&self, index: usize, strongest: &mut ForcePart<'a>) {
        let (topology, forces) = (&self.system.topology, self.forces);
        for bond in &topology.bonds {
            self.group(index, &bond.atoms, bond.kind, &forces.bonds, strongest, |term, c, [arm]| {
                let force = term.kind.visit(BondForce { r2: arm.iter().map(|x| x * x).sum(), c });
                [arm.map(|x| force * x)]
            });
        }
        for angle in &topology.angles {
            self.group(index, &angle.atoms, angle.kind, &forces.angles, strongest, |term, c, [to, on]| {
                let [a, b] = term.kind.visit(AngleForces { arms: [to.map(|x| -x), on], c });
                [a.map(|x| -x), b]
            });
        }
        for turn in &topology.dihedrals {
            self.group(index, &turn.atoms, turn.kind, &forces.dihedrals, strongest, |term, c, vectors| {
                term.kind.visit(DihedralForces { vectors, c })
            });
        }
        for cross in &topology.cross_terms {
            let Some(map) = forces.cmaps.get(cross.kind as usize) else { continue };
            self.along(index, &cross.atoms, Cmap::TERM, strongest, |vectors| map.forces(vectors).1);
        }
    }

    /// Goes through all terms that one bond, angle or dihedral has by its type.
    fn group<K: BondedKind, const N: usize, const M: usize>(
        &self,
        index: usize,
        atoms: &[u32; M],
        kind: u32,
        terms: &'a [BondedTerm<K>],
        strongest: &mut ForcePart<'a>,
        forces: impl Fn(&BondedTerm<K>, &[f64], [Vec3; N]) -> [Vec3; N],
    ) {
        if !atoms.contains(&self.system.state.id[index]) {
            return;
        }
        for term in terms {
            if let Some(c) = term.coefficients(kind as usize) {
                self.along(index, atoms, term.term(), strongest, |vectors| forces(term, &c, vectors));
            }
        }
    }

    /// Forces along the vectors from atom to atom, on their tips.
    fn along<const N: usize, const M: usize>(
        &self,
        index: usize,
        atoms: &[u32; M],
        term: &'a str,
        strongest: &mut ForcePart<'a>,
        forces: impl FnOnce([Vec3; N]) -> [Vec3; N],
    ) {
        let Some(role) = atoms.iter().position(|id| self.index_by_id.of(*id) == index) else { return };
        let indices = atoms.map(|id| self.index_by_id.of(id));
        let vectors = std::array::from_fn(|k| self.between(indices[k], indices[k + 1]));
        let forces = forces(vectors);
        let on_tip = |k: usize| forces.get(k).copied().unwrap_or_default();
        let (into, out) = (role.checked_sub(1).map_or(Vec3::ZERO, on_tip), on_tip(role));
        let others: Vec<usize> = indices.into_iter().filter(|other| *other != index).collect();
        let force = self.size(length(into - out));
        let distance = length(self.between(others[0], index));
        strongest.or_stronger(ForcePart { term, atom: index, others, distance, force });
    }
}

/// Square of the cut-off and coefficients of a species with every other one.
fn row_of(term: &PairTerm, species: usize, n_species: usize) -> Vec<Option<(f64, Vec<f64>)>> {
    let entry = |other| Some((term.get(species, other)?.cutoff.powi(2), term.coefficients(species, other)?));
    (0..n_species).map(entry).collect()
}

/// The force over length of a bond.
struct BondForce<'a> {
    r2: f64,
    c: &'a [f64],
}

impl PairVisitor for BondForce<'_> {
    type Output = f64;

    fn visit<F: PairFunction>(self) -> f64 {
        F::evaluate(self.r2, self.c).1
    }
}

/// The forces of an angle on its ends.
struct AngleForces<'a> {
    arms: [Vec3; 2],
    c: &'a [f64],
}

impl AngleVisitor for AngleForces<'_> {
    type Output = [Vec3; 2];

    fn visit<F: AngleFunction>(self) -> [Vec3; 2] {
        let (_, a, b) = angle_forces::<F, f64>(self.arms[0], self.arms[1], self.c);
        [a, b]
    }
}

/// The forces of a dihedral on the tips of its vectors.
struct DihedralForces<'a> {
    vectors: [Vec3; 3],
    c: &'a [f64],
}

impl DihedralVisitor for DihedralForces<'_> {
    type Output = [Vec3; 3];

    fn visit<F: DihedralFunction>(self) -> [Vec3; 3] {
        dihedral_forces::<F, f64>(self.vectors, self.c).1
    }
}
