"""The inference server as a Ray Serve deployment, for `benchmarks/serving_nodes.py`: the same application, engine and
policy behind Serve's own proxy, in a Ray of this machine alone.

    pip install 'ray[serve]' && python -m benchmarks.serve_deployment PORT FOLDER
"""

import os
import signal
import sys
from pathlib import Path

import fastapi

from common.ray_cluster.settings import prepare


def application(folder: Path) -> fastapi.FastAPI:
    """Built in the replica."""
    from common.options.flags import narrowed
    from server.config import ServerConfig
    from server.engine.sampling import SamplingParams
    from server.hf_online_server import first_engine, load_engine
    from server.protocols.http_api import create_app
    from server.service import Service

    config = ServerConfig(temperature=0)
    service = Service(
        first_engine(config, folder),
        narrowed(SamplingParams, config),
        model_name=folder.name,
        load=lambda other, budget: load_engine(config, other, budget),
        timeout_s=config.request_timeout_s,
        read_ahead=config.read_ahead,
    )
    return create_app(service, lambda: None)


def main(port: int, folder: Path) -> None:
    """Serve until a signal."""
    prepare("local", "the benchmark")
    from ray import serve

    from common.ray_cluster import cluster

    cluster.join("local", "the benchmark")
    serve.start(http_options={"host": "127.0.0.1", "port": port})
    needs = {"num_cpus": 1, "runtime_env": {"env_vars": {"OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}}}
    deployed = serve.deployment(
        serve.ingress(lambda: application(folder))(),
        max_ongoing_requests=16,
        max_queued_requests=256,
        ray_actor_options=needs,
    )
    serve.run(deployed.bind())
    signal.pause()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]).resolve())
