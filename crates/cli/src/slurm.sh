#!/bin/bash
# A job for SLURM that runs an input, or goes on with it:
#
#     sbatch job.sh argon.toml
#
# Before its time is over the job gets a signal, Jostle writes a checkpoint, and the job waits in the queue again.
#SBATCH --job-name=jostle
#SBATCH --output=%x-%j.out
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=TERM@120
#SBATCH --time=24:00:00
#SBATCH --nodes=1
{resources}
input=${1:?name an input file, as in: sbatch job.sh argon.toml}
folder=$(basename "$input" .toml)

if [ -e "$folder/latest.checkpoint" ]; then
    srun{srun} jostle resume "$folder"
else
    # Nothing is lost that a run before its first checkpoint has written.
    srun{srun} jostle run "$input" --output "$folder" --overwrite
fi
code=$?

# 130: interrupted, with a checkpoint.
if [ "$code" -eq 130 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
