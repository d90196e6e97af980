use super::*;
use crate::{PairKind, Truncation};
use jostle_core::Dual;

fn steps(text: &str, known: &[(&str, f64)]) -> (usize, usize) {
    let known = known.iter().map(|(n, x)| (n.to_string(), *x)).collect();
    let formula = Formula::with(text, &known).unwrap();
    let counts = |steps: &[Step]| {
        steps.iter().filter(|s| !matches!(s, Step::Square | Step::Literal(_) | Step::Coefficient(_))).count()
    };
    let Program { steps, n_force, .. } = formula.program();
    (counts(&steps[..*n_force]), counts(&steps[*n_force..]))
}

fn at(text: &str, r: f64) -> f64 {
    let formula = Formula::new(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    assert!(formula.parameters().is_empty(), "{text}");
    formula.evaluate(r * r, &[]).0
}

#[test]
fn formulas_have_their_values() {
    let r: f64 = 1.7;
    let cases = [
        ("r", r),
        ("2 r^2 - 3*r + 1", 2.0 * r * r - 3.0 * r + 1.0),
        ("-r^2", -r * r),
        ("2^3^2 r / 512", r),
        ("r**-2", 1.0 / (r * r)),
        ("1/r/r", 1.0 / (r * r)),
        ("1/(2 r)", 0.5 / r),
        ("r^0.5 + r^(-1.5) + r^2.5", r.powf(0.5) + r.powf(-1.5) + r.powf(2.5)),
        ("r^11.3", r.powf(11.3)),
        ("sqrt(r^2 + 1)^3", (r * r + 1.0).powf(1.5)),
        ("1/sqrt(r - 1)", 1.0 / (r - 1.0).sqrt()),
        ("(r - 1)^-3", (r - 1.0).powi(-3)),
        ("exp(-r) + exp(-2 r) - exp(-r/2)", (-r).exp() + (-2.0 * r).exp() - (-0.5 * r).exp()),
        ("log(r^3/2) - ln(r)", (r * r * r / 2.0).ln() - r.ln()),
        ("pow(r, r)", r.powf(r)),
        ("pow(r, 3) pow(2, r)", r.powi(3) * 2f64.powf(r)),
        ("sin(r) cos(2 r) + tan(r/3)", r.sin() * (2.0 * r).cos() + (r / 3.0).tan()),
        ("tanh(r - 1) + erf(r) erfc(r)", (r - 1.0).tanh() + Real::erf(r) * Real::erfc(r)),
        ("abs(1 - r) + min(r, 1) + 10 max(r, 1)", r - 1.0 + 1.0 + 10.0 * r),
        ("step(r - 2) + 2 step(2 - r)", 2.0),
        ("if(r < 1, 1, 2) + if(r >= 1.5, 10, 20)", 12.0),
        ("[r + (r - 1)] 1e1 + .5 + 1_000", (2.0 * r - 1.0) * 10.0 + 1000.5),
        ("pi r", std::f64::consts::PI * r),
        ("sqrt(r^2 - 2 r + 1) (1 - r)^2 ", (r - 1.0).powi(3)),
    ];
    for (text, expected) in cases {
        let found = at(text, r);
        assert!((found - expected).abs() < 1e-13 * expected.abs(), "{text}: {found} is not {expected}");
    }
}

#[test]
fn forces_are_exact_derivatives() {
    let texts = [
        "1/r + r^3 - 2 r^-7",
        "exp(-r^2) sin(3 r) / r",
        "erfc(1.2 r) / r + erf(r/2) - tanh(r^2 - 1)",
        "(1 - r/3)^2 exp(-(r - 1)^2) log(1 + r)",
        "if(r < 1.2, (r - 1.2)^2, 3 (r - 1.2)^3)",
        "max(1 - r, 0)^2 + min(r, 1.4)^3 + abs(r - 1.3)^2.5",
        "sqrt(r) r^1.25 + r^-0.5 + 1 / (1 + r^2.2)",
        "cos(sqrt(1 + r^2)) / (2 + sin(r))^3 + pow(1 + r, 1 - r)",
        "exp(-3 r) - 2 exp(-1.5 r) + exp(-1.5 r)^3",
    ];
    for text in texts {
        let formula = Formula::new(text).unwrap();
        for k in 0..40 {
            let r = Dual::variable(0.61 + 0.05 * f64::from(k));
            let (energy, force_over_r) = formula.evaluate(r * r, &[]);
            let scale = energy.slope.abs() + energy.value.abs();
            let error = (force_over_r.value * r.value + energy.slope).abs();
            assert!(error < 1e-12 * scale, "{text} at {}: {} {}", r.value, force_over_r.value, energy.slope);
        }
    }
}

/// Operations are as few as in the kernels that were written by hand: counted for the force in `evaluate` of
/// each potential, and in addition for the energy.
#[test]
fn the_usual_formulas_take_few_steps() {
    let lj = "4 epsilon [(sigma/r)^12 - (sigma/r)^6]";
    assert_eq!(steps(lj, &[]), (6, 2));
    assert_eq!(steps(lj, &[("epsilon", 1.0), ("sigma", 1.0)]), (6, 2));
    assert!(steps("amplitude exp(-r/screening_length) / r", &[]).0 <= 8);
    assert!(steps("depth [exp(-2 steepness (r - r0)) - 2 exp(-steepness (r - r0))]", &[]).0 <= 8);
    assert!(steps("a exp(-r/rho) - c / r^6", &[]).0 <= 11);
    assert_eq!(steps("epsilon exp(-(r/sigma)^2)", &[]), (3, 1));
}

#[test]
fn even_formulas_need_no_root_and_exponentials_are_shared() {
    let count = |text: &str, wanted: fn(&Step) -> bool| {
        Formula::new(text).unwrap().program().steps.iter().filter(|s| wanted(s)).count()
    };
    let root = |s: &Step| matches!(s, Step::Rsqrt(_) | Step::Sqrt(_));
    assert_eq!(count("r^-12 - r^4 + exp(-r^2) + log(r)", root), 0);
    assert_eq!(count("r^-12 + 1/r", root), 1);
    let call = |s: &Step| matches!(s, Step::Call(..));
    assert_eq!(count("exp(-2 a (r - b)) - 2 exp(-a (r - b))", call), 1);
    assert_eq!(count("(1 - exp(-a (r - b)))^2", call), 1);
}

#[test]
fn formulas_of_the_registry_equal_the_registry() {
    for &kind in PairKind::ALL {
        let formula = Formula::new(kind.formula()).unwrap_or_else(|e| panic!("{kind:?}: {e:?}"));
        let examples = kind.parameters();
        let of = |name: &String| examples.iter().find(|p| p.name == name).map(|p| 1.1 * p.example);
        let parameters: Vec<f64> = formula.parameters().iter().map(|name| of(name).unwrap()).collect();
        let own: Vec<f64> = examples.iter().map(|p| 1.1 * p.example).collect();
        assert_eq!(formula.end(&parameters).is_some(), kind.ends_by_itself(), "{kind:?}");
        let cutoff = kind.natural_cutoff(&own).unwrap_or(2.5);
        if let Some(end) = formula.end(&parameters) {
            assert!((end - cutoff).abs() < 1e-15 * cutoff);
        }
        let (c, expected) =
            (formula.coefficients(&parameters), kind.coefficients(Truncation::Plain, &own, cutoff));
        for k in 0..200 {
            let r = cutoff * (0.3 + 0.0035 * f64::from(k));
            let (energy, force) = formula.evaluate(r * r, &c);
            let (e, f) = kind.evaluate(Truncation::Plain, r * r, &expected);
            // Repulsion and attraction cancel: errors are relative to their size.
            let scale = e.abs() + f.abs() * r * r + 10.0;
            assert!((energy - e).abs() < 1e-14 * scale, "{kind:?} at {r}: {energy} {e}");
            assert!((force - f).abs() * r * r < 1e-14 * scale * 10.0, "{kind:?} at {r}: {force} {f}");
        }
    }
}

#[test]
fn mistakes_are_found_where_they_are() {
    let cases = [
        ("4 epsilon (sigma/r", "(", "never closed"),
        ("exp(-r", "(", "never closed"),
        ("4 * * r", "*", "cannot stand here"),
        ("1/2 r", "r", "denominator"),
        ("expp(-r)", "expp", "no function"),
        ("exp + r", "exp", "is a function"),
        ("r $ 2", "$", "means nothing"),
        ("r + ", " ", "too early"),
        ("min(r)", ")", "two arguments"),
        ("exp(r, 2)", ",", "one argument"),
        ("if(r, 1, 2)", ",", "comparison"),
        ("(r + 1]", "]", "closing bracket"),
        ("r) + 1", ")", "ended before"),
        ("r^10000", "10000", "too large"),
        ("1/r, r > 2", "r > 2", "where the energy ends"),
        ("1/r, r < r", "r < r", "where the energy ends"),
        ("1.5.2 r", ".2", "behind another one"),
        ("2..5 r", ".5", "behind another one"),
        ("1.2e3.5 r", ".5", "behind another one"),
        ("5e-1.5 r", ".5", "behind another one"),
        ("r + 2 3", "3", "behind another one"),
        ("exp(r^2 4)", "4", "behind another one"),
    ];
    for (text, at, message) in cases {
        let mistake = Formula::new(text).unwrap_err();
        assert!(mistake.message.contains(message), "{text}: {mistake:?}");
        assert!(text[mistake.at.start..].starts_with(at.chars().next().unwrap()), "{text}: {mistake:?}");
        assert!(!mistake.hint.is_empty());
    }
    let deep = "(".repeat(1500) + "r" + &")".repeat(1500);
    assert!(Formula::new(&deep).unwrap_err().message.contains("brackets"));
}

#[test]
fn distances_without_a_finite_value_are_found() {
    let found = |text: &str| Formula::new(text).unwrap().not_finite(&[], 2.5);
    assert_eq!(found("1/r^12"), None);
    assert_eq!(found("if(r < 1, 0, 1/(r + 1))"), None);
    // Poles, roots and logarithms of what becomes negative.
    for (text, at, within) in
        [("1/(r - 1.3)", 1.3, 1e-9), ("log(r - 0.7)", 0.7, 0.01), ("sqrt(r - 0.7)", 0.7, 0.01)]
    {
        let r = found(text).unwrap();
        assert!((r - at).abs() < within, "{text}: {r}");
    }
    assert_eq!(found("if(r < 1, 0, 1/(r - 0.5))"), None);
}

/// A jump has its distance and its height, however narrow the piece behind it is; steep energies, kinks and pieces that
/// fit together have none.
#[test]
fn jumps_are_found_and_steep_energies_are_none() {
    let jump = |text: &str| Formula::new(text).unwrap().jump(&[], 2.5);
    for (text, at, height) in [
        ("if(r < 1.5, 2, 0) + (1/r)^12", 1.5, 2.0),
        ("(1/r)^12 + 0.01 step(r - 1.9)", 1.9, 0.01),
        ("4 (r^-12 - r^-6) - if(r < 2, if(r < 1.3, 0, 0.5), 0.5)", 1.3, 0.5),
        ("1/r + if(abs(r - 1.2) < 1e-5, 3, 0)", 1.2, 3.0),
        ("max(if(r < 1, 1, 0), 0.25) / r^2", 1.0, 0.75),
    ] {
        let (r, [inside, outside]) = jump(text).unwrap_or_else(|| panic!("no jump in {text}"));
        assert!((r - at).abs() < 2e-5, "{text}: at {r}");
        assert!(((inside - outside).abs() - height).abs() < 1e-4, "{text}: {inside} to {outside}");
    }
    for text in [
        "(1/r)^12",
        "exp(-50 r)",
        "4 (r^-12 - r^-6)",
        "abs(r - 1.3) + abs(r - 0.7)^2.5",
        "max(0, 1 - r)^2",
        "if(r < 2^(1/6), 4 (r^-12 - r^-6) + 1, 0)",
        "if(r < 1.122462, 4 (r^-12 - r^-6) + 1, 0)",
        "if(r < 1, exp(-50 r), 0)",
        "1000 min(exp(-50 (r - 1)), 1e6) + tanh(1e4 (r - 1.2))",
        "if(r < 2.5, (1/r)^12, 0)",
        "if(r < 3, 1/r, 0)",
    ] {
        assert_eq!(jump(text), None, "{text}");
    }
}

/// Texts of any kind are read or refused without a panic or a loop without end.
#[test]
fn any_text_is_read_or_refused() {
    use jostle_core::random::{Purpose, Stream};
    let pieces = [
        "r", "a", "2", "1.5e-3", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "<", ">=", "exp(", "if(",
        "min(", "pow(", "sqrt(", " ", "e", ".", "é", "σ",
    ];
    for trial in 0..20_000 {
        let mut random = Stream::new(7, Purpose::Placement, trial, 0);
        let n = 1 + (random.uniform() * 12.0) as usize;
        let text: String = (0..n)
            .map(|_| pieces[(random.uniform() * pieces.len() as f64) as usize % pieces.len()])
            .collect();
        match Formula::new(&text) {
            Ok(formula) => {
                let parameters = vec![1.3; formula.parameters().len()];
                let c = formula.coefficients(&parameters);
                let _ = formula.evaluate(1.7, &c);
            }
            Err(mistake) => assert!(text.get(mistake.at.clone()).is_some(), "{text:?}: {mistake:?}"),
        }
    }
}
