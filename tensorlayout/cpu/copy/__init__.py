"""Copies between layouts and dtypes: strategies and their costs."""
