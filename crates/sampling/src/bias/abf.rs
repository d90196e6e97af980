//! Adaptive biasing force on an extended variable (Lesage, Lelièvre, Stoltz and Hénin 2017). A fictitious particle
//! is bound to the variables by springs, moves by Langevin's equation, and gets the mean of the force on it taken
//! off, so that it diffuses freely. The free energy of the variables themselves follows from their histogram and from
//! where the particle was (CZAR, equation 20 there), without second derivatives and for any variable.
//!
//! Of the means, the part that is the slope of an energy is taken off: see [`super::closed`] for the reason.

use super::bins::{Bins, Blocks};
use super::closed::{ClosedPart, project_every};
use super::harmonic::spring;
use super::switching::{Pending, switching_work};
use super::{Bias, BiasVariable, Moment, axes, from_bytes, to_bytes};
use crate::grid::Axis;
use jostle_core::backend::{AdaptiveForceSettings, BiasFunction, BiasMemory, ParticleMemory, SAMPLE_BLOCKS};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Error, Real, Result};
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// Settings of the adaptive biasing force.
#[derive(Debug, Clone, PartialEq)]
pub struct AbfSettings {
    /// k_B T
    pub thermal_energy: f64,
    /// First and last value of each variable; a periodic one has its period.
    pub range: Vec<[f64; 2]>,
    /// Width of bins for each variable.
    pub spacing: Vec<f64>,
    /// Thermal fluctuation of the variable about the particle, which decides on the stiffness of its spring.
    pub coupling: Vec<f64>,
    /// Period of oscillations of the particle on its spring.
    pub relaxation: f64,
    /// Samples in a bin from which the whole mean force is taken off; from half of them on, a part.
    pub full_samples: u64,
}

/// Force on the particle that takes off the mean force on it, from the samples of a bin and their sum: a part of it
/// where there are less than `full` samples.
pub fn taken_off<R: Real>(count: R, sum: R, full: R) -> R {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let ramp = (R::lit(2.0) * count - full) / full;
    let ramp = R::select(ramp.lt(zero), zero, ramp);
    let ramp = R::select(one.lt(ramp), one, ramp);
    -ramp * sum / R::select(count.lt(one), one, count)
}

/// Place and velocity of a particle after a step by Langevin's equation under a force, with mass, damping, k_B T and
/// length of the step, and a normal deviate.
pub fn advance_particle<R: Real>(
    [place, velocity]: [R; 2],
    force: R,
    [mass, damping, thermal_energy, timestep]: [R; 4],
    deviate: R,
) -> [R; 2] {
    let decay = (-(damping * timestep)).exp();
    let noise = ((R::lit(1.0) - decay * decay) * thermal_energy / mass).sqrt() * deviate;
    let before = velocity + timestep * force / mass;
    let after = decay * before + noise;
    [place + R::lit(0.5) * timestep * (before + after), after]
}

/// Place and velocity of a particle that is reflected at the ends of its range.
pub fn reflected<R: Real>([place, velocity]: [R; 2], [lower, upper]: [R; 2]) -> [R; 2] {
    let two = R::lit(2.0);
    let (below, above) = (place.lt(lower), upper.lt(place));
    let mirrored = R::select(below, two * lower - place, R::select(above, two * upper - place, place));
    let within = R::select(mirrored.lt(lower), lower, R::select(upper.lt(mirrored), upper, mirrored));
    [within, R::select(below, -velocity, R::select(above, -velocity, velocity))]
}

/// Velocity of a particle in equilibrium, from a normal deviate.
pub fn thermal_velocity<R: Real>(thermal_energy: R, mass: R, deviate: R) -> R {
    (thermal_energy / mass).sqrt() * deviate
}

/// State that a checkpoint has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    /// Place of the particle, and the one that it has after a step.
    place: Vec<f64>,
    next: Pending<Vec<f64>>,
    velocity: Vec<f64>,
    /// Force on the particle by its place, and displacement of the particle by the place of the variables.
    by_particle: Bins,
    by_variable: Blocks,
    /// Values at the middle of bins whose slopes push the particle.
    closed: Vec<f64>,
    /// Values and place at the end of the last step.
    last: Option<[Vec<f64>; 2]>,
    work: f64,
}

