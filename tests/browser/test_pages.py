"""discreet.service.console: who may see which page, forms that only our pages can send, and texts that stay texts."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from types import SimpleNamespace

import httpx
import pytest

from discreet.service.console.files import POLICY
from discreet.service.console.page import BLOCK, templates
from discreet.service.console.pages import PAGES
from discreet.service.settings import Settings
from discreet.service.tokens import issue
from tests.service.conftest import hospital, opened

LOOPBACK, ABROAD = "http://127.0.0.1", "https://curator.example"
GETS = [path for methods, path, _ in PAGES if "GET" in methods and "{" not in path]
POSTS = [path for methods, path, _ in PAGES if "POST" in methods]
CSRF = re.compile(r'name="csrf" value="([0-9a-f]{64})"')


class Door:
    """A browser without a screen: it keeps cookies and sends forms."""

    def __init__(self, served, base: str = LOOPBACK) -> None:
        self._served, self._base, self.cookies = served, base, httpx.Cookies()

    def __call__(self, method: str, path: str, **given: object) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._served.app, raise_app_exceptions=False)
            asked = {"transport": transport, "base_url": self._base, "cookies": self.cookies, "timeout": 120}
            async with httpx.AsyncClient(**asked) as client:
                reply = await client.request(method, path, **given)
                self.cookies = client.cookies
                return reply

        return self._served.wait(send())

    def form(self, path: str, **fields: str) -> httpx.Response:
        """Send a form with the token of the page it is on."""
        return self("POST", path, data={"csrf": self.csrf, **fields})

    @property
    def csrf(self) -> str:
        return CSRF.search(self("GET", "/budget").text)[1]

    def sign_in(self, secret: str) -> httpx.Response:
        token = CSRF.search(self("GET", "/signin").text)[1]
        return self("POST", "/signin", data={"csrf": token, "token": secret})


def entered(served, role: str = "steward", base: str = LOOPBACK) -> Door:
    """Somebody who has signed in."""
    door = Door(served, base)
    assert door.sign_in(served.tokens[role]).status_code == 303
    return door


def test_a_page_leads_to_the_door_and_back_when_nobody_is_signed_in(served):
    for path in GETS:
        reply = Door(served)("GET", path)
        back = "" if path == "/" else f"?next={path}"

        assert (reply.status_code, reply.headers["location"]) == (303, f"/signin{back}")


@pytest.mark.parametrize("role", ["steward", "analyst", "auditor"])
def test_every_page_opens_for_those_whom_the_api_lets_in_and_for_nobody_else(file, role):
    """The console decides nothing: what it answers is what the API behind each page answers."""
    behind = {"/register": "/v1/tokens", "/caps": "/v1/tokens", "/tokens": "/v1/tokens", "/approvals": "/v1/approvals",
              "/releases": "/v1/jobs", "/models": "/v1/jobs", "/audit": "/v1/audit"}  # fmt: skip
    with opened(file) as served:
        served.app.state.runner = SimpleNamespace(jobs=SimpleNamespace(records=served.app.state.records))
        door = entered(served, role)
        for path in set(GETS) - {"/"}:
            direct = served("GET", behind.get(path, "/v1/datasets"), as_=role).status_code
            missing = path == "/audit" and direct == 404  # no audit yet is a page that says so
            allowed = 200 if direct < 400 or missing else direct
            if path == "/budget/report" and role == "analyst":
                allowed = 403

            assert door("GET", path).status_code == allowed, path


def test_the_cookie_is_for_this_site_alone_and_out_of_reach_of_scripts(served):
    reply = Door(served).sign_in("dct_00000000_" + "A" * 43)
    assert reply.status_code == 401
    assert "discreet=" not in reply.headers.get("set-cookie", "").replace("discreet-door=", "")

    here, abroad = Door(served), Door(served, ABROAD)
    kept = {door: door.sign_in(served.tokens["analyst"]).headers.get_list("set-cookie") for door in (here, abroad)}
    loopback = next(line for line in kept[here] if line.startswith("discreet="))
    remote = next(line for line in kept[abroad] if line.startswith("__Host-discreet="))

    for line in (loopback, remote):
        assert "HttpOnly" in line
        assert "SameSite=strict" in line
        assert "Path=/" in line
        assert "Domain" not in line
        assert served.tokens["analyst"] not in line  # a session of its own, never the token
    assert "Secure" in remote
    assert "Secure" not in loopback


def test_behind_a_proxy_the_cookie_is_kept_to_tls_whatever_the_proxy_calls_us(file):
    with opened(file, replace(Settings.read(file), behind_proxy=True)) as served:
        door = Door(served)("GET", "/signin").headers["set-cookie"]

    assert door.startswith("__Host-discreet-door=")
    assert "Secure" in door


def test_a_form_without_the_token_of_our_pages_does_nothing(served):
    """The twins: no token, another session's token, and the right token sent from another site."""
    door, other = entered(served), entered(served)
    mine, theirs, fields = door.csrf, other.csrf, {"principal": "eve", "role": "steward", "days": "1"}
    assert len(POSTS) >= 14
    for path in (path.replace("{id}", "0") for path in POSTS):
        replies = [
            door("POST", path, data=fields),
            door("POST", path, data={"csrf": theirs, **fields}),
            door("POST", path, data={"csrf": mine, **fields}, headers={"sec-fetch-site": "cross-site"}),
        ]

        assert [reply.status_code for reply in replies] == [403] * 3, path
    assert "eve" not in served("GET", "/v1/tokens").text
    assert door("GET", "/datasets").status_code == 200  # still signed in


