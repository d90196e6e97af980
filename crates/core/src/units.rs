//! Unit systems. Positions, times, velocities, energies and forces are everywhere in the units of
//! the chosen system; only masses are scaled once on reading (see [`UnitSystem::mass_from_user`]),
//! so that no formula needs a unit constant other than Boltzmann's and Coulomb's.

use std::fmt;

/// CODATA 2018, SI.
mod si {
    pub const BOLTZMANN: f64 = 1.380649e-23;
    pub const AVOGADRO: f64 = 6.02214076e23;
    pub const ELEMENTARY_CHARGE: f64 = 1.602176634e-19;
    pub const VACUUM_PERMITTIVITY: f64 = 8.8541878128e-12;
    pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;
    pub const DALTON: f64 = 1.66053906660e-27;
}

/// The exponents of a physical quantity in length, time, mass, energy, temperature and charge.
/// Energy is counted on its own because particle physics and chemistry measure it on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    /// Power of length.
    pub length: i8,
    /// Power of time.
    pub time: i8,
    /// Power of mass.
    pub mass: i8,
    /// Power of energy.
    pub energy: i8,
    /// Power of temperature.
    pub temperature: i8,
    /// Power of charge.
    pub charge: i8,
}

macro_rules! dimensions {
    ($($(#[$doc:meta])* $name:ident = [$l:literal $t:literal $m:literal $e:literal $k:literal $q:literal];)*) => {
        impl Dimension {
            $($(#[$doc])* pub const $name: Dimension =
                Dimension { length: $l, time: $t, mass: $m, energy: $e, temperature: $k, charge: $q };)*
        }
    };
}

dimensions! {
    /// A bare number.
    NUMBER = [0 0 0 0 0 0];
    /// Length.
    LENGTH = [1 0 0 0 0 0];
    /// Length squared.
    AREA = [2 0 0 0 0 0];
    /// Inverse length.
    INVERSE_LENGTH = [-1 0 0 0 0 0];
    /// Time.
    TIME = [0 1 0 0 0 0];
    /// Inverse time: a friction, a frequency.
    RATE = [0 -1 0 0 0 0];
    /// Mass.
    MASS = [0 0 1 0 0 0];
    /// Energy.
    ENERGY = [0 0 0 1 0 0];
    /// Temperature.
    TEMPERATURE = [0 0 0 0 1 0];
    /// Charge.
    CHARGE = [0 0 0 0 0 1];
    /// Voltage: energy over charge.
    VOLTAGE = [0 0 0 1 0 -1];
    /// Velocity.
    VELOCITY = [1 -1 0 0 0 0];
    /// Force.
    FORCE = [-1 0 0 1 0 0];
    /// Spring constant.
    STIFFNESS = [-2 0 0 1 0 0];
    /// Pressure, energy per volume.
    PRESSURE = [-3 0 0 1 0 0];
    /// Inverse pressure.
    COMPRESSIBILITY = [3 0 0 -1 0 0];
    /// Atoms per volume.
    NUMBER_DENSITY = [-3 0 0 0 0 0];
    /// Mass per volume.
    MASS_DENSITY = [-3 0 1 0 0 0];
    /// Energy times length (the strength of a Coulomb or Yukawa interaction).
    ENERGY_LENGTH = [1 0 0 1 0 0];
    /// Energy times length^6 (the strength of a dispersion interaction).
    ENERGY_LENGTH6 = [6 0 0 1 0 0];
}

/// The unit systems an input file can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitSystem {
    /// Reduced units: everything in terms of a length, an energy and a mass; k_B = 1.
    Lj,
    /// angstrom, fs, kcal/mol, g/mol, K; pressure in atm.
    Real,
    /// angstrom, ps, eV, g/mol, K; pressure in bar.
    Metal,
    /// nm, ps, kJ/mol, g/mol, K; pressure in bar.
    Nano,
    /// fm, fm/c, MeV, MeV/c^2, temperature in MeV; pressure in MeV/fm^3.
    Nuclear,
    /// Reduced units of a plasma of one unit charge q and one unit mass: lengths in ion-sphere
    /// radii a = (3 / 4 pi n)^(1/3), times in 1 / omega_p, energies in q^2 / a; k_B = 1, so that
    /// the temperature is 1 / Gamma and a screening length 1 / kappa.
    Plasma,
}

/// The units of a system in SI; energies and masses of one particle, not of a mole.
struct Scale {
    length: f64,
    time: f64,
    mass: f64,
    energy: f64,
    temperature: f64,
    pressure: f64,
}

impl UnitSystem {
    /// All unit systems.
    pub const ALL: [UnitSystem; 6] = [
        UnitSystem::Lj,
        UnitSystem::Real,
        UnitSystem::Metal,
        UnitSystem::Nano,
        UnitSystem::Nuclear,
        UnitSystem::Plasma,
    ];

    /// The name in the input file.
    pub fn name(self) -> &'static str {
        match self {
            UnitSystem::Lj => "lj",
            UnitSystem::Real => "real",
            UnitSystem::Metal => "metal",
            UnitSystem::Nano => "nano",
            UnitSystem::Nuclear => "nuclear",
            UnitSystem::Plasma => "plasma",
        }
    }

    /// Returns true where the units are reduced: quantities have numbers, but no SI.
    pub fn is_reduced(self) -> bool {
        matches!(self, UnitSystem::Lj | UnitSystem::Plasma)
    }

    fn scale(self) -> Option<Scale> {
        let dalton = 1e-3 / si::AVOGADRO;
        let scale = match self {
            UnitSystem::Lj | UnitSystem::Plasma => return None,
            UnitSystem::Real => Scale {
                length: 1e-10,
                time: 1e-15,
                mass: dalton,
                energy: 4184.0 / si::AVOGADRO,
                temperature: 1.0,
                pressure: 101_325.0,
            },
            UnitSystem::Metal => Scale {
                length: 1e-10,
                time: 1e-12,
                mass: dalton,
                energy: si::ELEMENTARY_CHARGE,
                temperature: 1.0,
                pressure: 1e5,
            },
            UnitSystem::Nano => Scale {
                length: 1e-9,
                time: 1e-12,
                mass: dalton,
                energy: 1e3 / si::AVOGADRO,
                temperature: 1.0,
                pressure: 1e5,
            },
            UnitSystem::Nuclear => {
                let mev = 1e6 * si::ELEMENTARY_CHARGE;
                Scale {
                    length: 1e-15,
                    time: 1e-15 / si::SPEED_OF_LIGHT,
                    mass: mev / (si::SPEED_OF_LIGHT * si::SPEED_OF_LIGHT),
                    energy: mev,
                    temperature: mev / si::BOLTZMANN,
                    pressure: mev / 1e-45,
                }
            }
        };
        Some(scale)
    }

    /// Boltzmann's constant, energy per temperature.
    pub fn boltzmann(self) -> f64 {
        self.scale().map_or(1.0, |s| si::BOLTZMANN * s.temperature / s.energy)
    }

    /// e^2 / (4 pi epsilon_0), energy times length per square charge.
    pub fn coulomb(self) -> f64 {
        let e2 = si::ELEMENTARY_CHARGE * si::ELEMENTARY_CHARGE;
        let joule_metres = e2 / (4.0 * std::f64::consts::PI * si::VACUUM_PERMITTIVITY);
        self.scale().map_or(1.0, |s| joule_metres / (s.energy * s.length))
    }

    /// Turns a mass as users write it (g/mol; MeV/c^2 in `nuclear`) into energy * time^2 /
    /// length^2, the form that [`crate::Species::mass`] has.
    pub fn mass_from_user(self, mass: f64) -> f64 {
        // omega_p^2 = 4 pi n q^2 / m with n = 3 / (4 pi a^3), so m (a omega_p)^2 is 3 q^2 / a.
        let reduced = if self == UnitSystem::Plasma { 3.0 } else { 1.0 };
        mass * self.scale().map_or(reduced, |s| s.mass * (s.length / s.time).powi(2) / s.energy)
    }

    /// The inverse of [`UnitSystem::mass_from_user`].
    pub fn mass_to_user(self, mass: f64) -> f64 {
        mass / self.mass_from_user(1.0)
    }

    /// Turns energy per volume into the unit pressures are reported in.
    pub fn pressure_to_user(self, pressure: f64) -> f64 {
        pressure * self.scale().map_or(1.0, |s| s.energy / s.length.powi(3) / s.pressure)
    }

    /// Turns mass per volume, the mass as [`crate::Species::mass`], into the unit densities are reported
    /// in, [`UnitSystem::density_unit`].
    pub fn density_to_user(self, density: f64) -> f64 {
        let kilograms = match self {
            UnitSystem::Real | UnitSystem::Metal | UnitSystem::Nano => self.from_si(Dimension::MASS_DENSITY),
            UnitSystem::Lj | UnitSystem::Plasma | UnitSystem::Nuclear => None,
        };
        self.mass_to_user(density) / kilograms.map_or(1.0, |per_cubic_metre| 1000.0 * per_cubic_metre)
    }

    /// The unit densities are reported in; empty in reduced units.
    pub fn density_unit(self) -> &'static str {
        match self {
            UnitSystem::Real | UnitSystem::Metal | UnitSystem::Nano => "g/cm3",
            UnitSystem::Nuclear => "MeV/c2/fm^3",
            UnitSystem::Lj | UnitSystem::Plasma => "",
        }
    }

    /// Factor of a bare number of a dimension: 1 but for pressures and their inverses, which are written and
    /// read in units of their own.
    pub fn bare(self, dimension: Dimension) -> f64 {
        match dimension {
            Dimension::PRESSURE => 1.0 / self.pressure_to_user(1.0),
            Dimension::COMPRESSIBILITY => self.pressure_to_user(1.0),
            _ => 1.0,
        }
    }

    /// Number of nanoseconds in a unit of time, where units have seconds.
    pub fn nanoseconds(self) -> Option<f64> {
        self.scale().map(|s| s.time * 1e9)
    }

    /// The value in this system of one SI unit of the dimension, per particle; `None` in reduced
    /// units, which have no SI. Masses come out as users write them, pressures as energy/volume.
    pub fn from_si(self, dimension: Dimension) -> Option<f64> {
        let s = self.scale()?;
        let power = |unit: f64, exponent: i8| unit.powi(i32::from(exponent));
        Some(
            1.0 / (power(s.length, dimension.length)
                * power(s.time, dimension.time)
                * power(s.mass, dimension.mass)
                * power(s.energy, dimension.energy)
                * power(s.temperature, dimension.temperature)
                * power(si::ELEMENTARY_CHARGE, dimension.charge)),
        )
    }
}

