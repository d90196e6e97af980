//! The device of rank 0.

use super::call::{Call, Message};
use super::{RankDevices, Workers, send, set_in_use};
use jostle_core::backend::{
    BiasPlace, Descent, NeighborFacts, StageTime, Timings, molecular_virial_on_host, scale_volume_on_host,
    undo_scale_on_host,
};
use jostle_core::thermostat::Dissipative;
use jostle_core::{
    AddedForces, AtomStorage, AtomVector, Backend, ClosingKick, DeviceReport, Energies, Evaluate,
    ForceEvaluation, Kinetic, MolecularVirial, Molecules, NoiseKey, Result, Sample, SavedVolume, SimBox,
    Snapshot, State, StepBatch, SubSteps, Thermostat, Vec3, VolumeMove,
};
use jostle_transport::Communicator;

/// The engine of rank 0, whose calls all other ranks make, too.
pub struct RankedDevice {
    // Engines of GPUs are closed together, before other ranks are dismissed: fields are dropped in this order.
    engine: Box<dyn Backend>,
    devices: RankDevices,
    communicator: Communicator,
    _others: OtherRanks,
}

/// The other ranks of a device, dismissed when it is dropped.
struct OtherRanks(Communicator, Workers);

impl Drop for OtherRanks {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.1.dismiss(&self.0);
        }
    }
}

impl RankedDevice {
    pub fn new(
        engine: Box<dyn Backend>,
        devices: RankDevices,
        communicator: Communicator,
        workers: Workers,
    ) -> Self {
        set_in_use(Some(communicator.clone()));
        let others = OtherRanks(communicator.clone(), workers);
        RankedDevice { engine, devices, communicator, _others: others }
    }

    /// Lets all ranks take part in reading atoms, where they have a part of these each: every GPU has all of them.
    fn gather_atoms(&self, call: Call) -> Result<()> {
        match self.devices {
            RankDevices::Cpus => send(&self.communicator, &Message::Call(call)),
            RankDevices::Gpus(..) => Ok(()),
        }
    }

    /// Makes a call on all ranks: `make` here.
    fn call<R>(&mut self, call: Call, make: impl FnOnce(&mut dyn Backend) -> Result<R>) -> Result<R> {
        send(&self.communicator, &Message::Call(call))?;
        let result = make(&mut *self.engine);
        if result.is_err() {
            // Where a rank is gone, the first error is the one that counts.
            let _ = send(&self.communicator, &Message::Call(Call::Failed));
        }
        result
    }
}

impl Drop for RankedDevice {
    fn drop(&mut self) {
        set_in_use(None);
        if !std::thread::panicking() {
            // Where a rank is gone, so are the others.
            let _ = send(&self.communicator, &Message::Call(Call::Close));
        }
    }
}

impl AtomStorage for RankedDevice {
    fn simbox(&self) -> &SimBox {
        self.engine.simbox()
    }

    fn n_atoms(&self) -> usize {
        self.engine.n_atoms()
    }

    fn state(&mut self) -> Result<&State> {
        self.gather_atoms(Call::State)?;
        self.engine.state()
    }

    fn write_by_id(&mut self, vector: AtomVector, rows: &mut [Vec3]) -> Result<()> {
        let simbox = *self.simbox();
        match self.devices {
            RankDevices::Cpus => self.state()?.write_by_id(&simbox, vector, rows),
            RankDevices::Gpus(..) => self.engine.write_by_id(vector, rows),
        }
    }

    fn snapshot(&mut self, vectors: &[AtomVector]) -> Result<Snapshot> {
        let simbox = *self.simbox();
        match self.devices {
            RankDevices::Cpus => Snapshot::of(self.state()?, &simbox, vectors),
            RankDevices::Gpus(..) => self.engine.snapshot(vectors),
        }
    }

    fn set_state(&mut self, state: State) -> Result<()> {
        self.call(Call::SetState(Box::new(state.clone())), |engine| engine.set_state(state))
    }

    fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        self.call(Call::SetVelocities(velocities.to_vec()), |engine| engine.set_velocities(velocities))
    }

    fn list_positions(&mut self) -> Result<&[Vec3]> {
        self.gather_atoms(Call::ListPositions)?;
        self.engine.list_positions()
    }

    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, skin: f64) -> Result<()> {
        let call =
            Call::Restore { state: Box::new(state.clone()), list_positions: list_positions.clone(), skin };
        self.call(call, |engine| engine.restore(state, list_positions, skin))
    }

    fn set_box(&mut self, simbox: SimBox, state: State) -> Result<()> {
        self.call(Call::SetBox(simbox, Box::new(state.clone())), |engine| engine.set_box(simbox, state))
    }

    fn deform(&mut self, simbox: SimBox) -> Result<()> {
        self.call(Call::Deform(simbox), |engine| engine.deform(simbox))
    }
}

impl ForceEvaluation for RankedDevice {
    fn set_long_range_weight(&mut self, weight: f64) -> Result<()> {
        self.call(Call::SetLongRangeWeight(weight), |engine| engine.set_long_range_weight(weight))
    }

    fn set_stiffness(&mut self, stiffness: &[f64]) -> Result<()> {
        self.call(Call::SetStiffness(stiffness.to_vec()), |engine| engine.set_stiffness(stiffness))
    }

    fn set_time(&mut self, time: StageTime) -> Result<()> {
        self.call(Call::SetTime(time), |engine| engine.set_time(time))
    }

    fn update_neighbors(&mut self) -> Result<()> {
        self.call(Call::UpdateNeighbors, |engine| engine.update_neighbors())
    }

    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()> {
        self.call(Call::ComputeForces(evaluate), |engine| engine.compute_forces(evaluate))
    }

    fn add_constraint_virial(&mut self, kick: ClosingKick) -> Result<()> {
        self.call(Call::AddConstraintVirial(kick), |engine| engine.add_constraint_virial(kick))
    }

    fn energies_with_charges(&mut self, charges: &[f64]) -> Result<Energies> {
        let call = Call::EnergiesWithCharges(charges.to_vec());
        self.call(call, |engine| engine.energies_with_charges(charges))
    }

    fn add_forces(&mut self, added: &AddedForces) -> Result<()> {
        self.call(Call::AddForces(added.clone()), |engine| engine.add_forces(added))
    }

    fn energies(&self) -> &Energies {
        self.engine.energies()
    }
}

impl SubSteps for RankedDevice {
    fn kick(&mut self, dt: f64) -> Result<()> {
        self.call(Call::Kick(dt), |engine| engine.kick(dt))
    }

    fn drift(&mut self, dt: f64) -> Result<()> {
        self.call(Call::Drift(dt), |engine| engine.drift(dt))
    }

    fn kick_drift(&mut self, dt: f64) -> Result<()> {
        self.call(Call::KickDrift(dt), |engine| engine.kick_drift(dt))
    }

    fn constrain_positions(&mut self, dt: f64) -> Result<()> {
        self.call(Call::ConstrainPositions(dt), |engine| engine.constrain_positions(dt))
    }

    fn constrain_velocities(&mut self, kick: Option<ClosingKick>) -> Result<()> {
        self.call(Call::ConstrainVelocities(kick), |engine| engine.constrain_velocities(kick))
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<()> {
        self.call(Call::ScaleVelocities(factor), |engine| engine.scale_velocities(factor))
    }

    fn shift_velocities(&mut self, delta: Vec3) -> Result<()> {
        self.call(Call::ShiftVelocities(delta), |engine| engine.shift_velocities(delta))
    }

    fn mix_velocities(&mut self, keep: f64, along: f64) -> Result<()> {
        self.call(Call::MixVelocities { keep, along }, |engine| engine.mix_velocities(keep, along))
    }

    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) -> Result<()> {
        self.call(Call::OrnsteinUhlenbeck { decay, thermal_energy, noise }, |engine| {
            engine.ornstein_uhlenbeck(decay, thermal_energy, noise)
        })
    }

