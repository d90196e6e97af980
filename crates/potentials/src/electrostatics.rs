//! Coulomb's forces between the charges of a system, with a cut-off or without an end.
//!
//! The direct interaction of two unit charges is 1/r less a smooth function s of r^2, up to a cut-off, for
//! every treatment of the long range. Atoms that are excluded from each other have -s alone, and an atom with
//! itself has the energy -s(0)/2. In Ewald's sum and particle-mesh Ewald s is the potential of a charge that is
//! spread ([`Splitting`]), which acts on all atoms and their images as a sum in reciprocal space; in a reaction
//! field it is the effect of the polarised surroundings. A medium that screens charges changes 1/r and s
//! alike ([`screened`]).

pub mod chebyshev;
pub mod gaussian;
pub mod kaiser_bessel;
pub mod mesh_error;
pub mod reciprocal_space;
pub mod screened;
pub mod spline;

pub use gaussian::{WIDEST_SINGLE, gaussian};
pub use kaiser_bessel::KaiserBessel;
pub use mesh_error::Composition;

use jostle_core::{Error, Precision, Real, Result, SimBox, System, Vec3};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Coulomb's forces between all charges. Charges are those of the system.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Electrostatics {
    /// Treatment of the long range.
    pub method: Method,
    /// Coulomb's constant, see [`jostle_core::UnitSystem::coulomb`].
    pub coulomb: f64,
    /// Cut-off of direct interactions.
    pub cutoff: f64,
    /// Treatment of a net charge of the system.
    pub net_charge: NetCharge,
    /// The length over which a medium screens charges: 1/r becomes exp(-r / length)/r, of a sum over all
    /// images only. Infinite where nothing screens.
    pub screening_length: f64,
}

/// Treatment of the long range of Coulomb's forces.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Method {
    /// A cut-off of 1/r, and nothing beyond.
    Cutoff,
    /// A dielectric beyond the cut-off (Tironi, Sperb, Smith and van Gunsteren, J. Chem. Phys. 102 (1995)
    /// 5451).
    ReactionField {
        /// Relative permittivity of the dielectric; infinite for a conductor.
        dielectric: f64,
    },
    /// Ewald's sum in a conducting medium (P. P. Ewald, Ann. Phys. 369 (1921) 253).
    Ewald {
        /// The inverse width of the Gaussian charges.
        alpha: f64,
        /// The largest wave number.
        longest: f64,
    },
    /// Smooth particle-mesh Ewald (Essmann, Perera, Berkowitz, Darden, Lee and Pedersen, J. Chem.
    /// Phys. 103 (1995) 8577), in a conducting medium.
    Pme {
        /// Inverse width of the Gaussian charges, or of those whose long waves are the same: see [`Splitting`].
        alpha: f64,
        /// The order of the B-splines, one of [`Method::ORDERS`].
        order: usize,
        /// The widest distance of mesh points along an edge.
        spacing: f64,
    },
}

/// Treatment of a net charge by sums over all images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum NetCharge {
    /// An error, because most often something is missing. Screened charges need not be neutral.
    #[default]
    Refuse,
    /// A uniform background that neutralises it.
    Background,
}

impl NetCharge {
    /// All choices.
    pub const ALL: [NetCharge; 2] = [NetCharge::Refuse, NetCharge::Background];

    /// The name in an input file.
    pub fn name(self) -> &'static str {
        match self {
            NetCharge::Refuse => "refuse",
            NetCharge::Background => "background",
        }
    }

    /// Description of one line.
    pub fn about(self) -> &'static str {
        match self {
            NetCharge::Refuse => "an error, unless charges are screened",
            NetCharge::Background => "neutralised by a uniform background",
        }
    }
}

impl Method {
    /// The orders of splines that there are.
    pub const ORDERS: [usize; 3] = [4, 5, 6];

    /// Ewald's sum whose forces have about this relative error.
    pub fn ewald(cutoff: f64, accuracy: f64) -> Method {
        let range = Self::range(accuracy);
        let alpha = range / cutoff;
        Method::Ewald { alpha, longest: 2.1 * alpha * range }
    }

