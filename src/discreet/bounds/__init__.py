"""Lower bounds, and tables of what is known."""

from discreet.bounds.capacity import Capacity as Capacity
from discreet.bounds.capacity import capacity as capacity
from discreet.bounds.interval_table import interval_table as interval_table
from discreet.bounds.marginals_table import marginals_table as marginals_table
from discreet.bounds.packing import packing as packing
from discreet.bounds.packing import packing_error as packing_error
from discreet.bounds.table import BoundsTable as BoundsTable
from discreet.bounds.table import Entry as Entry
