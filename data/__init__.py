"""The contracts that flow between the rooms, and the embedded websites. Imports no other room."""
