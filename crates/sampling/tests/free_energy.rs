//! Free energies against pymbar 4.0.3 on the same data, and against exact answers.

use jostle_sampling::free_energy::{
    Estimate, Mbar, bennett, crooks, gradient_profile, independent, inefficiency, jarzynski,
    mean_force_integral, wham, wham_of_blocks,
};

/// The linear congruential generator of Knuth's MMIX, and normal deviates by Box and Muller, as
/// `tests/external/pymbar_values.py` has them.
struct Generator(u64);

impl Generator {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }
}

/// Oscillators: centre, stiffness, number of samples; the last one is not sampled.
const STATES: [(f64, f64, usize); 5] =
    [(0.0, 1.0, 200), (0.7, 1.5, 150), (1.6, 2.5, 300), (2.2, 4.0, 100), (1.0, 1.0, 0)];

fn data() -> (Vec<f64>, Vec<Vec<f64>>, Vec<usize>) {
    let mut generator = Generator(7);
    let all = STATES.iter().flat_map(|(c, k, n)| vec![(*c, *k); *n]);
    let x: Vec<f64> = all.map(|(c, k)| c + generator.normal() / f64::sqrt(k)).collect();
    let energy = |(c, k, _): &(f64, f64, usize)| x.iter().map(|x| 0.5 * k * (x - c).powi(2)).collect();
    let energies = STATES.iter().map(energy).collect();
    (x, energies, STATES.iter().map(|state| state.2).collect())
}

fn near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < tolerance, "{found:?} {expected:?}");
    }
}

#[test]
fn mbar_is_that_of_pymbar() {
    let (x, energies, counts) = data();
    let mbar = Mbar::new(energies.clone(), counts).unwrap();
    let expected = [0.0, 0.21256120722096572, 0.45473941379609784, 0.666347220501236, 0.011146009543948843];
    near(&mbar.free_energies, &expected, 1e-6);
    let errors: Vec<f64> = (0..5).map(|k| mbar.difference(0, k).error).collect();
    let expected = [0.0, 0.042286046304029073, 0.0832952681218987, 0.10972228842855013, 0.05068270236779254];
    near(&errors, &expected, 1e-6);
    near(&[mbar.difference(2, 4).error], &[0.03689838556020032], 1e-6);
    let expected = [0.3394578788942109, 0.277106809643433, 0.3309793391768174, 0.05245597228553915, 0.0];
    near(&mbar.overlap()[1], &expected, 1e-6);
    let bins: Vec<Option<usize>> = x
        .iter()
        .map(|x| Some(((x + 1.0) / 0.5).floor()).filter(|b| (0.0..8.0).contains(b)).map(|b| b as usize))
        .collect();
    let places = (0..8).map(|k| -0.75 + 0.5 * f64::from(k)).collect();
    let profile = mbar.profile(&energies[4], &bins, places);
    let expected = [
        1.4491929391004623,
        0.9673970530793126,
        0.25710368822604845,
        0.06736012593519813,
        0.0,
        0.32286485215174565,
        0.8026677915091911,
        1.2003767356860715,
    ];
    near(&profile.values, &expected, 1e-6);
    let expected = [
        0.1966214710114925,
        0.18148541891995332,
        0.1492900846260224,
        0.13383001607701853,
        0.0,
        0.123455423091065,
        0.13854962189318876,
        0.16696688007934443,
    ];
    near(&profile.errors, &expected, 1e-6);
}

#[test]
fn bennett_and_exponential_averages_are_those_of_pymbar() {
    let (_, energies, _) = data();
    let forward: Vec<f64> = (0..200).map(|n| energies[1][n] - energies[0][n]).collect();
    let backward: Vec<f64> = (200..350).map(|n| energies[0][n] - energies[1][n]).collect();
    let found = bennett(&forward, &backward).unwrap();
    near(&[found.value, found.error], &[0.2049287808182183, 0.043433752968783663], 1e-6);
    assert_eq!(crooks(&forward, &backward).unwrap(), found);
    let found = jarzynski(&forward).unwrap();
    near(&[found.value], &[0.23197451497400667], 1e-6);
    // The error of pymbar is the first order of that by leaving out one value after the other.
    assert!((found.error / 0.053602400502124135 - 1.0).abs() < 0.02, "{found:?}");
}

