"""Writes records under producer ids and sequences noted beforehand, and checks which were appended."""
