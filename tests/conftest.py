"""What every test relies on."""

import os
from collections.abc import Iterator

import hypothesis
import pytest

# A busy machine makes a correct function slow now and then; that is not a finding.
hypothesis.settings.register_profile("many-heads", deadline=None)
hypothesis.settings.load_profile("many-heads")


@pytest.fixture(scope="session", autouse=True)
def many_heads_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the progress and the answers of whoever runs the tests out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "MANY_HEADS_HOME", str(tmp_path_factory.mktemp("many-heads")))
        yield
