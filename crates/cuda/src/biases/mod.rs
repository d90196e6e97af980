//! Biases on functions of centres of groups (`kernels/bias.cu`), evaluated and applied within recorded steps.

mod arrays;
mod data;
mod hills;
mod places;
mod source;

pub use hills::Growth;
pub use source::build;

use crate::device_data::{DeviceData, ForcesBeside};
use crate::driver::{Device, Kernel, Launch, Waits};
use crate::kernels::{self, ATOM_THREADS};
use crate::neighbor_engine::Trigger;
use crate::sums::Summation;
use arrays::{Arrays, BEFORE_A_STAGE};
pub use data::Functions;
use data::{BiasData, BiasSpan, BiasState, Entries, NONE_UNDEFINED};
use hills::{HILL_COUNT, HillArrays, NUMBERS, count, kernel_counts};
use jostle_core::backend::{BiasCourse, BiasMemory, BiasRow, CenterBiases, CenterFunction};
use jostle_core::{Error, Evaluate, Precision, Result, StepBatch};
use places::Places;
use std::collections::HashMap;

/// Hills or kernels for which there is room at first.
const FIRST_HILLS: usize = 256;

/// Work of a launch of `bias_evaluate`: bits as in `bias.cu`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(i32)]
enum Action {
    Evaluate = 1,
    EndStep = 2,
    EvaluateAndEndStep = 3,
}

/// Variables and biases of a run on a device.
pub struct BiasKernels {
    biases: CenterBiases,
    data: BiasData,
    arrays: Arrays,
    hills: HashMap<usize, HillArrays>,
    n_chunks: u32,
    places: Kernel,
    centers: Kernel,
    evaluate: Kernel,
    apply: Kernel,
    end_step: Kernel,
    /// Threads of the block of these two.
    threads: u32,
    /// Row of the last evaluation with energies; `None`: it is the first one on the device.
    last_row: Option<BiasRow>,
}

/// Reason for which biases are left to the host, if there is one.
pub fn refusal(biases: &CenterBiases, periodic: [bool; 3]) -> Option<String> {
    let of_box = |function: &CenterFunction| {
        matches!(function, CenterFunction::Edge(_) | CenterFunction::Volume) && periodic != [true; 3]
    };
    let variable = biases.variables.iter().find(|variable| of_box(&variable.function))?;
    Some(format!("variable '{}' is that of a box which is open", variable.name))
}

impl BiasKernels {
    /// Kernels and memory for biases in a system of `n` atoms.
    ///
    /// # Errors
    /// If an atom does not exist, there is no compiler for the device, or too little memory.
    pub fn new(
        device: &Device,
        n: usize,
        biases: &CenterBiases,
        precision: Precision,
        sums: Summation,
    ) -> Result<Self> {
        if biases.groups.iter().flatten().any(|member| member.id as usize >= n) {
            return Err(Error::input("a bias acts on an atom that does not exist"));
        }
        let build = source::build(biases, Functions::InUse, precision, sums)?;
        let module = device.compile("bias.cu", &build.source, &build.options)?;
        let mut hills = HashMap::new();
        // Tests grow the memory of hills and kernels.
        let first_hills = if device.is_for_tests() { 1 } else { FIRST_HILLS };
        for (k, bias) in biases.biases.iter().enumerate() {
            if let Some(arrays) = HillArrays::new(device, &bias.function, first_hills)? {
                hills.insert(k, arrays);
            }
        }
        let places = Places::new(biases, n);
        let arrays = Arrays::new(device, biases, &places, &hills, precision)?;
        let data = arrays.data();
        Ok(BiasKernels {
            biases: biases.clone(),
            data,
            arrays,
            hills,
            n_chunks: (places.chunks.len() / 2) as u32,
            places: module.kernel("bias_places")?,
            centers: module.kernel("bias_centers")?,
            evaluate: module.kernel("bias_evaluate")?,
            apply: module.kernel("bias_apply")?,
            end_step: module.kernel("bias_end_step")?,
            threads: source::threads(biases, Functions::InUse),
            last_row: None,
        })
    }

    /// The biases.
    pub fn biases(&self) -> &CenterBiases {
        &self.biases
    }

    /// Bytes of its grids, hills and kernels.
    pub fn bytes(&self) -> usize {
        self.hills.values().map(HillArrays::bytes).sum()
    }

    fn launch(&self, kernel: &Kernel, blocks: u32, data: &DeviceData) -> Launch {
        Launch::new(kernel, blocks, ATOM_THREADS).with_value(*data).with_value(self.data)
    }

    /// Launch of the block that does the work of one thread, and that of all together.
    fn launch_one(&self, kernel: &Kernel, data: &DeviceData) -> Launch {
        Launch::new(kernel, 1, self.threads).with_value(*data).with_value(self.data)
    }

    /// Launch that finds the atoms after a sort: part of building lists.
    pub fn build(&self, data: &DeviceData, slot: i32) -> Launch {
        self.launch(&self.places, kernels::blocks_of(data.n), data).with_value(slot)
    }

