"""Apache ZooKeeper in a container, through the `docker` package: what CI's integration tests run against.

The image is KAFKA_ZK_ZOOKEEPER_IMAGE where that is set, else the official zookeeper:3.9, else an equivalent that
docker/zookeeper/build.sh makes where no registry can be reached.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import docker
from docker.errors import APIError, DockerException, ImageNotFound

from tests.support.one_at_a_time import PROJECT, one_at_a_time
from tests.support.processes import free_port, wait_until
from tests.support.zookeeper import MAX_SESSION_TIMEOUT_MS, TICK_MS, answers

IMAGE_VARIABLE = "KAFKA_ZK_ZOOKEEPER_IMAGE"
OFFICIAL_IMAGE = "zookeeper:3.9"
OUR_IMAGE = "kafka-zk/zookeeper:3.9"
API_TIMEOUT_S = 120


class NoContainerError(Exception):
    """No container can be started here; the message says why."""


def connect_to_engine() -> docker.DockerClient:
    """The running engine. Raises NoContainerError."""
    try:
        engine = docker.from_env(timeout=API_TIMEOUT_S)
        engine.ping()
    except DockerException as error:
        raise NoContainerError(f"no container engine answers (scripts/docker-engine.sh start): {error}") from error
    return engine


def find_image(engine: docker.DockerClient) -> str:
    """The image to run: one that is here, pulled or built if need be. Raises NoContainerError."""
    attempts = [(OFFICIAL_IMAGE, _is_here), (OUR_IMAGE, _is_here), (OFFICIAL_IMAGE, _pulled), (OUR_IMAGE, _built)]
    if wanted := os.environ.get(IMAGE_VARIABLE):
        attempts = [(wanted, _is_here), (wanted, _pulled)]
    with one_at_a_time("zookeeper-image"):
        return _first_possible(engine, attempts)


_Attempt = Callable[[docker.DockerClient, str], str | None]


def _first_possible(engine: docker.DockerClient, attempts: list[tuple[str, _Attempt]]) -> str:
    obstacles = []
    for image, attempt in attempts:
        obstacle = attempt(engine, image)
        if obstacle is None:
            return image
        obstacles.append(obstacle)
    raise NoContainerError("no ZooKeeper image: " + "; ".join(obstacles))


def _is_here(engine: docker.DockerClient, image: str) -> str | None:
    try:
        engine.images.get(image)
    except ImageNotFound:
        return f"{image} is not in the engine"
    return None


def _pulled(engine: docker.DockerClient, image: str) -> str | None:
    try:
        engine.images.pull(image)
    except (APIError, OSError) as error:
        return f"{image} cannot be pulled ({error})"
    return None


def _built(engine: docker.DockerClient, image: str) -> str | None:
    done = subprocess.run(
        [PROJECT / "docker" / "zookeeper" / "build.sh", image],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return None if done.returncode == 0 else f"{image} cannot be built:\n{done.stdout}"


class ContainerZooKeeper:
    """Apache ZooKeeper in a container on the host's network."""

    def __init__(self, engine: docker.DockerClient, image: str) -> None:
        self._port = free_port()
        # The two others are the ensemble's and stay closed in a standalone server.
        peers = f"{free_port()}:{free_port()}"
        self._container = engine.containers.create(
            image,
            network_mode="host",
            environment={
                "ZOO_SERVERS": f"server.1=127.0.0.1:{peers};127.0.0.1:{self._port}",
                "ZOO_TICK_TIME": str(TICK_MS),
                "ZOO_MAX_CLIENT_CNXNS": "0",
                "ZOO_4LW_COMMANDS_WHITELIST": "*",
                "ZOO_ADMINSERVER_ENABLED": "false",
                "ZOO_CFG_EXTRA": f"maxSessionTimeout={MAX_SESSION_TIMEOUT_MS}",
                "ZK_SERVER_HEAP": "256",
                "JVMFLAGS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            },
        )

    @property
    def connect(self) -> str:
        return f"127.0.0.1:{self._port}"

    def start(self) -> None:
        self._container.start()
        wait_until(self._answers_or_dead, "ZooKeeper answers in its container")

    def _answers_or_dead(self) -> bool:
        if answers(self._port):
            return True
        self._container.reload()
        assert self._container.status != "exited", self._container.logs().decode(errors="replace")
        return False

    def stop(self) -> None:
        self._container.stop(timeout=10)

    def remove(self) -> None:
        """Stop it for good; its data go too."""
        self._container.remove(force=True, v=True)
