"""Training: Megatron models, the data pipeline, the loop and the launch scripts (`train_idefics2.sh`)."""
