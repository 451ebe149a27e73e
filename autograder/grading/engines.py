"""One database engine for all the times that nbgrader opens its gradebook.

nbgrader opens it a dozen times for each submission: each time with a new SQLAlchemy engine,
which compiles every statement anew, and each time it looks whether all tables are there.
An engine that is kept remembers what it compiled, and one look is enough.
"""

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import nbgrader
import nbgrader.api
from nbgrader.api import Gradebook
from sqlalchemy.orm import scoped_session, sessionmaker

KNOWN = "0.9."  # the nbgrader whose gradebook was looked at


@contextlib.contextmanager
def shared_engine() -> Iterator[None]:
    """As long as the block lasts, each gradebook keeps its engine, and is looked at once."""
    if not nbgrader.__version__.startswith(KNOWN):
        yield  # another nbgrader: slower, and right
        return
    create_engine, look_at = nbgrader.api.create_engine, Gradebook.__init__
    engine_of = functools.cache(create_engine)
    seen = set()

    def open_again(
        self: Gradebook, db_url: str, course_id: str = "default_course", authenticator: Any = None
    ) -> None:
        if (db_url, course_id) not in seen:
            look_at(self, db_url, course_id, authenticator)
            seen.add((db_url, course_id))
            return
        self.engine = engine_of(db_url, echo=False, future=True)
        session = sessionmaker(autoflush=True, bind=self.engine, future=True)
        self.db = scoped_session(session)
        self.course_id, self.authenticator = course_id, authenticator

    nbgrader.api.create_engine = engine_of
    Gradebook.__init__ = open_again
    try:
        yield
    finally:
        Gradebook.__init__ = look_at
        nbgrader.api.create_engine = create_engine
