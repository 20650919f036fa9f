"""The suites Geekbench and PassMark, part by part, as Spare Cores runs them."""

from backend.foundation.texts import text as _
from backend.measure.metrics.imported import HIGHER, LOWER, ONE_RUN, Family, made
from backend.measure.metrics.kinds import MEMORY_CV

GEEKBENCH = Family(
    _(
        "Run by Spare Cores: Geekbench 6, each workload with one thread (single) and with all (multi)."
    ),
    _(
        "A score of 2,500 is a Core i7-12700. The multi score flattens beyond some sixteen CPUs. "
        "{one_run}",
        one_run=ONE_RUN,
    ),
)
PASSMARK = Family(
    _("Run by Spare Cores: PassMark PerformanceTest for Linux on all CPUs."),
    _("Not the figures that PassMark lists for a processor model. {one_run}", one_run=ONE_RUN),
)
PASSMARK_MEMORY = Family(
    PASSMARK.method,
    _("Grows little with the number of CPUs. {one_run}", one_run=ONE_RUN),
    MEMORY_CV,
    is_cpu=False,
)
GEEKBENCH_PARTS = {
    "asset_compression": _("Compressing textures and shapes of a game."),
    "background_blur": _("Blurring the background behind people in a video."),
    "clang": _("Compiling C sources."),
    "file_compression": _("Packing and unpacking an archive of sources."),
    "hdr": _("Blending photos of different exposure."),
    "horizon_detection": _("Finding and straightening the horizon of a photo."),
    "html5_browser": _("Rendering pages without a screen."),
    "navigation": _("Routes between places on a map."),
    "object_detection": _("Finding things in photos with a small neural network."),
    "object_remover": _("Filling in what was cut out of a photo."),
    "pdf_renderer": _("Drawing maps of large vector documents."),
    "photo_filter": _("Filters and effects on photos."),
    "photo_library": _("Tagging photos with a small neural network."),
    "ray_tracer": _("Rendering a scene by ray tracing."),
    "structure_from_motion": _("Shapes of a scene from several photos of it."),
    "text_processing": _("Reading and converting documents."),
}
# Their id, our key, label, unit, definition.
PASSMARK_CPU = (
    (
        "cpu_mark",
        "passmark_cpu_mark",
        _("PassMark, CPU mark"),
        _("points"),
        _("PassMark's composite of CPU tests."),
    ),
    (
        "cpu_integer_maths_test",
        "passmark_integer_ops_per_s",
        _("PassMark, integer maths"),
        _("operations/s"),
        _("Additions, subtractions, multiplications and divisions of integers per second."),
    ),
    (
        "cpu_floating_point_maths_test",
        "passmark_floating_point_ops_per_s",
        _("PassMark, floating point"),
        _("operations/s"),
        _("Additions, subtractions, multiplications and divisions of floating point per second."),
    ),
    (
        "cpu_prime_numbers_test",
        "passmark_primes_per_s",
        _("PassMark, prime numbers"),
        _("numbers/s"),
        _("Prime numbers found per second."),
    ),
    (
        "cpu_string_sorting_test",
        "passmark_strings_per_s",
        _("PassMark, string sorting"),
        _("strings/s"),
        _("Strings sorted per second."),
    ),
    (
        "cpu_encryption_test",
        "passmark_encryption",
        _("PassMark, encryption"),
        "MB/s",
        _("Data encrypted or hashed per second, in PassMark's megabytes."),
    ),
    (
        "cpu_compression_test",
        "passmark_compression",
        _("PassMark, compression"),
        "kB/s",
        _("Data compressed per second, in PassMark's kilobytes."),
    ),
    (
        "cpu_single_threaded_test",
        "passmark_single_ops_per_s",
        _("PassMark, single thread"),
        _("operations/s"),
        _("Floating point, sorting and compression of one thread, per second."),
    ),
    (
        "cpu_physics_test",
        "passmark_physics_frames_per_s",
        _("PassMark, physics"),
        _("frames/s"),
        _("Frames of a physical simulation per second."),
    ),
    (
        "cpu_extended_instructions_test",
        "passmark_matrices_per_s",
        _("PassMark, extended instructions"),
        _("matrices/s"),
        _("Matrices worked on with vector instructions per second."),
    ),
)
PASSMARK_MEMORY_PARTS = (
    (
        "memory_mark",
        "passmark_memory_mark",
        _("PassMark, memory mark"),
        _("points"),
        _("PassMark's composite."),
    ),
    (
        "database_operations",
        "passmark_database_ops_per_s",
        _("PassMark, database"),
        _("operations/s"),
        _("Operations per second on a small database in memory."),
    ),
    (
        "memory_read_cached",
        "passmark_memory_read_cached",
        _("PassMark, memory read, cached"),
        "MB/s",
        _("Data read per second, in PassMark's megabytes."),
    ),
    (
        "memory_read_uncached",
        "passmark_memory_read_uncached",
        _("PassMark, memory read, uncached"),
        "MB/s",
        _("Data read per second from a block of 512 MB, in PassMark's megabytes."),
    ),
    (
        "memory_write",
        "passmark_memory_write",
        _("PassMark, memory write"),
        "MB/s",
        _("Data written per second to a block of 512 MB, in PassMark's megabytes."),
    ),
    (
        "memory_latency",
        "passmark_memory_latency_ns",
        _("PassMark, memory latency"),
        "ns",
        _("Time of one dependent load from a block of 512 MB."),
    ),
)

SUITES = (
    made(
        GEEKBENCH,
        "geekbench_score",
        "Geekbench 6",
        _("points"),
        _("The composite of all workloads of Geekbench 6."),
        "multi",
    ),
    *(
        made(
            GEEKBENCH,
            f"geekbench_{name}_score",
            f"Geekbench 6, {name.replace('_', ' ')}",
            _("points"),
            definition,
            "multi",
        )
        for name, definition in GEEKBENCH_PARTS.items()
    ),
    *(
        made(PASSMARK, key, label, unit, definition)
        for _theirs, key, label, unit, definition in PASSMARK_CPU
    ),
    *(
        made(
            PASSMARK_MEMORY,
            key,
            label,
            unit,
            definition,
            better=LOWER if unit == "ns" else HIGHER,
        )
        for _theirs, key, label, unit, definition in PASSMARK_MEMORY_PARTS
    ),
)
