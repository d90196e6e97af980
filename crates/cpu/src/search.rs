//! Search for the clusters that may be within reach of a cluster.
//!
//! The columns near a column, with their periodic images, are its strips. Clusters are searched for in
//! order, so that in every strip the window of heights within reach only moves up.

use crate::cells::Clusters;
use crate::columns::{Bounds, Columns, Pairs};
use crate::simd::Scalar;
use jostle_core::{SimBox, Vec3};

/// A cluster that may be within reach.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Number of the cluster.
    pub cluster: usize,
    /// Image of the cluster.
    pub shift: Vec3,
}

/// A column, or an image of one, near the column now looked at.
struct Strip {
    /// Clusters above the lower end of the window.
    next: usize,
    end: usize,
    shift: Vec3,
    /// The box around its atoms, image shift included.
    bounds: Bounds,
    relation: Relation,
    /// Of the clusters of ghosts those are listed whose number has this remainder, with that of the cluster itself, by
    /// two; `None`: all.
    remainder: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Image of another column.
    Other,
    /// The column itself: clusters above are listed.
    Itself,
    /// An image of the column: clusters above are listed, and the cluster's own image.
    Image,
    /// The opposite image of the column: clusters above only.
    OppositeImage,
}

/// Pairs of clusters that a search lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// Each pair once, with one of its clusters; a cluster's own images once each, not itself.
    Once,
    /// Each pair with both clusters, and a cluster with itself and all of its images.
    FromBothSides,
}

/// The search, see the head of this file.
pub struct Search<'a, S: Scalar> {
    clusters: &'a Clusters<S>,
    simbox: &'a SimBox,
    reach: f64,
    widths: [f64; 3],
    listed: Listed,
    /// One past the last cluster of the column that `strips` are for.
    column_end: usize,
    strips: Vec<Strip>,
}

impl<'a, S: Scalar> Search<'a, S> {
    /// Search up to a distance of `reach`.
    pub fn new(clusters: &'a Clusters<S>, simbox: &'a SimBox, reach: f64, listed: Listed) -> Self {
        let widths = simbox.widths();
        Search { clusters, simbox, reach, widths, listed, column_end: 0, strips: Vec::new() }
    }

    /// Puts the clusters that `cluster` lists and that may be within reach of it into `found`. Clusters
    /// must be searched for in ascending order.
    pub fn around(&mut self, cluster: usize, found: &mut Vec<Candidate>) {
        if cluster >= self.column_end {
            self.find_strips(cluster);
        }
        found.clear();
        let reach2 = self.reach * self.reach;
        let all = &self.clusters.bounds;
        let bounds = &all[cluster];
        for strip in &mut self.strips {
            let lowest = bounds.low[2] - self.reach - strip.shift[2];
            while strip.next < strip.end && all[strip.next].high[2] < lowest {
                strip.next += 1;
            }
            let (gap_x, gap_y) = (bounds.gap(&strip.bounds, 0), bounds.gap(&strip.bounds, 1));
            let left2 = reach2 - gap_x * gap_x - gap_y * gap_y;
            if left2 < 0.0 {
                continue;
            }
            let left = left2.sqrt();
            let (low, high) = (bounds.low[2] - left - strip.shift[2], bounds.high[2] + left - strip.shift[2]);
            let first = match strip.relation {
                _ if self.listed == Listed::FromBothSides => strip.next,
                Relation::Other => strip.next,
                Relation::Image => strip.next.max(cluster),
                Relation::Itself | Relation::OppositeImage => strip.next.max(cluster + 1),
            };
            for other in first..strip.end {
                if all[other].low[2] > high {
                    break;
                }
                let is_listed = strip.remainder.is_none_or(|r| (cluster + other) % 2 == r);
                if is_listed && all[other].high[2] >= low {
                    found.push(Candidate { cluster: other, shift: strip.shift });
                }
            }
        }
    }

    /// Finds the strips of the column that `cluster` is in.
    fn find_strips(&mut self, cluster: usize) {
        let clusters = self.clusters;
        let (columns, partners) = clusters.around(cluster);
        let mine = columns.first_cluster.partition_point(|&first| first as usize <= cluster) - 1;
        let members = columns.members(mine);
        self.column_end = members.end;
        self.strips.clear();
        let mut here = Bounds::EMPTY;
        for inside in &clusters.fractional[members] {
            here.include(inside.low);
            here.include(inside.high);
        }
        // Pairs inside a group of ghosts are those of its own rank.
        if cluster < clusters.owned {
            self.add_strips(columns, &here, Some(mine), None);
        }
        match self.listed {
            Listed::Once => partners.for_each(|(ghosts, pairs)| {
                let begin = columns.begin() + ghosts.begin();
                let remainder = match pairs {
                    Pairs::All => None,
                    Pairs::Even => Some(begin % 2),
                    Pairs::Odd => Some((begin + 1) % 2),
                };
                self.add_strips(ghosts, &here, None, remainder);
            }),
            Listed::FromBothSides => {
                clusters.ghost_columns.iter().for_each(|ghosts| self.add_strips(ghosts, &here, None, None));
            }
        }
    }

    /// Adds the strips within reach of `here`, in fractional coordinates: of the columns among which `mine` is, or
    /// of those of ghosts, of which clusters with a remainder are listed, or all.
    fn add_strips(
        &mut self,
        columns: &Columns,
        here: &Bounds,
        mine: Option<usize>,
        remainder: Option<usize>,
    ) {
        let periodic = self.simbox.periodic();
        // Fractional coordinates differ by at most distance / width.
        let span = |k: usize| {
            let reach = self.reach / self.widths[k];
            let low = columns.place(k, here.low[k] - reach).floor() as i64;
            let high = columns.place(k, here.high[k] + reach).floor() as i64;
            let last = columns.n[k] as i64 - 1;
            if periodic[k] { low..=high } else { low.clamp(0, last)..=high.clamp(0, last) }
        };
        let spans = [0, 1, 2].map(span);
        for column_x in spans[0].clone() {
            let (x, image_x) = fold(column_x, columns.n[0]);
            for column_y in spans[1].clone() {
                let (y, image_y) = fold(column_y, columns.n[1]);
                let column = x * columns.n[1] + y;
                // The listing column of two alternates, so that every stretch of columns has the same
                // work; inside a column the lower cluster lists the pair.
                let lists = |mine| column == mine || (column + mine).is_multiple_of(2) == (mine < column);
                if self.listed == Listed::Once && !mine.is_none_or(lists) {
                    continue;
                }
                for image_z in spans[2].clone() {
                    let image = [image_x, image_y, image_z as i32];
                    let relation = match (Some(column) == mine, image.cmp(&[0, 0, 0])) {
                        (false, _) => Relation::Other,
                        (true, std::cmp::Ordering::Equal) => Relation::Itself,
                        (true, std::cmp::Ordering::Greater) => Relation::Image,
                        (true, std::cmp::Ordering::Less) => Relation::OppositeImage,
                    };
                    let members = columns.members(column);
                    let shift = self.simbox.shift(image);
                    let bounds = columns.bounds[column].moved(shift);
                    let (next, end) = (members.start, members.end);
                    let strip = Strip { next, end, shift, bounds, relation, remainder };
                    self.strips.push(strip);
                }
            }
        }
    }
}

/// A column beyond the edge is an image of one inside.
fn fold(column: i64, n: usize) -> (usize, i32) {
    let n = n as i64;
    (column.rem_euclid(n) as usize, column.div_euclid(n) as i32)
}
