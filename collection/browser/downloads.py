"""What a page downloads, and when it has had enough."""

from typing import Any

MAX_DOWNLOAD_MB = 50.0


class Downloads:
    """Bytes of all downloads of one page, fed with its DevTools events."""

    def __init__(self, max_mb: float):
        self._most = max_mb * 1e6
        self._received: dict[str, float] = {}

    def exceeded_by(self, method: str, params: dict[str, Any]) -> str:
        """The id of the download that takes the page over its limit and must be cancelled, else ""."""
        if method != "Page.downloadProgress":
            return ""
        download = params["guid"]
        announced = params["totalBytes"] if params["state"] == "inProgress" else 0.0  # 0 where the server does not say
        self._received[download] = max(params["receivedBytes"], announced)
        is_over = sum(self._received.values()) > self._most
        if params["state"] != "inProgress" or not is_over:
            return ""
        self._received[download] = params["receivedBytes"]
        return download
