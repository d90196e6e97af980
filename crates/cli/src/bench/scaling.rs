//! `jostle bench scaling`: a model of many ranks with domains, from what a step costs on the cores of this machine and
//! from a network's latency and bandwidth.
//!
//! A rank takes a n + b g for its n atoms and g ghosts, longer by a part s where all cores of its node are at work (they
//! share memory and clock), and again by a part w for waiting and copying. It sends positions of ghosts to 13 neighbours
//! and gets forces back (half shells, `jostle_cpu`'s domains): 26 messages of together c g bytes. Whether a list is stale
//! is agreed upon in each step, in a tree of messages. One rank alone gives a; two sizes of the case with a rank on each
//! core b and s, the larger of them w and c.
//! - Advantage: few numbers, all of them measured, and checked against runs on fewer ranks.
//! - Disadvantage: domains are cubes of equal load; messages do not overlap with each other or with work; what the
//!   network does to others, rebuilding of lists by migration and output are not in it.

use super::cases::resize;
use super::measure::{Measured, Messages, RunSettings, measure};
use crate::machine::Machine;
use crate::numbers::{grouped, significant};
use crate::output;
use jostle_core::{Error, Result};
use jostle_engine::model::DeviceInput;
use jostle_engine::system_from_input;
use jostle_io::Input;
use serde_json::{Value, json};

/// Messages of a rank in a step to 13 neighbours and back.
const MESSAGES: f64 = 26.0;
/// Atoms and ranks of the predictions.
const PREDICTED: [(f64, &[usize]); 2] = [(1e6, &[16, 64, 256, 1024]), (1e9, &[100, 1_000, 10_000])];
/// Part by which the model may be off what was measured without a word about it.
const TRUSTED: f64 = 0.25;
/// Atoms of the larger size over those of the smaller one.
const SMALLER: usize = 8;

/// Network between ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Seconds of a message without content.
    pub latency: f64,
    /// Bytes a second that a rank sends while all others of its node send as well.
    pub bandwidth: f64,
}

impl Network {
    /// From microseconds and GB/s.
    ///
    /// # Errors
    /// If they are not a latency that is not negative and a bandwidth above zero.
    pub fn new(numbers: &[f64]) -> Result<Self> {
        match numbers {
            [latency, bandwidth]
                if *latency >= 0.0 && *bandwidth > 0.0 && (latency + bandwidth).is_finite() =>
            {
                Ok(Network { latency: 1e-6 * latency, bandwidth: 1e9 * bandwidth })
            }
            _ => Err(Error::input(
                "--network wants a latency in microseconds and a bandwidth in GB/s of a rank",
            )
            .hint("--network 2,0.4")),
        }
    }
}

/// Costs of a step on many ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Model {
    /// Reach of forces with the skin, in distances between atoms (n^(-1/3)).
    reach: f64,
    /// Cores of a node.
    cores: usize,
    /// Seconds an atom, on a node where no other core works.
    atom: f64,
    /// Seconds a ghost there.
    ghost: f64,
    /// Time that is longer where all cores of a node work, as a part of it.
    crowding: f64,
    /// Waiting and copying, as a part of the work.
    waiting: f64,
    /// Bytes a ghost.
    bytes: f64,
}

/// Step on some ranks: its parts in seconds.
#[derive(Debug, Clone, Copy)]
struct Step {
    work: f64,
    waiting: f64,
    messages: f64,
}

impl Step {
    fn total(self) -> f64 {
        self.work + self.waiting + self.messages
    }
}

/// Ghosts of a rank where a cube of so many atoms is divided among some: half of a shell around its domain, across the
/// axes that are cut.
fn ghosts(atoms: f64, ranks: usize, reach: f64) -> f64 {
    let parts = parts(ranks);
    let own = parts.map(|parts| atoms.cbrt() / parts as f64);
    let wide = [0, 1, 2].map(|k| own[k] + if parts[k] > 1 { 2.0 * reach } else { 0.0 });
    0.5 * (wide.iter().product::<f64>() - own.iter().product::<f64>())
}

/// Numbers of domains along the edges of a cube, with the least surface.
fn parts(ranks: usize) -> [usize; 3] {
    let divisors = |n: usize| (1..=n).filter(move |d| n.is_multiple_of(*d));
    let all = divisors(ranks).flat_map(|a| divisors(ranks / a).map(move |b| [a, b, ranks / a / b]));
    all.min_by_key(|[a, b, c]| a * b + b * c + c * a).unwrap_or([1, 1, ranks])
}

