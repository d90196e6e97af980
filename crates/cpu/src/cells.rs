//! Spatial sort: atoms that are near in space become neighbours in memory, in clusters as wide as
//! a SIMD register.
//!
//! The box is divided into columns along its third edge, about as wide as a cluster is long; the
//! atoms of a column, sorted along it, are cut into clusters of `width` atoms (Páll and Hess,
//! Comput. Phys. Commun. 184 (2013) 2641). Only the last cluster of a column can be incomplete.
//! Ghosts, which are atoms of other domains, have columns and clusters of their own behind the others.

use crate::columns::{Bounds, Columns, Pairs, Partner, lay_columns, sort};
use crate::simd::Scalar;
use crate::simd::aligned::Aligned;
use crate::threads::Team;
use jostle_core::{Error, PositionPrediction, Result, SimBox, State, Vec3, Vector};
use std::ops::Range;

/// All atoms in clusters.
pub struct Clusters<S> {
    /// Atoms in a full cluster: the width of a SIMD register.
    pub width: usize,
    /// The first atom of each cluster, and the number of atoms at the end.
    pub first: Vec<u32>,
    /// Origin of the coordinates of each cluster. Origins lie on a grid coarse enough that the difference of
    /// two near ones is exact in `S`.
    pub origin: Vec<Vec3>,
    /// Coordinates relative to the origin, x of all atoms of a cluster, then y, then z; empty places are far
    /// away.
    pub position: Aligned<S>,
    /// Coordinates with which the list was built, in the same order.
    pub built: Aligned<S>,
    /// Species of all atoms of a cluster.
    pub species: Vec<i32>,
    /// Bounding boxes at the time of the build.
    pub bounds: Vec<Bounds>,
    /// Bounding boxes relative to the origin, rounded outwards.
    pub extent: Vec<[[S; 3]; 2]>,
    /// Bounding boxes in fractional coordinates.
    pub fractional: Vec<Bounds>,
    /// The columns.
    pub columns: Columns,
    /// Number of clusters that are not of ghosts; these come first.
    pub owned: usize,
    /// Number of clusters that have lists: these, and in a force matrix those of the first groups of ghosts.
    pub listed: usize,
    /// The columns of each group of ghosts; empty without domains.
    pub ghost_columns: Vec<Columns>,
    /// Groups of ghosts with which pairs are listed: for clusters that are not of ghosts, and for each of the groups that
    /// have lists.
    partners: Vec<Vec<Partner>>,
}

impl<S: Scalar> Clusters<S> {
    /// Clusters without atoms, for registers of this width.
    pub fn new(width: usize) -> Self {
        Clusters {
            width,
            first: vec![0],
            origin: Vec::new(),
            position: Aligned::default(),
            built: Aligned::default(),
            species: Vec::new(),
            bounds: Vec::new(),
            extent: Vec::new(),
            fractional: Vec::new(),
            columns: Columns::default(),
            owned: 0,
            listed: 0,
            ghost_columns: Vec::new(),
            partners: Vec::new(),
        }
    }

    /// Number of clusters, those of ghosts included.
    pub fn count(&self) -> usize {
        self.first.len() - 1
    }

    /// The atoms of a cluster.
    #[inline(always)]
    pub fn atoms(&self, cluster: usize) -> Range<usize> {
        self.first[cluster] as usize..self.first[cluster + 1] as usize
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.position.bytes()
            + self.built.bytes()
            + self.species.capacity() * size_of::<i32>()
            + self.first.capacity() * size_of::<u32>()
            + self.count() * (size_of::<Vec3>() + 3 * size_of::<Bounds>())
    }

    /// Sorts all atoms in space (which reorders `state`) and forms the clusters, at the predicted positions of
    /// the atoms; these positions, in the box, go to `places`, and atoms to the same image. `far` is a
    /// distance well beyond every cut-off.
    ///
    /// # Errors
    /// If a position is not finite: names the atom.
    pub fn build(
        &mut self,
        team: &Team,
        simbox: &SimBox,
        state: &mut State,
        (prediction, places): (PositionPrediction, &mut Vec<Vec3>),
        far: f64,
    ) -> Result<()> {
        let fractions = predict(team, simbox, state, (prediction, places))?;
        self.arrange(team, simbox, (state, places), &fractions);
        self.fill_empty_places(far);
        Ok(())
    }

