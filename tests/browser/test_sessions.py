"""Coming in from elsewhere, and coming back: nobody who is signed in is asked to sign in again, and nothing is lost."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.test_pages import CSRF, Door, entered


def test_the_door_leads_back_to_the_whole_address(served):
    door = Door(served)
    reply = door("GET", "/ask", params={"question": "SELECT COUNT(*) FROM visits", "amount": "0.1"})
    where = reply.headers["location"]
    token = CSRF.search(door("GET", where).text)[1]
    back = door("POST", where, data={"csrf": token, "token": served.tokens["analyst"]}).headers["location"]

    assert where.startswith("/signin?next=/ask%3F")
    assert back == "/ask?question=SELECT+COUNT%28%2A%29+FROM+visits&amount=0.1"
    assert "SELECT COUNT(*) FROM visits" in door("GET", back).text


def test_a_form_that_comes_too_late_leads_back_to_its_page_and_to_no_other_site(served):
    for referer, back in (
        ("http://127.0.0.1/ask?amount=1", "?next=/ask"),
        ("http://e.example//e.example", ""),
        ("", ""),
    ):
        reply = Door(served)("POST", "/ask/answer", data={"question": "q"}, headers={"referer": referer})

        assert reply.headers["location"] == f"/signin{back}", referer


def test_somebody_who_is_signed_in_may_go_on_from_the_door(served):
    door = entered(served, "analyst")
    page = door("GET", "/signin", params={"next": "/budget"}).text

    assert "You are signed in as <strong>the analyst</strong>" in page
    assert '<a href="/budget">Continue</a>' in page
    assert "You are signed in" not in Door(served)("GET", "/signin").text


def test_a_link_of_another_site_leads_to_the_page_and_not_to_the_door(site, visitors, name):
    """The cookie is not sent with it, as other sites cannot use it: the twin that leads to the door fails here."""
    page = visitors.signed_in(site.token(name))
    page.goto(f"data:text/html,<a href='{site.url}/budget?start=0'>the budget</a>")
    page.get_by_role("link").click()
    expect(page.get_by_role("heading", name="Budget")).to_be_visible()

    assert page.url == f"{site.url}/budget?start=0"

    stranger = visitors.page()
    stranger.goto(f"data:text/html,<a href='{site.url}/budget'>the budget</a>")
    stranger.get_by_role("link").click()
    expect(stranger.get_by_role("heading", name="Sign in")).to_be_visible()


def test_what_was_written_is_there_again_after_the_session_has_ended(site, visitors, name):
    token = site.token(name)
    page = visitors.signed_in(token)
    visitors.expected.append("401")
    page.goto("/ask")
    page.get_by_label("Question, in SQL").fill("SELECT COUNT(*) AS kept FROM visits")
    page.get_by_label("Amount").fill("0.07")
    page.locator("#price-sum", has_text="0.07").wait_for()
    page.context.clear_cookies()
    page.get_by_label("Amount").fill("0.08")
    expect(page.locator("#price")).to_contain_text("not signed in")  # and not the price of something else
    expect(page.locator("#price-sum")).to_have_count(0)
    page.get_by_role("button", name="Continue to confirm").click()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Question, in SQL")).to_have_value("SELECT COUNT(*) AS kept FROM visits")
    expect(page.get_by_label("Amount")).to_have_value("0.08")
    expect(page.locator("#price-sum")).to_contain_text("0.08")

    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.goto("/ask")
    expect(page.get_by_label("Question, in SQL")).to_have_value("")  # whoever signs out leaves nothing behind
