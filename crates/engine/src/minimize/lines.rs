//! Minimisers that go along one line after another, each to about where the energy along it is least.
//! What they know of a line is the force along it, which is exact where differences of large energies
//! are not. The velocities of the atoms are the direction.

use jostle_core::{Backend, Evaluate, Result, Vec3};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// At most so often forces are evaluated along a line.
const MOST_LOOKS: usize = 8;
/// How far the first line is followed at first, in longest moves.
const FIRST_MOVE: f64 = 0.1;
/// Between two ends of a piece with the least energy, no look is nearer to one of them than this part.
const MARGIN: f64 = 0.1;
/// A line is not followed further than so many times as far as before at once.
const LONGER: f64 = 4.0;

/// How a line was followed.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LineProgress {
    /// How far, in directions.
    length: f64,
    /// The force along the direction, times its length, where it began and ended.
    power: [f64; 2],
}

/// Follows the velocities, which point downhill, until the force along them is `exact` of what it was, in
/// steps of which the first is `first` directions long; no atom goes further than `longest_move`. `None`
/// where they do not point downhill.
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
    // Where it still went down, and where up again.
    let (mut low, mut high) = ((0.0, begin), None);
    for _ in 0..MOST_LOOKS {
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
            // Where the force vanishes if it changes evenly.
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

/// Points the velocities along the forces: steepest descent. How long the first step along them may be.
fn point_downhill(backend: &mut dyn Backend, longest_move: f64) -> Result<f64> {
    backend.mix_velocities(0.0, 1.0)?;
    let fastest = backend.descent()?.largest_speed;
    Ok(if fastest > 0.0 { FIRST_MOVE * longest_move / fastest } else { 0.0 })
}

/// Nonlinear conjugate gradients, with the coefficient of Y. H. Dai and Y. Yuan (SIAM J. Optim. 10
/// (1999) 177), which asks for nothing but sums over the atoms, so that they stay on their device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConjugateGradient {
    longest_move: f64,
    /// How far the last line was followed times the force along its beginning; `None` where the next
    /// one is along the forces.
    last: Option<f64>,
}

/// How much of the force along a line may be left at its end.
const CONJUGATE_EXACT: f64 = 0.1;

impl ConjugateGradient {
    /// A minimiser that moves no atom further than `longest_move` in one iteration.
    pub fn new(longest_move: f64) -> Self {
        ConjugateGradient { longest_move, last: None }
    }

    /// One line. The forces at its start are those of the last evaluation; velocities are left as they
    /// are from line to line.
    ///
    /// # Errors
    /// Those of `ForceEvaluation::update_neighbors` and `ForceEvaluation::compute_forces`.
    pub fn iterate(&mut self, backend: &mut dyn Backend, evaluate: Evaluate) -> Result<()> {
        let first = match self.last {
            // Likely as much is gained as by the line before.
            Some(gain) => gain / backend.descent()?.power,
            None => point_downhill(backend, self.longest_move)?,
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

/// L-BFGS: D. C. Liu and J. Nocedal, Math. Program. 45 (1989) 503. What is remembered of the lines before
/// is kept on the host, by id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lbfgs {
    longest_move: f64,
    /// The last lines, the newest last.
    lines: VecDeque<CurvaturePair>,
    /// The forces where the last line began, and how it was followed.
    last: Option<(Vec<Vec3>, Vec<Vec3>)>,
}

/// What a line told of the curvature: how atoms were moved, and by how much less force they felt then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CurvaturePair {
    moved: Vec<Vec3>,
    change: Vec<Vec3>,
    /// The product of both.
    curvature: f64,
}

/// So many lines are remembered.
const REMEMBERED: usize = 10;
/// Steps are nearly right as they are: most lines are looked at once.
const NEWTON_EXACT: f64 = 0.9;

impl Lbfgs {
    /// A minimiser that moves no atom further than `longest_move` in one iteration.
    pub fn new(longest_move: f64) -> Self {
        Lbfgs { longest_move, lines: VecDeque::new(), last: None }
    }

    /// One line, likewise.
    ///
    /// # Errors
    /// Those of `ForceEvaluation::update_neighbors` and `ForceEvaluation::compute_forces`, and if the device failed.
    pub fn iterate(&mut self, backend: &mut dyn Backend, evaluate: Evaluate) -> Result<()> {
        // As velocities, forces are zero where atoms are frozen.
        let downhill = point_downhill(backend, self.longest_move)?;
        let forces = by_id(backend)?;
        self.learn(&forces);
        let mut direction = self.newton(&forces);
        let mut first = 1.0;
        if self.lines.is_empty() || dot(&direction, &forces) <= 0.0 {
            self.lines.clear();
            direction.clone_from(&forces);
            first = downhill;
        }
        let by_place: Vec<Vec3> = backend.state()?.id.iter().map(|id| direction[*id as usize]).collect();
        backend.set_velocities(&by_place)?;
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

    /// Learns from the last line, with the forces at its end.
    fn learn(&mut self, forces: &[Vec3]) {
        let Some((before, moved)) = self.last.take() else { return };
        let change: Vec<Vec3> =
            before.iter().zip(forces).map(|(a, b)| [a[0] - b[0], a[1] - b[1], a[2] - b[2]]).collect();
        let curvature = dot(&moved, &change);
        // Where the energy curves downwards there is no minimum to step to.
        if curvature > 0.0 {
            self.lines.push_back(CurvaturePair { moved, change, curvature });
            if self.lines.len() > REMEMBERED {
                self.lines.pop_front();
            }
        }
    }

    /// The step to the minimum, as far as the lines tell: the two loops of Nocedal.
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

/// to += factor more
fn add(to: &mut [Vec3], factor: f64, more: &[Vec3]) {
    for (to, more) in to.as_flattened_mut().iter_mut().zip(more.as_flattened()) {
        *to += factor * more;
    }
}
