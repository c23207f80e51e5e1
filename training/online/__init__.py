"""The trainer that lives on: it reads groups of rollouts as they come, learns, publishes weights (docs/online.md)."""