    /// Particle-mesh Ewald whose forces have about this relative error in matter as dense as water; of order
    /// p down to 1e-p. [`Method::pme_of`] depends on the charges.
    pub fn pme(cutoff: f64, accuracy: f64, order: usize) -> Method {
        // Of the force of two points 2 beta exp(-beta) is left at the cut-off, a tenth of what Gaussians leave there.
        let beta = (1.0 / accuracy).ln().max(0.0) + 5.0;
        // The error of interpolation is this factor times (alpha spacing)^order: integrals of `mesh_error` for water.
        let factor = match order {
            4 => 5.2e-2,
            5 => 2.9e-2,
            _ => 1.85e-2,
        };
        Self::pme_by((0.5 * beta).sqrt() / cutoff, accuracy / factor, order)
    }

    /// Particle-mesh Ewald with Gaussian charges, for screened charges and dispersion.
    pub fn gaussian_pme(cutoff: f64, accuracy: f64, order: usize) -> Method {
        // As above; measured on water, molten salt and ions at random.
        let factor = match order {
            4 => 6e-2,
            5 => 4e-2,
            _ => 3e-2,
        };
        Self::pme_by(Self::range(accuracy) / cutoff, accuracy / factor, order)
    }

    /// Particle-mesh Ewald with the spacing at which its error is so many times that of a spacing of 1 / alpha.
    fn pme_by(alpha: f64, part: f64, order: usize) -> Method {
        Method::Pme { alpha, order, spacing: part.powf(1.0 / order as f64) / alpha }
    }

    /// Number of widths of the Gaussians in a cut-off: Kolafa and Perram's error of the direct part (Mol.
    /// Simul. 9 (1992) 351), relative to the force of neighbours, is about 2 exp(-range^2).
    fn range(accuracy: f64) -> f64 {
        (2.0 / accuracy).ln().max(1.0).sqrt()
    }

    /// The inverse width of the Gaussians and the largest wave number of Ewald's sum, of methods that
    /// are such a sum or stand for one.
    pub fn reciprocal_sum(&self) -> Option<(f64, f64)> {
        match *self {
            Method::Cutoff | Method::ReactionField { .. } => None,
            Method::Ewald { alpha, longest } => Some((alpha, longest)),
            // Shortest waves of a mesh.
            Method::Pme { alpha, spacing, .. } => Some((alpha, PI / spacing)),
        }
    }

    /// The inverse width of the Gaussians of methods that have some.
    pub fn alpha(&self) -> Option<f64> {
        match *self {
            Method::Cutoff | Method::ReactionField { .. } => None,
            Method::Ewald { alpha, .. } | Method::Pme { alpha, .. } => Some(alpha),
        }
    }
}

/// Charge in place of a point charge in the sum in reciprocal space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Splitting {
    /// Gaussian charge.
    Gaussian {
        /// Inverse width.
        alpha: f64,
    },
    /// Charge within the cut-off.
    KaiserBessel(KaiserBessel),
}

impl Splitting {
    /// Splitting on a mesh, with long waves like those of a Gaussian of this inverse width, in a medium with this inverse
    /// screening length (0: none), for which Gaussians alone have a known form.
    pub fn on_mesh(alpha: f64, cutoff: f64, kappa: f64) -> Self {
        if kappa == 0.0 {
            Splitting::KaiserBessel(KaiserBessel::like_gaussian(alpha, cutoff))
        } else {
            Splitting::Gaussian { alpha }
        }
    }
}

/// The smooth function of a reaction field: c - k r^2, from k and c.
#[inline(always)]
pub fn reaction<R: Real>(r2: R, [k, c]: [R; 2]) -> (R, R) {
    (c - k * r2, k + k)
}

/// Direct interaction of two unit charges, energy and force over distance: 1/r less a smooth function. `one`
/// is 1, or 0 where they are excluded.
#[inline(always)]
pub fn direct<R: Real>(r2: R, one: R, smooth: (R, R)) -> (R, R) {
    let [_, cube] = r2.inverse_powers();
    (one * r2.rsqrt() - smooth.0, one * cube - smooth.1)
}

