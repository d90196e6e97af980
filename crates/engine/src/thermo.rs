//! Thermodynamic quantities of the system: one list of quantities serves the columns of `thermo.csv`, the
//! averages and the summary.

use crate::deformation::stress;
use jostle_analysis::Whole;
use jostle_core::quantity::unit_name;
use jostle_core::simbox::mean_diagonal;
use jostle_core::{
    Backend, Dimension, Energies, Group, IdIndex, Kinetic, Result, SimBox, State, SymTensor, System,
    UnitSystem, Vec3, WholeGroups,
};
use jostle_io::input::model::Strain;
use jostle_potentials::Forces;
use jostle_potentials::external::FormulaField;

/// A quantity with its name and unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// Name in `thermo.csv` and `summary.json`.
    pub name: String,
    /// Unit; empty in reduced units.
    pub unit: String,
    /// Meaning of its mean.
    pub mean: Mean,
}

/// Meaning of the mean of a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mean {
    /// That of numbers.
    Plain,
    /// That of numbers in `summary.json`; a row of means has what the quantity has come to, as work and the centre of a
    /// bias that moves.
    AtRow,
    /// None: the quantity is on a circle, as a dihedral is, and has no average in `summary.json`.
    OnCircle,
}

impl Quantity {
    /// A quantity that has a mean.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Quantity { name: name.into(), unit: unit.into(), mean: Mean::Plain }
    }

    /// A quantity of the moment of a row.
    pub fn at_row(name: impl Into<String>, unit: impl Into<String>) -> Self {
        Quantity { mean: Mean::AtRow, ..Self::new(name, unit) }
    }
}

/// Thermodynamic quantities of the system at one step, in user units. Energies are those of all atoms
/// together.
#[derive(Debug, Clone, PartialEq)]
pub struct Thermo {
    /// The step, counted over all stages.
    pub step: u64,
    /// The simulated time.
    pub time: f64,
    /// Kinetic energy over half the degrees of freedom, over k_B.
    pub temperature: f64,
    /// Kinetic energy.
    pub kinetic: f64,
    /// Potential energy, long-range corrections included.
    pub potential: f64,
    /// Potential energy of each force, in the order of the input, then of each custom force.
    pub terms: Vec<f64>,
    /// Rotational energy of grains; `None` without grains.
    pub rotational: Option<f64>,
    /// Kinetic, rotational and potential energy.
    pub total: f64,
    /// Conserved quantity: the total energy less the energy drawn from thermostat and barostat. `None` for
    /// Langevin dynamics, minimisation, grains and boxes that are deformed, which have no conserved quantity.
    pub conserved: Option<f64>,
    /// Pressure (2 K + W) / 3 V; `None` in a box that is open along an axis and so has no volume, and with
    /// constraints before the first step.
    pub pressure: Option<f64>,
    /// Pressure tensor; `None` where the pressure is.
    pub pressure_tensor: Option<SymTensor>,
    /// Volume of the box; `None` if the box is open along an axis.
    pub volume: Option<f64>,
    /// Mass per volume, in the unit of [`UnitSystem::density_to_user`]; `None` where the volume is.
    pub density: Option<f64>,
    /// Strain of a deformed box since the beginning of the stage.
    pub strain: Option<f64>,
    /// Stress conjugate to the strain: for tension the stress along the axis less the mean of the other two,
    /// for shear the stress in the plane.
    pub stress: Option<f64>,
    /// Total momentum, with the mass in user units.
    pub momentum: Vec3,
    /// Groups that are reported, in the order of the input; empty where no row is due.
    pub groups: Vec<GroupThermo>,
    /// Kinetic energies of rigid bodies; `None` without any, and where no row is due.
    pub bodies: Option<BodyEnergies>,
    /// Energies by term and force of each interaction; empty where no row is due.
    pub interactions: Vec<InteractionSums>,
    /// Columns of custom forces, see [`crate::CustomForce::columns`]; `None` where one has no meaning.
    pub custom: Vec<Option<f64>>,
}

/// Thermodynamic quantities of a group at one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GroupThermo {
    /// Kinetic energy over half the degrees of freedom, over k_B; `None` without degrees of freedom.
    pub temperature: Option<f64>,
    /// Kinetic energy of the atoms that forces move.
    pub kinetic: f64,
    /// Centre of mass, by unwrapped positions.
    pub center: Vec3,
}

