"""What every room needs and no room owns. It knows no other room. Read `cli.py` first. By what they are about:

- `options/`: a command's options as a dataclass, with its limits, from flags and back
- `network/`: asking over HTTP within bounds, asking again, and stand-ins for who is asked
- `shown/`: tables, pictures and others' texts for eyes
- `ray_cluster/`: a Ray cluster, found or started
- files: `files`, `full_disk`, `safe_pickle`, `spool`, `progress`
- processes: `processes`, `parallel`, `background`, `inherited`, `garbage`
- errors and numbers: `errors`, `not_installed`, `defaults`, `seeds`, `significance`
"""
