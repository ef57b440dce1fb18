"""Lower bounds, and tables of what is known."""

from discreet.bounds.capacity import Capacity as Capacity
from discreet.bounds.capacity import capacity as capacity
from discreet.bounds.classifiers import NetworkCost as NetworkCost
from discreet.bounds.classifiers import agreement as agreement
from discreet.bounds.classifiers import joint_agreement as joint_agreement
from discreet.bounds.classifiers import network_cost as network_cost
from discreet.bounds.communication import ListProtocol as ListProtocol
from discreet.bounds.communication import list_length as list_length
from discreet.bounds.communication import message_bits as message_bits
from discreet.bounds.communication import rows_enough as rows_enough
from discreet.bounds.communication import rows_needed as rows_needed
from discreet.bounds.interval_table import interval_table as interval_table
from discreet.bounds.marginals_table import marginals_table as marginals_table
from discreet.bounds.packing import packing as packing
from discreet.bounds.packing import packing_error as packing_error
from discreet.bounds.samples import SampleSize as SampleSize
from discreet.bounds.samples import SampleTable as SampleTable
from discreet.bounds.samples import samples as samples
from discreet.bounds.table import BoundsTable as BoundsTable
from discreet.bounds.table import Entry as Entry
from discreet.bounds.vapnik_chervonenkis import concepts as concepts
from discreet.bounds.vapnik_chervonenkis import littlestone_dimension as littlestone_dimension
from discreet.bounds.vapnik_chervonenkis import sauer as sauer
from discreet.bounds.vapnik_chervonenkis import shattered as shattered
from discreet.bounds.vapnik_chervonenkis import vc_dimension as vc_dimension
