//! Domains: the box is cut into a grid of them, and every rank owns the atoms of one.
//!
//! A rank moves its own atoms only. Around them it has ghosts, copies of atoms of other domains within reach of
//! forces, in clusters of their own. When lists are built, atoms that have left a domain go to the rank that owns
//! the place (`migration`) and ghosts are chosen anew (`halo`); between builds, ghosts get the positions of their
//! atoms once a step, and what tasks have added up for ghosts (forces, densities, torques) goes back to the owners.
//!
//! Of two domains only the lower one, by the first axis along which they differ, has atoms of the other as ghosts (a
//! half shell), and it evaluates all pairs of its atoms with ghosts.
//! - Advantages: every pair is evaluated once, as in lists of one process, so that kernels, energies and virials
//!   know nothing of ghosts; half as many ghosts as around the whole domain; one message a neighbour and direction,
//!   where an exchange axis by axis waits for three, one after the other. A domain thinner than the reach has more
//!   neighbours, and an axis that is not cut keeps its periodic images in the search for pairs.
//! - Disadvantages: forces come back, a second message a step, where full shells evaluate pairs across a border
//!   twice and need none; 13 neighbours and more of a grid that is cut along all axes, where an exchange axis by axis
//!   has 6.
//!
//! The centre of a three-body force has neighbours on all sides. With such forces domains have ghosts of both halves (a
//! full shell), and each evaluates its own centres; pairs are listed with ghosts of the upper half alone, as before.
//!
//! Bonded forces are evaluated by the owners of all of their atoms, by each for its own atom, as by tasks of one
//! process; a rank asks for atoms bound to its own that are not among its ghosts (`guests`). Atoms that constraints
//! or virtual sites join belong to one rank (`groups`), which moves them as one process does.

mod force_matrix;
mod gather;
pub(crate) mod grid;
mod groups;
mod guests;
mod halo;
mod migration;

pub(crate) use halo::Halo;

use crate::ranks::Ranks;
use bytemuck::Pod;
use force_matrix::{ForceMatrix, GhostGroups};
use grid::{Grid, Shell};
use jostle_core::{Algorithm, Error, Result, Settings, SimBox, State, System, Vec3};
use jostle_potentials::Forces;
use jostle_transport::{Communicator, Incoming, Outgoing};

/// Lists between two looks at the borders.
const BUILDS_PER_BALANCE: u64 = 10;

/// Load of a rank, in mean loads, from which on borders move: less is within the noise of timings.
const BALANCED: f64 = 1.06;

/// The domains of a run as one of its ranks has them.
pub(crate) struct Domains {
    pub communicator: Communicator,
    pub grid: Grid,
    shell: Shell,
    /// Ranks in rows and columns, where pairs are divided so.
    matrix: Option<ForceMatrix>,
    /// Groups of the ghosts of this rank.
    pub ghosts: GhostGroups,
    /// Number of atoms of all ranks, and of each species.
    pub n_atoms: usize,
    pub counts: Vec<usize>,
    /// True where spheres turn, so that atoms have angular velocities.
    pub turning: bool,
    /// First atom of the group of constraints and virtual sites, or of the rigid body, that each atom is in, by id;
    /// empty without any.
    leaders: Vec<u32>,
    /// Number of atoms of this rank; they come before the ghosts.
    pub n_owned: usize,
    pub halo: Halo,
    /// Seconds of this rank in pair forces since borders were last looked at.
    pub load: f64,
    /// Number of lists built since all atoms were given to ranks.
    builds: u64,
    /// Atoms of all ranks, where rank 0 was last asked for them, and their positions in the lists.
    pub gathered: State,
    pub gathered_places: Vec<Vec3>,
    /// A failure of this rank that others do not know of yet.
    pub failure: Failure,
}

/// A failure of a rank, to be agreed on by all.
#[derive(Debug, Default)]
pub(crate) enum Failure {
    #[default]
    None,
    /// A force is not finite.
    Force,
    Other(Error),
}

