//! Water in a box: copies of an equilibrated cube side by side, cut at the border of the box and around the solute.
//! Molecules that overlap images of others across the border are pushed apart and turned, so that the density stays
//! that of the model.
//!
//! The cube is one of SPC/E. Other models have its oxygens, as far apart as their density says, its directions, and
//! molecules of their own form.

use super::super::grid::Grid;
use super::super::push_off::push_apart;
use super::solute::Solute;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Error, Result, SimBox, Species, System, Vec3, Vector, WaterShape};
use jostle_io::forcefield::solvent::{WATER_MASS, WaterModel};
use jostle_potentials::{BondKind, BondTerm};

/// The equilibrated cube.
const CUBE: &str = include_str!("water.txt");

/// Part of the mean of two values of sigma within which an oxygen overlaps an atom of the solute: the force there is
/// strong, and falls off within a few steps of a minimiser.
const OXYGEN_REACH: f64 = 0.8;
/// Part of the sigma of an atom of the solute within which a hydrogen of water, which has none of its own, overlaps it.
const HYDROGEN_REACH: f64 = 0.55;
/// Least distances of oxygens and of hydrogens of water from atoms without a sigma, in nm: hydrogen bonds are 0.18.
const LEAST: [f64; 2] = [0.16, 0.15];

/// Least distance of two oxygens in nm: in liquid water few are nearer.
const OXYGENS: f64 = 0.25;

/// Distance in nm within which a hydrogen of water touches an atom of another molecule, and one beyond which it is
/// looked at no further.
const HYDROGENS: f64 = 0.15;

/// Distance of oxygens beyond which no atoms of two molecules touch, in nm.
const REACH: f64 = 0.4;

/// Molecules that are nearer to the border, in nm, may have to be turned.
const BORDER: f64 = 0.6;

/// Directions that are tried for a molecule.
const TURNS: u64 = 50;

/// Places in the box where the first cube may begin: that with the number of molecules nearest to the density is
/// taken.
const STARTS: u32 = 16;

/// Least distances of an ion from the solute and from other ions, in nm; where there is no room for all ions, half.
const ION_DISTANCE: f64 = 0.5;

/// Molecules of a g/cm^3 of water in a cubic nanometre.
pub(super) fn per_volume() -> f64 {
    602.214_076 / WATER_MASS
}

/// A molecule: oxygen, two hydrogens, and perhaps the point between.
#[derive(Debug, Clone, Copy)]
pub(super) struct Water {
    oxygen: Vec3,
    hydrogens: [Vec3; 2],
    site: Option<Vec3>,
}

impl Water {
    pub(super) fn atoms(&self) -> impl Iterator<Item = Vec3> + use<> {
        [self.oxygen, self.hydrogens[0], self.hydrogens[1]].into_iter().chain(self.site)
    }

    /// A molecule of this form with its oxygen at a place, turned as the vectors to two hydrogens say.
    fn new(shape: &WaterShape, oxygen: Vec3, arms: [Vec3; 2]) -> Self {
        let middle = unit(arms[0] + arms[1]);
        let between: Vec3 = arms[0] - arms[1];
        let along: f64 = (0..3).map(|k| between[k] * middle[k]).sum();
        let across = unit(between - along * middle);
        let (sin, cos) = (0.5 * shape.angle.to_radians()).sin_cos();
        let place = |x: f64, y: f64| oxygen + x * middle + y * across;
        let (x, y) = (shape.bond_length * cos, shape.bond_length * sin);
        Water {
            oxygen,
            hydrogens: [place(x, y), place(x, -y)],
            site: shape.site_distance.map(|d| place(d, 0.0)),
        }
    }

    /// The square of the least distance between a hydrogen of this molecule and an atom of another one.
    fn contact(&self, other: &Water, simbox: &SimBox) -> f64 {
        let direct = other.oxygen - self.oxygen;
        let nearest = simbox.nearest_image(direct);
        let shift = nearest - direct;
        let far = |a: &Vec3, b: &Vec3| -> f64 { (0..3).map(|k| (b[k] + shift[k] - a[k]).powi(2)).sum() };
        let others = [other.oxygen, other.hydrogens[0], other.hydrogens[1]];
        let all = self.hydrogens.iter().flat_map(|a| others.iter().map(move |b| far(a, b)));
        all.fold(f64::INFINITY, f64::min)
    }

    fn moved(&self, shift: Vec3) -> Water {
        let moved = |r: Vec3| r + shift;
        Water { oxygen: moved(self.oxygen), hydrogens: self.hydrogens.map(moved), site: self.site.map(moved) }
    }
}

fn unit(v: Vec3) -> Vec3 {
    let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
    v.map(|x| x / length)
}

