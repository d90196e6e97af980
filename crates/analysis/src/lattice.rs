//! Edges of a periodic box as they move with its atoms, where files replace them by others of the same lattice.
//!
//! Programs that shear a box bring its tilts back to half an edge (LAMMPS' `fix deform` and `fix npt`, GROMACS): b becomes
//! b - n a, and c becomes c - m b - k a. Images stay where they are, but coordinates along the edges do not. Tilts that a
//! frame has brought nearer to zero by more than half an edge, whether or not the box went on as from the frame before to
//! that one, have flipped; the edges that are followed have not.

use jostle_core::SimBox;

/// Change of a tilt, over the edge that it leads along, up to which a box may be sheared between two frames without a flip;
/// rounding of files is left to it.
const HALF: f64 = 0.5 + 1e-6;

/// Lattice of the frames so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lattice {
    /// Tilts of the followed edges over the edges that they lead along: of b along a, of c along b, of c along a.
    followed: Option<[f64; 3]>,
    /// Their changes between the last two frames.
    change: [f64; 3],
    /// Edges by which the tilts of the frames have flipped.
    flips: [f64; 3],
}

impl Lattice {
    /// The box of the next frame with the edges that are followed.
    pub fn follow(&mut self, simbox: &SimBox) -> SimBox {
        let ([lx, ly, _], [xy, xz, yz]) = (simbox.lengths(), simbox.tilts());
        let [b_a, c_b, c_a] = self.flips;
        let b_a = b_a + self.new_flips(0, xy / lx, xy / lx + b_a, false);
        let of_b = self.new_flips(1, yz / ly, yz / ly + c_b, false);
        let (xy, yz) = (xy + b_a * lx, yz + (c_b + of_b) * ly);
        let along_a = (xz + (c_b + of_b) * xy) / lx + c_a;
        let of_a = self.new_flips(2, xz / lx, along_a, of_b != 0.0);
        let now = [xy / lx, yz / ly, along_a + of_a];
        self.change = self.followed.map_or([0.0; 3], |before| std::array::from_fn(|k| now[k] - before[k]));
        (self.followed, self.flips) = (Some(now), [b_a, c_b + of_b, c_a + of_a]);
        let tilts = [xy, xz + (c_b + of_b) * xy + (c_a + of_a) * lx, yz];
        SimBox::new(simbox.origin(), simbox.lengths(), tilts, simbox.periodic()).unwrap_or(*simbox)
    }

    /// Edges by which a tilt of a frame has flipped since the frame before; `stayed` is that of the followed edges if it has
    /// not. Where c has flipped by b, its tilt along a is any.
    fn new_flips(&self, k: usize, tilt: f64, stayed: f64, is_any: bool) -> f64 {
        let Some(before) = self.followed else { return 0.0 };
        let rested = before[k] - stayed;
        let went_on = rested + self.change[k];
        let flips = went_on.round();
        let is_nearer = tilt.abs() <= (tilt + flips).abs() + 1e-6;
        if is_any || (rested.abs() > HALF && went_on.abs() > HALF && is_nearer) { flips } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheared(tilts: [f64; 3]) -> SimBox {
        SimBox::new([0.0; 3], [10.0, 8.0, 6.0], tilts, [true; 3]).unwrap()
    }

    /// The box of the same lattice whose tilts are within half an edge.
    fn reduced(simbox: &SimBox) -> SimBox {
        let ([lx, ly, _], [xy, xz, yz]) = (simbox.lengths(), simbox.tilts());
        let n = (yz / ly).round();
        let (yz, xz) = (yz - n * ly, xz - n * xy);
        sheared([xy - (xy / lx).round() * lx, xz - (xz / lx).round() * lx, yz])
    }

    /// Edges of a box that is sheared in all three ways, at a rate or to and fro, go on where those of files flip; a box
    /// that files leave as it is, however fast it is sheared, has its own.
    #[test]
    fn edges_go_on_where_tilts_flip() {
        for rate in [0.02, 0.13, 0.4] {
            let (mut of_flips, mut of_whole) = (Lattice::default(), Lattice::default());
            for k in 0..60 {
                let t = f64::from(k);
                let simbox = sheared([10.0 * rate * t, 4.0 * (0.4 * rate * t).sin(), -5.0 * rate * t]);
                for (lattice, written) in [(&mut of_flips, reduced(&simbox)), (&mut of_whole, simbox)] {
                    let followed = lattice.follow(&written).tilts();
                    let near = followed.iter().zip(simbox.tilts()).all(|(a, b)| (a - b).abs() < 1e-9);
                    assert!(near, "{rate} {k}: {followed:?} {:?}", simbox.tilts());
                }
            }
        }
        for rates in [[0.6, 0.6, 0.0], [-3.0, 0.0, 0.4], [0.5, 0.5, 0.5]] {
            let (mut lattice, mut tilt) = (Lattice::default(), 0.0);
            for rate in rates {
                tilt += 10.0 * rate;
                assert_eq!(lattice.follow(&sheared([tilt, 0.0, 0.0])).tilts()[0], tilt, "{rates:?}");
            }
        }
    }
}
