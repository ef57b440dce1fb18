"""Private learners: those of the theory, and the estimators people use.

Names are loaded when first used: scikit-learn and PyTorch are imported by the modules that need them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.learning.amplified_learner import Amplified as Amplified
    from discreet.learning.bit_rows import BitRows as BitRows
    from discreet.learning.boolean_classes import Conjunctions as Conjunctions
    from discreet.learning.boolean_classes import Parities as Parities
    from discreet.learning.boosted_learner import BoostedLearner as BoostedLearner
    from discreet.learning.boosted_trees import GradientBoostedTrees as GradientBoostedTrees
    from discreet.learning.boosted_trees import GradientBoostedTreesRegressor as GradientBoostedTreesRegressor
    from discreet.learning.budget_curve import AccuracyCurve as AccuracyCurve
    from discreet.learning.budget_curve import accuracy_curve as accuracy_curve
    from discreet.learning.cross_validation import CrossValidated as CrossValidated
    from discreet.learning.cross_validation import cross_val_score as cross_val_score
    from discreet.learning.cross_validation import cross_validate as cross_validate
    from discreet.learning.decision_tree import DecisionTreeClassifier as DecisionTreeClassifier
    from discreet.learning.exponential_learner import ExponentialLearner as ExponentialLearner
    from discreet.learning.hypotheses import HypothesisClass as HypothesisClass
    from discreet.learning.hypotheses import Thresholds as Thresholds
    from discreet.learning.k_means import KMeans as KMeans
    from discreet.learning.logistic import LogisticRegression as LogisticRegression
    from discreet.learning.maximum_likelihood import MaximumLikelihoodClassifier as MaximumLikelihoodClassifier
    from discreet.learning.naive_bayes import NaiveBayes as NaiveBayes
    from discreet.learning.nearest_neighbours import KNeighborsClassifier as KNeighborsClassifier
    from discreet.learning.nearest_neighbours_labels import LabelPrivateNeighbors as LabelPrivateNeighbors
    from discreet.learning.neural_network import Epoch as Epoch
    from discreet.learning.neural_network import NeuralNetwork as NeuralNetwork
    from discreet.learning.neural_network import NeuralNetworkRegressor as NeuralNetworkRegressor
    from discreet.learning.panel import best_of_panel as best_of_panel
    from discreet.learning.parity_learner import ParityLearner as ParityLearner
    from discreet.learning.pipeline import Pipeline as Pipeline
    from discreet.learning.principal_components import PCA as PCA
    from discreet.learning.private_gradients import PrivateGradients as PrivateGradients
    from discreet.learning.random_forest import RandomForestClassifier as RandomForestClassifier
    from discreet.learning.ridge import LinearRegression as LinearRegression
    from discreet.learning.ridge import Ridge as Ridge
    from discreet.learning.sampled_learner import Sampled as Sampled
    from discreet.learning.scaling import DeclaredScaler as DeclaredScaler
    from discreet.learning.scaling import PrivateBounds as PrivateBounds
    from discreet.learning.statistical_conjunctions import LearnedConjunction as LearnedConjunction
    from discreet.learning.statistical_conjunctions import learn_conjunction as learn_conjunction
    from discreet.learning.statistical_descent import LearnedLinear as LearnedLinear
    from discreet.learning.statistical_descent import descent_excess as descent_excess
    from discreet.learning.statistical_descent import learn_linear as learn_linear
    from discreet.learning.statistical_halfspace import LearnedHalfspace as LearnedHalfspace
    from discreet.learning.statistical_halfspace import halfspace_rounds as halfspace_rounds
    from discreet.learning.statistical_halfspace import learn_halfspace as learn_halfspace
    from discreet.learning.statistical_means import LearnedMeans as LearnedMeans
    from discreet.learning.statistical_means import learn_means as learn_means
    from discreet.learning.statistical_noise import StatisticalNoise as StatisticalNoise
    from discreet.learning.statistical_oracle import StatisticalQueryOracle as StatisticalQueryOracle
    from discreet.learning.statistical_source import AggregateSource as AggregateSource
    from discreet.learning.statistical_tree import LearnedTree as LearnedTree
    from discreet.learning.statistical_tree import learn_stump as learn_stump
    from discreet.learning.statistical_tree import learn_tree as learn_tree
    from discreet.learning.statistical_tree import tree_queries as tree_queries
    from discreet.learning.svc import LinearSVC as LinearSVC
    from discreet.learning.threshold_learner import ThresholdLearner as ThresholdLearner

_NAMES = {
    "AccuracyCurve": "budget_curve",
    "AggregateSource": "statistical_source",
    "Amplified": "amplified_learner",
    "BitRows": "bit_rows",
    "BoostedLearner": "boosted_learner",
    "Conjunctions": "boolean_classes",
    "CrossValidated": "cross_validation",
    "DecisionTreeClassifier": "decision_tree",
    "DeclaredScaler": "scaling",
    "Epoch": "neural_network",
    "ExponentialLearner": "exponential_learner",
    "GradientBoostedTrees": "boosted_trees",
    "GradientBoostedTreesRegressor": "boosted_trees",
    "HypothesisClass": "hypotheses",
    "KMeans": "k_means",
    "KNeighborsClassifier": "nearest_neighbours",
    "LabelPrivateNeighbors": "nearest_neighbours_labels",
    "LearnedConjunction": "statistical_conjunctions",
    "LearnedHalfspace": "statistical_halfspace",
    "LearnedLinear": "statistical_descent",
    "LearnedMeans": "statistical_means",
    "LearnedTree": "statistical_tree",
    "LinearRegression": "ridge",
    "LinearSVC": "svc",
    "LogisticRegression": "logistic",
    "MaximumLikelihoodClassifier": "maximum_likelihood",
    "NaiveBayes": "naive_bayes",
    "NeuralNetwork": "neural_network",
    "NeuralNetworkRegressor": "neural_network",
    "PCA": "principal_components",
    "Parities": "boolean_classes",
    "ParityLearner": "parity_learner",
    "Pipeline": "pipeline",
    "PrivateBounds": "scaling",
    "PrivateGradients": "private_gradients",
    "RandomForestClassifier": "random_forest",
    "Ridge": "ridge",
    "Sampled": "sampled_learner",
    "StatisticalNoise": "statistical_noise",
    "StatisticalQueryOracle": "statistical_oracle",
    "ThresholdLearner": "threshold_learner",
    "Thresholds": "hypotheses",
    "accuracy_curve": "budget_curve",
    "best_of_panel": "panel",
    "cross_val_score": "cross_validation",
    "cross_validate": "cross_validation",
    "descent_excess": "statistical_descent",
    "halfspace_rounds": "statistical_halfspace",
    "learn_conjunction": "statistical_conjunctions",
    "learn_halfspace": "statistical_halfspace",
    "learn_linear": "statistical_descent",
    "learn_means": "statistical_means",
    "learn_stump": "statistical_tree",
    "learn_tree": "statistical_tree",
    "tree_queries": "statistical_tree",
}


def __getattr__(name: str) -> object:
    if name in _NAMES:
        return getattr(importlib.import_module(f"discreet.learning.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'discreet.learning' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_NAMES)
