//! Faults that the device cannot repair alone: full lists, atoms that leave the range of an open axis, forces
//! that are not finite.

use super::extent::Extent;
use super::{Cuda, Placing};
use crate::device_data::faults;
use crate::device_force::DeviceForceKernels;
use crate::list_capacity::ListCapacity;
use crate::three_body;
use crate::tiles;
use jostle_core::backend::StageTime;
use jostle_core::{Error, Precision, Result};
use jostle_potentials::diagnose;
use jostle_potentials::external::outside_walls;

/// Error after too many attempts.
pub(super) fn lists_keep_growing() -> Error {
    Error::device("the neighbour list does not stop growing")
}

impl Cuda {
    /// Repairs what the device cannot repair alone.
    pub(super) fn settle_faults(&mut self) -> Result<()> {
        let what = self.control.faults;
        if what & faults::NOT_FINITE != 0 {
            return Err(self.diagnose_force());
        }
        if what & faults::LATE != 0
            && let Some(exchange) = self.plan.exchange()
        {
            return Err(self.at_step(exchange.late()?));
        }
        if what & faults::TORN != 0 {
            let id = self.control.first_bad as u32;
            let error = Error::simulation(match self.control.first_bad {
                u64::MAX => "the constraints of a molecule do not hold".into(),
                _ if self.is_in_rigid_body(id) => {
                    format!("the rigid body of atom {} turns too far in one step", id + 1)
                }
                _ => format!("the constraints of the molecule of atom {} do not hold", id + 1),
            });
            return Err(self.at_step(error.hint("shorten the time step, or begin with a shorter one")));
        }
        if what & faults::CROWDED != 0 {
            let atom = self.control.first_bad as u32 + 1;
            let message =
                format!("grain {atom} touches more others than have room around it: they overlap too far");
            let hint = "make grains stiffer or the time step shorter, or begin with fewer overlaps";
            return Err(self.at_step(Error::simulation(message).hint(hint)));
        }
        if what & faults::OUTSIDE != 0 {
            let atom = self.system.names.describe(self.control.first_bad as u32);
            return Err(self.at_step(outside_walls(&self.forces.reflecting_walls, &atom)));
        }
        let extent = self.extent();
        self.plan.grow_lists(&self.control, extent)?;
        let escaped = what & faults::ESCAPED != 0;
        if escaped {
            self.download()?;
            self.geometry = self.geometry_of_box(self.control.reach);
            // Forces of molecules in open space have no cut-off: the skin is a measure of how far their atoms
            // are apart.
            let finest = 1e-6 * self.control.reach * f64::from(u32::MAX);
            if self.precision == Precision::Mixed && self.geometry.edge.iter().any(|l| *l > finest) {
                return Err(Error::simulation("the atoms of an open box have gone too far apart")
                    .hint("set precision = \"double\", or use a periodic box"));
            }
        }
        self.arrange()?;
        self.control.faults = 0;
        self.control.need_tile = 0;
        self.control.need_rows = 0;
        self.write_control()?;
        if escaped { self.place(Placing::Listed) } else { Ok(()) }
    }

    fn is_in_rigid_body(&self, id: u32) -> bool {
        self.system.topology.rigid_bodies.iter().any(|body| body.atoms[0] == id)
    }

    /// Makes lists far too small.
    pub(super) fn shrink_lists(&mut self) -> Result<()> {
        self.plan.capacity = ListCapacity { tile: 64, rows: 2 };
        self.plan.rows = 1;
        self.read_control()?;
        self.control.slot[0].stale = 1;
        self.write_control()?;
        self.arrange()
    }

    /// Leaves lists of tiles as much room as those of the last batch needed, so that some of the next do not fit.
    pub fn leave_no_room(&mut self) {
        let capacity =
            ListCapacity { tile: self.control.largest_tile as usize, rows: self.control.most_rows as usize };
        self.plan.capacity = capacity;
        self.pairs.engine.tighten(capacity);
        self.recorded.graphs = None;
        self.attach();
    }

    /// Reduces the capacity that tiles do not need. Lists stay, or runs would depend on how they are cut into
    /// batches.
    pub(super) fn tighten(&mut self) {
        if let Some(capacity) = self.plan.tighten(&self.control) {
            self.pairs.engine.tighten(capacity);
            self.recorded.graphs = None;
            self.attach();
        }
    }

    /// Adapts the capacity of lists to another skin.
    pub(super) fn resize(&mut self, before: Extent) -> Result<()> {
        let extent = self.extent();
        let Some(capacity) = self.plan.resize(&self.control, before, extent) else { return Ok(()) };
        if !self.pairs.engine.holds(capacity)
            || tiles::size(self.precision, capacity) != self.plan.layout.shape.size
        {
            return self.arrange();
        }
        self.pairs.engine.tighten(capacity);
        self.recorded.graphs = None;
        self.attach();
        Ok(())
    }

    /// Names the term and the atom of a force that was not finite.
    pub(super) fn diagnose_force(&mut self) -> Error {
        if self.control.first_bad == u64::MAX {
            if let Some(error) = self.bias_fault() {
                return error;
            }
            return diagnose::energy(&self.forces, &self.evaluation.energies.terms);
        }
        let of_others = self.terms.device_forces.as_ref().map(DeviceForceKernels::first_bad);
        if let Some(Ok(Some((name, id)))) = of_others {
            return Error::simulation(format!("the force '{name}' on atom {id} is not finite"));
        }
        let id = self.control.first_bad as u32;
        let time = self.evaluation.time;
        self.forces.set_time(StageTime { steps: time.steps + self.steps_until_fault(), ..time }.now());
        if let Err(error) = self.download() {
            return error;
        }
        let error = match self.system.state.id.iter().position(|k| *k == id) {
            Some(place) => {
                let term = self.forces.three_body.as_ref();
                let crowded = term.and_then(|term| three_body::crowded(&self.system, term, place));
                crowded.unwrap_or_else(|| diagnose::force(&self.system, &self.forces, self.precision, place))
            }
            None => Error::simulation("a force is not finite").hint(self.forces.hint()),
        };
        self.at_step(error)
    }

    /// Steps of the batch up to the fault.
    fn steps_until_fault(&self) -> u64 {
        let (motion, drifts) = (self.control.motion, self.control.first_bad >> 32);
        if motion.drift < motion.timestep { drifts / 2 } else { drifts }
    }

    /// Adds the step of the fault, where it is known.
    fn at_step(&self, error: Error) -> Error {
        let step = (self.control.motion.first_step + self.steps_until_fault()) as i64 - 1;
        if step > 0 && self.control.first_bad != u64::MAX {
            error.context(format!("step {step}"))
        } else {
            error
        }
    }
}
