//! Every pair algorithm finds exactly the pairs of a brute-force search: in random boxes, sheared or not,
//! periodic or open, at any density, also after atoms have moved.
//!
//! Pairs are counted with a Gaussian so wide that every pair inside the cut-off has energy one. The
//! cut-offs are always the same, so that kernels are compiled once.

use super::PRECISIONS;
use super::device::device;
use super::gpus::on_gpu;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{
    Algorithm, Backend, DeviceReport, Evaluate, Precision, Settings, SimBox, Species, System, Vector,
};
use jostle_cuda::Cuda;
use jostle_fixtures::pairs::count_pairs;
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};
use proptest::prelude::*;

/// Cut-offs of species 0-0, 0-1 and 1-1.
const CUTOFFS: [(usize, usize, f64); 3] = [(0, 0, 1.0), (0, 1, 0.8), (1, 1, 0.45)];

/// Box, atoms and algorithm of a case.
#[derive(Debug, Clone)]
struct Case {
    lengths: [f64; 3],
    /// Tilts, as parts of the edges.
    tilts: [f64; 3],
    periodic: [bool; 3],
    atoms: usize,
    /// Number of atoms out of ten that are in a small corner.
    crowd: usize,
    skin: f64,
    algorithm: Algorithm,
    precision: Precision,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let boxes = (
        prop::array::uniform3(2.3..9.0),
        prop::array::uniform3(-0.4..0.4),
        prop::array::uniform3(prop::bool::weighted(0.8)),
        any::<bool>(),
    );
    let algorithms = vec![Algorithm::Auto, Algorithm::List, Algorithm::Cells, Algorithm::AllPairs];
    let ways = (prop::sample::select(algorithms), prop::sample::select(PRECISIONS.to_vec()));
    let atoms = (1usize..1500, 0usize..4, 0.02..0.8, any::<u64>());
    (boxes, atoms, ways).prop_map(|(boxes, (atoms, crowd, skin, seed), (algorithm, precision))| {
        let (lengths, tilts, periodic, sheared) = boxes;
        let both = [(0, 1), (0, 2), (1, 2)].map(|(a, b): (usize, usize)| periodic[a] && periodic[b]);
        let tilts = std::array::from_fn(|k| if sheared && both[k] { tilts[k] } else { 0.0 });
        // Number of atoms that the smallest boxes hold without extreme density.
        let atoms = atoms.min((8.0 * lengths.iter().product::<f64>()) as usize);
        Case { lengths, tilts, periodic, atoms, crowd, skin, algorithm, precision, seed }
    })
}

impl Case {
    fn simbox(&self) -> SimBox {
        let [lx, ly, _] = self.lengths;
        let [xy, xz, yz] = self.tilts;
        SimBox::new([0.3, -2.0, 5.0], self.lengths, [xy * lx, xz * lx, yz * ly], self.periodic).unwrap()
    }

    /// Atoms inside the box and a little outside, some of them crowded into a corner.
    fn system(&self) -> System {
        let species = ["A", "B"].map(|name| Species { name: name.into(), mass: 1.0, charge: 0.0 });
        let mut system = System::new(self.simbox(), species.to_vec());
        let mut random = Stream::new(self.seed, Purpose::Placement, 0, 0);
        for _ in 0..self.atoms {
            let crowded = random.below(10) < self.crowd;
            let place = |x: f64| if crowded { 0.3 * x } else { 1.4 * x - 0.2 };
            let site = [0; 3].map(|_| place(random.uniform()));
            system.state.push(random.below(2) as u16, system.simbox.to_cartesian(Vector(site)));
        }
        for v in &mut system.state.velocity {
            *v = random.normal3();
        }
        system
    }

    fn settings(&self) -> Settings {
        let Case { algorithm, precision, skin, .. } = *self;
        Settings { algorithm, precision, skin: Some(skin), ..Settings::default() }
    }

    fn check(&self) {
        if self.simbox().largest_cutoff() < 1.0 {
            return;
        }
        self.check_pairs(&mut *on_gpu(self.system(), terms(), self.settings()), 5);
    }

    fn check_pairs(&self, cuda: &mut dyn Backend, steps: usize) {
        let Case { precision, skin, .. } = *self;
        for step in 0..steps {
            cuda.update_neighbors().unwrap();
            cuda.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            let found = cuda.energies().terms.clone();
            let state = cuda.state().unwrap();
            for ((a, b, cutoff), found) in CUTOFFS.into_iter().zip(found) {
                // Pairs at the very cut-off may be on either side of it in single precision.
                let edge = if precision == Precision::Mixed { 1e-5 } else { 1e-13 };
                let count = |cutoff| count_pairs(&self.simbox(), state, (a, b), cutoff) as f64;
                let (least, most) = (count(cutoff * (1.0 - edge)), count(cutoff * (1.0 + edge)));
                assert!(
                    (least..=most).contains(&found),
                    "step {step}, species {a}-{b}: {found} pairs are not {least} to {most}"
                );
            }
            // Displacements so large that some lists are kept and some are not.
            cuda.drift(0.1 * skin).unwrap();
        }
    }
}

fn terms() -> Vec<PairTerm> {
    let term = |(a, b, cutoff)| {
        let mut term = PairTerm::new(PairKind::GaussianCore, Truncation::Plain, 2);
        term.set(a, b, PairEntry { parameters: vec![1.0, 1e9], cutoff });
        term
    };
    CUTOFFS.map(term).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_pair_is_found_once(case in cases()) {
        case.check();
    }
}

/// Blocks of atoms that extend over half a sheared box, found at random: the image by which an atom around
/// their middle is nearest in fractions of the box is not the nearest along x.
#[test]
fn images_in_sheared_boxes_are_told_apart() {
    let lengths = [4.5718499493551965, 4.489144681355987, 7.5462335067033885];
    let tilts = [-0.26614904061182326, 0.0, 0.0];
    for precision in PRECISIONS {
        Case {
            lengths,
            tilts,
            periodic: [true, true, false],
            atoms: 796,
            crowd: 0,
            skin: 0.02,
            algorithm: Algorithm::Tiles,
            precision,
            seed: 8975146578347981879,
        }
        .check();
    }
}

/// Tiles whose atoms of a class need more than a byte to be numbered: medium ones in mixed precision, large ones in double.
#[test]
fn tiles_of_many_atoms_hold_every_pair() {
    for precision in PRECISIONS {
        let case = Case {
            lengths: [2.7, 2.6, 2.65],
            tilts: [0.1, 0.0, -0.05],
            periodic: [true; 3],
            atoms: 4000,
            crowd: 0,
            skin: 0.03,
            algorithm: Algorithm::Tiles,
            precision,
            seed: 7,
        };
        let mut cuda = Cuda::new(device(), case.system(), terms(), case.settings()).unwrap();
        case.check_pairs(&mut cuda, 2);
        cuda.start_profile().unwrap();
        let lists = cuda.end_profile().unwrap().lists;
        assert!((2049..4096).contains(&lists[0].most), "{lists:?}");
    }
}
