// The report's data, unpacked where the C++ side had packed it, and what the page derives from a record.
const report = JSON.parse(byId("report").textContent);

function unpacked(table) {
  return table.rows.map((row) => Object.fromEntries(table.columns.map((column, i) => [column, row[i]])));
}

const OUTCOMES = ["unexpected", "caught", "pass", "inconclusive", "error", "skipped"];

function outcomeOf(record) {
  if (!record.as_expected) return "unexpected";
  return record.status === "fail" ? "caught" : record.status;
}

function outcomeText(record) {
  const outcome = outcomeOf(record);
  return outcome === "unexpected" ? `unexpected ${record.status}` : outcome;
}

function nameOf(record) {
  return record.kind === "case" ? record.case : `${record.relation} in ${record.group}`;
}

function worstBudget(record) {
  if (record.kind !== "case") return record.budget_used;
  const column = record.stages.columns.indexOf("budget_used");
  const values = record.stages.rows.map((row) => row[column]);
  if (!values.length) return null;
  return values.some((v) => v === null) ? Infinity : Math.max(...values);
}

function placeOf(record) {
  if (record.kind !== "case" || !record.blame) return "";
  const { op, value, writer } = record.blame;
  return [op, value && `reads or writes ${value}`, writer && `written by ${writer}`].filter(Boolean).join(", ");
}

// Everything the table needs, computed once: 700 records take a few milliseconds.
const entries = report.records.map((record, index) => {
  const name = nameOf(record);
  return {
    record, index, name,
    key: record.kind === "case" ? name : `relation ${index} ${name}`,
    outcome: outcomeOf(record),
    cause: record.cause || "",
    budget: worstBudget(record),
    seconds: record.seconds ?? null,
    haystack: [name, record.status, outcomeText(record), record.cause, record.scenario, record.explanation, record.skip_reason,
      record.unexpected_because, placeOf(record), ...(record.collapsed || [])].join(" ").toLowerCase(),
  };
});
const entryByKey = new Map(entries.map((entry) => [entry.key, entry]));
for (const entry of entries) {
  for (const id of entry.record.collapsed || []) if (!entryByKey.has(id)) entryByKey.set(id, entry);
}

function linkTo(key) {
  return "#case=" + encodeURIComponent(key);
}

function pill(record) {
  return h(`span.pill.${outcomeOf(record)}`, null, outcomeText(record));
}
