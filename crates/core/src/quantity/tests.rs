use super::*;

fn read(text: &str, wanted: Dimension, units: UnitSystem) -> f64 {
    parse_quantity(text, &[wanted], units).unwrap_or_else(|e| panic!("{text}: {e}")).0
}

const ELECTRIC_FIELD: Dimension = Dimension { length: -1, ..Dimension::VOLTAGE };

#[test]
fn natural_units_are_exact() {
    use UnitSystem::*;
    for (text, wanted, units, value) in [
        ("0.5 ps", Dimension::TIME, Real, 500.0),
        ("3.405 A", Dimension::LENGTH, Real, 3.405),
        ("3.405 Å", Dimension::LENGTH, Nano, 3.405 / 10.0),
        ("0.35 nm", Dimension::LENGTH, Metal, 3.5),
        ("0.238 kcal/mol", Dimension::ENERGY, Real, 0.238),
        ("0.997 kJ/mol", Dimension::ENERGY, Nano, 0.997),
        ("2.5MeV", Dimension::ENERGY, Nuclear, 2.5),
        ("2.5eV", Dimension::ENERGY, Metal, 2.5),
        ("1_500 keV", Dimension::TEMPERATURE, Nuclear, 1.5),
        ("10 /ps", Dimension::RATE, Metal, 10.0),
        ("10 1/ps", Dimension::RATE, Real, 0.01),
        ("10 ps^-1", Dimension::RATE, Nano, 10.0),
        ("1 THz", Dimension::RATE, Metal, 1.0),
        ("39.948 u", Dimension::MASS, Real, 39.948),
        ("39.948 g/mol", Dimension::MASS, Real, 39.948),
        ("939 MeV/c^2", Dimension::MASS, Nuclear, 939.0),
        ("10 fm/c", Dimension::TIME, Nuclear, 10.0),
        ("-2 e", Dimension::CHARGE, Real, -2.0),
        ("0.02 1/A3", Dimension::NUMBER_DENSITY, Real, 0.02),
        ("20 nm-3", Dimension::NUMBER_DENSITY, Nano, 20.0),
        ("1.5 kcal/mol/A", Dimension::FORCE, Real, 1.5),
        ("1.5 kcal mol^-1 A^-1", Dimension::FORCE, Real, 1.5),
        ("1e3 m*s^-1", Dimension::VELOCITY, Nano, 1.0),
    ] {
        assert_eq!(read(text, wanted, units), value, "{text}");
    }
}

/// Values were worked out by hand from CODATA 2018.
#[test]
fn conversions() {
    use UnitSystem::*;
    for (text, wanted, units, value) in [
        ("119.8 K", Dimension::ENERGY, Real, 119.8 * 0.001987204258640832),
        ("119.8 K", Dimension::ENERGY, Metal, 119.8 * 8.617333262145179e-5),
        ("1 eV", Dimension::TEMPERATURE, Real, 11604.518121550082),
        ("-3.2e-19 J", Dimension::ENERGY, Metal, -1.9972829038274),
        ("1 hartree", Dimension::ENERGY, Metal, 27.211386245988),
        ("1.374 g/cm3", Dimension::MASS_DENSITY, Real, 1.374 * 0.602214076),
        ("1374 kg/m^3", Dimension::MASS_DENSITY, Nano, 1374.0 * 0.602214076),
        ("1 bohr", Dimension::LENGTH, Metal, 0.529177210903),
        ("1 GPa", Dimension::PRESSURE, Metal, 6.241509074460763e-3),
        ("1 atm", Dimension::PRESSURE, Real, 1.4583972574259082e-5),
        ("1 MeV/c2", Dimension::MASS, Real, 1.0 / 931.49410242),
        ("1 N", Dimension::FORCE, Metal, 624150907.446076),
        ("300 K", Dimension::TEMPERATURE, Nuclear, 300.0 * 8.61733326214518e-11),
        ("1 V", Dimension::VOLTAGE, Real, 23.060547830619026),
        ("1e9 V/m", ELECTRIC_FIELD, Nano, 96.48533212331),
        ("1 V/nm", ELECTRIC_FIELD, Metal, 0.1),
        ("20 kV/cm", ELECTRIC_FIELD, Nano, 2e-3 * 96.48533212331),
        ("-70 mV", Dimension::VOLTAGE, Nano, -0.07 * 96.48533212331),
        ("55.5 mol/m3", Dimension::NUMBER_DENSITY, Nano, 55.5 * 6.02214076e-4),
    ] {
        let got = read(text, wanted, units);
        assert!((got / value - 1.0).abs() < 2e-9, "{text}: {got} is not {value}");
    }
}

