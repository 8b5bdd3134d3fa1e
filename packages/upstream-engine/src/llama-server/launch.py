"""Runs llama.cpp's own HTTP server on a UNIX socket until the process that started it exits. The plan is read as JSON from
the first line of standard input, because it contains the API key and command lines are visible to all users."""

import json
import os
import sys

import xllamacpp

ERRORS_ONLY = 1
CACHE_TYPES = {
    "f16": xllamacpp.ggml_type.GGML_TYPE_F16,
    "q8_0": xllamacpp.ggml_type.GGML_TYPE_Q8_0,
    "q4_0": xllamacpp.ggml_type.GGML_TYPE_Q4_0,
}
FLASH_ATTENTION = {
    None: xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_AUTO,
    True: xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    False: xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}


def main() -> None:
    plan = json.loads(sys.stdin.readline())
    server = xllamacpp.Server(read_parameters(plan))
    # Standard input closes when the parent process exits, even if it is killed.
    while sys.stdin.readline():
        pass
    del server
    os._exit(0)


def read_parameters(plan: dict) -> xllamacpp.CommonParams:
    parameters = xllamacpp.CommonParams()
    parameters.model.path = plan["modelPath"]
    parameters.hostnames = [plan["socketPath"]]
    parameters.api_keys = [plan["key"]]
    parameters.n_threads_http = plan["connections"]
    parameters.timeout_read = plan["idleSeconds"]
    parameters.timeout_write = plan["idleSeconds"]
    parameters.endpoint_slots = True
    parameters.ui = False
    parameters.verbosity = ERRORS_ONLY
    read_sizes(parameters, plan)
    read_weights(parameters, plan)
    read_purpose(parameters, plan["purpose"])
    return parameters


def read_sizes(parameters: xllamacpp.CommonParams, plan: dict) -> None:
    parameters.n_parallel = plan["slots"]
    parameters.n_ctx = plan["contextTokens"] * plan["slots"]
    parameters.n_batch = plan["batchTokens"]
    parameters.n_ubatch = plan["stepTokens"]
    parameters.cpuparams.n_threads = plan["threads"]
    parameters.cpuparams_batch.n_threads = plan["threads"]
    parameters.kv_unified = False
    parameters.ctx_shift = False
    parameters.fit_params = False
    parameters.warmup = False
    # Both would cache prompts where other clients' requests find them.
    parameters.cache_ram_mib = 0
    parameters.cache_idle_slots = False


def read_weights(parameters: xllamacpp.CommonParams, plan: dict) -> None:
    if plan["gpuLayers"] is not None:
        parameters.n_gpu_layers = plan["gpuLayers"]
    parameters.cache_type_k = CACHE_TYPES[plan["cacheType"]]
    parameters.cache_type_v = CACHE_TYPES[plan["cacheType"]]
    parameters.flash_attn_type = FLASH_ATTENTION[plan["flashAttention"]]
    if not plan["memoryMap"]:
        parameters.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    parameters.lora_adapters = [
        xllamacpp.CommonAdapterLoraInfo(each["path"], each["scale"]) for each in plan["adapters"]
    ]
    if plan["projectorPath"] is not None:
        parameters.mmproj.path = plan["projectorPath"]
        parameters.mmproj_use_gpu = plan["gpuLayers"] != 0


def read_purpose(parameters: xllamacpp.CommonParams, purpose: str) -> None:
    parameters.embedding = purpose != "generate"
    if purpose == "rank":
        parameters.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_RANK


if __name__ == "__main__":
    main()
