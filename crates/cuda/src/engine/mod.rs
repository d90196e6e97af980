//! GPU as a [`jostle_core::Backend`]: everything that it holds, and the order in which it is set up.

mod agreement;
mod backend;
mod biases;
mod charges;
mod cost;
mod extent;
mod faults;
mod layout;
mod measure;
mod open;
mod parts;
mod plan;
mod replicas;
mod run;
mod several;
mod shared_arrays;
mod trials;
mod tuning;

pub use layout::Layout;
pub use several::SeveralGpus;
pub use trials::{Trials, try_gpus};

use extent::{Extent, narrowest};
use layout::LONG_LIST;
use open::{first_plan, term_kernels, with_lookups};
use parts::{AtomOrder, Evaluation, PairKernels, Recorded, TermKernels};
use plan::Plan;
use tuning::Tuning;

use crate::all_pairs::PairShape;
use crate::arrays::Arrays;
use crate::bonded::BondedKernels;
use crate::constraints::Constraints;
use crate::device_data::{BoxGeometry, Control, DeviceData, OwnedAtoms, ReductionArrays};
use crate::driver::Device;
use crate::electrostatics::{BoxChange, LatticeSumKernel, SPREAD_ATOMS};
use crate::kernels::{self, Kernels};
use crate::launches::{Launches, Sums};
use crate::mid_step::MidStepForces;
use crate::peers::Peers;
use crate::side_by_side::both;
use crate::skin::{self, Skin};
use crate::sums::{KINETIC, Summation, VIRIAL};
use crate::tiles;
use crate::vacuum::VacuumKernel;
use jostle_core::backend::{Member, StageTime, Timings};
use jostle_core::prediction;
use jostle_core::virtual_sites::follow_atoms;
use jostle_core::{Energies, Evaluate, Kinetic, Precision, Result, Settings, SimBox, System};
use jostle_potentials::{Forces, check};
use std::f64::consts::PI;
use std::ops::Range;

/// Knowledge of atoms whose positions are set: as in `integrate.cu`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
enum Placing {
    /// Valid list.
    Listed = 0,
    /// Nothing known: the atoms come from the host.
    Fresh = 1,
    /// Known species, without a list.
    Anew = 2,
}

/// Number of atoms above which a step is long enough for one more kernel, which searches around displaced
/// atoms, if lists are long, and so expensive to build.
const MANY_ATOMS: usize = 65_536;

/// Most attempts at growing lists before the run stops with an error.
const MOST_ATTEMPTS: usize = 40;

/// GPU engine: the atoms in device memory, and everything that is done to them there.
pub struct Cuda {
    device: Device,
    system: System,
    forces: Forces,
    precision: Precision,
    cutoff: f64,
    skin: Skin,
    geometry: BoxGeometry,
    plan: Plan,
    arrays: Arrays,
    kernels: Kernels,
    pairs: PairKernels,
    terms: TermKernels,
    sums: Sums,
    data: DeviceData,
    recorded: Recorded,
    tuning: Tuning,
    /// Control block as the host last read it.
    control: Control,
    order: AtomOrder,
    evaluation: Evaluation,
    timings: Timings,
    /// Part in an ensemble of replicas.
    member: Option<Member>,
}

impl Cuda {
    /// Puts a system on a device.
    ///
    /// # Errors
    /// If a term and the system do not go together, the device has too little memory, or kernels
    /// cannot be compiled.
    pub fn new(
        device: Device,
        system: System,
        forces: impl Into<Forces>,
        settings: Settings,
    ) -> Result<Self> {
        let forces = forces.into();
        let layout = Layout::of_system(&system, &forces, 1, device.multiprocessors());
        Self::with_layout(device, system, forces, settings, layout)
    }

    /// Puts a system on a device, with a given layout.
    ///
    /// # Errors
    /// As for [`Cuda::new`].
    pub fn with_layout(
        device: Device,
        system: System,
        forces: impl Into<Forces>,
        settings: Settings,
        layout: Layout,
    ) -> Result<Self> {
        Self::with_peers(device, system, forces.into(), settings, layout, None)
    }

