"""All families of language models alone."""
