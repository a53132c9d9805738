"""Every declared mistake fails, is named, and is told apart from every other: picked up from the declarations."""

import ast
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from students import table_of, who_does

import labkit.mistakes
from labkit.calculation import QUANTITIES, SIZES, parameters
from labkit.exercise import mistake as declare
from labkit.exercises import EXERCISES, draw_numbers
from labkit.feedback import HELP, outcome
from labkit.judge import cases_and_lineup, judge_function
from labkit.lineup import Lineup
from labkit.mistakes import MISTAKES
from labkit.table import judge_table

IDS = """
normalises_over_queries normalises_over_everything totals_without_keepdims maxima_without_keepdims
forgets_the_exponential exponentiates_the_ratio applies_softmax_twice uses_another_base uses_the_sigmoid
picks_the_winner negates_the_scores normalises_by_length truncates_to_integers overflows_on_large_scores
shifts_by_the_overall_maximum forgets_to_scale scales_by_d_k multiplies_by_root_d_k halves_instead_of_rooting
scales_by_number_of_keys scales_by_number_of_queries scales_by_value_width scales_by_model_width truncates_the_root
hard_codes_the_root scales_the_weights scales_the_output compares_directions_only scores_keys_against_queries
forgets_the_transpose multiplies_elementwise reshapes_instead_of_transposing scores_queries_against_queries
scores_keys_against_keys scores_by_distance scores_against_values mixes_keys mixes_queries mixes_the_inputs
mixes_with_transposed_weights weights_on_the_wrong_side picks_the_top_value averages_the_values adds_a_residual
mixes_with_raw_scores multiplies_values_elementwise returns_the_weights fills_with_zero fills_with_a_modest_number
fills_before_scaling fills_with_plus_infinity multiplies_by_minus_infinity adds_the_mask masks_after_softmax
inverts_the_mask transposes_the_mask hides_the_diagonal leaks_one_step ignores_the_mask zeroes_hidden_values
masks_queries_instead_of_keys hides_what_either_allows accepts_an_empty_row splits_without_transposing
merges_without_transposing interleaves_the_heads averages_the_heads sums_the_heads forgets_the_output_projection
projects_on_the_wrong_side transposes_the_output_projection transposes_the_projections repeats_one_head
slices_before_projecting softmax_over_heads concatenates_positions reverses_the_heads uses_one_big_head
shares_averaged_weights masks_only_the_first_head asks_with_one_head swaps_keys_and_values swaps_queries_and_keys
exchanges_the_sequences keys_and_values_from_different_sequences masks_across_causally rounds_too_early
truncates_decimals gives_percent reads_rows_as_columns slips_in_one_cell changes_its_input prints_instead_of_returning
keeps_the_old_sum keeps_the_old_output joins_without_rescaling takes_the_blocks_own_maximum rescales_upside_down
averages_the_blocks drops_the_last_keys forgets_to_divide divides_in_every_block starts_the_maximum_at_zero
keeps_one_maximum_for_all counts_powers_from_zero stays_in_one_sequence projects_elementwise returns_the_values
allows_one_key_too_many
""".split()

FUNCTIONS = [exercise for exercise in EXERCISES.values() if not exercise.is_table]
TABLES = [exercise for exercise in EXERCISES.values() if exercise.is_table and exercise.own]

# Ways that are right by definition in an exercise, with the reason. Everything else must fail there.
HIDDEN = {
    ("causal_mask", "leaks_one_step", "and"): "a causal mask joined with a wider one is still causal",
    ("causal_mask", "hides_what_either_allows", ""): "it is the causal mask itself",
    ("multi_head_attention", "scales_by_value_width", ""): "a head's values are as wide as its keys",
    ("multi_head_attention", "exchanges_the_sequences", ""): "there is one sequence",
    ("multi_head_attention", "keys_and_values_from_different_sequences", ""): "there is one sequence",
    ("multi_head_attention", "stays_in_one_sequence", ""): "there is one sequence",
}
# Some of their ways only show on whole numbers, or under a mask, which not every exercise has.
SOMETIMES_RIGHT = ("truncates_to_integers", "averages_the_values", "negates_the_scores", "uses_one_big_head")
ASKED_ONLY_IN = {"accepts_an_empty_row": "masked_softmax"}  # a remark everywhere else


def sweep():
    for exercise in FUNCTIONS:
        for suspect in cases_and_lineup(exercise.name, 0)[1].singles:
            (way,) = suspect.ways
            if way.options.get("fill") not in (None, -1, -7, -42, -100, -999, -1e4, -1e6):
                continue  # a fill can be any number: these are enough
            label = "-".join([exercise.name, suspect.ids[0], str(suspect.rank), *map(str, way.options.values())])
            yield pytest.param(exercise, suspect, id=label)


def hidden(exercise, suspect):
    id, joined = suspect.ids[0], suspect.ways[0].options.get("joined", "")
    if id in SOMETIMES_RIGHT or (exercise.name, id, joined) in HIDDEN:
        return not alters_anything(exercise, suspect)
    return ASKED_ONLY_IN.get(id, exercise.name) != exercise.name


@pytest.mark.parametrize(("exercise", "suspect"), list(sweep()))
def test_each_way_of_each_mistake_fails_and_is_named(exercise, suspect):
    one = outcome(judge_function(exercise, who_does(exercise, suspect.ways)))
    if hidden(exercise, suspect):
        assert one.passed or one.mistakes == ("accepts_an_empty_row",)
    else:
        assert not one.passed
        assert suspect.ids[0] in one.mistakes


def alters_anything(exercise, suspect):
    """Whether the way changes any answer at all on the inputs that count."""
    cases, lineup = cases_and_lineup(exercise.name, 0)
    counted = [i for i, case in enumerate(cases) if not case.remark]
    with np.errstate(all="ignore"):
        return not all(np.array_equal(lineup.predicts(suspect, i), lineup.right(i), equal_nan=True) for i in counted)


