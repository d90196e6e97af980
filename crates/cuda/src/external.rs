//! Fields and walls (`kernels/external.cu`), and restraints: forces that are added to those of other atoms.

use crate::arrays::Reals;
use crate::codegen;
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::neighbor_engine::Trigger;
use crate::restraint::RestraintKernels;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::{Summation, VIRIAL};
use crate::wall_plane::{FieldTime, WallPlane};
use jostle_core::backend::StageTime;
use jostle_core::{Components, Evaluate, Precision, Result, SimBox, System};
use jostle_potentials::Forces;
use jostle_potentials::external::{Field, FormulaField, Positions, Wall};

shared_structure! {
    /// Field: a force that is the same everywhere.
    struct FieldData {
        /// Forces by species: [species][3].
        force: u64 = "const double*",
        /// 1 for atoms on which the field acts, by id; null where it acts on all.
        members: u64 = "const u32*",
    }

    /// Field by a formula.
    struct FormulaFieldData {
        /// Constants of atoms: [id][constant].
        constants: u64 = "const double*",
        /// 1 for atoms on which the field acts, by id; null where it acts on all.
        members: u64 = "const u32*",
        time: u64 = "const FieldTime*",
    }

    /// Wall: a plane that acts on atoms.
    struct WallData {
        /// Table of the pair force.
        table: u64 = "const real*",
        /// Cut-offs by species; 0 without a force.
        reach: u64 = "const double*",
        plane: WallPlane,
    }
}

/// Field or wall.
#[derive(Debug, Clone, Copy)]
enum FieldOrWall {
    Field(FieldData),
    Wall(WallData),
    Formula(FormulaFieldData),
}

/// Kernels of one field or wall.
struct ExternalTerm {
    data: FieldOrWall,
    forces: Kernel,
    energies: Kernel,
    sums: Kernel,
    /// Memory to which the addresses in `data` point.
    _numbers: Buffer<f64>,
    _members: Option<Buffer<u32>>,
    _table: Option<Reals>,
    /// Time of evaluations, for a formula and for a wall.
    time: Option<Buffer<FieldTime>>,
}

/// Fields, walls, and restraints of a system.
pub struct ExternalForces {
    terms: Vec<ExternalTerm>,
    restraints: Option<RestraintKernels>,
    shares: u32,
    /// Index in a sample of the energy of the first of them.
    first: usize,
}

/// Source of the kernels for a field.
pub fn field(precision: Precision, sums: Summation) -> Build {
    let physics = FieldData::source() + include_str!("../kernels/field.cu");
    kernels::module_source(&physics, include_str!("../kernels/external.cu"), precision, sums)
}

/// Source of the kernels for a field by a formula.
pub fn formula_field(field: &FormulaField, precision: Precision, sums: Summation) -> Build {
    let inputs = field.n_inputs();
    let unwrapped = u8::from(field.positions == Positions::Unwrapped);
    let physics = [
        FormulaFieldData::source(),
        format!("enum {{ FIELD_INPUTS = {inputs}, UNWRAPPED = {unwrapped} }};\n"),
        codegen::scalar_function("field_formula", inputs, |x| field.energy_and_slopes(x)),
        include_str!("../kernels/formula_field.cu").to_string(),
    ];
    kernels::module_source(&physics.join("\n"), include_str!("../kernels/external.cu"), precision, sums)
}

/// Source of the kernels for a wall.
pub fn wall(wall: &Wall, precision: Precision, sums: Summation) -> Build {
    let pair = codegen::pair_source(std::slice::from_ref(&wall.term), &[], precision);
    let moves = u8::from(wall.motion.is_moving());
    let physics = [
        pair.source,
        WallData::source(),
        format!("enum {{ MOVES = {moves} }};\n"),
        include_str!("../kernels/wall.cu").to_string(),
    ]
    .join("\n");
    let build = kernels::module_source(&physics, include_str!("../kernels/external.cu"), precision, sums);
    Build { table: pair.table, ..build }
}

impl ExternalTerm {
    fn new(
        device: &Device,
        build: &Build,
        data: FieldOrWall,
        numbers: Buffer<f64>,
        table: Option<Reals>,
    ) -> Result<ExternalTerm> {
        let module = device.compile("external.cu", &build.source, &build.options)?;
        Ok(ExternalTerm {
            data,
            forces: module.kernel("external_forces")?,
            energies: module.kernel("external_forces_energies")?,
            sums: module.kernel("external_sums")?,
            _numbers: numbers,
            _members: None,
            _table: table,
            time: None,
        })
    }

    fn field(device: &Device, field: &Field, precision: Precision, sums: Summation) -> Result<ExternalTerm> {
        let force = device.upload(field.force.as_flattened())?;
        let members = (!field.members.is_empty()).then(|| device.upload(&field.members)).transpose()?;
        let address = members.as_ref().map_or(0, Buffer::address);
        let data = FieldOrWall::Field(FieldData { force: force.address(), members: address });
        let term = ExternalTerm::new(device, &self::field(precision, sums), data, force, None)?;
        Ok(ExternalTerm { _members: members, ..term })
    }

