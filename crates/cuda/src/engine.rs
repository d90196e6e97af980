//! A GPU as a [`Backend`].

use crate::all_pairs::{self, AllPairs, PairShape};
use crate::arrays::Arrays;
use crate::bath::{self, Acts, ScalingBath};
use crate::blame;
use crate::cells::Cells;
use crate::driver::Device;
use crate::kernels::{self, Kernels, TileShape, TileSize};
use crate::leg::{KINETIC, Launches, Recorded, Sums, VIRIAL, slots_per_look};
use crate::list::{self, List};
use crate::search::{Search, When};
use crate::skin::Skin;
use crate::sums::Summation;
use crate::tiles::{self, Room, Tiles};
use crate::world::{Control, Frame, Motion, World, trouble};
use jostle_core::backend::{Descent, NeighborFacts, Timings};
use jostle_core::{
    Algorithm, Backend, Bath, Energies, Error, Evaluate, Kinetic, Leg, NoiseKey, Precision, Result, Sample,
    Settings, SimBox, State, System, Vec3,
};
use jostle_potentials::{PairTerm, check};
use std::ops::Range;
use std::time::Instant;

/// How the work is laid out on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// The tiles.
    pub shape: TileShape,
    /// Step slots between two looks at the list, to begin with.
    pub slots_per_look: u32,
}

/// Attempts at making room before something must be wrong.
const MOST_ATTEMPTS: usize = 40;

/// How pairs are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Tiles,
    List,
    Cells,
    AllPairs,
}

/// The GPU engine: the atoms in device memory, and everything that is done to them there.
pub struct Cuda {
    device: Device,
    system: System,
    terms: Vec<PairTerm>,
    precision: Precision,
    summation: Summation,
    cutoff: f64,
    skin: Skin,
    frame: Frame,
    way: Way,
    /// Whether `way` may be given up for another one that fits the box.
    free: bool,
    layout: Layout,
    room: Room,
    /// Room in the list of an atom.
    rows: usize,
    arrays: Arrays,
    kernels: Kernels,
    search: Box<dyn Search>,
    bath: Option<ScalingBath>,
    sums: Sums,
    world: World,
    recorded: Option<Recorded>,
    /// The control block as it was when the host last looked.
    control: Control,
    list_positions: Vec<Vec3>,
    energies: Energies,
    timings: Timings,
    /// Set by a verb that cannot fail, reported by the next one that can.
    fault: Option<Error>,
}

impl Cuda {
    /// Puts a system on a device.
    ///
    /// # Errors
    /// If a term and the system do not go together, the device has too little memory, or kernels
    /// cannot be compiled.
    pub fn new(device: Device, system: System, terms: Vec<PairTerm>, settings: Settings) -> Result<Self> {
        let layout = Layout::for_atoms(system.state.len(), device.multiprocessors());
        Self::with_layout(device, system, terms, settings, layout)
    }

