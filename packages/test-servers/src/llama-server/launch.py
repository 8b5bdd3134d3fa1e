"""Runs llama.cpp's own HTTP server until it receives a signal. Usage: launch.py <plan as JSON>"""

import json
import os
import signal
import sys
import threading

import xllamacpp

POOLINGS = {
    "none": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_NONE,
    "mean": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN,
    "cls": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_CLS,
    "last": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_LAST,
    "rank": xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK,
}
ERRORS_ONLY = 1


def main() -> None:
    parent = os.getppid()
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    server = xllamacpp.Server(read_parameters(json.loads(sys.argv[1])))
    print(f"listening on {server.listening_address}", flush=True)
    # A parent that was killed cannot stop this process, so it exits when its parent changes.
    while not stopping.wait(0.5) and os.getppid() == parent:
        pass
    del server


def read_parameters(plan: dict) -> xllamacpp.CommonParams:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = plan["model"]
    parameters.model_alias = {plan["alias"]}
    parameters.hostnames = [plan["host"]]
    parameters.port = 0
    parameters.n_parallel = plan["parallelSlots"]
    parameters.n_ctx = plan["contextTokens"] * plan["parallelSlots"]
    parameters.cpuparams.n_threads = plan["threads"]
    parameters.cpuparams_batch.n_threads = plan["threads"]
    parameters.embedding = plan["embeddings"]
    if plan["cacheMegabytes"] is not None:
        parameters.cache_ram_mib = plan["cacheMegabytes"]
    if plan["pooling"] is not None:
        parameters.pooling_type = POOLINGS[plan["pooling"]]
    if plan["chatTemplate"] is not None:
        parameters.chat_template = plan["chatTemplate"]
    if plan["projector"] is not None:
        parameters.mmproj.path = plan["projector"]
        parameters.mmproj_use_gpu = False
    # The default for requests without a seed, whose output would otherwise be random.
    parameters.sampling.seed = 1
    parameters.n_gpu_layers = 0
    parameters.fit_params = False
    parameters.warmup = False
    parameters.ui = False
    parameters.endpoint_metrics = True
    parameters.verbosity = ERRORS_ONLY
    return parameters


if __name__ == "__main__":
    main()