/// State of the ranks, of which the gravest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Condition {
    Good,
    /// A neighbour list is out of date.
    Stale,
    /// A force is not finite.
    BadForce,
    Failed,
}

impl Domains {
    /// Domains of a system for these ranks. The system has all atoms; those of other ranks are to be dropped. `leaders`
    /// has the first atom of the group that each atom is in, by id; `matrix` the numbers of rows and columns of a force
    /// matrix.
    ///
    /// # Errors
    /// If a force matrix does not fit the ranks.
    pub fn new(
        ranks: Ranks,
        system: &System,
        forces: &Forces,
        (leaders, matrix): (Vec<u32>, Option<[usize; 2]>),
    ) -> Result<Self> {
        let communicator = ranks.communicator;
        let matrix = matrix.map(|shape| ForceMatrix::new(shape, communicator.size())).transpose()?;
        let ghosts = |matrix: &ForceMatrix| matrix.ghosts(communicator.rank());
        Ok(Domains {
            ghosts: matrix.as_ref().map_or_else(GhostGroups::of_sides, ghosts),
            matrix,
            grid: Grid::new(communicator.size(), &system.simbox, &system.state.position),
            shell: if forces.three_body.is_some() { Shell::Full } else { Shell::Half },
            communicator,
            n_atoms: system.state.len(),
            counts: system.counts(),
            turning: !system.state.angular_velocity.is_empty(),
            leaders,
            n_owned: system.state.len(),
            halo: Halo::default(),
            load: 0.0,
            builds: 0,
            gathered: State::default(),
            gathered_places: Vec::new(),
            failure: Failure::None,
        })
    }

    /// Returns true where pairs are divided as a force matrix.
    pub fn is_matrix(&self) -> bool {
        self.matrix.is_some()
    }

    /// The division in words.
    pub fn describe(&self) -> String {
        match &self.matrix {
            Some(matrix) => matrix.describe(),
            None => {
                let [x, y, z] = self.grid.parts();
                format!("{x} x {y} x {z} domains")
            }
        }
    }

    /// Axes along which images of atoms are ghosts; along others the search for pairs looks at images.
    pub fn axes_with_ghosts(&self) -> [bool; 3] {
        match self.matrix {
            Some(_) => [false; 3],
            None => self.grid.divided(),
        }
    }

    /// Cuts the box anew, so that domains have as many atoms each along every axis.
    pub fn cut(&mut self, simbox: &SimBox, positions: &[Vec3]) {
        self.grid = Grid::cut(self.grid.parts(), simbox, positions);
    }

