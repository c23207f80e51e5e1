"""The embedded websites: a shop, an encyclopedia, a forum, a timetable and a gallery, made from a seed, served by one
process.

Every site is a folder with the same files: `content.py` (its entities), `pages.py` (what a visitor sees and does) and
`tasks.py` (what an agent may be asked, with ground truth).
"""
