//! Replica exchange (Sugita and Okamoto 1999; Fukunishi, Watanabe and Takada 2002): simulations of the same atoms, which
//! differ in temperature, forces or biases, exchange their atoms at intervals.
//!
//! A replica keeps its thermostat, its forces and its folder, so that a trajectory is that of one temperature; atoms pass
//! from one to the next. Two neighbours exchange with probability min(1, exp(-d)),
//! d = u_a(x_b) + u_b(x_a) - u_a(x_a) - u_b(x_b), of reduced energies u = (U + P V) / k_B T that each evaluates for the
//! atoms of both: the same rule for all that replicas may differ in. Velocities take part by their temperature alone:
//! they are scaled.

mod compatibility;
mod record;

pub use crate::exchange_folder::{ExchangeFolder, RECORD};

use crate::atomic_file::AppendFile;
use crate::device;
use crate::run_folder::{newest_checkpoint, refuse_written, written_now};
use crate::side_by_side::{AfterFailure, SideBySide, on_all};
use crate::{CHECKPOINT, Existing, Extent, INPUT, Outcome, Overrides, Simulation};
use compatibility::{check, check_boxes, exchanging_steps};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Error, Result};
use jostle_io::Input;
use jostle_io::input::model::{DeviceInput, StageInput};
use record::Record;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two sets of checkpoints, and the part of it that writing them may take.
const COMMIT_INTERVAL: Duration = Duration::from_secs(30);
const COMMIT_SHARE: u32 = 20;

/// Exchanges between two neighbours so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair<'a> {
    /// Folders of the two.
    pub folders: [&'a str; 2],
    /// Number of exchanges tried.
    pub tried: u64,
    /// Number of those accepted.
    pub accepted: u64,
}

impl Pair<'_> {
    /// Part of the exchanges that were accepted; zero where none was tried.
    pub fn acceptance(&self) -> f64 {
        self.accepted as f64 / self.tried.max(1) as f64
    }
}

/// Replicas that exchange their atoms.
pub struct Replicas {
    folder: PathBuf,
    simulations: Vec<Simulation>,
    record: Record,
    table: AppendFile,
    side_by_side: SideBySide,
    committed: Instant,
    commit_took: Duration,
}

impl Replicas {
    /// Begins an exchange between runs of some inputs, each with the name of its folder in `folder`, or goes on with it;
    /// neighbours in the list exchange atoms every so many steps. Without a number of threads in `overrides`, each run
    /// has its share of the cores.
    ///
    /// # Errors
    /// If there is one input only, an input is wrong, the runs are not of the same atoms and stages, no stage has both a
    /// thermostat and as many steps, replicas would have different boxes in a stage that keeps them, or the folder holds
    /// something else.
    pub fn open(
        folder: &Path,
        inputs: &[(String, Input)],
        every: u64,
        overrides: &Overrides,
    ) -> Result<Self> {
        let names: Vec<String> = inputs.iter().map(|(name, _)| name.clone()).collect();
        if names.len() < 2 || every == 0 {
            return Err(Error::input(
                "replica exchange takes two runs or more, and a step or more between exchanges",
            ));
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = overrides.threads.unwrap_or_else(|| (cores / names.len()).max(1));
        let overrides = Overrides { threads: Some(threads), ..*overrides };
        let found = Record::read(folder, &names, every)?;
        let mut simulations = match &found {
            Some(record) if record.commit > 0 => resumed(folder, inputs, record, &overrides)?,
            _ => begun(inputs, &overrides)?,
        };
        let under_way = found.as_ref().map_or(0, |record| record.stage);
        check(&simulations, inputs, every, under_way)?;
        let is_new = found.is_none();
        let record = found.unwrap_or_else(|| Record::new(names, every));
        if record.commit == 0 {
            create(folder, &mut simulations, &record, is_new)?;
        }
        Ok(Replicas {
            table: record.table(folder)?,
            folder: folder.to_owned(),
            side_by_side: SideBySide::new(&mut simulations, cores / threads),
            simulations,
            record,
            committed: Instant::now(),
            commit_took: Duration::ZERO,
        })
    }

    /// Runs what is left, until `stop` is set; `observe` is called after each round of exchanges.
    ///
    /// # Errors
    /// If a run fails, replicas have different boxes where a stage begins that keeps them, or a file cannot be written. The
    /// same call of [`Replicas::open`] goes on from the last set of
    /// checkpoints.
    pub fn run(&mut self, observe: &mut dyn FnMut(&Replicas), stop: &AtomicBool) -> Result<Outcome> {
        while let Some(stage) = self.stage().cloned() {
            check_boxes(&self.simulations, &self.record.folders, self.record.every, &stage)?;
            if let Some(steps) = exchanging_steps(&stage)
                && self.run_stage(steps, observe, stop)? == Outcome::Interrupted
            {
                return self.interrupted();
            }
            let index = self.record.stage;
            let all = |_: &Simulation| Extent::Through(index);
            if self.advance(&all, stop)? == Outcome::Interrupted {
                return self.interrupted();
            }
            (self.record.stage, self.record.exchanged_at) = (index + 1, 0);
            self.commit()?;
        }
        Ok(Outcome::Finished)
    }

    /// The stage under way; `None` at the end.
    pub fn stage(&self) -> Option<&StageInput> {
        self.simulations.first()?.stages().get(self.record.stage)
    }

    /// Steps of that stage, when atoms were last exchanged.
    pub fn exchanged_at(&self) -> u64 {
        self.record.exchanged_at
    }

    /// Exchanges between neighbours.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        let Record { folders, tried, accepted, .. } = &self.record;
        folders.windows(2).zip(tried.iter().zip(accepted)).filter_map(|(folders, (tried, accepted))| {
            let [first, second] = folders else { return None };
            Some(Pair { folders: [first, second], tried: *tried, accepted: *accepted })
        })
    }

