"""The contracts that flow between the rooms, one typed file each. Imports no room but `common`.

Read `trajectory.py` first. By what they describe:

- an episode: `task`, `trajectory`, `trajectory_writer`, `outcome`, `observation`, `correction`, `online_run`
- what an agent is told and says: `conversation`, `sampling`, `actions/`, and `action_spaces/` with one model's each
- what training reads: `samples/` of trajectories, packed into `shards/` with columns beside them
- weights: `checkpoint_folder`, `adapter_record`, `image_recipe`
- words and pictures of others: `images`, `image_check`, `names`, `dates`, `data_report`
"""