impl Model {
    /// Costs from the seconds an atom of one rank alone, from two numbers of atoms on all cores, each with the seconds of
    /// work of a step, and from the waiting and the bytes of a step for the first.
    fn of(
        (reach, cores): (f64, usize),
        alone: f64,
        [larger, smaller]: [(f64, f64); 2],
        (waiting, bytes): (f64, f64),
    ) -> Self {
        let [(all, t), (few, s)] = [larger, smaller];
        let [n, m] = [all, few].map(|atoms| atoms / cores as f64);
        let [g, h] = [all, few].map(|atoms| ghosts(atoms, cores, reach));
        // Noise must not make an atom or a ghost cheaper than nothing.
        let ghost = ((n * s - m * t) / (n * h - m * g)).max(0.0);
        let crowded = ((t - ghost * g) / n / alone).max(1.0);
        // Ghosts take the rest of the time, so that the larger size comes back however noisy the measurement was.
        let (crowding, ghost) = (crowded - 1.0, ((t / crowded - n * alone) / g).max(0.0));
        Model { reach, cores, atom: alone, ghost, crowding, waiting: waiting / t, bytes: bytes / g }
    }

    /// Factor of the time of work where so many cores of a node are at work.
    fn crowd(&self, ranks: usize) -> f64 {
        let others = ranks.min(self.cores) as f64 - 1.0;
        1.0 + self.crowding * others / (self.cores as f64 - 1.0).max(1.0)
    }

    /// Step of so many atoms on so many ranks over a network; `None`: among the cores of this machine.
    fn step(&self, atoms: f64, ranks: usize, network: Option<Network>) -> Step {
        let ghosts = ghosts(atoms, ranks, self.reach);
        let work = self.crowd(ranks) * (self.atom * atoms / ranks as f64 + self.ghost * ghosts);
        let waiting = if ranks > 1 { self.waiting * work } else { 0.0 };
        let messages = network.filter(|_| ranks > 1).map_or(0.0, |network| {
            let agreement = 2.0 * (ranks as f64).log2().ceil();
            (MESSAGES + agreement) * network.latency + self.bytes * ghosts / network.bandwidth
        });
        Step { work, waiting, messages }
    }

    /// Seconds of a step of a case on this machine.
    fn here(&self, ranks: usize, measured: &Measured) -> f64 {
        self.step(measured.atoms as f64, ranks, None).total()
    }
}

/// Measures a case on the cores of this machine and prints what the model makes of it.
///
/// # Errors
/// If the case has forces in all images or atoms of a file, or cannot be measured.
pub fn scaling(
    (name, input): (&str, Input),
    network: Network,
    run_settings: &RunSettings,
    seconds: f64,
    as_json: bool,
) -> Result<()> {
    let (spacing, small) = (spacing(name, &input)?, smaller(name, &input)?);
    let cores = Machine::look().cores.max(2);
    let on = |input: &Input, ranks: usize| -> Result<Measured> {
        let mut settings = *run_settings;
        settings.overrides.device = Some(DeviceInput::Cpu);
        (settings.overrides.ranks, settings.overrides.threads) = (Some(ranks), Some(1));
        say!("{name} on {ranks} of {cores} cores: warming up, then measuring for {seconds} s");
        measure(name, input.clone(), &settings, seconds)
    };
    let (larger, smaller) = (on(&input, cores)?, on(&small, cores)?);
    let mut checked = Vec::new();
    let fewer = std::iter::successors(Some(1), |ranks| Some(2 * ranks)).take_while(|ranks| *ranks < cores);
    for ranks in fewer {
        checked.push((ranks, on(&input, ranks)?));
    }
    checked.push((cores, larger));
    let model = calibrated(spacing, cores, &checked, &smaller)?;
    match as_json {
        true => output::print_json(&to_json(&model, network, &checked)),
        false => output::print(&text(&model, network, &checked)),
    }
}

