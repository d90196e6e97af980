//! Energies of interaction of two groups of atoms, by term, and the force of one on the other.
//!
//! An energy of interaction is that of both groups together less those of each alone, so that charges, dispersion
//! and embedded atoms have all that belongs to them: images, reciprocal space, tails, excluded pairs. Three engines
//! on the CPU, in double precision, evaluate the two groups and each of them from positions alone.

use crate::build::forces_from_input;
use crate::thermo::{InteractionSums, Quantity, term_names};
use jostle_core::quantity::unit_name;
use jostle_core::{
    Algorithm, Backend, Dimension, Error, Evaluate, Exclude, Precision, Result, Settings, SimBox, Species,
    State, System, Topology, UnitSystem, Vec3,
};
use jostle_io::Input;
use jostle_potentials::Forces;
use jostle_potentials::bonded::{BondedKind, BondedTerm};
use jostle_potentials::electrostatics::NetCharge;
use jostle_potentials::restraint::Restraints;

/// Two groups of atoms without a common one, and engines for both together and for each.
pub struct Interaction {
    name: String,
    terms: Vec<String>,
    together: Part,
    alone: [Part; 2],
}

/// Atoms that an engine has, and the engine.
struct Part {
    /// Their ids in the whole system; those of the engine count them.
    ids: Vec<u32>,
    state: State,
    engine: Box<dyn Backend>,
}

/// The interactions of an input between atoms of a system, whose positions choose groups by places.
///
/// # Errors
/// If a selection has no atoms, a force is unknown or lacks something, or groups have a common atom.
pub fn interactions_from_input(input: &Input, system: &System) -> Result<Vec<Interaction>> {
    let mut system = system.clone();
    input.choose(&mut system)?;
    let mut forces = forces_from_input(input, &system, system.simbox.volume())?;
    let groups = input.chosen_interactions(&system)?;
    crate::alchemy::apply(input, &mut system, &mut forces)?;
    let one = |(name, [a, b]): (String, [Vec<u32>; 2])| {
        Interaction::new(&name, &system, &forces, [&a, &b], input.run.settings)
    };
    groups.into_iter().map(one).collect()
}

impl Interaction {
    /// The interaction of two groups, by ids, of a system under these forces, with the threads of these settings, and with
    /// the same bits on any number of them where these ask for it.
    ///
    /// # Errors
    /// If the groups have an atom in common, or an engine refuses them.
    pub fn new(
        name: &str,
        system: &System,
        forces: &Forces,
        groups: [&[u32]; 2],
        settings: Settings,
    ) -> Result<Self> {
        let here = |error: Error| error.context(format!("interaction '{name}'"));
        let mut together = groups.concat();
        together.sort_unstable();
        if let Some(twice) = together.windows(2).find(|pair| pair[0] == pair[1]) {
            let message = format!("interaction '{name}': atom {} is in both groups", twice[0] + 1);
            return Err(
                Error::input(message).hint("choose groups without a common atom, as in \"A and not B\"")
            );
        }
        let mut forces = of_atoms_alone(forces);
        let joining = joining(&system.topology, groups, system.state.len());
        drop_unused(&mut forces, &joining);
        let terms = term_names(&forces);
        let settings = Settings {
            threads: settings.threads,
            reproducible: settings.reproducible,
            precision: Precision::Double,
            algorithm: Algorithm::Auto,
            ..Settings::default()
        };
        let exclusions = system.topology.exclusions(system.state.len(), forces.exclude);
        let none = Topology { bonds: Vec::new(), angles: Vec::new(), ..of_types(&system.topology) };
        let part = |ids: &[u32], topology: &Topology| {
            Part::new(system, &forces, (ids, &exclusions), topology, settings).map_err(here)
        };
        let alone = [part(groups[0], &none)?, part(groups[1], &none)?];
        Ok(Interaction { name: name.to_string(), terms, together: part(&together, &joining)?, alone })
    }

    /// Name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the terms: all of pairs, and bonded ones that join the groups.
    pub fn terms(&self) -> &[String] {
        &self.terms
    }

    /// Columns of energies and of the force.
    pub fn columns(&self, units: UnitSystem) -> Vec<Quantity> {
        let Interaction { name, terms, .. } = self;
        let energies = terms.iter().map(|term| (format!("{name}_{term}"), Dimension::ENERGY));
        let force = ["x", "y", "z"].map(|axis| (format!("{name}_force_{axis}"), Dimension::FORCE));
        let quantity = |(name, dimension)| Quantity::new(name, unit_name(units, dimension));
        energies.chain(force).map(quantity).collect()
    }

    /// Energies and force for a state of all atoms in a box.
    ///
    /// # Errors
    /// If an energy or a force is not finite.
    pub fn evaluate(&mut self, simbox: &SimBox, state: &State) -> Result<InteractionSums> {
        let Interaction { name, together, alone, .. } = self;
        let index_by_id = state.index_by_id();
        let evaluate = |part: &mut Part| {
            let place = |id: &u32| (state.position[index_by_id.of(*id)], state.image[index_by_id.of(*id)]);
            (part.state.position, part.state.image) = part.ids.iter().map(place).unzip();
            let evaluated = part.evaluate(simbox);
            evaluated.map_err(|error| error.context(format!("interaction '{name}'")))
        };
        let both = evaluate(together)?;
        let [first, second] = alone;
        let (first_alone, second_alone) = (evaluate(first)?, evaluate(second)?);
        let alone = first_alone.0.iter().zip(&second_alone.0);
        let energies = both.0.iter().zip(alone).map(|(both, (a, b))| both - a - b).collect();
        let mut force = Vec3::ZERO;
        for (id, own) in first.ids.iter().zip(&first_alone.1) {
            // Both lists are in ascending order.
            let place = together.ids.partition_point(|other| other < id);
            force += both.1[place] - *own;
        }
        Ok(InteractionSums { energies, force })
    }
}

