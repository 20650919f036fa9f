"""Endpoints of the catalog: lists, prices, own hardware."""
