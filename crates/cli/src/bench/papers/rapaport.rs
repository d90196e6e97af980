//! `jostle bench papers`: the tables of the papers that Jostle follows, measured again: then and now.

use super::cases::resize;
use super::iumd::{Ions, measure_ions};
use super::measure::{Measured, RunSettings, TimedSystem, measure};
use crate::arguments::OutputFormat;
use crate::example::{self, Example};
use crate::numbers::{grouped, significant};
use crate::output;
use jostle_core::{Algorithm, Processor, Result};
use jostle_engine::device;
use jostle_io::Input;
use serde_json::{Value, json};

const RAPAPORT: &str = "D. C. Rapaport, Comput. Phys. Commun. 182, 926 (2011); Quadro FX770M";
const WANG: &str = "P. Wang, Short-Range Molecular Dynamics on GPU (2010); Tesla C2050";
const BERRY: &str = "D. K. Berry, J. Schuchart, R. Henschel (2013); Tesla K20";

/// Edge of the lattice in Rapaport's Table 1, microseconds per atom and step then.
const SOFT_SIZES: [(usize, f64); 9] = [
    (32, 0.072),
    (40, 0.070),
    (48, 0.067),
    (56, 0.068),
    (64, 0.068),
    (72, 0.067),
    (80, 0.067),
    (88, 0.069),
    (96, 0.067),
];
const LENNARD_JONES_SIZES: [(usize, f64); 5] =
    [(32, 0.266), (40, 0.240), (48, 0.270), (56, 0.243), (64, 0.254)];
/// Edge and cut-off (`None`: soft spheres) in Table 3; microseconds of the paper's new algorithm
/// and of the one before it (Anderson, Lorenz and Travesset 2008).
const ALGORITHMS: [(usize, Option<f64>, f64, f64); 4] = [
    (48, Some(3.0), 0.270, 0.254),
    (48, Some(2.5), 0.176, 0.185),
    (48, Some(2.2), 0.137, 0.164),
    (64, None, 0.068, 0.168),
];
/// Thickness of the shell in Table 5, steps between two updates, microseconds.
const SHELLS: [(f64, f64, f64); 5] =
    [(0.4, 8.1, 0.070), (0.5, 10.1, 0.069), (0.6, 12.0, 0.067), (0.7, 14.0, 0.070), (0.8, 15.9, 0.075)];
/// Steps between two reorderings in Table 7, microseconds.
const REORDERINGS: [(u64, f64); 6] =
    [(50, 0.066), (100, 0.067), (250, 0.070), (500, 0.075), (1000, 0.081), (2000, 0.094)];
/// Steps made without reordering in Table 8, microseconds.
const WITHOUT_REORDERING: [(u64, f64); 9] = [
    (1_000, 0.088),
    (2_000, 0.105),
    (5_000, 0.127),
    (10_000, 0.151),
    (20_000, 0.183),
    (40_000, 0.214),
    (60_000, 0.232),
    (80_000, 0.242),
    (100_000, 0.249),
];
/// A row of Table 8 that would take longer than so many seconds is left out.
const PATIENCE: f64 = 60.0;
/// Wang's run: 100 steps of 108,000 atoms; seconds.
const MELT_STEPS: f64 = 100.0;
const MELT_CORE: f64 = 10.85;
const MELT_CELLS: f64 = 2.9;
const MELT_LIST: f64 = 1.0;
/// More ions than this take a CPU too long.
const MOST_IONS_ON_A_CPU: usize = 4_000;
/// Measures all tables.
///
/// # Errors
/// If a system cannot run.
pub fn papers(run_settings: &RunSettings, seconds: f64, format: OutputFormat) -> Result<()> {
    let here = device::preferred(run_settings.overrides.device.unwrap_or_default());
    let session = Session { run_settings: *run_settings, seconds, here };
    let tables: [fn(&Session) -> Result<PaperTable>; 7] = [
        Session::sizes,
        Session::algorithms,
        Session::shells,
        Session::reorderings,
        Session::without_reordering,
        Session::melt,
        Session::ions,
    ];
    let mut all = Vec::new();
    for table in tables {
        let table = table(&session)?;
        match format.json {
            true => all.push(table.to_json()),
            false => output::print(&table.text())?,
        }
    }
    if format.json {
        output::print_json(&json!({ "tables": all }))?;
    }
    Ok(())
}

