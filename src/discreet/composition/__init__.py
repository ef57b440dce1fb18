"""Many mechanisms, one guarantee: theorems, accounting, amplification, filters, calibration."""

from discreet.composition.amplification import sampling_rate as sampling_rate
from discreet.composition.amplification import shuffled as shuffled
from discreet.composition.amplification import subsampled as subsampled
from discreet.composition.budget import NoiseForecast as NoiseForecast
from discreet.composition.budget import joint_failure as joint_failure
from discreet.composition.budget import noise_forecasts as noise_forecasts
from discreet.composition.budget import split as split
from discreet.composition.choose import best as best
from discreet.composition.choose import calibrate as calibrate
from discreet.composition.concentrated import concentrated as concentrated
from discreet.composition.concentrated import renyi_curve as renyi_curve
from discreet.composition.export import loss_columns as loss_columns
from discreet.composition.export import profile as profile
from discreet.composition.export import renyi_columns as renyi_columns
from discreet.composition.export import write_csv as write_csv
from discreet.composition.filter import Lanes as Lanes
from discreet.composition.filter import PrivacyFilter as PrivacyFilter
from discreet.composition.numerical import numerical as numerical
from discreet.composition.odometer import Odometer as Odometer
from discreet.composition.optimal import optimal as optimal
from discreet.composition.parallel import parallel as parallel
from discreet.composition.price import Price as Price
from discreet.composition.price import price as price
from discreet.composition.theorems import advanced as advanced
from discreet.composition.theorems import basic as basic
from discreet.composition.theorems import closed_form_share as closed_form_share