    /// Puts a system on one of the devices of a run.
    pub(crate) fn with_peers(
        device: Device,
        mut system: System,
        forces: Forces,
        settings: Settings,
        layout: Layout,
        peers: Option<Peers>,
    ) -> Result<Self> {
        let precision = settings.precision;
        let cutoff = check::forces(&system, &forces, precision)?;
        follow_atoms(&system.topology.virtual_sites, &system.simbox, &mut system.state);
        let summation = if settings.reproducible { Summation::exact(&forces) } else { Summation::Fast };
        let limits = prediction::displacement_limits(&system);
        let device = with_lookups(device, &system, &forces, &limits);
        let skin = Skin::new(settings.skin, skin::guess(&system, cutoff), settings.reproducible);
        let range = summation.open_range();
        let geometry = BoxGeometry::new(&system.simbox, &system.state, cutoff + skin.now(), range);
        let extent = Extent::new(&geometry, &system, [cutoff, cutoff + skin.now()], summation);
        let (mut plan, algorithm_settled) =
            first_plan(&device, &system, &forces, settings, summation, layout, extent)?;
        if let Some(peers) = peers {
            plan.share(peers);
        }
        let build = plan.build(&forces);
        let of_atoms = kernels::of_atoms(precision, summation).for_gpus(plan.gpus());
        let pair_kernels = || plan.compile(&device, &build);
        let atom_kernels = || Kernels::new(&device, &of_atoms);
        let (pair_kernels, (kernels, terms)) =
            both(pair_kernels, || both(atom_kernels, || term_kernels(&device, &system, &forces, &plan)));
        let (pair_kernels, kernels, terms) = (pair_kernels?, kernels?, terms?);
        let arrays = Arrays::new(&device, &system, &forces, precision, &build.table, &limits)?;
        let neighbor_engine = plan.open(&device, &pair_kernels)?;
        let sums = Sums { partial: device.alloc(1)?, total: device.alloc(1)? };
        let data = arrays.data(geometry);
        let pairs = PairKernels { module: pair_kernels, compiled: plan.compiled(), engine: neighbor_engine };
        let evaluation = Evaluation {
            energies: Energies::default(),
            evaluated: Evaluate::Forces,
            long_range_weight: 1.0,
            time: StageTime::default(),
            tails: Vec::new(),
            strength_sums: Vec::new(),
        };
        let mut cuda = Cuda {
            device,
            system,
            forces,
            precision,
            cutoff,
            skin,
            geometry,
            plan,
            arrays,
            kernels,
            pairs,
            terms,
            sums,
            data,
            recorded: Recorded::default(),
            tuning: Tuning::new(algorithm_settled),
            control: Control::new(),
            order: AtomOrder::default(),
            evaluation,
            timings: Timings::default(),
            member: None,
        };
        cuda.lay_out()?;
        cuda.upload()?;
        Ok(cuda)
    }

    /// Puts a system on a device, with lists that are far too small at first: grown lists must give the same
    /// answer.
    ///
    /// # Errors
    /// As for [`Cuda::new`].
    pub fn with_small_capacity(
        device: Device,
        system: System,
        forces: impl Into<Forces>,
        settings: Settings,
    ) -> Result<Self> {
        let mut cuda = Self::new(device, system, forces, settings)?;
        cuda.shrink_lists()?;
        Ok(cuda)
    }

    /// Sets the shape of the tiles of all pairs.
    ///
    /// # Errors
    /// If kernels cannot be compiled for it, or the device has too little memory.
    pub fn set_pair_shape(&mut self, shape: PairShape) -> Result<()> {
        self.tuning.shape_settled = true;
        if self.plan.pairs == shape {
            return Ok(());
        }
        self.plan.pairs = shape;
        self.arrange()
    }