/// A table, then and now.
struct PaperTable {
    title: String,
    source: &'static str,
    unit: &'static str,
    /// Device that measured the numbers of today.
    device: String,
    columns: Vec<&'static str>,
    rows: Vec<PaperRow>,
    note: &'static str,
}

/// A row: its name and a number for each column.
struct PaperRow {
    name: String,
    numbers: Vec<Option<f64>>,
}

impl PaperTable {
    fn text(&self) -> String {
        let line = |name: &str, cells: Vec<String>| {
            let cells: String = cells.iter().map(|cell| format!("{cell:>15}")).collect();
            format!("  {name:<36}{cells}\n")
        };
        let mut text = format!("{} ({})\n  then: {}\n", self.title, self.unit, self.source);
        text.push_str(&format!("  now:  {}\n", self.device));
        text.push_str(&line("", self.columns.iter().map(|c| c.to_string()).collect()));
        for row in &self.rows {
            let number = |n: &Option<f64>| n.map_or("-".to_string(), |n| significant(n, 3));
            text.push_str(&line(&row.name, row.numbers.iter().map(number).collect()));
        }
        if !self.note.is_empty() {
            text.push_str(&format!("  {}\n", self.note));
        }
        text.push('\n');
        text
    }

    fn to_json(&self) -> Value {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                let numbers: serde_json::Map<_, _> =
                    self.columns.iter().zip(&row.numbers).map(|(c, n)| (c.to_string(), json!(n))).collect();
                json!({ "name": row.name, "numbers": numbers })
            })
            .collect();
        json!({
            "title": self.title,
            "source": self.source,
            "device": self.device,
            "unit": self.unit,
            "rows": rows,
            "note": self.note,
        })
    }
}

/// Settings with which all tables are measured.
struct Session {
    run_settings: RunSettings,
    seconds: f64,
    here: Processor,
}

impl Session {
    fn measure(&self, name: &str, input: Input) -> Result<Measured> {
        say!("{name}");
        measure(name, input, &self.run_settings, self.seconds)
    }

    /// Table 1: the size of the system.
    fn sizes(&self) -> Result<PaperTable> {
        let soft = SOFT_SIZES.iter().map(|row| ("soft spheres", example::SOFT_SPHERES, row));
        let lj = LENNARD_JONES_SIZES.iter().map(|row| ("LJ, rc 3", example::LENNARD_JONES_RAPAPORT, row));
        let (mut rows, mut device) = (Vec::new(), String::new());
        for (about, system, (edge, then)) in soft.chain(lj) {
            let name = format!("{about}, {} atoms", grouped(edge.pow(3) as u64));
            let now = self.measure(&name, rapaport(system, *edge)?)?;
            rows.push(then_and_now(name, 1e3 * then, &now));
            device = now.device;
        }
        Ok(PaperTable {
            title: "Rapaport's Table 1: the number of atoms".into(),
            source: RAPAPORT,
            unit: "ns per atom-step",
            device,
            columns: vec!["then", "now", "times faster"],
            rows,
            note: "",
        })
    }

