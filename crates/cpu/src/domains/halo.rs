//! Ghosts: which atoms they are of, and what goes to them and comes back.
//!
//! A message has the numbers of all ghosts that one rank has of another, image by image, in the order in which they
//! were chosen; it has no header, because both sides know how long it is. Atoms that a rank has asked for (`guests`)
//! come last: they are in no cluster, and nothing comes back from them.

use super::Domains;
use super::grid::{Link, distance2_from};
use crate::cells::Clusters;
use crate::simd::Scalar;
use jostle_core::{Result, SimBox, State, Vec3, Vector};
use std::iter;
use std::ops::Range;

/// Numbers of a ghost when lists are built: id, species, position, place in the lists, velocity, angular velocity.
const ROW: usize = 14;

/// Place of an atom in the arrays of tasks.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spot {
    pub task: u32,
    /// Cluster of the task times the width of clusters, plus the lane.
    pub slot: u32,
}

/// An atom that has a ghost, or a ghost.
#[derive(Debug, Clone, Copy)]
struct Copied {
    /// Index in storage.
    atom: u32,
    /// Cluster times the width of clusters, plus the lane; [`NOWHERE`] for atoms that were asked for.
    slot: u32,
    spot: Spot,
}

/// Place of an atom that is in no cluster or task.
const NOWHERE: u32 = u32::MAX;

impl Copied {
    /// Copied atom at an index in storage, in no cluster yet.
    fn of(atom: usize) -> Copied {
        Copied { atom: atom as u32, slot: NOWHERE, spot: Spot { task: NOWHERE, slot: 0 } }
    }
}

/// Atoms of this rank that another one has as ghosts.
#[derive(Default)]
struct Sent {
    rank: usize,
    atoms: Vec<Copied>,
    /// Shift of each image, and the number of atoms up to its end.
    images: Vec<(Vec3, usize)>,
}

/// Ghosts of the atoms of another rank.
struct Received {
    rank: usize,
    /// In the order of messages.
    ghosts: Vec<Copied>,
}

/// Ghosts of this rank, and its atoms that others have as ghosts.
#[derive(Default)]
pub(crate) struct Halo {
    /// By rank.
    sent: Vec<Sent>,
    /// By rank.
    received: Vec<Received>,
}

impl Halo {
    /// Calls `write` with every atom that a message to a rank is about, and the shift of its image.
    fn messages(
        &self,
        n_each: usize,
        write: impl Fn(&mut Vec<f64>, &Copied, &Vec3),
    ) -> Vec<(usize, Vec<f64>)> {
        let message = |sent: &Sent| {
            let mut numbers = Vec::with_capacity(n_each * sent.atoms.len());
            let mut begin = 0;
            for (shift, end) in &sent.images {
                sent.atoms[begin..*end].iter().for_each(|atom| write(&mut numbers, atom, shift));
                begin = *end;
            }
            (sent.rank, numbers)
        };
        self.sent.iter().map(message).collect()
    }

    fn expected(&self, n_each: usize) -> Vec<(usize, usize)> {
        self.received.iter().map(|received| (received.rank, received.ghosts.len() * n_each)).collect()
    }

    /// Adds atoms, by index in storage, to what goes to a rank.
    pub(super) fn send_more(&mut self, rank: usize, atoms: &[usize]) {
        if atoms.is_empty() {
            return;
        }
        let place = self.sent.partition_point(|sent| sent.rank < rank);
        if self.sent.get(place).is_none_or(|sent| sent.rank != rank) {
            self.sent.insert(place, Sent { rank, ..Sent::default() });
        }
        let Sent { atoms: copied, images, .. } = &mut self.sent[place];
        copied.extend(atoms.iter().map(|atom| Copied::of(*atom)));
        images.push((Vec3::ZERO, copied.len()));
    }

    /// Adds ghosts, by index in storage, to what comes from a rank.
    pub(super) fn receive_more(&mut self, rank: usize, ghosts: Range<usize>) {
        if ghosts.is_empty() {
            return;
        }
        let place = self.received.partition_point(|received| received.rank < rank);
        if self.received.get(place).is_none_or(|received| received.rank != rank) {
            self.received.insert(place, Received { rank, ghosts: Vec::new() });
        }
        self.received[place].ghosts.extend(ghosts.map(Copied::of));
    }

