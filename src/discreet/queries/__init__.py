"""How it is asked: expressions, queries, SQL."""

from discreet.queries.query import Aggregate as Aggregate
from discreet.queries.query import Query as Query
from discreet.queries.sql import parse as parse
