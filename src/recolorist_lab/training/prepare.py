"""Prepare a run before its first minibatch: images, augmentation, order, network."""

from __future__ import annotations

from typing import NamedTuple

import torch

from recolorist_lab.augmentations import TrainingImages, build
from recolorist_lab.data.named import open_dataset
from recolorist_lab.runs.seeds import seed_of
from recolorist_lab.training import algorithms, models
from recolorist_lab.training.algorithms.base import Algorithm, Task
from recolorist_lab.training.batches import Order
from recolorist_lab.training.feed import Feed
from recolorist_lab.training.normalise import Normalise
from recolorist_lab.training.predict import domains_of
from recolorist_lab.training.pretrained import load_weights
from recolorist_lab.training.settings import Settings
from recolorist_lab.training.splits import Splits, divide

__all__ = ["Prepared", "prepare"]


class Prepared(NamedTuple):
    """Everything that a run needs."""

    splits: Splits
    images: TrainingImages
    normalise: Normalise
    feed: Feed
    order: Order
    algorithm: Algorithm


def prepare(settings: Settings, rank: int = 0) -> Prepared:
    """Prepare data, augmentation and network. Weights depend on the seed alone, not on what was drawn before.

    Args:
        settings: Of the run.
        rank: Number of this device.

    Returns:
        Everything that training needs.

    Raises:
        OptionError: A setting does not fit the data.
        MissingDataError: The data are not here.
        ImageError: An image is not the one that was indexed.
    """
    splits = divide(open_dataset(settings.dataset, settings.root), settings)
    for part in splits if rank == 0 else ():
        if part is not None:
            part.refuse_any_changed()
    images = TrainingImages(splits.train, splits.test)
    augmentation = None
    if settings.augmentation != "none":
        augmentation = build(settings.augmentation, images, seed=settings.seed, p=settings.probability)
    order = Order(settings, domains_of(splits.train), rank)
    task = Task(len(splits.train.classes), multilabel=splits.train.manifest.facts.task == "multilabel")
    kind = algorithms.class_of(settings.algorithm)
    torch.manual_seed(seed_of("weights", settings.seed))
    network = models.build(settings.model, task.classes, own_head=kind.own_head)
    if settings.weights:
        load_weights(network.net, settings.weights_file, settings.weights)
    feed = Feed(splits.train, order.names, augmentation=augmentation)
    return Prepared(splits, images, Normalise.of(images.bank()), feed, order, kind(network, task, settings.variant))
