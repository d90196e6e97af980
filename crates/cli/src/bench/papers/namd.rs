//! J. Phillips' slides on NAMD with CUDA.

use super::session::Session;
use super::table::{Finding, PaperRow, PaperTable, Verdict};
use super::{LeftOut, NO_GPU, Paper};
use crate::bench::measure::Measured;
use crate::example;
use crate::numbers::significant;
use jostle_core::Result;
use jostle_io::Input;
use std::path::Path;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "namd",
    citation: "J. Phillips, Case Study: Molecular Dynamics (NAMD on CUDA, 2007)",
    machine: "GeForce 8800 GTX; Core 2 Quad 2.67 GHz",
    tables: &[mesh, frozen],
    left_out: &[
        LeftOut {
            what: "ApoA1 itself",
            why: "its files are not part of the program; `jostle bench apoa1.toml` measures them beside any input",
        },
        LeftOut {
            what: "forces interpolated in 1/r and in r^2",
            why: "GPUs of today compute them as fast as they look them up; CPUs take tables in r^2",
        },
        LeftOut {
            what: "2x on 4 GPUs of a cluster",
            why: "`jostle bench CASE --devices 1,2,4` measures several GPUs of one host",
        },
    ],
};

/// His gains over one core of the CPU, without and with PME.
const GAINS: [f64; 2] = [5.0, 3.5];

/// Water, 24,000 atoms, whose charges are summed as `electrostatics` says.
fn water(electrostatics: &str) -> Result<Input> {
    let text = example::WATER.text.replace("kind = \"pme\"", electrostatics);
    Input::parse(Path::new("water.toml"), &text)
}

/// CPU and GPU, with and without the mesh.
fn mesh(session: &Session) -> Result<PaperTable> {
    let ways = [("cut off (reaction field)", "kind = \"reaction-field\""), ("PME", "kind = \"pme\"")];
    let (mut rows, mut devices) = (Vec::new(), Vec::new());
    for ((about, electrostatics), then) in ways.into_iter().zip(GAINS) {
        let mut now = [None; 2];
        devices.clear();
        for (number, session) in now.iter_mut().zip(session.processors()) {
            let measured = session.measure(&format!("water, {about}"), water(electrostatics)?)?;
            *number = Some(1e3 * measured.seconds_per_step());
            devices.push(measured.device);
        }
        let gain = now[0].zip(now[1]).map(|(cpu, gpu)| cpu / gpu);
        rows.push(PaperRow { name: about.into(), numbers: vec![Some(then), now[0], now[1], gain] });
    }
    let gains: Vec<f64> = rows.iter().filter_map(|row: &PaperRow| row.numbers[3]).collect();
    Ok(PaperTable {
        title: "Gain with and without PME, water of 24,000 atoms in place of ApoA1".into(),
        unit: "ms a step",
        device: devices.join("; "),
        columns: vec!["ratio then", "CPU now", "GPU now", "ratio now"],
        rows,
        digits: 3,
        finding: Finding {
            then: "with PME, which was left on the CPU, the gain is 3.5 instead of 5",
            verdict: Verdict::of_gains(
                &gains,
                |gains| matches!(gains, [without, with] if *with < 0.9 * without),
            ),
            now: match gains[..] {
                [without, with] => format!(
                    "it is {} without PME and {} with it, which the GPU makes, too",
                    significant(without, 3),
                    significant(with, 3)
                ),
                _ => NO_GPU.into(),
            },
        },
        figure: None,
    })
}

/// The melt of 32,000 atoms, of which only those of a sphere move.
fn in_a_sphere(radius: Option<f64>) -> Result<Input> {
    let mut text = example::MELT.text.replace("atoms = 108_000", "atoms = 32_000");
    if let Some(radius) = radius {
        text.push_str(&format!(
            "\n[[group]]\nname = \"shell\"\natoms = \"not within {radius} of index 16000\"\nfrozen = true\n"
        ));
    }
    Input::parse(Path::new("melt.toml"), &text)
}

/// Frozen atoms.
fn frozen(session: &Session) -> Result<PaperTable> {
    let ways =
        [("all atoms move", None), ("those within 8 sigma of one", Some(8.0)), ("within 3 sigma", Some(3.0))];
    let (mut rows, mut times, mut device) = (Vec::new(), Vec::new(), String::new());
    for (about, radius) in ways {
        let now: Measured =
            session.measure(&format!("melt of 32,000 atoms, {about}"), in_a_sphere(radius)?)?;
        times.push(now.seconds_per_step());
        let gain = times[0] / now.seconds_per_step();
        rows.push(PaperRow {
            name: about.into(),
            numbers: vec![Some(1e3 * now.seconds_per_step()), Some(gain)],
        });
        device = now.device;
    }
    let gain = times[0] / times[2];
    Ok(PaperTable {
        title: "Molten and fixed atoms (AutoIMD), 32,000 Lennard-Jones atoms".into(),
        unit: "ms a step",
        device,
        columns: vec!["now", "times faster"],
        rows,
        digits: 3,
        finding: Finding {
            then: "fixed atoms reduce the work, which makes a part of a system interactive",
            verdict: Verdict::of(gain > 1.5),
            now: format!(
                "with few atoms that move a step is {} times as fast; `jostle extract` leaves out those that are far",
                significant(gain, 3)
            ),
        },
        figure: None,
    })
}
