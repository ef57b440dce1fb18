"""The page of an order follows it to its end, whatever it is answered in between, and leaves the keyboard alone."""

from __future__ import annotations

from playwright.sync_api import Page, Route, expect

from discreet.service.console.page import PART, templates

JOB = {
    "id": "0123456789abcdef", "kind": "synthesis", "principal": "ada", "state": "running", "receipt": None,
    "cost": None, "progress": {"done": 1, "total": 4, "label": "measuring"}, "problem": None, "created": 0.0,
    "updated": 0.0, "order": {"table": "visits"}, "files": [],
}  # fmt: skip


def _opened(page: Page) -> None:
    """The page of an order that the service does not have."""
    here = {
        "me": {"principal": "ada", "role": "analyst"},
        "csrf": "",
        "here": "/releases",
        "done": None,
        "problem": None,
    }
    text = templates().get_template("job.html").render(job=JOB, result={}, over=False, place="/releases", **here)
    page.route("**/jobs/0123456789abcdef", lambda route: route.fulfill(content_type="text/html", body=text))
    page.goto("/jobs/0123456789abcdef")


def _told(route: Route, **changes: object) -> None:
    job = {**JOB, **changes}
    text = templates().get_template("_job.html").render(job=job, result={}, over=job["state"] == "done")
    route.fulfill(content_type="text/html", body=text, headers={PART: "yes"})


def test_an_order_is_followed_to_its_end_through_replies_that_tell_nothing(site, visitors, name):
    """The twin that stops after one bad reply never says that the order is done."""
    page = visitors.signed_in(site.token(name))
    visitors.expected += ["503", "ERR_FAILED"]
    page.clock.install()
    replies = [
        lambda route: route.fulfill(status=503, body="{}"),
        lambda route: route.abort(),
        lambda route: _told(route, progress={"done": 2, "total": 4, "label": "measuring"}),
        lambda route: _told(route, progress={"done": 2, "total": 4, "label": "measuring"}),
        lambda route: _told(route, state="done"),
    ]
    asked = []

    def reply(route: Route) -> None:
        asked.append(route.request.headers.get(PART.lower()))
        replies[len(asked) - 1](route)

    page.route("**/jobs/*?fragment", reply)
    _opened(page)
    lost, said, cancel = page.locator("#job-lost"), page.locator("#job-said"), page.get_by_role("button", name="Cancel")
    cancel.focus()
    for count, visible in ((1, True), (2, True), (3, False)):
        page.clock.run_for(13_000)
        page.wait_for_function("(text) => document.querySelector('#job-lost').hidden !== text", arg=visible)
        expect(lost).to_be_visible() if visible else expect(lost).to_be_hidden()
        assert len(asked) >= count
    expect(page.locator("#job progress")).to_have_attribute("value", "50.0")
    expect(cancel).to_be_focused()  # what is replaced takes no keyboard away
    page.clock.run_for(10_000)
    expect(page.locator("#job .state")).to_have_text("done")
    expect(said).to_have_text("The order is done.")
    expect(cancel).to_have_count(0)
    expect(page.locator("h1")).to_be_focused()

    assert asked == ["yes"] * 5
    page.clock.run_for(60_000)
    assert len(asked) == 5  # and asks no more
    assert page.locator("[aria-live]").count() == 0  # but for the one line that says its state


def test_news_that_are_none_change_nothing_on_the_page(site, visitors, name):
    page = visitors.signed_in(site.token(name))
    page.clock.install()
    page.route("**/jobs/*?fragment", _told)
    _opened(page)
    page.clock.run_for(2_000)
    page.locator("#job[data-poll] progress").evaluate("one => { one.dataset.same = 'yes'; }")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    for _ in range(3):
        page.clock.run_for(2_000)

    assert page.locator("progress[data-same=yes]").count() == 1
