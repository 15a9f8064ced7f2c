"""Dynamical mean-field theory."""