/// All water of a box.
pub(super) struct Waters(Vec<Water>);

impl Waters {
    /// Fills a box; the seed says where in it the cubes begin.
    ///
    /// # Errors
    /// If molecules cannot be pushed apart.
    pub(super) fn fill(
        simbox: &SimBox,
        model: &WaterModel,
        solute: Option<&Solute>,
        seed: u64,
    ) -> Result<Self> {
        let (cube, edge) = cube(model);
        let wanted = model.density * per_volume() * simbox.volume();
        let starts = (0..STARTS).map(|start| {
            let mut random = Stream::new(seed, Purpose::Placement, start, 0);
            Vec3::from_fn(|_| -edge * random.uniform())
        });
        let off = |start: &Vec3| {
            let count = cubes(simbox, edge, *start).flat_map(|shift| within(simbox, &cube, shift)).count();
            (count as f64 - wanted).abs()
        };
        let best = starts.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or_default();
        let obstacle = solute.map(|solute| Obstacle::new(simbox, solute));
        let free = |water: &Water| obstacle.as_ref().is_none_or(|solute| !solute.overlaps(water, model));
        let all = cubes(simbox, edge, best).flat_map(|shift| within(simbox, &cube, shift));
        let mut found: Vec<Water> = all.filter(free).collect();
        part_oxygens(simbox, &mut found)?;
        turn_at_border(simbox, model, &mut found, seed);
        // Some may have been pushed against the solute.
        found.retain(free);
        Ok(Waters(found))
    }

    pub(super) fn molecules(&self) -> &[Water] {
        &self.0
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Takes molecules away, chosen by chance among those that are far from the solute and from each other; the
    /// places of their oxygens.
    ///
    /// # Errors
    /// If there are not so many.
    pub(super) fn replace(
        &mut self,
        n: usize,
        simbox: &SimBox,
        solute: Option<&Solute>,
        seed: u64,
    ) -> Result<Vec<Vec3>> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        let mut random = Stream::new(seed, Purpose::Composition, 0, 0);
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        for distance in [ION_DISTANCE, 0.5 * ION_DISTANCE] {
            let mut taken =
                Grid::new(*simbox, distance, n + solute.map_or(0, |solute| solute.positions.len()));
            solute.iter().flat_map(|solute| &solute.positions).for_each(|r| taken.insert(*r));
            let mut chosen: Vec<usize> = Vec::with_capacity(n);
            for water in &order {
                if chosen.len() == n {
                    break;
                }
                let place = self.0[*water].oxygen;
                if taken.neighbor(place).is_none() {
                    taken.insert(place);
                    chosen.push(*water);
                }
            }
            if chosen.len() == n {
                let places = chosen.iter().map(|water| self.0[*water].oxygen).collect();
                let mut kept = vec![true; self.0.len()];
                chosen.iter().for_each(|water| kept[*water] = false);
                let mut kept = kept.into_iter();
                self.0.retain(|_| kept.next().unwrap_or(true));
                return Ok(places);
            }
        }
        let message = format!("{n} ions have no room in {} water molecules without touching", self.0.len());
        Err(Error::input(message).hint("give a lower concentration or a larger box"))
    }
}

/// Molecules of the cube for a model, and its edge in nm.
fn cube(model: &WaterModel) -> (Vec<Water>, f64) {
    let numbers = |line: &str| line.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<f64>>();
    let mut lines = CUBE.lines().filter(|line| !line.starts_with('#')).map(numbers);
    let head = lines.next().unwrap_or_default();
    let (count, before) = (head[0], head[1]);
    let edge = (count / (model.density * per_volume())).cbrt();
    let water = |line: Vec<f64>| {
        let three = |from: usize| Vector([line[from], line[from + 1], line[from + 2]]);
        let oxygen = three(0) / before * edge;
        Water::new(&model.shape, oxygen, [three(3), three(6)])
    };
    (lines.map(water).collect(), edge)
}

/// Lowest and highest coordinates of a box.
fn corners(simbox: &SimBox) -> (Vec3, Vec3) {
    let all = (0..8).map(|n| simbox.to_cartesian(Vector::from_fn(|k| f64::from(n >> k & 1))));
    all.fold((Vector([f64::INFINITY; 3]), Vector([f64::NEG_INFINITY; 3])), |(low, high), r| {
        (Vector::from_fn(|k| low[k].min(r[k])), Vector::from_fn(|k| high[k].max(r[k])))
    })
}

