"""Bills of providers: what their columns mean, what a line charges for, and the estate behind."""
