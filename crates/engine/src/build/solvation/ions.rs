//! Numbers of ions.

use super::{CounterIons, IonsInput, fill};
use jostle_core::{Error, Result};
use jostle_io::forcefield::solvent::WaterModel;

/// Avogadro's number, in molecules a cubic nanometre for one mol/l.
const PER_MOLAR: f64 = 0.602_214_076;

/// Numbers of cations and anions: those that take away the charge of the solute, and as many of the salt as its
/// concentration in the volume of the water says.
///
/// # Errors
/// If the ions cannot take away the charge, or there are more of them than waters.
pub(super) fn numbers(
    input: &IonsInput,
    charge: f64,
    waters: usize,
    water: &WaterModel,
) -> Result<[usize; 2]> {
    let IonsInput { pair: [cation, anion], counter_ions, concentration } = input;
    let [z, y] = [cation, anion].map(|ion| u64::from(ion.charge.unsigned_abs()));
    let whole = charge.round();
    let mut numbers = match counter_ions {
        CounterIons::LeftOut => [0, 0],
        CounterIons::Added => {
            let (ion, each) = if whole < 0.0 { (cation, z) } else { (anion, y) };
            let charges = whole.abs() as u64;
            if !charges.is_multiple_of(each) {
                let message =
                    format!("the charge {whole} of the solute is no multiple of that of {}", ion.name);
                return Err(Error::input(message).hint("choose ions with one charge"));
            }
            let count = charges / each;
            if whole < 0.0 { [count, 0] } else { [0, count] }
        }
    };
    // Water that is replaced by counter-ions dissolves no salt.
    let left = waters as f64 - (numbers[0] + numbers[1]) as f64;
    let volume = left.max(0.0) / (water.density * fill::per_volume());
    let salt = (concentration * PER_MOLAR * volume).round() as u64;
    let shared = if z == y { z } else { 1 };
    numbers = [
        numbers[0].saturating_add(salt.saturating_mul(y / shared)),
        numbers[1].saturating_add(salt.saturating_mul(z / shared)),
    ];
    let all = numbers[0].saturating_add(numbers[1]);
    if all > waters as u64 {
        return Err(Error::input(format!(
            "{all} ions are wanted, but there are only {waters} water molecules"
        ))
        .hint("give a lower concentration or a larger box"));
    }
    Ok(numbers.map(|n| n as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_io::input::NamedChoice;

    #[test]
    fn concentrations_count_in_the_volume_of_the_water() {
        let water = <&WaterModel>::from_name("spce").unwrap();
        let pair = ["Na+", "Cl-"].map(|name| water.ion(name).unwrap());
        let input = |counter_ions, concentration| IonsInput { pair, counter_ions, concentration };
        // 55.4 mol of water are a litre.
        let salt = numbers(&input(CounterIons::LeftOut, 0.15), -3.0, 55_397, water).unwrap();
        assert_eq!(salt, [150, 150]);
        let both = numbers(&input(CounterIons::Added, 0.15), -3.0, 55_397, water).unwrap();
        assert_eq!(both, [153, 150]);
        assert_eq!(numbers(&input(CounterIons::Added, 0.0), 2.0, 100, water).unwrap(), [0, 2]);
        let error = numbers(&input(CounterIons::Added, 0.0), 200.0, 100, water).unwrap_err();
        assert!(error.message().contains("only 100 water"), "{error}");
        assert!(numbers(&input(CounterIons::LeftOut, 1e30), 0.0, 100, water).is_err());
    }
}