/// Kinetic energies of all rigid bodies together at one step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyEnergies {
    /// Of the motion of their centres of mass.
    pub translational: f64,
    /// Of their rotation about these.
    pub rotational: f64,
}

impl BodyEnergies {
    /// The energies in the order of their columns.
    fn values(self) -> [f64; 2] {
        [self.translational, self.rotational]
    }
}

/// Energies by term, in the order of [`crate::interaction::Interaction::terms`], and the force on the first group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InteractionSums {
    /// Energies.
    pub energies: Vec<f64>,
    /// Force of the second group on the first.
    pub force: Vec3,
}

impl InteractionSums {
    /// Values of [`crate::interaction::Interaction::columns`].
    pub fn values(&self) -> impl Iterator<Item = f64> + '_ {
        self.energies.iter().chain(&self.force).copied()
    }
}

/// Input of a [`Thermo`] besides the sums of a backend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThermoInput {
    pub units: UnitSystem,
    pub degrees_of_freedom: usize,
    pub atoms: AtomMotion,
    pub step: u64,
    pub time: f64,
    /// Total mass of the atoms.
    pub mass: f64,
    /// Kind of the deformation of the box and its present strain.
    pub strain: Option<(Strain, f64)>,
}

/// Meaning of the velocities of the atoms.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AtomMotion {
    /// Velocities of dynamics, with the heat drawn from the thermostat, where it is known; see
    /// [`jostle_core::Thermostat::heat`].
    Moving { heat: Option<f64> },
    /// Auxiliary velocities of a minimiser: the atoms count as at rest.
    AtRest,
}

impl AtomMotion {
    /// This motion with work that was done on the atoms besides, which counts like heat.
    pub(crate) fn with_work(self, work: f64) -> Self {
        match self {
            AtomMotion::Moving { heat } => AtomMotion::Moving { heat: heat.map(|heat| heat + work) },
            AtomMotion::AtRest => AtomMotion::AtRest,
        }
    }
}

impl ThermoInput {
    /// Quantities from the last evaluation of a backend, which must have included energies.
    pub(crate) fn read(&self, backend: &mut dyn Backend) -> Result<Thermo> {
        let sums = backend.kinetic()?;
        Ok(self.convert(backend.simbox(), backend.energies(), &sums))
    }

    /// Quantities from energies and kinetic sums.
    pub(crate) fn convert(&self, simbox: &SimBox, energies: &Energies, sums: &Kinetic) -> Thermo {
        let (sums, heat) = match self.atoms {
            AtomMotion::Moving { heat } => (*sums, heat),
            AtomMotion::AtRest => {
                let rotation = sums.rotation.map(|_| 0.0);
                (Kinetic { rotation, ..Kinetic::default() }, None)
            }
        };
        let (kinetic, units) = (sums.energy(), self.units);
        let potential = energies.potential();
        let total = kinetic + sums.rotation.unwrap_or(0.0) + potential;
        let heat = heat.filter(|_| sums.rotation.is_none());
        let volume = simbox.periodic().iter().all(|p| *p).then(|| simbox.volume());
        let pressure_tensor = volume.map(|volume| {
            let pressure = |k: usize| (2.0 * sums.tensor[k] + energies.virial[k]) / volume;
            std::array::from_fn(|k| units.pressure_to_user(pressure(k)))
        });
        let thermal = 0.5 * self.degrees_of_freedom as f64 * units.boltzmann();
        Thermo {
            step: self.step,
            time: self.time,
            temperature: if thermal > 0.0 { kinetic / thermal } else { 0.0 },
            kinetic,
            potential,
            terms: energies.terms.iter().chain(&energies.added).copied().collect(),
            rotational: sums.rotation,
            total,
            conserved: heat.map(|heat| total - heat),
            volume,
            density: volume.map(|volume| units.density_to_user(self.mass / volume)),
            strain: self.strain.map(|(_, strain)| strain),
            stress: self.strain.zip(pressure_tensor).map(|((mode, _), p)| stress(mode, &p)),
            pressure: pressure_tensor.as_ref().map(mean_diagonal),
            pressure_tensor,
            momentum: sums.momentum.map(|p| units.mass_to_user(p)),
            groups: Vec::new(),
            bodies: None,
            interactions: Vec::new(),
            custom: Vec::new(),
        }
    }
}

/// A group whose temperature is measured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reported {
    pub name: String,
    /// Ids of the atoms.
    atoms: Vec<u32>,
    /// Image of each atom that makes its molecule whole.
    images: Vec<[i32; 3]>,
    /// Mass of each atom of the group, and mass that counts for the kinetic energy: zero for driven atoms.
    masses: Vec<[f64; 2]>,
    /// Degrees of freedom of the atoms together.
    pub degrees_of_freedom: f64,
}