/// The exact free energies of oscillators are half the logarithms of their stiffness.
#[test]
fn errors_cover_exact_values() {
    let mut inside = 0;
    for seed in 0..60 {
        let mut generator = Generator(seed);
        let states = [(0.0, 1.0), (0.8, 2.0), (1.5, 3.0)];
        let x: Vec<f64> = states
            .iter()
            .flat_map(|(c, k)| (0..100).map(|_| c + generator.normal() / f64::sqrt(*k)).collect::<Vec<_>>())
            .collect();
        let energies =
            states.iter().map(|(c, k)| x.iter().map(|x| 0.5 * k * (x - c).powi(2)).collect()).collect();
        let found = Mbar::new(energies, vec![100; 3]).unwrap().difference(0, 2);
        let exact = 0.5 * 3f64.ln();
        assert!((found.value - exact).abs() < 4.5 * found.error, "{found:?}");
        inside += usize::from((found.value - exact).abs() < found.error);
    }
    // 68% of 60 are 41, give or take 3.6.
    assert!((30..=52).contains(&inside), "{inside}");
}

#[test]
fn histograms_give_the_profile_of_mbar() {
    let mut generator = Generator(3);
    let (bins, width) = (24, 0.25);
    let place = |bin: usize| -3.0 + (bin as f64 + 0.5) * width;
    let centers = [-1.5, -0.5, 0.5, 1.5];
    let mut counts = vec![vec![0.0; bins]; 4];
    for (k, c) in centers.iter().enumerate() {
        for _ in 0..20_000 {
            // A flat profile under a bias of stiffness 4.
            let bin = ((c + 0.5 * generator.normal() + 3.0) / width).floor();
            if (0.0..bins as f64).contains(&bin) {
                counts[k][bin as usize] += 1.0;
            }
        }
    }
    let bias: Vec<Vec<f64>> = centers
        .iter()
        .map(|c| {
            // The mean of exp(-u) over the bin.
            let mean = |bin| -> f64 {
                (0..50)
                    .map(|j| {
                        let x = place(bin) + width * ((f64::from(j) + 0.5) / 50.0 - 0.5);
                        (-2.0 * (x - c).powi(2)).exp() / 50.0
                    })
                    .sum()
            };
            (0..bins).map(|bin| -mean(bin).ln()).collect()
        })
        .collect();
    let found = wham(&counts, &bias).unwrap();
    let inner: Vec<f64> = (5..19).map(|bin| found[bin]).collect();
    let mean = inner.iter().sum::<f64>() / inner.len() as f64;
    assert!(inner.iter().all(|x| (x - mean).abs() < 0.06), "{inner:?}");
}

/// The jackknife's errors are those that profiles of independent samples scatter by.
#[test]
fn errors_of_histograms_are_the_scatter_of_repeated_runs() {
    let mut generator = Generator(11);
    let (bins, width, n_blocks) = (12, 0.25, 10);
    let centers = [-0.5, 0.5];
    let bias: Vec<Vec<f64>> = centers
        .iter()
        .map(|c| (0..bins).map(|bin| 2.0 * (-1.5 + (f64::from(bin) + 0.5) * width - c).powi(2)).collect())
        .collect();
    let mut runs = Vec::new();
    for _ in 0..60 {
        let mut blocks = vec![vec![vec![0.0; bins as usize]; 2]; n_blocks];
        for block in &mut blocks {
            for (row, c) in block.iter_mut().zip(centers) {
                for _ in 0..100 {
                    let bin = ((c + 0.5 * generator.normal() + 1.5) / width).floor();
                    if (0.0..f64::from(bins)).contains(&bin) {
                        row[bin as usize] += 1.0;
                    }
                }
            }
        }
        runs.push(wham_of_blocks(&blocks, &bias).unwrap());
    }
    let across: Vec<f64> = runs.iter().map(|[values, _]| values[8] - values[3]).collect();
    let mean = across.iter().sum::<f64>() / across.len() as f64;
    let scatter = (across.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / across.len() as f64).sqrt();
    // Errors are counted from the lowest bin, which is another one from run to run, near the middle.
    let errors: Vec<f64> = runs.iter().map(|[_, errors]| 0.5 * (errors[8] + errors[3])).collect();
    let typical = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(typical > 0.5 * scatter && typical < 2.0 * scatter, "{typical} {scatter}");
}

