//! The dipole moment of all molecules, and the current of their charges.

use jostle_analysis::Polarity;
use jostle_core::{Error, Molecules, Result, SimBox, Species, State, System, Topology, Vec3};
use jostle_io::Input;
use jostle_io::input::model::ElectrostaticsKind;

/// Charge of a neutral molecule over the largest charge of an atom, at most: force fields round their
/// charges.
const ROUNDING: f64 = 1e-3;

/// Charges of atoms and their molecules.
pub struct Dipoles {
    molecules: Molecules,
    /// The charges, by id.
    charges: Vec<f64>,
}

impl Dipoles {
    /// The dipoles of a system.
    pub fn of(system: &System) -> Self {
        Dipoles::new(&system.topology, &system.species, &system.charges, &system.state)
    }

    /// The dipoles of the molecules of a topology; `charges` by id, empty where the charges of species apply.
    pub(crate) fn new(topology: &Topology, species: &[Species], charges: &[f64], state: &State) -> Self {
        let of_species = |index: usize| species[usize::from(state.species[index])].charge;
        let charges = match charges {
            [] => state.index_by_id().into_iter().map(of_species).collect(),
            charges => charges.to_vec(),
        };
        Dipoles { molecules: Molecules::new(topology, species, state), charges }
    }

    /// The molecules.
    pub(crate) fn molecules(&self) -> &Molecules {
        &self.molecules
    }

    /// Classification of the molecules: without charges, neutral, or with ions, whose dipole moment is
    /// undefined.
    pub fn polarity(&self) -> Polarity {
        let largest = self.charges.iter().fold(0.0, |most: f64, q| most.max(q.abs()));
        if largest == 0.0 {
            return Polarity::Uncharged;
        }
        let mut sums = vec![0.0; self.molecules.count()];
        self.charges.iter().enumerate().for_each(|(id, q)| sums[self.molecules.of_atoms()[id] as usize] += q);
        let charge = |atom: usize| sums[self.molecules.of_atoms()[atom] as usize];
        match (0..self.charges.len()).find(|atom| charge(*atom).abs() > ROUNDING * largest) {
            Some(atom) => Polarity::Ions { atom, charge: charge(atom) },
            None => Polarity::Neutral,
        }
    }

    /// Total dipole moment of neutral molecules, each made whole across periodic boundaries, in charge times
    /// length.
    ///
    /// # Errors
    /// If a molecule is bound to its own image.
    pub fn moment(&self, simbox: &SimBox, state: &State) -> Result<Vec3> {
        let arms = self.molecules.arms(simbox, state)?;
        let charges = state.id.iter().map(|id| self.charges[*id as usize]);
        let mut moment = Vec3::ZERO;
        for (arm, charge) in arms.iter().zip(charges) {
            moment += charge * *arm;
        }
        Ok(moment)
    }

    /// Electric current of all charges, the change of the dipole moment with time, in charge times velocity.
    pub fn current(&self, state: &State) -> Vec3 {
        let mut current = Vec3::ZERO;
        for (id, velocity) in state.id.iter().zip(&state.velocity) {
            current += self.charges[*id as usize] * *velocity;
        }
        current
    }
}

