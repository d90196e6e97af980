//! Data of a system that do not change in the course of a run.

use crate::barostat::check_barostat;
use crate::body_energies::{self, BodyMasses};
use crate::custom_force::EnergyColumn;
use crate::degrees_of_freedom::DegreesOfFreedom;
use crate::equipartition::degrees_of_atoms;
use crate::fluctuations;
use crate::heat_current::{self, HeatCurrent, Obstacle};
use crate::heat_flux;
use crate::interaction::Interaction;
use crate::minimize::ConstraintProjection;
use crate::plausibility::Scales;
use crate::ramp::Springs;
use crate::stage::{check_constraints, check_contacts, check_stage};
use crate::thermo::{BEFORE_ENERGIES, Quantity, Reported, quantities};
use jostle_core::quantity::unit_name;
use jostle_core::{
    Dimension, Driven, Error, Group, Molecules, Names, Result, SimBox, Species, State, System, Topology,
    UnitSystem, Vec3, WholeGroups,
};
use jostle_io::input::model::{Action, StageInput};
use jostle_potentials::{Embedded, Forces, ThreeBody};

/// Species, bonds, names and groups of the atoms, by id; checkpoints store them.
pub(super) struct AtomTables {
    pub species: Vec<Species>,
    pub topology: Topology,
    /// Charges, see [`System::charges`].
    pub charges: Vec<f64>,
    pub names: Names,
    pub groups: Vec<Group>,
    /// Reference positions of restraints, see [`System::reference_positions`].
    pub reference_positions: Vec<Vec3>,
    /// Box of the reference positions.
    pub reference_box: Option<SimBox>,
    /// Ids of frozen and driven atoms, in ascending order.
    pub driven: Vec<u32>,
    /// Velocities that these keep.
    pub driven_velocities: Driven,
}

impl AtomTables {
    /// The tables of a system.
    pub fn new(system: &System) -> Self {
        let is_driven = |index: &usize| system.driven(*index).is_some();
        let driven = (0..system.state.len()).filter(is_driven).map(|index| system.state.id[index]);
        let mut driven: Vec<u32> = driven.collect();
        driven.sort_unstable();
        AtomTables {
            species: system.species.clone(),
            topology: system.topology.clone(),
            charges: system.charges.clone(),
            names: system.names.clone(),
            groups: system.groups.clone(),
            reference_positions: system.reference_positions.clone(),
            reference_box: system.reference_box,
            driven,
            driven_velocities: system.driven.clone(),
        }
    }
}

/// Numbers that follow from a system and its forces.
pub(super) struct SystemFacts {
    /// Number of atoms of each species.
    pub counts: Vec<usize>,
    /// Mass of all atoms.
    pub total_mass: f64,
    /// Volume of the box at the beginning of the run.
    pub first_volume: f64,
    /// Shortest cut-off of any pair of species; without pair forces, the size of the box.
    pub shortest_cutoff: f64,
    /// Degrees of freedom without restraints, which depend on the stage.
    pub degrees: DegreesOfFreedom,
    /// Springs of the restraints.
    pub springs: Springs,
    /// Projection of forces onto constraints, if there are any.
    pub projection: Option<ConstraintProjection>,
    /// Length and time scales for plausibility checks.
    pub scales: Scales,
    /// Embedded atoms, for densities beyond their table.
    pub metal: Option<Embedded>,
    /// Reciprocal-space sum of charges or dispersion.
    reciprocal: ReciprocalSum,
    /// An atom that is driven at a velocity, for messages.
    driven: Option<String>,
    /// The forces of the heat current, or the reason why there is none.
    conduction: std::result::Result<Forces, Obstacle>,
}

/// Presence of a reciprocal-space sum among the forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReciprocalSum {
    Present,
    Absent,
}

