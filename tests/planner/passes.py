"""A pass of the planner over nothing yet, for the modules that are tested below whole statements."""

from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.access import Context
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.pricing import Terms
from tests.golden.world import ANALYST, World
from udfs.privacy import NANO, Loss


def planning_of(world: World) -> Planning:
    """As ``plan_query`` begins one."""
    context = Context(world.policy, world.schema, ANALYST, dict(DEFAULTS), facts=world.facts)
    return Planning(context, Parameters(), Terms(Loss(NANO)))
