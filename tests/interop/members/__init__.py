"""Members of a group in processes of their own, each with another client library, to be started, told to go, killed.

Arguments of each module: bootstrap, topic, name, session timeout in ms, group:assignor:members:instance (the last empty
for dynamic members). What a member says, a line each, begins with its group and its name:

    owns P,P,...      the partitions that are its own now
    read P FIRST LAST it was handed these offsets, both inclusive
    refused WHY       the broker did not take its last commit for partitions that were taken from it
    left              it has left, as asked by SIGTERM

It commits what it has read when partitions are taken from it: between clean rebalances nobody reads a record twice.
tests/interop/java/FleetMembers.java speaks the same.
"""
