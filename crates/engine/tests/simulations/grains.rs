//! Grains: collisions and sliding against closed forms, conservation laws, and the cooling of a granular gas.

use jostle_core::{Precision, Settings, SimBox, Species, System, UnitSystem, Vec3, Vector};
use jostle_engine::model::{Distribution, StageInput};
use jostle_engine::{Simulation, assign_velocities};
use jostle_potentials::Grains;
use jostle_potentials::external::{Field, Side, Surface, Wall, WallMotion};
use jostle_potentials::grains::Rolling;
use std::f64::consts::PI;

const RADIUS: f64 = 0.5;

fn grains(stiffness: f64, normal_damping: f64, tangential_damping: f64, friction: f64) -> Grains {
    let (tangential_stiffness, rolling) = (0.0, Rolling::default());
    Grains {
        stiffness,
        normal_damping,
        tangential_damping,
        friction,
        tangential_stiffness,
        rolling,
        radius: vec![RADIUS],
    }
}

fn spheres(simbox: SimBox, atoms: &[(Vec3, Vec3)]) -> System {
    let mut system = System::new(simbox, vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }]);
    for (k, (position, velocity)) in atoms.iter().enumerate() {
        system.state.push(0, *position);
        system.state.velocity[k] = *velocity;
    }
    system
}

fn exactly() -> Settings {
    Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() }
}

fn open_box() -> SimBox {
    SimBox::new([0.0; 3], [20.0; 3], [0.0; 3], [false; 3]).unwrap()
}

/// The coefficient of restitution of linear springs does not depend on the speed: exp(-damping t / 2), with
/// the duration t of the contact (Silbert 2001).
#[test]
fn collisions_have_the_coefficient_of_restitution() {
    let grains = grains(1e4, 30.0, 0.0, 0.0);
    let duration = PI / (2.0 * grains.stiffness - 0.25 * grains.normal_damping.powi(2)).sqrt();
    let expected = (-0.5 * grains.normal_damping * duration).exp();
    for speed in [0.1, 1.0] {
        let left = |parts: f64| {
            let dt = duration / parts;
            let start = 0.5 * (1.0 + 1e-9);
            let pair = [
                (Vector([10.0 - start, 10.0, 10.0]), Vector([speed, 0.0, 0.0])),
                (Vector([10.0 + start, 10.0, 10.0]), Vector([-speed, 0.0, 0.0])),
            ];
            let stage = StageInput::dynamics("collide", (1.5 * parts) as u64, dt);
            let builder =
                Simulation::builder(UnitSystem::Lj, spheres(open_box(), &pair)).grains(grains.clone());
            let mut simulation = builder.stage(stage).settings(exactly()).build().unwrap();
            simulation.run().unwrap();
            let v = simulation.velocities().unwrap();
            (v[1][0] - v[0][0]) / (2.0 * speed)
        };
        // The end of the contact falls between two steps, which reduces the order of the error.
        let errors = [50.0, 500.0].map(|parts| (left(parts) / expected - 1.0).abs());
        assert!(errors[0] < 5e-3 && errors[1] < 5e-4, "{speed}: {errors:?}");
    }
}

/// Two grains of LAMMPS' script `tests/external/make_grains_reference.py`, with a law of contact.
fn colliding(sliding: [f64; 3], rolling: Rolling) -> Simulation {
    let species = [("a", 1.0), ("b", 2.0)];
    let species = species.map(|(name, mass)| Species { name: name.into(), mass, charge: 0.0 });
    let simbox = SimBox::new([-5.0; 3], [10.0; 3], [0.0; 3], [false; 3]).unwrap();
    let mut system = System::new(simbox, species.to_vec());
    system.state.push(0, [-0.4, 0.3, 0.1]);
    system.state.push(1, [0.72, 0.0, 0.0]);
    system.state.velocity = vec![Vector([1.0, 0.4, -0.2]), Vector([-0.5, -0.2, 0.1])];
    system.state.angular_velocity = vec![Vector([0.4, -0.7, 1.1]), Vector([-0.2, 0.9, 0.3])];
    let [tangential_stiffness, tangential_damping, friction] = sliding;
    let grains = Grains {
        stiffness: 1e8,
        normal_damping: 2e3,
        tangential_damping,
        friction,
        tangential_stiffness,
        rolling,
        radius: vec![0.5, 0.65],
    };
    let builder = Simulation::builder(UnitSystem::Lj, system).grains(grains);
    let stage = StageInput::dynamics("collide", 100_000, 2e-7);
    builder.stage(stage).settings(exactly()).build().unwrap()
}

