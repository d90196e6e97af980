//! Time steps as data: lists of sub-steps, which the engine interprets by the verbs of a
//! [`crate::Backend`], and from which a GPU's steps are made.

/// A part of a time step that is `dt` long.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SubStep {
    /// Half a kick, v += dt/2 f / m.
    Kick,
    /// Drift by a part of the step, r += part dt v.
    Drift(f64),
    /// Positions, and velocities accordingly, to where constraints are satisfied after the drift before
    /// it (SHAKE, SETTLE).
    ConstrainPositions,
    /// Reflection of atoms behind walls that reflect, which are where they are when this part of the step is over.
    Reflect(f64),
    /// Velocities scaled by a factor that follows from the thermostat alone, see
    /// [`super::ThermostatMethod::factor_by_state`].
    ScaleByState,
    /// Velocities scaled by a factor that follows from their kinetic energy, where that is due, see
    /// [`super::ThermostatMethod::factor_by_kinetic`]. After a drift, the kinetic energy has the
    /// temperature of the positions. Where velocities belong to the same moment as positions it is
    /// smaller, by a part of the square of the time step: 0.6% for rigid water at 2 fs.
    ScaleByKinetic,
    /// Friction and noise on each atom, see [`super::ThermostatMethod::noise`].
    Noise,
    /// Friction and noise between pairs of atoms, see [`super::ThermostatMethod::pair_noise`]. Needs the
    /// list of neighbours.
    PairNoise,
    /// Damping and friction at the contacts of grains. Needs the list of neighbours.
    ContactFriction,
    /// The list of neighbours, brought up to date.
    UpdateNeighbors,
    /// Forces at the positions reached. Needs the list of neighbours.
    EvaluateForces,
    /// Velocities freed from what would change the distances that constraints keep (RATTLE).
    ConstrainVelocities,
}

use SubStep::*;

/// Velocity Verlet (Swope, Andersen, Berens, Wilson 1982), with constraints satisfied after every drift
/// and, by velocities, after the kick that ends a step (RATTLE; Andersen 1983).
pub const VELOCITY_VERLET: &[SubStep] =
    &[Kick, Drift(1.0), ConstrainPositions, UpdateNeighbors, EvaluateForces, Kick, ConstrainVelocities];

/// Velocity Verlet, with velocities scaled after the drift.
pub const SCALED_AFTER_DRIFT: &[SubStep] = &[
    Kick,
    Drift(1.0),
    ConstrainPositions,
    ScaleByKinetic,
    UpdateNeighbors,
    EvaluateForces,
    Kick,
    ConstrainVelocities,
];

/// Velocity Verlet, with velocities scaled around the drift, so that the step remains its own reverse.
pub const SCALED_AROUND_DRIFT: &[SubStep] = &[
    Kick,
    ScaleByState,
    Drift(1.0),
    ConstrainPositions,
    ScaleByKinetic,
    UpdateNeighbors,
    EvaluateForces,
    Kick,
    ConstrainVelocities,
];

/// Velocity Verlet, with velocities scaled when the step is over.
pub const SCALED_AT_END: &[SubStep] = &[
    Kick,
    Drift(1.0),
    ConstrainPositions,
    UpdateNeighbors,
    EvaluateForces,
    Kick,
    ConstrainVelocities,
    ScaleByKinetic,
];

/// BAOAB (B. Leimkuhler and C. Matthews, J. Chem. Phys. 138 (2013) 174102; with constraints Proc. R. Soc.
/// A 472 (2016) 20160138). After the noise constraints need not be satisfied by velocities: what RATTLE
/// would take is along the distances before a drift, as is what is made up for after it, so that atoms come
/// to the same places, and by these to the same velocities.
pub const NOISE_IN_DRIFT: &[SubStep] = &[
    Kick,
    Drift(0.5),
    ConstrainPositions,
    Noise,
    Drift(0.5),
    ConstrainPositions,
    UpdateNeighbors,
    EvaluateForces,
    Kick,
    ConstrainVelocities,
];

/// Noise between pairs of atoms in the middle of the drift; constraints are not satisfied.
pub const PAIR_NOISE_IN_DRIFT: &[SubStep] = &[
    Kick,
    Drift(0.5),
    UpdateNeighbors,
    PairNoise,
    Drift(0.5),
    UpdateNeighbors,
    EvaluateForces,
    Kick,
    ConstrainVelocities,
];

