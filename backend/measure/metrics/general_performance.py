"""General performance: the speed of a machine in crypto and Redis, as a multiple of an AWS m5.large.

Families first, so that eleven ciphers do not outvote one server.
"""

from collections.abc import Mapping
from statistics import geometric_mean
from types import MappingProxyType

from backend.foundation.errors import InvalidValue

MEGA = 1e6
# Of an AWS m5.large (Xeon Platinum 8175M), all vCPUs busy: medians of Spare Cores Inspector Data, commit
# 804d3c71ddaec2fb0fe443c77b6719bd03a96072, under CC BY-SA 4.0.
# Bytes per second of `openssl speed -evp NAME -multi N -bytes 16384`.
CRYPTO: Mapping[str, float] = MappingProxyType(
    {
        "sha256": 416.28 * MEGA,
        "sha512": 611.22 * MEGA,
        "blake2b512": 769.44 * MEGA,
        "sha3-256": 321.08 * MEGA,
        "sha3-512": 172.27 * MEGA,
        "shake128": 393.4 * MEGA,
        "shake256": 320.14 * MEGA,
        "aes-256-cbc": 1653.9 * MEGA,
        "aria-256-cbc": 132.22 * MEGA,
        "camellia-256-cbc": 214.53 * MEGA,
        "sm4-cbc": 183.27 * MEGA,
    }
)
# SET operations per second by requests in a pipeline.
REDIS: Mapping[str, float] = MappingProxyType({"p1": 69_962.0, "p16": 458_360.0})
# Requests per second by size of the file.
WEB: Mapping[str, float] = MappingProxyType({"1k": 64_606.0, "64k": 24_641.0})
# On more the web server stops growing, on ARM first.
MAX_WEB_VCPUS = 32


def general_performance(crypto: Mapping[str, float], redis: Mapping[str, float]) -> float:
    """Geometric mean of the families' ratios to m5.large (a ratio), from all parts of each family.

    Raises InvalidValue for a part that is missing or not above zero.
    """
    return geometric_mean([_family_ratio(crypto, CRYPTO), _family_ratio(redis, REDIS)])


def general_performance_with_web(general: float, web: Mapping[str, float]) -> float:
    """General performance with the web server as a third family. Raises InvalidValue as above."""
    # It is already the mean of two families.
    return geometric_mean([general, general, _family_ratio(web, WEB)])


def _family_ratio(measured: Mapping[str, float], reference: Mapping[str, float]) -> float:
    missing = [part for part in reference if not measured.get(part, 0) > 0]
    if missing:
        raise InvalidValue("general_performance", f"no figure of {', '.join(missing)}")
    return geometric_mean([measured[part] / reference[part] for part in reference])