    /// Adopts a plan that has changed: kernels, lists and their capacity.
    fn arrange(&mut self) -> Result<()> {
        self.recorded.graphs = None;
        let extent = self.extent();
        self.plan.fit(&self.device, extent)?;
        if self.plan.compiled() != self.pairs.compiled {
            self.pairs.module = self.plan.compile(&self.device, &self.plan.build(&self.forces))?;
            self.pairs.compiled = self.plan.compiled();
        }
        self.pairs.engine = self.plan.open(&self.device, &self.pairs.module)?;
        self.lay_out()
    }

    /// Assigns memory to everything: also when the box that positions are fractions of has changed.
    fn lay_out(&mut self) -> Result<()> {
        let density = self.extent().density;
        let meshed = self.terms.charges.iter().any(|charges| charges.mesh().is_some());
        let together = if meshed { SPREAD_ATOMS } else { 0 };
        tiles::divide(&mut self.geometry, self.plan.atoms_in_cube(density, self.cutoff, together), density);
        let bins = [self.geometry.columns[0], self.geometry.columns[1], self.geometry.bins];
        self.arrays.resize_bins(&self.device, bins.map(|b| b as usize).iter().product())?;
        let row = self.forces.n_terms() + VIRIAL + KINETIC;
        let of_charges = self.terms.charges.iter().map(LatticeSumKernel::most_shares).max().unwrap_or(0);
        let blocks = self.pairs.engine.energy_blocks().max(self.launches().atom_shares()).max(of_charges);
        let constraints = self.terms.constraints.as_ref().map_or(0, Constraints::partial_length);
        let bonded = self.terms.bonded.as_ref().map_or(0, BondedKernels::partial_length);
        let vacuum = self.terms.vacuum.as_ref().map_or(0, VacuumKernel::partial_length);
        let partial = constraints.max(bonded).max(vacuum).max(blocks as usize * row);
        if self.sums.partial.len() < partial {
            self.sums.partial = self.device.alloc(partial)?;
        }
        if self.sums.total.len() < row {
            self.sums.total = self.device.alloc(row)?;
        }
        self.attach();
        Ok(())
    }

    fn extent(&self) -> Extent {
        let reach = [self.cutoff, self.cutoff + self.skin.now()];
        Extent::new(&self.geometry, &self.system, reach, self.plan.summation)
    }

    /// Geometry of the box of the system, with lists that reach so far.
    fn geometry_of_box(&self, reach: f64) -> BoxGeometry {
        let System { simbox, state, .. } = &self.system;
        BoxGeometry::new(simbox, state, reach, self.plan.summation.open_range())
    }

    fn attach(&mut self) {
        self.data = self.arrays.data(self.geometry);
        let owned = self.plan.owned();
        self.data.owned = OwnedAtoms { first: owned.start as i32, end: owned.end as i32 };
        self.data.division = self.plan.atom_division(self.moving(), self.needs());
        self.plan.excluded.attach(&mut self.data);
        self.pairs.engine.attach(&mut self.data);
        if self.looks_around() {
            self.arrays.allow_displaced(&mut self.data);
        }
        self.data.step_kind = self.terms.step_kind;
        self.terms.thermostat.iter().for_each(|thermostat| thermostat.attach(&mut self.data));
        self.terms.reflection.iter().for_each(|reflection| reflection.attach(&mut self.data));
        self.data.reduction =
            ReductionArrays { partial: self.sums.partial.address(), total: self.sums.total.address() };
    }

    /// Copies the host's atoms to the device; the list is stale then.
    fn upload(&mut self) -> Result<()> {
        let counts = self.system.counts();
        let terms = 0..self.forces.n_searched();
        self.evaluation.tails = terms.map(|term| self.forces.tail(term, &counts)).collect();
        self.terms.bodies = None;
        self.add_up_strengths();
        self.begin_anew(Control { builds: self.control.builds, ..Control::new() })?;
        self.arrays.upload(&self.system.state)?;
        self.terms.grains.as_ref().map_or(Ok(()), |grains| grains.upload(&self.system.state))?;
        self.place(Placing::Fresh)
    }

