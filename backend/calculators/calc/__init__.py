"""Performance of disks, links and memory: arrays, ZFS's use of space, shared links, presets."""