impl Reported {
    /// A group of a system, whose atoms have these degrees of freedom, by id; see [`crate::equipartition`].
    pub fn new(group: &Group, system: &System, whole: &WholeGroups, degrees: &[f64]) -> Self {
        let index_by_id = system.state.index_by_id();
        let moves = |id: u32| system.driven(index_by_id.of(id)).is_none();
        let mass = |id: &u32| system.mass(index_by_id.of(*id));
        let masses = group.atoms.iter().map(|id| [mass(id), if moves(*id) { mass(id) } else { 0.0 }]);
        let degrees_of_freedom = group.atoms.iter().map(|id| degrees[*id as usize]).sum();
        let images = group.atoms.iter().map(|id| whole.image_in_molecule(*id)).collect();
        let (name, atoms) = (group.name.clone(), group.atoms.clone());
        Reported { name, masses: masses.collect(), images, atoms, degrees_of_freedom }
    }

    /// Present quantities of the group; `index_by_id` belongs to the state. A system whose centre of mass rests along some
    /// axes lacks a degree of freedom for each, of which atoms have parts by their masses: `lost_per_mass`.
    pub fn measure(
        &self,
        units: UnitSystem,
        simbox: &SimBox,
        state: &State,
        index_by_id: &IdIndex,
        (atoms, lost_per_mass): (AtomMotion, f64),
    ) -> GroupThermo {
        let (mut kinetic, mut total, mut center) = (0.0, 0.0, Vec3::ZERO);
        for ((id, image), [mass, moving]) in self.atoms.iter().zip(&self.images).zip(&self.masses) {
            let index = index_by_id.of(*id);
            let r = state.unwrapped_position(simbox, index) + simbox.shift(*image);
            let v = state.velocity[index];
            kinetic += 0.5 * moving * v.iter().map(|v| v * v).sum::<f64>();
            total += mass;
            center += *mass * r;
        }
        if let AtomMotion::AtRest = atoms {
            kinetic = 0.0;
        }
        let lost = lost_per_mass * self.masses.iter().map(|[_, moving]| moving).sum::<f64>();
        let thermal = 0.5 * (self.degrees_of_freedom - lost) * units.boltzmann();
        GroupThermo {
            temperature: (thermal > 0.0).then(|| kinetic / thermal),
            kinetic,
            center: center / total,
        }
    }
}

/// The quantities of [`Thermo::values`], in the same order, with groups of these names.
pub fn quantities<'a>(
    units: UnitSystem,
    forces: &Forces,
    groups: impl IntoIterator<Item = &'a str>,
) -> Vec<Quantity> {
    let energy = unit_name(units, Dimension::ENERGY);
    let pressure = unit_name(units, Dimension::PRESSURE);
    let volume = unit_name(units, Dimension { length: 3, ..Dimension::NUMBER });
    let momentum = unit_name(units, Dimension { length: 1, time: -1, mass: 1, ..Dimension::NUMBER });
    let mut list = Vec::new();
    let mut add = |name: String, unit: &str| list.push(Quantity::new(name, unit));
    add("temperature".into(), &unit_name(units, Dimension::TEMPERATURE));
    for name in ["kinetic", "potential", "total", "conserved"] {
        add(name.into(), &energy);
    }
    for name in ["pressure", "pxx", "pyy", "pzz", "pxy", "pxz", "pyz"] {
        add(name.into(), &pressure);
    }
    add("volume".into(), &volume);
    add("density".into(), units.density_unit());
    add("strain".into(), "");
    add("stress".into(), &pressure);
    for name in ["momentum_x", "momentum_y", "momentum_z"] {
        add(name.into(), &momentum);
    }
    for name in term_names(forces) {
        add(name, &energy);
    }
    if forces.grains.is_some() {
        add("rotational".into(), &energy);
    }
    for name in groups {
        add(format!("temperature_{name}"), &unit_name(units, Dimension::TEMPERATURE));
        add(format!("kinetic_{name}"), &energy);
        for axis in ["x", "y", "z"] {
            add(format!("{axis}_{name}"), &unit_name(units, Dimension::LENGTH));
        }
    }
    list
}

/// Number of quantities before the energies of forces.
pub(crate) const BEFORE_ENERGIES: usize = 19;

