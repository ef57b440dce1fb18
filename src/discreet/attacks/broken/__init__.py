"""Deliberately broken mechanisms, each labelled with what is wrong: the referee's own referee.

An audit that lets one of these pass is not worth running.  `SAMPLED` are caught by the
black-box audit on their worst pair of inputs, `ENUMERATED` by the exact audit of their
laws.  None may ever release private data.
"""

from discreet.attacks.broken.additive import AddRemoveHistogram as AddRemoveHistogram
from discreet.attacks.broken.additive import ClampedTotal as ClampedTotal
from discreet.attacks.broken.additive import EuclideanForManhattan as EuclideanForManhattan
from discreet.attacks.broken.additive import HalvedSensitivity as HalvedSensitivity
from discreet.attacks.broken.additive import ResampledUntilNonNegative as ResampledUntilNonNegative
from discreet.attacks.broken.additive import SameNoiseTwice as SameNoiseTwice
from discreet.attacks.broken.additive import ShrunkNoise as ShrunkNoise
from discreet.attacks.broken.additive import TwiceForOne as TwiceForOne
from discreet.attacks.broken.bits import BiasedPad as BiasedPad
from discreet.attacks.broken.bits import LinearResponse as LinearResponse
from discreet.attacks.broken.floating import FloatAfterExact as FloatAfterExact
from discreet.attacks.broken.floating import FloatLaplace as FloatLaplace
from discreet.attacks.broken.graphs import DegreeBoundFromData as DegreeBoundFromData
from discreet.attacks.broken.local import BoundForFree as BoundForFree
from discreet.attacks.broken.local import DoubledSmoothness as DoubledSmoothness
from discreet.attacks.broken.local import FullSmoothness as FullSmoothness
from discreet.attacks.broken.local import LocalSensitivityNoise as LocalSensitivityNoise
from discreet.attacks.broken.local import ThresholdWithoutLogarithm as ThresholdWithoutLogarithm
from discreet.attacks.broken.relations import SameSampleTwice as SameSampleTwice
from discreet.attacks.broken.relations import TrueCountInMean as TrueCountInMean
from discreet.attacks.broken.selection import AddRemoveNoisyMax as AddRemoveNoisyMax
from discreet.attacks.broken.selection import MonotoneExponential as MonotoneExponential
from discreet.attacks.broken.selection import NoisyMaxWithValue as NoisyMaxWithValue
from discreet.attacks.broken.selection import UnderchargedFlip as UnderchargedFlip
from discreet.attacks.broken.sparse import SparseVectorUnscaled as SparseVectorUnscaled
from discreet.attacks.broken.sparse import SparseVectorWithAnswers as SparseVectorWithAnswers
from discreet.attacks.broken.sparse import SparseVectorWithoutEnd as SparseVectorWithoutEnd
from discreet.attacks.broken.sparse import SparseVectorWithoutNoise as SparseVectorWithoutNoise
from discreet.attacks.broken.tails import ClassicalGaussian as ClassicalGaussian
from discreet.attacks.broken.tails import ForgottenLogarithm as ForgottenLogarithm
from discreet.attacks.broken.tails import ThresholdOffByOne as ThresholdOffByOne
from discreet.attacks.broken.tails import TruncatedOffByOne as TruncatedOffByOne
from discreet.attacks.broken.twin import Twin as Twin

SAMPLED: tuple[Twin, ...] = (
    ShrunkNoise(epsilon=0.1, factor="3/4"),
    ShrunkNoise(epsilon=0.5, factor="9/10"),
    ShrunkNoise(epsilon=1, factor="9/10"),
    ShrunkNoise(epsilon=4, factor="9/10"),
    HalvedSensitivity(epsilon=0.5, sensitivity=2),
    AddRemoveHistogram(epsilon=0.5),
    EuclideanForManhattan(epsilon=0.5, size=4),
    ResampledUntilNonNegative(epsilon=0.5),
    ClampedTotal(epsilon=0.5, bound=10, most=1000),
    SameNoiseTwice(epsilon=0.5),
    TwiceForOne(epsilon=0.5),
    FloatLaplace(scale=1.0),
    FloatAfterExact(epsilon=1, step=0.25, pair=(0.1, 1.1)),
    LinearResponse(epsilon=0.5),
    BiasedPad(size=200),
    AddRemoveNoisyMax(epsilon=0.5),
    AddRemoveNoisyMax(epsilon=1),
    NoisyMaxWithValue(epsilon=0.5),
    MonotoneExponential(epsilon=0.5),
    SparseVectorWithAnswers(epsilon=1),
    SparseVectorUnscaled(epsilon=1, count=4),
    SparseVectorWithoutNoise(epsilon=1),
    SparseVectorWithoutEnd(epsilon=1),
    DegreeBoundFromData(epsilon=1),
    LocalSensitivityNoise(epsilon=1),
    DoubledSmoothness(epsilon=1, smoothness=0.7),
    SameSampleTwice(epsilon=2, rate="1/10"),
    TrueCountInMean(epsilon=1, bound=10),
)

ENUMERATED: tuple[Twin, ...] = (
    LinearResponse(epsilon=0.1),
    LinearResponse(epsilon=0.5),
    MonotoneExponential(epsilon=0.5),
    SparseVectorWithAnswers(epsilon=1),
    SparseVectorUnscaled(epsilon=1, count=4),
    SparseVectorWithoutNoise(epsilon=1),
    SparseVectorWithoutEnd(epsilon=1),
    BoundForFree(epsilon=1, delta=1e-3),
    FullSmoothness(epsilon="1/10"),
    FullSmoothness(epsilon=1),
    UnderchargedFlip(epsilon=0.1),
    UnderchargedFlip(epsilon=1),
    ClassicalGaussian(epsilon=10, delta=1e-5),
    ForgottenLogarithm(epsilon=1, delta=1e-6),
    ThresholdOffByOne(epsilon=1, delta=1e-5),
    ThresholdOffByOne(epsilon=0.5, delta=1e-6),
    TruncatedOffByOne(epsilon=1, delta=1e-5),
    ThresholdWithoutLogarithm(epsilon=1, delta=1e-6),
)
