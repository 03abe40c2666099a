"""The guard itself: a test that reaches for the network fails."""

from __future__ import annotations

import socket

import pytest

NO_NETWORK = "without a network"


def test_connecting_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one, pytest.raises(RuntimeError, match=NO_NETWORK):
        one.connect(("127.0.0.1", 9))


def test_sending_without_connecting_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one, pytest.raises(RuntimeError, match=NO_NETWORK):
        one.sendto(b"x", ("127.0.0.1", 9))


def test_serving_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one, pytest.raises(RuntimeError, match=NO_NETWORK):
        one.bind(("127.0.0.1", 0))


def test_asking_for_names_is_refused() -> None:
    with pytest.raises(RuntimeError, match=NO_NETWORK):
        socket.getaddrinfo("localhost", 80)
