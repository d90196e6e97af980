use super::*;
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, PairEntry, PairKind, PairTerm, Truncation};

fn lennard_jones(truncation: Truncation) -> PairTerm {
    PairTerm::uniform(PairKind::LennardJones, truncation, &[1.0, 1.0], 2.5)
}

/// Number of statements of the forces and of the energies alone, inputs not counted.
fn statements(source: &str) -> [usize; 2] {
    let (forces, energies) = source.split_once("if (ENERGY)").unwrap();
    [forces, energies].map(|part| {
        let right_hand_sides = part.lines().filter_map(|line| line.split_once(" = ")).map(|(_, right)| right);
        right_hand_sides
            .filter(|right| *right != "r2;" && !right.starts_with("((const real") && !right.starts_with("c0"))
            .count()
    })
}

/// Operations counted by hand: the reciprocal, two products for its third power, one fused product and
/// difference with the coefficients, two products for the rest; a comparison and a choice for the cut-off.
#[test]
fn lennard_jones_takes_eight_operations() {
    let source = pair_source(&[lennard_jones(Truncation::Plain)], &[], Precision::Mixed).source;
    assert_eq!(statements(&source), [8, 3], "{source}");
    // Shifts change the energy alone.
    let source = pair_source(&[lennard_jones(Truncation::Shifted)], &[], Precision::Mixed).source;
    assert_eq!(statements(&source), [8, 3], "{source}");
    let source = pair_source(&[lennard_jones(Truncation::ForceShifted)], &[], Precision::Mixed).source;
    assert_eq!(statements(&source)[0], 10, "{source}");
}

#[test]
fn terms_share_what_they_have_in_common() {
    let yukawa = PairTerm::uniform(PairKind::Yukawa, Truncation::Plain, &[1.0, 0.7], 2.5);
    let morse = PairTerm::uniform(PairKind::Morse, Truncation::Plain, &[1.0, 5.0, 1.1], 2.5);
    let source = pair_source(&[yukawa, morse], &[], Precision::Double).source;
    for once in ["reciprocal_square_root(", " < 6.25;"] {
        assert_eq!(source.matches(once).count(), 1, "{source}");
    }
    let twice = [lennard_jones(Truncation::Plain), lennard_jones(Truncation::Plain)];
    let source = pair_source(&twice, &[], Precision::Mixed).source;
    assert_eq!(statements(&source)[0], 9, "{source}");
}

/// Squares of the root that charges need serve the powers of the distance.
#[test]
fn a_root_that_is_there_saves_a_reciprocal() {
    let charges = Electrostatics::new(Method::ReactionField { dielectric: 78.0 }, 1.0, 2.5);
    let terms = [lennard_jones(Truncation::Plain)];
    let source = pair_source(&terms, &[LatticeSum::Charges(charges)], Precision::Mixed).source;
    assert_eq!(source.matches("reciprocal_square_root(").count(), 1, "{source}");
    assert!(!source.contains("reciprocal("), "{source}");
}

#[test]
fn literals_are_read_back_as_they_were() {
    let values = [0.1, 1.0 / 3.0, 6.25, 1e-30, 2.5e20, 1e-7, 16_777_217.0, 4.0 * std::f64::consts::PI];
    for value in values.into_iter().flat_map(|x| [x, -x]) {
        let double = Notation { number: "real", precision: Precision::Double }.literal(value);
        assert_eq!(double.parse::<f64>().unwrap(), value);
        assert!(double.contains(['.', 'e']), "{double} is an integer");
        let single = Notation { number: "real", precision: Precision::Mixed }.literal(value);
        let digits = single.strip_suffix('f').unwrap();
        assert_eq!(digits.parse::<f32>().unwrap(), value as f32);
        assert!(digits.contains(['.', 'e']), "{digits} is an integer");
    }
}

