// Times in the person's own zone, readings of charts, copying of a key. Every page is whole without it.
"use strict";
(() => {
  const part = { day: "numeric", month: "short" };
  const clock = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
  const forms = {
    second: { ...part, ...clock, second: "2-digit" },
    minute: { ...part, year: "numeric", ...clock },
    day: { ...part, year: "numeric" },
    clock,
  };
  for (const name in forms) forms[name] = new Intl.DateTimeFormat("en-GB", forms[name]);

  function localize(root) {
    for (const time of root.querySelectorAll("time[data-form]")) {
      const text = forms[time.dataset.form].format(new Date(time.dateTime)).replace(" at ", ", ");
      if (time.textContent !== text) time.textContent = text;
    }
    for (const said of root.querySelectorAll("[data-at]")) {
      const title = said.querySelector("title") ?? said;
      title.textContent = title.textContent.replace(/^\d\d:\d\d UTC/, forms.clock.format(new Date(said.dataset.at)));
    }
  }

  // Moments of a filter are typed in the person's own zone, as the list has them, and asked for in UTC.
  for (const input of document.querySelectorAll("[data-moment]")) {
    const written = (at) => new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19).replace(/:00$/, "");
    const asUTC = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$/.test(input.value) ? input.value + (input.value.length === 10 ? "T00:00Z" : "Z") : input.value;
    if (!isNaN(new Date(asUTC))) input.value = written(new Date(asUTC));
    input.placeholder = input.placeholder && written(new Date()).slice(0, 16);
    for (const zone of input.closest("label").querySelectorAll(".zone")) zone.textContent = "";
    input.form.addEventListener("submit", () => {
      const at = new Date(input.value.length === 10 ? input.value + "T00:00" : input.value);
      if (!isNaN(at)) input.value = at.toISOString();
    });
  }

  // A second click sends no form twice. If the answer does not come, the form can be sent again after a while.
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (event.target.dataset.sent) return event.preventDefault();
    event.target.dataset.sent = "yes";
    setTimeout(() => delete event.target.dataset.sent, 10000);
  });
  window.addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });

  // The column under the pointer, or the one that the arrow keys choose, says its figures in the chart's caption.
  let chosen = -1; // among all columns
  const columns = () => [...document.querySelectorAll(".column")];
  function read(column) {
    chosen = columns().indexOf(column);
    for (const other of document.querySelectorAll(".column.read")) other.classList.remove("read");
    column?.classList.add("read");
    for (const reading of document.querySelectorAll(".reading")) {
      const text = column && column.closest(".chart").contains(reading) ? column.querySelector("title").textContent : "";
      if (reading.textContent !== text) reading.textContent = text;
    }
  }
  const columnOf = (event) => event.target.closest?.(".column");
  document.addEventListener("pointerover", (event) => read(columnOf(event)));
  document.addEventListener("keydown", (event) => {
    const chart = event.target.closest?.(".plot svg");
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!chart) return;
    const own = [...chart.querySelectorAll(".column")], at = own.indexOf(columns()[chosen]);
    if (event.key === "Enter" && own[at]?.href) location.href = own[at].href.baseVal;
    if (!step) return;
    event.preventDefault();
    read(own[at < 0 ? (step < 0 ? own.length - 1 : 0) : Math.min(Math.max(at + step, 0), own.length - 1)]);
  });

  // Dragging over columns opens what all of them count: from the first one's beginning to the last one's end.
  let first;
  document.addEventListener("dragstart", (event) => { if (columnOf(event)) event.preventDefault(); });
  document.addEventListener("pointerdown", (event) => { first = columnOf(event); });
  document.addEventListener("pointerup", (event) => {
    const ends = [first, columnOf(event)].filter((c) => c?.href).map((c) => new URL(c.href.baseVal, location));
    if (ends.length < 2 || first === columnOf(event) || first.parentNode !== columnOf(event).parentNode) return;
    const [from, to] = ["from", "to"].map((name) => ends.map((end) => end.searchParams.get(name)).sort());
    if (!from[0] || !to[1]) return;
    ends[0].searchParams.set("from", from[0]);
    ends[0].searchParams.set("to", to[1]);
    location.href = ends[0];
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent)
      .then(() => { button.textContent = "Copied"; });
  });

  // A slash, or Control and K, goes to the search.
  document.addEventListener("keydown", (event) => {
    const find = document.getElementById("find");
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    const wanted = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey || event.key === "k" && (event.ctrlKey || event.metaKey);
    if (!find || !wanted) return;
    event.preventDefault();
    find.focus();
    find.select();
  });

  // A live part comes whole, and then as what changed: its lines by number, and new ones. A list waits while it is paused, or while the
  // reader has scrolled into it, and says how many rows are new.
  const live = document.getElementById("live"), hold = document.getElementById("hold");
  let lines = [], paused = false, kept, fresh = 0;
  const within = () => live.getBoundingClientRect().top < -40;
  function label() {
    if (hold) hold.textContent = fresh ? fresh + " new" : paused ? "Go on" : "Pause";
  }
  function show() {
    if (kept !== undefined) htmx.swap({ sourceElement: live, target: live, swap: "innerMorph", text: kept }).then(() => localize(document));
    kept = undefined;
    fresh = 0;
    label();
  }
  document.addEventListener("htmx:sse:before:message", (event) => {
    const message = event.detail.message;
    if (message.event) return;
    const said = message.data.split("\n");
    lines = said[0] !== "patch" ? said : said.slice(1).flatMap((line) => {
      const [from, count] = line.slice(1).split(" ").map(Number);
      return line[0] === "+" ? line.slice(1) : lines.slice(from, from + count);
    });
    message.data = lines.join("\n");
    if (!hold || !paused && !within()) return;
    event.detail.cancelled = true;
    kept = message.data;
    fresh = (kept.match(/<tr id="[^"]*"/g) ?? []).filter((row) => !document.getElementById(row.slice(8, -1))).length;
    label();
  });
  hold?.addEventListener("click", () => {
    paused = !paused && kept === undefined;
    if (!paused) show();
    if (within()) live.scrollIntoView();
    label();
  });
  document.addEventListener("scroll", () => { if (hold && !paused && kept !== undefined && !within()) show(); }, { passive: true });

  localize(document);
  if (hold) hold.hidden = false;
  for (const button of document.querySelectorAll("[data-copy]")) button.hidden = !navigator.clipboard;
  document.addEventListener("htmx:sse:after:message", () => {
    localize(document);
    if (chosen >= 0) read(columns()[chosen]);
  });

  // A live part that does not come is old: the page says so. If the session or what the page shows is gone, the page is opened again and
  // leads to the login or says that; only once, because a proxy may refuse the live part alone. A stream that breaks off is taken up
  // again by the extension, but one that never began is not: it is asked for again when the console says, in five seconds if it does not.
  const again = "opened again: " + location.href;
  let asking;
  function stale(is) {
    const note = document.getElementById("stale");
    if (note) note.hidden = !is;
  }
  for (const name of ["htmx:sse:error", "htmx:response:error", "htmx:error"]) {
    document.addEventListener(name, (event) => {
      const answer = event.detail?.ctx?.response;
      const status = event.detail?.status ?? answer?.status; // of a stream that broke off, or never began
      if ((status === 401 || status === 404) && !sessionStorage.getItem(again)) {
        sessionStorage.setItem(again, "yes");
        location.reload();
        return;
      }
      stale(true);
      const seconds = Number(answer?.raw?.headers.get("Retry-After")) || 5;
      clearTimeout(asking);
      asking = setTimeout(() => {
        if (live && !live._htmx?.sse) htmx.trigger(live, "again");
      }, 1000 * Math.min(seconds, 60));
    });
  }
  document.addEventListener("htmx:sse:after:connection", () => {
    stale(false);
    sessionStorage.removeItem(again);
  });

  // What is over is whole only in a page of its own, whose content policy allows its pictures.
  document.addEventListener("over", () => location.reload());
})();
