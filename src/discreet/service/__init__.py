"""Several people, one curator, over HTTP: routes, access, running, the console and the client."""

from discreet.service.client import Client as Client
