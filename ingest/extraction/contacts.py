"""Recognises what a person can be reached or looked up by: addresses, telephone numbers, numbers of documents, full dates."""

import regex

_FORMS = (
    r"(?:https?://|www\.)\S+",
    r"[\w.+-]+\s?@\s?[\w-]+(?:\s?\.\s?[\w-]+)+",
    r"(?<![\w/])(?:[\w-]+\.)+(?:it|es|com|org|net|eu|mx|ar|cl|co|info)(?:/\S*)?(?![\w.])",
    r"(?<!\w)@\w{3,}",
    # Identity numbers: codice fiscale, CURP, RFC, DNI, NIE, IBAN.
    r"\b[a-z]{6}\d{2}[a-z]\d{2}[a-z]\d{3}[a-z]\b",
    r"\b[a-z]{4}\d{6}[hm][a-z]{5}\w\d\b",
    r"\b[a-zñ&]{3,4}\d{6}[a-z\d]{3}\b",
    r"\b\d{8}[\s-]?[a-z]\b(?!')",
    r"\b\d{2}\.\d{3}\.\d{3}[\s-]?[a-z]\b(?!')",
    r"\b[xyz][\s-]?\d{7}[\s-]?[a-z]\b",
    r"\b[a-z]{2}\d{2}(?:\s?[\da-z]{4}){3,7}\b",
    # Full dates: of birth or of an examination, neither helps a search.
    r"\b\d{1,2}[/.-]\d{1,2}[/.-](?:\d{4}|\d{2})\b(?![.,]?\d)",
    r"\b\d{4}-\d{2}-\d{2}\b",
    # Telephone numbers as they are grouped in Italy, Spain and Latin America, and long runs of digits; "4.500.000/mmc" stays.
    r"(?<![\w,.])(?:\+|00)\d{1,3}[\s./-]?\d[\d\s./-]{5,}\d\b",
    r"(?<![\w,.])0\d{1,3}[\s./-]?\d{5,8}\b",
    r"(?<![\w,.])3\d{2}[\s./-]?\d{3}[\s./-]?\d{3,4}\b(?!\s?(?:/|u|cop|cel|mm|ufc))",
    r"(?<![\w,.])[6789]\d{2}(?:[\s./-]?\d){6}\b(?!\s?(?:/|u|cop|cel|mm|ufc))",
    r"(?<![\w,.])\d{2,3}[\s-]\d{3,4}[\s-]\d{4}\b",
    r"(?<![\w,.])\d{8,}\b(?!\s?(?:/|ui|cop|cel|mm|ufc))",
    r"\b(?:tel|cell|cel|telefono|teléfono|móvil|movil|cellulare|celular|whatsapp|wapp)\b[.:\s]*(?:n[.°]?\s?)?\+?\d[\d\s./-]{4,}\d\b",
)
CONTACT = regex.compile("|".join(f"(?:{form})" for form in _FORMS), regex.IGNORECASE)


def without_contacts(text: str) -> str:
    """Leave out of a text what `CONTACT` finds."""
    return CONTACT.sub(" ", text)