    /// Sorts all atoms, none of them a ghost, by `places` with these fractional coordinates, and forms the
    /// clusters.
    pub(crate) fn arrange(
        &mut self,
        team: &Team,
        simbox: &SimBox,
        (state, places): (&mut State, &mut Vec<Vec3>),
        fractions: &Fractions,
    ) {
        let mut columns = lay_columns(simbox, &fractions.around, state.len(), self.width);
        let (order, first_atoms) = sort(team, &columns, &fractions.pieces);
        permute(team, state, places, &order);
        self.first.clear();
        columns.first_cluster = self.cut_columns(&first_atoms);
        self.form(team, simbox, (state, places), 0);
        columns.bounds = self.bounds_of(&columns);
        (self.owned, self.listed, self.columns) = (self.count(), self.count(), columns);
        self.ghost_columns.clear();
        self.partners.clear();
    }

    /// Sorts these ghosts, which follow the atoms in clusters so far, and forms their clusters; returns the index that
    /// each of them had, counted from the first one.
    pub(crate) fn arrange_ghosts(
        &mut self,
        team: &Team,
        simbox: &SimBox,
        (state, places): (&mut State, &mut Vec<Vec3>),
        ghosts: Range<usize>,
    ) -> Vec<u32> {
        let (first, begin) = (ghosts.start, self.count());
        let fractions = Fractions::of(simbox, &places[ghosts.clone()]);
        let mut columns = lay_columns(simbox, &fractions.around, ghosts.len(), self.width);
        let (order, mut first_atoms) = sort(team, &columns, &fractions.pieces);
        let sorted = order.iter().map(|k| first as u32 + k);
        let all: Vec<u32> =
            (0..first as u32).chain(sorted).chain(ghosts.end as u32..state.len() as u32).collect();
        permute(team, state, places, &all);
        first_atoms.iter_mut().for_each(|atom| *atom += first as u32);
        self.first.pop();
        columns.first_cluster = self.cut_columns(&first_atoms);
        self.form(team, simbox, (state, places), begin);
        columns.bounds = self.bounds_of(&columns);
        self.ghost_columns.push(columns);
        order
    }

    /// Lists pairs with these groups of ghosts: of clusters that are not of ghosts, and of the clusters of each of the first
    /// groups.
    pub(crate) fn list_pairs(&mut self, partners: &[Vec<Partner>]) {
        self.partners = partners.to_vec();
        let last = partners.len().checked_sub(2).and_then(|group| self.ghost_columns.get(group));
        self.listed = last.map_or(self.owned, Columns::end);
    }

    /// Columns among which a cluster that has lists is, and the columns of the ghosts with which pairs of its are listed.
    pub(crate) fn around(&self, cluster: usize) -> (&Columns, impl Iterator<Item = (&Columns, Pairs)>) {
        let group = self.ghost_columns.partition_point(|columns| columns.end() <= cluster);
        let (columns, partners) = match cluster < self.owned {
            true => (&self.columns, self.partners.first()),
            false => (&self.ghost_columns[group], self.partners.get(group + 1)),
        };
        let of_group = |partner: &Partner| (&self.ghost_columns[partner.group], partner.pairs);
        (columns, partners.into_iter().flatten().map(of_group))
    }

    /// Puts the empty places of incomplete clusters where no atom can be within `far`, however wide
    /// a dilute cluster is.
    pub(crate) fn fill_empty_places(&mut self, far: f64) {
        let width = |b: &Bounds| (0..3).map(|k| b.high[k] - b.low[k]).fold(0.0, f64::max);
        let widest = self.bounds.iter().map(width).fold(0.0, f64::max);
        let far = S::from_f64(far + 4.0 * widest);
        for cluster in 0..self.count() {
            for lane in self.atoms(cluster).len()..self.width {
                for k in 0..3 {
                    let place = (3 * cluster + k) * self.width + lane;
                    (self.position[place], self.built[place]) = (far, far);
                }
            }
        }
    }

    /// Cuts the sorted columns into clusters, from the first atom of each; returns the first cluster of each.
    fn cut_columns(&mut self, first_atoms: &[u32]) -> Vec<u32> {
        let mut first_clusters = Vec::with_capacity(first_atoms.len());
        for column in first_atoms.windows(2) {
            first_clusters.push(self.first.len() as u32);
            self.first.extend((column[0]..column[1]).step_by(self.width));
        }
        first_clusters.push(self.first.len() as u32);
        self.first.extend(first_atoms.last());
        first_clusters
    }

