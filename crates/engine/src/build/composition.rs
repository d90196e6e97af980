//! Species of the atoms of a built system.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Error, Result};
use jostle_io::input::model::Amount;

/// Numbers of atoms of each species. One species may leave its amount open and takes the rest; fractions are
/// rounded so that the sum is right (largest remainders first).
///
/// # Errors
/// If the amounts do not add up to `atoms`, or are left open for more than one species.
pub fn counts(amounts: &[Option<Amount>], atoms: usize) -> Result<Vec<usize>> {
    if amounts.is_empty() {
        return Err(Error::input("there is no species").hint("add [species.NAME] with a mass"));
    }
    let open = amounts.iter().filter(|a| a.is_none()).count();
    if open > 1 {
        return Err(Error::input(format!("{open} species have neither count nor fraction"))
            .hint("give count = ... or fraction = ... to all species but one"));
    }
    let mut parts = Vec::new();
    for amount in amounts {
        parts.push(match amount {
            Some(Amount::Count(n)) => *n as f64,
            Some(Amount::Fraction(f)) if (0.0..=1.0).contains(f) => f * atoms as f64,
            Some(Amount::Fraction(f)) => {
                return Err(Error::input(format!("fraction = {f} is not between 0 and 1")));
            }
            None => 0.0,
        });
    }
    let sum: f64 = parts.iter().sum();
    let rest = atoms as f64 - sum;
    match amounts.iter().position(Option::is_none) {
        Some(open) if rest > -1e-6 * atoms as f64 => parts[open] = rest.max(0.0),
        None if rest.abs() <= 1e-6 * atoms as f64 => {}
        _ => {
            return Err(Error::input(format!("the species add up to {sum} atoms, but there are {atoms}"))
                .hint("change the counts or fractions, or leave one species without: it takes the rest"));
        }
    }
    Ok(round_to(&parts, atoms))
}

/// Rounds parts that add up to `total` so that the whole numbers do, too.
fn round_to(parts: &[f64], total: usize) -> Vec<usize> {
    // Parts such as 0.3 * 1000 lie a rounding error below a whole number.
    let mut counts: Vec<usize> = parts.iter().map(|s| (s + 1e-6).floor() as usize).collect();
    let mut by_remainder: Vec<usize> = (0..parts.len()).collect();
    let remainder = |k: usize| parts[k] - (parts[k] + 1e-6).floor();
    by_remainder.sort_by(|a, b| remainder(*b).total_cmp(&remainder(*a)));
    let missing = total.saturating_sub(counts.iter().sum());
    for k in by_remainder.into_iter().cycle().take(missing) {
        counts[k] += 1;
    }
    counts
}

/// The species of every atom, in a random order that depends on the seed only (Fisher and Yates).
pub fn shuffled(counts: &[usize], seed: u64) -> Vec<u16> {
    let mut species: Vec<u16> = Vec::with_capacity(counts.iter().sum());
    for (k, &n) in counts.iter().enumerate() {
        species.extend(std::iter::repeat_n(k as u16, n));
    }
    if counts.iter().filter(|n| **n > 0).count() > 1 {
        let mut stream = Stream::new(seed, Purpose::Composition, 0, 0);
        for last in (1..species.len()).rev() {
            species.swap(last, stream.below(last + 1));
        }
    }
    species
}

#[cfg(test)]
mod tests {
    use super::*;
    use Amount::{Count, Fraction};

    #[test]
    fn amounts_add_up() {
        assert_eq!(counts(&[None], 7).unwrap(), [7]);
        assert_eq!(counts(&[Some(Count(800)), None], 1000).unwrap(), [800, 200]);
        assert_eq!(counts(&[Some(Fraction(0.8)), Some(Fraction(0.2))], 1000).unwrap(), [800, 200]);
        let thirds = [Some(Fraction(1.0 / 3.0)); 3];
        assert_eq!(counts(&thirds, 1000).unwrap().iter().sum::<usize>(), 1000);
        assert_eq!(counts(&[Some(Fraction(0.3)), None], 1000).unwrap(), [300, 700]);
        assert_eq!(counts(&[Some(Count(10)), Some(Fraction(0.5)), None], 30).unwrap(), [10, 15, 5]);
    }

    #[test]
    fn amounts_that_do_not_add_up_are_refused() {
        for amounts in [
            vec![],
            vec![None, None],
            vec![Some(Count(5)), Some(Count(6))],
            vec![Some(Count(11)), None],
            vec![Some(Fraction(0.5)), Some(Fraction(0.4))],
            vec![Some(Fraction(1.5)), None],
            vec![Some(Fraction(f64::NAN)), None],
        ] {
            assert!(counts(&amounts, 10).is_err(), "{amounts:?}");
        }
    }

    #[test]
    fn mixtures_are_well_mixed() {
        let species = shuffled(&[8000, 2000], 3);
        assert_eq!(species.iter().filter(|s| **s == 1).count(), 2000);
        assert_eq!(species, shuffled(&[8000, 2000], 3));
        assert_ne!(species, shuffled(&[8000, 2000], 4));
        // Half of each kind in each half, within four standard deviations.
        let first = species[..5000].iter().filter(|s| **s == 1).count() as f64;
        assert!((first - 1000.0).abs() < 4.0 * (1000.0f64 * 0.8 * 0.5).sqrt(), "{first}");
    }
}
