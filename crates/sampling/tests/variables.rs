//! Every kind of variable: exact derivatives, borders, images, storage order, strain.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Bond, SimBox, Species, State, System, Vec3, Vector};
use jostle_sampling::definition::{Absent, Arguments, Value, Values};
use jostle_sampling::frame::TermEnergies;
use jostle_sampling::group::{Surroundings, Weights};
use jostle_sampling::variable::{ALL, VariableKind};
use jostle_sampling::{VariableDefinition, VariableFormula, Variables};
use std::collections::HashMap;
use std::f64::consts::PI;

const CHAIN: usize = 8;

/// Three chains with unlike masses and charges in a triclinic box, broken by its borders.
fn chains(seed: u64) -> System {
    let simbox = SimBox::new([-1.0, 0.5, 2.0], [9.0, 10.0, 11.0], [1.5, -1.0, 0.7], [true; 3]).unwrap();
    let species = [(1.0, 0.4), (3.0, -0.7)].map(|(mass, charge)| Species { name: "A".into(), mass, charge });
    let mut system = System::new(simbox, species.to_vec());
    let mut stream = Stream::new(seed, Purpose::Placement, 0, 0);
    for _ in 0..3 {
        let mut r = simbox.to_cartesian(Vector([0; 3].map(|_| stream.uniform())));
        for k in 0..CHAIN {
            let step = stream.direction();
            r += 0.9 * step;
            system.state.push((k % 2) as u16, r);
        }
    }
    let bonds = (0..3 * CHAIN as u32 - 1).filter(|k| (k + 1) % CHAIN as u32 != 0);
    system.topology.bonds = bonds.map(|k| Bond { kind: 0, atoms: [k, k + 1] }).collect();
    system
}

/// Atoms in the box, in another order of storage, without images.
fn wrapped(system: &System) -> System {
    let mut other = system.clone();
    let State { position, image, .. } = &mut other.state;
    for (r, image) in position.iter_mut().zip(image) {
        system.simbox.wrap(r, image);
        *image = [0; 3];
    }
    let order: Vec<u32> = (0..other.state.len() as u32).rev().collect();
    other.state.permute(&order);
    other
}

/// A definition of each kind, with each choice of a parameter that has several; formulas of the two first.
fn definitions() -> Vec<VariableDefinition> {
    let define = |name: &str, kind: &'static VariableKind, chosen: Option<(&'static str, &str)>| {
        let selections = [vec![2, 3, 4], vec![10, 11, 12, 13], vec![5, 6], vec![17]];
        let groups = match kind.selections.count() {
            1 => vec![(8..16).collect()],
            count => selections[..count].to_vec(),
        };
        let mut arguments = Arguments::default();
        for parameter in kind.parameters {
            let value = match (parameter.values, parameter.default) {
                (Values::Words(words), Absent::Refused) => Value::Word(words()[1].0.into()),
                (Values::Quantity(_), Absent::Value(text)) | (Values::Count, Absent::Value(text)) => {
                    Value::Number(text.parse().unwrap())
                }
                (Values::Quantity(_), _) => Value::Number(if parameter.name == "reach" { 9.0 } else { 0.8 }),
                _ => continue,
            };
            arguments.values.push((parameter.name, value));
        }
        arguments.values.extend(chosen.map(|(key, word)| (key, Value::Word(word.into()))));
        if kind.name == "rmsd" {
            let mut stream = Stream::new(5, Purpose::Placement, 1, 0);
            arguments.reference = Some((0..8).map(|_| Vector::from_fn(|_| 3.0 * stream.uniform())).collect());
        }
        if kind.name == "formula" {
            let known = HashMap::from([("a".to_string(), 0.3)]);
            let text = "a distance^2 + sin(distance_1) / sqrt(distance) - max(distance, distance_1)^1.5";
            arguments.formula =
                Some(VariableFormula::new(text, &known, &["distance", "distance_1"]).unwrap());
        }
        VariableDefinition { name: name.into(), kind, groups, weights: Weights::Mass, arguments }
    };
    let mut all = Vec::new();
    for kind in ALL.iter().filter(|kind| !kind.takes_energies()) {
        all.push(define(kind.name, kind, None));
        let choices = kind.parameters.iter().filter(|p| matches!(p.default, Absent::None(_)));
        for (parameter, words) in choices.filter_map(|p| match p.values {
            Values::Words(words) => Some((p.name, words())),
            _ => None,
        }) {
            for (word, _) in words {
                all.push(define(&format!("{}_{}", kind.name, all.len()), kind, Some((parameter, word))));
            }
        }
    }
    // The formula is one of variables before it.
    all.iter_mut().for_each(|definition| assert!(definition.check().is_ok()));
    all
}