    /// The simulations, in the order of the inputs.
    pub fn simulations(&self) -> &[Simulation] {
        &self.simulations
    }

    /// Makes the steps of a stage that are left, with exchanges between them.
    fn run_stage(
        &mut self,
        steps: u64,
        observe: &mut dyn FnMut(&Replicas),
        stop: &AtomicBool,
    ) -> Result<Outcome> {
        let index = self.record.stage;
        while self.record.exchanged_at < steps {
            let target = steps.min(self.record.exchanged_at + self.record.every);
            let rest = |simulation: &Simulation| match simulation.stage_index() == index {
                true => Extent::Steps(target - simulation.stage_step().unwrap_or(0).min(target)),
                false => Extent::Steps(0),
            };
            if self.advance(&rest, stop)? == Outcome::Interrupted {
                return Ok(Outcome::Interrupted);
            }
            // Before the exchange: a checkpoint has the list that its atoms were found by.
            if self.committed.elapsed() > COMMIT_INTERVAL.max(COMMIT_SHARE * self.commit_took) {
                self.commit()?;
            }
            if target < steps {
                self.exchange()?;
            }
            self.record.exchanged_at = target;
            observe(self);
        }
        Ok(Outcome::Finished)
    }

    /// Runs a part of each replica. After an error the others stop soon.
    fn advance(
        &mut self,
        extent: &(dyn Fn(&Simulation) -> Extent + Sync),
        stop: &AtomicBool,
    ) -> Result<Outcome> {
        let is_stopped = || stop.load(Ordering::Relaxed);
        let (all, stop) = (&mut self.simulations, AfterFailure::Stop);
        let all = self.side_by_side.advance(all, extent, stop, &mut (), &is_stopped);
        let named = all.into_iter().zip(&self.record.folders);
        let outcomes = named.map(|(outcome, name)| outcome.map_err(|e| e.context(name.clone())));
        let outcomes = outcomes.collect::<Result<Vec<Outcome>>>()?;
        Ok(match outcomes.iter().all(|outcome| *outcome == Outcome::Finished) {
            true => Outcome::Finished,
            false => Outcome::Interrupted,
        })
    }

    /// A round of exchanges: every other pair of neighbours, the others in the next round.
    fn exchange(&mut self) -> Result<()> {
        let (first, round) = ((self.record.rounds % 2) as usize, self.record.rounds);
        let seed = self.simulations[0].seed();
        let folders = &self.record.folders;
        let pairs = self.simulations[first..].chunks_exact_mut(2).zip((first..).step_by(2));
        let threads = self.side_by_side.at_a_time();
        let accepted = on_all(pairs.collect(), threads, |(pair, k): (&mut [Simulation], usize)| {
            let chance = Stream::new(seed, Purpose::Exchange, k as u32, round).uniform();
            let exchanged = exchange_pair(pair, chance);
            exchanged.map_err(|e| e.context(format!("exchange of {} and {}", folders[k], folders[k + 1])))
        });
        for (accepted, k) in accepted.into_iter().zip((first..).step_by(2)) {
            self.record.tried[k] += 1;
            if accepted? {
                self.record.accepted[k] += 1;
                self.record.configurations.swap(k, k + 1);
            }
        }
        self.record.rounds += 1;
        let row: Vec<String> = self.record.configurations.iter().map(usize::to_string).collect();
        let step = self.simulations.first().map_or(0, Simulation::step);
        self.table.append(&format!("{step},{}\n", row.join(",")))
    }

    /// Writes a set of checkpoints.
    fn commit(&mut self) -> Result<()> {
        let begun = Instant::now();
        for simulation in &mut self.simulations {
            simulation.save_checkpoint()?;
        }
        self.table.sync()?;
        self.record.table_bytes = self.table.length;
        self.record.commit(&self.folder)?;
        self.committed = Instant::now();
        self.commit_took = begun.elapsed();
        Ok(())
    }

    fn interrupted(&mut self) -> Result<Outcome> {
        self.commit()?;
        Ok(Outcome::Interrupted)
    }
}

