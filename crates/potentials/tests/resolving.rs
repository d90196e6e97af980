//! Mixing rules, and how a force is resolved from what an input says about pairs of species.

use jostle_core::{Result, Species};
use jostle_potentials::{Mixing, PairChoice, PairKind, PairTerm, PairTermBuilder, Truncation};
use proptest::prelude::*;

fn species(names_and_charges: &[(&str, f64)]) -> Vec<Species> {
    let species = |&(name, charge): &(&str, f64)| Species { name: name.to_string(), mass: 1.0, charge };
    names_and_charges.iter().map(species).collect()
}

fn given(parameters: &[Option<f64>]) -> PairChoice {
    PairChoice::Given { parameters: parameters.to_vec(), cutoff: None }
}

fn lj(epsilon: f64, sigma: f64) -> PairChoice {
    given(&[Some(epsilon), Some(sigma)])
}

fn rules() -> impl Strategy<Value = Mixing> {
    prop::sample::select(Mixing::ALL.to_vec())
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-13 * b.abs()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rules_are_symmetric_means(
        rule in rules(),
        energies in prop::array::uniform2(1e-3..1e3),
        sizes in prop::array::uniform2(0.1..10.0),
        factor in 0.1..10.0,
    ) {
        let swap = |[a, b]: [f64; 2]| [b, a];
        let times = |pair: [f64; 2]| pair.map(|x| x * factor);
        let (size, energy) = (rule.size(sizes), rule.energy(energies, sizes));
        prop_assert!(close(rule.size(swap(sizes)), size));
        prop_assert!(close(rule.energy(swap(energies), swap(sizes)), energy));
        // A species mixes with itself to itself.
        prop_assert!(close(rule.size([sizes[0]; 2]), sizes[0]));
        prop_assert!(close(rule.energy([energies[0]; 2], [sizes[0]; 2]), energies[0]));
        // Units do not matter.
        prop_assert!(close(rule.size(times(sizes)), size * factor));
        prop_assert!(close(rule.energy(times(energies), sizes), energy * factor));
        prop_assert!(close(rule.energy(energies, times(sizes)), energy));
        // A diameter lies between the two; an unlike well is never deeper than the deeper one.
        prop_assert!(size >= sizes[0].min(sizes[1]) * (1.0 - 1e-13));
        prop_assert!(size <= sizes[0].max(sizes[1]) * (1.0 + 1e-13));
        prop_assert!(energy <= energies[0].max(energies[1]) * (1.0 + 1e-13));
    }

    #[test]
    fn sixth_power_keeps_the_geometric_mean_of_dispersion(
        energies in prop::array::uniform2(1e-3..1e3),
        sizes in prop::array::uniform2(0.1..10.0),
    ) {
        let dispersion = |epsilon: f64, sigma: f64| epsilon * sigma.powi(6);
        let rule = Mixing::SixthPower;
        let mixed = dispersion(rule.energy(energies, sizes), rule.size(sizes));
        let like = dispersion(energies[0], sizes[0]) * dispersion(energies[1], sizes[1]);
        prop_assert!((mixed / like.sqrt() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_order_of_names_does_not_matter(
        rule in rules(),
        epsilon in prop::array::uniform2(0.1..10.0),
        sigma in prop::array::uniform2(0.1..10.0),
    ) {
        let species = species(&[("A", 0.0), ("B", 0.0), ("C", 0.0)]);
        let build = |swapped: bool| -> Result<PairTerm> {
            let pair = |a, b| if swapped { [b, a] } else { [a, b] };
            let builder = PairTermBuilder::new(PairKind::LennardJones, Truncation::Shifted, &species, 1.0)
                .cutoff(3.0)
                .mixing(rule);
            let mut said = vec![
                (["A", "A"], lj(epsilon[0], sigma[0])),
                (["B", "B"], lj(epsilon[1], sigma[1])),
                (["C", "C"], PairChoice::None),
                (pair("A", "C"), PairChoice::None),
                (pair("B", "C"), lj(1.0, 2.0)),
            ];
            if swapped {
                said.reverse();
            }
            said.into_iter().try_fold(builder, |b, (names, choice)| b.pair(names, choice))?.build()
        };
        let term = build(false).unwrap();
        prop_assert_eq!(&term, &build(true).unwrap());
        let mixed = &term.get(0, 1).unwrap().parameters;
        prop_assert_eq!(mixed, &vec![rule.energy(epsilon, sigma), rule.size(sigma)]);
        prop_assert_eq!(term.get(1, 0), term.get(0, 1));
        prop_assert!(term.get(0, 2).is_none() && term.get(2, 2).is_none());
        prop_assert_eq!(&term.get(2, 1).unwrap().parameters, &vec![1.0, 2.0]);
    }
}

#[test]
fn given_parameters_have_priority_over_mixing() {
    let species = species(&[("A", 0.0), ("B", 0.0)]);
    let own = PairChoice::Given { parameters: vec![Some(0.3), None], cutoff: Some(4.0) };
    let term = PairTermBuilder::new(PairKind::LennardJones, Truncation::Plain, &species, 1.0)
        .cutoff(2.5)
        .mixing(Mixing::LorentzBerthelot)
        .pair(["A", "A"], lj(1.0, 1.0))
        .and_then(|b| b.pair(["B", "B"], lj(4.0, 2.0)))
        .and_then(|b| b.pair(["B", "A"], own))
        .and_then(|b| b.build())
        .unwrap();
    let mixed = term.get(0, 1).unwrap();
    assert_eq!((mixed.parameters.as_slice(), mixed.cutoff), (&[0.3, 1.5][..], 4.0));
    assert_eq!(term.get(1, 1).unwrap().cutoff, 2.5);
    assert_eq!(term.largest_cutoff(), 4.0);
}

#[test]
fn soft_spheres_bring_their_cutoff_also_when_mixed() {
    let species = species(&[("A", 0.0), ("B", 0.0)]);
    let term = PairTermBuilder::new(PairKind::SoftSphere, Truncation::Plain, &species, 1.0)
        .mixing(Mixing::LorentzBerthelot)
        .pair(["A", "A"], lj(1.0, 1.0))
        .and_then(|b| b.pair(["B", "B"], lj(1.0, 2.0)))
        .and_then(|b| b.build())
        .unwrap();
    assert_eq!(term.get(0, 1).unwrap().cutoff, 2f64.powf(1.0 / 6.0) * 1.5);
}

/// Amplitudes follow from charges, with their signs, as long as no species has one of its own.
#[test]
fn yukawa_amplitudes_come_from_charges() {
    let length = || given(&[None, Some(2.0)]);
    let build = |charges: [f64; 2], own: Option<f64>| {
        PairTermBuilder::new(
            PairKind::Yukawa,
            Truncation::Plain,
            &species(&[("A", charges[0]), ("B", charges[1])]),
            10.0,
        )
        .cutoff(5.0)
        .mixing(Mixing::Geometric)
        .pair(["A", "A"], length())
        .and_then(|b| b.pair(["B", "B"], given(&[own, Some(2.0)])))
        .and_then(|b| b.build())
    };
    let amplitudes =
        |term: &PairTerm| [(0, 0), (0, 1), (1, 1)].map(|(a, b)| term.get(a, b).unwrap().parameters[0]);
    assert_eq!(amplitudes(&build([1.0, -2.0], None).unwrap()), [10.0, -20.0, 40.0]);
    // The unlike amplitude is the geometric mean where one is given.
    assert_eq!(amplitudes(&build([1.0, 0.0], Some(90.0)).unwrap()), [10.0, 30.0, 90.0]);
    let error = build([1.0, 0.0], None).unwrap_err();
    assert!(error.message().contains("pair B-B: amplitude"), "{error}");
    assert!(error.help().unwrap().contains("charge to species B"), "{error}");
}

/// Choices for species A and B, and the contents of the error.
struct Bad {
    kind: PairKind,
    truncation: Truncation,
    cutoff: Option<f64>,
    mixing: Option<Mixing>,
    tail_correction: bool,
    pairs: Vec<([&'static str; 2], PairChoice)>,
    message: &'static [&'static str],
    hint: &'static str,
}

impl Bad {
    fn build(&self) -> Result<PairTerm> {
        let species = species(&[("A", 0.0), ("B", 0.0)]);
        let mut builder = PairTermBuilder::new(self.kind, self.truncation, &species, 1.0);
        if let Some(cutoff) = self.cutoff {
            builder = builder.cutoff(cutoff);
        }
        if let Some(rule) = self.mixing {
            builder = builder.mixing(rule);
        }
        if self.tail_correction {
            builder = builder.tail_correction();
        }
        let pairs = self.pairs.iter().cloned();
        pairs.into_iter().try_fold(builder, |b, (names, choice)| b.pair(names, choice))?.build()
    }
}

fn like() -> Vec<([&'static str; 2], PairChoice)> {
    vec![(["A", "A"], lj(1.0, 1.0)), (["B", "B"], lj(0.5, 0.8))]
}

fn and(pair: [&'static str; 2], choice: PairChoice) -> Vec<([&'static str; 2], PairChoice)> {
    [like(), vec![(pair, choice)]].concat()
}

/// A good input; each bad one changes one thing.
fn good() -> Bad {
    Bad {
        kind: PairKind::LennardJones,
        truncation: Truncation::Plain,
        cutoff: Some(2.5),
        mixing: Some(Mixing::LorentzBerthelot),
        tail_correction: false,
        pairs: like(),
        message: &[],
        hint: "",
    }
}

/// Pairs that are missing, unknown or given twice.
fn missing_or_wrong_pairs() -> Vec<Bad> {
    vec![
        Bad {
            mixing: None,
            message: &["lennard-jones", "A-B", "nothing is said"],
            hint: "mixing rule",
            ..good()
        },
        Bad { pairs: like()[..1].to_vec(), message: &["B-B", "nothing is said"], hint: "\"none\"", ..good() },
        Bad { pairs: vec![], message: &["A-A"], hint: "\"none\"", ..good() },
        Bad {
            pairs: vec![(["A", "A"], lj(1.0, 1.0)), (["B", "B"], PairChoice::None)],
            message: &["A-B", "epsilon cannot be mixed", "B-B is \"none\""],
            hint: "give the parameters",
            ..good()
        },
        Bad { pairs: and(["A", "C"], lj(1.0, 1.0)), message: &["species 'C'"], hint: "A, B", ..good() },
        Bad { pairs: and(["A", "A"], lj(1.0, 1.0)), message: &["A-A", "twice"], hint: "keep one", ..good() },
    ]
}

/// Parameters that are out of range or missing.
fn wrong_values() -> Vec<Bad> {
    vec![
        Bad {
            pairs: and(["A", "B"], lj(1.0, -1.0)),
            message: &["A-B", "sigma = -1", "greater than zero"],
            ..good()
        },
        Bad { pairs: and(["A", "B"], lj(1.0, 0.0)), message: &["A-B", "sigma = 0"], ..good() },
        Bad {
            pairs: and(["A", "B"], lj(-0.1, 1.0)),
            message: &["A-B", "epsilon = -0.1", "zero or greater"],
            ..good()
        },
        Bad {
            pairs: and(["A", "B"], lj(f64::NAN, 1.0)),
            message: &["A-B", "epsilon = NaN", "finite"],
            ..good()
        },
        Bad {
            pairs: and(["A", "B"], lj(f64::INFINITY, 1.0)),
            message: &["epsilon = inf", "finite"],
            ..good()
        },
        Bad {
            pairs: and(["A", "B"], lj(1.0, 1e60)),
            message: &["A-B", "not a finite number"],
            hint: "units",
            ..good()
        },
        Bad {
            pairs: vec![(["A", "A"], given(&[Some(1.0), None])), (["B", "B"], lj(1.0, 1.0))],
            message: &["A-A", "sigma", "is missing"],
            hint: "sigma = ",
            ..good()
        },
    ]
}

/// Cut-offs, mixing rules and truncations that do not fit the potential.
fn wrong_options() -> Vec<Bad> {
    let morse = || vec![(["A", "A"], given(&[Some(1.0), Some(5.0), Some(1.1)]))];
    let yukawa = |a, b| {
        let pair = |length| given(&[Some(1.0), Some(length)]);
        vec![(["A", "A"], pair(a)), (["B", "B"], pair(b))]
    };
    vec![
        Bad { cutoff: None, message: &["A-A", "no cut-off"], hint: "cutoff = ", ..good() },
        Bad { cutoff: Some(0.0), message: &["cutoff = 0"], ..good() },
        Bad { cutoff: Some(f64::INFINITY), message: &["cutoff = inf"], ..good() },
        Bad {
            pairs: and(["A", "B"], PairChoice::Given { parameters: vec![None; 2], cutoff: Some(-1.0) }),
            message: &["A-B", "cutoff = -1"],
            ..good()
        },
        Bad {
            kind: PairKind::SoftSphere,
            message: &["cutoff = 2.5", "ends by itself"],
            hint: "leave out",
            ..good()
        },
        Bad {
            kind: PairKind::SoftSphere,
            cutoff: None,
            pairs: and(["A", "B"], PairChoice::Given { parameters: vec![None; 2], cutoff: Some(1.0) }),
            message: &["A-B", "cutoff = 1", "ends by itself"],
            ..good()
        },
        Bad {
            kind: PairKind::Morse,
            pairs: morse(),
            message: &["morse", "no mixing rule"],
            hint: "every pair",
            ..good()
        },
        Bad {
            kind: PairKind::Morse,
            mixing: None,
            pairs: [morse(), vec![(["B", "B"], PairChoice::None)]].concat(),
            message: &["A-B", "nothing is said"],
            hint: "pairs.\"A-B\"",
            ..good()
        },
        Bad {
            kind: PairKind::Yukawa,
            mixing: Some(Mixing::SixthPower),
            pairs: yukawa(1.0, 1.0),
            message: &["sixth-power", "diameter"],
            hint: "geometric",
            ..good()
        },
        Bad {
            kind: PairKind::Yukawa,
            pairs: yukawa(1.0, 2.0),
            message: &["A-B", "screening_length cannot be mixed from 1 and 2"],
            hint: "screening_length",
            ..good()
        },
        Bad {
            kind: PairKind::GaussianCore,
            pairs: vec![(["A", "A"], lj(1.0, 1.0)), (["B", "B"], lj(-1.0, 1.0))],
            message: &["A-B", "epsilon cannot be mixed from 1 and -1"],
            hint: "epsilon",
            ..good()
        },
        Bad { truncation: Truncation::Switched { from: 1.0 }, message: &["switching starts at 1"], ..good() },
        Bad { truncation: Truncation::Switched { from: f64::NAN }, message: &["switching"], ..good() },
        Bad {
            truncation: Truncation::ForceShifted,
            tail_correction: true,
            message: &["tail_correction", "force-shifted"],
            hint: "switched",
            ..good()
        },
    ]
}

#[test]
fn errors_name_the_pair_the_parameter_and_the_way_out() {
    good().build().unwrap();
    for bad in missing_or_wrong_pairs().into_iter().chain(wrong_values()).chain(wrong_options()) {
        let error = bad.build().map(|_| ()).expect_err(&format!("no error with {:?}", bad.message));
        for part in bad.message {
            assert!(error.message().contains(part), "'{part}' is not in: {error}");
        }
        assert!(error.help().unwrap_or("").contains(bad.hint), "'{}' is not the hint of: {error}", bad.hint);
    }
}

/// Corrections for a uniform fluid of N atoms are 2 pi N rho times the tail integrals.
#[test]
fn tail_corrections_count_ordered_pairs() {
    let species = species(&[("A", 0.0), ("B", 0.0)]);
    let term = PairTermBuilder::new(PairKind::LennardJones, Truncation::Plain, &species, 1.0)
        .cutoff(3.0)
        .tail_correction()
        .mixing(Mixing::LorentzBerthelot)
        .pair(["A", "A"], lj(1.0, 1.0))
        .and_then(|b| b.pair(["B", "B"], lj(1.0, 1.0)))
        .and_then(|b| b.build())
        .unwrap();
    // Species that are the same in all but name give the correction of one species with all the atoms.
    let [energy, virial] = term.tail(&[30, 70]).at(1.0);
    let (n, r3) = (100.0_f64, 27f64.recip());
    // Johnson, Zollweg and Gubbins, Mol. Phys. 78 (1993) 591: per atom and density.
    let per_atom = 8.0 / 9.0 * std::f64::consts::PI * (r3.powi(3) - 3.0 * r3);
    let pressure = 32.0 / 9.0 * std::f64::consts::PI * (r3.powi(3) - 1.5 * r3);
    assert!(close(energy, per_atom * n * n), "{energy}");
    assert!(close(virial, pressure * n * n), "{virial}");
}
