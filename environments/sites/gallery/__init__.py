"""The gallery: what its exhibits show stands in their pictures and nowhere in the page's text."""
