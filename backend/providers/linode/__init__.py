"""Linode."""
