"""The suites Geekbench and PassMark, part by part, as Spare Cores runs them."""

from backend.domain.metrics.imported import HIGHER, LOWER, ONE_RUN, Family, made
from backend.domain.metrics.kinds import MEMORY_CV

GEEKBENCH = Family(
    "Run by Spare Cores: Geekbench 6, each workload with one thread (single) and with all (multi).",
    "A score of 2,500 is a Core i7-12700. The multi score flattens beyond some sixteen CPUs. "
    + ONE_RUN,
)
PASSMARK = Family(
    "Run by Spare Cores: PassMark PerformanceTest for Linux on all CPUs.",
    f"Not the figures that PassMark lists for a processor model. {ONE_RUN}",
)
PASSMARK_MEMORY = Family(
    PASSMARK.method,
    f"Grows little with the number of CPUs. {ONE_RUN}",
    MEMORY_CV,
    is_cpu=False,
)
GEEKBENCH_PARTS = {
    "asset_compression": "Compressing textures and shapes of a game.",
    "background_blur": "Blurring what stands behind people in a video.",
    "clang": "Compiling C sources.",
    "file_compression": "Packing and unpacking an archive of sources.",
    "hdr": "Blending photos of different exposure.",
    "horizon_detection": "Finding and straightening the horizon of a photo.",
    "html5_browser": "Rendering pages without a screen.",
    "navigation": "Routes between places on a map.",
    "object_detection": "Finding things in photos with a small neural network.",
    "object_remover": "Filling in what was cut out of a photo.",
    "pdf_renderer": "Drawing maps of large vector documents.",
    "photo_filter": "Filters and effects on photos.",
    "photo_library": "Tagging photos with a small neural network.",
    "ray_tracer": "Rendering a scene by ray tracing.",
    "structure_from_motion": "Shapes of a scene from several photos of it.",
    "text_processing": "Reading and converting documents.",
}
# Their id, our key, label, unit, definition.
PASSMARK_CPU = (
    ("cpu_mark", "passmark_cpu_mark", "CPU mark", "points", "PassMark's composite of CPU tests."),
    (
        "cpu_integer_maths_test",
        "passmark_integer_ops_per_s",
        "integer maths",
        "operations/s",
        "Additions, subtractions, multiplications and divisions of integers per second.",
    ),
    (
        "cpu_floating_point_maths_test",
        "passmark_floating_point_ops_per_s",
        "floating point",
        "operations/s",
        "Additions, subtractions, multiplications and divisions of floating point per second.",
    ),
    (
        "cpu_prime_numbers_test",
        "passmark_primes_per_s",
        "prime numbers",
        "numbers/s",
        "Prime numbers found per second.",
    ),
    (
        "cpu_string_sorting_test",
        "passmark_strings_per_s",
        "string sorting",
        "strings/s",
        "Strings sorted per second.",
    ),
    (
        "cpu_encryption_test",
        "passmark_encryption",
        "encryption",
        "MB/s",
        "Data encrypted or hashed per second, in PassMark's megabytes.",
    ),
    (
        "cpu_compression_test",
        "passmark_compression",
        "compression",
        "kB/s",
        "Data compressed per second, in PassMark's kilobytes.",
    ),
    (
        "cpu_single_threaded_test",
        "passmark_single_ops_per_s",
        "single thread",
        "operations/s",
        "Floating point, sorting and compression of one thread, per second.",
    ),
    (
        "cpu_physics_test",
        "passmark_physics_frames_per_s",
        "physics",
        "frames/s",
        "Frames of a physical simulation per second.",
    ),
    (
        "cpu_extended_instructions_test",
        "passmark_matrices_per_s",
        "extended instructions",
        "matrices/s",
        "Matrices worked on with vector instructions per second.",
    ),
)
PASSMARK_MEMORY_PARTS = (
    ("memory_mark", "passmark_memory_mark", "memory mark", "points", "PassMark's composite."),
    (
        "database_operations",
        "passmark_database_ops_per_s",
        "database",
        "operations/s",
        "Operations per second on a small database in memory.",
    ),
    (
        "memory_read_cached",
        "passmark_memory_read_cached",
        "memory read, cached",
        "MB/s",
        "Data read per second, in PassMark's megabytes.",
    ),
    (
        "memory_read_uncached",
        "passmark_memory_read_uncached",
        "memory read, uncached",
        "MB/s",
        "Data read per second from a block of 512 MB, in PassMark's megabytes.",
    ),
    (
        "memory_write",
        "passmark_memory_write",
        "memory write",
        "MB/s",
        "Data written per second to a block of 512 MB, in PassMark's megabytes.",
    ),
    (
        "memory_latency",
        "passmark_memory_latency_ns",
        "memory latency",
        "ns",
        "Time of one dependent load from a block of 512 MB.",
    ),
)

SUITES = (
    made(
        GEEKBENCH,
        "geekbench_score",
        "Geekbench 6",
        "points",
        "The composite of all workloads of Geekbench 6.",
        "multi",
    ),
    *(
        made(
            GEEKBENCH,
            f"geekbench_{name}_score",
            f"Geekbench 6, {name.replace('_', ' ')}",
            "points",
            definition,
            "multi",
        )
        for name, definition in GEEKBENCH_PARTS.items()
    ),
    *(
        made(PASSMARK, key, f"PassMark, {label}", unit, definition)
        for _, key, label, unit, definition in PASSMARK_CPU
    ),
    *(
        made(
            PASSMARK_MEMORY,
            key,
            f"PassMark, {label}",
            unit,
            definition,
            better=LOWER if unit == "ns" else HIGHER,
        )
        for _, key, label, unit, definition in PASSMARK_MEMORY_PARTS
    ),
)
