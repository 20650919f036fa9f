"""Pure computation: frozen dataclasses and functions, no input or output, no clock, no settings."""
