//! Motion of all atoms in common where a box changes whose corner is not known.
//!
//! The point about which a box grows is at rest, and displacements are those of comoving coordinates from its corner. Many
//! files do not hold the corner, so that it seems to be at rest: it is in GROMACS, but LAMMPS lets boxes grow about their
//! centre, and then all atoms seem to go to and fro with the box. Atoms that move on their own have a mean displacement,
//! too, whose square is 1/N of their mean square displacement; what is more than that is doubtful, but it is not taken off:
//! flows and drifts are common motions as well, and a part of the atoms may well move as a whole.

use crate::paths::comoving;
use crate::warning::{DOUBTFUL, ResultWarning, Verdict};
use jostle_core::{SimBox, Vec3};

/// Squares of the mean of N independent displacements, in units of their mean, that chance hardly makes.
const CHANCE: f64 = 4.0;

/// Displacements of all atoms over the frames so far.
#[derive(Debug, Default)]
pub struct CommonMotion {
    first: Option<(SimBox, Vec<Vec3>)>,
    before: Vec<Vec3>,
    box_changes: bool,
    /// Displacements from frame to frame, and from the first frame.
    sums: [Squares; 2],
}

/// Sums over frames of the square of the mean displacement, and of the mean square displacement.
#[derive(Debug, Default)]
struct Squares {
    of_mean: f64,
    of_each: f64,
}

impl Squares {
    fn add(&mut self, simbox: &SimBox, from: &[Vec3], to: &[Vec3]) {
        let (mut sum, mut squares) = (Vec3::ZERO, 0.0);
        for (a, b) in from.iter().zip(to) {
            let moved = simbox.comoving_shift(*b - *a);
            sum += moved;
            squares += moved.norm_squared();
        }
        let count = to.len().max(1) as f64;
        self.of_mean += (sum / count).norm_squared();
        self.of_each += squares / count;
    }
}

impl CommonMotion {
    /// Takes the next frame: positions of all atoms on unbroken paths.
    pub fn add(&mut self, simbox: &SimBox, path: &[Vec3]) {
        let now = comoving(simbox, path);
        let (first_box, first) = self.first.get_or_insert_with(|| (*simbox, now.clone()));
        let shape = |simbox: &SimBox| (simbox.lengths(), simbox.tilts());
        self.box_changes |= shape(simbox) != shape(first_box);
        let [steps, from_first] = &mut self.sums;
        steps.add(simbox, &self.before, &now);
        from_first.add(simbox, first, &now);
        self.before = now;
    }

    /// Warning about a result that depends on displacements, where they are doubtful; these formats hold the corner.
    pub fn warning(&self, about: &str, formats: &str) -> Option<ResultWarning> {
        let share = |sums: &Squares| if sums.of_each > 0.0 { sums.of_mean / sums.of_each } else { 0.0 };
        let largest = self.sums.iter().map(share).fold(0.0, f64::max);
        let by_chance = CHANCE / self.before.len() as f64;
        (self.box_changes && largest > DOUBTFUL + by_chance).then(|| ResultWarning {
            verdict: Verdict::Doubtful,
            about: about.into(),
            reason: format!(
                "the box changes, the trajectory does not tell where its corner is, and {:.1} % of the mean square \
                 displacement is a motion of all atoms in common, as where a box grows about its centre (LAMMPS) and not \
                 from its corner (GROMACS)",
                100.0 * largest
            ),
            remedy: format!("a trajectory with the corner of the box: {formats}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    /// Atoms of a gas in a box that breathes about a point of its diagonal; the corner that is seen is at 0.
    fn breathing(center: f64, amplitude: f64) -> Option<ResultWarning> {
        let mut common = CommonMotion::default();
        for frame in 0..40 {
            let scale = 1.0 + amplitude * f64::from(frame % 5 - 2);
            let simbox = SimBox::orthorhombic([10.0 * scale; 3]).unwrap();
            let place = |k: i32| {
                let own =
                    |axis: i32| 0.1 * f64::from(frame * (1 + (k * k * (3 + axis)) % 7) * (1 - 2 * (k % 2)));
                Vector([0, 1, 2].map(|axis| center + scale * (f64::from(k % 10) - center) + own(axis)))
            };
            common.add(&simbox, &(0..1000).map(place).collect::<Vec<_>>());
        }
        common.warning("msd", "H5MD")
    }

    #[test]
    fn common_motion_is_that_of_a_box_about_another_point() {
        let warning = breathing(5.0, 0.05).unwrap();
        assert!(warning.to_string().contains("msd is doubtful: the box changes"), "{warning}");
        assert_eq!(breathing(0.0, 0.05), None, "from the corner");
        assert_eq!(breathing(5.0, 0.0), None, "a box that stays");
    }
}