#[test]
fn gradients_are_integrated() {
    let (n, h) = (40, 0.1);
    let f = |x: f64, y: f64| (x).cos() + 0.5 * (x - y).sin();
    for (periodic, n_y) in [(false, 1), (false, 30), (true, 30)] {
        let [hx, hy] = if periodic {
            [2.0 * std::f64::consts::PI / n as f64, 2.0 * std::f64::consts::PI / f64::from(n_y)]
        } else {
            [h, h]
        };
        let bins: Vec<usize> = if n_y == 1 { vec![n] } else { vec![n, n_y as usize] };
        let at = |bin: usize| [(bin % n) as f64 * hx, (bin / n) as f64 * hy];
        let gradients: Vec<Vec<f64>> = (0..n * n_y as usize)
            .map(|bin| {
                let [x, y] = at(bin);
                let both = [-x.sin() + 0.5 * (x - y).cos(), -0.5 * (x - y).cos()];
                both[..bins.len()].to_vec()
            })
            .collect();
        let found =
            gradient_profile(&bins, &[hx, hy][..bins.len()], &[periodic; 2][..bins.len()], &gradients)
                .unwrap();
        let exact: Vec<f64> = (0..found.len()).map(|bin| f(at(bin)[0], at(bin)[1])).collect();
        let lowest = exact.iter().copied().fold(f64::INFINITY, f64::min);
        // Trapezoids are exact to h^2 / 12.
        let expected: Vec<f64> = exact.iter().map(|x| x - lowest).collect();
        near(&found, &expected, 0.02);
    }
}

#[test]
fn integrals_have_errors() {
    let estimate = |value| Estimate { value, error: 0.1 };
    let means = [1.0, 2.0, 4.0].map(estimate);
    let found = mean_force_integral(&[0.0, 0.5, 1.0], &means).unwrap();
    assert!((found.value - 2.25).abs() < 1e-12);
    assert!((found.error - 0.1 * (0.0625f64 * 2.0 + 0.25).sqrt()).abs() < 1e-12);
    assert!(mean_force_integral(&[0.0, 0.0, 1.0], &means).is_err());
}

#[test]
fn correlated_samples_are_thinned() {
    let mut generator = Generator(9);
    let mut x = 0.0;
    let values: Vec<f64> = (0..20_000)
        .map(|_| {
            x = 0.8 * x + 0.6 * generator.normal();
            x
        })
        .collect();
    // (1 + a) / (1 - a) = 9.
    let found = inefficiency(&values);
    assert!((7.0..11.0).contains(&found), "{found}");
    assert_eq!(inefficiency(&[1.0; 50]), 1.0);
    assert_eq!(independent(10, 2.5), [0, 3, 5, 8]);
}

#[test]
fn nonsense_is_refused() {
    assert!(Mbar::new(vec![vec![0.0; 3]], vec![2]).is_err());
    assert!(Mbar::new(vec![vec![f64::NAN; 2]], vec![2]).is_err());
    assert!(bennett(&[], &[1.0]).is_err());
    assert!(bennett(&[f64::INFINITY], &[1.0]).is_err());
    assert!(jarzynski(&[1.0]).is_err());
    assert!(wham(&[vec![1.0]], &[]).is_err());
}

/// Free energies converge however many samples there are: sums over many equal terms, as of a molecule that is mostly out
/// of reach, round by more than the change that is asked for.
#[test]
fn many_samples_converge() {
    for seed in [1, 2, 14] {
        let mut generator = Generator(seed);
        let (n, states) = (40_000, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]);
        let mut depth = || if generator.normal() > 1.0 { -0.9 * generator.normal().abs() } else { 0.0 };
        let depths: Vec<f64> = (0..states.len() * n).map(|_| depth()).collect();
        let energies = states.iter().map(|state| depths.iter().map(|d| state * d).collect()).collect();
        let found = Mbar::new(energies, vec![n; states.len()]).unwrap().difference(0, 5);
        assert!(found.value < -0.1 && found.error < 0.01, "{found:?}");
    }
}
