"""What is asked about: domains, tables, aggregations and the engines that run them."""

from discreet.data import engines as engines
from discreet.data.columns import Boolean as Boolean
from discreet.data.columns import Categorical as Categorical
from discreet.data.columns import Column as Column
from discreet.data.columns import Date as Date
from discreet.data.columns import Identifier as Identifier
from discreet.data.columns import Integer as Integer
from discreet.data.columns import Real as Real
from discreet.data.columns import Text as Text
from discreet.data.columns import Timestamp as Timestamp
from discreet.data.domain import Domain as Domain
from discreet.data.graph import Graph as Graph
from discreet.data.histogram import Histogram as Histogram
from discreet.data.records import Records as Records
from discreet.data.table import Table as Table
from discreet.data.text_file import TextFile as TextFile