    /// The same with a layout of one's choice.
    ///
    /// # Errors
    /// As for [`Cuda::new`].
    pub fn with_layout(
        device: Device,
        system: System,
        terms: Vec<PairTerm>,
        settings: Settings,
        mut layout: Layout,
    ) -> Result<Self> {
        let precision = settings.precision;
        let cutoff = check::terms(&system, &terms, precision)?;
        let summation = if settings.reproducible { Summation::exact(&terms) } else { Summation::Fast };
        let (mut way, free) = match settings.algorithm {
            Algorithm::Tiles | Algorithm::AllPairs if settings.reproducible => {
                let name = settings.algorithm.name();
                return Err(Error::input(format!(
                    "algorithm = \"{name}\" together with reproducible = true"
                ))
                .hint(
                    "its sums depend on the order of the atoms; leave it out, or set \"list\" or \"cells\"",
                ));
            }
            Algorithm::Auto if settings.reproducible => (Way::List, false),
            Algorithm::Auto => (Way::Tiles, true),
            Algorithm::Tiles => (Way::Tiles, false),
            Algorithm::List => (Way::List, false),
            Algorithm::Cells => (Way::Cells, false),
            Algorithm::AllPairs => (Way::AllPairs, false),
            Algorithm::Clusters | Algorithm::Reference => {
                return Err(Error::input(format!(
                    "a GPU has no algorithm \"{}\"",
                    settings.algorithm.name()
                ))
                .hint("leave it out, or set device = \"cpu\""));
            }
        };
        let n = system.state.len();
        if n > i32::MAX as usize / 4 {
            return Err(Error::device(format!("{n} atoms are more than one GPU run can have")));
        }
        let spacing = (system.simbox.volume() / n.max(1) as f64).cbrt();
        let skin = Skin::new(settings.skin, 0.35 * spacing, settings.reproducible);
        let frame = Frame::new(&system.simbox, &system.state, cutoff + skin.now());
        let (density, reach) = (density(&frame, &system, cutoff), cutoff + skin.now());
        if free && n > MANY && reaches_all(n, density, reach) {
            way = Way::AllPairs;
        }
        let room = Room::estimate(layout.shape, density, reach, n);
        layout.shape.size = tiles::size(precision, room);
        let build = kernels::build(&terms, precision, layout.shape, PairShape::for_atoms(n), summation);
        let kernels = Kernels::new(&device, &build)?;
        let arrays = Arrays::new(&device, &system, precision, &build.table)?;
        // Until everything gets its place.
        let search = Box::new(Cells::new(&kernels.module, n, summation)?);
        let sums = Sums { partial: device.alloc(1)?, total: device.alloc(1)? };
        let world = arrays.world(frame);
        let mut cuda = Cuda {
            device,
            system,
            terms,
            precision,
            summation,
            cutoff,
            skin,
            frame,
            way,
            free,
            layout,
            room,
            rows: list::estimate(density, reach, n),
            arrays,
            kernels,
            search,
            bath: None,
            sums,
            world,
            recorded: None,
            control: Control::new(),
            list_positions: Vec::new(),
            energies: Energies::default(),
            timings: Timings::default(),
            fault: None,
        };
        cuda.arrange(false)?;
        cuda.upload()?;
        Ok(cuda)
    }

    /// The same with lists that have far too little room at first: what grows by itself must give
    /// the same answer.
    ///
    /// # Errors
    /// As for [`Cuda::new`].
    pub fn with_little_room(
        device: Device,
        system: System,
        terms: Vec<PairTerm>,
        settings: Settings,
    ) -> Result<Self> {
        let mut cuda = Self::new(device, system, terms, settings)?;
        cuda.room = Room { tile: 64, class_rows: 2 };
        cuda.rows = 1;
        cuda.arrange(false)?;
        Ok(cuda)
    }

    /// Gives everything its place in memory: after a start, after room was made, or when the box
    /// that positions are fractions of has changed.
    fn arrange(&mut self, recompile: bool) -> Result<()> {
        self.recorded = None;
        let n = self.system.state.len();
        if self.way == Way::Tiles {
            match tiles::check(&self.device, self.precision, self.layout.shape, self.room) {
                Err(_) if self.free => self.way = self.without_tiles(),
                checked => checked?,
            }
        }
        let (size, pairs) = (tiles::size(self.precision, self.room), PairShape::for_atoms(n));
        if recompile || size != self.layout.shape.size {
            self.layout.shape.size = size;
            let build = kernels::build(&self.terms, self.precision, self.layout.shape, pairs, self.summation);
            self.kernels = Kernels::new(&self.device, &build)?;
        }
        let density = density(&self.frame, &self.system, self.cutoff);
        let atoms = match self.way {
            Way::Tiles => self.layout.shape.atoms,
            // Columns half as wide as the reach leave little to be looked at in vain.
            Way::List | Way::Cells => (density * (0.5 * self.cutoff).powi(3)).clamp(2.0, 1e6) as u32,
            Way::AllPairs => all_pairs::GROUP as u32,
        };
        tiles::divide(&mut self.frame, atoms, density);
        let bins = [self.frame.columns[0], self.frame.columns[1], self.frame.bins];
        self.arrays.resize_bins(&self.device, bins.map(|b| b as usize).iter().product())?;
        let (device, module, precision) = (&self.device, &self.kernels.module, self.precision);
        self.search = match self.way {
            Way::Tiles => Box::new(Tiles::new(device, module, precision, self.layout.shape, self.room, n)?),
            Way::List => Box::new(List::new(device, module, n, self.rows, self.summation)?),
            Way::Cells => Box::new(Cells::new(module, n, self.summation)?),
            Way::AllPairs => Box::new(AllPairs::new(device, module, precision, pairs, n)?),
        };
        let row = self.terms.len() + VIRIAL + KINETIC;
        let blocks = self.search.energy_blocks().max(self.launches().atom_shares());
        self.sums.partial = self.device.alloc(blocks as usize * row)?;
        if self.sums.total.len() < row {
            self.sums.total = self.device.alloc(row)?;
        }
        self.attach();
        Ok(())
    }

