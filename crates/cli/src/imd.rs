//! Interactive molecular dynamics of `jostle run` and `jostle resume`.

use crate::arguments::ImdOptions;
use jostle_core::Result;
use jostle_engine::Simulation;
use jostle_imd::{Permission, PullForce, Server, ServerOptions, Session, Version};
use std::net::{IpAddr, Ipv4Addr};

/// Begin of a run with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// At once.
    Immediately,
    /// With the first client.
    WithFirstClient,
}

/// Serves a simulation, before its folder is named or after it was resumed, and says where; `None` without ports.
///
/// # Errors
/// If a port cannot be listened on.
pub fn serve(options: &ImdOptions, simulation: &mut Simulation) -> Result<Option<(Session, Begin)>> {
    let version = |version, port: Option<u16>| port.map(|port| (version, port));
    let ports = [version(Version::Two, options.imd), version(Version::Three, options.imd_v3)];
    let ports: Vec<(Version, u16)> = ports.into_iter().flatten().collect();
    if ports.is_empty() {
        if simulation.missing_forces().any(|name| name == PullForce::NAME) {
            simulation.add_custom_force(PullForce::without_clients(simulation.units()))?;
        }
        return Ok(None);
    }
    let permission = if options.imd_watch { Permission::Watch } else { Permission::Full };
    let address = options.imd_listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let server = Server::open(ServerOptions { address, ports, every: options.imd_every, permission })?;
    let addresses = server.addresses();
    let session = server.attach(simulation)?;
    for (version, address) in addresses {
        say!("IMD clients of {version} can connect to {address}");
    }
    if !address.is_loopback() {
        let rights = match permission {
            Permission::Watch => "watch this run",
            Permission::Full => "watch this run, pull its atoms, pause it and end it",
        };
        say!("IMD has neither password nor encryption: whoever reaches this address can {rights}");
    }
    let begin = if options.imd_wait { Begin::WithFirstClient } else { Begin::Immediately };
    Ok(Some((session, begin)))
}
