"""SmolVLM2: Idefics3 under another name, and videos, which are not read here."""