def test_the_declared_ids_are_those_of_the_course():
    assert set(MISTAKES) == set(IDS), "Gradebooks keep the ids: a new one goes into IDS at the top of this file, too."


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_each_parameter_names_a_quantity_that_there_is(mistake):
    """Otherwise the mistake would never come up, without a word."""
    given = {"X", "X_kv", "W_Q", "W_K", "W_V", "W_O", "n_heads", "mask", "answer", "block", "summaries", "lengths"}
    for way in mistake.ways:
        assert set(parameters(way.function)) <= {*QUANTITIES, *SIZES, *given}


def test_no_id_is_declared_twice():
    """The second function of a name would take the first one's place without a word."""
    files = Path(labkit.mistakes.__file__).parent.glob("*.py")
    functions = [f for file in files for f in ast.parse(file.read_text(encoding="utf-8")).body if is_mistake(f)]
    assert [name for name, n in Counter(f.name for f in functions).items() if n > 1] == []
    assert len(functions) == len(MISTAKES)


def is_mistake(node):
    if not isinstance(node, ast.FunctionDef):
        return False
    calls = [one.func for one in node.decorator_list if isinstance(one, ast.Call)]
    return any(isinstance(call, ast.Name) and call.id == "mistake" for call in calls)


@pytest.mark.parametrize("name", QUANTITIES)
def test_each_quantity_has_words_and_a_step_to_look_at(name):
    assert QUANTITIES[name].words and QUANTITIES[name].step in HELP


def test_a_step_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(ValueError, match="the step of too_far must be one of scores, scale, .*; got 'scaling'"):

        @declare("scaling")
        def too_far(raw_scores):
            """Too far. Is it?"""


def test_every_mistake_is_named_somewhere():
    by_search = {s.ids[0] for e in FUNCTIONS + TABLES for s in lineup_of(e).singles}
    elsewhere = {id for id, mistake in MISTAKES.items() if mistake.remark or mistake.step == "conduct"}
    assert by_search | elsewhere == set(IDS)


def lineup_of(exercise):
    if exercise.is_table:
        return Lineup(exercise, [exercise.given(draw_numbers("ada"))])
    return cases_and_lineup(exercise.name, 0)[1]


@pytest.mark.parametrize("exercise", FUNCTIONS, ids=lambda exercise: exercise.name)
def test_two_mistakes_are_named_together_only_where_they_are_one_function(exercise):
    cases, lineup = cases_and_lineup(exercise.name, 0)
    counted = [i for i, case in enumerate(cases) if not (case.remark or case.raises)]
    for suspect in lineup.singles:
        one = outcome(judge_function(exercise, who_does(exercise, suspect.ways)))
        if one.passed or "accepts_an_empty_row" in one.mistakes:
            continue
        rivals = [other for other in lineup.singles if other.ids[0] in one.mistakes and other.ids != suspect.ids]
        for id in {rival.ids[0] for rival in rivals}:
            assert any(
                all(alike(lineup, suspect, rival, i) for i in counted) for rival in rivals if rival.ids[0] == id
            ), f"{id} was named beside {suspect.ids[0]}"


def alike(lineup, a, b, index):
    with np.errstate(all="ignore"):
        a, b = lineup.predicts(a, index), lineup.predicts(b, index)
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return type(a) is type(b)
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("name", ["attention", "attention_weights", "multi_head_attention", "cross_attention"])
def test_pairs_never_pass_and_are_mostly_named_whole(name):
    exercise = EXERCISES[name]
    lineup = cases_and_lineup(name, 0)[1]
    visible = {id(s.ways[0]) for s in lineup.singles if alters_anything(exercise, s)}
    pairs = [p for p in lineup.pairs if p.mistakes[0].step != p.mistakes[1].step and {*map(id, p.ways)} <= visible]
    pairs = [p for p in pairs if "accepts_an_empty_row" not in p.ids]
    count = Counter(named_as(exercise, pair) for pair in random.Random(3).sample(pairs, 120))
    assert count["passed"] <= 1  # two that undo each other are right
    assert count["neither"] <= 3  # all that is left may be zeros
    assert count["both"] >= 0.7 * 120, "of the pairs drawn by chance fewer are named whole than before"


def named_as(exercise, pair):
    one = outcome(judge_function(exercise, who_does(exercise, pair.ways)))
    if one.passed:
        return "passed"
    if set(pair.ids) <= set(one.mistakes):
        return "both"
    return "one" if set(pair.ids) & set(one.mistakes) else "neither"


@pytest.mark.parametrize("name", ["ada", "李明"])
@pytest.mark.parametrize("exercise", TABLES, ids=lambda exercise: exercise.name)
def test_each_mistake_in_a_hand_filled_table_is_named(exercise, name):
    numbers = draw_numbers(name)
    lineup = Lineup(exercise, [exercise.given(numbers)])
    right = table_of(exercise, numbers)
    firsts = {suspect.ids: suspect for suspect in reversed(lineup.singles)}
    for (id,), suspect in firsts.items():
        with np.errstate(all="ignore"):
            table = lineup.predicts(suspect, 0)
        if not isinstance(table, np.ndarray):  # shapes that don't go together
            assert suspect.mistakes[0].step != "hand"
            continue
        table = table if exercise.exact or id == "truncates_decimals" else np.round(table, 2)
        one = outcome(judge_table(exercise, table.tolist(), numbers, {}))
        if table.shape == right.shape and np.allclose(table, right, atol=0.0051, equal_nan=True):
            assert one.passed
        else:
            assert id in one.mistakes, (id, one.mistakes)
