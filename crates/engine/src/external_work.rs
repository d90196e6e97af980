//! Work of fields that depend on time and of walls that move: the energy that they put into the atoms by changing.

use crate::custom_force::{
    AtomChoice, AtomForces, Configuration, CustomForce, EnergyColumn, ForceSums, StageSpan,
};
use crate::degrees_of_freedom::Momentum;
use crate::thermo::Quantity;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, SimBox, System, UnitSystem, Vec3};
use jostle_io::Input;
use jostle_io::input::model::{FieldEnergy, FieldStrength, FieldWork, WallInput};
use jostle_potentials::Forces;
use jostle_potentials::external::{FormulaField, Wall};
use jostle_sampling::bias::switching_work;

/// Work of some fields or walls, a column of `thermo.csv` that the conserved quantity takes off. The host finds it after
/// each step, from their energies at the positions and times before and after; forces are those of the device.
pub struct RecordedWork {
    sources: Sources,
    /// Ids of the atoms on which they act.
    atoms: Vec<u32>,
    unit: String,
    work: f64,
    last: Option<Last>,
}

/// Names of the columns: work of fields, of walls.
const COLUMNS: [&str; 2] = ["field_work", "wall_work"];

/// Forces that change with time.
enum Sources {
    Fields(Vec<FormulaField>),
    /// Walls, and the species of each atom.
    Walls(Vec<Wall>, Vec<usize>),
}

impl Sources {
    /// Name of the column, and of the state in checkpoints.
    fn name(&self) -> &'static str {
        match self {
            Sources::Fields(_) => COLUMNS[0],
            Sources::Walls(..) => COLUMNS[1],
        }
    }

    /// Energy at positions of atoms and a time.
    fn energy(&self, simbox: &SimBox, (ids, positions): (&[u32], &[Vec3]), time: f64) -> f64 {
        let atoms = || ids.iter().copied().zip(positions.iter().copied());
        match self {
            Sources::Fields(fields) => fields.iter().map(|field| field.energy(simbox, atoms(), time)).sum(),
            Sources::Walls(walls, species) => walls
                .iter()
                .flat_map(|wall| {
                    atoms().map(move |(id, position)| wall.energy_at(time, species[id as usize], position))
                })
                .sum(),
        }
    }
}

/// Configuration at the end of the last step.
struct Last {
    positions: Vec<Vec3>,
    simbox: SimBox,
    time: f64,
}

impl RecordedWork {
    fn new(sources: Sources, atoms: Vec<u32>, units: UnitSystem) -> Self {
        RecordedWork { sources, atoms, unit: unit_name(units, Dimension::ENERGY), work: 0.0, last: None }
    }

    /// Works that an input records: of the fields and of the walls among its forces.
    pub fn from_input(input: &Input, forces: &Forces, system: &System) -> Vec<Self> {
        let all = || 0..system.state.len() as u32;
        let recorded = energies(input)
            .zip(&forces.formula_fields)
            .filter(|(energy, _)| energy.work == FieldWork::Recorded);
        let fields: Vec<FormulaField> = recorded.map(|(_, field)| field.clone()).collect();
        let walls = walls(input).zip(&forces.walls).filter(|(wall, _)| wall.work == FieldWork::Recorded);
        let walls: Vec<Wall> = walls.map(|(_, wall)| wall.clone()).collect();

        let mut works = Vec::new();
        if !fields.is_empty() {
            let acts = |id: &u32| fields.iter().any(|field| field.acts_on(*id));
            let atoms = all().filter(acts).collect();
            works.push(RecordedWork::new(Sources::Fields(fields), atoms, input.units));
        }
        if !walls.is_empty() {
            let index_by_id = system.state.index_by_id();
            let species = all().map(|id| usize::from(system.state.species[index_by_id.of(id)])).collect();
            works.push(RecordedWork::new(Sources::Walls(walls, species), all().collect(), input.units));
        }
        works
    }

    /// Returns true where an input records the work of all fields and walls that change with time among its forces.
    pub fn is_all(input: &Input, forces: &Forces) -> bool {
        let mut fields = energies(input).zip(&forces.formula_fields);
        let mut walls = walls(input).zip(&forces.walls);
        fields.all(|(energy, field)| energy.work == FieldWork::Recorded || !field.depends_on_time())
            && walls.all(|(input, wall)| input.work == FieldWork::Recorded || !wall.motion.is_moving())
            && !forces.reflecting_walls.iter().any(|wall| wall.motion.is_moving())
    }

    /// Energy at positions and a time.
    fn energy(&self, simbox: &SimBox, positions: &[Vec3], time: f64) -> f64 {
        self.sources.energy(simbox, (&self.atoms, positions), time)
    }
}

/// Fields by formulas of an input, in the order of those among its forces.
fn energies(input: &Input) -> impl Iterator<Item = &FieldEnergy> {
    input.fields.iter().filter_map(|field| match &field.value.strength {
        FieldStrength::Energy(energy) => Some(energy),
        _ => None,
    })
}

/// Walls with a force of an input, in the order of those among its forces.
fn walls(input: &Input) -> impl Iterator<Item = &WallInput> {
    input.walls.iter().map(|wall| &wall.value).filter(|wall| !wall.reflects())
}

impl CustomForce for RecordedWork {
    fn name(&self) -> &str {
        self.sources.name()
    }

    fn energy_column(&self) -> EnergyColumn {
        EnergyColumn::Absent
    }

    fn atoms(&self) -> AtomChoice<'_> {
        AtomChoice::Ids(&self.atoms)
    }

    fn momentum(&self) -> Momentum {
        Momentum::Conserved
    }

    fn begin_stage(&mut self, _stage: &StageSpan) -> Result<()> {
        self.last = None;
        Ok(())
    }

    /// A stage begins with an evaluation, which is where its first step sets out from.
    fn evaluate(&mut self, now: &Configuration, _forces: &mut AtomForces) -> Result<ForceSums> {
        if self.last.is_none() {
            self.last = Some(Last { positions: now.positions.to_vec(), simbox: *now.simbox, time: now.time });
        }
        Ok(ForceSums::default())
    }

    fn end_step(&mut self, now: &Configuration) -> Result<()> {
        if let Some(Last { positions, simbox, time }) = &self.last {
            let before = [*time, now.time].map(|time| self.energy(simbox, positions, time));
            let after = [*time, now.time].map(|time| self.energy(now.simbox, now.positions, time));
            self.work += switching_work(before, after);
        }
        self.last = Some(Last { positions: now.positions.to_vec(), simbox: *now.simbox, time: now.time });
        Ok(())
    }

    fn work(&self) -> f64 {
        self.work
    }

    fn columns(&self) -> Vec<Quantity> {
        vec![Quantity::at_row(self.sources.name(), self.unit.clone())]
    }

    fn values(&self) -> Vec<Option<f64>> {
        vec![Some(self.work)]
    }

    fn save(&self) -> Result<Vec<u8>> {
        Ok(self.work.to_le_bytes().to_vec())
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let bytes = saved
            .try_into()
            .map_err(|_| Error::input("the checkpoint has no work of forces from outside"))?;
        self.work = f64::from_le_bytes(bytes);
        Ok(())
    }
}