fn unwrapped(system: &System, ids: &[u32]) -> Vec<Vec3> {
    let index_by_id = system.state.index_by_id();
    let place = |id: &u32| {
        let index = index_by_id.of(*id);
        system.state.position[index] + system.simbox.shift(system.state.image[index])
    };
    ids.iter().map(place).collect()
}

fn values(variables: &Variables, simbox: &SimBox, positions: &[Vec3]) -> Vec<f64> {
    variables.evaluate(simbox, positions).unwrap().values().to_vec()
}

/// Difference of seventh order in the step: its error is below that of rounding.
fn derivative(f: impl Fn(f64) -> f64, h: f64) -> f64 {
    let odd = |k: f64| f(k * h) - f(-k * h);
    (45.0 * odd(1.0) - 9.0 * odd(2.0) + odd(3.0)) / (60.0 * h)
}

#[test]
fn forces_are_exact_derivatives() {
    let definitions = definitions();
    assert!(definitions.len() > ALL.len() + 6);
    for seed in 0..3 {
        let system = chains(seed);
        let variables = Variables::new(&definitions, &Surroundings::new(&system)).unwrap();
        let mut positions = unwrapped(&system, variables.atoms());
        // Away from the start, which contacts and deviations have as their reference.
        let mut stream = Stream::new(seed, Purpose::Placement, 9, 0);
        positions.iter_mut().flatten().for_each(|x| *x += 0.2 * stream.uniform());
        for (k, definition) in definitions.iter().enumerate() {
            let mut slopes = vec![0.0; variables.len()];
            slopes[k] = 1.0;
            let evaluated = variables.evaluate(&system.simbox, &positions).unwrap();
            let forces = evaluated.forces(&slopes);
            let scale = forces.forces.iter().flatten().fold(1.0f64, |most, f| most.max(f.abs()));
            for (atom, axis) in (0..positions.len()).flat_map(|a| [0, 1, 2].map(|axis| (a, axis))) {
                let at = |x: f64| {
                    let mut moved = positions.clone();
                    moved[atom][axis] += x;
                    values(&variables, &system.simbox, &moved)[k]
                };
                let expected = -derivative(at, 3e-3);
                let found = forces.forces[atom][axis];
                assert!((found - expected).abs() < 1e-8 * scale, "{} {found} {expected}", definition.name);
            }
        }
    }
}

