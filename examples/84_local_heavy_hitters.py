"""Which home pages are popular, among all 64-bit strings, when each user sends one private report."""

import hashlib
from pathlib import Path

import altair as alt
import numpy as np

sites = [f"https://example.org/{name}" for name in ("news", "mail", "maps", "music", "weather")]
names = {int.from_bytes(hashlib.sha256(site.encode()).digest()[:8], "big"): site for site in sites}
rng = np.random.default_rng(0)
n = 300_000
pages = rng.integers(0, 2**64, n, dtype=np.uint64)  # half of the users have a page of their own
known = rng.choice(np.array(list(names), dtype=np.uint64), n, p=[0.3, 0.25, 0.2, 0.15, 0.1])
pages = np.where(rng.random(n) < 0.5, known, pages)

# --8<-- [start:find]
from discreet.local import HeavyHitters

finder = HeavyHitters(bits=64, epsilon=2.0)
print(f"{finder.levels} groups of users, {finder.privacy()}; expect to find above {finder.threshold(n):.1%}")
found = finder(pages)
for item in found.items:
    print(f"{names.get(item.value, 'nobody'):<30} {item.fraction:6.1%}, surely in [{item.low:.1%}, {item.high:.1%}]")
print(f"nothing above {found.threshold:.1%} is missing, and nothing is invented, with probability {1 - found.beta:.0%}")
# --8<-- [end:find]

Path("out").mkdir(exist_ok=True)
shown = [{"page": names.get(i.value, "nobody"), "share": i.fraction} for i in found.items]
chart = alt.Chart(alt.Data(values=shown), title="Found among 2^64 strings").mark_bar()
chart = chart.encode(x="share:Q", y=alt.Y("page:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)))
chart.save("out/84_local_heavy_hitters.svg")
