//! Work of fields that depend on time: the energy that they put into the atoms by changing.

use crate::custom_force::{
    AtomChoice, AtomForces, Configuration, CustomForce, EnergyColumn, ForceSums, StageSpan,
};
use crate::degrees_of_freedom::Momentum;
use crate::thermo::Quantity;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, SimBox, UnitSystem, Vec3};
use jostle_io::Input;
use jostle_io::input::model::{FieldStrength, FieldWork};
use jostle_potentials::Forces;
use jostle_potentials::external::FormulaField;
use jostle_sampling::bias::switching_work;

/// Name of the column, and of the state in checkpoints.
const NAME: &str = "field_work";

/// Work of some fields, a column of `thermo.csv` that the conserved quantity takes off. The host finds it after each
/// step, from the energies of the fields at the positions and times before and after; forces are those of the device.
pub struct RecordedWork {
    fields: Vec<FormulaField>,
    /// Ids of the atoms on which they act.
    atoms: Vec<u32>,
    unit: String,
    work: f64,
    last: Option<Last>,
}

/// Configuration at the end of the last step.
struct Last {
    positions: Vec<Vec3>,
    simbox: SimBox,
    time: f64,
}

impl RecordedWork {
    /// Work of fields on so many atoms.
    pub fn new(fields: Vec<FormulaField>, n_atoms: usize, units: UnitSystem) -> Self {
        let acts = |id: &u32| fields.iter().any(|field| field.acts_on(*id));
        let atoms = (0..n_atoms as u32).filter(acts).collect();
        RecordedWork { fields, atoms, unit: unit_name(units, Dimension::ENERGY), work: 0.0, last: None }
    }

    /// Work of the fields of an input that records it, of those among its forces; `None` without any.
    pub fn from_input(input: &Input, forces: &Forces, n_atoms: usize) -> Option<Self> {
        let energies = input.fields.iter().filter_map(|field| match &field.value.strength {
            FieldStrength::Energy(energy) => Some(energy),
            _ => None,
        });
        let recorded =
            energies.zip(&forces.formula_fields).filter(|(energy, _)| energy.work == FieldWork::Recorded);
        let fields: Vec<FormulaField> = recorded.map(|(_, field)| field.clone()).collect();
        (!fields.is_empty()).then(|| RecordedWork::new(fields, n_atoms, input.units))
    }

    /// Energy of all fields at positions and a time.
    fn energy(&self, simbox: &SimBox, positions: &[Vec3], time: f64) -> f64 {
        let atoms = || self.atoms.iter().copied().zip(positions.iter().copied());
        self.fields.iter().map(|field| field.energy(simbox, atoms(), time)).sum()
    }
}

impl CustomForce for RecordedWork {
    fn name(&self) -> &str {
        NAME
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
        vec![Quantity::new(NAME, self.unit.clone())]
    }

    fn values(&self) -> Vec<Option<f64>> {
        vec![Some(self.work)]
    }

    fn save(&self) -> Result<Vec<u8>> {
        Ok(self.work.to_le_bytes().to_vec())
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let bytes = saved.try_into().map_err(|_| Error::input("the checkpoint has no work of fields"))?;
        self.work = f64::from_le_bytes(bytes);
        Ok(())
    }
}
