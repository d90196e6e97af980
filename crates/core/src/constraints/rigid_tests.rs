use super::*;
use crate::random::{Purpose, Stream};
use crate::{BodyForm, SimBox, Species, Vec3, Vector};

/// A system of one body of these atoms, with a mass each.
fn system(positions: &[Vec3], masses: &[f64]) -> System {
    let species = |mass: &f64| Species { name: format!("M{mass}"), mass: *mass, charge: 0.0 };
    let mut system =
        System::new(SimBox::orthorhombic([100.0; 3]).unwrap(), masses.iter().map(species).collect());
    for (k, r) in positions.iter().enumerate() {
        system.state.push(k as u16, *r);
    }
    let atoms: Vec<u32> = (0..positions.len() as u32).collect();
    let body = RigidBody::new(&system, &system.state.index_by_id(), &atoms, 0.0).unwrap();
    system.topology.rigid_bodies.push(body);
    system
}

/// Atoms of a free body, moved as devices move them.
struct FreeBody {
    body: Body,
    masses: Vec<f64>,
    r: Vec<Vec3>,
    v: Vec<Vec3>,
    rounds: usize,
}

impl FreeBody {
    fn new(system: &System) -> Self {
        let body = Groups::new(system).unwrap().bodies.remove(0);
        let masses = body.atoms.iter().map(|atom| atom.mass).collect();
        let r: Vec<Vec3> = body.ids.iter().map(|id| system.state.position[*id as usize]).collect();
        FreeBody { body, masses, v: vec![Vec3::ZERO; r.len()], r, rounds: 0 }
    }

    fn axes(&self, r: &[Vec3]) -> Axes<f64> {
        axes(self.body.form, r[1] - r[0], r.get(2).map_or(Vec3::ZERO, |third| *third - r[0]))
    }

    fn momentum(&self) -> Vec3 {
        self.masses.iter().zip(&self.v).fold(Vec3::ZERO, |p, (m, v)| p.along(*m, *v))
    }

    /// Angular momentum about the centre of mass with these axes.
    fn angular_momentum(&self, axes: &Axes<f64>) -> Vec3 {
        let parts = self.body.atoms.iter().zip(&self.v);
        parts.fold(Vec3::ZERO, |l, (atom, v)| l.along(atom.mass, in_space(axes, atom.place).cross(*v)))
    }

    /// Positions and velocities after a drift, from atoms that may move against each other.
    fn drift(&mut self, dt: f64) {
        let before = self.axes(&self.r);
        let inertia = &self.body.inertia;
        let velocity = self.momentum().map(|p| p * inertia.inverse_mass);
        let (half, mut u) = begin_turn(&before, inertia, self.angular_momentum(&before), dt);
        for round in 1.. {
            let (better, change) = improve_turn(inertia, half, u);
            u = better;
            if change <= TOLERANCE * TOLERANCE {
                self.rounds = self.rounds.max(round);
                break;
            }
            assert!(round < MOST_ROUNDS, "{change:e}");
        }
        let after = turned(&before, u);
        let (atoms, first) = (&self.body.atoms, self.r[0]);
        for k in 0..atoms.len() {
            let apart = self.r[k] - first;
            let turn = turn_of_atom([&before, &after], atoms[0].place, atoms[k].place, apart);
            let step = turn.along(dt, velocity);
            self.r[k] += step;
            self.v[k] = step.map(|x| x / dt);
        }
    }

    /// Velocities of a rigid body, of the same momentum and angular momentum.
    fn stiffen(&mut self) {
        let axes = self.axes(&self.r);
        let velocity = self.momentum().map(|p| p * self.body.inertia.inverse_mass);
        let w = angular_velocity(&axes, &self.body.inertia, self.angular_momentum(&axes));
        for (v, atom) in self.v.iter_mut().zip(&self.body.atoms) {
            *v = velocity + w.cross(in_space(&axes, atom.place));
        }
    }

    fn kinetic(&self) -> f64 {
        self.masses.iter().zip(&self.v).map(|(m, v)| 0.5 * m * v.dot(*v)).sum()
    }
}

