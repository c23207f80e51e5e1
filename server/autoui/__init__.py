"""Auto-UI, the policy that DigiRL and Digi-Q began with, served for evaluation: an encoder-decoder that the engine for
decoders does not hold. Read `model.py` first."""
