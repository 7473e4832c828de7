"""A worker of the service: the model that is served now, and what answers are made with."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from dmrank.data.ids import Id
from dmrank.service.batching import Batcher
from dmrank.service.keys import Keys
from dmrank.service.people import Asked, Given, People
from dmrank.service.pool import Pool
from dmrank.service.problems import INVALID, ProblemError
from dmrank.service.rates import Rates
from dmrank.service.served import Served
from dmrank.service.settings import Settings
from dmrank.service.store.opening import open_store


class Service:
    """What the endpoints of a worker share.

    Parameters
    ----------
    settings : Settings
        How the service is run.
    served : Served
        The model to begin with.
    keys : Keys or None
        Who may ask; None: everybody on this machine.
    """

    def __init__(self, settings: Settings, served: Served, keys: Keys | None) -> None:
        self.settings, self.served, self.keys = settings, served, keys
        #: Requests that are being answered.
        self.answering = 0
        self.rates = Rates(settings.shared / "rates")
        self.pool = Pool()
        self.ranking_thread = ThreadPoolExecutor(1, "ranking")
        self.batcher = Batcher(self.ranking_thread, settings.most_waiting)
        store = None if settings.ratings is None else open_store(settings.ratings)
        self.stores_ratings = store is not None
        self.people = People(store, self.pool)

    def serve(self, served: Served) -> None:
        """Answer with another model from now on; what is being answered keeps the old one."""
        self.served = served
        self.people.forget()

    async def person(
        self, served: Served, user: Id | None, profile: Iterable[Given] | None
    ) -> Asked:
        """Return who is asked about: a user, or somebody by ratings."""
        if (user is None) == (profile is None):
            raise ProblemError(INVALID, "give either a user, or ratings of somebody who is none")
        if user is not None:
            return await self.people.find(served, user)
        assert profile is not None
        return await self.people.newcomer(served, profile)

    def close(self) -> None:
        """Finish what runs, and let go of everything."""
        self.pool.close()
        self.ranking_thread.shutdown()
        self.people.close()
