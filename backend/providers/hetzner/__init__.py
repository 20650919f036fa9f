"""Hetzner."""