impl Electrostatics {
    /// Name of the energy.
    pub const TERM: &'static str = "coulomb";

    /// A method with Coulomb's constant and where direct interactions end; systems must be neutral,
    /// and nothing screens.
    pub fn new(method: Method, coulomb: f64, cutoff: f64) -> Self {
        let (net_charge, screening_length) = (NetCharge::Refuse, f64::INFINITY);
        Electrostatics { method, coulomb, cutoff, net_charge, screening_length }
    }

    /// The inverse screening length; `None` where nothing screens.
    pub fn kappa(&self) -> Option<f64> {
        self.screening_length.is_finite().then(|| 1.0 / self.screening_length)
    }

    /// k and c of [`reaction`].
    pub fn reaction(&self) -> [f64; 2] {
        let k = match self.method {
            // The limit of the next formula.
            Method::ReactionField { dielectric } if dielectric.is_infinite() => 0.5,
            Method::ReactionField { dielectric } => (dielectric - 1.0) / (2.0 * dielectric + 1.0),
            _ => return [0.0; 2],
        };
        [k / self.cutoff.powi(3), (k + 1.0) / self.cutoff]
    }

    /// Splitting of a sum over all images; by Gaussians where no mesh limits the waves.
    pub fn splitting(&self) -> Option<Splitting> {
        match self.method {
            Method::Cutoff | Method::ReactionField { .. } => None,
            Method::Ewald { alpha, .. } => Some(Splitting::Gaussian { alpha }),
            Method::Pme { alpha, .. } => {
                Some(Splitting::on_mesh(alpha, self.cutoff, self.kappa().unwrap_or(0.0)))
            }
        }
    }

    /// The smooth function at a squared distance, and its force over distance.
    pub fn smooth(&self, r2: f64) -> (f64, f64) {
        match (self.splitting(), self.kappa()) {
            (None, _) => reaction(r2, self.reaction()),
            (Some(Splitting::KaiserBessel(charge)), _) => charge.anywhere(r2, |r2| charge.within(r2)),
            (Some(Splitting::Gaussian { alpha }), None) => gaussian::of_width(alpha, r2, gaussian),
            (Some(Splitting::Gaussian { alpha }), Some(kappa)) => {
                gaussian::of_width(alpha, r2, |square| screened::gaussian(square, kappa / (2.0 * alpha)))
            }
        }
    }

    /// Direct interaction of two unit charges, see [`direct`].
    pub fn direct(&self, r2: f64, one: f64) -> (f64, f64) {
        match self.kappa() {
            None => direct(r2, one, self.smooth(r2)),
            Some(kappa) => screened::direct(r2, one, kappa, self.smooth(r2)),
        }
    }

    /// The charges of all atoms by id, times the root of Coulomb's constant: products of two of them are
    /// the energy of two charges at unit distance.
    pub fn charges(&self, system: &System) -> Vec<f64> {
        scaled_charges(self.coulomb, system)
    }

    /// The energy of every charge with itself, and that of charges that are spread evenly, with the
    /// background that neutralises them: the second is inversely proportional to the volume. From the sum of all
    /// charges times the root of Coulomb's constant, and that of their squares.
    pub fn constants(&self, [sum, squares]: [f64; 2], volume: f64) -> [f64; 2] {
        let even = match (self.splitting(), self.kappa()) {
            (None, _) => 0.0,
            (Some(Splitting::KaiserBessel(charge)), _) => 0.5 * charge.even() / volume,
            (Some(Splitting::Gaussian { alpha }), None) => -0.5 * PI / (alpha * alpha * volume),
            (Some(Splitting::Gaussian { alpha }), Some(kappa)) => {
                screened::uniform(alpha, kappa, volume, self.net_charge == NetCharge::Background)
            }
        };
        [-0.5 * self.smooth(0.0).0 * squares, even * sum * sum]
    }

