//! Resolution of a pair force: from the input file to the parameters of every pair of species.

use crate::mixing::Mixing;
use crate::pair::{Absent, MixesAs, PairKind, Parameter, Preset, Range};
use crate::term::{PairEntry, PairTerm};
use crate::truncation::Truncation;
use jostle_core::{Error, Result, Species, UnitSystem};

/// Choice of the input file for one pair of species.
#[derive(Debug, Clone, PartialEq)]
pub enum PairChoice {
    /// `"none"`: the two do not interact through this force.
    None,
    /// `{ epsilon = 1, sigma = 1 }`
    Given {
        /// Values in the order of [`PairKind::parameters`]; `None` where not given.
        parameters: Vec<Option<f64>>,
        /// The pair's own cut-off.
        cutoff: Option<f64>,
    },
}

/// Builds a [`PairTerm`] from what is said about pairs of species, one after the other.
///
/// Given values have priority. Absent ones follow from the charges of the two species (parameters with
/// [`Absent::FromCharges`], unless one of them has a value of its own), else, for unlike pairs, from the
/// mixing rule. Anything still open is an error: no two species are ever left without interaction unless
/// [`PairChoice::None`] says so.
///
/// ```
/// use jostle_core::Species;
/// use jostle_potentials::{Mixing, PairChoice, PairKind, PairTermBuilder, Truncation};
/// let species = |name: &str| Species { name: name.into(), mass: 1.0, charge: 0.0 };
/// let lj = |epsilon, sigma| PairChoice::Given {
///     parameters: vec![Some(epsilon), Some(sigma)],
///     cutoff: None,
/// };
/// let species = [species("A"), species("B")];
/// let term = PairTermBuilder::new(PairKind::LennardJones, Truncation::Plain, &species, 1.0)
///     .cutoff(2.5)
///     .mixing(Mixing::LorentzBerthelot)
///     .pair(["A", "A"], lj(1.0, 1.0))?
///     .pair(["B", "B"], lj(0.25, 0.8))?
///     .build()?;
/// assert_eq!(term.get(0, 1).unwrap().parameters, [0.5, 0.9]);
/// # Ok::<(), jostle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PairTermBuilder<'a> {
    kind: PairKind,
    truncation: Truncation,
    species: &'a [Species],
    coulomb: f64,
    cutoff: Option<f64>,
    mixing: Option<Mixing>,
    tail_correction: bool,
    /// Values for pairs without their own, by parameter.
    common: Vec<Option<f64>>,
    /// Square by rows, symmetric.
    choices: Vec<Option<PairChoice>>,
}

impl<'a> PairTermBuilder<'a> {
    /// A builder without any pair yet. `coulomb` is the Coulomb constant of the unit system
    /// ([`jostle_core::UnitSystem::coulomb`]).
    pub fn new(kind: PairKind, truncation: Truncation, species: &'a [Species], coulomb: f64) -> Self {
        let choices = vec![None; species.len() * species.len()];
        let (cutoff, mixing) = (None, None);
        PairTermBuilder {
            kind,
            truncation,
            species,
            coulomb,
            cutoff,
            mixing,
            tail_correction: false,
            common: vec![None; kind.parameters().len()],
            choices,
        }
    }

    /// The cut-off of all pairs that have none of their own.
    pub fn cutoff(mut self, cutoff: f64) -> Self {
        self.cutoff = Some(cutoff);
        self
    }

    /// Unlike pairs follow from like ones.
    pub fn mixing(mut self, rule: Mixing) -> Self {
        self.mixing = Some(rule);
        self
    }

    /// Energy and pressure are corrected for the tail beyond the cut-off.
    pub fn tail_correction(mut self) -> Self {
        self.tail_correction = true;
        self
    }

    /// A parameter that is the same for all pairs that give none. Pairs that nothing is said
    /// about interact then, too.
    ///
    /// # Errors
    /// If there is no such parameter, or the value makes no sense for it.
    pub fn common(mut self, name: &str, value: f64) -> Result<Self> {
        let Some(k) = self.kind.parameters().iter().position(|p| p.name == name) else {
            return Err(self.in_force(Error::input(format!("it has no parameter {name}"))));
        };
        check(value, &self.kind.parameters()[k]).map_err(|e| self.in_force(e))?;
        self.common[k] = Some(value);
        Ok(self)
    }