impl fmt::Display for UnitSystem {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One atomic mass unit in kilograms.
pub const DALTON: f64 = si::DALTON;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a / b - 1.0).abs() < tolerance, "{a} is not {b}");
    }

    /// Values are those in the documentation of other engines.
    #[test]
    fn constants_are_the_known_ones() {
        close(UnitSystem::Real.boltzmann(), 0.0019872042586, 1e-10);
        close(UnitSystem::Metal.boltzmann(), 8.617333262e-5, 1e-9);
        close(UnitSystem::Nano.boltzmann(), 0.00831446261815, 1e-10);
        close(UnitSystem::Nuclear.boltzmann(), 1.0, 1e-12);
        close(UnitSystem::Real.coulomb(), 332.06371, 1e-7);
        close(UnitSystem::Metal.coulomb(), 14.3996454, 1e-7);
        close(UnitSystem::Nano.coulomb(), 138.935458, 1e-7);
        close(UnitSystem::Nuclear.coulomb(), 1.43996454, 1e-7);
        close(UnitSystem::Real.mass_from_user(1.0), 2390.0573613767, 1e-8);
        close(UnitSystem::Metal.mass_from_user(1.0), 1.0364269656e-4, 1e-8);
        close(UnitSystem::Nano.mass_from_user(1.0), 1.0, 1e-12);
        close(UnitSystem::Nuclear.mass_from_user(939.0), 939.0, 1e-12);
        close(UnitSystem::Plasma.mass_to_user(3.0), 1.0, 1e-12);
        close(UnitSystem::Real.pressure_to_user(1.0), 68568.415, 2e-7);
        close(UnitSystem::Metal.pressure_to_user(1.0), 1.602176634e6, 1e-9);
        close(UnitSystem::Nano.pressure_to_user(1.0), 16.6053906717, 1e-9);
        close(UnitSystem::Real.bare(Dimension::PRESSURE), 1.0 / 68568.415, 2e-7);
        for units in [UnitSystem::Real, UnitSystem::Metal] {
            close(units.density_to_user(units.mass_from_user(0.602214076)), 1.0, 1e-12);
        }
        close(UnitSystem::Nano.density_to_user(602.214076), 1.0, 1e-12);
        close(UnitSystem::Plasma.density_to_user(3.0), 1.0, 1e-12);
    }
}
