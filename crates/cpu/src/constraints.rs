//! Distances that do not change. After a drift, atoms are moved back along the distances that they
//! had before it (SHAKE: Ryckaert, Ciccotti and Berendsen, J. Comput. Phys. 23 (1977) 327), all of a
//! molecule at once (Kräutler, van Gunsteren and Hünenberger, J. Comput. Chem. 22 (2001) 501);
//! velocities lose what would change a distance (RATTLE: Andersen, J. Comput. Phys. 52 (1983) 24).

use crate::bonded::TENSOR;
use crate::threads::Team;
use jostle_core::{Error, Result, SimBox, State, SymTensor, System, Vec3};
use std::collections::BTreeMap;

/// The most constraints that are solved together.
pub const MOST: usize = 12;

/// So near, relatively, distances come to what they should be.
const TOLERANCE: f64 = 1e-12;

/// More rounds than any molecule needs that has not flown apart.
const MOST_ROUNDS: usize = 100;

/// No constraint has this atom.
const FREE: u32 = u32::MAX;

/// The constraints of a system, in groups that share atoms.
#[derive(Default)]
pub struct Constraints {
    groups: Vec<Group>,
    /// By id, the place of an atom in the lists of all groups.
    slots: Vec<u32>,
    /// By slot: id, place in the arrays, inverse mass.
    ids: Vec<u32>,
    places: Vec<u32>,
    inverse_mass: Vec<f64>,
    /// Corrections of the last verb, by slot.
    corrections: Vec<Vec3>,
}

/// Constraints that share atoms.
struct Group {
    /// Its first slot and one past its last.
    slots: [usize; 2],
    /// Two of its atoms and the square of their distance.
    pairs: Vec<([usize; 2], f64)>,
}

/// A square matrix, solved by elimination.
type Matrix = [[f64; MOST]; MOST];