/// Names of the energies of forces: the name of the potential, with a number where there are several of a
/// kind, which for fields is that of the input.
pub fn term_names(forces: &Forces) -> Vec<String> {
    let kinds = forces.kinds();
    let mut names = Vec::new();
    for (k, kind) in kinds.iter().enumerate() {
        let count = |kinds: &[&str]| kinds.iter().filter(|other| *other == kind).count();
        let name = kind.replace('-', "_");
        let before = count(&kinds[..k]);
        let of_input = forces.field_numbers.get(before).filter(|_| *kind == FormulaField::TERM);
        names.push(match count(&kinds) {
            1 => name,
            _ => format!("{name}_{}", of_input.copied().unwrap_or(before + 1)),
        });
    }
    names
}

impl Thermo {
    /// These quantities without the pressure, where the virial is not known.
    pub(crate) fn without_pressure(self) -> Self {
        Thermo { pressure: None, pressure_tensor: None, stress: None, ..self }
    }

    /// Input of measures of the whole system.
    pub(crate) fn whole(&self, units: UnitSystem, degrees_of_freedom: usize) -> Whole {
        let pressure = self.pressure_tensor.map(|tensor| tensor.map(|p| p / units.pressure_to_user(1.0)));
        let (kinetic, total) = (self.kinetic, self.total);
        Whole {
            kinetic,
            total,
            degrees_of_freedom,
            pressure,
            dipole: None,
            current: None,
            heat_current: None,
        }
    }

    /// The values of [`quantities`]; `None` where a quantity has no meaning.
    pub fn values(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        let some = [self.temperature, self.kinetic, self.potential, self.total];
        let tensor = (0..6).map(|k| self.pressure_tensor.map(|p| p[k]));
        some.into_iter()
            .map(Some)
            .chain([self.conserved, self.pressure])
            .chain(tensor)
            .chain([self.volume, self.density, self.strain, self.stress])
            .chain(self.momentum.map(Some))
            .chain(self.terms.iter().map(|e| Some(*e)))
            .chain(self.rotational.map(Some))
            .chain(self.groups.iter().flat_map(|group| {
                [group.temperature, Some(group.kinetic)].into_iter().chain(group.center.map(Some))
            }))
            .chain(self.bodies.into_iter().flat_map(BodyEnergies::values).map(Some))
            .chain(self.interactions.iter().flat_map(InteractionSums::values).map(Some))
            .chain(self.custom.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;
    use jostle_potentials::{PairKind, PairTerm, Truncation};

    #[test]
    fn every_value_has_its_column() {
        let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 2.5);
        let columns = quantities(UnitSystem::Real, &vec![lj.clone(), lj].into(), ["slab"]);
        assert_eq!(columns[BEFORE_ENERGIES].name, "lennard_jones_1");
        let thermo = Thermo {
            step: 0,
            time: 0.0,
            temperature: 1.0,
            kinetic: 2.0,
            potential: 3.0,
            terms: vec![20.0, 21.0],
            rotational: None,
            total: 4.0,
            conserved: Some(5.0),
            pressure: Some(6.0),
            pressure_tensor: Some([7.0, 8.0, 9.0, 10.0, 11.0, 12.0]),
            volume: Some(13.0),
            density: Some(14.0),
            strain: Some(15.0),
            stress: Some(16.0),
            momentum: Vector([17.0, 18.0, 19.0]),
            groups: vec![GroupThermo {
                temperature: Some(22.0),
                kinetic: 23.0,
                center: Vector([24.0, 25.0, 26.0]),
            }],
            bodies: None,
            interactions: vec![InteractionSums { energies: vec![27.0], force: Vector([28.0, 29.0, 30.0]) }],
            custom: Vec::new(),
        };
        let values: Vec<f64> = thermo.values().flatten().collect();
        assert_eq!(values, (1..=30).map(f64::from).collect::<Vec<_>>());
        let value = |name: &str| values[columns.iter().position(|c| c.name == name).unwrap()];
        assert_eq!(columns.len() + 4, values.len());
        assert_eq!([value("conserved"), value("pyz"), value("momentum_z")], [5.0, 12.0, 19.0]);
        assert_eq!([value("lennard_jones_1"), value("lennard_jones_2")], [20.0, 21.0]);
        assert_eq!([value("temperature_slab"), value("z_slab")], [22.0, 26.0]);
        assert_eq!(columns[1].unit, "kcal/mol");
        assert_eq!(columns[5].unit, "atm");
    }
}
