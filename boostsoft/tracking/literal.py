"""The user's words in a picture."""


def literal(text: str) -> str:
    r"""The user's words for a picture: two dollars in a text would be mathematics, or an error where they are none.

    >>> print(literal("from $5 to $10"))
    from \$5 to \$10
    """
    return text.replace("$", r"\$")
