"""A private count with its error bar, paid for from a budget before it is drawn."""

# --8<-- [start:body]
from discreet import ApproxDP
from discreet.composition import PrivacyFilter
from discreet.mechanisms import Laplace

budget = PrivacyFilter(ApproxDP(1.0, 1e-6))
count = Laplace(epsilon=0.1, sensitivity=1)  # one patient more or less changes the count by one
budget.spend(count.event())  # raises BudgetExhausted, before anything is drawn
answer = count(1234)  # the true count goes in, exact discrete noise from the system's generator is added

print(f"{answer}, within {count.accuracy(beta=0.05)} of the truth with probability 0.95")
print(f"left: {budget.remaining}")
# --8<-- [end:body]