/// The bias.
pub struct Abf {
    variables: Vec<BiasVariable>,
    settings: AbfSettings,
    axes: Vec<Axis>,
    stiffness: Vec<f64>,
    mass: Vec<f64>,
    closed_part: ClosedPart,
    state: State,
}

/// Most bins, of each of which there are [`SAMPLE_BLOCKS`].
const MOST_BINS: usize = 500_000;
/// Friction of the particle times the period of its oscillations.
const DAMPING: f64 = 0.2;
/// Number of the first random stream for velocities with which the particle begins.
pub const FIRST_VELOCITY: u32 = 1000;

impl Abf {
    /// Adaptive biasing force on one or two variables.
    ///
    /// # Errors
    /// If the settings make no sense.
    pub fn new(variables: Vec<BiasVariable>, settings: AbfSettings) -> Result<Self> {
        let axes = axes(&variables, &settings.range, &settings.spacing, "bins")?;
        let bins: usize = axes.iter().map(|axis| axis.intervals).product();
        if bins > MOST_BINS {
            return Err(Error::input(format!("{bins} bins")).hint("make spacing wider"));
        }
        let closed_part = ClosedPart::new(axes.iter().map(Axis::plain).collect())?;
        let kt = settings.thermal_energy;
        let stiffness: Vec<f64> = settings.coupling.iter().map(|sigma| kt / (sigma * sigma)).collect();
        let rate = settings.relaxation / (2.0 * std::f64::consts::PI);
        let mass = stiffness.iter().map(|k| k * rate * rate).collect();
        let dimensions = variables.len();
        let state = State {
            place: Vec::new(),
            next: Pending::default(),
            velocity: vec![0.0; dimensions],
            by_particle: Bins::new(bins, dimensions),
            by_variable: Blocks::new(bins, dimensions),
            closed: vec![0.0; bins],
            last: None,
            work: 0.0,
        };
        Ok(Abf { variables, settings, axes, stiffness, mass, closed_part, state })
    }

    /// Bin with some values; `None` outside.
    fn bin(&self, values: &[f64]) -> Option<usize> {
        let (mut bin, mut stride) = (0, 1);
        for (axis, x) in self.axes.iter().zip(values) {
            bin += axis.interval(*x)?.0 * stride;
            stride *= axis.intervals;
        }
        Some(bin)
    }

    fn displacement(&self, values: &[f64], place: &[f64]) -> Vec<f64> {
        let parts = self.variables.iter().zip(values).zip(place);
        parts.map(|((variable, x), place)| variable.difference(*x, *place)).collect()
    }

    fn energy(&self, values: &[f64], place: &[f64]) -> f64 {
        let d = self.displacement(values, place);
        d.iter().zip(&self.stiffness).map(|(d, k)| spring(*d, *k).0).sum()
    }

    /// Friction of the particle, a rate.
    fn damping(&self) -> f64 {
        DAMPING / self.settings.relaxation
    }

    /// Moves the particle by a step, reflected where its range ends.
    fn advance(&self, values: &[f64], now: &Moment) -> (Vec<f64>, Vec<f64>) {
        let thermal_energy = self.settings.thermal_energy;
        let (dt, place) = (now.timestep, &self.state.place);
        let push = self.closed_part.slopes(&self.state.closed, place);
        let (mut places, mut velocities) = (Vec::new(), Vec::new());
        for (k, d) in self.displacement(values, place).iter().enumerate() {
            let force = spring(*d, self.stiffness[k]).1 + push[k];
            let mut stream = Stream::new(now.seed, Purpose::Bias, k as u32, now.step);
            let known = [self.mass[k], self.damping(), thermal_energy, dt];
            let [mut to, mut velocity] =
                advance_particle([place[k], self.state.velocity[k]], force, known, stream.normal());
            let axis = &self.axes[k];
            if !axis.periodic {
                [to, velocity] = reflected([to, velocity], [axis.lower, axis.upper()]);
            }
            places.push(to);
            velocities.push(velocity);
        }
        (places, velocities)
    }

