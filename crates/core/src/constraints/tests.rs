use super::*;
use crate::Vec3;
use crate::random::{Purpose, Stream};

const TRIANGLE: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

/// A molecule of water at a random place, its positions after a drift of this size, and its inverse
/// masses.
pub(super) fn drifted(seed: u32, step: f64) -> ([Vec3; 3], [Vec3; 3], [f64; 3]) {
    let mut random = Stream::new(9, Purpose::Placement, seed, 0);
    let (x, other) = (random.direction(), random.direction());
    let inverse = 1.0 / x.cross(other).norm();
    let z = x.cross(other) * inverse;
    let y = z.cross(x);
    let place = random.normal3();
    let (height, half) = (0.1 * 0.577381f64, 0.1 * 0.816471f64);
    let before = [[0.0, height], [-half, 0.0], [half, 0.0]].map(|[v, u]| place + u * y + v * x);
    let now = before.map(|r| r.along(step, random.normal3()));
    (before, now, [1.0 / 15.9994, 1.0 / 1.008, 1.0 / 1.008])
}

pub(super) fn water(before: [Vec3; 3], inverse_mass: [f64; 3]) -> (Water<f64>, [f64; 3]) {
    let mut lengths = TRIANGLE.map(|[a, b]| {
        let d = before[a] - before[b];
        d.dot(d).sqrt()
    });
    lengths[1] = lengths[0];
    (Water::new(&TRIANGLE, &lengths, &inverse_mass.map(f64::recip)).unwrap(), lengths)
}

/// Iteration and closed form give the same positions.
#[test]
fn settle_and_shake_agree() {
    for seed in 0..200 {
        let (before, now, inverse_mass) = drifted(seed, 0.004);
        let (water, lengths) = water(before, inverse_mass);
        let settled = settle(&water, before, now);
        let coupling = ImpulseCoupling::new(&TRIANGLE, &before, &inverse_mass);
        let mut shaken = now;
        let rounds = (0..MOST_ROUNDS)
            .position(|_| shake(&TRIANGLE, &coupling, &lengths, &inverse_mass, &mut shaken) < 1e-26);
        assert!(rounds.is_some_and(|n| n < 30), "{rounds:?}");
        for (pair, length) in TRIANGLE.iter().zip(lengths) {
            let d = settled[pair[0]] - settled[pair[1]];
            assert!((d.dot(d).sqrt() / length - 1.0).abs() < 1e-13);
        }
        for (a, b) in settled.iter().flatten().zip(shaken.iter().flatten()) {
            assert!((a - b).abs() < 1e-14, "{settled:?} {shaken:?}");
        }
        // Atoms move each other: their centre of mass and its angular momentum stay.
        let moved: [Vec3; 3] = std::array::from_fn(|k| settled[k] - now[k]);
        for k in 0..3 {
            let linear: f64 = moved.iter().zip(inverse_mass).map(|(d, m)| d[k] / m).sum();
            let angular: f64 = (0..3).map(|a| before[a].cross(moved[a])[k] / inverse_mass[a]).sum();
            assert!(linear.abs() < 1e-14 && angular.abs() < 1e-14, "{linear:e} {angular:e}");
        }
    }
}

#[test]
fn atoms_that_have_flown_apart_do_not_settle() {
    let (before, now, inverse_mass) = drifted(1, 0.3);
    let (water, lengths) = water(before, inverse_mass);
    let settled = settle(&water, before, now);
    assert!(settled.iter().flatten().any(|x| x.is_nan()), "{settled:?}");
    let coupling = ImpulseCoupling::new(&TRIANGLE, &before, &inverse_mass);
    let mut shaken = now;
    let error = shake(&TRIANGLE, &coupling, &lengths, &inverse_mass, &mut shaken);
    assert!(error > 0.1, "{error}");
}

