"""TiddlyWiki: a notebook of short pages in a single page, each page a file of the server."""
