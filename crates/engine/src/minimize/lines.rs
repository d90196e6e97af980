//! Minimisers by successive line searches. A line search goes by the force along the line, which is exact
//! where differences of large energies are not. The velocities of the atoms hold the direction of the line.

use jostle_core::backend::Descent;
use jostle_core::{Backend, Components, Evaluate, Result, Vec3};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Most evaluations of forces along a line.
const MOST_EVALUATIONS: usize = 8;
/// Length of the first step along the first line, in longest moves.
const FIRST_MOVE: f64 = 0.1;
/// Smallest distance of the next point from the ends of the interval that contains the minimum, over its
/// length.
const MARGIN: f64 = 0.1;
/// Largest growth of the length along a line from one evaluation to the next.
const LONGER: f64 = 4.0;

/// Result of a line search.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LineProgress {
    /// Length of the search, in units of the direction vector.
    length: f64,
    /// Product of force and direction vector at the beginning and at the end.
    power: [f64; 2],
}

/// Searches along the velocities until the force along them has fallen to the fraction `exact` of its initial
/// value. The first step is `first` direction vectors long; no atom moves further than `longest_move`.
/// Returns `None` where the velocities do not point downhill.
fn follow(
    backend: &mut dyn Backend,
    first: f64,
    exact: f64,
    longest_move: f64,
    evaluate: Evaluate,
) -> Result<Option<LineProgress>> {
    let sums = backend.descent()?;
    let begin = sums.power;
    if !(begin > 0.0 && sums.largest_speed > 0.0) {
        return Ok(None);
    }
    let most = longest_move / sums.largest_speed;
    let mut target = first.min(most);
    let (mut length, mut power) = (0.0, begin);
    // The last point where the energy still decreases, and the first where it increases.
    let (mut low, mut high) = ((0.0, begin), None);
    for _ in 0..MOST_EVALUATIONS {
        backend.drift(target - length)?;
        length = target;
        backend.update_neighbors()?;
        backend.compute_forces(evaluate)?;
        power = backend.descent()?.power;
        if power.abs() <= exact * begin || (power > 0.0 && high.is_none() && length >= most) {
            break;
        }
        if power > 0.0 {
            low = (length, power);
        } else {
            high = Some((length, power));
        }
        target = match high {
            // Zero of the force by linear interpolation.
            Some((end, above)) => {
                let part = low.1 / (low.1 - above);
                low.0 + (end - low.0) * part.clamp(MARGIN, 1.0 - MARGIN)
            }
            None if power < begin => (length * begin / (begin - power)).min(LONGER * length).min(most),
            None => (LONGER * length).min(most),
        };
    }
    Ok(Some(LineProgress { length, power: [begin, power] }))
}

/// Sets the velocities to the forces (steepest descent); returns the length of the first step along them.
fn point_downhill(backend: &mut dyn Backend, longest_move: f64) -> Result<f64> {
    backend.mix_velocities(0.0, 1.0)?;
    let fastest = backend.descent()?.largest_speed;
    Ok(if fastest > 0.0 { FIRST_MOVE * longest_move / fastest } else { 0.0 })
}

/// Nonlinear conjugate gradients, with the coefficient of Y. H. Dai and Y. Yuan (SIAM J. Optim. 10
/// (1999) 177), which needs only sums over the atoms, so that the atoms stay on their device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConjugateGradient {
    longest_move: f64,
    /// Length of the last line search times the force at its beginning; `None` where the next line is along
    /// the forces.
    last: Option<f64>,
}

/// Fraction of the force along a line that may be left at its end.
const CONJUGATE_EXACT: f64 = 0.1;
/// Least cosine of the angle between a line and the forces. One that is nearly across them leads nowhere, and the
/// next ones, which keep most of it, do not either: the search begins anew along the forces.
const STEEP: f64 = 0.1;

impl ConjugateGradient {
    /// A minimiser that moves no atom further than `longest_move` in one iteration.
    pub fn new(longest_move: f64) -> Self {
        ConjugateGradient { longest_move, last: None }
    }

    /// One line search. The forces at its start are those of the last evaluation; velocities keep the
    /// direction from one search to the next.
    ///
    /// # Errors
    /// As for [`jostle_core::ForceEvaluation::update_neighbors`] and
    /// [`jostle_core::ForceEvaluation::compute_forces`].
    pub fn iterate(&mut self, backend: &mut dyn Backend, evaluate: Evaluate) -> Result<()> {
        let Descent { power, force_square, velocity_square, .. } = backend.descent()?;
        let steep = power > STEEP * (force_square * velocity_square).sqrt();
        let first = match self.last {
            // The expected gain is that of the line before.
            Some(gain) if steep => gain / power,
            _ => point_downhill(backend, self.longest_move)?,
        };
        let followed = follow(backend, first, CONJUGATE_EXACT, self.longest_move, evaluate)?;
        let Some(LineProgress { length, power: [begin, end] }) =
            followed.filter(|line| line.power[1] < line.power[0])
        else {
            self.last = None;
            return Ok(());
        };
        let keep = backend.descent()?.force_square / (begin - end);
        backend.mix_velocities(keep, 1.0)?;
        self.last = Some(length * begin);
        Ok(())
    }
}

