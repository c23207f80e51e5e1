"""HTTP in and out: `/predict`, `/score`, OpenAI's chat protocol, `/health`, `/metrics`, `/reload`.

A request comes in as JSON and leaves as JSON or a stream; between them stands `server/service.py`. Read `http_api.py`
first.
"""
