//! Facts that `mpirun` and its like leave in the environment of the processes they start.

use std::ffi::OsString;

/// Name of the variable of the environment that names a library, or says `none`.
pub const CHOICE: &str = "JOSTLE_MPI";

/// Program that has started the ranks, by what it left in the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` of Open MPI.
    OpenMpi,
    /// `mpiexec` of MPICH and of Intel MPI, and all others that speak its process manager's language (PMI).
    Mpich,
    /// PMIx, which several MPIs speak.
    Pmix,
    /// `srun` without a word about MPI.
    Slurm,
}

impl Launcher {
    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::OpenMpi => "Open MPI's mpirun",
            Launcher::Mpich => "mpiexec of the MPICH family",
            Launcher::Pmix => "a launcher that speaks PMIx",
            Launcher::Slurm => "srun",
        }
    }

    /// Advice for a library that does not fit.
    pub(super) fn remedy(self) -> String {
        let start = match self {
            Launcher::Slurm => "start it with srun --mpi=pmix or --mpi=pmi2, as the library needs it",
            _ => "start it with the mpiexec that belongs to the library",
        };
        format!("{start}, or name the launcher's own library in {CHOICE}; `pip install mpich` has both")
    }
}

/// The launch of this process among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Launch {
    /// The launcher.
    pub launcher: Launcher,
    /// Number of this process.
    pub rank: usize,
    /// Number of processes.
    pub size: usize,
}

/// Variables with rank and size, in the order in which they are believed.
const VARIABLES: [(Launcher, &str, &[&str]); 5] = [
    (Launcher::OpenMpi, "OMPI_COMM_WORLD_RANK", &["OMPI_COMM_WORLD_SIZE"]),
    (Launcher::Mpich, "PMI_RANK", &["PMI_SIZE"]),
    (Launcher::Mpich, "PMI_ID", &["PMI_SIZE", "SLURM_STEP_NUM_TASKS"]),
    (Launcher::Pmix, "PMIX_RANK", &["PMIX_SIZE", "SLURM_STEP_NUM_TASKS"]),
    // A batch script has SLURM_PROCID, too, but only srun makes a step with tasks.
    (Launcher::Slurm, "SLURM_PROCID", &["SLURM_STEP_NUM_TASKS"]),
];

impl Launch {
    /// The launch that the environment speaks of; `None` where this process is alone, or is to be.
    pub fn of_environment() -> Option<Launch> {
        match std::env::var_os(CHOICE) {
            Some(choice) if choice == "none" => None,
            _ => Launch::of(|name| std::env::var_os(name)),
        }
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<Launch> {
        let number = |name: &str| variable(name)?.to_str()?.parse::<usize>().ok();
        VARIABLES.iter().find_map(|(launcher, rank, sizes)| {
            let (rank, size) = (number(rank)?, sizes.iter().find_map(|name| number(name))?);
            (rank < size && size > 1).then_some(Launch { launcher: *launcher, rank, size })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<Launch> {
        let value = |name: &str| variables.iter().find(|v| v.0 == name).map(|v| OsString::from(v.1));
        Launch::of(value)
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let rank_1_of_4 = |launcher| Some(Launch { launcher, rank: 1, size: 4 });
        let open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4"), ("PMIX_RANK", "1")];
        assert_eq!(of(&open_mpi), rank_1_of_4(Launcher::OpenMpi));
        assert_eq!(of(&[("PMI_RANK", "1"), ("PMI_SIZE", "4")]), rank_1_of_4(Launcher::Mpich));
        let slurm = [("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "4")];
        assert_eq!(of(&slurm), rank_1_of_4(Launcher::Slurm));
        assert_eq!(of(&[slurm[0], slurm[1], ("PMIX_RANK", "1")]), rank_1_of_4(Launcher::Pmix));
    }

    #[test]
    fn a_process_alone_is_no_launch() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(of(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]), None);
        assert_eq!(of(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]), None);
        // A batch script of Slurm, before srun.
        assert_eq!(of(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "64")]), None);
    }
}