    /// Table 3: two algorithms, and the cut-off.
    fn algorithms(&self) -> Result<PaperTable> {
        let (columns, mine) = match self.here {
            Processor::Gpu => (
                vec!["then, new", "then, old", "now, tiles", "now, list", "now, cells"],
                vec![Algorithm::Tiles, Algorithm::List, Algorithm::Cells],
            ),
            Processor::Cpu => (vec!["then, new", "then, old", "now, clusters"], vec![Algorithm::Clusters]),
        };
        let (mut rows, mut device) = (Vec::new(), String::new());
        for (edge, cutoff, new, old) in ALGORITHMS {
            let name = match cutoff {
                Some(cutoff) => format!("LJ, rc {cutoff}, {} atoms", grouped(edge.pow(3) as u64)),
                None => format!("soft spheres, {} atoms", grouped(edge.pow(3) as u64)),
            };
            let mut numbers = vec![Some(1e3 * new), Some(1e3 * old)];
            for algorithm in &mine {
                let mut input = match cutoff {
                    Some(_) => rapaport(example::LENNARD_JONES_RAPAPORT, edge)?,
                    None => rapaport(example::SOFT_SPHERES, edge)?,
                };
                if let (Some(cutoff), Some(force)) = (cutoff, input.forces.first_mut()) {
                    force.value.cutoff = Some(cutoff);
                }
                input.run.settings.algorithm = *algorithm;
                let now = self.measure(&format!("{name}, {}", algorithm.name()), input)?;
                numbers.push(Some(now.nanoseconds()));
                device = now.machine().to_string();
            }
            rows.push(PaperRow { name, numbers });
        }
        Ok(PaperTable {
            title: "Rapaport's Table 3: algorithms".into(),
            source: RAPAPORT,
            unit: "ns per atom-step",
            device,
            columns,
            rows,
            note: "",
        })
    }

    /// Table 5: the thickness of the shell around the cut-off.
    fn shells(&self) -> Result<PaperTable> {
        let (mut rows, mut device) = (Vec::new(), String::new());
        let shells = SHELLS.into_iter().map(|(skin, updates, then)| (Some(skin), Some((updates, then))));
        for (skin, then) in shells.chain([(None, None)]) {
            let mut input = rapaport(example::SOFT_SPHERES, 48)?;
            input.run.settings.skin = skin;
            let now = self.measure(&format!("soft spheres, skin {skin:?}"), input)?;
            let name = match skin {
                Some(skin) => format!("shell {skin}"),
                None => format!("tuned while running: {}", significant(now.skin, 2)),
            };
            let numbers = vec![
                then.map(|(updates, _)| updates),
                now.steps_per_list,
                then.map(|(_, microseconds)| 1e3 * microseconds),
                Some(now.nanoseconds()),
            ];
            rows.push(PaperRow { name, numbers });
            device = now.device;
        }
        Ok(PaperTable {
            title: "Rapaport's Table 5: the shell, 110,592 soft spheres".into(),
            source: RAPAPORT,
            unit: "steps between updates; ns per atom-step",
            device,
            columns: vec!["updates then", "updates now", "then", "now"],
            rows,
            note: "",
        })
    }

    /// Table 7: how often atoms are reordered.
    fn reorderings(&self) -> Result<PaperTable> {
        let now = self.measure("soft spheres, reordering", rapaport(example::SOFT_SPHERES, 48)?)?;
        let then = REORDERINGS.map(|(steps, microseconds)| PaperRow {
            name: format!("every {} steps", grouped(steps)),
            numbers: vec![Some(1e3 * microseconds), None],
        });
        let every = now.steps_per_list.map(|steps| significant(steps, 3)).unwrap_or_default();
        let today = PaperRow {
            name: format!("with every list, {every} steps"),
            numbers: vec![None, Some(now.nanoseconds())],
        };
        Ok(PaperTable {
            title: "Rapaport's Table 7: reordering atoms, 110,592 soft spheres".into(),
            source: RAPAPORT,
            unit: "ns per atom-step",
            device: now.device,
            columns: vec!["then", "now"],
            rows: then.into_iter().chain([today]).collect(),
            note: "Jostle sorts the atoms whenever it builds a list; there is nothing to choose.",
        })
    }

