"""The Monge–Kantorovich map between two covariances of three channels, and the exponential of a symmetric matrix.

The functions of ``_kernels_transport.h`` once more, in Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from recolorist.core.kernels.fallback_math import power_of_e

__all__ = ["compose", "decompose", "exponential", "mixed_variances", "product", "transport"]

Matrix = list[list[float]]
_SWEEPS: Final = 60


def transport(content: Sequence[float], style: Sequence[float], max_gain: float, noise: float) -> tuple[tuple[float, ...], bool]:
    """Return the map that turns one covariance into the other and moves least.

    Args:
        content: Nine numbers, row by row.
        style: Nine numbers.
        max_gain: The largest factor on any direction.
        noise: The share of the largest spread below which a spread is rounding.

    Returns:
        Nine numbers, and whether the limit was reached. Directions in which the content does not vary are mapped to zero.

    Example:
        >>> transport([4.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0], [1.0, 0, 0, 0, 1.0, 0, 0, 0, 9.0], 10.0, 1e-13)
        ((0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0), False)
    """
    spread, axes = decompose(_square(content))
    least = max(spread) * noise
    root = [math.sqrt(value) if value > least else 0.0 for value in spread]
    half = compose(axes, root)
    unhalf = compose(axes, [1.0 / value if value > 0.0 else 0.0 for value in root])
    spread, axes = decompose(_multiply(_multiply(half, _square(style)), half))
    least = max(spread) * noise
    middle = compose(axes, [math.sqrt(value) if value > least else 0.0 for value in spread])
    factors, axes = decompose(_multiply(_multiply(unhalf, middle), unhalf))
    move = compose(axes, [min(max(value, 0.0), max_gain) for value in factors])
    return tuple(value for row in move for value in row), any(value > max_gain for value in factors)


def product(first: Sequence[float], second: Sequence[float], third: Sequence[float]) -> tuple[float, ...]:
    """Multiply three 3 x 3 matrices from left to right, each as nine numbers."""
    rows = _multiply(_multiply(_square(first), _square(second)), _square(third))
    return tuple(value for row in rows for value in row)


def mixed_variances(cov: Sequence[float], rows: Sequence[float], noise: float) -> tuple[float, ...] | None:
    """Return the variances of three mixtures of the channels; what is rounding becomes exactly zero.

    Args:
        cov: The covariance of the channels, nine numbers.
        rows: The factors of the mixtures, nine numbers.
        noise: The share of the largest variance that the terms could have, below which a variance is rounding.

    Returns:
        Three variances; None if one is not finite.

    Example:
        >>> mixed_variances([4.0, 2.0, 0, 2.0, 1.0, 0, 0, 0, 9.0], [1.0, 0, 0, 1.0, -2.0, 0, 0, 0, 1.0], 1e-13)
        (4.0, 0.0, 9.0)
    """
    c00, c01, c02, c10, c11, c12, c20, c21, c22 = cov
    d0, d1, d2 = math.sqrt(c00), math.sqrt(c11), math.sqrt(c22)
    variances = []
    for a, b, c in _square(rows):  # added from left to right, term by term: the order is part of the definition
        mixed = (
            a * c00 * a
            + a * c01 * b
            + a * c02 * c
            + b * c10 * a
            + b * c11 * b
            + b * c12 * c
            + c * c20 * a
            + c * c21 * b
            + c * c22 * c
        )
        scale = abs(a) * d0 + abs(b) * d1 + abs(c) * d2
        if not math.isfinite(mixed):
            return None
        variances.append(mixed if mixed > noise * scale * scale else 0.0)
    return tuple(variances)


def exponential(matrix: Sequence[float], limit: float) -> tuple[float, ...]:
    """Return e to the power of a symmetric matrix, symmetric to the last bit.

    Args:
        matrix: Nine numbers, row by row.
        limit: The largest size of an eigenvalue, at most 700; larger ones are reduced to it.

    Returns:
        Nine numbers.

    Example:
        >>> exponential([0.0] * 9, 3.0)
        (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    """
    values, axes = decompose(_square(matrix))
    whole = compose(axes, power_of_e(np.array([min(max(value, -limit), limit) for value in values])).tolist())
    return tuple((whole[i][j] + whole[j][i]) / 2.0 for i in range(3) for j in range(3))


def _square(numbers: Sequence[float]) -> Matrix:
    return [list(numbers[3 * i : 3 * i + 3]) for i in range(3)]


def _multiply(x: Matrix, y: Matrix) -> Matrix:
    return [[(row[0] * y[0][j] + row[1] * y[1][j]) + row[2] * y[2][j] for j in range(3)] for row in x]


def compose(vectors: Matrix, values: list[float]) -> Matrix:
    """Return ``vectors · diag(values) · vectorsᵀ``."""
    return [[(u[0] * values[0] * v[0] + u[1] * values[1] * v[1]) + u[2] * values[2] * v[2] for v in vectors] for u in vectors]


def decompose(matrix: Matrix) -> tuple[list[float], Matrix]:
    """Return eigenvalues and, as columns, eigenvectors of the mean of a matrix and its transpose, by Jacobi's rotations."""
    a = [[(matrix[i][j] + matrix[j][i]) / 2.0 for j in range(3)] for i in range(3)]
    vectors = [[float(i == j) for j in range(3)] for i in range(3)]
    for _ in range(_SWEEPS):
        if a[0][1] == 0.0 and a[0][2] == 0.0 and a[1][2] == 0.0:
            break
        for p, q in ((0, 1), (0, 2), (1, 2)):
            _rotate(a, vectors, p, q)
    return [a[i][i] for i in range(3)], vectors


def _rotate(a: Matrix, vectors: Matrix, p: int, q: int) -> None:
    """Make ``a[p][q]`` zero."""
    off = a[p][q]
    if abs(off) <= 1e-30 * (abs(a[p][p]) + abs(a[q][q])):
        a[p][q] = a[q][p] = 0.0  # far below the last bit of either diagonal entry
        return
    ratio = (a[q][q] - a[p][p]) / (2.0 * off)
    tangent = (-1.0 if ratio < 0.0 else 1.0) / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
    sine, step, r = tangent * cosine, tangent * off, 3 - p - q
    rp, rq = a[r][p], a[r][q]
    a[p][p], a[q][q] = a[p][p] - step, a[q][q] + step
    a[p][q] = a[q][p] = 0.0
    a[r][p] = a[p][r] = cosine * rp - sine * rq
    a[r][q] = a[q][r] = sine * rp + cosine * rq
    for row in vectors:
        row[p], row[q] = cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]
