//! GPUs of the ranks of a run. Those of a host are driven by the first of its ranks that sees them, as those of one process
//! reach each other's memory: the other ranks of the host stand by.

use jostle_core::{Error, Result};
use jostle_cuda::driver::unique_names;
use jostle_io::input::model::{GpuSet, Gpus};
use jostle_transport::Communicator;
use serde::{Deserialize, Serialize};

/// Ranks that drive GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Drivers {
    /// The first one that sees a GPU.
    FirstOfHost,
    /// Each has GPUs of its own, as if it were on a host of its own.
    Each,
}

/// Numbers of the GPUs that each rank drives.
///
/// # Errors
/// If a rank cannot look for GPUs, or has none where it should have one.
pub fn shares(communicator: &Communicator, gpus: Gpus, drivers: Drivers) -> Result<Vec<Vec<usize>>> {
    let names = communicator.agree(unique_names())?;
    let all = communicator.gather_texts(&names.join("\n"))?;
    let visible: Vec<Vec<&str>> = all.iter().map(|text| text.lines().collect()).collect();
    let shares = shares_of(&visible, gpus, drivers)?;
    match shares.first() {
        Some(first) if first.is_empty() => {
            let message = "rank 0 sees none of the GPUs that were asked for";
            Err(Error::input(message)
                .hint("start the first process on a host with GPUs; jostle doctor lists them"))
        }
        _ => Ok(shares),
    }
}

/// Numbers of the GPUs that each rank drives, among those that it sees. The first GPU alone stands for as many as there are
/// ranks.
fn shares_of(visible: &[Vec<&str>], gpus: Gpus, drivers: Drivers) -> Result<Vec<Vec<usize>>> {
    let one_each = gpus == Gpus::Chosen(GpuSet::FIRST);
    let asked = |number: usize| match gpus {
        Gpus::Chosen(set) if !one_each => set.numbers().any(|one| one == number),
        Gpus::Chosen(_) | Gpus::All => true,
    };
    let (mut taken, mut shares) = (Vec::new(), vec![Vec::new(); visible.len()]);
    loop {
        let before = taken.len();
        for (rank, names) in visible.iter().enumerate() {
            let mut free =
                names.iter().enumerate().filter(|(number, name)| asked(*number) && !taken.contains(*name));
            match free.next() {
                Some((number, name)) => {
                    taken.push(name);
                    let (driver, number) = match drivers {
                        Drivers::Each => (rank, number),
                        Drivers::FirstOfHost => first_that_sees(visible, name).unwrap_or((rank, number)),
                    };
                    shares[driver].push(number);
                }
                None if one_each => return Err(too_few(rank, visible.len(), taken.len())),
                None => {}
            }
        }
        if one_each || taken.len() == before {
            return Ok(shares);
        }
    }
}

/// The first rank that sees a GPU, and its number there.
fn first_that_sees(visible: &[Vec<&str>], name: &str) -> Option<(usize, usize)> {
    let number = |names: &Vec<&str>| names.iter().position(|one| *one == name);
    visible.iter().enumerate().find_map(|(rank, names)| Some((rank, number(names)?)))
}

fn too_few(rank: usize, ranks: usize, gpus: usize) -> Error {
    Error::input(format!("rank {rank} has no GPU: {ranks} ranks, of which {gpus} have one"))
        .hint("start one process for each GPU, or one a host with device = \"cuda:all\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: [&str; 4] = ["a", "b", "c", "d"];
    const ONE_EACH: Gpus = Gpus::Chosen(GpuSet::FIRST);

    #[test]
    fn gpus_of_a_host_are_driven_by_its_first_rank() {
        let visible = [HOST.to_vec(), HOST.to_vec(), vec!["e", "f"], vec!["g"], vec!["h"]];
        let found = shares_of(&visible, ONE_EACH, Drivers::FirstOfHost).unwrap();
        assert_eq!(found, [vec![0, 1], vec![], vec![0], vec![0], vec![0]]);
        let found = shares_of(&visible[..3], Gpus::All, Drivers::FirstOfHost).unwrap();
        assert_eq!(found, [vec![0, 1, 2, 3], vec![], vec![0, 1]]);
        let two = Gpus::Chosen("1,3".parse().unwrap());
        assert_eq!(shares_of(&visible[..2], two, Drivers::FirstOfHost).unwrap(), [vec![1, 3], vec![]]);
    }

    #[test]
    fn ranks_that_stand_for_hosts_share_gpus_out() {
        let visible = [HOST.to_vec(), HOST.to_vec()];
        assert_eq!(shares_of(&visible, ONE_EACH, Drivers::Each).unwrap(), [[0], [1]]);
        assert_eq!(shares_of(&visible, Gpus::All, Drivers::Each).unwrap(), [[0, 2], [1, 3]]);
    }

    #[test]
    fn a_rank_without_a_gpu_is_named() {
        let error = shares_of(&[vec!["a"], vec!["a"]], ONE_EACH, Drivers::FirstOfHost).unwrap_err();
        assert!(error.message().contains("rank 1 has no GPU: 2 ranks, of which 1 have one"), "{error}");
    }
}
