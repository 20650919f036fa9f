"""Command line of ./rackrate."""

import argparse
import sys
from pathlib import Path

from launcher import checks, client, commands, images, inventory
from launcher.console import LauncherError
from launcher.paths import state_directory
from launcher.state import StackState
from launcher.supervisor import heed_interrupts

# As shells say it of a program that Ctrl-C ended: 128 + SIGINT.
INTERRUPTED = 130

# What manage.py reads itself.
PASSED_ON = ("manage", "user", "backup", "restore")


def parser() -> argparse.ArgumentParser:
    """Every command with its options."""
    top = argparse.ArgumentParser(prog="./rackrate", description=__doc__)
    sub = top.add_subparsers(dest="command", required=True, metavar="command")
    demo = sub.add_parser("demo", help="set up, benchmark this machine, serve until Ctrl-C")
    demo.add_argument("--once", action="store_true", help="end after the benchmark")
    demo.add_argument("--no-benchmark", action="store_true", help="only serve")
    demo.add_argument(
        "--install-tools",
        action="store_true",
        help="unpack stress-ng and Redis in this checkout where they are absent, without asking",
    )
    up = sub.add_parser("up", help="set up and serve until Ctrl-C")
    for command in (demo, up):
        command.add_argument(
            "--port", type=port, default=8000, help="8000 unless given; 0: a free one"
        )
    sub.add_parser(
        "user",
        help="create NAME --role viewer|analyst|operator|admin, link NAME, list",
        add_help=False,
    )
    sub.add_parser("backup", help="DIRECTORY [--keep N]: copy the database", add_help=False)
    sub.add_parser("restore", help="FILE [--replace]: put a copy in its place", add_help=False)
    sub.add_parser("stop", help="stop the stack of this checkout")
    sub.add_parser("check", help="format, lint, types, imports, migrations, domain tests")
    test = sub.add_parser("test", help="the whole test suite with real services and a real browser")
    test.add_argument("--fast", action="store_true", help="only tests that need no service")
    test.add_argument("--deep", action="store_true", help="long fuzz and property runs as well")
    test.add_argument(
        "--coverage", action="store_true", help="of the whole suite: what it covers, as CI asks"
    )
    bench = sub.add_parser("bench", help="performance figures as JSON")
    bench.add_argument("name")
    chaos = sub.add_parser(
        "chaos", help="kill and cut everything for twenty minutes, and show what came of it"
    )
    chaos.add_argument(
        "--kills",
        type=at_least_one,
        metavar="N",
        help="how often the worker is killed, spread over every state of a run (default: 104)",
    )
    materials = sub.add_parser(
        "sbom", help="what others wrote of what runs here, as CycloneDX JSON"
    )
    materials.add_argument("--notice", action="store_true", help="names and licences, for NOTICE")
    sub.add_parser(
        "audit-dependencies",
        help="ask an advisory database about every library; 1: faults are known, 3: none answers",
    )
    bases = sub.add_parser(
        "images", help="base images of the containers; 1: one has no digest that pins it"
    )
    bases.add_argument("--pin", action="store_true", help="write what the registries have now")
    package = sub.add_parser("client", help="make the package for other machines, rackrate-client")
    package.add_argument("--output", type=Path, default=Path("dist"), help="folder of the wheel")
    sub.add_parser("screenshots", help="take the documentation's pictures again")
    sub.add_parser("manage", help="manage.py in the environment", add_help=False)
    return top


def port(text: str) -> int:
    """A port number, or 0 for a free one."""
    number = int(text)
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError("a port is between 0 and 65535")
    return number


def at_least_one(text: str) -> int:
    """A number of times."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("once is the least")
    return number


def run(arguments: list[str]) -> int:
    """Run one command; its exit status."""
    # Before any parsing: options behind these belong to Django's command, --help included.
    if arguments and arguments[0] in PASSED_ON:
        return _pass_on(arguments)
    # What is left over is pytest's, of `test` alone.
    options, rest = parser().parse_known_args(arguments)
    if rest and options.command != "test":
        parser().error(f"unknown: {' '.join(rest)}")
    match options.command:
        case "up":
            return commands.serve("up", options.port, benchmark=False, once=False)
        case "demo":
            return commands.serve(
                "demo",
                options.port,
                benchmark=not options.no_benchmark,
                once=options.once,
                install_tools=options.install_tools,
            )
        case "stop":
            return commands.stop()
        case "check":
            return checks.check(StackState(state_directory()))
        case "test":
            state = StackState(state_directory())
            return checks.test(
                state,
                rest,
                is_fast=options.fast,
                is_deep=options.deep,
                is_covered=options.coverage,
            )
        case "bench":
            return commands.bench(options.name)
        case "chaos":
            return checks.chaos(StackState(state_directory()), kills=options.kills)
        case _:
            return _run_tool(options)


def _run_tool(options: argparse.Namespace) -> int:
    """Things made of this checkout, or said of it."""
    match options.command:
        case "sbom":
            return inventory.sbom(is_notice=options.notice)
        case "audit-dependencies":
            return inventory.audit_dependencies()
        case "images":
            return images.images(is_pinning=options.pin)
        case "client":
            return client.build(options.output)
        case _:
            return commands.screenshots()


def _pass_on(arguments: list[str]) -> int:
    match arguments[0]:
        case "user":
            return commands.user(arguments)
        case "restore":
            return commands.restore(arguments)
        case "backup":
            return commands.manage(arguments)
        case _:
            return commands.manage(arguments[1:])


def main() -> int:
    """Run and turn what a person can mend into one sentence."""
    heed_interrupts()
    try:
        return run(sys.argv[1:])
    except LauncherError as problem:
        print(f"rackrate: {problem}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        print(f"rackrate: {error}.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
