"""SLURM, by its own commands: the sbatch file of a command, and jobs."""
