"""The editor and its price, in a real browser: what is shown is what is sent, or a word that nothing is known."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.browsing import Visitors, browser

ODD = ["SELECT 1", "cost > 1e3 AND cost < 2_000", "9a 1.5.2 .5 5. 0x1F 1_0", "'unfinished", "-- remark\n- 1 -2",
       "a\tb\u00e9\u4e2d", "\"quoted\" [x] {y} $1 @z #", "\n\n  \n", "1\u00e92", "'it''s' 7'7'"]  # fmt: skip
LINES = "SELECT COUNT(*) AS n FROM visits WHERE age > 1 AND age > 2 AND age > 3 AND age > 4 AND cost > 5\n" * 30


def test_the_coloured_text_is_the_text_that_is_sent(site, visitors, name):
    """The twin that has no place for a digit before a letter shows another question than it sends."""
    page = visitors.signed_in(site.token(name))
    page.route("**/ask/price", lambda route: route.fulfill(body="", headers={"Discreet-Part": "yes"}))
    page.goto("/ask")
    area, painted = page.get_by_label("Question, in SQL"), page.locator(".editor pre")
    for text in ODD:
        area.fill(text)

        assert painted.evaluate("one => one.textContent") == area.input_value() + "\n", text


def test_the_caret_stays_on_the_coloured_text_once_the_editor_scrolls(site, name):
    """A scrollbar takes its width from both; from the text alone, lines would break at other words."""
    with browser(scrollbars=True) as started:
        visitors = Visitors(started, site.url)
        page = visitors.signed_in(site.token(name))
        page.goto("/ask")
        page.get_by_label("Question, in SQL").fill(LINES)
        both = [page.locator(f".editor {one}") for one in ("textarea", "pre")]
        widths, heights = (
            [one.evaluate(f"one => one.{side}") for one in both] for side in ("clientWidth", "scrollHeight")
        )
        bar = page.locator(".editor textarea").evaluate("one => one.offsetWidth - one.clientWidth")

        assert bar > 5  # there is a scrollbar
        assert widths[0] == widths[1]
        assert abs(heights[0] - heights[1]) < 30  # within the line that ends the painted text
        assert visitors.settled() == []


def test_a_price_that_cannot_be_fetched_is_not_shown(site, visitors, name):
    """The twins: an old price that stays, and a reply that is no piece of a page put into the panel."""
    page = visitors.signed_in(site.token(name))
    visitors.expected += ["502", "503", "ERR_FAILED"]
    page.goto("/ask")
    area, panel = page.get_by_label("Question, in SQL"), page.locator("#price")
    area.fill("SELECT COUNT(*) AS n FROM visits")
    expect(panel.locator("#price-sum")).to_be_visible()
    bad = [
        lambda route: route.fulfill(status=503, content_type="application/json", body='{"title": "raw"}'),
        lambda route: route.fulfill(status=200, content_type="text/html", body="<h1>The page of a proxy</h1>"),
        lambda route: route.abort(),
    ]
    for attempt, reply in enumerate(bad):
        page.route("**/ask/price", reply)
        area.fill(f"SELECT COUNT(*) AS n{attempt} FROM visits")
        expect(panel.locator(".note.bad")).to_contain_text("could not be fetched")
        expect(panel.get_by_role("link", name="Sign in again")).to_be_visible()
        expect(page.locator("#say")).to_contain_text("could not be fetched")

        assert "raw" not in panel.inner_text()
        assert "proxy" not in panel.inner_text()
        assert panel.locator("#price-sum").count() == 0
        page.unroute("**/ask/price")
        area.fill("SELECT COUNT(*) AS n FROM visits")
        expect(panel.locator("#price-sum")).to_be_visible()

    area.fill("")
    expect(panel.locator(".empty")).to_be_visible()
    expect(panel.locator("#price-sum")).to_have_count(0)
