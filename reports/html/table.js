// The verdict table: filters, sorting, and the panel under the row that is open.
const COLUMNS = [
  { key: "outcome", title: "Outcome", value: (e) => OUTCOMES.indexOf(e.outcome) },
  { key: "name", title: "Case or relation", value: (e) => e.name },
  { key: "cause", title: "Cause and place", value: (e) => e.cause || "~" },
  { key: "budget", title: "Budget used", value: (e) => e.budget ?? -1, number: true },
  { key: "seconds", title: "Seconds", value: (e) => e.seconds ?? -1, number: true },
];
const table = { sort: null, descending: false, open: null };

function matches(entry) {
  const words = byId("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const outcome = byId("filter-outcome").value;
  const cause = byId("filter-cause").value;
  const scenario = byId("filter-scenario").value;
  return words.every((word) => entry.haystack.includes(word)) && (!outcome || entry.outcome === outcome) &&
    (!cause || entry.cause === cause) && (!scenario || entry.record.scenario === scenario);
}

// What the reader came for first, then the order of the plan, until the reader sorts.
const URGENCY = { unexpected: 0, caught: 1, skipped: 3 };
const urgency = (record) => URGENCY[record.outcome] ?? 2;
function compareEntries(a, b) {
  if (table.sort === null) return urgency(a) - urgency(b) || a.index - b.index;
  const [x, y] = [a, b].map(COLUMNS.find((column) => column.key === table.sort).value);
  const order = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) : x - y;
  return (table.descending ? -order : order) || a.index - b.index;
}

function placeShort(record) {
  if (record.status === "skipped") return h("span.muted", null, record.skip_reason || "");
  if (record.kind === "relation") return h("span.muted", null, record.status === "pass" ? `${record.rule}, ${record.compared} elements` : record.explanation);
  if (!record.cause) return record.unexpected_because ? h("span.muted", null, record.unexpected_because) : "";
  return [h("span.cause-word", null, record.cause), record.blame && record.blame.op ? [h("span.muted", null, " at "), h("code", null, record.blame.op)] : null];
}

function budgetCell(budget) {
  if (budget === null || budget === undefined) return "";
  return h(budget > 1 ? "span.red" : "span", null, budget === Infinity ? "∞" : budget === 0 ? "exact" : short(budget));
}

function toggle(key) {
  const target = table.open === key ? "" : linkTo(key);
  if (target) location.hash = target;
  else closeDetail();
}

function drawRow(entry) {
  const { record } = entry;
  const open = table.open === entry.key;
  const link = h("a.id", { href: linkTo(entry.key), "aria-expanded": String(open), onclick: (event) => { event.preventDefault(); toggle(entry.key); } }, entry.name);
  const row = h(open ? "tr.row.open" : "tr.row", { onclick: (event) => { if (!event.target.closest("a") && !String(getSelection())) toggle(entry.key); } },
    h("td", null, pill(record)),
    h("td", null, record.kind === "relation" ? h("span.kind", null, "relation ") : null, link),
    h("td", null, placeShort(record)),
    h("td.number", null, budgetCell(entry.budget)),
    h("td.number", null, entry.seconds === null ? "" : entry.seconds.toFixed(2)));
  return open ? [row, h("tr.detail-row", null, h("td", { colspan: COLUMNS.length }, drawDetail(entry)))] : [row];
}

function drawHead() {
  byId("table-head").replaceChildren(...COLUMNS.map((column) => {
    const sorted = table.sort === column.key ? (table.descending ? "descending" : "ascending") : "none";
    return h(column.number ? "th.number" : "th", { scope: "col", "aria-sort": sorted },
      h("button.sort", { type: "button", onclick: () => sortBy(column.key) }, column.title, h("span.arrow", { "aria-hidden": "true" },
        sorted === "none" ? "" : table.descending ? " ↓" : " ↑")));
  }));
}

// One click ascending, two descending, three back to the plan's order.
function sortBy(key) {
  const next = table.sort !== key ? [key, false] : table.descending ? [null, false] : [key, true];
  [table.sort, table.descending] = next;
  drawHead();
  drawTable();
}

function drawTable() {
  const shown = entries.filter(matches).sort(compareEntries);
  byId("table-body").replaceChildren(...(shown.length ? shown.flatMap(drawRow)
    : [h("tr", null, h("td.empty", { colspan: COLUMNS.length }, "Nothing matches these filters."))]));
  byId("shown").textContent = shown.length === entries.length ? `${entries.length}` : `${shown.length} of ${entries.length}`;
}

function clearFilters() {
  byId("filter-text").value = "";
  for (const id of ["filter-outcome", "filter-cause", "filter-scenario"]) byId(id).value = "";
}

function openDetail(key) {
  const entry = entryByKey.get(key);
  if (!entry) return;
  table.open = entry.key;
  if (!matches(entry)) clearFilters();
  drawTable();
  const row = document.querySelector("tr.row.open");
  row.scrollIntoView({ block: "start" });
  row.querySelector("a.id").focus({ preventScroll: true });
}

function closeDetail() {
  const key = table.open;
  table.open = null;
  history.replaceState(null, "", location.pathname + location.search);
  drawTable();
  const link = [...document.querySelectorAll("a.id")].find((a) => a.getAttribute("href") === (key && linkTo(key)));
  if (link) link.focus({ preventScroll: true });
}

function moveFocus(step) {
  const links = [...document.querySelectorAll("tr.row a.id")];
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + step))];
  if (next) next.focus();
}

function fillSelect(id, all, values) {
  byId(id).replaceChildren(h("option", { value: "" }, all), ...values.map((value) => h("option", { value }, value)));
  byId(id).addEventListener("change", drawTable);
}

function startTable() {
  const present = (key) => [...new Set(entries.map(key).filter(Boolean))];
  fillSelect("filter-outcome", "any outcome", OUTCOMES.filter((outcome) => entries.some((e) => e.outcome === outcome)));
  fillSelect("filter-cause", "any cause", present((e) => e.cause).sort());
  fillSelect("filter-scenario", "any scenario", present((e) => e.record.scenario));
  byId("filter-text").addEventListener("input", drawTable);
  byId("filter-clear").addEventListener("click", () => { clearFilters(); drawTable(); });
  drawHead();
  drawTable();
}
