"""Framed output of general.sh: Redis with each pipeline, then OpenSSL with each algorithm."""

from collections.abc import Iterator, Mapping, Sequence

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.metrics.general_performance import CRYPTO, REDIS, general_performance
from backend.measure.readers import ParsedSample, openssl, redis
from backend.measure.readers.frames import Section, counts, key_values, sections
from backend.measure.stats import OTHER_METHOD

TOOL = "general"
METRIC, VARIANT, UNIT = "general_performance", "standard", "× m5.large"
CRYPTO_METRIC = "openssl_bytes_per_s"


def parse(text: str) -> list[ParsedSample]:
    """general_performance and the figures that it is the mean of. Raises ProbeError."""
    tests = list(_tests(sections(TOOL, check_text(TOOL, text))))
    if len(tests) != len(REDIS) + 1:
        raise ProbeError(TOOL, f"{len(tests)} tests instead of {len(REDIS) + 1}", 1)
    stores = [redis.read_redis(test) for test in tests[:-1]]
    ciphers = _ciphers(tests[-1])
    redis_rates = {sample.variant: sample.value for sample in stores}
    crypto_rates = dict(zip(CRYPTO, (sample.value for sample in ciphers), strict=True))
    if set(redis_rates) != set(REDIS):
        raise ProbeError(TOOL, f"pipelines {', '.join(redis_rates)}", 1)
    tools = (str(sample.parameters["tool"]) for sample in (ciphers[0], stores[0]))
    general = ParsedSample(
        metric=METRIC,
        variant=VARIANT,
        value=general_performance(crypto_rates, redis_rates),
        unit=UNIT,
        parameters={"threads": stores[0].parameters["threads"], "tool": ", ".join(tools)},
        flags=(OTHER_METHOD,),
    )
    return [general, *stores, *ciphers]


def _tests(parts: Sequence[Section]) -> Iterator[list[Section]]:
    """The sections of each test, which begin with its conditions."""
    test: list[Section] = []
    for part in parts:
        if part.name == redis.CONDITIONS and test:
            yield test
            test = []
        test.append(part)
    yield test


def _ciphers(test: Sequence[Section]) -> list[ParsedSample]:
    """A sample of each algorithm, in the order of CRYPTO."""
    conditions, *outputs = test
    values = key_values(TOOL, conditions, ("threads", "seconds", "tool"))
    numbers = counts(TOOL, conditions, values, ("threads", "seconds"))
    by_name = {output.name: output for output in outputs if output.exit_code == 0}
    if len(by_name) != len(outputs) or set(by_name) != set(CRYPTO):
        raise ProbeError(TOOL, "not each algorithm once", conditions.first_line)
    return [_cipher(by_name[name], numbers, values["tool"][:40]) for name in CRYPTO]


def _cipher(output: Section, numbers: Mapping[str, int], tool: str) -> ParsedSample:
    # Blank lines, so that an error names the line of the whole text.
    speed = openssl.read_speed("\n" * (output.first_line - 1) + output.text, output.name)
    if speed.processes != numbers["threads"]:
        detail = f"{speed.processes} processes, and {numbers['threads']} asked for"
        raise ProbeError(TOOL, detail, output.first_line)
    # The spelling of the published figures: ciphers in capitals.
    name = output.name.upper() if output.name.endswith("-cbc") else output.name
    return ParsedSample(
        metric=CRYPTO_METRIC,
        variant=f"{name},{openssl.BLOCK_BYTES}",
        value=speed.bytes_per_s,
        unit=openssl.UNIT,
        parameters={**numbers, "tool": tool},
    )
