"""Readers of the forms in which publishers hand over their pages."""
