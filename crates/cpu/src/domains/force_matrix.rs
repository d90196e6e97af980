//! The force matrix: ranks in rows and columns, each of which evaluates pairs of an atom of its row with one of its
//! column.
//!
//! Pairs of all atoms are a matrix, whose rows and columns are divided among as many rows and columns of ranks (D. K.
//! Berry, J. Schuchart and R. Henschel 2013; S. Plimpton and B. Hendrickson, J. Comput. Chem. 17 (1996) 326). Every rank
//! owns and moves the atoms of a domain, as otherwise, and has the atoms of the other ranks of its row and column as
//! ghosts, wherever they are. Of the pairs of the atoms of two ranks, two places of the matrix have both: the row of one
//! and the column of the other, and the other way round. In IUMD both evaluate all of these pairs, one for the forces on
//! each side; here each takes half of them, every other pair of clusters, and sends the reactions back.
//! - Advantage: a rank has atoms of P + Q - 2 others, where forces that reach half the box make half of all ranks
//!   neighbours of a domain.
//! - Disadvantage: these are ghosts however far away they are, so that forces that reach less far have more ghosts than
//!   with domains, and some ranks more pairs than others.

use super::grid::{Link, Side};
use crate::columns::{Pairs, Partner};
use jostle_core::{Error, Result};
use std::ops::Range;

/// Ranks in rows and columns, one row after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForceMatrix {
    rows: usize,
    columns: usize,
}

/// Groups of the ghosts of a rank, and their pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GhostGroups {
    /// Number of groups.
    pub count: usize,
    /// Number of groups whose atoms have lists on this rank: the first ones.
    pub n_listed: usize,
    /// Groups with which pairs are listed, for the rank's own atoms and for each of the groups that have lists.
    pub partners: Vec<Vec<Partner>>,
}

impl GhostGroups {
    /// Groups of the two sides of a domain: its own atoms have pairs with ghosts of the upper one.
    pub fn of_sides() -> Self {
        GhostGroups {
            count: Side::COUNT,
            n_listed: 0,
            partners: vec![vec![Partner { group: Side::Upper as usize, pairs: Pairs::All }]],
        }
    }
}

impl ForceMatrix {
    /// Matrix of so many rows and columns.
    ///
    /// # Errors
    /// If they are not as many places as there are ranks.
    pub fn new([rows, columns]: [usize; 2], n_ranks: usize) -> Result<Self> {
        match rows.checked_mul(columns) {
            Some(places) if places == n_ranks => Ok(ForceMatrix { rows, columns }),
            _ => Err(Error::input(format!(
                "a force matrix of {rows} x {columns} ranks does not fit the {n_ranks} of this run"
            ))
            .hint("give rows and columns whose product is the number of ranks, as 2x2 with --ranks 4")),
        }
    }

    /// The matrix in words.
    pub fn describe(&self) -> String {
        format!("force matrix of {} x {} ranks", self.rows, self.columns)
    }

    /// Number of places.
    fn n_ranks(&self) -> usize {
        self.rows * self.columns
    }

    /// Pairs of clusters of two ranks that a third one evaluates, which has both, or one of the two; `None` for others.
    fn pairs(&self, rank: usize, one: usize, other: usize) -> Option<Pairs> {
        let place =
            |of_row: usize, of_column: usize| of_row / self.columns * self.columns + of_column % self.columns;
        let (low, high) = (one.min(other), one.max(other));
        [(place(low, high), Pairs::Even), (place(high, low), Pairs::Odd)]
            .into_iter()
            .find_map(|(place, pairs)| (place == rank).then_some(pairs))
    }

    /// Groups of the ghosts of a rank, one for each rank that they come from.
    pub fn ghosts(&self, rank: usize) -> GhostGroups {
        self.groups(rank).1
    }

    /// Ranks that a rank has ghosts of, of its row, then of its column; and the groups of these ghosts.
    fn groups(&self, rank: usize) -> (Vec<usize>, GhostGroups) {
        let (row, column) = (|rank: usize| rank / self.columns, |rank: usize| rank % self.columns);
        let others = (0..self.n_ranks()).filter(|other| *other != rank);
        let (of_row, rest): (Vec<usize>, Vec<usize>) = others.partition(|other| row(*other) == row(rank));
        let of_column = rest.into_iter().filter(|other| column(*other) == column(rank));
        let ranks: Vec<usize> = of_row.iter().copied().chain(of_column).collect();
        let partners = |one: usize, groups: Range<usize>| {
            let partner = |group| self.pairs(rank, one, ranks[group]).map(|pairs| Partner { group, pairs });
            groups.filter_map(partner).collect()
        };
        let own = partners(rank, 0..ranks.len());
        let listed = of_row.iter().map(|one| partners(*one, of_row.len()..ranks.len()));
        let partners = std::iter::once(own).chain(listed).collect();
        let groups = GhostGroups { count: ranks.len(), n_listed: of_row.len(), partners };
        (ranks, groups)
    }

    /// Ranks whose atoms a rank has as ghosts.
    pub fn sources(&self, rank: usize) -> Vec<Link> {
        let groups = self.groups(rank).0.into_iter().enumerate();
        let mut links: Vec<Link> = groups.map(|(group, rank)| Link { rank, image: [0; 3], group }).collect();
        links.sort_by_key(|link| link.rank);
        links
    }

    /// Ranks that have the atoms of a rank as ghosts.
    pub fn receivers(&self, rank: usize) -> Vec<Link> {
        let group = |other: usize| self.groups(other).0.iter().position(|source| *source == rank);
        let link = |other| group(other).map(|group| Link { rank: other, image: [0; 3], group });
        (0..self.n_ranks()).filter_map(link).collect()
    }
}