/// The virial is the response to a strain of box and atoms together.
#[test]
fn virials_are_exact_derivatives() {
    let definitions = definitions();
    let system = chains(4);
    let variables = Variables::new(&definitions, &Surroundings::new(&system)).unwrap();
    let mut positions = unwrapped(&system, variables.atoms());
    let mut stream = Stream::new(4, Purpose::Placement, 9, 0);
    positions.iter_mut().flatten().for_each(|x| *x += 0.2 * stream.uniform());
    let (simbox, origin) = (system.simbox, system.simbox.origin());
    let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    for (k, definition) in definitions.iter().enumerate() {
        let mut slopes = vec![0.0; variables.len()];
        slopes[k] = 1.0;
        let virial = variables.evaluate(&simbox, &positions).unwrap().forces(&slopes).virial;
        for (component, (a, b)) in pairs.iter().enumerate() {
            let at = |strain: f64| {
                // Position along a grows with that along b, as the edges of a box may.
                let mut columns: [Vec3; 3] = std::array::from_fn(|j| Vector::from_fn(|i| f64::from(i == j)));
                columns[*b][*a] += strain;
                let map = |r: &Vec3| {
                    let d = *r - origin;
                    Vector::from_fn(|i| origin[i] + (0..3).map(|j| columns[j][i] * d[j]).sum::<f64>())
                };
                let moved: Vec<Vec3> = positions.iter().map(map).collect();
                values(&variables, &simbox.mapped(columns).unwrap(), &moved)[k]
            };
            let expected = -derivative(at, 1e-3);
            let found = virial[component];
            // Variables that follow an axis have a torque, which the symmetric virial leaves out.
            let compared = a == b || !depends_on_axes(definition);
            assert!(
                !compared || (found - expected).abs() < 1e-8 * found.abs().max(1.0),
                "{} {component}: {found} {expected}",
                definition.name
            );
        }
    }
}

fn depends_on_axes(definition: &VariableDefinition) -> bool {
    definition.arguments.values.iter().any(|(_, value)| matches!(value, Value::Word(_)))
        || definition.kind.name == "formula"
}

/// Values and forces are those of whole molecules whatever the order of atoms and the images in a file.
#[test]
fn borders_images_and_order_change_nothing() {
    let definitions = definitions();
    for seed in 5..9 {
        let whole = chains(seed);
        let broken = wrapped(&whole);
        let [a, b] = [&whole, &broken].map(|system| {
            let variables = Variables::new(&definitions, &Surroundings::new(system)).unwrap();
            let positions = unwrapped(system, variables.atoms());
            let evaluated = variables.evaluate(&system.simbox, &positions).unwrap();
            let all: Vec<_> = (0..variables.len())
                .map(|k| {
                    let mut slopes = vec![0.0; variables.len()];
                    slopes[k] = 1.0;
                    evaluated.forces(&slopes).forces
                })
                .collect();
            (evaluated.values().to_vec(), all)
        });
        for (k, definition) in definitions.iter().enumerate() {
            // A position in space is that of an image; only modulo the box it is the same.
            if definition.kind.name != "position" {
                let (x, y) = (a.0[k], b.0[k]);
                assert!((x - y).abs() < 1e-9 * x.abs().max(1.0), "{}: {x} {y}", definition.name);
            }
            for (f, g) in a.1[k].iter().flatten().zip(b.1[k].iter().flatten()) {
                assert!((f - g).abs() < 1e-8 * f.abs().max(1.0), "{}: {f} {g}", definition.name);
            }
        }
    }
}

/// An atom that crosses a border later changes nothing, and a checkpoint keeps images and references.
#[test]
fn the_start_is_kept() {
    let definitions = definitions();
    let system = chains(11);
    let variables = Variables::new(&definitions, &Surroundings::new(&system)).unwrap();
    let later = wrapped(&chains(12));
    let mut resumed = Variables::new(&definitions, &Surroundings::new(&later)).unwrap();
    resumed.restore(variables.start()).unwrap();
    let positions = unwrapped(&system, variables.atoms());
    assert_eq!(values(&variables, &system.simbox, &positions), values(&resumed, &system.simbox, &positions));
    let fewer = Variables::new(&definitions[..2], &Surroundings::new(&system)).unwrap();
    assert!(resumed.restore(fewer.start()).is_err());
}

