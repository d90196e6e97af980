//! Boxes that change their shape while atoms move.

use jostle_core::{Result, SimBox, SymTensor, Vector};
use jostle_io::input::model::{Action, Plane, StageInput, Strain};

/// The strain of the box during a step of a stage that deforms it: the strain at the end of the interval, between
/// two changes, to which the step belongs; 0 before the first step. The last interval ends with the stage.
pub(crate) fn strain(stage: &StageInput, stage_step: u64) -> Option<(Strain, f64)> {
    let (Some(deformation), Action::Dynamics { steps, timestep, .. }) = (&stage.deformation, &stage.action)
    else {
        return None;
    };
    let changes = stage_step.div_ceil(deformation.every);
    let until = changes.saturating_mul(deformation.every).min(*steps);
    Some((deformation.mode, deformation.rate * timestep * until as f64))
}

/// The box that `start` becomes under a strain. Its volume stays the same.
///
/// # Errors
/// If an edge is not positive any more, or a tilt couples an open and a periodic axis.
pub(crate) fn deformed(start: &SimBox, mode: Strain, strain: f64) -> Result<SimBox> {
    let mut columns = [Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0]), Vector([0.0, 0.0, 1.0])];
    match mode {
        Strain::Tension(axis) => {
            let long = 1.0 + strain;
            for k in 0..3 {
                columns[k][k] = if k == axis.index() { long } else { 1.0 / long.sqrt() };
            }
        }
        Strain::Shear(plane) => {
            let (along, by) = axes(plane);
            columns[by][along] = strain;
        }
    }
    start.mapped(columns)
}

/// The stress conjugate to a strain, from the pressure tensor: for tension the stress along the axis less the
/// mean of the other two, for shear the stress in the plane.
pub(crate) fn stress(mode: Strain, pressure: &SymTensor) -> f64 {
    match mode {
        Strain::Tension(axis) => {
            let along = pressure[axis.index()];
            0.5 * (pressure[0] + pressure[1] + pressure[2] - along) - along
        }
        Strain::Shear(Plane::Xy) => -pressure[3],
        Strain::Shear(Plane::Xz) => -pressure[4],
        Strain::Shear(Plane::Yz) => -pressure[5],
    }
}

fn axes(plane: Plane) -> (usize, usize) {
    match plane {
        Plane::Xy => (0, 1),
        Plane::Xz => (0, 2),
        Plane::Yz => (1, 2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_io::input::model::{Axis, Deformation};

    const MODES: [Strain; 6] = [
        Strain::Tension(Axis::X),
        Strain::Tension(Axis::Y),
        Strain::Tension(Axis::Z),
        Strain::Shear(Plane::Xy),
        Strain::Shear(Plane::Xz),
        Strain::Shear(Plane::Yz),
    ];

    #[test]
    fn the_volume_stays_the_same() {
        let start = SimBox::new([1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [0.5, -0.4, 0.3], [true; 3]).unwrap();
        for mode in MODES {
            assert_eq!(deformed(&start, mode, 0.0).unwrap(), start);
            for strain in [-0.2, 0.1, 0.5] {
                let now = deformed(&start, mode, strain).unwrap();
                assert!((now.volume() / start.volume() - 1.0).abs() < 1e-14, "{mode:?}");
                assert_eq!(now.origin(), start.origin());
            }
        }
        let sheared = deformed(&start, Strain::Shear(Plane::Xy), 0.1).unwrap();
        assert_eq!(sheared.tilts(), [0.5 + 0.1 * 5.0, -0.4 + 0.1 * 0.3, 0.3]);
        let long = deformed(&start, Strain::Tension(Axis::Z), 0.21).unwrap();
        assert_eq!(long.lengths(), [4.0 / 1.1, 5.0 / 1.1, 6.0 * 1.21]);
        assert!(deformed(&start, Strain::Tension(Axis::Z), -1.0).is_err());
    }

    /// The strain during an interval is the strain at its end.
    #[test]
    fn strains_grow_in_steps() {
        let every = 10;
        let deformation = Deformation { mode: MODES[3], rate: 0.5, every };
        let stage = StageInput::dynamics("shear", 24, 0.01).deform(deformation);
        let strains = [0, 1, 9, 10, 11, 20, 21, 24].map(|step| strain(&stage, step).unwrap().1);
        assert_eq!(strains, [0.0, 0.05, 0.05, 0.05, 0.1, 0.1, 0.12, 0.12]);
    }
}