/// An asymmetric top, which turns about an axis near its middle moment: the axis tumbles.
fn top() -> FreeBody {
    let r = [
        Vector([1.0, 0.1, 0.0]),
        Vector([-0.8, 0.2, 0.3]),
        Vector([0.1, 0.9, -0.4]),
        Vector([0.0, -0.7, 0.8]),
        Vector([0.3, 0.1, 0.1]),
    ];
    let mut top = FreeBody::new(&system(&r, &[1.0, 2.0, 1.5, 0.7, 3.0]));
    let mut random = Stream::new(5, Purpose::Placement, 0, 0);
    top.v = (0..5).map(|_| random.normal3()).collect();
    top.stiffen();
    top
}

/// Axes of a free body at time t by Euler's equations, dL/dt = 0 and de/dt = w x e: classical Runge-Kutta steps.
fn euler(top: &FreeBody, t: f64, steps: usize) -> Axes<f64> {
    let mut e = top.axes(&top.r);
    let l = top.angular_momentum(&e);
    let slope = |e: &Axes<f64>| e.map(|axis| angular_velocity(e, &top.body.inertia, l).cross(axis));
    let moved = |e: &Axes<f64>, h: f64, d: &Axes<f64>| [0, 1, 2].map(|k| e[k].along(h, d[k]));
    let h = t / steps as f64;
    for _ in 0..steps {
        let a = slope(&e);
        let b = slope(&moved(&e, 0.5 * h, &a));
        let c = slope(&moved(&e, 0.5 * h, &b));
        let d = slope(&moved(&e, h, &c));
        for (factor, part) in [(1.0, a), (2.0, b), (2.0, c), (1.0, d)] {
            e = moved(&e, h * factor / 6.0, &part);
        }
    }
    e
}

#[test]
fn a_free_top_turns_as_euler_says() {
    let exact = euler(&top(), 4.0, 20_000);
    let error = |steps: usize| {
        let mut top = top();
        let (energy, l) = (top.kinetic(), top.angular_momentum(&top.axes(&top.r)));
        for _ in 0..steps {
            top.drift(4.0 / steps as f64);
            top.stiffen();
            let now = top.angular_momentum(&top.axes(&top.r));
            assert!((0..3).all(|k| (now[k] - l[k]).abs() < 1e-11), "{now:?} {l:?}");
        }
        // The energy oscillates by the order of the square of the step and does not drift.
        assert!((top.kinetic() / energy - 1.0).abs() < 20.0 / (steps * steps) as f64);
        assert!(top.rounds < 8, "{}", top.rounds);
        let now = top.axes(&top.r);
        (0..3).map(|k| now[k] - exact[k]).map(|d| d.dot(d)).sum::<f64>().sqrt()
    };
    let errors = [100, 200, 400].map(error);
    assert!(errors[2] < 2e-3, "{errors:?}");
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((order - 2.0).abs() < 0.1, "{errors:?} {order}");
    }
}

#[test]
fn a_top_comes_back_and_keeps_its_shape() {
    let mut top = top();
    let (r, v) = (top.r.clone(), top.v.clone());
    for _ in 0..500 {
        top.drift(0.05);
        top.stiffen();
    }
    let d = |a: &[Vec3]| (a[1] - a[2]).dot(a[1] - a[2]).sqrt();
    assert!((d(&top.r) - d(&r)).abs() < 1e-12);
    top.v.iter_mut().for_each(|v| *v = v.map(|x| -x));
    for _ in 0..500 {
        top.drift(0.05);
        top.stiffen();
    }
    for k in 0..r.len() {
        assert!((0..3).all(|axis| (top.r[k][axis] - r[k][axis]).abs() < 1e-9), "{:?} {:?}", top.r[k], r[k]);
        assert!((0..3).all(|axis| (top.v[k][axis] + v[k][axis]).abs() < 1e-9));
    }
}