    /// Checks that a system can have these forces in arithmetic of a precision.
    ///
    /// # Errors
    /// If it is not periodic, not neutral, a number makes no sense, or the accuracy is more than
    /// single precision or any mesh has.
    pub fn check(&self, system: &System, precision: Precision) -> Result<()> {
        if !(self.cutoff > 0.0 && self.cutoff.is_finite()) {
            return Err(Error::input(format!("cutoff = {} is not a positive number", self.cutoff)));
        }
        system.simbox.check_cutoff(self.cutoff)?;
        if let Method::ReactionField { dielectric } = self.method
            && (dielectric.is_nan() || dielectric < 1.0)
        {
            return Err(Error::input(format!("dielectric = {dielectric}, but it must be 1 or more")));
        }
        self.check_screening()?;
        let Some(alpha) = self.method.alpha() else { return Ok(()) };
        if system.simbox.periodic() != [true; 3] {
            return Err(Error::input("a sum over all images, but the box is open along an axis")
                .hint("choose kind = \"reaction-field\" or \"cutoff\", or make all axes periodic"));
        }
        let widest = match self.splitting() {
            Some(Splitting::KaiserBessel(_)) => KaiserBessel::WIDEST_SINGLE,
            _ => WIDEST_SINGLE,
        };
        if precision == Precision::Mixed && alpha * self.cutoff > widest {
            return Err(Error::input("this accuracy is more than single precision has")
                .hint("set precision = \"double\", or accuracy = 1e-6 or more"));
        }
        if let Method::Pme { order, spacing, .. } = self.method {
            check_mesh(&system.simbox, order, spacing)?;
        }
        let sizes = (0..system.state.len()).map(|index| system.charge(index).abs());
        let (total, sizes) = (system.total_charge(), sizes.sum::<f64>());
        let refused = self.net_charge == NetCharge::Refuse && self.kappa().is_none();
        if refused && total.abs() > 1e-6 * sizes {
            let total = (1e9 * total).round() / 1e9;
            return Err(Error::input(format!("the charge of the whole system is {total}, not 0")).hint(
                "add counter-ions, correct a charge, or set net_charge = \"background\" to neutralise it",
            ));
        }
        Ok(())
    }

    /// Checks the screening length.
    fn check_screening(&self) -> Result<()> {
        let length = self.screening_length;
        if length.is_nan() || length <= 0.0 {
            return Err(Error::input(format!("screening_length = {length} is not a positive number")));
        }
        if length.is_infinite() {
            return Ok(());
        }
        let pairs = "give a [[force]] of kind = \"yukawa\" instead";
        if self.method.alpha().is_none() {
            let message = "screening_length belongs to a sum over all images: \"pme\" or \"ewald\"";
            return Err(Error::input(message).hint(pairs));
        }
        if self.cutoff > screened::LONGEST * length {
            let message = format!(
                "the cut-off {} is more than {} screening lengths of {length}: nothing is left beyond it",
                self.cutoff,
                screened::LONGEST
            );
            return Err(Error::input(message).hint(pairs));
        }
        Ok(())
    }
}

/// Numbers of mesh points along the edges of a box: products of small primes, at spacings of at most
/// `spacing`.
pub fn mesh(simbox: &SimBox, order: usize, spacing: f64) -> [usize; 3] {
    simbox.edges().map(|edge| {
        let length = edge.iter().map(|x| x * x).sum::<f64>().sqrt();
        let least = ((length / spacing).ceil() as usize).max(2 * order);
        // Even, so that real transforms are half as long as complex ones.
        (least..).find(|n| n % 2 == 0 && is_smooth(*n)).unwrap_or(least)
    })
}

/// The most points of a mesh.
const MOST_POINTS: f64 = (1u64 << 30) as f64;

/// Refuses a mesh beyond the memory of any machine, before it is made.
fn check_mesh(simbox: &SimBox, order: usize, spacing: f64) -> Result<()> {
    let length = |edge: Vec3| edge.iter().map(|x| x * x).sum::<f64>().sqrt();
    let points = simbox.edges().map(|edge| (length(edge) / spacing).ceil().max(2.0 * order as f64));
    if points.iter().product::<f64>() <= MOST_POINTS {
        return Ok(());
    }
    let [x, y, z] = points.map(|n| if n < 1e6 { format!("{n}") } else { format!("{n:.3e}") });
    let [a, b, c] = simbox.lengths();
    Err(Error::input(format!(
        "this accuracy needs a mesh of {x} x {y} x {z} points in a box of {a:.3e} by {b:.3e} by {c:.3e}"
    ))
    .hint(
        "look at the box, or at the density it follows from; else choose a longer cut-off, above all where \
         charges are few, less accuracy, or kind = \"ewald\"",
    ))
}

