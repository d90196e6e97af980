use super::*;
use crate::{Dimension, Error, Result};

/// w1 = 1 / (2 - 2^(1/3)), twice, around w2 = 1 - 2 w1 (Yoshida 1990).
const WEIGHTS: [f64; 3] = [1.351_207_191_959_657_6, -1.702_414_383_919_315_3, 1.351_207_191_959_657_6];

/// A Nose-Hoover chain (G. J. Martyna, M. L. Klein, M. E. Tuckerman, J. Chem. Phys. 97 (1992)
/// 2635): thermostats, all at one temperature, the first on the atoms, every other one on
/// the one before it. Its effect on atoms, [`Chain::drag`], is half a step of friction before
/// the forces act in a step and half a step after; theirs on it, [`Chain::push`], is the
/// kinetic energy of the drift between. So the step remains its own reverse, and the temperature held
/// is that of the velocities by which atoms move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoseHoover {
    /// The temperature it holds.
    pub target: Target,
    /// Masses of the links, energy * time^2.
    pub mass: Vec<f64>,
    /// Their positions.
    pub position: Vec<f64>,
    /// Their velocities, 1 / time.
    pub velocity: Vec<f64>,
}

impl NoseHoover {
    /// `period` is that of the oscillation around the temperature, 2 pi sqrt(Q / N_f kT); the
    /// chain has at least one link.
    pub fn new(target: Target, period: f64, chain: usize) -> Self {
        let links = chain.max(1);
        let unit = target.thermal_energy * (period / std::f64::consts::TAU).powi(2);
        let mut mass = vec![unit; links];
        mass[0] *= target.degrees_of_freedom as f64;
        NoseHoover { target, mass, position: vec![0.0; links], velocity: vec![0.0; links] }
    }

    /// Time steps in a period, at least. Links beyond the first have that period, too, and are now and then
    /// several times as quick: what is conserved with 300 oscillators in equilibrium was off by up to 29 k_B T with 12
    /// steps, and by less than 1 with 50.
    pub const FEWEST_STEPS: f64 = 50.0;

    /// Links at most: beyond a few, more change nothing.
    pub const MOST_LINKS: usize = 1000;

    /// Refuses a chain that is too long.
    ///
    /// # Errors
    /// If it has more links than [`NoseHoover::MOST_LINKS`].
    pub fn check_links(links: usize) -> Result<()> {
        if links <= Self::MOST_LINKS {
            return Ok(());
        }
        let message =
            format!("a Nosé-Hoover chain of {links} links, but at most {} make sense", Self::MOST_LINKS);
        Err(Error::input(message).hint("3 are usual"))
    }

    /// Refuses a period that is too short.
    ///
    /// # Errors
    /// If a chain with such a period is too quick for a time step.
    pub fn check(period: f64, timestep: f64) -> Result<()> {
        let least = Self::FEWEST_STEPS * timestep;
        if period >= least * (1.0 - 1e-9) {
            return Ok(());
        }
        let rounded = |x: f64| (1e4 * x).round() / 1e4;
        let steps = rounded(period / timestep);
        let what = format!("period is {steps} time steps: too few for a Nosé-Hoover chain");
        let few = Self::FEWEST_STEPS;
        let hint = format!("at least {few} time steps, {} here; some hundreds are usual", rounded(least));
        Err(Error::input(what).hint(hint))
    }

    /// Kinetic and potential energy of the chain: with the energy of the atoms it is conserved.
    pub fn energy(&self) -> f64 {
        let kt = self.target.thermal_energy;
        let moving: f64 = self.mass.iter().zip(&self.velocity).map(|(q, v)| 0.5 * q * v * v).sum();
        let first = self.target.degrees_of_freedom as f64 * self.position[0];
        moving + kt * (first + self.position[1..].iter().sum::<f64>())
    }

    /// Changes k_B T. Masses change along, so that the period stays; velocities are those of the
    /// chain in equilibrium at either temperature. The position of the first link, on which nothing
    /// depends but the chain's energy, takes up what that would change by.
    pub fn set_thermal_energy(&mut self, thermal_energy: f64) {
        let before = self.energy();
        let ratio = thermal_energy / self.target.thermal_energy;
        self.target.thermal_energy = thermal_energy;
        self.mass.iter_mut().for_each(|mass| *mass *= ratio);
        let per_position = thermal_energy * self.target.degrees_of_freedom as f64;
        self.position[0] -= (self.energy() - before) / per_position;
    }

