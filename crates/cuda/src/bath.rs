//! Heat baths that scale all velocities, on the device: `kernels/bath.cu` with the update of the
//! bath as [`jostle_core::bath`] has it.

use crate::codegen::{Recorder, scalar_function_as_on_host};
use crate::constraints::{Before, Constraints};
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::search::When;
use crate::sums::Summation;
use crate::world::World;
use jostle_core::bath::{Chain, bussi_factor, heat_of_scaling, rescale_factor};
use jostle_core::{Bath, Leg, Precision, Real, Result};

/// What comes before the bath's variables in its array, and what its row of totals begins with.
const FIRST_VARIABLE: usize = 6;
const HEAT: usize = 4;
const KINETIC: usize = 5;

/// The numbers of a bath: constants, and what changes from step to step.
struct Numbers {
    kind: &'static str,
    constants: Vec<f64>,
    variables: Vec<f64>,
}

fn numbers(bath: &Bath) -> Option<Numbers> {
    let numbers = |kind, constants, variables| Some(Numbers { kind, constants, variables });
    match bath {
        Bath::Isolated | Bath::Langevin(_) | Bath::Dissipative(_) => None,
        Bath::Rescale(b) => numbers("BATH_RESCALE", vec![b.target.kinetic_energy()], vec![]),
        Bath::Bussi(b) => numbers("BATH_BUSSI", vec![b.target.thermal_energy, b.decay], vec![]),
        Bath::NoseHoover(b) => {
            let mut constants = vec![b.target.thermal_energy, b.target.degrees_of_freedom as f64];
            constants.extend(&b.mass);
            numbers("BATH_NOSE_HOOVER", constants, [b.position.as_slice(), &b.velocity].concat())
        }
    }
}

/// What `kernels/bath.cu` needs in front; `None` for baths that do not scale velocities.
pub fn source(bath: &Bath) -> Option<String> {
    let Numbers { kind, constants, variables } = numbers(bath)?;
    let (n, m) = (constants.len(), variables.len());
    let update = scalar_function_as_on_host("bath_update", 3 + n + m, |input| {
        let (kinetic, a, b) = (input[0], input[1], input[2]);
        let (constants, variables) = input[3..].split_at(n);
        let scaled = |factor: Recorder| vec![factor, heat_of_scaling(factor, kinetic)];
        match bath {
            Bath::Isolated | Bath::Langevin(_) | Bath::Dissipative(_) => Vec::new(),
            Bath::Rescale(_) => scaled(rescale_factor(kinetic, constants[0])),
            Bath::Bussi(_) => scaled(bussi_factor(kinetic, constants[0], constants[1], a, b)),
            Bath::NoseHoover(_) => {
                let (mut position, mut velocity) = (variables[..m / 2].to_vec(), variables[m / 2..].to_vec());
                let factor = Chain {
                    thermal_energy: constants[0],
                    degrees_of_freedom: constants[1],
                    mass: &constants[2..],
                    position: &mut position,
                    velocity: &mut velocity,
                }
                .propagate(kinetic, a);
                [vec![factor, Recorder::lit(0.0)], position, velocity].concat()
            }
        }
    });
    Some(format!("#define BATH {kind}\n#define BATH_CONSTANTS {n}\n#define BATH_VARIABLES {m}\n{update}"))
}

/// The bath's array on the device; empty for baths that do not scale velocities. A chain has to
/// know the kinetic energy.
fn state(bath: &Bath) -> Vec<f64> {
    let Some(Numbers { constants, variables, .. }) = numbers(bath) else { return Vec::new() };
    let (every, start) = match bath {
        Bath::Rescale(b) => (b.every as f64, b.start as f64),
        _ => (1.0, 0.0),
    };
    let kinetic = match bath {
        Bath::NoseHoover(b) => b.kinetic.unwrap_or_default(),
        _ => 0.0,
    };
    let heat = match bath {
        Bath::Rescale(b) => b.heat,
        Bath::Bussi(b) => b.heat,
        _ => 0.0,
    };
    [vec![1.0, 1.0, every, start, heat, kinetic], variables, constants].concat()
}