    /// Launch that finds the atoms where they are now.
    pub fn find_atoms(&self, data: &DeviceData) -> Launch {
        self.build(data, -1)
    }

    /// Launches that evaluate variables and biases, and end the step unless another launch does.
    fn evaluate(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let centers = (self.n_chunks > 0)
            .then(|| self.launch(&self.centers, self.n_chunks, data))
            .map(|launch| launch.with_value(slot).with_value(trigger as i32));
        let action = match (trigger, evaluate) {
            (Trigger::Step, Evaluate::ForcesAndEnergies) | (Trigger::SegmentEnd, _) => {
                Action::EvaluateAndEndStep
            }
            _ => Action::Evaluate,
        };
        centers.into_iter().chain([self.act(data, slot, trigger, action)]).collect()
    }

    fn act(&self, data: &DeviceData, slot: i32, trigger: Trigger, action: Action) -> Launch {
        let launch = self.launch_one(&self.evaluate, data).with_value(slot).with_value(trigger as i32);
        launch.with_value(action as i32)
    }

    /// Launch that adds the forces to those of other terms, or leaves them for the kernels that move atoms, if `data` has
    /// an array for them.
    pub fn apply(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> Launch {
        let blocks = kernels::blocks_of(self.data.n_places as i32);
        let launch = self.launch(&self.apply, blocks, data).with_value(slot).with_value(trigger as i32);
        let beside = data.atoms.of_biases.force != 0;
        launch.waits(if beside { Waits::FourthStream } else { Waits::MainAndFourth })
    }

    /// Arrays for forces that kernels that move atoms add.
    pub fn forces_beside(&self) -> ForcesBeside {
        self.arrays.forces_beside()
    }

    /// Launch that ends a step of a batch: beside what follows, since samples of an adaptive force take longer than pairs
    /// leave time for.
    pub fn end_step_of_batch(&self, data: &DeviceData) -> Launch {
        self.launch_one(&self.end_step, data).waits(Waits::FourthStream)
    }

    /// Launch that ends a step of the host.
    pub fn end_step(&self, data: &DeviceData) -> Launch {
        self.act(data, 0, Trigger::Immediate, Action::EndStep)
    }

    /// Begins or continues a stage with these numbers.
    ///
    /// # Errors
    /// If they are those of other biases, or the device failed.
    pub fn begin(&mut self, device: &Device, course: &BiasCourse, memory: &[BiasMemory]) -> Result<Growth> {
        let span = |span: &Option<[u64; 2]>| {
            let [before, total] = span.unwrap_or_default().map(|steps| steps as f64);
            BiasSpan { before, total, acts: i64::from(span.is_some()) }
        };
        let spans: Vec<BiasSpan> = course.spans.iter().map(span).collect();
        let fits = |(k, memory): (usize, &BiasMemory)| {
            memory.numbers.len() <= NUMBERS
                && memory.grid.len() == self.hills.get(&k).map_or(0, |arrays| arrays.grid.len())
                && memory.kernels.each_ref().map(Vec::len)
                    == kernel_counts(&self.biases.biases[k].function, &memory.numbers)
        };
        let count = self.biases.biases.len();
        if spans.len() != count || memory.len() != count || !memory.iter().enumerate().all(fits) {
            return Err(Error::device("the numbers are those of other biases"));
        }
        self.arrays.spans.write(0, &spans)?;
        let mut numbers = vec![0.0; NUMBERS * count];
        let mut growth = Growth::None;
        for (k, memory) in memory.iter().enumerate() {
            numbers[NUMBERS * k..][..memory.numbers.len()].copy_from_slice(&memory.numbers);
            if let Some(arrays) = self.hills.get_mut(&k) {
                growth = growth.and(arrays.write(device, memory)?);
            }
        }
        self.update_terms(growth)?;
        self.arrays.numbers.write(0, &numbers)?;
        self.arrays.state.write(
            0,
            &[BiasState {
                step: course.first_step as i64,
                first_step: course.first_step as i64,
                start_time: course.start_time,
                timestep: course.timestep,
                seed: course.seed,
                fresh: i64::from(course.fresh),
                ..BEFORE_A_STAGE
            }],
        )?;
        Ok(growth)
    }

    /// Tells the device where hills and kernels are, if their memory has moved.
    fn update_terms(&self, growth: Growth) -> Result<()> {
        if growth == Growth::None {
            return Ok(());
        }
        let mut entries = Entries::default();
        data::variables(&self.biases, &mut entries);
        self.arrays.terms.write(0, &data::terms(&self.biases, &mut entries, &self.hills))
    }

    fn state(&self) -> Result<BiasState> {
        let mut state = [BEFORE_A_STAGE];
        self.arrays.state.read(0, &mut state)?;
        Ok(state[0])
    }

    /// Sets the number of the step whose sub-steps follow.
    ///
    /// # Errors
    /// If the device failed.
    pub fn begin_step(&mut self, device: &Device, step: u64) -> Result<Growth> {
        let state = self.state()?;
        self.arrays.state.write(0, &[BiasState { step: step as i64, ..state }])?;
        self.last_row = None;
        self.reserve(device, 1)
    }

    /// Makes room for the hills and kernels of a batch and for its rows.
    ///
    /// # Errors
    /// If the device failed, or has too little memory.
    pub fn prepare(&mut self, device: &Device, batch: &StepBatch, rows: u64) -> Result<Growth> {
        let growth = self.reserve(device, batch.steps)?;
        let wanted = rows as usize * self.row_length();
        if self.arrays.rows.len() >= wanted {
            return Ok(growth);
        }
        self.arrays.rows = device.alloc(wanted.next_power_of_two())?;
        self.data.rows = self.arrays.rows.address();
        Ok(Growth::Moved)
    }

    /// Makes room for the hills and kernels of so many more steps.
    fn reserve(&mut self, device: &Device, steps: u64) -> Result<Growth> {
        let mut growth = Growth::None;
        for (k, arrays) in &mut self.hills {
            let made = || {
                let mut numbers = [0.0; NUMBERS];
                self.arrays.numbers.read(NUMBERS * k, &mut numbers)?;
                Ok(count(&self.biases.biases[*k].function, &numbers))
            };
            growth = growth.and(arrays.reserve(device, steps, made)?);
        }
        self.update_terms(growth)?;
        Ok(growth)
    }

    /// Numbers of each bias as they are now. Hills are given once.
    ///
    /// # Errors
    /// If the device failed.
    pub fn take_memory(&mut self) -> Result<Vec<BiasMemory>> {
        let numbers = self.arrays.numbers.to_vec()?;
        let mut all = Vec::new();
        for (k, own) in numbers.chunks_exact(NUMBERS).enumerate() {
            let mut memory = BiasMemory { numbers: own.to_vec(), ..BiasMemory::default() };
            if let Some(arrays) = self.hills.get_mut(&k) {
                arrays.read(&self.biases.biases[k].function, &mut memory)?;
                if !memory.hills.is_empty() {
                    self.arrays.numbers.write(NUMBERS * k + HILL_COUNT, &[0.0])?;
                }
            }
            all.push(memory);
        }
        Ok(all)
    }

    /// Number of numbers of a row, with one that is not 0 where something is not defined.
    fn row_length(&self) -> usize {
        self.biases.row_length() + 1
    }

    /// Rows of the last batch, from one on.
    ///
    /// # Errors
    /// If the device failed, or something is not defined.
    pub fn rows(&mut self, first: usize, count: usize) -> Result<Vec<BiasRow>> {
        let length = self.row_length();
        let mut numbers = vec![0.0; count * length];
        self.arrays.rows.read(first * length, &mut numbers)?;
        if numbers.chunks_exact(length).any(|row| row[length - 1] != 0.0)
            && let Some(error) = self.fault()?
        {
            return Err(error);
        }
        let rows: Vec<BiasRow> = numbers.chunks_exact(length).map(|row| self.biases.row(row)).collect();
        self.last_row = rows.last().cloned();
        Ok(rows)
    }

    /// Row of an evaluation outside a batch.
    ///
    /// # Errors
    /// As for [`BiasKernels::rows`].
    pub fn row_now(&mut self) -> Result<BiasRow> {
        let rows = self.rows(0, 1)?;
        self.last_row = None;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// Row of the last evaluation with energies.
    ///
    /// # Errors
    /// As for [`BiasKernels::rows`].
    pub fn last_row(&mut self) -> Result<BiasRow> {
        match &self.last_row {
            Some(row) => Ok(row.clone()),
            None => self.row_now(),
        }
    }

    /// Error of the first variable or bias that was not defined, if there is one.
    ///
    /// # Errors
    /// If the device failed.
    pub fn fault(&self) -> Result<Option<Error>> {
        let BiasState { fault, fault_step, .. } = self.state()?;
        if fault == NONE_UNDEFINED {
            return Ok(None);
        }
        let values = self.arrays.fault_values.to_vec()?;
        let error = self.biases.undefined(fault as usize, &values);
        Ok(Some(error.context(format!("step {fault_step}"))))
    }

    /// Launches of an evaluation, beside that of other forces if there are no energies, and after the end of the step before.
    pub fn evaluation(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
    ) -> Vec<Launch> {
        let [first, others] = match evaluate {
            Evaluate::Forces => [Waits::FourthAfterMain, Waits::FourthStream],
            Evaluate::ForcesAndEnergies => [Waits::MainAndFourth, Waits::MainStream],
        };
        let waits = std::iter::once(first).chain(std::iter::repeat(others));
        let launches = self.evaluate(data, slot, trigger, evaluate).into_iter();
        launches.zip(waits).map(|(launch, waits)| launch.waits(waits)).collect()
    }
}