    fn apply_dpd_thermostat(&mut self, thermostat: &Dissipative, noise: NoiseKey) -> Result<()> {
        self.call(Call::ApplyDpdThermostat(thermostat.clone(), noise), |engine| {
            engine.apply_dpd_thermostat(thermostat, noise)
        })
    }

    fn check_dpd_thermostat(&self, thermostat: &Dissipative) -> Result<()> {
        self.engine.check_dpd_thermostat(thermostat)
    }

    fn has_contacts(&self) -> bool {
        self.engine.has_contacts()
    }

    fn apply_contact_friction(&mut self, dt: f64) -> Result<()> {
        self.call(Call::ApplyContactFriction(dt), |engine| engine.apply_contact_friction(dt))
    }

    fn has_reflecting_walls(&self) -> bool {
        self.engine.has_reflecting_walls()
    }

    fn reflect(&mut self, part: f64) -> Result<()> {
        self.call(Call::Reflect(part), |engine| engine.reflect(part))
    }

    fn kinetic(&mut self) -> Result<Kinetic> {
        self.call(Call::Kinetic, |engine| engine.kinetic())
    }

    fn descent(&mut self) -> Result<Descent> {
        self.call(Call::Descent, |engine| engine.descent())
    }
}

/// Moves of GPUs are made by them; atoms of CPUs are put together on rank 0, which sends all of them to all.
impl VolumeMove for RankedDevice {
    fn molecular_virial(&mut self, molecules: &Molecules) -> Result<MolecularVirial> {
        match self.devices {
            RankDevices::Cpus => molecular_virial_on_host(self, molecules),
            RankDevices::Gpus(..) => {
                let call = Call::MolecularVirial(Box::new(molecules.clone()));
                self.call(call, |engine| engine.molecular_virial(molecules))
            }
        }
    }

    fn scale_volume(
        &mut self,
        molecular: MolecularVirial,
        simbox: SimBox,
        faster: f64,
    ) -> Result<SavedVolume> {
        match self.devices {
            RankDevices::Cpus => scale_volume_on_host(self, molecular, simbox, faster),
            RankDevices::Gpus(..) => {
                let call = Call::ScaleVolume { simbox, faster };
                self.call(call, |engine| engine.scale_volume(molecular, simbox, faster))
            }
        }
    }

    fn undo_scale(&mut self, before: SavedVolume) -> Result<()> {
        match self.devices {
            RankDevices::Cpus => undo_scale_on_host(self, before),
            RankDevices::Gpus(..) => {
                self.call(Call::UndoScale(before.simbox), |engine| engine.undo_scale(before))
            }
        }
    }
}

impl DeviceReport for RankedDevice {
    fn describe(&self) -> String {
        let (engine, size, how) =
            (self.engine.describe(), self.communicator.size(), self.communicator.describe());
        format!("{engine}, on {size} ranks ({how})")
    }

    fn timings(&self) -> Timings {
        self.engine.timings()
    }

    fn neighbor_facts(&self) -> NeighborFacts {
        self.engine.neighbor_facts()
    }
}

impl Backend for RankedDevice {
    fn run_steps(&mut self, batch: &StepBatch, thermostat: &mut Thermostat) -> Result<Option<Vec<Sample>>> {
        match self.devices {
            RankDevices::Cpus => Ok(None),
            RankDevices::Gpus(..) => {
                let call = Call::RunSteps(Box::new((*batch, thermostat.clone())));
                self.call(call, |engine| engine.run_steps(batch, thermostat))
            }
        }
    }

    fn bias_place(&mut self) -> BiasPlace<'_> {
        BiasPlace::Host(match self.devices {
            RankDevices::Cpus => "the CPU makes its steps one by one",
            RankDevices::Gpus(..) => "several GPUs share the atoms",
        })
    }
}
