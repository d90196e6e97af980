//! One configuration: its energies and forces.

use crate::build::check_reciprocal_memory;
use crate::custom_force::{CustomForce, EnergyColumn};
use crate::degrees_of_freedom::DegreesOfFreedom;
use crate::device;
use crate::device_with_forces::DeviceWithForces;
use crate::force_context::FieldsInTime;
use crate::stage::rest_center_of_mass;
use crate::thermo::{AtomMotion, Quantity, Thermo, ThermoInput, term_names};
use jostle_core::{
    AtomStorage, Backend, DeviceReport, Evaluate, ForceEvaluation, Result, Settings, SubSteps, SymTensor,
    System, UnitSystem, Vec3,
};
use jostle_io::input::model::DeviceInput;
use jostle_potentials::Forces;

/// Energies and forces of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct SinglePoint {
    /// Energies, temperature and pressure.
    pub thermo: Thermo,
    /// Names of `thermo.terms`: those of the forces of the device, then those of custom forces.
    pub term_names: Vec<String>,
    /// Columns of custom forces, see [`CustomForce::columns`], with their values.
    pub columns: Vec<(Quantity, Option<f64>)>,
    /// Virial tensor, an energy; see [`jostle_core::Energies::virial`].
    pub virial: SymTensor,
    /// The force on every atom, in the order of ids.
    pub forces: Vec<Vec3>,
    /// Description of the device.
    pub device: String,
}

/// Computes energies and forces of a system as it is; kinetic energies are about the centre of mass where forces conserve
/// momentum, as in a run.
///
/// ```
/// use jostle_core::{Settings, SimBox, Species, System, UnitSystem};
/// use jostle_engine::{model::DeviceInput, single_point};
/// use jostle_potentials::{PairKind, PairTerm, Truncation};
/// let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
/// let mut system = System::new(SimBox::orthorhombic([10.0; 3])?, vec![argon]);
/// system.state.push(0, [1.0, 1.0, 1.0]);
/// system.state.push(0, [1.0, 1.0, 1.0 + 2f64.powf(1.0 / 6.0)]);
/// let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 2.5);
/// let point = single_point(UnitSystem::Lj, system, vec![lj], DeviceInput::Cpu, Settings::default())?;
/// assert!((point.thermo.potential + 1.0).abs() < 1e-5); // the well, one epsilon deep
/// # Ok::<(), jostle_core::Error>(())
/// ```
///
/// # Errors
/// If the system and the forces do not fit together, or a force is not finite.
pub fn single_point(
    units: UnitSystem,
    system: System,
    forces: impl Into<Forces>,
    device: DeviceInput,
    settings: Settings,
) -> Result<SinglePoint> {
    single_point_with(units, system, forces, (device, None), settings, Vec::new())
}

/// Computes energies and forces of a system as it is, those of the host included, on a device or on so many ranks.
///
/// # Errors
/// As for [`single_point`], and if a force of the host cannot be computed.
pub fn single_point_with(
    units: UnitSystem,
    system: System,
    forces: impl Into<Forces>,
    (device, ranks): (DeviceInput, Option<usize>),
    settings: Settings,
    custom: Vec<Box<dyn CustomForce>>,
) -> Result<SinglePoint> {
    // One evaluation takes less time than starting a GPU, which is therefore used only on request.
    let device = if device == DeviceInput::Auto { DeviceInput::Cpu } else { device };
    evaluate(units, system, forces.into(), settings, custom, |system, forces, settings| {
        device::open_on((device, ranks), system, forces, settings).map(|opened| opened.backend)
    })
}

/// Computes energies and forces of a system as it is, on the backend that `open` makes.
///
/// # Errors
/// As for [`single_point`].
pub fn single_point_by(
    units: UnitSystem,
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
    open: impl FnOnce(System, Forces, Settings) -> Result<Box<dyn Backend>>,
) -> Result<SinglePoint> {
    evaluate(units, system, forces.into(), settings, Vec::new(), open)
}

/// The evaluation itself.
fn evaluate(
    units: UnitSystem,
    system: System,
    forces: Forces,
    settings: Settings,
    custom: Vec<Box<dyn CustomForce>>,
    open: impl FnOnce(System, Forces, Settings) -> Result<Box<dyn Backend>>,
) -> Result<SinglePoint> {
    let (mut term_names, mut degrees) = (term_names(&forces), DegreesOfFreedom::new(&system, &forces));
    let n_atoms = system.state.len();
    let mass: f64 = (0..n_atoms).map(|index| system.mass(index)).sum();
    let constrained = system.topology.is_constrained();
    check_reciprocal_memory(&system, &forces)?;
    let sites = system.topology.virtual_sites.iter().map(|v| v.site).collect();
    let own = (FieldsInTime::of(&forces), term_names.clone());
    let mut backend = DeviceWithForces::new(open(system, forces, settings)?, sites, own);
    for force in custom {
        degrees = degrees.with(force.momentum());
        if force.energy_column() == EnergyColumn::Present {
            term_names.push(force.name().to_string());
        }
        backend.add(force);
    }
    backend.update_neighbors()?;
    // Velocities along constraints are removed, as the degrees of freedom assume.
    backend.constrain_velocities(None)?;
    // A centre of mass that keeps its velocity is at rest in stages, too.
    if n_atoms > 1 {
        rest_center_of_mass(&mut backend, mass, degrees.momentum)?;
    }
    backend.compute_forces(Evaluate::ForcesAndEnergies)?;
    let degrees_of_freedom = degrees.count(degrees.momentum);
    let atoms = AtomMotion::Moving { heat: Some(0.0) };
    let input = ThermoInput { units, degrees_of_freedom, atoms, step: 0, time: 0.0, mass, strain: None };
    let thermo = input.read(&mut backend)?;
    let thermo = if constrained { thermo.without_pressure() } else { thermo };
    let columns = backend.forces().flat_map(|force| force.columns().into_iter().zip(force.values()));
    let columns = columns.collect();
    let virial = backend.energies().virial;
    let device = backend.describe();
    let state = backend.state()?;
    let forces = state.index_by_id().into_iter().map(|index| state.force[index]).collect();
    Ok(SinglePoint { thermo, term_names, columns, virial, forces, device })
}