    /// Boxes around the atoms of columns.
    fn bounds_of(&self, columns: &Columns) -> Vec<Bounds> {
        let around = |column: usize| {
            let mut bounds = Bounds::EMPTY;
            for cluster in columns.members(column) {
                bounds.include(self.bounds[cluster].low);
                bounds.include(self.bounds[cluster].high);
            }
            bounds
        };
        (0..columns.first_cluster.len() - 1).map(around).collect()
    }

    /// Fills the clusters from `begin` on.
    fn form(&mut self, team: &Team, simbox: &SimBox, (state, predicted): (&State, &[Vec3]), begin: usize) {
        let n = self.count();
        let width = self.width;
        self.origin.resize(n, Vec3::ZERO);
        self.bounds.resize(n, Bounds::EMPTY);
        self.extent.resize(n, [[S::default(); 3]; 2]);
        self.fractional.resize(n, Bounds::EMPTY);
        self.species.resize(n * width, 0);
        self.position.resize(n * 3 * width);
        self.built.resize(n * 3 * width);
        let grid = origin_grid(simbox);
        let first = &self.first;
        let chunk = (n - begin).div_ceil(team.size()).max(1);
        let mut pieces = Vec::new();
        let lists = self.origin[begin..].chunks_mut(chunk).zip(self.bounds[begin..].chunks_mut(chunk));
        let lists = lists.zip(self.fractional[begin..].chunks_mut(chunk));
        let lists = lists.zip(self.extent[begin..].chunks_mut(chunk));
        let lists = lists.zip(self.species[begin * width..].chunks_mut(chunk * width));
        let places = 3 * begin * width;
        let arrays = self.position[places..].chunks_mut(chunk * 3 * width);
        let arrays = arrays.zip(self.built[places..].chunks_mut(chunk * 3 * width));
        for piece in lists.zip(arrays) {
            pieces.push(piece);
        }
        team.map(pieces, |k, (((((origin, bounds), fractional), extent), species), (position, built))| {
            for c in 0..origin.len() {
                let cluster = begin + k * chunk + c;
                let atoms = first[cluster] as usize..first[cluster + 1] as usize;
                let (mut around, mut inside) = (Bounds::EMPTY, Bounds::EMPTY);
                for r in &predicted[atoms.clone()] {
                    around.include(*r);
                    inside.include(simbox.to_fractional(*r));
                }
                (bounds[c], fractional[c]) = (around, inside);
                for k in 0..3 {
                    origin[c][k] = (0.5 * (around.low[k] + around.high[k]) / grid).round() * grid;
                    let slack = 1e-5 * (around.high[k] - around.low[k]);
                    extent[c][0][k] = S::from_f64(around.low[k] - slack - origin[c][k]);
                    extent[c][1][k] = S::from_f64(around.high[k] + slack - origin[c][k]);
                }
                let kinds = &mut species[c * width..(c + 1) * width];
                kinds.fill(0);
                for (kind, &s) in kinds.iter_mut().zip(&state.species[atoms.clone()]) {
                    *kind = i32::from(s);
                }
                let places = c * 3 * width..(c + 1) * 3 * width;
                let (now, listed) = (&mut position[places.clone()], &mut built[places]);
                for (lane, atom) in atoms.enumerate() {
                    for k in 0..3 {
                        now[k * width + lane] = S::from_f64(state.position[atom][k] - origin[c][k]);
                        listed[k * width + lane] = S::from_f64(predicted[atom][k] - origin[c][k]);
                    }
                }
            }
        });
    }
}

/// Fractional coordinates of atoms, in a piece for each thread, and the box around them.
pub(crate) struct Fractions {
    pieces: Vec<Vec<Vec3>>,
    around: Bounds,
}

impl Fractions {
    /// Fractional coordinates of these places.
    pub(crate) fn of(simbox: &SimBox, places: &[Vec3]) -> Fractions {
        let piece: Vec<Vec3> = places.iter().map(|place| simbox.to_fractional(*place)).collect();
        let mut around = Bounds::EMPTY;
        piece.iter().for_each(|s| around.include(*s));
        Fractions { pieces: vec![piece], around }
    }
}

