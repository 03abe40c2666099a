"""Spectral decoupling against its equation."""

from __future__ import annotations

import torch
from torch import nn

from recolorist_lab.training.algorithms.erm import ERM
from recolorist_lab.training.algorithms.sd import SD, SD_REG
from tests.lab.training.algorithms.parts import ONE, K, N, batch, ce, network


class TestSd:
    def test_sd_adds_a_tenth_of_the_mean_square_of_all_logits(self) -> None:
        net = network()
        images, labels, domains = batch()
        logits = net(images)
        wanted = ce(logits, labels) + 0.1 * (logits**2).sum() / (N * K)
        torch.testing.assert_close(SD(net, ONE)(images, labels, domains).loss, wanted)

    def test_the_penalty_is_zero_at_zero_and_has_the_stated_derivative(self) -> None:
        logits = torch.randn(N, K, requires_grad=True)
        (SD_REG * logits.square().mean()).backward()
        assert logits.grad is not None
        torch.testing.assert_close(logits.grad, 2 * SD_REG * logits.detach() / (N * K))
        net = network()
        nn.init.zeros_(net.last.weight)
        nn.init.zeros_(net.last.bias)
        images, labels, domains = batch()
        assert torch.equal(SD(net, ONE)(images, labels, domains).loss, ERM(net, ONE)(images, labels, domains).loss)