/// The case with fewer atoms.
fn smaller(name: &str, input: &Input) -> Result<Input> {
    let atoms = |input: &Input| Ok(system_from_input(input)?.0.state.len());
    let (all, mut small) = (atoms(input)?, input.clone());
    resize(&mut small, all / SMALLER);
    if atoms(&small)? == all {
        return Err(Error::input(format!("{name} has the atoms of a file, and the model needs two sizes"))
            .hint("choose a case that is built: melt-256k"));
    }
    Ok(small)
}

/// Cut-off and distance between atoms of a case.
fn spacing(name: &str, input: &Input) -> Result<[f64; 2]> {
    let (system, forces) = system_from_input(input)?;
    if forces.has_reciprocal_sum() {
        return Err(Error::input(format!(
            "{name} has forces in all images, whose transforms are not in the model"
        ))
        .hint("choose a case with forces of short range: melt-256k"));
    }
    let distance = (system.simbox.volume() / system.state.len() as f64).cbrt();
    Ok([forces.largest_cutoff(), distance])
}

/// Costs from a case on one rank, first, and on all cores, last, and from a smaller one on all cores.
fn calibrated(
    [cutoff, distance]: [f64; 2],
    cores: usize,
    measured: &[(usize, Measured)],
    smaller: &Measured,
) -> Result<Model> {
    let none =
        || Error::input("these ranks have sent each other no messages, so that nothing is known of them");
    let [Some((_, alone)), Some((_, larger))] = [measured.first(), measured.last()] else {
        return Err(none());
    };
    let [Some(a), Some(b)] = [larger, smaller].map(|measured| measured.messages) else { return Err(none()) };
    let work = |measured: &Measured, messages: Messages| {
        (measured.atoms as f64, measured.seconds_per_step() - messages.seconds)
    };
    let reach = (cutoff + larger.skin) / distance;
    let alone = alone.seconds_per_step() / alone.atoms as f64;
    Ok(Model::of((reach, cores), alone, [work(larger, a), work(smaller, b)], (a.seconds, a.bytes)))
}

/// Largest part by which the model is off what was measured.
fn worst(model: &Model, checked: &[(usize, Measured)]) -> f64 {
    let off = checked
        .iter()
        .map(|(ranks, measured)| (model.here(*ranks, measured) / measured.seconds_per_step() - 1.0).abs());
    off.fold(0.0, f64::max)
}

/// Time of the atoms alone, with all cores of a node at work, over that of the step.
fn efficiency(model: &Model, atoms: f64, ranks: usize, network: Network) -> f64 {
    model.crowd(model.cores) * model.atom * atoms
        / (ranks as f64 * model.step(atoms, ranks, Some(network)).total())
}

fn text(model: &Model, network: Network, checked: &[(usize, Measured)]) -> String {
    let mut text = format!(
        "an atom {} ns, a ghost {} ns, {:.0}% longer with all {} cores at work, {:.0}% of that for waiting and copying, \
         {} bytes a ghost\n\n",
        significant(1e9 * model.atom, 3),
        significant(1e9 * model.ghost, 3),
        100.0 * model.crowding,
        model.cores,
        100.0 * model.waiting,
        significant(model.bytes, 3)
    );
    text +=
        &format!("{:>14}{:>10}{:>16}{:>16}{:>10}\n", "atoms", "ranks", "measured, ms", "model, ms", "off");
    for (ranks, measured) in checked {
        let found = measured.seconds_per_step();
        let expected = model.here(*ranks, measured);
        text += &format!(
            "{:>14}{ranks:>10}{:>16}{:>16}{:>9.0}%\n",
            grouped(measured.atoms as u64),
            significant(1e3 * found, 3),
            significant(1e3 * expected, 3),
            100.0 * (expected / found - 1.0)
        );
    }
    text += &format!("1 and {} ranks gave the model its numbers; ", model.cores);
    text +=
        if checked.len() > 2 { "those between are checks\n" } else { "there are none between to check it\n" };
    if worst(model, checked) > TRUSTED {
        text += "the model is too far off for its predictions to mean much: choose a larger case, or longer --seconds\n";
    }
    text += &format!(
        "\npredicted, a message {} us, {} GB/s a rank\n{:>14}{:>10}{:>16}{:>16}{:>12}{:>12}\n",
        significant(1e6 * network.latency, 3),
        significant(1e-9 * network.bandwidth, 3),
        "atoms",
        "ranks",
        "ms a step",
        "atoms a rank",
        "messages",
        "efficiency"
    );
    for (atoms, all) in PREDICTED {
        for ranks in all {
            let step = model.step(atoms, *ranks, Some(network));
            text += &format!(
                "{:>14}{:>10}{:>16}{:>16}{:>11.0}%{:>11.0}%\n",
                grouped(atoms as u64),
                grouped(*ranks as u64),
                significant(1e3 * step.total(), 3),
                grouped(atoms as u64 / *ranks as u64),
                100.0 * step.messages / step.total(),
                100.0 * efficiency(model, atoms, *ranks, network)
            );
        }
    }
    text + "\nefficiency: the time of the atoms alone, with all cores of a node at work, over that of the step\n"
}

