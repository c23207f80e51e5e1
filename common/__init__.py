"""What every room needs and no room owns. Read `cli.py` first. By what they are about:

- command lines: `cli`, `command_line`, `fields`, `flags`, `key_flags`, `limits`, `switch`, `errors`, `not_installed`
- files: `files`, `full_disk`, `safe_pickle`, `spool`, `progress`
- processes: `processes`, `parallel`, `background`, `inherited`, `own_services`, `garbage`
- HTTP: `bounded_http`, `retry`, `stand_in`
- what is shown: `tables`, `terminal`, `cut_text`, `drawing`, `significance`
"""
