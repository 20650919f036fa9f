"""DigitalOcean."""
