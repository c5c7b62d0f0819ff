"""The type of a metric's attribute."""

AttributeValue = int | float | str | bool