/// Refuses electrostatics for which the fluctuations of the dipole moment do not give the dielectric constant
/// by the formula for conducting boundary conditions.
///
/// # Errors
/// If the surroundings of the periodic images are no conductor, or charges are screened.
pub fn check_conductor(input: &Input) -> Result<()> {
    let conducts = |kind| match kind {
        ElectrostaticsKind::Pme { .. } | ElectrostaticsKind::Ewald { .. } => true,
        ElectrostaticsKind::ReactionField { dielectric } => dielectric.is_none(),
        ElectrostaticsKind::Cutoff => false,
    };
    let given = input.electrostatics.as_ref().map(|given| &given.value);
    if given.is_some_and(|given| given.screening.is_none() && conducts(given.kind)) {
        return Ok(());
    }
    Err(Error::input("fluctuations of the dipole moment mean something else without a conductor around the images of the box")
        .hint("[electrostatics] with kind = \"pme\" or \"ewald\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};
    use jostle_core::{Bond, Vector};

    const MOLECULES: usize = 100;
    const CHARGE: f64 = 0.5;
    const LENGTH: f64 = 2.0;

    fn dumbbells(charges: [f64; 2]) -> (Topology, Vec<Species>) {
        let species = [2.0, 3.0].iter().zip(charges).map(|(mass, charge)| Species {
            name: "A".into(),
            mass: *mass,
            charge,
        });
        let bonds = (0..MOLECULES as u32).map(|k| Bond { kind: 0, atoms: [2 * k, 2 * k + 1] }).collect();
        (Topology { bonds, ..Topology::default() }, species.collect())
    }

    /// Dumbbells at random positions and in random orientations, whole and wrapped.
    fn gas(simbox: &SimBox, frame: u64) -> [State; 2] {
        let mut stream = Stream::new(frame, Purpose::Placement, 0, 0);
        let (mut whole, mut wrapped) = (State::default(), State::default());
        for _ in 0..MOLECULES {
            let first = simbox.to_cartesian(Vector([0; 3].map(|_| stream.uniform())));
            let way = stream.direction();
            for (species, r) in [(0, first), (1, first + LENGTH * way)] {
                whole.push(species, r);
                let (mut r, mut image) = (r, [0; 3]);
                simbox.wrap(&mut r, &mut image);
                wrapped.push(species, r);
            }
        }
        // The storage order differs from the order of ids.
        let order: Vec<u32> = (0..2 * MOLECULES as u32).rev().collect();
        wrapped.permute(&order);
        [whole, wrapped]
    }

    /// <M^2> = N mu^2 for independent dipoles, and molecules broken across the boundary of the box give the
    /// same moment as whole ones.
    #[test]
    fn independent_dipoles_add_up() {
        let simbox = SimBox::new([0.0; 3], [9.0, 10.0, 11.0], [2.0, -1.0, 1.0], [true; 3]).unwrap();
        let (topology, species) = dumbbells([-CHARGE, CHARGE]);
        let (frames, mut square) = (400, 0.0);
        for frame in 0..frames {
            let [whole, wrapped] = gas(&simbox, frame);
            let moment = |state: &State| {
                let dipoles = Dipoles::new(&topology, &species, &[], state);
                assert_eq!(dipoles.polarity(), Polarity::Neutral);
                dipoles.moment(&simbox, state).unwrap()
            };
            let (a, b) = (moment(&whole), moment(&wrapped));
            assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-12), "{a:?} {b:?}");
            let direct = Vec3::from_fn(|k| {
                whole
                    .position
                    .iter()
                    .zip(&whole.species)
                    .map(|(r, s)| CHARGE * [-1.0, 1.0][usize::from(*s)] * r[k])
                    .sum()
            });
            assert!((0..3).all(|k| (a[k] - direct[k]).abs() < 1e-9), "{a:?} {direct:?}");
            square += a.iter().map(|x| x * x).sum::<f64>() / frames as f64;
        }
        let expected = MOLECULES as f64 * (CHARGE * LENGTH).powi(2);
        // M^2 of three Gaussian components varies by sqrt(2/3) of itself; four standard errors.
        let error = expected * (2.0 / 3.0 / frames as f64).sqrt();
        assert!((square - expected).abs() < 4.0 * error, "{square} {expected}");
    }

    #[test]
    fn ions_and_atoms_without_charges_are_distinguished() {
        let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
        let [state, _] = gas(&simbox, 1);
        let polarity = |of_species: [f64; 2], charges: &[f64]| {
            let (topology, species) = dumbbells(of_species);
            Dipoles::new(&topology, &species, charges, &state).polarity()
        };
        assert_eq!(polarity([0.0; 2], &[]), Polarity::Uncharged);
        let ions = polarity([-1.0, 1.5], &[]);
        assert_eq!(ions, Polarity::Ions { atom: 0, charge: 0.5 });
        // Charges of atoms take precedence over charges of species.
        let mut charges: Vec<f64> = (0..2 * MOLECULES).map(|k| if k % 2 == 0 { 0.3 } else { -0.3 }).collect();
        assert_eq!(polarity([-1.0, 1.5], &charges), Polarity::Neutral);
        charges[7] = 0.7;
        assert!(matches!(polarity([0.0; 2], &charges), Polarity::Ions { atom: 6, .. }));
    }
}