/// A body is what SHAKE makes of all of its distances, of which water has a closed form.
#[test]
fn a_triangle_moves_as_water() {
    for seed in 0..100 {
        let (before, now, inverse_mass) = super::tests::drifted(seed, 0.004);
        let masses = inverse_mass.map(f64::recip);
        let (water, _) = super::tests::water(before, inverse_mass);
        let settled = settle(&water, before, now);
        let system = system(&before, &masses);
        let order = system.topology.rigid_bodies[0].atoms.clone();
        let mut body = FreeBody::new(&system);
        body.v = order.iter().map(|id| now[*id as usize] - before[*id as usize]).collect();
        body.drift(1.0);
        for (r, id) in body.r.iter().zip(&order) {
            assert!((0..3).all(|k| (r[k] - settled[*id as usize][k]).abs() < 1e-13), "{r:?} {settled:?}");
        }
    }
}

#[test]
fn a_linear_body_has_no_spin_about_its_axis() {
    let r = [Vec3::ZERO, Vector([0.1, 0.2, -0.3]), Vector([-0.1, -0.2, 0.3])];
    let mut body = FreeBody::new(&system(&r, &[12.0, 16.0, 16.0]));
    assert_eq!(body.body.form, BodyForm::Linear);
    let mut random = Stream::new(6, Purpose::Placement, 0, 0);
    body.v = (0..3).map(|_| random.normal3()).collect();
    body.stiffen();
    let axis = body.r[1] - body.r[0];
    let l = body.angular_momentum(&body.axes(&body.r));
    assert!(l.dot(axis).abs() < 1e-14 * l.dot(l).sqrt());
    let energy = body.kinetic();
    // A free linear body turns at a constant rate, whose discrete form keeps the energy.
    (0..1000).for_each(|_| {
        body.drift(0.02);
        body.stiffen();
    });
    assert!((body.kinetic() / energy - 1.0).abs() < 1e-12);
    let middle = [0, 1, 2].map(|k| 0.5 * (body.r[1][k] + body.r[2][k]) - body.r[0][k]);
    assert!(middle.iter().all(|x| x.abs() < 1e-12), "{middle:?}");
}

#[test]
fn a_body_that_turns_too_far_is_found() {
    let top = top();
    let before = top.axes(&top.r);
    let (half, mut u) = begin_turn(&before, &top.body.inertia, top.angular_momentum(&before), 10.0);
    let held = (0..MOST_ROUNDS).any(|_| {
        let (better, change) = improve_turn(&top.body.inertia, half, u);
        u = better;
        change <= TOLERANCE * TOLERANCE
    });
    assert!(!held, "{u:?}");
}

#[test]
fn bodies_are_whole_across_edges_and_not_too_large() {
    let positions = [Vector([99.5, 1.0, 1.0]), Vector([0.5, 1.0, 1.0]), Vector([1.5, 1.0, 99.0])];
    let body = &system(&positions, &[1.0; 3]).topology.rigid_bodies[0];
    assert_eq!((body.atoms[0], body.form), (1, BodyForm::Spatial));
    assert!((body.extent() - 5.0f64.sqrt()).abs() < 1e-12, "{body:?}");
    assert_eq!(body.constrained_degrees(), 3);
    assert_eq!(RigidBody { excluded_within: 1.5, ..body.clone() }.excluded().count(), 1);
    let mut large = system(&positions, &[1.0; 3]);
    large.state.position[2] = Vector([46.0, 1.0, 1.0]);
    let error = RigidBody::new(&large, &large.state.index_by_id(), &[0, 1, 2], 0.0).unwrap_err();
    assert!(error.message().contains("reaches too far"), "{error}");
}

#[test]
fn atoms_of_a_body_are_in_nothing_else() {
    let mut system =
        system(&[Vector([1.0; 3]), Vector([2.0; 3]), Vector([2.0, 1.0, 1.0]), Vector([5.0; 3])], &[1.0; 4]);
    system.topology.rigid_bodies =
        vec![RigidBody::new(&system, &system.state.index_by_id(), &[0, 1, 2], 0.0).unwrap()];
    assert_eq!(Groups::new(&system).unwrap().bodies.len(), 1);
    system.topology.constraints.push(Constraint { atoms: [2, 3], length: 1.0 });
    assert!(Groups::new(&system).unwrap_err().message().contains("in a rigid body"));
}