impl Constraints {
    /// Those of a system.
    ///
    /// # Errors
    /// If more than [`MOST`] hang together.
    pub fn new(system: &System) -> Result<Self> {
        let constraints = &system.topology.constraints;
        if constraints.is_empty() {
            return Ok(Constraints::default());
        }
        let mut leader: Vec<usize> = (0..system.state.len()).collect();
        let find = |leader: &[usize], mut a: usize| {
            while leader[a] != a {
                a = leader[a];
            }
            a
        };
        for constraint in constraints {
            let [a, b] = constraint.atoms.map(|id| find(&leader, id as usize));
            leader[a.max(b)] = a.min(b);
        }
        let mut by_leader: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (k, constraint) in constraints.iter().enumerate() {
            by_leader.entry(find(&leader, constraint.atoms[0] as usize)).or_default().push(k);
        }
        let (_, inverse_mass) = system.dynamic_masses();
        let order = system.state.order();
        let mut all = Constraints { slots: vec![FREE; system.state.len()], ..Constraints::default() };
        for members in by_leader.into_values() {
            if members.len() > MOST {
                let name = system.names.describe(constraints[members[0]].atoms[0]);
                let message = format!("{} constraints hang together at {name}", members.len());
                return Err(Error::input(message).hint(format!("at most {MOST} may")));
            }
            let first = all.ids.len();
            let mut pairs = Vec::with_capacity(members.len());
            for k in members {
                let pair = constraints[k].atoms.map(|id| {
                    let slot = &mut all.slots[id as usize];
                    if *slot == FREE {
                        *slot = all.ids.len() as u32;
                        all.ids.push(id);
                        let species = system.state.species[order[id as usize]];
                        all.inverse_mass.push(inverse_mass[usize::from(species)]);
                    }
                    *slot as usize - first
                });
                pairs.push((pair, constraints[k].length.powi(2)));
            }
            all.groups.push(Group { slots: [first, all.ids.len()], pairs });
        }
        all.corrections = vec![[0.0; 3]; all.ids.len()];
        Ok(all)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Finds out where atoms are when they have been sorted.
    pub fn place(&mut self, order: &[usize]) {
        self.places = self.ids.iter().map(|id| order[*id as usize] as u32).collect();
    }

    /// What an atom is to be corrected by, by its id.
    #[inline(always)]
    pub fn correction(&self, id: u32) -> Vec3 {
        match self.slots[id as usize] {
            FREE => [0.0; 3],
            slot => self.corrections[slot as usize],
        }
    }

    /// Finds by what atoms that have drifted with their velocities for `dt` are to be moved.
    ///
    /// # Errors
    /// If a molecule has flown apart: names an atom.
    pub fn correct_positions(&mut self, team: &Team, simbox: &SimBox, state: &State, dt: f64) -> Result<()> {
        let outcomes = self.each(team, |group, corrections, places, inverse_mass| {
            let mut now = [[0.0; 3]; MOST + 1];
            let mut before = now;
            let first = places[0] as usize;
            for (k, place) in places.iter().enumerate() {
                let place = *place as usize;
                now[k] = simbox.nearest_image(minus(state.position[place], state.position[first]));
                let drift = minus(state.velocity[place], state.velocity[first]).map(|v| dt * v);
                before[k] = minus(now[k], drift);
                corrections[k] = now[k];
            }
            let mut arms = [[0.0; 3]; MOST];
            for (arm, ([a, b], _)) in arms.iter_mut().zip(&group.pairs) {
                *arm = minus(before[*a], before[*b]);
            }
            let matrix = factors(&group.pairs, &arms, inverse_mass);
            for _ in 0..MOST_ROUNDS {
                let (mut wrong, mut hold) = ([0.0; MOST], true);
                for (wrong, ([a, b], square)) in wrong.iter_mut().zip(&group.pairs) {
                    let d = minus(now[*a], now[*b]);
                    *wrong = 0.5 * (dot(d, d) - square);
                    hold &= wrong.abs() <= TOLERANCE * square;
                }
                if hold {
                    for (k, correction) in corrections.iter_mut().enumerate() {
                        *correction = minus(now[k], *correction);
                    }
                    return (true, [0.0; 6]);
                }
                solve(&matrix, &mut wrong, group.pairs.len());
                for ((multiplier, arm), ([a, b], _)) in wrong.iter().zip(&arms).zip(&group.pairs) {
                    for d in 0..3 {
                        now[*a][d] -= multiplier * inverse_mass[*a] * arm[d];
                        now[*b][d] += multiplier * inverse_mass[*b] * arm[d];
                    }
                }
            }
            (false, [0.0; 6])
        });
        match outcomes.iter().position(|(held, _)| !held) {
            None => Ok(()),
            Some(group) => {
                let id = self.ids[self.groups[group].slots[0]];
                let message = format!("the constraints of the molecule of atom {} do not hold", id + 1);
                Err(Error::simulation(message).hint("shorten the time step, or begin with a shorter one"))
            }
        }
    }

    /// Finds by what velocities are to be changed so that no distance changes; the sum of arm times
    /// impulse over all constraints.
    pub fn correct_velocities(&mut self, team: &Team, simbox: &SimBox, state: &State) -> SymTensor {
        let outcomes = self.each(team, |group, corrections, places, inverse_mass| {
            let (mut arms, mut closing) = ([[0.0; 3]; MOST], [0.0; MOST]);
            for (k, ([a, b], _)) in group.pairs.iter().enumerate() {
                let [a, b] = [a, b].map(|k| places[*k] as usize);
                arms[k] = simbox.nearest_image(minus(state.position[a], state.position[b]));
                closing[k] = dot(arms[k], minus(state.velocity[a], state.velocity[b]));
            }
            let matrix = factors(&group.pairs, &arms, inverse_mass);
            solve(&matrix, &mut closing, group.pairs.len());
            corrections.fill([0.0; 3]);
            let mut impulse = [0.0; 6];
            for ((multiplier, arm), ([a, b], _)) in closing.iter().zip(&arms).zip(&group.pairs) {
                for d in 0..3 {
                    corrections[*a][d] -= multiplier * inverse_mass[*a] * arm[d];
                    corrections[*b][d] += multiplier * inverse_mass[*b] * arm[d];
                }
                for (w, (p, q)) in impulse.iter_mut().zip(TENSOR) {
                    *w -= multiplier * arm[p] * arm[q];
                }
            }
            (true, impulse)
        });
        let mut sum = [0.0; 6];
        for (_, part) in outcomes {
            sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        }
        sum
    }

    /// Does something for every group, which gets the corrections, places and inverse masses of its
    /// atoms.
    fn each(
        &mut self,
        team: &Team,
        body: impl Fn(&Group, &mut [Vec3], &[u32], &[f64]) -> (bool, SymTensor) + Sync,
    ) -> Vec<(bool, SymTensor)> {
        let Constraints { groups, corrections, places, inverse_mass, .. } = self;
        let share = groups.len().div_ceil(team.size()).max(1);
        let mut rest = &mut corrections[..];
        let mut parts = Vec::new();
        for groups in groups.chunks(share) {
            let n: usize = groups.iter().map(|g| g.slots[1] - g.slots[0]).sum();
            parts.push((groups, rest.split_off_mut(..n).unwrap_or_default()));
        }
        let outcomes = team.map(parts, |_, (groups, mut corrections)| {
            let one = |group: &Group| {
                let [first, end] = group.slots;
                let mine = corrections.split_off_mut(..end - first).unwrap_or_default();
                body(group, mine, &places[first..end], &inverse_mass[first..end])
            };
            groups.iter().map(one).collect::<Vec<_>>()
        });
        outcomes.into_iter().flatten().collect()
    }
}

fn minus(a: Vec3, b: Vec3) -> Vec3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Vec3, b: Vec3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// How an impulse along one arm changes the speed along another, as the factors of Gauss' elimination
/// (the matrix is positive definite where constraints do not contradict each other).
fn factors(pairs: &[([usize; 2], f64)], arms: &[Vec3; MOST], inverse_mass: &[f64]) -> Matrix {
    let mut m: Matrix = [[0.0; MOST]; MOST];
    for (i, ([a, b], _)) in pairs.iter().enumerate() {
        for (j, ([c, d], _)) in pairs.iter().enumerate() {
            let shared = |p: usize, q: usize| if p == q { inverse_mass[p] } else { 0.0 };
            let weight = shared(*a, *c) - shared(*a, *d) - shared(*b, *c) + shared(*b, *d);
            m[i][j] = weight * dot(arms[i], arms[j]);
        }
    }
    let n = pairs.len();
    for k in 0..n {
        for i in k + 1..n {
            m[i][k] /= m[k][k];
            for j in k + 1..n {
                m[i][j] -= m[i][k] * m[k][j];
            }
        }
    }
    m
}

/// Solves for a right-hand side, in place.
fn solve(m: &Matrix, x: &mut [f64; MOST], n: usize) {
    for i in 0..n {
        for j in 0..i {
            x[i] -= m[i][j] * x[j];
        }
    }
    for i in (0..n).rev() {
        for j in i + 1..n {
            x[i] -= m[i][j] * x[j];
        }
        x[i] /= m[i][i];
    }
}
