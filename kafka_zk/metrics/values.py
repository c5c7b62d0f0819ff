"""What an attribute of a metric may be."""

AttributeValue = int | float | str | bool