/// How many numbers of a bath change from step to step: what a row of totals has of it.
fn row_length(bath: &Bath) -> usize {
    numbers(bath).map_or(0, |n| n.variables.len() + FIRST_VARIABLE - HEAT)
}

/// Takes over what has changed, from a row of totals.
pub fn take_over(bath: &mut Bath, row: &[f64]) {
    let variables = &row[(FIRST_VARIABLE - HEAT).min(row.len())..];
    match bath {
        Bath::Isolated | Bath::Langevin(_) | Bath::Dissipative(_) => {}
        Bath::Rescale(b) => b.heat = row[0],
        Bath::Bussi(b) => b.heat = row[0],
        Bath::NoseHoover(b) => {
            let links = b.mass.len();
            b.position.copy_from_slice(&variables[..links]);
            b.velocity.copy_from_slice(&variables[links..2 * links]);
            b.kinetic = Some(row[KINETIC - HEAT]);
        }
    }
}

/// The random deviates of every step of a leg, two each; empty for baths without.
fn deviates(bath: &Bath, leg: &Leg) -> Vec<f64> {
    let Bath::Bussi(bussi) = bath else { return Vec::new() };
    let steps = leg.first_step..leg.first_step + leg.steps;
    steps
        .flat_map(|step| {
            let deviates = bussi.deviates(leg.seed, step);
            [deviates.first, deviates.others]
        })
        .collect()
}

/// A bath that scales velocities, in device memory, with the kernels that go around the forces of a
/// step.
pub struct ScalingBath {
    source: String,
    before: Kernel,
    kick: Kernel,
    after: Kernel,
    begin_segment: Kernel,
    advance: Kernel,
    end_segment: Kernel,
    state: Buffer<f64>,
    deviates: Buffer<f64>,
    row_length: usize,
    sums: Summation,
    acts: Acts,
}

/// At which steps of a leg a bath may scale velocities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acts {
    /// At any of them.
    Anywhere,
    /// Only at the end of segments of so many steps.
    Every(u64),
}

