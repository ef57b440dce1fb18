// A little help for those who have scripts: the live price, colours in the editor, orders that report by themselves.
// Every page works without it.
"use strict";

document.documentElement.classList.add("script");

const WAIT_MS = 350; // after the last key
const POLL_MS = 1500;
const SLOWEST_MS = 30000; // between looks while nothing answers
const PART = "Discreet-Part"; // a piece of a page is asked for with this header, and carries it

// A piece of a page; whatever is not one, of a proxy or another page, is no answer.
async function part(address, options = {}) {
  const reply = await fetch(address, { credentials: "same-origin", redirect: "error", headers: { [PART]: "yes" }, ...options });
  if (!reply.headers.has(PART)) throw new Error("not a part of a page");
  return reply;
}

function livePrice(form) {
  const panel = document.getElementById("price");
  const say = document.getElementById("say");
  let timer = 0;
  let running = null;
  let last = "";

  function show(template) {
    panel.replaceChildren(document.getElementById(template).content.cloneNode(true));
    panel.removeAttribute("aria-busy");
    last = "";
  }

  async function look() {
    const data = new FormData(form);
    const sent = new URLSearchParams(data);
    const empty = !String(data.get("question")).trim() || !String(data.get("amount")).trim();
    if (!empty && sent.toString() === last) return;
    if (running) running.abort();
    running = null;
    if (empty) {
      show("no-price");
      say.textContent = "";
      return;
    }
    last = sent.toString();
    const mine = running = new AbortController();
    panel.setAttribute("aria-busy", "true");
    try {
      const reply = await part(form.dataset.price, { method: "POST", body: sent, signal: mine.signal });
      const text = await reply.text();
      if (mine !== running) return;
      panel.innerHTML = text;
      panel.removeAttribute("aria-busy");
      if (!reply.ok) last = "";
      const sum = panel.querySelector("#price-sum, [role=alert]");
      say.textContent = sum ? sum.textContent.replace(/\s+/g, " ").trim() : "";
      panel.querySelectorAll("[role=alert]").forEach((note) => note.removeAttribute("role"));
    } catch {
      if (mine !== running) return; // another has taken its place
      show("lost-price");
      say.textContent = "The price could not be fetched.";
    }
  }

  function soon() {
    window.clearTimeout(timer);
    timer = window.setTimeout(look, WAIT_MS);
  }

  form.addEventListener("input", soon);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(form.querySelector("button[value=confirm]"));
    }
  });
  if (!panel.querySelector(".outputs, .note")) look();
}

// What was written is there again after a session has ended: in this tab, and for the same person.
function keeps(form) {
  const place = "discreet " + form.dataset.keep;
  const fields = [...form.elements].filter((one) => one.name && one.name !== "csrf" && one.type !== "submit");
  const question = form.elements.question;
  const kept = window.sessionStorage.getItem(place);
  if (kept && !question.value) {
    const found = JSON.parse(kept);
    fields.forEach((one) => { if (one.name in found) one.value = found[one.name]; });
  }
  form.addEventListener("input", () => {
    const now = Object.fromEntries(fields.map((one) => [one.name, one.value]));
    window.sessionStorage.setItem(place, JSON.stringify(now));
  });
}

const WORDS = new Set((
  "select from where group by having order limit as and or not in between is null true false case when then else end " +
  "join inner left on using distinct asc desc cast extract with union all date interval"
).split(" "));
const CALLS = new Set("count sum avg min max stddev variance median quantile percentile_cont floor ceil abs".split(" "));
const TOKEN = /(--[^\n]*)|('(?:[^']|'')*'?)|(\b\d+(?:\.\d+)?\b)|([A-Za-z_]\w*)|([^A-Za-z_'\d-]+|[\s\S])/g; // every character is in one

function colours(area) {
  const behind = area.parentElement.querySelector("pre");
  function paint() {
    const parts = [];
    for (const [text, remark, string, number, word] of area.value.matchAll(TOKEN)) {
      const low = (word || "").toLowerCase();
      const kind = remark ? "remark" : string ? "string" : number ? "number" :
        WORDS.has(low) ? "word" : CALLS.has(low) ? "call" : "";
      const span = document.createElement("span");
      if (kind) span.className = "t-" + kind;
      span.textContent = text;
      parts.push(span);
    }
    behind.replaceChildren(...parts, "\n");
    behind.scrollTop = area.scrollTop;
    behind.scrollLeft = area.scrollLeft;
  }
  area.addEventListener("input", paint);
  area.addEventListener("scroll", paint);
  area.parentElement.classList.add("painted");
  paint();
}

function onlyIfApprox(select) {
  const line = select.closest("fieldset").querySelector(".if-approx");
  const show = () => { line.hidden = select.value !== "approx"; };
  select.addEventListener("change", show);
  show();
}

function follow(panel) {
  const said = document.getElementById("job-said");
  const lost = document.getElementById("job-lost");
  const cancel = document.getElementById("job-cancel");
  let shown = "";
  let failures = 0;

  function show(text) {
    if (text === shown) return;
    shown = text;
    panel.innerHTML = text;
    const words = panel.querySelector("[data-said]").dataset.said;
    if (said.textContent !== words) said.textContent = words;
  }

  async function look() {
    try {
      const reply = await part(panel.dataset.poll);
      if (!reply.ok) throw new Error("no news");
      show(await reply.text());
      failures = 0;
    } catch {
      failures += 1;
    }
    lost.hidden = failures === 0;
    const over = panel.querySelector("[data-over]").dataset.over === "yes";
    if (!over) {
      window.setTimeout(look, Math.min(SLOWEST_MS, POLL_MS * 2 ** Math.min(failures, 10)));
    } else if (cancel) {
      const held = cancel.contains(document.activeElement);
      cancel.remove();
      if (held) document.querySelector("h1").focus();
    }
  }
  window.setTimeout(look, POLL_MS);
}

function once(form) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    const button = event.submitter;
    if (button) { button.setAttribute("aria-disabled", "true"); button.classList.add("busy"); }
  });
  window.addEventListener("pageshow", () => {
    delete form.dataset.sent;
    form.querySelectorAll(".busy").forEach((b) => { b.classList.remove("busy"); b.removeAttribute("aria-disabled"); });
  });
}

function copies(button) {
  button.addEventListener("click", async () => {
    const field = document.getElementById(button.dataset.copy);
    field.select();
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  });
}

document.querySelectorAll("form[data-keep]").forEach(keeps);
document.querySelectorAll("[data-answered]").forEach(() => window.sessionStorage.clear());
document.querySelectorAll("form[action='/signout']").forEach((form) => {
  form.addEventListener("submit", () => window.sessionStorage.clear());
});
document.querySelectorAll("form[data-price]").forEach(livePrice);
document.querySelectorAll(".editor textarea").forEach(colours);
document.querySelectorAll("select[name=currency]").forEach(onlyIfApprox);
document.querySelectorAll("[data-poll]").forEach(follow);
document.querySelectorAll("form[data-once]").forEach(once);
document.querySelectorAll("button[data-copy]").forEach(copies);
