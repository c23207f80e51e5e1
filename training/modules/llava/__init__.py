"""LLaVA 1.5: CLIP tower and a two-layer connector in front of a Vicuna or Llama."""
