"""Endpoints of hosts, runs, samples and evidence."""
