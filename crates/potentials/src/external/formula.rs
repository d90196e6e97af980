//! Fields whose energy is a formula of the position, of time and of constants of an atom.

use crate::formula::tape::RecordedProgram;
use crate::formula::{Formula, Mistake};
use jostle_core::{Dual, Error, Real, Result, SimBox, System, Vec3, Vector};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// Positions that a formula takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Positions {
    /// Positions inside the box.
    #[default]
    Wrapped,
    /// Positions on unbroken paths.
    Unwrapped,
}

impl Positions {
    /// All of them.
    pub const ALL: [Positions; 2] = [Positions::Wrapped, Positions::Unwrapped];

    /// The name in the input file.
    pub fn name(self) -> &'static str {
        match self {
            Positions::Wrapped => "wrapped",
            Positions::Unwrapped => "unwrapped",
        }
    }

    /// Description of one line.
    pub fn about(self) -> &'static str {
        match self {
            Positions::Wrapped => "inside the box; at opposite faces the energy must be the same",
            Positions::Unwrapped => {
                "on the unbroken path of an atom, as the energy of a uniform field has them"
            }
        }
    }
}

/// Number that stands behind a name of a formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Quantity {
    /// Coordinate along an axis.
    Coordinate(usize),
    /// Time.
    Time,
    /// Constant of an atom, by its number.
    Constant(usize),
}

/// An energy of each atom: a formula of its position, of time and of its constants. Two fields are equal at any time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FormulaField {
    formula: Formula,
    /// Numbers by name, which are part of the formula.
    numbers: Vec<(String, f64)>,
    /// Quantities in the order of the formula's names.
    quantities: Vec<Quantity>,
    /// Energy and its derivatives, with coordinates, time and constants as inputs.
    program: RecordedProgram,
    /// Positions that it takes.
    pub positions: Positions,
    /// Time of its evaluation.
    pub time: f64,
    /// Number of constants of an atom, and these, by id.
    n_constants: usize,
    constants: Vec<f64>,
    /// Membership by id: 1 for the atoms it acts on and 0 for all others; empty where it acts on all.
    pub members: Vec<u32>,
}

impl PartialEq for FormulaField {
    fn eq(&self, other: &Self) -> bool {
        (&self.formula, &self.numbers, self.positions, &self.constants, &self.members)
            == (&other.formula, &other.numbers, other.positions, &other.constants, &other.members)
    }
}

/// Number of inputs before the constants: coordinates and time.
const BEFORE_CONSTANTS: usize = 4;

/// Place of time among inputs.
const TIME: usize = 3;

/// Names of coordinates and time.
const COORDINATES: [&str; BEFORE_CONSTANTS] = ["x", "y", "z", "time"];

/// Constants that every atom has.
const OF_EVERY_ATOM: [&str; 2] = ["mass", "charge"];

/// A source of the constants of atoms: by the name of a constant and the index of a species.
pub type SpeciesConstants<'a> = &'a dyn Fn(&str, usize) -> Option<f64>;

impl FormulaField {
    /// Name of its energy.
    pub const TERM: &'static str = "field";

    /// True where its energy depends on the coordinate along an axis.
    pub fn depends_on(&self, axis: usize) -> bool {
        self.quantities.contains(&Quantity::Coordinate(axis))
    }