    /// Table 8: a long run.
    fn without_reordering(&self) -> Result<PaperTable> {
        say!("soft spheres, 100,000 steps");
        let input = rapaport(example::SOFT_SPHERES, 48)?;
        let mut bench = TimedSystem::set_up("soft spheres", input, &self.run_settings)?;
        let (mut rows, mut done) = (Vec::new(), 0);
        for (steps, then) in WITHOUT_REORDERING {
            let now = match steps - done <= bench.steps_in(PATIENCE) {
                true => Some(1e9 * bench.run(steps - done)?.0 / 48f64.powi(3)),
                false => None,
            };
            done = if now.is_some() { steps } else { done };
            let name = format!("up to step {}", grouped(steps));
            rows.push(PaperRow { name, numbers: vec![Some(1e3 * then), now] });
        }
        Ok(PaperTable {
            title: "Rapaport's Table 8: a run without reordering, 110,592 soft spheres".into(),
            source: RAPAPORT,
            unit: "ns per atom-step",
            device: bench.describe(),
            columns: vec!["then, without", "now, with"],
            rows,
            note: "Jostle sorts the atoms whenever it builds a list, so that a long run stays as fast as it was.",
        })
    }

    /// Wang's 100 steps of a melt.
    fn melt(&self) -> Result<PaperTable> {
        let ways: &[(&str, Option<f64>, Algorithm)] = match self.here {
            Processor::Gpu => &[
                ("cells, no list", Some(MELT_CELLS), Algorithm::Cells),
                ("neighbour list", Some(MELT_LIST), Algorithm::List),
                ("tiles", None, Algorithm::Tiles),
            ],
            Processor::Cpu => &[("clusters", None, Algorithm::Clusters)],
        };
        let core =
            PaperRow { name: "one Nehalem core, LAMMPS".into(), numbers: vec![Some(MELT_CORE), None, None] };
        let (mut rows, mut device) = (vec![core], String::new());
        for (name, then, algorithm) in ways {
            let mut input = example::MELT.input()?;
            input.run.settings.algorithm = *algorithm;
            let now = self.measure(&format!("melt, {name}"), input)?;
            let seconds = MELT_STEPS * now.seconds_per_step();
            rows.push(PaperRow {
                name: name.to_string(),
                numbers: vec![*then, Some(seconds), Some(MELT_CORE / seconds)],
            });
            device = now.device;
        }
        Ok(PaperTable {
            title: "Wang's run: 100 steps of 108,000 Lennard-Jones atoms".into(),
            source: WANG,
            unit: "s",
            device,
            columns: vec!["then", "now", "times one core"],
            rows,
            note: "Now: once the crystal has melted.",
        })
    }

    /// Screened ions, every pair.
    fn ions(&self) -> Result<PaperTable> {
        let most = if self.here == Processor::Cpu { MOST_IONS_ON_A_CPU } else { usize::MAX };
        let ions = measure_ions(&self.run_settings, self.seconds, self.here, most)?;
        let device = ions.first().map(|row| row.now.device.clone()).unwrap_or_default();
        let row = |row: &Ions| PaperRow {
            name: format!("{} ions", grouped(row.count as u64)),
            numbers: vec![Some(row.then), Some(row.milliseconds()), Some(row.then / row.milliseconds())],
        };
        let rows = ions.iter().map(row).collect();
        Ok(PaperTable {
            title: "Table II of Berry and others: screened ions, every pair".into(),
            source: BERRY,
            unit: "ms a step",
            device,
            columns: vec!["then", "now", "times faster"],
            rows,
            note: "Then, every pair of images; now, the nearest images within half the box.",
        })
    }
}

/// One of Rapaport's systems, on a lattice of so many atoms along an edge.
fn rapaport(system: Example, edge: usize) -> Result<Input> {
    let mut input = system.input()?;
    resize(&mut input, edge.pow(3));
    Ok(input)
}

/// Nanoseconds per atom and step.
fn then_and_now(name: String, then: f64, now: &Measured) -> PaperRow {
    let now = now.nanoseconds();
    PaperRow { name, numbers: vec![Some(then), Some(now), Some(then / now)] }
}
