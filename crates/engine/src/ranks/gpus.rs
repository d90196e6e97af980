//! GPUs of the ranks of a run: each rank takes some of those that it may use, and no two the same.

use jostle_core::{Error, Result};
use jostle_cuda::driver::{Device, unique_names};
use jostle_io::input::model::{GpuSet, Gpus};
use jostle_transport::Communicator;

/// Opens the GPUs of this rank: one, or its part of several of a host.
///
/// # Errors
/// If there is none for this rank or another.
pub fn open(communicator: &Communicator, gpus: Gpus) -> Result<Vec<Device>> {
    let names = communicator.agree(unique_names())?;
    let all = communicator.gather_texts(&names.join("\n"))?;
    let visible: Vec<Vec<&str>> = all.iter().map(|text| text.lines().collect()).collect();
    let mut shares = shares(&visible, gpus)?;
    let own = shares.swap_remove(communicator.rank());
    communicator.agree(own.into_iter().map(Device::open).collect())
}

/// Numbers of the GPUs of each rank, among those that it sees. Ranks take turns; the first GPU alone stands for one a rank.
fn shares(visible: &[Vec<&str>], gpus: Gpus) -> Result<Vec<Vec<usize>>> {
    let one_each = gpus == Gpus::Chosen(GpuSet::FIRST);
    let asked = |number: usize| match gpus {
        Gpus::Chosen(set) if !one_each => set.numbers().any(|one| one == number),
        Gpus::Chosen(_) | Gpus::All => true,
    };
    let (mut taken, mut shares) = (Vec::new(), vec![Vec::new(); visible.len()]);
    loop {
        let mut found = false;
        for (rank, names) in visible.iter().enumerate() {
            let mut free =
                names.iter().enumerate().filter(|(number, name)| asked(*number) && !taken.contains(*name));
            if let Some((number, name)) = free.next() {
                taken.push(name);
                shares[rank].push(number);
                found = true;
            }
        }
        if !found || one_each {
            break;
        }
    }
    match shares.iter().position(Vec::is_empty) {
        Some(rank) => {
            let message = format!(
                "rank {rank} has no GPU: {} ranks share {} of those that were asked for",
                visible.len(),
                taken.len()
            );
            Err(Error::input(message)
                .hint("start one process for each GPU, or one a host with device = \"cuda:all\""))
        }
        None => Ok(shares),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: [&str; 4] = ["a", "b", "c", "d"];

    #[test]
    fn ranks_of_a_host_take_one_each_and_those_of_others_as_well() {
        let other = ["e", "f"];
        let visible = [HOST.to_vec(), HOST.to_vec(), other.to_vec(), vec!["g"], vec!["h"]];
        let found = shares(&visible, Gpus::Chosen(GpuSet::FIRST)).unwrap();
        assert_eq!(found, [vec![0], vec![1], vec![0], vec![0], vec![0]]);
    }

    #[test]
    fn all_gpus_are_shared_out() {
        assert_eq!(shares(&[HOST.to_vec()], Gpus::All).unwrap(), [[0, 1, 2, 3]]);
        assert_eq!(shares(&[HOST.to_vec(), HOST.to_vec()], Gpus::All).unwrap(), [[0, 2], [1, 3]]);
        let two = Gpus::Chosen("1,3".parse().unwrap());
        assert_eq!(shares(&[HOST.to_vec(), HOST.to_vec()], two).unwrap(), [[1], [3]]);
    }

    #[test]
    fn a_rank_without_a_gpu_is_named() {
        let error = shares(&[vec!["a"], vec!["a"]], Gpus::All).unwrap_err();
        assert!(error.message().contains("rank 1 has no GPU: 2 ranks share 1"), "{error}");
    }
}