impl SystemFacts {
    /// The facts of a system under forces.
    ///
    /// # Errors
    /// If too many constraints are connected.
    pub fn new(system: &System, forces: &Forces) -> Result<Self> {
        let counts = system.counts();
        let total_mass = system.species.iter().zip(&counts).map(|(s, n)| s.mass * *n as f64).sum();
        Ok(SystemFacts {
            counts,
            total_mass,
            first_volume: system.simbox.volume(),
            shortest_cutoff: shortest_cutoff(forces, &system.simbox),
            degrees: DegreesOfFreedom::without_restraints(system, forces),
            springs: Springs::new(&forces.restraints),
            projection: ConstraintProjection::new(system)?,
            scales: Scales::new(system, forces),
            metal: forces.embedded.clone(),
            reciprocal: if forces.has_reciprocal_sum() {
                ReciprocalSum::Present
            } else {
                ReciprocalSum::Absent
            },
            driven: driven_atom(system),
            conduction: heat_current::obstacle(system, forces).map_or_else(|| Ok(forces.clone()), Err),
        })
    }

    /// The heat current of a stage that begins, if it measures that.
    ///
    /// # Errors
    /// If a force does not fit the box.
    pub fn heat_current(
        &self,
        stage: &StageInput,
        tables: &AtomTables,
        (simbox, state): (&SimBox, &State),
        threads: Option<usize>,
    ) -> Result<Option<HeatCurrent>> {
        let Some(forces) = self.conduction.as_ref().ok().filter(|_| heat_current::is_measured(stage)) else {
            return Ok(None);
        };
        let mut system = System::new(*simbox, tables.species.clone());
        (system.state, system.charges) = (state.clone(), tables.charges.clone());
        HeatCurrent::new(&system, forces, threads).map(Some)
    }

    /// Refuses a stage that does not fit the system or its forces.
    pub fn check_stage(
        &self,
        stage: &StageInput,
        simbox: &SimBox,
        (topology, species, state): (&Topology, &[Species], &State),
    ) -> Result<()> {
        self.springs.check(stage)?;
        check_stage(stage, simbox)?;
        check_contacts(stage, self.scales.has_contacts())?;
        heat_flux::check(stage, simbox, topology)?;
        let mut kinds = stage.measures.iter().map(|measure| measure.value.kind);
        kinds.try_for_each(|kind| fluctuations::check_pressure(kind, simbox))?;
        heat_current::check(stage, self.conduction.as_ref().err().copied(), &self.springs)?;
        stage.check_long_range(self.reciprocal == ReciprocalSum::Present)?;
        check_constraints(stage, topology)?;
        let molecules = || Molecules::new(topology, species, state).count();
        check_barostat(stage, simbox, self.degrees.momentum, &self.springs, molecules)?;
        match (&stage.action, &self.driven) {
            (Action::Minimize { .. }, Some(name)) => {
                Err(Error::input(format!("{name} cannot be driven while energy is minimised"))
                    .hint("minimise with frozen atoms, in a run of its own"))
            }
            _ => Ok(()),
        }
    }
}

/// An atom that is driven at a velocity other than zero, for messages.
fn driven_atom(system: &System) -> Option<String> {
    let moves = |index: &usize| system.driven(*index).is_some_and(|v| v != [0.0; 3]);
    let index = (0..system.state.len()).find(moves)?;
    Some(system.names.describe(system.state.id[index]))
}

/// The shortest cut-off of any pair of species; for atoms without forces, the size of the box.
fn shortest_cutoff(forces: &Forces, simbox: &SimBox) -> f64 {
    let metal = forces.embedded.iter().map(Embedded::cutoff);
    let many_body = metal.chain(forces.three_body.iter().map(ThreeBody::cutoff));
    let mut shortest = many_body.fold(simbox.volume().cbrt(), f64::min);
    for term in &forces.pairs {
        for a in 0..term.n_species() {
            for b in a..term.n_species() {
                shortest = term.get(a, b).map_or(shortest, |e| shortest.min(e.cutoff));
            }
        }
    }
    shortest
}