def test_a_sign_in_form_of_another_site_is_refused(served):
    door = Door(served)
    reply = door("POST", "/signin", data={"token": served.tokens["steward"], "csrf": "0" * 64})

    assert reply.status_code == 403
    assert door("GET", "/datasets").status_code == 303


def test_signing_out_ends_the_session_on_the_server_too(served):
    door = entered(served)
    kept = httpx.Cookies(door.cookies)
    assert door.form("/signout").headers["location"] == "/signin"

    door.cookies = kept  # a copy of the cookie is worth nothing now
    assert door("GET", "/datasets").status_code == 303


@pytest.mark.parametrize("where", ["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example"])
def test_signing_in_leads_to_no_other_site(served, where):
    door = Door(served)
    token = CSRF.search(door("GET", "/signin").text)[1]
    reply = door("POST", "/signin", params={"next": where}, data={"csrf": token, "token": served.tokens["analyst"]})

    assert reply.headers["location"] == "/"


def test_every_page_has_the_policy_and_nothing_inline(served):
    door = entered(served)
    for path in {*GETS, "/datasets/visits", "/signin"} - {"/", "/budget/report", "/releases", "/models"}:
        reply = door("GET", path)

        assert reply.headers["content-security-policy"] == POLICY, path
        assert reply.headers["cache-control"] == "no-store", path
        assert not re.search(r"<style|style=|<script(?! src=\"/static/)|\son\w+=|javascript:", reply.text), path
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', reply.text), path
    assert "unsafe" not in POLICY


def test_what_people_write_stays_text(file):
    """A name, a question and a table that are markup elsewhere; the twin renders them without escaping."""
    markup = "<img src=x onerror=alert(1)>"
    with opened(file) as served:
        secret = issue(served.app.state.store, principal=markup, role="steward", days=1)
        door = Door(served)
        door.sign_in(secret)
        pages = [door("GET", "/tokens").text, door.form("/ask", question=markup, amount="0.1").text,
                 door.form("/ask/price", question=markup, amount=markup).text,
                 door("GET", "/ask", params={"question": f"</textarea>{markup}"}).text]  # fmt: skip

    assert [markup in page for page in pages] == [False] * 4
    assert escape(markup) in pages[0]
    unescaped = templates().overlay(autoescape=False).from_string("{{ name }}").render(name=markup)
    assert markup in unescaped