/// At its reference a deviation is rounding, and no force follows that; near it the force is whole, and none pulls the
/// group as a whole.
#[test]
fn deviations_that_are_rounding_have_no_force() {
    let mut definition = definitions().into_iter().find(|definition| definition.kind.name == "rmsd").unwrap();
    definition.arguments.reference = None;
    let system = chains(13);
    let variables = Variables::new(&[definition], &Surroundings::new(&system)).unwrap();
    let start = unwrapped(&system, variables.atoms());
    let at = |positions: &[Vec3]| {
        let evaluated = variables.evaluate(&system.simbox, positions).unwrap();
        (evaluated.values()[0], evaluated.forces(&[1.0]).forces)
    };
    let shifted: Vec<Vec3> = start.iter().map(|r| *r + Vector([0.1, 0.2, 0.3])).collect();
    for positions in [&start, &shifted] {
        let (rmsd, forces) = at(positions);
        assert!(rmsd < 1e-14 && forces.iter().flatten().all(|f| *f == 0.0), "{rmsd:e} {forces:?}");
    }
    let mut moved = shifted;
    moved[2][0] += 1e-8;
    let (rmsd, forces) = at(&moved);
    // With shares s of atoms the forces have sum(f^2 / s) = 1, as sum(s d^2) is the square of the deviation.
    let masses = [1.0, 3.0];
    let share = |k: usize| masses[k % 2] / (0..forces.len()).map(|k| masses[k % 2]).sum::<f64>();
    let size: f64 = forces.iter().enumerate().map(|(k, f)| f.norm_squared() / share(k)).sum();
    let sum = forces.iter().fold(Vec3::ZERO, |sum, f| sum + *f);
    assert!(rmsd > 1e-9 && (size - 1.0).abs() < 1e-6, "{rmsd:e} {size}");
    assert!(sum.norm() < 1e-14, "{sum:?}");
}

/// A structure that is moved and turned has no deviation from itself; the deviation of others is the smallest over
/// all rotations.
#[test]
fn the_rotation_is_the_best_one() {
    let mut stream = Stream::new(3, Purpose::Placement, 2, 0);
    for _ in 0..20 {
        let mut structure =
            || -> Vec<Vec3> { (0..7).map(|_| Vector::from_fn(|_| stream.normal())).collect() };
        let (a, b) = (structure(), structure());
        let weights = vec![1.0 / 7.0; 7];
        let turn = jostle_sampling::best_rotation(&a, &b, &weights);
        let square = |turn: [Vec3; 3]| -> f64 {
            let off = |(x, y): (&Vec3, &Vec3)| {
                let turned = turn.map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum::<f64>());
                (0..3).map(|k| (turned[k] - y[k]).powi(2)).sum::<f64>()
            };
            a.iter().zip(&b).map(off).sum()
        };
        let best = square(turn);
        let angle = 0.01f64;
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            for angle in [angle, -angle] {
                let mut other = turn;
                for k in 0..3 {
                    other[p][k] = angle.cos() * turn[p][k] - angle.sin() * turn[q][k];
                    other[q][k] = angle.sin() * turn[p][k] + angle.cos() * turn[q][k];
                }
                assert!(square(other) > best);
            }
        }
        let again: Vec<Vec3> =
            a.iter().map(|x| Vector(turn.map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum()))).collect();
        let same = jostle_sampling::best_rotation(&a, &again, &weights);
        for (row, other) in turn.iter().flatten().zip(same.iter().flatten()) {
            assert!((row - other).abs() < 1e-12);
        }
    }
}

