"""The catalogue's fraud entry, held against a second reading of Collab."""

from scenarios import entry
from tests.transcription import collab_paper as paper


def test_the_fraud_entry_is_as_published_where_the_paper_says_anything() -> None:
    scenario = entry("fraud-svm").scenario()
    found = {
        "owners": scenario.owners.count,
        "records": scenario.owners.records,
        "horizon": scenario.run.updates,
        "loss": scenario.model.kind,
        "regulariser": (scenario.model.regularisation, scenario.model.regulariser),
        "algorithm": scenario.algorithm.kind,
        "protocol": scenario.protocol.kind,
        "projection": scenario.data.preprocessing,
        "features": scenario.data.features,
        "budget": scenario.privacy.epsilon,
        "mechanism": scenario.privacy.mechanism,
    }
    assert found == {
        "owners": paper.INSTITUTES,
        "records": paper.RECORDS_EACH,
        "horizon": paper.HORIZON,
        "loss": paper.LOSS,
        "regulariser": (paper.REGULARISER, paper.REGULARISER_FORM),
        "algorithm": paper.ALGORITHM,
        "protocol": paper.PROTOCOL,
        "projection": paper.PROJECTION,
        "features": paper.FEATURES,
        "budget": paper.BUDGET,
        "mechanism": paper.MECHANISM,
    }
