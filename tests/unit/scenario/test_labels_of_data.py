"""A model of classes is held against the labels that data are known to have."""

import pytest

from tests.cli.scenes import SMALL

NUMBERS = "targets with data.kind = {} are numbers: allowed is a model of numbers"
SPLIT = 'kind = "{}"\nfeatures = 2\npublic_records = 50'
GAUSSIAN = 'kind = "gaussian"\nfeatures = 2\nlabels = true'


@pytest.mark.parametrize(
    ("data", "model", "said"),
    [
        (SPLIT.format("lending"), "logistic", "model.kind: given 'logistic'; "),
        (SPLIT.format("hospital"), "svm", "model.kind: given 'svm'; "),
        (
            SPLIT.format("fraud"),
            "softmax",
            "model.classes: given 3; "
            "targets with data.kind = fraud are labels −1 and 1: allowed is 2",
        ),
        (
            GAUSSIAN,
            "softmax",
            "model.classes: given 3; "
            "targets with data.kind = gaussian are labels −1 and 1: allowed is 2",
        ),
    ],
)
def test_check_and_run_refuse_alike(data, model, said, here, command):
    """Found by attack: ``check`` said valid, and ``run`` that −1 is no label of three classes."""
    classes = "\nclasses = 3" if model == "softmax" else ""
    text = SMALL.replace('kind = "gaussian"\nfeatures = 2', data)
    text = text.replace('kind = "ridge"', f'kind = "{model}"{classes}')
    (here / "labels.toml").write_text(text, encoding="utf-8")
    kind = data.partition('"')[2].partition('"')[0]
    whole = said + (NUMBERS.format(kind) if said.endswith("; ") else "")
    for verb in ("check", "run"):
        assert command.refused(verb, "labels.toml") == f"labels.toml: {whole}"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('preprocessing = "none"', "2; allowed is 50, the number of columns, with preprocessing"),
        ('preprocessing = "pca"', "2; allowed is at most 1, the number of linearly independent"),
    ],
)
def test_columns_of_a_twin_are_known_before_a_run(more, said, here, command):
    """Found by random scenarios: ``check`` said valid, and ``run`` that there are 50 columns."""
    few = 50 if "none" in more else 2
    data = f'kind = "lending"\nfeatures = 2\npublic_records = {few}\n{more}'
    text = SMALL.replace('kind = "gaussian"\nfeatures = 2', data)
    (here / "twin.toml").write_text(text, encoding="utf-8")
    for verb in ("check", "run"):
        assert command.refused(verb, "twin.toml").startswith(
            f"twin.toml: data.features: given {said}"
        )
