//! All variables of a run: their values together, and the forces that follow from derivatives with them.

use crate::definition::{Arguments, Selections};
use crate::frame::{Frame, Gradient, TermEnergies};
use crate::group::{AtomList, Group, GroupStart, Surroundings, Weights};
use crate::variable::{Origin, Variable, VariableKind};
use jostle_core::{Error, Result, SimBox, SymTensor, UnitSystem, Vec3, Vector};
use serde::{Deserialize, Serialize};

/// Definition of a variable: its kind with the atoms and the parameters that an input chose.
#[derive(Debug, Clone)]
pub struct VariableDefinition {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: &'static VariableKind,
    /// Ids of the atoms of each selection.
    pub groups: Vec<Vec<u32>>,
    /// Weights of atoms in centres.
    pub weights: Weights,
    /// Parameters; the numbers of groups are found when the variables are put together.
    pub arguments: Arguments,
}

/// A variable with its name.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) kind: &'static VariableKind,
    pub(crate) variable: Box<dyn Variable>,
    /// Numbers of its groups.
    groups: Vec<usize>,
    /// Variables that it is a formula of.
    made_of: Vec<usize>,
}

/// Variables of a run.
pub struct Variables {
    list: AtomList,
    pub(crate) groups: Vec<Group>,
    pub(crate) all: Vec<Named>,
    /// Box when the run began.
    first_box: SimBox,
}

/// Facts about variables when the run began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VariablesStart {
    groups: Vec<GroupStart>,
    /// Origin, lengths and tilts of the box, and its periodic axes.
    shape: [Vec3; 3],
    periodic: [bool; 3],
}

/// Forces on the atoms of the list, and their virial.
#[derive(Debug, Clone, Default)]
pub struct AtomForces {
    /// Force on each atom of [`Variables::atoms`].
    pub forces: Vec<Vec3>,
    /// Virial.
    pub virial: SymTensor,
    /// Derivative of the energy with the potential energy of the forces of the run: times those forces and their
    /// virial, it gives forces and a virial that come on top.
    pub potential: f64,
}

impl Variables {
    /// Variables of a system as it is when the run begins.
    ///
    /// # Errors
    /// If a group is empty or parameters make no sense; the message begins with the name of the variable.
    pub fn new(definitions: &[VariableDefinition], surroundings: &Surroundings) -> Result<Self> {
        let first_box = *surroundings.simbox();
        let (groups, all) = (Vec::new(), Vec::new());
        let mut made = Variables { list: AtomList::default(), groups, all, first_box };
        for definition in definitions {
            let VariableDefinition { name, kind, groups, weights, arguments } = definition;
            let here = |e: Error| e.context(format!("variable '{name}'"));
            let mut arguments = arguments.clone();
            arguments.groups = (made.groups.len()..).take(groups.len()).collect();
            for atoms in groups {
                made.groups.push(surroundings.group(atoms, *weights, &mut made.list).map_err(here)?);
            }
            let own = arguments.groups.clone();
            let mut variable = (kind.build)(&arguments).map_err(here)?;
            variable.begin(&made.groups, &first_box).map_err(here)?;
            let made_of = arguments.formula.map_or_else(Vec::new, |formula| formula.variables);
            made.all.push(Named { name: name.clone(), kind, variable, groups: own, made_of });
        }
        Ok(made)
    }