    /// A published set of parameters, converted into `units`.
    ///
    /// # Errors
    /// If the units are reduced and those of the set are not.
    pub fn preset(mut self, preset: &Preset, units: UnitSystem) -> Result<Self> {
        for (name, value) in preset.values {
            let dimension = self.kind.parameters().iter().find(|p| p.name == *name).map(|p| p.dimension);
            let scale = |units: UnitSystem| units.from_si(dimension?);
            let factor = scale(units).zip(scale(preset.units)).map(|(here, there)| here / there);
            let Some(factor) = factor.or((units == preset.units).then_some(1.0)) else {
                return Err(self.in_force(
                    Error::input(format!(
                        "preset = \"{}\" has units, but units = \"{units}\" are reduced",
                        preset.name
                    ))
                    .hint(format!("choose units = \"{}\"", preset.units)),
                ));
            };
            self = self.common(name, value * factor)?;
        }
        Ok(self)
    }

    /// Says what a pair of species does.
    ///
    /// # Errors
    /// If a species is unknown, the pair has been mentioned before, or a number makes no sense.
    pub fn pair(mut self, names: [&str; 2], choice: PairChoice) -> Result<Self> {
        self.say(names, choice).map_err(|e| self.in_force(e))?;
        Ok(self)
    }

    /// The term, with the parameters of every pair.
    ///
    /// # Errors
    /// If the options contradict each other or the potential, or a pair is left without a
    /// parameter or a cut-off; the message names the pair and the parameter.
    pub fn build(self) -> Result<PairTerm> {
        self.resolve().map_err(|e| self.in_force(e))
    }

    fn say(&mut self, names: [&str; 2], choice: PairChoice) -> Result<()> {
        let [a, b] = [self.index(names[0])?, self.index(names[1])?];
        if self.choice(a, b).is_some() {
            let error = self.in_pair(Error::input("it is given twice"), a, b);
            return Err(error.hint(format!(
                "keep one of them; the order of {} and {} does not matter",
                names[0], names[1]
            )));
        }
        self.check_choice(&choice).map_err(|e| self.in_pair(e, a, b))?;
        let n = self.species.len();
        self.choices[a * n + b] = Some(choice.clone());
        self.choices[b * n + a] = Some(choice);
        Ok(())
    }

    fn check_choice(&self, choice: &PairChoice) -> Result<()> {
        let PairChoice::Given { parameters, cutoff } = choice else { return Ok(()) };
        for (value, parameter) in parameters.iter().zip(self.kind.parameters()) {
            value.map_or(Ok(()), |value| check(value, parameter))?;
        }
        cutoff.map_or(Ok(()), |cutoff| self.check_cutoff(cutoff))
    }

    fn resolve(&self) -> Result<PairTerm> {
        self.check_options()?;
        let mut term = PairTerm::new(self.kind, self.truncation, self.species.len());
        let n = self.species.len();
        let like = (0..n).map(|a| (a, a));
        let unlike = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        for (a, b) in like.chain(unlike) {
            if let Some(entry) = self.entry(a, b).map_err(|e| self.in_pair(e, a, b))? {
                term.set(a, b, entry);
            }
        }
        if self.tail_correction { term.with_tail_correction() } else { Ok(term) }
    }