    /// Adds up what the constant energies of lattice sums depend on.
    fn add_up_strengths(&mut self) {
        self.evaluation.strength_sums =
            self.terms.charges.iter().map(|charges| charges.strength_sums(&self.system)).collect();
    }

    /// Continues without a list.
    fn begin_anew(&mut self, control: Control) -> Result<()> {
        self.order.sorted = false;
        self.control = control;
        self.set_skin();
        self.write_control()
    }

    /// Adopts another box, and everything that depends on its shape.
    fn fit_box(&mut self, simbox: SimBox) -> Result<()> {
        self.system.simbox = simbox;
        self.geometry = self.geometry_of_box(self.cutoff + self.skin.now());
        self.await_peers()?;
        let mut change = BoxChange::AsItWas;
        for charges in &mut self.terms.charges {
            if charges.follow(&self.device, &simbox)? == BoxChange::Anew {
                change = BoxChange::Anew;
            }
        }
        if change == BoxChange::Anew {
            self.recorded.graphs = None;
            self.connect_meshes()?;
        }
        self.follow_springs()?;
        self.lay_out()
    }

    /// Updates springs whose stiffness has changed, or whose centres have with the box.
    fn follow_springs(&mut self) -> Result<()> {
        let (forces, simbox) = (&self.forces, &self.system.simbox);
        self.terms.external.as_mut().map_or(Ok(()), |external| external.follow(forces, simbox))
    }

    /// Adopts another box, in which the atoms on the device are already.
    fn enter(&mut self, simbox: SimBox) -> Result<()> {
        self.fit_box(simbox)?;
        let Control { builds, sorted, slot, .. } = self.control;
        let mut control = Control { builds, sorted, ..Control::new() };
        control.slot[0].parity = slot[0].parity;
        self.begin_anew(control)?;
        self.arrays.clear_bins()?;
        self.place(Placing::Anew)
    }

    /// Computes positions for the forces from those of the atoms.
    fn place(&mut self, placing: Placing) -> Result<()> {
        let launches = self.launches();
        let launch = launches.atoms(&self.kernels.place_atoms).with_value(placing as i32);
        self.device.run(&launch)
    }

    /// Computes positions for the forces where the list stays, and finds the atoms that are displaced from
    /// it.
    fn place_listed(&mut self) -> Result<()> {
        self.place(Placing::Listed)?;
        self.run_all(self.launches().find_missing_pairs(0).into_iter().collect())
    }

    /// True where lists stay valid when atoms are displaced, as long as they lack no pair.
    fn looks_around(&self) -> bool {
        let neighbors = 4.0 / 3.0 * PI * self.cutoff.powi(3) * self.extent().density;
        let pays = self.plan.n >= MANY_ATOMS && neighbors >= LONG_LIST;
        self.plan.has_lists() && (pays || self.device.is_for_tests())
    }