    /// Ids of the atoms whose positions the variables need.
    pub fn atoms(&self) -> &[u32] {
        self.list.ids()
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true where there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Name of a variable.
    pub fn name(&self, variable: usize) -> &str {
        &self.all[variable].name
    }

    /// Unit of a variable.
    pub fn unit(&self, variable: usize, units: UnitSystem) -> String {
        self.all[variable].kind.unit.name(units)
    }

    /// Period of a variable.
    pub fn period(&self, variable: usize) -> Option<f64> {
        self.all[variable].variable.period()
    }

    /// Axes along which a force along the variable changes the total momentum of the atoms.
    pub fn axes_of_places(&self, variable: usize) -> [bool; 3] {
        let Named { kind, variable, made_of, .. } = &self.all[variable];
        let own = if kind.frame == Origin::Fixed { variable.axes_of_places() } else { [false; 3] };
        made_of.iter().fold(own, |axes, other| either(axes, self.axes_of_places(*other)))
    }

    /// Returns true where a variable is made of energies of the forces of a run.
    pub fn take_energies(&self) -> bool {
        self.all.iter().any(|named| named.kind.takes_energies())
    }

    /// Returns true where a variable follows from the potential energy of the forces of a run, by a formula or itself.
    pub fn follows_from_energies(&self, variable: usize) -> bool {
        let Named { kind, made_of, .. } = &self.all[variable];
        kind.takes_energies() || made_of.iter().any(|other| self.follows_from_energies(*other))
    }

    /// Name of the variable without a known derivative that this one is or is made of.
    pub fn without_gradient(&self, variable: usize) -> Option<&str> {
        let Named { name, variable, made_of, .. } = &self.all[variable];
        match variable.has_gradient() {
            true => made_of.iter().find_map(|other| self.without_gradient(*other)),
            false => Some(name),
        }
    }

    /// The variables at unwrapped positions of [`Variables::atoms`], where no forces are evaluated.
    ///
    /// # Errors
    /// If one of them is not defined there, or is an energy.
    pub fn evaluate<'a>(&'a self, simbox: &'a SimBox, unwrapped: &[Vec3]) -> Result<Evaluated<'a>> {
        self.evaluate_with(simbox, unwrapped, None)
    }

    /// The variables at unwrapped positions of [`Variables::atoms`], with energies of the forces there.
    ///
    /// # Errors
    /// If one of them is not defined there.
    pub fn evaluate_with<'a>(
        &'a self,
        simbox: &'a SimBox,
        unwrapped: &[Vec3],
        energies: Option<&'a TermEnergies>,
    ) -> Result<Evaluated<'a>> {
        let mut frame = Frame::new(simbox, &self.groups, unwrapped);
        frame.energies = energies;
        self.add_values(&mut frame, |_| true)?;
        Ok(Evaluated { variables: self, frame })
    }

    /// Values of the variables along a trajectory, whose energies are not known: NaN of those that follow from energies.
    ///
    /// # Errors
    /// As [`Variables::evaluate_with`].
    pub fn values_without_energies(&self, simbox: &SimBox, unwrapped: &[Vec3]) -> Result<Vec<f64>> {
        let mut frame = Frame::new(simbox, &self.groups, unwrapped);
        self.add_values(&mut frame, |k| !self.follows_from_energies(k))?;
        Ok(frame.values)
    }

    /// Adds the values of all variables to a frame, NaN of those that are not known.
    fn add_values(&self, frame: &mut Frame, is_known: impl Fn(usize) -> bool) -> Result<()> {
        for (k, Named { name, variable, .. }) in self.all.iter().enumerate() {
            if !is_known(k) {
                frame.values.push(f64::NAN);
                continue;
            }
            let here = |e: Error| e.context(format!("variable '{name}'"));
            let value = variable.value(frame).map_err(here)?;
            if !value.is_finite() {
                return Err(Error::simulation(format!("variable '{name}' is {value}, not a finite number")));
            }
            frame.values.push(value);
        }
        Ok(())
    }

    /// Difference that a function of the values of variables makes where one of the first `count` with a period has gone
    /// once round it, with the number of that variable, at these positions; `None` where it makes none.
    ///
    /// # Errors
    /// If a variable is not defined there.
    pub fn jump(
        &self,
        (simbox, unwrapped): (&SimBox, &[Vec3]),
        count: usize,
        function: impl Fn(&[f64]) -> f64,
    ) -> Result<Option<(usize, f64)>> {
        let mut frame = Frame::new(simbox, &self.groups, unwrapped);
        self.add_values(&mut frame, |k| !self.follows_from_energies(k))?;
        let values = frame.values.clone();
        // Formulas come after what they are made of, so that one pass gives the value at the end of a chain of them.
        let mut turned_to = |turned: usize, place: f64| {
            frame.values.clone_from(&values);
            frame.values[turned] = place;
            for (k, named) in self.all.iter().enumerate().skip(turned + 1) {
                if !named.made_of.is_empty() {
                    frame.values[k] = named.variable.value(&frame).unwrap_or(f64::NAN);
                }
            }
            function(&frame.values)
        };
        Ok((0..count).find_map(|turned| {
            let period = self.period(turned)?;
            let (a, b) = (turned_to(turned, -0.5 * period), turned_to(turned, 0.5 * period));
            let jump = b - a;
            (jump.abs() > 1e-6 * (1.0 + a.abs() + b.abs())).then_some((turned, jump))
        }))
    }

    /// Ids of the atoms with a weight in a variable, or in one that it is made of.
    pub fn weighing_atoms(&self, variable: usize) -> Vec<u32> {
        let parts = (0..self.all.len()).filter(|part| self.follows_from(variable, *part));
        let groups = parts.flat_map(|part| &self.all[part].groups).map(|group| &self.groups[*group]);
        let members = groups.flat_map(|group| group.places.iter().zip(&group.shares));
        members.filter(|(_, share)| **share > 0.0).map(|(place, _)| self.list.ids()[*place]).collect()
    }

    /// Returns true where the value of a variable follows from that of another one, or is that.
    fn follows_from(&self, variable: usize, other: usize) -> bool {
        variable == other || self.all[variable].made_of.iter().any(|part| self.follows_from(*part, other))
    }

    /// Refuses a value of a variable beyond which another image would be the nearest, in this box.
    ///
    /// # Errors
    /// If it is beyond.
    pub fn check_reach(&self, simbox: &SimBox, variable: usize, value: f64) -> Result<()> {
        match self.all[variable].variable.reach(simbox) {
            Some(reach) if value.abs() > reach => Err(self.turn(variable, value)),
            _ => Ok(()),
        }
    }

    /// Refuses values of which a bias on a variable would be wrong: this one or one that it is made of is about to jump.
    pub(crate) fn check_reaches(&self, simbox: &SimBox, variable: usize, values: &[f64]) -> Result<()> {
        let mut parts = (0..values.len()).filter(|other| self.follows_from(variable, *other));
        parts.try_for_each(|part| self.check_reach(simbox, part, values[part]))
    }

    fn turn(&self, variable: usize, value: f64) -> Error {
        let message = format!(
            "variable '{}' is {value:.5}, nearer than a hundredth of the box to where another image is the nearest: it jumps \
             there, which a bias on it has no force for",
            self.name(variable)
        );
        Error::simulation(message).hint(
            "make the box longer, or keep the variable away from there by the centre of a bias or a wall",
        )
    }

    /// Finds anew which images make groups whole, for frames that do not count the crossings of borders; reference
    /// positions stay.
    pub fn find_images(&mut self, surroundings: &Surroundings) {
        let ids = self.list.ids();
        for group in &mut self.groups {
            let atoms: Vec<u32> = group.places.iter().map(|place| ids[*place]).collect();
            group.start.images = surroundings.images(&atoms);
        }
    }

    /// Returns true where the molecules of a group are so far apart that [`Variables::find_images`] may choose other
    /// images in the next frame.
    pub fn have_loose_groups(&self, surroundings: &Surroundings) -> bool {
        let ids = self.list.ids();
        self.groups.iter().any(|group| {
            let atoms: Vec<u32> = group.places.iter().map(|place| ids[*place]).collect();
            surroundings.is_loose(&atoms)
        })
    }

    /// Facts about the start, for a checkpoint.
    pub fn start(&self) -> VariablesStart {
        let simbox = &self.first_box;
        VariablesStart {
            groups: self.groups.iter().map(|group| group.start.clone()).collect(),
            shape: [simbox.origin(), Vector(simbox.lengths()), Vector(simbox.tilts())],
            periodic: simbox.periodic(),
        }
    }

    /// Restores them.
    ///
    /// # Errors
    /// If they are those of other groups.
    pub fn restore(&mut self, start: VariablesStart) -> Result<()> {
        let fits = |(group, start): (&Group, &GroupStart)| {
            group.len() == start.images.len() && group.len() == start.positions.len()
        };
        let VariablesStart { groups, shape: [origin, lengths, tilts], periodic } = start;
        if groups.len() != self.groups.len() || !self.groups.iter().zip(&groups).all(fits) {
            return Err(Error::input("the checkpoint has variables of other atoms")
                .hint("begin a new run with this input"));
        }
        self.first_box = SimBox::new(origin, *lengths, *tilts, periodic)?;
        self.groups.iter_mut().zip(groups).for_each(|(group, start)| group.start = start);
        let Variables { all, groups, first_box, .. } = self;
        all.iter_mut().try_for_each(|named| named.variable.begin(groups, first_box))
    }
}

