//! Geometry of a box as kernels have it: the range of coordinates along each axis, and its resolution.

use crate::device_data::BoxGeometry;
use jostle_core::{SimBox, State};

/// Basis of the range of coordinates along open axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenRange {
    /// The atoms: four times as long as what they occupy and the reach on either side.
    OfAtoms,
    /// The box: see [`range_of_box`].
    OfBox,
}

/// Origin and length of a range about the center of a box along an open axis: a power of two, twice the length that the
/// box has there or more, and so long that these coordinates are inside (`is_inside` in `motion.cuh`). It hardly ever
/// depends on where atoms are, so that positions are rounded in a resumed run as they are in one that goes through.
fn range_of_box(origin: f64, length: f64, coordinates: impl Iterator<Item = f64>, reach: f64) -> (f64, f64) {
    /// Longest range for the length of a box alone, over the reach: coordinates are resolved to 1e-7 of this.
    const MOST: f64 = 512.0;
    const INSIDE: f64 = 0.375;
    let center = origin + 0.5 * length;
    let farthest = coordinates.map(|x| (x - center).abs()).fold(0.0, f64::max);
    let usual = 2.0 * (length + 2.0 * reach);
    let usual = if reach > 0.0 { usual.min(MOST * reach) } else { usual };
    let edge = 2f64.powi(usual.max(farthest / INSIDE).log2().floor() as i32 + 1);
    (center - 0.5 * edge, edge)
}

impl BoxGeometry {
    /// Geometry of a box. Along an open axis it is so long that nothing wraps. Columns and bins are set by the caller.
    pub fn new(simbox: &SimBox, state: &State, reach: f64, range: OpenRange) -> Self {
        let (mut origin, mut edge, mut width) = (simbox.origin(), simbox.lengths(), simbox.widths());
        for k in 0..3 {
            if !simbox.periodic()[k] {
                let along = || state.position.iter().map(|x| x[k]);
                (origin[k], edge[k]) = match range {
                    OpenRange::OfBox => range_of_box(origin[k], edge[k], along(), reach),
                    OpenRange::OfAtoms => {
                        let low = along().fold(f64::INFINITY, f64::min);
                        let high = along().fold(f64::NEG_INFINITY, f64::max);
                        let edge = 4.0 * (high - low + 2.0 * reach);
                        (0.5 * (low + high - edge), edge)
                    }
                };
                width[k] = edge[k];
            }
        }
        let tilt = simbox.tilts();
        let steps = [edge[0], edge[1], edge[2], tilt[0], tilt[1], tilt[2]].map(|l| l / 4_294_967_296.0);
        let high = steps.map(|l| l as f32);
        BoxGeometry {
            origin,
            edge,
            tilt,
            inverse: edge.map(|l| 1.0 / l),
            width,
            periodic: simbox.periodic().map(i32::from),
            triclinic: i32::from(!simbox.is_orthorhombic()),
            columns: [1; 2],
            bins: 1,
            unused: 0,
            high,
            low: std::array::from_fn(|k| (steps[k] - f64::from(high[k])) as f32),
        }
    }
}
