"""Kernels: arrays in, arrays out; they never raise and know no user types."""
