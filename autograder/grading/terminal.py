"""Text from students and file names, made harmless for a terminal or a table."""


def safe_text(text: str) -> str:
    r"""The text on one line, with whatever could steer a terminal written out, as in \x1b."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def is_plain(name: str) -> bool:
    """Whether a name can be kept in a database and shown as it is."""
    return name.isprintable() and name == name.strip() and bool(name)
