"""The country behind a phone number: a hint for which emergency number to name first, never a certainty."""

# The countries whose people are likely to write in Italian or Spanish, and the rest of Europe. Longest prefix wins.
_COUNTRIES = {
    "1": "US", "1809": "DO", "1829": "DO", "1849": "DO", "1787": "PR", "1939": "PR", "30": "GR", "31": "NL", "32": "BE",
    "33": "FR", "34": "ES", "36": "HU", "39": "IT", "40": "RO", "41": "CH", "43": "AT", "44": "GB", "45": "DK",
    "46": "SE", "47": "NO", "48": "PL", "49": "DE", "51": "PE", "52": "MX", "53": "CU", "54": "AR", "55": "BR",
    "56": "CL", "57": "CO", "58": "VE", "240": "GQ", "350": "GI", "351": "PT", "352": "LU", "353": "IE", "354": "IS",
    "355": "AL", "356": "MT", "357": "CY", "358": "FI", "359": "BG", "370": "LT", "371": "LV", "372": "EE", "376": "AD",
    "377": "MC", "378": "SM", "379": "VA", "385": "HR", "386": "SI", "420": "CZ", "421": "SK", "502": "GT", "503": "SV",
    "504": "HN", "505": "NI", "506": "CR", "507": "PA", "591": "BO", "593": "EC", "595": "PY", "598": "UY",
}  # fmt: skip
# Area codes that share +1 with the United States.
_CANADA = (
    "204 226 236 249 250 257 263 289 306 343 354 365 367 368 382 387 403 416 418 428 431 437 438 450 460 468 474 506 514 "
    "519 537 548 568 579 581 584 587 604 613 639 647 672 683 705 709 742 753 778 780 782 807 819 825 867 873 879 902 905"
)
_OTHER_ISLANDS = "242 246 264 268 284 345 441 473 649 658 664 721 758 767 784 868 869 876"
_EXCEPTIONS: dict[str, str | None] = {f"1{code}": "CA" for code in _CANADA.split()}
_EXCEPTIONS |= {f"1{code}": None for code in _OTHER_ISLANDS.split()}
_PREFIXES: dict[str, str | None] = {**_COUNTRIES, **_EXCEPTIONS}
_LONGEST = 4


def country_of(number: str) -> str | None:
    """ISO 3166 code of an international number ("+39…", digits alone also), or None where the prefix is not one we know."""
    digits = number.lstrip("+")
    for length in range(_LONGEST, 0, -1):
        if digits[:length] in _PREFIXES:
            return _PREFIXES[digits[:length]]
    return None


def canonical(number: str) -> str:
    """One spelling for the two that WhatsApp uses: Mexican mobiles with or without a 1, Argentine ones with or without a 9."""
    digits = number.lstrip("+")
    for long_form, short_form in (("521", "52"), ("549", "54")):
        if digits.startswith(long_form) and len(digits) == 13:
            return short_form + digits[3:]
    return digits