    /// A field on all atoms of a system. Names stand for `x`, `y`, `z`, `time`, for `numbers`, for `mass` and
    /// `charge` of an atom (masses times `mass_unit` are those of the user), or for constants of all species.
    ///
    /// # Errors
    /// If the formula cannot be understood, or has a name that stands for nothing, with the place of the mistake.
    pub fn new(
        text: &str,
        numbers: &HashMap<String, f64>,
        system: &System,
        mass_unit: f64,
        constants: SpeciesConstants,
    ) -> std::result::Result<Self, Mistake> {
        let formula = Formula::with(text, numbers)?;
        let whole = |message: &str, hint: &str| Mistake {
            at: 0..text.len(),
            message: message.into(),
            hint: hint.into(),
        };
        if formula.depends_on_distance() {
            return Err(whole(
                "r is the distance of a pair, which a field has not",
                "write sqrt(x^2 + y^2 + z^2)",
            ));
        }
        let (mut names, mut quantities): (Vec<&String>, _) = (Vec::new(), Vec::new());
        for name in formula.parameters() {
            quantities.push(match COORDINATES.iter().position(|known| known == name) {
                Some(TIME) => Quantity::Time,
                Some(axis) => Quantity::Coordinate(axis),
                None => {
                    names.push(name);
                    Quantity::Constant(names.len() - 1)
                }
            });
        }
        let known = |name: &str| {
            let of_all = || (0..system.species.len()).all(|k| constants(name, k).is_some());
            OF_EVERY_ATOM.contains(&name) || (!system.species.is_empty() && of_all())
        };
        if let Some(name) = names.iter().find(|name| !known(name)) {
            return Err(Mistake {
                at: formula.place_of(name),
                message: format!("\"{name}\" stands for nothing here"),
                hint: "a field has x, y, z, time, mass, charge, numbers of parameters = { ... }, and constants that \
                       all species have"
                    .into(),
            });
        }
        let inputs = BEFORE_CONSTANTS + names.len();
        let program = RecordedProgram::record(inputs, |x| energy_and_slopes(&formula, &quantities, x));
        let program = program.ok_or_else(|| {
            whole("the formula is too long", "write it in fewer operations, or in two fields")
        })?;
        let index_by_id = system.state.index_by_id();
        let constant = |index: usize, name: &str| match name {
            "mass" => mass_unit * system.mass(index),
            "charge" => system.charge(index),
            _ => constants(name, usize::from(system.state.species[index])).unwrap_or(f64::NAN),
        };
        let of_atom = |index: usize| names.iter().map(move |name| constant(index, name)).collect::<Vec<_>>();
        let constants = index_by_id.iter().flat_map(of_atom).collect();
        let n_constants = names.len();
        let mut numbers: Vec<(String, f64)> = numbers.iter().map(|(name, x)| (name.clone(), *x)).collect();
        numbers.sort_by(|a, b| a.0.cmp(&b.0));
        let (positions, members) = (Positions::default(), Vec::new());
        Ok(FormulaField {
            formula,
            numbers,
            quantities,
            program,
            positions,
            time: 0.0,
            n_constants,
            constants,
            members,
        })
    }

    /// The formula as it was written.
    pub fn text(&self) -> &str {
        self.formula.text()
    }

    /// Returns true where the energy depends on time.
    pub fn depends_on_time(&self) -> bool {
        self.quantities.contains(&Quantity::Time)
    }

    /// Number of inputs: coordinates, time, and the constants of an atom.
    pub fn n_inputs(&self) -> usize {
        BEFORE_CONSTANTS + self.n_constants
    }

    /// Constants of all atoms, by id, so many of each.
    pub fn constants(&self) -> (usize, &[f64]) {
        (self.n_constants, &self.constants)
    }

    /// Lets it act on atoms with these ids only, of so many atoms.
    pub fn only(&mut self, atoms: impl Iterator<Item = u32>, n: usize) {
        self.members = vec![0; n];
        atoms.for_each(|id| self.members[id as usize] = 1);
    }

    /// Returns true where it acts on an atom.
    pub fn acts_on(&self, id: u32) -> bool {
        self.members.get(id as usize) != Some(&0)
    }

    /// Energy and its derivatives along the axes, for inputs as [`FormulaField::inputs`] has them.
    pub fn energy_and_slopes<R: Real>(&self, inputs: &[R]) -> Vec<R> {
        energy_and_slopes(&self.formula, &self.quantities, inputs)
    }

    /// Inputs for an atom, into a list: coordinates, time, constants.
    pub fn inputs(
        &self,
        simbox: &SimBox,
        id: u32,
        (mut position, mut image): (Vec3, [i32; 3]),
        mut take: impl FnMut(usize, f64),
    ) {
        match self.positions {
            Positions::Wrapped => simbox.wrap(&mut position, &mut image),
            Positions::Unwrapped => position += simbox.shift(image),
        }
        let first = id as usize * self.n_constants;
        let own = self.constants.get(first..first + self.n_constants).unwrap_or(&[]);
        let all = position.iter().chain([&self.time]).chain(own);
        all.enumerate().for_each(|(k, x)| take(k, *x));
    }

    /// Energy and force, for inputs; `results` are overwritten with those of all steps.
    #[inline(always)]
    pub fn evaluate<R: Real>(&self, inputs: &[R], results: &mut Vec<R>) -> (R, Vector<R>) {
        let [energy, x, y, z] = self.program.evaluate(inputs, results);
        (energy, Vector([-x, -y, -z]))
    }

    /// Energy of an atom and the force on it; zeros where the field does not act.
    pub fn on(&self, simbox: &SimBox, id: u32, place: (Vec3, [i32; 3])) -> (f64, Vec3) {
        if !self.acts_on(id) {
            return (0.0, Vec3::ZERO);
        }
        let mut inputs = vec![f64::NAN; self.n_inputs()];
        self.inputs(simbox, id, place, |k, x| inputs[k] = x);
        self.evaluate(&inputs, &mut Vec::new())
    }