/// L-BFGS: D. C. Liu and J. Nocedal, Math. Program. 45 (1989) 503. The history of lines is stored on the
/// host, by id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lbfgs {
    longest_move: f64,
    /// The last lines, the newest last.
    lines: VecDeque<CurvaturePair>,
    /// Forces at the beginning of the last line, and displacements along it.
    last: Option<(Vec<Vec3>, Vec<Vec3>)>,
}

/// Displacements along a line and the changes of forces, which give the curvature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CurvaturePair {
    moved: Vec<Vec3>,
    change: Vec<Vec3>,
    /// Scalar product of displacements and changes of forces.
    curvature: f64,
}

/// Number of lines in the history.
const HISTORY: usize = 10;
/// Fraction of the force along a line that may be left at its end: quasi-Newton steps have nearly the right
/// length, so that one evaluation suffices for most lines.
const NEWTON_EXACT: f64 = 0.9;

impl Lbfgs {
    /// A minimiser that moves no atom further than `longest_move` in one iteration.
    pub fn new(longest_move: f64) -> Self {
        Lbfgs { longest_move, lines: VecDeque::new(), last: None }
    }

    /// One line search; see [`ConjugateGradient::iterate`].
    ///
    /// # Errors
    /// As for [`jostle_core::ForceEvaluation::update_neighbors`] and
    /// [`jostle_core::ForceEvaluation::compute_forces`], and if the device failed.
    pub fn iterate(&mut self, backend: &mut dyn Backend, evaluate: Evaluate) -> Result<()> {
        // Forces are read as velocities, which are zero for frozen atoms.
        let downhill = point_downhill(backend, self.longest_move)?;
        let forces = by_id(backend)?;
        self.add_line(&forces);
        let mut direction = self.newton(&forces);
        let mut first = 1.0;
        if self.lines.is_empty() || dot(&direction, &forces) <= 0.0 {
            self.lines.clear();
            direction.clone_from(&forces);
            first = downhill;
        }
        let by_index: Vec<Vec3> = backend.state()?.id.iter().map(|id| direction[*id as usize]).collect();
        backend.set_velocities(&by_index)?;
        let followed = follow(backend, first, NEWTON_EXACT, self.longest_move, evaluate)?;
        self.last = followed.map(|line| {
            direction.iter_mut().flatten().for_each(|d| *d *= line.length);
            (forces, direction)
        });
        if self.last.is_none() {
            self.lines.clear();
        }
        Ok(())
    }

    /// Adds the last line, with the forces at its end, to the history.
    fn add_line(&mut self, forces: &[Vec3]) {
        let Some((before, moved)) = self.last.take() else { return };
        let change: Vec<Vec3> = before.iter().zip(forces).map(|(a, b)| *a - *b).collect();
        let curvature = dot(&moved, &change);
        // A line of negative curvature has no minimum to step to.
        if curvature > 0.0 {
            self.lines.push_back(CurvaturePair { moved, change, curvature });
            if self.lines.len() > HISTORY {
                self.lines.pop_front();
            }
        }
    }

    /// The quasi-Newton step from the history, by Nocedal's two-loop recursion.
    fn newton(&self, forces: &[Vec3]) -> Vec<Vec3> {
        let mut step = forces.to_vec();
        let mut weights = Vec::with_capacity(self.lines.len());
        for line in self.lines.iter().rev() {
            let weight = dot(&line.moved, &step) / line.curvature;
            add(&mut step, -weight, &line.change);
            weights.push(weight);
        }
        if let Some(CurvaturePair { change, curvature, .. }) = self.lines.back() {
            let scale = curvature / dot(change, change);
            step.iter_mut().flatten().for_each(|x| *x *= scale);
        }
        for (line, weight) in self.lines.iter().zip(weights.into_iter().rev()) {
            let factor = weight - dot(&line.change, &step) / line.curvature;
            add(&mut step, factor, &line.moved);
        }
        step
    }
}

fn by_id(backend: &mut dyn Backend) -> Result<Vec<Vec3>> {
    let state = backend.state()?;
    Ok(state.index_by_id().into_iter().map(|index| state.velocity[index]).collect())
}

fn dot(a: &[Vec3], b: &[Vec3]) -> f64 {
    a.as_flattened().iter().zip(b.as_flattened()).map(|(a, b)| a * b).sum()
}

/// Adds `factor` times `more` to `to`.
fn add(to: &mut [Vec3], factor: f64, more: &[Vec3]) {
    for (to, more) in to.as_flattened_mut().iter_mut().zip(more.as_flattened()) {
        *to += factor * more;
    }
}