    /// What takes the place of tiles that do not fit.
    fn without_tiles(&self) -> Way {
        let density = density(&self.frame, &self.system, self.cutoff);
        let reach = self.cutoff + self.skin.now();
        if reaches_all(self.system.state.len(), density, reach) { Way::AllPairs } else { Way::List }
    }

    fn attach(&mut self) {
        self.world = self.arrays.world(self.frame);
        self.search.attach(&mut self.world);
        if let Some(bath) = &self.bath {
            bath.attach(&mut self.world);
        }
        self.world.partial = self.sums.partial.address();
        self.world.total = self.sums.total.address();
    }

    /// Room for the samples of so many segments.
    fn make_sample_room(&mut self, segments: u64) -> Result<()> {
        let wanted = segments as usize * self.launches().row_length();
        if self.sums.total.len() < wanted {
            self.sums.total = self.device.alloc(wanted.next_power_of_two())?;
            self.recorded = None;
            self.attach();
        }
        Ok(())
    }

    /// Copies the host's atoms to the device; the list is stale then.
    fn upload(&mut self) -> Result<()> {
        let builds = self.control.builds;
        self.control = Control { builds, ..Control::new() };
        self.set_skin();
        self.write_control()?;
        self.arrays.upload(&self.system.state)?;
        self.place(true)
    }

    /// Positions for the forces from those of the atoms.
    fn place(&mut self, fresh: bool) -> Result<()> {
        let launches = self.launches();
        let launch = launches.atoms(&self.kernels.place_atoms).with_value(i32::from(fresh));
        self.device.run(&launch)
    }

