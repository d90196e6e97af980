//! Pair lists find exactly the pairs that a brute-force search finds: in random boxes, sheared or
//! not, periodic or open, for any density, cut-off, skin, number of species and threads, also after
//! atoms have moved.
//!
//! Pairs are counted with a Gaussian so wide that every pair inside the cut-off has energy one.

use crate::domains::on_ranks;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{
    Algorithm, Backend, Evaluate, Precision, Result, Settings, SimBox, Species, System, Vec3, Vector,
};
use jostle_cpu::{Level, open_at};
use jostle_fixtures::pairs::count_pairs;
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};
use proptest::prelude::*;

/// Parameters of a random search.
#[derive(Debug, Clone)]
struct Case {
    lengths: [f64; 3],
    /// Tilts as parts of the edges.
    tilts: [f64; 3],
    periodic: [bool; 3],
    atoms: usize,
    /// Number of ten atoms that are in a small corner.
    crowd: usize,
    /// Cut-offs of species 0-0, 0-1 and 1-1 as parts of the longest possible.
    cutoffs: Vec3,
    skin: f64,
    threads: usize,
    precision: Precision,
    seed: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let boxes = (
        prop::array::uniform3(2.0..14.0),
        prop::array::uniform3(-0.5..0.5),
        prop::array::uniform3(prop::bool::weighted(0.8)),
        any::<bool>(),
    );
    let atoms = (1usize..300, 0usize..6, prop::array::uniform3(0.05..1.0), 0.02..1.5);
    let ways = (1usize..4, prop::sample::select(vec![Precision::Double, Precision::Mixed]), any::<u64>());
    (boxes, atoms, ways).prop_map(|(boxes, atoms, ways)| {
        let (lengths, tilts, periodic, sheared) = boxes;
        let ((atoms, crowd, cutoffs, skin), (threads, precision, seed)) = (atoms, ways);
        let both = [(0, 1), (0, 2), (1, 2)].map(|(a, b): (usize, usize)| periodic[a] && periodic[b]);
        let tilts = std::array::from_fn(|k| if sheared && both[k] { tilts[k] } else { 0.0 });
        Case {
            lengths,
            tilts,
            periodic,
            atoms,
            crowd,
            cutoffs: Vector(cutoffs),
            skin,
            threads,
            precision,
            seed,
        }
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
            let place = |x: f64| if crowded { 0.15 * x } else { 1.4 * x - 0.2 };
            let site = [0; 3].map(|_| place(random.uniform()));
            system.state.push(random.below(2) as u16, system.simbox.to_cartesian(Vector(site)));
        }
        for v in &mut system.state.velocity {
            *v = random.normal3();
        }
        system
    }

    /// One counting term for each pair of species, with its cut-off.
    fn terms(&self) -> [(usize, usize, PairTerm); 3] {
        let open = 0.5 * self.lengths.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = self.simbox().largest_cutoff().min(open.max(1.0));
        [(0, 0, 0), (0, 1, 1), (1, 1, 2)].map(|(a, b, k)| {
            let mut term = PairTerm::new(PairKind::GaussianCore, Truncation::Plain, 2);
            let cutoff = self.cutoffs[k] * longest;
            term.set(a, b, PairEntry { parameters: vec![1.0, 1e9], cutoff });
            (a, b, term)
        })
    }

    fn settings(&self) -> Settings {
        Settings {
            threads: Some(self.threads),
            precision: self.precision,
            algorithm: Algorithm::Clusters,
            skin: Some(self.skin),
            ..Settings::default()
        }
    }

    fn check(&self) {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            let forces: Vec<PairTerm> = self.terms().map(|(_, _, term)| term).into();
            let mut cpu = open_at(self.system(), forces, self.settings(), level).unwrap();
            self.watch(0, &mut *cpu, &level.to_string()).unwrap();
        }
    }

    fn check_on_ranks(&self, n_ranks: usize) {
        let forces: Vec<PairTerm> = self.terms().map(|(_, _, term)| term).into();
        let on = (&self.system(), &forces.into(), self.settings());
        on_ranks(n_ranks, on, |rank, cpu| self.watch(rank, cpu, &format!("{n_ranks} ranks"))).unwrap();
    }

    /// Counts the pairs while atoms move; rank 0 alone has all atoms.
    fn watch(&self, rank: usize, cpu: &mut dyn Backend, what: &str) -> Result<()> {
        for step in 0..8 {
            cpu.update_neighbors()?;
            cpu.compute_forces(Evaluate::ForcesAndEnergies)?;
            let found = cpu.energies().terms.clone();
            let state = cpu.state()?;
            for ((a, b, term), found) in self.terms().iter().zip(found).filter(|_| rank == 0) {
                let cutoff = term.largest_cutoff();
                // In single precision pairs at the very edge may fall on either side.
                let edge = if self.precision == Precision::Mixed { 1e-5 } else { 1e-13 };
                let count = |cutoff| count_pairs(&self.simbox(), state, (*a, *b), cutoff) as f64;
                let (least, most) = (count(cutoff * (1.0 - edge)), count(cutoff * (1.0 + edge)));
                assert!(
                    (least..=most).contains(&found),
                    "{what}, step {step}, species {a}-{b}, cut-off {cutoff}: \
                     {found} pairs are not {least} to {most}"
                );
            }
            // Displacements with which some lists are kept and some are not.
            cpu.drift(0.08 * self.skin)?;
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lists_find_every_pair_once(case in cases()) {
        case.check();
    }

    #[test]
    fn domains_find_every_pair_once(case in cases(), n_ranks in 2usize..13) {
        case.check_on_ranks(n_ranks);
    }
}
