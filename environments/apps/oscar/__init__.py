"""django-oscar: a shop with a basket, orders, addresses, reviews and wish lists."""
