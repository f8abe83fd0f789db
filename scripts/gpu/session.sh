# What one session on a lent machine runs, by part; sourced after setup.sh. Every part has its own time limit, so that a
# stuck one does not take the others along, and writes what it finds at once.
#
#   . scripts/gpu/setup.sh && . scripts/gpu/session.sh && session OUT conformance tests gpu cpu
results=/tmp/results
mkdir -p "$results"

part_conformance() { timeout 240 scripts/conformance --jobs 15 --out "$results/certification" | tail -40; }
part_tests() {
    timeout 400 "$PTXSPEC_PYTHON" -P -m pytest tests/gpu tests/device/test_gpu.py tests/docs/test_getting_started.py -m gpu -q -rs -p no:cacheprovider --tb=short \
        --deselect tests/gpu/test_gpu_conformance.py::test_a_spread_sample_agrees_with_the_hardware
}
part_quick() { timeout 240 scripts/bench gpu --quick; }
part_gpu() {
    timeout 400 scripts/bench gpu_copy gpu_transpose gpu_rows gpu_exchange gpu_launch --out "$results/benchmarks"
}
part_tiles() { timeout 540 scripts/bench gpu_tiles_cached gpu_tiles --out "$results/benchmarks"; }
part_gradients() { timeout 300 scripts/bench gpu_gradients --out "$results/benchmarks"; }
part_latency() { timeout 240 scripts/bench tile_latency --out "$results/benchmarks"; }
part_launch() { timeout 120 scripts/bench gpu_launch --out "$results/benchmarks"; }
part_cpu() { timeout 420 scripts/bench imports checks proofs emission latency simulator --out "$results/benchmarks"; }

session() { # session OUT PART...
    local out=$1 part begun
    shift
    for part in "$@"; do
        begun=$SECONDS
        echo "##### $part"
        "part_$part" >"$results/$part.log" 2>&1
        echo "status $? after $((SECONDS - begun)) s"
        tail -c 2500 "$results/$part.log"
        tar -cJf "$out/results.tar.xz" -C "$results" .
    done
}
