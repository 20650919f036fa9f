"""Rackrate from another machine.

`rackrate_client.generated` has every operation of the API, typed; `Rackrate` has what people ask for
most.
"""

from rackrate_client.connection import Rackrate
from rackrate_client.sending import Refused
from rackrate_client.tables import Rows

__all__ = ["Rackrate", "Refused", "Rows"]