    /// Forces that would take the mean forces on the particle off, bin after bin.
    fn taken_off(&self) -> Vec<f64> {
        let Bins { count, sum } = &self.state.by_particle;
        let (dimensions, full) = (self.axes.len(), self.settings.full_samples as f64);
        let off = |(k, sum): (usize, &f64)| taken_off(count[k / dimensions] as f64, *sum, full);
        sum.iter().enumerate().map(off).collect()
    }

    /// Gradient of the free energy along each variable at the middle of each bin; NaN where there are no
    /// neighbours with samples.
    pub fn gradient(&self) -> Vec<Vec<f64>> {
        self.gradient_of(&self.state.by_variable.total())
    }

    fn gradient_of(&self, bins: &Bins) -> Vec<Vec<f64>> {
        let (dimensions, kt) = (self.axes.len(), self.settings.thermal_energy);
        let sizes: Vec<usize> = self.axes.iter().map(|axis| axis.intervals).collect();
        let along = |bin: usize, d: usize| -> f64 {
            let stride: usize = sizes[..d].iter().product();
            let index = bin / stride % sizes[d];
            // Logarithm of the number of samples, so many bins further.
            let ln = |further: isize| -> Option<f64> {
                let (at, size) = (index as isize + further, sizes[d] as isize);
                let at = if self.axes[d].periodic { at.rem_euclid(size) } else { at };
                let other = (0..size).contains(&at).then(|| bin - index * stride + at as usize * stride)?;
                (bins.count[other] > 0).then(|| (bins.count[other] as f64).ln())
            };
            let Some(slope) = slope([-2, -1, 0, 1, 2].map(ln)) else { return f64::NAN };
            let mean = bins.sum[bin * dimensions + d] / bins.count[bin] as f64;
            -kt * slope / self.axes[d].spacing + self.stiffness[d] * mean
        };
        let at = |bin: usize| match bins.count[bin] {
            0 => vec![f64::NAN; dimensions],
            _ => (0..dimensions).map(|d| along(bin, d)).collect(),
        };
        (0..bins.count.len()).map(at).collect()
    }

    /// Middle of a bin.
    fn middle(&self, bin: usize) -> Vec<f64> {
        let mut rest = bin;
        let split = |axis: &Axis| {
            let index = rest % axis.intervals;
            rest /= axis.intervals;
            axis.lower + (index as f64 + 0.5) * axis.spacing
        };
        self.axes.iter().map(split).collect()
    }

    /// A grid of Colvars' layout, one row a bin.
    fn table(&self, columns: impl Fn(usize) -> Vec<f64>) -> String {
        let mut text = format!("# {}\n", self.axes.len());
        for axis in &self.axes {
            let Axis { lower, spacing, intervals, periodic } = axis;
            let _ = writeln!(text, "# {lower} {spacing} {intervals} {}", u8::from(*periodic));
        }
        for bin in 0..self.state.by_particle.count.len() {
            let row: Vec<String> =
                self.middle(bin).iter().chain(&columns(bin)).map(|x| format!("{x}")).collect();
            let _ = writeln!(text, "{}", row.join(" "));
        }
        text
    }
}

impl Bias for Abf {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn begin(&mut self, values: &[f64], now: &Moment) -> Result<()> {
        // From a particle that has not ended the step before, the variables have moved away.
        let follows = self.state.next.noted().is_some_and(|(step, _)| *step + 1 >= now.step);
        if self.state.place.is_empty() || !follows {
            if self.bin(values).is_none() {
                return Err(Error::simulation(format!(
                    "the variables of a bias begin at {values:?}, outside of its bins"
                ))
                .hint("widen the range by lower and upper"));
            }
            self.state.place = values.to_vec();
            self.state.next = Pending::default();
            for (k, velocity) in self.state.velocity.iter_mut().enumerate() {
                let mut stream = Stream::new(now.seed, Purpose::Bias, k as u32 + FIRST_VELOCITY, now.step);
                *velocity = thermal_velocity(self.settings.thermal_energy, self.mass[k], stream.normal());
            }
        }
        self.state.last = Some([values.to_vec(), self.state.place.clone()]);
        Ok(())
    }

