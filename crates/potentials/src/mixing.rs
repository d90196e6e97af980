//! Mixing rules: the parameters of unlike pairs from those of like pairs.

/// Rules by which the parameters of two unlike species follow from those of each species with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mixing {
    /// Arithmetic mean of diameters, geometric mean of energies (Lorentz 1881, Berthelot 1898).
    LorentzBerthelot,
    /// Geometric mean of both.
    Geometric,
    /// sigma^6 = (sigma_i^6 + sigma_j^6) / 2 and epsilon = sqrt(epsilon_i epsilon_j)
    /// sigma_i^3 sigma_j^3 / sigma^6: the geometric mean of the dispersion coefficients
    /// (M. Waldman and A. T. Hagler, J. Comput. Chem. 14 (1993) 1077).
    SixthPower,
}

impl Mixing {
    /// All rules.
    pub const ALL: [Mixing; 3] = [Mixing::LorentzBerthelot, Mixing::Geometric, Mixing::SixthPower];

    /// The name in the input file.
    pub fn name(self) -> &'static str {
        match self {
            Mixing::LorentzBerthelot => "lorentz-berthelot",
            Mixing::Geometric => "geometric",
            Mixing::SixthPower => "sixth-power",
        }
    }

    /// Description of one line for help and documentation.
    pub fn about(self) -> &'static str {
        match self {
            Mixing::LorentzBerthelot => "arithmetic mean of sigma, geometric mean of epsilon",
            Mixing::Geometric => "geometric mean of sigma and of epsilon",
            Mixing::SixthPower => {
                "mean of sigma^6, geometric mean of epsilon sigma^6 (Waldman and Hagler 1993)"
            }
        }
    }

    /// The diameter of an unlike pair.
    pub fn size(self, [a, b]: [f64; 2]) -> f64 {
        match self {
            Mixing::LorentzBerthelot => 0.5 * (a + b),
            Mixing::Geometric => (a * b).sqrt(),
            Mixing::SixthPower => (0.5 * (a.powi(6) + b.powi(6))).powf(1.0 / 6.0),
        }
    }

    /// The energy of an unlike pair; `sizes` are the diameters of the two species. NaN if the two
    /// energies have different signs.
    pub fn energy(self, [a, b]: [f64; 2], sizes: [f64; 2]) -> f64 {
        let geometric = (a * b).sqrt().copysign(a);
        match self {
            Mixing::LorentzBerthelot | Mixing::Geometric => geometric,
            Mixing::SixthPower => geometric * (sizes[0] * sizes[1] / self.size(sizes).powi(2)).powi(3),
        }
    }
}