/// Exchanges the atoms of two replicas, if chance has it; returns true where they are exchanged.
fn exchange_pair(pair: &mut [Simulation], chance: f64) -> Result<bool> {
    let [a, b] = pair else { return Ok(false) };
    let before = a.reduced_energy()? + b.reduced_energy()?;
    let conserved = [a.conserved()?, b.conserved()?];
    let (of_a, of_b) = (a.configuration()?, b.configuration()?);
    let factor = (a.thermal_energy()? / b.thermal_energy()?).sqrt();
    a.adopt(&of_b, factor)?;
    b.adopt(&of_a, 1.0 / factor)?;
    let after = a.reduced_energy()? + b.reduced_energy()?;
    let accepted = chance < (before - after).exp();
    if accepted {
        a.keep_conserved(conserved[0])?;
        b.keep_conserved(conserved[1])?;
    } else {
        a.adopt(&of_a, 1.0)?;
        b.adopt(&of_b, 1.0)?;
    }
    Ok(accepted)
}

/// Simulations that begin.
fn begun(inputs: &[(String, Input)], overrides: &Overrides) -> Result<Vec<Simulation>> {
    open_all(inputs, overrides, |(_, input), overrides| Simulation::from_input(input, overrides))
}

/// Simulations that go on from the last set of checkpoints.
fn resumed(
    folder: &Path,
    inputs: &[(String, Input)],
    record: &Record,
    overrides: &Overrides,
) -> Result<Vec<Simulation>> {
    let one = |(name, input): &(String, Input), overrides: &Overrides| {
        let replica = folder.join(name);
        let another = || {
            Error::file(&replica, "this folder holds a run of another input, or with another --steps")
                .hint("remove it, or choose another folder with --output DIR")
        };
        let before = std::fs::read_to_string(replica.join(INPUT));
        if before.is_ok_and(|before| before != *input.source.text) {
            return Err(another());
        }
        // Another program that goes on with the exchange has checkpoints that must not be replaced.
        refuse_written(&replica)?;
        record.restore(&replica)?;
        let simulation = Simulation::resume_from(&replica, newest_checkpoint(&replica)?, overrides)?;
        if simulation.most_steps() == overrides.most_steps { Ok(simulation) } else { Err(another()) }
    };
    open_all(inputs, overrides, one)
}

/// Opens the first simulation, and then the others at the same time: what is compiled for one serves all. Several GPUs take
/// them by turns.
fn open_all(
    inputs: &[(String, Input)],
    overrides: &Overrides,
    open: impl Fn(&(String, Input), &Overrides) -> Result<Simulation> + Sync,
) -> Result<Vec<Simulation>> {
    let asked = inputs.iter().map(|(_, input)| overrides.device.unwrap_or(input.run.device));
    let asked: Vec<DeviceInput> = asked.collect();
    let mut left = inputs.iter().zip(device::share_out(&asked).unwrap_or(asked).into_iter().cycle());
    let open = |(input, device): (&(String, Input), DeviceInput)| {
        open(input, &Overrides { device: Some(device), ..*overrides })
    };
    let Some(first) = left.next().map(open) else { return Ok(Vec::new()) };
    let first = first?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let others = on_all(left.collect(), threads, open);
    std::iter::once(Ok(first)).chain(others).collect()
}

/// Makes the folders. The record is there before them: it tells an exchange that has not come to its first checkpoints
/// from other runs, which are not replaced.
fn create(folder: &Path, simulations: &mut [Simulation], record: &Record, is_new: bool) -> Result<()> {
    let replicas: Vec<PathBuf> = record.folders.iter().map(|name| folder.join(name)).collect();
    // It was not there when the simulations were opened.
    if is_new && folder.join(RECORD).exists() {
        return Err(written_now(folder));
    }
    if let Some(taken) = replicas.iter().find(|replica| is_new && replica.join(INPUT).exists()) {
        return Err(Error::file(taken, "this folder holds a run without exchange")
            .hint("remove it, or choose another folder with --output DIR"));
    }
    std::fs::create_dir_all(folder).map_err(|e| Error::io("make", folder, &e))?;
    record.write(folder)?;
    for (simulation, replica) in simulations.iter_mut().zip(&replicas) {
        let existing = if is_new { Existing::Refuse } else { Existing::Replace };
        simulation.write_to(replica, existing)?;
        let _ = std::fs::remove_file(replica.join(CHECKPOINT));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record of an exchange that began while this one opened its simulations.
    #[test]
    fn exchanges_that_begin_together_are_told_apart() {
        let home = tempfile::tempdir().unwrap();
        let record = Record::new(vec!["a".into(), "b".into()], 10);
        create(home.path(), &mut [], &record, true).unwrap();
        let refused = create(home.path(), &mut [], &record, true).unwrap_err();
        assert!(refused.message().contains("another run is writing"), "{refused}");
        create(home.path(), &mut [], &record, false).unwrap();
    }
}