fn to_json(model: &Model, network: Network, checked: &[(usize, Measured)]) -> Value {
    let measured = checked.iter().map(|(ranks, measured)| {
        let expected = model.here(*ranks, measured);
        let found = measured.seconds_per_step();
        json!({ "atoms": measured.atoms, "ranks": ranks, "seconds": found, "model": expected })
    });
    let predicted = PREDICTED.iter().flat_map(|(atoms, all)| {
        all.iter().map(move |ranks| {
            let Step { work, waiting, messages } = model.step(*atoms, *ranks, Some(network));
            let efficiency = efficiency(model, *atoms, *ranks, network);
            json!({
                "atoms": atoms, "ranks": ranks, "work": work, "waiting": waiting, "messages": messages,
                "efficiency": efficiency,
            })
        })
    });
    json!({
        "seconds_per_atom": model.atom,
        "seconds_per_ghost": model.ghost,
        "crowding": model.crowding,
        "cores": model.cores,
        "waiting": model.waiting,
        "bytes_per_ghost": model.bytes,
        "reach": model.reach,
        "latency": network.latency,
        "bandwidth": network.bandwidth,
        "worst": worst(model, checked),
        "measured": measured.collect::<Vec<_>>(),
        "predicted": predicted.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs of a machine that the model is made for come back, and more ranks are faster until messages take over.
    #[test]
    fn costs_come_back() {
        let (reach, atom, ghost, cores) = (2.6, 8e-8, 3e-8, 32);
        let of_ghosts = |n: f64| ghosts(n, cores, reach);
        let work = |n: f64| (n, 1.4 * (atom * n / 32.0 + ghost * of_ghosts(n)));
        let (larger, bytes) = (work(256e3), 40.0 * of_ghosts(256e3));
        let model = Model::of((reach, cores), atom, [larger, work(32e3)], (0.1 * larger.1, bytes));
        for (found, expected) in [
            (model.atom, atom),
            (model.ghost, ghost),
            (model.crowding, 0.4),
            (model.waiting, 0.1),
            (model.bytes, 40.0),
        ] {
            assert!((found / expected - 1.0).abs() < 1e-9, "{model:?}");
        }
        // A smaller size that was slow by chance would make ghosts so dear that atoms cost less than on one rank.
        let noisy = Model::of((reach, cores), atom, [work(256e3), (32e3, 3.0 * work(32e3).1)], (0.0, bytes));
        let again = noisy.step(256e3, cores, None).total();
        assert!((again / work(256e3).1 - 1.0).abs() < 1e-9, "{noisy:?}");
        let network = Network::new(&[2.0, 0.4]).unwrap();
        let time = |ranks: usize| model.step(1e6, ranks, Some(network)).total();
        assert!((time(1) / (1e6 * atom) - 1.0).abs() < 1e-9, "{}", time(1));
        assert!(time(64) < time(16) && time(1_000_000) > 26.0 * 2e-6);
        assert!(efficiency(&model, 1e9, 10_000, network) > efficiency(&model, 1e6, 1_000, network));
        assert_eq!([parts(32), parts(8), parts(2)], [[2, 4, 4], [2, 2, 2], [1, 1, 2]]);
        // A cut across one axis has faces there alone.
        assert!((ghosts(1000.0, 2, 1.0) - 100.0).abs() < 1e-9);
        assert!(Network::new(&[2.0]).is_err() && Network::new(&[2.0, 0.0]).is_err());
        assert!(Network::new(&[f64::INFINITY, 1.0]).is_err() && Network::new(&[0.0, 1.0]).is_ok());
    }
}