    fn wall(device: &Device, wall: &Wall, precision: Precision, sums: Summation) -> Result<ExternalTerm> {
        let build = self::wall(wall, precision, sums);
        let table = Reals::upload(device, precision, &build.table)?;
        let cutoff = |species| wall.term.get(species, wall.species()).map_or(0.0, |entry| entry.cutoff);
        let reach = device.upload(&(0..wall.species()).map(cutoff).collect::<Vec<f64>>())?;
        let time = device.upload(&[FieldTime::AT_BEGINNING])?;
        let data = FieldOrWall::Wall(WallData {
            table: table.address(),
            reach: reach.address(),
            plane: WallPlane::of(wall, time.address()),
        });
        let term = ExternalTerm::new(device, &build, data, reach, Some(table))?;
        Ok(ExternalTerm { time: Some(time), ..term })
    }

    fn formula(
        device: &Device,
        field: &FormulaField,
        precision: Precision,
        sums: Summation,
    ) -> Result<ExternalTerm> {
        // Buffers have at least one number.
        let (n, constants) = field.constants();
        let constants = device.upload(if n == 0 { &[0.0] } else { constants })?;
        let members = (!field.members.is_empty()).then(|| device.upload(&field.members)).transpose()?;
        let time = device.upload(&[FieldTime { start: field.time, timestep: 0.0, steps: 0 }])?;
        let data = FieldOrWall::Formula(FormulaFieldData {
            constants: constants.address(),
            members: members.as_ref().map_or(0, Buffer::address),
            time: time.address(),
        });
        let build = formula_field(field, precision, sums);
        let term = ExternalTerm::new(device, &build, data, constants, None)?;
        Ok(ExternalTerm { _members: members, time: Some(time), ..term })
    }

    fn launch(&self, kernel: &Kernel, data: &DeviceData) -> Launch {
        let blocks = (data.n as u32).div_ceil(ATOM_THREADS).max(1);
        let launch = Launch::new(kernel, blocks, ATOM_THREADS).with_value(*data);
        match self.data {
            FieldOrWall::Field(data) => launch.with_value(data),
            FieldOrWall::Wall(data) => launch.with_value(data),
            FieldOrWall::Formula(data) => launch.with_value(data),
        }
    }
}

impl ExternalForces {
    /// Kernels of the fields, walls and restraints of a system; `None` without any.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        forces: &Forces,
        precision: Precision,
        sums: Summation,
    ) -> Result<Option<Self>> {
        let fields = forces.fields.iter().map(|field| ExternalTerm::field(device, field, precision, sums));
        let walls = forces.walls.iter().map(|wall| ExternalTerm::wall(device, wall, precision, sums));
        let formulas = forces.formula_fields.iter();
        let formulas = formulas.map(|field| ExternalTerm::formula(device, field, precision, sums));
        let terms = fields.chain(walls).chain(formulas).collect::<Result<Vec<_>>>()?;
        let first = forces.n_searched() + VIRIAL + forces.n_unbounded() + forces.n_bonded();
        let shares = sums.shares(system.state.len(), ATOM_THREADS);
        let restraints = RestraintKernels::new(device, system, forces, precision, sums)?;
        let any = !terms.is_empty() || restraints.is_some();
        Ok(any.then_some(ExternalForces { terms, restraints, shares, first }))
    }

    /// Updates springs whose stiffness has changed, and the box.
    ///
    /// # Errors
    /// If the device failed.
    pub fn follow(&mut self, forces: &Forces, simbox: &SimBox) -> Result<()> {
        let restraints = self.restraints.as_mut();
        restraints.map_or(Ok(()), |restraints| restraints.follow(&forces.restraints, simbox))
    }

    /// Sets the time of evaluations, from which the steps of a batch count on.
    ///
    /// # Errors
    /// If the device failed.
    pub fn set_time(&self, time: StageTime) -> Result<()> {
        let time = FieldTime::of(time);
        self.terms
            .iter()
            .filter_map(|term| term.time.as_ref())
            .try_for_each(|buffer| buffer.write(0, &[time]))
    }

    /// Launch that finds the restrained atoms after a sort: part of building lists.
    pub fn build(&self, data: &DeviceData, slot: i32) -> Option<Launch> {
        self.restraints.as_ref().map(|restraints| restraints.build(data, slot))
    }

    /// Launches that add the forces; with energies, these go into a sample, too.
    pub fn forces(
        &self,
        data: &DeviceData,
        slot: i32,
        row_length: usize,
        trigger: Trigger,
        evaluate: Evaluate,
    ) -> Vec<Launch> {
        let mut launches = Vec::new();
        for (k, term) in self.terms.iter().enumerate() {
            let energies = evaluate == Evaluate::ForcesAndEnergies;
            let kernel = if energies { &term.energies } else { &term.forces };
            launches.push(term.launch(kernel, data).with_value(slot).with_value(trigger as i32));
            if energies {
                launches.push(
                    Launch::new(&term.sums, 1, ATOM_THREADS)
                        .with_value(*data)
                        .with_value(self.shares as i32)
                        .with_value(row_length as i32)
                        .with_value((self.first + k) as i32)
                        .with_value(trigger as i32),
                );
            }
        }
        if let Some(restraints) = &self.restraints {
            launches.extend(restraints.forces(data, slot, row_length, trigger, evaluate));
        }
        launches
    }
}