    fn launches(&self) -> Launches<'_> {
        Launches {
            kernels: &self.kernels,
            search: &*self.search,
            bath: self.bath.as_ref(),
            world: self.world,
            n_terms: self.terms.len(),
            sums: self.summation,
            resident_blocks: 6 * self.device.multiprocessors(),
        }
    }

    fn run_all(&self, launches: Vec<crate::driver::Launch>) -> Result<()> {
        launches.iter().try_for_each(|launch| self.device.run(launch))
    }

    fn set_skin(&mut self) {
        let skin = self.skin.now();
        self.control.skin = skin;
        self.control.reach = self.cutoff + skin;
        // Rounding must not make the list a little too short.
        self.control.limit2 = (0.5 * skin * (1.0 - 1e-5)).powi(2);
        self.control.slot[0].stale = 1;
    }

    fn write_control(&mut self) -> Result<()> {
        self.arrays.control.write(0, &[self.control])
    }

    fn read_control(&mut self) -> Result<()> {
        let mut control = [self.control];
        self.arrays.control.read(0, &mut control)?;
        self.control = control[0];
        self.control.trouble |= std::mem::take(&mut self.control.reported);
        Ok(())
    }

    /// Sees to what the device cannot do alone.
    fn settle_trouble(&mut self) -> Result<()> {
        let what = self.control.trouble;
        if what & trouble::NOT_FINITE != 0 {
            return Err(self.blame());
        }
        if what & trouble::UNFIT != 0 {
            if self.layout.shape.atoms <= 32 && self.free {
                self.way = self.without_tiles();
            } else if self.layout.shape.atoms <= 32 {
                return Err(Error::device("the box is too small for tiles of atoms")
                    .hint("set algorithm = \"list\" or \"all-pairs\""));
            }
            self.layout.shape.atoms = (self.layout.shape.atoms / 2).max(32);
            self.layout.shape.team = self.layout.shape.team.max(32 / self.layout.shape.atoms);
            let density = density(&self.frame, &self.system, self.cutoff);
            self.room =
                Room::estimate(self.layout.shape, density, self.control.reach, self.system.state.len());
        }
        if self.way == Way::List {
            self.rows = list::grown(self.rows, &self.control);
        } else {
            self.room = self.room.grown(&self.control);
        }
        let escaped = what & trouble::ESCAPED != 0;
        if escaped {
            self.download()?;
            self.frame = Frame::new(&self.system.simbox, &self.system.state, self.control.reach);
            let finest = 1e-6 * self.cutoff * f64::from(u32::MAX);
            if self.precision == Precision::Mixed && self.frame.edge.iter().any(|l| *l > finest) {
                return Err(Error::simulation("the atoms of an open box have gone too far apart")
                    .hint("set precision = \"double\", or use a periodic box"));
            }
        }
        self.arrange(what & trouble::UNFIT != 0)?;
        self.control.trouble = 0;
        self.control.need_tile = 0;
        self.control.need_rows = 0;
        self.write_control()?;
        if escaped { self.place(false) } else { Ok(()) }
    }

    /// Takes away room that tiles turned out not to need: what a tile occupies decides how many of
    /// them a multiprocessor has at a time. Lists stay, or runs would depend on how they are cut
    /// into legs.
    fn tighten(&mut self) {
        if let Some(room) = self.room.tightened(&self.control) {
            self.room = room;
            self.search.tighten(room);
            self.recorded = None;
            self.attach();
        }
    }

    /// Names the term and the atom of a force that was not finite.
    fn blame(&mut self) -> Error {
        let id = self.control.first_bad as u32 as usize;
        let step = (self.control.motion.first_step + (self.control.first_bad >> 32)) as i64 - 1;
        if let Err(error) = self.download() {
            return error;
        }
        let error = blame::force(&self.system, &self.terms, self.precision, id);
        if step > 0 { error.context(format!("step {step}")) } else { error }
    }

    fn download(&mut self) -> Result<()> {
        self.arrays.download(&self.control, &mut self.system.state)
    }

    /// Runs a launch of a verb that cannot fail.
    fn attempt(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.fault.get_or_insert(error);
        }
    }

    fn take_fault(&mut self) -> Result<()> {
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Energies from a row of sums, long-range corrections included.
    fn energies_from(&self, row: &[f64]) -> Energies {
        let (volume, counts) = (self.system.simbox.volume(), self.system.counts());
        let (sums, virial) = row.split_at(self.terms.len());
        let mut energies = Energies::default();
        energies.virial.copy_from_slice(&virial[..VIRIAL]);
        for (term, sum) in self.terms.iter().zip(sums) {
            let [tail_energy, tail_virial] = term.tail_times_volume(&counts);
            energies.terms.push(sum + tail_energy / volume);
            for k in 0..3 {
                energies.virial[k] += tail_virial / volume;
            }
        }
        energies
    }

    /// Sums of the first row.
    fn totals(&mut self, count: usize) -> Result<Vec<f64>> {
        self.rows(0..1, count)
    }

    /// Sums of some rows.
    fn rows(&mut self, rows: Range<usize>, length: usize) -> Result<Vec<f64>> {
        let mut values = vec![0.0; rows.len() * length];
        self.sums.total.read(rows.start * length, &mut values)?;
        Ok(values)
    }

    /// Copies a bath that scales velocities to the device.
    fn prepare_bath(&mut self, leg: &Leg, bath: &mut Bath, acts: Acts) -> Result<()> {
        if let Bath::NoseHoover(chain) = bath
            && chain.kinetic.is_none()
        {
            chain.kinetic = Some(self.kinetic().energy());
            self.take_fault()?;
        }
        let before = self.bath.as_ref().map(ScalingBath::identity);
        self.bath = ScalingBath::prepare(
            self.bath.take(),
            &self.device,
            self.precision,
            self.summation,
            bath,
            leg,
            acts,
        )?;
        self.attach();
        if before != self.bath.as_ref().map(ScalingBath::identity) {
            self.recorded = None;
        }
        Ok(())
    }

    /// The steps of a leg, in so many segments.
    fn make_segments(&mut self, segments: u64, steps: u64, evaluate: Evaluate) -> Result<()> {
        let mut attempts = 0;
        loop {
            let launches = Launches {
                kernels: &self.kernels,
                search: &*self.search,
                bath: self.bath.as_ref(),
                world: self.world,
                n_terms: self.terms.len(),
                sums: self.summation,
                resident_blocks: 6 * self.device.multiprocessors(),
            };
            let recorded = match self.recorded.take() {
                Some(recorded) => recorded,
                None => Recorded::new(&self.device, &launches, self.layout.slots_per_look)?,
            };
            let begun = self.control.part as u64 / 2;
            recorded.queue(&self.device, segments - begun, steps, evaluate)?;
            self.recorded = Some(recorded);
            self.read_control()?;
            if self.control.trouble != 0 {
                attempts += 1;
                if attempts > MOST_ATTEMPTS {
                    return Err(Error::device("the neighbour list does not stop growing"));
                }
                self.settle_trouble()?;
            }
            if self.control.part as u64 == 2 * segments {
                return Ok(());
            }
        }
    }
}

