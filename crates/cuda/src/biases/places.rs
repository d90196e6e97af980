//! Atoms of the groups of biases, each with one place, however many groups it belongs to.

use super::data::{BiasGroup, BiasMember, BiasPartner};
use jostle_core::backend::{CenterBiases, CenterFunction};

/// Largest number of members of a group whose centre one warp finds.
const SMALL_GROUP: usize = 128;
/// Members of a chunk of a larger group.
const CHUNK: usize = 1024;

/// Variable that is a function of all members of a group.
fn structure_of(biases: &CenterBiases, group: usize) -> Option<usize> {
    let of_members = |function: &CenterFunction| {
        matches!(
            function,
            CenterFunction::Gyration
                | CenterFunction::Deviation(_)
                | CenterFunction::Dipole(_)
                | CenterFunction::Pairs(..)
        )
    };
    biases.variables.iter().position(|v| of_members(&v.function) && v.groups.contains(&group))
}

/// Atoms of all groups, and where they are.
#[derive(Default)]
pub struct Places {
    /// Place of each atom by id; -1 for atoms of no group.
    pub by_id: Vec<i32>,
    pub count: usize,
    pub members: Vec<BiasMember>,
    pub groups: Vec<BiasGroup>,
    pub chunks: Vec<u32>,
    pub first_share: Vec<u32>,
    pub share_group: Vec<u32>,
    pub shares: Vec<f64>,
    pub share_member: Vec<u32>,
    pub group_structure: Vec<i32>,
    /// First partner of each member, and one after the last.
    pub first_partner: Vec<u32>,
    pub partners: Vec<BiasPartner>,
}

impl Places {
    /// Members of the groups of biases in a system of `n` atoms.
    pub fn new(biases: &CenterBiases, n: usize) -> Self {
        let mut places = Places { by_id: vec![-1; n], ..Places::default() };
        let mut of_atoms: Vec<Vec<(u32, f64, u32)>> = Vec::new();
        for (g, group) in biases.groups.iter().enumerate() {
            let first = places.members.len() as u32;
            let structure = structure_of(biases, g);
            places.group_structure.push(structure.map_or(-1, |v| v as i32));
            let reference = structure.and_then(|v| match &biases.variables[v].function {
                CenterFunction::Deviation(reference) => Some(reference),
                _ => None,
            });
            let total: f64 = group.iter().map(|member| member.charge).sum();
            for (k, member) in group.iter().enumerate() {
                let place = &mut places.by_id[member.id as usize];
                if *place < 0 {
                    *place = of_atoms.len() as i32;
                    of_atoms.push(Vec::new());
                }
                of_atoms[*place as usize].push((g as u32, member.share, places.members.len() as u32));
                let (place, share) = (*place as u32, member.share);
                let charge = member.charge - total * share;
                let reference = reference.and_then(|all| all.get(k)).copied().unwrap_or_default();
                places.members.push(BiasMember { place, image: member.image, share, charge, reference });
            }
            let end = places.members.len() as u32;
            let first_chunk = (places.chunks.len() / 2) as u32;
            if group.len() > SMALL_GROUP {
                for begin in (first..end).step_by(CHUNK) {
                    places.chunks.extend([begin, end.min(begin + CHUNK as u32)]);
                }
            }
            let chunks = (places.chunks.len() / 2) as u32 - first_chunk;
            places.groups.push(BiasGroup { first, end, first_chunk, chunks });
        }
        places.take_pairs(biases);
        places.count = of_atoms.len();
        places.first_share.push(0);
        for atom in of_atoms {
            places.share_group.extend(atom.iter().map(|(group, ..)| group));
            places.shares.extend(atom.iter().map(|(_, share, _)| share));
            places.share_member.extend(atom.iter().map(|(.., member)| member));
            places.first_share.push(places.shares.len() as u32);
        }
        places
    }

    /// Lists the partners of each member in pairs that are counted.
    fn take_pairs(&mut self, biases: &CenterBiases) {
        let mut of_members = vec![Vec::new(); self.members.len()];
        for variable in &biases.variables {
            let CenterFunction::Pairs(_, pairs) = &variable.function else { continue };
            let firsts = [0, 1].map(|side| self.groups[variable.groups[side]].first as usize);
            for pair in pairs {
                let [a, b] = [0, 1].map(|side| firsts[side] + pair.members[side]);
                of_members[a].push(BiasPartner { member: b as i64, end: pair.end });
                of_members[b].push(BiasPartner { member: a as i64, end: pair.end });
            }
        }
        self.first_partner.push(0);
        for partners in of_members {
            self.partners.extend(partners);
            self.first_partner.push(self.partners.len() as u32);
        }
    }
}
