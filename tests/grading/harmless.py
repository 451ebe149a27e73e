"""What students write to run or to load something, and how to see that it does neither."""

import re

from bs4 import BeautifulSoup

# What runs or loads, in HTML and in Markdown; each has a word that must remain to be read.
HOSTILE = [
    "![word](http://x.example/p.png)",
    "![word][r]\n\n[r]: http://x.example/p.png",
    "![word](//x.example/p.png 'title')",
    "![word](data:image/svg+xml;base64,PHN2Zz4=)",
    "![word](attachment:image.png)",
    "[word](javascript:alert(5))",
    "[word](JaVaScRiPt&colon;alert(5))",
    "[word](<java\tscript:alert(5)>)",
    "[word][r]\n\n[r]: javascript:alert(5)",
    "[word](data:text/html;base64,PHNjcmlwdD4=)",
    "[word](file:///etc/passwd)",
    "<javascript:alert(5)> word",
    '<img src="http://x.example/p.png" alt="word">',
    "<IMG SRC=http://x.example/p.png ALT=word onerror=alert(5)",
    '<img srcset="http://x.example/p.png 2x" alt="word">',
    '<a href="java\nscript:alert(5)">word</a>',
    '<a href="&#x6a;avascript:alert(5)" ping="http://x.example">word</a>',
    '<p style="background:url(http://x.example/p.png)">word</p>',
    '<table background="http://x.example"><tr><td>word</td></tr></table>',
    '<video poster="http://x.example"><source src="http://x.example"></video>word',
    '<form action="http://x.example"><button formaction="//x.example">word</button></form>',
    '<svg><a xlink:href="javascript:alert(5)"><text>a</text></a></svg>word',
    '<svg><image href="http://x.example/p.png"/></svg>word',
    '<iframe srcdoc="<script>alert(5)</script>"></iframe>word',
    '<meta http-equiv="refresh" content="0;url=http://x.example">word',
    '<link rel="stylesheet" href="http://x.example/s.css">word',
    "<style>@import 'http://x.example/s.css'</style>word",
    '<base href="http://x.example">word',
    '<noscript><p title="</noscript><img src=x onerror=alert(5)>">word</noscript>',
    "<!--><img src=http://x.example onerror=alert(5)>-->word",
    "<script>alert(5)</script>\n\nword",
]
LOADING = {"src", "srcset", "action", "formaction", "xlink:href", "poster", "background", "ping"}
LOADING |= {"srcdoc", "data", "style"}
RUNNING = ["script", "iframe", "object", "embed", "link", "meta", "base", "form", "svg", "style"]


def assert_harmless(page: str) -> None:
    """Nothing in this HTML loads or runs; links lead to the web only on a click."""
    tree = BeautifulSoup(page, "html.parser")
    assert not tree.find_all(RUNNING)
    for tag in tree.find_all(True):
        for name, value in tag.attrs.items():
            assert not name.startswith("on")
            if name == "href":
                assert re.match(r"(https?:|mailto:|#)", str(value))
                assert "noopener" in tag["rel"]
            elif name in LOADING:
                assert re.match(r"data:image/(png|jpeg|gif|webp);", str(value))
