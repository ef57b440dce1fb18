"""Trees, forests, boosted trees and naive Bayes: models made of counts."""