/// Whole drift where grains are in contact, which have no constraints.
pub const DRIFT_WITH_CONTACTS: &[SubStep] = &[Drift(0.5), UpdateNeighbors, ContactFriction, Drift(0.5)];

/// A step for grains in contact: a whole drift has their friction in its middle.
pub fn with_contact_friction(step: &[SubStep]) -> Vec<SubStep> {
    let mut with = Vec::new();
    let mut rest = step;
    while let [first, after @ ..] = rest {
        match rest {
            [Drift(1.0), ConstrainPositions, after @ ..] => {
                with.extend(DRIFT_WITH_CONTACTS);
                rest = after;
            }
            _ => {
                with.push(*first);
                rest = after;
            }
        }
    }
    with
}

/// A step between walls that reflect atoms: each drift ends with the reflection of those that it has put behind one.
pub fn with_reflection(step: &[SubStep]) -> Vec<SubStep> {
    let (mut with, mut over) = (Vec::new(), 0.0);
    for sub_step in step {
        with.push(*sub_step);
        if let Drift(part) = sub_step {
            over += part;
            with.push(Reflect(over));
        }
    }
    with
}

/// The sub-steps from the beginning of a step to its evaluation of forces, and those after it.
pub fn around_forces(step: &[SubStep]) -> (&[SubStep], &[SubStep]) {
    let forces = step.iter().position(|part| *part == EvaluateForces).unwrap_or(step.len());
    (&step[..forces], step.get(forces + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thermostat::ThermostatKind;

    /// Two halves of a kick around the forces, of which one follows another drift; drifts that add up to
    /// the step; lists that are up to date where they are needed.
    #[test]
    fn every_list_is_a_step() {
        let kinds = ThermostatKind::ALL.iter().map(|kind| kind.step());
        for step in kinds.chain([VELOCITY_VERLET]) {
            let contacts = with_contact_friction(step);
            for step in [step.to_vec(), with_reflection(step), with_reflection(&contacts), contacts] {
                let drifts: f64 = step.iter().map(|s| if let Drift(part) = s { *part } else { 0.0 }).sum();
                assert_eq!(drifts, 1.0, "{step:?}");
                let (before, after) = around_forces(&step);
                assert_eq!((before[0], after[0]), (Kick, Kick), "{step:?}");
                let kicks = |part: &[SubStep]| part.iter().filter(|s| **s == Kick).count();
                assert_eq!([kicks(before), kicks(after)], [1, 1], "{step:?}");
                let mut current = false;
                for part in &step {
                    match part {
                        Drift(_) | Reflect(_) | ConstrainPositions => current = false,
                        UpdateNeighbors => current = true,
                        PairNoise | ContactFriction | EvaluateForces => assert!(current, "{step:?}"),
                        _ => {}
                    }
                }
            }
        }
    }

    /// Every drift is followed by a reflection, at the part of the step that is over then.
    #[test]
    fn every_drift_ends_with_a_reflection() {
        let kinds = ThermostatKind::ALL.iter().map(|kind| kind.step());
        for step in kinds.chain([VELOCITY_VERLET]) {
            for step in [step.to_vec(), with_contact_friction(step)] {
                let reflected = with_reflection(&step);
                let mut over = 0.0;
                for (k, part) in reflected.iter().enumerate() {
                    if let Drift(part) = part {
                        over += part;
                        assert_eq!(reflected[k + 1], Reflect(over), "{reflected:?}");
                    }
                }
                assert_eq!(over, 1.0, "{reflected:?}");
                let rest: Vec<_> = reflected.into_iter().filter(|s| !matches!(s, Reflect(_))).collect();
                assert_eq!(rest, step);
            }
        }
    }

    /// A thermostat that keeps no constraints says so.
    #[test]
    fn constraints_are_kept_or_refused() {
        for kind in ThermostatKind::ALL {
            let kept = kind
                .step()
                .windows(2)
                .filter(|w| matches!(w[0], Drift(_)))
                .all(|w| w[1] == ConstrainPositions);
            assert_eq!(kept, kind.against_constraints().is_none(), "{kind:?}");
        }
    }
}