/// Columns of `thermo.csv`.
pub(super) struct Columns {
    /// All quantities, in the order of the columns.
    pub quantities: Vec<Quantity>,
    /// Groups whose temperature, kinetic energy and centre of mass are columns.
    pub groups: Vec<Reported>,
    /// Rigid bodies, whose kinetic energies are columns.
    pub bodies: Option<BodyMasses>,
    /// Interactions of groups, whose energies and forces are columns.
    pub interactions: Vec<Interaction>,
    /// Place of the next energy of a custom force, behind the energies of all terms.
    next_energy: usize,
}

impl Columns {
    /// The columns of a system under forces, with those of the groups of these names, and of interactions.
    ///
    /// # Errors
    /// If constraints join too many atoms.
    pub fn new(
        units: UnitSystem,
        (system, forces): (&System, &Forces),
        names: &[String],
        interactions: Vec<Interaction>,
    ) -> Result<Self> {
        let groups: Vec<_> = system.groups.iter().filter(|group| names.contains(&group.name)).collect();
        let degrees = if groups.is_empty() { Vec::new() } else { degrees_of_atoms(system)? };
        let whole = (!groups.is_empty()).then(|| WholeGroups::now(system, system.unwrapped_by_id()));
        let reported =
            |whole| groups.iter().map(|group| Reported::new(group, system, whole, &degrees)).collect();
        let groups: Vec<Reported> = whole.as_ref().map_or_else(Vec::new, reported);
        let mut quantities = quantities(units, forces, groups.iter().map(|group| group.name.as_str()));
        let bodies = BodyMasses::new(system);
        quantities.extend(bodies.iter().flat_map(|_| body_energies::quantities(units)));
        quantities.extend(interactions.iter().flat_map(|interaction| interaction.columns(units)));
        let next_energy = BEFORE_ENERGIES + forces.n_terms();
        Ok(Columns { quantities, groups, bodies, interactions, next_energy })
    }

    /// Returns true where columns are found from the atoms.
    pub fn need_atoms(&self) -> bool {
        !(self.groups.is_empty() && self.interactions.is_empty()) || self.bodies.is_some()
    }

    /// Names of all columns.
    pub fn names(&self) -> Vec<&str> {
        let quantities = self.quantities.iter().map(|quantity| quantity.name.as_str());
        ["stage", "step", "time"].into_iter().chain(quantities).collect()
    }

    /// Adds the columns of a custom force: its energy behind those of the terms, its own at the end.
    ///
    /// # Errors
    /// If a name is empty, cannot be the name of a column, or is there already.
    pub fn add_force(
        &mut self,
        name: &str,
        energy: EnergyColumn,
        units: UnitSystem,
        columns: Vec<Quantity>,
    ) -> Result<()> {
        let column = Quantity::new(name, unit_name(units, Dimension::ENERGY));
        let energy = (energy == EnergyColumn::Present).then_some(column);
        let mut taken = self.names();
        for Quantity { name, .. } in columns.iter().chain(&energy) {
            check_column(name, &taken)?;
            taken.push(name);
        }
        if let Some(energy) = energy {
            self.quantities.insert(self.next_energy, energy);
            self.next_energy += 1;
        }
        self.quantities.extend(columns);
        Ok(())
    }
}

/// Refuses a name that is empty, cannot be that of a column, or is among those of others.
pub(super) fn check_column(name: &str, taken: &[&str]) -> Result<()> {
    let is_plain = |c: char| !c.is_control() && !c.is_whitespace() && c != ',' && c != '"';
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Error::input(format!("'{name}' cannot be the name of a column of thermo.csv"))
            .hint("use letters, digits and underscores"));
    }
    if taken.contains(&name) {
        return Err(Error::input(format!("thermo.csv has a column '{name}' already"))
            .hint("give the force, the bias or the variable another name"));
    }
    Ok(())
}
