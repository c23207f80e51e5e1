"""How endpoints are asked."""
