"""MST and AIM of SmartNoise Synthesizers, over tables in a folder. Run by the interpreter that has them.

For each NAME.npz (rows; of each column the first and the last value, and whether it is a number) NAME.mst.EPSILON.npz
and NAME.aim.EPSILON.npz are made. Numbers are cut into 100 parts of equal length at most, as the authors do with Adult,
and are drawn uniformly inside of parts. Both take the number of rows as public.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from mbi import Dataset, Domain
from snsynth.aim import AIMSynthesizer
from snsynth.mst import MSTSynthesizer
from snsynth.utils import cdp_rho

DELTA = 1e-6
PARTS = 100
Table = npt.NDArray[np.int64]
Method = Callable[[Table, list[str], list[int], float], pd.DataFrame]


def mst(cells: Table, names: list[str], sizes: list[int], epsilon: float) -> pd.DataFrame:
    """A tree of pairs."""
    made = MSTSynthesizer(epsilon, DELTA)
    made.MST(Dataset(cells, domain=Domain(names, sizes)), epsilon, DELTA)
    return made.undo_compress_fn(made.synthesizer.synthetic_data(rows=len(cells))).df[names]


def aim(cells: Table, names: list[str], sizes: list[int], epsilon: float) -> pd.DataFrame:
    """Pairs chosen by what the model does not explain yet."""
    made = AIMSynthesizer(epsilon, DELTA)
    made.rho = cdp_rho(epsilon, DELTA)
    data = Dataset(pd.DataFrame(cells, columns=names), domain=Domain(names, sizes))
    made.AIM(data, made.get_workload(data, degree=2, max_cells=PARTS**2))
    return made.synthesizer.synthetic_data(rows=len(cells)).df[names]


def release(method: Method, rows: Table, domains: Table, epsilon: float) -> Table:
    """Rows of the synthesizer, in the domains of the table."""
    lows, lasts, numbers = domains.T
    widths = lasts - lows + 1
    sizes = np.where(numbers == 1, np.minimum(widths, PARTS), widths)
    names = [f"c{place}" for place in range(len(sizes))]
    made = method((rows - lows) * sizes // widths, names, sizes.tolist(), epsilon).to_numpy().astype(np.int64)
    firsts, ends = -(-made * widths // sizes), -(-(made + 1) * widths // sizes)
    shares = np.random.default_rng().random(made.shape)
    return lows + firsts + np.floor(shares * (ends - firsts)).astype(np.int64)


def main(folder: Path, epsilons: Sequence[float]) -> None:
    """What is there already is not made again."""
    tables = [path for path in sorted(folder.glob("*.npz")) if path.stem.count(".") == 0]
    for epsilon, method, path in ((e, m, p) for e in epsilons for m in (mst, aim) for p in tables):
        out = path.with_name(f"{path.stem}.{method.__name__}.{epsilon:g}.npz")
        if not out.exists():
            table, begun = np.load(path), time.monotonic()
            rows = release(method, table["rows"], table["domains"], epsilon)
            np.savez(out, rows=rows)
            sys.stderr.write(f"{out.name}: {time.monotonic() - begun:.0f} s\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [float(epsilon) for epsilon in sys.argv[2:]])