    /// Moves borders now and then, so that all ranks spend as much time in pair forces, or in a force matrix have as many
    /// atoms; before atoms migrate for a new list.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn balance(&mut self) -> Result<()> {
        self.builds += 1;
        if !self.builds.is_multiple_of(BUILDS_PER_BALANCE) {
            return Ok(());
        }
        let own = std::mem::take(&mut self.load);
        let load = if self.matrix.is_some() { self.n_owned as f64 } else { own };
        let loads = self.communicator.gather_equal(&[load])?;
        let mean = loads.iter().sum::<f64>() / loads.len() as f64;
        if loads.iter().any(|load| *load > BALANCED * mean) {
            self.grid = self.grid.balanced(&loads);
        }
        Ok(())
    }

    /// Number of this rank.
    pub fn rank(&self) -> usize {
        self.communicator.rank()
    }

    /// Gravest condition of all ranks. All of them call this.
    ///
    /// # Errors
    /// The failure of the first rank that has one, other than a force that is not finite.
    pub fn agree(&mut self, stale: bool) -> Result<Condition> {
        let own = match &self.failure {
            Failure::Other(_) => Condition::Failed,
            Failure::Force => Condition::BadForce,
            Failure::None if stale => Condition::Stale,
            Failure::None => Condition::Good,
        };
        match self.communicator.largest(own as u8)? {
            0 => Ok(Condition::Good),
            1 => Ok(Condition::Stale),
            2 => Ok(Condition::BadForce),
            _ => Err(self.common_failure()?),
        }
    }

    /// Agreement that nothing has failed: `own` is the result of this rank.
    ///
    /// # Errors
    /// The failure of the first rank that has one.
    pub fn agree_on<T>(&mut self, own: Result<T>) -> Result<T> {
        let done = own.map_err(|error| self.failure = Failure::Other(error)).ok();
        self.agree(false)?;
        done.ok_or_else(|| Error::simulation("a failure has been lost"))
    }

    /// The failure of the first rank that has one.
    fn common_failure(&mut self) -> Result<Error> {
        let own = match std::mem::take(&mut self.failure) {
            Failure::Other(error) => {
                [error.message().to_string(), error.help().unwrap_or_default().to_string()]
            }
            Failure::Force | Failure::None => [const { String::new() }; 2],
        };
        let messages = self.communicator.gather_texts(&own[0])?;
        let hints = self.communicator.gather_texts(&own[1])?;
        let first = messages.into_iter().zip(hints).find(|(message, _)| !message.is_empty());
        let (message, hint) = first.unwrap_or_else(|| ("a rank has failed".into(), String::new()));
        let error = Error::simulation(message);
        Ok(if hint.is_empty() { error } else { error.hint(hint) })
    }

    /// Sends numbers to other ranks, and perhaps to this one, and receives as many as expected from each; both in the
    /// order of ranks, each of which occurs once.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn swap<T: Pod>(
        &self,
        sent: Vec<(usize, Vec<T>)>,
        expected: &[(usize, usize)],
    ) -> Result<Vec<Vec<T>>> {
        let own = self.rank();
        let mut received: Vec<Vec<T>> = expected.iter().map(|(_, n)| vec![T::zeroed(); *n]).collect();
        let mut to_itself = None;
        let mut outgoing = Vec::with_capacity(sent.len());
        for (to, numbers) in &sent {
            match *to == own {
                true => to_itself = Some(numbers),
                false if numbers.is_empty() => {}
                false => outgoing.push(Outgoing { to: *to, bytes: bytemuck::cast_slice(numbers) }),
            }
        }
        let mut incoming = Vec::with_capacity(expected.len());
        for ((from, _), numbers) in expected.iter().zip(&mut received) {
            match (*from == own, to_itself) {
                (true, Some(own)) => numbers.clone_from(own),
                (true, None) => {}
                (false, _) if numbers.is_empty() => {}
                (false, _) => {
                    incoming.push(Incoming { from: *from, bytes: bytemuck::cast_slice_mut(numbers) })
                }
            }
        }
        self.communicator.exchange(&outgoing, &mut incoming)?;
        Ok(received)
    }
}

/// Refuses a force matrix for forces that are not divided so; `obstacle` is what stands against domains.
///
/// # Errors
/// If there are such forces: names them.
pub(crate) fn check_matrix(forces: &Forces, obstacle: Option<&'static str>) -> Result<()> {
    let what = match obstacle {
        None if forces.three_body.is_some() => "three-body forces",
        None if forces.grains.is_some() => "contacts of grains",
        None => return Ok(()),
        Some(obstacle) => obstacle,
    };
    Err(Error::input(format!("a force matrix of ranks divides pair forces, and not these: {what}"))
        .hint("leave out --force-matrix"))
}

/// Reason why a system is not divided into domains; `None` where it can be. Rigid bodies have this extent: one that is
/// larger than the reach of forces would make many atoms ghosts.
pub(crate) fn obstacle(forces: &Forces, settings: &Settings, extent: f64) -> Option<&'static str> {
    let obstacles = [
        (settings.reproducible, "reproducible"),
        (settings.algorithm == Algorithm::Reference, "the plain reference"),
        (forces.vacuum.is_some(), "open space"),
        (extent > forces.largest_cutoff(), "rigid bodies larger than the cut-off"),
    ];
    obstacles.into_iter().find_map(|(is_there, what)| is_there.then_some(what))
}
