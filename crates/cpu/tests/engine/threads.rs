//! Independence of the number of threads, but for rounding; with `reproducible` to the last bit.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Algorithm, Evaluate, Precision, Settings, SimBox, Species, State, System};
use jostle_cpu::{Level, open_at};
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};

/// A binary liquid on a shaken lattice, moving.
fn system() -> System {
    let cells = 10;
    let spacing = 1.08;
    let simbox = SimBox::orthorhombic([f64::from(cells) * spacing; 3]).unwrap();
    let species = ["A", "B"].map(|name| Species { name: name.into(), mass: 1.0, charge: 0.0 });
    let mut system = System::new(simbox, species.to_vec());
    let mut random = Stream::new(3, Purpose::Placement, 0, 0);
    for k in 0..cells * cells * cells {
        let site = [k % cells, k / cells % cells, k / cells / cells];
        let position = site.map(|n| (f64::from(n) + 0.5 + 0.1 * (random.uniform() - 0.5)) * spacing);
        system.state.push(random.below(2) as u16, position);
    }
    for v in &mut system.state.velocity {
        *v = random.normal3();
    }
    system
}

fn term() -> PairTerm {
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
    for (a, b, sigma) in [(0, 0, 1.0), (0, 1, 0.95), (1, 1, 0.9)] {
        term.set(a, b, PairEntry { parameters: vec![1.0, sigma], cutoff: 2.5 * sigma });
    }
    term
}

/// The atoms in the order of ids, the potential energy and the kinetic energy after some steps.
fn run(steps: u64, settings: Settings, level: Level) -> (State, [f64; 2]) {
    let mut cpu = open_at(system(), vec![term()], settings, level).unwrap();
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(Evaluate::Forces).unwrap();
    for step in 1..=steps {
        cpu.kick_drift(0.004).unwrap();
        cpu.update_neighbors().unwrap();
        let last = step == steps;
        cpu.compute_forces(if last { Evaluate::ForcesAndEnergies } else { Evaluate::Forces }).unwrap();
        cpu.kick(0.002).unwrap();
    }
    let energies = [cpu.energies().potential(), cpu.kinetic().unwrap().energy()];
    let mut state = cpu.state().unwrap().clone();
    state.sort_by_id();
    (state, energies)
}

#[test]
fn reproducible_runs_are_the_same_with_any_number_of_threads() {
    for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
        for precision in [Precision::Double, Precision::Mixed] {
            let with = |threads| {
                let algorithm = Algorithm::Clusters;
                let skin = None;
                let settings = Settings {
                    threads: Some(threads),
                    precision,
                    reproducible: true,
                    algorithm,
                    skin,
                    force_matrix: None,
                };
                run(100, settings, level)
            };
            let one = with(1);
            for threads in [2, 3, 5] {
                assert!(one == with(threads), "{level} {precision:?}: {threads} threads are not one");
            }
        }
    }
}

/// Chaos makes rounding grow, so that only a few steps can be compared.
#[test]
fn threads_change_nothing_but_rounding() {
    let with = |threads| {
        let settings = Settings {
            threads: Some(threads),
            precision: Precision::Double,
            skin: Some(0.3),
            ..Settings::default()
        };
        run(20, settings, Level::best())
    };
    let (one, energies) = with(1);
    for threads in [2, 3, 5] {
        let (other, other_energies) = with(threads);
        let apart =
            |k: usize| (0..3).map(|i| (one.position[k][i] - other.position[k][i]).abs()).fold(0.0, f64::max);
        let worst = (0..one.len()).map(apart).fold(0.0, f64::max);
        assert!(worst < 1e-12, "{threads} threads: positions differ by {worst:e}");
        for (a, b) in energies.iter().zip(other_energies) {
            assert!((a - b).abs() < 1e-11 * a.abs(), "{threads} threads: energy {b} is not {a}");
        }
    }
}
