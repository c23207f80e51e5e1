"""The scripted policy of the phone's tasks."""