    /// The numbers of the chain.
    pub fn chain(&mut self) -> Chain<'_, f64> {
        Chain {
            thermal_energy: self.target.thermal_energy,
            degrees_of_freedom: self.target.degrees_of_freedom as f64,
            mass: &self.mass,
            position: &mut self.position,
            velocity: &mut self.velocity,
        }
    }
}

impl ThermostatMethod for NoseHoover {
    const KIND: &'static str = "nose-hoover";
    const ABOUT: &'static str = "Nose-Hoover chain: deterministic, right ensemble near equilibrium";
    const LISTED: u8 = 2;
    const PARAMETERS: &'static [Parameter] = &[
        Parameter {
            name: "period",
            quantity: Quantity::Measured(Dimension::TIME),
            absent: PERIODS,
            about: "period of its oscillation; at least 50 time steps",
            example: 0.5,
        },
        Parameter {
            name: "chain",
            quantity: Quantity::Count,
            absent: Absent::Value("3"),
            about: "thermostats in the chain",
            example: 3.0,
        },
    ];
    const STEP: &'static [SubStep] = SCALED_AROUND_DRIFT;
    // Masses are proportional to the temperature.
    const LOWEST: Lowest = Lowest::AboveZero;

    fn check(parameters: &[f64], timestep: f64) -> std::result::Result<(), (&'static str, Error)> {
        NoseHoover::check(parameters[0], timestep).map_err(|refused| ("period", refused))?;
        NoseHoover::check_links(parameters[1] as usize).map_err(|refused| ("chain", refused))
    }

    fn begin(parameters: &[f64], stage: &Conditions) -> Self {
        NoseHoover::new(stage.target, parameters[0], parameters[1] as usize)
    }

    fn thermal_energy(&self) -> f64 {
        self.target.thermal_energy
    }

    fn set_thermal_energy(&mut self, thermal_energy: f64) {
        NoseHoover::set_thermal_energy(self, thermal_energy);
    }

    fn heat(&self) -> Option<f64> {
        Some(-self.energy())
    }

    fn constants(&self) -> Vec<f64> {
        let Target { thermal_energy, degrees_of_freedom } = self.target;
        [&[thermal_energy, degrees_of_freedom as f64], self.mass.as_slice()].concat()
    }

    fn variables(&self) -> Vec<f64> {
        [self.position.as_slice(), &self.velocity].concat()
    }

    fn set_variables(&mut self, variables: &[f64]) {
        let (position, velocity) = variables.split_at(variables.len() / 2);
        self.position.copy_from_slice(position);
        self.velocity.copy_from_slice(velocity);
    }

    fn factor_by_kinetic<R: Real>(known: &Known<R>, variables: &mut [R]) -> R {
        let (position, velocity) = variables.split_at_mut(variables.len() / 2);
        let mut chain = Chain {
            thermal_energy: known.constants[0],
            degrees_of_freedom: known.constants[1],
            mass: &known.constants[2..],
            position,
            velocity,
        };
        chain.push(known.kinetic, known.timestep);
        chain.drag(R::lit(0.5) * known.timestep)
    }

    fn factor_by_state<R: Real>(timestep: R, variables: &mut [R]) -> R {
        let (position, velocity) = variables.split_at_mut(variables.len() / 2);
        drag(&mut position[0], velocity[0], R::lit(0.5) * timestep)
    }
}

impl ThermostatInput {
    /// A Nose-Hoover chain of so many thermostats, see [`NoseHoover`]; `period` is that of its oscillation.
    pub const fn nose_hoover(temperature: f64, period: f64, chain: usize) -> Self {
        ThermostatInput::new(ThermostatKind::NoseHoover, temperature, [period, chain as f64, 0.0])
    }
}

/// The numbers of a chain, of whatever kind they are; see [`NoseHoover`].
#[derive(Debug)]
pub struct Chain<'a, R> {
    /// k_B T.
    pub thermal_energy: R,
    /// How many degrees of freedom the first link is on.
    pub degrees_of_freedom: R,
    /// Masses of the links.
    pub mass: &'a [R],
    /// Their positions.
    pub position: &'a mut [R],
    /// Their velocities.
    pub velocity: &'a mut [R],
}

