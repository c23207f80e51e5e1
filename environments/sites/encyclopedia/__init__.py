"""The encyclopedia: articles with an infobox, tabs and links to other articles."""