/// Minus the derivatives of a rotation are forces without a sum, whose torque about its axis is minus one.
#[test]
fn a_force_along_a_rotation_is_a_torque() {
    let (system, kind) = (chains(2), jostle_sampling::variable::find("rotation").unwrap());
    for (k, axis) in ["x", "y", "z"].into_iter().enumerate() {
        let arguments =
            Arguments { values: vec![("axis", Value::Word(axis.into()))], ..Arguments::default() };
        let (name, groups) = ("turn".to_string(), vec![(0..CHAIN as u32).collect()]);
        let definition = VariableDefinition { name, kind, groups, weights: Weights::Mass, arguments };
        let variables = Variables::new(&[definition], &Surroundings::new(&system)).unwrap();
        let mut positions = unwrapped(&system, variables.atoms());
        let mut stream = Stream::new(2, Purpose::Placement, 9, 0);
        positions.iter_mut().flatten().for_each(|x| *x += 0.5 * stream.uniform());
        let forces = variables.evaluate(&system.simbox, &positions).unwrap().forces(&[1.0]).forces;
        let mut torque = 0.0;
        for (r, f) in positions.iter().zip(&forces) {
            torque += r[(k + 1) % 3] * f[(k + 2) % 3] - r[(k + 2) % 3] * f[(k + 1) % 3];
        }
        let sum = Vec3::from_fn(|axis| forces.iter().map(|f| f[axis]).sum());
        assert!(sum.iter().all(|f| f.abs() < 1e-12), "{sum:?}");
        assert!((torque + 1.0).abs() < 1e-10, "{axis}: {torque}");
        assert_eq!((variables.period(0), kind.period()), (Some(2.0 * PI), Some(2.0 * PI)));
    }
}

/// A group that turns as a whole has the angle of its turn as its rotation.
#[test]
fn a_turn_is_its_angle() {
    let (system, kind) = (chains(3), jostle_sampling::variable::find("rotation").unwrap());
    let arguments = Arguments { values: vec![("axis", Value::Word("y".into()))], ..Arguments::default() };
    let (name, groups) = ("turn".to_string(), vec![(0..CHAIN as u32).collect()]);
    let definition = VariableDefinition { name, kind, groups, weights: Weights::Mass, arguments };
    let variables = Variables::new(&[definition], &Surroundings::new(&system)).unwrap();
    let positions = unwrapped(&system, variables.atoms());
    for angle in [0.3f64, -2.9, 1.7] {
        let turn = |r: &Vec3| {
            let (z, x) = (r[2] - 4.0, r[0] + 1.0);
            Vector([angle.cos() * x + angle.sin() * z, r[1] + 3.0, angle.cos() * z - angle.sin() * x])
        };
        let turned: Vec<Vec3> = positions.iter().map(turn).collect();
        let found = values(&variables, &system.simbox, &turned)[0];
        assert!((found - angle).abs() < 1e-12, "{found} is not {angle}");
    }
}

/// The energy of all terms passes a bias on to the forces of the run, also by a formula; that of one term has no
/// known derivative, and neither is known where no forces are evaluated.
#[test]
fn energies_are_those_of_the_run() {
    let system = chains(2);
    let define = |name: &str, kind: &str, arguments: Arguments| VariableDefinition {
        name: name.into(),
        kind: jostle_sampling::variable::find(kind).unwrap(),
        groups: Vec::new(),
        weights: Weights::Mass,
        arguments,
    };
    let term = Arguments { values: vec![("term", Value::Word("walls".into()))], ..Arguments::default() };
    let formula = VariableFormula::new("all^2 + volume", &HashMap::new(), &["all", "volume"]).unwrap();
    let formula = Arguments { formula: Some(formula), ..Arguments::default() };
    let definitions = [
        define("all", "energy", Arguments::default()),
        define("volume", "volume", Arguments::default()),
        define("walls", "energy", term),
        define("both", "formula", formula),
    ];
    let variables = Variables::new(&definitions, &Surroundings::new(&system)).unwrap();
    let names = ["pairs", "walls"].map(str::to_string).to_vec();
    let mut energies = TermEnergies { names, values: vec![-5.0, 2.0] };
    let evaluated = variables.evaluate_with(&system.simbox, &[], Some(&energies)).unwrap();
    let volume = system.simbox.volume();
    assert_eq!(evaluated.values(), [-3.0, volume, 2.0, 9.0 + volume]);
    // Twice the energy is the derivative of its square.
    assert_eq!(evaluated.forces(&[0.5, 0.0, 0.0, 2.0]).potential, 0.5 - 12.0);
    assert_eq!((variables.without_gradient(3), variables.without_gradient(2)), (None, Some("walls")));
    assert!(variables.follows_from_energies(3) && !variables.follows_from_energies(1));
    energies.names.truncate(1);
    let error = variables.evaluate_with(&system.simbox, &[], Some(&energies)).err().unwrap();
    assert!(error.message().contains("there is no term \"walls\""), "{error}");
    let error = variables.evaluate(&system.simbox, &[]).err().unwrap();
    assert!(error.message().starts_with("variable 'all': energies are known during a run alone"), "{error}");
}