#[test]
fn known_numbers_are_computed_at_once() {
    let source = scalar_function("known", 1, |x| {
        let [zero, one, two] = [0.0, 1.0, 2.0].map(Recorder::lit);
        let root = (two * two + two.mul_add(two, one)).sqrt();
        vec![
            root * one,                       // 3
            (x[0] + zero) * one / one - zero, // x
            -(-x[0]),                         // x
            two * (root * x[0]),              // 6 x
            x[0].mul_add(one, -x[0] * -two),  // x + 2 x, in one
            x[0] - (-x[0]),                   // x + x
            Recorder::select(one.lt(two), x[0], one) // x
                + Recorder::select(x[0].lt(two), one, one), // 1
        ]
    });
    let body: Vec<&str> = source.lines().skip(1).map(str::trim).collect();
    let count = |text: &str| body.iter().filter(|line| line.contains(text)).count();
    assert_eq!(count("const"), 5, "{source}");
    assert!(body.contains(&"out[0] = 3.0;") && count("6.0 * ") + count(" * 6.0") == 1, "{source}");
    for gone in ["?", "<", " - ", "/", "sqrt"] {
        assert_eq!(count(gone), 0, "{gone}: {source}");
    }
}

#[test]
fn terms_with_one_cutoff_are_selected_once() {
    let source = scalar_function("chosen", 3, |x| {
        let (near, zero) = (x[0].lt(x[1]), Recorder::lit(0.0));
        let [product, other] = [x[0] * x[2], x[2]].map(|part| Recorder::select(near, part, zero));
        vec![zero + product + other, product + Recorder::select(x[1].lt(x[0]), x[2], zero)]
    });
    // Products that are outputs, too, are rounded.
    assert_eq!(source.matches(" ? ").count(), 3, "{source}");
    let source = scalar_function("chosen", 3, |x| {
        let (near, zero) = (x[0].lt(x[1]), Recorder::lit(0.0));
        vec![Recorder::select(near, x[0] * x[2], zero) + Recorder::select(near, x[2], zero)]
    });
    assert_eq!(source.matches(" ? ").count(), 1, "{source}");
    assert!(source.contains("multiply_add(t0, t2, t2)"), "{source}");
}

#[test]
fn species_that_have_a_number_in_common_do_not_look_it_up() {
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    term.set(0, 0, PairEntry { parameters: vec![1.0, 1.0], cutoff: 2.5 });
    term.set(0, 1, PairEntry { parameters: vec![0.5, 1.0], cutoff: 2.4 });
    let PairSource { source, table, .. } = pair_source(std::slice::from_ref(&term), &[], Precision::Double);
    // Row 1-1 is silent by its cut-off alone. Rows are read at once.
    assert_eq!(table[12..], [0.0, 48.0, 24.0, 0.0]);
    assert_eq!(table[..8], [6.25, 48.0, 24.0, 0.0, 2.4 * 2.4, 24.0, 12.0, 0.0]);
    for definition in ["N_SPECIES 2", "N_COEFFICIENTS 4", "TABLE_SIZE 16", "LONGEST_CUTOFF2 6.25"] {
        assert!(source.contains(&format!("#define {definition}\n")), "{source}");
    }
    assert!(source.contains("const real4 c0 = ") && source.contains("c0.z"), "{source}");
    // Coefficients of 0 keep 1-1 silent where there is one cut-off.
    term.set(0, 1, PairEntry { parameters: vec![0.5, 1.0], cutoff: 2.5 });
    let PairSource { source, table, .. } = pair_source(std::slice::from_ref(&term), &[], Precision::Double);
    assert_eq!(table, [48.0, 24.0, 24.0, 12.0, 24.0, 12.0, 0.0, 0.0]);
    assert!(source.contains("const real2 c0 = ") && source.contains(" < 6.25;"), "{source}");
    term.set(0, 1, PairEntry { parameters: vec![1.0, 1.0], cutoff: 2.4 });
    let PairSource { source, table, .. } = pair_source(&[term.clone()], &[], Precision::Double);
    assert!(source.contains("const real c0 = ") && !source.contains("c0.") && table.len() == 4, "{source}");
    term.set(0, 1, PairEntry { parameters: vec![0.5, 1.0], cutoff: 2.5 });
    term.set(1, 1, PairEntry { parameters: vec![2.0, 1.0], cutoff: 2.5 });
    let PairSource { source, table, .. } = pair_source(&[term], &[], Precision::Double);
    assert!(source.contains("const real2 c0 = ") && table[2..4] == [24.0, 12.0], "{source}");
}

