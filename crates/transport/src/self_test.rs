//! A test of a transport: every number says which rank sent it, and what for, so that a wrong one says where
//! it came from.

use crate::{Communicator, Incoming, Outgoing};
use jostle_core::{Error, Result};

/// Atoms that every rank has in the test; more bytes than a small message of any MPI.
const ATOMS: usize = 5000;

/// The number that stands for an axis of an atom of a rank, on its way to another.
fn code(from: usize, to: usize, atom: usize, axis: usize) -> u64 {
    ((from as u64) << 48) | ((to as u64) << 32) | ((atom as u64) << 2) | axis as u64
}

/// Description of where a number came from.
fn origin(code: u64) -> String {
    let [from, to] = [code >> 48, code >> 32 & 0xffff];
    let [atom, axis] = [(code & 0xffff_ffff) >> 2, code & 3];
    format!("axis {axis} of atom {atom}, sent by rank {from} to rank {to}")
}

fn check(got: u64, expected: u64) -> Result<()> {
    match got == expected {
        true => Ok(()),
        false => {
            let (got, expected) = (origin(got), origin(expected));
            Err(Error::device(format!("expected {expected}, and got {got}")))
        }
    }
}

/// Sends numbers to and fro by every operation there is and checks them.
///
/// # Errors
/// If a number is not what and where it should be: says where it came from.
pub fn run(communicator: &Communicator) -> Result<()> {
    pairs(communicator)?;
    let (rank, size) = (communicator.rank(), communicator.size());
    let mut all = vec![0; 3 * ATOMS * size];
    let parts: Vec<_> = (0..size).map(|k| 3 * ATOMS * k..3 * ATOMS * (k + 1)).collect();
    for (at, number) in all[parts[rank].clone()].iter_mut().enumerate() {
        *number = code(rank, 0xffff, at / 3, at % 3);
    }
    communicator.all_gather(&mut all, &parts)?;
    for (at, number) in all.iter().enumerate() {
        check(*number, code(at / (3 * ATOMS), 0xffff, at / 3 % ATOMS, at % 3))?;
    }
    for length in [0, 1, 119, 120, 121, 100_000] {
        let text = |from: usize| (0..length).map(|k| (k % 251 + from) as u8).collect::<Vec<_>>();
        let mut bytes = text(rank);
        communicator.broadcast(&mut bytes)?;
        if bytes != text(0) {
            return Err(Error::device(format!(
                "a broadcast of {length} bytes did not arrive as it was sent"
            )));
        }
    }
    for (other, got) in communicator.gather(&vec![code(rank, 0, rank, 0); rank])?.iter().enumerate() {
        if got.len() != other {
            return Err(Error::device(format!(
                "rank {other} sent {other} numbers, and {} arrived",
                got.len()
            )));
        }
        got.iter().try_for_each(|number| check(*number, code(other, 0, other, 0)))?;
    }
    communicator.barrier()
}

/// Messages between every two ranks at once, two each way, whose order matters.
fn pairs(communicator: &Communicator) -> Result<()> {
    let rank = communicator.rank();
    let message = |from: usize, to: usize, n: usize| {
        (0..3 * n).map(|at| code(from, to, at / 3, at % 3)).collect::<Vec<u64>>()
    };
    let others: Vec<_> = communicator.others().collect();
    let sent: Vec<_> =
        others.iter().map(|to| (*to, message(rank, *to, ATOMS), message(rank, *to, 2))).collect();
    let mut got: Vec<_> = others.iter().map(|from| (*from, vec![0; 3 * ATOMS], vec![0; 6])).collect();
    let outgoing: Vec<_> = sent
        .iter()
        .flat_map(|(to, long, short)| {
            [long, short].map(|m| Outgoing { to: *to, bytes: bytemuck::cast_slice(m) })
        })
        .collect();
    let mut incoming: Vec<_> = got
        .iter_mut()
        .flat_map(|(from, long, short)| {
            [long, short].map(|m: &mut Vec<u64>| Incoming { from: *from, bytes: bytemuck::cast_slice_mut(m) })
        })
        .collect();
    communicator.exchange(&outgoing, &mut incoming)?;
    for (from, long, short) in &got {
        for (got, expected) in long.iter().zip(message(*from, rank, ATOMS)) {
            check(*got, expected)?;
        }
        for (got, expected) in short.iter().zip(message(*from, rank, 2)) {
            check(*got, expected)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_says_where_it_came_from() {
        let error = check(code(3, 1, 4999, 2), code(2, 1, 17, 0)).unwrap_err();
        let text = "expected axis 0 of atom 17, sent by rank 2 to rank 1, \
                    and got axis 2 of atom 4999, sent by rank 3 to rank 1";
        assert_eq!(error.message(), text);
    }
}