/// Shifts of all cubes that reach into the box, the first of them at `start` below its lowest corner.
fn cubes(simbox: &SimBox, edge: f64, start: Vec3) -> impl Iterator<Item = Vec3> + use<> {
    let (low, high) = corners(simbox);
    let first = low + start;
    let [nx, ny, nz] = [0, 1, 2].map(|k| ((high[k] - first[k]) / edge).ceil() as u32);
    (0..nx)
        .flat_map(move |i| (0..ny).flat_map(move |j| (0..nz).map(move |k| [i, j, k])))
        .map(move |cell| first + Vector(cell.map(f64::from)) * edge)
}

/// Molecules of a shifted cube whose oxygens are in the box.
fn within(simbox: &SimBox, cube: &[Water], shift: Vec3) -> impl Iterator<Item = Water> {
    let moved = cube.iter().map(move |water| water.moved(shift));
    moved.filter(|water| simbox.to_fractional(water.oxygen).iter().all(|s| (0.0..1.0).contains(s)))
}

/// Moves molecules so that no two oxygens are too near.
fn part_oxygens(simbox: &SimBox, waters: &mut [Water]) -> Result<()> {
    let scaled = |lengths: [f64; 3]| lengths.map(|x| x / OXYGENS);
    let unit = SimBox::new([0.0; 3], scaled(simbox.lengths()), scaled(simbox.tilts()), simbox.periodic())?;
    let mut system = System::new(unit, vec![Species { name: "oxygen".into(), mass: 1.0, charge: 0.0 }]);
    waters.iter().for_each(|water| system.state.push(0, water.oxygen / OXYGENS));
    let places = push_apart(system, BondTerm::new(BondKind::HarmonicBond, 0))?;
    for (water, place) in waters.iter_mut().zip(places) {
        let shift = place * OXYGENS - water.oxygen;
        *water = water.moved(shift);
    }
    Ok(())
}

/// Turns molecules near the border whose hydrogens touch others.
fn turn_at_border(simbox: &SimBox, model: &WaterModel, waters: &mut [Water], seed: u64) {
    let mut grid = Grid::new(*simbox, REACH, waters.len());
    waters.iter().for_each(|water| grid.insert(water.oxygen));
    let widths = simbox.widths();
    let mut near: Vec<usize> = Vec::new();
    for number in 0..waters.len() {
        let water = waters[number];
        let s = simbox.to_fractional(water.oxygen);
        if !(0..3).any(|k| s[k].min(1.0 - s[k]) * widths[k] < BORDER) {
            continue;
        }
        near.clear();
        grid.find(water.oxygen, |other, r2| {
            if other != number && r2 < REACH * REACH {
                near.push(other);
            }
            false
        });
        let contact = |water: &Water| {
            near.iter().map(|other| water.contact(&waters[*other], simbox)).fold(f64::INFINITY, f64::min)
        };
        let (mut best, mut least) = (water, contact(&water));
        for turn in 1..=TURNS {
            if least >= HYDROGENS * HYDROGENS {
                break;
            }
            let mut random = Stream::new(seed, Purpose::Placement, number as u32, turn);
            let turned = Water::new(&model.shape, water.oxygen, [random.direction(), random.direction()]);
            let contact = contact(&turned);
            if contact > least {
                (best, least) = (turned, contact);
            }
        }
        waters[number] = best;
    }
}

/// A solute in the way of water.
struct Obstacle {
    grid: Grid,
    sigma: Vec<f64>,
}

impl Obstacle {
    fn new(simbox: &SimBox, solute: &Solute) -> Self {
        let sigma: Vec<f64> = (0..solute.positions.len()).map(|atom| solute.sigma(atom)).collect();
        // Sigma of oxygen in any model is below 0.33.
        let widest = sigma.iter().fold(0.0, |a: f64, b| a.max(*b));
        let reach = (OXYGEN_REACH * 0.5 * (widest + 0.33)).max(REACH);
        let mut grid = Grid::new(*simbox, reach, solute.positions.len());
        solute.positions.iter().for_each(|r| grid.insert(*r));
        Obstacle { grid, sigma }
    }

    fn overlaps(&self, water: &Water, model: &WaterModel) -> bool {
        let near = |r: Vec3, reach: &dyn Fn(f64) -> f64| {
            self.grid.find(r, |atom, r2| r2 < reach(self.sigma[atom]).powi(2)).is_some()
        };
        let oxygen = |sigma: f64| (OXYGEN_REACH * 0.5 * (sigma + model.sigma)).max(LEAST[0]);
        let oxygen = |sigma: f64| if sigma > 0.0 { oxygen(sigma) } else { LEAST[0] };
        let hydrogen = |sigma: f64| (HYDROGEN_REACH * sigma).max(LEAST[1]);
        near(water.oxygen, &oxygen) || water.hydrogens.iter().any(|r| near(*r, &hydrogen))
    }
}
