//! Which atoms are bound to which, by id: storage order never matters here.

/// Two atoms held together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bond {
    /// Index into [`Topology::bond_types`].
    pub kind: u16,
    /// The ids of the two.
    pub atoms: [u32; 2],
}

/// Three atoms in a row; the angle is at the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Angle {
    /// Index into [`Topology::angle_types`].
    pub kind: u16,
    /// The ids of the three.
    pub atoms: [u32; 3],
}

/// Bonds and angles of a system. It does not change as atoms move.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// Names of the kinds of bonds.
    pub bond_types: Vec<String>,
    /// The bonds, each once.
    pub bonds: Vec<Bond>,
    /// Names of the kinds of angles.
    pub angle_types: Vec<String>,
    /// The angles, each once.
    pub angles: Vec<Angle>,
}

/// Which pairs of bound atoms the pair forces leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Exclude {
    /// None: bound atoms interact as all others do (Kremer and Grest's chains).
    #[default]
    None,
    /// Atoms with a bond between them, "1-2".
    Bonded,
    /// These, and atoms bound to the same third one, "1-3".
    SecondBonded,
}

impl Exclude {
    /// All of them, in the order of the documentation.
    pub const ALL: [Exclude; 3] = [Exclude::None, Exclude::Bonded, Exclude::SecondBonded];

    /// The name in an input file.
    pub fn name(self) -> &'static str {
        match self {
            Exclude::None => "none",
            Exclude::Bonded => "1-2",
            Exclude::SecondBonded => "1-3",
        }
    }

    /// One line for people.
    pub fn about(self) -> &'static str {
        match self {
            Exclude::None => "none: bound atoms interact as all others do",
            Exclude::Bonded => "atoms with a bond between them",
            Exclude::SecondBonded => "these, and atoms bound to the same third one",
        }
    }
}

impl Topology {
    /// Whether there are neither bonds nor angles.
    pub fn is_empty(&self) -> bool {
        self.bonds.is_empty() && self.angles.is_empty()
    }

    /// For each of `n` atoms, by id, the ids of the atoms it is bound to, in ascending order.
    pub fn partners(&self, n: usize) -> Vec<Vec<u32>> {
        let mut partners = vec![Vec::new(); n];
        for Bond { atoms: [a, b], .. } in &self.bonds {
            partners[*a as usize].push(*b);
            partners[*b as usize].push(*a);
        }
        for list in &mut partners {
            list.sort_unstable();
            list.dedup();
        }
        partners
    }

    /// For each of `n` atoms, by id, the ids of the atoms that it has no pair force with, in
    /// ascending order; no lists at all where nothing is left out.
    pub fn exclusions(&self, n: usize, exclude: Exclude) -> Vec<Vec<u32>> {
        let partners = match exclude {
            Exclude::None => return Vec::new(),
            _ if self.bonds.is_empty() => return Vec::new(),
            Exclude::Bonded => return self.partners(n),
            Exclude::SecondBonded => self.partners(n),
        };
        let second = |a: usize| {
            let further = partners[a].iter().flat_map(|b| &partners[*b as usize]);
            let mut list: Vec<u32> =
                partners[a].iter().chain(further).copied().filter(|c| *c as usize != a).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        (0..n).map(second).collect()
    }

    /// Chains of `beads` atoms each that follow each other in their ids, with all bonds of one type
    /// and all angles of one type, both called `name`.
    pub fn chains(chains: usize, beads: usize, name: &str) -> Topology {
        let firsts = || (0..chains).map(|c| (c * beads) as u32);
        let places = |n: usize| 0..beads.saturating_sub(n) as u32;
        let bond = |a: u32| Bond { kind: 0, atoms: [a, a + 1] };
        let angle = |a: u32| Angle { kind: 0, atoms: [a, a + 1, a + 2] };
        Topology {
            bond_types: vec![name.into()],
            bonds: firsts().flat_map(|first| places(1).map(move |k| bond(first + k))).collect(),
            angle_types: vec![name.into()],
            angles: firsts().flat_map(|first| places(2).map(move |k| angle(first + k))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_end_where_the_next_begins() {
        let topology = Topology::chains(2, 4, "chain");
        let bonds: Vec<_> = topology.bonds.iter().map(|b| b.atoms).collect();
        assert_eq!(bonds, [[0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [6, 7]]);
        let angles: Vec<_> = topology.angles.iter().map(|a| a.atoms).collect();
        assert_eq!(angles, [[0, 1, 2], [1, 2, 3], [4, 5, 6], [5, 6, 7]]);
        assert!(Topology::chains(3, 1, "chain").is_empty());
    }

    #[test]
    fn exclusions_reach_as_far_as_is_said() {
        let topology = Topology::chains(1, 5, "chain");
        assert!(topology.exclusions(6, Exclude::None).is_empty());
        let near = topology.exclusions(6, Exclude::Bonded);
        assert_eq!(near[0], [1]);
        assert_eq!(near[2], [1, 3]);
        assert!(near[5].is_empty());
        let far = topology.exclusions(6, Exclude::SecondBonded);
        assert_eq!(far[0], [1, 2]);
        assert_eq!(far[2], [0, 1, 3, 4]);
    }
}
