//! Calls of a device as messages.

use super::RankDevices;
use jostle_core::backend::StageTime;
use jostle_core::thermostat::Dissipative;
use jostle_core::{
    AddedForces, Backend, ClosingKick, Evaluate, MolecularVirial, Molecules, NoiseKey, Result, SavedVolume,
    Settings, SimBox, State, StepBatch, System, Thermostat, Vec3,
};
use jostle_io::input::model::Gpus;
use jostle_potentials::Forces;
use serde::{Deserialize, Serialize};

/// A message of rank 0 to all others.
#[derive(Serialize, Deserialize)]
pub enum Message {
    /// Devices for this system.
    Open(RankDevices, Box<(System, Forces, Settings)>),
    /// A look for the GPUs of all ranks.
    FindGpus(Gpus),
    /// A call of its methods.
    Call(Call),
    /// A test of messages.
    SelfTest,
    /// The end of the run.
    End,
}

/// A call of a method that changes something, or makes changes that wait; those that only read are not sent.
#[derive(Serialize, Deserialize)]
pub enum Call {
    State,
    ListPositions,
    SetState(Box<State>),
    SetVelocities(Vec<Vec3>),
    Restore {
        state: Box<State>,
        list_positions: Vec<Vec3>,
        skin: f64,
    },
    SetBox(SimBox, Box<State>),
    Deform(SimBox),
    SetLongRangeWeight(f64),
    SetStiffness(Vec<f64>),
    SetTime(StageTime),
    UpdateNeighbors,
    ComputeForces(Evaluate),
    AddConstraintVirial(ClosingKick),
    EnergiesWithCharges(Vec<f64>),
    AddForces(AddedForces),
    Kick(f64),
    Drift(f64),
    KickDrift(f64),
    ConstrainPositions(f64),
    ConstrainVelocities(Option<ClosingKick>),
    ScaleVelocities(f64),
    ShiftVelocities(Vec3),
    MixVelocities {
        keep: f64,
        along: f64,
    },
    OrnsteinUhlenbeck {
        decay: f64,
        thermal_energy: f64,
        noise: NoiseKey,
    },
    ApplyDpdThermostat(Dissipative, NoiseKey),
    ApplyContactFriction(f64),
    Reflect(f64),
    Kinetic,
    Descent,
    RunSteps(Box<(StepBatch, Thermostat)>),
    MolecularVirial(Box<Molecules>),
    ScaleVolume {
        simbox: SimBox,
        faster: f64,
    },
    UndoScale(SimBox),
    /// The last call has failed on rank 0.
    Failed,
    /// The device is no longer needed.
    Close,
}

impl Call {
    /// Makes the call; results are rank 0's business.
    pub fn make(self, device: &mut dyn Backend) -> Result<()> {
        match self {
            Call::State => device.state().map(drop),
            Call::ListPositions => device.list_positions().map(drop),
            Call::SetState(state) => device.set_state(*state),
            Call::SetVelocities(velocities) => device.set_velocities(&velocities),
            Call::Restore { state, list_positions, skin } => device.restore(*state, list_positions, skin),
            Call::SetBox(simbox, state) => device.set_box(simbox, *state),
            Call::Deform(simbox) => device.deform(simbox),
            Call::SetLongRangeWeight(weight) => device.set_long_range_weight(weight),
            Call::SetStiffness(stiffness) => device.set_stiffness(&stiffness),
            Call::SetTime(time) => device.set_time(time),
            Call::UpdateNeighbors => device.update_neighbors(),
            Call::ComputeForces(evaluate) => device.compute_forces(evaluate),
            Call::AddConstraintVirial(kick) => device.add_constraint_virial(kick),
            Call::EnergiesWithCharges(charges) => device.energies_with_charges(&charges).map(drop),
            Call::AddForces(added) => device.add_forces(&added),
            Call::Kick(dt) => device.kick(dt),
            Call::Drift(dt) => device.drift(dt),
            Call::KickDrift(dt) => device.kick_drift(dt),
            Call::ConstrainPositions(dt) => device.constrain_positions(dt),
            Call::ConstrainVelocities(kick) => device.constrain_velocities(kick),
            Call::ScaleVelocities(factor) => device.scale_velocities(factor),
            Call::ShiftVelocities(delta) => device.shift_velocities(delta),
            Call::MixVelocities { keep, along } => device.mix_velocities(keep, along),
            Call::OrnsteinUhlenbeck { decay, thermal_energy, noise } => {
                device.ornstein_uhlenbeck(decay, thermal_energy, noise)
            }
            Call::ApplyDpdThermostat(thermostat, noise) => device.apply_dpd_thermostat(&thermostat, noise),
            Call::ApplyContactFriction(dt) => device.apply_contact_friction(dt),
            Call::Reflect(part) => device.reflect(part),
            Call::Kinetic => device.kinetic().map(drop),
            Call::Descent => device.descent().map(drop),
            Call::RunSteps(batch) => {
                let (batch, mut thermostat) = *batch;
                device.run_steps(&batch, &mut thermostat).map(drop)
            }
            Call::MolecularVirial(molecules) => device.molecular_virial(&molecules).map(drop),
            Call::ScaleVolume { simbox, faster } => {
                device.scale_volume(MolecularVirial::on_device(0.0, 0.0), simbox, faster).map(drop)
            }
            Call::UndoScale(simbox) => device.undo_scale(SavedVolume { simbox, state: None }),
            Call::Failed | Call::Close => Ok(()),
        }
    }
}
