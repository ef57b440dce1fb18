"""Private learners: those of the theory, and the estimators people use.

Names are loaded when first used: scikit-learn and PyTorch are imported by the modules that need them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.learning.budget_curve import AccuracyCurve as AccuracyCurve
    from discreet.learning.budget_curve import accuracy_curve as accuracy_curve
    from discreet.learning.cross_validation import CrossValidated as CrossValidated
    from discreet.learning.cross_validation import cross_val_score as cross_val_score
    from discreet.learning.cross_validation import cross_validate as cross_validate
    from discreet.learning.foreign_tools import unaccounted as unaccounted
    from discreet.learning.linear.logistic import LogisticRegression as LogisticRegression
    from discreet.learning.linear.ridge import LinearRegression as LinearRegression
    from discreet.learning.linear.ridge import Ridge as Ridge
    from discreet.learning.linear.svc import LinearSVC as LinearSVC
    from discreet.learning.neural.network import Epoch as Epoch
    from discreet.learning.neural.network import NeuralNetwork as NeuralNetwork
    from discreet.learning.neural.network import NeuralNetworkRegressor as NeuralNetworkRegressor
    from discreet.learning.neural.private_gradients import PrivateGradients as PrivateGradients
    from discreet.learning.pac.amplified import Amplified as Amplified
    from discreet.learning.pac.bit_rows import BitRows as BitRows
    from discreet.learning.pac.boolean_classes import Conjunctions as Conjunctions
    from discreet.learning.pac.boolean_classes import Parities as Parities
    from discreet.learning.pac.boosted import BoostedLearner as BoostedLearner
    from discreet.learning.pac.exponential import ExponentialLearner as ExponentialLearner
    from discreet.learning.pac.hypotheses import HypothesisClass as HypothesisClass
    from discreet.learning.pac.hypotheses import Thresholds as Thresholds
    from discreet.learning.pac.panel import best_of_panel as best_of_panel
    from discreet.learning.pac.parity import ParityLearner as ParityLearner
    from discreet.learning.pac.sampled import Sampled as Sampled
    from discreet.learning.pac.threshold import ThresholdLearner as ThresholdLearner
    from discreet.learning.pipeline import Pipeline as Pipeline
    from discreet.learning.scaling import DeclaredScaler as DeclaredScaler
    from discreet.learning.scaling import PrivateBounds as PrivateBounds
    from discreet.learning.statistical.conjunctions import LearnedConjunction as LearnedConjunction
    from discreet.learning.statistical.conjunctions import learn_conjunction as learn_conjunction
    from discreet.learning.statistical.descent import LearnedLinear as LearnedLinear
    from discreet.learning.statistical.descent import descent_excess as descent_excess
    from discreet.learning.statistical.descent import learn_linear as learn_linear
    from discreet.learning.statistical.halfspace import LearnedHalfspace as LearnedHalfspace
    from discreet.learning.statistical.halfspace import halfspace_rounds as halfspace_rounds
    from discreet.learning.statistical.halfspace import learn_halfspace as learn_halfspace
    from discreet.learning.statistical.means import LearnedMeans as LearnedMeans
    from discreet.learning.statistical.means import learn_means as learn_means
    from discreet.learning.statistical.noise import StatisticalNoise as StatisticalNoise
    from discreet.learning.statistical.oracle import StatisticalQueryOracle as StatisticalQueryOracle
    from discreet.learning.statistical.source import AggregateSource as AggregateSource
    from discreet.learning.statistical.tree import LearnedTree as LearnedTree
    from discreet.learning.statistical.tree import learn_stump as learn_stump
    from discreet.learning.statistical.tree import learn_tree as learn_tree
    from discreet.learning.statistical.tree import tree_queries as tree_queries
    from discreet.learning.trees.boosted import GradientBoostedTrees as GradientBoostedTrees
    from discreet.learning.trees.boosted import GradientBoostedTreesRegressor as GradientBoostedTreesRegressor
    from discreet.learning.trees.decision_tree import DecisionTreeClassifier as DecisionTreeClassifier
    from discreet.learning.trees.naive_bayes import NaiveBayes as NaiveBayes
    from discreet.learning.trees.random_forest import RandomForestClassifier as RandomForestClassifier
    from discreet.learning.vectors.k_means import KMeans as KMeans
    from discreet.learning.vectors.maximum_likelihood import MaximumLikelihoodClassifier as MaximumLikelihoodClassifier
    from discreet.learning.vectors.nearest_neighbours import KNeighborsClassifier as KNeighborsClassifier
    from discreet.learning.vectors.nearest_neighbours_labels import LabelPrivateNeighbors as LabelPrivateNeighbors
    from discreet.learning.vectors.principal_components import PCA as PCA

_NAMES = {
    "AccuracyCurve": "budget_curve",
    "AggregateSource": "statistical.source",
    "Amplified": "pac.amplified",
    "BitRows": "pac.bit_rows",
    "BoostedLearner": "pac.boosted",
    "Conjunctions": "pac.boolean_classes",
    "CrossValidated": "cross_validation",
    "DecisionTreeClassifier": "trees.decision_tree",
    "DeclaredScaler": "scaling",
    "Epoch": "neural.network",
    "ExponentialLearner": "pac.exponential",
    "GradientBoostedTrees": "trees.boosted",
    "GradientBoostedTreesRegressor": "trees.boosted",
    "HypothesisClass": "pac.hypotheses",
    "KMeans": "vectors.k_means",
    "KNeighborsClassifier": "vectors.nearest_neighbours",
    "LabelPrivateNeighbors": "vectors.nearest_neighbours_labels",
    "LearnedConjunction": "statistical.conjunctions",
    "LearnedHalfspace": "statistical.halfspace",
    "LearnedLinear": "statistical.descent",
    "LearnedMeans": "statistical.means",
    "LearnedTree": "statistical.tree",
    "LinearRegression": "linear.ridge",
    "LinearSVC": "linear.svc",
    "LogisticRegression": "linear.logistic",
    "MaximumLikelihoodClassifier": "vectors.maximum_likelihood",
    "NaiveBayes": "trees.naive_bayes",
    "NeuralNetwork": "neural.network",
    "NeuralNetworkRegressor": "neural.network",
    "PCA": "vectors.principal_components",
    "Parities": "pac.boolean_classes",
    "ParityLearner": "pac.parity",
    "Pipeline": "pipeline",
    "PrivateBounds": "scaling",
    "PrivateGradients": "neural.private_gradients",
    "RandomForestClassifier": "trees.random_forest",
    "Ridge": "linear.ridge",
    "Sampled": "pac.sampled",
    "StatisticalNoise": "statistical.noise",
    "StatisticalQueryOracle": "statistical.oracle",
    "ThresholdLearner": "pac.threshold",
    "Thresholds": "pac.hypotheses",
    "accuracy_curve": "budget_curve",
    "best_of_panel": "pac.panel",
    "cross_val_score": "cross_validation",
    "cross_validate": "cross_validation",
    "descent_excess": "statistical.descent",
    "halfspace_rounds": "statistical.halfspace",
    "learn_conjunction": "statistical.conjunctions",
    "learn_halfspace": "statistical.halfspace",
    "learn_linear": "statistical.descent",
    "learn_means": "statistical.means",
    "learn_stump": "statistical.tree",
    "learn_tree": "statistical.tree",
    "tree_queries": "statistical.tree",
    "unaccounted": "foreign_tools",
}


def __getattr__(name: str) -> object:
    if name in _NAMES:
        return getattr(importlib.import_module(f"discreet.learning.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'discreet.learning' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_NAMES)
