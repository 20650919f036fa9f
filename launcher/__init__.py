"""The launcher behind ./rackrate: standard library only, because it runs before anything is installed."""
