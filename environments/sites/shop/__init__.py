"""The shop: departments, categories, products with options, a cart."""
