"""Elementwise operations on the CPU."""
