//! Restraints (`kernels/restraint.cu`): forces that are added to those of other atoms.

use crate::codegen;
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::neighbor_engine::Trigger;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::{Summation, VIRIAL};
use jostle_core::{Evaluate, Precision, Result, SimBox, System, Vec3, Vector};
use jostle_potentials::Forces;
use jostle_potentials::restraint::{
    self as potentials, AtomRestraints, GroupMember, Spring, anchor_virial, spring,
};

/// Number of numbers of a distance's force: as in `restraint.cu`.
const DISTANCE_FORCE: usize = 10;

shared_structure! {
    /// Spring that anchors or distances of one restraint share; the host writes springs anew between steps.
    struct SpringData {
        stiffness: f64,
        /// 1 where places are counted from a centre that follows the box.
        follows: f64,
        center: Vec3,
    }

    /// Restraints. Those of an atom are numbered: anchors first, then restraints at a distance.
    struct RestraintData {
        /// Beginning of an atom's numbers, by id.
        first: u64 = "const u32*",
        /// Numbers of the restraints of atoms.
        number: u64 = "const u32*",
        /// Parts of an atom in the force of the centre of its group.
        share: u64 = "const double*",
        /// Places of anchors, from the centre of their spring.
        anchor: u64 = "const double*",
        /// Spring of each restraint.
        spring: u64 = "const u32*",
        springs: u64 = "const SpringData*",
        /// Beginnings of the members of two groups for each restraint at a distance.
        members: u64 = "const u32*",
        /// Ids of members.
        member: u64 = "const u32*",
        /// Parts of members in the mass of their group.
        member_share: u64 = "const double*",
        /// Images of members: [members][3].
        member_image: u64 = "const int*",
        /// Ranges of distances without a force: from, to.
        range: u64 = "const double*",
        /// Index of an atom, by id.
        place_of: u64 = "u32*",
        /// Force on the second centre, energy and virial.
        distance_force: u64 = "double*",
        n_anchors: i64,
        n_distances: i64,
    }
}

/// Springs in the form that kernels read.
fn springs(restraints: &potentials::Restraints, simbox: &SimBox) -> Vec<SpringData> {
    let data = |(spring, center): (&Spring, Vec3)| SpringData {
        stiffness: spring.stiffness,
        follows: f64::from(u8::from(spring.center.is_some())),
        center,
    };
    restraints.springs.iter().zip(restraints.centers(simbox)).map(data).collect()
}

/// Restraints of a system.
pub struct RestraintKernels {
    data: RestraintData,
    springs: Buffer<SpringData>,
    places: Kernel,
    distances: Kernel,
    forces: Kernel,
    energies: Kernel,
    sums: Kernel,
    shares: u32,
    n_pairs: usize,
    /// Index of the energy in a sample.
    column: usize,
    /// Memory to which the addresses point.
    _words: [Buffer<u32>; 6],
    _images: Buffer<i32>,
    _numbers: [Buffer<f64>; 5],
}

/// Source of the kernels.
pub fn build(precision: Precision, sums: Summation) -> Build {
    let formula = codegen::scalar_function("spring", 4, |x| {
        let (energy, force_over_r) = spring(x[0], [x[1], x[2], x[3]]);
        vec![energy, force_over_r]
    });
    let virial = codegen::scalar_function("anchor_virial", 6, |x| {
        anchor_virial(Vector([x[0], x[1], x[2]]), Vector([x[3], x[4], x[5]])).to_vec()
    });
    let formula = [formula, virial, SpringData::source(), RestraintData::source()].concat();
    kernels::module_source(&formula, include_str!("../kernels/restraint.cu"), precision, sums)
}

