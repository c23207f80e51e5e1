"""Roundcube over Dovecot: mail with folders, contacts and settings; what is sent is filed and goes nowhere."""