#[test]
fn a_product_for_one_sum_is_not_rounded_first() {
    let source = scalar_function("sums", 4, |x| {
        let (once, twice) = (x[0] * x[1], x[1] * x[2]);
        vec![x[3] - once, twice + x[0], twice - x[3]]
    });
    assert!(source.contains("multiply_add(-t0, t1, t3)"), "{source}");
    assert!(source.contains("t1 * t2") && !source.contains("t0 * t1"), "{source}");
    assert_eq!(source.matches("multiply_add").count(), 1, "{source}");
}

#[test]
fn products_of_charges_are_not_looked_up_by_pairs() {
    let mut term = PairTerm::new(PairKind::Yukawa, Truncation::ForceShifted, 3);
    let charges = [6.0, 8.0, -1.5];
    let set = |term: &mut PairTerm, a: usize, b: usize, length| {
        term.set(a, b, PairEntry { parameters: vec![charges[a] * charges[b] / 49.0, length], cutoff: 9.0 });
    };
    for (a, b) in (0..3).flat_map(|a| (a..3).map(move |b| (a, b))) {
        set(&mut term, a, b, 2.0);
    }
    let PairSource { source, table, .. } = pair_source(&[term.clone()], &[], Precision::Mixed);
    let ratios = [table[1] / table[0] * 6.0, table[2] / table[0] * 6.0];
    assert!(table.len() == 3 && (ratios[0] - 8.0).abs() < 1e-14 && (ratios[1] + 1.5).abs() < 1e-14);
    assert!(source.contains("table[species_i] * table[species_j]") && !source.contains("c0"), "{source}");
    // Pairs with another length differ by more than charges.
    set(&mut term, 0, 2, 2.5);
    let PairSource { source, table, .. } = pair_source(&[term], &[], Precision::Mixed);
    assert!(table.len() % 9 == 0 && source.contains("c0."), "{source}");
}

/// Hydrogens of water have charges and no other force. With forces of their own, or without charges, there is
/// no such species.
#[test]
fn species_with_charges_alone_are_found() {
    let entry = || PairEntry { parameters: vec![1.0, 1.0], cutoff: 2.5 };
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    term.set(0, 0, entry());
    let charges = Electrostatics::new(Method::ReactionField { dielectric: 78.0 }, 1.0, 2.5);
    let charges = LatticeSum::Charges(charges);
    let source = |term: &PairTerm, sums: &[LatticeSum]| {
        pair_source(std::slice::from_ref(term), sums, Precision::Mixed).source
    };
    let water = source(&term, std::slice::from_ref(&charges));
    assert!(water.contains("#define CHARGES_ALONE 1\n") && water.contains("words[] = {0x2u};"), "{water}");
    assert!(source(&term, &[]).contains("#define CHARGES_ALONE 0\n"));
    term.set(0, 1, entry());
    assert!(source(&term, &[charges]).contains("#define CHARGES_ALONE 0\n"));
}

/// Windows of a path have one source, so that a GPU makes them together, although all soft cores have a coefficient of 0
/// at both ends.
#[test]
fn windows_of_a_path_have_one_source() {
    for kind in [PairKind::SoftCore, PairKind::SoftCoreGapsys] {
        let of_window = |lambda: f64| {
            let mut plain = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
            plain.set(0, 0, PairEntry { parameters: vec![1.0, 1.0], cutoff: 2.5 });
            let mut soft = PairTerm::new(kind, Truncation::Plain, 2);
            let parameters = vec![0.5 * lambda, 0.9, 0.5 * (1.0 - lambda)];
            soft.set(0, 1, PairEntry { parameters, cutoff: 2.5 });
            pair_source(&[plain, soft], &[], Precision::Mixed)
        };
        let windows = [1.0, 0.6, 0.2, 0.0].map(of_window);
        for window in &windows[1..] {
            assert_eq!(window.source, windows[0].source);
            assert_ne!(window.table, windows[0].table);
        }
    }
}