/// Grains that stick to each other while they collide, that slide, and that do not roll freely, are those of LAMMPS:
/// gran/hooke/history, and granular with rolling sds. They are hard: LAMMPS' arms are the radii, which overlaps shorten.
#[test]
fn contacts_that_remember_are_those_of_lammps() {
    let spring = 2e8 / 7.0;
    let free = Rolling::default();
    let held = Rolling { stiffness: 4e7, damping: 500.0, friction: 0.2 };
    let table: [(_, _, [[f64; 3]; 4]); 3] = [
        (
            [spring, 1e3, 10.0],
            free,
            [
                [-0.615544, 0.286645, 0.066468],
                [0.307772, -0.143322, -0.033234],
                [-0.002693, -1.299134, -1.596327],
                [-0.354882, 0.669564, -0.737049],
            ],
        ),
        (
            [spring, 1e3, 0.15],
            free,
            [
                [-0.537966, 0.591145, -0.012779],
                [0.268983, -0.295573, 0.00639],
                [0.231049, -0.951367, -0.031248],
                [-0.264981, 0.803321, -0.135095],
            ],
        ),
        (
            [spring, 1e3, 0.3],
            held,
            [
                [-0.586955, 0.386187, 0.077397],
                [0.293477, -0.193093, -0.038698],
                [0.204902, -0.647043, -1.292402],
                [-0.397685, 0.432768, -0.475805],
            ],
        ),
    ];
    for (sliding, rolling, expected) in table {
        let mut simulation = colliding(sliding, rolling);
        simulation.run().unwrap();
        let found = [simulation.velocities().unwrap(), simulation.angular_velocities().unwrap()].concat();
        for (found, expected) in found.iter().zip(expected) {
            for (a, b) in found.iter().zip(expected) {
                assert!((a - b).abs() < 1e-3, "{sliding:?} {rolling:?}: {found:?} {expected:?}");
            }
        }
    }
}

/// A ball on a slope stays where it is while friction of sliding and of rolling hold it, its springs as long as statics
/// says; without enough of the second it rolls down with 5/7 of the force that is left.
#[test]
fn a_ball_rests_on_a_slope_until_it_rolls() {
    let (gravity, slope) = (2.0, 0.2_f64);
    let (along, across) = (gravity * slope.sin(), gravity * slope.cos());
    let simbox = SimBox::new([0.0; 3], [20.0; 3], [0.0; 3], [true, true, false]).unwrap();
    let stiffness = 1e5;
    let ball = spheres(simbox, &[(Vector([10.0, 10.0, 1.0 + RADIUS - across / stiffness]), Vec3::ZERO)]);
    for (hold, rests) in [(0.6, true), (0.12, false)] {
        let mut grains = grains(stiffness, 50.0, 50.0, 0.5);
        grains.tangential_stiffness = 3e4;
        grains.rolling = Rolling { stiffness: 1e4, damping: 50.0, friction: hold };
        let mut floor = Wall::new(2, 1.0, Side::Above, grains.springs_of_wall());
        floor.surface = Surface::Grains;
        let time = 4.0;
        let mut simulation = Simulation::builder(UnitSystem::Lj, ball.clone())
            .grains(grains)
            .wall(floor)
            .field(Field::new(vec![Vector([along, 0.0, -across])]))
            .stage(StageInput::dynamics("rest", (time / 2e-4) as u64, 2e-4))
            .settings(exactly())
            .build()
            .unwrap();
        simulation.run().unwrap();
        let (x, v) =
            (simulation.unwrapped_positions().unwrap()[0][0] - 10.0, simulation.velocities().unwrap()[0][0]);
        if rests {
            // The point of contact gives way by F / k; rolling, by the torque of F about the centre.
            let expected = along / 3e4 + along / 1e4;
            assert!((x / expected - 1.0).abs() < 2e-3 && v.abs() < 1e-10, "{x} {expected} {v}");
        } else {
            let expected = 5.0 / 7.0 * (along - hold * across) * time;
            assert!((v / expected - 1.0).abs() < 1e-2, "{v} {expected}");
        }
    }
}

