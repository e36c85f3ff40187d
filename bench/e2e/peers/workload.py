"""What the pods ask for, whatever the system."""

import random

STEP = 50  # thousandths of a GPU: every share is a multiple of it
MOST_PARTS = 4


def mix(gpus, seed):
    """Shares in thousandths that can be put on so many GPUs without a gap: each GPU is cut into one to four parts, at
    places drawn at random."""
    dice = random.Random(seed)
    sizes = []
    for _ in range(gpus):
        cuts = sorted(dice.sample(range(STEP, 1000, STEP), dice.randrange(MOST_PARTS)))
        sizes += [end - start for start, end in zip([0, *cuts], [*cuts, 1000])]
    dice.shuffle(sizes)
    return sizes
