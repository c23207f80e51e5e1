"""The scripted expert on real applications: it reads what an agent reads, and does what people do there."""
