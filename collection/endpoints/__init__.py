"""How endpoints are asked, and stand-ins for them."""
