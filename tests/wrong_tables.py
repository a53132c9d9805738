"""Wrong tables as students fill them in by hand, from their own numbers: Q and K 4 by 3, V 4 by 2.

Each has the id of its mistake; what follows a comma says how it came about.
"""

import numpy as np

ROOT = 3**0.5
SEEN = np.tril(np.ones((4, 4), dtype=bool))


def soft(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_hand(table):
    """Rounded to two decimals; what cannot be written down is 0."""
    return np.round(np.nan_to_num(table, nan=0.0, posinf=0.0, neginf=0.0), 2) + 0.0


def cut_off(table):
    return np.trunc(np.round(table * 100, 6)) / 100


def slip(table, by):
    """Row 3, column 2 is off."""
    out = by_hand(table)
    out[2, 1] += by
    return out


def raw_scores(me):
    Q, K = me.Q, me.K
    right = Q @ K.T
    return {
        "scores_keys_against_queries": K @ Q.T,
        "reads_rows_as_columns": right.T,
        "scores_queries_against_queries": Q @ Q.T,
        "scores_keys_against_keys": K @ K.T,
        "reshapes_instead_of_transposing": Q @ K.reshape(3, 4),
        "scores_by_distance": -((Q[:, None] - K[None]) ** 2).sum(-1) / 2,
        "slips_in_one_cell": slip(right, 1),
    }


def unrounded_scores(me):
    Q, K = me.Q, me.K
    raw = Q @ K.T
    return {
        "forgets_to_scale": raw,
        "scales_by_d_k": raw / 3,
        "multiplies_by_root_d_k": raw * ROOT,
        "halves_instead_of_rooting": raw / 6,
        "scales_by_number_of_keys": raw / 2,
        "scales_by_number_of_queries": raw / 2,
        "scales_by_value_width": raw / 2**0.5,
        "hard_codes_the_root": raw / 2**0.5,
        "truncates_the_root": raw / 1,
        "compares_directions_only": raw / np.outer(np.linalg.norm(Q, axis=1), np.linalg.norm(K, axis=1)),
        "reads_rows_as_columns": raw.T / ROOT,
    }


def scores(me):
    right = me.Q @ me.K.T / ROOT
    return (
        {name: by_hand(table) for name, table in unrounded_scores(me).items()}
        | {"slips_in_one_cell": slip(right, 0.5)}
        | {"truncates_decimals": cut_off(right)}
        | {
            name: by_hand(table / ROOT)
            for name, table in raw_scores(me).items()
            if name.startswith(("scores_", "resh"))
        }
    )


@np.errstate(divide="ignore", invalid="ignore")  # the scores of a row may add to 0
def softmaxes(s):
    e = np.exp(s)
    totals, tops = e.sum(axis=1), s.max(axis=1)
    return {
        "normalises_over_queries": e / e.sum(axis=0),
        "normalises_over_everything": e / e.sum(),
        "totals_without_keepdims": e / totals,
        "maxima_without_keepdims": np.exp(s - tops) / np.exp(s - tops).sum(axis=1, keepdims=True),
        "forgets_the_exponential": s / s.sum(axis=1, keepdims=True),
        "exponentiates_the_ratio": np.exp(s / s.sum(axis=1, keepdims=True)),
        "applies_softmax_twice": soft(soft(s)),
        "uses_another_base": 2**s / (2**s).sum(axis=1, keepdims=True),
        "uses_the_sigmoid": 1 / (1 + np.exp(-s)),
        "picks_the_winner": np.eye(4)[s.argmax(axis=1)],
        "negates_the_scores": soft(-s),
        "normalises_by_length": e / np.sqrt((e**2).sum(axis=1, keepdims=True)),
    }


def weights(me):
    right_scores = me.Q @ me.K.T / ROOT
    right = soft(right_scores)
    wrong = softmaxes(right_scores) | {
        "rounds_too_early": soft(right_scores.round(1)),
        "reads_rows_as_columns": right.T,
        "slips_in_one_cell": slip(right, 0.2),
        "scales_the_weights": right / ROOT,
    }
    return (
        {name: by_hand(table) for name, table in wrong.items()}
        | {name: by_hand(soft(table)) for name, table in unrounded_scores(me).items() if name.split("_")[0] in SCALES}
        | {
            f"{name}, from rounded scores": by_hand(soft(table))
            for name, table in scores(me).items()
            if name.split("_")[0] in SCALES
        }
        | {"truncates_decimals": cut_off(right), "gives_percent": np.round(100 * right)}
    )


SCALES = ("forgets", "scales", "multiplies", "halves", "hard", "compares")  # the first words of mistakes at the scale


def mixes(A, me):
    Q, K, V = me.Q, me.K, me.V
    return {
        "mixes_with_transposed_weights": A.T @ V,
        "picks_the_top_value": V[A.argmax(axis=1)],
        "averages_the_values": np.tile(V.mean(axis=0), (4, 1)),
        "adds_a_residual": A @ V + V,
        "scales_the_output": A @ V / ROOT,
        "mixes_with_raw_scores": Q @ K.T @ V,
        "mixes_keys": A @ K,
        "mixes_queries": A @ Q,
        "returns_the_weights": A,
    }


def output(me):
    A = soft(me.Q @ me.K.T / ROOT)
    early = soft((me.Q @ me.K.T / ROOT).round(1))
    wrong = mixes(A, me) | {
        "slips_in_one_cell": slip(A @ me.V, 0.7),
        "rounds_too_early": early @ me.V,
        "forgets_to_scale": soft(me.Q @ me.K.T) @ me.V,
        "scales_by_d_k": soft(me.Q @ me.K.T / 3) @ me.V,
        "scores_keys_against_queries": soft(me.K @ me.Q.T / ROOT) @ me.V,
        "normalises_over_queries": soft(me.K @ me.Q.T / ROOT).T @ me.V,
        "picks_the_winner": np.eye(4)[A.argmax(axis=1)] @ me.V,
        "negates_the_scores": soft(-me.Q @ me.K.T / ROOT) @ me.V,
        "applies_softmax_twice": soft(A) @ me.V,
        "gives_percent": 100 * A @ me.V,
    }
    return {name: by_hand(table) for name, table in wrong.items()} | {"truncates_decimals": cut_off(A @ me.V)}


def maskings(s):
    def hide(mask, fill):
        return soft(np.where(mask, s, fill))

    eye = np.eye(4, dtype=bool)
    with np.errstate(invalid="ignore"):
        return {
            "fills_with_zero": hide(SEEN, 0),
            "fills_with_a_modest_number": hide(SEEN, -1),
            "adds_the_mask": soft(s + SEEN),
            "masks_after_softmax": soft(s) * SEEN,
            "inverts_the_mask": hide(~SEEN, -np.inf),
            "transposes_the_mask": hide(SEEN.T, -np.inf),
            "hides_the_diagonal": hide(SEEN & ~eye, -np.inf),
            "leaks_one_step": hide(SEEN | np.eye(4, k=1, dtype=bool), -np.inf),
            "ignores_the_mask": soft(s),
        }


def causal_weights(me):
    s = me.Q @ me.K.T / ROOT
    masked = np.where(SEEN, s, -np.inf)
    right = soft(masked)
    with np.errstate(invalid="ignore", divide="ignore"):
        e = np.exp(masked)
        wrong = maskings(s) | {
            "fills_before_scaling": soft(np.where(SEEN, s, -1 / ROOT)),
            "normalises_over_queries": e / e.sum(axis=0),
            "normalises_over_everything": e / e.sum(),
            "applies_softmax_twice": soft(soft(masked)),
            "uses_another_base": soft(np.where(SEEN, s * np.log(2), -np.inf)),
            "picks_the_winner": np.eye(4)[masked.argmax(axis=1)],
            "forgets_to_scale": soft(np.where(SEEN, s * ROOT, -np.inf)),
            "rounds_too_early": soft(np.where(SEEN, s.round(1), -np.inf)),
            "reads_rows_as_columns": right.T,
            "slips_in_one_cell": slip(right, 0.2),
            "gives_percent": 100 * right,
        }
    return {name: by_hand(table) for name, table in wrong.items()} | {"truncates_decimals": cut_off(right)}


def causal_output(me):
    s = me.Q @ me.K.T / ROOT
    A = soft(np.where(SEEN, s, -np.inf))
    wrong = (
        {name: np.nan_to_num(table) @ me.V for name, table in maskings(s).items()}
        | mixes(A, me)
        | {"slips_in_one_cell": slip(A @ me.V, 0.7)}
    )
    return {name: by_hand(table) for name, table in wrong.items()} | {"truncates_decimals": cut_off(A @ me.V)}


TABLES = {
    "hand_raw_scores": raw_scores,
    "hand_scores": scores,
    "hand_weights": weights,
    "hand_output": output,
    "hand_causal_weights": causal_weights,
    "hand_causal_output": causal_output,
}


def right_table(name, me):
    s = me.Q @ me.K.T
    A, C = soft(s / ROOT), soft(np.where(SEEN, s / ROOT, -np.inf))
    return {
        "hand_raw_scores": s,
        "hand_scores": s / ROOT,
        "hand_weights": A,
        "hand_output": A @ me.V,
        "hand_causal_weights": C,
        "hand_causal_output": C @ me.V,
    }[name]


# The same output, however it came about.
TWINS = {"scales_the_output": "scales_the_weights", "picks_the_top_value": "picks_the_winner"}


def as_good(name, label, me):
    """The ids whose table can't be told in two decimals from the one with this label."""
    tables = TABLES[name](me)
    same = [
        other
        for other, table in tables.items()
        if table.shape == tables[label].shape and np.abs(table - tables[label]).max() < 0.0151
    ]
    ids = {other.split(",")[0] for other in same}
    return ids | {TWINS[one] for one in ids if one in TWINS}


def all_wrong(me):
    """(exercise, label, table) of all that are not right by chance."""
    return [
        (name, label, table)
        for name, make in TABLES.items()
        for label, table in make(me).items()
        if table.shape != right_table(name, me).shape or np.abs(table - right_table(name, me)).max() > 0.0061
    ]
