//! scratch
use jostle_core::*;
use jostle_cpu::*;
use jostle_potentials::*;
use std::time::Instant;
fn fcc(cells: usize, rho: f64, temp: f64) -> System {
    let a = (4.0 / rho).cbrt();
    let l = a * cells as f64;
    let mut s = System::new(
        SimBox::orthorhombic([l; 3]).unwrap(),
        vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }],
    );
    for x in 0..cells {
        for y in 0..cells {
            for z in 0..cells {
                for b in [[0.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.5]] {
                    s.state.push(0, [(x as f64 + b[0]) * a, (y as f64 + b[1]) * a, (z as f64 + b[2]) * a]);
                }
            }
        }
    }
    for i in 0..s.state.len() {
        let v = random::Stream::new(1, random::Purpose::Velocity, i as u32, 0).normal3();
        s.state.velocity[i] = v.map(|x| x * temp.sqrt());
    }
    s
}
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let case = args.get(1).map_or("melt", |s| s.as_str());
    let threads: usize = args.get(2).map_or(1, |s| s.parse().unwrap());
    let steps: usize = args.get(3).map_or(500, |s| s.parse().unwrap());
    let level = match args.get(4).map(|s| s.as_str()) {
        Some("avx2") => Level::Avx2,
        Some("portable") => Level::Portable,
        _ => Level::best(),
    };
    let precision =
        if args.get(5).is_some_and(|s| s == "double") { Precision::Double } else { Precision::Mixed };
    let skin = args.get(6).map(|s| s.parse::<f64>().unwrap());
    let (cells, rho, t, kind, rc) = match case {
        "melt" => (20, 0.8442, 1.44, PairKind::ALL[0], 2.5),
        "small" => (6, 0.8442, 1.44, PairKind::ALL[0], 2.5),
        "108k" => (30, 0.8442, 1.44, PairKind::ALL[0], 2.5),
        "1M" => (63, 0.8442, 1.44, PairKind::ALL[0], 2.5),
        "soft" => (30, 0.8, 1.0, PairKind::ALL[0], 2f64.powf(1.0 / 6.0)),
        _ => (25, 0.38, 1.2, PairKind::ALL[0], 3.0),
    };
    let system = fcc(cells, rho, t);
    let n = system.state.len();
    let term = PairTerm::uniform(
        kind,
        if case == "soft" { Truncation::Shifted } else { Truncation::Plain },
        &[1.0, 1.0],
        rc,
    );
    let t0 = Instant::now();
    let mut e = open_at(
        system,
        vec![term],
        Settings { threads: Some(threads), precision, skin, ..Default::default() },
        level,
    )
    .unwrap();
    e.update_neighbors().unwrap();
    e.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    println!(
        "{} n {n} start {:.3}s u/N {:.9} ke {:.6}",
        e.describe(),
        t0.elapsed().as_secs_f64(),
        e.energies().potential() / n as f64,
        e.kinetic().energy() / n as f64
    );
    let e0 = e.energies().potential() + e.kinetic().energy();
    let step = |e: &mut Box<dyn Backend>, want| {
        e.kick_drift(0.005);
        e.update_neighbors().unwrap();
        e.compute_forces(want).unwrap();
        e.kick(0.0025);
    };
    for _ in 0..steps / 2 {
        step(&mut e, Evaluate::Forces);
    }
    let (t1, b, tm) = (Instant::now(), e.neighbor_facts().builds, e.timings());
    for _ in 0..steps {
        step(&mut e, Evaluate::Forces);
    }
    let dt = t1.elapsed().as_secs_f64();
    let per = |x: f64| x * 1e9 / steps as f64 / n as f64;
    let tn = e.timings();
    step(&mut e, Evaluate::ForcesAndEnergies);
    let e1 = e.energies().potential() + e.kinetic().energy();
    let f = e.neighbor_facts();
    println!(
        "{:.1} ns/atom-step: pair {:.1} list {:.1} integrate {:.1} | builds every {:.1} skin {:.3} | bytes/atom {:.0} | drift/N {:.2e} T {:.3}",
        per(dt),
        per(tn.pair - tm.pair),
        per(tn.neighbors - tm.neighbors),
        per(tn.integrate - tm.integrate),
        steps as f64 / (f.builds - b) as f64,
        f.skin,
        f.bytes as f64 / n as f64,
        (e1 - e0) / n as f64,
        e.kinetic().energy() / n as f64 / 1.5
    );
}
