"""idefics2: SigLIP tower and perceiver connector in front of a Mistral language model."""