    /// Energy at a time of atoms at unwrapped positions, which are given with their ids.
    pub fn energy(&self, simbox: &SimBox, atoms: impl Iterator<Item = (u32, Vec3)>, time: f64) -> f64 {
        let (mut inputs, mut results) = (vec![f64::NAN; self.n_inputs()], Vec::new());
        let one = |(id, position): (u32, Vec3)| {
            self.inputs(simbox, id, (position, [0; 3]), |k, x| inputs[k] = x);
            inputs[TIME] = time;
            self.evaluate(&inputs, &mut results).0
        };
        atoms.filter(|(id, _)| self.acts_on(*id)).map(one).sum()
    }

    /// Refuses an energy that jumps where atoms cross a face of the box.
    ///
    /// # Errors
    /// If it does, with the axis and the energies.
    pub fn check(&self, simbox: &SimBox) -> Result<()> {
        if self.positions == Positions::Unwrapped {
            return Ok(());
        }
        let mut results = Vec::new();
        let mut energy = |s: Vec3, constants: &[f64], time: f64| {
            let mut inputs = simbox.to_cartesian(s).to_vec();
            inputs.push(time);
            inputs.extend(constants);
            self.evaluate(&inputs, &mut results).0
        };
        for axis in (0..3).filter(|axis| simbox.periodic()[*axis]) {
            let mut faces: Vec<(Vec3, [f64; 2])> = Vec::new();
            // Energies between the faces tell what a small difference is: on a face they may all be zero but for rounding.
            // The middle one does, since the largest may be that near a pole.
            let mut inside = Vec::new();
            for (constants, time) in self.samples() {
                faces.extend((0..POINTS).map(|n| {
                    let mut s =
                        Vector([0.618_034, 0.414_214, 0.732_051]).map(|step| (f64::from(n) * step).fract());
                    let mut at = |place| {
                        s[axis] = place;
                        energy(s, constants, time)
                    };
                    inside.extend([0.11, 0.32, 0.53, 0.74, 0.95].map(|place| at(place).abs()));
                    let ends = [0.0, 1.0].map(at);
                    (s, ends)
                }));
            }
            // A pole at a face is none on both sides.
            faces.retain(|(_, ends)| ends.iter().any(|x| x.is_finite()));
            inside.retain(|size| size.is_finite() && *size > 0.0);
            inside.sort_unstable_by(f64::total_cmp);
            let usual = inside.get(inside.len() / 2).copied().unwrap_or(0.0);
            let ends = faces.iter().flat_map(|face| face.1).filter(|x| x.is_finite());
            let largest = ends.fold(usual, |most, x| most.max(x.abs()));
            let jump = |face: &&(Vec3, [f64; 2])| {
                let apart = (face.1[0] - face.1[1]).abs();
                !apart.is_finite() || apart > 1e-6 * largest
            };
            if let Some((s, [low, high])) = faces.iter().find(jump) {
                let (name, at) = (COORDINATES[axis], simbox.to_cartesian(*s));
                let message = format!(
                    "the energy jumps where an atom crosses the face of the box along {name}: from {high} to {low} at \
                     [{:.6}, {:.6}, {:.6}]",
                    at[0], at[1], at[2]
                );
                let length = simbox.lengths()[axis];
                return Err(Error::input(message).hint(format!(
                    "make it periodic, as cos(2 pi {name} / {length}) is; or open the box along {name}; or let it act \
                     along unbroken paths, by positions = \"unwrapped\""
                )));
            }
        }
        Ok(())
    }

    /// Constants of some atoms on which it acts, and times.
    fn samples(&self) -> Vec<(&[f64], f64)> {
        const ATOMS: usize = 8;
        let n = self.constants.len().checked_div(self.n_constants).unwrap_or(1);
        let constants = |id: usize| &self.constants[id * self.n_constants..(id + 1) * self.n_constants];
        let acting: Vec<usize> = (0..n).filter(|id| self.acts_on(*id as u32)).collect();
        let chosen = acting.iter().step_by(acting.len().div_ceil(ATOMS).max(1));
        let times: &[f64] = if self.depends_on_time() { &[0.0, 0.1234, 1.7, 23.1] } else { &[0.0] };
        chosen.flat_map(|id| times.iter().map(|time| (constants(*id), *time))).collect()
    }
}

/// Number of points on a face at which energies are compared.
const POINTS: u32 = 40;