/// Variables at some positions.
pub struct Evaluated<'a> {
    variables: &'a Variables,
    frame: Frame<'a>,
}

impl Evaluated<'_> {
    /// Values of all variables.
    pub fn values(&self) -> &[f64] {
        &self.frame.values
    }

    /// Refuses positions at which a bias on a variable would be wrong: its value is about to jump, or that of one that it is
    /// made of, as other images of its centres become the nearest.
    ///
    /// # Errors
    /// If one is; the message names the variable.
    pub fn check_turns(&self, variable: usize) -> Result<()> {
        let all = &self.variables.all;
        let mut parts = (0..all.len()).filter(|part| self.variables.follows_from(variable, *part));
        match parts.find(|part| all[*part].variable.is_near_turn(&self.frame)) {
            Some(part) => Err(self.variables.turn(part, self.frame.values[part])),
            None => Ok(()),
        }
    }

    /// Forces of an energy with this derivative with each variable.
    pub fn forces(&self, slopes: &[f64]) -> AtomForces {
        let Variables { groups, all, list, .. } = self.variables;
        let (mut weights, mut gradient) = (slopes.to_vec(), Gradient::zero(groups));
        // A formula passes its weight on to variables before it.
        for (k, named) in all.iter().enumerate().rev() {
            let weight = weights[k];
            if weight != 0.0 {
                named.variable.add_weights(&self.frame, weight, &mut weights);
                named.variable.add_gradient(&self.frame, weight, &mut gradient);
            }
        }
        let forces = gradient.of_atoms(groups, list.ids().len());
        AtomForces {
            forces: forces.into_iter().map(|slope| slope.map(|x| -x)).collect(),
            virial: gradient.strain.map(|x| -x),
            potential: gradient.potential,
        }
    }
}

impl VariableDefinition {
    /// Refuses another number of groups than the kind has.
    ///
    /// # Errors
    /// If there are too many or too few.
    pub fn check(&self) -> Result<()> {
        let (wanted, given) = (self.kind.selections.count(), self.groups.len());
        if wanted == given {
            return Ok(());
        }
        let key = match self.kind.selections {
            Selections::None | Selections::One => "atoms",
            Selections::Two => "between",
            Selections::Several(_) => "centers",
        };
        Err(Error::input(format!("a {} has {wanted} selections in {key}, not {given}", self.kind.name)))
    }
}

/// Axes that are among those of either of two.
pub(crate) fn either(a: [bool; 3], b: [bool; 3]) -> [bool; 3] {
    std::array::from_fn(|axis| a[axis] || b[axis])
}
