"""Writes records under producer ids and sequences noted beforehand, and finds out which arrived."""