#[test]
fn variables_that_are_not_defined_say_so() {
    let mut system = System::new(
        SimBox::orthorhombic([20.0; 3]).unwrap(),
        vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }],
    );
    (0..4).for_each(|k| system.state.push(0, [1.0 + f64::from(k), 2.0, 3.0]));
    for (kind, words) in [("angle", "on a line"), ("dihedral", "on a line"), ("dipole", "vanishes")] {
        let kind = jostle_sampling::variable::find(kind).unwrap();
        let groups = (0..kind.selections.count() as u32).map(|k| vec![k]).collect();
        let arguments = Arguments::default();
        let definition =
            VariableDefinition { name: "v".into(), kind, groups, weights: Weights::Mass, arguments };
        let variables = Variables::new(&[definition], &Surroundings::new(&system)).unwrap();
        let positions = unwrapped(&system, variables.atoms());
        let error = variables.evaluate(&system.simbox, &positions).err().unwrap();
        assert!(error.message().starts_with("variable 'v': "), "{error}");
        assert!(error.message().contains(words), "{error}");
    }
}

/// Parts of a distance and tilts jump where another image becomes the nearest, also across a border askew to them; whole
/// distances do not, and no bias may act on a formula of what does.
#[test]
fn what_is_about_to_jump_says_so() {
    let boxes = [
        SimBox::orthorhombic([10.0; 3]).unwrap(),
        SimBox::new([0.0; 3], [10.0; 3], [2.0, 0.0, 0.0], [true; 3]).unwrap(),
        SimBox::new([0.0; 3], [10.0; 3], [0.0; 3], [false; 3]).unwrap(),
    ];
    let define = |kind: &str, key: &'static str, word: &str| {
        let values = if key.is_empty() { vec![] } else { vec![(key, Value::Word(word.into()))] };
        VariableDefinition {
            name: "v".into(),
            kind: jostle_sampling::variable::find(kind).unwrap(),
            groups: vec![vec![0], vec![1]],
            weights: Weights::Mass,
            arguments: Arguments { values, ..Arguments::default() },
        }
    };
    // Numbers of the boxes in which it is about to jump.
    let cases = [
        ("distance", "along", "x", [4.8, 0.3, 0.2], vec![]),
        ("distance", "along", "x", [4.95, 0.3, 0.2], vec![0, 1]),
        ("distance", "along", "x", [1.0, 4.95, 0.2], vec![1]),
        ("distance", "along", "z", [4.95, 0.3, 0.2], vec![]),
        ("distance", "", "", [4.95, 0.3, 0.2], vec![]),
        ("tilt", "axis", "x", [4.95, 0.3, 0.2], vec![0, 1]),
        ("tilt", "axis", "z", [4.95, 0.3, 0.2], vec![]),
    ];
    for (kind, key, word, apart, expected) in cases {
        let near = |simbox: &SimBox| {
            let species = vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }];
            let mut system = System::new(*simbox, species);
            system.state.push(0, [1.0; 3]);
            system.state.push(0, apart.map(|x| 1.0 + x));
            let variables = Variables::new(&[define(kind, key, word)], &Surroundings::new(&system)).unwrap();
            let positions = unwrapped(&system, variables.atoms());
            let evaluated = variables.evaluate(&system.simbox, &positions).unwrap();
            evaluated.check_turns(0).is_err()
        };
        let found: Vec<usize> = (0..boxes.len()).filter(|k| near(&boxes[*k])).collect();
        assert_eq!(found, expected, "{kind} {word} {apart:?}");
    }
}
