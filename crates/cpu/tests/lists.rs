//! Neighbour lists against a search over all pairs, in random boxes.

use jostle_core::{SimBox, Species, State, System, Vec3};
use jostle_cpu::Level;
use jostle_cpu::cells::Clusters;
use jostle_cpu::neighbors::{Build, PairList};
use jostle_cpu::simd::Scalar;
use jostle_cpu::threads::Team;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Pairs of ids nearer than a distance, each with how often it was found.
type Pairs = BTreeMap<(u32, u32), usize>;

/// All pairs nearer than `cutoff`, by looking at every pair and every image.
fn brute_force(system: &System, cutoff: f64) -> Pairs {
    let State { id, position, .. } = &system.state;
    let mut pairs = Pairs::new();
    for i in 0..id.len() {
        for j in 0..i {
            let d = [0, 1, 2].map(|k| position[i][k] - position[j][k]);
            let d = system.simbox.nearest_image(d);
            if norm2(d) < cutoff * cutoff {
                *pairs.entry((id[i].min(id[j]), id[i].max(id[j]))).or_default() += 1;
            }
        }
    }
    pairs
}

/// The same from the lists of several tasks.
fn listed<S: Scalar>(system: &mut System, cutoff: f64, skin: f64, level: Level, n_tasks: usize) -> Pairs {
    let team = Team::new(2);
    let width = level.width::<S>();
    let mut clusters = Clusters::<S>::new(width);
    clusters.build(&team, &system.simbox, &mut system.state, 1e3 * cutoff).unwrap();
    let State { id, position, .. } = &system.state;
    let mut pairs = Pairs::new();
    let n = clusters.count();
    for task in 0..n_tasks {
        let range = task * n / n_tasks..(task + 1) * n / n_tasks;
        let mut list = PairList { clusters: range, ..PairList::default() };
        level.run(Build {
            clusters: &clusters,
            simbox: &system.simbox,
            reach: cutoff + skin,
            list: &mut list,
        });
        let mut start = 0;
        for (b, block) in list.blocks.iter().enumerate() {
            let cluster = block.cluster as usize;
            // Atoms of the tile with where they stand in it; None for empty places.
            let mut tile: Vec<Option<(usize, Vec3)>> = Vec::new();
            let mut put = |from: usize, offset: Vec3| {
                for lane in 0..width {
                    let atoms = clusters.atoms(from);
                    tile.push((lane < atoms.len()).then(|| {
                        let atom = atoms.start + lane;
                        // Where its image is, from the exact positions.
                        let moved = [0, 1, 2].map(|k| {
                            position[atom][k] - clusters.origin[from][k]
                                + clusters.origin[cluster][k]
                                + offset[k]
                        });
                        (atom, moved)
                    }));
                }
            };
            put(cluster, [0.0; 3]);
            for entry in list.block_entries(b) {
                put(entry.cluster as usize, entry.offset.map(S::to_f64));
            }
            for (row, atom) in clusters.atoms(cluster).enumerate() {
                let end = list.row_ends[block.first_row as usize + row] as usize;
                for &begin in &list.starts[start..end] {
                    for place in usize::from(begin)..usize::from(begin) + width {
                        let Some(Some((other, moved))) = tile.get(place) else { continue };
                        let d = [0, 1, 2].map(|k| position[atom][k] - moved[k]);
                        // In single precision offsets are rounded: judge by the exact distance.
                        let exact = system
                            .simbox
                            .nearest_image([0, 1, 2].map(|k| position[atom][k] - position[*other][k]));
                        if norm2(d) < (1.001 * cutoff).powi(2) && norm2(exact) < cutoff * cutoff {
                            let (a, b) = (id[atom].min(id[*other]), id[atom].max(id[*other]));
                            *pairs.entry((a, b)).or_default() += 1;
                        }
                    }
                }
                start = end;
            }
        }
    }
    pairs
}

fn norm2(d: Vec3) -> f64 {
    d.iter().map(|x| x * x).sum()
}

/// A random box, maybe triclinic or open, with random atoms in it.
fn systems() -> impl Strategy<Value = (System, f64, f64)> {
    let lengths = prop::array::uniform3(4.0..15.0f64);
    let tilts = prop::array::uniform3(-0.5..0.5f64);
    let periodic = prop::array::uniform3(prop::bool::weighted(0.8));
    let kind = (lengths, tilts, periodic, any::<bool>());
    let filling = (1..700usize, 0.05..1.0f64, 0.0..1.0f64, any::<u64>(), 0.0..1.0f64);
    (kind, filling).prop_map(|((lengths, tilts, periodic, tilted), (n, part, skin, seed, gather))| {
        let tilt = |a: usize, b: usize, t: f64| {
            if tilted && periodic[a] && periodic[b] { t * lengths[a] } else { 0.0 }
        };
        let tilts = [tilt(0, 1, tilts[0]), tilt(0, 2, tilts[1]), tilt(1, 2, tilts[2])];
        let simbox = SimBox::new([-1.0, 2.0, 0.5], lengths, tilts, periodic).unwrap();
        let species = vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
        let mut system = System::new(simbox, species);
        let mut stream =
            jostle_core::random::Stream::new(seed, jostle_core::random::Purpose::Placement, 0, 0);
        for _ in 0..n {
            // Some systems are crowded in a corner, some reach over the edge of the box.
            let s = [0; 3].map(|_| (1.2 * stream.uniform() - 0.1) * (1.0 - 0.8 * gather));
            system.state.push(0, simbox.to_cartesian(s));
        }
        let most = if simbox.largest_cutoff().is_finite() { simbox.largest_cutoff() } else { 5.0 };
        (system, part * most, skin)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn lists_find_every_pair_once((system, cutoff, skin) in systems(), n_tasks in 1..5usize) {
        let expected = brute_force(&system, cutoff);
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            prop_assert_eq!(&listed::<f32>(&mut system.clone(), cutoff, skin, level, n_tasks), &expected);
            prop_assert_eq!(&listed::<f64>(&mut system.clone(), cutoff, skin, level, n_tasks), &expected);
        }
    }
}
