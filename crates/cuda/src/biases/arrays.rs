//! Memory of variables and biases on a device.

use super::data::{
    self, BiasData, BiasGroup, BiasMember, BiasPartner, BiasSpan, BiasState, BiasTerm, BiasVariable, Entries,
    NONE_UNDEFINED, STRUCTURE_NUMBERS,
};
use super::hills::{HillArrays, NUMBERS};
use super::places::Places;
use crate::arrays::Reals;
use crate::device_data::ForcesBeside;
use crate::driver::{Buffer, Device};
use jostle_core::backend::CenterBiases;
use jostle_core::{Precision, Result};
use std::collections::HashMap;

/// State of all biases until a stage begins.
pub const BEFORE_A_STAGE: BiasState = BiasState {
    step: 0,
    first_step: 0,
    start_time: 0.0,
    timestep: 0.0,
    seed: 0,
    fresh: 0,
    undefined: NONE_UNDEFINED,
    fault: NONE_UNDEFINED,
    fault_step: 0,
    unended: 0,
};

/// Numbers that an evaluation leaves, from step to step anew.
struct Work {
    chunk_sums: Buffer<f64>,
    centers: Buffer<f64>,
    center_force: Buffer<f64>,
    values: Buffer<f64>,
    vectors: Buffer<f64>,
    gradients: Buffer<f64>,
    weights: Buffer<f64>,
    slopes: Buffer<f64>,
    energies: Buffer<f64>,
    virial: Buffer<f64>,
    structures: Buffer<f64>,
    member_slopes: Buffer<f64>,
}

/// Memory to which the addresses in [`BiasData`] point.
pub struct Arrays {
    pub spans: Buffer<BiasSpan>,
    pub state: Buffer<BiasState>,
    pub numbers: Buffer<f64>,
    pub terms: Buffer<BiasTerm>,
    pub fault_values: Buffer<f64>,
    pub rows: Buffer<f64>,
    place_by_id: Buffer<i32>,
    index: Buffer<u32>,
    place_of_atom: Buffer<i32>,
    force: Reals,
    members: Buffer<BiasMember>,
    groups: Buffer<BiasGroup>,
    chunks: Buffer<u32>,
    variables: Buffer<BiasVariable>,
    entries: Buffer<i32>,
    first_share: Buffer<u32>,
    share_group: Buffer<u32>,
    shares: Buffer<f64>,
    share_member: Buffer<u32>,
    group_structure: Buffer<i32>,
    first_partner: Buffer<u32>,
    partners: Buffer<BiasPartner>,
    work: Work,
    first_bias_entry: usize,
}

impl Work {
    fn new(device: &Device, places: &Places, terms: &[BiasTerm], sizes: [usize; 2]) -> Result<Self> {
        let [n_variables, n_entries] = sizes;
        // Centres of springs that do not act in the first stage.
        let energies: Vec<f64> = terms.iter().flat_map(|term| [0.0, term.parameters[0], 0.0]).collect();
        let n_groups = places.groups.len();
        let zeros = |count: usize| device.upload(&vec![0.0; count]);
        Ok(Work {
            chunk_sums: zeros(3 * places.chunks.len() / 2)?,
            centers: zeros(3 * n_groups)?,
            center_force: zeros(3 * n_groups)?,
            values: zeros(n_variables)?,
            vectors: zeros(9 * n_variables)?,
            gradients: zeros(9 * n_variables)?,
            weights: zeros(n_variables)?,
            slopes: zeros(n_entries)?,
            energies: device.upload(&energies)?,
            virial: zeros(6)?,
            structures: zeros(STRUCTURE_NUMBERS * n_variables)?,
            member_slopes: zeros(if places.partners.is_empty() { 0 } else { 3 * places.members.len() })?,
        })
    }
}

impl Arrays {
    /// Copies everything to a device.
    ///
    /// # Errors
    /// If it has too little memory.
    pub fn new(
        device: &Device,
        biases: &CenterBiases,
        places: &Places,
        hills: &HashMap<usize, HillArrays>,
        precision: Precision,
    ) -> Result<Self> {
        let mut entries = Entries::default();
        let variables = data::variables(biases, &mut entries);
        let terms = data::terms(biases, &mut entries, hills);
        let sizes = [variables.len(), entries.variables.len()];
        Ok(Arrays {
            spans: device.alloc(terms.len())?,
            state: device.upload(&[BEFORE_A_STAGE])?,
            numbers: device.upload(&vec![0.0; NUMBERS * terms.len()])?,
            terms: device.upload(&terms)?,
            fault_values: device.upload(&vec![0.0; variables.len()])?,
            rows: device.alloc(biases.row_length() + 1)?,
            place_by_id: device.upload(&places.by_id)?,
            index: device.alloc(places.count)?,
            place_of_atom: device.upload(&vec![-1; places.by_id.len()])?,
            force: Reals::alloc(device, precision, 3 * places.count)?,
            members: device.upload(&places.members)?,
            groups: device.upload(&places.groups)?,
            chunks: device.upload(&places.chunks)?,
            variables: device.upload(&variables)?,
            entries: device.upload(&entries.variables)?,
            first_share: device.upload(&places.first_share)?,
            share_group: device.upload(&places.share_group)?,
            shares: device.upload(&places.shares)?,
            share_member: device.upload(&places.share_member)?,
            group_structure: device.upload(&places.group_structure)?,
            first_partner: device.upload(&places.first_partner)?,
            partners: device.upload(&places.partners)?,
            work: Work::new(device, places, &terms, sizes)?,
            first_bias_entry: entries.first_of_biases,
        })
    }

    /// Arrays of the forces by place, and of the place of each atom.
    pub fn forces_beside(&self) -> ForcesBeside {
        ForcesBeside { force: self.force.address(), place: self.place_of_atom.address() }
    }

    /// Addresses and numbers of everything.
    pub fn data(&self) -> BiasData {
        let work = &self.work;
        BiasData {
            n_groups: self.groups.len() as i64,
            n_variables: self.variables.len() as i64,
            n_terms: self.terms.len() as i64,
            n_entries: self.entries.len() as i64,
            first_bias_entry: self.first_bias_entry as i64,
            n_places: self.index.len() as i64,
            place_by_id: self.place_by_id.address(),
            index: self.index.address(),
            place_of_atom: self.place_of_atom.address(),
            members: self.members.address(),
            groups: self.groups.address(),
            chunks: self.chunks.address(),
            chunk_sums: work.chunk_sums.address(),
            variables: self.variables.address(),
            terms: self.terms.address(),
            entries: self.entries.address(),
            spans: self.spans.address(),
            state: self.state.address(),
            first_share: self.first_share.address(),
            share_group: self.share_group.address(),
            shares: self.shares.address(),
            share_member: self.share_member.address(),
            group_structure: self.group_structure.address(),
            first_partner: self.first_partner.address(),
            partners: self.partners.address(),
            member_slopes: work.member_slopes.address(),
            structures: work.structures.address(),
            centers: work.centers.address(),
            center_force: work.center_force.address(),
            values: work.values.address(),
            vectors: work.vectors.address(),
            gradients: work.gradients.address(),
            weights: work.weights.address(),
            slopes: work.slopes.address(),
            energies: work.energies.address(),
            virial: work.virial.address(),
            numbers: self.numbers.address(),
            fault_values: self.fault_values.address(),
            rows: self.rows.address(),
        }
    }
}