    fn evaluate(&mut self, values: &[f64], now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        if let Some(place) = self.state.next.take_due(now.step) {
            self.state.place = place;
        }
        let d = self.displacement(values, &self.state.place);
        slopes
            .iter_mut()
            .zip(d.iter().zip(&self.stiffness))
            .for_each(|(slope, (d, k))| *slope = spring(*d, *k).1);
        Ok(self.energy(values, &self.state.place))
    }

    fn end_step(&mut self, values: &[f64], now: &Moment) -> Result<()> {
        let place = self.state.place.clone();
        if let Some([x, before]) = &self.state.last {
            let work = switching_work(
                [self.energy(x, before), self.energy(x, &place)],
                [self.energy(values, before), self.energy(values, &place)],
            );
            self.state.work += work;
        }
        self.state.last = Some([values.to_vec(), place.clone()]);
        let d = self.displacement(values, &place);
        if let Some(bin) = self.bin(&place) {
            let force: Vec<f64> = d.iter().zip(&self.stiffness).map(|(d, k)| spring(*d, *k).1).collect();
            self.state.by_particle.add(bin, &force);
        }
        if let Some(bin) = self.bin(values) {
            self.state.by_variable.add(bin, &self.displacement(&place, values));
        }
        let (next, velocity) = self.advance(values, now);
        self.state.velocity = velocity;
        self.state.next.note(now.step, next);
        if now.step.is_multiple_of(project_every(self.state.closed.len())) {
            self.state.closed = self.closed_part.find(&self.taken_off());
        }
        Ok(())
    }

    fn work(&self) -> f64 {
        self.state.work
    }

    fn function(&self) -> Option<BiasFunction> {
        let AbfSettings { thermal_energy, full_samples, .. } = self.settings;
        Some(BiasFunction::AdaptiveForce(AdaptiveForceSettings {
            stiffness: self.stiffness.clone(),
            mass: self.mass.clone(),
            thermal_energy,
            damping: self.damping(),
            full_samples,
            axes: self.axes.iter().map(Axis::plain).collect(),
        }))
    }

    fn memory(&self) -> BiasMemory {
        let State { place, next, velocity, by_particle, by_variable, closed, last, work } = &self.state;
        let mut numbers = vec![0.0; ParticleMemory::COUNT];
        let mut write =
            |first: usize, values: &[f64]| numbers[first..][..values.len()].copy_from_slice(values);
        write(ParticleMemory::WORK, &[*work]);
        if let Some([values, place]) = last {
            write(ParticleMemory::KNOWN, &[1.0]);
            write(ParticleMemory::VALUES, values);
            write(ParticleMemory::LAST_PLACE, place);
        }
        write(ParticleMemory::BEGUN, &[f64::from(u8::from(!place.is_empty()))]);
        write(ParticleMemory::PLACE, place);
        write(ParticleMemory::VELOCITY, velocity);
        write(ParticleMemory::PENDING, &[next.noted().map_or(-1.0, |(step, _)| *step as f64)]);
        write(ParticleMemory::NEXT, next.get().map_or(&[], Vec::as_slice));
        write(ParticleMemory::SAMPLES, &[by_variable.samples as f64]);
        let blocks = by_variable.parts.iter().flat_map(Bins::numbers);
        let grid = by_particle.numbers().chain(blocks).chain(closed.iter().copied()).collect();
        BiasMemory { numbers, grid, ..BiasMemory::default() }
    }

