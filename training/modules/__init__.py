"""What Megatron trains: the vision modules of Hugging Face in front of a language model of megatron-core.

In come a model's configuration and a layout, out come modules that hold one rank's part of the weights. Read
`vision_language.py` first, then `language/model.py`. Each family has a folder, whose `model.py` adds what it alone has.
`kernels.py` says what all of them compute with.
"""
