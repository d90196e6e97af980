//! The grid of domains: a cut of the box into parts, one a rank.
//!
//! Cuts are planes parallel to the faces of the box, at fractional coordinates that each axis has a list of, so that
//! a change of the cuts is a change of numbers.

use jostle_core::{SimBox, Vec3, Vector};
use std::cmp::Ordering;

/// The cut of the box.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    /// Borders of the domains along each axis, the outer ones included: infinite where the axis is open.
    borders: [Vec<f64>; 3],
}

/// Neighbourhood of two domains: one of them has atoms of the other as ghosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    /// The other rank; perhaps this one, which has its own atoms as ghosts then.
    pub rank: usize,
    /// Image of the sender's atoms that the receiver has.
    pub image: [i32; 3],
    /// Group of the receiver's ghosts that this image belongs to: the [`Side`], or in a force matrix the rank.
    pub group: usize,
}

/// Side of a domain on which another one lies, by the first axis along which they differ: the group of its ghosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The upper one, whose ghosts are in the lists of pairs.
    Upper,
    /// The lower one.
    Lower,
}

impl Side {
    /// Number of sides.
    pub const COUNT: usize = 2;
}

/// Sides of a domain on which it has ghosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    /// The upper one: of two domains the lower one has atoms of the other.
    Half,
    /// Both.
    Full,
}

impl Grid {
    /// Cuts a box so that domains have as many atoms each along every axis, and as little surface as possible.
    pub fn new(n_domains: usize, simbox: &SimBox, positions: &[Vec3]) -> Self {
        Self::cut(shape(n_domains, simbox.widths()), simbox, positions)
    }

    /// Cuts a box into so many parts along each axis.
    pub fn cut(parts: [usize; 3], simbox: &SimBox, positions: &[Vec3]) -> Self {
        let borders = [0, 1, 2].map(|k| {
            let mut along = Vec::new();
            if parts[k] > 1 {
                along.extend(positions.iter().map(|r| inside(simbox, *r)[k]).filter(|s| s.is_finite()));
                along.sort_unstable_by(f64::total_cmp);
            }
            let outer = if simbox.periodic()[k] { [0.0, 1.0] } else { [f64::NEG_INFINITY, f64::INFINITY] };
            let inner = (1..parts[k]).map(|part| {
                let above = part * along.len() / parts[k];
                match (along.get(above.wrapping_sub(1)), along.get(above)) {
                    (Some(below), Some(above)) => 0.5 * (below + above),
                    _ => part as f64 / parts[k] as f64,
                }
            });
            let mut borders = vec![outer[0]];
            borders.extend(inner);
            borders.push(outer[1]);
            borders
        });
        Grid { borders }
    }

    /// The cut with borders moved towards where the layers of domains along each axis have the same load, from the loads
    /// of all ranks. A border goes half of the way, and no further than half-way to the next one; along open axes
    /// borders stay.
    pub fn balanced(&self, loads: &[f64]) -> Grid {
        let borders = [0, 1, 2].map(|k| {
            let mut layers = vec![0.0; self.parts()[k]];
            loads.iter().enumerate().for_each(|(rank, load)| layers[self.cell(rank)[k]] += load);
            match self.borders[k].iter().all(|border| border.is_finite()) {
                true => moved_borders(&self.borders[k], &layers),
                false => self.borders[k].clone(),
            }
        });
        Grid { borders }
    }

    /// Number of domains along each axis.
    pub fn parts(&self) -> [usize; 3] {
        [0, 1, 2].map(|k| self.borders[k].len() - 1)
    }

    /// Axes along which there are several domains.
    pub fn divided(&self) -> [bool; 3] {
        self.parts().map(|parts| parts > 1)
    }

    /// The rank whose domain has a position; the position may be in any image.
    pub fn owner(&self, simbox: &SimBox, position: Vec3) -> usize {
        let s = inside(simbox, position);
        let cell = |k: usize| {
            let inner = &self.borders[k][1..self.borders[k].len() - 1];
            inner.partition_point(|border| *border <= s[k])
        };
        self.rank([cell(0), cell(1), cell(2)])
    }

    fn rank(&self, cell: [usize; 3]) -> usize {
        let parts = self.parts();
        (cell[0] * parts[1] + cell[1]) * parts[2] + cell[2]
    }

    fn cell(&self, rank: usize) -> [usize; 3] {
        let parts = self.parts();
        [rank / (parts[1] * parts[2]), rank / parts[2] % parts[1], rank % parts[2]]
    }

    /// Lower and upper borders of a domain.
    pub fn region(&self, rank: usize) -> [Vec3; 2] {
        let cell = self.cell(rank);
        [0, 1].map(|side| Vector::from_fn(|k| self.borders[k][cell[k] + side]))
    }

    /// Domains whose atoms `rank` has as ghosts up to a distance of `reach`, by rank and image.
    pub fn sources(&self, rank: usize, simbox: &SimBox, reach: f64, shell: Shell) -> Vec<Link> {
        let cell = self.cell(rank);
        let near = [0, 1, 2].map(|k| {
            let all = (0..self.parts()[k])
                .flat_map(|source| self.images(k, simbox, reach).map(move |n| (source, n)));
            all.filter(|(source, n)| self.near(k, simbox, reach, [cell[k], *source], *n)).collect::<Vec<_>>()
        });
        self.links(near, shell, |source| [cell, source])
    }

