"""kafka-pipeline.sh: the command line of the jobs, the Spark session they run in, the package that workers get."""
