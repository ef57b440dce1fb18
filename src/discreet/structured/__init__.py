"""Workloads with structure: medians, quantiles, graphs."""

from discreet.structured.degrees import DegreeHistogram as DegreeHistogram
from discreet.structured.degrees import DegreeSequence as DegreeSequence
from discreet.structured.degrees import EdgeCount as EdgeCount
from discreet.structured.ladder import Ladder as Ladder
from discreet.structured.node_privacy import DegreeBound as DegreeBound
from discreet.structured.node_privacy import NodeDegreeHistogram as NodeDegreeHistogram
from discreet.structured.node_privacy import NodeEdgeCount as NodeEdgeCount
from discreet.structured.noisy_local import NoisyLocal as NoisyLocal
from discreet.structured.noisy_local import SensitivityBound as SensitivityBound
from discreet.structured.sample_and_aggregate import SampleAndAggregate as SampleAndAggregate
from discreet.structured.smooth_median import SmoothMedian as SmoothMedian
from discreet.structured.stable_median import StableMedian as StableMedian
from discreet.structured.stars import StarCount as StarCount
from discreet.structured.triangle_plan import TrianglePlan as TrianglePlan
from discreet.structured.triangles import TriangleBound as TriangleBound
from discreet.structured.triangles import TriangleCount as TriangleCount
