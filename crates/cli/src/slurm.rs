//! `jostle doctor --slurm`: a job script for a cluster.

/// Script with gaps for what a machine has.
const SCRIPT: &str = include_str!("slurm.sh");

/// Job script for one node like this machine: one process with its GPUs, or with all its cores. Ranks are asked for where
/// they would be of use, in a line that is a comment.
pub fn script(cores: usize, gpus: usize) -> String {
    let resources = match gpus {
        0 => format!(
            "#SBATCH --ntasks-per-node=1\n#SBATCH --cpus-per-task={cores}\n\
             # On several nodes a process for each (or for each socket), by MPI: --nodes=4, and `jostle doctor` under srun\n\
             # says whether messages pass.\n"
        ),
        _ => format!(
            "#SBATCH --ntasks-per-node=1\n#SBATCH --cpus-per-task={}\n#SBATCH --gpus-per-node={gpus}\n",
            gpus + 2
        ),
    };
    let cores = if gpus == 0 { format!(" --cpus-per-task={cores}") } else { String::new() };
    SCRIPT.replace("{resources}", &resources).replace("{srun}", &cores)
}
