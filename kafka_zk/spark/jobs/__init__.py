"""The pipeline's jobs: ingest, archive, transform, restore, mirror, audit."""