/// Whether each of `n` atoms has so many others within reach that all pairs may as well be looked
/// at: that costs an eighth of what a pair in a list does.
fn reaches_all(n: usize, density: f64, reach: f64) -> bool {
    (n as f64) < 8.0 * density * 4.0 / 3.0 * std::f64::consts::PI * reach.powi(3)
}

/// Atoms that fill a GPU with pairs.
const MANY: usize = 4096;

/// Atoms per volume, in what they occupy.
fn density(frame: &Frame, system: &System, cutoff: f64) -> f64 {
    let mut volume = 1.0;
    for k in 0..3 {
        volume *= if frame.periodic[k] == 1 {
            frame.edge[k]
        } else {
            (0.25 * frame.edge[k] - 2.0 * cutoff).max(cutoff)
        };
    }
    system.state.len().max(1) as f64 / volume
}

impl Layout {
    /// What suits so many atoms: large tiles where there are enough to fill the device, and several
    /// threads an atom where there are not.
    fn for_atoms(n: usize, multiprocessors: u32) -> Self {
        let per_multiprocessor = n / multiprocessors.max(1) as usize;
        let (atoms, team) = match per_multiprocessor {
            0..48 => (32, 8),
            48..128 => (64, 4),
            128..512 => (128, 2),
            _ => (128, 1),
        };
        Layout { shape: TileShape { atoms, team, size: TileSize::Small }, slots_per_look: 8 }
    }
}

impl Backend for Cuda {
    fn describe(&self) -> String {
        let precision = match self.precision {
            Precision::Mixed => "mixed",
            Precision::Double => "double",
        };
        format!("{}, {}, {precision} precision", self.device.name(), self.search.name())
    }

    fn simbox(&self) -> &SimBox {
        &self.system.simbox
    }

    fn n_atoms(&self) -> usize {
        self.system.state.len()
    }

    fn state(&mut self) -> Result<&State> {
        self.take_fault()?;
        self.read_control()?;
        self.download()?;
        Ok(&self.system.state)
    }

    fn set_state(&mut self, state: State) -> Result<()> {
        if state.len() != self.system.state.len() {
            return Err(Error::input(format!(
                "a state of {} atoms cannot replace one of {}",
                state.len(),
                self.system.state.len()
            )));
        }
        self.system.state = state;
        if self.system.simbox.periodic() != [true; 3] {
            self.frame = Frame::new(&self.system.simbox, &self.system.state, self.cutoff + self.skin.now());
            self.arrange(false)?;
        }
        self.upload()
    }

