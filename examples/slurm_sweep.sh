#!/bin/bash
# A sweep on a SLURM cluster: Ray is started on every node of the job, and the study runs on all of them.
#
#   sbatch examples/slurm_sweep.sh configs/check.toml /shared/ledger
#
# The ledger must lie on a file system that all nodes share. Any number of such jobs may run the same study at once, and a job that
# is pre-empted, killed or out of time loses nothing that was finished: submit it again, or let SLURM requeue it as below.

#SBATCH --job-name=recolorist-sweep
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=20
#SBATCH --time=24:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@120
# With GPUs, add a line `#SBATCH --gpus-per-node=4`. The grids of the study say what a cell takes: `resources = { cpus = 5, gpus = 1 }`
# in configs/classify.toml, so four GPUs need the 20 processors above; with fewer a GPU would stand idle.

set -euo pipefail
study=${1:?name the study, a TOML file}
ledger=${2:?name the ledger, a folder on a shared file system}

# Every job has its own Ray, with its own secret, so that nobody else on the cluster can send it work.
RAY_AUTH_TOKEN=$(python -c 'import secrets; print(secrets.token_hex(32))')
export RAY_AUTH_TOKEN RAY_AUTH_MODE=token RAY_USAGE_STATS_ENABLED=0
gpus=${SLURM_GPUS_ON_NODE:-0}
port=$((20000 + SLURM_JOB_ID % 20000))
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address=$(srun --overlap --nodes=1 --ntasks=1 --nodelist="$first" hostname --ip-address | awk '{print $1}')

srun --overlap --nodes=1 --ntasks=1 --nodelist="$first" \
  ray start --head --node-ip-address="$address" --port="$port" --include-dashboard=false \
  --num-cpus="$SLURM_CPUS_PER_TASK" --num-gpus="$gpus" --block &
for _ in $(seq 60); do
  if ray status --address="$address:$port" > /dev/null 2>&1; then break; fi
  sleep 2
done
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ]; then # the others may join late: cells are handed out as nodes come
  srun --overlap --nodes=$((SLURM_JOB_NUM_NODES - 1)) --ntasks-per-node=1 --exclude="$first" \
    ray start --address="$address:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --num-gpus="$gpus" --block &
fi

# Two minutes before the end SLURM sends SIGTERM: cells give up their claims and keep their checkpoints.
stopped=no
trap 'stopped=yes; kill -TERM "$sweep" 2> /dev/null || true' TERM
recolorist-lab sweep run "$study" --ledger "$ledger" --engine ray --address "$address:$port" &
sweep=$!
code=0
wait "$sweep" || code=$?
if [ "$stopped" = yes ]; then
  wait "$sweep" || true # the first wait was ended by the signal
  scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
