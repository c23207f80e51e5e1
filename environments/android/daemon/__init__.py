"""What runs on a device to answer adb, in front of any `TouchScreen`: clients of adb meet a phone without one.

Start with `daemon.py`. `connection.py` shakes hands and carries streams, `services.py` answers what a stream asks for,
`shell.py` reads a command line and `commands.py` carries it out. No process is started for a client.
"""