#[test]
fn velocities_along_constraints_are_gone_and_momentum_stays() {
    // A centre with four neighbours, two of which are held at a distance, too.
    let pairs = [[0, 1], [0, 2], [0, 3], [0, 4], [2, 3]];
    let mut random = Stream::new(3, Purpose::Placement, 0, 0);
    let r: Vec<Vec3> = (0..5).map(|_| random.normal3()).collect();
    let before: Vec<Vec3> = (0..5).map(|_| random.normal3()).collect();
    let inverse_mass = [1.0 / 12.0, 1.0, 0.5, 1.0, 0.25];
    let mut v = before.clone();
    let impulse = rattle(&pairs, &r, &inverse_mass, &mut v);
    for [a, b] in pairs {
        assert!((r[a] - r[b]).dot(v[a] - v[b]).abs() < 1e-13);
    }
    let trace: f64 = (0..5).map(|k| r[k].dot(v[k] - before[k]) / inverse_mass[k]).sum();
    assert!((impulse[0] + impulse[1] + impulse[2] - trace).abs() < 1e-12, "{impulse:?} {trace}");
    for k in 0..3 {
        let change: f64 = (0..5).map(|a| (v[a][k] - before[a][k]) / inverse_mass[a]).sum();
        assert!(change.abs() < 1e-12);
    }
}

#[test]
fn atoms_that_hang_together_are_found() {
    use crate::{SimBox, Species, Topology};
    let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
    let simbox = SimBox::orthorhombic([9.0; 3]).unwrap();
    let mut system = System::new(simbox, vec![species("O", 16.0), species("H", 1.0), species("C", 12.0)]);
    [1, 0, 1, 0, 1, 2, 1, 1].iter().for_each(|s| system.state.push(*s, [0.0; 3]));
    let hold = |a: u32, b: u32, length: f64| Constraint { atoms: [a, b], length };
    system.topology = Topology::default();
    system.topology.constraints = vec![
        hold(0, 2, 1.6),
        hold(7, 5, 1.1),
        hold(1, 0, 1.0),
        hold(2, 1, 1.0),
        hold(4, 5, 1.1),
        hold(5, 6, 1.1),
    ];
    let Groups { shapes, groups, .. } = Groups::new(&system).unwrap();
    assert_eq!((&groups[0].atoms[..], &groups[1].atoms[..]), (&[1, 0, 2][..], &[5, 4, 6, 7][..]));
    assert_eq!(shapes[groups[0].shape].pairs, [[0, 1], [0, 2], [1, 2]]);
    assert_eq!(shapes[groups[1].shape].pairs, [[0, 1], [0, 2], [0, 3]]);
    let water = groups[0].water.unwrap();
    assert!((water.to_apex + water.to_base - 0.6).abs() < 1e-15 && water.half_base == 0.8);
    assert!((water.weight - 1.0 / 18.0).abs() < 1e-15 && groups[1].water.is_none());
    system.topology.constraints[0].length = 2.1;
    assert!(Groups::new(&system).unwrap().groups[0].water.is_none());
}

/// Points in a row, whose group reaches 0.6 or more from the atom that it begins with: more than half of the smaller box.
#[test]
fn groups_across_half_a_box_are_refused() {
    use crate::{SimBox, SiteRule, Species};
    let system = |length: f64, constraints: u32, site: Option<VirtualSite>| {
        let atom = Species { name: "C".into(), mass: 12.0, charge: 0.0 };
        let mut system = System::new(SimBox::orthorhombic([length; 3]).unwrap(), vec![atom]);
        (0..5).for_each(|k| system.state.push(0, [0.1 + 0.3 * f64::from(k), 0.2, 0.3]));
        let constraint = |k: u32| Constraint { atoms: [k, k + 1], length: 0.3 };
        system.topology.constraints = (0..constraints).map(constraint).collect();
        system.topology.virtual_sites.extend(site);
        system
    };
    let site = VirtualSite { site: 4, atoms: [2, 1, 3], rule: SiteRule::Average([0.5, 0.25, 0.25]) };
    for (constraints, site) in [(3, None), (1, Some(site))] {
        let error = Groups::new(&system(1.0, constraints, site)).err().map(|e| e.to_string());
        let error = error.unwrap_or_default();
        assert!(error.contains("reach across half the box"), "{constraints}: {error}");
        Groups::new(&system(2.0, constraints, site)).unwrap();
    }
}
