//! Boxes that change their shape while atoms move.

use jostle_core::{Result, SimBox, SymTensor, Vector};
use jostle_io::Input;
use jostle_io::input::model::{Action, FieldStrength, Plane, StageInput, Strain};
use jostle_potentials::Forces;

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

/// Strains of boxes as stages may make them, of no simple ratio, so that no wave of a formula fits them by chance.
const TRIED: [f64; 2] = [0.016_180_34, -0.012_360_68];

/// Boxes as a stage that changes the box may make them; none where a stage keeps it.
fn changed_boxes(start: &SimBox, stage: &StageInput) -> Vec<SimBox> {
    let mut boxes = Vec::new();
    if let Some(deformation) = &stage.deformation {
        boxes.extend(TRIED.iter().filter_map(|strain| deformed(start, deformation.mode, *strain).ok()));
    }
    if stage.barostat.is_some() {
        let scaled = |strain: &f64| {
            let edge = |k: usize| Vector([0, 1, 2].map(|j| if j == k { 1.0 + strain } else { 0.0 }));
            start.mapped([0, 1, 2].map(edge)).ok()
        };
        boxes.extend(TRIED.iter().filter_map(scaled));
    }
    boxes
}

/// Refuses fields by formulas whose energy jumps at a face of the box once a stage has changed it: numbers of a formula do
/// not follow the box.
///
/// # Errors
/// If there is one; the error points at its formula.
pub(crate) fn check_formula_fields(input: &Input, simbox: &SimBox, forces: &Forces) -> Result<()> {
    let texts = input.fields.iter().filter_map(|field| match &field.value.strength {
        FieldStrength::Energy(energy) => Some(&energy.text),
        _ => None,
    });
    for (field, text) in forces.formula_fields.iter().zip(texts) {
        for stage in input.stages.iter().map(|stage| &stage.value) {
            let checked = changed_boxes(simbox, stage).iter().try_for_each(|changed| field.check(changed));
            checked.map_err(|error| {
                let hint = "keep the box, or open it along this axis; or let the field act along unbroken paths, by \
                            positions = \"unwrapped\": numbers of a formula do not follow the box";
                error
                    .map_hint(|_| hint.into())
                    .context(format!("in a box that stage '{}' changes", stage.name))
                    .at_span(&input.source.path, &input.source.text, text.span.clone())
            })?;
        }
    }
    Ok(())
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