impl Acts {
    /// What is known of a bath before a leg whose samples are `steps` apart.
    pub fn of(bath: &Bath, leg: &Leg, steps: u64) -> Self {
        match bath {
            Bath::Rescale(rescale) if rescale.is_due(leg.first_step.saturating_sub(1)) => {
                match greatest_common_divisor(steps, rescale.every) {
                    // Segments have their price, too.
                    0..8 => Acts::Anywhere,
                    steps => Acts::Every(steps),
                }
            }
            _ => Acts::Anywhere,
        }
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

impl ScalingBath {
    /// `source` is that of [`source`].
    ///
    /// # Errors
    /// If there is no compiler for the device, it refuses the source, or there is no memory left.
    fn new(
        device: &Device,
        precision: Precision,
        sums: Summation,
        source: String,
        row_length: usize,
    ) -> Result<Self> {
        let Build { source: whole, options, .. } = kernels::bath(&source, precision, sums);
        let module = device.compile("bath.cu", &whole, &options)?;
        Ok(ScalingBath {
            before: module.kernel("bath_before")?,
            kick: module.kernel("bath_kick")?,
            after: module.kernel("bath_after")?,
            begin_segment: module.kernel("bath_begin_segment")?,
            advance: module.kernel("bath_advance")?,
            end_segment: module.kernel("bath_end_segment")?,
            state: device.alloc(1)?,
            deviates: device.alloc(2)?,
            row_length,
            sums,
            acts: Acts::Anywhere,
            source,
        })
    }

    /// What a leg needs on the device, made from what there was for the one before; `None` if the
    /// bath does not scale velocities. A chain must know the kinetic energy.
    ///
    /// # Errors
    /// As when compiling.
    pub fn prepare(
        before: Option<Self>,
        device: &Device,
        precision: Precision,
        sums: Summation,
        bath: &Bath,
        leg: &Leg,
        acts: Acts,
    ) -> Result<Option<Self>> {
        let Some(source) = source(bath) else { return Ok(None) };
        let mut scaling = match before {
            Some(scaling) if scaling.source == source => scaling,
            _ => Self::new(device, precision, sums, source, row_length(bath))?,
        };
        let (state, deviates) = (state(bath), deviates(bath, leg));
        if scaling.state.len() != state.len() {
            scaling.state = device.alloc(state.len())?;
        }
        if scaling.deviates.len() < deviates.len() {
            scaling.deviates = device.alloc(deviates.len().next_power_of_two())?;
        }
        scaling.acts = acts;
        scaling.state.write(0, &state)?;
        scaling.deviates.write(0, &deviates)?;
        Ok(Some(scaling))
    }

    /// What recorded launches depend on.
    pub fn identity(&self) -> (String, [u64; 2], bool) {
        let addresses = [self.state.address(), self.deviates.address()];
        (self.source.clone(), addresses, self.acts == Acts::Anywhere)
    }

    /// At which steps it may scale velocities.
    pub fn acts(&self) -> Acts {
        self.acts
    }

    /// Enters its memory into the world.
    pub fn attach(&self, world: &mut World) {
        world.bath = self.state.address();
        world.deviates = self.deviates.address();
    }

    /// How many numbers of it a row of totals has.
    pub fn row_length(&self) -> usize {
        self.row_length
    }

    /// Begins a segment: in place of `begin_segment`.
    pub fn begin_segment(&self, world: &World, constraints: Option<&Constraints>, slot: i32) -> Vec<Launch> {
        let before = Launch::new(&self.before, 1, 1).with_value(*world);
        let moves = match constraints {
            Some(constraints) => constraints.moves(world, slot, Before::Begins),
            None => per_atom(&self.begin_segment, world).with_value(slot),
        };
        vec![before, moves]
    }

    /// From the forces of a step to those of the next: in place of `advance`.
    pub fn advance(&self, world: &World, constraints: Option<&Constraints>, slot: i32) -> Vec<Launch> {
        let mut launches = self.kick(world, constraints, slot, When::Goes);
        launches.push(self.after(world, slot, When::Goes, 0, 0));
        launches.push(match constraints {
            Some(constraints) => constraints.moves(world, slot, Before::Scaled),
            None => per_atom(&self.advance, world).with_value(slot),
        });
        launches
    }

    /// Ends a segment: in place of `end_segment`. What has changed of the bath goes to the
    /// segment's row of totals, of which it is the end.
    pub fn end_segment(
        &self,
        world: &World,
        constraints: Option<&Constraints>,
        row_length: usize,
    ) -> Vec<Launch> {
        let mut launches = self.kick(world, constraints, 0, When::Ends);
        launches.push(self.after(world, 0, When::Ends, row_length, row_length - self.row_length));
        launches.push(per_atom(&self.end_segment, world));
        launches
    }

    /// The second half of a kick, and the kinetic energy then. At the end of a segment constraints have
    /// seen to the kick already, as their virial belongs to the sample.
    fn kick(&self, world: &World, constraints: Option<&Constraints>, slot: i32, when: When) -> Vec<Launch> {
        let kicked = constraints.is_some();
        let kick = constraints.filter(|_| when == When::Goes).map(|c| c.kick(world, slot, when));
        let kinetic = per_atom(&self.kick, world).with_value(slot).with_value(when as i32);
        kick.into_iter().chain([kinetic.with_value(i32::from(kicked))]).collect()
    }

    fn after(&self, world: &World, slot: i32, when: When, row_length: usize, offset: usize) -> Launch {
        Launch::new(&self.after, 1, ATOM_THREADS)
            .with_value(*world)
            .with_value(slot)
            .with_value(when as i32)
            .with_value(self.sums.shares(world.n as usize, ATOM_THREADS) as i32)
            .with_value(row_length as i32)
            .with_value(offset as i32)
    }
}

fn per_atom(kernel: &Kernel, world: &World) -> Launch {
    Launch::new(kernel, (world.n as u32).div_ceil(ATOM_THREADS).max(1), ATOM_THREADS).with_value(*world)
}
