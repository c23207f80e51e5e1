"""MediaWiki: an encyclopedia that everybody may edit, with histories, discussions and categories."""