    /// Domains that have atoms of `rank` as ghosts, by rank and image.
    pub fn receivers(&self, rank: usize, simbox: &SimBox, reach: f64, shell: Shell) -> Vec<Link> {
        let cell = self.cell(rank);
        let near = [0, 1, 2].map(|k| {
            let all =
                (0..self.parts()[k]).flat_map(|other| self.images(k, simbox, reach).map(move |n| (other, n)));
            all.filter(|(other, n)| self.near(k, simbox, reach, [*other, cell[k]], *n)).collect::<Vec<_>>()
        });
        self.links(near, shell, |receiver| [receiver, cell])
    }

    /// Links of all cells near along each axis, on the sides that a shell has.
    fn links(
        &self,
        near: [Vec<(usize, i32)>; 3],
        shell: Shell,
        ends: impl Fn([usize; 3]) -> [[usize; 3]; 2],
    ) -> Vec<Link> {
        let mut links = Vec::new();
        for (x, image_x) in &near[0] {
            for (y, image_y) in &near[1] {
                for (z, image_z) in &near[2] {
                    let (other, image) = ([*x, *y, *z], [*image_x, *image_y, *image_z]);
                    let [receiver, source] = ends(other);
                    let side = self.side(receiver, source, image);
                    if let Some(side) = side.filter(|side| shell == Shell::Full || *side == Side::Upper) {
                        links.push(Link { rank: self.rank(other), image, group: side as usize });
                    }
                }
            }
        }
        links.sort_by_key(|link| (link.rank, link.image));
        links
    }

    /// Side of a cell on which an image of another one lies; `None` for the cell itself.
    fn side(&self, receiver: [usize; 3], source: [usize; 3], image: [i32; 3]) -> Option<Side> {
        let parts = self.parts();
        let place = |k: usize| source[k] as i64 + i64::from(image[k]) * parts[k] as i64;
        match [0, 1, 2].map(|k| place(k) - receiver[k] as i64).cmp(&[0; 3]) {
            Ordering::Less => Some(Side::Lower),
            Ordering::Equal => None,
            Ordering::Greater => Some(Side::Upper),
        }
    }

    /// Images of domains that may be within reach along an axis; along axes that are not divided, images are left to
    /// the search for pairs.
    fn images(&self, k: usize, simbox: &SimBox, reach: f64) -> std::ops::RangeInclusive<i32> {
        let most = if self.divided()[k] && simbox.periodic()[k] {
            1 + (reach / simbox.widths()[k]).floor() as i32
        } else {
            0
        };
        -most..=most
    }

    /// Returns true where the n-th image of a source is within reach of a receiver along an axis. Both ranks compute
    /// it from the same numbers.
    fn near(&self, k: usize, simbox: &SimBox, reach: f64, [receiver, source]: [usize; 2], n: i32) -> bool {
        let (borders, shift) = (&self.borders[k], f64::from(n));
        let (low, high) = (borders[source] + shift, borders[source + 1] + shift);
        let gap = (low - borders[receiver + 1]).max(borders[receiver] - high);
        gap * simbox.widths()[k] <= reach
    }
}

/// Borders moved by the loads of the layers between them.
fn moved_borders(borders: &[f64], layers: &[f64]) -> Vec<f64> {
    let (mut moved, total) = (borders.to_vec(), layers.iter().sum::<f64>());
    for inner in 1..layers.len() {
        let (target, mut below) = (total * inner as f64 / layers.len() as f64, 0.0);
        for (layer, load) in layers.iter().enumerate() {
            if *load > 0.0 && below + load >= target {
                let width = borders[layer + 1] - borders[layer];
                let way = 0.5 * (borders[layer] + width * (target - below) / load - borders[inner]);
                let (back, ahead) =
                    (borders[inner] - borders[inner - 1], borders[inner + 1] - borders[inner]);
                moved[inner] = borders[inner] + way.max(-0.5 * back).min(0.5 * ahead);
                break;
            }
            below += load;
        }
    }
    moved
}

/// Square of a lower bound of the distance between a region and a body, both from their lowest to their highest
/// fractional coordinates.
pub(crate) fn distance2_from(region: &[Vec3; 2], simbox: &SimBox, body: [Vec3; 2]) -> f64 {
    let widths = simbox.widths();
    let gap = |k: usize| (region[0][k] - body[1][k]).max(body[0][k] - region[1][k]).max(0.0) * widths[k];
    let gaps = [gap(0), gap(1), gap(2)];
    // Planes through a tilted corner are not at right angles.
    match simbox.is_orthorhombic() {
        true => gaps.iter().map(|gap| gap * gap).sum(),
        false => gaps.iter().fold(0.0, |longest: f64, gap| longest.max(*gap)).powi(2),
    }
}

/// Fractional coordinates, wrapped into the box along its periodic axes.
fn inside(simbox: &SimBox, mut position: Vec3) -> Vec3 {
    simbox.wrap(&mut position, &mut [0; 3]);
    simbox.to_fractional(position)
}

/// Numbers of parts along the axes, with the smallest surface between domains.
fn shape(n: usize, widths: [f64; 3]) -> [usize; 3] {
    let divisors = |n: usize| (1..=n).filter(move |k| n.is_multiple_of(*k));
    let all = divisors(n).flat_map(|x| divisors(n / x).map(move |y| [x, y, n / x / y]));
    let surface = |parts: &[usize; 3]| -> f64 {
        (0..3).filter(|k| parts[*k] > 1).map(|k| parts[k] as f64 / widths[k]).sum()
    };
    // Of equal ones that with the most parts along the first axis: columns of clusters stay long.
    all.min_by(|a, b| surface(a).total_cmp(&surface(b)).then(b.cmp(a))).unwrap_or([n, 1, 1])
}
