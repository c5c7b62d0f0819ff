"""What the broker writes to server.log, controller.log and state-change.log, as log4j.properties says."""