    /// Checks what concerns the force as a whole.
    fn check_options(&self) -> Result<()> {
        self.cutoff.map_or(Ok(()), |cutoff| self.check_cutoff(cutoff))?;
        if let Some(from) = self.truncation.switches_from()
            && !(from > 0.0 && from < 1.0)
        {
            return Err(Error::input(format!(
                "switching starts at {from} of the cut-off, which is not between 0 and 1"
            )));
        }
        let Some(rule) = self.mixing else { return Ok(()) };
        if !self.kind.mixes() {
            return Err(Error::input(format!(
                "mixing = \"{}\", but there is no mixing rule for its parameters",
                rule.name()
            ))
            .hint("leave out mixing and give the parameters of every pair"));
        }
        let has_size = self.kind.parameters().iter().any(|p| p.mixes_as == MixesAs::Size);
        if rule == Mixing::SixthPower && !has_size {
            return Err(Error::input("mixing = \"sixth-power\" needs a potential with a diameter")
                .hint("use mixing = \"geometric\""));
        }
        Ok(())
    }

    fn check_cutoff(&self, cutoff: f64) -> Result<()> {
        if self.kind.ends_by_itself() {
            return Err(Error::input(format!("cutoff = {cutoff}, but {} ends by itself", self.kind.name()))
                .hint("leave out cutoff: it follows from the other parameters"));
        }
        if !(cutoff > 0.0 && cutoff.is_finite()) {
            return Err(Error::input(format!("cutoff = {cutoff} is not a positive number")));
        }
        Ok(())
    }

    /// Interaction of two species; `None` if there is none.
    fn entry(&self, a: usize, b: usize) -> Result<Option<PairEntry>> {
        let (given, own_cutoff) = match self.choice(a, b) {
            Some(PairChoice::None) => return Ok(None),
            Some(PairChoice::Given { parameters, cutoff }) => (parameters.as_slice(), *cutoff),
            None if self.has_common() || a != b && self.mixing.is_some() => (&[][..], None),
            None => return Err(self.nothing_said(a, b)),
        };
        let mut parameters = Vec::new();
        for (k, parameter) in self.kind.parameters().iter().enumerate() {
            let value = match given.get(k).copied().flatten().or(self.common[k]) {
                Some(value) => value,
                None => self.derive(k, parameter, a, b)?,
            };
            check(value, parameter)?;
            parameters.push(value);
        }
        let cutoff = self.kind.natural_cutoff(&parameters).or(own_cutoff).or(self.cutoff);
        let Some(cutoff) = cutoff else {
            return Err(Error::input("there is no cut-off")
                .hint("give cutoff = ... to the force, or to this pair alone"));
        };
        let entry = PairEntry { parameters, cutoff };
        let coefficients = self.kind.coefficients(self.truncation, &entry.parameters, cutoff);
        if coefficients.iter().any(|c| !c.is_finite()) {
            return Err(Error::input("with these parameters the energy is not a finite number")
                .hint("check their magnitudes and units"));
        }
        Ok(Some(entry))
    }

    fn has_common(&self) -> bool {
        self.common.iter().any(Option::is_some)
    }

    /// A parameter that the pair itself does not give: from the charges or by mixing.
    fn derive(&self, k: usize, parameter: &Parameter, a: usize, b: usize) -> Result<f64> {
        let own = [self.own(a, k), self.own(b, k)];
        let charges = [self.species[a].charge, self.species[b].charge];
        if parameter.absent == Absent::FromIsospin {
            let isospin = charges.map(|q| if q == 0.0 { -1.0 } else { 1.0 });
            return Ok(isospin[0] * isospin[1]);
        }
        let charged = parameter.absent == Absent::FromCharges && charges.iter().all(|q| *q != 0.0);
        if charged && own == [None, None] {
            return Ok(self.coulomb * charges[0] * charges[1]);
        }
        let Some(rule) = self.mixing.filter(|_| a != b) else {
            return Err(self.missing(parameter, a, b));
        };
        let values = [self.like(a, k, parameter)?, self.like(b, k, parameter)?];
        let value = match parameter.mixes_as {
            MixesAs::Size => rule.size(values),
            MixesAs::Energy => rule.energy(values, self.sizes(a, b)?),
            MixesAs::Shared if values[0] == values[1] => values[0],
            MixesAs::Shared | MixesAs::Never => f64::NAN,
        };
        if value.is_nan() {
            let [x, y] = values;
            return Err(Error::input(format!("{} cannot be mixed from {x} and {y}", parameter.name))
                .hint(format!("give {} for this pair", parameter.name)));
        }
        Ok(value)
    }

