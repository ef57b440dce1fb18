"""How pages look and what they may load: phones, dark mode, labels, and a policy that is enforced."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

PAGES = ["/ask", "/datasets", "/datasets/visits", "/budget", "/releases", "/models", "/register", "/caps",
         "/approvals", "/tokens", "/audit"]  # fmt: skip
UNLABELLED = """() => [...document.querySelectorAll("input:not([type=hidden]), select, textarea")]
    .filter((field) => !field.labels.length && !field.getAttribute("aria-label")).map((field) => field.outerHTML)"""
WITHOUT_NAME = """() => [...document.querySelectorAll("a, button, img")]
    .filter((one) => !(one.innerText.trim() || one.getAttribute("aria-label") || one.getAttribute("alt")) &&
        one.checkVisibility()).map((one) => one.outerHTML)"""


CUT = """() => [...document.querySelectorAll("th, td, dd, .meter span, .card p, h1, h2")]
    .filter((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1 &&
        getComputedStyle(one).overflow !== "auto").map((one) => one.outerHTML.slice(0, 200))"""
BROKEN = """() => [...document.querySelectorAll("th code, td a, .state")]
    .filter((one) => one.checkVisibility() && one.getClientRects().length > 1).map((one) => one.outerHTML)"""
LONG = "the_longest_name_of_a_working_group_" * 2


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_is_wider_than_a_phone_and_everything_has_a_name(site, visitors, name, scheme):
    small = {"viewport": {"width": 360, "height": 740}, "color_scheme": scheme, "has_touch": True}
    page = visitors.signed_in(site.token(f"{LONG}{name}", role="steward"), **small)
    page.goto("/caps")
    page.get_by_label("Name", exact=True).fill(LONG)
    page.get_by_label("Of which unit").select_option("patient")
    page.get_by_label("Amount").fill("0.005")
    page.get_by_label("Reason").fill("to see how it looks")
    page.get_by_role("button", name="Set", exact=True).click()
    for path in PAGES:
        page.goto(path)
        expect(page.locator("h1")).to_be_visible()

        assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        assert page.evaluate(CUT) == [], path
        assert page.evaluate(BROKEN) == [], path
        assert page.evaluate(UNLABELLED) == [], path
        assert page.evaluate(WITHOUT_NAME) == [], path
        assert page.locator("h1").count() == 1, path
        assert page.locator("main").count() == 1, path
    page.goto("/tokens")
    revoke = page.get_by_role("link", name=re.compile("^Revoke")).first
    assert revoke.bounding_box()["x"] + revoke.bounding_box()["width"] <= 360  # without scrolling the table
    page.get_by_text("Menu").click()
    page.get_by_role("link", name="Budget").click()
    expect(page.get_by_role("heading", name="Budget")).to_be_visible()


def test_the_policy_is_enforced_and_its_violations_are_noticed(site, visitors, name):
    """The twin: a page that carried a script or a style of its own would fail every test here."""
    page = visitors.signed_in(site.token(name))
    page.evaluate("""() => {
        window.violated = [];
        document.addEventListener("securitypolicyviolation", (event) => window.violated.push(event.violatedDirective));
        const script = document.createElement("script");
        script.textContent = "window.ran = true";
        document.body.append(script);
        document.body.setAttribute("style", "color: red");
        const image = document.createElement("img");
        image.src = "https://elsewhere.example/pixel.png";
        document.body.append(image);
    }""")
    page.wait_for_function("() => window.violated.length >= 3")

    assert page.evaluate("window.ran") is None
    for directive in ("script-src", "style-src", "img-src"):
        assert any(directive in said for said in visitors.settled()), directive
    visitors.complaints.clear()
