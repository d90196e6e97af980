//! Grains: collisions and sliding against closed forms, conservation laws, and the cooling of a granular gas.

use jostle_core::{Precision, Settings, SimBox, Species, System, UnitSystem, Vec3, Vector};
use jostle_engine::model::{Distribution, StageInput};
use jostle_engine::{Simulation, assign_velocities};
use jostle_potentials::Grains;
use jostle_potentials::external::{Field, Side, Surface, Wall};
use std::f64::consts::PI;

const RADIUS: f64 = 0.5;

fn grains(stiffness: f64, normal_damping: f64, tangential_damping: f64, friction: f64) -> Grains {
    Grains { stiffness, normal_damping, tangential_damping, friction, radius: vec![RADIUS] }
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
