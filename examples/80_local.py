"""The local model: a million phones report noisy values, and a server that nobody trusts learns the frequencies.

Clients randomise at home, reports travel as packed bytes, two servers count half of them each and are merged.
"""

from pathlib import Path

import altair as alt
import numpy as np

from discreet.local import HadamardResponse, OptimalUnaryEncoding, ProjectiveGeometryResponse, Server

# --8<-- [start:frequencies]
values = np.random.default_rng(0).zipf(1.5, 1_000_000) % 1024  # one for each user
proto = ProjectiveGeometryResponse(epsilon=1.0, size=1024)
reports = proto.client().report(values)  # what leaves the phones
server = proto.server()
server.add(reports)
estimate, error = server.estimate(), server.error(0.05)
truth = np.bincount(values, minlength=1024) / len(values)
for x in range(5):
    print(f"value {x}: {estimate[x]:.4f} +- {error[x]:.4f}, in truth {truth[x]:.4f}")
print(f"{(np.abs(estimate - truth) <= error).mean():.1%} of all 1,024 errors hold")
# --8<-- [end:frequencies]

# --8<-- [start:bytes]
data = proto.to_bytes(reports[:500_000])
print(f"\n500,000 reports of {proto.bits} bits: {len(data):,} bytes")
east, west = proto.server(), proto.server()
east.add(proto.from_bytes(data))
west.add(reports[500_000:])
again = Server.from_bytes(proto, east.to_bytes())  # a state is a message too
again.merge(west)
assert np.array_equal(again.estimate(), estimate)
# --8<-- [end:bytes]

# --8<-- [start:exact]
for kind in (OptimalUnaryEncoding, HadamardResponse, ProjectiveGeometryResponse):
    table = kind(epsilon=1.0, size=5).table()  # every likelihood as a rational number
    print(f"{kind.__name__}: the largest ratio of likelihoods is {float(table.ratio()):.12f}")
# --8<-- [end:exact]

Path("out").mkdir(exist_ok=True)
shown = [{"value": x, "share": float(truth[x]), "who": "true"} for x in range(40)]
shown += [{"value": x, "share": float(estimate[x]), "who": "private"} for x in range(40)]
chart = alt.Chart(alt.Data(values=shown), title="A million users, epsilon 1").mark_line(point=True)
chart.encode(x="value:Q", y="share:Q", color=alt.Color("who:N", title=None)).save("out/80_local.svg")