/// Energy and its derivatives along the axes; inputs are coordinates, time and constants.
fn energy_and_slopes<R: Real>(formula: &Formula, quantities: &[Quantity], inputs: &[R]) -> Vec<R> {
    let place = |quantity: &Quantity| match *quantity {
        Quantity::Coordinate(axis) => axis,
        Quantity::Time => TIME,
        Quantity::Constant(k) => BEFORE_CONSTANTS + k,
    };
    let numbers: Vec<R> = quantities.iter().map(|quantity| inputs[place(quantity)]).collect();
    let slope = |axis: usize| {
        let dual = |(quantity, x): (&Quantity, &R)| {
            let own = *quantity == Quantity::Coordinate(axis);
            Dual { value: *x, slope: R::lit(f64::from(u8::from(own))) }
        };
        formula.constant(&quantities.iter().zip(&numbers).map(dual).collect::<Vec<_>>()).slope
    };
    std::iter::once(formula.constant(&numbers)).chain((0..3).map(slope)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Species;

    fn system() -> System {
        let simbox = SimBox::new([0.0; 3], [4.0, 5.0, 6.0], [0.0; 3], [true, true, false]).unwrap();
        let species = |name: &str, charge| Species { name: name.into(), mass: 2.0, charge };
        let mut system = System::new(simbox, vec![species("A", 1.0), species("B", -1.0)]);
        (0..4).for_each(|k| system.state.push(k % 2, [0.5 + f64::from(k), 1.0, 2.0]));
        system
    }

    fn field(text: &str) -> std::result::Result<FormulaField, Mistake> {
        let numbers = HashMap::from([("k".to_string(), 3.0)]);
        let radius = |name: &str, species: usize| (name == "radius").then_some(0.5 + species as f64);
        FormulaField::new(text, &numbers, &system(), 10.0, &radius)
    }

    #[test]
    fn names_are_coordinates_time_numbers_and_constants_of_atoms() {
        let mut field = field("k x y^2 + charge z time + 0.01 mass radius").unwrap();
        assert!(field.depends_on_time());
        field.time = 0.5;
        let simbox = system().simbox;
        let (energy, force) = field.on(&simbox, 1, (Vector([1.0, 2.0, 3.0]), [0; 3]));
        assert!((energy - (12.0 - 1.5 + 0.3)).abs() < 1e-12, "{energy}");
        for (f, exact) in force.iter().zip([-12.0, -12.0, 0.5]) {
            assert!((f - exact).abs() < 1e-12, "{force:?}");
        }
        let mistake = super::tests::field("x + lambda").unwrap_err();
        assert!(
            mistake.message.contains("\"lambda\" stands for nothing") && mistake.at == (4..10),
            "{mistake:?}"
        );
        assert!(super::tests::field("1/r").unwrap_err().message.contains("distance of a pair"));
    }

    /// Energies with a jump at a periodic face are refused, others are not.
    #[test]
    fn energies_that_jump_at_a_face_are_refused() {
        let simbox = system().simbox;
        let check = |text: &str| field(text).unwrap().check(&simbox);
        let error = check("(x - 1)^2").unwrap_err();
        assert!(error.message().contains("along x: from 9 to 1"), "{error}");
        check("(x - 2)^2").unwrap();
        check("z^2 + cos(pi y / 2.5) sin(pi x / 2)").unwrap();
        check("if((x - 2)^2 + (y - 2)^2 < 1, 1 - (x - 2)^2 - (y - 2)^2, 0)").unwrap();
        // One side of a face alone has a pole; or both have.
        for pole in ["log(x)", "1/y^2"] {
            assert!(check(pole).unwrap_err().message().contains("the energy jumps"), "{pole}");
        }
        check("1 / (x (4 - x))").unwrap();
        assert!(check("charge y sin(time)").unwrap_err().message().contains("along y"));
        let mut unwrapped = field("charge y sin(time)").unwrap();
        unwrapped.positions = Positions::Unwrapped;
        unwrapped.check(&simbox).unwrap();
    }

    /// Wrapped positions are inside the box, unwrapped ones on the path.
    #[test]
    fn positions_are_wrapped_or_unwrapped() {
        let mut field = field("x").unwrap();
        let at = (Vector([4.5, 1.0, 7.0]), [1, 0, 0]);
        let simbox = system().simbox;
        assert!((field.on(&simbox, 0, at).0 - 0.5).abs() < 1e-12);
        field.positions = Positions::Unwrapped;
        assert!((field.on(&simbox, 0, at).0 - 8.5).abs() < 1e-12);
        field.only([1].into_iter(), 4);
        assert_eq!(field.on(&simbox, 0, at), (0.0, Vec3::ZERO));
    }
}