#[test]
fn density_may_be_of_mass_or_number() {
    let both = [Dimension::NUMBER_DENSITY, Dimension::MASS_DENSITY];
    let read = |text| parse_quantity(text, &both, UnitSystem::Real).map(|q| q.1).map_err(|e| e.to_string());
    assert_eq!(read("1.374 g/cm3"), Ok(Dimension::MASS_DENSITY));
    assert_eq!(read("0.02 /A3"), Ok(Dimension::NUMBER_DENSITY));
    let refused = read("1.374 g/cm2").expect_err("not a density");
    assert!(refused.contains("a number density or a mass density is wanted"), "{refused}");
}

#[test]
fn bad_quantities_name_the_cause_and_a_remedy() {
    use UnitSystem::*;
    for (text, wanted, units, cause, hint) in [
        ("25 C", Dimension::TEMPERATURE, Real, "measures a charge", "298.15 K"),
        ("25 degC", Dimension::TEMPERATURE, Real, "not a unit", "273.15"),
        ("94.4", Dimension::TEMPERATURE, Real, "no unit", "\"1.5 K\""),
        ("K", Dimension::TEMPERATURE, Real, "does not start with a number", "\"1.5 K\""),
        ("", Dimension::TEMPERATURE, Real, "does not start with a number", "\"1.5 K\""),
        ("0.5 pss", Dimension::TIME, Real, "\"pss\" is not a unit", "did you mean ps?"),
        ("0.5 PS", Dimension::TIME, Real, "\"PS\" is not a unit", "did you mean ps?"),
        ("1 mev", Dimension::ENERGY, Metal, "\"mev\" is not a unit", "meV or MeV"),
        ("1 qqqqq", Dimension::ENERGY, Metal, "not a unit", "jostle schema"),
        ("3 nm", Dimension::ENERGY, Metal, "measures a length, but an energy is wanted", "\"1.5 eV\""),
        ("3 nm", Dimension::LENGTH, Lj, "reduced", "bare number"),
        ("3 nm^", Dimension::LENGTH, Real, "power", "nm^3"),
        ("3 nm^99", Dimension::LENGTH, Real, "power", "nm^3"),
        ("3 nm/", Dimension::LENGTH, Real, "cannot be read", "kcal/mol"),
        ("3 nm ?", Dimension::LENGTH, Real, "cannot be read at \"?\"", "kcal/mol"),
        ("39.948 g", Dimension::MASS, Real, "for a single atom", "g/mol"),
        ("0.2 kcal", Dimension::ENERGY, Real, "for a single atom", "\"0.2 kcal/mol\""),
        ("120 K/mol", Dimension::ENERGY, Real, "for a single atom", "\"120 K\""),
        ("1 kJ/mol/mol", Dimension::ENERGY, Nano, "for a single atom", "\"1 kJ/mol\""),
        ("0.01 eV/mol", Dimension::ENERGY, Metal, "for a single atom", "\"0.01 eV\""),
        ("1e400 K", Dimension::TEMPERATURE, Real, "not a finite number", ""),
    ] {
        let error = parse_quantity(text, &[wanted], units).expect_err(text);
        assert!(error.message().contains(cause), "{text}: {error}");
        assert!(error.help().unwrap_or("").contains(hint), "{text}: {error}");
    }
}

#[test]
fn every_system_reads_the_units_it_writes() {
    let dimensions = [
        Dimension::LENGTH,
        Dimension::AREA,
        Dimension::INVERSE_LENGTH,
        Dimension::TIME,
        Dimension::RATE,
        Dimension::MASS,
        Dimension::ENERGY,
        Dimension::TEMPERATURE,
        Dimension::CHARGE,
        Dimension::VELOCITY,
        Dimension::FORCE,
        Dimension::NUMBER_DENSITY,
        Dimension::MASS_DENSITY,
        Dimension::ENERGY_LENGTH,
        Dimension::ENERGY_LENGTH6,
        Dimension::PRESSURE,
        Dimension::COMPRESSIBILITY,
    ];
    for units in UnitSystem::ALL.into_iter().filter(|u| !u.is_reduced()) {
        for dimension in dimensions {
            let text = format!("1.5 {}", unit_name(units, dimension));
            let value = read(&text, dimension, units);
            let bare = 1.5 * units.bare(dimension);
            assert!((value / bare - 1.0).abs() < 1e-14, "{units}: {text} is {value}");
        }
    }
}

#[test]
fn names_of_units_are_unique() {
    let mut names: Vec<&str> = UNITS.iter().flat_map(|u| u.names.iter().copied()).collect();
    let n = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), n);
}
