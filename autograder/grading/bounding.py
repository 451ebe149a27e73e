"""What cleaning may cost: parsers of HTML and Markdown take very long for some short texts.

A thousand nested tags, or a thousand opening brackets, take time that grows with their square.
What a student shows shall not keep everybody else waiting for their marks.
"""

import re
from dataclasses import dataclass

MARKDOWN_LIMIT = 20_000  # characters of one text; longer ones are shown as they are
TAGS_LIMIT = 20_000  # of one page; a table of 60 rows and 20 columns has 2,600
UNCLOSED_LIMIT = 500  # how many more tags may be opened than closed
OPENED = re.compile(r"<[a-zA-Z]")


@dataclass
class Room:
    """What may still be spent on the outputs of one notebook.

    text: characters, of everything. markdown: characters that are rendered. tags: of HTML.
    colours: escape sequences, for which a page's maker looks through the text again and again.
    """

    text: int = 16 * 2**20
    markdown: int = 100_000
    tags: int = 2 * TAGS_LIMIT
    colours: int = 4000  # a traceback has a few hundred

    def takes_markdown(self, source: str) -> bool:
        """Whether this Markdown is rendered; then its length is spent."""
        if len(source) > min(self.markdown, MARKDOWN_LIMIT):
            return False
        self.markdown -= len(source)
        return True

    def takes_colours(self, text: str) -> bool:
        """Whether the colours of this text are kept; then they are spent."""
        escapes = text.count("\x1b")
        if escapes > self.colours:
            return False
        self.colours -= escapes
        return True

    def takes_html(self, page: str) -> bool:
        """Whether this HTML is cleaned and kept; then its tags are spent."""
        tags = page.count("<")
        if tags > self.tags or is_tangled(page):
            return False
        self.tags -= tags
        return True


def is_tangled(page: str) -> bool:
    """Whether HTML has more tags, or more that are never closed, than any honest page."""
    opened = len(OPENED.findall(page))
    return page.count("<") > TAGS_LIMIT or opened - page.count("</") > UNCLOSED_LIMIT