/// A ball that rests on a floor which begins to rise comes up with it, at its velocity: damping is that of velocities
/// relative to the floor.
#[test]
fn a_ball_rises_with_the_floor() {
    let (gravity, stiffness) = (2.0, 1e4);
    let grains = grains(stiffness, 50.0, 50.0, 0.5);
    let simbox = SimBox::new([0.0; 3], [20.0; 3], [0.0; 3], [true, true, false]).unwrap();
    let height = RADIUS - gravity / stiffness;
    let ball = spheres(simbox, &[(Vector([10.0, 10.0, 1.0 + height]), Vec3::ZERO)]);
    let motion = WallMotion { velocity: 0.4, from: 0.5, to: 3.5, ..WallMotion::REST };
    let mut floor = Wall::new(2, 1.0, Side::Above, grains.springs_of_wall()).moving(motion);
    floor.surface = Surface::Grains;
    let go = |steps| {
        let mut simulation = Simulation::builder(UnitSystem::Lj, ball.clone())
            .grains(grains.clone())
            .wall(floor.clone())
            .field(Field::new(vec![Vector([0.0, 0.0, -gravity])]))
            .stage(StageInput::dynamics("rise", steps, 1e-3))
            .settings(exactly())
            .build()
            .unwrap();
        simulation.run().unwrap();
        (simulation.unwrapped_positions().unwrap()[0][2], simulation.velocities().unwrap()[0][2])
    };
    let rising = go(3000);
    assert!((rising.0 - (1.0 + height + 0.4 * 2.5)).abs() < 1e-6, "{rising:?}");
    assert!((rising.1 - 0.4).abs() < 1e-6, "{rising:?}");
    let stopped = go(6000);
    assert!((stopped.0 - (1.0 + height + 0.4 * 3.0)).abs() < 1e-6 && stopped.1.abs() < 1e-6, "{stopped:?}");
}

/// A ball that slides on a floor slows down until it rolls, with 5/7 of its speed if it is not pressed into
/// the floor: angular momentum about the point of contact does not change.
#[test]
fn a_ball_that_slides_ends_up_rolling() {
    let (stiffness, gravity, friction) = (1e4, 2.0, 0.3);
    let grains = grains(stiffness, 20.0, 200.0, friction);
    let arm = RADIUS - gravity / stiffness;
    let simbox = SimBox::new([0.0; 3], [20.0; 3], [0.0; 3], [true, true, false]).unwrap();
    let ball = spheres(simbox, &[(Vector([10.0, 10.0, 1.0 + arm]), Vector([3.0, 4.0, 0.0]))]);
    let mut floor = Wall::new(2, 1.0, Side::Above, grains.springs_of_wall());
    floor.surface = Surface::Grains;
    // The duration of sliding is 2/7 of the speed over the deceleration, 2.4 here.
    let time = 2.0 / 7.0 * 5.0 / (friction * gravity);
    let mut speeds = Vec::new();
    for part in [0.5, 1.2] {
        let steps = (part * time / 1e-3) as u64;
        let mut simulation = Simulation::builder(UnitSystem::Lj, ball.clone())
            .grains(grains.clone())
            .wall(floor.clone())
            .field(Field::new(vec![Vector([0.0, 0.0, -gravity])]))
            .stage(StageInput::dynamics("roll", steps, 1e-3))
            .settings(exactly())
            .build()
            .unwrap();
        simulation.run().unwrap();
        let (v, w) = (simulation.velocities().unwrap()[0], simulation.angular_velocities().unwrap()[0]);
        speeds.push((v, w, steps as f64 * 1e-3));
    }
    // During sliding Coulomb's friction decelerates the ball.
    let (v, _, time) = speeds[0];
    let expected = 5.0 - friction * gravity * time;
    assert!((v[0].hypot(v[1]) / expected - 1.0).abs() < 1e-6, "{v:?} {expected}");
    let (v, w, _) = speeds[1];
    let turning = arm * arm / (0.4 * RADIUS * RADIUS);
    let part = turning / (1.0 + turning);
    assert!((part - 5.0 / 7.0).abs() < 1e-3);
    assert!((v[0] / (3.0 * part) - 1.0).abs() < 1e-6 && (v[1] / (4.0 * part) - 1.0).abs() < 1e-6, "{v:?}");
    assert!((arm * w[1] - v[0]).abs() < 1e-6 && (arm * w[0] + v[1]).abs() < 1e-6, "{v:?} {w:?}");
}

