// The frame: headline, counts, environment, keys, and the address that opens a case.
function headline(summary) {
  if (summary.unexpected > 0) {
    return summary.unexpected === 1 ? "One result is not as expected" : `${summary.unexpected} results are not as expected`;
  }
  if (summary.cases - summary.skipped === 0) return "Nothing was checked";
  return summary.cases === 1 ? "The case came out as expected" : `All ${summary.cases} cases came out as expected`;
}

function subline(summary) {
  const parts = [plural(summary.cases, "case", "cases"), plural(summary.relations, "relation", "relations")];
  if (summary.collapsed) parts.push(`${summary.collapsed} collapsed (the same Program as another case)`);
  parts.push(`${entries.length} results below, relations among them`, `${summary.seconds.toFixed(1)} s`, `backend ${report.environment.backend}`, `provider ${report.environment.provider}`);
  return parts.join(" · ");
}

function outcomeCounts() {
  return OUTCOMES.map((outcome) => [outcome, entries.filter((entry) => entry.outcome === outcome).length]).filter(([, count]) => count);
}

function filterByOutcome(outcome) {
  const select = byId("filter-outcome");
  select.value = select.value === outcome ? "" : outcome;
  drawTable();
  byId("results").scrollIntoView();
}

function drawTop() {
  const { summary, tool } = report;
  const good = summary.unexpected === 0 && summary.cases > summary.skipped;
  document.title = `${headline(summary)} · moediff`;
  byId("version").textContent = `${tool.version}${tool.commit ? ` · ${tool.commit}` : ""}`;
  byId("headline").textContent = headline(summary);
  byId("headline").className = good ? "good" : "bad";
  byId("subline").textContent = subline(summary);
  byId("share-bar").replaceChildren(...outcomeCounts().map(([outcome, count]) => h(`i.${outcome}`, { style: `flex-grow:${count}`, title: `${count} ${outcome}` })));
  byId("tiles").replaceChildren(...outcomeCounts().map(([outcome, count]) => h("li", null,
    h(`button.tile.${outcome}`, { type: "button", onclick: () => filterByOutcome(outcome), title: `show only ${outcome}` },
      h("b", null, String(count)), h("span", null, outcome)))));
}

function drawEnvironment() {
  const { environment: e, tool, command } = report;
  const values = [["command", `moediff ${command.join(" ")}`], ["build", tool.build], ["host", e.host], ["cpu", e.cpu], ["threads", e.threads],
    ["backend", e.backend], ["device", e.device], ["runtime", e.runtime], ["provider", e.provider], ["flags", e.flags], ...Object.entries(e.env)];
  byId("environment").replaceChildren(...facts(values).childNodes);
}

function openFromAddress() {
  const id = decodeURIComponent(location.hash.slice(1));  // "#case=ID", or just "#ID" as people type it
  if (id) openDetail(id.startsWith("case=") ? id.slice(5) : id);
}

function onKey(event) {
  const typing = event.target.closest("input, select, textarea");
  if (event.key === "Escape") {
    if (typing) event.target.blur();
    else if (table.open) closeDetail();
    return;
  }
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("filter-text").focus();
  }
  if (event.key === "j") moveFocus(1);
  if (event.key === "k") moveFocus(-1);
}

drawTop();
drawEnvironment();
startMatrix();
startTable();
openFromAddress();
addEventListener("hashchange", openFromAddress);
addEventListener("keydown", onKey);