    /// Ranks that are near in any direction.
    pub(super) fn ranks(&self) -> Vec<usize> {
        let received = self.received.iter().map(|received| received.rank);
        let mut ranks: Vec<usize> = received.chain(self.sent.iter().map(|sent| sent.rank)).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    /// Ghosts with what has been received for them, `n_each` numbers each.
    fn with_numbers<'a, T>(
        &'a self,
        n_each: usize,
        numbers: &'a [Vec<T>],
    ) -> impl Iterator<Item = (&'a Copied, &'a [T])> {
        let both = self.received.iter().zip(numbers);
        both.flat_map(move |(received, numbers)| received.ghosts.iter().zip(numbers.chunks_exact(n_each)))
    }
}

/// Ghosts in storage, one group after the other.
pub(crate) struct GhostOrder {
    /// Number in messages of each ghost.
    pub numbers: Vec<u32>,
    /// Number of ghosts of each group.
    pub sizes: Vec<usize>,
}

impl GhostOrder {
    /// Order of ghosts of which so many come one after the other, in these groups.
    fn new(parts: &[(usize, usize)], n_groups: usize) -> Self {
        let groups: Vec<usize> = parts.iter().flat_map(|(group, n)| iter::repeat_n(*group, *n)).collect();
        let mut sizes = vec![0; n_groups];
        groups.iter().for_each(|group| sizes[*group] += 1);
        let mut numbers: Vec<u32> = (0..groups.len() as u32).collect();
        // The sort is stable.
        numbers.sort_by_key(|number| groups[*number as usize]);
        GhostOrder { numbers, sizes }
    }
}