    fn launches(&self) -> Launches<'_> {
        Launches {
            kernels: &self.kernels,
            neighbor_engine: &*self.pairs.engine,
            charges: &self.terms.charges,
            vacuum: self.terms.vacuum.as_ref(),
            bonded: self.terms.bonded.as_ref(),
            constraints: self.terms.constraints.as_ref(),
            external: self.terms.external.as_ref(),
            biases: self.terms.biases.as_ref(),
            thermostat: self.terms.thermostat.as_ref(),
            mid_step: self.mid_step(),
            others: self.recorded.others,
            exchange: self.plan.exchange(),
            division: self.plan.division(),
            motion: self.motion(),
            divides_lists: self.divides_lists(),
            needs: self.needs(),
            divides_sums: self.divides_sums(),
            leads: self.plan.peers().is_none_or(Peers::leads),
            data: self.data,
            n_terms: self.forces.n_terms(),
            n_pairs: self.forces.n_searched(),
            sums: self.plan.summation,
            resident_blocks: 6 * self.device.multiprocessors(),
            long_range_weight: self.evaluation.long_range_weight,
            mesh_force: self.arrays.mesh_force(),
        }
    }

    /// Forces in the middle of steps.
    fn mid_step(&self) -> Option<&dyn MidStepForces> {
        match (&self.terms.pair_thermostat, &self.terms.grains) {
            (Some(pairs), _) if pairs.thermostat.is_some() => Some(pairs),
            (_, Some(grains)) => Some(grains),
            _ => None,
        }
    }

    fn run_all(&self, launches: Vec<crate::driver::Launch>) -> Result<()> {
        launches.iter().try_for_each(|launch| self.device.run(launch))
    }

    fn set_skin(&mut self) {
        let skin = self.skin.now();
        self.control.skin = skin;
        self.control.prediction_distance = prediction::prediction_distance(&self.system.topology);
        self.control.reach = self.cutoff + skin;
        // Rounding down would make the list a little too short.
        self.control.limit2 = (0.5 * skin * (1.0 - 1e-5)).powi(2);
        // Searching around displaced atoms requires images that can be told apart.
        let roomy = 2.0 * (self.control.reach + skin) < narrowest(&self.geometry) && skin < self.cutoff;
        self.control.farthest2 = if roomy { 4.0 * self.control.limit2 } else { self.control.limit2 };
        self.control.slot[0].stale = 1;
    }

    fn write_control(&mut self) -> Result<()> {
        self.arrays.control.write(0, &[self.control])
    }

    fn read_control(&mut self) -> Result<()> {
        let mut control = [self.control];
        self.arrays.control.read(0, &mut control)?;
        self.control = control[0];
        self.control.faults |= std::mem::take(&mut self.control.reported);
        Ok(())
    }

    fn download(&mut self) -> Result<()> {
        self.arrays.download(&self.control, &mut self.system.state)?;
        self.terms.grains.as_ref().map_or(Ok(()), |grains| grains.download(&mut self.system.state))
    }

    /// Energies from a row of totals, long-range corrections included.
    fn energies_from(&self, row: &[f64]) -> Energies {
        let volume = self.system.simbox.volume();
        let (sums, rest) = row.split_at(self.forces.n_searched());
        let (virial, others) = rest.split_at(VIRIAL);
        let mut energies = Energies::default();
        energies.virial.copy_from_slice(virial);
        for (sum, tail) in sums.iter().zip(&self.evaluation.tails) {
            let [tail_energy, tail_virial] = tail.at(volume);
            energies.terms.push(sum + tail_energy);
            for k in 0..3 {
                energies.virial[k] += tail_virial;
            }
        }
        for (charges, sums) in self.terms.charges.iter().zip(&self.evaluation.strength_sums) {
            let [itself, even] = charges.constants(*sums, volume);
            energies.terms[charges.term] += itself + even;
            energies.virial[..3].iter_mut().for_each(|w| *w += even);
        }
        energies.terms.extend(&others[..self.forces.n_terms() - self.forces.n_searched()]);
        energies
    }

    /// Totals of the first row.
    fn totals(&mut self, count: usize) -> Result<Vec<f64>> {
        self.rows(0..1, count)
    }

    /// Totals of some rows.
    fn rows(&mut self, rows: Range<usize>, length: usize) -> Result<Vec<f64>> {
        let mut values = vec![0.0; rows.len() * length];
        self.sums.total.read(rows.start * length, &mut values)?;
        Ok(values)
    }
}

fn kinetic_from(row: &[f64]) -> Kinetic {
    let mut kinetic = Kinetic::default();
    kinetic.tensor.copy_from_slice(&row[..6]);
    kinetic.momentum.copy_from_slice(&row[6..9]);
    kinetic
}
