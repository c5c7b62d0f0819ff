"""What the doctor looks at, one check a module. Each notes findings; none changes a file."""
