"""What the page on the mechanism says of the published results."""

import numpy as np

from tests.papers.prose import says

PAGE = "li_4_mechanism"
COVERING = ["A", "B", "A, r = 1"]


@says(PAGE, "At the initialisation of settings A and B the odds law gives 0.437 and 0.55", "li-attention")
def odds_law_at_the_start(d):
    start = d.mass_theory.sel(step=0).mean("seed")
    return start.sel(setting="A"), start.sel(setting="B")


@says(PAGE, "nothing for some 30 steps, then a steep rise, then a creep", "li-attention")
def course_of_attention(d):
    """In setting A: shares of the whole rise by step 30, from there to 50, and after."""
    mass = d.mass.sel(setting="A", split="unseen tasks").mean("seed")
    before, steep, creep = np.diff(mass.sel(step=[0, 30, 50, 1000])) / float(mass[-1] - mass[0])
    return 30, bool(before < 0.1), bool(steep > 0.7), bool(creep < 0.2)


@says(PAGE, "With half of the patterns uncovered it stops near 0.6 on unseen tasks", "li-attention")
def uncovered(d):
    return d.mass.sel(setting="half of the patterns", split="unseen tasks").isel(step=-1).mean()


@says(PAGE, "The attention reaches the 0.99 of the authors' plot in neither setting.", "li-attention")
def short_of_one(d):
    return 0.99, bool((d.mass.sel(setting=["A", "B"]).isel(step=-1).mean("seed") < 0.99).all())


@says(
    PAGE,
    "At the end of training almost no prompt has a gradient left. With the margin raised, the same weights move at once, "
    "and within ten steps they pass 0.99 for the larger $c$. With $c=1$ the same number of further steps changes next to "
    "nothing.",
    "li-hinge-margin",
)
def margin_raised(d):
    mass, end = d.mass.mean("seed"), d.mass_before.isel(step=-1).mean()
    ten = mass.sel(resumed=10)
    at_once = bool((mass.sel(resumed=1, c=mass.c[mass.c > 1]) - end > 0.01).all())
    passed = bool((ten.isel(c=[-2, -1]) > 0.99).all())
    rest = bool(abs(ten.sel(c=1) - end) < 0.001)
    return 0.99, 1, bool(d.active_before.isel(step=-1).mean() < 0.001), at_once, passed, rest


@says(PAGE, "Patterns that no task names are not amplified", "li-growth")
def not_amplified(d):
    """Nor is the common mean of all patterns."""
    length = d.length.sel(kind="relevant, in no task", setting="half of the patterns").mean("seed")
    mean = d.scores.mean(["key", "query"])
    changes = [length.isel(step=-1) / length.isel(step=0) - 1, mean.isel(shown=-1) / mean.isel(shown=0) - 1]
    return [bool((abs(change) < 0.05).all()) for change in changes]


@says(PAGE, "the scores between patterns at distance two in the cycle", "li-growth")
def distance_two(d):
    end = d.scores.sel(setting="A, r = 1").isel(shown=-1).values
    return all(bool(end[j, (j + k) % 6] > 0.01) for j in range(6) for k in (2, 4))


@says(
    PAGE,
    "In setting B the labels align as well, the features less. In the full profile their cosine is 0.94, and after 100 "
    "steps it hardly changes:",
    "li-neurons",
)
def alignment_in_b(d):
    feature, label = (d[name].mean("seed").isel(step=-1) for name in ("feature_cosine", "label_cosine"))
    course = d.feature_cosine.mean("seed").sel(setting="B", step=[100, 1000])
    less = bool(feature.sel(setting="B") < feature.sel(setting="A") - 0.02)
    rests = bool(abs(course[1] - course[0]) < 0.01)
    return feature.sel(setting="B"), 100, bool(label.sel(setting="B") > 0.99), less, rests


@says(
    PAGE,
    "In the full profile 78 of the 100 rows of this model are active at their right label only at step 20, against 31 at the "
    "initialisation, while the attention on the query's pattern has gone from 0.439 to 0.445.",
    "li-training-map",
)
def rows_take_sides(d):
    """The model that is shown is the first."""
    rows, mass = d["rows"].sel(setting="A"), d.mass.sel(setting="A", seed=0)
    right = rows.sel(on="right label only")
    return right.sel(step=20), rows.sel(step=20).sum(), 20, right.sel(step=0), mass.sel(step=0), mass.sel(step=20)


@says(PAGE, "It moves between steps 35 and 45, and the hinge falls with it.", "li-training-map")
def attention_moves(d):
    mass, hinge = (d[name].sel(setting="A", seed=0) for name in ("mass", "hinge"))
    rise, fall = (float(x.sel(step=45) - x.sel(step=35)) for x in (mass, hinge))
    return 35, 45, rise > 0.6 * float(mass[-1] - mass[0]), fall < -0.9


@says(
    PAGE,
    "Lucky rows end large, nearly without exception. But most rows that are not lucky in this reading end large too.",
    "li-neurons",
)
def lucky(d):
    small = (d.small.sum("seed") / d["rows"].sum("seed")).sel(setting=COVERING)
    return bool(small.sel(start="lucky").max() < 0.01), bool(small.sel(start="not lucky").max() < 0.5)


@says(
    PAGE,
    "rows that match no pattern stay small, rows that match one are undecided, and three matches are enough",
    "li-neurons",
)
def matches(d):
    small = d.share_matched.sel(setting=COVERING)
    one = small.sel(match=1)
    undecided = bool(((one > 0.3) & (one < 0.7)).all())
    return bool(small.sel(match=0).min() > 0.95), undecided, bool(small.sel(match=3).max() < 0.05)


@says(PAGE, "for the first 30 steps after the change (full profile)", "li-hinge-margin")
def steps_after_the_change(d):
    return d.resumed.max()


@says(PAGE, "read off by eye) are wider than ours", "li-neurons")
def angles(d):
    ours = d.sel(setting="A").isel(step=-1).mean("seed")
    narrow = [bool(ours[name] < d[f"{name}_plotted"]) for name in ("feature_angle", "label_angle_plus")]
    return [*narrow, bool(ours.label_angle_minus > d.label_angle_minus_plotted)]


@says(PAGE, "is in part selection: those rows do so, less strongly, before training", "li-neurons")
def small_rows(d):
    cosine = d.feature_cosine_small.mean("seed").sel(setting=COVERING)
    start, end = cosine.isel(step=0), cosine.isel(step=-1)
    return bool((start < -0.1).all()), bool((end < start).all())


@says(PAGE, "Grown on, it describes the scores of A, with three shifts or one, the better, the earlier (L14f);", "li-growth")
def grown_push(d):
    rises = (d.grown_miss.mean("seed").isel(shown=slice(1, None)).diff("shown") > 0).all("shown")
    return [bool(each.item() == each.setting.item().startswith("A")) for each in rises]


@says(
    PAGE,
    "with half of the patterns the distance is larger at step 30 than at the end, where that with half of the patterns is the "
    "smallest.",
    "li-growth",
)
def not_the_better_the_earlier(d):
    first, last = (d.grown_miss.mean("seed").sel(shown=step) for step in (30, d.shown[-1]))
    falls = [bool(first.sel(setting=name) > last.sel(setting=name)) for name in ("B", "half of the patterns")]
    return [30, *falls, last.idxmin().item() == "half of the patterns"]