    fn take_memory(&mut self, BiasMemory { numbers, grid, .. }: BiasMemory) {
        let dimensions = self.variables.len();
        let own = |first: usize| numbers[first..first + dimensions].to_vec();
        let state = &mut self.state;
        state.work = numbers[ParticleMemory::WORK];
        let known = numbers[ParticleMemory::KNOWN] != 0.0;
        state.last = known.then(|| [own(ParticleMemory::VALUES), own(ParticleMemory::LAST_PLACE)]);
        let begun = numbers[ParticleMemory::BEGUN] != 0.0;
        state.place = if begun { own(ParticleMemory::PLACE) } else { Vec::new() };
        state.velocity = own(ParticleMemory::VELOCITY);
        state.next = Pending::default();
        if numbers[ParticleMemory::PENDING] >= 0.0 {
            state.next.note(numbers[ParticleMemory::PENDING] as u64, own(ParticleMemory::NEXT));
        }
        state.by_variable.samples = numbers[ParticleMemory::SAMPLES] as u64;
        let rest = state.by_particle.take(&grid);
        let rest = state.by_variable.parts.iter_mut().fold(rest, |rest, part| part.take(rest));
        state.closed.copy_from_slice(rest);
    }

    fn show(&mut self, _center: f64, work: f64) {
        self.state.work = work;
    }

    fn save(&self) -> Result<Vec<u8>> {
        to_bytes(&self.state)
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let state: State = from_bytes(saved)?;
        let same = |a: &Bins, b: &Bins| a.count.len() == b.count.len() && a.sum.len() == b.sum.len();
        let blocks = state.by_variable.parts.iter();
        let fits = state.by_variable.parts.len() == SAMPLE_BLOCKS
            && blocks.chain([&state.by_particle]).all(|bins| same(bins, &self.state.by_particle));
        if !(fits && state.velocity.len() == self.axes.len() && state.closed.len() == self.state.closed.len())
        {
            return Err(Error::input("the checkpoint has an adaptive force on other bins")
                .hint("begin a new run with this input"));
        }
        self.state = state;
        Ok(())
    }

    fn files(&self) -> Vec<(String, String)> {
        let total = self.state.by_variable.total();
        // Nothing has been sampled before the first evaluation.
        if total.count.is_empty() {
            return Vec::new();
        }
        let gradient = self.gradient_of(&total);
        let left_out: Vec<Vec<Vec<f64>>> =
            self.state.by_variable.left_out().iter().map(|bins| self.gradient_of(bins)).collect();
        let without = |bin: usize| left_out.iter().flat_map(|gradient| gradient[bin].clone()).collect();
        vec![
            ("count".to_string(), self.table(|bin| vec![total.count[bin] as f64])),
            ("grad".to_string(), self.table(|bin| gradient[bin].clone())),
            ("jackknife".to_string(), self.table(without)),
        ]
    }
}

/// Slope at the middle of five values that follow each other, as far as they are there. By its two neighbours alone it is
/// off by h^2/6 of the third derivative, so that a barrier would be off by h^2/6 times the difference of the curvatures there
/// and in the well.
fn slope(values: [Option<f64>; 5]) -> Option<f64> {
    match values {
        [Some(aa), Some(a), _, Some(b), Some(bb)] => Some((8.0 * (b - a) - (bb - aa)) / 12.0),
        [_, Some(a), _, Some(b), _] => Some(0.5 * (b - a)),
        [_, None, Some(here), Some(b), _] => Some(b - here),
        [_, Some(a), Some(here), None, _] => Some(here - a),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slopes of a polynomial of the fourth order, which two neighbours alone do not give.
    #[test]
    fn slopes_are_of_the_fourth_order() {
        let f = |x: f64| 0.3 * x.powi(4) - 2.0 * x.powi(3) + x;
        let values = [-2.0, -1.0, 0.0, 1.0, 2.0].map(|step| Some(f(0.5 + step)));
        let exact = 1.2 * 0.5f64.powi(3) - 6.0 * 0.5f64.powi(2) + 1.0;
        assert!((slope(values).unwrap() - exact).abs() < 1e-12);
        let [aa, a, here, b, bb] = values;
        assert_eq!(slope([None, a, here, b, bb]), Some(0.5 * (b.unwrap() - a.unwrap())));
        assert_eq!(slope([aa, None, here, b, bb]), Some(b.unwrap() - here.unwrap()));
        assert_eq!(slope([aa, None, here, None, bb]), None);
    }
}