fn is_smooth(mut n: usize) -> bool {
    for prime in [2, 3, 5, 7] {
        while n.is_multiple_of(prime) {
            n /= prime;
        }
    }
    n == 1
}

/// The charges of all atoms by id, times the root of this constant of Coulomb's.
pub(crate) fn scaled_charges(coulomb: f64, system: &System) -> Vec<f64> {
    let order = system.state.index_by_id().into_iter();
    order.map(|index| coulomb.sqrt() * system.charge(index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Dual;

    /// A mesh for ten charges in a box as wide as a hundred cut-offs.
    #[test]
    fn a_mesh_beyond_all_memory_is_refused() {
        let simbox = SimBox::orthorhombic([900.0; 3]).unwrap();
        let species = vec![jostle_core::Species { name: "A".into(), mass: 1.0, charge: 1.0 }];
        let mut system = System::new(simbox, species);
        (0..10).for_each(|k| system.state.push(0, [90.0 * f64::from(k); 3]));
        let composition = Composition::new(&system, simbox.volume()).unwrap();
        let check = |cutoff: f64| {
            let method = Method::pme_of(&composition, cutoff, 5e-4, 5, 0.0);
            let net_charge = NetCharge::Background;
            let term = Electrostatics { net_charge, ..Electrostatics::new(method, 1.0, cutoff) };
            term.check(&system, Precision::Mixed)
        };
        check(40.0).unwrap();
        let error = check(9.0).unwrap_err();
        assert!(error.message().contains("needs a mesh of"), "{error}");
        assert!(error.help().unwrap().contains("longer cut-off"), "{error}");
    }

    /// Force over distance is minus twice the derivative of the energy by r^2, for pairs and for
    /// excluded ones.
    #[test]
    fn forces_are_exact_derivatives() {
        let methods = [
            Method::Cutoff,
            Method::ReactionField { dielectric: 78.5 },
            Method::ReactionField { dielectric: f64::INFINITY },
            Method::ewald(9.0, 1e-6),
            Method::pme(9.0, 1e-4, 5),
        ];
        for method in methods {
            let term = Electrostatics::new(method, 1.0, 9.0);
            for r in [0.01, 0.3, 1.0, 2.5, 8.9] {
                for one in [0.0, 1.0] {
                    let r2 = Dual::variable(r * r);
                    let smooth = match term.splitting() {
                        None => reaction(r2, term.reaction().map(Dual::constant)),
                        Some(Splitting::Gaussian { alpha }) => gaussian::of_width(alpha, r2, gaussian),
                        Some(Splitting::KaiserBessel(charge)) => charge.within(r2),
                    };
                    let (energy, force) = direct(r2, Dual::constant(one), smooth);
                    let error = force.value + 2.0 * energy.slope;
                    let size = 1.0 + force.value.abs();
                    assert!(error.abs() < 1e-10 * size, "{method:?} {r} {one}: {error:e}");
                    assert!((smooth.0.value - term.smooth(r * r).0).abs() < 1e-14);
                }
            }
        }
    }

    #[test]
    fn a_reaction_field_ends_without_a_force_in_a_conductor() {
        let term = Electrostatics::new(Method::ReactionField { dielectric: f64::INFINITY }, 1.0, 2.0);
        let smooth = term.smooth(4.0);
        let (energy, force) = direct(4.0, 1.0, smooth);
        assert!(energy.abs() < 1e-15 && force.abs() < 1e-15);
    }

    #[test]
    fn meshes_are_products_of_small_primes() {
        let simbox = SimBox::orthorhombic([10.0, 12.1, 1.0]).unwrap();
        assert_eq!(mesh(&simbox, 5, 0.5), [20, 28, 10]);
    }
}
