//! Values of variables against MDAnalysis 2.11.0, which has positions in single precision
//! (`tests/external/mdanalysis_variables.py`).

use jostle_core::{Bond, SimBox, Species, System, Vec3, Vector};
use jostle_sampling::definition::{Arguments, Value};
use jostle_sampling::group::{Surroundings, Weights};
use jostle_sampling::variable::find;
use jostle_sampling::{VariableDefinition, Variables};

const CHAIN: usize = 10;

/// The linear congruential generator of Knuth's MMIX.
struct Generator(u64);

impl Generator {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

/// Two chains, wrapped into the box, and a reference structure of the first one.
fn system() -> (System, Vec<Vec3>) {
    let mut generator = Generator(12);
    let edges = [9.0, 10.0, 11.0];
    let simbox = SimBox::orthorhombic(edges).unwrap();
    let species = [(1.0, 0.4), (3.0, -0.7)].map(|(mass, charge)| Species { name: "A".into(), mass, charge });
    let mut system = System::new(simbox, species.to_vec());
    for _ in 0..2 {
        let mut r = Vector(edges).map(|edge| edge * generator.uniform());
        for k in 0..CHAIN {
            r = r.map(|x| x + 1.6 * (generator.uniform() - 0.5));
            let (mut inside, mut image) = (r, [0; 3]);
            simbox.wrap(&mut inside, &mut image);
            system.state.push((k % 2) as u16, inside);
        }
    }
    let reference = (0..CHAIN).map(|_| Vector::from_fn(|_| 3.0 * generator.uniform())).collect();
    let bonds = (0..2 * CHAIN as u32 - 1).filter(|k| (k + 1) % CHAIN as u32 != 0);
    system.topology.bonds = bonds.map(|k| Bond { kind: 0, atoms: [k, k + 1] }).collect();
    (system, reference)
}

#[test]
fn values_are_those_of_mdanalysis() {
    let (system, reference) = system();
    let chains = [(0..10).collect::<Vec<u32>>(), (10..20).collect()];
    let centers = [vec![0, 1, 2], vec![12, 13], vec![4, 5], vec![17]];
    let number = |name, x| (name, Value::Number(x));
    let cases = [
        ("distance", vec![], 5.585269682137078),
        ("angle", vec![], 1.747707694740326),
        ("dihedral", vec![], -2.6578899692042413),
        ("gyration", vec![], 0.8531769579419547),
        ("rmsd", vec![], 1.24209304628881),
        ("dipole", vec![], 0.7439579699455329),
        ("coordination", vec![number("reach", 3.0), number("n", 6.0), number("m", 12.0)], 6.1863749158436185),
        (
            "contacts",
            vec![number("reach", 4.0), number("steepness", 2.0), number("tolerance", 1.2)],
            4.941911314232001,
        ),
    ];
    let define = |(name, values, _): &(&str, Vec<(&'static str, Value)>, f64)| {
        let kind = find(name).unwrap();
        let of_chains = ["gyration", "rmsd", "dipole", "coordination", "contacts"].contains(name);
        let groups = if of_chains { chains.to_vec() } else { centers.to_vec() };
        let arguments = Arguments {
            values: values.clone(),
            reference: (*name == "rmsd").then(|| reference.clone()),
            ..Arguments::default()
        };
        VariableDefinition {
            name: (*name).into(),
            kind,
            groups: groups[..kind.selections.count()].to_vec(),
            weights: Weights::Mass,
            arguments,
        }
    };
    let definitions: Vec<_> = cases.iter().map(define).collect();
    let variables = Variables::new(&definitions, &Surroundings::new(&system)).unwrap();
    let positions: Vec<Vec3> =
        variables.atoms().iter().map(|id| system.state.position[*id as usize]).collect();
    let evaluated = variables.evaluate(&system.simbox, &positions).unwrap();
    for ((name, _, expected), found) in cases.iter().zip(evaluated.values()) {
        assert!((found - expected).abs() < 2e-6 * expected.abs(), "{name}: {found} {expected}");
    }
}