def test_a_secret_is_shown_once_and_in_no_other_page(served):
    door = entered(served)
    made = door.form("/tokens", principal="ada", role="analyst", days="1").text
    (secret,) = re.findall(r"dct_[0-9a-f]{8}_[\w-]{43}", made)

    assert served("GET", "/v1/me", as_=secret).json()["principal"] == "ada"
    assert [path for path in GETS if secret in door("GET", path).text] == []


def test_pages_are_padded_so_that_digits_do_not_show_in_their_length(served):
    door = entered(served)

    assert {len(door("GET", path).content) % BLOCK for path in ("/datasets", "/budget", "/ask")} == {0}


def test_only_the_files_of_the_console_are_served(served):
    door = Door(served)

    assert door("GET", "/static/console.css").headers["content-type"].startswith("text/css")
    for name in ("..%2fpages.py", "%2e%2e/pages.py", "nothing.js", "console.css%00"):
        assert door("GET", f"/static/{name}").status_code == 404


def test_a_withheld_or_refused_question_says_so_and_keeps_what_was_written(tmp_path):
    file = hospital(tmp_path)
    with opened(file) as served:
        door = entered(served, "analyst")
        reply = door.form("/ask", question="SELECT ward FROM nowhere", amount="0.1", step="confirm")

    assert reply.status_code == 400
    assert "SELECT ward FROM nowhere" in reply.text
    assert 'role="alert"' in reply.text


DEEP = "[" * 20_000
ODD = [
    {},
    {
        "question": "\x00\u202e",
        "amount": "1e999",
        "currency": "rho",
        "kind": "fit",
        "table": "\u0661",
        "days": "\u0661",
    },
    {"question": "'" * 5000, "amount": "-1", "currency": "approx", "delta": "nan", "kind": "release", "ways": "-3"},
    {"question": "SELECT COUNT(*) FROM visits", "amount": "0.1", "currency": "error", "kind": "synthesis", "key": "\n"},
    {"name": "visits", "source": "x", "columns": 'a = { type = "integer", low = "" }', "scope": "unit", "reason": "r"},
    {
        "question": "SELECT 1",
        "amount": "nan",
        "currency": "error",
        "key": "\u00e9",
        "parameters": '{"bins": NaN}',
        "kind": "fit",
        "table": "visits",
        "model": "NaiveBayes",
        "step": "send",
        "body": "[",
    },
    {
        "question": "SELECT COUNT(*) FROM visits",
        "amount": "0.1",
        "key": "\u00e9",
        "parameters": DEEP,
        "kind": "fit",
        "table": "visits",
        "model": "NaiveBayes",
        "columns": f"a = {DEEP}",
        "name": "t",
        "source": "x",
    },
    {
        "name": "t",
        "source": "x",
        "columns": "a = { type = 'date', low = 2020-01-01, high = inf }",
        "body": '{"a": NaN}',
    },
    {"decision": "perhaps", "step": "send", "format": "exe", "principal": "a" * 500, "role": "king", "days": "1"},
]
AWAY = ["/budget?start=abc", "/budget?start=-1", "/datasets/nothing", "/datasets/nothing/mock", "/jobs/0?fragment",
        "/datasets/visits/mock?rows=x", "/jobs/0/result?file=..%2f..%2fcurator.toml", "/ask?amount=%00"]  # fmt: skip


def test_no_form_and_no_address_however_odd_makes_a_page_fail(served):
    """What a handler does not foresee is answered by the service in JSON; a page is always a page."""
    door = entered(served)
    csrf = door.csrf
    for path in sorted({path.replace("{id}", "0") for path in POSTS} - {"/signout"}):
        for fields in ODD:
            reply = door("POST", path, data={"csrf": csrf, **fields})

            assert reply.headers["content-type"].startswith("text/html"), (path, fields)
    for path in AWAY:
        assert door("GET", path).headers["content-type"].startswith("text/html"), path
