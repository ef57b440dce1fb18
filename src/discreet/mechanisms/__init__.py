from discreet.mechanisms.laplace import Laplace as Laplace
