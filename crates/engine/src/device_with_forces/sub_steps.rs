//! Sub-steps, which are those of the device.

use super::DeviceWithForces;
use jostle_core::backend::Descent;
use jostle_core::thermostat::Dissipative;
use jostle_core::{ClosingKick, Kinetic, NoiseKey, Result, SubSteps, Vec3};

impl SubSteps for DeviceWithForces {
    fn kick(&mut self, dt: f64) -> Result<()> {
        self.device.kick(dt)
    }

    fn drift(&mut self, dt: f64) -> Result<()> {
        self.device.drift(dt)
    }

    fn kick_drift(&mut self, dt: f64) -> Result<()> {
        self.device.kick_drift(dt)
    }

    fn constrain_positions(&mut self, dt: f64) -> Result<()> {
        self.device.constrain_positions(dt)
    }

    fn constrain_velocities(&mut self, kick: Option<ClosingKick>) -> Result<()> {
        self.device.constrain_velocities(kick)
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<()> {
        self.device.scale_velocities(factor)
    }

    fn shift_velocities(&mut self, delta: Vec3) -> Result<()> {
        self.device.shift_velocities(delta)
    }

    fn mix_velocities(&mut self, keep: f64, along: f64) -> Result<()> {
        self.device.mix_velocities(keep, along)
    }

    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) -> Result<()> {
        self.device.ornstein_uhlenbeck(decay, thermal_energy, noise)
    }

    fn apply_dpd_thermostat(&mut self, thermostat: &Dissipative, noise: NoiseKey) -> Result<()> {
        self.device.apply_dpd_thermostat(thermostat, noise)
    }

    fn check_dpd_thermostat(&self, thermostat: &Dissipative) -> Result<()> {
        self.device.check_dpd_thermostat(thermostat)
    }

    fn has_contacts(&self) -> bool {
        self.device.has_contacts()
    }

    fn apply_contact_friction(&mut self, dt: f64) -> Result<()> {
        self.device.apply_contact_friction(dt)
    }

    fn has_reflecting_walls(&self) -> bool {
        self.device.has_reflecting_walls()
    }

    fn reflect(&mut self, part: f64) -> Result<()> {
        self.device.reflect(part)
    }

    fn kinetic(&mut self) -> Result<Kinetic> {
        self.device.kinetic()
    }

    fn descent(&mut self) -> Result<Descent> {
        self.device.descent()
    }
}
