"""Converters between the rooms: trajectories to shards, checkpoints from Hugging Face to Megatron and back.

The files here are the commands that people type. Read `convert_trajectories_to_json.py` first, then
`convert_to_tar_data.py`; for checkpoints `model_checkpoints_convertor/convert.py`.
"""