    fn list_positions(&mut self) -> Result<&[Vec3]> {
        self.list_positions = self.arrays.built(&self.frame)?;
        Ok(&self.list_positions)
    }

    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, skin: f64) -> Result<()> {
        // The list is built from where the atoms were when it was built before; sorting finds them
        // in order already. Then they go where they are now.
        let now = state.clone();
        self.skin.set(skin);
        self.set_state(State { position: list_positions, ..state })?;
        self.update_neighbors()?;
        self.download()?;
        if self.system.state.id != now.id {
            // Another kind of device gave the checkpoint its order.
            return self.set_state(now);
        }
        self.arrays.overwrite(&self.control, &now)?;
        self.system.state = now;
        self.place(false)
    }

    fn kick(&mut self, dt: f64) {
        let launch = self.launches().atoms(&self.kernels.kick).with_value(dt);
        let result = self.device.run(&launch);
        self.attempt(result);
    }

    fn drift(&mut self, dt: f64) {
        let launch = self.launches().atoms(&self.kernels.drift).with_value(dt);
        let result = self.device.run(&launch);
        self.attempt(result);
    }

    fn update_neighbors(&mut self) -> Result<()> {
        self.take_fault()?;
        for _ in 0..MOST_ATTEMPTS {
            self.run_all(self.launches().build(0))?;
            self.read_control()?;
            if self.control.trouble == 0 {
                return Ok(());
            }
            self.settle_trouble()?;
        }
        Err(Error::device("the neighbour list does not stop growing"))
    }

    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()> {
        self.take_fault()?;
        if self.control.slot[0].stale != 0 {
            // The host has done away with the list, to make room or for another skin.
            self.update_neighbors()?;
        }
        self.run_all(self.launches().forces(When::Asked, evaluate))?;
        if evaluate == Evaluate::ForcesAndEnergies {
            let row = self.totals(self.terms.len() + VIRIAL)?;
            self.energies = self.energies_from(&row);
            if !self.energies.potential().is_finite() {
                self.kick(0.0);
                self.read_control()?;
                return Err(self.blame());
            }
        }
        Ok(())
    }

    fn energies(&self) -> &Energies {
        &self.energies
    }

    fn kinetic(&mut self) -> Kinetic {
        let sums = self.run_all(self.launches().kinetic(When::Asked)).and_then(|()| self.totals(KINETIC));
        match sums {
            Ok(row) => kinetic_from(&row),
            Err(error) => {
                self.attempt(Err(error));
                Kinetic::default()
            }
        }
    }

    fn scale_velocities(&mut self, factor: f64) {
        let launch = self.launches().atoms(&self.kernels.scale_and_shift).with_value(factor);
        let result = self.device.run(&launch.with_value(0.0).with_value(0.0).with_value(0.0));
        self.attempt(result);
    }

    fn shift_velocities(&mut self, delta: Vec3) {
        let launch = self.launches().atoms(&self.kernels.scale_and_shift).with_value(1.0);
        let launch = launch.with_value(delta[0]).with_value(delta[1]).with_value(delta[2]);
        let result = self.device.run(&launch);
        self.attempt(result);
    }

    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) {
        let launch = self.launches().atoms(&self.kernels.noise).with_value(decay).with_value(thermal_energy);
        let result = self.device.run(&launch.with_value(noise.seed).with_value(noise.step));
        self.attempt(result);
    }

    fn run_leg(&mut self, leg: &Leg, bath: &mut Bath) -> Result<Option<Vec<Sample>>> {
        let (decay, thermal_energy) = match bath {
            Bath::Isolated => (1.0, 0.0),
            Bath::Langevin(langevin) => (langevin.decay, langevin.thermal_energy),
            Bath::Rescale(_) | Bath::NoseHoover(_) | Bath::Bussi(_) => (1.0, 0.0),
        };
        self.take_fault()?;
        if leg.steps == 0 {
            return Ok(Some(Vec::new()));
        }
        let start = Instant::now();
        let recorded_before = self.recorded.is_some();
        let between = if leg.sample_every > 0 { leg.sample_every } else { leg.steps };
        let acts = Acts::of(bath, leg, between);
        let steps = match acts {
            Acts::Anywhere => between,
            Acts::Every(steps) => steps,
        };
        let segments = leg.steps / steps;
        let evaluate = if leg.sample_every > 0 { Evaluate::ForcesAndEnergies } else { leg.evaluate };
        self.prepare_bath(leg, bath, acts)?;
        self.make_sample_room(segments)?;
        self.read_control()?;
        let Leg { first_step, timestep, seed, .. } = *leg;
        self.control.motion = Motion { timestep, decay, thermal_energy, seed, first_step };
        self.control.segment = steps as i64;
        self.control.parts = 2 * segments as i32;
        self.control.part = 0;
        self.control.target = 0;
        self.control.slot[0].done = 0;
        self.control.largest_tile = 0;
        self.control.most_rows = 0;
        self.write_control()?;
        let builds = self.control.builds;
        self.make_segments(segments, steps, evaluate)?;
        let builds = self.control.builds - builds;

        let length = self.launches().row_length();
        let wanted = if evaluate == Evaluate::ForcesAndEnergies { 0 } else { segments as usize - 1 };
        let rows = self.rows(wanted..segments as usize, length)?;
        let mut samples = Vec::new();
        for (segment, row) in (wanted as u64..).zip(rows.chunks_exact(length)) {
            if !((segment + 1) * steps).is_multiple_of(between) {
                continue;
            }
            let (energies, row) = row.split_at(self.terms.len() + VIRIAL);
            let (kinetic, of_bath) = row.split_at(KINETIC);
            bath::take_over(bath, of_bath);
            if evaluate == Evaluate::ForcesAndEnergies {
                let energies = self.energies_from(energies);
                if !energies.potential().is_finite() {
                    return Err(Error::simulation("the potential energy is not finite")
                        .hint("two atoms came too close: minimise first, or shorten the time step"));
                }
                samples.push(Sample { energies, kinetic: kinetic_from(kinetic), bath: bath.clone() });
            }
        }
        if let Some(last) = samples.last() {
            self.energies = last.energies.clone();
        }
        if leg.sample_every == 0 {
            samples.clear();
        }
        let seconds = start.elapsed().as_secs_f64();
        self.timings.pair += seconds;
        let life = leg.steps as f64 / builds.max(1) as f64;
        if let Some(recorded) = &mut self.recorded {
            recorded.learn(life);
        }
        // Recording takes time, too, and says nothing about the skin.
        if recorded_before && self.skin.judge(leg.steps, builds, seconds) {
            // The list is built after the next drift: the forces are in the order of the old one.
            self.set_skin();
            self.write_control()?;
        } else if self.way == Way::Tiles && builds > 2 {
            self.tighten();
        }
        if builds > 2 && slots_per_look(life).abs_diff(self.layout.slots_per_look) > 1 {
            self.layout.slots_per_look = slots_per_look(life);
            self.recorded = None;
        }
        Ok(Some(samples))
    }

    fn descent(&mut self) -> Descent {
        let launches = self.launches();
        let shares = launches.atoms(&self.kernels.descent_shares);
        let add = launches.add_shares(launches.atom_shares(), 3, 0, When::Asked);
        let sums = self.sums.total.clear().and_then(|()| self.run_all(vec![shares, add]));
        match sums.and_then(|()| self.totals(5)) {
            Ok(row) => Descent {
                power: row[0],
                force_square: row[1],
                velocity_square: row[2],
                largest_force: row[3].sqrt(),
                largest_speed: row[4].sqrt(),
            },
            Err(error) => {
                self.attempt(Err(error));
                Descent::default()
            }
        }
    }

    fn mix_velocities(&mut self, keep: f64, along: f64) {
        let launch = self.launches().atoms(&self.kernels.mix).with_value(keep).with_value(along);
        let result = self.device.run(&launch);
        self.attempt(result);
    }

    fn timings(&self) -> Timings {
        self.timings
    }

    fn neighbor_facts(&self) -> NeighborFacts {
        NeighborFacts {
            builds: self.control.builds as u64,
            skin: self.skin.now(),
            bytes: self.arrays.bytes() + self.search.bytes(),
        }
    }
}

fn kinetic_from(row: &[f64]) -> Kinetic {
    let mut kinetic = Kinetic::default();
    kinetic.tensor.copy_from_slice(&row[..6]);
    kinetic.momentum.copy_from_slice(&row[6..9]);
    kinetic
}
