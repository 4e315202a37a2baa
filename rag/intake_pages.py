"""What a page's disease information tree tells of each feature: how often somebody with its condition would say yes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rag.disease_tree import Branch, DiseaseTree, Facet
from rag.documents import Document
from rag.intake_features import FeatureLexicon

TreeOf = Callable[[Document], DiseaseTree]

# How likely a yes is where the page says so: among its symptoms, in the words of patients who need it, elsewhere. Set by hand on
# the development cases (docs/adr/0022).
_IN_SYMPTOMS = 0.6
_IN_PATIENTS_WORDS = 0.5
_ELSEWHERE = 0.3
_IN_WARNINGS = 0.2
_DENIED = 0.04
UNTOLD = 0.08
"""Of a feature that the page does not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageProfile:
    """A page as a condition that somebody may have.

    `chances` are the probabilities of a yes for the features that the page tells of; for all others it is `UNTOLD`.
    """

    document_id: str
    topic: str
    title: str
    chances: Mapping[str, float] = field(repr=False)

    def chance(self, feature: str) -> float:
        """The probability of a yes."""
        return self.chances.get(feature, UNTOLD)

    def names(self, feature: str) -> bool:
        """Whether the page names the feature as a symptom, or patients do who need it."""
        return self.chance(feature) >= _IN_PATIENTS_WORDS

    def tells(self, feature: str) -> bool:
        """Whether the page tells of the feature anywhere."""
        return self.chance(feature) > UNTOLD

    def shows(self, feature: str) -> bool:
        """Whether the page tells the feature among its symptoms: what only patients' words name may be an accident of them."""
        return self.chance(feature) >= _IN_SYMPTOMS


def read_profile(document: Document, tree_of: TreeOf, lexicon: FeatureLexicon) -> PageProfile:
    """Read what a page tells of each feature; where several parts do, the one that says most counts.

    What a page denies ("non dà febbre") stays denied, whatever its warnings name.
    """
    tree = tree_of(document)
    names = "\n".join((document.title, *document.synonyms, *document.asked))
    parts = [
        (_IN_WARNINGS, _text(_facet(tree, Facet.CARE))),
        (_ELSEWHERE, _text(_unmarked(tree.root))),
        (_IN_PATIENTS_WORDS, names),
        (_IN_SYMPTOMS, _text(branch for facet in (Facet.DIAGNOSIS, Facet.SYMPTOMS) for branch in _facet(tree, facet))),
    ]
    chances: dict[str, float] = {}
    for chance, text in parts:
        for name, has in lexicon.told_by_page(text).items():
            chances[name] = max(chance, chances.get(name, 0.0)) if has else chances.get(name, _DENIED)
    symptoms = lexicon.told_by_page(parts[-1][1])
    chances |= {name: _DENIED for name, has in symptoms.items() if not has}
    return PageProfile(
        document_id=document.document_id,
        topic=document.topic or document.document_id,
        title=document.title,
        chances=chances,
    )


def _facet(tree: DiseaseTree, facet: Facet) -> Iterator[Branch]:
    return (below for branch in tree.diagnostic() if branch.facet is facet for below in branch.walk())


def _unmarked(branch: Branch) -> Iterator[Branch]:
    if branch.facet is None:
        yield branch
        for below in branch.branches:
            yield from _unmarked(below)


def _text(branches: Iterator[Branch]) -> str:
    return "\n".join(leaf for branch in branches for leaf in branch.leaves)
