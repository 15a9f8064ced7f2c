"""Which limit a problem is near."""
