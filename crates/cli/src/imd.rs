//! Interactive molecular dynamics of `jostle run` and `jostle resume`.

use crate::arguments::ImdOptions;
use jostle_core::Result;
use jostle_engine::Simulation;
use jostle_imd::{Permission, PullForce, Server, ServerOptions, Session, Version};
use jostle_show::{LiveRun, Viewer};
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::Path;

/// Begin of a run with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// At once.
    Immediately,
    /// With the first client.
    WithFirstClient,
}

/// Listens for a browser, if that is asked for.
///
/// # Errors
/// If the port is taken.
pub fn listen_for_browser(options: &ImdOptions) -> Result<Option<TcpListener>> {
    options.view.map(Viewer::listen).transpose()
}

/// Shows a run in a browser, once it has its folder, and says where; `None` without a listener.
///
/// # Errors
/// If the device failed, or the system has no thread left.
pub fn show(
    listener: Option<TcpListener>,
    session: Option<&Session>,
    simulation: &mut Simulation,
    folder: &Path,
) -> Result<Option<Viewer>> {
    let (Some(listener), Some(session)) = (listener, session) else { return Ok(None) };
    let run = LiveRun::new(simulation, session.pages())?;
    let viewer = Viewer::of_run(folder, run, listener)?;
    say!("open this address in a browser to watch and to pull atoms: {}", viewer.url());
    Ok(Some(viewer))
}

/// Serves a simulation, before its folder is named or after it was resumed, and says where; `None` without ports and pages.
///
/// # Errors
/// If a port cannot be listened on.
pub fn serve(options: &ImdOptions, simulation: &mut Simulation) -> Result<Option<(Session, Begin)>> {
    let version = |version, port: Option<u16>| port.map(|port| (version, port));
    let ports = [version(Version::Two, options.imd), version(Version::Three, options.imd_v3)];
    let ports: Vec<(Version, u16)> = ports.into_iter().flatten().collect();
    if ports.is_empty() && options.view.is_none() {
        if simulation.missing_forces().any(|name| name == PullForce::NAME) {
            simulation.add_custom_force(PullForce::without_clients(simulation.units()))?;
        }
        return Ok(None);
    }
    let has_ports = !ports.is_empty();
    let permission = if options.imd_watch { Permission::Watch } else { Permission::Full };
    let address = options.imd_listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let server = Server::open(ServerOptions { address, ports, every: options.imd_every, permission })?;
    let addresses = server.addresses();
    let session = server.attach(simulation)?;
    for (version, address) in addresses {
        say!("IMD clients of {version} can connect to {address}");
    }
    if !address.is_loopback() && has_ports {
        let rights = match permission {
            Permission::Watch => "watch this run",
            Permission::Full => "watch this run, pull its atoms, pause it and end it",
        };
        say!("IMD has neither password nor encryption: whoever reaches this address can {rights}");
    }
    let begin = if options.imd_wait { Begin::WithFirstClient } else { Begin::Immediately };
    Ok(Some((session, begin)))
}
