//! Screening by electrons: the screening length of [`crate::pair::Yukawa`].

use jostle_core::units::Dimension;
use jostle_core::{Error, Result, UnitSystem};
use std::f64::consts::PI;

/// CODATA 2018.
const FINE_STRUCTURE: f64 = 7.2973525693e-3;
/// hbar / (m_e c), in metres (CODATA 2018).
const COMPTON_LENGTH: f64 = 3.8615926796e-13;

/// A degenerate gas of electrons in the Thomas-Fermi approximation, where charges are screened
/// over the length lambda with 1 / lambda^2 = 4 pi e^2 dn/dmu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Screening {
    /// Slow electrons: 1 / lambda^2 = 4 k_F / (pi a_0).
    ThomasFermi,
    /// Electrons of any speed: 1 / lambda^2 = (4 alpha / pi) k_F sqrt(k_F^2 + (m_e c / hbar)^2)
    /// (B. Jancovici, Nuovo Cimento 25 (1962) 428).
    Relativistic,
    /// Electrons without a mass: lambda = sqrt(pi / alpha) / (2 k_F) (Horowitz, Perez-Garcia and
    /// Piekarewicz, Phys. Rev. C 69 (2004) 045804).
    UltraRelativistic,
}

impl Screening {
    /// All models, in the order of the documentation.
    pub const ALL: [Screening; 3] =
        [Screening::ThomasFermi, Screening::Relativistic, Screening::UltraRelativistic];

    /// The name in the input file.
    pub const fn name(self) -> &'static str {
        match self {
            Screening::ThomasFermi => "thomas-fermi",
            Screening::Relativistic => "relativistic",
            Screening::UltraRelativistic => "ultra-relativistic",
        }
    }

    /// The screening length in electrons of this number density.
    ///
    /// # Errors
    /// If the density is not positive, or the units are reduced and have no electrons.
    pub fn length(self, density: f64, units: UnitSystem) -> Result<f64> {
        let Some(metre) = units.from_si(Dimension::LENGTH) else {
            return Err(Error::input(format!("units = \"{units}\" are reduced and have no electrons"))
                .hint("give screening_length, or choose other units"));
        };
        if !(density > 0.0 && density.is_finite()) {
            return Err(Error::input(format!("electrons of the density {density} screen nothing"))
                .hint("give the species positive charges, or an electron_density"));
        }
        let k_f = (3.0 * PI * PI * density).cbrt();
        let rest = 1.0 / (COMPTON_LENGTH * metre);
        let energy = match self {
            Screening::ThomasFermi => rest,
            Screening::Relativistic => k_f.hypot(rest),
            Screening::UltraRelativistic => k_f,
        };
        Ok((PI / (4.0 * FINE_STRUCTURE * k_f * energy)).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Screening in a metal: 1 / lambda = (16 / 3 pi^2)^(1/3) k_F sqrt(r_s / a_0) with r_s the radius of the
    /// sphere that holds one electron (Ashcroft and Mermin, Solid State Physics, 17.55).
    #[test]
    fn slow_electrons_screen_as_in_metals() {
        let bohr = 0.529177210903;
        let r_s = 3.93 * bohr;
        let density = 3.0 / (4.0 * PI * r_s * r_s * r_s);
        let length = Screening::ThomasFermi.length(density, UnitSystem::Metal).unwrap();
        let k_f = (3.0 * PI * PI * density).cbrt();
        assert!((length * (16.0 / (3.0 * PI * PI)).cbrt() * k_f * 3.93f64.sqrt() - 1.0).abs() < 1e-8);
        // Electrons at such densities are slow.
        let relativistic = Screening::Relativistic.length(density, UnitSystem::Metal).unwrap();
        assert!((relativistic / length - 1.0).abs() < 1e-4);
    }

    /// ... and in the crust of a neutron star they are as good as massless.
    #[test]
    fn fast_electrons_screen_as_massless_ones() {
        let density = 0.2 * 0.05;
        let [any, fast] = [Screening::Relativistic, Screening::UltraRelativistic]
            .map(|s| s.length(density, UnitSystem::Nuclear).unwrap());
        assert!((any / fast - 1.0).abs() < 1e-4 && any < fast, "{any} {fast}");
        let k_f = (3.0 * PI * PI * density).cbrt();
        assert!((fast * 2.0 * k_f * (FINE_STRUCTURE / PI).sqrt() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn lengths_are_the_same_in_all_units() {
        let fm = Screening::Relativistic.length(1e-8, UnitSystem::Nuclear).unwrap();
        let angstrom = Screening::Relativistic.length(1e7, UnitSystem::Metal).unwrap();
        assert!((angstrom / (1e-5 * fm) - 1.0).abs() < 1e-12);
        assert!(Screening::Relativistic.length(1.0, UnitSystem::Plasma).is_err());
        assert!(Screening::Relativistic.length(0.0, UnitSystem::Metal).is_err());
    }
}