/// Predicts the positions of all atoms, wrapped into the box, with the atoms in the same image.
///
/// # Errors
/// If a position is not finite: names the atom.
pub(crate) fn predict(
    team: &Team,
    simbox: &SimBox,
    state: &mut State,
    (prediction, places): (PositionPrediction, &mut Vec<Vec3>),
) -> Result<Fractions> {
    let n = state.len();
    places.resize(n, Vec3::ZERO);
    let chunk = n.div_ceil(team.size()).max(1);
    let State { id, species, position, image, velocity, force, .. } = &mut *state;
    let way = |atom: usize| {
        let inverse_mass = prediction.inverse_mass.of(species[atom], id[atom]);
        prediction.displacement(velocity[atom], force[atom], inverse_mass)
    };
    let pieces = position.chunks_mut(chunk).zip(image.chunks_mut(chunk)).zip(places.chunks_mut(chunk));
    let fractions = team.map(pieces.collect(), |t, ((position, image), places)| {
        let mut fractions = Vec::with_capacity(position.len());
        let mut bounds = Bounds::EMPTY;
        let mut sum = 0.0;
        for (k, ((r, image), place)) in position.iter_mut().zip(image).zip(places).enumerate() {
            let way = way(t * chunk + k);
            *place = *r + way;
            let before = *image;
            simbox.wrap(place, image);
            if *image != before {
                let shift = simbox.shift([0, 1, 2].map(|k| image[k] - before[k]));
                *r -= shift;
            }
            let s = simbox.to_fractional(*place);
            bounds.include(s);
            sum += s[0] + s[1] + s[2];
            fractions.push(s);
        }
        (fractions, bounds, sum.is_finite())
    });
    let mut around = Bounds::EMPTY;
    for (_, bounds, _) in &fractions {
        around.include(bounds.low);
        around.include(bounds.high);
    }
    // Comparisons leave NaN out of the bounds.
    let finite = fractions.iter().all(|(_, _, finite)| *finite);
    if !finite || !is_inside(simbox, around.low, around.high) {
        return Err(lost_atom(simbox, state));
    }
    Ok(Fractions { pieces: fractions.into_iter().map(|(fractions, _, _)| fractions).collect(), around })
}

/// Returns true if fractional coordinates lie in the box along its periodic axes, where wrapping has put
/// them unless an atom has moved further than images can count.
fn is_inside(simbox: &SimBox, low: Vec3, high: Vec3) -> bool {
    (0..3).all(|k| !simbox.periodic()[k] || (low[k] > -0.5 && high[k] < 1.5))
}

/// Error that names an atom without a finite position.
fn lost_atom(simbox: &SimBox, state: &State) -> Error {
    let lost = |r: &Vec3| {
        let s = simbox.to_fractional(*r);
        s.iter().any(|x| !x.is_finite()) || !is_inside(simbox, s, s)
    };
    let found = state.position.iter().zip(&state.id).find(|(r, _)| lost(r));
    let (r, id) = found.map_or((Vector([f64::NAN; 3]), 0), |(r, id)| (*r, *id));
    Error::simulation(format!("atom {} has flown off to {r:?}", id + 1))
        .hint("atoms may overlap at the start (minimise first), the time step may be too long, or a field, bias or pull too strong")
}

/// A power of two, small against a cluster and large against the rounding of single precision.
fn origin_grid(simbox: &SimBox) -> f64 {
    let longest = simbox.lengths().into_iter().fold(0.0, f64::max);
    2f64.powi(longest.log2().floor() as i32 - 20)
}

/// [`State::permute`] with one array a task.
fn permute(team: &Team, state: &mut State, predicted: &mut Vec<Vec3>, order: &[u32]) {
    enum Array<'a> {
        Id(&'a mut Vec<u32>),
        Species(&'a mut Vec<u16>),
        Vector(&'a mut Vec<Vec3>),
        Image(&'a mut Vec<[i32; 3]>),
    }
    fn gather<T: Copy>(values: &mut Vec<T>, order: &[u32]) {
        *values = order.iter().map(|&k| values[k as usize]).collect();
    }
    let mut arrays = vec![
        Array::Vector(&mut state.position),
        Array::Vector(predicted),
        Array::Vector(&mut state.velocity),
        Array::Id(&mut state.id),
        Array::Image(&mut state.image),
        Array::Species(&mut state.species),
    ];
    if !state.angular_velocity.is_empty() {
        arrays.push(Array::Vector(&mut state.angular_velocity));
    }
    team.map(arrays, |_, array| match array {
        Array::Id(a) => gather(a, order),
        Array::Species(a) => gather(a, order),
        Array::Vector(a) => gather(a, order),
        Array::Image(a) => gather(a, order),
    });
}
