"""Publishers of health information as servers on the loopback address, with all that is wrong with real ones."""

from tests.doubles.health_site.expected import Expected, ExpectedDocument, ExpectedSource
from tests.doubles.health_site.serving import SeenRequest
from tests.doubles.health_site.site import HealthSite

__all__ = ["Expected", "ExpectedDocument", "ExpectedSource", "HealthSite", "SeenRequest"]