impl<R: Real> Chain<'_, R> {
    /// The friction of the first link over a time: the factor for velocities of the atoms.
    pub fn drag(&mut self, time: R) -> R {
        drag(&mut self.position[0], self.velocity[0], time)
    }

    /// Moves the chain on by a time, but for the first link's friction, given the kinetic energy of the
    /// atoms.
    pub fn push(&mut self, kinetic: R, time: R) {
        self.propagate_with(kinetic, time, |_, _| R::lit(1.0));
    }

    /// Both at once, where nothing else acts on what moves: the factor for its velocity, given its kinetic
    /// energy. Reversible, of the fourth order (Martyna, Tuckerman, Tobias, Klein, Mol. Phys. 87 (1996)
    /// 1117, but for the friction among links, whose solution is exact).
    pub fn propagate(&mut self, kinetic: R, time: R) -> R {
        self.propagate_with(kinetic, time, Self::drag)
    }

    fn propagate_with(&mut self, kinetic: R, time: R, drag: impl Fn(&mut Self, R) -> R) -> R {
        let half = R::lit(0.5);
        let mut factor = R::lit(1.0);
        for weight in WEIGHTS {
            let dt = R::lit(weight) * time;
            self.accelerate(factor * factor * kinetic, half * dt);
            (1..self.mass.len()).rev().for_each(|link| self.exchange(link, half * dt));
            factor = factor * drag(self, dt);
            for (x, v) in self.position.iter_mut().zip(&*self.velocity).skip(1) {
                *x = *x + dt * *v;
            }
            (1..self.mass.len()).for_each(|link| self.exchange(link, half * dt));
            self.accelerate(factor * factor * kinetic, half * dt);
        }
        factor
    }

    /// Constant forces on the links over a time: of the atoms on the first one, of the temperature on all.
    fn accelerate(&mut self, kinetic: R, dt: R) {
        let first = R::lit(2.0) * kinetic - self.degrees_of_freedom * self.thermal_energy;
        for (link, (v, mass)) in self.velocity.iter_mut().zip(self.mass).enumerate() {
            let force = if link == 0 { first } else { -self.thermal_energy };
            *v = *v + dt * force / *mass;
        }
    }

    /// Friction of a link on the one before it over a time, and what that does to the link: dv/dt = -w v, and dw/dt = a
    /// v^2 with the ratio a of their masses. The solution is exact: with r^2 = a v^2 + w^2, which stays, w is r tanh(r t + c)
    /// and v falls as the inverse of cosh. So the two keep their energy, and a chain far from its temperature cannot grow
    /// beyond bounds, however long the step.
    fn exchange(&mut self, link: usize, time: R) {
        let (v, w) = (self.velocity[link - 1], self.velocity[link]);
        let ratio = self.mass[link - 1] / self.mass[link];
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let other = ratio * v * v + R::lit(1e-200);
        let square = other + w * w;
        let inverse = square.rsqrt();
        let r = square * inverse;
        // 1 + w / r and 1 - w / r, of which one may be a difference that rounding leaves nothing of: it is at least the
        // first term of its series.
        let is_negative = w.lt(zero);
        let size = R::select(is_negative, -w, w) * inverse;
        let (large, difference) = (one + size, one - size);
        let least = R::lit(0.5) * other * inverse * inverse;
        let small = R::select(difference.lt(least), least, difference);
        // Powers of e are at most one, which do not overflow.
        let is_back = time.lt(zero);
        let decay = (-r * R::select(is_back, -time, time)).exp();
        let twice = decay * decay;
        let ahead = R::select(is_negative, small, large) * R::select(is_back, twice, one);
        let behind = R::select(is_negative, large, small) * R::select(is_back, one, twice);
        let part = (ahead + behind).recip();
        self.velocity[link - 1] = v * (R::lit(2.0) * decay * part);
        self.velocity[link] = r * (ahead - behind) * part;
    }
}