impl RestraintKernels {
    /// Kernels of restraints; `None` without any.
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
        let (n, restraints) = (system.state.len(), &forces.restraints);
        if restraints.is_empty() {
            return Ok(None);
        }
        let build = build(precision, sums);
        let module = device.compile("restraint.cu", &build.source, &build.options)?;
        let ties = AtomRestraints::new(restraints, n);
        let anchors: Vec<f64> = restraints.anchors.iter().flat_map(|anchor| anchor.place).collect();
        let of_anchors = restraints.anchors.iter().map(|anchor| anchor.spring);
        let of_distances = restraints.distances.iter().map(|distance| distance.spring);
        let spring: Vec<u32> = of_anchors.chain(of_distances).collect();
        let distances = || restraints.distances.iter();
        let centers = || distances().flat_map(|distance| &distance.centers);
        let mut begins = vec![0];
        centers().for_each(|center| begins.push(begins[begins.len() - 1] + center.members.len() as u32));
        let members: Vec<GroupMember> = centers().flat_map(|center| center.members.iter().copied()).collect();
        let ids: Vec<u32> = members.iter().map(|member| member.id).collect();
        let mass: Vec<f64> = members.iter().map(|member| member.share).collect();
        let images: Vec<i32> = members.iter().flat_map(|member| member.image).collect();
        let ranges: Vec<f64> = distances().flat_map(|d| d.range).collect();
        let words = [
            device.upload(&ties.first)?,
            device.upload(&ties.numbers)?,
            device.upload(&begins)?,
            device.upload(&ids)?,
            device.alloc(n)?,
            device.upload(&spring)?,
        ];
        let numbers = [
            device.upload(&ties.shares)?,
            device.upload(&anchors)?,
            device.upload(&mass)?,
            device.upload(&ranges)?,
            device.alloc(DISTANCE_FORCE * restraints.distances.len())?,
        ];
        let images = device.upload(&images)?;
        let springs = device.upload(&springs(restraints, &system.simbox))?;
        let data = RestraintData {
            first: words[0].address(),
            number: words[1].address(),
            share: numbers[0].address(),
            anchor: numbers[1].address(),
            spring: words[5].address(),
            springs: springs.address(),
            members: words[2].address(),
            member: words[3].address(),
            member_share: numbers[2].address(),
            member_image: images.address(),
            range: numbers[3].address(),
            place_of: words[4].address(),
            distance_force: numbers[4].address(),
            n_anchors: restraints.anchors.len() as i64,
            n_distances: restraints.distances.len() as i64,
        };
        Ok(Some(RestraintKernels {
            data,
            springs,
            places: module.kernel("restraint_places")?,
            distances: module.kernel("restraint_distances")?,
            forces: module.kernel("restraint_forces")?,
            energies: module.kernel("restraint_forces_energies")?,
            sums: module.kernel("restraint_sums")?,
            shares: sums.shares(n, ATOM_THREADS),
            n_pairs: forces.n_searched(),
            column: forces.n_terms() + VIRIAL - 1,
            _words: words,
            _images: images,
            _numbers: numbers,
        }))
    }

    /// Updates springs whose stiffness has changed, and the box.
    ///
    /// # Errors
    /// If the device failed.
    pub fn follow(&mut self, restraints: &potentials::Restraints, simbox: &SimBox) -> Result<()> {
        self.springs.write(0, &springs(restraints, simbox))
    }

    fn launch(&self, kernel: &Kernel, blocks: u32, data: &DeviceData) -> Launch {
        Launch::new(kernel, blocks, ATOM_THREADS).with_value(*data).with_value(self.data)
    }

    /// Launch that finds the atoms after a sort: part of building lists.
    pub fn build(&self, data: &DeviceData, slot: i32) -> Launch {
        self.launch(&self.places, kernels::blocks_of(data.n), data).with_value(slot)
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
        let (n_distances, atoms) = (self.data.n_distances as u32, kernels::blocks_of(data.n));
        let energies = evaluate == Evaluate::ForcesAndEnergies;
        let forces = if energies { &self.energies } else { &self.forces };
        let distances = (n_distances > 0).then_some((&self.distances, n_distances));
        let kernels = distances.into_iter().chain([(forces, atoms)]);
        let mut launches: Vec<Launch> = kernels
            .map(|(kernel, blocks)| {
                self.launch(kernel, blocks, data).with_value(slot).with_value(trigger as i32)
            })
            .collect();
        launches.extend(energies.then(|| {
            self.launch(&self.sums, 1, data)
                .with_value(self.shares as i32)
                .with_value(row_length as i32)
                .with_value(self.n_pairs as i32)
                .with_value(self.column as i32)
                .with_value(trigger as i32)
        }));
        launches
    }
}
