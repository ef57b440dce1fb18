"""Mark every copy, let ten people mix theirs as they like, and name them.

A Tardos code gives 60 users copies that differ in secret places.  Ten mix theirs by every strategy of the literature;
the mixture names them and nobody else.  The same code hidden in ciphertexts traces decoders, and an accurate release of
many counts would be such a decoder: that is why no accurate one is private.
"""

from pathlib import Path

import altair as alt

from discreet.attacks import TraitorTracing, fingerprint_audit, mixed, pirate, tardos

# --8<-- [start:code]
code = tardos(60, 10, seed=1)
for strategy in ("interleaving", "majority", "minority", "ones", "coin"):
    accused = code.trace(mixed(code.words[:10], strategy, seed=2))
    guilty = int((accused < 10).sum())
    print(f"{strategy:13} {guilty} of 10 pirates named, {len(accused) - guilty} innocent")
# --8<-- [end:code]

# --8<-- [start:decoder]
scheme = TraitorTracing.generate(12, seed=3)
decoder = pirate(scheme.records[4:7], lambda copies: mixed(copies, "majority", seed=4))
print("the decoder was made by some of 4, 5, 6: accused", scheme.trace(decoder(scheme.broadcast())).tolist())
# --8<-- [end:decoder]

# --8<-- [start:audit]
audit = fingerprint_audit(lambda counts: counts, users=4, trials=40, delta=0.01, seed=5)
print(f"exact means of {audit.trials} tables: epsilon at least {audit.epsilon:.2f}, whatever is claimed")
# --8<-- [end:audit]

Path("out").mkdir(exist_ok=True)
scores = code.scores(mixed(code.words[:10], "majority", seed=2))
shown = [{"user": i, "score": float(s), "who": "pirate" if i < 10 else "innocent"} for i, s in enumerate(scores)]
chart = alt.Chart(alt.Data(values=shown), title="Scores of 60 users").mark_circle()
chart.encode(x="user:Q", y="score:Q", color=alt.Color("who:N", title=None)).save("out/92_pirates.svg")