/// The friction of a link over a time: its position moves on; the factor for what it acts on.
pub fn drag<R: Real>(position: &mut R, velocity: R, time: R) -> R {
    *position = *position + time * velocity;
    (-time * velocity).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Free particles with a chain on them: energy goes to and fro, the sum stays; halving the
    /// step makes the error sixteen times smaller (fourth order).
    #[test]
    fn energy_of_atoms_and_chain_is_conserved() {
        let error = |timestep: f64| {
            let target = Target { thermal_energy: 1.0, degrees_of_freedom: 3 };
            let mut chain = NoseHoover::new(target, 2.0, 3);
            let mut kinetic = 6.0;
            let start = kinetic + chain.energy();
            let mut worst = 0.0_f64;
            let mut range = (f64::INFINITY, 0.0_f64);
            for _ in 0..(20.0 / timestep) as usize {
                kinetic *= chain.chain().propagate(kinetic, timestep).powi(2);
                worst = worst.max((kinetic + chain.energy() - start).abs());
                range = (range.0.min(kinetic), range.1.max(kinetic));
            }
            assert!(range.0 < 1.0 && range.1 > 3.0, "{range:?}: no exchange");
            worst
        };
        let (coarse, fine) = (error(0.01), error(0.005));
        assert!(coarse < 2e-4, "{coarse}");
        assert!((15.0..17.0).contains(&(coarse / fine)), "{coarse} {fine}");
    }

    /// Free particles are heated: energies of atoms and chain go on adding up to the same.
    #[test]
    fn another_temperature_makes_no_jump_in_what_is_conserved() {
        let target = Target { thermal_energy: 1.0, degrees_of_freedom: 30 };
        let mut chain = NoseHoover::new(target, 1.0, 3);
        let mut kinetic = 20.0;
        let start = kinetic + chain.energy();
        let mut mean = 0.0;
        for k in 0..20_000 {
            if k == 2000 {
                chain.set_thermal_energy(4.0);
            }
            kinetic *= chain.chain().propagate(kinetic, 0.002).powi(2);
            assert!((kinetic + chain.energy() - start).abs() < 1e-3, "{k}");
            mean += if k < 4000 { 0.0 } else { kinetic / 16_000.0 };
        }
        // Equal parts for all of them, within what a short average of a regular motion is good for.
        assert!((mean / 60.0 - 1.0).abs() < 0.1, "{mean}");
    }

    /// Atoms far from the temperature, on any number of degrees of freedom, end at it: no link runs away, and a chain of many
    /// links is as stable as one of three.
    #[test]
    fn atoms_far_from_the_temperature_reach_it() {
        for (ratio, degrees_of_freedom, links) in [(5.0, 300, 3), (10.0, 30_000, 3), (100.0, 3_000_000, 10)] {
            let target = Target { thermal_energy: 1.0, degrees_of_freedom };
            let mut chain = NoseHoover::new(target, 60.0, links);
            let mut kinetic = ratio * target.kinetic_energy();
            let mut mean = 0.0;
            for step in 0..6000 {
                kinetic *= chain.chain().drag(0.5).powi(2);
                chain.chain().push(kinetic, 1.0);
                kinetic *= chain.chain().drag(0.5).powi(2);
                mean += if step < 3000 { 0.0 } else { kinetic / target.kinetic_energy() / 3000.0 };
            }
            assert!((mean - 1.0).abs() < 0.05, "{ratio} {degrees_of_freedom}: {mean}");
            assert!(chain.velocity.iter().all(|v| v.is_finite()), "{:?}", chain.velocity);
        }
    }

    /// Friction among two links keeps their energy, also where one of them is at rest or the time is long.
    #[test]
    fn links_keep_the_energy_that_they_exchange() {
        let target = Target { thermal_energy: 1.0, degrees_of_freedom: 300 };
        for velocity in [[0.0, 0.0], [0.3, 0.0], [0.0, -2.0], [0.3, -2.0], [40.0, -1e3], [1e-9, -50.0]] {
            for time in [1e-3, 0.7, 50.0, -0.7, -50.0] {
                let mut chain = NoseHoover::new(target, 3.0, 2);
                chain.velocity = velocity.to_vec();
                let before = chain.energy();
                chain.chain().exchange(1, time);
                let after = chain.energy();
                assert!((after - before).abs() <= 1e-12 * before, "{velocity:?} {time}: {before} {after}");
            }
        }
    }

    #[test]
    fn time_runs_backwards_too() {
        let target = Target { thermal_energy: 1.0, degrees_of_freedom: 30 };
        let mut chain = NoseHoover::new(target, 1.0, 4);
        let start = chain.clone();
        let mut kinetic = 40.0;
        for dt in [0.01; 50].into_iter().chain([-0.01; 50]) {
            kinetic *= chain.chain().propagate(kinetic, dt).powi(2);
        }
        assert!((kinetic - 40.0).abs() < 1e-10, "{kinetic}");
        assert!(chain.velocity.iter().zip(&start.velocity).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
