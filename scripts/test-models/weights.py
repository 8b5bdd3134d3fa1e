"""Random weights that are the same bytes on every machine."""

import numpy


class WeightSource:
    """Uniform numbers only: they need no logarithm or cosine, whose last bit differs between machines."""

    def __init__(self, seed: int) -> None:
        self.generator = numpy.random.Generator(numpy.random.PCG64(seed))

    def draw(self, shape: tuple[int, ...], spread: float) -> numpy.ndarray:
        numbers = self.generator.random(shape, dtype=numpy.float32)
        return (numbers - numpy.float32(0.5)) * numpy.float32(2 * spread)
