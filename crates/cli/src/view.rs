//! `jostle view`

use crate::arguments::ViewOptions;
use crate::interrupt;
use crate::output;
use jostle_core::{Result, UnitSystem};
use jostle_io::Open;
use jostle_show::{Framing, Viewer};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Shows a run or a trajectory until Ctrl-C.
///
/// # Errors
/// If there is nothing to show, or the port is taken.
pub fn view(options: &ViewOptions) -> Result<()> {
    let how = Open { units: options.units, names: options.names.clone(), timestep: None };
    let viewer = Viewer::open(&options.path, how, options.port, Framing::Forbidden)?;
    let stop = interrupt::listen()?;
    say!("open this address in a browser; Ctrl-C ends the viewer");
    output::print(&format!("{}\n", viewer.url()))?;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Shows a run or a trajectory in these units to notebooks of this machine, until the program ends; returns the address.
///
/// # Errors
/// If there is nothing to show, or no port is free.
pub fn viewer(path: &Path, units: Option<UnitSystem>) -> Result<String> {
    let how = Open { units, names: None, timestep: None };
    Ok(Viewer::open(path, how, 0, Framing::Notebooks)?.url())
}
