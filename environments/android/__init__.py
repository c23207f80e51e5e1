"""Android devices and emulators over adb, and a daemon that offers any touch screen as one. Start with `world.py`."""