impl Domains {
    /// Chooses atoms for the ghosts of others and receives ghosts, which are put behind the atoms of this rank. Atoms
    /// have just been sorted into clusters.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn import_ghosts<S: Scalar>(
        &mut self,
        simbox: &SimBox,
        reach: f64,
        clusters: &Clusters<S>,
        (state, places): (&mut State, &mut Vec<Vec3>),
    ) -> Result<GhostOrder> {
        let overhang = self.overhang(simbox, places)?;
        // A little more, so that rounding never loses a ghost; from the region of the other rank or, between regions, from
        // that of this one, too.
        let near = (reach + overhang) * (1.0 + 1e-6);
        let [receivers, sources] = self.links(simbox, near + overhang);
        let mut sent: Vec<Sent> = Vec::new();
        for link in receivers {
            if sent.last().is_none_or(|sent| sent.rank != link.rank) {
                sent.push(Sent { rank: link.rank, ..Sent::default() });
            }
            let Some(sent) = sent.last_mut() else { continue };
            let region = self.region(link.rank).map(|s| s - Vector(link.image.map(f64::from)));
            choose(clusters, simbox, places, &region, near, &mut sent.atoms);
            sent.images.push((simbox.shift(link.image), sent.atoms.len()));
        }
        // Both sides have the images of a rank in one order: a message has the end of each of them.
        let of_rank: Vec<_> = sources.chunk_by(|a, b| a.rank == b.rank).collect();
        let expected: Vec<_> = of_rank.iter().map(|links| (links[0].rank, links.len())).collect();
        let ends = |sent: &Sent| sent.images.iter().map(|(_, end)| *end as u64).collect();
        let ends = sent.iter().map(|sent| (sent.rank, ends(sent))).collect();
        let ends: Vec<Vec<u64>> = self.swap(ends, &expected)?;
        let mut parts = Vec::with_capacity(sources.len());
        let received = of_rank.iter().zip(&ends).map(|(links, ends)| {
            let mut begin = 0;
            for (link, end) in links.iter().zip(ends) {
                parts.push((link.group, *end as usize - begin));
                begin = *end as usize;
            }
            Received { rank: links[0].rank, ghosts: vec![Copied::of(0); begin] }
        });
        let received = received.collect();
        self.halo = Halo { received, sent };
        let rows = self.halo.messages(ROW, |row, atom, shift| {
            let index = atom.atom as usize;
            row.extend([f64::from(state.id[index]), f64::from(state.species[index])]);
            let moved = |r: &Vec3| *r + *shift;
            row.extend(moved(&state.position[index]));
            row.extend(moved(&places[index]));
            row.extend(state.velocity[index]);
            row.extend(state.angular_velocity.get(index).copied().unwrap_or_default());
        });
        let rows = self.swap(rows, &self.halo.expected(ROW))?.concat();
        let order = GhostOrder::new(&parts, self.ghosts.count);
        for number in &order.numbers {
            let row = &rows[*number as usize * ROW..][..ROW];
            let vector = |at: usize| -> Vec3 { Vector([row[at], row[at + 1], row[at + 2]]) };
            self.push_ghost(state, [row[0] as u32, row[1] as u32], vector(2));
            places.push(vector(5));
            if let Some(velocity) = state.velocity.last_mut() {
                *velocity = vector(8);
            }
            if let Some(angular_velocity) = state.angular_velocity.last_mut() {
                *angular_velocity = vector(11);
            }
        }
        Ok(order)
    }

    /// Ranks that have atoms of this one as ghosts, up to a distance of `reach`, and ranks of which this one has, both in
    /// the order of ranks.
    fn links(&self, simbox: &SimBox, reach: f64) -> [Vec<Link>; 2] {
        let (own, grid, shell) = (self.rank(), &self.grid, self.shell);
        match &self.matrix {
            Some(matrix) => [matrix.receivers(own), matrix.sources(own)],
            None => [grid.receivers(own, simbox, reach, shell), grid.sources(own, simbox, reach, shell)],
        }
    }

    /// Region near which a rank has ghosts: its domain, and in a force matrix all of space.
    fn region(&self, rank: usize) -> [Vec3; 2] {
        match self.matrix {
            Some(_) => [f64::NEG_INFINITY, f64::INFINITY].map(|s| Vector([s; 3])),
            None => self.grid.region(rank),
        }
    }

    /// Puts a ghost at rest behind all atoms: its id and species, and its position.
    pub(super) fn push_ghost(&self, state: &mut State, [id, species]: [u32; 2], position: Vec3) {
        state.id.push(id);
        state.species.push(species as u16);
        state.position.push(position);
        state.image.push([0; 3]);
        state.velocity.push(Vec3::ZERO);
        state.force.push(Vec3::ZERO);
        if self.turning {
            state.angular_velocity.push(Vec3::ZERO);
        }
    }

    /// Takes the places of atoms and ghosts in clusters, and those of clusters in tasks; `order` has the number in
    /// messages of every ghost in storage.
    pub fn place<S: Scalar>(&mut self, clusters: &Clusters<S>, order: &[u32], tasks: &[Range<usize>]) {
        let Halo { sent, received } = &mut self.halo;
        let width = clusters.width;
        let n_atoms = clusters.first.last().map_or(0, |n| *n as usize);
        let mut slots = Vec::with_capacity(n_atoms);
        let mut spots = Vec::with_capacity(n_atoms);
        for (task, range) in tasks.iter().enumerate() {
            for cluster in range.clone() {
                for lane in 0..clusters.atoms(cluster).len() {
                    slots.push((cluster * width + lane) as u32);
                    let slot = ((cluster - range.start) * width + lane) as u32;
                    spots.push(Spot { task: task as u32, slot });
                }
            }
        }
        for copied in sent.iter_mut().flat_map(|sent| &mut sent.atoms) {
            (copied.slot, copied.spot) = (slots[copied.atom as usize], spots[copied.atom as usize]);
        }
        let mut ghosts: Vec<&mut Copied> =
            received.iter_mut().flat_map(|received| &mut received.ghosts).collect();
        for (atom, number) in (self.n_owned..).zip(order) {
            *ghosts[*number as usize] = Copied { atom: atom as u32, slot: slots[atom], spot: spots[atom] };
        }
    }

    /// Gives ghosts the positions of their atoms, in the state and in clusters.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn forward_positions<S: Scalar>(
        &self,
        clusters: &mut Clusters<S>,
        position: &mut [Vec3],
    ) -> Result<()> {
        let sent = self.halo.messages(3, |numbers, atom, shift| {
            let r = position[atom.atom as usize];
            numbers.extend(r + *shift);
        });
        let received = self.swap(sent, &self.halo.expected(3))?;
        let width = clusters.width;
        for (ghost, numbers) in self.halo.with_numbers(3, &received) {
            position[ghost.atom as usize].copy_from_slice(numbers);
            if ghost.slot == NOWHERE {
                continue;
            }
            let (cluster, lane) = (ghost.slot as usize / width, ghost.slot as usize % width);
            let (origin, place) = (clusters.origin[cluster], 3 * cluster * width + lane);
            for (k, x) in numbers.iter().enumerate() {
                clusters.position[place + k * width] = S::from_f64(x - origin[k]);
            }
        }
        Ok(())
    }

    /// Gives ghosts the velocities, or other vectors in storage order, of their atoms.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn forward_vectors(&self, vectors: &mut [Vec3]) -> Result<()> {
        let sent = self.halo.messages(3, |numbers, atom, _| numbers.extend(vectors[atom.atom as usize]));
        let received = self.swap(sent, &self.halo.expected(3))?;
        for (ghost, numbers) in self.halo.with_numbers(3, &received) {
            vectors[ghost.atom as usize].copy_from_slice(numbers);
        }
        Ok(())
    }

    /// Gives ghosts the numbers of their atoms, of arrays with one number for every lane of clusters.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn forward_numbers<S: Scalar>(&self, numbers: &mut [S]) -> Result<()> {
        let of = |atom: &Copied| numbers.get(atom.slot as usize).copied().unwrap_or_default();
        let sent = self.halo.sent.iter().map(|sent| (sent.rank, sent.atoms.iter().map(of).collect()));
        let received = self.swap(sent.collect(), &self.halo.expected(1))?;
        for (ghost, number) in self.halo.with_numbers(1, &received) {
            if let Some(to) = numbers.get_mut(ghost.slot as usize) {
                *to = number[0];
            }
        }
        Ok(())
    }

    /// Adds what tasks have for ghosts to what they have for the atoms of these on their own ranks: `n_each` numbers
    /// an atom, in arrays by task with the first number of all lanes of a cluster, then the second and so on.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn reverse<S: Scalar>(&self, width: usize, n_each: usize, tasks: &mut [&mut [S]]) -> Result<()> {
        let at = |spot: Spot, k: usize| {
            let (cluster, lane) = (spot.slot as usize / width, spot.slot as usize % width);
            (cluster * n_each + k) * width + lane
        };
        let message = |received: &Received| {
            let mut numbers = Vec::with_capacity(received.ghosts.len() * n_each);
            for Copied { spot, .. } in &received.ghosts {
                let task = tasks.get(spot.task as usize);
                numbers.extend((0..n_each).map(|k| task.map_or_else(S::default, |task| task[at(*spot, k)])));
            }
            (received.rank, numbers)
        };
        let sent = self.halo.received.iter().map(message).collect();
        let expected = self.halo.sent.iter().map(|sent| (sent.rank, sent.atoms.len() * n_each));
        let received = self.swap(sent, &expected.collect::<Vec<_>>())?;
        for (sent, numbers) in self.halo.sent.iter().zip(&received) {
            for (Copied { spot, .. }, numbers) in sent.atoms.iter().zip(numbers.chunks_exact(n_each)) {
                let Some(task) = tasks.get_mut(spot.task as usize) else { continue };
                for (k, number) in numbers.iter().enumerate() {
                    let to = &mut task[at(*spot, k)];
                    *to = S::from_f64(to.to_f64() + number.to_f64());
                }
            }
        }
        Ok(())
    }
}

/// Chooses atoms within reach of a region, in fractional coordinates.
fn choose<S: Scalar>(
    clusters: &Clusters<S>,
    simbox: &SimBox,
    places: &[Vec3],
    region: &[Vec3; 2],
    reach: f64,
    chosen: &mut Vec<Copied>,
) {
    let reach2 = reach * reach;
    for cluster in 0..clusters.owned {
        let bounds = &clusters.fractional[cluster];
        if distance2_from(region, simbox, [bounds.low, bounds.high]) > reach2 {
            continue;
        }
        for atom in clusters.atoms(cluster) {
            let s = simbox.to_fractional(places[atom]);
            if distance2_from(region, simbox, [s, s]) <= reach2 {
                chosen.push(Copied::of(atom));
            }
        }
    }
}
