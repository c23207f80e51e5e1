"""The contracts that flow between the rooms, one typed file each. Imports no room but `common`.

Read `trajectory.py` first. By what they describe:

- an episode: `task`, `trajectory`, `trajectory_writer`, `outcome`, `observation`, `correction`, `online_run`
- what an agent says: `conversation`, `action`, `point_action`, `keys`, `screen`, `action_spaces/`, `sampling`
- what training reads: `turn_samples`, `whole_trajectory`, `rewarded_step`, `shard`, `tar`, `columns`, `parquet/`
- weights: `checkpoint_folder`, `adapter_record`, `image_recipe`
- files of others: `images`, `image_check`, `legacy`, `names`, `foreign_tars`
"""
