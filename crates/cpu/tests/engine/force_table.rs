//! The table of forces of charges.

use jostle_core::Real;
use jostle_cpu::electrostatics::force_table::ForceTable;
use jostle_cpu::simd::{Kernel, Lanes, Level, Simd};
use jostle_potentials::Electrostatics;
use jostle_potentials::electrostatics::Method;

struct At<'a>(&'a ForceTable<f32>, &'a [f32], &'a mut [f32]);

impl Kernel for At<'_> {
    type Output = ();
    #[inline(always)]
    fn run<I: Simd>(self) {
        let width = I::F32::WIDTH;
        for (from, to) in self.1.chunks(width).zip(self.2.chunks_mut(width)) {
            self.0.at(I::F32::load(from)).store(to);
        }
    }
}

#[test]
fn the_table_is_as_exact_as_single_precision_at_every_level() {
    let function = |r2: f64| r2.powf(-1.5) * Real::erfc(0.3 * r2.sqrt());
    let size = |r2: f64| r2.powf(-1.5);
    for cutoff in [0.9, 9.0, 9.8, 31.0] {
        let pieces = ForceTable::<f32>::new(cutoff, function, size).unwrap();
        let (least, most) = (pieces.least, (cutoff * cutoff) as f32);
        assert!(least < most / 200.0, "{least} {most}");
        let at = |k: u32| least * (most / least).powf(k as f32 / 4096.0);
        let r2: Vec<f32> = (0..4096).map(at).map(|r2| r2.clamp(least, most)).collect();
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            let mut values = vec![0.0; r2.len()];
            level.run(At(&pieces, &r2, &mut values));
            for (r2, value) in r2.iter().zip(values) {
                let r2 = f64::from(*r2);
                let error = (f64::from(value) - function(r2)).abs() / size(r2);
                assert!(error < 4e-7, "{level} {cutoff} {r2}: {error:e}");
            }
        }
    }
}

/// Forces of charges have a table up to the cut-off, whatever splits them.
#[test]
fn charges_have_a_table() {
    for cutoff in [0.9, 3.5, 9.0, 12.0] {
        for accuracy in [2e-3, 5e-4, 1e-5] {
            for method in [Method::pme(cutoff, accuracy, 5), Method::ewald(cutoff, accuracy)] {
                let table = ForceTable::<f32>::of_charges(&Electrostatics::new(method, 1.0, cutoff));
                assert!(table.is_some(), "{method:?}");
            }
        }
    }
}

#[test]
fn functions_that_are_too_steep_have_no_table() {
    assert_eq!(ForceTable::<f32>::new(9.0, |r2| (-r2).exp(), |r2| (-r2).exp()), None);
}
