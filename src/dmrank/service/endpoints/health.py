"""Whether the service runs, whether it can answer, and what it has counted."""

from __future__ import annotations

from starlette.responses import Response

from dmrank.service import metrics
from dmrank.service.messages import Health, Nothing
from dmrank.service.service import Service


async def live(service: Service, asked: Nothing) -> Health:
    """Say that the service runs."""
    del service, asked
    return Health("live")


async def ready(service: Service, asked: Nothing) -> Health:
    """Say that the service can answer."""
    del asked
    return Health("ready", service.served.version)


async def counted(service: Service, asked: Nothing) -> Response:
    """Return what all workers have counted, as Prometheus reads it."""
    del asked
    return Response(await service.pool.run(metrics.collected), media_type=metrics.MEDIA_TYPE)