impl Part {
    /// Some atoms of a system, by ids in ascending order, with bonds between these ids.
    fn new(
        system: &System,
        forces: &Forces,
        (ids, exclusions): (&[u32], &[Vec<u32>]),
        topology: &Topology,
        settings: Settings,
    ) -> Result<Part> {
        let number = |id: u32| ids.binary_search(&id).ok().map(|k| k as u32);
        let index_by_id = system.state.index_by_id();
        // Nothing moves here: virtual sites, which have no mass, are atoms like others.
        let weighed = |species: &Species| match species.mass {
            0.0 => Species { mass: 1.0, ..species.clone() },
            _ => species.clone(),
        };
        let mut part = System::new(system.simbox, system.species.iter().map(weighed).collect());
        for id in ids {
            let index = index_by_id.of(*id);
            part.state.push(system.state.species[index], system.state.position[index]);
            if !system.charges.is_empty() {
                part.charges.push(system.charge(index));
            }
        }
        let renumbered = |atoms: &mut [u32]| {
            atoms.iter_mut().for_each(|id| *id = number(*id).unwrap_or_default());
        };
        part.topology = topology.clone();
        part.topology.bonds.iter_mut().for_each(|bond| renumbered(&mut bond.atoms));
        part.topology.angles.iter_mut().for_each(|angle| renumbered(&mut angle.atoms));
        part.topology.dihedrals.iter_mut().for_each(|dihedral| renumbered(&mut dihedral.atoms));
        part.topology.cross_terms.iter_mut().for_each(|cross| renumbered(&mut cross.atoms));
        let pairs = ids.iter().enumerate().flat_map(|(k, id)| {
            let partners = exclusions.get(*id as usize).into_iter().flatten();
            partners.filter_map(move |other| Some([k as u32, number(*other)?]))
        });
        part.topology.excluded = pairs.filter(|[a, b]| a < b).collect();
        let state = part.state.clone();
        let forces = Forces { exclude: Exclude::None, ..forces.clone() };
        Ok(Part { ids: ids.to_vec(), state, engine: jostle_cpu::open(part, forces, settings)? })
    }

    /// Energies by term, and forces in the order of ids.
    fn evaluate(&mut self, simbox: &SimBox) -> Result<(Vec<f64>, Vec<Vec3>)> {
        if self.engine.simbox() == simbox {
            self.engine.set_state(self.state.clone())?;
        } else {
            self.engine.set_box(*simbox, self.state.clone())?;
        }
        self.engine.update_neighbors()?;
        self.engine.compute_forces(Evaluate::ForcesAndEnergies)?;
        let energies = self.engine.energies().terms.clone();
        let state = self.engine.state()?;
        let forces = state.index_by_id().iter().map(|index| state.force[index]).collect();
        Ok((energies, forces))
    }
}

/// Forces between atoms, without those from outside; net charges of groups have a background.
fn of_atoms_alone(forces: &Forces) -> Forces {
    let mut forces = Forces {
        fields: Vec::new(),
        formula_fields: Vec::new(),
        field_numbers: Vec::new(),
        walls: Vec::new(),
        reflecting_walls: Vec::new(),
        restraints: Restraints::default(),
        grains: None,
        ..forces.clone()
    };
    if let Some(charges) = &mut forces.electrostatics {
        charges.net_charge = NetCharge::Background;
    }
    forces
}

/// Types of a topology, without atoms.
fn of_types(topology: &Topology) -> Topology {
    Topology {
        bond_types: topology.bond_types.clone(),
        angle_types: topology.angle_types.clone(),
        dihedral_types: topology.dihedral_types.clone(),
        ..Topology::default()
    }
}

/// Bonded terms with atoms of both groups and of no other.
fn joining(topology: &Topology, groups: [&[u32]; 2], n: usize) -> Topology {
    let mut group_of = vec![None; n];
    for (number, group) in groups.into_iter().enumerate() {
        group.iter().for_each(|id| group_of[*id as usize] = Some(number));
    }
    let joins = |atoms: &[u32]| {
        let of = |group| atoms.iter().any(|id| group_of[*id as usize] == group);
        of(Some(0)) && of(Some(1)) && !of(None)
    };
    let mut joining = of_types(topology);
    joining.bonds = topology.bonds.iter().filter(|bond| joins(&bond.atoms)).copied().collect();
    joining.angles = topology.angles.iter().filter(|angle| joins(&angle.atoms)).copied().collect();
    joining.dihedrals =
        topology.dihedrals.iter().filter(|dihedral| joins(&dihedral.atoms)).copied().collect();
    joining.cross_terms = topology.cross_terms.iter().filter(|cross| joins(&cross.atoms)).copied().collect();
    joining
}

/// Leaves out bonded forces that no bond of a topology has.
fn drop_unused(forces: &mut Forces, topology: &Topology) {
    let Forces { bonds, angles, dihedrals, cmaps, .. } = forces;
    retain(bonds, topology.bonds.iter().map(|bond| bond.kind));
    retain(angles, topology.angles.iter().map(|angle| angle.kind));
    retain(dihedrals, topology.dihedrals.iter().map(|dihedral| dihedral.kind));
    if topology.cross_terms.is_empty() {
        cmaps.clear();
    }
}

fn retain<K: BondedKind>(terms: &mut Vec<BondedTerm<K>>, kinds: impl Iterator<Item = u32>) {
    let mut used: Vec<u32> = kinds.collect();
    used.sort_unstable();
    used.dedup();
    terms.retain(|term| used.iter().any(|kind| term.coefficients(*kind as usize).is_some()));
}
