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
# What is open of these is opened again in each paragraph that follows, attributes and all. With a
# quote in it, a tag may go on as far as to the next.
NAMES = "a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u"
REOPENED = re.compile(rf"<(?:{NAMES})\b(?:[^<>\"']*>|[^<]*)", re.IGNORECASE)
QUOTED = r"\"[^\"<>]*\"|'[^'<>]*'"
ATTRIBUTE = re.compile(rf"=\s*(?:{QUOTED})")
CLOSED_AT_ONCE = re.compile(rf"<({NAMES})\b(?:[^<>\"']|{QUOTED})*>[^<]*</\1\s*>", re.IGNORECASE)


@dataclass
class Room:
    """What may still be spent on the outputs of one notebook.

    text: characters, of everything. markdown: characters that are rendered. tags: of HTML.
    growth: characters by which pages could grow where no tag is closed.
    colours: escape sequences, for which a page's maker looks through the text again and again.
    """

    text: int = 16 * 2**20
    markdown: int = 100_000
    tags: int = 2 * TAGS_LIMIT
    growth: int = 20_000_000  # a page with a hundred bold words in a hundred paragraphs: 200,000
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
        tags, growth = page.count("<"), _growth(page)
        if tags > self.tags or growth > self.growth or is_tangled(page):
            return False
        self.tags -= tags
        self.growth -= growth
        return True


def is_tangled(page: str) -> bool:
    """Whether HTML has more tags, or more that are never closed, than any honest page."""
    opened = len(OPENED.findall(page))
    return page.count("<") > TAGS_LIMIT or opened - page.count("</") > UNCLOSED_LIMIT


def _growth(page: str) -> int:
    """How many characters more a page could have once it is read, if no tag in it were closed."""
    rest = page
    if not {'"', "'"} & set(ATTRIBUTE.sub("", page)):  # what looks like a tag is one, then
        rest = CLOSED_AT_ONCE.sub("", page)
    return sum(map(len, REOPENED.findall(rest))) * page.count("<")