/// Momentum and total angular momentum, with the rotation of grains, are conserved while energy is lost.
#[test]
fn angular_momentum_passes_into_rotation() {
    let mut atoms = Vec::new();
    for k in 0..27 {
        let at = [k % 3, k / 3 % 3, k / 9].map(|n| 8.0 + 1.05 * f64::from(n) + 0.03 * f64::from((k * 7) % 5));
        let [x, y, z] = at.map(|x| 9.2 - x);
        atoms.push((Vector(at), Vector([x - 0.8 * y, y + x, z + 0.3])));
    }
    let grains = grains(2000.0, 4.0, 8.0, 0.5);
    let momenta = |r: &[Vec3], v: &[Vec3], w: &[Vec3]| {
        let mut sums = [0.0; 6];
        for ((r, v), w) in r.iter().zip(v).zip(w) {
            for k in 0..3 {
                let (a, b) = ((k + 1) % 3, (k + 2) % 3);
                sums[k] += v[k];
                sums[3 + k] += r[a] * v[b] - r[b] * v[a] + 0.4 * RADIUS * RADIUS * w[k];
            }
        }
        sums
    };
    let mut simulation = Simulation::builder(UnitSystem::Lj, spheres(open_box(), &atoms))
        .grains(grains)
        .stage(StageInput::dynamics("first", 1, 1e-3))
        .settings(exactly())
        .build()
        .unwrap();
    let mut seen = Vec::new();
    for _ in 0..2 {
        simulation.run().unwrap();
        simulation.add_stage(StageInput::dynamics("collide", 1000, 1e-3));
        let (r, v) = (simulation.unwrapped_positions().unwrap(), simulation.velocities().unwrap());
        let w = simulation.angular_velocities().unwrap();
        let rotation: f64 = w.iter().flatten().map(|w| 0.5 * 0.4 * RADIUS * RADIUS * w * w).sum();
        let energy: f64 = v.iter().flatten().map(|v| 0.5 * v * v).sum::<f64>() + rotation;
        seen.push((momenta(&r, &v, &w), energy, rotation));
    }
    let (before, after) = (&seen[0], &seen[1]);
    for (a, b) in before.0.iter().zip(after.0) {
        assert!((a - b).abs() < 1e-10, "{before:?} {after:?}");
    }
    assert!(after.1 < 0.98 * before.1 && after.2 > 1e-2 * after.1, "{before:?} {after:?}");
}

/// A dilute gas of smooth grains cools as Haff's law says: dT/dt = -(1 - e^2) collisions T / 3, with
/// Enskog's rate of collisions 4 n d^2 g sqrt(pi T / m) and Carnahan and Starling's g.
#[test]
fn a_gas_cools_by_haffs_law() {
    let (n, density) = (1000, 0.1);
    let grains = grains(2.5e4, 10.0, 0.0, 0.0);
    let duration = PI / (2.0 * grains.stiffness - 0.25 * grains.normal_damping.powi(2)).sqrt();
    let restitution = (-0.5 * grains.normal_damping * duration).exp();
    let edge = (f64::from(n) / density).cbrt();
    let mut system = spheres(SimBox::orthorhombic([edge; 3]).unwrap(), &[]);
    let spacing = edge / 10.0;
    for k in 0..n {
        system.state.push(0, [k % 10, k / 10 % 10, k / 100].map(|x| spacing * (f64::from(x) + 0.5)));
    }
    assign_velocities(&mut system, 1.0, Distribution::Maxwell, 7);
    // Elastic collisions first randomise the positions.
    let hard = Grains { normal_damping: 0.0, ..grains.clone() };
    let dt = duration / 20.0;
    let settings = Settings { threads: Some(1), ..Settings::default() };
    let mut mixing = Simulation::builder(UnitSystem::Lj, system.clone())
        .settings(settings)
        .grains(hard)
        .stage(StageInput::dynamics("mix", (6.0 / dt) as u64, dt))
        .build()
        .unwrap();
    mixing.run().unwrap();
    let (r, v) = (mixing.positions().unwrap(), mixing.velocities().unwrap());
    (system.state.position, system.state.velocity) = (r, v);
    let temperature = |v: &[Vec3]| v.iter().flatten().map(|v| v * v).sum::<f64>() / (3.0 * f64::from(n));
    let start = temperature(&system.state.velocity);
    let time = 10.0;
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .settings(settings)
        .grains(grains)
        .stage(StageInput::dynamics("cool", (time / dt) as u64, dt))
        .build()
        .unwrap();
    simulation.run().unwrap();
    let end = temperature(&simulation.velocities().unwrap());
    let packing = PI / 6.0 * density;
    let g = (1.0 - 0.5 * packing) / (1.0 - packing).powi(3);
    let rate = 4.0 * density * g * (PI * start).sqrt();
    let cooling = (1.0 - restitution.powi(2)) * rate / 6.0;
    let expected = start / (1.0 + cooling * time).powi(2);
    // The loss has a standard error of 2%, by some 4000 collisions, the loss of each of which varies by as
    // much as its mean; spheres overlap by some 0.6% of their size.
    let lost = [start - end, start - expected];
    assert!((lost[0] / lost[1] - 1.0).abs() < 0.06, "{start} to {end}, expected {expected}");
}
