"""LLaVA-NeXT (1.6): a thumbnail and tiles of every image, in front of a Mistral, Vicuna or Yi."""
