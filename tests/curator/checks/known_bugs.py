"""Bugs that privacy libraries have had, by where they are told, and what catches each here.

A bug is caught by a broken front end of `twins`, or by a test that has a twin of its own.  Ten are the reports on
OpenDP 0.16.0 that were reproduced; nine are what the authors of Re:cord-play (2026) name of their thirteen, in their
artifact and in public reports; the others are in the same trackers.
"""

from __future__ import annotations

from dataclasses import dataclass

REPRODUCED = {2922, 2925, 2926, 2927, 2938, 2939, 2942, 2944, 2945, 2950}
LEARNT = "tests/contracts/test_replay_learning.py::test_what_is_read_off_the_data_is_seen"
COPIED = "tests/contracts/test_replay_synthesis.py::test_what_is_copied_from_the_data_is_seen"
TRAINED = "tests/statistical/test_training.py::test_a_step_in_which_rows_see_one_another_is_caught"
EXACTLY = "tests/attacks/test_broken.py::test_the_exact_audit_catches_it"
SAMPLED = "tests/attacks/test_broken.py::test_the_audit_catches_it_and_does_not_exaggerate"


@dataclass(frozen=True)
class KnownBug:
    """Where it is told, what it was, and the twin of it here: a broken front end, or `test` with a `twin` in it."""

    source: str
    what: str
    twin: str
    test: str | None = None


OPENDP = (
    KnownBug("OpenDP #2922", "delta of a threshold, > for >=", "ThresholdOffByOne", EXACTLY),
    KnownBug("OpenDP #2925", "a tree of sums wraps around", "32-bit sums wrap around"),
    KnownBug("OpenDP #2926", "places compared after a row was inserted", "an operator depends on the order of rows"),
    KnownBug("OpenDP #2927", "a table resized to a size it has", "the table is resized to its usual number of rows"),
    KnownBug("OpenDP #2938", "a failed cast is NULL: a free count", "no noise where the sensitivity is unknown"),
    KnownBug("OpenDP #2939", "NaN is cut to NULL: a free count", "no noise where the sensitivity is unknown"),
    KnownBug("OpenDP #2942", "one bad moment ends the process", "a cast error escapes"),
    KnownBug("OpenDP #2944", "codes in the order in which categories come", "category codes are made from the data"),
    KnownBug("OpenDP #2945", "a factor of 2 in the stability", "the sensitivity is halved"),
    KnownBug("OpenDP #2950", "an odd row is dropped", "the odd row is dropped"),
)
RECORD_PLAY = (
    KnownBug("diffprivlib #105", "the lower bound used twice", "the lower bound is used twice"),
    KnownBug("diffprivlib #106", "classes are the labels that occur", "classes_from_data", LEARNT),
    KnownBug("dpmm #18", "the domain ends at the largest value", "domain_from_data", LEARNT),
    KnownBug("smartnoise-sdk #621", "a logarithm is missing", "ForgottenLogarithm", EXACTLY),
    KnownBug("smartnoise-sdk #622", "rows are not clipped, the sensitivity is", "the clamp is forgotten"),
    KnownBug("Opacus #571", "the mean is over the true number of rows", "divided", TRAINED),
    KnownBug("Synthcity, PrivBayes", "a sensitivity of 0: no noise", "no noise where the sensitivity is unknown"),
    KnownBug("MOSTLY AI", "two releases for one charge", "TwiceForOne", SAMPLED),
    KnownBug("dp-recorder, test_nan_injection", "NaN is not clipped", "NaN passes the clamp"),
)
OTHERS = (
    KnownBug("OpenDP #2911", "permute-and-flip charged as bounded range", "UnderchargedFlip", EXACTLY),
    KnownBug("OpenDP #2933", "one sample, amplified twice", "SameSampleTwice", SAMPLED),
    KnownBug("OpenDP #2935", "NaN makes a whole sum 0", "a value that cannot be read empties the answer"),
    KnownBug("OpenDP #2949", "groups merged after truncation", "truncation of groups is forgotten"),
    KnownBug("OpenDP #2951", "a bound in l2 sold in l1", "the l2 sensitivity for l1 noise"),
    KnownBug("OpenDP #1594", "a lazy result drawn again", "a second draw for one charge"),
    KnownBug("OpenDP #1826", "groups in the order of the data", "groups come in the order of their size"),
    KnownBug("smartnoise-sdk #201", "a column clamped", "the clamp is on the column, not on the expression"),
    KnownBug("smartnoise-sdk #317", "no sensitivity: no noise", "no noise where the sensitivity is unknown"),
    KnownBug("reprosyn #38", "the domain is what occurs", "domain_from_unique", COPIED),
    KnownBug("Opacus #80", "shuffled batches sold as coins", "OnePass",
             "tests/learning/test_neural_audit.py::test_a_training_run_that_samples_otherwise_is_caught"),
)  # fmt: skip
KNOWN = (*OPENDP, *RECORD_PLAY, *OTHERS)
