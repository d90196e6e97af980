//! Changes of the volume, in which molecules move as a whole with their centres.

use crate::{Molecules, Result, SimBox, State, Vec3};

/// The molecular virial and the kinetic energy of centres of mass: for the pressure of molecules as points.
#[derive(Debug, Clone)]
pub struct MolecularVirial {
    /// Twice the kinetic energy of the centres of mass.
    pub twice_kinetic: f64,
    /// Sum of f . d over atoms at d from the centre of their molecule: the part of the atomic virial that
    /// molecules as points do not have.
    pub within: f64,
    /// Atoms; `None` where the device keeps them.
    host: Option<OnHost>,
}

#[derive(Debug, Clone)]
struct OnHost {
    state: State,
    arms: Vec<Vec3>,
    velocities: Vec<Vec3>,
}

/// Box and atoms before [`VolumeMove::scale_volume`](crate::VolumeMove::scale_volume).
#[derive(Debug)]
pub struct SavedVolume {
    /// The box.
    pub simbox: SimBox,
    /// The atoms; `None` where the device keeps them.
    pub state: Option<State>,
}

impl MolecularVirial {
    /// Sums for the atoms of a state.
    ///
    /// # Errors
    /// If a molecule is joined to its own image, so that it has no centre.
    pub fn on_host(molecules: &Molecules, simbox: &SimBox, state: State) -> Result<Self> {
        let arms = molecules.arms(simbox, &state)?;
        let velocities = molecules.velocities(&state);
        let twice_kinetic = molecules.twice_kinetic(&state, &velocities);
        let product = |(f, d): (&Vec3, &Vec3)| f[0] * d[0] + f[1] * d[1] + f[2] * d[2];
        let within = state.force.iter().zip(&arms).map(product).sum();
        Ok(MolecularVirial { twice_kinetic, within, host: Some(OnHost { state, arms, velocities }) })
    }

    /// Sums over what a device keeps.
    pub fn on_device(twice_kinetic: f64, within: f64) -> Self {
        MolecularVirial { twice_kinetic, within, host: None }
    }

    /// The atoms before and after a change of the box; the velocities of centres have grown by the
    /// factor 1 + `faster`. `None` for what a device keeps.
    pub(crate) fn scaled(self, from: &SimBox, to: &SimBox, faster: f64) -> Option<[State; 2]> {
        let OnHost { state, arms, velocities } = self.host?;
        let mut after = state.clone();
        after.position.iter_mut().zip(&arms).for_each(|(r, arm)| *r -= *arm);
        after.follow(from, to);
        after.position.iter_mut().zip(&arms).for_each(|(r, arm)| *r += *arm);
        for (v, center) in after.velocity.iter_mut().zip(&velocities) {
            *v += faster * *center;
        }
        Some([state, after])
    }
}
