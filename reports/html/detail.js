// The panel of one record, made when it is opened.
const CONFIDENCE = {
  proved: "proved by experiment",
  fits: "fits the numbers; no experiment decided it",
  unknown: "not tested by experiment",
};

// A witness schedule cures nothing: it makes the error show. (A number that is not finite is null.)
function whatItDid(e) {
  if (e.cured) return "cured";
  return e.worst_after === null || e.worst_after > 1.5 * (e.worst_before ?? Infinity) ? "shows it" : "not cured";
}

function section(title, ...content) {
  const present = content.flat().filter(Boolean);
  return present.length ? h("section.part", null, h("h3", null, title), present) : null;
}

function causeLine(record) {
  if (!record.cause) return null;
  const b = record.blame;
  const where = b && [b.op && ["at ", h("code", null, b.op)], b.stream && [" on stream ", h("code", null, b.stream)],
    b.value && [", value ", h("code", null, b.value)], b.buffer && b.buffer !== b.value && [" in ", h("code", null, b.buffer)],
    b.writer && [", written by ", h("code", null, b.writer)]];
  return h("p.cause", null, h("span.pill.cause-name", { title: report.causes[record.cause] }, record.cause), " ", where,
    h("br"), h("span.muted", null, `${sentence(report.causes[record.cause] || record.cause)} ${sentence(CONFIDENCE[record.confidence] + (record.certain ? "; certain: no rounding explains it" : ""))}`));
}

function evidenceTable(evidence) {
  if (!evidence || !evidence.length) return null;
  return h("table.plain", null,
    h("thead", null, h("tr", null, ["changed one thing", "result", "worst error before", "after"].map((t, i) =>
      h(i > 1 ? "th.number" : "th", { scope: "col" }, t)))),
    h("tbody", null, evidence.map((e) => h("tr", null, h("td", null, e.intervention),
      h("td", null, h(`span.pill.${e.cured ? "pass" : "skipped"}`, null, whatItDid(e))),
      h("td.number", null, short(e.worst_before)), h("td.number", null, short(e.worst_after))))));
}

function coordinates(m) {
  const named = ["token", "expert", "slot", "column"].filter((name) => m[name] !== undefined).map((name) => `${name} ${m[name]}`);
  return named.length ? named.join(", ") : `element [${m.index.join(", ")}]`;
}

function mismatchTable(rows) {
  if (!rows.length) return null;
  return h("table.plain", null,
    h("thead", null, h("tr", null, ["value", "where"].map((t) => h("th", { scope: "col" }, t)),
      ["expected", "actual", "difference", "bound"].map((t) => h("th.number", { scope: "col" }, t)))),
    h("tbody", null, rows.map(({ label, m }) => h("tr", null, h("td", null, label), h("td", null, coordinates(m)),
      [m.expected, m.actual, m.actual === null || m.expected === null ? null : m.actual - m.expected, m.bound].map((v) => h("td.number", null, short(v)))))));
}

function hazardList(hazards) {
  if (!hazards || !hazards.length) return null;
  return h("ul.lines", null, hazards.map((z) => h("li", null, h("b", null, z.kind), ": ", h("code", null, z.writer || "nobody"), " writes, ",
    h("code", null, z.reader || "nobody"), " reads ", z.value ? h("code", null, z.value) : "memory", z.region ? ` (${z.region})` : "",
    z.undeclared ? "; undeclared" : "", z.edge_missing ? `; missing: ${z.edge_missing}` : "")));
}

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // a page opened from disk may not reach the clipboard
    const area = h("textarea", null, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
}

function reproLine(repro) {
  if (!repro) return null;
  const button = h("button", { type: "button", onclick: () => copyText(repro, button) }, "Copy");
  return h("div.repro", null, h("code", null, repro), button);
}

function facts(pairs) {
  const present = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl.facts", null, present.map(([name, value]) => [h("dt", null, name), h("dd", null, String(value))]));
}

function scheduleWords(schedule) {
  const same = schedule.independent === true ? "all schedules give the same result"
    : schedule.independent === false ? "results depend on the schedule" : "not known whether all schedules agree";
  return `${schedule.policy}; ${same}${schedule.reason ? ` (${schedule.reason})` : ""}`;
}

function memberList(ids) {
  return ids.length ? h("ul.lines", null, ids.map((id) => h("li", null, entryByKey.has(id) ? h("a.id", { href: linkTo(id) }, id) : h("code", null, id)))) : null;
}

function caseDetail(record) {
  const stages = unpacked(record.stages);
  const rows = stages.flatMap((stage) => stage.mismatches.map((m) => ({ label: `${stage.value} (${stage.mode.replace("_", " ")})`, m })));
  return [
    record.unexpected_because ? h("p.unexpected-note", null, `Not as expected: ${record.unexpected_because}.`) : null,
    record.explanation ? h("p.lead", null, record.explanation) : null,
    record.skip_reason ? h("p.lead", null, `Skipped: ${record.skip_reason}.`) : null,
    causeLine(record),
    section("Experiments", evidenceTable(record.evidence)),
    section("Streams", drawPicture(record)),
    section("Error of each stage", drawStages(stages)),
    section("Error of each token", drawHeat(stages, record.heat)),
    section("Elements beyond their bound", mismatchTable(rows)),
    section("Memory hazards", hazardList(record.hazards)),
    section("Run it again", reproLine(record.repro)),
    section("Configuration", facts([...Object.entries(record.axes), ["seed", record.seed], ["repeats", record.repeats]])),
    section("How it was observed", facts([["schedule", scheduleWords(record.schedule)], ["observed", record.observed],
      ["redundant waits", record.redundant_waits.join(", ")], ["input", record.input_hash], ["program", record.program_hash],
      ["output", record.output_hash], ["group", record.group], ["scenario", record.scenario]])),
    section("Cases with the same Program, represented by this one", memberList(record.collapsed)),
  ];
}

function relationDetail(record) {
  const first = record.first_difference ? [{ label: record.relation, m: record.first_difference }] : [];
  return [
    record.explanation ? h("p.lead", null, record.explanation) : null,
    record.skip_reason ? h("p.lead", null, `Skipped: ${record.skip_reason}.`) : null,
    section("Cases compared", memberList(record.members)),
    section("First difference", mismatchTable(first)),
    section("Rule", facts([["rule", record.rule], ["elements compared", record.compared], ["budget used", record.budget_used === null ? null : short(record.budget_used)],
      ["group", record.group], ["scenario", record.scenario]])),
  ];
}

function drawDetail(entry) {
  const { record } = entry;
  return h("div.detail", { role: "region", "aria-label": `details of ${entry.name}` },
    record.kind === "case" ? caseDetail(record) : relationDetail(record));
}