    /// A parameter that a species' interaction with itself gives.
    fn own(&self, a: usize, k: usize) -> Option<f64> {
        match self.choice(a, a)? {
            PairChoice::None => None,
            PairChoice::Given { parameters, .. } => parameters.get(k).copied().flatten(),
        }
    }

    /// A parameter of a species' interaction with itself, given or from its charge.
    fn like(&self, a: usize, k: usize, parameter: &Parameter) -> Result<f64> {
        if let Some(value) = self.own(a, k) {
            return Ok(value);
        }
        match self.choice(a, a) {
            None if !self.has_common() => Err(self.in_pair(self.nothing_said(a, a), a, a)),
            Some(PairChoice::None) => Err(Error::input(format!(
                "{} cannot be mixed, because {} is \"none\"",
                parameter.name,
                self.pair_name(a, a)
            ))
            .hint("give the parameters of this pair, or \"none\" if the two do not interact")),
            None | Some(PairChoice::Given { .. }) => self.derive(k, parameter, a, a),
        }
    }

    /// The diameters of two species, for rules that need them to mix energies.
    fn sizes(&self, a: usize, b: usize) -> Result<[f64; 2]> {
        match self.kind.parameters().iter().position(|p| p.mixes_as == MixesAs::Size) {
            Some(k) => {
                let parameter = &self.kind.parameters()[k];
                Ok([self.like(a, k, parameter)?, self.like(b, k, parameter)?])
            }
            None => Ok([1.0; 2]),
        }
    }

    fn choice(&self, a: usize, b: usize) -> Option<&PairChoice> {
        self.choices[a * self.species.len() + b].as_ref()
    }

    fn index(&self, name: &str) -> Result<usize> {
        self.species.iter().position(|s| s.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.species.iter().map(|s| s.name.as_str()).collect();
            Error::input(format!("there is no species '{name}'"))
                .hint(format!("the species are {}", known.join(", ")))
        })
    }

    fn pair_name(&self, a: usize, b: usize) -> String {
        format!("{}-{}", self.species[a].name, self.species[b].name)
    }

    fn in_force(&self, error: Error) -> Error {
        error.context(format!("force {}", self.kind.name()))
    }

    fn in_pair(&self, error: Error, a: usize, b: usize) -> Error {
        error.context(format!("pair {}", self.pair_name(a, b)))
    }

    fn nothing_said(&self, a: usize, b: usize) -> Error {
        let rule = if a != b && self.kind.mixes() { ", choose a mixing rule" } else { "" };
        let pair = self.pair_name(a, b);
        Error::input("nothing is said about it").hint(format!(
            "give pairs.\"{pair}\" = {{ ... }}{rule}, or pairs.\"{pair}\" = \"none\" if the two do not interact"
        ))
    }

    fn missing(&self, parameter: &Parameter, a: usize, b: usize) -> Error {
        let error = Error::input(format!("{} ({}) is missing", parameter.name, parameter.about));
        match parameter.absent {
            Absent::Refused | Absent::FromIsospin => error.hint(format!("add {} = ...", parameter.name)),
            Absent::FromCharges => {
                let neutral = if self.species[a].charge == 0.0 { a } else { b };
                error.hint(format!(
                    "add {} = ..., or give a charge to species {}",
                    parameter.name, self.species[neutral].name
                ))
            }
        }
    }
}

/// Refuses values outside the range of a parameter.
pub(crate) fn check(value: f64, parameter: &Parameter) -> Result<()> {
    let wanted = match parameter.range {
        Range::Positive if value <= 0.0 => "greater than zero",
        Range::NonNegative if value < 0.0 => "zero or greater",
        Range::Turns if !(1..=Range::MOST_TURNS).any(|n| value == f64::from(n)) => {
            "a whole number from 1 to 6"
        }
        _ if !value.is_finite() => "a finite number",
        _ => return Ok(()),
    };
    Err(Error::input(format!("{} = {value}, but it must be {wanted}", parameter.name)))
}
